package render

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/markup"
	"github.com/relaypdf/relaypdf/render/office"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/pdftag"
	"github.com/relaypdf/relaypdf/render/spool"
)

// convertDPI is the resolution of pages that become images.
const convertDPI = 150

// Conversion is a document to convert.
type Conversion struct {
	Content engine.Content
	// Name is the document's file name. Its extension distinguishes kinds of text.
	Name string
	// Password opens the document.
	Password string
	To       office.Target
	// Print holds the settings of a PDF result.
	Print ConvertPrint
	// Results selects which stored results of the document are calculated again.
	Results office.Results
	// Markdown holds the print settings of Markdown that becomes a PDF or images. Nil means the document's own
	// paper size, or else Letter.
	Markdown *MarkdownPrint
	// AllowHTML has the meaning of Source.AllowHTML.
	AllowHTML bool
	// Formulas has the meaning of Source.Formulas.
	Formulas *bool
	// Assets are the files that HTML and Markdown refer to by relative links.
	Assets []chrome.Asset
	// Address is the URL that the document was fetched from, and the base of its relative links if there are no
	// assets. It is empty for a document that was sent in the request.
	Address string
	// TestMark draws the test mark on images of pages. PDFs are marked afterwards.
	TestMark bool
}

// ConvertPrint holds the settings of the PDF.
type ConvertPrint struct {
	office.Print
	// PageRanges selects pages, in the grammar of CheckPageRanges; empty means all.
	PageRanges string
	// Password is required to open the PDF; empty means no password.
	Password string
	Metadata pdffile.Info
	// Standards and StandardsStrict are those of PDF. A document whose own front matter has standards conforms to
	// those if there are none here.
	Standards       []pdffile.Standard
	StandardsStrict bool
}

// MarkdownPrint holds the settings with which a browser prints Markdown.
type MarkdownPrint struct {
	PDF
	Media string // as in Page
}

// Converted is the result of a conversion.
type Converted struct {
	// Body must be closed.
	Body *spool.File
	// Archive is true if Body is a ZIP archive of several images.
	Archive bool
	// TestMark is true if the images have the test mark.
	TestMark bool
	// Warnings are the problems inside the document.
	Warnings []chrome.Warning
}

// AdmitConvert returns the *chrome.BusyError that Convert would return now because the queue is full, or nil.
func (a *Account) AdmitConvert() error { return convertError(a.render.office.Admit(a.id)) }

// WarmConvert starts the LibreOffice processes in the background, so that the first document does not wait for
// them. The error matches office.ErrUnavailable if LibreOffice is not installed.
func (r *Renderer) WarmConvert() error {
	if r.behind.cfg.NoOffice {
		return nil
	}
	return r.office.Warm()
}

// Convert converts a document with LibreOffice, or with another engine for kinds of files that LibreOffice does not
// read. Errors are *office.Error, *office.PairError, *job.Error (of PDFs and images), *chrome.BusyError,
// office.ErrUnavailable, *chrome.LimitError, chrome.ErrClosed and the error of ctx, which limits the conversion.
func (a *Account) Convert(ctx context.Context, c Conversion) (Converted, error) {
	source, err := office.Sniff(c.Content.Open(), c.Name)
	if err != nil {
		return Converted{}, err
	}
	if err := source.Check(c.To); err != nil {
		return Converted{}, err
	}

	if len(c.Assets) > 0 && !isPage(source) {
		return Converted{}, &office.Error{Reason: office.NotPage}
	}
	if c.To == office.ToPDF {
		return convertToPDF(ctx, a, c, source)
	}
	if isPage(source) && c.To != office.ToPNG {
		return convertWeb(ctx, a, c, source)
	}
	if c.To == office.ToPNG || c.To == office.ToHTML && source.Kind.Drawn() {
		return a.convertPages(ctx, c, source)
	}

	made, err := a.convertFile(ctx, c, source)
	var pair *office.PairError
	if errors.As(err, &pair) && c.To == office.ToHTML && pair.Kind.Drawn() {
		return a.convertPages(ctx, c, source) // the kind was found only during the conversion
	}
	return made, err
}

// isPage reports whether a browser renders the document for its PDF.
func isPage(source office.Source) bool {
	return source.Format == office.FormatHTML || source.Format == office.FormatMarkdown
}

// prepareStandards sets what a PDF needs to conform to its standards, which may be those of the front matter. False
// means that it has none.
func (c *Conversion) prepareStandards(source office.Source) (bool, error) {
	how := &c.Print
	page := isPage(source)
	if page && c.Markdown != nil && len(how.Standards) == 0 {
		how.Standards = c.Markdown.Standards
		how.StandardsStrict = c.Markdown.StandardsStrict
	}

	if len(how.Standards) == 0 {
		return false, nil
	}
	if source.Kind == office.KindImage {
		return false, &office.Error{Reason: office.Unstructured}
	}

	if how.Tagged = true; !page && slices.Contains(how.Standards, pdffile.A1B) {
		how.PDFA = 1 // LibreOffice flattens transparency
	}
	return true, nil
}

// convertToPDF converts a document to a PDF, and applies the requested print settings.
func convertToPDF(ctx context.Context, a *Account, c Conversion, source office.Source) (_ Converted, err error) {
	how := &c.Print
	page := isPage(source)
	claims, err := c.prepareStandards(source)
	if err != nil {
		return Converted{}, err
	}

	made, err := a.convertFile(ctx, c, source)
	selected := page && claims // by the browser
	if err == nil && how.PageRanges != "" && !selected {
		whole := made.Body
		file := PDFFile{Content: whole}
		// The structure has each content once.
		selection := pdf.Selection{Input: file.Input(), Pages: how.PageRanges, Once: claims}
		made.Body, err = RunFile(ctx, a, pdf.ExtractJob, selection, file.File())
		err = errors.Join(err, whole.Close())
	}

	if err == nil && !page && how.Metadata != (pdffile.Info{}) {
		made.Body, err = a.SetPDFInfo(ctx, made.Body, "", how.Metadata)
	}

	if err == nil && !page && claims {
		var faults []chrome.Warning
		made.Body, faults, err = a.conformPDF(
			ctx, made.Body, nil, pdftag.Options{Standards: how.Standards, Office: true}, how.StandardsStrict,
		)
		made.Warnings = append(made.Warnings, faults...)
	}

	if err == nil && c.Print.Password != "" {
		open := made.Body
		file := PDFFile{Content: open}
		args := pdf.ProtectArgs{
			Input:         file.Input(),
			UserPassword:  c.Print.Password,
			OwnerPassword: rand.Text(),
			Allow:         everything,
		}
		made.Body, err = RunFile(ctx, a, pdf.ProtectJob, args, file.File())
		err = errors.Join(err, open.Close())
	}

	return made, err
}

// everything holds all permissions: readers who can open a protected result may do anything with it.
var everything = pdf.Permissions{
	Print:    true,
	HighRes:  true,
	Copy:     true,
	Modify:   true,
	Annotate: true,
	Fill:     true,
	Assemble: true,
}

// pageSizes returns the displayed sizes of a PDF's pages.
func pageSizes(ctx context.Context, a *Account, file PDFFile) ([]office.PageSize, error) {
	about, err := a.DescribePDF(ctx, file)
	if err != nil {
		return nil, err
	}

	const perPoint = 2540.0 / 72
	sizes := make([]office.PageSize, len(about.Pages))
	for i, page := range about.Pages {
		width := int(page.Width*perPoint + 0.5)
		height := int(page.Height*perPoint + 0.5)
		if page.Rotation%180 != 0 {
			width, height = height, width
		}
		sizes[i] = office.PageSize{width, height}
	}
	return sizes, nil
}

// convertMargin is the margin of HTML that becomes a PDF, in inches, on each side for which the page's own @page
// has no margin.
const convertMargin = 0.75

// TextOf returns the content of a document, with its text in UTF-8 if that is in UTF-16 with a byte order mark or in
// the charset that its server names.
func TextOf(content engine.Content, name, charset string) (engine.Content, error) {
	text, err := office.Decode(content, name, charset)
	if err != nil || text == nil {
		return content, err
	}
	return spool.FromBytes(text), nil
}

// FrontMatterOf reads the front matter of a document with that name. The result is empty if the document is not
// Markdown. Errors are those of ReadFrontMatter, those of reading the content, and a *office.Error for a document
// of an unknown kind.
func FrontMatterOf(content engine.Content, name string) (markup.FrontMatter, error) {
	source, err := office.Sniff(content.Open(), name)
	if err != nil || source.Format != office.FormatMarkdown {
		return markup.FrontMatter{}, err
	}
	head, err := io.ReadAll(io.LimitReader(content.Open(), markup.FrontMatterHead))
	if err != nil {
		return markup.FrontMatter{}, fmt.Errorf("read the front matter: %w", err)
	}
	return ReadFrontMatter(string(head))
}

// printText makes a PDF of HTML or Markdown with the browser.
func printText(ctx context.Context, a *Account, c Conversion, source office.Source) (Converted, error) {
	text, err := io.ReadAll(c.Content.Open())
	if err != nil {
		return Converted{}, fmt.Errorf("read the source: %w", err)
	}

	how := MarkdownPrint{PDF: PDF{PrintBackground: true, PreferCSSPageSize: true}}
	src := Source{Markdown: string(text), AllowHTML: c.AllowHTML, Formulas: c.Formulas}

	switch {
	case source.Format == office.FormatHTML:
		margin := convertMargin
		src = Source{HTML: office.PageText(text)}
		how.Margin = Margin{Top: &margin, Right: &margin, Bottom: &margin, Left: &margin}
	case c.Markdown != nil:
		how = *c.Markdown
	}

	if c.Print.Landscape != nil {
		how.Landscape = *c.Print.Landscape
	}

	if c.Print.PageRanges != "" {
		how.PageRanges = "" // pages are selected from the whole document
	}

	how.Standards = c.Print.Standards
	how.StandardsStrict = c.Print.StandardsStrict
	if len(how.Standards) > 0 && c.Print.PageRanges != "" {
		how.PageRanges = c.Print.PageRanges // a selection afterwards would break what the file claims
	}

	how.Metadata = c.Print.Metadata.Or(how.Metadata)
	src.Assets = c.Assets
	doc, err := a.PDF(ctx, src, PageSettings{Media: how.Media}, how.PDF)
	return Converted{Body: doc.Body, Warnings: doc.Warnings}, err
}

// convertFile converts a document with LibreOffice, or to a PDF of images.
func (a *Account) convertFile(ctx context.Context, c Conversion, source office.Source) (made Converted, err error) {
	if c.To == office.ToPDF && isPage(source) {
		if c.Print.PDFA != 0 {
			return made, &office.Error{Reason: office.NotOffice}
		}
		return printText(ctx, a, c, source)
	}
	if a.render.behind.cfg.NoOffice && source.Kind != office.KindImage {
		return made, office.ErrUnavailable
	}

	var sizes []office.PageSize
	switch source.Kind {
	case office.KindImage:
		if c.Print.PDFA != 0 {
			return made, &office.Error{Reason: office.NotOffice}
		}
		body, omitted, err := a.PDFFromImages(ctx, []engine.Content{c.Content}, images.FromImagesArgs{})
		if len(omitted) > 0 {
			made.Warnings = []chrome.Warning{OmittedPictures("the file")}
		}
		made.Body = body
		return made, err
	case office.KindPDF:
		// LibreOffice reports no usable error for a damaged PDF.
		plain, err := a.plainPDF(ctx, PDFFile{Content: c.Content, Password: c.Password})
		if err != nil {
			return made, err
		}
		defer func() { err = errors.Join(err, plain.Close()) }()
		c.Content = plain
		c.Password = ""
		if sizes, err = pageSizes(ctx, a, PDFFile{Content: plain}); err != nil {
			return made, err
		}
	}

	made, err = a.convertLinked(ctx, office.Conversion{
		Account: a.id, Content: c.Content, Source: source, Name: c.Name, Results: c.Results, To: c.To, Password: c.Password, MaxPages: MaxPages, MaxBytes: MaxBytes,
		Print: c.Print.Print, PageSizes: sizes, Observe: a.render.observer(ctx),
	})

	if err == nil && c.Print.PDFA != 0 && len(c.Print.Standards) == 0 {
		if err = archived(ctx, a, made.Body, c.Print.PDFA); err != nil {
			err = errors.Join(err, made.Body.Close())
		}
	}
	return made, convertError(err)
}

// convertLinked has LibreOffice convert a document. LibreOffice has no network: images that a Word document links
// to are fetched here, like those of a page, and passed to it.
func (a *Account) convertLinked(ctx context.Context, c office.Conversion) (made Converted, err error) {
	body, about, err := a.render.office.Convert(ctx, c)
	p := pageFetch{
		account:    a,
		fetchUntil: time.Now().Add(maxFetchTime),
		args:       office.PageArgs{Files: map[string]string{}},
	}

	defer func() { err = errors.Join(err, p.close()) }()
	if err == nil && len(about.Missing) > 0 {
		if err := p.fetchAll(ctx, about.Missing); err != nil {
			return made, err
		}
		c.Linked = p.args.Files
		c.Files = p.fetched
		body, about, err = a.render.office.Convert(ctx, c)
	}

	for _, address := range about.Nowhere {
		p.lacks(address, "was omitted: the URL is not a public image")
	}

	for _, w := range about.Warnings {
		p.lacking = append(p.lacking, chrome.Warning{Code: w.Code, Message: w.Message}.Bounded())
	}
	return Converted{Body: body, Warnings: p.lacking[:min(len(p.lacking), chrome.MaxWarnings)]}, err
}

// archived returns an error unless LibreOffice's result conforms to a level of PDF/A, checked by the same rules as
// the result of PDFPages.Archive.
func archived(ctx context.Context, a *Account, content engine.Content, level int) error {
	file := PDFFile{Content: content}
	args := archive.CheckArgs{Input: file.Input(), Level: archive.Level(strconv.Itoa(level) + "b")}
	_, err := RunValue(ctx, a, archive.ClaimJob, args, file.File())
	return err
}

// convertPages converts a document to a PDF, and renders the pages of the PDF.
func (a *Account) convertPages(ctx context.Context, c Conversion, source office.Source) (made Converted, err error) {
	file := PDFFile{Content: c.Content, Password: c.Password}
	if source.Kind != office.KindPDF {
		toPDF := c
		toPDF.To = office.ToPDF
		pages, err := a.convertFile(ctx, toPDF, source)
		if err != nil {
			return made, err
		}
		defer func() { err = errors.Join(err, pages.Body.Close()) }()
		file = PDFFile{Content: pages.Body}
		made.Warnings = pages.Warnings
	}

	if c.To == office.ToHTML {
		made.Body, err = a.drawHTML(ctx, file, c.Name)
		return made, err
	}

	how := pdf.RasterArgs{DPI: convertDPI, TestMark: c.TestMark}
	if source.Kind == office.KindImage {
		if how.DPI, err = a.resolution(ctx, file); err != nil {
			return Converted{}, err
		}
	}

	made.Body, made.Archive, err = a.RasterPages(ctx, file, how)
	made.TestMark = how.TestMark
	return made, err
}

// resolution returns the pixels per inch at which the page of an image has exactly the image's own pixels.
func (a *Account) resolution(ctx context.Context, file PDFFile) (dpi int, err error) {
	result, err := a.runEngine(ctx, engine.Job{
		Name: office.ResolutionJob, Time: engine.ReadTime, Args: inputName, Files: []engine.File{{Name: inputName, Content: file.Content}},
	})
	if err != nil {
		return 0, convertError(err)
	}
	return strconv.Atoi(string(result.Body))
}

// drawHTML makes an HTML document of the pages of a PDF.
func (a *Account) drawHTML(ctx context.Context, file PDFFile, name string) (_ *spool.File, err error) {
	plain, err := a.plainPDF(ctx, file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, plain.Close()) }()
	title := cmp.Or(strings.TrimSuffix(path.Base(name), path.Ext(name)), "Document")

	result, err := a.runEngine(ctx, engine.Job{
		Name: office.PagesHTMLJob, Args: office.PagesHTMLArgs{Input: inputName, Title: title, MaxBytes: MaxBytes},
		Files: []engine.File{{Name: inputName, Content: plain}},
	})
	if err != nil {
		return nil, convertError(err)
	}
	return result.Output(0), nil
}

// convertWeb converts HTML or Markdown. It first makes HTML with every referenced file embedded.
func convertWeb(ctx context.Context, a *Account, c Conversion, source office.Source) (made Converted, err error) {
	if a.render.behind.cfg.NoOffice && c.To != office.ToHTML {
		return made, office.ErrUnavailable
	}
	if source.Format == office.FormatMarkdown {
		text, err := io.ReadAll(c.Content.Open())
		if err != nil {
			return made, fmt.Errorf("read the source: %w", err)
		}
		doc, err := a.convert(
			ctx, string(text), markup.MarkdownOptions{AllowHTML: c.AllowHTML, Formulas: c.Formulas},
			a.render.timeout,
		)
		if err != nil {
			return made, err
		}
		if made.Warnings = faultsOf(doc); c.To != office.ToHTML {
			doc.HTML = office.SimplifyHTML(doc.HTML)
		}
		c.Content = spool.FromBytes(doc.HTML)
	}
	whole, warnings, err := a.embed(ctx, c)
	made.Warnings = append(made.Warnings, warnings...)
	if err != nil {
		return made, err
	}
	if c.To == office.ToHTML {
		made.Body = whole
		return made, nil
	}
	defer func() { err = errors.Join(err, whole.Close()) }()
	c.Content = whole
	document, err := a.convertFile(ctx, c, office.Source{Kind: office.KindWeb, Format: office.FormatHTML})
	made.Body = document.Body
	return made, err
}

// convertError maps the errors of package office to those of this package.
func convertError(err error) error {
	var failed *office.Error
	var tool *job.Error
	var late *engine.TimeoutError
	err = job.FromJob(office.FromJob(err))
	switch {
	case errors.As(err, &late):
		return late
	case errors.Is(err, office.ErrClosed):
		return chrome.ErrClosed
	case errors.Is(err, engine.ErrOutputTooLarge):
		return &chrome.LimitError{What: "bytes", Max: MaxBytes}
	case errors.As(err, &failed) && failed.Reason == office.TooManyPages:
		return &chrome.LimitError{What: "pages", Max: int64(failed.Max)}
	case errors.As(err, &tool) && tool.Kind == job.Exhausted:
		return &office.Error{Reason: office.Exhausted, Detail: err.Error()}
	case errors.As(err, &tool) && tool.Kind == job.BrokenStructure:
		return &office.Error{Reason: office.Unsound, Detail: err.Error()}
	}
	return err
}
