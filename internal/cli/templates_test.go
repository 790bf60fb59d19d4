package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/proto"

	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// TestFilesOfTemplates syncs a folder to the service and back, without losing changes.
func TestFilesOfTemplates(t *testing.T) {
	b := newBench(t, nil)
	t.Chdir(t.TempDir())
	keep := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ok := func(args ...string) string {
		t.Helper()
		r := b.run("", append([]string{"templates"}, args...)...)
		if r.code != 0 || r.err != "" {
			t.Fatalf("%q: got %+v", args, r)
		}
		return r.out
	}
	refused := func(code int, want string, args ...string) {
		t.Helper()
		if r := b.run("", append([]string{"templates"}, args...)...); r.code != code || !strings.Contains(r.err, want) {
			t.Errorf("%q: got %+v, want exit code %d and %q", args, r, code, want)
		}
	}
	refused(exitUsage, "no template.html in bill; run relaypdf templates pull SLUG to create a template folder", "push", "bill")
	keep("bill/template.html", "<p>{{total}}</p>")
	keep("bill/data.json", "{\n  \"total\": 1,\n  \"b\": x\n}")
	refused(exitUsage, "bill/data.json: line 3: ", "push", "bill")
	keep("bill/data.json", `{"total": 1}`)
	refused(exitUsage, "was neither pulled from "+b.URL, "diff", "bill")
	ok("push", "bill")
	list := decodeJSON[client.TemplateList](t, ok("list", "--json")).Templates
	if len(list) != 1 || list[0].Slug != "bill" || !list[0].HasDraft {
		t.Fatalf("got %+v, want the template", list)
	}
	if out := ok("list"); !strings.Contains(out, "bill  bill  draft  -        yes") {
		t.Errorf("got %q", out)
	}
	if out := ok("diff", "bill"); out != "" {
		t.Errorf("a folder that was pushed differs: %s", out)
	}
	ok("pull", "bill", "other")
	if text, err := os.ReadFile("other/data.json"); err != nil || string(text) != "{\n  \"total\": 1\n}\n" {
		t.Errorf("the data came as %q, %v", text, err)
	}

	if out := ok("diff", "other"); out != "" {
		t.Errorf("a folder that was pulled differs: %s", out)
	}
	keep("other/template.html", "<p>{{total}} dollars</p>")
	if out := ok("diff", "other"); !strings.Contains(out, "\n-<p>{{total}}</p>\n") || !strings.Contains(out, "\n+<p>{{total}} dollars</p>\n") || strings.Contains(out, "data.json") {
		t.Errorf("the difference is %q", out)
	}
	ok("push", "other")
	// The first folder does not know of that.
	keep("bill/template.html", "<p>{{total}} pounds</p>")
	refused(exitChanged, "Somebody has changed bill since it was pulled", "push", "bill")
	refused(exitUsage, "template.html would be overwritten in bill", "pull", "bill")
	ok("push", "bill", "--force")
	refused(exitChanged, "Somebody has changed bill", "push", "other")
	ok("pull", "bill", "other", "--force")
	if text, err := os.ReadFile("other/template.html"); err != nil || string(text) != "<p>{{total}} pounds</p>" {
		t.Errorf("the template came as %q, %v", text, err)
	}
	ok("push", "other")
	refused(exitNotFound, `No template with the slug "nothing". Run relaypdf templates list.`, "pull", "nothing")
	refused(exitUsage, "makes .pdf", "render", "bill", "-o", "x.png")
	refused(exitUsage, "leave --output out", "render", "bill", "--watch", "-o", "x.pdf")
}

// TestParsePartials finds the partials that a template includes, directly and through others.
func TestParsePartials(t *testing.T) {
	stored := map[string]string{"head": "{{> logo}}", "logo": "<b>", "foot": "x", "unused": "y"}
	for source, want := range map[string]string{
		"{{> head}} {{~>foot}}": "foot head logo", "{{#> head}}x{{/head}}": "head logo", "{{> (lookup . 'a')}}": "foot head logo unused",
		"{{>none}}": "", "{{{>\"foot\"}}}": "foot",
	} {
		var names []string
		for _, name := range []string{"foot", "head", "logo", "unused"} {
			if _, ok := usedPartials(source, stored)[name]; ok {
				names = append(names, name)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
}

// TestOutputLive shows the document as it is, to this machine's own pages only.
func TestOutputLive(t *testing.T) {
	page := newLivePage("<bill>", "127.0.0.1:1234")
	ask := func(host, path string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		recorder := httptest.NewRecorder()
		page.ServeHTTP(recorder, r)
		answer := recorder.Result()
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	if code, text := ask("127.0.0.1:1234", "/"); code != 200 || !strings.Contains(text, "<title>&lt;bill&gt;</title>") {
		t.Errorf("got %d %s", code, text)
	}
	if code, _ := ask("127.0.0.1:1234", "/document.pdf"); code != 404 {
		t.Errorf("got %d before there is a document", code)
	}
	page.put([]byte("%PDF-1"))
	if code, text := ask("localhost:1234", "/document.pdf"); code != 200 || text != "%PDF-1" {
		t.Errorf("got %d %q", code, text)
	}
	if code, _ := ask("evil.example:1234", "/document.pdf"); code != 403 {
		t.Errorf("another site got %d", code)
	}
	waited := make(chan string)
	go func() {
		_, text := ask("127.0.0.1:1234", "/wait?version=1")
		waited <- text
	}()
	page.fail("line 3")
	if text := <-waited; text != `{"there":true,"version":2,"wrong":"line 3"}`+"\n" {
		t.Errorf("who waited got %q", text)
	}
}

// TestLivePageInABrowser follows a document: an error is shown above the last successful version, also on pages
// that are opened later.
func TestLivePageInABrowser(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	server := httptest.NewUnstartedServer(nil)
	live := newLivePage("bill", server.Listener.Addr().String())
	server.Config.Handler = live
	server.Start()
	t.Cleanup(server.Close)
	browser, err := sharedtest.Browser(t)
	if err != nil {
		t.Fatal(err)
	}
	open := func() *rod.Page {
		t.Helper()
		page, err := browser.Timeout(testTimeout).Page(proto.TargetCreateTarget{URL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		return page.CancelTimeout()
	}
	sees := func(page *rod.Page, wrong, document string) {
		t.Helper()
		shows := rod.Eval(`(wrong, there) => {
			const frame = document.querySelector("iframe"), idle = document.getElementById("idle"), told = document.getElementById("wrong")
			return told && idle && told.textContent === wrong && (frame ? new URL(frame.src).search : "") === there && idle.hidden === (there !== "")
		}`, wrong, document)
		if err := page.Timeout(testTimeout).Wait(shows); err != nil {
			t.Fatalf("%v: it does not show %q above %q", err, wrong, document)
		}
	}
	first := open()
	sees(first, "", "")
	live.put([]byte("%PDF-1"))
	sees(first, "", "?1")
	live.fail("line 3")
	sees(first, "line 3", "?1")
	second := open()
	sees(second, "line 3", "?2")
	live.put([]byte("%PDF-2"))
	sees(first, "", "?3")
	sees(second, "", "?3")
}
