package officefile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
)

// The records of a workbook with binary parts that matter here ([MS-XLSB] 2.3).
const (
	biff12CellError     = 3
	biff12CellBool      = 4
	biff12CellReal      = 5
	biff12CellText      = 6
	biff12FormulaText   = 8
	biff12FormulaNumber = 9
	biff12FormulaBool   = 10
	biff12FormulaError  = 11
	biff12Row           = 0
	biff12Sheet         = 156
	biff12Calculation   = 157
	biff12Array         = 426
	biff12Shared        = 427
	biff12Table         = 428
)

// biff12Constants are the records of values by those of formulas with such results.
var biff12Constants = map[int]int{
	biff12FormulaText: biff12CellText, biff12FormulaNumber: biff12CellReal, biff12FormulaBool: biff12CellBool,
	biff12FormulaError: biff12CellError,
}

// maxRecord is the maximum size of a record that is read, in bytes.
const maxRecord = 16 << 20

// errRecord means that a part is no sequence of records.
var errRecord = errors.New("officefile: a record is damaged")

// record is a record of a binary part.
type record struct {
	id      int
	content []byte
	raw     []byte // all of it
}

// readRecord reads the next record, or io.EOF at the end.
func readRecord(in *bufio.Reader) (r record, err error) {
	number := func(bytes int) (n int, err error) {
		for i := range bytes {
			b, err := in.ReadByte()
			if err != nil {
				return 0, err
			}
			r.raw = append(r.raw, b)
			n |= int(b&0x7f) << (7 * i)
			if b&0x80 == 0 {
				break
			}
		}
		return n, nil
	}

	if r.id, err = number(2); err != nil {
		return r, err
	}
	size, err := number(4)
	if err == nil && size > maxRecord {
		err = errRecord
	}
	if err != nil {
		return r, errors.Join(errRecord, err)
	}

	header := len(r.raw)
	r.raw = slices.Grow(r.raw, size)[:header+size]
	r.content = r.raw[header:]
	_, err = io.ReadFull(in, r.content)
	return r, err
}

// appendRecord appends a record with a content of less than 2 MiB.
func appendRecord(out []byte, id int, content []byte) []byte {
	number := func(n int) {
		for ; n > 0x7f; n >>= 7 {
			out = append(out, byte(n)|0x80)
		}
		out = append(out, byte(n))
	}
	number(id)
	number(len(content))
	return append(out, content...)
}

// wideText reads a text with its length before it, and returns the number of its bytes; 0 is none.
func wideText(content []byte) (text string, size int) {
	const length = 4
	if len(content) < length {
		return "", 0
	}

	n := uint64(binary.LittleEndian.Uint32(content))
	if n > uint64(len(content)-length)/2 {
		return "", 0
	}

	units := make([]uint16, n)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(content[length+2*i:])
	}
	return string(utf16.Decode(units)), length + 2*int(n)
}

// readBinary reads what the binary part of a workbook says of its sheets.
func (b *xlsxBook) readBinary() error {
	parts, err := b.relations(b.main)
	if err != nil {
		return err
	}
	in, err := b.stream(b.main)
	if err != nil {
		return err
	}
	defer in.Close()

	b.binary = true
	b.calculates = true
	source := bufio.NewReader(in)
	for {
		r, err := readRecord(source)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}

		switch r.id {
		case biff12Sheet:
			const state = 8
			if len(r.content) < state {
				return errRecord
			}
			id, size := wideText(r.content[state:])
			name, _ := wideText(r.content[state+size:])
			if part := parts[id]; part.is("worksheet") && b.parts[partName(part.Target)] != nil {
				b.sheets = append(b.sheets, xlsxSheet{name, part.Target})
			}
		case biff12Calculation:
			const flags, fullOnLoad = 24, 1
			b.outdated = len(r.content) > flags && r.content[flags]&fullOnLoad != 0
		}
	}
}

// keepBinary does for a workbook with binary parts what KeepXLSX does for others.
func (b *xlsxBook) keepBinary(f *Formulas, to string) error {
	changes := map[string]change{}
	for _, sheet := range b.sheets {
		in, err := b.stream(sheet.part)
		if err != nil {
			return err
		}

		keep := func(f *Formulas) change {
			k := xlsbKeeper{Formulas: f, sheet: sheet.name}
			return k.keep
		}
		found := Formulas{}
		if err := errors.Join(keep(&found)(in, io.Discard), in.Close()); err != nil {
			return err
		}
		if found.Count > 0 {
			changes[partName(sheet.part)] = keep(f)
		}
	}

	if f.Written = len(changes) > 0; !f.Written {
		return nil
	}
	return b.rewrite(to, changes)
}

// xlsbKeeper rewrites the formulas of a binary sheet.
type xlsbKeeper struct {
	*Formulas

	sheet string
	row   int // from 0
}

// keep is a change of the sheet's part.
func (k *xlsbKeeper) keep(in io.Reader, out io.Writer) error {
	source := bufio.NewReader(in)
	buffered := bufio.NewWriterSize(out, 64<<10)
	constant := false // the last cell is one now
	for {
		r, err := readRecord(source)
		if errors.Is(err, io.EOF) {
			return buffered.Flush()
		}
		if err != nil {
			return err
		}

		written := r.raw
		switch r.id {
		case biff12Row:
			if len(r.content) >= 4 {
				k.row = int(binary.LittleEndian.Uint32(r.content))
			}
		case biff12FormulaText, biff12FormulaNumber, biff12FormulaBool, biff12FormulaError:
			written, constant = k.cell(r)
		case biff12Array, biff12Shared, biff12Table:
			if constant {
				written = nil // the formula of the cell before
			}
		}

		_, _ = buffered.Write(written) // Flush returns the error.
	}
}

// cell returns the record of a formula as LibreOffice is to read it, and whether it is a constant.
func (k *xlsbKeeper) cell(r record) (raw []byte, constant bool) {
	const head = 8 // bytes of the column and the format
	size := map[int]int{biff12FormulaNumber: 8, biff12FormulaBool: 1, biff12FormulaError: 1}[r.id]
	text := ""
	if r.id == biff12FormulaText && len(r.content) >= head {
		text, size = wideText(r.content[head:])
	}
	const flagsAndLength = 6
	if size == 0 || len(r.content) < head+size+flagsAndLength {
		return r.raw, false
	}

	k.Count++
	formula := r.content[head+size+flagsAndLength:]
	if !k.Recalculate && !calls(formula, xlsHyperlink) {
		return appendRecord(nil, biff12Constants[r.id], r.content[:head+size]), true
	}

	value := r.content[head:]
	v := StoredValue{Sheet: k.sheet, Ref: cellRef(int(binary.LittleEndian.Uint32(r.content))+1, k.row+1)}
	switch r.id {
	case biff12FormulaText:
		v.Kind = "s"
		v.Value = text
	case biff12FormulaBool:
		v.Kind = "b"
		v.Value = strconv.Itoa(int(value[0]))
	case biff12FormulaNumber:
		v.Kind = "n"
		v.Value = strconv.FormatFloat(math.Float64frombits(binary.LittleEndian.Uint64(value)), 'g', -1, 64)
	default:
		return r.raw, false
	}

	k.store(v)
	return r.raw, false
}

// calls reports whether the tokens of a formula call a function, by its number.
func calls(tokens []byte, function int) bool {
	const variable = 0x02 // a call with a variable number of arguments, in one of three classes
	call := binary.LittleEndian.AppendUint16(nil, uint16(function))
	for i := 2; i+1 < len(tokens); i++ {
		if tokens[i-2]&^0x60 == variable && bytes.HasPrefix(tokens[i:], call) {
			return true
		}
	}
	return false
}
