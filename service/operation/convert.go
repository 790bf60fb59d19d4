package operation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/egress"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/office"
	"github.com/relaypdf/relaypdf/render/officefile"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/credit"
)

// convertPrice is the price of convert.create.
const convertPrice = 3000 * credit.Microdollar

// convertInput is the input of convert.create.
type convertInput struct {
	schema.Common
	Described
	FileSource
	AssetInput

	HTML           *string        `json:"html,omitempty" jsonschema:"maxLength=10485760" jsonschema_extras:"x-filled=true" jsonschema_description:"Source: an HTML document or fragment, at most 10 MiB. Send exactly one of html, url, file and fileId."`
	SourceFilename string         `json:"sourceFilename,omitempty" jsonschema:"maxLength=255" jsonschema_description:"Name of the source. relaypdf detects the type from the content; the extension only distinguishes the text formats csv, md, html and txt. Default: txt."`
	Password       string         `json:"password,omitempty" jsonschema:"maxLength=127" jsonschema_description:"Password that opens a protected source."`
	To             string         `json:"to,omitempty" jsonschema:"enum=pdf,enum=docx,enum=xlsx,enum=html,enum=png,default=pdf" jsonschema_description:"Target format. html is one file that includes its images. png is one image, or for several pages a ZIP archive of page-001.png and so on. From text documents: pdf, docx, html, png. From spreadsheets: pdf, xlsx, html, png. From presentations and images: pdf, html, png. From HTML and Markdown: all except the source's own format; xlsx has no images. From PDFs: docx, html, png."`
	Engine         string         `json:"engine,omitempty" jsonschema:"enum=libreoffice,enum=wkhtmltopdf,default=libreoffice" jsonschema_description:"Conversion engine. libreoffice: any source; url must point to a file. wkhtmltopdf: html, an https page at url, or an HTML file, to pdf only."`
	Options        ConvertOptions `json:"options,omitzero" jsonschema_description:"Conversion options."`
}

// ConvertOptions are the options of convert.create.
type ConvertOptions struct {
	PageRanges  PageRanges `json:"pageRanges,omitempty" jsonschema_description:"Pages of the result, such as 1-3,5. With standards, list them in document order."`
	Landscape   *bool      `json:"landscape,omitempty" jsonschema_description:"If true, use landscape paper; if false, portrait. Default: the source's own orientation."`
	FitToWidth  bool       `json:"fitToWidth,omitempty" jsonschema:"default=false" jsonschema_description:"If true, fit all columns of a sheet on one page width."`
	Sheets      []Sheet    `json:"sheets,omitempty" jsonschema:"maxItems=100" jsonschema_description:"Sheets to print: names, or numbers from 1."`
	Quality     int        `json:"quality,omitempty" jsonschema:"minimum=1,maximum=100,default=90" jsonschema_description:"JPEG quality of photos, from 1 to 100."`
	Password    string     `json:"password,omitempty" jsonschema:"minLength=1,maxLength=127" jsonschema_description:"Password required to open the output PDF."`
	PDFA        string     `json:"pdfa,omitempty" jsonschema:"enum=1b,enum=2b,enum=3b" jsonschema_description:"Level of PDF/A. standards has more levels, and reports errors of the document."`
	Comments    bool       `json:"comments,omitempty" jsonschema:"default=false" jsonschema_description:"If true, include comments as PDF notes."`
	Changes     string     `json:"trackedChanges,omitempty" jsonschema:"enum=shown,enum=accepted,enum=rejected" jsonschema_description:"Display of tracked changes in text documents. Default: the document's own setting."`
	Recalculate string     `json:"recalculate,omitempty" jsonschema:"enum=missing,enum=always,default=missing" jsonschema_description:"Formulas of a spreadsheet to calculate. missing: those without a stored result, or all if the file says that its results are outdated. always: all. A formula that cannot be calculated keeps its stored result, with a warning."`
	Fields      string     `json:"fields,omitempty" jsonschema:"enum=stored,enum=update,default=stored" jsonschema_description:"Fields of a text document, such as DATE and FILENAME. stored: the results that the document has stored. update: new results. Page numbers are always those of the result."`
	TOC         bool       `json:"toc,omitempty" jsonschema:"default=false" jsonschema_description:"If true, add a table of contents at the front, from the headings, with links and page numbers. Requires engine wkhtmltopdf."`
	Formulas    *bool      `json:"formulas,omitempty" jsonschema:"default=true" jsonschema_description:"If false, dollar signs and the brackets of TeX in Markdown are text. If true, they are formulas."`
	HTML        string     `json:"html,omitempty" jsonschema:"enum=filter,enum=allow,default=filter" jsonschema_description:"Raw HTML such as script and style in Markdown. filter: escape it to text. allow: render it."`

	StandardsOptions
}

// Sheet is the name of a sheet, or its number from 1.
type Sheet struct{ value any }

// JSONSchema returns the schema of a Sheet: a string or a number.
func (Sheet) JSONSchema() *jsonschema.Schema {
	minLength := uint64(1)
	maxLength := uint64(maxSheetName)

	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
		{Type: "string", MinLength: &minLength, MaxLength: &maxLength},
		{Type: "integer", Minimum: "1", Maximum: json.Number(strconv.Itoa(maxSheets))},
	}}
}

// SetJSON accepts a name or a number.
func (s *Sheet) SetJSON(v any) error {
	s.value = v
	return nil
}

const (
	maxSheets    = 10_000
	maxSheetName = 255
)

// pdfaLevels are the levels of PDF/A by their names.
var pdfaLevels = map[string]int{"1b": 1, "2b": 2, "3b": 3}

// printing returns the options in the renderer's type.
func (o ConvertOptions) printing() render.ConvertPrint {
	p := render.ConvertPrint{PageRanges: string(o.PageRanges), Password: o.Password}
	p.Landscape = o.Landscape
	p.FitToWidth = o.FitToWidth
	p.Quality = o.Quality
	p.PDFA = pdfaLevels[o.PDFA]
	p.Comments = o.Comments
	p.Changes = office.Changes(o.Changes)
	p.Standards = wanted(o.Standards)
	p.StandardsStrict = o.StandardsStrict

	for _, sheet := range o.Sheets {
		p.Sheets = append(p.Sheets, sheet.value)
	}

	return p
}

// validate faults options that cannot be.
func (o ConvertOptions) validate(faults *schema.FieldErrors, engine string, to office.Target) {
	if engine == engineWebKit && o.Recalculate != "" {
		faults.Add("options.recalculate", "requires engine libreoffice")
	}
	if engine == engineWebKit && o.Fields != "" {
		faults.Add("options.fields", "requires engine libreoffice")
	}

	for _, option := range []struct {
		name  string
		given bool
	}{
		{"pageRanges", o.PageRanges != ""}, {"landscape", o.Landscape != nil}, {"fitToWidth", o.FitToWidth}, {"sheets", len(o.Sheets) > 0},
		{"quality", o.Quality != 0}, {"password", o.Password != ""}, {"pdfa", o.PDFA != ""},
		{"standards", len(o.Standards) > 0},
		{"comments", o.Comments}, {"trackedChanges", o.Changes != ""},
	} {
		switch {
		case option.given && engine == engineWebKit:
			faults.Add("options."+option.name, "requires engine libreoffice")
		case option.given && to != office.ToPDF:
			faults.Add("options."+option.name, "requires to: pdf")
		}
	}

	o.PageRanges.check(faults, "options.pageRanges")

	if o.PDFA != "" && o.Password != "" {
		faults.Add("options.password", "is mutually exclusive with options.pdfa: PDF/A files cannot be encrypted")
	}
	if o.PDFA != "" && o.Comments {
		faults.Add(
			"options.comments",
			"is mutually exclusive with options.pdfa: PDF/A files cannot contain comments as notes",
		)
	}

	o.checkStandards(faults, false)
	for _, other := range []struct {
		name   string
		given  bool
		reason string
	}{
		{"pdfa", o.PDFA != "", "options.standards includes the levels of PDF/A"},
		{"password", o.Password != "", "PDF/A excludes encryption"},
		{"comments", o.Comments, "screen readers cannot read notes"},
	} {
		if other.given && len(o.Standards) > 0 {
			faults.Add("options."+other.name, "is mutually exclusive with options.standards: %s", other.reason)
		}
	}

	checkPassword(faults, "options.password", o.Password)
}

// engineWebKit is the name of the engine for HTML.
const engineWebKit = "wkhtmltopdf"

// JSONSchemaExtend adds rules of several members to the schema.
func (convertInput) JSONSchemaExtend(doc *jsonschema.Schema) {
	schema.AddRules(doc, schema.ExactlyOne("html", "url", "file", "fileId"))
}

// Validate checks the rules that the schema cannot express.
func (in *convertInput) Validate() error {
	var faults schema.FieldErrors
	checkContent(&faults, "file", in.File)
	sources := []source{{"html", in.HTML}, {"url", in.URL}, {"file", nil}, {"fileId", in.FileID}}
	if !in.File.IsZero() {
		sources[2].value = new("given")
	}

	if err := checkSources(&faults, sources...); err != nil {
		return err
	}

	checkPassword(&faults, "password", in.Password)
	in.validate(&faults, in.noAssets())
	in.Options.validate(&faults, in.Engine, in.target())
	if in.HTML != nil || in.Engine == engineWebKit {
		const text = "applies to Markdown only; the source is HTML"
		if in.Options.HTML != "" {
			faults.Add("options.html", text)
		}
		if in.Options.Formulas != nil {
			faults.Add("options.formulas", text)
		}
	}

	switch {
	case in.Metadata != (Metadata{}) && in.target() != office.ToPDF:
		faults.Add("metadata", "requires to: pdf")
	case in.Metadata != (Metadata{}) && in.Options.PDFA != "":
		// Set afterwards, it would take away the XMP by which a PDF is PDF/A.
		faults.Add(
			"metadata",
			"is mutually exclusive with options.pdfa. To set both, convert to PDF with metadata, then call pdf.pdfa",
		)
	case in.Engine != engineWebKit && in.Options.TOC:
		faults.Add("options.toc", "requires engine %s", engineWebKit)
	case in.Engine == engineWebKit && in.target() != office.ToPDF:
		faults.Add("to", "must be pdf with engine %s", engineWebKit)
	}

	return failures(faults)
}

// noAssets returns the reason why assets have no effect, or an empty text.
func (in *convertInput) noAssets() string {
	if in.Engine == engineWebKit {
		return "engine " + engineWebKit + ", which loads public URLs only"
	}
	return ""
}

// opens is the password of the result.
func (in *convertInput) opens() string { return in.Options.Password }

// describes returns the metadata that is set after the conversion. LibreOffice and browsers set it before, because it
// is a part of what a file claims to conform to.
func (in *convertInput) describes() pdffile.Info {
	if in.Engine == engineWebKit {
		return in.Described.describes()
	}
	return pdffile.Info{}
}

func (in *convertInput) target() office.Target {
	return office.Target(cmp.Or(in.To, string(office.ToPDF)))
}

// Admit returns an error if the queue of the engine is full.
func (in *convertInput) Admit(deps *Deps) error {
	switch {
	case deps.Render == nil:
		return nil
	case in.Engine == engineWebKit:
		return deps.Render.AdmitEngine()
	}
	return deps.Render.AdmitConvert()
}

// runConvert converts the source.
func runConvert(ctx context.Context, deps *Deps, in *convertInput) (schema.Result, error) {
	conversion := render.Conversion{
		Name:      in.SourceFilename,
		Password:  in.Password,
		To:        in.target(),
		Print:     in.Options.printing(),
		AllowHTML: in.Options.HTML == allowHTML,
		Formulas:  in.Options.Formulas,
		TestMark:  deps.Test && !deps.Inner,
	}
	conversion.Print.Metadata = in.Metadata.info()
	conversion.Results = office.Results{
		Recalculate: officefile.Recalculation(in.Options.Recalculate),
		Fields:      officefile.FieldUpdate(in.Options.Fields),
	}

	if in.HTML != nil {
		conversion.Name = "document.html"
		in.File = schema.NewFile([]byte(*in.HTML))
	}
	if in.Engine == engineWebKit {
		return in.runPage(ctx, deps)
	}

	result, err := withFiles(ctx, deps, []stagedFile{{&in.FileSource, ""}}, func(ctx context.Context, files []openFile) (schema.Result, error) {
		if in.URL != nil {
			conversion.Address = *in.URL
			conversion.Name = fetchedName(in.SourceFilename, *in.URL, files[0].Body)
		}

		var err error
		fetched, _ := files[0].Body.(render.Fetched)
		if conversion.Content, err = render.TextOf(files[0], conversion.Name, fetched.Charset); err != nil {
			return schema.Result{}, err
		}

		unused, err := in.takeFrontMatter(&conversion)
		if err != nil {
			return schema.Result{}, err
		}

		var page render.Source
		made, err := withAssets(ctx, deps, &in.AssetInput, &page, func() (render.Converted, error) {
			conversion.Assets = page.Assets
			return deps.Render.Convert(ctx, conversion)
		})
		if err != nil {
			return schema.Result{}, err
		}

		made.Warnings = append(unused, made.Warnings...)
		return convertResult(in, made), nil
	})

	return result, in.fault(err)
}

// textExtensions are the extensions of formats that are text, by their media types. Servers send text/plain for any of
// them, so that it says nothing.
var textExtensions = map[string][]string{
	"text/html": {".html", ".htm", ".xhtml"}, "application/xhtml+xml": {".xhtml", ".html", ".htm"}, "text/csv": {".csv"},
	"text/tab-separated-values": {".tsv", ".tab"}, "text/markdown": {".md", ".markdown"},
}

// fetchedName returns the name of a source at a URL: the given one, or the last part of the URL, with the extension of
// the type that the server names.
func fetchedName(given, address string, body schema.Body) string {
	name := given
	if at, err := url.Parse(address); name == "" && err == nil {
		name = strings.Trim(path.Base(at.Path), "/.")
	}
	fetched, _ := body.(render.Fetched)
	extensions := textExtensions[fetched.MediaType]
	if len(extensions) == 0 || slices.Contains(extensions, strings.ToLower(path.Ext(name))) {
		return name
	}
	return strings.TrimSuffix(cmp.Or(name, "document"), path.Ext(name)) + extensions[0]
}

// takeFrontMatter applies the options in the front matter of Markdown, which are those of pdf.create, and returns
// warnings for options that have no effect on the target.
func (in *convertInput) takeFrontMatter(c *render.Conversion) (unused []chrome.Warning, err error) {
	about, unread := render.FrontMatterOf(c.Content, c.Name)
	var faults schema.FieldErrors
	if invalidFrontMatter(&faults, in.field(""), unread) {
		return nil, faults
	}

	names := slices.Sorted(maps.Keys(about.Options))
	if c.To == office.ToPDF || c.To == office.ToPNG {
		if c.Markdown, err = markdownPrint(in.field(""), about, unread); err != nil {
			return nil, err
		}
		names = slices.DeleteFunc(names, func(name string) bool {
			return c.To == office.ToPDF ||
				!slices.Contains([]string{"metadata", "outline", "tagged", "standards", "standardsStrict"}, name)
		})
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "formulas" }) // applies to every target
	if len(names) > 0 {
		text := fmt.Sprintf("the front matter has options that do not apply to %s: %s", c.To, strings.Join(names, ", "))
		unused = []chrome.Warning{chrome.Warning{Code: optionUnused, Message: text}.Bounded()}
	}
	return unused, nil
}

// optionUnused is the code of the warning that options of a document have no effect.
const optionUnused = "option_unused"

// runPage converts HTML, or the page of an address, with wkhtmltopdf.
func (in *convertInput) runPage(ctx context.Context, deps *Deps) (result schema.Result, err error) {
	if in.URL == nil {
		result, err = withFiles(ctx, deps, []stagedFile{{&in.FileSource, ""}}, func(ctx context.Context, files []openFile) (schema.Result, error) {
			made, err := deps.Render.ConvertPage(ctx, render.PageConversion{Content: files[0], TOC: in.Options.TOC})
			if err != nil {
				return schema.Result{}, err
			}
			return convertResult(in, made), nil
		})
		return result, in.fault(err)
	}

	made, err := deps.Render.ConvertPage(ctx, render.PageConversion{URL: *in.URL, TOC: in.Options.TOC})
	switch {
	case err == nil:
		return convertResult(in, made), nil
	case errors.Is(err, egress.ErrRefused):
		return schema.Result{}, RefuseURL("url", RefusedText(*in.URL, convertedPageURL), err)
	}
	return schema.Result{}, in.fault(err)
}

// convertTypes are the content types of the targets.
var convertTypes = map[office.Target]string{
	office.ToPDF:  "application/pdf",
	office.ToDOCX: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	office.ToXLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	office.ToHTML: "text/html",
	office.ToPNG:  "image/png",
}

// convertResult names the result after its source.
func convertResult(in *convertInput, made render.Converted) schema.Result {
	stem := strings.TrimSuffix(in.SourceFilename, path.Ext(in.SourceFilename))
	result := schema.Result{
		Stem: cmp.Or(Filename(stem, "document", ""), "document"), Extension: "." + string(in.target()),
		ContentType: convertTypes[in.target()], Body: made.Body, Warnings: warnings(made.Warnings), Marked: made.TestMark,
	}
	if made.Archive {
		result.Extension = ".zip"
		result.ContentType = "application/zip"
	}
	return result
}

// fault returns an error of the renderer with the field that caused it, if any.
func (in *convertInput) fault(err error) error {
	var pair *office.PairError
	var failed *office.Error
	switch {
	case errors.As(err, &pair):
		var possible []string
		for _, target := range pair.Possible {
			possible = append(possible, string(target))
		}
		return schema.FieldErrors{{Field: "to", Message: fmt.Sprintf("must be one of %s for this source type (%s); got %s",
			strings.Join(possible, ", "), pair.Kind, pair.To)}}
	case errors.As(err, &failed) && failed.Reason == office.NoSuchSheet:
		return schema.FieldErrors{{Field: "options.sheets", Message: sheetsText(failed.Detail)}}
	case errors.As(err, &failed) && failed.Reason == office.NotOffice:
		return schema.FieldErrors{{
			Field:   "options.pdfa",
			Message: "applies to office documents and text only. For other sources convert to PDF, then call pdf.pdfa",
		}}
	case errors.As(err, &failed) && failed.Reason == office.Unstructured:
		return schema.FieldErrors{{
			Field:   "options.standards",
			Message: "requires a document with structure; the source is an image. Send HTML with the image and its alternative text",
		}}
	case errors.As(err, &failed) && failed.Reason == office.NotPage:
		return schema.FieldErrors{{Field: "assets", Message: "require an HTML or Markdown source"}}
	case errors.As(err, &failed):
		field := in.field("")
		if in.HTML != nil {
			field = "html"
		}
		return &convertError{field: field, cause: failed}
	}

	var beyond *chrome.PageRangeError
	if errors.As(err, &beyond) {
		return fieldError(err)
	}
	return err
}

// sheetsText names the missing sheet, and the existing ones.
func sheetsText(detail string) string {
	var missing struct {
		Sheet  any      `json:"sheet"`
		Sheets []string `json:"sheets"`
	}
	if err := json.Unmarshal([]byte(detail), &missing); err != nil || len(missing.Sheets) == 0 {
		return "requires a spreadsheet; the document is not one"
	}

	const shown = 20
	names := missing.Sheets
	if len(names) > shown {
		names = append(names[:shown:shown], fmt.Sprintf("and %d more", len(missing.Sheets)-shown))
	}
	return fmt.Sprintf("has no match for %v. Sheets of the document: %s", missing.Sheet, strings.Join(names, ", "))
}

// convertError is a document that cannot be converted.
type convertError struct {
	field string // that holds it
	cause *office.Error
}

func (e *convertError) Error() string { return e.field + ": " + e.cause.Error() }

// Unwrap returns the renderer's error.
func (e *convertError) Unwrap() error { return e.cause }

// detail returns the field with the error, and the error.
func (e *convertError) detail() wire.Detail {
	switch e.cause.Reason {
	case office.Unknown:
		return wire.Detail{
			Field:   e.field,
			Message: "has an unsupported file type. Supported: office documents, HTML, Markdown, CSV, text, PDF and images",
		}
	case office.NotHTML:
		return wire.Detail{Field: e.field, Message: "must be HTML if engine is " + engineWebKit}
	case office.PasswordRequired:
		return wire.Detail{Field: "password", Message: "is required: the document is protected"}
	case office.WrongPassword:
		return wire.Detail{Field: "password", Message: "is incorrect: it does not open the document"}
	case office.CostlyKey:
		return wire.Detail{
			Field: e.field,
			Message: fmt.Sprintf(
				"has an encryption whose keys need more than %d iterations in total. Save it without a password",
				e.cause.Max,
			),
		}
	case office.Unsound:
		return wire.Detail{
			Field:   e.field,
			Message: "was converted to a damaged PDF. Send the request ID to the operator",
		}
	case office.Exhausted:
		return wire.Detail{Field: e.field, Message: "crashed the conversion, or exceeded its memory or disk limit"}
	}
	return wire.Detail{Field: e.field, Message: "is damaged or has an unsupported format"}
}

// convertRetryAfter is the Retry-After, in seconds, if LibreOffice or another program is unavailable. It starts in less
// than that.
const convertRetryAfter = 5

// convertFailure words the failures of conversions for the customer.
func convertFailure(err error) *wire.Error {
	var failed *convertError
	switch {
	case errors.As(err, &failed):
		detail := failed.detail()
		return &wire.Error{
			Code: wire.ProcessingFailed, Message: "The file could not be converted: " + detail.Field + " " + detail.Message + ".", Details: []wire.Detail{detail},
		}
	case errors.Is(err, office.ErrUnavailable), errors.Is(err, engine.ErrUnavailable):
		return &wire.Error{Code: wire.ConvertUnavailable, RetryAfter: convertRetryAfter}
	}
	return nil
}
