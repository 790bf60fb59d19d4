package template

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var docExample = regexp.MustCompile("(?m)^\\|([^|]*)\\|[^|]*\\| `([^`]+)` \\| `([^`]*)` \\|$")

// TestDocumentedExamples fills the examples of docs/reference/template-helpers.md.
func TestDocumentedExamples(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/template-helpers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, helpers, _ := strings.Cut(string(text), "\n## Helpers\n")
	_, rest, _ := strings.Cut(helpers, "```json\n")
	data, rest, _ := strings.Cut(rest, "```")
	documented := map[string]bool{}
	for _, row := range docExample.FindAllStringSubmatch(rest, -1) {
		if name := strings.Trim(row[1], " `"); name != "" {
			documented[name] = true
		}
		got := strings.NewReplacer("\u00a0", " ", "\u202f", " ").Replace(mustFill(t, row[2], data))
		// Handlebars escapes this one, which a page does not show.
		if got = strings.ReplaceAll(got, "&#x3D;", "="); got != row[3] {
			t.Errorf("%s\n got %q\nwant %q", row[2], got, row[3])
		}
	}
	for _, name := range helperNames {
		if !documented[name] {
			t.Errorf("the helper %s has no example", name)
		}
	}
}
