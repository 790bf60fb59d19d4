package operation

import (
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/service/schema"
)

// TestFrontMatterOptions shows that options in front matter count, and that those
// of the request come first.
func TestFrontMatterOptions(t *testing.T) {
	t.Parallel()
	request, err := schema.NewRequest[pdfInput]()
	if err != nil {
		t.Fatal(err)
	}
	const body = `{"markdown":"---\noptions:\n  format: A4\n  landscape: true\n  scale: 0.5\n  margin:\n    top: 1in\n---\n# A","options":{"format":"A5"}}`
	in, err := request.Bind(t.Context(), nil, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Validate(); err != nil {
		t.Fatal(err)
	}
	got := in.Options.settings()
	if got.Width != formats["a5"].width || !got.Landscape || got.Scale != 0.5 || got.Margin.Top == nil || *got.Margin.Top != 1 {
		t.Errorf("settings are %+v", got)
	}
}
