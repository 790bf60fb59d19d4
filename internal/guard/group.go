package guard

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"
)

// Group is an errgroup.Group in which a panic is an error of Wait.
type Group struct{ group *errgroup.Group }

// NewGroup returns a Group whose work runs to its end.
func NewGroup() *Group { return &Group{new(errgroup.Group)} }

// WithContext returns a Group, and a context that ends with its first error or with Wait.
func WithContext(ctx context.Context) (*Group, context.Context) {
	group, ctx := errgroup.WithContext(ctx)
	return &Group{group}, ctx
}

// SetLimit bounds how much runs at once.
func (g *Group) SetLimit(n int) { g.group.SetLimit(n) }

// Go runs work in a new goroutine.
func (g *Group) Go(work func() error) {
	g.group.Go(func() error { return Try(work) })
}

// Wait returns the first error when all work has ended.
func (g *Group) Wait() error { return g.group.Wait() }

// restartPause is the pause before work that panicked begins again.
const restartPause = time.Second

// Loop runs work that ends with ctx. If it panics, the panic is logged, and work is called again.
func Loop(ctx context.Context, log *slog.Logger, name string, work func(context.Context)) {
	for {
		err := Do(func() { work(ctx) })
		if err == nil {
			return
		}

		log.ErrorContext(ctx, "background work panicked and begins again", "work", name, "error", err)
		Pause(ctx, restartPause)
		if ctx.Err() != nil {
			return
		}
	}
}

// Pause waits for a time, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Log runs work. If it panics, the panic is logged.
func Log(log *slog.Logger, name string, work func()) {
	if err := Do(work); err != nil {
		log.Error("work panicked", "work", name, "error", err)
	}
}
