package api_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestLagIsShown queues a job without a worker and reads how long it has waited.
func TestLagIsShown(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db})
		s.Enqueue(t, apitest.Request{Path: echo, Body: async})
		s.Clock.Advance(7 * time.Minute)
		answer := httptest.NewRecorder()
		middleware.Private(s.Registry).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		shown := answer.Body.String()
		waited := regexp.MustCompile(`(?m)^relaypdf_oldest_job_seconds (\S+)$`).FindStringSubmatch(shown)
		if waited == nil {
			t.Fatal("the oldest job is not shown")
		}
		if seconds, err := strconv.ParseFloat(waited[1], 64); err != nil || seconds < 7*60 {
			t.Errorf("the oldest job has waited for %s s, want 420 at least", waited[1])
		}
	})
}
