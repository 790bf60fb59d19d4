package office

import (
	"archive/zip"
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// part is a file of an archive.
type part struct{ name, content string }

// archiveOf makes a ZIP archive. The first part is stored as it is, as OpenDocument wants it of its type, and says
// its size before it: newer versions of LibreOffice refuse an archive with the size after the content.
func archiveOf(t testing.TB, parts ...part) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i, p := range parts {
		var err error
		if i == 0 {
			err = storePart(z, p)
		} else {
			var w io.Writer
			if w, err = z.Create(p.name); err == nil {
				_, err = io.WriteString(w, p.content)
			}
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

// storePart adds a file without compression.
func storePart(z *zip.Writer, p part) error {
	size := uint64(len(p.content))
	w, err := z.CreateRaw(&zip.FileHeader{
		Name: p.name, Method: zip.Store, CRC32: crc32.ChecksumIEEE([]byte(p.content)), CompressedSize64: size, UncompressedSize64: size,
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, p.content)
	return err
}

const (
	relationshipsOpen = `<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`
	officeRelations   = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
)

// docx is a document with a body, and relations of its main part to others.
func docx(t testing.TB, body, relations string) []byte {
	t.Helper()
	return archiveOf(t,
		part{"[Content_Types].xml", `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
			`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/>` +
			`<Override PartName="/word/settings.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.settings+xml"/></Types>`},
		part{"_rels/.rels", relationshipsOpen + `<Relationship Id="r1" Type="` + officeRelations + `/officeDocument" Target="word/document.xml"/></Relationships>`},
		part{"word/document.xml", `<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"` +
			` xmlns:r="` + officeRelations + `" xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office"` +
			` xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"` +
			` xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"><w:body>` + body + `</w:body></w:document>`},
		part{"word/settings.xml", `<?xml version="1.0"?><w:settings xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="` + officeRelations + `">` +
			`<w:attachedTemplate r:id="template"/></w:settings>`},
		part{"word/_rels/settings.xml.rels", relationshipsOpen + relations + `</Relationships>`},
		part{"word/_rels/document.xml.rels", relationshipsOpen + relations + `<Relationship Id="settings" Type="` + officeRelations + `/settings" Target="settings.xml"/></Relationships>`},
	)
}

// paragraph is one of a docx.
func paragraph(text string) string { return `<w:p><w:r><w:t>` + text + `</w:t></w:r></w:p>` }

// xlsx is a sheet of rows, each of cells that are spelled out.
func xlsx(t testing.TB, rows string, more ...part) []byte {
	t.Helper()
	parts := append([]part{
		{"[Content_Types].xml", `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
			`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>` +
			`<Override PartName="/xl/externalLinks/externalLink1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.externalLink+xml"/>` +
			`<Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>`},
		{"_rels/.rels", relationshipsOpen + `<Relationship Id="r1" Type="` + officeRelations + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		{"xl/workbook.xml", `<?xml version="1.0"?><workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="` + officeRelations + `">` +
			`<sheets><sheet name="One" sheetId="1" r:id="r1"/></sheets><externalReferences><externalReference r:id="r2"/></externalReferences></workbook>`},
		{"xl/_rels/workbook.xml.rels", relationshipsOpen + `<Relationship Id="r1" Type="` + officeRelations + `/worksheet" Target="worksheets/sheet1.xml"/>` +
			`<Relationship Id="r2" Type="` + officeRelations + `/externalLink" Target="externalLinks/externalLink1.xml"/></Relationships>`},
		{"xl/worksheets/sheet1.xml", `<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>` + rows + `</sheetData></worksheet>`},
	}, more...)
	return archiveOf(t, parts...)
}

// opened is an OpenDocument archive of a type, with a body and other parts.
func opened(t testing.TB, kind, body string, more ...part) []byte {
	t.Helper()
	const declared = `<manifest:file-entry manifest:full-path="%s" manifest:media-type="%s"/>`
	manifest := fmt.Sprintf(declared, "/", openDocument+kind) + fmt.Sprintf(declared, "content.xml", "text/xml")
	for _, p := range more {
		manifest += fmt.Sprintf(declared, p.name, "text/xml")
	}
	parts := append([]part{
		{"mimetype", openDocument + kind},
		{"content.xml", `<?xml version="1.0"?><office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"` +
			` xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"` +
			` xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"` +
			` xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" xmlns:script="urn:oasis:names:tc:opendocument:xmlns:script:1.0"` +
			` xmlns:of="urn:oasis:names:tc:opendocument:xmlns:of:1.2" xmlns:ooo="http://openoffice.org/2004/office" xmlns:dom="http://www.w3.org/2001/xml-events" office:version="1.3">` + body + `</office:document-content>`},
		{"META-INF/manifest.xml", `<?xml version="1.0"?><manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" manifest:version="1.3">` +
			manifest + `</manifest:manifest>`},
	}, more...)
	return archiveOf(t, parts...)
}

// openedText is the body of a text document.
func openedText(text string) string {
	return `<office:body><office:text>` + text + `</office:text></office:body>`
}

// textOf returns the text of a PDF, which qpdf must find sound.
func textOf(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.pdf")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "qpdf", "--check", path).CombinedOutput(); err != nil {
		t.Fatalf("qpdf: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), "pdftotext", "-layout", path, "-").CombinedOutput()
	if err != nil {
		t.Fatalf("pdftotext: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestValuesOfContentControls has letters that form fields of a PDF would lose.
func TestValuesOfContentControls(t *testing.T) {
	t.Parallel()
	const long = "This value is so long that it needs more than one line of the page, and no letter of it may be lost."
	control := func(kind, value string) string {
		return `<w:p><w:sdt><w:sdtPr>` + kind + `</w:sdtPr><w:sdtContent><w:r><w:t>` + value + `</w:t></w:r></w:sdtContent></w:sdt></w:p>`
	}
	values := []string{"東京", "Žofie", "Вторая", "2. Januar 2024", "Japan", long}
	body := control(`<w:text/>`, values[0]) + control(`<w:richText/>`, values[1]) + control(`<w:text w:multiLine="1"/>`, values[2]) +
		control(`<w:date><w:dateFormat w:val="d. MMMM yyyy"/></w:date>`, values[3]) +
		control(`<w:dropDownList><w:listItem w:displayText="Japan" w:value="JP"/></w:dropDownList>`, values[4]) + control(`<w:text/>`, values[5])

	made, err := convert(t, pool, docx(t, body, ""), "form.docx", "", ToPDF)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(textOf(t, made)), " ")
	for _, value := range values {
		if !strings.Contains(text, value) {
			t.Errorf("%q is missing in %q", value, text)
		}
	}
	if bytes.Contains(made, []byte("/Widget")) {
		t.Error("the PDF has form fields")
	}
}
