package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"relaypdf/api/wire"
	"relaypdf/store"
	"relaypdf/store/credit"
	"relaypdf/views"
)

// maxState bounds what a program gives its question along, in bytes.
const maxState = 2000

// question is an application's authorisation request.
type question struct {
	asker

	Redirect, State, Challenge, Resource string
	Scopes                               []string
}

// refusedQuestion is a request that is not shown to the user. The user is only sent back to a registered redirect
// URL, and only on request: otherwise any registered application could send users anywhere.
type refusedQuestion struct {
	code, text string
	question   question
}

func (r *refusedQuestion) Error() string { return r.code + ": " + r.text }

// challenge is the PKCE syntax of a challenge with S256.
var challenge = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// read reads an authorisation request. Until the application and its redirect URL are known, errors are shown to the
// user only.
func (w *Web) read(v *visit, values url.Values) (question, error) {
	var q question
	for name, list := range values {
		if len(list) > 1 && name != "allow" {
			return q, &clientError{"The link says " + fmt.Sprintf("%.40q", deviceName(name)) + " more than once."}
		}
	}
	client, err := w.clientOf(v, values.Get("client_id"))
	if err != nil {
		return q, err
	}
	redirect := values.Get("redirect_uri")
	if !slices.ContainsFunc(client.Redirects, func(registered string) bool { return sameRedirect(registered, redirect) }) || wrongRedirect(redirect) != "" {
		return q, &clientError{"The link leads back to an address that " + client.Name + " has not registered. Somebody may want to catch what it gets."}
	}
	q = question{asker: client, Redirect: redirect, State: values.Get("state"), Challenge: values.Get("code_challenge"), Resource: w.resource()}
	if len(q.State) > maxState {
		q.State = ""
		return q, &refusedQuestion{"invalid_request", "state is too long.", q}
	}
	if code, text := w.wrong(values); code != "" {
		return q, &refusedQuestion{code, text, q}
	}
	for _, scope := range strings.Fields(values.Get("scope")) {
		if slices.Contains(wire.Scopes(), scope) && !slices.Contains(q.Scopes, scope) {
			q.Scopes = append(q.Scopes, scope)
		}
	}
	if len(q.Scopes) == 0 && values.Get("scope") != "" {
		return q, &refusedQuestion{"invalid_scope", "scope may hold " + strings.Join(wire.Scopes(), ", ") + ".", q}
	}
	if len(q.Scopes) == 0 {
		q.Scopes = wire.Scopes()
	}
	return q, nil
}

// wrong returns the error of a known application's request, or nothing. An application that does not name the
// resource of its tokens wants the agent endpoint.
func (w *Web) wrong(values url.Values) (code, text string) {
	resource := values.Get("resource")
	switch {
	case values.Get("response_type") != "code":
		return "unsupported_response_type", "response_type must be code."
	case values.Get("response_mode") != "" && values.Get("response_mode") != "query":
		return "invalid_request", "response_mode must be query."
	case values.Get("code_challenge_method") != "S256" || !challenge.MatchString(values.Get("code_challenge")):
		return "invalid_request", "PKCE is needed: code_challenge, with code_challenge_method=S256."
	case resource != "" && resource != w.resource():
		return "invalid_target", "resource must be " + w.resource() + "."
	}
	return "", ""
}

// leaveConsentFor is the address that a person is led back to, with an answer (RFC 9207).
func (w *Web) leaveConsentFor(q question, answer url.Values) string {
	u, err := url.Parse(q.Redirect)
	if err != nil {
		return ""
	}
	values := u.Query()
	for name, list := range answer {
		values[name] = list
	}
	if q.State != "" {
		values.Set("state", q.State)
	}
	values.Set("iss", w.cfg.BaseURL)
	u.RawQuery = values.Encode()
	return u.String()
}

// askConsent shows a person what a program wants.
func (w *Web) askConsent(v *visit) error {
	q, err := w.read(v, v.r.URL.Query())
	if err != nil {
		return w.refuse(v, err)
	}
	m := w.model(v, q)
	m.Values["limit"], m.Values["days"] = strings.TrimPrefix(views.Dollars(store.GrantLimit), "$"), strconv.Itoa(store.GrantDays)
	return v.show(http.StatusOK, views.ConsentPage(v.page("Allow access", ""), m))
}

func (w *Web) model(v *visit, q question) views.Consent {
	m := views.Consent{
		Form:   views.Form{Values: map[string]string{"limit": v.value("limit"), "days": v.value("days")}, Errors: map[string]string{}},
		Client: q.Name, Site: q.Site, Back: backTo(q.Redirect), Account: v.member.AccountName, AccountID: v.account.ID, Email: v.person.Email, Balance: v.account.Balance,
		Hidden: []views.Choice{
			{Value: q.ID, Text: "client_id"}, {Value: q.Redirect, Text: "redirect_uri"}, {Value: q.State, Text: "state"}, {Value: q.Challenge, Text: "code_challenge"},
			{Value: "S256", Text: "code_challenge_method"}, {Value: "code", Text: "response_type"}, {Value: q.Resource, Text: "resource"}, {Value: strings.Join(q.Scopes, " "), Text: "scope"},
		},
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

// backTo is where an address leads, as people read it.
func backTo(redirect string) string {
	u, err := url.Parse(redirect)
	switch {
	case err != nil:
		return redirect
	case u.Scheme == "http" && loopbackHost(u):
		return "a program on your computer (" + u.Host + ")"
	case u.Scheme == "https":
		return "https://" + u.Host
	}
	return "a program on your computer (" + u.Scheme + ")"
}

// refuse shows why nothing can be allowed.
func (w *Web) refuse(v *visit, err error) error {
	var unknown *clientError
	var wrong *refusedQuestion
	m := views.ConsentEnd{Title: "This cannot be allowed"}
	switch {
	case errors.As(err, &unknown):
		m.Text = unknown.text
	case errors.As(err, &wrong):
		m.Text = wrong.question.Name + " asks in a way that is not supported: " + wrong.text
		m.Back, m.To = w.leaveConsentFor(wrong.question, url.Values{"error": {wrong.code}, "error_description": {wrong.text}}), backTo(wrong.question.Redirect)
	default:
		return err
	}
	return v.show(http.StatusBadRequest, views.ConsentEndPage(v.page(m.Title, ""), m))
}

// decideConsent allows or denies what a program wants.
func (w *Web) decideConsent(v *visit) error {
	q, err := w.read(v, v.r.PostForm) //nolint:forbidigo // what was sent; it sends nothing
	if err != nil {
		return w.refuse(v, err)
	}
	m := w.model(v, q)
	switch {
	case v.value("decision") == "deny":
		if err := v.record("grant.denied", q.Name, backTo(q.Redirect)); err != nil {
			return err
		}
		return w.leaveConsent(v, q, "Denied", q.Name+" gets nothing.", url.Values{"error": {"access_denied"}, "error_description": {"The person has denied it."}})
	case v.value("decision") != "allow":
		m.Errors[""] = "Allow or deny."
	case v.value("account") != v.account.ID:
		m.Errors[""] = "You have changed to " + v.member.AccountName + " meanwhile: look again."
	}
	return w.allowProgram(v, q, m)
}

func (w *Web) allowProgram(v *visit, q question, m views.Consent) error {
	consent := store.Consent{
		Client: q.OAuthClient, Redirect: q.Redirect, Challenge: q.Challenge, Resource: q.Resource, AccountID: v.account.ID, PersonID: v.person.ID,
	}
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
	code, err := w.store.Grants().Allow(v.ctx(), consent)
	if err != nil {
		return err
	}
	if err := v.record("grant.allowed", q.Name, strings.Join(consent.Scopes, " ")+" for "+backTo(q.Redirect)); err != nil {
		return err
	}
	return w.leaveConsent(v, q, "Allowed", "You are on your way back to "+q.Name+".", url.Values{"code": {code}})
}

// leaveConsent leads a person back to the program. It is a page and no redirect: forms of
// ours lead nowhere else, which the browser holds them to.
func (w *Web) leaveConsent(v *visit, q question, title, text string, answer url.Values) error {
	m := views.ConsentEnd{Title: title, Text: text, Back: w.leaveConsentFor(q, answer), To: backTo(q.Redirect)}
	v.w.Header().Set("Refresh", "0; url="+m.Back)
	return v.show(http.StatusOK, views.ConsentEndPage(v.page(title, ""), m))
}
