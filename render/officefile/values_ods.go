package officefile

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

// odfContent is the part with the content of an OpenDocument file.
const odfContent = "content.xml"

// KeepODS does for an OpenDocument spreadsheet what KeepXLSX does for a workbook.
func KeepODS(from, to, name string, which Recalculation) (f Formulas, err error) {
	a, err := openArchive(from)
	if err != nil {
		return f, err
	}
	defer a.Close()

	in, err := a.stream(odfContent)
	if err != nil {
		return f, err
	}

	keeper := func() *odsKeeper {
		f = Formulas{Recalculate: which == RecalculateAlways}
		return &odsKeeper{Formulas: &f, file: name}
	}
	err = errors.Join(keeper().keep(in, io.Discard), in.Close())
	if err != nil || f.Count == 0 {
		return f, err
	}

	err = a.rewrite(to, map[string]change{odfContent: keeper().keep})
	f.Written = err == nil
	return f, err
}

// odsKeeper rewrites the formulas of an OpenDocument spreadsheet.
type odsKeeper struct {
	*Formulas

	file, sheet string
	// row and column are the numbers of the current cell, from 1, and rows the number of rows that the current one is.
	row, column, rows int
}

// keep is a change of the content.
func (k *odsKeeper) keep(in io.Reader, out io.Writer) error {
	source := newTokens(in)
	buffered := bufio.NewWriterSize(out, 64<<10)
	for {
		t, err := source.next()
		if errors.Is(err, io.EOF) {
			return buffered.Flush()
		}
		if err != nil {
			return err
		}

		if t.tag() && !t.closes() {
			switch string(t.name()) {
			case "table":
				k.sheet = t.attribute("name")
				k.row = 0
				k.rows = 1
			case "table-row":
				k.row += k.rows
				k.column = 1
				k.rows = repeats(t, "number-rows-repeated")
			case "table-cell", "covered-table-cell":
				t = k.cell(t)
			}
		}
		_, _ = buffered.Write(t) // Flush returns the error.
	}
}

// repeats returns how many rows or cells an element is.
func repeats(t token, name string) int {
	n, err := strconv.Atoi(t.attribute(name))
	if err != nil {
		return 1
	}
	return n
}

// cell returns the start tag of a cell as LibreOffice is to read it.
func (k *odsKeeper) cell(t token) token {
	column := k.column
	k.column += repeats(t, "number-columns-repeated")
	attributes := t.attributes()
	at := slices.IndexFunc(attributes, func(a attribute) bool { return a.name == "formula" })
	if at < 0 {
		return t
	}

	k.Count++
	formula := attributes[at]
	kind := ""
	for _, a := range attributes {
		if a.name == "value-type" && (kind == "" || a.value == "error") {
			kind = a.value
		}
	}

	ref := cellRef(column, k.row)
	if kind == "" {
		k.miss(k.sheet, ref)
	}

	if kind != "" && !k.Recalculate && !isLink(formula.value) {
		omitted := []string{"formula", "number-matrix-columns-spanned", "number-matrix-rows-spanned"}
		if kind == "error" {
			omitted = append(omitted, "string-value") // The text of the cell is the error.
		}
		return t.without(omitted...)
	}
	if v, ok := odsValue(attributes, kind); ok {
		v.Sheet = k.sheet
		v.Ref = ref
		k.store(v)
	}
	if text := withoutPath(formula.value, k.file, k.sheet); text != formula.value {
		name := string(t[formula.from : formula.from+1+len(formula.prefix)+1+len(formula.name)])
		t = slices.Concat(t[:formula.from], []byte(name+`="`+escape(text)+`"`), t[formula.to:])
	}
	return t
}

// isLink reports whether the formula makes the cell a link.
func isLink(formula string) bool { return strings.Contains(strings.ToUpper(formula), "HYPERLINK(") }

// odsValue returns the stored result of a formula, if it is not an error, a date or a time.
func odsValue(attributes []attribute, kind string) (v StoredValue, ok bool) {
	names := map[string]string{
		"float": "value", "percentage": "value", "currency": "value", "boolean": "boolean-value",
		"string": "string-value",
	}
	for _, a := range attributes {
		if a.name == names[kind] {
			v.Value = a.value
			ok = true
		}
	}

	v.Kind = "n"
	switch kind {
	case "boolean":
		v.Kind = "b"
		v.Value = map[bool]string{true: "1", false: "0"}[v.Value == "true"]
	case "string":
		v.Kind = "s"
	}
	return v, ok
}

// without returns a start tag without the attributes of some names.
func (t token) without(names ...string) token {
	attributes := t.attributes()
	slices.Reverse(attributes)
	t = slices.Clone(t)
	for _, a := range attributes {
		if slices.Contains(names, a.name) {
			t = slices.Delete(t, a.from, a.to)
		}
	}
	return t
}
