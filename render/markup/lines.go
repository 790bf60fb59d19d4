package markup

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// These functions map a position on a printed page to a line of its template. Each element gets its line number
// before the template is filled. After filling, the line number becomes a link target, and the browser writes the
// positions of link targets into the PDF.

const (
	lineAttribute = " data-relay-line="
	// LineNames is the prefix of the names that NameLines gives.
	LineNames = "relay-line-"
	// maxLines is the maximum number of elements with line numbers, because the browser searches for each of them
	// while it prints.
	maxLines = 4000
)

// unlined are the elements that have no place on a page, or whose content is
// another language's.
var unlined = map[string]bool{
	"html": true, "head": true, "title": true, "meta": true, "link": true, "base": true,
	"style": true, "script": true, "template": true, "noscript": true,
	"textarea": true, "option": true, "br": true, "wbr": true, "col": true, "colgroup": true, "source": true,
}

// verbatim are the unlined elements whose content is text, not markup.
var verbatim = []string{"title", "style", "script", "textarea"}

// LineTemplate adds line numbers to the elements of a template as an attribute. The rest of the template stays as
// it is. NameLines uses the attributes.
func LineTemplate(source string) string {
	s := liner{source: source, line: 1}
	for s.at < len(source) {
		switch rest := source[s.at:]; {
		case strings.HasPrefix(rest, "{{"):
			s.pass(mustache(rest))
		case strings.HasPrefix(rest, "<!--"):
			s.pass(until(rest, "-->"))
		case rest[0] == '<' && len(rest) > 1 && isLetter(rest[1]):
			s.tag(rest)
		default:
			s.pass(1)
		}
	}

	s.out.WriteString(source[s.from:])
	return s.out.String()
}

// liner is the state of one LineTemplate.
type liner struct {
	source   string
	out      strings.Builder
	at, from int // text before from has been written
	line     int
	marked   int
}

// pass skips a number of bytes.
func (s *liner) pass(n int) {
	s.line += strings.Count(s.source[s.at:s.at+n], "\n")
	s.at += n
}

// tag marks the next start tag, and skips it, and its content if that is text.
func (s *liner) tag(rest string) {
	end := 1
	for end < len(rest) && (isLetter(rest[end]) || rest[end] >= '0' && rest[end] <= '9' || rest[end] == '-') {
		end++
	}

	name := strings.ToLower(rest[1:end])
	whole := end < len(rest) && strings.IndexByte(" \t\n\r\f/>{", rest[end]) >= 0
	if whole && !unlined[name] && s.marked < maxLines {
		s.marked++
		s.out.WriteString(s.source[s.from : s.at+end])
		s.out.WriteString(lineAttribute + strconv.Itoa(s.line))
		s.from = s.at + end
	}

	n := end + tagEnd(rest[end:])
	for _, raw := range verbatim {
		if name == raw && n < len(rest) {
			n += closing(rest[n:], name)
		}
	}
	s.pass(n)
}

// tagEnd returns the length of a tag after its name. Quotes and Handlebars may contain the closing bracket.
func tagEnd(rest string) int {
	quote := byte(0)
	for at := 0; at < len(rest); {
		switch c := rest[at]; {
		case strings.HasPrefix(rest[at:], "{{"):
			at += mustache(rest[at:])
			continue
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return at + 1
		}
		at++
	}
	return len(rest)
}

// closing returns the position of an element's end tag.
func closing(rest, name string) int {
	lower := strings.ToLower(rest)
	if at := strings.Index(lower, "</"+name); at >= 0 && len(lower) == len(rest) {
		return at
	}
	return len(rest)
}

// mustache returns the length of the Handlebars expression at the start of rest.
func mustache(rest string) int {
	for _, kind := range []struct{ open, end string }{
		{"{{!--", "--}}"}, {"{{~!--", "}}"}, {"{{{{", "}}}}"}, {"{{{", "}}}"},
	} {
		if strings.HasPrefix(rest, kind.open) {
			return until(rest, kind.end)
		}
	}
	return until(rest, "}}")
}

// until returns the length of a text up to and including end.
func until(rest, end string) int {
	if at := strings.Index(rest, end); at >= 0 {
		return at + len(end)
	}
	return len(rest)
}

// NameLines gives names to the elements that have line numbers, and adds invisible links to the names. An element
// that has an ID keeps it, and gets no name.
func NameLines(doc string) string {
	var out, links strings.Builder
	tokens := html.NewTokenizer(strings.NewReader(doc))
	named := 0
	for {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			out.Write(tokens.Raw())
			break
		}

		raw := string(tokens.Raw())
		if kind == html.StartTagToken || kind == html.SelfClosingTagToken {
			if line := lineOf(tokens); line != "" {
				id := ""
				if named < maxLines && !hasID(raw) {
					named++
					name := fmt.Sprintf("%s%s-%d", LineNames, line, named)
					id = ` id="` + name + `"`
					links.WriteString(`<a href="#` + name + `"></a>`)
				}
				raw = strings.Replace(raw, lineAttribute+line, id, 1)
			}
		}
		out.WriteString(raw)
	}

	if named == 0 {
		return out.String()
	}

	text := out.String()
	added := "<div hidden>" + links.String() + "</div>"
	if at := strings.LastIndex(strings.ToLower(text), "</body>"); at >= 0 && len(strings.ToLower(text)) == len(text) {
		return text[:at] + added + text[at:]
	}
	return text + added
}

// lineOf is the line that the tag of a tokenizer has, or "".
func lineOf(tokens *html.Tokenizer) string {
	_, more := tokens.TagName()
	for more {
		var key, value []byte
		key, value, more = tokens.TagAttr()
		if string(key) != "data-relay-line" {
			continue
		}
		if _, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			return string(value)
		}
	}
	return ""
}

// hasID reports whether a start tag has an id.
func hasID(tag string) bool {
	tokens := html.NewTokenizer(strings.NewReader(tag))
	tokens.Next()
	_, more := tokens.TagName()
	for more {
		var key []byte
		if key, _, more = tokens.TagAttr(); string(key) == "id" {
			return true
		}
	}
	return false
}

// LineOfName returns the line for a name of NameLines, or 0.
func LineOfName(name string) int {
	rest, ok := strings.CutPrefix(name, LineNames)
	line, _, _ := strings.Cut(rest, "-")
	if n, err := strconv.Atoi(line); ok && err == nil {
		return n
	}
	return 0
}
