package egress

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// ErrTooManyRedirects is returned, wrapped, by a Client that was sent on more
// often than its ClientConfig allows.
var ErrTooManyRedirects = errors.New("too many redirects")

const (
	// defaultClientTimeout bounds a request whose ClientConfig names no time.
	defaultClientTimeout = 30 * time.Second
	// handshakeTimeout bounds a TLS handshake; a healthy one takes well under a second.
	handshakeTimeout = 10 * time.Second
	// clientIdleTimeout is the time for which a connection waits for the next request to the same host: long enough
	// for a burst of files, no longer.
	clientIdleTimeout = 30 * time.Second
	// maxResponseHeader is the maximum number of bytes of a response before its body.
	maxResponseHeader = 64 << 10
)

// ClientConfig holds the settings of a Client. The zero value fetches https only, follows no redirect and takes 30
// seconds at most.
type ClientConfig struct {
	// Schemes are allowed for the request and after every redirect; none means
	// https.
	Schemes []string
	// MaxRedirects is the maximum number of redirects to follow. With 0, the redirect itself is the response, as a
	// webhook wants it; with more, one too many is ErrTooManyRedirects.
	MaxRedirects int
	// Timeout bounds the whole request, its body included; 0 means 30 seconds.
	Timeout time.Duration
}

// Client returns an HTTP client that reaches only addresses that the Policy allows. CheckURL's rules apply to the
// URL of every request and redirect, and DialContext makes every connection. The client uses no proxy, regardless
// of the environment. A refusal is returned as a *url.Error that wraps a *RefusedError. The caller limits the body
// it reads, and calls CloseIdleConnections when done.
func (p *Policy) Client(c ClientConfig) *http.Client {
	timeout := c.Timeout
	if timeout == 0 {
		timeout = defaultClientTimeout
	}

	return &http.Client{
		Timeout:       timeout,
		CheckRedirect: redirectLimit(c.MaxRedirects),
		Transport: &checkedTransport{policy: p, schemes: c.Schemes, base: &http.Transport{
			DialContext:            p.DialContext,
			TLSClientConfig:        &tls.Config{RootCAs: p.roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    handshakeTimeout,
			IdleConnTimeout:        clientIdleTimeout,
			MaxIdleConns:           64,
			MaxResponseHeaderBytes: maxResponseHeader,
			ForceAttemptHTTP2:      true,
		}},
	}
}

func redirectLimit(limit int) func(*http.Request, []*http.Request) error {
	return func(_ *http.Request, via []*http.Request) error {
		switch {
		case limit == 0:
			return http.ErrUseLastResponse
		case len(via) > limit:
			return fmt.Errorf("%w: more than %d", ErrTooManyRedirects, limit)
		}
		return nil
	}
}

// checkedTransport checks the URL of every request, the first and those that
// redirects lead to, since all of them pass here.
type checkedTransport struct {
	policy  *Policy
	schemes []string
	base    *http.Transport
}

// RoundTrip sends r if its URL is allowed.
func (t *checkedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	asked := *r.URL
	if host, err := parseTarget(asked.Host); err == nil {
		asked.Host = host.String() // else String writes an IDN in percent signs
	}

	u, err := t.policy.checkURL(asked.String(), t.schemes)
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // a RoundTripper owns the body, also when it fails
		}
		return nil, t.policy.observe(r.Context(), err)
	}

	r = r.Clone(r.Context())
	r.URL = u
	return t.base.RoundTrip(r)
}

// CloseIdleConnections closes the connections no request is using.
func (t *checkedTransport) CloseIdleConnections() { t.base.CloseIdleConnections() }
