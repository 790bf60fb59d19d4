package pdf

import (
	"bytes"
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
func objectsOf(t *testing.T, content []byte) *objects {
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
		"late header":        append([]byte("something before\n"), plain...),
	} {
		o := objectsOf(t, content)
		if !o.sound() {
			t.Errorf("%s: is not sound", name)
		}
		table, err := readTable(content)
		if err == nil && table.whole() && table.sound() {
			if !reflect.DeepEqual(table.places, o.places) {
				t.Errorf("%s: its table is %v, qpdf says %v", name, table.places, o.places)
			}
		} else if name == "table" {
			t.Errorf("%s: read as %+v, %v", name, table, err)
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
