package chrome

import (
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"
)

// mayLack reports whether the text of a document without network may name a font or a
// character that is not available. It errs on the side of true, which costs two messages to
// the browser.
func mayLack(html string, faces FontSet) bool {
	if faces == nil {
		return false
	}

	for i := 0; i < len(html); {
		c := html[i]
		if c < utf8.RuneSelf {
			i++
			if c == '&' && i < len(html) && html[i] == '#' && !drawn(reference(html[i+1:]), faces) {
				return true
			}
			continue
		}

		r, size := utf8.DecodeRuneInString(html[i:])
		if !drawn(r, faces) {
			return true
		}
		i += size
	}

	return asksForFace(html, faces)
}

// reference reads the number of a character after "&#".
func reference(text string) rune {
	base := 10
	digits := "0123456789"
	if text != "" && text[0]|0x20 == 'x' {
		text = text[1:]
		base = 16
		digits = "0123456789abcdefABCDEF"
	}

	const longest = 8
	text = text[:min(len(text), longest)]
	n, err := strconv.ParseInt(text[:len(text)-len(strings.TrimLeft(text, digits))], base, 32)
	if err != nil {
		return 0 // is shown unchanged
	}
	return rune(n)
}

// asksForFace searches the lists of fonts in style sheets and attributes.
func asksForFace(html string, faces FontSet) bool {
	faces = describe(faces, html)
	for list, readable := range faceLists(html) {
		if !readable || len(missingFamilies(list, faces)) > 0 {
			return true
		}
	}
	return false
}

// faceLists returns the lists of fonts in style sheets and attributes. Only the browser can
// read lists of the font element and of scripts, and those beyond maxRead. Each list is
// searched up to maxList, so the time grows with the text only.
func faceLists(html string) iter.Seq2[[]string, bool] {
	const word = "font"
	return func(yield func(list []string, readable bool) bool) {
		for read := 0; ; {
			at := strings.Index(html, word)
			if at < 0 {
				// Upper case is rare enough to be asked about.
				if containsFold(html, "font-family") {
					yield(nil, false)
				}
				return
			}

			before := byte(' ')
			if at > 0 {
				before = html[at-1]
			}

			html = html[at+len(word):]
			value, long := strings.CutPrefix(html[:min(len(html), maxList)], "-family")
			value = strings.TrimLeft(value, " \t\r\n")
			readable := true

			switch {
			case before == '<', strings.HasPrefix(html, "Family"):
				readable = false
			case !strings.HasPrefix(value, ":"):
				continue
			case !long && (before == '-' || before >= 'a' && before <= 'z'):
				continue // another property
			case long:
				value = value[1:]
			default:
				value = afterSize(value[1:])
			}

			if read++; read > maxRead {
				yield(nil, false)
				return
			}
			if !yield(families(value), readable) {
				return
			}
		}
	}
}

const (
	// maxRead is the maximum number of lists that are read of a text, and maxList the maximum length that is read
	// of each.
	maxRead, maxList = 10_000, 2000
	// maxSought is the maximum number of names that are searched for in a text. If a text has more names, the
	// others count as missing until the browser is asked.
	maxSought = 100
)

// described are the fonts that a document defines, or the lists in its variables, as faces has them.
type described struct {
	FontSet
	html   string
	rules  bool            // some rules define fonts
	sought map[string]bool // results for names
}

func describe(faces FontSet, html string) described {
	return described{faces, html, containsFold(html, "@font-face"), map[string]bool{}}
}

// Named looks up a name that the document itself declares.
func (d described) Named(family string) bool {
	has, known := d.sought[family]
	if !known && len(d.sought) < maxSought {
		has = d.find(family)
		d.sought[family] = has
	}
	return has
}

func (d described) find(family string) bool {
	if name, ok := strings.CutPrefix(family, "var("); ok {
		_, value, found := strings.Cut(d.html, strings.TrimRight(name, ")")+":")
		return !found || len(missingFamilies(families(value[:min(len(value), maxList)]), d.FontSet)) == 0
	}
	return d.FontSet.Named(family) || d.rules && brings(d.html, family)
}

// brings reports whether a document has a rule for a font with the given name.
func brings(html, family string) bool {
	for {
		_, rule, found := strings.Cut(html, "@font-face")
		if !found {
			return false
		}
		html = rule
		rule, _, _ = strings.Cut(rule[:min(len(rule), maxFaceRule)], "}")
		_, value, _ := strings.Cut(rule, "font-family:")
		if strings.Contains(value[:min(len(value), maxNameText)], family) {
			return true
		}
	}
}

// maxFaceRule is the maximum length that is read of a rule.
const maxFaceRule = 1000

// afterSize removes the values before the font families in the property font: its last word
// with a digit is the size.
func afterSize(value string) string {
	end := strings.IndexAny(value, ",;}\"'<\n")
	if end < 0 {
		end = len(value)
	}

	digit := strings.LastIndexAny(value[:end], "0123456789")
	if digit < 0 {
		return ""
	}

	space := strings.IndexAny(value[digit:], " \t\n\"',;}<")
	if space < 0 {
		return ""
	}
	return value[digit+space:]
}

const (
	// manyCells is the number of cells from which a row may not fit on the page.
	manyCells = 8
	// longLine is the number of letters from which a line that does not wrap may be too wide, and longWord the same
	// for a word.
	longLine = 90
	longWord = 60
)

// mayOverflow reports whether the text of a document without network may be wider than the limit, in CSS pixels; 0
// means no limit. It errs on the side of true for usual documents, which costs two messages to the browser.
func mayOverflow(html string, limit int) bool {
	if limit == 0 {
		return false
	}

	fixed := strings.Contains(html, "nowrap") || strings.Contains(html, "<pre") ||
		strings.Contains(html, ": pre") || strings.Contains(html, ":pre")
	bounded := strings.Contains(html, "max-width")
	cells := 0
	raw := false

	for i := 0; i < len(html); {
		at := strings.IndexByte(html[i:], '<')
		if at < 0 {
			at = len(html) - i
		}
		if at > 0 && (!raw && wideText(html[i:i+at], fixed) || wideLength(html[i:i+at], limit)) {
			return true
		}

		i += at
		end := strings.IndexByte(html[i:], '>')
		if end < 0 {
			return false
		}
		tag := html[i : i+end]
		i += end + 1
		raw = strings.HasPrefix(tag, "<style") || strings.HasPrefix(tag, "<script")
		switch {
		case strings.HasPrefix(tag, "<tr"):
			cells = 0
		case strings.HasPrefix(tag, "<td"), tag == "<th", strings.HasPrefix(tag, "<th "):
			if cells++; cells >= manyCells {
				return true
			}
		case strings.HasPrefix(tag, "<img") && !bounded && !strings.Contains(tag, "width"):
			return true
		}

		if wideAttribute(tag, limit) {
			return true
		}
	}

	return false
}

// wideText reports whether a text between two tags has a line or a word that may be
// too long.
func wideText(text string, fixed bool) bool {
	if len(text) < longWord {
		return false
	}

	word := 0
	line := 0
	for i := range len(text) {
		switch text[i] {
		case '\n':
			word = 0
			line = 0
		case ' ', '\t', '-', '\r':
			word = 0
			line++
		default:
			word++
			line++
		}

		if word > longWord || fixed && line > longLine {
			return true
		}
	}
	return false
}

// units are the lengths of style sheets in CSS pixels.
var units = []struct {
	name   string
	pixels float64
}{
	{"px", 1}, {"pt", 96. / 72}, {"mm", 96 / 25.4}, {"cm", 96 / 2.54}, {"in", 96}, {"pc", 16},
	{"rem", 16}, {"em", 16}, {"ch", 9}, {"%", 0}, {"vw", 0},
}

// wideLength reports whether a style has a length that is more than the limit, or a
// share of the page that is.
func wideLength(style string, limit int) bool {
	for i := 0; i < len(style); i++ {
		if style[i] < '0' || style[i] > '9' {
			continue
		}

		start := i
		for i < len(style) && (style[i] >= '0' && style[i] <= '9' || style[i] == '.') {
			i++
		}
		if i-start < 2 || i >= len(style) {
			continue
		}

		for _, unit := range units {
			if !strings.HasPrefix(style[i:], unit.name) {
				continue
			}
			n, err := strconv.ParseFloat(style[start:i], 64)
			if err == nil && (unit.pixels == 0 && n > 100*maxShrink || n*unit.pixels > float64(limit)) {
				return true
			}
		}
	}
	return false
}

// wideAttribute checks the attributes of an element that set its width.
func wideAttribute(tag string, limit int) bool {
	if at := strings.Index(tag, "width="); at >= 0 {
		value := strings.Trim(tag[at+len("width="):], `"'`)
		n, err := strconv.Atoi(value[:len(value)-len(strings.TrimLeft(value, "0123456789"))])
		if err == nil && n > limit {
			return true
		}
	}

	at := strings.Index(tag, "style=")
	return at >= 0 && wideLength(tag[at:], limit)
}
