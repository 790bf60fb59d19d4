package app

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"relaypdf/api"
	"relaypdf/views"
)

const (
	// statusLasts is the cache lifetime of the status, so that more visitors do not cause more queries to the
	// database and the browser.
	statusLasts = 2 * time.Second
	// statusTime is the timeout of a status check.
	statusTime = 5 * time.Second
)

// statusCache is the service status for visitors. It is safe for concurrent use.
type statusCache struct {
	ask func(context.Context) views.ServiceStatus
	now func() time.Time

	mu   sync.Mutex
	at   time.Time // when last was asked for; zero is never
	last views.ServiceStatus
}

// read returns a status that is at most statusLasts old.
func (b *statusCache) read(ctx context.Context) views.ServiceStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.at.IsZero() || b.now().Sub(b.at).Abs() >= statusLasts {
		// The caller may leave; others wait for the response.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), statusTime)
		defer cancel()
		b.last, b.at = b.ask(ctx), b.now()
	}
	return b.last
}

// ready returns the service status for visitors, as /health/ready does for programs.
func (a *App) ready(ctx context.Context) views.ServiceStatus {
	state, err := api.Readiness(ctx, a.API)
	if err != nil {
		a.log.Warn("status not known", "error", err)
	}
	shown := views.ServiceStatus{OK: state.OK}
	if all, err := a.Store.Backlog(ctx); err == nil {
		shown.Processes, shown.Queued, shown.Running = all.Processes, all.Queued, all.Running
	}
	capital := func(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
	for _, name := range slices.Sorted(maps.Keys(state.Checks)) {
		is := views.Status{Is: views.StateBad, Word: capital(state.Checks[name])}
		switch state.Checks[name] {
		case "ok":
			is = views.Status{Is: views.StateOK, Word: "OK"}
		case "alone":
			is = views.Status{Is: views.StateWarn, Word: "Local counts only"}
		}
		shown.Checks = append(shown.Checks, views.StatusCheck{Name: capital(name), Is: is})
	}
	for _, pool := range a.render.Stats().Pools {
		shown.Queues = append(shown.Queues, views.StatusQueue{
			Name: capital(poolDoes[pool.Name]), Busy: pool.Busy, Slots: pool.Slots, Waiting: pool.Waiting, Places: pool.Limit,
		})
	}
	return shown
}
