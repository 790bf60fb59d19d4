package officefile

import (
	"encoding/binary"
	"errors"
	"os"
	"slices"
)

// The parts of a binary document of Word ([MS-DOC] 2.5).
const (
	docStream = "WordDocument"
	docMagic  = 0xA5EC
	// docFlags is the position of the flags of the document, of which docEncrypted means that it is encrypted, and
	// docTable1 that the stream of tables is called 1Table.
	docFlags     = 0x0A
	docEncrypted = 0x0100
	docTable1    = 0x0200
	// The marks of fields.
	docBegin, docEnd = 0x13, 0x15
	docMark          = 0x1F
	// docHasResult and docDirty are flags at the end of a field.
	docHasResult, docDirty = 0x80, 0x04
	// docNoField is the number of fields of add-ins. Readers show their stored results.
	docNoField = 0x51
)

// docTables are the positions at which the document says where the lists of its fields are: in the text, headers,
// footnotes, comments, endnotes and text boxes.
var docTables = []int{0x11A, 0x122, 0x12A, 0x132, 0x21A, 0x25A, 0x272}

// docStored are the numbers of the fields whose stored results are shown, as storedFields has their names.
var docStored = []byte{
	3, 5, 7, 12, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 27, 28, 29, 30, 31, 32, 34, 35, 36, 38, 39, 44, 59,
	60, 61, 62, 64, 65, 66, 68, 69, 72, 75, 79, 80, 85, 89, 93, 94,
}

// KeepDOC writes a binary document of Word as LibreOffice is to read it: fields with stored results become those of an
// unknown kind. It writes no file if there is nothing to change.
func KeepDOC(from, to string) (written bool, err error) {
	c, err := changeCompound(from, to)
	if err != nil {
		return false, err
	}
	defer func() {
		if err = errors.Join(err, c.Close()); err != nil || !written {
			err = errors.Join(err, os.Remove(to))
		}
	}()

	if c.streams[docStream] == nil {
		return false, nil
	}
	document, err := c.read(docStream)
	if err != nil || len(document) < docTables[0] || binary.LittleEndian.Uint16(document) != docMagic {
		return false, err
	}

	flags := binary.LittleEndian.Uint16(document[docFlags:])
	if flags&docEncrypted != 0 {
		return false, errUnopened
	}

	name := docTablesName(flags)
	tables, err := c.read(name)
	if err != nil {
		return false, err
	}

	for _, at := range docTables {
		if at+8 > len(document) {
			break
		}
		start := int(binary.LittleEndian.Uint32(document[at:]))
		size := int(binary.LittleEndian.Uint32(document[at+4:]))
		if size > 0 && start+size <= len(tables) && keepDocFields(tables[start:start+size]) {
			written = true
		}
	}
	if !written {
		return false, nil
	}
	return true, c.write(name, tables)
}

// docTablesName returns the name of the stream of tables.
func docTablesName(flags uint16) string {
	if flags&docTable1 != 0 {
		return "1Table"
	}
	return "0Table"
}

// keepDocFields changes a list of fields: the positions of their marks, and two bytes for each mark.
func keepDocFields(list []byte) (changed bool) {
	const position, mark = 4, 2
	count := (len(list) - position) / (position + mark)
	if count <= 0 {
		return false
	}
	marks := list[(count+1)*position:]

	var open []int
	for i := range count {
		at := i * mark
		switch marks[at] & docMark {
		case docBegin:
			open = append(open, at)
		case docEnd:
			if len(open) == 0 {
				continue
			}
			begin := open[len(open)-1]
			open = open[:len(open)-1]
			ended := marks[at+1]
			if ended&docHasResult != 0 && ended&docDirty == 0 && slices.Contains(docStored, marks[begin+1]) {
				marks[begin+1] = docNoField
				changed = true
			}
		}
	}

	return changed
}
