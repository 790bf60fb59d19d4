package render

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/office"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/spool"
)

// TestConvertStandards converts documents to PDFs that conform to PDF/UA-1 and PDF/A-2a, as veraPDF sees it, and names
// what prevents the others.
func TestConvertStandards(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	account := start(t, Config{OfficeSlots: 1}).For("standards")
	dir := t.TempDir()
	convert := func(name string, content []byte, how ConvertPrint) (string, []string, error) {
		if how.Metadata.Title = "Named"; how.Standards == nil {
			how.Standards = []pdffile.Standard{pdffile.UA1, pdffile.A2A}
		}
		made, err := account.Convert(t.Context(), Conversion{Content: spool.FromBytes(content), Name: name, To: office.ToPDF, Print: how})
		if err != nil {
			return "", nil, err
		}
		defer made.Body.Close()
		body, err := io.ReadAll(made.Body.Open())
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, fmt.Sprintf("%s.%d.pdf", name, len(how.PageRanges)))
		if err := os.WriteFile(path, body, 0o600); err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, w := range made.Warnings {
			texts = append(texts, w.Code+": "+w.Message)
		}
		return path, texts, nil
	}
	word := func(paragraphs string) []byte {
		return packed(t,
			[2]string{"[Content_Types].xml", fmt.Sprintf(ooxmlTypes, fmt.Sprintf(ooxmlPart, "word/document.xml", "wordprocessingml.document.main"))},
			[2]string{"_rels/.rels", fmt.Sprintf(ooxmlLinks, fmt.Sprintf(ooxmlLink, 1, "officeDocument", "word/document.xml"))},
			[2]string{"word/document.xml", `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>` + paragraphs + `</w:body></w:document>`},
		)
	}
	heading := func(level int) string {
		return fmt.Sprintf(`<w:p><w:pPr><w:outlineLvl w:val="%d"/></w:pPr><w:r><w:t>Heading %d 🎉</w:t></w:r></w:p>`, level-1, level)
	}
	const page = `<w:p><w:r><w:br w:type="page"/><w:t>second page</w:t></w:r></w:p>`
	var claims []string
	for _, good := range []struct {
		name    string
		content []byte
		how     ConvertPrint
		pages   string
	}{
		{"good.docx", word(heading(1) + heading(2) + page), ConvertPrint{}, "2"},
		{"part.docx", word(heading(1) + page), ConvertPrint{PageRanges: "2,last"}, "1"},
		{"good.txt", []byte("Some text"), ConvertPrint{}, "1"},
		{"good.html", []byte("<html lang=en><h1>A</h1>"), ConvertPrint{}, "1"},
		{"part.html", []byte(`<html lang=en><h1>A</h1><p style="break-before: page">B`), ConvertPrint{PageRanges: "last"}, "1"},
		{"good.md", []byte("---\nlang: en\n---\n# A"), ConvertPrint{}, "1"},
	} {
		path, warnings, err := convert(good.name, good.content, good.how)
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: warnings %q, %v", good.name, warnings, err)
			continue
		}
		if about := tool(t, "pdfinfo", path); !strings.Contains(about, "Pages:           "+good.pages+"\n") || !strings.Contains(about, "Title:           Named\n") {
			t.Errorf("%s: want %s pages, and a title:\n%s", good.name, good.pages, about)
		}
		claims = append(claims, path)
	}
	for _, flavour := range []string{"ua1", "2a"} {
		for file, rules := range pdftest.VeraPDF(t, flavour, claims...) {
			t.Errorf("%s breaks %s: %q", filepath.Base(file), flavour, rules)
		}
	}
	old, warnings, err := convert("old.docx", word(heading(1)), ConvertPrint{Standards: []pdffile.Standard{pdffile.A1B}})
	if err != nil || len(warnings) > 0 {
		t.Errorf("PDF/A-1b: warnings %q, %v", warnings, err)
	} else if broken := pdftest.VeraPDF(t, "1b", old); len(broken) > 0 {
		t.Errorf("PDF/A-1b is broken: %q", broken)
	}
	bad := word(heading(1) + heading(3))
	const want = "standard_unmet: page 1, H3 \"Heading 3 🎉\": A heading of level 3 follows one of level 1. Use the style Heading 2. The file cannot claim ua-1."
	if _, warnings, err := convert("bad.docx", bad, ConvertPrint{}); err != nil || len(warnings) != 1 || warnings[0] != want {
		t.Errorf("warnings %q, %v", warnings, err)
	}
	_, _, err = convert("bad.docx", bad, ConvertPrint{StandardsStrict: true})
	if strict := (*StandardError)(nil); !errors.As(err, &strict) || len(strict.Faults) != 1 {
		t.Errorf("error %v", err)
	}
	path, warnings, err := convert("a.xlsx", workbook(t), ConvertPrint{})
	if err != nil || len(warnings) > 0 {
		t.Errorf("spreadsheet: warnings %q, %v", warnings, err)
	} else if structure := tool(t, "pdfinfo", "-struct-text", path); !strings.Contains(structure, "TD") || !strings.Contains(structure, "income0") {
		t.Errorf("spreadsheet: the structure is\n%s", structure)
	} else if broken := pdftest.VeraPDF(t, "ua1", path); len(broken) > 0 {
		t.Errorf("spreadsheet: PDF/UA-1 is broken: %q", broken)
	}
	var failed *office.Error
	if _, _, err := convert("a.png", []byte("\x89PNG\r\n\x1a\n"), ConvertPrint{}); !errors.As(err, &failed) || failed.Reason != office.Unstructured {
		t.Errorf("image: %v", err)
	}
}
