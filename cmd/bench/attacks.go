package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"relaypdf/render/hostile"
)

const (
	// attackWaitGoal bounds what another account's small document takes beside
	// an attack, and attackMemoryGoal the server's own memory then.
	attackWaitGoal   = time.Second
	attackMemoryGoal = 300 << 20
)

// attackFigures say what an attack did to others.
type attackFigures struct {
	Name      string  `json:"name"`
	Documents int     `json:"othersDocuments"`
	P50       float64 `json:"othersP50Ms"`
	Worst     float64 `json:"othersWorstMs"`
	ServerMB  float64 `json:"serverPeakMB"`
	Status    int     `json:"attackStatus"`
}

// attacks has one account send each hostile document, and measures another's
// small ones beside it.
func (l *lab) attacks(ctx context.Context, r *report) error {
	call := pdfRequest("<p>small</p>")
	for _, a := range hostile.Attacks() {
		l.say("attack: %s", a.Name)
		f, err := measureAttack(ctx, l, a, call)
		if err != nil {
			return fmt.Errorf("beside the attack %q: %w", a.Name, err)
		}
		r.Attacks = append(r.Attacks, f)
	}
	return nil
}

func measureAttack(ctx context.Context, l *lab, a hostile.Attack, call request) (attackFigures, error) {
	if err := repeat(ctx, 1, 3, func(ctx context.Context, _ int) error { return l.client.make(ctx, l.keys[1], call) }); err != nil {
		return attackFigures{}, err
	}
	forgetPeak(l.server.cmd.Process.Pid)
	done := make(chan answer, 1)
	go func() {
		attack := pdfRequest(a.HTML)
		if a.Screenshot {
			attack = imageRequest(a.HTML)
		}
		got, _ := l.client.post(ctx, l.keys[2], attack) // What becomes of it is its own affair.
		done <- got
	}()
	f := attackFigures{Name: a.Name}
	var took []time.Duration
	for {
		start := time.Now()
		if err := l.client.make(ctx, l.keys[1], call); err != nil {
			return f, err
		}
		took = append(took, time.Since(start))
		select {
		case got := <-done:
			f.Documents, f.Status = len(took), got.status
			f.P50, f.Worst = ms(percentile(took, 50)), ms(slices.Max(took))
			f.ServerMB = float64(peakOf(l.server.cmd.Process.Pid)) / 1e6
			return f, nil
		default:
		}
	}
}

// forgetPeak makes the kernel count a process's peak memory anew.
func forgetPeak(pid int) {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0) // Where it is refused, the peak is an older one.
}

// peakOf returns the most memory that a process held.
func peakOf(pid int) (peak int64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
		_, _ = fmt.Sscan(rest, &peak) // Zero where there is none.
	}
	return peak << 10
}

func (r *report) writeAttacks(w io.Writer) {
	if len(r.Attacks) == 0 {
		return
	}
	fmt.Fprintf(w, "\nSmall documents of one account beside an attack of another (goals: worst %d ms, server %d MB).\n\n",
		attackWaitGoal.Milliseconds(), attackMemoryGoal/1_000_000)
	table(w, "attack\tdocuments\tp50 ms\tworst ms\tserver MB\t", func(w io.Writer) {
		for _, f := range r.Attacks {
			ok := f.Worst <= ms(attackWaitGoal) && f.ServerMB*1e6 <= attackMemoryGoal
			fmt.Fprintf(w, "%s\t%d\t%.0f\t%.0f\t%.0f\t%s\n", f.Name, f.Documents, f.P50, f.Worst, f.ServerMB, verdict(ok))
		}
	})
}
