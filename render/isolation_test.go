package render_test

import (
	"fmt"
	"image/png"
	"maps"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/markup"
)

// room is a Renderer and a site that remembers.
type room struct {
	*keeper
	site *website
	r    *render.Renderer
}

func newRoom(t *testing.T) *room {
	t.Helper()
	ca := newAuthority(t)
	m := &room{keeper: &keeper{}, site: newWebsite(t, ca, "site.test")}
	m.register(m.site)
	m.r = launch(t, render.Config{
		Slots: 3, AllowHosts: []string{siteAddr}, ExtraCA: ca.file, Resolver: dns{"site.test": always(siteAddr)},
	})
	return m
}

// pdf prints a source for a account and returns its text.
func (m *room) pdf(t *testing.T, account string, source render.Source, page render.PageSettings) string {
	t.Helper()
	doc, err := m.r.For(account).PDF(t.Context(), source, page, render.PDF{})
	if err != nil {
		t.Fatalf("%.100s%s: %v", source.HTML, source.URL, err)
	}
	return textOf(t, doc.Body)
}

// report opens one of the site's pages that report.
func (m *room) report(t *testing.T, account, path string) map[string]string {
	t.Helper()
	found := parseReport(m.pdf(t, account, m.page(path), untilDone()))
	if len(found) == 0 {
		t.Fatalf("%s reported nothing", path)
	}
	return found
}

func (m *room) page(path string) render.Source {
	return render.Source{URL: m.site.origin("site.test") + path}
}

// relations are the two ways in which a second document can be related to a
// first one.
func relations() map[string][2]string {
	return map[string][2]string{
		"same account":  {"acct_same", "acct_same"},
		"other account": {"acct_one", "acct_two"},
	}
}

func TestPagesLeaveNothing(t *testing.T) { //nolint:tparallel // The subtests follow each other on the same warm pages.
	sharedtest.Slow(t)
	t.Parallel()
	m := newRoom(t)

	// The control: in one document, every mark is found.
	both := m.report(t, "acct_control", "/both")
	for key, value := range both {
		if value == "none" && key != "referrer" || strings.HasSuffix(value, "Error") {
			t.Errorf("control: %s=%s, want the mark", key, value)
		}
	}
	if both["cached"] != both["before"] || both["served"] != "worker" {
		t.Errorf("control: cached %s after %s, served by %s; want the cache and the worker", both["cached"], both["before"], both["served"])
	}

	plain := render.Source{HTML: "<p>static"}
	scripted := render.Source{HTML: "<script>document.write('scripted')</script>"}
	for name, tenants := range relations() {
		t.Run(name, func(t *testing.T) {
			planted := m.report(t, tenants[0], "/plant")
			for key, value := range planted {
				if key != "cached" && key != "preflight" && value != "put" {
					t.Errorf("%s was not planted: %s", key, value)
				}
			}
			if got := strings.TrimSpace(m.pdf(t, tenants[1], plain, render.PageSettings{})); got != "static" {
				t.Errorf("static document: %q", got)
			}
			if got := strings.TrimSpace(m.pdf(t, tenants[1], scripted, render.PageSettings{})); got != "scripted" {
				t.Errorf("scripted document: %q", got)
			}
			found := m.report(t, tenants[1], "/read")
			if found["cached"] == planted["cached"] || found["cached"] == "none" {
				t.Errorf("cached=%s, want a new answer after %s", found["cached"], planted["cached"])
			}
			delete(found, "cached")
			for key, value := range found {
				if value != "none" {
					t.Errorf("%s=%s, want none", key, value)
				}
			}
		})
	}
}

// Two documents of one origin that are open at the same time do not hear each
// other, though two frames of one document do.
func TestPagesDoNotHearEachOther(t *testing.T) { //nolint:tparallel // The subtests follow each other on the same warm pages.
	sharedtest.Slow(t)
	t.Parallel()
	m := newRoom(t)
	together := m.pdf(t, "acct_control", render.Source{URL: m.site.origin("site.test") + m.site.publish(
		`<iframe width=700 height=300 src="/talk#control/left"></iframe><iframe width=700 height=300 src="/talk#control/right"></iframe>`+
			`<script>const timer = setInterval(() => {
				if (!Array.from(frames).every(f => f.document.getElementById("done"))) return;
				clearInterval(timer); document.body.append(Object.assign(document.createElement("i"), {id: "done"}));
			}, 20)</script>`)},
		untilDone())
	for _, want := range []string{"channel=left", "channel=right", "worker=2", "lock=taken"} {
		if !strings.Contains(together, want) {
			t.Errorf("control: %s is missing in %q", want, together)
		}
	}
	for name, tenants := range relations() {
		t.Run(name, func(t *testing.T) {
			var group errgroup.Group
			for i, me := range []string{"left", "right"} {
				group.Go(func() error {
					url := m.site.origin("site.test") + "/talk#" + strings.ReplaceAll(name, " ", "-") + "/" + me
					doc, err := m.r.For(tenants[i]).PDF(t.Context(), render.Source{URL: url}, untilDone(), render.PDF{})
					if err != nil {
						return err
					}
					want := map[string]string{
						"me": me, "channel": "nothing", "storage": "nothing", "lock": "free", "worker": "1", "cookie": me + "=1", "local": me,
					}
					if got := parseReport(textOf(t, doc.Body)); !maps.Equal(got, want) {
						t.Errorf("heard %v, want %v", got, want)
					}
					return nil
				})
			}
			if err := group.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// plantHere and readHere are for inline documents: they name nothing that
// would make them documents of the network, so that they run on warm pages.
const (
	plantHere = `<script>
window.name = "planted"; window.planted = "yes"; Object.prototype.plantedByPrototype = "yes";
try { document["coo" + "kie"] = "planted=yes" } catch {}
try { window["local" + "Stor" + "age"].setItem("planted", "yes") } catch {}
document.fonts.add(new FontFace("Planted", "local('Liberation Sans')"));
customElements.define("x-planted", class extends HTMLElement {});
CSS.registerProperty({name: "--planted", syntax: "*", inherits: true, initialValue: "yes"});
try { history.pushState({planted: "yes"}, "") } catch {}
document.title = "planted";
const channel = new BroadcastChannel("planted");
setInterval(() => { channel.postMessage("yes"); if (document.body) document.body.append("LATE") }, 1);
setTimeout(() => { document.body.append("LATE") }, 300);
const late = () => { document.documentElement.append("LATE"); requestAnimationFrame(late) };
addEventListener("pagehide", late); addEventListener("beforeunload", e => { e.preventDefault(); late() });
</script>`
	readHere = `<body><script>
const found = {};
const look = (key, work) => { try { found[key] = work() || "none" } catch (e) { found[key] = "none" } };
let heard; new BroadcastChannel("planted").onmessage = e => { heard = e.data };
setTimeout(() => {
  look("name", () => window.name); look("global", () => window.planted); look("prototype", () => ({}).plantedByPrototype);
  look("jar", () => document["coo" + "kie"]);
  look("local", () => window["local" + "Stor" + "age"].getItem("planted"));
  look("font", () => [...document.fonts].map(f => f.family).join());
  look("element", () => customElements.get("x-planted") && "yes");
  look("property", () => getComputedStyle(document.body).getPropertyValue("--planted"));
  look("state", () => history.state && history.state.planted); look("length", () => history.length > 1 && history.length);
  look("title", () => document.title); look("heard", () => heard);
  look("late", () => document.documentElement.textContent.includes("LA" + "TE") && "yes");
  look("referrer", () => document.referrer);
  document.body.innerHTML = "<pre>" + Object.entries(found).map(([key, value]) => key + "=" + value).join("\n") + "</pre>";
  document.body.append(Object.assign(document.createElement("i"), {id: "done"}));
}, 400);
</script>`
)

// Inline documents with script get nothing from those before them, and give
// nothing to those without.
func TestInlineDocumentsLeaveNothing(t *testing.T) { //nolint:tparallel // The subtests follow each other on the same warm pages.
	sharedtest.Slow(t)
	t.Parallel()
	m := newRoom(t)
	for name, text := range map[string]string{"plant": plantHere, "read": readHere} {
		if got := markup.Inspect(text); !got.Script || got.Network {
			t.Fatalf("%s has the traits %+v: it would not run where it should", name, got)
		}
	}
	done := untilDone()
	control := parseReport(m.pdf(t, "acct_control", render.Source{HTML: "<body>" + plantHere + readHere}, done))
	for _, key := range []string{"name", "global", "prototype", "font", "element", "property", "title", "late"} {
		if control[key] == "none" || control[key] == "" {
			t.Errorf("control: %s=%s, want the mark", key, control[key])
		}
	}
	networked := fmt.Sprintf(`<link rel=icon href=data:,><img src="%s/x.png">`, m.site.origin("site.test"))
	for name, tenants := range relations() {
		for after, plant := range map[string]string{"realm": plantHere, "once": networked + plantHere} {
			t.Run(name+", after "+after, func(t *testing.T) {
				m.pdf(t, tenants[0], render.Source{HTML: plant + "<p>x"}, render.PageSettings{})
				if got := strings.TrimSpace(m.pdf(t, tenants[1], render.Source{HTML: "<p>static"}, render.PageSettings{})); got != "static" {
					t.Errorf("static document: %q", got)
				}
				for _, read := range []string{readHere, networked + readHere} {
					m.pdf(t, tenants[0], render.Source{HTML: plant + "<p>x"}, render.PageSettings{})
					for key, value := range parseReport(m.pdf(t, tenants[1], render.Source{HTML: read}, done)) {
						if value != "none" {
							t.Errorf("%s=%s, want none", key, value)
						}
					}
				}
			})
		}
	}
}

// Timers of a document never write into later ones, however many there are.
func TestTimersEnd(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	m := newRoom(t)
	var group errgroup.Group
	group.SetLimit(3)
	for i := range 24 {
		group.Go(func() error {
			account := fmt.Sprintf("acct_%d", i%2)
			source, want := render.Source{HTML: plantHere + "<p>x"}, ""
			switch i % 3 {
			case 1:
				source, want = render.Source{HTML: fmt.Sprintf("<p>static%d", i)}, fmt.Sprintf("static%d", i)
			case 2:
				source, want = render.Source{HTML: fmt.Sprintf("<script>document.write('scripted%d')</script>", i)}, fmt.Sprintf("scripted%d", i)
			}
			doc, err := m.r.For(account).PDF(t.Context(), source, render.PageSettings{}, render.PDF{})
			if err != nil {
				return err
			}
			if got := strings.TrimSpace(textOf(t, doc.Body)); want != "" && got != want {
				t.Errorf("text %q, want %q", got, want)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// Cookies and headers that a request brought reach its own page and no other.
func TestCredentialsEnd(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	m := newRoom(t)
	got := make(chan http.Header, 10)
	m.site.HandleFunc("/headers", func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header
		http.SetCookie(w, &http.Cookie{Name: "set", Value: "1", Path: "/", Secure: true, SameSite: http.SameSiteNoneMode})
	})
	private := render.PageSettings{
		WaitUntil: "networkidle0", Headers: map[string]string{"X-Private": "yes", "Authorization": "Bearer secret"},
		Cookies: []chrome.Cookie{{Name: "sid", Value: "secret", Domain: "site.test"}},
	}
	embedded := render.Source{HTML: fmt.Sprintf(`<img src="%s/headers">`, m.site.origin("site.test"))}
	for _, first := range []render.Source{m.page("/headers"), embedded} {
		for name, tenants := range relations() {
			m.pdf(t, tenants[0], first, private)
			if h := <-got; h.Get("X-Private") != "yes" || h.Get("Authorization") != "Bearer secret" || h.Get("Cookie") != "sid=secret" {
				t.Errorf("%s: the first request had %v", name, h)
			}
			for _, second := range []render.Source{m.page("/headers"), embedded} {
				m.pdf(t, tenants[1], second, untilIdle())
				if h := <-got; h.Get("X-Private") != "" || h.Get("Authorization") != "" || h.Get("Cookie") != "" {
					t.Errorf("%s: the next request had %v", name, h)
				}
			}
		}
	}
}

// TestCachesEnd checks that a resource that one document loaded is loaded again for the next one.
func TestCachesEnd(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	m := newRoom(t)
	m.site.HandleFunc("/style.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css")
		w.Header().Set("Cache-Control", "public, max-age=999, immutable")
		fmt.Fprintf(w, "p::after { content: 'style%d' }", m.site.count("/style.css"))
	})
	link := fmt.Sprintf(`<link rel=stylesheet href="%s/style.css"><p>`, m.site.origin("site.test"))
	twice := link + fmt.Sprintf(`<iframe srcdoc='<link rel=stylesheet href="%s/style.css"><p>'></iframe>`, m.site.origin("site.test"))
	if text := m.pdf(t, "acct_control", render.Source{HTML: twice}, render.PageSettings{}); m.site.count("/style.css") != 1 {
		t.Errorf("control: %d requests in one document, want one from the cache (%q)", m.site.count("/style.css"), text)
	}
	for i, account := range []string{"acct_one", "acct_one", "acct_two", "acct_one"} {
		source := render.Source{HTML: link}
		if i%2 == 1 {
			source = render.Source{Markdown: link + "\n"}
		}
		want := fmt.Sprintf("style%d", i+2)
		if got := m.pdf(t, account, source, render.PageSettings{}); !strings.Contains(got, want) {
			t.Errorf("document %d of %s: %q, want %s", i, account, got, want)
		}
	}
}

// A site's wish for TLS holds for the document that heard it, and not for the
// plain requests of later ones.
func TestTransportSecurityEnds(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	m := newRoom(t)
	m.site.HandleFunc("/strict", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Strict-Transport-Security", "max-age=999")
	})
	plain := newWebsite(t, nil)
	strict := fmt.Sprintf(`<img src="%s/strict">`, m.site.origin("site.test"))
	after := fmt.Sprintf(`<script>onload = () => { new Image().`+`src = "%s/plain" }</script>`, plain.origin("site.test"))
	idle := untilIdle()
	m.pdf(t, "acct_control", render.Source{HTML: strict + after}, idle)
	if got := plain.count("/plain"); got != 0 {
		t.Errorf("control: %d plain requests after the wish in one document, want none", got)
	}
	for name, tenants := range relations() {
		before := plain.count("/plain")
		m.pdf(t, tenants[0], render.Source{HTML: strict}, idle)
		m.pdf(t, tenants[1], render.Source{HTML: after}, idle)
		if got := plain.count("/plain") - before; got != 1 {
			t.Errorf("%s: %d plain requests, want one", name, got)
		}
	}
}

// Media, window and background that one document asked for are not those of
// the next one, in any mode.
func TestEmulationEnds(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	m := newRoom(t)
	const shown = `<style>@media print { p::after { content: "print" } } @media screen { p::after { content: "screen" } }
@media (max-width: 399px) { i::after { content: "narrow" } } @media (min-width: 400px) { i::after { content: "wide" } }</style><p><i>`
	modes := map[string]string{
		"inline": shown,
		"realm":  shown + "<script>document.title = 'x'</script>",
		"once":   fmt.Sprintf(`<img src="%s/x.png">`, m.site.origin("site.test")) + shown,
	}
	odd := chrome.Screenshot{Type: "png", OmitBackground: true, Viewport: chrome.Viewport{Width: 300, Height: 200, Scale: 2}}
	for name, first := range modes {
		for then, second := range modes {
			source := render.Source{HTML: first}
			image, err := m.r.For("acct_1").Screenshot(t.Context(), source, render.PageSettings{Media: "print"}, odd)
			if err != nil {
				t.Fatal(err)
			}
			_ = image.Body.Close()
			if got := m.pdf(t, "acct_1", source, render.PageSettings{Media: "screen"}); !strings.Contains(got, "screen") {
				t.Errorf("%s: media screen shows %q", name, got)
			}
			if got := m.pdf(t, "acct_1", render.Source{HTML: second}, render.PageSettings{}); !strings.Contains(got, "print") || !strings.Contains(got, "wide") {
				t.Errorf("%s after %s: %q, want print and wide", then, name, got)
			}
			image, err = m.r.For("acct_1").Screenshot(t.Context(), render.Source{HTML: second}, render.PageSettings{}, chrome.Screenshot{Type: "png"})
			if err != nil {
				t.Fatal(err)
			}
			pixels, err := png.Decode(image.Body.Open())
			_ = image.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			if _, _, _, alpha := pixels.At(0, 0).RGBA(); alpha != 0xffff || pixels.Bounds().Dx() != 800 || pixels.Bounds().Dy() != 600 {
				t.Errorf("%s after %s: %v with alpha %x, want 800 by 600 and opaque", then, name, pixels.Bounds(), alpha)
			}
		}
	}
}
