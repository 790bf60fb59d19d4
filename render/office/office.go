// Package office converts office documents with LibreOffice, and HTML with wkhtmltopdf. Both run in the children of
// render/engine.
//
// A Pool keeps children in which LibreOffice is already running, because it takes a second to start and a few
// milliseconds to convert. A worker in Python (worker.py) runs next to it and controls it over UNO. LibreOffice has
// no network, no macros and no environment variables. It sees the one document of its job and is replaced with its
// child when the job's time is over.
package office

import (
	"context"

	"github.com/relaypdf/relaypdf/render/engine"
)

// The names of the jobs, for engine.Job.
const (
	startJob   = "office.start"
	convertJob = "office.convert"
)

// Handlers are the jobs of this package that a child of render/engine can do.
func Handlers() engine.Handlers {
	// The LibreOffice process of this child, once it was started.
	o := new(instance)
	return engine.Handlers{
		startJob: handle(func(ctx context.Context, w *engine.Work, _ struct{}) ([]byte, error) {
			return nil, o.start(ctx, w)
		}),
		convertJob:    handle(o.convert),
		ReferencesJob: handle(references),
		PageJob:       handle(makePage),
		PagesHTMLJob:  handle(pagesHTML),
		ResolutionJob: handle(resolution),
		EmbedJob:      handle(embedWhole),
	}
}

// handle makes a handler whose errors of this package reach the other side,
// where FromJob reads them.
func handle[Args any](f func(ctx context.Context, w *engine.Work, args Args) ([]byte, error)) engine.Handler {
	return engine.Handle(func(ctx context.Context, w *engine.Work, args Args, _ []byte) ([]byte, error) {
		result, err := f(ctx, w, args)
		return result, toJob(err)
	})
}
