package office

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/officefile"
	"github.com/relaypdf/relaypdf/render/spool"
)

// calculated is a workbook whose file says something about its calculation.
func calculated(t testing.TB, calculation, rows string) []byte {
	t.Helper()
	return replacePart(t, xlsx(t, rows, part{"docProps/app.xml", `<?xml version="1.0"?>` +
		`<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/extended-properties"><Application>Microsoft Excel</Application></Properties>`}),
		"xl/workbook.xml", `</externalReferences>`, `</externalReferences><calcPr calcId="191029" `+calculation+`/>`)
}

// replacePart replaces a text of a part of an archive.
func replacePart(t testing.TB, content []byte, name, from, to string) []byte {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	var parts []part
	for _, f := range archive.File {
		text := partOf(t, content, f.Name)
		if f.Name == name {
			if !strings.Contains(text, from) {
				t.Fatalf("%s has no %q", name, from)
			}
			text = strings.ReplaceAll(text, from, to)
		}
		parts = append(parts, part{f.Name, text})
	}
	return archiveOf(t, parts...)
}

// partOf returns a part of an archive.
func partOf(t testing.TB, content []byte, name string) string {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	in, err := archive.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// convertWith converts a document with some of Conversion's settings.
func convertWith(t testing.TB, content []byte, c Conversion) ([]byte, ConvertReport) {
	t.Helper()
	return convertIn(t, pool, content, c)
}

// convertIn is convertWith in a pool.
func convertIn(t testing.TB, p *Pool, content []byte, c Conversion) ([]byte, ConvertReport) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts an office")
	}
	source, err := Sniff(bytes.NewReader(content), c.Name)
	if err != nil {
		t.Fatal(err)
	}
	c.Content, c.Source, c.MaxPages, c.MaxBytes = spool.FromBytes(content), source, 2000, 200<<20
	file, made, err := p.Convert(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	result, err := io.ReadAll(file.Open())
	if err != nil {
		t.Fatal(err)
	}
	return result, made
}

// words returns the words of a PDF in one line.
func words(t testing.TB, content []byte) string {
	t.Helper()
	return strings.Join(strings.Fields(textOf(t, content)), " ")
}

// formula is a cell with a formula and a stored result, if it has a type.
func formula(ref, kind, text, stored string) string {
	value := "<v>" + stored + "</v>"
	if kind == "" {
		value = ""
	}
	return `<c r="` + ref + `" t="` + strings.TrimPrefix(kind, "none") + `"><f>` + text + `</f>` + value + `</c>`
}

// modern are formulas that LibreOffice cannot calculate, or calculates differently, with stored results.
var modern = `<row r="1"><c r="A1"><v>40</v></c>` + formula("B1", "n", "A1+2", "7") + formula("C1", "str", "_xlfn.LAMBDA(_xlpm.x,_xlpm.x+1)(2)", "three") +
	formula("D1", "str", "MyCompany.Rate(1)", "rate") + formula("E1", "n", "[1]Sheet1!A1", "777") + formula("F1", "e", "1/0", "#DIV/0!") + `</row>` +
	`<row r="2">` + formula("A2", "e", "_xlfn.SEQUENCE(3)", "#SPILL!") + formula("B2", "n", "TODAY()", "43831") + formula("C2", "b", "NOT(FALSE)", "1") +
	formula("D2", "str", "RAND()&amp;&quot;x&quot;", "drawn") + formula("E2", "str", "HYPERLINK(&quot;https://a.example&quot;,MISSING())", "link") + `</row>` +
	`<row r="3"><c r="A3"><f t="array" ref="A3:A4">_xlfn.TAKE(A1:A2,2)</f><v>51</v></c>` + formula("C3", "", "B1*2", "") + `</row><row r="4"><c r="A4"><v>52</v></c></row>`

const modernText = "40 7 three rate 777 #DIV/0! #SPILL! 43831 TRUE drawn link 51 14 52"

// TestStoredResultsOfFormulas has results in the file that a calculation would not return.
func TestStoredResultsOfFormulas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rows, calculation, text, warning string
		which                            officefile.Recalculation
	}{
		"stored":              {rows: modern, text: modernText},
		"by no known program": {rows: formula("A1", "n", "1+1", "7") + formula("A2", "str", "&quot;x&quot;", ""), text: "7 x"},
		"missing":             {rows: `<row r="1"><c r="A1"><v>40</v></c>` + formula("B1", "", "A1+2", "") + formula("C1", "none", "B1+1", "") + `</row>`, text: "40 42 43"},
		"missing in a group": {
			rows: `<row r="1"><c r="A1"><f t="shared" ref="A1:A2" si="0">ROW()*10</f><v>7</v></c></row><row r="2"><c r="A2"><f t="shared" si="0"/></c></row>`, text: "7 20",
		},
		"arrays, variables and names of other files": {
			rows: `<row r="1">` + formula("A1", "n", "_xlfn.LET(_xlpm.x,2,_xlpm.x*3)", "60") + formula("B1", "n", "[1]!Rate*2", "12") + formula("C1", "str", "'[1]Sheet &quot;1&quot;'!A1", "far") +
				`<c r="D1" cm="1"><f t="array" ref="D1:D2">_xlfn._xlws.SORT({3;1})</f><v>31</v></c><c r="E1"><f t="dataTable" ref="E1:E2" dt2D="0" dtr="0" r1="A1"/><v>5</v></c></row>` +
				`<row r="2"><c r="A2"><f>_xlfn.LAMBDA(_xlpm.x,_xlfn.LET(_xlpm.y,_xlpm.x,_xlpm.y))(1)</f><v>8</v></c><c r="B2" t="str"><f t="array" ref="B2">TEXTJOIN(&quot;,&quot;,TRUE,IF(A1:A2&gt;1,A1:A2,&quot;&quot;))</f><v>a,b</v></c>` +
				`<c r="C2" t="b"><f>ISBLANK([1]!Rate)</f><v>1</v></c><c r="D2"><v>33</v></c><c r="E2"><v>6</v></c></row>`,
			text: "60 12 far 31 5 8 a,b TRUE 33 6",
		},
		"missing and impossible": {
			rows: `<row r="1">` + formula("A1", "", "NOSUCH(1)", "") + formula("B1", "n", "A1+1", "5") + `</row>`, text: "#NAME? 5",
			warning: "formulas without a stored result return errors: One!A1 (#NAME?)",
		},
		"outdated": {
			rows:        `<row r="1">` + formula("A1", "n", "20*2", "7") + formula("B1", "n", "NOSUCH()", "99") + formula("C1", "n", "B1+1", "0") + formula("D1", "n", "NOSUCH()", "0") + `</row>`,
			calculation: `fullCalcOnLoad="1"`, text: "40 99 100 #NAME?",
			warning: "formulas without a stored result return errors: One!D1 (#NAME?); formulas that cannot be calculated show their stored results: One!B1 (#NAME?); " +
				"formulas show other results than the stored ones: One!A1 (40 instead of 7)",
		},
		"always": {
			rows:  `<row r="1">` + formula("A1", "n", "20*2", "7") + formula("B1", "str", "NOSUCH()", "ninety") + `</row>`,
			which: officefile.RecalculateAlways, text: "40 ninety",
			warning: "formulas that cannot be calculated show their stored results: One!B1 (#NAME?); formulas show other results than the stored ones: One!A1 (40 instead of 7)",
		},
		"file name": {
			rows: `<row r="1">` + formula("A1", "", "CELL(&quot;filename&quot;)", "") + `</row><row>` + formula("A2", "", "CELL(&quot;file&quot;&amp;&quot;name&quot;)", "") + `</row><row>` +
				formula("A3", "", "MID(CELL(&quot;filename&quot;,A1),FIND(&quot;]&quot;,CELL(&quot;filename&quot;,A1))+1,9)", "") + `</row>`,
			text: "[my book.xlsx]One [my book.xlsx]One One",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			book := calculated(t, c.calculation, c.rows)
			if !strings.HasPrefix(c.rows, "<row") {
				book = xlsx(t, `<row>`+c.rows+`</row>`)
			}
			made, about := convertWith(t, book, Conversion{To: ToPDF, Name: "my book.xlsx", Results: Results{Recalculate: c.which}})
			if got := words(t, made); got != c.text {
				t.Errorf("got  %q\nwant %q", got, c.text)
			}
			if got := warningText(about); got != c.warning {
				t.Errorf("got  %q\nwant %q", got, c.warning)
			}
		})
	}
}

// warningText returns the warnings of a conversion.
func warningText(made ConvertReport) string {
	var texts []string
	for _, w := range made.Warnings {
		texts = append(texts, w.Message)
	}
	return strings.Join(texts, "; ")
}

// TestStoredResultsInHTML converts the same to another target.
func TestStoredResultsInHTML(t *testing.T) {
	t.Parallel()
	made, err := convert(t, pool, calculated(t, "", modern), "", "", ToHTML)
	if err != nil {
		t.Fatal(err)
	}
	for want := range strings.FieldsSeq(modernText) {
		if !strings.Contains(string(made), want) {
			t.Errorf("no %s in the HTML", want)
		}
	}
}

// TestFormulasInXLSX wants formulas and results in a workbook that is made of a workbook.
func TestFormulasInXLSX(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		book []byte
		want map[string][2]string // formula and result
	}{
		"stored": {calculated(t, "", modern), map[string][2]string{
			"B1": {"A1+2", "7"}, "C1": {"_xlfn.LAMBDA(_xlpm.x,_xlpm.x+1)(2)", "three"}, "D1": {"MyCompany.Rate(1)", "rate"},
			"E1": {"[1]Sheet1!A1", "777"}, "B2": {"TODAY()", "43831"}, "A3": {"_xlfn.TAKE(A1:A2,2)", "51"}, "C3": {"B1*2", "14"},
		}},
		"outdated": {calculated(t, `fullCalcOnLoad="1"`, `<row r="1">`+formula("A1", "n", "20*2", "7")+formula("B1", "n", "NOSUCH()", "99")+
			`<c r="C1"><f t="array" ref="C1:C2">{1;2}*A1</f><v>0</v></c></row><row r="2"><c r="C2"><v>0</v></c></row>`), map[string][2]string{
			"A1": {"20*2", "40"}, "B1": {"NOSUCH()", "99"}, "C1": {"{1;2}*A1", "40"}, "C2": {"", "80"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, _ := convertWith(t, c.book, Conversion{To: ToXLSX})
			wantCells(t, made, c.want)
		})
	}
}

// wantCells checks formulas and results of the first sheet.
func wantCells(t *testing.T, content []byte, want map[string][2]string) {
	t.Helper()
	book, err := excelize.OpenReader(bytes.NewReader(content), excelize.Options{RawCellValue: true})
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	sheet := book.GetSheetName(0)
	for ref, w := range want {
		formula, formulaErr := book.GetCellFormula(sheet, ref)
		value, valueErr := book.GetCellValue(sheet, ref)
		if got := [2]string{formula, value}; got != w || formulaErr != nil || valueErr != nil {
			t.Errorf("%s: got %q, want %q; %v %v", ref, got, w, formulaErr, valueErr)
		}
	}
}

// TestMacrosAreNotInXLSX converts a workbook with macros.
func TestMacrosAreNotInXLSX(t *testing.T) {
	t.Parallel()
	book := calculated(t, "", modern)
	book = replacePart(t, book, contentTypes, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml", "application/vnd.ms-excel.sheet.macroEnabled.main+xml")
	book = replacePart(t, book, contentTypes, "</Types>", `<Override PartName="/xl/vbaProject.bin" ContentType="application/vnd.ms-office.vbaProject"/></Types>`)
	book = replacePart(t, book, "xl/_rels/workbook.xml.rels", "</Relationships>",
		`<Relationship Id="r9" Type="http://schemas.microsoft.com/office/2006/relationships/vbaProject" Target="vbaProject.bin"/></Relationships>`)
	book = withPart(t, book, part{"xl/vbaProject.bin", "macros"})

	printed, _ := convertWith(t, book, Conversion{To: ToPDF, Name: "book.xlsm"})
	if got := words(t, printed); got != modernText {
		t.Errorf("printed: got %q, want %q", got, modernText)
	}
	made, _ := convertWith(t, book, Conversion{To: ToXLSX, Name: "book.xlsm"})
	wantCells(t, made, map[string][2]string{"B1": {"A1+2", "7"}, "C3": {"B1*2", "14"}})
	archive, err := zip.NewReader(bytes.NewReader(made), int64(len(made)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.File {
		if text := partOf(t, made, f.Name); strings.Contains(f.Name+text, "vbaProject") || strings.Contains(text, "macroEnabled") {
			t.Errorf("%s has macros: %.300s", f.Name, text)
		}
	}
}

// withPart adds a part to an archive.
func withPart(t testing.TB, content []byte, added part) []byte {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	var parts []part
	for _, f := range archive.File {
		parts = append(parts, part{f.Name, partOf(t, content, f.Name)})
	}
	return archiveOf(t, append(parts, added)...)
}

// TestStoredResultsOfOpenDocument is the same for an OpenDocument spreadsheet.
func TestStoredResultsOfOpenDocument(t *testing.T) {
	t.Parallel()
	cell := func(formula, result, text string) string {
		return `<table:table-cell table:formula="` + formula + `" ` + result + `><text:p>` + text + `</text:p></table:table-cell>`
	}
	sheet := opened(t, "spreadsheet", `<office:body><office:spreadsheet><table:table table:name="s"><table:table-row>`+
		cell("of:=20*2", `office:value-type="float" office:value="7"`, "7")+
		cell("of:=NOSUCH()", `office:value-type="string" office:string-value="seven"`, "seven")+
		cell("of:=TODAY()", `office:value-type="float" office:value="43831"`, "43831")+
		cell("of:=[.A1]+1", "", "")+`<table:table-cell/></table:table-row></table:table></office:spreadsheet></office:body>`)
	made, _ := convertWith(t, sheet, Conversion{To: ToPDF, Name: "a.ods"})
	if got, want := words(t, made), "s 7 seven 43831 8 Page 1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	made, _ = convertWith(t, sheet, Conversion{To: ToXLSX, Name: "a.ods"})
	wantCells(t, made, map[string][2]string{"A1": {"20*2", "7"}, "B1": {"nosuch()", "seven"}, "C1": {"TODAY()", "43831"}, "D1": {"A1+1", "8"}})
	made, about := convertWith(t, sheet, Conversion{To: ToPDF, Name: "a.ods", Results: Results{Recalculate: officefile.RecalculateAlways}})
	if got := strings.Fields(words(t, made)); !slices.Equal(got[:3], []string{"s", "40", "seven"}) || !slices.Contains(got, "41") {
		t.Errorf("always: got %q", got)
	}
	if got := warningText(about); !strings.Contains(got, "s!B1 (#NAME?)") || !strings.Contains(got, "s!A1 (40 instead of 7)") {
		t.Errorf("always: got %q", got)
	}
}

// TestStoredArraysOfOpenDocument has formulas of several results, of other files, and of functions that are unknown.
func TestStoredArraysOfOpenDocument(t *testing.T) {
	t.Parallel()
	cell := func(formula, more, result string) string {
		return `<table:table-cell table:formula="` + formula + `" ` + more + ` office:value-type="float" office:value="` + result + `"><text:p>` + result + `</text:p></table:table-cell>`
	}
	const value = `<table:table-cell office:value-type="float" office:value="34"><text:p>34</text:p></table:table-cell>`
	sheet := opened(t, "spreadsheet", `<office:body><office:spreadsheet><table:table table:name="s"><table:table-row>`+
		cell("of:={1;2}*3", `table:number-matrix-columns-spanned="1" table:number-matrix-rows-spanned="2"`, "33")+
		cell("of:='file:///other.ods'#$s.A1", "", "777")+cell("of:=COM.MICROSOFT.LAMBDA(x;x+1)(2)", "", "55")+cell("of:=COM.MICROSOFT.LET(x;1;x)", "", "66")+cell("msoxl:=MyCompany.Rate(1)", "", "88")+
		`</table:table-row><table:table-row>`+value+`</table:table-row></table:table></office:spreadsheet></office:body>`)
	made, about := convertWith(t, sheet, Conversion{To: ToPDF, Name: "a.ods"})
	if got, want := words(t, made), "s 33 777 55 66 88 34 Page 1"; got != want || len(about.Warnings) > 0 {
		t.Errorf("got %q, want %q; %v", got, want, about.Warnings)
	}
}

// TestStoredResultsOfBinaryWorkbooks changes the results in a binary workbook, whose records LibreOffice has written.
func TestStoredResultsOfBinaryWorkbooks(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	book := startRaw(t, "").make(t, xlsx(t, `<row r="1"><c r="A1"><v>40</v></c>`+formula("B1", "", "A1+2", "")+formula("C1", "", "&quot;Total &quot;&amp;A1", "")+
		formula("D1", "", "A1&gt;1", "")+formula("E1", "", "NA()", "")+formula("F1", "", "TODAY()*0+5", "")+formula("G1", "", "HYPERLINK(&quot;https://a.example&quot;,&quot;old&quot;)", "")+
		`<c r="H1"><f t="array" ref="H1:H2">{1;2}*11</f></c></row>`),
		"a.xlsx", rawJob{Store: map[string]any{"FilterName": "MS Excel 97"}})
	number := func(n float64) string {
		return string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(n)))
	}
	changed := strings.NewReplacer(number(42), number(7), number(11), number(77), "Total 40", "Total 99").Replace(string(book))

	made, _ := convertWith(t, []byte(changed), Conversion{To: ToPDF, Name: "a.xls"})
	if got, want := words(t, made), "40 7 Total 99 1 #N/A 5 old 77 22"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	made, _ = convertWith(t, []byte(changed), Conversion{To: ToXLSX, Name: "a.xls"})
	wantCells(t, made, map[string][2]string{"B1": {"A1+2", "7"}, "C1": {`"Total "&A1`, "Total 99"}, "E1": {"NA()", "#N/A"}})
	made, about := convertWith(t, []byte(changed), Conversion{To: ToPDF, Name: "a.xls", Results: Results{Recalculate: officefile.RecalculateAlways}})
	if got, want := words(t, made), "40 42 Total 40 1 #N/A 5 old 11 22"; got != want {
		t.Errorf("always: got %q, want %q", got, want)
	}
	if got := warningText(about); !strings.Contains(got, "B1 (42 instead of 7), One!C1 (Total 40 instead of Total 99)") {
		t.Errorf("always: got %q", got)
	}
}

// TestFileNameInHeaders prints the name of the file, and no folder of this machine.
func TestFileNameInHeaders(t *testing.T) {
	t.Parallel()
	book := replacePart(t, xlsx(t, `<row r="1"><c r="A1"><v>1</v></c></row>`), "xl/worksheets/sheet1.xml", "</sheetData>",
		"</sheetData><headerFooter><oddHeader>&amp;L&amp;F&amp;C&amp;A</oddHeader><oddFooter>&amp;L&amp;Z&amp;F&amp;RA &amp;&amp;Z</oddFooter></headerFooter>")
	for name, want := range map[string]string{
		"Q3 report ü.xlsx":     "Q3 report ü.xlsx One 1 Q3 report ü.xlsx A &Z",
		`C:\temp\x\plan.xlsm`:  "plan.xlsm One 1 plan.xlsm A &Z",
		"":                     "document One 1 document A &Z",
		"a\x00b\n#1 50%.xlsx":  "ab#1 50%.xlsx One 1 ab#1 50%.xlsx A &Z",
		"../../etc/passwd":     "passwd One 1 passwd A &Z",
		"lying.pdf":            "lying One 1 lying A &Z",
		"output.xlsx":          "output.xlsx One 1 output.xlsx A &Z",
		"-env:UserInstall.xls": "-env:UserInstall One 1 -env:UserInstall A &Z",
	} {
		made, _ := convertWith(t, book, Conversion{To: ToPDF, Name: name})
		if got := words(t, made); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// xlsb is a workbook whose parts are binary, with one row of cells. Flags are those of its calculation.
func xlsb(t testing.TB, flags uint16, cells ...string) []byte {
	t.Helper()
	const empty = "\x00\x00\x00\x00"
	book := biff12(131, "") + biff12(143, "") + biff12(156, empty+"\x01\x00\x00\x00"+wideText("r1")+wideText("One")) + biff12(144, "") +
		biff12(157, strings.Repeat("\x00", 24)+string(binary.LittleEndian.AppendUint16(nil, flags))) + biff12(132, "")
	sheet := biff12(129, "") + biff12(145, "") + biff12(0, strings.Repeat("\x00", 21)) + strings.Join(cells, "") + biff12(146, "") + biff12(130, "")
	return archiveOf(t,
		part{contentTypes, `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Override PartName="/xl/workbook.bin" ContentType="application/vnd.ms-excel.sheet.binary.macroEnabled.main"/><Override PartName="/xl/worksheets/sheet1.bin" ContentType="application/vnd.ms-excel.worksheet"/></Types>`},
		part{"_rels/.rels", relationshipsOpen + `<Relationship Id="r1" Type="` + officeRelations + `/officeDocument" Target="xl/workbook.bin"/></Relationships>`},
		part{"xl/_rels/workbook.bin.rels", relationshipsOpen + `<Relationship Id="r1" Type="` + officeRelations + `/worksheet" Target="worksheets/sheet1.bin"/></Relationships>`},
		part{"xl/workbook.bin", book}, part{"xl/worksheets/sheet1.bin", sheet})
}

// biff12 is a record of a binary part, with less than 128 bytes.
func biff12(id int, content string) string {
	number := string(rune(id))
	if id > 127 {
		number = string([]byte{byte(id&0x7f | 0x80), byte(id >> 7)})
	}
	return number + string([]byte{byte(len(content))}) + content
}

// wideText is a text in a binary part.
func wideText(text string) string {
	out := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	for _, c := range text {
		out = binary.LittleEndian.AppendUint16(out, uint16(c))
	}
	return string(out)
}

// wideFormula is a cell of a binary part with a formula and a stored result.
func wideFormula(id, column int, result, tokens string) string {
	cell := string(binary.LittleEndian.AppendUint32(nil, uint32(column))) + "\x00\x00\x00\x00"
	return biff12(id, cell+result+"\x00\x00"+string(binary.LittleEndian.AppendUint32(nil, uint32(len(tokens))))+tokens+"\x00\x00\x00\x00")
}

// TestStoredResultsOfXLSB has results in a workbook with binary parts that a calculation would not return.
func TestStoredResultsOfXLSB(t *testing.T) {
	t.Parallel()
	number := func(n float64) string {
		return string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(n)))
	}
	const sum, today, yes, wrong = "\x1e\x28\x00\x1e\x02\x00\x03", "\x21\xdd\x00", "\x1d\x01", "\x1c\x2a"
	cells := []string{
		wideFormula(9, 0, number(7), sum), wideFormula(8, 1, wideText("seven"), sum), wideFormula(10, 2, "\x00", yes),
		wideFormula(11, 3, "\x07", wrong), wideFormula(9, 4, number(43831), today),
	}
	const want = "7 seven FALSE #DIV/0! 43831"
	for name, c := range map[string]struct {
		flags uint16
		which officefile.Recalculation
		text  string
	}{
		"stored":   {0, "", want},
		"outdated": {1, "", "42 42 1 #N/A"},
		"always":   {0, officefile.RecalculateAlways, "42 42 1 #N/A"},
	} {
		made, about := convertWith(t, xlsb(t, c.flags, cells...), Conversion{To: ToPDF, Name: "a.xlsb", Results: Results{Recalculate: c.which}})
		if got := words(t, made); !strings.HasPrefix(got, c.text) {
			t.Errorf("%s: got %q, want %q", name, got, c.text)
		}
		if got := warningText(about); strings.Contains(got, "One!A1 (42 instead of 7)") != (name != "stored") {
			t.Errorf("%s: got %q", name, got)
		}
	}
	made, _ := convertWith(t, xlsb(t, 0, cells...), Conversion{To: ToXLSX, Name: "a.xlsb"})
	wantCells(t, made, map[string][2]string{"A1": {"40+2", "7"}, "B1": {"40+2", "seven"}, "E1": {"TODAY()", "43831"}})
}
