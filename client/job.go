package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
)

// Job is a call that runs without a connection. Its status is [Jobs.Get], and [Jobs.Delete] cancels it.
type Job struct {
	ID     string
	client *Client
}

// Job returns the job with an ID.
func (c *Client) Job(id string) Job { return Job{ID: id, client: c} }

// Wait polls the job until it has completed or failed, at the interval that the service asks for, or until ctx ends.
// It calls report, unless that is nil, with each status that is not the last one. The error of a failed job is an
// *[Error] with the code of the failure.
func (j Job) Wait(ctx context.Context, report func(JobStatus)) (JobStatus, error) {
	for {
		status, pause, err := j.poll(ctx)
		if err != nil {
			return status, err
		}
		if status.Status != wire.JobProcessing {
			return status, status.Failed()
		}

		if report != nil {
			report(status)
		}
		if err := j.client.wait(ctx, pause); err != nil {
			return status, err
		}
	}
}

// poll returns the status, and after how long it should be asked for again.
func (j Job) poll(ctx context.Context) (status JobStatus, pause time.Duration, err error) {
	response, err := j.client.send(ctx, message{method: http.MethodGet, path: "/v1/jobs/" + url.PathEscape(j.ID)})
	if err != nil {
		return status, 0, err
	}

	pause = time.Second
	if seconds := retryAfterOf(response); seconds > 0 {
		pause = min(time.Duration(seconds)*time.Second, maxRetryWait)
	}
	err = readAnswer(response, &status)
	return status, pause, err
}

// Bytes waits for the job and returns its file.
func (j Job) Bytes(ctx context.Context) ([]byte, error) {
	result, err := j.download(ctx)
	if err != nil {
		return nil, err
	}
	return result.Bytes()
}

// Save waits for the job, writes its file to a path, and returns the file's properties.
func (j Job) Save(ctx context.Context, path string) (*Result, error) {
	result, err := j.download(ctx)
	if err != nil {
		return nil, err
	}
	err = result.Save(path)
	return result, err
}

func (j Job) download(ctx context.Context) (*Result, error) {
	if _, err := j.Wait(ctx, nil); err != nil {
		return nil, err
	}
	return j.client.Files().Get(ctx, j.ID)
}
