package pdf

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// letterIn are letters as people write them, by language.
var letterIn = map[string]string{
	"eng": `Annual report

The company has grown by 12.5 per cent in the year under review, and its board
expects the next one to be as good. Costs were lower than planned because energy
was cheaper than in 2025, and because fewer machines had to be replaced.

We thank our customers, who stayed with us through a difficult winter, and our
neighbours, who put up with the noise of the new building. It opens in April.

The meeting takes place on Friday, 16 October 2026, at 10 o'clock in the large
hall. Please bring the enclosed card; without it nobody is admitted.`,
	"deu": `Jahresbericht

Die Gesellschaft ist im Berichtsjahr um 12,5 Prozent gewachsen, und der Vorstand
rechnet damit, dass das nächste ebenso gut wird. Die Kosten waren niedriger als
geplant, weil die Energie günstiger war und weniger Maschinen ausfielen.

Wir danken unseren Kunden, die uns über den schwierigen Winter treu geblieben
sind, und den Nachbarn, die den Lärm der Baustelle ertragen haben. Die große
Halle wird im März eröffnet.

Die Versammlung findet am Freitag, dem 16. Oktober 2026, um 10 Uhr statt. Bitte
bringen Sie die beiliegende Karte mit; ohne sie wird niemand eingelassen.`,
	"fra": `Rapport annuel

La société a progressé de 12,5 pour cent au cours de l'exercice, et son conseil
s'attend à ce que le prochain soit aussi bon. Les frais ont été plus faibles que
prévu, car l'énergie était moins chère et peu de machines sont tombées en panne.

Nous remercions nos clients, qui nous sont restés fidèles pendant un hiver
difficile, ainsi que nos voisins, qui ont supporté le bruit du chantier. La
grande salle ouvrira ses portes au mois d'avril.

La réunion aura lieu le vendredi 16 octobre 2026 à 10 heures. Veuillez apporter
la carte ci-jointe; sans elle, personne ne sera admis.`,
}

// scanOf is a PDF whose pages are images of texts at 200 dpi, as a scanner makes them: each
// turned clockwise by degrees, and then skewed.
func scanOf(t *testing.T, degrees int, skew float64, texts ...string) []byte {
	t.Helper()
	const dpi = 200
	dir := t.TempDir()
	var pages [][]byte
	for i, text := range texts {
		page := typed(t, text)
		path := filepath.Join(dir, fmt.Sprintf("page%d", i))
		if err := os.WriteFile(path+".pdf", page, 0o600); err != nil {
			t.Fatal(err)
		}
		pdftest.Tool(t, "pdftoppm", "-gray", "-singlefile", "-r", fmt.Sprint(dpi), path+".pdf", path)
		drawn, err := job.ReadScan(path + ".pgm")
		if err != nil {
			t.Fatal(err)
		}
		drawn = drawn.Rotated(degrees)
		if skew != 0 {
			drawn, _ = drawn.Straighten(-skew * math.Pi / 180)
		}
		pages = append(pages, scanPNG(t, drawn))
	}
	args := images.FromImagesArgs{Width: 595, Height: 842}
	if degrees%180 != 0 {
		args.Width, args.Height = args.Height, args.Width
	}
	for i := range pages {
		args.Inputs = append(args.Inputs, job.Input{Name: inputName(i)})
	}
	return makeOne(t, images.FromImagesJob.Name, args, pages...)
}

// accuracy is the part of a text's words that another has in the same order.
func accuracy(want, got string) float64 {
	a, b := strings.Fields(want), strings.Fields(got)
	previous := make([]int, len(b)+1)
	for i := range a {
		current := make([]int, len(b)+1)
		for j := range b {
			if a[i] == b[j] {
				current[j+1] = previous[j] + 1
			} else {
				current[j+1] = max(current[j], previous[j+1])
			}
		}
		previous = current
	}
	return float64(previous[len(b)]) / float64(len(a))
}

// fewestRight is the least part of words that must be read right.
const fewestRight = 0.97

// TestOCR reads scans in three languages that stand upright, lie on their side and are
// skewed. The words can be found where they are seen, and the images are unchanged.
func TestOCR(t *testing.T) {
	sharedtest.Slow(t)
	for _, test := range []struct {
		language string
		turned   int
		skew     float64
		pdf      bool
	}{
		{"eng", 0, 0, true},
		{"eng", 0, 2, true},
		{"eng", 90, 0, true},
		{"deu", 0, 2, true},
		{"deu", 90, 0, true},
		{"fra", 0, 2, true},
		{"fra", 90, 0, true},
		{"eng", 270, -2, false},
		{"deu", 180, 0, false},
	} {
		t.Run(fmt.Sprintf("%s turned %d skewed %g", test.language, test.turned, test.skew), func(t *testing.T) {
			want := letterIn[test.language]
			document := scanOf(t, test.turned, test.skew, want)
			args := OCRArgs{Selection: Selection{Input: input("")}, Languages: []string{test.language}, Turn: true, Straighten: true}
			if !test.pdf {
				readsText(t, args, document, want, (360-test.turned)%360, test.skew)
				return
			}
			got := makeOne(t, OCRJob.Name, args, document)
			sound(t, got, "", 1)
			path := pdftest.Save(t, got)
			if text := pdftest.Tool(t, "pdftotext", path, "-"); accuracy(want, text) < fewestRight {
				t.Errorf("%.3f of the words were read:\n%s", accuracy(want, text), text)
			}
			// The page is upright, and its image is the one of before.
			if about := pdftest.Tool(t, "pdfinfo", path); !strings.Contains(strings.Join(strings.Fields(about), " "), fmt.Sprintf("Page rot: %d ", (360-test.turned)%360)) {
				t.Errorf("turned by %d, the page is shown so:\n%s", test.turned, about)
			}
			if before, after := imageHash(t, document), imageHash(t, got); before != after {
				t.Error("the picture was written anew")
			}
		})
	}
}

// readsText reads a scan as JSON.
func readsText(t *testing.T, args OCRArgs, document []byte, want string, turned int, skew float64) {
	t.Helper()
	args.Text = true
	result, err := runJob(t, OCRJob.Name, args, document)
	if err != nil {
		t.Fatal(err)
	}
	var said ReadText
	if err := json.Unmarshal(read(t, result), &said); err != nil || len(said.Pages) != 1 {
		t.Fatalf("%v: %+v", err, said)
	}
	page := said.Pages[0]
	if accuracy(want, page.Text) < fewestRight || page.Source != "ocr" || page.Confidence < 85 {
		t.Errorf("%.3f of the words were read: %+v", accuracy(want, page.Text), page)
	}
	if page.Turned != turned || math.Abs(page.Skew-skew) > 0.2 {
		t.Errorf("turned %d, skew %g; want %d, %g", page.Turned, page.Skew, turned, skew)
	}
	wordsAreSeen(t, document, page)
}

// wordsAreSeen fails unless there is ink where words are said to be, and hardly any
// elsewhere.
func wordsAreSeen(t *testing.T, document []byte, page job.ReadPage) {
	t.Helper()
	base := filepath.Join(t.TempDir(), "page")
	pdftest.Tool(t, "pdftoppm", "-gray", "-singlefile", "-r", "72", pdftest.Save(t, document), base)
	drawn, err := job.ReadScan(base + ".pgm")
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(float64(drawn.Width)-page.Width) > 1 || math.Abs(float64(drawn.Height)-page.Height) > 1 {
		t.Errorf("the page has %g × %g points, and is drawn in %d × %d", page.Width, page.Height, drawn.Width, drawn.Height)
	}
	ink := func() (dark int) {
		for _, gray := range drawn.Pixels {
			if gray < 160 {
				dark++
			}
		}
		return dark
	}
	all := ink()
	for _, w := range page.Words {
		before := ink()
		drawn.Whiten(int(w.X), int(w.Y), int(math.Ceil(w.X+w.Width)), int(math.Ceil(w.Y+w.Height)))
		if len(w.Text) > 4 && ink() == before {
			t.Errorf("there is no ink where %q is said to be: %+v", w.Text, w)
		}
	}
	if left := ink(); left*20 > all {
		t.Errorf("%d of %d dark pixels are outside of all words", left, all)
	}
}

// TestOCRKeepsText leaves pages alone that have text, and reads with Force what is
// not in that.
func TestOCRKeepsText(t *testing.T) {
	sharedtest.Slow(t)
	scan := scanOf(t, 0, 0, "A scanned sentence with several words.")
	both := makeOne(t, MergeJob.Name, MergeArgs{Inputs: []MergeInput{{Input: input("")}, {Input: job.Input{Name: inputName(1)}}}}, typed(t, "A typed sentence."), scan)
	args := OCRArgs{Selection: Selection{Input: input("")}, Languages: []string{"eng"}}
	if got, want := pageTexts(t, makeOne(t, OCRJob.Name, args, both), ""), []string{"A typed sentence.", "A scanned sentence with several words."}; !slices.Equal(got, want) {
		t.Errorf("pages %q, want %q", got, want)
	}
	args.Pages = "1"
	if failed := runFailing(t, job.NoMatch, OCRJob.Name, args, both); !strings.Contains(failed.Text, "force: true") {
		t.Errorf("%q says nothing of force", failed.Text)
	}
	// An image with words on a page that has others.
	stamp := Mark{Stamp: job.Input{Name: inputName(1)}, X: 0, Y: 300, Position: nil, Opacity: 1, Scale: 1}
	mixed := makeOne(t, StampJob.Name, StampArgs{Input: input(""), Marks: []Mark{stamp}}, typed(t, "A typed sentence."), scan)
	args.Force = true
	got := strings.Join(strings.Fields(pdftest.Tool(t, "pdftotext", pdftest.Save(t, makeOne(t, OCRJob.Name, args, mixed)), "-")), " ")
	for _, sentence := range []string{"A typed sentence.", "A scanned sentence with several words."} {
		if strings.Count(got, sentence) != 1 {
			t.Errorf("%q should be there once: %q", sentence, got)
		}
	}
}

// TestOCRStraightens removes the skew of a page without drawing it again.
func TestOCRStraightens(t *testing.T) {
	sharedtest.Slow(t)
	document := scanOf(t, 0, 3, letterIn["eng"])
	got := makeOne(t, OCRJob.Name, OCRArgs{Selection: Selection{Input: input("")}, Languages: []string{"eng"}, Straighten: true}, document)
	base := filepath.Join(t.TempDir(), "page")
	pdftest.Tool(t, "pdftoppm", "-gray", "-singlefile", "-r", "150", pdftest.Save(t, got), base)
	drawn, err := job.ReadScan(base + ".pgm")
	if err != nil {
		t.Fatal(err)
	}
	if left := drawn.Skew() * 180 / math.Pi; math.Abs(left) > 0.3 {
		t.Errorf("the lines still rise by %g degrees", left)
	}
	if text := pdftest.Tool(t, "pdftotext", pdftest.Save(t, got), "-"); accuracy(letterIn["eng"], text) < fewestRight {
		t.Errorf("%.3f of the words were read:\n%s", accuracy(letterIn["eng"], text), text)
	}
}

// TestOCROfPicture reads a page that has an image and no words.
func TestOCROfPicture(t *testing.T) {
	sharedtest.Slow(t)
	rasterImage := makeOne(t, images.FromImagesJob.Name, images.FromImagesArgs{Inputs: []job.Input{input("")}, Width: 200, Height: 100}, plate(t, green, 2, 1))
	got := makeOne(t, OCRJob.Name, OCRArgs{Selection: Selection{Input: input("")}, Languages: []string{"eng"}, Turn: true, Straighten: true}, rasterImage)
	sound(t, got, "", 1)
}

func TestOCRRefuses(t *testing.T) {
	args := OCRArgs{Selection: Selection{Input: input("")}, Languages: []string{"eng", "tlh"}}
	failed := runFailing(t, job.NoLanguage, OCRJob.Name, args, three().Write())
	if want := `has "tlh", which is not installed. Installed languages: deu, eng, fra`; failed.Text != want {
		t.Errorf("got %q, want %q", failed.Text, want)
	}
	many := source{Pages: make([]string, maxOCRPages+1)}
	args.Languages = []string{"eng"}
	if failed := runFailing(t, job.NoSelection, OCRJob.Name, args, many.Write()); !strings.Contains(failed.Text, "select 51 pages; the limit is 50") {
		t.Errorf("got %q", failed.Text)
	}
}

// typed is a page of A4 with a text in lines.
func typed(t *testing.T, text string) []byte {
	t.Helper()
	var content strings.Builder
	content.WriteString("BT /F1 11 Tf 14.5 TL 70 760 Td ")
	for line := range strings.Lines(text) {
		latin := make([]byte, 0, len(line))
		for _, r := range strings.TrimRight(line, "\n") {
			if strings.ContainsRune(`()\`, r) {
				latin = append(latin, '\\')
			}
			latin = append(latin, byte(r))
		}
		fmt.Fprintf(&content, "(%s) Tj T* ", latin)
	}
	content.WriteString("ET")
	s := source{Pages: []string{""}}
	page := strings.NewReplacer(
		"/MediaBox [0 0 300 400] /Contents 11 0 R", "/MediaBox [0 0 595 842] /Contents 100 0 R",
		"/BaseFont /Helvetica", "/BaseFont /Helvetica /Encoding /WinAnsiEncoding")
	s.Objects = []string{fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", content.Len(), content.String())}
	made := filepath.Join(t.TempDir(), "typed.pdf")
	pdftest.Tool(t, "mutool", "clean", pdftest.Save(t, []byte(page.Replace(string(s.Write())))), made)
	return pdftest.Load(t, made)
}

// scanPNG is a scan as a PNG of 200 dpi.
func scanPNG(t *testing.T, s *job.Scan) []byte {
	t.Helper()
	var out bytes.Buffer
	img := &image.Gray{Pix: s.Pixels, Stride: s.Width, Rect: image.Rect(0, 0, s.Width, s.Height)}
	if err := png.Encode(&out, img); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// imageHash is a hash of the only image of a document.
func imageHash(t *testing.T, document []byte) string {
	t.Helper()
	base := filepath.Join(t.TempDir(), "image")
	pdftest.Tool(t, "pdfimages", "-png", pdftest.Save(t, document), base)
	found, err := filepath.Glob(base + "*")
	if err != nil || len(found) != 1 {
		t.Fatalf("%d images: %v", len(found), err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(pdftest.Load(t, found[0])))
}
