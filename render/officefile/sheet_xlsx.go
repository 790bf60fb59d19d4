package officefile

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

// xlsxBook is a workbook of Office Open XML.
type xlsxBook struct {
	*archive
	// main is the part of the workbook, and kind its content type.
	main, kind string
	sheets     []xlsxSheet
	// outdated means that the workbook says that its results are, and calculates that it names a program that
	// calculates results.
	outdated, calculates bool
	strings              []string // the shared texts, once they were read
	// binary means that its parts are records, as in XLSB files.
	binary bool
}

// xlsxSheet is a sheet of cells.
type xlsxSheet struct{ name, part string }

// The part of a package that lists the types of the others, and that of its relations.
const (
	contentTypes = "[Content_Types].xml"
	mainTypes    = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
)

// openXLSX reads what a package says of its workbook.
func openXLSX(path string) (*xlsxBook, error) {
	files, err := openArchive(path)
	if err != nil {
		return nil, err
	}
	b := &xlsxBook{archive: files}
	if err := b.readMain(); err != nil {
		return nil, errors.Join(err, files.Close())
	}
	return b, nil
}

func (b *xlsxBook) readMain() error {
	roots, err := b.relations("")
	if err != nil {
		return err
	}

	for _, r := range roots {
		if r.is("officeDocument") {
			b.main = r.Target
		}
	}

	var types struct {
		Overrides []struct {
			Part string `xml:"PartName,attr"`
			Type string `xml:"ContentType,attr"`
		} `xml:"Override"`
	}
	if err := b.decode(contentTypes, &types); err != nil {
		return err
	}
	for _, o := range types.Overrides {
		if partName(o.Part) == partName(b.main) {
			b.kind = o.Type
		}
	}

	if strings.HasSuffix(b.main, ".bin") {
		return b.readBinary()
	}
	var book struct {
		Calculation struct {
			FullOnLoad string `xml:"fullCalcOnLoad,attr"`
			Completed  string `xml:"calcCompleted,attr"`
		} `xml:"calcPr"`
		Sheets []struct {
			Name string `xml:"name,attr"`
			ID   string `xml:"id,attr"`
		} `xml:"sheets>sheet"`
	}
	if err := b.decode(b.main, &book); err != nil {
		return err
	}
	b.outdated = isTrue(book.Calculation.FullOnLoad) ||
		book.Calculation.Completed != "" && !isTrue(book.Calculation.Completed)
	b.calculates = b.calculated()

	parts, err := b.relations(b.main)
	for _, sheet := range book.Sheets {
		if r := parts[sheet.ID]; r.is("worksheet") && b.parts[partName(r.Target)] != nil {
			b.sheets = append(b.sheets, xlsxSheet{sheet.Name, r.Target})
		}
	}
	return err
}

// calculated reports whether the file names a program that calculates results.
func (b *xlsxBook) calculated() bool {
	var about struct {
		Application string `xml:"Application"`
	}
	if err := b.decode("docProps/app.xml", &about); err != nil {
		return false
	}
	for _, name := range []string{"Microsoft", "LibreOffice", "Collabora", "WPS", "ONLYOFFICE"} {
		if strings.HasPrefix(about.Application, name) {
			return true
		}
	}
	return false
}

func isTrue(value string) bool { return value == "1" || value == "true" }

// plain reports whether the workbook is an XLSX without macros, and no template.
func (b *xlsxBook) plain() bool { return b.kind == mainTypes }

// xlsxCell is a cell with content.
type xlsxCell struct {
	open    token  // the start tag
	ref     string // such as A1
	kind    string // t of the cell
	formula token  // the element f, with its content
	text    string // of the formula
	// value is the element v or is, and stored its text.
	value  token
	stored string
	rest   token // further elements
}

// has reports whether the file has a result of the formula. Programs that do not calculate write an empty value, which
// is a result only of a formula whose result is text.
func (c *xlsxCell) has() bool {
	return c.value != nil && (c.stored != "" || c.kind == "str")
}

// sheetChange is a change of a sheet. A nil function changes nothing.
type sheetChange struct {
	// cell returns what replaces a cell with content; nil keeps the cell.
	cell func(*xlsxCell) []byte
	// text returns what replaces a text of a header or a footer.
	text func(string) string
}

// cells copies a sheet, cell by cell.
type cells struct {
	sheetChange

	source *tokens
	out    *bufio.Writer
	// row and column are the numbers of the current cell, from 1. A cell without a reference follows the one before.
	row, column int
}

// apply is a change of the sheet's part.
func (how sheetChange) apply(in io.Reader, out io.Writer) error {
	s := cells{sheetChange: how, source: newTokens(in), out: bufio.NewWriterSize(out, 64<<10)}
	data := false
	header := false
	for {
		t, err := s.source.next()
		if errors.Is(err, io.EOF) {
			return s.out.Flush()
		}
		if err != nil {
			return err
		}

		switch {
		case t.starts("sheetData"):
			data = !t.empty()
		case t.closes() && string(t.name()) == "sheetData":
			data = false
		case t.tag() && string(t.name()) == "headerFooter":
			header = !t.ends()
		case data && t.starts("row"):
			s.startRow(t)
		case data && t.starts("c"):
			raw, err := s.readCell(slices.Clone(t))
			if err != nil {
				return err
			}
			_, _ = s.out.Write(raw) // Flush returns the error.
			continue
		case header && !t.tag() && s.text != nil:
			if text := t.text(); s.text(text) != text {
				t = token(escape(s.text(text)))
			}
		}

		_, _ = s.out.Write(t)
	}
}

func (s *cells) startRow(t token) {
	s.row++
	s.column = 0
	if n, err := strconv.Atoi(t.attribute("r")); err == nil {
		s.row = n
	}
}

// readCell reads a cell, and returns what replaces it.
func (s *cells) readCell(open token) ([]byte, error) {
	c := xlsxCell{open: open}
	s.column++
	for _, a := range open.attributes() {
		switch a.name {
		case "r":
			if column, row := splitRef(a.value); column > 0 {
				s.column, s.row = column, row
			}
		case "t":
			c.kind = a.value
		}
	}

	if open.empty() {
		return open, nil
	}
	c.ref = cellRef(s.column, s.row)
	raw, err := c.read(s.source)
	if err != nil || c.value == nil && c.formula == nil {
		return raw, err
	}

	if changed := s.cell(&c); changed != nil {
		raw = changed
	}
	return raw, nil
}

// read reads the cell to its end, and returns all of it.
func (c *xlsxCell) read(source *tokens) (raw token, err error) {
	raw = slices.Clone(c.open)
	var element token
	var text strings.Builder
	depth := 0

	for {
		t, err := source.next()
		if err != nil {
			return nil, err
		}
		raw = append(raw, t...)
		if depth == 0 && t.closes() {
			return raw, nil
		}
		if depth == 0 && !t.tag() {
			continue // The space between elements.
		}

		element = append(element, t...)
		switch {
		case !t.tag():
			text.WriteString(t.text())
		case t.closes():
			depth--
		case !t.empty():
			depth++
		}
		if depth == 0 {
			c.add(element, text.String())
			element = nil
			text.Reset()
		}
	}
}

// add adds an element of the cell.
func (c *xlsxCell) add(element token, text string) {
	switch {
	case element.starts("f"):
		c.formula = element
		c.text = text
	case element.starts("v"), element.starts("is"):
		c.value = element
		c.stored = text
	default:
		c.rest = append(c.rest, element...)
	}
}

// contains reports whether a sheet has one of some texts.
func (b *xlsxBook) contains(sheet xlsxSheet, texts ...string) (bool, error) {
	in, err := b.stream(sheet.part)
	if err != nil {
		return false, err
	}
	defer in.Close()

	const chunk, overlap = 256 << 10, 16
	buffer := make([]byte, overlap, chunk+overlap)
	for {
		n, err := io.ReadFull(in, buffer[overlap:cap(buffer)])
		for _, text := range texts {
			if bytes.Contains(buffer[:overlap+n], []byte(text)) {
				return true, nil
			}
		}

		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return false, nil
		case err != nil:
			return false, err
		}
		copy(buffer[:overlap], buffer[n:overlap+n]) // The end may be the beginning of a match.
	}
}

// splitRef returns the numbers of the column and the row of a reference such as AB12, from 1; 0 for anything else.
func splitRef(ref string) (column, row int) {
	at := 0
	for at < len(ref) && ref[at] >= 'A' && ref[at] <= 'Z' && at < 4 {
		column = column*26 + int(ref[at]-'A') + 1
		at++
	}
	row, err := strconv.Atoi(ref[at:])
	if err != nil || row < 1 || at == 0 {
		return 0, 0
	}
	return column, row
}

// cellRef returns the reference of a cell.
func cellRef(column, row int) string {
	var letters []byte
	for ; column > 0; column = (column - 1) / 26 {
		letters = append(letters, byte('A'+(column-1)%26))
	}
	slices.Reverse(letters)
	return string(letters) + strconv.Itoa(row)
}
