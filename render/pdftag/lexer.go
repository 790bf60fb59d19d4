package pdftag

import "bytes"

// lexer splits content into its words, without copying or understanding them.
type lexer struct {
	data []byte
	at   int
}

type token uint8

const (
	endToken token = iota
	operatorToken
	nameToken
	numberToken
	stringToken
	bracketToken
)

// classes are the classes of characters: white space, delimiters, and characters of words.
var classes = func() (table [256]uint8) {
	for _, c := range []byte("\x00\t\n\f\r ") {
		table[c] = space
	}
	for _, c := range []byte("()<>[]{}/%") {
		table[c] = delimiter
	}
	return table
}()

const (
	space     = 1
	delimiter = 2
)

// next takes the next word; start is where it begins, and lexer.at where it ends.
func (l *lexer) next() (kind token, start int) {
	l.blank()
	start = l.at
	if start >= len(l.data) {
		return endToken, start
	}

	c := l.data[start]
	l.at++
	switch c {
	case '/':
		l.word()
		return nameToken, start
	case '(':
		l.literal()
		return stringToken, start
	case '<':
		if l.at < len(l.data) && l.data[l.at] == '<' {
			l.at++
			return bracketToken, start
		}

		end := bytes.IndexByte(l.data[l.at:], '>')
		if end < 0 {
			end = len(l.data) - l.at - 1
		}
		l.at += end + 1
		return stringToken, start
	case '>', '[', ']', '{', '}', ')':
		return bracketToken, start
	}

	l.word()
	if c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' {
		return numberToken, start
	}
	switch string(l.data[start:l.at]) {
	case "true", "false", "null":
		return numberToken, start
	}

	return operatorToken, start
}

// blank skips white space and comments.
func (l *lexer) blank() {
	for ; l.at < len(l.data); l.at++ {
		switch c := l.data[l.at]; {
		case classes[c] == space:
		case c == '%':
			for l.at < len(l.data) && l.data[l.at] != '\n' && l.data[l.at] != '\r' {
				l.at++
			}
		default:
			return
		}
	}
}

// word skips the rest of a word.
func (l *lexer) word() {
	for l.at < len(l.data) && classes[l.data[l.at]] == 0 {
		l.at++
	}
}

// literal skips the rest of a string in parentheses.
func (l *lexer) literal() {
	for open := 1; l.at < len(l.data) && open > 0; l.at++ {
		switch l.data[l.at] {
		case '(':
			open++
		case ')':
			open--
		case '\\':
			l.at++
		}
	}
	l.at = min(l.at, len(l.data))
}

// image skips an image in the content, behind its BI.
func (l *lexer) image() {
	for {
		kind, start := l.next()
		if kind == endToken {
			return
		}
		if kind == operatorToken && string(l.data[start:l.at]) == "ID" {
			break
		}
	}

	for l.at < len(l.data) {
		end := bytes.Index(l.data[l.at:], []byte("EI"))
		if end < 0 {
			l.at = len(l.data)
			return
		}

		before := l.at + end
		l.at = before + len("EI")
		if classes[l.data[before-1]] == space && (l.at == len(l.data) || classes[l.data[l.at]] != 0) {
			return
		}
	}
}
