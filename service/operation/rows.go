// Package operation defines the operations: the operation table, their inputs, and the functions that run them.
package operation

import (
	"context"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/office"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/credit"
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
	// SigningKey returns the key of a signing identity of the account, or store.ErrNotFound. The caller may use it.
	SigningKey func(ctx context.Context, id string) (StoredKey, error)
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
	// Results are the results of earlier steps by ID, for the steps after them.
	Results map[string]StepResult
	// Test means that the result of the call gets a test mark. Images of several pages get it before they are in an archive.
	Test bool
	// Inner means that only later steps get the result of this one.
	Inner bool
}

// The heavy programs that a server may run without.
const (
	EngineOffice      = "office"
	EngineOCR         = "ocr"
	EngineGhostscript = "ghostscript"
	EngineVeraPDF     = "verapdf"
)

// Engines are all of these.
var Engines = []string{EngineOffice, EngineOCR, EngineGhostscript, EngineVeraPDF}

// View is the kind of output of a template's preview.
type View int

const (
	// Printed is a PDF.
	Printed View = iota
	// Filled is the HTML alone, as the result's JSON.
	Filled
	// Placed is a PDF with the positions of the template's elements.
	Placed
	// Accessible is a PDF with warnings that name what prevents PDF/UA-1.
	Accessible
)

// admit returns the error with which the browser would turn the account away now.
func (e *Deps) admit() error {
	if e.Render == nil {
		return nil
	}
	return e.Render.Admit()
}

type row[In any] = schema.TypedDefinition[*Deps, In]

// Rows is the product on one screen: paths, tools, commands, prices,
// documentation and forms all derive from these rows.
var Rows = []schema.Definition[*Deps]{
	row[pdfInput]{
		Info: schema.Info{
			Name: "pdf.create", Summary: "Create a PDF from HTML, URL or Markdown", Toolset: "create", Default: true,
			Use:   "Use when you need a new document, such as an invoice, letter or report, or a web page as PDF. Send exactly one of html, url, markdown, file, fileId and templateId. For repeated layouts, store a template and send templateId with templateData. Not for office files: use convert_create.",
			Price: 2000 * credit.Microdollar, Produces: []string{"application/pdf"},
		},
		Example: pdfInput{
			HTML:    new("<h1>Invoice 42</h1><p>Total: 99.00 EUR</p>"),
			Options: PDFOptions{Format: "A4", Margin: Margin{Top: Length{"20mm"}, Bottom: Length{"20mm"}}},
		},
		Run: runPDF,
	},
	row[previewInput]{
		Info: schema.Info{
			Name: "templates.preview", Summary: "Preview a template as a PDF", Default: true,
			Details: "Renders html, or the draft of a stored template.",
			Use:     "Use when you write a template and want to see it before publication. Not for published templates: use pdf_create.",
			Price:   2000 * credit.Microdollar, Produces: []string{"application/pdf"},
		},
		Example: previewInput{
			HTML: new("<h1>{{title}}</h1>{{#each items}}<p>{{this}}</p>{{/each}}"), SampleData: schema.Object{RawMessage: []byte(`{"title":"Invoice 42","items":["Pen","Ink"]}`)},
		},
		Run: runPreview,
	},
	row[generateInput]{
		Info: schema.Info{
			Name: "templates.generate", Summary: "Generate a template from a description",
			Details: "Returns HTML, sample data and options.",
			Use:     "Use when the user describes a document and no template exists; store the result with templates_create. Not for HTML that you can write yourself: use pdf_create.",
			Price:   2000 * credit.Microdollar, PriceNote: "Plus one pdf.create and AI tokens at 8 times the provider's price. Send quote: true for a fixed price.",
			Produces: []string{"application/json"}, Answer: templateAnswer, Codes: []string{string(wire.AIUnavailable)},
		},
		Example: generateInput{Prompt: "A delivery note with our logo at the top, the customer's address and a table of items", Options: PDFOptions{Format: "A4"}},
		Run:     runGenerate,
	},
	row[imageInput]{
		Info: schema.Info{
			Name: "images.create", Summary: "Capture an image of HTML or URL", Toolset: "create", Default: true,
			Details: "Captures the viewport, the full page, a clip or one element as PNG, JPEG or WebP.",
			Use:     "Use when you need a screenshot of a web page, a social card, or HTML or a template as an image. Not for pages of a PDF: use pdf_raster.",
			Price:   1500 * credit.Microdollar, Produces: []string{"image/png", "image/jpeg", "image/webp"},
		},
		Example: imageInput{
			HTML:    new("<h1>Hello</h1>"),
			Options: ImageOptions{Viewport: Viewport{Width: 1200, Height: 630}},
		},
		Run: runImage,
	},
	row[convertImageInput]{
		Info: schema.Info{
			Name: "images.convert", Summary: "Convert or resize an image", Toolset: "convert",
			Details: "Reads and writes PNG, JPEG, WebP, TIFF and GIF.",
			Use:     "Use when an image needs another format or size. Not for PDFs: use pdf_raster.",
			Price:   toolPrice, Produces: []string{"image/png", "image/jpeg", "image/webp", "image/tiff", "image/gif"},
		},
		Example: convertImageInput{FileSource: FileSource{File: schema.NewFile([]byte(examplePNG))}, To: "png", Width: 64},
		Run:     runConvertImage,
	},
	row[mergeInput]{
		Info:    inDefault(pdfTool("edit", "pdf.merge", "Merge PDFs in order", "Use when 2 to 20 PDFs become one. Not for images: use pdf_from_images.")),
		Example: mergeInput{Files: []MergeFile{{FileItem: exampleFile("one.pdf")}, {FileItem: exampleFile("two.pdf")}}},
		Run:     described(runMerge),
	},
	row[extractInput]{
		Info:    inDefault(pdfTool("edit", "pdf.extract", "Extract pages of a PDF", "Use when you keep, reorder or repeat pages. Not for dropping a few pages: use pdf_delete_pages.")),
		Example: extractInput{PDFSource: examplePDF(), Pages: selectPages("2,1")},
		Run:     described(runExtract),
	},
	row[splitInput]{
		Info: schema.Info{
			Name: "pdf.split", Summary: "Split a PDF into parts", Toolset: "edit",
			Details: "Returns a ZIP archive of 1 to 5000 PDFs, numbered in order. Parts keep the links, bookmarks, form fields, page labels and tags of their pages, but not attachments.",
			Use:     "Use when one PDF becomes several: single pages, chapters, or letters of a batch. Not for one selection: use pdf_extract.",
			Price:   toolPrice, Produces: []string{"application/zip"},
		},
		Example: splitInput{PDFSource: examplePDF(), EveryPages: 1},
		Run:     runSplit,
	},
	row[protectInput]{
		Info:    inDefault(pdfTool("security", "pdf.protect", "Protect a PDF with a password", "Use when a PDF must require a password, or forbid printing or copying.")),
		Example: protectInput{PDFSource: examplePDF(), UserPassword: "correct horse", Permissions: Permissions{Copy: new(false)}},
		Run:     described(runProtect),
	},
	row[unlockInput]{
		Info:    detailed(pdfTool("security", "pdf.unlock", "Unlock a PDF", "Use when you know the password of an encrypted PDF; not for unknown passwords."), "Returns the PDF without encryption and restrictions. A PDF without encryption is refused, free of charge."),
		Example: unlockInput{FileSource: exampleLocked().FileSource, Password: lockedPassword},
		Run:     described(runUnlock),
	},
	row[bookmarksInput]{
		Info: pdfTool("edit", "pdf.bookmarks", "Add bookmarks to a PDF", "Use when a long PDF needs an outline."),
		Example: bookmarksInput{PDFSource: examplePDF(), Bookmarks: Bookmarks{
			{Title: "Report", Page: 1, Children: Bookmarks{{Title: "Figures", Page: 2}}},
		}},
		Run: described(runBookmarks),
	},
	row[rotateInput]{
		Info:    pdfTool("edit", "pdf.rotate", "Rotate pages of a PDF", "Use when pages are sideways or upside down. Not for skewed scans: use pdf_ocr."),
		Example: rotateInput{PDFSource: examplePDF(), Degrees: 90, Pages: selectPages("even")},
		Run:     described(runRotate),
	},
	row[deletePagesInput]{
		Info:    pdfTool("edit", "pdf.delete-pages", "Delete pages of a PDF", "Use when you remove pages and keep the others unchanged. Not for reordering: use pdf_extract."),
		Example: deletePagesInput{PDFSource: examplePDF(), Pages: selectPages("last")},
		Run:     described(runDeletePages),
	},
	row[compressInput]{
		Info:    inDefault(pdfTool("quality", "pdf.compress", "Compress a PDF without loss", "Use when a PDF is too large to send. Not for large photos or scans: use pdf_compress_advanced.")),
		Example: compressInput{PDFFileInput: PDFFileInput{PDFSource: examplePDF()}},
		Run:     described(runCompress),
	},
	row[optimizeInput]{
		Info:    pdfTool("quality", "pdf.optimize", "Optimize a PDF for the web", "Use when a PDF is published online, or needs exact image resolution and quality."),
		Example: optimizeInput{PDFFileInput: PDFFileInput{PDFSource: exampleScan()}, MaxImageDPI: 150, ImageQuality: 75},
		Run:     described(runOptimize),
	},
	row[compressAdvancedInput]{
		Info:    pdfTool("quality", "pdf.compress-advanced", "Compress a PDF by reducing its images", "Use when pdf_compress leaves too much and lower image quality is acceptable. Not for exact values: use pdf_optimize."),
		Example: compressAdvancedInput{PDFFileInput: PDFFileInput{PDFSource: exampleScan()}, Level: "high"},
		Run:     described(runCompressAdvanced),
	},
	row[PDFFileInput]{
		Info: schema.Info{
			Name: "pdf.info", Summary: "Get the properties of a PDF", Toolset: "read", Default: true,
			Use:   "Use when you know nothing about a PDF: returns metadata, page sizes and permissions. Not for its content: use pdf_text.",
			Price: toolPrice, Produces: []string{"application/json"}, Answer: infoAnswer,
		},
		Example: PDFFileInput{PDFSource: examplePDF()},
		Run:     runInfo,
	},
	row[metadataInput]{
		Info: schema.Info{
			Name: "pdf.metadata", Summary: "Get or update the metadata of a PDF", Toolset: "edit",
			Details: "Without metadata and remove, returns the document information and XMP as JSON. Otherwise returns the PDF, with the same values in both. PDF/A and PDF/UA claims remain if they stay true.",
			Use:     "Use when a PDF needs a title or author, or must not show them. Not for page sizes: use pdf_info.",
			Price:   toolPrice, Produces: []string{"application/json", "application/pdf"}, Answer: metadataAnswer,
		},
		Example: metadataInput{PDFSource: examplePDF()},
		Run:     runMetadata,
	},
	row[checkInput]{
		Info: schema.Info{
			Name: "pdf.check", Summary: "Check a PDF against accessibility and archive standards", Toolset: "quality",
			Details: "The field conforms is null if no violation was found, but some rules are unchecked.",
			Use:     "Use when a PDF must conform to PDF/UA or PDF/A: lists violated rules and remedies. Not for conversion: use pdf_pdfa.",
			Price:   toolPrice, Produces: []string{"application/json"}, Answer: checkAnswer,
		},
		Example: checkInput{PDFSource: examplePDF(), Standards: []Standard{"ua-1", "a-2b"}},
		Run:     runCheck,
	},
	row[signInput]{
		Info: signs(detailed(pdfTool("security", "pdf.sign", "Sign a PDF with a certificate", "Use when a PDF must prove its signer and that it is unchanged. Not for passwords: use pdf_protect."),
			"Appends a PAdES signature; earlier ones remain valid. Later steps must not change the PDF. An encrypted PDF stays encrypted. A test key adds the \"Test\" band first, which invalidates earlier signatures.")),
		Example: signInput{
			PDFSource: examplePDF(), Key: exampleKey(),
			Visible: SignatureBox{Page: 1, X: 20, Y: 20, Width: 160, Height: 60},
		},
		Run: runSign,
	},
	row[sealInput]{
		Info: signs(detailed(pdfTool("security", "pdf.seal", "Add a timestamp to a signed PDF", "Use when its timestamps will expire, or to prove when a PDF existed. Not for signatures: use pdf_sign."),
			"Appends revocation status and a timestamp of the whole document. Signatures remain valid until the certificate of that timestamp expires.")),
		Example: sealInput{PDFSource: examplePDF(), TimestampURL: "https://tsa.example/"},
		Run:     runSeal,
	},
	row[verifyInput]{
		Info: schema.Info{
			Name: "pdf.verify", Summary: "Check the signatures of a PDF", Toolset: "quality",
			Details: "Checks integrity, trust, timestamps, the validation data in the PDF and all changes after each signature. The call is free for a PDF without signatures.",
			Use:     "Use when you must know who signed a PDF, and if it has changed. Not for standards: use pdf_check.",
			Price:   toolPrice, Produces: []string{"application/json"}, Answer: verifyAnswer,
		},
		Example: verifyInput{PDFSource: examplePDF()},
		Run:     runVerify,
	},
	row[compareInput]{
		Info: schema.Info{
			Name: "pdf.compare", Summary: "Compare two PDFs page by page", Toolset: "read",
			Details: "Compares the visible content at 144 DPI, pages larger than A2 at a lower resolution. Changes without a visible effect, such as link targets and metadata, do not count.",
			Use:     "Use when you check the differences between two versions of a document. Not for text alone: use pdf_text.",
			Price:   rasterPrice, Produces: []string{"application/json", "application/pdf", "application/zip"}, Answer: compareAnswer,
		},
		Example: compareInput{
			Files:  []ComparedFile{{FileItem: exampleFile("old.pdf")}, {FileItem: FileItem{FileSource: exampleText().FileSource, Filename: "new.pdf"}}},
			Ignore: []IgnoredArea{{X: 36, Y: 790, Width: 200, Height: 20}},
		},
		Run: runCompare,
	},
	row[repairInput]{
		Info:    pdfTool("quality", "pdf.repair", "Repair a damaged PDF", "Use when a PDF does not open, or other tools report damage. Unreadable parts are lost."),
		Example: repairInput{PDFFileInput: PDFFileInput{PDFSource: examplePDF()}},
		Run:     described(runRepair),
	},
	row[cropInput]{
		Info:    pdfTool("edit", "pdf.crop", "Crop pages of a PDF", "Use when you need to remove margins, or only a part of each page. Cropped content is hidden, not removed. Not for secrets: use pdf_redact."),
		Example: cropInput{PDFSource: examplePDF(), Box: &CropBox{X: 20, Y: 10, Width: 100, Height: 50}, Pages: selectPages("1")},
		Run:     described(runCrop),
	},
	row[resizeInput]{
		Info:    pdfTool("edit", "pdf.resize", "Resize pages of a PDF", "Use when pages need another paper format."),
		Example: resizeInput{PDFSource: examplePDF(), Format: "A4", Landscape: true},
		Run:     described(runResize),
	},
	row[nUpInput]{
		Info:    pdfTool("edit", "pdf.nup", "Arrange several pages on each sheet", "Use when you print handouts or save paper. Not for folded sheets: use pdf_booklet."),
		Example: nUpInput{PDFSource: examplePDF(), PerSheet: 2, Border: true},
		Run:     described(runNUp),
	},
	row[bookletInput]{
		Info:    pdfTool("edit", "pdf.booklet", "Arrange a PDF as a booklet", "Use when sheets are printed on both sides and folded. Not for handouts: use pdf_nup."),
		Example: bookletInput{PDFSource: examplePDF(), Format: "A4"},
		Run:     described(runBooklet),
	},
	row[overlayInput]{
		Info: detailed(pdfTool("edit", "pdf.overlay", "Add one PDF over or under another", "Use when pages get a letterhead, form or background. Not for one text or image: use pdf_stamp."),
			"Each page of the overlay is upright and centred on its page, reduced to fit if necessary, with its comments and form fields drawn. PDF/A and PDF/UA claims remain if they stay true."),
		Example: overlayInput{PDFSource: examplePDF(), Overlay: OverlayFile{FileItem: FileItem{FileSource: exampleText().FileSource, Filename: "letterhead.pdf"}}, Position: "under", Repeat: selectPages("last")},
		Run:     described(runOverlay),
	},
	row[extractImagesInput]{
		Info: schema.Info{
			Name: "pdf.extract-images", Summary: "Extract the images of a PDF", Toolset: "read",
			Details: "Returns a ZIP archive with each image once: JPEGs unchanged, others as PNG without transparency.",
			Use:     "Use when you need the photos or scans inside a PDF. Not for whole pages: use pdf_raster.",
			Price:   toolPrice, Produces: []string{"application/zip"},
		},
		Example: extractImagesInput{PDFSource: exampleScan()},
		Run:     runExtractImages,
	},
	row[attachmentsInput]{
		Info: schema.Info{
			Name: "pdf.attachments", Summary: "List, extract, add or remove PDF attachments", Toolset: "edit",
			Use:   "Use when a PDF contains files, such as invoice data, or must carry files.",
			Price: toolPrice, Produces: []string{"application/json", "application/pdf", "application/zip"}, Answer: attachmentsAnswer,
		},
		Example: attachmentsInput{PDFSource: examplePDF()},
		Run:     described(runAttachments),
	},
	row[rasterInput]{
		Info: schema.Info{
			Name: "pdf.raster", Summary: "Render pages of a PDF as images", Toolset: "read", Default: true,
			Use:   "Use when you look at pages, or show them without a PDF reader. Not for images inside a PDF: use pdf_extract_images.",
			Price: rasterPrice, Produces: []string{"image/png", "image/jpeg", "application/zip"},
		},
		Example: rasterInput{PDFSource: examplePDF(), Pages: selectPages("1-2"), DPI: 72},
		Run:     runRaster,
	},
	row[fromImagesInput]{
		Info: inDefault(pdfTool("convert", "pdf.from-images", "Create a PDF from images", "Use when scans or photos become one PDF, one page per image.")),
		Example: fromImagesInput{
			Files:   []FileItem{{FileSource: FileSource{File: schema.NewFile([]byte(examplePNG))}, Filename: "scan.png"}},
			Options: fromImagesPage{Format: "A4", Margin: Margin{Top: Length{"10mm"}}},
		},
		Run: described(runFromImages),
	},
	row[stampInput]{
		Info:    inDefault(pdfTool("edit", "pdf.stamp", "Stamp text or an image on a PDF", "Use when a PDF needs a watermark, a DRAFT mark, a logo or a signature image. Not for form fields: use pdf_form_fill.")),
		Example: stampInput{PDFSource: examplePDF(), StampMark: StampMark{Text: "DRAFT", Opacity: new(0.3), Rotate: 45, Color: "crimson"}},
		Run:     described(runStamp),
	},
	row[textInput]{
		Info: schema.Info{
			Name: "pdf.text", Summary: "Extract the text of a PDF", Toolset: "read", Default: true,
			Use:      "Use when you search or summarize a PDF, page by page. Not for scans: use pdf_ocr. Not for headings and tables: use pdf_data.",
			Price:    toolPrice,
			Produces: []string{"application/json"}, Answer: textAnswer,
		},
		Example: textInput{PDFSource: exampleText()},
		Run:     runText,
	},
	row[ocrInput]{
		Info: schema.Info{
			Name: "pdf.ocr", Summary: "Add searchable text to scans", Toolset: "read", Default: true,
			Details:  "Reads at most 50 pages in at most 4 minutes.",
			Use:      "Use when pages are scans, so pdf_text finds nothing. Pages with text stay as they are. Not for data: use pdf_data.",
			Engine:   EngineOCR,
			Price:    ocrPrice,
			Produces: []string{"application/pdf", "application/json"}, Answer: readTextAnswer, Codes: []string{string(wire.ConvertUnavailable)},
		},
		Example: ocrInput{PDFSource: exampleScan(), Languages: []ocrLanguage{"eng"}},
		Run:     described(runOCR),
	},
	row[dataInput]{
		Info: schema.Info{
			Name: "pdf.data", Summary: "Extract Markdown or data from a PDF", Toolset: "read", Default: true,
			Use:   "Use when you need headings, lists and tables, or with schema the data. Not for plain text: use pdf_text.",
			Price: dataPrice, PriceNote: "Plus one pdf.ocr if any page needs OCR. With schema, plus tokens as in templates.generate.",
			Produces: []string{"application/json"}, Answer: dataAnswer, Codes: []string{string(wire.ConvertUnavailable), string(wire.AIUnavailable)},
		},
		Example: dataInput{PDFSource: exampleText(), Pages: selectPages("1")},
		Run:     runData,
	},
	row[redactInput]{
		Info:    inDefault(pdfTool("security", "pdf.redact", "Redact words and areas of a PDF", "Use when you need to remove confidential text or areas for good.")),
		Example: redactInput{PDFSource: exampleText(), Terms: []redactTerm{"Ada Lovelace"}},
		Run:     described(runRedact),
	},
	row[archiveInput]{
		Info: schema.Info{
			Name: "pdf.pdfa", Summary: "Convert a PDF to PDF/A", Toolset: "quality",
			Details:  "Warnings list the changes.",
			Use:      "Use when a PDF must be archived, or a recipient requires PDF/A.",
			Price:    toolPrice,
			Produces: []string{"application/pdf"}, Codes: []string{string(wire.ConvertUnavailable)}, Engine: EngineGhostscript,
		},
		Example: archiveInput{PDFFileInput: PDFFileInput{PDFSource: exampleScan()}, Level: "3b"},
		Run:     runArchive,
	},
	row[facturxInput]{
		Info: schema.Info{
			Name: "pdf.facturx", Summary: "Add an e-invoice to a PDF", Toolset: "quality",
			Details:  "The result is a Factur-X, ZUGFeRD or XRechnung invoice in PDF/A-3. All broken rules are reported at once, at no charge.",
			Use:      "Use when an existing PDF must become an e-invoice. Not for new documents: use pdf_create with options.facturx.",
			Price:    toolPrice,
			Produces: []string{"application/pdf"}, Codes: []string{string(wire.ConvertUnavailable)}, Engine: EngineGhostscript,
		},
		Example: facturxInput{PDFSource: exampleText(), FacturxOptions: FacturxOptions{Profile: "en16931", Invoice: exampleInvoice(), Compare: "warn"}},
		Run:     runFacturx,
	},
	row[PDFFileInput]{
		Info: schema.Info{
			Name: "pdf.facturx.read", Summary: "Get the e-invoice of a PDF or XML", Toolset: "read",
			Details: "Reads Factur-X, ZUGFeRD 2 and XRechnung in a PDF, and the XML of a Cross Industry Invoice or of UBL.",
			Use:     "Use when you need the data of an e-invoice. Not for other invoices: use pdf_data.",
			Price:   toolPrice, Produces: []string{"application/json"}, Answer: invoiceAnswer,
		},
		Example: PDFFileInput{PDFSource: exampleEInvoice()},
		Run:     runFacturxRead,
	},
	row[PDFFileInput]{
		Info: schema.Info{
			Name: "pdf.facturx.check", Summary: "Check the e-invoice of a PDF or XML", Toolset: "quality",
			Details: "Applies the structure of the profile, the business rules and code lists of EN 16931 and the rules of XRechnung. The pages of a PDF are not read.",
			Use:     "Use when you need every broken rule of an e-invoice.",
			Price:   toolPrice, Produces: []string{"application/json"}, Answer: invoiceCheckAnswer,
		},
		Example: PDFFileInput{PDFSource: exampleEInvoice()},
		Run:     runFacturxCheck,
	},
	row[PDFFileInput]{
		Info: schema.Info{
			Name: "pdf.form.fields", Summary: "List the form fields of a PDF", Toolset: "forms", Default: true,
			Use:   "Use when you need the names, types and options of fields, before pdf_form_fill.",
			Price: toolPrice, Produces: []string{"application/json"}, Answer: formAnswer,
		},
		Example: PDFFileInput{PDFSource: exampleForm()},
		Run:     runFormFields,
	},
	row[formFillInput]{
		Info:    inDefault(pdfTool("forms", "pdf.form.fill", "Fill the form of a PDF", "Use when a PDF has a form; pdf_form_fields lists its fields. Not for PDFs without fields: use pdf_stamp.")),
		Example: formFillInput{PDFSource: exampleForm(), Fields: map[string]any{"name": "Zoë", "country": "Japan"}, Flatten: true},
		Run:     described(runFormFill),
	},
	row[emailInput]{
		Info: schema.Info{
			Name: "email.create", Summary: "Create a PDF from an email", Toolset: "convert",
			Details: "Prints the headers, a list of the attachments and the body.",
			Use:     "Use when you have an .eml file.",
			Price:   2000 * credit.Microdollar, Produces: []string{"application/pdf"},
		},
		Example: emailInput{FileSource: FileSource{File: schema.NewFile([]byte(exampleEmail))}, Attachments: "ignore", Format: "A4"},
		Run:     described(runEmail),
	},
	row[barcodeInput]{
		Info: schema.Info{
			Name: "barcodes.create", Summary: "Create a barcode or QR code", Toolset: "create", Default: true,
			Use:   "Use when you need a QR, product or shipping code.",
			Price: barcodePrice, Produces: []string{"image/png", "image/svg+xml"},
		},
		Example: barcodeInput{Type: "qr", Text: "https://example.com/?a=1", Scale: 4},
		Run:     runBarcode,
	},
	row[zipInput]{
		Info: schema.Info{
			Name: "zip.create", Summary: "Create a ZIP archive of files", Toolset: "create",
			Use:   "Use when several files are delivered as one. Not for one PDF: use pdf_merge.",
			Price: zipPrice, Produces: []string{"application/zip"},
		},
		Example: zipInput{Files: []namedFile{{FileSource: examplePDF().FileSource, Filename: "letters/may.pdf"}}},
		Run:     runZip,
	},
	row[convertInput]{
		Info: schema.Info{
			Name: "convert.create", Summary: "Convert an office document, HTML or image", Toolset: "convert", Default: true,
			Details: "Reads office documents, HTML, Markdown, CSV, text, PDFs and images.",
			Use:     "Use when you convert DOCX, XLSX, PPTX, ODT or CSV to another format. Not for web pages: use pdf_create.",
			Price:   convertPrice, Codes: []string{string(wire.ConvertUnavailable)}, Engine: EngineOffice,
			Produces: []string{
				convertTypes[office.ToPDF], convertTypes[office.ToDOCX], convertTypes[office.ToXLSX],
				convertTypes[office.ToHTML], convertTypes[office.ToPNG], "application/zip",
			},
		},
		Example: convertInput{FileSource: FileSource{File: schema.NewFile([]byte("name;total\nAda;12.50\n"))}, SourceFilename: "totals.csv", To: "xlsx"},
		Run:     described(runConvert),
	},
	row[BulkInput]{
		Info: schema.Info{
			Name: "pdf.bulk", Summary: "Create a PDF for each record", Toolset: "create",
			Details:  "Always a job, with its progress in GET /v1/jobs/{id}. The result of zip and merged is at most 200 MiB.",
			Use:      "Use when one template or PDF form is filled from a list, CSV or XLSX. Not for one document: use pdf_create.",
			Unbilled: true, Bulk: true, PriceNote: "Costs one pdf.create for each document, or one pdf.form.fill with form, and its steps.",
			Produces: []string{"application/zip", "application/pdf", "application/json"}, Answer: BulkQuote{Records: 2, AmountMicrodollars: 4000},
			Codes: []string{string(wire.ConvertUnavailable)},
		},
		Example: BulkInput{
			TemplateID: new("invoice"), FilenamePattern: "invoice-{{number}}",
			Records: []schema.Object{{RawMessage: []byte(`{"number":42,"customer":{"name":"Ada"}}`)}, {RawMessage: []byte(`{"number":43,"customer":{"name":"Bo"}}`)}},
		},
		Run: runBulk,
	},
	// The rows of its steps come before it.
	row[pipelineInput]{
		Info: schema.Info{
			Name: "pipelines.create", Summary: "Run several operations in one call", Toolset: "create",
			Details:  "All steps are validated before the first one runs. They run in order, within 5 minutes in total. If one fails, the call fails and costs nothing.",
			Use:      "Use when the result of one operation is the source of another. Not for a single PDF: use pdf_create.",
			Unbilled: true, Flow: true, PriceNote: "Costs the sum of the prices of its steps.",
			Codes: []string{string(wire.ConvertUnavailable)},
		},
		Example: pipelineInput{Steps: []PipelineStep{
			{ID: "letter", Op: "pdf.create", Input: schema.NewOperationInput(`{"html":"<h1>Invoice 42</h1>"}`)},
			{ID: "stamped", Op: "pdf.stamp", Input: schema.NewOperationInput(`{"step":"letter","text":"PAID"}`)},
		}, Output: stepIDs{"stamped"}},
		Run: runPipeline,
	},
}
