package render_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
)

func (s *studio) testFonts(t *testing.T) {
	t.Parallel()
	path := s.print(t, s.source(t, "web-fonts.html"), render.PageSettings{}, goldenPDF)
	fonts := string(output(t, "pdffonts", path))
	for _, want := range []string{"+GoSmallcaps ", "+Go-Italic ", "+GoMono-Bold ", "+LiberationSerif "} {
		if !strings.Contains(fonts, want) {
			t.Errorf("%s is not in the PDF:\n%s", want, fonts)
		}
	}
}

// testPaper prints on every paper that has a name, and on others.
func (s *studio) testPaper(t *testing.T) {
	t.Parallel()
	const mm = 1 / 25.4
	for name, test := range map[string]struct {
		pdf  render.PDF
		want string
	}{
		"default":      {render.PDF{}, "612 x 792 pts (letter)"},
		"Letter":       {render.PDF{Width: 8.5, Height: 11}, "612 x 792 pts (letter)"},
		"Legal":        {render.PDF{Width: 8.5, Height: 14}, "612 x 1008 pts"},
		"Tabloid":      {render.PDF{Width: 11, Height: 17}, "792 x 1224 pts"},
		"Ledger":       {render.PDF{Width: 17, Height: 11}, "1224 x 792 pts"},
		"A0":           {render.PDF{Width: 841 * mm, Height: 1189 * mm}, "(A0)"},
		"A1":           {render.PDF{Width: 594 * mm, Height: 841 * mm}, "(A1)"},
		"A2":           {render.PDF{Width: 420 * mm, Height: 594 * mm}, "(A2)"},
		"A3":           {render.PDF{Width: 297 * mm, Height: 420 * mm}, "(A3)"},
		"A4":           {render.PDF{Width: 210 * mm, Height: 297 * mm}, "(A4)"},
		"A5":           {render.PDF{Width: 148 * mm, Height: 210 * mm}, "(A5)"},
		"A6":           {render.PDF{Width: 105 * mm, Height: 148 * mm}, "298.08 x 420 pts"},
		"receipt":      {render.PDF{Width: 3, Height: 20}, "216 x 1440 pts"},
		"landscape":    {render.PDF{Width: 8.5, Height: 11, Landscape: true}, "792 x 612 pts (letter)"},
		"landscape A4": {render.PDF{Width: 210 * mm, Height: 297 * mm, Landscape: true}, "841.92 x 595.92 pts (A4)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := s.print(t, render.Source{HTML: "<p>Paper"}, render.PageSettings{}, test.pdf)
			if got := infoOf(t, path)["Page 1 size"]; !strings.Contains(got, test.want) {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
	for prefer, want := range map[bool]string{true: "(A4)", false: "(letter)"} {
		path := s.print(t, render.Source{HTML: "<style>@page { size: A4 }</style><p>Paper"}, render.PageSettings{}, render.PDF{PreferCSSPageSize: prefer})
		if got := infoOf(t, path)["Page 1 size"]; !strings.HasSuffix(got, want) {
			t.Errorf("a style sheet of A4 with preferCSSPageSize %v: %s, want %s", prefer, got, want)
		}
	}
}

// box is the position of a word on its page, in points from the top left corner.
type box struct{ left, top, right, bottom float64 }

var wordBox = regexp.MustCompile(`<word xMin="([-\d.]+)" yMin="([-\d.]+)" xMax="([-\d.]+)" yMax="([-\d.]+)">([^<]*)<`)

// boxesOf returns the places of the words of a PDF.
func boxesOf(t *testing.T, path string) map[string]box {
	t.Helper()
	boxes := map[string]box{}
	for _, match := range wordBox.FindAllStringSubmatch(string(output(t, "pdftotext", "-bbox", path, "-")), -1) {
		var at [4]float64
		for i := range at {
			var err error
			if at[i], err = strconv.ParseFloat(match[i+1], 64); err != nil {
				t.Fatal(err)
			}
		}
		boxes[match[5]] = box{at[0], at[1], at[2], at[3]}
	}
	return boxes
}

// testPlaces measures where margins and scale put a word.
func (s *studio) testPlaces(t *testing.T) {
	t.Parallel()
	const source = `<!DOCTYPE html><style>body { margin: 0; font: 20px/20px "Liberation Mono" } b { position: absolute; right: 0; bottom: 0 }</style>First<b>Last</b>`
	// A word in 20 px of a monospaced font is 5 letters of 12 px, or 9 pt.
	for name, test := range map[string]struct {
		pdf         render.PDF
		left, top   float64
		width       float64
		right, base float64 // of the last word
	}{
		"no margins":     {render.PDF{}, 0, 0, 45, 612, 792},
		"margins":        {render.PDF{Margin: margins(0.5, 1)}, 72, 36, 45, 540, 756},
		"four sides":     {render.PDF{Margin: render.Margin{Top: new(2.0), Left: new(0.25), Bottom: new(0.0), Right: new(3.0)}}, 18, 144, 45, 396, 792},
		"scale 2":        {render.PDF{Scale: 2}, 0, 0, 90, 612, 792},
		"scale 0.5":      {render.PDF{Scale: 0.5, Margin: margins(1, 1)}, 72, 72, 22.5, 540, 720},
		"landscape":      {render.PDF{Landscape: true, Margin: margins(0.5, 1)}, 72, 36, 45, 720, 576},
		"landscape half": {render.PDF{Landscape: true, Scale: 0.5}, 0, 0, 22.5, 792, 612},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			boxes := boxesOf(t, s.print(t, render.Source{HTML: source}, render.PageSettings{}, test.pdf))
			first, last := boxes["First"], boxes["Last"]
			got := []float64{first.left, first.top, first.right - first.left, last.right, last.bottom}
			want := []float64{test.left, test.top, test.width, test.right, test.base}
			if !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 3 }) {
				t.Errorf("left, top, width, right, bottom: %.1f, want %.1f", got, want)
			}
		})
	}
}

func (s *studio) testPageRanges(t *testing.T) {
	t.Parallel()
	var pages strings.Builder
	for n := range 9 {
		fmt.Fprintf(&pages, `<h1 style="break-after: %s">P%d</h1>`, map[bool]string{true: "auto", false: "page"}[n == 8], n+1)
	}
	for ranges, want := range map[string]string{
		"": "123456789", "1-3,5": "1235", "7-": "789", "-3": "123", "even": "2468", "odd": "13579", "last": "9",
		"4": "4", "8-9": "89", "5,1": "15", "1-2,2-3": "123", "-2,last": "129", "1-9": "123456789",
	} {
		t.Run(ranges, func(t *testing.T) {
			t.Parallel()
			pdf := render.PDF{PageRanges: ranges, Margin: margins(1, 1), Footer: `<span class="pageNumber"></span>/<span class="totalPages"></span>`}
			path := s.print(t, render.Source{HTML: pages.String()}, render.PageSettings{}, pdf)
			var expected []string
			for _, n := range want {
				expected = append(expected, fmt.Sprintf("P%c %c/9", n, n))
			}
			if got := fullText(t, path); got != strings.Join(expected, " ") {
				t.Errorf("%q, want %q", got, strings.Join(expected, " "))
			}
		})
	}
}

// testTemplates checks that header and footer can be read without any style of
// their own, stay within the margins, and keep the style that they bring.
func (s *studio) testTemplates(t *testing.T) {
	t.Parallel()
	pdf := render.PDF{
		Margin: margins(1, 1), Header: "Plainheader", Footer: `<div style="font-size: 20px; text-align: right">Largefooter</div>`,
	}
	boxes := boxesOf(t, s.print(t, render.Source{HTML: "<title>T</title><p>Content</p>"}, render.PageSettings{}, pdf))
	header, footer := boxes["Plainheader"], boxes["Largefooter"]
	if height := header.bottom - header.top; height < 7 || height > 14 {
		t.Errorf("the header is %.1f points high, want 7 to 14", height)
	}
	if math.Abs(header.left-72) > 3 || header.bottom > 72 {
		t.Errorf("the header stands at %+v, want it left at 72 and above 72", header)
	}
	if height := footer.bottom - footer.top; height < 14 {
		t.Errorf("the footer of 20 px is %.1f points high", height)
	}
	if footer.right > 540+3 || footer.right < 500 || footer.top < 720 {
		t.Errorf("the footer stands at %+v, want it right at 540 and below 720", footer)
	}

	only := s.print(t, render.Source{HTML: "<title>Secret</title><p>Content</p>"}, render.PageSettings{}, render.PDF{Margin: margins(1, 1), Header: "Onlyheader"})
	if got := fullText(t, only); got != "Onlyheader Content" {
		t.Errorf("with a header alone the page says %q", got)
	}
	fields := render.PDF{Margin: margins(1, 1), Header: `<b class="title"></b> on <i class="date"></i>, <span class="pageNumber"></span> of <span class="totalPages"></span>`}
	filled := fullText(t, s.print(t, render.Source{HTML: "<title>Minutes</title><p>Content</p>"}, render.PageSettings{}, fields))
	if !regexp.MustCompile(`^Minutes on \S.*\d.*, 1 of 1 Content$`).MatchString(filled) {
		t.Errorf("the fields of the header became %q", filled)
	}
}

func (s *studio) testTagsAndOutline(t *testing.T) {
	t.Parallel()
	const source = `<!DOCTYPE html><html lang="en"><title>Book</title><h1>Part one</h1><h2>Chapter</h2><p>Text</p><h1>Part two</h1><img alt="A dot" src="data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==">`
	for _, test := range []struct {
		tagged, outline bool
	}{{false, false}, {true, false}, {false, true}, {true, true}} {
		t.Run(fmt.Sprintf("tagged %v, outline %v", test.tagged, test.outline), func(t *testing.T) {
			t.Parallel()
			path := s.print(t, render.Source{HTML: source}, render.PageSettings{}, render.PDF{Tagged: test.tagged, Outline: test.outline})
			want := map[bool]string{true: "yes", false: "no"}
			// An outline needs the tags that it is made from.
			if got := infoOf(t, path)["Tagged"]; got != want[test.tagged || test.outline] {
				t.Errorf("tagged: %s, want %s", got, want[test.tagged || test.outline])
			}
			if test.tagged {
				structure := string(output(t, "pdfinfo", "-struct-text", path))
				for _, part := range []string{"H1", "H2", "Part two", "Figure"} {
					if !strings.Contains(structure, part) {
						t.Errorf("%s is missing in the structure:\n%s", part, structure)
					}
				}
			}
			outline := string(output(t, "mutool", "show", path, "outline"))
			for _, heading := range []string{"Part one", "Chapter", "Part two"} {
				if got := strings.Contains(outline, heading); got != test.outline {
					t.Errorf("%q in the outline: %v, want %v\n%s", heading, got, test.outline, outline)
				}
			}
		})
	}
}

func (s *studio) testMedia(t *testing.T) {
	t.Parallel()
	const source = `<!DOCTYPE html><style>b { display: none } @media print { .p { display: inline } } @media screen { .s { display: inline } }
		body { margin: 0; background: #fff } @media print { body { background: #f00 } }</style><b class="p">print</b><b class="s">screen</b>`
	for media, want := range map[string]string{"": "print", "print": "print", "screen": "screen"} {
		page := render.PageSettings{Media: media}
		if got := fullText(t, s.print(t, render.Source{HTML: source}, page, render.PDF{})); got != want {
			t.Errorf("pdf with media %q says %q, want %q", media, got, want)
		}
	}
	for media, red := range map[string]bool{"": false, "screen": false, "print": true} {
		result, err := s.For("acct_1").Screenshot(t.Context(), render.Source{HTML: source}, render.PageSettings{Media: media}, chrome.Screenshot{Type: "png"})
		if err != nil {
			t.Fatal(err)
		}
		img, _ := decode(t, keep(t, result.Body, "image.png"))
		if _, g, _, _ := img.At(400, 300).RGBA(); (g == 0) != red {
			t.Errorf("image with media %q: red is %v, want %v", media, g == 0, red)
		}
	}
}

func (s *studio) testBackgroundsOff(t *testing.T) {
	t.Parallel()
	const source = `<style>html { background: #0f0; margin: 0 } div { height: 9in; background: url("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'%3E%3Crect width='999' height='999'/%3E%3C/svg%3E") }
		.exact { print-color-adjust: exact; background: #00f; height: 1in }</style><div></div><div class="exact"></div>`
	var blank fingerprint
	pdf := render.PDF{}
	off := raster(t, s.print(t, render.Source{HTML: strings.ReplaceAll(source, `<div class="exact"></div>`, "")}, render.PageSettings{}, pdf), 1)
	if fingerprintOf(off) != blank {
		t.Error("a page without backgrounds is not white")
	}
	pdf.PrintBackground = true
	on := raster(t, s.print(t, render.Source{HTML: source}, render.PageSettings{}, pdf), 1)
	if r, g, b, _ := on.At(200, 540).RGBA(); r != 0 || g != 0xffff || b != 0 {
		t.Errorf("with backgrounds the foot of the page is %x %x %x, want green", r, g, b)
	}
	if r, g, b, _ := on.At(200, 200).RGBA(); r+g+b != 0 {
		t.Errorf("with backgrounds the middle of the page is %x %x %x, want black", r, g, b)
	}
}
