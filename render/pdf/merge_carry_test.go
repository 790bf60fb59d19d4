package pdf

import (
	"image/color"
	"strconv"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// layered is a document of two layers, of which the green one is hidden and the red one is
// shown, with an attached file and labels of pages.
func layered(state string) []byte {
	appearance := func(color string) string {
		content := color + " rg 0 0 40 40 re f"
		return "<< /Type /XObject /Subtype /Form /BBox [0 0 40 40] /Length " + strconv.Itoa(len(content)) + " >>\nstream\n" + content + "\nendstream"
	}
	annotation := func(x, layer, form string) string {
		return "<< /Type /Annot /Subtype /Stamp /F 4 /Rect [" + x + " 100 " + x + "0 200] /OC " + layer + " 0 R /AP << /N " + form + " 0 R >> >>"
	}
	return pdftest.Source{
		Pages: []string{"alpha", "beta"},
		Catalog: "/OCProperties << /OCGs 108 0 R /D << " + state + " /Order [100 0 R 101 0 R] >> >> " +
			"/PageLabels << /Nums [0 << /S /r >>] >> /Names << /EmbeddedFiles << /Names [(note.txt) 106 0 R] >> >>",
		Annots: map[int]string{0: "102 0 R 103 0 R"},
		Objects: []string{
			"<< /Type /OCG /Name (Secret) >>", "<< /Type /OCG /Name (Open) >>",
			annotation("10", "100", "104"), annotation("15", "101", "105"), appearance("0 1 0"), appearance("1 0 0"),
			"<< /Type /Filespec /F (note.txt) /EF << /F 107 0 R >> >>", "<< /Type /EmbeddedFile /Length 4 >>\nstream\nnote\nendstream", "[100 0 R 101 0 R]",
		},
	}.Write()
}

// TestRewritesKeepDocumentProperties: hidden layers stay hidden, and labels of pages and
// attached files are there, whatever becomes of the pages.
func TestRewritesKeepDocumentProperties(t *testing.T) {
	for name, state := range map[string]string{"off": "/OFF [100 0 R]", "on": "/BaseState /OFF /ON [101 0 R]"} {
		document := layered(state)
		packed := pdftest.Transform(t, document, "--object-streams=generate")
		for _, test := range []struct {
			name  string
			made  []byte
			files int
			pages []int // with the layers
		}{
			{"merged", makeOne(t, MergeJob.Name, mergeOf(make([]string, 2), make([]string, 2)), document, document), 2, []int{1, 3}},
			{"merged and packed", makeOne(t, MergeJob.Name, mergeOf(make([]string, 2), make([]string, 2)), packed, document), 2, []int{1, 3}},
			{"merged with another", makeOne(t, MergeJob.Name, mergeOf(make([]string, 2), make([]string, 2)), pdftest.Three().Write(), document), 1, []int{4}},
			{"extracted", makeOne(t, ExtractJob.Name, Selection{Input: input(""), Pages: "1"}, document), 1, []int{1}},
			{"without a page", makeOne(t, DeletePagesJob.Name, Selection{Input: input(""), Pages: "2"}, document), 1, []int{1}},
			{"stamped", makeOne(t, StampJob.Name, stampArgs(func(m *Mark) { m.Stamp.Name = inputName(1) }), document, plate(t, color.Black, 4, 4)), 1, []int{1}},
		} {
			what := name + ", " + test.name
			path := pdftest.Save(t, test.made)
			if out := pdftest.Tool(t, "qpdf", "--check", path); strings.Contains(out, "WARNING") {
				t.Errorf("%s: qpdf says %s", what, out)
			}
			if got := strings.Count(pdftest.Tool(t, "pdfdetach", "-list", path), "note"); got != test.files {
				t.Errorf("%s: %d attached files, want %d", what, got, test.files)
			}
			for _, page := range test.pages {
				rasterImage := draw(t, test.made, page)
				if !extent(rasterImage, green).Empty() || extent(rasterImage, red).Empty() {
					t.Errorf("%s: page %d shows the hidden layer at %v and the other at %v", what, page, extent(rasterImage, green), extent(rasterImage, red))
				}
			}
			plain := string(pdftest.Transform(t, test.made, "--qdf", "--object-streams=disable"))
			if !strings.Contains(plain, "/PageLabels") || !strings.Contains(plain, "/S /r") || strings.Contains(plain, "Relaypdf") {
				t.Errorf("%s: the labels of pages are lost, or an entry is left", what)
			}
		}
	}
}
