// Package pdftag makes the tagged PDFs that Chromium and LibreOffice write conform to PDF/UA-1 and PDF/A-2: it writes
// the structure tree again, marks all other drawing as artifacts, and adds metadata and an output intent. The pages
// look the same.
//
// Conform reads a whole file from any source, and must run in the children of render/engine.
package pdftag

import (
	"fmt"
	"slices"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Options are the settings of Conform.
type Options struct {
	// Standards are the ones to claim. Of several levels of PDF/A, the highest that the document keeps is claimed.
	Standards []pdffile.Standard
	// Title and Language replace the document's own; empty keeps them.
	Title, Language string
	// NoLanguage means that the document's language is not its author's, but Chromium's.
	NoLanguage bool
	// Office means that LibreOffice wrote the PDF. It marks artifacts, so other text without a mark is missing from the
	// structure. Remedies are those for office documents.
	Office bool
	// Untagged are the texts that Chromium has left out of the structure.
	Untagged []Untagged
	// Texts are the texts of the source, in its order. None means that they are not known. They may be larger than the
	// arguments of a job, so they are not part of its JSON.
	Texts []Text `json:"-"`
}

// Text is a text of the source of a document.
type Text struct {
	Element string // a selector of its element
	Text    string
	Visible bool // readers see all of it, so the structure has to have it
	Repeats bool // it may be on several pages
}

// Untagged is a text outside of the structure.
type Untagged struct {
	Element string // a selector
	Text    string // empty is unknown
	Frame   bool   // the content of a frame; otherwise a style sheet generates the text
	Problem string // another cause, and its remedy; empty for the ones above
	Remedy  string
}

// Result is a document and what is known about it.
type Result struct {
	PDF []byte
	// Claimed are the standards that the file claims: the requested ones without those that a fault breaks.
	Claimed []pdffile.Standard
	Faults  []Violation
}

// maxPages is the maximum number of pages of a document.
const maxPages = 10_000

// tagger is the work on one document.
type tagger struct {
	file    *pdffile.File
	update  *pdffile.Update
	opt     Options
	catalog pdffile.Dict
	pages   []taggedPage
	streams map[string]*stream // contents of pages and form XObjects, by their references
	order   []*stream          // the same; a form is before all that draw it
	budget  int                // of decompressed bytes, and of the work on resources
	// unmarked are patterns and masks whose content has no marks.
	unmarked map[string]bool
	fonts    map[string]*font
	annots   map[string]*annotation
	links    []*annotation // in the order of the pages
	root     *element
	faults   []Violation
	reported map[string]bool
	claimed  []pdffile.Standard
	tree     treeWriter
	// firstHeading is the text of the first heading.
	firstHeading string
}

// taggedPage is a page of the document.
type taggedPage struct {
	ref     string
	entries pdffile.Dict
	content *stream // nil if the page is empty
}

// Conform returns the tagged document so that it conforms to the standards, apart from the faults. The error is
// pdffile.ErrUnread if the file cannot be read.
func Conform(tagged []byte, opt Options) (Result, error) {
	f, err := pdffile.Read(tagged)
	if err != nil {
		return Result{}, fmt.Errorf("pdftag: %w", err)
	}

	d := &tagger{
		file: f, update: f.NewUpdate(), opt: opt, catalog: f.Catalog(), budget: maxContent,
		streams: map[string]*stream{}, fonts: map[string]*font{}, annots: map[string]*annotation{},
		reported: map[string]bool{}, unmarked: map[string]bool{},
	}

	for _, step := range []func() error{
		d.readPages, d.readStreams, d.nameCodes, d.readTree, d.shape, d.nameBullets, d.checkElements, d.checkUntagged,
		d.checkTexts, d.linkAnnotations, d.reportUses, d.writeContents, d.writeTree, d.writePages, d.checkPDFA1,
		d.writeCatalog,
	} {
		if err := step(); err != nil {
			return Result{}, err
		}
	}

	write := d.update.Compact
	if slices.Contains(d.claimed, pdffile.A1B) {
		write = d.update.Plain
	}
	out, err := write()
	if err != nil {
		return Result{}, fmt.Errorf("pdftag: %w", err)
	}
	return Result{PDF: out, Claimed: d.claimed, Faults: d.faults}, nil
}

// readPages reads the pages and their annotations.
func (d *tagger) readPages() error {
	list, err := d.file.Pages(maxPages)
	if err != nil {
		return fmt.Errorf("pdftag: pages: %w", err)
	}
	for i, p := range list {
		d.pages = append(d.pages, taggedPage{ref: p.Ref, entries: p.Entries})
		notes, _ := d.file.Target(p.Entries["/Annots"]).([]any)
		for _, note := range notes {
			d.readAnnotation(pdffile.Reference(note), i)
		}
	}
	return nil
}

// writePages writes the entries of pages that depend on the structure.
func (d *tagger) writePages() error {
	for _, p := range d.pages {
		entries := pdffile.Without(p.entries, "/StructParents")
		if p.content != nil && p.content.key >= 0 {
			entries["/StructParents"] = p.content.key
		}
		entries["/Tabs"] = "/S"
		d.update.Set(p.ref, entries)
	}
	return nil
}

// claim returns the standards that the document keeps, of those that are wanted. A file can only claim one part of
// PDF/A, and that is the first.
func (d *tagger) claim() (claimed []pdffile.Standard) {
	part := byte(0)
	for _, s := range d.opt.Standards {
		if slices.ContainsFunc(d.faults, func(f Violation) bool { return slices.Contains(f.Breaks, s) }) ||
			slices.Contains(claimed, s) {
			continue
		}

		if s.Level() > 0 {
			if part == 0 {
				part = s[2]
			}
			if s[2] != part {
				continue
			}
		}
		claimed = append(claimed, s)
	}

	return claimed
}

// archival returns the standard of PDF/A to claim, the highest level of all; empty is none.
func archival(claimed []pdffile.Standard) (highest pdffile.Standard) {
	for _, s := range claimed {
		if s.Level() > 0 && (highest == "" || s.Level() > highest.Level()) {
			highest = s
		}
	}
	return highest
}
