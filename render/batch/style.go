package batch

import (
	"slices"
	"strconv"
	"strings"
)

// style is what the style sheets of a document say.
type style struct {
	shared string // for all records: the rules with body as the element bodyName
	tall   string // declarations of the root element's height
	all    pageRules
	first  pageRules
	// skeleton is the text of the rules of pages without the texts in them.
	skeleton string
	margins  [4]float64 // in CSS pixels: top, right, bottom, left; negative is as the printer has it
}

// pageRules are rules of all pages, or of the first.
type pageRules struct {
	page  []declaration
	boxes []box
}

// box is a rule of a page's margin box.
type box struct {
	name string
	list []declaration
}

// readStyle reads the style sheets of a document. It returns false if its pages cannot be those of a larger document.
func readStyle(css string) (*style, bool) {
	list, ok := tokens(css)
	if !ok {
		return nil, false
	}
	s := &style{margins: [4]float64{-1, -1, -1, -1}}
	var shared strings.Builder
	if !s.rules(&shared, list, true) {
		return nil, false
	}
	s.shared = shared.String()
	for _, d := range slices.Concat(s.all.page, s.first.page) {
		if !s.margin(d) {
			return nil, false
		}
	}
	return s, true
}

// rules reads rules. Only those at the top can be of pages.
func (s *style) rules(out *strings.Builder, list []token, top bool) bool {
	for _, r := range rules(list) {
		if !s.rule(out, r, top) {
			return false
		}
	}
	return true
}

func (s *style) rule(out *strings.Builder, r rule, top bool) bool {
	switch r.at() {
	case "":
		return !r.statement && s.plain(out, r)
	case "page":
		return top && !r.statement && s.pageRule(r)
	case "media", "supports":
		if r.statement {
			return false
		}
		out.WriteString(write(r.prelude) + "{")
		ok := s.rules(out, r.body, false)
		out.WriteString("}")
		return ok
	case "font-face", "counter-style", "property":
		if r.statement {
			return false
		}
		_, ok := declarations(r.body)
		out.WriteString(write(r.prelude) + "{" + write(r.body) + "}")
		return ok
	case "charset":
		return r.statement
	}
	return false
}

// plain reads a rule of elements.
func (s *style) plain(out *strings.Builder, r rule) bool {
	list, ok := declarations(r.body)
	if !ok || !harmless(list) || roundClip(list) {
		return false
	}
	var selectors []string
	for rest := r.prelude; len(rest) > 0; {
		var one []token
		one, _, rest = until(rest, ",")
		selector, root, ok := rewritten(trim(one))
		if !ok || root && !s.root(list) {
			return false
		}
		selectors = append(selectors, selector)
	}
	out.WriteString(strings.Join(selectors, ",") + "{" + write(r.body) + "}")
	return true
}

// rewritten returns a selector in which body is the element bodyName. root means that it selects the root element.
func rewritten(selector []token) (text string, root, ok bool) {
	if slices.ContainsFunc(selector, func(t token) bool { return t.is("&") || t.is("{") || t.is("|") }) {
		return "", false, false
	}
	var out strings.Builder
	depth := 0
	for i, t := range selector {
		depth += nesting(t)
		before := token{}
		if i > 0 {
			before = selector[i-1]
		}
		isType := isType(t, before)
		isRoot := isType && strings.EqualFold(t.text, "html") || before.is(":") && strings.EqualFold(t.text, "root")
		switch name := strings.ToLower(t.text); {
		case before.is(":") && slices.Contains([]string{"scope", "host", "target", "host("}, name):
			return "", false, false
		case isRoot:
			start := 0
			if before.is(":") {
				start = 1
			}
			// Only a descendant of the root can follow.
			compound, rest := rootCompound(selector[i+1:])
			if depth > 0 || i != start || !compound {
				return "", false, false
			}
			root = len(rest) == 0
		case isType && (name == "head" || name == "title" || strings.HasPrefix(name, Prefix)):
			return "", false, false
		case isType && name == "body":
			out.WriteString(bodyName)
			continue
		}
		out.WriteString(t.text)
	}
	return out.String(), root, out.Len() > 0
}

// nesting returns the change of the depth in brackets.
func nesting(t token) int {
	switch {
	case t.kind == call, t.is("["), t.is("("):
		return 1
	case t.is(")"), t.is("]"):
		return -1
	}
	return 0
}

// isType reports whether a token of a selector, after another, is the name of an element.
func isType(t, before token) bool {
	return t.kind == word && !before.is(".") && !before.is(":") && !before.is("[") && !before.is("=") && !strings.HasPrefix(t.text, "#")
}

// rootCompound returns the tokens after the root's compound selector, of classes at most. ok is false if other
// than descendants of the root are selected.
func rootCompound(after []token) (ok bool, rest []token) {
	for len(after) > 1 && after[0].is(".") && after[1].kind == word {
		after = after[2:]
	}
	if len(after) == 0 {
		return true, nil
	}
	rest = trim(after)
	first := rest[0]
	return after[0].kind == space && !first.is(">") && !first.is("+") && !first.is("~"), rest
}

// inherited are properties of the root element that all records inherit from it.
var inherited = []string{
	"color", "font", "line-height", "letter-spacing", "word-spacing", "text-align", "text-indent", "text-transform", "text-rendering", "hyphens",
	"overflow-wrap", "word-wrap", "word-break", "quotes", "orphans", "widows", "tab-size", "white-space", "background", "background-color",
	"-webkit-print-color-adjust", "print-color-adjust", "-webkit-font-smoothing", "-moz-osx-font-smoothing", "box-sizing", "text-size-adjust", "-webkit-text-size-adjust",
}

// root takes in the declarations of the root element.
func (s *style) root(list []declaration) bool {
	for _, d := range list {
		switch {
		case strings.HasPrefix(d.name, "--"), strings.HasPrefix(d.name, "font-"), slices.Contains(inherited, d.name):
		case (strings.HasPrefix(d.name, "margin") || strings.HasPrefix(d.name, "padding")) && strings.Trim(d.plain(), "0 ") == "":
		case (d.name == "height" || d.name == "min-height") && d.plain() == "100%":
			s.tall += d.name + ":100%!important;"
		default:
			return false
		}
	}
	return true
}

// harmless reports whether declarations are for one page, and refer to nothing elsewhere in the document.
func harmless(list []declaration) bool {
	for _, d := range list {
		switch d.name {
		case "page", "content-visibility", "position-anchor", "anchor-name", "string-set", "float-defer", "zoom":
			return false
		case "break-before", "break-after", "page-break-before", "page-break-after":
			if value := d.plain(); value != "auto" && value != "avoid" && value != "avoid-page" {
				return false
			}
		case "position":
			if value := d.plain(); value != "static" && value != "relative" && value != "absolute" {
				return false
			}
		case "counter-reset", "counter-increment", "counter-set":
			if slices.ContainsFunc(d.value, func(t token) bool { return isPage(t.text) }) {
				return false
			}
		}
		for _, start := range [...]string{"animation", "transition", "view-transition", "container", "all"} {
			if strings.HasPrefix(d.name, start) {
				return false
			}
		}
		// Clips and groups of pixels are drawn in other shades inside the clip of a part.
		for _, name := range [...]string{"clip-path", "mask", "mask-image", "filter", "backdrop-filter", "mix-blend-mode"} {
			if strings.TrimPrefix(d.name, "-webkit-") == name && d.plain() != "none" && d.plain() != "normal" {
				return false
			}
		}
		if !ownValue(d) {
			return false
		}
	}
	return true
}

// ownValue reports whether a value refers to nothing elsewhere in the document.
func ownValue(d declaration) bool {
	for _, t := range d.value {
		if t.kind == word && len(t.text) > len("url(") && strings.EqualFold(t.text[:len("url(")], "url(") && strings.Contains(t.text, "#") {
			return false
		}
	}
	for _, argument := range slices.Concat(calls(d.value, "url"), calls(d.value, "src")) {
		if strings.Contains(write(argument), "#") {
			return false
		}
	}
	for _, argument := range slices.Concat(calls(d.value, "counter"), calls(d.value, "counters")) {
		if len(argument) > 0 && isPage(argument[0].text) {
			return false
		}
	}
	if len(calls(d.value, "element")) > 0 || len(calls(d.value, "-webkit-element")) > 0 || len(calls(d.value, "target-counter")) > 0 {
		return false
	}
	return true
}

// roundClip reports whether an element may be clipped by round corners. Inside another clip, viewers draw the edges of such
// an element in other shades.
func roundClip(list []declaration) bool {
	clips := slices.ContainsFunc(list, func(d declaration) bool {
		return strings.HasPrefix(d.name, "overflow") && d.name != "overflow-wrap" && d.plain() != "visible"
	})
	return clips && slices.ContainsFunc(list, func(d declaration) bool { return strings.Contains(d.name, "radius") })
}

func isPage(name string) bool {
	return strings.EqualFold(name, "page") || strings.EqualFold(name, "pages")
}

// pageRule reads a rule of pages.
func (s *style) pageRule(r rule) bool {
	prelude := strings.ToLower(strings.TrimSpace(write(r.prelude[1:])))
	of := &s.all
	switch prelude {
	case "":
	case ":first":
		of = &s.first
	default:
		return false
	}
	s.skeleton += "@page" + prelude + "{"
	for list := trim(r.body); len(list) > 0; list = trim(list) {
		if name, isBox := strings.CutPrefix(list[0].text, "@"); isBox && list[0].kind == word {
			prelude, brace, rest := until(list, "{;")
			if brace != "{" || len(trim(prelude)) != 1 {
				return false
			}
			content, after := block(rest)
			list = after
			declared, ok := declarations(content)
			if !ok || !s.pageDeclarations(declared) {
				return false
			}
			of.boxes = append(of.boxes, box{strings.ToLower(name), declared})
			s.skeleton += "@" + name + "{" + masked(declared) + "}"
			continue
		}
		part, _, rest := until(list, ";")
		list = rest
		declared, ok := declarations(part)
		if !ok || !s.pageDeclarations(declared) {
			return false
		}
		of.page = append(of.page, declared...)
		s.skeleton += masked(declared)
	}
	s.skeleton += "}"
	return true
}

// pageDeclarations makes the numbers of pages in declarations that of the only page of a record.
func (s *style) pageDeclarations(list []declaration) bool {
	for i, d := range list {
		if slices.Contains([]string{"size", "page-orientation", "all", "marks", "bleed"}, d.name) || strings.HasPrefix(d.name, "counter-") {
			return false
		}
		var value []token
		for rest := d.value; len(rest) > 0; {
			t := rest[0]
			rest = rest[1:]
			if t.kind == call && (strings.EqualFold(t.text, "counter(") || strings.EqualFold(t.text, "counters(")) {
				argument, _, after := until(rest, ")")
				if argument = trim(argument); len(argument) != 1 || !isPage(argument[0].text) || !strings.EqualFold(t.text, "counter(") {
					return false
				}
				value, rest = append(value, token{call, "counter("}, argument[0], token{symbol, ","}, token{word, numberStyle}, token{symbol, ")"}), after
				continue
			}
			if t.kind == call && strings.EqualFold(t.text, "url(") || t.kind == word && strings.Contains(t.text, "(") || t.kind == call && strings.Contains(strings.ToLower(t.text), "element") {
				return false
			}
			value = append(value, t)
		}
		list[i].value = value
	}
	return true
}

// masked returns declarations without their texts, and without variables.
func masked(list []declaration) string {
	var out strings.Builder
	for _, d := range list {
		if strings.HasPrefix(d.name, "--") {
			continue
		}
		out.WriteString(d.name + ":")
		for _, t := range d.value {
			if t.kind == text {
				t.text = `""`
			}
			out.WriteString(t.text)
		}
		out.WriteString(";")
	}
	return out.String()
}

// margin takes in a declaration of the pages' margins, which must be lengths.
func (s *style) margin(d declaration) bool {
	rest, is := strings.CutPrefix(d.name, "margin")
	if !is {
		return d.name != "padding" && d.name != "border" && !strings.HasPrefix(d.name, "padding-") && !strings.HasPrefix(d.name, "border-") && d.name != "width" && d.name != "height" && !strings.Contains(d.name, "-width") && !strings.Contains(d.name, "-height")
	}
	var lengths []float64
	for _, part := range strings.Fields(d.plain()) {
		length, ok := pixels(part)
		if !ok {
			return false
		}
		lengths = append(lengths, length)
	}
	side := slices.Index([]string{"-top", "-right", "-bottom", "-left"}, rest)
	switch n := len(lengths); {
	case side >= 0 && n == 1:
		s.margins[side] = lengths[0]
	case rest == "" && n >= 1 && n <= 4:
		// Missing sides are as their opposites, or as the top.
		s.margins = [4]float64{lengths[0], lengths[min(1, n-1)], lengths[0], lengths[min(1, n-1)]}
		if n > 2 {
			s.margins[2] = lengths[2]
		}
		if n > 3 {
			s.margins[3] = lengths[3]
		}
	default:
		return false
	}
	return true
}

// pixels reads an absolute length.
func pixels(length string) (float64, bool) {
	const perInch = 96
	for unit, size := range map[string]float64{"px": 1, "pt": perInch / 72.0, "pc": perInch / 6.0, "in": perInch, "cm": perInch / 2.54, "mm": perInch / 25.4} {
		if number, ok := strings.CutSuffix(length, unit); ok {
			n, err := strconv.ParseFloat(number, 64)
			return n * size, err == nil && n >= 0
		}
	}
	return 0, length == "0"
}
