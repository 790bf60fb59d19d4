package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/relaypdf/relaypdf/store/blob"
)

// Blobs tests that an empty blob store fulfils the contract of all, and leaves it empty.
func Blobs(t *testing.T, b blob.Store) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(*testing.T, blob.Store)
	}{
		{"RoundTrip", roundTrip},
		{"Sizes", sizes},
		{"Keys", keys},
		{"FailedPut", failedPut},
		{"Ranges", ranges},
		{"Together", together},
		{"Places", places},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(t, b)
			for _, entry := range List(t, b) {
				if err := b.Delete(t.Context(), entry.Key); err != nil {
					t.Error(err)
				}
			}

			if left := List(t, b); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// List returns every blob.
func List(t *testing.T, b blob.Store) (found []blob.Entry) {
	t.Helper()
	if err := b.List(t.Context(), "", func(e blob.Entry) error { found = append(found, e); return nil }); err != nil {
		t.Fatalf("List: %v", err)
	}
	return found
}

// places: a list that is cut short can be gone on with after each of its blobs, that
// one deleted or not.
func places(t *testing.T, b blob.Store) {
	t.Helper()
	for i := range 20 {
		if _, err := b.Put(t.Context(), fmt.Sprintf("blob-%d", i*i), strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
	}

	all := List(t, b)
	if len(all) != 20 {
		t.Fatalf("%d blobs are listed, want 20", len(all))
	}

	for i, entry := range all {
		if err := b.Delete(t.Context(), entry.Key); err != nil {
			t.Fatal(err)
		}

		var rest []string
		err := b.List(t.Context(), entry.Cursor, func(e blob.Entry) error { rest = append(rest, e.Key); return nil })
		if err != nil {
			t.Fatal(err)
		}

		var want []string
		for _, e := range all[i+1:] {
			want = append(want, e.Key)
		}

		if !slices.Equal(rest, want) {
			t.Errorf("after %s: %q, want %q", entry.Key, rest, want)
		}
	}
}

// Read returns the content of a blob.
func Read(t *testing.T, b blob.Store, key string) []byte {
	t.Helper()
	r, size, err := b.Open(t.Context(), key)
	if err != nil {
		t.Fatalf("Open %s: %v", key, err)
	}

	got, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil || int64(len(got)) != size {
		t.Fatalf("%s: read %d of %d bytes, %v", key, len(got), size, err)
	}
	return got
}

// Content is that many bytes that look like no others.
func Content(size int) []byte {
	content := make([]byte, size)
	source := rand.NewChaCha8([32]byte{byte(size), byte(size >> 8), byte(size >> 16)})
	_, _ = source.Read(content)
	return content
}

func roundTrip(t *testing.T, b blob.Store) {
	t.Helper()
	ctx := t.Context()
	before := time.Now().Add(-time.Hour)
	if n, err := b.Put(ctx, "file_a.pdf", strings.NewReader("content")); err != nil || n != 7 {
		t.Fatalf("Put: got %d, %v", n, err)
	}
	if got := Read(t, b, "file_a.pdf"); string(got) != "content" {
		t.Errorf("got %q", got)
	}

	if _, err := b.Put(ctx, "file_a.pdf", strings.NewReader("new")); err != nil {
		t.Fatal(err)
	}
	if got := Read(t, b, "file_a.pdf"); string(got) != "new" {
		t.Errorf("got %q, want what was put last", got)
	}

	listed := List(t, b)
	if len(listed) != 1 || listed[0].Key != "file_a.pdf" || listed[0].Size != 3 || listed[0].ModTime.Before(before) {
		t.Errorf("List: got %+v", listed)
	}

	stop := errors.New("stop")
	if err := b.List(ctx, "", func(blob.Entry) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("List that is stopped: got %v", err)
	}
	if err := b.Sweep(ctx); err != nil {
		t.Errorf("Sweep: %v", err)
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
	deleteMany(t, b)
}

// deleteMany deletes many at once, one among them that is not there.
func deleteMany(t *testing.T, b blob.Store) {
	t.Helper()
	ctx := t.Context()
	many := []string{"many_a", "many_b", "missing"}
	for _, key := range many[:2] {
		if _, err := b.Put(ctx, key, strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := b.Put(ctx, "stays", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}

	if tried, failed := blob.DeleteAll(ctx, b, many); tried != len(many) || len(failed) > 0 {
		t.Errorf("DeleteAll tried %d, and failed for %v", tried, failed)
	}
	if left := List(t, b); len(left) != 1 || left[0].Key != "stays" {
		t.Errorf("after DeleteAll there are %v, want what was not named", left)
	}

	if err := b.Delete(ctx, "stays"); err != nil {
		t.Error(err)
	}
}

// sizes tests every way of sending and reading: at once, in chunks, in parts, from memory and from a stream that
// can be read once only.
func sizes(t *testing.T, b blob.Store) {
	t.Helper()
	for _, size := range []int{0, 1, 256<<10 - 1, 256 << 10, 256<<10 + 1, 1 << 20, 1<<20 + 1, 17<<20 + 3, 40 << 20} {
		content := Content(size)
		for _, source := range []struct {
			name string
			r    io.Reader
		}{
			{"file", bytes.NewReader(content)},
			{"stream", iotest.OneByteReader(bytes.NewReader(content[:min(size, 4096)]))},
			{"pipe", struct{ io.Reader }{bytes.NewReader(content)}},
		} {
			want := content
			if source.name == "stream" {
				want = content[:min(size, 4096)]
			}

			key := fmt.Sprintf("size-%d-%s", size, source.name)
			if n, err := b.Put(t.Context(), key, source.r); err != nil || n != int64(len(want)) {
				t.Fatalf("Put %s: got %d, %v", key, n, err)
			}
			if got := Read(t, b, key); !bytes.Equal(got, want) {
				t.Errorf("%s: got %d other bytes", key, len(got))
			}
			if err := b.Delete(t.Context(), key); err != nil {
				t.Error(err)
			}
		}
	}

	// Put continues a partly read reader from its position.
	begun := bytes.NewReader([]byte("0123456789"))
	if _, err := begun.Seek(4, io.SeekStart); err != nil {
		t.Fatal(err)
	}

	if n, err := b.Put(t.Context(), "begun", begun); err != nil || n != 6 {
		t.Fatalf("Put: got %d, %v", n, err)
	}
	if got := Read(t, b, "begun"); string(got) != "456789" {
		t.Errorf("got %q", got)
	}
}

func keys(t *testing.T, b blob.Store) {
	t.Helper()
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

	for _, key := range []string{"a", "0.pdf", "file_abc-DEF.2", strings.Repeat("a", 200)} {
		if _, err := b.Put(t.Context(), key, strings.NewReader(key)); err != nil {
			t.Errorf("Put(%q): %v", key, err)
		}
		if got := Read(t, b, key); string(got) != key {
			t.Errorf("%s: got %q", key, got)
		}
	}
}

// failedPut checks that neither a failing reader nor an ended context changes the existing blob.
func failedPut(t *testing.T, b blob.Store) {
	t.Helper()
	if _, err := b.Put(t.Context(), "kept", strings.NewReader("old")); err != nil {
		t.Fatal(err)
	}

	broken := errors.New("broken")
	for _, size := range []int{4, 2 << 20, 20 << 20} {
		r := io.MultiReader(bytes.NewReader(make([]byte, size)), iotest.ErrReader(broken))
		if _, err := b.Put(t.Context(), "kept", r); !errors.Is(err, broken) {
			t.Errorf("Put from a broken reader: got %v", err)
		}
	}

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Put(ended, "kept", strings.NewReader("new")); !errors.Is(err, context.Canceled) {
		t.Errorf("Put after the end: got %v", err)
	}

	if got := Read(t, b, "kept"); string(got) != "old" {
		t.Errorf("got %q, want the old one", got)
	}
	if listed := List(t, b); len(listed) != 1 {
		t.Errorf("List: got %v, want one", listed)
	}
}

// ranges reads as downloads and parsers do: parts, out of order.
func ranges(t *testing.T, b blob.Store) {
	t.Helper()
	content := Content(3<<20 + 17)
	if _, err := b.Put(t.Context(), "ranges", bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}

	r, size, err := b.Open(t.Context(), "ranges")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()

	for _, at := range []struct{ from, length int64 }{
		{0, 10},
		{size - 5, 5},
		{size - 5, 50},
		{256<<10 - 3, 6},
		{1 << 20, 600 << 10},
		{0, 1},
		{size, 1},
		{size + 7, 1},
	} {
		got := make([]byte, at.length)
		n, err := r.ReadAt(got, at.from)
		want := content[min(at.from, size):min(at.from+at.length, size)]
		if !bytes.Equal(got[:n], want) || (int64(n) < at.length) != errors.Is(err, io.EOF) {
			t.Errorf("%d bytes at %d: got %d, %v", at.length, at.from, n, err)
		}
	}

	if _, err := r.Seek(-3, io.SeekEnd); err != nil {
		t.Error(err)
	}
	if tail, err := io.ReadAll(r); err != nil || !bytes.Equal(tail, content[size-3:]) {
		t.Errorf("tail: got %q, %v", tail, err)
	}
	if _, err := r.Seek(-1, io.SeekStart); err == nil {
		t.Error("Seek before the beginning: got no error")
	}

	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _, err := b.Open(r.Context(), "ranges")
		if err != nil {
			t.Error(err)
			return
		}
		defer body.Close()
		http.ServeContent(w, r, "", time.Time{}, body)
	}))
	defer site.Close()

	for asked, want := range map[string][]byte{
		"":                      content,
		"bytes=-9":              content[size-9:],
		"bytes=2000000-2999999": content[2000000:3000000],
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Range", asked)
		res, err := site.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}

		got, err := io.ReadAll(res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q: got %d bytes, %v; want %d", asked, len(got), err, len(want))
		}
	}
}

// together puts and reads from many sides, one blob by several at once.
func together(t *testing.T, b blob.Store) {
	t.Helper()
	shared := Content(700_000)
	if _, err := b.Put(t.Context(), "shared", bytes.NewReader(shared)); err != nil {
		t.Fatal(err)
	}

	r, _, err := b.Open(t.Context(), "shared")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()

	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			key := fmt.Sprintf("own-%d", i)
			own := Content(100_000 + i)
			if _, err := b.Put(t.Context(), key, bytes.NewReader(own)); err != nil {
				t.Errorf("Put %s: %v", key, err)
				return
			}

			part := make([]byte, 1000)
			_, err := r.ReadAt(part, int64(i)*80_000)
			if err != nil || !bytes.Equal(part, shared[i*80_000:i*80_000+1000]) {
				t.Errorf("a part of what is shared: %v", err)
			}

			content, _, err := b.Open(t.Context(), key)
			if err != nil {
				t.Error(err)
				return
			}
			got, err := io.ReadAll(content)
			if err = errors.Join(err, content.Close()); err != nil || !bytes.Equal(got, own) {
				t.Errorf("%s: got %d bytes, %v", key, len(got), err)
			}
		})
	}

	all.Wait()
}
