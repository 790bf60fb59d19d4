package render_test

import (
	"fmt"
	"strings"
)

// vector is one way in which a document can make a browser load something.
//
// Its text holds placeholders: {url} is the address of the canary, {ws} the
// same for a WebSocket, {host} its host:port, {origin} scheme://host:port and
// {path} the path of {url}.
type vector struct {
	name string
	text string // HTML, or for a script vector the body of an async function
	// only names the targets for which it works at all; empty means all.
	only []string
	// origin is set where it needs the origin of a page, which inline
	// documents do not have.
	origin bool
	// quiet is the reason why the platform makes no request for the vector even if the canary is allowed. The
	// positive control then expects none.
	quiet string
}

// passiveVectors are markup that loads without script. All of them stand in
// one document.
func passiveVectors() []vector {
	return []vector{
		// Frames and plug-ins.
		{name: "iframe-lazy", text: `<iframe loading=lazy width=9 height=9 src="{url}"></iframe>`},
		{name: "iframe", text: `<iframe src="{url}"></iframe>`},
		{name: "iframe-srcdoc", text: `<iframe srcdoc="<img src='{url}'>"></iframe>`},
		{name: "iframe-data", text: `<iframe src="data:text/html,<img src='{url}'>"></iframe>`},
		{name: "iframe-base", text: `<iframe srcdoc="<base href='{origin}/'><img src='{path}'>"></iframe>`},
		{name: "iframe-refresh", text: `<iframe srcdoc="<meta http-equiv=refresh content='0;url={url}'>"></iframe>`},
		{name: "object", text: `<object data="{url}"></object>`},
		{name: "object-html", text: `<object type="text/html" data="{url}"></object>`},
		{name: "embed", text: `<embed src="{url}">`},
		{name: "embed-pdf", text: `<embed type="application/pdf" src="{url}">`, quiet: "the headless shell has no PDF viewer"},
		// Images and media.
		{name: "img", text: `<img src="{url}">`},
		{name: "img-lazy", text: `<img loading=lazy src="{url}">`},
		{name: "img-srcset", text: `<img srcset="{url} 1x, {url}?2 2x">`},
		{name: "picture", text: `<picture><source srcset="{url}"><img></picture>`},
		{name: "input-image", text: `<input type=image src="{url}">`},
		{name: "video", text: `<video src="{url}" preload=auto></video>`},
		{name: "video-poster", text: `<video poster="{url}"></video>`},
		{name: "video-source", text: `<video preload=auto><source src="{url}"></video>`},
		{name: "audio", text: `<audio src="{url}" preload=auto></audio>`},
		{name: "track", text: `<video crossorigin src="data:video/mp4,"><track default kind=subtitles src="{url}"></video>`},
		{name: "background", text: `<table background="{url}"><tr><td>x</table>`},
		// CSS.
		{name: "css-url", text: `<p style="background: url({url})">x</p>`},
		{name: "css-image-set", text: `<p style="background: image-set('{url}' 1x)">x</p>`},
		{name: "css-cross-fade", text: `<p style="background: -webkit-cross-fade(url({url}), url({url}), 50%)">x</p>`},
		{name: "css-content", text: `<style>.{path}::before { content: url({url}) }</style><p class="{path}">x</p>`},
		{name: "css-list", text: `<ul style="list-style-image: url({url})"><li>x</ul>`},
		{name: "css-border", text: `<p style="border: 1px solid; border-image: url({url}) 1">x</p>`},
		{name: "css-mask", text: `<p style="mask-image: url({url})">x</p>`},
		{name: "css-shape", text: `<p style="float: left; shape-outside: url({url})">x</p>`},
		{name: "css-cursor", text: `<p style="cursor: url({url}), auto">x</p>`},
		{name: "css-filter", text: `<p style="filter: url({url}#f)">x</p>`, quiet: "filters are local"},
		{name: "css-variable", text: `<p style="--u: url({url}); background: var(--u)">x</p>`},
		{name: "css-escaped", text: `<p style="background: \75\72\6c({url})">x</p>`},
		{name: "css-import", text: `<style>@import "{url}";</style>`},
		{name: "css-import-url", text: `<style>@import url({url});</style>`},
		{name: "css-font", text: `<style>@font-face { font-family: "{path}"; src: url({url}) }</style><p style="font-family: '{path}'">x</p>`},
		// Links.
		{name: "link-stylesheet", text: `<link rel=stylesheet href="{url}">`},
		{name: "link-alternate", text: `<link rel="alternate stylesheet" title=x href="{url}">`},
		{name: "link-preload", text: `<link rel=preload as=image href="{url}">`},
		{name: "link-preload-srcset", text: `<link rel=preload as=image imagesrcset="{url} 1x">`},
		{name: "link-modulepreload", text: `<link rel=modulepreload href="{url}">`},
		{name: "link-prefetch", text: `<link rel=prefetch href="{url}">`},
		{name: "link-prerender", text: `<link rel=prerender href="{url}">`, quiet: "the headless shell does not prerender"},
		{name: "link-preconnect", text: `<link rel=preconnect href="{url}">`, quiet: "the headless shell does not preconnect"},
		{name: "link-dns-prefetch", text: `<link rel=dns-prefetch href="{url}">`, quiet: "behind a proxy the browser looks up no names"},
		{name: "link-manifest", text: `<link rel=manifest href="{url}">`, quiet: "manifests are fetched when somebody installs the page"},
		{name: "link-icon", text: `<link rel=icon href="{url}">`, quiet: "the headless shell shows no icons"},
		{name: "link-dictionary", text: `<link rel=compression-dictionary href="{url}">`, quiet: "dictionaries are fetched for the page's own origin"},
		// Scripts.
		{name: "script", text: `<script src="{url}"></script>`},
		{name: "script-module", text: `<script type=module src="{url}"></script>`},
		{name: "script-import", text: `<script type=module>import "{url}";</script>`},
		{name: "importmap", text: `<script type=importmap>{"imports": {"{path}": "{url}"}}</script><script type=module>import "{path}";</script>`},
		{name: "speculation", text: `<script type=speculationrules>{"prefetch": [{"urls": ["{url}"], "eagerness": "immediate"}]}</script>`, quiet: "the headless shell does not speculate"},
		{name: "handler", text: `<img src="data:," onerror="new Image().src = '{url}'">`},
		// SVG.
		{name: "svg-image", text: `<svg><image href="{url}" width=9 height=9></image></svg>`},
		{name: "svg-xlink", text: `<svg><image xlink:href="{url}" width=9 height=9></image></svg>`},
		{name: "svg-use", text: `<svg><use href="{url}#a"></use></svg>`, quiet: "use loads from the document's own origin only"},
		{name: "svg-feimage", text: `<svg><filter id="f-{path}"><feImage href="{url}"></feImage></filter><rect width=9 height=9 filter="url(#f-{path})"></rect></svg>`},
		{name: "svg-foreign", text: `<svg><foreignObject width=9 height=9><img src="{url}"></foreignObject></svg>`},
		{name: "svg-style", text: `<svg><style>@import "{url}";</style></svg>`},
		{name: "svg-script", text: `<svg><script href="{url}"></script></svg>`},
		{name: "svg-set", text: `<svg><image width=9 height=9><set attributeName=href to="{url}"></set></image></svg>`},
		{name: "svg-fill", text: `<svg><rect width=9 height=9 fill="url({url}#g)"></rect></svg>`, quiet: "paint servers are local"},
		{name: "svg-data", text: `<img src="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'><image href='{url}'/></svg>">`,
			quiet: "an SVG image loads nothing"},
	}
}

// scriptVectors are scripts. All of them run in one document, each until it
// succeeded or failed.
func scriptVectors() []vector {
	return []vector{
		{name: "fetch", text: `await fetch("{url}")`},
		{name: "fetch-no-cors", text: `await fetch("{url}", {mode: "no-cors"})`},
		{name: "fetch-keepalive", text: `await fetch("{url}", {mode: "no-cors", keepalive: true})`},
		{name: "fetch-preflight", only: []string{"http", "https"}, text: `await fetch("{url}", {method: "PUT", headers: {"X-Inward": "1"}})`},
		{name: "xhr", text: `await new Promise(done => { const x = new XMLHttpRequest(); x.onloadend = done; x.open("GET", "{url}"); x.send() })`},
		{name: "xhr-sync", text: `const x = new XMLHttpRequest(); x.open("GET", "{url}", false); x.send()`},
		{name: "beacon", text: `navigator.sendBeacon("{url}", "x")`},
		{name: "eventsource", text: `await new Promise(done => { new EventSource("{url}").onerror = done })`},
		{name: "websocket", text: `await new Promise(done => { new WebSocket("{ws}").onclose = done })`},
		{name: "webtransport", text: `await new WebTransport("https://{host}/{path}").ready`, quiet: "QUIC is off, and goes through no proxy"},
		{name: "import", text: `await import("{url}")`},
		{name: "import-json", text: `await import("{url}", {with: {type: "json"}})`},
		{name: "worker-import", text: worker(`try { importScripts("{url}") } catch {} postMessage(0)`)},
		{name: "worker-fetch", text: worker(`fetch("{url}").finally(() => postMessage(0))`)},
		{name: "worker-websocket", text: worker(`new WebSocket("{ws}").onclose = () => postMessage(0)`)},
		{name: "worker-module", origin: true, text: `await new Promise(done => { new Worker(URL.createObjectURL(new Blob(['import "{url}"'], {type: "text/javascript"})), {type: "module"}).onerror = done })`},
		{name: "shared-worker", origin: true, text: `await new Promise(done => { const w = new SharedWorker(URL.createObjectURL(new Blob(['onconnect = e => fetch("{url}").finally(() => e.ports[0].postMessage(0))']))); w.port.onmessage = w.onerror = done; w.port.start() })`},
		{name: "image", text: `await new Promise(done => { const i = new Image(); i.onerror = i.onload = done; i.src = "{url}" })`},
		{name: "audio-element", text: `await new Promise(done => { new Audio("{url}").onerror = done })`},
		{name: "font-face", text: `await new FontFace("x", "url({url})").load()`},
		{name: "paint-worklet", origin: true, text: `await CSS.paintWorklet.addModule("{url}")`},
		{name: "stylesheet", text: `const s = new CSSStyleSheet(); await s.replace(".{path} { background: url({url}) }"); document.adoptedStyleSheets.push(s); ` +
			`document.body.append(Object.assign(document.createElement("p"), {className: "{path}", textContent: "x"})); ` +
			`await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`},
		{name: "document-write", text: `const f = document.body.appendChild(document.createElement("iframe")); f.contentDocument.write("<img src='{url}'>"); f.contentDocument.close()`},
		{name: "shadow", text: `document.body.appendChild(document.createElement("p")).attachShadow({mode: "closed"}).innerHTML = "<img src='{url}'>"`},
		{name: "form-get", text: form("get")},
		{name: "form-post", text: form("post")},
		{name: "frame-location", text: `document.body.appendChild(document.createElement("iframe")).contentWindow.location = "{url}"`},
		{name: "window-open", text: `open("{url}")`, quiet: "new windows are not opened"},
		{name: "anchor-blank", text: `Object.assign(document.createElement("a"), {href: "{url}", target: "_blank"}).click()`, quiet: "new windows are not opened"},
		{name: "payment", text: `await new PaymentRequest([{supportedMethods: "{url}"}], {total: {label: "x", amount: {currency: "EUR", value: "1"}}}).canMakePayment()`, quiet: "an opaque origin and a headless browser have no payments"},
		{name: "fedcm", text: `await navigator.credentials.get({identity: {providers: [{configURL: "{url}", clientId: "x"}]}})`, quiet: "an opaque origin has no identity provider"},
		// A site's /worker.js?url is a worker that loads from the url.
		{name: "service-worker", origin: true, text: `const r = await navigator.serviceWorker.register("/worker.js?" + encodeURIComponent("{url}"), {scope: "/scope/{path}/"}); ` +
			`const w = r.installing; if (w) await new Promise(done => { w.onstatechange = () => { if (w.state === "activated" || w.state === "redundant") done() } })`},
		{name: "service-worker-foreign", text: `await navigator.serviceWorker.register("{url}")`, quiet: "a worker's script is of the page's own origin"},
		{name: "cache-add", origin: true, text: `await (await caches.open("x")).add("{url}")`},
		{name: "audio-worklet", origin: true, text: `await new OfflineAudioContext(1, 1, 44100).audioWorklet.addModule("{url}")`},
		{name: "shared-worker-own", origin: true, text: `await new Promise(done => { const w = new SharedWorker("/worker.js?" + encodeURIComponent("{url}")); w.port.onmessage = w.onerror = done; w.port.start() })`},
		{name: "debug-port", text: `await Promise.allSettled([fetch("http://127.0.0.1:9222/json/version"), fetch("http://localhost:9222/json/list")])`, quiet: "no canary stands there; another test shows that there is no such port"},
	}
}

// rtcVectors are scripts that look for a way between browsers. They have a
// document of their own, because their connections last and a browser opens
// only 32 to its proxy.
func rtcVectors() []vector {
	return []vector{
		{name: "stun", text: rtc(`{urls: "stun:{host}"}`), quiet: "UDP goes through no proxy, and around it nothing may go"},
		{name: "turn-udp", text: rtc(`{urls: "turn:{host}", username: "u", credential: "p"}`), quiet: "as for STUN"},
		{name: "turn-tcp", text: rtc(`{urls: "turn:{host}?transport=tcp", username: "u", credential: "p"}`), quiet: "what it says is not HTTP, so the canary does not understand it"},
		{name: "turns", only: []string{"https"}, text: rtc(`{urls: "turns:{host}?transport=tcp", username: "u", credential: "p"}`)},
	}
}

// rtc gathers all candidates of an ICE server.
func rtc(server string) string {
	return `const c = new RTCPeerConnection({iceServers: [` + server + `]}); c.createDataChannel("x"); ` +
		`const end = new Promise(done => { c.onicegatheringstatechange = () => { if (c.iceGatheringState === "complete") done() } }); ` +
		`await c.setLocalDescription(await c.createOffer()); await end`
}

// worker runs code in a worker until it posts a message.
func worker(code string) string {
	return "await new Promise(done => { const w = new Worker(URL.createObjectURL(new Blob([`" + code + "`]))); w.onmessage = w.onerror = done })"
}

// form submits a form into a frame.
func form(method string) string {
	return `const f = document.createElement("iframe"); f.name = "{path}"; document.body.append(f); ` +
		`const s = document.body.appendChild(document.createElement("form")); ` +
		`Object.assign(s, {action: "{url}", method: "` + method + `", target: "{path}"}); s.submit(); ` +
		`await new Promise(done => { f.onload = done })`
}

// leavingVectors take the whole document somewhere else: each has a document
// of its own.
func leavingVectors() []vector {
	return []vector{
		{name: "meta-refresh", text: `<meta http-equiv=refresh content="0;url={url}">`},
		{name: "location", text: `<script>location = "{url}"</script>`},
		{name: "location-late", text: `<script>addEventListener("load", () => setTimeout(() => location.replace("{url}")))</script>`},
		{name: "location-frame", text: `<iframe srcdoc="<script>top.location = '{url}'</script>"></iframe>`},
		{name: "anchor", text: `<a id=a href="{url}">x</a><script>document.getElementById("a").click()</script>`},
		{name: "anchor-download", only: []string{"http", "https"}, text: `<a id=a href="{url}" download>x</a><script>document.getElementById("a").click()</script>`},
		{name: "submit-get", text: `<form id=f action="{url}"><input name=x></form><script>document.getElementById("f").submit()</script>`},
		{name: "submit-post", text: `<form id=f action="{url}" method=post><input name=x></form><script>document.getElementById("f").submit()</script>`},
	}
}

// soloVectors stay where they are, and need a document of their own too.
func soloVectors() []vector {
	return []vector{
		{name: "anchor-ping", text: `<a id=a href="#x" ping="{url}">x</a><script>document.getElementById("a").click()</script>`, quiet: "pings are off"},
		{name: "frameset", text: `<frameset><frame src="{url}"></frameset>`},
		{name: "base", text: `<base href="{origin}/"><img src="{path}"><a id=a href="{path}?a">x</a>`},
		{name: "pagehide", text: `<script>addEventListener("pagehide", () => navigator.sendBeacon("{url}"))</script>`, quiet: "the context is disposed of without a farewell"},
		{name: "object-refused", text: `<object data="{url}"><img src="{url}?fallback"></object>`},
	}
}

// markdownVectors are Markdown that loads without any HTML in its source.
func markdownVectors() []vector {
	return []vector{
		{name: "md-image", text: "![x]({url})\n\n"},
		{name: "md-reference", text: "![x][{path}]\n\n[{path}]: {url}\n\n"},
		{name: "md-linked", text: "[![x]({url})]({url}?link)\n\n"},
		{name: "md-table", text: "| a |\n|---|\n| ![x]({url}) |\n\n"},
		{name: "md-footnote", text: "x[^{path}]\n\n[^{path}]: ![x]({url})\n\n"},
		{name: "md-html", text: "x <img src=\"{url}\"> x\n\n"},
		{name: "md-attribute", text: "## x {style=\"background: url({url})\"}\n\n", quiet: "headings take ids and classes only"},
		{name: "md-link", text: "[x]({url}) <{url}> {url}\n\n", quiet: "links wait for a reader"},
	}
}

// frontMatter is Markdown whose metadata names the canary in every field that
// is read, and in some that are not.
func frontMatter(url string) string {
	var b strings.Builder
	b.WriteString("---\n")
	for _, key := range []string{"title", "author", "description", "keywords", "lang", "css", "stylesheet", "header-includes", "image", "base"} {
		fmt.Fprintf(&b, "%s: '\"><img src=%s>'\n", key, url)
	}
	b.WriteString("---\n\n# x\n")
	return b.String()
}

// responseVector is a header of a page that makes a browser load something.
type responseVector struct {
	name, header, value string
	quiet               string // as for a vector
}

func responseVectors() []responseVector {
	return []responseVector{
		{name: "header-preload", header: "Link", value: `<{url}>; rel=preload; as=image`},
		{name: "header-stylesheet", header: "Link", value: `<{url}>; rel=stylesheet`, quiet: "Chromium takes no style sheet from a header"},
		{name: "header-preconnect", header: "Link", value: `<{origin}>; rel=preconnect`, quiet: "the headless shell does not preconnect"},
		{name: "header-refresh", header: "Refresh", value: `0; url={url}`},
		{name: "header-csp", header: "Content-Security-Policy", value: `img-src 'none'; report-uri {url}`},
		{name: "header-reporting", header: "Reporting-Endpoints", value: `default="{url}"`, quiet: "reports are delivered later than a render lasts"},
		{name: "header-nel", header: "Report-To", value: `{"group": "nel", "max_age": 99, "endpoints": [{"url": "{url}"}]}`, quiet: "reports are delivered later than a render lasts"},
		{name: "header-sourcemap", header: "SourceMap", value: `{url}`, quiet: "source maps are for developer tools"},
		{name: "header-location", header: "Content-Location", value: `{url}`, quiet: "it only names the page"},
	}
}
