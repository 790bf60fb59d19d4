package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
	"github.com/relaypdf/relaypdf/web"
)

// link is the path of the link in the last email to an address.
func (h *house) link(t *testing.T, to string) string {
	t.Helper()
	return strings.TrimPrefix(h.mail.last(t, to).Link.URL, h.url)
}

// count returns the number of emails sent to an address.
func (l *letters) count(to string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, letter := range l.sent {
		if letter.To == to {
			n++
		}
	}
	return n
}

// TestASessionAloneChangesNoCredential: who has stolen a session changes neither password,
// email, second factor nor log-ins, and sees no recovery codes.
func TestASessionAloneChangesNoCredential(t *testing.T) {
	d := newDesk(t, nil)
	thief := d.join(t, "maya@example.com") // her session, without her password
	before, err := d.UserByEmail(t.Context(), "maya@example.com")
	if err != nil {
		t.Fatal(err)
	}
	setup := thief.sees("/dashboard/settings/factor")
	code, err := totp.GenerateCode(secretText.FindStringSubmatch(setup.body)[1], d.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	sent := d.mail.count("thief@example.com")
	for _, guess := range []string{"", "wrong password"} {
		for path, form := range map[string]url.Values{
			"/dashboard/settings/profile":         {"name": {"Maya Lind"}, "email": {"thief@example.com"}},
			"/dashboard/settings/password":        {"password": {"thief's password"}, "current": {guess}},
			"/dashboard/settings/factor":          {"code": {code}},
			"/dashboard/settings/factor/off":      {},
			"/dashboard/settings/factor/recovery": {},
			"/dashboard/settings/identity":        {},
		} {
			form.Set("password", map[bool]string{true: form.Get("password"), false: guess}[form.Has("current")])
			a := thief.do(http.MethodPost, path, form)
			if a.status != http.StatusOK && a.status != http.StatusUnprocessableEntity || strings.Contains(a.body, "rel=\"noreferrer\"") || codeText.MatchString(a.body) {
				t.Errorf("POST %s with the password %q: got status %d: %s", path, guess, a.status, textOf(a.body))
			}
		}
	}
	after, err := d.UserByEmail(t.Context(), "maya@example.com")
	if err != nil || after.Password != before.Password || len(after.Factor) != 0 || after.Identity != "" {
		t.Errorf("the member is %+v, %v", after, err)
	}
	if d.mail.count("thief@example.com") != sent {
		t.Error("the new address was sent a link")
	}
}

// TestPendingChangeOfEmailEndsWithThePassword: an owner who sets a new password ends a thief's pending change.
func TestPendingChangeOfEmailEndsWithThePassword(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.join(t, "maya@example.com")
		v.post("/dashboard/settings/profile", http.StatusSeeOther, url.Values{"name": {"Maya"}, "email": {"thief@example.com"}, "password": {password}})
		pending := h.link(t, "thief@example.com")
		if a := h.visitor(t).get(pending); a.status != http.StatusSeeOther || !strings.HasPrefix(a.header.Get("Location"), "/login") {
			t.Errorf("the link of a new address, for nobody: got status %d", a.status)
		}
		other := h.join(t, "mallory@example.com")
		if a := other.do(http.MethodPost, pending, url.Values{}); a.status != http.StatusForbidden {
			t.Errorf("the link of a new address, for another member: got status %d", a.status)
		}
		v.post("/dashboard/settings/password", http.StatusSeeOther, url.Values{"current": {password}, "password": {"a new password"}})
		v.post(pending, http.StatusGone, url.Values{})
		if _, err := h.UserByEmail(t.Context(), "maya@example.com"); err != nil {
			t.Errorf("the address was changed: %v", err)
		}
	})
}

// TestStolenAccountIsRecovered has a thief, who knows the password, take email and second
// factor: the link in the first email to the owner undoes all of it, once.
func TestStolenAccountIsRecovered(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		owner := h.join(t, "maya@example.com")
		thief := h.visitor(t)
		thief.post("/login", http.StatusSeeOther, url.Values{"email": {"maya@example.com"}, "password": {password}})
		thief.post("/dashboard/settings/profile", http.StatusSeeOther, url.Values{"name": {"Maya"}, "email": {"thief@example.com"}, "password": {password}})
		thief.post(h.link(t, "thief@example.com"), http.StatusSeeOther, url.Values{})
		if a := owner.get("/dashboard"); a.status != http.StatusSeeOther {
			t.Errorf("another session after a change of the email: got status %d", a.status)
		}
		h.clock.Advance(time.Minute)
		thief.post("/dashboard/settings/password", http.StatusSeeOther, url.Values{"current": {password}, "password": {"thief's password"}})
		his := h.link(t, "thief@example.com")
		if letter := h.mail.last(t, "maya@example.com"); letter.Subject != "Your email address was changed" || letter.Link.Text != "Undo this change" {
			t.Fatalf("the owner was sent %+v", letter)
		}
		undo := h.link(t, "maya@example.com")
		back := h.visitor(t)
		back.sees(undo, "Undo the change", "maya@example.com")
		back.post(undo, http.StatusUnprocessableEntity, url.Values{"password": {"short"}})
		back.post(undo, http.StatusSeeOther, url.Values{"password": {"her new password"}})
		back.sees("/dashboard/settings", "maya@example.com")
		if a := thief.get("/dashboard"); a.status != http.StatusSeeOther {
			t.Errorf("the thief's session: got status %d", a.status)
		}
		back.post(undo, http.StatusGone, url.Values{"password": {"her new password"}})
		thief.post(his, http.StatusGone, url.Values{"password": {"thief's password"}})
		for _, email := range []string{"maya@example.com", "thief@example.com"} {
			thief.post("/login", http.StatusUnprocessableEntity, url.Values{"email": {email}, "password": {"thief's password"}})
		}
	})
}

// TestAChangeRenewsTheSession: a copy of the session that makes a change ends as well.
func TestAChangeRenewsTheSession(t *testing.T) {
	h := sqliteHouse(t, nil)
	v, thief := h.join(t, "maya@example.com"), h.visitor(t)
	base, err := url.Parse(h.url)
	if err != nil {
		t.Fatal(err)
	}
	thief.client.Jar.SetCookies(base, v.client.Jar.Cookies(base))
	thief.sees("/dashboard/settings")
	v.post("/dashboard/settings/password", http.StatusSeeOther, url.Values{"current": {password}, "password": {"a new password"}})
	v.sees("/dashboard/settings")
	if a := thief.get("/dashboard"); a.status != http.StatusSeeOther {
		t.Errorf("the copy: got status %d", a.status)
	}
}

// preHijack has a thief sign up with an address that is not theirs.
func (h *house) preHijack(t *testing.T, email string) *visitor {
	t.Helper()
	thief := h.visitor(t)
	thief.post("/signup", http.StatusOK, url.Values{"email": {email}, "password": {"thief's password"}})
	thief.post("/login", http.StatusSeeOther, url.Values{"email": {email}, "password": {"thief's password"}})
	return thief
}

// wantOut fails the test where a thief gets in.
func (h *house) wantOut(t *testing.T, thief *visitor, email string) {
	t.Helper()
	if a := thief.get("/dashboard"); a.status != http.StatusSeeOther {
		t.Errorf("the thief's session: got status %d", a.status)
	}
	thief.post("/login", http.StatusUnprocessableEntity, url.Values{"email": {email}, "password": {"thief's password"}})
}

// TestAnAddressThatAnotherRegisteredGetsANewPassword verifies it in each way that an address can be verified.
func TestAnAddressThatAnotherRegisteredGetsANewPassword(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		thief := h.preHijack(t, "maya@example.com")
		maya := h.visitor(t)
		maya.post("/signup", http.StatusOK, url.Values{"email": {"maya@example.com"}, "password": {password}})
		link := h.link(t, "maya@example.com") // of her own sign-up
		maya.sees(link, "maya@example.com", "New password")
		maya.post(link, http.StatusUnprocessableEntity, url.Values{})
		maya.post(link, http.StatusSeeOther, url.Values{"password": {"her own password"}})
		maya.sees("/dashboard")
		h.wantOut(t, thief, "maya@example.com")
		h.visitor(t).post("/login", http.StatusSeeOther, url.Values{"email": {"maya@example.com"}, "password": {"her own password"}})

		thief = h.preHijack(t, "tom@example.com")
		maya.post("/dashboard/settings/invites", http.StatusSeeOther, url.Values{"email": {"tom@example.com"}, "role": {"viewer"}})
		tom, invite := h.visitor(t), h.link(t, "tom@example.com")
		tom.sees(invite, "Create account")
		tom.post(invite, http.StatusSeeOther, url.Values{"password": {"his own password"}})
		tom.sees("/dashboard")
		h.wantOut(t, thief, "tom@example.com")

		thief = h.preHijack(t, "nina@example.com")
		nina := h.visitor(t)
		nina.post("/password/reset", http.StatusOK, url.Values{"email": {"nina@example.com"}})
		nina.post(h.link(t, "nina@example.com"), http.StatusSeeOther, url.Values{"password": {"her own password"}})
		nina.sees("/dashboard")
		h.wantOut(t, thief, "nina@example.com")

		thief = h.preHijack(t, "ada@example.com")
		person, err := h.UserByEmail(t.Context(), "ada@example.com")
		if err != nil {
			t.Fatal(err)
		}
		h.signedIn(t, person).sees("/dashboard/settings/security", "No password set.") // with a link of the operator
		h.wantOut(t, thief, "ada@example.com")
	})
}

// TestProviderGivesAnAddressToItsOwner: the user of a thief's sign-up becomes the one whom the provider knows by
// the address.
func TestProviderGivesAnAddressToItsOwner(t *testing.T) {
	d := newDesk(t, nil)
	thief := d.preHijack(t, "maya@example.com")
	v := d.visitor(t)
	if a := d.comes(v, "maya"); a.header.Get("Location") != "/dashboard/keys" {
		t.Fatalf("got status %d: %s", a.status, textOf(a.body))
	}
	v.sees("/dashboard/settings/security", "No password set.")
	d.wantOut(t, thief, "maya@example.com")
}

var emailedCode = regexp.MustCompile(`[A-Z2-7]{4}-[A-Z2-7]{4}`)

// TestMembersWithoutPasswordConfirmElsewhere sets a password with the provider's word,
// and with an emailed code.
func TestMembersWithoutPasswordConfirmElsewhere(t *testing.T) {
	d := newDesk(t, nil)
	for who, confirm := range map[string]func(v *visitor){
		"maya": func(v *visitor) {
			back := d.goes(v, "/dashboard/settings/confirm/provider", "tom")
			if a := v.get(back); a.status != http.StatusForbidden {
				t.Errorf("another identity: got status %d", a.status)
			}
			back = d.goes(v, "/dashboard/settings/confirm/provider", "maya")
			if a := v.get(back); a.header.Get("Location") != "/dashboard/settings/security" {
				t.Errorf("the provider's word: got status %d: %s", a.status, textOf(a.body))
			}
		},
		"tom": func(v *visitor) {
			v.post("/dashboard/settings/confirm/email", http.StatusOK, url.Values{})
			code := emailedCode.FindString(d.mail.last(t, "tom@example.com").Subject)
			v.post("/dashboard/settings/confirm", http.StatusUnprocessableEntity, url.Values{"code": {"AAAA-AAAA"}})
			v.post("/dashboard/settings/confirm", http.StatusSeeOther, url.Values{"code": {strings.ToLower(code)}})
		},
	} {
		v := d.visitor(t)
		d.comes(v, who)
		d.clock.Advance(11 * time.Minute)
		set := url.Values{"password": {"a first password"}}
		v.sees("/dashboard/settings/security", "Confirm your identity")
		v.sees("/dashboard/settings/factor", "Confirm your identity")
		if a := v.post("/dashboard/settings/password", http.StatusOK, set); !strings.Contains(a.body, "Confirm your identity") {
			t.Errorf("a password at once: %s", textOf(a.body))
		}
		confirm(v)
		v.post("/dashboard/settings/password", http.StatusSeeOther, set)
		v.post("/dashboard/settings/password", http.StatusUnprocessableEntity, set) // asks for the first one from now on
	}
}

// TestRefusedCodesAreSpent: a code that comes beyond the limit of attempts works no more
// afterwards.
func TestRefusedCodesAreSpent(t *testing.T) {
	h := sqliteHouse(t, nil)
	v := h.join(t, "maya@example.com")
	setup := v.sees("/dashboard/settings/factor")
	secret := secretText.FindStringSubmatch(setup.body)[1]
	code := func() string {
		code, err := totp.GenerateCode(secret, h.clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	shown := v.once("/dashboard/settings/factor", url.Values{"code": {code()}, "password": {password}})
	recovery := codeText.FindAllStringSubmatch(shown.body, -1)
	login := func() *visitor {
		other := h.visitor(t)
		other.post("/login", http.StatusSeeOther, url.Values{"email": {"maya@example.com"}, "password": {password}})
		return other
	}
	other := login()
	for range 9 { // and one at the setup
		other.post("/login/code", http.StatusUnprocessableEntity, url.Values{"code": {"000000"}})
	}
	other.post("/login/code", http.StatusTooManyRequests, url.Values{"code": {recovery[0][1]}})
	h.clock.Advance(16 * time.Minute)
	login().post("/login/code", http.StatusUnprocessableEntity, url.Values{"code": {recovery[0][1]}})
	login().post("/login/code", http.StatusSeeOther, url.Values{"code": {recovery[1][1]}})
}

// TestWaitingAttemptsAreBounded has attempts wait: beyond a few for one user more are refused at once.
func TestWaitingAttemptsAreBounded(t *testing.T) {
	release, waiting := make(chan struct{}), make(chan struct{}, 10)
	addresses := 0
	h := sqliteHouse(t, func(c *web.Config) {
		c.Hooks.Wait = func(context.Context, time.Duration) error {
			waiting <- struct{}{}
			<-release
			return nil
		}
	})
	wrong := url.Values{"email": {"maya@example.com"}, "password": {"wrong password"}}
	try := func() int {
		addresses++
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/login", strings.NewReader(wrong.Encode()))
		r.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Sec-Fetch-Site": {"same-origin"}, clientIPHeader: {fmt.Sprint("203.0.113.", addresses)}}
		w := httptest.NewRecorder()
		h.handler.ServeHTTP(w, r)
		return w.Code
	}
	handler := make(chan int, 4)
	for range 5 {
		if got := try(); got != http.StatusUnprocessableEntity {
			t.Fatalf("got status %d", got)
		}
	}
	for range 4 {
		go func() { handler <- try() }()
		<-waiting
	}
	if got := try(); got != http.StatusTooManyRequests {
		t.Errorf("beyond those that wait: got status %d", got)
	}
	close(release)
	for range 4 {
		if got := <-handler; got != http.StatusUnprocessableEntity {
			t.Errorf("one that waited: got status %d", got)
		}
	}
}

// TestResetTakesTheSameWorkForUnknownAddresses counts the statements of both.
func TestResetTakesTheSameWorkForUnknownAddresses(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		clock := storetest.NewClock(time.Now().UTC().Truncate(time.Second))
		s, err := store.Open(t.Context(), store.Config{URL: db.URL, DataDir: db.DataDir, Now: clock.Now, Watch: watcher{}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		h := newHouse(t, s, clock, nil)
		h.join(t, "maya@example.com")
		work := func(email string) int {
			noted := &statements{}
			r := httptest.NewRequestWithContext(context.WithValue(t.Context(), statementsKey{}, noted), http.MethodPost, "/password/reset", strings.NewReader(url.Values{"email": {email}}.Encode()))
			r.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Sec-Fetch-Site": {"same-origin"}}
			w := httptest.NewRecorder()
			h.handler.ServeHTTP(w, r)
			if w.Code != http.StatusOK {
				t.Fatalf("got status %d", w.Code)
			}
			return len(noted.list)
		}
		if known, unknown := work("maya@example.com"), work("nobody@example.com"); known != unknown || known == 0 {
			t.Errorf("a known address takes %d statements, an unknown one %d", known, unknown)
		}
	})
}

// TestOthersDoNotUseUpResets asks for links in every spelling: they are counted together, the first link still
// works, and the owner's browser has its own counter.
func TestOthersDoNotUseUpResets(t *testing.T) {
	h := sqliteHouse(t, nil)
	owner := h.join(t, "maya@example.com")
	owner.post("/logout", http.StatusSeeOther, url.Values{})
	stranger := h.visitor(t)
	before := h.mail.count("maya@example.com")
	var first string
	for _, spelling := range []string{"maya@example.com", "MAYA@example.com", " maya@example.com", "Maya@example.com", "mAya@example.com"} {
		stranger.post("/password/reset", http.StatusOK, url.Values{"email": {spelling}})
		if first == "" {
			first = h.link(t, "maya@example.com")
		}
	}
	if got := h.mail.count("maya@example.com") - before; got != 3 {
		t.Errorf("%d emails were sent, want 3", got)
	}
	owner.post("/password/reset", http.StatusOK, url.Values{"email": {"maya@example.com"}})
	if got := h.mail.count("maya@example.com") - before; got != 4 {
		t.Errorf("the owner's request brought the emails to %d, want 4", got)
	}
	owner.post(first, http.StatusSeeOther, url.Values{"password": {"another password"}})
}

// TestFormsOfAnotherSchemeAreRefused: requests from a page of the unencrypted site are foreign.
func TestFormsOfAnotherSchemeAreRefused(t *testing.T) {
	h := sqliteHouse(t, func(c *web.Config) { c.BaseURL = "https://pdf.example" })
	for origin, want := range map[string]int{
		"https://pdf.example": http.StatusUnprocessableEntity, "http://pdf.example": http.StatusForbidden, "https://evil.example": http.StatusForbidden,
		"null": http.StatusForbidden, "": http.StatusUnprocessableEntity,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://pdf.example/login", strings.NewReader("email=maya%40example.com&password=wrong"))
		r.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		w := httptest.NewRecorder()
		h.handler.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("a form of %q: got status %d, want %d", origin, w.Code, want)
		}
	}
}
