package service

import (
	"context"
	"log/slog"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/store"
)

// readyTimeout bounds each check; a balancer asks again soon.
const readyTimeout = 3 * time.Second

// filesTimeout bounds the check of a bucket, so that one that does not answer leaves a balancer its response.
const filesTimeout = time.Second

// checker is a file storage that may be unavailable. Operations that store no file continue without it, so the
// process stays ready.
type checker interface {
	Check(ctx context.Context) error
}

// Readiness reports whether the process accepts work. It makes a real call to the browser and to the database.
func (s *Services) Readiness(ctx context.Context) wire.Readiness {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()

	ready := wire.Readiness{
		OK:     true,
		Checks: map[string]string{},
		Queues: map[string]wire.QueueState{},
	}
	check := func(name string, err error) {
		ready.Checks[name] = "ok"
		if err != nil {
			ready.OK, ready.Checks[name] = false, "failed"
			s.Logger.LogAttrs(ctx, slog.LevelWarn, "not ready", slog.String("check", name), slog.Any("error", err))
		}
	}

	check("database", s.Store.Ping(ctx))
	if s.Store.Dialect() == store.Postgres {
		check("clock", s.Store.CheckClock(ctx))
	}
	if s.Render != nil {
		check("browser", s.Render.Ready(ctx))
		level, _ := s.Render.Sandbox()
		ready.Sandbox = string(level)

		check("engines", nil)
		if s.Render.Starting() {
			ready.OK, ready.Checks["engines"] = false, "starting"
		}
	}

	check("disk", s.Store.CheckDisks())
	if shared, ok := s.Limiter.(sharedLimiter); ok {
		check("limits", nil)
		if !shared.Shared() {
			ready.Checks["limits"] = "alone"
		}
	}

	if files, ok := s.Store.Blobs().(checker); ok {
		check("files", nil)
		ctx, cancel := context.WithTimeout(ctx, filesTimeout)
		defer cancel()
		if err := files.Check(ctx); err != nil {
			// A bucket is missing for all processes alike; a full disk is this one's alone, and others may have room.
			ready.OK, ready.Checks["files"] = ready.OK && !store.NoRoom(err), "unavailable"
			s.Logger.LogAttrs(ctx, slog.LevelWarn, "files cannot be reached", slog.Any("error", err))
		}
	}

	for _, operation := range s.Table.All() {
		if operation.Off {
			ready.Checks[operation.Engine] = "off"
		}
	}
	if s.stopping.Load() {
		ready.OK, ready.Checks["process"] = false, "stopping"
	}

	for i, pool := range s.Calls.RenderStats().Pools {
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
	return ready
}

// sharedLimiter counts for several processes, while it can.
type sharedLimiter interface {
	Shared() bool
	Alone() int64
}
