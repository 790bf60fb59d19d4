package pdf

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// readHere records which parts of a document are read without another program.
type readHere struct{ structure, info bool }

// compareReaders reads a document here and by the programs that are asked
// otherwise. They must agree on whatever is read here.
func compareReaders(t *testing.T, content []byte) (here readHere) {
	t.Helper()
	path := pdftest.Save(t, content)
	o, err := pdffile.Read(content)
	if err != nil {
		return here
	}
	if got, err := job.SelfDescribed(o); err == nil {
		here.structure = true
		var want job.Structure
		if err := json.Unmarshal(askQPDF(t, path, "pages", "outlines"), &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Pages, want.Pages) {
			t.Errorf("pages %v, qpdf says %v", got.Pages, want.Pages)
		}
		if got, want := summary(got.Outlines), summary(want.Outlines); !reflect.DeepEqual(got, want) {
			t.Errorf("outline %v, qpdf says %v", got, want)
		}
	}
	d := &job.Document{Work: &engine.Work{Dir: filepath.Dir(path)}, Name: filepath.Base(path)}
	if got, _, err := readInfo(d); err == nil {
		here.info = true
		var f facts
		said := askQPDF(t, path, "acroform", "attachments", "encrypt")
		if said == nil {
			return here // it stumbles over annotations that are null
		}
		if err := json.Unmarshal(said, &f); err != nil {
			t.Fatal(err)
		}
		want, measured := f.info(), pdftest.Tool(t, "pdfinfo", "-f", "1", "-l", strconv.Itoa(job.MaxInputPages), path)
		pages, seen, err := parsePages([]byte(measured), len(got.Pages))
		want.Pages = pages
		if err != nil || seen != len(got.Pages) || !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v, %v", got, want, err)
		}
	}
	return here
}

// askQPDF returns qpdf's description of a document; nil where it has none.
func askQPDF(t *testing.T, path string, keys ...string) []byte {
	t.Helper()
	args := []string{"--warning-exit-0", "--no-warn", "--json=2"}
	for _, key := range keys {
		args = append(args, "--json-key="+key)
	}
	out, err := exec.CommandContext(t.Context(), "qpdf", append(args, path)...).Output()
	if err != nil {
		t.Logf("qpdf: %v", err)
		return nil
	}
	return out
}

// entryOf holds the compared values of an outline's entry: its title is read with its object.
type entryOf struct {
	Object string
	Page   int
	Open   bool
	Kids   []entryOf
}

func summary(items []pdffile.OutlineItem) (entries []entryOf) {
	for _, item := range items {
		entry := entryOf{Object: item.Object, Open: item.Open, Kids: summary(item.Kids)}
		if item.Page != nil {
			entry.Page = *item.Page
		}
		entries = append(entries, entry)
	}
	return entries
}

// TestReadersAgree compares the readers on documents of all sorts.
func TestReadersAgree(t *testing.T) {
	documents := hostile()
	documents["linked"], documents["three"] = linked().Write(), three().Write()
	documents["form"] = pdftest.Load(t, filepath.Join("testdata", "form.pdf"))
	for name, content := range documents {
		t.Run(name, func(t *testing.T) { compareReaders(t, content) })
	}
	if here := compareReaders(t, documents["three"]); here != (readHere{true, true}) {
		t.Errorf("a plain document is left to others: %+v", here)
	}
}

// TestReadersAgreeOnRealDocuments compares them on documents from the wild, most
// of which need nobody else.
func TestReadersAgreeOnRealDocuments(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	paths := pdftest.Documents(t)
	var read atomic.Int32
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			if compareReaders(t, pdftest.Load(t, path)).structure {
				read.Add(1)
			}
		})
	}
	t.Cleanup(func() { // when all of them are done
		if int(read.Load()) < len(paths)*9/10 {
			t.Errorf("only %d of %d documents were read", read.Load(), len(paths))
		}
	})
}

// TestReadStructure reads what a document says of its pages and its outline.
func TestReadStructure(t *testing.T) {
	doc := three()
	doc.Catalog = "/Outlines 100 0 R"
	doc.Objects = []string{
		"<< /First 101 0 R >>", "<< /Title (a) /Next 103 0 R /First 102 0 R /Count -1 /A << /S /GoTo /D 104 0 R >> >>",
		"<< /Title (b) /Dest [12 0 R /Fit] >>", "<< /Title (c) /A << /S /URI /URI (x:) >> >>", "[10 0 R /Fit]",
	}
	o, err := pdffile.Read(doc.Write())
	if err != nil {
		t.Fatal(err)
	}
	s, err := job.SelfDescribed(o)
	if err != nil {
		t.Fatal(err)
	}
	if want := []job.PageObject{{Object: "10 0 R"}, {Object: "12 0 R"}, {Object: "14 0 R"}}; !reflect.DeepEqual(s.Pages, want) {
		t.Errorf("pages %v, want %v", s.Pages, want)
	}
	want := []entryOf{
		{Object: "101 0 R", Page: 1, Kids: []entryOf{{Object: "102 0 R", Page: 2, Open: true}}}, {Object: "103 0 R", Open: true},
	}
	if got := summary(s.Outlines); !reflect.DeepEqual(got, want) {
		t.Errorf("outline %+v, want %+v", got, want)
	}
}

// TestUnreadStructure gives unusual trees to the reader: it leaves them to qpdf, which
// repairs or bounds them.
func TestUnreadStructure(t *testing.T) {
	outlined := func(top string, entries ...string) []byte {
		doc := three()
		doc.Catalog, doc.Objects = "/Outlines 100 0 R", append([]string{top}, entries...)
		return doc.Write()
	}
	swap := func(pairs ...string) []byte {
		return []byte(strings.NewReplacer(pairs...).Replace(string(three().Write())))
	}
	for name, content := range map[string][]byte{
		"page twice":       swap("/Kids [10 0 R 12 0 R", "/Kids [10 0 R 10 0 R"),
		"page tree loop":   swap("/Kids [10 0 R", "/Kids [2  0 R"),
		"page missing":     swap("/Kids [10 0 R", "/Kids [99 0 R"),
		"page is a stream": swap("/Kids [10 0 R", "/Kids [11 0 R"),
		"no end":           swap("/Count 3 >>\nendobj", "/Count 3 >>\nendob "),
		"other type":       swap("/Type /Page ", "/Type /Pagx "),
		"lying count":      swap("/Count 3", "/Count 2"),
		"a first page":     swap("/Pages 2 0 R  >>", "/Pages 10 0 R >>"),
		"entry missing":    outlined("<< /First 101 0 R >>"),
		"entry loop":       outlined("<< /First 101 0 R >>", "<< /Title (a) /Next 101 0 R >>"),
		"entry below":      outlined("<< /First 101 0 R >>", "<< /Title (a) /First 101 0 R >>"),
		"named":            outlined("<< /First 101 0 R >>", "<< /Title (a) /Dest (there) >>"),
		"count elsewhere":  outlined("<< /First 101 0 R >>", "<< /Title (a) /Count 3 0 R >>"),
	} {
		o, err := pdffile.Read(content)
		if err != nil {
			t.Errorf("%s: its table: %v", name, err)
			continue
		}
		if _, err := job.SelfDescribed(o); !errors.Is(err, pdffile.ErrUnread) {
			t.Errorf("%s: error %v, want ErrUnread", name, err)
		}
	}
}

// TestUnreadInfo gives what is out of the ordinary to the reader of boxes.
func TestUnreadInfo(t *testing.T) {
	if got, err := measure(pdffile.Dict{"/MediaBox": []any{0.0, 0.0, 595.276, 841.8898}, "/CropBox": []any{5.0, 5.0, 105.0, 205.0}, "/Rotate": -90.0}); err != nil || got != (PageInfo{0, 100, 200, 270}) {
		t.Errorf("got %+v, %v", got, err)
	}
	media := []any{0.0, 0.0, 300.0, 400.0}
	for name, page := range map[string]pdffile.Dict{
		"no box": {}, "three sides": {"/MediaBox": media[:3]}, "upside down": {"/MediaBox": []any{0.0, 400.0, 300.0, 0.0}},
		"reference": {"/MediaBox": []any{0.0, 0.0, "4 0 R", 400.0}}, "larger crop": {"/MediaBox": media, "/CropBox": []any{-9.0, 0.0, 9.0, 9.0}},
		"45 degrees": {"/MediaBox": media, "/Rotate": 45.0}, "no degrees": {"/MediaBox": media, "/Rotate": "/Up"},
		"no content": {"/MediaBox": media, "/Contents": "/Up"},
	} {
		if got, err := measure(page); !errors.Is(err, pdffile.ErrUnread) {
			t.Errorf("%s: %+v, %v; want ErrUnread", name, got, err)
		}
	}
}

// FuzzInfo reads mutated documents as info does. Whatever is in them, it ends,
// and says nothing that cannot be.
func FuzzInfo(f *testing.F) {
	f.Add(three().Write())
	f.Add(pdftest.Transform(f, linked().Write(), "--object-streams=generate"))
	f.Fuzz(func(t *testing.T, content []byte) {
		file, err := pdffile.Read(content)
		if err != nil {
			return
		}
		about, err := infoOf(file)
		if err != nil {
			return
		}
		for _, page := range about.Pages {
			if page.Width <= 0 || page.Height <= 0 || page.Rotation%90 != 0 || page.Rotation < 0 {
				t.Errorf("a page of %+v", page)
			}
		}
		d := &job.Document{}
		if err := describeCatalog(d, file, &about); err != nil {
			t.Errorf("its catalog: %v", err)
		}
	})
}
