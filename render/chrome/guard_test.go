package chrome

import (
	"context"
	"errors"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestLongJobsStepBack has a document take long: alone it keeps its priority;
// beside another account's it loses it, and what comes after has it again.
func TestLongJobsStepBack(t *testing.T) {
	p := startPool(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var jobs sync.WaitGroup
	defer jobs.Wait()
	defer cancel()
	wait := func(account string) {
		jobs.Go(func() {
			job := Job{Account: account, Lane: Realm, HTML: "<script></script>", WaitForSelector: "#never", Timeout: time.Minute}
			if _, err := p.PDF(ctx, job, PDF{}); !errors.Is(err, context.Canceled) {
				t.Errorf("account %s: %v, want that it was canceled", account, err)
			}
		})
	}
	wait("a")
	awaitFor(t, "a job to be under way for long", func() bool { return p.longest() > slowAfter+4*guardEvery })
	if slow(t, p) {
		t.Error("a document that is alone has lost its priority")
	}
	wait("b")
	awaitFor(t, "documents of two accounts to step back", func() bool { return slow(t, p) })
	cancel()
	jobs.Wait()
	awaitFor(t, "browsers that stepped back to be replaced", func() bool { return !slow(t, p) })
}

// awaitFor polls until it is so.
func awaitFor(t *testing.T, what string, so func() bool) {
	t.Helper()
	for range 600 {
		if so() {
			return
		}
		<-time.After(100 * time.Millisecond)
	}
	t.Fatalf("waited for a minute for %s", what)
}

// longest returns the age of the oldest job under way.
func (p *Pool) longest() time.Duration {
	p.fleet.mu.Lock()
	defer p.fleet.mu.Unlock()
	now := time.Now()
	oldest := now
	for _, b := range p.fleet.browsers {
		if at := b.oldest(now, false); at.Before(oldest) {
			oldest = at
		}
	}
	return now.Sub(oldest)
}

// slow reports that a renderer of a browser in service has stepped back.
func slow(t *testing.T, p *Pool) bool {
	t.Helper()
	return slices.ContainsFunc(p.fleet.all(), func(b *browser) bool {
		return slices.ContainsFunc(renderers(t, b.proc.cmd.Process.Pid), func(pid int) bool {
			const ordinary = 20 // The system call returns 20 minus the nice value.
			got, err := syscall.Getpriority(syscall.PRIO_PROCESS, pid)
			return err == nil && ordinary-got == slowNice
		})
	})
}
