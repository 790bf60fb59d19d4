package pdf

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// markdownOf reads a document as Markdown.
func markdownOf(t *testing.T, args MarkdownArgs, document []byte) (MarkdownText, MarkdownReport) {
	t.Helper()
	result, err := runJob(t, MarkdownJob.Name, args, document)
	if err != nil {
		t.Fatal(err)
	}
	var text MarkdownText
	var about MarkdownReport
	if err := errors.Join(json.Unmarshal(read(t, result), &text), json.Unmarshal(result.Body, &about)); err != nil {
		t.Fatal(err)
	}
	return text, about
}

// TestMarkdownMixed reads a document whose first page has text, whose second is a
// crooked scan, and whose third is empty.
func TestMarkdownMixed(t *testing.T) {
	sharedtest.Slow(t)
	english := letterIn["eng"]
	scan := scanOf(t, 90, 1.5, english)
	empty := makeOne(t, ExtractJob.Name, Selection{Input: input(""), Pages: "1"}, []byte(blankPDF))
	document := makeOne(t, MergeJob.Name, mergeOf([]string{"", "", ""}, []string{"a", "b", "c"}), typed(t, "Typed page\n\nIt says so."), scan, empty)
	args := MarkdownArgs{Selection: Selection{Input: input("")}, Languages: []string{"eng"}}
	text, about := markdownOf(t, args, document)
	if !slices.Equal(about.Read, []int{2}) || !slices.Equal(about.Empty, []int{3}) || text.PageCount != 3 {
		t.Errorf("of %d pages %v were read and %v are empty", text.PageCount, about.Read, about.Empty)
	}
	sources := []MarkdownPage{{Page: 1, Source: "text"}, {Page: 2, Source: "ocr"}, {Page: 3, Source: "none"}}
	if !slices.Equal(text.Pages, sources) {
		t.Errorf("got pages %+v", text.Pages)
	}
	_, rest, _ := strings.Cut(text.Markdown, "<!-- page 2 -->\n")
	second, third, ok := strings.Cut(rest, "<!-- page 3 -->\n")
	if !ok || third != "" || !strings.HasPrefix(text.Markdown, "<!-- page 1 -->\n\n") || !strings.Contains(text.Markdown, "It says so.") {
		t.Errorf("the pages are not marked:\n%s", text.Markdown)
	}
	if got := accuracy(english, second); got < fewestRight {
		t.Errorf("%.3f of the scan's words were read:\n%s", got, second)
	}
	if paragraphs := strings.Count(strings.TrimSpace(second), "\n\n"); paragraphs != 3 {
		t.Errorf("the scan has %d paragraphs after its heading, want 3:\n%s", paragraphs, second)
	}
	// Without languages no image is read. Pages are chosen, and returned apart.
	args = MarkdownArgs{Selection: Selection{Input: input(""), Pages: "2,1"}, Apart: true}
	text, about = markdownOf(t, args, document)
	if len(about.Read) > 0 || !slices.Equal(about.Empty, []int{2}) || len(text.Pages) != 2 || text.Pages[0].Source != "none" || !strings.Contains(text.Pages[1].Markdown, "It says so.") {
		t.Errorf("got %+v and %+v", text, about)
	}
	runFailing(t, job.NoLanguage, MarkdownJob.Name, MarkdownArgs{Selection: Selection{Input: input("")}, Languages: []string{"xyz"}}, document)
}

// TestMarkdownKeepsLinks reads links next to comments and fields, whose flattening would
// remove links.
func TestMarkdownKeepsLinks(t *testing.T) {
	document := three()
	document.Annots = map[int]string{
		1: "<< /Type /Annot /Subtype /Text /Rect [0 0 20 20] /Contents (a note) >> << /Type /Annot /Subtype /Link /Border [0 0 0] /Rect [0 0 400 400] /A << /S /URI /URI (https://example.com/terms) >> >>",
	}
	text, _ := markdownOf(t, MarkdownArgs{Selection: Selection{Input: input("")}}, document.Write())
	if strings.Count(text.Markdown, "[beta](<https://example.com/terms>)") != 1 {
		t.Errorf("the link is not there once:\n%s", text.Markdown)
	}
}

// TestMarkdownSpaces reads a word with a space in it that takes no room as one word, as a
// browser writes one that might have been parted there.
func TestMarkdownSpaces(t *testing.T) {
	s := source{Pages: []string{"one Falken) Tj [( ) 278] TJ (berg two) Tj ( ) Tj (three"}}
	text, _ := markdownOf(t, MarkdownArgs{Selection: Selection{Input: input("")}}, s.Write())
	if !strings.Contains(text.Markdown, "one Falkenberg two three") {
		t.Errorf("got %q", text.Markdown)
	}
}

// blankPDF is a page without anything.
const blankPDF = "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n" +
	"3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] >>\nendobj\ntrailer\n<< /Root 1 0 R >>\n"

// TestMarkdownReal holds the words that are read of documents that others have made to
// those that poppler finds in them.
func TestMarkdownReal(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	paths := pdftest.Documents(t)
	const every = 12
	read, words := 0, 0
	for i := 0; i < len(paths); i += every {
		content := pdftest.Load(t, paths[i])
		result, err := runJob(t, MarkdownJob.Name, MarkdownArgs{Selection: Selection{Input: input(""), Pages: "1-20"}, Apart: true}, content)
		var failed *job.Error
		if errors.As(err, &failed) && failed.Kind == job.PageOutOfRange {
			result, err = runJob(t, MarkdownJob.Name, MarkdownArgs{Selection: Selection{Input: input("")}, Apart: true}, content)
		}
		if errors.As(err, &failed) && failed.Kind != job.Exhausted {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", paths[i], err)
			continue
		}
		read++
		var text MarkdownText
		if err := json.NewDecoder(result.Output(0).Open()).Decode(&text); err != nil {
			t.Fatal(err)
		}
		words += holdsWords(t, paths[i], text)
	}
	if read < 20 || words < 8_000 {
		t.Errorf("%d documents with %d words were read", read, words)
	}
}

// holdsWords fails where a document's Markdown lacks letters that poppler finds, and
// returns the number of its words.
func holdsWords(t *testing.T, path string, text MarkdownText) (words int) {
	t.Helper()
	letters := func(s string) (n int) {
		for _, r := range s {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				n++
			}
		}
		return n
	}
	plain, marked := 0, 0
	for _, page := range text.Pages {
		n := fmt.Sprint(page.Page)
		said := pdftest.Tool(t, "pdftotext", "-q", "-cropbox", "-f", n, "-l", n, path, "-")
		words += len(strings.Fields(said))
		plain += letters(said)
		marked += letters(page.Markdown)
	}
	// Lines that run through are there once, and numbers of pages are not.
	if marked < plain*3/4 {
		t.Errorf("%s: the Markdown has %d of %d letters", path, marked, plain)
	}
	return words
}
