package pdftag

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// TestPDFA1 makes a document of PDF/A-1, or names what that excludes.
func TestPDFA1(t *testing.T) {
	t.Parallel()
	const content = "/P <</MCID 0>> BDC 0 0 9 9 re f EMC /X Do"
	form := func(resources pdffile.Dict) pdffile.Stream {
		return pdffile.Stream{Content: []byte("0 0 9 9 re f"), Entries: pdffile.Dict{
			"/Type": "/XObject", "/Subtype": "/Form", "/BBox": []any{0, 0, 9, 9}, "/Group": pdffile.Dict{"/S": "/Transparency"}, "/Resources": resources,
		}}
	}
	state := func(key string, value any) pdffile.Stream {
		return form(pdffile.Dict{"/ExtGState": pdffile.Dict{"/G": pdffile.Dict{"/Type": "/ExtGState", key: value}}})
	}
	image := pdffile.Stream{Content: []byte("x"), Entries: pdffile.Dict{
		"/Type": "/XObject", "/Subtype": "/Image", "/ColorSpace": "/DeviceGray", "/SMask": pdffile.Dict{"/Subtype": "/Image"},
	}}
	jpeg2000 := pdffile.Stream{Content: []byte("x"), Entries: pdffile.Dict{"/Subtype": "/Image", "/Filter": "/JPXDecode"}}
	layer := form(pdffile.Dict{"/Properties": pdffile.Dict{"/L": pdffile.Dict{"/OC": "/x"}}})
	for name, test := range map[string]struct {
		object  pdffile.Stream
		content string
		want    string
	}{
		"a group without effect": {form(pdffile.Dict{}), content, ""},
		"normal":                 {state("/BM", "/Normal"), content, ""},
		"no mask":                {state("/SMask", "/None"), content, ""},
		"opacity":                {state("/ca", 0.25), content, "an opacity of 0.25"},
		"blending":               {state("/BM", "/Multiply"), content, "the blend mode Multiply"},
		"a mask":                 {state("/SMask", pdffile.Dict{"/S": "/Alpha"}), content, "a soft mask"},
		"an image":               {image, content, "an image with transparency"},
		"JPEG 2000":              {jpeg2000, content, "an image in JPEG 2000"},
		"layers":                 {layer, content, "layers"},
		"a far place":            {form(pdffile.Dict{}), "1 0 0 1 0 -40000.5 cm " + content, "coordinates beyond 32,767 points"},
	} {
		doc := makeDocument(test.content, el("P", 0), pdffile.Dict{"/X": test.object})
		r, err := Conform(doc, Options{Standards: []pdffile.Standard{pdffile.A1B}})
		if err != nil {
			t.Fatal(err)
		}
		if (test.want == "") != slices.Contains(r.Claimed, pdffile.A1B) {
			t.Errorf("%s: claims %v", name, r.Claimed)
		}
		old := bytes.HasPrefix(r.PDF, []byte("%PDF-1.4\n")) && bytes.Contains(r.PDF, []byte("\nxref\n0 ")) && !bytes.Contains(r.PDF, []byte("/Transparency"))
		if old != (test.want == "") {
			t.Errorf("%s: a file of PDF/A-1: %v", name, old)
		}
		if test.want == "" {
			continue
		}
		if !slices.ContainsFunc(r.Faults, func(f Violation) bool {
			return f.Rule == Newer && strings.Contains(f.Problem, test.want) && f.Page == 1
		}) {
			t.Errorf("%s: faults %v, want %q", name, r.Faults, test.want)
		}
	}
}

func TestCountGlyphs(t *testing.T) {
	t.Parallel()
	font := make([]byte, 12+16+6)
	copy(font[12:], "maxp\x00\x00\x00\x00\x00\x00\x00\x1C\x00\x00\x00\x06\x00\x01\x00\x00\x01\x02")
	if got := countGlyphs(font); got != 0x102 {
		t.Errorf("%d glyphs", got)
	}
	if got := countGlyphs(font[:len(font)-1]); got != 0 {
		t.Errorf("%d glyphs of a part of a font", got)
	}
}
