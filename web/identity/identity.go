// Package identity signs users in with a provider of OpenID Connect.
package identity

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Config selects the provider and the client's credentials.
type Config struct {
	// Name is the provider's name for users.
	Name string
	// Issuer is the provider's address, as it writes it itself.
	Issuer                 string
	ClientID, ClientSecret string
	// RedirectURL is our page that the provider redirects to.
	RedirectURL string
	// Roots are the certificate authorities that the provider's is checked with;
	// nil means the system's.
	Roots *x509.CertPool
}

// Provider identifies users. Its methods are safe for concurrent use.
type Provider struct {
	cfg    Config
	client *http.Client

	mu    sync.Mutex
	found *oidc.Provider // nil until it has answered
}

// Flow is one login request. It has to be stored, and hidden, until the response comes.
type Flow struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
}

// Claims are the claims of the provider about a user.
type Claims struct {
	// Identity is the provider and its name for the user, which never changes.
	Identity string
	Name     string
	Email    string
	// Verified reports that the provider has verified the email address.
	Verified bool
}

// errDenied means that the provider or the user has refused, or that the response belongs to another request.
var errDenied = errors.New("the provider did not say who it is")

// requestTimeout is the timeout of a request to the provider.
const requestTimeout = 15 * time.Second

// New returns a provider. It sends no request yet.
func New(cfg Config) *Provider {
	transport := &http.Transport{
		Proxy:           http.ProxyFromEnvironment,
		TLSClientConfig: &tls.Config{RootCAs: cfg.Roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
	}
	return &Provider{cfg: cfg, client: &http.Client{Transport: transport, Timeout: requestTimeout}}
}

// Name returns the provider's name for users.
func (p *Provider) Name() string { return p.cfg.Name }

// discover reads the provider's metadata once. If the provider did not respond, the next call tries again.
func (p *Provider) discover(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}

	found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.cfg.Issuer)
	if err != nil {
		return nil, fmt.Errorf("ask the provider of identities for its configuration: %w", err)
	}

	p.found = found
	return found, nil
}

func (p *Provider) oauth(found *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.cfg.ClientID, ClientSecret: p.cfg.ClientSecret,
		Endpoint: found.Endpoint(), RedirectURL: p.cfg.RedirectURL,
		Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
	}
}

// Begin returns the provider's URL for a user's login, and the state to store until the user returns. If again is
// true, the provider asks for the user's password even if they are logged in there.
func (p *Provider) Begin(ctx context.Context, again bool) (Flow, string, error) {
	found, err := p.discover(ctx)
	if err != nil {
		return Flow{}, "", err
	}

	flow := Flow{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	options := []oauth2.AuthCodeOption{oidc.Nonce(flow.Nonce), oauth2.S256ChallengeOption(flow.Verifier)}
	if again {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	}
	return flow, p.oauth(found).AuthCodeURL(flow.State, options...), nil
}

// Finish returns the user who has returned from the provider with a state and a code. It returns errDenied if the
// response does not belong to the flow.
func (p *Provider) Finish(ctx context.Context, flow Flow, state, code string) (Claims, error) {
	if flow.State == "" || code == "" || subtle.ConstantTimeCompare([]byte(flow.State), []byte(state)) != 1 {
		return Claims{}, errDenied
	}

	found, err := p.discover(ctx)
	if err != nil {
		return Claims{}, err
	}

	ctx = oidc.ClientContext(ctx, p.client)
	token, err := p.oauth(found).Exchange(ctx, code, oauth2.VerifierOption(flow.Verifier))
	if refused := (*oauth2.RetrieveError)(nil); errors.As(err, &refused) {
		return Claims{}, fmt.Errorf("%w: %s", errDenied, refused.ErrorCode)
	}
	if err != nil {
		return Claims{}, fmt.Errorf("exchange the code: %w", err)
	}

	raw, _ := token.Extra("id_token").(string)
	verified, err := found.Verifier(&oidc.Config{ClientID: p.cfg.ClientID}).Verify(ctx, raw)
	if err != nil {
		return Claims{}, fmt.Errorf("%w: %w", errDenied, err)
	}
	if verified.Subject == "" || subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(flow.Nonce)) != 1 {
		return Claims{}, errDenied
	}
	return p.claims(ctx, found, token, verified)
}

// profile contains the claims that are read from a token or from the provider's response. Some providers write
// booleans as text.
type profile struct {
	Name     string `json:"name"`
	Email    string `json:"email"`
	Verified any    `json:"email_verified"`
}

// claims reads the claims about a user: from the token, or from the provider's userinfo endpoint if the token
// contains less.
func (p *Provider) claims(
	ctx context.Context, found *oidc.Provider, token *oauth2.Token, verified *oidc.IDToken,
) (Claims, error) {
	var about profile
	if err := verified.Claims(&about); err != nil {
		return Claims{}, fmt.Errorf("%w: %w", errDenied, err)
	}

	if about.Email == "" && found.UserInfoEndpoint() != "" {
		info, err := found.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil {
			return Claims{}, fmt.Errorf("ask the provider for a person's address: %w", err)
		}
		if info.Subject != verified.Subject {
			return Claims{}, errDenied
		}
		if err := info.Claims(&about); err != nil {
			return Claims{}, fmt.Errorf("%w: %w", errDenied, err)
		}
	}

	return Claims{
		Identity: verified.Issuer + " " + verified.Subject, Name: about.Name, Email: about.Email,
		Verified: about.Email != "" && (about.Verified == true || about.Verified == "true"),
	}, nil
}
