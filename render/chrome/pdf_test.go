package chrome

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// pagesOf returns a document of n pages that say which they are.
func pagesOf(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, `<p style="break-after:page">sheet-%d</p>`, i)
	}
	return strings.TrimSuffix(b.String(), `<p style="break-after:page">`)
}

func TestPDFFromEveryLane(t *testing.T) {
	p := startPool(t, nil)
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			for i := range 3 { // On a warm page the second time.
				html := fmt.Sprintf(`<title>T</title><h1>Grüße №%d</h1>`, i)
				if mode != ModeInline {
					html += `<p id=x></p><script>x.textContent = 'script ran ' + document.title</script>`
				}
				text := textOf(t, p, Job{Account: "a", RenderMode: mode, HTML: html})
				contains(t, text, fmt.Sprintf("Grüße №%d", i))
				if mode != ModeInline {
					contains(t, text, "script ran T")
				}
				if i > 0 && strings.Contains(text, fmt.Sprintf("№%d", i-1)) {
					t.Errorf("the document before is in this one:\n%s", text)
				}
			}
		})
	}
}

func TestInlineRunsNoScript(t *testing.T) {
	p := startPool(t, nil)
	text := textOf(t, p, Job{Account: "a", HTML: `<p id=x>before</p><script>x.textContent='after'</script>
		<img src="data:," onerror="x.textContent='after'"><noscript>noscript shown</noscript>`})
	contains(t, text, "before")
	if strings.Contains(text, "after") {
		t.Errorf("a script ran: %s", text)
	}
}

func TestPDFPaper(t *testing.T) {
	p := startPool(t, nil)
	cases := map[string]struct {
		opt  PDF
		html string
		want string
	}{
		"letter by default": {PDF{}, "<p>x", "612 x 792 pts (letter)"},
		"landscape":         {PDF{Landscape: true}, "<p>x", "792 x 612 pts (letter)"},
		"a5":                {PDF{Width: 5.83, Height: 8.27}, "<p>x", "(A5)"},
		"css size ignored":  {PDF{}, "<style>@page{size:4in 5in}</style><p>x", "612 x 792"},
		"css size":          {PDF{PreferCSSPageSize: true}, "<style>@page{size:4in 5in}</style><p>x", "288 x 360"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			doc, err := p.PDF(t.Context(), Job{Account: "a", HTML: c.html}, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			contains(t, tool(t, doc.Body, "pdfinfo", "-"), c.want)
		})
	}
}

func TestPDFMarginsScaleAndBackground(t *testing.T) {
	p := startPool(t, nil)
	left := func(opt PDF) float64 {
		doc, err := p.PDF(t.Context(), Job{Account: "a", HTML: `<body style="margin:0">mark`}, opt)
		if err != nil {
			t.Fatal(err)
		}
		x, _, _ := firstWord(t, doc)
		return x
	}
	if got := left(PDF{MarginLeft: 1}); got < 71 || got > 73 {
		t.Errorf("text starts at %g pt with a margin of one inch, want 72", got)
	}
	if got := left(PDF{}); got != 0 {
		t.Errorf("text starts at %g pt without margins, want 0", got)
	}
	_, err := p.PDF(t.Context(), Job{Account: "a", HTML: "x"}, PDF{MarginLeft: 5, MarginRight: 5})
	if !errors.Is(err, ErrNoContentArea) {
		t.Errorf("margins wider than the paper: %v, want ErrNoContentArea", err)
	}
	for _, printed := range []bool{false, true} {
		doc, err := p.PDF(t.Context(), Job{Account: "a", HTML: `<body style="background:#f00">`}, PDF{PrintBackground: printed})
		if err != nil {
			t.Fatal(err)
		}
		ppm := tool(t, doc.Body, "pdftoppm", "-r", "10", "-")
		if got := strings.Contains(ppm, "\xff\x00\x00\xff\x00\x00"); got != printed {
			t.Errorf("PrintBackground %v: red pixels %v", printed, got)
		}
	}
}

func TestPDFPageRanges(t *testing.T) {
	p := startPool(t, nil)
	cases := map[string]string{
		"":         "1 2 3 4 5 6 7",
		"2-3,5":    "2 3 5",
		"6-":       "6 7",
		"-2":       "1 2",
		"even":     "2 4 6",
		"odd":      "1 3 5 7",
		"last":     "7",
		"5,1-2,5":  "1 2 5",
		"1, last":  "1 7",
		"odd,even": "1 2 3 4 5 6 7",
	}
	job := Job{Account: "a", HTML: pagesOf(7)}
	for ranges, want := range cases {
		doc, err := p.PDF(t.Context(), job, PDF{PageRanges: ranges})
		if err != nil {
			t.Errorf("%q: %v", ranges, err)
			continue
		}
		count := doc.Pages
		got := strings.ReplaceAll(strings.Join(strings.Fields(pdfText(t, doc)), " "), "sheet-", "")
		if got != want || count != len(strings.Fields(want)) {
			t.Errorf("%q: pages %s (%d), want %s", ranges, got, count, want)
		}
	}
	for _, ranges := range []string{"8", "3-8", "8-", "-8", "7-8,1"} {
		_, err := p.PDF(t.Context(), job, PDF{PageRanges: ranges})
		var beyond *PageRangeError
		if !errors.As(err, &beyond) || beyond.Pages != 7 {
			t.Errorf("%q: %v, want a PageRangeError with 7 pages", ranges, err)
		}
	}
}

func TestPDFLimits(t *testing.T) {
	p := startPool(t, nil)
	for what, opt := range map[string]PDF{"pages": {MaxPages: 6}, "bytes": {MaxBytes: 1000}} {
		for _, mode := range modes {
			_, err := p.PDF(t.Context(), Job{Account: "a", RenderMode: mode, HTML: pagesOf(7)}, opt)
			var limit *LimitError
			if !errors.As(err, &limit) || limit.What != what || !errors.Is(err, ErrTooLarge) {
				t.Errorf("%s, %s mode: %v, want a LimitError", what, mode, err)
			}
		}
	}
}

func TestPDFHeaderAndFooter(t *testing.T) {
	p := startPool(t, nil)
	opt := PDF{
		MarginTop: 1, MarginBottom: 1, MarginLeft: 1, MarginRight: 1,
		Header: `<b>Report <span class="title"></span></b>`,
		Footer: `<span class="pageNumber"></span> of <span class="totalPages"></span>, <span class="date"></span>`,
	}
	job := Job{Account: "a", HTML: "<title>Quarter</title>" + pagesOf(3)}
	doc, err := p.PDF(t.Context(), job, opt)
	if err != nil {
		t.Fatal(err)
	}
	text := pdfText(t, doc)
	contains(t, text, "Report Quarter", "1 of 3, ", "2 of 3, ", "3 of 3, ")
	// The date of the browser may differ from the date here.
	day := time.Now()
	this, next := fmt.Sprint(day.AddDate(0, 0, -1).Year()%100), fmt.Sprint(day.AddDate(0, 0, 1).Year()%100)
	if !strings.Contains(text, this) && !strings.Contains(text, next) {
		t.Errorf("neither %s nor %s is the year in:\n%s", this, next, text)
	}

	opt.Footer = ""
	doc, err = p.PDF(t.Context(), job, opt)
	if err != nil {
		t.Fatal(err)
	}
	text = pdfText(t, doc)
	contains(t, text, "Report Quarter")
	for _, own := range []string{"1/3", "about:blank", "of 3"} {
		if strings.Contains(text, own) {
			t.Errorf("Chromium's own footer %q is printed where none was asked for:\n%s", own, text)
		}
	}
}

func TestHeaderIsReadableAndItsOwnStyleWins(t *testing.T) {
	p := startPool(t, nil)
	word := func(header string) (x, height float64) {
		doc, err := p.PDF(t.Context(), Job{Account: "a", HTML: "body"}, PDF{MarginTop: 1, MarginLeft: 1, Header: header})
		if err != nil {
			t.Fatal(err)
		}
		x, top, bottom := firstWord(t, doc)
		return x, bottom - top
	}
	x, height := word("plain")
	if x < 71 || x > 73 || height < 7 || height > 16 {
		t.Errorf("a plain header is %.1f pt high at %.1f, want about 10 at the margin of 72", height, x)
	}
	x, height = word(`<div style="font-size:30px;padding-left:10px">styled</div>`)
	if x > 20 || height < 20 {
		t.Errorf("a styled header is %.1f pt high at %.1f, want more than 20 at 7.5", height, x)
	}
}

func TestPDFTaggedAndOutlineOnlyWhenAsked(t *testing.T) {
	p := startPool(t, nil)
	for _, on := range []bool{false, true} {
		doc, err := p.PDF(t.Context(), Job{Account: "a", HTML: "<h1>One</h1><p>x<h1>Two</h1>"}, PDF{Tagged: on, Outline: on})
		if err != nil {
			t.Fatal(err)
		}
		want := map[bool]string{false: "no", true: "yes"}[on]
		info := strings.Join(strings.Fields(tool(t, doc.Body, "pdfinfo", "-")), " ")
		contains(t, info, "Tagged: "+want)
	}
}

func TestLargePDFIsStreamed(t *testing.T) {
	sharedtest.Slow(t)
	p := startPool(t, nil)
	// Noise does not compress: about 6 MB in the file.
	html := `<canvas id=c width=1400 height=1400></canvas><script>
		const g = c.getContext('2d'), d = g.createImageData(1400, 1400);
		for (let i = 0; i < d.data.length; i++) d.data[i] = i % 4 == 3 ? 255 : 256 * Math.random();
		g.putImageData(d, 0, 0)</script>`
	doc, err := p.PDF(t.Context(), Job{Account: "a", RenderMode: ModeRealm, HTML: html}, PDF{})
	if err != nil {
		t.Fatal(err)
	}
	if doc.Body.Size() < 3<<20 {
		t.Errorf("the file has %d bytes, too few for this test", doc.Body.Size())
	}
	contains(t, tool(t, doc.Body, "pdfinfo", "-"), "Pages:           1")
}

func TestPageCountAgreesWithPoppler(t *testing.T) {
	sharedtest.Slow(t)
	p := startPool(t, nil)
	for _, n := range []int{1, 2, 8, 9, 65, 600} { // Skia's page tree gets deeper at 8, 64 and 512.
		for _, tagged := range []bool{false, true} {
			doc, err := p.PDF(t.Context(), Job{Account: "a", HTML: pagesOf(n)}, PDF{Tagged: tagged, Outline: tagged})
			if err != nil {
				t.Fatal(err)
			}
			if doc.Pages != n {
				t.Errorf("tagged %v: counted %d pages, want %d", tagged, doc.Pages, n)
			}
			contains(t, strings.Join(strings.Fields(tool(t, doc.Body, "pdfinfo", "-")), " "), fmt.Sprintf("Pages: %d ", n))
		}
	}
}

func TestScriptsSeeTheRoomOnThePaper(t *testing.T) {
	sharedtest.Slow(t)
	p := startPool(t, nil)
	const html = `<body style="margin:0"><p id=x></p><script>x.textContent = 'window ' + innerWidth + ' x ' + innerHeight</script>`
	for want, opt := range map[string]PDF{
		"window 816 x 1056": {},
		"window 1056 x 816": {Landscape: true},
		"window 480 x 192":  {Width: 6, Height: 3, MarginLeft: .5, MarginRight: .5, MarginTop: .5, MarginBottom: .5},
		"window 408 x 528":  {Scale: 2},
	} {
		for _, mode := range []RenderMode{ModeRealm, ModeOnce} {
			doc, err := p.PDF(t.Context(), Job{Account: "a", RenderMode: mode, HTML: html}, opt)
			if err != nil {
				t.Fatal(err)
			}
			contains(t, pdfText(t, doc), want)
		}
	}
}
