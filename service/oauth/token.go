package oauth

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

// token serves the token endpoint (RFC 6749, 3.2).
func (s *Server) token(w http.ResponseWriter, r *http.Request) error {
	kind, err := parameter(r, "grant_type")
	if err != nil {
		return err
	}

	if kind != codeGrant && kind != refreshGrant {
		return s.deviceToken(w, r)
	}
	if r.Header.Get("Authorization") != "" {
		return newError("invalid_client",
			"Client secrets are not supported. Send client_id in the form, without an Authorization header.")
	}
	if err := s.allow(r.Context(), "token:"+s.cfg.ClientIP(r.Context()), tokensPerIPMinute, time.Minute); err != nil {
		return err
	}

	if kind == codeGrant {
		return s.redeem(w, r)
	}
	return s.renew(w, r)
}

// parameter returns a parameter of the form. Parameters of the URL do not count, as logs contain URLs.
func parameter(r *http.Request, name string) (string, error) {
	values := r.PostForm[name]
	if len(values) > 1 {
		return "", newError("invalid_request", name+" is given more than once.")
	}
	if len(values) == 0 {
		return "", nil
	}
	return values[0], nil
}

// parameters returns parameters of the form. It returns an *Error if a required one is missing.
func parameters(r *http.Request, required, optional []string) (map[string]string, error) {
	values := map[string]string{}
	for i, name := range slices.Concat(required, optional) {
		value, err := parameter(r, name)
		if err != nil {
			return nil, err
		}
		if value == "" && i < len(required) {
			return nil, newError("invalid_request", name+" is required.")
		}
		values[name] = value
	}
	return values, nil
}

// checkResource refuses tokens for any other resource than the returned one.
func (s *Server) checkResource(resource string) (string, error) {
	switch {
	case resource == "":
		return "", nil
	case !s.isResource(resource):
		return "", newError("invalid_target", "resource must be "+s.Resource()+".")
	}
	return s.Resource(), nil
}

// verifierPattern is the syntax of a PKCE code verifier (RFC 7636, 4.1).
var verifierPattern = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)

// challengeOf returns the S256 challenge of a verifier, and reports whether the verifier is well formed.
func challengeOf(verifier string) (string, bool) {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:]), verifierPattern.MatchString(verifier)
}

// redeem exchanges a code for tokens.
func (s *Server) redeem(w http.ResponseWriter, r *http.Request) error {
	q, err := parameters(r, []string{"client_id", "code", "redirect_uri", "code_verifier"}, []string{"resource"})
	if err != nil {
		return err
	}
	resource, err := s.checkResource(q["resource"])
	if err != nil {
		return err
	}

	challenge, ok := challengeOf(q["code_verifier"])
	if !ok {
		return newError("invalid_request", "code_verifier must have 43 to 128 letters, digits and any of - . _ ~.")
	}

	tokens, err := s.store.RedeemGrantCode(r.Context(), store.Redemption{
		Code: q["code"], ClientID: q["client_id"], Redirect: q["redirect_uri"], Challenge: challenge,
		Resource: resource,
	}, s.cfg.GrantEmails)
	if err == nil {
		s.sendEmails()
	}
	return s.writeTokens(w, tokens, err)
}

// renew exchanges a refresh token for new tokens.
func (s *Server) renew(w http.ResponseWriter, r *http.Request) error {
	q, err := parameters(r, []string{"client_id", refreshGrant}, []string{"resource", "scope"})
	if err != nil {
		return err
	}
	resource, err := s.checkResource(q["resource"])
	if err != nil {
		return err
	}

	tokens, err := s.store.RenewGrantTokens(r.Context(), store.Renewal{
		Token: q[refreshGrant], ClientID: q["client_id"], Scopes: strings.Fields(q["scope"]), Resource: resource,
	})
	return s.writeTokens(w, tokens, err)
}

// grantErrors are the replies to a code or refresh token that gives nothing.
var grantErrors = []errorReply{
	{store.ErrNotFound, "invalid_grant", "The code or refresh token is unknown or revoked. Restart the authorization."},
	{store.ErrUsed, "invalid_grant", "This code or refresh token was already used, so all tokens issued from it were revoked. Restart the authorization."},
	{store.ErrExpired, "invalid_grant", "The code or refresh token has expired. Restart the authorization."},
	{store.ErrDenied, "invalid_grant", "The code or refresh token does not match client_id, redirect_uri, resource or code_verifier, or its user can no longer authorize apps."},
	{store.ErrScope, "invalid_scope", "scope exceeds the scopes that the user allowed."},
}

func (s *Server) writeTokens(w http.ResponseWriter, tokens store.GrantTokens, err error) error {
	if err != nil {
		return reply(err, grantErrors)
	}
	return writeJSON(w, http.StatusOK, map[string]any{
		"access_token": tokens.Access, "token_type": "Bearer",
		"expires_in":    max(1, int64(tokens.AccessEnds.Sub(s.now())/time.Second)),
		"refresh_token": tokens.Refresh, "scope": strings.Join(tokens.Scopes, " "),
	})
}

// revoke revokes a token (RFC 7009). An unknown token is a success.
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) error {
	q, err := parameters(r, []string{"client_id", "token"}, nil)
	if err != nil {
		return err
	}
	if err := s.allow(r.Context(), "token:"+s.cfg.ClientIP(r.Context()), tokensPerIPMinute, time.Minute); err != nil {
		return err
	}

	if err := s.store.RevokeGrantToken(r.Context(), q["token"], q["client_id"]); err != nil &&
		!errors.Is(err, store.ErrNotFound) {
		return err
	}
	return writeJSON(w, http.StatusOK, struct{}{})
}
