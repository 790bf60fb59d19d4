package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/proto"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// hostSite is a site of another party: each of its names is an origin. Its pages frame the given URLs, and record the
// messages that they receive.
func hostSite(t *testing.T) (origin func(name string) string) {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/favicon.ico" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><title>Host</title><body style="margin: 0"><h1 style="font: 1rem sans-serif">The host's page %s</h1>
<script>
	addEventListener("message", ({ origin, data }) => {
		sessionStorage.said = JSON.stringify([...JSON.parse(sessionStorage.said ?? "[]"), { origin, ...data }]);
	});
</script>`, html.EscapeString(r.URL.Path))
		if frame := r.URL.Query().Get("frame"); frame != "" {
			_, _ = fmt.Fprintf(w, `<iframe title="Editor" style="border: 0; width: 100%%; height: 860px" src="%s"></iframe>`, html.EscapeString(frame))
		}
	}))
	t.Cleanup(site.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(site.URL, "http://"), ":")
	return func(name string) string { return "http://" + name + ".localhost:" + port }
}

// hosts is the address of a page of an origin with a frame.
func hosts(origin, frame string) string { return origin + "/letters?frame=" + url.QueryEscape(frame) }

// editorLink asks for a link to the editor by the API.
func editorLink(t *testing.T, app *app.App, secret, template string, in map[string]any) string {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, app.BaseURL()+"/v1/templates/"+template+"/sessions", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	r.Header.Set("Content-Type", "application/json")
	answer, err := (&http.Client{Timeout: pagePatience}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var made wire.TemplateSession
	if err := json.NewDecoder(answer.Body).Decode(&made); err != nil || answer.StatusCode != http.StatusCreated {
		t.Fatalf("status %d, %+v, %v", answer.StatusCode, made, err)
	}
	return made.URL
}

// inside is the page in the frame of the screen's.
func (s *screen) inside() *screen {
	s.t.Helper()
	frame, err := s.page.Element("iframe")
	if err != nil {
		s.t.Fatal(err)
	}
	page, err := frame.Frame()
	if err != nil {
		s.t.Fatal(err)
	}
	return &screen{t: s.t, app: s.app, page: page}
}

// touches clicks an element as a user does, wherever its frame lies.
func (s *screen) touches(selector string) {
	s.t.Helper()
	s.holds(selector+" is there", `document.querySelector(args[0])?.offsetParent`, selector)
	if _, err := s.page.Evaluate(rod.Eval(`selector => document.querySelector(selector).click()`, selector).ByUser()); err != nil {
		s.t.Fatalf("touch %s: %v", selector, err)
	}
}

// isTold waits until the page has received a message from the service.
func (s *screen) isTold(kind string, template store.Template) {
	s.t.Helper()
	s.holds(kind+" is told", `JSON.parse(sessionStorage.said ?? "[]").some(({ source, type, origin, templateId }) => source === "relaypdf" && type === args[0] && origin === args[1] && templateId === args[2])`, kind, s.app.BaseURL(), template.ID)
}

// complains waits for words on the browser's console, and removes them.
func (s *screen) complains(words string) {
	s.t.Helper()
	for deadline := time.Now().Add(pagePatience); ; <-time.After(100 * time.Millisecond) {
		s.mu.Lock()
		found := slices.ContainsFunc(s.wrongs, func(wrong string) bool { return strings.Contains(wrong, words) })
		if found {
			s.wrongs = nil
		}
		s.mu.Unlock()
		if found {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the browser never says %q; the page says %.300s", words, s.text())
		}
	}
}

// TestEditorInAFrameOfAnotherSite edits and publishes a template in a page of
// another site, whose frames have no cookies, and leaves it. Neither a third site
// nor a tab of its own shows the editor, and it closes with its key.
func TestEditorInAFrameOfAnotherSite(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app := startPages(t)
	account, err := app.Store.CreateAccount(t.Context(), "host@example.com", 5*credit.Dollar)
	if err != nil {
		t.Fatal(err)
	}
	key, secret, err := app.Store.CreateKey(t.Context(), store.NewKey{AccountID: account.ID, Name: "links"})
	if err != nil {
		t.Fatal(err)
	}
	template, err := app.Store.CreateTemplate(t.Context(), store.NewTemplate{
		AccountID: account.ID, Slug: "letter", Name: "Letter to members",
		Content: store.TemplateContent{HTML: "<h1>Dear {{name}}</h1>", SampleData: json.RawMessage(`{"name":"Ada"}`), Options: json.RawMessage(`{"format":"A6"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	origin := hostSite(t)
	mine, third := origin("app"), origin("third")
	link := editorLink(t, app, secret, "letter", map[string]any{"capabilities": []string{"edit", "data", "preview", "publish"}, "origin": mine, "returnUrl": mine + "/back"})

	// Frames of other sites stay in one process, where the test reaches into them.
	browser := openBrowser(t, "--disable-features=IsolateOrigins,site-per-process", "--disable-site-isolation-trials", "--test-third-party-cookie-phaseout")
	host := openScreen(t, browser, app)
	host.leadsTo(strings.TrimPrefix(mine, "http://"))
	host.width(1440)
	host.open(hosts(mine, link))
	editor := host.inside()
	editor.edits()
	before := editor.firstPage()
	editor.write("<h1>Dear {{name}}, from a frame</h1>")
	editor.holds("the preview changes", `document.querySelector("[data-stage] .paper img").src !== args[0]`, before)
	host.isTold("saved", template)
	editor.holds("it is saved", `/^Saved/.test(document.querySelector("[data-saved]").textContent)`)
	if stored, err := app.Store.Template(t.Context(), account.ID, template.ID); err != nil || stored.Content.HTML != "<h1>Dear {{name}}, from a frame</h1>" {
		t.Errorf("stored %q, %v", stored.Content.HTML, err)
	}
	editor.touches("[data-frames]")
	editor.holds("the HTML is shown in a frame of the frame", `document.querySelector(".instant:not([hidden]) iframe[sandbox='']")`)
	editor.touches("[data-frames]")
	editor.edits()
	for _, theme := range []string{"dark", "light"} {
		if _, err := editor.page.Eval(`theme => { document.documentElement.dataset.theme = theme }`, theme); err != nil {
			t.Fatal(err)
		}
		host.picture("embedded-" + theme)
		editor.obeys("the editor in a frame, "+theme, axeSource(t), allRules)
	}
	editor.touches("[data-publish]")
	editor.touches("#publish button[type=submit]")
	host.isTold("published", template)
	editor.sees("Version 1 published")
	if text := textOfPDF(t, app, secret, map[string]any{"templateId": "letter", "templateData": map[string]any{"name": "Bob"}}); text != "Dear Bob, from a frame" {
		t.Errorf("the PDF says %q", text)
	}
	host.calm("the editor in a frame")
	editor.touches("[data-done]")
	host.sees("The host's page /back")
	if cookies, err := (proto.NetworkGetAllCookies{}).Call(host.page); err != nil || len(cookies.Cookies) > 0 {
		t.Errorf("the browser has cookies: %+v, %v", cookies, err)
	}
	host.calm("the way back")

	if _, err := host.page.Eval(`() => sessionStorage.clear()`); err != nil {
		t.Fatal(err)
	}
	// A user who may change the data sees the HTML, and cannot change it.
	host.open(hosts(mine, editorLink(t, app, secret, "letter", map[string]any{"capabilities": []string{"data"}, "origin": mine})))
	editor = host.inside()
	editor.holds("the editor is ready", `"editorReady" in document.documentElement.dataset`)
	if content, err := editor.page.Element(`.cm-content[aria-label="HTML"]`); err != nil {
		t.Fatal(err)
	} else if err := errors.Join(content.Focus(), editor.page.InsertText("not mine")); err != nil {
		t.Fatal(err)
	}
	editor.writeInto("Sample data, JSON", `{"name":"Eve"}`)
	host.isTold("saved", template)
	editor.holds("it is saved", `/^Saved/.test(document.querySelector("[data-saved]").textContent)`)
	editor.holds("the HTML stays", `document.querySelector(".cm-content[aria-label=HTML]").textContent.endsWith("from a frame</h1>") && !document.querySelector("[data-publish], [data-stage] img")`)
	if stored, err := app.Store.Template(t.Context(), account.ID, template.ID); err != nil || stored.Content.HTML != "<h1>Dear {{name}}, from a frame</h1>" || string(stored.Content.SampleData) != `{"name":"Eve"}` {
		t.Errorf("stored %q %s, %v", stored.Content.HTML, stored.Content.SampleData, err)
	}
	host.picture("embedded-data-only")
	editor.touches("[data-done]")
	host.isTold("closed", template)
	host.sees("The host's page /letters")
	host.calm("the editor of the data")

	// A third site, and one that frames the right one.
	for _, address := range []string{hosts(third, link), hosts(third, hosts(mine, link))} {
		other := openScreen(t, browser, app)
		other.leadsTo(strings.TrimPrefix(third, "http://"))
		other.open(address)
		other.complains("frame-ancestors")
	}
	alone := openScreen(t, browser, app)
	alone.open(link)
	alone.sees("opens inside another page")

	if err := app.Store.RevokeKey(t.Context(), account.ID, key.ID); err != nil {
		t.Fatal(err)
	}
	host.open(hosts(mine, link))
	closed := host.inside()
	closed.sees("This editor session has ended")
}
