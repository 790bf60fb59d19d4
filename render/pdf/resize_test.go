package pdf

import (
	"fmt"
	"image"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// placed is a page of 200 by 100 points as it is shown without a turn, with
// everything that has a place on it: two patterns, a link, a field, a box that is off
// the page, and what leads to it.
func placed(rotate int, start string) []byte {
	content := start + "/Pattern cs /P scn 40 45 60 90 re f /S scn 110 60 60 30 re f 0 0 1 rg 200 100 30 40 re f 1 0 0 RG 4 w 45 50 m 225 130 l S 0 0 400 8 re f"
	tile := "1 0 0 rg 0 0 5 5 re f 0 0 1 rg 5 5 5 5 re f"
	s := source{Pages: []string{"x"}, Catalog: "/Outlines 106 0 R /OpenAction [100 0 R /FitH 120] /Names << /Dests << /Names [(there) << /D [100 0 R /FitR 47 51 87 91] >>] >> >> /AcroForm << /Fields [109 0 R] /DA (/Helv 10 Tf 0 g) >>", Objects: []string{
		fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [500 500 0 0] /CropBox 110 0 R /TrimBox [47 51 227 131] /BleedBox [0 0 500 500] /Rotate %d /Contents 105 0 R /Annots 111 0 R /Resources 101 0 R /Thumb 104 0 R >>", rotate),
		"<< /Pattern << /P 102 0 R /S << /PatternType 2 /Matrix [1 0 0 1 10 0] /Shading 103 0 R >> >> >>",
		fmt.Sprintf("<< /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 10 10] /XStep 10 /YStep 10 /Resources << >> /Matrix [1 0 0 1 3 4] /Length %d >>\nstream\n%s\nendstream", len(tile), tile),
		"<< /ShadingType 2 /ColorSpace /DeviceRGB /Coords [100 0 160 0] /Extend [true true] /Function << /FunctionType 2 /Domain [0 1] /C0 [1 0 0] /C1 [0 1 0] /N 1 >> >>",
		"<< /Length 3 >>\nstream\nabc\nendstream",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content),
		"<< /Type /Outlines /First 107 0 R /Last 107 0 R /Count 1 >>",
		"<< /Title (Here) /Parent 106 0 R /Dest 112 0 R >>",
		"<< /Type /Annot /Subtype /Link /Rect [57 61 97 81] /QuadPoints [57 81 97 81 57 61 97 61] /Border [0 0 2] /F 2 /A << /S /URI /URI (https://example.com/) >> >>",
		"<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /Rect [137 101 177 111] /BS << /W 2 >> >>",
		"[37 41 237 141]",
		"[108 0 R 109 0 R << /Type /Annot /Subtype /Square /Rect [300 300 340 340] /IC [0 1 0] >>]",
		"[100 0 R /XYZ 47 131 null]",
	}}
	return []byte(strings.Replace(string(s.Write()), "/Kids [10 0 R ]", "/Kids [100 0 R]", 1))
}

// drawAt is draw at another resolution.
func drawAt(t *testing.T, document []byte, dpi int) image.Image {
	t.Helper()
	out := filepath.Join(t.TempDir(), "page")
	pdftest.Tool(t, "pdftoppm", "-q", "-cropbox", "-r", fmt.Sprint(dpi), "-png", "-singlefile", pdftest.Save(t, document), out)
	return picturePNG(t, pdftest.Load(t, out+".png"))
}

// TestResizeDrawsTheSame doubles pages that are turned: at half of the resolution
// three programs draw what they drew before.
func TestResizeDrawsTheSame(t *testing.T) {
	for _, rotate := range []int{0, 90, 180, 270} {
		width, height := 400.0, 200.0
		if rotate%180 != 0 {
			width, height = height, width
		}
		document := placed(rotate, "")
		resized := makeOne(t, ResizeJob.Name, ResizeArgs{Selection: Selection{Input: input("")}, Width: width, Height: height}, document)
		keep(t, fmt.Sprintf("resized%d.pdf", rotate), resized)
		sound(t, resized, "", 1)
		want := drawAt(t, document, 144)
		for name, got := range map[string]image.Image{"poppler": draw(t, resized, 1), "MuPDF": drawMuPDF(t, resized, 1), "PDFium": drawPDFium(t, resized, 1)} {
			if share := differing(t, got, want); share > 0.05 { // edges of tiles
				t.Errorf("turned by %d, %s: %.1f %% of the pixels differ", rotate, name, 100*share)
			}
		}
		// Readers take no notice of what ends more than has begun.
		loose := makeOne(t, ResizeJob.Name, ResizeArgs{Selection: Selection{Input: input("")}, Width: width, Height: height}, placed(rotate, "Q Q "))
		if share := differing(t, drawMuPDF(t, loose, 1), drawMuPDF(t, resized, 1)); share > 0 {
			t.Errorf("turned by %d, loose: %.1f %% of the pixels differ", rotate, 100*share)
		}
		back := makeOne(t, ResizeJob.Name, ResizeArgs{Selection: Selection{Input: input("")}, Width: width / 2, Height: height / 2}, resized)
		if share := differing(t, draw(t, back, 1), draw(t, document, 1)); share > 0.01 {
			t.Errorf("turned by %d and back: %.1f %% of the pixels differ", rotate, 100*share)
		}
	}
}

// entries returns what qpdf shows of an object of a document.
func entries(t *testing.T, content []byte, find string) string {
	t.Helper()
	for line := range strings.Lines(pdftest.Tool(t, "qpdf", "--qdf", "--object-streams=disable", "--no-original-object-ids", pdftest.Save(t, content), "-")) {
		if strings.Contains(line, find) {
			return line
		}
	}
	return ""
}

// TestResizeMovesPositionedObjects reads where links, fields, boxes and destinations
// are: the page is drawn on one that is higher, and then distorted to fill it.
func TestResizeMovesPositionedObjects(t *testing.T) {
	for _, test := range []struct {
		fit  images.Fit
		want map[string]any
	}{
		// Twice the size, with 50 points above and below.
		{images.Contain, map[string]any{
			"/MediaBox": []any{0., 0., 400., 300.}, "/CropBox": []any{0., 0., 400., 300.}, "/TrimBox": []any{20., 70., 380., 230.}, "/BleedBox": []any{0., 0., 400., 300.}, "/Thumb": nil,
			"link": []any{40., 90., 120., 130.}, "quads": []any{40., 130., 120., 130., 40., 90., 120., 90.}, "border": []any{0., 0., 4.},
			"field": []any{200., 170., 280., 190.}, "font": "b:2f48656c7620323020546620302067", "style": 4.,
			"bookmark": []any{20., 230., nil}, "open": []any{208.}, "name": []any{20., 70., 100., 150.}, "off": 2.,
		}},
		{images.Fill, map[string]any{
			"/TrimBox": []any{20., 30., 380., 270.}, "link": []any{40., 60., 120., 120.}, "field": []any{200., 180., 280., 210.},
			"bookmark": []any{20., 270., nil}, "open": []any{237.}, "name": []any{20., 30., 100., 150.},
		}},
	} {
		resized := makeOne(t, ResizeJob.Name, ResizeArgs{Selection: Selection{Input: input("")}, Width: 400, Height: 300, Fit: test.fit}, placed(0, ""))
		f, err := pdffile.Read(pdftest.Transform(t, resized, "--object-streams=disable"))
		if err != nil {
			t.Fatal(err)
		}
		pages, err := f.Pages(1)
		if err != nil {
			t.Fatal(err)
		}
		page, s := f.Dict(pages[0].Ref), &job.Structure{File: f}
		annotations, _ := f.Target(page["/Annots"]).([]any)
		link, field, off := f.Entry(annotations[0]), f.Entry(annotations[1]), f.Entry(annotations[2])
		place := func(v any) any {
			list, _ := s.Resolved(f.Target(v)).([]any)
			return list[2:]
		}
		catalog := f.Catalog()
		names, _ := f.Target(f.Entry(f.Entry(catalog["/Names"])["/Dests"])["/Names"]).([]any)
		got := map[string]any{
			"link": link["/Rect"], "quads": link["/QuadPoints"], "border": link["/Border"], "field": field["/Rect"], "font": field["/DA"], "style": f.Entry(field["/BS"])["/W"], "off": off["/F"],
			"bookmark": place(f.Entry(f.Entry(catalog["/Outlines"])["/First"])["/Dest"]), "open": place(catalog["/OpenAction"]), "name": place(f.Entry(names[1])["/D"]),
		}
		for key, want := range test.want {
			if strings.HasPrefix(key, "/") {
				got[key] = page[key]
			}
			if fmt.Sprint(got[key]) != fmt.Sprint(want) {
				t.Errorf("%s, %s: %v, want %v", test.fit, key, got[key], want)
			}
		}
		if off["/F"] == nil || !strings.Contains(entries(t, resized, "example.com"), "https://example.com/") {
			t.Errorf("%s: the link's address, or the flag of what is off the page, is gone", test.fit)
		}
	}
}

// TestResizeLeavesOtherPages resizes one page of several; links to it from others
// move along.
func TestResizeLeavesOtherPages(t *testing.T) {
	document := linked()
	got := makeOne(t, ResizeJob.Name, ResizeArgs{Selection: Selection{Input: input(""), Pages: "1"}, Width: 600, Height: 800}, document.Write())
	sound(t, got, "", 3)
	about := unmarshal[Info](t, result(t, InfoJob.Name, input(""), got))
	for i, want := range []PageInfo{{1, 600, 800, 0}, {2, 301, 400, 0}, {3, 302, 400, 0}} {
		if about.Pages[i] != want {
			t.Errorf("page %d: %+v, want %+v", i+1, about.Pages[i], want)
		}
	}
	if before, after := outlineOf(t, document.Write()), outlineOf(t, got); strings.Join(before, "|") != strings.Join(after, "|") {
		t.Errorf("the outline is %q, want %q", after, before)
	}
	if text := strings.Join(strings.Fields(pdftest.Tool(t, "qpdf", "--qdf", pdftest.Save(t, got), "-")), " "); !strings.Contains(text, "/XYZ 0 600 null") {
		t.Error("the bookmark to a place on the page did not move")
	}
	runFailing(t, job.PageOutOfRange, ResizeJob.Name, ResizeArgs{Selection: Selection{Input: input(""), Pages: "4"}, Width: 100, Height: 100}, document.Write())
}

// TestResizeCountsInUnits resizes a page whose unit is not a point, and one that is
// encrypted, and stays so.
func TestResizeCountsInUnits(t *testing.T) {
	s := source{Pages: []string{"x"}, Objects: []string{"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 30 40] /UserUnit 10 /Contents 11 0 R /Resources << /Font << /F1 3 0 R >> >> >>"}}
	units := []byte(strings.Replace(string(s.Write()), "/Kids [10 0 R ]", "/Kids [100 0 R]", 1))
	locked := pdftest.Transform(t, units, "--encrypt", "u", "o", "256", "--")
	got := makeOne(t, ResizeJob.Name, ResizeArgs{Selection: Selection{Input: input("u")}, Width: 595, Height: 842}, locked)
	sound(t, got, "u", 1)
	if err := exec.CommandContext(t.Context(), "qpdf", "--check", pdftest.Save(t, got)).Run(); err == nil {
		t.Error("it opens without the password")
	}
	for line := range strings.Lines(pdftest.Tool(t, "pdfinfo", "-upw", "u", pdftest.Save(t, got))) {
		if strings.HasPrefix(line, "Page size:") && !strings.Contains(line, "595 x 842") {
			t.Error(line)
		}
	}
}
