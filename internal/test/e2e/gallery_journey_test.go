package e2e

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-rod/rod/lib/proto"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/static/gallery"
)

// copies presses a copy button, and returns the text in the clipboard.
func (s *screen) copies(selector string) string {
	s.t.Helper()
	browser := s.page.Browser()
	permission := proto.BrowserGrantPermissions{BrowserContextID: browser.BrowserContextID, Permissions: []proto.BrowserPermissionType{
		proto.BrowserPermissionTypeClipboardReadWrite, proto.BrowserPermissionTypeClipboardSanitizedWrite,
	}}
	if err := permission.Call(browser); err != nil {
		s.t.Fatal(err)
	}
	s.click(selector, "^")
	s.holds("the text is copied", `navigator.clipboard.readText()`)
	text, err := s.page.Eval(`() => navigator.clipboard.readText()`)
	if err != nil {
		s.t.Fatal(err)
	}
	return text.Value.Str()
}

// TestFromTheGalleryToACall finds a layout by a synonym, takes it, changes its text, publishes it, copies the call that
// the editor shows, runs it with a new key, and finds the document on its page.
func TestFromTheGalleryToACall(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPages(t), openBrowser(t)
	maya := openScreen(t, browser, app)
	maya.join("maya@example.com")

	maya.open("/pdf-templates")
	maya.fill("q", "estimate equipment")
	maya.press("Search")
	maya.sees("Ridgeline equipment quote")
	maya.holds("only matches are shown", `document.querySelectorAll(".gallery .card").length === 1`)
	maya.lookAt("gallery search")
	maya.follow("Ridgeline equipment quote")
	maya.sees("Sample data")
	maya.holds("its page is shown", `document.querySelector(".paper img").naturalWidth > 200`)
	maya.lookAt("gallery layout")
	maya.follow("Use this template")
	maya.sees("From the layout “Ridgeline equipment quote”")
	maya.lookAt("gallery new template")
	maya.press("Create template")

	maya.width(1440)
	maya.edits()
	layouts, err := gallery.New()
	if err != nil {
		t.Fatal(err)
	}
	layout, _ := layouts.Get("quote-ridgeline")
	before := maya.firstPage()
	maya.write(strings.ReplaceAll(layout.HTML, "<h1>Quote ", "<h1>Offer "))
	maya.holds("the preview changes", `document.querySelector("[data-stage] .paper img").src !== args[0]`, before)
	maya.sees("Saved")
	maya.click("[data-publish]", "Publish")
	maya.sees("as version 1")
	maya.press("Publish version 1")
	maya.sees("Version 1 published")
	maya.edits()
	maya.click("button", "View API call")
	maya.sees("API call for Ridgeline equipment quote")
	maya.picture("gallery-call")
	call := maya.copies(`#call [aria-label="Copy curl"]`)

	maya.open("/dashboard/keys/new")
	maya.fill("name", "quotes")
	maya.press("Create key")
	maya.sees("Key “quotes” created")
	key := regexp.MustCompile(`pdf_live_[A-Za-z0-9_]+`).FindString(maya.text())
	dir := t.TempDir()
	if out, err := runs(t, key, dir, "bash", "-e", "-c", curlFails+call); err != nil {
		t.Fatalf("%v\n%.2000s\n%.1000s", err, call, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.pdf"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the call makes %q, %v; it is\n%.2000s", files, err, call)
	}
	if text, err := runs(t, key, dir, "pdftotext", files[0], "-"); err != nil || !strings.Contains(text, "Offer AN-26-3391") || !strings.Contains(text, "36,569.76") {
		t.Errorf("the document says %.800q, %v", text, err)
	}

	maya.finds("/dashboard/documents", "Ridgeline equipment quote")
	maya.lookAt("gallery documents")
	maya.click("tbody a", "Ridgeline equipment quote")
	maya.sees("Completed")
	maya.sees("quotes")
	maya.lookAt("gallery document")
	maya.calm("from the gallery to a call")
}
