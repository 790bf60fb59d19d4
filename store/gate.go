package store

import "sync"

// gate bounds how many workers of a process run at once, however they were
// woken. A wake-up that finds all of them at work is not lost: the next to
// finish looks again.
type gate struct {
	limit int

	mu     sync.Mutex
	busy   int
	missed bool
}

// run calls work, again as long as a wake-up was missed meanwhile, unless as
// many as may are at work already.
func (g *gate) run(work func()) {
	if !g.enter() {
		return
	}
	for again := true; again; again = !g.leave() {
		work()
	}
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy == g.limit {
		g.missed = true
		return false
	}
	g.busy++
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
