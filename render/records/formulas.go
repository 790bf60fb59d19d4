package records

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
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
		if err == nil {
			compareAsText(book)
		}
	}
	if b.formulas.refused {
		return missing
	}

	value, err := b.formulas.book.CalcCellValue(b.formulas.sheet, c.Ref, excelize.Options{RawCellValue: true})
	switch {
	case err != nil && strings.HasPrefix(value, "#"):
		return unread(fmt.Sprintf("cell %.20s has the error %.20s", c.Ref, value))
	case err != nil:
		return missing
	case value == "TRUE" || value == "FALSE":
		return value == "TRUE"
	case value == "" && b.formulas.refersToEmpty(c.Ref):
		value = "0"
	case !calculatedNumber(value):
		return value
	}
	return b.number(value, c.Style)
}

var (
	// formulaElement matches a formula in a sheet's XML.
	formulaElement = regexp.MustCompile(`<(?:\w+:)?f(?: [^>]*)?>[^<]+</`)
	// quotedText matches a text in it, with the comparison before.
	quotedText = regexp.MustCompile(`(?:&lt;&gt;|(?:&[lg]t;)?=)?\s*"(?:[^"]|"")*"`)
)

// compareAsText rewrites comparisons with an empty text: A9="" becomes A9&""="". The library takes an empty cell for 0,
// which differs from "".
func compareAsText(book *excelize.File) {
	rewrite := func(text []byte) []byte {
		operator, value, _ := strings.Cut(string(text), `"`)
		operator = strings.TrimSpace(operator)
		if value != `"` || operator != "=" && operator != "&lt;&gt;" {
			return text
		}
		return append([]byte(`&amp;""`), text...)
	}

	book.Pkg.Range(func(name, content any) bool {
		path, _ := name.(string)
		sheet, ok := content.([]byte)
		if !ok || !strings.Contains(path, "worksheets/") || !hasEmptyText(sheet) {
			return true
		}

		book.Pkg.Store(path, formulaElement.ReplaceAllFunc(sheet, func(element []byte) []byte {
			if !hasEmptyText(element) {
				return element
			}
			tag, formula, _ := bytes.Cut(element, []byte(">"))
			formula = bytes.ReplaceAll(formula, []byte("&quot;"), []byte(`"`))
			return slices.Concat(tag, []byte(">"), quotedText.ReplaceAllFunc(formula, rewrite))
		}))
		return true
	})
}

// hasEmptyText reports whether a part of a sheet's XML may have an empty text in a formula.
func hasEmptyText(part []byte) bool {
	return bytes.Contains(part, []byte(`""`)) || bytes.Contains(part, []byte("&quot;&quot;"))
}

// calculatedNumber reports whether a result is written as the library writes numbers. It returns texts without a mark:
// 00501 is one, and would become the number 501.
func calculatedNumber(result string) bool {
	number := parseNumber(result)
	return result == strconv.FormatFloat(number, 'f', -1, 64) || result == strconv.FormatFloat(number, 'G', 15, 64)
}

// onlyReference matches a formula that is a reference to one cell of its sheet.
var onlyReference = regexp.MustCompile(`^\$?[A-Z]{1,3}\$?[0-9]{1,7}$`)

// refersToEmpty reports whether the formula of a cell is a reference to an empty cell, maybe by way of others like it.
// Spreadsheets show 0.
func (f *formulas) refersToEmpty(ref string) bool {
	const maxReferences = 100
	for range maxReferences {
		formula, err := f.book.GetCellFormula(f.sheet, ref)
		if err != nil || formula == "" {
			return err == nil
		}
		if !onlyReference.MatchString(formula) {
			return false
		}
		ref = strings.ReplaceAll(formula, "$", "")
	}
	return false
}

// close removes what the library has stored.
func (f *formulas) close() {
	if f.book != nil {
		_ = f.book.Close() // It was only read.
	}
}
