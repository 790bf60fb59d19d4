package einvoice

import (
	"embed"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/relaypdf/relaypdf/render/einvoice/xpath"
)

// The tables of rules. Each line is one of these; "#" begins a comment:
//
//	let NAME EXPRESSION       a variable, $NAME
//	macro NAME TEXT           the text for {NAME} in later lines
//	for A B in 1 2, 3 4       repeats the lines up to "end" with {A} and {B}; "_" is a space in the values
//	== NAME                   begins a section
//	@ NODES                   the elements that the following rules are about
//	@@ NODES                  the same for elements that other rules of the section may be about too
//	ID TEST                   a rule, which is broken at the elements where the test is not true
//	ID? TEST                  a recommendation
//	= EXPRESSION              the value that the rule before this line expects
//
// In a section, an element belongs to the first @ that selects it. Tests are XPath with local names. Three have short
// forms: "max1 PATH", "one PATH" and "none PATH PATH", for elements that occur at most once, once, and never.
//
//go:embed rules/*.txt
var tables embed.FS

// ruleSet is a compiled set of rules.
type ruleSet struct {
	sections [][]*ruleContext
	library  *xpath.Library
}

// ruleContext is a set of elements with the rules about them.
type ruleContext struct {
	nodes  *xpath.Expression
	shared bool
	rules  []*treeRule
}

// treeRule is a rule about the elements of a document.
type treeRule struct {
	id             string
	test, expected *xpath.Expression
	warning        bool
	// message and path, the names of elements, are those of a short form.
	message string
	path    []string
	// shared means that the rule is in the table that is the first of its set, which profiles have parts of.
	shared bool
}

var ruleSets sync.Map

// ruleSetOf returns the compiled rules of tables, which share their variables.
func ruleSetOf(names ...string) *ruleSet {
	key := strings.Join(names, "+")
	if set, ok := ruleSets.Load(key); ok {
		return set.(*ruleSet) //nolint:errcheck // only sets are stored
	}

	set := &ruleSet{library: &xpath.Library{Functions: ruleFunctions, Variables: map[string]*xpath.Expression{}}}
	for name, text := range ruleConstants {
		set.library.Variables[name] = compiled(text)
	}

	for _, name := range names {
		text, err := tables.ReadFile("rules/" + name + ".txt")
		if err != nil {
			panic(err) // for a table that is not embedded
		}
		set.read(string(text), name == names[0])
	}

	ruleSets.Store(key, set)
	return set
}

// compiled compiles an expression of a table. A wrong table is a fault of the program.
func compiled(text string) *xpath.Expression {
	e, err := xpath.Compile(text)
	if err != nil {
		panic(err)
	}
	return e
}

// read adds the lines of a table.
func (s *ruleSet) read(text string, shared bool) {
	s.sections = append(s.sections, nil)
	for _, line := range expand(strings.Split(text, "\n")) {
		word, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		last := len(s.sections) - 1

		switch word {
		case "let":
			name, expression, _ := strings.Cut(rest, " ")
			s.library.Variables[name] = compiled(expression)
		case "==":
			s.sections = append(s.sections, nil)
		case "@", "@@":
			s.sections[last] = append(s.sections[last], &ruleContext{nodes: compiled(rest), shared: word == "@@"})
		case "=":
			rules := s.sections[last][len(s.sections[last])-1].rules
			rules[len(rules)-1].expected = compiled(rest)
		default:
			of := s.sections[last][len(s.sections[last])-1]
			rule := newRule(word, rest)
			rule.shared = shared
			of.rules = append(of.rules, rule)
		}
	}
}

// newRule reads a rule.
func newRule(id, text string) *treeRule {
	r := &treeRule{id: strings.TrimSuffix(id, "?"), warning: strings.HasSuffix(id, "?")}
	form, path, _ := strings.Cut(text, " ")
	name := path[strings.LastIndexAny(path, "/ ")+1:]
	if form == "max1" || form == "one" {
		r.path = elementNames(path)
	}

	switch form {
	case "max1":
		text = "count(" + path + ") <= 1"
		r.message = "The document must have " + name + " at most once here."
	case "one":
		text = "count(" + path + ") = 1"
		r.message = "The document must have " + name + " once here."
	case "none":
		paths := strings.Fields(path)
		text = "not(" + strings.Join(paths, ") and not(") + ")"
		r.message = "The document must not have " + strings.Join(paths, " or ") + " here."
	}

	r.test = compiled(text)
	return r
}

// elementNames are the names of the elements on a path, without conditions and attributes.
func elementNames(path string) (names []string) {
	for name := range strings.SplitSeq(conditions.ReplaceAllString(path, ""), "/") {
		if name != "" && name[0] != '@' && name[0] != '$' {
			names = append(names, name)
		}
	}
	return names
}

var conditions = regexp.MustCompile(`\[[^]]*\]`)

// expand replaces macros, repeats the lines of loops, and removes comments.
func expand(lines []string) (out []string) {
	macros := map[string]string{}
	for _, line := range lines {
		line = strings.TrimSpace(line)
		for name, text := range macros { // whose texts have no macros any more
			line = strings.ReplaceAll(line, "{"+name+"}", text)
		}

		switch word, rest, _ := strings.Cut(line, " "); word {
		case "", "#":
		case "macro":
			name, text, _ := strings.Cut(rest, " ")
			macros[name] = text
		default:
			out = append(out, line)
		}
	}

	return repeat(out)
}

// repeat repeats the lines of loops, which can be in each other.
func repeat(lines []string) (out []string) {
	for i := 0; i < len(lines); i++ {
		head, isLoop := strings.CutPrefix(lines[i], "for ")
		if !isLoop {
			out = append(out, lines[i])
			continue
		}

		first := i + 1
		depth := 1
		for depth > 0 {
			i++
			if strings.HasPrefix(lines[i], "for ") {
				depth++
			}
			if lines[i] == "end" {
				depth--
			}
		}

		names, values, _ := strings.Cut(head, " in ")
		for row := range strings.SplitSeq(values, ", ") {
			var pairs []string
			fields := strings.Fields(row)
			for n, name := range strings.Fields(names) {
				pairs = append(pairs, "{"+name+"}", strings.ReplaceAll(fields[n], "_", " "))
			}

			replacer := strings.NewReplacer(pairs...)
			var body []string
			for _, line := range lines[first:i] {
				body = append(body, replacer.Replace(line))
			}
			out = append(out, repeat(body)...)
		}
	}
	return out
}

// broken is a rule that an element breaks.
type broken struct {
	rule *treeRule
	at   *xpath.Node
	// err is the reason why the rule could not be evaluated, such as a text in the place of a number.
	err error
}

// check returns the rules that a document breaks. A set of IDs leaves out the others of the first table.
func (s *ruleSet) check(document *xpath.Tree, among map[string]bool) (found []broken) {
	for _, section := range s.sections {
		claimed := map[*xpath.Node]bool{}
		for _, c := range section {
			nodes, err := c.nodes.Nodes(document)
			if err != nil {
				found = append(found, broken{rule: c.rules[0], at: document.Root.Children[0], err: err})
				continue
			}

			for _, n := range nodes {
				if !c.shared && claimed[n] {
					continue
				}
				claimed[n] = claimed[n] || !c.shared
				for _, r := range c.rules {
					if among != nil && r.shared && !among[r.id] {
						continue
					}

					holds, err := r.test.Bool(document, n)
					if !holds || err != nil {
						found = append(found, broken{rule: r, at: n, err: err})
					}
					if errors.Is(err, xpath.ErrSteps) || len(found) == maxFindings {
						return found
					}
				}
			}
		}
	}
	return found
}

// expectedAt returns the value that a rule expects at an element; empty if it computes none.
func (b *broken) expectedAt(document *xpath.Tree) string {
	if b.rule.expected == nil {
		return ""
	}
	value, err := b.rule.expected.Evaluate(document, b.at)
	if err != nil || len(value) != 1 {
		return ""
	}
	amount, ok := value[0].(*bigRat)
	if !ok {
		return fmt.Sprint(value[0])
	}
	return amount.FloatString(2)
}
