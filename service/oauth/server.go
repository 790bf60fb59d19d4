// Package oauth holds both sides of access tokens.
//
// Server is the authorization server: metadata (RFC 8414 and 9728), client registration (RFC 7591), tokens with PKCE
// (RFC 6749 and 7636), the device flow (RFC 8628) and revocation (RFC 7009). The consent page belongs to package web,
// which reads a client's request with ReadRequest and ends it with Allow or Deny:
//
//	request, err := server.ReadRequest(ctx, r.URL.Query(), user.ID)
//	redirect, err := server.Allow(ctx, request, store.Consent{AccountID: account.ID, PersonID: user.ID, Scopes: scopes})
//
// Issuer verifies the access tokens of an outside provider of OpenID Connect.
package oauth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/service/ratelimit"
	"github.com/relaypdf/relaypdf/store"
)

// Paths of the authorization server. AuthorizePath is the consent page.
const (
	AuthorizePath = "/oauth/authorize"
	registerPath  = "/oauth/register"
	revokePath    = "/oauth/revoke"
	resourcePath  = "/mcp" // the protected resource
)

// Values of grant_type.
const (
	codeGrant    = "authorization_code"
	refreshGrant = "refresh_token"
)

const (
	// maxForm bounds the form of a client without a session, in bytes.
	maxForm = 64 << 10
	// limitWindow is the window of the limits below.
	limitWindow = 15 * time.Minute
	// Many users of a hosted client share one IP address, and so do the machines of a company.
	registrationsPerIP = 60
	devicesPerIP       = 30
	// tokensPerIPMinute lets a handful of devices behind one IP address poll every 5 seconds.
	tokensPerIPMinute = 240
)

// ServerConfig holds the settings of a Server. Store, Limiter, BaseURL, ClientIP, RequestID, Logger and Now are
// required.
type ServerConfig struct {
	Store   *store.Store
	Limiter ratelimit.Limiter
	// BaseURL is the public URL of the service and the issuer of its tokens, without a final slash.
	BaseURL string
	// DocsURL is the URL of the documentation for clients, DeviceURL that of the page for a device's code.
	DocsURL, DeviceURL string
	// OutsideIssuer is the provider whose tokens the resource also accepts. Empty is none.
	OutsideIssuer string
	// Documents fetches client ID metadata documents: https from public addresses, without redirects. If nil, clients
	// must register.
	Documents *http.Client
	// ClientIP returns the IP address that limits count by, RequestID the ID of a request.
	ClientIP, RequestID func(context.Context) string
	Logger              *slog.Logger
	Now                 func() time.Time
	// GrantEmails and KeyEmails write the emails about a new grant and about the key of a device, SendEmails sends
	// them. All are nil in a service without email.
	GrantEmails store.GrantMailBuilder
	KeyEmails   store.KeyMailBuilder
	SendEmails  func()
}

// Server is the authorization server. Its methods are safe for concurrent use.
type Server struct {
	cfg       ServerConfig
	store     *store.Store
	now       func() time.Time
	documents documentCache
}

// NewServer returns an authorization server.
func NewServer(cfg ServerConfig) *Server {
	return &Server{cfg: cfg, store: cfg.Store, now: cfg.Now}
}

// Resource is the URL of the protected resource, the only one that tokens are issued for (RFC 8707).
func (s *Server) Resource() string { return s.cfg.BaseURL + resourcePath }

// ResourceQuery returns the query of the resource's URL if it only selects toolsets, with its question mark, or "".
// Some clients take it for a part of the resource.
func ResourceQuery(query string) string {
	if !toolsetsPattern.MatchString(query) {
		return ""
	}
	return "?" + query
}

var toolsetsPattern = regexp.MustCompile(`^toolsets=([a-z,]|%2C|%2c)*$`)

// isResource reports whether a URL is that of the resource, with or without toolsets.
func (s *Server) isResource(resource string) bool {
	base, query, _ := strings.Cut(resource, "?")
	return base == s.Resource() && (base == resource || toolsetsPattern.MatchString(query))
}

// Route is an endpoint of the server.
type Route struct {
	Method, Path string
	handle       handler
}

// Routes lists the endpoints.
func (s *Server) Routes() []Route {
	return []Route{
		{http.MethodPost, wire.DeviceBeginPath, s.beginDevice},
		{http.MethodGet, wire.ServerMetadataPath, s.serverMetadata},
		{http.MethodGet, wire.ResourceMetadataPath, s.resourceMetadata},
		{http.MethodGet, wire.ResourceMetadataPath + resourcePath, s.resourceMetadata},
		{http.MethodPost, registerPath, s.register},
		{http.MethodPost, wire.DeviceTokenPath, s.token},
		{http.MethodPost, revokePath, s.revoke},
	}
}

// Mount adds the endpoints to a router. Metadata also answers HEAD, and OPTIONS for pages of other origins.
func (s *Server) Mount(r chi.Router) {
	for _, route := range s.Routes() {
		handler := s.serve(route.handle)
		r.Method(route.Method, route.Path, handler)
		if route.Method == http.MethodGet {
			r.Method(http.MethodHead, route.Path, handler)
			r.Method(http.MethodOptions, route.Path, http.HandlerFunc(preflight))
		}
	}
}

// handler handles a request of a client. Only the text of an *Error reaches the client.
type handler func(http.ResponseWriter, *http.Request) error

// serve reads the form and handles the request. No session is read.
func (s *Server) serve(handle handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := guard.Try(func() error {
			if err := readForm(w, r); err != nil {
				return err
			}
			return handle(w, r)
		})
		if err != nil {
			s.writeError(w, r, err)
		}
	})
}

// readForm reads the form of a POST request.
func readForm(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		return nil
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if r.ParseForm() != nil {
		return newError("invalid_request", "The form cannot be read.")
	}
	return nil
}

// allow counts a request for key, and returns an *Error if there were more than limit in the window.
func (s *Server) allow(ctx context.Context, key string, limit int, window time.Duration) error {
	if wait, ok := s.take(ctx, key, limit, window); !ok {
		return tooManyRequests(wait)
	}
	return nil
}

// take counts a request for key. It reports whether the request is allowed, and how long to wait if not. No request
// is allowed while the limiter fails.
func (s *Server) take(ctx context.Context, key string, limit int, window time.Duration) (wait time.Duration, ok bool) {
	verdict, err := s.cfg.Limiter.Take(ctx, "oauth:"+key, ratelimit.Window{
		Name: "attempts", Limit: limit, Length: window,
	})
	if err != nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelError, "count attempts failed", slog.Any("error", err))
		return time.Minute, false
	}
	return verdict.RetryAfter, verdict.Allowed
}

// sendEmails sends the emails that a transaction has written.
func (s *Server) sendEmails() {
	if s.cfg.SendEmails != nil {
		s.cfg.SendEmails()
	}
}

// reply returns the error of the first entry of a table that matches err, or err.
func reply(err error, table []errorReply) error {
	for _, row := range table {
		if errors.Is(err, row.err) {
			return newError(row.code, row.text)
		}
	}
	return err
}

// errorReply maps an error of the store to an error code and its text.
type errorReply struct {
	err        error
	code, text string
}
