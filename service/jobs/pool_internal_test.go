package jobs

import (
	"strings"
	"testing"
	"time"
)

// TestWakeUpDuringWorkIsNotLost: a worker that is busy during a wake-up works once more.
func TestWakeUpDuringWorkIsNotLost(t *testing.T) {
	t.Parallel()
	begun, end := make(chan struct{}), make(chan struct{})
	p := &pool{limit: 1, work: func() { begun <- struct{}{}; <-end }}
	if !p.wake() {
		t.Fatal("no worker is free, want one")
	}
	<-begun
	p.wakeNext() // The worker looks for more anyway.
	if p.wake() {
		t.Error("a second worker is free, want one worker")
	}
	end <- struct{}{}
	<-begun
	p.close()
	end <- struct{}{}
	p.workers.Wait()
	if p.wake() {
		t.Error("a worker started after the pool was closed")
	}
}

// TestDrainEnds: a worker that does not end does not keep the process from stopping.
func TestDrainEnds(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	l := &loop{pool: pool{limit: 1, work: func() { <-end }}}
	l.pool.wake()
	if err := l.drain(time.Millisecond); err == nil || !strings.Contains(err.Error(), "did not end within 1ms") {
		t.Errorf("got %v, want the job that did not end", err)
	}
	close(end)
	if err := l.drain(5 * time.Minute); err != nil {
		t.Error(err)
	}
}
