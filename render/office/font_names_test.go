package office

import (
	"encoding/binary"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/engine"
)

// fontsMissing returns the fonts that a conversion to PDF warns of.
func fontsMissing(t testing.TB, p *Pool, content []byte, c Conversion) (names []string) {
	t.Helper()
	c.To = ToPDF
	_, made := convertIn(t, p, content, c)
	for _, w := range made.Warnings {
		name, rest, found := strings.Cut(strings.TrimPrefix(w.Message, "font "), " is not available, so text uses another font. ")
		if w.Code != fontMissing || !found || !strings.HasPrefix(rest, "GET /v1/fonts lists the fonts") {
			t.Errorf("%s: %s: %s", c.Name, w.Code, w.Message)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// fontSource is a document, and the fonts that its conversion warns of.
type fontSource struct {
	content []byte
	want    string
}

// testFontsMissing converts documents by their file names.
func testFontsMissing(t *testing.T, sources map[string]fontSource) {
	t.Helper()
	for name, c := range sources {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(fontsMissing(t, pool, c.content, Conversion{Name: name}), ", "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// madeSource is a document from which LibreOffice makes one of another format, by a filter.
type madeSource struct {
	content              []byte
	source, filter, want string
}

// testFontsMissingOfMade converts the documents that LibreOffice makes, by their file names.
func testFontsMissingOfMade(t *testing.T, sources map[string]madeSource) {
	t.Helper()
	maker := startRaw(t, "")
	for name, c := range sources {
		content := maker.make(t, c.content, c.source, rawJob{Store: map[string]any{"FilterName": c.filter}})
		if got := strings.Join(fontsMissing(t, pool, content, Conversion{Name: name}), ", "); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// wordRun is a run of a docx in a font.
func wordRun(font, text string) string {
	return `<w:r><w:rPr><w:rFonts w:ascii="` + font + `" w:hAnsi="` + font + `" w:cs="` + font + ` CS" w:eastAsia="` + font + ` EA"/></w:rPr><w:t xml:space="preserve">` + text + `</w:t></w:r>`
}

// wordParagraph is a paragraph of a docx in a font.
func wordParagraph(font, text string) string { return `<w:p>` + wordRun(font, text) + `</w:p>` }

// styledSheet is a spreadsheet with two fonts of its own: style 1 has Nowhere Grid, style 2 Nowhere Spare.
func styledSheet(t testing.TB, rows, after string) []byte {
	t.Helper()
	const fill = `<fills count="1"><fill><patternFill patternType="none"/></fill></fills><borders count="1"><border/></borders>`
	font := func(name string) string { return `<font><sz val="11"/><name val="` + name + `"/></font>` }
	book := xlsx(t, rows, part{"xl/styles.xml", `<?xml version="1.0"?><styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><fonts count="3">` +
		font("Liberation Sans") + font("Nowhere Grid") + font("Nowhere Spare") + `</fonts>` + fill + `<cellStyleXfs count="1"><xf/></cellStyleXfs>` +
		`<cellXfs count="3"><xf/><xf fontId="1" applyFont="1"/><xf fontId="2" applyFont="1"/></cellXfs></styleSheet>`})
	book = replacePart(t, book, "xl/_rels/workbook.xml.rels", `</Relationships>`, `<Relationship Id="r8" Type="`+officeRelations+`/styles" Target="styles.xml"/></Relationships>`)
	book = replacePart(t, book, contentTypes, `</Types>`, `<Override PartName="/xl/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/></Types>`)
	return replacePart(t, book, "xl/worksheets/sheet1.xml", `</sheetData>`, `</sheetData>`+after)
}

// openedWith is an OpenDocument file whose automatic styles have fonts: a paragraph style Pn, a text style Tn and a
// cell style Cn for the font of the number n.
func openedWith(t testing.TB, kind, body string, fonts ...string) []byte {
	t.Helper()
	var styles strings.Builder
	for i, font := range fonts {
		for family, name := range map[string]string{"paragraph": "P", "text": "T", "table-cell": "C"} {
			styles.WriteString(`<style:style xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" style:name="` + name + string(rune('0'+i)) + `" style:family="` + family +
				`"><style:text-properties xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" fo:font-family="` + font + `"/></style:style>`)
		}
	}
	return opened(t, kind, `<office:automatic-styles>`+styles.String()+`</office:automatic-styles>`+body)
}

// TestMissingFontsAreWarnedOf has text in fonts that are installed, have a substitute, or are missing, and styles in
// missing fonts without text.
func TestMissingFontsAreWarnedOf(t *testing.T) {
	t.Parallel()
	testFontsMissing(t, map[string]fontSource{
		"installed.docx":  {docx(t, wordParagraph("Liberation Serif", "text")+wordParagraph("DejaVu Sans", "text")+wordParagraph("noto sans", "text"), ""), ""},
		"substitute.docx": {docx(t, wordParagraph("Arial", "a")+wordParagraph("Calibri", "b")+wordParagraph("Cambria", "c")+wordParagraph("Palatino Linotype", "d")+wordParagraph("Georgia", "e"), ""), ""},
		"text.docx":       {docx(t, wordParagraph("Nowhere Slab", "text")+wordParagraph("Arial", "text")+wordParagraph("Nowhere Empty", " ")+`<w:p><w:pPr><w:rPr><w:rFonts w:ascii="Nowhere Mark" w:hAnsi="Nowhere Mark"/></w:rPr></w:pPr></w:p>`, ""), "Nowhere Slab"},
		"hidden.docx":     {docx(t, `<w:p>`+strings.Replace(wordRun("Nowhere Hidden", "text"), "</w:rPr>", "<w:vanish/></w:rPr>", 1)+wordRun("Arial", "x")+`</w:p>`, ""), ""},
		"scripts.docx":    {docx(t, wordParagraph("Arial", "text 1")+wordParagraph("Nowhere", "مرحبا 12")+wordParagraph("Nowhere", "日本語")+wordParagraph("Nowhere Digits", "1,234.50"), ""), "Nowhere CS, Nowhere Digits, Nowhere EA"},
		"table.docx":      {docx(t, `<w:tbl><w:tr><w:tc><w:tbl><w:tr><w:tc>`+wordParagraph("Nowhere Cell", "text")+`</w:tc></w:tr></w:tbl><w:p/></w:tc></w:tr></w:tbl>`+wordParagraph("Arial", "end"), ""), "Nowhere Cell"},
		"box.docx": {docx(t, `<w:p><w:r><w:pict><v:rect style="width:200pt;height:50pt"><v:textbox><w:txbxContent>`+wordParagraph("Nowhere Box", "text")+
			`</w:txbxContent></v:textbox></v:rect></w:pict></w:r></w:p>`, ""), "Nowhere Box"},
		"field.docx":  {docx(t, `<w:p>`+strings.ReplaceAll(wordField("PAGE", "1"), `<w:r>`, strings.TrimSuffix(wordRun("Nowhere Field", ""), `<w:t xml:space="preserve"></w:t></w:r>`))+`</w:p>`, ""), "Nowhere Field"},
		"sheet.xlsx":  {styledSheet(t, `<row r="1"><c r="A1" s="1" t="inlineStr"><is><t>text</t></is></c><c r="B1" s="2"/></row>`, ""), "Nowhere Grid"},
		"number.xlsx": {styledSheet(t, `<row r="1"><c r="A1" s="1"><v>5</v></c></row>`, ""), "Nowhere Grid"},
		"plain.xlsx":  {styledSheet(t, `<row r="1"><c r="A1"><v>5</v></c><c r="B1" s="2"/></row>`, ""), ""},
		"rich.xlsx":   {styledSheet(t, `<row r="1"><c r="A1" t="inlineStr"><is><r><t>plain</t></r><r><rPr><rFont val="Nowhere Rich"/></rPr><t>text</t></r></is></c></row>`, ""), "Nowhere Rich"},
		"header.xlsx": {styledSheet(t, `<row r="1"><c r="A1"><v>5</v></c></row>`, `<headerFooter><oddHeader>&amp;L&amp;"Nowhere Head,Regular"text</oddHeader></headerFooter>`), "Nowhere Head"},
		"text.odt":    {openedWith(t, "text", openedText(`<text:p text:style-name="P0">text <text:span text:style-name="T1">more</text:span></text:p><text:p text:style-name="P2"/>`), "Nowhere Serif", "Liberation Sans", "Nowhere Unused"), "Nowhere Serif"},
		"list.odt":    {openedWith(t, "text", openedText(`<text:p text:style-name="P0">text</text:p><text:p text:style-name="P1">text</text:p>`), "Nowhere One; Nowhere Two", "Nowhere; Arial"), "Nowhere One or Nowhere Two"},
		"sheet.ods":   {openedWith(t, "spreadsheet", `<office:body><office:spreadsheet><table:table table:name="s"><table:table-row><table:table-cell table:style-name="C0" office:value-type="string"><text:p>text</text:p></table:table-cell><table:table-cell table:style-name="C1"/></table:table-row></table:table></office:spreadsheet></office:body>`, "Nowhere Calc", "Nowhere Spare"), "Nowhere Calc"},
		"slides.odp": {openedWith(t, "presentation", `<office:body><office:presentation><draw:page draw:name="one"><draw:frame svg:x="1cm" svg:y="1cm" svg:width="9cm" svg:height="2cm"><draw:text-box><text:p><text:span text:style-name="T0">text</text:span></text:p></draw:text-box></draw:frame>`+
			`<draw:g><draw:custom-shape svg:x="1cm" svg:y="7cm" svg:width="9cm" svg:height="2cm"><text:p><text:span text:style-name="T1">text</text:span></text:p></draw:custom-shape></draw:g></draw:page></office:presentation></office:body>`, "Nowhere Slide", "Nowhere Group"), "Nowhere Group, Nowhere Slide"},
		"text.rtf": {[]byte(`{\rtf1\ansi{\fonttbl{\f0 Arial;}{\f1 Nowhere Rich;}{\f2 Nowhere Unused;}}{\f0 text }{\f1 text}\par}`), "Nowhere Rich"},
		"a.txt":    {[]byte("text مرحبا 日本語 हिन्दी"), ""},
		"a.csv":    {[]byte("text,日本語\n1,2\n"), ""},
	})
}

// TestMissingFontsOfOtherFormats has LibreOffice write documents of Microsoft Office.
func TestMissingFontsOfOtherFormats(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	slides := openedWith(t, "presentation", `<office:body><office:presentation><draw:page draw:name="one"><draw:frame svg:x="1cm" svg:y="1cm" svg:width="9cm" svg:height="2cm"><draw:text-box><text:p><text:span text:style-name="T0">text</text:span></text:p></draw:text-box></draw:frame></draw:page></office:presentation></office:body>`, "Nowhere Slab")
	text := docx(t, wordParagraph("Nowhere Slab", "text"), "")
	sheet := styledSheet(t, `<row r="1"><c r="A1" s="1"><v>5</v></c></row>`, "")
	testFontsMissingOfMade(t, map[string]madeSource{
		"a.pptx": {slides, "a.odp", "Impress MS PowerPoint 2007 XML", "Nowhere Slab"},
		"a.ppt":  {slides, "a.odp", "MS PowerPoint 97", "Nowhere Slab"},
		"a.doc":  {text, "a.docx", "MS Word 97", "Nowhere Slab"},
		"a.xls":  {sheet, "a.xlsx", "MS Excel 97", "Nowhere Grid"},
	})
}

// TestEmbeddedFontsAreAvailable embeds a font under a name that this machine lacks.
func TestEmbeddedFontsAreAvailable(t *testing.T) {
	t.Parallel()
	pool := New(Config{Engine: engine.Config{Size: 1}})
	defer pool.Close()
	file, err := exec.CommandContext(t.Context(), "fc-match", "--format=%{file}", "Liberation Mono").Output()
	if err != nil {
		t.Fatal(err)
	}
	font, err := os.ReadFile(string(file))
	if err != nil {
		t.Fatal(err)
	}
	wide := func(text string) string {
		var out []byte
		for _, unit := range utf16.Encode([]rune(text)) {
			out = binary.BigEndian.AppendUint16(out, unit)
		}
		return string(out)
	}
	renamed := strings.NewReplacer(wide("Liberation"), wide("Liberatoin"), "Liberation", "Liberatoin").Replace(string(font))

	const face = `<office:font-face-decls><style:font-face xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" style:name="Liberatoin Mono" svg:font-family="'Liberatoin Mono'">` +
		`<svg:font-face-src><svg:font-face-uri xlink:href="Fonts/f.ttf" xlink:type="simple"><svg:font-face-format svg:string="truetype"/></svg:font-face-uri></svg:font-face-src></style:font-face></office:font-face-decls>`
	plain := openedWith(t, "text", openedText(`<text:p text:style-name="P0">text</text:p>`), "Liberatoin Mono")
	content := replacePart(t, withPart(t, plain, part{"Fonts/f.ttf", renamed}), "content.xml", `<office:automatic-styles>`, face+`<office:automatic-styles>`)
	content = replacePart(t, content, "META-INF/manifest.xml", `</manifest:manifest>`, `<manifest:file-entry manifest:full-path="Fonts/f.ttf" manifest:media-type="application/x-font-ttf"/></manifest:manifest>`)
	// A document does not see the fonts of the ones before it.
	for _, c := range []struct {
		name    string
		content []byte
		want    string
	}{{"without.odt", plain, "Liberatoin Mono"}, {"with.odt", content, ""}, {"after.odt", plain, "Liberatoin Mono"}} {
		if got := strings.Join(fontsMissing(t, pool, c.content, Conversion{Name: c.name}), ", "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
