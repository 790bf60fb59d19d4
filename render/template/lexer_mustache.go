package template

// mustache reads one token between the braces. The order of the rules is that of the original, because the first
// match wins.
func (l *lexer) mustache() (int, bool) {
	switch c := l.peek(0); {
	case c == '(':
		return l.plain(tokenOpenSexpr, 1)
	case c == ')':
		return l.plain(tokenCloseSexpr, 1)
	case l.startsAt(0, "{{{{"):
		return l.plain(tokenOpenRawBlock, 4)
	case l.startsAt(0, "}}}}"):
		l.pop()
		l.begin(stateRaw)
		return l.plain(tokenCloseRawBlock, 4)
	case l.startsAt(0, "{{"):
		return l.open()
	case c == '=':
		return l.plain(tokenEquals, 1)
	case l.startsAt(0, ".."):
		return l.plain(tokenID, 2)
	case c == '.' && l.has(1) && isLookahead(l.peek(1)):
		return l.plain(tokenID, 1)
	case c == '.' || c == '/':
		return l.plain(tokenSep, 1)
	case isSpace(c):
		n := 1
		for l.has(n) && isSpace(l.peek(n)) {
			n++
		}
		l.skip(n)
		return 0, false
	}

	if kind, n := l.close(); n > 0 {
		l.pop()
		return l.plain(kind, n)
	}
	return l.word()
}

// open reads the braces that open a mustache and its kind.
func (l *lexer) open() (int, bool) {
	n := 2
	if l.peek(n) == '~' {
		n++
	}

	switch l.peek(n) {
	case '>':
		return l.plain(tokenOpenPartial, n+1)
	case '#':
		switch l.peek(n + 1) {
		case '>':
			return l.plain(tokenOpenPartialBlock, n+2)
		case '*':
			return l.plain(tokenOpenBlock, n+2)
		}
		return l.plain(tokenOpenBlock, n+1)
	case '/':
		return l.plain(tokenOpenEndBlock, n+1)
	case '^':
		if end := l.bare(n + 1); end > 0 {
			l.pop()
			return l.plain(tokenInverse, end)
		}
		return l.plain(tokenOpenInverse, n+1)
	}

	if word := l.spaces(n); l.startsAt(word, "else") {
		if end := l.bare(word + 4); end > 0 {
			l.pop()
			return l.plain(tokenInverse, end)
		}
		if !l.has(word+4) || !isWord(l.peek(word+4)) {
			return l.plain(tokenOpenInverseChain, word+4)
		}
	}
	return l.openPlain(n)
}

// openPlain reads the start of a mustache other than a block or a partial.
func (l *lexer) openPlain(n int) (int, bool) {
	switch l.peek(n) {
	case '{':
		return l.plain(tokenOpenUnescaped, n+1)
	case '&':
		return l.plain(tokenOpen, n+1)
	case '*':
		return l.plain(tokenOpen, n+1)
	case '!':
		if l.startsAt(n+1, "--") {
			l.pop()
			l.begin(stateComment)
			return 0, false
		}

		for end := n + 1; !l.unended && l.has(end); end++ {
			if l.startsAt(end, "}}") {
				l.pop()
				return l.plain(tokenComment, end+2)
			}
		}
		l.unended = true
	}
	return l.plain(tokenOpen, n)
}

// spaces returns the first position at or after n without white space.
func (l *lexer) spaces(n int) int {
	for l.has(n) && isSpace(l.peek(n)) {
		n++
	}
	return n
}

// bare returns the end of a mustache with nothing more from n on, or 0.
func (l *lexer) bare(n int) int {
	n = l.spaces(n)
	if l.peek(n) == '~' {
		n++
	}
	if l.startsAt(n, "}}") {
		return n + 2
	}
	return 0
}

// close returns the length of the braces that close a mustache, or 0.
func (l *lexer) close() (kind, n int) {
	switch {
	case l.startsAt(0, "}~}}"):
		return tokenCloseUnescaped, 4
	case l.startsAt(0, "}}}"):
		return tokenCloseUnescaped, 3
	case l.startsAt(0, "~}}"):
		return tokenClose, 3
	case l.startsAt(0, "}}"):
		return tokenClose, 2
	}
	return 0, 0
}

// word reads literals and names.
func (l *lexer) word() (int, bool) {
	switch c := l.peek(0); c {
	case '"', '\'':
		if n := l.quoted(c); n > 0 {
			return l.emit(tokenString, n, unescape(l.src[l.at+1:l.at+n-1], c, 0))
		}
	case '@':
		return l.plain(tokenData, 1)
	case '|':
		return l.plain(tokenCloseBlockParams, 1)
	case '[':
		if n := l.quoted(']'); n > 0 {
			return l.emit(tokenID, n, unescape(l.src[l.at:l.at+n], ']', '\\'))
		}
	}

	for _, literal := range literals {
		if n := len(literal.text); l.startsAt(0, literal.text) && l.has(n) && endsLiteral(l.peek(n)) {
			return l.plain(literal.kind, n)
		}
	}
	if n := l.number(); n > 0 {
		return l.plain(tokenNumber, n)
	}

	if l.startsAt(0, "as") {
		if bar := l.spaces(2); bar > 2 && l.peek(bar) == '|' {
			return l.plain(tokenOpenBlockParams, bar+1)
		}
	}

	n := 0
	for l.has(n) && isID(l.peek(n)) {
		n++
	}
	if n > 0 && l.has(n) && isLookahead(l.peek(n)) {
		return l.plain(tokenID, n)
	}
	return l.invalid()
}

// invalid reads invalid text, up to a possible end of the mustache. The parser stops at it; searches for tags
// continue.
func (l *lexer) invalid() (int, bool) {
	n := 1
	for l.has(n) && !l.startsAt(n, "}}") && !l.startsAt(n, "{{") {
		n++
	}
	return l.emit(tokenInvalid, n, l.src[l.at:l.at+1])
}

var literals = []struct {
	text string
	kind int
}{{"true", tokenBoolean}, {"false", tokenBoolean}, {"undefined", tokenUndefined}, {"null", tokenNull}}

// quoted returns the length of a text that ends with a quote without a backslash before it. If there is none, the
// last one with a backslash ends it.
func (l *lexer) quoted(quote uint16) int {
	escaped := 0
	if l.unquoted[quote] {
		return 0
	}

	for n := 1; l.has(n); n++ {
		switch {
		case l.peek(n) == '\\' && l.has(n+1) && l.peek(n+1) == quote:
			n++
			escaped = n + 1
		case l.peek(n) == quote:
			return n + 1
		}
	}

	if escaped == 0 {
		l.unquoted[quote] = true
	}
	return escaped
}

// unescape drops the backslash before either of two characters.
func unescape(text []uint16, a, b uint16) []uint16 {
	var out []uint16
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (text[i+1] == a || text[i+1] == b && b != 0) {
			i++
		}
		out = append(out, text[i])
	}
	return out
}

// number returns the length of a number, or 0.
func (l *lexer) number() int {
	digits := func(n int) int {
		for l.has(n) && l.peek(n) >= '0' && l.peek(n) <= '9' {
			n++
		}
		return n
	}

	first := 0
	if l.peek(0) == '-' {
		first = 1
	}
	n := digits(first)
	if n == first {
		return 0
	}

	if l.peek(n) == '.' {
		if end := digits(n + 1); end > n+1 {
			n = end
		}
	}
	if l.has(n) && endsLiteral(l.peek(n)) {
		return n
	}
	return 0
}

// isSpace is \s of JavaScript.
func isSpace(c uint16) bool {
	switch c {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff:
		return true
	}
	return c >= 0x2000 && c <= 0x200a
}

// isID reports whether a name may hold the character.
func isID(c uint16) bool {
	switch {
	case isSpace(c), c == '!', c == '"', c == '#', c >= '%' && c <= ',', c == '.', c == '/',
		c >= ';' && c <= '>', c == '@', c >= '[' && c <= '^', c == '`', c >= '{' && c <= '~':
		return false
	}
	return true
}

// isLookahead reports whether a name may end before the character.
func isLookahead(c uint16) bool {
	switch c {
	case '=', '/', '.', '|':
		return true
	}
	return endsLiteral(c)
}

// endsLiteral reports whether a number, true or null may end before the character.
func endsLiteral(c uint16) bool { return c == '~' || c == '}' || c == ')' || isSpace(c) }

func isWord(c uint16) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}
