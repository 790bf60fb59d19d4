package pagedcss

import "strings"

// Pattern is a regular expression of JavaScript that matches at least the texts of which Mentions is true.
const Pattern = `target-|string|leader|running|element|footnote|bookmark-|float-|counter-|marks|bleed|` +
	`:(blank|recto|verso|nth)`

// Mentions reports whether a text may use a construct of this package. It reads the text once, and errs on the side of
// true: prose about CSS counts. A name that is written with escapes or in capitals does not count.
func Mentions(text string) bool {
	for i := range len(text) {
		switch text[i] {
		case '-', '(', ':', '@':
			if mentionedAt(text, i) {
				return true
			}
		}
	}
	return false
}

// mentionedAt reports whether a name with its mark (hyphen, parenthesis, colon, at) at i is there.
func mentionedAt(text string, i int) bool {
	before := text[:i]
	after := text[i+1:]

	switch text[i] {
	case '-':
		return hyphenated(before, after)
	case '(':
		for _, name := range [...]string{"string", "leader", "running", "element"} {
			if rest, found := strings.CutSuffix(before, name); found {
				return rest == "" || !isName(rest[len(rest)-1])
			}
		}
	case ':':
		if strings.HasPrefix(strings.TrimLeft(after[:min(len(after), maxSpace)], " \t\r\n"), "footnote") {
			return true
		}
		name := strings.TrimRight(before[max(0, i-maxSpace):], " \t\r\n")
		return strings.HasSuffix(name, "marks") || strings.HasSuffix(name, "bleed") ||
			strings.HasPrefix(after, "blank") || strings.HasPrefix(after, "recto") ||
			strings.HasPrefix(after, "verso") || strings.HasPrefix(after, "nth(")
	case '@':
		return strings.HasPrefix(after, "footnote")
	}
	return false
}

// hyphenated reports whether a name with a hyphen between the texts is there.
func hyphenated(before, after string) bool {
	switch {
	case strings.HasSuffix(before, "target"):
		return strings.HasPrefix(after, "counter") || strings.HasPrefix(after, "text(")
	case strings.HasSuffix(before, "string"):
		return strings.HasPrefix(after, "set")
	case strings.HasSuffix(before, "bookmark"):
		return strings.HasPrefix(after, "level") || strings.HasPrefix(after, "label") ||
			strings.HasPrefix(after, "state")
	case strings.HasSuffix(before, "footnote"):
		return strings.HasPrefix(after, "display") || strings.HasPrefix(after, "policy") ||
			strings.HasPrefix(after, "call") || strings.HasPrefix(after, "marker")
	case strings.HasSuffix(before, "float"):
		return strings.HasPrefix(after, "reference") || strings.HasPrefix(after, "defer")
	case strings.HasSuffix(before, "counter"):
		return countsPages(after)
	}

	return false
}

const (
	// maxSpace is the number of bytes in which a name's other half is looked for, and maxCounters that in which a
	// declaration of counters names the one of pages.
	maxSpace, maxCounters = 20, 200
)

// countsPages reports whether "counter-" continues as a declaration that changes the counter of pages.
func countsPages(after string) bool {
	for _, name := range [...]string{"reset", "set", "increment"} {
		value, found := strings.CutPrefix(after, name)
		if !found {
			continue
		}
		value = value[:min(len(value), maxCounters)]
		if end := strings.IndexAny(value, ";}"); end >= 0 {
			value = value[:end]
		}
		return strings.Contains(value, "page")
	}
	return false
}

// isName reports whether c can be part of a name in CSS.
func isName(c byte) bool {
	lower := c | 0x20
	return 'a' <= lower && lower <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c >= 0x80
}
