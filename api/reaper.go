package api

import (
	"context"
	"log/slog"
	"time"
)

// reapEvery is how often dead processes' holds and expired files are looked
// for. With a lease of ten minutes, a hold is back within a quarter of an hour.
const reapEvery = time.Minute

// Reap returns the holds of processes that are gone and deletes expired
// files, at once and then every minute, until ctx ends.
func (a *API) Reap(ctx context.Context) {
	ticker := time.NewTicker(reapEvery)
	defer ticker.Stop()
	for {
		a.reapOnce(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// reapBatch bounds how many files one round deletes.
const reapBatch = 500

func (a *API) reapOnce(ctx context.Context) {
	released, err := a.store.Reap(ctx)
	if released > 0 {
		a.log.LogAttrs(ctx, slog.LevelWarn, "released holds of a process that is gone", slog.Int("calls", released))
	}
	if err == nil {
		_, err = a.store.DeleteExpiredFiles(ctx, reapBatch)
	}
	if err != nil && ctx.Err() == nil {
		a.log.LogAttrs(ctx, slog.LevelError, "reaping failed", slog.Any("error", err))
	}
}
