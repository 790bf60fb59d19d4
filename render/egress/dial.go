package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"
)

const (
	// dialTimeout bounds name lookup and all connection attempts together. A
	// render waits a minute at most; a host that needs more than a sixth of it
	// to answer a SYN would fail the page anyway.
	dialTimeout = 10 * time.Second
	// lookupTimeout leaves at least half of dialTimeout for connecting.
	lookupTimeout = 5 * time.Second
	// maxDialAddrs is the maximum number of addresses of one name that are tried, so that a name with a hundred
	// dead ones does not use up dialTimeout.
	maxDialAddrs = 4
)

// Resolve returns the addresses of host ("host" or "host:port"; the port only
// matters to entries of AllowHosts that have one). If any address of the name
// is refused, the whole name is: a name that points outwards and inwards at
// once is an attack or a mistake. The error is a *RefusedError, or the
// resolver's.
func (p *Policy) Resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	t, err := parseTarget(host)
	if err != nil {
		return nil, p.observe(ctx, &RefusedError{Reason: reasonSyntax, Detail: "not a valid host"})
	}
	addrs, err := p.resolve(ctx, t)
	return addrs, p.observe(ctx, err)
}

func (p *Policy) resolve(ctx context.Context, t target) ([]netip.Addr, error) {
	if err := p.allow.checkName(t); err != nil {
		return nil, err
	}
	if t.addr.IsValid() {
		return []netip.Addr{t.addr.Unmap()}, nil
	}

	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := p.resolver.LookupNetIP(ctx, "ip", t.host)
	if err != nil {
		return nil, err
	}

	addrs := make([]netip.Addr, 0, len(found))
	for _, addr := range found {
		if err := p.allow.checkAddr(addr, t); err != nil {
			return nil, err
		}
		if addr = addr.Unmap(); !slices.Contains(addrs, addr) {
			addrs = append(addrs, addr)
		}
	}

	if len(addrs) == 0 {
		return nil, &net.DNSError{Err: "no addresses", Name: t.host, IsNotFound: true}
	}
	return addrs, nil
}

// DialContext connects to address ("host:port") over network "tcp", "tcp4" or
// "tcp6". It resolves the name once, checks every address, and dials a checked
// one; the socket's own address is checked again just before it connects. It
// takes dialTimeout at most. The error is a *RefusedError if the address may
// not be reached, else the resolver's or the network's.
func (p *Policy) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := p.dial(ctx, network, address, false)
	if err != nil {
		return nil, p.observe(ctx, err)
	}
	return conn, nil
}

// sshPort is the port of SSH, which no HTTP request may reach.
const sshPort = 22

// CheckSSH refuses, by their text, a host and a port that DialSSH would refuse.
func (p *Policy) CheckSSH(host string, port int) error {
	t, err := parseTarget(net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil || t.port == 0 {
		return &RefusedError{Reason: reasonSyntax, Detail: "not a valid host and port"}
	}
	t.ssh = true
	return p.allow.checkName(t)
}

// DialSSH is DialContext over "tcp" for a connection that speaks SSH, whose port is allowed too.
func (p *Policy) DialSSH(ctx context.Context, address string) (net.Conn, error) {
	conn, err := p.dial(ctx, "tcp", address, true)
	if err != nil {
		return nil, p.observe(ctx, err)
	}
	return conn, nil
}

func (p *Policy) dial(ctx context.Context, network, address string, ssh bool) (net.Conn, error) {
	ofFamily, err := familyFilter(network)
	if err != nil {
		return nil, err
	}

	t, err := parseTarget(address)
	if err != nil || t.port == 0 {
		return nil, &RefusedError{Reason: reasonSyntax, Detail: "not a valid host and port"}
	}
	t.ssh = ssh

	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addrs, err := p.resolve(ctx, t)
	if err != nil {
		return nil, err
	}

	addrs = slices.DeleteFunc(addrs, func(a netip.Addr) bool { return !ofFamily(a) })
	if len(addrs) == 0 {
		return nil, &net.DNSError{Err: "no addresses for " + network, Name: t.host, IsNotFound: true}
	}
	return p.dialFirst(ctx, t, addrs[:min(len(addrs), maxDialAddrs)])
}

// dialFirst tries addrs in the resolver's order, which is already sorted by
// reachability (RFC 6724), and gives each an equal share of the time left.
func (p *Policy) dialFirst(ctx context.Context, t target, addrs []netip.Addr) (net.Conn, error) {
	dialer := net.Dialer{Control: p.control(t)}
	var first error

	for i, addr := range addrs {
		deadline, _ := ctx.Deadline()
		share := time.Until(deadline) / time.Duration(len(addrs)-i)
		attempt, cancel := context.WithTimeout(ctx, share)
		conn, err := dialer.DialContext(attempt, "tcp", netip.AddrPortFrom(addr, t.port).String())
		cancel()
		if err == nil {
			return conn, nil
		}

		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

// control is the last check, on the address the kernel is about to connect to.
// It holds even if the code above it is changed wrongly one day.
func (p *Policy) control(t target) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return err
		}
		addr, err := netip.ParseAddr(host)
		if err != nil || port != strconv.Itoa(int(t.port)) {
			return t.refuse(decision{reasonAddress, "dialled " + address})
		}
		return p.allow.checkAddr(addr, t)
	}
}

// familyFilter returns which addresses network may use.
func familyFilter(network string) (func(netip.Addr) bool, error) {
	switch network {
	case "tcp":
		return netip.Addr.IsValid, nil
	case "tcp4":
		return netip.Addr.Is4, nil
	case "tcp6":
		return netip.Addr.Is6, nil
	}
	return nil, fmt.Errorf("egress dials tcp only: %w", net.UnknownNetworkError(network))
}
