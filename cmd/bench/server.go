package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"relaypdf/store"
	"relaypdf/store/blob"
	"relaypdf/store/credit"
)

const (
	// readyTime is how long a server may take to start.
	readyTime = time.Minute
	// stopTime is how long it may take to stop before it is killed.
	stopTime = 40 * time.Second
	// wallet pays for half a million documents.
	wallet = 1000 * credit.Dollar
)

// server is the program under measurement, a child process.
type server struct {
	cmd          *exec.Cmd
	url, private string
	exited       chan struct{}
}

// startServer starts the program on the data in dir, with more settings such as
// RELAYPDF_X=y, and waits until it says that it is ready.
func startServer(ctx context.Context, opt options, dir string, settings ...string) (*server, error) {
	s := &server{cmd: exec.Command(opt.binary, "serve"), exited: make(chan struct{})} //nolint:noctx // stop ends it, in its own time.
	s.cmd.Env = []string{
		"HOME=" + dir, "RELAYPDF_DATA_DIR=" + dir, "RELAYPDF_LISTEN=127.0.0.1:0",
		"RELAYPDF_METRICS_LISTEN=127.0.0.1:0", "RELAYPDF_RATE_LIMITS=off",
	}
	for _, variable := range opt.env {
		if strings.HasPrefix(variable, "PATH=") || strings.HasPrefix(variable, "TMPDIR=") || strings.HasPrefix(variable, "RELAYPDF_MEMORY=") {
			s.cmd.Env = append(s.cmd.Env, variable)
		}
	}
	s.cmd.Env = append(s.cmd.Env, settings...)
	s.cmd.WaitDelay = stopTime
	logs, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the program: %w; `make build` makes it", err)
	}
	ready := make(chan error, 1)
	go func() {
		defer close(s.exited)
		ready <- s.readLog(logs)
		_, _ = io.Copy(io.Discard, logs) // It must not block on a full pipe.
		_ = s.cmd.Wait()                 // Nobody asks how it ended.
	}()
	select {
	case err = <-ready:
	case <-time.After(readyTime):
		err = fmt.Errorf("the program was not ready within %v", readyTime)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// readLog reads up to the line that says where the program listens.
func (s *server) readLog(logs io.Reader) error {
	var seen strings.Builder
	for scanner := bufio.NewScanner(logs); scanner.Scan(); {
		var line struct{ Msg, Address, Metrics string }
		if json.Unmarshal(scanner.Bytes(), &line) == nil && line.Msg == "ready" {
			s.url, s.private = line.Address, line.Metrics
			return nil
		}
		seen.Write(scanner.Bytes())
		seen.WriteByte('\n')
	}
	return fmt.Errorf("the program ended at its start: %s", seen.String())
}

// stop ends the program, by force when it does not leave by itself.
func (s *server) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // It may have ended already.
	select {
	case <-s.exited:
		return nil
	case <-time.After(stopTime):
		_ = s.cmd.Process.Kill()
		<-s.exited
		return fmt.Errorf("the program did not stop within %v and was killed", stopTime)
	}
}

// newDataDir makes a data folder with accounts that have money, and returns a
// key of each.
func newDataDir(ctx context.Context, parent string, accounts int) (dir string, keys []string, err error) {
	if dir, err = os.MkdirTemp(parent, "relaypdf-bench-"); err != nil {
		return "", nil, err
	}
	if keys, err = fund(ctx, dir, accounts); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, keys, nil
}

func fund(ctx context.Context, dir string, accounts int) (keys []string, err error) {
	blobs, err := blob.NewDisk(filepath.Join(dir, "files"))
	if err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, store.Config{DataDir: dir, Blobs: blobs})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for i := range accounts {
		key, err := fundAccount(ctx, s, fmt.Sprintf("bench-%d@localhost", i))
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// fundAccount makes an account with money and returns the secret of its key.
func fundAccount(ctx context.Context, s *store.Store, email string) (secret string, err error) {
	account, err := s.CreateAccount(ctx, email, 0)
	if err != nil {
		return "", err
	}
	if err := s.Credit(ctx, account.ID, wallet, "benchmark"); err != nil {
		return "", err
	}
	_, secret, err = s.CreateKey(ctx, store.NewKey{AccountID: account.ID, Name: "benchmark"})
	return secret, err
}
