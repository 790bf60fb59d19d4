package egress

import (
	"net/netip"
	"strings"
	"testing"
)

func TestNewNamesTheBadEntry(t *testing.T) {
	for _, entry := range []string{
		"", "a b", "http://intranet", "intranet:99999", "intranet:http", "10.0.0.0/33", "10.0.0.1/8", "::ffff:10.0.0.0/104",
		"[::1", "*.example.com", "user@intranet", "fe80::1%eth0", "1.2.3.4.5",
	} {
		_, err := New(Config{AllowHosts: []string{"fine.example", entry}})
		if err == nil {
			t.Errorf("New accepted the entry %q", entry)
			continue
		}
		if !strings.Contains(err.Error(), `"`+entry+`"`) {
			t.Errorf("error %q does not name the entry %q", err, entry)
		}
	}
}

// An entry opens the target it names and nothing else.
func TestAllowHostsOpensExactlyTheTarget(t *testing.T) {
	cases := []struct {
		entry        string
		open, closed []string
	}{
		{"localhost", []string{"localhost", "localhost.", "LOCALHOST:8443"}, []string{"x.localhost", "127.0.0.1", "[::1]"}},
		{"localhost:8443", []string{"localhost:8443"}, []string{"localhost", "localhost:8444", "127.0.0.1:8443"}},
		{"127.0.0.1", []string{"127.0.0.1", "127.1:8", "[::ffff:127.0.0.1]"}, []string{"127.0.0.2", "localhost", "[::1]", "[64:ff9b::7f00:1]"}},
		{"127.0.0.1:8443", []string{"127.0.0.1:8443"}, []string{"127.0.0.1", "127.0.0.1:443", "127.0.0.2:8443"}},
		{"127.0.0.1:443", []string{"127.0.0.1", "127.0.0.1:443"}, []string{"127.0.0.1:444"}},
		{"::1", []string{"[::1]", "[0::1]:8443"}, []string{"[::2]", "127.0.0.1", "localhost"}},
		{"[::1]:8443", []string{"[::1]:8443"}, []string{"[::1]", "[::2]:8443"}},
		{"10.20.0.0/16", []string{"10.20.0.1", "10.20.255.255:8443"}, []string{"10.21.0.1", "10.19.255.255", "10.0.0.1"}},
		{"fd12::/64", []string{"[fd12::1]"}, []string{"[fd12:0:0:1::1]", "[fd13::1]"}},
		{"metadata.google.internal", []string{"metadata.google.internal"}, []string{"metadata", "169.254.169.254"}},
		{"169.254.169.254", []string{"169.254.169.254"}, []string{"169.254.169.253", "169.254.170.2"}},
		{"169.254.0.0/16", []string{"169.254.1.1"}, []string{"169.254.169.254", "169.254.170.2"}},
		{"0.0.0.0/0", []string{"10.0.0.1", "127.0.0.1"}, []string{"169.254.169.254", "100.100.100.200", "[::1]"}},
		{"mail.example:25", []string{"mail.example:25"}, []string{"mail.example:22", "other.example:25"}},
		{"mail.example", []string{"mail.example"}, []string{"mail.example:25"}},
		{"10.0.0.5:22", []string{"10.0.0.5:22"}, []string{"10.0.0.5:25", "10.0.0.5", "10.0.0.6:22"}},
	}
	for _, c := range cases {
		t.Run(c.entry, func(t *testing.T) {
			p := newPolicy(t, Config{AllowHosts: []string{" " + c.entry}})
			for _, host := range c.open {
				if _, err := p.CheckURL("https://" + host + "/"); err != nil {
					t.Errorf("https://%s/ is closed, want it open", host)
				}
			}
			for _, host := range c.closed {
				if _, err := p.CheckURL("https://" + host + "/"); err == nil {
					t.Errorf("https://%s/ is open, want it closed", host)
				}
			}
		})
	}
}

func TestCheckAddrKnowsTheNameItWasFoundUnder(t *testing.T) {
	p := newPolicy(t, Config{AllowHosts: []string{"intranet.example:8443"}})
	inner, metadata := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("169.254.169.254")
	if err := p.CheckAddr(inner, "intranet.example:8443"); err != nil {
		t.Errorf("the opened name and port: %v", err)
	}
	wantRefused(t, p.CheckAddr(inner, "intranet.example"), reasonAddress)
	wantRefused(t, p.CheckAddr(inner, "other.example:8443"), reasonAddress)
	wantRefused(t, p.CheckAddr(inner, ""), reasonAddress)
	wantRefused(t, p.CheckAddr(inner, "not a host"), reasonSyntax)
	// An opened name whose DNS turns to the metadata service stays closed.
	wantRefused(t, p.CheckAddr(metadata, "intranet.example:8443"), reasonMetadata)
}
