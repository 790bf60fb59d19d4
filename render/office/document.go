package office

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/officefile"
)

// conversion is the input of a conversion, as LibreOffice reads it.
type conversion struct {
	instance *instance
	work     *engine.Work
	args     convertArgs
	// source is the path of the document as it came, and input that of the document as LibreOffice reads it.
	source, input string
	text          textImport
	formulas      officefile.Formulas
	// unread means that stored results of the document could not be read.
	unread    bool
	fallbacks []fallback
}

// sourceDir and inputDir are the folders of a job with the two forms of a document. In both, the document has its own
// name, which its fields may print.
const (
	sourceDir = "source"
	inputDir  = "prepared"
)

// prepare names the input, and rewrites it as LibreOffice is to read it. unread is that of document.
func (r *instance) prepare(w *engine.Work, args convertArgs, unread bool) (*conversion, error) {
	name := documentName(args.Name, args.Source.Format)
	// LibreOffice prints these characters of a file name in the form of URLs.
	onDisk := strings.NewReplacer("%", "_", "#", "_").Replace(name)
	d := &conversion{instance: r, work: w, args: args, source: filepath.Join(w.Path(sourceDir), onDisk), unread: unread}
	d.input = d.source

	err := errors.Join(
		os.Mkdir(w.Path(sourceDir), 0o700),
		os.Mkdir(w.Path(inputDir), 0o700),
		os.Rename(w.Path(inputName), d.source),
	)
	if err != nil {
		return nil, err
	}

	d.keepResults(name)
	d.keepFields()
	d.text, err = prepareText(d.input, args)
	return d, err
}

// decrypt replaces an encrypted document by its content, whose stored results can be kept, and returns what the source
// is then. A document that it cannot decrypt stays as it is, and sealed is true: LibreOffice opens it, or reports what
// is wrong.
func decrypt(w *engine.Work, args convertArgs) (source Source, sealed bool, err error) {
	source = args.Source
	if source.Format != FormatCompound && (source.Format != FormatODF || args.Password == "") {
		return source, false, nil
	}

	opened := false
	err = guard.Try(func() (err error) {
		opened, err = officefile.Decrypt(w.Path(inputName), args.Password)
		return err
	})
	switch {
	case errors.Is(err, officefile.ErrCostly):
		return source, false, &Error{Reason: CostlyKey, Max: officefile.MaxKeyWork}
	case err != nil:
		fmt.Fprintln(os.Stderr, "decrypt:", err)
		return source, true, nil
	case !opened:
		return source, false, nil
	}

	file, err := os.Open(w.Path(inputName))
	if err != nil {
		return source, false, err
	}
	defer file.Close()
	if source, err = Sniff(file, args.Name); err != nil {
		return args.Source, true, nil // LibreOffice reports what is wrong.
	}
	return source, false, nil
}

// keepResults replaces what LibreOffice would calculate by the results that the document has stored. A document that
// cannot be read stays as it is: LibreOffice reports what is wrong.
func (d *conversion) keepResults(name string) {
	var keep func(from, to, name string, which officefile.Recalculation) (officefile.Formulas, error)
	switch d.args.Source {
	case Source{KindSheet, FormatOOXML}:
		keep = officefile.KeepXLSX
	case Source{KindSheet, FormatODF}:
		keep = officefile.KeepODS
	case Source{KindSealed, FormatCompound}:
		keep = officefile.KeepXLS
	default:
		return
	}

	prepared := d.prepared()
	err := guard.Try(func() (err error) {
		d.formulas, err = keep(d.source, prepared, name, d.args.Recalculate)
		return err
	})
	if err != nil {
		d.formulas = officefile.Formulas{}
		d.unread = true
		fmt.Fprintln(os.Stderr, "stored results:", err)
	}

	if d.formulas.Written {
		d.input = prepared
	}
}

// prepared is the path of the document that was rewritten.
func (d *conversion) prepared() string {
	return filepath.Join(d.work.Path(inputDir), filepath.Base(d.source))
}

// keepFields replaces the fields of a text or a presentation by the results that the document has stored. A document
// that cannot be read stays as it is.
func (d *conversion) keepFields() {
	keep := map[Source]func(from, to string) (bool, error){
		{KindDocument, FormatOOXML}: officefile.KeepDOCX, {KindDocument, FormatODF}: officefile.KeepODT,
		{KindSlides, FormatOOXML}: officefile.KeepPPTX, {KindSlides, FormatODF}: officefile.KeepODT,
		{KindDocument, FormatRTF}: officefile.KeepRTF, {KindSealed, FormatCompound}: officefile.KeepDOC,
	}[d.args.Source]
	if keep == nil || d.formulas.Written || d.args.Fields == officefile.FieldsUpdate {
		return
	}

	written := false
	err := guard.Try(func() (err error) {
		written, err = keep(d.source, d.prepared())
		return err
	})
	switch {
	case err != nil:
		d.unread = true
		fmt.Fprintln(os.Stderr, "stored results of fields:", err)
	case written:
		d.input = d.prepared()
	}
}

// make has LibreOffice write the output.
func (d *conversion) make(ctx context.Context, output string) (ConvertReport, error) {
	if d.args.To == ToXLSX && d.formulas.Count > 0 {
		return d.makeWorkbook(ctx, output)
	}
	return d.convert(ctx, d.input, output)
}

// convert has LibreOffice convert one form of the document.
func (d *conversion) convert(ctx context.Context, input, output string) (report ConvertReport, err error) {
	o := d.request(input, output)

	if o.Recalculate = d.formulas.Recalculate; d.formulas.Count > 0 && input == d.input {
		o.Formulas = d.work.Path("formulas.json")
		list, err := json.Marshal(d.formulas)
		if err == nil {
			err = os.WriteFile(o.Formulas, list, 0o600)
		}
		if err != nil {
			return report, err
		}
	}

	o.Unread = d.unread && d.args.Recalculate != officefile.RecalculateAlways &&
		d.args.Fields != officefile.FieldsUpdate
	o.Fallbacks = d.fallbacks
	if d.args.To == ToPDF && slices.Contains(namesFonts, d.args.Source.Format) {
		o.FontNames = true
		o.AvailableFonts = d.instance.availableFonts()
	}

	defer d.work.Watch(d.instance.office, d.instance.worker)()
	a, err := d.instance.ask(ctx, o)
	if err != nil {
		return report, err
	}
	if err := a.failure(d.args.To); err != nil {
		return report, err
	}

	report = ConvertReport{Kind: a.Kind, Warnings: a.warnings()}
	fonts, err := d.instance.unavailable(ctx, d.work, a.MissingFonts)
	for _, name := range fonts {
		report.Warnings = append(report.Warnings, Warning{fontMissing, fmt.Sprintf(
			"font %s is not available, so text uses another font. "+
				"GET /v1/fonts lists the fonts; fonts that the document embeds are available too", name)})
	}

	if err == nil { // The next document may have text in these.
		_, err = d.instance.unavailable(ctx, d.work, a.StyleFonts)
	}
	return report, err
}

// makeWorkbook makes an XLSX file with the formulas of the document and their stored results. A document that is an
// XLSX file keeps everything else that it has.
func (d *conversion) makeWorkbook(ctx context.Context, output string) (report ConvertReport, err error) {
	const values = "values.xlsx"
	to := d.work.Path(output)

	if d.args.Source.Format != FormatOOXML || d.formulas.Binary {
		const formulas = "formulas.xlsx"
		if _, err := d.convert(ctx, d.source, formulas); err != nil {
			return report, err
		}
		if report, err = d.convert(ctx, d.input, values); err != nil {
			return report, err
		}
		return report, officefile.FillXLSX(d.work.Path(formulas), d.work.Path(values), to, officefile.FillAll)
	}

	if d.formulas.Missing == 0 && !d.formulas.Recalculate {
		if report, err = d.convert(ctx, d.input, ""); err != nil { // only to find out whether it can be opened
			return report, err
		}
		return report, officefile.CopyXLSX(d.source, to)
	}

	if report, err = d.convert(ctx, d.input, values); err != nil {
		return report, err
	}
	which := officefile.FillMissing
	if d.formulas.Recalculate {
		which = officefile.FillCalculated
	}
	return report, officefile.FillXLSX(d.source, d.work.Path(values), to, which)
}

// warnings returns what became of formulas, fields and letters.
func (a answer) warnings() (list []Warning) {
	for _, c := range []struct {
		cells cellList
		text  string
	}{
		{a.Cells.Failed, "formulas without a stored result return errors"},
		{a.Cells.Kept, "formulas that cannot be calculated show their stored results"},
		{a.Cells.Changed, "formulas show other results than the stored ones"},
	} {
		if c.cells.Count > 0 {
			list = append(list, Warning{valueRecalculated, c.text + ": " + c.cells.String()})
		}
	}

	if a.Unread > 0 {
		list = append(list, Warning{valueRecalculated, fmt.Sprintf("the stored results of the document could not be read; "+
			"formulas and fields that may show others: %d", a.Unread)})
	}
	if a.Unplaced {
		const lacking = "lines with letters of several scripts or emoji may lack some of these"
		list = append(list, Warning{fontMissing, lacking})
	}

	return list
}

// String lists the cells.
func (l cellList) String() string {
	text := strings.Join(l.First, ", ")
	if more := l.Count - len(l.First); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// documentExtensions are the extensions that a document of a format may have.
var documentExtensions = map[Format][]string{
	FormatOOXML: {
		".docx", ".docm", ".dotx", ".dotm", ".xlsx", ".xlsm", ".xltx", ".xltm", ".xlsb",
		".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm",
	},
	FormatODF: {".odt", ".ott", ".ods", ".ots", ".odp", ".otp", ".odg", ".otg"},
	FormatCompound: {
		".doc", ".dot", ".xls", ".xlt", ".ppt", ".pps", ".pot",
		".docx", ".docm", ".xlsx", ".xlsm", ".pptx", ".pptm",
	},
	FormatRTF:      {".rtf", ".doc"},
	FormatHTML:     {".html", ".htm", ".xhtml"},
	FormatMarkdown: {".md", ".markdown"},
	FormatText:     {".txt"},
	FormatCSV:      {".csv", ".tsv", ".tab"},
	FormatPDF:      {".pdf"},
	FormatImage:    {".png", ".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".webp"},
}

// documentName returns the file name under which LibreOffice reads a document: its own, but without the extension of
// another format, for which LibreOffice could take the document.
func documentName(name string, format Format) string {
	const longest = 200
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return -1
		}
		return r
	}, name[strings.LastIndexAny(name, `/\`)+1:]))

	extension := path.Ext(name)
	lower := strings.ToLower(extension)
	stem := strings.TrimSuffix(name, extension)
	for of, known := range documentExtensions {
		if of != format && slices.Contains(known, lower) && !slices.Contains(documentExtensions[format], lower) {
			extension = ""
		}
	}

	if strings.Trim(stem, ". ") == "" {
		stem = "document"
	}
	for len(stem)+len(extension) > longest && stem != "" {
		_, last := utf8.DecodeLastRuneInString(stem)
		stem = stem[:len(stem)-last]
	}

	if stem+extension == "" || len(extension) > longest {
		return "document"
	}
	return stem + extension
}
