package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// party is an account under overload and its share of the requests.
type party struct {
	name  string
	key   string
	share float64
}

const (
	// overloadFactor is the load in capacities.
	overloadFactor = 2
	// fullPerSlot is how many clients a slot find the capacity: fewer leave the
	// slots idle while answers are sent and money is moved.
	fullPerSlot = 4
)

// overloadRatioGoal bounds the p95 of the accepted requests at twice capacity, in
// p95s at capacity.
const overloadRatioGoal = 2.0

// lightGoal is the part of a light account's requests that must get through.
const lightGoal = 0.95

// parties shares the load: a heavy account, whose requests alone would fill the
// service, four ordinary ones that ask for a little more than their share of it,
// and a light one. It has twenty times fewer requests than the heavy one.
func parties(keys []string) []party {
	all := []party{{"heavy", keys[1], 10}}
	for i := range 4 {
		all = append(all, party{fmt.Sprintf("ordinary %d", i+1), keys[2+i], 2})
	}
	return append(all, party{"light", keys[6], 0.5})
}

// overloadFigures say what happened at and above capacity.
type overloadFigures struct {
	Capacity   float64        `json:"capacityDocsPerSecond"` // closed loop
	AtOnce     int            `json:"closedLoopAtOnce"`
	ClosedP95  float64        `json:"closedLoopP95Ms"`
	At         loadFigures    `json:"atCapacity"`
	Above      loadFigures    `json:"atTwiceCapacity"`
	Parties    []partyFigures `json:"accounts"` // at twice capacity
	P95Ratio   float64        `json:"p95Ratio"`
	P95Goal    float64        `json:"p95Goal"`
	LightShare float64        `json:"lightAcceptedShare"`
	LightGoal  float64        `json:"lightGoal"`
}

// loadFigures sum up an open loop. The latencies are of accepted requests, from
// the moment at which they were due.
type loadFigures struct {
	Seconds           float64 `json:"seconds"`
	Offered           int     `json:"offered"`
	Accepted          int     `json:"accepted"`
	Refused           int     `json:"refused"`           // 429 with Retry-After
	WithoutRetryAfter int     `json:"withoutRetryAfter"` // 429 without a usable one
	Others            int     `json:"others"`            // any other status, or none
	FirstOther        string  `json:"firstOther,omitempty"`
	P50               float64 `json:"p50Ms"`
	P95               float64 `json:"p95Ms"`
}

type partyFigures struct {
	Name string `json:"name"`
	loadFigures
}

// overload finds the capacity, offers exactly that for a while, and then twice
// as much for a minute.
func (l *lab) overload(ctx context.Context, r *report) error {
	parties, call := parties(l.keys), pdfRequest(invoice())
	atOnce := fullPerSlot * l.slots
	l.say("capacity, %d at once", atOnce)
	closed, err := measureCapacity(ctx, l, parties, []request{call})
	if err != nil {
		return err
	}
	o := &overloadFigures{
		Capacity: closed.rate, AtOnce: atOnce, ClosedP95: ms(percentile(closed.latencies, 95)),
		P95Goal: overloadRatioGoal, LightGoal: lightGoal,
	}
	loop := openLoop{client: l.client, calls: []request{call}, parties: parties}
	l.say("at capacity, %.0f requests a second", o.Capacity)
	at := loop.run(ctx, o.Capacity, choose(l, 20*time.Second, time.Second))
	o.At = at.figures("")
	l.say("at twice capacity")
	above := loop.run(ctx, overloadFactor*o.Capacity, choose(l, time.Minute, 3*time.Second))
	o.Above = above.figures("")
	for _, p := range parties {
		o.Parties = append(o.Parties, partyFigures{p.name, above.figures(p.name)})
	}
	light := o.Parties[len(o.Parties)-1]
	o.P95Ratio, o.LightShare = o.Above.P95/o.At.P95, float64(light.Accepted)/float64(max(light.Offered, 1))
	r.Overload = o
	return ctx.Err()
}

// measureCapacity finds out how many calls a second the service makes of a mixture, of
// which the parties send the same number.
func measureCapacity(ctx context.Context, l *lab, parties []party, calls []request) (sample, error) {
	var next atomic.Int64
	return closedLoop(ctx, fullPerSlot*l.slots, choose(l, 8*time.Second, time.Second), func(ctx context.Context, _ int) error {
		i := int(next.Add(1))
		return l.client.make(ctx, parties[i%len(parties)].key, calls[i/len(parties)%len(calls)])
	})
}

// mixedFigures say what happened above capacity when tools are in the load.
type mixedFigures struct {
	Capacity   float64        `json:"capacityCallsPerSecond"` // closed loop
	All        loadFigures    `json:"atTwiceCapacity"`
	Parties    []partyFigures `json:"accounts"`
	LightShare float64        `json:"lightAcceptedShare"`
	LightGoal  float64        `json:"lightGoal"`
}

// mixedOverload offers twice what the service can make of documents and tools.
func (l *lab) mixedOverload(ctx context.Context, r *report) (err error) {
	f, err := newFixtures(ctx, l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(f.dir)) }()
	parties, calls := parties(l.keys), []request{pdfRequest(invoice())}
	for _, row := range l.toolRows(f) {
		if slices.Contains([]string{"merge", "protect", "text", "info", "zip, 30 files"}, row.name) {
			calls = append(calls, row.call, pdfRequest(invoice()))
		}
	}
	l.say("capacity with tools")
	closed, err := measureCapacity(ctx, l, parties, calls)
	if err != nil {
		return err
	}
	l.say("overload with tools, at twice %.0f calls a second", closed.rate)
	above := openLoop{client: l.client, calls: calls, parties: parties}.run(ctx, overloadFactor*closed.rate, choose(l, 30*time.Second, 3*time.Second))
	m := &mixedFigures{Capacity: closed.rate, All: above.figures(""), LightGoal: lightGoal}
	for _, p := range parties {
		m.Parties = append(m.Parties, partyFigures{p.name, above.figures(p.name)})
	}
	light := m.Parties[len(m.Parties)-1]
	m.LightShare = float64(light.Accepted) / float64(max(light.Offered, 1))
	r.Mixed = m
	return ctx.Err()
}

// openLoop sends requests at their times, whatever became of those before.
type openLoop struct {
	client  *client
	calls   []request // of each party, in turn
	parties []party
}

// arrival is one request of an open loop and what it came to.
type arrival struct {
	party   string
	took    time.Duration // from when it was due
	answer  answer
	problem error
}

type arrivals struct {
	all  []arrival
	took time.Duration
}

// run sends rate requests a second for d, at random times and for random
// accounts by their shares, and waits for all answers.
func (o openLoop) run(ctx context.Context, rate float64, d time.Duration) arrivals {
	// The same sequence on every run.
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // arrival times are no secret
	timer := time.NewTimer(0)
	defer timer.Stop()
	var mu sync.Mutex
	var sent sync.WaitGroup
	var result arrivals
	start := time.Now()
	turn := map[string]int{}
	for due := time.Duration(0); due < d; due += time.Duration(random.ExpFloat64() / rate * float64(time.Second)) {
		timer.Reset(due - time.Since(start))
		select {
		case <-timer.C:
		case <-ctx.Done():
			sent.Wait()
			return result
		}
		p, at := o.pick(random), start.Add(due)
		call := o.calls[turn[p.name]%len(o.calls)]
		turn[p.name]++
		sent.Go(func() {
			got, err := o.client.post(ctx, p.key, call)
			mu.Lock()
			defer mu.Unlock()
			result.all = append(result.all, arrival{p.name, time.Since(at), got, err})
		})
	}
	sent.Wait()
	result.took = time.Since(start)
	return result
}

func (o openLoop) pick(random *rand.Rand) party {
	var total float64
	for _, p := range o.parties {
		total += p.share
	}
	at := random.Float64() * total
	for _, p := range o.parties {
		if at -= p.share; at < 0 {
			return p
		}
	}
	return o.parties[len(o.parties)-1]
}

// figures sums up the arrivals of a party, or of all when name is empty.
func (a arrivals) figures(name string) loadFigures {
	f := loadFigures{Seconds: a.took.Seconds()}
	var accepted []time.Duration
	for _, r := range a.all {
		if name != "" && r.party != name {
			continue
		}
		f.Offered++
		switch {
		case r.problem != nil:
			f.Others++
			f.FirstOther = r.problem.Error()
		case r.answer.status == http.StatusOK:
			accepted = append(accepted, r.took)
		case r.answer.status != http.StatusTooManyRequests:
			f.Others++
			f.FirstOther = fmt.Sprintf("status %d: %s", r.answer.status, r.answer.text)
		case r.answer.retryAfter == 0:
			f.WithoutRetryAfter++
		default:
			f.Refused++
		}
	}
	f.Accepted, f.P50, f.P95 = len(accepted), ms(percentile(accepted, 50)), ms(percentile(accepted, 95))
	return f
}
