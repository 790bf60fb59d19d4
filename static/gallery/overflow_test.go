package gallery

import (
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render"
)

// overflowing are the variants whose boxes are measured: other data than these
// makes documents longer or shorter, not wider.
var overflowing = []string{asItIs, arabic, japanese}

// TestLayoutsDoNotOverflow lays every layout out as wide as its page's area and
// asks the browser for boxes whose content is wider than they are, or cut. One
// page holds all variants of a layout, each in a frame.
func TestLayoutsDoNotOverflow(t *testing.T) {
	t.Parallel()
	for _, l := range load(t).List("", "") {
		t.Run(l.ID, func(t *testing.T) {
			t.Parallel()
			left, right := pageMargins(t, l)
			var frames []string
			for _, format := range l.Formats {
				opt := settings(t, l, format)
				width, height := opt.Width*96, opt.Height*96
				if opt.Landscape {
					width, height = height, width
				}
				for _, variant := range overflowing {
					frames = append(frames, probe(fill(t, l, variant), format+", "+variant, width, height, left+right))
				}
			}
			if found := measure(t, frames); found != "" {
				t.Error(found)
			}
		})
	}
}

// TestOverflowIsFound proves that measure sees what it looks for.
func TestOverflowIsFound(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`<div class="a" style="width: 50px; white-space: nowrap">much too long for it</div>`: "wide div.a much too long for it",
		`<div class="b" style="height: 5px; overflow: hidden">too high</div>`:                "cut div.b too high",
		`<div class="c" style="margin-right: -50px">beside the paper</div>`:                  "out div.c beside the paper",
	} {
		document := "<!doctype html><html><head></head><body>" + content + "</body></html>"
		if found := measure(t, []string{probe(document, "it", 400, 600, 20)}); !strings.Contains(found, want) {
			t.Errorf("in %s it finds %q, want %q", content, found, want)
		}
	}
}

// probe is a frame that lays a document out on a page's area, and reports.
func probe(document, name string, width, height, margins float64) string {
	style := fmt.Sprintf("<style>html { width: %.2fpx !important; }</style>", width-margins)
	document = strings.Replace(document, "</head>", style+"</head>", 1)
	document = strings.Replace(document, "</body>", overflowScript+"</body>", 1)
	size := fmt.Sprintf("width: %.2fpx; height: %.2fpx", width, height)
	return `<iframe name="` + html.EscapeString(name) + `" style="` + size + `" srcdoc="` + html.EscapeString(document) + `"></iframe>`
}

var measured = regexp.MustCompile(`(?m)^.*: 0 boxes$`)

// measure prints what the frames report, and returns it if there is any overflow.
func measure(t *testing.T, frames []string) string {
	t.Helper()
	const head = `<!doctype html><meta charset="utf-8"><style>iframe { position: absolute; visibility: hidden; border: 0 } @media print { iframe { display: none } }
pre { font: 9px sans-serif; white-space: pre-wrap }</style><pre id="found"></pre>`
	p := printHTML(t, head+strings.Join(frames, "\n"), render.PDF{Width: 8.5, Height: 11})
	found := run(t, "pdftotext", "-layout", p.path, "-")
	if len(measured.FindAllString(found, -1)) == len(frames) {
		return ""
	}
	return found
}

// overflowScript reports the boxes that overflow to the page that holds the frame.
const overflowScript = `<script>
const limit = document.documentElement.getBoundingClientRect().right + 1, list = []
for (const e of document.body.querySelectorAll('*')) {
  if (e.closest('svg, script') || getComputedStyle(e).display === 'inline') continue
  const name = e.tagName.toLowerCase() + '.' + e.className + ' ' + (e.textContent || '').trim().slice(0, 40)
  if (e.clientWidth && e.scrollWidth > e.clientWidth + 1) list.push('wide ' + name)
  if (getComputedStyle(e).overflow === 'hidden' && !e.closest('.cover, .badge, .v, .art, .sheet') && e.scrollHeight > e.clientHeight + 1) list.push('cut ' + name)
  if (e.textContent.trim() && getComputedStyle(e).position === 'static' && e.getBoundingClientRect().right > limit) list.push('out ' + name)
}
parent.document.getElementById('found').textContent += window.name + ': ' + list.length + ' boxes\n' + list.slice(0, 8).map((s) => s + '\n').join('')
</script>`

var pageRule = regexp.MustCompile(`@page \{\s*margin: ([^;]+);`)

// pageMargins reads the page's left and right margins of a template, in CSS
// pixels.
func pageMargins(t testing.TB, l Layout) (left, right float64) {
	t.Helper()
	match := pageRule.FindStringSubmatch(html.UnescapeString(l.HTML))
	if match == nil {
		t.Fatalf("%s: no margin in its @page rule", l.ID)
	}
	var sides []float64
	for _, length := range strings.Fields(match[1]) {
		mm, err := strconv.ParseFloat(strings.TrimSuffix(length, "mm"), 64)
		if err != nil {
			t.Fatalf("%s: margin %q is not in millimetres", l.ID, length)
		}
		sides = append(sides, mm/25.4*96)
	}
	switch len(sides) {
	case 1:
		return sides[0], sides[0]
	case 4:
		return sides[3], sides[1]
	}
	return sides[1], sides[1]
}
