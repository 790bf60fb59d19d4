package office

import (
	"bytes"
	"encoding/csv"
	"fmt"
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
	// numbers are the formats of columns whose numbers have equally many decimals.
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
		how.filter, how.options = "calc_HTML_WebQuery", fmt.Sprint(english, " false")
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
	how.options = fmt.Sprintf("%d,%d,%d,%d,%s,%d,false,false", separator, quote, utf8Charset, firstLine, columns.formats(), language)
	how.numbers = columns.numberFormats(language == german)
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
	best, bestEqual, bestFields := separators[0], 0, 1
	for _, separator := range separators {
		in := newCSVReader(content[:min(len(content), sample)], separator)
		fields, equal := 0, 0
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
			best, bestEqual, bestFields = separator, equal, fields
		}
	}
	return best
}

func newCSVReader(content []byte, separator rune) *csv.Reader {
	in := csv.NewReader(bytes.NewReader(content))
	in.Comma, in.FieldsPerRecord, in.LazyQuotes, in.ReuseRecord = separator, -1, true, true
	return in
}

// columns describes the fields of a CSV file.
type columns struct {
	// text are the columns, from 0, whose fields are text although they look like numbers
	// or formulas: article numbers, phone numbers.
	text map[int]bool
	// commas and points count the numbers with either before their decimals.
	commas, points int
	// amounts describe the columns of numbers.
	amounts map[int]*amounts
}

// amounts describes the numbers of a column.
type amounts struct {
	// decimals is their number of decimals, or -1 if they differ.
	decimals int
	// commas reports whether their decimals follow a comma, and grouped whether a number has groups of thousands.
	commas, grouped bool
}

// numberFormat is the format of a column, in the language of its numbers.
type numberFormat struct {
	Column int    `json:"column"`
	Code   string `json:"code"`
	German bool   `json:"german"`
}

// amount notes a number of a column. Numbers of different forms have no common format.
func (c *columns) amount(column int, field string) {
	commas := commaDecimal.MatchString(field)
	decimals := -1
	if commas || pointDecimal.MatchString(field) {
		decimals = len(field) - 1 - strings.LastIndexAny(field, ".,")
	}
	known := c.amounts[column]
	if known == nil {
		known = &amounts{decimals: decimals, commas: commas}
		c.amounts[column] = known
	}
	if known.decimals != decimals || known.commas != commas {
		known.decimals = -1
	}
	known.grouped = known.grouped || strings.Count(field, ".")+strings.Count(field, ",") > 1
}

// numberFormats returns the formats with which numbers are shown as they are written.
func (c *columns) numberFormats(inGerman bool) (list []numberFormat) {
	for _, column := range slices.Sorted(maps.Keys(c.amounts)) {
		a := c.amounts[column]
		if a.decimals < 1 || a.commas != inGerman || c.text[column] {
			continue
		}
		code := "0." + strings.Repeat("0", a.decimals)
		if a.grouped {
			code = "#,##" + code
		}
		if inGerman {
			code = strings.NewReplacer(".", ",", ",", ".").Replace(code)
		}
		list = append(list, numberFormat{column, code, inGerman})
	}
	return list
}

var (
	notNumber    = regexp.MustCompile(`^\+?(0\d+|\d{16,})$`)
	commaDecimal = regexp.MustCompile(`^-?\d{1,3}(\.?\d{3})*,\d+$`)
	pointDecimal = regexp.MustCompile(`^-?\d{1,3}(,?\d{3})*\.\d+$`)
)

func inspectColumns(content []byte, separator rune) columns {
	found := columns{text: map[int]bool{}, amounts: map[int]*amounts{}}
	in := newCSVReader(content, separator)
	for {
		record, err := in.Read()
		if err != nil {
			return found
		}
		for i, field := range record {
			if field == "" || !strings.ContainsRune("=+-0123456789", rune(field[0])) {
				continue
			}
			found.amount(i, field)
			switch {
			case field[0] == '=':
				// Data must not run: formulas come from spreadsheets.
				found.text[i] = true
			case notNumber.MatchString(field):
				found.text[i] = true
			case commaDecimal.MatchString(field):
				found.commas++
			case pointDecimal.MatchString(field):
				found.points++
			}
		}
	}
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
