package render_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render"
)

// article is Markdown with formulas and diagrams, two of which have a fault.
const article = `# Heat

The flow $q$ follows $q = -k\,\nabla T$, so that with $\rho c_p$ constant

$$
\frac{\partial T}{\partial t} = \alpha \left( \frac{\partial^2 T}{\partial x^2} + \frac{\partial^2 T}{\partial y^2} \right),
\qquad \alpha = \frac{k}{\rho c_p} \in \mathbb{R}^{+}
$$

It costs $5 to $10. A matrix: $$A = \begin{pmatrix} a & b \\ c & d \end{pmatrix}, \quad \sum_{i=1}^{n} \sqrt{x_i^2 + 1} = \int_0^\infty e^{-s t}\,ds$$

This is wrong: $\frac{1$.

## How it goes

` + "```mermaid\nflowchart LR\n  A[Order placed] --> B{Paid?}\n  B -- yes --> C[Ship it]\n  B -- no --> D[Remind]\n  D --> B\n```\n\n" +
	"```mermaid\nsequenceDiagram\n  Client->>Service: POST /v1/pdf\n  Service-->>Client: 200, the PDF\n```\n\n" +
	"```mermaid\npie title Calls\n  \"pdf\" : 62\n  \"images\" : 25\n  \"convert\" : 13\n```\n\n" +
	"```mermaid\ngantt\n  dateFormat YYYY-MM-DD\n  section Plan\n  Draft :a1, 2026-11-02, 5d\n  Review :after a1, 3d\n```\n\n" +
	"```mermaid\nflowchart LR\n  A --> [broken\n```\n\nThe end.\n"

// testFormulasAndDiagrams prints them, without a network.
func (s *studio) testFormulasAndDiagrams(t *testing.T) {
	t.Parallel()
	doc, err := s.For("acct_article").PDF(t.Context(), render.Source{Markdown: article}, render.PageSettings{}, goldenPDF)
	if err != nil {
		t.Fatal(err)
	}
	path := keep(t, doc.Body, "article.pdf")
	if dir := os.Getenv("SCREENSHOTS"); dir != "" {
		output(t, "pdftoppm", "-r", "80", "-png", path, filepath.Join(dir, "article"))
	}
	text := string(output(t, "pdftotext", "-layout", path, "-"))
	for _, word := range []string{"Order placed", "Remind", "Service", "62%", "Review", "$5 to $10", `$\frac{1$`, "[broken", "The end."} {
		if !strings.Contains(text, word) {
			t.Errorf("the document lacks %q", word)
		}
	}
	for _, word := range []string{`\partial`, "sequenceDiagram", "dateFormat", "Syntax error"} {
		if strings.Contains(text, word) {
			t.Errorf("the document shows %q", word)
		}
	}
	if fonts := string(output(t, "pdffonts", path)); !strings.Contains(fonts, "KaTeX_Math-Italic") || strings.Contains(fonts, "KaTeX_Fraktur") {
		t.Errorf("its typefaces are\n%s", fonts)
	}
	want := []string{"line 12: the formula is invalid", "line 47: the diagram cannot be drawn"}
	if len(doc.Warnings) != len(want) {
		t.Fatalf("%d warnings, want %d: %v", len(doc.Warnings), len(want), doc.Warnings)
	}
	for i, w := range doc.Warnings {
		if w.Code != "script_error" {
			t.Errorf("the code is %s", w.Code)
		}
		found := false
		for _, words := range want {
			found = found || strings.Contains(w.Message, words)
		}
		if !found {
			t.Errorf("warning %d is %q, want one of %q", i, w.Message, want)
		}
	}
}
