package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	imagedraw "image/draw"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// numbered is a document of n pages of 300 by 400 points, each with its number at the
// same place.
func numbered(n int) []byte {
	c := craft()
	for i := range n {
		c.pages = append(c.pages, craftedPage{content: fmt.Sprintf("BT /F1 24 Tf 140 200 Td (p%d) Tj ET", i+1)})
	}
	return c.write()
}

var (
	sheetPattern = regexp.MustCompile(`<page width="([\d.]+)" height="([\d.]+)"`)
	wordPattern  = regexp.MustCompile(`<word xMin="([-\d.]+)" yMin="([-\d.]+)" xMax="([-\d.]+)" yMax="([-\d.]+)">(.*)</word>`)
)

// cellsOf returns the size of each sheet, and the words in its cells, which are read in
// rows; a cell without a word is "-".
func cellsOf(t *testing.T, document []byte, columns, rows int) (sizes, sheets []string) {
	t.Helper()
	var cells []string
	var width, height float64
	end := func() {
		if cells != nil {
			sheets = append(sheets, strings.Join(cells, " "))
		}
	}
	for line := range strings.Lines(pdftest.Tool(t, "pdftotext", "-bbox", pdftest.Save(t, document), "-")) {
		if page := sheetPattern.FindStringSubmatch(line); page != nil {
			end()
			width, height = number(t, page[1]), number(t, page[2])
			sizes = append(sizes, fmt.Sprintf("%.0f×%.0f", width, height))
			cells = strings.Split(strings.Repeat("-", columns*rows), "")
		}
		if word := wordPattern.FindStringSubmatch(line); word != nil {
			x, y := (number(t, word[1])+number(t, word[3]))/2, (number(t, word[2])+number(t, word[4]))/2
			cells[int(y/height*float64(rows))*columns+int(x/width*float64(columns))] = word[5]
		}
	}
	end()
	return sizes, sheets
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// a4 is the arguments of so many pages on a sheet of A4.
func a4(perSheet int) NUpArgs {
	return NUpArgs{Selection: Selection{Input: input("")}, PerSheet: perSheet, Width: 595, Height: 842}
}

// TestNUpOrder reads where pages stand on sheets, in rows and in columns, on paper that is
// oriented by itself or as asked.
func TestNUpOrder(t *testing.T) {
	t.Parallel()
	five := numbered(5)
	for name, test := range map[string]struct {
		args          func(a *NUpArgs)
		columns, rows int
		PageSize      string
		sheets        []string
	}{
		"2":           {nil, 2, 1, "842×595", []string{"p1 p2", "p3 p4", "p5 -"}},
		"2, portrait": {func(a *NUpArgs) { a.Landscape = new(false) }, 1, 2, "595×842", []string{"p1 p2", "p3 p4", "p5 -"}},
		"3":           {func(a *NUpArgs) { a.PerSheet = 3 }, 3, 1, "842×595", []string{"p1 p2 p3", "p4 p5 -"}},
		"4":           {func(a *NUpArgs) { a.PerSheet = 4 }, 2, 2, "595×842", []string{"p1 p2 p3 p4", "p5 - - -"}},
		"4, columns":  {func(a *NUpArgs) { a.PerSheet, a.Columns = 4, true }, 2, 2, "595×842", []string{"p1 p3 p2 p4", "p5 - - -"}},
		"6":           {func(a *NUpArgs) { a.PerSheet = 6 }, 3, 2, "842×595", []string{"p1 p2 p3 p4 p5 -"}},
		"8":           {func(a *NUpArgs) { a.PerSheet = 8 }, 4, 2, "842×595", []string{"p1 p2 p3 p4 p5 - - -"}},
		"9":           {func(a *NUpArgs) { a.PerSheet = 9 }, 3, 3, "595×842", []string{"p1 p2 p3 p4 p5 - - - -"}},
		"12":          {func(a *NUpArgs) { a.PerSheet, a.Landscape = 12, new(true) }, 4, 3, "842×595", []string{"p1 p2 p3 p4 p5 - - - - - - -"}},
		"16":          {func(a *NUpArgs) { a.PerSheet, a.Columns = 16, true }, 4, 4, "595×842", []string{"p1 p5 - - p2 - - - p3 - - - p4 - - -"}},
		"selection":   {func(a *NUpArgs) { a.Pages = "last,1,1,2-3" }, 2, 1, "842×595", []string{"p5 p1", "p1 p2", "p3 -"}},
		"margin":      {func(a *NUpArgs) { a.Margin, a.Border = 40, true }, 2, 1, "842×595", []string{"p1 p2", "p3 p4", "p5 -"}},
	} {
		args := a4(2)
		if test.args != nil {
			test.args(&args)
		}
		made := makeOne(t, NUpJob.Name, args, five)
		keep(t, "nup "+name+".pdf", made)
		sound(t, made, "", len(test.sheets))
		sizes, sheets := cellsOf(t, made, test.columns, test.rows)
		if sizes[0] != test.PageSize || !reflect.DeepEqual(sheets, test.sheets) {
			t.Errorf("%s: %s with %q, want %s with %q", name, sizes[0], sheets, test.PageSize, test.sheets)
		}
	}
}

// TestBookletOrder reads where pages stand on both sides of the sheets of a booklet.
func TestBookletOrder(t *testing.T) {
	t.Parallel()
	lying := func(n int) []byte {
		return makeOne(t, RotateJob.Name, RotateArgs{Selection{Input: input("")}, 90}, numbered(n))
	}
	for name, test := range map[string]struct {
		document      []byte
		perSheet      int
		short         bool
		columns, rows int
		PageSize      string
		sheets        []string
	}{
		"2": {numbered(8), 2, false, 2, 1, "842×595", []string{"p8 p1", "p2 p7", "p6 p3", "p4 p5"}},
		// Top to bottom: the pages turn over the edge in the middle.
		"2, at the top":     {numbered(8), 2, true, 1, 2, "595×842", []string{"p8 p1", "p2 p7", "p6 p3", "p4 p5"}},
		"2, lying":          {lying(8), 2, false, 1, 2, "595×842", []string{"p8 p1", "p2 p7", "p6 p3", "p4 p5"}},
		"2, lying at left":  {lying(8), 2, true, 2, 1, "842×595", []string{"p8 p1", "p2 p7", "p6 p3", "p4 p5"}},
		"2, empty pages":    {numbered(5), 2, false, 2, 1, "842×595", []string{"- p1", "p2 -", "- p3", "p4 p5"}},
		"2, one page":       {numbered(1), 2, false, 2, 1, "842×595", []string{"- p1", "- -"}},
		"4":                 {numbered(8), 4, false, 2, 2, "595×842", []string{"p8 p1 p6 p3", "p2 p7 p4 p5"}},
		"4, at the top":     {numbered(8), 4, true, 2, 2, "595×842", []string{"p8 p6 p1 p3", "p2 p4 p7 p5"}},
		"4, lying":          {lying(8), 4, false, 2, 2, "842×595", []string{"p8 p6 p1 p3", "p2 p4 p7 p5"}},
		"4, lying at left":  {lying(8), 4, true, 2, 2, "842×595", []string{"p8 p1 p6 p3", "p2 p7 p4 p5"}},
		"4, several sheets": {numbered(14), 4, false, 2, 2, "595×842", []string{"- p1 p14 p3", "p2 - p4 p13", "p12 p5 p10 p7", "p6 p11 p8 p9"}},
	} {
		args := BookletArgs{Input: input(""), PerSheet: test.perSheet, Width: 595, Height: 842, Short: test.short, Guides: true}
		made := makeOne(t, BookletJob.Name, args, test.document)
		keep(t, "booklet "+name+".pdf", made)
		sound(t, made, "", len(test.sheets))
		sizes, sheets := cellsOf(t, made, test.columns, test.rows)
		if sizes[0] != test.PageSize || !reflect.DeepEqual(sheets, test.sheets) {
			t.Errorf("%s: %s with %q, want %s with %q", name, sizes[0], sheets, test.PageSize, test.sheets)
		}
	}
}

// TestGuides counts the guides of a booklet: a dashed line at the fold, and a solid one at
// the cut.
func TestGuides(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		perSheet int
		guides   bool
		want     []string
	}{
		{2, false, nil},
		{2, true, []string{"q 0.5 G 0.5 w [4 4] 0 d 421.00 0.00 m 421.00 595.00 l S Q"}},
		{4, true, []string{"q 0.5 G 0.5 w [4 4] 0 d 297.50 0.00 m 297.50 842.00 l S Q", "q 0.5 G 0.5 w [] 0 d 0.00 421.00 m 595.00 421.00 l S Q"}},
	} {
		made := makeOne(t, BookletJob.Name, BookletArgs{Input: input(""), PerSheet: test.perSheet, Width: 595, Height: 842, Guides: test.guides}, numbered(4))
		text := pdftest.Tool(t, "qpdf", "--qdf", "--object-streams=disable", pdftest.Save(t, made), "-")
		if got := regexp.MustCompile(`(?m)^q 0\.5 G .*$`).FindAllString(text, -1); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%d with guides %v: %q, want %q", test.perSheet, test.guides, got, test.want)
		}
	}
}

// TestSheetsDrawTheSame puts a page that is turned, cropped and enlarged by its own unit next
// to one that is not. Both look as they do by themselves, however wide the border is. A line
// of the page has no width of its own.
func TestSheetsDrawTheSame(t *testing.T) {
	t.Parallel()
	for _, rotate := range []int{0, 90, 180, 270} {
		document := placed(rotate, "0 0 0 RG 60 60 m 220 60 l S ")
		width, height := 200.0, 100.0
		if rotate%180 != 0 {
			width, height = height, width
		}
		args := NUpArgs{Selection: Selection{Input: input(""), Pages: "1,1"}, PerSheet: 2, Width: width + 20, Height: 2*height + 40, Landscape: new(false), Border: true, Margin: 10}
		made := makeOne(t, NUpJob.Name, args, document)
		keep(t, fmt.Sprintf("sheets%d.pdf", rotate), made)
		sound(t, made, "", 1)
		for name, draw := range map[string]func(testing.TB, []byte, int) image.Image{"poppler": draw, "MuPDF": drawMuPDF, "PDFium": drawPDFium} {
			want, got := draw(t, document, 1), draw(t, made, 1)
			for _, top := range []int{10, int(height) + 30} {
				if share := differing(t, partOf(got, image.Rect(10, top, 10+int(width), top+int(height))), want); share > 0.02 { // the border of a link
					t.Errorf("turned by %d, %s at %d: %.1f %% of the pixels differ", rotate, name, top, 100*share)
				}
			}
		}
	}
}

// partOf returns a part of an image.
func partOf(rasterImage image.Image, at image.Rectangle) image.Image {
	cut := image.NewRGBA(image.Rect(0, 0, at.Dx(), at.Dy()))
	imagedraw.Draw(cut, cut.Bounds(), rasterImage, at.Min, imagedraw.Src)
	return cut
}

// TestSheetsOfMixedSizes shrinks pages that are too large, and leaves others as they are, in
// the middle of their cell.
func TestSheetsOfMixedSizes(t *testing.T) {
	t.Parallel()
	c := craft("BT /F1 100 Tf 0 0 Td (large) Tj ET", "BT /F1 10 Tf 0 0 Td (small) Tj ET", "BT /F1 10 Tf 0 0 Td (unit) Tj ET")
	c.pages[2].entries = "/UserUnit 2"
	args := a4(3)
	args.Landscape = new(false)
	document := c.write()
	for _, size := range []string{"999 500", "100 050", "100 050"} {
		document = bytes.Replace(document, []byte("/MediaBox [0 0 300 400]"), []byte("/MediaBox [0 0 "+size+"]"), 1)
	}
	made := makeOne(t, NUpJob.Name, args, document)
	keep(t, "sheets of mixed sizes.pdf", made)
	sound(t, made, "", 1)
	got := map[string][2]float64{} // where it begins, and how high it is
	for line := range strings.Lines(pdftest.Tool(t, "pdftotext", "-bbox", pdftest.Save(t, made), "-")) {
		if word := wordPattern.FindStringSubmatch(line); word != nil {
			got[word[5]] = [2]float64{number(t, word[1]), number(t, word[4]) - number(t, word[2])}
		}
	}
	em := got["small"][1] / 10
	for word, want := range map[string][2]float64{"large": {17.1, 56.13 * em}, "small": {247.5, 10 * em}, "unit": {197.5, 20 * em}} {
		if math.Abs(got[word][0]-want[0]) > 1 || math.Abs(got[word][1]-want[1]) > 1 {
			t.Errorf("%s is at %.1f and %.1f high, want %.1f and %.1f", word, got[word][0], got[word][1], want[0], want[1])
		}
	}
}

// TestSheetsKeepOnlyNeededEntries puts a document with an outline, links, fields and names on
// sheets: the fields are drawn, and nothing leads anywhere any more.
func TestSheetsKeepOnlyNeededEntries(t *testing.T) {
	t.Parallel()
	s := linked()
	s.Catalog = strings.Replace(s.Catalog, "/DA (/Helv 0 Tf)", "/NeedAppearances true /DA (/Helv 12 Tf 0 g) /DR << /Font << /Helv 3 0 R >> >>", 1)
	s.Info = "/Title (Linked) /Producer (hand) /CreationDate (D:20200102030405Z)"
	for name, variant := range map[string][]byte{"plain": s.Write(), "object streams": pdftest.Transform(t, s.Write(), "--object-streams=generate")} {
		made := makeOne(t, NUpJob.Name, a4(4), variant)
		text := pdftest.Tool(t, "pdftotext", pdftest.Save(t, made), "-")
		for _, want := range []string{"alpha", "beta", "gamma", "kept value", "secret value"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing of %q", name, want, text)
			}
		}
		f, err := pdffile.Read(pdftest.Transform(t, made, "--object-streams=disable"))
		if err != nil {
			t.Fatal(err)
		}
		catalog, info := f.Catalog(), f.Entry(f.Trailer("/Info"))
		for _, key := range []string{"/AcroForm", "/Names", "/OpenAction", "/PageMode"} {
			if catalog[key] != nil {
				t.Errorf("%s: the catalog has %s", name, key)
			}
		}
		if pdffile.Text(info["/Title"]) != "Linked" || pdffile.Text(info["/Producer"]) != "hand" || pdffile.Text(info["/CreationDate"]) != "D:20200102030405Z" {
			t.Errorf("%s: information %v", name, info)
		}
		if got := strings.Contains(string(made), "/ObjStm"); got != (name == "object streams") {
			t.Errorf("%s: object streams %v", name, got)
		}
	}
}

// TestSheetsOfEncrypted keeps a document that is encrypted so, with both passwords.
func TestSheetsOfEncrypted(t *testing.T) {
	t.Parallel()
	locked := pdftest.Transform(t, numbered(3), "--encrypt", "u", "o", "256", "--print=low", "--")
	for jobName, args := range map[string]any{
		NUpJob.Name:     NUpArgs{Selection: Selection{Input: input("u"), Pages: "3,1"}, PerSheet: 2, Width: 595, Height: 842},
		BookletJob.Name: BookletArgs{Input: input("u"), PerSheet: 2, Width: 595, Height: 842},
	} {
		made := makeOne(t, jobName, args, locked)
		for _, password := range []string{"u", "o"} {
			if !strings.Contains(pdftest.Tool(t, "pdftotext", "-upw", password, "-opw", password, pdftest.Save(t, made), "-"), "p3") {
				t.Errorf("%s: %q does not open it", jobName, password)
			}
		}
		if about := pdftest.Tool(t, "qpdf", "--show-encryption", "--password=u", pdftest.Save(t, made)); !strings.Contains(about, "print high resolution: not allowed") || !strings.Contains(about, "R = 6") {
			t.Errorf("%s: %s", jobName, about)
		}
	}
	runFailing(t, job.WrongPassword, NUpJob.Name, NUpArgs{Selection: Selection{Input: input("x")}, PerSheet: 2, Width: 595, Height: 842}, locked)
}

// TestSheetsRefuse names what cannot be put on sheets.
func TestSheetsRefuse(t *testing.T) {
	t.Parallel()
	broken := craft("q 99 0 0 99 9 9 cm /I Do Q")
	broken.pages[0].resources = "/XObject << /I " + broken.stream("/Type /XObject /Subtype /Image /Width 2 /Height 2 /BitsPerComponent 8 /ColorSpace /DeviceGray /Filter /ASCIIHexDecode", "no digits>") + " >>"
	for name, test := range map[string]struct {
		document []byte
		kind     job.Kind
		text     string
	}{
		"no PDF":  {[]byte("x"), job.NotPDF, ""},
		"damaged": {[]byte("%PDF-1.7\nnothing"), job.Damaged, ""},
		"image":   {broken.write(), job.NoSheets, refusedText},
	} {
		if failed := runFailing(t, test.kind, NUpJob.Name, a4(2), test.document); failed.Text != test.text {
			t.Errorf("%s: %q, want %q", name, failed.Text, test.text)
		}
		runFailing(t, test.kind, BookletJob.Name, BookletArgs{Input: input(""), PerSheet: 2, Width: 595, Height: 842}, test.document)
	}
	beyond := a4(2)
	beyond.Pages = "2-9"
	if failed := runFailing(t, job.PageOutOfRange, NUpJob.Name, beyond, numbered(3)); failed.Pages != 3 {
		t.Errorf("%+v", failed)
	}
}

// TestSheetsMissNoLetter compares what can be read before and after.
func TestSheetsMissNoLetter(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		before, after []string
		want          int
	}{
		{[]string{"one two", "three"}, []string{"three\ntwo-one"}, 0},
		{[]string{"é"}, []string{"e\u0301"}, 0},
		{[]string{"12 aa"}, []string{"1 a b"}, 2},
		{nil, []string{"more"}, 0},
	} {
		if got := missingLetters(test.before, test.after); got != test.want {
			t.Errorf("%q in %q: %d are missing, want %d", test.before, test.after, got, test.want)
		}
	}
}

// TestImposeSurvivesPanics gives pdfcpu an input that cannot be read: the error is one, and
// not the end of the child.
func TestImposeSurvivesPanics(t *testing.T) {
	t.Parallel()
	var nothing strings.Builder
	if err := imposeSheets(panics{}, &nothing, a4(2).oriented(false)); err == nil || !strings.Contains(err.Error(), "panic") {
		t.Errorf("error %v", err)
	}
}

// panics is a file that cannot even be asked.
type panics struct{}

func (panics) Read([]byte) (int, error)       { panic(errors.New("read")) }
func (panics) Seek(int64, int) (int64, error) { panic(errors.New("seek")) }
