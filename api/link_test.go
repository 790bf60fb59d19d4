package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// download requests a result as anyone with its URL.
func download(t *testing.T, s *apitest.Server, id string, header http.Header) apitest.Response {
	t.Helper()
	all := without()
	for name, values := range header {
		all[name] = values
	}
	return s.Send(t, apitest.Request{Method: "GET", Path: "/v1/files/" + id, Header: all})
}

// TestLinksWithAMaximum: of holders of the URL so many get the file, whole, and no more; HEAD counts for nothing, and the
// account gets its file in any case.
func TestLinksWithAMaximum(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		answer := fileURL(t, s.Send(t, apitest.Request{Path: echo, Body: `{"text":"0123456789","response":"url","maxDownloads":3}`}))
		if answer.MaxDownloads != 3 {
			t.Errorf("the response is %+v", answer)
		}
		for range 5 {
			head := s.Send(t, apitest.Request{Method: "HEAD", Path: "/v1/files/" + answer.ID, Header: without()})
			if head.Status != http.StatusOK || head.Header.Get("Content-Length") != "10" || head.Header.Get("Accept-Ranges") != "none" {
				t.Errorf("HEAD: %d %v", head.Status, head.Header)
			}
			if own := s.Send(t, apitest.Request{Method: "GET", Path: "/v1/files/" + answer.ID}); own.Body != "0123456789" {
				t.Errorf("the account gets %d %s", own.Status, own.Body)
			}
		}
		// A part, or what the client has already, is the whole file: otherwise the rest would be free.
		for _, header := range []http.Header{nil, {"Range": {"bytes=2-4"}}, {"If-None-Match": {`"` + answer.ID + `"`}}} {
			if got := download(t, s, answer.ID, header); got.Status != http.StatusOK || got.Body != "0123456789" || got.Header.Get("Accept-Ranges") != "none" || got.Header.Get("ETag") != "" {
				t.Errorf("%v: got %d %q, %v", header, got.Status, got.Body, got.Header)
			}
		}
		download(t, s, answer.ID, nil).Refused(t, wire.NotFound)
		if head := s.Send(t, apitest.Request{Method: "HEAD", Path: "/v1/files/" + answer.ID, Header: without()}); head.Status != http.StatusNotFound {
			t.Errorf("HEAD afterwards: %d", head.Status)
		}
		if own := s.Send(t, apitest.Request{Method: "GET", Path: "/v1/files/" + answer.ID}); own.Body != "0123456789" {
			t.Errorf("afterwards the account gets %d %s", own.Status, own.Body)
		}
	})
}

// TestManyDownloadsAtOnce of one file: the maximum is exact.
func TestManyDownloadsAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	id := stored(t, s, `{"text":"ab","response":"url","maxDownloads":4}`)
	var sent, refused atomic.Int64
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			switch got := download(t, s, id, nil); got.Status {
			case http.StatusOK:
				sent.Add(1)
			case http.StatusNotFound:
				refused.Add(1)
			}
		})
	}
	group.Wait()
	if sent.Load() != 4 || refused.Load() != 12 {
		t.Errorf("%d were sent and %d refused, want 4 and 12", sent.Load(), refused.Load())
	}
}

// TestLifetimesOfLinks: a URL works as long as its call asked for, in responses and in jobs.
func TestLifetimesOfLinks(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	s.Work(t)
	begin := s.Clock.Now()
	answer := fileURL(t, s.Send(t, apitest.Request{Path: echo, Body: `{"text":"ab","response":"url","expiresIn":60}`}))
	if got := answer.ExpiresAt.Sub(begin); got.Round(time.Second) != time.Minute {
		t.Errorf("it works for %v", got)
	}
	job := s.Await(t, s.Enqueue(t, apitest.Request{Path: echo, Body: `{"text":"ab","response":"async","expiresIn":120,"maxDownloads":1}`}).ID)
	if job.MaxDownloads != 1 || job.ExpiresAt == nil || job.ExpiresAt.Sub(begin).Round(time.Second) != 2*time.Minute {
		t.Errorf("the job is %+v", job)
	}
	download(t, s, job.ID, nil).OK(t)
	if used := s.Job(t, job.ID); used.URL != "" || used.ExpiresAt == nil || used.ExpiresAt.Sub(begin).Round(time.Second) != 2*time.Minute {
		t.Errorf("the job, downloaded, is %+v", used)
	}
	s.Clock.Advance(time.Minute)
	download(t, s, answer.ID, nil).Refused(t, wire.NotFound)
	s.Clock.Advance(time.Minute)
	if late := s.Job(t, job.ID); late.URL != "" || late.ExpiresAt == nil || late.ExpiresAt.After(s.Clock.Now()) {
		t.Errorf("the job, expired, is %+v", late)
	}
}

// TestLongLinks are for wallets with a payment, and count towards the storage of their account.
func TestLongLinks(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	const long = `{"text":"ab","response":"url","expiresIn":2592000}`
	f := s.Send(t, apitest.Request{Path: echo, Body: long}).Refused(t, wire.PaymentRequired)
	if len(f.Details) != 1 || f.Details[0].Field != "expiresIn" || !strings.Contains(f.Message, "Add funds") {
		t.Errorf("without a payment: %+v", f)
	}
	if left := s.Effects(t); len(left) != 0 {
		t.Errorf("the refusal has left %v", left)
	}
	fileURL(t, s.Send(t, apitest.Request{Path: echo, Body: `{"text":"ab","response":"url","expiresIn":86400}`}))
	if err := s.Store.Credit(t.Context(), s.Account.ID, 1, "test"); err != nil {
		t.Fatal(err)
	}
	id := fileURL(t, s.Send(t, apitest.Request{Path: echo, Body: long})).ID
	s.Clock.Advance(30*24*time.Hour - time.Minute)
	download(t, s, id, nil).OK(t)
	s.Clock.Advance(time.Minute)
	download(t, s, id, nil).Refused(t, wire.NotFound)
	f = s.Send(t, apitest.Request{Path: echo, Body: long, Header: http.Header{"Authorization": {"Bearer " + newTester(t, s)}}}).Refused(t, wire.InvalidRequest)
	if len(f.Details) != 1 || f.Details[0].Message != "must be at most 86400 with a test key" {
		t.Errorf("a test key: %+v", f)
	}
	full := store.File{
		ID: "file_full", AccountID: s.Account.ID, Filename: "f", ContentType: "x", Size: store.MaxUploadBytes, BlobKey: "full", ExpiresAt: s.Clock.Now().Add(time.Hour),
	}
	if err := s.Store.AddUpload(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	f = s.Send(t, apitest.Request{Path: echo, Body: long}).Refused(t, wire.InvalidRequest)
	if len(f.Details) != 1 || f.Details[0].Field != "expiresIn" || !strings.HasPrefix(f.Message, "Storage quota exceeded: 1 of 1000 files, 5368709120 bytes of 5 GiB") {
		t.Errorf("over the quota: %+v", f)
	}
}

// TestLinkFieldsAreChecked: what has no URL has no link.
func TestLinkFieldsAreChecked(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	for body, want := range map[string]string{
		`{"text":"a","expiresIn":60}`:                         "expiresIn requires response url or async",
		`{"text":"a","response":"binary","maxDownloads":1}`:   "maxDownloads requires response url or async",
		`{"text":"a","response":"url","expiresIn":59}`:        "expiresIn must be",
		`{"text":"a","response":"url","expiresIn":2592001}`:   "expiresIn must be",
		`{"text":"a","response":"async","maxDownloads":0}`:    "maxDownloads must be",
		`{"text":"a","response":"url","maxDownloads":"many"}`: "maxDownloads must be",
		`{"text":7,"expiresIn":60}`:                           "expiresIn requires",
	} {
		f := s.Send(t, apitest.Request{Path: echo, Body: body}).Refused(t, wire.InvalidRequest)
		if text, err := json.Marshal(f); err != nil || !strings.Contains(f.Message+string(text), strings.SplitN(want, " ", 2)[1]) {
			t.Errorf("%s: got %s, want %q", body, text, want)
		}
	}
}

// TestRedirectsDoNotCount: a file with a maximum comes from the server, which counts its downloads.
func TestRedirectsDoNotCount(t *testing.T) {
	t.Parallel()
	s, _, _ := newBucket(t, func(cfg *apitest.Settings) { cfg.RedirectFiles, cfg.NoRateLimits = true, true })
	id := stored(t, s, `{"text":"0123456789","response":"url","maxDownloads":1}`)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, want := range []int{http.StatusOK, http.StatusNotFound} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/files/"+id, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != want {
			t.Errorf("got %d, want %d", answer.StatusCode, want)
		}
		if err := answer.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestReplaysOfLinks repeat the response, and name the reason where its result is gone.
func TestReplaysOfLinks(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	again := func() apitest.Response {
		return s.Send(t, apitest.Request{Path: echo, Body: `{"text":"ab","response":"url","maxDownloads":1}`, Header: http.Header{"Idempotency-Key": {"k"}}})
	}
	first := fileURL(t, again())
	var repeated wire.FileURL
	if repeated = fileURL(t, again()); repeated.ID != first.ID || repeated.MaxDownloads != 1 {
		t.Errorf("repeated as %+v", repeated)
	}
	download(t, s, first.ID, nil).OK(t)
	if f := again().Refused(t, wire.InvalidRequest); !strings.Contains(f.Message+f.Details[0].Message, "Use a new key") {
		t.Errorf("after the download: %+v", f)
	}
}
