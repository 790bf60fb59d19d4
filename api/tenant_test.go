package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// owned makes one thing of each kind that has an id in a path, for the server's
// account, by the collection that the path names.
var owned = map[string]func(t *testing.T, s *apitest.Server) (id string){
	"/v1/jobs": func(t *testing.T, s *apitest.Server) string {
		return s.Enqueue(t, apitest.Request{Path: echo, Body: async}).ID
	},
	"/v1/files": func(t *testing.T, s *apitest.Server) string {
		return s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a","response":"url"}`}).OK(t).Header.Get("x-service-id")
	},
	"/v1/templates": func(t *testing.T, s *apitest.Server) string {
		id := made(t, s, apitest.Request{Path: "/v1/templates", Body: `{"name":"mine","html":"x"}`})
		if _, err := s.Store.PublishTemplate(t.Context(), s.Account.ID, id, 0, "", nil); err != nil {
			t.Fatal(err)
		}
		return id
	},
	"/v1/connections": func(t *testing.T, s *apitest.Server) string {
		return made(t, s, apitest.Request{Path: "/v1/connections", Body: `{"name":"a","s3":{"bucket":"abc","accessKeyId":"a","secretAccessKey":"b"}}`})
	},
	"/v1/signing-identities": func(t *testing.T, s *apitest.Server) string {
		i := store.SigningIdentity{ID: s.Store.NewID("sig"), AccountID: s.Account.ID, Name: "a", Certificate: "{}", Secret: []byte("sealed")}
		if _, err := s.Store.CreateSigningIdentity(t.Context(), i); err != nil {
			t.Fatal(err)
		}
		return i.ID
	},
	"/v1/webhooks": func(t *testing.T, s *apitest.Server) string {
		return made(t, s, apitest.Request{Path: "/v1/webhooks", Body: `{"url":"https://example.com/hook"}`})
	},
	"/v1/webhooks/deliveries": func(t *testing.T, s *apitest.Server) string {
		hook := made(t, s, apitest.Request{Path: "/v1/webhooks", Body: `{"url":"https://example.com/hook"}`})
		s.Send(t, apitest.Request{Path: "/v1/webhooks/" + hook + "/test"})
		var list struct{ Deliveries []struct{ ID string } }
		answer := s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/v1/webhooks/deliveries"}).OK(t)
		if err := json.Unmarshal([]byte(answer.Body), &list); err != nil || len(list.Deliveries) == 0 {
			t.Fatalf("no delivery in %s (%v)", answer.Body, err)
		}
		return list.Deliveries[0].ID
	},
}

// made sends a request that makes something and returns its id.
func made(t *testing.T, s *apitest.Server, q apitest.Request) string {
	t.Helper()
	answer := s.Send(t, q)
	var body struct{ ID string }
	if err := json.Unmarshal([]byte(answer.Body), &body); err != nil || body.ID == "" {
		t.Fatalf("%s: status %d, no id in %s (%v)", q.Path, answer.Status, answer.Body, err)
	}
	return body.ID
}

// TestNothingOfAnotherAccount: on every route with an id that needs a key,
// another account's id is answered like one that never was. A new kind of thing
// fails the test until it has a maker.
func TestNothingOfAnotherAccount(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		_, _, other := s.NewAccount(t, "other@example.com")
		ids, tried := map[string]string{}, 0
		for _, route := range s.API.Routes() {
			collection, rest, ok := strings.Cut(route.Path, "/{id}")
			if !ok || route.Access == "public" {
				continue
			}
			if ids[collection] == "" {
				maker := owned[collection]
				if maker == nil {
					t.Errorf("%s %s: the test cannot make anything of %s", route.Method, route.Path, collection)
					continue
				}
				ids[collection] = maker(t, s)
			}
			tried++
			body := ""
			if route.Method == http.MethodPatch {
				body = "{}"
			}
			if strings.HasSuffix(rest, "/restore") {
				body = `{"version":1}`
			}
			if strings.HasSuffix(rest, "/sessions") {
				body = `{"capabilities":["edit"],"origin":"https://app.example.com"}`
			}
			rest = strings.ReplaceAll(rest, "{version}", "1")
			before := s.Effects(t)
			ask := func(id string) apitest.Failure {
				return s.Send(t, apitest.Request{
					Method: route.Method, Path: collection + "/" + id + rest, Body: body,
					Header: http.Header{"Authorization": {"Bearer " + other}},
				}).Refused(t, wire.NotFound)
			}
			foreign, unknown := ask(ids[collection]), ask("file_aaaaaaaaaaaaaaaaaaaaaaaaaa")
			if foreign.Message != unknown.Message || len(foreign.Details) != len(unknown.Details) {
				t.Errorf("%s %s: another account's id is answered %q, an unknown one %q", route.Method, route.Path, foreign.Message, unknown.Message)
			}
			if after := s.Effects(t); strings.Join(after, "\n") != strings.Join(before, "\n") {
				t.Errorf("%s %s changed the effects from %v to %v", route.Method, route.Path, before, after)
			}
		}
		if tried < len(owned) {
			t.Errorf("%d routes were tried, want %d at least", tried, len(owned))
		}
	})
}
