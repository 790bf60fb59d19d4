package blob_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/store/storetest"
)

func newDisk(t *testing.T) blob.Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "blobs")
	b, err := blob.NewDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t *testing.T, b blob.Store, key, content string) {
	t.Helper()
	if _, err := b.Put(t.Context(), key, bytes.NewReader([]byte(content))); err != nil {
		t.Fatal(err)
	}
}

// TestContract: every place that needs no server keeps it.
func TestContract(t *testing.T) {
	t.Parallel()
	disk := newDisk(t)
	t.Run("disk", func(t *testing.T) {
		t.Parallel()
		storetest.Blobs(t, disk)
	})
}

// liar is a place that gives back something else than it was given.
type liar struct{ blob.Store }

func (l liar) Put(ctx context.Context, key string, r io.Reader) (int64, error) {
	content, err := io.ReadAll(r)
	if err != nil {
		return 0, err
	}
	content[0] ^= 1
	return l.Store.Put(ctx, key, bytes.NewReader(content))
}

func TestMove(t *testing.T) {
	t.Parallel()
	from := newDisk(t)
	to := newDisk(t)
	for _, key := range []string{"a", "b", "c"} {
		put(t, from, key, "content of "+key)
	}
	put(t, to, "b", "content of b") // by a move that was cut short
	put(t, from, "later", "old")
	put(t, to, "later", "new")

	if _, err := blob.Move(t.Context(), from, liar{to}); err == nil {
		t.Error("a copy that differs: got no error")
	}
	left := storetest.List(t, from)
	if len(left) != 2 {
		t.Fatalf("after a bad copy: got %v in the former place, want what could not be moved", left)
	}
	for _, key := range []string{"a", "c"} {
		if err := to.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	done, err := blob.Move(t.Context(), from, to)
	if err != nil || done != (blob.Moved{Blobs: 2, Bytes: 24}) {
		t.Errorf("got %+v, %v", done, err)
	}
	for key, want := range map[string]string{"a": "content of a", "b": "content of b", "c": "content of c", "later": "new"} {
		if got := storetest.Read(t, to, key); string(got) != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
	if again, err := blob.Move(t.Context(), from, to); err != nil || again != (blob.Moved{}) {
		t.Errorf("again: got %+v, %v", again, err)
	}
}

// TestSums: changed, missing and added bytes of a blob are found, and none of its bytes are returned.
func TestSums(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 256 << 10, 256<<10 + 1, 40 << 20} {
		content := storetest.Content(size)
		summer := blob.NewSummer(int64(size))
		if _, err := io.Copy(summer, bytes.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		sums, err := blob.ParseSums(summer.Sums().String())
		if err != nil || sums.Size != int64(size) {
			t.Fatalf("%d bytes: got %+v, %v", size, sums, err)
		}
		if text := sums.String(); len(text) > 1800 {
			t.Errorf("%d bytes: the sums take %d bytes, too many for an object's metadata", size, len(text))
		}
		if got, err := io.ReadAll(blob.NewContent(sums, chunksOf{content, sums.Chunk})); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes: got %d, %v", size, len(got), err)
		}
		if size == 0 {
			continue
		}
		content = slices.Clone(content)
		content[size/2] ^= 1
		got, err := io.ReadAll(blob.NewContent(sums, chunksOf{content, sums.Chunk}))
		if !errors.Is(err, blob.ErrDamaged) || int64(len(got)) > int64(size/2)/sums.Chunk*sums.Chunk {
			t.Errorf("%d bytes, one of them changed: got %d of them, %v", size, len(got), err)
		}
	}
	for _, text := range []string{"", "1", "2.0.262144.", "1.1.262144.", "1.x.1.", "1.-1.1.", "1.0.0.", "1.1.262144.AAAA", "1.1.262144.!"} {
		if _, err := blob.ParseSums(text); !errors.Is(err, blob.ErrDamaged) {
			t.Errorf("ParseSums(%q): got %v, want ErrDamaged", text, err)
		}
	}
}

type chunksOf struct {
	content []byte
	chunk   int64
}

func (c chunksOf) Chunk(i int64, p []byte) error {
	copy(p, c.content[i*c.chunk:])
	return nil
}

func (c chunksOf) Close() error { return nil }
