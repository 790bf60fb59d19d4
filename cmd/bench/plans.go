package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// crowd is how many accounts take turns on a small machine.
const crowd = 200

// planFigures are those of a service that was told how much memory it may take.
type planFigures struct {
	GiB           int     `json:"memoryGiB"`
	DocsPerSecond float64 `json:"docsPerSecond"`
	P50           float64 `json:"p50Ms"`
	P95           float64 `json:"p95Ms"`
	PeakMB        float64 `json:"peakMB"` // PSS of the process tree
}

// sound tells that the service kept to its memory.
func (p planFigures) sound() bool { return p.PeakMB*1e6 <= float64(p.GiB)*(1<<30) }

// plans has many accounts take turns on machines of different sizes.
func (l crowds) plans(ctx context.Context, r *report) error {
	for _, gib := range []int{2, 4, 8} {
		l.say("%d accounts in turn on %d GiB", crowd, gib)
		f, err := l.plan(ctx, gib)
		if err != nil {
			return fmt.Errorf("%d GiB: %w", gib, err)
		}
		r.Plans = append(r.Plans, f)
	}
	return nil
}

func (l crowds) plan(ctx context.Context, gib int) (f planFigures, err error) {
	accounts := choose(l.lab, crowd, 10)
	dir, keys, err := newDataDir(ctx, l.options.dir, accounts)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	opt := l.options
	opt.env = append(opt.env[:len(opt.env):len(opt.env)], fmt.Sprintf("RELAYPDF_MEMORY=%dGiB", gib))
	server, err := startServer(ctx, opt, dir)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	client, call := newClient(server.url), pdfRequest(invoice())
	var next atomic.Int64
	turn := func(ctx context.Context, _ int) error {
		return client.make(ctx, keys[int(next.Add(1))%len(keys)], call)
	}
	watching, stop := context.WithCancel(ctx)
	peak := make(chan int64, 1)
	go func() { peak <- peakMemory(watching, server.cmd.Process.Pid) }()
	err = repeat(ctx, l.slots, accounts, turn)
	var s sample
	if err == nil {
		s, err = closedLoop(ctx, l.slots, choose(l.lab, 15*time.Second, time.Second), turn)
	}
	stop()
	f = planFigures{
		GiB: gib, DocsPerSecond: s.rate, P50: ms(percentile(s.latencies, 50)), P95: ms(percentile(s.latencies, 95)), PeakMB: float64(<-peak) / 1e6,
	}
	return f, err
}

// peakMemory looks at what a process and its descendants hold, again and again.
func peakMemory(ctx context.Context, pid int) (peak int64) {
	for {
		peak = max(peak, memoryOf(pid))
		select {
		case <-ctx.Done():
			return peak
		case <-time.After(time.Second):
		}
	}
}

func (r *report) writePlans(w io.Writer) {
	if len(r.Plans) == 0 {
		return
	}
	fmt.Fprintf(w, "\nInvoices of %d accounts in turn, as many at once as there are cores, by RELAYPDF_MEMORY. Peak: PSS of the process tree.\n\n", crowd)
	table(w, "GiB\tdocs/s\tp50 ms\tp95 ms\tpeak MB\twithin", func(w io.Writer) {
		for _, p := range r.Plans {
			fmt.Fprintf(w, "%d\t%.1f\t%.1f\t%.1f\t%.0f\t%s\n", p.GiB, p.DocsPerSecond, p.P50, p.P95, p.PeakMB, verdict(p.sound()))
		}
	})
}
