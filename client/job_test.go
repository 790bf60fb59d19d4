package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/store/storetest"
)

func quiet(cfg *apitest.Settings) { cfg.NoRateLimits = true }

func TestClientJob(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	service := s.Client()
	result, err := service.Do(t.Context(), "test.echo", json.RawMessage(`{"text":"a","response":"async"}`), client.CallOptions{IdempotencyKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	want := client.JobStatus{ID: result.ID, Status: "processing", PollURL: s.URL + "/v1/jobs/" + result.ID}
	if result.Job == nil || !reflect.DeepEqual(*result.Job, want) || result.Body != nil || result.File != nil || result.Charged != 0 || result.Replayed {
		t.Errorf("got %+v with job %+v, want %+v", result, result.Job, want)
	}
	if job, err := service.Jobs().Get(t.Context(), result.ID); err != nil || !reflect.DeepEqual(job, want) || job.Failed() != nil {
		t.Errorf("Job: got %+v, %v; want %+v", job, err, want)
	}
	again, err := service.Do(t.Context(), "test.echo", json.RawMessage(`{"text":"a","response":"async"}`), client.CallOptions{IdempotencyKey: "k"})
	if err != nil || !again.Replayed || !reflect.DeepEqual(*again.Job, want) {
		t.Errorf("again: got %+v, %v; want the same job", again, err)
	}
	s.Work(t)
	service.Wait = func(context.Context, time.Duration) error { return nil }
	done, err := service.Job(result.ID).Wait(t.Context(), nil)
	if err != nil || done.Status != "completed" || done.Filename != "echo.txt" || done.SizeBytes != 1 {
		t.Errorf("Wait: got %+v, %v", done, err)
	}
	var refused *client.Error
	if _, err := service.Job("file_none").Wait(t.Context(), nil); !errors.As(err, &refused) || refused.Code != client.NotFound {
		t.Errorf("Wait for no job: got %v, want not_found", err)
	}
}

func TestClientWaitsAsAsked(t *testing.T) {
	t.Parallel()
	answers := []string{"3", "", "x", "7200"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		status := "failed"
		if len(answers) > 0 {
			status = "processing"
			w.Header().Set("Retry-After", answers[0])
			answers = answers[1:]
		}
		_, _ = fmt.Fprintf(w, `{"id":"file_1","status":%q,"error":{"code":"render_failed","message":"The page did not load."}}`, status)
	}))
	defer server.Close()
	var waits []time.Duration
	service := &client.Client{BaseURL: server.URL, HTTP: server.Client(), Wait: func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		return nil
	}}
	_, err := service.Job("file_1").Wait(t.Context(), nil)
	if want := []time.Duration{3 * time.Second, time.Second, time.Second, time.Minute}; !slices.Equal(waits, want) {
		t.Errorf("waited %v (%v), want %v", waits, err, want)
	}
	var failed *client.Error
	if !errors.As(err, &failed) || failed.Code != client.RenderFailed || failed.Message != "The page did not load." {
		t.Errorf("the job failed with %v, want render_failed", err)
	}
	answers = []string{"1"}
	stopped := errors.New("stopped")
	service.Wait = func(context.Context, time.Duration) error { return stopped }
	if _, err := service.Job("file_1").Wait(t.Context(), nil); !errors.Is(err, stopped) {
		t.Errorf("an ended wait: got %v", err)
	}
}

// TestClientUpload sends a file through a service that is busy at first: it is
// sent again from its beginning.
func TestClientUpload(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		var asked atomic.Int64
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1) <= 2 {
				_, _ = io.CopyN(io.Discard, r.Body, 3)
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			s.Handler.ServeHTTP(w, r)
		}))
		defer front.Close()
		service := s.Client()
		service.BaseURL, service.Retries = front.URL, 2
		service.Wait = func(context.Context, time.Duration) error { return nil }
		const name, content = "Übersicht 100%.txt", "content"
		file, err := service.Files().Upload(t.Context(), name, strings.NewReader(content))
		if err != nil || file.Filename != name || file.SizeBytes != 7 || !file.ExpiresAt.Equal(apitest.Start().Add(24*time.Hour)) {
			t.Fatalf("Upload: got %+v, %v", file, err)
		}
		if got := s.Content(t, file.ID); got != content {
			t.Errorf("%q was kept, want %q", got, content)
		}
		var refused *client.Error
		if _, err := service.Files().Upload(t.Context(), name, strings.NewReader("")); !errors.As(err, &refused) || refused.Code != client.InvalidRequest {
			t.Errorf("Upload of nothing: got %v, want invalid_request", err)
		}
		if err := service.Files().Delete(t.Context(), file.ID); err != nil {
			t.Errorf("Delete: %v", err)
		}
		if err := service.Files().Delete(t.Context(), file.ID); !errors.As(err, &refused) || refused.Code != client.NotFound {
			t.Errorf("Delete again: got %v, want not_found", err)
		}
	})
}
