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
	"strings"
	"testing"

	"relaypdf/render/office"
	"relaypdf/render/spool"
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

// noise is a picture that compresses badly, as a data address.
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
	t.Parallel()
	r := start(t, Config{OfficeSlots: 1})
	account := r.For("acct_1")
	dir := t.TempDir()
	convert := func(t *testing.T, name string, content []byte, to ConvertTarget, how ConvertPrint) (string, []byte, error) {
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
	two := []byte(`{\rtf1 first\page second}`)
	turned, level := true, office.Print{}
	level.Landscape = &turned
	fitted := office.Print{}
	fitted.FitToWidth = true
	named, numbered := office.Print{}, office.Print{}
	named.Sheets, numbered.Sheets = []any{"Costs"}, []any{1}
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
		{"fit to width", "a.xlsx", sheet, ConvertPrint{Print: fitted}, "income29", "", "2", ""},
		{"landscape sheet", "a.xlsx", sheet, ConvertPrint{Print: level}, "costs", "", "", "841.89 x 595.3"},
		{"landscape text", "a.rtf", two, ConvertPrint{Print: level}, "second", "", "2", "792 x 612"},
		{"page ranges", "a.rtf", two, ConvertPrint{PageRanges: "last"}, "second", "first", "1", ""},
		{"page ranges of HTML", "a.html", []byte(`first<p style="break-before: page">second`), ConvertPrint{PageRanges: "1"}, "first", "second", "1", ""},
		{"HTML", "a.html", []byte(`<style>@page { size: A5 }</style><div style="display: flex"><b>left</b><b>right</b></div>`), ConvertPrint{}, "leftright", "", "1", "420 x 594.96"},
		{"Markdown", "a.md", []byte("> [!NOTE]\n> alert"), ConvertPrint{}, "Note", "[!NOTE]", "1", ""},
	} {
		path, _, err := convert(t, test.name, test.content, ConvertPDF, test.how)
		if err != nil {
			t.Errorf("%s: %v", test.what, err)
			continue
		}
		text := strings.Join(strings.Fields(tool(t, "pdftotext", path, "-")), " ")
		if !strings.Contains(text, test.want) || test.lack != "" && strings.Contains(text, test.lack) {
			t.Errorf("%s: the text is %.300q, want %q and no %q", test.what, text, test.want, test.lack)
		}
		about := tool(t, "pdfinfo", path)
		if !strings.Contains(about, "Page size:       "+test.size) || test.pages != "" && !strings.Contains(about, "Pages:           "+test.pages+"\n") {
			t.Errorf("%s: want %s pages of %s:\n%s", test.what, test.pages, test.size, about)
		}
	}
	for _, wrong := range []any{"Profit", 3, 0} {
		how := office.Print{}
		how.Sheets = []any{wrong}
		_, _, err := convert(t, "a.xlsx", sheet, ConvertPDF, ConvertPrint{Print: how})
		var failed *ConvertError
		if !errors.As(err, &failed) || failed.Reason != ConvertNoSuchSheet || !strings.Contains(failed.Detail, "Costs") {
			t.Errorf("sheet %v: %v", wrong, err)
		}
	}
	path, _, err := convert(t, "a.rtf", two, ConvertPDF, ConvertPrint{Password: "geheim"})
	if err != nil {
		t.Fatal(err)
	}
	if text := tool(t, "pdftotext", "-upw", "geheim", path, "-"); !strings.Contains(text, "second") {
		t.Errorf("the protected PDF has the text %q", text)
	}
	_, archived, err := convert(t, "a.rtf", two, ConvertPDF, ConvertPrint{Print: office.Print{PDFA: 2}})
	if err != nil || !bytes.Contains(archived, []byte("<pdfaid:part>2</pdfaid:part>")) {
		t.Errorf("no PDF/A-2: %v", err)
	}
	if _, _, err := convert(t, "a.md", []byte("a"), ConvertPDF, ConvertPrint{Print: office.Print{PDFA: 2}}); err == nil {
		t.Error("Markdown became PDF/A")
	}
	_, photo, err := convert(t, "a.html", []byte(`<img src="`+noise(t)+`">`), ConvertDOCX, ConvertPrint{})
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, quality := range []int{10, 95} {
		_, body, err := convert(t, "a.docx", photo, ConvertPDF, ConvertPrint{Print: office.Print{Quality: quality}})
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(body))
	}
	if sizes[0]*2 > sizes[1] {
		t.Errorf("quality 10 and 95 make %d bytes", sizes)
	}
	testPageSizeOfPDF(t, account, convert)
}

// testPageSizeOfPDF shows that a PDF keeps the size of its pages on the way to
// Word and back.
func testPageSizeOfPDF(t *testing.T, account *Account, convert func(*testing.T, string, []byte, ConvertTarget, ConvertPrint) (string, []byte, error)) {
	t.Helper()
	doc, err := account.PDF(t.Context(), Source{HTML: "wide"}, Page{}, PDF{Width: 7, Height: 5})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(doc.Body.Open())
	if err := errors.Join(err, doc.Body.Close()); err != nil {
		t.Fatal(err)
	}
	_, word, err := convert(t, "a.pdf", body, ConvertDOCX, ConvertPrint{})
	if err != nil {
		t.Fatal(err)
	}
	path, _, err := convert(t, "a.docx", word, ConvertPDF, ConvertPrint{})
	if err != nil {
		t.Fatal(err)
	}
	var width, height float64
	for line := range strings.Lines(tool(t, "pdfinfo", path)) {
		if size, ok := strings.CutPrefix(line, "Page size:"); ok {
			if _, err := fmt.Sscanf(size, "%f x %f", &width, &height); err != nil {
				t.Fatal(err)
			}
		}
	}
	if width < 503 || width > 505 || height < 359 || height > 361 {
		t.Errorf("the page has %v x %v points, want 504 x 360", width, height)
	}
}
