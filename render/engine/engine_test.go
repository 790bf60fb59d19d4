package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"relaypdf/render/engine"
	"relaypdf/render/markup"
)

// start starts a pool that the test closes.
func start(t testing.TB, cfg engine.Config) *engine.Pool {
	t.Helper()
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
	dir, err := os.MkdirTemp("", "engine-test-") //nolint:usetesting // others may not enter the folder of t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// do runs a job that must succeed within a generous limit.
func do(t testing.TB, pool *engine.Pool, job engine.Job) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
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

// beginSignal returns a named pipe for the job "spin" and a function that
// returns once the job runs.
func beginSignal(t testing.TB) (fifo string, begun func()) {
	t.Helper()
	fifo = filepath.Join(sharedDir(t), "begun")
	if err := unix.Mkfifo(fifo, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(fifo, 0o666); err != nil { // whatever the umask
		t.Fatal(err)
	}
	return fifo, func() {
		f, err := os.Open(fifo) // waits for the writer
		if err != nil {
			t.Error(err)
			return
		}
		f.Close()
	}
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
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 5000)
			if !errors.Is(err, unix.EINTR) {
				return n == 1 && err == nil
			}
		}
	}
}

func number(t testing.TB, b []byte) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return n
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
	before := describe(t, pool).PID
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
	if after := describe(t, pool).PID; after != before {
		t.Errorf("an error replaced the engine: pid %d, want %d", after, before)
	}
	if _, err := pool.Do(context.Background(), engine.Job{Name: "echo", Args: strings.Repeat("x", 1<<20)}); !errors.Is(err, engine.ErrTooLarge) {
		t.Errorf("large arguments: got %v, want ErrTooLarge", err)
	}
}

func TestKilledAtDeadline(t *testing.T) {
	pool := start(t, engine.Config{})
	before := describe(t, pool).PID
	ended := watch(t, before)
	program := watch(t, number(t, do(t, pool, engine.Job{Name: "spawn"})))

	// The machine may be busy with other tests, so the best of three counts.
	best := time.Hour
	for range 3 {
		describe(t, pool) // an engine is ready
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		deadline, _ := ctx.Deadline()
		_, err := pool.Do(ctx, engine.Job{Name: "spin"})
		best = min(best, time.Since(deadline))
		cancel()
		if !errors.Is(err, engine.ErrKilled) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want ErrKilled and DeadlineExceeded", err)
		}
	}
	if best > 100*time.Millisecond {
		t.Errorf("answered %v after the deadline, want at most 100ms", best)
	}
	if !ended() || !program() {
		t.Error("the engine or the program it had started is still there")
	}
	if got := describe(t, pool).PID; got == before {
		t.Error("the killed engine took another job")
	}
}

func TestKilledByCancel(t *testing.T) {
	pool := start(t, engine.Config{Size: 2})
	fifo, begun := beginSignal(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	result := make(chan error, 1)
	go func() {
		_, err := pool.Do(ctx, engine.Job{Name: "spin", Args: fifo})
		result <- err
	}()
	begun()
	for range 20 { // the other engine goes on
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
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	describe(t, pool)
	short, cancelShort := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancelShort()
	// Either the handler is first with its answer or the pool with the kill.
	if _, err := pool.Do(short, engine.Job{Name: "wait"}); err != nil && !errors.Is(err, engine.ErrKilled) {
		t.Errorf("got %v, want an answer or ErrKilled", err)
	}
	// In both cases the next job meets an engine that works.
	do(t, pool, engine.Job{Name: "echo"})
}

func TestWaitingEndsWithContext(t *testing.T) {
	pool := start(t, engine.Config{})
	fifo, begun := beginSignal(t)
	busy, cancelBusy := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = pool.Do(busy, engine.Job{Name: "spin", Args: fifo})
	}()
	begun()
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
	for _, job := range []string{"panic", "exit", "hoard"} {
		t.Run(job, func(t *testing.T) {
			pool := start(t, engine.Config{Memory: 128 << 20})
			before := describe(t, pool).PID
			program := watch(t, number(t, do(t, pool, engine.Job{Name: "spawn"})))
			ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
			defer cancel()
			if _, err := pool.Do(ctx, engine.Job{Name: job}); !errors.Is(err, engine.ErrCrashed) {
				t.Errorf("got %v, want ErrCrashed", err)
			}
			if !program() {
				t.Error("the program that the engine had started is still there")
			}
			if after := describe(t, pool).PID; after == before {
				t.Error("a crashed engine took another job")
			}
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

func TestFileSizeIsBounded(t *testing.T) {
	pool := start(t, engine.Config{})
	_, err := pool.Do(context.Background(), engine.Job{Name: "bigfile"})
	if err == nil {
		t.Error("a file without end was written")
	}
	do(t, pool, engine.Job{Name: "echo"})
}

func TestRecycle(t *testing.T) {
	pool := start(t, engine.Config{MaxJobs: 3})
	var got []int
	for range 6 {
		got = append(got, describe(t, pool).PID)
	}
	if first, second := got[0], got[3]; first == second || !slices.Equal(got, []int{first, first, first, second, second, second}) {
		t.Errorf("pids %v, want three of one and three of another", got)
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

func TestNothingPassesBetweenJobs(t *testing.T) {
	dir := sharedDir(t)
	pool := start(t, engine.Config{Dir: dir})
	do(t, pool, engine.Job{Name: "litter"})
	got := describe(t, pool)
	if len(got.Entries) > 0 {
		t.Errorf("the next job found %v", got.Entries)
	}
	if info, err := os.Stat(got.Dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder of a child: %v, %v, want mode 0700", info, err)
	}
	var names []string
	for _, v := range got.Env {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	if want := []string{"HOME", "LANG", "PATH"}; !slices.Equal(names, want) {
		t.Errorf("environment %v, want %v", names, want)
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("Close left %v", left)
	}
}

// TestConfined starts an engine from a file and a folder that only its owner
// may read, which as root is not who the engine runs as.
func TestConfined(t *testing.T) {
	closed := filepath.Join(t.TempDir(), "closed")
	program := filepath.Join(closed, "program")
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(closed, 0o700), os.WriteFile(program, self, 0o700)); err != nil {
		t.Fatal(err)
	}
	// A descriptor that this process was given must not reach the engine.
	given := filepath.Join(t.TempDir(), "given")
	fd, err := unix.Open(given, unix.O_CREAT|unix.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	got := describe(t, start(t, engine.Config{Command: []string{program, "engine"}}))

	if slices.Contains(got.Descriptors, given) {
		t.Errorf("engine holds %v", got.Descriptors)
	}

	if os.Geteuid() == 0 && (got.UID == 0 || got.GID == 0 || slices.Contains(got.Groups, 0)) {
		t.Errorf("engine runs as uid %d, gid %d, groups %v, want none of root's", got.UID, got.GID, got.Groups)
	}
	status := strings.ReplaceAll(got.Status, "\t", " ")
	wants := []string{"NoNewPrivs: 1\n"}
	if os.Geteuid() == 0 {
		wants = append(wants, "CapEff: 0000000000000000\n", "CapPrm: 0000000000000000\n")
	}
	for _, want := range wants {
		if !strings.Contains(status, want) {
			t.Errorf("status lacks %q", want)
		}
	}
}

// TestServerKilled kills a server while one engine is in an endless job: the
// engine and the program it started must end, and the next server must find
// and remove what is left on disk.
func TestServerKilled(t *testing.T) {
	dir := sharedDir(t)
	fifo, begun := beginSignal(t)
	server := exec.Command("/proc/self/exe", "server", dir, fifo)
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	var child process
	lines := bufio.NewReader(out)
	first, err := lines.ReadBytes('\n')
	second, err2 := lines.ReadBytes('\n')
	if err := errors.Join(err, err2, json.Unmarshal(second, &child)); err != nil {
		t.Fatal(err)
	}
	engineEnded, programEnded := watch(t, child.PID), watch(t, number(t, first))
	begun()
	if err := server.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, lines)
	_ = server.Wait()
	if !engineEnded() {
		t.Error("the engine outlived its server")
	}
	if !programEnded() {
		t.Error("the program that an engine had started outlived the server")
	}

	if _, err := os.Stat(child.Dir); err != nil {
		t.Fatalf("folder of the killed server: %v", err)
	}
	other := start(t, engine.Config{Dir: dir})
	if _, err := os.Stat(child.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder of the killed server: got %v, want it gone", err)
	}
	// A pool that lives keeps its folder when the next one starts.
	describe(t, start(t, engine.Config{Dir: dir}))
	describe(t, other)
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
			pool := start(t, engine.Config{Command: test.command})
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			defer cancel()
			if _, err := pool.Do(ctx, engine.Job{Name: "echo"}); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestClose(t *testing.T) {
	pool := start(t, engine.Config{})
	fifo, begun := beginSignal(t)
	result := make(chan error, 1)
	go func() {
		_, err := pool.Do(context.Background(), engine.Job{Name: "spin", Args: fifo})
		result <- err
	}()
	begun()
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
