package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
)

// patience limits every wait for a background action of a Server.
const patience = 5 * time.Minute

// Received is a request as a Receiver got it.
type Received struct {
	Method string
	Header http.Header
	Body   []byte
}

// Receiver is an HTTPS server that receives events. It records the requests and responds as configured.
type Receiver struct {
	URL      string
	received chan Received
}

// NewReceiver starts a receiver that ends with its test; answer may be nil. Its
// handler finds the body unread.
func NewReceiver(t testing.TB, answer http.HandlerFunc) *Receiver {
	t.Helper()
	r := &Receiver{received: make(chan Received, 1000)}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			t.Errorf("a delivery broke off: %v", err)
		}
		r.received <- Received{request.Method, request.Header, body}
		if answer != nil {
			request.Body = io.NopCloser(bytes.NewReader(body))
			answer(w, request)
		}
	}))
	t.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// Next waits for a request, and fails the test if none arrives.
func (r *Receiver) Next(t testing.TB) Received {
	t.Helper()
	select {
	case got := <-r.received:
		return got
	case <-time.After(patience):
		t.Fatalf("nothing was received within %v", patience)
		return Received{}
	}
}

// Count returns how many requests are waiting to be taken with Next.
func (r *Receiver) Count() int { return len(r.received) }

// Deliver sends due deliveries until the returned function is called. That function waits for running attempts.
func (s *Server) Deliver(t testing.TB) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.API.Deliveries.Run(ctx, patience)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

// Deliveries asks for the account's deliveries.
func (s *Server) Deliveries(t testing.TB) []wire.Delivery {
	t.Helper()
	var list wire.DeliveryList
	answer := s.Send(t, Request{Method: http.MethodGet, Path: "/v1/webhooks/deliveries"}).OK(t)
	if err := json.Unmarshal([]byte(answer.Body), &list); err != nil {
		t.Fatalf("the deliveries are not JSON: %v in %q", err, answer.Body)
	}
	return list.Deliveries
}

// AwaitDelivery polls until the only delivery meets the condition.
func (s *Server) AwaitDelivery(t testing.TB, what string, condition func(wire.Delivery) bool) wire.Delivery {
	t.Helper()
	var last []wire.Delivery
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		last = s.Deliveries(t)
		if len(last) == 1 && condition(last[0]) {
			return last[0]
		}
		<-time.After(jobPause)
	}
	t.Fatalf("after %v there is no single delivery that is %s: %+v", patience, what, last)
	return wire.Delivery{}
}

// AwaitRecorded polls until no attempt is due or running. A receiver has a request before its response is recorded,
// and until then a changed clock makes the attempt look lost.
func (s *Server) AwaitRecorded(t testing.TB) {
	t.Helper()
	var last []wire.Delivery
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(jobPause) {
		last = s.Deliveries(t)
		if !slices.ContainsFunc(last, func(d wire.Delivery) bool { return d.Status == "pending" }) {
			return
		}
	}
	t.Fatalf("after %v deliveries are pending: %+v", patience, last)
}

// NewWebhook makes an endpoint of the server's account by its JSON body.
func (s *Server) NewWebhook(t testing.TB, body string) wire.WebhookSecret {
	t.Helper()
	answer := s.Send(t, Request{Path: "/v1/webhooks", Body: body})
	if answer.Status != http.StatusCreated {
		t.Fatalf("got status %d: %s, want 201", answer.Status, answer.Body)
	}
	var endpoint wire.WebhookSecret
	if err := json.Unmarshal([]byte(answer.Body), &endpoint); err != nil {
		t.Fatalf("the endpoint is not JSON: %v in %q", err, answer.Body)
	}
	return endpoint
}
