package pdf

import (
	"context"
	"errors"
	"slices"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Selection is the arguments of a job on some pages of a document. Pages is in
// the grammar of render/pagerange; empty means all.
type Selection struct {
	job.Input

	Pages string
	// Once selects each page once, in the order of the document, as browsers print them.
	Once bool
}

// openSelection opens a document by its structure, and finds the pages that are
// selected, each once.
func openSelection(
	ctx context.Context, w *engine.Work, in Selection,
) (doc *job.Document, s *job.Structure, pages []int, err error) {
	if doc, s, err = job.OpenStructure(ctx, w, in.Input); err != nil {
		return nil, nil, nil, err
	}
	if err := job.CheckPages(doc.Pages); err != nil {
		return nil, nil, nil, err
	}
	pages, err = doc.Resolve(in.Pages)
	return doc, s, job.Unique(pages), err
}

// ExtractJob makes a PDF of selected pages, in the order of the selection, including repeats.
var ExtractJob = job.DefineFile("pdf.extract", engine.ChangeTime, extract)

// extract makes a document of pages of another, in the order of the selection, including repeats. The outline keeps
// the entries that lead to them.
func extract(ctx context.Context, w *engine.Work, args Selection) error {
	doc, s, err := job.OpenStructure(ctx, w, args.Input)
	if err != nil {
		return err
	}

	numbers, err := doc.Resolve(args.Pages)
	if err != nil {
		return err
	}

	if args.Once {
		slices.Sort(numbers)
		numbers = slices.Compact(numbers)
	}
	return keepPages(ctx, doc, s, numbers)
}

// DeletePagesJob makes a PDF without some of its pages. At least one page must remain.
var DeletePagesJob = job.DefineFile("pdf.delete-pages", engine.ChangeTime, deletePages)

// deletePages makes a document without some pages of another.
func deletePages(ctx context.Context, w *engine.Work, args Selection) error {
	doc, s, err := job.OpenStructure(ctx, w, args.Input)
	if err != nil {
		return err
	}
	numbers, err := doc.Resolve(args.Pages)
	if err != nil {
		return err
	}

	deleted := map[int]bool{}
	for _, n := range numbers {
		deleted[n] = true
	}
	var rest []int
	for n := 1; n <= doc.Pages; n++ {
		if !deleted[n] {
			rest = append(rest, n)
		}
	}

	if len(rest) == 0 {
		return &job.Error{Kind: job.AllPages, Pages: doc.Pages}
	}
	return keepPages(ctx, doc, s, rest)
}

// maxKeptFrom is the maximum number of pages of a document from which some are extracted. qpdf removes the others
// one by one, and each removal is slower the more pages there are. With this many pages, it takes about ten
// seconds.
const maxKeptFrom = 10_000

var errNoCatalog = errors.New("no catalog")

// keepPages writes the document with the given pages only. If links, the outline or the
// structure tree refer to another page, that page becomes an empty page outside the
// document: its content would otherwise remain in the file.
func keepPages(ctx context.Context, d *job.Document, s *job.Structure, numbers []int) error {
	if err := job.CheckPages(len(numbers)); err != nil {
		return err
	}
	if d.Pages > maxKeptFrom {
		return &job.Error{Kind: job.TooManyPages, Pages: d.Pages, Max: maxKeptFrom}
	}

	selected := map[int]bool{}
	for _, n := range numbers {
		selected[n] = true
	}

	changes := s.NewUpdate()
	for i, page := range s.Pages {
		if !selected[i+1] {
			changes.Set(page.Object, pdffile.Dict{
				"/Type": "/Page", "/MediaBox": []any{0, 0, 1, 1}, "/Resources": pdffile.Dict{},
			})
		}
	}

	if len(s.Outlines) > 0 {
		nodes, catalog, err := readOutline(d, s)
		if err != nil {
			return err
		}
		setOutline(changes, s.Root(), catalog, keptOutline(s.Outlines, nodes, selected))
	}

	if err := d.Change(changes); err != nil {
		return err
	}
	return d.Write(ctx, job.QPDFJob{
		"pages": []job.QPDFJob{{"file": ".", "password": d.Password, "range": job.RangeText(numbers)}},
	})
}
