package office

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/queue"
	"github.com/relaypdf/relaypdf/render/spool"
)

// only returns a pool of one LibreOffice process, and the ID of that process.
func only(t *testing.T) (*Pool, int) {
	t.Helper()
	before := offices(t)
	p := New(Config{Engine: engine.Config{Size: 1}, Queue: 3})
	t.Cleanup(func() { _ = p.Close() })
	if _, err := convert(t, p, []byte("first"), "first.txt", "", ToPDF); err != nil {
		t.Fatal(err)
	}
	for _, pid := range offices(t) {
		if !slices.Contains(before, pid) {
			eventually(t, "the first job's folder is empty", func() bool { return !hasInput(pid) })
			return p, pid
		}
	}
	t.Fatal("no office is running")
	return nil, 0
}

// TestKilledOfficeIsReplaced kills the LibreOffice process during a job, which is then done by another one.
func TestKilledOfficeIsReplaced(t *testing.T) {
	sharedtest.Slow(t)
	p, pid := only(t)
	type result struct {
		made []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		made, err := convert(t, p, long(), "long.html", "", ToDOCX)
		done <- result{made, err}
	}()
	if err := syscall.Kill(atWork(t, []int{pid}), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.err != nil || len(r.made) == 0 {
		t.Errorf("got %d bytes and %v, want the document", len(r.made), r.err)
	}
	eventually(t, "the killed office is gone", func() bool { return !slices.Contains(offices(t), pid) })
}

// TestIdleOfficeIsReplaced kills a LibreOffice process that has nothing to do.
func TestIdleOfficeIsReplaced(t *testing.T) {
	sharedtest.Slow(t)
	p, pid := only(t)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if made, err := convert(t, p, []byte("second"), "second.txt", "", ToPDF); err != nil || textOf(t, made) != "second" {
		t.Errorf("got %v, want the document", err)
	}
}

// TestDeadlineEndsOffice ends a job in the middle, with the LibreOffice process that runs it.
func TestDeadlineEndsOffice(t *testing.T) {
	sharedtest.Slow(t)
	p, pid := only(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, _, err := p.Convert(ctx, Conversion{
			Content: spool.FromBytes(long()), Source: Source{KindWeb, FormatHTML}, To: ToDOCX, MaxPages: 2000, MaxBytes: 200 << 20,
		})
		ended <- err
	}()
	atWork(t, []int{pid})
	if err := p.Admit("another"); err != nil {
		t.Errorf("Admit: %v, want room for one to wait", err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	if made, err := convert(t, p, []byte("second"), "second.txt", "", ToPDF); err != nil || textOf(t, made) != "second" {
		t.Errorf("after a deadline: %v", err)
	}
	eventually(t, "the office ends with the deadline", func() bool { return !slices.Contains(offices(t), pid) })
}

// TestFullQueueTurnsAway fills the only office and all places of its queue, which
// is the children's: a newcomer takes the newest job's place of the longest line.
func TestFullQueueTurnsAway(t *testing.T) {
	p, pid := only(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 4)
	start := func() {
		go func() {
			_, _, err := p.Convert(ctx, Conversion{
				Account: "greedy", Content: spool.FromBytes(long()), Source: Source{KindWeb, FormatHTML}, To: ToDOCX, MaxPages: 2000, MaxBytes: 200 << 20,
			})
			ended <- err
		}()
	}
	start()
	atWork(t, []int{pid})
	for range 3 {
		start()
	}
	eventually(t, "three wait", func() bool { return p.Load().Waiting == 3 })
	var busy *queue.BusyError
	if err := p.Admit("greedy"); !errors.As(err, &busy) || busy.RetryAfter < time.Second {
		t.Errorf("Admit of who fills the queue: got %v, want a *queue.BusyError", err)
	}
	if err := p.Admit("other"); err != nil {
		t.Errorf("Admit of another: %v, want a place", err)
	}
	cancel()
	for range 4 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error", err)
		}
	}
	if now := p.Load(); now.Busy != 0 || now.Waiting != 0 {
		t.Errorf("%d documents are under way and %d wait at the end", now.Busy, now.Waiting)
	}
}

// TestNotInstalled has no program in its path.
func TestNotInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	p := New(Config{})
	if err := p.Warm(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("Warm: got %v, want ErrUnavailable", err)
	}
	if _, err := convert(t, p, []byte("x"), "x.txt", "", ToPDF); !errors.Is(err, ErrUnavailable) {
		t.Errorf("Convert: got %v, want ErrUnavailable", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestCannotStart has an engine that ends at once.
func TestCannotStart(t *testing.T) {
	t.Parallel()
	p := New(Config{Engine: engine.Config{Command: []string{"/bin/false"}, Size: 1}})
	t.Cleanup(func() { _ = p.Close() })
	if _, err := convert(t, p, []byte("x"), "x.txt", "", ToPDF); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
}

// TestCloseEndsOffices leaves no LibreOffice process behind.
func TestCloseEndsOffices(t *testing.T) {
	p, pid := only(t)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if slices.Contains(offices(t), pid) {
		t.Error("the office outlives its pool")
	}
	if _, err := convert(t, p, []byte("x"), "x.txt", "", ToPDF); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}
