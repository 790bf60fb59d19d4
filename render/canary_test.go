package render_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// canaryDomain is the domain whose names lead to the canary on 127.0.0.1.
const canaryDomain = ".canary.test"

// canary listens on every address of this machine, loopback included, and
// remembers each connection and packet that arrives: on one port HTTP, on
// another TLS, and UDP on both. Nothing may come there unless it was opened.
type canary struct {
	plain, secure int // ports
	servers       []*http.Server
	packets       []*net.UDPConn
	done          sync.WaitGroup

	mu      sync.Mutex
	arrived map[string]string // remote address → what came from there, in the order of events
	tokens  map[string]bool   // which documents' requests were understood
	changed chan struct{}     // closed and replaced at every event
}

// newCanary starts a canary, whose certificate is good for every name under
// canaryDomain. It is stopped with the test.
func newCanary(t *testing.T, ca *authority) *canary {
	t.Helper()
	c := &canary{arrived: map[string]string{}, tokens: map[string]bool{}, changed: make(chan struct{})}
	c.plain = c.listen(t, nil)
	c.secure = c.listen(t, &tls.Config{
		Certificates: []tls.Certificate{ca.issue(t, "*"+canaryDomain)},
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			c.understand(hello.ServerName)
			return nil, nil
		},
	})
	t.Cleanup(c.close)
	return c
}

// listen serves HTTP on a free TCP port of all addresses and counts packets on
// the UDP port of the same number.
func (c *canary) listen(t *testing.T, config *tls.Config) int {
	t.Helper()
	listener, packets := bothPorts(t)
	kind := "plain"
	var accepting net.Listener = &countedListener{listener, func(from net.Addr) { c.note(kind, from) }}
	if config != nil {
		kind = "tls"
		accepting = tls.NewListener(accepting, config)
	}
	server := &http.Server{
		Handler: c, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: 10 * time.Second,
	}
	c.servers, c.packets = append(c.servers, server), append(c.packets, packets)
	c.done.Go(func() { _ = server.Serve(accepting) }) // ends with close
	c.done.Go(func() { c.receive(packets) })
	return listener.Addr().(*net.TCPAddr).Port
}

// bothPorts opens a number that is free as a TCP and as a UDP port.
func bothPorts(t *testing.T) (*net.TCPListener, *net.UDPConn) {
	t.Helper()
	var err error
	for range 20 {
		var listener *net.TCPListener
		if listener, err = net.ListenTCP("tcp", nil); err != nil {
			break
		}
		var packets *net.UDPConn
		if packets, err = net.ListenUDP("udp", &net.UDPAddr{Port: listener.Addr().(*net.TCPAddr).Port}); err == nil {
			return listener, packets
		}
		_ = listener.Close()
	}
	t.Fatalf("no free port for the canary: %v", err)
	return nil, nil
}

func (c *canary) receive(packets *net.UDPConn) {
	buf := make([]byte, 2048)
	for {
		_, from, err := packets.ReadFrom(buf)
		if err != nil {
			return
		}
		c.note("udp", from)
	}
}

// ServeHTTP answers with an empty document that everybody may read.
func (c *canary) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.understand(r.Host)
	c.understandPath(r.URL.Path)
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", "*")
	header.Set("Access-Control-Allow-Headers", "*")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, "canary content")
}

// note remembers that something came.
func (c *canary) note(kind string, from net.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.arrived[kind+" from "+from.String()] = kind
	close(c.changed)
	c.changed = make(chan struct{})
}

// understand takes the token out of a host name.
func (c *canary) understand(host string) {
	host, _, _ = strings.Cut(host, ":")
	if token, ok := strings.CutSuffix(host, canaryDomain); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tokens[token] = true
	}
}

// understandPath takes the token out of a path.
func (c *canary) understandPath(path string) {
	if token := strings.Trim(path, "/"); token != "" {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tokens[token] = true
	}
}

// reached reports whether the request with a token was understood.
func (c *canary) reached(token string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tokens[token]
}

// hits returns what has arrived so far: how many of a kind, and tokens.
func (c *canary) hits() (kinds map[string]int, tokens []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kinds = map[string]int{}
	for _, kind := range c.arrived {
		kinds[kind]++
	}
	for token := range c.tokens {
		tokens = append(tokens, token)
	}
	slices.Sort(tokens)
	return kinds, tokens
}

// drain returns when everything that was sent before the call is noted. It
// sends a connection or packet of its own to each port: they are taken out in
// the order in which they came in, so that when it is noted, the others are.
func (c *canary) drain(t *testing.T) {
	t.Helper()
	for _, port := range []int{c.plain, c.secure} {
		for network, kind := range map[string]string{"tcp4": c.kind(port), "udp4": "udp"} {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), network, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
			if err != nil {
				t.Fatal(err)
			}
			if network == "udp4" {
				_, err = conn.Write([]byte("sentinel"))
			}
			if err != nil {
				t.Fatal(err)
			}
			c.awaitSentinel(t, kind, conn.LocalAddr())
			_ = conn.Close()
		}
	}
}

func (c *canary) kind(port int) string {
	if port == c.secure {
		return "tls"
	}
	return "plain"
}

// awaitSentinel waits until a connection of our own is noted, and forgets it.
func (c *canary) awaitSentinel(t *testing.T, kind string, from net.Addr) {
	t.Helper()
	limit := time.NewTimer(5 * time.Minute)
	defer limit.Stop()
	_, port, _ := net.SplitHostPort(from.String())
	for {
		c.mu.Lock()
		for key := range c.arrived {
			if strings.HasPrefix(key, kind+" ") && strings.HasSuffix(key, ":"+port) {
				delete(c.arrived, key)
				c.mu.Unlock()
				return
			}
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-limit.C:
			t.Fatalf("the canary did not note our own %s connection", kind)
		}
	}
}

// await returns when something of every kind has arrived, or ctx has ended.
func (c *canary) await(ctx context.Context, kinds ...string) error {
	for {
		c.mu.Lock()
		changed := c.changed
		c.mu.Unlock()
		arrived, _ := c.hits()
		if !slices.ContainsFunc(kinds, func(kind string) bool { return arrived[kind] == 0 }) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// wantSilence fails the test for everything that arrived.
func (c *canary) wantSilence(t *testing.T) {
	t.Helper()
	c.drain(t)
	if kinds, tokens := c.hits(); len(kinds) > 0 || len(tokens) > 0 {
		t.Errorf("the canary was reached: %v, by %q", kinds, tokens)
	}
}

func (c *canary) close() {
	for _, server := range c.servers {
		_ = server.Close()
	}
	for _, packets := range c.packets {
		_ = packets.Close()
	}
	c.done.Wait()
}

// countedListener reports every connection, including connections that send nothing.
type countedListener struct {
	*net.TCPListener
	note func(from net.Addr)
}

func (l *countedListener) Accept() (net.Conn, error) {
	conn, err := l.TCPListener.Accept()
	if err == nil {
		l.note(conn.RemoteAddr())
	}
	return conn, err
}

// ownAddresses returns the addresses of this machine that are not loopback,
// as the host of a URL.
func ownAddresses(t *testing.T) []string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var hosts []string
	for _, addr := range addrs {
		ip := addr.(*net.IPNet).IP
		switch {
		case ip.IsLoopback(), ip.IsLinkLocalUnicast():
		case ip.To4() != nil:
			hosts = append(hosts, ip.String())
		default:
			hosts = append(hosts, fmt.Sprintf("[%s]", ip))
		}
	}
	return hosts
}
