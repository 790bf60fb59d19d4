package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/invopop/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/schema"
)

const (
	jobTool, waitTool = "jobs_get", "jobs_wait"
	// maxWait is the maximum time for which a tool waits for a job.
	maxWait = 50 * time.Second
	// A job is looked at often at first, then every other second.
	minPollPause, maxPollPause = 250 * time.Millisecond, 2 * time.Second
)

// waiting is a tool that asks another for a job until it is done.
func waiting(get *tool) *tool {
	t := &tool{Tool: get.Tool}
	t.Name = waitTool
	t.Title = "Wait for a job"
	t.Use = "Use when a call had async: true. Returns when the job ends, or after 50 s with status processing: then call it again."

	input := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), Required: []string{"id"}}
	input.Properties.Set("id", &jsonschema.Schema{Type: "string", Description: "ID of the job."})
	input.Properties.Set("seconds", &jsonschema.Schema{
		Type: "integer", Minimum: "1", Maximum: "50", Default: 50, Description: "Maximum time to wait.",
	})
	input.Properties.Set(previewMember, &jsonschema.Schema{Type: "boolean"})

	t.described = &sdk.Tool{
		Name: t.Name, Title: t.Title, Description: t.description(), InputSchema: input, Annotations: t.annotations(),
	}

	t.run = func(ctx context.Context, s *service, arguments json.RawMessage) (*sdk.CallToolResult, error) {
		timeout, rest, err := timeoutOf(arguments)
		if err != nil {
			return refused(err)
		}
		preview, rest, err := takePreview(rest)
		if err != nil {
			return refused(err)
		}
		return get.wait(ctx, s, timeout, rest, preview)
	}
	return t
}

// timeoutOf removes the time from the arguments and returns it.
func timeoutOf(arguments json.RawMessage) (timeout time.Duration, rest json.RawMessage, err error) {
	given, err := membersOf(arguments)
	if err != nil {
		return 0, nil, err
	}

	timeout = maxWait
	kept := given[:0:0]
	for _, m := range given {
		if m.name != "seconds" {
			kept = append(kept, m)
			continue
		}
		seconds, err := strconv.Atoi(string(m.value))
		if err != nil || seconds < 1 || seconds > int(maxWait.Seconds()) {
			return 0, nil, schema.FieldErrors{{Field: "seconds", Message: "must be a whole number from 1 to 50"}}
		}
		timeout = time.Duration(seconds) * time.Second
	}

	rest, err = objectOf(kept)
	return timeout, rest, err
}

// wait asks for a job until it is done, or the time is over.
func (t *tool) wait(
	ctx context.Context, s *service, timeout time.Duration, arguments json.RawMessage, preview bool,
) (*sdk.CallToolResult, error) {
	end := time.Now().Add(timeout)
	for pause := minPollPause; ; pause = min(2*pause, maxPollPause) {
		answer, err := t.ask(ctx, s, arguments)
		if err != nil {
			return refused(err)
		}

		left := time.Until(end)
		if answer.Status == http.StatusTooManyRequests {
			if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil {
				pause = max(pause, time.Duration(seconds)*time.Second)
			}
			if pause > left {
				return failed(answer)
			}
		} else if done, result, err := t.seen(ctx, s, answer, preview); done || left <= 0 || err != nil {
			return result, err
		}

		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(min(pause, left)):
		}
	}
}

// seen shows a response and reports whether it is the last.
func (t *tool) seen(ctx context.Context, s *service, answer Response, preview bool) (bool, *sdk.CallToolResult, error) {
	if answer.Status >= http.StatusBadRequest {
		result, err := failed(answer)
		return true, result, err
	}

	var job wire.JobStatus
	if err := json.Unmarshal(answer.Body, &job); err != nil {
		return true, nil, err
	}
	result, err := t.show(ctx, s, answer, preview)
	return job.Status != wire.JobProcessing, result, err
}
