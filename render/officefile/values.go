package officefile

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
)

// Formulas describes the formulas of a spreadsheet.
type Formulas struct {
	// Count is the number of formulas, and Missing that of formulas without a stored result.
	Count, Missing int
	// Unknown are the cells of the formulas without a stored result by their sheets, up to a number.
	Unknown map[string][]string
	// Recalculate means that the stored results do not count: all formulas are to be calculated.
	Recalculate bool
	// Stored are the results of formulas that are still in the document although they have one.
	Stored []StoredValue
	// Written means that a document for LibreOffice was written.
	Written bool
	// Binary means that FillXLSX and CopyXLSX do not read the document.
	Binary bool
}

// maxUnknown bounds Formulas.Unknown for each sheet.
const maxUnknown = 500_000

// miss notes a formula without a stored result.
func (f *Formulas) miss(sheet, ref string) {
	f.Missing++
	if f.Unknown == nil {
		f.Unknown = map[string][]string{}
	}
	if len(f.Unknown[sheet]) < maxUnknown {
		f.Unknown[sheet] = append(f.Unknown[sheet], ref)
	}
}

// store notes the stored result of a formula that remains. Programs that do not calculate write a zero for results that
// are outdated, so it is none there.
func (f *Formulas) store(v StoredValue) {
	if f.Recalculate && (v.Value == "" || v.Kind == "n" && v.Value == "0") {
		f.miss(v.Sheet, v.Ref)
		return
	}
	f.Stored = append(f.Stored, v)
}

// StoredValue is the stored result of a formula: a number, a text, or true or false as "1" or "0".
type StoredValue struct {
	Sheet string `json:"sheet"`
	Ref   string `json:"ref"`
	Kind  string `json:"kind"` // "n", "s" or "b"
	Value string `json:"value"`
}

// Recalculation selects the formulas of a spreadsheet that are calculated.
type Recalculation string

// The choices of recalculation. By default, formulas are calculated that have no result, or all if the file says that
// its results are outdated.
const (
	RecalculateMissing Recalculation = "missing"
	RecalculateAlways  Recalculation = "always"
)

// KeepXLSX writes a workbook as LibreOffice is to read it: formulas that are not to be calculated are replaced by
// their stored results. It writes no file if there is nothing to change. name is the file name that formulas see.
func KeepXLSX(from, to, name string, which Recalculation) (f Formulas, err error) {
	b, err := openXLSX(from)
	if err != nil {
		return f, err
	}
	defer b.Close()

	f.Recalculate = which == RecalculateAlways || b.outdated
	f.Binary = b.binary
	if b.binary {
		err = b.keepBinary(&f, to)
		return f, err
	}

	changes := map[string]change{}
	for _, sheet := range b.sheets {
		formulas, err := b.contains(sheet, append(utf16Marks, "<f", ":f")...)
		paths, pathErr := b.contains(sheet, "&amp;Z", "&amp;z", "&amp;F", "&amp;f")
		if err := errors.Join(err, pathErr); err != nil {
			return f, err
		}
		if !formulas && !paths {
			continue
		}

		k := valueKeeper{Formulas: &f, book: b, sheet: sheet.name, file: name, groups: map[string]bool{}}
		if err := b.scan(sheet, k.count); err != nil {
			return f, err
		}

		text := func(header string) string { return fileHeader(header, name) }
		changes[partName(sheet.part)] = sheetChange{cell: k.keep, text: text}.apply
	}

	if f.Written = len(changes) > 0; !f.Written {
		return f, nil
	}
	return f, b.rewrite(to, changes)
}

// scan visits the cells of a sheet.
func (b *xlsxBook) scan(sheet xlsxSheet, visit func(*xlsxCell)) error {
	in, err := b.stream(sheet.part)
	if err != nil {
		return err
	}
	defer in.Close()
	return sheetChange{cell: func(c *xlsxCell) []byte {
		visit(c)
		return nil
	}}.apply(in, io.Discard)
}

// valueKeeper rewrites the formulas of a sheet.
type valueKeeper struct {
	*Formulas

	book        *xlsxBook
	sheet, file string
	// groups are the shared formulas of which a cell has no result: their first cell keeps the formula.
	groups map[string]bool
}

func (k *valueKeeper) count(c *xlsxCell) {
	if c.formula == nil {
		return
	}
	k.Count++
	if !k.has(c) {
		k.miss(k.sheet, c.ref)
		if group := c.formula.attribute("si"); group != "" {
			k.groups[group] = true
		}
	}
}

// has reports whether the file has a result. An empty text is one only in files of programs that calculate.
func (k *valueKeeper) has(c *xlsxCell) bool {
	return c.has() && (c.stored != "" || k.book.calculates)
}

// keep returns a cell as LibreOffice is to read it.
func (k *valueKeeper) keep(c *xlsxCell) []byte {
	if c.formula == nil {
		return nil
	}

	if has := k.has(c); has && !k.Recalculate && !k.needed(c) {
		return c.constant()
	} else if has {
		k.storeCell(c)
	}

	if text := withoutPath(c.text, k.file, k.sheet); text != c.text {
		start, _, _ := bytes.Cut(c.formula, []byte(">"))
		formula := string(start) + ">" + escape(text) + closing(c.formula)
		return bytes.Replace(c.raw(), c.formula, []byte(formula), 1)
	}

	return nil
}

// needed reports whether LibreOffice needs the formula of a cell, in addition to its result: for the link that the
// cell is, or for other cells.
func (k *valueKeeper) needed(c *xlsxCell) bool {
	return isLink(c.text) || c.formula.attribute("ref") != "" && k.groups[c.formula.attribute("si")]
}

// storeCell notes the result of a formula that remains.
func (k *valueKeeper) storeCell(c *xlsxCell) {
	kind, known := map[string]string{"": "n", "n": "n", "b": "b", "str": "s", "inlineStr": "s"}[c.kind]
	if known {
		k.store(StoredValue{Sheet: k.sheet, Ref: c.ref, Kind: kind, Value: c.stored})
	}
}

// errorValues are the errors that LibreOffice knows. Others become text.
var errorValues = map[string]bool{
	"#NULL!": true, "#DIV/0!": true, "#VALUE!": true, "#REF!": true, "#NAME?": true, "#NUM!": true, "#N/A": true,
}

// constant returns the cell without its formula.
func (c *xlsxCell) constant() []byte {
	kind := c.kind
	if kind == "e" && !errorValues[c.stored] {
		kind = "str"
	}
	return c.with(kind, nil, c.value)
}

// with returns the cell with another type, formula and value.
func (c *xlsxCell) with(kind string, formula, value []byte) []byte {
	open := bytes.Clone(c.open)
	for _, a := range c.open.attributes() {
		if a.name == "t" {
			open = append(bytes.Clone(c.open[:a.from]), c.open[a.to:]...)
		}
	}
	if kind != "" {
		open = append(open[:len(open)-1:len(open)-1], ` t="`+kind+`">`...)
	}
	return bytes.Join([][]byte{open, formula, value, c.rest, []byte(closing(c.open))}, nil)
}

// raw returns the cell.
func (c *xlsxCell) raw() []byte { return c.with(c.kind, c.formula, c.value) }

// closing returns the end tag of the element that a token begins with.
func closing(open token) string {
	name, _, _ := strings.Cut(string(open[1:]), ">")
	if end := strings.IndexAny(name, " \t\r\n/"); end >= 0 {
		name = name[:end]
	}
	return "</" + name + ">"
}

// escape returns text as XML has it.
func escape(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // A Builder accepts everything.
	return out.String()
}

// fileHeader replaces the codes for the file's name in a header or a footer by the name, and removes those for its
// folder.
func fileHeader(header, name string) string {
	var out strings.Builder
	for {
		before, code, ok := strings.Cut(header, "&")
		out.WriteString(before)
		if !ok || code == "" {
			out.WriteString(header[len(before):])
			return out.String()
		}

		switch header = code[1:]; code[0] {
		case 'Z', 'z':
		case 'F', 'f':
			if text := out.String(); sizeCode.MatchString(text) && name != "" && name[0] >= '0' && name[0] <= '9' {
				out.WriteByte(' ') // The code takes all digits.
			}
			out.WriteString(strings.ReplaceAll(name, "&", "&&"))
		default:
			out.WriteString("&" + code[:1])
		}
	}
}

// sizeCode matches a header that ends with a code for the size of the font.
var sizeCode = regexp.MustCompile(`&\d+$`)

// fileNameCall is the function that returns the path of the file and the name of a sheet.
var fileNameCall = regexp.MustCompile(`(?i)\bCELL\(\s*"filename"\s*(?:,\s*([^()]*))?\)`)

// withoutPath replaces the calls of a formula that would return a path of this machine, by what Excel returns of a
// file that has no folder.
func withoutPath(formula, file, sheet string) string {
	return fileNameCall.ReplaceAllStringFunc(formula, func(call string) string {
		of := sheet
		if other, _, ok := strings.Cut(fileNameCall.FindStringSubmatch(call)[1], "!"); ok {
			of = strings.ReplaceAll(strings.Trim(other, "'"), "''", "'")
		}
		return `"` + strings.ReplaceAll("["+file+"]"+of, `"`, `""`) + `"`
	})
}
