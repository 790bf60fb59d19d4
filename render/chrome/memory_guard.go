package chrome

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/relaypdf/relaypdf/render/priority"
)

const (
	// guardEvery is the interval at which the processes of running jobs are checked. A document can allocate about
	// a gigabyte a second.
	guardEvery = 250 * time.Millisecond
	// guardAfter is the age from which a job is looked at; most are done by
	// then.
	guardAfter = 150 * time.Millisecond
	// slowAfter is the age from which a job's browser has a lower priority than the browser of another account,
	// while there is one.
	slowAfter = 2 * time.Second
	// overGrace is the time for which a process may hold more memory than its limit, up to maxOvershoot of it: the moment
	// at which a process is measured does not decide about a document that is near the limit.
	overGrace    = 2 * time.Second
	maxOvershoot = 1.25
	// killScore is added to a browser's chance to be the one that the kernel
	// ends when memory runs out, so that it is not the server or a database.
	killScore = 500
)

// guard watches the processes of the jobs under way until the Pool is closed.
func (p *Pool) guard() {
	ticker := time.NewTicker(guardEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			p.browserPool.guard()
		case <-p.ctx.Done():
			return
		}
	}
}

// guard ends processes that use too much memory. It also lowers the priority of processes that compute for long
// while jobs of another account wait. Without such jobs, no process is lowered further below other programs of the
// machine, which have no account and may be busy for ever.
func (f *browserPool) guard() {
	now := time.Now()
	var watched []*browser
	slow := map[*browser]bool{}

	f.mu.Lock()
	for _, b := range f.workingLocked() {
		if now.Sub(b.oldest(now, false)) > guardAfter {
			watched = append(watched, b)
		}
		if now.Sub(b.oldest(now, true)) > slowAfter && f.rivalledLocked(b) {
			slow[b] = true
			b.slowed = true
		}
	}
	setPrioritiesLocked(f)
	f.mu.Unlock()

	if len(watched) == 0 {
		f.over = nil
		return
	}

	processes := processParents()
	over := map[int]time.Time{}
	for _, b := range watched {
		main := b.proc.cmd.Process.Pid
		for pid := range processes {
			if !descends(processes, pid, main) {
				continue
			}
			private, shared := residentBytes(pid)
			held := private + shared
			if held > f.cfg.RendererBytes {
				if over[pid] = f.over[pid]; over[pid].IsZero() {
					over[pid] = now
				}
			}

			farOver := held > int64(float64(f.cfg.RendererBytes)*maxOvershoot)
			longOver := held > f.cfg.RendererBytes && now.Sub(over[pid]) >= overGrace
			if farOver || longOver {
				f.overfull(b, pid)
			} else if slow[b] && pid != main {
				priority.Threads(pid) // leave replaces the browser when it is free.
			}
		}
	}

	f.over = over
}

// rivalledLocked reports that another browser works for another account.
func (f *browserPool) rivalledLocked(b *browser) bool {
	for _, other := range f.workingLocked() {
		if other == b {
			continue
		}
		for account := range other.jobsByAccount {
			if b.jobsByAccount[account] == 0 {
				return true
			}
		}
	}
	return false
}

// overfull ends a process that holds too much memory, and notes it for the jobs
// of its browser.
func (f *browserPool) overfull(b *browser, pid int) {
	now := time.Now().UnixNano()
	b.overfull.Store(now)
	if !isRenderer(pid) {
		b.shared.Store(now)
	}

	f.cfg.Logger.Info("ending a process of a browser that holds too much memory", "limit", f.cfg.RendererBytes)
	if pid == b.proc.cmd.Process.Pid {
		b.proc.kill()
		return
	}
	_ = syscall.Kill(pid, syscall.SIGKILL) // It may have ended by itself.
}

// overfilled reports that a process of the browser held too much memory during
// a visit.
func (v *browserLease) overfilled() bool { return v.overfull.Load() > v.began.UnixNano() }

// sharedOverfilled reports that it was a process that serves all pages of the browser, such as its main process, and
// that other jobs have used it too.
func (v *browserLease) sharedOverfilled() bool {
	return v.shared.Load() > v.began.UnixNano() && !v.first
}

// heavy reports that a renderer of the browser holds more than half of what it may. Its documents are gone, but it
// gives little of their memory back.
func (b *browser) heavy(limit int64) bool {
	main := b.proc.cmd.Process.Pid
	processes := processParents()

	for pid := range processes {
		if !descends(processes, pid, main) {
			continue
		}
		if private, shared := residentBytes(pid); private+shared > limit/2 && isRenderer(pid) {
			return true
		}
	}
	return false
}

// yieldMemory makes a new browser and its children the first processes that the kernel ends when memory runs out.
// If that is not allowed, the kernel chooses by size alone.
func yieldMemory(pid int) {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte(strconv.Itoa(killScore)), 0)
}
