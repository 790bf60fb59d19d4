package egress

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dns is a resolver of fixed answers. A name with several answers gives them
// in turn and then repeats the last.
type dns struct {
	mu      sync.Mutex
	answers map[string][][]string
	asked   map[string]int
}

func newDNS(answers map[string][][]string) *dns {
	return &dns{answers: answers, asked: map[string]int{}}
}

// oneAnswer is a dns in which every name has the same addresses each time.
func oneAnswer(names map[string][]string) *dns {
	answers := map[string][][]string{}
	for name, addrs := range names {
		answers[name] = [][]string{addrs}
	}
	return newDNS(answers)
}

func (d *dns) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	answers := d.answers[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	answer := answers[min(d.asked[host], len(answers)-1)]
	d.asked[host]++
	var addrs []netip.Addr
	for _, a := range answer {
		addrs = append(addrs, netip.MustParseAddr(a))
	}
	return addrs, nil
}

func newPolicy(t testing.TB, c Config) *Policy {
	t.Helper()
	if c.Resolver == nil {
		c.Resolver = oneAnswer(nil) // no test asks the real DNS
	}
	p, err := New(c)
	if err != nil {
		t.Fatalf("New(%+v): %v", c.AllowHosts, err)
	}
	return p
}

// wantRefused fails the test unless err is a refusal for reason.
func wantRefused(t testing.TB, err error, reason Reason) {
	t.Helper()
	var refused *RefusedError
	if !errors.As(err, &refused) {
		t.Fatalf("got error %v, want a RefusedError", err)
	}
	if !errors.Is(err, ErrRefused) {
		t.Errorf("errors.Is(%v, ErrRefused) = false", err)
	}
	if refused.Reason != reason {
		t.Errorf("got reason %q (%s), want %q", refused.Reason, refused.Detail, reason)
	}
}

// canary is a server on loopback that nobody should reach. It counts
// connections, not requests, so that a bare connect is seen as well.
type canary struct {
	*httptest.Server
	hits atomic.Int32
}

func newCanary(t testing.TB, h http.HandlerFunc) *canary {
	t.Helper()
	c := &canary{}
	c.Server = httptest.NewUnstartedServer(h)
	c.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			c.hits.Add(1)
		}
	}
	c.Start()
	t.Cleanup(c.Close)
	return c
}

func (c *canary) port() string {
	u, _ := url.Parse(c.URL)
	return u.Port()
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }

// newTLSSite is a web site on loopback with a certificate of its own authority
// for example.com, *.example.com and 127.0.0.1. It says hello.
func newTLSSite(t testing.TB) *httptest.Server {
	t.Helper()
	site := httptest.NewUnstartedServer(http.HandlerFunc(hello))
	site.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes fail on purpose
	site.StartTLS()
	t.Cleanup(site.Close)
	return site
}
