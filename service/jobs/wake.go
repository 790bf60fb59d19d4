package jobs

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/store"
)

const (
	// pollPostgres and pollSQLite are how often a process polls for jobs, on average:
	// those that it was not notified of. SQLite has no notifications between processes.
	pollPostgres = time.Second
	pollSQLite   = 250 * time.Millisecond
	// maxDelay bounds how long a process lets others go first (follow).
	maxDelay = 100 * time.Millisecond
)

// poll wakes a worker whenever jobs wait, until ctx ends.
func (l *loop) poll(ctx context.Context) {
	every := pollPostgres
	if l.Store.Dialect() == store.SQLite {
		every = pollSQLite
	}

	for ctx.Err() == nil {
		waiting, err := l.Store.JobsWait(ctx, l.Kinds...)
		// The worker logs why the database does not answer.
		if waiting || err != nil {
			l.pool.wake()
		}
		guard.Pause(ctx, every*3/4+rand.N(every/2))
	}
}

// notify is called when another process has notified this one.
func (l *loop) notify() {
	select {
	case l.notified <- struct{}{}:
	default: // the entry covers this notification as well
	}
}

// follow wakes a worker after notifications of other processes, until ctx ends. All
// processes get each notification, and one of them gets the job. A process that got none
// since its last wake-up therefore lets others go first, twice as long each time, so that
// many idle processes do not make many claims per job.
func (l *loop) follow(ctx context.Context) {
	claimed := l.claimed.Load()
	delay := time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.notified:
		}

		if now := l.claimed.Load(); now != claimed {
			claimed = now
			delay = 0
		}
		if delay > 0 {
			guard.Pause(ctx, rand.N(delay))
		}

		l.pool.wake()
		delay = min(2*delay+time.Millisecond, maxDelay)
	}
}
