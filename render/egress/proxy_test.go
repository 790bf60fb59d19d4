package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

func startProxy(t testing.TB, c Config, change ...func(*proxyLimits)) *Proxy {
	t.Helper()
	limits := defaultProxyLimits()
	for _, f := range change {
		f(&limits)
	}
	x, err := newPolicy(t, c).startProxy(t.Context(), limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// patience bounds what takes a moment, on machines that stall as well.
const patience = 5 * time.Minute

// through is a client that sends everything to the proxy x.
func through(x *Proxy, roots *x509.CertPool) *http.Client {
	return &http.Client{Timeout: patience, Transport: &http.Transport{
		Proxy:           http.ProxyURL(&url.URL{Scheme: "http", Host: x.Addr()}),
		TLSClientConfig: &tls.Config{RootCAs: roots},
	}}
}

// raw sends text to the proxy and returns the open connection and its answer.
func raw(t testing.TB, x *Proxy, text string) (net.Conn, *bufio.Reader, *http.Response) {
	t.Helper()
	conn, err := net.Dial("tcp", x.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	method, _, _ := strings.Cut(text, " ")
	resp, err := http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		t.Fatalf("reading the answer to %q: %v", text, err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return conn, r, resp
}

func connect(target string) string {
	return "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n"
}

func get(url string) string {
	return "GET " + url + " HTTP/1.1\r\nHost: whatever.example\r\nConnection: close\r\n\r\n"
}

func TestProxyNeverReachesTheCanary(t *testing.T) {
	for _, c := range loopbackSpellings {
		if strings.ContainsFunc(c.host, func(r rune) bool { return r > 0x7f }) {
			continue // no browser sends it
		}
		t.Run(c.host+" "+c.allow, func(t *testing.T) {
			canary := newCanary(t, hello)
			at := c.host + ":" + canary.port()
			reasons := make(chan Reason, 8)
			closed := startProxy(t, Config{Resolver: loopbackDNS(), OnRefuse: func(_ string, r Reason) { reasons <- r }})
			for _, request := range []string{connect(at), get("http://" + at + "/")} {
				_, _, resp := raw(t, closed, request)
				if resp.StatusCode != http.StatusForbidden {
					t.Errorf("%q: got %s, want 403", request, resp.Status)
				}
			}
			if len(reasons) != 2 || <-reasons != c.want || <-reasons != c.want {
				t.Errorf("want %q reported once for each request", c.want)
			}
			if got := canary.hits.Load(); got != 0 {
				t.Fatalf("the canary was reached %d times", got)
			}
			// The control: opened, both requests arrive.
			opened := startProxy(t, Config{Resolver: loopbackDNS(), AllowHosts: []string{c.allow}})
			conn, r, resp := raw(t, opened, connect(at))
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("CONNECT with %s opened: got %s", c.allow, resp.Status)
			}
			fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			wantHello(t, r)
			_, _, resp = raw(t, opened, get("http://"+at+"/"))
			if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "hello" {
				t.Errorf("GET with %s opened: got %q, %v", c.allow, body, err)
			}
			if got := canary.hits.Load(); got != 2 {
				t.Errorf("opened, the canary was reached %d times, want 2", got)
			}
		})
	}
}

func wantHello(t testing.TB, r *bufio.Reader) {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "hello" {
		t.Errorf("got %q, %v; want hello", body, err)
	}
}

func TestProxyAnswers(t *testing.T) {
	// Nobody listens there, and nobody is given it, as a port that was closed may be.
	const deadAddr = "127.0.0.1:1"
	x := startProxy(t, Config{AllowHosts: []string{deadAddr}})
	cases := []struct {
		name, request string
		want          int
	}{
		{"CONNECT to nobody", connect(deadAddr), 502},
		{"GET from nobody", get("http://" + deadAddr + "/"), 502},
		{"CONNECT to no name", connect("missing.example:443"), 502},
		{"GET from no name", get("http://missing.example/"), 502},
		{"CONNECT to a mail server", connect("missing.example:25"), 403},
		{"CONNECT without a port", connect("missing.example"), 403},
		{"CONNECT to itself", connect(""), 403}, // filled in below
		{"GET from itself", "", 403},
		{"CONNECT with a user", "CONNECT user:pw@missing.example:443 HTTP/1.1\r\nHost: missing.example\r\n\r\n", 403},
		{"GET with a user", get("http://user:pw@missing.example/"), 403},
		{"GET https", get("https://missing.example/"), 403},
		{"GET ftp", get("ftp://missing.example/"), 403},
		{"GET file", get("file:///etc/passwd"), 400},
		{"origin form", get("/"), 400},
		{"origin form with a host", "GET / HTTP/1.1\r\nHost: missing.example\r\n\r\n", 400},
		{"asterisk form", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		{"metadata by name", get("http://metadata.google.internal/computeMetadata/v1/"), 403},
		{"metadata by address", get("http://169.254.169.254/latest/meta-data/"), 403},
		{"a head that is too long", "GET http://missing.example/ HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 80<<10) + "\r\n\r\n", 431},
	}
	cases[6].request, cases[7].request = connect(x.Addr()), get("http://"+x.Addr()+"/")
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, _, resp := raw(t, x, c.request)
			body, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != c.want {
				t.Errorf("got %s %q, want %d", resp.Status, body, c.want)
			}
			if strings.Contains(string(body), "127.0.0.1") || strings.Contains(string(body), "missing") || len(body) > 80 {
				t.Errorf("the text tells about the network: %q", body)
			}
		})
	}
}

// A server sees the browser's request without the proxy's headers; the browser sees the
// server's response.
func TestProxyPassesPlainRequestsUnchanged(t *testing.T) {
	type request struct {
		*http.Request
		body string
	}
	requests := make(chan request, 1)
	server := newCanary(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- request{r, string(body)}
		w.Header()["Content-Type"], w.Header()["Date"] = nil, nil
		w.Header().Set("Keep-Alive", "timeout=5")
		w.Header().Set("X-Own", "yes")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "<html>untyped")
	})
	x := startProxy(t, Config{AllowHosts: []string{"127.0.0.1"}})
	_, _, resp := raw(t, x, "POST "+server.URL+"/a%2Fb?q=1;2&%zz HTTP/1.1\r\nHost: spoofed.example\r\nContent-Length: 4\r\n"+
		"Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic x\r\nProxy-Custom: x\r\nConnection: Upgrade, X-Hop\r\nX-Hop: x\r\n"+
		"Upgrade: websocket\r\nTE: gzip\r\nX-Own: yes\r\nCookie: a=b\r\n\r\nbody")
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusTeapot || string(body) != "<html>untyped" {
		t.Fatalf("got %s %q, %v", resp.Status, body, err)
	}
	for _, name := range []string{"Content-Type", "Date", "Via", "Keep-Alive", "Server"} {
		if got, ok := resp.Header[name]; ok {
			t.Errorf("the answer has %s: %q, which its server did not send", name, got)
		}
	}
	if resp.Header.Get("X-Own") != "yes" {
		t.Error("the answer lost X-Own")
	}
	seen := <-requests
	if got, want := seen.RequestURI, "/a%2Fb?q=1;2&%zz"; got != want {
		t.Errorf("the server saw %s, want %s", got, want)
	}
	if got, want := seen.Host, strings.TrimPrefix(server.URL, "http://"); got != want {
		t.Errorf("the server saw host %s, want %s: the target, not what the header says", got, want)
	}
	if seen.Method != http.MethodPost || seen.body != "body" {
		t.Errorf("the server saw %s %q, want POST body", seen.Method, seen.body)
	}
	for name := range seen.Header {
		switch name {
		case "Content-Length", "X-Own", "Cookie":
		default:
			t.Errorf("the server saw %s: %q", name, seen.Header[name])
		}
	}
}

func TestProxyReachesTheTLSSiteBehindExtraCA(t *testing.T) {
	site := newTLSSite(t)
	roots := x509.NewCertPool()
	roots.AddCert(site.Certificate())
	address := strings.Replace(site.Listener.Addr().String(), "127.0.0.1", "intranet.example.com", 1)
	config := Config{Resolver: oneAnswer(map[string][]string{"intranet.example.com": {"127.0.0.1"}}), ExtraCA: roots}

	_, _, err := fetch(t, through(startProxy(t, config), roots), "https://"+address+"/")
	if err == nil || !strings.Contains(err.Error(), "Forbidden") {
		t.Errorf("closed: got %v, want the proxy's Forbidden", err)
	}
	config.AllowHosts = []string{address}
	_, body, err := fetch(t, through(startProxy(t, config), roots), "https://"+address+"/")
	if err != nil || body != "hello" {
		t.Errorf("opened: got %q, %v", body, err)
	}
}

func TestProxyRefusesRedirectsInward(t *testing.T) {
	canary := newCanary(t, hello)
	front := newCanary(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:"+canary.port()+"/", http.StatusFound)
	})
	x := startProxy(t, Config{AllowHosts: []string{"front.example"}, Resolver: oneAnswer(map[string][]string{"front.example": {"127.0.0.1"}})})
	resp, body, err := fetch(t, through(x, nil), "http://front.example:"+front.port()+"/")
	if err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("got %v %q, %v; want 403", resp, body, err)
	}
	if front.hits.Load() != 1 || canary.hits.Load() != 0 {
		t.Errorf("got %d hits on the front and %d on the canary, want 1 and 0", front.hits.Load(), canary.hits.Load())
	}
}

// echo accepts one connection at a time and sends back what it reads; it closes
// its side when the other has.
func echo(t testing.TB) string {
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
			_, _ = io.Copy(conn, conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func TestTunnelHalfCloseAndEarlyBytes(t *testing.T) {
	at := echo(t)
	x := startProxy(t, Config{AllowHosts: []string{at}})
	// "early" is sent in one piece with the CONNECT, before the answer.
	conn, r, resp := raw(t, x, connect(at)+"early ")
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("got %s", resp.Status)
	}
	big := strings.Repeat("x", 1<<20)
	go func() {
		_, _ = io.WriteString(conn, big)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(r)
	if err != nil || string(got) != "early "+big {
		t.Errorf("got %d bytes, %v; want all %d back after the half close", len(got), err, len(big)+6)
	}
}

func TestTunnelEndsWhenIdle(t *testing.T) {
	at := echo(t)
	x := startProxy(t, Config{AllowHosts: []string{at}}, func(l *proxyLimits) { l.idle = 500 * time.Millisecond })
	_, r, _ := raw(t, x, connect(at))
	if _, err := r.ReadByte(); err == nil || os.IsTimeout(err) {
		t.Errorf("got %v, want the tunnel closed by the proxy", err)
	}
}

// A side that stops reading blocks the copy in a write; it ends all the same.
func TestTunnelEndsWithoutReader(t *testing.T) {
	endless := func(conn net.Conn) {
		for block := make([]byte, 64<<10); ; {
			if _, err := conn.Write(block); err != nil {
				return
			}
		}
	}
	for _, c := range []struct {
		name            string
		server, browser func(net.Conn)
	}{
		{"browser", endless, func(net.Conn) {}},
		{"server", func(net.Conn) {}, endless},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			accepted := make(chan net.Conn, 1)
			go func() {
				if conn, err := l.Accept(); err == nil {
					accepted <- conn
					c.server(conn)
				}
			}()
			x := startProxy(t, Config{AllowHosts: []string{"127.0.0.1"}}, func(l *proxyLimits) { l.conns, l.idle = 1, 200*time.Millisecond })
			browser, _, _ := raw(t, x, connect(l.Addr().String()))
			server := <-accepted
			defer server.Close()
			go c.browser(browser)

			select { // the only slot comes back when the tunnel has ended
			case x.slots <- struct{}{}:
				<-x.slots
			case <-time.After(patience):
				t.Error("the tunnel still holds its slot")
			}
		})
	}
}

// Bytes in one direction keep the other alive: a download is not idle. On a
// machine that stalls it may be for a while: then the limit is a longer one.
func TestTunnelIsNotIdleWhileOneDirectionMoves(t *testing.T) {
	for idle := 400 * time.Millisecond; ; idle *= 3 {
		got, err := download(t, idle)
		if err == nil && got == 8 {
			return
		}
		if idle > 10*time.Second {
			t.Fatalf("got %d bytes, %v, with a limit of %v; want 8 bytes", got, err, idle)
		}
	}
}

// download reads eight bytes through a tunnel that may be idle so long: one at
// every quarter of that time. It returns how many came.
func download(t *testing.T, idle time.Duration) (int, error) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		tick := time.NewTicker(idle / 4)
		defer tick.Stop()
		for range 8 {
			<-tick.C
			if _, err := conn.Write([]byte("x")); err != nil {
				return
			}
		}
	}()
	defer func() { l.Close(); <-done }()
	x := startProxy(t, Config{AllowHosts: []string{"127.0.0.1"}}, func(l *proxyLimits) { l.idle = idle })
	_, r, _ := raw(t, x, connect(l.Addr().String()))
	got, err := io.ReadAll(r)
	return len(got), err
}

func TestPlainRequestsEndWhenTheServerStalls(t *testing.T) {
	for name, change := range map[string]func(*proxyLimits){
		"idle":  func(l *proxyLimits) { l.idle = 50 * time.Millisecond },
		"whole": func(l *proxyLimits) { l.request = 50 * time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			server := newCanary(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
			x := startProxy(t, Config{AllowHosts: []string{"127.0.0.1"}}, change)
			if _, _, resp := raw(t, x, get(server.URL+"/")); resp.StatusCode != http.StatusBadGateway {
				t.Errorf("got %s, want 502", resp.Status)
			}
		})
	}
}

func TestProxyIsBounded(t *testing.T) {
	at := echo(t)
	x := startProxy(t, Config{AllowHosts: []string{at}}, func(l *proxyLimits) { l.conns, l.slotWait = 1, 50*time.Millisecond })
	first, _, resp := raw(t, x, connect(at))
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("first tunnel: %s", resp.Status)
	}
	if _, _, resp := raw(t, x, connect(at)); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("second tunnel of one: got %s, want 503", resp.Status)
	}
	first.Close()
	// The slot comes back: the third waits for it. Its wait may be shorter than
	// the end of the first tunnel takes on a busy machine, so it may ask again.
	for deadline := time.Now().Add(patience); ; {
		_, _, resp := raw(t, x, connect(at))
		if resp.StatusCode == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the slot of a closed tunnel did not come back: %s", resp.Status)
		}
	}
}

func TestProxyCloseCutsEverything(t *testing.T) {
	at := echo(t)
	entered := make(chan struct{})
	slow := newCanary(t, func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	})
	x := startProxy(t, Config{AllowHosts: []string{"127.0.0.1"}})
	_, tunnel, _ := raw(t, x, connect(at))
	plain, err := net.Dial("tcp", x.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	_ = plain.SetDeadline(time.Now().Add(patience))
	fmt.Fprint(plain, get(slow.URL+"/"))
	<-entered

	if err := x.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := x.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := tunnel.ReadByte(); err == nil || os.IsTimeout(err) {
		t.Errorf("tunnel: got %v, want it cut", err)
	}
	if _, err := io.ReadAll(plain); os.IsTimeout(err) {
		t.Error("the plain request is still open")
	}
	if conn, err := net.Dial("tcp", x.Addr()); err == nil {
		conn.Close()
		t.Error("the proxy still accepts")
	}
}

func TestProxyEndsWithItsContext(t *testing.T) {
	at := echo(t)
	ctx, cancel := context.WithCancel(t.Context())
	x, err := newPolicy(t, Config{AllowHosts: []string{at}}).StartProxy(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, r, _ := raw(t, x, connect(at))
	cancel()
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) && (err == nil || os.IsTimeout(err)) {
		t.Errorf("got %v, want the tunnel cut", err)
	}
	if err := x.Close(); err != nil { // waits for the end the context began
		t.Errorf("Close: %v", err)
	}
}

func TestProxyListensOnLoopbackOnly(t *testing.T) {
	x := startProxy(t, Config{})
	if host, _, err := net.SplitHostPort(x.Addr()); err != nil || host != "127.0.0.1" {
		t.Errorf("Addr() = %s, %v; want 127.0.0.1", x.Addr(), err)
	}
}

func BenchmarkProxyPlain(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(hello))
	defer server.Close()
	client := through(startProxy(b, Config{AllowHosts: []string{"127.0.0.1"}}), nil)
	defer client.CloseIdleConnections()
	for b.Loop() {
		resp, err := client.Get(server.URL)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}
