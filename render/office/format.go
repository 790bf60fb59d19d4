package office

import "slices"

// Kind is a family of documents that can be converted to the same targets.
type Kind string

// The kinds of documents.
const (
	KindDocument Kind = "document"     // of a word processor
	KindSheet    Kind = "spreadsheet"  // or a table
	KindSlides   Kind = "presentation" // or a drawing
	KindWeb      Kind = "HTML or Markdown document"
	KindText     Kind = "text"
	KindPDF      Kind = "PDF"
	KindImage    Kind = "image"
	// KindSealed is an encrypted office document, whose kind is known only after it is opened.
	KindSealed Kind = "sealed"
)

// Target is the format that a document is converted to.
type Target string

// The targets.
const (
	ToPDF  Target = "pdf"
	ToDOCX Target = "docx"
	ToXLSX Target = "xlsx"
	ToHTML Target = "html"
	ToPNG  Target = "png"
)

// Targets are all of them.
var Targets = []Target{ToPDF, ToDOCX, ToXLSX, ToHTML, ToPNG}

// Format is the file format of a document.
type Format string

// The formats. Only LibreOffice distinguishes the office formats that are ZIP archives or compound files, by their
// contents.
const (
	FormatOOXML    Format = "ooxml"
	FormatODF      Format = "odf"
	FormatCompound Format = "compound" // doc, xls, ppt, and encrypted OOXML
	FormatRTF      Format = "rtf"
	FormatHTML     Format = "html"
	FormatMarkdown Format = "markdown"
	FormatText     Format = "text"
	FormatCSV      Format = "csv"
	FormatPDF      Format = "pdf"
	FormatImage    Format = "image"
)

// Source is the result of Sniff.
type Source struct {
	Kind   Kind
	Format Format
}

// possible lists the supported conversions: the targets for each kind of source.
var possible = map[Kind][]Target{
	KindDocument: {ToPDF, ToDOCX, ToHTML, ToPNG},
	KindSheet:    {ToPDF, ToXLSX, ToHTML, ToPNG},
	KindSlides:   {ToPDF, ToHTML, ToPNG},
	// Their tables become sheets.
	KindWeb:    {ToPDF, ToDOCX, ToXLSX, ToPNG},
	KindText:   {ToPDF, ToDOCX, ToHTML, ToPNG},
	KindPDF:    {ToDOCX, ToHTML, ToPNG},
	KindImage:  {ToPDF, ToHTML, ToPNG},
	KindSealed: Targets,
}

// Check returns a *PairError when a source cannot become a target.
func (s Source) Check(to Target) error {
	targets := possible[s.Kind]
	if s.Format == FormatMarkdown {
		targets = Targets // HTML too, which HTML is already
	}
	if !slices.Contains(targets, to) {
		return &PairError{Kind: s.Kind, To: to, Possible: targets}
	}
	return nil
}

// Drawn reports whether documents of a kind have pages rather than text that
// flows: HTML of them is a drawing of each page.
func (k Kind) Drawn() bool { return k == KindSlides || k == KindPDF || k == KindImage }

// importFilters maps formats to LibreOffice's import filters, where LibreOffice must not guess. HTML and CSV need
// more options; see prepareText.
var importFilters = map[Format]string{
	FormatRTF:  "Rich Text Format",
	FormatHTML: "HTML (StarWriter)",
	FormatText: "Text (encoded)",
	FormatCSV:  "Text - txt - csv (StarCalc)",
	FormatPDF:  "writer_pdf_import",
}

// exportFilters maps targets to LibreOffice's export filters, by the kind of the open document.
var exportFilters = map[Kind]map[Target]string{
	KindDocument: {ToPDF: "writer_pdf_Export", ToDOCX: "MS Word 2007 XML", ToHTML: "HTML (StarWriter)"},
	KindSheet:    {ToPDF: "calc_pdf_Export", ToXLSX: "Calc MS Excel 2007 XML", ToHTML: "HTML (StarCalc)"},
	KindSlides:   {ToPDF: "impress_pdf_Export"},
}
