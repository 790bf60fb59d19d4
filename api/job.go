package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"time"

	"relaypdf/api/op"
	"relaypdf/render"
	"relaypdf/store"
)

// JobStatus is the answer of GET /v1/jobs/{id}, the data of job events and the
// body of callbacks.
type JobStatus struct {
	ID        string     `json:"id" jsonschema:"required" jsonschema_description:"Id of the job, and of its result."`
	Status    string     `json:"status" jsonschema:"required,enum=processing,enum=completed,enum=failed" jsonschema_description:"What has become of it."`
	PollURL   string     `json:"pollUrl,omitempty" jsonschema:"format=uri" jsonschema_description:"Address of the job."`
	URL       string     `json:"url,omitempty" jsonschema:"format=uri" jsonschema_description:"Public address of the result, while it lasts."`
	Filename  string     `json:"filename,omitempty" jsonschema_description:"Name of the result."`
	SizeBytes int64      `json:"sizeBytes,omitempty" jsonschema_description:"Size of the result in bytes."`
	ExpiresAt *time.Time `json:"expiresAt,omitempty" jsonschema_description:"When the result's address stops working, 24 hours after it was made."`
	Error     *JobError  `json:"error,omitempty" jsonschema_description:"Why a failed job failed."`
}

// JobError says why a job failed.
type JobError struct {
	Code    string `json:"code" jsonschema:"required" jsonschema_description:"Machine-readable name of the error."`
	Message string `json:"message" jsonschema:"required" jsonschema_description:"What failed, why, and what to do about it."`
}

// The values of JobStatus.Status.
const (
	jobProcessing = "processing"
	jobCompleted  = "completed"
	jobFailed     = "failed"
)

// jobURL is where a job is polled.
func (a *API) jobURL(id string) string { return a.baseURL + "/v1/jobs/" + id }

// pollURL is jobURL for a call that is a job, and empty for any other.
func (a *API) pollURL(call store.Call) string {
	if call.Mode != op.Async {
		return ""
	}
	return a.jobURL(call.ResultID)
}

// accepted is the answer to a request for a job.
func (a *API) accepted(id string) JobStatus {
	return JobStatus{ID: id, Status: jobProcessing, PollURL: a.jobURL(id)}
}

// completed describes a call whose result is in file.
func (a *API) completed(call store.Call, file *store.File) JobStatus {
	link := a.fileURL(file)
	return JobStatus{
		ID: call.ResultID, Status: jobCompleted, PollURL: a.pollURL(call), URL: link.URL,
		Filename: link.Filename, SizeBytes: link.SizeBytes, ExpiresAt: &link.ExpiresAt,
	}
}

// failed describes a call that came to nothing.
func (a *API) failed(call store.Call, why store.Failure) JobStatus {
	return JobStatus{
		ID: call.ResultID, Status: jobFailed, PollURL: a.pollURL(call), Error: &JobError{Code: why.Code, Message: why.Message},
	}
}

// notice tells of a call's end: jobs to the account's endpoints, and any call
// to its callback.
func notice(call store.Call, status JobStatus) *store.Notice {
	n := &store.Notice{Data: status}
	switch {
	case call.Mode != op.Async:
	case status.Status == jobCompleted:
		n.Event = store.EventJobCompleted
	default:
		n.Event = store.EventJobFailed
	}
	return n
}

// workersPerCore is how many jobs run at once: while one is rendered, another is
// read or stored.
const workersPerCore = 2

// DefaultWorkers is how many jobs run at once unless it is said otherwise.
func DefaultWorkers() int { return workersPerCore * runtime.NumCPU() }

// Work runs jobs until ctx ends, as many at once as told, 0 being
// DefaultWorkers; then those under way may take grace to end, and are put back
// into the queue when they do not.
func (a *API) Work(ctx context.Context, workers int, grace time.Duration) error {
	workers = cmp.Or(workers, DefaultWorkers())
	return a.store.RunQueue(ctx, store.QueueConfig{Workers: workers, Work: a.workOff, Grace: grace})
}

// workOff takes on jobs until none waits.
func (a *API) workOff(ctx context.Context, stopping <-chan struct{}) {
	for ctx.Err() == nil {
		select {
		case <-stopping:
			return
		default:
		}
		job, err := a.store.ClaimJob(ctx, a.lease)
		if err != nil {
			if !errors.Is(err, store.ErrNotFound) && ctx.Err() == nil {
				a.log.LogAttrs(ctx, slog.LevelError, "no job taken on", slog.Any("error", err))
			}
			return
		}
		a.reached("claimed")
		a.runJob(ctx, job)
	}
}

// runJob carries a job out, from the step at which its request left off.
func (a *API) runJob(ctx context.Context, job store.Job) {
	a.running.Add(1)
	defer a.running.Done()
	call := job.Call
	a.underWay.Store(call.ID, nil)
	c := &paidCall{
		API: a, job: &job, id: call.ID, result: call.ResultID, quote: call.Quote, held: true, started: time.Now(),
		caller: Caller{Account: store.Account{ID: call.AccountID}},
	}
	c.RequestID = call.RequestID
	outcome, charged := "ok", call.Quote
	if err := c.carryOut(ctx, jobSteps); err != nil {
		failure := asError(err)
		outcome, charged = string(failure.Code), 0
		switch {
		case ctx.Err() != nil:
			outcome = "returned" // to the queue, see giveUp
		case failure.Code == InternalError:
			a.log.LogAttrs(ctx, slog.LevelError, "job failed", slog.String("call", call.ID), slog.Any("error", err))
		}
	}
	a.metrics.call(call.Operation, outcome, charged)
	a.dropSpent(context.WithoutCancel(ctx), job)
	a.log.LogAttrs(ctx, slog.LevelInfo, "job", slog.String("call", call.ID), slog.String("requestId", call.RequestID),
		slog.String("operation", call.Operation), slog.String("outcome", outcome), slog.Int("try", job.Tries),
		slog.Duration("took", time.Since(c.started)))
	if c.outcome != nil && c.outcome.Body != nil {
		a.free(ctx, c.outcome.Body)
	}
}

// load reads a job's input again.
func (c *paidCall) load(ctx context.Context) error {
	c.Operation = c.table.Lookup(c.operationName())
	if c.Operation == nil {
		return fmt.Errorf("job of operation %q, which this release does not know", c.operationName())
	}
	sealed, err := c.openInput(ctx)
	if err != nil {
		return err
	}
	defer c.free(ctx, sealed)
	input, err := c.box.Reader(inputPurpose(c.id), sealed.Open())
	if err != nil {
		return err
	}
	c.call, err = c.Operation.Bind(input, c.files)
	return err
}

// openInput opens a job's input where it lies.
func (c *paidCall) openInput(ctx context.Context) (op.Body, error) {
	if c.job.Input != nil {
		return textBody(c.job.Input), nil
	}
	return c.openBlob(ctx, c.job.InputKey)
}

// inputPurpose names the key that a call's input is encrypted with.
func inputPurpose(callID string) string { return "input " + callID }

// newJob encrypts the call's input, from which a worker will go on: into the
// database where it is short, and else into a blob.
func (c *paidCall) newJob(ctx context.Context) (*store.NewJob, error) {
	sealed := render.NewFile()
	defer c.free(ctx, sealed)
	w, err := c.box.Writer(inputPurpose(c.id), sealed)
	if err == nil {
		err = errors.Join(c.call.WriteInput(w), w.Close())
	}
	if err != nil {
		return nil, err
	}
	job := &store.NewJob{}
	for _, file := range c.call.StoredFiles() {
		job.Pins = append(job.Pins, file.ID)
	}
	if sealed.Size() <= store.MaxJobInput {
		job.Input, err = io.ReadAll(sealed.Open())
		return job, err
	}
	job.InputKey = store.LeasedKey(c.lease)
	if _, err := c.blobs.Put(ctx, job.InputKey, sealed.Open()); err != nil {
		return nil, &Error{Code: StorageUnavailable, cause: err}
	}
	return job, nil
}

// dropInput deletes an input that no job will read.
func (a *API) dropInput(ctx context.Context, job *store.NewJob) {
	if job.InputKey == "" {
		return
	}
	if err := a.blobs.Delete(ctx, job.InputKey); err != nil {
		a.log.LogAttrs(ctx, slog.LevelWarn, "input not deleted", slog.Any("error", err))
	}
}

// dropSpent deletes the input of a job that has ended. What fails here is made
// good by the janitor.
func (a *API) dropSpent(ctx context.Context, job store.Job) {
	if job.InputKey == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, afterwardsTimeout)
	defer cancel()
	call, err := a.store.Call(ctx, job.Call.ID)
	if err == nil && call.Status != store.CallRunning {
		err = a.store.DropInput(ctx, call.ID, job.InputKey)
	}
	if err != nil {
		a.log.LogAttrs(ctx, slog.LevelWarn, "input not deleted", slog.String("call", job.Call.ID), slog.Any("error", err))
	}
}

// busyPause is the least time after which a job that found the renderers busy
// tries again. It was accepted, so it waits and does not fail.
const busyPause = 200 * time.Millisecond

// runPatiently runs a job's call, and waits where everything is busy.
func (c *paidCall) runPatiently(ctx context.Context) (op.Result, error) {
	for {
		result, err := c.call.Run(ctx, c.env())
		var busy *render.BusyError
		if c.job == nil || !errors.As(err, &busy) {
			return result, err
		}
		timer := time.NewTimer(max(busyPause, min(busy.RetryAfter, time.Second)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return result, ctx.Err()
		case <-timer.C:
		}
	}
}
