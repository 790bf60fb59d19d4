// Package middleware contains the handlers that every request passes first: its ID, its log line, panics, its client
// address, its caching, and keys in URLs.
package middleware

import (
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
)

// maxHops limits how many proxies may be chained.
const maxHops = 9

// AddressHeader is the header in which proxies send the client's address.
type AddressHeader struct {
	// Name is empty without a proxy; the connection's address counts then.
	Name string
	// Hops is the number of proxies that append to the header: the entry at that distance from its end was written by
	// the outermost, and anyone could have written the entries before it.
	Hops int
}

// ParseAddressHeader reads a header in the notation of the settings: Fly-Client-IP, or X-Forwarded-For:2. It reports
// whether the text is valid.
func ParseAddressHeader(text string) (AddressHeader, bool) {
	name, count, counted := strings.Cut(text, ":")
	hops := 1
	if counted {
		var err error
		if hops, err = strconv.Atoi(count); err != nil || hops < 1 || hops > maxHops {
			return AddressHeader{}, false
		}
	}

	return AddressHeader{Name: name, Hops: hops}, name != "" || !counted
}

// clientIP returns the address that limits count by: the one named trusted
// header if the settings name it, else the socket's. Any other forwarding
// header is ignored, because clients can write it. IPv6 counts by its /64,
// which one customer holds as a whole.
func clientIP(r *http.Request, trusted AddressHeader) string {
	text := r.RemoteAddr
	if trusted.Name != "" {
		entries := strings.Split(strings.Join(r.Header.Values(trusted.Name), ","), ",")
		if entries[len(entries)-1] != "" {
			// If there are fewer entries than proxies, the request passed fewer of them, and the first entry
			// belongs to the client itself.
			text = entries[max(0, len(entries)-trusted.Hops)]
		}
	}

	text = strings.TrimSpace(text)
	addr, err := netip.ParseAddr(text)
	if err != nil {
		port, err := netip.ParseAddrPort(text)
		if err != nil {
			return "unknown"
		}
		addr = port.Addr()
	}

	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		prefix, err := addr.Prefix(64)
		if err == nil {
			return prefix.String()
		}
	}
	return addr.String()
}

// forwarding are the headers by which a proxy shows itself.
var forwarding = [...]string{"Fly-Client-IP", "CF-Connecting-IP", "X-Forwarded-For", "X-Real-IP", "Forwarded"}

// noticeProxies logs once, if no header is trusted, that requests come through a proxy: from this machine or its
// network, with a header as proxies set it.
func noticeProxies(trusted AddressHeader, log *slog.Logger) func(http.Handler) http.Handler {
	var once sync.Once
	return func(next http.Handler) http.Handler {
		if trusted.Name != "" {
			return next
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if name := proxyHeader(r); name != "" {
				once.Do(func() {
					log.LogAttrs(r.Context(), slog.LevelWarn, "a request came through a proxy, and RELAYPDF_TRUSTED_IP_HEADER is not set: "+
						"all clients have the proxy's address, and share one limit; name the header in which it sends theirs",
						slog.String("seen", name))
				})
			}
			next.ServeHTTP(w, r)
		})
	}
}

// proxyHeader returns the header that identifies our own proxy, or "". Headers from public addresses are ignored:
// anyone can write them.
func proxyHeader(r *http.Request) string {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if addr := from.Addr().Unmap(); err != nil || !addr.IsLoopback() && !addr.IsPrivate() {
		return ""
	}

	for _, name := range forwarding {
		if r.Header.Get(name) != "" {
			return name
		}
	}
	return ""
}

// IsLoopback reports whether a URL points to this machine only.
func IsLoopback(baseURL string) bool {
	address, err := url.Parse(baseURL)
	if err != nil {
		return false
	}

	host := strings.ToLower(address.Hostname())
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
