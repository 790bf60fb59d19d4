package archive

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"unicode/utf8"

	"github.com/relaypdf/relaypdf/render/pdf/form"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// archiveWords lays invisible text over pages that have become images, so their words can
// be found and copied.
type archiveWords struct {
	*job.Structure

	changes *pdffile.Update
	font    string
	// codes are the codes of the characters in the font, which has one glyph for all.
	codes   map[rune]int
	letters []rune // by their code, from 1
}

// layWords puts the words of a source's pages over the images of these pages in a document
// made of it.
func layWords(ctx context.Context, source, made *job.Document, pageImages []int) error {
	f, err := made.ReadSelf()
	if err != nil {
		return made.Fail(job.Damaged, err)
	}
	s, err := job.SelfDescribed(f)
	if err != nil {
		return made.Fail(job.Damaged, err)
	}

	sizes, err := job.ReadPageSizes(ctx, source, pageImages[0], pageImages[len(pageImages)-1])
	if err != nil {
		return err
	}

	a := &archiveWords{Structure: s, changes: s.NewUpdate(), codes: map[rune]int{}}
	a.font = a.changes.Reserve()
	for _, n := range pageImages {
		layer, err := job.TextLayer(ctx, source, n, sizes[n])
		if err != nil {
			return err
		}
		if len(layer.Words) > 0 && layer.Width > 0 && layer.Height > 0 {
			a.page(s.Pages[n-1].Object, layer)
		}
	}

	if len(a.letters) == 0 {
		return nil
	}
	a.makeFont()
	return made.Change(a.changes)
}

// page puts words behind the content of a page.
func (a *archiveWords) page(ref string, words job.ReadPage) {
	page := a.Dict(ref)
	const name = "/Words"
	resources := pdffile.Dict{}
	fonts := pdffile.Dict{}
	maps.Copy(resources, a.Entry(a.Inherited(page, "/Resources")))
	maps.Copy(fonts, a.Entry(resources["/Font"]))
	fonts[name], resources["/Font"] = a.font, fonts

	content := a.changes.Reserve()
	var b bytes.Buffer
	toPage := job.Affine{1 / words.Width, 0, 0, 1 / words.Height, 0, 0}.Then(a.Paper(page).Square())
	fmt.Fprintf(&b, "q %.5f %.5f %.5f %.5f %.5f %.5f cm BT 3 Tr\n", toPage[0], toPage[1], toPage[2], toPage[3], toPage[4], toPage[5])

	turned := sideways(words.Words)
	for _, w := range words.Words {
		a.word(&b, name, w, words.Height, turned)
	}
	b.WriteString("ET Q\n")
	a.changes.Set(content, pdffile.Stream{Entries: pdffile.Dict{}, Content: b.Bytes()})

	page = pdffile.Without(page)
	page["/Resources"], page["/Contents"] = resources, []any{page["/Contents"], content}
	a.changes.Set(ref, page)
}

// noGlyph is the advance width of each character, in the font's units.
const noGlyph = form.UnitsPerEm * 278 / 1000

// sideways returns the direction of a page's words if most are higher than wide: 1 means down and -1 up, judged by
// the next words of their lines. 0 means to the right.
func sideways(words []job.ReadWord) int {
	turned := 0
	high := 0
	all := 0

	for i, w := range words {
		letters := utf8.RuneCountInString(w.Text)
		if all += letters; w.Height > w.Width {
			high += letters
		}
		if i > 0 && math.Abs(w.X-words[i-1].X) < w.Width/2 {
			turned += cmp.Compare(w.Y, words[i-1].Y)
		}
	}

	if 2*high < all {
		return 0
	}
	return cmp.Compare(turned, 0)
}

// word writes a word that fills its box, on a page of a height in points. Poppler has
// returned its letters in the order from left to right.
func (a *archiveWords) word(b *bytes.Buffer, font string, w job.ReadWord, height float64, turned int) {
	const below = float64(form.FontDescent) / (form.FontAscent + form.FontDescent) // the line, of the height of letters
	tall := w.Height
	long := w.Width
	along := job.Affine{1, 0, 0, 1, w.X, height - w.Y - w.Height*(1-below)}

	if turned != 0 {
		tall, long = long, tall
		along = job.Affine{0, -1, 1, 0, w.X + w.Width*below, height - w.Y}
		if turned < 0 {
			along = job.Affine{0, 1, -1, 0, w.X + w.Width*(1-below), height - w.Y - w.Height}
		}
	}
	if tall <= 0 || long <= 0 {
		return
	}

	size := tall * form.UnitsPerEm / (form.FontAscent + form.FontDescent)
	stretch := 100 * long * form.UnitsPerEm / (float64(utf8.RuneCountInString(w.Text)) * noGlyph * size)
	fmt.Fprintf(b, "%s %.3f Tf %.3f Tz %.0f %.0f %.0f %.0f %.3f %.3f Tm <", font, size, stretch, along[0], along[1], along[2], along[3], along[4], along[5])

	for _, r := range w.Text + " " {
		fmt.Fprintf(b, "%04x", a.code(r))
	}
	b.WriteString("> Tj\n")
}

// code is the code of a character; 0, which means none, once there are too many.
func (a *archiveWords) code(r rune) int {
	code, known := a.codes[r]
	if !known && len(a.letters) < 0xffff {
		a.letters = append(a.letters, r)
		code = len(a.letters)
		a.codes[r] = code
	}
	return code
}

// makeFont adds the font: all its characters have one glyph, with a map to their meaning.
func (a *archiveWords) makeFont() {
	object := func(value any) string {
		ref := a.changes.Reserve()
		a.changes.Set(ref, value)
		return ref
	}
	stream := func(content []byte, entries pdffile.Dict) string {
		return object(pdffile.Stream{Entries: entries, Content: content})
	}
	thousandths := func(n int) float64 { return float64(n) * 1000 / form.UnitsPerEm }

	const name, first = "/RelaypdfWords", "\x00\x01"
	// Letters are boxes: MuPDF does not see a line of such as have no outline.
	corner := func(x, y int) form.Point { return form.Point{X: x, Y: y, On: true} }
	outline := []form.Point{
		corner(0, -form.FontDescent), corner(0, form.FontAscent), corner(noGlyph, form.FontAscent), corner(noGlyph, -form.FontDescent),
	}
	file := (&form.FontBuilder{Glyphs: map[rune]form.Glyph{' ': {Advance: noGlyph, Contours: [][]form.Point{outline}}}}).File()

	descriptor := object(pdffile.Dict{
		"/Type": "/FontDescriptor", "/FontName": name, "/Flags": 4., "/ItalicAngle": 0., "/StemV": 80.,
		"/FontBBox": []any{0., thousandths(-form.FontDescent), thousandths(noGlyph), thousandths(form.FontAscent)},
		"/Ascent":   thousandths(form.FontAscent), "/Descent": thousandths(-form.FontDescent), "/CapHeight": thousandths(form.FontAscent),
		"/FontFile2": stream(file, pdffile.Dict{"/Length1": float64(len(file))}),
	})

	letters := object(pdffile.Dict{
		"/Type": "/Font", "/Subtype": "/CIDFontType2", "/BaseFont": name, "/FontDescriptor": descriptor,
		"/CIDSystemInfo": pdffile.Dict{"/Registry": "b:41646f6265", "/Ordering": "b:4964656e74697479", "/Supplement": 0.},
		"/DW":            math.Round(thousandths(noGlyph)), // poppler reads whole numbers only
		"/CIDToGIDMap":   stream(append([]byte{0, 0}, bytes.Repeat([]byte(first), len(a.letters))...), pdffile.Dict{}),
	})

	a.changes.Set(a.font, pdffile.Dict{
		"/Type": "/Font", "/Subtype": "/Type0", "/BaseFont": name, "/Encoding": "/Identity-H",
		"/DescendantFonts": []any{letters}, "/ToUnicode": stream(a.meanings(), pdffile.Dict{}),
	})
}

// meanings returns the table of the codes' meanings.
func (a *archiveWords) meanings() []byte {
	meanings := make(map[string]string, len(a.letters))
	for i, r := range a.letters {
		meanings[string([]byte{byte((i + 1) >> 8), byte(i + 1)})] = string(r)
	}
	return meaningTable(meanings)
}
