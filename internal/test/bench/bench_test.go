package bench

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

func TestShortRun(t *testing.T) {
	sharedtest.Slow(t)
	binary, err := sharedtest.Program(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	var out, progress bytes.Buffer
	opt := Options{Binary: binary, Dir: parent, Short: true, Env: []string{"PATH=" + os.Getenv("PATH")}, Out: &out, Progress: &progress}
	rows, err := Run(t.Context(), opt)
	if err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	checkRows(t, rows)
	t.Log(progress.String())
	if want := 47; len(rows) != want {
		t.Errorf("%d rows, want %d:\n%s", len(rows), want, out.String())
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
		t.Errorf("%d folders are left, %v", len(left), err)
	}
}

// checkRows requires a floor and figures above 0 of each row, and names that differ.
func checkRows(t *testing.T, rows []Row) {
	t.Helper()
	names := map[string]bool{}
	for _, r := range rows {
		if r.Name == "" || names[r.Name] || r.Floor == "" || r.Unit == "" {
			t.Errorf("the row has no name of its own, no floor or no unit: %+v", r)
		}
		names[r.Name] = true
		for _, figure := range []float64{r.FloorFigure, r.OurFigure} {
			if !(figure > 0) || math.IsInf(figure, 0) {
				t.Errorf("the figures must be above 0: %+v", r)
			}
		}
	}
}

func TestMissingProgramIsAnError(t *testing.T) {
	opt := Options{Binary: filepath.Join(t.TempDir(), "missing"), Dir: t.TempDir(), Out: io.Discard, Progress: io.Discard}
	if _, err := Run(t.Context(), opt); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is missing: %v", err)
	}
}

func TestGoalBoundsOurFigure(t *testing.T) {
	tests := []struct {
		unit string
		goal Goal
		ours float64 // of a floor of 100
		want string
	}{
		{"/s", Goal{Times: 0.7}, 70, "≥ 0.7 × floor: ok"}, {"/s", Goal{Times: 0.7}, 69, "≥ 0.7 × floor: missed"},
		{"/s", Goal{Plus: 1500}, 1500, "≥ 1500: ok"}, {"ms p50", Goal{Plus: 0.7}, 0.71, "≤ 0.7: missed"},
		{"ms p50", Goal{Times: 1.15, Plus: 15}, 130, "≤ 1.15 × floor + 15: ok"}, {"ms p50", Goal{Times: 1.15, Plus: 15}, 131, "≤ 1.15 × floor + 15: missed"},
		{"ms p50", Goal{}, 1000, "–"},
	}
	for _, tt := range tests {
		r := Row{Unit: tt.unit, Goal: tt.goal, FloorFigure: 100, OurFigure: tt.ours}
		if got := r.goal(); got != tt.want {
			t.Errorf("goal of %v %s is %q, want %q", tt.ours, tt.unit, got, tt.want)
		}
	}
}

func TestTableIsMarkdown(t *testing.T) {
	var b strings.Builder
	rows := []Row{{Name: "merge", Floor: "qpdf by hand", Unit: "ms p50", Goal: Goal{Plus: 200}, Note: "p95 1 / 2 ms", FloorFigure: 100, OurFigure: 7.126}}
	if err := write(&b, "AMD EPYC, 2 cores", time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC), rows); err != nil {
		t.Fatal(err)
	}
	want := `AMD EPYC, 2 cores. 2026-11-25.

| measured | floor | ours | unit | ours / floor | goal | the floor is | note |
|---|---|---|---|---|---|---|---|
| merge | 100 | 7.13 | ms p50 | 0.07 | ≤ 200: ok | qpdf by hand | p95 1 / 2 ms |
`
	if b.String() != want {
		t.Errorf("the table is\n%s\nwant\n%s", b.String(), want)
	}
}

func TestInterleaveMeasuresBothSidesInTurn(t *testing.T) {
	var order strings.Builder
	as := func(letter byte) *side {
		return &side{size: 5, do: func(context.Context, int) error { order.WriteByte(letter); <-time.After(time.Millisecond); return nil }}
	}
	floor, ours := as('f'), as('o')
	if err := interleave(t.Context(), 3, 1, 2, time.Nanosecond, floor, ours); err != nil {
		t.Fatal(err)
	}
	if got := order.String(); got != "ffoofofofo" {
		t.Errorf("the order is %s, want two of each that do not count and three rounds", got)
	}
	if r := rateRow("x", "y", Goal{}, floor, ours); len(ours.latencies) != 3 || r.OurFigure <= 0 || r.OurFigure > 5000 {
		t.Errorf("%d times, %v a second; want 3 and at most five in a millisecond", len(ours.latencies), r.OurFigure)
	}
}

func TestClosedLoopKeepsCallersBusy(t *testing.T) {
	var busy, maximum atomic.Int64
	latencies, rate, err := closedLoop(t.Context(), 3, 20*time.Millisecond, func(context.Context, int) error {
		maximum.Store(max(maximum.Load(), busy.Add(1)))
		defer busy.Add(-1)
		<-time.After(time.Millisecond)
		return nil
	})
	if err != nil || len(latencies) < 3 || maximum.Load() > 3 || rate <= 0 || rate > 3000 {
		t.Errorf("%d documents, %d at once, %v a second, %v; want three callers busy, each for a millisecond", len(latencies), maximum.Load(), rate, err)
	}
	broken := errors.New("broken")
	if _, _, err := closedLoop(t.Context(), 3, time.Hour, func(context.Context, int) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a loop that fails: %v", err)
	}
}

func TestPercentile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100 - i)
	}
	tests := []struct {
		values []time.Duration
		p      int
		want   time.Duration
	}{
		{nil, 50, 0}, {[]time.Duration{7}, 95, 7}, {[]time.Duration{3, 1, 2}, 50, 2}, {hundred, 50, 50}, {hundred, 95, 95}, {hundred, 100, 100},
	}
	for _, tt := range tests {
		if got := percentile(tt.values, tt.p); got != tt.want {
			t.Errorf("p%d of %v is %d, want %d", tt.p, tt.values, got, tt.want)
		}
	}
	if got := median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("median is %v, want 2.5", got)
	}
}

// TestProcessorTimes measures a child that works and one that has worked and ended, each while the other process only
// waits.
func TestProcessorTimes(t *testing.T) {
	const work = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
	for name, script := range map[string]string{
		"running": "sh -c '" + work + "; echo; sleep 600; :' & wait",
		"ended":   "sh -c '" + work + "'; echo; sleep 600; :",
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _, _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL), cmd.Wait() }()
			if _, err := out.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if took := cpuOf(cmd.Process.Pid); took < 50*time.Millisecond {
				t.Errorf("the work took %v", took)
			}
		})
	}
}
