package pdftag

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// PDF/A-1 is based on PDF 1.4 without transparency. A document that has none apart from groups, which then have no
// effect, becomes one of it.

// checkPDFA1 reports what PDF/A-1 excludes, and otherwise changes the document so that it is of that part.
func (d *tagger) checkPDFA1() error {
	if !slices.Contains(d.opt.Standards, pdffile.A1B) {
		return nil
	}

	w := pdfa1Walk{tagger: d, seen: map[string]bool{d.file.Root(): true}}
	for _, p := range d.pages {
		w.seen[p.ref] = true
	}

	for i, p := range d.pages {
		w.number = i + 1
		w.visit(p.ref)
		w.visitAll()
	}
	w.number = 0
	w.inspect(d.catalog)
	w.visitAll()

	if !slices.Contains(d.claim(), pdffile.A1B) {
		return nil
	}
	for _, ref := range w.groups {
		d.update.SetEntries(ref, pdffile.Without(d.update.Entries(ref), "/Group"))
	}
	for _, ref := range w.fonts {
		d.listGlyphs(ref)
	}

	delete(d.catalog, "/Version")
	return nil
}

// pdfa1Walk looks at all objects of a document.
type pdfa1Walk struct {
	*tagger

	seen   map[string]bool
	next   []string // objects to look at
	number int      // of the page; 0 is none
	groups []string // objects with a group of transparency
	fonts  []string // fonts of wide codes, below their parents
}

// visitAll looks at the objects that others refer to.
func (w *pdfa1Walk) visitAll() {
	for len(w.next) > 0 {
		ref := w.next[len(w.next)-1]
		w.next = w.next[:len(w.next)-1]
		if !w.seen[ref] {
			w.seen[ref] = true
			w.visit(ref)
		}
	}
}

// visit looks at an object and all below it.
func (w *pdfa1Walk) visit(ref string) {
	entries := w.update.Entries(ref)
	if entries == nil {
		w.inspect(w.update.Value(ref))
	} else {
		w.inspect(entries)
	}
	if group, _ := w.target(entries["/Group"]).(pdffile.Dict); group["/S"] == "/Transparency" {
		w.groups = append(w.groups, ref)
	}
	if entries["/Subtype"] == "/CIDFontType2" {
		w.fonts = append(w.fonts, ref)
	}
}

// target returns a value, or the object that it refers to.
func (w *pdfa1Walk) target(v any) any {
	ref := pdffile.Reference(v)
	if ref == "" {
		return v
	}
	if entries := w.update.Entries(ref); entries != nil {
		return entries
	}
	return w.update.Value(ref)
}

// inspect checks a value with the limits of PDF/A-1.
func (w *pdfa1Walk) inspect(v any) {
	const items, letters = 8191, 30_000

	switch v := v.(type) {
	case string:
		if ref := pdffile.Reference(v); ref != "" {
			w.next = append(w.next, ref)
		}
		if len(v) > letters {
			w.excluded("a text of more than 30,000 characters")
		}
	case []any:
		if len(v) > items {
			w.excluded("a list of more than 8,191 parts")
		}
		for _, item := range v {
			w.inspect(item)
		}
	case pdffile.Dict:
		w.entries(v)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key != "/Parent" && key != "/P" && key != "/Pg" {
				w.inspect(v[key])
			}
		}
	}
}

// entries checks a dictionary, whatever it belongs to.
func (w *pdfa1Walk) entries(v pdffile.Dict) {
	const image = "/Image"
	if mask := w.target(v["/SMask"]); mask != nil && mask != "/None" {
		if v["/Subtype"] == image {
			w.excluded("an image with transparency")
		} else {
			w.excluded("a soft mask, as shadows and gradients have")
		}
	}

	for _, key := range []string{"/CA", "/ca"} {
		if opacity, ok := w.target(v[key]).(float64); ok && opacity < 1 && v["/Subtype"] != image {
			w.excluded("an opacity of " + strconv.FormatFloat(opacity, 'g', 2, 64))
		}
	}

	if mode, ok := w.target(v["/BM"]).(string); ok && mode != "/Normal" && mode != "/Compatible" {
		w.excluded("the blend mode " + strings.TrimPrefix(mode, "/"))
	}
	if fmt.Sprint(w.target(v["/Filter"])) == "/JPXDecode" {
		w.excluded("an image in JPEG 2000")
	}
	if v["/OCProperties"] != nil || v["/OC"] != nil {
		w.excluded("layers")
	}
	if v["/EF"] != nil {
		w.excluded("an attached file")
	}
}

func (w *pdfa1Walk) excluded(what string) {
	w.fault(Violation{
		Rule: Newer, Problem: "PDF/A-1 excludes " + what + ".", Remedy: "Use a-2b, or remove it.", Page: w.number,
	})
}

// checkNumbers reports numbers of content that are beyond those of PDF/A-1.
func (d *tagger) checkNumbers(s *stream) {
	const maximum = 32767
	if !slices.Contains(d.opt.Standards, pdffile.A1B) {
		return
	}

	l := pdffile.NewLexer(s.plain)
	for {
		kind, word := l.Next()
		switch {
		case kind == pdffile.EndToken:
			return
		case kind == pdffile.OperatorToken && string(word) == "BI":
			l.SkipImage()
		case kind == pdffile.ValueToken && len(word) > len("32767"):
			if n, err := strconv.ParseFloat(string(word), 64); err == nil && (n > maximum || n < -maximum) {
				d.fault(Violation{
					Rule: Newer, Problem: "PDF/A-1 excludes coordinates beyond 32,767 points.",
					Remedy: "Use a-2b, or a smaller page.", Page: s.page + 1,
				})
				return
			}
		}
	}
}

// listGlyphs gives a font of wide codes the list of its glyphs, which PDF/A-1 demands.
func (d *tagger) listGlyphs(ref string) {
	descriptor := pdffile.Reference(d.update.Entries(ref)["/FontDescriptor"])
	entries := d.update.Entries(descriptor)
	raw, ok := d.file.Stream(pdffile.Reference(entries["/FontFile2"]))
	if !ok || entries["/CIDSet"] != nil {
		return
	}
	program, err := d.file.Plain(raw)
	if err != nil {
		return
	}

	glyphs := countGlyphs(program)
	list := make([]byte, (glyphs+7)/8)
	for i := range glyphs {
		list[i/8] |= 0x80 >> (i % 8)
	}

	entries = pdffile.Without(entries)
	entries["/CIDSet"] = d.newObject(pdffile.Deflated(pdffile.Dict{}, list))
	d.update.Set(descriptor, entries)
}

// countGlyphs returns the number of glyphs of a TrueType font; 0 if it is none.
func countGlyphs(program []byte) int {
	const head, row, offset, number = 12, 16, 8, 4
	for at := head; at+row <= len(program); at += row {
		if string(program[at:at+4]) != "maxp" {
			continue
		}
		start := int(binary.BigEndian.Uint32(program[at+offset:])) + number
		if start < 0 || start+2 > len(program) {
			return 0
		}
		return int(binary.BigEndian.Uint16(program[start:]))
	}
	return 0
}
