package operation

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/service/schema"
)

// pdfInput is the input of pdf.create.
type pdfInput struct {
	schema.Common

	HTML     *string `json:"html,omitempty" jsonschema:"maxLength=10485760" jsonschema_extras:"x-filled=true" jsonschema_description:"Source: an HTML document or fragment, at most 10 MiB. Send exactly one of html, url, markdown, file, fileId and templateId."`
	URL      *string `json:"url,omitempty" jsonschema:"format=uri,maxLength=8192" jsonschema_extras:"x-filled=true" jsonschema_description:"Source: URL of a public https page."`
	Markdown *string `json:"markdown,omitempty" jsonschema:"maxLength=10485760" jsonschema_extras:"x-filled=true" jsonschema_description:"Source: GitHub Flavored Markdown (tables, alerts, footnotes, code) with definition lists, [TOC] and front matter (title, author, date, options), at most 10 MiB. For raw HTML in it, see options.html."`
	SiteInput
	TemplateInput
	Options PDFOptions `json:"options,omitzero" jsonschema_description:"Loading and print options."`
}

// PDFOptions are the options of pdf.create.
type PDFOptions struct {
	Format            PaperFormat `json:"format,omitempty" jsonschema:"default=Letter" jsonschema_extras:"x-common=true" jsonschema_description:"Paper format, case-insensitive: Letter, Legal, Tabloid, Ledger or A0 to A6. It overrides width and height."`
	Width             Length      `json:"width,omitzero" jsonschema_description:"Paper width: a number of CSS pixels, or a string with a unit (px, in, cm, mm, pt). From 0.1in to 200in. Default: that of Letter."`
	Height            Length      `json:"height,omitzero" jsonschema_description:"Paper height, in the same form as width. Default: that of Letter."`
	Landscape         bool        `json:"landscape,omitempty" jsonschema:"default=false" jsonschema_extras:"x-common=true" jsonschema_description:"If true, swap the width and the height of the paper."`
	Margin            Margin      `json:"margin,omitzero" jsonschema_description:"Page margins. Headers and footers are printed inside the margins: leave at least 15mm for each."`
	Scale             float64     `json:"scale,omitempty" jsonschema:"minimum=0.1,maximum=2,default=1" jsonschema_extras:"x-common=true" jsonschema_description:"Zoom of the page's content, from 0.1 to 2."`
	PrintBackground   *bool       `json:"printBackground,omitempty" jsonschema:"default=true" jsonschema_extras:"x-common=true" jsonschema_description:"If true, print background colours and images."`
	PreferCSSPageSize bool        `json:"preferCSSPageSize,omitempty" jsonschema:"default=false" jsonschema_description:"If true, the size in the page's @page rule overrides format, width and height."`
	PageRanges        PageRanges  `json:"pageRanges,omitempty" jsonschema_description:"Pages to print, in document order: 1-3,5, 7- (to the end), -3 (the first three), even, odd or last. Default: all."`
	HeaderTemplate    string      `json:"headerTemplate,omitempty" jsonschema:"maxLength=1048576" jsonschema_description:"HTML of the header, printed in the top margin of each page. Elements of the classes pageNumber, totalPages, date and title are filled in. Set margin.top large enough."`
	FooterTemplate    string      `json:"footerTemplate,omitempty" jsonschema:"maxLength=1048576" jsonschema_description:"HTML of the footer, printed in the bottom margin of each page, in the same form as headerTemplate. Set margin.bottom large enough."`
	MediaType         string      `json:"mediaType,omitempty" jsonschema:"enum=print,enum=screen,default=print" jsonschema_description:"CSS media type of the layout."`
	Metadata          Metadata    `json:"metadata,omitzero" jsonschema_description:"Document information of the PDF."`
	Tagged            bool        `json:"tagged,omitempty" jsonschema:"default=false" jsonschema_description:"If true, add the structure for screen readers. Large documents become much larger."`
	Outline           bool        `json:"outline,omitempty" jsonschema:"default=false" jsonschema_description:"If true, add bookmarks from the page's headings."`
	Formulas          *bool       `json:"formulas,omitempty" jsonschema:"default=true" jsonschema_description:"If false, dollar signs and the brackets of TeX in Markdown are text. If true, they are formulas."`
	HTML              string      `json:"html,omitempty" jsonschema:"enum=filter,enum=allow,default=filter" jsonschema_description:"Raw HTML such as script and style in Markdown. filter: escape it to text. allow: render it."`

	StandardsOptions
	LoadOptions
	TemplateOptions

	Facturx *FacturxOptions `json:"facturx,omitempty" jsonschema_extras:"x-advanced=true" jsonschema_description:"E-invoice to attach: the result is a Factur-X, ZUGFeRD or XRechnung invoice in PDF/A-3. All broken rules are reported before anything is rendered, at no charge."`
}

// Margin holds the four page margins.
type Margin struct {
	Top    Length `json:"top,omitzero" jsonschema_description:"Top margin: a number of CSS pixels, or a string with a unit (px, in, cm, mm, pt). The page's own @page rule overrides it. Default: 0; for markdown 18mm at top and bottom, 16mm at the sides."`
	Right  Length `json:"right,omitzero" jsonschema_description:"Right margin, in the same form as top."`
	Bottom Length `json:"bottom,omitzero" jsonschema_description:"Bottom margin, in the same form as top."`
	Left   Length `json:"left,omitzero" jsonschema_description:"Left margin, in the same form as top."`
}

// Metadata is the document properties of a PDF.
type Metadata struct {
	Title    string   `json:"title,omitempty" jsonschema:"maxLength=1000" jsonschema_description:"Title of the document. Default: the title of the source."`
	Author   string   `json:"author,omitempty" jsonschema:"maxLength=1000" jsonschema_description:"Author of the document."`
	Subject  string   `json:"subject,omitempty" jsonschema:"maxLength=1000" jsonschema_description:"Subject of the document."`
	Keywords Keywords `json:"keywords,omitzero" jsonschema_description:"Keywords: a string, or an array of strings. relaypdf joins these with commas."`
}

// Keywords is a string or an array of strings.
type Keywords struct{ text string }

// JSONSchema returns the schema of Keywords: a string or an array of strings.
func (Keywords) JSONSchema() *jsonschema.Schema {
	long := uint64(1000)
	many := uint64(100)
	word := &jsonschema.Schema{Type: "string", MaxLength: &long}
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{word, {Type: "array", Items: word, MaxItems: &many}}}
}

// SetJSON joins an array's strings by commas.
func (k *Keywords) SetJSON(v any) error {
	switch v := v.(type) {
	case string:
		k.text = v
	case []any:
		words := make([]string, 0, len(v))
		for _, word := range v {
			if word, ok := word.(string); ok {
				words = append(words, word)
			}
		}
		k.text = strings.Join(words, ", ")
	}
	return nil
}

// MarshalText writes the keywords as one string.
func (k Keywords) MarshalText() ([]byte, error) { return []byte(k.text), nil }

// paper is a size in inches.
type paper struct{ width, height float64 }

const mmPerInch = 25.4

var formats = map[string]paper{
	"letter": {8.5, 11}, "legal": {8.5, 14}, "tabloid": {11, 17}, "ledger": {17, 11},
	"a0": {841 / mmPerInch, 1189 / mmPerInch}, "a1": {594 / mmPerInch, 841 / mmPerInch},
	"a2": {420 / mmPerInch, 594 / mmPerInch}, "a3": {297 / mmPerInch, 420 / mmPerInch},
	"a4": {210 / mmPerInch, 297 / mmPerInch}, "a5": {148 / mmPerInch, 210 / mmPerInch},
	"a6": {105 / mmPerInch, 148 / mmPerInch},
}

// PaperFormat is the name of a paper. The empty one is absent.
type PaperFormat string

// maxFormat is more than any name of a paper needs, in characters.
const maxFormat = 32

// JSONSchema returns the schema of a PaperFormat.
func (PaperFormat) JSONSchema() *jsonschema.Schema {
	pattern := "^(" + schema.AnyCase(slices.Sorted(maps.Keys(formats))) + ")$"
	doc := &jsonschema.Schema{Type: "string", MaxLength: new(uint64(maxFormat))}
	return schema.Named("PaperFormat", schema.SetPattern(doc, pattern))
}

// paperBounds are a page's limits in inches. 200 is the largest page of a PDF
// that every reader opens (14,400 units); below a tenth Chromium fails.
var paperBounds = bounds{low: 0.1, high: 200}

// refuseMarkdown refuses the options that only Markdown has.
func (o *PDFOptions) refuseMarkdown(faults *schema.FieldErrors) {
	if o.HTML != "" {
		faults.Add("options.html", "requires markdown")
	}
	if o.Formulas != nil {
		faults.Add("options.formulas", "requires markdown")
	}
}

// allowHTML is the value of options.html that switches GitHub's tag filter off.
const allowHTML = "allow"

// defaultPaper is Letter.
var defaultPaper = formats["letter"]

// JSONSchemaExtend adds rules of several members to the schema.
func (pdfInput) JSONSchemaExtend(doc *jsonschema.Schema) {
	schema.AddRules(doc, schema.ExactlyOne("html", "url", "markdown", "templateId", "file", "fileId"))
}

// Validate checks the rules that the schema cannot express.
func (in *pdfInput) Validate() error {
	var faults schema.FieldErrors
	sources := []source{{"html", in.HTML}, {"url", in.URL}, {"markdown", in.Markdown}, {"templateId", in.TemplateID}}
	if err := checkSources(&faults, append(sources, in.sources()...)...); err != nil {
		return err
	}

	if in.Markdown != nil {
		about, unread := render.ReadFrontMatter(*in.Markdown)
		if err := in.Options.takeFrontMatter(&faults, "markdown", about, unread); err != nil {
			return err
		}
	} else {
		in.Options.refuseMarkdown(&faults)
	}

	in.Options.check(&faults, in.URL != nil)
	if f := in.Options.Facturx; f != nil {
		if f.Invoice.IsZero() && f.XML == nil {
			f.Invoice.Object = in.TemplateData
		}
		f.check(&faults, "options.facturx.")
	}

	in.TemplateInput.validate(&faults)
	in.SiteInput.validate(&faults, in.URL != nil)
	return failures(faults)
}

// check faults options that cannot be.
func (o *PDFOptions) check(faults *schema.FieldErrors, hasURL bool) {
	o.layout(faults)
	o.PageRanges.check(faults, "options.pageRanges")
	o.checkStandards(faults, o.Facturx != nil)
	o.LoadOptions.validate(faults, hasURL)
	o.TemplateOptions.validate(faults)
}

// layout returns the paper and its margins in inches, and adds a validation error if nothing can be printed on it.
func (o *PDFOptions) layout(faults *schema.FieldErrors) (paper, render.Margin) {
	size := paper{
		width:  o.Width.check(faults, "options.width", paperBounds, defaultPaper.width),
		height: o.Height.check(faults, "options.height", paperBounds, defaultPaper.height),
	}

	if o.Format != "" {
		named, ok := formats[strings.ToLower(string(o.Format))]
		if !ok {
			faults.Add(
				"options.format",
				"must be one of Letter, Legal, Tabloid, Ledger or A0 to A6 (case-insensitive); got %.20q",
				o.Format,
			)
		} else {
			size = named
		}
	}

	return size, o.Margin.fit(faults, size, o.Landscape)
}

// fit returns the margins in inches, and faults those that leave no room on a
// paper of that size.
func (m *Margin) fit(faults *schema.FieldErrors, size paper, landscape bool) render.Margin {
	if landscape {
		size.width, size.height = size.height, size.width
	}

	side := func(name string, l Length, room float64) *float64 {
		if l.IsZero() {
			return nil
		}
		n := l.check(faults, "options.margin."+name, bounds{high: room}, 0)
		return &n
	}

	unit := func(own, other Length) Length {
		if own.IsZero() {
			return other
		}
		return own
	}

	margin := render.Margin{
		Top: side("top", m.Top, size.height), Right: side("right", m.Right, size.width),
		Bottom: side("bottom", m.Bottom, size.height), Left: side("left", m.Left, size.width),
	}

	if sum := either(margin.Top, 0) + either(margin.Bottom, 0); sum >= size.height {
		faults.Add(
			"options.margin.bottom", "is too large: top and bottom margins are %s in total on a page %s high",
			unit(m.Bottom, m.Top).text(sum), unit(m.Bottom, m.Top).text(size.height),
		)
	}

	if sum := either(margin.Left, 0) + either(margin.Right, 0); sum >= size.width {
		faults.Add(
			"options.margin.right", "is too large: left and right margins are %s in total on a page %s wide",
			unit(m.Right, m.Left).text(sum), unit(m.Right, m.Left).text(size.width),
		)
	}

	return margin
}

// settings returns the options in the renderer's type.
func (o *PDFOptions) settings() render.PDF {
	var checked schema.FieldErrors // by Validate, which found none
	size, margin := o.layout(&checked)
	return render.PDF{
		Width: size.width, Height: size.height, Margin: margin, Landscape: o.Landscape,
		Scale: either(
			nonZero(o.Scale), 1,
		), PrintBackground: either(o.PrintBackground, true), PreferCSSPageSize: o.PreferCSSPageSize,
		Header: o.HeaderTemplate, Footer: o.FooterTemplate, PageRanges: string(o.PageRanges),
		Tagged: o.Tagged, Outline: o.Outline,
		Metadata: o.Metadata.info(), Standards: wanted(o.Standards), StandardsStrict: o.StandardsStrict,
	}
}

// Admit asks the browser's queue.
func (in *pdfInput) Admit(deps *Deps) error { return deps.admit() }

// Pin fixes the template's version.
func (in *pdfInput) Pin(ctx context.Context, deps *Deps, input map[string]any) (changed bool, err error) {
	return in.pin(ctx, deps, input, anyOption)
}

// runPDF prints the source.
func runPDF(ctx context.Context, deps *Deps, in *pdfInput) (schema.Result, error) {
	page := in.Options.page(in.URL != nil)
	page.Media = in.Options.MediaType
	settings := in.Options.settings()
	xml := ""
	if in.Options.Facturx != nil {
		var err error
		if xml, err = in.Options.Facturx.readXML(ctx, deps, "options.facturx."); err != nil {
			return schema.Result{}, err
		}
		settings.Standards = archival(settings.Standards)
		settings.Archival = true
	}
	src := render.Source{
		HTML:      text(in.HTML),
		URL:       text(in.URL),
		Markdown:  text(in.Markdown),
		AllowHTML: in.Options.HTML == allowHTML,
		Formulas:  in.Options.Formulas,
	}
	if in.TemplateID != nil {
		var err error
		if src.HTML, err = in.fill(ctx, deps, in.Options.TemplateOptions, &page); err != nil {
			return schema.Result{}, err
		}
	}

	doc, err := withSite(ctx, deps, &in.SiteInput, &src, func() (chrome.PrintedPDF, error) {
		return deps.Render.PDF(ctx, src, page, settings)
	})

	if err != nil {
		return schema.Result{}, fieldError(err)
	}
	result := schema.Result{
		Stem:        "document",
		Extension:   ".pdf",
		ContentType: "application/pdf",
		Body:        doc.Body,
		Warnings:    warnings(doc.Warnings),
	}
	if in.Options.Facturx != nil {
		return in.Options.Facturx.withInvoice(ctx, deps, result, xml)
	}
	return result, nil
}

// warnings converts the warnings of a page to those of the API.
func warnings(found []chrome.Warning) []schema.Warning {
	var told []schema.Warning
	for _, w := range found {
		warning := schema.Warning{Code: w.Code, Message: w.Message, URL: w.URL}
		if p := w.Parts; p != nil {
			warning.Page = p.Page
			warning.Element = p.Element
			warning.Text = p.Text
			warning.Problem = p.Problem
			warning.Remedy = p.Remedy
			warning.Standards = p.Standards
		}
		told = append(told, warning)
	}
	return told
}

// PageURL is the address of the page, empty if there is none.
func (in *pdfInput) PageURL() string {
	if in.URL == nil {
		return ""
	}
	return *in.URL
}
