package chrome

import (
	"github.com/relaypdf/relaypdf/render/priority"
	"github.com/relaypdf/relaypdf/render/queue"
)

// setPrioritiesLocked has the browsers of accounts with more jobs under way than another
// step back behind the other's, whose single document takes its own time then;
// guests are behind everybody. It works between sessions, see package priority.
func setPrioritiesLocked(f *browserPool) {
	jobs := map[string]int{}
	minJobs := 0
	working := f.workingLocked()

	for _, b := range working {
		for account, n := range b.jobsByAccount {
			jobs[account] += n
		}
	}

	for account, n := range jobs {
		if !modest(account) && (minJobs == 0 || n < minJobs) {
			minJobs = n
		}
	}

	for _, b := range working {
		nice := priority.Background // Background browsers always stay there.
		if !f.cfg.Background {
			nice = b.wantedNice(jobs, minJobs)
		}
		b.proc.share.Set(b.proc.cmd.Process.Pid, nice)
	}
}

// modest reports whether an account has no priority over others: that of probes, or of guests.
func modest(account string) bool { return account == "" || account == queue.Anonymous }

// wantedNice returns the nice value for a browser's session, by the numbers of the accounts' running jobs and the
// lowest of them.
func (b *browser) wantedNice(jobs map[string]int, minJobs int) int {
	switch {
	case b.slowed:
		return priority.Background
	case len(b.jobsByAccount) == 0 || minJobs == 0:
		return priority.Work
	}

	for account := range b.jobsByAccount {
		if !modest(account) && jobs[account] <= minJobs {
			return priority.Work
		}
	}
	return priority.Background
}
