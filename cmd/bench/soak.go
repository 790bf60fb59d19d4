package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	soakGoal  = 1.2
	soakBound = 15 * time.Minute
	// soakAtOnce is more than the slots of small machines, so that the queue
	// is in use too.
	soakAtOnce = 4
	soakMarks  = 10
)

// soakFigures is the memory of the program's process tree over many documents.
type soakFigures struct {
	Marks   []soakMark `json:"marks"`
	Ratio   float64    `json:"ratio"` // of the last mark to the first
	Goal    float64    `json:"goal"`
	Seconds float64    `json:"seconds"`
}

type soakMark struct {
	Documents int     `json:"documents"`
	MemoryMB  float64 `json:"memoryMB"`
}

// soak renders ten times a thousand documents of several kinds for several
// accounts, and measures the memory after each thousand.
func (l *lab) soak(ctx context.Context) (*report, error) {
	ctx, cancel := context.WithTimeout(ctx, soakBound)
	defer cancel()
	figures := &soakFigures{Goal: soakGoal}
	step := choose(l, 1000, 40)
	start := time.Now()
	mixed := l.mixed()
	for i := range soakMarks {
		if err := repeat(ctx, soakAtOnce, step, mixed); err != nil {
			return nil, fmt.Errorf("soak: %w", err)
		}
		mark := soakMark{Documents: (i + 1) * step, MemoryMB: float64(memoryOf(l.server.cmd.Process.Pid)) / 1e6}
		l.say("%d documents, %.0f MB", mark.Documents, mark.MemoryMB)
		figures.Marks = append(figures.Marks, mark)
	}
	figures.Seconds = time.Since(start).Seconds()
	figures.Ratio = figures.Marks[soakMarks-1].MemoryMB / figures.Marks[0].MemoryMB
	return &report{Machine: describeMachine(l.floor.product, l.dir), Soak: figures}, nil
}

// mixed makes documents for four accounts: of twenty, fourteen are invoices,
// three have script, two are images and one is an image of a scripted page.
func (l *lab) mixed() work {
	const kinds, payers = 20, 4
	plain, script := pdfRequest(invoice()), pdfRequest(scripted())
	image, scriptedImage := imageRequest(invoice()), imageRequest(scripted())
	var next atomic.Int64
	return func(ctx context.Context, _ int) error {
		n := next.Add(1)
		call := plain
		switch n % kinds {
		case 3, 8, 13:
			call = script
		case 5, 15:
			call = image
		case 18:
			call = scriptedImage
		}
		// An account changes after each round of kinds, and so gets all of them.
		return l.client.make(ctx, l.keys[1+n/kinds%payers], call)
	}
}
