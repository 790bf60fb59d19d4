package oauth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/sync/singleflight"
)

// IssuerConfig selects the provider whose tokens are accepted.
type IssuerConfig struct {
	// Issuer is the provider's address, as it writes it itself.
	Issuer string
	// Audience is the required audience of its tokens.
	Audience string
	// Roots are the certificate authorities that the provider's is checked with;
	// nil means the system's.
	Roots *x509.CertPool
	// Timeout bounds a question to the provider; 0 means 5 seconds.
	Timeout time.Duration
	// Now is the clock; nil means the machine's.
	Now func() time.Time
}

const (
	// issuerTimeout is the default of IssuerConfig.Timeout, maxAnswer limits a response of the provider in bytes.
	issuerTimeout = 5 * time.Second
	maxAnswer     = 1 << 20
	// pause is the interval before the provider is asked the same again: anyone can send tokens that name unknown
	// keys.
	pause = 10 * time.Second
	// keysLife is the maximum age of the provider's keys. From askAhead on, the refresh runs in the background, so
	// no request has to wait for it.
	keysLife = time.Hour
	askAhead = keysLife / 2
	// maxToken bounds a token in bytes.
	maxToken = 16 << 10
)

// algorithms lists the accepted algorithms, which use asymmetric keys. With a symmetric key, everyone who can
// verify tokens could also create them.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512,
	oidc.EdDSA,
}

// types are the types that access tokens have in their header (RFC 9068), or none. Other tokens that a provider signs
// have other types.
var types = []string{"", "jwt", "at+jwt", "application/at+jwt"}

var (
	// ErrToken means that a token is not one that the provider has issued for this
	// service, or no longer.
	ErrToken = errors.New("the token is not a valid token of the issuer for this service")
	// ErrMail means that a token does not identify its user: it has no email address that the provider has confirmed.
	ErrMail = errors.New("the token has no verified email address")
	// ErrUnavailable means that the provider's keys cannot be had now.
	ErrUnavailable = errors.New("the token issuer does not answer")
)

// Holder is the holder of a verified token.
type Holder struct {
	// Email is the user's, as the provider has confirmed it; Client is the program's name at the provider.
	Email, Client string
	Scopes        []string
}

// Issuer reads the tokens of a provider. It fetches the provider's metadata when the first token arrives. Its
// methods are safe for concurrent use.
type Issuer struct {
	cfg    IssuerConfig
	client *http.Client

	asks singleflight.Group

	mu    sync.Mutex
	keys  *keySet // nil until the provider has answered
	since time.Time
	away  bool // it did not answer the last time
}

// NewIssuer returns a reader of tokens.
func NewIssuer(cfg IssuerConfig) *Issuer {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = issuerTimeout
	}

	transport := &http.Transport{
		Proxy:           http.ProxyFromEnvironment,
		TLSClientConfig: &tls.Config{RootCAs: cfg.Roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
	}

	return &Issuer{
		cfg: cfg,
		client: &http.Client{
			Transport: &throttledTransport{now: cfg.Now, asked: map[string]*lastFetch{}, next: transport}, Timeout: cfg.Timeout,
		},
	}
}

// Name is the provider's address.
func (i *Issuer) Name() string { return i.cfg.Issuer }

// LooksLikeJWT reports whether a secret may be a token of a provider: it has the three parts of a signed token.
func LooksLikeJWT(secret string) bool {
	return strings.HasPrefix(secret, "eyJ") && strings.Count(secret, ".") == 2
}

// Holder returns the user of a token. Its error is ErrToken, ErrMail or ErrAway.
func (i *Issuer) Holder(ctx context.Context, token string) (Holder, error) {
	// A token that names another issuer is refused without asking this one.
	if len(token) > maxToken || !i.claims(token) {
		return Holder{}, ErrToken
	}

	keys, err := i.current(ctx)
	if err != nil {
		return Holder{}, err
	}

	verifier := oidc.NewVerifier(i.cfg.Issuer, keys, &oidc.Config{
		ClientID: i.cfg.Audience, SupportedSigningAlgs: algorithms, Now: i.cfg.Now,
	})
	var away error
	verified, err := verifier.Verify(context.WithValue(ctx, awayKey{}, &away), token)
	switch {
	case away != nil:
		return Holder{}, away
	case err != nil:
		return Holder{}, fmt.Errorf("%w: %w", ErrToken, err)
	}
	return i.read(verified)
}

// claims reports whether a token names the provider and the type of access tokens. The signature is not verified yet.
func (i *Issuer) claims(token string) bool {
	var header struct{ Typ string }
	var body struct{ Iss string }
	parts := strings.Split(token, ".")
	return len(parts) == 3 && decode(parts[0], &header) && decode(parts[1], &body) && body.Iss == i.cfg.Issuer &&
		slices.Contains(types, strings.ToLower(header.Typ))
}

func decode(part string, v any) bool {
	text, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(text, v) == nil
}

// read returns the relevant claims of a verified token. Some providers write booleans as text, or scopes as a list.
func (i *Issuer) read(token *oidc.IDToken) (Holder, error) {
	var said struct {
		Email    string          `json:"email"`
		Verified any             `json:"email_verified"`
		Scope    json.RawMessage `json:"scope"`
		Scp      json.RawMessage `json:"scp"`
		ClientID string          `json:"client_id"`
		Azp      string          `json:"azp"`
	}
	if err := token.Claims(&said); err != nil {
		return Holder{}, fmt.Errorf("%w: %w", ErrToken, err)
	}
	if said.Email == "" || said.Verified != true && said.Verified != "true" {
		return Holder{}, ErrMail
	}

	h := Holder{Email: said.Email, Client: said.ClientID}
	if h.Client == "" {
		h.Client = said.Azp
	}

	for _, scope := range append(scopesOf(said.Scope), scopesOf(said.Scp)...) {
		// Some providers prefix a scope with its audience.
		h.Scopes = append(h.Scopes, strings.TrimPrefix(scope, strings.TrimSuffix(i.cfg.Audience, "/")+"/"))
	}
	return h, nil
}

func scopesOf(text json.RawMessage) []string {
	var list []string
	var words string
	if json.Unmarshal(text, &list) == nil {
		return list
	}
	if json.Unmarshal(text, &words) == nil {
		return strings.Fields(words)
	}
	return nil
}

// current returns the provider's keys. It refreshes old keys, and uses them while the provider does not respond: a
// request then waits for it once at most.
func (i *Issuer) current(ctx context.Context) (*keySet, error) {
	i.mu.Lock()
	keys := i.keys
	age := i.cfg.Now().Sub(i.since)
	away := i.away
	i.mu.Unlock()

	if keys != nil && age < askAhead {
		return keys, nil
	}

	// The first caller may leave while others wait for the same response.
	answer := i.asks.DoChan("", func() (any, error) { return nil, i.ask(context.WithoutCancel(ctx)) })
	if keys != nil && (away || age < keysLife) {
		return keys, nil
	}

	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	case got := <-answer:
		if got.Err != nil && keys == nil {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, got.Err)
		}
	}

	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys, nil
}

// ask gets the provider's keys, which take the place of those that are known.
func (i *Issuer) ask(ctx context.Context) error {
	fresh, err := i.discover(ctx)
	if err == nil {
		err = fresh.get(ctx)
	}

	i.mu.Lock()
	defer i.mu.Unlock()
	i.away = err != nil
	if !i.away {
		i.keys = fresh
		i.since = i.cfg.Now()
	}
	return err
}

// discover asks the provider where its keys are.
func (i *Issuer) discover(ctx context.Context) (*keySet, error) {
	ctx = oidc.ClientContext(ctx, i.client)
	provider, err := oidc.NewProvider(ctx, i.cfg.Issuer)
	if err != nil {
		return nil, err
	}

	var found struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&found); err != nil {
		return nil, err
	}
	if err := i.trusts(found.Keys); err != nil {
		return nil, err
	}
	return &keySet{oidc.NewRemoteKeySet(ctx, found.Keys)}, nil
}

// trusts refuses keys from a less secure URL than the issuer's.
func (i *Issuer) trusts(address string) error {
	keys, err := url.Parse(address)
	if err == nil && keys.Scheme != "https" && strings.HasPrefix(i.cfg.Issuer, "https://") {
		err = fmt.Errorf("its keys are at %s, which is not https", address)
	}
	return err
}

// keySet holds the provider's keys. The verifier returns its errors as text only, so errors of the provider are
// distinguished here.
type keySet struct{ *oidc.RemoteKeySet }

type awayKey struct{}

// nobodys is a token that no key has signed.
const nobodys = "eyJhbGciOiJSUzI1NiJ9.e30.AA"

// get asks for the keys: they are there once something was looked at with them.
func (k *keySet) get(ctx context.Context) error {
	if _, err := k.RemoteKeySet.VerifySignature(ctx, nobodys); errors.Is(err, ErrUnavailable) || errors.Is(err, errSoon) {
		return err
	}
	return nil
}

// VerifySignature implements oidc.KeySet.
func (k *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.RemoteKeySet.VerifySignature(ctx, token)
	if away, ok := ctx.Value(awayKey{}).(*error); ok && errors.Is(err, ErrUnavailable) {
		*away = err
	}
	return payload, err
}

// errSoon means that the provider has answered the same a moment ago.
var errSoon = errors.New("it was queried a moment ago")

// throttledTransport fetches a URL at intervals, and limits the size of each response.
type throttledTransport struct {
	next http.RoundTripper
	now  func() time.Time

	mu    sync.Mutex
	asked map[string]*lastFetch // by URL: of the provider's metadata, and of its keys
}

// lastFetch is the last time that an address was asked for.
type lastFetch struct {
	at  time.Time
	err error // result
}

// RoundTrip implements http.RoundTripper.
func (s *throttledTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	address := r.URL.String()
	now := s.now()

	s.mu.Lock()
	last := s.asked[address]
	if last != nil && now.Sub(last.at) < pause {
		defer s.mu.Unlock()
		return nil, last.err
	}
	asked := &lastFetch{now, errSoon}
	s.asked[address] = asked
	s.mu.Unlock()

	answer, err := s.next.RoundTrip(r)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.Join(fmt.Errorf("it returned status %d", answer.StatusCode), answer.Body.Close())
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrUnavailable, err)
		s.mu.Lock()
		asked.err = err
		s.mu.Unlock()
		return nil, err
	}

	answer.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	return answer, nil
}
