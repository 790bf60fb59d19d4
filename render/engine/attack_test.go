package engine_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/relaypdf/relaypdf/render/engine"
)

// attacks are handlers that try what a hostile document might make them do.
var attacks = engine.Handlers{
	"spin":          engine.Handle(spin),
	"stay":          engine.Handle(stay),
	"hoard":         engine.Handle(hoard),
	"swell":         engine.Handle(swell),
	"read":          engine.Handle(read),
	"write":         engine.Handle(write),
	"dial":          engine.Handle(dial),
	"signal":        engine.Handle(signalAll),
	"litter":        engine.Handle(litter),
	"fill":          engine.Handle(fill),
	"big file":      engine.Handle(bigFile),
	"hide":          engine.Handle(hide),
	"hide and spin": engine.Handle(hideAndSpin),
	"plant":         engine.Handle(plant),
	"call":          engine.Handle(call),
}

// spin never ends.
func spin(context.Context, *engine.Work, struct{}, []byte) ([]byte, error) {
	for n := 0; ; n++ {
	}
}

// stay never ends either, and leaves the processors to others.
func stay(context.Context, *engine.Work, struct{}, []byte) ([]byte, error) {
	for {
		<-time.After(time.Hour)
	}
}

// hoard takes memory until none is left.
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

// swell takes that many bytes, and ends well.
func swell(_ context.Context, _ *engine.Work, bytes int, _ []byte) ([]byte, error) {
	b := make([]byte, bytes)
	b[bytes-1] = 1
	return b[bytes-1:], nil
}

func read(_ context.Context, _ *engine.Work, path string, _ []byte) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		entries, err := os.ReadDir(path)
		return fmt.Append(nil, entries), err
	}
	return os.ReadFile(path)
}

func write(_ context.Context, _ *engine.Work, path string, _ []byte) ([]byte, error) {
	return nil, os.WriteFile(path, []byte("x"), 0o600)
}

// address is the target of an attack's connection.
type address struct{ Network, Address string }

// dial connects and sends something.
func dial(_ context.Context, _ *engine.Work, to address, _ []byte) ([]byte, error) {
	conn, err := net.Dial(to.Network, to.Address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	_, err = conn.Write([]byte("a document"))
	return nil, err
}

// signalAll tries to end a process that is not its own.
func signalAll(_ context.Context, _ *engine.Work, pid int, _ []byte) ([]byte, error) {
	return nil, unix.Kill(pid, unix.SIGKILL)
}

// litter leaves files and folders behind, one of them closed to everybody.
func litter(context.Context, *engine.Work, struct{}, []byte) ([]byte, error) {
	err := errors.Join(
		os.WriteFile("secret.txt", []byte("another customer's"), 0o600),
		os.WriteFile("../secret.txt", []byte("another customer's"), 0o600),
		os.MkdirAll("../keep", 0o700),
		os.WriteFile("../keep/secret.txt", nil, 0o600),
		os.WriteFile("../tmp/secret.txt", nil, 0o600),
		os.Mkdir("deep", 0o700),
		os.WriteFile("deep/secret.txt", nil, 0o600),
		os.Symlink("/etc", "link"),
		os.Mkdir("closed", 0),
	)
	_ = os.WriteFile("/tmp/secret.txt", nil, 0o600)     // it may be closed
	_ = os.WriteFile("/dev/shm/secret.txt", nil, 0o600) // it may be closed
	return nil, err
}

// fill writes files without end, each of them small.
func fill(context.Context, *engine.Work, struct{}, []byte) ([]byte, error) {
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	for i := range 4096 {
		if err := os.WriteFile(fmt.Sprint("file-", i), chunk, 0o600); err != nil {
			return nil, err
		}
	}
	return nil, nil
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

// hidden starts programs that leave the group and lose their parents.
func hidden(token string) engine.Program {
	return engine.Program{Name: "sh", Args: []string{"-c", strings.ReplaceAll(
		`(exec sleep 1000 TOKEN) >/dev/null 2>&1 & (setsid sh -c 'exec sleep 1000 TOKEN' >/dev/null 2>&1 &) ; (nohup setsid setsid sleep 1000 TOKEN >/dev/null 2>&1 &) ; true`,
		"TOKEN", token)}}
}

func hide(ctx context.Context, w *engine.Work, token string, _ []byte) ([]byte, error) {
	return w.Exec(ctx, hidden(token))
}

func hideAndSpin(ctx context.Context, w *engine.Work, token string, body []byte) ([]byte, error) {
	if _, err := hide(ctx, w, token, body); err != nil {
		return nil, err
	}
	return spin(ctx, w, struct{}{}, body)
}

// plant replaces an output with something else.
func plant(_ context.Context, w *engine.Work, kind string, _ []byte) ([]byte, error) {
	w.Output("output")
	switch kind {
	case "link":
		return nil, os.Symlink("/etc/fonts/fonts.conf", w.Path("output"))
	case "pipe":
		return nil, unix.Mkfifo(w.Path("output"), 0o600)
	case "folder":
		return nil, os.Mkdir(w.Path("output"), 0o700)
	case "path":
		w.Output("../keep/output")
	case "twice":
		w.Output("output")
	}
	if kind == "missing" {
		return nil, nil
	}
	return nil, os.WriteFile(w.Path("output"), make([]byte, 2<<20), 0o600)
}

// call makes a system call that no engine needs.
func call(_ context.Context, _ *engine.Work, name string, _ []byte) ([]byte, error) {
	var err error
	switch name {
	case "unshare":
		err = unix.Unshare(unix.CLONE_NEWNS)
	case "mount":
		err = unix.Mount("x", ".", "tmpfs", 0, "")
	case "ptrace":
		err = unix.PtraceAttach(os.Getpid() + 1)
	case "bpf":
		_, _, errno := unix.Syscall(unix.SYS_BPF, 0, 0, 0)
		err = errno
	case "io_uring":
		_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
		err = errno
	case "raw socket":
		_, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	case "netlink":
		_, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, 0)
	}
	return nil, err
}

// lie is an engine that does not keep to the protocol: it announces what it
// does not have, or more than it may.
func lie(how string) {
	send := func(header any, body int) {
		text, err := json.Marshal(header)
		if err != nil {
			panic(err)
		}
		out := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
		out = append(out, text...)
		out = binary.BigEndian.AppendUint32(out, uint32(body))
		if _, err := os.Stdout.Write(out); err != nil {
			panic(err)
		}
	}
	type file struct {
		Name string `json:"name"`
		Size int64  `json:"size"`
	}
	send(map[string]any{"private": true}, 0)
	switch how {
	case "large file":
		send(map[string]any{"files": []file{{"a", 1 << 40}}}, 0)
	case "negative file":
		send(map[string]any{"files": []file{{"a", -1}}}, 0)
	case "many files":
		send(map[string]any{"files": make([]file, 5000)}, 0)
	case "path":
		send(map[string]any{"files": []file{{"../../etc/passwd", 0}}}, 0)
	case "short file":
		send(map[string]any{"files": []file{{"a", 10}}}, 0)
		os.Exit(0)
	case "large body":
		send(map[string]any{}, 1<<31)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}
