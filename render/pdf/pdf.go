// Package pdf works on existing PDFs. Its handlers run in the children of render/engine, where they parse users'
// files: with qpdf for the structure of a document, with poppler and MuPDF for the content of its pages, and with
// pdfcpu to put pages on sheets.
//
// Passwords are passed to the programs in files of the job's own folder, never on a command line, which every
// process of the machine may read.
package pdf

// The limits of a result. A document above them could hardly be opened by its
// reader.
const (
	maxBytes = 200 << 20
	maxPages = 2000
)

// Input is one file of a job and the password that opens it; empty is none.
type Input struct {
	Name     string
	Password string
}

// Changed describes, in sentences, the changes in a result in addition to the requested
// ones.
type Changed struct {
	Changes []string
}
