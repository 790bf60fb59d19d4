package engine_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"golang.org/x/sys/unix"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/markup"
)

// TestMain makes this program its own engine, the server that a test kills and
// an engine that lies.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "engine":
			beEngine()
		case "server":
			doomedServer(os.Args[2], os.Args[3])
		case "noise":
			noise(os.Args[2])
		case "liar":
			lie(os.Args[2])
		}
	}
	goleak.VerifyTestMain(m)
}

// beEngine serves away from the process's first thread, where a busy machine
// puts it now and then: what the kernel keeps by thread must hold there as well.
func beEngine() {
	runtime.LockOSThread()
	ended := make(chan error)
	go func() { ended <- engine.Serve(os.Stdin, os.Stdout, handlers(rand.Text())) }()
	if err := <-ended; err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

type greeting struct {
	Name  string
	Times int
}

// handlers returns the handlers of the engines in these tests; attacks are in attack_test.go. The instance
// distinguishes engines.
func handlers(instance string) engine.Handlers {
	all := engine.Handlers{
		"markdown": engine.Handle(func(_ context.Context, _ *engine.Work, opt markup.MarkdownOptions, src []byte) ([]byte, error) {
			doc, err := markup.Markdown(src, opt)
			return doc.HTML, err
		}),
		"echo": engine.Handle(func(_ context.Context, _ *engine.Work, _ struct{}, body []byte) ([]byte, error) {
			return body, nil
		}),
		"greet": engine.Handle(func(_ context.Context, _ *engine.Work, g greeting, body []byte) ([]byte, error) {
			return fmt.Append(nil, strings.Repeat("Hello "+g.Name+". ", g.Times), string(body)), nil
		}),
		"chatter": engine.Handle(func(context.Context, *engine.Work, struct{}, []byte) ([]byte, error) {
			fmt.Fprintln(os.Stdout, "a library prints to standard output")
			return []byte("done"), nil
		}),
		"session": engine.Handle(func(context.Context, *engine.Work, struct{}, []byte) ([]byte, error) {
			session, err := unix.Getsid(0)
			return fmt.Appendf(nil, "its own: %t", session == os.Getpid()), err
		}),
		"refuse": engine.Handle(func(context.Context, *engine.Work, struct{}, []byte) ([]byte, error) {
			return nil, fmt.Errorf("page 3: %w", &engine.JobError{Code: "encrypted", Message: "it is encrypted"})
		}),
		"complain": engine.Handle(func(context.Context, *engine.Work, struct{}, []byte) ([]byte, error) {
			return nil, errors.New("no such page")
		}),
		"panic": engine.Handle(func(context.Context, *engine.Work, struct{}, []byte) ([]byte, error) {
			panic("a bug met by a hostile file")
		}),
		"give up": engine.Handle(func(context.Context, *engine.Work, struct{}, []byte) ([]byte, error) {
			return nil, fmt.Errorf("the office has gone: %w", engine.ErrCrashed)
		}),
		"exit": engine.Handle(func(context.Context, *engine.Work, struct{}, []byte) ([]byte, error) {
			os.Exit(3)
			return nil, nil
		}),
		"wait": engine.Handle(wait),
		"self": engine.Handle(func(context.Context, *engine.Work, struct{}, []byte) ([]byte, error) {
			return describeSelf(instance)
		}),
		"last": engine.Handle(func(_ context.Context, w *engine.Work, _ struct{}, _ []byte) ([]byte, error) {
			w.Last()
			return describeSelf(instance)
		}),
		"copy": engine.Handle(copyFiles),
		"exec": engine.Handle(run),
		"keep": keeper(),
	}
	for name, attack := range attacks {
		all[name] = attack
	}
	return all
}

// wait ends when its context does, as a well-behaved handler.
func wait(ctx context.Context, _ *engine.Work, _ struct{}, _ []byte) ([]byte, error) {
	<-ctx.Done()
	return []byte("on time"), nil
}

// copyFiles returns the inputs that args name, as outputs called "copy of …".
func copyFiles(_ context.Context, w *engine.Work, names []string, _ []byte) ([]byte, error) {
	for _, name := range names {
		if err := copyFile(w.Path(name), w.Path("copy of "+name)); err != nil {
			return nil, err
		}
		w.Output("copy of " + name)
	}
	return nil, nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// program is an engine.Program as arguments of a job.
type program struct {
	Name      string
	Args, Env []string
	OK        []int
	MaxStdout int64
	Memory    int64
	CPU       time.Duration
	// Output is a file that becomes a result.
	Output string
}

// run starts a program with the body as its input.
func run(ctx context.Context, w *engine.Work, p program, body []byte) ([]byte, error) {
	if p.Output != "" {
		w.Output(p.Output)
	}
	out, err := w.Exec(ctx, engine.Program{
		Name: p.Name, Args: p.Args, Env: p.Env, OK: p.OK, MaxStdout: p.MaxStdout, Memory: p.Memory, CPU: p.CPU, Stdin: strings.NewReader(string(body)),
	})
	var exit *engine.ExitError
	if errors.As(err, &exit) {
		text, _ := json.Marshal(exit) //nolint:errchkjson // it has nothing that cannot be encoded
		return nil, &engine.JobError{Code: "exit", Message: string(text)}
	}
	return out, err
}

// keeper returns a handler that starts a program once and later asks it.
func keeper() engine.Handler {
	var kept *engine.Daemon
	return engine.Handle(func(_ context.Context, w *engine.Work, token string, body []byte) ([]byte, error) {
		if kept == nil {
			var err error
			// It starts another one, as LibreOffice processes do.
			if kept, err = w.StartDaemon(engine.Program{Name: "sh", Args: []string{"-c", "touch here; (exec sleep 1000 " + token + ") & exec cat"}}); err != nil {
				return nil, err
			}
		}
		if _, err := kept.Stdin.Write(body); err != nil {
			return nil, err
		}
		got := make([]byte, len(body))
		_, err := io.ReadFull(kept.Stdout, got)
		return got, err
	})
}

// process is the description of an engine by itself.
type process struct {
	Instance      string
	PID, UID, GID int
	Groups        []int
	Env           []string
	Dir           string
	Seen          []string // files of its folder and of the shared ones
	Descriptors   []string
	Processes     []string
	Status        string
}

func describeSelf(instance string) ([]byte, error) {
	var errs [3]error
	p := process{Instance: instance, PID: os.Getpid(), UID: os.Geteuid(), GID: os.Getegid(), Env: os.Environ()}
	p.Groups, errs[0] = os.Getgroups()
	p.Dir, errs[1] = os.Getwd()
	for _, dir := range []string{".", "..", "/tmp", "/dev/shm"} {
		entries, _ := os.ReadDir(dir) // it may be closed
		for _, e := range entries {
			p.Seen = append(p.Seen, dir+"/"+e.Name())
		}
	}
	for fd := range 20 {
		name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		if err == nil && fd > 2 {
			p.Descriptors = append(p.Descriptors, name)
		}
	}
	processes, _ := os.ReadDir("/proc") // it may be closed
	for _, e := range processes {
		if strings.Trim(e.Name(), "0123456789") == "" {
			p.Processes = append(p.Processes, e.Name())
		}
	}
	slices.Sort(p.Seen)
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		status, err = nil, nil // closed, unless it has a file system of its own
	}
	errs[2], p.Status = err, string(status)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return json.Marshal(p)
}

// doomedServer runs a pool until it is killed, while an engine is in an endless
// job and programs that it started hide.
func doomedServer(dir, token string) {
	pool, err := engine.Start(engine.Config{Dir: dir, Size: 1})
	if err != nil {
		panic(err)
	}
	self, err := pool.Do(context.Background(), engine.Job{Name: "self"})
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(os.Stdout, "%s\n", self)
	_, err = pool.Do(context.Background(), engine.Job{Name: "hide and spin", Args: token})
	panic(fmt.Sprint("the endless job ended: ", err))
}
