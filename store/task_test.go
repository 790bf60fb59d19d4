package store_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

// TestTaskIsDoneOnceWhenDue lets many processes do one task.
func TestTaskIsDoneOnceWhenDue(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		var done atomic.Int64
		fault := errors.New("no")
		task := store.Task{Name: "test", Every: time.Hour, Do: func(context.Context) error {
			done.Add(1)
			return fault
		}}
		rounds := 0
		expect := func(what string, want int64) {
			t.Helper()
			var wg sync.WaitGroup
			for range 6 {
				wg.Go(func() { _, _ = f.RunTask(t.Context(), task) })
			}
			wg.Wait()
			rounds++
			if got := done.Swap(0); got != want {
				t.Errorf("%s: done %d times, want %d", what, got, want)
			}
		}
		expect("at first", 1)
		expect("just after", 0)
		f.clock.Advance(time.Minute)
		fault = nil
		expect("a minute after a failure", 1)
		f.clock.Advance(time.Hour - time.Second)
		expect("before it is due", 0)
		f.clock.Advance(time.Second)
		expect("when it is due", 1)

		// A process that dies with a task leaves it to the next.
		f.clock.Advance(time.Hour)
		task.Do = func(context.Context) error { panic("killed") }
		if did, err := f.RunTask(t.Context(), task); !did || err == nil {
			t.Errorf("a task that panics: got %v, %v; want an error", did, err)
		}
		if _, err := f.DB().NewRaw("UPDATE tasks SET leased_until = due_at + 1000000, due_at = 0").Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		task.Do = func(context.Context) error { done.Add(1); return nil }
		f.clock.Advance(2 * time.Minute)
		expect("after its process died", 1)
	})
}

func TestUpkeepWorks(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.settle(t, f.begin(t, f.newCall(10)).ID, 10)
		f.clock.Advance(40 * 24 * time.Hour)
		for range 2 {
			for _, task := range f.MaintenanceTasks() {
				if did, err := f.RunTask(t.Context(), task); !did || err != nil {
					t.Errorf("%s: got %v, %v", task.Name, did, err)
				}
			}
			f.clock.Advance(24 * time.Hour)
		}
	})
}
