// Package wire defines the JSON of the API: its responses, its events and the names of its headers, for the service
// and its clients.
package wire

import "time"

// JobStatus is the response of GET /v1/jobs/{id}, the data of job events and the
// body of callbacks.
type JobStatus struct {
	ID           string     `json:"id" jsonschema:"required" jsonschema_description:"ID of the job and of its result."`
	Status       string     `json:"status" jsonschema:"required,enum=processing,enum=completed,enum=failed" jsonschema_description:"Job status."`
	PollURL      string     `json:"pollUrl,omitempty" jsonschema:"format=uri" jsonschema_description:"URL of the job."`
	URL          string     `json:"url,omitempty" jsonschema:"format=uri" jsonschema_description:"Public URL of the result, until it expires."`
	Filename     string     `json:"filename,omitempty" jsonschema_description:"Name of the result."`
	SizeBytes    int64      `json:"sizeBytes,omitempty" jsonschema_description:"Size of the result in bytes."`
	ExpiresAt    *time.Time `json:"expiresAt,omitempty" jsonschema_description:"Time at which the result's URL stops working. Default: 24 hours after creation."`
	MaxDownloads int64      `json:"maxDownloads,omitempty" jsonschema_description:"Maximum number of downloads by the URL, if the call set one."`
	Delivered    *Delivered `json:"delivered,omitempty" jsonschema_description:"Delivery of the result to deliverTo, if the call had one."`
	Error        *JobError  `json:"error,omitempty" jsonschema_description:"Error of a failed job."`
	Warnings     []Warning  `json:"warnings,omitempty" jsonschema_description:"Warnings about the source or the result, at most 50."`
	*BulkStatus
}

// BulkStatus is the progress of a bulk job.
type BulkStatus struct {
	Total      int           `json:"total,omitempty" jsonschema_description:"Number of records of a bulk job."`
	Processed  int           `json:"processed" jsonschema_description:"Number of records that were processed, failed ones included."`
	Failed     int           `json:"failed" jsonschema_description:"Number of records that failed."`
	ETASeconds *int          `json:"etaSeconds,omitempty" jsonschema_description:"Estimated time until all records are processed, in seconds."`
	Canceled   bool          `json:"canceled,omitempty" jsonschema_description:"If true, the job was cancelled. Its result has the documents made before."`
	Errors     []RecordError `json:"errors,omitempty" jsonschema_description:"Records that failed, at most the first 100."`
}

// RecordError is a record of a bulk job that failed.
type RecordError struct {
	Index   int    `json:"index" jsonschema:"required" jsonschema_description:"Position of the record, from 0."`
	Code    string `json:"code" jsonschema:"required" jsonschema_description:"Machine-readable name of the error."`
	Message string `json:"message" jsonschema:"required" jsonschema_description:"Description of the error."`
}

// JobError is the reason why a job failed.
type JobError struct {
	Code    string `json:"code" jsonschema:"required" jsonschema_description:"Machine-readable name of the error."`
	Message string `json:"message" jsonschema:"required" jsonschema_description:"Description of the error and its fix, in one or two sentences."`
}

// The values of JobStatus.Status.
const (
	JobProcessing = "processing"
	JobCompleted  = "completed"
	JobFailed     = "failed"
)

// Failed returns the error that ended a failed job, as a synchronous call would have returned it, and nil for any
// other job.
func (j JobStatus) Failed() error {
	if j.Status != JobFailed {
		return nil
	}
	if j.Error == nil {
		return &Error{Code: InternalError}
	}
	return &Error{Code: Code(j.Error.Code), Message: j.Error.Message}
}

// JobList is the response of GET /v1/jobs.
type JobList struct {
	Jobs       []JobEntry `json:"jobs" jsonschema:"required" jsonschema_description:"Jobs of the account in the last 30 days, newest first."`
	NextCursor *string    `json:"nextCursor" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Cursor of the next page; null on the last page."`
}

// JobEntry is a job as lists show it; its result is at its pollUrl.
type JobEntry struct {
	ID        string     `json:"id" jsonschema:"required" jsonschema_description:"ID of the job and of its result."`
	Operation string     `json:"operation" jsonschema:"required" jsonschema_description:"Name of the operation."`
	Status    string     `json:"status" jsonschema:"required,enum=processing,enum=completed,enum=failed" jsonschema_description:"Job status."`
	PollURL   string     `json:"pollUrl" jsonschema:"required,format=uri" jsonschema_description:"URL of the job."`
	CreatedAt time.Time  `json:"createdAt" jsonschema:"required" jsonschema_description:"Creation time."`
	EndedAt   *time.Time `json:"endedAt" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Time at which the job completed or failed."`
	Error     *JobError  `json:"error,omitempty" jsonschema_description:"Error of a failed job."`
}
