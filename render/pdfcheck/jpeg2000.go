package pdfcheck

import (
	"bytes"
	"encoding/binary"
)

// jpeg2000 is what the header of an image in JPEG 2000 says; without channels, it has none.
type jpeg2000 struct {
	channels  int
	bits      int // per channel; 0 if the channels differ
	spaces    int
	preferred int    // the spaces that are marked as exact
	method    byte   // of the space that readers use
	space     uint32 // the number of that space; 0 is none
}

// readJPEG2000 reads the header of a JP2 file.
func readJPEG2000(content []byte) (j jpeg2000) {
	if !bytes.HasPrefix(content, []byte("\x00\x00\x00\x0cjP  ")) {
		return j
	}

	readBoxes(content, func(kind string, box []byte) {
		if kind == "jp2h" {
			readBoxes(box, j.read)
		}
	})
	return j
}

// read reads a box of the header.
func (j *jpeg2000) read(kind string, box []byte) {
	const channels, bits, header = 8, 10, 14 // of ihdr: height and width come first
	const method, approximation, space = 0, 2, 3

	switch {
	case kind == "ihdr" && len(box) >= header:
		j.channels = int(binary.BigEndian.Uint16(box[channels:]))
		if b := box[bits]; b != 0xFF { // else bpcc has one for each channel
			j.bits = int(b&0x7F) + 1
		}
	case kind == "bpcc":
		j.bits = 0
	case kind == "colr" && len(box) > approximation:
		exact := box[approximation] == 1
		if exact {
			j.preferred++
		}
		if j.spaces++; j.spaces == 1 || exact && j.preferred == 1 {
			j.method = box[method]
			j.space = 0
			if j.method == 1 && len(box) >= space+4 {
				j.space = binary.BigEndian.Uint32(box[space:])
			}
		}
	}
}

// readBoxes passes the boxes of a JP2 file to f. A box of the length 0 has all that follows.
func readBoxes(content []byte, f func(kind string, box []byte)) {
	const header, long = 8, 16
	for len(content) >= header {
		start := header
		length := uint64(binary.BigEndian.Uint32(content))
		switch {
		case length == 0:
			length = uint64(len(content))
		case length == 1 && len(content) >= long:
			start = long
			length = binary.BigEndian.Uint64(content[header:])
		}
		if length < uint64(start) || length > uint64(len(content)) {
			return
		}

		f(string(content[4:header]), content[start:length])
		content = content[length:]
	}
}
