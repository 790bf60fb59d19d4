package office

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/officefile"
)

// convertArgs are the arguments of a convertJob. Its only input is called
// inputName, its output is the document.
type convertArgs struct {
	Source   Source
	Name     string
	To       Target
	Password string
	MaxPages int
	Print    Print
	Results
	// PageSizes and Linked are Conversion's.
	PageSizes []PageSize
	Linked    map[string]string
}

// Print holds the settings of a PDF made of an office document.
type Print struct {
	Layout
	// Quality of photographs as JPEG, 1 to 100; 0 means 90.
	Quality int
	// PDFA is the level of PDF/A: 1, 2 or 3, all of conformance b; 0 means none.
	PDFA int
	// Comments exports comments as PDF notes.
	Comments bool
	// Tagged adds the structure for screen readers.
	Tagged bool
}

// Results selects which results are calculated again that a document has stored.
type Results struct {
	// Recalculate is for the formulas of spreadsheets; empty means RecalculateMissing.
	Recalculate officefile.Recalculation
	// Fields is for the fields of texts; empty means FieldsStored.
	Fields officefile.FieldUpdate
}

// filterData returns the options of LibreOffice's export filters.
func (p Print) filterData() map[string]any {
	// As form fields, values of content controls lose the letters that the standard fonts of PDF lack.
	data := map[string]any{"ExportNotes": p.Comments, "UseTaggedPDF": p.Tagged, "ExportFormFields": false}
	if p.Quality > 0 {
		data["UseLosslessCompression"] = false
		data["Quality"] = p.Quality
	}
	if p.PDFA > 0 {
		data["SelectPdfVersion"] = p.PDFA
	}
	return data
}

// ConvertReport describes the result of a conversion, besides the document.
type ConvertReport struct {
	// Kind is the kind of the source, as LibreOffice detected it.
	Kind Kind
	// Pages is the number of pages of a PDF; 0 for other results.
	Pages int
	// Missing are the URLs of images that a Word document links to and that
	// Conversion.Linked lacks. If it is not empty, the conversion made no document.
	Missing []Reference
	// Nowhere are links of such that lead to no image; the first of them.
	Nowhere []string
	// Warnings are about the content of the result.
	Warnings []Warning
}

// Warning is a difference between a document and its conversion.
type Warning struct{ Code, Message string }

// The codes of warnings: about results of formulas, and about letters that may be missing.
const (
	valueRecalculated = "value_recalculated"
	fontMissing       = "font_missing"
)

const inputName = "input"

// convert has LibreOffice convert the input.
func (r *instance) convert(ctx context.Context, w *engine.Work, args convertArgs) ([]byte, error) {
	if r.office == nil {
		return nil, errors.New("no office was started")
	}
	defer r.endAfterEmbeddedFonts(w)

	source, sealed, err := decrypt(w, args)
	if err != nil {
		return nil, err
	}
	args.Source = source

	linked := &linkedImages{}
	if args.Source.Format == FormatOOXML && args.Source.Kind == KindDocument {
		if linked, err = embedLinked(w, inputName, args.Linked); err != nil {
			return nil, err
		}
		if len(linked.missing) > 0 {
			return json.Marshal(ConvertReport{Missing: linked.missing})
		}
	}

	output := "output." + string(args.To)
	d, err := r.prepare(w, args, sealed)
	if err != nil {
		return nil, err
	}
	if args.To == ToPDF {
		if d.fallbacks, err = r.fallbacksFor(ctx, w, d.input, args.Source.Format); err != nil {
			return nil, err
		}
	}

	result, err := d.make(ctx, output)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(w.Path(output)); errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{Reason: Damaged, Detail: "nothing was written"}
	}

	result.Nowhere = linked.nowhere
	switch args.To {
	case ToPDF:
		if result.Pages, err = countPages(w.Path(output)); err == nil && result.Pages > args.MaxPages {
			err = &Error{Reason: TooManyPages, Max: args.MaxPages}
		}
		if err == nil {
			err = finishColour(w.Path(output), r.emojiName)
		}
		if err == nil && args.Print.PDFA > 0 {
			err = agreeOnDates(w.Path(output))
		}
	case ToHTML:
		err = embedImages(w, output)
	}
	if err != nil {
		return nil, err
	}

	w.Output(output)
	return json.Marshal(result)
}

// request returns the order for LibreOffice to write an output; none means that it only opens the document.
func (d *conversion) request(input, output string) workerRequest {
	args := d.args
	o := workerRequest{
		Input:         input,
		Password:      args.Password,
		ImportFilter:  importFilters[args.Source.Format],
		ExportFilters: map[Kind]string{},
		PageSizes:     args.PageSizes,
		// Only PDFs are read as pages with positioned objects.
		KeepPages: args.Source.Format == FormatPDF,
	}
	if output != "" {
		o.Output = d.work.Path(output)
	}

	for kind, filters := range exportFilters {
		if filter := filters[args.To]; filter != "" {
			o.ExportFilters[kind] = filter
		}
	}

	if args.To == ToPDF {
		o.Layout = args.Print.Layout
		o.FilterData = args.Print.filterData()
	}
	if args.To == ToHTML {
		o.ExportOptions = "EmbedImages"
	}

	o.ImportFilter = cmp.Or(d.text.filter, o.ImportFilter)
	o.ImportOptions = d.text.options
	o.FitColumns = d.text.fitColumns
	o.Numbers = d.text.numbers
	return o
}

// failure returns the error that an answer is, or nil.
func (a answer) failure(to Target) error {
	switch a.Error {
	case "":
		return nil
	case "impossible":
		return &PairError{Kind: a.Kind, To: to, Possible: possible[a.Kind]}
	}
	return &Error{Reason: Reason(a.Error), Detail: a.Text}
}

// countPages counts the pages of a PDF that LibreOffice has written. It contains each page's object as plain text.
func countPages(path string) (n int, err error) {
	if n, err = countIn(path, "<</Type/Page/"); err == nil && n == 0 {
		err = fmt.Errorf("no page in %s", path)
	}
	return n, err
}

// countIn counts how often a file has a text.
func countIn(path, text string) (n int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()

	const chunk = 256 << 10
	buffer := make([]byte, 0, chunk+len(text))
	for {
		read, err := f.Read(buffer[len(buffer) : len(buffer)+chunk])
		buffer = buffer[:len(buffer)+read]
		n += bytes.Count(buffer, []byte(text))

		// Keep the end, which may be the start of the next match.
		keep := min(len(buffer), len(text)-1)
		buffer = append(buffer[:0], buffer[len(buffer)-keep:]...)
		switch {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, err
		}
	}
}
