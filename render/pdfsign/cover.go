package pdfsign

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Word is a word of a page, in points from the top left of the page as displayed.
type Word struct {
	Text string
	area
}

// NewWord returns a word and its place.
func NewWord(text string, x, y, width, height float64) Word {
	return Word{text, area{x, y, x + width, y + height}}
}

// area is a part of a page as displayed.
type area struct{ left, top, right, bottom float64 }

func (a area) size() float64 { return max(0, a.right-a.left) * max(0, a.bottom-a.top) }

// common returns the part that two areas have in common.
func (a area) common(b area) area {
	return area{max(a.left, b.left), max(a.top, b.top), min(a.right, b.right), min(a.bottom, b.bottom)}
}

// The parts of a page and of a field above which a box covers them.
const (
	coveredPage  = 0.25
	coveredField = 0.25
)

// maxWordPages bounds the pages whose words are read.
const maxWordPages = 50

// covered names what the box of a signature hides of the earlier document. The box of a field that the earlier document
// has was seen by its signers, except for how much of the page it fills.
func (v *verifier) covered(d *differ, s *examined) (found []string) {
	flags, _ := d.new.Target(s.field.entries["/F"]).(float64)
	pages, err := d.new.Pages(maxPages)
	if !visible(d.new, s.field.entries) || int(flags)&pdffile.FlagHidden != 0 || err != nil {
		return nil
	}

	for i, page := range pages {
		list, _ := d.new.Target(page.Entries["/Annots"]).([]any)
		whole, box, ok := d.areas(page, s.field.entries)
		if !ok || !slices.Contains(list, any(s.field.ref)) {
			continue
		}

		box = box.common(whole)
		number := i + 1
		switch part := box.size() / whole.size(); {
		case int(flags)&pdffile.FlagNoZoom != 0, int(flags)&pdffile.FlagNoRotate != 0 && page.Entries["/Rotate"] != nil:
			found = append(found, fmt.Sprintf("another part of page %d in each view", number))
		case part > coveredPage:
			found = append(found, fmt.Sprintf("%.0f %% of page %d", 100*part, number)) // percent
		case d.fields[s.field.ref] == "" && part > 0:
			found = append(found, v.coveredWords(v.content[:d.end], number, box)...)
		}

		found = append(found, d.coveredFields(page, s.field.ref, box)...)
	}
	return found
}

// areas returns the areas of a page and of an annotation on it.
func (d *differ) areas(page pdffile.Page, annotation pdffile.Dict) (whole, box area, ok bool) {
	f := &editedFile{File: d.new}
	left, bottom, right, top, ok1 := f.cropBox(page)
	l, b, r, t, ok2 := f.rectangle(annotation["/Rect"])
	if !ok1 || !ok2 {
		return whole, box, false
	}

	turned, _ := d.new.Target(page.Entries["/Rotate"]).(float64)
	width, height := right-left, top-bottom

	switch (int(turned)/90%4 + 4) % 4 {
	case 1:
		return area{0, 0, height, width}, area{b - bottom, l - left, t - bottom, r - left}, true
	case 2:
		return area{0, 0, width, height}, area{right - r, b - bottom, right - l, t - bottom}, true
	case 3:
		return area{0, 0, height, width}, area{top - t, right - r, top - b, right - l}, true
	}
	return area{0, 0, width, height}, area{l - left, top - t, r - left, top - b}, true
}

// coveredFields names the fields of the earlier document on a page that a box hides.
func (d *differ) coveredFields(page pdffile.Page, own string, box area) (found []string) {
	list, _ := d.old.Target(d.old.Dict(page.Ref)["/Annots"]).([]any)
	for _, item := range list {
		ref := pdffile.Reference(item)
		_, other, ok := d.areas(page, d.old.Dict(ref))
		if name := d.fields[ref]; name != "" && ref != own && ok && visible(d.old, d.old.Dict(ref)) &&
			other.common(box).size() > coveredField*other.size() {
			found = append(found, fmt.Sprintf("the field %q", name))
		}
	}
	return found
}

// coveredWords names the words of a page of a version of the document that a box hides.
func (v *verifier) coveredWords(version []byte, page int, box area) []string {
	if v.readWords == nil {
		return nil
	}

	words, known := v.words[page]
	if !known && len(v.words) < maxWordPages {
		var err error
		if words, err = v.readWords(version, page); err == nil {
			v.words[page] = words
			known = true
		}
	}
	if !known {
		return []string{fmt.Sprintf("a part of page %d whose text cannot be read", page)}
	}

	const longest = 60
	var texts []string
	for _, w := range words {
		x, y := (w.left+w.right)/2, (w.top+w.bottom)/2
		if x > box.left && x < box.right && y > box.top && y < box.bottom &&
			strings.ContainsFunc(w.Text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			texts = append(texts, w.Text)
		}
	}
	if len(texts) == 0 {
		return nil
	}

	text := []rune(strings.Join(texts, " "))
	if len(text) > longest {
		text = append(text[:longest], '…')
	}
	return []string{fmt.Sprintf("text of page %d: %q", page, string(text))}
}
