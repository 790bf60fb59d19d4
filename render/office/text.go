package office

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"iter"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// Languages by their numbers in LibreOffice's filters. They decide how numbers are written.
const (
	english = 1033 // 1,234.50
	german  = 1031 // 1.234,50
)

// textImport says how LibreOffice reads a document that is text.
type textImport struct {
	// filter replaces the usual import filter if it is not empty.
	filter, options string
	// fitColumns lays out a table that has no layout.
	fitColumns bool
	// numbers are formats in which numbers are shown as they are written.
	numbers []numberFormat
}

// prepareText makes text of an input readable: it rewrites it in UTF-8.
func prepareText(path string, args convertArgs) (how textImport, err error) {
	prepare, ok := map[Format]func([]byte, convertArgs, *textImport) []byte{
		FormatText: preparePlain, FormatHTML: prepareHTML, FormatCSV: prepareCSV,
	}[args.Source.Format]
	if !ok {
		return how, nil
	}

	content, err := os.ReadFile(path)
	if err != nil {
		return how, fmt.Errorf("input: %w", err)
	}

	readable := prepare(content, args, &how)
	return how, os.WriteFile(path, readable, 0o600)
}

func preparePlain(content []byte, _ convertArgs, how *textImport) []byte {
	how.options = "UTF8"
	return toUTF8(content, "")
}

// prepareHTML writes all characters outside ASCII as references, so that the declared encoding does not matter.
func prepareHTML(content []byte, args convertArgs, how *textImport) []byte {
	if args.To == ToXLSX {
		how.filter = "calc_HTML_WebQuery"
		how.options = fmt.Sprint(english, " false")
	}

	var out bytes.Buffer
	for _, c := range string(toUTF8(content, "text/html")) {
		if c < utf8.RuneSelf {
			out.WriteByte(byte(c))
		} else {
			fmt.Fprintf(&out, "&#%d;", c)
		}
	}
	return out.Bytes()
}

// toUTF8 returns text in UTF-8 without a byte order mark: of a document whose type names
// its encoding, or of one whose encoding must be guessed. Text that is neither UTF-8 nor
// marked is taken for Windows-1252, as in browsers.
func toUTF8(content []byte, contentType string) []byte {
	if utf8.Valid(content) && contentType == "" {
		return bytes.TrimPrefix(content, []byte("\ufeff"))
	}

	encoding, name, _ := charset.DetermineEncoding(content, contentType)
	if name != "utf-8" && utf8.Valid(content) && !bytes.Contains(content, []byte{0}) {
		// Valid UTF-8 is UTF-8, whatever the document declares.
		name = "utf-8"
	}
	if name == "utf-8" {
		return bytes.TrimPrefix(bytes.ToValidUTF8(content, []byte("\ufffd")), []byte("\ufeff"))
	}

	text, err := encoding.NewDecoder().Bytes(content)
	if err != nil {
		text = bytes.ToValidUTF8(content, []byte("\ufffd"))
	}
	return bytes.TrimPrefix(text, []byte("\ufeff"))
}

// separators lists the field separators of CSV files, the usual one first.
var separators = [...]rune{',', ';', '\t', '|'}

// prepareCSV detects the field separator, the format of numbers and the columns that only look like numbers.
func prepareCSV(content []byte, _ convertArgs, how *textImport) []byte {
	how.fitColumns = true
	content = toUTF8(content, "")

	separator, declared := declaredSeparator(content)
	if declared {
		_, content, _ = bytes.Cut(content, []byte("\n"))
	} else {
		separator = guessSeparator(content)
	}

	columns := inspectColumns(content, separator)
	language := english
	if columns.commas > columns.points {
		language = german
	}

	const quote, utf8Charset, firstLine = '"', 76, 1
	how.options = fmt.Sprintf("%d,%d,%d,%d,%s,%d,false,false",
		separator, quote, utf8Charset, firstLine, columns.formats(), language)
	how.numbers = columns.numberFormats(language == german)

	if slices.ContainsFunc(how.numbers, func(n numberFormat) bool { return n.Rows != nil }) {
		if same, err := rewriteCSV(content, separator); err == nil {
			return same
		}
	}
	return content
}

// declaredSeparator reads the first line that some programs write: sep=;
func declaredSeparator(content []byte) (rune, bool) {
	line, _, _ := bytes.Cut(content[:min(len(content), 16)], []byte("\n"))
	rest, ok := strings.CutPrefix(strings.TrimRight(string(line), "\r"), "sep=")
	if separator, size := utf8.DecodeRuneInString(rest); ok && size == len(rest) && separator < utf8.RuneSelf {
		return separator, true
	}
	return 0, false
}

// guessSeparator returns the separator with which the most of the first records
// have as many fields as the first of them, and more than one.
func guessSeparator(content []byte) rune {
	const records, sample = 100, 256 << 10
	best := separators[0]
	bestEqual := 0
	bestFields := 1

	for _, separator := range separators {
		in := newCSVReader(content[:min(len(content), sample)], separator)
		fields := 0
		equal := 0
		for range records {
			record, err := in.Read()
			if err != nil {
				break
			}
			if fields == 0 {
				fields = len(record)
			}
			if len(record) == fields {
				equal++
			}
		}

		if fields > 1 && (equal > bestEqual || equal == bestEqual && fields > bestFields) {
			best = separator
			bestEqual = equal
			bestFields = fields
		}
	}
	return best
}

func newCSVReader(content []byte, separator rune) *csv.Reader {
	in := csv.NewReader(bytes.NewReader(content))
	in.Comma = separator
	in.FieldsPerRecord = -1
	in.LazyQuotes = true
	in.ReuseRecord = true
	return in
}

// columns describes the fields of a CSV file.
type columns struct {
	// text are the columns, from 0, whose fields are text although they look like numbers
	// or formulas: article numbers, phone numbers.
	text map[int]bool
	// commas and points count the numbers with either before their decimals.
	commas, points int
	// forms are the forms of the numbers of each column, with the rows that have them.
	forms map[int]map[form][]rows
}

// form is the form in which a number is written.
type form struct {
	decimals int // -1 is something else than a number
	// commas reports whether its decimals follow a comma. grouped numbers have groups of thousands, long ones could.
	commas, grouped, long bool
	// plain means that it ends with no zero, and has not too many decimals.
	plain bool
	// literal is the number itself, if no format shows it as it is written.
	literal string
}

// rows are the numbers of the first and the last of some rows, from 0.
type rows [2]int

// numberFormat is the format of a column, or of some of its rows, in the language of its numbers.
type numberFormat struct {
	Column int    `json:"column"`
	Code   string `json:"code"`
	German bool   `json:"german"`
	Rows   []rows `json:"rows,omitempty"` // none means all
}

var (
	notNumber      = regexp.MustCompile(`^\+?(0\d+|\d{16,})$`)
	integer        = regexp.MustCompile(`^-?\d+$`)
	commaDecimal   = regexp.MustCompile(`^-?\d{1,3}(\.?\d{3})*,\d+$`)
	pointDecimal   = regexp.MustCompile(`^-?\d{1,3}(,?\d{3})*\.\d+$`)
	groupedInteger = regexp.MustCompile(`^-?\d{1,3}(?:(?:,\d{3}){2,}|(?:\.\d{3}){2,})$`)
	// otherNumber matches more numbers, such as +5, .5, 5. and 1e5.
	otherNumber  = regexp.MustCompile(`^[+-]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?$`)
	negativeZero = regexp.MustCompile(`^-[0.,]+$`)
)

// precision is the number of digits that numbers of spreadsheets have.
const precision = 15

// formOf returns the form of a field.
func formOf(field string) (f form) {
	whole := field
	switch f.commas = commaDecimal.MatchString(field); {
	case f.commas || pointDecimal.MatchString(field):
		const maxDecimals = 9 // decimals without a format
		at := strings.LastIndexAny(field, ".,")
		whole = field[:at]
		f.decimals = len(field) - 1 - at
		f.plain = f.decimals <= maxDecimals && !strings.HasSuffix(field, "0")
	case groupedInteger.MatchString(field):
		f.commas = strings.Contains(field, ".")
	case integer.MatchString(field):
		f.plain = true
	case otherNumber.MatchString(field):
		return form{literal: field}
	default:
		return form{decimals: -1}
	}

	digits := strings.NewReplacer("-", "", ".", "", ",", "").Replace(field)
	if len(strings.TrimLeft(digits, "0")) > precision || negativeZero.MatchString(field) {
		return form{literal: field}
	}

	f.grouped = strings.ContainsAny(whole, ".,")
	f.long = !f.grouped && len(strings.TrimPrefix(whole, "-")) > len("999")
	return f
}

// in returns the form of a number in a language. False means that it is no number there.
func (f form) in(german bool) (form, bool) {
	if f.decimals < 0 {
		return f, false
	}
	if f.commas == german || f.decimals == 0 && !f.grouped {
		return f, true
	}

	const group = 3
	if f.decimals != group || f.grouped || f.long {
		return f, false
	}
	return form{grouped: true}, true // The decimals are a group.
}

// shown reports whether numbers of the form are shown as they are written without a format.
func (f form) shown(german bool) bool {
	return f.plain && !f.grouped && (f.decimals == 0 || !german)
}

// code returns the format of a form.
func (f form) code(german bool) string {
	if f.literal != "" {
		return `"` + f.literal + `"`
	}

	code := "0"
	if f.grouped {
		code = "#,##0"
	}
	if f.decimals > 0 {
		code += "." + strings.Repeat("0", f.decimals)
	}
	if german {
		code = strings.NewReplacer(".", ",", ",", ".").Replace(code)
	}
	return code
}

// maxGroups is the maximum number of groups of rows that get a format, and maxFormats that of the formats.
const (
	maxGroups  = 100_000
	maxFormats = 500
)

// numberFormats returns the formats with which numbers are shown as they are written.
func (c *columns) numberFormats(german bool) (list []numberFormat) {
	left := maxGroups

	for _, column := range slices.Sorted(maps.Keys(c.forms)) {
		if c.text[column] {
			continue
		}

		if common, ok := commonForm(c.forms[column], german); ok {
			list = append(list, numberFormat{Column: column, Code: common.code(german), German: german})
			continue
		}

		for f, at := range c.forms[column] {
			f, ok := f.in(german)
			if !ok || f.shown(german) || len(at) > left || len(list) == maxFormats {
				continue
			}
			left -= len(at)
			list = append(list, numberFormat{column, f.code(german), german, at})
		}
	}
	return list
}

// commonForm returns a form for all numbers of a column, if these have the same number of decimals.
func commonForm(forms map[form][]rows, german bool) (common form, ok bool) {
	long := false
	for f := range forms {
		f, known := f.in(german)
		if !known || f.literal != "" || f.decimals == 0 || ok && f.decimals != common.decimals {
			return common, false
		}
		ok = true
		common.decimals = f.decimals
		common.grouped = common.grouped || f.grouped
		long = long || f.long
	}
	return common, ok && (!common.grouped || !long)
}

// inspectColumns reads the fields of a table.
func inspectColumns(content []byte, separator rune) columns {
	found := columns{text: map[int]bool{}, forms: map[int]map[form][]rows{}}
	for row, record := range records(content, separator) {
		for column, field := range record {
			if field == "" || !strings.ContainsRune("=+-.,0123456789", rune(field[0])) {
				continue
			}

			found.note(row, column, field)
			switch {
			case field[0] == '=':
				// Data must not run: formulas come from spreadsheets.
				found.text[column] = true
			case notNumber.MatchString(field):
				found.text[column] = true
			case commaDecimal.MatchString(field):
				found.commas++
			case pointDecimal.MatchString(field):
				found.points++
			}
		}
	}
	return found
}

// note notes the form of a field.
func (c *columns) note(row, column int, field string) {
	if c.forms[column] == nil {
		c.forms[column] = map[form][]rows{}
	}

	f := formOf(field)
	list := c.forms[column][f]
	if last := len(list) - 1; last >= 0 && list[last][1] == row-1 {
		list[last][1] = row
		return
	}
	c.forms[column][f] = append(list, rows{row, row})
}

// records returns the records of a table with the numbers of their rows, from 0. Empty lines are rows too.
func records(content []byte, separator rune) iter.Seq2[int, []string] {
	return func(yield func(int, []string) bool) {
		in := newCSVReader(content, separator)
		for row, at := 0, 0; ; row++ {
			record, err := in.Read()
			if err != nil {
				return
			}
			for {
				rest, found := bytes.CutPrefix(bytes.TrimPrefix(content[at:], []byte("\r")), []byte("\n"))
				if !found {
					break
				}
				row++
				at = len(content) - len(rest)
			}

			at = int(in.InputOffset())
			if !yield(row, record) {
				return
			}
		}
	}
}

// rewriteCSV writes a table in a form that every program reads alike: rows have the numbers of records.
func rewriteCSV(content []byte, separator rune) ([]byte, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.Comma = separator
	next := 0

	for row, record := range records(content, separator) {
		for ; next < row; next++ {
			w.Flush()
			out.WriteByte('\n')
		}
		if err := w.Write(record); err != nil {
			return nil, err
		}
		next++
	}

	w.Flush()
	return out.Bytes(), w.Error()
}

// formats names the columns of text as the filter takes them.
func (c columns) formats() string {
	const maxColumns, asText = 1024, "/2"
	var parts []string
	for i := range maxColumns {
		if c.text[i] {
			parts = append(parts, strconv.Itoa(i+1)+asText)
		}
	}
	return strings.Join(parts, "/")
}

// officeStyle gives HTML the styles that LibreOffice does not apply from the style sheet of Markdown documents: it
// supports few selectors, and no inheritance by headings.
const officeStyle = `<style>
h1, h2, h3, h4, h5, h6, th, td, p, li, blockquote { font-family: "Noto Sans", "Liberation Sans", sans-serif }
pre, code { font-family: "Liberation Mono", monospace }
</style>
`

// SimplifyHTML rewrites an HTML document that was made of Markdown for LibreOffice, which shows borders of tables
// and boxes of tasks only if they are explicit.
func SimplifyHTML(document []byte) []byte {
	text := strings.NewReplacer(
		"</head>", officeStyle+"</head>",
		"<table>", `<table border="1" cellspacing="0" cellpadding="4">`,
		`<input checked="" disabled="" type="checkbox">`, `<font face="DejaVu Sans">&#x2611;</font>`,
		`<input disabled="" type="checkbox">`, `<font face="DejaVu Sans">&#x2610;</font>`,
	).Replace(string(document))
	return []byte(text)
}
