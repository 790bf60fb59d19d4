package render

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/spool"
)

// mergedWith merges documents with additions, and returns the result and the path of its file.
func mergedWith(t *testing.T, inputs []MergeInput, add MergeAdditions) (path string, changes []string) {
	t.Helper()
	made, changed, err := start(t, Config{}).For("merge").MergePDFsWith(t.Context(), inputs, add)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(made.Open())
	if err := errors.Join(err, made.Close()); err != nil {
		t.Fatal(err)
	}
	path = pdftest.Save(t, content)
	pdftest.Tool(t, "qpdf", "--check", path)
	return path, changed.Changes
}

// partOf is a document of so many pages for a merge.
func partOf(title string, pages int) MergeInput {
	s := pdftest.Source{Page: func(int) string { return "/MediaBox [0 0 420 595]" }}
	for range pages {
		s.Pages = append(s.Pages, "body of "+strconv.Itoa(pages))
	}
	return MergeInput{PDFFile: PDFFile{Content: spool.FromBytes(s.Write())}, Title: title}
}

// pagesText returns the text of each page as it is laid out.
func pagesText(t *testing.T, path string) []string {
	t.Helper()
	pages := strings.Split(pdftest.Tool(t, "pdftotext", "-layout", path, "-"), "\f")
	return pages[:len(pages)-1]
}

// TestMergeContents has titles in several scripts, long and empty ones: rows lead to the first pages of their documents.
func TestMergeContents(t *testing.T) {
	t.Parallel()
	titles := []string{"Annual report", "تقرير سنوي عن أعمال الشركة", "年次報告書と財務諸表", strings.Repeat("A rather long title of a document ", 9), "", "<b>Terms</b> &amp; conditions", strings.Repeat("x", 200)}
	var inputs []MergeInput
	for i, title := range titles {
		inputs = append(inputs, partOf(title, i%3+1))
	}
	path, _ := mergedWith(t, inputs, MergeAdditions{Contents: true, PageNumbers: []pdf.Position{pdf.Bottom}})
	screenshots(t, path, "contents")
	pages := pagesText(t, path)
	if len(pages) != 1+13 {
		t.Fatalf("%d pages: %q", len(pages), pages)
	}
	for _, want := range []string{`Contents`, `Annual report +2\n`, `年次報告書と財務諸表 +5\n`, `Document 5 +9\n`, `<b>Terms</b> &amp; conditions +11\n`} {
		if !regexp.MustCompile(want).MatchString(pages[0]) {
			t.Errorf("the contents lack %s:\n%s", want, pages[0])
		}
	}
	for i, text := range pages {
		if lines := strings.Fields(text); lines[len(lines)-1] != strconv.Itoa(i+1) {
			t.Errorf("page %d does not end with its number: %q", i+1, text)
		}
	}
	if got, want := linkedPages(t, path, 1), strings.Fields("2 3 5 8 9 11 14"); !slices.Equal(got, want) {
		t.Errorf("the links lead to pages %q, want %q", got, want)
	}
	if dests := pdftest.Tool(t, "mutool", "show", path, "pages/1/Annots/1"); !strings.Contains(dests, "/XYZ") || strings.Contains(dests, pdf.ContentsURL) {
		t.Errorf("the first link is\n%s", dests)
	}
	outline := pdftest.Tool(t, "mutool", "show", path, "outline")
	for _, want := range []string{"\"Contents\"", "\"Annual report\"", titles[1], "\"Document 5\""} {
		if !strings.Contains(outline, want) {
			t.Errorf("the outline lacks %s:\n%s", want, outline)
		}
	}
}

// TestMergeContentsOfMany has a table of contents of several pages, with the right numbers and links.
func TestMergeContentsOfMany(t *testing.T) {
	t.Parallel()
	const parts = 20
	var inputs []MergeInput
	for i := range parts {
		s := pdftest.Source{Pages: []string{"x"}, Page: func(int) string { return "/MediaBox [0 0 360 250] /Rotate 90" }}
		inputs = append(inputs, MergeInput{PDFFile: PDFFile{Content: spool.FromBytes(s.Write())}, Title: strings.Repeat("Part of the collection ", i+1)})
	}
	path, _ := mergedWith(t, inputs, MergeAdditions{Contents: true})
	screenshots(t, path, "many")
	pages := pagesText(t, path)
	own := len(pages) - parts
	const minimum = 3
	if own < minimum {
		t.Fatalf("%d pages of contents", own)
	}
	var got, want, links []string
	for _, row := range regexp.MustCompile(`(?m) {3,}(\d+)$`).FindAllStringSubmatch(strings.Join(pages[:own], ""), -1) {
		got = append(got, row[1])
	}
	for i := range parts {
		want = append(want, strconv.Itoa(own+i+1))
	}
	for n := range own {
		links = append(links, linkedPages(t, path, n+1)...)
	}
	if !slices.Equal(got, want) || !slices.Equal(links, want) {
		t.Errorf("%d pages of contents: numbers %q, links to %q, want %q", own, got, links, want)
	}
	if size := pdftest.Tool(t, "pdfinfo", path); !regexp.MustCompile(`: +250(\.\d+)? x 360`).MatchString(size) {
		t.Errorf("the contents have not the size of the first page as displayed:\n%s", size)
	}
}

// linkedPages returns the numbers of the pages that the links of a page lead to, as MuPDF reads them.
func linkedPages(t *testing.T, path string, page int) (numbers []string) {
	t.Helper()
	script := pdftest.Save(t, fmt.Appendf(nil, `var d = new PDFDocument(%q), l = d.loadPage(%d).getLinks();
for (var i = 0; i < l.length; i++) print(d.resolveLink(l[i].uri).page + 1);`, path, page-1))
	return strings.Fields(pdftest.Tool(t, "mutool", "run", script))
}

// screenshots writes images of the pages to the folder of the variable SCREENSHOTS.
func screenshots(t *testing.T, path, name string) {
	t.Helper()
	if dir := os.Getenv("SCREENSHOTS"); dir != "" {
		pdftest.Tool(t, "pdftoppm", "-png", "-r", "100", path, filepath.Join(dir, name))
	}
}

// TestMergeTitlesOfMetadata prefers the title in the metadata to a weak one.
func TestMergeTitlesOfMetadata(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	account := start(t, Config{}).For("merge")
	titled, err := account.SetPDFInfo(t.Context(), partOf("", 1).Content.(*spool.File), "", pdffile.Info{Title: "Tïtle 🎉 of\tmetadata"})
	if err != nil {
		t.Fatal(err)
	}
	part := partOf("", 1).PDFFile
	archived, _, err := RunBoth(t.Context(), account, archive.Job, archive.Args{Input: part.Input(), Level: archive.Level2B}, part.File())
	if err != nil {
		t.Fatal(err)
	}
	file := func(content *spool.File, title string, weak bool) MergeInput {
		return MergeInput{PDFFile: PDFFile{Content: content}, Title: title, Weak: weak}
	}
	path, changes := mergedWith(t, []MergeInput{file(titled, "weak", true), file(titled, "strong", false), partOf("named", 1), file(archived, "", true)}, MergeAdditions{Contents: true})
	screenshots(t, path, "titles")
	want := regexp.MustCompile(`Tïtle +🎉 +of metadata +2\n+strong +3\n+named +4\n+Document 4 +5\n`)
	if text := pagesText(t, path)[0]; !want.MatchString(text) {
		t.Errorf("the contents are\n%s", text)
	}
	if outline := pdftest.Tool(t, "mutool", "show", path, "outline"); !strings.Contains(outline, "of metadata\"") || !strings.Contains(outline, "\"Document 4\"") {
		t.Errorf("the outline is\n%s", outline)
	}
	if len(changes) != 1 || !strings.Contains(changes[0], "PDF/A") {
		t.Errorf("changes %q, want that of the claim", changes)
	}
}

// TestMergePageNumbersAvoidText has text at the bottom: the number is in the next free place.
func TestMergePageNumbersAvoidText(t *testing.T) {
	t.Parallel()
	// The text is at (50, 25) as displayed, and covers the middle.
	part := func(text, turn string) MergeInput {
		at := map[string]string{"": "1 0 0 1 120 25", "/Rotate 90": "0 1 -1 0 275 80"}[turn]
		s := pdftest.Source{Pages: []string{") Tj ET BT /F1 12 Tf " + at + " Tm (" + text}, Page: func(int) string { return "/MediaBox [0 0 300 300] " + turn }}
		return MergeInput{PDFFile: PDFFile{Content: spool.FromBytes(s.Write())}}
	}
	places := []pdf.Position{pdf.Bottom, pdf.BottomRight}
	path, changes := mergedWith(t, []MergeInput{part("footer text", ""), part("x", "/Rotate 90"), part(strings.Repeat("wide text ", 4), "")}, MergeAdditions{PageNumbers: places})
	screenshots(t, path, "numbers")
	var got []string
	for _, word := range regexp.MustCompile(`xMin="(\d+).*yMin="(\d+).*>(\d)</word>`).FindAllStringSubmatch(pdftest.Tool(t, "pdftotext", "-bbox", path, "-"), -1) {
		got = append(got, strings.Join(word[1:], " "))
	}
	if want := []string{"259 268 1", "147 268 2", "147 268 3"}; !slices.Equal(got, want) {
		t.Errorf("the numbers are at %q, want %q", got, want)
	}
	if len(changes) != 1 || !strings.Contains(changes[0], "on these pages: 3.") {
		t.Errorf("changes %q", changes)
	}
}

// TestMergePageNumbers numbers documents without a table of contents, of which the third cannot be opened.
func TestMergePageNumbers(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	path, _ := mergedWith(t, []MergeInput{partOf("", 1), partOf("", 2)}, MergeAdditions{PageNumbers: []pdf.Position{pdf.Bottom}})
	for i, text := range pagesText(t, path) {
		if words := strings.Fields(text); words[len(words)-1] != strconv.Itoa(i+1) {
			t.Errorf("page %d: %q", i+1, text)
		}
	}
	damaged := MergeInput{PDFFile: PDFFile{Content: spool.FromBytes([]byte("%PDF-1.7\nnothing"))}}
	_, _, err := start(t, Config{}).For("merge").MergePDFsWith(t.Context(), []MergeInput{partOf("", 1), partOf("", 1), damaged}, MergeAdditions{Contents: true})
	var failed *job.Error
	if !errors.As(err, &failed) || failed.Input != 2 || failed.Kind != job.Damaged {
		t.Errorf("got %v", err)
	}
}

func TestContentsDirection(t *testing.T) {
	for title, want := range map[string]string{"שלום": `dir="rtl"`, "1. مرحبا": `dir="rtl"`, "Hello שלום": `dir="ltr"`} {
		if page := contentsHTML([]MergeInput{{Title: title}}, []int{1}, 1, 400); !strings.Contains(page, want) {
			t.Errorf("%q: want %s in %.60s", title, want, page)
		}
	}
}
