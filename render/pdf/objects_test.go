package pdf

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestValues(t *testing.T) {
	for _, test := range []struct {
		text string
		want any
		out  string // where it is not the text
	}{
		{"null", nil, ""}, {"true", true, ""}, {"12", 12.0, ""}, {"-0.5", -0.5, ""}, {"+.25", 0.25, "0.25"}, {"4.", 4.0, "4"},
		{"4 0 R", "4 0 R", ""}, {"4 65535 R", "4 65535 R", ""}, {"4 0", 4.0, "4"}, {"0 0 R", 0.0, "0"},
		{"/Name", "/Name", ""}, {"/A#20b#2fc", "/A b/c", "/A#20b#2fc"}, {"/", "/", ""}, {"/a#zz", "/a#zz", "/a#23zz"},
		{"(a(b)c)", "b:6128622963", "<6128622963>"}, {`(\)\(\\\n\101\7x)`, "b:29285c0a410778", "<29285c0a410778>"},
		{"(a\\\r\nb)", "b:6162", "<6162>"}, {"<48 65 6>", "b:486560", "<486560>"}, {"()", "b:", "<>"},
		{"[1[2]<</A 3>>/B(c)]", []any{1.0, []any{2.0}, dict{"/A": 3.0}, "/B", "b:63"}, "[1 [2 ] <</A 3 >> /B <63> ]"},
		{"<</A<</B[]>>/C null % x\n/D 5 0 R>>", dict{"/A": dict{"/B": []any{}}, "/D": "5 0 R"}, "<</A <</B [] >> /D 5 0 R >>"},
	} {
		got, err := (&parser{data: []byte(test.text + " ")}).value(0)
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s is %#v, %v; want %#v", test.text, got, err, test.want)
			continue
		}
		want := test.out
		if want == "" {
			want = test.text
		}
		if out := string(appendValue(nil, got)); out != want {
			t.Errorf("%s is written %s, want %s", test.text, out, want)
		}
	}
	if got, want := string(appendValue(nil, "u:aé")), "<feff006100e9>"; got != want {
		t.Errorf("text is written %s, want %s", got, want)
	}
	for _, text := range []string{"", "(", "<", "<4", "[1", "<<", "<</A", "<</A>>", "<<1 2>>", ")", "nul", "1e999", "<zz>", strings.Repeat("[", 1000)} {
		if got, err := (&parser{data: []byte(text)}).value(0); !errors.Is(err, errSyntax) {
			t.Errorf("%.10q is %v, %v; want an error", text, got, err)
		}
	}
}

// objectsOf reads where a document's objects are.
func objectsOf(t testing.TB, content []byte) *objects {
	t.Helper()
	out := tool(t, "qpdf", "--show-xref", "--show-object=trailer", save(t, content))
	o, err := parseObjects([]byte(out), content)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestObjects reads the same document in all forms that files have.
func TestObjects(t *testing.T) {
	plain := linked().write()
	for name, content := range map[string][]byte{
		"table": plain, "streams": transform(t, plain, "--object-streams=generate"), "linearized": transform(t, plain, "--linearize"),
		"linearized streams": transform(t, plain, "--linearize", "--object-streams=generate"),
		"plain streams":      transform(t, plain, "--object-streams=generate", "--compress-streams=n"),
		"changed":            changed(t, plain), "changed streams": changed(t, transform(t, plain, "--object-streams=generate")),
		"late header": append([]byte("something before\n"), plain...),
	} {
		o := objectsOf(t, content)
		if !o.sound() {
			t.Errorf("%s: is not sound", name)
		}
		if here, err := readWhole(content); name == "late header" {
			if !errors.Is(err, errUnread) {
				t.Errorf("%s: read as %+v, %v; want errUnread", name, here, err)
			}
		} else if err != nil || !reflect.DeepEqual(here.places, o.places) {
			t.Errorf("%s: read as %+v, %v; qpdf says %v", name, here, err, o.places)
		}
		catalog := o.value(o.root())
		pages := o.entry(catalog["/Pages"])
		if catalog["/Type"] != "/Catalog" || pages["/Count"] != 3.0 {
			t.Errorf("%s: catalog %v, pages %v", name, catalog, pages)
		}
		if len(o.linking()) == 0 {
			t.Errorf("%s: no links", name)
		}
		for _, ref := range o.linking() {
			if value, body, err := o.read(ref); err != nil || value == nil && body == 0 {
				t.Errorf("%s: object %s is %v, %v", name, ref, value, err)
			}
		}
	}
}

// changed is a document with a change at its end: another title, and its last
// object is gone.
func changed(t testing.TB, content []byte) []byte {
	t.Helper()
	before := startPattern.FindAllSubmatch(content, -1)
	o := objectsOf(t, content)
	about, _, _ := splitReference(reference(o.trailer["/Info"]))
	out := append(bytes.Clone(content), '\n')
	at := len(out)
	out = fmt.Appendf(out, "%d 0 obj\n<< /Title (changed) >>\nendobj\n", about)
	table := len(out)
	return fmt.Appendf(out, "xref\n%d 1\n%010d 00000 n \n%d 1\n0000000000 00001 f \ntrailer\n<< /Size %d /Root %s /Info %d 0 R /Prev %s >>\nstartxref\n%d\n%%%%EOF\n",
		about, at, o.highest, o.highest+1, o.root(), about, before[len(before)-1][1], table)
}

// TestUnreadTables leaves tables that are out of the ordinary to qpdf.
func TestUnreadTables(t *testing.T) {
	plain := linked().write()
	// Replacements are as long as what they replace: offsets stay right.
	packed := string(transform(t, plain, "--object-streams=generate", "--deterministic-id"))
	loop := changed(t, plain)
	last := startPattern.FindAllSubmatch(loop, -1)
	table := last[len(last)-1][1]
	before := fmt.Appendf(nil, "/Prev %s ", last[0][1])
	for name, content := range map[string][]byte{
		"tables in a circle": bytes.Replace(loop, before, fmt.Appendf(nil, "/Prev %s ", table), 1),
		"no table":           bytes.Replace(loop, before, fmt.Appendf(nil, "/Prev %0*d ", len(last[0][1]), 9), 1),
		"two kinds of table": bytes.Replace(loop, []byte("/Prev"), []byte("/XRefStm 9 /Prev"), 1),
		"another stream":     []byte(strings.Replace(packed, "/Type /XRef", "/Type /YRef", 1)),
		"wide fields":        []byte(strings.Replace(packed, "/W [ 1 2 1 ]", "/W [ 1 9 1 ]", 1)),
		"no fields":          []byte(strings.Replace(packed, "/W [ 1 2 1 ]", "/W [ 0 0 0 ]", 1)),
		"two fields":         []byte(strings.Replace(packed, "/W [ 1 2 1 ]", "/W [ 1 2   ]", 1)),
		"other widths":       []byte(strings.Replace(packed, "/W [ 1 2 1 ]", "/W [ 1 3 1 ]", 1)),
		"prediction of TIFF": []byte(strings.Replace(packed, "/Predictor 12", "/Predictor 02", 1)),
		"other columns":      []byte(strings.Replace(packed, "/Columns 4", "/Columns 3", 1)),
		"another filter":     []byte(strings.Replace(packed, "/Filter /FlateDecode /DecodeParms << /C", "/Filter /FlateDecodf /DecodeParms << /C", 1)),
		"lying size":         []byte(strings.Replace(packed, "/Size 2", "/Size 9", 1)),
	} {
		if string(content) == packed || bytes.Equal(content, loop) {
			t.Errorf("%s: nothing was replaced", name)
		}
		if o, err := readWhole(content); !errors.Is(err, errUnread) {
			t.Errorf("%s: read as %+v, %v; want errUnread", name, o, err)
		}
	}
	for _, row := range [][]byte{{1, 5, 5}, {3, 5, 5}} { // the byte on the left, and a mean
		if _, err := unpredict(row, dict{"/Predictor": 12.0, "/Columns": 2.0}); !errors.Is(err, errUnread) {
			t.Errorf("predicted otherwise: %v, want errUnread", err)
		}
	}
}

// TestUnpackedIsBounded unpacks streams that are much larger than they look.
func TestUnpackedIsBounded(t *testing.T) {
	var zeros bytes.Buffer
	z := zlib.NewWriter(&zeros)
	if _, err := z.Write(make([]byte, maxUnpacked)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	bomb := fmt.Sprintf("<< /Type /ObjStm /N 0 /First 0 /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream", zeros.Len(), zeros.Bytes())
	const most = maxUnpackedAll / maxUnpacked
	doc := three()
	for range most + 1 {
		doc.objects = append(doc.objects, bomb)
	}
	o := objectsOf(t, doc.write())
	for i := range most {
		if _, err := o.unpack(100 + i); err != nil {
			t.Fatalf("stream %d: %v", i, err)
		}
	}
	if _, err := o.unpack(100 + most); !errors.Is(err, errUnread) {
		t.Errorf("one more: %v, want errUnread", err)
	}
}

// FuzzReaders reads mutated documents of all forms here. Whatever is in them, it
// ends.
func FuzzReaders(f *testing.F) {
	plain := linked().write()
	f.Add(plain)
	for _, options := range [][]string{{"--object-streams=generate"}, {"--object-streams=generate", "--compress-streams=n"}, {"--linearize"}} {
		f.Add(transform(f, plain, options...))
	}
	f.Add(changed(f, plain))
	f.Fuzz(func(t *testing.T, content []byte) {
		o, err := readWhole(content)
		if err != nil {
			return
		}
		for _, ref := range o.linking() {
			_, _, _ = o.read(ref) // What cannot be read links to nothing.
		}
		pages, err := o.pages()
		if err != nil {
			return
		}
		if s, err := o.structure(); err == nil && len(s.Pages) != len(pages) {
			t.Errorf("%d pages, and %d with the outline", len(pages), len(s.Pages))
		}
		for _, page := range pages {
			if size, err := measure(page.entries); err == nil && (size.Width <= 0 || size.Height <= 0) {
				t.Errorf("a page of %v", size)
			}
		}
	})
}

func TestUnsoundObjects(t *testing.T) {
	plain := linked().write()
	encrypted := transform(t, plain, "--encrypt", "", "o", "256", "--")
	if objectsOf(t, encrypted).sound() {
		t.Error("an encrypted document is sound")
	}
	o := objectsOf(t, plain)
	o.content = bytes.Replace(plain, []byte("%PDF-"), []byte("xxx%PDF-"), 1) // all offsets are too low
	if o.sound() {
		t.Error("a document whose table is wrong is sound")
	}
	o = objectsOf(t, transform(t, plain, "--object-streams=generate"))
	o.content = bytes.ReplaceAll(o.content, []byte("/ObjStm"), []byte("/Objstm"))
	if o.sound() {
		t.Error("a document without its catalog is sound")
	}
}

// TestInfoReadsWhatIsDamaged asks for what only an object tells.
func TestInfoReadsWhatIsDamaged(t *testing.T) {
	plain := linked().write()
	start := bytes.LastIndex(plain, []byte("startxref"))
	for name, content := range map[string][]byte{
		"no table":  append(bytes.Clone(plain[:start]), "startxref\n7\n%%EOF\n"...),
		"encrypted": transform(t, plain, "--encrypt", "", "o", "256", "--"),
	} {
		result, err := do(t, InfoJob, input(""), content)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var about Info
		if err := json.Unmarshal(result.Body, &about); err != nil {
			t.Fatal(err)
		}
		if about.PageCount != 3 || !about.HasOutline {
			t.Errorf("%s: %+v, want three pages and an outline", name, about)
		}
	}
}

func TestMarks(t *testing.T) {
	m := newMark()
	if m == newMark() {
		t.Error("two marks are the same")
	}
	text := fmt.Sprintf("[ %s /Fit ] [ %s /XYZ ] %s", m.page(0), m.page(1), m.page(2))
	content := []byte(text)
	m.replace(content, []string{"7 0 R", "1234567 0 R"})
	if len(content) != len(text) || strings.Join(strings.Fields(string(content)), " ") != "[ 7 0 R /Fit ] [ 1234567 0 R /XYZ ] null" {
		t.Errorf("%s became %s", text, content)
	}
}

func TestTextStrings(t *testing.T) {
	for value, want := range map[any]string{
		"u:é": "é", "b:6162": "ab", "b:feff00e9": "é", "b:fffee900": "é", "b:efbbbfc3a9": "é", "b:c3a9": "é", "b:80e9": "•é", "/x": "", 7: "",
	} {
		if got := text(value); got != want {
			t.Errorf("%v is %q, want %q", value, got, want)
		}
	}
}
