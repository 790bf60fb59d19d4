package render_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/egress"
)

// address is one spelling of a target that may not be reached. {port} is the
// canary's port, {secret} the path of a file.
type address struct {
	name, text string
	// opens are the entries of AllowHosts that open it; empty where nothing
	// does, or where no canary can stand.
	opens string
}

func addresses() []address {
	return []address{
		// Schemes.
		{name: "file", text: "file://{secret}"},
		{name: "file, upper case", text: "FILE://{secret}"},
		{name: "file, blank", text: " file://{secret}"},
		{name: "file, tab", text: "fi\tle://{secret}"},
		{name: "file, one slash", text: "file:{secret}"},
		{name: "file, host", text: "file://localhost{secret}"},
		{name: "file, backslashes", text: `file:\\localhost{secret}`},
		{name: "unc", text: `\\localhost{secret}`},
		{name: "view-source", text: "view-source:https://127.0.0.1:{port}/"},
		{name: "view-source file", text: "view-source:file://{secret}"},
		{name: "ftp", text: "ftp://127.0.0.1:{port}/"},
		{name: "gopher", text: "gopher://127.0.0.1:{port}/"},
		{name: "blob", text: "blob:https://127.0.0.1:{port}/1"},
		{name: "filesystem", text: "filesystem:https://127.0.0.1:{port}/temporary/x"},
		{name: "chrome", text: "chrome://version"},
		{name: "data", text: "data:text/html,<iframe src=https://127.0.0.1:{port}/>"},
		{name: "javascript", text: "javascript:location='https://127.0.0.1:{port}/'"},
		// Loopback in every spelling.
		{name: "loopback", text: "https://127.0.0.1:{port}/", opens: "127.0.0.1"},
		{name: "short", text: "https://127.1:{port}/", opens: "127.0.0.1"},
		{name: "decimal", text: "https://2130706433:{port}/", opens: "127.0.0.1"},
		{name: "octal", text: "https://017700000001:{port}/", opens: "127.0.0.1"},
		{name: "octal parts", text: "https://0177.0.0.01:{port}/", opens: "127.0.0.1"},
		{name: "hexadecimal", text: "https://0x7f000001:{port}/", opens: "127.0.0.1"},
		{name: "hexadecimal parts", text: "https://0x7f.0x0.0x0.0x1:{port}/", opens: "127.0.0.1"},
		{name: "final dot", text: "https://127.0.0.1.:{port}/", opens: "127.0.0.1"},
		{name: "wide digits", text: "https://１２７.０.０.１:{port}/", opens: "127.0.0.1"},
		{name: "wide dots", text: "https://127。0．0｡1:{port}/", opens: "127.0.0.1"},
		{name: "unspecified", text: "https://0.0.0.0:{port}/", opens: "0.0.0.0"},
		{name: "zero", text: "https://0:{port}/", opens: "0.0.0.0"},
		{name: "whole block", text: "https://127.9.9.9:{port}/", opens: "127.9.9.9"},
		{name: "v6", text: "https://[::1]:{port}/", opens: "::1"},
		{name: "v6, long", text: "https://[0:0:0:0:0:0:0:1]:{port}/", opens: "::1"},
		{name: "v6, unspecified", text: "https://[::]:{port}/", opens: "::"},
		{name: "v6, mapped", text: "https://[::ffff:127.0.0.1]:{port}/", opens: "127.0.0.1"},
		{name: "v6, mapped in hexadecimal", text: "https://[::ffff:7f00:1]:{port}/", opens: "127.0.0.1"},
		{name: "v6, compatible", text: "https://[::127.0.0.1]:{port}/"},
		{name: "6to4", text: "https://[2002:7f00:1::]:{port}/"},
		{name: "NAT64", text: "https://[64:ff9b::7f00:1]:{port}/"},
		{name: "Teredo", text: "https://[2001:0:7f00:1::]:{port}/"},
		{name: "user", text: "https://user:pw@127.0.0.1:{port}/"}, // Browsers embed nothing with a password.
		{name: "user as host", text: "https://example.com@127.0.0.1:{port}/"},
		{name: "backslash as slash", text: `https:\\127.0.0.1:{port}/`, opens: "127.0.0.1"},
		{name: "no scheme", text: "//127.0.0.1:{port}/"},
		// Names of this machine.
		{name: "localhost", text: "https://localhost:{port}/", opens: "localhost"},
		{name: "localhost, upper case", text: "https://LOCALHOST:{port}/", opens: "localhost"},
		{name: "localhost, final dot", text: "https://localhost.:{port}/", opens: "localhost"},
		{name: "localhost, wide", text: "https://ｌocalhost:{port}/", opens: "localhost"},
		{name: "under localhost", text: "https://x.localhost:{port}/", opens: "x.localhost"},
		// Networks where no canary can stand.
		{name: "private", text: "https://10.0.0.1/"},
		{name: "private v6", text: "https://[fd12::1]/"},
		{name: "site-local", text: "https://[fec0::1]/"},
		{name: "link-local", text: "https://[fe80::1]/"},
		{name: "CGNAT", text: "https://100.64.0.1/"},
		{name: "metadata", text: "https://169.254.169.254/latest/meta-data/"},
		{name: "metadata, decimal", text: "https://2852039166/"},
		{name: "metadata, mapped", text: "https://[::ffff:a9fe:a9fe]/"},
		{name: "metadata v6", text: "https://[fd00:ec2::254]/"},
		{name: "metadata name", text: "https://metadata.google.internal/"},
		{name: "metadata short name", text: "https://metadata/"},
	}
}

// at fills in the port and the file of an address.
func (a address) at(port int, secret string) string {
	return strings.NewReplacer("{port}", strconv.Itoa(port), "{secret}", secret).Replace(a.text)
}

// embedded is the address as plain HTTP on the canary's plain port, which
// understands a path.
func (a address) embedded(f *field, secret, path string) string {
	text := a.at(f.canary.plain, secret)
	if strings.HasSuffix(text, "/") {
		text += path
	}
	return strings.Replace(text, "https:", "http:", 1)
}

// secretFile returns the path of a file that everybody on this machine may
// read, with the marker that is in it.
func secretFile(t *testing.T) (path, marker string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "render-secret-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path, marker = filepath.Join(dir, "secret.html"), "CONTENTOFAFILE"
	err = errors.Join(os.Chmod(dir, 0o755), os.WriteFile(path, []byte("<h1>"+marker+"</h1>"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	return path, marker
}

// No spelling of an inward address is opened as a page, as what a page
// redirects to, or inside a document.
func TestAddressesAreRefused(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	f := newField(t)
	secret, marker := secretFile(t)
	r := launch(t, render.Config{Slots: together, AllowHosts: []string{f.siteHost()}, ExtraCA: f.ca.file, Resolver: f.names})
	var group errgroup.Group
	group.SetLimit(together)
	var embeds strings.Builder
	for i, a := range addresses() {
		embeds.WriteString(embed(a.embedded(f, secret, fmt.Sprintf("address-%d", i))))
		group.Go(func() error {
			address := a.at(f.canary.secure, secret)
			if err := renderPage(t, r, address); !errors.Is(err, egress.ErrRefused) {
				t.Errorf("page %s: error %v, want ErrRefused", a.name, err)
			}
			if a.name == "unc" || a.name == "no scheme" { // Relative addresses on the site itself.
				return nil
			}
			// Other schemes are stopped by the browser, before the proxy.
			var load *chrome.LoadError
			err := renderPage(t, r, f.redirect(address))
			if !errors.Is(err, egress.ErrRefused) && (strings.HasPrefix(a.text, "https:") || !errors.As(err, &load)) {
				t.Errorf("redirect to %s: error %v, want ErrRefused", a.name, err)
			}
			return nil
		})
	}
	_ = group.Wait()
	for name, source := range map[string]render.Source{
		"html":     {HTML: embeds.String() + "<p>shown"},
		"markdown": {Markdown: "# x\n\n<div>" + embeds.String() + "</div>\n\nshown\n", AllowHTML: true},
		"url":      {URL: f.site.origin("site.test") + f.site.publish(embeds.String()+"<p>shown")},
	} {
		doc, err := r.For("acct_1").PDF(t.Context(), source, untilIdle(), render.PDF{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if text := textOf(t, doc.Body); !strings.Contains(text, "shown") || strings.Contains(text, marker) {
			t.Errorf("%s: rendered %q", name, text)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	f.canary.wantSilence(t)
}

// renderPage prints a page and returns its error.
func renderPage(t *testing.T, r *render.Renderer, url string) error {
	t.Helper()
	return canaryCase{source: render.Source{URL: url}}.render(t, r)
}

// embed returns a fragment that loads an address in three ways.
func embed(address string) string {
	return fmt.Sprintf("<img src=\"%[1]s\"><iframe width=9 height=9 src=\"%[1]s\"></iframe><object data=\"%[1]s\"></object>\n", address)
}

// The same spellings lead to the canary where the operator opened them.
func TestAddressesAreReachedWhereOpen(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	f := newField(t)
	f.names["localhost"], f.names["x.localhost"] = always("127.0.0.1"), always("127.0.0.1")
	open := []string{}
	var embeds strings.Builder
	for i, a := range addresses() {
		if a.opens != "" {
			open = append(open, a.opens)
			embeds.WriteString(embed(a.embedded(f, "", fmt.Sprintf("address-%d", i))))
		}
	}
	r := launch(t, render.Config{AllowHosts: open, Resolver: f.names})
	d := canaryCase{source: render.Source{HTML: embeds.String()}, page: untilIdle()}
	if err := d.render(t, r); err != nil {
		t.Fatal(err)
	}
	for i, a := range addresses() {
		if token := fmt.Sprintf("address-%d", i); a.opens != "" && !f.canary.reached(token) {
			t.Errorf("%s did not reach the canary", a.name)
		}
	}
}

// A name is judged by its addresses, all of them, each time it is dialled.
func TestNamesThatResolveInwards(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	f := newField(t)
	inward := map[string][]string{
		"v4.test": {"127.0.0.1"}, "v6.test": {"::1"}, "mapped.test": {"::ffff:127.0.0.1"}, "zero.test": {"0.0.0.0"},
		"public-first.test": {"1.1.1.1", "127.0.0.1"}, "public-last.test": {"127.0.0.1", "1.1.1.1"}, "families.test": {"2606:4700:4700::1111", "127.0.0.1"},
		"private.test": {"10.0.0.1"}, "metadata.test": {"169.254.169.254"}, "nat64.test": {"64:ff9b::7f00:1"},
	}
	embeds := ""
	for name, addrs := range inward {
		f.names[name], f.names["sub-"+name] = always(addrs...), always(addrs...)
		embeds += embed(fmt.Sprintf("https://sub-%s:%d/", name, f.canary.secure))
	}
	var refused refusals
	r := launch(t, render.Config{
		Slots: together, AllowHosts: []string{f.siteHost()}, ExtraCA: f.ca.file, Resolver: f.names, OnRefuse: refused.add,
	})
	for name := range inward {
		address := fmt.Sprintf("https://%s:%d/", name, f.canary.secure)
		for how, url := range map[string]string{
			"page": address, "redirect": f.redirect(address),
			"redirect to http": f.redirect(fmt.Sprintf("http://%s:%d/", name, f.canary.plain)),
		} {
			if err := renderPage(t, r, url); !errors.Is(err, egress.ErrRefused) {
				t.Errorf("%s as %s: error %v, want ErrRefused", name, how, err)
			}
		}
	}
	d := canaryCase{source: render.Source{HTML: embeds}, page: untilIdle()}
	if err := d.render(t, r); err != nil {
		t.Error(err)
	}
	for name := range inward {
		if !refused.has("sub-" + name) {
			t.Errorf("%s was not refused inside a document", name)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	f.canary.wantSilence(t)
}

// A name that changes between the check and the dial, and between one request
// and the next, is refused when it points inwards.
func TestNamesThatChange(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	ca := newAuthority(t)
	site, tripwire := siteAndTripwire(t, ca, "changes.test", "moves.test")
	names := dns{
		"changes.test": answers(siteAddr, "127.0.0.1"),           // checked outwards, dialled inwards
		"moves.test":   answers(siteAddr, siteAddr, "127.0.0.1"), // the page outwards, its parts inwards
	}
	var refused refusals
	r := launch(t, render.Config{AllowHosts: []string{site.addr.String()}, ExtraCA: ca.file, Resolver: names, OnRefuse: refused.add})

	if err := renderPage(t, r, site.origin("changes.test")+"/"); !errors.Is(err, egress.ErrRefused) {
		t.Errorf("changed before the dial: error %v, want ErrRefused", err)
	}
	page := site.publish(`<p>From the site</p><img src="/part.png">`, "Connection", "close")
	doc, err := r.For("acct_1").PDF(t.Context(), render.Source{URL: site.origin("moves.test") + page}, untilIdle(), render.PDF{})
	if err != nil {
		t.Fatal(err)
	}
	if text := textOf(t, doc.Body); !strings.Contains(text, "From the site") {
		t.Errorf("text %q", text)
	}
	if site.count("/part.png") != 0 || !refused.has("moves.test") {
		t.Error("the name did not move as it should have")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if got := strangers(t, tripwire); got != 0 {
		t.Errorf("%d connections inwards, want none", got)
	}
}

// siteAndTripwire starts a site, and listens on the same port of another IP address, to which the site's names
// point later. Connections to it wait there to be counted.
func siteAndTripwire(t *testing.T, ca *authority, hosts ...string) (*website, net.Listener) {
	t.Helper()
	for try := 0; ; try++ {
		site := newWebsite(t, ca, hosts...)
		tripwire, err := net.Listen("tcp4", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), site.addr.Port()).String())
		if err == nil {
			t.Cleanup(func() { _ = tripwire.Close() })
			return site, tripwire
		}
		if try == 20 { // Others may have the port.
			t.Fatal(err)
		}
	}
}

// strangers counts the connections that came to a listener which nobody served.
func strangers(t *testing.T, listener net.Listener) int {
	t.Helper()
	own, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	for count := 0; ; count++ {
		conn, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		if conn.RemoteAddr().String() == own.LocalAddr().String() {
			return count
		}
	}
}

// A page behind a private authority renders with everything that belongs to it.
func TestPageEndToEnd(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	ca := newAuthority(t)
	site := newWebsite(t, ca, "site.test", "cdn.test")
	part := func(path, kind, body string) {
		site.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Access-Control-Allow-Origin", "*")
			fmt.Fprint(w, body)
		})
	}
	part("/style.css", "text/css", `#css::after { content: "StyleLoaded" }`)
	part("/script.js", "text/javascript", `fetch("/data.json").then(r => r.json()).then(d => { document.getElementById("js").textContent = d.text })`)
	part("/data.json", "application/json", `{"text": "DataLoaded"}`)
	part("/worker.js", "text/javascript", `postMessage("WorkerAnswered")`)
	part("/frame.html", "text/html", `<p>FrameLoaded`)
	part("/module.js", "text/javascript", `document.getElementById("module").textContent = "ModuleLoaded"`)
	site.HandleFunc("/missing", http.NotFound)
	site.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "broken", http.StatusInternalServerError) })
	site.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/page/1", http.StatusFound) })
	site.HandleFunc("/moved-missing", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/missing", http.StatusFound) })
	page := site.publish(`<link rel=stylesheet href="` + site.origin("cdn.test") + `/style.css"><p id=css></p><p id=js></p><p id=module></p><p id=worker></p>` +
		`<script>new Worker("/worker.js").onmessage = e => { document.getElementById("worker").textContent = e.data }</script>` +
		`<script src="/script.js"></script><script type=module src="` + site.origin("cdn.test") + `/module.js"></script><iframe src="/frame.html"></iframe>`)

	names := dns{"site.test": always(siteAddr), "cdn.test": always(siteAddr), "other.test": always(siteAddr)}
	allow := []string{"site.test", "cdn.test", "other.test"}
	r := launch(t, render.Config{AllowHosts: allow, ExtraCA: ca.file, Resolver: names})
	for _, path := range []string{page, "/moved"} {
		doc, err := r.For("acct_1").PDF(t.Context(), render.Source{URL: site.origin("site.test") + path}, untilIdle(), render.PDF{})
		if err != nil {
			t.Fatal(err)
		}
		text := textOf(t, doc.Body)
		for _, want := range []string{"StyleLoaded", "DataLoaded", "FrameLoaded", "ModuleLoaded", "WorkerAnswered"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %s is missing in %q", path, want, text)
			}
		}
	}
	for _, test := range []struct {
		name, url string
		status    int
		reason    string
	}{
		{"missing", site.origin("site.test") + "/missing", http.StatusNotFound, ""},
		{"broken", site.origin("site.test") + "/broken", http.StatusInternalServerError, ""},
		{"moved to missing", site.origin("site.test") + "/moved-missing", http.StatusNotFound, ""},
		{"wrong name", site.origin("other.test") + "/", 0, "net::ERR_CERT_COMMON_NAME_INVALID"},
		{"nobody listens", "https://" + closedPort(t, "site.test"), 0, "net::ERR_TUNNEL_CONNECTION_FAILED"},
		{"unknown name", "https://unknown.test/", 0, "net::ERR_NAME_NOT_RESOLVED"},
	} {
		err := renderPage(t, r, test.url)
		var load *chrome.LoadError
		if !errors.As(err, &load) || load.Status != test.status || load.Reason != test.reason {
			t.Errorf("%s: error %#v, want status %d and reason %q", test.name, err, test.status, test.reason)
		}
	}
	distrusting := launch(t, render.Config{AllowHosts: allow, Resolver: names})
	err := renderPage(t, distrusting, site.origin("site.test")+page)
	var load *chrome.LoadError
	if !errors.As(err, &load) || load.Reason != "net::ERR_CERT_AUTHORITY_INVALID" {
		t.Errorf("without the authority: error %#v, want a LoadError that names it", err)
	}
}

// closedPort returns an address under a name of the site's where nobody listens:
// the port is taken until the test has ended, so that nobody else is given it.
func closedPort(t *testing.T, name string) string {
	t.Helper()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(socket) })
	if err := unix.Bind(socket, &unix.SockaddrInet4{Addr: netip.MustParseAddr(siteAddr).As4()}); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort(name, strconv.Itoa(at.(*unix.SockaddrInet4).Port))
}
