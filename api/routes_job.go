package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/store"
)

// byID holds the ID of a route's resource.
type byID struct {
	ID string `json:"id" in:"path" jsonschema:"required" jsonschema_description:"Id."`
}

// jobStatus is a job, which is asked for again while it is not done.
type jobStatus struct{ wire.JobStatus }

func (j jobStatus) head(h http.Header) int {
	if j.Status == wire.JobProcessing {
		h.Set("Retry-After", "1")
	}
	return 0
}

// getJob returns the status of a job of the account. A key that may not use all operations sees only its own jobs.
func (a *API) getJob(ctx context.Context, caller call.Caller, in byID) (jobStatus, error) {
	done, err := a.Store.Job(ctx, caller.Account.ID, in.ID)
	if err != nil {
		return jobStatus{}, err
	}
	if only := caller.Reads(); only != "" && done.KeyID != only {
		return jobStatus{}, store.ErrNotFound
	}
	return a.statusOf(ctx, done)
}

// statusOf returns the status of a job.
func (a *API) statusOf(ctx context.Context, job store.Call) (status jobStatus, err error) {
	links := a.Calls.Links
	switch job.Status {
	case store.CallFailed:
		status = jobStatus{links.Failed(job, job.Failure)}
	case store.CallDone:
		status, err = a.completed(ctx, job)
	default:
		status = jobStatus{links.Accepted(job.ResultID)}
	}

	if err == nil {
		err = a.Calls.AddProgress(ctx, a.Store, job, &status.JobStatus)
	}
	return status, err
}

// cancelJob cancels a job of the account that has not ended. A key that may not use all operations cancels only its own
// jobs.
func (a *API) cancelJob(ctx context.Context, caller call.Caller, in byID) (wire.JobStatus, error) {
	job, err := a.Store.Job(ctx, caller.Account.ID, in.ID)
	if err == nil && caller.Reads() != "" && job.KeyID != caller.Reads() {
		err = store.ErrNotFound
	}

	if err == nil && job.Status == store.CallRunning {
		if err = a.Calls.Cancel(ctx, job); err == nil {
			job, err = a.Store.Job(ctx, caller.Account.ID, in.ID)
		}
	}
	if err != nil {
		return wire.JobStatus{}, err
	}

	status, err := a.statusOf(ctx, job)
	return status.JobStatus, err
}

// completed describes a job whose result may have expired since.
func (a *API) completed(ctx context.Context, done store.Call) (jobStatus, error) {
	status := a.Calls.Links.Completed(done, nil)
	file, err := a.Store.PublicFile(ctx, done.ResultID)

	switch {
	case err == nil:
		status = a.Calls.Links.Completed(done, &file)
	case !errors.Is(err, store.ErrNotFound):
		return jobStatus{}, err
	case done.EndedAt != nil:
		expired, err := a.Store.LinkExpiry(ctx, done.ResultID)
		unlimited := errors.Is(err, store.ErrNotFound)
		if unlimited {
			expired = done.EndedAt.Add(call.FileLifetime)
			err = nil
		}
		if err != nil {
			return jobStatus{}, err
		}
		if !unlimited || !expired.After(a.Now()) { // Otherwise the file was deleted, or never stored.
			status.ExpiresAt = shownTime(&expired)
		}
	}

	if status.Delivered, err = a.Calls.Delivered(ctx, done.ResultID); err != nil {
		return jobStatus{}, err
	}
	return jobStatus{status}, nil
}

// jobQuery asks for jobs.
type jobQuery struct {
	listQuery

	Status    string `json:"status,omitempty" in:"query" jsonschema:"enum=processing,enum=completed,enum=failed" jsonschema_description:"Filter by status."`
	Operation string `json:"operation,omitempty" in:"query" jsonschema:"maxLength=64" jsonschema_description:"Filter by operation, such as pdf.create."`
}

// storedStatus maps the API's job statuses to those of the store.
var storedStatus = map[string]string{
	wire.JobProcessing: store.CallRunning, wire.JobCompleted: store.CallDone, wire.JobFailed: store.CallFailed,
}

func (a *API) listJobs(ctx context.Context, caller call.Caller, in jobQuery) (wire.JobList, error) {
	if in.Operation != "" && a.Table.Lookup(in.Operation) == nil {
		return wire.JobList{}, wire.Invalid("operation",
			"must be the name of an operation, such as pdf.create"+a.Table.Near(in.Operation))
	}

	page, err := a.Store.Jobs(ctx, store.CallFilter{
		List: in.list(), AccountID: caller.Account.ID, Operation: in.Operation, Status: storedStatus[in.Status],
		KeyID: caller.Reads(),
	})

	answer := wire.JobList{Jobs: make([]wire.JobEntry, len(page.Items)), NextCursor: nextCursor(page.Next)}
	for i, done := range page.Items {
		answer.Jobs[i] = a.entry(done)
	}
	return answer, err
}

// entry is a job as lists show it.
func (a *API) entry(done store.Call) wire.JobEntry {
	shown := wire.JobEntry{
		ID: done.ResultID, Operation: done.Operation, Status: wire.JobProcessing,
		PollURL:   a.Calls.Links.Job(done.ResultID),
		CreatedAt: shownMillis(done.CreatedAt), EndedAt: shownTime(done.EndedAt),
	}

	switch done.Status {
	case store.CallDone:
		shown.Status = wire.JobCompleted
	case store.CallFailed:
		shown.Status = wire.JobFailed
		shown.Error = &wire.JobError{Code: done.Failure.Code, Message: done.Failure.Message}
	}
	return shown
}
