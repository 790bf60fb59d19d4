package pdftag

import (
	"testing"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// FuzzContent conforms documents with any content: the result can be read, and conforming it again changes nothing
// that is drawn.
func FuzzContent(f *testing.F) {
	f.Add([]byte(texts(3)))
	f.Add([]byte("BT /P <</MCID 0>>BDC /Span<</ActualText(x)>>BDC (a) Tj EMC EMC ET q /X Do Q"))
	f.Add([]byte("0 0 m /P<</MCID 1>>BDC 1 1 l EMC BI /W 1 ID xx EI S ET EMC ( <"))
	f.Fuzz(func(t *testing.T, content []byte) {
		tree := el("Document", el("P", 0, el("Link", 1)), el("Table", el("TR", el("TD", 2))))
		form := pdffile.Stream{Entries: pdffile.Dict{"/Subtype": "/Form"}, Content: content}
		r, err := Conform(makeDocument(string(content), tree, pdffile.Dict{"/X": form}), Options{Standards: []pdffile.Standard{pdffile.UA1}})
		if err != nil {
			return
		}
		if _, err := Conform(r.PDF, Options{}); err != nil {
			t.Fatalf("the result cannot be read: %v", err)
		}
	})
}

// FuzzFile conforms any file: it never panics.
func FuzzFile(f *testing.F) {
	f.Add(makeDocument(texts(3), el("Document", el("Table", el("TR", el("TD", 0).with("/A", spans(2, 3)))), el("L", el("LI", 1))), nil))
	f.Add(makeDocument("/X Do", el("Document", el("Figure", 0)), pdffile.Dict{"/X": pdffile.Stream{Entries: pdffile.Dict{"/Subtype": "/Form"}, Content: []byte("/X Do")}}))
	f.Fuzz(func(_ *testing.T, file []byte) {
		_, _ = Conform(file, Options{Standards: []pdffile.Standard{pdffile.UA1, pdffile.A2A}})
	})
}
