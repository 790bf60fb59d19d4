package call

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/internal/telemetry"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/service/jobs"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// Work runs jobs until ctx ends, at most workers at once; 0 means 2 per core. Running jobs then have the grace
// period to finish; jobs that do not finish are put back into the queue.
func (r *Runner) Work(ctx context.Context, workers int, grace time.Duration) error {
	return jobs.Run(ctx, jobs.Config{
		Store: r.store, Lease: r.lease, Kinds: r.kinds(), Workers: workers, Handle: r.runGuarded, Grace: grace,
		Logger: r.log,
	})
}

// inputVersion is the version of the stored form of job inputs. A form that the previous release cannot read gets a
// new number, so that its processes leave such jobs to others.
const inputVersion = 1

// JobKind returns the kind of jobs that a worker must support to run an operation.
func JobKind(operation string) string { return fmt.Sprintf("%s/%d", operation, inputVersion) }

// kinds returns the kinds of jobs that this process can run.
func (r *Runner) kinds() (known []string) {
	for _, operation := range r.table.All() {
		known = append(known, JobKind(operation.Name))
	}
	return known
}

// runGuarded is runJob with a panic handler: a panic fails only the job. If that cannot be written either, the
// reaper finds the lost job.
func (r *Runner) runGuarded(ctx context.Context, job store.Job) {
	err := guard.Do(func() {
		r.reached("claimed")
		r.runJob(ctx, job)
	})
	if err == nil {
		return
	}

	r.log.LogAttrs(ctx, slog.LevelError, "run job panicked", slog.String("call", job.Call.ID), slog.Any("error", err))
	c := &paidCall{Runner: r, job: &job, id: job.Call.ID, result: job.Call.ResultID}
	if err := guard.Do(func() { c.abort(ctx, err) }); err != nil {
		r.log.LogAttrs(ctx, slog.LevelError, "release of job panicked", slog.String("call", job.Call.ID),
			slog.Any("error", err))
	}

	r.underWay.Delete(job.Call.ID)
}

// runJob carries a job out, from the step at which its request left off.
func (r *Runner) runJob(ctx context.Context, job store.Job) {
	r.running.Add(1)
	defer r.running.Done()

	call := job.Call
	c := &paidCall{
		Runner: r, job: &job, id: call.ID, result: call.ResultID, quote: call.Quote, held: true, started: time.Now(),
		Request: Request{Caller: Caller{Account: store.Account{ID: call.AccountID}, Kind: ByKey, ID: call.KeyID}},
	}
	r.underWay.Store(call.ID, c)
	c.RequestID = call.RequestID

	wait := max(0, r.now().Sub(call.CreatedAt))
	c.times.add("wait", wait)
	r.metrics.step(call.Operation, "wait", wait)
	ctx, span := continueTrace(ctx, c, wait)

	outcome := "ok"
	charged := credit.Amount(0)
	err := c.execute(ctx, jobSteps)
	if err != nil && c.unstored {
		err = &unstoredError{err}
	}
	endSpan(span, err)

	if err == nil {
		charged = c.outcome.Charged
	} else {
		failure := APIError(err)
		outcome = string(failure.Code)
		switch {
		case ctx.Err() != nil || errors.Is(err, errTurn):
			outcome = "returned" // to the queue, see giveUp
		case c.retries(err):
			outcome = "returned"
			r.log.LogAttrs(ctx, slog.LevelWarn, "job is tried again", slog.String("call", call.ID),
				slog.Int("try", job.Tries), slog.Any("error", Loggable(err)))
		case failure.Code == wire.InternalError:
			r.log.LogAttrs(ctx, slog.LevelError, "run job failed", slog.String("call", call.ID),
				slog.Any("error", Loggable(err)))
		}
	}

	r.metrics.call(call.Operation, outcome, charged)
	r.dropSpent(context.WithoutCancel(ctx), job)
	r.log.LogAttrs(ctx, slog.LevelInfo, "job", slog.String("call", call.ID), slog.String("requestId", call.RequestID),
		slog.String("operation", call.Operation), slog.String("outcome", outcome), slog.Int("try", job.Tries),
		slog.Float64("tookMs", float64(time.Since(c.started).Microseconds())/1000))
	if c.outcome != nil && c.outcome.Body != nil {
		r.Free(ctx, c.outcome.Body)
	}
}

// continueTrace continues the trace of the request that created the job.
func continueTrace(ctx context.Context, c *paidCall, wait time.Duration) (context.Context, *telemetry.Span) {
	if c.tracer == nil {
		return ctx, nil
	}
	parent, err := c.store.Trace(ctx, c.id)
	if err != nil { // costs the connection of the two, and not the job
		c.log.LogAttrs(ctx, slog.LevelWarn, "read trace of job failed", slog.String("call", c.id),
			slog.Any("error", err))
	}

	ctx, span := c.tracer.Follow(ctx, parent, "job "+c.job.Call.Operation, telemetry.Consumer, wait)
	c.tracer.Tell(ctx, "wait", wait)
	span.Set("relaypdf.call", c.id)
	span.SetInt("relaypdf.try", c.job.Tries)
	return ctx, span
}

// checkActive refuses a job whose account was suspended, or whose key was revoked,
// while it waited. It reads whether the key is a test key.
func (c *paidCall) checkActive(ctx context.Context) error {
	call := c.job.Call
	account, err := c.store.Account(ctx, call.AccountID)
	switch {
	case err != nil:
		return err
	case account.Suspended:
		return &wire.Error{Code: wire.AccountSuspended}
	}

	c.Caller.Account = account
	if call.KeyID == "" {
		return nil
	}

	keys, err := c.store.Keys(ctx, account.ID)
	if err != nil {
		return err
	}

	at := slices.IndexFunc(keys, func(k store.Key) bool { return k.ID == call.KeyID && k.RevokedAt == nil })
	if at < 0 {
		return &wire.Error{Code: wire.Unauthorized, Message: "The API key of this job was revoked."}
	}
	c.Caller.Test = keys[at].Test
	return nil
}

// load reads a job's input again.
func (c *paidCall) load(ctx context.Context) error {
	c.Operation = c.table.Lookup(operationName(c))
	if c.Operation == nil {
		return fmt.Errorf("job of operation %q, which this release does not know", operationName(c))
	}

	sealed, err := c.openInput(ctx)
	if err != nil {
		return err
	}
	defer c.Free(ctx, sealed)
	input, err := c.box.Reader(inputPurpose(c.id), sealed.Open())
	if err != nil {
		return err
	}

	if c.call, err = c.Operation.Bind(ctx, input, c.files); err == nil {
		c.noteUnstored(c.call)
	}
	return err
}

// openInput opens the stored input of a job.
func (c *paidCall) openInput(ctx context.Context) (schema.Body, error) {
	if c.job.Input != nil {
		return textBody(c.job.Input), nil
	}
	return c.Files.Open(ctx, c.job.InputKey)
}

// inputPurpose names the key that a call's input is encrypted with.
func inputPurpose(callID string) string { return "input " + callID }

// newJob encrypts the call's input for a worker. Short inputs are stored in the database, others in a blob.
func (c *paidCall) newJob(ctx context.Context) (*store.NewJob, error) {
	sealed := render.NewFile()
	defer c.Free(ctx, sealed)
	w, err := c.box.Writer(inputPurpose(c.id), sealed)
	if err == nil {
		err = errors.Join(c.call.WriteInput(w), w.Close())
	}
	if err != nil {
		return nil, err
	}

	job := &store.NewJob{Kind: JobKind(operationName(c))}
	if c.Operation.Bulk {
		job.Records = c.records
	}
	for _, file := range c.call.StoredFiles() {
		job.Pins = append(job.Pins, file.ID)
	}

	if sealed.Size() <= store.MaxJobInput {
		job.Input, err = io.ReadAll(sealed.Open())
		return job, err
	}

	job.InputKey = store.LeasedKey(c.lease)
	if _, err := c.Files.blobs.Put(ctx, job.InputKey, sealed.Open()); err != nil {
		return nil, &wire.Error{Code: wire.StorageUnavailable, Cause: err}
	}
	return job, nil
}

// dropInput deletes an input that no job will read.
func (r *Runner) dropInput(ctx context.Context, job *store.NewJob) {
	if job.InputKey == "" {
		return
	}
	if err := r.Files.blobs.Delete(ctx, job.InputKey); err != nil {
		r.log.LogAttrs(ctx, slog.LevelWarn, "delete input failed", slog.Any("error", err))
	}
}

// dropSpent deletes the input of a job that has ended. The reaper handles any failure.
func (r *Runner) dropSpent(ctx context.Context, job store.Job) {
	if job.InputKey == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, afterwardsTimeout)
	defer cancel()

	call, err := r.store.Call(ctx, job.Call.ID)
	if err == nil && call.Status != store.CallRunning {
		err = r.store.DropInput(ctx, job.InputKey)
	}
	if err != nil {
		r.log.LogAttrs(ctx, slog.LevelWarn, "delete input failed", slog.String("call", job.Call.ID),
			slog.Any("error", err))
	}
}

// retryWhileBusy does work of a run. That of a job waits where everything is busy.
func (c *paidCall) retryWhileBusy(
	ctx context.Context, work func() (schema.Result, error),
) (result schema.Result, err error) {
	err = c.doWhileBusy(ctx, func() (err error) {
		if result, err = work(); err == nil {
			c.reached("worked")
		}
		return err
	})

	return result, err
}

// doWhileBusy does a part of a call. That of a job waits where everything is busy.
func (c *paidCall) doWhileBusy(ctx context.Context, do func() error) error {
	if c.job == nil {
		return do()
	}
	return operation.WhenFree(ctx, do)
}

// The retry schedule of a job whose files cannot be read or written.
const (
	storagePause    = 100 * time.Millisecond
	maxStoragePause = 5 * time.Second
)

// notStored reports whether the file storage or the database has failed. The end of a job whose commit is not known
// to have happened is among that: settling again is harmless.
func notStored(err error) bool {
	var unknown *store.UnknownError
	return err != nil && (errors.As(err, &unknown) || APIError(err).Code == wire.StorageUnavailable)
}

// doWhenStored repeats a step of a job while the file storage or the database is unavailable: the job was accepted,
// and a short outage must not fail it.
func doWhenStored(ctx context.Context, c *paidCall, s step) error {
	c.log.LogAttrs(ctx, slog.LevelWarn, "job waits for the storage", slog.String("call", c.id),
		slog.String("step", s.name))
	timeout := time.NewTimer(c.storageTime)
	defer timeout.Stop()

	for pause := storagePause; ; pause = min(2*pause, maxStoragePause) {
		again := time.NewTimer(pause)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return ctx.Err()
		}

		err := s.do(c, ctx)
		if !notStored(err) {
			return err
		}
		select {
		case <-timeout.C:
			return err
		default:
		}
	}
}
