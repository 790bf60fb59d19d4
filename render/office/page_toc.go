package office

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"strings"

	"github.com/relaypdf/relaypdf/render/engine"
)

// contentsTemplate is the table of contents.
//
//go:embed page_toc.html
var contentsTemplate string

// contentsTitles are the titles of the table by the language of the document.
var contentsTitles = map[string]string{
	"cs": "Obsah", "da": "Indhold", "de": "Inhalt", "es": "Índice", "fi": "Sisällys", "fr": "Table des matières", "it": "Indice",
	"ja": "目次", "ko": "목차", "nl": "Inhoud", "no": "Innhold", "pl": "Spis treści", "pt": "Índice", "ru": "Содержание",
	"sv": "Innehåll", "tr": "İçindekiler", "uk": "Зміст", "zh": "目录",
}

// entry is one line of the table.
type entry struct {
	Title string
	Goto  template.URL // ours, and of no scheme that the template knows
	Depth int
	Page  int
}

// prependContents puts a table of contents before a PDF, and returns the name
// of the result. The headings' pages become those in the result.
func prependContents(
	ctx context.Context, w *engine.Work, body string, headings []Heading, language string,
) (string, error) {
	const joined = "joined.pdf"
	// The table has to know its own length. It is estimated, and tried again with the result.
	const linesPerPage = 40
	pages := 1 + len(headings)/linesPerPage

	for attempt := range 4 {
		name := fmt.Sprintf("contents%d.pdf", attempt)
		if err := writeContents(w, entries(headings, pages), language); err != nil {
			return "", err
		}
		if err := printPage(ctx, w, contentsSource, name, false); err != nil {
			return "", err
		}
		contents, err := describePDF(ctx, w, name)
		if err != nil {
			return "", err
		}

		if len(contents.Pages) != pages {
			pages = len(contents.Pages)
			continue
		}

		for i := range headings {
			headings[i].Page += pages
		}
		_, err = w.Exec(ctx, engine.Program{Name: "qpdf", Args: []string{
			engine.PathArg(body), "--pages", engine.PathArg(name), "1-z", ".", "1-z", "--", engine.PathArg(joined),
		}})
		return joined, err
	}
	return "", fmt.Errorf("the table of contents has no settled length, %d pages at last", pages)
}

const contentsSource = "contents.html"

// entries returns the lines of a table of contents that has a number of pages itself. A heading is one level deeper
// than the last one above it, even if levels are left out.
func entries(headings []Heading, pages int) (lines []entry) {
	var above []int // the levels of the headings that this one is within
	for _, h := range headings {
		for len(above) > 0 && above[len(above)-1] >= h.Level {
			above = above[:len(above)-1]
		}
		lines = append(lines, entry{Title: h.Title, Goto: template.URL(gotoScheme + h.mark), Depth: len(above), Page: h.Page + pages}) //nolint:gosec // ours
		above = append(above, h.Level)
	}
	return lines
}

func writeContents(w *engine.Work, lines []entry, language string) error {
	page, err := template.New("contents").Parse(contentsTemplate)
	if err != nil {
		return err
	}

	short, _, _ := strings.Cut(strings.ToLower(language), "-")
	title := contentsTitles[short]
	if title == "" {
		title = "Contents"
	}

	var out bytes.Buffer
	err = page.Execute(&out, struct {
		Style    template.CSS
		Language string
		Title    string
		Entries  []entry
	}{template.CSS(pageStyle), language, title, lines}) //nolint:gosec // ours
	if err != nil {
		return err
	}
	return os.WriteFile(w.Path(contentsSource), out.Bytes(), 0o600)
}
