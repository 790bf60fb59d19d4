package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/operation"
)

// TestMembersHaveOperationsAndUploads makes requests for an account without a key: they have the same effects as
// with a key, and no other routes exist.
func TestMembersHaveOperationsAndUploads(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Operations: operation.Rows})
	ask := func(method, path, body string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		s.API.MemberHandler(s.Account, nil).ServeHTTP(answer, r)
		return answer
	}
	for range 10 { // more than a key may in so short a time
		if a := ask(http.MethodPost, "/v1/files", `{"content":"PGI+","filename":"a.html"}`); a.Code != http.StatusCreated {
			t.Fatalf("got %d %s", a.Code, a.Body)
		}
	}
	for _, path := range []string{"/v1/account", "/v1/templates", "/v1/templates/letter", "/v1/billing/usage", "/v1/jobs", "/v1/files", "/v1/files/file_unknown", "/v1/files/file_unknown/look"} {
		if a := ask(http.MethodGet, path, ""); a.Code != http.StatusNotFound && a.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: got %d", path, a.Code)
		}
	}
	suspended := s.Account
	suspended.Suspended = true
	answer := httptest.NewRecorder()
	s.API.MemberHandler(suspended, nil).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/files", strings.NewReader(`{}`)))
	if answer.Code != http.StatusForbidden {
		t.Errorf("a suspended account: got %d %s", answer.Code, answer.Body)
	}
}

// TestPreviewsHaveTheirOwnLimit asks for more than an account may have in a day.
// This process makes no documents, and counts all the same.
func TestPreviewsHaveTheirOwnLimit(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Operations: operation.Rows})
	var failure *wire.Error
	for i := range call.MaxPreviews + 1 {
		_, err := s.API.Calls.Preview(t.Context(), call.PreviewRequest{Caller: call.Caller{Account: s.Account, Kind: call.ByPerson}, Input: []byte(`{"html":"x"}`)})
		want := "convert_unavailable"
		if i == call.MaxPreviews {
			want = "rate_limited"
		}
		failure = call.APIError(err)
		if code := string(failure.Code); code != want {
			t.Fatalf("preview %d: got %s (%v), want %s", i+1, code, err, want)
		}
	}
	const want = "Preview limit reached: 2000 previews per 24 hours. Retry in 24 hours. The template is saved, and POST /v1/templates/preview still works."
	if failure.Error() != want || failure.RetryAfter != 24*60*60 {
		t.Errorf("refused with %q, Retry-After %d; want %q", failure.Error(), failure.RetryAfter, want)
	}
	s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/v1/account"}).OK(t)
}
