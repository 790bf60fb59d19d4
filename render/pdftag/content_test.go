package pdftag

import (
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

func TestMarksAreWrittenAgain(t *testing.T) {
	t.Parallel()
	const text, more = "BT /F 1 Tf (a) Tj ET ", "BT (b) Tj ET "
	for name, c := range map[string]struct {
		content string
		tree    node
		want    string
	}{
		"text of a paragraph, and a line under it": {
			"q /P <</MCID 0 >>BDC " + text + "EMC 1 0 m 2 0 l S Q",
			el("Document", el("P", 0)),
			"q /P<</MCID 0>>BDC BT /F 1 Tf (a) Tj ET EMC /Artifact BMC 1 0 m 2 0 l S Q EMC",
		},
		"neighbours of one owner become one": {
			"/NonStruct <</MCID 0 >>BDC " + text + "EMC Q q /NonStruct <</MCID 1 >>BDC " + more + "EMC",
			el("Document", el("P", el("NonStruct", 0), el("NonStruct", 1))),
			"/P<</MCID 0>>BDC BT /F 1 Tf (a) Tj ET Q q BT (b) Tj ET EMC",
		},
		"parts in another order stay apart": {
			"/P <</MCID 0 >>BDC " + text + "EMC /P <</MCID 1 >>BDC " + more + "EMC",
			el("Document", el("P", 1, 0)),
			"/P<</MCID 0>>BDC BT /F 1 Tf (a) Tj ET EMC /P<</MCID 1>>BDC BT (b) Tj ET EMC",
		},
		"marks that begin between objects, and end in others": {
			"/P <</MCID 0 >>BDC 0 0 1 1 re W n " + text + "q EMC 0 0 m /P <</MCID 1 >>BDC 1 1 l S Q EMC",
			el("Document", el("P", 0)),
			"0 0 1 1 re W n /P<</MCID 0>>BDC BT /F 1 Tf (a) Tj ET q EMC /Artifact BMC 0 0 m 1 1 l S Q EMC",
		},
		"marks within a text object": {
			"BT /P <</MCID 0 >>BDC (a) Tj EMC /P <</MCID 1 >>BDC (b) Tj EMC ET",
			el("Document", el("P", 0), el("P", 1)),
			"BT /P<</MCID 0>>BDC (a) Tj EMC /P<</MCID 1>>BDC (b) Tj EMC ET",
		},
		"the text that stands for glyphs": {
			"BT /P <</MCID 0 >>BDC /Span <</ActualText (fi)>> BDC (x) Tj EMC EMC ET",
			el("Document", el("P", 0)),
			"BT /P<</MCID 0>>BDC /Span <</ActualText (fi)>> BDC (x) Tj EMC EMC ET",
		},
		"an image in the content": {
			"BI /W 1 /H 1 /BPC 8 /CS /G ID EMC EI /P <</MCID 0 >>BDC (EMC) ' EMC",
			el("Document", el("P", 0)),
			"/Artifact BMC BI /W 1 /H 1 /BPC 8 /CS /G ID EMC EI EMC /P<</MCID 0>>BDC (EMC) ' EMC",
		},
		"a border of a cell, and drawing in a figure": {
			"/TD <</MCID 0 >>BDC 0 0 1 1 re f EMC /Figure <</MCID 1 >>BDC 0 0 2 2 re f EMC",
			el("Document", el("Div", 0, el("Figure", 1).with("/Alt", "u:A box"))),
			"/Artifact BMC 0 0 1 1 re f EMC /Figure<</MCID 0>>BDC 0 0 2 2 re f EMC",
		},
		"ends without beginnings, and the reverse": {
			"EMC EMC /P <</MCID 0 >>BDC " + text + "/P /MC0 BDC ) > ] (",
			el("Document", el("P", 0)),
			"/P<</MCID 0>>BDC BT /F 1 Tf (a) Tj ET ) > ] ( EMC",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, f := conform(t, makeDocument(c.content, c.tree, nil))
			if got := pageContent(t, f); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestFormsOutsideMarks(t *testing.T) {
	t.Parallel()
	form := func(content string) pdffile.Dict {
		return pdffile.Dict{"/X": pdffile.Stream{Entries: pdffile.Dict{"/Type": "/XObject", "/Subtype": "/Form", "/BBox": []any{0, 0, 1, 1}}, Content: []byte(content)}}
	}
	const plain = "0 0 1 1 re f"
	doc := makeDocument("/Figure <</MCID 0 >>BDC /X Do EMC", el("Document", el("Figure", 0).with("/Alt", "u:A box")), form(plain))
	if _, f := conform(t, doc); pageContent(t, f) != "/Figure<</MCID 0>>BDC /X Do EMC" {
		t.Error("a form in a figure:", pageContent(t, f))
	}
	repeated := el("Document", el("P").with("/K", pdffile.Dict{"/Type": "/MCR", "/MCID": 0, "/Stm": "5 0 R"}))
	const text = "BT (a) Tj ET"
	doc = makeDocument("/X Do /X Do", repeated, form("/P <</MCID 0 >>BDC "+text+" EMC"))
	_, f := conform(t, doc)
	pages, _ := f.Pages(1)
	object := f.Entry(f.Entry(pages[0].Entries["/Resources"])["/XObject"])["/X"]
	if pageContent(t, f) != "/Artifact BMC /X Do EMC /P<</MCID 0>>BDC /X Do EMC" || streamText(t, f, object) != text {
		t.Errorf("a form that is drawn twice: %s, %s", pageContent(t, f), streamText(t, f, object))
	}
}

// TestFormsAreReadOnce draws a large form without visible text often, outside of all marks.
func TestFormsAreReadOnce(t *testing.T) {
	t.Parallel()
	const many = 200_000
	form := pdffile.Stream{Entries: pdffile.Dict{"/Type": "/XObject", "/Subtype": "/Form", "/BBox": []any{0, 0, 1, 1}}, Content: []byte(strings.Repeat("( ) ' ", many))}
	doc := makeDocument(strings.Repeat("/X Do ", many)+"/P <</MCID 0>> BDC (a) ' EMC", el("Document", el("P", 0)), pdffile.Dict{"/X": form})
	if r, err := Conform(doc, Options{Standards: []pdffile.Standard{pdffile.UA1}, Office: true}); err != nil || len(r.Faults) > 0 {
		t.Errorf("faults %v, %v", r.Faults, err)
	}
}

func TestMissingGlyphs(t *testing.T) {
	t.Parallel()
	wide := &font{wide: true}
	for text, want := range map[string]bool{"<00010000>": true, "<00100001>": false, "<0001": false, "(\\000\\000)": true, "(\\001\\000\\000\\001)": false, "()": false} {
		if lacks, _ := wide.inspect([]byte(text)); lacks != want {
			t.Errorf("%s: got %v", text, !want)
		}
	}
	for _, f := range []*font{{}, nil} {
		if lacks, odd := f.inspect([]byte("<0000>")); lacks || odd {
			t.Error("codes of one byte, and of no font, have no missing glyph")
		}
	}
}
