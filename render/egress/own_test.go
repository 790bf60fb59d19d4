package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"testing"
	"time"
)

// interfaces is a machine whose addresses can change.
type interfaces struct {
	mu    sync.Mutex
	addrs []net.Addr
	err   error
}

func (i *interfaces) set(err error, addrs ...string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.addrs, i.err = nil, err
	for _, a := range addrs {
		ip, network, parseErr := net.ParseCIDR(a)
		if parseErr != nil {
			panic(parseErr)
		}
		i.addrs = append(i.addrs, &net.IPNet{IP: ip, Mask: network.Mask})
	}
}

func (i *interfaces) list() ([]net.Addr, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.addrs, i.err
}

// machine has a public address of each family.
func machine() *interfaces {
	i := &interfaces{}
	i.set(nil, "127.0.0.1/8", "8.8.4.4/24", "2600:1f00::7/64")
	return i
}

func TestOwnPublicAddressesAreRefused(t *testing.T) {
	dns := oneAnswer(map[string][]string{"here.test": {"8.8.4.4"}, "there.test": {"8.8.4.5"}, "six.test": {"2600:1f00::7"}})
	p := newPolicy(t, Config{Resolver: dns, Interfaces: machine().list})
	for _, address := range []string{
		"https://8.8.4.4/", "https://8.8.4.4:8788/metrics", "https://[2600:1f00::7]/", "https://[::ffff:8.8.4.4]/", "https://[64:ff9b::8.8.4.4]/",
		"https://134743044/", "https://0x8.0x8.0x4.0x4/",
	} {
		if _, err := p.CheckURL(address); !errors.Is(err, ErrRefused) {
			t.Errorf("%s is this machine itself: %v, want a refusal", address, err)
		}
	}
	for _, name := range []string{"here.test", "six.test"} {
		_, err := p.Resolve(t.Context(), name)
		wantRefused(t, err, reasonAddress)
		_, err = p.DialContext(t.Context(), "tcp", name+":8788")
		wantRefused(t, err, reasonAddress)
	}
	if err := p.CheckAddr(netip.MustParseAddr("8.8.4.4"), ""); !errors.Is(err, ErrRefused) {
		t.Errorf("CheckAddr: %v", err)
	}
	for _, neighbour := range []string{"there.test", "8.8.4.5"} {
		if _, err := p.Resolve(t.Context(), neighbour); err != nil {
			t.Errorf("%s is another machine: %v", neighbour, err)
		}
	}
}

// TestOwnAddressIsRefusedWhenDialled goes past the checks of the name, as a
// mistake in them would.
func TestOwnAddressIsRefusedWhenDialled(t *testing.T) {
	p := newPolicy(t, Config{Interfaces: machine().list})
	target, err := parseTarget("here.test:8788")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = p.dialFirst(ctx, target, []netip.Addr{netip.MustParseAddr("8.8.4.4")})
	wantRefused(t, err, reasonAddress)
}

func TestOwnAddressesFollowTheMachine(t *testing.T) {
	now := time.Now()
	i := machine()
	p := newPolicy(t, Config{Interfaces: i.list})
	p.allow.own.now = func() time.Time { return now }
	reaches := func(addr string) bool { return p.CheckAddr(netip.MustParseAddr(addr), "") == nil }
	if reaches("8.8.4.4") || !reaches("9.9.9.9") {
		t.Error("the address at the start is not refused, or another is")
	}
	i.set(nil, "9.9.9.9/24")
	now = now.Add(ownFor)
	if reaches("9.9.9.9") || !reaches("8.8.4.4") {
		t.Error("a new address is not refused, or one that has gone still is")
	}
	i.set(errors.New("no sockets left"))
	now = now.Add(ownFor)
	if reaches("9.9.9.9") {
		t.Error("what was known is forgotten where the addresses cannot be looked up")
	}
}

func TestOperatorOpensOwnAddress(t *testing.T) {
	dns := oneAnswer(map[string][]string{"here.test": {"8.8.4.4"}})
	for _, entry := range []string{"8.8.4.4", "8.8.4.0/24", "here.test"} {
		p := newPolicy(t, Config{Resolver: dns, Interfaces: machine().list, AllowHosts: []string{entry}})
		if _, err := p.Resolve(t.Context(), "here.test"); err != nil {
			t.Errorf("with %s open: %v", entry, err)
		}
	}
	p := newPolicy(t, Config{Interfaces: machine().list, AllowHosts: []string{"8.8.4.4:443"}})
	if _, err := p.CheckURL("https://8.8.4.4/"); err != nil {
		t.Errorf("the port that is open: %v", err)
	}
	_, err := p.CheckURL("https://8.8.4.4:8788/")
	wantRefused(t, err, reasonAddress)
}

func TestOwnNameIsRefused(t *testing.T) {
	dns := oneAnswer(map[string][]string{"docs.example": {"9.9.9.9"}, "other.docs.example": {"9.9.9.9"}})
	p := newPolicy(t, Config{Resolver: dns, OwnHosts: []string{"Docs.Example", "1.1.1.1"}, Interfaces: machine().list})
	for _, address := range []string{"https://docs.example/v1/files/1", "https://DOCS.example./", "https://docs.example:8443/"} {
		_, err := p.CheckURL(address)
		wantRefused(t, err, reasonName)
	}
	_, err := p.CheckURL("https://1.1.1.1/")
	wantRefused(t, err, reasonAddress)
	_, err = p.DialContext(t.Context(), "tcp", "docs.example:443")
	wantRefused(t, err, reasonName)
	if _, err := p.Resolve(t.Context(), "other.docs.example"); err != nil {
		t.Errorf("another name: %v", err)
	}
	open := newPolicy(t, Config{Resolver: dns, OwnHosts: []string{"docs.example"}, AllowHosts: []string{"docs.example"}, Interfaces: machine().list})
	if _, err := open.Resolve(t.Context(), "docs.example"); err != nil {
		t.Errorf("opened by the operator: %v", err)
	}
	for _, wrong := range []string{"a b", "8.8.4.4:443", "10.0.0.0/40"} {
		if _, err := New(Config{OwnHosts: []string{wrong}}); err == nil {
			t.Errorf("%s: taken as an own host", wrong)
		}
	}
}

// TestAddressBehindNATIsRefused configures the public address that leads to this machine,
// whose interfaces have a private one only.
func TestAddressBehindNATIsRefused(t *testing.T) {
	inside := &interfaces{}
	inside.set(nil, "127.0.0.1/8", "10.0.0.5/24")
	dns := oneAnswer(map[string][]string{"docs.example": {"9.9.9.9"}, "near.example": {"9.9.9.10"}, "pool.example": {"2620:fe::9"}})
	if err := newPolicy(t, Config{Resolver: dns, Interfaces: inside.list}).CheckAddr(netip.MustParseAddr("9.9.9.9"), ""); err != nil {
		t.Fatalf("not told of: %v; the test shows nothing", err)
	}
	p := newPolicy(t, Config{Resolver: dns, OwnHosts: []string{"9.9.9.9", "2620:fe::9"}, Interfaces: inside.list})
	for _, address := range []string{
		"https://9.9.9.9/", "https://9.9.9.9:8788/metrics", "https://[::ffff:9.9.9.9]/", "https://[64:ff9b::9.9.9.9]/",
		"https://[2620:fe::9]/", "https://0x9.9.9.9/",
	} {
		_, err := p.CheckURL(address)
		wantRefused(t, err, reasonAddress)
	}
	for _, name := range []string{"docs.example", "pool.example"} {
		_, err := p.DialContext(t.Context(), "tcp", name+":443")
		wantRefused(t, err, reasonAddress)
	}
	if _, err := p.Resolve(t.Context(), "near.example"); err != nil {
		t.Errorf("the address beside it: %v", err)
	}
}

// TestRedirectsAndProxyDoNotReachThisMachine is redirected to this machine by an allowed
// server, and gets a request for it from the browser.
func TestRedirectsAndProxyDoNotReachThisMachine(t *testing.T) {
	dns := oneAnswer(map[string][]string{"here.test": {"8.8.4.4"}, "site.test": {"127.0.0.1"}})
	p := newPolicy(t, Config{Resolver: dns, Interfaces: machine().list, OwnHosts: []string{"docs.example"}, AllowHosts: []string{"site.test"}})
	for _, inward := range []string{"http://here.test:8788/metrics", "http://8.8.4.4/", "http://docs.example/"} {
		transport := &checkedTransport{policy: p, schemes: []string{"http"}, base: &http.Transport{DialContext: p.DialContext}}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, inward, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(request)
		if response != nil {
			_ = response.Body.Close()
		}
		if !errors.Is(err, ErrRefused) {
			t.Errorf("a redirect to %s: %v, want a refusal", inward, err)
		}
	}
}
