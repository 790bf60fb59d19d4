// Package pagedcss rewrites the constructs of CSS for paged media that Chromium drops without a word, such as
// target-counter(), to custom properties and counter styles that it supports. It names the constructs that it cannot
// rewrite, such as footnotes. They are those of CSS Generated Content for Paged Media, Paged Media 4 and Page Floats.
//
//	var features pagedcss.Features
//	text, without := features.Sheet("h1 { string-set: title content() } p { float: footnote }")
//	fmt.Println(text)            // h1 { --relay-string-set:0; } p { float: footnote }
//	fmt.Println(without[0].Name) // float: footnote
package pagedcss

import (
	"strings"
	"unicode/utf8"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"
)

// Construct is a construct without effect.
type Construct struct {
	Name string // for example: target-counter(attr(href), page)
	Line int    // of the sheet, from 1
}

const (
	// maxDepth is the maximum depth of blocks. What is deeper is not read.
	maxDepth = 32
	// maxName is the maximum length of a construct's name in bytes.
	maxName = 80
)

// Sheet returns the text of a style sheet as it is to be used, and the constructs that have no effect in it. It accepts
// any text, and takes linear time. It is called for all sheets of a document, and again for all of them if Numbered was
// false before and is true after that.
func (d *Features) Sheet(text string) (string, []Construct) { return d.read(text, inRules) }

// Attribute is Sheet for a style attribute.
func (d *Features) Attribute(text string) (string, []Construct) { return d.read(text, inStyle) }

func (d *Features) read(text string, in blockKind) (string, []Construct) {
	r := parser{doc: d}
	lexer := css.NewLexer(parse.NewInputString(text))

	for line := 1; ; {
		kind, raw := lexer.Next()
		if kind == css.ErrorToken {
			break
		}
		r.tokens = append(r.tokens, token{kind, string(raw), line})
		line += strings.Count(string(raw), "\n")
	}

	for r.at < len(r.tokens) {
		r.block(in, 0)
		r.at++ // past a brace that closes nothing
	}
	return r.edited(text), r.found
}

// blockKind is the kind of block that a statement is in.
type blockKind int

const (
	inRules  blockKind = iota // rules: a sheet, @media, @layer
	inStyle                   // declarations and nested rules of a style rule
	inPage                    // @page
	inMargin                  // a margin box of @page
	inOther                   // anything else, which is skipped
)

type token struct {
	kind css.TokenType
	raw  string
	line int
}

type parser struct {
	doc    *Features
	tokens []token
	at     int
	found  []Construct
	edits  []edit
}

// edit replaces tokens by a text.
type edit struct {
	from, to int
	text     string
}

// edited returns the text with all edits.
func (r *parser) edited(text string) string {
	if len(r.edits) == 0 {
		return text
	}

	var out strings.Builder
	at := 0
	for _, e := range append(r.edits, edit{from: len(r.tokens), to: len(r.tokens)}) {
		for ; at < e.from; at++ {
			out.WriteString(r.tokens[at].raw)
		}
		out.WriteString(e.text)
		at = e.to
	}

	return out.String()
}

func (r *parser) add(name string, line int) {
	r.found = append(r.found, Construct{Name: cut(strings.Join(strings.Fields(name), " ")), Line: line})
}

// block reads statements up to the brace that closes their block.
func (r *parser) block(in blockKind, depth int) {
	for r.at < len(r.tokens) {
		switch t := r.tokens[r.at]; t.kind {
		case css.RightBraceToken:
			return
		case css.WhitespaceToken, css.CommentToken, css.SemicolonToken, css.CDOToken, css.CDCToken:
			r.at++
		default:
			r.statement(in, depth)
		}
	}
}

// statement reads a declaration, or a rule with its block.
func (r *parser) statement(in blockKind, depth int) {
	start := r.at
	name, value := r.declaration()
	if in == inRules || in == inOther {
		value = 0
	}

	custom := value > 0 && strings.HasPrefix(name, "--")
	end := r.end(start, custom)
	r.at = end

	if end < len(r.tokens) && r.tokens[end].kind == css.LeftBraceToken {
		inner := r.prelude(in, r.tokens[start:end])
		r.at++
		if depth >= maxDepth {
			r.at = len(r.tokens)
			return
		}
		r.block(inner, depth+1)
		r.at++
		return
	}

	if value > 0 && !custom {
		r.declared(in, name, span{start, value, end})
	}
}

// declaration returns the name of the declaration that may be next, and the index of its value; 0 if there is none.
func (r *parser) declaration() (name string, value int) {
	first := r.tokens[r.at]
	if first.kind != css.IdentToken && first.kind != css.CustomPropertyNameToken {
		return "", 0
	}

	for i := r.at + 1; i < len(r.tokens); i++ {
		switch r.tokens[i].kind {
		case css.WhitespaceToken, css.CommentToken:
		case css.ColonToken:
			return plain(first.raw), i + 1
		default:
			return "", 0
		}
	}
	return "", 0
}

// end returns the index of the token after a statement: a semicolon, or a brace. The braces of a custom property are
// a part of its value.
func (r *parser) end(from int, custom bool) int {
	depth := 0

	for i := from; i < len(r.tokens); i++ {
		switch r.tokens[i].kind {
		case css.FunctionToken, css.LeftParenthesisToken, css.LeftBracketToken:
			depth++
		case css.RightParenthesisToken, css.RightBracketToken:
			depth = max(0, depth-1)
		case css.LeftBraceToken:
			if !custom && depth == 0 {
				return i
			}
			depth++
		case css.RightBraceToken:
			if depth == 0 {
				return i
			}
			if custom {
				depth--
			}
		case css.SemicolonToken:
			if depth == 0 {
				return i
			}
		}
	}
	return len(r.tokens)
}

// marginBoxes are the margin boxes of a page, which Chromium supports.
var marginBoxes = map[string]bool{
	"@top-left-corner": true, "@top-left": true, "@top-center": true, "@top-right": true, "@top-right-corner": true,
	"@bottom-left-corner": true, "@bottom-left": true, "@bottom-center": true,
	"@bottom-right": true, "@bottom-right-corner": true,
	"@left-top": true, "@left-middle": true, "@left-bottom": true,
	"@right-top": true, "@right-middle": true, "@right-bottom": true,
}

// ruleLists are the at-rules that contain rules.
var ruleLists = map[string]bool{
	"@media": true, "@supports": true, "@layer": true, "@container": true, "@scope": true,
	"@starting-style": true, "@document": true,
}

// prelude returns the kind of the block that follows the text of a rule.
func (r *parser) prelude(in blockKind, tokens []token) blockKind {
	first := tokens[:min(len(tokens), 1)]
	if len(first) == 0 || first[0].kind != css.AtKeywordToken {
		if in == inOther {
			return inOther
		}
		r.selector(tokens)
		return inStyle
	}

	name := plain(first[0].raw)
	switch {
	case name == "@page":
		r.pageSelector(tokens)
		return inPage
	case in == inPage && marginBoxes[name]:
		return inMargin
	case in == inPage && name == "@footnote":
		r.add(name, first[0].line)
	case ruleLists[name] && (in == inRules || in == inStyle):
		return in
	}

	return inOther
}

// selector finds pseudo-elements of footnotes.
func (r *parser) selector(tokens []token) {
	for i, t := range tokens {
		if i == 0 || t.kind != css.IdentToken || tokens[i-1].kind != css.ColonToken {
			continue
		}
		if name := plain(t.raw); name == "footnote-call" || name == "footnote-marker" {
			r.add("::"+name, t.line)
		}
	}
}

// pageSelector finds pseudo-classes of pages that Chromium does not know: it drops the rule.
func (r *parser) pageSelector(tokens []token) {
	for i, t := range tokens {
		if i == 0 || tokens[i-1].kind != css.ColonToken {
			continue
		}
		switch name := plain(t.raw); name {
		case "blank", "recto", "verso":
			r.add("@page :"+name, t.line)
		case "nth(":
			r.add("@page :nth()", t.line)
		}
	}
}

// closing returns the index after the parenthesis that closes the function at i.
func closing(tokens []token, i int) int {
	depth := 0

	for ; i < len(tokens); i++ {
		switch tokens[i].kind {
		case css.FunctionToken, css.LeftParenthesisToken:
			depth++
		case css.RightParenthesisToken:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(tokens)
}

func text(tokens []token) string {
	var out strings.Builder
	for _, t := range tokens {
		out.WriteString(t.raw)
	}
	return out.String()
}

// cut bounds a name.
func cut(name string) string {
	if len(name) <= maxName {
		return name
	}
	end := maxName
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + "…"
}
