package pdffile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// fileOf writes a file of objects, of which the first is the catalog, the second the tree of pages and the third the
// page.
func fileOf(objects ...string) []byte {
	var out strings.Builder
	out.WriteString("%PDF-1.7\n")
	offsets := make([]int, len(objects))
	for i, object := range objects {
		offsets[i] = out.Len()
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	start := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, at := range offsets {
		fmt.Fprintf(&out, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return []byte(out.String())
}

func streamOf(entries, content string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", entries, len(content), content)
}

// nested is a page whose form draws ten forms, which draw ten each, and so on.
func nested(kind string, depth int) []string {
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 /Resources << /XObject << /F 5 0 R >> /Pattern << /F 5 0 R >> >> >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R >>",
	}
	draw, entries := "/F Do ", "/Type /XObject /Subtype /Form /BBox [0 0 9 9]"
	if kind == "/Pattern" {
		draw = "/Pattern cs /F scn 0 0 9 9 re f "
		entries = "/Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /XStep 9 /YStep 9 /BBox [0 0 9 9]"
	}
	objects = append(objects, streamOf("", draw))
	for i := range depth {
		inner := fmt.Sprintf(" /Resources << %s << /F %d 0 R >> >>", kind, i+6)
		content := strings.Repeat(draw, 10)
		if i == depth-1 {
			inner, content = "", "0 0 1 1 re f"
		}
		objects = append(objects, streamOf(entries+inner, content))
	}
	return objects
}

// TestDrawn counts what pages draw: a form as often as it is drawn, however it is reached.
func TestDrawn(t *testing.T) {
	t.Parallel()
	own := nested("/XObject", 3)
	own[2] = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents [4 0 R 4 0 R] >>"

	loop := nested("/XObject", 2)
	loop[5] = streamOf("/Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /F 5 0 R >> >>", "/F Do /F Do")

	annotated := nested("/XObject", 20)
	annotated[2] = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Annots [26 0 R] >>"
	for len(annotated) < 25 {
		annotated = append(annotated, "null")
	}
	annotated = append(annotated, "<< /Type /Annot /Subtype /Stamp /Rect [0 0 9 9] /AP << /N << /On 5 0 R >> >> >>")

	hidden := nested("/XObject", 2)
	hidden[3] = streamOf("", "(/F Do) Tj % /F Do\nBI /W 1 /H 1 /BPC 8 /CS /G ID /F Do EI 0 0 1 1 re")

	for name, test := range map[string]struct {
		objects  []string
		min, max int64
	}{
		"three deep":            {nested("/XObject", 3), 400, 500},
		"twenty deep":           {nested("/XObject", 20), pdffile.MaxDrawn, pdffile.MaxDrawn},
		"patterns":              {nested("/Pattern", 20), pdffile.MaxDrawn, pdffile.MaxDrawn},
		"two contents":          {own, 800, 1000},
		"a form in itself":      {loop, 1, 100},
		"an appearance":         {annotated, pdffile.MaxDrawn, pdffile.MaxDrawn},
		"text that looks alike": {hidden, 1, 10},
		"no forms": {[]string{
			"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
			"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R >>", streamOf("", "0 0 1 1 re f"),
		}, 0, 0},
	} {
		f, err := pdffile.Read(fileOf(test.objects...))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		pages, err := f.Pages(1)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := f.Drawn(pages[0]); got < test.min || got > test.max {
			t.Errorf("%s: %d, want %d to %d", name, got, test.min, test.max)
		}
	}
}
