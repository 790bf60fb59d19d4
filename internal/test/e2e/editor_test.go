package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-rod/rod/lib/input"
	"github.com/go-rod/rod/lib/proto"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
)

// holds waits until an expression of JavaScript is true on the page.
func (s *screen) holds(what, expression string, args ...any) {
	s.t.Helper()
	for deadline := time.Now().Add(pagePatience); ; <-time.After(100 * time.Millisecond) {
		found, err := s.page.Eval("async (...args) => Boolean(await ("+expression+"))", args...)
		if err == nil && found.Value.Bool() {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("never: %s (%v); the page says %.1500s", what, err, s.text())
		}
	}
}

// edits waits for the editor of the page, whose preview has come.
func (s *screen) edits() {
	s.t.Helper()
	s.holds("the editor is ready", `"editorReady" in document.documentElement.dataset`)
	s.holds("the pages are there", `document.querySelector("[data-stage]:not([aria-busy]) .paper img")`)
}

// click clicks an element that is not a form's button.
func (s *screen) click(selector, words string) {
	s.t.Helper()
	button, err := s.page.Timeout(pagePatience).ElementR(selector, words)
	if err == nil {
		err = button.Click(proto.InputMouseButtonLeft, 1)
	}
	if err != nil {
		s.t.Fatalf("no %s %q to press: %v; the page says %.800s", selector, words, err, s.text())
	}
}

// firstPage returns the image of the first page.
func (s *screen) firstPage() string {
	s.t.Helper()
	found, err := s.page.Eval(`() => document.querySelector("[data-stage] .paper img")?.src ?? ""`)
	if err != nil {
		s.t.Fatal(err)
	}
	return found.Value.Str()
}

// TestTemplateFromTheGalleryToTheAPI takes a layout of the gallery, changes it, makes a mistake and fixes it,
// publishes it, and gets a PDF from the API with the change. A second tab sees the text saved in the first.
func TestTemplateFromTheGalleryToTheAPI(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPages(t), openBrowser(t)
	maya := openScreen(t, browser, app)
	maya.join("maya@example.com")
	maya.width(1440)
	maya.open("/dashboard/templates")
	maya.sees("No templates yet")
	maya.open("/dashboard/templates/gallery?q=atelier")
	maya.press("Use this template")
	maya.edits()
	before := maya.firstPage()
	maya.write(`<h1>Bill for {{customer.name}}</h1><p>{{customer.adress}}</p>`)
	maya.holds("the preview changes", `document.querySelector("[data-stage] .paper img").src !== args[0]`, before)
	maya.sees("customer.adress is not in the data.")
	maya.holds("the path is underlined", `document.querySelector(".cm-lintRange-warning")`)
	maya.sees("Saved")

	good := maya.firstPage()
	maya.write(`<h1>Bill for {{#if customer}}</h1>`)
	maya.holds("the mistake is told", `document.querySelector("[data-problems] [data-is=bad]")`)
	maya.holds("the mistake is marked", `document.querySelector(".cm-lintRange-error, .cm-lintPoint-error")`)
	if maya.firstPage() != good {
		t.Error("a mistake takes the last good preview away")
	}
	maya.write(`<h1>A bill that was mended for {{customer.name}}</h1>`)
	maya.holds("the mended preview comes", `document.querySelector("[data-stage] .paper img").src !== args[0]`, good)
	maya.holds("nothing is wrong any more", `!document.querySelector("[data-problems] li")`)
	maya.pictures("editor")

	account, err := app.Store.AccountByEmail(t.Context(), "maya@example.com")
	if err != nil {
		t.Fatal(err)
	}
	list, err := app.Store.Templates(t.Context(), store.TemplateFilter{AccountID: account.ID})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("got %+v, %v", list, err)
	}
	template := list.Items[0]
	if calls, err := app.Store.Calls(t.Context(), store.CallFilter{AccountID: account.ID}); err != nil || len(calls.Items) > 0 {
		t.Errorf("previews are calls: %+v, %v", calls, err)
	}
	maya.sees("Saved")
	maya.click("[data-publish]", "Publish")
	maya.sees("as version 1")
	maya.press("Publish version 1")
	maya.sees("Version 1 published")

	// By the API, as its owner would.
	_, secret, err := app.Store.CreateKey(t.Context(), store.NewKey{AccountID: account.ID, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if text := textOfPDF(t, app, secret, map[string]any{"templateId": template.Slug, "templateData": map[string]any{"customer": map[string]any{"name": "Ada"}}}); !strings.Contains(text, "A bill that was mended for Ada") {
		t.Errorf("the PDF says %q", text)
	}

	maya.edits()
	twoTabs(t, app, maya, openScreen(t, browser, app), template)
}

// twoTabs edits one template in two tabs, and resolves the conflict.
func twoTabs(t *testing.T, app *app.App, maya, second *screen, template store.Template) {
	t.Helper()
	second.width(1440)
	second.signIn("maya@example.com")
	second.open("/dashboard/templates/" + template.ID)
	second.edits()
	second.write("<p>from the second tab</p>")
	second.sees("Saved")
	second.holds("the second tab is saved", `!document.querySelector("[data-saved]").textContent.includes("Not saved")`)
	maya.write("<p>from the first tab</p>")
	maya.sees("Changed in another tab")
	maya.holds("both are shown", `document.querySelector("#conflict del")?.textContent.includes("second") && document.querySelector("#conflict ins")?.textContent.includes("first")`)
	maya.click("[data-conflict]", "Keep my version")
	for deadline := time.Now().Add(pagePatience); ; <-time.After(100 * time.Millisecond) {
		stored, err := app.Store.Template(t.Context(), template.AccountID, template.ID)
		if err == nil && stored.Content.HTML == "<p>from the first tab</p>" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the first tab's text is not kept: %+v, %v", stored.Content, err)
		}
	}
	// More digits than a number of JavaScript holds are taken as they are.
	const long = "12345678901234567890.10"
	digits := json.RawMessage(`{"n": ` + long + `}`)
	if _, err := app.Store.UpdateTemplate(t.Context(), template.AccountID, template.ID, 0, store.TemplateChange{SampleData: digits}); err != nil {
		t.Fatal(err)
	}
	second.write("<p>too late</p>")
	second.sees("Changed in another tab")
	second.click("[data-conflict]", "Use stored version")
	second.holds("theirs is taken", `document.querySelector(".cm-content[aria-label=HTML]").textContent.includes("from the first tab")`)
	second.holds("its numbers are whole", `document.querySelector('.cm-content[aria-label="Sample data, JSON"]').textContent.includes(args[0])`, `"n": `+long)
	maya.calm("the first tab")
	second.calm("the second tab")
	maya.open("/dashboard/templates")
	maya.holds("the thumbnail is drawn", `document.querySelector(".card img").naturalWidth > 100`)
	maya.pictures("templates")
	maya.open("/dashboard/templates/gallery")
	maya.pictures("layouts")
}

// It takes screenshots of the page in both themes, wide and narrow.
func (s *screen) pictures(name string) {
	s.t.Helper()
	for _, theme := range []string{"light", "dark"} {
		if _, err := s.page.Eval(`theme => { document.documentElement.dataset.theme = theme }`, theme); err != nil {
			s.t.Fatal(err)
		}
		for _, pixels := range []int{768, 1440} {
			s.width(pixels)
			s.picture(fmt.Sprintf("%s-%s-%d", name, theme, pixels))
		}
	}
}

// textOfPDF makes a PDF by the API and returns its text.
func textOfPDF(t *testing.T, app *app.App, secret string, in map[string]any) string {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, app.BaseURL()+"/v1/pdf", bytes.NewReader(body))
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
	file, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v: %.300s", answer.StatusCode, err, file)
	}
	run := exec.CommandContext(t.Context(), "pdftotext", "-", "-")
	run.Stdin = bytes.NewReader(file)
	text, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

// write replaces the text in the editor's field of the HTML.
func (s *screen) write(text string) {
	s.t.Helper()
	s.writeInto("HTML", text)
}

// writeInto replaces the text in one of the editor's fields, like a user who selects all and pastes.
func (s *screen) writeInto(label, text string) {
	s.t.Helper()
	content, err := s.page.Timeout(pagePatience).Element(`.cm-content[aria-label="` + label + `"]`)
	if err == nil {
		err = content.Focus()
	}
	if err == nil {
		// Typing over a selection makes the browser copy the selection's style, which violates the page's policy and
		// logs an error.
		err = s.page.KeyActions().Press(input.ControlLeft).Type(input.KeyA).Release(input.ControlLeft).Type(input.Backspace).Do()
	}
	if err == nil {
		err = s.page.InsertText(text)
	}
	if err != nil {
		s.t.Fatalf("write into %s: %v", label, err)
	}
}
