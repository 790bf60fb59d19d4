package template

import "unicode/utf16"

// token is one token of a template in Handlebars' grammar. Positions follow Handlebars: lines from 1, columns from
// 0 in UTF-16 units.
type token struct {
	kind                             int
	text                             []uint16
	line, column, lastLine, lastStop int
	start, end                       int // in the source
}

// The numbers of the grammar's terminals, from Handlebars' parser.js. A test
// compares them with the names in its table of symbols.
const (
	tokenEnd              = 1
	tokenEOF              = 5
	tokenComment          = 14
	tokenContent          = 15
	tokenOpenRawBlock     = 19
	tokenCloseRawBlock    = 23
	tokenEndRawBlock      = 18
	tokenOpenBlock        = 29
	tokenClose            = 33
	tokenOpenInverse      = 34
	tokenOpenInverseChain = 39
	tokenInverse          = 44
	tokenOpenEndBlock     = 47
	tokenOpen             = 48
	tokenOpenUnescaped    = 51
	tokenCloseUnescaped   = 54
	tokenOpenPartial      = 55
	tokenOpenPartialBlock = 60
	tokenOpenSexpr        = 65
	tokenCloseSexpr       = 68
	tokenID               = 72
	tokenEquals           = 73
	tokenOpenBlockParams  = 75
	tokenCloseBlockParams = 77
	tokenString           = 80
	tokenNumber           = 81
	tokenBoolean          = 82
	tokenUndefined        = 83
	tokenNull             = 84
	tokenData             = 85
	tokenSep              = 87
	// Text that the lexer cannot read; the grammar has neither token.
	tokenInvalid = -1
	tokenLexical = -2
)

// state is a condition of the lexer.
type state byte

const (
	stateText state = iota
	stateMustache
	stateEscaped // after a backslash: the next mustache is text
	stateComment
	stateRaw
)

// lexer is Handlebars' own lexer rule by rule (lexer.rules in parser.js), in
// linear time. The original matches some forty regular expressions against the
// whole rest of the source for each token, which in goja takes seconds for a
// template of 20 KB. Tests compare the two.
type lexer struct {
	src    []uint16
	at     int
	states []state
	line   int // of the next token, from 0
	column int
	tokens []token
	// Terminators that do not follow any more, such as the end of a comment or a closing
	// quote. Searching for them at each position would take quadratic time.
	unended  bool
	unquoted map[uint16]bool
}

// maxTokens is the maximum number of tokens of a template.
const maxTokens = 1_000_000

// tokenize returns all tokens, the last of which ends the parse; more than maxTokens if there are too many.
func tokenize(source string) []token {
	l := &lexer{src: utf16.Encode([]rune(source)), states: []state{stateText}, unquoted: map[uint16]bool{}}
	for {
		kind, ok := l.next()
		if ok && (kind == tokenEnd || kind == tokenEOF || kind == tokenLexical) || len(l.tokens) > maxTokens {
			return l.tokens
		}
	}
}

func (l *lexer) state() state   { return l.states[len(l.states)-1] }
func (l *lexer) begin(s state)  { l.states = append(l.states, s) }
func (l *lexer) pop()           { l.states = l.states[:len(l.states)-1] }
func (l *lexer) rest() []uint16 { return l.src[l.at:] }
func (l *lexer) has(n int) bool { return l.at+n < len(l.src) }
func (l *lexer) peek(n int) uint16 {
	if l.has(n) {
		return l.src[l.at+n]
	}
	return 0
}

// next reads the match of one rule. It returns false if the rule gives no token.
func (l *lexer) next() (int, bool) {
	if l.at == len(l.src) {
		kind := tokenEnd
		if s := l.state(); s == stateText || s == stateMustache {
			kind = tokenEOF
		}
		return l.emit(kind, 0, nil)
	}

	switch l.state() {
	case stateMustache:
		return l.mustache()
	case stateEscaped:
		return l.escaped()
	case stateComment:
		return l.comment()
	case stateRaw:
		return l.raw()
	}
	return l.content()
}

// emit consumes n units as a token of that text.
func (l *lexer) emit(kind, n int, text []uint16) (int, bool) {
	t := token{kind: kind, text: text, line: l.line + 1, column: l.column, start: l.at}
	l.skip(n)
	t.lastLine = l.line + 1
	t.lastStop = l.column
	t.end = l.at
	l.tokens = append(l.tokens, t)
	return kind, true
}

// plain consumes n units as a token of exactly them.
func (l *lexer) plain(kind, n int) (int, bool) { return l.emit(kind, n, l.src[l.at:l.at+n]) }

// skip consumes n units and counts lines as the original does: a column ends
// at the separators of Unicode.
func (l *lexer) skip(n int) {
	part := l.src[l.at : l.at+n]
	l.at += n
	last := -1

	for i := 0; i < len(part); i++ {
		switch part[i] {
		case '\r':
			if i+1 < len(part) && part[i+1] == '\n' {
				i++
			}
			l.line++
			last = i + 1
		case '\n':
			l.line++
			last = i + 1
		}
	}

	if last < 0 {
		l.column += n
		return
	}

	l.column = 0
	for _, unit := range part[last:] {
		if unit == 0x2028 || unit == 0x2029 {
			break
		}
		l.column++
	}
}

// content reads text up to the next mustache.
func (l *lexer) content() (int, bool) {
	n, found := l.until(0, "{{")
	if !found {
		if n = l.untilNUL(); n == 0 {
			return l.emit(tokenLexical, 0, nil)
		}
		return l.plain(tokenContent, n)
	}

	text := l.src[l.at : l.at+n]
	next := stateMustache
	if n > 0 && text[n-1] == '\\' {
		if n < 2 || text[n-2] != '\\' {
			next = stateEscaped
		}
		text = text[:n-1]
	}

	l.begin(next)
	if len(text) == 0 {
		l.skip(n)
		return 0, false
	}
	return l.emit(tokenContent, n, text)
}

// until finds a text at or after from, and no NUL before it.
func (l *lexer) until(from int, text string) (int, bool) {
	for n := from; l.at+n+len(text) <= len(l.src); n++ {
		if l.startsAt(n, text) {
			return n, true
		}
		if l.src[l.at+n] == 0 {
			return 0, false
		}
	}
	return 0, false
}

func (l *lexer) startsAt(n int, text string) bool {
	if l.at+n+len(text) > len(l.src) {
		return false
	}

	for i := range len(text) {
		if l.src[l.at+n+i] != uint16(text[i]) {
			return false
		}
	}
	return true
}

func (l *lexer) untilNUL() int {
	for n, unit := range l.rest() {
		if unit == 0 {
			return n
		}
	}
	return len(l.rest())
}

// escaped reads the mustache after a backslash, as text.
func (l *lexer) escaped() (int, bool) {
	for n := 0; ; n++ {
		end := l.at+n == len(l.src)
		if n >= 2 && (end || l.startsAt(n, "{{") || l.startsAt(n, `\{{`) || l.startsAt(n, `\\{{`)) {
			l.pop()
			return l.plain(tokenContent, n)
		}
		if end || l.src[l.at+n] == 0 {
			return l.emit(tokenLexical, 0, nil)
		}
	}
}

// comment reads up to and with the dashes that end it.
func (l *lexer) comment() (int, bool) {
	for n := 0; l.has(n); n++ {
		if !l.startsAt(n, "--") {
			continue
		}

		end := n + 2
		if l.peek(end) == '~' {
			end++
		}
		if l.startsAt(end, "}}") {
			l.pop()
			return l.plain(tokenComment, end+2)
		}
	}
	return l.emit(tokenLexical, 0, nil)
}

// raw reads inside of a raw block, where others may be nested.
func (l *lexer) raw() (int, bool) {
	if l.startsAt(0, "{{{{") && l.has(4) && l.peek(4) != '/' {
		l.begin(stateRaw)
		return l.plain(tokenContent, 4)
	}

	if l.startsAt(0, "{{{{/") {
		n := 5
		for l.has(n) && isID(l.peek(n)) {
			n++
		}
		if n > 5 && l.startsAt(n, "}}}}") {
			l.pop()
			if l.state() == stateRaw {
				return l.plain(tokenContent, n+4)
			}
			return l.emit(tokenEndRawBlock, n+4, l.src[l.at+5:l.at+n])
		}
	}

	if l.peek(0) != 0 {
		if n, found := l.until(1, "{{{{"); found {
			return l.plain(tokenContent, n)
		}
	}
	return l.emit(tokenLexical, 0, nil)
}
