package egress

import (
	"encoding/binary"
	"net/netip"
)

// refusedPrefix is a block of addresses that is not the public internet.
type refusedPrefix struct {
	prefix netip.Prefix
	what   string
}

// refusedPrefixes follows the IANA special-purpose address registries (RFC 6890 and its updates). IPv6 needs few
// rows: everything outside 2000::/3 except NAT64 is refused anyway, so ULA, link-local, site-local, multicast,
// loopback and the IPv4-compatible form are listed only for the log.
//
// 6to4 and Teredo are refused completely, whatever IPv4 address they contain. Both are retired (RFC 7526; Teredo
// servers no longer exist), no web site uses them, and a remaining relay would be another way into the network.
func refusedPrefixes() []refusedPrefix {
	row := func(cidr, what string) refusedPrefix { return refusedPrefix{netip.MustParsePrefix(cidr), what} }
	return []refusedPrefix{
		row("0.0.0.0/8", "this network"),
		row("10.0.0.0/8", "private"),
		row("100.64.0.0/10", "carrier-grade NAT"),
		row("127.0.0.0/8", "loopback"),
		row("169.254.0.0/16", "link-local"),
		row("172.16.0.0/12", "private"),
		row("192.0.0.0/24", "IETF protocol assignments"),
		row("192.0.2.0/24", "documentation"),
		row("192.88.99.0/24", "6to4 relay"),
		row("192.168.0.0/16", "private"),
		row("198.18.0.0/15", "benchmarking"),
		row("198.51.100.0/24", "documentation"),
		row("203.0.113.0/24", "documentation"),
		row("224.0.0.0/4", "multicast"),
		row("240.0.0.0/4", "reserved or broadcast"),

		row("::/128", "unspecified"),
		row("::1/128", "loopback"),
		row("::/96", "IPv4-compatible"),
		row("::ffff:0:0:0/96", "IPv4-translated"),
		row("64:ff9b:1::/48", "local NAT64"),
		row("100::/64", "discard"),
		row("2001::/23", "Teredo and IETF protocol assignments"),
		row("2001:db8::/32", "documentation"),
		row("2002::/16", "6to4"),
		row("3fff::/20", "documentation"),
		row("5f00::/16", "segment routing"),
		row("fc00::/7", "unique local"),
		row("fe80::/10", "link-local"),
		row("fec0::/10", "site-local"),
		row("ff00::/8", "multicast"),
	}
}

// metadataAddrs are the addresses at which clouds serve credentials without authentication.
func metadataAddrs() []netip.Addr {
	addr := netip.MustParseAddr
	return []netip.Addr{
		addr("169.254.169.254"), // AWS, Google, Azure, DigitalOcean, Oracle and others
		addr("169.254.170.2"),   // AWS ECS task credentials
		addr("169.254.170.23"),  // AWS EKS pod identity
		addr("100.100.100.200"), // Alibaba
		addr("168.63.129.16"),   // Azure's wire server, a public address
		addr("192.0.0.192"),     // Oracle, older
		addr("fd00:ec2::254"),   // AWS over IPv6
		addr("fd00:ec2::23"),    // AWS EKS pod identity over IPv6
		addr("fd20:ce::254"),    // Google over IPv6
	}
}

// addrTable is the two lists in the form a lookup needs. It is a value of the
// allowList's Policy and not a package variable, so that nothing can change it.
type addrTable struct {
	refused  []refusedPrefix
	metadata map[netip.Addr]bool
	global6  netip.Prefix
	nat64    netip.Prefix
}

func newAddrTable() addrTable {
	t := addrTable{
		refused:  refusedPrefixes(),
		metadata: map[netip.Addr]bool{},
		global6:  netip.MustParsePrefix("2000::/3"),
		nat64:    netip.MustParsePrefix("64:ff9b::/96"),
	}

	for _, a := range metadataAddrs() {
		t.metadata[a] = true
	}
	return t
}

// decision is the reason why an address is refused; the zero value means that it is public.
type decision struct {
	reason Reason
	detail string
}

// decide classifies addr regardless of the addresses that the operator allowed. A translated IPv6 address is also
// judged by the IPv4 address inside it.
func (t *addrTable) decide(addr netip.Addr) decision {
	if !addr.IsValid() || addr.Zone() != "" {
		return decision{reasonAddress, "invalid or with a zone"}
	}

	addr = addr.Unmap()
	inner, translated := embedded4(addr)
	if t.metadata[addr] || translated && t.metadata[inner] {
		return decision{reasonMetadata, "metadata address"}
	}

	for _, row := range t.refused {
		if row.prefix.Contains(addr) {
			return decision{reasonAddress, row.what}
		}
	}
	if addr.Is6() && !t.global6.Contains(addr) && !t.nat64.Contains(addr) {
		return decision{reasonAddress, "not global unicast"}
	}

	if translated {
		return t.decide(inner)
	}
	return decision{}
}

// embedded4 returns the IPv4 address that a translated or tunnelled IPv6
// address leads to. IPv4-mapped addresses are unmapped before.
func embedded4(addr netip.Addr) (netip.Addr, bool) {
	if !addr.Is6() {
		return netip.Addr{}, false
	}

	b := addr.As16()
	at := func(i int) (netip.Addr, bool) { return netip.AddrFrom4([4]byte(b[i : i+4])), true }
	word := func(i int) uint32 { return binary.BigEndian.Uint32(b[i:]) }

	switch {
	case word(0) == 0x0064ff9b && word(4) == 0 && word(8) == 0: // NAT64, 64:ff9b::/96
		return at(12)
	case word(0)>>16 == 0x2002: // 6to4, 2002:AABB:CCDD::/48
		return at(2)
	case word(0) == 0x20010000: // Teredo hides the client's address by inverting it
		for i := 12; i < 16; i++ {
			b[i] = ^b[i]
		}
		return at(12)
	case word(0) == 0 && word(4) == 0 && (word(8) == 0 || word(8) == 0xffff0000): // compatible, translated
		return at(12)
	case word(8)&^uint32(0x02000000) == 0x00005efe: // ISATAP's interface identifier
		return at(12)
	}
	return netip.Addr{}, false
}
