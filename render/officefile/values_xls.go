package officefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"unicode/utf16"
)

// The records of a binary workbook that matter here ([MS-XLS] 2.3).
const (
	biffFormula    = 0x0006
	biffEOF        = 0x000A
	biffHeader     = 0x0014
	biffFooter     = 0x0015
	biffFilePass   = 0x002F
	biffContinue   = 0x003C
	biffUncalced   = 0x005E
	biffBoundSheet = 0x0085
	biffRecalcID   = 0x01C1
	biffNumber     = 0x0203
	biffLabel      = 0x0204
	biffBoolErr    = 0x0205
	biffString     = 0x0207
	biffArray      = 0x0221
	biffTable      = 0x0236
	biffSharedFmla = 0x04BC
	biffBOF        = 0x0809
	// biffNothing is the number of no record. Readers skip it.
	biffNothing = 0x0FFF
)

// The names of the stream of a workbook: of Excel 97 and later, and of older versions.
const (
	xlsStream    = "Workbook"
	xlsOldStream = "Book"
)

// KeepXLS does for a binary workbook what KeepXLSX does for a workbook.
func KeepXLS(from, to, _ string, which Recalculation) (f Formulas, err error) {
	c, err := changeCompound(from, to)
	if err != nil {
		return f, err
	}
	defer func() {
		if err = errors.Join(err, c.Close()); err != nil || !f.Written {
			err = errors.Join(err, os.Remove(to))
		}
	}()

	if c.streams[xlsStream] == nil && c.streams[xlsOldStream] == nil {
		return f, nil
	}
	stream, err := c.read(xlsStream)
	if err != nil {
		return f, err
	}

	k := xlsKeeper{Formulas: &f, stream: stream}
	if !k.open() {
		return f, fmt.Errorf("%w: %s", errPart, xlsStream)
	}
	f.Recalculate = f.Recalculate || which == RecalculateAlways
	k.eachFormula(k.count)
	k.eachFormula(k.keep)
	k.headers()

	if f.Written {
		err = c.write(xlsStream, stream)
	}
	return f, err
}

// xlsKeeper rewrites the formulas of a binary workbook.
type xlsKeeper struct {
	*Formulas

	stream []byte
	sheets map[int]string // the names, by the position of the sheet
	// calculates means that Excel has saved the workbook, which calculates results.
	calculates bool
	// shared are the cells with the text of formulas that other cells without a result share.
	shared map[xlsCell]bool
}

// xlsCell is a cell of a sheet, from 0.
type xlsCell struct {
	sheet       string
	row, column uint16
}

// record returns the number and the content of the record at a position, and the position of the next one.
func (k *xlsKeeper) record(at int) (id int, content []byte, next int) {
	if at+4 > len(k.stream) {
		return biffEOF, nil, len(k.stream)
	}
	size := int(binary.LittleEndian.Uint16(k.stream[at+2:]))
	next = min(at+4+size, len(k.stream))
	return int(binary.LittleEndian.Uint16(k.stream[at:])), k.stream[at+4 : next], next
}

// open reads what the workbook says of its sheets. False means that it cannot be read here: it is encrypted, or of
// another version.
func (k *xlsKeeper) open() bool {
	const version8 = 0x0600
	id, start, _ := k.record(0)
	if id != biffBOF || len(start) < 2 || binary.LittleEndian.Uint16(start) != version8 {
		return false
	}

	k.sheets = map[int]string{}
	k.shared = map[xlsCell]bool{}
	for at := 0; at < len(k.stream); {
		id, content, next := k.record(at)
		switch id {
		case biffFilePass:
			return false
		case biffRecalcID:
			k.calculates = true
		case biffUncalced:
			k.Recalculate = true
		case biffBoundSheet:
			const name = 6
			if len(content) > name+2 {
				k.sheets[int(binary.LittleEndian.Uint32(content))] = xlsText(content[name+1:], int(content[name]))
			}
		}
		at = next
	}

	return true
}

// xlsText returns a text of n characters, which begins with its flags.
func xlsText(content []byte, n int) string {
	if len(content) == 0 {
		return ""
	}

	wide := content[0]&1 != 0
	rest := content[1:]
	var units []uint16
	for i := range n {
		switch {
		case wide && 2*i+1 < len(rest):
			units = append(units, binary.LittleEndian.Uint16(rest[2*i:]))
		case !wide && i < len(rest):
			units = append(units, uint16(rest[i]))
		}
	}
	return string(utf16.Decode(units))
}

// xlsFormula is a cell that has a formula.
type xlsFormula struct {
	xlsCell

	content []byte // of the record
	result  []byte // 8 bytes
	tokens  []byte
	// text is the content of the record with the text that is the result, if there is one. Further parts of it are in
	// other records if long is true.
	text []byte
	long bool
	// all are the bytes of all records of the cell.
	all []byte
}

// eachFormula visits the formulas of all sheets.
func (k *xlsKeeper) eachFormula(visit func(*xlsFormula)) {
	const tokens = 22
	sheet := ""
	for at := 0; at < len(k.stream); {
		if name, ok := k.sheets[at]; ok {
			sheet = name
		}

		id, content, next := k.record(at)
		if id != biffFormula || len(content) < tokens {
			at = next
			continue
		}

		f := &xlsFormula{
			xlsCell: xlsCell{sheet, binary.LittleEndian.Uint16(content), binary.LittleEndian.Uint16(content[2:])},
			content: content, result: content[6:14], tokens: content[tokens:],
		}

		id, content, after := k.record(next)
		if id == biffSharedFmla || id == biffArray || id == biffTable {
			next = after
			id, content, after = k.record(next)
		}
		if id == biffString && f.isText() {
			f.text = content
			next = after
			id, _, _ = k.record(next)
			f.long = id == biffContinue
		}

		f.all = k.stream[at:next]
		visit(f)
		at = next
	}
}

// The kinds of results that are no number.
const (
	xlsResultText = iota
	xlsResultBool
	xlsResultError
	xlsResultEmpty
)

// kind returns the kind of the result; -1 is a number.
func (f *xlsFormula) kind() int {
	if f.result[6] != 0xff || f.result[7] != 0xff {
		return -1
	}
	return int(f.result[0])
}

func (f *xlsFormula) isText() bool { return f.kind() == xlsResultText }

// has reports whether the file has a result of the formula. Programs that do not calculate write a zero or an empty
// text.
func (k *xlsKeeper) has(f *xlsFormula) bool {
	empty := f.kind() == xlsResultEmpty || f.isText() && f.text == nil ||
		f.kind() < 0 && bytes.Equal(f.result, make([]byte, 8))
	return k.calculates || !empty
}

// The first bytes of formulas that another cell has, and of calls of functions.
const (
	xlsTokenShared = 0x01
	xlsHyperlink   = 359
)

func (k *xlsKeeper) count(f *xlsFormula) {
	k.Count++
	if has := k.has(f); !has {
		k.miss(f.sheet, f.ref())
	} else if !f.links() && !f.long {
		return
	}
	if len(f.tokens) >= 5 && f.tokens[0] == xlsTokenShared {
		row, column := binary.LittleEndian.Uint16(f.tokens[1:]), binary.LittleEndian.Uint16(f.tokens[3:])
		k.shared[xlsCell{f.sheet, row, column}] = true
	}
}

// links reports whether the formula makes the cell a link.
func (f *xlsFormula) links() bool { return calls(f.tokens, xlsHyperlink) }

// keep replaces a formula by its result, as a record of a value and one that is none.
func (k *xlsKeeper) keep(f *xlsFormula) {
	if !k.has(f) {
		return
	}

	value := f.constant()
	const header = 4
	if k.Recalculate || f.links() || f.long || k.shared[f.xlsCell] || len(value)+header > len(f.all) {
		k.storeCell(f)
		return
	}

	rest := len(f.all) - len(value) - header
	copy(f.all, value)
	binary.LittleEndian.PutUint16(f.all[len(value):], biffNothing)
	binary.LittleEndian.PutUint16(f.all[len(value)+2:], uint16(rest))
	clear(f.all[len(value)+header:])
	k.Written = true
}

// constant returns the record of the result. A text that is empty becomes a text of no characters.
func (f *xlsFormula) constant() []byte {
	id := biffNumber
	value := f.result
	switch f.kind() {
	case xlsResultText:
		id = biffLabel
		value = f.text
	case xlsResultEmpty:
		id = biffLabel
		value = make([]byte, 3)
	case xlsResultBool:
		id = biffBoolErr
		value = []byte{f.result[2], 0}
	case xlsResultError:
		id = biffBoolErr
		value = []byte{f.result[2], 1}
	}

	const cell = 6 // bytes of the row, the column and the format
	record := binary.LittleEndian.AppendUint16(nil, uint16(id))
	record = binary.LittleEndian.AppendUint16(record, uint16(cell+len(value)))
	record = append(record, f.content[:cell]...)
	return append(record, value...)
}

// ref returns the reference of the cell.
func (c xlsCell) ref() string { return cellRef(int(c.column)+1, int(c.row)+1) }

// storeCell notes the result of a formula that remains.
func (k *xlsKeeper) storeCell(f *xlsFormula) {
	v := StoredValue{Sheet: f.sheet, Ref: f.ref(), Kind: "n"}
	switch f.kind() {
	case xlsResultText:
		v.Kind = "s"
		if f.long || len(f.text) < 2 {
			return
		}
		v.Value = xlsText(f.text[2:], int(binary.LittleEndian.Uint16(f.text)))
	case xlsResultBool:
		v.Kind = "b"
		v.Value = strconv.Itoa(int(f.result[2]))
	case xlsResultError, xlsResultEmpty:
		return
	default:
		v.Value = strconv.FormatFloat(math.Float64frombits(binary.LittleEndian.Uint64(f.result)), 'g', -1, 64)
	}

	k.store(v)
}

// headers removes the folder of the file from headers and footers.
func (k *xlsKeeper) headers() {
	for at := 0; at < len(k.stream); {
		id, content, next := k.record(at)
		at = next
		if id != biffHeader && id != biffFooter || len(content) < 3 {
			continue
		}

		text := xlsText(content[2:], int(binary.LittleEndian.Uint16(content)))
		without := strings.NewReplacer("&&", "&&", "&Z", "", "&z", "").Replace(text)
		if without == text {
			continue
		}

		units := utf16.Encode([]rune(without))
		for i := range utf16.Encode([]rune(text)) {
			unit := uint16(' ')
			if i < len(units) {
				unit = units[i]
			}
			if content[2]&1 != 0 {
				binary.LittleEndian.PutUint16(content[3+2*i:], unit)
			} else {
				content[3+i] = byte(unit)
			}
		}

		k.Written = true
	}
}
