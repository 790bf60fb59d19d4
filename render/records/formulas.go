package records

import (
	"fmt"
	"io"
	"strings"

	"github.com/xuri/excelize/v2"
)

// unread is the reason why a cell has no value. It continues a sentence that begins with the name of its record.
type unread string

// formulas calculates formulas whose results are not stored, as in files of programs that do not calculate.
type formulas struct {
	file  io.ReadSeeker
	sheet string
	// book is the workbook once it was needed, and refused means that it cannot be opened.
	book    *excelize.File
	refused bool
}

// calculate returns the result of a cell's formula, or why it has none.
func (b *workbook) calculate(c cell) any {
	missing := unread(fmt.Sprintf("cell %.20s has a formula without a stored result, which cannot be calculated. "+
		"Open and save the file in a spreadsheet application, or remove the formula", c.Ref))

	if b.formulas.book == nil && !b.formulas.refused {
		book, err := excelize.OpenReader(b.formulas.file, excelize.Options{
			RawCellValue: true, UnzipSizeLimit: maxSheet, UnzipXMLSizeLimit: maxStrings,
		})
		b.formulas.book = book
		b.formulas.refused = err != nil
	}
	if b.formulas.refused {
		return missing
	}

	value, err := b.formulas.book.CalcCellValue(b.formulas.sheet, c.Ref, excelize.Options{RawCellValue: true})
	switch {
	case strings.HasPrefix(value, "#"):
		return unread(fmt.Sprintf("cell %.20s has the error %.20s", c.Ref, value))
	case err != nil:
		return missing
	case value == "TRUE" || value == "FALSE":
		return value == "TRUE"
	}
	return b.number(value, c.Style)
}

// close removes what the library has stored.
func (f *formulas) close() {
	if f.book != nil {
		_ = f.book.Close() // It was only read.
	}
}
