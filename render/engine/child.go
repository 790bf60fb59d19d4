package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/relaypdf/relaypdf/render/priority"
)

const (
	// searchPath is the path in which programs of jobs are searched.
	searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	// startTime bounds the time until a new child is ready.
	startTime = time.Minute
	// pipeSize is the capacity of a pipe.
	pipeSize = 1 << 20
)

// child is one engine process, seen from the parent.
type child struct {
	cmd       *exec.Cmd
	isolation isolation
	folder    string
	in        *os.File
	out       *os.File
	reader    *bufio.Reader
	stderr    *excerpt
	report    report
	jobs      int
	share     priority.Share // its session's, of the processors
	// spent means that kill was called or is about to be.
	spent bool
	// ended is closed when the process has been reaped.
	ended chan struct{}

	mu     sync.Mutex
	reaped bool // the process's number may have been reused
}

// startChild starts a process and waits until it is confined and ready.
func startChild(ctx context.Context, p *Pool) (*child, error) {
	c := &child{stderr: new(excerpt), ended: make(chan struct{})}
	if err := c.makeFolder(p); err != nil {
		return nil, err
	}
	if err := c.launch(p); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.folder))
	}
	if err := c.ready(ctx, p); err != nil {
		c.end()
		return nil, fmt.Errorf("%w; it wrote %q", err, c.stderr.String())
	}

	return c, nil
}

// ready waits until the child is confined, and has run its initial work.
func (c *child) ready(ctx context.Context, p *Pool) error {
	greeting, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()

	stop := context.AfterFunc(greeting, c.kill)
	hung := c.watchStopped()
	err := c.handshake(p)
	if stopped := hung(); stopped != nil {
		err = stopped
	}
	if !stop() {
		err = errors.Join(context.Cause(greeting), err)
	}

	if err != nil || p.cfg.Prepare == nil {
		return err
	}
	r, err := newRequest(*p.cfg.Prepare)
	if err != nil {
		return err
	}

	preparing, cancel := context.WithTimeout(ctx, p.cfg.MaxTime)
	defer cancel()
	r.ctx = preparing
	result, err := c.do(r, p.cfg)
	c.jobs = 0
	return errors.Join(err, result.Close())
}

// makeFolder gives the child its own folder.
func (c *child) makeFolder(p *Pool) error {
	var err error
	if c.folder, err = os.MkdirTemp(p.folder.Path, "child-"); err != nil {
		return err
	}

	if p.id.UID != 0 {
		if err := os.Chown(c.folder, p.id.UID, p.id.GID); err != nil {
			return errors.Join(err, os.Remove(c.folder))
		}
	}
	return nil
}

// launch starts the process with two pipes and nothing else that the parent has open.
func (c *child) launch(p *Pool) error {
	childIn, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer childIn.Close()

	out, childOut, err := os.Pipe()
	if err != nil {
		return errors.Join(err, in.Close())
	}
	defer childOut.Close()

	growPipe(in)
	growPipe(out)
	c.in = in
	c.out = out
	c.reader = bufio.NewReaderSize(out, 64<<10)

	prepare := func() *exec.Cmd {
		cmd := exec.Command(p.cfg.Command[0], p.cfg.Command[1:]...) //nolint:noctx // kill ends it with its whole group
		cmd.Stdin = childIn
		cmd.Stdout = childOut
		cmd.Stderr = c.stderr
		cmd.Dir = c.folder
		cmd.Env = environment(c.folder)
		// A grandchild that escaped the group may hold stderr open.
		cmd.WaitDelay = time.Second
		return cmd
	}
	if c.cmd, c.isolation, err = p.startIsolated(prepare); err != nil {
		return errors.Join(err, in.Close(), out.Close())
	}

	c.setPriority(p.cfg)
	go c.reap()
	return nil
}

// setPriority sets the share of the processors for the child's session, which may need a second try.
func (c *child) setPriority(cfg Config) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		c.share.Set(c.cmd.Process.Pid, priority.Of(cfg.Background))
	}
}

// growPipe makes a pipe hold more, which is faster; as it was, it works too.
// Fd would make the file one whose reads have no deadline.
func growPipe(f *os.File) {
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
	}
}

// handshake sends the settings and waits for the child's report that it is ready.
func (c *child) handshake(p *Pool) error {
	s := setup{
		Identity: p.id, Memory: p.cfg.Memory, MaxMemory: p.cfg.MaxMemory, Disk: p.cfg.Disk,
		CPU: max(1, int64(p.cfg.CPU.Seconds())), Namespaces: c.isolation.flags, Lost: c.isolation.lost,
		Fonts: p.cfg.Fonts,
	}

	if err := writeMessage(c.in, s, nil); err != nil {
		return err
	}
	if _, err := readMessage(c.reader, &c.report); err != nil {
		return err
	}

	p.note(c.report)
	return nil
}

// broken returns the reason why the conversation ended: the pool's decision, a failure of the input, or a failure
// of the child.
func (c *child) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrKilled, context.Cause(ctx))
	}
	if errors.Is(err, errInput) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCrashed, err)
}

// outOfMemory matches the last message of programs without memory: that of Go's runtime, and that of the race
// detector.
var outOfMemory = regexp.MustCompile(`out of memory|cannot allocate memory|failed to allocate`)

// postMortem ends a child that has crashed, and adds to err whether it ran out of memory.
func (c *child) postMortem(err error) error {
	c.kill()
	<-c.ended // so that its last words are complete
	if outOfMemory.MatchString(c.stderr.String()) {
		return fmt.Errorf("%w: %w", ErrOutOfMemory, err)
	}
	return err
}

// kill ends the process with its descendants, and wakes goroutines that read from it or write to it.
func (c *child) kill() {
	c.mu.Lock()
	if !c.reaped {
		_ = unix.Kill(-c.cmd.Process.Pid, unix.SIGKILL)
	}
	c.mu.Unlock()
	now := time.Now()
	_ = c.in.SetDeadline(now)
	_ = c.out.SetDeadline(now)
}

// reap waits for the process to end. Before it removes the process from the process table, while the group still
// has its number, it kills the process's descendants.
func (c *child) reap() {
	defer close(c.ended)
	pid := c.cmd.Process.Pid

	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}

	c.mu.Lock()
	_ = unix.Kill(-pid, unix.SIGKILL)
	c.reaped = true
	c.mu.Unlock()
	_ = c.cmd.Wait() // how it ended does not matter, only that it did
}

// end kills the child, waits until it is gone and removes its folder.
func (c *child) end() {
	c.kill()
	<-c.ended
	_ = c.in.Close()
	_ = c.out.Close()
	_ = os.RemoveAll(c.folder)
	if !c.report.Private {
		removePipes(c.report.UID)
	}
}
