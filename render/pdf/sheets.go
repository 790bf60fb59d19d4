package pdf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/form"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// NUpArgs are the arguments of NUpJob.
type NUpArgs struct {
	Selection
	PerSheet int // 2, 3, 4, 6, 8, 9, 12 or 16
	// Width and Height are the size of a sheet in portrait, in points.
	Width, Height float64
	// Landscape turns the sheets; nil is whichever shows the first page larger.
	Landscape *bool
	Border    bool
	Margin    float64 // around each page, in points
	Columns   bool    // fills columns first
}

// BookletArgs are the arguments of BookletJob.
type BookletArgs struct {
	job.Input
	PerSheet int // 2 or 4, on each side of a sheet
	// Width and Height are the size of a sheet in portrait, in points.
	Width, Height float64
	// Short binds the pages at their short edge.
	Short bool
	// Guides draws where to fold and to cut.
	Guides bool
}

// NUpJob puts several pages of a PDF on each sheet.
var NUpJob = job.Define("pdf.nup", engine.MakeTime, nUp)

// nUp puts several pages on each sheet, in the order of the selection.
func nUp(ctx context.Context, w *engine.Work, args NUpArgs) (job.Changed, error) {
	return compose(ctx, w, args.Selection, args.layout, func(n int) (order []int) {
		for i := range n {
			order = append(order, i+1)
		}
		return order
	})
}

// BookletJob arranges the pages of a PDF on sheets that are folded into a booklet.
var BookletJob = job.Define("pdf.booklet", engine.MakeTime, booklet)

// booklet puts pages on sheets that make a booklet when they are folded.
func booklet(ctx context.Context, w *engine.Work, args BookletArgs) (job.Changed, error) {
	return compose(ctx, w, Selection{Input: args.Input}, args.layout, func(n int) []int { return bookletOrder(n, args.PerSheet) })
}

// Reasons why a document cannot be put on sheets, and the remedy.
const (
	imagesInstead = ". Convert its pages to images and create a PDF from them"
	refusedText   = "has pages that cannot be arranged on sheets" + imagesInstead
	lostText      = "has text that would be lost on the sheets" + imagesInstead
)

// compose makes the sheets of a job. pdfcpu arranges pages that qpdf has simplified: not encrypted, with their
// annotations and fields drawn on them, each of them one object. The result is refused if qpdf finds errors in it,
// or if letters of the pages are missing on the sheets.
func compose(
	ctx context.Context, w *engine.Work, in Selection,
	arrange func(width, height float64) sheetLayout, order func(n int) []int,
) (made job.Changed, err error) {
	doc, err := job.OpenOne(ctx, w, in.Input)
	if err != nil {
		return made, err
	}
	selected, numbers, err := selectPages(ctx, doc, in.Pages)
	if err != nil {
		return made, err
	}
	selected, poorer, err := form.WithAppearances(ctx, selected)
	if err != nil {
		return made, err
	}
	if len(poorer) > 0 {
		return made, &job.Error{Kind: job.NoSheets, Text: lostText, Cause: fmt.Errorf("fields without a font: %q", poorer)}
	}

	info, err := trim(ctx, selected)
	if err != nil {
		return made, err
	}
	source, err := selected.ReadStructure(ctx)
	if err != nil {
		return made, err
	}
	text, err := job.AllTexts(ctx, selected)
	if err != nil {
		return made, err
	}

	plain, s, err := plainPages(ctx, selected)
	if err != nil {
		return made, err
	}

	first := s.Paper(s.Dict(s.Pages[0].Object))
	how := arrange(first.Size())
	places := order(len(numbers))
	if err := job.CheckPages(how.sheets(len(places))); err != nil {
		return made, err
	}
	if err := uprightPages(plain, s, places); err != nil {
		return made, err
	}

	sheets := &job.Document{Work: w, Name: "sheets.pdf", Packed: doc.Packed, Sealed: doc.Sealed}
	if err := impose(w.Path(plain.Name), w.Path(sheets.Name), how); err != nil {
		return made, &job.Error{Kind: job.NoSheets, Text: refusedText, Cause: err}
	}
	unplaced, err := finishSheets(ctx, sheets, how, places, info, source)
	if err != nil {
		return made, err
	}

	after, err := job.AllTexts(ctx, sheets)
	if err != nil {
		return made, err
	}
	if lost := missingLetters(text, after); lost > 0 {
		return made, &job.Error{Kind: job.NoSheets, Text: lostText, Cause: fmt.Errorf("%d letters are missing", lost)}
	}

	made.Changes = source.FlattenChanges()
	if unplaced > 0 {
		made.Changes = append(made.Changes, fmt.Sprintf(lostLinksText, unplaced))
	}
	return made, sheets.Write(ctx, job.QPDFJob{})
}

// lostLinksText describes links that are not carried to sheets.
const lostLinksText = "Links (%d) were removed, because their targets are not on the sheets, or because they run actions."

// selectPages writes the pages of a selection, including repeats, into a document that is not encrypted. The
// document remembers the encryption of its result.
func selectPages(ctx context.Context, doc *job.Document, pages string) (selected *job.Document, numbers []int, err error) {
	if numbers, err = doc.Resolve(pages); err != nil {
		return nil, nil, err
	}

	path := doc.Work.Path(doc.Name)
	encrypted, err := job.FileContains(path, "/Encrypt")
	if err != nil {
		return nil, nil, err
	}
	original := *doc
	if doc.Packed, err = job.FileContains(path, "/ObjStm"); err != nil {
		return nil, nil, err
	}
	if encrypted {
		doc.Sealed = &original
	}

	options := job.QPDFJob{"decrypt": "", "objectStreams": "disable"}
	if pages != "" {
		if doc.Pages > maxKeptFrom {
			return nil, nil, &job.Error{Kind: job.TooManyPages, Pages: doc.Pages, Max: maxKeptFrom}
		}
		options["pages"] = []job.QPDFJob{{"file": ".", "password": doc.Password, "range": job.RangeText(numbers)}}
	}

	selected = &job.Document{Work: doc.Work, Name: "selected.pdf"}
	if err := doc.WriteTo(ctx, selected.Name, options); err != nil {
		return nil, nil, err
	}
	if err := selected.Count(ctx); err != nil {
		return nil, nil, selected.Damaged(err)
	}
	if selected.Pages != len(numbers) {
		return nil, nil, doc.Fail(job.Damaged, fmt.Errorf("%d pages, want %d", selected.Pages, len(numbers)))
	}

	return selected, numbers, nil
}

// trim reduces each page of a document to its visible area, so that its text is the visible text. It returns the
// document's information.
func trim(ctx context.Context, d *job.Document) (info pdffile.Dict, err error) {
	s, err := d.ReadStructure(ctx)
	if err != nil {
		return nil, err
	}

	changes := s.NewUpdate()
	for i, page := range s.Pages {
		entries := s.Dict(page.Object)
		if entries == nil {
			return nil, d.Fail(job.Damaged, fmt.Errorf("page %d cannot be read", i+1))
		}
		shown := s.Paper(entries).Box
		entries["/MediaBox"], entries["/CropBox"] = shown.Array(), shown.Array()
		changes.Set(page.Object, entries)
	}

	return information(s.File), d.Change(changes)
}

// plainPages writes a document with its annotations and fields drawn on the pages, each of which has one content
// stream, and reads it.
func plainPages(ctx context.Context, d *job.Document) (*job.Document, *job.Structure, error) {
	plain := &job.Document{Work: d.Work, Name: "plain.pdf"}
	err := d.WriteTo(ctx, plain.Name, job.QPDFJob{"flattenAnnotations": "all", "coalesceContents": "", "objectStreams": "disable", "minVersion": "1.7"})
	if err != nil {
		return nil, nil, err
	}
	s, err := plain.ReadStructure(ctx)
	if err == nil && len(s.Pages) != d.Pages {
		err = d.Fail(job.Damaged, fmt.Errorf("%d pages, want %d", len(s.Pages), d.Pages))
	}
	return plain, s, err
}

// uprightPages gives the document the pages in the order of their places, from 1, where 0 is an empty page. Each is an
// object that is drawn upright from its bottom left. The catalog retains only the entries that are needed to draw
// it: nothing else has a meaning on sheets.
func uprightPages(d *job.Document, s *job.Structure, places []int) error {
	changes := s.NewUpdate()
	tree := changes.Reserve()
	var kids []any
	for _, n := range places {
		ref := changes.Reserve()
		kids = append(kids, ref)
		page := pdffile.Dict{
			"/Type": "/Page", "/Parent": tree,
			"/MediaBox": []any{0, 0, minCropSide, minCropSide}, "/Resources": pdffile.Dict{},
		}
		if n > 0 {
			if err := drawAsForm(s, changes, page, s.Pages[n-1].Object); err != nil {
				return d.Fail(job.Damaged, fmt.Errorf("page %d: %w", n, err))
			}
		}
		changes.Set(ref, page)
	}

	changes.Set(tree, pdffile.Dict{"/Type": "/Pages", "/Kids": kids, "/Count": len(kids)})
	catalog := pdffile.Dict{"/Type": "/Catalog", "/Pages": tree}
	for _, key := range []string{"/OCProperties", "/OutputIntents", "/Lang"} {
		if v := s.Catalog()[key]; v != nil {
			catalog[key] = v
		}
	}
	changes.Set(s.Root(), catalog)

	tail, err := changes.Replace()
	if err != nil {
		return d.Fail(job.Damaged, err)
	}
	return d.Append(tail)
}

var errContent = errors.New("its content cannot be read")

// drawAsForm makes a page one that draws another as displayed.
func drawAsForm(s *job.Structure, changes *pdffile.Update, page pdffile.Dict, of string) error {
	source := s.Dict(of)
	if source == nil {
		return errContent
	}

	var stream pdffile.Stream
	if content := source["/Contents"]; s.Target(content) != nil || pdffile.Reference(content) != "" {
		var ok bool
		if stream, ok = s.Stream(pdffile.Reference(content)); !ok {
			return errContent
		}
	}

	shown := s.Paper(source)
	entries := pdffile.Dict{
		"/Type": "/XObject", "/Subtype": "/Form", "/BBox": shown.Box.Array(),
		"/Matrix": shown.Upright().Array(), "/Resources": pdffile.Dict{},
	}
	for _, key := range []string{"/Filter", "/DecodeParms"} {
		if v := stream.Entries[key]; v != nil {
			entries[key] = v
		}
	}
	if resources, ok := s.Inherited(source, "/Resources").(pdffile.Dict); ok {
		entries["/Resources"] = resources
	}
	if group := s.Entry(source["/Group"]); group != nil {
		group = pdffile.Without(group)
		group["/I"] = true // like the group of a page
		entries["/Group"] = group
	}

	formEntries := changes.Reserve()
	changes.Set(formEntries, pdffile.Stream{Entries: entries, Content: stream.Content})
	width, height := shown.Size()
	page["/MediaBox"] = []any{0, 0, width, height}
	page["/Resources"] = pdffile.Dict{"/XObject": pdffile.Dict{"/P": formEntries}}

	// pdfcpu leaves the line width of its borders set for the next content.
	const draws = "1 w /P Do\n"
	content := changes.Reserve()
	changes.Set(content, pdffile.Stream{Entries: pdffile.Dict{}, Content: []byte(draws)})
	page["/Contents"] = content
	return nil
}

// finishSheets gives sheets their guides, and the links and the information of the document. It returns the number of
// links that are lost, and refuses sheets that are not as many as they have to be, or that qpdf finds fault with.
func finishSheets(
	ctx context.Context, d *job.Document, how sheetLayout, places []int, info pdffile.Dict, source *job.Structure,
) (unplaced int, err error) {
	f, err := d.ReadSelf()
	if err != nil {
		return 0, &job.Error{Kind: job.NoSheets, Text: refusedText, Cause: err}
	}
	pages, err := f.Pages(job.MaxInputPages)
	if want := how.sheets(len(places)); err == nil && len(pages) != want {
		err = fmt.Errorf("%d sheets, want %d", len(pages), want)
	}
	if err != nil {
		return 0, &job.Error{Kind: job.NoSheets, Text: refusedText, Cause: err}
	}

	changes := f.NewUpdate()
	if unplaced, err = carryLinks(source, f, pages, changes, places); err != nil {
		return 0, &job.Error{Kind: job.NoSheets, Text: refusedText, Cause: err}
	}

	if drawn := how.drawGuides(); drawn != "" {
		guides := changes.Reserve()
		changes.Set(guides, pdffile.Stream{Entries: pdffile.Dict{}, Content: []byte(drawn)})
		for _, page := range pages {
			value, _ := changes.Value(page.Ref).(pdffile.Dict)
			entries := pdffile.Without(value)
			entries["/Contents"] = []any{entries["/Contents"], guides}
			changes.Set(page.Ref, entries)
		}
	}

	changes.SetInfo(info) // replaces pdfcpu's own information
	if err := d.Change(changes); err != nil {
		return 0, err
	}

	var exit *engine.ExitError
	if _, err := job.QPDF(ctx, d.Work, job.QPDFJob{"inputFile": d.Name, "check": ""}); errors.As(err, &exit) {
		return 0, &job.Error{Kind: job.NoSheets, Text: refusedText, Cause: err}
	} else if err != nil {
		return 0, err
	}

	d.Pages = len(pages)
	return unplaced, nil
}

// drawGuides draws the lines where sheets are folded, dashed, and cut.
func (l sheetLayout) drawGuides() (content string) {
	for _, g := range l.guides {
		dashes := "[4 4]"
		if g.cut {
			dashes = "[]"
		}

		from := [2]float64{0, l.height / 2}
		to := [2]float64{l.width, l.height / 2}
		if g.upright {
			from = [2]float64{l.width / 2, 0}
			to = [2]float64{l.width / 2, l.height}
		}
		content += fmt.Sprintf("q 0.5 G 0.5 w %s 0 d %.2f %.2f m %.2f %.2f l S Q\n", dashes, from[0], from[1], to[0], to[1])
	}
	return content
}

// missingLetters returns the number of letters and digits in texts that occur less often in others. The composition
// of words and accents depends on their positions.
func missingLetters(texts, others []string) (missing int) {
	counts := map[rune]int{}
	for sign, pages := range map[int][]string{1: texts, -1: others} {
		for _, page := range pages {
			for _, r := range norm.NFKD.String(page) {
				if unicode.IsLetter(r) || unicode.IsDigit(r) {
					counts[r] += sign
				}
			}
		}
	}

	for _, n := range counts {
		missing += max(0, n)
	}
	return missing
}

// impose has pdfcpu put the pages of one file on the sheets of another.
func impose(from, to string, how sheetLayout) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("input: %w", err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	return imposeSheets(in, out, how)
}
