package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/bidi"

	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/spool"
)

// MergeInput is one file of a merge. Title names it in the outline and in the table of contents.
type MergeInput struct {
	PDFFile

	Title string
	// Weak means that the title in the metadata of the file precedes Title in a table of contents.
	Weak bool
}

// MergePDFs joins PDFs in order. If one of them has an outline, the result has one too, with an entry for each
// file. The result is not encrypted. Changes lists what is lost.
func (e *Engines) MergePDFs(ctx context.Context, inputs []MergeInput) (*spool.File, job.Changed, error) {
	return e.merge(ctx, inputs, false)
}

// merge joins PDFs. Contents is true if the first one is a table of contents.
func (e *Engines) merge(ctx context.Context, inputs []MergeInput, contents bool) (*spool.File, job.Changed, error) {
	args, files := mergeArgs(inputs)
	args.Contents = contents
	return RunBoth(ctx, e, pdf.MergeJob, args, files...)
}

// mergeArgs returns the arguments and the files of a job on several PDFs.
func mergeArgs(inputs []MergeInput) (args pdf.MergeArgs, files []engine.File) {
	for i, in := range inputs {
		name := fmt.Sprintf("input%d.pdf", i)
		files = append(files, engine.File{Name: name, Content: in.Content})
		args.Inputs = append(
			args.Inputs, pdf.MergeInput{Input: job.Input{Name: name, Password: in.Password}, Title: in.Title},
		)
	}
	return args, files
}

// MergeAdditions are the additions to merged PDFs.
type MergeAdditions struct {
	// Contents puts a table of contents in front, with its page numbers and links, and entries in the outline.
	Contents bool
	// PageNumbers writes the number of each page in the first of these places without text.
	PageNumbers []pdf.Position
}

// MergePDFsWith is MergePDFs with additions, which the browser prints, because it supports every script.
func (a *Account) MergePDFsWith(
	ctx context.Context, inputs []MergeInput, add MergeAdditions,
) (_ *spool.File, changed job.Changed, err error) {
	if !add.Contents && len(add.PageNumbers) == 0 {
		return a.MergePDFs(ctx, inputs)
	}

	args, files := mergeArgs(inputs)
	parts, err := RunValue(ctx, a, pdf.MeasureJob, args, files...)
	if err != nil {
		return nil, changed, err
	}
	total := parts.Total()

	if add.Contents {
		inputs = slices.Clone(inputs)
		for i, title := range parts.Titles {
			if inputs[i].Title == "" || inputs[i].Weak && title != "" {
				inputs[i].Title = title
			}
			inputs[i].Title = cmp.Or(oneLine(inputs[i].Title), pdf.DefaultTitle(i))
		}

		contents, printErr := a.printContents(ctx, inputs, parts)
		if printErr != nil {
			return nil, changed, fmt.Errorf("print the table of contents: %w", printErr)
		}
		defer func() { err = errors.Join(err, contents.Body.Close()) }()
		total += contents.Pages
		inputs = append([]MergeInput{{PDFFile: PDFFile{Content: contents.Body}, Title: contentsTitle}}, inputs...)
	}

	merged, changed, err := a.merge(ctx, inputs, add.Contents)
	if err != nil || len(add.PageNumbers) == 0 {
		return merged, changed, err
	}
	defer func() { err = errors.Join(err, merged.Close()) }()

	numbers, err := a.printNumbers(ctx, total)
	if err != nil {
		return nil, changed, fmt.Errorf("print the page numbers: %w", err)
	}
	defer func() { err = errors.Join(err, numbers.Close()) }()

	numbered, covering, err := a.OverlayPDF(
		ctx, PDFFile{Content: merged}, PDFFile{Content: numbers}, pdf.OverlayArgs{Positions: add.PageNumbers},
	)
	changed.Changes = append(changed.Changes, covering.Changes...)
	return numbered, changed, err
}

// OverlayPDF draws pages of one PDF on those of another, and returns the other differences from the source.
func (e *Engines) OverlayPDF(
	ctx context.Context, file, overlay PDFFile, args pdf.OverlayArgs,
) (*spool.File, job.Changed, error) {
	const name = "overlay.pdf"
	args.Input = file.Input()
	args.Overlay = job.Input{Name: name, Password: overlay.Password}
	return RunBoth(ctx, e, pdf.OverlayJob, args, file.File(), engine.File{Name: name, Content: overlay.Content})
}

// oneLine returns a title without control characters and outer spaces.
func oneLine(title string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, title))
}

// contentsTitle is the heading of a table of contents, and its title in the outline.
const contentsTitle = "Contents"

// mergeFonts are the fonts of what is printed for a merge, by preference.
const mergeFonts = `"Liberation Sans", "Noto Sans", "Noto Sans CJK SC", sans-serif`

// contentsPage is a table of contents. The script ends the leader of a row behind the last word of its title: leaders
// begin at the page numbers, so that their dots are in columns.
const contentsPage = `<!DOCTYPE html>
<html dir="%s">
<meta charset="utf-8">
<title>` + contentsTitle + `</title>
<style>
* { margin: 0; padding: 0; box-sizing: border-box }
body { width: %.2fpt; font: 10.5pt/15pt ` + mergeFonts + `; color: #111; print-color-adjust: exact; font-variant-numeric: tabular-nums }
h1 { font-size: 20pt; line-height: 24pt; margin-bottom: 18pt; break-after: avoid }
a { display: flex; align-items: flex-end; padding: 3pt 0; color: inherit; text-decoration: none; break-inside: avoid }
span { flex: 1; min-width: 0; position: relative; padding-inline-end: 24pt }
bdi { overflow-wrap: anywhere }
svg { position: absolute; inset-inline-end: 0; bottom: 3pt; width: 0; height: 2pt }
line { stroke: #666; stroke-width: 1.2; stroke-linecap: round; stroke-dasharray: 0 5 }
b { font-weight: normal; min-width: 2.6em; text-align: end }
</style>
<h1>` + contentsTitle + `</h1>
%s<script>
for (const row of document.querySelectorAll("span")) {
	const box = row.getBoundingClientRect(), words = [...row.firstChild.getClientRects()].pop();
	const left = getComputedStyle(row).direction === "rtl" ? words.left - box.left : box.right - words.right;
	row.lastChild.style.width = Math.max(0, Math.floor((left - 6) / 5) * 5) + "px";
}
</script>`

// The page of a table of contents in points: that of the first document, if it is large enough for text and not larger
// than printers use.
const (
	minContents, maxContents = 240, 2400
	a4Width, a4Height        = 595.28, 841.89
	contentsMargin           = 0.1 // of the page's width
	maxContentsMargin        = 64
	pointsPerInch            = 72
)

// printContents prints the table of contents of parts. The numbers of pages depend on its own pages, whose number is
// known when it is printed.
func (a *Account) printContents(
	ctx context.Context, inputs []MergeInput, parts pdf.Measures,
) (chrome.PrintedPDF, error) {
	width := parts.Width
	height := parts.Height
	if min(width, height) < minContents || max(width, height) > maxContents {
		width = a4Width
		height = a4Height
	}

	margin := min(width*contentsMargin, maxContentsMargin) / pointsPerInch
	const maximum = 4 // prints, of which the second has nearly always the right numbers

	for own, n := 1, 1; ; n++ {
		page := contentsHTML(inputs, parts.Pages, own, width-2*margin*pointsPerInch)
		doc, err := a.printMerge(ctx, page, chrome.PDF{
			Width: width / pointsPerInch, Height: height / pointsPerInch, MarginTop: margin, MarginRight: margin, MarginBottom: margin, MarginLeft: margin,
		})
		if err != nil || doc.Pages == own || n == maximum {
			return doc, err
		}
		own = doc.Pages
		if err := doc.Body.Close(); err != nil {
			return chrome.PrintedPDF{}, err
		}
	}
}

// contentsHTML is a table of contents with so many pages of its own and a width in points.
func contentsHTML(inputs []MergeInput, pages []int, own int, width float64) string {
	var rows strings.Builder
	number := own + 1
	rightToLeft := 0

	for i, in := range inputs {
		if isRightToLeft(in.Title) {
			rightToLeft++
		}
		fmt.Fprintf(
			&rows,
			"<a href=\"%s%d\"><span><bdi>%s</bdi><svg><line x1=\"100%%\" y1=\"50%%\" x2=\"0\" y2=\"50%%\"/></svg></span><b>%d</b></a>\n",
			pdf.ContentsURL, i+1, html.EscapeString(in.Title), number,
		)
		number += pages[i]
	}

	direction := "ltr"
	if 2*rightToLeft > len(inputs) {
		direction = "rtl"
	}

	return fmt.Sprintf(contentsPage, direction, width, rows.String())
}

// isRightToLeft reports whether the first letter of a text is of a script that is written from right to left.
func isRightToLeft(text string) bool {
	for _, r := range text {
		switch properties, _ := bidi.LookupRune(r); properties.Class() {
		case bidi.R, bidi.AL:
			return true
		case bidi.L:
			return false
		}
	}
	return false
}

// numbersPage are pages with one number each.
const numbersPage = `<!DOCTYPE html>
<meta charset="utf-8">
<title>Page numbers</title>
<style>
@page { margin: 0; size: 36pt 12pt }
* { margin: 0; padding: 0 }
p { font: 9pt/12pt ` + mergeFonts + `; color: #333; print-color-adjust: exact; text-align: center; height: 12pt; overflow: hidden; break-after: page }
p:last-child { break-after: auto }
</style>
`

// printNumbers prints the numbers from 1 to n, each on a page of its own.
func (a *Account) printNumbers(ctx context.Context, n int) (*spool.File, error) {
	var page strings.Builder
	page.WriteString(numbersPage)
	for i := range n {
		fmt.Fprintf(&page, "<p>%d</p>", i+1)
	}
	doc, err := a.printMerge(ctx, page.String(), chrome.PDF{PreferCSSPageSize: true})
	return doc.Body, err
}

// printMerge prints a page that is added to merged documents.
func (a *Account) printMerge(ctx context.Context, page string, how chrome.PDF) (chrome.PrintedPDF, error) {
	how.Scale = 1
	how.PrintBackground = true
	how.MaxPages = MaxPages
	how.MaxBytes = MaxBytes
	return a.render.browser.PDF(
		ctx, chrome.Job{Account: a.id, RenderMode: chrome.ModeRealm, HTML: page, Timeout: stampTimeout, WaitUntil: "load"},
		how,
	)
}
