package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

// TestRequestsOnThePages: the list is filtered and searched, and a request's page leads to its key, its document and
// the documentation of its error.
func TestRequestsOnThePages(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.join(t, "maya@example.com")
		v.sees("/dashboard/requests", "No requests yet")
		account := h.mayas(t)
		key, _, err := h.CreateKey(t.Context(), store.NewKey{AccountID: account.ID, Name: "production"})
		if err != nil {
			t.Fatal(err)
		}
		old, _, err := h.CreateKey(t.Context(), store.NewKey{AccountID: account.ID, Name: "leaked"})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.RevokeKey(t.Context(), account.ID, old.ID); err != nil {
			t.Fatal(err)
		}
		result := h.NewID("file")
		call := store.CallID(result)
		if err := h.Begin(t.Context(), store.NewCall{ID: call, ResultID: result, AccountID: account.ID, KeyID: key.ID, Operation: "pdf.create", Mode: "url", RequestID: "req-paid", Quote: 2000, Lease: acquire(t, h)}); err != nil {
			t.Fatal(err)
		}
		file := &store.File{ID: result, BlobKey: result, Filename: "Invoice 7.pdf", ContentType: "application/pdf", ExpiresAt: h.clock.Now().Add(time.Hour)}
		if err := h.Settle(t.Context(), store.Settlement{CallID: call, Charge: 2000, File: file}); err != nil {
			t.Fatal(err)
		}
		other := h.join(t, "other@example.com")
		for _, r := range []store.Request{
			{RequestID: "req-paid", KeyID: key.ID, CallID: call, Method: "POST", Path: "/v1/pdf", Status: 200, Price: 2000, Duration: 1210 * time.Millisecond},
			{RequestID: "req-wrong", KeyID: key.ID, Method: "POST", Path: "/v1/pdf/merge", Status: 400, Code: "invalid_request", Message: "files is required.", Body: `{"error":{"code":"invalid_request","message":"<b>files</b>"}}`},
			{RequestID: "req-revoked", KeyID: old.ID, Method: "GET", Path: "/v1/account", Status: 401, Code: "unauthorized", Message: "The API key is unknown or revoked."},
			{RequestID: "req-cut", KeyID: "key_gone", Method: "POST", Path: "/v1/" + strings.Repeat("x", 200), Status: 500, Code: "internal_error", Body: `{"error":`},
		} {
			r.AccountID = account.ID
			if err := h.AddRequests(t.Context(), []store.Request{r}); err != nil {
				t.Fatal(err)
			}
			h.clock.Advance(time.Second)
		}
		all := []string{"POST /v1/pdf<", "POST /v1/pdf/merge<", "GET /v1/account<", "POST /v1/xxx"}
		for query, shown := range map[string][]int{
			"": {0, 1, 2, 3}, "status=succeeded": {0}, "status=failed": {1, 2, 3}, "status=4xx": {1, 2}, "status=5xx": {3}, "code=unauthorized": {2}, "key=" + old.ID: {2},
			"q=req-paid": {0}, "q=" + call: {0}, "q=" + result: {0}, "q=invoice+7": {0}, "q=%2Fv1%2Fpdf": {0, 1}, "q=GET+%2Fv1%2F": {2}, "q=POST+%2Fv1%2Fpdf%2F": {1},
			"q=%2Fv1%2Fpdf&status=failed": {1}, "q=nothing": {}, "period=1": {0, 1, 2, 3}, "period=x": {0, 1, 2, 3},
		} {
			body := v.sees("/dashboard/requests?"+query, "Requests").body
			want := map[int]bool{}
			for _, i := range shown {
				want[i] = true
			}
			for i, words := range all {
				if strings.Contains(body, words) != want[i] {
					t.Errorf("%q shows %q: %v, want %v", query, words, !want[i], want[i])
				}
			}
		}
		id := func(requestID string) string {
			t.Helper()
			page, err := h.Requests(t.Context(), store.RequestFilter{AccountID: account.ID, Text: requestID})
			if err != nil || len(page.Items) != 1 {
				t.Fatalf("got %+v, %v", page, err)
			}
			return page.Items[0].ID
		}
		has := func(path string, parts ...string) {
			t.Helper()
			body := v.get(path).body
			for _, part := range parts {
				if !strings.Contains(body, part) {
					t.Errorf("%s has no %q: %s", path, part, body)
				}
			}
		}
		has("/dashboard/requests/"+id("req-paid"), "/dashboard/documents/"+call, "/dashboard/keys#"+key.ID, "req-paid", "1.21 s", "$0.0020")
		has("/dashboard/requests/"+id("req-wrong"), "400", "/docs/errors#invalid_request", "files is required.", "{\n  &#34;error&#34;: {", "&lt;b&gt;files")
		has("/dashboard/requests/"+id("req-revoked"), "/dashboard/keys?state=revoked#"+old.ID, "leaked")
		has("/dashboard/requests/"+id("req-cut"), "unknown", "{&#34;error&#34;:")
		for who, path := range map[*visitor]string{v: "/dashboard/requests/log_x", other: "/dashboard/requests/" + id("req-paid")} {
			if a := who.get(path); a.status != http.StatusNotFound {
				t.Errorf("%s: got status %d, want 404", path, a.status)
			}
		}
		has("/dashboard/documents/"+call, "/dashboard/requests?q=req-paid")
		documentPath := "/dashboard/documents/" + call
		for text, found := range map[string]bool{call: true, result: true, "req-paid": true, "invoice 7": true, "req-wrong": false} {
			for filter, keeps := range map[string]bool{"": true, "&operation=pdf.create&key=" + key.ID: true, "&status=failed": false, "&key=" + old.ID: false} {
				body := v.sees("/dashboard/documents?q="+url.QueryEscape(text)+filter, "Documents").body
				if got := strings.Contains(body, documentPath); got != (found && keeps) {
					t.Errorf("documents with %q%s: found is %v", text, filter, got)
				}
			}
		}
	})
}
