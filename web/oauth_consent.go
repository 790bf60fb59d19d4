package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"relaypdf/api/oauth"
	"relaypdf/api/wire"
	"relaypdf/store"
	"relaypdf/store/credit"
	"relaypdf/views"
)

// askConsent shows a user the permissions that a client requests.
func (w *Web) askConsent(v *pageRequest) error {
	q, err := w.oauth.ReadRequest(v.ctx(), v.r.URL.Query(), v.person.ID)
	if err != nil {
		return w.refuse(v, err)
	}
	m := w.consentModel(v, q)
	m.Values["limit"], m.Values["days"] = strings.TrimPrefix(views.Dollars(store.GrantLimit), "$"), strconv.Itoa(store.GrantDays)
	return v.show(http.StatusOK, views.ConsentPage(v.page("Allow access", ""), m))
}

func (w *Web) consentModel(v *pageRequest, q oauth.Request) views.Consent {
	m := views.Consent{
		Form:   views.Form{Values: map[string]string{"limit": v.value("limit"), "days": v.value("days")}, Errors: map[string]string{}},
		Client: q.Name, Site: q.Site, Back: backTo(q.Redirect), Account: v.member.AccountName, AccountID: v.account.ID, Email: v.person.Email, Balance: v.account.Balance,
	}
	for _, p := range q.Parameters() {
		m.Hidden = append(m.Hidden, views.Choice{Value: p[1], Text: p[0]})
	}
	least := credit.Amount(0)
	for _, price := range w.cfg.Prices {
		if price > 0 && (least == 0 || price < least) {
			least = price
		}
	}
	for _, scope := range q.Scopes {
		words := scopeWords[scope]
		if scope == wire.ScopeDocuments && least > 0 {
			words.note += " From " + views.Dollars(least) + " a call."
		}
		m.Scopes = append(m.Scopes, views.ScopeChoice{Value: scope, Text: words.text, Note: words.note, Checked: true})
	}
	return m
}

// scopeWords describe the scopes.
var scopeWords = map[string]struct{ text, note string }{
	wire.ScopeDocuments: {"Make documents and work on them", "Run every operation at your prices, and read and delete the files and jobs of this account."},
	wire.ScopeTemplates: {"Read and change templates", "With their sample data; create, publish and delete. Versions can be restored."},
	wire.ScopeWebhooks:  {"Add and delete webhook endpoints", "They are told when documents are done."},
	wire.ScopeAccount:   {"See balance and usage", "Not payments, members or keys."},
}

// backTo returns the target of a redirect URL in a readable form.
func backTo(redirect string) string {
	u, err := url.Parse(redirect)
	switch {
	case err != nil:
		return redirect
	case u.Scheme == "http" && oauth.IsLoopback(u):
		return "a program on your computer (" + u.Host + ")"
	case u.Scheme == "https":
		return "https://" + u.Host
	}
	return "a program on your computer (" + u.Scheme + ")"
}

// refuse shows why nothing can be allowed.
func (w *Web) refuse(v *pageRequest, err error) error {
	var unknown *oauth.ClientError
	var invalid *oauth.RequestError
	m := views.ConsentEnd{Title: "This cannot be allowed"}
	switch {
	case errors.As(err, &unknown):
		m.Text = unknown.Text
	case errors.As(err, &invalid):
		m.Text = invalid.Request.Name + " asks in a way that is not supported: " + invalid.Text
		m.Back, m.To = w.oauth.Refuse(invalid), backTo(invalid.Request.Redirect)
	default:
		return err
	}
	return v.show(http.StatusBadRequest, views.ConsentEndPage(v.page(m.Title, ""), m))
}

// decideConsent grants or denies a client's request.
func (w *Web) decideConsent(v *pageRequest) error {
	q, err := w.oauth.ReadRequest(v.ctx(), v.r.PostForm, v.person.ID) //nolint:forbidigo // what was sent; it sends nothing
	if err != nil {
		return w.refuse(v, err)
	}
	m := w.consentModel(v, q)
	switch {
	case v.value("decision") == "deny":
		if err := v.record("grant.denied", q.Name, backTo(q.Redirect)); err != nil {
			return err
		}
		return w.leaveConsent(v, q, "Denied", q.Name+" gets nothing.", w.oauth.Deny(q))
	case v.value("decision") != "allow":
		m.Errors[""] = "Allow or deny."
	case v.value("account") != v.account.ID:
		m.Errors[""] = "You have changed to " + v.member.AccountName + " meanwhile: look again."
	}
	return w.allowClient(v, q, m)
}

func (w *Web) allowClient(v *pageRequest, q oauth.Request, m views.Consent) error {
	consent := store.Consent{AccountID: v.account.ID, PersonID: v.person.ID}
	for i, scope := range q.Scopes {
		m.Scopes[i].Checked = slices.Contains(v.r.PostForm["allow"], scope) //nolint:forbidigo // what was sent; it sends nothing
		if m.Scopes[i].Checked {
			consent.Scopes = append(consent.Scopes, scope)
		}
	}
	if len(consent.Scopes) == 0 && !m.Failed() {
		m.Errors[""] = "Tick what it may do, or deny."
	}
	limit, wrong := dollars(v.value("limit"))
	switch {
	case wrong != "":
		m.Errors["limit"] = wrong
	case limit == nil:
		m.Errors["limit"] = "Say what it may spend; 0 is nothing."
	default:
		consent.Limit = *limit
	}
	ends, wrong := keyEnd(v.value("days"), w.now())
	if wrong != "" || ends == nil || ends.Sub(w.now()) > 366*24*time.Hour {
		m.Errors["days"] = "Choose one of the times."
	}
	if m.Failed() {
		return v.show(http.StatusUnprocessableEntity, views.ConsentPage(v.page("Allow access", ""), m))
	}
	consent.ExpiresAt = *ends
	redirect, err := w.oauth.Allow(v.ctx(), q, consent)
	if err != nil {
		return err
	}
	if err := v.record("grant.allowed", q.Name, strings.Join(consent.Scopes, " ")+" for "+backTo(q.Redirect)); err != nil {
		return err
	}
	return w.leaveConsent(v, q, "Allowed", "You are on your way back to "+q.Name+".", redirect)
}

// leaveConsent leads a user back to the client. It is a page and no redirect: forms of relaypdf lead nowhere else,
// which the browser holds them to.
func (w *Web) leaveConsent(v *pageRequest, q oauth.Request, title, text, redirect string) error {
	m := views.ConsentEnd{Title: title, Text: text, Back: redirect, To: backTo(q.Redirect)}
	v.w.Header().Set("Refresh", "0; url="+m.Back)
	return v.show(http.StatusOK, views.ConsentEndPage(v.page(title, ""), m))
}
