// Package fakestripe is a stand-in for Stripe: as much of its API as package payments uses, in memory, with signed
// events and a page to pay on. No money moves. It is started by tests, and by `relaypdf serve --dev` without a key of
// Stripe.
package fakestripe

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stripe/stripe-go/v76/webhook"
)

// Saved methods, which determine the outcome of a charge. Their names are those of Stripe's own test cards.
const (
	CardWorks    = "pm_card_visa"
	CardDeclined = "pm_card_chargeDeclined"
	CardAction   = "pm_card_authenticationRequired"
)

// Config sets the target of events, and the URL of the pages.
type Config struct {
	// SecretKey is the required key of requests, WebhookSecret the secret that signs events.
	SecretKey, WebhookSecret string
	// WebhookURL is the URL to which events are sent; empty keeps them for Events.
	WebhookURL string
	// PageURL is the URL at which Pages is served.
	PageURL string
	// StyleURL is the style sheet of the pages.
	StyleURL string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Object is one of Stripe's.
type Object = map[string]any

// Server is the stand-in. Its methods are safe for concurrent use.
type Server struct {
	// Fault, if set, is asked before a request is carried out (done is false)
	// and before it is answered; true breaks the connection off.
	Fault func(r *http.Request, done bool) bool
	// BuyersCurrency is the currency of buyers on pages with Adaptive Pricing; empty is the page's own.
	BuyersCurrency string

	cfg      Config
	client   *http.Client
	mu       sync.Mutex
	objects  map[string]Object
	order    []string // ids, the oldest first
	answered map[string]answer
	events   [][]byte
	requests []string
}

type answer struct {
	request string
	status  int
	body    []byte
}

// New returns a stand-in.
func New(cfg Config) *Server {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Server{cfg: cfg, client: &http.Client{Timeout: 30 * time.Second}, objects: map[string]Object{}, answered: map[string]answer{}}
}

// fault is a response that is an error, in Stripe's form.
type fault struct {
	status                    int
	kind, code, text, decline string
	intent                    Object
}

func (f *fault) Error() string { return f.text }

func missing(id string) error {
	return &fault{status: http.StatusNotFound, kind: "invalid_request_error", code: "resource_missing", text: "No such object: " + id}
}

func invalid(text string) error {
	return &fault{status: http.StatusBadRequest, kind: "invalid_request_error", text: text}
}

// api is Stripe's API.
type api struct{ *Server }

// API serves Stripe's API.
func (s *Server) API() http.Handler {
	mux := http.NewServeMux()
	a := api{s}
	for pattern, do := range map[string]func(r *http.Request) (Object, error){
		"POST /v1/customers":                     a.newCustomer,
		"GET /v1/customers/{id}":                 a.getCustomer,
		"GET /v1/customers/{id}/payment_methods": a.listMethods,
		"POST /v1/checkout/sessions":             a.newSession,
		"GET /v1/checkout/sessions/{id}":         a.get,
		"POST /v1/billing_portal/sessions":       a.newPortal,
		"POST /v1/payment_intents":               a.newIntent,
		"GET /v1/payment_intents/{id}":           a.get,
		"POST /v1/payment_intents/{id}/cancel":   a.cancelIntent,
		"GET /v1/payment_intents":                a.list("payment_intent"),
		"POST /v1/refunds":                       a.newRefund,
		"GET /v1/refunds":                        a.list("refund"),
		"GET /v1/disputes":                       a.list("dispute"),
		"GET /v1/disputes/{id}":                  a.get,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { a.serve(w, r, do) })
	}
	return mux
}

// serve carries a request out once for its key, and answers.
func (s api) serve(w http.ResponseWriter, r *http.Request, do func(r *http.Request) (Object, error)) {
	if r.Header.Get("Authorization") != "Bearer "+s.cfg.SecretKey {
		http.Error(w, `{"error":{"type":"invalid_request_error","message":"Invalid API Key provided"}}`, http.StatusUnauthorized)
		return
	}
	if err := r.ParseForm(); err != nil || s.Fault != nil && s.Fault(r, false) {
		panic(http.ErrAbortHandler)
	}
	given := s.once(r, do)
	s.flush()
	if s.Fault != nil && s.Fault(r, true) {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", "req_fake")
	w.WriteHeader(given.status)
	_, _ = w.Write(given.body)
}

func (s api) once(r *http.Request, do func(r *http.Request) (Object, error)) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	request := r.Method + " " + r.URL.Path + "?" + r.Form.Encode()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	if before, known := s.answered[key]; known && key != "" && r.Method == http.MethodPost {
		if before.request != request {
			return encode(nil, &fault{status: http.StatusBadRequest, kind: "idempotency_error", text: "Keys for idempotent requests can only be used with the same parameters they were first used with."})
		}
		return before
	}
	object, err := do(r)
	given := encode(object, err)
	given.request = request
	if key != "" {
		s.answered[key] = given
	}
	return given
}

func encode(object Object, err error) answer {
	status := http.StatusOK
	if err != nil {
		var f *fault
		if !errors.As(err, &f) {
			f = &fault{status: http.StatusInternalServerError, kind: "api_error", text: err.Error()}
		}
		status = f.status
		told := Object{"type": f.kind, "message": f.text}
		for name, text := range map[string]string{"code": f.code, "decline_code": f.decline} {
			if text != "" {
				told[name] = text
			}
		}
		if f.intent != nil {
			told["payment_intent"] = f.intent
		}
		object = Object{"error": told}
	}
	body, err := json.Marshal(object)
	if err != nil {
		return answer{status: http.StatusInternalServerError}
	}
	return answer{status: status, body: body}
}

// add keeps a new object under an id of its kind.
func (s *Server) add(prefix, kind string, o Object) Object {
	id := make([]byte, 12)
	_, _ = rand.Read(id) // It never fails.
	o["id"], o["object"], o["livemode"], o["created"] = prefix+"_"+hex.EncodeToString(id), kind, strings.Contains(s.cfg.SecretKey, "_live_"), s.cfg.Now().Unix()
	s.objects[text(o, "id")], s.order = o, append(s.order, text(o, "id"))
	return o
}

func text(o Object, name string) string { t, _ := o[name].(string); return t }
func whole(o Object, name string) int64 { n, _ := o[name].(int64); return n }

// inside returns the object that another one holds.
func (s *Server) inside(o Object, name string) Object { return s.objects[text(o, name)] }

// fields returns the members under a name in a form: metadata[a]=b.
func fields(form url.Values, name string) Object {
	found := Object{}
	for key, values := range form {
		if inner, ok := strings.CutPrefix(key, name+"["); ok && strings.HasSuffix(inner, "]") && !strings.Contains(inner, "[") {
			found[strings.TrimSuffix(inner, "]")] = values[0]
		}
	}
	return found
}

func number(form url.Values, name string) int64 {
	n, _ := strconv.ParseInt(form.Get(name), 10, 64)
	return n
}

// get responds with an object, and the objects in it that are asked for.
func (s api) get(r *http.Request) (Object, error) {
	id := r.PathValue("id")
	if s.objects[id] == nil {
		return nil, missing(id)
	}
	return s.expanded(s.objects[id], r.Form, ""), nil
}

func (s *Server) expanded(o Object, form url.Values, prefix string) Object {
	shown := maps.Clone(o)
	for name, values := range form {
		if !strings.HasPrefix(name, "expand[") {
			continue
		}
		for _, path := range values {
			path, ok := strings.CutPrefix(path, prefix)
			first, rest, nested := strings.Cut(path, ".")
			inner := s.inside(o, first)
			if !ok || inner == nil {
				continue
			}
			if nested {
				inner = s.expanded(inner, url.Values{"expand[0]": {rest}}, "")
			}
			shown[first] = inner
		}
	}
	return shown
}

// list responds with objects of a kind, the newest first, page by page.
func (s api) list(kind string) func(r *http.Request) (Object, error) {
	return func(r *http.Request) (Object, error) {
		limit := int(number(r.Form, "limit"))
		if limit == 0 {
			limit = 10
		}
		found := []Object{}
		more := false
		started := r.Form.Get("starting_after") == ""
		for _, id := range slices.Backward(s.order) {
			o := s.objects[id]
			switch {
			case !started:
				started = id == r.Form.Get("starting_after")
				continue
			case text(o, "object") != kind, whole(o, "created") < number(r.Form, "created[gte]"),
				r.Form.Get("customer") != "" && text(o, "customer") != r.Form.Get("customer"),
				r.Form.Get("payment_intent") != "" && text(o, "payment_intent") != r.Form.Get("payment_intent"):
				continue
			}
			if more = len(found) == limit; more {
				break
			}
			found = append(found, s.expanded(o, r.Form, "data."))
		}
		return Object{"object": "list", "url": r.URL.Path, "has_more": more, "data": found}, nil
	}
}

// happen writes an event, which is sent when the lock is free.
func (s *Server) happen(kind string, o Object) {
	id := make([]byte, 12)
	_, _ = rand.Read(id)
	body, err := json.Marshal(Object{
		"id": "evt_" + hex.EncodeToString(id), "object": "event", "type": kind, "created": s.cfg.Now().Unix(), "livemode": o["livemode"],
		// Readers of events must not depend on the version of their objects.
		"api_version": "2099-01-01.fake", "data": Object{"object": o}, "pending_webhooks": 1,
	})
	if err == nil {
		s.events = append(s.events, body)
	}
}

// Events removes and returns the events that were not sent, the oldest first.
func (s *Server) Events() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := s.events
	s.events = nil
	return events
}

// flush sends the events that have happened.
func (s *Server) flush() {
	if s.cfg.WebhookURL == "" {
		return
	}
	for _, event := range s.Events() {
		go func() { _, _ = s.Send(context.Background(), event) }() // The reader reconciles lost events.
	}
}

// Sign returns the signature header of an event sent at a time.
func (s *Server) Sign(event []byte, at time.Time) string {
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(webhook.ComputeSignature(at, event, s.cfg.WebhookSecret)))
}

// Send sends an event with its signature, and returns the response's status.
func (s *Server) Send(ctx context.Context, event []byte) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.WebhookURL, bytes.NewReader(event))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Stripe-Signature", s.Sign(event, time.Now()))
	response, err := s.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// Requests returns how often something was asked for, such as "POST /v1/refunds".
func (s *Server) Requests(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.requests {
		if r == what {
			n++
		}
	}
	return n
}

// Find returns copies of the objects of a kind, the oldest first.
func (s *Server) Find(kind string) []Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Object
	for _, id := range s.order {
		if o := s.objects[id]; text(o, "object") == kind {
			found = append(found, maps.Clone(o))
		}
	}
	return found
}
