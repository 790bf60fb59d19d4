package pdffile

import (
	"bytes"
	"encoding/hex"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var errSyntax = errors.New("pdffile: not an object")

// maxNesting bounds the depth of arrays and dictionaries.
const maxNesting = 100

// parser reads PDF syntax.
type parser struct {
	data []byte
	at   int
	// strict refuses what other readers read in another way: a key twice, numbers of other languages, and comments.
	strict, refused bool
}

func (p *parser) value(depth int) (any, error) {
	p.space()
	if depth > maxNesting || p.at >= len(p.data) {
		return nil, errSyntax
	}

	switch c := p.data[p.at]; {
	case c == '/':
		return p.name(), nil
	case c == '(':
		return p.literal()
	case c == '[':
		p.at++
		return p.array(depth)
	case bytes.HasPrefix(p.data[p.at:], []byte("<<")):
		p.at += 2
		return p.dict(depth)
	case c == '<':
		return p.hex()
	case c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.':
		return p.number()
	}

	switch {
	case p.keyword("true"):
		return true, nil
	case p.keyword("false"):
		return false, nil
	case p.keyword("null"):
		return nil, nil
	}
	return nil, errSyntax
}

func isSpace(c byte) bool {
	return c == 0 || c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == ' '
}

func isRegular(c byte) bool {
	switch c {
	case 0, '\t', '\n', '\f', '\r', ' ', '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return false
	}
	return true
}

// space skips white space and comments.
func (p *parser) space() {
	for p.at < len(p.data) {
		switch c := p.data[p.at]; {
		case isSpace(c):
			p.at++
		case c == '%':
			p.refused = p.strict
			for p.at < len(p.data) && p.data[p.at] != '\n' && p.data[p.at] != '\r' {
				p.at++
			}
		default:
			return
		}
	}
}

// ended reports whether only white space follows.
func (p *parser) ended() bool {
	p.space()
	return p.at >= len(p.data)
}

// keyword takes a word, if it is the next one.
func (p *parser) keyword(word string) bool {
	p.space()
	end := p.at + len(word)
	if !bytes.HasPrefix(p.data[p.at:], []byte(word)) || end < len(p.data) && isRegular(p.data[end]) {
		return false
	}
	p.at = end
	return true
}

// opens consumes the beginning of an object, such as "4 0 obj".
func (p *parser) opens(number, generation int) bool {
	for _, want := range []int{number, generation} {
		if got, err := p.integer(); err != nil || got != want {
			return false
		}
	}
	return p.keyword("obj")
}

// closed reports whether an object ends here: some programs do not write its end.
func (p *parser) closed() bool {
	if p.keyword("endobj") || p.keyword("xref") || p.keyword("startxref") {
		return true
	}
	after := *p
	_, err1 := after.integer()
	_, err2 := after.integer()
	return err1 == nil && err2 == nil && after.keyword("obj")
}

// regular takes the characters up to the next delimiter.
func (p *parser) regular() string {
	start := p.at
	p.skipRegular()
	return string(p.data[start:p.at])
}

func (p *parser) skipRegular() {
	for p.at < len(p.data) && isRegular(p.data[p.at]) {
		p.at++
	}
}

func (p *parser) name() string {
	p.at++
	text := p.regular()
	if !strings.Contains(text, "#") {
		return "/" + text
	}

	name := []byte{'/'}
	for i := 0; i < len(text); i++ {
		if text[i] == '#' && i+2 < len(text) {
			if c, err := hex.DecodeString(text[i+1 : i+3]); err == nil {
				name = append(name, c...)
				i += 2
				continue
			}
		}
		name = append(name, text[i])
	}
	return string(name)
}

// numberPattern matches numbers of the standard.
var numberPattern = regexp.MustCompile(`^[+-]?(?:\d+\.?\d*|\.\d+)$`)

// number reads a number, or a reference, which begins like one.
func (p *parser) number() (any, error) {
	text := p.regular()
	if p.strict && !numberPattern.MatchString(text) {
		return nil, errSyntax
	}

	if id, err := strconv.Atoi(text); err == nil && id > 0 {
		after := *p
		after.space()
		digits := after.regular()
		generation, err := strconv.Atoi(digits)
		if p.strict && (text[0] == '+' || digits == "" || digits[0] == '+') {
			err = errSyntax
		}
		if err == nil && generation >= 0 && after.keyword("R") {
			*p = after
			return Refer(id, generation), nil
		}
	}

	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, errSyntax
	}
	return n, nil
}

// integer takes a whole number without a sign, as tables are full of.
func (p *parser) integer() (n int, err error) {
	const digits = 18 // fit in
	p.space()
	start := p.at
	for ; p.at < len(p.data) && p.data[p.at] >= '0' && p.data[p.at] <= '9'; p.at++ {
		n = n*10 + int(p.data[p.at]-'0')
	}
	if p.at == start || p.at > start+digits || p.at < len(p.data) && isRegular(p.data[p.at]) {
		return 0, errSyntax
	}
	return n, nil
}

func (p *parser) array(depth int) (any, error) {
	items := []any{}
	for {
		if p.space(); p.at < len(p.data) && p.data[p.at] == ']' {
			p.at++
			return items, nil
		}
		item, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
}

func (p *parser) dict(depth int) (any, error) {
	entries := Dict{}
	var keys map[string]bool
	if p.strict {
		keys = map[string]bool{}
	}

	for {
		p.space()
		if bytes.HasPrefix(p.data[p.at:], []byte(">>")) {
			p.at += 2
			return entries, nil
		}
		if p.at >= len(p.data) || p.data[p.at] != '/' {
			return nil, errSyntax
		}

		key := p.name()
		value, err := p.value(depth + 1)
		if err != nil || keys[key] {
			return nil, errSyntax
		}
		if p.strict {
			keys[key] = true
		}
		if value != nil {
			entries[key] = value
		}
	}
}

func (p *parser) hex() (any, error) {
	end := bytes.IndexByte(p.data[p.at:], '>')
	if end < 0 {
		return nil, errSyntax
	}

	digits := slices.DeleteFunc(bytes.Clone(p.data[p.at+1:p.at+end]), isSpace)
	p.at += end + 1
	if len(digits)%2 == 1 {
		digits = append(digits, '0')
	}
	if _, err := hex.Decode(make([]byte, len(digits)/2), digits); err != nil {
		return nil, errSyntax
	}
	return "b:" + string(digits), nil
}

// escapes are the characters after a backslash that represent others.
var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'f': '\f'}

func (p *parser) literal() (any, error) {
	var text []byte
	for open := 0; p.at < len(p.data); p.at++ {
		switch c := p.data[p.at]; c {
		case '(':
			if open++; open > 1 {
				text = append(text, c)
			}
		case ')':
			if open--; open == 0 {
				p.at++
				return "b:" + hex.EncodeToString(text), nil
			}
			text = append(text, c)
		case '\\':
			p.at++
			text = p.escape(text)
		default:
			text = append(text, c)
		}
	}
	return nil, errSyntax
}

// escape appends the character of an escape after its backslash, and leaves the parser at its last character.
func (p *parser) escape(text []byte) []byte {
	if p.at >= len(p.data) {
		return text
	}

	c := p.data[p.at]
	switch {
	case c >= '0' && c <= '7':
		code := 0
		last := min(p.at+3, len(p.data))
		for ; p.at < last && p.data[p.at] >= '0' && p.data[p.at] <= '7'; p.at++ {
			code = code*8 + int(p.data[p.at]-'0')
		}
		p.at--
		return append(text, byte(code))
	case c == '\r' && p.at+1 < len(p.data) && p.data[p.at+1] == '\n':
		p.at++
		return text
	case c == '\n' || c == '\r':
		return text
	}

	if special, ok := escapes[c]; ok {
		c = special
	}
	return append(text, c)
}
