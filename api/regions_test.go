package api_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"relaypdf/api"
	"relaypdf/api/apierror"
	"relaypdf/api/apitest"
	"relaypdf/api/middleware"
	"relaypdf/api/operation"
	"relaypdf/api/schema"
	"relaypdf/api/wire"
	"relaypdf/render/spool"
	"relaypdf/store"
	"relaypdf/store/storetest"
)

// TestFilesAreReadInTheirRegion keeps a file in one region and asks another for it,
// which has the same database and a folder of files of its own.
func TestFilesAreReadInTheirRegion(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		var box *api.Config
		home := apitest.New(t, apitest.Options{DB: &db, Change: func(c *api.Config) { box = c }})
		id := stored(t, home, `{"text":"letter","response":"url"}`)
		far := storetest.DB{URL: db.URL, DataDir: t.TempDir()}.OpenAs(t, store.Config{Now: home.Clock.Now, Region: "iad"})
		// ask asks the far region, and returns its answer and where it leads.
		ask := func(regions api.Regions, path string, header ...string) *httptest.ResponseRecorder {
			t.Helper()
			config := *box
			config.Store, config.Registry, config.Regions = far, nil, regions
			made, err := api.New(config)
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			for i := 0; i < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
			}
			w := httptest.NewRecorder()
			made.Handler().ServeHTTP(w, r)
			return w
		}
		path := "/v1/files/" + id
		there := api.Regions{Here: "iad", URLs: map[string]string{"loc": home.URL}}
		got := ask(there, path)
		if want := home.URL + path + "?from=iad"; got.Code != http.StatusTemporaryRedirect || got.Header().Get("Location") != want {
			t.Fatalf("status %d to %q, want %q: %s", got.Code, got.Header().Get("Location"), want, got.Body)
		}
		read := home.Send(t, apitest.Request{Method: "GET", Path: strings.TrimPrefix(got.Header().Get("Location"), home.URL), Header: without()}).OK(t)
		if read.Body != "letter" {
			t.Errorf("the file reads %q where the redirect leads", read.Body)
		}
		replay := api.Regions{Here: "iad", Replay: true}
		for name, q := range map[string]struct {
			regions api.Regions
			path    string
			header  []string
			status  int
			replay  string
		}{
			"Fly's proxy is asked":            {replay, path, nil, http.StatusServiceUnavailable, "region=loc"},
			"and not twice":                   {replay, path, []string{"Fly-Replay-Src", "instance=1;region=loc"}, http.StatusServiceUnavailable, ""},
			"a client is not sent in circles": {there, path + "?from=loc", nil, http.StatusServiceUnavailable, ""},
			"an unknown region":               {api.Regions{Here: "iad", URLs: map[string]string{"fra": home.URL}}, path, nil, http.StatusServiceUnavailable, ""},
			"shared files":                    {api.Regions{Here: "iad"}, path, nil, http.StatusServiceUnavailable, ""},
			"an unknown file":                 {there, "/v1/files/file_unknown", nil, http.StatusNotFound, ""},
		} {
			got := ask(q.regions, q.path, q.header...)
			if got.Code != q.status || got.Header().Get("Fly-Replay") != q.replay || got.Header().Get("Location") != "" {
				t.Errorf("%s: status %d, %v: %s", name, got.Code, got.Header(), got.Body)
			}
		}
	})
}

// TestJobsRunWhereTheirFilesAre has two regions with files of their own: the far one
// works alone at first, and leaves the jobs whose upload or long input it has not.
func TestJobsRunWhereTheirFilesAre(t *testing.T) {
	t.Parallel()
	home, far := twoRegions(t)
	there := far(api.Regions{Here: "iad", URLs: map[string]string{"loc": home.URL}})
	server := httptest.NewServer(there.Handler())
	t.Cleanup(server.Close)
	working, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	worked := make(chan error, 1)
	go func() { worked <- there.Calls.Work(working, 2, time.Minute) }()
	t.Cleanup(func() {
		stop()
		if err := <-worked; err != nil {
			t.Error(err)
		}
	})

	upload := stored(t, home, `{"text":"uploaded","response":"url"}`)
	reads := home.Enqueue(t, apitest.Request{Path: "/v1/test/attach", Body: `{"fileId":"` + upload + `","response":"async"}`})
	long := home.Enqueue(t, apitest.Request{Path: echo, Body: `{"text":"long","response":"async","file":"` + base64.StdEncoding.EncodeToString(make([]byte, 2*store.MaxJobInput)) + `"}`})
	free := home.Enqueue(t, apitest.Request{Path: echo, Body: `{"text":"free","response":"async"}`})
	if done := home.Await(t, free.ID); done.Status != "completed" {
		t.Fatalf("the job that needs no file is %s", done.Status)
	}
	for _, id := range []string{reads.ID, long.ID} {
		if job := home.Job(t, id); job.Status != "processing" {
			t.Errorf("a job is %s where its file is not", job.Status)
		}
	}
	home.Work(t)
	for id, want := range map[string]string{reads.ID: "uploaded", long.ID: "long"} {
		if done := home.Await(t, id); done.Status != "completed" || home.Content(t, id) != want {
			t.Errorf("the job is %s with %q, want it done with %q", done.Status, home.Content(t, id), want)
		}
	}

	// Sent to the far region, the job goes to where its file is; with a file of that
	// region, or a long input, there is no such place.
	ask := func(body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/test/attach", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+home.Secret)
		r.Header.Set("Content-Type", "application/json")
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	status, text := ask(`{"fileId":"` + upload + `","response":"async"}`)
	var job wire.JobStatus
	if err := json.Unmarshal([]byte(text), &job); err != nil || status != http.StatusAccepted {
		t.Fatalf("got status %d: %s, want 202", status, text)
	}
	if done := home.Await(t, job.ID); done.Status != "completed" || home.Content(t, job.ID) != "uploaded" {
		t.Errorf("a job of the far region is %s", done.Status)
	}
	filler := base64.StdEncoding.EncodeToString(make([]byte, 2*store.MaxJobInput))
	status, text = ask(`{"fileId":"` + upload + `","filler":"` + filler + `","response":"async"}`)
	if status != http.StatusBadRequest || !strings.Contains(text, `"field":"fileId"`) || !strings.Contains(text, "is kept in the region loc") {
		t.Errorf("got status %d: %s, want 400 that names the file", status, text)
	}
}

// TestCallsGoWhereTheirFilesAre sends calls that are waited for to a region that has
// not the file that they read.
func TestCallsGoWhereTheirFilesAre(t *testing.T) {
	t.Parallel()
	home, far := twoRegions(t)
	upload := stored(t, home, `{"text":"uploaded","response":"url"}`)
	body := `{"fileId":"` + upload + `"}`
	there := api.Regions{Here: "iad", URLs: map[string]string{"loc": home.URL}}
	before := len(home.Effects(t))
	ask := func(regions api.Regions, path, body string, header ...string) *httptest.ResponseRecorder {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+home.Secret)
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		far(regions).Handler().ServeHTTP(w, r)
		return w
	}
	const path = "/v1/test/attach"
	sent := ask(there, path, body)
	if want := home.URL + path + "?from=iad"; sent.Code != http.StatusTemporaryRedirect || sent.Header().Get("Location") != want {
		t.Fatalf("status %d to %q, want 307 to %q: %s", sent.Code, sent.Header().Get("Location"), want, sent.Body)
	}
	replay := api.Regions{Here: "iad", Replay: true}
	long := `{"fileId":"` + upload + `","filler":"` + strings.Repeat("x", 1_000_000) + `"}`
	for name, q := range map[string]struct {
		regions    api.Regions
		path, body string
		header     []string
		status     int
		replay     string
	}{
		"Fly's proxy is asked":              {replay, path, body, nil, http.StatusServiceUnavailable, "region=loc"},
		"and not twice":                     {replay, path, body, []string{"Fly-Replay-Src", "instance=1;region=loc"}, http.StatusServiceUnavailable, ""},
		"nor for more than it keeps":        {replay, path, long, nil, http.StatusServiceUnavailable, ""},
		"a client is not sent in circles":   {there, path + "?from=loc", body, nil, http.StatusServiceUnavailable, ""},
		"a region that nobody knows":        {api.Regions{Here: "iad", URLs: map[string]string{"fra": home.URL}}, path, body, nil, http.StatusServiceUnavailable, ""},
		"other parameters are refused here": {there, path + "?fileId=1", body, nil, http.StatusBadRequest, ""},
	} {
		got := ask(q.regions, q.path, q.body, q.header...)
		if got.Code != q.status || got.Header().Get("Fly-Replay") != q.replay || got.Header().Get("Location") != "" {
			t.Errorf("%s: status %d, %v: %s", name, got.Code, got.Header(), got.Body)
		}
		if says := "is kept in the region loc"; q.status == http.StatusServiceUnavailable && !strings.Contains(got.Body.String(), says) {
			t.Errorf("%s: %s, want that it %s", name, got.Body, says)
		}
	}
	if after := home.Effects(t); len(after) != before {
		t.Errorf("a region that has not the file left something: %q", after)
	}

	// Where it is sent, the call is made, once, whichever region is asked again.
	keyed := func() apitest.Response {
		t.Helper()
		path := strings.TrimPrefix(sent.Header().Get("Location"), home.URL)
		return home.Send(t, apitest.Request{Path: path, Body: body, Header: http.Header{"Idempotency-Key": {"once"}}})
	}
	if got := keyed().OK(t); got.Body != "uploaded" || got.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("got %q, %v", got.Body, got.Header)
	}
	if again := ask(there, path, body, "Idempotency-Key", "once"); again.Header().Get("Location") != sent.Header().Get("Location") {
		t.Errorf("asked again: status %d, %v: %s", again.Code, again.Header(), again.Body)
	}
	if got := keyed().OK(t); got.Body != "uploaded" || got.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("got %q, %v, want the same answer again", got.Body, got.Header)
	}

	// Nobody can make a call whose files are in two regions, and a key that was left out
	// on the way is told of.
	var kept wire.FileURL
	made := ask(there, echo, `{"text":"far","response":"url"}`)
	if err := json.Unmarshal(made.Body.Bytes(), &kept); err != nil || made.Code != http.StatusOK {
		t.Fatalf("status %d: %s", made.Code, made.Body)
	}
	apart := ask(there, path, `{"fileId":"`+upload+`","more":[{"fileId":"`+kept.ID+`"}]}`)
	if text := apart.Body.String(); apart.Code != http.StatusBadRequest || !strings.Contains(text, `"field":"more[0].fileId"`) || !strings.Contains(text, "is kept in the region iad") {
		t.Errorf("status %d: %s, want 400 that names both files", apart.Code, text)
	}
	lost := home.Send(t, apitest.Request{Path: path + "?from=iad", Body: body, Header: without()})
	if refused := lost.Refused(t, apierror.Unauthorized); !strings.Contains(refused.Message, "has left out the key on the way") {
		t.Errorf("without a key: %s", refused.Message)
	}
}

// twoRegions returns a region with files of its own, and what makes another one of the
// same database.
func twoRegions(t *testing.T) (home *apitest.Server, far func(api.Regions, ...func(*api.Config)) *api.API) {
	t.Helper()
	db := storetest.Postgres(t)
	var box *api.Config
	attach := schema.Spec[*operation.Env, attachInput]{
		Info: schema.Info{Name: "test.attach", Summary: "Answer with a stored file", Price: apitest.EchoPrice, Produces: []string{"text/plain"}},
		Run: func(ctx context.Context, env *operation.Env, in *attachInput) (schema.Result, error) {
			file, err := env.Stored(ctx, in.FileID)
			if err != nil {
				return schema.Result{}, err
			}
			defer file.Close()
			text, err := io.ReadAll(file.Open())
			return schema.Result{Stem: "file", Extension: ".txt", ContentType: "text/plain", Body: spool.FromBytes(text)}, err
		},
	}
	home = apitest.New(t, apitest.Options{
		DB: &db, OwnFiles: true, Operations: []schema.Row[*operation.Env]{apitest.Echo(nil), attach}, Change: func(c *api.Config) {
			box = c
			c.Regions = api.Regions{Here: "loc", URLs: map[string]string{"iad": "https://iad.example"}}
		},
	})
	data := storetest.DB{URL: db.URL, DataDir: t.TempDir()}.OpenAs(t, store.Config{Now: home.Clock.Now, Region: "iad", OwnFiles: true})
	lease, err := data.Acquire(context.WithoutCancel(t.Context()), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lease.Close(); err != nil {
			t.Error(err)
		}
	})
	return home, func(regions api.Regions, changes ...func(*api.Config)) *api.API {
		t.Helper()
		config := *box
		config.Store, config.Registry, config.Lease, config.Regions = data, nil, lease.ID(), regions
		for _, change := range changes {
			change(&config)
		}
		there, err := api.New(config)
		if err != nil {
			t.Fatal(err)
		}
		return there
	}
}

// attachInput is the input of test.attach.
type attachInput struct {
	schema.Common
	FileID string     `json:"fileId" jsonschema:"required" jsonschema_description:"The file."`
	More   []attached `json:"more,omitempty" jsonschema_description:"Further files."`
	Filler string     `json:"filler,omitempty" jsonschema_description:"What makes the input long."`
}

type attached struct {
	FileID string `json:"fileId" jsonschema:"required" jsonschema_description:"The file."`
}

// TestPassedOnIsNoFailure: what Fly's proxy gives to another region is a redirect in
// the log and the metrics; what it has given to the wrong one is a failure.
func TestPassedOnIsNoFailure(t *testing.T) {
	t.Parallel()
	home, far := twoRegions(t)
	upload := uploaded(t, home.Send(t, apitest.Request{Path: "/v1/files", Body: "uploaded", Header: http.Header{"X-Filename": {"a.txt"}}})).ID
	result := stored(t, home, `{"text":"letter","response":"url"}`)
	for name, q := range map[string]struct {
		header string // of Fly's proxy
		status int    // that is logged and counted
	}{
		"passed on":  {"", http.StatusTemporaryRedirect},
		"given here": {"instance=1;region=loc", http.StatusServiceUnavailable},
	} {
		log, registry := &apitest.Log{}, prometheus.NewRegistry()
		there := far(api.Regions{Here: "iad", Replay: true}, func(c *api.Config) {
			c.Logger, c.Registry = slog.New(slog.NewJSONHandler(log, nil)), registry
		})
		handler := middleware.New(middleware.Config{API: there.Handler(), Fail: there.Fail, Logger: slog.New(slog.NewJSONHandler(log, nil)), Registry: registry})
		ask := func(method, path, body string) {
			t.Helper()
			r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
			r.Header = http.Header{"Authorization": {"Bearer " + home.Secret}, "Content-Type": {"application/json"}}
			if q.header != "" {
				r.Header.Set("Fly-Replay-Src", q.header)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != http.StatusServiceUnavailable {
				t.Errorf("%s: %s has status %d, want 503 for who comes without Fly's proxy: %s", name, path, w.Code, w.Body)
			}
		}
		ask(http.MethodPost, "/v1/test/attach", `{"fileId":"`+upload+`"}`)
		ask(http.MethodGet, "/v1/files/"+result, "")
		passed := q.status == http.StatusTemporaryRedirect
		for line := range strings.Lines(log.String()) {
			var entry struct {
				Level, Msg, Code, PassedTo string
				Status                     int
			}
			if err := json.Unmarshal([]byte(line), &entry); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			request := entry.Msg == "request" && entry.Status == q.status && (entry.PassedTo == "loc") == passed && (entry.Code == "") == passed
			failed := entry.Msg == "failed" && entry.Level == "ERROR" && !passed
			if !request && !failed {
				t.Errorf("%s: the log says %s", name, line)
			}
		}
		w := httptest.NewRecorder()
		middleware.Private(registry).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		for _, want := range []string{
			fmt.Sprintf(`relaypdf_request_seconds_count{method="POST",route="/v1/test/attach",status="%d"} 1`, q.status),
			fmt.Sprintf(`relaypdf_request_seconds_count{method="GET",route="/v1/files/{id}",status="%d"} 1`, q.status),
			`relaypdf_calls_total{operation="test.attach",outcome="elsewhere"} 1`,
		} {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s: the metrics lack %s", name, want)
			}
		}
	}
}
