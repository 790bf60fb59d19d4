package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/store/credit"
)

// server is the program under measurement, a child process.
type server struct {
	pid  int
	url  string
	stop func() error
}

// startServer starts the program on the data in dir, with more settings such as
// RELAYPDF_X=y, and returns when it is ready.
func startServer(ctx context.Context, opt Options, dir string, settings ...string) (*server, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, opt.Binary, "serve")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 40 * time.Second // Then it is killed.
	cmd.Env = slices.Concat(opt.Env, []string{
		"HOME=" + dir, "RELAYPDF_DATA_DIR=" + dir, "RELAYPDF_LISTEN=127.0.0.1:0",
		"RELAYPDF_METRICS_LISTEN=127.0.0.1:0", "RELAYPDF_RATE_LIMITS=off",
	}, settings)
	logs, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("start the program: %w; `make build` makes it", err)
	}
	late := time.AfterFunc(time.Minute, cancel)
	url, err := readyURL(logs)
	late.Stop()
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, logs) // The program must not block on a full pipe.
	}()
	s := &server{pid: cmd.Process.Pid, url: url, stop: func() error {
		cancel()
		<-read
		_ = cmd.Wait() // it was asked to end
		if !cmd.ProcessState.Exited() {
			return fmt.Errorf("the program did not stop by itself: %v", cmd.ProcessState)
		}
		return nil
	}}
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// readyURL reads a program's log up to the line with its listening address.
func readyURL(logs io.Reader) (string, error) {
	var seen strings.Builder
	for scanner := bufio.NewScanner(logs); scanner.Scan(); {
		var line struct{ Msg, Address string }
		if json.Unmarshal(scanner.Bytes(), &line) == nil && line.Msg == "ready" {
			return line.Address, nil
		}
		fmt.Fprintln(&seen, scanner.Text())
	}
	return "", fmt.Errorf("the program ended at its start: %s", seen.String())
}

// openStore opens the store of a service, which is SQLite without a URL.
func openStore(ctx context.Context, url, dir string) (*store.Store, error) {
	blobs, err := blob.NewDisk(filepath.Join(dir, "files"))
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, store.Config{URL: url, DataDir: dir, Blobs: blobs})
}

// fund makes accounts with money for half a million documents, and returns a key of each.
func fund(ctx context.Context, s *store.Store, n int) (keys []string, err error) {
	for i := range n {
		account, err := s.CreateAccount(ctx, fmt.Sprintf("bench-%d@localhost", i), 0)
		if err != nil {
			return nil, err
		}
		if err := s.Credit(ctx, account.ID, 1000*credit.Dollar, "benchmark"); err != nil {
			return nil, err
		}
		_, secret, err := s.CreateKey(ctx, store.NewKey{AccountID: account.ID, Name: "benchmark"})
		if err != nil {
			return nil, err
		}
		keys = append(keys, secret)
	}
	return keys, nil
}
