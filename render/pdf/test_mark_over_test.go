package pdf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/pdfsign"
)

// viewers draw all pages of a document, which has that many, at 72 dpi.
var viewers = map[string]func(t testing.TB, document []byte, pages int) []image.Image{
	"poppler": func(t testing.TB, document []byte, pages int) []image.Image {
		t.Helper()
		out := filepath.Join(t.TempDir(), "page")
		pdftest.Tool(t, "pdftoppm", "-q", "-cropbox", "-r", "72", "-png", pdftest.Save(t, document), out)
		return pictures(t, out+"-%0"+fmt.Sprint(len(fmt.Sprint(pages)))+"d.png", pages)
	},
	"MuPDF": func(t testing.TB, document []byte, pages int) []image.Image {
		t.Helper()
		out := filepath.Join(t.TempDir(), "page-%d.png")
		_ = exec.CommandContext(t.Context(), "mutool", "draw", "-q", "-r", "72", "-o", out, pdftest.Save(t, document)).Run() // It fails on some content, which it draws all the same.
		return pictures(t, out, pages)
	},
	"PDFium": func(t testing.TB, document []byte, pages int) []image.Image {
		t.Helper()
		return drawForms(t, document, pages, false)
	},
	"PDFium with forms": func(t testing.TB, document []byte, pages int) []image.Image {
		t.Helper()
		return drawForms(t, document, pages, true)
	},
}

func pictures(t testing.TB, pattern string, pages int) (all []image.Image) {
	t.Helper()
	for page := 1; page <= pages; page++ {
		all = append(all, picturePNG(t, pdftest.Load(t, fmt.Sprintf(pattern, page))))
	}
	return all
}

// drawForms returns all pages as PDFium shows them, on request with fields that can be filled in.
func drawForms(t testing.TB, document []byte, pages int, fields bool) (all []image.Image) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", "-e", `
		const { PDFiumLibrary } = require("@hyzyla/pdfium");
		PDFiumLibrary.init().then(async (library) => {
			const document = await library.loadDocument(require("fs").readFileSync(0));
			for (let n = 0; n < document.getPageCount(); n++) {
				const page = await document.getPage(n).render({ scale: 1, render: "bitmap", renderFormFields: process.argv[1] === "true" });
				const size = Buffer.alloc(8);
				size.writeUInt32BE(page.width, 0);
				size.writeUInt32BE(page.height, 4);
				process.stdout.write(Buffer.concat([size, page.data]));
			}
		});`, fmt.Sprint(fields))
	cmd.Dir, cmd.Stdin = "../../.ci/node", bytes.NewReader(document)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	for range pages {
		width, height := int(binary.BigEndian.Uint32(out)), int(binary.BigEndian.Uint32(out[4:]))
		end := 8 + 4*width*height
		all = append(all, &image.RGBA{Pix: out[8:end], Stride: 4 * width, Rect: image.Rect(0, 0, width, height)})
		out = out[end:]
	}
	return all
}

// darkOf returns a part of an image in black and white: some readers darken what highlights cover.
func darkOf(img image.Image, at image.Rectangle) image.Image {
	part := image.NewGray(image.Rect(0, 0, at.Dx(), at.Dy()))
	for y := range at.Dy() {
		for x := range at.Dx() {
			if gray := color.GrayModel.Convert(img.At(at.Min.X+x, at.Min.Y+y)).(color.Gray); gray.Y > 128 { //nolint:forcetypeassert // of the model
				part.SetGray(x, y, color.Gray{Y: 255})
			}
		}
	}
	return part
}

// topCase is a page that hides a test mark below it.
type topCase struct {
	name string
	craftedPage
}

// checkMarks marks a document of the pages, twice. Each viewer shows the mark as on a blank page, and nothing else
// changes.
func checkMarks(t *testing.T, catalog string, objects map[int]string, cases []topCase) {
	t.Helper()
	blank, hiding := craft(), craft()
	hiding.catalog = catalog
	for number, object := range objects {
		hiding.objects[number] = object
	}
	for _, c := range cases {
		geometry := ""
		for _, entry := range []string{"/Rotate 90", "/Rotate 180", "/Rotate 270", "/CropBox [20 30 260 350]", "/UserUnit 2"} {
			if strings.Contains(c.entries, entry) {
				geometry += entry + " "
			}
		}
		blank.pages = append(blank.pages, craftedPage{entries: geometry})
		hiding.pages = append(hiding.pages, c.craftedPage)
	}

	wants := makeOne(t, TestMarkJob.Name, input(""), blank.write())
	once := makeOne(t, TestMarkJob.Name, input(""), hiding.write())
	twice := makeOne(t, TestMarkJob.Name, input(""), once)
	if grown := len(twice) - len(once); grown > len(once)/20 {
		t.Errorf("the second mark makes %d bytes %d", len(once), len(twice))
	}
	for reader, all := range viewers {
		want := all(t, wants, len(cases))
		for pass, document := range [][]byte{once, twice} {
			for i, page := range all(t, document, len(cases)) {
				at := marked(want[i])
				if at.Dx() < 10 {
					t.Fatalf("%s, %s: the blank page has no mark", reader, cases[i].name)
				}
				limit := 0.05
				if strings.Contains(cases[i].name, "highlight") {
					limit = 0.25
				}
				if share := differing(t, darkOf(page, at), darkOf(want[i], at)); share > limit {
					t.Errorf("%s, %s, pass %d: %.0f %% of the mark differ", reader, cases[i].name, pass+1, 100*share)
				}
			}
		}
	}
}

// TestMarkIsAboveContent: content that does not end, or changes the state for what follows, does not hide the mark.
func TestMarkIsAboveContent(t *testing.T) {
	t.Parallel()
	var cases []topCase
	for name, content := range map[string]string{
		"string": "BT (never ends", "escaped string": `BT (never ends \)`, "hexadecimal": "<41 Tj", "hexadecimal before operators": "<41 /A Q Q", "array": "[1 2 3", "dictionary": "/A << /B",
		"property list": "/A << /B 1 BDC", "comment": "% no line", "name": "/Na", "number": "12", "many numbers": strings.Repeat("1 ", 5000), "bracket": ") ] } >>",
		"image": "BI /W 100 /H 100 /CS /G /BPC 8 ID \x00\x01", "short image": "BI /W 400 /H 400 /CS /RGB /BPC 8 ID abc\nEI Q q", "image without data": "BI /W 1",
		"image with a filter": "BI /W 4 /H 4 /CS /G /BPC 8 /F /AHx ID 00", "clip": "q 0 0 1 1 re W n", "clip without a state": "0 0 1 1 re W n", "pending clip": "0 0 1 1 re W",
		"states": strings.Repeat("q 2 0 0 2 9 9 cm ", 40), "too few states": "Q Q Q 9 0 0 9 0 0 cm", "too few states, balanced": "Q 9 0 0 9 0 0 cm q", "marked content": "/P BMC BT",
		"layer": "/OC /Layer BDC", "layer without text": "/OC /Layer BDC BT", "closed layer": "/OC /Layer BDC EMC", "text clip": "BT 7 Tr /F1 12 Tf (x) Tj", "closed text clip": "BT 7 Tr /F1 12 Tf (x) Tj ET",
		"compatibility": "BX", "path": "0 0 300 400 re", "path and operators": "0 0 300 400 re q Q 0 0 m", "unknown operators": strings.Repeat("foo ", 300), "unknown names": strings.Repeat("/No Do ", 300),
		"glyph": "1000 0 0 0 300 400 d1", "opacity": "/Clear gs", "mode": "/Mode gs", "soft mask": "/Masked gs", "no operator": "0.5", "closed": "q 1 0 0 rg 0 0 300 400 re f Q",
	} {
		cases = append(cases, topCase{name, craftedPage{content: content, resources: "/ExtGState << /Clear << /ca 0 /CA 0 >> /Mode << /BM /Difference >> /Masked << /SMask << /S /Luminosity /G 961 0 R >> >> >> /Properties << /Layer 960 0 R >>"}})
	}
	for name, entries := range map[string]string{"turned": "/Rotate 90", "upside down": "/Rotate 180", "turned back": "/Rotate 270", "cropped": "/CropBox [20 30 260 350]", "enlarged": "/UserUnit 2", "all": "/Rotate 90 /CropBox [20 30 260 350] /UserUnit 2"} {
		cases = append(cases, topCase{name, craftedPage{content: "q 0 0 1 1 re W n (", entries: entries}})
	}
	slices.SortFunc(cases, func(a, b topCase) int { return strings.Compare(a.name, b.name) })

	checkMarks(t, "/OCProperties << /OCGs [960 0 R] /D << /OFF [960 0 R] >> >>", map[int]string{
		960: "<< /Type /OCG /Name (Layer) >>", 961: streamText("/Type /XObject /Subtype /Form /BBox [0 0 1 1] /Group << /S /Transparency /CS /DeviceGray >>", ""),
	}, cases)
}

// TestMarkIsAboveContentOfSeveralStreams: a string, an image and a clip that begin in one stream and end in none.
func TestMarkIsAboveContentOfSeveralStreams(t *testing.T) {
	t.Parallel()
	var cases []topCase
	objects := map[int]string{}
	for i, content := range []string{"BT (", "BI /W 90 /H 90 /CS /RGB /BPC 8 ID ", "q 0 0 1 1 re W n", "Q Q 0 0 0 0 0 0 cm"} {
		objects[960+3*i] = streamText("", content)
		objects[961+3*i] = deflated("", "Q q 1 0 0 rg 0 0 300 400 re f")
		cases = append(cases, topCase{content, craftedPage{entries: fmt.Sprintf("/Contents [%d 0 R %d 0 R]", 960+3*i, 961+3*i)}})
	}
	checkMarks(t, "", objects, cases)
}

// TestMarkIsAboveAnnotations: neither annotations nor fields hide the mark, whoever draws them.
func TestMarkIsAboveAnnotations(t *testing.T) {
	t.Parallel()
	const whole = "/Type /Annot /Rect [-1 -1 301 401] "
	annotations := map[string]string{
		"stamp": "/Subtype /Stamp /AP << /N 960 0 R >>", "note": "/Subtype /FreeText /DA (/F1 9 Tf) /Contents (x) /AP << /N 960 0 R >>", "unknown": "/Subtype /Other /AP << /N 960 0 R >>",
		"watermark": "/Subtype /Watermark /AP << /N 960 0 R >>", "printer's mark": "/Subtype /PrinterMark /AP << /N 960 0 R >>", "highlight": "/Subtype /Highlight /AP << /N 960 0 R >> /QuadPoints [0 0 300 0 0 400 300 400]",
		"square": "/Subtype /Square /IC [1 1 1] /C [1 1 1]", "circle": "/Subtype /Circle /IC [1 1 1] /C [1 0 0]", "note without appearance": "/Subtype /FreeText /DA (1 0 0 rg /F1 9 Tf) /C [1 1 0] /Contents (x)",
		"line": "/Subtype /Line /L [150 0 300 0] /BS << /W 90 >> /C [1 1 1]", "polygon": "/Subtype /Polygon /Vertices [0 0 300 0 300 400 0 400] /IC [1 1 1] /C [1 1 1]",
		"ink": "/Subtype /Ink /InkList [[0 0 300 5]] /BS << /W 90 >> /C [1 1 1]", "highlight without appearance": "/Subtype /Highlight /C [1 0 0] /QuadPoints [0 400 300 400 0 0 300 0]",
		"link with a border": "/Subtype /Link /Border [0 0 200] /C [1 1 1]", "link with a style": "/Subtype /Link /BS << /W 200 /S /S >> /C [1 1 1]", "link with an appearance": "/Subtype /Link /AP << /N 960 0 R >>",
		"turned appearance": "/Subtype /Stamp /AP << /N 962 0 R >>", "small appearance": "/Subtype /Stamp /AP << /N 963 0 R >>", "no kind of stream": "/Subtype /Stamp /AP << /N 964 0 R >>",
		"text field": "/Subtype /Widget /FT /Tx /T (a) /V (x) /DA (/F1 9 Tf) /AP << /N 960 0 R >>", "button": "/Subtype /Widget /FT /Btn /Ff 65536 /T (b) /AP << /N 960 0 R >>",
		"check box": "/Subtype /Widget /FT /Btn /T (c) /AS /On /V /On /AP << /N << /On 960 0 R /Off 960 0 R >> >>", "check box that is off": "/Subtype /Widget /FT /Btn /T (d) /AS /Off /AP << /N << /On 960 0 R >> >> /MK << /BG [1 1 1] >>",
		"signature": "/Subtype /Widget /FT /Sig /T (e) /AP << /N 960 0 R >>", "signature without appearance": "/Subtype /Widget /FT /Sig /T (f) /MK << /BG [1 1 1] /BC [1 0 0] >>",
		"text field without appearance": "/Subtype /Widget /FT /Tx /T (g) /V (x) /DA (/F1 9 Tf) /MK << /BG [1 1 1] >>", "choice without appearance": "/Subtype /Widget /FT /Ch /Ff 131072 /T (h) /V (x) /Opt [(x)] /DA (/F1 9 Tf) /MK << /BG [1 1 1] >>",
		"button without appearance": "/Subtype /Widget /FT /Btn /Ff 65536 /T (i) /DA (/F1 9 Tf) /MK << /BG [1 1 1] /CA (x) >>", "not turned": "/Subtype /Text /F 28 /Name /Note /AP << /N 960 0 R >>",
	}
	objects := map[int]string{
		960: streamText("/Type /XObject /Subtype /Form /BBox [0 0 300 400]", "1 g 0 0 300 400 re f"),
		962: streamText("/Type /XObject /Subtype /Form /BBox [0 0 300 400] /Matrix [0 1 -1 0 7 9]", "1 g 0 0 300 400 re f"),
		963: streamText("/Type /XObject /Subtype /Form /BBox [10 10 13 14]", "1 g 0 0 300 400 re f 1 0 0 rg 11 11 9 9 re f"),
		964: streamText("/BBox [0 0 300 400]", "1 g 0 0 300 400 re f"),
	}
	var cases []topCase
	var fields []string
	number := 200
	add := func(name, annotation, entries string) {
		objects[number] = "<< " + whole + annotation + " >>"
		if !strings.Contains(annotation, "/F ") {
			objects[number] = "<< /F 4 " + whole + annotation + " >>"
		}
		if strings.Contains(annotation, "/Widget") {
			objects[number] = strings.Replace(objects[number], "/T (", "/T ("+fmt.Sprint(number), 1)
			fields = append(fields, fmt.Sprintf("%d 0 R", number))
		}
		cases = append(cases, topCase{name, craftedPage{entries: fmt.Sprintf("/Annots [%d 0 R] %s", number, entries)}})
		number++
	}
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		add(name, annotations[name], "")
	}
	for _, entries := range []string{"/Rotate 90", "/Rotate 180", "/Rotate 270", "/CropBox [20 30 260 350]", "/UserUnit 2", "/Rotate 90 /CropBox [20 30 260 350] /UserUnit 2"} {
		for _, name := range []string{"stamp", "text field", "turned appearance", "not turned", "square"} {
			add(name+" "+entries, annotations[name], entries)
		}
	}
	for i, page := range []string{"[<< " + whole + annotations["stamp"] + " >>]", "500 0 R"} {
		cases = append(cases, topCase{fmt.Sprint("direct ", i), craftedPage{entries: "/Annots " + page}})
	}
	objects[500] = "[null << " + whole + annotations["button"] + " >> 501 0 R]"
	objects[501] = "<< /F 4 " + whole + annotations["stamp"] + " >>"

	checkMarks(t, "/AcroForm << /DA (/F1 9 Tf) /DR << /Font << /F1 3 0 R >> >> /Fields ["+strings.Join(fields, " ")+"] >>", objects, cases)
}

// TestMarkIsAboveFieldsThatReadersDraw: the form says that readers draw all fields, and they do.
func TestMarkIsAboveFieldsThatReadersDraw(t *testing.T) {
	t.Parallel()
	const widget = "<< /Type /Annot /Subtype /Widget /F 4 /Rect [0 0 300 400] /DA (/F1 9 Tf) /MK << /BG [1 1 1] >> /AP << /N 960 0 R >> "
	checkMarks(t, "/AcroForm << /NeedAppearances true /DA (/F1 9 Tf) /DR << /Font << /F1 3 0 R >> >> /Fields [970 0 R 971 0 R] >>", map[int]string{
		960: streamText("/Type /XObject /Subtype /Form /BBox [0 0 300 400]", ""),
		970: widget + "/FT /Tx /T (a) /V (x) >>",
		971: widget + "/FT /Ch /Ff 131072 /T (b) /V (x) /Opt [(x)] >>",
	}, []topCase{{"text", craftedPage{entries: "/Annots [970 0 R]"}}, {"choice", craftedPage{entries: "/Annots [971 0 R]"}}})
}

// TestMarkKeepsAnnotations: where the mark is not, pages with annotations look as before, and fields stay fields.
func TestMarkKeepsAnnotations(t *testing.T) {
	t.Parallel()
	c := craft("BT /F1 20 Tf 20 300 Td (content) Tj ET")
	c.objects[60] = streamText("/Type /XObject /Subtype /Form /BBox [0 0 30 40] /Matrix [0 1 -1 0 7 9]", "1 0 0 rg 0 0 15 40 re f 0 0 1 rg 5 5 20 20 re f")
	c.objects[70] = "<< /Type /Annot /Subtype /Stamp /F 4 /Rect [40 -20 350 200] /AP << /N 60 0 R >> >>"
	c.objects[71] = "<< /Type /Annot /Subtype /Widget /FT /Tx /T (a) /V (value) /F 4 /Rect [100 0 300 100] /DA (0 0 1 rg /F1 20 Tf) /MK << /BG [1 1 0] >> >>"
	c.pages[0].entries = "/Annots [70 0 R 71 0 R]"
	c.catalog = "/AcroForm << /DA (/F1 9 Tf) /DR << /Font << /F1 3 0 R >> >> /Fields [71 0 R] >>"
	document := c.write()
	got := makeOne(t, TestMarkJob.Name, input(""), document)
	sound(t, got, "", 1)

	rest := image.Rect(0, 0, 300, 380)
	for _, reader := range []string{"poppler", "MuPDF", "PDFium"} {
		before, after := viewers[reader](t, document, 1)[0], viewers[reader](t, got, 1)[0]
		limit := 0.002
		if reader != "PDFium" { // which draws no field without an appearance
			limit = 0.02 // Each reader draws the letters of the field at a slightly different place.
		}
		if share := differing(t, partOf(before, rest), partOf(after, rest)); share > limit && reader != "PDFium" {
			t.Errorf("%s: %.1f %% differ", reader, 100*share)
		}
	}
	if values := pdftest.Tool(t, "pdftk", pdftest.Save(t, got), "dump_data_fields"); !strings.Contains(values, "FieldValue: value") {
		t.Errorf("the field is lost:\n%s", values)
	}
}

// TestMarkKeepsTags: the text of a tagged page stays in the structure, also if its content becomes a form.
func TestMarkKeepsTags(t *testing.T) {
	t.Parallel()
	blank := makeOne(t, TestMarkJob.Name, input(""), craft("").write())
	for name, end := range map[string]string{"closed": "", "not closed": " q 0 0 1 1 re W n ("} {
		c := craft("/P << /MCID 0 >> BDC BT /F1 20 Tf 20 300 Td (first) Tj ET EMC /P << /MCID 1 >> BDC BT /F1 20 Tf 20 200 Td (second) Tj ET EMC" + end)
		c.pages[0].entries = "/StructParents 0"
		c.catalog = "/MarkInfo << /Marked true >> /StructTreeRoot 60 0 R"
		c.objects[60] = "<< /Type /StructTreeRoot /K 61 0 R /ParentTree << /Nums [0 [62 0 R 63 0 R]] >> >>"
		c.objects[61] = "<< /Type /StructElem /S /Document /P 60 0 R /K [62 0 R 63 0 R] >>"
		c.objects[62] = "<< /Type /StructElem /S /P /P 61 0 R /Pg 10 0 R /K 0 >>"
		c.objects[63] = "<< /Type /StructElem /S /P /P 61 0 R /K [<< /Type /MCR /Pg 10 0 R /MCID 1 >>] >>"
		got := makeOne(t, TestMarkJob.Name, input(""), c.write())
		sound(t, got, "", 1)
		if text := pdftest.Tool(t, "pdfinfo", "-struct-text", pdftest.Save(t, got)); !strings.Contains(text, `"first"`) || !strings.Contains(text, `"second"`) {
			t.Errorf("%s: the structure is\n%s", name, text)
		}
		if page := draw(t, got, 1); !close1(marked(partOf(page, image.Rect(0, 350, 300, 400))), marked(partOf(draw(t, blank, 1), image.Rect(0, 350, 300, 400)))) {
			t.Errorf("%s: no mark", name)
		}
	}
}

// TestMarkIsAboveNewSignatures signs documents with the test mark: a visible signature does not hide it.
func TestMarkIsAboveNewSignatures(t *testing.T) {
	t.Parallel()
	signer := newSigner(t)
	for _, entries := range []string{"", "/Rotate 90", "/Rotate 180", "/Rotate 270", "/CropBox [20 30 260 350]"} {
		c := craft("")
		c.pages[0].entries = entries
		document := makeOne(t, TestMarkJob.Name, input(""), c.write())
		f, err := pdffile.ReadTable(document)
		if err != nil {
			t.Fatal(err)
		}
		pages, err := f.Pages(1)
		if err != nil {
			t.Fatal(err)
		}
		width, height := (&job.Structure{File: f}).Paper(pages[0].Entries).Size()
		got, err := pdfsign.Sign(t.Context(), pdfsign.PDF{Content: document}, pdfsign.Job{
			Options: pdfsign.Options{Time: time.Now(), Visible: &pdfsign.Visible{
				Page: 1, Width: width, Height: height, Lines: []string{"Signed"}, Image: &pdfsign.Image{Width: 3, Height: 4, RGB: bytes.Repeat([]byte{255}, 36)}, Over: markOfPage,
			}},
			Level: pdfsign.LevelB, Key: signer, Chain: signer.Chain, Hash: signer.Hash,
		})
		if err != nil {
			t.Fatalf("%s: %v", entries, err)
		}
		for reader, all := range viewers {
			want, page := all(t, document, 1)[0], all(t, got, 1)[0]
			at := marked(want)
			if share := differing(t, partOf(page, at), partOf(want, at)); share > 0.05 {
				t.Errorf("%s, %s: %.0f %% of the mark differ", entries, reader, 100*share)
			}
		}
	}
}
