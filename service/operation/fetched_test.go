package operation

import (
	"testing"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/service/schema"
)

// TestFetchedName has the type of the server before the extension, except for text/plain.
func TestFetchedName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ given, address, mediaType, want string }{
		{"", "https://a.example/", "text/html", "document.html"},
		{"", "https://a.example/prices?x=a.csv", "text/html", "prices.html"},
		{"", "https://a.example/page.php", "text/html", "page.html"},
		{"", "https://a.example/a.htm", "text/html", "a.htm"},
		{"", "https://a.example/export", "text/csv", "export.csv"},
		{"", "https://a.example/a.csv", "text/plain", "a.csv"},
		{"", "https://a.example/README.md", "text/plain", "README.md"},
		{"", "https://a.example/a.md", "application/octet-stream", "a.md"},
		{"", "https://a.example/a.txt", "text/markdown", "a.md"},
		{"", "https://a.example", "", ""},
		{"mine.txt", "https://a.example/a.md", "text/html", "mine.html"},
		{"mine.txt", "https://a.example/a.md", "", "mine.txt"},
	} {
		if got := fetchedName(c.given, c.address, render.Fetched{MediaType: c.mediaType}); got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
	if got := fetchedName("", "https://a.example/a.md", schema.NewFile(nil)); got != "a.md" {
		t.Errorf("without a type: got %q", got)
	}
}
