package egress

import (
	"net/netip"
	"testing"
)

func TestCheckAddr(t *testing.T) {
	p := newPolicy(t, Config{})
	cases := []struct {
		addr string
		want Reason // empty: public
	}{
		{"1.1.1.1", ""}, {"93.184.216.34", ""}, {"172.15.255.255", ""}, {"172.32.0.0", ""}, {"100.63.255.255", ""},
		{"100.128.0.0", ""}, {"11.0.0.0", ""}, {"126.255.255.255", ""}, {"128.0.0.1", ""}, {"223.255.255.255", ""},
		{"198.17.255.255", ""}, {"198.20.0.0", ""}, {"169.253.255.255", ""}, {"192.167.255.255", ""},
		{"2606:4700:4700::1111", ""}, {"2a00:1450:4001::1", ""}, {"2001:4860:4860::8888", ""}, {"2003::1", ""},

		{"0.0.0.0", reasonAddress}, {"0.1.2.3", reasonAddress},
		{"10.0.0.0", reasonAddress}, {"10.255.255.255", reasonAddress},
		{"100.64.0.0", reasonAddress}, {"100.127.255.255", reasonAddress},
		{"127.0.0.1", reasonAddress}, {"127.255.255.254", reasonAddress},
		{"169.254.0.1", reasonAddress}, {"172.16.0.0", reasonAddress}, {"172.31.255.255", reasonAddress},
		{"192.0.0.1", reasonAddress}, {"192.0.2.1", reasonAddress}, {"192.88.99.1", reasonAddress},
		{"192.168.0.1", reasonAddress}, {"198.18.0.1", reasonAddress}, {"198.19.255.255", reasonAddress},
		{"198.51.100.7", reasonAddress}, {"203.0.113.7", reasonAddress}, {"224.0.0.1", reasonAddress},
		{"239.255.255.255", reasonAddress}, {"240.0.0.1", reasonAddress}, {"255.255.255.255", reasonAddress},

		{"::", reasonAddress}, {"::1", reasonAddress}, {"::2", reasonAddress},
		{"::127.0.0.1", reasonAddress}, {"::1.1.1.1", reasonAddress}, // compatible: refused whole
		{"::ffff:127.0.0.1", reasonAddress}, {"::ffff:10.0.0.1", reasonAddress}, {"::ffff:1.1.1.1", ""},
		{"::ffff:0:127.0.0.1", reasonAddress}, {"::ffff:0:1.1.1.1", reasonAddress},
		{"64:ff9b::127.0.0.1", reasonAddress}, {"64:ff9b::10.0.0.1", reasonAddress}, {"64:ff9b::1.1.1.1", ""},
		{"64:ff9b:1::1.1.1.1", reasonAddress}, {"64:ff9b::1:7f00:1", reasonAddress},
		{"2002:7f00:1::", reasonAddress}, {"2002:101:101::1", reasonAddress},
		{"2001::1", reasonAddress}, {"2001:0:4136:e378:8000:63bf:80ff:fffe", reasonAddress},
		{"2001:db8::1", reasonAddress}, {"3fff::1", reasonAddress}, {"100::1", reasonAddress}, {"5f00::1", reasonAddress},
		{"fc00::1", reasonAddress}, {"fdff::1", reasonAddress}, {"fe80::1", reasonAddress}, {"fe80::1%eth0", reasonAddress},
		{"febf::1", reasonAddress}, {"fec0::1", reasonAddress}, {"feff::1", reasonAddress}, {"ff02::1", reasonAddress},
		{"2606:4700::1%eth0", reasonAddress}, {"4000::1", reasonAddress}, {"1fff::1", reasonAddress},
		{"2606:4700::5efe:10.0.0.1", reasonAddress}, {"2606:4700::200:5efe:127.0.0.1", reasonAddress}, {"2606:4700::5efe:1.1.1.1", ""},

		{"169.254.169.254", reasonMetadata}, {"169.254.170.2", reasonMetadata}, {"100.100.100.200", reasonMetadata},
		{"168.63.129.16", reasonMetadata}, {"192.0.0.192", reasonMetadata}, {"fd00:ec2::254", reasonMetadata},
		{"fd20:ce::254", reasonMetadata}, {"::ffff:169.254.169.254", reasonMetadata}, {"64:ff9b::169.254.169.254", reasonMetadata},
		{"2002:a9fe:a9fe::", reasonMetadata}, {"::169.254.169.254", reasonMetadata}, {"64:ff9b::168.63.129.16", reasonMetadata},
		{"2001:0:0:0:0:0:5601:5601", reasonMetadata}, // Teredo, inverted 169.254.169.254
	}
	for _, c := range cases {
		t.Run(c.addr, func(t *testing.T) {
			err := p.CheckAddr(netip.MustParseAddr(c.addr), "")
			if c.want == "" {
				if err != nil {
					t.Fatalf("CheckAddr(%s) = %v, want nil", c.addr, err)
				}
				return
			}
			wantRefused(t, err, c.want)
		})
	}
}

func TestCheckAddrRefusesTheZeroAddr(t *testing.T) {
	wantRefused(t, newPolicy(t, Config{}).CheckAddr(netip.Addr{}, ""), reasonAddress)
}

// Every table row must be reachable: a row that an earlier one covers, or a
// prefix with host bits set, would be a typing error.
func TestRefusedPrefixesAreCanonical(t *testing.T) {
	for _, row := range refusedPrefixes() {
		if row.prefix != row.prefix.Masked() {
			t.Errorf("%s has host bits set, want %s", row.prefix, row.prefix.Masked())
		}
	}
}
