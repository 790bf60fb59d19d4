package app

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
)

const (
	// statusTTL is the cache lifetime of the status, so that more visitors do not cause more queries to the
	// database and the browser.
	statusTTL = 2 * time.Second
	// statusTimeout is the timeout of a status check.
	statusTimeout = 5 * time.Second
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
	if b.at.IsZero() || b.now().Sub(b.at).Abs() >= statusTTL {
		// The caller may leave; others wait for the response.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), statusTimeout)
		defer cancel()
		b.last = b.ask(ctx)
		b.at = b.now()
	}
	return b.last
}

// measureStatus returns the service status for visitors, as /health/ready does for programs.
func (a *App) measureStatus(ctx context.Context) views.ServiceStatus {
	state := a.Services.Readiness(ctx)
	shown := views.ServiceStatus{OK: state.OK}
	if all, err := a.Store.Backlog(ctx); err == nil {
		shown.Processes = all.Processes
		shown.Queued = all.Queued
		shown.Running = all.Running
	}

	days, err := a.Store.Uptime(ctx)
	shown.HistoryUnknown = err != nil
	if err == nil {
		shown.History = history(days, components(state), a.Store.Now())
	}

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
			Name: capital(poolPurposes[pool.Name]), Busy: pool.Busy,
			Slots: pool.Slots, Waiting: pool.Waiting, Places: pool.Limit,
		})
	}
	return shown
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// componentAPI is the component that works if the service accepts requests.
const componentAPI = "api"

// components returns the components with a history that were measured, and whether each works. A process that is
// stopping measures none.
func components(state wire.Readiness) map[string]bool {
	up := map[string]bool{}
	if state.Checks["process"] != "" {
		return up
	}

	up[componentAPI] = state.OK
	for _, name := range []string{"browser", "database", "files"} {
		if result, measured := state.Checks[name]; measured {
			up[name] = result == "ok"
		}
	}
	return up
}

// history returns the days of all components up to now, with those that are measured now.
func history(days []store.Uptime, current map[string]bool, now time.Time) []views.Uptime {
	stored := map[string]map[int64]store.Uptime{}
	for name := range current {
		stored[name] = nil
	}
	for _, d := range days {
		if stored[d.Component] == nil {
			stored[d.Component] = map[int64]store.Uptime{}
		}
		stored[d.Component][d.Day.Unix()] = d
	}

	var list []views.Uptime
	today := now.UTC().Truncate(24 * time.Hour)
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		shown := views.Uptime{Name: capital(name)}
		if name == componentAPI {
			shown.Name = "API"
		}

		for i := range store.UptimeDays {
			day := today.AddDate(0, 0, i+1-store.UptimeDays)
			d := stored[name][day.Unix()]
			shown.Days = append(shown.Days, views.UptimeDay{At: day, Minutes: d.Minutes, Up: d.Up})
		}
		list = append(list, shown)
	}
	return list
}

const (
	// uptimeChecks is the number of checks of a minute while a component does not work: a minute is down if all fail.
	uptimeChecks = 3
	// uptimePause is the time between them.
	uptimePause = 15 * time.Second
	// uptimePhase is the part of a minute in which processes begin to check, each at its own time.
	uptimePhase = 15 * time.Second
	// recordTimeout bounds the writing of minutes.
	recordTimeout = 20 * time.Second
	// maxUnwritten bounds the minutes that wait for a database that is away.
	maxUnwritten = 24 * 60
)

// uptimeRecorder records the uptime of components. Minutes that the database does not accept are recorded later: its
// downtime, too, is part of the history.
type uptimeRecorder struct {
	measure func(context.Context) map[string]bool
	record  func(context.Context, ...store.MeasuredMinute) error
	now     func() time.Time
	wait    func(context.Context, time.Duration)
	failed  func(error)

	unwritten []store.MeasuredMinute
}

// run measures each minute until ctx ends.
func (r *uptimeRecorder) run(ctx context.Context) {
	phase := rand.N(uptimePhase)
	for ctx.Err() == nil {
		r.minute(ctx)
		now := r.now()
		r.wait(ctx, now.Truncate(time.Minute).Add(time.Minute+phase).Sub(now))
	}
}

// minute measures the current minute, and records it with those that wait.
func (r *uptimeRecorder) minute(ctx context.Context) {
	m := store.MeasuredMinute{At: r.now(), Up: r.measure(ctx)}

	for range uptimeChecks - 1 {
		if !slices.Contains(slices.Collect(maps.Values(m.Up)), false) {
			break
		}
		r.wait(ctx, uptimePause)
		if !r.now().Truncate(time.Minute).Equal(m.At.Truncate(time.Minute)) {
			break
		}
		for name, up := range r.measure(ctx) {
			m.Up[name] = m.Up[name] || up
		}
	}

	if ctx.Err() != nil || len(m.Up) == 0 {
		return
	}

	r.unwritten = append(r.unwritten[max(0, len(r.unwritten)+1-maxUnwritten):], m)
	if err := r.record(ctx, r.unwritten...); err != nil {
		r.failed(err)
		return
	}
	r.unwritten = nil
}

// recordUptime records the uptime of components until ctx ends.
func (a *App) recordUptime(ctx context.Context) {
	r := uptimeRecorder{
		measure: func(ctx context.Context) map[string]bool {
			return components(a.Services.Readiness(ctx))
		},
		record: func(ctx context.Context, minutes ...store.MeasuredMinute) error {
			ctx, cancel := context.WithTimeout(ctx, recordTimeout)
			defer cancel()
			return a.Store.RecordUptime(ctx, minutes...)
		},
		now: a.Store.Now, wait: guard.Pause,
		failed: func(err error) { a.log.WarnContext(ctx, "uptime not recorded", "error", err) },
	}

	r.run(ctx)
}
