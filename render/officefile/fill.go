package officefile

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
)

// Fill selects the results that FillXLSX replaces.
type Fill int

// The choices of Fill.
const (
	// FillMissing replaces only results that are missing.
	FillMissing Fill = iota
	// FillCalculated also replaces other results, but none by an error.
	FillCalculated
	// FillAll replaces all results.
	FillAll
)

// FillXLSX writes the workbook formulas to a file, with the values that the workbook values has in the cells of
// formulas. A workbook with macros, or a template, becomes one without.
func FillXLSX(formulas, values, to string, which Fill) (err error) {
	target, err := openXLSX(formulas)
	if err != nil {
		return err
	}
	defer target.Close()
	source, err := openXLSX(values)
	if err != nil {
		return err
	}
	defer source.Close()
	if err := source.readStrings(); err != nil {
		return err
	}

	changes := map[string]change{}
	for _, sheet := range target.sheets {
		wanted := map[string]cellValue{}
		var arrays []string // the cells of formulas with several results
		err := target.scan(sheet, func(c *xlsxCell) {
			if c.formula != nil && c.formula.attribute("t") == "array" {
				arrays = append(arrays, c.formula.attribute("ref"))
			}
			if which != FillMissing && (c.formula != nil || inRange(c.ref, arrays)) || c.formula != nil && !c.has() {
				wanted[c.ref] = cellValue{}
			}
		})

		if err == nil && len(wanted) > 0 {
			err = source.values(sheet.name, wanted, which == FillAll)
		}
		if err != nil {
			return err
		}
		if len(wanted) > 0 {
			changes[partName(sheet.part)] = fillSheet(wanted)
		}
	}

	if err := target.plainParts(changes); err != nil {
		return err
	}
	return target.rewrite(to, changes)
}

// inRange reports whether a cell is in one of some ranges, such as A1:B3.
func inRange(ref string, ranges []string) bool {
	column, row := splitRef(ref)
	for _, r := range ranges {
		first, last, _ := strings.Cut(r, ":")
		left, top := splitRef(first)
		right, bottom := splitRef(last)
		if column >= left && column <= right && row >= top && row <= bottom {
			return true
		}
	}
	return false
}

// CopyXLSX copies a workbook. A workbook with macros, or a template, becomes one without.
func CopyXLSX(from, to string) error {
	b, err := openXLSX(from)
	if err != nil {
		return err
	}
	defer b.Close()
	changes := map[string]change{}
	if err := b.plainParts(changes); err != nil {
		return err
	}
	return b.rewrite(to, changes)
}

// cellValue is the value of a cell: the type that the cell of a formula has, and its text.
type cellValue struct{ kind, text string }

// values reads the wanted cells of a sheet, as far as they have a value.
func (b *xlsxBook) values(sheet string, wanted map[string]cellValue, failed bool) error {
	for _, s := range b.sheets {
		if s.name != sheet {
			continue
		}
		return b.scan(s, func(c *xlsxCell) {
			if _, ok := wanted[c.ref]; !ok || c.value == nil || c.kind == "e" && !failed {
				return
			}

			v := cellValue{c.kind, c.stored}
			switch c.kind {
			case "s":
				n, err := strconv.Atoi(strings.TrimSpace(c.stored))
				if err != nil || n < 0 || n >= len(b.strings) {
					return
				}
				v = cellValue{"str", b.strings[n]}
			case "inlineStr":
				v.kind = "str"
			}
			wanted[c.ref] = v
		})
	}
	return nil
}

// readStrings reads the texts that cells refer to.
func (b *xlsxBook) readStrings() error {
	in, err := b.stream("xl/sharedStrings.xml")
	if errors.Is(err, errPart) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()

	source := newTokens(in)
	var text strings.Builder
	inText := false
	inReading := false // the reading of a text is not part of it
	for {
		t, err := source.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case t.starts("si"):
			text.Reset()
		case t.tag() && string(t.name()) == "rPh":
			inReading = !t.ends()
		case t.tag() && string(t.name()) == "t":
			inText = !t.ends() && !inReading
		case inText && !t.tag():
			text.WriteString(t.text())
		}

		if t.ends() && string(t.name()) == "si" {
			b.strings = append(b.strings, text.String())
		}
	}
}

// fillSheet returns a change of a sheet: formulas get the values.
func fillSheet(values map[string]cellValue) change {
	fill := func(c *xlsxCell) []byte {
		v := values[c.ref]
		if v == (cellValue{}) {
			return nil
		}
		name := "v"
		if prefix, _, ok := strings.Cut(strings.TrimPrefix(closing(c.open), "</"), ":"); ok {
			name = prefix + ":v"
		}
		return c.with(v.kind, c.formula, []byte("<"+name+">"+escape(v.text)+"</"+name+">"))
	}
	return sheetChange{cell: fill}.apply
}

// macroParts are the parts, by the beginning of their names, that only workbooks with macros have.
var macroParts = []string{"xl/vbaproject", "xl/_rels/vbaproject"}

// plainParts adds the changes that make the workbook an XLSX without macros.
func (b *xlsxBook) plainParts(changes map[string]change) error {
	if b.plain() {
		return nil
	}
	omitted := map[string]bool{}
	for name := range b.parts {
		for _, prefix := range macroParts {
			if strings.HasPrefix(name, prefix) {
				changes[name] = nil
				omitted[name] = true
			}
		}
	}

	types, err := b.read(contentTypes)
	if err != nil {
		return err
	}
	types = bytes.ReplaceAll(types, []byte(`"`+b.kind+`"`), []byte(`"`+mainTypes+`"`))
	types = withoutTags(types, "Override", func(t token) bool { return omitted[partName(t.attribute("PartName"))] })
	changes[partName(contentTypes)] = replaceBy(types)

	folder := b.main[:strings.LastIndex(b.main, "/")+1]
	name := b.main[strings.LastIndex(b.main, "/")+1:]
	relations := folder + "_rels/" + name + ".rels"
	content, err := b.read(relations)
	if err != nil {
		return err
	}
	content = withoutTags(content, "Relationship",
		func(t token) bool { return relation{Type: t.attribute("Type")}.is("vbaProject") })
	changes[partName(relations)] = replaceBy(content)
	return nil
}

// withoutTags returns a part without the empty elements of a name that omit selects.
func withoutTags(content []byte, name string, omit func(token) bool) []byte {
	var out bytes.Buffer
	source := newTokens(bytes.NewReader(content))
	for {
		t, err := source.next()
		if err != nil {
			return out.Bytes()
		}
		if !t.starts(name) || !t.empty() || !omit(t) {
			out.Write(t)
		}
	}
}

// replaceBy is a change of a part to another content.
func replaceBy(content []byte) change {
	return func(_ io.Reader, out io.Writer) error {
		_, err := out.Write(content)
		return err
	}
}
