package store

import "sync"

// gate bounds how many workers of a process run at once, however they were
// woken. A wake-up that finds all of them at work is not lost: the next to
// finish looks again.
type gate struct {
	limit int
	work  func()

	workers sync.WaitGroup

	mu     sync.Mutex
	busy   int
	missed bool
	closed bool
}

// wake has a worker work, unless as many as may do so already, or the gate is
// closed, and reports whether it did.
func (g *gate) wake() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.missed = g.missed || g.busy == g.limit
	return g.start()
}

// wakeNext wakes one more free worker, if there is one, to work in parallel with the caller, which looks again
// anyway.
func (g *gate) wakeNext() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.start()
}

// start needs the lock.
func (g *gate) start() bool {
	if g.closed || g.busy == g.limit {
		return false
	}
	g.busy++
	g.workers.Go(func() {
		for again := true; again; again = !g.leave() {
			g.work()
		}
	})
	return true
}

// leave reports whether the worker may go.
func (g *gate) leave() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.missed {
		g.missed = false
		return false
	}
	g.busy--
	return true
}

// close admits no more workers. Workers inside continue.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}
