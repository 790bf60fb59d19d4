package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

var errDialled = errors.New("dialled")

// dialledBy returns the address net/http would connect to for u.
func dialledBy(t *testing.T, u string) string {
	t.Helper()
	var got string
	transport := &http.Transport{DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
		got = address
		return nil, errDialled
	}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u, nil)
	if err != nil {
		t.Fatalf("net/http does not take the accepted URL %q: %v", u, err)
	}
	if resp, err := transport.RoundTrip(r); err == nil {
		resp.Body.Close()
	}
	return got
}

// FuzzCheckURL: whatever CheckURL accepts, net/http dials a host that is public
// or a name that can only be a name; and the accepted text is stable.
func FuzzCheckURL(f *testing.F) {
	for _, seed := range []string{
		"https://example.com/", "HTTP://1.1.1.1:80/a?b#c", "http://[2606:4700::1]:8080/", "http://127.1/", "http://0x7f.1/", "http://[::ffff:127.0.0.1]/",
		"http://localhost./", "http://127\u30020.0.1/", "http://\uff11\uff12\uff17.1/", "http://user@host/", "http:\\\\host", "http:///host", "file:///etc/passwd",
		"http://b\u00fccher.example/", "http://[fe80::1%25lo]/", "http://example.com:/", "http://017700000001", "http://local\u00adhost/", "http://xn--/",
	} {
		f.Add(seed)
	}
	p, err := New(Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := p.CheckURL(raw, "http", "https")
		if err != nil {
			if !errors.Is(err, ErrRefused) || u != nil {
				t.Fatalf("got %v, %v; want no URL and a refusal", u, err)
			}
			return
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Opaque != "" {
			t.Fatalf("accepted %q as %#v", raw, u)
		}
		again, err := p.CheckURL(u.String(), "http", "https")
		if err != nil || again.String() != u.String() {
			t.Fatalf("accepted %q as %s, but that as %v, %v", raw, u, again, err)
		}
		host, _, err := net.SplitHostPort(dialledBy(t, u.String()))
		if err != nil {
			t.Fatalf("accepted %q, dialled %v", raw, err)
		}
		wantPublicLooking(t, raw, host)
		// Go's own reading of the raw text agrees on the host, where it is ASCII.
		if parsed, err := url.Parse(raw); err == nil && isASCII(raw) && u.Hostname() == strings.ToLower(parsed.Hostname()) {
			return
		} else if err == nil && isASCII(raw) && net.ParseIP(u.Hostname()) == nil && u.Hostname() != strings.TrimSuffix(strings.ToLower(parsed.Hostname()), ".") {
			t.Fatalf("%q: host %q, net/url reads %q", raw, u.Hostname(), parsed.Hostname())
		}
	})
}

// wantPublicLooking judges host by means independent of this package.
func wantPublicLooking(t *testing.T, raw, host string) {
	t.Helper()
	if addr, err := netip.ParseAddr(host); err == nil {
		addr = addr.Unmap()
		if addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsMulticast() || addr.IsUnspecified() || !addr.IsGlobalUnicast() {
			t.Fatalf("accepted %q, which dials %s", raw, addr)
		}
		return
	}
	if strings.HasSuffix("."+host, ".localhost") || strings.HasSuffix(host, ".") {
		t.Fatalf("accepted %q, which dials %s", raw, host)
	}
	// A C library reads a name whose last label begins with a digit as an
	// address if it can; only digits, hex digits and x are in such a name.
	last := host[strings.LastIndexByte(host, '.')+1:]
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") && strings.Trim(last[2:], "0123456789abcdef") == "" {
		t.Fatalf("accepted %q, whose host %q a C library may read as an address", raw, host)
	}
}
