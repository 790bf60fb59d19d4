package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/cli"
)

// Variables that turn the test binary into the program itself, so that tests
// can start, kill and restart a real server process.
const (
	actAsProgram = "TEST_RELAYPDF_PROGRAM" // run main
	stopAfter    = "TEST_RELAYPDF_STOP"    // serve, and hang after this step of a paid call
	wrongClock   = "TEST_RELAYPDF_CLOCK"   // serve as a machine does whose clock is so far ahead
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(stopAfter) != "":
		if err := serveUntil(os.Getenv(stopAfter)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case os.Getenv(wrongClock) != "" && len(os.Args) > 1 && os.Args[1] == "serve":
		if err := serveWrongly(os.Getenv(wrongClock)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case os.Getenv(actAsProgram) != "", len(os.Args) > 1 && os.Args[1] == "engine":
		if err := refuseCalls(os.Getenv(withoutCalls)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(cli.Main())
	default:
		// A tenth of this process's time was garbage collection.
		debug.SetGCPercent(400)
		code := m.Run()
		if plainDir != "" {
			_ = os.RemoveAll(plainDir)
		}
		os.Exit(code)
	}
}

// plainDir holds the build of buildPlain. It is removed with the last test.
var plainDir string

// buildPlain builds this test binary without the race detector, and as the program is built: without cgo. It does
// so for the first test that needs it.
var buildPlain = sync.OnceValues(func() (path string, err error) {
	if plainDir, err = os.MkdirTemp("", "relaypdf-plain-"); err != nil {
		return "", err
	}
	if err = os.Chmod(plainDir, 0o711); err != nil { // The engines' own user passes through it.
		return "", err
	}
	path = filepath.Join(plainDir, "relaypdf.test")
	build := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go test -c: %w\n%s", err, out)
	}
	return path, nil
})

// plainProgram returns the path of this test binary without the race detector, for engines, and for servers that are
// killed or measured: the detector makes them start slowly and multiplies their memory, and no one reads its reports
// there.
func plainProgram(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts the whole program")
	}
	info, _ := debug.ReadBuildInfo()
	if info != nil && !slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return os.Args[0]
	}
	path, err := buildPlain()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// serveUntil serves until a paid call has passed the step; it then prints that and leaves the call hanging there, to
// be killed. A step with freeze behind it stops the whole process, the first time, until it is woken. Each line of
// the standard input is a step for calls that begin from then on.
func serveUntil(step string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	config, err := app.LoadConfig(nil, os.Environ())
	if err != nil {
		return err
	}
	step, freezes := strings.CutSuffix(step, freeze)
	var until, order atomic.Pointer[string]
	until.Store(&step)
	var once sync.Once
	app, err := app.New(ctx, config, app.NewLogger(config.LogLevel, os.Stderr), app.Hooks{Cold: true, AfterStep: func(passed string) {
		// The call before may pass its last step only now.
		if next := order.Load(); next != nil && passed == "authenticate" {
			until.Store(next)
		}
		switch {
		case passed != *until.Load():
		case freezes:
			once.Do(func() {
				// Other writes must end first: a process that sleeps in a transaction of SQLite blocks all writers.
				<-time.After(time.Second)
				fmt.Println("reached", step)
				// To this thread: one that another gets would let this one go on for a while.
				_ = syscall.Tgkill(os.Getpid(), syscall.Gettid(), syscall.SIGSTOP)
			})
		default:
			fmt.Println("reached", passed)
			select {}
		}
	}})
	if err != nil {
		return err
	}
	go func() {
		for orders := bufio.NewScanner(os.Stdin); orders.Scan(); {
			next := orders.Text()
			order.Store(&next)
			fmt.Println("armed", next)
		}
	}()
	fmt.Println("listening", app.URL)
	return app.Run(ctx)
}

// serveWrongly serves as a machine does whose clock is off.
func serveWrongly(by string) error {
	off, err := time.ParseDuration(by)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	config, err := app.LoadConfig(nil, os.Environ())
	if err != nil {
		return err
	}
	log := app.NewLogger(config.LogLevel, os.Stderr)
	app, err := app.New(ctx, config, log, app.Hooks{Clock: func() time.Time { return time.Now().Add(off) }})
	if err != nil {
		return err
	}
	log.Info("ready", "address", app.URL)
	return errors.Join(app.Run(ctx), app.Close())
}
