package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// allowList holds the operator's exceptions to the tables. In both kinds of entry, port 0 means any port.
type allowList struct {
	names    map[string][]uint16
	prefixes []allowedPrefix
	table    addrTable
	// own are the addresses of this machine; ownNames and ownAddrs are how the
	// service is reached from outside.
	own      *ownAddrs
	ownNames []string
	ownAddrs []netip.Addr
}

type allowedPrefix struct {
	prefix netip.Prefix
	port   uint16
}

func parseAllowList(entries []string) (allowList, error) {
	list := allowList{names: map[string][]uint16{}, table: newAddrTable()}
	for _, entry := range entries {
		if err := list.add(strings.TrimSpace(entry)); err != nil {
			return allowList{}, fmt.Errorf("allowed host %q: %w", entry, err)
		}
	}
	return list, nil
}

func (l *allowList) add(entry string) error {
	if strings.Contains(entry, "/") {
		prefix, err := netip.ParsePrefix(entry)
		if err != nil {
			return errors.New("not a CIDR; write a host, host:port or a CIDR such as 10.0.0.0/8")
		}
		if prefix.Addr().Is4In6() {
			return errors.New("an IPv4 network in IPv6 spelling; write it as IPv4")
		}
		if prefix != prefix.Masked() {
			return fmt.Errorf("not the start of its network; write %s", prefix.Masked())
		}
		l.prefixes = append(l.prefixes, allowedPrefix{prefix: prefix})
		return nil
	}

	t, err := parseTarget(entry)
	if err != nil {
		return errors.New("not a host; write a host, host:port or a CIDR such as 10.0.0.0/8")
	}

	if t.addr.IsValid() {
		addr := t.addr.Unmap()
		l.prefixes = append(l.prefixes, allowedPrefix{netip.PrefixFrom(addr, addr.BitLen()), t.port})
		return nil
	}
	l.names[t.host] = append(l.names[t.host], t.port)
	return nil
}

// addOwn adds a name or an address under which the service is reached.
func (l *allowList) addOwn(entry string) error {
	t, err := parseTarget(entry)
	if err != nil || t.port != 0 {
		return errors.New("not a host; write a name or an address")
	}

	if t.addr.IsValid() {
		l.ownAddrs = append(l.ownAddrs, t.addr.Unmap())
	} else {
		l.ownNames = append(l.ownNames, t.host)
	}
	return nil
}

// isOwn reports whether an address belongs to this machine, by its interfaces or by the operator's settings, or
// leads to such an address through a translation.
func (l *allowList) isOwn(addr netip.Addr) bool {
	if l.own.has(addr) {
		return true
	}

	addr = addr.Unmap()
	inner, translated := embedded4(addr)
	return slices.ContainsFunc(l.ownAddrs, func(own netip.Addr) bool {
		return own == addr || translated && own == inner
	})
}

// checkName makes the checks of t that do not need its addresses.
func (l *allowList) checkName(t target) error {
	if t.port != 0 && blockedPort(t.port) && (!t.ssh || t.port != sshPort) && !l.opensPort(t) {
		return t.refuse(decision{reasonPort, "blocked port"})
	}
	if t.addr.IsValid() {
		return l.checkAddr(t.addr, t)
	}

	v := decideName(t.host)
	if v.reason == "" && slices.Contains(l.ownNames, t.host) {
		v = decision{reasonName, "this service"}
	}
	if v.reason != "" && !l.opensName(t) {
		return t.refuse(v)
	}
	return nil
}

// checkAddr judges one address of t.
func (l *allowList) checkAddr(addr netip.Addr, t target) error {
	v := l.table.decide(addr)
	if v.reason == "" && l.isOwn(addr) {
		v = decision{reasonAddress, "this machine's own"}
	}

	switch {
	case v.reason == "":
		return nil
	case v.reason == reasonMetadata:
		if l.opensAddr(addr, t.port, true) {
			return nil
		}
	case addr.Zone() == "" && (l.opensName(t) || l.opensAddr(addr, t.port, false)):
		return nil
	}

	v.detail = addr.String() + ": " + v.detail
	return t.refuse(v)
}

func (l *allowList) opensName(t target) bool {
	for _, port := range l.names[t.host] {
		if port == 0 || port == t.port {
			return true
		}
	}
	return false
}

// opensAddr reports whether an entry covers addr; with single, only an entry that
// is this one address counts.
func (l *allowList) opensAddr(addr netip.Addr, port uint16, single bool) bool {
	addr = addr.Unmap()
	for _, e := range l.prefixes {
		if (e.port == 0 || e.port == port) && e.prefix.Contains(addr) && (!single || e.prefix.IsSingleIP()) {
			return true
		}
	}
	return false
}

// opensPort reports whether an entry names the port of t itself. An entry without
// a port opens the web's ports of its host, not its mail server.
func (l *allowList) opensPort(t target) bool {
	for _, port := range l.names[t.host] {
		if port == t.port {
			return true
		}
	}

	for _, e := range l.prefixes {
		if e.port == t.port && t.addr.IsValid() && e.prefix.Contains(t.addr.Unmap()) {
			return true
		}
	}
	return false
}

func (t target) refuse(v decision) error {
	return &RefusedError{Host: t.host, Reason: v.reason, Detail: v.detail}
}
