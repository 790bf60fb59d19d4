package render_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/spool"
)

// archiveOf makes an archive and returns its bytes.
func archiveOf(tb testing.TB, entries []render.ZipEntry) []byte {
	tb.Helper()
	archive, err := render.Zip(tb.Context(), entries)
	if err != nil {
		tb.Fatal(err)
	}
	defer archive.Close()
	content, err := io.ReadAll(archive.Open())
	if err != nil || int64(len(content)) != archive.Size() {
		tb.Fatalf("read %d of %d bytes: %v", len(content), archive.Size(), err)
	}
	return content
}

func entry(name string, content []byte) render.ZipEntry {
	return render.ZipEntry{Name: name, Content: spool.FromBytes(content)}
}

// zipProse is text that deflates well.
func zipProse(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "Line %d of a letter that goes on and on.\n", i)
	}
	return b.Bytes()[:size]
}

func noise(tb testing.TB, size int) []byte {
	tb.Helper()
	b := make([]byte, size)
	if _, err := rand.Read(b); err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestZipHoldsItsFiles(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	compressor := gzip.NewWriter(&packed)
	if _, err := compressor.Write(noise(t, 300_000)); err != nil {
		t.Fatal(err)
	}
	if err := compressor.Close(); err != nil {
		t.Fatal(err)
	}
	files := []struct {
		name    string
		content []byte
		method  uint16
	}{
		{"letters/äöü 日本語 😀.txt", zipProse(3 << 20), zip.Deflate},
		{"noise.txt", noise(t, 3<<20), zip.Store},
		{"small.txt", bytes.Repeat([]byte("small "), 20), zip.Deflate},
		{"tiny", []byte("x"), zip.Store},
		{"empty", nil, zip.Store},
		// Text before and after what is compressed already is not all of it.
		{"photo.jpeg", append(zipProse(20_000), noise(t, 500_000)...), zip.Deflate},
		{"log.gz", packed.Bytes(), zip.Store},
	}
	var entries []render.ZipEntry
	for _, file := range files {
		entries = append(entries, entry(file.name, file.content))
	}
	before := time.Now().Add(-3 * time.Second) // Times in archives are even seconds.
	archive := archiveOf(t, entries)
	reader, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	if len(reader.File) != len(files) {
		t.Fatalf("%d entries, want %d", len(reader.File), len(files))
	}
	for i, f := range reader.File {
		want := files[i]
		if f.Name != want.name || f.Method != want.method || f.NonUTF8 {
			t.Errorf("entry %q of method %d (not UTF-8: %t), want %q of %d", f.Name, f.Method, f.NonUTF8, want.name, want.method)
		}
		if f.Flags&8 != 0 {
			t.Errorf("%s: its size stands behind it", f.Name)
		}
		if f.Mode() != 0o644 || f.Modified.Before(before) || f.Modified.After(time.Now().Add(time.Second)) {
			t.Errorf("%s: mode %v, modified %v", f.Name, f.Mode(), f.Modified)
		}
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(content)
		if err != nil || !bytes.Equal(got, want.content) {
			t.Errorf("%s: %d bytes (error %v), want the %d of the file", f.Name, len(got), err, len(want.content))
		}
		_ = content.Close()
	}
	readByOthers(t, archive, len(files))
}

// readByOthers has Info-ZIP and Python, in which each byte is checked, read an
// archive.
func readByOthers(t *testing.T, archive []byte, files int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "archive.zip")
	if err := os.WriteFile(path, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	const script = `import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    assert z.testzip() is None
    print(len(z.namelist()))`
	for _, program := range [][]string{{"unzip", "-tqq", path}, {"python3", "-c", script, path}} {
		out, err := exec.CommandContext(t.Context(), program[0], program[1:]...).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", program[0], err, out)
		}
		if got, want := string(out), fmt.Sprintln(files); program[0] == "python3" && got != want {
			t.Errorf("python3 found %q, want %q", got, want)
		}
	}
}

func TestZipNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 130)
	for _, test := range []struct{ names, want []string }{
		{[]string{"a.txt", "a.txt", "A.TXT", "a (2).txt"}, []string{"a.txt", "a (2).txt", "A (3).TXT", "a (2) (2).txt"}},
		{[]string{"x/a", "y/a", "x/a"}, []string{"x/a", "y/a", "x/a (2)"}},
		{[]string{".env", ".env", "archive.tar.gz", "archive.tar.gz"}, []string{".env", ".env (2)", "archive.tar.gz", "archive.tar (2).gz"}},
		// A name cannot be that of a file and of a folder.
		{[]string{"a", "A/b", "c/d", "C"}, []string{"a", "b", "c/d", "C (2)"}},
		// Ways out.
		{[]string{"../../etc/passwd", "a/../../b", `..\..\c`, "/etc/d", "//host/share/e"}, []string{"passwd", "b", "c", "d", "e"}},
		{[]string{`C:\Windows\f`, "c:g", `\\host\share\h`, `\i`, "a/.. /j", "a/\u200e../k"}, []string{"f", "g", "h", "i", "j", "k"}},
		{[]string{"..", "../", ".", "/", `\`, "C:", ". .", "a/"}, []string{"file", "file (2)", "file (3)", "file (4)", "file (5)", "file (6)", "file (7)", "a/file"}},
		{[]string{"./a//b/./c", `d\e`, " f . ", "g/ h /i"}, []string{"a/b/c", "d/e", "f", "g/h/i"}},
		// Hidden characters, and characters that Windows does not allow.
		{[]string{"a\x00b", "c\r\nd\x7f", "e\u202efdp.exe", "\x00", "g\ufffd"}, []string{"ab", "cd", "efdp.exe", "file", "g"}},
		{[]string{`a<b>:"|?*c`, "NUL", "con.txt", "console.txt", "x/LPT1"}, []string{"a_b______c", "_NUL", "_con.txt", "console.txt", "x/_LPT1"}},
		{[]string{long + ".pdf", long + ".pdf", "x." + long}, []string{
			strings.Repeat("ä", 98) + ".pdf", strings.Repeat("ä", 98) + " (2).pdf", "x." + strings.Repeat("ä", 99)}},
	} {
		var entries []render.ZipEntry
		for _, name := range test.names {
			entries = append(entries, entry(name, []byte(name)))
		}
		archive := archiveOf(t, entries)
		reader, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			t.Fatal(err) // Go's reader refuses names that are not local, too.
		}
		var got []string
		for _, f := range reader.File {
			got = append(got, f.Name)
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q:\ngot  %q\nwant %q", test.names, got, test.want)
		}
	}
}

// FuzzZipNames holds names to what keeps an unpacked archive in its folder.
func FuzzZipNames(f *testing.F) {
	f.Add("../a", "a/b", `C:\a`)
	f.Add("a", "A/b", "a/B/c")
	f.Add("\u202e..", ". ./x", "nul.txt/y")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		archive := archiveOf(t, []render.ZipEntry{entry(a, nil), entry(b, nil), entry(c, nil)})
		reader, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			t.Fatalf("%q %q %q: %v", a, b, c, err)
		}
		seen := map[string]bool{}
		for _, file := range reader.File {
			key := strings.ToLower(file.Name)
			if !filepath.IsLocal(file.Name) || strings.ContainsAny(file.Name, "\\:\x00") || seen[key] || strings.HasSuffix(key, "/") {
				t.Errorf("%q %q %q: name %q", a, b, c, file.Name)
			}
			seen[key] = true
		}
	})
}

func TestZipEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := render.Zip(ctx, []render.ZipEntry{entry("a", []byte("a"))}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	broken := errors.New("broken disk")
	if _, err := render.Zip(t.Context(), []render.ZipEntry{{Name: "a", Content: brokenFile{broken}}}); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	// A bug that one file meets fails its archive, whatever else is packed.
	panics := []render.ZipEntry{entry("b", []byte("b"))}
	for range 2 * runtime.GOMAXPROCS(0) {
		panics = append(panics, render.ZipEntry{Name: "a", Content: panickingFile{}})
	}
	if _, err := render.Zip(t.Context(), panics); err == nil || !strings.Contains(err.Error(), "panic: ") {
		t.Errorf("error %v, want that of the panic", err)
	}
	// Many times the same file is over the limit of a result.
	large := entry("large", noise(t, 8<<20))
	var limit *chrome.LimitError
	var entries []render.ZipEntry
	for range render.MaxBytes/(8<<20) + 1 {
		entries = append(entries, large)
	}
	if _, err := render.Zip(t.Context(), entries); !errors.As(err, &limit) || limit.Max != render.MaxBytes {
		t.Errorf("error %v, want a *LimitError of %d", err, render.MaxBytes)
	}
}

// brokenFile cannot be read.
type brokenFile struct{ err error }

func (brokenFile) Size() int64                { return 1 << 20 }
func (b brokenFile) Open() io.ReadSeeker      { return b }
func (b brokenFile) Read([]byte) (int, error) { return 0, b.err }
func (brokenFile) Seek(int64, int) (int64, error) {
	return 0, nil
}

// panickingFile is one whose reader has a bug.
type panickingFile struct{}

func (panickingFile) Size() int64         { return 1 << 20 }
func (panickingFile) Open() io.ReadSeeker { panic("a bug in what reads a file") }

// BenchmarkZip packs what the `zip` program is compared on: 30 files of 1 MiB,
// half of which are compressed already.
func BenchmarkZip(b *testing.B) {
	var entries []render.ZipEntry
	for i := range 30 {
		content := zipProse(1 << 20)
		if i%2 == 0 {
			content = noise(b, 1<<20)
		}
		entries = append(entries, entry(fmt.Sprintf("%d.bin", i), content))
	}
	b.SetBytes(30 << 20)
	for b.Loop() {
		archive, err := render.Zip(b.Context(), entries)
		if err != nil {
			b.Fatal(err)
		}
		_ = archive.Close()
	}
}
