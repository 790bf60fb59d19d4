package schema

import (
	"errors"
	"sync"
	"time"
)

// Budget limits the memory that all inputs under way use together, estimated in bytes. Files in an input do not
// count: they are on disk.
type Budget struct {
	mu     sync.Mutex
	limit  int64
	used   int64
	owners map[string]int64
}

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit, owners: map[string]int64{}} }

// Used returns how many bytes are taken.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Share returns the share of one request of an owner. An owner never gets more than half of the budget, so it cannot
// lock out all others.
func (b *Budget) Share(owner string) *Share { return &Share{budget: b, owner: owner} }

// Share is the part of a Budget that one request has taken.
type Share struct {
	budget *Budget
	owner  string
	// owed is the amount not yet requested, and held the amount granted.
	owed, held int64
}

// BusyError means that the inputs being read leave no memory for another.
type BusyError struct{ RetryAfter time.Duration }

func (e *BusyError) Error() string { return errBusy.Error() }

var errBusy = errors.New("too many large requests are being read; retry")

const (
	// shareStep is the number of bytes that are reserved at a time. Most requests need no reservation.
	shareStep = 64 << 10
	// busyRetry is the Retry-After of a busy server, long enough for calls to end.
	busyRetry = 2 * time.Second
)

func (s *Share) take(n int64) error {
	if s == nil {
		return nil
	}
	if s.owed += n; s.owed < shareStep {
		return nil
	}

	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+s.owed > b.limit || b.owners[s.owner]+s.owed > b.limit/2 {
		return &BusyError{RetryAfter: busyRetry}
	}

	b.used += s.owed
	b.owners[s.owner] += s.owed
	s.held += s.owed
	s.owed = 0
	return nil
}

// Close returns the reserved bytes.
func (s *Share) Close() {
	if s == nil || s.held == 0 {
		return
	}

	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()

	b.used -= s.held
	if b.owners[s.owner] -= s.held; b.owners[s.owner] == 0 {
		delete(b.owners, s.owner)
	}
	s.held = 0
}
