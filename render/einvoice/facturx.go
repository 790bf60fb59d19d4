package einvoice

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/relaypdf/relaypdf/render/einvoice/xpath"
)

//go:embed facturx.txt
var facturxTable string

// profileRules are what a profile of Factur-X says about elements, and the rules of EN 16931 that it has.
type profileRules struct {
	root  *elementRule
	rules map[string]bool
}

// elementRule is what a profile says about an element at one place, with a condition or without.
type elementRule struct {
	name      string
	condition *xpath.Expression
	unused    bool
	// counts are how often it occurs below its parent.
	counts     []countRule
	attributes []attributeRule
	codes      []codeRule
	children   []*elementRule
	// label is the name with its condition.
	label string
}

// countRule is a number of occurrences. The operator is "=", "<" for at most, or ">" for at least.
type countRule struct {
	operator byte
	number   int
	id       string
}

// attributeRule is an attribute that an element must have, or must not have.
type attributeRule struct {
	name     string
	required bool
	id       string
}

// codeRule is a list of codes for the text of an element, or of an attribute.
type codeRule struct{ attribute, list, id string }

// facturxProfiles reads facturx.txt.
var facturxProfiles = sync.OnceValue(func() map[Profile]*profileRules {
	profiles := map[Profile]*profileRules{}
	var current *profileRules
	var above []*elementRule
	for line := range strings.Lines(facturxTable) {
		line = strings.TrimRight(line, "\n")
		text := strings.TrimLeft(line, " ")
		depth := len(line) - len(text)
		words := strings.Fields(text)
		switch words[0] {
		case "#", "list": // facturxCodes reads the lists
		case "profile":
			current = &profileRules{rules: map[string]bool{}}
			profiles[Profile(words[1])] = current
		case "rules":
			for _, id := range words[1:] {
				current.rules[id] = true
			}
		default:
			e := newElementRule(words)
			if depth == 0 {
				current.root = e
			} else {
				above[depth-1].children = append(above[depth-1].children, e)
			}
			above = append(above[:depth], e)
		}
	}
	return profiles
})

// newElementRule reads a line of facturx.txt.
func newElementRule(words []string) *elementRule {
	e := &elementRule{label: strings.ReplaceAll(words[0], "_", " ")}
	name, condition, conditional := strings.Cut(e.label, "[")
	e.name = name
	if conditional {
		e.condition = compiled("self::node()[" + condition)
	}

	for _, word := range words[1:] {
		head, number, _ := strings.Cut(word[1:], ":")
		id := facturxID(number)
		switch word[0] {
		case 'x':
			e.unused = true
		case '=', '<', '>':
			n, _ := strconv.Atoi(head)
			e.counts = append(e.counts, countRule{word[0], n, id})
		case '-', '+':
			e.attributes = append(e.attributes, attributeRule{head, word[0] == '+', id})
		case 'i':
			_, rest, _ := strings.Cut(word, ":")
			list, number, _ := strings.Cut(rest, ":")
			list, attribute, _ := strings.Cut(list, "@")
			e.codes = append(e.codes, codeRule{attribute, list, facturxID(number)})
		}
	}

	return e
}

// facturxID is the ID of a rule. The official rules about what is not used have none; they are Structure here.
func facturxID(number string) string {
	if number == "" {
		return Structure
	}
	n, _ := strconv.Atoi(number)
	return fmt.Sprintf("FX-SCH-A-%06d", n)
}

// facturxCodes are the code lists of facturx.txt and of codes.txt.
var facturxCodes = sync.OnceValue(func() map[string]map[string]bool {
	lists := map[string]map[string]bool{}
	for name, list := range codes() {
		lists[name] = list
	}
	for line := range strings.Lines(facturxTable) {
		words := strings.Fields(line)
		if words[0] != "list" {
			continue
		}
		list := map[string]bool{}
		for code := range codes()[words[2]] {
			list[code] = true
		}
		for _, change := range words[3:] {
			list[change[1:]] = change[0] == '+'
		}
		lists[words[1]] = list
	}
	return lists
})

// profile checks the elements of a document by a profile of Factur-X.
func (c *checker) profile(rules *profileRules) {
	c.element(c.tree.Root.Children[0], rules.root)
}

// element checks an element and all below it.
func (c *checker) element(n *xpath.Node, rule *elementRule) {
	report := func(id string, at *xpath.Node, attribute, message string) {
		if len(c.findings) == maxFindings {
			return
		}
		f := Finding{
			Rule: id, Severity: Error, Message: message, XMLPath: nodePath(at),
			JSONPath: c.document.placeOf(at, attribute),
		}
		if attribute != "" {
			f.XMLPath += "/@" + attribute
			f.Actual, _ = attributeOf(at, attribute)
		} else if len(at.Children) == 0 {
			f.Actual = strings.TrimSpace(at.Text)
		}
		f.Actual = shortened(f.Actual)
		c.findings = append(c.findings, f)
	}
	profile := string(c.document.Profile)

	for _, a := range rule.attributes {
		_, has := attributeOf(n, a.name)
		switch {
		case a.required && !has:
			report(a.id, n, "", "The element "+rule.label+" must have the attribute "+a.name+".")
		case !a.required && has:
			report(a.id, n, a.name, "The profile "+profile+" does not use the attribute "+a.name+" here.")
		}
	}

	for _, code := range rule.codes {
		value := n.Text
		if code.attribute != "" {
			value, _ = attributeOf(n, code.attribute)
		}
		if value != "" && !facturxCodes()[code.list][value] {
			report(code.id, n, code.attribute,
				"The value must be a code of the list that the profile "+profile+" uses here.")
		}
	}

	for _, child := range rule.children {
		count := 0
		for _, m := range n.Children {
			if !child.matches(c.tree, m) {
				continue
			}
			count++
			if child.unused {
				report(Structure, m, "", "The profile "+profile+" does not use the element "+child.label+" here.")
				continue
			}
			c.element(m, child)
		}
		for _, rule := range child.counts {
			c.count(n, child, rule, count)
		}
	}
}

// matches reports whether a rule is about an element.
func (e *elementRule) matches(tree *xpath.Tree, n *xpath.Node) bool {
	if n.Name != e.name || e.condition == nil {
		return n.Name == e.name
	}
	holds, err := e.condition.Bool(tree, n)
	return holds && err == nil
}

// count checks the number of elements below one.
func (c *checker) count(n *xpath.Node, child *elementRule, rule countRule, count int) {
	var message string
	switch {
	case rule.operator == '=' && count != rule.number:
		message = "exactly "
	case rule.operator == '<' && count > rule.number:
		message = "at most "
	case rule.operator == '>' && count < rule.number:
		message = "at least "
	default:
		return
	}

	if len(c.findings) < maxFindings {
		c.findings = append(c.findings, Finding{
			Rule: rule.id, Severity: Error,
			Message: fmt.Sprintf("The element %s must occur %s%d times here; it occurs %d times.",
				child.label, message, rule.number, count),
			XMLPath:  nodePath(n) + "/" + child.label,
			JSONPath: c.document.missing(n.Origin.(*node), child.name), //nolint:errcheck // each node is one of ours
		})
	}
}

func attributeOf(n *xpath.Node, name string) (string, bool) {
	for _, a := range n.Attrs {
		if a.Name == name {
			return a.Value, true
		}
	}
	return "", false
}
