package chrome

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/go-rod/rod/lib/proto"

	"github.com/relaypdf/relaypdf/render/pagerange"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/spool"
)

const (
	// readSize is the size of one read from the browser's print stream.
	readSize = 1 << 20
	// directHTML is the size up to which a document without script is fetched
	// in one message instead of a stream: that saves a tenth of the time, and
	// such a document cannot grow into a large PDF.
	directHTML = 256 << 10

	// The transfer modes of a printed file.
	asData   = "ReturnAsBase64"
	asStream = "ReturnAsStream"
)

// largePrint reports whether a document without script may print as a large
// file, which has to be read in parts.
func largePrint(html string) bool { return len(html) > directHTML || drawsPixels(html) }

// drawsPixels reports whether a document can make the browser compute an image, whose size
// its text does not show. A backslash can hide any name in a style.
func drawsPixels(html string) bool {
	return containsAny(html,
		"filter", "feturb", "shadow", "mask", "blend", "gradient", "pattern", "opacity", "image", "\\", "&#")
}

// maxDirectPage is the highest page that is asked for without counting first.
// It bounds the list of pages made for a document that may have only one.
const maxDirectPage = 2000

// printToPDF are the parameters of Page.printToPDF. Rod's own struct omits
// false values, and Chromium takes an absent generateTaggedPDF for true, which
// doubles the time and size of a large document.
type printToPDF struct {
	Landscape           bool    `json:"landscape"`
	DisplayHeaderFooter bool    `json:"displayHeaderFooter"`
	PrintBackground     bool    `json:"printBackground"`
	Scale               float64 `json:"scale"`
	PaperWidth          float64 `json:"paperWidth"`
	PaperHeight         float64 `json:"paperHeight"`
	MarginTop           float64 `json:"marginTop"`
	MarginBottom        float64 `json:"marginBottom"`
	MarginLeft          float64 `json:"marginLeft"`
	MarginRight         float64 `json:"marginRight"`
	PageRanges          string  `json:"pageRanges"`
	HeaderTemplate      string  `json:"headerTemplate,omitempty"`
	FooterTemplate      string  `json:"footerTemplate,omitempty"`
	PreferCSSPageSize   bool    `json:"preferCSSPageSize"`
	TransferMode        string  `json:"transferMode"`
	Tagged              bool    `json:"generateTaggedPDF"`
	Outline             bool    `json:"generateDocumentOutline"`
}

// ProtoReq implements request.
func (printToPDF) ProtoReq() string { return "Page.printToPDF" }

// normalized sets the defaults and checks values that Chromium would refuse.
func (o PDF) normalized() (PDF, error) {
	if o.Width == 0 || o.Height == 0 {
		o.Width = 8.5
		o.Height = 11
	}
	if o.Scale == 0 {
		o.Scale = 1
	}

	width := o.Width
	height := o.Height
	if o.Landscape {
		width, height = height, width
	}
	if o.MarginLeft+o.MarginRight >= width || o.MarginTop+o.MarginBottom >= height {
		return o, ErrNoContentArea
	}

	for name, template := range map[string]string{"header": o.Header, "footer": o.Footer} {
		if loads(withoutLoads(template)) {
			return o, &HeaderError{Name: name}
		}
	}
	return o, nil
}

// cssPerInch is the number of CSS pixels per inch.
const cssPerInch = 96

// window returns the size of the window in which a document with script is loaded. It is the content area of the
// paper, so that scripts measure and draw the same layout that is printed. Without script, the size matters only if
// the text may be cut off.
func (o PDF) window(job Job) Viewport {
	width := o.Width
	height := o.Height
	if o.Landscape {
		width, height = height, width
	}

	pixels := func(inches float64) int { return max(1, int(math.Round(inches*cssPerInch/o.Scale))) }
	window := Viewport{
		Width:  pixels(width - o.MarginLeft - o.MarginRight),
		Height: pixels(height - o.MarginTop - o.MarginBottom),
		Scale:  1,
	}
	if job.RenderMode == ModeInline && !mayClip(job.HTML) && !mayOverflow(job.HTML, int(float64(window.Width)*maxShrink)) {
		return Viewport{}
	}
	return window
}

func (o PDF) params(ranges string, stream bool) printToPDF {
	p := printToPDF{
		Landscape: o.Landscape, PrintBackground: o.PrintBackground, PreferCSSPageSize: o.PreferCSSPageSize,
		Scale: o.Scale, PaperWidth: o.Width, PaperHeight: o.Height,
		MarginTop: o.MarginTop, MarginBottom: o.MarginBottom, MarginLeft: o.MarginLeft, MarginRight: o.MarginRight,
		PageRanges: ranges, TransferMode: asData,
		// Chromium makes the outline from the tags: without them it leaves it out.
		Tagged: o.Tagged || o.Outline, Outline: o.Outline,
	}

	if stream {
		p.TransferMode = asStream
	}
	p.HeaderTemplate, p.FooterTemplate, p.DisplayHeaderFooter = o.templates()
	return p
}

// printer prints the document that a page shows.
type printer struct {
	page   *tab
	opt    PDF
	ranges pageRanges
	dir    string // for spool files
	stream bool
}

// stopLoading ends requests that the job's wait condition left open: Chromium
// prints no earlier than the load event.
func (t *tab) stopLoading(ctx context.Context) error {
	t.mu.Lock()
	done := t.load.done
	t.mu.Unlock()
	if done {
		return nil
	}
	return t.call(ctx, proto.PageStopLoading{}, nil)
}

// selection prints the selected pages. Chromium only takes page numbers, and does
// not mind those beyond the end, so a selection that depends on the length is
// printed twice: first whole, to count.
func (p printer) selection(ctx context.Context) (PrintedPDF, error) {
	if err := p.page.stopLoading(ctx); err != nil {
		return PrintedPDF{}, err
	}
	if p.ranges == nil {
		return p.once(ctx, "")
	}

	if last, named := pagerange.Selection(p.ranges).Last(); named && last <= maxDirectPage {
		pages, _ := p.ranges.resolve(last)
		doc, err := p.once(ctx, formatPages(pages))
		if err == nil && doc.Pages == len(pages) {
			return doc, nil
		}

		var refused *protocolError
		if err != nil && !errors.As(err, &refused) {
			return PrintedPDF{}, err
		}
		if err == nil {
			if err := doc.Body.Close(); err != nil {
				return PrintedPDF{}, err
			}
		}
	}

	whole, err := p.once(ctx, "")
	if err != nil {
		return PrintedPDF{}, err
	}

	pages, ok := p.ranges.resolve(whole.Pages)
	if ok && len(pages) == whole.Pages {
		return whole, nil
	}

	if err := whole.Body.Close(); err != nil {
		return PrintedPDF{}, err
	}
	if !ok {
		return PrintedPDF{}, &PageRangeError{Ranges: p.opt.PageRanges, Pages: whole.Pages}
	}
	return p.once(ctx, formatPages(pages))
}

// once prints and counts.
func (p printer) once(ctx context.Context, ranges string) (doc PrintedPDF, err error) {
	body := spool.New(p.dir, p.opt.MaxBytes)
	defer func() {
		if err != nil {
			err = errors.Join(err, body.Close())
		}
	}()

	if err := p.transfer(ctx, p.opt.params(ranges, p.stream), body); err != nil {
		if errors.Is(err, spool.ErrTooLarge) {
			err = &LimitError{What: "bytes", Max: p.opt.MaxBytes}
		}
		return PrintedPDF{}, outputFailure(err)
	}

	pages, err := countPages(body)
	if err != nil {
		return PrintedPDF{}, err
	}

	p.page.pages += pages
	if p.opt.MaxPages > 0 && pages > p.opt.MaxPages {
		return PrintedPDF{}, &LimitError{What: "pages", Max: int64(p.opt.MaxPages)}
	}
	return PrintedPDF{Body: body, Pages: pages}, nil
}

// countPages returns the number of pages of the printed file.
func countPages(body *spool.File) (int, error) {
	f, err := pdffile.ReadChromium(body.Open(), body.Size())
	if err != nil {
		return 0, fmt.Errorf("chrome: count pages: %w", err)
	}

	n, err := f.Pages()
	if err != nil {
		return 0, fmt.Errorf("chrome: count pages: %w", err)
	}
	return n, nil
}

// transfer prints and writes the file to w.
func (p printer) transfer(ctx context.Context, params printToPDF, w io.Writer) error {
	// Printing a page whose renderer has crashed kills the whole browser; ctx
	// has ended when that was reported.
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if params.TransferMode == asData {
		return p.page.callData(ctx, params, w)
	}

	var out struct {
		Stream proto.IOStreamHandle `json:"stream"`
	}
	if err := p.page.call(ctx, params, &out); err != nil {
		return err
	}

	defer p.page.post(proto.IOClose{Handle: out.Stream})
	return p.page.drain(ctx, out.Stream, w)
}

// drain copies a stream of the browser to w. It asks for the next part before
// the last one has arrived: small files end in one round trip that way, because
// only the read after the last byte reports the end.
func (t *tab) drain(ctx context.Context, stream proto.IOStreamHandle, w io.Writer) error {
	size := readSize
	read := proto.IORead{Handle: stream, Size: &size}
	next, err := t.conn.send(t.id, read)
	if err != nil {
		return err
	}

	for {
		current := next
		if next, err = t.conn.send(t.id, read); err != nil {
			return err
		}

		var chunk struct {
			Data []byte `json:"data"` // PDF streams are always in Base64.
			EOF  bool   `json:"eof"`
		}
		if err := current.wait(ctx, &chunk); err != nil {
			return err
		}
		if _, err := w.Write(chunk.Data); err != nil {
			return err
		}

		if chunk.EOF {
			next.abandon()
			return nil
		}
	}
}
