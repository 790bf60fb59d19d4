package queue

import (
	"slices"
	"strings"
	"time"
)

const (
	// penalty is the period for which a job that ran into its deadline counts against its account.
	penalty = 2 * time.Minute
	// toleratedPenalty is the total of lateCost that an account may have without being slowed: two such jobs. Pages
	// and files are slow now and then.
	toleratedPenalty = 2 * penalty
	// maxPenalty is the maximum that is remembered, so that an account that stops is free again within six minutes.
	maxPenalty = 5 * penalty
)

// accountQueue is the queue's state of one account.
type accountQueue struct {
	trial   bool
	busy    int
	tickets []*ticket
	// penaltyEnd is until when the account's jobs that ran into their deadlines are
	// remembered.
	penaltyEnd time.Time
}

func newAccountQueue(account string) *accountQueue {
	return &accountQueue{trial: strings.HasPrefix(account, trialPrefix)}
}

// penalize remembers a job that ran into its deadline.
func (l *accountQueue) penalize(now time.Time) {
	if l.penaltyEnd.Before(now) {
		l.penaltyEnd = now
	}
	l.penaltyEnd = l.penaltyEnd.Add(penalty)
	if limit := now.Add(maxPenalty); l.penaltyEnd.After(limit) {
		l.penaltyEnd = limit
	}
}

// slowed returns for how long the account has fewer slots yet.
func (l *accountQueue) slowed(now time.Time) time.Duration {
	if !l.penaltyEnd.After(now) {
		return 0 // The zero time is too long ago to count with.
	}
	return max(0, l.penaltyEnd.Sub(now)-toleratedPenalty)
}

// remove takes a ticket out, and reports whether it was there.
func (l *accountQueue) remove(t *ticket) bool {
	i := slices.Index(l.tickets, t)
	if i >= 0 {
		l.tickets = slices.Delete(l.tickets, i, i+1)
	}
	return i >= 0
}

// forgettable reports whether the line has the same state as a new one.
func (l *accountQueue) forgettable(now time.Time) bool {
	return l.busy == 0 && len(l.tickets) == 0 && !l.penaltyEnd.After(now)
}
