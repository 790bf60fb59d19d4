package pdf

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
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// RedactArgs are the arguments of a RedactJob. The output is the PDF, and the result is a
// Changed.
type RedactArgs struct {
	Input Input
	// Terms are found everywhere, regardless of case and spaces. Patterns are regular expressions of Go.
	Terms, Patterns []string
	Areas           []RedactArea
	// Color fills the redacted areas: red, green and blue from 0 to 1.
	Color [3]float64
}

// RedactArea is an area of a page, in points from its top left as displayed.
type RedactArea struct {
	Page                int
	X, Y, Width, Height float64
}

//go:embed redact_open.js
var redactOpenScript string

//go:embed redact_read.js
var redactReadScript []byte

//go:embed redact_apply.js
var redactApplyScript string

//go:embed redact_picture.js
var redactPictureScript string

// redactRoom is the width of the area around a page that is searched for hidden text, in points.
const redactRoom = 50_000

// RedactJob removes words and areas from the pages of a PDF, including hidden copies of their text.
var RedactJob = define("pdf.redact", engine.MakeTime, redact)

// redact removes words and parts of pages from a document. Annotations and fields become
// part of their pages first; metadata, attachments, scripts and everything that no page
// shows are removed. Two tools read the result again, and each of its objects is searched:
// redact fails if something is found.
func redact(ctx context.Context, w *engine.Work, args RedactArgs) (Changed, error) {
	terms, err := newRedactionTerms(args.Terms, args.Patterns)
	if err != nil {
		return Changed{}, err
	}

	doc, err := openOne(ctx, w, args.Input)
	if err != nil {
		return Changed{}, err
	}
	if err := checkPages(doc.pages); err != nil {
		return Changed{}, err
	}
	for _, a := range args.Areas {
		if a.Page > doc.pages {
			return Changed{}, &Error{Kind: OffPage, Page: a.Page, Text: fmt.Sprintf("must be on pages of the document, which has %[2]d; got page %[1]d", a.Page, doc.pages)}
		}
	}

	original := *doc
	encrypted, err := decrypt(ctx, doc)
	if err != nil {
		return Changed{}, err
	}
	if encrypted {
		if err := checkID(ctx, &original, terms); err != nil {
			return Changed{}, err
		}
	}

	r := &redaction{document: doc, args: args, terms: terms}
	if err := r.run(ctx); err != nil {
		return Changed{}, err
	}

	told := Changed{Changes: r.flattened}
	if len(r.pageImages) > 0 {
		told.Changes = append(told.Changes,
			"Pages with content other than text and images in a redacted area were converted to images without text: "+
				rangeText(r.pageImages)+".")
	}

	// Its objects are not packed into streams again: nothing may be rewritten after the
	// check.
	if !encrypted {
		if err := os.Rename(w.Path(r.name), w.Path(output)); err != nil {
			return Changed{}, fmt.Errorf("result: %w", err)
		}
		w.Output(output)
		return told, nil
	}
	return told, finish(ctx, &original, encrypted, r.name)
}

// checkID refuses an encrypted document whose ID has something that is to go: the key is
// made of it, so the result has the same.
func checkID(ctx context.Context, d *document, s redactionTerms) error {
	trailer, err := qpdf(ctx, d.work, qpdfJob{"inputFile": d.name, "password": d.password, "showObject": "trailer"})
	if err != nil {
		return d.damaged(err)
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
		return &Error{Kind: RedactionIncomplete, Text: "cannot be redacted: the file ID, which the encryption uses, contains redacted text. Unlock the file first with pdf.unlock"}
	}
	return nil
}

// redaction is the work on one document.
type redaction struct {
	*document

	args       RedactArgs
	terms      redactionTerms
	pageImages []int    // pages that have become some
	flattened  []string // sentences about fields and comments
	// papers are the pages as they are shown, by number.
	papers []paper
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
		return &Error{Kind: NoMatch, Text: "has no match. For scanned pages call pdf.ocr first"}
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
	if _, err := runScript[bool](ctx, r.document, "redact.js", []byte(drawScript+redactApplyScript), input); err != nil {
		return err
	}

	r.name = applied
	if _, err := r.scrub(r.name, false); err != nil {
		return err
	}

	const check = "check.pdf"
	left, err := r.searchDocument(ctx, r.name, check, false)
	if err != nil {
		return err
	}
	if err := left.inPlace(found); err != nil {
		return err
	}

	if err := r.flatten(ctx, bare); err != nil {
		return err
	}
	if r.name != applied {
		if _, err = r.scrub(r.name, false); err != nil {
			return err
		}
		if left, err = r.searchDocument(ctx, r.name, check, false); err != nil {
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
	s, err := r.readStructure(ctx)
	if err != nil {
		return err
	}
	r.flattened = s.flattened()

	from := r.document
	linked, err := contains(r.work.Path(r.name), "/Link")
	if err == nil && !linked {
		linked, err = contains(r.work.Path(r.name), "/ObjStm") // in which there may be some
	}
	if err != nil {
		return err
	}

	if linked {
		input := openInput{Input: r.name, Output: aside}
		if _, err := runScript[bool](ctx, r.document, "aside.js", []byte(drawScript+redactAsideScript), input); err != nil {
			return err
		}
		from = &document{work: r.work, name: aside}
	}

	poorer, err := flattenComments(ctx, from, to, "all")
	if len(poorer) > 0 {
		r.flattened = append(r.flattened, fmt.Sprintf(poorerText, shortList(poorer)))
	}
	return err
}

// readInput are the arguments of the script that reads pages of one, from First to before
// End, which are counted from 0: Output is how the names of their files begin, Texts the file
// of the texts that no page shows. Areas are those of pages by their number, from 0, in MuPDF's points.
type readInput struct {
	Input    string           `json:"input"`
	Output   string           `json:"output"`
	Texts    string           `json:"texts"`
	First    int              `json:"first"`
	End      int              `json:"end"`
	Areas    map[string][]box `json:"areas"`
	Em       int              `json:"em"` // size of the glyphs on the sheet of them
	MarkGray float64          `json:"markGray"`
	MarkY    float64          `json:"markY"`
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
	codes   []*pageCodes
	gone    []map[int]bool
	numbers map[string]int
	texts   map[string]string
	// True if there are attachments, or metadata that match: both are removed.
	removesMetadata bool
}

// scrub rewrites a file of the job's folder without content that no page shows, and reports whether that content
// contained secrets. See scrubber for meanings.
func (r *redaction) scrub(name string, meanings bool) (found bool, err error) {
	content, err := os.ReadFile(r.work.Path(name))
	if err != nil {
		return false, fmt.Errorf("scrub: %w", err)
	}
	content, found, err = scrub(content, r.terms, meanings)
	if err != nil {
		return false, r.fail(Damaged, fmt.Errorf("scrub: %w", err))
	}
	if err := os.WriteFile(r.work.Path(name), content, 0o600); err != nil {
		return false, fmt.Errorf("scrub: %w", err)
	}
	return found, nil
}

// inspect returns where in a file of the job's folder something is found that is to go.
func (r *redaction) inspect(name string, source bool) (where string, err error) {
	content, err := os.ReadFile(r.work.Path(name))
	if err != nil {
		return "", fmt.Errorf("inspect: %w", err)
	}
	if where, err = inspect(content, r.terms, source); err != nil {
		return "", r.fail(Damaged, fmt.Errorf("inspect: %w", err))
	}
	return where, nil
}

// searchDocument opens a document as another file without hidden content, and finds the secrets in it. For the source, it
// first removes content that no page shows, and finds what is in the areas.
func (r *redaction) searchDocument(ctx context.Context, name, open string, source bool) (searchResult, error) {
	found := searchResult{
		pages: map[int]foundPage{}, kept: make([]pageLetters, r.pages), codes: make([]*pageCodes, r.pages),
		gone: make([]map[int]bool, r.pages), texts: map[string]string{},
	}

	const metadata = "metadata.xml"
	var err error
	input := openInput{Input: name, Output: open, Room: redactRoom, Metadata: metadata}
	found.removesMetadata, err = runScript[bool](ctx, r.document, "open.js", []byte(drawScript+redactOpenScript), input)
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

	metadataText, err := os.ReadFile(r.work.Path(metadata))
	if err != nil {
		return found, r.fail(Damaged, err)
	}
	if _, matches := r.terms.blacken(string(metadataText)); matches {
		found.removesMetadata = true
	}

	if err := r.search(ctx, open, source, &found); err != nil {
		return found, err
	}
	texts, err := takeJSON[[]string](r.document, textsFile)
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

	update, numbers, err := withMarks(f)
	if err != nil {
		return r.fail(Damaged, err)
	}
	found.numbers = numbers
	if err := r.writeUpdated(open, probe, update); err != nil {
		return err
	}

	areas := map[string][]box{}
	for _, a := range r.args.Areas {
		room := floats(f.Target(pages[a.Page-1].Entries["/MediaBox"]))
		if source && len(room) == 4 {
			b := r.areaBox(a, 0)
			key := strconv.Itoa(a.Page - 1)
			areas[key] = append(areas[key], box{b[0] - room[0], room[3] - b[3], b[2] - room[0], room[3] - b[1]})
		}
	}

	says := false
	if source {
		if says, err = contains(r.work.Path(open), "/ActualText"); err != nil {
			return err
		}
		if !says {
			if says, err = sayings(f, r.terms); err != nil {
				return r.fail(Damaged, err)
			}
		}
	}

	marks := make([]foundPage, r.pages)
	var reading sync.Mutex // of f

	take := func(n int, codes pageCodes) error {
		var meaningful map[int]bool
		if says {
			reading.Lock()
			defer reading.Unlock()
			var err error
			if meaningful, err = spoken(f, pages[n], codes, numbers, r.terms); err != nil {
				return &Error{Kind: RedactionIncomplete, Text: "cannot be redacted: it has " + err.Error(), Page: n + 1, cause: err}
			}
		}

		letters := codes.letters()
		here := areas[strconv.Itoa(n)]
		secret := letters.secret(r.terms, meaningful)
		gone := letters.codes(secret)
		for _, area := range here {
			for i, c := range codes.codes {
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

	err = inRuns(ctx, r.pages, func(ctx context.Context, run, from, to int) error {
		input := readInput{
			Input: probe, Output: "glyphs-", Texts: textsFile, First: from, End: to, Areas: areas,
			Em: sheetEm, MarkGray: markGray, MarkY: markY,
		}
		return readRun(ctx, r.document, run, input, take)
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
	for n := 1; n <= r.pages; n++ {
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
	s := &structure{File: f}
	r.papers = make([]paper, len(pages)+1)
	for i, page := range pages {
		r.papers[i+1] = s.paper(page.Entries)
	}
	return nil
}

// resolution returns the dots per inch at which poppler, which ignores a page's unit, renders the displayed page at
// the requested resolution, or with a maximum number of pixels.
func resolution(p paper, dpi, pixels float64) int {
	maximum := math.Sqrt(pixels/((p.box[2]-p.box[0])*(p.box[3]-p.box[1]))) * pointsPerInch
	return max(1, int(min(dpi*p.unit, maximum)))
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
	for _, page := range unique(append(r.emptied(), images...)) {
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
		if err := drawPage(ctx, r.document, r.name, name, page, resolution(r.papers[page], pictureDPI, MaxPixels), "-png"); err != nil {
			return err
		}
		pages = append(pages, picturePage{page, name + ".png"})
		r.pageImages = append(r.pageImages, page)
	}

	if len(pages) == 0 {
		return nil
	}

	input := pictureInput{Input: r.name, Output: "pictures.pdf", Pages: pages}
	if _, err := runScript[bool](ctx, r.document, "picture.js", []byte(drawScript+redactPictureScript), input); err != nil {
		return err
	}
	r.name = input.Output
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
	return unique(pages)
}

// checkDPI is the resolution at which areas are looked at.
const checkDPI = 100

// blank reports whether nothing can be seen in the areas of a page: all of an area is of
// one gray.
func (r *redaction) blank(ctx context.Context, name string, page int) (bool, error) {
	p := r.papers[page]
	dpi := resolution(p, checkDPI, scanPixels)
	s, err := drawGray(ctx, r.document, name, page, dpi)
	if err != nil {
		return false, err
	}

	scale := float64(dpi) / pointsPerInch / p.unit
	for _, a := range r.args.Areas {
		if a.Page != page {
			continue
		}
		// Its edge may share a pixel with its surroundings.
		left := max(0, int(math.Ceil(a.X*scale))+1)
		top := max(0, int(math.Ceil(a.Y*scale))+1)
		right := min(s.width, int((a.X+a.Width)*scale)-1)
		bottom := min(s.height, int((a.Y+a.Height)*scale)-1)
		for y := top; y < bottom; y++ {
			for x := left; x < right; x++ {
				if s.pixels[y*s.width+x] != s.pixels[top*s.width+left] {
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
			return &Error{Kind: RedactionIncomplete, Text: "cannot be redacted: other text would move", Page: i + 1}
		}
		if !before.kept[i].allIn(page) {
			return &Error{Kind: RedactionIncomplete, Text: "cannot be redacted: other text would be lost", Page: i + 1}
		}
	}
	return nil
}

// verify fails where MuPDF has found something in the result, or poppler does in the
// file in which nothing of it is hidden.
func (r *redaction) verify(ctx context.Context, found searchResult, open string) error {
	if where, err := r.inspect(r.name, false); err != nil || where != "" {
		return errors.Join(err, r.left(where))
	}
	if pages, err := r.leftImages(); err != nil || len(pages) > 0 {
		return errors.Join(err, r.left("page "+rangeText(pages)+": an image that something is to be taken out of, where it cannot be seen"))
	}
	if len(found.pages) > 0 || len(found.texts) > 0 || found.removesMetadata {
		return r.left("MuPDF")
	}

	made := &document{work: r.work, name: open, pages: r.pages}
	texts, err := allTexts(ctx, made)
	if err != nil {
		return err
	}
	for _, text := range texts {
		if len(r.terms.find(lettersOf(text))) > 0 {
			return r.left("poppler")
		}
	}

	for _, page := range r.emptied() {
		if blank, err := r.blank(ctx, r.name, page); err != nil || !blank {
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
func (r *redaction) verifyArea(ctx context.Context, a RedactArea) error {
	n := strconv.Itoa(a.Page)
	dots := strconv.FormatFloat(pointsPerInch*r.papers[a.Page].unit, 'f', -1, 64)
	out, err := r.drawPages(ctx, 1, engine.Program{Name: "pdftotext", MaxStdout: maxTextBytes, Args: []string{
		"-q", "-cropbox", "-enc", "UTF-8", "-f", n, "-l", n, "-r", dots,
		"-x", strconv.Itoa(int(math.Ceil(a.X)) + 1), "-y", strconv.Itoa(int(math.Ceil(a.Y)) + 1),
		"-W", strconv.Itoa(max(1, int(a.Width)-3)), "-H", strconv.Itoa(max(1, int(a.Height)-3)), engine.PathArg(r.name), "-",
	}})
	if err != nil {
		return r.damaged(err)
	}

	if strings.TrimSpace(string(out)) != "" {
		return r.left("an area")
	}
	return nil
}

// left returns the error of a result that still contains redacted content.
func (r *redaction) left(where string) error {
	return &Error{Kind: RedactionIncomplete, Text: "cannot be redacted: redacted content remains: " + where, cause: fmt.Errorf("%s: %w", where, errLeft)}
}
