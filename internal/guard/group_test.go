package guard_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/guard"
)

func TestPanicInGroupIsItsError(t *testing.T) {
	t.Parallel()
	group, ctx := guard.WithContext(t.Context())
	group.SetLimit(1)
	group.Go(func() error { panic("bug") })
	group.Go(func() error {
		<-ctx.Done()
		return ctx.Err()
	})
	if err := group.Wait(); err == nil || !strings.Contains(err.Error(), "panic: bug") {
		t.Errorf("got %v, want the panic", err)
	}
	failed := errors.New("failed")
	plain := guard.NewGroup()
	plain.Go(func() error { return failed })
	if err := plain.Wait(); !errors.Is(err, failed) {
		t.Errorf("got %v, want %v", err, failed)
	}
}

func TestLoopBeginsAgainAfterPanic(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var log bytes.Buffer
	runs := 0
	guard.Loop(ctx, slog.New(slog.NewTextHandler(&log, nil)), "a loop", func(ctx context.Context) {
		if runs++; runs == 1 {
			panic("bug")
		}
		cancel()
		<-ctx.Done()
	})
	if runs != 2 || !strings.Contains(log.String(), "bug") || !strings.Contains(log.String(), "a loop") {
		t.Errorf("%d runs, log %q; want 2, and the panic", runs, log.String())
	}
}

func TestLogOfPanic(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	guard.Log(slog.New(slog.NewTextHandler(&log, nil)), "a job", func() { panic("bug") })
	if !strings.Contains(log.String(), "bug") || !strings.Contains(log.String(), "a job") {
		t.Errorf("log %q, want the panic", log.String())
	}
}
