package middleware

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
)

// TestBusyResponsesHaveRetryAfter: whichever handler writes the response, each 429 and 503 has a Retry-After in
// whole seconds.
func TestBusyResponsesHaveRetryAfter(t *testing.T) {
	for _, test := range []struct {
		status int
		set    string
		want   bool
	}{
		{http.StatusServiceUnavailable, "", true}, {http.StatusTooManyRequests, "", true}, {http.StatusTooManyRequests, "17", true},
		{http.StatusBadGateway, "", false}, {http.StatusOK, "", false},
	} {
		recorder := httptest.NewRecorder()
		answer := &ResponseRecord{ResponseWriter: recorder}
		if test.set != "" {
			answer.Header().Set("Retry-After", test.set)
		}
		http.Error(answer, "x", test.status)
		got := recorder.Header().Get("Retry-After")
		if seconds, err := strconv.Atoi(got); (err == nil && seconds > 0) != test.want || test.set != "" && got != test.set {
			t.Errorf("status %d, Retry-After %q: got %q", test.status, test.set, got)
		}
	}
}
