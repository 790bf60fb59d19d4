package batch

import (
	"strings"
)

// kind is the kind of a CSS token.
type kind int

const (
	space  kind = iota
	word        // a name, a number with its unit, @name or #name
	call        // a name with its opening parenthesis
	text        // a string with its quotes
	symbol      // any other character
)

// token is a token of CSS, as it is written.
type token struct {
	kind kind
	text string
}

func (t token) is(symbolText string) bool { return t.kind == symbol && t.text == symbolText }

// tokens returns the tokens of CSS without comments. Text that browsers may read in another way is not read: escapes
// outside of strings, unquoted URLs other than data, strings and comments without an end, and brackets that do not match.
func tokens(css string) ([]token, bool) {
	var list []token
	var open []byte
	for len(css) > 0 {
		t, rest, ok := next(css)
		if !ok {
			return nil, false
		}
		css = rest
		if t.kind == space && len(list) > 0 && list[len(list)-1].kind == space {
			continue
		}
		list = append(list, t)
		switch end := t.text[len(t.text)-1]; {
		case t.kind == call && end == '(' || t.kind == symbol && strings.IndexByte("([{", end) >= 0:
			open = append(open, end)
		case t.kind == symbol && strings.IndexByte(")]}", end) >= 0:
			if len(open) == 0 || closing(open[len(open)-1]) != end {
				return nil, false
			}
			open = open[:len(open)-1]
		}
	}
	return list, len(open) == 0
}

func closing(open byte) byte {
	return map[byte]byte{'(': ')', '[': ']', '{': '}'}[open]
}

// next returns the first token of CSS, and the rest.
func next(css string) (t token, rest string, ok bool) {
	switch c := css[0]; {
	case strings.IndexByte(" \t\r\n\f", c) >= 0:
		return token{space, " "}, strings.TrimLeft(css, " \t\r\n\f"), true
	case strings.HasPrefix(css, "/*"):
		_, rest, ok := strings.Cut(css[2:], "*/")
		return token{space, " "}, rest, ok
	case strings.HasPrefix(css, "<!--"), strings.HasPrefix(css, "-->"), c == '\\', c < ' ', c == 0x7f:
		return token{}, "", false
	case c == '"' || c == '\'':
		end := 1
		for end < len(css) && css[end] != c {
			if css[end] < ' ' {
				return token{}, "", false
			}
			if css[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(css) {
			return token{}, "", false
		}
		return token{text, css[:end+1]}, css[end+1:], true
	case isName(c) || (c == '@' || c == '#') && len(css) > 1 && isName(css[1]):
		return name(css)
	}
	return token{symbol, css[:1]}, css[1:], true
}

// name returns a name, which may be a function.
func name(css string) (t token, rest string, ok bool) {
	end := 1
	for end < len(css) && (isName(css[end]) || css[end] == '.' && isNumber(css[:end]) && end+1 < len(css) && isDigit(css[end+1])) {
		end++
	}
	switch {
	case end < len(css) && css[end] == '\\':
		return token{}, "", false
	case end == len(css) || css[end] != '(' || css[0] == '@' || css[0] == '#':
		return token{word, css[:end]}, css[end:], true
	case strings.EqualFold(css[:end], "url"):
		return url(css, end+1)
	}
	return token{call, css[:end+1]}, css[end+1:], true
}

// url returns a URL without quotes as one token.
func url(css string, start int) (t token, rest string, ok bool) {
	argument := strings.TrimLeft(css[start:], " \t\r\n\f")
	if argument != "" && (argument[0] == '"' || argument[0] == '\'') {
		return token{call, css[:start]}, css[start:], true
	}
	end := strings.IndexByte(css, ')')
	if end < 0 || strings.ContainsAny(css[start:end], "\"'(\\") {
		return token{}, "", false
	}
	return token{word, css[:end+1]}, css[end+1:], true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '-' || c == '_' || c >= 0x80
}

// isNumber reports whether text may be the digits before a point.
func isNumber(text string) bool { return strings.Trim(text, "0123456789-") == "" }

// write returns tokens as CSS.
func write(list []token) string {
	var out strings.Builder
	for _, t := range list {
		out.WriteString(t.text)
	}
	return out.String()
}

func trim(list []token) []token {
	for len(list) > 0 && list[0].kind == space {
		list = list[1:]
	}
	for len(list) > 0 && list[len(list)-1].kind == space {
		list = list[:len(list)-1]
	}
	return list
}

// until returns the tokens before the first of the symbols that is not in brackets, that symbol, and the tokens after it.
// The symbol is empty if there is none.
func until(list []token, symbols string) (before []token, found string, after []token) {
	depth := 0
	for i, t := range list {
		if depth == 0 && t.kind == symbol && strings.Contains(symbols, t.text) {
			return list[:i], t.text, list[i+1:]
		}
		switch {
		case t.kind == call, t.is("("), t.is("["), t.is("{"):
			depth++
		case t.is(")"), t.is("]"), t.is("}"):
			depth--
		}
	}
	return list, "", nil
}

// block returns the content of a block that begins after its brace, and the tokens after it.
func block(list []token) (content, after []token) {
	content, _, after = until(list, "}")
	return content, after
}

// rule is a rule of a style sheet.
type rule struct {
	prelude, body []token
	statement     bool // without a block
}

// rules splits a style sheet, or the content of a block.
func rules(list []token) (found []rule) {
	for list = trim(list); len(list) > 0; list = trim(list) {
		symbols := "{"
		if strings.HasPrefix(list[0].text, "@") {
			symbols = "{;"
		}
		prelude, end, rest := until(list, symbols)
		r := rule{prelude: trim(prelude), statement: end != "{"}
		if list = rest; end == "{" {
			r.body, list = block(rest)
		}
		found = append(found, r)
	}
	return found
}

// at returns the name of an at-rule in lower case, without its sign; empty for other rules.
func (r rule) at() string {
	if len(r.prelude) > 0 {
		if name, ok := strings.CutPrefix(r.prelude[0].text, "@"); ok {
			return strings.ToLower(name)
		}
	}
	return ""
}

// declaration is a property with its value.
type declaration struct {
	name  string // in lower case, unless it is a variable
	value []token
}

// plain returns the value in lower case.
func (d declaration) plain() string { return strings.ToLower(strings.TrimSpace(write(d.value))) }

// declarations reads the declarations of a block, which must hold nothing else.
func declarations(list []token) (found []declaration, ok bool) {
	for list = trim(list); len(list) > 0; list = trim(list) {
		if list[0].is(";") {
			list = list[1:]
			continue
		}
		part, _, rest := until(list, ";")
		list = rest
		name, colon, value := until(part, ":")
		name = trim(name)
		if colon == "" || len(name) != 1 || name[0].kind != word || strings.HasPrefix(name[0].text, "@") {
			return nil, false
		}
		d := declaration{name[0].text, trim(value)}
		if !strings.HasPrefix(d.name, "--") {
			d.name = strings.ToLower(d.name)
			for _, t := range d.value {
				if t.is("{") || t.is("}") {
					return nil, false
				}
			}
		}
		found = append(found, d)
	}
	return found, true
}

// calls returns the argument of each call of a function, at any depth.
func calls(list []token, function string) (arguments [][]token) {
	for i, t := range list {
		if t.kind == call && strings.EqualFold(t.text, function+"(") {
			argument, _, _ := until(list[i+1:], ")")
			arguments = append(arguments, trim(argument))
		}
	}
	return arguments
}
