package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/relaypdf/relaypdf/internal/test/fakes3"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/store/blob/s3"
	"github.com/relaypdf/relaypdf/store/storetest"
)

func open(t *testing.T, cfg s3.Config) *s3.Store {
	t.Helper()
	cfg.TempDir = t.TempDir()
	b, err := s3.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t *testing.T, b blob.Store, key string, content []byte) {
	t.Helper()
	if _, err := b.Put(t.Context(), key, bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
}

// TestStore: a bucket keeps the contract of blobs, with a prefix and without.
func TestStore(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	server := fakes3.Start(t)
	cfg := server.Config()
	plain := open(t, cfg)
	cfg.Prefix = "a/b"
	prefixed := open(t, cfg)
	storetest.Blobs(t, prefixed)
	storetest.Blobs(t, plain)

	put(t, prefixed, "mine", []byte("x"))
	if seen := storetest.List(t, plain); len(seen) != 0 {
		t.Errorf("what is below another prefix is listed: %v", seen)
	}
	if files, err := os.ReadDir(server.File("a/b")); err != nil || len(files) != 1 || files[0].Name() != "mine" {
		t.Errorf("got %v, %v; want one object with the blob's name", files, err)
	}
}

// TestFaults: temporary errors are retried; others are returned and leave nothing, whichever part of the work they
// hit.
func TestFaults(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	server := fakes3.Start(t)
	b := open(t, server.Config())
	small, large := storetest.Content(1000), storetest.Content(40<<20)

	for name, fault := range map[string]fakes3.Fault{"down": fakes3.Down, "busy": fakes3.Busy} {
		server.Break(fault)
		for _, content := range [][]byte{small, large} {
			if _, err := b.Put(t.Context(), name, bytes.NewReader(content)); err == nil || errors.Is(err, blob.ErrMissing) {
				t.Errorf("%s: Put: got %v", name, err)
			}
		}
		if _, _, err := b.Open(t.Context(), name); err == nil || errors.Is(err, blob.ErrMissing) {
			t.Errorf("%s: Open: got %v, want an error that does not say that it is missing", name, err)
		}
		if err := b.Delete(t.Context(), name); err == nil {
			t.Errorf("%s: Delete: got no error", name)
		}
		if err := b.Check(t.Context()); err == nil {
			t.Errorf("%s: Check: got no error", name)
		}
		if err := b.List(t.Context(), "", func(blob.Entry) error { return nil }); err == nil {
			t.Errorf("%s: List: got no error", name)
		}
		server.Break(nil)
		if _, _, err := b.Open(t.Context(), name); !errors.Is(err, blob.ErrMissing) {
			t.Errorf("%s: after a failed Put: got %v, want ErrMissing", name, err)
		}
	}
	if err := b.Check(t.Context()); err != nil {
		t.Errorf("Check: %v", err)
	}

	// Each request fails when it is sent first: the next attempt does it.
	for name, fault := range map[string]fakes3.Fault{"down": fakes3.Down, "busy": fakes3.Busy, "cut": cutAnswer} {
		var turns sync.Map // by request: parts are sent side by side
		server.Break(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			turn, _ := turns.LoadOrStore(r.Method+" "+r.URL.String()+r.Header.Get("Range"), new(atomic.Int64))
			if turn.(*atomic.Int64).Add(1)%2 == 1 { // it holds nothing else
				fault(w, r, next)
				return
			}
			next.ServeHTTP(w, r)
		})
		put(t, b, name, small)
		put(t, b, name+"-large", large)
		if got := storetest.Read(t, b, name); !bytes.Equal(got, small) {
			t.Errorf("%s: got %d other bytes", name, len(got))
		}
		if got := storetest.Read(t, b, name+"-large"); !bytes.Equal(got, large) {
			t.Errorf("%s: got %d other bytes", name, len(got))
		}
		server.Break(nil)
	}

	// A part of an upload never arrives: nothing is left, no part either. (Where the
	// answer to the first step was cut, an upload is left for Sweep.)
	before := uploads(t, server)
	server.Break(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.URL.Query().Get("partNumber") == "2" {
			fakes3.Down(w, r, next)
		}
		next.ServeHTTP(w, r)
	})
	if _, err := b.Put(t.Context(), "half", bytes.NewReader(large)); err == nil {
		t.Error("a lost part: got no error")
	}
	server.Break(nil)
	if _, _, err := b.Open(t.Context(), "half"); !errors.Is(err, blob.ErrMissing) {
		t.Errorf("half: got %v, want ErrMissing", err)
	}
	if left := uploads(t, server); left != before {
		t.Errorf("%d uploads are unfinished, want the %d from before", left, before)
	}
}

// cutAnswer ends the connection in the middle of the answer.
func cutAnswer(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(&cutter{ResponseWriter: w, left: 100}, r)
	panic(http.ErrAbortHandler)
}

type cutter struct {
	http.ResponseWriter

	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	if len(p) > c.left {
		_, _ = c.ResponseWriter.Write(p[:c.left])
		panic(http.ErrAbortHandler)
	}
	c.left -= len(p)
	return c.ResponseWriter.Write(p)
}

func uploads(t *testing.T, server *fakes3.Server) int {
	t.Helper()
	page, err := server.Client(t).ListMultipartUploads(t.Context(), "documents", "", "", "", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Uploads)
}

// TestCutReading: a connection that breaks while a blob is read is replaced
// where it broke; one that always does is an error, after bytes that are right.
func TestCutReading(t *testing.T) {
	t.Parallel()
	server := fakes3.Start(t)
	b := open(t, server.Config())
	content := storetest.Content(5 << 20)
	put(t, b, "long", content)
	r, _, err := b.Open(t.Context(), "long")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	server.Break(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&cutter{ResponseWriter: w, left: 700 << 10}, r)
	})
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	server.Break(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&cutter{ResponseWriter: w, left: 100}, r)
	})
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err == nil || !bytes.HasPrefix(content, got) {
		t.Errorf("got %d bytes, %v; want an error", len(got), err)
	}
}

// TestDamage: a blob that was changed, truncated or put into the bucket by other means is never returned.
func TestDamage(t *testing.T) {
	t.Parallel()
	server := fakes3.Start(t)
	b := open(t, server.Config())
	content := storetest.Content(1 << 20)
	for name, damage := range map[string]func([]byte) []byte{
		"changed": func(c []byte) []byte { c[600_000] ^= 1; return c },
		"cut":     func(c []byte) []byte { return c[:len(c)-1] },
		"longer":  func(c []byte) []byte { return append(c, 0) },
		"emptied": func([]byte) []byte { return nil },
	} {
		put(t, b, name, content)
		if err := os.WriteFile(server.File(name), damage(bytes.Clone(content)), 0o600); err != nil {
			t.Fatal(err)
		}
		r, _, err := b.Open(t.Context(), name)
		var got []byte
		if err == nil {
			got, err = io.ReadAll(r)
			_ = r.Close()
		}
		if !errors.Is(err, blob.ErrDamaged) || !bytes.HasPrefix(content, got) {
			t.Errorf("%s: got %d bytes, %v; want ErrDamaged", name, len(got), err)
		}
	}
	if _, err := server.Client(t).Client.PutObject(t.Context(), "documents", "foreign", bytes.NewReader(content), int64(len(content)), minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Open(t.Context(), "foreign"); !errors.Is(err, blob.ErrDamaged) {
		t.Errorf("an object of somebody else's: got %v, want ErrDamaged", err)
	}
	// One that is replaced while it is read does not become a mixture.
	put(t, b, "replaced", content)
	r, _, err := b.Open(t.Context(), "replaced")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	put(t, b, "replaced", storetest.Content(1<<20+1))
	if got, err := io.ReadAll(r); err == nil || !bytes.HasPrefix(content, got) {
		t.Errorf("replaced: got %d bytes, %v; want an error", len(got), err)
	}
}

// TestReadingTakesFewRequests: a small blob is read in one request, a large one in
// two, a part of it in no more than it needs.
func TestReadingTakesFewRequests(t *testing.T) {
	t.Parallel()
	server := fakes3.Start(t)
	b := open(t, server.Config())
	put(t, b, "small", storetest.Content(200_000))
	put(t, b, "large", storetest.Content(10<<20))
	for _, tt := range []struct {
		key  string
		want int64
	}{{"small", 1}, {"large", 2}} {
		before := server.Requests()
		storetest.Read(t, b, tt.key)
		if got := server.Requests() - before; got != tt.want {
			t.Errorf("%s: %d requests, want %d", tt.key, got, tt.want)
		}
	}
}

// TestEndedContext: a blob that was opened can be read when its request has
// ended, and nothing is asked for in the name of one that has.
func TestEndedContext(t *testing.T) {
	t.Parallel()
	server := fakes3.Start(t)
	b := open(t, server.Config())
	content := storetest.Content(3 << 20)
	put(t, b, "a", content)
	ctx, cancel := context.WithCancel(t.Context())
	r, _, err := b.Open(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := b.Open(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("Open after the end: got %v", err)
	}
}

// TestSweep aborts abandoned uploads, and no others.
func TestSweep(t *testing.T) {
	t.Parallel()
	server := fakes3.Start(t)
	cfg := server.Config()
	cfg.Prefix = "ours"
	for _, object := range []string{"ours/a", "ours/b", "theirs/a"} {
		if _, err := server.Client(t).NewMultipartUpload(t.Context(), "documents", object, minio.PutObjectOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := open(t, cfg).Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := uploads(t, server); left != 3 {
		t.Errorf("%d uploads are left, want the three that have just begun", left)
	}
	cfg.Now = func() time.Time { return time.Now().Add(25 * time.Hour) }
	if err := open(t, cfg).Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := uploads(t, server); left != 1 {
		t.Errorf("%d uploads are left, want the one below another prefix", left)
	}
}

// TestKeys: without keys in the settings, Amazon's own variables are used; wrong ones cause a clear error.
func TestKeys(t *testing.T) {
	server := fakes3.Start(t)
	t.Setenv("AWS_ACCESS_KEY_ID", fakes3.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", fakes3.SecretKey)
	cfg := server.Config()
	cfg.AccessKey, cfg.SecretKey = "", ""
	b := open(t, cfg)
	put(t, b, "a", []byte("x"))
	cfg.AccessKey, cfg.SecretKey = fakes3.AccessKey, "wrong"
	_, err := open(t, cfg).Put(t.Context(), "b", strings.NewReader("x"))
	if err == nil || strings.Contains(err.Error(), "wrong") {
		t.Errorf("got %v, want an error without the key", err)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]s3.Config{
		"s3://documents":      {Bucket: "documents", Region: "us-east-1"},
		"s3://documents/a/b/": {Bucket: "documents", Prefix: "a/b", Region: "us-east-1"},
		"s3://documents/a?endpoint=http://minio:9000/&region=eu-1&public=https://files.example.com": {
			Bucket: "documents", Prefix: "a", Endpoint: "http://minio:9000", Public: "https://files.example.com", Region: "eu-1",
		},
	} {
		got, err := s3.Parse(text)
		if err != nil || got.Bucket != want.Bucket || got.Prefix != want.Prefix || got.Region != want.Region || got.Endpoint != want.Endpoint || got.Public != want.Public {
			t.Errorf("%s: got %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "documents", "s3:documents", "http://documents", "s3://", "s3://ab", "s3://Documents", "s3://key:secret@documents", "s3://documents/ä", "s3://documents/a//b",
		"s3://documents?zone=1", "s3://documents?region=EU", "s3://documents?region=a&region=b", "s3://documents?endpoint=minio:9000", "s3://documents?endpoint=ftp://a",
		"s3://documents?endpoint=http://a/path", "s3://documents#x", "s3://documents?endpoint=%zz",
	} {
		if got, err := s3.Parse(text); err == nil {
			t.Errorf("%s: got %+v, want an error", text, got)
		}
	}
}

var _ blob.Store = (*s3.Store)(nil)

// TestManyAreDeletedByOneRequest: one that the server refuses to delete is reported, and
// stops no other. A server that knows no such request is asked one by one, and one that
// does not answer has deleted nothing.
func TestManyAreDeletedByOneRequest(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	server := fakes3.Start(t)
	cfg := server.Config()
	cfg.Prefix = "p"
	b := open(t, cfg)
	var keys []string
	fill := func() {
		t.Helper()
		keys = keys[:0]
		for n := range 30 {
			keys = append(keys, fmt.Sprintf("key-%d", n))
			put(t, b, keys[n], []byte("x"))
		}
	}
	left := func() int { return len(storetest.List(t, b)) }

	fill()
	before := server.Requests()
	if failed := b.DeleteBatch(t.Context(), keys); len(failed) > 0 || server.Requests() != before+1 || left() != 0 {
		t.Errorf("got %v by %d requests, and %d blobs are left; want none by one request", failed, server.Requests()-before, left())
	}

	fill()
	server.Break(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		_, _ = io.WriteString(w, `<DeleteResult><Error><Key>p/key-7</Key><Code>AccessDenied</Code><Message>legal hold</Message></Error></DeleteResult>`)
	})
	if failed := b.DeleteBatch(t.Context(), keys); len(failed) != 1 || failed["key-7"] == nil || !strings.Contains(failed["key-7"].Error(), "legal hold") {
		t.Errorf("got %v, want the one that the server refuses", failed)
	}

	server.Break(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		w.WriteHeader(http.StatusNotImplemented)
		_, _ = io.WriteString(w, `<Error><Code>NotImplemented</Code></Error>`)
	})
	if failed := b.DeleteBatch(t.Context(), keys); len(failed) > 0 || left() != 0 {
		t.Errorf("one by one: got %v, and %d blobs are left", failed, left())
	}

	fill()
	server.Break(fakes3.Down)
	failed := b.DeleteBatch(t.Context(), keys)
	server.Break(nil)
	if len(failed) != len(keys) || left() != len(keys) {
		t.Errorf("without an answer %d failed, and %d blobs are left; want all", len(failed), left())
	}
}
