package pdf

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"runtime"
	"strings"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
)

// OCRArgs are the arguments of an OCRJob. The output is the PDF with a text layer below the content of its pages,
// or with Text the recognised text as JSON, a ReadText.
type OCRArgs struct {
	Selection
	// Languages are languages of tesseract, such as eng.
	Languages []string
	// Force also reads pages that already have text, and adds the words that are missing in it.
	Force bool
	// Turn has pages that lie on their side shown upright, and Straighten takes the
	// skew out of them.
	Turn, Straighten bool
	Text             bool
}

// ReadText is the text that OCR read on pages.
type ReadText struct {
	PageCount int            `json:"pageCount" jsonschema:"required" jsonschema_description:"Number of pages of the document."`
	Pages     []job.ReadPage `json:"pages" jsonschema:"required" jsonschema_description:"Requested pages in order."`
}

// maxOCRPages is the maximum number of pages of one OCR job.
const maxOCRPages = 50

// scanDPI is the best resolution for reading letters. Pages of more than job.ScanPixels have a lower one.
const scanDPI = 300

// OCRJob adds an invisible text layer to pages that are images, or returns the text as JSON.
var OCRJob = job.DefineFile("pdf.ocr", engine.OCRTime, ocr)

// ocr reads pages that are images of text.
func ocr(ctx context.Context, w *engine.Work, args OCRArgs) error {
	if err := checkLanguages(ctx, w, args.Languages); err != nil {
		return err
	}
	doc, err := job.OpenOne(ctx, w, args.Input)
	if err != nil {
		return err
	}
	if err := job.CheckPages(doc.Pages); err != nil {
		return err
	}

	numbers, err := doc.Resolve(args.Pages)
	if err != nil {
		return err
	}
	numbers = withoutRepeats(numbers)

	if len(numbers) > maxOCRPages {
		return &job.Error{
			Kind: job.NoSelection,
			Text: fmt.Sprintf("select %d pages; the limit is %d. Select fewer pages", len(numbers), maxOCRPages),
		}
	}

	original := *doc
	encrypted, err := job.Decrypt(ctx, doc)
	if err != nil {
		return err
	}
	if err := job.Settle(ctx, doc); err != nil {
		return err
	}

	r := &recognizer{Document: doc, args: args}
	pages, err := r.readAll(ctx, numbers)
	if err != nil {
		return err
	}

	if args.Text {
		return job.WriteJSON(w, textOutput, ReadText{PageCount: doc.Pages, Pages: readPages(pages)})
	}
	return r.addWords(ctx, &original, encrypted, pages)
}

// recognizer reads the pages of one document.
type recognizer struct {
	*job.Document
	args  OCRArgs
	sizes map[int]job.PageSize
}

// readPage is a page read by OCR.
type readPage struct {
	job.ReadPage
	// file is a PDF of the words alone. matrix places it on the page: it maps its points to fractions of the
	// displayed page, from the bottom left. It is empty without words to add.
	file   string
	matrix job.Affine
	// words were read from an upright image of the page. wide, high and the words' boxes
	// are in its pixels.
	words      []scanWord
	wide, high float64
}

// readAll reads pages side by side.
func (r *recognizer) readAll(ctx context.Context, numbers []int) ([]*readPage, error) {
	first := numbers[0]
	last := numbers[0]
	for _, n := range numbers {
		first = min(first, n)
		last = max(last, n)
	}

	var err error
	if r.sizes, err = job.ReadPageSizes(ctx, r.Document, first, last); err != nil {
		return nil, err
	}

	pages := make([]*readPage, len(numbers))
	group, groupCtx := guard.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	for i, n := range numbers {
		group.Go(func() (err error) {
			pages[i], err = r.read(groupCtx, n)
			return err
		})
	}
	return pages, group.Wait()
}

// readPages are the results of a reading.
func readPages(pages []*readPage) []job.ReadPage {
	results := make([]job.ReadPage, len(pages))
	for i, p := range pages {
		results[i] = p.ReadPage
	}
	return results
}

// read reads a page, unless it has text already.
func (r *recognizer) read(ctx context.Context, number int) (*readPage, error) {
	layer, err := job.TextLayer(ctx, r.Document, number, r.sizes[number])
	if err != nil {
		return nil, err
	}
	if len(layer.Words) > 0 && !r.args.Force {
		return &readPage{ReadPage: layer}, nil
	}

	drawn, err := r.drawScan(ctx, number)
	if err != nil {
		return nil, err
	}

	if !r.args.Text {
		// Text of the page is not read again: it would be there twice.
		for _, word := range layer.Words {
			s := drawn.perPoint
			slack := word.Height / 8
			drawn.Whiten(
				int((word.X-slack)*s), int((word.Y-slack)*s),
				int(math.Ceil((word.X+word.Width+slack)*s)), int(math.Ceil((word.Y+word.Height+slack)*s)),
			)
		}
	}

	page := &readPage{ReadPage: job.ReadPage{
		Page: number, Source: "ocr", Width: layer.Width, Height: layer.Height, Words: []job.ReadWord{},
	}}
	return page, r.recognise(ctx, page, drawn)
}

// drawing is a page rendered at a number of pixels per point.
type drawing struct {
	*job.Scan

	dpi      int
	perPoint float64
}

// drawScan draws a page in gray.
func (r *recognizer) drawScan(ctx context.Context, number int) (drawing, error) {
	size, ok := r.sizes[number]
	if !ok || size.Width <= 0 || size.Height <= 0 {
		return drawing{}, r.Fail(job.Damaged, fmt.Errorf("page %d has no size", number))
	}
	dpi := min(scanDPI, int(math.Sqrt(job.ScanPixels/(size.Width*size.Height))*job.PointsPerInch))
	s, err := job.DrawGray(ctx, r.Document, r.Name, number, max(1, dpi))
	return drawing{Scan: s, dpi: dpi, perPoint: float64(dpi) / job.PointsPerInch}, err
}

//go:embed ocr.js
var ocrScript string

// layInput are the arguments of the script.
type layInput struct {
	Input  string    `json:"input"`
	Output string    `json:"output"`
	Pages  []layPage `json:"pages"`
}

// layPage is a page, the words that go under it, and how it is turned.
type layPage struct {
	Page   int        `json:"page"`
	Words  string     `json:"words"`
	Matrix job.Affine `json:"matrix"`
	Turn   int        `json:"turn"`
	Skew   float64    `json:"skew"`
}

// addWords makes the document with the words that were read the job's result.
func (r *recognizer) addWords(ctx context.Context, original *job.Document, encrypted bool, pages []*readPage) error {
	input := layInput{Input: r.Name, Output: "read.pdf", Pages: []layPage{}}
	read := 0

	for _, p := range pages {
		if p.Source != "ocr" {
			continue
		}
		read++

		page := layPage{Page: p.Page, Words: p.file, Matrix: p.matrix}
		if r.args.Turn {
			page.Turn = p.Turned
		}
		if r.args.Straighten {
			page.Skew = p.Skew
		}
		if page.Words != "" || page.Turn != 0 || page.Skew != 0 {
			input.Pages = append(input.Pages, page)
		}
	}

	if read == 0 {
		return &job.Error{
			Kind: job.NoMatch,
			Text: "already has text on all of these pages. Send force: true to read them anyway",
		}
	}

	if _, err := job.RunScript[bool](ctx, r.Document, "ocr.js", []byte(job.DrawScript+ocrScript), input); err != nil {
		return err
	}
	if err := r.checkWords(ctx, input.Output, pages); err != nil {
		return err
	}
	return job.Finish(ctx, original, encrypted, input.Output)
}

// checkWords returns an error unless another program finds the recognised text in the document.
func (r *recognizer) checkWords(ctx context.Context, name string, pages []*readPage) error {
	written := &job.Document{Work: r.Work, Name: name}
	if err := written.Count(ctx); err != nil {
		return r.Damaged(err)
	}
	if written.Pages != r.Pages {
		return r.Fail(job.Damaged, fmt.Errorf("%d of %d pages are left", written.Pages, r.Pages))
	}

	for _, p := range pages {
		if p.file == "" {
			continue
		}

		texts, err := job.ExtractTexts(ctx, written, p.Page, p.Page)
		if err != nil {
			return err
		}

		if found, want := job.CountLetters(strings.Join(texts, " ")), job.CountLetters(p.Text); found < want/2 {
			return r.Fail(job.Damaged, fmt.Errorf("page %d has %d of %d letters that were read", p.Page, found, want))
		}
	}
	return nil
}
