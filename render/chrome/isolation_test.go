package chrome

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// A trace is something that one document could leave for the next: write
// leaves it, read is an expression (await allowed) that finds it.
type trace struct{ name, write, read string }

// patient is a part of write where read waits for what is sent: the document that
// sends it waits until it comes.
const patient = `globalThis.patience = 20000; `

// storageTraces need an origin, so they are tried on pages of a web site.
var storageTraces = []trace{
	{"cookie", `document.cookie = 'k=LEFT; max-age=999'`, `document.cookie`},
	{"localStorage", `localStorage.k = 'LEFT'`, `localStorage.k`},
	{"sessionStorage", `sessionStorage.k = 'LEFT'`, `sessionStorage.k`},
	{
		"IndexedDB",
		`await new Promise((ok, no) => { const r = indexedDB.open('LEFT'); r.onsuccess = ok; r.onerror = no })`,
		`(await indexedDB.databases()).map(d => d.name).join()`,
	},
	{"Cache API", `await (await caches.open('LEFT')).put('/k', new Response('x'))`, `(await caches.keys()).join()`},
	{
		"service worker",
		`await navigator.serviceWorker.register('/worker.js'); await navigator.serviceWorker.ready`,
		`(await navigator.serviceWorker.getRegistrations()).map(() => 'LEFT').join()`,
	},
	{"file system", `await (await navigator.storage.getDirectory()).getFileHandle('LEFT', {create: true})`,
		`await (async () => { for await (const n of (await navigator.storage.getDirectory()).keys()) return n })()`},
	{
		"shared worker",
		`globalThis.held = new SharedWorker('/shared.js'); await new Promise(d => held.port.onmessage = d)`,
		`await new Promise(d => { new SharedWorker('/shared.js').port.onmessage = e => d(e.data) })`,
	},
	{"broadcast", patient + `{ const c = new BroadcastChannel('k'); setInterval(() => c.postMessage('LEFT'), 5) }`,
		`await new Promise(d => { new BroadcastChannel('k').onmessage = e => d(e.data); setTimeout(d, globalThis.patience || 200) })`},
}

// realmTraces work in an inline document.
var realmTraces = []trace{
	{"global", `globalThis.k = 'LEFT'`, `globalThis.k`},
	{"prototype", `Array.prototype.k = 'LEFT'`, `[].k`},
	{"patched built-in", `JSON.stringify = () => 'LEFT'`, `JSON.stringify(1)`},
	{"window.name", `name = 'LEFT'`, `name`},
	{"history state", `history.replaceState('LEFT', '')`, `history.state`},
	{"history length", `history.pushState(1, ''); history.pushState(2, '')`, `history.length > 1 ? 'LEFT' : ''`},
	{"hash", `location.hash = 'LEFT'`, `location.href`},
	{"title", `document.title = 'LEFT'`, `document.title`},
	{"timer", `setInterval(() => { (document.body || document.documentElement).dataset.k = 'LEFT' }, 5)`,
		`await new Promise(done => setTimeout(() => done(document.body.dataset.k), 100))`},
	{"listener", `addEventListener('ping', () => globalThis.pinged = 'LEFT')`, `(dispatchEvent(new Event('ping')), globalThis.pinged)`},
	{"custom element", `customElements.define('x-left', class extends HTMLElement {})`, `customElements.get('x-left') && 'LEFT'`},
	{"style sheet", `document.adoptedStyleSheets = [new CSSStyleSheet()]`, `document.adoptedStyleSheets.length ? 'LEFT' : ''`},
	{"font", `document.fonts.add(new FontFace('LEFT', 'url(data:,)'))`, `[...document.fonts].map(f => f.family).join()`},
	{"scroll", `document.body.style.height = '9000px'; scrollTo(0, 4000)`, `scrollY > 0 ? 'LEFT' : ''`},
	{"broadcast", patient + `{ const c = new BroadcastChannel('k'); setInterval(() => c.postMessage('LEFT'), 5); globalThis.heard = new Promise(d => { new BroadcastChannel('k').onmessage = e => d(e.data) }) }`,
		`await Promise.race([globalThis.heard, new Promise(done => { new BroadcastChannel('k').onmessage = e => done(e.data); setTimeout(done, globalThis.patience || 400) })])`},
	{"window", `globalThis.w = open('', 'k'); if (w) w.k = 'LEFT'; else globalThis.k = 'LEFT'`, `(globalThis.w || open('', 'k') || {}).k || globalThis.k`},
	{"window size", `resizeTo(333, 333); moveTo(20, 20); await new Promise(d => setTimeout(d, 50)); globalThis.k = 'LEFT'`,
		`[innerWidth, innerHeight, outerWidth, outerHeight, screenX, screenY].join() !== '816,1056,800,600,0,0' ? 'LEFT' + outerWidth : globalThis.k`},
}

// document returns a page that carries out script and prints what read finds.
func (tr trace) document(script string) string {
	return fmt.Sprintf(`<!doctype html><body><pre id="out"></pre><script>(async () => {
		let found = '';
		try { %s; found = await (async () => %s)() } catch (e) { found = e.name }
		out.textContent = '[' + (found || '') + ']'; out.className = 'done';
	})()</script>`, script, tr.read)
}

func (tr trace) job(mode RenderMode, account, url, script string) Job {
	j := Job{Account: account, RenderMode: mode, WaitForSelector: ".done"}
	if url != "" {
		j.URL = url
	} else {
		j.HTML = tr.document(script)
	}
	return j
}

// left reports whether a document's text shows the trace.
func left(t *testing.T, text string) bool {
	t.Helper()
	if !strings.Contains(text, "[") {
		t.Fatalf("the document did not say what it found: %q", text)
	}
	return strings.Contains(text, "LEFT")
}

// The storage of one page of a site never reaches the next visit, by the same
// account or another. That a document finds its own trace shows that the test
// would notice.
func TestStorageDoesNotReachTheNextDocument(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s := newSite(t)
	for i, tr := range storageTraces {
		s.page(fmt.Sprintf("localhost/leave/%d", i), tr.document(tr.write))
		s.page(fmt.Sprintf("localhost/find/%d", i), tr.document(""))
	}
	s.mux.HandleFunc("localhost/worker.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		io.WriteString(w, "onfetch = e => e.respondWith(new Response('LEFT'))")
	})
	s.mux.HandleFunc("localhost/shared.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		io.WriteString(w, "let n = 0; onconnect = e => e.ports[0].postMessage(++n > 1 ? 'LEFT' : '')")
	})
	p := startWithSite(t, s)
	for i, tr := range storageTraces {
		// Localhost counts as secure, so all of the storage works there.
		leave := fmt.Sprintf("http://localhost/leave/%d", i)
		find := fmt.Sprintf("http://localhost/find/%d", i)
		if !left(t, textOf(t, p, tr.job(ModeOnce, "a", leave, ""))) {
			t.Errorf("%s: the document does not find its own trace, so this proves nothing", tr.name)
		}
		for _, account := range []string{"a", "b"} {
			if text := textOf(t, p, tr.job(ModeOnce, account, find, "")); left(t, text) {
				t.Errorf("%s reached the next document of account %s: %s", tr.name, account, text)
			}
		}
	}
}

// An inline document's changes to its realm never reach the next one.
func TestRealmDoesNotReachTheNextDocument(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	p := startPool(t, nil)
	for _, mode := range []RenderMode{ModeRealm, ModeOnce} {
		for _, tr := range realmTraces {
			if !left(t, textOf(t, p, tr.job(mode, "a", "", tr.write))) {
				t.Errorf("%s mode, %s: the document does not find its own trace, so this proves nothing", mode, tr.name)
			}
			for _, account := range []string{"a", "b"} {
				if text := textOf(t, p, tr.job(mode, account, "", "")); left(t, text) {
					t.Errorf("%s mode, %s reached the next document of account %s: %s", mode, tr.name, account, text)
				}
			}
		}
	}
}

// An inline document has no origin, so every kind of storage refuses it; that
// must not depend on the mode or on the document before.
func TestInlineDocumentsHaveNoStorage(t *testing.T) {
	sharedtest.Slow(t)
	p := startPool(t, nil)
	for _, mode := range []RenderMode{ModeRealm, ModeOnce} {
		for _, tr := range storageTraces {
			if tr.name == "broadcast" {
				continue // Needs no origin; see realmTraces.
			}
			for range 2 {
				if text := textOf(t, p, tr.job(mode, "a", "", tr.write)); left(t, text) {
					t.Errorf("%s mode: an inline document can use %s: %s", mode, tr.name, text)
				}
			}
		}
	}
}

// A document that was taken for one without network, and uses it, is started
// over where it has one, and leaves neither cookies nor cache entries.
func TestNetworkOfALocalDocumentLeavesNothing(t *testing.T) {
	sharedtest.Slow(t)
	s := newSite(t)
	s.mux.HandleFunc("site.test/style.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css")
		w.Header().Set("Cache-Control", "max-age=9999")
		w.Header().Set("Set-Cookie", "k=LEFT; Max-Age=9999")
		io.WriteString(w, "p::after{content:'styled'}")
	})
	ways := map[string]struct {
		mode RenderMode
		html string
	}{
		"link":       {ModeInline, `<link rel=stylesheet href="http://site.test/style.css"><p>x`},
		"import":     {ModeInline, `<style>@import "http://site.test/style.css"</style><p>x`},
		"realm link": {ModeRealm, `<link rel=stylesheet href="http://site.test/style.css"><p>x`},
		"built by script": {ModeRealm, `<p>x<script>const l = document.createElement('link'); l.rel = 'stylesheet';
			l.href = ['http:', '', 'site.test', 'style.css'].join('/'); document.head.append(l)</script>`},
	}
	p := startWithSite(t, s)
	rounds := 0
	for name, way := range ways {
		for range 2 {
			contains(t, textOf(t, p, Job{Account: "a", RenderMode: way.mode, HTML: way.html}), "styled")
			rounds++
			got := s.requests("/style.css")
			if len(got) != rounds {
				t.Errorf("%s: %d requests after %d documents: one came from a cache or went out twice", name, len(got), rounds)
			}
			if c := got[len(got)-1].Header.Get("Cookie"); c != "" {
				t.Errorf("%s: a cookie came back: %s", name, c)
			}
		}
	}
	if got := p.Stats().Escalated; got != int64(rounds) {
		t.Errorf("%d documents were started over, want %d", got, rounds)
	}
}

// Every other way to the network that script has is noticed, or leads nowhere,
// in the mode without network.
func TestRealmHasNoNetwork(t *testing.T) {
	sharedtest.Slow(t)
	s := newSite(t)
	s.page("site.test/", "")
	p := startWithSite(t, s)
	b := p.current()
	ways := []string{
		`fetch('http://site.test/hit')`,
		`new Image().src = 'http://site.test/hit'`,
		`navigator.sendBeacon('http://site.test/hit')`,
		`new WebSocket('ws://site.test/hit')`,
		`new EventSource('http://site.test/hit')`,
		`location = 'http://site.test/hit'`,
		`new Worker(URL.createObjectURL(new Blob(["fetch('http://site.test/hit')"])))`,
		`new SharedWorker(URL.createObjectURL(new Blob(["fetch('http://site.test/hit')"])))`,
		`document.body.insertAdjacentHTML('beforeend', '<iframe src="http://site.test/hit">')`,
		`document.body.insertAdjacentHTML('beforeend', '<form action="http://site.test/hit">').closest; document.forms[0].submit()`,
		`const l = document.createElement('link'); l.rel = 'prefetch'; l.href = 'http://site.test/hit'; document.head.append(l)`,
		`import('http://site.test/hit')`,
		`const m = document.createElement('meta'); m.httpEquiv = 'refresh'; m.content = '0;url=http://site.test/hit'; document.head.append(m)`,
		`open('http://site.test/hit')`,
	}
	for _, way := range ways {
		// Below the Pool, so that nothing is started over with a network.
		pg, err := b.acquirePage(t.Context(), "a", kind{mode: ModeRealm}, false)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := pg.begin(t.Context())
		err = pg.open(ctx, Job{HTML: "<body><script>try{" + way + "}catch{}</script>", WaitUntil: waitNetworkIdle0})
		cancel(nil)
		b.release(t.Context(), "a", pg, err == nil)
		if got := len(s.requests("/hit")); got != 0 {
			t.Fatalf("%s reached the network from a context without one", way)
		}
	}
	// The control: the same script with a network gets there.
	textOf(t, p, Job{Account: "a", RenderMode: ModeOnce, HTML: "<script>" + ways[0] + "</script>", WaitUntil: waitNetworkIdle0})
	if len(s.requests("/hit")) == 0 {
		t.Error("the control did not reach the network either")
	}
}

// A refresh in a document without script leads away from the warm page, at once
// or after its job; the next document is not set on what is there then.
func TestRefreshDoesNotSpoilTheNextDocument(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	p := startPool(t, nil)
	for _, target := range []string{"about:blank", "http://site.test/", "about:srcdoc"} {
		for _, delay := range []string{"0", "1"} {
			html := `<meta http-equiv="refresh" content="` + delay + `;url=` + target + `"><p>before`
			doc, err := p.PDF(t.Context(), Job{Account: "a", HTML: html}, PDF{})
			if err == nil {
				doc.Body.Close()
			}
			job := Job{Account: "a", HTML: "<p>after", WaitForTimeout: 1200 * time.Millisecond}
			contains(t, textOf(t, p, job), "after")
		}
	}
}

// Header and footer templates are not printed in the document's place, and
// reach neither the document nor, in the modes without network, anything else.
func TestTemplateScriptReachesNothing(t *testing.T) {
	s := newSite(t)
	s.page("site.test/", "")
	p := startWithSite(t, s)
	const script = `fetch('http://site.test/hit'); new Image().src = 'http://site.test/hit';
		this.parentNode.append('T:' + [document.body.innerText.includes('SECRET'), parent === self, opener, frames.length, origin].join())`
	opt := PDF{MarginTop: 1, Header: `<b>head</b><img src="data:," onerror="` + script + `"><script>` + script + `</script>`}
	for _, mode := range []RenderMode{ModeInline, ModeRealm} {
		doc, err := p.PDF(t.Context(), Job{Account: "a", RenderMode: mode, HTML: "SECRET"}, opt)
		if err != nil {
			t.Fatal(err)
		}
		text := pdfText(t, doc)
		contains(t, text, "head", "SECRET")
		if strings.Contains(text, "T:") && !strings.Contains(text, "T:false,true,,0,null") {
			t.Errorf("%s mode: the template sees more than itself: %s", mode, text)
		}
	}
	if got := len(s.requests("/hit")); got != 0 {
		t.Errorf("templates made %d requests", got)
	}
}
