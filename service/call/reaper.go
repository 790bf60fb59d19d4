package call

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

const (
	// reapEvery is the interval at which the reaper looks for expired data and for holds and jobs of dead
	// processes. With a lease of ten minutes, a hold is released within a quarter of an hour.
	reapEvery = time.Minute
	// reapBatch is the maximum number of rows per statement.
	reapBatch = 500
	// lostAfter is the age at which a call counts as lost by this process. It is longer than the time between the
	// insert of a call and its start.
	lostAfter = time.Minute
)

// Reaper cleans up after dead processes.
type Reaper struct{ *Runner }

// Reaper returns the reaper of the pipeline's calls.
func (r *Runner) Reaper() Reaper { return Reaper{r} }

// Run releases the holds of dead processes, queues their jobs again, and deletes expired data, until ctx ends. It
// does all of this at once, and then each task on its own schedule. Any number of processes may run it. They share
// the work, except for calls that only their own process can know to be lost.
func (r Reaper) Run(ctx context.Context) {
	err := r.reap(ctx)
	r.failed(ctx, err)

	var tasks sync.WaitGroup
	tasks.Go(func() { r.store.RunTasks(ctx, r.tasks()) })
	ticker := time.NewTicker(reapEvery)
	defer ticker.Stop()

	for ctx.Err() == nil {
		if err != nil { // The process that has the task may be dead.
			err = r.reap(ctx)
			r.failed(ctx, err)
		}
		r.failed(ctx, r.lost(ctx))
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}

	tasks.Wait()
}

// tasks are the tasks that one process at a time does for all.
func (r Reaper) tasks() []store.Task {
	return append(r.store.MaintenanceTasks(),
		store.Task{Name: "reap", Every: reapEvery, Do: r.reap},
	)
}

// reap ends or requeues the calls of dead processes.
func (r Reaper) reap(ctx context.Context) error {
	if err := r.store.CheckClock(ctx); err != nil {
		return err
	}
	released, err := r.store.Reap(ctx)
	if released > 0 {
		r.log.LogAttrs(ctx, slog.LevelWarn, "released holds of a process that is gone", slog.Int("calls", released))
	}
	return errors.Join(err, r.orphans(ctx), r.overdue(ctx))
}

// Once is one round. Its parts are independent: one that fails is tried
// again in the next round, and keeps no other from its work.
func (r Reaper) Once(ctx context.Context) {
	r.failed(ctx, r.reap(ctx))
	r.failed(ctx, r.lost(ctx))
	r.failed(ctx, r.store.DeleteExpired(ctx, reapBatch))
}

func (r Reaper) failed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		r.log.LogAttrs(ctx, slog.LevelError, "reap failed", slog.Any("error", err))
	}
}

// orphans handles the calls of dead processes whose end must be announced: jobs return to the queue, or fail when
// they have no tries left.
func (r Reaper) orphans(ctx context.Context) error {
	calls, err := r.store.OrphanedCalls(ctx, reapBatch)
	jobs, jobsErr := r.store.OrphanedJobs(ctx, reapBatch)
	faults := []error{err, jobsErr}
	for _, orphan := range append(calls, jobs...) {
		faults = append(faults, r.orphan(ctx, orphan))
	}
	return errors.Join(faults...)
}

// lost ends the calls that carry this process's lease although it does not work on them: the database failed when
// one was claimed, or when its end was to be written.
func (r Reaper) lost(ctx context.Context) error {
	calls, err := r.store.LeasedCalls(ctx, r.lease, r.now().Add(-lostAfter), reapBatch)
	faults := []error{err}
	for _, call := range calls {
		if _, works := r.underWay.Load(call.Call.ID); !works {
			faults = append(faults, r.orphan(ctx, call))
		}
	}
	return errors.Join(faults...)
}

// exhausted is the failure of a job that was begun as often as it may be.
var exhausted = store.Failure{
	Code:    string(wire.InternalError),
	Message: "The server stopped on every attempt to run this job. The job was not charged.",
}

// overdue fails jobs that no worker has taken on in time.
func (r Reaper) overdue(ctx context.Context) error {
	jobs, err := r.store.OverdueJobs(ctx, reapBatch)
	faults := []error{err}
	for _, job := range jobs {
		r.log.LogAttrs(ctx, slog.LevelError, "job waited too long for a worker", slog.String("call", job.Call.ID),
			slog.String("operation", job.Call.Operation))
		faults = append(faults, r.release(ctx, job, waitedTooLong))
	}
	return errors.Join(faults...)
}

// waitedTooLong is the failure of a job that no worker has taken on in time.
var waitedTooLong = store.Failure{
	Code: string(wire.InternalError),
	Message: fmt.Sprintf("The job did not start within %d hours and was not charged. Create it again.",
		int(store.MaxJobWait.Hours())),
}

func (r Reaper) orphan(ctx context.Context, orphan store.Orphan) error {
	why := store.Abandoned
	if orphan.Call.Mode == schema.Async {
		if !orphan.Last {
			queued, err := r.store.RequeueOrphan(ctx, orphan)
			if queued {
				r.log.LogAttrs(ctx, slog.LevelWarn, "queued a job that nothing works on",
					slog.String("call", orphan.Call.ID), slog.Int("try", orphan.Tries))
			}
			return err
		}
		why = exhausted
	}
	return r.release(ctx, orphan, why)
}

// release ends a call that nothing works on.
func (r Reaper) release(ctx context.Context, orphan store.Orphan, why store.Failure) error {
	err := r.store.ReleaseOrphan(ctx, orphan, why, outbox(orphan.Call, r.Links.Failed(orphan.Call, why)))
	if of := orphan.Call; err == nil {
		r.store.CountUsage(store.EndedCall{
			AccountID: of.AccountID, KeyID: of.KeyID, Operation: of.Operation, Failed: true, At: of.CreatedAt,
		})
	}
	return err
}
