package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/queue"
)

// TestAccountDoesNotHoldEveryEngine lets one account stay in every child, with
// more jobs in its line: another's job is done at once in the extra child.
func TestAccountDoesNotHoldEveryEngine(t *testing.T) {
	pool := start(t, engine.Config{Size: 2, Extra: 1})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 5)
	for range 5 {
		go func() {
			_, err := pool.Do(ctx, engine.Job{Name: "stay", Account: "heavy"})
			ended <- err
		}()
	}
	eventually(t, "the queue", func() bool { now := pool.Load(); return now.Busy == 2 && now.Waiting == 3 })
	bounded, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	for range 3 {
		if got, err := pool.Do(bounded, engine.Job{Name: "echo", Account: "light", Body: []byte("x")}); err != nil || string(got) != "x" {
			t.Fatalf("another account's job: %q, %v", got, err)
		}
	}
	if now := pool.Load(); now.Busy != 2 || now.Waiting != 3 {
		t.Errorf("%d busy, %d waiting afterwards; want the heavy account's 2 and 3", now.Busy, now.Waiting)
	}
	cancel()
	for range 5 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("a job that was given up: %v", err)
		}
	}
}

// TestSpareChildHelpsWhileTheFirstHangs has the first child hang as it starts: the first job is done by the spare one.
func TestSpareChildHelpsWhileTheFirstHangs(t *testing.T) {
	dir := sharedDir(t)
	hangs := filepath.Join(dir, "hangs")
	if err := unix.Mkfifo(hangs, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := `if mkdir "$1/first" 2>/dev/null; then exec 3<>"$1/hangs"; exec sleep 600; fi; exec "$2" engine`
	pool := start(t, engine.Config{Size: 1, Extra: 1, Command: []string{"sh", "-c", script, "sh", dir, self}})
	held := func() bool {
		fd, err := unix.Open(hangs, unix.O_WRONLY|unix.O_NONBLOCK, 0) // ENXIO without a reader
		if err == nil {
			_ = unix.Close(fd)
		}
		return err == nil
	}
	eventually(t, "the first child hangs", held)
	if got := do(t, pool, engine.Job{Name: "echo", Body: []byte("x")}); string(got) != "x" {
		t.Errorf("the job: got %q", got)
	}
	if !held() {
		t.Error("the job waited until the first child was given up")
	}
}

// TestWaitingIsNotTheJobsOwnTime lets a job wait longer than it may take.
func TestWaitingIsNotTheJobsOwnTime(t *testing.T) {
	sharedtest.Slow(t)
	const limit = 5 * time.Second
	pool := start(t, engine.Config{Size: 1})
	first := make(chan error, 1)
	go func() {
		_, err := pool.Do(context.Background(), engine.Job{Name: "stay", Account: "a", Time: 2 * limit})
		first <- err
	}()
	eventually(t, "the queue", func() bool { return pool.Load().Busy == 1 })
	begin := time.Now()
	if _, err := pool.Do(context.Background(), engine.Job{Name: "echo", Account: "b", Time: limit, Body: []byte("x")}); err != nil {
		t.Errorf("a job that waited %s: %v; want it done", time.Since(begin), err)
	}
	var late *engine.TimeoutError
	if err := <-first; !errors.As(err, &late) || !errors.Is(err, engine.ErrKilled) || late.After != 2*limit || late.Slowed != 0 {
		t.Errorf("a job beyond its own time: %v; want ErrKilled after %s", err, 2*limit)
	}
}

// TestAccountThatMissesDeadlinesIsReported runs into a job's own time again and
// again.
func TestAccountThatMissesDeadlinesIsReported(t *testing.T) {
	pool := start(t, engine.Config{Size: 2})
	var late *engine.TimeoutError
	for range 3 {
		_, err := pool.Do(context.Background(), engine.Job{Name: "stay", Account: "late", Time: 50 * time.Millisecond})
		if !errors.As(err, &late) {
			t.Fatalf("a job beyond its own time: %v", err)
		}
	}
	if late.Slowed <= 0 {
		t.Error("after three such jobs the account is not told that it has fewer slots")
	}
}

// TestFullQueueOfEngines fills the line.
func TestFullQueueOfEngines(t *testing.T) {
	pool := start(t, engine.Config{Size: 1, Queue: 1})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for range 2 {
		go func() { _, _ = pool.Do(ctx, engine.Job{Name: "stay", Account: "a"}) }()
	}
	eventually(t, "the queue", func() bool { now := pool.Load(); return now.Busy == 1 && now.Waiting == 1 })
	var busy *queue.BusyError
	if _, err := pool.Do(ctx, engine.Job{Name: "echo", Account: "a"}); !errors.As(err, &busy) || busy.RetryAfter < time.Second {
		t.Errorf("a job without a place: %v, want a *queue.BusyError", err)
	}
	if err := pool.Admit("a"); !errors.Is(err, queue.ErrBusy) {
		t.Errorf("Admit: %v, want ErrBusy", err)
	}
}

// TestReadyReportsWhyNoEngineStarts has a command that ends at once, and says why.
func TestReadyReportsWhyNoEngineStarts(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	pool, err := engine.Start(engine.Config{Dir: t.TempDir(), Command: []string{"sh", "-c", "echo no proc here >&2; exit 1"}, Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := pool.Ready(ctx); !errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), "no proc here") {
		t.Errorf("Ready: %v; want ErrUnavailable with what the child wrote", err)
	}
	if err := start(t, engine.Config{Size: 1}).Ready(ctx); err != nil {
		t.Errorf("Ready of children that start: %v", err)
	}
}
