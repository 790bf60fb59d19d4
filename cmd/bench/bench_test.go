package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"relaypdf/internal/slow"
	"relaypdf/render/rendertest"
)

// TestShortRun measures the real program for a moment.
func TestShortRun(t *testing.T) {
	slow.Test(t)
	binary, err := rendertest.Program(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	var out, progress bytes.Buffer
	opt := options{
		binary: binary, dir: parent, short: true, json: true, env: os.Environ(), out: &out, progress: &progress,
		only: regexp.MustCompile(`^(invoice/c=1|8 accounts in turn/c=2|scripted/c=1|paid path|agents|barcodes|editors|tools|tools/merge|tools/zip, 30 files|jobs|workers|deliveries|idempotency|start|neighbours|claims|queues|hot account|distance|usage|pages|history|overload with tools|plans)$`),
	}
	if err := run(t.Context(), opt); err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	var got report
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Rows) != 3 || got.Paid == nil || got.Start == nil || got.Overload != nil {
		t.Fatalf("measured %s; want three comparisons, the paid path and the start", out.String())
	}
	for _, row := range got.Rows {
		for name, side := range map[string]figures{"floor": row.Floor, "ours": row.Ours} {
			if side.Documents == 0 || side.DocsPerSecond <= 0 || side.P50 <= 0 || side.P95 < side.P50 || side.CPU <= 0 || side.MemoryMB < 10 {
				t.Errorf("%s, %s: %+v", row.Name, name, side)
			}
		}
	}
	if b := got.Barcodes; b == nil || b.PerSecond <= 0 || b.P95 < b.P50 {
		t.Errorf("barcodes: %+v", b)
	}
	if len(got.Tools) != 2 {
		t.Errorf("tools: %+v, want two", got.Tools)
	}
	for _, f := range got.Tools {
		if f.Hand <= 0 || f.Ours <= 0 || f.Transport <= 0 || f.Transport >= f.Ours || f.Goal <= f.Hand {
			t.Errorf("%+v", f)
		}
	}
	if len(got.Jobs) != 4 {
		t.Errorf("jobs: %+v, want two kinds on two databases", got.Jobs)
	}
	for _, f := range got.Jobs {
		if f.Ours.PerSecond <= 0 {
			t.Errorf("%+v", f)
		}
	}
	if len(got.Workers) != 2 || got.Workers[1].Predicted <= 0 {
		t.Errorf("workers: %+v, want one process and two", got.Workers)
	}
	if m := got.Model; m == nil || m.CPU <= 0 || m.Path <= 0 || m.Commit <= 0 {
		t.Errorf("the model was made of %+v", m)
	}
	for _, f := range got.Workers {
		if f.PerSecond <= 0 || f.CPU <= f.Database || f.FileBytes <= 0 || f.Jobs == 0 {
			t.Errorf("%+v", f)
		}
	}
	if got.Sent == nil || got.Sent.PerSecond <= 0 || got.Keys == nil || got.Keys.With <= 0 {
		t.Errorf("deliveries %+v, idempotency %+v", got.Sent, got.Keys)
	}
	names := map[string]bool{}
	for _, g := range got.Goals {
		// What agents and a distance add is less than the noise of a busy machine may be.
		noisy := g.Name == agentFigure || strings.HasPrefix(g.Name, "round trips of")
		if names[g.Name] = true; g.Got <= 0 && !noisy || g.Goal <= 0 {
			t.Errorf("%+v", g)
		}
	}
	if len(names) != 29 {
		t.Errorf("%d single figures, want one of agents, 2 of editors, 2 of neighbours, 4 of claims, 8 of queues, one hot account, 4 at a distance, 2 of usage and 5 of history: %v", len(names), names)
	}
	if m := got.Mixed; m == nil || !m.All.sound() || m.All.Accepted == 0 || len(m.Parties) != 6 {
		t.Errorf("overload with tools: %+v", m)
	}
	if len(got.Plans) != 3 || got.Plans[0].DocsPerSecond <= 0 || got.Plans[0].PeakMB <= 0 {
		t.Errorf("plans: %+v", got.Plans)
	}
	for _, p := range got.Pages {
		if p.P50 <= 0 || p.P95 < p.P50 {
			t.Errorf("%+v", p)
		}
	}
	if len(got.Pages) < 40 {
		t.Errorf("%d pages were measured, want those of the table on two databases", len(got.Pages))
	}
	for _, step := range got.Paid.Steps {
		if (step.Step == "run" || step.Step == "hold" || step.Step == "settle") && step.Mean <= 0 {
			t.Errorf("step %s takes %v ms", step.Step, step.Mean)
		}
	}
	left, err := os.ReadDir(parent)
	if err != nil || len(left) != 0 {
		t.Errorf("%d folders are left, %v", len(left), err)
	}
}

func TestUnknownProgramIsAnError(t *testing.T) {
	opt := options{
		binary: filepath.Join(t.TempDir(), "missing"), dir: t.TempDir(), out: io.Discard, progress: io.Discard, only: regexp.MustCompile(""),
	}
	if err := run(t.Context(), opt); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
}

func TestClosedLoop(t *testing.T) {
	var busy, most atomic.Int64
	s, err := closedLoop(t.Context(), 3, 20*time.Millisecond, func(context.Context, int) error {
		most.Store(max(most.Load(), busy.Add(1)))
		defer busy.Add(-1)
		<-time.After(time.Millisecond)
		return nil
	})
	if err != nil || len(s.latencies) < 3 || most.Load() > 3 {
		t.Errorf("%d documents, %d at once, %v; want three workers busy", len(s.latencies), most.Load(), err)
	}
	if limit := 3 / time.Millisecond.Seconds(); s.rate <= 0 || s.rate > limit {
		t.Errorf("rate is %v a second, want at most %v", s.rate, limit)
	}
	broken := errors.New("broken")
	if _, err := closedLoop(t.Context(), 3, time.Hour, func(context.Context, int) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a loop that fails: %v", err)
	}
}

func TestRepeat(t *testing.T) {
	var n atomic.Int64
	if err := repeat(t.Context(), 4, 10, func(context.Context, int) error { n.Add(1); return nil }); err != nil || n.Load() != 10 {
		t.Errorf("%d documents, %v; want 10", n.Load(), err)
	}
}

func TestPercentile(t *testing.T) {
	hundred := make([]int64, 100)
	for i := range hundred {
		hundred[i] = int64(100 - i)
	}
	tests := []struct {
		values []int64
		p      int
		want   int64
	}{
		{nil, 50, 0}, {[]int64{7}, 95, 7}, {[]int64{3, 1, 2}, 50, 2}, {hundred, 50, 50}, {hundred, 95, 95}, {hundred, 100, 100},
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

func TestProcessTree(t *testing.T) {
	line := []byte("42 (a name) with) S 7 42 42 0 -1 4194560 1 2 3 4 100 50 20 10 20 0 1 0\n")
	got, ok := parseStat(line)
	if want := (process{parent: 7, cpu: 1800 * time.Millisecond}); !ok || got != want {
		t.Errorf("parsed %+v, %t; want %+v", got, ok, want)
	}
	if _, ok := parseStat([]byte("42 (x) S 7")); ok {
		t.Error("half a line was taken")
	}
	table := map[int]process{1: {}, 2: {parent: 1}, 3: {parent: 2}, 4: {parent: 1}, 5: {parent: 5}}
	if got := tree(table, 2); len(got) != 2 {
		t.Errorf("the tree of 2 is %v, want 2 and 3", got)
	}
	if got := parseRollup([]byte("5581-7fff ---p 0 00:00 0 [rollup]\nRss:  99 kB\nPss:  12 kB\nPss_Anon: 3 kB\n")); got != 12<<10 {
		t.Errorf("proportional size is %d, want %d", got, 12<<10)
	}
	if got := parseMachine([]byte("cpu  100 10 20 5000 600 3 4 5 7 0\ncpu0 1 2 3\n")); got != 1420*time.Millisecond {
		t.Errorf("the machine has worked for %v, want 1.42s: not what it was idle or waited, and guests are users", got)
	}
	if machineCPU() == 0 {
		t.Error("the machine has not worked yet")
	}
	if got := memoryOf(os.Getpid()); got < 1<<20 {
		t.Errorf("this process has %d bytes", got)
	}
}

func TestOpenLoop(t *testing.T) {
	var served atomic.Int64
	server := newTestServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch n := served.Add(1); {
		case r.Header.Get("Authorization") == "Bearer broken":
			w.WriteHeader(http.StatusInternalServerError)
		case n%3 == 0:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		case n%10 == 1:
			w.Header().Set("Retry-After", "0.5")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			_, _ = w.Write([]byte("%PDF-1.4"))
		}
	})
	loop := openLoop{client: newClient(server), calls: []request{pdfRequest("x")}, parties: []party{{"good", "good", 4}, {"broken", "broken", 1}}}
	got := loop.run(t.Context(), 500, 400*time.Millisecond)
	all, broken := got.figures(""), got.figures("broken")
	if all.Offered < 100 || all.Offered > 300 {
		t.Errorf("%d requests in 0.4 s at 500 a second", all.Offered)
	}
	if all.Accepted == 0 || all.Refused == 0 || all.WithoutRetryAfter == 0 || all.Others == 0 {
		t.Errorf("not every outcome was counted: %+v", all)
	}
	if sum := all.Accepted + all.Refused + all.WithoutRetryAfter + all.Others; sum != all.Offered || int64(sum) != served.Load() {
		t.Errorf("outcomes add up to %d of %d; %d were served", sum, all.Offered, served.Load())
	}
	if broken.Others != broken.Offered || broken.Others != all.Others {
		t.Errorf("the broken account has %+v of %+v", broken, all)
	}
	r := report{Overload: &overloadFigures{Above: all}}
	if err := r.failure(); err == nil || !strings.Contains(err.Error(), "status 500") || !strings.Contains(err.Error(), "Retry-After") {
		t.Errorf("failure is %v, want both kinds named", err)
	}
	r.Overload.Above = loadFigures{Accepted: 1, Refused: 1}
	if err := r.failure(); err != nil {
		t.Errorf("failure of a sound run: %v", err)
	}
}

func newTestServer(t *testing.T, handle http.HandlerFunc) (url string) {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return server.URL
}

func TestReportForPeople(t *testing.T) {
	row := comparisonResult{Name: "invoice", Concurrency: 1, Goal: 0.7, Floor: figures{DocsPerSecond: 100}, Ours: figures{DocsPerSecond: 69}, Ratio: 0.69}
	r := report{
		Rows: []comparisonResult{row}, Start: &startFigures{Median: 300, Goal: startGoal},
		Barcodes: &barcodeFigures{AtOnce: 8, PerSecond: 800, Goal: barcodeGoal},
		Tools:    []toolFigures{{Name: "merge", Hand: 100, Ours: 140, Transport: 20, Goal: 130}, {Name: "convert", Hand: 100, Ours: 140}},
		Overload: &overloadFigures{P95Ratio: 1.5, P95Goal: 2, LightShare: 0.5, LightGoal: 0.95},
		Soak:     &soakFigures{Marks: []soakMark{{1000, 500}}, Ratio: 1.3, Goal: soakGoal},
	}
	var b strings.Builder
	if err := r.write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"100.0 / 69.0  0.69   0.70  missed", "300 ms; goal < 1000 ms: ok", "1.50 times that at capacity; goal < 2: ok",
		"800 a second, p50 0.0 ms, p95 0.0 ms; goal >= 700 a second: ok", "merge    100      140   20         1.40   130   missed",
		"convert  100      140   0          1.40   -",
		"50.0 % accepted; goal >= 95 %: missed", "Last to first: 1.30; goal < 1.2: missed",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, b.String())
		}
	}
}
