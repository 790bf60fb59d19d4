package api_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/fakes3"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/blob"

	"github.com/relaypdf/relaypdf/store/blob/s3"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// newBucket starts a service on PostgreSQL whose files are in a bucket.
func newBucket(t *testing.T, change func(*apitest.Settings)) (*apitest.Server, *fakes3.Server, blob.Store) {
	t.Helper()
	server := fakes3.Start(t)
	bucket, err := s3.New(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	db := storetest.Postgres(t)
	s := apitest.New(t, apitest.Options{DB: &db, Blobs: bucket, Change: func(cfg *apitest.Settings) {
		quiet(cfg)
		if change != nil {
			change(cfg)
		}
	}})
	return s, server, bucket
}

// TestFilesInABucket: a file is made, downloaded as a whole, in part and not at all,
// expires, is deleted and swept, as on a disk.
func TestFilesInABucket(t *testing.T) {
	t.Parallel()
	s, server, bucket := newBucket(t, nil)
	text := strings.Repeat("0123456789", 70_000)
	path := "/v1/files/" + stored(t, s, `{"text":"0123456789","count":70000,"response":"url"}`)
	get := func(method, span string) apitest.Response {
		header := without()
		if span != "" {
			header.Set("Range", span)
		}
		return s.Send(t, apitest.Request{Method: method, Path: path, Header: header})
	}
	if got := get(http.MethodGet, "").OK(t); got.Body != text {
		t.Errorf("got %d bytes, want %d", len(got.Body), len(text))
	}
	for span, want := range map[string]string{"bytes=0-3": "0123", "bytes=-4": "6789", "bytes=524287-524296": "7890123456"} {
		if got := get(http.MethodGet, span); got.Status != http.StatusPartialContent || got.Body != want {
			t.Errorf("%s: got %d %q, want 206 %q", span, got.Status, got.Body, want)
		}
	}
	if got := get(http.MethodGet, "bytes=700000-"); got.Status != http.StatusRequestedRangeNotSatisfiable {
		t.Errorf("beyond the end: got %d", got.Status)
	}
	if got := get(http.MethodHead, "").OK(t); got.Body != "" || got.Header.Get("Content-Length") != "700000" || got.Header.Get("x-service-size") != "700000" {
		t.Errorf("HEAD: got %v", got.Header)
	}

	// An upload is used and deleted.
	id := uploaded(t, s.Send(t, apitest.Request{Path: "/v1/files", Body: string(storetest.Content(300 << 10)), Header: http.Header{"Content-Type": {"application/pdf"}}})).ID
	if blobs := storetest.List(t, bucket); len(blobs) != 2 {
		t.Errorf("got %v, want the result and the upload", blobs)
	}
	s.Send(t, apitest.Request{Method: http.MethodDelete, Path: "/v1/files/" + id}).OK(t)
	if blobs := storetest.List(t, bucket); len(blobs) != 1 {
		t.Errorf("after the upload was deleted: got %v, want the result", blobs)
	}

	// Unreferenced blobs are swept; blobs that a row refers to are not.
	if _, err := bucket.Put(t.Context(), store.ResultKey("call_gone", 0), bytes.NewReader([]byte("x"))); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Store.DeleteOrphanBlobs(t.Context(), 10); err != nil || n != 1 {
		t.Errorf("DeleteOrphanBlobs: got %d, %v; want 1", n, err)
	}
	get(http.MethodGet, "").OK(t)
	s.Clock.Advance(25 * time.Hour)
	if got := get(http.MethodGet, ""); got.Status != http.StatusNotFound {
		t.Errorf("expired: got %d", got.Status)
	}
	s.API.Calls.Reaper().Once(t.Context())
	if blobs := storetest.List(t, bucket); len(blobs) != 0 {
		t.Errorf("after all has expired: %v", blobs)
	}
	server.Break(fakes3.Down)
	get(http.MethodGet, "").Refused(t, wire.NotFound)
}

// TestDownloadsFromTheBucket: if the operator allows it, results are downloaded from the bucket, with the same checks
// and counts as from the server, and nothing else is.
func TestDownloadsFromTheBucket(t *testing.T) {
	t.Parallel()
	s, server, bucket := newBucket(t, func(cfg *apitest.Settings) { cfg.RedirectFiles = true })
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ask := func(method, address string, header http.Header) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = header
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer
	}
	path := s.URL + "/v1/files/" + stored(t, s, `{"text":"0123456789","response":"url","filename":"Brief ä"}`)
	sent := ask(http.MethodGet, path, http.Header{})
	link, err := sent.Location()
	if err != nil || sent.StatusCode != http.StatusTemporaryRedirect || sent.Header.Get("Cache-Control") != "private, no-store" {
		t.Fatalf("got %d %v, %v; want an address that nobody keeps", sent.StatusCode, sent.Header, err)
	}
	if seconds := link.Query().Get("X-Amz-Expires"); seconds != "60" {
		t.Errorf("the address works for %q seconds, want 60", seconds)
	}
	got := ask(http.MethodGet, link.String(), http.Header{})
	if body, err := io.ReadAll(got.Body); err != nil || string(body) != "0123456789" {
		t.Errorf("got %q, %v", body, err)
	}
	ours := ask(http.MethodHead, path, http.Header{})
	for _, name := range []string{"Content-Type", "Content-Disposition", "Cache-Control"} {
		if here, there := ours.Header.Get(name), got.Header.Get(name); here == "" || here != there {
			t.Errorf("%s: the bucket says %q, we say %q", name, there, here)
		}
	}
	if part := ask(http.MethodGet, link.String(), http.Header{"Range": {"bytes=2-4"}}); part.StatusCode != http.StatusPartialContent {
		t.Errorf("a part: got %d", part.StatusCode)
	}
	other := *link
	other.Path += "x"
	if refused := ask(http.MethodGet, other.String(), http.Header{}); refused.StatusCode != http.StatusForbidden {
		t.Errorf("the address of another file: got %d, want 403", refused.StatusCode)
	}
	if ours.StatusCode != http.StatusOK {
		t.Errorf("HEAD: got %d, want an answer of ours", ours.StatusCode)
	}

	// An upload is private to its account.
	id := uploaded(t, s.Send(t, apitest.Request{Path: "/v1/files", Body: "private"})).ID
	if own := s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/v1/files/" + id}).OK(t); own.Body != "private" {
		t.Errorf("an upload: got %q", own.Body)
	}
	// The address lives no longer than the file.
	s.Clock.Advance(24*time.Hour - 30*time.Second)
	late, err := ask(http.MethodGet, path, http.Header{}).Location()
	if err != nil || late.Query().Get("X-Amz-Expires") != "30" {
		t.Errorf("half a minute before the end: got %v, %v; want 30 seconds", late, err)
	}
	// If the bucket does not respond, or does not have the object, the server reports it.
	server.Break(fakes3.Busy)
	s.Send(t, apitest.Request{Method: http.MethodGet, Path: strings.TrimPrefix(path, s.URL), Header: without()}).Refused(t, wire.StorageUnavailable)
	server.Break(nil)
	for _, entry := range storetest.List(t, bucket) {
		if err := bucket.Delete(t.Context(), entry.Key); err != nil {
			t.Fatal(err)
		}
	}
	s.Send(t, apitest.Request{Method: http.MethodGet, Path: strings.TrimPrefix(path, s.URL), Header: without()}).Refused(t, wire.StorageUnavailable)
	s.Clock.Advance(time.Minute)
	s.Send(t, apitest.Request{Method: http.MethodGet, Path: strings.TrimPrefix(path, s.URL), Header: without()}).Refused(t, wire.NotFound)
}

// TestBucketFails: a bucket that does not respond, is overloaded or breaks off is reported like a full disk: nothing
// is charged, and operations that need no file continue.
func TestBucketFails(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s, server, bucket := newBucket(t, nil)
	id := stored(t, s, `{"text":"a","response":"url"}`)
	ready := func() string {
		return s.Send(t, apitest.Request{Method: "GET", Path: "/health/ready", Header: without()}).OK(t).Body
	}
	becomes(t, ready, `"files":"ok"`)
	for name, way := range map[string]fakes3.Fault{"down": fakes3.Down, "busy": fakes3.Busy} {
		server.Break(way)
		s.Send(t, apitest.Request{Method: "GET", Path: "/v1/files/" + id}).Refused(t, wire.StorageUnavailable)
		s.Send(t, apitest.Request{Path: echo, Body: `{"text":"b","response":"url"}`}).Refused(t, wire.StorageUnavailable)
		s.Send(t, apitest.Request{Path: "/v1/files", Body: "x"}).Refused(t, wire.StorageUnavailable)
		if got := s.Send(t, apitest.Request{Path: echo, Body: `{"text":"c"}`}).OK(t); got.Body != "c" {
			t.Errorf("%s: a call that needs no file: got %q", name, got.Body)
		}
		if got := ready(); !strings.Contains(got, `"files":"unavailable"`) {
			t.Errorf("%s: ready: %s", name, got)
		}
		server.Break(nil)
	}
	account, err := s.Store.Account(t.Context(), s.Account.ID)
	if err != nil {
		t.Fatal(err)
	}
	if spent := s.Account.Balance - account.Balance; spent != 3*2000 {
		t.Errorf("spent %d, want the price of the three calls that went well", spent)
	}
	if blobs := storetest.List(t, bucket); len(blobs) != 1 {
		t.Errorf("got %v, want the one file", blobs)
	}
	if err := bucket.Delete(t.Context(), storetest.List(t, bucket)[0].Key); err != nil {
		t.Fatal(err)
	}
	s.Send(t, apitest.Request{Method: "GET", Path: "/v1/files/" + id}).Refused(t, wire.StorageUnavailable)
}
