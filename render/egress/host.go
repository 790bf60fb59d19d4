package egress

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// maxHostLength is the longest name the DNS can carry, in bytes of its text.
const maxHostLength = 253

// maxRawHostLength is the maximum length of a name before the IDN mapping. The spelling of a name of 253 bytes can
// be longer before the mapping, but not without limit.
const maxRawHostLength = 1024

var errHost = errors.New("not a valid host")

// target is a requested host and port in canonical form.
type target struct {
	host string     // lower-case ASCII name without its final dot, or the text of addr
	addr netip.Addr // the address, when host is a literal; else invalid
	port uint16     // 0 if it is not known
	ssh  bool       // SSH is spoken, so its port is not another protocol's
}

// String returns the target as the Host of a URL, with the port if it is known.
func (t target) String() string {
	if t.port != 0 {
		return net.JoinHostPort(t.host, strconv.Itoa(int(t.port)))
	}
	if t.addr.Is6() {
		return "[" + t.host + "]"
	}
	return t.host
}

// parseTarget reads "host" or "host:port". An IPv6 address with a port must be in brackets; without a port it may
// have none.
func parseTarget(s string) (target, error) {
	host, port, err := splitPort(s)
	if err != nil {
		return target{}, err
	}

	host, addr, err := parseHost(host)
	if err != nil {
		return target{}, err
	}
	return target{host: host, addr: addr, port: port}, nil
}

// splitPort cuts a decimal port off s; an empty port ("host:") counts as none,
// as in a browser.
func splitPort(s string) (host string, port uint16, err error) {
	if addr, err := netip.ParseAddr(s); err == nil && addr.Is6() {
		return "[" + s + "]", 0, nil
	}

	i := strings.LastIndexByte(s, ':')
	if i < 0 || strings.HasSuffix(s, "]") {
		return s, 0, nil
	}

	host = s[:i]
	text := s[i+1:]
	if text == "" {
		return host, 0, nil
	}

	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return "", 0, errHost
	}
	return host, uint16(n), nil
}

// parseHost reads a host as browsers do (the WHATWG URL Standard's host parser), so that each spelling means the
// same here and in Chromium: IDN dots and full-width digits are mapped, and decimal, octal, hexadecimal and short
// IPv4 addresses are addresses. It is stricter with the rest: percent signs, zones and characters outside letters,
// digits, hyphen and underscore are refused.
func parseHost(raw string) (string, netip.Addr, error) {
	if raw == "" || len(raw) > maxRawHostLength {
		return "", netip.Addr{}, errHost
	}
	if strings.HasPrefix(raw, "[") {
		return parseBracketed(raw)
	}

	name, err := hostProfile().ToASCII(raw)
	if err != nil {
		return "", netip.Addr{}, errHost
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if !validName(name) {
		return "", netip.Addr{}, errHost
	}

	if !endsInNumber(name) {
		return name, netip.Addr{}, nil
	}
	addr, err := parseIPv4(name)
	if err != nil {
		return "", netip.Addr{}, err
	}
	return addr.String(), addr, nil
}

// hostProfile is the mapping of UTS 46 with the flags browsers use. Names with
// an underscore or with hyphens in the third and fourth place exist.
func hostProfile() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.Transitional(false),
		idna.StrictDomainName(false), idna.CheckHyphens(false))
}

func parseBracketed(raw string) (string, netip.Addr, error) {
	inner, ok := strings.CutSuffix(raw[1:], "]")
	if !ok {
		return "", netip.Addr{}, errHost
	}

	addr, err := netip.ParseAddr(inner)
	if err != nil || !addr.Is6() || addr.Zone() != "" {
		return "", netip.Addr{}, errHost
	}
	return addr.String(), addr, nil
}

// validName reports whether the DNS and all our clients read name alike: dot-separated
// labels of letters, digits, hyphen and underscore.
func validName(name string) bool {
	if name == "" || len(name) > maxHostLength {
		return false
	}

	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}

// endsInNumber is the URL Standard's "ends in a number" check: such a host is
// an IPv4 address or nothing.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if strings.Trim(last, "0123456789") == "" {
		return true
	}
	_, err := parseIPv4Part(last)
	return err == nil
}

// parseIPv4 is the URL Standard's IPv4 parser: one to four parts, each decimal,
// octal (leading 0) or hexadecimal (leading 0x), the last one filling the rest.
func parseIPv4(s string) (netip.Addr, error) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return netip.Addr{}, errHost
	}

	var sum uint64
	for i, part := range parts {
		n, err := parseIPv4Part(part)
		if err != nil {
			return netip.Addr{}, err
		}

		limit := uint64(1) << 8
		if i == len(parts)-1 {
			limit <<= 8 * (4 - len(parts))
			sum = sum<<(8*(5-len(parts))) + n
		} else {
			sum = sum<<8 + n
		}
		if n >= limit {
			return netip.Addr{}, errHost
		}
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}), nil
}

func parseIPv4Part(s string) (uint64, error) {
	base := 10
	switch {
	case strings.HasPrefix(s, "0x"):
		s = s[2:]
		base = 16
		if s == "" {
			return 0, nil // browsers read a bare 0x as zero
		}
	case len(s) > 1 && s[0] == '0':
		s = s[1:]
		base = 8
	}

	n, err := strconv.ParseUint(s, base, 64)
	if err != nil {
		return 0, errHost
	}
	return n, nil
}
