package e2e

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-rod/rod"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/test/fakellm"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/service/llm"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// startPlayground starts an App whose users may try as much as they like, with a provider of models.
func startPlayground(t *testing.T) *app.App {
	t.Helper()
	provider := fakellm.New(t, func(fakellm.Asked) fakellm.Reply {
		return fakellm.Reply{Text: `{"html":"<p>{{name}}</p>","sampleData":{"name":"Ada"},"options":{"format":"A6"}}`, Input: 100, Output: 50}
	})
	return startPages(t, func(c *app.Config) {
		c.RateLimits, c.AllowHosts = false, []string{"127.0.0.1"}
		c.AI = llm.Config{Provider: llm.OpenAI, BaseURL: provider.URL, Key: "the-key", Model: "the-model"}
		c.AIInput, c.AIOutput = 2*credit.Dollar, 10*credit.Dollar
	})
}

// attends waits until the script of the playground is there.
func (s *screen) attends() {
	s.t.Helper()
	s.holds("the page's script has begun", `document.querySelector("[data-needs-script]:not([hidden])")`)
}

// result waits for the result of a run, and returns its word.
func (s *screen) result() string {
	s.t.Helper()
	s.holds("there is a result", `document.querySelector("[data-result] .status") && document.querySelector("[data-play]").getAttribute("aria-busy") === null`)
	found, err := s.page.Eval(`() => document.querySelector("[data-result] .status").textContent.trim()`)
	if err != nil {
		s.t.Fatal(err)
	}
	return found.Value.Str()
}

// TestPlaygroundRunsEveryExample opens the page of each operation, runs its example, and checks how its result is
// shown. Each is a call like any other.
func TestPlaygroundRunsEveryExample(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser, authority := startPlayground(t), openBrowser(t), pdftest.NewAuthority(t, "")
	maya := openScreen(t, browser, app)
	maya.join("maya@example.com")
	maya.blankTemplate("Invoice") // for pdf.bulk
	maya.click("[data-publish]", "Publish")
	maya.press("Publish version 1")
	maya.sees("Version 1 published")
	table, err := schema.NewTable(operation.Rows)
	if err != nil {
		t.Fatal(err)
	}
	const pictures = `[...document.querySelectorAll("[data-result] .doc-view img")].filter(image => image.naturalWidth > 0).length`
	for _, o := range table.All() {
		maya.open("/dashboard/playground/" + o.Tool())
		maya.attends()
		if o.Name == "pdf.bulk" {
			maya.choose(`[name="templateId"]`, "Invoice")
		}
		if o.Name == "pdf.seal" {
			maya.fill("timestampUrl", authority.URL+"/tsa")
		}
		maya.click("[data-play] button[formaction]", "Run")
		switch word := maya.result(); {
		case o.Bulk && word == "Accepted": // as each job of records
			continue
		case word != "Completed":
			t.Errorf("%s: %s; the page says %.1500s", o.Name, word, maya.text())
			continue
		}
		switch kind := o.Produces[0]; {
		case o.Name == "pdf.protect":
			maya.sees("has no preview")
		case o.Name == "convert.create":
			maya.sees("spreadsheetml.sheet. Download the file instead.")
		case kind == "application/pdf":
			maya.holds(o.Name+" shows pages", pictures+` && document.querySelector("[data-result] .paper")`)
			maya.sees("page")
		case strings.HasPrefix(kind, "image/"):
			maya.holds(o.Name+" shows an image", pictures)
		case o.Answer != nil:
			maya.holds(o.Name+" shows JSON", `JSON.parse(document.querySelector("[data-result] pre").textContent)`)
		case o.Name == "zip.create":
			maya.sees("letters/may.pdf")
		}
		maya.holds(o.Name+" leads to its call", `document.querySelector('[data-result] a[href^="/dashboard/documents/"]')`)
		if slices.Contains([]string{"pdf.create", "pdf.merge", "pdf.info", "pdf.raster", "barcodes.create"}, o.Name) {
			maya.lookAt("playground " + strings.ReplaceAll(o.Name, ".", "-") + " result")
		}
		maya.calm(o.Name)
	}
	account := maya.account()
	calls, err := app.Store.Calls(t.Context(), store.CallFilter{AccountID: account.ID, List: store.List{Limit: store.MaxList}})
	if err != nil {
		t.Fatal(err)
	}
	charged := map[string]credit.Amount{}
	for _, call := range calls.Items {
		charged[call.Operation] += call.Charge
	}
	for _, o := range table.All() {
		unsigned := o.Name == "pdf.verify" && charged[o.Name] == 0 // as the PDF of its example
		if price, ok := charged[o.Name]; !ok || price != o.Price && !o.Varies && !o.Flow && !unsigned {
			t.Errorf("%s was charged %v, want %v", o.Name, price, o.Price)
		}
	}
	if len(calls.Items) != len(table.All()) {
		t.Errorf("%d calls were made, want one of each of %d operations", len(calls.Items), len(table.All()))
	}
}

// TestPlaygroundIsPlayed types, uploads, makes mistakes, follows a link, and does
// without script.
func TestPlaygroundIsPlayed(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPlayground(t), openBrowser(t)
	maya := openScreen(t, browser, app)
	maya.join("maya@example.com")
	maya.open("/dashboard/playground")
	maya.attends()
	maya.sees("Create a PDF from HTML, URL or Markdown")
	const call = `document.querySelector('[data-call] pre[aria-label="JSON sample"]').textContent`
	maya.writeInto("html", "<h1>Typed just now</h1>")
	maya.holds("the call follows", call+`.includes("Typed just now")`)
	maya.holds("in every language", `[...document.querySelectorAll("[data-call] pre")].every(pre => pre.textContent.includes("Typed just now"))`)
	if calls, err := app.Store.Calls(t.Context(), store.CallFilter{AccountID: maya.account().ID}); err != nil || len(calls.Items) > 0 {
		t.Errorf("typing makes calls: %+v, %v", calls, err)
	}

	// An error is shown at its field, and the typed text stays.
	maya.fill("options.margin.top", "wide")
	maya.click("[data-play] button[formaction]", "Run")
	maya.sees("Must be a number of CSS pixels")
	maya.holds("the field is marked, and has the focus", `document.activeElement.name === "options.margin.top" && document.activeElement.getAttribute("aria-invalid") === "true"`)
	maya.lookAt("playground fault")
	maya.fill("options.margin.top", "20mm")
	maya.click("[data-play] button[formaction]", "Run")
	maya.sees("Completed")
	maya.holds("what was typed stays", `document.querySelector("[data-play] [name=html]").value === "<h1>Typed just now</h1>"`)

	// An error of the page is shown next to it.
	maya.writeInto("html", `<h1>Typed just now</h1><img src="gone.png">`)
	maya.click("[data-play] button[formaction]", "Run")
	maya.sees("1 warning")
	maya.sees("resource_failed")
	maya.sees("gone.png")
	maya.lookAt("playground warnings")

	// Steps are JSON, and their price is on the button.
	maya.open("/dashboard/playground/pdf_create?input=" + url.QueryEscape(`{"html":"<h1>Steps</h1>","then":[{"op":"pdf.stamp","input":{"text":"PAID"}}]}`))
	maya.attends()
	maya.sees("Run for $0.0025")
	maya.writeInto("then", `[{"op":"pdf.stamp","input":{"text":"PAID"}},{"op":"pdf.rotate","input":{"degrees":1}}]`)
	maya.sees("Run for $0.003")
	maya.click("[data-play] button[formaction]", "Run")
	maya.sees("then[1].input.degrees must be")
	maya.lookAt("playground steps fault")
	maya.writeInto("then", `[{"op":"pdf.stamp","input":{"text":"PAID"}},{"op":"pdf.rotate","input":{"degrees":90}}]`)
	maya.click("[data-play] button[formaction]", "Run")
	maya.result()
	maya.sees("1 page")
	maya.lookAt("playground steps")

	// A link fills in the form, and its values reach no server.
	maya.open("/dashboard/playground/barcodes_create#input=" + url.PathEscape(`{"type":"ean13","text":"4006381333931"}`))
	maya.attends()
	maya.holds("the link fills the form in", `document.querySelector("[data-play] [name=text]").value === "4006381333931" && document.querySelector("[data-play] [name=type]").value === "ean13"`)

	// Files are uploaded when they are chosen, one after another.
	dir := t.TempDir()
	for _, name := range []string{"one.txt", "two.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("the file "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	maya.open("/dashboard/playground/zip_create?input=%7B%7D")
	maya.attends()
	choose(t, maya, `[name="upload:files[]"]`, filepath.Join(dir, "one.txt"), filepath.Join(dir, "two.txt"))
	maya.sees("two.txt")
	maya.holds("two things are in the list", `document.querySelectorAll(".play-item").length === 2`)
	maya.lookAt("playground files")
	maya.click("[data-play] .play-item button", "Remove")
	maya.holds("one is taken out", `document.querySelectorAll(".play-item").length === 1 && document.querySelector('[name="files[0].filename"]').value === "two.txt"`)
	maya.click("[data-play] button[formaction]", "Run")
	maya.result()
	maya.sees("two.txt: 16 bytes")
	maya.calm("the playground")

	plain := openScreen(t, browser, app)
	plain.withoutScript()
	plain.signIn("maya@example.com")
	plain.open("/dashboard/playground/pdf_create")
	plain.press("Update call")
	plain.sees("Invoice 42")
	plain.press("Run for")
	plain.sees("Completed")
	plain.sees("1 page")
	plain.open("/dashboard/playground/zip_create?input=" + url.QueryEscape(string(mustJSON(t, map[string]any{"files": []any{map[string]any{"filename": "a"}}}))))
	plain.press("Add by URL or ID")
	plain.sees("files[1]")
	choose(t, plain, `[name="upload:files[0].file"]`, filepath.Join(dir, "one.txt"))
	plain.press("Run for")
	plain.sees("a: 16 bytes")
	plain.calm("the playground without script")
}

// TestPlaygroundMergesOnOneScreen merges two files: on a screen of 1440 by 900 pixels, the files, the button and the
// result are visible together. A file that is wrong is named in the error.
func TestPlaygroundMergesOnOneScreen(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPlayground(t), openBrowser(t)
	maya := openScreen(t, browser, app)
	maya.join("maya@example.com")
	maya.width(1440)
	maya.open("/dashboard/playground/pdf_merge")
	maya.attends()
	maya.click("[data-play] button[formaction]", "Run")
	if word := maya.result(); word != "Completed" {
		t.Fatalf("%s; the page says %.1500s", word, maya.text())
	}
	const parts = `[...document.querySelectorAll(".play-item, [data-play] button[formaction], #result, [data-result] .doc-view > :nth-child(-n+2) img")]`
	maya.holds("the result is shown", parts+`.filter(part => part.naturalWidth > 0).length === 2`)
	maya.holds("all is on one screen", `scrollY === 0 && `+parts+`.length === 6 && `+parts+`.every(part => part.getBoundingClientRect().top >= 0 && part.getBoundingClientRect().bottom <= 900)`)
	maya.lookAt("playground merge result")
	maya.width(1440)
	maya.click(".play-item button", "Move files.1. up")
	maya.holds("the second file is the first", `document.querySelector(".play-item b").textContent === "two.pdf"`)

	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("no PDF"), 0o600); err != nil {
		t.Fatal(err)
	}
	choose(t, maya, `[name="upload:files[]"]`, filepath.Join(dir, "notes.txt"))
	maya.sees("notes.txt")
	maya.click("[data-play] button[formaction]", "Run")
	maya.result()
	maya.holds("the error names the file", `[...document.querySelectorAll(".play-item")][2].textContent.includes("notes.txt: ") && document.querySelector("[data-result]").textContent.includes("notes.txt")`)
	maya.forgives("502")
	maya.calm("the merge")
}

// TestPlaygroundCancelsARun shows the time of a long call and cancels it: it is not charged.
func TestPlaygroundCancelsARun(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPlayground(t), openBrowser(t)
	maya := openScreen(t, browser, app)
	maya.join("maya@example.com")
	before := maya.account().Balance
	// The run takes nearly a minute, in which the page is looked at.
	maya.open("/dashboard/playground/pdf_create?input=" + url.QueryEscape(
		`{"html":"<p>Wait<script>setTimeout(() => document.body.id = 'late', 25000)</script>","options":{"waitForSelector":"#late","waitForTimeout":30000,"timeout":60000}}`))
	maya.attends()
	maya.click("[data-play] button[formaction]", "Run")
	maya.holds("the time passes", `parseFloat(document.querySelector("[data-elapsed]")?.textContent) > 0.5`)
	maya.lookAt("playground running")
	maya.click("[data-cancel]", "Cancel run")
	maya.sees("Cancelled after")
	failed := func() bool {
		calls, err := app.Store.Calls(t.Context(), store.CallFilter{AccountID: maya.account().ID})
		return err == nil && len(calls.Items) == 1 && calls.Items[0].Status == store.CallFailed && maya.account().Balance == before
	}
	for deadline := time.Now().Add(pagePatience); !failed(); <-time.After(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the cancelled call is not released")
		}
	}
	// It can be run again at once.
	maya.writeInto("html", "<h1 id=late>Again</h1>")
	maya.fill("options.waitForTimeout", "0")
	maya.click("[data-play] button[formaction]", "Run")
	if word := maya.result(); word != "Completed" {
		t.Errorf("after a cancelled run: %s", word)
	}
	maya.calm("a cancelled run")
}

// TestPlaygroundHasTabsKeysAndTemplates opens the tabs of the sources, and calls with a template and a key.
func TestPlaygroundHasTabsKeysAndTemplates(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPlayground(t), openBrowser(t)
	maya := openScreen(t, browser, app)
	maya.join("maya@example.com")
	account := maya.account().ID
	made, err := app.Store.CreateTemplate(t.Context(), store.NewTemplate{AccountID: account, Slug: "letter", Name: "Letter", Content: store.TemplateContent{HTML: "<h1>Dear {{name}}</h1>", SampleData: []byte(`{"name":"Ada"}`), Options: []byte(`{}`)}})
	if err == nil {
		_, err = app.Store.PublishTemplate(t.Context(), account, made.ID, 0, "", nil)
	}
	var key store.Key
	if err == nil {
		key, _, err = app.Store.CreateKey(t.Context(), store.NewKey{AccountID: account, Name: "production"})
	}
	if err != nil {
		t.Fatal(err)
	}
	maya.open("/dashboard/playground")
	maya.attends()
	const call = `document.querySelector('[data-call] pre[aria-label="JSON sample"]').textContent`
	maya.click("label[for=source-markdown]", "Markdown")
	maya.writeInto("markdown", "# A heading")
	maya.holds("the Markdown is sent, and not the HTML", call+`.includes("# A heading") && !`+call+`.includes("html")`)
	maya.lookAt("playground markdown")
	maya.width(1440)
	maya.click("label[for=source-template]", "Template")
	maya.choose(`[name=templateId]`, "Letter")
	maya.holds("the sample data is filled in", call+`.includes("Ada") && `+call+`.includes('"letter"')`)
	maya.inEditor("templateData", "Ada")
	maya.choose(`[name=key]`, "production")
	maya.lookAt("playground template")
	maya.width(1440)
	maya.click("[data-play] button[formaction]", "Run")
	if word := maya.result(); word != "Completed" {
		t.Fatalf("%s; the page says %.1500s", word, maya.text())
	}
	calls, err := app.Store.Calls(t.Context(), store.CallFilter{AccountID: account, KeyID: key.ID})
	if err != nil || len(calls.Items) != 1 {
		t.Errorf("the key made %d calls, %v; want 1", len(calls.Items), err)
	}
	maya.lookAt("playground template result")
	maya.calm("tabs")
}

// choose chooses files in a field for them.
func choose(t *testing.T, s *screen, selector string, files ...string) {
	t.Helper()
	var field *rod.Element
	field, err := s.page.Timeout(pagePatience).Element(selector)
	if err == nil {
		err = field.SetFiles(files)
	}
	if err != nil {
		t.Fatalf("choose files at %s: %v; the page says %.800s", selector, err, s.text())
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
