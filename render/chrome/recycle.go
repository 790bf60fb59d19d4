package chrome

import (
	"slices"
	"time"
)

const (
	// tendEvery is the interval at which idle pages, memory and age are checked.
	tendEvery = time.Second
	// memoryEvery is the number of such intervals between two measurements of memory.
	memoryEvery = 3
	// drainTimeout ends a retired browser whose jobs do not end; their own
	// deadlines are at most a minute.
	drainTimeout = 2 * time.Minute
)

// recycleLocked replaces a browser: the next one is started and warmed first,
// then takes over, and the old one leaves when its jobs are done.
func (f *browserPool) recycleLocked(old *browser, reason string) {
	if old.recycling || f.closed || !old.alive() {
		return
	}

	old.recycling = true
	f.tasks.Go(func() {
		next, err := f.launch()
		f.mu.Lock()
		old.recycling = false
		if err != nil { // The old one continues, and the next round tries again.
			f.mu.Unlock()
			return
		}

		f.browsers = append(f.browsers, next)
		took := f.dropLocked(old)
		f.signalLocked()
		f.mu.Unlock()

		if !took { // It died meanwhile.
			return
		}
		f.count.restarts.Add(1)
		f.cfg.Logger.Info("browser recycled", "reason", reason, "documents", old.docs)
		f.retire(old)
	})
}

// retire ends a browser that is out of service, when its last job is done.
func (f *browserPool) retire(b *browser) {
	f.mu.Lock()
	b.retired = true
	f.retiring = append(f.retiring, b)
	if len(b.leases) == 0 {
		close(b.drained)
	}
	f.mu.Unlock()

	timer := time.NewTimer(drainTimeout)
	defer timer.Stop()
	select {
	case <-b.drained:
	case <-timer.C:
	case <-f.ctx.Done():
	}

	f.mu.Lock()
	f.retiring = slices.DeleteFunc(f.retiring, func(other *browser) bool { return other == b })
	f.mu.Unlock()
	f.removeFiles(b)
}

// tend looks after the browsers until the Pool is closed.
func (p *Pool) tend() {
	ticker := time.NewTicker(tendEvery)
	defer ticker.Stop()
	for round := 0; ; round++ {
		select {
		case <-ticker.C:
			p.browserPool.tend(round)
		case <-p.ctx.Done():
			return
		}
	}
}

func (f *browserPool) tend(round int) {
	f.ready()
	f.shrink()

	now := time.Now()
	var total int64
	for _, b := range f.all() {
		if !b.alive() {
			continue
		}
		b.dropIdle(f.ctx, now.Add(-f.cfg.IdleContext))
		b.emptyIdle(now.Add(-tendEvery))
		if round%memoryEvery == 0 {
			total += f.measure(b)
			f.tasks.Go(func() { f.checkResponsive(b) })
		}
	}

	if round%memoryEvery == 0 {
		f.count.memory.Store(total)
	}
}

// shrink ends the browser that was unused longest, if there are more than the ready ones and they were not needed
// for a while.
func (f *browserPool) shrink() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.livingLocked() <= readyBrowsers {
		return
	}

	since := time.Now().Add(-f.cfg.IdleContext)
	for _, b := range f.browsers {
		if b.vacant() && !b.recycling && b.used.Before(since) {
			f.dropLocked(b)
			f.tasks.Go(func() { f.retire(b) })
			return
		}
	}
}

// measure returns the memory of a browser, and has it replaced when that is too
// much.
func (f *browserPool) measure(b *browser) int64 {
	memory := treeMemory(b.proc.cmd.Process.Pid)
	if memory > f.cfg.RecycleBytes {
		f.mu.Lock()
		f.recycleLocked(b, "memory")
		f.mu.Unlock()
	}
	return memory
}

// checkResponsive probes a browser, and kills one that hangs: it does not answer, and
// nothing of any job arrives either.
func (f *browserPool) checkResponsive(b *browser) {
	if !b.probing.CompareAndSwap(false, true) {
		return
	}
	defer b.probing.Store(false)

	for range 2 { // A machine that is very busy deserves a second look.
		seen := b.proc.conn.received()
		err := b.probe(f.ctx)
		if err == nil || f.ctx.Err() != nil || b.proc.conn.received() != seen {
			return
		}
	}

	if b.alive() {
		f.cfg.Logger.Error("browser does not answer, killing it")
		b.proc.kill() // The watcher starts another.
	}
}
