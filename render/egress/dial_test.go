package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	p := newPolicy(t, Config{
		AllowHosts: []string{"intranet.example", "10.20.0.0/16"},
		Resolver: oneAnswer(map[string][]string{
			"public.example":        {"93.184.216.34", "2606:2800:220::1", "93.184.216.34"},
			"mapped.example":        {"::ffff:93.184.216.34"},
			"inward.example":        {"10.0.0.1"},
			"mixed.example":         {"93.184.216.34", "127.0.0.1"},
			"mixed6.example":        {"93.184.216.34", "::1"},
			"zone.example":          {"fe80::1%lo"},
			"nat64.example":         {"64:ff9b::a00:1"},
			"creds.example":         {"169.254.169.254"},
			"empty.example":         {},
			"intranet.example":      {"10.0.0.1"},
			"in-cidr.example":       {"10.20.0.1"},
			"half-cidr.example":     {"10.20.0.1", "10.21.0.1"},
			"printer.local":         {"192.168.1.9"},
			"db.internal":           {"fd00::5"},
			"localhost":             {"93.184.216.34"},
			"metadata.goog":         {"93.184.216.34"},
			"localhost.localdomain": {"127.0.0.1"},
		}),
	})
	good := map[string][]string{
		"public.example":   {"93.184.216.34", "2606:2800:220::1"},
		"PUBLIC.example.":  {"93.184.216.34", "2606:2800:220::1"},
		"mapped.example":   {"93.184.216.34"},
		"intranet.example": {"10.0.0.1"},
		"in-cidr.example":  {"10.20.0.1"},
		"1.1":              {"1.0.0.1"},
		"10.20.3.4:8443":   {"10.20.3.4"},
	}
	for host, want := range good {
		addrs, err := p.Resolve(t.Context(), host)
		var got []string
		for _, a := range addrs {
			got = append(got, a.String())
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Resolve(%s) = %v, %v; want %v", host, got, err, want)
		}
	}
	bad := map[string]Reason{
		"inward.example": reasonAddress, "mixed.example": reasonAddress, "mixed6.example": reasonAddress, "zone.example": reasonAddress,
		"nat64.example": reasonAddress, "creds.example": reasonMetadata, "half-cidr.example": reasonAddress, "printer.local": reasonAddress,
		"db.internal": reasonAddress, "localhost": reasonName, "metadata.goog": reasonMetadata, "localhost.localdomain": reasonAddress,
		"127.0.0.1": reasonAddress, "0x7f.1": reasonAddress, "a b": reasonSyntax, "public.example:25": reasonPort,
	}
	for host, reason := range bad {
		t.Run(host, func(t *testing.T) {
			addrs, err := p.Resolve(t.Context(), host)
			if addrs != nil {
				t.Errorf("got addresses %v with the error", addrs)
			}
			wantRefused(t, err, reason)
		})
	}
	for _, host := range []string{"missing.example", "empty.example"} {
		var notFound *net.DNSError
		if _, err := p.Resolve(t.Context(), host); !errors.As(err, &notFound) || errors.Is(err, ErrRefused) {
			t.Errorf("Resolve(%s) = %v, want a DNS error", host, err)
		}
	}
}

func TestCheckTargetUsesTheSchemesPort(t *testing.T) {
	p := newPolicy(t, Config{
		AllowHosts: []string{"intranet.example:443"},
		Resolver:   oneAnswer(map[string][]string{"intranet.example": {"10.0.0.1"}, "inward.example": {"10.0.0.1"}}),
	})
	check := func(raw string) error {
		t.Helper()
		u, err := p.CheckURL(raw, "https", "http")
		if err != nil {
			t.Fatalf("CheckURL(%s): %v", raw, err)
		}
		return p.CheckTarget(t.Context(), u)
	}
	if err := check("https://intranet.example/"); err != nil {
		t.Errorf("https://intranet.example/: %v", err)
	}
	wantRefused(t, check("http://intranet.example/"), reasonAddress)
	wantRefused(t, check("https://inward.example/"), reasonAddress)
	wantRefused(t, p.CheckTarget(t.Context(), &url.URL{Host: "a b"}), reasonSyntax)
}

// greeter accepts connections on loopback and sends each a greeting.
func greeter(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "greetings")
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().(*net.TCPAddr).AddrPort()
}

func TestDialContextConnects(t *testing.T) {
	at := greeter(t)
	_, port, _ := net.SplitHostPort(at.String())
	p := newPolicy(t, Config{
		AllowHosts: []string{"site.example:" + port},
		// The first address is dead, and opened by the name as well: the second is tried.
		Resolver: oneAnswer(map[string][]string{"site.example": {"127.0.0.2", "127.0.0.1"}}),
	})
	conn, err := p.DialContext(t.Context(), "tcp", "site.example:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	got, err := io.ReadAll(conn)
	if err != nil || string(got) != "greetings" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, want := conn.RemoteAddr().String(), at.String(); got != want {
		t.Errorf("connected to %s, want %s", got, want)
	}
}

// A name whose DNS answers differently the second time is dialled at the
// address that was checked, because it is asked once.
func TestDialContextLeavesNoGapForRebinding(t *testing.T) {
	at := greeter(t)
	_, port, _ := net.SplitHostPort(at.String())
	outward, inward := []string{"127.0.0.1"}, []string{"127.0.0.9"}
	resolver := newDNS(map[string][][]string{"rebind.example": {outward, inward}})
	p := newPolicy(t, Config{AllowHosts: []string{"127.0.0.1"}, Resolver: resolver})

	conn, err := p.DialContext(t.Context(), "tcp", "rebind.example:"+port)
	if err != nil {
		t.Fatalf("first dial: %v", err)
	}
	conn.Close()
	if got, want := conn.RemoteAddr().String(), at.String(); got != want {
		t.Errorf("connected to %s, want the checked %s", got, want)
	}
	if got := resolver.asked["rebind.example"]; got != 1 {
		t.Errorf("the name was resolved %d times in one dial, want 1", got)
	}
	_, err = p.DialContext(t.Context(), "tcp", "rebind.example:"+port)
	wantRefused(t, err, reasonAddress)
}

// CheckURL and Resolve may have seen a harmless answer: the dial checks again.
func TestDialContextChecksAfterAnEarlierCheck(t *testing.T) {
	resolver := newDNS(map[string][][]string{"rebind.example": {{"93.184.216.34"}, {"127.0.0.1"}}})
	c := newCanary(t, hello)
	p := newPolicy(t, Config{Resolver: resolver})
	if _, err := p.Resolve(t.Context(), "rebind.example"); err != nil {
		t.Fatalf("the first answer is public: %v", err)
	}
	_, err := p.DialContext(t.Context(), "tcp", "rebind.example:"+c.port())
	wantRefused(t, err, reasonAddress)
	if got := c.hits.Load(); got != 0 {
		t.Errorf("the canary was reached %d times", got)
	}
}

func TestControlRefusesBlockedAddresses(t *testing.T) {
	p := newPolicy(t, Config{})
	check := p.control(target{host: "public.example", port: 443})
	if err := check("tcp4", "93.184.216.34:443", nil); err != nil {
		t.Errorf("a public address: %v", err)
	}
	for _, address := range []string{"127.0.0.1:443", "[::1]:443", "93.184.216.34:444", "name.example:443"} {
		wantRefused(t, check("tcp", address, nil), reasonAddress)
	}
	wantRefused(t, check("tcp4", "169.254.169.254:443", nil), reasonMetadata)
}

// TestDialSSH: only connections that speak SSH reach its port, and only at public addresses.
func TestDialSSH(t *testing.T) {
	p := newPolicy(t, Config{Resolver: oneAnswer(map[string][]string{"inside.example": {"10.0.0.1"}})})
	_, err := p.DialContext(t.Context(), "tcp", "93.184.216.34:22")
	wantRefused(t, err, reasonPort)
	_, err = p.DialSSH(t.Context(), "93.184.216.34:25")
	wantRefused(t, err, reasonPort)
	for _, address := range []string{"127.0.0.1:22", "inside.example:22", "169.254.169.254:22", "[::1]:22"} {
		if _, err := p.DialSSH(t.Context(), address); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: got %v, want a refusal", address, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.DialSSH(ended, "93.184.216.34:22"); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("a public host: got %v, want an error of the network", err)
	}
}

func TestDialContextRejects(t *testing.T) {
	p := newPolicy(t, Config{Resolver: oneAnswer(map[string][]string{"four.example": {"93.184.216.34"}})})
	for _, address := range []string{"public.example", "public.example:0", "public.example:", "a b:80", "[fe80::1%lo]:80", "", ":80"} {
		_, err := p.DialContext(t.Context(), "tcp", address)
		wantRefused(t, err, reasonSyntax)
	}
	for _, network := range []string{"udp", "unix", "ip", ""} {
		_, err := p.DialContext(t.Context(), network, "93.184.216.34:80")
		if err == nil || errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "tcp only") {
			t.Errorf("network %q: got %v, want an error about the network", network, err)
		}
	}
	var notFound *net.DNSError
	if _, err := p.DialContext(t.Context(), "tcp6", "four.example:80"); !errors.As(err, &notFound) {
		t.Errorf("tcp6 to a name with IPv4 only: got %v, want a DNS error", err)
	}
}

func TestDialContextEndsWithItsContext(t *testing.T) {
	at := greeter(t)
	p := newPolicy(t, Config{AllowHosts: []string{"127.0.0.1"}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.DialContext(ctx, "tcp", at.String()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}
