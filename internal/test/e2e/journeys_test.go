package e2e

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/input"
	"github.com/go-rod/rod/lib/proto"

	"github.com/relaypdf/relaypdf/client/webhook"
	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/test/fakeoidc"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/web"
)

// customerProgram is a customer's program that receives events.
type customerProgram struct {
	*httptest.Server
	ca string // file with its certificate

	mu       sync.Mutex
	up       bool
	received map[string][]received // by the id of the event
}

type received struct {
	header http.Header
	body   []byte
}

// newProgram starts a program that refuses everything until it is up.
func newProgram(t *testing.T) *customerProgram {
	t.Helper()
	r := &customerProgram{received: map[string][]received{}}
	r.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		id := q.Header.Get(webhook.IDHeader)
		r.received[id] = append(r.received[id], received{q.Header.Clone(), body})
		if r.up {
			return
		}
		http.Error(w, "out for lunch", http.StatusServiceUnavailable)
	}))
	t.Cleanup(r.Close)
	r.ca = authorityOf(t, r.Server)
	return r
}

// reachable lets a service send to the receiver.
func (r *customerProgram) reachable(c *app.Config) {
	c.ExtraCA, c.AllowHosts = r.ca, []string{"127.0.0.1"}
}

func (r *customerProgram) comeUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.up = true
}

// got returns the deliveries of every event.
func (r *customerProgram) got() [][]received {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all [][]received
	for _, one := range r.received {
		all = append(all, slices.Clone(one))
	}
	return all
}

// account returns Maya's account.
func (s *screen) account() store.Account {
	s.t.Helper()
	account, err := s.app.Store.AccountByEmail(s.t.Context(), "maya@example.com")
	if err != nil {
		s.t.Fatal(err)
	}
	return account
}

// finds reloads a page until it contains the words.
func (s *screen) finds(path, words string) {
	s.t.Helper()
	for deadline := time.Now().Add(pagePatience); ; <-time.After(300 * time.Millisecond) {
		s.open(path)
		text := s.text()
		if strings.Contains(text, words) {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%s never says %q, but %.1500s", path, words, text)
		}
	}
}

// addEndpoint adds Maya's receiver on the pages, and returns its id and secret.
func (s *screen) addEndpoint(address string) (id, secret string) {
	s.t.Helper()
	s.open("/dashboard/webhooks/new")
	s.fill("url", address)
	s.press("Add endpoint")
	s.sees("Signing secret for " + address)
	secret = regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+`).FindString(s.text())
	list, err := s.app.Store.Webhooks(s.t.Context(), s.account().ID)
	if err != nil || len(list) != 1 || secret == "" {
		s.t.Fatalf("got %+v, %v; shown was %q", list, err, secret)
	}
	return list[0].ID, secret
}

// openLater opens the store of an App with another clock, until the test ends.
func openLater(t *testing.T, a *app.App, clock func() time.Time) *store.Store {
	t.Helper()
	later, err := app.OpenStore(t.Context(), a.Config, slog.New(slog.DiscardHandler), app.Hooks{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = later.Close() })
	return later
}

// failAll makes the attempts of all deliveries that wait, and has them fail, as
// the schedule's 27 hours would.
func failAll(t *testing.T, a *app.App, accountID string) {
	t.Helper()
	var ahead time.Duration
	later := openLater(t, a, func() time.Time { return time.Now().Add(ahead) })
	waits := func() bool {
		page, err := a.Store.Deliveries(t.Context(), store.DeliveryFilter{AccountID: accountID, Status: store.DeliveryPending})
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Items) > 0
	}
	for deadline := time.Now().Add(pagePatience); waits(); <-time.After(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("deliveries wait for ever")
		}
		due, err := later.ClaimDeliveries(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(due) == 0 {
			ahead += time.Hour // All attempts take some 30; after five days the endpoint would be disabled.
		}
		for _, d := range due {
			if _, err := later.FinishAttempt(t.Context(), d, store.Attempt{StatusCode: http.StatusServiceUnavailable, Error: "503", Response: []byte("out for lunch")}); err != nil {
				t.Logf("the attempt of %s was another's: %v", d.ID, err)
			}
		}
	}
}

// TestFailedDeliveriesAreReplayed adds an endpoint whose program is down, sends events there until they have
// failed, and replays first one and then the rest.
func TestFailedDeliveriesAreReplayed(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	const events = 3
	program := newProgram(t)
	app, browser := startPages(t, program.reachable), openBrowser(t)
	maya := openScreen(t, browser, app)
	maya.join("maya@example.com")
	id, secret := maya.addEndpoint(program.URL + "/events")
	for range events {
		maya.open("/dashboard/webhooks/" + id)
		maya.press("Send test event")
		maya.sees("Test event sent")
	}
	maya.finds("/dashboard/deliveries?status=pending", "503")
	failAll(t, app, maya.account().ID)
	maya.finds("/dashboard/webhooks", "Failing")
	maya.open("/dashboard/deliveries?status=failed")
	maya.sees("Replay failed")
	maya.follow("webhook.test")
	maya.sees("out for lunch")
	for _, attempt := range []string{"First: 503", "Third: 503", "Eighth: 503"} {
		maya.sees(attempt)
	}
	maya.sees(`"type": "webhook.test"`)
	maya.lookAt("delivery that failed")

	program.comeUp()
	maya.pressIn("#delivery", "Replay delivery")
	maya.sees("Delivery queued for replay.")
	maya.sees("9th: 200") // the page looks again by itself
	maya.holds("the signature and the response are shown", `["Webhook-Signature: v1,", "Content-Length: 0"].every(s => document.querySelector("#delivery details").textContent.includes(s))`)
	maya.finds("/dashboard/deliveries?status=delivered", "webhook.test")
	maya.open("/dashboard/deliveries")
	maya.follow("Replay failed")
	maya.sees("Replay 2 failed deliveries?")
	maya.press("Replay 2 deliveries")
	maya.sees("2 deliveries queued for replay.")
	maya.finds("/dashboard/deliveries?status=failed", "No matches")
	maya.finds("/dashboard/deliveries?status=pending", "No matches")
	maya.finds("/dashboard/webhooks/"+id, "On")
	if all := program.got(); len(all) != events {
		t.Errorf("%d events came, want %d", len(all), events)
	}
	for _, one := range program.got() {
		last := one[len(one)-1]
		if err := webhook.Verify(secret, last.header, last.body, webhook.Options{}); err != nil {
			t.Error(err)
		}
		if !bytes.Equal(last.body, one[0].body) {
			t.Errorf("%s was sent first, and %s at last", one[0].body, last.body)
		}
	}
	maya.calm("replays")
}

// TestLogInWithAProvider logs in with an outside identity, from the button to a
// page that was asked for, and links one under Settings.
func TestLogInWithAProvider(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	provider := fakeoidc.New(t, time.Now)
	provider.People = map[string]fakeoidc.Person{
		"nina": {Subject: "1", Name: "Nina Adeyemi", Email: "nina@example.com", Verified: true}, "maya": {Subject: "2", Email: "maya@example.com", Verified: true},
	}
	app, browser := startPages(t, func(c *app.Config) {
		c.OIDCIssuer, c.OIDCClientID, c.OIDCClientSecret, c.OIDCName = provider.URL, fakeoidc.ClientID, fakeoidc.ClientSecret, "Example ID"
	}), openBrowser(t)
	provider.Redirect = app.BaseURL() + web.OIDCPath
	nina := openScreen(t, browser, app)
	nina.leadsTo(provider.Listener.Addr().String())
	nina.open("/dashboard/keys")
	nina.lookAt("log in with a provider")
	nina.press("Continue with Example ID")
	nina.sees("Who are you?")
	nina.press("I am nina")
	nina.sees("No API keys yet")
	nina.calm("a stranger with an identity")

	maya := openScreen(t, browser, app)
	maya.leadsTo(provider.Listener.Addr().String())
	maya.join("maya@example.com")
	maya.press("Log out")
	maya.press("Continue with Example ID")
	maya.sees("Who are you?")
	maya.press("I am maya")
	maya.sees("Account not linked")
	maya.lookAt("not linked yet")
	maya.open("/login")
	maya.logIn("maya@example.com", "correct horse battery")
	maya.sees("Welcome, Maya")
	maya.open("/dashboard/settings/security")
	maya.press("Link Example ID")
	maya.sees("You can then log in here with your Example ID account.")
	maya.fill("password", "correct horse battery")
	maya.press("Link Example ID")
	maya.sees("Who are you?")
	maya.press("I am maya")
	maya.sees("Example ID linked. You can now log in with it.")
	maya.lookAt("settings with an identity")
	maya.press("Log out")
	maya.press("Continue with Example ID")
	maya.sees("Who are you?")
	maya.press("I am maya")
	maya.sees("Welcome, Maya")
	maya.calm("an identity that was linked")
}

// follow opens the first link with the words in the page's main part.
func (s *screen) follow(words string) {
	s.t.Helper()
	link, err := s.page.Timeout(pagePatience).ElementR("main a", "^\\s*"+regexp.QuoteMeta(words)+"\\s*$")
	if err != nil {
		s.t.Fatalf("no link %q: %v; the page says %.500s", words, err, s.text())
	}
	address, err := link.Property("href")
	if err != nil {
		s.t.Fatal(err)
	}
	s.open(address.String())
}

// TestTopUpOnTheTestPage pays on the page that stands in for Stripe's: first with a card that is declined. The signed
// event fills the wallet, and is forwarded.
func TestTopUpOnTheTestPage(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	program, _, maya := startWithReceiver(t)
	maya.open("/dashboard/wallet")
	maya.sees("Test mode")
	maya.press("Pay $20.00 with Stripe")
	maya.sees("No money moves")
	maya.press("Pay with a card that is declined")
	maya.sees("The card was declined")
	if got := maya.account().Balance; got != 5*credit.Dollar {
		t.Fatalf("after a declined card the wallet holds %s", got)
	}
	maya.press("Pay with the test card 4242")
	maya.sees("$20.00 was added to the wallet.") // the page looks again by itself
	maya.holds("the balance is new everywhere", `[".chip", ".balance"].every(s => document.querySelector(s).textContent.includes("$25.00"))`)
	maya.finds("/dashboard/wallet", "$20.0000\tReceipt") // a later event has it
	maya.sees("Paid")
	if got := maya.account().Balance; got != 25*credit.Dollar {
		t.Errorf("the wallet holds %s", got)
	}
	maya.follow("Receipt")
	maya.sees("Paid: $20.00.")
	maya.finds("/dashboard/deliveries?status=delivered&event="+store.EventWalletTopUp, "127.0.0.1")
	if all := program.got(); len(all) != 1 || len(all[0]) != 1 || !strings.Contains(string(all[0][0].body), store.EventWalletTopUp) {
		t.Errorf("the receiver got %v", all)
	}
	maya.calm("a top-up")
}

// TestSessionThatEndsInAFormLosesNothing lets the session end between the typing
// and the sending.
func TestSessionThatEndsInAFormLosesNothing(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPages(t, func(c *app.Config) { c.AllowHosts = []string{"hooks.example"} }), openBrowser(t)
	maya := openScreen(t, browser, app)
	maya.join("maya@example.com")
	maya.open("/dashboard/keys/new")
	maya.fill("name", "website of the shop")
	maya.fill("limit", "12.50")
	person, err := app.Store.UserByEmail(t.Context(), "maya@example.com")
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Store.EndOtherSessions(t.Context(), person.ID, ""); err != nil {
		t.Fatal(err)
	}
	maya.press("Create key")
	maya.sees("Log in to send the form that you filled in.")
	maya.logIn("maya@example.com", "not the password")
	maya.sees("Email and password do not match")
	maya.fill("password", "correct horse battery")
	maya.press("Log in")
	maya.sees("Continue where you left off")
	maya.sees("website of the shop")
	maya.lookAt("kept form")
	maya.press("Send form")
	maya.sees("Key “website of the shop” created")
	keys, err := app.Store.Keys(t.Context(), maya.account().ID)
	if err != nil || len(keys) != 1 || keys[0].SpendLimit == nil || *keys[0].SpendLimit != 12*credit.Dollar+credit.Dollar/2 {
		t.Errorf("got %+v, %v", keys, err)
	}
	maya.calm("a session that ends")
}

// TestFiltersLeaveThePageStanding: with a script, a filter fetches only the list, its URL can be bookmarked, and
// the back button works.
func TestFiltersLeaveThePageStanding(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPages(t), openBrowser(t)
	maya := openScreen(t, browser, app)
	maya.join("maya@example.com")
	maya.open("/dashboard/deliveries")
	if _, err := maya.page.Eval(`() => { window.stays = true }`); err != nil {
		t.Fatal(err)
	}
	maya.choose("select[name=status]", "Failed")
	maya.sees("No matches")
	standing := func() string {
		t.Helper()
		found, err := maya.page.Eval(`() => [window.stays === true, location.pathname + location.search, document.title, document.activeElement.name].join(" | ")`)
		if err != nil {
			t.Fatal(err)
		}
		return found.Value.Str()
	}
	if got := standing(); got != "true | /dashboard/deliveries?status=failed | Deliveries · relaypdf | status" {
		t.Errorf("after a filter the window is %s", got)
	}
	if err := maya.page.NavigateBack(); err != nil {
		t.Fatal(err)
	}
	maya.sees("No deliveries yet")
	if got := standing(); !strings.HasPrefix(got, "true | /dashboard/deliveries |") {
		t.Errorf("on the way back the window is %s", got)
	}
	// One whose session has ended is asked to log in, as after any link.
	person, err := app.Store.UserByEmail(t.Context(), "maya@example.com")
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Store.EndOtherSessions(t.Context(), person.ID, ""); err != nil {
		t.Fatal(err)
	}
	maya.choose("select[name=status]", "Delivered")
	maya.sees("New here?")
	maya.calm("filters")
}

// TestMemberJoinsAndLeaves invites a user, who joins, gets another role, and is removed: each as both see it.
func TestMemberJoinsAndLeaves(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPages(t), openBrowser(t)
	maya, tom := openScreen(t, browser, app), openScreen(t, browser, app)
	maya.join("maya@example.com")
	maya.open("/dashboard/settings/members")
	maya.fillIn(`form[action="/dashboard/settings/invites"]`, "email", "tom@example.com")
	maya.choose(`form[action="/dashboard/settings/invites"] select`, store.RoleViewer)
	maya.press("Create invitation link")
	maya.sees("Invitation for tom@example.com created")
	link := regexp.MustCompile(`http\S+/invite/\S+`).FindString(maya.text())

	tom.open(link)
	tom.sees("maya@example.com invited tom@example.com to join as viewer")
	tom.lookAt("invitation")
	tom.fill("name", "Tom Okafor")
	tom.fill("password", "a longer password")
	tom.press("Create account")
	tom.open("/dashboard/keys")
	tom.sees("No API keys yet")
	if strings.Contains(tom.text(), "Create key") {
		t.Error("a viewer is offered to make a key")
	}

	maya.open("/dashboard/settings/members")
	maya.sees("Tom Okafor")
	wait := maya.page.Timeout(pagePatience).WaitNavigation(proto.PageLifecycleEventNameLoad)
	maya.choose(`form[action$="/role"] select`, store.RoleDeveloper)
	wait()
	maya.sees("Role of tom@example.com changed to developer")
	tom.open("/dashboard/keys")
	tom.logIn("tom@example.com", "a longer password")
	tom.sees("Create key")

	maya.open("/dashboard/settings/members")
	maya.press("Remove")
	maya.sees("tom@example.com removed from the account")
	tom.open("/dashboard/keys")
	tom.logIn("tom@example.com", "a longer password")
	tom.sees("You are not in an account")
	maya.open("/dashboard/settings/audit")
	maya.sees("Member removed: tom@example.com")
	maya.calm("the owner's pages")
	tom.calm("the member's pages")
}

// pressIn presses the button with exactly these words in a part of the page.
func (s *screen) pressIn(part, words string) {
	s.t.Helper()
	s.pressWhere(part+" button[type=submit]", "^\\s*"+regexp.QuoteMeta(words)+"\\s*$")
}

// fillIn types into a field of a part of the page.
func (s *screen) fillIn(part, name, text string) {
	s.t.Helper()
	s.fillWhere(part+` [name="`+name+`"]`, text)
}

// choose chooses an option by its words.
func (s *screen) choose(selector, words string) {
	s.t.Helper()
	list, err := s.page.Timeout(pagePatience).Element(selector)
	if err == nil {
		err = list.Select([]string{words}, true, rod.SelectorTypeText)
	}
	if err != nil {
		s.t.Fatalf("choose %q in %s: %v; the page says %.500s", words, selector, err, s.text())
	}
}

// withoutScript permanently turns the pages' own scripts off.
func (s *screen) withoutScript() {
	s.t.Helper()
	if err := (proto.EmulationSetScriptExecutionDisabled{Value: true}).Call(s.page); err != nil {
		s.t.Fatal(err)
	}
	s.plain = true
}

// TestEverythingWorksWithoutScript logs in, makes and revokes a key, adds an
// endpoint, filters its deliveries, and pays, with scripts turned off.
func TestEverythingWorksWithoutScript(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	program := newProgram(t)
	program.comeUp()
	app, browser := startPages(t, program.reachable, func(c *app.Config) { c.Dev = true }), openBrowser(t)
	maya := openScreen(t, browser, app)
	maya.withoutScript()
	maya.join("maya@example.com")
	if found, err := maya.page.Eval(`() => document.documentElement.classList.contains("js")`); err != nil || found.Value.Bool() {
		t.Fatalf("the pages' script runs: %v, %v", found, err)
	}
	maya.sees("Welcome, Maya")
	maya.press("Log out")
	maya.open("/login")
	maya.logIn("maya@example.com", "correct horse battery")
	maya.sees("Welcome, Maya")

	maya.open("/dashboard/keys/new")
	maya.fill("name", "website")
	maya.press("Create key")
	maya.sees("Key “website” created")
	keys, err := app.Store.Keys(t.Context(), maya.account().ID)
	if err != nil || len(keys) != 1 {
		t.Fatalf("got %+v, %v", keys, err)
	}
	maya.open("/dashboard/keys/" + keys[0].ID + "/revoke")
	maya.fill("confirm", "website")
	maya.press("Revoke")
	maya.sees("” revoked")

	id, _ := maya.addEndpoint(program.URL)
	maya.open("/dashboard/webhooks/" + id)
	maya.press("Send test event")
	maya.finds("/dashboard/deliveries", "Delivered")
	maya.chooseByKey("status", "Failed")
	maya.press("Filter")
	maya.sees("No matches")
	maya.open("/dashboard/webhooks/" + id)
	maya.press("Pause")
	maya.sees("Paused")

	maya.open("/dashboard/wallet")
	maya.fill("day", "15")
	maya.press("Save limits")
	maya.press("Pay with Stripe")
	maya.press("Pay with the test card 4242")
	maya.finds("/dashboard/wallet", "$25.00")
	maya.calm("pages without script")
}

// chooseByKey chooses an option as the keyboard does: by typing its words.
func (s *screen) chooseByKey(name, words string) {
	s.t.Helper()
	field, err := s.page.Timeout(pagePatience).Element(`select[name="` + name + `"]`)
	if err == nil {
		err = proto.DOMFocus{ObjectID: field.Object.ObjectID}.Call(s.page)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	for _, letter := range words {
		if err := s.page.Keyboard.Type(input.Key(letter)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// focused returns the focused element: its words or its name.
const focused = `() => {
	const at = document.activeElement;
	const box = at.getBoundingClientRect();
	const style = getComputedStyle(at);
	return {
		words: (at.getAttribute("aria-label") ?? (at.labels?.[0] ?? at).textContent).trim().replace(/\s+/g, " "),
		name: at.name ?? "",
		seen: at === document.body || at.closest("dialog, body") === at || box.width > 0 && (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0),
	};
}`

// tabTo presses the tabulator until something has the focus that is called so,
// or whose field has the name.
func (s *screen) tabTo(name string) {
	s.t.Helper()
	var way []string
	for range 80 {
		found, err := s.page.Eval(focused)
		if err != nil {
			s.t.Fatal(err)
		}
		words := found.Value.Get("words").Str()
		if strings.HasPrefix(words, name) || found.Value.Get("name").Str() == name {
			if !found.Value.Get("seen").Bool() {
				s.t.Errorf("nobody sees that %q has the focus", words)
			}
			return
		}
		way = append(way, words)
		if err := s.page.Keyboard.Type(input.Tab); err != nil {
			s.t.Fatal(err)
		}
	}
	s.t.Fatalf("the tabulator never comes to %q, but to %q", name, way)
}

// enter presses Enter, and waits for the page that follows.
func (s *screen) enter() {
	s.t.Helper()
	wait := s.page.Timeout(pagePatience).WaitNavigation(proto.PageLifecycleEventNameLoad)
	if err := s.page.Keyboard.Type(input.Enter); err != nil {
		s.t.Fatal(err)
	}
	wait()
}

// types types where the focus is.
func (s *screen) types(text string) {
	s.t.Helper()
	if err := s.page.InsertText(text); err != nil {
		s.t.Fatal(err)
	}
}

// TestFromLogInToAKeyByKeyboard uses only the Tab key, characters and Enter.
func TestFromLogInToAKeyByKeyboard(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPages(t), openBrowser(t)
	maya := openScreen(t, browser, app)
	maya.join("kim@example.com")
	maya.press("Log out")
	maya.open("/login")
	maya.tabTo("email")
	maya.types("kim@example.com")
	maya.tabTo("password")
	maya.types("correct horse battery")
	maya.tabTo("Log in")
	maya.enter()
	maya.sees("Welcome, Maya")
	maya.tabTo("Keys")
	maya.enter()
	maya.sees("No API keys yet")
	maya.tabTo("Create key")
	if err := maya.page.Keyboard.Type(input.Enter); err != nil { // opens a dialog
		t.Fatal(err)
	}
	maya.tabTo("name")
	maya.types("website")
	maya.tabTo("Create key")
	maya.enter()
	maya.sees("Key “website” created")
	maya.calm("the keyboard")
}

// startWithReceiver starts a developer's App, with the stand-in for Stripe, and signs maya up to it. Her program
// receives the events.
func startWithReceiver(t *testing.T) (*customerProgram, *app.App, *screen) {
	t.Helper()
	receiver := newProgram(t)
	receiver.comeUp()
	a := startPages(t, receiver.reachable, func(c *app.Config) { c.Dev = true })
	maya := openScreen(t, openBrowser(t), a)
	maya.join("maya@example.com")
	maya.addEndpoint(receiver.URL)
	return receiver, a, maya
}

// logIn fills and sends the form that logs a user in.
func (s *screen) logIn(email, password string) {
	s.t.Helper()
	s.fill("email", email)
	s.fill("password", password)
	s.press("Log in")
}
