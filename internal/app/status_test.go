package app

import (
	"context"
	"sync"
	"testing"
	"time"

	"relaypdf/views"
)

// TestStatusIsAskedOnceForAll has visitors who come at once, go before the answer, and
// come later.
func TestStatusIsAskedOnceForAll(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 5, 0, 0, 0, time.UTC)
	asked := int64(0)
	b := statusCache{now: func() time.Time { return now }}
	b.ask = func(ctx context.Context) views.ServiceStatus {
		if ctx.Err() != nil {
			t.Error("the visitor's going broke it off")
		}
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("it may take for ever")
		}
		asked++
		return views.ServiceStatus{Processes: asked}
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	var visitors sync.WaitGroup
	for range 20 {
		visitors.Go(func() {
			if got := b.read(gone); got.Processes != 1 {
				t.Errorf("one was told of answer %d", got.Processes)
			}
		})
	}
	visitors.Wait()
	for _, step := range []struct {
		after time.Duration
		want  int64
	}{{statusLasts - 1, 1}, {1, 2}, {0, 2}, {-time.Hour, 3}} { // The last is a clock that was set back.
		now = now.Add(step.after)
		if got := b.read(t.Context()); got.Processes != step.want {
			t.Errorf("%s later answer %d is told, want %d", step.after, got.Processes, step.want)
		}
	}
}
