package pagedcss

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tdewolff/parse/v2/css"
)

// content rewrites the functions in a value of content. If one of them has no effect, Chromium drops the declaration,
// and the others stay as they are.
func (r *parser) content(in blockKind, at span) {
	end, _ := r.important(at)
	list := r.components(at.value, end)
	if alternative := slices.IndexFunc(list, func(c component) bool { return c.text == "/" }); alternative >= 0 {
		end = list[alternative].from
		list = list[:alternative]
	}

	var edits []edit
	for i, c := range list {
		var text string
		ok := true
		switch {
		case c.kind != css.FunctionToken:
			continue
		case in == inMargin:
			text, ok = r.marginFunction(c)
		case in == inStyle && c.text == "leader(":
			var more []edit
			if more, ok = r.leader(at.value, end, list, i); ok {
				edits = append(edits[:0], more...)
			}
		case in == inStyle:
			text, ok = r.function(c)
		}

		if !ok {
			name := r.source(c)
			if c.text == "counter(" {
				name += " outside of a margin box"
			}
			r.add(name, r.tokens[c.from].line)
			return
		}
		if text != "" {
			edits = append(edits, edit{c.from, c.to, text})
		}
	}

	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	r.edits = append(r.edits, edits...)
}

// function rewrites a function in the content of a pseudo-element; the text is empty if it stays.
func (r *parser) function(c component) (text string, ok bool) {
	args := r.arguments(c)
	switch c.text {
	case "target-counter(", "target-text(":
		t, ok := r.target(c.text, args)
		if !ok {
			return "", false
		}
		i, ok := index(&r.doc.Targets, t)
		return variable(t.property(i)), ok
	case "counter(":
		return "", len(args[0]) == 0 || args[0][0].text != "page" && args[0][0].text != "pages"
	case "target-counters(", "string(", "content(", "element(":
		return "", false
	}

	return "", true
}

// target reads a reference.
func (r *parser) target(name string, args [][]component) (t Target, ok bool) {
	if t, ok = r.targetElement(args[0]); !ok {
		return t, false
	}

	second := ""
	for _, arg := range args[1:] {
		if len(arg) != 1 || arg[0].kind != css.IdentToken {
			return t, false
		}
	}
	if len(args) > 1 {
		second = args[1][0].text
	}

	if name == "target-text(" {
		t.Text = "text"
		if second != "" && second != "content" {
			t.Text = second
		}
		return t, len(args) <= 2 && slices.Contains(contents, t.Text)
	}

	t.Style = "decimal"
	if len(args) == 3 {
		t.Style = strings.ToLower(args[2][0].text)
	}
	return t, second == "page" && len(args) <= 3 && known(t.Style)
}

// targetElement reads the first argument of a reference.
func (r *parser) targetElement(list []component) (t Target, ok bool) {
	if len(list) != 1 {
		return t, false
	}

	switch to := list[0]; {
	case to.text == "attr(":
		words := r.arguments(to)[0]
		if len(words) == 0 || words[0].kind != css.IdentToken {
			return t, false
		}
		t.Attribute = words[0].text
	case to.kind == css.StringToken:
		t.Fragment, ok = strings.CutPrefix(to.text, "#")
	case to.kind == css.URLToken:
		raw := strings.TrimSuffix(r.tokens[to.from].raw, ")")
		t.Fragment, ok = strings.CutPrefix(unescape(strings.Trim(raw[len("url("):], "\"' \t\r\n\f")), "#")
	}
	return t, t.Attribute != "" || ok && t.Fragment != ""
}

// leaders are the named patterns.
var leaders = map[string]string{"dotted": ". ", "solid": "_", "space": " "}

// leader rewrites the leader at place i of a value: the text after it comes first, and the line runs from the other
// side, so that the line fills what the text leaves.
func (r *parser) leader(from, to int, list []component, i int) (edits []edit, ok bool) {
	args := r.arguments(list[i])
	if len(args) != 1 || len(args[0]) != 1 {
		return nil, false
	}

	l := Leader{Pattern: args[0][0].text}
	if args[0][0].kind != css.StringToken {
		if l.Pattern = leaders[l.Pattern]; l.Pattern == "" {
			return nil, false
		}
	}
	for _, c := range list[:i] { // only spaces
		if c.kind != css.StringToken || strings.TrimSpace(c.text) != "" {
			return nil, false
		}
	}

	counters := 0
	for _, c := range list[i+1:] {
		switch {
		case c.text == "leader(":
			return nil, false
		case c.kind == css.StringToken && strings.TrimSpace(c.text) == "":
		case c.text == "target-counter(":
			counters++
		default:
			l.Mixed = true
		}
		if c.kind == css.StringToken {
			l.Length += len(c.text)
		}
	}

	l.Mixed = l.Mixed || counters > 1
	if l.Pattern == "" || len(l.Pattern) > maxName {
		return nil, false
	}
	number, ok := index(&r.doc.Leaders, l)
	if !ok {
		return nil, false
	}

	n := strconv.Itoa(number)
	return []edit{
		{from, list[i].to, "var(--relay-b" + n + `,"")`},
		{to, to, " " + variable("--relay-l"+n)},
	}, true
}

// marginFunction rewrites a function in a margin box; the text is empty if it stays.
func (r *parser) marginFunction(c component) (text string, ok bool) {
	args := r.arguments(c)
	word := func(i int) string {
		if i < len(args) && len(args[i]) == 1 && args[i][0].kind == css.IdentToken {
			return args[i][0].text
		}
		return ""
	}

	switch c.text {
	case "string(":
		s := String{Name: word(0), Position: word(1)}
		if len(args) == 1 {
			s.Position = "first"
		}
		if s.Name == "" || !slices.Contains([]string{"first", "start", "last", "first-except"}, s.Position) {
			return "", false
		}
		i, ok := index(&r.doc.Strings, s)
		return "counter(relay-page,relay-s" + strconv.Itoa(i) + ")", ok
	case "counter(":
		style := "decimal"
		if len(args) > 1 {
			style = strings.ToLower(word(1))
		}
		if word(0) != "page" || !r.doc.Restarts || !known(style) {
			return "", true
		}
		i, ok := index(&r.doc.Styles, style)
		return "counter(relay-page,relay-p" + strconv.Itoa(i) + ")", ok
	case "target-counter(", "target-counters(", "target-text(", "leader(", "element(", "content(":
		return "", false
	}

	return "", true
}
