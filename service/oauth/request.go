package oauth

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/store"
)

// maxState bounds the state of a request, in bytes.
const maxState = 2000

// Request is an authorization request (RFC 6749, 4.1.1): a client asks a user for access.
type Request struct {
	Client

	Redirect, State, Challenge, Resource string
	Scopes                               []string
}

// RequestError is an invalid request of a known client to a registered redirect URI. Only the user may choose to go
// back to the client: anyone can register, so an automatic redirect could send users anywhere.
type RequestError struct {
	Code, Text string
	Request    Request
}

func (e *RequestError) Error() string { return e.Code + ": " + e.Text }

// challengePattern is the syntax of an S256 code challenge (RFC 7636, 4.2).
var challengePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// ReadRequest returns the authorization request in the parameters of the consent page, for a user. The page's own
// parameter allow may repeat, no other. The error is a *ClientError if the client or its redirect URI is unknown, and
// a *RequestError if the request is invalid.
func (s *Server) ReadRequest(ctx context.Context, values url.Values, userID string) (Request, error) {
	var q Request
	for name, list := range values {
		if len(list) > 1 && name != "allow" {
			return q, &ClientError{"The link has parameter " + fmt.Sprintf("%.40q", visible(name)) + " more than once."}
		}
	}

	client, err := s.client(ctx, values.Get("client_id"), userID)
	if err != nil {
		return q, err
	}

	redirect := values.Get("redirect_uri")
	same := func(registered string) bool { return sameRedirect(registered, redirect) }
	if !slices.ContainsFunc(client.Redirects, same) || redirectError(redirect) != "" {
		return q, &ClientError{
			"The redirect URI of this link is not registered for " + client.Name +
				". Do not continue: the link may be an attack.",
		}
	}

	q = Request{
		Client: client, Redirect: redirect, State: values.Get("state"), Challenge: values.Get("code_challenge"),
		Resource: s.Resource(),
	}
	if len(q.State) > maxState {
		q.State = ""
		return q, &RequestError{"invalid_request", "state must be at most " + strconv.Itoa(maxState) + " bytes.", q}
	}
	if code, text := s.validateRequest(values); code != "" {
		return q, &RequestError{code, text, q}
	}

	for _, scope := range strings.Fields(values.Get("scope")) {
		if slices.Contains(wire.Scopes(), scope) && !slices.Contains(q.Scopes, scope) {
			q.Scopes = append(q.Scopes, scope)
		}
	}
	if len(q.Scopes) == 0 && values.Get("scope") != "" {
		return q, &RequestError{"invalid_scope", "scope may only contain " + strings.Join(wire.Scopes(), ", ") + ".", q}
	}
	if len(q.Scopes) == 0 {
		q.Scopes = wire.Scopes()
	}
	return q, nil
}

// validateRequest returns the first error in the parameters of a known client, or "". A missing resource is the one
// resource of this server.
func (s *Server) validateRequest(values url.Values) (code, text string) {
	resource := values.Get("resource")
	switch {
	case values.Get("response_type") != "code":
		return "unsupported_response_type", "response_type must be code."
	case values.Get("response_mode") != "" && values.Get("response_mode") != "query":
		return "invalid_request", "response_mode must be query."
	case values.Get("code_challenge_method") != "S256" || !challengePattern.MatchString(values.Get("code_challenge")):
		return "invalid_request", "PKCE is required. Send code_challenge with code_challenge_method=S256."
	case resource != "" && !s.isResource(resource):
		return "invalid_target", "resource must be " + s.Resource() + "."
	}

	return "", ""
}

// Parameters are the parameters of the request, in the order of the form of the consent page: ReadRequest reads the
// same request from them.
func (q Request) Parameters() [][2]string {
	return [][2]string{
		{"client_id", q.ID}, {"redirect_uri", q.Redirect}, {"state", q.State}, {"code_challenge", q.Challenge},
		{"code_challenge_method", "S256"}, {"response_type", "code"}, {"resource", q.Resource}, {"scope", strings.Join(q.Scopes, " ")},
	}
}

// Allow stores the user's consent and returns the URL at which the client receives its code. The consent holds the
// account, the user, the scopes, the spending limit and the expiry; the rest is the request's.
func (s *Server) Allow(ctx context.Context, q Request, consent store.Consent) (redirect string, err error) {
	consent.Client = q.OAuthClient
	consent.Redirect = q.Redirect
	consent.Challenge = q.Challenge
	consent.Resource = q.Resource
	code, err := s.store.AuthorizeClient(ctx, consent)
	if err != nil {
		return "", err
	}
	return s.redirect(q, url.Values{"code": {code}}), nil
}

// Deny returns the URL at which the client learns that the user denies the request.
func (s *Server) Deny(q Request) (redirect string) {
	return s.redirect(q, url.Values{"error": {"access_denied"}, "error_description": {"The user denied the request."}})
}

// Refuse returns the URL at which the client learns that its request is invalid.
func (s *Server) Refuse(e *RequestError) (redirect string) {
	return s.redirect(e.Request, url.Values{"error": {e.Code}, "error_description": {e.Text}})
}

// redirect returns the redirect URI of a request with the parameters of a response (RFC 6749, 4.1.2, and RFC 9207).
func (s *Server) redirect(q Request, response url.Values) string {
	u, err := url.Parse(q.Redirect)
	if err != nil {
		return ""
	}

	values := u.Query()
	for name, list := range response {
		values[name] = list
	}
	if q.State != "" {
		values.Set("state", q.State)
	}

	values.Set("iss", s.cfg.BaseURL)
	u.RawQuery = values.Encode()
	return u.String()
}
