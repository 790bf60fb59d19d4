package render

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/office"
	"github.com/relaypdf/relaypdf/render/spool"
)

// packed makes an archive of files.
func packed(t *testing.T, files ...[2]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, file := range files {
		w, err := z.Create(file[0])
		if err == nil {
			_, err = io.WriteString(w, file[1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

const (
	ooxmlTypes = `<?xml version="1.0" encoding="UTF-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>%s</Types>`
	ooxmlPart  = `<Override PartName="/%s" ContentType="application/vnd.openxmlformats-officedocument.%s+xml"/>`
	ooxmlLinks = `<?xml version="1.0" encoding="UTF-8"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">%s</Relationships>`
	ooxmlLink  = `<Relationship Id="r%d" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%s" Target="%s"/>`
)

// workbook has two sheets: one of many columns, and one of a word.
func workbook(t *testing.T) []byte {
	t.Helper()
	var wide strings.Builder
	for column := range 30 {
		fmt.Fprintf(&wide, `<c t="inlineStr"><is><t>income%d</t></is></c>`, column)
	}
	sheet := `<?xml version="1.0" encoding="UTF-8"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1">%s</row></sheetData></worksheet>`
	return packed(t,
		[2]string{"[Content_Types].xml", fmt.Sprintf(ooxmlTypes, fmt.Sprintf(ooxmlPart, "xl/workbook.xml", "spreadsheetml.sheet.main")+
			fmt.Sprintf(ooxmlPart, "xl/a.xml", "spreadsheetml.worksheet")+fmt.Sprintf(ooxmlPart, "xl/b.xml", "spreadsheetml.worksheet"))},
		[2]string{"_rels/.rels", fmt.Sprintf(ooxmlLinks, fmt.Sprintf(ooxmlLink, 1, "officeDocument", "xl/workbook.xml"))},
		[2]string{"xl/workbook.xml", `<?xml version="1.0" encoding="UTF-8"?><workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" ` +
			`xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="Income" sheetId="1" r:id="r1"/><sheet name="Costs" sheetId="2" r:id="r2"/></sheets></workbook>`},
		[2]string{"xl/_rels/workbook.xml.rels", fmt.Sprintf(ooxmlLinks, fmt.Sprintf(ooxmlLink, 1, "worksheet", "a.xml")+fmt.Sprintf(ooxmlLink, 2, "worksheet", "b.xml"))},
		[2]string{"xl/a.xml", fmt.Sprintf(sheet, wide.String())},
		[2]string{"xl/b.xml", fmt.Sprintf(sheet, `<c t="inlineStr"><is><t>costs</t></is></c>`)},
	)
}

// noise returns an image that compresses badly, as a data URL.
func noise(t *testing.T) string {
	t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, 300, 300))
	random := rand.New(rand.NewPCG(1, 2))
	for i := range picture.Pix {
		picture.Pix[i] = byte(random.Uint32()) | byte(i%4/3*255)
	}
	var out bytes.Buffer
	if err := png.Encode(&out, picture); err != nil {
		t.Fatal(err)
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(out.Bytes())
}

// TestConvertPrint converts documents to PDFs in every way that there is.
func TestConvertPrint(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	r := start(t, Config{OfficeSlots: 1})
	account := r.For("acct_1")
	dir := t.TempDir()
	convert := func(t *testing.T, name string, content []byte, to office.Target, how ConvertPrint) (string, []byte, error) {
		t.Helper()
		made, err := account.Convert(t.Context(), Conversion{Content: spool.FromBytes(content), Name: name, To: to, Print: how})
		if err != nil {
			return "", nil, err
		}
		defer made.Body.Close()
		body, err := io.ReadAll(made.Body.Open())
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.CreateTemp(dir, "made-*."+string(to))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(body); err != nil {
			t.Fatal(err)
		}
		return f.Name(), body, f.Close()
	}
	sheet := workbook(t)
	two, party := []byte(`{\rtf1 first\page second}`), []byte(`{\rtf1 party \u-10180?\u-8311? \u-10180?\u-8448?}`)
	turned, level := true, office.Print{}
	level.Landscape = &turned
	fitted := office.Print{}
	fitted.FitToWidth = true
	named, numbered, formed := office.Print{}, office.Print{}, office.Print{}
	named.Sheets, numbered.Sheets, formed.Sheets = []any{"Costs"}, []any{1}, []any{"1"}
	for _, test := range []struct {
		what, name string
		content    []byte
		how        ConvertPrint
		want, lack string // words
		pages      string // of pdfinfo; empty is any
		size       string // of pdfinfo's page size
	}{
		{"all sheets", "a.xlsx", sheet, ConvertPrint{}, "costs", "", "", ""},
		{"a named sheet", "a.xlsx", sheet, ConvertPrint{Print: named}, "costs", "income0", "1", ""},
		{"a numbered sheet", "a.xlsx", sheet, ConvertPrint{Print: numbered}, "income29", "costs", "", ""},
		{"a sheet numbered in a form", "a.xlsx", sheet, ConvertPrint{Print: formed}, "income29", "costs", "", ""},
		{"fit to width", "a.xlsx", sheet, ConvertPrint{Print: fitted}, "income29", "", "2", ""},
		{"landscape sheet", "a.xlsx", sheet, ConvertPrint{Print: level}, "costs", "", "", "841.89 x 595.3"},
		{"landscape text", "a.rtf", two, ConvertPrint{Print: level}, "second", "", "2", "792 x 612"},
		{"page ranges", "a.rtf", two, ConvertPrint{PageRanges: "last"}, "second", "first", "1", ""},
		{"page ranges of HTML", "a.html", []byte(`first<p style="break-before: page">second`), ConvertPrint{PageRanges: "1"}, "first", "second", "1", ""},
		{"HTML", "a.html", []byte(`<style>@page { size: A5 }</style><div style="display: flex"><b>left</b><b>right</b></div>`), ConvertPrint{}, "leftright", "", "1", "420 x 594.96"},
		{"emoji", "a.rtf", party, ConvertPrint{}, "party 🎉 🌀", "", "1", ""},
		{"Markdown", "a.md", []byte("> [!NOTE]\n> alert"), ConvertPrint{}, "Note", "[!NOTE]", "1", ""},
	} {
		path, _, err := convert(t, test.name, test.content, office.ToPDF, test.how)
		if err != nil {
			t.Errorf("%s: %v", test.what, err)
			continue
		}
		text := strings.Join(strings.Fields(tool(t, "pdftotext", path, "-")), " ")
		if !strings.Contains(text, test.want) || test.lack != "" && strings.Contains(text, test.lack) {
			t.Errorf("%s: the text is %.300q, want %q and no %q", test.what, text, test.want, test.lack)
		}
		if test.what == "emoji" && !strings.Contains(tool(t, "pdffonts", path), "Type 3") {
			t.Errorf("%s: what draws them is not in the PDF:\n%s", test.what, tool(t, "pdffonts", path))
		}
		about := tool(t, "pdfinfo", path)
		if !strings.Contains(about, "Page size:       "+test.size) || test.pages != "" && !strings.Contains(about, "Pages:           "+test.pages+"\n") {
			t.Errorf("%s: want %s pages of %s:\n%s", test.what, test.pages, test.size, about)
		}
	}
	for _, wrong := range []any{"Profit", 3, 0, "3", "0", "-1"} {
		how := office.Print{}
		how.Sheets = []any{wrong}
		_, _, err := convert(t, "a.xlsx", sheet, office.ToPDF, ConvertPrint{Print: how})
		var failed *office.Error
		if !errors.As(err, &failed) || failed.Reason != office.NoSuchSheet || !strings.Contains(failed.Detail, "Costs") {
			t.Errorf("sheet %v: %v", wrong, err)
		}
	}
	path, _, err := convert(t, "a.rtf", two, office.ToPDF, ConvertPrint{Password: "geheim"})
	if err != nil {
		t.Fatal(err)
	}
	if text := tool(t, "pdftotext", "-upw", "geheim", path, "-"); !strings.Contains(text, "second") {
		t.Errorf("the protected PDF has the text %q", text)
	}
	for level := 1; level <= 3; level++ {
		part := []byte("<pdfaid:part>" + strconv.Itoa(level) + "</pdfaid:part>")
		if _, archived, err := convert(t, "a.rtf", party, office.ToPDF, ConvertPrint{Print: office.Print{PDFA: level}}); err != nil || !bytes.Contains(archived, part) {
			t.Errorf("no PDF/A-%d: %v", level, err)
		}
	}
	if _, _, err := convert(t, "a.md", []byte("a"), office.ToPDF, ConvertPrint{Print: office.Print{PDFA: 2}}); err == nil {
		t.Error("Markdown became PDF/A")
	}
	_, photo, err := convert(t, "a.html", []byte(`<img src="`+noise(t)+`">`), office.ToDOCX, ConvertPrint{})
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, quality := range []int{10, 95} {
		_, body, err := convert(t, "a.docx", photo, office.ToPDF, ConvertPrint{Print: office.Print{Quality: quality}})
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(body))
	}
	if sizes[0]*2 > sizes[1] {
		t.Errorf("quality 10 and 95 make %d bytes", sizes)
	}
	testPageSizesOfPDF(t, account, convert)
	testReview(t, convert)
}

// reviewed is a text with a tracked change of each kind and a comment, as Word
// writes them.
func reviewed(t *testing.T) []byte {
	t.Helper()
	const w = ` xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"`
	const by = ` w:author="Ada" w:date="2026-01-02T03:04:05Z"`
	return packed(t,
		[2]string{"[Content_Types].xml", fmt.Sprintf(ooxmlTypes, fmt.Sprintf(ooxmlPart, "word/document.xml", "wordprocessingml.document.main")+
			fmt.Sprintf(ooxmlPart, "word/comments.xml", "wordprocessingml.comments"))},
		[2]string{"_rels/.rels", fmt.Sprintf(ooxmlLinks, fmt.Sprintf(ooxmlLink, 1, "officeDocument", "word/document.xml"))},
		[2]string{"word/_rels/document.xml.rels", fmt.Sprintf(ooxmlLinks, fmt.Sprintf(ooxmlLink, 1, "comments", "comments.xml"))},
		[2]string{"word/comments.xml", `<w:comments` + w + `><w:comment w:id="0"` + by + `><w:p><w:r><w:t>Is this so?</w:t></w:r></w:p></w:comment></w:comments>`},
		[2]string{"word/document.xml", `<w:document` + w + `><w:body><w:p><w:r><w:t xml:space="preserve">kept </w:t></w:r>` +
			`<w:ins w:id="1"` + by + `><w:r><w:t xml:space="preserve">added </w:t></w:r></w:ins><w:del w:id="2"` + by + `><w:r><w:delText xml:space="preserve">taken </w:delText></w:r></w:del>` +
			`<w:commentRangeStart w:id="0"/><w:r><w:t>end</w:t></w:r><w:commentRangeEnd w:id="0"/><w:r><w:commentReference w:id="0"/></w:r></w:p></w:body></w:document>`},
	)
}

// testReview shows that documents with comments convert at all, and that pages show
// what of a review is asked for.
func testReview(t *testing.T, convert func(*testing.T, string, []byte, office.Target, ConvertPrint) (string, []byte, error)) {
	t.Helper()
	word := reviewed(t)
	const rich = `{\rtf1 kept {\*\atrfstart 1}end{\*\atrfend 1}{\*\atnid A}{\*\atnauthor Ada}\chatn{\*\annotation{\*\atnref 1}Is this so?}}`
	for _, test := range []struct {
		what, name string
		content    []byte
		changes    office.Changes
		comments   bool
		want       string // the words
		coloured   bool   // what is tracked stands in a colour
	}{
		{"as it is", "a.docx", word, "", false, "kept added taken end", true},
		{"shown", "a.docx", word, office.ChangesShown, false, "kept added taken end", true},
		{"accepted", "a.docx", word, office.ChangesAccepted, false, "kept added end", false},
		{"rejected", "a.docx", word, office.ChangesRejected, false, "kept taken end", false},
		{"with comments", "a.docx", word, office.ChangesAccepted, true, "kept added end", false},
		{"rich text", "a.rtf", []byte(rich), "", false, "kept end", false},
		{"rich text with comments", "a.rtf", []byte(rich), "", true, "kept end", false},
	} {
		how := office.Print{Comments: test.comments}
		how.Changes = test.changes
		path, _, err := convert(t, test.name, test.content, office.ToPDF, ConvertPrint{Print: how})
		if err != nil {
			t.Errorf("%s: %v", test.what, err)
			continue
		}
		if text := strings.Join(strings.Fields(tool(t, "pdftotext", "-q", path, "-")), " "); text != test.want {
			t.Errorf("%s: the text is %q, want %q", test.what, text, test.want)
		}
		if kept := strings.Contains(tool(t, "qpdf", "--json", path), "u:Is this so?"); kept != test.comments {
			t.Errorf("%s: a note of the comment: %v, want %v", test.what, kept, test.comments)
		}
		coloured, drawn := seen(drawnPage(t, path))
		if coloured != test.coloured {
			t.Errorf("%s: colours on the page: %v, want %v", test.what, coloured, test.coloured)
		}
		// The sign of a note is about 20 grey pixels next to the text.
		if _, bare := seen(drawnPage(t, path, "-hide-annotations")); (drawn > bare) != test.comments {
			t.Errorf("%s: %d pixels are drawn, and %d without notes", test.what, drawn, bare)
		}
	}
}

// seen reports whether a page has colours, and how much of it is drawn on.
func seen(page image.Image) (coloured bool, drawn int) {
	for y := page.Bounds().Min.Y; y < page.Bounds().Max.Y; y++ {
		for x := page.Bounds().Min.X; x < page.Bounds().Max.X; x++ {
			r, g, b, _ := page.At(x, y).RGBA()
			if maximum, minimum := max(r, g, b), min(r, g, b); minimum < 0xf000 {
				drawn++
				coloured = coloured || maximum-minimum > 0x4000
			}
		}
	}
	return coloured, drawn
}

// testPageSizesOfPDF shows that the pages of a PDF keep their sizes, and what stands on
// them, on the way to Word and back.
func testPageSizesOfPDF(t *testing.T, account *Account, convert func(*testing.T, string, []byte, office.Target, ConvertPrint) (string, []byte, error)) {
	t.Helper()
	const page = `<style>@page { size: 7in 5in } @page tall { size: 4in 6in } p { break-after: page } .tall { page: tall }</style>`
	doc, err := account.PDF(t.Context(), Source{HTML: page + `<p>wide<p class=tall>tall<p class=tall>taller<p>again`}, PageSettings{}, PDF{PreferCSSPageSize: true})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(doc.Body.Open())
	if err := errors.Join(err, doc.Body.Close()); err != nil {
		t.Fatal(err)
	}
	_, word, err := convert(t, "a.pdf", body, office.ToDOCX, ConvertPrint{})
	if err != nil {
		t.Fatal(err)
	}
	path, _, err := convert(t, "a.docx", word, office.ToPDF, ConvertPrint{})
	if err != nil {
		t.Fatal(err)
	}
	var sizes []string // in points
	for line := range strings.Lines(tool(t, "pdfinfo", "-f", "1", "-l", "9", path)) {
		var page int
		var width, height float64
		if n, _ := fmt.Sscanf(line, "Page %d size: %f x %f", &page, &width, &height); n == 3 {
			sizes = append(sizes, fmt.Sprintf("%.0fx%.0f", width, height))
		}
	}
	if want := []string{"504x360", "288x432", "288x432", "504x360"}; !slices.Equal(sizes, want) {
		t.Errorf("the pages have %v points, want %v", sizes, want)
	}
	if got, want := strings.Fields(tool(t, "pdftotext", path, "-")), []string{"wide", "tall", "taller", "again"}; !slices.Equal(got, want) {
		t.Errorf("the pages say %q, want %q", got, want)
	}
}

// drawnPage is the first page of a PDF as poppler shows it.
func drawnPage(t *testing.T, path string, options ...string) image.Image {
	t.Helper()
	to := path + ".page"
	tool(t, "pdftoppm", append(options, "-r", "50", "-png", "-singlefile", path, to)...)
	f, err := os.Open(to + ".png")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	page, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// TestConvertWarnsOfFonts has a font that no result can show. Results that name it leave the choice to their reader.
func TestConvertWarnsOfFonts(t *testing.T) {
	t.Parallel()
	account := start(t, Config{OfficeSlots: 1}).For("acct_1")
	for to, warns := range map[office.Target]bool{office.ToPDF: true, office.ToPNG: true, office.ToDOCX: false, office.ToHTML: false} {
		content := spool.FromBytes([]byte(`{\rtf1\ansi{\fonttbl{\f0 Nowhere Slab;}}\f0 text\par}`))
		made, err := account.Convert(t.Context(), Conversion{Content: content, Name: "a.rtf", To: to})
		if err != nil {
			t.Fatal(err)
		}
		if err := made.Body.Close(); err != nil {
			t.Error(err)
		}
		if got := len(made.Warnings) == 1 && made.Warnings[0].Code == chrome.FontMissing && strings.HasPrefix(made.Warnings[0].Message, "font Nowhere Slab is not available"); got != warns {
			t.Errorf("%s: %v", to, made.Warnings)
		}
	}
}
