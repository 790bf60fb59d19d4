package template

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
)

// fault returns the Fault for a syntaxFault, in words of a template's author.
func (f *syntaxFault) fault(partial string) Fault {
	fault := Fault{Message: f.Message, Line: f.Line, Partial: partial}
	if f.Line > 0 {
		fault.Column = f.Column + 1
	}
	if !f.Syntax {
		return fault
	}

	got := "the end of the template"
	if f.Text != "" {
		got = fmt.Sprintf("%.40q", f.Text)
	}
	fault.Message = "unexpected " + got

	var wanted []string
	for _, name := range f.Expected {
		if word, ok := terminals[name]; ok && !slices.Contains(wanted, word) {
			wanted = append(wanted, word)
		}
	}
	if len(wanted) > 0 && len(wanted) <= 6 {
		fault.Message += "; expected " + strings.Join(wanted, " or ")
	}
	return fault
}

// terminals are the grammar's terminals as authors know them.
var terminals = map[string]string{
	"CLOSE": "}}", "CLOSE_UNESCAPED": "}}}", "CLOSE_RAW_BLOCK": "}}}}", "CLOSE_SEXPR": ")", "OPEN_SEXPR": "(",
	"ID": "a name", "STRING": "a text in quotes", "NUMBER": "a number", "BOOLEAN": "true or false",
	"UNDEFINED": "undefined", "NULL": "null", "EQUALS": "=", "DATA": "@", "SEP": ".", "CLOSE_BLOCK_PARAMS": "|",
	"OPEN_ENDBLOCK": "{{/", "INVERSE": "{{else}}", "EOF": "the end", "END_RAW_BLOCK": "the end of the raw block",
}

// tag is a mustache that opens, divides or closes a block.
type tag struct {
	token      int    // index of its opening token
	name       string // of the block
	start, end int    // in the source, in UTF-16 units
	line, col  int
}

// maxEffort bounds how often a large source is parsed again for its next fault:
// in tokens, with sixteen units of text for one.
const maxEffort = 150_000

// syntax finds all errors of a source that cannot be parsed. It reports expressions that are not closed and blocks that
// do not match first, because the parser would report only their consequences. Then it blanks the part that the parser
// rejects, and parses the rest again.
func (c *compiler) syntax(source, partial string) ([]Fault, error) {
	units := utf16.Encode([]rune(source))
	faults := unclosed(units, source, partial)
	faults = append(faults, structure(units, string(utf16.Decode(units)), partial)...)

	for effort := maxEffort; effort > 0; {
		text := string(utf16.Decode(units))
		_, fault, err := c.parse(text)
		if err != nil {
			return nil, err
		}
		if fault == nil || len(faults) >= maxFaults {
			break
		}

		faults = append(faults, fault.fault(partial))
		tokens := tokenize(text)
		if !blankAt(units, tokens, fault.Line, fault.Column) {
			break
		}
		effort -= len(tokens) + len(units)/16
	}

	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.CompactFunc(faults, func(a, b Fault) bool { return a.Line == b.Line && a.Column == b.Column }), nil
}

// unclosed finds expressions that end without their braces, and blanks them together with the other tags of their
// blocks.
func unclosed(units []uint16, source, partial string) []Fault {
	var faults []Fault
	tokens := tokenize(source)
	src := slices.Clone(units)

	for i, t := range tokens {
		braces := missingBraces(src, tokens, i)
		if braces == "" {
			continue
		}
		faults = append(faults, Fault{
			Message: fmt.Sprintf("%s is not closed: %s is missing", opening(src[t.start:]), braces),
			Line:    t.line,
			Column:  t.column + 1,
			Partial: partial,
		})

		if t.kind == tokenLexical {
			blank(units, t.start, len(units))
		} else {
			blankAt(units, tokens, t.line, t.column)
		}
		if len(faults) >= maxFaults {
			break
		}
	}
	return faults
}

// missingBraces returns the braces that the expression opened by token i lacks, or nothing.
func missingBraces(src []uint16, tokens []token, i int) string {
	closing := tokenClose
	braces := "}}"
	switch kind := tokens[i].kind; {
	case kind == tokenLexical && strings.HasPrefix(string(utf16.Decode(src[tokens[i].start:])), "{{!--"):
		return "--}}"
	case kind == tokenOpenUnescaped:
		closing = tokenCloseUnescaped
		braces = "}}}"
	case kind == tokenOpenRawBlock:
		closing = tokenCloseRawBlock
		braces = "}}}}"
	case !opens(kind):
		return ""
	}

	for _, t := range tokens[i+1:] {
		text := string(utf16.Decode(src[t.start:t.end]))
		switch {
		case t.kind == closing, t.kind == tokenCloseUnescaped, t.kind == tokenCloseRawBlock:
			return ""
		// Braces beyond the end of an element are those of CSS or of a script.
		case t.kind == tokenInvalid &&
			(strings.Contains(text, "</") || strings.Contains(text, "<") && strings.Contains(text, "\n")),
			t.kind == tokenClose, t.kind == tokenEOF, t.kind == tokenLexical, strings.HasPrefix(text, "{{"):
			return braces
		}
	}
	return braces
}

// opening returns the start of an expression, up to the end of its first word.
func opening(expression []uint16) string {
	text := string(utf16.Decode(expression[:min(len(expression), 60)]))
	start := len(text) - len(strings.TrimLeft(strings.TrimLeft(text, "{"), "#/>^&*!~- \t"))
	end := strings.IndexAny(text[start:], " \t\r\n<>{}\"'|()=")
	if end < 0 {
		end = len(text) - start
	}
	return fmt.Sprintf("%.40s", strings.TrimSpace(text[:start+end]))
}

// structure finds blocks that are not closed, closed by another name or closed
// without having been opened, and blanks their tags.
func structure(units []uint16, source, partial string) []Fault {
	var faults []Fault
	var open []tag
	report := func(t tag, format string, args ...any) {
		faults = append(faults, Fault{
			Message: fmt.Sprintf(format, args...), Line: t.line, Column: t.col + 1, Partial: partial,
		})
		blank(units, t.start, t.end)
	}

	tokens := tokenize(source)
	for i := range tokens {
		switch tokens[i].kind {
		case tokenOpenBlock, tokenOpenPartialBlock:
			open = append(open, readTag(tokens, i))
		case tokenOpenInverse:
			if t := readTag(tokens, i); t.name != "" {
				open = append(open, t)
			}
		case tokenOpenEndBlock:
			end := readTag(tokens, i)
			at := len(open) - 1
			for at >= 0 && open[at].name != end.name {
				at--
			}
			if at < 0 {
				if len(open) > 0 && nearest(end.name, []string{open[len(open)-1].name}) != "" {
					last := open[len(open)-1]
					open = open[:len(open)-1]
					report(end, "{{/%s}} does not match {{#%s}} opened on line %d", end.name, last.name, last.line)
					blank(units, last.start, last.end)
					continue
				}
				report(end, "{{/%s}} closes a block that is not open", end.name)
				continue
			}

			for _, inner := range open[at+1:] {
				report(inner, "{{#%s}} is not closed before {{/%s}} of line %d", inner.name, end.name, end.line)
			}
			open = open[:at]
		}
		if len(faults) >= maxFaults {
			return faults
		}
	}

	for _, t := range open {
		report(t, "{{#%s}} is not closed: {{/%s}} is missing", t.name, t.name)
	}
	return faults
}

// readTag reads the tag whose opening token is at i.
func readTag(tokens []token, i int) tag {
	t := tag{token: i, start: tokens[i].start, line: tokens[i].line, col: tokens[i].column, end: tokens[i].end}
	var name strings.Builder
	naming := true

	for _, next := range tokens[i+1:] {
		if opens(next.kind) || next.kind == tokenContent || next.kind == tokenEOF || next.kind == tokenLexical {
			break
		}
		t.end = next.end
		if next.kind == tokenClose {
			break
		}

		switch next.kind {
		case tokenID, tokenSep, tokenData, tokenString, tokenNumber:
			// A space ends the name: a token that does not touch the one before.
			if naming && (name.Len() == 0 || next.start == tokens[i].end) {
				name.WriteString(string(utf16.Decode(next.text)))
				tokens[i].end = next.end
				continue
			}
		}
		naming = false
	}
	t.name = name.String()
	return t
}

// opens reports whether a token opens a mustache.
func opens(kind int) bool {
	switch kind {
	case tokenOpen, tokenOpenBlock, tokenOpenEndBlock, tokenOpenInverse,
		tokenOpenInverseChain, tokenOpenPartial, tokenOpenPartialBlock,
		tokenOpenUnescaped, tokenOpenRawBlock:
		return true
	}
	return false
}

// blankAt blanks the mustache at a position, and if it opens or closes a block, the block's other tags with it.
func blankAt(units []uint16, tokens []token, line, column int) bool {
	at := -1
	for i, t := range tokens {
		if t.line > line || t.line == line && t.column > column {
			break
		}
		at = i
	}

	for at >= 0 && !opens(tokens[at].kind) {
		at--
	}
	if at < 0 {
		return false
	}

	first := tokens[at]
	end := len(units)
	closing := []int{tokenClose, tokenCloseUnescaped, tokenCloseRawBlock, tokenEndRawBlock}
	for _, t := range tokens[at+1:] {
		if opens(t.kind) || t.kind == tokenContent {
			end = t.start
			break
		}
		if slices.Contains(closing, t.kind) {
			end = t.end
			break
		}
	}

	if !blank(units, first.start, end) {
		return false
	}
	blankPartner(units, tokens, at)
	return true
}

// blankPartner blanks the tags of a block whose other tag is gone.
func blankPartner(units []uint16, tokens []token, at int) {
	depth := 0
	step := 1
	switch tokens[at].kind {
	case tokenOpenBlock, tokenOpenPartialBlock, tokenOpenInverse:
	case tokenOpenEndBlock:
		step = -1
	default:
		return
	}

	for i := at + step; i >= 0 && i < len(tokens); i += step {
		var opening int
		switch tokens[i].kind {
		case tokenOpenBlock, tokenOpenPartialBlock:
			opening = 1
		case tokenOpenEndBlock:
			opening = -1
		case tokenInverse, tokenOpenInverseChain:
			if depth == 0 {
				t := readTag(slices.Clone(tokens), i)
				blank(units, t.start, t.end)
			}
			continue
		default:
			continue
		}

		if depth += opening * step; depth < 0 {
			t := readTag(slices.Clone(tokens), i)
			blank(units, t.start, t.end)
			return
		}
	}
}

// blank overwrites a part with spaces, so that positions stay the same. It returns false if there was nothing to
// blank.
func blank(units []uint16, start, end int) bool {
	changed := false
	for i := start; i < min(end, len(units)); i++ {
		if units[i] != '\n' && units[i] != '\r' && units[i] != ' ' {
			units[i] = ' '
			changed = true
		}
	}
	return changed
}

// excerpt returns the part of a source between two places of Handlebars'.
func excerpt(source string, line, column, endLine, endColumn int) string {
	lines := strings.Split(source, "\n")
	if line != endLine || line < 1 || line > len(lines) {
		return ""
	}
	units := utf16.Encode([]rune(lines[line-1]))
	if column < 0 || endColumn > len(units) || column > endColumn {
		return ""
	}
	return string(utf16.Decode(units[column:endColumn]))
}
