// Package pdf works on existing PDFs. Its handlers run in the children of render/engine, where they parse users'
// files: with qpdf for the structure of a document, with poppler and MuPDF for the content of its pages, and with
// pdfcpu to put pages on sheets.
//
// Passwords are passed to the programs in files of the job's own folder, never on a command line, which every
// process of the machine may read.
//
// The packages below have the larger tools: redact, archive, compare, form and images. Package job has what all of them
// use.
package pdf
