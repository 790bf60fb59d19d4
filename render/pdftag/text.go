package pdftag

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// font is a font of the document, with the meanings of its codes.
type font struct {
	wide    bool // codes have two bytes
	mapped  bool // it has a map of codes to Unicode
	means   map[uint16]string
	added   int             // the number of codes that were read
	unknown bool            // its map cannot be read
	private map[uint16]bool // codes whose meanings are private
	invalid map[uint16]bool // codes whose meanings are no characters
	uses    map[uint16]*uses
	ref     string
	name    string
	page    int // the first that has it
}

// maxCodes is the maximum number of codes of a font, which have two bytes.
const maxCodes = 1 << 16

// maxText is the maximum number of bytes of an element's text that is read.
const maxText = 2000

// readText is a text of the document, which is read until it has about a number of bytes.
type readText struct {
	strings.Builder
	maximum int
}

func (t *readText) full() bool { return t.Len() > t.maximum }

// textOf returns the text of an element, as far as a few words.
func (d *tagger) textOf(e *element) string {
	out := readText{maximum: maxText}
	d.appendText(&out, e)
	words := strings.FieldsFunc(out.String(), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	return strings.Join(words, " ")
}

func (d *tagger) appendText(out *readText, e *element) {
	if text := e.actual + e.alt; text != "" {
		out.WriteString(text)
		return
	}

	for _, k := range e.kids {
		switch {
		case out.full():
			return
		case k.element != nil:
			if !inline(k.element.kind) && out.Len() > 0 {
				out.WriteByte(' ')
			}
			d.appendText(out, k.element)
		case k.stream != nil:
			d.appendContent(out, k.stream, k.mcid)
		}
	}
}

// appendContent adds the text of the drawing of a mark.
func (d *tagger) appendContent(out *readText, s *stream, number int) {
	for _, e := range s.drawings(number) {
		if out.full() {
			return
		}
		d.appendEvent(out, s, e)
	}
}

// appendEvent adds the text of one drawing.
func (d *tagger) appendEvent(out *readText, s *stream, e event) {
	if e.form != nil {
		out.WriteString(d.textOfForm(e.form))
	} else if len(s.plain) > 0 {
		d.appendShown(out, s, s.plain[e.start:e.end])
	}
}

// textOfForm returns the text of a form, which can be drawn often, and is read once.
func (d *tagger) textOfForm(form *stream) string {
	if form.shown == nil {
		shown := readText{maximum: maxText}
		d.appendShown(&shown, form, form.plain)
		form.shown = new(shown.String())
	}
	return *form.shown
}

// drawings returns the drawing of a mark, from an index that is made when it is first needed.
func (s *stream) drawings(number int) []event {
	if s.byNumber == nil {
		s.byNumber = map[int][]event{}
		for _, e := range s.events {
			if e.kind == drawing && e.mcid != unmarked {
				s.byNumber[e.mcid] = append(s.byNumber[e.mcid], e)
			}
		}
	}
	return s.byNumber[number]
}

// appendShown adds the text that operators show.
func (d *tagger) appendShown(out *readText, s *stream, content []byte) {
	d.readShown(s, content, func(f *font, codes []byte) {
		if f == nil {
			out.WriteString(pdffile.Text("b:" + hex.EncodeToString(codes)))
			return
		}
		f.decode(out, codes)
	})
}

// readShown passes the strings that operators show to a function, with their fonts; a text that is to be read for them
// comes first, without a font.
func (d *tagger) readShown(s *stream, content []byte, show func(*font, []byte)) {
	l := pdffile.NewLexer(content)
	var f *font
	var name string
	var strs [][]byte
	replaced := false

	for {
		kind, word := l.Next()
		switch kind {
		case pdffile.EndToken:
			return
		case pdffile.NameToken:
			name = string(word)
		case pdffile.StringToken:
			strs = append(strs, word)
		case pdffile.OperatorToken:
			switch string(word) {
			case "Tf":
				f = s.fonts[name]
			case "BDC":
				if replaced = len(strs) > 0; replaced {
					show(nil, unquote(strs[0]))
				}
			case "EMC":
				replaced = false
			case "Tj", "TJ", "'", "\"":
				for _, raw := range strs {
					if f != nil && !replaced {
						show(f, unquote(raw))
					}
				}
			}

			strs = nil
		}
	}
}

// unquote returns the bytes of a string of content.
func unquote(raw []byte) []byte {
	if len(raw) < 2 {
		return nil
	}

	if raw[0] == '<' {
		digits := bytes.TrimRight(raw[1:], ">")
		out := make([]byte, hex.DecodedLen(len(digits)))
		n, _ := hex.Decode(out, digits)
		return out[:n]
	}

	var out []byte
	pdffile.ReadContent(raw, func(op pdffile.Operation) {
		if text, ok := op.Operands[0].(string); ok {
			out, _ = hex.DecodeString(strings.TrimPrefix(text, "b:"))
		}
	})
	return out
}

// decode adds the meaning of codes.
func (f *font) decode(out *readText, codes []byte) {
	f.split(codes, func(code uint16) {
		if !out.full() {
			out.WriteString(f.means[code])
		}
	})
}

// split passes each code of a string to a function.
func (f *font) split(codes []byte, use func(uint16)) {
	for len(codes) > 0 {
		code := uint16(codes[0])
		codes = codes[1:]
		if f.wide && len(codes) > 0 {
			code = code<<8 | uint16(codes[0])
			codes = codes[1:]
		}
		use(code)
	}
}

// inspect looks at the codes of a string. The font lacks the glyph of a code if it is the first of wide codes, and a
// code is odd if it has no meaning, or a private one.
func (f *font) inspect(raw []byte) (lacks, odd bool) {
	if f == nil || !f.mapped && !f.wide {
		return false, false
	}

	visit := func(code uint16) {
		lacks = lacks || f.wide && code == 0
		odd = odd || f.mapped && f.odd(code)
	}

	const digits = 4 // of a wide code
	if !f.wide || raw[0] != '<' {
		f.split(unquote(raw), visit)
		return lacks, odd
	}

	for raw = raw[1:]; len(raw) >= digits; raw = raw[digits:] {
		code := uint16(0)
		for _, c := range raw[:digits] {
			code = code<<4 | uint16(c&0xF+9*(c>>6)) // the value of a digit
		}
		visit(code)
	}
	return lacks, odd
}

// odd reports whether a code has no meaning, or a private one.
func (f *font) odd(code uint16) bool {
	return f.means[code] == "" || f.invalid[code] || f.private[code]
}

// readMap reads a map of codes to Unicode.
func (f *font) readMap(plain []byte) {
	l := pdffile.NewLexer(plain)
	var strs []string
	var list []string // of an array
	nested := false

	for {
		kind, raw := l.Next()
		word := string(raw)
		switch {
		case kind == pdffile.EndToken:
			return
		case word == "[":
			nested = true
			list = nil
		case word == "]":
			nested = false
			f.addList(strs, list)
			strs = nil
		case kind == pdffile.StringToken && nested:
			list = append(list, word)
		case kind == pdffile.StringToken:
			strs = append(strs, word)
		case word == "beginbfchar", word == "beginbfrange":
			strs = nil
		case word == "endbfchar":
			for ; len(strs) > 1; strs = strs[2:] {
				f.add(codeOf(strs[0]), utf16Of(strs[1]))
			}
		case word == "endbfrange":
			f.addRanges(strs)
		}
	}
}

// addList adds a range of codes with a list of meanings.
func (f *font) addList(strs, list []string) {
	const ends = 2
	if len(strs) < ends {
		return
	}
	f.addRanges(strs[:len(strs)-ends])
	first := codeOf(strs[len(strs)-ends])
	for i, meaning := range list[:min(len(list), maxCodes)] {
		f.add(first+i, utf16Of(meaning))
	}
}

// addRanges adds ranges of codes: the first, the last, and the meaning of the first.
func (f *font) addRanges(strs []string) {
	const each = 3
	for ; len(strs) >= each && f.added <= maxCodes; strs = strs[each:] {
		first := codeOf(strs[0])
		last := codeOf(strs[1])
		units := utf16Of(strs[2])
		for code := first; code <= last && len(units) > 0; code++ {
			f.add(code, units)
			units = append([]uint16{}, units...)
			units[len(units)-1]++
		}
	}
}

func (f *font) add(code int, units []uint16) {
	if f.added++; f.added > maxCodes {
		f.unknown = true
		return
	}

	if code >= 0 && code <= 0xFFFF {
		f.means[uint16(code)] = string(utf16.Decode(units))
		if strings.ContainsFunc(f.means[uint16(code)], func(r rune) bool { return unicode.Is(unicode.Co, r) }) {
			f.private[uint16(code)] = true
		}
		if slices.ContainsFunc(units, func(u uint16) bool { return u == 0 || u == 0xFEFF || u == 0xFFFE }) {
			f.invalid[uint16(code)] = true
		}
	}
}

// codeOf reads a code such as <0041>; a bad one is -1.
func codeOf(word string) int {
	n, err := strconv.ParseUint(strings.Trim(word, "<>"), 16, 16)
	if err != nil {
		return -1
	}
	return int(n)
}

func utf16Of(word string) []uint16 {
	raw := unquote([]byte(word))
	units := make([]uint16, 0, len(raw)/2)
	for i := 0; i+1 < len(raw); i += 2 {
		units = append(units, uint16(raw[i])<<8|uint16(raw[i+1]))
	}
	return units
}
