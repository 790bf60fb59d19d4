package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
)

// Job returns the status of a job.
func (c *Client) Job(ctx context.Context, id string) (JobStatus, error) {
	job, _, err := c.job(ctx, id)
	return job, err
}

// job returns a job, and after how long it should be asked for again.
func (c *Client) job(ctx context.Context, id string) (job JobStatus, pause time.Duration, err error) {
	response, err := c.send(ctx, message{method: http.MethodGet, path: "/v1/jobs/" + url.PathEscape(id)})
	if err != nil {
		return job, 0, err
	}
	pause = time.Second
	if seconds := retryAfterOf(response); seconds > 0 {
		pause = min(time.Duration(seconds)*time.Second, maxRetryWait)
	}
	err = readAnswer(response, &job)
	return job, pause, err
}

// CancelJob cancels a job that has not ended, and returns its status. A bulk job keeps the documents that it has made,
// and is charged for them.
func (c *Client) CancelJob(ctx context.Context, id string) (job JobStatus, err error) {
	response, err := c.send(ctx, message{method: http.MethodDelete, path: "/v1/jobs/" + url.PathEscape(id)})
	if err != nil {
		return job, err
	}
	err = readAnswer(response, &job)
	return job, err
}

// WaitJob polls a job until it has completed or failed, at the interval that the service asks for, or until ctx
// ends. A failed job does not make WaitJob return an error.
func (c *Client) WaitJob(ctx context.Context, id string) (JobStatus, error) {
	return c.WatchJob(ctx, id, func(JobStatus) {})
}

// WatchJob is WaitJob, and calls report with each status that is not the last one.
func (c *Client) WatchJob(ctx context.Context, id string, report func(JobStatus)) (JobStatus, error) {
	for {
		job, pause, err := c.job(ctx, id)
		if err != nil || job.Status != wire.JobProcessing {
			return job, err
		}
		report(job)
		if err := c.wait(ctx, pause); err != nil {
			return job, err
		}
	}
}
