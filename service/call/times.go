package call

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/relaypdf/relaypdf/internal/telemetry"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

// times holds the durations of a call's steps. Renders add to them from their own goroutines.
type times struct {
	mu    sync.Mutex
	steps store.Steps
	inner time.Duration // the part of the run that its own steps account for
}

func (t *times) add(step string, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps = t.steps.With(step, took)
}

func (t *times) text() store.Steps {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.steps
}

// part records the duration of a part of a step in the call's row, the metrics and its trace.
func (c *paidCall) part(ctx context.Context, step, part string, took time.Duration) {
	c.times.add(part, took)
	name := step + "/" + part
	c.metrics.step(operationName(c), name, took)
	c.tracer.Tell(ctx, name, took)
}

// endSpan ends the span of a step or of a job, and records whether it failed.
func endSpan(span *telemetry.Span, err error) {
	if span == nil {
		return
	}
	if err != nil && !errors.Is(err, errEnqueued) && !errors.Is(err, errReplayed) {
		span.Fail(string(APIError(err).Code))
	}
	span.End()
}

// runTimed runs the call and records how long each part of it took: the steps that the renderer reports, and the rest
// as "work".
func runTimed(ctx context.Context, c *paidCall) (schema.Result, error) {
	begin := time.Now()
	observed := render.Observed(ctx, func(step string, took time.Duration) {
		c.part(ctx, "run", step, took)
		c.times.mu.Lock()
		defer c.times.mu.Unlock()
		c.times.inner += took
	})

	result, err := operation.Run(observed, c.env(), c.call, c.retryWhileBusy)
	c.times.mu.Lock()
	rest := time.Since(begin) - c.times.inner
	c.times.mu.Unlock()
	c.times.add("work", rest)
	return result, err
}
