package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/oauth"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/views"
)

// askConsent shows a user the permissions that a client requests.
func (w *Web) askConsent(v *pageRequest) error {
	q, err := w.oauth.ReadRequest(v.ctx(), v.r.URL.Query(), v.person.ID)
	if err != nil {
		return w.refuse(v, err)
	}
	m := w.consentModel(v, q)
	m.Values["limit"] = strings.TrimPrefix(views.Dollars(store.GrantLimit), "$")
	m.Values["days"] = strconv.Itoa(store.GrantDays)
	return v.show(http.StatusOK, views.ConsentPage(v.page("Allow access", ""), m))
}

func (w *Web) consentModel(v *pageRequest, q oauth.Request) views.Consent {
	m := views.Consent{
		Form: views.Form{
			Values: map[string]string{"limit": v.value("limit"), "days": v.value("days")},
			Errors: map[string]string{},
		},
		Client: q.Name, Site: q.Site, Back: backTo(q.Redirect), Account: v.member.AccountName,
		AccountID: v.account.ID, Email: v.person.Email, Balance: v.account.Balance,
	}
	for _, p := range q.Parameters() {
		m.Hidden = append(m.Hidden, views.Choice{Value: p[1], Text: p[0]})
	}

	minPrice := credit.Amount(0)
	for _, price := range w.cfg.Prices {
		if price > 0 && (minPrice == 0 || price < minPrice) {
			minPrice = price
		}
	}

	for _, scope := range q.Scopes {
		words := scopeWords[scope]
		if scope == wire.ScopeDocuments && minPrice > 0 {
			words.note += " From " + views.Dollars(minPrice) + " per call."
		}
		m.Scopes = append(m.Scopes, views.ScopeChoice{
			Value:   scope,
			Text:    words.text,
			Note:    words.note,
			Checked: scope != wire.ScopeSign,
		})
	}
	return m
}

// scopeWords describe the scopes.
var scopeWords = map[string]struct{ text, note string }{
	wire.ScopeDocuments: {"Create and edit documents", "Run every operation at your prices, and read and delete the files and jobs of this account."},
	wire.ScopeTemplates: {"Read and change templates", "Create, publish and delete templates with their sample data. Earlier versions can be restored."},
	wire.ScopeWebhooks:  {"Add and delete webhook endpoints", "Endpoints are notified when documents are finished."},
	wire.ScopeSign:      {"Sign with signing identities", "Sign PDFs with the stored keys of the account, and list the keys."},
	wire.ScopeAccount:   {"Read balance and usage", "Excludes payments, members and API keys."},
}

// backTo returns the target of a redirect URL in a readable form.
func backTo(redirect string) string {
	u, err := url.Parse(redirect)
	switch {
	case err != nil:
		return redirect
	case u.Scheme == "http" && oauth.IsLoopback(u):
		return "an app on your computer (" + u.Host + ")"
	case u.Scheme == "https":
		return "https://" + u.Host
	}
	return "an app on your computer (" + u.Scheme + ")"
}

// refuse shows why nothing can be allowed.
func (w *Web) refuse(v *pageRequest, err error) error {
	var unknown *oauth.ClientError
	var invalid *oauth.RequestError
	m := views.ConsentEnd{Title: "Access cannot be granted"}
	switch {
	case errors.As(err, &unknown):
		m.Text = unknown.Text
	case errors.As(err, &invalid):
		m.Text = invalid.Request.Name + " sent an unsupported request. " + invalid.Text
		m.Back = w.oauth.Refuse(invalid)
		m.To = backTo(invalid.Request.Redirect)
	default:
		return err
	}

	return v.show(http.StatusBadRequest, views.ConsentEndPage(v.page(m.Title, ""), m))
}

// decideConsent grants or denies a client's request.
func (w *Web) decideConsent(v *pageRequest) error {
	form := v.r.PostForm //nolint:forbidigo // what was sent; it sends nothing
	q, err := w.oauth.ReadRequest(v.ctx(), form, v.person.ID)
	if err != nil {
		return w.refuse(v, err)
	}
	m := w.consentModel(v, q)

	switch {
	case v.value("decision") == "deny":
		if err := v.record("grant.denied", q.Name, backTo(q.Redirect)); err != nil {
			return err
		}
		return w.leaveConsent(v, q, "Access denied", q.Name+" has no access to this account.", w.oauth.Deny(q))
	case v.value("decision") != "allow":
		m.Errors[""] = "Choose Allow access or Deny access."
	case v.value("account") != v.account.ID:
		m.Errors[""] = "You have switched to the account " + v.member.AccountName + ". Check the request again."
	}

	return w.allowClient(v, q, m)
}

func (w *Web) allowClient(v *pageRequest, q oauth.Request, m views.Consent) error {
	consent := store.Consent{AccountID: v.account.ID, PersonID: v.person.ID}
	allowed := v.r.PostForm["allow"] //nolint:forbidigo // what was sent; it sends nothing
	for i, scope := range q.Scopes {
		m.Scopes[i].Checked = slices.Contains(allowed, scope)
		if m.Scopes[i].Checked {
			consent.Scopes = append(consent.Scopes, scope)
		}
	}
	if len(consent.Scopes) == 0 && !m.Failed() {
		m.Errors[""] = "Select at least one permission, or deny access."
	}

	limit, wrong := dollars(v.value("limit"))
	switch {
	case wrong != "":
		m.Errors["limit"] = wrong
	case limit == nil:
		m.Errors["limit"] = "Spending limit is required. Enter 0 to allow no spending."
	default:
		consent.Limit = *limit
	}

	ends, wrong := keyEnd(v.value("days"), w.now())
	if wrong != "" || ends == nil || ends.Sub(w.now()) > 366*24*time.Hour {
		m.Errors["days"] = "Choose an expiry from the list."
	}
	if m.Failed() {
		return v.show(http.StatusUnprocessableEntity, views.ConsentPage(v.page("Allow access", ""), m))
	}

	consent.ExpiresAt = *ends
	redirect, err := w.oauth.Allow(v.ctx(), q, consent)
	if err != nil {
		return err
	}
	note := strings.Join(consent.Scopes, " ") + " for " + backTo(q.Redirect)
	if err := v.record("grant.allowed", q.Name, note); err != nil {
		return err
	}
	return w.leaveConsent(v, q, "Access allowed", "Returning to "+q.Name+".", redirect)
}

// leaveConsent leads a user back to the client. It is a page and no redirect: forms of relaypdf lead nowhere else,
// which the browser holds them to.
func (w *Web) leaveConsent(v *pageRequest, q oauth.Request, title, text, redirect string) error {
	m := views.ConsentEnd{Title: title, Text: text, Back: redirect, To: backTo(q.Redirect)}
	v.w.Header().Set("Refresh", "0; url="+m.Back)
	return v.show(http.StatusOK, views.ConsentEndPage(v.page(title, ""), m))
}
