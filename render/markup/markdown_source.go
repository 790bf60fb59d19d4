package markup

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
)

// anchors makes heading ids as GitHub does: lower case, letters and digits of
// any script, hyphens for spaces, numbered when they repeat.
type anchors struct {
	used map[string]bool
	next map[string]int
}

func newAnchors() *anchors {
	return &anchors{used: map[string]bool{}, next: map[string]int{}}
}

// Generate returns an id for a heading's text that no other heading has.
func (a *anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	base := slug(string(value))
	id := base
	for a.used[id] {
		a.next[base]++
		id = base + "-" + strconv.Itoa(a.next[base])
	}
	a.used[id] = true
	return []byte(id)
}

// Put reserves an id that the source sets itself.
func (a *anchors) Put(value []byte) { a.used[string(value)] = true }

func slug(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(s)) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r), r == '_', r == '-':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}

	if b.Len() == 0 {
		return "section"
	}
	return b.String()
}
