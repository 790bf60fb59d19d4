package pagedcss

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tdewolff/parse/v2/css"
)

// span is a declaration: the indexes of its first token, of its value and of the token after it.
type span struct{ start, value, end int }

// noEffect are the properties without effect.
var noEffect = map[string]bool{
	"footnote-display": true, "footnote-policy": true, "float-reference": true, "float-defer": true,
	"float-offset": true, "marks": true, "bleed": true,
}

// pageFloats are the values of float that move a box to a part of its page.
var pageFloats = map[string]bool{
	"footnote": true, "inline-footnote": true, "top": true, "bottom": true, "snap-block": true, "snap-inline": true,
}

// declared rewrites a declaration, or adds the construct that it has.
func (r *parser) declared(in blockKind, name string, at span) {
	line := r.tokens[at.start].line
	switch {
	case in == inOther:
	case noEffect[name]:
		r.add(name, line)
	case name == "content":
		r.content(in, at)
	case in == inPage && name == "counter-increment":
		r.increment(at)
	case in != inStyle:
	case name == "float" && pageFloats[r.word(at)]:
		r.add("float: "+r.word(at), line)
	case name == "position" && r.word(at) == "running(":
		r.add("position: running()", line)
	case name == "string-set":
		r.stringSet(at)
	case strings.HasPrefix(name, "bookmark-"):
		r.bookmark(name, at)
	case strings.HasPrefix(name, "counter-"):
		r.counters(name, at)
	}
}

// word returns the first word of a value.
func (r *parser) word(at span) string {
	for _, t := range r.tokens[at.value:at.end] {
		if t.kind != css.WhitespaceToken && t.kind != css.CommentToken {
			return plain(t.raw)
		}
	}
	return ""
}

// important splits "!important" off a value, and returns the index after the rest.
func (r *parser) important(at span) (end int, suffix string) {
	last := at.end
	for last > at.value && blank(r.tokens[last-1]) {
		last--
	}

	if last > at.value && plain(r.tokens[last-1].raw) == "important" {
		for i := last - 2; i >= at.value; i-- {
			if r.tokens[i].raw == "!" {
				return i, "!important"
			}
			if !blank(r.tokens[i]) {
				break
			}
		}
	}

	return at.end, ""
}

func blank(t token) bool { return t.kind == css.WhitespaceToken || t.kind == css.CommentToken }

// component is a token of a value, or a whole function.
type component struct {
	kind     css.TokenType
	text     string // the name of a word or a function, the content of a string
	from, to int
}

// components reads a value.
func (r *parser) components(from, to int) (list []component) {
	for i := from; i < to; i++ {
		t := r.tokens[i]
		c := component{kind: t.kind, text: plain(t.raw), from: i, to: i + 1}
		switch t.kind {
		case css.WhitespaceToken, css.CommentToken:
			continue
		case css.FunctionToken:
			c.to = min(closing(r.tokens[:to], i), to)
			i = c.to - 1
		case css.StringToken:
			c.text = unquote(t.raw)
		case css.IdentToken:
			c.text = unescape(t.raw)
		}

		list = append(list, c)
	}
	return list
}

// arguments returns the components of each argument of a function.
func (r *parser) arguments(f component) [][]component {
	end := f.to
	if r.tokens[end-1].kind == css.RightParenthesisToken {
		end--
	}
	return split(r.components(f.from+1, end))
}

// source returns the text of components.
func (r *parser) source(c component) string { return text(r.tokens[c.from:c.to]) }

// stringSet rewrites string-set: name content(), other attr(title).
func (r *parser) stringSet(at span) {
	end, suffix := r.important(at)
	list := r.components(at.value, end)

	var sets []Assignment
	if len(list) != 1 || list[0].text != "none" {
		for _, group := range split(list) {
			parts, ok := r.parts(group[min(1, len(group)):])
			if !ok || len(group) < 2 || group[0].kind != css.IdentToken {
				r.add("string-set:"+text(r.tokens[at.value:end]), r.tokens[at.start].line)
				return
			}
			sets = append(sets, Assignment{Name: group[0].text, Parts: parts})
		}
	}

	i, ok := indexFunc(&r.doc.Sets, sets, func(a, b Assignment) bool {
		return a.Name == b.Name && slices.Equal(a.Parts, b.Parts)
	})
	if !ok {
		r.add("string-set:"+text(r.tokens[at.value:end]), r.tokens[at.start].line)
		return
	}
	r.replace(at, "--relay-string-set:"+strconv.Itoa(i)+suffix)
}

// split splits components at commas.
func split(list []component) [][]component {
	groups := [][]component{nil}

	for _, c := range list {
		if c.kind == css.CommaToken {
			groups = append(groups, nil)
		} else {
			groups[len(groups)-1] = append(groups[len(groups)-1], c)
		}
	}
	return groups
}

// contents are the arguments of content() and the second ones of target-text().
var contents = []string{"text", "before", "after", "first-letter"}

// parts reads a list of texts.
func (r *parser) parts(list []component) (parts []Part, ok bool) {
	for _, c := range list {
		switch {
		case c.kind == css.StringToken:
			parts = append(parts, Part{Constant: c.text})
		case c.text == "attr(":
			if args := r.arguments(c); len(args[0]) > 0 && args[0][0].kind == css.IdentToken {
				parts = append(parts, Part{Attribute: args[0][0].text})
			}
		case c.text == "content(":
			args := r.arguments(c)[0]
			if len(args) > 0 && !slices.Contains(contents, args[0].text) {
				return nil, false
			}
			parts = append(parts, Part{Content: "text"})
			if len(args) > 0 {
				parts[len(parts)-1].Content = args[0].text
			}
		default:
			return nil, false
		}
	}
	return parts, len(parts) > 0
}

// replace replaces a declaration.
func (r *parser) replace(at span, text string) {
	r.edits = append(r.edits, edit{at.start, at.end, text})
}

// bookmark rewrites the properties of bookmarks.
func (r *parser) bookmark(name string, at span) {
	end, suffix := r.important(at)
	list := r.components(at.value, end)
	value := ""
	switch {
	case name == "bookmark-label":
		if parts, ok := r.parts(list); ok {
			if i, ok := indexFunc(&r.doc.Labels, parts, func(a, b Part) bool { return a == b }); ok {
				value = strconv.Itoa(i)
			}
		}
	case len(list) != 1:
	case name == "bookmark-level" && (list[0].kind == css.NumberToken || list[0].text == "none"):
		value = list[0].text
	case name == "bookmark-state" && (list[0].text == "open" || list[0].text == "closed"):
		value = list[0].text
	}

	if value == "" {
		r.add(name+":"+text(r.tokens[at.value:end]), r.tokens[at.start].line)
		return
	}

	r.doc.Bookmarks = true
	r.replace(at, "--relay-"+name+":"+value+suffix)
}

// counters rewrites counter-reset: page 1. Other counters of the declaration stay.
func (r *parser) counters(name string, at span) {
	end, suffix := r.important(at)
	list := r.components(at.value, end)
	others := ""
	number := -1

	for i := 0; i < len(list); i++ {
		if list[i].text != "page" && list[i].text != "pages" {
			others += " " + r.source(list[i])
			continue
		}
		if name == "counter-increment" || list[i].text == "pages" {
			r.add(name+": "+list[i].text+" on an element", r.tokens[at.start].line)
			return
		}

		number = 1
		if i+1 < len(list) && list[i+1].kind == css.NumberToken {
			i++
			n, err := strconv.Atoi(list[i].text)
			if err != nil || n < 0 || n > maxNumber {
				r.add(name+":"+text(r.tokens[at.value:end]), r.tokens[at.start].line)
				return
			}
			number = n
		}
	}

	if number < 0 {
		return
	}
	if others == "" {
		others = " none"
	}

	r.doc.Restarts = true
	r.replace(at, name+":"+others+suffix+";--relay-page:"+strconv.Itoa(number)+suffix)
}

// maxNumber is the largest page number.
const maxNumber = 1_000_000

// increment adds the counter of this package to one of @page.
func (r *parser) increment(at span) {
	if !r.doc.Numbered() {
		return
	}

	end, suffix := r.important(at)
	value := text(r.tokens[at.value:end])
	if r.word(at) == "none" {
		value = ""
	}
	r.replace(at, "counter-increment:"+value+" relay-page"+suffix)
}
