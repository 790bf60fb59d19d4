package pdf

import (
	"errors"
	"path/filepath"
	"reflect"
	"testing"

	"relaypdf/render/engine"
)

// tagged is a document with what qpdf need not see to copy its pages.
func tagged() source {
	doc := three()
	doc.catalog = "/StructTreeRoot 100 0 R /Lang 103 0 R"
	doc.objects = []string{"<< /K 101 0 R >>", "<< /S /P /Pg 10 0 R >>", "<< /Nobody (needs) >>", "(en)"}
	return doc
}

// TestReplaceTable leaves out what cannot be reached: nothing is missing, and
// qpdf has nothing to mend.
func TestReplaceTable(t *testing.T) {
	path := save(t, tagged().write())
	d := &document{work: &engine.Work{Dir: filepath.Dir(path)}, name: filepath.Base(path)}
	o, err := d.readSelf()
	if err != nil {
		t.Fatal(err)
	}
	changes := o.newUpdate()
	changes.set("103 0 R", "u:de")
	kept, err := o.reachable(changes, "/StructTreeRoot")
	if err == nil {
		err = changes.replaceTable(d, o, kept)
	}
	if err != nil {
		t.Fatal(err)
	}
	tool(t, "qpdf", "--check", path) // fails on warnings, too
	got := objectsOf(t, load(t, path))
	want := []int{1, 2, 3, 10, 11, 12, 13, 14, 15, 103}
	if len(got.places) != len(want) {
		t.Errorf("%d objects, want %d", len(got.places), len(want))
	}
	for _, number := range want {
		if _, there := got.places[number]; !there {
			t.Errorf("object %d is missing", number)
		}
	}
	if lang, _, err := got.read("103 0 R"); err != nil || text(lang) != "de" {
		t.Errorf("the changed object is %v, %v", lang, err)
	}
	if texts, want := pageTexts(t, load(t, path), ""), []string{"alpha", "beta", "gamma"}; !reflect.DeepEqual(texts, want) {
		t.Errorf("pages %q, want %q", texts, want)
	}
}

// TestUnreachable gives up where an object cannot be read, or is in a stream.
func TestUnreachable(t *testing.T) {
	packed := transform(t, tagged().write(), "--object-streams=generate")
	broken := tagged()
	broken.objects[3] = "<< /Lang"
	for name, content := range map[string][]byte{"in a stream": packed, "broken": broken.write()} {
		o := objectsOf(t, content)
		if kept, err := o.reachable(o.newUpdate()); !errors.Is(err, errUnread) {
			t.Errorf("%s: %v, %v; want errUnread", name, kept, err)
		}
	}
}
