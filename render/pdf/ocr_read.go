package pdf

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
)

// tesseractEnv keeps tesseract to one thread: pages are read side by side.
var tesseractEnv = []string{"OMP_THREAD_LIMIT=1"}

// tesseract runs that program in the job's folder.
func tesseract(ctx context.Context, w *engine.Work, args ...string) ([]byte, error) {
	return w.Exec(ctx, engine.Program{Name: "tesseract", Args: args, Env: tesseractEnv})
}

// checkLanguages refuses languages that are not installed.
func checkLanguages(ctx context.Context, w *engine.Work, wanted []string) error {
	out, err := w.Exec(ctx, engine.Program{Name: "tesseract", Args: []string{"--list-langs"}})
	if errors.Is(err, engine.ErrNoProgram) {
		return &job.Error{Kind: job.NoProgram, Text: "tesseract", Cause: err}
	}
	if err != nil {
		return err
	}

	var installed []string
	for line := range bytes.Lines(out) {
		// Its first line is a heading; osd detects scripts and is not a language.
		if name := string(bytes.TrimSpace(line)); !strings.Contains(name, " ") && name != "" && name != "osd" {
			installed = append(installed, name)
		}
	}

	slices.Sort(installed)
	for _, name := range wanted {
		if !slices.Contains(installed, name) {
			return &job.Error{Kind: job.NoLanguage, Text: fmt.Sprintf(
				"has %q, which is not installed. Installed languages: %s", name, strings.Join(installed, ", "),
			)}
		}
	}
	return nil
}

// Bounds of confidence: below minPageConfidence, the page may lie on its side or have no text; below
// poor, the words that were read are not text.
const (
	minPageConfidence = 75.0
	minWordConfidence = 25.0
)

// reading is the text that was read of a scan.
type reading struct {
	words []scanWord
	// turned is the angle by which the scan was turned clockwise, skew the rise of its lines after that; back maps
	// the pixels that were read to those of the scan.
	turned int
	skew   float64
	back   job.Affine
	width  int // of the scan
	height int
	file   string
}

// scanWord is a word that was read, in pixels.
type scanWord struct {
	line                     [4]int
	left, top, width, height float64
	confidence               float64
	text                     string
}

// recognise reads a rendered page as it is. If the result makes no sense, it turns the page as tesseract suggests.
func (r *recognizer) recognise(ctx context.Context, page *readPage, drawn drawing) error {
	best, err := r.readRotated(ctx, page.Page, drawn, 0)
	if err != nil {
		return err
	}

	if sideways := best.sideways(); sideways || best.confidence() < minPageConfidence {
		if turned := r.orientation(ctx, page.Page, drawn); turned != 0 {
			other, err := r.readRotated(ctx, page.Page, drawn, turned)
			if err != nil {
				return err
			}
			// tesseract reads pages that lie on their side, so a slightly worse reading is
			// enough to turn one.
			if enough := best.worth() * 0.9; other.worth() > best.worth() || sideways && other.worth() > enough {
				best = other
			}
		}
	}

	best.words = slices.DeleteFunc(best.words, func(w scanWord) bool {
		return w.confidence < minWordConfidence && best.confidence() < minPageConfidence
	})
	page.Confidence = job.Tenths(best.confidence())
	if len(best.words) == 0 {
		return nil
	}

	page.Turned = best.turned
	page.Skew = math.Round(best.skew*180/math.Pi*100) / 100
	r.fill(page, best, drawn)
	return nil
}

// fill adds the words of a reading and their positions to a page.
func (r *recognizer) fill(page *readPage, read reading, drawn drawing) {
	var text strings.Builder

	for i, w := range read.words {
		box := read.back.Around(w.left, w.top, w.left+w.width, w.top+w.height)
		page.Words = append(page.Words, job.ReadWord{
			Text: w.text, Confidence: job.Tenths(w.confidence),
			X: job.Tenths(box[0] / drawn.perPoint), Y: job.Tenths(box[1] / drawn.perPoint),
			Width: job.Tenths((box[2] - box[0]) / drawn.perPoint), Height: job.Tenths((box[3] - box[1]) / drawn.perPoint),
		})

		if i > 0 {
			before := read.words[i-1].line
			switch {
			case before == w.line:
				text.WriteString(" ")
			case before[0] == w.line[0] && before[1] == w.line[1] && before[2] == w.line[2]:
				text.WriteString("\n")
			default:
				text.WriteString("\n\n")
			}
		}
		text.WriteString(w.text)
	}

	page.Text = text.String()
	page.file = read.file
	page.words = read.words
	page.wide = float64(read.width)
	page.high = float64(read.height)

	// From the points of the words' page, whose y points up, to its pixels, to those of the displayed page, and to
	// fractions of that.
	perPoint := drawn.perPoint
	width := float64(drawn.Width)
	height := float64(drawn.Height)
	toPixels := job.Affine{perPoint, 0, 0, -perPoint, 0, float64(read.height)}
	toFractions := job.Affine{1 / width, 0, 0, -1 / height, 0, 1}
	page.matrix = toPixels.Then(read.back).Then(toFractions)
}

// readRotated reads a page that is turned clockwise, and straightened.
func (r *recognizer) readRotated(ctx context.Context, number int, drawn drawing, degrees int) (reading, error) {
	upright := drawn.Rotated(degrees)
	result := reading{turned: degrees, back: drawn.RotatedBack(degrees)}
	if result.skew = upright.Skew(); result.skew != 0 {
		straight, back := upright.Straighten(result.skew)
		upright, result.back = straight, back.Then(result.back)
	}
	result.width = upright.Width
	result.height = upright.Height

	name := fmt.Sprintf("words-%d-%d", number, degrees)
	image := name + ".pgm"
	if err := upright.Write(r.Work.Path(image)); err != nil {
		return result, err
	}
	_, err := tesseract(ctx, r.Work, engine.PathArg(image), engine.PathArg(name),
		"-l", strings.Join(r.args.Languages, "+"), "--dpi", strconv.Itoa(drawn.dpi), "--psm", "3",
		"-c", "textonly_pdf=1", "pdf", "tsv")
	if err != nil {
		return result, r.Damaged(err)
	}

	table, err := os.ReadFile(r.Work.Path(name + ".tsv"))
	if err != nil {
		return result, r.Fail(job.Damaged, fmt.Errorf("page %d was not read: %w", number, err))
	}

	result.words = readWords(table)
	result.file = name + ".pdf"
	return result, os.Remove(r.Work.Path(image))
}

// readWords reads the words of tesseract's table.
func readWords(table []byte) (words []scanWord) {
	const columns, ofWords = 12, "5"
	for line := range bytes.Lines(table) {
		cells := strings.SplitN(strings.TrimRight(string(line), "\r\n"), "\t", columns)
		if len(cells) < columns || cells[0] != ofWords || strings.TrimSpace(cells[columns-1]) == "" {
			continue
		}

		var n [columns - 1]float64
		for i := range n {
			n[i], _ = strconv.ParseFloat(cells[i], 64)
		}
		words = append(words, scanWord{
			line: [4]int{int(n[1]), int(n[2]), int(n[3]), int(n[4])}, left: n[6], top: n[7], width: n[8], height: n[9],
			confidence: n[10], text: strings.TrimSpace(cells[columns-1]),
		})
	}

	return words
}

// confidence returns the average confidence of all letters; 0 if there are none.
func (g reading) confidence() float64 {
	sum := 0.0
	count := 0.0
	for _, w := range g.words {
		sum += w.confidence * float64(len(w.text))
		count += float64(len(w.text))
	}
	return sum / max(1, count)
}

// sideways reports whether most words are higher than wide.
func (g reading) sideways() bool {
	high := 0
	all := 0
	for _, w := range g.words {
		if len(w.text) > 3 {
			all++
			if w.height > w.width {
				high++
			}
		}
	}
	return high*2 > all
}

// worth rates a reading, to compare two readings of one page.
func (g reading) worth() (sum float64) {
	for _, w := range g.words {
		if w.confidence >= minPageConfidence {
			sum += float64(len(w.text))
		}
	}
	return sum
}

// orientation returns the angle by which a page has to be turned clockwise. It is 0 if there are too few letters.
func (r *recognizer) orientation(ctx context.Context, number int, drawn drawing) int {
	image := fmt.Sprintf("turned-%d.pgm", number)
	if drawn.Write(r.Work.Path(image)) != nil {
		return 0
	}

	out, err := tesseract(ctx, r.Work, engine.PathArg(image), "-", "--psm", "0", "--dpi", strconv.Itoa(drawn.dpi))
	if err = cmp.Or(err, os.Remove(r.Work.Path(image))); err != nil {
		return 0
	}

	for line := range bytes.Lines(out) {
		degrees := 0
		n, _ := fmt.Sscanf(string(line), "Rotate: %d", &degrees)
		if n == 1 && degrees%90 == 0 && degrees > 0 && degrees < 360 {
			return degrees
		}
	}
	return 0
}
