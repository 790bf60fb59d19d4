package render

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/pdftag"
	"github.com/relaypdf/relaypdf/render/spool"
)

// standardUnmet is the code of the warning that a document does not conform to a standard, or that a part of it was
// left out of its structure.
const standardUnmet = "standard_unmet"

// StandardError means that a document has faults because of which it cannot claim all standards of PDF.Standards.
type StandardError struct{ Faults []chrome.Warning }

func (e *StandardError) Error() string { return "render: " + e.Faults[0].Message }

// applyStandards makes a document of Chromium conform to the standards of the settings. Named means that the source
// names its language: for others Chromium writes its own.
func (a *Account) applyStandards(ctx context.Context, doc chrome.PrintedPDF, opt PDF, named bool) (chrome.PrintedPDF, error) {
	how := pdftag.Options{Standards: opt.Standards, NoLanguage: !named}
	for _, u := range doc.Untagged {
		how.Untagged = append(how.Untagged, pdftag.Untagged(u))
	}
	body, faults, err := a.conformPDF(ctx, doc.Body, doc.Texts, how, opt.StandardsStrict)
	if err == nil && opt.Archival && slices.ContainsFunc(faults, breaksArchive) {
		return chrome.PrintedPDF{}, errors.Join(&StandardError{Faults: faults}, body.Close())
	}
	doc.Body = body
	doc.Warnings = append(doc.Warnings, faults...)
	return doc, err
}

// breaksArchive reports whether a fault breaks a level of PDF/A.
func breaksArchive(w chrome.Warning) bool {
	return slices.ContainsFunc(w.Parts.Standards, func(s string) bool { return pdffile.Standard(s).Part() > 0 })
}

// conformPDF makes a tagged PDF conform to standards, and returns its faults. The texts of its source are those of
// chrome.PrintedPDF, or nil. If strict is true, faults that break one
// are a *StandardError. It closes the given PDF.
func (a *Account) conformPDF(
	ctx context.Context, tagged *spool.File, texts []byte, opt pdftag.Options, strict bool,
) (_ *spool.File, faults []chrome.Warning, err error) {
	defer func() { err = errors.Join(err, tagged.Close()) }()

	file := PDFFile{Content: tagged}
	args := pdf.StandardsArgs{Input: file.Input(), Options: opt}
	files := []engine.File{file.File()}
	if len(texts) > 0 {
		args.Texts = "texts.json"
		files = append(files, engine.File{Name: args.Texts, Content: spool.FromBytes(texts)})
	}

	result, about, err := run(ctx, a, pdf.StandardsJob, args, files)
	if err != nil {
		return nil, nil, err
	}

	faults = standardFaults(about.Faults)
	if strict && len(about.Claimed) < len(opt.Standards) {
		return nil, nil, errors.Join(&StandardError{Faults: faults}, result.Close())
	}
	return result.Output(0), faults, nil
}

// standardFaults returns the faults as warnings, those that break a standard first.
func standardFaults(faults []pdftag.Violation) []chrome.Warning {
	var broken, other []chrome.Warning
	for _, f := range faults {
		parts := &chrome.Parts{Page: f.Page, Element: f.Element, Text: f.Text, Problem: f.Problem, Remedy: f.Remedy}
		for _, s := range f.Breaks {
			parts.Standards = append(parts.Standards, string(s))
		}
		w := chrome.Warning{Code: standardUnmet, Message: standardText(f), Parts: parts}.Bounded()
		if len(f.Breaks) > 0 {
			broken = append(broken, w)
		} else {
			other = append(other, w)
		}
	}

	all := slices.Concat(broken, other)
	return all[:min(len(all), chrome.MaxWarnings)]
}

// standardText describes a fault: its page and element, what is wrong, and which standards it breaks.
func standardText(f pdftag.Violation) string {
	var where []string
	if f.Page > 0 {
		where = append(where, fmt.Sprintf("page %d", f.Page))
	}

	switch {
	case f.Text != "":
		where = append(where, fmt.Sprintf("%s %q", f.Element, f.Text))
	case f.Element != "":
		where = append(where, f.Element)
	}

	text := f.Problem
	if f.Remedy != "" {
		text += " " + f.Remedy
	}
	if len(where) > 0 {
		text = strings.Join(where, ", ") + ": " + text
	}
	if len(f.Breaks) > 0 {
		names := make([]string, len(f.Breaks))
		for i, s := range f.Breaks {
			names[i] = string(s)
		}
		text += " The file cannot claim " + strings.Join(names, ", ") + "."
	}

	return text
}
