package render_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render"
)

// field is a canary, a friendly TLS site and the names that lead to them.
type field struct {
	canary  *canary
	site    *website
	ca      *authority
	names   dns
	targets []target
}

// target is one way to write the canary's address.
type target struct {
	name   string
	scheme string
	host   func(token string) string
	// url is the address of a token, if it is not scheme://host/token.
	url func(token string) string
}

func newField(t *testing.T) *field {
	t.Helper()
	ca := newAuthority(t)
	f := &field{ca: ca, canary: newCanary(t, ca), site: newWebsite(t, ca, "site.test")}
	f.names = dns{"site.test": always(siteAddr)}
	f.site.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusFound
		_, _ = fmt.Sscan(r.URL.Query().Get("status"), &status)
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Location", r.URL.Query().Get("to")) // Set unchanged: http.Redirect would clean it.
		w.WriteHeader(status)
	})
	f.site.HandleFunc("/to/{token}", func(w http.ResponseWriter, r *http.Request) {
		token := r.PathValue("token")
		w.Header().Set("Access-Control-Allow-Origin", "*")
		http.Redirect(w, r, fmt.Sprintf("https://%s%s:%d/%s", token, canaryDomain, f.canary.secure, token), http.StatusFound)
	})
	f.site.HandleFunc("/worker.js", func(w http.ResponseWriter, r *http.Request) {
		to, _ := url.QueryUnescape(r.URL.RawQuery)
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprintf(w, workerScript, to)
	})
	f.targets = f.spellings(t)
	return f
}

// workerScript is a service worker or shared worker that loads from an address.
const workerScript = `
const to = %q;
if (self.skipWaiting) oninstall = e => e.waitUntil(fetch(to, {mode: "no-cors"}).catch(() => {}));
onconnect = e => fetch(to, {mode: "no-cors"}).finally(() => e.ports[0].postMessage(0));
`

// spellings lists the ways to write the canary's address.
func (f *field) spellings(t *testing.T) []target {
	t.Helper()
	named := func(port int) func(string) string {
		return func(token string) string { return fmt.Sprintf("%s%s:%d", token, canaryDomain, port) }
	}
	fixed := func(host string, port int) func(string) string {
		return func(string) string { return fmt.Sprintf("%s:%d", host, port) }
	}
	targets := []target{
		{name: "http", scheme: "http", host: named(f.canary.plain)},
		{name: "https", scheme: "https", host: named(f.canary.secure)},
		{name: "redirect", scheme: "https", host: named(f.canary.secure), url: func(token string) string {
			return f.site.origin("site.test") + "/to/" + token
		}},
		{name: "v4", scheme: "http", host: fixed("127.0.0.1", f.canary.plain)},
		{name: "v6", scheme: "https", host: fixed("[::1]", f.canary.secure)},
	}
	for i, host := range ownAddresses(t) {
		targets = append(targets, target{name: fmt.Sprintf("own%d", i), scheme: "http", host: fixed(host, f.canary.plain)})
	}
	return targets
}

// redirect returns an address of the site that redirects to another.
func (f *field) redirect(to string) string {
	return f.site.origin("site.test") + "/redirect?to=" + url.QueryEscape(to)
}

// siteHost is the site as an entry of AllowHosts.
func (f *field) siteHost() string { return f.site.addr.String() }

// token names one vector, in one spelling, through one door; it is a label of
// the DNS and a segment of a path.
func token(v vector, to target, door string) string { return v.name + "-" + to.name + "-" + door }

// fill puts a target's address into a vector.
func fill(v vector, to target, door string) string {
	id := token(v, to, door)
	host := to.host(id)
	address := to.scheme + "://" + host + "/" + id
	if to.url != nil {
		address = to.url(id)
	}
	return strings.NewReplacer(
		"{url}", address, "{ws}", strings.Replace(to.scheme, "http", "ws", 1)+"://"+host+"/"+id,
		"{host}", host, "{origin}", to.scheme+"://"+host, "{path}", id,
	).Replace(v.text)
}

// canaryCase is one source to render, with the tokens whose requests it makes
// where the canary is open.
type canaryCase struct {
	name   string
	source render.Source
	page   render.PageSettings
	pdf    render.PDF
	image  bool // photographed instead of printed
	tokens []string
	// leaves is set where the document goes to the canary by itself.
	leaves bool
}

// The documents get all the time there is, for machines that are busy.
func untilIdle() render.PageSettings {
	return render.PageSettings{WaitUntil: "networkidle0", Timeout: patience}
}
func untilDone() render.PageSettings {
	return render.PageSettings{WaitForSelector: "#done", Timeout: patience}
}

// door is a way in which markup reaches the browser.
type door struct {
	name string
	// put makes a document of a fragment of HTML.
	put func(fragment string, d *canaryCase)
	// loads names the targets whose requests the platform makes through this
	// door; the others it stops by itself.
	loads []string
	// origin is set where the document has the site's origin.
	origin bool
	// targets names the spellings that are tried through this door.
	targets []string
	// alone names those that vectors in documents of their own are tried with.
	alone []string
	// refuses names the vectors that are an error in this door, which
	// chrome.HeaderError's own test tries.
	refuses []string
	// apart is set where the document is in its own process, whose requests the wait for an idle network does not
	// see.
	apart bool
}

func (f *field) doors() []door {
	var every []string
	for _, to := range f.targets {
		every = append(every, to.name)
	}
	named := []string{"http", "https", "redirect"} // The canary understands requests for these.
	inline := func(fragment string, d *canaryCase) { d.source.HTML = "<!doctype html>" + fragment }
	return []door{
		{name: "html", targets: every, loads: named, alone: named[:2], put: inline},
		{name: "image", targets: named[1:2], loads: named, put: func(fragment string, d *canaryCase) {
			d.image = true
			inline(fragment, d)
		}},
		{name: "markdown", targets: named[:2], loads: named, put: func(fragment string, d *canaryCase) {
			d.source.Markdown, d.source.AllowHTML = "# Heading\n\n<div>"+fragment+"</div>\n", true
		}},
		// In a page over TLS, the browser itself upgrades or stops plain requests.
		{name: "url", targets: named, loads: named[1:], origin: true, alone: named, put: func(fragment string, d *canaryCase) {
			d.source.URL = f.site.origin("site.test") + f.site.publish("<!doctype html>"+fragment)
		}},
		{name: "srcdoc", targets: named[1:], loads: named, put: func(fragment string, d *canaryCase) {
			inline(listener+`<iframe srcdoc="`+html.EscapeString(fragment)+`"></iframe>`, d)
		}},
		{name: "data", targets: []string{"http", "redirect"}, loads: named, apart: true, put: func(fragment string, d *canaryCase) {
			inline(listener+`<iframe src="data:text/html,`+url.PathEscape(fragment)+`"></iframe>`, d)
		}},
		// Nothing in the text of this one says that it uses the network.
		{name: "hidden", targets: named[1:], loads: named, alone: named[2:], put: func(fragment string, d *canaryCase) {
			inline("<script>document.write(decodeURIComponent('"+percent(fragment)+"'))</script>", d)
		}},
		{name: "header", targets: named[:2], refuses: []string{"css-escaped"}, put: func(fragment string, d *canaryCase) {
			inline("<p>x", d)
			d.page.WaitForSelector, d.pdf.Header = "", fragment
		}},
		{name: "footer", targets: named[:2], refuses: []string{"css-escaped"}, put: func(fragment string, d *canaryCase) {
			inline("<p>x", d)
			d.page.WaitForSelector, d.pdf.Footer = "", fragment
		}},
	}
}

// percent encodes every byte, so that no word of the text is left.
func percent(text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, "%%%02X", text[i])
	}
	return b.String()
}

// listener marks the document when the script in it, or in its frame, is done.
const listener = `<script>addEventListener("message", e => { if (e.data === "done") ` +
	`document.body.append(Object.assign(document.createElement("i"), {id: "done"})) })</script>`

// script returns a fragment that runs script vectors side by side, each until
// it has ended or five seconds have passed.
func script(bodies []string) string {
	var b strings.Builder
	b.WriteString("<p>" + listener + `<script>const jobs = []; const job = work => jobs.push(Promise.race([work().catch(() => {}), ` +
		`new Promise(done => setTimeout(done, 5000))]));` + "\n")
	for _, body := range bodies {
		b.WriteString("job(async () => { " + body + " });\n")
	}
	b.WriteString(`Promise.all(jobs).then(() => parent.postMessage("done", "*"));</script>`)
	return b.String()
}

// documents returns every vector through every door.
func (f *field) documents() []canaryCase {
	var docs []canaryCase
	for _, through := range f.doors() {
		docs = append(docs, f.passive(through), f.active(through, "script", scriptVectors()))
		if through.name == "html" || through.origin {
			docs = append(docs, f.active(through, "rtc", rtcVectors()))
		}
		docs = append(docs, f.alone(through, leavingVectors(), true)...)
		docs = append(docs, f.alone(through, soloVectors(), false)...)
	}
	return append(append(docs, f.markdown()...), f.responses()...)
}

// passive puts all vectors without script into one document.
func (f *field) passive(through door) canaryCase {
	d := canaryCase{name: through.name + "/passive", page: untilIdle()}
	fragment := strings.Join(f.fill(&d, passiveVectors(), through), "\n")
	if through.apart {
		d.page = untilDone()
		fragment += `<script>onload = () => setTimeout(() => parent.postMessage("done", "*"), 500)</script>`
	}
	through.put(fragment, &d)
	return d
}

// active does the same with scripts.
func (f *field) active(through door, name string, vectors []vector) canaryCase {
	d := canaryCase{name: through.name + "/" + name, page: untilDone()}
	through.put(script(f.fill(&d, vectors, through)), &d)
	return d
}

// fill returns the texts of vectors, and notes their tokens.
func (f *field) fill(d *canaryCase, vectors []vector, through door) []string {
	var texts []string
	for _, v := range vectors {
		for _, to := range f.targets {
			if slices.Contains(through.targets, to.name) && !slices.Contains(through.refuses, v.name) {
				texts = append(texts, fill(v, to, through.name))
				d.expect(v, to, through)
			}
		}
	}
	return texts
}

// expect notes the token of a vector that makes its request.
func (d *canaryCase) expect(v vector, to target, through door) {
	possible := v.quiet == "" && slices.Contains(through.loads, to.name) && (through.origin || !v.origin)
	if v.only != nil && !slices.Contains(v.only, to.name) || to.url != nil && !strings.Contains(v.text, "{url}") {
		possible = false
	}
	if possible {
		d.tokens = append(d.tokens, token(v, to, through.name))
	}
}

// alone returns a document for each vector.
func (f *field) alone(through door, vectors []vector, leaves bool) []canaryCase {
	var docs []canaryCase
	for _, v := range vectors {
		for _, to := range f.targets {
			if !slices.Contains(through.alone, to.name) || v.only != nil && !slices.Contains(v.only, to.name) {
				continue
			}
			d := canaryCase{name: through.name + "/" + v.name + "/" + to.name, leaves: leaves, page: untilIdle()}
			d.expect(v, to, through)
			through.put(fill(v, to, through.name), &d)
			docs = append(docs, d)
		}
	}
	return docs
}

// markdown returns what only Markdown can say.
func (f *field) markdown() []canaryCase {
	through := door{name: "md", targets: []string{"http", "https", "redirect"}, loads: []string{"http", "https", "redirect"}}
	syntax := canaryCase{name: "markdown/syntax", page: untilIdle()}
	syntax.source.Markdown = "# Heading\n\n" + strings.Join(f.fill(&syntax, markdownVectors(), through), "")
	front := canaryCase{name: "markdown/front matter", page: untilIdle()}
	front.source.Markdown = frontMatter(fmt.Sprintf("http://front-matter%s:%d/", canaryDomain, f.canary.plain))
	return []canaryCase{syntax, front}
}

// responses returns pages whose headers name the canary.
func (f *field) responses() []canaryCase {
	var docs []canaryCase
	for _, v := range responseVectors() {
		for _, to := range f.targets {
			if to.name != "https" {
				continue
			}
			as := vector{name: v.name, text: v.value, quiet: v.quiet}
			d := canaryCase{name: "url/" + v.name, leaves: v.header == "Refresh", page: untilIdle()}
			d.expect(as, to, door{name: "header", loads: []string{"https"}})
			d.source.URL = f.site.origin("site.test") + f.site.publish(`<img src="/x.png">`, v.header, fill(as, to, "header"))
			docs = append(docs, d)
		}
	}
	return docs
}
