package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"relaypdf/render/engine"
	"relaypdf/render/markup"
)

// TestMain makes this program its own engine, and the server that a test
// kills.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "engine":
			if err := engine.Serve(os.Stdin, os.Stdout, handlers); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		case "server":
			doomedServer(os.Args[2], os.Args[3])
		}
	}
	goleak.VerifyTestMain(m)
}

type greeting struct {
	Name  string
	Times int
}

// handlers are what the engines of these tests can do, good and bad.
var handlers = engine.Handlers{
	"markdown": engine.Handle(func(_ context.Context, _ *engine.Work, opt markup.MarkdownOptions, src []byte) ([]byte, error) {
		return markup.Markdown(src, opt)
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
	"refuse": engine.Handle(func(context.Context, *engine.Work, struct{}, []byte) ([]byte, error) {
		return nil, fmt.Errorf("page 3: %w", &engine.JobError{Code: "encrypted", Message: "it is encrypted"})
	}),
	"complain": engine.Handle(func(context.Context, *engine.Work, struct{}, []byte) ([]byte, error) {
		return nil, errors.New("no such page")
	}),
	"panic": engine.Handle(func(context.Context, *engine.Work, struct{}, []byte) ([]byte, error) {
		panic("a bug met by a hostile file")
	}),
	"exit": engine.Handle(func(context.Context, *engine.Work, struct{}, []byte) ([]byte, error) {
		os.Exit(3)
		return nil, nil
	}),
	"hoard":   engine.Handle(hoard),
	"spin":    engine.Handle(spin),
	"wait":    engine.Handle(wait),
	"spawn":   engine.Handle(spawn),
	"self":    engine.Handle(self),
	"litter":  engine.Handle(litter),
	"bigfile": engine.Handle(bigFile),
}

// hoard takes memory until there is no more.
func hoard(context.Context, *engine.Work, struct{}, []byte) ([]byte, error) {
	var all [][]byte
	for {
		b := make([]byte, 8<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		all = append(all, b)
		if len(all) > 1<<10 {
			return nil, errors.New("8 GiB and still alive")
		}
	}
}

// spin says that it has begun by opening the named pipe, then never ends.
func spin(_ context.Context, _ *engine.Work, fifo string, _ []byte) ([]byte, error) {
	if fifo != "" {
		f, err := os.OpenFile(fifo, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		defer f.Close()
	}
	for n := 0; ; n++ {
	}
}

// wait ends when its context does, as a well-behaved handler.
func wait(ctx context.Context, _ *engine.Work, _ struct{}, _ []byte) ([]byte, error) {
	<-ctx.Done()
	return []byte("on time"), nil
}

// spawn starts a program that would live long, and returns its number.
func spawn(context.Context, *engine.Work, struct{}, []byte) ([]byte, error) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return fmt.Append(nil, cmd.Process.Pid), nil
}

// process is what an engine says about itself.
type process struct {
	PID, UID, GID int
	Groups        []int
	Env           []string
	Dir           string
	Entries       []string
	Descriptors   []string
	Status        string
}

func self(context.Context, *engine.Work, struct{}, []byte) ([]byte, error) {
	var errs [4]error
	p := process{PID: os.Getpid(), UID: os.Geteuid(), GID: os.Getegid(), Env: os.Environ()}
	p.Groups, errs[0] = os.Getgroups()
	p.Dir, errs[1] = os.Getwd()
	entries, err := os.ReadDir(".")
	errs[2] = err
	for _, e := range entries {
		p.Entries = append(p.Entries, e.Name())
	}
	for fd := range 20 {
		name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		if err == nil && fd > 2 {
			p.Descriptors = append(p.Descriptors, name)
		}
	}
	status, err := os.ReadFile("/proc/self/status")
	errs[3] = err
	p.Status = string(status)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return json.Marshal(p)
}

// litter leaves files and folders behind, one of them closed to everybody.
func litter(context.Context, *engine.Work, struct{}, []byte) ([]byte, error) {
	return nil, errors.Join(
		os.WriteFile("secret.txt", []byte("another customer's"), 0o600),
		os.Mkdir("deep", 0o700),
		os.WriteFile("deep/secret.txt", nil, 0o600),
		os.Symlink("/etc", "link"),
	)
}

// bigFile writes one file without end.
func bigFile(context.Context, *engine.Work, struct{}, []byte) ([]byte, error) {
	f, err := os.Create("big")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for at := int64(0); ; at += 64 << 20 {
		if _, err := f.WriteAt([]byte{1}, at); err != nil {
			return nil, err
		}
	}
}

// doomedServer runs a pool until it is killed: one engine has started a
// program, the other is in an endless job.
func doomedServer(dir, fifo string) {
	pool, err := engine.Start(engine.Config{Dir: dir, Size: 1})
	if err != nil {
		panic(err)
	}
	program, err := pool.Do(context.Background(), engine.Job{Name: "spawn"})
	if err != nil {
		panic(err)
	}
	child, err := pool.Do(context.Background(), engine.Job{Name: "self"})
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(os.Stdout, "%s\n%s\n", program, child)
	_, err = pool.Do(context.Background(), engine.Job{Name: "spin", Args: fifo})
	panic(fmt.Sprint("the endless job ended: ", err))
}
