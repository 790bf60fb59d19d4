package engine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/engine"
)

// hasProtection reports whether a protection works where the tests run.
func hasProtection(t testing.TB, pool *engine.Pool, name string) bool {
	t.Helper()
	all, err := pool.Protections(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(p engine.Protection) bool { return p.Name == name })
	if i < 0 {
		t.Fatalf("no protection is called %q", name)
	}
	return all[i].On
}

// logs collects what several goroutines write.
type logs struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestProtections checks the protections that the other tests of this file rely on. The tests of modes_test.go
// repeat them with fewer protections.
func TestProtections(t *testing.T) {
	var log logs
	pool := start(t, engine.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	all, err := pool.Protections(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Errorf("%d protections, want all", len(all))
	}
	for _, p := range all {
		warned := strings.Contains(log.String(), fmt.Sprintf("protection=%q", p.Name))
		if p.On != (p.Why == "") || p.On == warned {
			t.Errorf("%+v, warned: %v", p, warned)
		}
		if p.Name == "unprivileged user" && os.Geteuid() != 0 {
			if p.On {
				t.Errorf("the engine is said to be another user than this one, %d", os.Geteuid())
			}
			continue
		}
		if !p.On && os.Getenv(withoutNamespaces) == "" {
			t.Errorf("%s is off: %s", p.Name, p.Why)
		}
	}
}

func TestFilesOfOthersAreClosed(t *testing.T) {
	dir := sharedDir(t)
	data := filepath.Join(dir, "data")
	if err := errors.Join(os.Mkdir(data, 0o755), os.WriteFile(data+"/relaypdf.db", []byte("accounts"), 0o644)); err != nil {
		t.Fatal(err)
	}
	pool := start(t, engine.Config{Dir: dir, Size: 2})
	begin := newSignal()
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(done)
		_, _ = pool.Do(ctx, engine.Job{Name: "stay", Files: begin.files()})
	}()
	<-begin.begun
	others, err := filepath.Glob(filepath.Join(dir, "relaypdf-engine-*", "child-*"))
	if err != nil || len(others) == 0 {
		t.Fatalf("folders of the children: %v, %v", others, err)
	}
	others = append(others, data, data+"/relaypdf.db", dir, "/etc/shadow", "/etc/passwd-", "/root", "/home", "/var/log", "/var/lib/dpkg/status",
		fmt.Sprintf("/proc/%d/environ", os.Getpid()), fmt.Sprintf("/proc/%d/root/etc/shadow", os.Getpid()), "/sys/kernel", "/run", "/boot")
	for _, path := range others {
		// One of the two folders is the folder of the asking engine itself, if it has no file system of its own.
		if self := describe(t, pool).Dir; strings.HasPrefix(self, path) {
			continue
		}
		if got, err := pool.Do(context.Background(), engine.Job{Name: "read", Args: path}); err == nil {
			t.Errorf("a handler has read %s: %.40q", path, got)
		}
		got, err := pool.Do(context.Background(), engine.Job{Name: "exec", Args: program{Name: "head", Args: []string{"-c", "40", "--", path}}})
		if err == nil {
			t.Errorf("a program has read %s: %.40q", path, got)
		}
	}
	for _, path := range []string{"/usr/planted", "/etc/planted", "/planted", dir + "/planted", "/bin/planted", "/dev/planted", "/var/cache/fontconfig/planted"} {
		if _, err := pool.Do(context.Background(), engine.Job{Name: "write", Args: path}); err == nil {
			t.Errorf("a handler has written %s", path)
		}
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s exists", path)
		}
	}
	cancel()
	<-done
}

func TestFilesOfTheSystemAreReadable(t *testing.T) {
	pool := start(t, engine.Config{})
	for _, path := range []string{"/usr/bin/env", "/etc/fonts/fonts.conf", "/etc/ld.so.cache", "/dev/null", "/usr/share/fonts"} {
		do(t, pool, engine.Job{Name: "read", Args: path})
	}
}

// TestNetworkIsClosed listens on all that a job might reach.
func TestNetworkIsClosed(t *testing.T) {
	pool := start(t, engine.Config{})
	dir := sharedDir(t)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	path := filepath.Join(dir, "socket")
	named, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer named.Close()
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	abstract, err := net.Listen("unix", "@relaypdf-"+newToken())
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	for _, to := range []address{
		{"tcp", tcp.Addr().String()}, {"udp", udp.LocalAddr().String()}, {"tcp", "192.0.2.1:80"}, {"tcp6", "[::1]:80"},
		{"unix", path}, {"unix", abstract.Addr().String()},
	} {
		if conn, err := net.Dial(to.Network, to.Address); to.Network != "tcp6" && to.Address != "192.0.2.1:80" {
			if err != nil {
				t.Fatalf("the test itself cannot reach %v: %v", to, err)
			}
			conn.Close()
		}
		if to.Address == path && !hasProtection(t, pool, "own file system") {
			continue // reported as missing
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		var refused *engine.JobError
		if _, err := pool.Do(ctx, engine.Job{Name: "dial", Args: to}); !errors.As(err, &refused) {
			t.Errorf("%v: got %v, want it refused at once", to, err)
		}
		cancel()
	}
	for _, script := range []string{"exec 3<>/dev/tcp/127.0.0.1/80", "exec 3<>/dev/udp/127.0.0.1/53; echo x >&3"} {
		if _, err := pool.Do(context.Background(), engine.Job{Name: "exec", Args: program{Name: "bash", Args: []string{"-c", script}}}); err == nil {
			t.Errorf("a program did %s", script)
		}
	}
}

func TestSystemCallsAreFiltered(t *testing.T) {
	pool := start(t, engine.Config{})
	for _, name := range []string{"unshare", "mount", "ptrace", "bpf", "io_uring", "raw socket", "netlink"} {
		_, err := pool.Do(context.Background(), engine.Job{Name: "call", Args: name})
		if err == nil || !strings.Contains(err.Error(), "not permitted") && !strings.Contains(err.Error(), "denied") {
			t.Errorf("%s: got %v, want it not permitted", name, err)
		}
	}
	if _, err := pool.Do(context.Background(), engine.Job{Name: "exec", Args: program{Name: "unshare", Args: []string{"--user", "true"}}}); err == nil {
		t.Error("a program has a user namespace of its own")
	}
}

func TestOtherProcessesAreOutOfReach(t *testing.T) {
	pool := start(t, engine.Config{})
	other := exec.Command("sleep", "1000")
	// Runs as the engine's user, if that is another one.
	if os.Geteuid() == 0 {
		self := describe(t, pool)
		other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(self.UID), Gid: uint32(self.GID)}}
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Wait()
	defer other.Process.Kill()
	for _, pid := range []int{other.Process.Pid, -other.Process.Pid, os.Getpid(), os.Getppid()} {
		if _, err := pool.Do(context.Background(), engine.Job{Name: "signal", Args: pid}); err == nil {
			t.Errorf("an engine has sent a signal to %d", pid)
		}
	}
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the other process: %v", err)
	}
	if got := describe(t, pool).Processes; len(got) > 1 {
		t.Errorf("an engine sees processes %v", got)
	}
}

// TestForkBomb has a program that multiplies until the job ends. Another engine
// works on meanwhile, and nothing is left.
func TestForkBomb(t *testing.T) {
	pool := start(t, engine.Config{Size: 2})
	if !hasProtection(t, pool, "limit of processes") {
		t.Skip("reported as missing")
	}
	do(t, pool, engine.Job{Name: "echo"})
	token := newToken()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		bomb := program{Name: "bash", Args: []string{"-c", "b() { b | b & }; while :; do b; done 2>/dev/null", token}}
		if _, err := pool.Do(ctx, engine.Job{Name: "exec", Args: bomb}); err == nil {
			t.Error("the bomb ended well")
		}
	})
	maximum := 0
	begin := time.Now()
	for time.Since(begin) < 2*time.Second || maximum == 0 && time.Since(begin) < patience {
		maximum = max(maximum, len(processes(t, token)))
		do(t, pool, engine.Job{Name: "echo"})
	}
	cancel()
	wg.Wait()
	if maximum == 0 || maximum > 512 {
		t.Errorf("saw %d processes, want some, and at most 512", maximum)
	}
	eventually(t, "end of the bomb", func() bool { return len(processes(t, token)) == 0 })
	do(t, pool, engine.Job{Name: "exec", Args: program{Name: "true"}})
}

// TestProgramsEndWithTheirJob starts programs that leave the group and the
// session and lose their parents.
func TestProgramsEndWithTheirJob(t *testing.T) {
	pool := start(t, engine.Config{})
	token := newToken()
	for range 3 {
		do(t, pool, engine.Job{Name: "hide", Args: token})
		if left := processes(t, token); hasProtection(t, pool, "own processes") && len(left) > 0 {
			t.Errorf("processes %v outlive their job", left)
		}
		do(t, pool, engine.Job{Name: "echo"})
	}
	eventually(t, "end of the programs", func() bool { return len(processes(t, token)) == 0 })
}

func TestDiskIsBounded(t *testing.T) {
	pool := start(t, engine.Config{Disk: 64 << 20})
	begin := time.Now()
	if _, err := pool.Do(context.Background(), engine.Job{Name: "fill"}); err == nil {
		t.Error("4 GiB were written")
	}
	if _, err := pool.Do(context.Background(), engine.Job{Name: "big file"}); err == nil {
		t.Error("a file without end was written")
	}
	if _, err := pool.Do(context.Background(), engine.Job{Name: "exec", Args: program{Name: "sh", Args: []string{
		"-c", "while :; do i=$((i+1)); head -c 1000000 /dev/zero > file-$i || exit 1; done"}}}); err == nil {
		t.Error("a program wrote files without end")
	}
	t.Logf("three attempts took %v", time.Since(begin))
	// All is free again.
	do(t, pool, engine.Job{Name: "exec", Args: program{Name: "head", Args: []string{"-c", "1000000", "/dev/zero"}}})
	result, err := pool.Run(context.Background(), engine.Job{Name: "exec", Args: program{Name: "dd", Args: []string{"if=/dev/zero", "of=out", "bs=1M", "count=40"}, Output: "out"}})
	if err != nil || result.Output(0).Size() != 40<<20 {
		t.Errorf("40 MiB afterwards: %v", err)
	}
	result.Close()
}

func TestMemoryIsBounded(t *testing.T) {
	t.Run("handler", func(t *testing.T) {
		pool := start(t, engine.Config{Memory: 128 << 20})
		if _, err := pool.Do(context.Background(), engine.Job{Name: "hoard", Retry: true}); !errors.Is(err, engine.ErrCrashed) || !errors.Is(err, engine.ErrOutOfMemory) {
			t.Errorf("got %v, want ErrCrashed and ErrOutOfMemory", err)
		}
		do(t, pool, engine.Job{Name: "echo"})
	})
	t.Run("program", func(t *testing.T) {
		pool := start(t, engine.Config{Memory: 128 << 20})
		before := describe(t, pool).Instance
		// Without line ends, tail keeps everything.
		_, err := pool.Do(context.Background(), engine.Job{Name: "exec", Args: program{Name: "tail", Args: []string{"/dev/zero"}}})
		var failed *engine.JobError
		if !errors.As(err, &failed) || failed.Code != "exit" {
			t.Errorf("got %v, want the program to fail", err)
		}
		if after := describe(t, pool).Instance; after != before {
			t.Error("the engine died with its program")
		}
	})
	t.Run("many programs", func(t *testing.T) {
		pool := start(t, engine.Config{Memory: 256 << 20})
		if !hasProtection(t, pool, "limit of memory of all programs together") {
			t.Skip("reported as missing")
		}
		// Each tail keeps its input until none is left. A shell would take a minute of a busy processor for as much.
		many := program{Name: "sh", Args: []string{"-c", "for i in 1 2 3 4 5 6 7 8; do (head -c 100000000 /dev/zero; sleep 300) | tail -c 100000000 & done; wait"}}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if _, err := pool.Do(ctx, engine.Job{Name: "exec", Args: many}); !errors.Is(err, engine.ErrCrashed) {
			t.Errorf("got %v, want ErrCrashed", err)
		}
		do(t, pool, engine.Job{Name: "echo"})
	})
	t.Run("job", func(t *testing.T) {
		pool := start(t, engine.Config{Memory: 128 << 20, MaxMemory: 1 << 30})
		// It takes 300 MB in one piece, once the limit is its own.
		large := program{Name: "sh", Args: []string{"-c",
			`until [ "$(ulimit -Hd)" != unlimited ] && [ "$(ulimit -Hd)" -lt 700000 ]; do :; done; exec dd if=/dev/zero of=/dev/null bs=300M count=1`}}
		if _, err := pool.Do(context.Background(), engine.Job{Name: "exec", Args: large}); err == nil {
			t.Error("300 MB fit into 128 MiB")
		}
		if _, err := pool.Do(context.Background(), engine.Job{Name: "exec", Args: large, Memory: 600 << 20}); err != nil {
			t.Errorf("a job with 600 MiB: %v", err)
		}
		if _, err := pool.Do(context.Background(), engine.Job{Name: "exec", Args: large}); err == nil {
			t.Error("the next job has the memory of the one before")
		}
	})
	t.Run("job after another", func(t *testing.T) {
		pool := start(t, engine.Config{Size: 1, Memory: 128 << 20, MaxMemory: 2 << 30})
		first := describe(t, pool).Instance
		do(t, pool, engine.Job{Name: "swell", Args: 8 << 20})
		if describe(t, pool).Instance != first {
			t.Error("an engine was replaced that has mapped 8 MiB")
		}
		do(t, pool, engine.Job{Name: "swell", Args: 256 << 20, Memory: 2 << 30})
		if describe(t, pool).Instance == first {
			t.Error("the next job got an engine that has mapped 256 MiB")
		}
	})
}

func TestCPUTimeIsBounded(t *testing.T) {
	sharedtest.Slow(t)
	pool := start(t, engine.Config{CPU: time.Second})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := pool.Do(ctx, engine.Job{Name: "spin"}); !errors.Is(err, engine.ErrCrashed) {
		t.Errorf("handler: got %v, want ErrCrashed", err)
	}
	_, err := pool.Do(ctx, engine.Job{Name: "exec", Args: program{Name: "sh", Args: []string{"-c", "while :; do :; done"}}})
	var failed *engine.JobError
	if !errors.As(err, &failed) || failed.Code != "exit" || !strings.Contains(failed.Message, `"Signal":9`) {
		t.Errorf("program: got %v, want it killed", err)
	}
}

// TestExecCPU gives one program less processor time than the job has.
func TestExecCPU(t *testing.T) {
	sharedtest.Slow(t)
	pool := start(t, engine.Config{})
	_, err := pool.Do(t.Context(), engine.Job{Name: "exec", Args: program{Name: "sh", Args: []string{"-c", "while :; do :; done"}, CPU: time.Second}})
	var failed *engine.JobError
	if !errors.As(err, &failed) || failed.Code != "exit" || !strings.Contains(failed.Message, `"Signal":9`) {
		t.Errorf("got %v, want it killed", err)
	}
}

func TestSleepForEver(t *testing.T) {
	pool := start(t, engine.Config{})
	describe(t, pool)
	token := newToken()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err := pool.Do(ctx, engine.Job{Name: "exec", Args: program{Name: "sleep", Args: []string{"1000", token}}})
	if err == nil || !errors.Is(err, engine.ErrKilled) && !strings.Contains(err.Error(), context.DeadlineExceeded.Error()) {
		t.Errorf("got %v, want the end of the deadline", err)
	}
	eventually(t, "end of the program", func() bool { return len(processes(t, token)) == 0 })
}

func TestNothingPassesBetweenJobs(t *testing.T) {
	dir := sharedDir(t)
	pool := start(t, engine.Config{Dir: dir})
	do(t, pool, engine.Job{Name: "litter"})
	got := describe(t, pool)
	for _, name := range got.Seen {
		if strings.Contains(name, "secret") || strings.Contains(name, "keep") || strings.HasPrefix(name, "./") {
			t.Errorf("the next job found %s", name)
		}
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
	env := strings.Fields(string(do(t, pool, engine.Job{Name: "exec", Args: program{Name: "env", Env: []string{"MORE=1"}}})))
	slices.Sort(env)
	want := []string{"HOME=" + got.Dir, "LANG=C.UTF-8", "MORE=1", "PATH="}
	if !hasProtection(t, pool, "own file system") {
		want = append(want, "TMPDIR=")
	}
	if !slices.EqualFunc(env, want, strings.HasPrefix) {
		t.Errorf("environment of a program: %q, want %q", env, want)
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
	path := filepath.Join(closed, "program")
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(closed, 0o700), os.WriteFile(path, self, 0o700)); err != nil {
		t.Fatal(err)
	}
	// A descriptor that this process was given must not reach the engine.
	given, err := os.CreateTemp(t.TempDir(), "given")
	if err != nil {
		t.Fatal(err)
	}
	defer given.Close()
	fd, err := unix.FcntlInt(given.Fd(), unix.F_DUPFD, 3) // stays open in children
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	pool := start(t, engine.Config{Command: []string{path, "engine"}})
	got := describe(t, pool)

	for _, name := range got.Descriptors {
		if strings.Contains(name, filepath.Base(given.Name())) {
			t.Errorf("the engine holds %s", name)
		}
	}
	if os.Geteuid() == 0 && (got.UID == 0 || got.GID == 0 || slices.Contains(got.Groups, 0)) {
		t.Errorf("engine runs as uid %d, gid %d, groups %v, want none of root's", got.UID, got.GID, got.Groups)
	}
	pid := engines(t, os.Getpid())[0]
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(status), "\t", " ")
	for _, want := range []string{"NoNewPrivs: 1\n", "Seccomp: 2\n", "CapEff: 0000000000000000\n", "CapPrm: 0000000000000000\n", "CapInh: 0000000000000000\n", "CapAmb: 0000000000000000\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("status lacks %q", want)
		}
	}
	// The programs of a job cannot look into the engine that starts them.
	for _, path := range []string{"/proc/1/mem", "/proc/1/environ", "/proc/1/maps", "/proc/1/fd/0"} {
		if _, err := pool.Do(context.Background(), engine.Job{Name: "exec", Args: program{Name: "head", Args: []string{"-c", "1", path}}}); err == nil {
			t.Errorf("a program has read %s", path)
		}
	}
}

// TestServerKilled kills a server while an engine is in an endless job: the
// engine and the programs it started must end, and the next server must find
// and remove what is left on disk.
func TestServerKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts engines")
	}
	dir := sharedDir(t)
	token := newToken()
	server := exec.Command("/proc/self/exe", "server", dir, token)
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
	if err := errors.Join(err, json.Unmarshal(first, &child)); err != nil {
		t.Fatal(err)
	}
	sleeping := func() bool { return len(processes(t, "1000\x00"+token)) > 0 }
	eventually(t, "start of the programs", sleeping)
	engineEnded := watch(t, engines(t, server.Process.Pid)[0])
	if err := server.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, lines)
	_ = server.Wait()
	if !engineEnded() {
		t.Error("the engine outlived its server")
	}
	eventually(t, "end of the programs", func() bool { return !sleeping() })

	left, err := filepath.Glob(filepath.Join(dir, "relaypdf-engine-*"))
	if err != nil || len(left) != 1 {
		t.Fatalf("folder of the killed server: %v, %v", left, err)
	}
	other := start(t, engine.Config{Dir: dir})
	if _, err := os.Stat(left[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder of the killed server: got %v, want it gone", err)
	}
	// A pool that lives keeps its folder when the next one starts.
	describe(t, start(t, engine.Config{Dir: dir}))
	describe(t, other)
}
