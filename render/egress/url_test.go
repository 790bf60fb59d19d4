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
		{"http://example.com/", ReasonScheme}, {"file:///etc/passwd", ReasonScheme}, {"FILE:///etc/passwd", ReasonScheme},
		{"fIlE://localhost/etc/passwd", ReasonScheme}, {"file:/etc/passwd", ReasonScheme}, {"file:etc/passwd", ReasonScheme},
		{"view-source:https://example.com/", ReasonScheme}, {"view-source:file:///etc/passwd", ReasonScheme},
		{"ftp://example.com/", ReasonScheme}, {"gopher://example.com/", ReasonScheme}, {"data:text/html,x", ReasonScheme},
		{"blob:https://example.com/1", ReasonScheme}, {"chrome://version", ReasonScheme}, {"javascript:alert(1)", ReasonScheme},
		{"filesystem:https://example.com/t/x", ReasonScheme}, {"about:blank", ReasonScheme}, {"ws://example.com/", ReasonScheme},
		{"jar:https://example.com!/", ReasonScheme}, {"C:/Windows/win.ini", ReasonScheme}, {"http\u017f://example.com/", ReasonScheme},
		{"http\u017f://1.1.1.1/", ReasonScheme}, {"://example.com", ReasonScheme},

		// Text that browsers repair.
		{"", ReasonSyntax}, {"example.com", ReasonSyntax}, {"/etc/passwd", ReasonSyntax}, {"//example.com/", ReasonSyntax},
		{" https://example.com/", ReasonSyntax}, {"https://example.com/ ", ReasonSyntax}, {"ht\ttps://example.com/", ReasonSyntax},
		{"https://exam\nple.com/", ReasonSyntax}, {"https://example.com/\r\nHost: x", ReasonSyntax}, {"https://example.com/\x00", ReasonSyntax},
		{" file:///etc/passwd", ReasonSyntax}, {"\tfile:///etc/passwd", ReasonSyntax}, {"fi\nle:///etc/passwd", ReasonSyntax},
		{`\\localhost\share`, ReasonSyntax}, {`https:\\example.com\`, ReasonSyntax}, {`https://example.com\@127.0.0.1/`, ReasonSyntax},
		{`file:\\localhost\c$`, ReasonSyntax}, {"https:example.com", ReasonSyntax}, {"https:/example.com", ReasonSyntax},
		{"https:///example.com", ReasonSyntax}, {"https://", ReasonSyntax}, {"https:////example.com", ReasonSyntax},
		{"https://?x", ReasonSyntax}, {"https://#x", ReasonSyntax}, {"https://:443/", ReasonSyntax},
		{"https://example.com:99999/", ReasonSyntax}, {"https://example.com:0/", ReasonSyntax}, {"https://example.com:-1/", ReasonSyntax},
		{"https://example.com:4a3/", ReasonSyntax}, {"https://a..example/", ReasonSyntax}, {"https://example.com../", ReasonSyntax},
		{"https://./", ReasonSyntax}, {"https://%6cocalhost/", ReasonSyntax}, {"https://example.com%2f@x/", ReasonUserinfo},
		{"https://example%2ecom/", ReasonSyntax}, {"https://exa\uff0fmple.com/", ReasonSyntax}, {"https://a\u3000b.example/", ReasonSyntax},
		{"https://\xff.example/", ReasonSyntax}, {"https://::1/", ReasonSyntax}, {"https://2606:4700::1111/", ReasonSyntax},
		{"https://[::1", ReasonSyntax}, {"https://[fe80::1%25eth0]/", ReasonSyntax}, {"https://[fe80::1%eth0]/", ReasonSyntax},
		{"https://[127.0.0.1]/", ReasonSyntax}, {"https://[::1]x/", ReasonSyntax}, {"https://[example.com]/", ReasonSyntax},
		{"https://256.1.1.1/", ReasonSyntax}, {"https://1.2.3.4.5/", ReasonSyntax}, {"https://09.1.1.1/", ReasonSyntax},
		{"https://0x1ffffffff/", ReasonSyntax}, {"https://4294967296/", ReasonSyntax},
		{"https://example.1/", ReasonSyntax}, {"https://" + strings.Repeat("a", 64) + ".example/", ReasonSyntax},
		{"https://" + strings.Repeat("a.", 130) + "example/", ReasonSyntax}, {"https://example.com/%zz", ReasonSyntax},

		// User and password.
		{"https://user@example.com/", ReasonUserinfo}, {"https://user:pw@example.com/", ReasonUserinfo}, {"https://@example.com/", ReasonUserinfo},
		{"https://example.com@127.0.0.1/", ReasonUserinfo}, {"https://127.0.0.1:80@example.com/", ReasonUserinfo},

		// Addresses in every spelling.
		{"https://127.0.0.1/", ReasonAddress}, {"https://127.0.0.1./", ReasonAddress}, {"https://127.1/", ReasonAddress},
		{"https://127.0.1/", ReasonAddress}, {"https://2130706433/", ReasonAddress}, {"https://0x7f000001/", ReasonAddress},
		{"https://0X7F.1/", ReasonAddress}, {"https://017700000001/", ReasonAddress}, {"https://0177.0.0.1/", ReasonAddress},
		{"https://0x7f.0.0.0x1/", ReasonAddress}, {"https://127.0.0.0x1/", ReasonAddress}, {"https://0/", ReasonAddress},
		{"https://0x/", ReasonAddress}, {"https://0.0.0.0/", ReasonAddress}, {"https://0000.0/", ReasonAddress},
		{"https://127.0.0.1:8443/", ReasonAddress}, {"https://10.1/", ReasonAddress}, {"https://167772161/", ReasonAddress},
		{"https://192.168.1.1/", ReasonAddress}, {"https://100.64.0.1/", ReasonAddress},
		{"https://\uff11\uff12\uff17.\uff10.\uff10.\uff11/", ReasonAddress}, {"https://127\u30020\uff0e0\uff611/", ReasonAddress},
		{"https://\u2460\u2461\u2466.0.0.1/", ReasonAddress}, {"https://0\u00ad.0.0.0/", ReasonAddress},
		{"https://[::1]/", ReasonAddress}, {"https://[::]/", ReasonAddress}, {"https://[::ffff:127.0.0.1]/", ReasonAddress},
		{"https://[::ffff:7f00:1]/", ReasonAddress}, {"https://[0:0:0:0:0:FFFF:7F00:0001]/", ReasonAddress}, {"https://[::127.0.0.1]/", ReasonAddress},
		{"https://[2002:7f00:1::]/", ReasonAddress}, {"https://[64:ff9b::7f00:1]/", ReasonAddress}, {"https://[2001::1]/", ReasonAddress},
		{"https://[fec0::1]/", ReasonAddress}, {"https://[fd00::1]/", ReasonAddress}, {"https://[fe80::1]/", ReasonAddress},

		// Names.
		{"https://localhost/", ReasonName}, {"https://LOCALHOST/", ReasonName}, {"https://localhost./", ReasonName},
		{"https://x.localhost/", ReasonName}, {"https://a.b.localhost./", ReasonName}, {"https://localhost:8443/", ReasonName},
		{"https://\uff4c\uff4fcalhost/", ReasonName}, {"https://local\u00adhost/", ReasonName}, {"https://x\u3002localhost/", ReasonName},
		{"https://\u24db\u24de\u24d2alhost/", ReasonName},
		{"https://metadata.google.internal/", ReasonMetadata}, {"https://METADATA.google.internal./", ReasonMetadata},
		{"https://metadata/", ReasonMetadata}, {"https://metadata.goog/", ReasonMetadata}, {"https://instance-data/", ReasonMetadata},
		{"https://instance-data.ec2.internal/", ReasonMetadata}, {"https://x.metadata.google.internal/", ReasonMetadata},
		{"https://169.254.169.254/latest/meta-data/", ReasonMetadata}, {"https://0xa9fea9fe/", ReasonMetadata}, {"https://2852039166/", ReasonMetadata},
		{"https://[fd00:ec2::254]/", ReasonMetadata}, {"https://[::ffff:169.254.169.254]/", ReasonMetadata}, {"https://168.63.129.16/", ReasonMetadata},

		// Ports of other protocols.
		{"https://example.com:25/", ReasonPort}, {"https://example.com:22/", ReasonPort}, {"https://example.com:6667/", ReasonPort},
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
	wantRefused(t, err, ReasonScheme)
	_, err = p.CheckURL("file:///etc/passwd", "http", "https")
	wantRefused(t, err, ReasonScheme)
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
