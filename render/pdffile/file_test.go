package pdffile

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
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
		{"[1[2]<</A 3>>/B(c)]", []any{1.0, []any{2.0}, Dict{"/A": 3.0}, "/B", "b:63"}, "[1 [2 ] <</A 3 >> /B <63> ]"},
		{"<</A<</B[]>>/C null % x\n/D 5 0 R>>", Dict{"/A": Dict{"/B": []any{}}, "/D": "5 0 R"}, "<</A <</B [] >> /D 5 0 R >>"},
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
func objectsOf(t testing.TB, content []byte) *File {
	t.Helper()
	out := pdftest.Tool(t, "qpdf", "--show-xref", "--show-object=trailer", pdftest.Save(t, content))
	o, err := ReadListed([]byte(out), content)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestObjects reads the same document in all forms that files have.
func TestObjects(t *testing.T) {
	plain := pdftest.Linked().Write()
	for name, content := range map[string][]byte{
		"table": plain, "streams": pdftest.Transform(t, plain, "--object-streams=generate"), "linearized": pdftest.Transform(t, plain, "--linearize"),
		"linearized streams": pdftest.Transform(t, plain, "--linearize", "--object-streams=generate"),
		"plain streams":      pdftest.Transform(t, plain, "--object-streams=generate", "--compress-streams=n"),
		"changed":            changed(t, plain), "changed streams": changed(t, pdftest.Transform(t, plain, "--object-streams=generate")),
		"late header": append([]byte("something before\n"), plain...),
	} {
		o := objectsOf(t, content)
		if !o.Sound() {
			t.Errorf("%s: is not sound", name)
		}
		if here, err := Read(content); err != nil || !reflect.DeepEqual(here.xref, o.xref) {
			t.Errorf("%s: read as %+v, %v; qpdf says %v", name, here, err, o.xref)
		}
		catalog := o.Catalog()
		pages := o.Entry(catalog["/Pages"])
		if catalog["/Type"] != "/Catalog" || pages["/Count"] != 3.0 {
			t.Errorf("%s: catalog %v, pages %v", name, catalog, pages)
		}
		if len(o.Containing("/Dest", "/GoTo")) == 0 {
			t.Errorf("%s: no links", name)
		}
		for _, ref := range o.Containing("/Dest", "/GoTo") {
			if value, body, err := o.Object(ref); err != nil || value == nil && body == 0 {
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
	about, _, _ := splitReference(Reference(o.trailer["/Info"]))
	out := append(bytes.Clone(content), '\n')
	at := len(out)
	out = fmt.Appendf(out, "%d 0 obj\n<< /Title (changed) >>\nendobj\n", about)
	table := len(out)
	return fmt.Appendf(out, "xref\n%d 1\n%010d 00000 n \n%d 1\n0000000000 00001 f \ntrailer\n<< /Size %d /Root %s /Info %d 0 R /Prev %s >>\nstartxref\n%d\n%%%%EOF\n",
		about, at, o.highest, o.highest+1, o.Root(), about, before[len(before)-1][1], table)
}

// TestUnreadTables leaves tables that are out of the ordinary to qpdf.
func TestUnreadTables(t *testing.T) {
	plain := pdftest.Linked().Write()
	// Replacements are as long as what they replace: offsets stay right.
	packed := string(pdftest.Transform(t, plain, "--object-streams=generate", "--deterministic-id"))
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
		if o, err := Read(content); !errors.Is(err, ErrUnread) {
			t.Errorf("%s: read as %+v, %v; want ErrUnread", name, o, err)
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
	doc := pdftest.Three()
	doc.Objects = []string{bomb, bomb, bomb}
	o := objectsOf(t, doc.Write())
	for i := range 3 {
		switch _, err := o.unpack(100 + i); {
		case err != nil && i < 2:
			t.Fatalf("stream %d: %v", i, err)
		case err == nil && i == 2:
			t.Error("more was unpacked than all of a file may have")
		case i == 0:
			if o.unpacked != maxUnpacked {
				t.Fatalf("%d bytes are counted after one stream, want %d", o.unpacked, maxUnpacked)
			}
			o.unpacked = maxUnpackedAll - maxUnpacked // as after others
		}
	}
}

// FuzzRead reads mutated documents of all forms. Whatever is in them, it ends.
func FuzzRead(f *testing.F) {
	plain := pdftest.Linked().Write()
	f.Add(plain)
	for _, options := range [][]string{{"--object-streams=generate"}, {"--object-streams=generate", "--compress-streams=n"}, {"--linearize"}} {
		f.Add(pdftest.Transform(f, plain, options...))
	}
	f.Add(changed(f, plain))
	for _, how := range [][]string{{"128", "--use-aes=n"}, {"128", "--use-aes=y"}, {"256"}} {
		f.Add(pdftest.Transform(f, plain, slices.Concat([]string{"--allow-weak-crypto", "--encrypt", "", "o"}, how, []string{"--"})...))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		table, err := ReadTable(content)
		if err != nil {
			return
		}
		if pages, err := table.FlatPages(); err == nil && len(pages) != table.DeclaredPages() {
			t.Errorf("%d flat pages, and it declares %d", len(pages), table.DeclaredPages())
		}
		_ = table.Version()
		o, err := readDecrypted(content)
		if err != nil {
			return
		}
		for _, ref := range o.Containing("/Dest", "/GoTo") {
			_, _, _ = o.Object(ref) // An unreadable object links to nothing.
		}
		fuzzUpdate(t, o)
		pages, err := o.Pages(1000)
		if err != nil {
			return
		}
		if len(pages) == 0 || len(pages) > 1000 {
			t.Errorf("%d pages", len(pages))
		}
		_, _ = o.Outline(pages) // nor does an outline that cannot be read
	})
}

// readDecrypted is Read with a key for encrypted documents, which need not be theirs.
func readDecrypted(content []byte) (*File, error) {
	f, err := ReadTable(content)
	if err == nil && f.Trailer("/Encrypt") != nil {
		err = f.Decrypt(make([]byte, 16))
	}
	if err != nil || !f.Sound() {
		return nil, ErrUnread
	}
	return f, nil
}

// fuzzUpdate changes the catalog of a document that can be read: it can be read
// after, and has the change.
func fuzzUpdate(t *testing.T, o *File) {
	t.Helper()
	u := o.NewUpdate()
	u.Set(o.Root(), Dict{"/Type": "/Catalog", "/Pages": o.Catalog()["/Pages"], "/Lang": "u:de"})
	tail, err := u.Append()
	if err != nil {
		t.Fatalf("changed: %v", err)
	}
	changed, err := readDecrypted(append(bytes.Clone(o.content), tail...))
	if err != nil {
		return // it has as many changes as a document may have
	}
	if lang := Text(changed.Catalog()["/Lang"]); lang != "de" {
		t.Errorf("the catalog's language is %q after the change", lang)
	}
}

func TestUnsoundObjects(t *testing.T) {
	plain := pdftest.Linked().Write()
	encrypted := pdftest.Transform(t, plain, "--encrypt", "", "o", "256", "--")
	if objectsOf(t, encrypted).Sound() {
		t.Error("an encrypted document is sound")
	}
	o := objectsOf(t, plain)
	o.content = bytes.Replace(plain, []byte("%PDF-"), []byte("xxx%PDF-"), 1) // all offsets are too low
	if o.Sound() {
		t.Error("a document whose table is wrong is sound")
	}
	o = objectsOf(t, pdftest.Transform(t, plain, "--object-streams=generate"))
	o.content = bytes.ReplaceAll(o.content, []byte("/ObjStm"), []byte("/Objstm"))
	if o.Sound() {
		t.Error("a document without its catalog is sound")
	}
}

func TestTextStrings(t *testing.T) {
	for value, want := range map[any]string{
		"u:é": "é", "b:6162": "ab", "b:feff00e9": "é", "b:fffee900": "é", "b:efbbbfc3a9": "é", "b:c3a9": "é", "b:80e9": "•é", "/x": "", 7: "",
	} {
		if got := Text(value); got != want {
			t.Errorf("%v is %q, want %q", value, got, want)
		}
	}
}
