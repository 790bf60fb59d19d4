package chrome

import "time"

const (
	// tendEvery is how often idle pages, memory and age are looked at.
	tendEvery = time.Second
	// memoryEvery is how often, in rounds of that, memory is measured.
	memoryEvery = 3
	// drainTimeout ends a retired browser whose jobs do not end; their own
	// deadlines are at most a minute.
	drainTimeout = 2 * time.Minute
	// warmPerSlot bounds the tenants with warm pages, at 50 to 100 MB each.
	warmPerSlot = 8
)

// done gives a browser back after it rendered so many documents, and recycles
// it when that is due.
func (p *Pool) done(b *browser, docs int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.running--
	b.docs += docs
	if b.retired && b.running == 0 {
		close(b.drained)
	}
	if b.docs >= p.cfg.RecycleDocs {
		p.recycleLocked(b, "documents")
	}
}

// recycleLocked replaces the current browser: the next one is started and
// warmed first, then takes over, and the old one leaves when its jobs are done.
func (p *Pool) recycleLocked(old *browser, reason string) {
	if p.recycling || p.closed || p.current != old || p.starting != nil {
		return
	}
	p.recycling = true
	p.tasks.Go(func() {
		next, err := p.launch()
		p.mu.Lock()
		p.recycling = false
		if err != nil || p.current != old || p.starting != nil {
			// The old one died meanwhile and was replaced, or the new one does
			// not start: then the old one goes on, and the next round tries again.
			p.mu.Unlock()
			if next != nil {
				p.retire(next)
			}
			return
		}
		p.current = next
		p.mu.Unlock()
		p.count.restarts.Add(1)
		p.cfg.Logger.Info("browser recycled", "reason", reason, "documents", old.docs)
		p.retire(old)
	})
}

// retire ends a browser that gets no new jobs, when its last job is done.
func (p *Pool) retire(b *browser) {
	p.mu.Lock()
	b.retired = true
	if b.running == 0 {
		close(b.drained)
	}
	p.mu.Unlock()
	timer := time.NewTimer(drainTimeout)
	defer timer.Stop()
	select {
	case <-b.drained:
	case <-timer.C:
	case <-p.ctx.Done():
	}
	p.bury(b)
}

// tend looks after the browser until the Pool is closed.
func (p *Pool) tend() {
	ticker := time.NewTicker(tendEvery)
	defer ticker.Stop()
	for round := 0; ; round++ {
		select {
		case <-ticker.C:
			p.tendOnce(round)
		case <-p.ctx.Done():
			return
		}
	}
}

func (p *Pool) tendOnce(round int) {
	p.queue.prune()
	p.mu.Lock()
	b := p.current
	p.mu.Unlock()
	if b == nil || !b.alive() {
		return
	}
	now := time.Now()
	b.dropIdle(p.ctx, now.Add(-p.cfg.IdleContext), warmPerSlot*p.cfg.Slots)
	b.emptyIdle(now.Add(-tendEvery))
	if round%memoryEvery != 0 {
		return
	}
	memory := treeMemory(b.proc.cmd.Process.Pid)
	p.count.memory.Store(memory)
	err := b.probe(p.ctx)
	if err != nil {
		err = b.probe(p.ctx) // A machine that is very busy deserves a second look.
	}
	if err != nil && p.ctx.Err() == nil {
		p.cfg.Logger.Error("browser does not answer, killing it", "error", err)
		b.proc.kill() // The watcher starts another.
		return
	}
	if memory > p.cfg.RecycleBytes {
		p.mu.Lock()
		p.recycleLocked(b, "memory")
		p.mu.Unlock()
	}
}
