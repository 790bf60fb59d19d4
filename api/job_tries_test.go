package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/office"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/template"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestJobsHaveThreeTries: a job is put back if another try may help, and fails at its third failure with the same code. It
// is charged once, or not, and its end is announced once.
func TestJobsHaveThreeTries(t *testing.T) {
	t.Parallel()
	named := func(err error) error {
		return operation.StepFailure(operation.Step{Operation: &schema.Operation[*operation.Deps]{Spec: schema.Spec{Info: schema.Info{Name: "test.echo"}}}, Place: "steps[1]"}, err)
	}
	processing := func(err error) error { return &wire.Error{Code: wire.ProcessingFailed, Cause: err} }
	for name, c := range map[string]struct {
		cause error
		code  wire.Code
		final bool // another try does not help
		twice bool // each try repeats its step once
	}{
		"page needs too much memory":   {cause: &chrome.DocumentCrashError{Memory: true, What: "needed more than 512 MiB of memory"}, code: wire.RenderFailed},
		"step needs too much memory":   {cause: named(&chrome.DocumentCrashError{Memory: true, What: "needed more than 512 MiB of memory"}), code: wire.RenderFailed},
		"lost browser":                 {cause: chrome.ErrCrashed, code: wire.RenderFailed},
		"no browser in time":           {cause: &chrome.TimeoutError{Step: chrome.StepPage, After: time.Second, Unstarted: true}, code: wire.RenderFailed},
		"Markdown's engine is killed":  {cause: fmt.Errorf("convert Markdown: %w: %w", chrome.ErrCrashed, engine.ErrCrashed), code: wire.RenderFailed},
		"template needs too much":      {cause: fmt.Errorf("%w: %w", &template.LimitError{Message: "The template exceeded its memory limit."}, engine.ErrCrashed), code: wire.ProcessingFailed},
		"PDF engine is killed":         {cause: processing(&job.Error{Kind: job.Exhausted}), code: wire.ProcessingFailed},
		"LibreOffice is killed":        {cause: processing(&office.Error{Reason: office.Exhausted}), code: wire.ProcessingFailed},
		"engine hangs":                 {cause: engine.ErrHung, code: wire.ConvertUnavailable},
		"LibreOffice does not start":   {cause: fmt.Errorf("%w: %w", office.ErrUnavailable, engine.ErrUnavailable), code: wire.ConvertUnavailable},
		"storage is away":              {cause: &wire.Error{Code: wire.StorageUnavailable}, code: wire.StorageUnavailable, twice: true},
		"database is away":             {cause: fmt.Errorf("read template: %w", store.ErrUnavailable), code: wire.StorageUnavailable, twice: true},
		"page closes its window":       {cause: &chrome.DocumentCrashError{What: "closed its window"}, code: wire.RenderFailed, final: true},
		"page takes too long":          {cause: &chrome.TimeoutError{Step: chrome.StepLoad, After: time.Second}, code: wire.RenderFailed, final: true},
		"damaged PDF":                  {cause: processing(&job.Error{Kind: job.Damaged}), code: wire.ProcessingFailed, final: true},
		"damaged office document":      {cause: processing(&office.Error{Reason: office.Damaged}), code: wire.ProcessingFailed, final: true},
		"template is too large":        {cause: &template.LimitError{Message: "The template is nested too deeply."}, code: wire.ProcessingFailed, final: true},
		"failure of the server itself": {cause: errors.New("a bug"), code: wire.InternalError, final: true},
	} {
		for _, failures := range []int{1, store.MaxTries} {
			t.Run(fmt.Sprint(name, " ", failures), func(t *testing.T) {
				t.Parallel()
				storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
					tries, ends := failures+1, "completed"
					want := append([]string{"call test.echo done charged 2000"}, settled...)
					files := []string{"file echo.txt 1", "blob 1"}
					charge := apitest.EchoPrice
					if c.final {
						tries = 1
					}
					if c.final || failures == store.MaxTries {
						tries, ends = min(tries, store.MaxTries), "failed"
						want = append([]string{"call test.echo failed charged 0 " + string(c.code)}, released...)
						files, charge = nil, 0
					}

					var begun atomic.Int64
					run := func(context.Context, *apitest.EchoInput) error {
						run := begun.Add(1)
						if c.twice {
							run = (run + 1) / 2
						}
						if run <= int64(failures) {
							return c.cause
						}
						return nil
					}
					s := apitest.New(t, apitest.Options{DB: &db, Operations: []schema.Definition[*operation.Deps]{apitest.Echo(run)}, Change: func(cfg *apitest.Settings) {
						quiet(cfg)
						cfg.StorageTime = time.Nanosecond
					}})
					receiver := apitest.NewReceiver(t, nil)
					s.NewWebhook(t, `{"url":"`+receiver.URL+`"}`)
					stop := s.Deliver(t)
					task := s.Enqueue(t, apitest.Request{Path: echo, Body: async})
					s.Work(t)
					task = s.Await(t, task.ID)
					receiver.Next(t)
					s.AwaitRecorded(t)
					stop()

					if task.Status != ends || ends == "failed" && task.Error.Code != string(c.code) {
						t.Errorf("the job is %+v, its error %+v; want it %s, %s", task, task.Error, ends, c.code)
					}
					if n := receiver.Count(); n != 0 {
						t.Errorf("%d more events came", n)
					}
					want = append(want, fmt.Sprintf("job ended tries %d", tries), "event job."+ends, "delivery delivered attempts 1")
					expectEffects(t, s, append(want, files...)...)
					expectBalance(t, s, apitest.Trial-charge)
				})
			})
		}
	}
}

// TestJobsOutliveTheirEngines ends the browser, or the engines, under a job as often as it is tried once. The next try
// makes the document. A document that always needs too much memory fails at its third try.
func TestJobsOutliveTheirEngines(t *testing.T) { //nolint:tparallel // its jobs run in sequence: one ends the browser of all
	sharedtest.Slow(t)
	t.Parallel()
	own, dir := ownRenderer(t)
	begun := make(chan struct{})
	page := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case begun <- struct{}{}:
			<-r.Context().Done()
		case <-time.After(5 * time.Second): // Nothing ends this try.
		}
	}))
	t.Cleanup(page.Close)
	heavy := `{"html":"<script>const a = []; for (;;) a.push(new Uint8Array(1e8).fill(1))</script>","response":"async"}`
	waits := `{"html":"<p>a</p><img src='` + page.URL + `/a.png'>","response":"async"}`
	for name, c := range map[string]struct {
		path, body string
		program    string // that is ended
		kills      int
		tries      int // at least
		code       string
	}{
		"browser":           {"/v1/pdf", waits, "--remote-debugging-pipe", 2, 2, ""},
		"always the memory": {"/v1/pdf", heavy, "", 0, store.MaxTries, string(wire.RenderFailed)},
	} {
		t.Run(name, func(t *testing.T) { // ends the browser of all
			s := toolServer(t, func(cfg *apitest.Settings) { cfg.Render = own })
			job := s.Enqueue(t, apitest.Request{Path: c.path, Body: c.body})
			s.Work(t)
			for range c.kills {
				<-begun
				endChildren(t, dir, c.program)
			}
			got := s.Await(t, job.ID)

			call, want := "call pdf.create done charged 2000", "completed"
			if c.code != "" {
				call, want = "call pdf.create failed charged 0 "+c.code, "failed"
			}
			if got.Status != want || c.code != "" && got.Error.Code != c.code {
				t.Errorf("the job is %+v, its error %+v; want it %s %s", got, got.Error, want, c.code)
			}
			effects := strings.Join(s.Effects(t), "\n")
			tries, err := strconv.Atoi(ended.FindStringSubmatch(effects)[1])
			if err != nil || tries < c.tries || !strings.Contains(effects, call) {
				t.Errorf("want %q and %d tries, effects are\n%s\nthe job failed with %+v", call, c.tries, effects, got.Error)
			}
		})
	}
}

// ended finds the tries of a job among the effects.
var ended = regexp.MustCompile(`job ended tries (\d)`)

// endChildren ends the processes below this one whose command line has both texts.
func endChildren(t *testing.T, texts ...string) {
	t.Helper()
	ended := 0
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		command, err := os.ReadFile(line)
		has := err == nil
		for _, text := range texts {
			has = has && strings.Contains(string(command), text)
		}
		if !has {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(line)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) { // It has just ended.
			t.Error(err)
		}
		ended++
	}
	if ended == 0 {
		t.Errorf("no process has %q", texts)
	}
}
