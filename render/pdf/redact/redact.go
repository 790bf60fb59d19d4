// Package redact removes areas and terms from PDFs, with all that lies behind them.
package redact

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/form"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Args are the arguments of a Job. The output is the PDF, and the result is a
// Changed.
type Args struct {
	Input job.Input
	// Terms are found everywhere, regardless of case and spaces. Patterns are regular expressions of Go.
	Terms, Patterns []string
	Areas           []Area
	// Color fills the redacted areas: red, green and blue from 0 to 1.
	Color [3]float64
}

// Area is an area of a page, in points from its top left as displayed.
type Area struct {
	Page                int
	X, Y, Width, Height float64
}

//go:embed open.js
var redactOpenScript string

//go:embed read.js
var redactReadScript []byte

//go:embed apply.js
var redactApplyScript string

//go:embed picture.js
var redactPictureScript string

// redactRoom is the width of the area around a page that is searched for hidden text, in points.
const redactRoom = 50_000

// Job removes words and areas from the pages of a PDF, including hidden copies of their text.
var Job = job.Define("pdf.redact", engine.MakeTime, redact)

// redact removes words and parts of pages from a document. Annotations and fields become
// part of their pages first; metadata, attachments, scripts and everything that no page
// shows are removed. Two tools read the result again, and each of its objects is searched:
// redact fails if something is found.
func redact(ctx context.Context, w *engine.Work, args Args) (job.Changed, error) {
	terms, err := newRedactionTerms(args.Terms, args.Patterns)
	if err != nil {
		return job.Changed{}, err
	}

	doc, err := job.OpenOne(ctx, w, args.Input)
	if err != nil {
		return job.Changed{}, err
	}
	if err := job.CheckPages(doc.Pages); err != nil {
		return job.Changed{}, err
	}
	for _, a := range args.Areas {
		if a.Page > doc.Pages {
			return job.Changed{}, &job.Error{Kind: job.OffPage, Page: a.Page, Text: fmt.Sprintf("must be on pages of the document, which has %[2]d; got page %[1]d", a.Page, doc.Pages)}
		}
	}

	original := *doc
	encrypted, err := job.Decrypt(ctx, doc)
	if err != nil {
		return job.Changed{}, err
	}
	if encrypted {
		if err := checkID(ctx, &original, terms); err != nil {
			return job.Changed{}, err
		}
	}

	r := &redaction{Document: doc, args: args, terms: terms}
	if err := r.run(ctx); err != nil {
		return job.Changed{}, err
	}

	told := job.Changed{Changes: r.flattened}
	if len(r.pageImages) > 0 {
		told.Changes = append(told.Changes,
			"Pages with content other than text and images in a redacted area were converted to images without text: "+
				job.RangeText(r.pageImages)+".")
	}

	// Its objects are not packed into streams again: nothing may be rewritten after the
	// check.
	if !encrypted {
		if err := os.Rename(w.Path(r.Name), w.Path(job.Output)); err != nil {
			return job.Changed{}, fmt.Errorf("result: %w", err)
		}
		w.Output(job.Output)
		return told, nil
	}
	return told, job.Finish(ctx, &original, encrypted, r.Name)
}

// checkID refuses an encrypted document whose ID has something that is to go: the key is
// made of it, so the result has the same.
func checkID(ctx context.Context, d *job.Document, s redactionTerms) error {
	trailer, err := job.QPDF(ctx, d.Work, job.QPDFJob{"inputFile": d.Name, "password": d.Password, "showObject": "trailer"})
	if err != nil {
		return d.Damaged(err)
	}

	hit := false
	pdffile.ReadContent(append(trailer, " end"...), func(op pdffile.Operation) {
		for _, v := range op.Operands {
			entries, _ := v.(pdffile.Dict)
			parts, _ := entries["/ID"].([]any)
			for _, part := range parts {
				text, _ := part.(string)
				_, found := s.cleanString(text)
				hit = hit || found
			}
		}
	})

	if hit {
		return &job.Error{Kind: job.RedactionIncomplete, Text: "cannot be redacted: the file ID, which the encryption uses, contains redacted text. Unlock the file first with pdf.unlock"}
	}
	return nil
}

// redaction is the work on one document.
type redaction struct {
	*job.Document

	args       Args
	terms      redactionTerms
	pageImages []int    // pages that have become some
	flattened  []string // sentences about fields and comments
	// papers are the pages as they are shown, by number.
	papers []job.Paper
	// touched lists the images with redacted areas, by their hashes, and gone the redacted places on pages.
	touched map[string]bool
	gone    redactedPlaces
}

// run makes the document one without the secrets.
func (r *redaction) run(ctx context.Context) error {
	const flat, open, erased, applied, bare = "flat.pdf", "open.pdf", "erased.pdf", "applied.pdf", "bare.pdf"
	if err := r.flattenPages(ctx, flat); err != nil {
		return err
	}
	if err := r.readPapers(flat); err != nil {
		return err
	}

	found, err := r.searchDocument(ctx, flat, open, true)
	if err != nil {
		return err
	}

	input := applyInput{Input: erased, Output: applied, Color: r.args.Color, Texts: found.texts, Pages: r.marks(found)}
	if len(input.Pages) == 0 && len(found.texts) == 0 && !found.removesMetadata {
		return &job.Error{Kind: job.NoMatch, Text: "has no match. For scanned pages call pdf.ocr first"}
	}

	if r.touched, r.gone, err = r.touchedImages(open, found); err != nil {
		return err
	}
	if input.Images, err = r.erase(open, erased, found); err != nil {
		return err
	}
	if len(r.args.Areas) > 0 {
		input.Bare = bare
	}
	if _, err := job.RunScript[bool](ctx, r.Document, "redact.js", []byte(job.DrawScript+redactApplyScript), input); err != nil {
		return err
	}

	r.Name = applied
	if _, err := r.scrub(r.Name, false); err != nil {
		return err
	}

	const check = "check.pdf"
	left, err := r.searchDocument(ctx, r.Name, check, false)
	if err != nil {
		return err
	}
	if err := left.inPlace(found); err != nil {
		return err
	}

	if err := r.flatten(ctx, bare); err != nil {
		return err
	}
	if r.Name != applied {
		if _, err = r.scrub(r.Name, false); err != nil {
			return err
		}
		if left, err = r.searchDocument(ctx, r.Name, check, false); err != nil {
			return err
		}
	}

	return r.verify(ctx, left, check)
}

// redactAsideScript sets the links of pages aside, if there are any.
const redactAsideScript = `for (var i = 0; i < doc.countPages(); i++) aside(doc.findPage(i));
doc.save(args.output, "");
print("true");`

// flattenPages makes comments and fields parts of their pages. Links stay links.
func (r *redaction) flattenPages(ctx context.Context, to string) error {
	const aside = "aside.pdf"
	s, err := r.ReadStructure(ctx)
	if err != nil {
		return err
	}
	r.flattened = s.FlattenChanges()

	from := r.Document
	linked, err := job.FileContains(r.Work.Path(r.Name), "/Link")
	if err == nil && !linked {
		linked, err = job.FileContains(r.Work.Path(r.Name), "/ObjStm") // in which there may be some
	}
	if err != nil {
		return err
	}

	if linked {
		input := job.OpenInput{Input: r.Name, Output: aside}
		if _, err := job.RunScript[bool](ctx, r.Document, "aside.js", []byte(job.DrawScript+redactAsideScript), input); err != nil {
			return err
		}
		from = &job.Document{Work: r.Work, Name: aside}
	}

	poorer, err := form.FlattenComments(ctx, from, to, "all")
	if len(poorer) > 0 {
		r.flattened = append(r.flattened, fmt.Sprintf(job.PoorerText, job.ShortList(poorer)))
	}
	return err
}

// ReadInput are the arguments of the script that reads pages of one, from First to before
// End, which are counted from 0: Output is how the names of their files begin, Texts the file
// of the texts that no page shows. Areas are those of pages by their number, from 0, in MuPDF's points.
type ReadInput struct {
	Input    string               `json:"input"`
	Output   string               `json:"output"`
	Texts    string               `json:"texts"`
	First    int                  `json:"first"`
	End      int                  `json:"end"`
	Areas    map[string][]job.Box `json:"areas"`
	Em       int                  `json:"em"` // size of the glyphs on the sheet of them
	MarkGray float64              `json:"markGray"`
	MarkY    float64              `json:"markY"`
}

// applyInput are the arguments of the script that takes things out.
type applyInput struct {
	Input  string            `json:"input"`
	Output string            `json:"output"`
	Bare   string            `json:"bare"` // without content over the areas
	Color  [3]float64        `json:"color"`
	Texts  map[string]string `json:"texts"` // of objects, and their replacement
	Images []erasedImage     `json:"images"`
	Pages  []applyPage       `json:"pages"`
}

// applyPage holds what is covered on a page: see foundPage; areas by their left, top, width and height.
type applyPage struct {
	Page   int          `json:"page"`
	Covers [][]float64  `json:"covers"`
	Areas  [][4]float64 `json:"areas"`
}

// searchResult is the result of searching a document.
type searchResult struct {
	pages map[int]foundPage // by number, from 1; those with something
	kept  []pageLetters     // of all pages: the letters to keep
	// codes are those of the pages that lose something, gone the ones that go, and numbers those of the operations of
	// streams.
	codes   []*PageCodes
	gone    []map[int]bool
	numbers map[string]int
	texts   map[string]string
	// True if there are attachments, or metadata that match: both are removed.
	removesMetadata bool
}

// scrub rewrites a file of the job's folder without content that no page shows, and reports whether that content
// contained secrets. See scrubber for meanings.
func (r *redaction) scrub(name string, meanings bool) (found bool, err error) {
	content, err := os.ReadFile(r.Work.Path(name))
	if err != nil {
		return false, fmt.Errorf("scrub: %w", err)
	}
	content, found, err = scrub(content, r.terms, meanings)
	if err != nil {
		return false, r.Fail(job.Damaged, fmt.Errorf("scrub: %w", err))
	}
	if err := os.WriteFile(r.Work.Path(name), content, 0o600); err != nil {
		return false, fmt.Errorf("scrub: %w", err)
	}
	return found, nil
}

// inspect returns where in a file of the job's folder something is found that is to go.
func (r *redaction) inspect(name string, source bool) (where string, err error) {
	content, err := os.ReadFile(r.Work.Path(name))
	if err != nil {
		return "", fmt.Errorf("inspect: %w", err)
	}
	if where, err = inspect(content, r.terms, source); err != nil {
		return "", r.Fail(job.Damaged, fmt.Errorf("inspect: %w", err))
	}
	return where, nil
}

// searchDocument opens a document as another file without hidden content, and finds the secrets in it. For the source, it
// first removes content that no page shows, and finds what is in the areas.
func (r *redaction) searchDocument(ctx context.Context, name, open string, source bool) (searchResult, error) {
	found := searchResult{
		pages: map[int]foundPage{}, kept: make([]pageLetters, r.Pages), codes: make([]*PageCodes, r.Pages),
		gone: make([]map[int]bool, r.Pages), texts: map[string]string{},
	}

	const metadata = "metadata.xml"
	var err error
	input := job.OpenInput{Input: name, Output: open, Room: redactRoom, Metadata: metadata}
	found.removesMetadata, err = job.RunScript[bool](ctx, r.Document, "open.js", []byte(job.DrawScript+redactOpenScript), input)
	if err != nil {
		return found, err
	}

	if source {
		hidden, err := r.scrub(open, true)
		if err != nil {
			return found, err
		}
		where, err := r.inspect(name, true)
		if err != nil {
			return found, err
		}
		found.removesMetadata = found.removesMetadata || hidden || where != ""
	}

	metadataText, err := os.ReadFile(r.Work.Path(metadata))
	if err != nil {
		return found, r.Fail(job.Damaged, err)
	}
	if _, matches := r.terms.blacken(string(metadataText)); matches {
		found.removesMetadata = true
	}

	if err := r.search(ctx, open, source, &found); err != nil {
		return found, err
	}
	texts, err := job.TakeJSON[[]string](r.Document, textsFile)
	if err != nil {
		return found, err
	}
	for _, text := range texts {
		if better, matches := r.terms.blacken(text); matches {
			found.texts[text] = better
		}
	}
	return found, nil
}

// textsFile has the texts of a document's objects.
const textsFile = "texts.json"

// search finds the secrets on the pages of an opened document, and what is in the areas.
func (r *redaction) search(ctx context.Context, open string, source bool, found *searchResult) error {
	const probe = "marked.pdf"
	f, pages, err := r.readPages(open)
	if err != nil {
		return err
	}

	update, numbers, err := WithMarks(f)
	if err != nil {
		return r.Fail(job.Damaged, err)
	}
	found.numbers = numbers
	if err := r.WriteUpdated(open, probe, update); err != nil {
		return err
	}

	areas := map[string][]job.Box{}
	for _, a := range r.args.Areas {
		room := job.Floats(f.Target(pages[a.Page-1].Entries["/MediaBox"]))
		if source && len(room) == 4 {
			b := r.areaBox(a, 0)
			key := strconv.Itoa(a.Page - 1)
			areas[key] = append(areas[key], job.Box{b[0] - room[0], room[3] - b[3], b[2] - room[0], room[3] - b[1]})
		}
	}

	says := false
	if source {
		if says, err = job.FileContains(r.Work.Path(open), "/ActualText"); err != nil {
			return err
		}
		if !says {
			if says, err = sayings(f, r.terms); err != nil {
				return r.Fail(job.Damaged, err)
			}
		}
	}

	marks := make([]foundPage, r.Pages)
	var reading sync.Mutex // of f

	take := func(n int, codes PageCodes) error {
		var meaningful map[int]bool
		if says {
			reading.Lock()
			defer reading.Unlock()
			var err error
			if meaningful, err = spoken(f, pages[n], codes, numbers, r.terms); err != nil {
				return &job.Error{Kind: job.RedactionIncomplete, Text: "cannot be redacted: it has " + err.Error(), Page: n + 1, Cause: err}
			}
		}

		letters := codes.letters()
		here := areas[strconv.Itoa(n)]
		secret := letters.secret(r.terms, meaningful)
		gone := letters.codes(secret)
		for _, area := range here {
			for i, c := range codes.Codes {
				if c.within(area) {
					gone[i] = true
				}
			}
		}
		marks[n], found.kept[n] = letters.found(secret), letters.without(gone)
		if len(gone)+len(here) > 0 {
			found.codes[n], found.gone[n] = &codes, gone
		}
		return nil
	}

	err = job.InRuns(ctx, r.Pages, func(ctx context.Context, run, from, to int) error {
		input := ReadInput{
			Input: probe, Output: "glyphs-", Texts: textsFile, First: from, End: to, Areas: areas,
			Em: sheetEm, MarkGray: MarkGray, MarkY: MarkY,
		}
		return ReadRun(ctx, r.Document, run, input, take)
	})
	if err != nil {
		return err
	}

	for n, page := range marks {
		if len(page.covers) > 0 {
			found.pages[n+1] = page
		}
	}
	return nil
}

// marks returns the areas to redact, by page.
func (r *redaction) marks(found searchResult) []applyPage {
	pages := []applyPage{}
	for n := 1; n <= r.Pages; n++ {
		page := applyPage{Page: n, Covers: [][]float64{}, Areas: [][4]float64{}}
		if here, ok := found.pages[n]; ok {
			page.Covers = here.covers
		}
		for _, a := range r.args.Areas {
			if a.Page == n {
				page.Areas = append(page.Areas, [4]float64{a.X, a.Y, a.Width, a.Height})
			}
		}

		if len(page.Covers)+len(page.Areas) > 0 {
			pages = append(pages, page)
		}
	}

	return pages
}

// pictureDPI is the resolution of pages that become images.
const pictureDPI = 200

// readPapers reads how the pages are shown.
func (r *redaction) readPapers(name string) error {
	f, pages, err := r.readPages(name)
	if err != nil {
		return err
	}
	s := &job.Structure{File: f}
	r.papers = make([]job.Paper, len(pages)+1)
	for i, page := range pages {
		r.papers[i+1] = s.Paper(page.Entries)
	}
	return nil
}

// resolution returns the dots per inch at which poppler, which ignores a page's unit, renders the displayed page at
// the requested resolution, or with a maximum number of pixels.
func resolution(p job.Paper, dpi, pixels float64) int {
	maximum := math.Sqrt(pixels/((p.Box[2]-p.Box[0])*(p.Box[3]-p.Box[1]))) * job.PointsPerInch
	return max(1, int(min(dpi*p.Unit, maximum)))
}

// flatten turns pages into images if something, such as a line, is still drawn in a redacted area, or an image in a
// redacted place that is part of a pattern or of a mask: covering it would only hide it.
func (r *redaction) flatten(ctx context.Context, bare string) error {
	var pages []picturePage
	outlined, err := r.outlined(bare)
	if err != nil {
		return err
	}
	images, err := r.leftImages()
	if err != nil {
		return err
	}

	unsure := slices.Concat(outlined, images)
	for _, page := range job.Unique(append(r.emptied(), images...)) {
		if !slices.Contains(unsure, page) {
			blank, err := r.blank(ctx, bare, page)
			if err != nil {
				return err
			}
			if blank {
				continue
			}
		}

		name := fmt.Sprintf("picture-%d", page)
		if err := job.DrawPage(ctx, r.Document, r.Name, name, page, resolution(r.papers[page], pictureDPI, job.MaxPixels), "-png"); err != nil {
			return err
		}
		pages = append(pages, picturePage{page, name + ".png"})
		r.pageImages = append(r.pageImages, page)
	}

	if len(pages) == 0 {
		return nil
	}

	input := pictureInput{Input: r.Name, Output: "pictures.pdf", Pages: pages}
	if _, err := job.RunScript[bool](ctx, r.Document, "picture.js", []byte(job.DrawScript+redactPictureScript), input); err != nil {
		return err
	}
	r.Name = input.Output
	return nil
}

// pictureInput is the arguments of the script that turns pages into images.
type pictureInput struct {
	Input  string        `json:"input"`
	Output string        `json:"output"`
	Pages  []picturePage `json:"pages"`
}

type picturePage struct {
	Page  int    `json:"page"`
	Image string `json:"image"`
}

// emptied are the pages with areas, each once.
func (r *redaction) emptied() []int {
	var pages []int
	for _, a := range r.args.Areas {
		pages = append(pages, a.Page)
	}
	return job.Unique(pages)
}

// checkDPI is the resolution at which areas are looked at.
const checkDPI = 100

// blank reports whether nothing can be seen in the areas of a page: all of an area is of
// one gray.
func (r *redaction) blank(ctx context.Context, name string, page int) (bool, error) {
	p := r.papers[page]
	dpi := resolution(p, checkDPI, job.ScanPixels)
	s, err := job.DrawGray(ctx, r.Document, name, page, dpi)
	if err != nil {
		return false, err
	}

	scale := float64(dpi) / job.PointsPerInch / p.Unit
	for _, a := range r.args.Areas {
		if a.Page != page {
			continue
		}
		// Its edge may share a pixel with its surroundings.
		left := max(0, int(math.Ceil(a.X*scale))+1)
		top := max(0, int(math.Ceil(a.Y*scale))+1)
		right := min(s.Width, int((a.X+a.Width)*scale)-1)
		bottom := min(s.Height, int((a.Y+a.Height)*scale)-1)
		for y := top; y < bottom; y++ {
			for x := left; x < right; x++ {
				if s.Pixels[y*s.Width+x] != s.Pixels[top*s.Width+left] {
					return false, nil
				}
			}
		}
	}

	return true, nil
}

// errLeft means that something could still be found in a document.
var errLeft = errors.New("is left in the result")

// inPlace fails where letters that were to stay are somewhere else now, or gone.
func (l searchResult) inPlace(before searchResult) error {
	for i, page := range l.kept {
		if !page.allIn(before.kept[i]) {
			return &job.Error{Kind: job.RedactionIncomplete, Text: "cannot be redacted: other text would move", Page: i + 1}
		}
		if !before.kept[i].allIn(page) {
			return &job.Error{Kind: job.RedactionIncomplete, Text: "cannot be redacted: other text would be lost", Page: i + 1}
		}
	}
	return nil
}

// verify fails where MuPDF has found something in the result, or poppler does in the
// file in which nothing of it is hidden.
func (r *redaction) verify(ctx context.Context, found searchResult, open string) error {
	if where, err := r.inspect(r.Name, false); err != nil || where != "" {
		return errors.Join(err, r.left(where))
	}
	if pages, err := r.leftImages(); err != nil || len(pages) > 0 {
		return errors.Join(err, r.left("page "+job.RangeText(pages)+": an image that something is to be taken out of, where it cannot be seen"))
	}
	if len(found.pages) > 0 || len(found.texts) > 0 || found.removesMetadata {
		return r.left("MuPDF")
	}

	made := &job.Document{Work: r.Work, Name: open, Pages: r.Pages}
	texts, err := job.AllTexts(ctx, made)
	if err != nil {
		return err
	}
	for _, text := range texts {
		if len(r.terms.find(lettersOf(text))) > 0 {
			return r.left("poppler")
		}
	}

	for _, page := range r.emptied() {
		if blank, err := r.blank(ctx, r.Name, page); err != nil || !blank {
			return errors.Join(err, r.left("an area"))
		}
	}

	for _, a := range r.args.Areas {
		if err := r.verifyArea(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// verifyArea fails where poppler reads something in an area.
func (r *redaction) verifyArea(ctx context.Context, a Area) error {
	n := strconv.Itoa(a.Page)
	dots := strconv.FormatFloat(job.PointsPerInch*r.papers[a.Page].Unit, 'f', -1, 64)
	out, err := r.DrawPages(ctx, 1, engine.Program{Name: "pdftotext", MaxStdout: job.MaxTextBytes, Args: []string{
		"-q", "-cropbox", "-enc", "UTF-8", "-f", n, "-l", n, "-r", dots,
		"-x", strconv.Itoa(int(math.Ceil(a.X)) + 1), "-y", strconv.Itoa(int(math.Ceil(a.Y)) + 1),
		"-W", strconv.Itoa(max(1, int(a.Width)-3)), "-H", strconv.Itoa(max(1, int(a.Height)-3)), engine.PathArg(r.Name), "-",
	}})
	if err != nil {
		return r.Damaged(err)
	}

	if strings.TrimSpace(string(out)) != "" {
		return r.left("an area")
	}
	return nil
}

// left returns the error of a result that still contains redacted content.
func (r *redaction) left(where string) error {
	return &job.Error{Kind: job.RedactionIncomplete, Text: "cannot be redacted: redacted content remains: " + where, Cause: fmt.Errorf("%s: %w", where, errLeft)}
}
