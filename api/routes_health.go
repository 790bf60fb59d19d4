package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/store"
)

// getHealth touches nothing: it reports that the process runs, not that it works.
func (a *API) getHealth(ctx context.Context, _ call.Caller, _ noInput) (wire.Health, error) {
	return wire.Health{OK: true, Service: "relaypdf", Version: a.version, RequestID: middleware.RequestID(ctx)}, nil
}

// readiness has the status 503 if the service is not ready.
type readiness struct{ wire.Readiness }

func (r readiness) head(http.Header) int {
	if !r.OK {
		return http.StatusServiceUnavailable
	}
	return 0
}

// readyTimeout bounds each check; a balancer asks again soon.
const readyTimeout = 3 * time.Second

// filesTimeout bounds the check of a bucket, so that one that does not answer leaves a balancer its response.
const filesTimeout = time.Second

// checker is a file storage that may be unavailable. Operations that store no file continue without it, so the
// process stays ready.
type checker interface {
	Check(ctx context.Context) error
}

// ready makes a real call to the browser and to the database.
func (a *API) ready(ctx context.Context, _ call.Caller, _ noInput) (readiness, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	stats := a.Calls.RenderStats()
	ready := wire.Readiness{
		OK:     true,
		Checks: map[string]string{},
		Queues: map[string]wire.QueueState{},
	}
	check := func(name string, err error) {
		ready.Checks[name] = "ok"
		if err != nil {
			ready.OK, ready.Checks[name] = false, "failed"
			a.log.LogAttrs(ctx, slog.LevelWarn, "not ready", slog.String("check", name), slog.Any("error", err))
		}
	}
	check("database", a.store.Ping(ctx))
	if a.store.Dialect() == store.Postgres {
		check("clock", a.store.CheckClock(ctx))
	}
	if a.render != nil {
		check("browser", a.render.Ready(ctx))
		level, _ := a.render.Sandbox()
		ready.Sandbox = string(level)

		check("engines", nil)
		if a.render.Starting() {
			ready.OK, ready.Checks["engines"] = false, "starting"
		}
	}
	check("disk", a.store.CheckDisks())
	if shared, ok := a.limiter.(sharedLimiter); ok {
		check("limits", nil)
		if !shared.Shared() {
			ready.Checks["limits"] = "alone"
		}
	}
	if files, ok := a.store.Blobs().(checker); ok {
		check("files", nil)
		ctx, cancel := context.WithTimeout(ctx, filesTimeout)
		defer cancel()
		if err := files.Check(ctx); err != nil {
			// A bucket is missing for all processes alike; a full disk is this one's alone, and others may have room.
			ready.OK, ready.Checks["files"] = ready.OK && !store.NoRoom(err), "unavailable"
			a.log.LogAttrs(ctx, slog.LevelWarn, "files cannot be reached", slog.Any("error", err))
		}
	}
	for _, operation := range a.table.All() {
		if operation.Off {
			ready.Checks[operation.Engine] = "off"
		}
	}
	if a.stopping.Load() {
		ready.OK, ready.Checks["process"] = false, "stopping"
	}
	for i, pool := range stats.Pools {
		state := wire.QueueState{Slots: pool.Slots, Busy: pool.Busy, Queued: pool.Waiting}
		ready.Queues[pool.Name] = state
		if i > 0 {
			continue // files, texts and LibreOffice have places for new accounts; all need the browser
		}
		ready.Queue = state
		if pool.Full() {
			ready.OK, ready.Checks["queue"] = false, "full"
		}
	}
	return readiness{ready}, nil
}

// sharedLimiter counts for several processes, while it can.
type sharedLimiter interface {
	Shared() bool
	Alone() int64
}

// Readiness returns the response of GET /health/ready, for pages.
func Readiness(ctx context.Context, a *API) (wire.Readiness, error) {
	ready, err := a.ready(ctx, call.Caller{}, noInput{})
	return ready.Readiness, err
}
