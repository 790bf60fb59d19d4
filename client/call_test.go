package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/client/webhook"
)

// TestCallHasOneKey sends a call twice, copies of it, and calls for other responses.
func TestCallHasOneKey(t *testing.T) {
	t.Parallel()
	var keys []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		if agent := r.Header.Get("User-Agent"); agent != "relaypdf-go" {
			t.Errorf("the User-Agent is %q", agent)
		}
		w.Header().Set("Content-Disposition", `attachment; filename="a.pdf"`)
	}))
	defer server.Close()
	relay := client.Client{BaseURL: server.URL}
	call := relay.PDF().Create(client.PDFCreateInput{HTML: "a"})
	limited := call.With(client.CallOptions{MaxCharge: new(int64(1))})
	named := call.With(client.CallOptions{IdempotencyKey: "k"})
	for _, c := range []client.Call{call, call, limited, named, relay.PDF().Create(client.PDFCreateInput{HTML: "a"})} {
		if _, err := c.Bytes(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if keys[0] == "" || keys[1] != keys[0] || keys[2] != keys[0] || keys[3] != "k" || keys[4] == keys[0] {
		t.Errorf("the keys are %q", keys)
	}

	if _, err := limited.URL(t.Context()); err == nil || !strings.Contains(err.Error(), "was sent for a file: make another call for a URL") {
		t.Errorf("URL after Bytes: %v", err)
	}
	if _, err := call.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "make another call for a job") {
		t.Errorf("Start after Bytes: %v", err)
	}
	quote := relay.PDF().Bulk(client.PDFBulkInput{Quote: true})
	if _, err := quote.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "Quote") {
		t.Errorf("Start with Quote: %v", err)
	}
	if len(keys) != 5 {
		t.Errorf("%d requests arrived, want 5", len(keys))
	}
}

// TestUnstoredCallIsNotRepeated loses responses: without a stored result, only a refusal of the service is retried.
func TestUnstoredCallIsNotRepeated(t *testing.T) {
	t.Parallel()
	hangUp := func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	page := func(w http.ResponseWriter) { w.WriteHeader(http.StatusGatewayTimeout) }
	refuse := func(code client.Code) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.WriteHeader((&client.Error{Code: code}).Status())
			fmt.Fprintf(w, `{"error":{"code":%q,"message":"no","requestId":"r"}}`, code)
		}
	}
	for name, q := range map[string]struct {
		fail  func(http.ResponseWriter)
		store *bool
		calls int32
	}{
		"lost":         {hangUp, nil, 1},
		"lost, stored": {hangUp, new(true), 2},
		"a proxy's":    {page, nil, 1},
		"rate limited": {refuse(client.RateLimited), nil, 2},
		"failed":       {refuse(client.InternalError), nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if calls.Add(1) == 1 {
					q.fail(w)
					return
				}
				w.Header().Set("Content-Disposition", `attachment; filename="a.pdf"`)
			}))
			defer server.Close()
			relay := client.Client{BaseURL: server.URL, NoStore: true}
			_, err := relay.PDF().Create(client.PDFCreateInput{HTML: "a", Store: q.store}).Bytes(t.Context())
			if calls.Load() != q.calls || (err == nil) != (q.calls == 2) {
				t.Errorf("%d requests, want %d (%v)", calls.Load(), q.calls, err)
			}
		})
	}
}

func TestSaveLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.pdf")
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := io.MultiReader(strings.NewReader("half"), errorReader{})
	result := client.Result{Body: io.NopCloser(broken)}
	if err := result.Save(path); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
	names, err := os.ReadDir(dir)
	if content, readErr := os.ReadFile(path); err != nil || readErr != nil || len(names) != 1 || string(content) != "before" {
		t.Errorf("the folder has %v, and the file %q (%v, %v)", names, content, err, readErr)
	}

	result = client.Result{Body: io.NopCloser(strings.NewReader("after"))}
	if err := result.Save(path); err != nil {
		t.Fatal(err)
	}
	names, err = os.ReadDir(dir)
	if content, readErr := os.ReadFile(path); err != nil || readErr != nil || len(names) != 1 || string(content) != "after" {
		t.Errorf("the folder has %v, and the file %q (%v, %v)", names, content, err, readErr)
	}
	if err := (&client.Result{Body: http.NoBody}).Save(os.DevNull); err != nil {
		t.Errorf("a device: %v", err)
	}
}

var errBroken = errors.New("broken")

type errorReader struct{}

func (errorReader) Read([]byte) (int, error) { return 0, errBroken }

// TestWebhookEvent receives signed events.
func TestWebhookEvent(t *testing.T) {
	t.Parallel()
	secret := webhook.NewSecret()
	receive := func(body string) (client.Event, error) {
		header := http.Header{webhook.SignatureHeader: {webhook.Sign(secret, time.Now(), []byte(body))}}
		if err := webhook.Verify(secret, header, []byte(body), webhook.Options{}); err != nil {
			return nil, err
		}
		return client.ParseEvent([]byte(body))
	}

	event, err := receive(`{"id":"evt_1","type":"job.failed","data":{"id":"file_1","status":"failed","error":{"code":"render_failed","message":"m"}}}`)
	if failed, ok := event.(client.JobFailedEvent); !ok || err != nil || failed.Data.Error.Code != "render_failed" {
		t.Errorf("got %#v, %v", event, err)
	}
	event, err = receive(`{"id":"evt_2","type":"some.other","data":{"a":1}}`)
	if other, ok := event.(client.OtherEvent); !ok || err != nil || string(other.Data) != `{"a":1}` {
		t.Errorf("got %#v, %v", event, err)
	}
	if _, err := receive(`[]`); err == nil {
		t.Error("a list is read as an event")
	}
}

func TestJobMethods(t *testing.T) {
	t.Parallel()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		if r.URL.Path == "/v1/files/j" {
			_, _ = io.WriteString(w, `{"pageCount":3}`)
			return
		}
		_, _ = io.WriteString(w, `{"id":"j","status":"completed"}`)
	}))
	defer server.Close()
	relay := client.Client{BaseURL: server.URL}
	job := relay.Job("j")
	status, err := job.Status(t.Context())
	if err != nil || status.Status != client.JobCompleted {
		t.Errorf("Status: %+v, %v", status, err)
	}
	if _, err := job.Cancel(t.Context()); err != nil {
		t.Error(err)
	}
	var info struct{ PageCount int }
	if err := job.JSON(t.Context(), &info); err != nil || info.PageCount != 3 {
		t.Errorf("JSON: %+v, %v", info, err)
	}
	if got, want := fmt.Sprint(asked), "[GET /v1/jobs/j DELETE /v1/jobs/j GET /v1/jobs/j GET /v1/files/j]"; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
}

func TestUploadFromPosition(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_ = json.NewEncoder(w).Encode(map[string]string{"id": string(body)})
	}))
	defer server.Close()
	relay := client.Client{BaseURL: server.URL}
	content := strings.NewReader("head body")
	if _, err := io.CopyN(io.Discard, content, 5); err != nil {
		t.Fatal(err)
	}
	if upload, err := relay.Files().Upload(t.Context(), "a.txt", content); err != nil || upload.ID != "body" {
		t.Errorf("%q was sent (%v), want the rest", upload.ID, err)
	}
}

// TestSaveKeepsLinkAndMode writes over a file that a symbolic link leads to.
func TestSaveKeepsLinkAndMode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file.pdf")
	link := filepath.Join(dir, "link.pdf")
	if err := errors.Join(os.WriteFile(file, []byte("old"), 0o600), os.Symlink(file, link)); err != nil {
		t.Fatal(err)
	}

	if err := (&client.Result{Body: io.NopCloser(strings.NewReader("new"))}).Save(link); err != nil {
		t.Fatal(err)
	}

	content, err := os.ReadFile(file)
	if err != nil || string(content) != "new" {
		t.Errorf("the file has %q, %v", content, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode: %v, %v", info.Mode(), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link: %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

// TestUnstoredCallIsSentOnce loses the response of a call on a connection that was used before, after which net/http
// repeats what it may repeat.
func TestUnstoredCallIsSentOnce(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = w.Write([]byte("{}"))
			return
		}
		calls.Add(1)
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(server.Close)

	for _, q := range []struct {
		noStore bool
		calls   int64
	}{{true, 1}, {false, 2}} {
		relay := client.Client{BaseURL: server.URL, HTTP: &http.Client{Transport: &http.Transport{}}, NoStore: q.noStore, Retries: -1}
		if _, err := relay.Service().Health(t.Context()); err != nil {
			t.Fatal(err)
		}
		calls.Store(0)
		if _, err := relay.PDF().Create(client.PDFCreateInput{HTML: "a"}).Bytes(t.Context()); err == nil {
			t.Error("there is a result")
		}
		if calls.Load() != q.calls {
			t.Errorf("NoStore %v: %d requests, want %d", q.noStore, calls.Load(), q.calls)
		}
	}
}
