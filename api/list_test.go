package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestLists reads lists page by page, and holds them to their filters.
func TestLists(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		_, _, strange := s.NewAccount(t, "strange@example.com")
		get := func(path string) apitest.Response {
			return s.Send(t, apitest.Request{Method: "GET", Path: path})
		}
		var jobs []string
		for range 3 {
			s.Clock.Advance(time.Second)
			jobs = append(jobs, s.Enqueue(t, apitest.Request{Path: echo, Body: async}).ID)
		}
		slices.Reverse(jobs)
		var got []string
		cursor := ""
		for page := range 2 {
			list := decode[wire.JobList](t, get("/v1/jobs?limit=2&cursor="+cursor).OK(t))
			for _, job := range list.Jobs {
				got = append(got, job.ID)
				if job.Status != "processing" || job.Operation != "test.echo" || job.PollURL != s.URL+"/v1/jobs/"+job.ID || job.EndedAt != nil {
					t.Errorf("the entry is %+v", job)
				}
			}
			if end := list.NextCursor == nil; end != (page == 1) {
				t.Fatalf("page %d has the next cursor %v", page, list.NextCursor)
			} else if !end {
				cursor = *list.NextCursor
			}
		}
		if !slices.Equal(got, jobs) {
			t.Errorf("the jobs are %v, want %v", got, jobs)
		}
		s.Work(t)
		for _, id := range jobs {
			s.Await(t, id)
		}
		s.Clock.Advance(time.Second)
		upload := uploaded(t, s.Send(t, apitest.Request{Path: "/v1/files", Body: "x"})).ID
		for path, want := range map[string]int{
			"/v1/jobs": 3, "/v1/jobs?status=completed": 3, "/v1/jobs?status=failed": 0, "/v1/jobs?status=processing": 0,
			"/v1/jobs?operation=test.echo": 3, "/v1/jobs?operation=test.json": 0, "/v1/jobs?limit=1": 1,
			"/v1/files": 4, "/v1/files?limit=3": 3, "/v1/webhooks/deliveries": 0,
		} {
			if n := strings.Count(get(path).OK(t).Body, `"id":`); n != want {
				t.Errorf("%s has %d entries, want %d", path, n, want)
			}
		}
		files := decode[wire.FileList](t, get("/v1/files").OK(t)).Files
		if files[0].ID != upload || files[0].Kind != "upload" || files[1].Kind != "result" || files[1].SizeBytes != 1 {
			t.Errorf("the files are %+v", files)
		}
		for _, path := range []string{"/v1/jobs", "/v1/files", "/v1/webhooks/deliveries"} {
			answer := s.Send(t, apitest.Request{Method: "GET", Path: path, Header: bearerOf(strange)}).OK(t)
			if strings.Contains(answer.Body, `"id":`) || !strings.Contains(answer.Body, `"nextCursor":null`) {
				t.Errorf("%s shows a stranger %s", path, answer.Body)
			}
		}
	})
}

// TestListFaults names everything that is wrong with a query at once.
func TestListFaults(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	for query, fields := range map[string]string{
		"/v1/jobs?limit=0":                       "limit",
		"/v1/jobs?limit=101":                     "limit",
		"/v1/jobs?limit=x&status=lost":           "limit status",
		"/v1/jobs?limt=5&limit=1&limit=2":        "limit limt",
		"/v1/jobs?limt=5":                        "limt",
		"/v1/files?status=completed":             "status",
		"/v1/account?verbose=1":                  "verbose",
		"/v1/jobs/file_x?id=file_y":              "id",
		"/v1/files?cursor=%00":                   "cursor",
		"/v1/billing/usage?from=x&to=y&verbose=": "from to verbose",
		"/v1/webhooks/deliveries?before=x&after=2026-13-01&status=lost": "after before status",
		// Filters that match nothing, ever.
		"/v1/jobs?operation=test.ech":                                         "operation",
		"/v1/jobs?status=":                                                    "status",
		"/v1/files?limit=":                                                    "limit",
		"/v1/webhooks/deliveries?event=job.complete":                          "event",
		"/v1/webhooks/deliveries?endpointId=zz":                               "endpointId",
		"/v1/webhooks/deliveries?endpointId=we_01kkbswhg0loc768a301za5j449bg": "endpointId",
		"/v1/webhooks/deliveries?after=2026-02-02&before=2026-02-01":          "after",
		"/v1/webhooks/deliveries?before=1969-12-31":                           "before",
		"/v1/webhooks/deliveries?after=9999-12-31T23:59:59-01:00":             "after",
		"/v1/billing/usage?to=9999-12-31":                                     "to",
		"/v1/billing/usage?to=0000-01-01":                                     "to",
		"/v1/jobs?operation=a%00b&status=%00&limit=%00":                       "limit operation status",
		"/v1/templates?category=%FF&search=%00":                               "category search",
	} {
		answer := s.Send(t, apitest.Request{Method: http.MethodGet, Path: query})
		var got []string
		for _, detail := range answer.Refused(t, wire.InvalidRequest).Details {
			got = append(got, detail.Field)
		}
		slices.Sort(got)
		if fmt.Sprint(got) != "["+fields+"]" {
			t.Errorf("%s: the faults are of %v, want %s", query, got, fields)
		}
	}
	if hint := s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/v1/jobs?operation=test.ech"}).Failure(t).Message; !strings.Contains(hint, "did you mean test.echo?") {
		t.Errorf("the message is %q, want the operation that was meant", hint)
	}
	if hint := s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/v1/jobs?limt=5"}).Failure(t).Message; !strings.Contains(hint, "did you mean limit?") {
		t.Errorf("the message is %q, want the name that was meant", hint)
	}
}

// TestMissingSpeaksTheLanguageOfItsSide: JSON under the API, a page elsewhere.
func TestMissingSpeaksTheLanguageOfItsSide(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	near := s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/v1/test/ecko"}).Refused(t, wire.NotFound)
	if !strings.Contains(near.Message, "Did you mean /v1/test/echo?") {
		t.Errorf("the message is %q, want the nearest path", near.Message)
	}
	if far := s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/v1/nothing/like/that"}).Refused(t, wire.NotFound); strings.Contains(far.Message, "mean") {
		t.Errorf("the message is %q, want no suggestion", far.Message)
	}
	wrong := s.Send(t, apitest.Request{Method: http.MethodDelete, Path: "/gallery/invoice.webp", Header: without()})
	if wrong.Status != http.StatusMethodNotAllowed || wrong.Header.Get("Allow") != "GET, HEAD, OPTIONS" || !strings.Contains(wrong.Body, "Allowed methods: GET, HEAD, OPTIONS.") {
		t.Errorf("a method that a picture does not take: status %d, Allow %q, %s", wrong.Status, wrong.Header.Get("Allow"), wrong.Body)
	}
	for path, want := range map[string]string{
		"/opnapi.json": `<a href="/openapi.json">`, "/<script>alert(1)</script>": "No page at this URL",
	} {
		page := s.Send(t, apitest.Request{Method: http.MethodGet, Path: path, Header: without()})
		if page.Status != http.StatusNotFound || page.Header.Get("Content-Type") != "text/html; charset=utf-8" ||
			!strings.Contains(page.Body, want) || strings.Contains(page.Body, "<script") {
			t.Errorf("%s: status %d, %s", path, page.Status, page.Body)
		}
	}
}

// Operations have no parameters in their URLs: they would be ignored silently.
func TestOperationsRefuseQueryParameters(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	for query, words := range map[string]string{
		"response=url":                  "did you mean response?",
		"respons=url":                   "did you mean response?",
		"format=A4":                     "in the request body",
		"a=1&b=2":                       "a is not a query parameter",
		strings.Repeat("x", 300) + "=1": "in the request body",
		"%FF=1":                         "in the request body",
	} {
		answer := s.Send(t, apitest.Request{Path: "/v1/test/echo?" + query, Body: `{"text":"x"}`})
		if got := answer.Refused(t, wire.InvalidRequest); !strings.Contains(got.Message, words) || len(got.Details[0].Field) > 100 {
			t.Errorf("%.50s: the message is %q, want %q in it", query, got.Message, words)
		}
	}
	s.Send(t, apitest.Request{Path: "/v1/test/echo?", Body: `{"text":"x"}`}).OK(t)
}

// TestNoListTakesAnotherCursor requests the next page of every list with a foreign cursor.
func TestNoListTakesAnotherCursor(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	var description struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/openapi.json"}).OK(t).Body), &description); err != nil {
		t.Fatal(err)
	}
	lists := 0
	for path, methods := range description.Paths {
		for _, parameter := range methods["get"].Parameters {
			if parameter.Name != "cursor" || path == "/v1/fonts" { // which has a renderer: TestFonts
				continue
			}
			lists++
			for _, cursor := range []string{"x", "file_x", "00000000-0000-0000-0000-00000000000", store.NewID("acc"), "%00", "a%20b"} {
				got := s.Send(t, apitest.Request{Method: http.MethodGet, Path: path + "?cursor=" + cursor}).Refused(t, wire.InvalidRequest)
				if len(got.Details) != 1 || got.Details[0].Field != "cursor" {
					t.Errorf("%s?cursor=%s: the details are %v", path, cursor, got.Details)
				}
			}
		}
	}
	if lists < 4 {
		t.Errorf("%d lists have a cursor, want those of files, jobs, deliveries and templates at least", lists)
	}
}
