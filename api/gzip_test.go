package api_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
)

// gzipped packs the body of a request.
func gzipped(t *testing.T, q apitest.Request) apitest.Request {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(q.Body)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	q.Body, q.Header = packed.String(), q.Header.Clone()
	if q.Header == nil {
		q.Header = http.Header{}
	}
	q.Header.Set("Content-Encoding", "gzip")
	return q
}

// TestGzippedBodies sends packed bodies to each kind of route that takes one.
func TestGzippedBodies(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	if got := s.Send(t, gzipped(t, apitest.Request{Path: echo, Body: `{"text":"a","count":3}`})).OK(t); got.Body != "aaa" {
		t.Errorf("an operation answers %q, want aaa", got.Body)
	}
	if got := s.Send(t, gzipped(t, formRequest(t, "text", "b", "count", "2"))).OK(t); got.Body != "bb" {
		t.Errorf("a form is answered with %q, want bb", got.Body)
	}
	s.Send(t, gzipped(t, apitest.Request{Method: http.MethodPatch, Path: "/v1/billing/limits", Body: `{"maxJobMicrodollars":1}`})).OK(t)
	uploaded := s.Send(t, gzipped(t, apitest.Request{Path: "/v1/files", Body: "content", Header: http.Header{"Content-Type": {"text/plain"}}}))
	if uploaded.Status != http.StatusCreated || !strings.Contains(uploaded.Body, `"sizeBytes":7`) {
		t.Errorf("an upload is answered with %d %s, want 201 and 7 bytes", uploaded.Status, uploaded.Body)
	}
	packed := gzipped(t, apitest.Request{Path: echo, Body: `{"text":"a","count":3}`})
	for name, body := range map[string]string{"cut off": packed.Body[:len(packed.Body)-9], "not gzip": `{"text":"a"}`, "with a tail": packed.Body + "tail", "short": "\x1f"} {
		packed.Body = body
		if got := s.Send(t, packed).Refused(t, wire.InvalidRequest); !strings.Contains(got.Message, "is not valid gzip") {
			t.Errorf("%s: the message is %q", name, got.Message)
		}
	}
	packed.Header.Set("Content-Encoding", "br")
	if got := s.Send(t, packed).Refused(t, wire.InvalidRequest); got.Message != `Content-Encoding must be gzip or identity; got "br".` {
		t.Errorf("another encoding: the message is %q", got.Message)
	}
}

// TestGzippedBodiesAreBoundedUnpacked sends little that becomes much.
func TestGzippedBodiesAreBoundedUnpacked(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: func(cfg *apitest.Settings) { cfg.MaxBody, cfg.MaxFile, cfg.NoRateLimits = 100_000, 100_000, true }})
	fill := func(n int) string { return `{"text":"a"}` + strings.Repeat(" ", n-len(`{"text":"a"}`)) }
	s.Send(t, gzipped(t, apitest.Request{Path: echo, Body: fill(100_000)})).OK(t)
	got := s.Send(t, gzipped(t, apitest.Request{Path: echo, Body: fill(100_001)})).Refused(t, wire.PayloadTooLarge)
	if want := "The request body must be at most 100000 bytes."; got.Message != want {
		t.Errorf("message %q, want %q", got.Message, want)
	}
	s.Send(t, gzipped(t, apitest.Request{Path: "/v1/files", Body: fill(100_001)})).Refused(t, wire.PayloadTooLarge)
}
