package chrome

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/relaypdf/relaypdf/render/queue"
)

// Step is a timed part of a job. Config.Observe gets the duration of each, and a TimeoutError names the unfinished
// one.
type Step string

// The steps in their order.
const (
	StepQueue    Step = "queue"    // waiting for a slot
	StepPage     Step = "page"     // getting a browser and a page
	StepLoad     Step = "load"     // loading up to Job.WaitUntil
	StepSelector Step = "selector" // Job.WaitForSelector
	StepFunction Step = "function" // Job.WaitForFunction
	StepPause    Step = "pause"    // Job.WaitForTimeout
	StepSettle   Step = "settle"   // web fonts, lazy images, frames
	StepPrint    Step = "print"
	StepNumber   Step = "number" // StepPrint of a document whose page numbers, strings or bookmarks depend on its pages
	StepCapture  Step = "capture"
)

// Doing describes a step in the middle of a sentence.
func (s Step) Doing() string {
	switch s {
	case StepQueue:
		return "waiting for a slot"
	case StepPage:
		return "starting"
	case StepLoad:
		return "loading"
	case StepSelector:
		return "waiting for the selector"
	case StepFunction:
		return "waiting for the function"
	case StepPause:
		return "waiting"
	case StepSettle:
		return "waiting for fonts and images"
	case StepPrint:
		return "printing"
	case StepNumber:
		return "numbering pages for target-counter(), string-set or bookmarks"
	case StepCapture:
		return "capturing"
	default:
		return string(s) // of who prepares documents
	}
}

// Stats is a snapshot of a Pool.
type Stats struct {
	Queue       queue.State
	Renders     int64 // jobs that returned a result
	Escalated   int64 // jobs whose mode had no network and that needed it
	Restarts    int64 // planned replacements of browsers
	Crashes     int64 // renderers and browsers that died
	MemoryBytes int64 // of the browsers' processes, measured every few seconds
}

// counters are the parts of Stats that only grow.
type counters struct {
	renders, escalated, restarts, crashes, memory atomic.Int64
}

// Stats returns the current figures.
func (p *Pool) Stats() Stats {
	return Stats{
		Queue:       p.queue.State(),
		Renders:     p.count.renders.Load(),
		Escalated:   p.count.escalated.Load(),
		Restarts:    p.count.restarts.Load(),
		Crashes:     p.count.crashes.Load(),
		MemoryBytes: p.count.memory.Load(),
	}
}

// observe reports a finished step.
func (p *Pool) observe(s Step, d time.Duration, also func(Step, time.Duration)) {
	if p.cfg.Observe != nil {
		p.cfg.Observe(s, d)
	}
	if also != nil {
		also(s, d)
	}
}

type observerKey struct{}

// Observed returns a context whose jobs report each step to observe, too.
func Observed(ctx context.Context, observe func(step Step, took time.Duration)) context.Context {
	return context.WithValue(ctx, observerKey{}, observe)
}

// observerOf returns the observer of the steps in a context, or nil.
func observerOf(ctx context.Context) func(Step, time.Duration) {
	observe, _ := ctx.Value(observerKey{}).(func(Step, time.Duration))
	return observe
}
