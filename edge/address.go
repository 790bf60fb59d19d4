// Package edge is what every request passes before it is anybody's: its id, its
// line in the log, panics, the address it comes from, and keys in addresses.
package edge

import (
	"net/http"
	"net/netip"
	"strings"
)

// clientIP returns the address that limits count by: the one named trusted
// header if the settings name it, else the socket's. Any other forwarding
// header is ignored, because clients can write it. IPv6 counts by its /64,
// which one customer holds as a whole.
func clientIP(r *http.Request, trustedHeader string) string {
	text := r.RemoteAddr
	if trustedHeader != "" {
		// Proxies append: the last entry is the one that ours wrote.
		if values := strings.Split(strings.Join(r.Header.Values(trustedHeader), ","), ","); values[len(values)-1] != "" {
			text = values[len(values)-1]
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
