package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
)

// Job is a call that runs without a connection.
type Job struct {
	ID     string
	client *Client
}

// Job returns the job with an ID.
func (c *Client) Job(id string) Job { return Job{ID: id, client: c} }

// Status returns the status of the job.
func (j Job) Status(ctx context.Context) (JobStatus, error) { return j.client.Jobs().Get(ctx, j.ID) }

// Cancel cancels the job if it has not ended: see [Jobs.Delete].
func (j Job) Cancel(ctx context.Context) (JobStatus, error) { return j.client.Jobs().Delete(ctx, j.ID) }

// Wait polls the job until it has completed or failed, at the interval that the service asks for, or until ctx ends.
// It calls progress, unless that is nil, with each status, the last one included. The error of a failed job is an
// *[Error] with the code of the failure.
func (j Job) Wait(ctx context.Context, progress func(JobStatus)) (JobStatus, error) {
	for {
		status, pause, err := j.poll(ctx)
		if err != nil {
			return status, err
		}
		if progress != nil {
			progress(status)
		}
		if status.Status != wire.JobProcessing {
			return status, status.Failed()
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

// JSON waits for the job and reads its result into a value, such as a *[PDFDataResult].
func (j Job) JSON(ctx context.Context, into any) error {
	content, err := j.Bytes(ctx)
	if err != nil {
		return err
	}
	return json.Unmarshal(content, into)
}

func (j Job) download(ctx context.Context) (*Result, error) {
	if _, err := j.Wait(ctx, nil); err != nil {
		return nil, err
	}
	return j.client.Files().Get(ctx, j.ID)
}
