// Package queue hands out the slots of a pool of processes: browsers, engines or LibreOffice. It is bounded, fair
// between accounts, and leaves no slot idle while a job waits.
package queue

import (
	"context"
	"maps"
	"math"
	"runtime"
	"sync"
	"time"
)

const (
	// defaultMaxWait is the maximum time that a job waits before it is refused with a time to retry. Clients and
	// proxies in between give up soon after.
	defaultMaxWait = 30 * time.Second
	// perSlot is the default of Config.Limit for each slot.
	perSlot = 32
	// maxRetryAfter bounds the estimate: after a minute the queue looks
	// different anyway.
	maxRetryAfter = time.Minute
	// crowdedPerSlot is the maximum number of waiting jobs per slot of one account while others have jobs too. It
	// is the burst that the rate limits allow for one key. An account alone may fill the queue.
	crowdedPerSlot = 5
	// sharedPerSlot is the maximum number of waiting jobs per slot when several accounts wait. Each may have its
	// share of them. Longer queues would mean longer waits for all accounts, without a higher throughput.
	sharedPerSlot = 12
	// minLine is the share of an account among very many.
	minLine = 2
	// guestLine is the maximum number of waiting jobs of guests.
	guestLine = 8
)

// Anonymous is the account of users without an account, such as visitors of the pages. One of their jobs runs at a
// time, and it begins only when a free slot has no waiting job. Guests do not count among the jobs of accounts,
// which find every slot and every place in the queue as if there were no guests.
const Anonymous = "guests"

// trialPrefix begins the names of accounts that have never paid.
const trialPrefix = "trial "

// Trial returns the name of an account that has never paid. Anyone can have any number of these. All of them together
// never have the extra slots alone: an account that has paid finds one. Their jobs that ran into their deadlines count
// against all of them.
func Trial(account string) string { return trialPrefix + account }

// HeavyFailure is the duration from which on a job that fails counts as one that ran into its deadline: it has cost the
// others as much.
const HeavyFailure = 5 * time.Second

// Config holds the limits of running and waiting jobs. The zero value is valid.
type Config struct {
	// Slots is the number of jobs that run at once; zero means the number of cores.
	Slots int
	// Extra is the maximum number of additional jobs when all slots are taken, each the only one of its account. A
	// new account gets one while another account uses every slot.
	Extra int
	// Limit is the maximum number of waiting jobs; zero means 32 for each slot.
	Limit int
	// MaxWait bounds the wait of each; zero means DefaultPatience.
	MaxWait time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

func (c Config) withDefaults() Config {
	if c.Slots <= 0 {
		c.Slots = runtime.NumCPU()
	}
	if c.Limit <= 0 {
		c.Limit = perSlot * c.Slots
	}
	if c.MaxWait <= 0 {
		c.MaxWait = defaultMaxWait
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Queue hands out slots:
//
//   - An account that is alone uses every slot, and no slot is idle while a job waits.
//   - A free slot goes to the account with the fewest slots, and among equals to the one that has
//     waited longest, however many jobs it has waiting.
//   - An account without a slot gets an extra one at once, if there is one, while others hold all
//     slots.
//   - While others have jobs, the number of waiting jobs of one account is limited, the more so the
//     more accounts wait. Further jobs would only wait longer for the same share of the slots.
//   - When the queue is full, the newest job of the account with the most waiting jobs makes room
//     for an account with fewer (longest queue drop).
//   - An account whose jobs keep running into their deadlines gets half of the slots at most, and
//     no extra one, until this has stopped for some minutes.
//   - Accounts that have never paid leave the last extra slot to the others, see Trial.
//   - Guests delay no other job.
//
// It is safe for concurrent use.
type Queue struct {
	cfg Config

	mu       sync.Mutex
	busy     int
	waiting  int
	refused  int64
	closed   bool
	accounts map[string]*accountQueue
	turn     []*accountQueue // accounts with waiting jobs, the next one first
	guests   *accountQueue   // anonymous users; neither in turn nor by account ID
	trials   accountQueue    // what accounts that have never paid have together: running jobs and late ones
	mean     time.Duration
}

// ticket is one waiting job. done is closed when it got a slot (err nil) or
// was turned away.
type ticket struct {
	done chan struct{}
	err  error
}

// New returns a Queue whose slots are free.
func New(cfg Config) *Queue {
	return &Queue{cfg: cfg.withDefaults(), accounts: map[string]*accountQueue{}, guests: &accountQueue{}}
}

// Slot is the right to run one job.
type Slot struct {
	queue   *Queue
	account *accountQueue
	start   time.Time
	once    sync.Once
}

// Release returns the slot. late means that the job ran into its deadline, or was cancelled after it had used up
// most of it. Further calls do nothing.
func (s *Slot) Release(late bool) {
	s.once.Do(func() { s.queue.release(s.account, s.start, late) })
}

// Acquire waits for a slot for a job of an account. Its errors are a *BusyError when the
// queue is full or the wait was too long, ErrClosed after Close, and the context's when ctx
// ends first.
func (q *Queue) Acquire(ctx context.Context, account string) (*Slot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}

	l, t, err := q.enter(account)
	if err != nil {
		return nil, err
	}
	if err := q.wait(ctx, l, t); err != nil {
		return nil, err
	}
	return &Slot{queue: q, account: l, start: q.cfg.Now()}, nil
}

// wait returns when the ticket is served, or the error with which it is not.
func (q *Queue) wait(ctx context.Context, l *accountQueue, t *ticket) error {
	select {
	case <-t.done:
		return t.err
	default:
	}

	timer := time.NewTimer(q.cfg.MaxWait)
	defer timer.Stop()
	select {
	case <-t.done:
		return t.err
	case <-ctx.Done():
		if q.leave(l, t) {
			return ctx.Err()
		}
	case <-timer.C:
		if q.leave(l, t) {
			return q.reject(l)
		}
	}

	<-t.done // It was served or turned away at this very moment.
	return t.err
}

// reject counts and returns the error of a job whose wait was too long.
func (q *Queue) reject(l *accountQueue) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.busyError(l)
}

func (q *Queue) enter(account string) (*accountQueue, *ticket, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, nil, ErrClosed
	}
	if account == Anonymous {
		return q.enterGuest()
	}

	l := q.accounts[account]
	if l == nil {
		l = newAccountQueue(account)
		q.accounts[account] = l
	}

	if q.refuses(l) {
		return nil, nil, q.busyError(l)
	}
	if q.waiting >= q.cfg.Limit && !q.startsAtOnce(l) {
		q.dropNewest()
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

// enterGuest puts a job at the end of the guests' line.
func (q *Queue) enterGuest() (*accountQueue, *ticket, error) {
	if len(q.guests.tickets) >= guestLine {
		return nil, nil, q.busyError(q.guests)
	}
	t := &ticket{done: make(chan struct{})}
	q.guests.tickets = append(q.guests.tickets, t)
	q.dispatch()
	return q.guests, t, nil
}

// dispatchGuest gives a guest a slot that no account wants.
func (q *Queue) dispatchGuest() {
	if len(q.guests.tickets) == 0 || q.guests.busy > 0 || q.waiting > 0 || q.busy >= q.cfg.Slots {
		return
	}
	t := q.guests.tickets[0]
	q.guests.tickets = q.guests.tickets[1:]
	q.guests.busy++
	close(t.done)
}

// Admit returns the error with which Acquire would turn an account's job away at
// this moment. It is for callers that have something costly to do before the
// job; the job itself is the one that gets a place.
func (q *Queue) Admit(account string) error {
	q.mu.Lock()
	defer q.mu.Unlock()

	l := q.accounts[account]
	if l == nil {
		l = newAccountQueue(account)
	}

	switch {
	case q.closed:
		return ErrClosed
	case account == Anonymous && len(q.guests.tickets) < guestLine:
		return nil
	case account == Anonymous:
		return q.busyError(q.guests)
	case q.refuses(l):
		return q.busyError(l)
	}
	return nil
}

// mayStart reports whether an account may have another slot now.
func (q *Queue) mayStart(l *accountQueue) bool {
	now := q.cfg.Now()
	half := max(1, q.cfg.Slots/2)
	if l.trial && q.trials.slowed(now) > 0 && q.trials.busy >= half {
		return false
	}

	slowed := l.slowed(now) > 0
	switch {
	case q.busy < q.cfg.Slots:
		return !slowed || l.busy < half
	case q.busy < q.cfg.Slots+q.cfg.Extra:
		return !slowed && l.busy == 0 && (!l.trial || q.trials.busy < q.cfg.Slots)
	}
	return false
}

// startsAtOnce reports that a new job of an account would not wait.
func (q *Queue) startsAtOnce(l *accountQueue) bool { return len(l.tickets) == 0 && q.mayStart(l) }

// refuses reports whether the queue is full for another job of an account.
func (q *Queue) refuses(l *accountQueue) bool {
	if q.startsAtOnce(l) {
		return false
	}
	if q.othersHaveJobs(l) && len(l.tickets) >= q.longestCrowded(l) {
		return true
	}
	if q.waiting < q.cfg.Limit {
		return false
	}

	longest := q.longest()
	return longest == nil || len(longest.tickets) <= len(l.tickets)+1
}

// longestCrowded returns how long an account's line may get while others wait.
func (q *Queue) longestCrowded(l *accountQueue) int {
	lines := len(q.turn)
	if len(l.tickets) == 0 {
		lines++ // It is about to have one.
	}
	share := max(minLine, sharedPerSlot*q.cfg.Slots/lines)
	return min(share, crowdedPerSlot*q.cfg.Slots)
}

// othersHaveJobs reports whether accounts other than l have jobs running or
// waiting.
func (q *Queue) othersHaveJobs(l *accountQueue) bool {
	return q.busy > l.busy || q.waiting > len(l.tickets)
}

// longest returns the longest line, or nil if no job waits.
func (q *Queue) longest() *accountQueue {
	var longest *accountQueue
	for _, l := range q.turn {
		if longest == nil || len(l.tickets) > len(longest.tickets) {
			longest = l
		}
	}
	return longest
}

// dropNewest turns away the newest job of the longest line.
func (q *Queue) dropNewest() {
	l := q.longest()
	last := len(l.tickets) - 1
	t := l.tickets[last]
	l.tickets = l.tickets[:last]
	q.waiting--
	q.tidyTurn()

	t.err = q.busyError(l)
	close(t.done)
}

// busyError counts a refusal and estimates the wait: the queue's length times
// the mean duration of recent jobs, over the slots.
func (q *Queue) busyError(l *accountQueue) error {
	q.refused++
	wait := time.Duration(q.waiting+1) * q.mean / time.Duration(q.cfg.Slots)
	seconds := math.Ceil(min(wait, maxRetryAfter).Seconds())
	return &BusyError{RetryAfter: time.Duration(max(seconds, 1)) * time.Second, Slowed: l.slowed(q.cfg.Now())}
}

// dispatch gives slots to waiting jobs as long as there are both.
func (q *Queue) dispatch() {
	for l := q.next(); l != nil; l = q.next() {
		t := l.tickets[0]
		l.tickets = l.tickets[1:]
		if len(l.tickets) > 0 {
			q.turn = append(q.turn, l)
		}

		q.waiting--
		q.busy++
		l.busy++
		if l.trial {
			q.trials.busy++
		}
		close(t.done)
	}
	q.dispatchGuest()
}

// next removes from the turn the account that gets the next slot: of those that
// may have one, the first that holds the fewest.
func (q *Queue) next() *accountQueue {
	best := -1
	for i, l := range q.turn {
		if q.mayStart(l) && (best < 0 || l.busy < q.turn[best].busy) {
			best = i
		}
	}

	if best < 0 {
		return nil
	}
	l := q.turn[best]
	q.turn = append(q.turn[:best:best], q.turn[best+1:]...)
	return l
}

// leave takes a waiting ticket out of its line, and reports whether it was
// still there.
func (q *Queue) leave(l *accountQueue, t *ticket) bool {
	q.mu.Lock()
	defer q.mu.Unlock()

	if !l.remove(t) {
		return false
	}
	if l != q.guests {
		q.waiting--
		q.tidyTurn()
	}
	return true
}

// tidyTurn drops accounts whose line is empty.
func (q *Queue) tidyTurn() {
	kept := q.turn[:0]
	for _, l := range q.turn {
		if len(l.tickets) > 0 {
			kept = append(kept, l)
		}
	}

	clear(q.turn[len(kept):])
	q.turn = kept
}

func (q *Queue) release(l *accountQueue, start time.Time, late bool) {
	q.mu.Lock()
	defer q.mu.Unlock()

	now := q.cfg.Now()
	l.busy--
	if l == q.guests {
		q.dispatch()
		return
	}

	q.busy--
	if l.trial {
		q.trials.busy--
	}

	if late {
		l.penalize(now)
	}
	if late && l.trial {
		q.trials.penalize(now)
	}

	took := now.Sub(start)
	if q.mean == 0 {
		q.mean = took
	}
	q.mean += (took - q.mean) / 8 // Moves with the load, but not with one outlier.

	q.dispatch()
	if q.busy == 0 || len(q.accounts) > q.cfg.Limit {
		maps.DeleteFunc(q.accounts, func(_ string, l *accountQueue) bool { return l.forgettable(now) })
	}
}

// Slowed returns the time for which an account will have fewer slots, because its jobs kept running into their
// deadlines; zero means that it has all.
func (q *Queue) Slowed(account string) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.accounts[account]; l != nil {
		return l.slowed(q.cfg.Now())
	}
	return 0
}

// Close turns all waiting and future jobs away.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.closed = true
	for _, l := range append(q.turn, q.guests) {
		for _, t := range l.tickets {
			t.err = ErrClosed
			close(t.done)
		}
		l.tickets = nil
	}
	q.turn = nil
	q.waiting = 0
}

// State is the state of a Queue.
type State struct {
	Slots, Busy    int   // jobs that can run, and that do; a newcomer's extra slot counts as busy
	Waiting, Limit int   // jobs that wait, and that may
	Refused        int64 // jobs turned away so far
}

// State returns the present state.
func (q *Queue) State() State {
	q.mu.Lock()
	defer q.mu.Unlock()
	return State{Slots: q.cfg.Slots, Busy: q.busy, Waiting: q.waiting, Limit: q.cfg.Limit, Refused: q.refused}
}
