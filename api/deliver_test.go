package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/render/egress"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// deliverEcho is the body of a call that sends its result to a destination.
func deliverEcho(t *testing.T, text, response, url string, headers map[string]string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"text": text, "response": response, "deliverTo": map[string]any{"url": url, "headers": headers}})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// answers responds with one status after the other, and then with the last one.
func answers(header http.Header, statuses ...int) http.HandlerFunc {
	var next atomic.Int64
	return func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(statuses[min(int(next.Add(1)), len(statuses))-1])
	}
}

// TestDeliverTo sends results to a presigned URL in each kind of response, on both databases: whole, with the headers of
// the call, once, before the charge, and with a report.
func TestDeliverTo(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		s.Work(t)
		receiver := apitest.NewReceiver(t, answers(nil, http.StatusCreated))
		target := receiver.URL + "/bucket/a%2Fb.txt?X-Amz-Signature=abc"
		check := func(d *wire.Delivered) {
			t.Helper()
			if d == nil || d.Host != "127.0.0.1" || d.StatusCode != http.StatusCreated || d.Attempts != 1 || !d.At.Equal(s.Clock.Now().Truncate(time.Millisecond)) {
				t.Errorf("delivered is %+v", d)
			}
			got := receiver.Next(t)
			if got.Method != http.MethodPut || string(got.Body) != "0123456789" || got.Header.Get("Content-Length") != "10" || got.Header.Get("X-Amz-Acl") != "private" ||
				got.Header.Get("Content-Type") != "text/plain" || got.Header.Get("Authorization") != "" {
				t.Errorf("received %s %q, %v", got.Method, got.Body, got.Header)
			}
		}
		acl := map[string]string{"X-Amz-Acl": "private"}
		binary := s.Send(t, apitest.Request{Path: echo, Body: deliverEcho(t, "0123456789", "binary", target, acl)}).OK(t)
		if binary.Body != "0123456789" || binary.Header.Get("x-service-delivered") != "201" {
			t.Errorf("the response is %q, %v", binary.Body, binary.Header)
		}
		check(&wire.Delivered{Host: "127.0.0.1", StatusCode: 201, Attempts: 1, At: s.Clock.Now().Truncate(time.Millisecond)})
		link := fileURL(t, s.Send(t, apitest.Request{Path: echo, Body: deliverEcho(t, "0123456789", "url", target, acl)}))
		check(link.Delivered)
		job := s.Await(t, s.Enqueue(t, apitest.Request{Path: echo, Body: deliverEcho(t, "0123456789", "async", target, acl)}).ID)
		check(job.Delivered)
		if job.Status != wire.JobCompleted || job.URL == "" {
			t.Errorf("the job is %+v", job)
		}
		s.Clock.Advance(25 * time.Hour)
		if late := s.Job(t, job.ID); late.URL != "" || late.Delivered == nil || *late.Delivered != *job.Delivered {
			t.Errorf("after the file the job is %+v", late)
		}
	})
}

// TestDeliverToAgain: the repeat of a call reports the delivery, and sends nothing.
func TestDeliverToAgain(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	receiver := apitest.NewReceiver(t, nil)
	for _, response := range []string{"url", "binary"} {
		send := func() apitest.Response {
			return s.Send(t, apitest.Request{Path: echo, Body: deliverEcho(t, "ab", response, receiver.URL, nil), Header: http.Header{"Idempotency-Key": {response}}}).OK(t)
		}
		first, again := send(), send()
		if first.Body != again.Body || again.Header.Get("x-service-delivered") != "200" || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: the repeat is %q, %v; the first was %q", response, again.Body, again.Header, first.Body)
		}
		receiver.Next(t)
	}
	if n := receiver.Count(); n != 0 {
		t.Errorf("%d requests were sent for repeats", n)
	}
}

// TestDeliverToIsRetried: a status that may pass is followed by another request with the whole result.
func TestDeliverToIsRetried(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	s.Work(t)
	for _, response := range []string{"url", "async"} {
		receiver := apitest.NewReceiver(t, answers(nil, http.StatusServiceUnavailable, http.StatusOK))
		body := deliverEcho(t, "0123456789", response, receiver.URL, map[string]string{"content-type": "application/x-mine"})
		var delivered *wire.Delivered
		if response == "url" {
			delivered = fileURL(t, s.Send(t, apitest.Request{Path: echo, Body: body})).Delivered
		} else {
			delivered = s.Await(t, s.Enqueue(t, apitest.Request{Path: echo, Body: body}).ID).Delivered
		}
		if delivered == nil || delivered.Attempts != 2 || delivered.StatusCode != http.StatusOK {
			t.Errorf("%s: delivered is %+v", response, delivered)
		}
		for range 2 {
			if got := receiver.Next(t); string(got.Body) != "0123456789" || got.Header.Get("Content-Type") != "application/x-mine" {
				t.Errorf("%s: received %q, %v", response, got.Body, got.Header)
			}
		}
	}
}

// TestDeliverToFails: a call whose result is not accepted fails with the status of the destination, and costs nothing.
func TestDeliverToFails(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	s.Work(t)
	before, err := s.Store.Account(t.Context(), s.Account.ID)
	if err != nil {
		t.Fatal(err)
	}
	dead := apitest.NewReceiver(t, nil)
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
		times  int
	}{
		"refused":    {answers(nil, http.StatusForbidden), "The destination returned status 403.", 1},
		"gone":       {answers(nil, http.StatusGone), "The destination returned status 410.", 1},
		"redirected": {answers(http.Header{"Location": {dead.URL}}, http.StatusTemporaryRedirect), "The destination returned status 307. Redirects are not followed.", 1},
		// The destination asks for more time than there is.
		"unavailable": {answers(http.Header{"Retry-After": {"3600"}}, http.StatusServiceUnavailable), "The destination returned status 503.", 1},
	} {
		receiver := apitest.NewReceiver(t, test.answer)
		for _, response := range []string{"binary", "url"} {
			f := s.Send(t, apitest.Request{Path: echo, Body: deliverEcho(t, "ab", response, receiver.URL+"?secret=1", map[string]string{"X-Secret": "canary"})}).Refused(t, wire.DeliveryFailed)
			if len(f.Details) != 1 || f.Details[0].Field != "deliverTo.url" || f.Details[0].Message != test.want || !strings.HasPrefix(f.Message, test.want+" The call was not charged.") || strings.Contains(f.Message, "secret") {
				t.Errorf("%s, %s: %+v", name, response, f)
			}
		}
		job := s.Await(t, s.Enqueue(t, apitest.Request{Path: echo, Body: deliverEcho(t, "ab", "async", receiver.URL, nil)}).ID)
		if job.Status != wire.JobFailed || job.Error.Code != string(wire.DeliveryFailed) || !strings.HasPrefix(job.Error.Message, test.want) || job.Delivered != nil {
			t.Errorf("%s: the job is %+v", name, job)
		}
		if n := receiver.Count(); n != 3*test.times {
			t.Errorf("%s: %d requests, want %d", name, n, 3*test.times)
		}
	}
	if n := dead.Count(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
	if after, err := s.Store.Account(t.Context(), s.Account.ID); err != nil || after.Balance != before.Balance {
		t.Errorf("the balance is %v, %v; before it was %v", after.Balance, err, before.Balance)
	}
}

// TestDeliverToIsValidated before anything runs; the values of headers are not repeated.
func TestDeliverToIsValidated(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	for body, want := range map[string]string{
		`{"text":"a","deliverTo":{}}`: "deliverTo must have exactly one of url, s3 and sftp; got 0",
		`{"text":"a","deliverTo":{"url":"https://127.0.0.1/","headers":{"Host":"canary"}}}`:                      "deliverTo.headers.Host cannot be set",
		`{"text":"a","deliverTo":{"url":"https://127.0.0.1/","headers":{"content-length":"1"}}}`:                 "deliverTo.headers.content-length cannot be set",
		`{"text":"a","deliverTo":{"url":"https://127.0.0.1/","headers":{"Transfer-Encoding":"chunked"}}}`:        "deliverTo.headers.Transfer-Encoding cannot be set",
		`{"text":"a","deliverTo":{"url":"https://127.0.0.1/","headers":{"X-A":"canary\r\nX-B: 1"}}}`:             "deliverTo.headers.X-A must not contain line breaks",
		`{"text":"a","deliverTo":{"url":"https://127.0.0.1/","headers":{"canary: x":"1"}}}`:                      "deliverTo.headers has an invalid header name",
		`{"text":"a","deliverTo":{"url":"https://127.0.0.1/","headers":{"X-A":"1","x-a":"2"}}}`:                  "deliverTo.headers.x-a is the same header as X-A",
		`{"text":"a","then":[{"op":"test.echo","input":{"text":"b","deliverTo":{"url":"https://127.0.0.1/"}}}]}`: "then",
		`{"text":"a","deliverTo":{"url":"https://127.0.0.1/","method":"POST"}}`:                                  "deliverTo.method is not a known field",
	} {
		f := s.Send(t, apitest.Request{Path: echo, Body: body}).Refused(t, wire.InvalidRequest)
		if !strings.Contains(f.Message, want) || strings.Contains(f.Message, "canary") {
			t.Errorf("%s: got %q, want %q", body, f.Message, want)
		}
	}
	for _, url := range []string{"http://example.com/", "https://10.0.0.1/a", "https://localhost/", "file:///etc/passwd"} {
		f := s.Send(t, apitest.Request{Path: echo, Body: deliverEcho(t, "a", "binary", url, nil)}).Refused(t, wire.URLNotAllowed)
		if len(f.Details) != 1 || f.Details[0].Field != "deliverTo.url" {
			t.Errorf("%s: %+v", url, f)
		}
	}
	if left := s.Effects(t); len(left) != 0 {
		t.Errorf("the refusals have left %v", left)
	}
}

// TestDeliverToPrivateName: a name that resolves to a private address is refused on connection.
func TestDeliverToPrivateName(t *testing.T) {
	t.Parallel()
	policy, err := egress.New(egress.Config{Resolver: inwards{}})
	if err != nil {
		t.Fatal(err)
	}
	s := apitest.New(t, apitest.Options{Change: func(cfg *apitest.Settings) {
		quiet(cfg)
		cfg.Outbound = outbound{cfg.Outbound, policy.Client(egress.ClientConfig{})}
	}})
	f := s.Send(t, apitest.Request{Path: echo, Body: deliverEcho(t, "a", "url", "https://inwards.example.com/a", nil)}).Refused(t, wire.URLNotAllowed)
	if len(f.Details) != 1 || f.Details[0].Field != "deliverTo.url" {
		t.Errorf("%+v", f)
	}
}

// TestDeliverToStoredInput: a stored input has no deliverTo, so its secrets are not shown, and a repeated call sends
// nothing.
func TestDeliverToStoredInput(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	if err := s.Store.SetKeepInputs(t.Context(), s.Account.ID, true); err != nil {
		t.Fatal(err)
	}
	receiver := apitest.NewReceiver(t, nil)
	link := fileURL(t, s.Send(t, apitest.Request{Path: echo, Body: deliverEcho(t, "ab", "url", receiver.URL+"?canary", map[string]string{"X-A": "canary"})}))
	file, err := s.Store.PublicFile(t.Context(), link.ID)
	if err != nil {
		t.Fatal(err)
	}
	input, err := s.API.Calls.Input(t.Context(), s.Store, s.Account.ID, file.CallID)
	if err != nil || strings.Contains(string(input), "canary") || !strings.Contains(string(input), `"ab"`) {
		t.Errorf("the stored input is %s, %v", input, err)
	}
}

// TestCallbackReportsDelivery: the callback of a call has the delivery, too.
func TestCallbackReportsDelivery(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	s.Deliver(t)
	destination, callback := apitest.NewReceiver(t, nil), apitest.NewReceiver(t, nil)
	body := strings.TrimSuffix(deliverEcho(t, "ab", schema.Binary, destination.URL, nil), "}") + `,"callbackUrl":"` + callback.URL + `"}`
	s.Send(t, apitest.Request{Path: echo, Body: body}).OK(t)
	var status wire.JobStatus
	if err := json.Unmarshal(callback.Next(t).Body, &status); err != nil || status.Delivered == nil || status.Delivered.StatusCode != http.StatusOK {
		t.Errorf("the callback is %+v, %v", status, err)
	}
}

// TestClientLeavesDuringDelivery: the call ends unpaid, if the destination did not accept the result meanwhile.
func TestClientLeavesDuringDelivery(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	ctx, leave := context.WithCancel(t.Context())
	receiver := apitest.NewReceiver(t, func(w http.ResponseWriter, r *http.Request) {
		leave()
		<-r.Context().Done()
		w.WriteHeader(http.StatusServiceUnavailable) // A 200 could still be read: TLS reports the end before it closes the connection.
	})
	input := map[string]any{"text": "a", "deliverTo": map[string]any{"url": receiver.URL}}
	if _, err := s.Client().Do(ctx, "test.echo", input, client.CallOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that has left got %v", err)
	}
	receiver.Next(t)
	waitForCalls(t, s)
	expectEffects(t, s, append([]string{"call test.echo failed charged 0 canceled"}, released...)...)
	expectBalance(t, s, apitest.Trial)
}
