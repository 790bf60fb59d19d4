package chrome

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/relaypdf/relaypdf/render/priority"
)

// leaveTimeout is the time that the browser has to exit after its pipe closed, before its process group is killed.
const leaveTimeout = 3 * time.Second

// process is one running Chromium with its helpers.
type process struct {
	cmd     *exec.Cmd
	conn    *conn
	profile string
	log     *tail
	share   priority.Share // its session's, of the processors
	exited  chan struct{}  // closed when the main process was waited for
}

// startProcess starts a browser with its own profile folder. The browser exits by itself when this process dies,
// because its pipe closes then.
func startProcess(cfg Config, h home, name string) (*process, error) {
	profile, err := h.mkdir(name)
	if err != nil {
		return nil, err
	}

	p := &process{profile: profile, log: &tail{}, exited: make(chan struct{})}
	if err := p.start(cfg, h); err != nil {
		return nil, errors.Join(fmt.Errorf("chrome: start %s: %w", cfg.Binary, err), os.RemoveAll(profile))
	}
	return p, nil
}

func (p *process) start(cfg Config, h home) error {
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirIn.Close()
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		return errors.Join(err, ourOut.Close())
	}
	defer theirOut.Close()

	if p.cmd, err = command(cfg, h, p.profile); err != nil {
		return errors.Join(err, ourIn.Close(), ourOut.Close())
	}
	p.cmd.ExtraFiles = []*os.File{theirIn, theirOut} // Descriptors 3 and 4, as Chromium expects.
	p.cmd.Stderr = p.log
	if err := p.cmd.Start(); err != nil {
		return errors.Join(err, ourIn.Close(), ourOut.Close())
	}

	yieldMemory(p.cmd.Process.Pid)
	if cfg.Background {
		priority.MoveToBackground(p.cmd.Process.Pid)
	}
	p.share.Set(p.cmd.Process.Pid, priority.Of(cfg.Background))

	p.conn = newConn(ourIn, ourOut, cfg.Logger)
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // The exit status does not matter.
	}()
	return nil
}

// stop ends the browser and removes its profile. It returns within a few
// seconds, with no process left.
func (p *process) stop() error {
	p.conn.close()
	select {
	case <-p.exited:
	case <-time.After(leaveTimeout):
	}
	p.kill()
	<-p.exited
	return os.RemoveAll(p.profile)
}

// kill ends the browser and its helpers at once. An error means that the group has no members, which is fine.
func (p *process) kill() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// tail stores the last few kilobytes of the browser's stderr, for the log when it fails to start.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailSize = 4 << 10

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

// String returns the stored text.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.buf))
}
