package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/relaypdf/relaypdf/render/engine"
)

func TestExec(t *testing.T) {
	pool := start(t, engine.Config{})
	for _, test := range []struct {
		name    string
		program program
		body    string
		want    string
	}{
		{"output", program{Name: "printf", Args: []string{"%s|", "a b", "$HOME", "*"}}, "", "a b|$HOME|*|"},
		{"input", program{Name: "cat"}, "a document", "a document"},
		{"folder", program{Name: "sh", Args: []string{"-c", `test "$PWD" = "$HOME" && test -w . && echo yes`}}, "", "yes\n"},
		{"warning", program{Name: "sh", Args: []string{"-c", "echo out; exit 3"}, OK: []int{3}}, "", "out\n"},
		{"temporary files", program{Name: "sh", Args: []string{"-c", `f=$(mktemp) && echo x > $f && cat $f`}}, "", "x\n"},
		{"left behind", program{Name: "sh", Args: []string{"-c", "sleep 1000 & echo done"}}, "", "done\n"},
	} {
		if got := do(t, pool, engine.Job{Name: "exec", Args: test.program, Body: []byte(test.body)}); string(got) != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestExecFails(t *testing.T) {
	pool := start(t, engine.Config{})
	for _, test := range []struct {
		name    string
		program program
		want    engine.ExitError
	}{
		{"exit code", program{Name: "sh", Args: []string{"-c", "echo bad file >&2; exit 2"}, OK: []int{3}}, engine.ExitError{Program: "sh", Code: 2, Stderr: "bad file\n"}},
		{"signal", program{Name: "sh", Args: []string{"-c", "kill -ABRT $$"}}, engine.ExitError{Program: "sh", Code: -1, Signal: syscall.SIGABRT}},
		{"long message", program{Name: "sh", Args: []string{"-c", "yes | head -c 1000000 >&2; printf end >&2; exit 1"}},
			engine.ExitError{Program: "sh", Code: 1, Stderr: strings.Repeat("\ny", 1022)[1:] + "\nend"}},
	} {
		_, err := pool.Do(context.Background(), engine.Job{Name: "exec", Args: test.program})
		var failed *engine.JobError
		var got engine.ExitError
		if !errors.As(err, &failed) || failed.Code != "exit" || json.Unmarshal([]byte(failed.Message), &got) != nil {
			t.Errorf("%s: got %v, want an ExitError", test.name, err)
			continue
		}
		got.Stderr = got.Stderr[max(0, len(got.Stderr)-len(test.want.Stderr)):]
		if got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
	for _, test := range []struct {
		name    string
		program program
		want    error
	}{
		{"not installed", program{Name: "no-such-program"}, engine.ErrNoProgram},
		{"endless output", program{Name: "yes", MaxStdout: 1 << 20}, engine.ErrOutputTooLarge},
	} {
		if _, err := pool.Do(context.Background(), engine.Job{Name: "exec", Args: test.program}); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
	}
	if _, err := pool.Do(context.Background(), engine.Job{Name: "exec", Args: program{Name: "echo", Args: []string{"a\x00b"}}}); err == nil {
		t.Error("an argument with a NUL was taken")
	}
}

// TestExecMemory gives one program less memory than the job has, and never
// more. The program fails in any case, and says whether it got its buffer.
func TestExecMemory(t *testing.T) {
	pool := start(t, engine.Config{})
	for _, test := range []struct {
		block  string
		memory int64
		used   bool
	}{{"48M", 64 << 20, true}, {"48M", 32 << 20, false}, {"48M", 0, true}, {"48M", 1 << 50, true}, {"2G", 1 << 50, false}} {
		args := []string{"if=/dev/zero", "of=/dev/full", "count=1", "bs=" + test.block}
		var got engine.ExitError
		// The limit is set as soon as the program has started, which on a busy
		// machine may be when it has taken its memory.
		for range 30 {
			_, err := pool.Do(context.Background(), engine.Job{Name: "exec", Args: program{Name: "dd", Args: args, Memory: test.memory}})
			var failed *engine.JobError
			if !errors.As(err, &failed) || json.Unmarshal([]byte(failed.Message), &got) != nil {
				t.Errorf("%s of %d: got %v, want an ExitError", test.block, test.memory, err)
			}
			if strings.Contains(got.Stderr, "exhausted") != test.used {
				break
			}
		}
		if used := !strings.Contains(got.Stderr, "exhausted"); used != test.used {
			t.Errorf("%s of %d: it said %q", test.block, test.memory, got.Stderr)
		}
	}
}

func TestPathArg(t *testing.T) {
	if got := engine.PathArg("-rf"); got != "./-rf" {
		t.Errorf("got %q", got)
	}
}

// TestProgramsStart starts what engines need under all limits.
func TestProgramsStart(t *testing.T) {
	pool := start(t, engine.Config{})
	for _, test := range []struct {
		program program
		want    string
		needed  bool
	}{
		{program{Name: "qpdf", Args: []string{"--version"}}, "qpdf version", true},
		{program{Name: "pdftotext", Args: []string{"-v"}}, "", true},
		{program{Name: "mutool", Args: []string{"-v"}}, "", true},
		{program{Name: "fc-list", Args: []string{":lang=ja", "family"}}, "Noto", true},
		{program{Name: "java", Args: []string{"--version"}}, "Runtime", false},
		{program{Name: "pdftk", Args: []string{"--version"}}, "pdftk", false},
		{program{Name: "soffice", Args: []string{"--headless", "--convert-to", "pdf", "/usr/share/common-licenses/BSD"}}, "writer_pdf_Export", false},
		{program{Name: "gs", Args: []string{"-dNODISPLAY", "-dBATCH", "-dNOPAUSE", "-q", "-c", "(ready) = quit"}}, "ready", false},
		{program{Name: "python3", Args: []string{"-c", "import tempfile; print(tempfile.mkdtemp())"}}, "tmp", false},
	} {
		if _, err := exec.LookPath(test.program.Name); err != nil && !test.needed {
			t.Logf("%s is not installed", test.program.Name)
			continue
		}
		if test.program.Name == "soffice" && !hasProtection(t, pool, "own file system") {
			continue // it insists on a socket in /tmp, which is closed
		}
		got := do(t, pool, engine.Job{Name: "exec", Args: test.program})
		if !strings.Contains(string(got), test.want) {
			t.Errorf("%s: got %q, want %q in it", test.program.Name, got, test.want)
		}
	}
}

// TestKeep has a program stay while everything else ends with its job.
func TestKeep(t *testing.T) {
	pool := start(t, engine.Config{})
	token, kept := newToken(), newToken()
	for _, text := range []string{"one", "two"} {
		if got := do(t, pool, engine.Job{Name: "keep", Args: kept, Body: []byte(text)}); string(got) != text {
			t.Errorf("got %q, want %q", got, text)
		}
		do(t, pool, engine.Job{Name: "hide", Args: token})
		do(t, pool, engine.Job{Name: "litter"})
		if seen := strings.Join(describe(t, pool).Seen, " "); strings.Contains(seen, "./secret.txt") || !strings.Contains(seen, "../keep") {
			t.Errorf("the next job sees %v", seen)
		}
		if got := len(processes(t, "1000\x00"+token)); got > 0 && hasProtection(t, pool, "own processes") {
			t.Errorf("%d programs outlive their job", got)
		}
		eventually(t, "one process of the kept program", func() bool { return len(processes(t, "1000\x00"+kept)) == 1 })
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "end of all programs", func() bool { return len(processes(t, kept))+len(processes(t, token)) == 0 })
}

func TestPrepare(t *testing.T) {
	kept := newToken()
	pool := start(t, engine.Config{Prepare: &engine.Job{Name: "keep", Args: kept, Body: []byte("ready")}})
	running := func() bool { return len(processes(t, "1000\x00"+kept)) == 1 }
	// No job asks for the program.
	do(t, pool, engine.Job{Name: "echo"})
	eventually(t, "start of the kept program", running)
	before := describe(t, pool).Instance
	if _, err := pool.Do(context.Background(), engine.Job{Name: "exit"}); !errors.Is(err, engine.ErrCrashed) {
		t.Fatal(err)
	}
	if after := describe(t, pool).Instance; after == before {
		t.Error("the crashed engine took another job")
	}
	eventually(t, "start of the kept program after a crash", running)
	failing := start(t, engine.Config{Prepare: &engine.Job{Name: "complain"}})
	if _, err := failing.Do(context.Background(), engine.Job{Name: "echo"}); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
}
