package blob_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/relaypdf/relaypdf/store/blob"
)

func newBlobs(t *testing.T) (blob.Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "blobs")
	b, err := blob.NewDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	return b, dir
}

// files returns the regular files below dir.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b, dir := newBlobs(t)
	content := bytes.Repeat([]byte("0123456789"), 100_000)
	if n, err := b.Put(ctx, "file_a.pdf", bytes.NewReader(content)); err != nil || n != int64(len(content)) {
		t.Fatalf("Put: got %d, %v", n, err)
	}
	r, size, err := b.Open(ctx, "file_a.pdf")
	if err != nil || size != int64(len(content)) {
		t.Fatalf("Open: got %d, %v", size, err)
	}
	if _, err := r.Seek(-3, io.SeekEnd); err != nil {
		t.Error(err)
	}
	if tail, err := io.ReadAll(r); err != nil || string(tail) != "789" {
		t.Errorf("tail: got %q, %v", tail, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	for _, path := range files(t, dir) {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %v, %v; want mode 0600", path, info.Mode(), err)
		}
		if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("folder of %s: got %v, %v; want mode 0700", path, info.Mode(), err)
		}
	}
	if _, err := b.Put(ctx, "file_a.pdf", strings.NewReader("new")); err != nil {
		t.Fatal(err)
	}
	var listed []blob.Entry
	err = b.List(ctx, "", func(blob blob.Entry) error { listed = append(listed, blob); return nil })
	if err != nil || len(listed) != 1 || listed[0].Key != "file_a.pdf" || listed[0].Size != 3 {
		t.Errorf("List: got %+v, %v", listed, err)
	}
	if err := b.Delete(ctx, "file_a.pdf"); err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(ctx, "file_a.pdf"); err != nil {
		t.Errorf("Delete again: got %v", err)
	}
	if _, _, err := b.Open(ctx, "file_a.pdf"); !errors.Is(err, blob.ErrMissing) {
		t.Errorf("Open after Delete: got %v, want ErrMissing", err)
	}
}

func TestBlobKeysStayInside(t *testing.T) {
	t.Parallel()
	b, dir := newBlobs(t)
	outside := filepath.Join(dir, "..", "outside")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"", ".", "..", "../outside", "../../outside", "/etc/passwd", "a/b", `a\b`, "a\x00b", ".part-1", "_x", "-x",
		"a b", "ä", "a\n", "%2e%2e%2foutside", strings.Repeat("a", 201),
	} {
		if _, err := b.Put(t.Context(), key, strings.NewReader("x")); !errors.Is(err, blob.ErrMissing) {
			t.Errorf("Put(%q): got %v, want ErrMissing", key, err)
		}
		if _, _, err := b.Open(t.Context(), key); !errors.Is(err, blob.ErrMissing) {
			t.Errorf("Open(%q): got %v, want ErrMissing", key, err)
		}
		if err := b.Delete(t.Context(), key); !errors.Is(err, blob.ErrMissing) {
			t.Errorf("Delete(%q): got %v, want ErrMissing", key, err)
		}
	}
	if got, err := os.ReadFile(outside); err != nil || string(got) != "secret" {
		t.Errorf("the file outside: got %q, %v", got, err)
	}
	if found := files(t, dir); len(found) != 0 {
		t.Errorf("files left: %v", found)
	}
	for _, key := range []string{"a", "0.pdf", "file_abc-DEF.2", strings.Repeat("a", 200)} {
		if _, err := b.Put(t.Context(), key, strings.NewReader("x")); err != nil {
			t.Errorf("Put(%q): %v", key, err)
		}
	}
}

// TestFailedPutLeavesNothing checks that neither a failing reader nor an ended context changes the existing blob.
func TestFailedPutLeavesNothing(t *testing.T) {
	t.Parallel()
	b, dir := newBlobs(t)
	if _, err := b.Put(t.Context(), "kept", strings.NewReader("old")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if _, err := b.Put(t.Context(), "kept", io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("Put from a broken reader: got %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Put(ended, "kept", strings.NewReader("new")); !errors.Is(err, context.Canceled) {
		t.Errorf("Put after the end: got %v", err)
	}
	found := files(t, dir)
	if len(found) != 1 {
		t.Fatalf("files: got %v, want one", found)
	}
	if got, err := os.ReadFile(found[0]); err != nil || string(got) != "old" {
		t.Errorf("blob: got %q, %v; want the old one", got, err)
	}
}

// TestCrashedPuts checks that the remains of a crash are never a blob, and are removed when no process holds them
// any more.
func TestCrashedPuts(t *testing.T) {
	t.Parallel()
	b, dir := newBlobs(t)
	if _, err := b.Put(t.Context(), "kept", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(files(t, dir)[0])
	// The new one is from the future, so that it is new on a slow machine as well.
	for name, age := range map[string]time.Duration{".part-left": time.Minute, ".part-held": time.Hour, ".part-new": -time.Hour} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	held, err := os.Open(filepath.Join(folder, ".part-held"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	listed := 0
	if err := b.List(t.Context(), "", func(blob.Entry) error { listed++; return nil }); err != nil || listed != 1 {
		t.Errorf("List: got %d, %v; want 1", listed, err)
	}
	if err := b.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found := files(t, dir); len(found) != 3 {
		t.Errorf("files: got %v, want the blob, the part that is held and the new one", found)
	}
}
