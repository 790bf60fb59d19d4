package engine_test

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/engine"
)

// TestHungProgram has programs that use no processor time. Each is ended and started again in a new child.
func TestHungProgram(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	for name, script := range map[string]string{
		"stopped":           "kill -STOP $$",
		"waits":             "exec sleep 1000",
		"starts a stopped":  "sh -c 'kill -STOP $$'; true",
		"ignores signals":   "trap '' TERM INT; while :; do sleep 1000; done",
		"waits for a child": "sleep 1000 & wait",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := start(t, engine.Config{Size: 1})
			begun := time.Now()
			_, err := pool.Do(t.Context(), engine.Job{Name: "exec", Args: program{Name: "sh", Args: []string{"-c", script}}})
			if !errors.Is(err, engine.ErrHung) || !errors.Is(err, engine.ErrUnavailable) {
				t.Errorf("after %v: got %v, want ErrHung", time.Since(begun), err)
			}
			if took := time.Since(begun); took < 20*time.Second || took > patience {
				t.Errorf("it took %v", took)
			}
			if out := do(t, pool, engine.Job{Name: "exec", Args: program{Name: "echo", Args: []string{"works"}}}); string(out) != "works\n" {
				t.Errorf("afterwards: %q", out)
			}
		})
	}
}

// TestSlowProgram uses little processor time, but some.
func TestSlowProgram(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	const script = "i=0; while [ $i -lt 12 ]; do sleep 1; j=0; while [ $j -lt 30000 ]; do j=$((j+1)); done; i=$((i+1)); done; echo done"
	pool := start(t, engine.Config{Size: 1})
	if out := do(t, pool, engine.Job{Name: "exec", Args: program{Name: "sh", Args: []string{"-c", script}}}); string(out) != "done\n" {
		t.Errorf("got %q", out)
	}
}

// TestStoppedChild stops the engine itself. The job is done by a new one. It runs alone: other tests have engines too.
func TestStoppedChild(t *testing.T) {
	sharedtest.Slow(t)
	pool := start(t, engine.Config{Size: 1})
	first := describe(t, pool)
	running := engines(t, os.Getpid())
	if len(running) != 1 {
		t.Fatalf("engines %v are running, want one", running)
	}
	if err := syscall.Kill(running[0], syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := pool.Do(ctx, engine.Job{Name: "exec", Args: program{Name: "true"}}); err != nil {
		t.Fatal(err)
	}
	if now := describe(t, pool); now.Instance == first.Instance {
		t.Error("the stopped engine is still in use")
	}
}
