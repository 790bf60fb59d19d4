package xpath

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a part of an expression. The kind is 'n' for a name, '0' for a number, '"' for a text, and else 's'.
type token struct {
	kind byte
	text string
}

// symbols are those of more than one character.
var symbols = []string{"//", "::", "..", "!=", "<=", ">=", ":="}

// scan divides an expression into tokens.
func scan(text string) (tokens []token) { //nolint:gocyclo // a case for each kind of token
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		if text == "" {
			return tokens
		}

		var t token
		var size int
		switch c := text[0]; {
		case c == '"' || c == '\'':
			t, size = scanText(text, c)
		case c >= '0' && c <= '9' || c == '.' && len(text) > 1 && text[1] >= '0' && text[1] <= '9':
			size = prefix(text, func(r rune) bool { return r >= '0' && r <= '9' || r == '.' })
			t = token{'0', text[:size]}
		case c == '_' || unicode.IsLetter(firstRune(text)):
			size = prefix(text, func(r rune) bool {
				return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.", r)
			})
			// A prefix belongs to the name, but not an axis.
			if rest := text[size:]; len(rest) > 1 && rest[0] == ':' && rest[1] != ':' {
				more := prefix(rest[1:], func(r rune) bool {
					return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.*", r)
				})
				size += 1 + more
			}
			t = token{'n', text[:size]}
		default:
			size = 1
			for _, symbol := range symbols {
				if strings.HasPrefix(text, symbol) {
					size = len(symbol)
				}
			}
			t = token{'s', text[:size]}
		}

		tokens = append(tokens, t)
		text = text[size:]
	}
}

func firstRune(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

// scanText reads a text in quotes; a doubled quote is one.
func scanText(text string, quote byte) (t token, size int) {
	var out strings.Builder
	for i := 1; i < len(text); i++ {
		if text[i] != quote {
			out.WriteByte(text[i])
			continue
		}

		if i+1 < len(text) && text[i+1] == quote {
			out.WriteByte(quote)
			i++
			continue
		}
		return token{'"', out.String()}, i + 1
	}
	panic(syntaxError("a text without an end"))
}

// prefix is the length of the beginning whose characters have a property.
func prefix(text string, has func(r rune) bool) int {
	for i, r := range text {
		if !has(r) {
			return i
		}
	}
	return len(text)
}

type parser struct {
	tokens []token
	next   int
}

func (p *parser) peek() token { return p.ahead(0) }

func (p *parser) ahead(n int) token {
	if p.next+n < len(p.tokens) {
		return p.tokens[p.next+n]
	}
	return token{}
}

// is reports whether the next token is a symbol or a name of the language.
func (p *parser) is(text string) bool {
	t := p.peek()
	return t.text == text && (t.kind == 's' || t.kind == 'n')
}

func (p *parser) accept(text string) bool {
	if p.is(text) {
		p.next++
		return true
	}
	return false
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		panic(syntaxError("expected " + text + ", got " + p.peek().text))
	}
}

// sequence reads expressions with commas between them.
func (p *parser) sequence() expr {
	list := []expr{p.single()}
	for p.accept(",") {
		list = append(list, p.single())
	}
	if len(list) == 1 {
		return list[0]
	}
	return &sequenceExpr{list}
}

func (p *parser) single() expr {
	switch t := p.peek(); {
	case t.kind == 'n' && (t.text == "for" || t.text == "some" || t.text == "every") && p.ahead(1).text == "$":
		return p.loop()
	case t.kind == 'n' && t.text == "if" && p.ahead(1).text == "(":
		p.next += 2
		condition := p.sequence()
		p.expect(")")
		p.expect("then")
		yes := p.single()
		p.expect("else")
		return &ifExpr{condition, yes, p.single()}
	}
	return p.or()
}

// loop reads for, some and every.
func (p *parser) loop() expr {
	kind := p.peek().text
	p.next++
	loop := &loopExpr{kind: kind}

	for {
		p.expect("$")
		loop.names = append(loop.names, p.name())
		p.expect("in")
		loop.in = append(loop.in, p.single())
		if !p.accept(",") {
			break
		}
	}

	if kind == "for" {
		p.expect("return")
	} else {
		p.expect("satisfies")
	}
	loop.body = p.single()
	return loop
}

func (p *parser) name() string {
	t := p.peek()
	if t.kind != 'n' {
		panic(syntaxError("expected a name, got " + t.text))
	}
	p.next++
	return t.text
}

func (p *parser) or() expr {
	left := p.and()
	for p.accept("or") {
		left = &orExpr{left, p.and()}
	}
	return left
}

func (p *parser) and() expr {
	left := p.comparison()
	for p.accept("and") {
		left = &andExpr{left, p.comparison()}
	}
	return left
}

// comparisons are the operators between values; those of letters compare single values.
var comparisons = map[string]string{
	"=": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "eq": "=", "ne": "!=", "lt": "<", "le": "<=",
	"gt": ">", "ge": ">=",
}

func (p *parser) comparison() expr {
	left := p.additive()
	t := p.peek()
	operator, ok := comparisons[t.text]
	if !ok || t.kind != 's' && t.kind != 'n' {
		return left
	}
	p.next++
	return &compareExpr{operator, t.kind == 'n', left, p.additive()}
}

func (p *parser) additive() expr {
	left := p.multiplicative()
	for p.is("+") || p.is("-") {
		operator := p.peek().text
		p.next++
		left = &arithmeticExpr{operator, left, p.multiplicative()}
	}
	return left
}

func (p *parser) multiplicative() expr {
	left := p.union()
	for p.is("*") || p.is("div") || p.is("mod") || p.is("idiv") {
		operator := p.peek().text
		p.next++
		left = &arithmeticExpr{operator, left, p.union()}
	}
	return left
}

func (p *parser) union() expr {
	left := p.cast()
	for p.is("|") || p.is("union") {
		p.next++
		left = &unionExpr{left, p.cast()}
	}
	return left
}

// cast reads "cast as" and "castable as".
func (p *parser) cast() expr {
	left := p.unary()
	for p.is("cast") || p.is("castable") {
		castable := p.peek().text == "castable"
		p.next++
		p.expect("as")
		kind := p.name()
		p.accept("?")
		left = &castExpr{kind, castable, left}
	}
	return left
}

func (p *parser) unary() expr {
	if p.accept("-") {
		return &arithmeticExpr{"-", &literalExpr{[]Item{rat0}}, p.unary()}
	}
	p.accept("+")
	return p.path()
}

// path reads a path, or a value with predicates.
func (p *parser) path() expr {
	path := &pathExpr{}
	switch {
	case p.accept("//"):
		path.start = startDocument
		path.steps = append(path.steps, p.step(true))
	case p.accept("/"):
		path.start = startDocument
		if !p.startsStep() {
			return path
		}
		path.steps = append(path.steps, p.step(false))
	default:
		first := p.step(false)
		if first.axis == axisValue && len(first.predicates) == 0 && !p.is("/") && !p.is("//") {
			return first.value
		}
		path.steps = append(path.steps, first)
	}

	for {
		switch {
		case p.accept("//"):
			path.steps = append(path.steps, p.step(true))
		case p.accept("/"):
			path.steps = append(path.steps, p.step(false))
		default:
			return path
		}
	}
}

func (p *parser) startsStep() bool {
	t := p.peek()
	return t.kind == 'n' || t.text == "@" || t.text == "*" || t.text == ".." || t.text == "." || t.text == "("
}

var axes = map[string]axis{
	"child": axisChild, "descendant": axisDescendant, "self": axisSelf, "parent": axisParent, "ancestor": axisAncestor,
	"ancestor-or-self": axisAncestorOrSelf, "attribute": axisAttribute, "preceding-sibling": axisPrecedingSibling,
	"following-sibling": axisFollowingSibling, "preceding": axisPreceding, "descendant-or-self": axisDescendantOrSelf,
}

// step reads one step of a path. Deep means that it looks at all nodes below.
func (p *parser) step(deep bool) step {
	s := step{deep: deep}
	t := p.peek()
	switch {
	case p.accept("."):
		s.axis = axisSelf
		s.name = "node()"
	case p.accept(".."):
		s.axis = axisParent
		s.name = "*"
	case p.accept("@"):
		s.axis = axisAttribute
		s.name = p.nodeTest()
	case t.kind == 'n' && p.ahead(1).text == "::":
		a, ok := axes[t.text]
		if !ok {
			panic(syntaxError("unknown axis " + t.text))
		}
		p.next += 2
		s.axis = a
		s.name = p.nodeTest()
	case t.text == "*" && t.kind == 's',
		t.kind == 'n' && (p.ahead(1).text != "(" || t.text == "node" || t.text == "text"):
		s.axis = axisChild
		s.name = p.nodeTest()
	default:
		s.axis = axisValue
		s.value = p.primary()
	}

	for p.accept("[") {
		s.predicates = append(s.predicates, predicate{of: p.sequence()})
		p.expect("]")
	}

	for i := range s.predicates {
		s.predicates[i].positional = positional(s.predicates[i].of)
	}
	return s
}

// nodeTest reads the name of nodes, without its prefix.
func (p *parser) nodeTest() string {
	if p.accept("*") {
		return "*"
	}
	name := p.name()
	if (name == "node" || name == "text") && p.accept("(") {
		p.expect(")")
		return name + "()"
	}
	if _, local, ok := strings.Cut(name, ":"); ok {
		return local
	}
	return name
}

func (p *parser) primary() expr {
	t := p.peek()
	p.next++
	switch {
	case t.kind == '"':
		return &literalExpr{[]Item{t.text}}
	case t.kind == '0':
		number, ok := decimalOf(t.text)
		if !ok {
			panic(syntaxError("the number " + t.text))
		}
		return &literalExpr{[]Item{number}}
	case t.text == "$" && p.peek().kind == '0':
		p.next++
		return &variableExpr{p.ahead(-1).text}
	case t.text == "$":
		return &variableExpr{p.name()}
	case t.text == "(":
		if p.accept(")") {
			return &sequenceExpr{}
		}
		inner := p.sequence()
		p.expect(")")
		return inner
	case t.kind == 'n' && p.accept("("):
		call := &callExpr{name: strings.TrimPrefix(t.text, "fn:")}
		for !p.accept(")") {
			call.args = append(call.args, p.single())
			if !p.is(")") {
				p.expect(",")
			}
		}
		return call
	}
	panic(syntaxError("unexpected " + t.text))
}
