package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestStoreFalse keeps neither results nor inputs nor names of calls, on both databases, also where a call would keep them:
// for the repeat of its key, its callback, the dashboard and the poll of its job.
func TestStoreFalse(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		if err := s.Store.SetKeepInputs(t.Context(), s.Account.ID, true); err != nil {
			t.Fatal(err)
		}
		receiver := apitest.NewReceiver(t, nil)
		key := http.Header{"Idempotency-Key": {"k"}}
		binary := apitest.Request{Path: echo, Body: `{"text":"canary","store":false,"filename":"canary.txt","callbackUrl":"` + receiver.URL + `"}`, Header: key}
		if got := s.Send(t, binary).OK(t); got.Body != "canary" || !strings.Contains(got.Header.Get("Content-Disposition"), "canary.txt") {
			t.Errorf("the response is %q, %v", got.Body, got.Header)
		}
		f := s.Send(t, binary).Refused(t, wire.InvalidRequest)
		if len(f.Details) != 1 || f.Details[0].Field != "Idempotency-Key" || !strings.Contains(f.Message, "not stored") {
			t.Errorf("the repeat is refused by %+v", f)
		}
		id := s.Enqueue(t, apitest.Request{Path: echo, Body: `{"text":"canary","store":false,"response":"async","filename":"canary.txt","deliverTo":{"url":"` + receiver.URL + `"}}`}).ID
		s.Work(t)
		job := s.Await(t, id)
		if job.Status != wire.JobCompleted || job.Delivered == nil || job.URL != "" || job.Filename != "" || job.ExpiresAt != nil {
			t.Errorf("the job is %+v", job)
		}
		if got := receiver.Next(t); string(got.Body) != "canary" {
			t.Errorf("%q was delivered", got.Body)
		}
		s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/v1/files/" + id}).Refused(t, wire.NotFound)
		s.Deliver(t)
		var called wire.JobStatus
		if err := json.Unmarshal(receiver.Next(t).Body, &called); err != nil || called.Status != wire.JobCompleted || called.URL != "" || called.Filename != "" {
			t.Errorf("the callback is %+v, %v", called, err)
		}
		for _, effect := range s.Effects(t) {
			if strings.HasPrefix(effect, "file ") || strings.HasPrefix(effect, "blob ") {
				t.Errorf("the calls have left: %s", effect)
			}
		}
		calls, err := s.Store.Calls(t.Context(), store.CallFilter{AccountID: s.Account.ID})
		if err != nil || len(calls.Items) != 2 {
			t.Fatalf("the calls are %+v, %v", calls.Items, err)
		}
		for _, call := range calls.Items {
			if _, err := s.API.Calls.Input(t.Context(), s.Store, s.Account.ID, call.ID); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("the input of %s is stored: %v", call.ID, err)
			}
		}
		expectBalance(t, s, apitest.Trial-2*apitest.EchoPrice)
	})
}

// TestStoreFalseIsValidated: a result without a copy must reach someone.
func TestStoreFalseIsValidated(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	for body, want := range map[string]string{
		`{"text":"a","store":false,"response":"url"}`:                                                           "response must be binary, or async with deliverTo, because store is false; got url",
		`{"text":"a","store":false,"response":"async"}`:                                                         "deliverTo is required, because store is false and response is async",
		`{"text":"a","store":false,"response":"async","expiresIn":60,"deliverTo":{"url":"https://a.example/"}}`: "expiresIn is not allowed, because store is false: the result has no URL",
		`{"text":"a","store":"no"}`:                                                                             "store must be true or false",
		`{"text":"a","then":[{"op":"test.echo","input":{"text":"b","store":false}}]}`:                           "then[0].input.store is not allowed in a step",
	} {
		if f := s.Send(t, apitest.Request{Path: echo, Body: body}).Refused(t, wire.InvalidRequest); !strings.Contains(f.Message, want) {
			t.Errorf("%s: got %q, want %q", body, f.Message, want)
		}
	}
	s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a","store":true,"response":"url"}`}).OK(t)
}

// TestStoreFalseErrors: the client gets the whole error of its call; the account's log and its job have the code.
func TestStoreFalseErrors(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet, Operations: []schema.Definition[*operation.Deps]{apitest.Echo(func(_ context.Context, in *apitest.EchoInput) error {
		return &wire.Error{Code: wire.ProcessingFailed, Message: "The text " + in.Text + " is wrong."}
	})}})
	s.Work(t)
	f := s.Send(t, apitest.Request{Path: echo, Body: `{"text":"canary","store":false}`}).Refused(t, wire.ProcessingFailed)
	if !strings.Contains(f.Message, "canary") {
		t.Errorf("the client got %q", f.Message)
	}
	f = s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a","store":false,"label":"canary"}`}).Refused(t, wire.InvalidRequest)
	if !strings.Contains(f.Message, "canary") {
		t.Errorf("the client got %q", f.Message)
	}
	job := s.Await(t, s.Enqueue(t, apitest.Request{Path: echo, Body: `{"text":"canary","store":false,"response":"async","deliverTo":{"url":"` + apitest.NewReceiver(t, nil).URL + `"}}`}).ID)
	if job.Status != wire.JobFailed || job.Error.Code != string(wire.ProcessingFailed) || strings.Contains(job.Error.Message, "canary") {
		t.Errorf("the job is %+v", job)
	}
	for _, request := range logged(t, s, 3) {
		if strings.Contains(request.Message+request.Body, "canary") {
			t.Errorf("the log has %+v", request)
		}
	}
}

// TestStoreFalseUnread: the log has no names of an input that was not read to its end, wherever its field store is.
func TestStoreFalseUnread(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	many := ""
	for i := range 120 {
		many += fmt.Sprintf(`"canary%d":1,`, i)
	}
	bodies := map[string]string{
		`{"store":false,"text":"a","canary":1,"canary":2}`:      "A field of the request is given more than once.",
		`{"canary":1,"canary":2,"store":false,"text":"a"}`:      "A field of the request is given more than once.",
		`{"store":false,"canary":{"canary":tru}}`:               "A field of the request is not valid JSON in UTF-8 (at byte 34).",
		`{"store":false,"canary":1e999}`:                        "A field of the request must be a number within the range of a 64-bit float.",
		`{"store":false,"text":"canary`:                         "The request is incomplete: the JSON is cut off.",
		`{"store":false,"text":"a","canary":1}`:                 wire.InvalidRequest.Text(),
		`{` + many + `"store":false,"text":7,"count":"canary"}`: "",
		`{"store":false,"text":"a","label":"canary"}`:           wire.InvalidRequest.Text(),
		`{"text":"a","count":"x"}`:                              `count must be a whole number between 1 and 10000000; got "x".`,
	}
	for body := range bodies {
		s.Send(t, apitest.Request{Path: echo, Body: body}).Refused(t, wire.InvalidRequest)
	}
	texts := map[string]bool{}
	for _, request := range logged(t, s, len(bodies)) {
		texts[request.Message] = true
		if strings.Contains(request.Message+request.Body+request.Path, "canary") {
			t.Errorf("the log has %+v", request)
		}
	}
	for body, want := range bodies {
		if want != "" && !texts[want] {
			t.Errorf("%.60s: the log has no %q, only %v", body, want, texts)
		}
	}
}

// TestStoreFalseClientLeaves: a result that its client did not read is not kept, other than that of any other call.
func TestStoreFalseClientLeaves(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	for i, body := range []string{`{"text":"0123456789","count":3000000,"store":false}`, `{"text":"0123456789","count":3000000}`} {
		ctx, leave := context.WithCancel(t.Context())
		answer, err := s.Client().Request(ctx, http.MethodPost, echo, nil, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		leave()
		_ = answer.Body.Close()
		logged(t, s, i+1)
		n := 0
		for _, effect := range s.Effects(t) {
			if strings.HasPrefix(effect, "file ") {
				n++
			}
		}
		if n != i {
			t.Errorf("%s: %d files are stored, want %d", body, n, i)
		}
	}
}
