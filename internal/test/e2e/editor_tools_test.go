package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
)

// placedHTML has boxes of 30 mm on paper of 148: four on the first page, one on the
// second.
const placedHTML = `<style>div { height: 30mm; break-inside: avoid } body { margin: 0 }</style>
<div>one</div>
<div>two</div>
{{#each items}}
<div>{{this}}</div>
{{/each}}
`

// editorOf makes a user's template of a source, and opens it in the editor.
func editorOf(t *testing.T, app *app.App, s *screen, source string) (store.Template, string) {
	t.Helper()
	account, err := app.Store.AccountByEmail(t.Context(), "maya@example.com")
	if err != nil {
		t.Fatal(err)
	}
	template, err := app.Store.CreateTemplate(t.Context(), store.NewTemplate{
		AccountID: account.ID, Slug: "boxes", Name: "Boxes",
		Content: store.TemplateContent{HTML: source, SampleData: json.RawMessage(`{"items":["three","four","five"]}`), Options: json.RawMessage(`{"format":"A6"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := "/dashboard/templates/" + template.ID
	s.open(path)
	s.edits()
	return template, path
}

// clickPage presses a place on a page of the preview, whose sides are 1.
func (s *screen) clickPage(page int, x, y float64) {
	s.t.Helper()
	_, err := s.page.Eval(`(page, x, y) => {
		const picture = document.querySelectorAll("[data-stage] .paper img")[page - 1], box = picture.getBoundingClientRect();
		picture.dispatchEvent(new MouseEvent("click", { bubbles: true, clientX: box.left + box.width * x, clientY: box.top + box.height * y }));
	}`, page, x, y)
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestEditorFindsPlaces goes from places on pages to their lines and back, shows the HTML without pages in a frame
// without permissions, formats, and shows the members that only some items of a list have.
func TestEditorFindsPlaces(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, maya := startWide(t)
	_, path := editorOf(t, app, maya, placedHTML)
	const active = `document.querySelector(".cm-content[aria-label=HTML] .cm-activeLine")?.textContent === args[0]`
	maya.clickPage(1, .4, .3)
	maya.holds("the line of the second box", active, "<div>two</div>")
	maya.clickPage(2, .4, .1)
	maya.holds("the line of the last box", active, "<div>{{this}}</div>")
	maya.click("[data-find]", "Show on page")
	maya.holds("the first box of the line is shown", `Math.abs(parseFloat(document.querySelector(".spot")?.style.top) - 100 * 60 / 148) < 1.5`)
	maya.pictures("place")
	maya.width(1440)
	before := maya.firstPage()
	maya.click("[data-side=options]", "Options")
	maya.writeInto("Options, JSON", `{"format":"A6","margin":{"top":"20mm","left":"25mm"}}`)
	maya.holds("the pages have margins", `document.querySelector("[data-stage]:not([aria-busy]) .paper img").src !== args[0]`, before)
	maya.click("[data-find]", "Show on page")
	maya.holds("margins are counted", `Math.abs(parseFloat(document.querySelector(".spot")?.style.top) - 100 * (20 + 60) / 148) < 1.5`)
	maya.clickPage(1, .2, .25)
	maya.holds("the margin belongs to no line", `/^No line/.test(document.querySelector("[data-timing]")?.textContent ?? "")`)
	maya.clickPage(1, .4, .4)
	maya.holds("the line of the second box within margins", active, "<div>two</div>")
	maya.writeInto("Options, JSON", `{"format":"A6"}`)
	maya.click("[data-side=data]", "Data")

	maya.click("[data-frames]", "HTML")
	maya.holds("the HTML is shown", `document.querySelector(".instant:not([hidden]) iframe[sandbox='']") && !document.querySelector("[data-stage] .paper img")`)
	maya.pictures("frame")
	maya.width(1440)
	maya.click("[data-frames]", "HTML")
	maya.holds("the pages are back", `document.querySelectorAll("[data-stage] .paper img").length === 2`)
	filled, err := maya.page.Eval(`async path => {
		const body = new FormData();
		for (const [name, value] of Object.entries({ html: "<link rel=preconnect href=https://x.example><p>{{a}}</p><script>alert(1)</scr" + "ipt>", sampleData: '{"a":"b"}', options: "{}" })) body.set(name, value);
		const answer = await fetch(path + "/filled", { method: "POST", body });
		body.set("html", "{{#if");
		const broken = await fetch(path + "/filled", { method: "POST", body });
		return { text: await answer.text(), policy: answer.headers.get("Content-Security-Policy"), frame: answer.headers.get("X-Frame-Options"), broken: broken.status };
	}`, path)
	if err != nil {
		t.Fatal(err)
	}
	if got := filled.Value; got.Get("text").Str() != "<p>b</p>" || got.Get("frame").Str() != "SAMEORIGIN" || got.Get("broken").Int() != 204 ||
		!strings.HasPrefix(got.Get("policy").Str(), "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:;") {
		t.Errorf("the frame is given %s", got.JSON("", ""))
	}

	maya.click("[data-formats]", "Format")
	maya.inEditor("HTML", "{{#each items}}  <div>{{this}}</div>{{/each}}")

	maya.write(`{{#each items}}<p>{{name}} {{note}}</p>{{/each}}`)
	maya.writeInto("Sample data, JSON", `{"items":[{"name":"Lantern","note":"blue"},{"name":"Wick"}]}`)
	maya.holds("what some items lack is told", `document.querySelector("[data-problems]").textContent.startsWith("Warningitems[].note is not in all of the data.Line 1")`)
	maya.write(strings.Repeat("<p>a line</p>\n", 80) + "{{one}} {{two}} {{three}} {{four}}")
	maya.holds("the list of what is missing leaves the line that is written in sight", `(() => {
		const line = document.querySelector(".cm-content[aria-label=HTML] .cm-activeLine")?.getBoundingClientRect();
		const list = document.querySelector("[data-problems]").getBoundingClientRect();
		return document.querySelectorAll("[data-problems] li").length === 4 && line && line.bottom <= list.top + 1 && line.height > 0;
	})()`)
	maya.calm("the editor")
}

// TestEditorKeepsTypedText: a session that ends while a user writes loses nothing; the options have a form next to
// their JSON; the PDF is a paid call; and a phone can read.
func TestEditorKeepsTypedText(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, maya := startWide(t)
	template, path := editorOf(t, app, maya, placedHTML)

	maya.click("[data-side=options]", "Options")
	if _, err := maya.page.Eval(`() => {
		const paper = document.querySelector('[data-option="format"]');
		paper.value = "A5";
		paper.dispatchEvent(new Event("input"));
	}`); err != nil {
		t.Fatal(err)
	}
	maya.inEditor("Options, JSON", `"format": "A5"`)
	maya.pictures("options")
	maya.width(1440)
	maya.writeInto("Options, JSON", `{"format":"A3","landscape":true}`)
	maya.holds("the form follows", `document.querySelector('[data-option="format"]').value === "A3" && document.querySelector('[data-option="landscape"]').checked`)
	maya.sees("A3 landscape")
	maya.holds("it is saved", `/^Saved/.test(document.querySelector("[data-saved]").textContent)`)

	maya.click("[data-pdf] button", "PDF")
	paid := func() bool {
		calls, err := app.Store.Calls(t.Context(), store.CallFilter{AccountID: template.AccountID})
		return err == nil && len(calls.Items) == 1 && calls.Items[0].Operation == "templates.preview" && calls.Items[0].Status == store.CallDone && calls.Items[0].Charge > 0
	}
	for deadline := time.Now().Add(pagePatience); !paid(); <-time.After(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the PDF of the draft is no paid call")
		}
	}

	person, err := app.Store.UserByEmail(t.Context(), "maya@example.com")
	if err == nil {
		err = app.Store.EndOtherSessions(t.Context(), person.ID, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	maya.write("<p>typed when the session had ended</p>")
	maya.sees("You are logged out. Your changes are stored in this browser")
	maya.pictures("signed-out")
	maya.signIn("maya@example.com")
	maya.width(1440)
	maya.open(path)
	maya.edits()
	maya.inEditor("HTML", "typed when the session had ended")
	maya.holds("it is saved", `/^Saved/.test(document.querySelector("[data-saved]").textContent)`)
	if stored, err := app.Store.Template(t.Context(), template.AccountID, template.ID); err != nil || stored.Content.HTML != "<p>typed when the session had ended</p>" {
		t.Errorf("stored %q, %v", stored.Content.HTML, err)
	}

	maya.width(360)
	maya.open(path)
	maya.holds("the page is drawn", `document.querySelector("[data-stage] img")?.naturalWidth > 100`)
	maya.holds("nothing can be typed", `[...document.querySelectorAll("main textarea")].every((field) => field.readOnly) && !("editorReady" in document.documentElement.dataset)`)
	maya.picture("editor-phone")
	maya.calm("the editor")
}
