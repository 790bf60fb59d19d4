package render_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/image/font/gofont/goitalic"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/gofont/gosmallcaps"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/spool"
)

// assets is the site that the documents in testdata/golden load from; its port
// is put in when they are read.
const assets = "https://assets.test"

// studio is a Renderer with the sites that its documents may load from.
type studio struct {
	*render.Renderer
	site, elsewhere *website
}

func newStudio(t *testing.T) *studio {
	t.Helper()
	ca := newAuthority(t)
	s := &studio{site: newWebsite(t, ca, "assets.test"), elsewhere: newWebsite(t, ca, "elsewhere.test")}
	for path, font := range map[string][]byte{
		"/small-caps.ttf": gosmallcaps.TTF, "/italic.ttf": goitalic.TTF, "/mono-bold.ttf": gomonobold.TTF,
	} {
		s.site.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Access-Control-Allow-Origin", "*")
			_, _ = w.Write(font)
		})
	}
	s.site.HandleFunc("/photo/{hue}", servePhoto)
	s.Renderer = launch(t, render.Config{
		AllowHosts: []string{"assets.test", "elsewhere.test"}, ExtraCA: ca.file,
		Resolver: dns{"assets.test": always(siteAddr), "elsewhere.test": always(siteAddr)},
		// Wait for late drawing even on a busy machine.
		Times: chrome.Times{Start: patience, Settle: 20 * time.Second, Animation: patience},
	})
	return s
}

// servePhoto answers /photo/HUE.jpg with an image of hills under a sky of that hue in degrees.
func servePhoto(w http.ResponseWriter, r *http.Request) {
	hue, err := strconv.ParseFloat(strings.TrimSuffix(r.PathValue("hue"), ".jpg"), 64)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	const width, height = 480, 320
	photo := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			light := 0.35 + 0.6*float64(y)/height
			hill := 210 + 30*math.Sin(float64(x)/60+hue)
			if float64(y) > hill {
				light = 0.25 - 0.1*(float64(y)-hill)/height
			}
			channel := func(turn float64) uint8 {
				return uint8(255 * light * (0.75 + 0.25*math.Cos((hue-turn)*math.Pi/180)))
			}
			photo.SetRGBA(x, y, color.RGBA{channel(0), channel(120), channel(240), 255})
		}
	}
	w.Header().Set("Content-Type", "image/jpeg")
	_ = jpeg.Encode(w, photo, nil)
}

// TestRendering holds the tests that share one Renderer.
func TestRendering(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	t.Run("documents", s.testDocuments)
	t.Run("formulas and diagrams", s.testFormulasAndDiagrams)
	t.Run("missing chart", s.testMissingChart)
	t.Run("images", s.testImages)
	t.Run("image sizes", s.testImageSizes)
	t.Run("transparency", s.testTransparency)
	t.Run("fonts", s.testFonts)
	t.Run("typefaces", s.testTypefaces)
	t.Run("paper", s.testPaper)
	t.Run("places", s.testPlaces)
	t.Run("page ranges", s.testPageRanges)
	t.Run("templates", s.testTemplates)
	t.Run("tags and outline", s.testTagsAndOutline)
	t.Run("media", s.testMedia)
	t.Run("backgrounds off", s.testBackgroundsOff)
	t.Run("emulation", s.testEmulationEnds)
	t.Run("credentials", s.testCredentials)
	t.Run("waits", s.testWaits)
	t.Run("deadlines", s.testDeadlines)
}

// goldenPDF is the settings of a golden unless its case says otherwise.
var goldenPDF = render.PDF{PrintBackground: true, PreferCSSPageSize: true}

// chartPDF leaves a width of 800 pixels between its margins. That is the width
// of the window in which scripts measure: what they draw fits the paper.
var chartPDF = render.PDF{PrintBackground: true, Width: 860.0 / 96, Height: 600.0 / 96, Margin: margins(30.0/96, 30.0/96)}

// testDocuments prints each document in testdata/golden, and compares its
// pages, their text and their looks with its golden.
func (s *studio) testDocuments(t *testing.T) {
	t.Parallel()
	withTemplates := goldenPDF
	withTemplates.Width, withTemplates.Height = 5.5, 8.5
	withTemplates.Margin = margins(1, 0.75)
	withTemplates.Header = `Harbour Trust, <span class="title"></span>`
	withTemplates.Footer = `Page <span class="pageNumber"></span> of <span class="totalPages"></span>`

	for _, test := range []struct {
		file  string
		page  render.PageSettings
		pdf   render.PDF
		pages []int // whose text and look count; nil means all
	}{
		{file: "invoice.html"},
		{file: "chart-animation-frame.html", page: render.PageSettings{WaitForSelector: "#grown"}},
		{file: "chart-resize-observer.html", pdf: chartPDF},
		{file: "chart-intersection-observer.html"},
		{file: "web-fonts.html"},
		{file: "emoji.html"},
		{file: "cjk.html"},
		{file: "arabic.html"},
		{file: "page-breaks.html"},
		{file: "table-heads.html"},
		{file: "backgrounds.html"},
		{file: "margin-boxes.html"},
		{file: "pages-200.html", pages: []int{1, 100, 200}},
		{file: "svg.html"},
		{file: "canvas.html"},
		{file: "lazy-images.html"},
		{file: "markdown.md"},
		{file: "markdown-more.md"},
		{file: "header-footer.html", pdf: withTemplates},
	} {
		name := strings.TrimSuffix(test.file, filepath.Ext(test.file))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if reflect.ValueOf(test.pdf).IsZero() {
				test.pdf = goldenPDF
			}
			path := s.print(t, s.source(t, test.file), test.page, test.pdf)
			checkGolden(t, name, describe(t, path, test.pages))
		})
	}
}

// margins returns the margins above and below, and at the sides, in inches.
func margins(ends, sides float64) render.Margin {
	return render.Margin{Top: &ends, Bottom: &ends, Left: &sides, Right: &sides}
}

// source reads a document in testdata/golden.
func (s *studio) source(t *testing.T, file string) render.Source {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "golden", file))
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(file) == ".md" {
		return render.Source{Markdown: string(raw)}
	}
	return s.html(string(raw))
}

// html returns a document whose addresses of assets lead to the site.
func (s *studio) html(text string) render.Source {
	return render.Source{HTML: strings.ReplaceAll(text, assets, s.site.origin("assets.test"))}
}

// print prints a source and returns the file. It is kept by go test -artifacts.
func (s *studio) print(t *testing.T, src render.Source, page render.PageSettings, pdf render.PDF) string {
	t.Helper()
	doc, err := s.For("acct_1").PDF(t.Context(), src, page, pdf)
	if err != nil {
		t.Fatal(err)
	}
	path := keep(t, doc.Body, "document.pdf")
	if got := infoOf(t, path)["Pages"]; got != strconv.Itoa(doc.Pages) {
		t.Errorf("reported as %d pages, but %s are in the file", doc.Pages, got)
	}
	return path
}

// keep writes a result to a file of the test and frees it.
func keep(t *testing.T, body *spool.File, name string) string {
	t.Helper()
	defer body.Close()
	file, err := os.CreateTemp(t.ArtifactDir(), "*-"+name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := io.Copy(file, body.Open()); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

// output runs a program that reads PDFs and returns what it writes.
func output(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	var faults bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stderr = &faults
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, faults.Bytes())
	}
	return out
}

// infoOf returns what pdfinfo says about a file and each of its pages.
func infoOf(t *testing.T, path string) map[string]string {
	t.Helper()
	info := map[string]string{}
	for line := range strings.Lines(string(output(t, "pdfinfo", "-enc", "UTF-8", "-f", "1", "-l", "-1", path))) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			info[strings.Join(strings.Fields(name), " ")] = strings.TrimSpace(value)
		}
	}
	return info
}

// describe returns the golden of a PDF: the number of its pages, and the size,
// look and text of those that count.
func describe(t *testing.T, path string, pages []int) string {
	t.Helper()
	info := infoOf(t, path)
	count, err := strconv.Atoi(info["Pages"])
	if err != nil {
		t.Fatal(err)
	}
	if pages == nil {
		for n := range count {
			pages = append(pages, n+1)
		}
	}
	var golden strings.Builder
	fmt.Fprintf(&golden, "title %s\npages %d\n", info["Title"], count)
	for _, n := range pages {
		fmt.Fprintf(&golden, "\npage %d: %s\n", n, info[fmt.Sprintf("Page %d size", n)])
		fmt.Fprintf(&golden, "%s %x\n", looksLine, fingerprintOf(raster(t, path, n)))
		golden.WriteString(pageText(t, path, n))
	}
	return golden.String()
}

// raster draws a page at 50 pixels per inch.
func raster(t *testing.T, path string, page int, options ...string) image.Image {
	t.Helper()
	n := strconv.Itoa(page)
	img, err := png.Decode(bytes.NewReader(output(t, "pdftoppm", append(options, "-png", "-r", "50", "-f", n, "-l", n, path)...)))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// directions are the invisible marks that pdftotext sets around text that runs
// from right to left.
var directions = regexp.MustCompile(`[\x{200e}\x{200f}\x{202a}-\x{202e}\x{2066}-\x{2069}\f]`)

// pageText returns the text of a page: its lines as they stand on it, each run
// of blanks as one, empty lines left out.
func pageText(t *testing.T, path string, page int) string {
	t.Helper()
	n := strconv.Itoa(page)
	var text strings.Builder
	for line := range strings.Lines(directions.ReplaceAllString(string(output(t, "pdftotext", "-layout", "-f", n, "-l", n, path, "-")), "")) {
		if words := strings.Fields(line); len(words) > 0 {
			text.WriteString(strings.Join(words, " ") + "\n")
		}
	}
	return text.String()
}

// fullText returns the words of a whole PDF.
func fullText(t *testing.T, path string) string {
	t.Helper()
	return strings.Join(strings.Fields(string(output(t, "pdftotext", "-layout", path, "-"))), " ")
}

// A golden sees that a chart is gone, and does not see that another program or
// another way of smoothing edges drew the page.
func (s *studio) testMissingChart(t *testing.T) {
	t.Parallel()
	const scripted = "chart-resize-observer.html"
	whole := s.print(t, s.source(t, scripted), render.PageSettings{}, chartPDF)
	source := s.source(t, scripted)
	source.HTML = strings.Replace(source.HTML, "observer.observe(e)", "e.id === 'area' && observer.observe(e)", 1)
	without := s.print(t, source, render.PageSettings{}, chartPDF)

	want := fingerprintOf(raster(t, whole, 1))
	if got := want.distance(fingerprintOf(raster(t, whole, 1, "-aa", "no", "-aaVector", "no"))); got > tolerance {
		t.Errorf("with hard edges the page is %d bits away, want at most %d", got, tolerance)
	}
	other, err := png.Decode(bytes.NewReader(output(t, "mutool", "draw", "-q", "-r", "50", "-F", "png", "-o", "-", whole, "1")))
	if err != nil {
		t.Fatal(err)
	}
	if got := want.distance(fingerprintOf(other)); got > tolerance {
		t.Errorf("drawn by another program the page is %d bits away, want at most %d", got, tolerance)
	}
	if got := want.distance(fingerprintOf(raster(t, without, 1))); got <= tolerance {
		t.Errorf("without its second chart the page is %d bits away, want more than %d", got, tolerance)
	}
}

// shoot makes an image of a source. Its file is kept by go test -artifacts.
func (s *studio) shoot(t *testing.T, src render.Source, shot chrome.Screenshot) image.Image {
	t.Helper()
	result, err := s.For("acct_1").Screenshot(t.Context(), src, render.PageSettings{}, shot)
	if err != nil {
		t.Fatal(err)
	}
	img, format := decode(t, keep(t, result.Body, "image."+shot.Type))
	if format != shot.Type {
		t.Errorf("the image is %s, want %s", format, shot.Type)
	}
	if size := img.Bounds().Size(); size != image.Pt(result.Width, result.Height) {
		t.Errorf("the file has %v pixels, but %d by %d were reported", size, result.Width, result.Height)
	}
	return img
}

// decode returns the image in a file and the name of its format.
func decode(t *testing.T, path string) (image.Image, string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	img, format, err := image.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return img, format
}
