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

// Printed is the result of one document of a batch, or of several in a row.
type Printed struct {
	chrome.Document

	// Documents is the number of documents in Body. It is 1 unless the batch leaves documents joined, in which case each
	// has one page if it is more.
	Documents int
	// Together means that it was printed together with others.
	Together bool
	// Err is the error of printing the document. The others are not affected.
	Err error
}

// Batch returns a batch for the settings, which are those of PDF. joined leaves documents that were printed together in
// one PDF, which is a fraction of their size.
func (a *Account) Batch(page Page, opt PDF, joined bool) *Batch {
	b := &Batch{account: a, page: page, opt: opt, joined: joined}
	plainPage := page.WaitUntil == "" && page.WaitForSelector == "" && page.WaitForFunction == "" && page.WaitForTimeout == 0 && !page.Animate && !page.Offline &&
		len(page.Headers) == 0 && len(page.Cookies) == 0 && (page.Media == "" || page.Media == "print")
	plainPDF := (opt.Scale == 0 || opt.Scale == 1) && opt.Header == "" && opt.Footer == "" && opt.PageRanges == "" && !opt.Tagged && !opt.Outline && len(opt.Standards) == 0
	b.single.Store(!plainPage || !plainPDF)
	return b
}

// Print prints HTML documents. Its results are in their order; the caller closes their bodies. The error is that of ctx.
// Documents are isolated from each other as far as the account's own documents are: no content of one can be in the
// file of another.
func (b *Batch) Print(ctx context.Context, documents []string) ([]Printed, error) {
	results := make([]Printed, len(documents))
	group, groupCtx := guard.WithContext(ctx)
	group.SetLimit(batchParallel)
	for _, part := range b.plan(documents) {
		group.Go(func() error {
			if part.together() {
				b.printTogether(groupCtx, part, results)
			}
			return groupCtx.Err()
		})
	}
	err := group.Wait()
	if err == nil {
		err = b.printRest(ctx, documents, results)
	}
	if err != nil {
		for _, r := range results {
			if r.Body != nil {
				err = errors.Join(err, r.Body.Close())
			}
		}
		return nil, err
	}
	return slices.DeleteFunc(results, func(r Printed) bool { return r.Documents == 0 }), nil
}

// printRest prints the documents alone that have no result.
func (b *Batch) printRest(ctx context.Context, documents []string, results []Printed) error {
	group, groupCtx := guard.WithContext(ctx)
	group.SetLimit(batchParallel)
	for i := 0; i < len(documents); i++ {
		if n := results[i].Documents; n > 0 {
			i += n - 1
			continue
		}
		group.Go(func() error {
			doc, err := b.account.PDF(groupCtx, Source{HTML: documents[i]}, b.page, b.opt)
			results[i] = Printed{Document: doc, Documents: 1, Err: err}
			return groupCtx.Err()
		})
	}
	return group.Wait()
}

// run are documents that one print may make, with their indexes.
type run struct {
	indexes []int
	parts   []*batch.Document
	size    int
}

func (r run) together() bool { return len(r.parts) > 1 }

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
	return runs
}

// printTogether prints documents in one print. Those that have no result afterwards have to be printed alone.
func (b *Batch) printTogether(ctx context.Context, r run, results []Printed) {
	joined := batch.Join(r.parts)
	if joined == "" || b.single.Load() {
		return
	}
	how := b.opt
	opt := how.print()
	width, height := opt.Width, opt.Height
	if width == 0 || height == 0 {
		width, height = 8.5, 11
	}
	if opt.Landscape {
		width, height = height, width
	}
	const perInch = 96
	margins := [4]float64{opt.MarginTop * perInch, opt.MarginRight * perInch, opt.MarginBottom * perInch, opt.MarginLeft * perInch}
	width, height, top := r.parts[0].Area(width*perInch, height*perInch, margins)
	opt.Sheets = &chrome.Sheets{Count: len(r.parts), Width: width, Height: height, Prefix: batch.Prefix}
	job, err := b.account.prepare(ctx, Source{HTML: joined}, b.page, markup.MarkdownOptions{})
	if err != nil {
		return
	}
	job.Account, job.Lane = b.account.id, chrome.Inline // as each of the documents
	doc, err := b.account.render.browser.PDF(ctx, job, opt)
	if errors.Is(err, chrome.ErrSheets) {
		b.single.Store(true)
	}
	if err != nil {
		return
	}
	defer func() { _ = doc.Body.Close() }()
	if doc.Pages != len(r.parts) || len(doc.Warnings) > 0 {
		return
	}
	const points = 0.75 // of a CSS pixel
	args := pdf.SeparateArgs{Input: pdf.Input{Name: inputName}, Prefix: batch.EndPrefix, Joined: b.joined}
	for i, sheet := range doc.Sheets {
		args.Parts = append(args.Parts, pdf.Part{Title: r.parts[i].Title, End: (top + sheet.End) * points, Unfit: !sheet.Fits})
	}
	if err := b.separate(ctx, doc.Body, args, r, results); err != nil {
		for _, i := range r.indexes {
			results[i] = Printed{}
		}
	}
}

// separate makes the results of a joined print.
func (b *Batch) separate(ctx context.Context, printed *spool.File, args pdf.SeparateArgs, r run, results []Printed) error {
	out, err := b.account.runTool(ctx, engine.Job{Name: pdf.SeparateJob, Args: args, Files: []engine.File{{Name: inputName, Content: printed}}})
	if err != nil {
		return err
	}
	var about pdf.Separated
	if err := json.Unmarshal(out.Body, &about); err != nil {
		return errors.Join(err, out.Close())
	}
	if b.joined {
		if slices.Contains(about.Sizes, 0) {
			return errors.Join(errNotJoined, out.Close())
		}
		body := out.Output(0)
		if err := pdfmeta.Set(body, b.opt.Metadata); err != nil {
			return errors.Join(err, body.Close())
		}
		results[r.indexes[0]] = Printed{Document: chrome.Document{Body: body, Pages: len(r.parts)}, Documents: len(r.parts), Together: true}
		return nil
	}
	defer func() { _ = out.Close() }()
	source := out.Output(0).Open()
	for i, size := range about.Sizes {
		if size == 0 {
			continue
		}
		content := make([]byte, size)
		if _, err := io.ReadFull(source, content); err != nil {
			return fmt.Errorf("parts: %w", err)
		}
		body := spool.FromBytes(content)
		if err := pdfmeta.Set(body, b.opt.Metadata); err != nil {
			return errors.Join(err, body.Close())
		}
		results[r.indexes[i]] = Printed{Document: chrome.Document{Body: body, Pages: 1}, Documents: 1, Together: true}
	}
	return nil
}

var errNotJoined = errors.New("some parts are not as they would be alone")
