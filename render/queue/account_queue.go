package queue

import (
	"slices"
	"strings"
	"time"
)

const (
	// lateCost is the period for which a job that ran into its deadline counts against its account.
	lateCost = 2 * time.Minute
	// lateTolerance is the total of lateCost that an account may have without being slowed: two such jobs. Pages
	// and files are slow now and then.
	lateTolerance = 2 * lateCost
	// lateMost is the maximum that is remembered, so that an account that stops is free again within six minutes.
	lateMost = 5 * lateCost
)

// line is the queue's state of one account.
type line struct {
	trial   bool
	busy    int
	tickets []*ticket
	// late is until when the account's jobs that ran into their deadlines are
	// remembered.
	late time.Time
}

func newLine(account string) *line { return &line{trial: strings.HasPrefix(account, trialPrefix)} }

// punish remembers a job that ran into its deadline.
func (l *line) punish(now time.Time) {
	if l.late.Before(now) {
		l.late = now
	}
	l.late = l.late.Add(lateCost)
	if most := now.Add(lateMost); l.late.After(most) {
		l.late = most
	}
}

// slowed returns for how long the account has fewer slots yet.
func (l *line) slowed(now time.Time) time.Duration {
	if !l.late.After(now) {
		return 0 // The zero time is too long ago to count with.
	}
	return max(0, l.late.Sub(now)-lateTolerance)
}

// remove takes a ticket out, and reports whether it was there.
func (l *line) remove(t *ticket) bool {
	i := slices.Index(l.tickets, t)
	if i >= 0 {
		l.tickets = slices.Delete(l.tickets, i, i+1)
	}
	return i >= 0
}

// forgettable reports whether the line has the same state as a new one.
func (l *line) forgettable(now time.Time) bool {
	return l.busy == 0 && len(l.tickets) == 0 && !l.late.After(now)
}
