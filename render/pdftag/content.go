package pdftag

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

const (
	// maxContent is the maximum decompressed size of all contents together, in bytes.
	maxContent = 128 << 20
	// maxForms is the maximum depth of form XObjects within others.
	maxForms = 16
	// unmarked is the number of drawing that is in no marked content with a number.
	unmarked = -1
)

// stream is the content of a page or of a form XObject.
type stream struct {
	ref       string
	page      int  // the first page that draws it
	form      bool // false: it is the page's own
	entries   pdffile.Dict
	resources pdffile.Dict
	plain     []byte
	events    []event
	forms     map[string]*stream // that it may draw, by their names
	fonts     map[string]*font   // by their names
	marks     map[int]*mark      // by number
	last      drawnAt            // the last time that a form is drawn
	drawn     int                // how often it is drawn in the document; 2 is often
	scanned   bool
	byNumber  map[int][]event // see drawings
	text      bool            // it draws text
	holds     bool            // it holds content of elements, itself or in its forms
	key       int             // in the tree of parents; -1 is none
	parents   []*element      // the owners of the new numbers
	shown     *string         // the text of a form, once it is read
}

// drawnAt is the place of an event.
type drawnAt struct {
	stream *stream
	event  int
}

// mark is all content with one number of a stream.
type mark struct {
	text  bool
	owner *element // nil makes it an artifact
	kid   *kid
}

// event is a part of content that matters for its marks.
type event struct {
	kind       eventKind
	start, end int
	mcid       int     // of the mark around drawing
	form       *stream // that is drawn
	loose      bool    // text that is in no mark, not even in one of an artifact
}

type eventKind uint8

const (
	drawing eventKind = iota // draws on the page
	cut                      // an operator of marked content, left out
	border                   // no mark may reach across: a text object with marks inside begins or ends
)

// readStreams reads the contents of all pages.
func (d *tagger) readStreams() error {
	for i := range d.pages {
		p := &d.pages[i]
		if p.entries["/Contents"] == nil {
			continue
		}

		s, err := d.readStream(pdffile.Reference(p.entries["/Contents"]), i, 0)
		if err != nil {
			return err
		}
		if s.form {
			return fmt.Errorf("pdftag: content of page %d: %w", i+1, pdffile.ErrUnread)
		}
		if s.resources = d.file.Entry(p.entries["/Resources"]); s.resources == nil {
			return fmt.Errorf("pdftag: resources of page %d: %w", i+1, pdffile.ErrUnread)
		}

		if err := d.scan(s, 0); err != nil {
			return err
		}
		s.drawn++
		p.content = s
	}

	d.countDrawn()
	return nil
}

// readStream reads a stream of content without scanning it.
func (d *tagger) readStream(ref string, page, depth int) (*stream, error) {
	if s := d.streams[ref]; s != nil {
		return nil, fmt.Errorf("pdftag: content that is used twice: %w", pdffile.ErrUnread)
	}
	if depth > maxForms {
		return nil, fmt.Errorf("pdftag: forms within forms: %w", pdffile.ErrUnread)
	}

	entries, plain, err := d.plain(ref)
	if err != nil {
		return nil, err
	}

	s := &stream{
		ref: ref, page: page, entries: entries, plain: plain, key: -1, form: entries["/Subtype"] == "/Form",
		forms: map[string]*stream{}, fonts: map[string]*font{}, marks: map[int]*mark{},
	}
	d.streams[ref] = s
	return s, nil
}

// plain returns the dictionary and the decompressed content of a stream. All of them together are bounded.
func (d *tagger) plain(ref string) (pdffile.Dict, []byte, error) {
	raw, ok := d.file.Stream(ref)
	if !ok {
		return nil, nil, fmt.Errorf("pdftag: stream %s: %w", ref, pdffile.ErrUnread)
	}
	plain, err := d.file.Plain(raw)
	if err == nil {
		err = d.spend(len(plain))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("pdftag: stream %s: %w", ref, err)
	}
	return raw.Entries, plain, nil
}

// spend returns an error once the work on the document exceeds its bound.
func (d *tagger) spend(work int) error {
	if d.budget -= work; d.budget < 0 {
		return fmt.Errorf("pdftag: too much content: %w", pdffile.ErrUnread)
	}
	return nil
}

// scan finds the marks and the drawing of a stream, after those of the forms that it may draw.
func (d *tagger) scan(s *stream, depth int) error {
	if err := d.readResources(s, depth); err != nil {
		return err
	}

	sc := scanner{lexer: pdffile.NewLexer(s.plain), stream: s, document: d, path: -1, object: -1}
	sc.run()
	if sc.missing {
		d.fault(Violation{
			Rule: MissingGlyph, Problem: "A character has no glyph in its fonts, so the page shows a box.",
			Remedy: "Use a font with this character, or remove the character.", Page: s.page + 1,
		})
	}
	if sc.odd {
		d.readUses(s)
	}

	d.checkNumbers(s)
	d.order = append(d.order, s)
	s.scanned = true
	return nil
}

// countDrawn counts how often streams are drawn. Those that draw a form are after it.
func (d *tagger) countDrawn() {
	for _, s := range slices.Backward(d.order) {
		for i, e := range s.events {
			if e.form != nil {
				e.form.drawn = min(2, e.form.drawn+s.drawn)
				e.form.last = drawnAt{s, i}
			}
		}
	}
}

// scanner finds the events of a stream.
type scanner struct {
	*stream

	lexer    pdffile.Lexer
	document *tagger
	stack    []openSpan
	path     int          // where the open path begins; -1 is none
	object   int          // where the open text object begins; -1 is none
	first    int          // the number of events before it
	inside   bool         // it has marks inside
	shows    bool         // it has shown text
	origin   []byte       // the operators that place its first text
	recent   []textObject // the ones before it with the same mark
	operand  int          // where the operands of the next operator begin; -1 is none
	name     []byte
	font     *font
	missing  bool // a code of a font has no glyph
	odd      bool // one has no meaning, or a private one
}

// textObject is a text object without marks inside.
type textObject struct {
	start, end int
	mcid       int    // of the mark around it
	origin     []byte // the operators that place its first text
}

// openSpan is marked content that is not yet closed.
type openSpan struct {
	mcid       int  // of the innermost mark that has one
	keeps      bool // it has a text of its own, which stays
	artifact   bool // it is an artifact, or in one
	start, end int  // of its operator
	first      int  // the number of events before it
}

func (sc *scanner) run() {
	sc.operand = -1
	for {
		kind, word := sc.lexer.Next()
		start := sc.lexer.At() - len(word)
		switch kind {
		case pdffile.EndToken:
			return
		case pdffile.NameToken:
			sc.name = word
		case pdffile.StringToken:
			lacks, odd := sc.font.inspect(word)
			sc.missing = sc.missing || lacks
			sc.odd = sc.odd || odd
		case pdffile.OperatorToken:
			begin := sc.operand
			if begin < 0 {
				begin = start
			}
			sc.operator(string(word), begin)
			sc.operand = -1
			sc.name = nil
			continue
		}

		if sc.operand < 0 {
			sc.operand = start
		}
	}
}

// operator takes an operator, whose operands begin at an offset.
func (sc *scanner) operator(word string, begin int) {
	switch word {
	case "m", "re":
		if sc.path < 0 {
			sc.path = begin
		}
	case "n":
		sc.path = -1
	case "f", "F", "f*", "B", "B*", "b", "b*", "S", "s":
		if sc.path >= 0 {
			sc.draw(sc.path, nil, false)
		}
		sc.path = -1
	case "BT":
		sc.object = begin
		sc.first = len(sc.events)
		sc.inside = false
		sc.origin = nil
		sc.shows = false
	case "Tm", "Td", "TD":
		if !sc.shows {
			sc.origin = append(sc.origin, sc.plain[begin:sc.lexer.At()]...)
		}
	case "ET":
		sc.endText(begin)
	case "Tf":
		sc.font = sc.fonts[string(sc.name)]
	case "Tj", "TJ", "'", "\"":
		sc.shows = true
		sc.draw(begin, nil, true)
	case "BDC", "BMC", "EMC":
		sc.marked(word, begin)
	case "Do":
		form := sc.forms[string(sc.name)]
		sc.draw(begin, form, form != nil && form.text)
	case "sh":
		sc.draw(begin, nil, false)
	case "BI":
		sc.lexer.SkipImage()
		sc.draw(begin, nil, false)
	}
}

// mcid is the one of the innermost mark that has one.
func (sc *scanner) mcid() int {
	if len(sc.stack) == 0 {
		return unmarked
	}
	return sc.stack[len(sc.stack)-1].mcid
}

// draw adds drawing from an offset to here.
func (sc *scanner) draw(start int, form *stream, text bool) {
	mcid := sc.mcid()
	sc.text = sc.text || text

	if mcid != unmarked {
		m := sc.marks[mcid]
		if m == nil {
			m = &mark{}
			sc.marks[mcid] = m
		}
		m.text = m.text || text
	}

	loose := text && mcid == unmarked && !sc.artifact()
	if n := len(sc.events) - 1; n >= 0 && form == nil && sc.object < 0 {
		// Outside text objects, drawing that follows other drawing of the same mark is one with it.
		last := &sc.events[n]
		if last.kind == drawing && last.form == nil && last.mcid == mcid && last.loose == loose &&
			last.end <= start {
			last.end = sc.lexer.At()
			return
		}
	}

	sc.insert(event{kind: drawing, start: start, end: sc.lexer.At(), mcid: mcid, form: form, loose: loose})
}

// artifact reports whether the content is in an artifact.
func (sc *scanner) artifact() bool { return len(sc.stack) > 0 && sc.stack[len(sc.stack)-1].artifact }

// insert adds an event before those that begin after it.
func (sc *scanner) insert(e event) {
	at := len(sc.events)
	for at > 0 && sc.events[at-1].start > e.start {
		at--
	}
	sc.events = slices.Insert(sc.events, at, e)
}

// endText ends a text object. Without marks inside, it is drawn as one.
func (sc *scanner) endText(begin int) {
	if sc.object < 0 {
		return
	}

	start := sc.object
	sc.object = -1
	if sc.inside {
		sc.insert(event{kind: border, start: start, end: start})
		sc.insert(event{kind: border, start: begin, end: begin})
		return
	}

	if len(sc.events) > sc.first {
		sc.events = sc.events[:sc.first]
		sc.leaveOutRepeated(textObject{start: start, end: sc.lexer.At(), mcid: sc.mcid(), origin: sc.origin})
		sc.draw(start, nil, true)
	}
}

// leaveOutRepeated leaves a text object before this one out of its mark, if this one shows the same text again at the
// same place: the first is a shadow, or the second an outline.
func (sc *scanner) leaveOutRepeated(object textObject) {
	const maximum = 64 // of the fonts of a text and its shadows
	if n := len(sc.recent); n > 0 && sc.recent[n-1].mcid != object.mcid || n >= maximum {
		sc.recent = sc.recent[:0]
	}
	if object.mcid == unmarked || object.origin == nil {
		return
	}

	at := slices.IndexFunc(sc.recent, func(earlier textObject) bool {
		return bytes.Equal(earlier.origin, object.origin) && sc.textOf(earlier) == sc.textOf(object)
	})
	if at >= 0 {
		sc.leaveOut(sc.recent[at])
		sc.recent[at] = object
	} else {
		sc.recent = append(sc.recent, object)
	}
}

// textOf returns the text of a text object.
func (sc *scanner) textOf(object textObject) string {
	shown := readText{maximum: maxText}
	sc.document.appendShown(&shown, sc.stream, sc.plain[object.start:object.end])
	return shown.String()
}

// leaveOut leaves a text object out of its mark.
func (sc *scanner) leaveOut(object textObject) {
	for i, whole := range slices.Backward(sc.events) {
		if whole.start > object.start || whole.kind != drawing || whole.form != nil {
			continue
		}
		if whole.end < object.end {
			return
		}

		parts := []event{{kind: drawing, start: object.start, end: object.end, mcid: unmarked}}
		if before := whole; whole.start < object.start {
			before.end = object.start
			parts = slices.Insert(parts, 0, before)
		}
		if after := whole; object.end < whole.end {
			after.start = object.end
			parts = append(parts, after)
		}

		sc.events = slices.Replace(sc.events, i, i+1, parts...)
		return
	}
}

// marked takes an operator of marked content. Its text of its own, as Chromium writes around ligatures, stays.
func (sc *scanner) marked(word string, begin int) {
	if word == "EMC" {
		sc.endSpan(begin)
		return
	}

	properties := sc.plain[begin:sc.lexer.At()]
	span := openSpan{
		mcid: unmarked, start: begin, end: sc.lexer.At(), first: len(sc.events),
		artifact: sc.artifact() || bytes.HasPrefix(properties, []byte("/Artifact")),
	}
	if word == "BDC" {
		span.mcid = markNumber(properties)
		span.keeps = span.mcid == unmarked && bytes.Contains(properties, []byte("/ActualText"))
	}
	if span.mcid == unmarked {
		span.mcid = sc.mcid()
	}

	sc.stack = append(sc.stack, span)
	if !span.keeps {
		sc.cut(begin, sc.lexer.At())
	}
}

func (sc *scanner) cut(start, end int) {
	sc.inside = true
	sc.insert(event{kind: cut, start: start, end: end})
}

// endSpan takes the end of marked content. A text of its own stays if nothing is marked in it, and is drawn as one.
func (sc *scanner) endSpan(begin int) {
	if len(sc.stack) == 0 {
		sc.cut(begin, sc.lexer.At())
		return
	}

	span := sc.stack[len(sc.stack)-1]
	sc.stack = sc.stack[:len(sc.stack)-1]
	inside := sc.events[min(span.first, len(sc.events)):]
	if !span.keeps || slices.ContainsFunc(inside, func(e event) bool { return e.kind != drawing }) {
		if span.keeps {
			sc.cut(span.start, span.end)
		}
		sc.cut(begin, sc.lexer.At())
		return
	}

	if len(sc.events) > span.first {
		sc.events = sc.events[:span.first]
		sc.draw(span.start, nil, true)
	}
}

// markNumber reads the number in the properties of marked content.
func markNumber(operands []byte) int {
	const key, digits = "/MCID", 9
	_, rest, found := bytes.Cut(operands, []byte(key))
	if !found {
		return unmarked
	}

	rest = bytes.TrimLeft(rest, " \t\r\n")
	end := 0
	for end < len(rest) && end < digits && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}

	n, err := strconv.Atoi(string(rest[:end]))
	if err != nil {
		return unmarked
	}
	return n
}
