package markup

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
)

// maxFrontMatter bounds the search for the end of the front matter in bytes.
const maxFrontMatter = 64 << 10

// cutFrontMatter splits YAML front matter off. Only keys with a plain or simply quoted
// value, or a list of such, are read; the rest is dropped unread, so no YAML is ever interpreted. A document that merely starts with a rule keeps it.
func cutFrontMatter(src []byte) (map[string]string, []byte) {
	block, body, found := frontMatter(src)
	if !found {
		return nil, src
	}
	return scalars(block), body
}

// scalars reads the lines of front matter that are "key: value". The value of a list, in brackets or below its key,
// is its items.
func scalars(block []byte) map[string]string {
	meta := make(map[string]string)
	list := "" // the key whose items follow
	for line := range strings.Lines(string(block)) {
		line = strings.TrimRight(line, " \t\r\n")
		if item, ok := strings.CutPrefix(strings.TrimLeft(line, " "), "- "); ok && list != "" {
			if item = plainScalar(item); item != "" {
				meta[list] = strings.TrimPrefix(meta[list]+", "+item, ", ")
			}
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		list = ""
		// An indented key belongs to something nested.
		if !ok || key != strings.TrimSpace(key) {
			continue
		}
		key = strings.ToLower(key)
		if strings.TrimSpace(value) == "" {
			list = key
			continue
		}
		if value = listText(value); value != "" {
			meta[key] = value
		}
	}
	return meta
}

// listText returns a scalar, or the scalars of a list in brackets separated by commas; "" if the list contains
// anything else.
func listText(value string) string {
	value = strings.TrimSpace(value)
	if !strings.HasPrefix(value, "[") || !strings.HasSuffix(value, "]") {
		return plainScalar(value)
	}
	inner := value[1 : len(value)-1]
	items := strings.Split(inner, ",")
	for i, item := range items {
		if items[i] = plainScalar(item); items[i] == "" {
			return ""
		}
	}
	return strings.Join(items, ", ")
}

// frontMatter finds a block between "---" on the first line and the next line of "---" or "...". The first line of
// the block looks like "key:".
func frontMatter(src []byte) (block, body []byte, found bool) {
	first, rest, ok := bytes.Cut(src, []byte("\n"))
	if !ok || string(bytes.TrimRight(first, " \t\r")) != "---" || !startsWithKey(rest) {
		return nil, nil, false
	}
	for at := 0; at < len(rest) && at < maxFrontMatter; {
		line, _, more := bytes.Cut(rest[at:], []byte("\n"))
		next := at + len(line)
		if more {
			next++
		}
		if end := string(bytes.TrimRight(line, " \t\r")); end == "---" || end == "..." {
			return rest[:at], rest[next:], true
		}
		at = next
	}
	return nil, nil, false
}

// startsWithKey reports whether the first line that is neither blank nor a
// comment reads "key:" or "key: value".
func startsWithKey(block []byte) bool {
	for line := range bytes.Lines(block[:min(len(block), maxFrontMatter)]) {
		line = bytes.TrimRight(line, " \t\r\n")
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		key, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || len(key) == 0 || len(value) > 0 && value[0] != ' ' && value[0] != '\t' {
			return false
		}
		return bytes.IndexFunc(key, func(r rune) bool {
			return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) < 0
	}
	return false
}

// plainScalar returns a YAML value that means its own text, and "" for any
// other (lists, maps, blocks, anchors, tags).
func plainScalar(value string) string {
	value = strings.TrimSpace(value)
	if value == "" || strings.ContainsRune("[{|>&*!%@`#", rune(value[0])) {
		return ""
	}
	if quote := value[0]; quote == '"' || quote == '\'' {
		inner, ok := strings.CutSuffix(value[1:], string(quote))
		if !ok || strings.ContainsAny(inner, `"'\`) && strings.ContainsRune(inner, rune(quote)) {
			return ""
		}
		return inner
	}
	if i := strings.Index(value, " #"); i >= 0 {
		value = strings.TrimSpace(value[:i])
	}
	return value
}

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
