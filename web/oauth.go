package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"relaypdf/api/wire"
	"relaypdf/store"
	"relaypdf/views"
	"relaypdf/web/mail"
)

// Where programs ask to act for people (OAuth 2.1).
const (
	registerPath  = "/oauth/register"
	authorizePath = "/oauth/authorize"
	revokePath    = "/oauth/revoke"
	resourcePath  = "/mcp" // what the tokens are for
)

// The kinds of requests for tokens.
const (
	codeGrant  = "authorization_code"
	renewGrant = "refresh_token"
)

// How often one address may register in triesWindow, and how much it may send: a
// service that many people use has one address.
const (
	registrationsPerAddress = 60
	maxRegistration         = 16 << 10
	maxRedirects            = 10
)

// resource returns the resource that tokens are for: there is only one (RFC 8707).
func (w *Web) resource() string { return w.cfg.BaseURL + resourcePath }

// describeServer serves the metadata of the authorisation server to applications (RFC 8414).
func (w *Web) describeServer(v *visit) error {
	base := w.cfg.BaseURL
	return w.describe(v, map[string]any{
		"issuer": base, "authorization_endpoint": base + authorizePath, "token_endpoint": base + wire.DeviceTokenPath,
		"registration_endpoint": base + registerPath, "revocation_endpoint": base + revokePath, "device_authorization_endpoint": base + wire.DeviceBeginPath,
		"response_types_supported": []string{"code"}, "response_modes_supported": []string{"query"},
		"grant_types_supported": []string{codeGrant, renewGrant, wire.DeviceGrant}, "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported": []string{"none"}, "revocation_endpoint_auth_methods_supported": []string{"none"},
		"scopes_supported": wire.Scopes(), "service_documentation": base + docsPath + "/agents",
		"authorization_response_iss_parameter_supported": true, "client_id_metadata_document_supported": w.cfg.Outward != nil,
	})
}

// describeResource serves the metadata that names the token issuers of the agent endpoint (RFC 9728).
func (w *Web) describeResource(v *visit) error {
	servers := []string{w.cfg.BaseURL}
	if w.cfg.TokenIssuer != "" {
		servers = []string{w.cfg.TokenIssuer, w.cfg.BaseURL} // Programs take the first that they know.
	}
	return w.describe(v, map[string]any{
		"resource": w.resource(), "authorization_servers": servers, "bearer_methods_supported": []string{"header"},
		"scopes_supported": wire.Scopes(), "resource_name": "relaypdf", "resource_documentation": w.cfg.BaseURL + docsPath + "/agents",
	})
}

// describe answers with what pages of any origin may read.
func (w *Web) describe(v *visit, told map[string]any) error {
	v.w.Header().Set("Access-Control-Allow-Origin", "*")
	return answerProgram(v.w, http.StatusOK, told)
}

// allowReading answers a browser that asks before a page of another origin reads.
func (w *Web) allowReading(rw http.ResponseWriter, _ *http.Request) {
	h := rw.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "GET, HEAD")
	h.Set("Access-Control-Allow-Headers", "Mcp-Protocol-Version, Content-Type, Accept")
	rw.WriteHeader(http.StatusNoContent)
}

// registration is an application's metadata, when it registers and in its own document.
type registration struct {
	ClientID      string   `json:"client_id"`
	ClientSecret  string   `json:"client_secret"`
	Name          string   `json:"client_name"`
	Redirects     []string `json:"redirect_uris"`
	Method        string   `json:"token_endpoint_auth_method"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
}

// wrong returns the errors of a registration, in the terms of RFC 7591.
func (r registration) wrong() error {
	if len(r.Redirects) == 0 || len(r.Redirects) > maxRedirects {
		return refuseProgram("invalid_redirect_uri", fmt.Sprintf("redirect_uris must hold 1 to %d addresses.", maxRedirects))
	}
	for _, redirect := range r.Redirects {
		if text := wrongRedirect(redirect); text != "" {
			return refuseProgram("invalid_redirect_uri", "redirect_uris: "+text)
		}
	}
	for _, kind := range r.GrantTypes {
		if kind != codeGrant && kind != renewGrant {
			return refuseProgram("invalid_client_metadata", "grant_types may hold "+codeGrant+" and "+renewGrant+".")
		}
	}
	for _, kind := range r.ResponseTypes {
		if kind != "code" {
			return refuseProgram("invalid_client_metadata", "response_types may hold code.")
		}
	}
	return nil
}

// register stores an application that registers itself (RFC 7591). None gets a secret: it is always a public client,
// and PKCE protects its codes.
func (w *Web) register(v *visit) error {
	if media, _, err := mime.ParseMediaType(v.r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return refuseProgram("invalid_client_metadata", "Send the metadata as application/json.")
	}
	text, err := io.ReadAll(io.LimitReader(v.r.Body, maxRegistration+1))
	if err != nil {
		return refuseProgram("invalid_client_metadata", "The metadata did not arrive.")
	}
	var asked registration
	if len(text) > maxRegistration || json.Unmarshal(text, &asked) != nil {
		return refuseProgram("invalid_client_metadata", fmt.Sprintf("The metadata must be one JSON object of at most %d KiB.", maxRegistration>>10))
	}
	if err := asked.wrong(); err != nil {
		return err
	}
	address := w.cfg.ClientIP(v.r)
	if wait, ok := w.allow(v.ctx(), "oauth:register:"+address, registrationsPerAddress, triesWindow); !ok {
		return tooMany(wait)
	}
	client, err := w.store.Grants().Register(v.ctx(), store.OAuthClient{Name: shownName(asked.Name), Redirects: asked.Redirects}, address)
	if err != nil {
		return err
	}
	return answerProgram(v.w, http.StatusCreated, map[string]any{
		"client_id": client.ID, "client_id_issued_at": client.CreatedAt.Unix(), "client_name": client.Name, "redirect_uris": client.Redirects,
		"token_endpoint_auth_method": "none", "grant_types": []string{codeGrant, renewGrant}, "response_types": []string{"code"},
	})
}

// grantToken answers a program's question for tokens, or a device's for its key.
func (w *Web) grantToken(v *visit) error {
	kind, err := parameter(v, "grant_type")
	if err != nil {
		return err
	}
	if kind != codeGrant && kind != renewGrant {
		return w.deviceToken(v)
	}
	if v.r.Header.Get("Authorization") != "" {
		return refuseProgram("invalid_client", "Programs have no secrets here: send client_id in the form, and no Authorization.")
	}
	if wait, ok := w.allow(v.ctx(), "oauth:token:"+w.cfg.ClientIP(v.r), asksPerAddress, time.Minute); !ok {
		return tooMany(wait)
	}
	if kind == codeGrant {
		return w.redeem(v)
	}
	return w.renew(v)
}

// parametersOf reads some fields of an application's form; all needed ones must be present.
func parametersOf(v *visit, needed, optional []string) (map[string]string, error) {
	values := map[string]string{}
	for i, name := range slices.Concat(needed, optional) {
		value, err := parameter(v, name)
		if err != nil {
			return nil, err
		}
		if value == "" && i < len(needed) {
			return nil, refuseProgram("invalid_request", name+" is missing.")
		}
		values[name] = value
	}
	return values, nil
}

// checkResource refuses tokens for anything else.
func (w *Web) checkResource(resource string) error {
	if resource != "" && resource != w.resource() {
		return refuseProgram("invalid_target", "resource must be "+w.resource()+".")
	}
	return nil
}

// redeem changes a code for tokens.
func (w *Web) redeem(v *visit) error {
	q, err := parametersOf(v, []string{"client_id", "code", "redirect_uri", "code_verifier"}, []string{"resource"})
	if err != nil {
		return err
	}
	if err := w.checkResource(q["resource"]); err != nil {
		return err
	}
	challenge, ok := challengeOf(q["code_verifier"])
	if !ok {
		return refuseProgram("invalid_request", "code_verifier must have 43 to 128 letters, digits and any of - . _ ~.")
	}
	got, err := w.store.Grants().Redeem(v.ctx(), store.Redemption{
		Code: q["code"], ClientID: q["client_id"], Redirect: q["redirect_uri"], Challenge: challenge, Resource: q["resource"],
	}, w.grantTelling())
	if err == nil && w.mail != nil {
		w.mail.Wake()
	}
	return w.answerTokens(v, got, err)
}

// renew changes a refresh token for the next ones.
func (w *Web) renew(v *visit) error {
	q, err := parametersOf(v, []string{"client_id", renewGrant}, []string{"resource", "scope"})
	if err != nil {
		return err
	}
	if err := w.checkResource(q["resource"]); err != nil {
		return err
	}
	got, err := w.store.Grants().Renew(v.ctx(), store.Renewal{Token: q[renewGrant], ClientID: q["client_id"], Scopes: strings.Fields(q["scope"]), Resource: q["resource"]})
	return w.answerTokens(v, got, err)
}

// grantAnswers are the responses to the application for each decision.
var grantAnswers = []struct {
	err        error
	code, text string
}{
	{store.ErrNotFound, "invalid_grant", "This is unknown, or was revoked."},
	{store.ErrUsed, "invalid_grant", "This was used before. Somebody else may have it, so that all that came of it is revoked: ask the person again."},
	{store.ErrExpired, "invalid_grant", "This has expired: ask the person again."},
	{store.ErrDenied, "invalid_grant", "This was given to another program, for another address or resource, or by somebody who may not allow it any more; or code_verifier is not that of the code."},
	{store.ErrScope, "invalid_scope", "scope holds more than was allowed."},
}

func (w *Web) answerTokens(v *visit, got store.GrantTokens, err error) error {
	for _, answer := range grantAnswers {
		if errors.Is(err, answer.err) {
			return refuseProgram(answer.code, answer.text)
		}
	}
	if err != nil {
		return err
	}
	return answerProgram(v.w, http.StatusOK, map[string]any{
		"access_token": got.Access, "token_type": "Bearer", "expires_in": max(1, int64(got.AccessEnds.Sub(w.now())/time.Second)),
		"refresh_token": got.Refresh, "scope": strings.Join(got.Scopes, " "),
	})
}

// drop ends a token (RFC 7009). An unknown token counts as ended.
func (w *Web) drop(v *visit) error {
	q, err := parametersOf(v, []string{"client_id", "token"}, nil)
	if err != nil {
		return err
	}
	if wait, ok := w.allow(v.ctx(), "oauth:token:"+w.cfg.ClientIP(v.r), asksPerAddress, time.Minute); !ok {
		return tooMany(wait)
	}
	if err := w.store.Grants().Drop(v.ctx(), q["token"], q["client_id"]); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return answerProgram(v.w, http.StatusOK, struct{}{})
}

// grantTelling writes to people of a program that was let in; nil where no mail is sent.
func (w *Web) grantTelling() store.TellingGrant {
	if w.mail == nil {
		return nil
	}
	return TellGrants(w.mail, w.cfg.BaseURL)
}

// TellGrants writes to people of programs that were let in.
func TellGrants(mailer Mailer, base string) store.TellingGrant {
	return func(grant store.Grant, to []string) ([]store.Letter, error) {
		return sealAll(mailer, to, mail.Letter{
			Subject: grant.Name + " may use relaypdf now",
			Lines: []string{
				grant.Email + " has let “" + grant.Name + "” act for the account, " + grant.CreatedAt.UTC().Format("January 2, 2006, 15:04 UTC") + ". It may spend " + views.Dollars(grant.Limit) +
					" until " + grant.ExpiresAt.UTC().Format("January 2, 2006") + ".",
				"If nobody of you did this, revoke it.",
			},
			Link: mail.Link{Text: "Look at the connected apps", URL: base + appsPath},
		})
	}
}
