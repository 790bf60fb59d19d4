// Package apitest runs a real API on a real store for tests: over HTTP, with a
// clock that the test moves, and without a browser, because its operations are
// the ones that the test names.
package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/service"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/seal"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// Trial is the balance that a Server's account starts with.
const Trial = 5 * credit.Dollar

// Start is the initial time of a Server's clock.
func Start() time.Time { return time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC) }

// Options configure a Server. Their zero value works.
type Options struct {
	// DB is the database; nil means a new SQLite database.
	DB *storetest.DB
	// Operations are the product; nil is Echo and JSON.
	Operations []schema.Definition[*operation.Deps]
	// Blobs stores the bytes of files; nil means a folder.
	Blobs blob.Store
	// Change, if set, changes the settings before the services and the API are made.
	Change func(*Settings)
	// TrustedIPHeader is the edge's.
	TrustedIPHeader string
}

// Settings are those of the services, of the API and of its endpoint for agents.
type Settings struct {
	service.Config
	api.Options
	api.AgentOptions

	// Agents makes the handler for agents; nil means none.
	Agents func(*api.MCPBackend) (http.Handler, error)
}

// Server is a running API with one account and one key.
type Server struct {
	URL string
	API *api.API
	// Handler is the API behind the middleware, Registry holds the metrics of both.
	Handler  http.Handler
	Registry *prometheus.Registry
	Store    *store.Store
	Clock    *storetest.Clock
	Account  store.Account
	// Key and Secret are of the account's key.
	Key    store.Key
	Secret string
	Log    *Log
	// Operations are the product.
	Operations []schema.Definition[*operation.Deps]
	// HTTP carries requests to the server; it keeps no connection beyond the test.
	HTTP *http.Client

	db storetest.DB
}

// New starts a Server that ends with its test. At the end it checks the ledger, whatever the test did.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	if o.DB == nil {
		db := storetest.SQLite(t)
		o.DB = &db
	}
	if o.Operations == nil {
		o.Operations = []schema.Definition[*operation.Deps]{Echo(nil), JSON()}
	}
	s := &Server{Clock: storetest.NewClock(Start()), Log: &Log{}, Operations: o.Operations, Registry: prometheus.NewRegistry(), db: *o.DB}
	s.Store = o.DB.OpenAs(t, store.Config{Now: s.Clock.Now, Blobs: o.Blobs})
	lease, err := s.Store.Acquire(context.WithoutCancel(t.Context()), t.TempDir())
	if err != nil {
		t.Fatalf("acquire a lease: %v", err)
	}
	t.Cleanup(func() {
		s.checkBooks(t)
		if err := lease.Close(); err != nil {
			t.Errorf("close the lease: %v", err)
		}
	})
	server := httptest.NewUnstartedServer(nil)
	box, err := seal.New(bytes.Repeat([]byte("k"), seal.MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	cfg := Settings{
		Config: service.Config{
			Store: s.Store, Box: box, Outbound: NewOutbound(t), Lease: lease.ID(), BaseURL: "http://" + server.Listener.Addr().String(), Region: "test",
			Brand: "RelayPDF", MaxFile: 512 << 10, Now: s.Clock.Now, Operations: o.Operations,
			Logger: slog.New(slog.NewJSONHandler(s.Log, nil)), Registry: s.Registry,
		},
		Options: api.Options{MaxBody: 1 << 20, Version: "test"},
	}
	if o.Change != nil {
		o.Change(&cfg)
	}
	services, err := service.New(cfg.Config)
	if err != nil {
		t.Fatalf("build the services: %v", err)
	}
	s.API = api.New(services, cfg.Options)
	if cfg.Agents != nil {
		agents, err := cfg.Agents(s.API.ForAgents(cfg.AgentOptions))
		if err != nil {
			t.Fatalf("make the handler for agents: %v", err)
		}
		s.API.MountAgents(agents)
	}

	s.Handler = middleware.New(middleware.Config{
		API: s.API.Handler(), Fail: s.API.Fail, TrustedIPHeader: o.TrustedIPHeader, MaxDiscard: 2 * max(cfg.MaxBody, cfg.MaxFile), Logger: cfg.Logger, Registry: s.Registry, Tracer: cfg.Tracer, LogRequest: s.Store.LogRequest,
	})
	server.Config.Handler = s.Handler
	server.Start()
	t.Cleanup(func() {
		server.Close()
		ended, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		s.API.Calls.Wait(ended)
	})
	s.URL, s.HTTP = server.URL, server.Client()
	s.HTTP.Timeout = patience
	s.Account, s.Key, s.Secret = s.NewAccount(t, "owner@example.com")
	return s
}

// checkBooks fails the test when the ledger is not sound.
func (s *Server) checkBooks(t testing.TB) {
	t.Helper()
	report, err := s.Store.CheckLedger(context.Background())
	if err != nil {
		t.Errorf("check the ledger: %v", err)
	}
	if !report.OK() {
		t.Errorf("the books are not sound: %v, orphaned holds %v", report.Problems, report.OrphanedHolds)
	}
}

// NewAccount adds an account with a trial balance and a key, and returns the
// key's secret too.
func (s *Server) NewAccount(t testing.TB, email string) (store.Account, store.Key, string) {
	t.Helper()
	account, err := s.Store.CreateAccount(t.Context(), email, Trial)
	if err != nil {
		t.Fatalf("create an account: %v", err)
	}
	key, secret := s.NewKey(t, store.NewKey{AccountID: account.ID, Name: "test", Signs: true})
	return account, key, secret
}

// NewKey adds a key.
func (s *Server) NewKey(t testing.TB, n store.NewKey) (store.Key, string) {
	t.Helper()
	key, secret, err := s.Store.CreateKey(t.Context(), n)
	if err != nil {
		t.Fatalf("create a key: %v", err)
	}
	return key, secret
}

// Content returns the content of a stored file of the server's account.
func (s *Server) Content(t testing.TB, id string) string {
	t.Helper()
	file, err := s.Store.AccountFile(t.Context(), s.Account.ID, id)
	if err != nil {
		t.Fatal(err)
	}
	stored, _, err := s.Store.Blobs().Open(t.Context(), file.BlobKey)
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	content, err := io.ReadAll(stored)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// Client returns our own client with the server's key and without retries.
func (s *Server) Client() *client.Client {
	return &client.Client{BaseURL: s.URL, Key: s.Secret, HTTP: s.HTTP, UserAgent: "apitest", Retries: -1}
}

// Request is one request to a Server.
type Request struct {
	Method string // POST when empty
	Path   string
	Body   string
	// Header is sent as is. If Header has no entry for them, Authorization with the server's key and, with a body,
	// Content-Type application/json are added; an empty entry sends none.
	Header http.Header
	// From, if set, is the address and port from which the request seems to come. Such a request is passed to the
	// handler without the network.
	From string
}

// Response is a response that was read to its end.
type Response struct {
	Status int
	Header http.Header
	Body   string
}

// Send sends a request and reads the response.
func (s *Server) Send(t testing.TB, q Request) Response {
	t.Helper()
	if q.Method == "" {
		q.Method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(t.Context(), q.Method, s.URL+q.Path, bytes.NewReader([]byte(q.Body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.Secret)
	if q.Body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, values := range q.Header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	if q.From != "" {
		r.RemoteAddr = q.From
		recorder := httptest.NewRecorder()
		s.Handler.ServeHTTP(recorder, r)
		return Response{recorder.Code, recorder.Header(), recorder.Body.String()}
	}
	response, err := s.HTTP.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("read the answer: %v", err)
	}
	return Response{response.StatusCode, response.Header, string(body)}
}

// Failure is the body of an error.
type Failure struct {
	Code      wire.Code     `json:"code"`
	Message   string        `json:"message"`
	Details   []wire.Detail `json:"details"`
	RequestID string        `json:"requestId"`
	Docs      string        `json:"docs"`
}

// Failure returns the error that a response holds, or fails the test.
func (r Response) Failure(t testing.TB) Failure {
	t.Helper()
	var body struct {
		Error *Failure `json:"error"`
	}
	if err := json.Unmarshal([]byte(r.Body), &body); err != nil || body.Error == nil {
		t.Fatalf("status %d, and no error in %q", r.Status, r.Body)
	}
	return *body.Error
}

// Refused fails the test unless a response is the error that is wanted.
func (r Response) Refused(t testing.TB, want wire.Code) Failure {
	t.Helper()
	got := r.Failure(t)
	if status := (&wire.Error{Code: want}).Status(); got.Code != want || r.Status != status {
		t.Errorf("got %d %s (%s), want %d %s", r.Status, got.Code, got.Message, status, want)
	}
	if !strings.HasSuffix(got.Docs, "/docs/errors#"+string(want)) {
		t.Errorf("%s links to %q, want its section of /docs/errors", want, got.Docs)
	}
	return got
}

// OK fails the test unless a response is a success.
func (r Response) OK(t testing.TB) Response {
	t.Helper()
	if r.Status != http.StatusOK {
		t.Fatalf("got status %d: %s, want 200", r.Status, r.Body)
	}
	return r
}

// Log collects the log of a Server.
type Log = storetest.Log
