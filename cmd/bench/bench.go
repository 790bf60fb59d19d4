package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// comparison is one row: the same documents through the service and through
// the bare browser.
type comparison struct {
	name    string
	c       int
	goal    float64       // ratio of documents a second; zero is none
	round   time.Duration // of each side
	ours    work
	prepare func(ctx context.Context, c int) (floor work, done func(), err error)
}

// comparisons lists the rows in their order: those of the one account first,
// because the service keeps a slot free for others for a minute after they
// were active.
func (l *lab) comparisons() []comparison {
	second := choose(l, time.Second, 100*time.Millisecond)
	plain, script, long := invoice(), scripted(), report50()
	rows := []comparison{
		{"invoice", 1, 0.7, 2 * second, l.own(pdfRequest(plain)), l.warmPages(plain, false)},
		{"invoice", 2, 0.8, 2 * second, l.own(pdfRequest(plain)), l.warmPages(plain, false)},
		{"invoice", 4, 0, 2 * second, l.own(pdfRequest(plain)), l.warmPages(plain, false)},
		{"invoice", 8, 0, 2 * second, l.own(pdfRequest(plain)), l.warmPages(plain, false)},
		{"scripted", 1, 0.9, 2 * second, l.own(pdfRequest(script)), l.warmPages(script, true)},
		{"scripted", 2, 0.9, 2 * second, l.own(pdfRequest(script)), l.warmPages(script, true)},
		{"report, 50 pages", 1, 0.95, 3 * second, l.own(pdfRequest(long)), l.warmPages(long, false)},
		{"report, 50 pages", 2, 0.95, 3 * second, l.own(pdfRequest(long)), l.warmPages(long, false)},
		{"8 accounts in turn", 1, 1, 2 * second, l.turns(pdfRequest(plain)), l.newContexts(plain)},
		{"8 accounts in turn", 2, 1, 2 * second, l.turns(pdfRequest(plain)), l.newContexts(plain)},
	}
	return slices.DeleteFunc(rows, func(c comparison) bool { return !l.wants(fmt.Sprintf("%s/c=%d", c.name, c.c)) })
}

// turns makes documents for the accounts after the first, one after the other.
func (l *lab) turns(r request) work {
	var next atomic.Int64
	return func(ctx context.Context, _ int) error {
		return l.client.make(ctx, l.keys[1+next.Add(1)%inTurn], r)
	}
}

// warmPages is the floor of one account: a warm page for each worker, used
// again and again, with a new realm for each document where realm is set.
func (l *lab) warmPages(html string, realm bool) func(context.Context, int) (work, func(), error) {
	return func(ctx context.Context, c int) (work, func(), error) {
		var pages []*floorPage
		done := func() {
			for _, p := range pages {
				p.dispose()
			}
		}
		for range c {
			p, err := l.floor.open(ctx)
			if err != nil {
				done()
				return nil, nil, err
			}
			pages = append(pages, p)
		}
		return func(ctx context.Context, worker int) error {
			if realm {
				if err := pages[worker].renew(ctx); err != nil {
					return err
				}
			}
			return pages[worker].printPDF(ctx, html)
		}, done, nil
	}
}

// newContexts is the floor of many accounts: a context for each document.
func (l *lab) newContexts(html string) func(context.Context, int) (work, func(), error) {
	return func(context.Context, int) (work, func(), error) {
		return func(ctx context.Context, _ int) error {
			p, err := l.floor.open(ctx)
			if err != nil {
				return err
			}
			defer p.dispose()
			return p.printPDF(ctx, html)
		}, func() {}, nil
	}
}

// side is one side of a row over its rounds.
type side struct {
	root      int // process
	do        work
	rates     []float64
	latencies []time.Duration
	cpu       time.Duration
	timed     int // the documents that cpu is of
	memory    int64
}

// measure runs one round.
func (s *side) measure(ctx context.Context, c int, d time.Duration) error {
	before := cpuOf(s.root)
	sample, err := closedLoop(ctx, c, d, s.do)
	if err != nil {
		return err
	}
	// Where a process ended that nobody waited for, such as a browser that was
	// replaced, its time is gone, and the round tells nothing.
	if cpu := cpuOf(s.root) - before; cpu > 0 {
		s.cpu += cpu
		s.timed += len(sample.latencies)
	}
	s.memory = max(s.memory, memoryOf(s.root))
	s.rates = append(s.rates, sample.rate)
	s.latencies = append(s.latencies, sample.latencies...)
	return nil
}

func (s *side) figures() figures {
	return figures{
		DocsPerSecond: median(s.rates), P50: ms(percentile(s.latencies, 50)), P95: ms(percentile(s.latencies, 95)),
		CPU: ms(s.cpu) / float64(max(1, s.timed)), MemoryMB: float64(s.memory) / 1e6, Documents: len(s.latencies),
	}
}

// compare measures both sides of a row in alternating rounds, so that a drift
// of the machine meets both.
func compare(ctx context.Context, l *lab, row comparison) (comparisonResult, error) {
	l.say("%s, %d at once", row.name, row.c)
	floorWork, done, err := row.prepare(ctx, row.c)
	if err != nil {
		return comparisonResult{}, err
	}
	defer done()
	floor := &side{root: l.floor.cmd.Process.Pid, do: floorWork}
	ours := &side{root: l.server.cmd.Process.Pid, do: row.ours}
	for _, s := range []*side{floor, ours} { // Warm pages, connections and code.
		if err := repeat(ctx, row.c, row.c*choose(l, 8, 2), s.do); err != nil {
			return comparisonResult{}, err
		}
	}
	for range choose(l, 5, 2) {
		for _, s := range []*side{floor, ours} {
			if err := s.measure(ctx, row.c, row.round); err != nil {
				return comparisonResult{}, err
			}
		}
	}
	r := comparisonResult{Name: row.name, Concurrency: row.c, Goal: row.goal, Floor: floor.figures(), Ours: ours.figures()}
	r.Ratio = r.Ours.DocsPerSecond / r.Floor.DocsPerSecond
	return r, nil
}

// bench measures everything.
func (l *lab) bench(ctx context.Context) (*report, error) {
	r := &report{Machine: describeMachine(l.floor.product, l.dir)}
	for _, row := range l.comparisons() {
		result, err := compare(ctx, l, row)
		if err != nil {
			return nil, fmt.Errorf("%s, %d at once: %w", row.name, row.c, err)
		}
		r.Rows = append(r.Rows, result)
	}
	parts := []struct {
		name string
		do   func(context.Context, *report) error
	}{
		{"neighbours", crowds{l}.neighbours}, {"paid path", l.paidPath}, {"agents", agents{l}.above}, {"barcodes", l.barcodes}, {"tools", l.tools}, {"templates", l.templates}, {"editors", editors{l}.typing},
		{"office", l.office}, {"jobs", l.jobs}, {"workers", databases{l}.workers}, {"claims", databases{l}.claims}, {"queues", databases{l}.queues}, {"deliveries", l.deliveries}, {"idempotency", l.idempotency},
		{"hot account", databases{l}.hotAccount}, {"distance", databases{l}.distance}, {"usage", databases{l}.usage}, {"pages", databases{l}.pages}, {"history", databases{l}.history}, {"start", l.starts}, {"overload", l.overload},
		{"overload with tools", l.mixedOverload}, {"plans", crowds{l}.plans}, {"attacks", l.attacks},
	}
	for _, part := range parts {
		if !l.wants(part.name) {
			continue
		}
		if err := part.do(ctx, r); err != nil {
			r.broken = append(r.broken, fmt.Errorf("%s: %w", part.name, err))
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return r, nil
}
