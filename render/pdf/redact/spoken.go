package redact

import (
	"bytes"
	"slices"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// spokenReader finds the codes of a page that mean something else than MuPDF reads: text that content replaces
// (/ActualText), and glyphs whose meaning is longer than MuPDF takes it.
type spokenReader struct {
	terms    redactionTerms
	meanings *Inspector
	marks    []int // the open marks: the number of a span, or -1
	spans    []spokenSpan
	// metadataText are the codes that mean a secret each on their own.
	meaningful map[int]bool
}

// spokenSpan is a text that stands for codes. It is unsure if it is not known which these are.
type spokenSpan struct {
	text   string
	codes  []int
	unsure bool
}

// spoken returns the codes of a page that are secrets by what content and fonts say of them.
func spoken(f *pdffile.File, page pdffile.Page, codes PageCodes, numbers map[string]int, s redactionTerms) (map[int]bool, error) {
	r := &spokenReader{terms: s, meaningful: map[int]bool{}, meanings: &Inspector{File: f, terms: s, Fonts: map[string]*FontMeaning{}}}
	e := &Eraser{File: f, Update: f.NewUpdate(), Numbers: numbers, Page: codes, Reader: r}
	if err := e.Read(page); err != nil {
		return nil, err
	}
	return r.meaningful, r.find(codes.letters())
}

// Read passes the codes of a page to the reader.
func (e *Eraser) Read(page pdffile.Page) error {
	stream := &erasing{Eraser: e, matrix: job.Affine{1, 0, 0, 1, 0, 0}}
	stream.erase(contentRefs(e.File, page), (&drawnObjects{File: e.File}).resources(page.Entries))
	return e.err
}

// Begin opens a mark with the text that replaces its codes, if it has one.
func (r *spokenReader) Begin(text string, ok bool) {
	if !ok {
		r.marks = append(r.marks, -1)
		return
	}
	r.marks = append(r.marks, len(r.spans))
	r.spans = append(r.spans, spokenSpan{text: text})
}

func (r *spokenReader) End() {
	if n := len(r.marks); n > 0 {
		r.marks = r.marks[:n-1]
	}
}

// Show notes the codes of an operation, and what they mean. sizes are those of the codes, or nil if they are unknown.
func (r *spokenReader) Show(items []any, first, end int, sizes []int, font any) {
	for _, number := range r.marks {
		if number < 0 {
			continue
		}

		span := &r.spans[number] // the outermost one with a text
		span.unsure = span.unsure || sizes == nil
		for code := first; code < end; code++ {
			span.codes = append(span.codes, code)
		}
		break
	}

	meaning := r.meanings.Meaning(font)
	if sizes == nil || len(meaning.Unicode) == 0 {
		return
	}

	for _, item := range items {
		raw, _ := RawBytes(item)
		for len(raw) > 0 {
			if text := meaning.Unicode[string(raw[:sizes[0]])]; len([]rune(text)) > 1 && r.terms.in(text) {
				r.meaningful[first] = true
			}
			raw, sizes, first = raw[sizes[0]:], sizes[1:], first+1
		}
	}
}

// find notes the codes of the texts that have secrets, alone or together with what is around them.
func (r *spokenReader) find(letters pageLetters) error {
	spanOf := map[int]int{} // by code
	for number, span := range r.spans {
		for _, code := range span.codes {
			spanOf[code] = number
		}
	}

	var text []string
	var codes [][]int
	last := -1
	for n, letter := range letters.Text {
		number := -1
		ok := false
		if len(letters.Codes[n]) > 0 {
			number, ok = spanOf[letters.Codes[n][0]]
		}

		switch {
		case !ok:
			text, codes, last = append(text, letter), append(codes, letters.Codes[n]), -1
		case number != last:
			for _, r1 := range r.spans[number].text {
				text, codes = append(text, string(r1)), append(codes, r.spans[number].codes)
			}
			last = number
		}
	}

	for _, at := range r.terms.find(text) {
		for _, code := range codes[at] {
			if number, ok := spanOf[code]; ok && r.spans[number].unsure {
				return errPlace
			}
			r.meaningful[code] = true
		}
	}
	return nil
}

// replacement returns the text that the properties of a mark give its codes.
func (s *erasing) replacement(op pdffile.Operation) (text string, ok bool) {
	if op.Operator != "BDC" || len(op.Operands) < 2 {
		return "", false
	}
	properties, inline := op.Operands[1].(pdffile.Dict)
	if name, isName := op.Operands[1].(string); isName && !inline {
		properties = s.Entry(s.Entry(s.resources["/Properties"])[name])
	}
	value, ok := s.Target(properties["/ActualText"]).(string)
	return pdffile.Text(value), ok
}

// sayings reports whether fonts say secrets of their glyphs, or content replaces text. Properties outside of content
// are not searched.
func sayings(f *pdffile.File, s redactionTerms) (bool, error) {
	refs, err := ContentStreams(f)
	if err != nil {
		return false, err
	}

	for _, ref := range f.References() {
		value, body, err := f.Object(ref)
		if err != nil {
			return false, err
		}
		entries, _ := value.(pdffile.Dict)
		if body == 0 || entries["/Subtype"] != nil || entries["/Length1"] != nil || isContent(entries) {
			continue
		}

		stream, _ := f.Stream(ref)
		plain, _, err := PlainStream(f, stream)
		if err != nil || !isMap(plain, entries) {
			continue // readers do not read it either
		}

		for _, text := range mapStrings.FindAll(plain, -1) {
			if _, wide := mapString(text); s.in(wide) {
				return true, nil
			}
		}
	}

	return slices.ContainsFunc(refs, func(ref string) bool {
		stream, _ := f.Stream(ref)
		plain, _, err := PlainStream(f, stream)
		return err == nil && bytes.Contains(plain, []byte("/ActualText"))
	}), nil
}
