package egress

import (
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func fetch(t testing.TB, client *http.Client, url string) (*http.Response, string, error) {
	t.Helper()
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return nil, "", err
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

// loopbackSpellings are hosts that lead to 127.0.0.1, each with the reason for
// which it is refused and the entry that opens it.
var loopbackSpellings = []struct {
	host, allow string
	want        Reason
}{
	{"127.0.0.1", "127.0.0.1", reasonAddress},
	{"127.0.0.1.", "127.0.0.1", reasonAddress},
	{"127.1", "127.0.0.1", reasonAddress},
	{"2130706433", "127.0.0.1", reasonAddress},
	{"0x7f000001", "127.0.0.1", reasonAddress},
	{"017700000001", "127.0.0.1", reasonAddress},
	{"[::ffff:127.0.0.1]", "127.0.0.1", reasonAddress},
	{"127\u30020\uff0e0\uff611", "127.0.0.1", reasonAddress},
	{"\uff11\uff12\uff17.0.0.1", "127.0.0.1", reasonAddress},
	{"localhost", "localhost", reasonName},
	{"localhost.", "localhost", reasonName},
	{"x.localhost", "x.localhost", reasonName},
	{"inward.example", "inward.example", reasonAddress},
	{"inward.example", "127.0.0.0/8", reasonAddress},
	{"mapped.example", "mapped.example", reasonAddress},
}

func loopbackDNS() *dns {
	return oneAnswer(map[string][]string{
		"localhost": {"127.0.0.1"}, "x.localhost": {"127.0.0.1"}, "inward.example": {"127.0.0.1"}, "mapped.example": {"::ffff:127.0.0.1"},
	})
}

func TestClientNeverReachesTheCanary(t *testing.T) {
	for _, c := range loopbackSpellings {
		t.Run(c.host+" "+c.allow, func(t *testing.T) {
			canary := newCanary(t, hello)
			url := "http://" + c.host + ":" + canary.port() + "/"
			schemes := ClientConfig{Schemes: []string{"http"}}

			_, _, err := fetch(t, newPolicy(t, Config{Resolver: loopbackDNS()}).Client(schemes), url)
			wantRefused(t, err, c.want)
			if got := canary.hits.Load(); got != 0 {
				t.Fatalf("the canary was reached %d times", got)
			}
			// The control: opened, the same request arrives.
			opened := newPolicy(t, Config{Resolver: loopbackDNS(), AllowHosts: []string{c.allow}})
			if _, body, err := fetch(t, opened.Client(schemes), url); err != nil || body != "hello" {
				t.Fatalf("with %s opened: got %q, %v", c.allow, body, err)
			}
			if got := canary.hits.Load(); got != 1 {
				t.Errorf("with %s opened the canary was reached %d times, want 1", c.allow, got)
			}
		})
	}
}

func TestClientChecksRedirects(t *testing.T) {
	canary := newCanary(t, hello)
	inward := "http://127.0.0.1:" + canary.port() + "/"
	front := newCanary(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	})
	via := "http://front.example:" + front.port() + "/?to="
	config := Config{
		AllowHosts: []string{"front.example"},
		Resolver:   oneAnswer(map[string][]string{"front.example": {"127.0.0.1"}, "inward.example": {"10.0.0.1"}}),
	}
	client := func(c Config) *http.Client {
		return newPolicy(t, c).Client(ClientConfig{Schemes: []string{"http", "https"}, MaxRedirects: 5})
	}
	cases := []struct {
		to   string
		want Reason
	}{
		{inward, reasonAddress},
		{"http://localhost:" + canary.port() + "/", reasonName},
		{"http://inward.example:" + canary.port() + "/", reasonAddress},
		{"http://169.254.169.254/latest/", reasonMetadata},
		{"file:///etc/passwd", reasonScheme},
		{"ftp://front.example/x", reasonScheme},
		{"http://user:pw@front.example:" + front.port() + "/", reasonUserinfo},
	}
	for _, c := range cases {
		t.Run(c.to, func(t *testing.T) {
			_, _, err := fetch(t, client(config), via+c.to)
			wantRefused(t, err, c.want)
		})
	}
	if got := canary.hits.Load(); got != 0 {
		t.Fatalf("the canary was reached %d times", got)
	}
	config.AllowHosts = append(config.AllowHosts, "127.0.0.1:"+canary.port())
	if _, body, err := fetch(t, client(config), via+inward); err != nil || body != "hello" {
		t.Errorf("with the canary opened: got %q, %v", body, err)
	}
}

func TestClientRedirectLimit(t *testing.T) {
	// Each hop asks for one less: /3 → /2 → /1 → /0.
	server := newCanary(t, func(w http.ResponseWriter, r *http.Request) {
		if left := r.URL.Path[1] - '0'; left > 0 {
			http.Redirect(w, r, "/"+string('0'+left-1), http.StatusFound)
			return
		}
		hello(w, r)
	})
	p := newPolicy(t, Config{AllowHosts: []string{"127.0.0.1"}})
	client := func(limit int) *http.Client {
		return p.Client(ClientConfig{Schemes: []string{"http"}, MaxRedirects: limit})
	}
	if _, body, err := fetch(t, client(3), server.URL+"/3"); err != nil || body != "hello" {
		t.Errorf("three redirects of three: got %q, %v", body, err)
	}
	if _, _, err := fetch(t, client(2), server.URL+"/3"); !errors.Is(err, ErrTooManyRedirects) {
		t.Errorf("three redirects of two: got %v, want ErrTooManyRedirects", err)
	}
	resp, _, err := fetch(t, client(0), server.URL+"/3")
	if err != nil || resp.StatusCode != http.StatusFound {
		t.Errorf("no redirects: got %v, %v; want the 302 itself", resp, err)
	}
}

func TestClientKnowsTheExtraCA(t *testing.T) {
	site := newTLSSite(t)
	roots := x509.NewCertPool()
	roots.AddCert(site.Certificate())
	// httptest's certificate is for example.com, *.example.com and 127.0.0.1.
	url := strings.Replace(site.URL, "127.0.0.1", "intranet.example.com", 1)
	config := Config{
		AllowHosts: []string{"intranet.example.com"},
		Resolver:   oneAnswer(map[string][]string{"intranet.example.com": {"127.0.0.1"}}),
	}
	var unknown x509.UnknownAuthorityError
	if _, _, err := fetch(t, newPolicy(t, config).Client(ClientConfig{}), url); !errors.As(err, &unknown) {
		t.Errorf("without the CA: got %v, want an unknown authority", err)
	}
	config.ExtraCA = roots
	resp, body, err := fetch(t, newPolicy(t, config).Client(ClientConfig{}), url)
	if err != nil || body != "hello" || resp.StatusCode != http.StatusOK {
		t.Errorf("with the CA: got %q, %v", body, err)
	}
}

func TestClientIgnoresTheEnvironmentsProxy(t *testing.T) {
	proxy := newCanary(t, hello)
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	_, _, err := fetch(t, newPolicy(t, Config{}).Client(ClientConfig{Schemes: []string{"http"}}), "http://missing.example/")
	if err == nil || proxy.hits.Load() != 0 {
		t.Errorf("got error %v and %d hits on the proxy, want a DNS error and none", err, proxy.hits.Load())
	}
}

func TestClientTimesOut(t *testing.T) {
	release := make(chan struct{})
	server := newCanary(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	client := newPolicy(t, Config{AllowHosts: []string{"127.0.0.1"}}).
		Client(ClientConfig{Schemes: []string{"http"}, Timeout: 50 * time.Millisecond})
	_, _, err := fetch(t, client, server.URL)
	var timeout interface{ Timeout() bool }
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("got %v, want a timeout", err)
	}
}
