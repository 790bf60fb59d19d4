// Package operation defines the operations: the operation table, their inputs, and the functions that run them.
package operation

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"relaypdf/api/apierror"
	"relaypdf/api/schema"
	"relaypdf/render"
	"relaypdf/render/chrome"
	"relaypdf/render/egress"
	"relaypdf/render/office"
	"relaypdf/render/pdf"
	"relaypdf/store/credit"
)

// Deps is the environment of an operation's run.
type Deps struct {
	// Render works for the account that pays. Nothing of one account's documents
	// is within reach of another's.
	Render *render.Account
	// Templates are the account's.
	Templates Templates
	// MaxFile is the maximum size of one file in bytes, from any source.
	MaxFile int64
	// takesEmpty allows URLs that lead to empty files.
	takesEmpty bool
	// Stored opens an upload or an earlier result of the account, which the caller closes. It returns
	// store.ErrNotFound if the account has no such file.
	Stored func(ctx context.Context, id string) (schema.Body, error)
	// Held is the amount held for the call: its maximum price.
	Held credit.Amount
	// AI is the model; nil without a provider.
	AI *AI
	// Prices holds the prices of all operations by name.
	Prices map[string]credit.Amount
	// Quotes are the account's.
	Quotes Quotes
	// NoOCR means that this server runs without the OCR engine.
	NoOCR bool
	// View is the output of templates.preview. Calls have Printed.
	View View
}

// The heavy programs that a server may run without.
const (
	EngineOffice      = "office"
	EngineOCR         = "ocr"
	EngineGhostscript = "ghostscript"
)

// Engines are all of these.
var Engines = []string{EngineOffice, EngineOCR, EngineGhostscript}

// View is the kind of output of a template's preview.
type View int

const (
	// Printed is a PDF.
	Printed View = iota
	// Filled is the HTML alone, as the result's JSON.
	Filled
	// Placed is a PDF with the positions of the template's elements.
	Placed
)

// admit returns the error with which the browser would turn the account away now.
func (e *Deps) admit() error {
	if e.Render == nil {
		return nil
	}
	return e.Render.Admit()
}

type row[In any] = schema.Spec[*Deps, In]

// Rows is the product on one screen: paths, tools, commands, prices,
// documentation and forms all derive from these rows.
var Rows = []schema.Row[*Deps]{
	row[PDFInput]{
		Info: schema.Info{
			Name: "pdf.create", Summary: "Make a PDF from HTML, a web page, Markdown or a template",
			Use:   "Use it for any new document: invoices, letters, reports, tickets, a web page as PDF. Give exactly one of html, url, markdown or templateId; for a layout that is filled again and again store a template and give templateId with templateData.",
			Price: 2000 * credit.Microdollar, Produces: []string{"application/pdf"},
			Warns: true,
		},
		Example: PDFInput{
			HTML:    new("<h1>Invoice 42</h1><p>Total: 99.00 EUR</p>"),
			Options: PDFOptions{Format: "A4", Margin: Margin{Top: Length{"20mm"}, Bottom: Length{"20mm"}}},
		},
		Run: runPDF,
	},
	row[PreviewInput]{
		Info: schema.Info{
			Name: "templates.preview", Summary: "Preview a template's draft, or one that is not stored, as a PDF",
			Use:   "Use it to look at a template while you write it, before it is published.",
			Price: 2000 * credit.Microdollar, Produces: []string{"application/pdf"},
			Warns: true,
		},
		Example: PreviewInput{
			HTML: new("<h1>{{title}}</h1>{{#each items}}<p>{{this}}</p>{{/each}}"), SampleData: schema.Object{RawMessage: []byte(`{"title":"Invoice 42","items":["Pen","Ink"]}`)},
		},
		Run: runPreview,
	},
	row[GenerateInput]{
		Info: schema.Info{
			Name: "templates.generate", Summary: "Generate a template with a language model",
			Use:   "Use it when somebody describes a document in words and there is no template yet; store what comes out with templates_create. If you can write HTML yourself, pdf_create is cheaper.",
			Price: 2000 * credit.Microdollar, PriceNote: "Plus 8 times what the provider takes for the tokens, plus one pdf.create. Ask for a fixed price with quote: true.",
			Produces: []string{"application/json"}, Answer: reflect.TypeFor[GeneratedTemplate](), Codes: []string{string(apierror.AIUnavailable)},
		},
		Example: GenerateInput{Prompt: "A delivery note with our logo at the top, the customer's address and a table of items", Options: PDFOptions{Format: "A4"}},
		Run:     runGenerate,
	},
	row[ImageInput]{
		Info: schema.Info{
			Name: "images.create", Summary: "Make an image of HTML, a web page or a template",
			Use:   "Use it for screenshots of web pages, social cards and pictures of HTML. For pages of an existing PDF take pdf_raster.",
			Price: 1500 * credit.Microdollar, Produces: []string{"image/png", "image/jpeg", "image/webp"},
			Warns: true,
		},
		Example: ImageInput{
			HTML:    new("<h1>Hello</h1>"),
			Options: ImageOptions{Viewport: Viewport{Width: 1200, Height: 630}},
		},
		Run: runImage,
	},
	row[ConvertImageInput]{
		Info: schema.Info{
			Name: "images.convert", Summary: "Convert or resize an image",
			Use:   "Use it for pictures.",
			Price: toolPrice, Produces: []string{"image/png", "image/jpeg", "image/webp", "image/tiff", "image/gif"}, Warns: true,
		},
		Example: ConvertImageInput{FileSource: FileSource{File: schema.NewFile([]byte(examplePNG))}, To: "png", Width: 64},
		Run:     runConvertImage,
	},
	row[MergeInput]{
		Info:    pdfTool("pdf.merge", "Merge PDFs in order", "Use it to join 2 to 20 PDFs into one."),
		Example: MergeInput{Files: []MergeFile{{FileItem: exampleFile("one.pdf")}, {FileItem: exampleFile("two.pdf")}}},
		Run:     described(runMerge),
	},
	row[ExtractInput]{
		Info:    pdfTool("pdf.extract", "Extract pages of a PDF, in any order", "Use it to keep, reorder or repeat pages. To drop a few pages take pdf_delete_pages."),
		Example: ExtractInput{PDFSource: examplePDF(), Pages: SelectPages("2,1")},
		Run:     described(runExtract),
	},
	row[ProtectInput]{
		Info:    pdfTool("pdf.protect", "Encrypt a PDF with a password", "Use it to require a password, or to forbid printing or copying."),
		Example: ProtectInput{PDFSource: examplePDF(), UserPassword: "correct horse", Permissions: Permissions{Copy: new(false)}},
		Run:     described(runProtect),
	},
	row[UnlockInput]{
		Info:    pdfTool("pdf.unlock", "Decrypt a PDF", "Use it to remove a password that you know. It cannot guess one."),
		Example: UnlockInput{FileSource: examplePDF().FileSource, Password: "correct horse"},
		Run:     described(runUnlock),
	},
	row[BookmarksInput]{
		Info: pdfTool("pdf.bookmarks", "Add bookmarks to a PDF", "Use it to give a long PDF an outline to navigate by."),
		Example: BookmarksInput{PDFSource: examplePDF(), Bookmarks: Bookmarks{
			{Title: "Report", Page: 1, Children: Bookmarks{{Title: "Figures", Page: 2}}},
		}},
		Run: described(runBookmarks),
	},
	row[RotateInput]{
		Info:    pdfTool("pdf.rotate", "Rotate pages of a PDF", "Use it when pages lie on their side."),
		Example: RotateInput{PDFSource: examplePDF(), Degrees: 90, Pages: SelectPages("even")},
		Run:     described(runRotate),
	},
	row[DeletePagesInput]{
		Info:    pdfTool("pdf.delete-pages", "Delete pages of a PDF", "Use it to remove pages and keep the rest as it is."),
		Example: DeletePagesInput{PDFSource: examplePDF(), Pages: SelectPages("last")},
		Run:     described(runDeletePages),
	},
	row[CompressInput]{
		Info:    pdfTool("pdf.compress", "Compress a PDF without loss", "Use it when a PDF is too large to send."),
		Example: CompressInput{PDFFileInput: PDFFileInput{PDFSource: examplePDF()}},
		Run:     described(runCompress),
	},
	row[OptimizeInput]{
		Info:    pdfTool("pdf.optimize", "Optimize a PDF for size and the web", "Use it for PDFs on the web."),
		Example: OptimizeInput{PDFFileInput: PDFFileInput{PDFSource: exampleScan()}, MaxImageDPI: 150, ImageQuality: 75},
		Run:     described(runOptimize),
	},
	row[CompressAdvancedInput]{
		Info:    pdfTool("pdf.compress-advanced", "Compress a PDF by reducing its images", "Use it where pdf_compress leaves too much."),
		Example: CompressAdvancedInput{PDFFileInput: PDFFileInput{PDFSource: exampleScan()}, Level: "high"},
		Run:     described(runCompressAdvanced),
	},
	row[PDFFileInput]{
		Info: schema.Info{
			Name: "pdf.info", Summary: "Read the metadata, the page sizes and the permissions of a PDF",
			Use:   "Use it first when you know nothing of a PDF.",
			Price: toolPrice, Produces: []string{"application/json"}, Answer: reflect.TypeFor[pdf.Info](),
		},
		Example: PDFFileInput{PDFSource: examplePDF()},
		Run:     runInfo,
	},
	row[RepairInput]{
		Info:    pdfTool("pdf.repair", "Repair a damaged PDF", "Use it when a PDF does not open, or other tools call it damaged. What cannot be read of it is lost."),
		Example: RepairInput{PDFFileInput: PDFFileInput{PDFSource: examplePDF()}},
		Run:     described(runRepair),
	},
	row[CropInput]{
		Info:    pdfTool("pdf.crop", "Crop pages of a PDF", "Use it to cut off margins, or to keep a part of each page. What is cut off is hidden, not removed."),
		Example: CropInput{PDFSource: examplePDF(), Box: &CropBox{X: 20, Y: 10, Width: 100, Height: 50}, Pages: SelectPages("1")},
		Run:     described(runCrop),
	},
	row[ResizeInput]{
		Info:    pdfTool("pdf.resize", "Resize pages of a PDF", "Use it to bring pages to one paper."),
		Example: ResizeInput{PDFSource: examplePDF(), Format: "A4", Landscape: true},
		Run:     described(runResize),
	},
	row[NUpInput]{
		Info:    pdfTool("pdf.nup", "Put several pages of a PDF on each sheet", "Use it for handouts and to save paper."),
		Example: NUpInput{PDFSource: examplePDF(), PerSheet: 2, Border: true},
		Run:     described(runNUp),
	},
	row[BookletInput]{
		Info:    pdfTool("pdf.booklet", "Arrange a PDF as a booklet", "Use it to print on both sides and fold the sheets."),
		Example: BookletInput{PDFSource: examplePDF(), Format: "A4"},
		Run:     described(runBooklet),
	},
	row[ExtractImagesInput]{
		Info: schema.Info{
			Name: "pdf.extract-images", Summary: "Extract the images of a PDF",
			Use:   "Use it to get photographs and scans out of a PDF. For pictures of whole pages take pdf_raster.",
			Price: toolPrice, PriceNote: "JPEGs come as they are, everything else as PNG without its transparency; each image once.", Produces: []string{"application/zip"},
		},
		Example: ExtractImagesInput{PDFSource: exampleScan()},
		Run:     runExtractImages,
	},
	row[AttachmentsInput]{
		Info: schema.Info{
			Name: "pdf.attachments", Summary: "List, extract, add or remove the files in a PDF",
			Use:   "Use it for invoices with their data inside, or to send files along with a document.",
			Price: toolPrice, Produces: []string{"application/json", "application/pdf", "application/zip"}, Answer: reflect.TypeFor[pdf.Attachments](),
		},
		Example: AttachmentsInput{PDFSource: examplePDF()},
		Run:     described(runAttachments),
	},
	row[RasterInput]{
		Info: schema.Info{
			Name: "pdf.raster", Summary: "Render pages of a PDF as images",
			Use:   "Use it to look at pages, or to show them where PDFs cannot be shown. Several pages come as a ZIP.",
			Price: rasterPrice, Produces: []string{"image/png", "image/jpeg", "application/zip"},
		},
		Example: RasterInput{PDFSource: examplePDF(), Pages: SelectPages("1-2"), DPI: 72},
		Run:     runRaster,
	},
	row[FromImagesInput]{
		Info: pdfTool("pdf.from-images", "Make a PDF of images", "Use it for scans or photographs, one page for each image."),
		Example: FromImagesInput{
			Files:   []FileItem{{FileSource: FileSource{File: schema.NewFile([]byte(examplePNG))}, Filename: "scan.png"}},
			Options: FromImagesPage{Format: "A4", Margin: Margin{Top: Length{"10mm"}}},
		},
		Run: described(runFromImages),
	},
	row[StampInput]{
		Info:    pdfTool("pdf.stamp", "Stamp a text or an image on pages of a PDF", "Use it for watermarks, \"DRAFT\" marks, logos and signatures as pictures."),
		Example: StampInput{PDFSource: examplePDF(), StampMark: StampMark{Text: "DRAFT", Opacity: new(0.3), Rotate: 45, Color: "crimson"}},
		Run:     described(runStamp),
	},
	row[TextInput]{
		Info: schema.Info{
			Name: "pdf.text", Summary: "Read the text of a PDF, page by page",
			Use:   "Use it to read what a PDF says, for summaries or searches.",
			Price: toolPrice, PriceNote: "The text layer is read; pictures of text are not.",
			Produces: []string{"application/json"}, Answer: reflect.TypeFor[pdf.Text](),
		},
		Example: TextInput{PDFSource: exampleText()},
		Run:     runText,
	},
	row[OCRInput]{
		Info: schema.Info{
			Name: "pdf.ocr", Summary: "Make scans searchable, or get their text",
			Use:    "Use it for pages that are pictures of text, where pdf_text finds nothing.",
			Engine: EngineOCR,
			Price:  ocrPrice, PriceNote: "Pages that have text are left as they are.",
			Produces: []string{"application/pdf", "application/json"}, Answer: reflect.TypeFor[pdf.ReadText](), Codes: []string{string(apierror.ConvertUnavailable)},
		},
		Example: OCRInput{PDFSource: exampleScan(), Languages: []Language{"eng"}},
		Run:     described(runOCR),
	},
	row[DataInput]{
		Info: schema.Info{
			Name: "pdf.data", Summary: "Read a PDF as Markdown or structured data",
			Use:   "Use it for what a PDF says, with headings, lists and tables; with schema, for its data.",
			Price: dataPrice, PriceNote: "Plus pdf.ocr for pages without text. With schema plus tokens, as templates.generate.",
			Produces: []string{"application/json"}, Answer: reflect.TypeFor[DataAnswer](), Codes: []string{string(apierror.ConvertUnavailable), string(apierror.AIUnavailable)}, Warns: true,
		},
		Example: DataInput{PDFSource: exampleText(), Pages: SelectPages("1")},
		Run:     runData,
	},
	row[RedactInput]{
		Info:    warns(pdfTool("pdf.redact", "Redact a PDF: remove words and areas for good", "Use it to black out secrets.")),
		Example: RedactInput{PDFSource: exampleText(), Terms: []RedactTerm{"Ada Lovelace"}},
		Run:     described(runRedact),
	},
	row[ArchiveInput]{
		Info: schema.Info{
			Name: "pdf.pdfa", Summary: "Convert a PDF to PDF/A, for archives",
			Use:   "Use it for files that must be readable in decades, or that somebody wants as PDF/A.",
			Price: toolPrice, PriceNote: "Warnings say what had to change.",
			Produces: []string{"application/pdf"}, Warns: true, Codes: []string{string(apierror.ConvertUnavailable)}, Engine: EngineGhostscript,
		},
		Example: ArchiveInput{PDFFileInput: PDFFileInput{PDFSource: exampleScan()}, Level: "3b"},
		Run:     runArchive,
	},
	row[PDFFileInput]{
		Info: schema.Info{
			Name: "pdf.form.fields", Summary: "List the fields of a PDF's form",
			Use:   "Use it before pdf_form_fill, to learn the names, types and choices of the fields.",
			Price: toolPrice, Produces: []string{"application/json"}, Answer: reflect.TypeFor[pdf.Form](),
		},
		Example: PDFFileInput{PDFSource: exampleForm()},
		Run:     runFormFields,
	},
	row[FormFillInput]{
		Info:    pdfTool("pdf.form.fill", "Fill the form of a PDF", "Use it to fill a form that exists. Learn the names of its fields with pdf_form_fields."),
		Example: FormFillInput{PDFSource: exampleForm(), Fields: map[string]any{"name": "Zoë", "country": "Japan"}, Flatten: true},
		Run:     described(runFormFill),
	},
	row[EmailInput]{
		Info: schema.Info{
			Name: "email.create", Summary: "Make a PDF of an email",
			Use:   "Use it for .eml files.",
			Price: 2000 * credit.Microdollar, Produces: []string{"application/pdf"}, Warns: true,
		},
		Example: EmailInput{FileSource: FileSource{File: schema.NewFile([]byte(exampleEmail))}, Attachments: "ignore", Format: "A4"},
		Run:     described(runEmail),
	},
	row[BarcodeInput]{
		Info: schema.Info{
			Name: "barcodes.create", Summary: "Make a barcode or a QR code",
			Use:   "Use it for QR codes, product codes and shipping labels.",
			Price: barcodePrice, Produces: []string{"image/png", "image/svg+xml"},
		},
		Example: BarcodeInput{Type: "qr", Text: "https://example.com/?a=1", Scale: 4},
		Run:     runBarcode,
	},
	row[ZipInput]{
		Info: schema.Info{
			Name: "zip.create", Summary: "Make a ZIP archive of files",
			Use:   "Use it to hand over several files as one.",
			Price: zipPrice, Produces: []string{"application/zip"},
		},
		Example: ZipInput{Files: []NamedFile{{FileSource: examplePDF().FileSource, Filename: "letters/may.pdf"}}},
		Run:     runZip,
	},
	row[ConvertInput]{
		Info: schema.Info{
			Name: "convert.create", Summary: "Convert an office document, HTML, Markdown, text, a PDF or an image",
			Use:   "Use it to turn DOCX, XLSX, PPTX, ODT, CSV and the like into PDF, or one of them into another. For HTML and web pages take pdf_create.",
			Price: convertPrice, Codes: []string{string(apierror.ConvertUnavailable)}, Engine: EngineOffice,
			Produces: []string{
				convertTypes[office.ToPDF], convertTypes[office.ToDOCX], convertTypes[office.ToXLSX],
				convertTypes[office.ToHTML], convertTypes[office.ToPNG], "application/zip",
			},
		},
		Example: ConvertInput{FileSource: FileSource{File: schema.NewFile([]byte("name;total\nAda;12.50\n"))}, SourceFilename: "totals.csv", To: "xlsx"},
		Run:     described(runConvert),
	},
}

// fieldError returns an error of the renderer with the field of the request that caused it, if any.
func fieldError(err error) error {
	var beyond *chrome.PageRangeError
	var header *chrome.HeaderError
	var function *chrome.FunctionError
	switch {
	case errors.As(err, &header):
		return schema.Faults{{Field: "options." + header.Name + "Template", Message: "must not load resources with escaped @import or url()"}}
	case errors.Is(err, egress.ErrRefused):
		return &URLError{Field: "url", Cause: err}
	case errors.As(err, &beyond):
		return schema.Faults{{Field: "options.pageRanges", Message: fmt.Sprintf("must select pages of the document, which has %d", beyond.Pages)}}
	case errors.Is(err, chrome.ErrNoContentArea):
		// The size in the page's own @page rule, which only Chromium knows.
		return schema.Faults{{Field: "options.margin", Message: "is too large: it leaves no space for content on the page"}}
	case errors.Is(err, chrome.ErrSelector):
		return schema.Faults{{Field: "options.waitForSelector", Message: "is not a valid CSS selector"}}
	case errors.As(err, &function):
		return schema.Faults{{Field: "options.waitForFunction", Message: "is not a JavaScript expression: " + function.Text}}
	}
	return err
}
