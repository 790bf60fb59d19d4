package queue

import (
	"container/heap"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

// simulation drives a Queue through jobs without goroutines and without waiting:
// its clock jumps from one end of a job to the next.
type simulation struct {
	t     *testing.T
	q     *Queue
	now   time.Time
	ends  endings
	lines []*simulated
	// done counts what each account's jobs took, waited the longest wait.
	done   map[string]time.Duration
	waited map[string]time.Duration
}

// simulated is a job on its way.
type simulated struct {
	account string
	takes   time.Duration
	came    time.Time
	line    *accountQueue
	ticket  *ticket
	start   time.Time
	then    func()
}

type ending struct {
	at  time.Time
	job *simulated
}

type endings []ending

func (e endings) Len() int           { return len(e) }
func (e endings) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e endings) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *endings) Push(x any)        { *e = append(*e, x.(ending)) }
func (e *endings) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func newSimulation(t *testing.T, cfg Config) *simulation {
	t.Helper()
	s := &simulation{t: t, now: time.Unix(0, 0), done: map[string]time.Duration{}, waited: map[string]time.Duration{}}
	cfg.Now = func() time.Time { return s.now }
	s.q = New(cfg)
	return s
}

// submit lets a job come now; then is called when it has ended.
func (s *simulation) submit(account string, takes time.Duration, then func()) bool {
	l, ticket, err := s.q.enter(account)
	if err != nil {
		return false
	}
	s.lines = append(s.lines, &simulated{account: account, takes: takes, came: s.now, line: l, ticket: ticket, then: then})
	s.begin()
	return true
}

// begin starts the jobs that were served, and checks what must always hold.
func (s *simulation) begin() {
	var kept []*simulated
	for _, job := range s.lines {
		select {
		case <-job.ticket.done:
			if job.ticket.err == nil {
				job.start = s.now
				s.waited[job.account] = max(s.waited[job.account], s.now.Sub(job.came))
				heap.Push(&s.ends, ending{s.now.Add(job.takes), job})
			}
		default:
			kept = append(kept, job)
		}
	}
	s.lines = kept
	check(s.t, s.q)
}

// run lets time pass until d has.
func (s *simulation) run(d time.Duration) {
	for end := s.now.Add(d); len(s.ends) > 0 && !s.ends[0].at.After(end); {
		next, ok := heap.Pop(&s.ends).(ending)
		if !ok {
			s.t.Fatal("the heap holds something else")
		}
		s.now = next.at
		s.done[next.job.account] += next.job.takes
		s.q.release(next.job.line, next.job.start, false)
		s.begin()
		if next.job.then != nil {
			next.job.then()
		}
	}
}

// keep keeps n jobs of an account in the queue.
func (s *simulation) keep(account string, n int, takes func() time.Duration) {
	var again func()
	again = func() { s.submit(account, takes(), again) }
	for range n {
		again()
	}
}

// check verifies a Queue's invariants: every count adds up, no slot is idle while a job may
// have it, and no new account waits while an extra slot is free.
func check(t *testing.T, q *Queue) {
	t.Helper()
	busy, waiting := 0, 0
	for _, l := range q.accounts {
		busy += l.busy
		waiting += len(l.tickets)
		if len(l.tickets) > 0 && q.mayStart(l) {
			t.Errorf("%d of %d slots are busy, and an account with %d of them waits although it may have another", q.busy, q.cfg.Slots, l.busy)
		}
	}
	inTurn := 0
	for _, l := range q.turn {
		inTurn += len(l.tickets)
	}
	if busy != q.busy || waiting != q.waiting || inTurn != q.waiting {
		t.Fatalf("the queue says %d busy and %d waiting; its lines %d, %d, and %d in turn", q.busy, q.waiting, busy, waiting, inTurn)
	}
	if q.busy < 0 || q.busy > q.cfg.Slots+q.cfg.Extra || q.waiting > q.cfg.Limit {
		t.Fatalf("%d busy of %d and %d, %d waiting of %d", q.busy, q.cfg.Slots, q.cfg.Extra, q.waiting, q.cfg.Limit)
	}
}

// TestSlotsAreNeverIdle drains a random load: as long as enough jobs are there,
// the slots' time is used up whole, whoever they belong to.
func TestSlotsAreNeverIdle(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for round := range 50 {
		slots := 1 + random.IntN(4)
		s := newSimulation(t, Config{Slots: slots, Limit: 10_000})
		var total time.Duration
		for i := range 200 {
			takes := time.Duration(1+random.IntN(50)) * time.Millisecond
			if s.submit("account "+strconv.Itoa(random.IntN(1+i%5)), takes, nil) {
				total += takes
			}
		}
		s.run(time.Hour)
		if minimum := total / time.Duration(slots); s.now.Sub(time.Unix(0, 0)) > minimum+50*time.Millisecond {
			t.Errorf("round %d: %s of jobs took %d slots %s", round, total, slots, s.now.Sub(time.Unix(0, 0)))
		}
	}
}

// TestSlotTimeIsShared lets accounts with jobs of different length and lines of
// different depth compete: each gets its share of the slots' time.
func TestSlotTimeIsShared(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, slots := range []int{2, 4} {
		s := newSimulation(t, Config{Slots: slots})
		s.keep("short", 4*slots, func() time.Duration { return time.Duration(8+random.IntN(5)) * time.Millisecond })
		s.keep("long", slots, func() time.Duration { return time.Duration(80+random.IntN(50)) * time.Millisecond })
		s.run(5 * time.Minute)
		all := s.done["short"] + s.done["long"]
		for name, done := range s.done {
			if share := float64(done) / float64(all); share < 0.45 || share > 0.55 {
				t.Errorf("%d slots: the account with %s jobs had %.0f %% of their time, want half", slots, name, 100*share)
			}
		}
	}
}

// TestNewcomersWaitIsBounded lets new accounts arrive at random next to a heavy one: they
// wait not at all with an extra slot, and until the next job ends without one.
func TestNewcomersWaitIsBounded(t *testing.T) {
	const job = 100 * time.Millisecond
	for extra, maximum := range map[int]time.Duration{0: job, 1: 0} {
		random := rand.New(rand.NewPCG(7, 8))
		s := newSimulation(t, Config{Slots: 2, Extra: extra})
		s.keep("heavy", 20, func() time.Duration { return job })
		for i := range 200 {
			s.run(time.Duration(100+random.IntN(300)) * time.Millisecond)
			s.now = s.now.Add(time.Duration(random.IntN(20)) * time.Millisecond) // Between two ends.
			if !s.submit("newcomer "+strconv.Itoa(i), job, nil) {
				t.Fatalf("newcomer %d was turned away", i)
			}
		}
		s.run(time.Second)
		for name, waited := range s.waited {
			if name != "heavy" && waited > maximum+20*time.Millisecond {
				t.Errorf("%d extra slots: %s waited %s, want %s at most", extra, name, waited, maximum)
			}
		}
	}
}
