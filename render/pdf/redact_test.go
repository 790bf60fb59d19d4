package pdf

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdf/redact"
)

// hides are documents in which a word is hidden in the ways that words are.
func hides(t *testing.T) map[string][]byte {
	t.Helper()
	stream := func(entries, content string) string {
		return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", entries, len(content), content)
	}
	// page is a page whose content is another than its text.
	page := func(content, resources, catalog string, objects ...string) []byte {
		s := source{Pages: []string{"x"}, Catalog: catalog, Objects: append([]string{stream("", content)}, objects...)}
		made := strings.NewReplacer("/Contents 11 0 R", "/Contents 100 0 R", "/F1 3 0 R >>", "/F1 3 0 R >> "+resources).Replace(string(s.Write()))
		return rewritten(t, []byte(made))
	}
	const font = "/F1 14 Tf "
	files := map[string][]byte{
		"plain":        page("BT "+font+"20 300 Td (before Falkenberg after) Tj ET", "", ""),
		"split":        page("BT "+font+"20 300 Td [(Fal) -20 (ken) 10 (be)] TJ ET BT "+font+"68.5 300 Td (rg after) Tj ET", "", ""),
		"spaced":       page("BT "+font+"6 Tc 20 300 Td (Falkenberg) Tj ET", "", ""),
		"two lines":    page("BT "+font+"20 300 Td (of Mr. Falken-) Tj 0 -16 Td (berg and others) Tj ET", "", ""),
		"capitals":     page("BT "+font+"20 300 Td (FALKENBERG) Tj ET", "", ""),
		"turned":       page("q 0.7 0.7 -0.7 0.7 100 100 cm BT "+font+"0 0 Td (Falkenberg) Tj ET Q", "", ""),
		"upside down":  page("q -1 0 0 -1 200 200 cm BT "+font+"0 0 Td (Falkenberg) Tj ET Q", "", ""),
		"invisible":    page("BT "+font+"3 Tr 20 300 Td (Falkenberg) Tj ET", "", ""),
		"white":        page("BT "+font+"1 g 20 300 Td (Falkenberg) Tj ET", "", ""),
		"off the page": page("BT "+font+"20 900 Td (Falkenberg) Tj ET", "", ""),
		"under a box":  page("BT "+font+"20 300 Td (Falkenberg) Tj ET 0 g 10 290 200 30 re f", "", ""),
		"in a form":    page("/X Do", "/XObject << /X 101 0 R >>", "", stream("/Type /XObject /Subtype /Form /BBox [0 0 300 400] /Resources << /Font << /F1 3 0 R >> >>", "BT "+font+"20 300 Td (Falkenberg) Tj ET")),
		"under image":  page("BT "+font+"20 300 Td (Falkenberg) Tj ET q 200 0 0 60 10 280 cm /I Do Q", "/XObject << /I 101 0 R >>", "", stream("/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8", "z")),
		"a hidden layer": page("/OC /L BDC BT "+font+"20 300 Td (Falkenberg) Tj ET EMC", "/Properties << /L 101 0 R >>",
			"/OCProperties << /OCGs [101 0 R] /D << /OFF [101 0 R] /Order [101 0 R] >> >>", "<< /Type /OCG /Name (Layer Falkenberg) >>"),
		"bookmarks": page("BT "+font+"20 300 Td (other) Tj ET", "", "/Outlines 101 0 R", "<< /Type /Outlines /First 102 0 R /Last 102 0 R /Count 1 >>",
			"<< /Title (On Falkenberg) /Parent 101 0 R /Dest [10 0 R /Fit] >>"),
		"XMP":       page("BT "+font+"20 300 Td (Falkenberg) Tj ET", "", "/Metadata 101 0 R", stream("/Type /Metadata /Subtype /XML", "<x>Falkenberg</x>")),
		"XMP alone": page("BT "+font+"20 300 Td (other) Tj ET", "", "/Metadata 101 0 R", stream("/Type /Metadata /Subtype /XML", "<x>Falkenberg</x>")),
		"XMP of an image": page("BT "+font+"20 300 Td (other) Tj ET q 9 0 0 9 9 9 cm /I Do Q", "/XObject << /I 101 0 R >>", "",
			stream("/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 /Metadata 102 0 R", "z"), stream("/Type /Metadata /Subtype /XML", "<x>Falkenberg</x>")),
		"notes of a program": page("BT "+font+"20 300 Td (Falkenberg) Tj ET /X Do", "/XObject << /X 101 0 R >>", "",
			stream("/Type /XObject /Subtype /Form /BBox [0 0 9 9] /PieceInfo << /Draws << /LastModified (D:2026) /Private 102 0 R >> >>", "0 0 9 9 re f"), stream("", "Falkenberg")),
		"a file of a form": page("BT "+font+"20 300 Td (Falkenberg) Tj ET /X Do", "/XObject << /X 101 0 R >>", "",
			stream("/Type /XObject /Subtype /Form /BBox [0 0 9 9] /AF [102 0 R]", "0 0 9 9 re f"), "<< /Type /Filespec /F (a.txt) /EF << /F 103 0 R >> >>", stream("/Type /EmbeddedFile", "Falkenberg")),
		"a bookmark's script": page("BT "+font+"20 300 Td (Falkenberg) Tj ET", "", "/Outlines 101 0 R", "<< /Type /Outlines /First 102 0 R /Last 102 0 R /Count 1 >>",
			"<< /Title (Ask) /Parent 101 0 R /A << /S /JavaScript /JS 103 0 R >> >>", stream("", "app.alert('Falkenberg')")),
		"said of a figure": page("BT "+font+"20 300 Td (other) Tj ET", "", "/MarkInfo << /Marked true >> /StructTreeRoot 101 0 R", "<< /Type /StructTreeRoot /K 102 0 R >>",
			"<< /Type /StructElem /S /Figure /P 101 0 R /Pg 10 0 R /Alt (Falkenberg, left) /ActualText <FEFF00460061006C006B0065006E0062006500720067> >>"),
		"numbers of pages": page("BT "+font+"20 300 Td (other) Tj ET", "", "/PageLabels << /Nums [0 << /P (Falkenberg ) /S /D >>] >>"),
		"a hidden form": page("/X Do", "/XObject << /X 101 0 R >>", "/OCProperties << /OCGs [102 0 R] /D << /OFF [102 0 R] /Order [102 0 R] >> >>",
			stream("/Type /XObject /Subtype /Form /BBox [0 0 300 400] /OC 102 0 R /Resources << /Font << /F1 3 0 R >> >>", "BT "+font+"20 300 Td (Falkenberg) Tj ET"), "<< /Type /OCG /Name (Layer) >>"),
		"the end first": page("BT "+font+"62 300 Td (berg after) Tj ET BT "+font+"20 300 Td (Falken) Tj ET", "", ""),
		"each letter":   page("BT "+font+"[(F) 0 (a) 0 (l) 0 (k) 0 (e) 0 (n) 0 (b) 0 (e) 0 (r) 0 (g)] TJ 1 0 0 1 20 300 Tm (F) Tj (a) Tj (l) Tj (k) Tj (e) Tj (n) Tj (b) Tj (e) Tj (r) Tj (g) Tj ( after) Tj ET", "", ""),
		"up the side":   page("BT "+font+"0 1 -1 0 50 100 Tm (Falkenberg) Tj ET", "", ""),
		"mirrored":      page("BT "+font+"-1 0 0 1 200 100 Tm (Falkenberg) Tj ET", "", ""),
		"a script":      page("BT "+font+"20 300 Td (Falkenberg) Tj ET", "", "/OpenAction << /S /JavaScript /JS (app.alert\\('Falkenberg'\\)) >>"),
		"an open tag":   page("/Span << /ActualText (Falkenberg) >> BDC BT "+font+"20 300 Td (Falkenberg) Tj ET EMC", "", ""),
	}
	info := three()
	info.Info = "/Title (Falkenberg v. others) /Author <FEFF00460061006C006B0065006E0062006500720067>"
	files["information"] = info.Write()
	form := three()
	form.Catalog = "/AcroForm << /Fields [100 0 R] /NeedAppearances true /DR << /Font << /Helv 3 0 R >> >> /DA (/Helv 12 Tf 0 g) >>"
	form.Objects = []string{"<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Falkenberg) /DA (/Helv 12 Tf 0 g) /F 4 /Rect [10 10 150 30] /P 10 0 R >>"}
	form.Annots = map[int]string{0: "100 0 R << /Type /Annot /Subtype /Text /Rect [0 0 20 20] /Contents (ask Falkenberg) >> " +
		"<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /A << /S /URI /URI (https://example.com/falkenberg) >> >>"}
	files["a form and comments"] = form.Write()
	fields := three()
	fields.Catalog = "/AcroForm << /Fields [100 0 R 101 0 R 102 0 R] /XFA 103 0 R /DA (/Helv 12 Tf 0 g) /DR << /Font << /Helv 3 0 R >> >> >>"
	fields.Pages[0] = "Falkenberg"
	fields.Objects = []string{
		"<< /Type /Annot /Subtype /Widget /FT /Tx /T (first) /V (x) /DV (Falkenberg) /TU (Falkenberg) /RV (<p>Falkenberg</p>) /F 2 /DA (/Helv 12 Tf 0 g) /Rect [10 10 150 30] /P 10 0 R >>",
		"<< /Type /Annot /Subtype /Widget /FT /Ch /Ff 131072 /T (choice) /V (b) /Opt [[(a) (Falkenberg)] [(b) (other)]] /DA (/Helv 12 Tf 0 g) /F 4 /Rect [10 40 150 60] /P 10 0 R >>",
		"<< /FT /Tx /T (parent) /V (Falkenberg) /DA (/Helv 12 Tf 0 g) /Kids [<< /Type /Annot /Subtype /Widget /Parent 102 0 R /F 4 /Rect [10 70 150 90] /P 10 0 R >>] >>",
		stream("", "<xdp><name>Falkenberg</name></xdp>"),
	}
	fields.Annots = map[int]string{0: "100 0 R 101 0 R"}
	files["other values of a form"] = fields.Write()
	links := three()
	links.Pages[0] = "Falkenberg"
	links.Catalog = "/Dests << /Falkenberg [14 0 R /Fit] /other [12 0 R /Fit] >> /Names << /Dests << /Names [(To Falkenberg) [14 0 R /Fit]] >> >>"
	links.Objects = []string{
		stream("", "app.alert('Falkenberg')"), "<< /Type /Filespec /F (Falkenberg.txt) /EF << /F 102 0 R >> >>", stream("/Type /EmbeddedFile", "Falkenberg"),
	}
	links.Annots = map[int]string{0: "<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /A << /S /URI /URI (https://example.com/) /Next [<< /S /JavaScript /JS 100 0 R >>] >> >>" +
		"<< /Type /Annot /Subtype /Link /Rect [0 20 9 29] /A << /S /JavaScript /JS 100 0 R >> >> << /Type /Annot /Subtype /Link /Rect [0 40 9 49] /Dest /Falkenberg >>" +
		"<< /Type /Annot /Subtype /FileAttachment /Rect [0 60 9 69] /FS 101 0 R /Contents (Falkenberg) >>"}
	files["links, places and a pinned file"] = links.Write()
	files["a turned page"] = makeOne(t, RotateJob.Name, RotateArgs{Selection{Input: input("")}, 90}, files["plain"])
	attached := makeOne(t, AttachJob.Name, AttachArgs{Input: input(""), Files: []NewAttachment{{File: inputName(1), Filename: "Falkenberg.txt"}}}, three().Write(), []byte("Falkenberg"))
	files["an attachment"] = attached
	// An earlier version of the file, behind which a page got another content.
	before := string(page("BT "+font+"20 300 Td (Falkenberg) Tj ET", "", ""))
	start := strings.LastIndex(before, "startxref")
	files["an earlier version"] = []byte(before + fmt.Sprintf("\n100 0 obj\n%s\nendobj\nxref\n100 1\n%010d 00000 n \ntrailer\n<< /Size 200 /Root 1 0 R /Prev %s >>\nstartxref\n%d\n%%%%EOF\n",
		stream("", "BT "+font+"20 300 Td (now harmless) Tj ET"), len(before)+1, strings.Fields(before[start:])[1], len(before)+1+len(fmt.Sprintf("100 0 obj\n%s\nendobj\n", stream("", "BT "+font+"20 300 Td (now harmless) Tj ET")))))
	return files
}

// rewritten is a document with a table that is right.
func rewritten(t *testing.T, content []byte) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "rewritten.pdf")
	pdftest.Tool(t, "mutool", "clean", pdftest.Save(t, content), out)
	return pdftest.Load(t, out)
}

// traces returns where a word can still be found in a document: in its file when
// nothing of it is packed, in any writing, or in the text of its pages.
func traces(t *testing.T, content []byte, word string) (found []string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "plain.pdf")
	pdftest.Tool(t, "qpdf", "--qdf", "--object-streams=disable", "--decode-level=all", pdftest.Save(t, content), out)
	var wide, hexed, wideHexed strings.Builder
	for _, r := range word {
		fmt.Fprintf(&wide, "\x00%c", r)
		fmt.Fprintf(&hexed, "%02x", r)
		fmt.Fprintf(&wideHexed, "%04x", r)
	}
	for name, file := range map[string][]byte{"the file": content, "what is packed": pdftest.Load(t, out)} {
		lower := bytes.ToLower(file)
		for _, writing := range []string{word, wide.String(), hexed.String(), wideHexed.String()} {
			if bytes.Contains(lower, []byte(strings.ToLower(writing))) {
				found = append(found, fmt.Sprintf("%s, as %q", name, writing))
			}
		}
	}
	for _, program := range [][]string{{"pdftotext"}, {"mutool", "draw", "-q", "-F", "text"}} {
		args := append(slices.Clone(program[1:]), pdftest.Save(t, content))
		if program[0] == "pdftotext" {
			args = append(args, "-")
		}
		text := strings.ToLower(strings.Join(strings.Fields(pdftest.Tool(t, program[0], args...)), ""))
		if strings.Contains(strings.ReplaceAll(text, "-", ""), word) {
			found = append(found, "the text of "+program[0])
		}
	}
	return found
}

// TestRedact takes a word out of every place that it can be hidden in.
func TestRedact(t *testing.T) {
	sharedtest.Slow(t)
	for name, document := range hides(t) {
		t.Run(name, func(t *testing.T) {
			result, err := runJob(t, redact.Job.Name, redact.Args{Input: input(""), Terms: []string{"falkenberg"}}, document)
			if name == "an earlier version" {
				// Its last version does not have the word: there is nothing to redact.
				runFailing(t, job.NoMatch, redact.Job.Name, redact.Args{Input: input(""), Terms: []string{"falkenberg"}}, document)
				result, err = runJob(t, redact.Job.Name, redact.Args{Input: input(""), Terms: []string{"harmless"}}, document)
			}
			if err != nil {
				t.Fatal(err)
			}
			got := read(t, result)
			pages := 1
			if n := len(pageTexts(t, document, "")); n > 1 {
				pages = n
			}
			sound(t, got, "", pages)
			if text := pdftest.Tool(t, "pdftotext", pdftest.Save(t, got), "-"); strings.Contains(pdftest.Tool(t, "pdftotext", pdftest.Save(t, document), "-"), "after") != strings.Contains(text, "after") {
				t.Errorf("what follows is not where it was: %q", text)
			}
			if found := traces(t, got, "falkenberg"); len(found) > 0 {
				t.Errorf("it is still in %q", found)
			}
			if dir := os.Getenv("SCREENSHOTS"); dir != "" {
				pdftest.Tool(t, "pdftoppm", "-r", "60", "-png", "-singlefile", pdftest.Save(t, got), filepath.Join(dir, "redact-"+strings.ReplaceAll(name, " ", "-")))
			}
		})
	}
}

// TestRedactLeavesTheRest keeps what stands around a word, above and below.
func TestRedactLeavesTheRest(t *testing.T) {
	document := typed(t, letterIn["eng"])
	args := redact.Args{Input: input(""), Terms: []string{"customers"}, Patterns: []string{`\d+ October \d{4}`}}
	got := pdftest.Tool(t, "pdftotext", pdftest.Save(t, makeOne(t, redact.Job.Name, args, document)), "-")
	want := strings.Fields(strings.NewReplacer("customers,", ",", "16 October 2026,", ",").Replace(letterIn["eng"]))
	if strings.Join(strings.Fields(got), "") != strings.Join(want, "") {
		t.Errorf("got\n%s\nwant %q", got, want)
	}
	failed := runFailing(t, job.NoMatch, redact.Job.Name, redact.Args{Input: input(""), Terms: []string{"Falkenberg"}}, document)
	if !strings.Contains(failed.Text, "has no match") {
		t.Errorf("got %q", failed.Text)
	}
}

// TestRedactKeepsLinks leaves links where they are, next to comments that become part of
// their page, and removes the word from their URLs.
func TestRedactKeepsLinks(t *testing.T) {
	link := func(address string) string {
		return "<< /Type /Annot /Subtype /Link /Border [0 0 0] /Rect [20 290 120 320] /A << /S /URI /URI (" + address + ") >> >>"
	}
	document := three()
	document.Annots = map[int]string{
		0: link("https://example.com/falkenberg") + " << /Type /Annot /Subtype /Text /Rect [0 0 20 20] /Contents (ask Falkenberg) >> " + link("https://example.com/terms"),
		2: link("https://example.com/last"),
	}
	got := makeOne(t, redact.Job.Name, redact.Args{Input: input(""), Terms: []string{"falkenberg"}}, document.Write())
	urls := pdftest.Tool(t, "pdfinfo", "-url", pdftest.Save(t, got))
	for _, want := range []string{"https://example.com/terms", "https://example.com/last"} {
		if strings.Count(urls, want) != 1 {
			t.Errorf("%s is there %d times in %s", want, strings.Count(urls, want), urls)
		}
	}
	if found := traces(t, got, "falkenberg"); len(found) > 0 || strings.Contains(urls, "falkenberg") {
		t.Errorf("it is still in %q, %s", found, urls)
	}
}

// TestRedactLeavesNamesOfPrograms leaves texts and places as they are that are called as
// what every object of a script has.
func TestRedactLeavesNamesOfPrograms(t *testing.T) {
	document := three()
	document.Pages[0] = "Falkenberg"
	document.Catalog = "/Dests << /constructor [12 0 R /Fit] /Falkenberg [14 0 R /Fit] >>"
	document.Annots = map[int]string{0: "<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /Contents (toString) /Dest /constructor >>"}
	got := makeOne(t, redact.Job.Name, redact.Args{Input: input(""), Terms: []string{"falkenberg"}}, document.Write())
	out := filepath.Join(t.TempDir(), "plain.pdf")
	pdftest.Tool(t, "qpdf", "--qdf", "--object-streams=disable", pdftest.Save(t, got), out)
	text := string(pdftest.Load(t, out))
	if strings.Count(text, "/constructor") != 2 || !strings.Contains(text, "(toString)") || strings.Contains(text, "native") {
		t.Errorf("it says %d times /constructor; toString: %v:\n%s", strings.Count(text, "/constructor"), strings.Contains(text, "(toString)"), text)
	}
}

// TestRedactPlacesOfNoPage reads documents with places on pages that are gone, as programs
// leave them that take pages out.
func TestRedactPlacesOfNoPage(t *testing.T) {
	document := three()
	document.Catalog = "/Dests << /gone [null /XYZ 0 300 null] /other [null] >>"
	got := makeOne(t, redact.Job.Name, redact.Args{Input: input(""), Terms: []string{"alpha"}}, document.Write())
	if found := traces(t, got, "alpha"); len(found) > 0 {
		t.Errorf("it is still in %q", found)
	}
}

// TestRedactLigatures takes out words that have letters which are drawn as one, and such
// as begin or end in the middle of one, with the whole of that.
func TestRedactLigatures(t *testing.T) {
	for name, font := range map[string]string{
		"by the glyph's name": "/Encoding << /Type /Encoding /Differences [1 /fi] >>",
		"by its meaning":      "/Encoding << /Type /Encoding /Differences [1 /fi] >> /ToUnicode 100 0 R",
	} {
		meaning := "/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfchar <01> <00660069> endbfchar " +
			"2 beginbfrange <20> <7e> <0020> <a0> <ff> <00a0> endbfrange endcmap end"
		s := source{Pages: []string{"before P\\001ster after"}, Objects: []string{fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(meaning), meaning)}}
		document := rewritten(t, bytes.Replace(s.Write(), []byte("/BaseFont /Helvetica"), []byte("/BaseFont /Helvetica "+font), 1))
		for _, term := range []string{"Pfister", "pfi", "Pf", "ister"} {
			result, err := runJob(t, redact.Job.Name, redact.Args{Input: input(""), Terms: []string{term}}, document)
			if err != nil {
				t.Errorf("%s, %s: %v", name, term, err)
				continue
			}
			got := read(t, result)
			sound(t, got, "", 1)
			for _, program := range [][]string{{"pdftotext", pdftest.Save(t, got), "-"}, {"mutool", "draw", "-q", "-F", "text", pdftest.Save(t, got)}} {
				text := strings.ToLower(norm.NFKC.String(pdftest.Tool(t, program[0], program[1:]...)))
				if strings.Contains(text, strings.ToLower(term)) || !strings.Contains(text, "before") || !strings.Contains(text, "after") {
					t.Errorf("%s, %s: %s reads %q", name, term, program[0], text)
				}
			}
		}
	}
}

// TestRedactPicturesOfWords takes the pixels beneath words that are laid over a scan.
func TestRedactPicturesOfWords(t *testing.T) {
	// A black image of 100 by 100 points, with an invisible word over its middle.
	black := image.NewGray(image.Rect(0, 0, 100, 100))
	pixels := fmt.Sprintf("<< /Type /XObject /Subtype /Image /Width 100 /Height 100 /ColorSpace /DeviceGray /BitsPerComponent 8 /Length %d >>\nstream\n%s\nendstream", len(black.Pix), black.Pix)
	s := source{Pages: []string{"x) Tj ET q 100 0 0 100 20 200 cm /I Do Q BT 3 Tr /F1 12 Tf 40 250 Td (Falkenberg"}, Objects: []string{pixels}}
	document := bytes.Replace(s.Write(), []byte("/F1 3 0 R >>"), []byte("/F1 3 0 R >> /XObject << /I 100 0 R >>"), 1)
	got := makeOne(t, redact.Job.Name, redact.Args{Input: input(""), Terms: []string{"falkenberg"}, Color: [3]float64{1, 0, 0}}, rewritten(t, document))
	sound(t, got, "", 1)
	if found := traces(t, got, "falkenberg"); len(found) > 0 {
		t.Errorf("it is still in %q", found)
	}
	base := filepath.Join(t.TempDir(), "image")
	pdftest.Tool(t, "pdfimages", "-png", pdftest.Save(t, got), base)
	found, err := filepath.Glob(base + "*")
	if err != nil || len(found) != 1 {
		t.Fatalf("the images are %q: %v", found, err)
	}
	img := picturePNG(t, pdftest.Load(t, found[0]))
	white, rest := 0, 0
	for y := range 100 {
		for x := range 100 {
			if r, _, _, _ := img.At(x, y).RGBA(); r > 0xf000 {
				white++
			} else {
				rest++
			}
		}
	}
	// The word is some 60 points wide and 12 high.
	if white < 300 || rest < 5000 {
		t.Errorf("%d pixels are gone and %d left", white, rest)
	}
}

// redactAreas returns a document without areas, and the changes that redact reports.
func redactAreas(t *testing.T, args redact.Args, document []byte) (made []byte, told []string) {
	t.Helper()
	args.Input = input("")
	result, err := runJob(t, redact.Job.Name, args, document)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, result), unmarshal[job.Changed](t, result.Body).Changes
}

// TestRedactAreas empties parts of turned pages: of images, text and lines.
func TestRedactAreas(t *testing.T) {
	// The image is red on its left and blue on its right.
	img := image.NewNRGBA(image.Rect(0, 0, 200, 100))
	for i := range 200 * 100 {
		c := color.NRGBA{R: 255, A: 255}
		if i%200 >= 100 {
			c = color.NRGBA{B: 255, A: 255}
		}
		img.SetNRGBA(i%200, i/200, c)
	}
	var rasterImage bytes.Buffer
	if err := png.Encode(&rasterImage, img); err != nil {
		t.Fatal(err)
	}
	document := makeOne(t, images.FromImagesJob.Name, images.FromImagesArgs{Inputs: []job.Input{input("")}, Width: 400, Height: 200}, rasterImage.Bytes())
	for _, turn := range []int{0, 90} {
		turned := document
		if turn != 0 {
			turned = makeOne(t, RotateJob.Name, RotateArgs{Selection{Input: input("")}, turn}, document)
		}
		// The red half as it is shown.
		area := redact.Area{Page: 1, Width: 200, Height: 200}
		got, told := redactAreas(t, redact.Args{Areas: []redact.Area{area}, Color: [3]float64{0, 1, 0}}, turned)
		if len(told) != 0 {
			t.Errorf("turned by %d: %q is told, and the page is none", turn, told)
		}
		base := filepath.Join(t.TempDir(), "image")
		pdftest.Tool(t, "pdfimages", "-png", pdftest.Save(t, got), base)
		found, err := filepath.Glob(base + "*")
		if err != nil || len(found) == 0 {
			t.Fatalf("turned by %d: no images are left: %v", turn, err)
		}
		red, blue := 0, 0
		for _, path := range found {
			decoded, err := png.Decode(bytes.NewReader(pdftest.Load(t, path)))
			if err != nil {
				t.Fatal(err)
			}
			for y := decoded.Bounds().Min.Y; y < decoded.Bounds().Max.Y; y++ {
				for x := decoded.Bounds().Min.X; x < decoded.Bounds().Max.X; x++ {
					r, g, b, _ := decoded.At(x, y).RGBA()
					if r > 0xf000 && g+b < 0x1000 {
						red++
					}
					if b > 0xf000 && r+g < 0x1000 {
						blue++
					}
				}
			}
		}
		if red > 400 || blue < 9000 {
			t.Errorf("turned by %d: %d red and %d blue pixels are left", turn, red, blue)
		}
	}
	// Lines that are not letters: a signature.
	s := source{Pages: []string{"signed) Tj ET 50 100 m 60 180 90 20 120 150 c S BT ("}}
	area := redact.Area{Page: 1, X: 40, Y: 200, Width: 100, Height: 190}
	got, told := redactAreas(t, redact.Args{Areas: []redact.Area{area}}, s.Write())
	if len(told) != 1 || !strings.HasSuffix(told[0], "in a redacted area were converted to images without text: 1.") {
		t.Errorf("what else changed is told as %q", told)
	}
	sound(t, got, "", 1)
	out := filepath.Join(t.TempDir(), "plain.pdf")
	pdftest.Tool(t, "qpdf", "--qdf", pdftest.Save(t, got), out)
	if bytes.Contains(pdftest.Load(t, out), []byte("90 20 120 150")) {
		t.Error("the lines are covered only")
	}
	failed := runFailing(t, job.OffPage, redact.Job.Name, redact.Args{Input: input(""), Areas: []redact.Area{{Page: 2, Width: 9, Height: 9}}}, s.Write())
	if !strings.Contains(failed.Text, "the document, which has 1; got page 2") {
		t.Errorf("got %q", failed.Text)
	}
}

// TestRedactAreasOfUnits empties parts of pages whose units are not points: areas are in
// points as the page is shown, and poppler takes no notice of the unit.
func TestRedactAreasOfUnits(t *testing.T) {
	sharedtest.Slow(t)
	s := source{Pages: []string{"signed) Tj ET 50 100 m 60 180 90 20 120 150 c S BT ("}}
	for _, unit := range []float64{0.5, 4} {
		document := bytes.Replace(s.Write(), []byte("/MediaBox [0 0 300 400]"), fmt.Appendf(nil, "/MediaBox [0 0 300 400] /UserUnit %g", unit), 1)
		area := redact.Area{Page: 1, X: 40 * unit, Y: 200 * unit, Width: 100 * unit, Height: 190 * unit}
		got, told := redactAreas(t, redact.Args{Areas: []redact.Area{area}}, rewritten(t, document))
		if len(told) != 1 || !strings.HasSuffix(told[0], "in a redacted area were converted to images without text: 1.") {
			t.Errorf("unit %g: what else changed is told as %q", unit, told)
		}
		out := filepath.Join(t.TempDir(), "plain.pdf")
		pdftest.Tool(t, "qpdf", "--qdf", pdftest.Save(t, got), out)
		if bytes.Contains(pdftest.Load(t, out), []byte("90 20 120 150")) {
			t.Errorf("unit %g: the lines are covered only", unit)
		}
	}
}
