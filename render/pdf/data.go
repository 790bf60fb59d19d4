package pdf

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/form"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pagetext"
)

// MarkdownArgs are the arguments of a MarkdownJob. The output is a MarkdownText, its
// result a MarkdownAbout.
type MarkdownArgs struct {
	Selection
	// Languages are the OCR languages for pages without text. If it is empty, such pages are not read.
	Languages []string
	// Apart returns the text of each page separately.
	Apart bool
}

// MarkdownText is the content of a document as Markdown.
type MarkdownText struct {
	PageCount int            `json:"pageCount" jsonschema:"required" jsonschema_description:"Number of pages of the document."`
	Markdown  string         `json:"markdown,omitempty" jsonschema_description:"Text of the pages as GitHub Flavored Markdown. A line <!-- page 2 --> precedes each page."`
	Pages     []MarkdownPage `json:"pages" jsonschema:"required" jsonschema_description:"Requested pages in order."`
}

// MarkdownPage is a page that was read.
type MarkdownPage struct {
	Page   int    `json:"page" jsonschema:"required" jsonschema_description:"Number of the page, from 1."`
	Source string `json:"source" jsonschema:"required,enum=text,enum=ocr,enum=vision,enum=none" jsonschema_description:"Source of the text. text: the page's text layer. ocr: OCR. vision: a model that read the image of the page. none: the page has no text."`
	// Markdown is the Markdown of the page, if pages are separate.
	Markdown string `json:"markdown,omitempty" jsonschema:"-"`
}

// MarkdownReport describes how pages were read.
type MarkdownReport struct {
	// Read lists the pages whose image was read, Empty the pages without readable content, and Unread the pages of
	// Empty that show something all the same.
	Read   []int
	Empty  []int
	Unread []int
}

// The sources of a page's text.
const (
	fromLayer   = "text"
	fromImage   = "ocr"
	fromNothing = "none"
)

//go:embed data_read.js
var dataReadScript []byte

// readPagesInput are the arguments of the script: Output is how the names of its files
// begin.
type readPagesInput struct {
	Input  string `json:"input"`
	Linked string `json:"linked"` // the same document, with its links
	Output string `json:"output"`
	Pages  []int  `json:"pages"`
}

// scriptPage is a page as the script describes it.
type scriptPage struct {
	Box   [4]float64   `json:"box"`
	Words []scriptWord `json:"words"`
	Rules [][4]float64 `json:"rules"`
	Dots  [][4]float64 `json:"dots"`
	Links []struct {
		URL string     `json:"url"`
		Box [4]float64 `json:"box"`
	} `json:"links"`
	// Pictured is the part of the page that its largest image covers, Drawn whether
	// there is anything but words.
	Pictured float64 `json:"pictured"`
	Drawn    bool    `json:"drawn"`
	Failed   string  `json:"failed"`
}

// scriptWord is a word as the script describes it: its text, left, top, right, bottom,
// size, base line, kind, line and turn, and the places of its letters.
type scriptWord struct{ pagetext.Word }

// The bits of a word's kind.
const (
	boldKind = 1 << iota
	italicKind
	monoKind
	joinedKind
)

var errWord = errors.New("a word is not described as words are")

// UnmarshalJSON reads a word.
func (w *scriptWord) UnmarshalJSON(text []byte) error {
	var n [9]float64
	var places []float64
	parts := []any{&w.Text}
	for i := range n {
		parts = append(parts, &n[i])
	}
	minParts := len(parts)
	parts = append(parts, &places)

	if err := json.Unmarshal(text, &parts); err != nil {
		return err
	}
	if len(parts) < minParts {
		return errWord
	}

	kind := int(n[6])
	w.Box = pagetext.Box{Left: n[0], Top: n[1], Right: n[2], Bottom: n[3]}
	w.Size = n[4]
	w.Base = n[5]
	w.Line = int(n[7])
	w.Turn = int(n[8])
	w.Bold = kind&boldKind != 0
	w.Italic = kind&italicKind != 0
	w.Mono = kind&monoKind != 0
	w.Joined = kind&joinedKind != 0

	if len(parts) > minParts && w.Turn == 0 {
		w.Text = pagetext.Logical(w.Text, places)
	}
	return nil
}

// MarkdownJob reads the content of a PDF. The output is a MarkdownText as JSON.
var MarkdownJob = job.Define("pdf.markdown", engine.OCRTime, markdown)

// markdown reads pages as Markdown, from their text or else from their image.
func markdown(ctx context.Context, w *engine.Work, args MarkdownArgs) (about MarkdownReport, err error) {
	doc, err := job.OpenOne(ctx, w, args.Input)
	if err != nil {
		return about, err
	}
	if err := job.CheckPages(doc.Pages); err != nil {
		return about, err
	}

	numbers, err := doc.Resolve(args.Pages)
	if err != nil {
		return about, err
	}

	numbers = withoutRepeats(numbers)
	if _, err := job.Decrypt(ctx, doc); err != nil {
		return about, err
	}
	d := &describer{
		recognizer: recognizer{Document: doc, args: OCRArgs{Languages: args.Languages, Text: true}},
		linked:     doc.Name,
	}

	// Flattening makes fields and comments part of the pages, but removes links.
	flat := *doc
	flat.Name = "flat.pdf"
	if _, err := form.FlattenComments(ctx, doc, flat.Name, "screen"); err == nil {
		d.Document = &flat
	}

	pages, err := d.describe(ctx, numbers)
	if err != nil {
		return about, err
	}
	if err := d.readImages(ctx, numbers, pages); err != nil {
		return about, err
	}

	text, about := d.text(numbers, pages, args.Apart)
	text.PageCount = doc.Pages
	return about, job.WriteJSON(w, "markdown.json", text)
}

// describer reads the content of a document's pages.
type describer struct {
	recognizer

	linked string // the document with its links
}

// describedPage is a page whose text was read.
type describedPage struct {
	pagetext.Page

	source string
	unread bool // its image may have more text
}

// describe reads the text of pages, side by side.
func (d *describer) describe(ctx context.Context, numbers []int) ([]*describedPage, error) {
	pages := make([]*describedPage, len(numbers))
	return pages, job.InRuns(ctx, len(numbers), func(ctx context.Context, run, from, to int) error {
		return d.describeRun(ctx, run, numbers[from:to], pages[from:to])
	})
}

// maxWords is the maximum number of words of a document, which are held in memory.
const maxWords = 3_000_000

// describeRun reads the text of some pages.
func (d *describer) describeRun(ctx context.Context, run int, numbers []int, pages []*describedPage) error {
	prefix := fmt.Sprintf("described-%d-", run)
	input := readPagesInput{Input: d.Name, Linked: d.linked, Output: prefix, Pages: numbers}
	script := fmt.Sprintf("describe-%d.js", run)
	if _, err := job.RunScript[bool](ctx, d.Document, script, dataReadScript, input); err != nil {
		return err
	}

	words := 0
	for i, n := range numbers {
		described, err := job.TakeJSON[scriptPage](d.Document, prefix+strconv.Itoa(n)+".json")
		if err != nil {
			return err
		}
		if words += len(described.Words); words > maxWords {
			return fmt.Errorf("%d words: %w", words, engine.ErrOutputTooLarge)
		}
		pages[i] = described.toPage()
	}

	return nil
}

// toPage converts the page to coordinates from its own top left.
func (s *scriptPage) toPage() *describedPage {
	p := &describedPage{source: fromLayer}
	left := s.Box[0]
	top := s.Box[1]
	box := func(b [4]float64) pagetext.Box {
		return pagetext.Box{Left: b[0] - left, Top: b[1] - top, Right: b[2] - left, Bottom: b[3] - top}
	}

	p.Width = s.Box[2] - left
	p.Height = s.Box[3] - top

	letters := 0
	unknown := 0
	for _, w := range s.Words {
		w.Left -= left
		w.Right -= left
		w.Top -= top
		w.Bottom -= top
		w.Base -= top
		if w.Turn == 1 || w.Turn == 3 {
			w.Base += top - left
		}
		letters += utf8.RuneCountInString(w.Text)
		unknown += strings.Count(w.Text, "\ufffd")
		p.Words = append(p.Words, w.Word)
	}

	for _, r := range s.Rules {
		p.Rules = append(p.Rules, box(r))
	}
	for _, r := range s.Dots {
		p.Dots = append(p.Dots, box(r))
	}
	for _, l := range s.Links {
		p.Links = append(p.Links, pagetext.Link{Box: box(l.Box), URL: l.URL})
	}

	if letters == 0 {
		p.source = fromNothing
	}
	const few = 100 // a stamp or a number on a scan
	p.unread = letters == 0 && (s.Drawn || s.Failed != "") || letters < few && s.Pictured > 0.5 || unknown*3 > letters
	return p
}

// readImages reads the pages without text from their images.
func (d *describer) readImages(ctx context.Context, numbers []int, pages []*describedPage) error {
	var unread []int
	for i, p := range pages {
		if p.unread {
			unread = append(unread, i)
		}
	}
	if len(unread) == 0 || len(d.args.Languages) == 0 {
		return nil
	}

	if len(unread) > maxOCRPages {
		return &job.Error{Kind: job.NoSelection, Text: fmt.Sprintf(
			"include %d pages without text; the limit for OCR is %d. Select fewer pages", len(unread), maxOCRPages,
		)}
	}
	if err := checkLanguages(ctx, d.Work, d.args.Languages); err != nil {
		return err
	}

	var err error
	if d.sizes, err = job.ReadPageSizes(ctx, d.Document, slices.Min(numbers), slices.Max(numbers)); err != nil {
		return err
	}

	group, groupCtx := guard.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	for _, i := range unread {
		group.Go(func() error { return d.readImage(groupCtx, numbers[i], pages[i]) })
	}
	return group.Wait()
}

// readImage reads a page by OCR, and uses the result if it has more than the page's text.
func (d *describer) readImage(ctx context.Context, number int, p *describedPage) error {
	drawn, err := d.drawScan(ctx, number)
	if err != nil {
		return err
	}

	page := &readPage{ReadPage: job.ReadPage{Page: number}}
	if err := d.recognise(ctx, page, drawn); err != nil {
		return err
	}

	letters := 0
	known := 0
	for _, w := range page.words {
		letters += utf8.RuneCountInString(w.text)
	}
	for _, w := range p.Words {
		known += utf8.RuneCountInString(strings.ReplaceAll(w.Text, "\ufffd", ""))
	}

	if letters > known {
		p.source = fromImage
		p.Page = page.set(drawn.perPoint)
	}
	return nil
}

// minConfidence is the confidence below which tesseract takes parts of an image for words.
const minConfidence = 50

// set returns a page that was read from its image in the form of a page with text.
func (p *readPage) set(perPoint float64) (set pagetext.Page) {
	var heights []float64
	for from := 0; from < len(p.words); {
		to := from
		high := 0.0
		bottom := 0.0
		for ; to < len(p.words) && p.words[to].line == p.words[from].line; to++ {
			high = max(high, p.words[to].height)
			bottom = max(bottom, p.words[to].top+p.words[to].height)
		}

		for _, w := range p.words[from:to] {
			if w.confidence < minConfidence {
				continue
			}
			word := pagetext.Word{
				Text: w.text, Size: high / perPoint, Base: (bottom - high/5) / perPoint, Line: len(heights),
				Box: pagetext.Box{
					Left:   w.left / perPoint,
					Top:    w.top / perPoint,
					Right:  (w.left + w.width) / perPoint,
					Bottom: (w.top + w.height) / perPoint,
				},
			}
			set.Words = append(set.Words, word)
			set.Width, set.Height = max(set.Width, word.Right), max(set.Height, word.Bottom)
		}

		heights = append(heights, high/perPoint)
		from = to
	}

	set.Width, set.Height = max(set.Width, p.wide/perPoint), max(set.Height, p.high/perPoint)
	if len(heights) == 0 {
		return set
	}

	// The height of lines depends on letters with ascenders and descenders: lines nearly as high as most of them
	// count as equally high.
	slices.Sort(heights)
	usual := heights[len(heights)/2]
	for i := range set.Words {
		if w := &set.Words[i]; math.Abs(w.Size-usual) < 0.4*usual {
			w.Size = usual
		}
	}
	return set
}

// text puts the text of pages together.
func (d *describer) text(numbers []int, pages []*describedPage, apart bool) (text MarkdownText, about MarkdownReport) {
	set := make([]pagetext.Page, len(pages))
	for i, p := range pages {
		set[i] = p.Page
		set[i].Number = numbers[i]
		set[i].Of = d.Pages
	}
	parts := pagetext.Markdown(set)
	text.Pages = []MarkdownPage{}
	var whole strings.Builder

	for i, n := range numbers {
		page := MarkdownPage{Page: n, Source: pages[i].source}
		switch {
		case parts[i] == "":
			page.Source = fromNothing
			about.Empty = append(about.Empty, n)
			if pages[i].unread {
				about.Unread = append(about.Unread, n)
			}
		case page.Source == fromImage:
			about.Read = append(about.Read, n)
		}

		if apart {
			page.Markdown = parts[i]
		} else {
			if whole.Len() > 0 {
				whole.WriteString("\n")
			}
			fmt.Fprintf(&whole, "<!-- page %d -->\n", n)
			if parts[i] != "" {
				whole.WriteString("\n" + parts[i] + "\n")
			}
		}
		text.Pages = append(text.Pages, page)
	}

	text.Markdown = whole.String()
	return text, about
}
