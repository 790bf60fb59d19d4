package email

import (
	"bytes"
	"html"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	nethtml "golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// decode decodes bytes whose character encoding is missing or wrong. kind is their media type: HTML may name the
// encoding itself.
func decode(content []byte, kind string) string {
	if utf8.Valid(content) {
		return string(bytes.TrimPrefix(content, []byte("\xEF\xBB\xBF")))
	}

	reader, err := charset.NewReader(bytes.NewReader(content), kind)
	if err == nil {
		if decoded, err := io.ReadAll(reader); err == nil {
			content = decoded
		}
	}
	return strings.ToValidUTF8(string(content), "\uFFFD")
}

// flow is the way in which the lines of a text are wrapped (RFC 3676).
type flow struct {
	on   bool // a space at the end continues with the next line
	join bool // without that space
}

// line is one line of a text, with the number of its quotation marks.
type line struct {
	quoted int
	text   []byte
	ended  bool // does not go on
}

// lines returns the lines of a text.
func (f flow) lines(text string) (list []line) {
	for raw := range strings.SplitSeq(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n "), "\n") {
		l := f.line(strings.TrimSuffix(raw, "\r"))
		if last := len(list) - 1; last >= 0 && !list[last].ended && list[last].quoted == l.quoted && !l.signs() {
			list[last].text = append(list[last].text, l.text...)
			list[last].ended = l.ended
			continue
		}
		list = append(list, l)
	}
	return list
}

// line reads a line, which may continue on the next one.
func (f flow) line(text string) line {
	l := line{ended: true}
	for strings.HasPrefix(text, ">") && (f.on || l.quoted < maxDepth) {
		text = text[1:]
		l.quoted++
		if !f.on {
			text = strings.TrimPrefix(text, " ")
		}
	}

	if !f.on {
		l.text = []byte(text)
		return l
	}

	l.quoted = min(l.quoted, maxDepth)
	l.text = []byte(strings.TrimPrefix(text, " "))
	if l.ended = !bytes.HasSuffix(l.text, []byte(" ")) || l.signs(); !l.ended && f.join {
		l.text = l.text[:len(l.text)-1]
	}
	return l
}

// signs reports whether the line begins a signature.
func (l line) signs() bool { return string(l.text) == signature }

// signature is the line before a signature.
const signature = "-- "

// plainHTML writes a text as HTML: quotations have a line at their side, URLs are links.
func plainHTML(text string, f flow) string {
	var b strings.Builder
	depth := 0
	signed := false
	b.WriteString(`<div class="plain">`)

	for _, l := range f.lines(text) {
		for ; depth < l.quoted; depth++ {
			b.WriteString(`<blockquote dir="auto">`)
		}
		for ; depth > l.quoted; depth-- {
			b.WriteString("</blockquote>")
		}

		if l.signs() && depth == 0 && !signed {
			b.WriteString(`<div class="signature">`)
			signed = true
			continue
		}
		b.WriteString(linked(string(l.text)) + "\n")
	}

	b.WriteString(strings.Repeat("</blockquote>", depth))
	if signed {
		b.WriteString("</div>")
	}
	b.WriteString("</div>")
	return b.String()
}

var addressPattern = regexp.MustCompile(`https?://[^\s<>"]+`)

// linked writes a line with its addresses as links.
func linked(text string) string {
	var b strings.Builder
	at := 0

	for _, place := range addressPattern.FindAllStringIndex(text, -1) {
		address := strings.TrimRight(text[place[0]:place[1]], ".,;:!?)]}'\"")
		b.WriteString(html.EscapeString(text[at:place[0]]))
		b.WriteString(`<a href="` + html.EscapeString(address) + `">` + html.EscapeString(address) + "</a>")
		at = place[0] + len(address)
	}
	b.WriteString(html.EscapeString(text[at:]))
	return b.String()
}

// wordsOf returns the text of HTML that cannot be shown as HTML.
func wordsOf(source string) string {
	var b strings.Builder
	tokens := nethtml.NewTokenizer(strings.NewReader(source))
	hidden := false

	for {
		switch tokens.Next() {
		case nethtml.ErrorToken:
			return strings.TrimSpace(b.String())
		case nethtml.StartTagToken:
			name, _ := tokens.TagName()
			hidden = string(name) == "style" || string(name) == "script" || string(name) == "title"
			if string(name) == "p" || string(name) == "div" || string(name) == "br" || string(name) == "tr" {
				b.WriteString("\n")
			}
		case nethtml.EndTagToken:
			hidden = false
		case nethtml.TextToken:
			if words := strings.Join(strings.Fields(string(tokens.Text())), " "); words != "" && !hidden {
				b.WriteString(words + " ")
			}
		}
	}
}
