package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/input"
	"github.com/go-rod/rod/lib/proto"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/store"
)

// The pages in a real browser, with the whole service behind them. The tests find controls by the words that a user
// would look for.

// pagePatience limits the wait for content of a page, on a machine that is busy with other work.
const pagePatience = 5 * time.Minute

// unhurried leaves documents more time than a machine that does nothing else needs, and the LibreOffice processes
// to the first document that needs one.
var unhurried = app.Hooks{Cold: true, DrawTime: pagePatience, Render: func(c *render.Config) { c.Times.Start, c.Times.Job = pagePatience, 2*time.Minute }}

// startPages starts an App with open sign-up, after changes of its settings.
func startPages(t *testing.T, changes ...func(*app.Config)) *app.App {
	t.Helper()
	if testing.Short() {
		t.Skip("starts the whole program and a browser")
	}
	dir := t.TempDir()
	config := loadConfig(t, []string{"--data-dir=" + dir, "--listen=127.0.0.1:0", "--render-slots=1"}, "RELAYPDF_METRICS_LISTEN=")
	for _, change := range changes {
		change(&config)
	}
	return startShared(t, config)
}

// startShared starts an App that ends with the test, and renders with the processes of other tests. It has no log.
func startShared(t *testing.T, config app.Config) *app.App {
	t.Helper()
	hooks := unhurried
	hooks.Renderer = sharedRenderer(t)
	return startHooked(t, config, io.Discard, hooks)
}

// startApp starts an App that ends with the test, and shares nothing.
func startApp(t *testing.T, config app.Config, log io.Writer) *app.App {
	t.Helper()
	return startHooked(t, config, log, unhurried)
}

func startHooked(t *testing.T, config app.Config, log io.Writer, hooks app.Hooks) *app.App {
	t.Helper()
	program := plainProgram(t)
	hooks.Render = func(c *render.Config) {
		unhurried.Render(c)
		c.Engine = []string{program, "engine"}
	}
	app, err := app.New(t.Context(), config, app.NewLogger(config.LogLevel, log), hooks)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- app.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-served, app.Close()); err != nil {
			t.Error(err)
		}
	})
	return app
}

// screen is a browser window with its own cookies, which records forbidden actions of pages.
type screen struct {
	t    *testing.T
	app  *app.App
	page *rod.Page
	// plain is a window whose pages run no scripts. Functions of rod that wait for a promise in the page never return
	// there.
	plain  bool
	mu     sync.Mutex
	wrongs []string
	also   string // another host that pages may lead to
}

// openScreen opens a window.
func openScreen(t *testing.T, browser *rod.Browser, app *app.App) *screen {
	t.Helper()
	private, err := browser.Incognito()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := private.Close(); err != nil {
			t.Errorf("close the window: %v", err)
		}
	})
	page, err := private.Page(proto.TargetCreateTarget{URL: "about:blank"})
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, app: app, page: page.Timeout(pagePatience * 3)}
	for _, enable := range []proto.Request{proto.LogEnable{}, proto.RuntimeEnable{}, proto.NetworkEnable{}} {
		if _, err := page.Call(t.Context(), string(page.SessionID), enable.ProtoReq(), enable); err != nil {
			t.Fatal(err)
		}
	}
	s.width(1280)
	// Checks must not see a transition from one colour to another.
	calm := proto.EmulationSetEmulatedMedia{Features: []*proto.EmulationMediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}}
	if err := calm.Call(s.page); err != nil {
		t.Fatal(err)
	}
	go page.Context(t.Context()).EachEvent(
		func(e *proto.LogEntryAdded) {
			if e.Entry.Level == proto.LogLogEntryLevelError && !strings.Contains(e.Entry.Text, "the server responded with a status of 4") {
				s.wrong("the console says %s (%s)", e.Entry.Text, e.Entry.URL)
			}
		},
		func(e *proto.RuntimeExceptionThrown) {
			s.wrong("a script failed: %s", cmp.Or(e.ExceptionDetails.Exception.Description, e.ExceptionDetails.Text))
		},
		func(e *proto.NetworkRequestWillBeSent) {
			to, err := url.Parse(e.Request.URL)
			if base, _ := url.Parse(app.BaseURL()); err != nil || to.Host != base.Host && !s.mayLeadTo(to.Host) && to.Scheme != "data" && to.Scheme != "about" {
				s.wrong("a page asks %s", e.Request.URL)
			}
		},
	)()
	return s
}

// leadsTo lets pages lead to another host.
func (s *screen) leadsTo(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.also = host
}

func (s *screen) mayLeadTo(host string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return host == s.also
}

func (s *screen) wrong(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrongs = append(s.wrongs, fmt.Sprintf(format, args...))
}

// calm fails the test if a page did something forbidden.
func (s *screen) calm(where string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, wrong := range s.wrongs {
		s.t.Errorf("%s: %s", where, wrong)
	}
	s.wrongs = nil
}

// open goes to a page of the service.
func (s *screen) open(path string) {
	s.t.Helper()
	if strings.HasPrefix(path, "/") {
		path = s.app.BaseURL() + path
	}
	wait := s.page.Timeout(pagePatience).WaitNavigation(proto.PageLifecycleEventNameLoad)
	if err := s.page.Navigate(path); err != nil {
		s.t.Fatalf("open %s: %v", path, err)
	}
	wait()
}

// fill types into the field with a name.
func (s *screen) fill(name, text string) {
	s.t.Helper()
	s.fillWhere(`[name="`+name+`"]:not([type=hidden])`, text)
}

func (s *screen) fillWhere(selector, text string) {
	s.t.Helper()
	field, err := s.page.Timeout(pagePatience).Element(selector)
	switch {
	case err != nil:
	case s.plain:
		if err = (proto.DOMFocus{ObjectID: field.Object.ObjectID}).Call(s.page); err == nil {
			err = s.page.InsertText(text)
		}
	default:
		err = errors.Join(field.SelectAllText(), field.Input(text))
	}
	if err != nil {
		s.t.Fatalf("fill in %s: %v; the page says %.500s", selector, err, s.text())
	}
}

// press presses the button with the words, and waits for the result.
func (s *screen) press(words string) {
	s.t.Helper()
	s.pressWhere("button[type=submit]", "^\\s*"+regexp.QuoteMeta(words))
}

func (s *screen) pressWhere(selector, words string) {
	s.t.Helper()
	button, err := s.page.Timeout(pagePatience).ElementR(selector, words)
	if err != nil {
		s.t.Fatalf("no button %q: %v; the page says %.500s", words, err, s.text())
	}
	wait := s.page.Timeout(pagePatience).WaitNavigation(proto.PageLifecycleEventNameLoad)
	if s.plain {
		if err = (proto.DOMFocus{ObjectID: button.Object.ObjectID}).Call(s.page); err == nil {
			err = s.page.Keyboard.Type(input.Enter)
		}
	} else {
		err = button.Click(proto.InputMouseButtonLeft, 1)
	}
	if err != nil {
		s.t.Fatalf("press %q: %v", words, err)
	}
	wait()
}

// text returns the visible text of the page.
func (s *screen) text() string {
	body, err := s.page.Timeout(pagePatience).Element("body")
	if err != nil {
		return err.Error()
	}
	text, err := body.Text()
	if err != nil {
		return err.Error()
	}
	return text
}

// sees waits until the page contains the words.
func (s *screen) sees(words string) {
	s.t.Helper()
	for deadline := time.Now().Add(pagePatience); ; <-time.After(100 * time.Millisecond) {
		text := s.text()
		if strings.Contains(text, words) {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the page never says %q, but %.1500s", words, text)
		}
	}
}

// signIn opens a link as `relaypdf users link` prints it.
func (s *screen) signIn(email string) {
	s.t.Helper()
	link := mustRun(s.t, "people", "link", email, "--data-dir="+s.app.Config.DataDir, "--base-url="+s.app.BaseURL())
	s.open(strings.TrimSpace(link))
	s.press("Log in")
}

// join signs a user up, who then opens a link.
func (s *screen) join(email string) {
	s.t.Helper()
	s.open("/signup")
	s.fill("name", "Maya Lind")
	s.fill("email", email)
	s.fill("password", "correct horse battery")
	s.press("Create account")
	s.signIn(email)
}

// shell runs a line that a page shows, unchanged, and returns its output.
func shell(t *testing.T, line string) string {
	t.Helper()
	out, err := runs(t, "", t.TempDir(), "sh", "-c", line)
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return out
}

// TestFromSignUpToTheFirstDocument signs up, makes a key, runs the line that the
// page shows, and sees the document appear; then an operator suspends the
// account, and the same line is refused.
func TestFromSignUpToTheFirstDocument(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPages(t), openBrowser(t)
	maya := openScreen(t, browser, app)
	maya.join("maya@example.com")
	maya.sees("Welcome, Maya")
	maya.press("Create key")
	maya.sees("Run this command in a terminal.")
	code, err := maya.page.Element("figure.code pre")
	if err != nil {
		t.Fatal(err)
	}
	line, err := code.Text()
	if err != nil || !strings.Contains(line, "pdf_live_") {
		t.Fatalf("the line is %q, %v", line, err)
	}
	stored := regexp.MustCompile(`"url":"([^"]+)"`)
	link := stored.FindStringSubmatch(shell(t, line))
	if link == nil {
		t.Fatalf("%s returns no URL", line)
	}
	maya.sees("Your first document took") // without a reload
	maya.holds("its page is shown", `document.querySelector(".paper img")?.naturalWidth > 200`)
	maya.lookAt("first document")
	if _, file := fetch(t, link[1]); !bytes.HasPrefix(file, []byte("%PDF-")) {
		t.Errorf("%s is %.300q", link[1], file)
	}
	maya.follow("View details")
	maya.sees("Layout and print")
	maya.sees("Completed")
	maya.open("/dashboard/documents")
	maya.sees("pdf.create")

	account, err := app.Store.AccountByEmail(t.Context(), "maya@example.com")
	if err != nil {
		t.Fatal(err)
	}
	lena, err := app.Store.CreateUser(t.Context(), store.NewUser{Email: "lena@ops.example", Verified: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Store.SetOperator(t.Context(), lena.ID, true); err != nil {
		t.Fatal(err)
	}
	operator := openScreen(t, browser, app)
	operator.signIn("lena@ops.example")
	operator.open("/admin?q=maya")
	operator.sees("maya@example.com")
	operator.open("/admin/accounts/" + account.ID)
	operator.fill("reason", "Phishing kit; see ticket 4418.")
	operator.press("Suspend account")
	operator.sees("Lift suspension")
	if answer := shell(t, line); !strings.Contains(answer, "account_suspended") {
		t.Errorf("a suspended account's key gets %.300q", answer)
	}
	operator.fill("reason", "Resolved.")
	operator.press("Lift suspension")
	operator.sees("reactivated")
	if answer := shell(t, line); !stored.MatchString(answer) {
		t.Errorf("after the suspension the line returns %.300q", answer)
	}
	lookAtPages(t, app, browser, account.ID)
	maya.calm("the owner's pages")
	operator.calm("the operator's pages")
}

// lookAtPages checks every page without an ID in its URL with axe, in both themes, and at the width of a phone. It
// takes screenshots if SCREENSHOTS names a folder.
func lookAtPages(t *testing.T, app *app.App, browser *rod.Browser, accountID string) {
	t.Helper()
	owner, operator, nobody := openScreen(t, browser, app), openScreen(t, browser, app), openScreen(t, browser, app)
	owner.signIn("maya@example.com")
	operator.signIn("lena@ops.example")
	call, err := app.Store.Calls(t.Context(), store.CallFilter{AccountID: accountID})
	if err != nil || len(call.Items) == 0 {
		t.Fatalf("got %+v, %v", call, err)
	}
	keys, err := app.Store.Keys(t.Context(), accountID)
	if err != nil || len(keys) == 0 {
		t.Fatalf("got %+v, %v", keys, err)
	}
	template, err := app.Store.CreateTemplate(t.Context(), store.NewTemplate{
		AccountID: accountID, Slug: "letter", Name: "Letter", Category: "letter",
		Content: store.TemplateContent{HTML: "<h1>{{title}}</h1><p>{{text}}</p>", SampleData: json.RawMessage(`{"title":"A letter"}`), Options: json.RawMessage(`{"format":"A4"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Store.PublishTemplate(t.Context(), accountID, template.ID, 0, "First", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := app.Store.PutPartial(t.Context(), accountID, "sign", "<hr><p>{{name}}</p>"); err != nil {
		t.Fatal(err)
	}
	letter := "/dashboard/templates/" + template.ID
	lookAtTheDoor(t, app, nobody)
	for viewer, paths := range map[*screen][]string{
		nobody: {"/login", "/signup", "/password/reset", "/nothing-here"},
		owner: {
			"/dashboard", "/dashboard/playground", "/dashboard/playground/pdf_create", "/dashboard/playground/pdf_stamp",
			"/dashboard/documents", "/dashboard/documents/" + call.Items[0].ID, "/dashboard/webhooks", "/dashboard/webhooks/new", "/dashboard/deliveries", "/dashboard/requests", "/dashboard/usage",
			"/dashboard/keys", "/dashboard/keys/new", "/dashboard/keys/" + keys[0].ID + "/revoke", "/dashboard/keys/" + keys[0].ID + "/roll",
			"/dashboard/wallet", "/dashboard/settings", "/dashboard/settings/security", "/dashboard/settings/members", "/dashboard/settings/data", "/dashboard/settings/audit", "/dashboard/apps", "/dashboard/settings/factor", "/dashboard/settings/factor/off",
			"/dashboard/templates", "/dashboard/templates?q=nothing-has-this", "/dashboard/templates/new", "/dashboard/templates/gallery", "/dashboard/templates/import",
			letter, letter + "/versions", letter + "/versions/1", letter + "/publish", letter + "/settings",
			"/dashboard/templates/partials", "/dashboard/templates/partials/new", "/dashboard/templates/partials/sign", "/dashboard/templates/partials/sign/delete",
		},
		operator: {
			"/dashboard", "/admin", "/admin?q=nobody-has-this", "/admin/accounts/" + accountID, "/admin/engine", "/admin/jobs", "/admin/jobs?q=" + call.Items[0].ID,
			"/admin/deliveries", "/admin/edge", "/admin/settings", "/admin/audit",
		},
	} {
		for _, path := range paths {
			viewer.open(path)
			if !strings.Contains(path, "playground") {
				viewer.weigh(path)
			}
			viewer.lookAt(path)
			viewer.calm(path)
		}
	}
}

// lookAtTheDoor does so with the pages that links of emails open, and with the one that asks for a second factor.
func lookAtTheDoor(t *testing.T, app *app.App, s *screen) {
	t.Helper()
	people := app.Store
	tom, err := people.CreateUser(t.Context(), store.NewUser{Email: "tom@example.com", Verified: true})
	undo := ""
	if err == nil {
		err = people.ChangeCredentials(t.Context(), tom.ID, store.CredentialChange{
			Factor: &store.Factor{Sealed: []byte("sealed")}, BuildMail: func(_ store.User, secret string) ([]store.QueuedEmail, error) { undo = secret; return nil, nil },
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	look := func(path string) {
		t.Helper()
		s.weigh(path)
		s.lookAt(path)
		s.calm(path)
	}
	s.signIn(tom.Email)
	s.sees("Enter your code")
	look("/login/code")
	s.open("/undo?token=" + undo)
	look("/undo")
	for path, purpose := range map[string]string{"/verify": store.TokenVerify, "/password/new": store.TokenReset} {
		secret, err := people.NewToken(t.Context(), store.Token{Purpose: purpose, PersonID: tom.ID, ExpiresAt: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		s.open(path + "?token=" + secret)
		look(path)
	}
}

// maxBytes is the maximum compressed size of a first visit: the page with its styles, scripts and fonts.
const maxBytes = 100_000

// weigh checks the size of the files that the open page has fetched, cached or not. Customers' own images do not
// count, and the editor has its own limits.
func (s *screen) weigh(path string) {
	s.t.Helper()
	found, err := s.page.Eval(`async () => {
		await document.fonts.ready;
		const all = performance.getEntriesByType("resource").concat(performance.getEntriesByType("navigation")).filter(e => e.initiatorType !== "img" && !e.name.includes("/static/editor."));
		return { bytes: all.reduce((sum, e) => sum + e.encodedBodySize, 0), of: all.map(e => new URL(e.name).pathname + " " + e.encodedBodySize).join(", "),
			style: all.some(e => e.name.includes("/static/app.") && e.encodedBodySize > 0) };
	}`)
	if err != nil {
		s.t.Fatalf("%s: %v", path, err)
	}
	if bytes := found.Value.Get("bytes").Int(); bytes > maxBytes || !found.Value.Get("style").Bool() {
		s.t.Errorf("%s fetches %d bytes, want its style and at most %d: %s", path, bytes, maxBytes, found.Value.Get("of").Str())
	}
}

// lookAt checks the open page: its first theme, the colours of the second, and the width of a phone.
func (s *screen) lookAt(name string) {
	s.t.Helper()
	axe := axeSource(s.t)
	for _, theme := range []string{"light", "dark"} {
		s.look(name, theme, axe)
	}
	s.width(1280)
}

func axeSource(t *testing.T) string {
	t.Helper()
	axe, err := os.ReadFile(filepath.Join("..", "..", "..", ".ci", "node", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatalf("axe is not there: %v; make setup installs it", err)
	}
	return string(axe)
}

// look checks the page that is open in a theme.
func (s *screen) look(path, theme, axe string) {
	s.t.Helper()
	name := strings.Trim(regexp.MustCompile(`[^a-z]+`).ReplaceAllString(regexp.MustCompile(`(call|key|acc)_[0-9a-z]+|[0-9a-f]{8}-[0-9a-f-]{27}`).ReplaceAllString(path, "one"), "-"), "-")
	s.width(1440)
	if _, err := s.page.Eval(`theme => { document.documentElement.dataset.theme = theme }`, theme); err != nil {
		s.t.Fatal(err)
	}
	s.picture(name + "-" + theme)
	if theme == "dark" { // The dark page differs only in its colours: see TestThemesAreColours.
		s.obeys(path+", "+theme, axe, coloursOnly)
		return
	}
	s.obeys(path+", "+theme, axe, allRules)
	s.width(360)
	s.fits(path + " on a telephone")
	s.picture(name + "-phone")
}

// fits fails the test where the page that is open is wider than its window.
func (s *screen) fits(where string) {
	s.t.Helper()
	wide, err := s.page.Eval(`() => document.documentElement.scrollWidth - document.documentElement.clientWidth`)
	if err != nil {
		s.t.Fatal(err)
	}
	if wide.Value.Int() > 0 {
		s.t.Errorf("%s: the page is %d pixels wider than its window", where, wide.Value.Int())
	}
}

// Rules of axe.
const (
	allRules    = `{}`
	coloursOnly = `{ runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } }`
)

// TestThemesAreColours: the themes choose among pairs of colours and change nothing else, so everything but colour
// needs a check in only one of them.
func TestThemesAreColours(t *testing.T) {
	t.Parallel()
	style, err := os.ReadFile(filepath.Join("..", "..", "..", "static", "src", "app.css"))
	if err != nil {
		t.Fatal(err)
	}
	rules := regexp.MustCompile(`\[data-theme=[^{]*\{[^}]*\}`).FindAllString(string(style), -1)
	want := []string{`[data-theme="light"] { color-scheme: light; }`, `[data-theme="dark"] { color-scheme: dark; }`}
	if !slices.Equal(rules, want) || bytes.Contains(style, []byte("prefers-color-scheme")) {
		t.Errorf("the themes have the rules %q, want %q and none that asks for the system's", rules, want)
	}
}

// obeys fails the test if axe finds violations of the rules on the page.
func (s *screen) obeys(where, axe, rules string) {
	s.t.Helper()
	// The source is not the page's, whose policy allows no such script. It is large,
	// and stays in a page that is looked at again.
	there, err := s.page.Eval(`() => "axe" in window`)
	if err == nil && !there.Value.Bool() {
		_, err = s.page.Eval("() => {" + axe + "\n}")
	}
	if err != nil {
		s.t.Fatalf("%s: axe: %v", where, err)
	}
	found, err := s.page.Eval(`async () => {
		const { violations } = await axe.run(document, { resultTypes: ["violations"], ...` + rules + ` });
		return violations.map(v => v.id + ": " + v.help + " at " + v.nodes.map(n => n.target.join(" ") + " (" + n.failureSummary + ")").join("; "));
	}`)
	if err != nil {
		s.t.Fatalf("%s: axe: %v", where, err)
	}
	var wrongs []string
	if err := json.Unmarshal([]byte(found.Value.JSON("", "")), &wrongs); err != nil {
		s.t.Fatal(err)
	}
	for _, wrong := range wrongs {
		s.t.Errorf("%s: %s", where, wrong)
	}
}

func (s *screen) width(pixels int) {
	s.t.Helper()
	err := s.page.SetViewport(&proto.EmulationSetDeviceMetricsOverride{Width: pixels, Height: 900, DeviceScaleFactor: 1, Mobile: false})
	if err != nil {
		s.t.Fatal(err)
	}
}

// It takes a screenshot of the page if SCREENSHOTS names a folder.
func (s *screen) picture(name string) {
	s.t.Helper()
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	image, err := s.page.Screenshot(true, nil)
	if err == nil {
		err = errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, name+".png"), image, 0o644))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// openBrowser returns the browser of those tests that ask for the same further flags. Its windows share nothing:
// each openScreen has its own context.
func openBrowser(t *testing.T, flags ...string) *rod.Browser {
	t.Helper()
	browser, err := sharedtest.Browser(t, flags...)
	if err != nil {
		t.Fatalf("no browser: %v; make setup installs it", err)
	}
	return browser
}

// openWide signs maya up to an App, on a wide screen.
func openWide(t *testing.T, a *app.App) *screen {
	t.Helper()
	maya := openScreen(t, openBrowser(t), a)
	maya.join("maya@example.com")
	maya.width(1440)
	return maya
}

// startWide starts an App and signs maya up to it, on a wide screen.
func startWide(t *testing.T) (*app.App, *screen) {
	t.Helper()
	a := startPages(t)
	return a, openWide(t, a)
}
