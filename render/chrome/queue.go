package chrome

import (
	"context"
	"maps"
	"math"
	"sync"
	"time"
)

const (
	// recently is how long a tenant counts as active after its last job.
	recently = time.Minute
	// maxRetryAfter bounds the estimate: after a minute the queue looks
	// different anyway.
	maxRetryAfter = time.Minute
	// crowdedPerSlot is how many jobs a slot one tenant may have waiting while
	// others have jobs too: the burst that the rate limits let through for one
	// key. Alone it may fill the queue.
	crowdedPerSlot = 5
	// sharedPerSlot is how many jobs a slot may wait when several tenants have
	// lines. Each may have its share of them: longer lines would be longer waits
	// for everybody, and not one job more done.
	sharedPerSlot = 12
	// leastLine is the share of a tenant among very many.
	leastLine = 2
)

// queue hands out a fixed number of slots, fairly between tenants:
//
//   - waiting tenants are served in turn, whatever the length of their lines;
//   - while another tenant was active in the last minute, nobody holds every
//     slot, so that a newcomer starts within one job's time;
//   - while others have jobs, one tenant's line is short, and the shorter the
//     more tenants have one: its jobs beyond that would only wait longer for the
//     same share of the slots;
//   - when the queue is full, the newest job of the tenant with the longest
//     line makes room for a tenant with a shorter one (longest queue drop).
type queue struct {
	slots, limit int
	now          func() time.Time

	mu      sync.Mutex
	busy    int
	waiting int
	closed  bool
	lines   map[string]*line
	turn    []*line // tenants with waiting jobs, the next one first
	mean    time.Duration
}

// line is what the queue knows about one tenant.
type line struct {
	busy    int
	tickets []*ticket
	seen    time.Time
}

// ticket is one waiting job. done is closed when it got a slot (err nil) or
// was turned away.
type ticket struct {
	done chan struct{}
	err  error
}

func newQueue(slots, limit int, now func() time.Time) *queue {
	return &queue{slots: slots, limit: limit, now: now, lines: map[string]*line{}}
}

// acquire waits for a slot and returns the function that gives it back, which
// must be called once. It returns a *BusyError when the queue is full,
// ErrClosed after close, and the context's error when ctx ends first.
func (q *queue) acquire(ctx context.Context, tenant string) (release func(), err error) {
	l, t, err := q.enter(tenant)
	if err != nil {
		return nil, err
	}
	select {
	case <-t.done:
	case <-ctx.Done():
		if q.leave(l, t) {
			return nil, ctx.Err()
		}
		<-t.done // It was served or turned away at this very moment.
	}
	if t.err != nil {
		return nil, t.err
	}
	start := q.now()
	return func() { q.release(l, start) }, nil
}

func (q *queue) enter(tenant string) (*line, *ticket, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, nil, ErrClosed
	}
	l := q.lines[tenant]
	if l == nil {
		l = &line{}
		q.lines[tenant] = l
	}
	l.seen = q.now()
	if q.refuses(l) {
		return nil, nil, q.busyError()
	}
	if q.full() {
		q.makeRoom()
	}
	t := &ticket{done: make(chan struct{})}
	if len(l.tickets) == 0 {
		q.turn = append(q.turn, l)
	}
	l.tickets = append(l.tickets, t)
	q.waiting++
	q.dispatch()
	return l, t, nil
}

// admit returns the error with which acquire would turn a tenant's job away at
// this moment.
func (q *queue) admit(tenant string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[tenant]
	if l == nil {
		l = &line{}
	}
	switch {
	case q.closed:
		return ErrClosed
	case q.refuses(l):
		return q.busyError()
	}
	return nil
}

func (q *queue) free() int { return q.slots - q.busy }

// full reports that a job can only enter in the place of another.
func (q *queue) full() bool { return q.waiting >= q.limit+q.free() }

// refuses reports that there is no place for another job of a tenant.
func (q *queue) refuses(l *line) bool {
	if q.othersHaveJobs(l) && len(l.tickets) >= q.longestCrowded(l) {
		return true
	}
	if !q.full() {
		return false
	}
	longest := q.longest()
	return longest == nil || len(longest.tickets) <= len(l.tickets)+1
}

// longestCrowded returns how long a tenant's line may get beside others.
func (q *queue) longestCrowded(l *line) int {
	lines := len(q.turn)
	if len(l.tickets) == 0 {
		lines++ // It is about to have one.
	}
	share := max(leastLine, sharedPerSlot*q.slots/lines)
	return min(share, crowdedPerSlot*q.slots)
}

// othersHaveJobs reports whether tenants other than l have jobs running or
// waiting.
func (q *queue) othersHaveJobs(l *line) bool { return q.busy > l.busy || q.waiting > len(l.tickets) }

// longest returns the longest line, or nil when nobody waits.
func (q *queue) longest() *line {
	var longest *line
	for _, l := range q.turn {
		if longest == nil || len(l.tickets) > len(longest.tickets) {
			longest = l
		}
	}
	return longest
}

// makeRoom turns away the newest job of the longest line.
func (q *queue) makeRoom() {
	l := q.longest()
	last := len(l.tickets) - 1
	t := l.tickets[last]
	l.tickets = l.tickets[:last]
	q.waiting--
	t.err = q.busyError()
	close(t.done)
}

// busyError estimates the wait: the queue's length times the mean duration of
// recent jobs, over the slots.
func (q *queue) busyError() error {
	wait := time.Duration(q.waiting+1) * q.mean / time.Duration(q.slots)
	seconds := math.Ceil(min(wait, maxRetryAfter).Seconds())
	return &BusyError{RetryAfter: time.Duration(max(seconds, 1)) * time.Second}
}

// dispatch gives free slots to waiting jobs.
func (q *queue) dispatch() {
	for q.free() > 0 {
		l := q.next()
		if l == nil {
			return
		}
		t := l.tickets[0]
		l.tickets = l.tickets[1:]
		if len(l.tickets) > 0 {
			q.turn = append(q.turn, l)
		}
		q.waiting--
		q.busy++
		l.busy++
		close(t.done)
	}
}

// next removes from the turn the first tenant that may have another slot.
func (q *queue) next() *line {
	for i, l := range q.turn {
		if q.slots > 1 && l.busy >= q.slots-1 && q.othersActive(l) {
			continue
		}
		q.turn = append(q.turn[:i:i], q.turn[i+1:]...)
		return l
	}
	return nil
}

// othersActive reports whether a tenant other than l was active recently.
func (q *queue) othersActive(l *line) bool {
	now := q.now()
	for _, other := range q.lines {
		if other != l && other.active(now) {
			return true
		}
	}
	return false
}

func (l *line) active(now time.Time) bool {
	return l.busy > 0 || len(l.tickets) > 0 || now.Sub(l.seen) < recently
}

// prune forgets tenants that were not active recently.
func (q *queue) prune() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	maps.DeleteFunc(q.lines, func(_ string, l *line) bool { return !l.active(now) })
}

// leave takes a waiting ticket out of its line, and reports whether it was
// still there.
func (q *queue) leave(l *line, t *ticket) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, other := range l.tickets {
		if other != t {
			continue
		}
		l.tickets = append(l.tickets[:i:i], l.tickets[i+1:]...)
		q.waiting--
		q.tidyTurn()
		return true
	}
	return false
}

// tidyTurn drops tenants whose line is empty.
func (q *queue) tidyTurn() {
	kept := q.turn[:0]
	for _, l := range q.turn {
		if len(l.tickets) > 0 {
			kept = append(kept, l)
		}
	}
	q.turn = kept
}

func (q *queue) release(l *line, start time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	l.seen = now
	l.busy--
	q.busy--
	took := now.Sub(start)
	if q.mean == 0 {
		q.mean = took
	}
	q.mean += (took - q.mean) / 8 // Moves with the load, but not with one outlier.
	q.dispatch()
}

// close turns all waiting and future jobs away.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, l := range q.turn {
		for _, t := range l.tickets {
			t.err = ErrClosed
			close(t.done)
		}
		l.tickets = nil
	}
	q.turn, q.waiting = nil, 0
}

// load returns the number of jobs running and waiting.
func (q *queue) load() (busy, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.busy, q.waiting
}
