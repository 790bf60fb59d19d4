package e2e

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-rod/rod/lib/proto"
	"golang.org/x/net/html"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/test/fakellm"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/static/gallery"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/web/docs"
)

// startOpen starts an App with settings of a test.
func startOpen(t *testing.T, settings ...string) *app.App {
	t.Helper()
	if testing.Short() {
		t.Skip("starts the whole program")
	}
	settings = append(settings, "RELAYPDF_METRICS_LISTEN=", "RELAYPDF_RATE_LIMITS=off")
	config := loadConfig(t, []string{"--data-dir=" + t.TempDir(), "--listen=127.0.0.1:0", "--render-slots=1"}, settings...)
	return startShared(t, config)
}

// keyOf makes an account with money, and returns a key of it.
func keyOf(t *testing.T, app *app.App) string {
	t.Helper()
	account, err := app.Store.CreateAccount(t.Context(), "docs@example.com", 100*credit.Dollar)
	if err != nil {
		t.Fatal(err)
	}
	_, secret, err := app.Store.CreateKey(t.Context(), store.NewKey{AccountID: account.ID, Name: "docs", Signs: true})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// try sends HTML to the box of the first page.
func try(t *testing.T, app *app.App, source string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, app.BaseURL()+"/", strings.NewReader(url.Values{"html": {source}, "paper": {"A4"}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := patient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if cookies := answer.Header.Values("Set-Cookie"); len(cookies) > 0 {
		t.Errorf("the box sets %q", cookies)
	}
	return answer.StatusCode, string(text)
}

// TestVisitorsDocumentsReachNothing: the text of visitors without an account becomes a real page of a real
// document, and loads nothing, even if the operator has allowed the address.
func TestVisitorsDocumentsReachNothing(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	var reached atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer site.Close()
	app := startOpen(t, "RELAYPDF_ALLOW_HOSTS="+strings.TrimPrefix(site.URL, "http://"))
	source := `<h1>Lanterns</h1><img src="` + site.URL + `/1.png"><link rel="stylesheet" href="` + site.URL + `/2.css"><iframe src="` + site.URL + `/3"></iframe>
		<script>fetch("` + site.URL + `/4"); new Image().src = "` + site.URL + `/5"; navigator.sendBeacon("` + site.URL + `/6")</script>`
	status, body := try(t, app, source)
	for deadline := time.Now().Add(pagePatience); status != http.StatusOK && time.Now().Before(deadline); <-time.After(time.Second) {
		status, body = try(t, app, source) // a visitor's document has little time, on a machine that does much else
	}
	if status != http.StatusOK {
		t.Fatalf("status %d: %.500s", status, body)
	}
	document := embedded(t, body, "application/pdf")
	if !bytes.HasPrefix(document, []byte("%PDF-")) {
		t.Errorf("the document begins with %.20q", document)
	}
	if page, err := png.Decode(bytes.NewReader(embedded(t, body, "image/png"))); err != nil || page.Bounds().Dx() < 600 {
		t.Errorf("the picture: %v", err)
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("the document of a visitor made %d requests", n)
	}
	if status, body := try(t, app, `<script>location.href = "`+site.URL+`/7"</script>`); status == http.StatusInternalServerError || reached.Load() > 0 {
		t.Errorf("a document that leads away: status %d, %d requests: %.300s", status, reached.Load(), body)
	}
	// Nothing of it is billed, or in a list of an account.
	if calls, err := app.Store.Calls(t.Context(), store.CallFilter{}); err == nil && len(calls.Items) > 0 {
		t.Errorf("visitors made %d calls", len(calls.Items))
	}
}

// patient waits as long as a loaded machine takes.
var patient = &http.Client{Timeout: pagePatience}

// fetch requests a URL. While the service is busy, or too slow, it retries as the response asks.
func fetch(t *testing.T, address string) (*http.Response, []byte) {
	t.Helper()
	answer, text := ask(t, address)
	for deadline := time.Now().Add(pagePatience); answer.StatusCode >= 500 && time.Now().Before(deadline); <-time.After(time.Second) {
		answer, text = ask(t, address)
	}
	return answer, text
}

func ask(t *testing.T, address string) (*http.Response, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := patient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, text
}

// embedded returns a file that a page holds as an address.
func embedded(t *testing.T, body, kind string) []byte {
	t.Helper()
	found := regexp.MustCompile(`data:` + kind + `;base64,([A-Za-z0-9+/=]+)`).FindStringSubmatch(strings.ReplaceAll(body, "&#43;", "+"))
	if found == nil {
		t.Fatalf("the page holds no %s: %.500s", kind, body)
	}
	content, err := base64.StdEncoding.DecodeString(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// curlFails makes curl end with an error where the service does.
const curlFails = "curl() { command curl -sS --fail-with-body \"$@\"; }\n"

// runs runs a script in a folder, and returns its output.
func runs(t *testing.T, key, dir string, command ...string) (string, error) {
	t.Helper()
	run := exec.CommandContext(t.Context(), command[0], command[1:]...)
	run.Dir = dir
	run.Env = append(os.Environ(), "RELAYPDF_API_KEY="+key, "GO111MODULE=off", "GOFLAGS=")
	out, err := run.CombinedOutput()
	return string(out), err
}

// TestExamplesOfTheGuidesRun runs every command line of the guides unchanged.
func TestExamplesOfTheGuidesRun(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app := startOpen(t)
	key := keyOf(t, app)
	book, err := docs.New(app.BaseURL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, g := range book.Guides {
		if g.Slug == "first-day" {
			continue // TestFirstDay runs it
		}
		page, err := g.Content()
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		for _, example := range page.Examples {
			if example.Language != "sh" {
				continue
			}
			ran++
			out, err := runs(t, key, dir, "bash", "-e", "-c", curlFails+example.Code)
			if (err != nil) != example.Fails {
				t.Errorf("%s: %v\n%s\n%s", g.Slug, err, example.Code, out)
			}
			if example.Fails && !strings.Contains(out, `"error"`) && !holdsError(dir) {
				t.Errorf("%s: shows no error:\n%s\n%s", g.Slug, example.Code, out)
			}
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.pdf"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if content, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(content, []byte("%PDF-")) && !bytes.Contains(content, []byte(`"error"`)) {
				t.Errorf("%s: %s is no PDF (%v)", g.Slug, filepath.Base(file), err)
			}
		}
	}
	// The error on the first page is the API's real response.
	_, page := fetch(t, app.BaseURL()+"/")
	out, err := runs(t, key, t.TempDir(), "curl", "-sS", app.BaseURL()+"/v1/pdf", "-H", "Authorization: Bearer "+key, "-H", "Content-Type: application/json", "-d", `{"html":"<h1>Order 1042</h1>","options":{"formt":"A4"}}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`"(?:code|message|field)":"([^"]*)"`).FindAllStringSubmatch(out, -1) {
		if !strings.Contains(string(page), found[1]) {
			t.Errorf("the first page does not show %q of %s", found[1], out)
		}
	}
	if ran < 15 {
		t.Errorf("%d examples were run", ran)
	}
}

// TestExamplesOfTheClientsRun runs the first call of each library of the guide to the clients, unchanged, with the
// library of the repository.
func TestExamplesOfTheClientsRun(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app := startOpen(t)
	key := keyOf(t, app)
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	book, err := docs.New(app.BaseURL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	guide, _ := book.Guide("clients")
	page, err := guide.Content()
	if err != nil {
		t.Fatal(err)
	}
	// How each language gets its library: as the guide says, without a registry.
	before := map[string]string{
		"Go":     "export GO111MODULE=on GOPROXY=off GOWORK=off CGO_ENABLED=0\ngo mod init invoices && go mod edit -require=github.com/relaypdf/relaypdf@v0.0.0 -replace=github.com/relaypdf/relaypdf='" + root + "'\n",
		"Python": "export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='" + filepath.Join(root, "clients", "python") + "'\n",
		"JavaScript": "mkdir -p node_modules && cp -r '" + filepath.Join(root, "clients", "js") + "' node_modules/relaypdf && cd node_modules/relaypdf && rm -rf dist && ln -s '" + filepath.Join(root, ".ci", "node", "node_modules") + "' node_modules && " +
			"curl -s '" + app.BaseURL() + "/openapi.json' -o openapi.json && npm run -s types && npm run -s build && cd ../..\n",
	}
	names := map[string]string{"go": "Go", "js": "JavaScript", "python": "Python", "php": "PHP"}
	ran := 0
	for _, example := range page.Examples {
		name, known := names[example.Language]
		if !known {
			continue
		}
		runtime := runtimes[name]
		if _, err := exec.LookPath(runtime[1]); err != nil {
			t.Logf("%s is not here: its example was not run", runtime[1])
			continue
		}
		ran++
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, runtime[0]), []byte(example.Code), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := runs(t, key, dir, "bash", "-e", "-c", before[name]+strings.Join(runtime[1:], " ")+" "+runtime[0]); err != nil {
			t.Errorf("%s: %v\n%.3000s", name, err, out)
			continue
		}
		if content, err := os.ReadFile(filepath.Join(dir, "invoice.pdf")); err != nil || !bytes.HasPrefix(content, []byte("%PDF-")) {
			t.Errorf("%s: invoice.pdf is %.50q, %v", name, content, err)
		}
	}
	if ran < 3 {
		t.Errorf("%d examples were run, want Go, JavaScript and Python", ran)
	}
}

// holdsError reports whether a response that was written to a file is an error.
func holdsError(dir string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	return err == nil && slices.ContainsFunc(files, func(file string) bool {
		content, err := os.ReadFile(file)
		return err == nil && bytes.Contains(content, []byte(`"error"`))
	})
}

// everywhere are the operations whose samples are run in every language: one without an
// id, one with, and one that takes a file.
var everywhere = []string{"pdf_create", "templates_update", "files_upload"}

// TestSamplesOfTheReferenceRun runs the curl sample of every operation, and some in
// every language. Where readers put an id of their own is one of the account.
func TestSamplesOfTheReferenceRun(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	gone := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }))
	defer gone.Close()
	provider := fakellm.New(t, func(fakellm.Asked) fakellm.Reply {
		return fakellm.Reply{Text: `{"html":"<p>{{name}}</p>","sampleData":{"name":"Ada"},"options":{"format":"A6"}}`, Input: 100, Output: 50}
	})
	app := startOpen(t, "RELAYPDF_EXTRA_CA="+authorityOf(t, gone), "RELAYPDF_ALLOW_HOSTS=127.0.0.1",
		"RELAYPDF_AI_PROVIDER=openai", "RELAYPDF_AI_BASE_URL="+provider.URL, "RELAYPDF_AI_API_KEY=the-key", "RELAYPDF_AI_MODEL=the-model",
		"RELAYPDF_AI_PRICE_INPUT=2", "RELAYPDF_AI_PRICE_OUTPUT=10")
	r := customer{t: t, address: app.BaseURL(), key: keyOf(t, app), receiver: gone.URL}
	description, err := app.API.Description()
	if err != nil {
		t.Fatal(err)
	}
	book, err := docs.New(app.BaseURL(), func() ([]byte, error) { return description, nil })
	if err != nil {
		t.Fatal(err)
	}
	authority := pdftest.NewAuthority(t, "")
	id, _ := r.sends("POST", "/v1/templates", `{"name":"Invoice","html":"<p>{{number}}</p>"}`) // that of the samples
	r.sends("POST", "/v1/templates/"+id+"/publish", "{}")
	for _, o := range book.Operations() {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "report.pdf"), []byte("%PDF-1.7\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		own := r.own(o.Path)
		for _, sample := range o.Samples {
			if sample.Name != "curl" && !slices.Contains(everywhere, o.ID) {
				continue
			}
			makes := ""
			if o.ID == "pdf_create" {
				makes = "result.pdf"
			}
			text := strings.ReplaceAll(own.Replace(sample.Text), "https://tsa.example/", authority.URL+"/tsa")
			runSample(t, r.key, dir, sample.Name, text, makes)
		}
	}
}

// runtimes maps the languages of samples, except curl, to a file and the command that runs it.
var runtimes = map[string][]string{"Go": {"sample.go", "go", "run"}, "JavaScript": {"sample.mjs", "node"}, "Python": {"sample.py", "python3"}, "PHP": {"sample.php", "php"}}

// runSample runs a sample in a folder, unless its language is not installed. It must not fail, and must make the PDF
// with the given name, if any.
func runSample(t *testing.T, key, dir, language, text, makes string) {
	t.Helper()
	command := []string{"bash", "-e", "-c", curlFails + text}
	if runtime, ok := runtimes[language]; ok {
		if _, err := exec.LookPath(runtime[1]); err != nil {
			t.Logf("%s is not here: its sample was not run", runtime[1])
			return
		}
		if err := os.WriteFile(filepath.Join(dir, runtime[0]), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		command = append(slices.Clone(runtime[1:]), runtime[0])
	}
	if makes != "" {
		_ = os.Remove(filepath.Join(dir, makes))
	}
	if out, err := runs(t, key, dir, command...); err != nil {
		t.Errorf("in %s: %v\n%.2000s\n%.1000s", language, err, text, out)
		return
	}
	if makes == "" {
		return
	}
	if content, err := os.ReadFile(filepath.Join(dir, makes)); err != nil || !bytes.HasPrefix(content, []byte("%PDF-")) {
		t.Errorf("in %s: %s is %.50q, %v\n%.2000s", language, makes, content, err, text)
	}
}

// TestCallsOfTheGalleryRun copies every layout of the gallery to an account, publishes it, and runs the call that the
// editor shows: with curl, and for one layout in every language. The page of the layout shows the same calls.
func TestCallsOfTheGalleryRun(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app := startOpen(t)
	post := pagesAs(t, app, "maya@example.com")
	account, err := app.Store.AccountByEmail(t.Context(), "maya@example.com")
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := app.Store.CreateKey(t.Context(), store.NewKey{AccountID: account.ID, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	layouts, err := gallery.New()
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range layouts.List("", "") {
		made := regexp.MustCompile(`/dashboard/templates/[0-9a-f]{8}-[0-9a-f-]{27}`).FindString(post("/dashboard/templates", url.Values{"layout": {l.ID}, "name": {l.Name}, "category": {l.Category}}))
		_, public := fetch(t, app.BaseURL()+l.Href())
		calls, listed := samplesOf(t, post(made+"/publish", url.Values{})), samplesOf(t, string(public))
		if len(calls) != 5 || !maps.Equal(calls, listed) {
			t.Errorf("%s: the editor shows %q, the gallery %q", l.ID, calls, listed)
		}
		for language, text := range calls {
			if language == "curl" || i == 0 {
				runSample(t, key, t.TempDir(), language, text, l.ID+".pdf")
			}
		}
	}
}

// samplesOf returns the samples of a call on a page by their languages.
func samplesOf(t *testing.T, page string) map[string]string {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for n := range doc.Descendants() {
		attributes := map[string]string{}
		for _, a := range n.Attr {
			attributes[a.Key] = a.Val
		}
		language := strings.TrimPrefix(attributes["aria-label"], "Copy ")
		if _, known := runtimes[language]; known || language == "curl" {
			found[language] = attributes["data-copy"]
		}
	}
	return found
}

// customer is a user with an account who tries the samples of the reference.
type customer struct {
	t                      *testing.T
	address, key, receiver string // the receiver permanently refuses every event
}

// sends makes a call, and returns its response's id and status.
func (r customer) sends(method, path, body string) (id, status string) {
	r.t.Helper()
	out, err := runs(r.t, r.key, r.t.TempDir(), "curl", "-sS", "--fail-with-body", "-X", method, r.address+path,
		"-H", "Authorization: Bearer "+r.key, "-H", "Content-Type: application/json", "-d", body)
	var answer struct{ ID, Status string }
	if err == nil {
		err = json.Unmarshal([]byte(out), &answer)
	}
	if err != nil {
		r.t.Fatalf("%s %s: %v\n%.1000s", method, path, err, out)
	}
	return answer.ID, answer.Status
}

// own replaces a path's parameters, which samples have in capitals, with new objects of the account.
func (r customer) own(path string) *strings.Replacer {
	r.t.Helper()
	folder, parameter, _ := strings.Cut(path, "{")
	if parameter == "" {
		return strings.NewReplacer()
	}
	id := ""
	switch folder {
	case "/gallery/":
		layouts, err := gallery.New()
		if err != nil {
			r.t.Fatal(err)
		}
		id = strings.TrimPrefix(layouts.List("", "")[0].ThumbnailPath(), folder)
	case "/v1/files/":
		id, _ = r.sends("POST", "/v1/barcodes", `{"type":"qr","text":"a","response":"url"}`)
	case "/v1/jobs/":
		id, _ = r.sends("POST", "/v1/barcodes", `{"type":"qr","text":"a","response":"async"}`)
	case "/v1/templates/":
		id, _ = r.sends("POST", "/v1/templates", `{"name":"Letter","html":"<p>A</p>"}`)
		r.sends("POST", "/v1/templates/"+id+"/publish", "{}")
		r.sends("PATCH", "/v1/templates/"+id, `{"html":"<p>B</p>"}`)
	case "/v1/templates/partials/":
		id = "foot"
		r.sends("PUT", folder+id, `{"html":"<p>A</p>"}`)
	case "/v1/webhooks/":
		id, _ = r.sends("POST", "/v1/webhooks", `{"url":"`+r.receiver+`"}`)
		r.sends("POST", folder+id+"/roll", "{}")
	case "/v1/webhooks/deliveries/":
		endpoint, _ := r.sends("POST", "/v1/webhooks", `{"url":"`+r.receiver+`"}`)
		id, _ = r.sends("POST", "/v1/webhooks/"+endpoint+"/test", "{}")
		for deadline, status := time.Now().Add(pagePatience), ""; status != "failed"; <-time.After(50 * time.Millisecond) {
			if _, status = r.sends("GET", folder+id, ""); time.Now().After(deadline) {
				r.t.Fatalf("the delivery is %s", status)
			}
		}
		r.sends("PATCH", "/v1/webhooks/"+endpoint, `{"enabled":true}`) // ended with the refusal
	case "/v1/connections/":
		id, _ = r.sends("POST", "/v1/connections", `{"name":"`+rand.Text()+`","s3":{"endpoint":"`+r.receiver+`","bucket":"files","accessKeyId":"a","secretAccessKey":"b"}}`)
	case "/v1/signing-identities/":
		id, _ = r.sends("POST", "/v1/signing-identities", operation.ExampleIdentity(rand.Text()))
	default:
		r.t.Errorf("nothing stands for what is below %s", folder)
	}
	samples := strings.NewReplacer("{id}", "ID", "{name}", "NAME", "{version}", "VERSION").Replace(path)
	return strings.NewReplacer(samples, strings.NewReplacer("{id}", id, "{name}", id, "{version}", "1").Replace(path))
}

// links returns the references of a page, and its IDs.
func links(t *testing.T, page string) (addresses []string, ids map[string]bool) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	ids = map[string]bool{}
	for n := range doc.Descendants() {
		for _, a := range n.Attr {
			switch a.Key {
			case "href", "src", "action", "data-search":
				addresses = append(addresses, a.Val)
			case "id":
				ids[a.Val] = true
			}
		}
	}
	return addresses, ids
}

// TestEveryLinkLeadsSomewhere follows links from page to page, and to the parts of pages. Of images rendered on
// request it fetches one of each kind.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app := startOpen(t)
	base := app.BaseURL()
	pages, drawn := map[string]map[string]bool{}, map[string]bool{}
	type step struct{ to, from string }
	next, parts := []step{{"/", ""}, {"/sitemap.xml", ""}}, []step{}
	for len(next) > 0 {
		s := next[0]
		next = next[1:]
		path := strings.TrimPrefix(s.to, base)
		path, part, _ := strings.Cut(path, "#")
		switch {
		case strings.HasPrefix(path, "data:"):
			continue
		case strings.Contains(path, "://") && !strings.HasPrefix(s.to, base):
			continue // another site's
		}
		if part != "" {
			parts = append(parts, step{path + "#" + part, s.from})
		}
		if path == "" || pages[path] != nil {
			continue
		}
		if strings.HasPrefix(path, "/drawn/") {
			kind := regexp.MustCompile(`^/drawn/[a-z]+`).FindString(path) + filepath.Ext(path)
			if drawn[kind] {
				continue
			}
			drawn[kind] = true
		}
		answer, text := fetch(t, base+path)
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s links to %s: status %d", s.from, path, answer.StatusCode)
		}
		pages[path] = map[string]bool{}
		if strings.HasSuffix(path, "sitemap.xml") {
			for _, found := range regexp.MustCompile(`<loc>([^<]*)</loc>`).FindAllStringSubmatch(string(text), -1) {
				next = append(next, step{found[1], path})
			}
		}
		if !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") || answer.Request.URL.Path != strings.Split(path, "?")[0] {
			continue
		}
		addresses, ids := links(t, string(text))
		pages[path] = ids
		for _, address := range addresses {
			next = append(next, step{address, path})
		}
	}
	for _, s := range parts {
		path, part, _ := strings.Cut(s.to, "#")
		if path == "" {
			path = s.from
		}
		if ids := pages[path]; ids != nil && !ids[part] {
			t.Errorf("%s links to %s, which has no such part", s.from, s.to)
		}
	}
	if len(pages) < 150 {
		t.Errorf("%d pages were found", len(pages))
	}
}

// publicPages lists the pages to check.
var publicPages = []string{
	"/", "/pdf-templates", "/pdf-templates/invoice", "/pdf-templates/invoice/invoice-atelier", "/pricing", "/status", "/changelog",
	"/docs", "/docs/errors", "/docs/api", "/docs/api/pdf_create",
}

// nothingMoves opens the public pages over a slow connection, a piece at a time, and lays out each piece: shown
// content must not move.
func nothingMoves(s *screen) {
	s.t.Helper()
	address, err := url.Parse(s.app.BaseURL())
	if err != nil {
		s.t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(address)
	proxy.ModifyResponse = func(answer *http.Response) error {
		if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") {
			answer.Body = &inPieces{answer.Body}
		}
		return nil
	}
	proxy.FlushInterval = -1
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Accept-Encoding")
		proxy.ServeHTTP(w, r)
	}))
	defer slow.Close()
	s.leadsTo(strings.TrimPrefix(slow.URL, "http://"))
	for _, width := range []int{1440, 768, 360} {
		s.width(width)
		for _, path := range publicPages {
			s.open(slow.URL + path)
			moved, err := s.page.Eval(`() => new Promise(done => {
				const moved = [];
				new PerformanceObserver(list => {
					for (const e of list.getEntries()) {
						const what = e.sources.map(({ node, previousRect: from, currentRect: to }) =>
							(node?.outerHTML ?? node?.textContent ?? "").slice(0, 80) + " from " + from.x + "," + from.y + " to " + to.x + "," + to.y);
						if (e.value > 0.001) moved.push(e.value.toFixed(4) + ": " + what.join("; "));
					}
				}).observe({ type: "layout-shift", buffered: true });
				setTimeout(() => done(moved.join("\n")), 300);
			})`)
			if err != nil {
				s.t.Fatalf("%s: %v", path, err)
			}
			if what := moved.Value.Str(); what != "" {
				s.t.Errorf("%s at %d: what is shown moves by %s", path, width, what)
			}
		}
	}
}

// inPieces is a body of which two kilobytes come at a time.
type inPieces struct{ io.ReadCloser }

func (b *inPieces) Read(p []byte) (int, error) {
	<-time.After(20 * time.Millisecond)
	return b.ReadCloser.Read(p[:min(len(p), 2<<10)])
}

// maxBlocking is the maximum compressed size of the resources that block the first paint of a page: one second on a
// slow line.
const maxBlocking = 40_000

// drawsSoon checks the resources that block the first paint of the open page: the page itself and its style.
func (s *screen) drawsSoon(path string) {
	s.t.Helper()
	found, err := s.page.Eval(`() => performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource").filter(e => e.renderBlockingStatus === "blocking"))
		.map(e => ({ of: new URL(e.name).pathname, bytes: e.encodedBodySize }))`)
	if err != nil {
		s.t.Fatalf("%s: %v", path, err)
	}
	sum := 0
	for _, part := range found.Value.Arr() {
		sum += part.Get("bytes").Int()
	}
	s.t.Logf("%s draws nothing before %d bytes: %v", path, sum, found.Value)
	if parts := len(found.Value.Arr()); parts < 2 || sum == 0 || sum > maxBlocking {
		s.t.Errorf("%s waits for %d bytes of %d files before it draws anything, want the page and its style, at most %d: %v", path, sum, parts, maxBlocking, found.Value)
	}
}

// maxPaint is by when the largest part of a public page is there, on the machine that
// serves it: milliseconds.
const maxPaint = 1000

// paintsSoon checks when the largest part of the open page was painted. A busy machine is slow at times, a slow page
// always: the page is opened again, from the service and not from a cache, until it was fast enough once.
func (s *screen) paintsSoon(path string) {
	s.t.Helper()
	cached := func(is bool) {
		if err := (proto.NetworkSetCacheDisabled{CacheDisabled: !is}).Call(s.page); err != nil {
			s.t.Fatal(err)
		}
	}
	cached(false)
	defer cached(true)
	for deadline := time.Now().Add(pagePatience); ; s.open(path) {
		largest, err := s.page.Eval(`() => new Promise(done => {
			let largest = 0;
			new PerformanceObserver(list => {
				for (const e of list.getEntries()) largest = e.startTime;
				setTimeout(() => done(largest), 300); // what is larger comes until then
			}).observe({ type: "largest-contentful-paint", buffered: true });
		})`)
		if err != nil {
			s.t.Fatalf("%s: %v", path, err)
		}
		s.t.Logf("%s: largest paint after %v ms", path, largest.Value.Num())
		if largest.Value.Num() < maxPaint {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the largest part of %s is never painted within %d ms", path, maxPaint)
		}
	}
}

// TestNoPageOfTheDocsScrollsSideways opens every page of the documentation: long names
// break where a line ends, at three widths.
func TestNoPageOfTheDocsScrollsSideways(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPages(t), openBrowser(t)
	visitor := openScreen(t, browser, app)
	pages := []string{"/docs", "/docs/api"}
	for _, list := range pages {
		_, text := fetch(t, app.BaseURL()+list)
		addresses, _ := links(t, string(text))
		for _, address := range addresses {
			path, _, _ := strings.Cut(address, "#")
			if strings.HasPrefix(path, "/docs/") && filepath.Ext(path) == "" && !slices.Contains(pages, path) {
				pages = append(pages, path)
			}
		}
	}
	if len(pages) < 80 {
		t.Errorf("%d pages were found", len(pages))
	}
	for _, path := range pages {
		visitor.open(path)
		if _, err := visitor.page.Eval(`async () => { await document.fonts.ready }`); err != nil {
			t.Fatal(err)
		}
		for _, width := range []int{360, 768, 1440} {
			visitor.width(width)
			visitor.fits(fmt.Sprintf("%s, %d pixels", path, width))
		}
	}
}

// drawnImage is the path of an image that is drawn when it is first requested.
var drawnImage = regexp.MustCompile(`src="(/drawn/[^"]+)"`)

// drawImages requests the images of the public pages until they are drawn. Other tests use the renderer meanwhile, and
// go first.
func drawImages(t *testing.T, app *app.App) {
	t.Helper()
	for _, path := range publicPages {
		_, page := fetch(t, app.URL+path)
		for _, image := range drawnImage.FindAllSubmatch(page, -1) {
			if response, _ := fetch(t, app.URL+string(image[1])); response.StatusCode != http.StatusOK {
				t.Fatalf("%s: status %d", image[1], response.StatusCode)
			}
		}
	}
}

// TestPublicPagesInABrowser looks at the public pages: axe, both themes, three
// widths, nothing on the console, nothing that moves, and little to load.
func TestPublicPagesInABrowser(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPages(t), openBrowser(t)
	axe, err := os.ReadFile(filepath.Join("..", "..", "..", ".ci", "node", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatalf("axe is not there: %v; make setup installs it", err)
	}
	drawImages(t, app)
	visitor := openScreen(t, browser, app)
	for _, width := range []int{1440, 768, 360} {
		for _, path := range publicPages {
			visitor.width(width)
			visitor.open(path)
			visitor.weigh(path)
			if path == "/" {
				visitor.drawsSoon(path)
			}
			visitor.paintsSoon(path)
			if width == 768 {
				visitor.picture("public" + strings.ReplaceAll(path, "/", "-") + "-768")
			}
			if width == 1440 {
				for _, theme := range []string{"light", "dark"} {
					visitor.look(path, theme, string(axe))
				}
			}
			visitor.calm(path)
		}
	}
	nothingMoves(visitor)

	// The box on the first page, with script: the page changes and the place does not.
	visitor.width(1440)
	visitor.open("/")
	visitor.fill("html", "<h1>Typed by hand</h1>")
	button, err := visitor.page.Element(".live button[type=submit]")
	if err == nil {
		err = button.Click(proto.InputMouseButtonLeft, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	visitor.sees("1 page · A4")
	if at := visitor.page.MustInfo().URL; at != app.BaseURL()+"/" {
		t.Errorf("the page is now %s", at)
	}
	visitor.picture("public-tried")
	visitor.open("/docs")
	search := visitor.page.MustElement(".docs-search input")
	visitor.page.MustEval(`() => { window.reaches = fetch; window.fetch = () => Promise.reject(new TypeError("cut off")) }`)
	search.MustInput("idem")
	visitor.sees("Search is unavailable. Try again.")
	visitor.page.MustEval(`() => { window.fetch = window.reaches }`)
	search.MustInput("potency")
	visitor.sees("Retry without a second charge")
	visitor.open("/pricing")
	visitor.fill("pdf.create", "10000")
	visitor.sees("$20.00")
	cookies, err := visitor.page.Cookies(nil)
	if err != nil || len(cookies) > 0 {
		t.Errorf("the pages set %v, %v", cookies, err)
	}
	visitor.calm("what was tried")
}

// TestReferenceUnfoldsToAField follows links to fields inside of folded objects, and looks at the three widths of the
// reference.
func TestReferenceUnfoldsToAField(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPages(t), openBrowser(t)
	visitor := openScreen(t, browser, app)
	visitor.width(1440)
	shown := func(id string) {
		t.Helper()
		visitor.page.MustWait(`id => {
			const box = document.getElementById(id)?.getBoundingClientRect();
			return box?.height > 0 && box.top >= 0 && box.bottom <= innerHeight;
		}`, id)
	}
	visitor.open("/docs/api/pdf_create#pdf-options-margin-top")
	shown("pdf-options-margin-top")
	visitor.picture("reference-field")
	visitor.page.MustEval(`() => { document.querySelectorAll(".folded").forEach(fold => { fold.open = false }); location.hash = "#pdf-assets-url" }`)
	shown("pdf-assets-url")
	// The example stays in sight beside the fields, and the field's own link appears with the focus.
	shown("call-0")
	if visible := visitor.page.MustEval(`() => { const link = document.querySelector("#pdf-assets-url .anchor"); link.focus(); link.dispatchEvent(new Event("focus")); return link === document.activeElement }`).Bool(); !visible {
		t.Error("the link to a field does not get the focus")
	}
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int{1440, 1024, 390} {
			visitor.width(width)
			for _, path := range []string{"/docs/api/pdf_info", "/docs/clients", "/changelog"} {
				visitor.open(path)
				visitor.page.MustEval(`theme => { document.documentElement.dataset.theme = theme }`, theme)
				visitor.picture(fmt.Sprintf("reference%s-%d-%s", strings.ReplaceAll(path, "/", "-"), width, theme))
			}
		}
	}
	visitor.calm("the reference")
}

// TestStatusCoversAllProcesses reads the page.
func TestStatusCoversAllProcesses(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app := startPages(t)
	client := &http.Client{Timeout: pagePatience}
	const works = "All systems operational"
	var text string
	// A busy machine may take longer for a check than the page waits.
	for deadline := time.Now().Add(pagePatience); !strings.Contains(text, works) && time.Now().Before(deadline); {
		answer, err := client.Get(app.BaseURL() + "/status")
		if err != nil {
			t.Fatal(err)
		}
		if text = bodyOf(t, answer); answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", answer.Status, text)
		}
	}
	if !strings.Contains(text, works) || !strings.Contains(text, "Total of 1 server process: 0 jobs waiting, 0 running.") {
		t.Error(text)
	}
}
