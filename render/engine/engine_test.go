package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/markup"
)

// start starts a pool that the test closes.
func start(t testing.TB, cfg engine.Config) *engine.Pool {
	t.Helper()
	if testing.Short() {
		t.Skip("starts engines")
	}
	if cfg.Dir == "" {
		cfg.Dir = sharedDir(t)
	}
	if cfg.Size == 0 {
		cfg.Size = 1
	}
	pool, err := engine.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return pool
}

// sharedDir returns a folder that the engines' user can reach.
func sharedDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "engine-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// patience bounds what takes a moment, on machines that stall as well.
const patience = 2 * time.Minute

// do runs a job that must succeed within a generous limit.
func do(t testing.TB, pool *engine.Pool, job engine.Job) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := pool.Do(ctx, job)
	if err != nil {
		t.Fatalf("job %s: %v", job.Name, err)
	}
	return out
}

func describe(t testing.TB, pool *engine.Pool) process {
	t.Helper()
	var p process
	if err := json.Unmarshal(do(t, pool, engine.Job{Name: "self"}), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// signal is an empty input that tells when an engine takes its job.
type signal struct {
	begun chan struct{}
	once  *sync.Once
}

func newSignal() signal { return signal{make(chan struct{}), new(sync.Once)} }

func (s signal) Size() int64 { return 1 }

func (s signal) Open() io.ReadSeeker {
	s.once.Do(func() { close(s.begun) })
	return strings.NewReader("x")
}

func (s signal) files() []engine.File { return []engine.File{{Name: "signal", Content: s}} }

// processes returns the numbers of all processes of the system that have text
// among their arguments, whichever namespace they are in.
func processes(t testing.TB, text string) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && bytes.Contains(line, []byte(text)) {
			found = append(found, pid)
		}
	}
	return found
}

// engines returns the numbers of the engines of a process.
func engines(t testing.TB, server int) []int {
	t.Helper()
	all, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", server))
	if err != nil {
		t.Fatal(err)
	}
	// Children of other threads are listed with those.
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", server))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range threads {
		more, _ := os.ReadFile(name) // the thread may have ended
		all = append(append(all, ' '), more...)
	}
	var found []int
	for _, field := range strings.Fields(string(all)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if bytes.Contains(line, []byte("\x00engine\x00")) && !slices.Contains(found, pid) {
			found = append(found, pid)
		}
	}
	return found
}

// eventually waits until ok, which cannot be waited for in another way.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Errorf("%s: not within %v", what, patience)
			return
		}
	}
}

// newToken returns an argument of "sleep" by which the process is found. It is
// a duration that changes nothing.
func newToken() string {
	return fmt.Sprintf("0.%018d", rand.Int64N(1e18))
}

// watch returns a function that waits until the process has ended.
func watch(t testing.TB, pid int) (ended func() bool) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatalf("process %d: %v", pid, err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return func() bool {
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
			if !errors.Is(err, unix.EINTR) {
				return n == 1 && err == nil
			}
		}
	}
}

func TestDo(t *testing.T) {
	pool := start(t, engine.Config{})
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	for _, test := range []struct {
		name string
		job  engine.Job
		want string
	}{
		{"body", engine.Job{Name: "echo", Body: []byte("a\x00b\n")}, "a\x00b\n"},
		{"empty", engine.Job{Name: "echo"}, ""},
		{"16 MiB", engine.Job{Name: "echo", Body: large}, string(large)},
		{"arguments", engine.Job{Name: "greet", Args: greeting{"Ada", 2}, Body: []byte("!")}, "Hello Ada. Hello Ada. !"},
		{"printing handler", engine.Job{Name: "chatter"}, "done"},
		{"a share of the processors", engine.Job{Name: "session"}, "its own: true"},
	} {
		if got := do(t, pool, test.job); string(got) != test.want {
			t.Errorf("%s: got %.60q, want %.60q", test.name, got, test.want)
		}
	}
}

func TestDoMarkdown(t *testing.T) {
	pool := start(t, engine.Config{})
	got := do(t, pool, engine.Job{
		Name: "markdown",
		Args: markup.MarkdownOptions{Lang: "de"},
		Body: []byte("# Grüße\n\n- [x] fertig\n"),
	})
	for _, want := range []string{`<html lang="de">`, "<title>Grüße</title>", `type="checkbox"`} {
		if !bytes.Contains(got, []byte(want)) {
			t.Errorf("document lacks %q", want)
		}
	}
}

func TestJobErrors(t *testing.T) {
	pool := start(t, engine.Config{})
	before := describe(t, pool).Instance
	for _, test := range []struct {
		job           string
		args          any
		code, message string
	}{
		{"refuse", nil, "encrypted", "page 3: it is encrypted"},
		{"complain", nil, "", "no such page"},
		{"nonsense", nil, "unknown_job", "unknown job nonsense"},
		{"greet", "not an object", "", "engine: arguments"},
	} {
		_, err := pool.Do(context.Background(), engine.Job{Name: test.job, Args: test.args})
		var got *engine.JobError
		if !errors.As(err, &got) {
			t.Errorf("%s: got %v, want a JobError", test.job, err)
			continue
		}
		if got.Code != test.code || !strings.HasPrefix(got.Message, test.message) {
			t.Errorf("%s: got %+v, want code %q and message %q", test.job, *got, test.code, test.message)
		}
		if errors.Is(err, engine.ErrCrashed) {
			t.Errorf("%s: is ErrCrashed", test.job)
		}
	}
	if after := describe(t, pool).Instance; after != before {
		t.Error("an error replaced the engine")
	}
	if _, err := pool.Do(context.Background(), engine.Job{Name: "echo", Args: strings.Repeat("x", 1<<20)}); !errors.Is(err, engine.ErrTooLarge) {
		t.Errorf("large arguments: got %v, want ErrTooLarge", err)
	}
}

func TestKilledAtDeadline(t *testing.T) {
	pool := start(t, engine.Config{})
	before := describe(t, pool).Instance
	ended := watch(t, engines(t, os.Getpid())[0])
	token := newToken()

	// The machine may be busy with other tests, so the best of several counts. On
	// one that stalls, the deadline may pass before an engine has taken the job.
	const prompt = time.Second
	best, kills := time.Hour, 0
	for try := 0; try < 3 || try < 30 && (kills == 0 || best > prompt); try++ {
		describe(t, pool) // an engine is ready
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		deadline, _ := ctx.Deadline()
		_, err := pool.Do(ctx, engine.Job{Name: "hide and spin", Args: token})
		took := time.Since(deadline)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want DeadlineExceeded", err)
		}
		if errors.Is(err, engine.ErrKilled) {
			kills++
			best = min(best, took)
		}
	}
	if kills == 0 {
		t.Fatal("no job was killed, want ErrKilled")
	}
	if best > prompt {
		t.Errorf("answered %v after the deadline, want at most %v", best, prompt)
	}
	if !ended() {
		t.Error("the engine is still there")
	}
	if got := describe(t, pool).Instance; got == before {
		t.Error("the killed engine took another job")
	}
	eventually(t, "end of the programs", func() bool { return len(processes(t, token)) == 0 })
}

func TestKilledByCancel(t *testing.T) {
	pool := start(t, engine.Config{Size: 2})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	begin := newSignal()
	result := make(chan error, 1)
	go func() {
		_, err := pool.Do(ctx, engine.Job{Name: "spin", Files: begin.files()})
		result <- err
	}()
	<-begin.begun
	for range 20 { // the other engine continues
		do(t, pool, engine.Job{Name: "echo"})
	}
	cancel()
	if err := <-result; !errors.Is(err, engine.ErrKilled) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want ErrKilled and Canceled", err)
	}
}

func TestTimeIsBoundedWithoutDeadline(t *testing.T) {
	pool := start(t, engine.Config{MaxTime: 500 * time.Millisecond})
	if _, err := pool.Do(context.Background(), engine.Job{Name: "spin"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want DeadlineExceeded", err)
	}
}

func TestHandlerSeesDeadline(t *testing.T) {
	pool := start(t, engine.Config{})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	describe(t, pool)
	// Either the handler is first with its answer or the pool with the kill, where
	// an engine has taken the job in time.
	begin := newSignal()
	short, cancelShort := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancelShort()
	_, err := pool.Do(short, engine.Job{Name: "wait", Files: begin.files()})
	select {
	case <-begin.begun:
		if err != nil && !errors.Is(err, engine.ErrKilled) {
			t.Errorf("got %v, want an answer or ErrKilled", err)
		}
	default:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the deadline", err)
		}
	}
	// In both cases the next job meets an engine that works.
	do(t, pool, engine.Job{Name: "echo"})
}

func TestWaitingEndsWithContext(t *testing.T) {
	pool := start(t, engine.Config{})
	begin := newSignal()
	busy, cancelBusy := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = pool.Do(busy, engine.Job{Name: "stay", Files: begin.files()})
	}()
	<-begin.begun
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := pool.Do(ctx, engine.Job{Name: "echo"})
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, engine.ErrKilled) {
		t.Errorf("got %v, want DeadlineExceeded and not ErrKilled", err)
	}
	cancelBusy()
	<-done
}

func TestCrash(t *testing.T) {
	for _, job := range []string{"panic", "exit", "give up"} {
		t.Run(job, func(t *testing.T) {
			var log logs
			pool := start(t, engine.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			before := describe(t, pool).Instance
			if _, err := pool.Do(context.Background(), engine.Job{Name: job}); !errors.Is(err, engine.ErrCrashed) || errors.Is(err, engine.ErrOutOfMemory) {
				t.Errorf("got %v, want ErrCrashed and not ErrOutOfMemory", err)
			}
			if after := describe(t, pool).Instance; after == before {
				t.Error("a crashed engine took another job")
			}
			eventually(t, "the log says so", func() bool { return strings.Contains(log.String(), "engine crashed") })
		})
	}
}

func TestPanicIsJobError(t *testing.T) {
	pool := start(t, engine.Config{})
	_, err := pool.Do(context.Background(), engine.Job{Name: "panic"})
	var got *engine.JobError
	if !errors.As(err, &got) || got.Code != "crashed" || strings.Contains(got.Message, "hostile") {
		t.Errorf("got %v, want a JobError with code crashed and without the panic's value", err)
	}
}

// TestRecycle never waits for the next engine: the old one works until it is
// there.
func TestRecycle(t *testing.T) {
	const maxJobs = 5
	pool := start(t, engine.Config{MaxJobs: maxJobs})
	var instances []string
	jobs := map[string]int{}
	for len(instances) < 4 {
		instance := describe(t, pool).Instance
		if jobs[instance]++; jobs[instance] == 1 {
			instances = append(instances, instance)
		}
	}
	for _, instance := range instances[:3] {
		if jobs[instance] < maxJobs {
			t.Errorf("an engine was replaced after %d jobs, want at least %d", jobs[instance], maxJobs)
		}
	}
	eventually(t, "end of the replaced engines", func() bool { return len(engines(t, os.Getpid())) <= 2 })
}

// TestLastJob has a job that leaves something behind.
func TestLastJob(t *testing.T) {
	pool := start(t, engine.Config{})
	before := describe(t, pool).Instance
	if _, err := pool.Do(t.Context(), engine.Job{Name: "last"}); err != nil {
		t.Fatal(err)
	}
	if after := describe(t, pool).Instance; after == before {
		t.Error("an engine took another job after its last one")
	}
}

func TestConcurrency(t *testing.T) {
	pool := start(t, engine.Config{Size: 3, MaxJobs: 20})
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			for j := range 25 {
				want := fmt.Sprintf("job %d of %d", j, i)
				got, err := pool.Do(context.Background(), engine.Job{Name: "echo", Body: []byte(want)})
				if err != nil || string(got) != want {
					t.Errorf("got %q, %v, want %q", got, err, want)
				}
			}
		})
	}
	wg.Wait()
}

func TestChildThatCannotWork(t *testing.T) {
	for _, test := range []struct {
		name    string
		command []string
		want    error
	}{
		{"missing", []string{"/nonexistent/program"}, engine.ErrUnavailable},
		{"ends", []string{"true"}, engine.ErrUnavailable},
		{"no frame", []string{"sh", "-c", `printf '\377\377\377\377'; exec cat`}, engine.ErrUnavailable},
		{"no JSON", []string{"sh", "-c", `printf '\0\0\0\1x'; exec cat`}, engine.ErrUnavailable},
		{"silent", []string{"sleep", "1000"}, context.DeadlineExceeded},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log logs
			pool := start(t, engine.Config{Command: test.command, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			limit := patience
			if errors.Is(test.want, context.DeadlineExceeded) {
				limit = 2 * time.Second
			}
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			defer cancel()
			if _, err := pool.Do(ctx, engine.Job{Name: "echo"}); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if errors.Is(test.want, engine.ErrUnavailable) && !strings.Contains(log.String(), "start engine failed") {
				t.Errorf("the log does not say so:\n%s", log.String())
			}
		})
	}
}

func TestClose(t *testing.T) {
	pool := start(t, engine.Config{})
	begin := newSignal()
	result := make(chan error, 1)
	go func() {
		_, err := pool.Do(context.Background(), engine.Job{Name: "stay", Files: begin.files()})
		result <- err
	}()
	<-begin.begun
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	if err := <-result; !errors.Is(err, engine.ErrKilled) || !errors.Is(err, engine.ErrClosed) {
		t.Errorf("job under way: got %v, want ErrKilled and ErrClosed", err)
	}
	if _, err := pool.Do(context.Background(), engine.Job{Name: "echo"}); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("after Close: got %v, want ErrClosed", err)
	}
}

func BenchmarkDo(b *testing.B) {
	pool := start(b, engine.Config{MaxJobs: 1 << 30})
	body := bytes.Repeat([]byte("x"), 5<<10)
	for b.Loop() {
		do(b, pool, engine.Job{Name: "echo", Body: body})
	}
}
