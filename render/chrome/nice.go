package chrome

import (
	"github.com/relaypdf/relaypdf/render/priority"
	"github.com/relaypdf/relaypdf/render/queue"
)

// shareLocked has the browsers of accounts with more jobs under way than another
// step back behind the other's, whose single document takes its own time then;
// guests are behind everybody. It works between sessions, see package priority.
func shareLocked(f *browserPool) {
	jobs := map[string]int{}
	fewest := 0
	working := f.workingLocked()

	for _, b := range working {
		for account, n := range b.guests {
			jobs[account] += n
		}
	}

	for account, n := range jobs {
		if !modest(account) && (fewest == 0 || n < fewest) {
			fewest = n
		}
	}

	for _, b := range working {
		nice := priority.Behind // Background browsers always stay there.
		if !f.cfg.Background {
			nice = b.wantedNice(jobs, fewest)
		}
		b.proc.share.Set(b.proc.cmd.Process.Pid, nice)
	}
}

// modest reports whether an account has no priority over others: that of probes, or of guests.
func modest(account string) bool { return account == "" || account == queue.Guests }

// wantedNice returns the nice value for a browser's session, by the numbers of the accounts' running jobs and the
// lowest of them.
func (b *browser) wantedNice(jobs map[string]int, fewest int) int {
	switch {
	case b.slowed:
		return priority.Behind
	case len(b.guests) == 0 || fewest == 0:
		return priority.Work
	}

	for account := range b.guests {
		if !modest(account) && jobs[account] <= fewest {
			return priority.Work
		}
	}
	return priority.Behind
}
