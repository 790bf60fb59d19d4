package render

import (
	"context"
	"time"

	"github.com/relaypdf/relaypdf/render/chrome"
)

type observerKey struct{}

// Observed returns a context whose renders call observe with the duration of each step: waiting for a slot,
// loading, printing and so on. observe is called from the goroutine that renders.
func Observed(ctx context.Context, observe func(step string, took time.Duration)) context.Context {
	ctx = context.WithValue(ctx, observerKey{}, observe)
	return chrome.Observed(ctx, func(step chrome.Step, took time.Duration) { observe(string(step), took) })
}

// seen reports a step that runs outside the browser.
func (r *Renderer) seen(ctx context.Context, step string, took time.Duration) {
	r.observe(step, took)
	if also, ok := ctx.Value(observerKey{}).(func(string, time.Duration)); ok {
		also(step, took)
	}
}

// observer returns seen as a function for callers without a context.
func (r *Renderer) observer(ctx context.Context) func(step string, took time.Duration) {
	return func(step string, took time.Duration) { r.seen(ctx, step, took) }
}
