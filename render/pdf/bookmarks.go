package pdf

import (
	"context"
	"slices"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Outline is the arguments of BookmarksJob.
type Outline struct {
	job.Input
	Bookmarks []Bookmark
}

// Bookmark is one entry of an outline: it leads to the top of a page, counted
// from 1.
type Bookmark struct {
	Title    string
	Page     int
	Children []Bookmark
}

// BookmarksJob adds entries to the end of a PDF's outline.
var BookmarksJob = job.DefineFile("pdf.bookmarks", engine.ChangeTime, addBookmarks)

// addBookmarks adds entries after those of the document's own outline.
func addBookmarks(ctx context.Context, w *engine.Work, args Outline) error {
	doc, s, err := job.OpenStructure(ctx, w, args.Input)
	if err != nil {
		return err
	}
	if err := job.CheckPages(doc.Pages); err != nil {
		return err
	}
	if err := checkBookmarks(doc, nil, args.Bookmarks); err != nil {
		return err
	}

	nodes, catalog, err := readOutline(doc, s)
	if err != nil {
		return err
	}

	catalog["/PageMode"] = "/UseOutlines"
	changes := s.NewUpdate()
	setOutline(changes, s.Root(), catalog, append(nodes, bookmarkNodes(s, args.Bookmarks)...))
	if err := doc.Change(changes); err != nil {
		return err
	}
	return doc.Write(ctx, job.QPDFJob{})
}

// checkBookmarks names the first bookmark that leads beyond the end.
func checkBookmarks(d *job.Document, above []int, bookmarks []Bookmark) error {
	for i, b := range bookmarks {
		way := append(slices.Clone(above), i)
		if b.Page > d.Pages {
			return &job.Error{Kind: job.PageOutOfRange, Input: d.Number, Pages: d.Pages, Bookmark: way}
		}
		if err := checkBookmarks(d, way, b.Children); err != nil {
			return err
		}
	}
	return nil
}

func bookmarkNodes(s *job.Structure, bookmarks []Bookmark) (nodes []outlineNode) {
	for _, b := range bookmarks {
		nodes = append(nodes, outlineNode{
			entry: pdffile.Dict{"/Title": "u:" + b.Title, "/Dest": topOf(s, b.Page)},
			open:  true, kids: bookmarkNodes(s, b.Children),
		})
	}
	return nodes
}

// topOf is a destination: the top left of a page, in the reader's own zoom.
func topOf(s *job.Structure, page int) []any {
	return []any{s.Pages[page-1].Object, "/XYZ", nil, nil, nil}
}
