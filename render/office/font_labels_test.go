package office

import (
	"fmt"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// listed is a docx with a list for each level, which is its only one, and a paragraph in each list.
func listed(t testing.TB, mark string, levels ...string) []byte {
	t.Helper()
	var lists, numbers, body strings.Builder
	for i, level := range levels {
		fmt.Fprintf(&lists, `<w:abstractNum w:abstractNumId="%d"><w:lvl w:ilvl="0"><w:start w:val="1"/>%s</w:lvl></w:abstractNum>`, i, level)
		fmt.Fprintf(&numbers, `<w:num w:numId="%d"><w:abstractNumId w:val="%d"/></w:num>`, i+1, i)
		fmt.Fprintf(&body, `<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="%d"/></w:numPr>%s</w:pPr>%s</w:p>`, i+1, mark, wordRun("Liberation Serif", "item"))
	}
	// A list without paragraphs draws nothing.
	fmt.Fprintf(&lists, `<w:abstractNum w:abstractNumId="99"><w:lvl w:ilvl="0"><w:start w:val="1"/>%s</w:lvl></w:abstractNum>`, level("bullet", "x", "Nowhere Unused"))
	numbers.WriteString(`<w:num w:numId="99"><w:abstractNumId w:val="99"/></w:num>`)

	content := withPart(t, docx(t, body.String(), ""), part{"word/numbering.xml", `<?xml version="1.0"?><w:numbering xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">` + lists.String() + numbers.String() + `</w:numbering>`})
	content = replacePart(t, content, contentTypes, `</Types>`, `<Override PartName="/word/numbering.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.numbering+xml"/></Types>`)
	return replacePart(t, content, "word/_rels/document.xml.rels", `</Relationships>`, `<Relationship Id="lists" Type="`+officeRelations+`/numbering" Target="numbering.xml"/></Relationships>`)
}

// level is that of a list. Without a font, it has that of the paragraph.
func level(format, text, font string) string {
	if font != "" {
		font = `<w:rPr><w:rFonts w:ascii="` + font + `" w:hAnsi="` + font + `" w:hint="default"/></w:rPr>`
	}
	return `<w:numFmt w:val="` + format + `"/><w:lvlText w:val="` + text + `"/><w:lvlJc w:val="left"/>` + font
}

// bulletsODF is an OpenDocument file with a list in an automatic style.
func bulletsODF(t testing.TB, kind, char, font string) []byte {
	t.Helper()
	const styles = ` xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"`
	list := `<office:automatic-styles><text:list-style` + styles + ` style:name="L1"><text:list-level-style-bullet text:level="1" text:bullet-char="` + char + `">` +
		`<style:text-properties xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" fo:font-family="'` + font + `'"/></text:list-level-style-bullet></text:list-style></office:automatic-styles>`
	item := `<text:list text:style-name="L1"><text:list-item><text:p>item</text:p></text:list-item></text:list>`
	if kind == "text" {
		return opened(t, kind, list+openedText(item))
	}
	return opened(t, kind, list+`<office:body><office:presentation><draw:page draw:name="one"><draw:frame svg:x="1cm" svg:y="1cm" svg:width="9cm" svg:height="2cm"><draw:text-box>`+item+
		`</draw:text-box></draw:frame></draw:page></office:presentation></office:body>`)
}

// TestMissingFontsOfBullets has text in an installed font, and bullets and numbers in others. OpenSymbol has some
// bullets of Wingdings, and boxes for others.
func TestMissingFontsOfBullets(t *testing.T) {
	t.Parallel()
	const mark = `<w:rPr><w:rFonts w:ascii="Nowhere Mark" w:hAnsi="Nowhere Mark"/></w:rPr>`
	testFontsMissing(t, map[string]fontSource{
		"installed.docx": {listed(t, "", level("bullet", "–", "Liberation Sans"), level("bullet", "o", "Courier New"), level("decimal", "%1.", "Arial"), level("decimal", "%1.", "")), ""},
		"symbols.docx":   {listed(t, "", level("bullet", "\uf0b7", "Symbol"), level("bullet", "\uf0a7", "Wingdings"), level("bullet", "\uf0d8", "Wingdings"), level("bullet", "\uf0fc", "Wingdings")), ""},
		"box.docx":       {listed(t, "", level("bullet", "\uf024", "Wingdings"), level("bullet", "\uf0a7", "Wingdings")), "Wingdings"},
		"bullet.docx":    {listed(t, "", level("bullet", "-", "Nowhere Bullet")), "Nowhere Bullet"},
		"number.docx":    {listed(t, "", level("decimal", "%1.", "Nowhere Number")), "Nowhere Number"},
		"mark.docx":      {listed(t, mark, level("decimal", "%1.", "")), "Nowhere Mark"},
		"own.docx":       {listed(t, mark, level("decimal", "%1.", "Arial"), level("none", "", "Nowhere None")), ""},
		"bullet.odt":     {bulletsODF(t, "text", "•", "Nowhere Bullet"), "Nowhere Bullet"},
		"symbol.odt":     {bulletsODF(t, "text", "\uf0a7", "Wingdings"), ""},
		"bullet.odp":     {bulletsODF(t, "presentation", "•", "Nowhere Bullet"), "Nowhere Bullet"},
		"symbol.odp":     {bulletsODF(t, "presentation", "\uf0a7", "Wingdings"), ""},
		"bullet.rtf": {[]byte(`{\rtf1\ansi{\fonttbl{\f0 Liberation Serif;}{\f1 Nowhere Bullet;}}{\*\listtable{\list\listtemplateid1{\listlevel\levelnfc23\leveljc0\levelstartat1\levelfollow0{\leveltext\'01-;}{\levelnumbers;}\f1\fi-360\li720}\listid1}}` +
			`{\*\listoverridetable{\listoverride\listid1\listoverridecount0\ls1}}\pard\ls1\ilvl0\f0 item\par}`), "Nowhere Bullet"},
	})
}

// chartXML is a chart of Office Open XML. Its labels and its axis have fonts; hidden hides both.
func chartXML(labels, axis string, hidden bool) string {
	font := func(name string) string {
		return `<c:txPr><a:bodyPr/><a:p><a:pPr><a:defRPr><a:latin typeface="` + name + `"/></a:defRPr></a:pPr></a:p></c:txPr>`
	}
	show, position := "1", "nextTo"
	if hidden {
		show, position = "0", "none"
	}
	return `<?xml version="1.0"?><c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><c:chart><c:autoTitleDeleted val="1"/><c:plotArea><c:layout/>` +
		`<c:barChart><c:barDir val="col"/><c:grouping val="clustered"/><c:ser><c:idx val="0"/><c:order val="0"/><c:dLbls>` + font(labels) +
		`<c:showLegendKey val="0"/><c:showVal val="` + show + `"/><c:showCatName val="0"/><c:showSerName val="0"/><c:showPercent val="0"/><c:showBubbleSize val="0"/></c:dLbls>` +
		`<c:cat><c:strLit><c:ptCount val="2"/><c:pt idx="0"><c:v>a</c:v></c:pt><c:pt idx="1"><c:v>b</c:v></c:pt></c:strLit></c:cat>` +
		`<c:val><c:numLit><c:ptCount val="2"/><c:pt idx="0"><c:v>4</c:v></c:pt><c:pt idx="1"><c:v>7</c:v></c:pt></c:numLit></c:val></c:ser><c:axId val="1"/><c:axId val="2"/></c:barChart>` +
		`<c:catAx><c:axId val="1"/><c:scaling/><c:delete val="0"/><c:axPos val="b"/><c:tickLblPos val="` + position + `"/>` + font(axis) + `<c:crossAx val="2"/></c:catAx>` +
		`<c:valAx><c:axId val="2"/><c:scaling/><c:delete val="1"/><c:axPos val="l"/>` + font("Nowhere Deleted") + `<c:crossAx val="1"/></c:valAx></c:plotArea></c:chart></c:chartSpace>`
}

const chartType = "application/vnd.openxmlformats-officedocument.drawingml.chart+xml"

// chartGraphic is the element of a drawing that shows the chart of a relation.
const chartGraphic = `<a:graphic xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/chart">` +
	`<c:chart xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" xmlns:r="` + officeRelations + `" r:id="chart"/></a:graphicData></a:graphic>`

// withChart is a docx with a chart.
func withChart(t testing.TB, chart string) []byte {
	t.Helper()
	content := withPart(t, docx(t, `<w:p><w:r><w:drawing><wp:inline><wp:extent cx="4000000" cy="3000000"/><wp:docPr id="1" name="chart"/>`+chartGraphic+`</wp:inline></w:drawing></w:r></w:p>`, ""), part{"word/charts/chart1.xml", chart})
	content = replacePart(t, content, contentTypes, `</Types>`, `<Override PartName="/word/charts/chart1.xml" ContentType="`+chartType+`"/></Types>`)
	return replacePart(t, content, "word/_rels/document.xml.rels", `</Relationships>`, `<Relationship Id="chart" Type="`+officeRelations+`/chart" Target="charts/chart1.xml"/></Relationships>`)
}

// chartSheet is a spreadsheet with a chart.
func chartSheet(t testing.TB, chart string) []byte {
	t.Helper()
	content := xlsx(t, `<row r="1"><c r="A1"><v>1</v></c></row>`, part{"xl/charts/chart1.xml", chart},
		part{"xl/worksheets/_rels/sheet1.xml.rels", relationshipsOpen + `<Relationship Id="drawing" Type="` + officeRelations + `/drawing" Target="../drawings/drawing1.xml"/></Relationships>`},
		part{"xl/drawings/_rels/drawing1.xml.rels", relationshipsOpen + `<Relationship Id="chart" Type="` + officeRelations + `/chart" Target="../charts/chart1.xml"/></Relationships>`},
		part{"xl/drawings/drawing1.xml", `<?xml version="1.0"?><xdr:wsDr xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing"><xdr:twoCellAnchor>` +
			`<xdr:from><xdr:col>1</xdr:col><xdr:colOff>0</xdr:colOff><xdr:row>1</xdr:row><xdr:rowOff>0</xdr:rowOff></xdr:from><xdr:to><xdr:col>7</xdr:col><xdr:colOff>0</xdr:colOff><xdr:row>16</xdr:row><xdr:rowOff>0</xdr:rowOff></xdr:to>` +
			`<xdr:graphicFrame><xdr:nvGraphicFramePr><xdr:cNvPr id="2" name="chart"/><xdr:cNvGraphicFramePr/></xdr:nvGraphicFramePr><xdr:xfrm/>` + chartGraphic + `</xdr:graphicFrame><xdr:clientData/></xdr:twoCellAnchor></xdr:wsDr>`})
	content = replacePart(t, content, contentTypes, `</Types>`, `<Override PartName="/xl/charts/chart1.xml" ContentType="`+chartType+`"/>`+
		`<Override PartName="/xl/drawings/drawing1.xml" ContentType="application/vnd.openxmlformats-officedocument.drawing+xml"/></Types>`)
	return replacePart(t, content, "xl/worksheets/sheet1.xml", `</sheetData>`, `</sheetData><drawing xmlns:r="`+officeRelations+`" r:id="drawing"/>`)
}

// chartSlides is a presentation with a chart that has labels in a font.
func chartSlides(t testing.TB, font string) []byte {
	t.Helper()
	body := `<office:automatic-styles><style:style style:name="s" style:family="chart"><style:chart-properties chart:data-label-number="value"/><style:text-properties fo:font-family="'` + font + `'"/></style:style></office:automatic-styles>` +
		`<office:body><office:chart><chart:chart chart:class="chart:bar" svg:width="9cm" svg:height="7cm"><chart:plot-area><chart:series chart:style-name="s" chart:class="chart:bar" chart:values-cell-range-address="local-table.$B$2:.$B$3"><chart:data-point chart:repeated="2"/></chart:series></chart:plot-area>` +
		`<table:table table:name="local-table"><table:table-header-columns><table:table-column/></table:table-header-columns><table:table-columns><table:table-column/></table:table-columns>` +
		`<table:table-header-rows><table:table-row><table:table-cell/><table:table-cell office:value-type="string"><text:p>n</text:p></table:table-cell></table:table-row></table:table-header-rows><table:table-rows>` +
		strings.Repeat(`<table:table-row><table:table-cell office:value-type="string"><text:p>a</text:p></table:table-cell><table:table-cell office:value-type="float" office:value="4"><text:p>4</text:p></table:table-cell></table:table-row>`, 2) +
		`</table:table-rows></table:table></chart:chart></office:chart></office:body>`
	chart := strings.Replace(partOf(t, opened(t, "chart", body), "content.xml"), `<office:document-content `, `<office:document-content xmlns:chart="urn:oasis:names:tc:opendocument:xmlns:chart:1.0"`+
		` xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" `, 1)
	content := opened(t, "presentation", `<office:body><office:presentation><draw:page draw:name="one"><draw:frame svg:x="1cm" svg:y="1cm" svg:width="9cm" svg:height="7cm"><draw:object xlink:href="./Object 1" xlink:type="simple"/></draw:frame></draw:page></office:presentation></office:body>`,
		part{"Object 1/content.xml", chart})
	return replacePart(t, content, "META-INF/manifest.xml", `</manifest:manifest>`, `<manifest:file-entry manifest:full-path="Object 1/" manifest:media-type="`+openDocument+`chart"/></manifest:manifest>`)
}

// TestMissingFontsOfCharts has labels in missing fonts, and labels that are not shown.
func TestMissingFontsOfCharts(t *testing.T) {
	t.Parallel()
	shown, hidden := chartXML("Nowhere Label", "Nowhere Axis", false), chartXML("Nowhere Label", "Nowhere Axis", true)
	testFontsMissing(t, map[string]fontSource{
		"shown.docx":     {withChart(t, shown), "Nowhere Axis, Nowhere Label"},
		"hidden.docx":    {withChart(t, hidden), ""},
		"installed.docx": {withChart(t, chartXML("Arial", "Calibri", false)), ""},
		"shown.xlsx":     {chartSheet(t, shown), "Nowhere Axis, Nowhere Label"},
		"hidden.xlsx":    {chartSheet(t, hidden), ""},
		"shown.odp":      {chartSlides(t, "Nowhere Label"), "Nowhere Label"},
	})
}

// TestMissingFontsOfLabelsInOtherFormats has LibreOffice write the same in other formats.
func TestMissingFontsOfLabelsInOtherFormats(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	chart := chartXML("Nowhere Label", "Nowhere Axis", false)
	slides, list := bulletsODF(t, "presentation", "•", "Nowhere Bullet"), listed(t, "", level("bullet", "-", "Nowhere Bullet"))
	testFontsMissingOfMade(t, map[string]madeSource{
		"a.odt":     {withChart(t, chart), "a.docx", "writer8", "Nowhere Axis, Nowhere Label"},
		"a.ods":     {chartSheet(t, chart), "a.xlsx", "calc8", "Nowhere Axis, Nowhere Label"},
		"a.pptx":    {chartSlides(t, "Nowhere Label"), "a.odp", "Impress MS PowerPoint 2007 XML", "Nowhere Label"},
		"list.pptx": {slides, "a.odp", "Impress MS PowerPoint 2007 XML", "Nowhere Bullet"},
		"list.ppt":  {slides, "a.odp", "MS PowerPoint 97", "Nowhere Bullet"},
		"list.doc":  {list, "a.docx", "MS Word 97", "Nowhere Bullet"},
	})
}
