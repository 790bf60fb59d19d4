package call

import (
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

// Links are the URLs in responses and events.
type Links struct {
	// BaseURL is the public URL of the service, without a final slash.
	BaseURL string
}

// Job returns the URL of a job's status.
func (l Links) Job(id string) string { return l.BaseURL + "/v1/jobs/" + id }

// poll is Job for a call that is a job, and empty for any other.
func (l Links) poll(call store.Call) string {
	if call.Mode != schema.Async {
		return ""
	}
	return l.Job(call.ResultID)
}

// Accepted returns the response to a request for a job.
func (l Links) Accepted(id string) wire.JobStatus {
	return wire.JobStatus{ID: id, Status: wire.JobProcessing, PollURL: l.Job(id)}
}

// Completed describes a call whose result is in file. The file is nil if the result was not stored, or has expired.
func (l Links) Completed(call store.Call, file *store.File) wire.JobStatus {
	if file == nil {
		return wire.JobStatus{ID: call.ResultID, Status: wire.JobCompleted, PollURL: l.poll(call)}
	}

	link := l.File(file)
	return wire.JobStatus{
		ID: call.ResultID, Status: wire.JobCompleted, PollURL: l.poll(call), URL: link.URL,
		Filename: link.Filename, SizeBytes: link.SizeBytes, ExpiresAt: &link.ExpiresAt, MaxDownloads: link.MaxDownloads,
		Warnings: link.Warnings,
	}
}

// Failed describes a failed call.
func (l Links) Failed(call store.Call, why store.Failure) wire.JobStatus {
	return wire.JobStatus{
		ID: call.ResultID, Status: wire.JobFailed, PollURL: l.poll(call),
		Error: &wire.JobError{Code: why.Code, Message: why.Message},
	}
}

// outbox returns the notifications of a call's end: one job for each of the account's endpoints and one for its
// callback.
func outbox(call store.Call, status wire.JobStatus) *store.Outbox {
	n := &store.Outbox{Data: status}
	switch {
	case call.Mode != schema.Async:
	case status.Status == wire.JobCompleted:
		n.Event = store.EventJobCompleted
	default:
		n.Event = store.EventJobFailed
	}

	return n
}

// File returns the URL of a stored result.
func (l Links) File(file *store.File) wire.FileURL {
	return wire.FileURL{
		ID: file.ID, Status: "completed", URL: l.BaseURL + "/v1/files/" + file.ID,
		Filename: file.Filename, SizeBytes: file.Size, ExpiresAt: file.ExpiresAt.UTC().Truncate(time.Millisecond),
		MaxDownloads: file.MaxDownloads, Warnings: warningsOf(file),
	}
}
