package egress

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// CheckURL checks the text of a URL: it must be an absolute URL of one of the given schemes (in any case; https if
// none is given), without user or password, and its host must not be a refused address or name. It does not use the
// network. Resolve and the dialer check whether a name resolves to a private address.
//
// The returned URL has its scheme and host in canonical form. Use it from here on, so that the checked and the
// opened URL are the same text. The error is a *RefusedError.
func (p *Policy) CheckURL(raw string, schemes ...string) (*url.URL, error) {
	u, err := p.checkURL(raw, schemes)
	return u, p.observe(context.Background(), err)
}

func (p *Policy) checkURL(raw string, schemes []string) (*url.URL, error) {
	if len(schemes) == 0 {
		schemes = []string{"https"}
	}

	u, t, err := parseURL(raw, schemes)
	if err == nil {
		err = p.allow.checkName(t.withDefaultPort(u.Scheme))
	}
	if err != nil {
		var refused *RefusedError
		if errors.As(err, &refused) {
			refused.Schemes = schemes // fresh in parseURL or checkName, so ours to complete
		}
		return nil, err
	}
	return u, nil
}

// parseURL reads raw strictly. Where browsers repair a URL (blanks, tabs, backslashes,
// missing or extra slashes), parseURL refuses it, because after a repair two readers may
// see two hosts.
func parseURL(raw string, schemes []string) (*url.URL, target, error) {
	refuse := func(reason Reason, detail string) (*url.URL, target, error) {
		return nil, target{}, &RefusedError{Reason: reason, Detail: detail}
	}

	scheme, rest, ok := strings.Cut(raw, ":")
	if !ok || strings.ContainsFunc(raw, isMended) || !utf8.ValidString(raw) {
		return refuse(reasonSyntax, "not an absolute URL")
	}
	if !slices.ContainsFunc(schemes, func(s string) bool { return strings.EqualFold(s, scheme) && isASCII(scheme) }) {
		return refuse(reasonScheme, "scheme not asked for")
	}
	rest, ok = strings.CutPrefix(rest, "//")
	if !ok {
		return refuse(reasonSyntax, "no // after the scheme")
	}

	authority := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority = rest[:i]
	}
	if strings.Contains(authority, "@") {
		return refuse(reasonUserinfo, "user or password in the URL")
	}

	t, err := parseTarget(authority)
	if err != nil || !bracketsMatch(authority, t) {
		return refuse(reasonSyntax, "not a valid host")
	}

	u, err := url.Parse(strings.ToLower(scheme) + "://" + t.String() + rest[len(authority):])
	if err != nil {
		return refuse(reasonSyntax, "not a valid URL")
	}
	return u, t, nil
}

// bracketsMatch refuses the bare IPv6 address that parseTarget accepts, which
// has no place in a URL.
func bracketsMatch(authority string, t target) bool {
	return !t.addr.Is6() || strings.HasPrefix(authority, "[")
}

func isMended(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// withDefaultPort fills in the port of a URL that names none.
func (t target) withDefaultPort(scheme string) target {
	if t.port != 0 {
		return t
	}

	switch scheme {
	case "https", "wss":
		t.port = 443
	case "http", "ws":
		t.port = 80
	}
	return t
}

// CheckTarget checks the host of u, a result of CheckURL, as the DNS resolves it now. Use it when an address is
// registered for later use; a dial makes the same check. The error is a *RefusedError, or the resolver's.
func (p *Policy) CheckTarget(ctx context.Context, u *url.URL) error {
	t, err := parseTarget(u.Host)
	if err != nil {
		return p.observe(ctx, &RefusedError{Reason: reasonSyntax, Detail: "not a valid host"})
	}
	_, err = p.resolve(ctx, t.withDefaultPort(u.Scheme))
	return p.observe(ctx, err)
}

// CheckAddr reports whether addr may be reached. host is the name it was found
// under, "host" or "host:port" (or empty), because the operator may have opened
// that name. The error is a *RefusedError.
func (p *Policy) CheckAddr(addr netip.Addr, host string) error {
	t := target{}
	if host != "" {
		var err error
		if t, err = parseTarget(host); err != nil {
			return p.observe(context.Background(), &RefusedError{Reason: reasonSyntax, Detail: "not a valid host"})
		}
	}
	return p.observe(context.Background(), p.allow.checkAddr(addr, t))
}
