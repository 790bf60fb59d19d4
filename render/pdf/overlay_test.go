package pdf

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// overlayOf draws a document on another, and returns the result with its changes.
func overlayOf(t *testing.T, args OverlayArgs, doc, over []byte) ([]byte, []string) {
	t.Helper()
	args.Name, args.Overlay.Name = inputName(0), inputName(1)
	result, err := runJob(t, OverlayJob.Name, args, doc, over)
	if err != nil {
		t.Fatal(err)
	}
	var made job.Changed
	if err := json.Unmarshal(result.Body, &made); err != nil {
		t.Fatal(err)
	}
	return read(t, result), made.Changes
}

// words returns the words of each page, sorted.
func wordsOf(t *testing.T, content []byte, password string) (pages []string) {
	t.Helper()
	texts := strings.Split(pdftest.Tool(t, "pdftotext", "-upw", password, pdftest.Save(t, content), "-"), "\f")
	for _, text := range texts[:len(texts)-1] {
		words := strings.Fields(text)
		slices.Sort(words)
		pages = append(pages, strings.Join(words, " "))
	}
	return pages
}

func TestOverlayPages(t *testing.T) {
	two := source{Pages: []string{"one) Tj 0 -50 Td (", "two) Tj 0 -50 Td ("}}.Write()
	for name, test := range map[string]struct {
		args OverlayArgs
		want []string
	}{
		"page by page": {OverlayArgs{}, []string{"alpha one", "beta two", "gamma"}},
		"under":        {OverlayArgs{Under: true}, []string{"alpha one", "beta two", "gamma"}},
		"last":         {OverlayArgs{Repeat: "last"}, []string{"alpha one", "beta two", "gamma two"}},
		"all":          {OverlayArgs{Repeat: "1-"}, []string{"alpha one", "beta two", "gamma one"}},
		"from":         {OverlayArgs{From: "2", Repeat: "1,2"}, []string{"alpha two", "beta one", "gamma two"}},
		"pages":        {OverlayArgs{Pages: "2-", From: "2"}, []string{"alpha", "beta two", "gamma"}},
	} {
		got, changes := overlayOf(t, test.args, three().Write(), two)
		sound(t, got, "", 3)
		if words := wordsOf(t, got, ""); !reflect.DeepEqual(words, test.want) || len(changes) > 0 {
			t.Errorf("%s: got %q, want %q; changes %q", name, words, test.want, changes)
		}
	}
}

func TestOverlayIsRefused(t *testing.T) {
	doc := three().Write()
	locked := pdftest.Transform(t, doc, "--encrypt", "u", "o", "256", "--")
	second := job.Input{Name: inputName(1)}
	for _, test := range []struct {
		args  OverlayArgs
		over  []byte
		kind  job.Kind
		input int
		text  string
	}{
		{OverlayArgs{Pages: "4"}, doc, job.PageOutOfRange, 0, ""},
		{OverlayArgs{From: "4"}, doc, job.PageOutOfRange, 1, OverlayFrom},
		{OverlayArgs{Repeat: "4"}, doc, job.PageOutOfRange, 1, OverlayRepeat},
		{OverlayArgs{}, locked, job.PasswordRequired, 1, ""},
		{OverlayArgs{}, []byte("GIF89a"), job.NotPDF, 1, ""},
		{OverlayArgs{}, source{Pages: make([]string, job.MaxPages+1)}.Write(), job.TooManyPages, 0, ""},
	} {
		test.args.Input, test.args.Overlay = input(""), second
		if failed := runFailing(t, test.kind, OverlayJob.Name, test.args, doc, test.over); failed.Input != test.input || failed.Text != test.text {
			t.Errorf("%+v: got %+v", test.args, failed)
		}
	}
}

// TestOverlayEncrypted draws an encrypted overlay on an encrypted document, which stays encrypted.
func TestOverlayEncrypted(t *testing.T) {
	doc := pdftest.Transform(t, three().Write(), "--encrypt", "u", "o", "256", "--print=none", "--")
	over := pdftest.Transform(t, source{Pages: []string{"x) Tj 0 -50 Td ("}}.Write(), "--encrypt", "v", "p", "256", "--")
	got, _ := overlayOf(t, OverlayArgs{Input: job.Input{Password: "u"}, Overlay: job.Input{Password: "v"}, Repeat: "1"}, doc, over)
	sound(t, got, "u", 3)
	if about := pdftest.Tool(t, "pdfinfo", "-upw", "u", pdftest.Save(t, got)); !strings.Contains(about, "print:no") {
		t.Errorf("the result does not forbid printing:\n%s", about)
	}
	if words, want := wordsOf(t, got, "u"), []string{"alpha x", "beta x", "gamma x"}; !reflect.DeepEqual(words, want) {
		t.Errorf("got %q, want %q", words, want)
	}
}

// TestOverlayPlaces has an overlay of another size, turned and cropped: it is upright, whole and in the centre.
func TestOverlayPlaces(t *testing.T) {
	// A filled square near a corner of the overlay, whose visible part is 200 × 100 points as displayed.
	over := source{Pages: []string{") Tj ET 1 0 0 rg 110 110 10 10 re f BT ("}, Page: func(int) string { return "/CropBox [100 100 200 300] /Rotate 90" }}
	for _, turn := range []string{"0", "90", "180", "270"} {
		doc := source{Pages: []string{""}, Page: func(int) string { return "/CropBox [50 50 250 350] /Rotate " + turn }}
		got, _ := overlayOf(t, OverlayArgs{}, doc.Write(), over.Write())
		box := pdftest.Tool(t, "gs", "-q", "-dSAFER", "-dBATCH", "-dNOPAUSE", "-dUseCropBox", "-sDEVICE=bbox", pdftest.Save(t, got))
		want := "9 179 21 191" // Ghostscript rounds up
		if turn == "90" || turn == "270" {
			want = "59 129 71 141"
		}
		if !strings.Contains(box, "%%BoundingBox: "+want) {
			t.Errorf("turned by %s: got %s, want %s", turn, box, want)
		}
	}
}

// TestOverlayLosses has an overlay with links, a field and comments.
func TestOverlayLosses(t *testing.T) {
	over := linked()
	over.Catalog = "/AcroForm << /NeedAppearances true /Fields [104 0 R 105 0 R] /DA (/Helv 10 Tf) /DR << /Font << /Helv 3 0 R >> >> >>"
	over.Annots[2] = "<< /Type /Annot /Subtype /Highlight /Rect [0 0 90 90] >>"
	got, changes := overlayOf(t, OverlayArgs{}, source{Pages: []string{"a", "b", "c"}}.Write(), over.Write())
	if want := []string{unlinkedChange}; !reflect.DeepEqual(changes, want) {
		t.Errorf("changes %q, want %q", changes, want)
	}
	sound(t, got, "", 3)
	if words := wordsOf(t, got, ""); !strings.Contains(words[0], "kept value") {
		t.Errorf("the field of the overlay is not drawn: %q", words)
	}
	plain := string(pdftest.Transform(t, got, "--qdf", "--object-streams=disable"))
	if strings.Contains(plain, "/AcroForm") || strings.Contains(plain, "/Link") {
		t.Error("the result has a form or links")
	}
	// Those of the document stay.
	got, changes = overlayOf(t, OverlayArgs{}, linked().Write(), three().Write())
	plain = string(pdftest.Transform(t, got, "--qdf", "--object-streams=disable"))
	if len(changes) > 0 || !strings.Contains(plain, "kept value") || strings.Count(plain, "/Link") != 2 || !reflect.DeepEqual(outlineOf(t, got), outlineOf(t, linked().Write())) {
		t.Errorf("the document has lost something; changes %q", changes)
	}
}

// TestOverlayLayers has a hidden layer in the overlay: it stays hidden.
func TestOverlayLayers(t *testing.T) {
	over := source{
		Pages:   []string{"shown) Tj ET /OC /L BDC BT /F1 24 Tf 40 200 Td (hidden) Tj ET EMC BT (", "", ""},
		Catalog: "/OCProperties << /OCGs [100 0 R] /D << /OFF [100 0 R] >> >>", Resources: "/Properties << /L 100 0 R >> ",
		Objects: []string{"<< /Type /OCG /Name (Layer) >>"},
	}
	for name, doc := range map[string]source{"without layers": three(), "with layers": over} {
		got, _ := overlayOf(t, OverlayArgs{}, doc.Write(), over.Write())
		sound(t, got, "", 3)
		if words := wordsOf(t, got, ""); strings.Contains(words[0], "hidden") || !strings.Contains(words[0], "shown") {
			t.Errorf("%s: got %q", name, words)
		}
	}
}

// TestOverlayClaims draws on PDF/A and PDF/UA: a claim stays if it is true.
func TestOverlayClaims(t *testing.T) {
	sharedtest.Slow(t)
	archived := func(level archive.Level) []byte {
		result, err := runJob(t, archive.Job.Name, archive.Args{Input: input(""), Level: level}, three().Write())
		if err != nil {
			t.Fatal(err)
		}
		return read(t, result)
	}
	one, two := archived(archive.Level1B), archived(archive.Level2B)
	for name, test := range map[string]struct {
		doc, over []byte
		stays     bool
	}{
		"1 on 1": {one, one, true}, "1 on 2": {two, one, true}, "2 on 1": {one, two, false}, "plain on 2": {two, three().Write(), false},
	} {
		got, changes := overlayOf(t, OverlayArgs{}, test.doc, test.over)
		sound(t, got, "", 3)
		if stays := len(readMetadata(t, got, "").Standards) > 0; stays != test.stays || (len(changes) == 0) != test.stays {
			t.Errorf("%s: claims %v, changes %q", name, stays, changes)
		}
		if test.stays {
			path, level := pdftest.Save(t, got), string(pdffile.A2B)
			if name == "1 on 1" {
				level = string(pdffile.A1B)
			}
			if broken := pdftest.VeraPDF(t, strings.TrimPrefix(level, "a-"), path); len(broken[path]) > 0 {
				t.Errorf("%s: veraPDF reports %v", name, broken[path])
			}
		}
	}
}
