// Package job has what all jobs with PDFs need: their declaration and errors, the document with its structure, qpdf,
// scripts of MuPDF, and the geometry, text and images of pages. It runs in the children of render/engine. The jobs are
// in render/pdf and in its other packages, which import this one.
package job

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/relaypdf/relaypdf/render/engine"
)

// Job is a job with PDFs for a child of render/engine, with the types of its arguments and its result. It is
// declared once, next to its function; package render runs it.
type Job[Args, Result any] struct {
	// Name is the name of the handler.
	Name string
	// Time is the time limit.
	Time time.Duration
}

// With returns the job with its arguments and files, for a child of render/engine.
func (j Job[Args, Result]) With(args Args, files []engine.File) engine.Job {
	return engine.Job{Name: j.Name, Time: j.Time, Args: args, Files: files}
}

// None is the result of a job that returns only output files.
type None struct{}

// handlers are the handlers of all jobs with PDFs that the program has.
var handlers = engine.Handlers{}

// Handlers returns the jobs with PDFs that a child of render/engine can do: those of the packages that are linked.
func Handlers() engine.Handlers { return maps.Clone(handlers) }

// Define declares a job whose result is a value. An Error reaches the other side, where FromJob reads them.
func Define[Args, Result any](
	name string, limit time.Duration, run func(context.Context, *engine.Work, Args) (Result, error),
) Job[Args, Result] {
	handlers[name] = engine.Handle(func(ctx context.Context, w *engine.Work, args Args, _ []byte) ([]byte, error) {
		result, err := run(ctx, w, args)
		if err != nil {
			return nil, ToJob(err)
		}

		return json.Marshal(result)
	})
	return Job[Args, Result]{Name: name, Time: limit}
}

// DefineFile declares a job whose result is its output files.
func DefineFile[Args any](
	name string, limit time.Duration, run func(context.Context, *engine.Work, Args) error,
) Job[Args, None] {
	return Define(name, limit, func(ctx context.Context, w *engine.Work, args Args) (None, error) {
		return None{}, run(ctx, w, args)
	})
}
