package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/web/docs"
)

// TestCustomPages reads those files of a folder that are there. HTML and links that run scripts have no effect.
func TestCustomPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if pages, err := docs.CustomPages(""); err != nil || len(pages) != 0 {
		t.Errorf("without a folder: %v, %v", pages, err)
	}
	if pages, err := docs.CustomPages(dir); err != nil || len(pages) != 0 {
		t.Errorf("an empty folder: %v, %v", pages, err)
	}
	write("terms.md", "\ufeff# Terms of *Example* & Co\r\n\r\nSee <script>alert(1)</script><img src=x onerror=alert(1)> [privacy](privacy.md#data), [us](mailto:a@example.com), [click](javascript:alert(1)).\r\n\r\n## Payment\r\n\r\n| a | b |\r\n|---|---|\r\n| 1 | 2 |\r\n")
	write("contact.md", "Write to us.")
	write("imprint.md", "# Not one of the pages")
	pages, err := docs.CustomPages(dir)
	if err != nil || len(pages) != 2 {
		t.Fatalf("got %v, %v", pages, err)
	}
	terms, contact := pages[0], pages[1]
	if terms.Path != "/terms" || terms.Name != "Terms" || terms.Title != "Terms of Example & Co" || contact.Path != "/contact" || contact.Title != "Contact" || !strings.Contains(contact.HTML, "<p>Write to us.</p>") {
		t.Errorf("got %+v", pages)
	}
	for _, want := range []string{`<a href="/privacy#data">privacy</a>`, `<a href="mailto:a@example.com">us</a>`, `<h2 id="payment">Payment</h2>`, `<table class="list">`} {
		if !strings.Contains(terms.HTML, want) {
			t.Errorf("the page has no %s: %s", want, terms.HTML)
		}
	}
	for _, not := range []string{"<script", "<img", "javascript:", "<h1"} {
		if strings.Contains(terms.HTML, not) {
			t.Errorf("the page has %s: %s", not, terms.HTML)
		}
	}

	for text, want := range map[string]string{
		strings.Repeat("a", 256<<10+1): "is larger than 256 KiB", " \n": "is empty", "caf\xe9": "is not valid UTF-8",
	} {
		write("privacy.md", text)
		if _, err := docs.CustomPages(dir); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "privacy.md")+": "+want) {
			t.Errorf("got %v, want that it %s", err, want)
		}
	}
	if err := os.Remove(filepath.Join(dir, "privacy.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "privacy.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := docs.CustomPages(dir); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a folder instead of a file: %v", err)
	}
}
