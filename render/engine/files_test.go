package engine_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/spool"
)

// file returns an input of random bytes, which are not worth compressing.
func file(t testing.TB, name string, size int) (engine.File, []byte) {
	t.Helper()
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(content) // never fails
	f := spool.New(t.TempDir(), 0)
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	return engine.File{Name: name, Content: f}, content
}

// runJob runs a job that must succeed, and closes its results with the test.
func runJob(t testing.TB, pool *engine.Pool, job engine.Job) engine.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	result, err := pool.Run(ctx, job)
	if err != nil {
		t.Fatalf("job %s: %v", job.Name, err)
	}
	t.Cleanup(func() {
		if err := result.Close(); err != nil {
			t.Error(err)
		}
	})
	return result
}

func TestFiles(t *testing.T) {
	pool := start(t, engine.Config{})
	large, largeBytes := file(t, "ä large one.pdf", 20<<20+7)
	small, smallBytes := file(t, "-rf", 1000)
	empty, _ := file(t, "empty", 0)
	for range 2 {
		result := runJob(t, pool, engine.Job{
			Name: "copy", Args: []string{"empty", "-rf", "ä large one.pdf"}, Files: []engine.File{large, small, empty},
		})
		for i, want := range []struct {
			name    string
			content []byte
		}{{"copy of empty", nil}, {"copy of -rf", smallBytes}, {"copy of ä large one.pdf", largeBytes}} {
			got, err := io.ReadAll(result.Output(i).Open())
			if err != nil || result.Files[i].Name != want.name || !bytes.Equal(got, want.content) {
				t.Errorf("output %d: %q of %d bytes, %v, want %q of %d", i, result.Files[i].Name, len(got), err, want.name, len(want.content))
			}
		}
		if len(result.Files) != 3 || result.Output(3) != nil {
			t.Errorf("%d outputs, want 3", len(result.Files))
		}
	}
	if left := describe(t, pool).Seen; strings.Contains(strings.Join(left, " "), "large") {
		t.Errorf("the next job found %v", left)
	}
}

// TestFilesAreNotHeldInMemory sends and receives 50 MB.
func TestFilesAreNotHeldInMemory(t *testing.T) {
	pool := start(t, engine.Config{})
	large, _ := file(t, "large", 50_000_000)
	runJob(t, pool, engine.Job{Name: "echo"})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	result := runJob(t, pool, engine.Job{Name: "copy", Args: []string{"large"}, Files: []engine.File{large}})
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
		t.Errorf("the server allocated %d MiB for 50 MB in and out, want at most 16", took>>20)
	}
	if got := result.Output(0).Size(); got != 50_000_000 {
		t.Errorf("got %d bytes", got)
	}
}

// unreadable is an input that breaks off.
type unreadable struct{ err error }

func (unreadable) Size() int64                { return 1 << 20 }
func (u unreadable) Open() io.ReadSeeker      { return u }
func (u unreadable) Read([]byte) (int, error) { return 0, u.err }
func (unreadable) Seek(int64, int) (int64, error) {
	return 0, errors.New("not needed")
}

func TestInputsThatFail(t *testing.T) {
	pool := start(t, engine.Config{Disk: 8 << 20})
	broken := errors.New("disk of the server is broken")
	large, _ := file(t, "large", 20<<20)
	small, _ := file(t, "small", 10)
	for _, test := range []struct {
		name  string
		files []engine.File
		want  error
	}{
		{"cannot be read", []engine.File{{Name: "a", Content: unreadable{broken}}}, broken},
		{"too short", []engine.File{{Name: "a", Content: unreadable{io.EOF}}}, io.ErrUnexpectedEOF},
		{"does not fit", []engine.File{small, large}, engine.ErrDiskFull},
		{"too many", make([]engine.File, 1000), engine.ErrTooLarge},
	} {
		_, err := pool.Run(context.Background(), engine.Job{Name: "copy", Args: []string{}, Files: test.files})
		if !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
		do(t, pool, engine.Job{Name: "echo"})
	}
	for _, name := range []string{"", ".", "..", "a/b", "/etc/passwd", "../a", "nul\x00", strings.Repeat("x", 300)} {
		if _, err := pool.Run(context.Background(), engine.Job{Name: "echo", Files: []engine.File{{Name: name, Content: small.Content}}}); err == nil {
			t.Errorf("an input called %.20q was taken", name)
		}
	}
	if _, err := pool.Run(context.Background(), engine.Job{Name: "echo", Files: []engine.File{small, small}}); err == nil {
		t.Error("two inputs of one name were taken")
	}
}

func TestOutputsThatAreRefused(t *testing.T) {
	dir := sharedDir(t)
	pool := start(t, engine.Config{Dir: dir})
	for _, kind := range []string{"link", "pipe", "folder", "path", "twice", "missing"} {
		result, err := pool.Run(context.Background(), engine.Job{Name: "plant", Args: kind})
		var refused *engine.JobError
		if !errors.As(err, &refused) || len(result.Files) > 0 {
			t.Errorf("%s: got %v and %d files, want an error", kind, err, len(result.Files))
		}
	}
	_, err := pool.Run(context.Background(), engine.Job{Name: "plant", Args: "file", MaxOutput: 1 << 20})
	if !errors.Is(err, engine.ErrOutputTooLarge) {
		t.Errorf("2 MiB of output: got %v, want ErrOutputTooLarge", err)
	}
	runJob(t, pool, engine.Job{Name: "plant", Args: "file", MaxOutput: 2 << 20})
}

// TestLiars runs engines that announce what they may not or do not send.
func TestLiars(t *testing.T) {
	for _, how := range []string{"large file", "negative file", "many files", "path", "short file", "large body"} {
		t.Run(how, func(t *testing.T) {
			dir := sharedDir(t)
			pool := start(t, engine.Config{Dir: dir, Command: []string{"/proc/self/exe", "liar", how}})
			result, err := pool.Run(context.Background(), engine.Job{Name: "echo"})
			if !errors.Is(err, engine.ErrCrashed) || len(result.Files) > 0 {
				t.Errorf("got %v and %d files, want ErrCrashed", err, len(result.Files))
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) > 1 {
				t.Errorf("left in the folder: %v, %v", entries, err)
			}
		})
	}
}

func BenchmarkFile(b *testing.B) {
	pool := start(b, engine.Config{MaxJobs: 1 << 30})
	input, _ := file(b, "input", 1_000_000)
	for b.Loop() {
		result, err := pool.Run(context.Background(), engine.Job{Name: "copy", Args: []string{"input"}, Files: []engine.File{input}})
		if err != nil {
			b.Fatal(err)
		}
		result.Close()
	}
}

// BenchmarkStart measures a child from its start to its first answer.
func BenchmarkStart(b *testing.B) {
	dir := sharedDir(b)
	for b.Loop() {
		pool, err := engine.Start(engine.Config{Dir: dir, Size: 1})
		if err != nil {
			b.Fatal(err)
		}
		do(b, pool, engine.Job{Name: "echo"})
		if err := pool.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
