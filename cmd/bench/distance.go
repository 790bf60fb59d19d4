package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"relaypdf/store/storetest"
)

const (
	hotGoal  = 350 // calls a second of one account on PostgreSQL
	hotCalls = 8   // of it at once
	// tripsGoal bounds the round trips of hold and of settle.
	tripsGoal = 2
)

// distances are the round trips to the database.
func distances() []time.Duration {
	return []time.Duration{0, 10 * time.Millisecond, 80 * time.Millisecond}
}

// databases measures what the database has to do.
type databases struct{ *lab }

// hotAccount measures the calls of one account on PostgreSQL, all of which move
// the same wallet, and how they hold and settle when the database is far away.
func (l databases) hotAccount(ctx context.Context, r *report) (err error) {
	database, drop, err := storetest.NewDatabase()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	l.say("one hot account on PostgreSQL")
	b, err := l.startBare(ctx, bareConfig{outbound: noWayOut{}, database: database})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	call := b.make(pdfRequest("<p>hot"))
	if err := repeat(ctx, hotCalls, 10*hotCalls, call); err != nil {
		return err
	}
	s, err := closedLoop(ctx, hotCalls, choose(l.lab, 5*time.Second, time.Second), call)
	if err != nil {
		return err
	}
	r.reach(goalFigures{
		Name: "calls of one hot account on PostgreSQL", Got: s.rate, Goal: hotGoal, Unit: "/s", AtLeast: true,
		Beside: fmt.Sprintf("%d at once, p50 %.1f ms", hotCalls, ms(percentile(s.latencies, 50))),
	})
	return nil
}

// distance measures hold and settle with PostgreSQL near and far.
func (l databases) distance(ctx context.Context, r *report) error {
	var near map[string]float64
	for _, rtt := range distances() {
		l.say("PostgreSQL at a distance of %v", rtt)
		means, err := l.stepsAt(ctx, rtt)
		if err != nil {
			return fmt.Errorf("at %v: %w", rtt, err)
		}
		if rtt == 0 {
			near = means
			continue
		}
		for _, step := range []string{"hold", "settle"} {
			r.reach(goalFigures{
				Name: fmt.Sprintf("round trips of %s, PostgreSQL at %v", step, rtt), Got: (means[step] - near[step]) / ms(rtt), Goal: tripsGoal,
				Beside: fmt.Sprintf("means: %.1f ms, %.1f ms without the distance", means[step], near[step]),
			})
		}
	}
	return nil
}

// stepsAt returns the means of the steps of calls whose database is a round trip
// away, in milliseconds.
func (l databases) stepsAt(ctx context.Context, rtt time.Duration) (means map[string]float64, err error) {
	database, drop, err := storetest.NewDatabase()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	far, err := newFar(ctx, database, rtt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, far.close()) }()
	b, err := l.startBare(ctx, bareConfig{outbound: noWayOut{}, database: far.url})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	call := b.make(pdfRequest("<p>far"))
	if err := repeat(ctx, 1, choose(l.lab, 20, 3), call); err != nil { // The statements are prepared then.
		return nil, err
	}
	before, err := b.stepSums()
	if err != nil {
		return nil, err
	}
	if err := repeat(ctx, 1, choose(l.lab, 50, 3), call); err != nil {
		return nil, err
	}
	after, err := b.stepSums()
	means = map[string]float64{}
	for step, sum := range after {
		means[step] = sum.over(before[step])
	}
	return means, err
}

// stepSum is what the API's metrics say about a step.
type stepSum struct {
	seconds float64
	count   uint64
}

// over is the mean of what came after before, in milliseconds.
func (s stepSum) over(before stepSum) float64 {
	return 1000 * (s.seconds - before.seconds) / float64(max(1, s.count-before.count))
}

// stepSums reads the API's own metrics.
func (b *bare) stepSums() (map[string]stepSum, error) {
	families, err := b.registry.Gather()
	if err != nil {
		return nil, err
	}
	sums := map[string]stepSum{}
	for _, family := range families {
		if family.GetName() != "relaypdf_step_seconds" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if h := metric.GetHistogram(); label.GetName() == "step" {
					sums[label.GetValue()] = stepSum{h.GetSampleSum(), h.GetSampleCount()}
				}
			}
		}
	}
	return sums, nil
}

// far is a proxy before a database that is far away: what is sent to it arrives
// half a round trip later, in either direction.
type far struct {
	url      string
	listener net.Listener
	conns    sync.WaitGroup
}

func newFar(ctx context.Context, database string, rtt time.Duration) (*far, error) {
	address, err := url.Parse(database)
	if err != nil {
		return nil, err
	}
	to := [2]string{"tcp", address.Host}
	query := address.Query()
	if host := query.Get("host"); strings.HasPrefix(host, "/") {
		to = [2]string{"unix", host + "/.s.PGSQL." + cmp.Or(query.Get("port"), "5432")}
	}
	var listening net.ListenConfig
	f := &far{}
	if f.listener, err = listening.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	query.Del("host")
	query.Del("port")
	address.Host, address.RawQuery = f.listener.Addr().String(), query.Encode()
	f.url = address.String()
	f.conns.Go(func() {
		for {
			near, err := f.listener.Accept()
			if err != nil {
				return
			}
			f.conns.Go(func() { carry(ctx, near, to, rtt/2) })
		}
	})
	return f, nil
}

func (f *far) close() error {
	err := f.listener.Close()
	f.conns.Wait() // The store behind it has closed its connections.
	return err
}

// carry connects near with an address until either side closes.
func carry(ctx context.Context, near net.Conn, to [2]string, delay time.Duration) {
	var dialer net.Dialer
	there, err := dialer.DialContext(ctx, to[0], to[1])
	if err != nil {
		_ = near.Close()
		return
	}
	var both sync.WaitGroup
	both.Go(func() { late(there, near, delay) })
	both.Go(func() { late(near, there, delay) })
	both.Wait()
}

// late copies with a delay, and ends both sides when there is no more.
func late(to, from net.Conn, delay time.Duration) {
	type part struct {
		data []byte
		due  time.Time
	}
	parts := make(chan part, 1<<10)
	go func() {
		defer close(parts)
		for {
			data := make([]byte, 32<<10)
			n, err := from.Read(data)
			if n > 0 {
				parts <- part{data[:n], time.Now().Add(delay)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range parts {
		<-time.After(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			break
		}
	}
	_, _ = to.Close(), from.Close()
	for range parts { // Its reader ends with the connection.
	}
}
