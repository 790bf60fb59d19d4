package web_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/service"
	"github.com/relaypdf/relaypdf/static"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/seal"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// serial is a header in which the service behind a cache numbers its responses: a number that comes twice was
// cached.
const serial = "X-Serial"

// origin is the whole service behind a cache, pages and interface, without
// engines.
type origin struct {
	*house
	api    *api.API
	server *http.Server
	port   string
	served atomic.Int64
	// short makes answers old at once; broken answers 503 to everything.
	short, broken atomic.Bool
	cookie, key   string
}

// box is the one of a house.
func box(t *testing.T) *seal.Box {
	t.Helper()
	made, err := seal.New([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

var sharedTime = regexp.MustCompile(`s-maxage=\d+, stale-while-revalidate=\d+`)

// newOrigin starts a service with a user who is logged in, and a key.
func newOrigin(t *testing.T) *origin {
	t.Helper()
	o := &origin{house: openHouse(t, &drawer{})}
	log := slog.New(slog.DiscardHandler)
	o.api = newAPI(newServices(t, service.Config{
		Lease: acquire(t, o.house), Store: o.Store, Box: box(t), BaseURL: o.url, Region: "loc", NoRateLimits: true, Logger: log,
	}))
	member := o.join(t, "maya@example.com")
	for _, c := range member.client.Jar.Cookies(request(t, http.MethodGet, o.url+"/dashboard").URL) {
		o.cookie += c.Name + "=" + c.Value + "; "
	}
	var err error
	if _, o.key, err = o.CreateKey(t.Context(), store.NewKey{AccountID: o.mayas(t).ID, Name: "edge"}); err != nil {
		t.Fatal(err)
	}
	whole := middleware.New(middleware.Config{
		API: o.api.Handler(), Pages: o.web.Handler(), Serves: o.api.Serves, Fail: o.api.Fail,
		TrustedIPHeader: "X-Forwarded-For", Logger: log, Registry: prometheus.NewRegistry(),
	})
	listener := listenAnywhere(t)
	_, o.port, _ = net.SplitHostPort(listener.Addr().String())
	o.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(serial, strconv.FormatInt(o.served.Add(1), 10))
		if o.broken.Load() {
			http.Error(w, "broken", http.StatusServiceUnavailable)
			return
		}
		if o.short.Load() {
			made := httptest.NewRecorder()
			whole.ServeHTTP(made, r)
			for name, values := range made.Header() {
				w.Header()[name] = values
			}
			w.Header().Set("Cache-Control", sharedTime.ReplaceAllString(made.Header().Get("Cache-Control"), "s-maxage=1, stale-while-revalidate=0"))
			w.WriteHeader(made.Code)
			_, _ = w.Write(made.Body.Bytes())
			return
		}
		whole.ServeHTTP(w, r)
	})}
	go func() { _ = o.server.Serve(listener) }()
	t.Cleanup(func() { _ = o.server.Close() })
	return o
}

func listenAnywhere(t *testing.T) net.Listener {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

func request(t *testing.T, method, address string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// front is a cache in front of the service.
type front struct {
	t      *testing.T
	o      *origin
	url    string
	purge  string // the command of docs/operations/caching.md that makes it forget the pages
	folder string // folder of its cache; empty if that is in memory
	client *http.Client
}

// fill returns a configuration of deploy/edge with the values of this test.
func fill(t *testing.T, name string, replace ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "deploy", "edge", name))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(replace); i += 2 {
		if strings.Count(string(text), replace[i]) != 1 {
			t.Fatalf("%s has %q %d times, want once", name, replace[i], strings.Count(string(text), replace[i]))
		}
		text = bytes.ReplaceAll(text, []byte(replace[i]), []byte(replace[i+1]))
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// run starts a program that ends with the test.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path = "/usr/sbin/" + name
	}
	cmd := exec.CommandContext(context.Background(), path, args...)
	var says bytes.Buffer
	cmd.Stdout, cmd.Stderr = &says, &says
	if err := storetest.Start(cmd); err != nil {
		t.Fatalf("%v: run `make setup`", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s: %s", name, says.String())
		}
	})
}

// startNginx starts nginx with deploy/edge/nginx.conf.
func startNginx(t *testing.T, o *origin) *front {
	t.Helper()
	port, folder := storetest.FreePort(t), filepath.Join(t.TempDir(), "kept")
	site := fill(t, "nginx.conf", "server 127.0.0.1:8787 ", "server 127.0.0.1:"+o.port+" ", "listen 80 default_server", "listen 127.0.0.1:"+port, "/var/cache/nginx/relaypdf levels", folder+" levels")
	user, work := "", t.TempDir()
	if os.Geteuid() == 0 {
		user = "user root;" // the test's folders are readable only by their owner
	}
	main := filepath.Join(work, "main.conf")
	text := fmt.Sprintf(`%[1]s daemon off; worker_processes 1; pid %[2]s/pid; error_log stderr error; events {}
http { access_log off; client_body_temp_path %[2]s/a; proxy_temp_path %[2]s/b; fastcgi_temp_path %[2]s/c; uwsgi_temp_path %[2]s/d; scgi_temp_path %[2]s/e; include %[3]s; }
`, user, work, site)
	if err := os.WriteFile(main, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "nginx", "-e", "stderr", "-p", work, "-c", main)
	return &front{t: t, o: o, url: "http://127.0.0.1:" + port, purge: `grep -rlaZ '^Surrogate-Key:.*pages' ` + folder + ` | xargs -0r rm -f`, folder: folder}
}

// startVarnish starts Varnish with deploy/edge/varnish.vcl.
func startVarnish(t *testing.T, o *origin) *front {
	t.Helper()
	port := storetest.FreePort(t)
	site := fill(t, "varnish.vcl", `.port = "8787"`, `.port = "`+o.port+`"`)
	jail := "none"
	run(t, "varnishd", "-F", "-j", jail, "-n", t.TempDir(), "-a", "127.0.0.1:"+port, "-f", site, "-s", "malloc,64m")
	return &front{t: t, o: o, url: "http://127.0.0.1:" + port, purge: `curl -sSf -X PURGE -H 'Surrogate-Key: pages' http://127.0.0.1:` + port + "/"}
}

// await waits until a cache answers.
func (f *front) await() {
	f.t.Helper()
	f.client = &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{DisableCompression: true}, Timeout: 5 * time.Minute,
	}
	for deadline := time.Now().Add(5 * time.Minute); ; <-time.After(20 * time.Millisecond) {
		answer, err := f.client.Do(request(f.t, http.MethodGet, f.url+"/health"))
		if err == nil {
			_ = answer.Body.Close()
			return
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("the cache does not answer: %v", err)
		}
	}
}

// kept is a response with its number from the service.
type kept struct {
	answer
	serial string
}

// ask sends a request with headers, given as names and values.
func (f *front) ask(method, path string, header ...string) kept {
	f.t.Helper()
	r := request(f.t, method, f.url+"/")
	r.URL.Opaque = strings.TrimPrefix(f.url, "http:") + path // as it is written here
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	response, err := f.client.Do(r)
	if err != nil {
		f.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		f.t.Fatalf("%s %s: %v", method, path, err)
	}
	return kept{answer{response.StatusCode, response.Header, string(text)}, response.Header.Get(serial)}
}

// asked is one request of the walk.
type asked struct{ method, path string }

// publicPath matches the paths that caches may store; written here again, as an independent check of the edge's
// table.
var publicPath = regexp.MustCompile(`^/($|(static|gallery|drawn|docs|pdf-templates)(/|$)|(pricing|status|changelog|changelog\.atom|openapi\.json|llms\.txt|llms-full\.txt|robots\.txt|sitemap\.xml|v1/templates/gallery|v1/billing/prices)$)`)

func (a asked) public() bool {
	return (a.method == http.MethodGet || a.method == http.MethodHead) && publicPath.MatchString(a.path)
}

// walk lists every route of the service, with ids that there are.
func (o *origin) walk(t *testing.T, upload string) []asked {
	t.Helper()
	home, gallery := o.visitor(t).get("/").body, o.visitor(t).get("/pdf-templates").body
	sheets, err := static.Open()
	if err != nil {
		t.Fatal(err)
	}
	drawn := regexp.MustCompile(`/drawn/[^" ]*`).FindString(home)
	picture := regexp.MustCompile(`/gallery/[^" ]*`).FindString(gallery)
	layout := regexp.MustCompile(`/pdf-templates/([a-z-]+)/([a-z0-9-]+)"`).FindStringSubmatch(gallery)
	if drawn == "" || picture == "" || layout == nil {
		t.Fatalf("no drawing %q, picture %q or layout %q", drawn, picture, layout)
	}
	list := []asked{
		{http.MethodGet, sheets.URL("app.css")}, {http.MethodHead, sheets.URL("app.css")}, {http.MethodGet, "/static/missing.css"},
		{http.MethodGet, "/nowhere"}, {http.MethodGet, "/v1/nowhere"}, {http.MethodGet, "/docs/nowhere"}, {http.MethodPost, "/mcp"},
	}
	values := func(pattern string) string {
		switch {
		case strings.HasPrefix(pattern, "/gallery/"):
			return picture
		case strings.HasPrefix(pattern, "/drawn/"):
			return drawn
		case pattern == "/v1/files/{id}":
			return "/v1/files/" + upload
		}
		return strings.NewReplacer(
			"{category}", layout[1], "{guide}", "quick-start", "{operation}", "pdf.create", "/pdf-templates/{category}/{id}", "/pdf-templates/"+layout[1]+"/"+layout[2],
		).Replace(pattern)
	}
	param := regexp.MustCompile(`\{[^}]*\}`)
	add := func(method, pattern string) {
		path := param.ReplaceAllString(values(pattern), "x")
		list = append(list, asked{method, path})
		if method == http.MethodGet {
			list = append(list, asked{http.MethodHead, path})
		}
	}
	for _, p := range o.web.Pages() {
		if p.Pattern != "/logout" && !strings.Contains(p.Pattern, "/settings/sessions") {
			add(p.Method, p.Pattern)
		}
	}
	for _, p := range o.api.Routes() {
		if p.Method != http.MethodDelete { // the upload is to stay
			add(p.Method, p.Path)
		}
	}
	return list
}

// upload sends a file, which only its account may read.
func (o *origin) upload(t *testing.T) string {
	t.Helper()
	r := request(t, http.MethodPost, "http://127.0.0.1:"+o.port+"/v1/files")
	r.Body = io.NopCloser(strings.NewReader("the upload of one account"))
	r.Header.Set("Authorization", "Bearer "+o.key)
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("X-Filename", "secret.txt")
	answer, err := (&http.Client{Timeout: 5 * time.Minute}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	id := regexp.MustCompile(`file_[A-Za-z0-9_]+`).FindString(string(text))
	if id == "" {
		t.Fatalf("no file was made: %s", text)
	}
	return id
}

// TestCachesInFront requests every route of the service through nginx and Varnish, configured by the files of
// deploy/edge: each twice, without credentials, by a logged-in user, and with a key. Public pages are requested from
// the service once, and nothing else is ever cached.
func TestCachesInFront(t *testing.T) {
	sharedtest.Slow(t)
	o := newOrigin(t)
	upload := o.upload(t)
	routes := o.walk(t, upload)
	for name, start := range map[string]func(*testing.T, *origin) *front{"nginx": startNginx, "varnish": startVarnish} {
		t.Run(name, func(t *testing.T) {
			f := start(t, o)
			f.await()
			f.walk(t, routes, upload)
			f.keepsCopiesApart(t, routes)
			f.forgets(t)
			f.cannotBePoisoned(t)
			f.standsAlone(t)
		})
	}
}

func (f *front) walk(t *testing.T, routes []asked, upload string) {
	t.Helper()
	people := map[string][]string{"nobody": nil, "a person": {"Cookie", f.o.cookie}, "a key": {"Authorization", "Bearer " + f.o.key}}
	seen := map[string]string{} // where a number came first
	hits, could := 0, 0
	for _, q := range routes {
		for _, who := range []string{"nobody", "a person", "a key"} {
			var last kept
			for range 2 {
				last = f.ask(q.method, q.path, people[who]...)
				here := q.method + " " + q.path
				if first, again := seen[last.serial]; !q.public() && (again || last.serial == "") {
					t.Errorf("%s by %s is answered with what was kept of %s", here, who, first)
				}
				seen[last.serial] = here + " by " + who
				control := last.header.Get("Cache-Control")
				if open := strings.Contains(control, "public"); open != (q.public() && last.status == http.StatusOK) {
					t.Errorf("%s by %s: status %d, Cache-Control %q", here, who, last.status, control)
				}
				if last.header.Get("Surrogate-Key")+last.header.Get("Cache-Tag") != "" {
					t.Errorf("%s: the keys are for caches: %v", here, last.header)
				}
				if last.header.Get("X-Request-Id") == "" {
					t.Errorf("%s: no id of the request", here)
				}
			}
			if q.public() && last.status == http.StatusOK && who != "a key" {
				could++
				if last.header.Get("X-Cache") == "HIT" {
					hits++
				} else {
					t.Errorf("%s %s by %s the second time: %s", q.method, q.path, who, last.header.Get("X-Cache"))
				}
			}
		}
	}
	if got := f.ask(http.MethodGet, "/v1/files/"+upload, "Authorization", "Bearer "+f.o.key); got.body != "the upload of one account" {
		t.Errorf("the upload reads %q: the walk did not see what is private", got.body)
	}
	if got := f.ask(http.MethodGet, "/v1/files/"+upload); got.status != http.StatusNotFound {
		t.Errorf("the upload of another account: status %d", got.status)
	}
	if got := f.ask(http.MethodGet, "/dashboard/settings", "Cookie", f.o.cookie); !strings.Contains(got.body, "maya@example.com") {
		t.Errorf("nobody was logged in: status %d", got.status)
	}
	if could < 60 || hits != could {
		t.Errorf("%d of %d public answers were kept", hits, could)
	}
	t.Logf("%d routes; %d of %d public answers came from the cache the second time", len(routes), hits, could)
	f.keepsNoSecrets(t)
}

// keepsNoSecrets searches a cache's files on disk.
func (f *front) keepsNoSecrets(t *testing.T) {
	t.Helper()
	if f.folder == "" {
		return
	}
	files := 0
	err := filepath.WalkDir(f.folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		for _, secret := range []string{"maya@example.com", f.o.key, "the upload of one account", "Set-Cookie", strings.Split(strings.Trim(f.o.cookie, "; "), "=")[1]} {
			if bytes.Contains(content, []byte(secret)) {
				t.Errorf("%q is kept: %.300q", secret, content)
			}
		}
		return err
	})
	if err != nil || files < 8 {
		t.Errorf("%d files are kept, %v", files, err)
	}
}

// keepsCopiesApart requests cached pages in every variant.
func (f *front) keepsCopiesApart(t *testing.T, routes []asked) {
	t.Helper()
	sheet := routes[0].path
	plain := f.ask(http.MethodGet, sheet)
	zipped := f.ask(http.MethodGet, sheet, "Accept-Encoding", "gzip, br")
	if zipped.header.Get("Content-Encoding") != "gzip" || len(zipped.body) >= len(plain.body) || plain.header.Get("Content-Encoding") != "" {
		t.Errorf("gzipped %v, plain %v", zipped.header, plain.header)
	}
	for _, refused := range []string{"gzip;q=0", "identity", "*;q=0, br"} {
		if got := f.ask(http.MethodGet, sheet, "Accept-Encoding", refused); got.header.Get("Content-Encoding") != "" || got.body != plain.body {
			t.Errorf("who takes %q gets %s", refused, got.header.Get("Content-Encoding"))
		}
	}
	f.forget(t, "assets")
	if got := f.ask(http.MethodHead, sheet); got.status != http.StatusOK || got.body != "" {
		t.Errorf("HEAD: status %d, %d bytes", got.status, len(got.body))
	}
	if got := f.ask(http.MethodGet, sheet); got.body != plain.body {
		t.Errorf("after HEAD the answer has %d bytes, want %d", len(got.body), len(plain.body))
	}
	f.forget(t, "assets")
	if got := f.ask(http.MethodGet, sheet, "Range", "bytes=0-9"); (got.status != http.StatusPartialContent || got.body != plain.body[:10]) && (got.status != http.StatusOK || got.body != plain.body) {
		t.Errorf("a part: status %d, %d bytes", got.status, len(got.body))
	}
	if got := f.ask(http.MethodGet, sheet); got.status != http.StatusOK || got.body != plain.body {
		t.Errorf("after a part: status %d, %d bytes, want %d", got.status, len(got.body), len(plain.body))
	}
	f.ask(http.MethodGet, "/pricing")
	tag := f.ask(http.MethodGet, "/pricing").header.Get("ETag")
	if got := f.ask(http.MethodGet, "/pricing", "If-None-Match", tag); got.status != http.StatusNotModified || tag == "" {
		t.Errorf("who has %q gets status %d", tag, got.status)
	}
}

// forget purges the responses under keys.
func (f *front) forget(t *testing.T, keys ...string) {
	t.Helper()
	for _, key := range keys {
		command := strings.Replace(f.purge, "pages", key, 1)
		if out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", command, err, out)
		}
	}
}

// forgets checks that a purge reaches the responses of its key, and no others.
func (f *front) forgets(t *testing.T) {
	t.Helper()
	number := func(path string) string { return f.ask(http.MethodGet, path).serial }
	sheet := regexp.MustCompile(`/static/app\.[^"]*css`).FindString(f.ask(http.MethodGet, "/").body)
	paths := []string{"/pricing", "/v1/billing/prices", "/", "/openapi.json", "/robots.txt", sheet}
	before := map[string]string{}
	for _, path := range paths {
		before[path] = number(path)
	}
	for _, path := range paths {
		if number(path) != before[path] {
			t.Errorf("%s is not kept", path)
		}
	}
	f.forget(t, "prices")
	for _, path := range paths {
		if forgotten := number(path) != before[path]; forgotten != (path != sheet && path != "/robots.txt") {
			t.Errorf("new prices: %s is forgotten: %v", path, forgotten)
		}
	}
	f.forget(t, "assets", "pages")
	if number(sheet) == before[sheet] {
		t.Error("the assets are not forgotten")
	}
	if got := f.ask("PURGE", "/pricing", "Surrogate-Key", `pages" || obj.status == 200`); got.status == http.StatusOK && got.header.Get(serial) == "" {
		t.Errorf("a condition as a key: status %d", got.status)
	}
}

// cannotBePoisoned requests pages first with an attacker's headers, and then as a visitor.
func (f *front) cannotBePoisoned(t *testing.T) {
	t.Helper()
	f.forget(t, "pages")
	straight := &front{t: t, o: f.o, url: "http://127.0.0.1:" + f.o.port, client: f.client}
	for _, path := range []string{"/", "/pricing", "/docs", "/docs/quick-start", "/pdf-templates", "/openapi.json", "/v1/billing/prices", "/sitemap.xml", "/llms.txt"} {
		f.ask(http.MethodGet, path, "Host", "evil.example", "X-Forwarded-Host", "evil.example", "X-Forwarded-Proto", "http", "Forwarded", "host=evil.example",
			"X-Original-Url", "/login", "X-Rewrite-Url", "/login", "X-Http-Method-Override", "POST", "Cookie", f.o.cookie, "X-Request-Id", "evil",
			"Accept-Language", "evil", "Origin", "https://evil.example", "X-Forwarded-For", "6.6.6.6", "If-None-Match", "evil", "User-Agent", "evil")
		got := f.ask(http.MethodGet, path)
		want := straight.ask(http.MethodGet, path)
		if got.body != want.body || got.status != http.StatusOK || strings.Contains(fmt.Sprint(got.header), "evil") {
			t.Errorf("%s is not what the service answers: status %d, %v", path, got.status, got.header)
		}
	}
	// A query that no page reads does not create another cached copy.
	f.ask(http.MethodGet, "/docs?utm_source=evil&x=<script>")
	if a, b := f.ask(http.MethodGet, "/docs?another"), f.ask(http.MethodGet, "/docs"); a.serial != b.serial || strings.Contains(b.body, "evil") {
		t.Error("/docs has a copy for each query")
	}
	// One that it reads is a response to one visitor.
	for _, path := range []string{"/pricing?pdf.create=1000", "/pdf-templates?q=invoice", "/pricing?"} {
		if a, b := f.ask(http.MethodGet, path), f.ask(http.MethodGet, path); a.serial == b.serial || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s is kept: %v", path, a.header)
		}
	}
	if a, b := f.ask(http.MethodGet, "/v1/templates/gallery?category=invoice"), f.ask(http.MethodGet, "/v1/templates/gallery"); a.body == b.body {
		t.Error("the invoices are the whole gallery")
	}
	// A private page whose address looks like an asset's or a public page's.
	for _, path := range []string{
		"/dashboard/x.css", "/dashboard/settings/x.css", "/dashboard/settings;x.css", "/dashboard/settings%2fx.css", "/dashboard/settings%00.css", "/dashboard/settings?x.css",
		"/dashboard/settings%3fx.css", "/static/..%2fdashboard/settings", "/static/../dashboard/settings", "/docs/%2e%2e/dashboard/settings", "/docs/..%2f..%2fdashboard/settings",
		"/docs/..;/dashboard/settings", "//dashboard/settings", "/dashboard/%2e%2e/docs", "/docs%2f..%2fdashboard", "/dashboard/../static/app.css", "/dashboard/settings#/docs",
	} {
		for range 2 {
			f.ask(http.MethodGet, path, "Cookie", f.o.cookie)
		}
		if got := f.ask(http.MethodGet, path); strings.Contains(got.body, "maya@example.com") || strings.Contains(got.body, "Maya Lind") {
			t.Errorf("%s shows nobody the page of a person", path)
		}
	}
	f.keepsNoSecrets(t)
}

// standsAlone takes the service away: cached responses are served although they are old, and others are errors that
// are not cached.
func (f *front) standsAlone(t *testing.T) {
	t.Helper()
	f.forget(t, "pages")
	f.o.short.Store(true)
	paths := []string{"/", "/pricing", "/docs/quick-start", "/v1/billing/prices"}
	for _, path := range paths {
		f.ask(http.MethodGet, path)
	}
	defer f.o.short.Store(false)
	f.o.broken.Store(true)
	defer f.o.broken.Store(false)
	for deadline := time.Now().Add(5 * time.Minute); ; <-time.After(100 * time.Millisecond) {
		before := f.o.served.Load()
		got := f.ask(http.MethodGet, "/pricing")
		if got.status != http.StatusOK {
			t.Fatalf("/pricing while the service is away: status %d", got.status)
		}
		if f.o.served.Load() > before {
			break // it is old, and was asked for in vain
		}
		if time.Now().After(deadline) {
			t.Fatal("no copy became old")
		}
	}
	for _, path := range paths {
		for range 3 {
			if got := f.ask(http.MethodGet, path); got.status != http.StatusOK || len(got.body) < 100 {
				t.Errorf("%s while the service is away: status %d, %d bytes", path, got.status, len(got.body))
			}
		}
	}
	if got := f.ask(http.MethodGet, "/docs"); got.status != http.StatusServiceUnavailable {
		t.Errorf("what was never kept: status %d", got.status)
	}
	f.o.broken.Store(false)
	f.o.short.Store(false)
	if got := f.ask(http.MethodGet, "/docs"); got.status != http.StatusOK {
		t.Errorf("an error was kept: status %d", got.status)
	}
	for deadline := time.Now().Add(5 * time.Minute); strings.Contains(f.ask(http.MethodGet, "/pricing").header.Get("Cache-Control"), "s-maxage=1,"); <-time.After(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the old copy stays after the service is back")
		}
	}
}

// TestCachedPagesAreThePublicOnes holds the table of the edge to the tables of the pages and of the API.
func TestCachedPagesAreThePublicOnes(t *testing.T) {
	h := openHouse(t, &drawer{})
	made := newAPI(newServices(t, service.Config{Lease: acquire(t, h), Store: h.Store, Box: box(t), BaseURL: h.url, Region: "loc"}))
	check := func(method, pattern string, want bool) {
		t.Helper()
		kept, ok := middleware.Keepable(httptest.NewRequestWithContext(t.Context(), method, strings.NewReplacer("{", "", "}", "").Replace(pattern), nil))
		if ok != want {
			t.Errorf("%s %s may be kept: %v by %q, want %v", method, pattern, ok, kept.Pattern, want)
		}
	}
	for _, p := range h.web.Pages() {
		check(p.Method, p.Pattern, p.Need == "everyone" && p.Method == http.MethodGet)
	}
	// They contain the current state, or belong to the owner of the ID.
	private := []string{"/health", "/health/ready", "/v1/files/{id}"}
	for _, p := range made.Routes() {
		check(p.Method, p.Path, p.Access == "public" && p.Method == http.MethodGet && !slices.Contains(private, p.Path))
	}
}
