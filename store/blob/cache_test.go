package blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"relaypdf/store/blob"
	"relaypdf/store/blob/blobtest"
)

// watched counts what is opened, and can be out of reach.
type watched struct {
	blob.Store

	opened atomic.Int64
	away   atomic.Bool
}

var errAway = errors.New("out of reach")

func (w *watched) Open(ctx context.Context, key string) (blob.Content, int64, error) {
	w.opened.Add(1)
	if w.away.Load() {
		return nil, 0, errAway
	}
	return w.Store.Open(ctx, key)
}

const cacheSize = 32 << 20

func newCache(t *testing.T, slow blob.Store, dir string) *blob.Cache {
	t.Helper()
	c, err := blob.NewCache(slow, dir, cacheSize, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	c.Tidy(t.Context())
	return c
}

// copies returns the files of the cache.
func copies(t *testing.T, dir string) (found []string, size int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		found, size = append(found, path), size+info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found, size
}

// TestCacheContract: with a cache, or two that share a folder, a slow place keeps
// the contract.
func TestCacheContract(t *testing.T) {
	t.Parallel()
	slow, _ := newDisk(t)
	dir := t.TempDir()
	first, second := newCache(t, slow, dir), newCache(t, slow, dir)
	blobtest.Run(t, first)
	var both sync.WaitGroup
	for i, c := range []*blob.Cache{first, second} {
		both.Go(func() {
			for n := range 30 {
				key := fmt.Sprintf("%d-%d", i, n)
				want := blobtest.Content(400_000 + n)
				if _, err := c.Put(t.Context(), key, bytes.NewReader(want)); err != nil {
					t.Errorf("Put %s: %v", key, err)
				}
				for _, reader := range []*blob.Cache{first, second} {
					r, _, err := reader.Open(t.Context(), key)
					if err != nil {
						t.Errorf("Open %s: %v", key, err)
						continue
					}
					got, err := io.ReadAll(r)
					if err = errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, want) {
						t.Errorf("%s: got %d bytes, %v", key, len(got), err)
					}
				}
			}
		})
	}
	both.Wait()
	if _, size := copies(t, dir); size > cacheSize {
		t.Errorf("the folder has %d bytes, more than %d", size, cacheSize)
	}
}

// TestCacheSparesTheSlowPlace: what was written or read once is not fetched
// again, and can be read while the slow place is out of reach.
func TestCacheSparesTheSlowPlace(t *testing.T) {
	t.Parallel()
	disk, _ := newDisk(t)
	slow := &watched{Store: disk}
	content := blobtest.Content(1 << 20)
	dir := t.TempDir()
	c := newCache(t, slow, dir)
	if _, err := c.Put(t.Context(), "written", bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), "streamed", iotest.HalfReader(bytes.NewReader(content))); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Put(t.Context(), "read", bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	if got := blobtest.Read(t, c, "read"); !bytes.Equal(got, content) {
		t.Error("the first reading: other bytes")
	}
	if got := slow.opened.Load(); got != 1 {
		t.Errorf("opened %d times, want once", got)
	}
	slow.away.Store(true)
	// Another process with the same folder has them, too.
	for _, reader := range []*blob.Cache{c, newCache(t, slow, dir)} {
		for _, key := range []string{"written", "streamed", "read"} {
			if got := blobtest.Read(t, reader, key); !bytes.Equal(got, content) {
				t.Errorf("%s: other bytes", key)
			}
		}
	}
	if c.Hits() != 3 || c.Misses() != 1 {
		t.Errorf("got %d hits and %d misses, want 3 and 1", c.Hits(), c.Misses())
	}
	if _, _, err := c.Open(t.Context(), "other"); !errors.Is(err, errAway) {
		t.Errorf("what was never read: got %v", err)
	}
}

// TestPartsAreNoCopy: who reads a part, or fails in the middle, leaves nothing that
// could be taken for the whole.
func TestPartsAreNoCopy(t *testing.T) {
	t.Parallel()
	slow, _ := newDisk(t)
	dir := t.TempDir()
	c := newCache(t, slow, dir)
	content := blobtest.Content(1 << 20)
	if _, err := slow.Put(t.Context(), "a", bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{0, 600_000, 1<<20 - 10} {
		r, _, err := c.Open(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 10)
		if _, err := r.ReadAt(got, at); err != nil || !bytes.Equal(got, content[at:at+10]) {
			t.Errorf("at %d: got %q, %v", at, got, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	broken := errors.New("broken")
	if _, err := c.Put(t.Context(), "b", io.MultiReader(bytes.NewReader(content), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if found, _ := copies(t, dir); len(found) != 0 {
		t.Errorf("left: %v", found)
	}
}

// TestDamagedCopies: whatever has become of a copy, what is read is right, and the
// copy is gone.
func TestDamagedCopies(t *testing.T) {
	t.Parallel()
	content := blobtest.Content(1 << 20)
	for name, damage := range map[string]func([]byte) []byte{
		"first byte":   func(b []byte) []byte { b[0] ^= 1; return b },
		"in between":   func(b []byte) []byte { b[700_000] ^= 1; return b },
		"sums":         func(b []byte) []byte { b[1<<20+10] ^= 1; return b },
		"end":          func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"length":       func(b []byte) []byte { b[len(b)-8] ^= 0x80; return b },
		"cut":          func(b []byte) []byte { return b[:500_000] },
		"cut in front": func(b []byte) []byte { return b[1:] },
		"empty":        func([]byte) []byte { return nil },
		"longer":       func(b []byte) []byte { return append(b, b...) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slow, _ := newDisk(t)
			dir := t.TempDir()
			c := newCache(t, slow, dir)
			if _, err := c.Put(t.Context(), "a", bytes.NewReader(content)); err != nil {
				t.Fatal(err)
			}
			found, _ := copies(t, dir)
			if len(found) != 1 {
				t.Fatalf("copies: %v", found)
			}
			is, err := os.ReadFile(found[0])
			if err == nil {
				err = os.WriteFile(found[0], damage(is), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if got := blobtest.Read(t, c, "a"); !bytes.Equal(got, content) {
					t.Errorf("got %d other bytes", len(got))
				}
			}
		})
	}
}

// TestCacheWithoutFolder: a folder that is gone, or is none any more, takes nothing
// away but speed.
func TestCacheWithoutFolder(t *testing.T) {
	t.Parallel()
	slow, _ := newDisk(t)
	dir := filepath.Join(t.TempDir(), "cache")
	c := newCache(t, slow, dir)
	content := blobtest.Content(300_000)
	for round, ruin := range []func() error{
		func() error { return os.RemoveAll(dir) },
		func() error { return os.WriteFile(dir, []byte("no folder"), 0o600) },
	} {
		if err := ruin(); err != nil {
			t.Fatal(err)
		}
		for _, r := range []io.Reader{bytes.NewReader(content), iotest.HalfReader(bytes.NewReader(content))} {
			if n, err := c.Put(t.Context(), "a", r); err != nil || n != int64(len(content)) {
				t.Errorf("round %d: Put: got %d, %v", round, n, err)
			}
			if got := blobtest.Read(t, c, "a"); !bytes.Equal(got, content) {
				t.Errorf("round %d: got %d other bytes", round, len(got))
			}
		}
		if err := c.Delete(t.Context(), "a"); err != nil {
			t.Errorf("round %d: Delete: %v", round, err)
		}
	}
}

// TestCacheForgetsWhatIsUsedLeast: the folder stays within its size, keeps what was
// read last, and does not take what is too large for it.
func TestCacheForgetsWhatIsUsedLeast(t *testing.T) {
	t.Parallel()
	disk, _ := newDisk(t)
	slow := &watched{Store: disk}
	dir := t.TempDir()
	c := newCache(t, slow, dir)
	if _, err := c.Put(t.Context(), "large", bytes.NewReader(make([]byte, cacheSize/8))); err != nil {
		t.Fatal(err)
	}
	if found, _ := copies(t, dir); len(found) != 0 {
		t.Errorf("kept what is too large: %v", found)
	}
	content := blobtest.Content(1 << 20)
	key := func(i int) string { return "k" + strings.Repeat("x", i) }
	for i := range 60 {
		if _, err := c.Put(t.Context(), key(i), bytes.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		c.Tidy(t.Context())
		if i > 0 {
			blobtest.Read(t, c, key(0))
		}
		if _, size := copies(t, dir); size > cacheSize {
			t.Fatalf("after %d: %d bytes, more than %d", i, size, cacheSize)
		}
	}
	slow.opened.Store(0)
	blobtest.Read(t, c, key(0))
	blobtest.Read(t, c, key(59))
	if got := slow.opened.Load(); got != 0 {
		t.Error("what was read all the time, or last, is not there any more")
	}
	blobtest.Read(t, c, key(1))
	if got := slow.opened.Load(); got != 1 {
		t.Error("what was not read for longest is still there")
	}
}

// TestPrune removes copies of what others have deleted, once they are not new, and asks
// for many at once.
func TestPrune(t *testing.T) {
	t.Parallel()
	slow, _ := newDisk(t)
	dir := t.TempDir()
	c := newCache(t, slow, dir)
	const old = 501 // one more than are asked for at once
	for i := range old {
		put(t, c, fmt.Sprintf("%s-%d", []string{"known", "deleted"}[i%2], i), "x")
	}
	put(t, c, "new", "x")
	found, _ := copies(t, dir)
	for _, path := range found {
		then := time.Now().Add(-time.Hour)
		if filepath.Base(path) == "new" {
			then = time.Now().Add(time.Hour) // on a slow machine as well
		}
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	var asked []int
	err := c.Prune(t.Context(), func(_ context.Context, keys []string) (map[string]bool, error) {
		asked = append(asked, len(keys))
		known := map[string]bool{}
		for _, key := range keys {
			known[key] = strings.HasPrefix(key, "known")
		}
		return known, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(asked, []int{500, 1}) {
		t.Errorf("asked for %d copies, want 500 and 1", asked)
	}
	left, _ := copies(t, dir)
	if len(left) != (old+1)/2+1 || slices.ContainsFunc(left, func(path string) bool { return strings.HasPrefix(filepath.Base(path), "deleted") }) {
		t.Errorf("%d copies are left, want what is known and what is new", len(left))
	}
	gone := errors.New("the database is gone")
	err = c.Prune(t.Context(), func(context.Context, []string) (map[string]bool, error) { return nil, gone })
	if after, _ := copies(t, dir); !errors.Is(err, gone) || len(after) != len(left) {
		t.Errorf("without an answer: %v, and %d of %d copies are left", err, len(after), len(left))
	}
}

// TestCacheLooksAtItsFolderLater: a cache whose folder is full begins without looking
// at it. Copies that are there are read, no new one is kept until there is room, and
// the folder stays within its size while many write.
func TestCacheLooksAtItsFolderLater(t *testing.T) {
	t.Parallel()
	disk, _ := newDisk(t)
	slow := &watched{Store: disk}
	dir := t.TempDir()
	open := func() *blob.Cache {
		t.Helper()
		c, err := blob.NewCache(slow, dir, cacheSize, slog.New(slog.NewTextHandler(t.Output(), nil)))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	content := blobtest.Content(1 << 20)
	former := open()
	former.Tidy(t.Context())
	put(t, former, "there", string(content))

	c := open()
	put(t, c, "early", string(content))
	slow.opened.Store(0)
	if got := blobtest.Read(t, c, "there"); !bytes.Equal(got, content) || slow.opened.Load() != 0 {
		t.Errorf("the copy that was there: %d bytes, asked for %d times elsewhere", len(got), slow.opened.Load())
	}
	if found, _ := copies(t, dir); len(found) != 1 {
		t.Errorf("kept before the folder was looked at: %v", found)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); c.Run(ctx) }()
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := range 20 {
				if _, err := c.Put(t.Context(), fmt.Sprintf("w%d-%d", w, i), bytes.NewReader(content)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	stop()
	<-ended
	found, size := copies(t, dir)
	if size > cacheSize {
		t.Errorf("%d bytes are in the folder, more than %d", size, cacheSize)
	}
	for _, path := range found {
		if got := blobtest.Read(t, c, filepath.Base(path)); !bytes.Equal(got, content) {
			t.Errorf("%s: %d other bytes", path, len(got))
		}
	}
	c.Tidy(t.Context())
	put(t, c, "late", string(content))
	slow.opened.Store(0)
	if blobtest.Read(t, c, "late"); slow.opened.Load() != 0 {
		t.Error("nothing is kept after the folder was looked at")
	}
}
