package records

import (
	"archive/zip"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of the parts of a workbook, in decompressed bytes.
const (
	maxSheet   = 128 << 20
	maxStrings = 64 << 20
	maxPart    = 8 << 20 // of the others
	maxEntries = 10_000
)

// workbook is an XLSX file that is being read.
type workbook struct {
	parts   map[string]*zip.File
	strings []string
	dates   []bool // by the number of a style: whether its numbers are dates
	from    time.Time

	formulas formulas
}

// readXLSX reads the first visible sheet of a workbook, whose first row with content names the columns.
func readXLSX(file io.ReaderAt, size int64, w *writer) error {
	archive, err := zip.NewReader(file, size)
	if err != nil {
		return fault("is a damaged XLSX file: %.100v", err)
	}
	if len(archive.File) > maxEntries {
		return fault("is an XLSX file of %d parts; the limit is %d", len(archive.File), maxEntries)
	}

	book := &workbook{parts: map[string]*zip.File{}, formulas: formulas{file: io.NewSectionReader(file, 0, size)}}
	defer book.formulas.close()
	for _, part := range archive.File {
		book.parts[strings.ToLower(strings.TrimPrefix(part.Name, "/"))] = part
	}

	sheet, err := book.open()
	if err != nil {
		return err
	}
	return book.readSheet(sheet, w)
}

// open reads the parts before the sheet, and returns the sheet's name.
func (b *workbook) open() (sheet string, err error) {
	var about struct {
		Properties struct {
			Date1904 string `xml:"date1904,attr"`
		} `xml:"workbookPr"`
		Sheets []struct {
			State string     `xml:"state,attr"`
			Name  string     `xml:"name,attr"`
			Attrs []xml.Attr `xml:",any,attr"`
		} `xml:"sheets>sheet"`
	}

	if b.parts["xl/workbook.xml"] == nil {
		return "", fault("is an archive and not an XLSX file")
	}
	if err := b.part("xl/workbook.xml", maxPart, &about); err != nil {
		return "", err
	}

	b.from = time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	if about.Properties.Date1904 == "1" || about.Properties.Date1904 == "true" {
		b.from = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	}

	var links struct {
		Relationships []struct {
			ID     string `xml:"Id,attr"`
			Target string `xml:"Target,attr"`
		} `xml:"Relationship"`
	}
	if err := b.part("xl/_rels/workbook.xml.rels", maxPart, &links); err != nil {
		return "", err
	}

	for _, listed := range about.Sheets {
		if listed.State != "" && listed.State != "visible" {
			continue
		}
		at := slices.IndexFunc(listed.Attrs, func(a xml.Attr) bool {
			return a.Name.Local == "id" && a.Name.Space != ""
		})
		for _, link := range links.Relationships {
			if at >= 0 && link.ID == listed.Attrs[at].Value && sheet == "" {
				sheet = resolve(link.Target)
				b.formulas.sheet = listed.Name
			}
		}
	}

	if sheet == "" || b.parts[sheet] == nil {
		return "", fault("is an XLSX file without a visible sheet")
	}
	if err := b.readStyles(); err != nil {
		return "", err
	}
	return sheet, b.readStrings()
}

// resolve returns the name of a part that the workbook refers to.
func resolve(target string) string {
	if !strings.HasPrefix(target, "/") {
		target = "xl/" + target
	}
	return strings.ToLower(strings.TrimPrefix(path.Clean("/"+target), "/"))
}

// stream opens a part that is there. A part that has more bytes than the archive says is an error of its reader.
func (b *workbook) stream(name string, limit uint64) (*xml.Decoder, io.Closer, error) {
	part := b.parts[name]
	if part.UncompressedSize64 > limit {
		return nil, nil, fault("is an XLSX file with a part of %d bytes, %.100q; the limit is %d",
			part.UncompressedSize64, name, limit)
	}

	content, err := part.Open()
	if err != nil {
		return nil, nil, fault("is a damaged XLSX file: %.100v", err)
	}
	return xml.NewDecoder(content), content, nil
}

// part reads a small part, if it is there.
func (b *workbook) part(name string, limit uint64, to any) error {
	if b.parts[name] == nil {
		return nil
	}
	decoder, content, err := b.stream(name, limit)
	if err != nil {
		return err
	}
	defer content.Close()
	return xmlFault(name, decoder.Decode(to))
}

// xmlFault returns the error of a part.
func xmlFault(name string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return fault("is a damaged XLSX file: %s: %.100v", name, err)
}

// readStyles finds the styles whose numbers are dates.
func (b *workbook) readStyles() error {
	var styles struct {
		Formats []struct {
			ID   int    `xml:"numFmtId,attr"`
			Code string `xml:"formatCode,attr"`
		} `xml:"numFmts>numFmt"`
		Cells []struct {
			Format int `xml:"numFmtId,attr"`
		} `xml:"cellXfs>xf"`
	}

	if err := b.part("xl/styles.xml", maxPart, &styles); err != nil {
		return err
	}

	own := map[int]string{}
	for _, format := range styles.Formats {
		own[format.ID] = format.Code
	}
	for _, cell := range styles.Cells {
		code, custom := own[cell.Format]
		b.dates = append(b.dates, custom && dateFormat(code) || !custom && builtInDate(cell.Format))
	}
	return nil
}

// builtInDate reports whether a format without a code of its own is one of dates or times (ECMA-376, 18.8.30).
func builtInDate(id int) bool {
	return id >= 14 && id <= 22 || id >= 27 && id <= 36 || id >= 45 && id <= 47 || id >= 50 && id <= 58
}

// dateFormat reports whether a format code shows a date or a time: outside quotes, escapes and brackets it has the
// letter of a part of one. Only the section of positive numbers counts.
func dateFormat(code string) bool {
	for i := 0; i < len(code); i++ {
		switch c := code[i]; c {
		case ';':
			return false
		case '\\', '_', '*':
			i++
		case '"':
			i = skipTo(code, i, '"')
		case '[':
			end := skipTo(code, i, ']')
			if end == i {
				return false // It is not closed.
			}
			elapsed := strings.ToLower(code[i+1 : end])
			if strings.Trim(elapsed, "h") == "" || strings.Trim(elapsed, "m") == "" || strings.Trim(elapsed, "s") == "" {
				return false // A duration is a number.
			}
			i = end
		case 'd', 'D', 'm', 'M', 'y', 'Y', 'h', 'H', 's', 'S':
			return true
		}
	}
	return false
}

// skipTo returns the place of the next end after i, or the last one.
func skipTo(code string, i int, end byte) int {
	if n := strings.IndexByte(code[i+1:], end); n >= 0 {
		return i + 1 + n
	}
	return len(code) - 1
}

// readStrings reads the texts that cells refer to.
func (b *workbook) readStrings() error {
	const name = "xl/sharedstrings.xml"
	if b.parts[name] == nil {
		return nil
	}

	return b.each(name, maxStrings, "si", func(decoder *xml.Decoder, start xml.StartElement) error {
		var item richText
		err := decoder.DecodeElement(&item, &start)
		b.strings = append(b.strings, item.String())
		return xmlFault(name, err)
	})
}

// each passes the elements of a name in a part to f, which reads each of them up to its end.
func (b *workbook) each(name string, limit uint64, element string, f func(*xml.Decoder, xml.StartElement) error) error {
	decoder, content, err := b.stream(name, limit)
	if err != nil {
		return err
	}
	defer content.Close()

	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return xmlFault(name, err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == element {
			if err := f(decoder, start); err != nil {
				return err
			}
		}
	}
}

// richText is a text, in one part or in several.
type richText struct {
	Text string   `xml:"t"`
	Runs []string `xml:"r>t"`
}

func (t richText) String() string { return t.Text + strings.Join(t.Runs, "") }

// cell is a cell of a sheet.
type cell struct {
	Ref    string   `xml:"r,attr"`
	Style  int      `xml:"s,attr"`
	Type   string   `xml:"t,attr"`
	Value  string   `xml:"v"`
	Inline richText `xml:"is"`
	// Formula is its text, which may be empty; nil means that there is none.
	Formula *string `xml:"f"`
}

// readSheet reads the rows of a sheet.
func (b *workbook) readSheet(name string, w *writer) error {
	var h header
	number := 0

	return b.each(name, maxSheet, "row", func(decoder *xml.Decoder, start xml.StartElement) error {
		number++
		if n, err := strconv.Atoi(attribute(start, "r")); err == nil {
			number = n
		}

		cells, err := b.readRow(decoder, number)
		if err != nil || !slices.ContainsFunc(cells, func(v any) bool { return v != nil && v != "" }) {
			return xmlFault(name, err)
		}
		return b.tableRow(&h, cells, number, w)
	})
}

// tableRow reads the names of the columns, or writes a record.
func (b *workbook) tableRow(h *header, cells []any, number int, w *writer) error {
	if !h.exists {
		names := make([]string, len(cells))
		for i, v := range cells {
			if why, bad := v.(unread); bad {
				return fault("has no name for column %d: %s", i+1, why)
			}
			if v != nil {
				names[i] = fmt.Sprint(v)
			}
		}
		return h.set(names, w.flat)
	}

	for i, v := range cells {
		why, bad := v.(unread)
		switch {
		case bad && i < len(h.paths) && h.paths[i] != nil:
			return w.fail(string(why))
		case bad:
			cells[i] = nil
		}
	}

	record, err := h.record(cells, number)
	if err != nil {
		return err
	}
	return w.write(record)
}

func attribute(start xml.StartElement, name string) string {
	for _, a := range start.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// readRow reads the cells of a row, up to its end.
func (b *workbook) readRow(decoder *xml.Decoder, row int) (cells []any, err error) {
	next := 0 // the column of a cell without a reference
	for {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.EndElement:
			return cells, nil
		case xml.StartElement:
			if token.Name.Local != "c" {
				if err := decoder.Skip(); err != nil {
					return nil, err
				}
				continue
			}

			var c cell
			if err := decoder.DecodeElement(&c, &token); err != nil {
				return nil, err
			}

			at := next
			if c.Ref != "" {
				at = column(c.Ref)
			} else {
				c.Ref = reference(at, row)
			}
			next = at + 1

			v, err := b.value(c)
			if err != nil {
				return nil, err
			}
			if v == nil || v == "" {
				continue
			}

			if at < 0 || at >= MaxColumns {
				return nil, fault("has a value after column %d in row %d", MaxColumns, row)
			}
			for len(cells) <= at {
				cells = append(cells, nil)
			}
			cells[at] = v
		}
	}
}

// column returns the number of the column of a reference such as AB12, from 0; -1 for anything else.
func column(ref string) int {
	n := 0
	for i := 0; i < len(ref) && ref[i] >= 'A' && ref[i] <= 'Z'; i++ {
		if n = n*26 + int(ref[i]-'A') + 1; n > MaxColumns {
			return MaxColumns
		}
	}
	return n - 1
}

// reference returns the reference of a cell whose column counts from 0.
func reference(column, row int) string {
	letters := ""
	for column++; column > 0; column = (column - 1) / 26 {
		letters = string(rune('A'+(column-1)%26)) + letters
	}
	return letters + strconv.Itoa(row)
}

// value returns the value of a cell: a text, a number, true or false; nil if it is empty, and unread if it has no
// value.
func (b *workbook) value(c cell) (any, error) {
	if c.Formula != nil && c.Value == "" && c.Type != "str" && c.Type != "inlineStr" {
		return b.calculate(c), nil
	}

	switch c.Type {
	case "e":
		return unread(fmt.Sprintf("cell %.20s has the error %.20s", c.Ref, c.Value)), nil
	case "s":
		n, err := strconv.Atoi(strings.TrimSpace(c.Value))
		if err != nil || n < 0 || n >= len(b.strings) {
			return nil, fault("is a damaged XLSX file: cell %.20s refers to a missing text", c.Ref)
		}
		return b.strings[n], nil
	case "inlineStr":
		return c.Inline.String(), nil
	case "b":
		return c.Value == "1" || c.Value == "true", nil
	case "str", "d":
		return c.Value, nil
	}

	if c.Value == "" {
		return nil, nil
	}
	return b.number(c.Value, c.Style), nil
}

// number returns a value that is a number as a rule, or a date because of its style.
func (b *workbook) number(value string, style int) any {
	number := parseNumber(value)
	if math.IsInf(number, 0) || math.IsNaN(number) {
		return value
	}

	if style >= 0 && style < len(b.dates) && b.dates[style] {
		if text, ok := b.date(number); ok {
			return text
		}
	}

	if wholeNumber.MatchString(value) {
		return json.Number(value) // with all its digits
	}
	return decimal(number)
}

// wholeNumber matches a whole number as JSON writes it.
var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,40})$`)

// parseNumber returns the number of a text; NaN if it is none.
func parseNumber(text string) float64 {
	number, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return math.NaN()
	}
	return number
}

// decimal returns a number with the 15 digits that spreadsheets show: they store 19.99 as 19.989999999999998.
func decimal(number float64) json.Number {
	const maxDigits = 40
	short, _ := strconv.ParseFloat(strconv.FormatFloat(number, 'g', 15, 64), 64)
	if text := strconv.FormatFloat(short, 'f', -1, 64); len(text) <= maxDigits {
		return json.Number(text)
	}
	return json.Number(strconv.FormatFloat(short, 'e', -1, 64))
}

// maxSerial is the number of the last day of the year 9999.
const maxSerial = 2_958_466

// date returns a number of days in ISO 8601: a date, a time, or both.
func (b *workbook) date(serial float64) (string, bool) {
	if serial < 0 || serial >= maxSerial {
		return "", false
	}

	days, part := math.Modf(serial)
	seconds := int(math.Round(part * 24 * 60 * 60))
	if days == 0 {
		return b.from.Add(time.Duration(seconds) * time.Second).Format(time.TimeOnly), true
	}
	if days < 60 && b.from.Year() == 1899 {
		days++ // Spreadsheets have a day that never was, 29 February 1900.
	}

	day := b.from.AddDate(0, 0, int(days))
	if seconds == 0 {
		return day.Format(time.DateOnly), true
	}
	return day.Add(time.Duration(seconds) * time.Second).Format("2006-01-02T15:04:05"), true
}
