package pagedcss

import (
	"slices"
	"strconv"
	"strings"
)

// Features holds what the style sheets of a document ask for. Sheet and Attribute collect it.
type Features struct {
	// Targets are the references. The number i is the value of the custom property TargetProperty(i) of the element
	// that has the reference in its ::before or ::after, as a string of CSS.
	Targets []Target
	// Leaders are the leaders. The dots of number i are the value of --relay-l<i>, and --relay-b<i> comes before them.
	Leaders []Leader
	// Sets are the values of --relay-string-set, and Labels those of --relay-bookmark-label.
	Sets   [][]Assignment
	Labels [][]Part
	// Strings are the strings in margin boxes. The counter style relay-s<i> has the value on each page.
	Strings []String
	// Styles are the counter styles in which margin boxes show the number of the page. The counter style relay-p<i> has
	// the number on each page. It is only filled in if Restarts.
	Styles []string
	// Restarts means that an element may have --relay-page, the number of the page on which it begins.
	Restarts bool
	// Bookmarks means that an element may have --relay-bookmark-level, --relay-bookmark-label or
	// --relay-bookmark-state.
	Bookmarks bool
}

// Target is a target-counter() or target-text().
type Target struct {
	// Attribute is the attribute that refers to the target, and Fragment the ID of a target that is the same for all
	// elements. One of them is empty.
	Attribute string `json:"attribute,omitempty"`
	Fragment  string `json:"fragment,omitempty"`
	// Style is the counter style of a page number, and Text the part of the target that a text has: content, before,
	// after or first-letter. One of them is empty.
	Style string `json:"style,omitempty"`
	Text  string `json:"text,omitempty"`
}

// Leader is a leader().
type Leader struct {
	Pattern string `json:"pattern"`
	// Mixed means that the text after the leader is not just one number. Length is its length without references.
	Mixed  bool `json:"mixed,omitempty"`
	Length int  `json:"length,omitempty"`
}

// Assignment gives a named string its value.
type Assignment struct {
	Name  string `json:"name"`
	Parts []Part `json:"parts"`
}

// Part is a part of a text: a constant, the value of an attribute, or the content of the element (content, before,
// after or first-letter).
type Part struct {
	Constant  string `json:"constant,omitempty"`
	Attribute string `json:"attribute,omitempty"`
	Content   string `json:"content,omitempty"`
}

// String is a string() with its second argument: first, start, last or first-except.
type String struct{ Name, Position string }

// Empty reports whether nothing was rewritten.
func (d *Features) Empty() bool {
	return len(d.Targets) == 0 && len(d.Leaders) == 0 && len(d.Sets) == 0 && len(d.Strings) == 0 &&
		!d.Restarts && !d.Bookmarks
}

// Numbered reports whether margin boxes have texts that depend on the page.
func (d *Features) Numbered() bool { return len(d.Strings) > 0 || d.Restarts }

// The custom properties of references. Those of page numbers and of texts have different prefixes.
const counterPrefix, textPrefix = "--relay-t", "--relay-x"

// property returns the custom property of a reference.
func (t Target) property(i int) string {
	if t.Style != "" {
		return counterPrefix + strconv.Itoa(i)
	}
	return textPrefix + strconv.Itoa(i)
}

// maxList is the maximum length of each list of a Document. More constructs have no effect.
const maxList = 1000

// index returns the place of v in a list, and adds it if it is new. The list may be full.
func index[T comparable](list *[]T, v T) (i int, ok bool) {
	return insert(list, v, slices.Index(*list, v))
}

// indexFunc is index for values that == cannot compare.
func indexFunc[T any](list *[][]T, v []T, equal func(a, b T) bool) (i int, ok bool) {
	return insert(list, v, slices.IndexFunc(*list, func(other []T) bool { return slices.EqualFunc(other, v, equal) }))
}

// insert adds v to a list in which it is not found.
func insert[T any](list *[]T, v T, found int) (i int, ok bool) {
	if found >= 0 || len(*list) >= maxList {
		return found, found >= 0
	}
	*list = append(*list, v)
	return len(*list) - 1, true
}

// Quote returns a text as a string of CSS.
func Quote(text string) string {
	var out strings.Builder
	out.WriteByte('"')

	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			out.WriteByte('\\')
			out.WriteRune(c)
		case c < ' ' || c == 0x7f:
			out.WriteString("\\" + strconv.FormatInt(int64(c), 16) + " ")
		default:
			out.WriteRune(c)
		}
	}

	out.WriteByte('"')
	return out.String()
}

// The marks are for private use, at the end of Unicode.
const markStart, markEnd = "\U0010fe01", "\U0010fe02"

// Marks returns the two characters around the name of an unresolved reference or leader.
func Marks() [2]string { return [2]string{markStart, markEnd} }

// variable returns a reference to a custom property whose value is not known yet.
func variable(property string) string {
	return "var(" + property + "," + Quote(markStart+strings.TrimPrefix(property, "--relay-")+markEnd) + ")"
}
