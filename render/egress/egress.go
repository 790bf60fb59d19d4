// Package egress decides which hosts this service may reach on behalf of a user, and is the only way to the
// network: one dialer for requests of Go (file fetches, callbacks, webhooks) and one HTTP proxy in front of the
// programs that render pages (Chromium, wkhtmltopdf).
//
// There is one rule: only addresses of the public internet are reached, and none of this machine. It is applied
// early to the text of a URL, so that a user gets an error at once, and again to the address that is dialled. A
// name is resolved once, all its addresses are checked, and a checked address is dialled, so that a second DNS
// response cannot replace it.
package egress

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
)

// ErrRefused is matched, with errors.Is, by every refusal of this package.
var ErrRefused = errors.New("the URL is not allowed")

// Reason is the reason why an address was refused. The set is small and fixed, so that a reason can label a metric.
type Reason string

// The reasons of a RefusedError.
const (
	reasonSyntax   Reason = "syntax"   // not an absolute URL, or a host no browser would accept
	reasonScheme   Reason = "scheme"   // a scheme that was not asked for
	reasonUserinfo Reason = "userinfo" // user or password before the host
	reasonName     Reason = "name"     // a name that means this machine, such as localhost
	reasonAddress  Reason = "address"  // an address outside the public internet
	reasonMetadata Reason = "metadata" // a cloud's metadata service, by name or address
	reasonPort     Reason = "port"     // a port of a protocol that is not the web's
)

// RefusedError means that an address may not be reached. Its text is meant for the user and does not name the rule,
// so that it cannot be used to map a network; the fields are for the log.
type RefusedError struct {
	Host    string   // the host as far as it was understood, else empty; never a whole URL
	Reason  Reason   // the rule that refused it
	Detail  string   // the value that the rule matched, for the log only
	Schemes []string // the schemes that were allowed; empty where only an address was checked
}

// Error returns the text for the customer.
func (e *RefusedError) Error() string {
	if len(e.Schemes) == 0 {
		return ErrRefused.Error() + ": only public hosts can be reached"
	}
	return ErrRefused.Error() + ": only public " + strings.Join(e.Schemes, " and ") + " hosts can be reached"
}

// Is makes every RefusedError match ErrRefused.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

// Resolver looks up the addresses of a name. net.DefaultResolver is one.
type Resolver interface {
	// LookupNetIP returns the addresses of host; network is "ip", "ip4" or "ip6".
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Config holds the addresses that a Policy allows and its hooks. The zero value is the strict policy.
type Config struct {
	// AllowHosts opens targets that would be refused. Each entry is a host name
	// or an IP address, either with an optional port ("intranet.example:8443",
	// "[fd12::1]:443"), or a CIDR ("10.20.0.0/16"). A name opens that very name,
	// wherever it resolves; an address or CIDR opens these addresses and every
	// name that resolves to them. The addresses of metadata services open only
	// to an entry that is that single address: credentials should not be within
	// reach because a network was opened.
	AllowHosts []string
	// OwnHosts are the names and addresses under which this service itself
	// is reached. They are refused like this machine's addresses, unless opened.
	OwnHosts []string
	// Interfaces lists the addresses of this machine, which are refused, public
	// ones too, unless opened; nil means net.InterfaceAddrs. It is asked again now
	// and then.
	Interfaces func() ([]net.Addr, error)
	// ExtraCA is the complete set of roots TLS connections are verified
	// against: the system's and the operator's. Nil means the system's.
	ExtraCA *x509.CertPool
	// Resolver looks names up; nil means net.DefaultResolver.
	Resolver Resolver
	// Logger receives one line per refusal, with the host and never the URL.
	// Nil discards them.
	Logger *slog.Logger
	// OnRefuse, if set, is called at every refusal, for metrics. It may be
	// called from many goroutines at once.
	OnRefuse func(host string, reason Reason)
}

// Policy decides which addresses may be reached, and connects to them. Apart from the addresses of this machine, it
// does not change after New. It is safe for concurrent use.
type Policy struct {
	allow    allowList
	roots    *x509.CertPool
	resolver Resolver
	log      *slog.Logger
	onRefuse func(host string, reason Reason)
}

// New returns the Policy of c. The error names the entry of AllowHosts that
// cannot be understood.
func New(c Config) (*Policy, error) {
	allow, err := parseAllowList(c.AllowHosts)
	if err != nil {
		return nil, err
	}

	allow.own = newOwnAddrs(c.Interfaces)
	for _, host := range c.OwnHosts {
		if err := allow.addOwn(strings.TrimSpace(host)); err != nil {
			return nil, fmt.Errorf("own host %q: %w", host, err)
		}
	}

	p := &Policy{allow: allow, roots: c.ExtraCA, resolver: c.Resolver, log: c.Logger, onRefuse: c.OnRefuse}
	if p.resolver == nil {
		p.resolver = net.DefaultResolver
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	return p, nil
}

// observe reports err if it is a refusal, and returns it unchanged. Every exported method calls it once, at its
// end; the methods below them do not.
func (p *Policy) observe(ctx context.Context, err error) error {
	var refused *RefusedError
	if !errors.As(err, &refused) {
		return err
	}

	p.log.LogAttrs(ctx, slog.LevelInfo, "egress refused", slog.String("host", refused.Host),
		slog.String("reason", string(refused.Reason)), slog.String("detail", refused.Detail))
	if p.onRefuse != nil {
		p.onRefuse(refused.Host, refused.Reason)
	}
	return err
}
