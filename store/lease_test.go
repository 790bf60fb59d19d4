package store_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// acquire takes another lease, as another process would.
func (f *fixture) acquire(t testing.TB, dir string) *store.Lease {
	t.Helper()
	l, err := f.Acquire(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// leased begins a call that carries the lease.
func (f *fixture) leased(t testing.TB, lease string) store.NewCall {
	t.Helper()
	c := f.newCall(1000)
	c.Lease = lease
	return f.begin(t, c)
}

// status checks the status of a call.
func (f *fixture) status(t testing.TB, callID, want string) {
	t.Helper()
	got, err := f.Call(t.Context(), callID)
	if err != nil || got.Status != want {
		t.Errorf("call %s: got %s, %v; want %s", callID, got.Status, err, want)
	}
}

func (f *fixture) reap(t testing.TB, want int) {
	t.Helper()
	if n, err := f.Reap(t.Context()); err != nil || n != want {
		t.Errorf("Reap: got %d, %v; want %d", n, err, want)
	}
}

// TestRestartReleasesAtOnce lets a process die and another one take its place,
// while a third one lives.
func TestRestartReleasesAtOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		dir := t.TempDir()
		dead, alive := f.acquire(t, dir), f.acquire(t, dir)
		lost, kept := f.leased(t, dead.ID()), f.leased(t, alive.ID())
		if err := dead.Abandon(); err != nil {
			t.Fatal(err)
		}
		f.status(t, lost.ID, store.CallRunning)
		next := f.acquire(t, dir)
		f.status(t, lost.ID, store.CallFailed)
		f.status(t, kept.ID, store.CallRunning)
		f.wallet(t, trial-1000, 1000, 1000)
		got, err := f.Call(t.Context(), lost.ID)
		if err != nil || got.Failure.Code != "internal_error" {
			t.Errorf("failure of the lost call: got %+v, %v", got.Failure, err)
		}
		if next.ID() == dead.ID() || next.ID() == alive.ID() {
			t.Errorf("the lease %s is not new", next.ID())
		}
		f.reap(t, 0)
		if err := f.Settle(t.Context(), store.Settlement{CallID: lost.ID, Charge: 1000}); !errors.Is(err, store.ErrCallEnded) {
			t.Errorf("settling the lost call: got %v, want ErrCallEnded", err)
		}
	})
}

func TestReapReleasesExpiredHolds(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		gone, alive := f.acquire(t, t.TempDir()), f.acquire(t, t.TempDir())
		lost, kept, orphan := f.leased(t, gone.ID()), f.leased(t, alive.ID()), f.leased(t, "lease_unknown")
		report, err := f.CheckLedger(t.Context())
		if err != nil || len(report.OrphanedHolds) != 1 || report.OrphanedHolds[0] != orphan.ID || report.OK() {
			t.Errorf("report: got %+v, %v; want the orphaned hold %s", report, err, orphan.ID)
		}
		f.reap(t, 1)
		f.status(t, orphan.ID, store.CallFailed)

		f.clock.Advance(9 * time.Minute)
		if err := alive.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.reap(t, 0)
		f.clock.Advance(time.Minute)
		f.reap(t, 1)
		f.status(t, lost.ID, store.CallFailed)
		f.status(t, kept.ID, store.CallRunning)
		f.settle(t, kept.ID, 1000)
		f.wallet(t, trial-1000, 0, 1000)
		if report, err := f.CheckLedger(t.Context()); err != nil || !report.OK() {
			t.Errorf("report: got %+v, %v; want a sound one", report, err)
		}
	})
}

// TestStartWaitsForTheWriteLock has another process keep the write lock of a SQLite
// database for longer than a write waits for it, as a stopped process does.
func TestStartWaitsForTheWriteLock(t *testing.T) {
	sharedtest.Slow(t)
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		path, ok := strings.CutPrefix(db.URL, "sqlite://")
		if !ok {
			return // PostgreSQL has no such lock.
		}
		s := db.Open(t, nil)
		other, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		stopped, err := other.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stopped.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(11*time.Second, func() { _, _ = stopped.ExecContext(context.WithoutCancel(t.Context()), "ROLLBACK") })
		lease, err := s.Acquire(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestPausedProcess lets a process sleep past its lease: its calls end without
// a charge, and after renewal it works on.
func TestPausedProcess(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		l := f.acquire(t, t.TempDir())
		c := f.leased(t, l.ID())
		f.clock.Advance(store.LeaseTerm)
		f.reap(t, 1)
		if err := f.Settle(t.Context(), store.Settlement{CallID: c.ID, Charge: 1000}); !errors.Is(err, store.ErrCallEnded) {
			t.Errorf("Settle: got %v, want ErrCallEnded", err)
		}
		f.wallet(t, trial, 0, 0)
		if err := l.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		c = f.leased(t, l.ID())
		f.reap(t, 0)
		f.settle(t, c.ID, 1000)
		f.wallet(t, trial-1000, 0, 1000)
	})
}

func TestReapManyCalls(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		const calls = 130 // more than a batch
		for range calls {
			c := f.newCall(10)
			c.Lease = "lease_unknown"
			f.begin(t, c)
		}
		f.reap(t, calls)
		f.wallet(t, trial, 0, 0)
	})
}

func TestClosedLease(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		dir := t.TempDir()
		l := f.acquire(t, dir)
		c := f.leased(t, l.ID())
		for range 2 {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		f.status(t, c.ID, store.CallFailed)
		f.acquire(t, dir)
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("lock files: got %v, %v; want the one, taken again", entries, err)
		}
	})
}

// The variables with which a test starts its own binary as another process.
const (
	processURL = "STORE_TEST_URL"
	processDir = "STORE_TEST_DIR"
)

// TestProcess is not a test: it is the other process of the tests below. It begins a call under its own lease, prints
// that, and waits to be killed.
func TestProcess(t *testing.T) {
	dir := os.Getenv(processDir)
	if dir == "" {
		t.Skip("runs only as the other process of another test")
	}
	s := storetest.DB{URL: os.Getenv(processURL), DataDir: dir}.Open(t, nil)
	lease, err := s.Acquire(t.Context(), dir+"/run")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lease.Close() }()
	result := s.NewID("file")
	c := store.NewCall{
		ID: store.CallID(result), ResultID: result, Operation: "pdf.create", Quote: 1000, Lease: lease.ID(),
		IdempotencyKey: "once", BodyHash: []byte("body"),
	}
	acc, err := s.AccountByEmail(t.Context(), "ada@example.com")
	if errors.Is(err, store.ErrNotFound) {
		acc, err = s.CreateAccount(t.Context(), lease.ID()+"@example.com", trial)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.AccountID = acc.ID
	if err := s.Begin(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	_, _ = os.Stdout.WriteString("call " + c.ID + "\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// process is another process that holds money in the database.
type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout *bufio.Reader
	callID string
}

func startProcess(t *testing.T, db storetest.DB) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	p := &process{cmd: exec.CommandContext(ctx, os.Args[0], "-test.run=^TestProcess$")}
	p.cmd.Env = append(os.Environ(), processURL+"="+db.URL, processDir+"="+db.DataDir)
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin, p.stdout = stdin, bufio.NewReader(stdout)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// ready waits until the process has begun its call.
func (p *process) ready(t *testing.T) {
	t.Helper()
	line, err := p.stdout.ReadString('\n')
	id, ok := strings.CutPrefix(strings.TrimSpace(line), "call ")
	if !ok {
		rest, _ := io.ReadAll(p.stdout)
		t.Fatalf("the other process said %q, %v\n%s", line, err, rest)
	}
	p.callID = id
}

// kill ends the process as a crash does.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	_ = p.cmd.Wait()
}

// TestKilledProcess kills a real process between hold and settle.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := db.Open(t, nil)
		f := &fixture{Store: s}
		f.acc = f.newAccount(t, "ada@example.com", trial)
		p := startProcess(t, db)
		p.ready(t)
		f.wallet(t, trial-1000, 1000, 1000)
		p.kill(t)
		f.status(t, p.callID, store.CallRunning)
		f.acquire(t, db.DataDir+"/run")
		f.status(t, p.callID, store.CallFailed)
		f.wallet(t, trial, 0, 0)
		if _, err := f.Claim(t.Context(), f.acc.ID, "once"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the key of the killed call: got %v, want ErrNotFound", err)
		}
		if report, err := f.CheckLedger(t.Context()); err != nil || !report.OK() {
			t.Errorf("report: got %+v, %v; want a sound one", report, err)
		}
	})
}

// TestProcessesOpenAtOnce starts several processes on an empty database.
func TestProcessesOpenAtOnce(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		processes := make([]*process, 4)
		for i := range processes {
			processes[i] = startProcess(t, db)
		}
		for _, p := range processes {
			p.ready(t)
		}
		s := db.Open(t, nil)
		report, err := s.CheckLedger(t.Context())
		if err != nil || !report.OK() || report.Held != 4000 || report.Wallets != 4*trial-4000 {
			t.Errorf("report: got %+v, %v; want a sound one with 4 holds", report, err)
		}
		for _, p := range processes {
			if err := p.stdin.Close(); err != nil {
				t.Error(err)
			}
			if err := p.cmd.Wait(); err != nil {
				t.Errorf("the other process: %v", err)
			}
		}
	})
}

// copyFolder copies the files of a folder into a new one, as who clones a data
// folder does.
func copyFolder(t *testing.T, from string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestCopiedFolder starts a process on a copy of a folder whose process lives:
// the other's calls go on as long as it renews its lease.
func TestCopiedFolder(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		dir := t.TempDir()
		alive := f.acquire(t, dir)
		kept := f.leased(t, alive.ID())
		again := f.acquire(t, copyFolder(t, dir))
		f.status(t, kept.ID, store.CallRunning)
		f.clock.Advance(time.Minute)
		if err := errors.Join(alive.Renew(t.Context()), again.Watched(t.Context())); err != nil {
			t.Fatal(err)
		}
		f.status(t, kept.ID, store.CallRunning)

		// The lease is not renewed any more: within the watch nothing ends, and then it does.
		next := f.acquire(t, copyFolder(t, dir))
		if err := alive.Abandon(); err != nil {
			t.Fatal(err)
		}
		f.status(t, kept.ID, store.CallRunning)
		if err := next.Watched(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.status(t, kept.ID, store.CallFailed)
	})
}

// TestMovedFolder: who finds the lease of a process that was not heard of for
// minutes need not watch it.
func TestMovedFolder(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		dir := t.TempDir()
		dead := f.acquire(t, dir)
		lost := f.leased(t, dead.ID())
		if err := dead.Abandon(); err != nil {
			t.Fatal(err)
		}
		f.clock.Advance(3 * time.Minute)
		f.acquire(t, copyFolder(t, dir))
		f.status(t, lost.ID, store.CallFailed)
	})
}

// TestLeaseOutlivesItsContext: a process may take longer to stop than a lease lives.
func TestLeaseOutlivesItsContext(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.RenewEvery(10 * time.Millisecond)
		ctx, cancel := context.WithCancel(t.Context())
		l, err := f.Acquire(ctx, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		c := f.leased(t, l.ID())
		cancel()
		for range 3 {
			f.clock.Advance(store.LeaseTerm * 9 / 10)
			expires := func() (at int64) {
				if err := f.DB().NewRaw("SELECT expires_at FROM leases WHERE id = ?", l.ID()).Scan(t.Context(), &at); err != nil {
					t.Fatal(err)
				}
				return at
			}
			want := f.clock.Now().Add(store.LeaseTerm).UnixMicro()
			for deadline := time.Now().Add(5 * time.Minute); expires() < want; <-time.After(10 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the lease is not renewed any more")
				}
			}
		}
		f.reap(t, 0)
		f.status(t, c.ID, store.CallRunning)
	})
}
