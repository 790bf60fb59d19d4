package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"relaypdf/internal/guard"
	"relaypdf/render/batch"
	"relaypdf/render/chrome"
	"relaypdf/render/engine"
	"relaypdf/render/markup"
	"relaypdf/render/pdf"
	"relaypdf/render/pdfmeta"
	"relaypdf/render/spool"
)

const (
	// maxJoined is the maximum number of documents of one print.
	maxJoined = 50
	// maxJoinedHTML is the maximum size of a joined document. A larger one would occupy its browser.
	maxJoinedHTML = 1 << 20
	// batchParallel is the number of documents of a batch that are printed at once.
	batchParallel = 2
	// minJoined is the number of documents from which on they are printed by two prints at once.
	minJoined = 10
)

// Batch prints documents of one template with the same settings: many in one print where the pages are the same as
// from prints of their own. A Batch is safe for concurrent use.
type Batch struct {
	account *Account
	page    Page
	opt     PDF
	// joined leaves documents of a print in one PDF.
	joined bool
	single atomic.Bool // documents of the template are not worth joining
}

// Batch returns a batch for the settings, which are those of PDF. joined leaves documents that were printed together in
// one PDF, which is a fraction of their size.
func (a *Account) Batch(page Page, opt PDF, joined bool) *Batch {
	b := &Batch{account: a, page: page, opt: opt, joined: joined}
	plainPage := (page.WaitUntil == "" || page.WaitUntil == "load") && page.WaitForSelector == "" && page.WaitForFunction == "" && page.WaitForTimeout == 0 &&
		!page.Animate && !page.Offline && len(page.Headers) == 0 && len(page.Cookies) == 0 && (page.Media == "" || page.Media == "print")
	plainPDF := (opt.Scale == 0 || opt.Scale == 1) && opt.Header == "" && opt.Footer == "" && opt.PageRanges == "" && !opt.Tagged && !opt.Outline && len(opt.Standards) == 0
	b.single.Store(!plainPage || !plainPDF)
	return b
}

// Single reports that the documents of the batch have to be printed alone: Print would print none, or few of them.
func (b *Batch) Single() bool { return b.single.Load() }

// Print prints HTML documents of one page. Its results are in their order; the caller closes their bodies. A result is nil
// if the document has to be printed alone. If the batch leaves documents joined, one without a body is in the last body
// before it. The error is that of ctx, or a *chrome.BusyError.
// Documents are isolated from each other as far as the account's own documents are: no content of one can be in the
// file of another.
func (b *Batch) Print(ctx context.Context, documents []string) ([]*chrome.Document, error) {
	results := make([]*chrome.Document, len(documents))
	group, groupCtx := guard.WithContext(ctx)
	group.SetLimit(batchParallel)
	planned := b.plan(documents)
	for _, part := range planned {
		group.Go(func() error { return b.printTogether(groupCtx, part, results) })
	}
	err := group.Wait()
	printed := 0
	for _, doc := range results {
		if doc != nil {
			printed++
		}
		if err != nil && doc != nil && doc.Body != nil {
			err = errors.Join(err, doc.Body.Close())
		}
	}
	if err != nil {
		return nil, err
	}
	if len(documents) > 1 && printed*2 < len(documents) {
		b.single.Store(true)
	}
	return results, nil
}

// run are documents that one print may make, with their indexes.
type run struct {
	indexes []int
	parts   []*batch.Document
	size    int
}

// plan returns the documents that may be printed together. Those that stay joined are in a row.
func (b *Batch) plan(documents []string) (runs []run) {
	if b.single.Load() {
		return nil
	}
	most := maxJoined
	if !b.joined && len(documents) >= minJoined {
		most = min(most, (len(documents)+batchParallel-1)/batchParallel)
	}
	for i, document := range documents {
		var part *batch.Document
		if lane(document) == chrome.Inline {
			part = batch.Read(document)
		}
		if part == nil {
			continue
		}
		at := slices.IndexFunc(runs, func(r run) bool {
			last := r.indexes[len(r.indexes)-1]
			return len(r.parts) < most && r.size+len(document) <= maxJoinedHTML && r.parts[0].Joins(part) && (!b.joined || last == i-1)
		})
		if at < 0 {
			at = len(runs)
			runs = append(runs, run{})
		}
		r := &runs[at]
		r.indexes, r.parts, r.size = append(r.indexes, i), append(r.parts, part), r.size+len(document)
	}
	return slices.DeleteFunc(runs, func(r run) bool { return len(r.parts) == 1 })
}

// printTogether prints documents in one print. Those that have no result afterwards have to be printed alone.
func (b *Batch) printTogether(ctx context.Context, r run, results []*chrome.Document) error {
	joined := batch.Join(r.parts)
	if joined == "" || b.single.Load() {
		return ctx.Err()
	}
	opt, top := b.sheets(r)
	job, err := b.account.prepare(ctx, Source{HTML: joined}, b.page, markup.MarkdownOptions{})
	if err != nil {
		return ctx.Err()
	}
	job.Account, job.Lane = b.account.id, chrome.Inline // as each of the documents
	doc, err := b.account.render.browser.PDF(ctx, job, opt)
	if err != nil {
		var busy *chrome.BusyError
		if errors.As(err, &busy) {
			return busy
		}
		b.single.Store(true)
		return ctx.Err()
	}
	defer func() { _ = doc.Body.Close() }()
	if doc.Pages != len(r.parts) || len(doc.Warnings) > 0 {
		return nil
	}
	const points = 0.75 // of a CSS pixel
	args := pdf.SeparateArgs{Input: pdf.Input{Name: inputName}, Prefix: batch.EndPrefix, Joined: b.joined && !slices.ContainsFunc(doc.Sheets, func(s chrome.Sheet) bool { return !s.Fits })}
	for i, sheet := range doc.Sheets {
		args.Parts = append(args.Parts, pdf.Part{Title: r.parts[i].Title, End: (top + sheet.End) * points, Unfit: !sheet.Fits})
	}
	made, err := b.separate(ctx, doc.Body, args)
	if err != nil {
		return ctx.Err()
	}
	for i, doc := range made {
		results[r.indexes[i]] = doc
	}
	return nil
}

// sheets returns the settings of a joined print, and the distance of the area of its pages from the top of the paper in
// CSS pixels.
func (b *Batch) sheets(r run) (opt chrome.PDF, top float64) {
	how := b.opt
	opt = how.print()
	width, height := opt.Width, opt.Height
	if width == 0 || height == 0 {
		width, height = 8.5, 11
	}
	if opt.Landscape {
		width, height = height, width
	}
	const perInch = 96
	margins := [4]float64{opt.MarginTop * perInch, opt.MarginRight * perInch, opt.MarginBottom * perInch, opt.MarginLeft * perInch}
	width, height, top = r.parts[0].Area(width*perInch, height*perInch, margins)
	opt.Sheets = &chrome.Sheets{Count: len(r.parts), Width: width, Height: height, Prefix: batch.Prefix, Rounds: slices.ContainsFunc(r.parts, (*batch.Document).Rounds)}
	return opt, top
}

// separate makes the results of a joined print.
func (b *Batch) separate(ctx context.Context, printed *spool.File, args pdf.SeparateArgs) (made []*chrome.Document, err error) {
	out, err := b.account.runTool(ctx, engine.Job{Name: pdf.SeparateJob, Args: args, Files: []engine.File{{Name: inputName, Content: printed}}})
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, out.Close())
		for _, doc := range made {
			if err != nil && doc != nil && doc.Body != nil {
				err = errors.Join(err, doc.Body.Close())
			}
		}
	}()
	var about pdf.Separated
	if err := json.Unmarshal(out.Body, &about); err != nil {
		return nil, err
	}
	source := out.Output(0).Open()
	made = make([]*chrome.Document, len(args.Parts))
	for i, size := range about.Sizes {
		if size == 0 {
			continue
		}
		content := make([]byte, size)
		if _, err := io.ReadFull(source, content); err != nil {
			return made, fmt.Errorf("parts: %w", err)
		}
		made[i] = &chrome.Document{Body: spool.FromBytes(content), Pages: 1}
		if err := pdfmeta.Set(made[i].Body, b.opt.Metadata); err != nil {
			return made, err
		}
	}
	if !args.Joined {
		return made, nil
	}
	// The first part has the size of the whole document, and the others are in it.
	for i := range made[1:] {
		made[i+1] = &chrome.Document{}
	}
	made[0].Pages = len(made)
	return made, nil
}
