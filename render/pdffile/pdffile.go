// Package pdffile reads the structure of a PDF, and writes changes to it: values, object tables, object streams,
// filters, words of content, and the trees of pages and outlines. It supports ordinary files. For all others it returns ErrUnread, and a tool
// that repairs files has to read them.
//
// Read and ReadTable read a whole file from any source, and must run in the children of render/engine. ReadChromium
// reads a few kilobytes of a file that one of our own tools has written, and may run in the server.
package pdffile

import "errors"

// ErrUnread means that a file, or a part of it, cannot be read here: it is
// encrypted, damaged, or out of the ordinary.
var ErrUnread = errors.New("pdffile: cannot be read as it stands")

// Dict is a dictionary. Its values, and all others here, have the form of qpdf's JSON: dictionaries are maps, names
// start with "/", references read "4 0 R", and strings start with "u:" for text or "b:" for bytes in hexadecimal
// digits. Reading returns all strings in the latter form. Numbers are float64.
type Dict = map[string]any

const (
	// HeaderWithin is the maximum distance of the header from the start of a file, and of the table's offset from
	// its end. Readers have always allowed that much.
	HeaderWithin = 1024
	// MaxDepth bounds trees, which a hostile document may tie into loops.
	MaxDepth = 32
)
