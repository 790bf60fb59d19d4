// Package compare compares two PDFs page by page: their text and their looks.
package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
)

// MaxPages is the maximum number of pages of each document of a Job.
const MaxPages = 500

// Args are the arguments of a Job. The output is a Comparison as JSON, or the pages that differ as a PDF
// or as a ZIP archive of PNGs.
type Args struct {
	Old, New job.Input
	// Ignore lists the parts of pages that are not compared.
	Ignore []IgnoredArea
	// Threshold is the colour difference from 0 to 1 above which a pixel is changed, MaxRatio the share of changed
	// pixels up to which pages are equal.
	Threshold, MaxRatio float64
	Output              Format
	// TestMark draws the test mark on images. PDFs are marked afterwards.
	TestMark bool
	// MaxViews is the maximum number of pages that are drawn; 0 means all.
	MaxViews int
}

// Format is the form of a comparison's result.
type Format string

// The forms of a comparison's result.
const (
	JSON   Format = "json"
	PDF    Format = "pdf"
	Images Format = "images"
)

// IgnoredArea is a part of a page that is not compared, in points from the top left of the page as it is shown.
type IgnoredArea struct {
	Page                int // of the old document; 0 means all pages
	X, Y, Width, Height float64
}

// Comparison is the result of a Job.
type Comparison struct {
	Equal        bool           `json:"equal" jsonschema:"required" jsonschema_description:"If true, all pages are equal."`
	OldPageCount int            `json:"oldPageCount" jsonschema:"required" jsonschema_description:"Number of pages of the old PDF."`
	NewPageCount int            `json:"newPageCount" jsonschema:"required" jsonschema_description:"Number of pages of the new PDF."`
	Pages        []ComparedPage `json:"pages" jsonschema:"required" jsonschema_description:"Matched pages in order. Inserted and removed pages do not affect the others."`
}

// The statuses of a ComparedPage.
const (
	equalPage   = "equal"
	changedPage = "changed"
	addedPage   = "added"
	removedPage = "removed"
)

// ComparedPage is a page of the old document and the page of the new one that it is matched with.
type ComparedPage struct {
	Status        string       `json:"status" jsonschema:"required,enum=equal,enum=changed,enum=added,enum=removed" jsonschema_description:"Result of the comparison. equal: no visible difference beyond the tolerance. changed: the pages look different. added: the page is only in the new PDF. removed: the page is only in the old PDF."`
	OldPage       *int         `json:"oldPage" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"Number of the page in the old PDF, from 1; null if added."`
	NewPage       *int         `json:"newPage" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"Number of the page in the new PDF, from 1; null if removed."`
	ChangedPixels float64      `json:"changedPixels" jsonschema:"required" jsonschema_description:"Share of changed pixels, from 0 to 1."`
	Areas         []PageArea   `json:"areas" jsonschema:"required" jsonschema_description:"Parts of a changed page with visible differences, at most 100."`
	Text          []TextChange `json:"text" jsonschema:"required" jsonschema_description:"Differences in the text of a changed page."`
}

// PageArea is a part of a page in points from the top left of the page as it is shown.
type PageArea struct {
	X      float64 `json:"x" jsonschema:"required" jsonschema_description:"Distance from the left side of the page in points."`
	Y      float64 `json:"y" jsonschema:"required" jsonschema_description:"Distance from the top of the page in points."`
	Width  float64 `json:"width" jsonschema:"required" jsonschema_description:"Width in points."`
	Height float64 `json:"height" jsonschema:"required" jsonschema_description:"Height in points."`
}

// contains reports whether a point is in the area.
func (a PageArea) contains(x, y float64) bool {
	return x >= a.X && x <= a.X+a.Width && y >= a.Y && y <= a.Y+a.Height
}

// join returns the smallest area around two.
func (a PageArea) join(b PageArea) PageArea {
	right := max(a.X+a.Width, b.X+b.Width)
	bottom := max(a.Y+a.Height, b.Y+b.Height)
	x := min(a.X, b.X)
	y := min(a.Y, b.Y)
	return PageArea{X: x, Y: y, Width: job.Tenths(right - x), Height: job.Tenths(bottom - y)}
}

// Job compares two PDFs page by page.
var Job = job.DefineFile("pdf.compare", engine.CompareTime, compare)

// compare compares two documents. Pages are rendered one pair after the other, so that the size of documents does not
// matter for the memory.
func compare(ctx context.Context, w *engine.Work, args Args) error {
	c := &comparer{work: w, args: args}
	for i, in := range []job.Input{args.Old, args.New} {
		side, err := openCompared(ctx, w, i, in)
		if err != nil {
			return err
		}
		c.sides[i] = side
	}

	group, groupCtx := guard.WithContext(ctx)
	for _, side := range c.sides {
		group.Go(func() error { return side.fingerprint(groupCtx, c) })
	}
	if err := group.Wait(); err != nil {
		return err
	}

	c.pairs = alignPages(c.sides[0].prints, c.sides[1].prints)
	switch args.Output {
	case PDF:
		return c.writePDF(ctx)
	case Images:
		return c.writeImages(ctx)
	case JSON:
	}

	report, err := c.report(ctx, nil)
	if err != nil {
		return err
	}
	return job.WriteJSON(w, comparisonFile, report)
}

// comparisonFile is the name of the output in JSON.
const comparisonFile = "comparison.json"

// comparer compares two documents.
type comparer struct {
	work  *engine.Work
	args  Args
	sides [2]*Side // old and new
	pairs []pagePair
}

// Side is one of two documents.
type Side struct {
	*job.Document

	sizes  map[int]job.PageSize
	prints []fingerprint // of its pages
}

// openCompared opens the old document, with the number 0, or the new one.
func openCompared(ctx context.Context, w *engine.Work, number int, in job.Input) (*Side, error) {
	doc, err := job.Open(ctx, w, number, in)
	if err != nil {
		return nil, err
	}
	if doc.Pages > MaxPages {
		return nil, &job.Error{Kind: job.OverLimit, Input: number, Text: fmt.Sprintf(
			"has %d pages; the limit of a comparison is %d. Compare parts of it, such as those of pdf.extract",
			doc.Pages, MaxPages,
		)}
	}
	if _, err := job.Decrypt(ctx, doc); err != nil {
		return nil, err
	}
	sizes, err := job.ReadPageSizes(ctx, doc, 1, doc.Pages)
	return &Side{Document: doc, sizes: sizes}, err
}

// ignored returns the areas that are not compared on a page of the old document. The number 0 is for the areas of all
// pages.
func (c *comparer) ignored(page int) (areas []PageArea) {
	for _, a := range c.args.Ignore {
		if a.Page == 0 || a.Page == page {
			areas = append(areas, PageArea{X: a.X, Y: a.Y, Width: a.Width, Height: a.Height})
		}
	}
	return areas
}

// pagePair holds the numbers of matched pages; 0 is none.
type pagePair struct{ old, new int }

// sameImage reports whether the pages of a pair were rendered to the same image.
func (c *comparer) sameImage(p pagePair) bool {
	return c.sides[0].prints[p.old-1].image == c.sides[1].prints[p.new-1].image
}

// report compares the pages. With draw, it is called for each page that differs, as far as they are shown.
func (c *comparer) report(ctx context.Context, draw func(ComparedPage, comparedPair) error) (Comparison, error) {
	report := Comparison{
		Equal:        true,
		OldPageCount: c.sides[0].Pages,
		NewPageCount: c.sides[1].Pages,
		Pages:        []ComparedPage{},
	}
	views := 0

	for _, numbers := range c.pairs {
		page := ComparedPage{Status: equalPage, Areas: []PageArea{}, Text: []TextChange{}}
		if numbers.old > 0 {
			page.OldPage = new(numbers.old)
		}
		if numbers.new > 0 {
			page.NewPage = new(numbers.new)
		}

		var pair comparedPair
		var err error
		switch {
		case numbers.old == 0:
			page.Status = addedPage
			page.ChangedPixels = 1
		case numbers.new == 0:
			page.Status = removedPage
			page.ChangedPixels = 1
		case !c.sameImage(numbers):
			if pair, err = c.load(ctx, numbers); err != nil {
				return report, err
			}
			if err := c.compare(ctx, numbers, pair, &page); err != nil {
				return report, err
			}
		}

		report.Pages = append(report.Pages, page)
		if page.Status == equalPage {
			continue
		}
		report.Equal = false
		if draw == nil || c.args.MaxViews > 0 && views == c.args.MaxViews {
			continue
		}

		views++
		if page.Status != changedPage {
			if pair, err = c.load(ctx, numbers); err != nil {
				return report, err
			}
		}
		if err := draw(page, pair); err != nil {
			return report, err
		}
	}

	return report, nil
}

// comparedPair holds the images of matched pages, of which one may be nil, at one resolution.
type comparedPair struct {
	images [2]*pagePixels
	dpi    int
	// ignored are the areas that are not compared.
	ignored []PageArea
}

// load renders the pages of a pair.
func (c *comparer) load(ctx context.Context, numbers pagePair) (comparedPair, error) {
	pair := comparedPair{dpi: compareDPI, ignored: c.ignored(numbers.old)}
	pages := [2]int{numbers.old, numbers.new}
	for i, page := range pages {
		if page > 0 {
			pair.dpi = min(pair.dpi, c.sides[i].dpi(page))
		}
	}

	group, groupCtx := guard.WithContext(ctx)
	for i, page := range pages {
		if page == 0 {
			continue
		}
		group.Go(func() error {
			return c.sides[i].draw(groupCtx, page, page, pair.dpi, func(_ int, image *pagePixels) error {
				pair.images[i] = image
				return nil
			})
		})
	}

	return pair, group.Wait()
}

// compare finds the differences between two pages.
func (c *comparer) compare(ctx context.Context, numbers pagePair, pair comparedPair, page *ComparedPage) error {
	found := pair.differences(c.args.Threshold)
	share := found.share()
	if share <= c.args.MaxRatio {
		return nil
	}

	const millionth = 1e6
	page.Status = changedPage
	page.ChangedPixels = max(1, math.Round(share*millionth)) / millionth
	page.Areas = found.areas(pair.dpi)
	var words [2][]ComparedWord

	group, groupCtx := guard.WithContext(ctx)
	for i, number := range []int{numbers.old, numbers.new} {
		group.Go(func() (err error) {
			words[i], err = c.sides[i].Words(groupCtx, number, pair.ignored)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}

	page.Text = textChanges(words[0], words[1])
	return nil
}

// writePDF makes a PDF of the pages that differ.
func (c *comparer) writePDF(ctx context.Context) error {
	out, err := images.NewWriter(c.work.Path(job.Output))
	if err != nil {
		return err
	}

	add := func(v *comparedView) error {
		const name = "view.png"
		if err := v.write(c.work.Path(name)); err != nil {
			return err
		}
		err := images.EachImage(c.work.Path(name), func(p *images.RasterImage) error { return out.ImagePage(p, images.FromImagesArgs{}) })
		return errors.Join(err, os.Remove(c.work.Path(name)))
	}

	report, err := c.report(ctx, func(page ComparedPage, pair comparedPair) error { return add(c.view(page, pair)) })
	if err == nil && report.Equal {
		err = add(equalView())
	}
	if err != nil {
		return errors.Join(err, out.File.Close())
	}

	if err := out.Finish(); err != nil {
		return err
	}
	c.work.Output(job.Output)
	return nil
}

// writeImages makes an archive of the pages that differ, and of the report.
func (c *comparer) writeImages(ctx context.Context) error {
	return job.PackStored(c.work, "comparison.zip", func(add func(file, name string) error) error {
		report, err := c.report(ctx, func(page ComparedPage, pair comparedPair) error {
			v := c.view(page, pair)
			if c.args.TestMark {
				v.mark()
			}

			const file = "view.png"
			if err := v.write(c.work.Path(file)); err != nil {
				return err
			}
			return add(file, imageName(page))
		})
		if err != nil {
			return err
		}

		if err := job.SaveJSON(c.work, comparisonFile, report); err != nil {
			return err
		}
		return add(comparisonFile, comparisonFile)
	})
}

// imageName is the name of a page's image in an archive, such as old-002-new-003.png.
func imageName(page ComparedPage) string {
	name := ""
	for _, side := range []struct {
		name string
		page *int
	}{{"old", page.OldPage}, {"new", page.NewPage}} {
		if side.page != nil {
			if name != "" {
				name += "-"
			}
			name += fmt.Sprintf("%s-%03d", side.name, *side.page)
		}
	}

	return name + ".png"
}
