package api_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/store/storetest"
)

const webhooks = "/v1/webhooks"

func TestWebhookEndpoint(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		list := apitest.Request{Method: http.MethodGet, Path: webhooks}
		if got, want := strings.TrimSpace(s.Send(t, list).OK(t).Body), `{"webhooks":[]}`; got != want {
			t.Errorf("at first the list is %s, want %s", got, want)
		}
		endpoint := s.NewWebhook(t, `{"url":"https://example.com/in","events":["job.failed","wallet.topup","job.failed"]}`)
		shown := fmt.Sprintf(`"id":%q,"url":"https://example.com/in","events":["job.failed","wallet.topup"],"secretPrefix":%q,"enabled":true,"createdAt":"2026-03-10T12:00:00Z"`,
			endpoint.ID, endpoint.Secret[:10])
		if got, want := strings.TrimSpace(s.Send(t, list).OK(t).Body), `{"webhooks":[{`+shown+`}]}`; got != want {
			t.Errorf("the list is\n%s, want\n%s", got, want)
		}
		if !strings.HasPrefix(endpoint.ID, "we_") || !strings.HasPrefix(endpoint.Secret, "whsec_") || len(endpoint.Secret) != 50 {
			t.Errorf("the endpoint is %+v", endpoint)
		}
		patch := func(body string) wire.WebhookEndpoint {
			t.Helper()
			return decode[wire.WebhookEndpoint](t, s.Send(t, apitest.Request{Method: http.MethodPatch, Path: webhooks + "/" + endpoint.ID, Body: body}).OK(t))
		}
		if got := patch(`{"url":"https://example.org/","events":null,"enabled":false}`); got.URL != "https://example.org/" || len(got.Events) != 7 || got.Enabled {
			t.Errorf("the changed endpoint is %+v", got)
		}
		if got := patch(`[]`); got.URL != "https://example.org/" || got.Enabled {
			t.Errorf("after a change of nothing the endpoint is %+v", got)
		}
		if got := patch(`{"enabled":true}`); got.URL != "https://example.org/" || !got.Enabled {
			t.Errorf("the enabled endpoint is %+v", got)
		}
		gone := apitest.Request{Method: http.MethodDelete, Path: webhooks + "/" + endpoint.ID}
		if got, want := strings.TrimSpace(s.Send(t, gone).OK(t).Body), `{"ok":true}`; got != want {
			t.Errorf("the answer to a deletion is %s, want %s", got, want)
		}
		s.Send(t, gone).Refused(t, wire.NotFound)
		expectEffects(t, s)
	})
}

// TestWebhookSecretIsEncrypted: neither as text nor as the bytes that it encodes
// is a secret in the database.
func TestWebhookSecretIsEncrypted(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
	endpoint := s.NewWebhook(t, `{"url":"https://example.com/"}`)
	rolled := decode[wire.WebhookSecret](t, s.Send(t, apitest.Request{Path: webhooks + "/" + endpoint.ID + "/roll"}).OK(t))
	file, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(db.URL, "sqlite://"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var secret, previous []byte
	if err := file.QueryRowContext(t.Context(), "SELECT secret, previous_secret FROM webhooks").Scan(&secret, &previous); err != nil {
		t.Fatal(err)
	}
	for _, stored := range [][]byte{secret, previous} {
		// 5 bytes of version and key, 12 of nonce and 16 of the tag around the text of 50.
		if len(stored) != 83 || bytes.Contains(stored, []byte(rolled.Secret[:10])) || bytes.Contains(stored, []byte(endpoint.Secret[10:20])) {
			t.Errorf("a secret is stored as %q", stored)
		}
	}
}

func TestWebhookFaults(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	endpoint := s.NewWebhook(t, `{"url":"https://example.com/"}`)
	for _, c := range []struct {
		method, body string
		code         wire.Code
		fields       []string
	}{
		{"POST", `{}`, wire.InvalidRequest, []string{"url"}},
		{"POST", `{"url":null}`, wire.InvalidRequest, []string{"url"}},
		{"POST", `{"url":7,"events":["job.done","job.failed",3],"name":"x"}`, wire.InvalidRequest, []string{"events[0]", "events[2]", "name", "url"}},
		{"POST", `{"url":"https://example.com/","events":[]}`, wire.InvalidRequest, []string{"events"}},
		{"POST", `{"url":"https://example.com/","events":"job.failed"}`, wire.InvalidRequest, []string{"events"}},
		{"POST", `{"url":"https://example.com/","events":["webhook.test"]}`, wire.InvalidRequest, []string{"events[0]"}},
		{"POST", `{"url":"https://example.com/","events":["callback"]}`, wire.InvalidRequest, []string{"events[0]"}},
		{"POST", `{"url":"https://example.com/","enabled":true}`, wire.InvalidRequest, []string{"enabled"}},
		{"POST", `{"url":"https://example.com/` + strings.Repeat("x", 2048) + `"}`, wire.InvalidRequest, []string{"url"}},
		{"POST", `{"url":"https://example.com/","url":"https://example.com/"}`, wire.InvalidRequest, []string{"url"}},
		{"POST", `7`, wire.InvalidRequest, []string{""}},
		{"POST", ``, wire.InvalidRequest, []string{""}},
		{"PATCH", `{"enabled":"no","url":"","secret":"x"}`, wire.InvalidRequest, []string{"enabled", "secret", "url"}},
		{"POST", `{"url":"http://example.com/"}`, wire.URLNotAllowed, []string{"url"}},
		{"POST", `{"url":"https://10.0.0.1/"}`, wire.URLNotAllowed, []string{"url"}},
		{"POST", `{"url":"https://localhost/"}`, wire.URLNotAllowed, []string{"url"}},
		{"POST", `{"url":"https://user:pass@example.com/"}`, wire.URLNotAllowed, []string{"url"}},
		{"POST", `{"url":"/relative"}`, wire.URLNotAllowed, []string{"url"}},
		{"PATCH", `{"url":"https://169.254.169.254/latest"}`, wire.URLNotAllowed, []string{"url"}},
		{"PATCH", `{"url":"file:///etc/passwd","enabled":false}`, wire.URLNotAllowed, []string{"url"}},
	} {
		path := webhooks
		if c.method == http.MethodPatch {
			path += "/" + endpoint.ID
		}
		failure := s.Send(t, apitest.Request{Method: c.method, Path: path, Body: c.body}).Refused(t, c.code)
		var fields []string
		for _, detail := range failure.Details {
			fields = append(fields, detail.Field)
			if strings.HasPrefix(detail.Field, "events") && !strings.Contains(detail.Message, "wallet.auto_reload_failed") {
				t.Errorf("%s %s: the message does not list the valid names: %s", c.method, c.body, detail.Message)
			}
		}
		if !slices.Equal(fields, c.fields) {
			t.Errorf("%s %s: the faults are in %q, want %q: %s", c.method, c.body, fields, c.fields, failure.Message)
		}
	}
	got := decode[wire.WebhookList](t, s.Send(t, apitest.Request{Method: http.MethodGet, Path: webhooks}).OK(t)).Webhooks
	if len(got) != 1 || got[0].URL != endpoint.URL || !got[0].Enabled {
		t.Errorf("refused requests have left %+v", got)
	}
}

func TestTooManyWebhooks(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	for range 25 {
		s.NewWebhook(t, `{"url":"https://example.com/"}`)
	}
	failure := s.Send(t, apitest.Request{Path: webhooks, Body: `{"url":"https://example.com/"}`}).Refused(t, wire.InvalidRequest)
	if !strings.Contains(failure.Message, "25") {
		t.Errorf("the message does not name the limit: %s", failure.Message)
	}
}

// TestWebhooksAreNotForOthers calls every route with an ID: objects of another account look exactly like missing
// ones.
func TestWebhooksAreNotForOthers(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	endpoint := s.NewWebhook(t, `{"url":"https://example.com/"}`)
	delivery := tryOut(t, s, endpoint.ID)
	_, _, secret := s.NewAccount(t, "other@example.com")
	other := http.Header{"Authorization": {"Bearer " + secret}, "X-Request-Id": {"same"}}
	routes := 0
	for _, route := range s.API.Routes() {
		if !strings.HasPrefix(route.Path, webhooks) || !strings.Contains(route.Path, "{id}") {
			continue
		}
		routes++
		theirs := endpoint.ID
		if strings.Contains(route.Path, "deliveries") {
			theirs = delivery.ID
		}
		answer := func(id string) apitest.Response {
			return s.Send(t, apitest.Request{Method: route.Method, Path: strings.Replace(route.Path, "{id}", id, 1), Body: "{}", Header: other})
		}
		got, missing := answer(theirs), answer("we_missing")
		got.Refused(t, wire.NotFound)
		if got.Body != missing.Body || got.Status != missing.Status {
			t.Errorf("%s %s: another account's is %q, a missing one %q", route.Method, route.Path, got.Body, missing.Body)
		}
		answer("%00").Refused(t, wire.NotFound)
		answer("deliveries").Refused(t, wire.NotFound)
	}
	if routes != 7 {
		t.Errorf("went through %d routes, want 7", routes)
	}
	for path, want := range map[string]string{webhooks: `{"webhooks":[]}`, webhooks + "/deliveries": `{"deliveries":[],"nextCursor":null}`} {
		if got := strings.TrimSpace(s.Send(t, apitest.Request{Method: http.MethodGet, Path: path, Header: other}).OK(t).Body); got != want {
			t.Errorf("another account's %s is %s, want %s", path, got, want)
		}
	}
	if d := s.Deliveries(t); len(d) != 1 || d[0].Status != "pending" {
		t.Errorf("the owner's deliveries are %+v", d)
	}
}

// TestWebhookPostsAreLimited in the windows of the key, as operations are.
func TestWebhookPostsAreLimited(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	for n := range 6 {
		answer := s.Send(t, apitest.Request{Path: webhooks + "/we_missing/test"})
		want := wire.NotFound
		if n == 5 {
			want = wire.RateLimited
		}
		answer.Refused(t, want)
		if answer.Header.Get("RateLimit") == "" {
			t.Error("the answer does not tell of the windows")
		}
	}
	s.Send(t, apitest.Request{Method: http.MethodGet, Path: webhooks}).OK(t)
	if answer := s.Send(t, apitest.Request{Path: webhooks, Header: http.Header{"Authorization": nil}}); answer.Status != http.StatusUnauthorized {
		t.Errorf("without a key: status %d, want 401", answer.Status)
	}
}

// TestDeletionCancelsDeliveries: the list shows that, and they cannot be replayed.
func TestDeletionCancelsDeliveries(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	endpoint := s.NewWebhook(t, `{"url":"https://example.com/"}`)
	d := tryOut(t, s, endpoint.ID)
	s.Send(t, apitest.Request{Method: http.MethodDelete, Path: webhooks + "/" + endpoint.ID}).OK(t)
	want := fmt.Sprintf(`{"deliveries":[{"id":%q,"endpointId":%q,"url":"https://example.com/","event":{"id":%q,"type":"webhook.test"},"status":"failed","attempts":0,`+
		`"lastStatusCode":null,"lastError":"Canceled: the endpoint was deleted.","lastDurationMs":null,"lastResponse":null,"nextAttemptAt":null,`+
		`"createdAt":"2026-03-10T12:00:00Z","deliveredAt":null}],"nextCursor":null}`, d.ID, endpoint.ID, d.Event.ID)
	if got := strings.TrimSpace(s.Send(t, apitest.Request{Method: http.MethodGet, Path: webhooks + "/deliveries"}).OK(t).Body); got != want {
		t.Errorf("the deliveries are\n%s, want\n%s", got, want)
	}
	s.Send(t, apitest.Request{Path: webhooks + "/deliveries/" + d.ID + "/replay"}).Refused(t, wire.InvalidRequest)
}
