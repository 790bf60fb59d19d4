package pdffile

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// tagged is a document with what nobody needs to copy its pages.
func tagged() pdftest.Source {
	doc := pdftest.Three()
	doc.Catalog = "/StructTreeRoot 100 0 R /Lang 103 0 R"
	doc.Objects = []string{"<< /K 101 0 R >>", "<< /S /P /Pg 10 0 R >>", "<< /Nobody (needs) >>", "(en)"}
	return doc
}

// TestReplace leaves out unreachable objects: nothing is missing, and qpdf has nothing to
// repair.
func TestReplace(t *testing.T) {
	content := tagged().Write()
	o, err := Read(content)
	if err != nil {
		t.Fatal(err)
	}
	changes := o.NewUpdate()
	changes.Set("103 0 R", "u:de")
	tail, err := changes.Replace("/StructTreeRoot")
	if err != nil {
		t.Fatal(err)
	}
	content = append(content, tail...)
	path := pdftest.Save(t, content)
	pdftest.Tool(t, "qpdf", "--check", path) // fails on warnings, too
	got := objectsOf(t, content)
	if numbers, want := slices.Sorted(maps.Keys(got.xref)), []int{1, 2, 3, 10, 11, 12, 13, 14, 15, 103}; !reflect.DeepEqual(numbers, want) {
		t.Errorf("objects %v, want %v", numbers, want)
	}
	if lang, _, err := got.Object("103 0 R"); err != nil || Text(lang) != "de" {
		t.Errorf("the changed object is %v, %v", lang, err)
	}
	if texts, want := strings.Fields(pdftest.Tool(t, "pdftotext", path, "-")), []string{"alpha", "beta", "gamma"}; !reflect.DeepEqual(texts, want) {
		t.Errorf("pages %q, want %q", texts, want)
	}
}

// TestUnreachable gives up where an object cannot be read, or is in a stream.
func TestUnreachable(t *testing.T) {
	packed := pdftest.Transform(t, tagged().Write(), "--object-streams=generate")
	broken := tagged()
	broken.Objects[3] = "<< /Lang"
	for name, content := range map[string][]byte{"in a stream": packed, "broken": broken.Write()} {
		if tail, err := objectsOf(t, content).NewUpdate().Replace(); !errors.Is(err, ErrUnread) {
			t.Errorf("%s: %q, %v; want ErrUnread", name, tail, err)
		}
	}
}
