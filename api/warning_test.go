package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/render/spool"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// faulty is an operation whose results have warnings, one for each letter of its
// text.
func faulty() schema.Definition[*operation.Deps] {
	return schema.TypedDefinition[*operation.Deps, apitest.EchoInput]{
		Info:    schema.Info{Name: "test.faulty", Summary: "Answer with warnings", Price: apitest.EchoPrice, Produces: []string{"text/plain"}},
		Example: apitest.EchoInput{Text: "hello"},
		Run: func(_ context.Context, _ *operation.Deps, in *apitest.EchoInput) (schema.Result, error) {
			return schema.Result{Stem: "echo", Extension: ".txt", ContentType: "text/plain", Body: spool.FromBytes([]byte("made")), Warnings: twoFaults[:len(in.Text)]}, nil
		},
	}
}

var twoFaults = []wire.Warning{
	{Code: "resource_failed", Message: "returned status 404", URL: "https://example.com/ü.png?<a>"},
	{Code: "script_error", Message: "ReferenceError: x \U0001F600"},
}

// TestWarningsGoWithTheResult: the warnings of a document accompany its result everywhere: in the response, in the
// job, in the callback and the endpoint's event, and again in a replay.
func TestWarningsGoWithTheResult(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet, Operations: []schema.Definition[*operation.Deps]{faulty()}})
		receiver := apitest.NewReceiver(t, nil)
		s.Deliver(t)
		told := func(what, body string, want []wire.Warning) {
			t.Helper()
			var got struct{ Warnings []wire.Warning }
			if err := json.Unmarshal([]byte(body), &got); err != nil || !reflect.DeepEqual(got.Warnings, want) {
				t.Errorf("%s is %s (%v), want the warnings %v", what, body, err, want)
			}
		}
		for _, replay := range []bool{false, true} {
			binary := withKey(t, s, "binary", "/v1/test/faulty", `{"text":"ab","callbackUrl":"`+receiver.URL+`"}`).OK(t)
			if got := binary.Header.Get("x-service-warnings"); got != "2" || binary.Header.Get("x-relaypdf-warnings") != "2" {
				t.Errorf("replay %t: x-service-warnings is %q, want 2", replay, got)
			}
			kept := withKey(t, s, "url", "/v1/test/faulty", `{"text":"a","response":"url"}`).OK(t)
			told("the answer", kept.Body, twoFaults[:1])
			if got := kept.Header.Get("x-service-warnings"); got != "1" {
				t.Errorf("replay %t: x-service-warnings is %q, want 1", replay, got)
			}
		}
		told("the callback", string(receiver.Next(t).Body), twoFaults)

		job := s.Enqueue(t, apitest.Request{Path: "/v1/test/faulty", Body: `{"text":"ab","response":"async"}`})
		s.Work(t)
		s.Await(t, job.ID)
		for _, path := range []string{"/v1/jobs/" + job.ID} {
			told("the job", s.Send(t, apitest.Request{Method: http.MethodGet, Path: path}).OK(t).Body, twoFaults)
		}

		none := s.Send(t, apitest.Request{Path: "/v1/test/faulty", Body: `{"text":"","response":"url"}`}).OK(t)
		told("an answer without faults", none.Body, nil)
		if got, is := none.Header["X-Service-Warnings"]; is {
			t.Errorf("x-service-warnings is %q where there is none", got)
		}
	})
}
