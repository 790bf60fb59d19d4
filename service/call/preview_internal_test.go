package call

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/queue"
)

// TestPreviewsStepBack starts more previews than may run: they get half of the slots, none goes before a waiting
// call, and a cancelled one occupies no place.
func TestPreviewsStepBack(t *testing.T) {
	var waiting atomic.Int64
	line := newPreviewLine(nil, func() render.Stats {
		return render.Stats{Pools: []render.Pool{{Name: browserPool, State: queue.State{Slots: 4, Waiting: int(waiting.Load())}}}}
	})
	var leaves []func()
	for range 2 {
		_, leave, err := line.enter(t.Context(), "acc")
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, leave)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, _, err := line.enter(gone, "acc"); !errors.Is(err, context.Canceled) {
		t.Errorf("a third beside two of four slots: got %v", err)
	}
	leaves[0]()
	waiting.Store(1)
	entered := make(chan time.Duration, 1)
	began := time.Now()
	go func() {
		_, leave, err := line.enter(t.Context(), "acc")
		if err == nil {
			leave()
		}
		entered <- time.Since(began)
	}()
	// Calls that never end to wait hold a preview up, and not for ever.
	if took := <-entered; took < previewYield {
		t.Errorf("a preview went before a call that waits, after %v", took)
	}
	waiting.Store(0)
	if _, _, err := line.enter(t.Context(), "acc"); err != nil {
		t.Error(err)
	}
}
