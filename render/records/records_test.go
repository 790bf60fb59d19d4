package records_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/records"
)

func read(t testing.TB, text string, options records.Options) (string, error) {
	t.Helper()
	var out bytes.Buffer
	count, err := records.Read(strings.NewReader(text), int64(len(text)), &out, options)
	var refused *records.Error
	switch {
	case err == nil && strings.Count(out.String(), "\n") != count:
		t.Fatalf("%d records in %q", count, out.String())
	case err != nil && !errors.As(err, &refused):
		t.Fatalf("%v is no *records.Error", err)
	}
	return strings.TrimSuffix(out.String(), "\n"), err
}

func TestRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"array":          {`[{"a":1.50},{"b":{"c":"é"}}]`, `{"a":1.50}` + "\n" + `{"b":{"c":"é"}}`},
		"lines":          {"{\"a\":1}\n{\"a\":12345678901234567890}\n\n", `{"a":1}` + "\n" + `{"a":12345678901234567890}`},
		"byte order":     {"\xef\xbb\xbf[{\"a\":1}]", `{"a":1}`},
		"csv":            {"name,customer.city\nAda,London\n\"Bo, B.\",\"a\nb\"\n", `{"customer":{"city":"London"},"name":"Ada"}` + "\n" + `{"customer":{"city":"a\nb"},"name":"Bo, B."}`},
		"semicolons":     {"a;b\n1,5;2\n", `{"a":"1,5","b":"2"}`},
		"tabs":           {"a\tb\r\nx\t\r\n", `{"a":"x","b":""}`},
		"items":          {"items.0.name,items.1.name\nPen,Ink\n", `{"items":[{"name":"Pen"},{"name":"Ink"}]}`},
		"one column":     {"a\n1\n\n2\n", `{"a":"1"}` + "\n" + `{"a":"2"}`},
		"short row":      {"a,b,c\n1\n", `{"a":"1","b":"","c":""}`},
		"unnamed column": {"a,,c\n1,,3\n", `{"a":"1","c":"3"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := read(t, c.text, records.Options{}); err != nil || got != c.want {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
	if got, err := read(t, "customer.name,b.\nAda,1\n", records.Options{Flat: true}); err != nil || got != `{"b.":"1","customer.name":"Ada"}` {
		t.Errorf("flat: got %s, %v", got, err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"nothing":        {"", "has no records"},
		"header only":    {"a,b\n", "has no records"},
		"empty array":    {"[]", "has no records"},
		"not objects":    {`[{"a":1},2]`, "must be an array of objects; records[1] is not an object"},
		"broken":         {`[{"a":1},{"a":`, "is not valid JSON at records[1]"},
		"text after":     {`[{"a":1}] x`, "remove the text after it"},
		"broken line":    {"{\"a\":1}\n{\"a\"", "is not valid JSON at records[1]"},
		"value no name":  {"a\n1,2\n", "has a value without a name: row 2, column 2"},
		"twice":          {"a,a\n1,2\n", `has two columns named "a"`},
		"value, object":  {"a,a.b\n1,2\n", "both a value and an object"},
		"empty name":     {"a..b\n1\n", "empty name in its path"},
		"no names":       {",,\n1,,\n", "has no column names"},
		"latin 1":        {"a\n\xe9\n", "must be UTF-8; line 2 is not"},
		"latin 1 names":  {"\xe9\nx\n", "must be UTF-8; column 1 is not"},
		"latin 1 json":   {"{\"a\":\"\xe9\"}", "must be UTF-8; records[0] is not"},
		"quote":          {"a\n\"x\n", "is not valid CSV at line"},
		"many":           {"a\n" + strings.Repeat("1\n", records.Max+1), "must have at most 10000 records"},
		"wide":           {strings.Repeat("a,", records.MaxColumns) + "b\n1\n", "has 1001 columns"},
		"deep":           {strings.Repeat("a.", 20) + "b\n1\n", "more than 16 names"},
		"long":           {`[{"a":"` + strings.Repeat("x", records.MaxRecord) + `"}]`, "must have records of at most 5 MiB; records[0] is larger"},
		"total":          {"[" + strings.Repeat(`{"a":"`+strings.Repeat("x", 4<<20)+`"},`, 17) + "{}]", "must have at most 64 MiB of records"},
		"archive":        {archive(t, map[string]string{"a.txt": "x"}), "is an archive and not an XLSX file"},
		"damaged":        {"PK\x03\x04" + strings.Repeat("x", 100), "is a damaged XLSX file"},
		"no sheet":       {archive(t, map[string]string{"xl/workbook.xml": "<workbook/>"}), "without a visible sheet"},
		"damaged sheet":  {sheet(t, `<row r="1"><c><v>1</v>`), "is a damaged XLSX file"},
		"missing text":   {sheet(t, `<row r="1"><c r="A1" t="s"><v>99</v></c></row>`), "refers to a missing text"},
		"distant column": {sheet(t, `<row r="1"><c r="ZZZ1" t="str"><v>x</v></c></row>`), "has a value after column 1000"},
		"bomb":           {declared(t, title, 129<<20), `with a part of 135266304 bytes, "xl/worksheets/sheet2.xml"; the limit is 134217728`},
		"untrue size":    {declared(t, strings.Repeat(title, 1000), 100), "is a damaged XLSX file: xl/worksheets/sheet2.xml: zip: not a valid zip file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := read(t, c.text, records.Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func archive(t testing.TB, parts map[string]string) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, text := range parts {
		part, err := w.Create(name)
		if err == nil {
			_, err = part.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// workbook returns the parts of a workbook with these rows, whose first sheet is hidden.
func workbook(rows string) map[string]string {
	const main = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"`
	const relations = `xmlns="http://schemas.openxmlformats.org/package/2006/relationships"`
	return map[string]string{
		"_rels/.rels": `<Relationships ` + relations + `><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml": `<workbook ` + main + ` xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>
			<sheet name="Hidden" sheetId="1" state="hidden" r:id="rId1"/><sheet name="Data" sheetId="2" r:id="rId2"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships ` + relations + `><Relationship Id="rId1" Target="worksheets/sheet1.xml"/>
			<Relationship Id="rId2" Target="/xl/worksheets/sheet2.xml"/></Relationships>`,
		"xl/styles.xml": `<styleSheet ` + main + `><numFmts><numFmt numFmtId="164" formatCode="&quot;day&quot;\d0.00"/><numFmt numFmtId="165" formatCode="[$-407]d. mmm yyyy"/><numFmt numFmtId="166" formatCode="[hh]:mm"/></numFmts>
			<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/></cellXfs></styleSheet>`,
		"xl/sharedStrings.xml":     `<sst ` + main + `><si><t>name</t></si><si><r><t>A</t></r><r><t>da</t></r></si></sst>`,
		"xl/worksheets/sheet1.xml": `<worksheet ` + main + `><sheetData/></worksheet>`,
		"xl/worksheets/sheet2.xml": `<worksheet ` + main + `><sheetData>` + rows + `</sheetData></worksheet>`,
	}
}

func sheet(t testing.TB, rows string) string {
	t.Helper()
	return archive(t, workbook(rows))
}

// declared is a workbook whose archive says that its sheet has a number of bytes.
func declared(t testing.TB, rows string, size uint32) string {
	t.Helper()
	whole := []byte(sheet(t, rows))
	// The name ends an entry of the central directory, whose fixed part of 46 bytes has the size at 24.
	entry := bytes.LastIndex(whole, []byte("xl/worksheets/sheet2.xml")) - 46
	binary.LittleEndian.PutUint32(whole[entry+24:], size)
	return string(whole)
}

const title = `<row r="2"><c r="A2" t="s"><v>0</v></c><c r="B2" t="inlineStr"><is><t>v</t></is></c></row>`

func TestCells(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		`<c r="B3"><v>19.989999999999998</v></c>`:                `19.99`,
		`<c r="B3"><v>1.5E3</v></c>`:                             `1500`,
		`<c r="B3"><v>12345678901234567890</v></c>`:              `12345678901234567890`,
		`<c r="B3"><v>-9007199254740993</v></c>`:                 `-9007199254740993`,
		`<c r="B3"><v>9.9999999999999995E-8</v></c>`:             `0.0000001`,
		`<c r="B3"><v>1E22</v></c>`:                              `10000000000000000000000`,
		`<c r="B3" t="str"><v>1.10</v></c>`:                      `"1.10"`,
		`<c r="B3"><v>1e300</v></c>`:                             `1e+300`,
		`<c r="B3" s="1"><v>46353</v></c>`:                       `"2026-11-27"`,
		`<c r="B3" s="3"><v>46353.4375</v></c>`:                  `"2026-11-27T10:30:00"`,
		`<c r="B3" s="3"><v>0.4375</v></c>`:                      `"10:30:00"`,
		`<c r="B3" s="1"><v>1</v></c>`:                           `"1900-01-01"`,
		`<c r="B3" s="1"><v>-1</v></c>`:                          `-1`,
		`<c r="B3" s="2"><v>7</v></c>`:                           `7`,
		`<c r="B3" s="4"><v>1.5</v></c>`:                         `1.5`,
		`<c r="B3" s="99"><v>7</v></c>`:                          `7`,
		`<c r="B3" t="b"><v>1</v></c>`:                           `true`,
		`<c r="B3" t="str"><f>A1&amp;"x"</f><v>&lt;x</v></c>`:    `"\u003cx"`,
		`<c r="B3"><f>1+2</f></c>`:                               `3`,
		`<c r="B3"><f>SUM(1,2.5)</f><v></v></c>`:                 `3.5`,
		`<c r="B3"><f>UPPER(A3)&amp;"!"</f><v/></c>`:             `"ADA!"`,
		`<c r="B3"><f>1&gt;0</f></c>`:                            `true`,
		`<c r="B3" s="1"><f>DATE(2026,11,27)</f></c>`:            `"2026-11-27"`,
		`<c r="B3"><f>TEXT(501,"00000")</f></c>`:                 `"00501"`,
		`<c r="B3"><f>TEXT(1.5,"0.00")</f></c>`:                  `"1.50"`,
		`<c r="B3"><f>TEXT(46353,"dd.mm.yyyy")</f></c>`:          `"27.11.2026"`,
		`<c r="B3"><f>"#"&amp;42</f></c>`:                        `"#42"`,
		`<c r="B3"><f>A9&amp;"x"</f></c>`:                        `"x"`,
		`<c r="B3"><f>A9+1</f></c>`:                              `1`,
		`<c r="B3"><f>A9</f></c>`:                                `0`,
		`<c r="B3"><f>SUM(A9:A12)</f></c>`:                       `0`,
		`<c r="B3"><f>IF(A9="","none",A9)</f></c>`:               `"none"`,
		`<c r="B3"><f>IF(A9&lt;&gt;"","some","a=""""b")</f></c>`: `"a=\"\"b"`,
		`<c r="B3"><f>IF(A9=&quot;&quot;,"",A9)</f></c>`:         `""`,
		`<c r="B3"><f>IF(A3="","none",A3)</f></c>`:               `"Ada"`,
		`<c r="B3"><f>IFERROR(1/A9,"none")</f></c>`:              `"none"`,
		`<c r="B3"><f>2^70</f></c>`:                              `1180591620717410000000`,
		`<c r="B3"><f>1+2</f><v>7</v></c>`:                       `7`,
		`<c r="B3" t="str"><f>""</f><v></v></c>`:                 `""`,
		`<c r="B3"/>`:                                            `""`,
	} {
		got, err := read(t, sheet(t, `<row r="1"/>`+title+`<row r="3"><c r="A3" t="s"><v>1</v></c>`+cell+`</row><row r="4"/>`), records.Options{})
		if want := `{"name":"Ada","v":` + want + `}`; err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", cell, got, err, want)
		}
	}
	if got, err := read(t, sheet(t, title+`<row r="3"><c/><c><v>2</v></c></row>`), records.Options{}); err != nil || got != `{"name":"","v":2}` {
		t.Errorf("cells without references: got %s, %v", got, err)
	}
	parts := workbook(title + `<row><c s="1"><v>0</v></c><c s="1"><v>1</v></c></row>`)
	parts["xl/workbook.xml"] = strings.Replace(parts["xl/workbook.xml"], "<sheets>", `<workbookPr date1904="1"/><sheets>`, 1)
	if got, err := read(t, archive(t, parts), records.Options{}); err != nil || got != `{"name":"00:00:00","v":"1904-01-02"}` {
		t.Errorf("1904: got %s, %v", got, err)
	}
}

// TestNumbersAreAsWritten: the digits of JSON and of tables reach the template.
func TestNumbersAreAsWritten(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		`[{"a":1.10,"b":[100.00,{"c":12345678901234567890}],"d":1e-7}]`: `{"a":1.10,"b":[100.00,{"c":12345678901234567890}],"d":1e-7}`,
		`{"a":0.50}`:                     `{"a":0.50}`,
		"a,b,c,d\n12.00,1.10,007,1e-7\n": `{"a":"12.00","b":"1.10","c":"007","d":"1e-7"}`,
		"a;b\n12,00;1.234,50\n":          `{"a":"12,00","b":"1.234,50"}`,
	} {
		if got, err := read(t, file, records.Options{}); err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", file, got, err, want)
		}
	}
}

// TestCellsWithoutValue has records that fail, and others that do not.
func TestCellsWithoutValue(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		`<c r="B3" t="e"><v>#DIV/0!</v></c>`:                    "cell B3 has the error #DIV/0!",
		`<c r="B3" t="e"><f>1/0</f><v>#N/A</v></c>`:             "cell B3 has the error #N/A",
		`<c r="B3"><f>1/0</f></c>`:                              "cell B3 has the error #DIV/0!",
		`<c r="B3"><f>1/A9</f></c>`:                             "cell B3 has the error #DIV/0!",
		`<c r="B3"><f>SUM(1,1/0)</f></c>`:                       "cell B3 has the error #DIV/0!",
		`<c r="B3"><f>D4+1</f></c>`:                             "cell B3 has the error #REF!",
		`<c r="B3"><f>VALUE("x")</f></c>`:                       "cell B3 has the error #VALUE!",
		`<c r="B3"><f>MyCompany.Rate(1)</f></c>`:                "cell B3 has",
		`<c r="B3"><f>[1]Sheet1!A1</f></c>`:                     "cell B3 has a formula",
		`<c r="B3"><f>_xlfn.LAMBDA(_xlpm.x,_xlpm.x)(2)</f></c>`: "cell B3 has",
	} {
		rows := title + `<row r="3"><c r="A3" t="s"><v>1</v></c>` + cell + `</row><row r="4"><c r="A4" t="s"><v>1</v></c><c r="B4"><v>5</v></c><c r="D4" t="e"><v>#REF!</v></c></row>`
		got, err := read(t, sheet(t, strings.Replace(rows, `</row>`, `<c r="D2" t="inlineStr"><is><t> </t></is></c></row>`, 1)), records.Options{})
		failed, rest, _ := strings.Cut(got, "\n")
		var why string
		if json.Unmarshal([]byte(failed), &why) != nil || !strings.HasPrefix(why, want) {
			t.Errorf("%s: got %s, %v; want %s", cell, failed, err, want)
		}
		if want := `{"name":"Ada","v":5}`; rest != want {
			t.Errorf("%s: the next record is %s, want %s", cell, rest, want)
		}
	}
	if _, err := read(t, sheet(t, `<row><c t="e"><v>#REF!</v></c></row>`+title), records.Options{}); err == nil || !strings.Contains(err.Error(), "cell A1 has the error #REF!") {
		t.Errorf("an error as a name: %v", err)
	}
}

// FuzzRead: no file makes the reader panic, or write anything but objects within the limits.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{`[{"a":1}]`, "{\"a\":1}\n{}", "a,b.c\n1,2\n", "a;b\n\"x\";\n", "PK\x03\x04"} {
		f.Add([]byte(seed))
	}
	f.Add([]byte(sheet(f, title+`<row><c t="s"><v>1</v></c><c s="1"><v>46353</v></c></row>`)))
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, flat := range []bool{false, true} {
			got, err := read(t, string(file), records.Options{Flat: flat})
			if err != nil {
				continue
			}
			for line := range strings.Lines(got) {
				var object map[string]any
				var reason string
				if err := json.Unmarshal([]byte(line), &object); err != nil && json.Unmarshal([]byte(line), &reason) != nil {
					t.Fatalf("%q: %v", line, err)
				}
			}
		}
	})
}

func ExampleRead() {
	text := "number,customer.name\n42,Ada\n"
	var out bytes.Buffer
	count, err := records.Read(strings.NewReader(text), int64(len(text)), &out, records.Options{})
	fmt.Println(count, out.String(), err)
	// Output:
	// 1 {"customer":{"name":"Ada"},"number":"42"}
	//  <nil>
}
