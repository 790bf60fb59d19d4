package jobs

import "sync"

// pool bounds how many workers of a process run at once. A wake-up while all of them
// work is not lost: the next one to finish starts again.
type pool struct {
	limit int
	work  func()

	workers sync.WaitGroup

	mu     sync.Mutex
	busy   int
	missed bool
	closed bool
}

// wake starts a worker, and reports whether one was free.
func (p *pool) wake() (free bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.missed = p.missed || p.busy == p.limit
	return p.start()
}

// wakeNext starts another worker if one is free. It is for a worker that has found
// work and looks for more afterwards anyway.
func (p *pool) wakeNext() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.start()
}

// start needs the lock.
func (p *pool) start() bool {
	if p.closed || p.busy == p.limit {
		return false
	}
	p.busy++
	p.workers.Go(func() {
		for again := true; again; again = !p.leave() {
			p.work()
		}
	})
	return true
}

// leave reports whether the worker may end.
func (p *pool) leave() bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.missed {
		p.missed = false
		return false
	}
	p.busy--
	return true
}

// close starts no more workers. The ones that run continue.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}
