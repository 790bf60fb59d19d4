package egress

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
)

func TestCheckURLAccepts(t *testing.T) {
	p := newPolicy(t, Config{})
	cases := []struct{ raw, want string }{
		{"https://example.com", "https://example.com"},
		{"HTTPS://Example.COM/A?b=C#d", "https://example.com/A?b=C#d"},
		{"https://example.com:8443/", "https://example.com:8443/"},
		{"https://example.com:/x", "https://example.com/x"},
		{"https://example.com:0443/x", "https://example.com:443/x"},
		{"https://example.com./x", "https://example.com/x"},
		{"https://b\u00fccher.example/", "https://xn--bcher-kva.example/"},
		{"https://example\u3002com/", "https://example.com/"},
		{"https://under_score.example/", "https://under_score.example/"},
		{"https://r3---sn-4g5e.example/", "https://r3---sn-4g5e.example/"},
		{"https://1.1.1.1/", "https://1.1.1.1/"},
		{"https://0x01010101/", "https://1.1.1.1/"},
		{"https://1.1/", "https://1.0.0.1/"},
		{"https://[2606:4700:4700::1111]/", "https://[2606:4700:4700::1111]/"},
		{"https://[2606:4700:4700:0::1111]:8443/", "https://[2606:4700:4700::1111]:8443/"},
		{"https://example.com/a%20b?q=%5C|x", "https://example.com/a%20b?q=%5C|x"},
		{"https://example.com/@user", "https://example.com/@user"},
		{"https://example.com?u=me@x", "https://example.com?u=me@x"},
		{"https://localhost.example.com/", "https://localhost.example.com/"},
		{"https://notlocalhost/", "https://notlocalhost/"},
		{"https://printer.local/", "https://printer.local/"}, // judged by what it resolves to
	}
	for _, c := range cases {
		t.Run(c.raw, func(t *testing.T) {
			u, err := p.CheckURL(c.raw, "https")
			if err != nil {
				t.Fatalf("CheckURL: %v (%+v)", err, err)
			}
			if got := u.String(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestCheckURLRefuses(t *testing.T) {
	p := newPolicy(t, Config{})
	cases := []struct {
		raw  string
		want Reason
	}{
		// Schemes, in any case and behind others.
		{"http://example.com/", reasonScheme}, {"file:///etc/passwd", reasonScheme}, {"FILE:///etc/passwd", reasonScheme},
		{"fIlE://localhost/etc/passwd", reasonScheme}, {"file:/etc/passwd", reasonScheme}, {"file:etc/passwd", reasonScheme},
		{"view-source:https://example.com/", reasonScheme}, {"view-source:file:///etc/passwd", reasonScheme},
		{"ftp://example.com/", reasonScheme}, {"gopher://example.com/", reasonScheme}, {"data:text/html,x", reasonScheme},
		{"blob:https://example.com/1", reasonScheme}, {"chrome://version", reasonScheme}, {"javascript:alert(1)", reasonScheme},
		{"filesystem:https://example.com/t/x", reasonScheme}, {"about:blank", reasonScheme}, {"ws://example.com/", reasonScheme},
		{"jar:https://example.com!/", reasonScheme}, {"C:/Windows/win.ini", reasonScheme}, {"http\u017f://example.com/", reasonScheme},
		{"http\u017f://1.1.1.1/", reasonScheme}, {"://example.com", reasonScheme},

		// Text that browsers repair.
		{"", reasonSyntax}, {"example.com", reasonSyntax}, {"/etc/passwd", reasonSyntax}, {"//example.com/", reasonSyntax},
		{" https://example.com/", reasonSyntax}, {"https://example.com/ ", reasonSyntax}, {"ht\ttps://example.com/", reasonSyntax},
		{"https://exam\nple.com/", reasonSyntax}, {"https://example.com/\r\nHost: x", reasonSyntax}, {"https://example.com/\x00", reasonSyntax},
		{" file:///etc/passwd", reasonSyntax}, {"\tfile:///etc/passwd", reasonSyntax}, {"fi\nle:///etc/passwd", reasonSyntax},
		{`\\localhost\share`, reasonSyntax}, {`https:\\example.com\`, reasonSyntax}, {`https://example.com\@127.0.0.1/`, reasonSyntax},
		{`file:\\localhost\c$`, reasonSyntax}, {"https:example.com", reasonSyntax}, {"https:/example.com", reasonSyntax},
		{"https:///example.com", reasonSyntax}, {"https://", reasonSyntax}, {"https:////example.com", reasonSyntax},
		{"https://?x", reasonSyntax}, {"https://#x", reasonSyntax}, {"https://:443/", reasonSyntax},
		{"https://example.com:99999/", reasonSyntax}, {"https://example.com:0/", reasonSyntax}, {"https://example.com:-1/", reasonSyntax},
		{"https://example.com:4a3/", reasonSyntax}, {"https://a..example/", reasonSyntax}, {"https://example.com../", reasonSyntax},
		{"https://./", reasonSyntax}, {"https://%6cocalhost/", reasonSyntax}, {"https://example.com%2f@x/", reasonUserinfo},
		{"https://example%2ecom/", reasonSyntax}, {"https://exa\uff0fmple.com/", reasonSyntax}, {"https://a\u3000b.example/", reasonSyntax},
		{"https://\xff.example/", reasonSyntax}, {"https://::1/", reasonSyntax}, {"https://2606:4700::1111/", reasonSyntax},
		{"https://[::1", reasonSyntax}, {"https://[fe80::1%25eth0]/", reasonSyntax}, {"https://[fe80::1%eth0]/", reasonSyntax},
		{"https://[127.0.0.1]/", reasonSyntax}, {"https://[::1]x/", reasonSyntax}, {"https://[example.com]/", reasonSyntax},
		{"https://256.1.1.1/", reasonSyntax}, {"https://1.2.3.4.5/", reasonSyntax}, {"https://09.1.1.1/", reasonSyntax},
		{"https://0x1ffffffff/", reasonSyntax}, {"https://4294967296/", reasonSyntax},
		{"https://example.1/", reasonSyntax}, {"https://" + strings.Repeat("a", 64) + ".example/", reasonSyntax},
		{"https://" + strings.Repeat("a.", 130) + "example/", reasonSyntax}, {"https://example.com/%zz", reasonSyntax},

		// User and password.
		{"https://user@example.com/", reasonUserinfo}, {"https://user:pw@example.com/", reasonUserinfo}, {"https://@example.com/", reasonUserinfo},
		{"https://example.com@127.0.0.1/", reasonUserinfo}, {"https://127.0.0.1:80@example.com/", reasonUserinfo},

		// Addresses in every spelling.
		{"https://127.0.0.1/", reasonAddress}, {"https://127.0.0.1./", reasonAddress}, {"https://127.1/", reasonAddress},
		{"https://127.0.1/", reasonAddress}, {"https://2130706433/", reasonAddress}, {"https://0x7f000001/", reasonAddress},
		{"https://0X7F.1/", reasonAddress}, {"https://017700000001/", reasonAddress}, {"https://0177.0.0.1/", reasonAddress},
		{"https://0x7f.0.0.0x1/", reasonAddress}, {"https://127.0.0.0x1/", reasonAddress}, {"https://0/", reasonAddress},
		{"https://0x/", reasonAddress}, {"https://0.0.0.0/", reasonAddress}, {"https://0000.0/", reasonAddress},
		{"https://127.0.0.1:8443/", reasonAddress}, {"https://10.1/", reasonAddress}, {"https://167772161/", reasonAddress},
		{"https://192.168.1.1/", reasonAddress}, {"https://100.64.0.1/", reasonAddress},
		{"https://\uff11\uff12\uff17.\uff10.\uff10.\uff11/", reasonAddress}, {"https://127\u30020\uff0e0\uff611/", reasonAddress},
		{"https://\u2460\u2461\u2466.0.0.1/", reasonAddress}, {"https://0\u00ad.0.0.0/", reasonAddress},
		{"https://[::1]/", reasonAddress}, {"https://[::]/", reasonAddress}, {"https://[::ffff:127.0.0.1]/", reasonAddress},
		{"https://[::ffff:7f00:1]/", reasonAddress}, {"https://[0:0:0:0:0:FFFF:7F00:0001]/", reasonAddress}, {"https://[::127.0.0.1]/", reasonAddress},
		{"https://[2002:7f00:1::]/", reasonAddress}, {"https://[64:ff9b::7f00:1]/", reasonAddress}, {"https://[2001::1]/", reasonAddress},
		{"https://[fec0::1]/", reasonAddress}, {"https://[fd00::1]/", reasonAddress}, {"https://[fe80::1]/", reasonAddress},

		// Names.
		{"https://localhost/", reasonName}, {"https://LOCALHOST/", reasonName}, {"https://localhost./", reasonName},
		{"https://x.localhost/", reasonName}, {"https://a.b.localhost./", reasonName}, {"https://localhost:8443/", reasonName},
		{"https://\uff4c\uff4fcalhost/", reasonName}, {"https://local\u00adhost/", reasonName}, {"https://x\u3002localhost/", reasonName},
		{"https://\u24db\u24de\u24d2alhost/", reasonName},
		{"https://metadata.google.internal/", reasonMetadata}, {"https://METADATA.google.internal./", reasonMetadata},
		{"https://metadata/", reasonMetadata}, {"https://metadata.goog/", reasonMetadata}, {"https://instance-data/", reasonMetadata},
		{"https://instance-data.ec2.internal/", reasonMetadata}, {"https://x.metadata.google.internal/", reasonMetadata},
		{"https://169.254.169.254/latest/meta-data/", reasonMetadata}, {"https://0xa9fea9fe/", reasonMetadata}, {"https://2852039166/", reasonMetadata},
		{"https://[fd00:ec2::254]/", reasonMetadata}, {"https://[::ffff:169.254.169.254]/", reasonMetadata}, {"https://168.63.129.16/", reasonMetadata},

		// Ports of other protocols.
		{"https://example.com:25/", reasonPort}, {"https://example.com:22/", reasonPort}, {"https://example.com:6667/", reasonPort},
	}
	for _, c := range cases {
		t.Run(c.raw, func(t *testing.T) {
			u, err := p.CheckURL(c.raw, "https")
			if err == nil {
				t.Fatalf("CheckURL accepted it as %s, want a refusal (%s)", u, c.want)
			}
			wantRefused(t, err, c.want)
		})
	}
}

func TestCheckURLSchemes(t *testing.T) {
	p := newPolicy(t, Config{})
	if _, err := p.CheckURL("http://example.com/", "http", "https"); err != nil {
		t.Errorf("http with http and https allowed: %v", err)
	}
	if _, err := p.CheckURL("https://example.com/"); err != nil {
		t.Errorf("https with no scheme given: %v", err)
	}
	_, err := p.CheckURL("http://example.com/")
	wantRefused(t, err, reasonScheme)
	_, err = p.CheckURL("file:///etc/passwd", "http", "https")
	wantRefused(t, err, reasonScheme)
}

// The customer's message names the rule of the product and nothing of the network.
func TestRefusedErrorTextIsGeneric(t *testing.T) {
	p := newPolicy(t, Config{})
	want := "the URL is not allowed: only public https hosts can be reached"
	for _, raw := range []string{"https://10.0.0.1/", "https://localhost/", "http://example.com/", "https://169.254.169.254/", "https://u:p@h/"} {
		_, err := p.CheckURL(raw, "https")
		if err == nil || err.Error() != want {
			t.Errorf("CheckURL(%s): got %q, want %q", raw, err, want)
		}
	}
	_, err := p.CheckURL("https://10.0.0.1/", "http", "https")
	if got, want := err.Error(), "the URL is not allowed: only public http and https hosts can be reached"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOnRefuseSeesHostAndReasonOnce(t *testing.T) {
	var got []string
	var log strings.Builder
	p := newPolicy(t, Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), OnRefuse: func(host string, reason Reason) {
		got = append(got, host+" "+string(reason))
	}})
	_, err := p.CheckURL("https://127.1/secret-path?token=secret-query")
	if !errors.Is(err, ErrRefused) {
		t.Fatalf("got %v, want a refusal", err)
	}
	_, _ = p.CheckURL("https://secret-user:secret-pw@example.com/")
	if want := []string{"127.0.0.1 address", " userinfo"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !strings.Contains(log.String(), "127.0.0.1") || strings.Contains(log.String(), "secret") {
		t.Errorf("the log must have the host and nothing else of the URL: %s", log.String())
	}
}
