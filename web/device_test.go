package web_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/web"
)

// program is a command line that requests a key.
type program struct {
	*visitor
	device, code string
}

const grantDevice = "urn:ietf:params:oauth:grant-type:device_code"

// program starts a command line's request.
func (h *house) program(t *testing.T) *program {
	t.Helper()
	p := &program{visitor: h.visitor(t)}
	p.header = http.Header{"User-Agent": {"relaypdf/test"}}
	var begun struct {
		DeviceCode      string `json:"device_code"`
		UserCode        string `json:"user_code"`
		VerificationURI string `json:"verification_uri"`
		Complete        string `json:"verification_uri_complete"`
		ExpiresIn       int    `json:"expires_in"`
		Interval        int    `json:"interval"`
	}
	a := p.post("/oauth/device_authorization", http.StatusOK, url.Values{"client_id": {"relaypdf"}, "machine": {"lantern-ci-02"}, "system": {"Linux arm64"}})
	p.json(a, &begun)
	p.device, p.code = begun.DeviceCode, begun.UserCode
	if !regexp.MustCompile(`^[B-Z]{4}-[B-Z]{4}$`).MatchString(p.code) || len(p.device) < 40 || begun.VerificationURI != h.url+"/device" || begun.ExpiresIn != 600 || begun.Interval != 5 || begun.Complete != "" {
		t.Fatalf("got %s", a.body)
	}
	return p
}

func (p *program) json(a answer, into any) {
	p.t.Helper()
	if a.header.Get("Content-Type") != "application/json" || a.header.Get("Cache-Control") != "no-store" {
		p.t.Errorf("got %q, %q", a.header.Get("Content-Type"), a.header.Get("Cache-Control"))
	}
	if a.header.Get("Set-Cookie") != "" {
		p.t.Error("a program is given a cookie")
	}
	if err := json.Unmarshal([]byte(a.body), into); err != nil {
		p.t.Fatalf("%v: %s", err, a.body)
	}
}

// The decoded response to an application's request.
type told struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
	Token       string `json:"access_token"`
	Type        string `json:"token_type"`
	ExpiresIn   int64  `json:"expires_in"`
	Account     string `json:"account"`
	Key         struct {
		Name, Prefix string
		SpendLimit   *int64 `json:"spendLimitMicrodollars"`
		ExpiresAt    *time.Time
	} `json:"key"`
}

// asks requests the key, after the required pause.
func (p *program) asks(status int) (got told) {
	p.t.Helper()
	p.h.clock.Advance(store.DevicePause)
	p.json(p.post("/oauth/token", status, url.Values{"client_id": {"relaypdf"}, "grant_type": {grantDevice}, "device_code": {p.device}}), &got)
	return got
}

func (p *program) refused(want string) {
	p.t.Helper()
	if got := p.asks(http.StatusBadRequest); got.Error != want || got.Description == "" || got.Token != "" {
		p.t.Errorf("got %+v, want %s", got, want)
	}
}

var hiddenID = regexp.MustCompile(`name="id" value="([^"]+)"`)

// types types a client's code and returns the id on the page that comes.
func (v *visitor) types(code string) (id string, page answer) {
	v.t.Helper()
	page = v.post("/device", http.StatusOK, url.Values{"code": {code}})
	found := hiddenID.FindStringSubmatch(page.body)
	if found == nil {
		v.t.Fatalf("no form is there: %s", textOf(page.body))
	}
	return found[1], page
}

// TestDeviceFlow runs the whole flow, from the command line to the page and back.
func TestDeviceFlow(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		p, maya := h.program(t), h.join(t, "maya@example.com")
		p.refused("authorization_pending")
		if a := maya.sees("/device?user_code="+p.code+"&code="+p.code, "relaypdf setup"); strings.Contains(a.body, p.code) {
			t.Error("the code is filled in by the address")
		}
		id, page := maya.types(" " + strings.ToLower(strings.ReplaceAll(p.code, "-", " ")))
		for _, word := range []string{p.code, "lantern-ci-02", "Linux arm64", "203.0.113.40", "5 s ago", "expires in 9 min", "cli lantern-ci-02", "requests access to maya@example.com", `value="5.00"`, `value="90" selected`} {
			if !strings.Contains(textOf(page.body)+page.body, word) {
				t.Errorf("the page does not say %q: %s", word, textOf(page.body))
			}
		}
		if a := maya.post("/device/decision", http.StatusUnprocessableEntity, url.Values{"id": {id}, "code": {p.code}, "decision": {"approve"}, "limit": {"much"}}); !strings.Contains(a.body, "amount in dollars") || !strings.Contains(a.body, p.code) {
			t.Errorf("a wrong limit: %s", textOf(a.body))
		}
		p.refused("authorization_pending")
		if a := maya.post("/device/decision", http.StatusOK, url.Values{"id": {id}, "code": {p.code}, "decision": {"approve"}, "limit": {"2.50"}, "expires": {"90"}}); !strings.Contains(textOf(a.body), "Access approved") {
			t.Errorf("approved: %s", textOf(a.body))
		}
		if keys, err := h.Keys(t.Context(), h.mayas(t).ID); err != nil || len(keys) != 0 {
			t.Errorf("a key is made before the program asks: %d, %v", len(keys), err)
		}
		got := p.asks(http.StatusOK)
		if got.Type != "Bearer" || got.Key.Name != "cli lantern-ci-02" || got.Key.SpendLimit == nil || *got.Key.SpendLimit != 2_500_000 || got.ExpiresIn < 89*24*3600 || !strings.HasPrefix(got.Token, got.Key.Prefix) || got.Account == "" {
			t.Errorf("got %+v", got)
		}
		key, account, err := h.KeyBySecret(t.Context(), got.Token)
		if err != nil || account.ID != h.mayas(t).ID || *key.SpendLimit != credit.Amount(2_500_000) {
			t.Errorf("the key: %+v, %v", key, err)
		}
		if letter := h.mail.last(t, "maya@example.com"); !strings.Contains(letter.Subject, "lantern-ci-02") || !strings.Contains(strings.Join(letter.Lines, " "), "203.0.113.40") || !strings.HasSuffix(letter.Link.URL, "/dashboard/keys") ||
			strings.Contains(strings.Join(letter.Lines, " "), got.Token) {
			t.Errorf("the letter is %+v", letter)
		}
		if actions := h.actions(t, account.ID); !slices.Contains(actions, "key.made") || !slices.Contains(actions, "device.approved") {
			t.Errorf("the log tells %v", actions)
		}
		maya.sees("/dashboard/settings/audit", "Command line authorized: cli lantern-ci-02")
		p.refused("invalid_grant")
		if _, _, err := h.KeyBySecret(t.Context(), got.Token); err == nil {
			t.Error("a key whose code was used twice works")
		}
	})
}

// TestDeviceIsDenied also by who may not make keys.
func TestDeviceIsDenied(t *testing.T) {
	h := sqliteHouse(t, nil)
	p, maya := h.program(t), h.join(t, "maya@example.com")
	id, _ := maya.types(p.code)
	if a := maya.post("/device/decision", http.StatusUnprocessableEntity, url.Values{"id": {id}, "code": {p.code}}); !strings.Contains(a.body, "Select Approve access") {
		t.Errorf("no decision: %s", textOf(a.body))
	}
	maya.post("/device/decision", http.StatusOK, url.Values{"id": {id}, "code": {p.code}, "decision": {"deny"}})
	p.refused("access_denied")
	maya.post("/device/decision", http.StatusNotFound, url.Values{"id": {id}, "code": {p.code}, "decision": {"approve"}})
	if actions := h.actions(t, h.mayas(t).ID); !slices.Contains(actions, "device.denied") || slices.Contains(actions, "key.made") {
		t.Errorf("the log tells %v", actions)
	}
}

// TestDeviceCodesExpire for the user and for the client.
func TestDeviceCodesExpire(t *testing.T) {
	h := sqliteHouse(t, nil)
	p, maya := h.program(t), h.join(t, "maya@example.com")
	id, _ := maya.types(p.code)
	h.clock.Advance(store.DeviceLife)
	maya.post("/device", http.StatusUnprocessableEntity, url.Values{"code": {p.code}})
	maya.post("/device/decision", http.StatusNotFound, url.Values{"id": {id}, "decision": {"approve"}})
	p.refused("expired_token")
}

// TestDeviceCodeIsNotGuessed: who tries many is stopped, also with the right one.
func TestDeviceCodeIsNotGuessed(t *testing.T) {
	h := sqliteHouse(t, nil)
	p, mallory := h.program(t), h.join(t, "mallory@example.com")
	for i := range 10 {
		guess := "BCDF-GHJ" + string("KLMNPQRSTV"[i])
		if a := mallory.post("/device", http.StatusUnprocessableEntity, url.Values{"code": {guess}}); strings.Contains(a.body, guess) {
			t.Error("a wrong code is filled in again")
		}
	}
	mallory.post("/device", http.StatusTooManyRequests, url.Values{"code": {p.code}})
	h.clock.Advance(16 * time.Minute)
	again := h.program(t)
	mallory.types(again.code)
}

// TestDeviceOfAnotherUser: the id on one user's page is of no use to another, nor is the code.
func TestDeviceOfAnotherUser(t *testing.T) {
	h := sqliteHouse(t, nil)
	p, maya, mallory := h.program(t), h.join(t, "maya@example.com"), h.join(t, "mallory@example.com")
	id, _ := maya.types(p.code)
	mallory.post("/device", http.StatusUnprocessableEntity, url.Values{"code": {p.code}})
	for _, decision := range []string{"approve", "deny"} {
		mallory.post("/device/decision", http.StatusNotFound, url.Values{"id": {id}, "code": {p.code}, "decision": {decision}})
	}
	p.refused("authorization_pending")
}

// TestDeviceEndpointsRefuse invalid requests, with the errors of the standard.
func TestDeviceEndpointsRefuse(t *testing.T) {
	h := sqliteHouse(t, nil)
	p := h.program(t)
	for name, q := range map[string]struct {
		path string
		form url.Values
		want string
	}{
		"no client":         {"/oauth/device_authorization", url.Values{"machine": {"x"}}, "invalid_client"},
		"another client":    {"/oauth/device_authorization", url.Values{"client_id": {"mallory"}}, "invalid_client"},
		"client twice":      {"/oauth/device_authorization", url.Values{"client_id": {"relaypdf", "relaypdf"}}, "invalid_request"},
		"in the address":    {"/oauth/device_authorization?client_id=relaypdf", url.Values{}, "invalid_client"},
		"no grant":          {"/oauth/token", url.Values{"client_id": {"relaypdf"}, "device_code": {p.device}}, "unsupported_grant_type"},
		"another grant":     {"/oauth/token", url.Values{"client_id": {"relaypdf"}, "grant_type": {"password"}}, "unsupported_grant_type"},
		"no code":           {"/oauth/token", url.Values{"client_id": {"relaypdf"}, "grant_type": {grantDevice}}, "invalid_request"},
		"a guess":           {"/oauth/token", url.Values{"client_id": {"relaypdf"}, "grant_type": {grantDevice}, "device_code": {"guess"}}, "invalid_grant"},
		"the typed code":    {"/oauth/token", url.Values{"client_id": {"relaypdf"}, "grant_type": {grantDevice}, "device_code": {p.code}}, "invalid_grant"},
		"another's program": {"/oauth/token", url.Values{"client_id": {"mallory"}, "grant_type": {grantDevice}, "device_code": {p.device}}, "invalid_client"},
	} {
		var got told
		if p.json(p.post(q.path, http.StatusBadRequest, q.form), &got); got.Error != q.want || got.Description == "" {
			t.Errorf("%s: got %+v, want %s", name, got, q.want)
		}
	}
	p.refused("authorization_pending")
	var got told
	if p.json(p.post("/oauth/token", http.StatusBadRequest, url.Values{"client_id": {"relaypdf"}, "grant_type": {grantDevice}, "device_code": {p.device}}), &got); got.Error != "slow_down" {
		t.Errorf("asked at once again: got %+v", got)
	}
}

// TestDevicesAreLimited: one address begins so many, and asks so often.
func TestDevicesAreLimited(t *testing.T) {
	h := sqliteHouse(t, nil)
	p := h.program(t)
	for range 29 {
		p.post("/oauth/device_authorization", http.StatusOK, url.Values{"client_id": {"relaypdf"}})
	}
	a := p.post("/oauth/device_authorization", http.StatusTooManyRequests, url.Values{"client_id": {"relaypdf"}})
	var got told
	if p.json(a, &got); got.Error != "slow_down" || a.header.Get("Retry-After") == "" {
		t.Errorf("got %+v, %q", got, a.header.Get("Retry-After"))
	}
}

// TestDeviceNamesAreShownAsTexts: a machine chooses its own name.
func TestDeviceNamesAreShownAsTexts(t *testing.T) {
	h := sqliteHouse(t, nil)
	p, maya := h.program(t), h.join(t, "maya@example.com")
	const attack = `"><script>alert(1)</script>`
	var begun struct {
		UserCode string `json:"user_code"`
	}
	p.json(p.post("/oauth/device_authorization", http.StatusOK, url.Values{"client_id": {"relaypdf"}, "machine": {attack + "\r\nBcc: x@example.com\u202e"}, "system": {attack}}), &begun)
	id, page := maya.types(begun.UserCode)
	done := maya.post("/device/decision", http.StatusOK, url.Values{"id": {id}, "code": {attack}, "decision": {"approve"}})
	for _, body := range []string{page.body, done.body, maya.get("/dashboard/settings/audit").body} {
		if strings.Contains(body, "<script>alert") || strings.Contains(body, "\u202e") || strings.Contains(body, "\r\nBcc") {
			t.Error("a page shows the markup of a machine's name, or its control characters")
		}
	}
}

// TestDevicesWithoutMail: a service that sends none makes keys as well.
func TestDevicesWithoutMail(t *testing.T) {
	h := sqliteHouse(t, nil)
	maya := h.join(t, "maya@example.com")
	quiet := newHouse(t, h.Store, h.clock, func(c *web.Config) { c.Mail = nil })
	p := quiet.program(t)
	id, _ := maya.types(p.code)
	maya.post("/device/decision", http.StatusOK, url.Values{"id": {id}, "decision": {"approve"}, "limit": {""}})
	if got := p.asks(http.StatusOK); got.Token == "" || got.Key.SpendLimit != nil || got.Key.ExpiresAt != nil || got.ExpiresIn != 0 {
		t.Errorf("got %+v", got)
	}
}
