package e2e

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/input"
	"github.com/go-rod/rod/lib/proto"

	"github.com/relaypdf/relaypdf/internal/test/fakes3"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
)

// holdsPages delays the previews of a page until the returned function is called.
func (s *screen) holdsPages() (release func()) {
	s.t.Helper()
	goes := make(chan struct{})
	router := s.page.HijackRequests()
	if err := router.Add("*/pages?scale=*", proto.NetworkResourceTypeFetch, func(h *rod.Hijack) {
		select {
		case <-goes:
			h.ContinueRequest(&proto.FetchContinueRequest{})
		case <-s.t.Context().Done():
		}
	}); err != nil {
		s.t.Fatal(err)
	}
	go router.Run()
	return func() {
		s.t.Helper()
		close(goes)
		s.holds("the pages are rendered", `document.querySelector("[data-stage]:not([aria-busy])") && document.querySelector("[data-printing]").hidden`)
		if err := router.Stop(); err != nil {
			s.t.Fatal(err)
		}
	}
}

// TestEditorOpensOnItsLastPages opens a template before its first preview, and again: an empty sheet or the pages of
// the last preview are there with a mark of progress, and never HTML without pages.
func TestEditorOpensOnItsLastPages(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, maya := startWide(t)
	account, err := app.Store.AccountByEmail(t.Context(), "maya@example.com")
	if err != nil {
		t.Fatal(err)
	}
	template, err := app.Store.CreateTemplate(t.Context(), store.NewTemplate{
		AccountID: account.ID, Slug: "boxes", Name: "Boxes",
		Content: store.TemplateContent{HTML: placedHTML, SampleData: json.RawMessage(`{"items":["three","four","five"]}`), Options: json.RawMessage(`{"format":"A6","landscape":true}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := "/dashboard/templates/" + template.ID
	const ready = `"editorReady" in document.documentElement.dataset && !document.querySelector("[data-printing]").hidden && !document.querySelector(".instant")`

	release := maya.holdsPages()
	maya.open(path)
	maya.holds("an empty sheet of that paper waits", ready+` && (box => box.width > 150 && Math.abs(box.width / box.height - 148 / 105) < .02)(document.querySelector("[data-blank] .waiting").getBoundingClientRect())`)
	maya.pictures("editor-first")
	maya.width(1440)
	release()
	maya.holds("the pages have come", `document.querySelector("[data-stage] img[alt='Page 1 of the draft']") && !document.querySelector("[data-blank]")`)

	// What was typed and saved is what the next visit begins with.
	before := maya.firstPage()
	maya.write("<style>@page { margin: 20mm 15mm } div { height: 30mm }</style><div>typed</div>")
	maya.holds("the preview changes", `document.querySelector("[data-stage] .paper img").src !== args[0]`, before)
	typed := maya.firstPage()
	maya.holds("it is saved", `/^Saved/.test(document.querySelector("[data-saved]").textContent)`)
	release = maya.holdsPages()
	maya.open(path)
	maya.holds("the last pages are there", ready+` && document.querySelector("[data-stage] img[alt='Page 1 of the last preview']")?.naturalWidth > 100`)
	same, err := maya.page.Eval(`async (typed) => {
		const bytes = new Uint8Array(await (await fetch(document.querySelector("[data-stage] .paper img").src)).arrayBuffer());
		return "data:image/png;base64," + bytes.toBase64() === typed;
	}`, typed)
	if err != nil || !same.Value.Bool() {
		t.Errorf("the editor opens on other pages than it was closed with: %v", err)
	}
	maya.sees("Rendering…")
	maya.pictures("editor-opening")
	maya.width(1440)
	width := `document.querySelector("[data-stage] .paper img").getBoundingClientRect().width`
	wide, err := maya.page.Eval("() => " + width)
	if err != nil {
		t.Fatal(err)
	}
	release()
	maya.holds("the new pages have the same size", `document.querySelector("[data-stage] img[alt='Page 1 of the draft']") && Math.abs(`+width+` - args[0]) < 2`, wide.Value.Num())

	// A draft with an error has no pages of its own.
	maya.write("<p>{{cust</p>")
	maya.holds("it is saved", `/^Saved/.test(document.querySelector("[data-saved]").textContent)`)
	maya.open(path)
	maya.holds("the error is shown with a sheet", `document.querySelector("[data-problems]").textContent.includes("{{cust is not closed") && document.querySelector("[data-printing]").hidden &&
		document.querySelector("[data-blank] .paper:empty, [data-stage] .paper img")`)
	maya.calm("the editor")
}

// TestEditorShowsErrorsWhileTyping: an expression that is not closed is named at its line, in the list and in the gutter,
// and the variables stay as they were without it.
func TestEditorShowsErrorsWhileTyping(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, maya := startWide(t)
	editorOf(t, app, maya, "<p>{{customer.name}} {{#each items}}{{this}}{{/each}}</p>")
	maya.click("[data-side=paths]", "Variables")
	const variables = `[...document.querySelectorAll("[data-pane=paths] code")].map(one => one.textContent).join(" ") === args[0]`
	maya.holds("the variables are listed", variables, "customer.name items")
	maya.write("<p>{{customer.name}}</p>\n<p>{{cust</p>")
	maya.holds("the expression is named", `document.querySelector("[data-problems] li").textContent.startsWith("Error{{cust is not closed: }} is missing") &&
		document.querySelector("[data-problems] a").textContent === "Line 2"`)
	maya.holds("the variables stay", variables+` && document.querySelector("[data-pane=paths] p.muted").textContent === "Not updated since the error in line 2."`, "customer.name items")
	for _, theme := range []string{"light", "dark"} {
		maya.holds("the gutter has our mark in "+theme, `(() => {
			document.documentElement.dataset.theme = args[0];
			const probe = document.body.appendChild(document.createElement("i"));
			probe.style.color = "var(--bad)";
			const want = getComputedStyle(probe).color;
			probe.remove();
			const mark = document.querySelector(".cm-gutter-lint .cm-lint-marker-error"), look = mark && getComputedStyle(mark);
			return look && look.backgroundColor === want && look.content === "normal" && look.clipPath.startsWith("polygon") && mark.getBoundingClientRect().width === 9;
		})()`, theme)
	}
	maya.keys(input.Escape) // the completion closes
	maya.pictures("editor-error")
	maya.width(1440)
	maya.obeys("the editor with an error", axeSource(t), allRules)
	maya.write("<p>{{customer.name}}</p>\n<p>{{custom}}</p>")
	maya.holds("the new variables are listed", variables+` && !document.querySelector("[data-pane=paths] p")`, "customer.name custom")
	maya.holds("warnings have a mark", `getComputedStyle(document.querySelector(".cm-lint-marker-warning")).clipPath.startsWith("polygon")`)
	maya.calm("the editor")
}

// TestEditorShowsMarginsInForce compares the footer of the editor with the place of a box on the page.
func TestEditorShowsMarginsInForce(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, maya := startWide(t)
	editorOf(t, app, maya, placedHTML)
	const box = "<div style='height: 10mm; background: #000'></div>"
	for _, test := range []struct {
		options, style, want string
		x, y                 float64 // of the first element, in mm
		width, height        float64 // of the paper
	}{
		{`{"format":"A4"}`, "", "A4 · no margins", 0, 0, 210, 297},
		{`{"format":"A4","margin":{"top":"20mm","bottom":"20mm","left":"15mm","right":"15mm"}}`, "", "A4 · 20 mm 15 mm", 15, 20, 210, 297},
		{`{"format":"A4","margin":{"top":"1in"}}`, "@page { margin: 20mm 15mm }", "A4 · 20 mm 15 mm (from @page)", 15, 20, 210, 297},
		{`{"format":"A5","landscape":true,"margin":{"left":"1cm"}}`, "/* { */ @media print { @page { margin-top: 12mm } } @media screen { @page { margin: 9mm } }", "A5 landscape · 12 mm 0 0 1 cm (partly from @page)", 10, 12, 210, 148},
		{`{"format":"A4"}`, "@page { size: A5 landscape; margin: 1cm }", "A5 landscape placed on A4 · 1 cm (from @page)", 43.5 + 10, 31 + 10, 297, 210},
		{`{"format":"A4","preferCSSPageSize":true}`, "@page { size: A5 landscape; margin: 1cm } @page :first { color: red }", "A5 landscape · 1 cm (from @page)", 10, 10, 210, 148},
		{`{"preferCSSPageSize":true}`, "@page { size: 80mm 60mm }", "80 mm × 60 mm · no margins (size from @page)", 0, 0, 80, 60},
	} {
		maya.click("[data-side=options]", "Options")
		maya.writeInto("Options, JSON", test.options)
		maya.writeInto("HTML", "<style>body { margin: 0 } "+test.style+"</style>"+box)
		maya.holds(test.want, `document.querySelector("[data-paper]").textContent === args[0]`, test.want)
		maya.holds("the box is in that place of the page", `(async ([x, y, width, height]) => {
			const page = document.querySelector("[data-stage]:not([aria-busy]) .paper img");
			await page.decode();
			const canvas = new OffscreenCanvas(page.naturalWidth, page.naturalHeight).getContext("2d");
			canvas.drawImage(page, 0, 0);
			const { data } = canvas.getImageData(0, 0, page.naturalWidth, page.naturalHeight);
			const first = data.findIndex((value, i) => i % 4 === 0 && value < 60) / 4;
			const at = [first % page.naturalWidth, Math.floor(first / page.naturalWidth)].map((n) => n / 96 * 25.4);
			return first >= 0 && Math.abs(at[0] - x) < 1 && Math.abs(at[1] - y) < 1 && Math.abs(page.naturalWidth / 96 * 25.4 - width) < 1 && Math.abs(page.naturalHeight / 96 * 25.4 - height) < 1;
		})(args[0])`, []float64{test.x, test.y, test.width, test.height})
	}
	maya.calm("the editor")
}

// focused describes the element that has the focus.
func (s *screen) focused() string {
	s.t.Helper()
	found, err := s.page.Eval(`() => {
		const at = document.activeElement;
		if (!at || at === document.body) return "";
		return (at.getAttribute("aria-label") ?? at.labels?.[0]?.textContent ?? at.textContent).trim().replace(/\s+/g, " ");
	}`)
	if err != nil {
		s.t.Fatal(err)
	}
	return found.Value.Str()
}

// types presses keys one after another.
func (s *screen) keys(keys ...input.Key) {
	s.t.Helper()
	if err := s.page.KeyActions().Type(keys...).Do(); err != nil {
		s.t.Fatal(err)
	}
}

// walks presses Tab until the focus has passed every element of a list in that order, and returns all that it passed.
// Every one of them has to be visible and to have a name.
func (s *screen) walks(want ...string) (passed []string) {
	s.t.Helper()
	for range 150 {
		if len(want) == 0 {
			return passed
		}
		s.keys(input.Tab)
		at := s.focused()
		seen, err := s.page.Eval(`() => {
			const at = document.activeElement, box = at.getBoundingClientRect();
			return at === document.body || at.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && box.width > 0 || at.matches("input");
		}`)
		if err != nil {
			s.t.Fatal(err)
		}
		if !seen.Value.Bool() {
			s.t.Errorf("the focus is on %q, which is not visible", at)
		}
		passed = append(passed, at)
		if strings.HasPrefix(at, want[0]) {
			want = want[1:]
		}
	}
	s.t.Fatalf("Tab does not reach %q; it passes %q", want, passed)
	return nil
}

// TestPreviewDoesNotWaitForItsStorage: the bucket hangs when the pages of a preview are stored for the next visit.
func TestPreviewDoesNotWaitForItsStorage(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	bucket := fakes3.Start(t)
	app := startShared(t, loadConfig(t, []string{"--data-dir=" + t.TempDir(), "--listen=127.0.0.1:0", "--render-slots=1"}, "RELAYPDF_METRICS_LISTEN=",
		"RELAYPDF_BLOBS="+bucket.Address(), "RELAYPDF_S3_ACCESS_KEY="+fakes3.AccessKey, "RELAYPDF_S3_SECRET_KEY="+fakes3.SecretKey))
	asked, answers := make(chan struct{}, 10), make(chan struct{})
	var gaveUp atomic.Bool
	bucket.Break(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "pages-") {
			asked <- struct{}{}
			select {
			case <-answers:
			case <-time.After(2 * time.Minute):
				gaveUp.Store(true)
			}
		}
		next.ServeHTTP(w, r)
	})
	maya := openWide(t, app)
	_, path := editorOf(t, app, maya, placedHTML)
	<-asked
	maya.holds("the pages have come", `document.querySelector("[data-stage] img[alt='Page 1 of the draft']")`)
	if gaveUp.Load() {
		t.Error("the pages come when their storage has failed")
	}
	close(answers)
	for stored := []string(nil); len(stored) == 0 && t.Context().Err() == nil; <-time.After(50 * time.Millisecond) {
		stored, _ = filepath.Glob(bucket.File("files/pages-*"))
	}
	release := maya.holdsPages()
	maya.open(path)
	maya.holds("the next visit begins with them", `document.querySelector("[data-stage] img[alt='Page 1 of the last preview']")?.naturalWidth > 100`)
	release()
	maya.calm("the editor")
}

// TestEditorByKeyboard walks through the editor and writes in it without a mouse.
func TestEditorByKeyboard(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, maya := startWide(t)
	template, _ := editorOf(t, app, maya, "<p>one</p>")
	passed := maya.walks("Templates", "Template settings", "Versions", "Publish", "HTML", "Header", "Format", "Show on page", "HTML")
	if slices.Contains(passed, "") {
		t.Errorf("an element without a name has the focus: %q", passed)
	}
	if maya.focused() != "HTML" {
		t.Fatalf("the focus is on %q", maya.focused())
	}
	before := maya.firstPage()
	if err := maya.page.KeyActions().Press(input.ControlLeft).Type(input.End).Release(input.ControlLeft).Do(); err != nil {
		t.Fatal(err)
	}
	// Tab indents; Escape leaves the text.
	maya.keys(input.Enter, input.Tab)
	if err := maya.page.InsertText("<p>two</p>"); err != nil {
		t.Fatal(err)
	}
	maya.holds("the text is indented", `document.querySelector(".cm-content[aria-label=HTML]").innerText.includes("\n  <p>two</p>")`)
	shortcut := func(key input.Key) {
		t.Helper()
		if err := maya.page.KeyActions().Press(input.ControlLeft).Type(key).Release(input.ControlLeft).Do(); err != nil {
			t.Fatal(err)
		}
	}
	shortcut(input.Enter)
	maya.holds("Ctrl Enter renders the pages", `document.querySelector("[data-stage] .paper img").src !== args[0]`, before)
	shortcut(input.KeyS)
	maya.holds("Ctrl S saves", `/^Saved/.test(document.querySelector("[data-saved]").textContent)`)
	if stored, err := app.Store.Template(t.Context(), template.AccountID, template.ID); err != nil || stored.Content.HTML != "<p>one</p>\n  <p>two</p>" {
		t.Errorf("stored %q, %v", stored.Content.HTML, err)
	}
	maya.keys(input.Escape)
	passed = maya.walks("Resize code and data", "Data", "Options", "Variables", "Sample data, JSON")
	if passed[0] == "Templates" || slices.Contains(passed, "HTML") {
		t.Errorf("Escape does not leave the text where it is: %q", passed)
	}
	maya.keys(input.Escape)
	maya.walks("Resize data and preview", "Zoom out", "Zoom in", "PDF", "Rendered pages")
	// The separators move by arrows, and tabs open by Enter.
	before = maya.style("main", "grid-template-columns")
	maya.focus(`[data-grip="code"]`)
	maya.keys(input.ArrowLeft, input.ArrowLeft)
	if maya.style("main", "grid-template-columns") == before {
		t.Error("the arrows do not move the separator")
	}
	maya.focus(`[data-side="options"]`)
	maya.keys(input.Enter)
	maya.walks("margin.top", "Options, JSON")
	maya.focus("[data-publish]")
	maya.keys(input.Enter)
	maya.sees("as version 1")
	maya.holds("the dialog has the focus", `document.activeElement.closest("#publish")`)
	maya.keys(input.Escape)
	maya.holds("Escape closes it", `!document.querySelector("#publish").open && document.activeElement.matches("[data-publish]")`)
	maya.obeys("the editor", axeSource(t), allRules)
	maya.calm("the editor")
}

// focus moves the focus to an element, from where the keys go on.
func (s *screen) focus(selector string) {
	s.t.Helper()
	if _, err := s.page.Eval(`selector => document.querySelector(selector).focus()`, selector); err != nil {
		s.t.Fatal(err)
	}
}

// style returns the computed value of a property.
func (s *screen) style(selector, property string) string {
	s.t.Helper()
	found, err := s.page.Eval(`(selector, property) => getComputedStyle(document.querySelector(selector)).getPropertyValue(property)`, selector, property)
	if err != nil {
		s.t.Fatal(err)
	}
	return found.Value.Str()
}
