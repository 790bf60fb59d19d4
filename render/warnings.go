package render

import (
	"context"
	"slices"
	"sync"

	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/engine"
)

// Warnings collects the warnings of jobs on files. It is safe for concurrent use.
type Warnings struct {
	mu    sync.Mutex
	found []chrome.Warning
}

type warningsKey struct{}

// Warned returns a context whose jobs on files add their warnings to a collection, in addition to what their methods
// return.
func Warned(ctx context.Context) (context.Context, *Warnings) {
	collected := &Warnings{}
	return context.WithValue(ctx, warningsKey{}, collected), collected
}

// All returns the warnings so far, each once.
func (w *Warnings) All() []chrome.Warning {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.found)
}

// warn adds the warnings of a job to the collection of a context, if it has one.
func warn(ctx context.Context, added []engine.Warning) {
	w, ok := ctx.Value(warningsKey{}).(*Warnings)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range added {
		if warning := (chrome.Warning{Code: a.Code, Message: a.Message}).Bounded(); !slices.Contains(w.found, warning) {
			w.found = append(w.found, warning)
		}
	}
}
