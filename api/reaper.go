package api

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"relaypdf/api/op"
	"relaypdf/store"
)

const (
	// reapEvery is how often dead processes' holds and jobs, and what has
	// expired, are looked for. With a lease of ten minutes, a hold is back
	// within a quarter of an hour.
	reapEvery = time.Minute
	// orphanSweepEvery is how often blobs that nobody knows of are looked for, which
	// reads the whole list of them.
	orphanSweepEvery = time.Hour
	// reapBatch bounds what one statement of a round takes on.
	reapBatch = 500
	// lostAfter is how old a call must be to count as lost by this process: more
	// than the time between its writing and its beginning.
	lostAfter = time.Minute
)

// Reap gives back what dead processes held, queues their jobs again, and
// deletes what has expired: at once and then every minute, until ctx ends. Any
// number of processes may do so.
func (a *API) Reap(ctx context.Context) {
	ticker := time.NewTicker(reapEvery)
	defer ticker.Stop()
	var swept time.Time
	for {
		a.ReapOnce(ctx)
		if time.Since(swept) >= orphanSweepEvery {
			swept = time.Now()
			_, err := a.store.DeleteOrphanBlobs(ctx, reapBatch)
			a.reapFailed(ctx, err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// ReapOnce is one round. Its parts are independent: one that fails is tried
// again in the next round, and keeps no other from its work.
func (a *API) ReapOnce(ctx context.Context) {
	released, err := a.store.Reap(ctx)
	if released > 0 {
		a.log.LogAttrs(ctx, slog.LevelWarn, "released holds of a process that is gone", slog.Int("calls", released))
	}
	a.reapFailed(ctx, err)
	a.reapFailed(ctx, a.reapStrays(ctx))
	a.reapFailed(ctx, a.reapLost(ctx))
	a.reapFailed(ctx, a.store.DeleteExpired(ctx, reapBatch))
	a.reapFailed(ctx, a.reloadDue(ctx))
}

func (a *API) reapFailed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		a.log.LogAttrs(ctx, slog.LevelError, "reaping failed", slog.Any("error", err))
	}
}

// reapStrays takes care of the calls of dead processes of whose end somebody is
// told: jobs go back into the queue, or fail when their tries are used up.
func (a *API) reapStrays(ctx context.Context) error {
	calls, err := a.store.StrayCalls(ctx, reapBatch)
	jobs, jobsErr := a.store.StrayJobs(ctx, reapBatch)
	faults := []error{err, jobsErr}
	for _, stray := range append(calls, jobs...) {
		faults = append(faults, a.reapStray(ctx, stray))
	}
	return errors.Join(faults...)
}

// reapLost takes care of the calls that carry this process's lease although it
// does not work on them: the database failed when one was taken on, or when its
// end was to be written.
func (a *API) reapLost(ctx context.Context) error {
	calls, err := a.store.LeasedCalls(ctx, a.lease, a.now().Add(-lostAfter), reapBatch)
	faults := []error{err}
	for _, call := range calls {
		if _, works := a.underWay.Load(call.Call.ID); !works {
			faults = append(faults, a.reapStray(ctx, call))
		}
	}
	return errors.Join(faults...)
}

// exhausted is the failure of a job that was begun as often as it may be.
var exhausted = store.Failure{
	Code:    string(InternalError),
	Message: "The server stopped each time this job was run. Nothing was charged.",
}

func (a *API) reapStray(ctx context.Context, stray store.Stray) error {
	why := store.Abandoned
	if stray.Call.Mode == op.Async {
		if stray.Tries < store.MaxTries {
			queued, err := a.store.RequeueStray(ctx, stray)
			if queued {
				a.log.LogAttrs(ctx, slog.LevelWarn, "queued a job that nothing works on", slog.String("call", stray.Call.ID), slog.Int("try", stray.Tries))
			}
			return err
		}
		why = exhausted
	}
	return a.store.ReleaseStray(ctx, stray, why, notice(stray.Call, a.failed(stray.Call, why)))
}
