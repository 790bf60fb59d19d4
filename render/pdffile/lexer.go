package pdffile

import "bytes"

// Lexer splits content into its words, without copying or understanding them.
type Lexer struct {
	parser parser
}

// NewLexer returns a lexer of content, at its beginning.
func NewLexer(content []byte) Lexer { return Lexer{parser{data: content}} }

// Token is the kind of a word of content.
type Token uint8

// The kinds of words. EndToken comes after the last word.
const (
	EndToken Token = iota
	OperatorToken
	NameToken
	ValueToken // a number, true, false or null
	StringToken
	BracketToken
)

// At returns the offset at which the last word ends.
func (l *Lexer) At() int { return l.parser.at }

// SkipTo goes to an offset.
func (l *Lexer) SkipTo(at int) { l.parser.at = at }

// SkipImage skips an image in the content, behind its BI.
func (l *Lexer) SkipImage() { l.parser.image() }

// Next returns the next word.
func (l *Lexer) Next() (kind Token, word []byte) {
	p := &l.parser
	if p.ended() {
		return EndToken, nil
	}

	start := p.at
	kind = l.skip()
	word = p.data[start:p.at]
	if kind == OperatorToken && isValue(word) {
		kind = ValueToken
	}
	return kind, word
}

// skip skips a word, and returns its kind. Values are like operators.
func (l *Lexer) skip() Token {
	p := &l.parser
	c := p.data[p.at]
	p.at++

	switch c {
	case '/':
		p.skipRegular()
		return NameToken
	case '(':
		p.skipLiteral()
		return StringToken
	case '<':
		if p.at < len(p.data) && p.data[p.at] == '<' {
			p.at++
			return BracketToken
		}

		end := bytes.IndexByte(p.data[p.at:], '>')
		if end < 0 {
			end = len(p.data) - p.at - 1
		}
		p.at += end + 1
		return StringToken
	case '>', '[', ']', '{', '}', ')':
		return BracketToken
	}

	p.skipRegular()
	return OperatorToken
}

// isValue reports whether a word of regular characters is a number, or a word for a value.
func isValue(word []byte) bool {
	switch string(word) {
	case "true", "false", "null":
		return true
	}
	return len(bytes.Trim(word, numberCharacters)) == 0
}

// skipLiteral skips the rest of a string in parentheses.
func (p *parser) skipLiteral() {
	for open := 1; p.at < len(p.data) && open > 0; p.at++ {
		switch p.data[p.at] {
		case '(':
			open++
		case ')':
			open--
		case '\\':
			p.at++
		}
	}
	p.at = min(p.at, len(p.data))
}
