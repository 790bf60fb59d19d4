package archive

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdfcheck"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// CheckArgs are the arguments of ClaimJob, which fails unless a document is
// PDF/A of that level. It has no output.
type CheckArgs struct {
	Input job.Input
	Level Level
}

// ClaimJob fails unless a document conforms to a level of PDF/A.
var ClaimJob = job.Define("pdf.pdfa.check", engine.ReadTime, checkLevel)

func checkLevel(ctx context.Context, w *engine.Work, args CheckArgs) (struct{}, error) {
	doc, err := job.OpenOne(ctx, w, args.Input)
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, mustBeArchive(ctx, doc, args.Level)
}

// mustBeArchive fails unless the document is PDF/A by the rules of pdf.check, and has a glyph for each character.
func mustBeArchive(ctx context.Context, d *job.Document, level Level) error {
	content, err := d.Content()
	if err != nil {
		return err
	}
	violations, err := Check(content, level)
	if err != nil {
		return d.Fail(job.Damaged, err)
	}

	if level != Level1B { // which has no such rule
		pages, err := job.RunScript[[]int](ctx, d, "glyphs.js", []byte(archiveGlyphsScript), archiveInput{Input: d.Name})
		// Without MuPDF, as in the core image, only LibreOffice makes PDF/A.
		if err != nil && !errors.Is(err, engine.ErrNoProgram) {
			return err
		}
		if len(pages) > 0 {
			text := "Text has no glyph in its font (.notdef) on page " + job.RangeText(pages)
			violations = append([]string{text}, violations...)
		}
	}

	if len(violations) == 0 {
		return nil
	}
	return &job.Error{Kind: job.NoArchive, Text: "cannot be converted to PDF/A-" + string(level) + ". The result violates the standard: " + shortFaults(violations)}
}

// Check returns the rules of PDF/A that a document violates, each with its place. Content that cannot be
// checked counts as a violation.
func Check(content []byte, level Level) (violations []string, err error) {
	f, err := pdffile.Read(content)
	if err != nil {
		return nil, err
	}

	report := pdfcheck.Check(pdfcheck.Source{File: f, Original: content}, []pdffile.Standard{pdffile.Standard("a-" + level)})
	for _, v := range report.Results[0].Violations {
		place := "clause " + v.Clause
		if v.Page != nil {
			place += fmt.Sprintf(", page %d", *v.Page)
		}
		violations = append(violations, strings.TrimSuffix(v.Message, ".")+" ("+place+")")
	}
	if report.Incomplete {
		violations = append(violations, "Some content cannot be checked, as it cannot be read or exceeds a limit")
	}
	return violations, nil
}

// picturePages returns the pages of a document that show only one image.
func picturePages(f *pdffile.File) (numbers []int) {
	pages, err := f.Pages(job.MaxInputPages)
	if err != nil {
		return nil
	}
	for i, page := range pages {
		stream, ok := f.Stream(pdffile.Reference(page.Entries["/Contents"]))
		if !ok {
			continue
		}
		text, err := f.Plain(stream)
		if err == nil && isPicture(text) {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// isPicture reports whether content draws one image, and no more.
func isPicture(text []byte) bool {
	images := 0
	other := false
	pdffile.ReadContent(text, func(op pdffile.Operation) {
		switch op.Operator {
		case "Do", "BI":
			images++
		case "BT", "f", "F", "f*", "S", "s", "B", "B*", "b", "b*", "sh":
			other = true
		}
	})
	return images > 0 && !other
}
