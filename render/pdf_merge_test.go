package render

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"relaypdf/render/pdf"
	"relaypdf/render/pdf/pdftest"
	"relaypdf/render/spool"
)

// mergedWith merges documents with additions, and returns the result and the path of its file.
func mergedWith(t *testing.T, inputs []MergeInput, add MergeAdditions) (path string) {
	t.Helper()
	made, err := start(t, Config{}).For("merge").MergePDFsWith(t.Context(), inputs, add)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(made.Open())
	if err := errors.Join(err, made.Close()); err != nil {
		t.Fatal(err)
	}
	path = pdftest.Save(t, content)
	pdftest.Tool(t, "qpdf", "--check", path)
	return path
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
	path := mergedWith(t, inputs, MergeAdditions{Contents: true, PageNumbers: true})
	if dir := os.Getenv("SCREENSHOTS"); dir != "" {
		pdftest.Tool(t, "pdftoppm", "-png", "-r", "100", path, filepath.Join(dir, "contents"))
	}
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
	first := []int{2, 3, 5, 8, 9, 11, 14}
	for i, page := range first {
		annotation := pdftest.Tool(t, "mutool", "show", path, fmt.Sprintf("pages/1/Annots/%d", i+1))
		ref, _, _ := strings.Cut(pdftest.Tool(t, "mutool", "show", path, fmt.Sprintf("pages/%d", page)), " ")
		if !strings.Contains(annotation, "/Dest [ "+ref+" 0 R /XYZ") || strings.Contains(annotation, pdf.ContentsURL) {
			t.Errorf("link %d does not lead to page %d, object %s:\n%s", i+1, page, ref, annotation)
		}
	}
	outline := pdftest.Tool(t, "mutool", "show", path, "outline")
	for _, want := range []string{"\"Contents\"", "\"Annual report\"", titles[1], "\"Document 5\""} {
		if !strings.Contains(outline, want) {
			t.Errorf("the outline lacks %s:\n%s", want, outline)
		}
	}
}

// TestMergeContentsOfMany has a table of contents of several pages, with the right numbers.
func TestMergeContentsOfMany(t *testing.T) {
	t.Parallel()
	const parts = 500
	var inputs []MergeInput
	for i := range parts {
		inputs = append(inputs, partOf(fmt.Sprintf("Part %d of the collection", i+1), 1))
	}
	path := mergedWith(t, inputs, MergeAdditions{Contents: true})
	pages := pagesText(t, path)
	own := len(pages) - parts
	if own < 5 {
		t.Fatalf("%d pages of contents", own)
	}
	rows := regexp.MustCompile(`Part (\d+) of the collection +(\d+)\n`).FindAllStringSubmatch(strings.Join(pages[:own], ""), -1)
	if len(rows) != parts {
		t.Errorf("%d rows, want %d", len(rows), parts)
	}
	for i, row := range rows {
		if row[1] != strconv.Itoa(i+1) || row[2] != strconv.Itoa(own+i+1) {
			t.Errorf("row %d of %d pages: %q", i+1, own, row)
		}
	}
}

// TestMergePageNumbers numbers documents without a table of contents, of which the third cannot be opened.
func TestMergePageNumbers(t *testing.T) {
	t.Parallel()
	path := mergedWith(t, []MergeInput{partOf("", 1), partOf("", 2)}, MergeAdditions{PageNumbers: true})
	for i, text := range pagesText(t, path) {
		if words := strings.Fields(text); words[len(words)-1] != strconv.Itoa(i+1) {
			t.Errorf("page %d: %q", i+1, text)
		}
	}
	damaged := MergeInput{PDFFile: PDFFile{Content: spool.FromBytes([]byte("%PDF-1.7\nnothing"))}}
	_, err := start(t, Config{}).For("merge").MergePDFsWith(t.Context(), []MergeInput{partOf("", 1), partOf("", 1), damaged}, MergeAdditions{Contents: true})
	var failed *pdf.Error
	if !errors.As(err, &failed) || failed.Input != 2 || failed.Kind != pdf.Damaged {
		t.Errorf("got %v", err)
	}
}

func TestContentsDirection(t *testing.T) {
	for title, want := range map[string]string{"שלום": `dir="rtl"`, "1. مرحبا": `dir="rtl"`, "Hello שלום": `dir="ltr"`} {
		if page := contentsHTML([]MergeInput{{Title: title}}, []int{1}, 1); !strings.Contains(page, want) {
			t.Errorf("%q: want %s in %.60s", title, want, page)
		}
	}
}
