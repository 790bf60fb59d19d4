package render

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdffile"

	"github.com/relaypdf/relaypdf/render/template"
)

// TestTablesOfContents prints tables of contents of Markdown and of a template, which conform to standards.
func TestTablesOfContents(t *testing.T) {
	t.Parallel()
	a := start(t, Config{}).For("contents")
	filled, err := a.FillTemplate(t.Context(), template.Call{
		Template: template.Template{HTML: `<!doctype html><html lang=en><title>T</title><style>h2 { break-before: page; string-set: s content(); bookmark-level: 1 } @page { margin: 1in; @top-left { content: "at " string(s) } }</style>` +
			`<h1>T</h1>{{toc}}{{#each list}}<h2>{{this}}</h2><p>text{{/each}}`},
		Data: []byte(`{"list": ["Alpha", "Beta & co"]}`),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	markdown := "# T\n\n[[toc]]\n\n## Alpha\n\n" + strings.Repeat("A paragraph of text.\n\n", 60) + "## Beta & co\n"
	for name, src := range map[string]Source{"template": {HTML: filled}, "markdown": {Markdown: markdown}} {
		for _, standards := range [][]pdffile.Standard{nil, {pdffile.UA1, pdffile.A2A}} {
			doc, err := a.PDF(t.Context(), src, PageSettings{}, PDF{Standards: standards, Metadata: pdffile.Info{Title: "Contents"}, Header: "<p>header</p>", StandardsStrict: true})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if len(doc.Warnings) > 0 {
				t.Errorf("%s: %v", name, doc.Warnings)
			}
			path := filepath.Join(t.TempDir(), "a.pdf")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.ReadFrom(doc.Body.Open())
			if err := errors.Join(err, f.Close(), doc.Body.Close()); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("pdftotext", "-layout", path, "-").Output()
			if err != nil {
				t.Fatal(err)
			}
			pages := strings.Split(string(out), "\f")
			last := doc.Pages
			for _, entry := range []string{"Alpha", "Beta & co"} {
				on := 0
				for i, text := range pages {
					if strings.Contains(strings.ReplaceAll(text, "at "+entry, ""), entry) && (i > 0 || strings.Count(text, entry) > 1) && on == 0 {
						on = i + 1
					}
				}
				line := ""
				for l := range strings.Lines(pages[0]) {
					if strings.Contains(l, entry) && strings.Contains(l, ". .") && line == "" {
						line = strings.Join(strings.Fields(strings.ReplaceAll(l, ".", " ")), " ")
					}
				}
				if want := entry + " " + string(rune('0'+on)); line != want {
					t.Errorf("%s of %d pages: the entry is %q, want %q: %q", name, last, line, want, pages[0])
				}
			}
			if name == "template" && !strings.Contains(pages[2], "at Beta & co") {
				t.Errorf("no running heading: %q", pages[2])
			}
		}
	}
}
