package egress

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// ownFor is the cache lifetime of the list of this machine's addresses. Network interfaces rarely change, and
// listing them takes less than a millisecond.
const ownFor = 10 * time.Second

// ownAddrs are the addresses of this machine, which may be public. Without this check, every document could reach
// services that listen on all interfaces, such as a metrics port.
type ownAddrs struct {
	list func() ([]net.Addr, error)
	now  func() time.Time

	mu    sync.Mutex
	known map[netip.Addr]bool
	read  time.Time
}

func newOwnAddrs(list func() ([]net.Addr, error)) *ownAddrs {
	if list == nil {
		list = net.InterfaceAddrs
	}
	return &ownAddrs{list: list, now: time.Now}
}

// has reports whether addr is one of this machine's, or leads to one.
func (o *ownAddrs) has(addr netip.Addr) bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := o.now(); o.known == nil || now.Sub(o.read) >= ownFor {
		o.refresh(now)
	}

	addr = addr.Unmap()
	inner, translated := embedded4(addr)
	return o.known[addr] || translated && o.known[inner]
}

// refresh looks the addresses up. If that fails, the previous ones stay.
func (o *ownAddrs) refresh(now time.Time) {
	found, err := o.list()
	if err != nil {
		return
	}
	o.known = map[netip.Addr]bool{}
	o.read = now
	for _, a := range found {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			o.known[prefix.Addr().Unmap().WithZone("")] = true
		} else if addr, err := netip.ParseAddr(a.String()); err == nil {
			o.known[addr.Unmap().WithZone("")] = true
		}
	}
}
