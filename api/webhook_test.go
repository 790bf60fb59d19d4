package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/client/webhook"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/egress"
	"github.com/relaypdf/relaypdf/service"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// verify fails the test unless the received request is signed with the secret.
func verify(t *testing.T, s *apitest.Server, secret string, got apitest.Received) webhook.Event {
	t.Helper()
	if err := webhook.Verify(secret, got.Header, got.Body, webhook.Options{Now: s.Clock.Now}); err != nil {
		t.Errorf("the signature is refused: %v", err)
	}
	var event webhook.Event
	if err := json.Unmarshal(got.Body, &event); err != nil {
		t.Fatalf("the event is not JSON: %v in %q", err, got.Body)
	}
	return event
}

// tryOut asks for a test event to an endpoint.
func tryOut(t *testing.T, s *apitest.Server, id string) wire.Delivery {
	t.Helper()
	return decode[wire.Delivery](t, s.Send(t, apitest.Request{Path: "/v1/webhooks/" + id + "/test"}).OK(t))
}

func decode[T any](t *testing.T, answer apitest.Response) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(answer.Body), &v); err != nil {
		t.Fatalf("the answer is not JSON: %v in %q", err, answer.Body)
	}
	return v
}

// TestJobIsDelivered: the whole way, from an endpoint to the end of a job.
func TestJobIsDelivered(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		receiver := apitest.NewReceiver(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("thank you\xff")) })
		endpoint := s.NewWebhook(t, `{"url":"`+receiver.URL+`/in?x=1"}`)
		s.Work(t)
		s.Deliver(t)
		job := s.Await(t, s.Enqueue(t, apitest.Request{Path: echo, Body: async}).ID)
		got := receiver.Next(t)
		event := verify(t, s, endpoint.Secret, got)
		for name, want := range map[string]string{
			"Service-Event": "job.completed", "Relaypdf-Event": "job.completed", "Webhook-Id": event.ID, "Content-Type": "application/json",
			"Relaypdf-Signature": got.Header.Get("Service-Signature"), "Webhook-Timestamp": "1773144000", "User-Agent": "relaypdf-webhook/1",
		} {
			if got := got.Header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		var data wire.JobStatus
		if err := json.Unmarshal(event.Data, &data); err != nil || data.ID != job.ID || data.URL != job.URL || data.PollURL != job.PollURL || event.Type != "job.completed" {
			t.Errorf("the event is %+v with %s (%v), want that of job %+v", event, event.Data, err, job)
		}
		d := s.AwaitDelivery(t, "delivered", func(d wire.Delivery) bool { return d.Status == "delivered" })
		if d.EndpointID == nil || *d.EndpointID != endpoint.ID || d.Event.ID != event.ID || d.Event.Type != event.Type || d.Attempts != 1 ||
			d.URL != endpoint.URL || *d.LastStatusCode != 200 || *d.LastResponse != "thank you\uFFFD" || d.LastDurationMS == nil ||
			d.LastError != nil || d.NextAttemptAt != nil || d.DeliveredAt == nil || !d.DeliveredAt.Equal(apitest.Start()) {
			t.Errorf("the delivery is %+v", d)
		}
		if log := s.Log.String(); strings.Contains(log, "whsec_") || strings.Contains(log, job.ID) || strings.Contains(log, "thank you") {
			t.Errorf("the log tells of secrets or bodies:\n%s", log)
		}
	})
}

// TestCallbackIsDelivered: callbacks are the job's status, without signature.
func TestCallbackIsDelivered(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	receiver := apitest.NewReceiver(t, nil)
	s.Deliver(t)
	answer := s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a","callbackUrl":"` + receiver.URL + `"}`}).OK(t)
	got := receiver.Next(t)
	for name := range got.Header {
		if strings.Contains(name, "Signature") || strings.Contains(name, "Event") || strings.Contains(name, "Timestamp") {
			t.Errorf("the callback has the header %s", name)
		}
	}
	var status wire.JobStatus
	if err := json.Unmarshal(got.Body, &status); err != nil || status.ID != answer.Header.Get("x-service-id") || status.Status != "completed" {
		t.Errorf("the callback is %s (%v)", got.Body, err)
	}
	d := s.AwaitDelivery(t, "delivered", func(d wire.Delivery) bool { return d.Status == "delivered" })
	if d.EndpointID != nil || d.Event.ID != got.Header.Get("Webhook-Id") || d.Event.Type != "callback" {
		t.Errorf("the delivery is %+v", d)
	}
	s.Send(t, apitest.Request{Path: "/v1/webhooks/deliveries/" + d.ID + "/replay"}).Refused(t, wire.InvalidRequest)
}

// TestReceiversThatFail: the error that the owner sees for each receiver, and the time of the next attempt.
func TestReceiversThatFail(t *testing.T) {
	t.Parallel()
	elsewhere := apitest.NewReceiver(t, nil)
	for _, c := range []struct {
		name     string
		answer   http.HandlerFunc
		code     int
		said     string // how the last response began
		told     string // in the error
		wait     time.Duration
		disabled bool
	}{
		{name: "error", code: 500, said: strings.Repeat("x", 1024), told: "status 500", wait: 5 * time.Second, answer: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, strings.Repeat("x", 5000), http.StatusInternalServerError)
		}},
		{name: "redirect", code: 307, told: "not followed", wait: 5 * time.Second, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}},
		{name: "retry later", code: 429, said: "later\n", told: "status 429", wait: time.Hour, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			http.Error(w, "later", http.StatusTooManyRequests)
		}},
		{name: "retry at a time", code: 503, told: "status 503", wait: 2 * time.Hour, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", apitest.Start().Add(2*time.Hour).Format(http.TimeFormat))
			w.WriteHeader(http.StatusServiceUnavailable)
		}},
		{name: "breaks off", told: "closed early", wait: 5 * time.Second, answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		{name: "gone", code: 410, told: "status 410", disabled: true, answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{Change: quiet})
			receiver := apitest.NewReceiver(t, c.answer)
			endpoint := s.NewWebhook(t, `{"url":"`+receiver.URL+`"}`)
			tryOut(t, s, endpoint.ID)
			s.Deliver(t)
			d := s.AwaitDelivery(t, "attempted", func(d wire.Delivery) bool { return d.Attempts > 0 })
			if d.LastError == nil || !strings.Contains(*d.LastError, c.told) || value(d.LastStatusCode) != c.code || value(d.LastResponse) != c.said || d.LastDurationMS == nil {
				t.Errorf("the delivery is %+v, want status %d, response %q and an error with %q", d, c.code, c.said, c.told)
			}
			got := decode[wire.WebhookList](t, s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/v1/webhooks"}).OK(t)).Webhooks[0]
			if got.Enabled == c.disabled || (got.DisabledReason != "") != c.disabled {
				t.Errorf("the endpoint is %+v, want it disabled: %v", got, c.disabled)
			}
			if c.disabled {
				if d.Status != "failed" || d.NextAttemptAt != nil {
					t.Errorf("the delivery is %+v, want it failed", d)
				}
				s.Send(t, apitest.Request{Path: "/v1/webhooks/" + endpoint.ID + "/test"}).Refused(t, wire.InvalidRequest)
				return
			}
			if d.Status != "pending" || d.NextAttemptAt == nil {
				t.Fatalf("the delivery is %+v, want it pending", d)
			}
			if wait := d.NextAttemptAt.Sub(apitest.Start()); wait < c.wait*9/10 || wait > c.wait*11/10 {
				t.Errorf("the next attempt follows after %v, want about %v", wait, c.wait)
			}
		})
	}
	t.Cleanup(func() {
		if n := elsewhere.Count(); n != 0 {
			t.Errorf("a redirect was followed %d times", n)
		}
	})
}

func value[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

// TestRetriesCarryTheSameEvent: eight attempts with one ID and one body, each with a new signature; then the delivery
// has failed, and a replay starts again.
func TestRetriesCarryTheSameEvent(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	receiver := apitest.NewReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	endpoint := s.NewWebhook(t, `{"url":"`+receiver.URL+`"}`)
	asked := tryOut(t, s, endpoint.ID)
	replay := apitest.Request{Path: "/v1/webhooks/deliveries/" + asked.ID + "/replay"}
	s.Send(t, replay).Refused(t, wire.InvalidRequest)
	stop := s.Deliver(t)
	var first apitest.Received
	for n := range store.MaxAttempts {
		got := receiver.Next(t)
		event := verify(t, s, endpoint.Secret, got)
		if n == 0 {
			first = got
		}
		if event.ID != asked.Event.ID || event.Type != "webhook.test" || !bytes.Equal(got.Body, first.Body) {
			t.Errorf("attempt %d carries %s, want the event %s as %s", n+1, got.Body, asked.Event.ID, first.Body)
		}
		d := s.AwaitDelivery(t, "attempted again", func(d wire.Delivery) bool { return d.Attempts == n+1 })
		if last := n+1 == store.MaxAttempts; last != (d.Status == "failed") || last != (d.NextAttemptAt == nil) {
			t.Fatalf("after %d attempts the delivery is %+v", n+1, d)
		}
		if d.NextAttemptAt != nil {
			s.Clock.Advance(d.NextAttemptAt.Sub(s.Clock.Now()) + time.Millisecond)
		}
	}
	stop() // An attempt is counted once it is recorded; the replay is another one.
	shown := httptest.NewRecorder()
	middleware.Private(s.Registry).ServeHTTP(shown, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	for _, want := range []string{`relaypdf_delivery_attempts_total{status="failed"} 1`, `relaypdf_delivery_attempts_total{status="pending"} 7`} {
		if !strings.Contains(shown.Body.String(), want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
	s.Deliver(t)
	got := decode[wire.Delivery](t, s.Send(t, replay).OK(t))
	if got.ID != asked.ID || got.Status != "pending" || got.Attempts != 0 || got.Event != asked.Event || got.NextAttemptAt == nil {
		t.Errorf("the replayed delivery is %+v", got)
	}
	again := receiver.Next(t)
	if event := verify(t, s, endpoint.Secret, again); event.ID != asked.Event.ID || !bytes.Equal(again.Body, first.Body) {
		t.Errorf("the replay carries %s, want %s", again.Body, first.Body)
	}
}

// TestStallingReceiver: two attempts stall, further events for it wait, and
// another endpoint is served at once. Stopping gives the attempts back.
func TestStallingReceiver(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	stalling := apitest.NewReceiver(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	prompt := apitest.NewReceiver(t, nil)
	slow, quick := s.NewWebhook(t, `{"url":"`+stalling.URL+`"}`), s.NewWebhook(t, `{"url":"`+prompt.URL+`"}`)
	for range 5 {
		tryOut(t, s, slow.ID)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		s.API.Deliveries.Run(ctx, time.Millisecond)
		close(done)
	}()
	stalling.Next(t)
	stalling.Next(t)
	for range 5 {
		tryOut(t, s, quick.ID)
		prompt.Next(t)
	}
	if n := stalling.Count(); n != 0 {
		t.Errorf("%d attempts are under way to one endpoint, want 2", n+2)
	}
	cancel()
	<-done
	waiting := 0
	for _, d := range s.Deliveries(t) {
		if *d.EndpointID == slow.ID && d.Status == "pending" && d.Attempts == 0 && d.NextAttemptAt != nil {
			waiting++
		}
	}
	if waiting != 5 {
		t.Errorf("after the stop %d deliveries of the stalling endpoint are due, want 5: %+v", waiting, s.Deliveries(t))
	}
}

// outbound is a way out whose client a test replaces.
type outbound struct {
	service.Outbound
	client *http.Client
}

func (o outbound) Webhooks() *http.Client { return o.client }

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestAttemptIsBounded: fifteen seconds, for all of it.
func TestAttemptIsBounded(t *testing.T) {
	t.Parallel()
	type attempt struct{ now, deadline time.Time }
	made := make(chan attempt, 1)
	s := apitest.New(t, apitest.Options{Change: func(cfg *apitest.Settings) {
		quiet(cfg)
		cfg.Outbound = outbound{cfg.Outbound, &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			deadline, _ := r.Context().Deadline()
			made <- attempt{time.Now(), deadline}
			return nil, context.DeadlineExceeded
		})}}
	}})
	tryOut(t, s, s.NewWebhook(t, `{"url":"https://127.0.0.1/"}`).ID)
	before := time.Now()
	s.Deliver(t)
	if got := <-made; got.deadline.Before(before.Add(15*time.Second)) || got.deadline.After(got.now.Add(15*time.Second)) {
		t.Errorf("an attempt has %v to %v, want 15 s", got.deadline.Sub(got.now), got.deadline.Sub(before))
	}
	d := s.AwaitDelivery(t, "attempted", func(d wire.Delivery) bool { return d.Attempts > 0 })
	if want := "The endpoint did not respond within 15 seconds."; value(d.LastError) != want || d.LastStatusCode != nil {
		t.Errorf("the delivery is %+v, want the error %q", d, want)
	}
}

// inwards resolves every name to a private address.
type inwards struct{}

func (inwards) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
}

// TestPrivateTarget: a name that resolves to a private address is refused on connection, and nothing about the target
// is reported.
func TestPrivateTarget(t *testing.T) {
	t.Parallel()
	policy, err := egress.New(egress.Config{Resolver: inwards{}})
	if err != nil {
		t.Fatal(err)
	}
	s := apitest.New(t, apitest.Options{Change: func(cfg *apitest.Settings) {
		quiet(cfg)
		cfg.Outbound = outbound{cfg.Outbound, policy.Client(egress.ClientConfig{})}
	}})
	tryOut(t, s, s.NewWebhook(t, `{"url":"https://inwards.example.com/"}`).ID)
	s.Deliver(t)
	d := s.AwaitDelivery(t, "attempted", func(d wire.Delivery) bool { return d.Attempts > 0 })
	if value(d.LastError) != "The URL is not allowed. Use https and a public host." || d.LastStatusCode != nil || d.LastResponse != nil || d.LastDurationMS != nil {
		t.Errorf("the delivery is %+v, want nothing of the target in it", d)
	}
}

// TestRolledSecret checks the secret of each signature before and after the new one is activated.
func TestRolledSecret(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	receiver := apitest.NewReceiver(t, nil)
	endpoint := s.NewWebhook(t, `{"url":"`+receiver.URL+`"}`)
	s.Deliver(t)
	roll := func() string {
		t.Helper()
		rolled := decode[wire.WebhookSecret](t, s.Send(t, apitest.Request{Path: "/v1/webhooks/" + endpoint.ID + "/roll"}).OK(t))
		if rolled.ID != endpoint.ID || rolled.SecretPrefix != rolled.Secret[:10] || rolled.PreviousSecretUntil == nil ||
			!rolled.PreviousSecretUntil.Equal(s.Clock.Now().Add(24*time.Hour)) {
			t.Errorf("the rolled endpoint is %+v", rolled)
		}
		return rolled.Secret
	}
	// signed returns the secrets that each of the two headers is signed with.
	signed := func(secrets ...string) (service, standard []string) {
		t.Helper()
		tryOut(t, s, endpoint.ID)
		got := receiver.Next(t)
		s.AwaitRecorded(t)
		for _, secret := range secrets {
			for header, list := range map[string]*[]string{"Service-Signature": &service, "Webhook-Signature": &standard} {
				only := got.Header.Clone()
				only.Del(map[string]string{"Service-Signature": "Webhook-Signature", "Webhook-Signature": "Service-Signature"}[header])
				if webhook.Verify(secret, only, got.Body, webhook.Options{Now: s.Clock.Now}) == nil {
					*list = append(*list, secret)
				}
			}
		}
		return service, standard
	}
	expect := func(when string, service, standard []string) {
		t.Helper()
		gotService, gotStandard := signed(slices.Compact(append(service, standard...))...)
		if !slices.Equal(gotService, service) || !slices.Equal(gotStandard, standard) {
			t.Errorf("%s: Service-Signature is made with %q and webhook-signature with %q, want %q and %q", when, gotService, gotStandard, service, standard)
		}
	}
	first := endpoint.Secret
	expect("at first", []string{first}, []string{first})
	second := roll()
	expect("after a roll", []string{first}, []string{first, second})
	s.Send(t, apitest.Request{Path: "/v1/webhooks/" + endpoint.ID + "/activate"}).OK(t)
	expect("after the activation", []string{second}, []string{second})
	third := roll()
	s.Clock.Advance(24*time.Hour - time.Second)
	expect("within a day", []string{second}, []string{second, third})
	s.Clock.Advance(time.Second)
	expect("after a day", []string{third}, []string{third})
}

// TestLibrariesVerify: the libraries of Standard Webhooks and Svix accept our requests, after a rotation with
// either secret, and nothing else.
func TestLibrariesVerify(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	s.Clock.Advance(time.Since(apitest.Start())) // The libraries look at the real clock.
	receiver := apitest.NewReceiver(t, nil)
	endpoint := s.NewWebhook(t, `{"url":"`+receiver.URL+`"}`)
	rolled := decode[wire.WebhookSecret](t, s.Send(t, apitest.Request{Path: "/v1/webhooks/" + endpoint.ID + "/roll"}).OK(t))
	tryOut(t, s, endpoint.ID)
	s.Deliver(t)
	got := receiver.Next(t)
	headers := map[string]string{}
	for name := range got.Header {
		headers[strings.ToLower(name)] = got.Header.Get(name)
	}
	type verification struct {
		Secret  string            `json:"secret"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	}
	cases := []verification{
		{endpoint.Secret, headers, string(got.Body)}, {rolled.Secret, headers, string(got.Body)},
		{webhook.NewSecret(), headers, string(got.Body)}, {rolled.Secret, headers, string(got.Body) + " "},
	}
	input, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "-e", `
		const libraries = [require("standardwebhooks"), require("svix")];
		const cases = JSON.parse(require("fs").readFileSync(0));
		const verify = (library, c) => { try { new library.Webhook(c.secret).verify(c.body, c.headers); return true } catch { return false } };
		console.log(JSON.stringify(cases.map((c) => libraries.map((library) => verify(library, c)))));`)
	cmd.Dir, cmd.Stdin = "../.ci/node", strings.NewReader(string(input))
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		t.Fatalf("node: %v\n%s\nmake setup installs the libraries", err, failed.Stderr)
	}
	if got, want := strings.TrimSpace(string(out)), "[[true,true],[true,true],[false,false],[false,false]]"; err != nil || got != want {
		t.Errorf("the libraries say %s, %v, want %s", got, err, want)
	}
}

// TestDeliveriesOfOthersAreFound: deliveries written by another process are sent without a signal.
func TestDeliveriesOfOthersAreFound(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		receiver := apitest.NewReceiver(t, nil)
		endpoint := s.NewWebhook(t, `{"url":"`+receiver.URL+`"}`)
		s.Deliver(t)
		other := db.Open(t, s.Clock)
		d, err := other.TestWebhook(t.Context(), s.Account.ID, endpoint.ID, map[string]string{})
		if err != nil {
			t.Fatal(err)
		}
		if event := verify(t, s, endpoint.Secret, receiver.Next(t)); event.ID != d.EventID {
			t.Errorf("got event %s, want %s", event.ID, d.EventID)
		}
	})
}

// TestDeliveriesAtADistance has a database that is 80 ms away: everything is
// claimed, sent once, and recorded.
func TestDeliveriesAtADistance(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	const calls, jobs = 24, 6
	db := storetest.FarPostgres(t, 80*time.Millisecond)
	s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
	receiver := apitest.NewReceiver(t, nil)
	s.Work(t)
	s.Deliver(t)
	var sending sync.WaitGroup
	for i := range calls + jobs {
		sending.Go(func() {
			mode := ""
			if i >= calls {
				mode = `,"response":"async"`
			}
			s.Send(t, apitest.Request{Path: echo, Body: `{"text":"` + strconv.Itoa(i) + `","callbackUrl":"` + receiver.URL + `"` + mode + `}`})
		})
	}
	sending.Wait()
	seen := map[string]int{}
	for range calls + jobs {
		seen[receiver.Next(t).Header.Get("Webhook-Id")]++
	}
	s.AwaitRecorded(t)
	if n := receiver.Count(); n != 0 || len(seen) != calls+jobs {
		t.Errorf("%d deliveries came, %d of them again; want %d, each once", len(seen), n, calls+jobs)
	}
	for _, d := range s.Deliveries(t) {
		if d.Status != "delivered" || d.Attempts != 1 {
			t.Errorf("delivery %+v: want it delivered by one attempt", d)
		}
	}
}

// TestWorkContinuesAfterItsConnectionsDied: all connections to PostgreSQL drop their data from one moment on, and
// none is closed. New ones work: jobs of another process are found and run, and deliveries are sent, without a
// restart.
func TestWorkContinuesAfterItsConnectionsDied(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	near := storetest.Postgres(t)
	link, err := storetest.NewFar(context.WithoutCancel(t.Context()), near.URL, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := link.Close(); err != nil {
			t.Error(err)
		}
	})
	through := near
	through.URL = link.URL
	s := apitest.New(t, apitest.Options{DB: &through, Change: quiet})
	receiver := apitest.NewReceiver(t, nil)
	endpoint := s.NewWebhook(t, `{"url":"`+receiver.URL+`"}`)
	s.Work(t)
	s.Deliver(t)
	other := near.Open(t, s.Clock)
	notify := func() string {
		t.Helper()
		d, err := other.TestWebhook(t.Context(), s.Account.ID, endpoint.ID, map[string]string{})
		if err != nil {
			t.Fatal(err)
		}
		return d.EventID
	}
	for _, when := range []string{"before", "after"} {
		id := notify()
		if event := verify(t, s, endpoint.Secret, receiver.Next(t)); event.ID != id {
			t.Errorf("%s: got event %s, want %s", when, event.ID, id)
		}
		job := s.Enqueue(t, apitest.Request{Path: echo, Body: `{"text":"` + when + `","response":"async"}`})
		if job = s.Await(t, job.ID); job.Status != "completed" {
			t.Errorf("%s: got job %+v, want it completed", when, job)
		}
		receiver.Next(t) // of the job
		s.AwaitRecorded(t)
		if when == "before" {
			link.Lose()
		}
	}
}
