// Package sharedtest holds what tests of several packages share: a browser and the linked program, which take long to
// make, folders with files, documents that attack the renderer, and the mark of slow tests (ADR 36).
package sharedtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/go-rod/rod"
)

// Pool holds resources that concurrent tests share, one for each key. It ends with the last of the tests, so that
// no resource outlives the tests that count processes.
type Pool[T any] struct {
	mu   sync.Mutex
	made map[string]*lent[T]
}

// lent is one of them, with how many use it.
type lent[T any] struct {
	users int
	ready sync.Once
	thing T
	end   func() error
	err   error
}

// Lend returns the thing of the key to a test, made by the first that asks.
func (s *Pool[T]) Lend(t testing.TB, key string, start func() (T, func() error, error)) (T, error) {
	t.Helper()
	s.mu.Lock()
	one := s.made[key]
	if one == nil {
		one = &lent[T]{}
		if s.made == nil {
			s.made = map[string]*lent[T]{}
		}
		s.made[key] = one
	}
	one.users++
	s.mu.Unlock()
	t.Cleanup(func() {
		s.mu.Lock()
		one.users--
		last := one.users == 0
		if last {
			delete(s.made, key)
		}
		s.mu.Unlock()
		if last && one.end != nil {
			if err := one.end(); err != nil {
				t.Error(err)
			}
		}
	})
	one.ready.Do(func() { one.thing, one.end, one.err = start() })
	return one.thing, one.err
}

var browsers Pool[*rod.Browser]

// Browser returns the browser of those tests that ask for the same further flags. Tests share nothing but its
// process if each opens its own context.
func Browser(t testing.TB, flags ...string) (*rod.Browser, error) {
	t.Helper()
	return browsers.Lend(t, strings.Join(flags, " "), func() (*rod.Browser, func() error, error) { return startBrowser(flags) })
}

var devTools = regexp.MustCompile(`DevTools listening on (ws://\S+)`)

// startBrowser starts a browser, with further flags, and returns the function that ends it.
func startBrowser(flags []string) (_ *rod.Browser, end func() error, err error) {
	dir, err := os.MkdirTemp("", "screens-")
	if err != nil {
		return nil, nil, err
	}
	browser := exec.Command("chromium-headless-shell", append(flags, "--no-sandbox", "--remote-debugging-port=0", "--user-data-dir="+dir, "--disable-gpu", "about:blank")...) //nolint:noctx // The last test that uses it ends it.
	browser.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	end = func() error {
		if browser.Process != nil { // Debian's chromium in the path is a script that starts the browser.
			_, _ = syscall.Kill(-browser.Process.Pid, syscall.SIGKILL), browser.Wait()
		}
		return os.RemoveAll(dir)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, end())
		}
	}()
	lines, err := browser.StderrPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := browser.Start(); err != nil {
		return nil, nil, err
	}
	reader := bufio.NewReader(lines)
	for {
		line, err := reader.ReadString('\n')
		if found := devTools.FindStringSubmatch(line); found != nil {
			go func() { _, _ = io.Copy(io.Discard, reader) }()
			connected := rod.New().ControlURL(found[1]).NoDefaultDevice()
			err := connected.Connect()
			return connected, end, err
		}
		if err != nil {
			return nil, nil, fmt.Errorf("it ended: %w", err)
		}
	}
}
