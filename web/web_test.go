package web_test

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/seal"
	"github.com/relaypdf/relaypdf/store/storetest"
	"github.com/relaypdf/relaypdf/views"
	"github.com/relaypdf/relaypdf/web"
	"github.com/relaypdf/relaypdf/web/mail"
)

// letters records the emails.
type letters struct {
	mu   sync.Mutex
	sent []mail.Message
}

func (l *letters) Enqueue(_ context.Context, letter mail.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, letter)
	return nil
}

// Seal stores an email whose transaction has not been committed yet.
func (l *letters) Seal(letter mail.Message) (store.QueuedEmail, error) {
	return store.QueuedEmail{ID: store.NewID("let"), Sealed: []byte(letter.Subject)}, l.Enqueue(context.Background(), letter)
}

// Wake is of no use: nothing is sent.
func (l *letters) Wake() {}

// last returns the last email to an address.
func (l *letters) last(t *testing.T, to string) mail.Message {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.sent) - 1; i >= 0; i-- {
		if l.sent[i].To == to {
			return l.sent[i]
		}
	}
	t.Fatalf("no letter was sent to %s", to)
	return mail.Message{}
}

// house is the pages on a server, with a store behind them.
type house struct {
	*store.Store
	web     *web.Web
	handler http.Handler // the pages, to which requests have an identity
	url     string
	clock   *storetest.Clock
	mail    *letters
	mu      sync.Mutex
	waits   []time.Duration // that attempts to log in had
}

// wait notes how long an attempt to log in would wait.
func (h *house) wait(_ context.Context, delay time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waits = append(h.waits, delay)
	return nil
}

func newHouse(t *testing.T, s *store.Store, clock *storetest.Clock, change func(*web.Config)) *house {
	t.Helper()
	box, err := seal.New([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	h := &house{Store: s, clock: clock, mail: &letters{}}
	server := httptest.NewUnstartedServer(nil)
	h.url = "http://" + server.Listener.Addr().String()
	services := newServices(t, service.Config{
		Lease: acquire(t, h), Store: s, Box: box, BaseURL: h.url, Region: "test",
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Now: clock.Now,
	})
	cfg := web.Config{
		Services: services, Host: &host{API: newAPI(services)}, Mail: h.mail, Version: "test", SignUp: "open",
		Trial: 5 * credit.Dollar, MaxBody: 100 << 20,
		Hooks: web.Hooks{Wait: h.wait},
	}
	if change != nil {
		change(&cfg)
	}
	if h.web, err = web.New(cfg); err != nil {
		t.Fatal(err)
	}
	h.handler = identified(h.web.Handler())
	server.Config.Handler = middleware.CacheControl(h.handler)
	server.Start()
	t.Cleanup(server.Close)
	return h
}

// clientIPHeader is the header of requests that names their client's address.
const clientIPHeader = "Fly-Client-Ip"

// identified gives requests an ID and the address of a client, unless they have their own.
func identified(pages http.Handler) http.Handler {
	next := middleware.Identify(middleware.AddressHeader{Name: clientIPHeader, Hops: 1})(pages)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{clientIPHeader: "203.0.113.40", wire.RequestIDHeader: "req_test"} {
			if r.Header.Get(name) == "" {
				r.Header.Set(name, value)
			}
		}
		next.ServeHTTP(w, r)
	})
}

// newServices builds services with a way out to receivers on this machine.
func newServices(t *testing.T, config service.Config) *service.Services {
	t.Helper()
	config.Outbound, config.MaxFile = apitest.NewOutbound(t), 1<<20
	services, err := service.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return services
}

// newAPI serves services with small limits.
func newAPI(services *service.Services) *api.API {
	return api.New(services, api.Options{MaxBody: 1 << 20})
}

// host is a process with an API, and without a renderer.
type host struct {
	*api.API

	describe func() ([]byte, error)                                              // nil returns the description in the repository
	draw     func(context.Context, web.RenderRequest) (web.RenderedSheet, error) // nil draws nothing
	engines  views.Engines
	counters []views.Counter
}

func (h *host) Description() ([]byte, error) {
	if h.describe != nil {
		return h.describe()
	}
	return os.ReadFile(filepath.Join("..", "api", "testdata", "openapi.golden.json"))
}

func (h *host) Draw(ctx context.Context, sheet web.RenderRequest) (web.RenderedSheet, error) {
	if h.draw == nil {
		return web.RenderedSheet{}, web.ErrBusy
	}
	return h.draw(ctx, sheet)
}

func (*host) Ready(context.Context) views.ServiceStatus { return views.ServiceStatus{} }
func (h *host) Engines() views.Engines                  { return h.engines }
func (h *host) Counters() []views.Counter               { return h.counters }

// hostOf returns the host of the pages of newHouse.
func hostOf(c *web.Config) *host {
	return c.Host.(*host) // newHouse has made it
}

// fakeCalls replaces some of what pages do with calls.
type fakeCalls struct {
	web.Calls

	input []byte                              // nil means what was stored
	again func(callID string) (string, error) // nil repeats the call
}

func (f *fakeCalls) Input(ctx context.Context, from *store.Store, accountID, callID string) ([]byte, error) {
	if f.input == nil {
		return f.Calls.Input(ctx, from, accountID, callID)
	}
	return f.input, nil
}

func (f *fakeCalls) Repeat(ctx context.Context, account store.Account, callID, requestID string) (string, error) {
	if f.again == nil {
		return f.Calls.Repeat(ctx, account, callID, requestID)
	}
	return f.again(callID)
}

// Thumbnail needs no renderer.
func (*fakeCalls) Thumbnail(_ context.Context, _ store.Account, resultID string) (png []byte, why string) {
	return []byte("PNG of " + resultID), ""
}

// eachHouse runs a test with either database.
func eachHouse(t *testing.T, test func(t *testing.T, h *house)) {
	t.Helper()
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		clock := storetest.NewClock(time.Now().UTC().Truncate(time.Second))
		test(t, newHouse(t, db.Open(t, clock), clock, nil))
	})
}

// sqliteHouse is a house on SQLite, for tests that do not depend on the database.
func sqliteHouse(t *testing.T, change func(*web.Config)) *house {
	t.Helper()
	t.Parallel()
	clock := storetest.NewClock(time.Now().UTC().Truncate(time.Second))
	return newHouse(t, storetest.SQLite(t).Open(t, clock), clock, change)
}

// visitor is a browser without script.
type visitor struct {
	t      *testing.T
	h      *house
	client *http.Client
	header http.Header
}

func (h *house) visitor(t *testing.T) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t: t, h: h, header: http.Header{"User-Agent": {"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}, "Sec-Fetch-Site": {"same-origin"}}, client: &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// answer is the response to a visitor.
type answer struct {
	status int
	header http.Header
	body   string
}

func (v *visitor) do(method, path string, form url.Values) answer {
	v.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.h.url+path, body)
	if err != nil {
		v.t.Fatal(err)
	}
	for name, values := range v.header {
		r.Header[name] = values
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}

func (v *visitor) get(path string) answer { v.t.Helper(); return v.do(http.MethodGet, path, nil) }

// post sends a form and wants a status.
func (v *visitor) post(path string, status int, form url.Values) answer {
	v.t.Helper()
	a := v.do(http.MethodPost, path, form)
	if a.status != status {
		v.t.Fatalf("POST %s: got status %d, want %d: %s", path, a.status, status, textOf(a.body))
	}
	return a
}

// once sends a form that creates a secret, and returns the page that shows it. Reloading the page does not show it again.
func (v *visitor) once(path string, form url.Values) answer {
	v.t.Helper()
	to := v.post(path, http.StatusSeeOther, form).header.Get("Location")
	page := v.sees(to, "Shown once")
	if again := v.get(to); strings.Contains(again.body, "Shown once") {
		v.t.Errorf("GET %s shows the secret of %s again", to, path)
	}
	return page
}

// sees fails the test unless a page responds with 200 and holds the words.
func (v *visitor) sees(path string, words ...string) answer {
	v.t.Helper()
	a := v.get(path)
	if a.status != http.StatusOK {
		v.t.Fatalf("GET %s: got status %d, location %q: %s", path, a.status, a.header.Get("Location"), textOf(a.body))
	}
	for _, word := range words {
		if !strings.Contains(textOf(a.body), word) {
			v.t.Errorf("GET %s does not say %q: %s", path, word, textOf(a.body))
		}
	}
	return a
}

var (
	tags  = regexp.MustCompile(`(?s)<(script|style).*?</(script|style)>|<[^>]*>`)
	space = regexp.MustCompile(`\s+`)
)

func textOf(html string) string { return space.ReplaceAllString(tags.ReplaceAllString(html, " "), " ") }

const password = "correct horse battery"

// join makes a user with an account by signing up, and signs them in.
func (h *house) join(t *testing.T, email string) *visitor {
	t.Helper()
	v := h.visitor(t)
	v.post("/signup", http.StatusOK, url.Values{"name": {"Maya Lind"}, "email": {email}, "password": {password}})
	link := strings.TrimPrefix(h.mail.last(t, email).Link.URL, h.url)
	v.sees(link, "Confirm your email address")
	v.post(link, http.StatusSeeOther, url.Values{"password": {password}})
	return v
}

// mayas returns the account of the user of most tests.
func (h *house) mayas(t *testing.T) store.Account {
	t.Helper()
	a, err := h.AccountByEmail(t.Context(), "maya@example.com")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// actions returns the actions in the audit log of an account, the latest first.
func (h *house) actions(t *testing.T, accountID string) []string {
	t.Helper()
	entries, err := h.AuditEntries(t.Context(), accountID, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Action)
	}
	return list
}

func TestSignUpVerifyAndFirstRun(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.visitor(t)
		if a := v.get("/dashboard"); a.status != http.StatusSeeOther || a.header.Get("Location") != "/login?next=%2Fdashboard" {
			t.Fatalf("nobody on the dashboard: got %d, %q", a.status, a.header.Get("Location"))
		}
		v.post("/signup", http.StatusOK, url.Values{"name": {"Maya Lind"}, "email": {"Maya@Example.com"}, "password": {password}})
		if _, err := h.AccountByEmail(t.Context(), "maya@example.com"); err == nil {
			t.Error("an account with trial credit was made before the address was verified")
		}
		link := strings.TrimPrefix(h.mail.last(t, "maya@example.com").Link.URL, h.url)
		v.sees(link, "Confirm your email address") // mail scanners do this
		v.post(link, http.StatusSeeOther, url.Values{})
		if a := v.post(link, http.StatusGone, url.Values{}); !strings.Contains(a.body, "no longer works") {
			t.Errorf("the link again: %s", textOf(a.body))
		}
		v.sees("/dashboard", "Welcome, Maya", "$5.00", "2,500 PDFs", "Create an API key")
		if account := h.mayas(t); account.Balance != 5*credit.Dollar {
			t.Errorf("the account holds %v", account.Balance)
		}
		if a := v.get("/dashboard/first"); a.body != "{\"id\":\"\"}\n" {
			t.Errorf("the first document: got %q", a.body)
		}
	})
}

// TestFirstRunEndsOnTheDocument follows the page of the first run through a failed call, a call whose result is stored,
// and another document.
func TestFirstRunEndsOnTheDocument(t *testing.T) {
	h := sqliteHouse(t, func(c *web.Config) {
		c.Hooks.Calls = &fakeCalls{Calls: c.Calls}
	})
	v := h.join(t, "maya@example.com")
	account, lease := h.mayas(t), acquire(t, h)
	begin := func() (result string) {
		t.Helper()
		result = h.NewID("file")
		if err := h.Begin(t.Context(), store.NewCall{ID: store.CallID(result), ResultID: result, AccountID: account.ID, Operation: "pdf.create", Mode: "url", RequestID: "r", Quote: 2000, Lease: lease}); err != nil {
			t.Fatal(err)
		}
		return result
	}
	settle := func(result string) {
		t.Helper()
		file := &store.File{ID: result, BlobKey: result, Filename: "hello.pdf", ContentType: "application/pdf", ExpiresAt: h.clock.Now().Add(time.Hour)}
		if err := h.Settle(t.Context(), store.Settlement{CallID: store.CallID(result), Charge: 2000, Duration: 412 * time.Millisecond, File: file}); err != nil {
			t.Fatal(err)
		}
		h.clock.Advance(time.Second)
	}
	v.sees("/dashboard", "Waiting for your first call", "View result", html.EscapeString(`"response":"url"`))
	result := begin()
	if err := h.Release(t.Context(), store.CallID(result), store.Failure{Code: "render_failed", Message: "The page did not load."}, nil); err != nil {
		t.Fatal(err)
	}
	h.clock.Advance(time.Second)
	page := v.sees("/dashboard", "render_failed The page did not load. The call was not charged. View the error , correct the request, then run it again.")
	if a := v.get("/dashboard/first"); a.body != `{"id":"`+store.CallID(result)+"\"}\n" || !strings.Contains(page.body, `data-first-document="`+store.CallID(result)+`"`) {
		t.Errorf("the page waits for the call that it shows: %s", a.body)
	}
	// A request that was refused before it became a call is shown too, and the page waits for the next one.
	if err := h.AddRequests(t.Context(), []store.Request{{AccountID: account.ID, Method: "POST", Path: "/v1/pdf", Status: 400, Code: "invalid_request", Message: "html must be a string.", At: h.clock.Now()}}); err != nil {
		t.Fatal(err)
	}
	logged, err := h.Requests(t.Context(), store.RequestFilter{AccountID: account.ID})
	if err != nil || len(logged.Items) != 1 {
		t.Fatalf("got %+v, %v", logged, err)
	}
	refusal := logged.Items[0].ID
	page = v.sees("/dashboard", "invalid_request html must be a string.", "The request was refused and not charged.", "Waiting for your next call")
	if a := v.get("/dashboard/first"); a.body != `{"id":"`+refusal+"\"}\n" || !strings.Contains(page.body, `data-first-document="`+refusal+`"`) || !strings.Contains(page.body, `href="/dashboard/requests/`+refusal+`"`) {
		t.Errorf("the page waits for the refusal that it shows: %s", a.body)
	}
	h.clock.Advance(time.Second)
	result = begin()
	v.sees("/dashboard", "invalid_request")
	settle(result)
	page = v.sees("/dashboard", "Your first document took 412 ms and cost $0.0020 .", "Download hello.pdf", "Completed", "Next steps", "Create a template", "2,499 PDFs")
	image := documentsPath + store.CallID(result) + "/page.png"
	if !strings.Contains(page.body, `<img src="`+image+`" alt="Page 1 of hello.pdf"`) || strings.Contains(page.body, "data-first-document") {
		t.Errorf("the page of the document is not shown: %s", page.body)
	}
	if a := v.get(image); a.body != "PNG of "+result || a.header.Get("Content-Type") != "image/png" {
		t.Errorf("the image is %q", a.body)
	}
	if a := h.join(t, "mallory@example.com").get(image); a.status != http.StatusNotFound {
		t.Errorf("another account's image: got status %d", a.status)
	}
	v.sees(documentsPath+store.CallID(result), "Completed", "hello.pdf")
	settle(begin())
	v.sees("/dashboard", "Overview", "Latest documents")
}

const documentsPath = "/dashboard/documents/"

func TestSignUpHidesKnownAddresses(t *testing.T) {
	h := sqliteHouse(t, nil)
	h.join(t, "maya@example.com")
	v := h.visitor(t)
	known := v.post("/signup", http.StatusOK, url.Values{"email": {"maya@example.com"}, "password": {password}})
	fresh := v.post("/signup", http.StatusOK, url.Values{"email": {"nina@example.com"}, "password": {password}})
	if a, b := textOf(known.body), strings.ReplaceAll(textOf(fresh.body), "nina@", "maya@"); a != b {
		t.Errorf("a known address reads %q, an unknown one %q", a, b)
	}
	if letter := h.mail.last(t, "maya@example.com"); letter.Subject != "You already have an account" {
		t.Errorf("the owner was sent %q", letter.Subject)
	}
	for name, form := range map[string]url.Values{
		"short password": {"email": {"x@example.com"}, "password": {"short"}}, "no address": {"email": {"x"}, "password": {password}},
		"long password": {"email": {"x@example.com"}, "password": {strings.Repeat("x", 2000)}},
	} {
		if a := v.post("/signup", http.StatusUnprocessableEntity, form); !strings.Contains(a.body, `aria-invalid="true"`) {
			t.Errorf("%s: no field is marked", name)
		}
	}
}

func TestSignUpsAreLimitedAndCanBeClosed(t *testing.T) {
	h := sqliteHouse(t, nil)
	v := h.visitor(t)
	for i := range 6 {
		want := http.StatusOK
		if i == 5 {
			want = http.StatusTooManyRequests
		}
		v.post("/signup", want, url.Values{"email": {string(rune('a'+i)) + "@example.com"}, "password": {password}})
	}
}

func TestClosedSignUp(t *testing.T) {
	h := sqliteHouse(t, func(c *web.Config) { c.SignUp = "closed" })
	v := h.visitor(t)
	if a := v.get("/signup"); a.status != http.StatusForbidden {
		t.Errorf("got status %d", a.status)
	}
	v.post("/signup", http.StatusForbidden, url.Values{"email": {"a@example.com"}, "password": {password}})
}

func TestSignInHidesUnknownAddresses(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.join(t, "maya@example.com")
		v := h.visitor(t)
		wrong := v.post("/login", http.StatusUnprocessableEntity, url.Values{"email": {"maya@example.com"}, "password": {"wrong password"}})
		unknown := v.post("/login", http.StatusUnprocessableEntity, url.Values{"email": {"nina@example.com"}, "password": {"wrong password"}})
		if a, b := wrong.body, strings.ReplaceAll(unknown.body, "nina@", "maya@"); nonces.ReplaceAllString(a, "") != nonces.ReplaceAllString(b, "") {
			t.Errorf("a known address reads %q, an unknown one %q", textOf(a), textOf(b))
		}
		a := v.post("/login", http.StatusSeeOther, url.Values{"email": {"MAYA@example.com "}, "password": {password}, "next": {"/dashboard/keys"}})
		if to := a.header.Get("Location"); to != "/dashboard/keys" {
			t.Errorf("sent on to %q", to)
		}
		v.sees("/dashboard/keys", "No API keys yet")
		v.post("/logout", http.StatusSeeOther, url.Values{})
		if a := v.get("/dashboard/keys"); a.status != http.StatusSeeOther {
			t.Errorf("after logging out: got status %d", a.status)
		}
	})
}

var nonces = regexp.MustCompile(`nonce="[^"]*"`)

// TestSignInIsSlowedDown tries wrong passwords in every spelling of an address: they are
// counted together, and the owner gets in all the same.
func TestSignInIsSlowedDown(t *testing.T) {
	h := sqliteHouse(t, nil)
	owner := h.join(t, "maya@example.com")
	v := h.visitor(t)
	for i := range 12 {
		spelling := []string{"maya@example.com", "MAYA@example.com", " Maya@Example.COM ", "\uff4daya@example.com"}[i%4]
		v.post("/login", http.StatusUnprocessableEntity, url.Values{"email": {spelling}, "password": {"wrong password"}})
	}
	want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second, 10 * time.Second}
	if !slices.Equal(h.waits, want) {
		t.Errorf("the attempts after five waited %v, want %v", h.waits, want)
	}
	right := url.Values{"email": {"maya@example.com"}, "password": {password}}
	h.waits = nil
	v.post("/login", http.StatusSeeOther, right) // slowed down, and not refused
	if len(h.waits) != 1 {
		t.Errorf("the owner at a new browser waited %v", h.waits)
	}
	owner.post("/logout", http.StatusSeeOther, url.Values{})
	h.waits = nil
	owner.post("/login", http.StatusUnprocessableEntity, url.Values{"email": {"maya@example.com"}, "password": {"wrong password"}})
	owner.post("/login", http.StatusSeeOther, right)
	if len(h.waits) != 0 {
		t.Errorf("the owner at a browser that is known waited %v", h.waits)
	}
	for range 10 {
		owner.post("/login", http.StatusUnprocessableEntity, url.Values{"email": {"maya@example.com"}, "password": {"wrong password"}})
	}
	if len(h.waits) == 0 {
		t.Error("a browser that is known tries as often as it likes")
	}
	h.clock.Advance(16 * time.Minute)
	h.waits = nil
	h.visitor(t).post("/login", http.StatusSeeOther, right)
	if len(h.waits) != 0 {
		t.Errorf("a quarter of an hour later an attempt waited %v", h.waits)
	}
}

func TestNextLeadsToOwnPagesOnly(t *testing.T) {
	h := sqliteHouse(t, nil)
	h.join(t, "maya@example.com")
	for _, next := range []string{"https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", "", "evil", "/\tx", "http:/evil.example"} {
		v := h.visitor(t)
		a := v.post("/login", http.StatusSeeOther, url.Values{"email": {"maya@example.com"}, "password": {password}, "next": {next}})
		if to := a.header.Get("Location"); to != "/dashboard" {
			t.Errorf("next %q leads to %q", next, to)
		}
		h.clock.Advance(16 * time.Minute)
	}
}

func TestSessionIsNewAtSignIn(t *testing.T) {
	h := sqliteHouse(t, nil)
	h.join(t, "maya@example.com")
	v := h.visitor(t)
	token := func() string {
		base, err := url.Parse(h.url)
		if err != nil {
			t.Fatal(err)
		}
		for _, cookie := range v.client.Jar.Cookies(base) {
			if cookie.Name == "relaypdf_session" {
				return cookie.Value
			}
		}
		return ""
	}
	base, err := url.Parse(h.url)
	if err != nil {
		t.Fatal(err)
	}
	v.client.Jar.SetCookies(base, []*http.Cookie{{Name: "relaypdf_session", Value: "planted-by-somebody-else", Path: "/"}})
	a := v.post("/login", http.StatusSeeOther, url.Values{"email": {"maya@example.com"}, "password": {password}})
	if token() == "planted-by-somebody-else" || token() == "" {
		t.Errorf("the session is %q after logging in", token())
	}
	if cookie := a.header.Get("Set-Cookie"); !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Lax") || !strings.Contains(cookie, "Path=/") {
		t.Errorf("the cookie is %q", cookie)
	}
	before := token()
	v.post("/logout", http.StatusSeeOther, url.Values{})
	v.client.Jar.SetCookies(base, []*http.Cookie{{Name: "relaypdf_session", Value: before, Path: "/"}})
	if a := v.get("/dashboard"); a.status != http.StatusSeeOther {
		t.Error("a session goes on after it was ended")
	}
}

func TestResetPassword(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		elsewhere := h.join(t, "maya@example.com")
		v := h.visitor(t)
		v.post("/password/reset", http.StatusOK, url.Values{"email": {"nobody@example.com"}})
		v.post("/password/reset", http.StatusOK, url.Values{"email": {"maya@example.com"}})
		link := strings.TrimPrefix(h.mail.last(t, "maya@example.com").Link.URL, h.url)
		v.sees(link, "Set a new password", "maya@example.com")
		v.post(link, http.StatusUnprocessableEntity, url.Values{"password": {"short"}})
		v.post(link, http.StatusSeeOther, url.Values{"password": {"another password"}})
		v.post(link, http.StatusGone, url.Values{"password": {"third password"}})
		v.sees("/dashboard")
		if a := elsewhere.get("/dashboard"); a.status != http.StatusSeeOther {
			t.Errorf("a session from before the reset: got status %d", a.status)
		}
		v.post("/logout", http.StatusSeeOther, url.Values{})
		v.post("/login", http.StatusUnprocessableEntity, url.Values{"email": {"maya@example.com"}, "password": {password}})
		v.post("/login", http.StatusSeeOther, url.Values{"email": {"maya@example.com"}, "password": {"another password"}})
		if letter := h.mail.last(t, "maya@example.com"); letter.Subject != "Your password was changed" {
			t.Errorf("the owner was sent %q", letter.Subject)
		}
	})
}

var (
	secretText = regexp.MustCompile(`>([A-Z2-7]{32})</code>`)
	codeText   = regexp.MustCompile(`<li class="mono">([A-Z0-9-]{19})</li>`)
)

func TestSecondFactor(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.join(t, "maya@example.com")
		setup := v.sees("/dashboard/settings/factor", "Set up two-factor authentication")
		found := secretText.FindStringSubmatch(setup.body)
		if found == nil {
			t.Fatalf("no secret is shown: %s", textOf(setup.body))
		}
		code := func() string {
			code, err := totp.GenerateCode(found[1], h.clock.Now())
			if err != nil {
				t.Fatal(err)
			}
			return code
		}
		v.post("/dashboard/settings/factor", http.StatusUnprocessableEntity, url.Values{"code": {"000000"}, "password": {password}})
		v.post("/dashboard/settings/factor", http.StatusUnprocessableEntity, url.Values{"code": {code()}})
		v.post("/dashboard/settings/factor", http.StatusUnprocessableEntity, url.Values{"code": {code()}, "password": {"wrong password"}})
		shown := v.once("/dashboard/settings/factor", url.Values{"code": {code()}, "password": {password}})
		codes := codeText.FindAllStringSubmatch(shown.body, -1)
		if len(codes) != 10 {
			t.Fatalf("got %d recovery codes: %s", len(codes), textOf(shown.body))
		}
		login := url.Values{"email": {"maya@example.com"}, "password": {password}}
		again := h.visitor(t)
		again.post("/login", http.StatusSeeOther, login)
		if a := again.get("/dashboard"); a.status != http.StatusSeeOther {
			t.Error("the password alone opens the dashboard")
		}
		again.post("/login/code", http.StatusUnprocessableEntity, url.Values{"code": {code()}}) // used at the setup
		h.clock.Advance(time.Minute)
		again.post("/login/code", http.StatusSeeOther, url.Values{"code": {code()}})
		again.sees("/dashboard")

		lost := h.visitor(t)
		lost.post("/login", http.StatusSeeOther, login)
		lost.post("/login/code", http.StatusSeeOther, url.Values{"code": {strings.ToLower(codes[0][1])}})
		lost.sees("/dashboard/settings/security", "9 recovery codes left")
		twice := h.visitor(t)
		twice.post("/login", http.StatusSeeOther, login)
		twice.post("/login/code", http.StatusUnprocessableEntity, url.Values{"code": {codes[0][1]}})
		lost.post("/dashboard/settings/factor/off", http.StatusUnprocessableEntity, url.Values{"password": {"wrong password"}})
		lost.post("/dashboard/settings/factor/off", http.StatusSeeOther, url.Values{"password": {password}})
		plain := h.visitor(t)
		plain.post("/login", http.StatusSeeOther, login)
		plain.sees("/dashboard")
	})
}

// TestSecretsWaitSealed checks the secrets that the overview and the settings show once: the session stores them sealed,
// and other pages leave them.
func TestSecretsWaitSealed(t *testing.T) {
	h := sqliteHouse(t, func(c *web.Config) { c.Mail = nil })
	maya, err := h.CreateUser(t.Context(), store.NewUser{Email: "maya@example.com", Verified: true})
	if err != nil {
		t.Fatal(err)
	}
	v := h.signedIn(t, maya)
	link := regexp.MustCompile(h.url + `/invite/[A-Za-z0-9_-]+`)
	for _, c := range []struct {
		form, page string
		values     url.Values
		secret     *regexp.Regexp
	}{
		{"/dashboard/keys", "/dashboard", url.Values{"name": {"first"}, "first": {"yes"}}, keySecret},
		{"/dashboard/settings/invites", "/dashboard/settings/members", url.Values{"email": {"tom@example.com"}, "role": {"viewer"}}, link},
	} {
		if to := v.post(c.form, http.StatusSeeOther, c.values).header.Get("Location"); to != c.page {
			t.Fatalf("%s leads to %q", c.form, to)
		}
		v.sees("/dashboard/documents")
		sessions, err := h.Sessions(t.Context(), maya.ID)
		if err != nil || len(sessions) != 1 {
			t.Fatalf("got %+v, %v", sessions, err)
		}
		data, _, err := h.FindSession(t.Context(), sessions[0].Token)
		if err != nil || !bytes.Contains(data, []byte(`"once"`)) || c.secret.Match(data) {
			t.Errorf("the session stores the secret of %s as %s, %v", c.form, data, err)
		}
		if !c.secret.MatchString(v.get(c.page).body) {
			t.Errorf("%s does not show the secret", c.page)
		}
		if c.secret.MatchString(v.get(c.page).body) {
			t.Errorf("%s shows the secret again", c.page)
		}
	}
}

var keySecret = regexp.MustCompile(`pdf_(?:live|test)_[A-Za-z0-9]{40}`)

func TestKeys(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.join(t, "maya@example.com")
		account := h.mayas(t)
		v.post("/dashboard/keys", http.StatusUnprocessableEntity, url.Values{"name": {""}})
		v.post("/dashboard/keys", http.StatusUnprocessableEntity, url.Values{"name": {"x"}, "limit": {"ten"}})
		v.post("/dashboard/keys", http.StatusUnprocessableEntity, url.Values{"name": {"x"}, "operations": {"pdf.burn"}})
		made := v.once("/dashboard/keys", url.Values{"name": {"production"}, "limit": {"$10"}, "expires": {"30"}, "operations": {"pdf.create"}})
		secret := keySecret.FindString(made.body)
		key, of, err := h.KeyBySecret(t.Context(), secret)
		if err != nil || of.ID != account.ID || key.Name != "production" || *key.SpendLimit != 10*credit.Dollar || key.ExpiresAt == nil || len(key.Operations) != 1 {
			t.Fatalf("the key that was shown: got %+v, %v", key, err)
		}
		if page := v.sees("/dashboard/keys", "production", "1 key"); strings.Contains(page.body, secret) {
			t.Error("the secret is shown again")
		}
		v.sees("/dashboard/keys/"+key.ID+"/roll", "Rotate “production”?")
		rolled := v.once("/dashboard/keys/"+key.ID+"/roll", url.Values{})
		next := keySecret.FindString(rolled.body)
		if next == secret || next == "" {
			t.Fatalf("rolling showed %q", next)
		}
		for _, s := range []string{secret, next} {
			if k, _, err := h.KeyBySecret(t.Context(), s); err != nil || *k.SpendLimit != 10*credit.Dollar {
				t.Errorf("during the overlap: %+v, %v", k, err)
			}
		}
		if old, _, err := h.KeyBySecret(t.Context(), secret); err != nil || old.ExpiresAt.After(h.clock.Now().Add(24*time.Hour)) {
			t.Errorf("the old key ends %v, %v", old.ExpiresAt, err)
		}
		v.post("/dashboard/keys/"+key.ID+"/revoke", http.StatusUnprocessableEntity, url.Values{"confirm": {"other"}})
		v.post("/dashboard/keys/"+key.ID+"/revoke", http.StatusSeeOther, url.Values{"confirm": {"production"}})
		if _, _, err := h.KeyBySecret(t.Context(), secret); err == nil {
			t.Error("a revoked key works")
		}
		v.sees("/dashboard/keys", "” revoked")
		test := keySecret.FindString(v.once("/dashboard/keys", url.Values{"name": {"ci"}, "test": {"on"}}).body)
		if key, _, err := h.KeyBySecret(t.Context(), test); err != nil || !key.Test || !strings.HasPrefix(test, store.TestPrefix) || !strings.HasPrefix(secret, store.LivePrefix) {
			t.Errorf("the test key: got %+v, %v", key, err)
		}
		v.sees("/dashboard/keys", "test · no limit · all operations")
		v.sees("/dashboard/keys/new", "Test key", "up to 500 a day")
		got := h.actions(t, account.ID)
		for _, want := range []string{"session.begun", "key.made", "key.rolled", "key.revoked"} {
			if !slices.Contains(got, want) {
				t.Errorf("the audit log says %q, and not %s", got, want)
			}
		}
	})
}

func TestConnectionPages(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.join(t, "maya@example.com")
		v.sees("/dashboard/connections", "No connections yet")
		v.sees("/dashboard/connections/new?kind=sftp", "Add SFTP server", "Host key")
		server := url.Values{"kind": {"sftp"}, "name": {"files"}, "sftp.host": {"127.0.0.1"}, "sftp.port": {"3"}, "sftp.username": {"maya"}, "sftp.privateKey": {"canary"}}
		wrong := v.post("/dashboard/connections", http.StatusUnprocessableEntity, server)
		if !strings.Contains(wrong.body, "must be a private key") || strings.Contains(wrong.body, "canary") || !strings.Contains(wrong.body, `value="127.0.0.1"`) {
			t.Errorf("a wrong key: got %s", wrong.body)
		}
		v.post("/dashboard/connections", http.StatusUnprocessableEntity, url.Values{"kind": {"s3"}, "name": {"a"}, "s3.endpoint": {"https://10.0.0.1"}, "s3.bucket": {"abc"}, "s3.accessKeyId": {"k"}, "s3.secretAccessKey": {"canary"}})
		server.Del("sftp.privateKey")
		server.Set("sftp.password", "canary")
		v.post("/dashboard/connections", http.StatusSeeOther, server)
		v.post("/dashboard/connections", http.StatusUnprocessableEntity, server) // The name is taken.
		h.clock.Advance(time.Second)
		v.post("/dashboard/connections", http.StatusSeeOther, url.Values{"kind": {"s3"}, "name": {"archive"}, "s3.bucket": {"abc"}, "s3.pathStyle": {"on"}, "s3.accessKeyId": {"k"}, "s3.secretAccessKey": {"canary"}})
		list, err := h.Connections(t.Context(), h.mayas(t).ID)
		if err != nil || len(list) != 2 {
			t.Fatalf("got %+v, %v", list, err)
		}
		if page := v.sees("/dashboard/connections", "files", "127.0.0.1", "No host key", "archive", "abc"); strings.Contains(page.body, "canary") {
			t.Error("a secret is shown")
		}
		path := "/dashboard/connections/" + list[0].ID
		if failed := v.post(path+"/test", http.StatusUnprocessableEntity, url.Values{}); !strings.Contains(failed.body, "The test of files failed at the step connect.") {
			t.Errorf("the test: got %s", failed.body)
		}
		bucket := "/dashboard/connections/" + list[1].ID
		if form := v.sees(bucket, "Edit connection", "Leave empty to keep the stored key"); !strings.Contains(form.body, `value="abc"`) || strings.Contains(form.body, "canary") || !regexp.MustCompile(`name="s3.pathStyle" value="on" checked`).MatchString(form.body) {
			t.Errorf("the form of a bucket: got %s", form.body)
		}
		change := url.Values{"kind": {"s3"}, "name": {"files"}, "s3.bucket": {"other-bucket"}, "s3.accessKeyId": {"k"}}
		v.post(bucket, http.StatusUnprocessableEntity, change) // The name is taken.
		change.Set("name", "bills")
		v.post(bucket, http.StatusSeeOther, change)
		v.sees("/dashboard/connections", "Connection bills saved.", "other-bucket")
		if form := v.sees(bucket, "Edit connection"); strings.Contains(form.body, " checked") || !strings.Contains(form.body, `value="other-bucket"`) {
			t.Errorf("the form of the changed bucket: got %s", form.body)
		}
		change.Set("s3.endpoint", "https://s3.example.com") // which needs the secret again
		if wrong := v.post(bucket, http.StatusUnprocessableEntity, change); !strings.Contains(wrong.body, "It is required.") || !strings.Contains(wrong.body, "Edit connection") {
			t.Errorf("another endpoint: got %s", wrong.body)
		}
		if form := v.sees(path, "Edit connection", "User name"); !strings.Contains(form.body, `value="127.0.0.1"`) || !strings.Contains(form.body, `value="3"`) || strings.Contains(form.body, "canary") {
			t.Errorf("the form of a server: got %s", form.body)
		}
		server.Del("sftp.password")
		server.Set("sftp.folder", "incoming")
		v.post(path, http.StatusSeeOther, server)
		v.post(bucket, http.StatusUnprocessableEntity, server) // It is of another kind.
		other := h.join(t, "mallory@example.com")
		if a := other.get(path); a.status != http.StatusNotFound {
			t.Errorf("the form of another account: got status %d", a.status)
		}
		for _, path := range []string{path, path + "/test", path + "/delete"} {
			if a := other.do(http.MethodPost, path, url.Values{"confirm": {"yes"}}); a.status != http.StatusNotFound {
				t.Errorf("%s of another account: got status %d", path, a.status)
			}
		}
		v.sees(path+"/delete", "Delete files?")
		v.post(path+"/delete", http.StatusSeeOther, url.Values{})
		v.sees("/dashboard/connections", "Connection files deleted.", "1 of 20")
		v.sees("/dashboard/settings/audit", "Connection added:", "Connection changed: bills", "Connection deleted:")
	})
}

func TestSigningPages(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.join(t, "maya@example.com")
		v.sees("/dashboard/signing", "No signing identities yet")
		v.sees("/dashboard/signing/new", "Add signing identity", "PKCS#12 file")
		send := func(key string) answer {
			var body bytes.Buffer
			form := multipart.NewWriter(&body)
			for name, text := range map[string]string{"name": "contracts", "password": "canary"} {
				if err := form.WriteField(name, text); err != nil {
					t.Fatal(err)
				}
			}
			if part, err := form.CreateFormFile("pkcs12", "key.p12"); err != nil {
				t.Fatal(err)
			} else if _, err := io.WriteString(part, key); err != nil {
				t.Fatal(err)
			}
			if err := form.Close(); err != nil {
				t.Fatal(err)
			}
			return v.upload("/dashboard/signing", form.FormDataContentType(), &body)
		}
		if wrong := send(""); wrong.status != http.StatusUnprocessableEntity || strings.Count(wrong.body, "It is required.") != 1 || !strings.Contains(wrong.body, `value="contracts"`) || strings.Contains(wrong.body, "canary") {
			t.Errorf("without a file: got %d %s", wrong.status, wrong.body)
		}
		if none := send("key"); none.status != http.StatusServiceUnavailable {
			t.Errorf("without a renderer: got %d %s", none.status, none.body)
		}
		account := h.mayas(t).ID
		made, err := h.CreateSigningIdentity(t.Context(), store.SigningIdentity{
			ID: h.NewID("sig"), AccountID: account, Name: "contracts", Certificate: `{"subject":"CN=Ada","issuer":"CN=Example CA","notAfter":"2020-01-01T00:00:00Z"}`, Secret: []byte("canary"),
		})
		if err != nil {
			t.Fatal(err)
		}
		if page := v.sees("/dashboard/signing", "contracts", "CN=Ada", "Expired", "1 of 20"); strings.Contains(page.body, "canary") {
			t.Error("a secret is shown")
		}
		path := "/dashboard/signing/" + made.ID + "/delete"
		if a := h.join(t, "mallory@example.com").do(http.MethodPost, path, url.Values{}); a.status != http.StatusNotFound {
			t.Errorf("of another account: got status %d", a.status)
		}
		v.sees(path, "Delete contracts?")
		v.post(path, http.StatusSeeOther, url.Values{})
		v.sees("/dashboard/signing", "Signing identity contracts deleted.", "0 of 20")
		v.sees("/dashboard/settings/audit", "Signing identity deleted:")
	})
}

var signingSecret = regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+`)

func TestWebhooks(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.join(t, "maya@example.com")
		account := h.mayas(t)
		v.post("/dashboard/webhooks", http.StatusUnprocessableEntity, url.Values{"url": {"http://inner.example/x"}})
		wrong := v.post("/dashboard/webhooks", http.StatusUnprocessableEntity, url.Values{"url": {"http://ada:pw@hooks.example/"}})
		if text := textOf(wrong.body); !strings.Contains(text, "URL must not contain a user name or a password.") {
			t.Errorf("a URL with credentials: %s", text)
		}
		made := v.once("/dashboard/webhooks", url.Values{"url": {"https://hooks.example/in"}, "events": {"job.completed"}})
		secret := signingSecret.FindString(made.body)
		list, err := h.Webhooks(t.Context(), account.ID)
		if err != nil || len(list) != 1 || !strings.HasPrefix(secret, list[0].SecretPrefix) || len(list[0].Events) != 1 {
			t.Fatalf("got %+v, %v; shown was %q", list, err, secret)
		}
		path := "/dashboard/webhooks/" + list[0].ID
		if page := v.sees(path, "hooks.example", "On"); strings.Contains(page.body, secret) {
			t.Error("the secret is shown again")
		} else if strings.Contains(page.body, "autofocus") {
			t.Error("the page of an endpoint opens at the form below its facts")
		}
		v.post(path+"/test", http.StatusSeeOther, url.Values{})
		v.sees("/dashboard/deliveries", "webhook.test", "Waiting", "hooks.example")
		v.post(path+"/pause", http.StatusSeeOther, url.Values{})
		v.sees("/dashboard/webhooks", "Paused")
		v.post(path+"/resume", http.StatusSeeOther, url.Values{})
		rolled := v.once(path+"/roll", url.Values{})
		if next := signingSecret.FindString(rolled.body); next == "" || next == secret {
			t.Errorf("rolling showed %q", next)
		}
		v.post(path+"/activate", http.StatusSeeOther, url.Values{})
		v.post(path, http.StatusUnprocessableEntity, url.Values{"url": {"http://inner.example/x"}})
		v.post(path, http.StatusSeeOther, url.Values{"url": {"https://other.example/in"}})
		v.sees(path, "other.example", "Endpoint", "Endpoint saved.")
		v.post(path+"/delete", http.StatusSeeOther, url.Values{})
		v.sees("/dashboard/webhooks", "other.example")
		v.post(path+"/delete", http.StatusSeeOther, url.Values{"confirm": {"yes"}})
		v.sees("/dashboard/webhooks", "No endpoints yet")
		if a := h.join(t, "mallory@example.com").get(path); a.status != http.StatusNotFound {
			t.Errorf("another account's endpoint: got status %d", a.status)
		}
	})
}

func TestWallet(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.join(t, "maya@example.com")
		v.sees("/dashboard/wallet", "$5.00", "Trial credit", "does not accept payments")
		if receipts := v.sees("/dashboard/wallet/receipts", "does not accept payments", "View credits"); strings.Contains(receipts.body, "Top up") {
			t.Error("receipts of a service that takes no payments offer to pay")
		}
		v.sees("/dashboard/wallet?kind=credits", "Trial credit")
		v.post("/dashboard/wallet/limits", http.StatusUnprocessableEntity, url.Values{"job": {"many"}, "day": {"1"}})
		v.post("/dashboard/wallet/limits", http.StatusSeeOther, url.Values{"job": {"0.5"}, "day": {"15"}})
		if account := h.mayas(t); *account.MaxJob != 500_000 || *account.MaxDay != 15*credit.Dollar {
			t.Errorf("the limits are %v and %v", account.MaxJob, account.MaxDay)
		}
		v.post("/dashboard/wallet/limits", http.StatusSeeOther, url.Values{"job": {""}, "day": {""}})
		if account := h.mayas(t); account.MaxJob != nil || account.MaxDay != nil {
			t.Errorf("the limits are %v and %v", account.MaxJob, account.MaxDay)
		}
		if a := v.get("/dashboard/wallet.csv"); a.status != http.StatusOK || !strings.Contains(a.body, "trial,5.000000") {
			t.Errorf("the ledger as a file: %d, %q", a.status, a.body)
		}

		// A failed call is one line, and its hold and release are two lines of the file.
		result := h.NewID("file")
		if err := h.Begin(t.Context(), store.NewCall{ID: store.CallID(result), ResultID: result, AccountID: h.mayas(t).ID, Operation: "pdf.create", Mode: "url", RequestID: "r", Quote: 2000, Lease: acquire(t, h)}); err != nil {
			t.Fatal(err)
		}
		v.sees("/dashboard/wallet", "pdf.create", "call · dashboard", "−$0.0020", "$0.0020 held for running calls")
		if err := h.Release(t.Context(), store.CallID(result), store.Failure{Code: "render_failed"}, nil); err != nil {
			t.Fatal(err)
		}
		if a := v.sees("/dashboard/wallet", "pdf.create", "failed · dashboard", "not charged", "$5.00 00"); strings.Count(a.body, ">pdf.create</a>") != 1 || strings.Contains(textOf(a.body), "$0.0020") {
			t.Errorf("the failed call in the ledger: %s", textOf(a.body))
		}
		if a := v.get("/dashboard/wallet.csv"); strings.Count(a.body, store.CallID(result)) != 2 {
			t.Errorf("the failed call in the file: %s", a.body)
		}
	})
}

// TestRemovedCalls: if the retention has removed a call, the wallet shows that instead of a link, and so does the
// page of the call.
func TestRemovedCalls(t *testing.T) {
	t.Parallel()
	// Sessions end by the machine's clock, which is where the other one ends here.
	clock := storetest.NewClock(time.Now().UTC().AddDate(0, 0, -100-store.RetentionNotice))
	s := storetest.SQLite(t).OpenAs(t, store.Config{Now: clock.Now, RetentionMonths: 1})
	h := newHouse(t, s, clock, nil)
	v := h.join(t, "maya@example.com")
	result := h.NewID("file")
	call := store.CallID(result)
	err := h.Begin(t.Context(), store.NewCall{ID: call, ResultID: result, AccountID: h.mayas(t).ID, Operation: "pdf.create", Mode: "binary", RequestID: "req_1", Quote: 2000, Lease: acquire(t, h)})
	if err == nil {
		err = h.Settle(t.Context(), store.Settlement{CallID: call, Charge: 2000})
	}
	if err != nil {
		t.Fatal(err)
	}
	page := "/dashboard/documents/" + call
	v.sees(page, "pdf.create")
	if a := v.get("/dashboard/wallet"); !strings.Contains(a.body, `href="`+page+`"`) {
		t.Error("the wallet does not link the call")
	}

	clock.Advance(100 * 24 * time.Hour)
	for range store.RetentionNotice + 1 {
		if err := h.CloseMonths(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, task := range h.MaintenanceTasks() {
			if task.Name == "remove old months" {
				if err := task.Do(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		clock.Advance(24 * time.Hour)
	}
	v = h.visitor(t)
	v.post("/login", http.StatusSeeOther, url.Values{"email": {"maya@example.com"}, "password": {password}})
	if a := v.sees("/dashboard/wallet", "call · removed after 1 month", "$0.0020"); strings.Contains(a.body, page) {
		t.Error("the wallet links a call that was removed")
	}
	if a := v.get("/dashboard/wallet.csv"); !strings.Contains(a.body, "hold,-0.002000") || !strings.Contains(a.body, call) {
		t.Errorf("the ledger as a file lacks the call's hold: %q", a.body)
	}
	if a := v.get(page); a.status != http.StatusNotFound || !strings.Contains(a.body, "Calls are removed after 1 month.") {
		t.Errorf("the page of a removed call: got %d, %q", a.status, a.body)
	}
	if a := v.get("/dashboard/documents/" + store.CallID(h.NewID("file"))); a.status != http.StatusNotFound || strings.Contains(a.body, "removed") {
		t.Errorf("the page of a call that never was: got %d, %q", a.status, a.body)
	}
}

func TestDocuments(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.join(t, "maya@example.com")
		account := h.mayas(t)
		lease := acquire(t, h)
		var last string
		for i := range 25 {
			result := h.NewID("file")
			last = store.CallID(result)
			if err := h.Begin(t.Context(), store.NewCall{ID: last, ResultID: result, AccountID: account.ID, Operation: "pdf.create", Mode: "binary", RequestID: "req_1", Quote: 2000, Lease: lease}); err != nil {
				t.Fatal(err)
			}
			if i == 24 {
				err := h.Release(t.Context(), last, store.Failure{Code: "render_failed", Message: "The <b>page</b> broke."}, nil)
				if err != nil {
					t.Fatal(err)
				}
			}
			h.clock.Advance(time.Second)
		}
		first := v.sees("/dashboard/documents", "Failed", "not charged", "20 documents")
		next := regexp.MustCompile(`href="(/dashboard/documents\?cursor=[^"]*)" rel="next"`).FindStringSubmatch(first.body)
		if next == nil {
			t.Fatal("no second page is linked")
		}
		v.sees(next[1], "5 documents")
		v.sees("/dashboard/documents?status=failed", "View error of pdf.create", "render_failed", "Clear")
		v.sees("/dashboard/documents?operation=images.create", "No matches")
		v.sees("/dashboard/documents?q="+last, "View error of pdf.create")
		if page := v.sees("/dashboard/documents/"+last, "render_failed", "not charged"); strings.Contains(page.body, "<b>page</b>") {
			t.Error("the error's markup is shown as markup")
		}
		v.sees("/dashboard", "Overview", "Calls today", "Latest documents")
		if a := v.get("/dashboard/documents.csv"); strings.Count(a.body, "\n") != 26 {
			t.Errorf("the file has %d lines", strings.Count(a.body, "\n"))
		}
		mallory := h.join(t, "mallory@example.com")
		if a := mallory.get("/dashboard/documents/" + last); a.status != http.StatusNotFound {
			t.Errorf("another account's call: got status %d", a.status)
		}

		// A result has the name of its file while the file is stored.
		result := h.NewID("file")
		if err := h.Begin(t.Context(), store.NewCall{ID: store.CallID(result), ResultID: result, AccountID: account.ID, Operation: "pdf.create", Mode: "url", RequestID: "req_1", Quote: 2000, Lease: lease}); err != nil {
			t.Fatal(err)
		}
		file := &store.File{ID: result, BlobKey: result, Filename: "Invoice <7>.pdf", ContentType: "application/pdf", Size: 7, ExpiresAt: h.clock.Now().Add(time.Hour)}
		if err := h.Settle(t.Context(), store.Settlement{CallID: store.CallID(result), Charge: 2000, File: file}); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/dashboard", "/dashboard/documents", "/dashboard/documents/" + store.CallID(result)} {
			v.sees(path, "Invoice &lt;7&gt;.pdf", "pdf.create")
		}
		if a := v.get("/dashboard/documents"); !strings.Contains(a.body, `href="/dashboard/documents/`+store.CallID(result)+`/file"`) {
			t.Error("the file is not linked in the list")
		}
		if a := mallory.get("/dashboard/documents/" + store.CallID(result) + "/file"); a.status != http.StatusNotFound {
			t.Errorf("another account downloads the file: status %d", a.status)
		}
		if a := mallory.get("/dashboard/documents"); strings.Contains(a.body, "Invoice") {
			t.Error("another account sees the name of a file")
		}
		h.clock.Advance(2 * time.Hour)
		if a := v.get("/dashboard/documents"); strings.Contains(a.body, "Invoice") || strings.Contains(a.body, result) {
			t.Error("a file that has expired is named, or linked")
		}
	})
}

// acquire takes a lease for calls.
func acquire(t *testing.T, h *house) string {
	t.Helper()
	lease, err := h.Acquire(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lease.Close() })
	return lease.ID()
}

func TestMembersAndRoles(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		owner := h.join(t, "maya@example.com")
		if page := owner.sees("/dashboard/settings/members", "Members"); strings.Contains(textOf(page.body), "Actions") {
			t.Error("a list of one has a column of what can be done with others")
		}
		owner.post("/dashboard/settings/invites", http.StatusUnprocessableEntity, url.Values{"email": {"nonsense"}, "role": {"viewer"}})
		owner.post("/dashboard/settings/invites", http.StatusSeeOther, url.Values{"email": {"tom@example.com"}, "role": {"viewer"}})
		owner.sees("/dashboard/settings/members", "Actions", "Cancel invitation of tom@example.com")
		link := strings.TrimPrefix(h.mail.last(t, "tom@example.com").Link.URL, h.url)
		tom := h.visitor(t)
		tom.sees(link, "Join maya@example.com", "as viewer")
		tom.post(link, http.StatusSeeOther, url.Values{"name": {"Tom"}, "password": {password}})
		tom.sees("/dashboard/keys", "Keys")
		if a := tom.do(http.MethodPost, "/dashboard/keys", url.Values{"name": {"x"}}); a.status != http.StatusForbidden {
			t.Errorf("a viewer makes a key: got status %d", a.status)
		}
		person, err := h.UserByEmail(t.Context(), "tom@example.com")
		if err != nil {
			t.Fatal(err)
		}
		owner.sees("/dashboard/settings/members", "Actions", "Remove tom@example.com")
		if page := tom.sees("/dashboard/settings/members", "tom@example.com"); strings.Contains(textOf(page.body), "Actions") {
			t.Error("a viewer has a column of what only owners do")
		}
		owner.post("/dashboard/settings/members/"+person.ID+"/role", http.StatusSeeOther, url.Values{"role": {"developer"}})
		if a := tom.get("/dashboard"); a.status != http.StatusSeeOther {
			t.Errorf("a session from before the change of role: got status %d", a.status)
		}
		tom.post("/login", http.StatusSeeOther, url.Values{"email": {"tom@example.com"}, "password": {password}})
		tom.once("/dashboard/keys", url.Values{"name": {"x"}})
		owner.post("/dashboard/settings/members/"+person.ID+"/remove", http.StatusSeeOther, url.Values{})
		tom.post("/login", http.StatusSeeOther, url.Values{"email": {"tom@example.com"}, "password": {password}})
		if a := tom.get("/dashboard/keys"); a.status != http.StatusForbidden {
			t.Errorf("a removed member: got status %d", a.status)
		}
		self, err := h.UserByEmail(t.Context(), "maya@example.com")
		if err != nil {
			t.Fatal(err)
		}
		owner.post("/dashboard/settings/members/"+self.ID+"/remove", http.StatusSeeOther, url.Values{})
		owner.sees("/dashboard/settings/members", "must have at least one owner")
	})
}

func TestSettings(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.join(t, "maya@example.com")
		elsewhere := h.visitor(t)
		elsewhere.post("/login", http.StatusSeeOther, url.Values{"email": {"maya@example.com"}, "password": {password}})
		v.sees("/dashboard/settings/security", "Firefox on Linux", "203.0.113.40", "current session")
		v.post("/dashboard/settings/sessions/end", http.StatusSeeOther, url.Values{})
		if a := elsewhere.get("/dashboard"); a.status != http.StatusSeeOther {
			t.Errorf("an ended session: got status %d", a.status)
		}
		v.post("/dashboard/settings/password", http.StatusUnprocessableEntity, url.Values{"current": {"wrong"}, "password": {"a new password"}})
		v.post("/dashboard/settings/password", http.StatusSeeOther, url.Values{"current": {password}, "password": {"a new password"}})
		profile := url.Values{"account": {"Paper Lantern"}, "name": {"Maya"}, "email": {"new@example.com"}}
		if a := v.post("/dashboard/settings/profile", http.StatusOK, profile); !strings.Contains(a.body, "Change your email?") || !strings.Contains(a.body, `name="email" value="new@example.com"`) {
			t.Errorf("a change of the email without the password: %s", textOf(a.body))
		}
		profile.Set("password", "a new password")
		v.post("/dashboard/settings/profile", http.StatusSeeOther, profile)
		v.sees("/dashboard/settings", "Paper Lantern", "maya@example.com")
		v.sees("/dashboard/settings/audit", "Password changed")
		link := strings.TrimPrefix(h.mail.last(t, "new@example.com").Link.URL, h.url)
		if letter := h.mail.last(t, "maya@example.com"); !strings.Contains(letter.Subject, "Email change requested") {
			t.Errorf("the old address was sent %q", letter.Subject)
		}
		v.post(link, http.StatusSeeOther, url.Values{})
		v.sees("/dashboard/settings", "new@example.com")
		if a := v.get("/dashboard/settings/audit.csv"); a.status != http.StatusOK || !strings.Contains(a.body, "person.password") || a.header.Get("Content-Type") != "text/csv; charset=utf-8" {
			t.Errorf("the audit log as a file: %d, %q", a.status, a.body)
		}
	})
}

// pageAllows are the roles in an account that may open a page with a need; "operator" is an operator of the
// installation, who owns another account.
var pageAllows = map[string][]string{
	"logged in": {store.RoleOwner, store.RoleDeveloper, store.RoleBilling, store.RoleViewer, "operator"},
	"manages":   {store.RoleOwner, store.RoleDeveloper, "operator"},
	"pays":      {store.RoleOwner, store.RoleBilling, "operator"},
	"owns":      {store.RoleOwner, "operator"},
	"operates":  {"operator"},
}

// pathOf is an address of a page, of something that is not there.
func pathOf(page web.PageLine) string {
	return regexp.MustCompile(`\{[a-z]+\}`).ReplaceAllString(page.Pattern, "key_unknown")
}

// TestEveryPageChecksItsRole walks the table of pages as a visitor, an operator and a member in each role: none gets
// further than a page allows.
func TestEveryPageChecksItsRole(t *testing.T) {
	h := sqliteHouse(t, nil)
	h.join(t, "maya@example.com")
	account := h.mayas(t)
	people := map[string]store.User{}
	for _, role := range store.Roles() {
		person, err := h.CreateUser(t.Context(), store.NewUser{Email: role + "@example.com", Verified: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.AddMember(t.Context(), account.ID, person.ID, role); err != nil {
			t.Fatal(err)
		}
		people[role] = person
	}
	for _, page := range h.web.Pages() {
		path := pathOf(page)
		form := url.Values{}
		if page.Method == http.MethodGet {
			form = nil
		}
		nobody := h.visitor(t).do(page.Method, path, form)
		if page.Need == "linked" {
			if nobody.status != http.StatusNotFound {
				t.Errorf("%s %s: got status %d without a link", page.Method, path, nobody.status)
			}
			continue
		}
		if page.Need == "clients" {
			want := http.StatusBadRequest
			if page.Method == http.MethodGet {
				want = http.StatusOK
			}
			if nobody.status != want || nobody.header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %s: a program got status %d, %q", page.Method, path, nobody.status, nobody.header.Get("Content-Type"))
			}
			continue
		}
		if page.Need == "anybody" || page.Need == "everyone" {
			if nobody.status == http.StatusForbidden {
				t.Errorf("%s %s: nobody got status %d", page.Method, path, nobody.status)
			}
			continue
		}
		if to := nobody.header.Get("Location"); nobody.status != http.StatusSeeOther || !strings.HasPrefix(to, "/login?next=") {
			t.Errorf("%s %s: nobody got status %d, %q", page.Method, path, nobody.status, to)
		}
	}
	members := map[string]*visitor{"operator": h.operator(t)}
	for role, person := range people {
		members[role] = h.signedIn(t, person)
	}
	for _, page := range h.web.Pages() {
		allowed, known := pageAllows[page.Need]
		if page.Need == "anybody" || page.Need == "everyone" || page.Need == "clients" || page.Need == "linked" { // what links permit: TestLinksPermitOnlyTheirCapabilities
			continue
		}
		if !known {
			t.Errorf("%s %s needs %q, which nobody has said the roles of", page.Method, page.Pattern, page.Need)
		}
		path := pathOf(page)
		for role, member := range members {
			form := url.Values{}
			if page.Method == http.MethodGet {
				form = nil
			}
			got := member.do(page.Method, path, form)
			if may := slices.Contains(allowed, role); may == (got.status == http.StatusForbidden) || got.status >= 500 {
				t.Errorf("%s %s needs %q: a person who is %s got status %d", page.Method, path, page.Need, role, got.status)
			}
			if to := got.header.Get("Location"); strings.HasPrefix(to, "/login") {
				members[role] = h.signedIn(t, people[role]) // a form has ended the session
			}
		}
	}
}

// TestFormsOfOtherSitesAreRefused sends every form as another site's page would.
func TestFormsOfOtherSitesAreRefused(t *testing.T) {
	h := sqliteHouse(t, nil)
	v := h.join(t, "maya@example.com")
	for _, page := range h.web.Pages() {
		if page.Method != http.MethodPost {
			continue
		}
		path := pathOf(page)
		for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
			v.header = http.Header{name: {value}}
			if got := v.do(page.Method, path, url.Values{}); got.status != http.StatusForbidden || !strings.Contains(got.body, "another site") && !strings.Contains(got.body, "Form sent from another site") {
				t.Errorf("%s with %s %s: got status %d: %s", path, name, value, got.status, textOf(got.body))
			}
		}
	}
}

// TestMissingPagesShowAPage: an address that was mistyped, and a method
// that an address does not take.
func TestMissingPagesShowAPage(t *testing.T) {
	h := sqliteHouse(t, nil)
	v := h.visitor(t)
	for _, q := range []struct {
		method, path string
		status       int
		allow, near  string
	}{
		{http.MethodGet, "/dashbord/keys", http.StatusNotFound, "", `<a href="/dashboard/keys"`},
		{http.MethodGet, "/opnapi.json", http.StatusNotFound, "", `<a href="/openapi.json"`},
		{http.MethodGet, "/nothing/of/the/kind/at/all", http.StatusNotFound, "", ""},
		{http.MethodGet, "/dashboard/settings/membres", http.StatusNotFound, "", `<a href="/dashboard/settings/members"`},
		{http.MethodDelete, "/dashboard/keys", http.StatusMethodNotAllowed, "GET, HEAD, POST", ""},
		{http.MethodPost, "/dashboard", http.StatusMethodNotAllowed, "GET, HEAD", ""},
		{http.MethodGet, "/logout", http.StatusMethodNotAllowed, "POST", ""},
		{http.MethodHead, "/login", http.StatusOK, "", ""},
	} {
		got := v.do(q.method, q.path, nil)
		if got.status != q.status || got.header.Get("Allow") != q.allow || got.header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s %s: status %d, Allow %q, %q", q.method, q.path, got.status, got.header.Get("Allow"), got.header.Get("Content-Type"))
		}
		if suggests := strings.Contains(got.body, "Did you mean"); suggests != (q.near != "") || !strings.Contains(got.body, q.near) {
			t.Errorf("%s %s: want the suggestion %q in %s", q.method, q.path, q.near, textOf(got.body))
		}
	}
}

// TestAPageThatPanicsIsStillAPage lets the check of an address panic.
func TestAPageThatPanicsIsStillAPage(t *testing.T) {
	h := sqliteHouse(t, func(c *web.Config) { c.Connections.CheckURL = func(string) error { panic("on purpose") } })
	got := h.join(t, "maya@example.com").do(http.MethodPost, "/dashboard/webhooks", url.Values{"url": {"https://example.com/"}, "events": {"job.completed"}})
	if got.status != http.StatusInternalServerError || !strings.Contains(got.body, "Server error") || strings.Contains(got.body, "on purpose") {
		t.Errorf("status %d: %s", got.status, textOf(got.body))
	}
}

func TestPagesCarryTheirHeaders(t *testing.T) {
	h := sqliteHouse(t, nil)
	v := h.join(t, "maya@example.com")
	for _, path := range []string{"/login", "/dashboard", "/dashboard/keys", "/nothing-here"} {
		a := v.get(path)
		for name, want := range map[string]string{
			"Cache-Control": "no-store", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
		} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		policy := a.header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "'nonce-"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy %q lacks %s", path, policy, part)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(a.body, " style=\"") || strings.Contains(a.body, "<style") || strings.Contains(a.body, "onclick") {
			t.Errorf("%s has style or script of its own, or a policy that allows them", path)
		}
	}
	if a := v.get("/nothing-here"); a.status != http.StatusNotFound || !strings.Contains(a.body, "Page not found") {
		t.Errorf("got status %d", a.status)
	}
}

// TestTextsAreShownAsTexts puts markup into every field that a user can fill, and looks for it on the pages.
func TestTextsAreShownAsTexts(t *testing.T) {
	h := sqliteHouse(t, nil)
	v := h.join(t, "maya@example.com")
	const attack = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	v.once("/dashboard/keys", url.Values{"name": {attack}})
	v.post("/dashboard/settings/profile", http.StatusSeeOther, url.Values{"account": {attack}, "name": {attack}, "email": {"maya@example.com"}})
	v.post("/dashboard/settings/profile", http.StatusUnprocessableEntity, url.Values{"email": {attack}})
	for _, path := range []string{"/dashboard", "/dashboard/keys", "/dashboard/settings", "/dashboard/documents?q=" + url.QueryEscape(attack), "/login?next=" + url.QueryEscape(attack)} {
		if a := v.get(path); strings.Contains(a.body, "<script>alert") || strings.Contains(a.body, "<img src=x") {
			t.Errorf("%s shows markup that a person typed", path)
		}
	}
}

func TestAccountsAreApart(t *testing.T) {
	h := sqliteHouse(t, nil)
	h.join(t, "maya@example.com")
	mallory := h.join(t, "mallory@example.com")
	key, _, err := h.CreateKey(t.Context(), store.NewKey{AccountID: h.mayas(t).ID, Name: "hers"})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/dashboard/keys/" + key.ID + "/revoke", "/dashboard/keys/" + key.ID + "/roll"} {
		if a := mallory.get(path); a.status != http.StatusNotFound {
			t.Errorf("GET %s: got status %d", path, a.status)
		}
		if a := mallory.do(http.MethodPost, path, url.Values{"confirm": {"hers"}}); a.status != http.StatusNotFound {
			t.Errorf("POST %s: got status %d", path, a.status)
		}
	}
}

func TestDocumentsShowStepsAndStoredInput(t *testing.T) {
	var refused error
	var ran string
	h := sqliteHouse(t, func(c *web.Config) {
		c.Hooks.Calls = &fakeCalls{
			Calls: c.Calls, input: []byte(`{"html":"<b>sent</b>","file":"` + strings.Repeat("A", 9000) + `"}`),
			again: func(callID string) (string, error) {
				ran = callID
				return callID, refused
			},
		}
	})
	v := h.join(t, "maya@example.com")
	result := h.NewID("file")
	call := store.CallID(result)
	if err := h.Begin(t.Context(), store.NewCall{ID: call, ResultID: result, AccountID: h.mayas(t).ID, Operation: "pdf.create", Mode: "binary", RequestID: "r", Quote: 2000, Lease: acquire(t, h)}); err != nil {
		t.Fatal(err)
	}
	if err := h.Settle(t.Context(), store.Settlement{CallID: call, Charge: 2000, Duration: 2 * time.Second, Steps: "queue 1500,load 1250000,unheard 400"}); err != nil {
		t.Fatal(err)
	}
	path := "/dashboard/documents/" + call
	page := v.sees(path, "Time per stage", "Page load 1.25 s", "Queue 1 ms", "unheard 400 µs", "Stored for 7 days", "Run again for $0.0020", "(9.0 KB)")
	if strings.Contains(page.body, "<b>sent</b>") || strings.Contains(page.body, strings.Repeat("A", 5000)) {
		t.Error("the input is shown as markup, or whole")
	}
	if a := v.post(path+"/again", http.StatusSeeOther, url.Values{}); a.header.Get("Location") != path || ran != call {
		t.Errorf("running again led to %q, of %q", a.header.Get("Location"), ran)
	}
	refused = &wire.Error{Code: wire.PaymentRequired, Message: "The balance is too small."}
	v.post(path+"/again", http.StatusSeeOther, url.Values{})
	v.sees(path, "Rerun failed: The balance is too small.")
	if a := h.join(t, "mallory@example.com").do(http.MethodPost, path+"/again", url.Values{}); a.status != http.StatusNotFound {
		t.Errorf("another account's call: got status %d", a.status)
	}
	v.post("/dashboard/settings/kept", http.StatusSeeOther, url.Values{"inputs": {"on"}})
	if page := v.sees("/dashboard/settings/data", "are now stored for 7 days"); !h.mayas(t).KeepInputs || !strings.Contains(page.body, `name="inputs" value="on" checked`) {
		t.Error("the inputs are not kept")
	}
	v.post("/dashboard/settings/kept", http.StatusSeeOther, url.Values{})
	if h.mayas(t).KeepInputs {
		t.Error("the inputs are still kept")
	}
}

// TestKeyScopes creates keys by the presets of the form, which come from the list of operations.
func TestKeyScopes(t *testing.T) {
	h := sqliteHouse(t, func(c *web.Config) {
		var rows []schema.Definition[*operation.Deps]
		for i, o := range c.Table.All() {
			if slices.Contains([]string{"pdf.create", "images.create", "convert.create", "pdf.merge", "pdf.text"}, o.Name) {
				rows = append(rows, operation.Rows[i])
			}
		}
		var err error
		if c.Table, err = schema.NewTable(rows); err != nil {
			t.Fatal(err)
		}
	})
	v := h.join(t, "maya@example.com")
	form := v.sees("/dashboard/keys/new", "All operations", "Render only", "PDF tools", "Read only", "Selected operations", "Work on PDFs pdf.merge pdf.text", "Convert convert.create")
	if strings.Contains(textOf(form.body), "Barcodes") {
		t.Error("a group without operations is listed")
	}
	for scope, want := range map[string][]string{
		"all": nil, "render": {"pdf.create", "images.create"}, "tools": {"pdf.merge", "pdf.text"}, "read": {"pdf.text"}, "chosen": {"convert.create"}, "": {"convert.create"},
	} {
		v.once("/dashboard/keys", url.Values{"name": {"by " + scope}, "scope": {scope}, "operations": {"convert.create"}})
		keys, err := h.Keys(t.Context(), h.mayas(t).ID)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(keys, func(k store.Key) bool { return k.Name == strings.TrimSpace("by "+scope) })
		if at < 0 || !slices.Equal(keys[at].Operations, want) {
			t.Errorf("the scope %q makes %+v, want %q", scope, keys, want)
		}
	}
	for _, wrong := range []url.Values{{"scope": {"chosen"}}, {"scope": {"root"}}, {"scope": {"chosen"}, "operations": {"pdf.burn"}}} {
		wrong.Set("name", "wrong")
		v.post("/dashboard/keys", http.StatusUnprocessableEntity, wrong)
	}
}

// TestSignUpWithoutEmail: a server without email gives one explanation, at sign-up, at login and for a lost password.
func TestSignUpWithoutEmail(t *testing.T) {
	h := sqliteHouse(t, func(c *web.Config) { c.Mail = nil })
	v := h.visitor(t)
	signUp := v.post("/signup", http.StatusOK, url.Values{"email": {"maya@example.com"}, "password": {password}})
	again := v.post("/signup", http.StatusOK, url.Values{"email": {"maya@example.com"}, "password": {password}})
	lost := v.sees("/password/reset")
	asked := v.post("/password/reset", http.StatusOK, url.Values{"email": {"it's@example.com"}})
	v.post("/login", http.StatusSeeOther, url.Values{"email": {"maya@example.com"}, "password": {password}})
	waiting := v.get("/dashboard")
	if waiting.status != http.StatusForbidden || !strings.Contains(waiting.body, "Log out") {
		t.Errorf("the dashboard before the confirmation: got status %d", waiting.status)
	}
	for what, page := range map[string]struct{ body, command string }{
		"sign-up": {signUp.body, "maya@example.com"}, "again": {again.body, "maya@example.com"}, "login": {waiting.body, "maya@example.com"},
		"password": {lost.body, "YOUR_EMAIL"}, "password asked": {asked.body, `&#39;it&#39;\&#39;&#39;s@example.com&#39;`},
	} {
		if !strings.Contains(page.body, "Ask the operator for a link") || !strings.Contains(page.body, `data-copy="relaypdf people link `+page.command+`"`) {
			t.Errorf("%s: no way to a link: %s", what, textOf(page.body))
		}
		if text := textOf(page.body); strings.Contains(text, "Check your email") || strings.Contains(text, "was sent") || strings.Contains(text, "You were removed") {
			t.Errorf("%s: it says something else, too: %s", what, text)
		}
	}
}

// TestPasswordsCanBeShown: each field of a password has the button that shows it.
func TestPasswordsCanBeShown(t *testing.T) {
	h := sqliteHouse(t, nil)
	owner := h.join(t, "maya@example.com")
	owner.post("/dashboard/settings/invites", http.StatusSeeOther, url.Values{"email": {"tom@example.com"}, "role": {"viewer"}})
	invite := h.link(t, "tom@example.com")
	nobody := h.visitor(t)
	nobody.post("/password/reset", http.StatusOK, url.Values{"email": {"maya@example.com"}})
	for who, paths := range map[*visitor][]string{
		nobody: {"/login", "/signup", invite, h.link(t, "maya@example.com")},
		owner:  {"/dashboard/settings/security", "/dashboard/settings/factor"},
	} {
		for _, path := range paths {
			page := who.sees(path)
			fields, buttons := strings.Count(page.body, `type="password"`), strings.Count(page.body, "data-reveal hidden")
			if fields == 0 || fields != buttons {
				t.Errorf("%s: %d fields and %d buttons", path, fields, buttons)
			}
		}
	}
}

// TestDocumentsShowLinks shows how many downloads of a link are left. Those of members do not count.
func TestDocumentsShowLinks(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.join(t, "maya@example.com")
		account, result := h.mayas(t), h.NewID("file")
		id := store.CallID(result)
		now := h.clock.Now()
		file := &store.File{ID: result, BlobKey: result, Filename: "offer.pdf", ContentType: "application/pdf", Size: 7, ExpiresAt: now.Add(30 * 24 * time.Hour)}
		_, err := h.Blobs().Put(t.Context(), result, strings.NewReader("content"))
		if err == nil {
			err = h.Begin(t.Context(), store.NewCall{ID: id, ResultID: result, AccountID: account.ID, Operation: "pdf.create", Mode: "url", RequestID: "req_1", Quote: 2000, Lease: acquire(t, h)})
		}
		if err == nil {
			err = h.AddLink(t.Context(), store.Link{FileID: result, AccountID: account.ID, MaxDownloads: 2, CreatedAt: now, ExpiresAt: file.ExpiresAt})
		}
		if err == nil {
			err = h.Settle(t.Context(), store.Settlement{CallID: id, Charge: 2000, File: file})
		}
		if err != nil {
			t.Fatal(err)
		}
		path := "/dashboard/documents/" + id
		for left := 2; left > 0; left-- {
			v.sees(path, "anyone with the link can download it until "+file.ExpiresAt.UTC().Format("Jan 2, 15:04 UTC"), fmt.Sprintf("%d of 2 downloads left", left), "Copy link")
			if got := v.get(path + "/file"); got.body != "content" || !strings.Contains(got.header.Get("Content-Disposition"), "offer.pdf") {
				t.Errorf("a member downloads %d %q, %v", got.status, got.body, got.header)
			}
			if err := h.TakeDownload(t.Context(), result); err != nil {
				t.Fatal(err)
			}
		}
		if page := v.sees(path, "used up after 2 downloads; members can download the file until"); strings.Contains(page.body, "Copy link") {
			t.Error("the used link can be copied")
		}
		if got := v.get(path + "/file"); got.body != "content" {
			t.Errorf("a member downloads %d %q", got.status, got.body)
		}
	})
}
