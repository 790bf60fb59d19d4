package egress

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"time"
)

// proxyLimits limits the resources that the clients of a Proxy can occupy. Tests shorten the times.
type proxyLimits struct {
	// conns is the maximum number of open tunnels and plain requests. Chromium opens at most 32 sockets to its
	// proxy per context. So 512 serve sixteen contexts that use all of them, or a hundred with a few idle
	// connections. Each costs two descriptors and, in a tunnel, two buffers of 32 KiB. With all in use, that is 32
	// MiB, which is the limit on the memory that pages can occupy here.
	conns int
	// slotWait is the maximum time that a request waits for one of conns before it gets a 503.
	slotWait time.Duration
	// header bounds reading a request's head; a local program sends it at once.
	header time.Duration
	// idle ends a tunnel or a plain response in which nothing moved in either
	// direction for longer than any document's own deadline (one minute).
	idle time.Duration
	// request is the maximum duration of a plain request: twice the longest document deadline, after which the
	// response is useless.
	request time.Duration
}

func defaultProxyLimits() proxyLimits {
	return proxyLimits{
		conns:    512,
		slotWait: 5 * time.Second,
		header:   10 * time.Second,
		idle:     75 * time.Second,
		request:  2 * time.Minute,
	}
}

const (
	// proxyMaxHeader bounds a request's head: Chromium allows cookies of 4 KiB
	// each, and a head above 64 KiB would fail at most web servers as well.
	proxyMaxHeader = 64 << 10
	// proxyMaxResponseHeader is Chromium's own bound on a response's head.
	proxyMaxResponseHeader = 256 << 10
	// proxyKeepAlive is the idle timeout of a connection from the browser.
	proxyKeepAlive = 60 * time.Second
	// copyBuffer is the size in bytes of the buffers bodies and tunnels use.
	copyBuffer = 32 << 10
)

// Proxy is an HTTP proxy on a loopback port that reaches only addresses that its Policy allows. It accepts CONNECT,
// for TLS and WebSockets, and requests for http URLs in absolute form. It responds with 403 to refused addresses,
// 502 if the address cannot be reached, 503 when it is full, and 400 to requests that are not for a proxy.
//
// It has no password. Chromium answers a proxy's challenge only through CDP request interception, which delays
// every request of every page. And a password would protect little:
//
//   - Another program of this machine gains nothing from a proxy to public hosts, since it has the
//     same network without it.
//   - The engines' children have no network and do not see this port.
//   - A page rendered here cannot reach it, because the proxy refuses loopback.
//   - A page in a user's own browser can send only origin-form requests, which get a 400.
//
// Another program could still use up its connections, which cannot be prevented on a shared machine: do not run
// untrusted programs next to the service.
type Proxy struct {
	policy *Policy
	limits proxyLimits

	listener net.Listener
	server   *http.Server
	plain    *httputil.ReverseProxy
	upstream *http.Transport
	buffers  *bufferPool
	slots    chan struct{}

	close  func() error
	mu     sync.Mutex
	closed bool // guarded by mu; once set, running no longer grows
	// running counts the accept loop and the requests under way, tunnels
	// included, which http.Server forgets once they are hijacked.
	running sync.WaitGroup
}

// StartProxy starts a Proxy on a free port of 127.0.0.1. It runs until Close,
// or until ctx ends.
func (p *Policy) StartProxy(ctx context.Context) (*Proxy, error) {
	return p.startProxy(ctx, defaultProxyLimits())
}

func (p *Policy) startProxy(ctx context.Context, limits proxyLimits) (*Proxy, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}

	x := &Proxy{
		policy:   p,
		limits:   limits,
		listener: listener,
		buffers:  newBufferPool(),
		slots:    make(chan struct{}, limits.conns),
	}
	errorLog := slog.NewLogLogger(p.log.Handler(), slog.LevelDebug)
	x.upstream = x.newUpstream()
	x.plain = x.newPlain(errorLog)

	base, cancel := context.WithCancel(ctx)
	x.server = &http.Server{
		Handler:           x,
		ReadHeaderTimeout: limits.header,
		IdleTimeout:       proxyKeepAlive,
		MaxHeaderBytes:    proxyMaxHeader,
		ErrorLog:          errorLog,
		// "OPTIONS *" gets our 400 and not the server's own 200.
		DisableGeneralOptionsHandler: true,
		BaseContext:                  func(net.Listener) context.Context { return base },
	}

	x.close = sync.OnceValue(func() error { return x.shutDown(cancel) })
	x.running.Go(x.serve)
	context.AfterFunc(base, func() { _ = x.close() })
	return x, nil
}

// Addr returns the address programs use as their proxy, "127.0.0.1:port".
func (x *Proxy) Addr() string { return x.listener.Addr().String() }

// Close stops the proxy, cuts every tunnel and request, and returns when all of
// them have ended. It may be called more than once.
func (x *Proxy) Close() error { return x.close() }

func (x *Proxy) shutDown(cancel context.CancelFunc) error {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	cancel() // ends the tunnels, and the requests' way upstream
	err := x.server.Close()
	x.running.Wait()
	x.upstream.CloseIdleConnections()
	return err
}

func (x *Proxy) serve() {
	if err := x.server.Serve(x.listener); !errors.Is(err, http.ErrServerClosed) {
		x.policy.log.Error("accept connection to egress proxy failed", slog.Any("error", err))
	}
}

// enter counts a request in, unless the proxy is closing. Every enter that
// returns true is followed by running.Done.
func (x *Proxy) enter() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.closed {
		x.running.Add(1)
	}
	return !x.closed
}

// ServeHTTP carries out one request of a program behind the proxy.
func (x *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !x.enter() {
		return
	}
	defer x.running.Done()

	if status := rejectForm(r); status != 0 {
		http.Error(w, http.StatusText(status), status)
		return
	}

	if !x.acquire(r.Context()) {
		http.Error(w, "the proxy is full", http.StatusServiceUnavailable)
		return
	}
	defer func() { <-x.slots }()

	if r.Method == http.MethodConnect {
		x.tunnel(w, r)
		return
	}
	x.forward(w, r)
}

// rejectForm returns the error status for a request that is not a proxy request, or that no browser sends, and 0
// for the others.
func rejectForm(r *http.Request) int {
	switch {
	case r.URL.Host == "", r.URL.Opaque != "":
		return http.StatusBadRequest // origin form, "OPTIONS *"
	case r.URL.User != nil:
		return http.StatusForbidden
	case r.Method != http.MethodConnect && r.URL.Scheme != "http":
		return http.StatusForbidden // https and ws come by CONNECT
	}
	return 0
}

// acquire takes one of the slots, or gives up after slotWait.
func (x *Proxy) acquire(ctx context.Context) bool {
	select {
	case x.slots <- struct{}{}:
		return true
	default:
	}

	ctx, cancel := context.WithTimeout(ctx, x.limits.slotWait)
	defer cancel()
	select {
	case x.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// fail answers a request whose target was refused or not reached. The text reveals nothing about the network.
func fail(w http.ResponseWriter, err error) {
	if errors.Is(err, ErrRefused) {
		http.Error(w, ErrRefused.Error(), http.StatusForbidden)
		return
	}
	http.Error(w, "the host could not be reached", http.StatusBadGateway)
}

// forward carries out a plain request.
func (x *Proxy) forward(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), x.limits.request)
	defer cancel()

	// The browser's side is bounded as well, in case it stops reading; a little
	// later, so that a slow server ends in an answer and not in a cut.
	deadline := time.Now().Add(x.limits.request + x.limits.header)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(deadline) // fails only without a socket
	_ = control.SetWriteDeadline(deadline)

	// A page sees its server's response unchanged: present but empty, these keep net/http from guessing a type and
	// adding a date.
	w.Header()["Content-Type"] = nil
	w.Header()["Date"] = nil

	x.plain.ServeHTTP(w, r.WithContext(ctx))
}

func (x *Proxy) newUpstream() *http.Transport {
	return &http.Transport{
		DialContext:            x.dialPlain,
		DisableCompression:     true, // the browser's Accept-Encoding passes unchanged
		IdleConnTimeout:        clientIdleTimeout,
		MaxIdleConns:           64,
		MaxResponseHeaderBytes: proxyMaxResponseHeader,
	}
}

func (x *Proxy) newPlain(errorLog *log.Logger) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:       rewrite,
		Transport:     x.upstream,
		FlushInterval: -1, // event streams, and pages that paint early
		ErrorLog:      errorLog,
		BufferPool:    x.buffers,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, err error) { fail(w, err) },
	}
}

// rewrite completes the work of ReverseProxy, which has removed the hop-by-hop and forwarding headers and adds
// none.
func rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.RawQuery = r.In.URL.RawQuery // not re-encoded
	for name := range r.Out.Header {
		if strings.HasPrefix(name, "Proxy-") {
			delete(r.Out.Header, name)
		}
	}

	// WebSockets come by CONNECT; without this an upgraded connection would
	// leave the limits on idle time.
	r.Out.Header.Del("Connection")
	r.Out.Header.Del("Upgrade")
}

// dialPlain connects for a plain request; the connection ends when idle.
func (x *Proxy) dialPlain(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := x.policy.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &touchedConn{Conn: conn, touch: func() { _ = conn.SetDeadline(time.Now().Add(x.limits.idle)) }}, nil
}
