package pdf

import (
	"image"
	"strings"
	"testing"
	"time"

	"relaypdf/render/pdffile"
	"relaypdf/render/pdfsign"
)

// TestMarkStaysOnTop: neither annotations nor content of the source hide the test mark, or move it.
func TestMarkStaysOnTop(t *testing.T) {
	t.Parallel()
	documents := map[string][]byte{}
	for name, content := range map[string]string{
		"string": "BT (never ends", "hexadecimal": "<41", "array": "[1 2 3", "dictionary": "/A << /B", "comment": "% no line", "name": "/Na", "number": "12",
		"image": "BI /W 100 /H 100 /CS /G /BPC 8 ID \x00\x01", "image without data": "BI /W 1", "clip": "q 0 0 1 1 re W n", "states": strings.Repeat("q 2 0 0 2 9 9 cm ", 40),
		"too few states": "Q Q Q 9 0 0 9 0 0 cm", "marked content": "/P BMC BT", "text clip": "BT 7 Tr /F1 12 Tf (x) Tj", "compatibility": "BX",
	} {
		documents["content: "+name] = craft(content).write()
	}
	for name, annotation := range map[string]string{
		"stamp": "/Subtype /Stamp", "field": "/Subtype /Widget /FT /Tx /T (a)", "note": "/Subtype /FreeText /DA (/F1 9 Tf)", "unknown": "/Subtype /Other", "watermark": "/Subtype /Watermark",
	} {
		c := craft("")
		look := c.stream("/Type /XObject /Subtype /Form /BBox [0 0 300 400]", "1 g 0 0 300 400 re f")
		c.pages[0].entries = "/Annots [<< /Type /Annot /F 4 /Rect [0 0 300 400] /AP << /N " + look + " >> " + annotation + " >>]"
		documents["annotation: "+name] = c.write()
	}

	wants := extentOfMark(t, make1(t, TestMarkJob, input(""), craft("").write()))
	for name, document := range documents {
		got := make1(t, TestMarkJob, input(""), document)
		pages := map[string]image.Image{"poppler": draw(t, got, 1)}
		switch {
		case strings.HasPrefix(name, "annotation") && name != "annotation: field":
			// MuPDF draws nothing of some broken content, and fields after all other annotations.
			pages["MuPDF"] = drawMuPDF(t, got, 1)
		case name == "content: string" || name == "content: clip" || name == "content: image":
			pages["PDFium"] = drawPDFium(t, got, 1)
		}
		for reader, page := range pages {
			if at := marked(page).Intersect(wants); !close1(at, wants) {
				t.Errorf("%s, %s: the mark is at %v, want %v", name, reader, at, wants)
			}
		}
	}
}

func extentOfMark(t *testing.T, document []byte) image.Rectangle {
	t.Helper()
	at := marked(draw(t, document, 1))
	if at.Dx() < 10 {
		t.Fatalf("no mark: %v", at)
	}
	return at
}

// TestMarkStaysOverSignature signs a document with the test mark: the visible signature is below.
func TestMarkStaysOverSignature(t *testing.T) {
	t.Parallel()
	document := make1(t, TestMarkJob, input(""), craft("").write())
	wants := extentOfMark(t, document)
	signer := newSigner(t)
	got, err := pdfsign.Sign(t.Context(), pdfsign.PDF{Content: document}, pdfsign.Job{
		Options: pdfsign.Options{Time: time.Now(), Visible: &pdfsign.Visible{
			Page: 1, Width: 300, Height: 400, Image: &pdfsign.Image{Width: 1, Height: 1, RGB: []byte{255, 255, 255}},
		}},
		Level: pdfsign.LevelB, Key: signer, Chain: signer.Chain, Hash: signer.Hash,
	})
	if err != nil {
		t.Fatal(err)
	}
	if at := extentOfMark(t, got); !close1(at, wants) {
		t.Errorf("the mark is at %v, want %v", at, wants)
	}
	if !strings.Contains(string(got), pdffile.TestMark) {
		t.Error("the mark is no annotation")
	}
}
