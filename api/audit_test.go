package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestChangesAreInTheAuditLog makes each change of the account by the API, and compares the log.
func TestChangesAreInTheAuditLog(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	s := toolServerOn(t, &db, quiet)
	var log []string
	send := func(method, path, body string, entries ...string) apitest.Response {
		t.Helper()
		s.Clock.Advance(time.Second)
		answer := s.Send(t, apitest.Request{Method: method, Path: path, Body: body})
		if answer.Status >= http.StatusBadRequest {
			t.Fatalf("%s %s: got %d %s", method, path, answer.Status, answer.Body)
		}
		log = append(log, entries...)
		return answer
	}
	hook := decode[wire.WebhookSecret](t, send("POST", "/v1/webhooks", `{"url":"https://hooks.example/in"}`, "webhook.made https://hooks.example/in"))
	at := "/v1/webhooks/" + hook.ID
	send("PATCH", at, `{"url":"https://hooks.example/b"}`, "webhook.changed https://hooks.example/b")
	send("PATCH", at, `{"enabled":false}`, "webhook.paused https://hooks.example/b")
	send("PATCH", at, `{"enabled":true}`, "webhook.resumed https://hooks.example/b")
	send("POST", at+"/roll", "", "webhook.rolled https://hooks.example/b")
	send("POST", at+"/activate", "", "webhook.activated https://hooks.example/b")
	send("DELETE", at, "", "webhook.deleted https://hooks.example/b")

	to := decode[wire.Connection](t, send("POST", connections, `{"name":"archive","s3":{"bucket":"abc","accessKeyId":"k","secretAccessKey":"canary"}}`, "connection.made archive"))
	send("PATCH", connections+"/"+to.ID, `{"name":"bills"}`, "connection.changed bills")
	send("POST", connections+"/"+to.ID+"/test", "", "connection.tested bills")
	send("DELETE", connections+"/"+to.ID, "", "connection.deleted bills")

	signing := decode[wire.SigningIdentity](t, send("POST", "/v1/signing-identities", newIdentity(t, "contracts"), "signing.made contracts"))
	send("DELETE", "/v1/signing-identities/"+signing.ID, "", "signing.deleted contracts")

	send("POST", "/v1/templates", `{"name":"Letter","html":"a"}`, "template.made Letter letter")
	for range 2 { // One entry an hour.
		send("PATCH", "/v1/templates/letter", `{"html":"b"}`)
	}
	log = append(log, "template.changed Letter letter")
	send("POST", "/v1/templates/letter/publish", `{}`, "template.published Letter v1")
	send("PATCH", "/v1/templates/letter", `{"html":"c"}`)
	send("POST", "/v1/templates/letter/discard", "", "template.discarded Letter letter")
	send("POST", "/v1/templates/letter/restore", `{"version":1}`, "template.restored Letter letter")
	send("POST", "/v1/templates/letter/duplicate", `{"name":"Copy"}`, "template.duplicated Copy letter-copy")
	send("DELETE", "/v1/templates/letter", "", "template.deleted Letter letter")
	send("PUT", "/v1/templates/partials/foot", `{"html":"a"}`, "partial.made foot")
	send("PUT", "/v1/templates/partials/foot", `{"html":"b"}`, "partial.changed foot")
	send("DELETE", "/v1/templates/partials/foot", "", "partial.deleted foot")
	send("PATCH", "/v1/billing/limits", `{"maxJobMicrodollars":5000000}`, "limits.changed one call: $5.00, one day: none")

	entries, err := s.Store.AuditEntries(t.Context(), s.Account.ID, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(entries)
	for i, e := range entries {
		text := e.Action
		for _, part := range []string{e.Object, e.Note} {
			if part != "" {
				text += " " + part
			}
		}
		if i >= len(log) || text != log[i] {
			t.Fatalf("entry %d is %q; want the entries %q", i, text, log)
		}
		want := store.AuditEntry{ID: e.ID, AccountID: s.Account.ID, Who: "key " + s.Key.ID, Action: e.Action, Object: e.Object, Note: e.Note, Address: "127.0.0.1", At: e.At}
		if fmt.Sprint(e) != fmt.Sprint(want) {
			t.Errorf("got %+v, want %+v", e, want)
		}
	}
	if len(entries) != len(log) {
		t.Errorf("got %d entries, want %d", len(entries), len(log))
	}
}
