package einvoice

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Structure is the rule of findings that no business rule has: an element that the profile does not know, or that is
// in the wrong place, too often there, or missing.
const Structure = "XSD"

//go:embed cii.txt
var ciiTable string

// element is a child of a type of the Cross Industry Invoice.
type element struct {
	name, kind string
	// least and most are the numbers of occurrences by profile: -1 where the profile does not have the element.
	least, most [5]int
}

const unbounded = 1 << 30

// ciiTypes are the types of the Cross Industry Invoice, with their elements in order.
var ciiTypes = sync.OnceValue(func() map[string][]element {
	types := map[string][]element{}
	for line := range strings.Lines(ciiTable) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		for _, word := range words[1:] {
			parts := strings.Split(word, ":")
			e := element{name: parts[0], kind: parts[1]}
			for i := range e.least {
				e.least[i], e.most[i] = occurrence(parts[2][2*i]), occurrence(parts[2][2*i+1])
			}
			types[words[0]] = append(types[words[0]], e)
		}
	}
	return types
})

func occurrence(c byte) int {
	switch c {
	case '-':
		return -1
	case 'n':
		return unbounded
	}
	return int(c - '0')
}

// arrange puts the elements of a type in order, and removes those that the profile does not have.
func (n *node) arrange(kind string, level int) {
	elements := ciiTypes()[kind]
	place := func(child *node) int {
		return slices.IndexFunc(elements, func(e element) bool { return e.name == child.local() })
	}
	n.children = slices.DeleteFunc(n.children, func(child *node) bool {
		at := place(child)
		return at < 0 || elements[at].most[level] < 0
	})
	slices.SortStableFunc(n.children, func(a, b *node) int { return place(a) - place(b) })
	for _, child := range n.children {
		if e := elements[place(child)]; e.kind != "-" {
			child.arrange(e.kind, level)
		}
	}
}

// structure checks the elements of a type.
func (n *node) structure(kind, at string, profile Profile) (findings []Finding) {
	elements, level := ciiTypes()[kind], profile.level()
	counts := map[string]int{}
	reached := 0
	report := func(severity Severity, path, message, expected string) {
		findings = append(findings, Finding{Rule: Structure, Severity: severity, Message: message, XMLPath: path, Expected: expected})
	}
	positions := n.positions()
	for i, child := range n.children {
		path := at + "/" + positions[i]
		place := slices.IndexFunc(elements, func(e element) bool { return e.name == child.local() })
		if place < 0 || elements[place].most[level] < 0 {
			severity := Warning
			if level < EN16931.level() {
				severity = Error
			}
			report(severity, path, "The profile "+string(profile)+" does not have the element "+child.name+".", "")
			child.markRead()
			continue
		}
		e := elements[place]
		if place < reached {
			report(Error, path, "The element "+child.name+" is in the wrong place.", "before "+elements[reached].name)
		}
		reached = max(reached, place)
		if counts[e.name]++; counts[e.name] == e.most[level]+1 {
			report(Error, path, "The element "+child.name+" occurs too often.", "at most "+strconv.Itoa(e.most[level]))
		}
		if e.kind != "-" {
			findings = append(findings, child.structure(e.kind, path, profile)...)
		}
	}
	for _, e := range elements {
		if e.least[level] > counts[e.name] {
			report(Error, at, "The element "+e.name+" is missing.", "")
		}
	}
	return findings
}

// positions are the names of the children, with their number where several have the name.
func (n *node) positions() []string {
	counts, numbers := map[string]int{}, map[string]int{}
	for _, child := range n.children {
		counts[child.name]++
	}
	names := make([]string, len(n.children))
	for i, child := range n.children {
		names[i] = child.name
		if numbers[child.name]++; counts[child.name] > 1 {
			names[i] += "[" + strconv.Itoa(numbers[child.name]) + "]"
		}
	}
	return names
}

func (n *node) markRead() {
	n.read = true
	for i := range n.attrs {
		n.attrs[i].read = true
	}
	for _, child := range n.children {
		child.markRead()
	}
}

// unread reports the values of a document that the invoice does not have. An element of which nothing was read is one
// finding, with all that it holds.
func (n *node) unread(at string, d dialect) (findings []Finding) {
	report := func(path, actual string) {
		findings = append(findings, Finding{Rule: Structure, Severity: Warning, XMLPath: path, Actual: shortened(actual),
			Message: fmt.Sprintf("EN 16931 has no business term for this part of the %s, so it is not read.", strings.ToUpper(string(d.syntax())))})
	}
	switch {
	case n.hasText() && !n.read:
		report(at, n.text)
	case len(n.children) > 0 && !n.anyNode((*node).isRead) && n.anyNode((*node).hasText):
		report(at, "")
		return findings
	}
	for _, a := range n.attrs {
		if !a.read && !technical[a.name] {
			report(at+"/@"+a.name, a.value)
		}
	}
	positions := n.positions()
	for i, child := range n.children {
		findings = append(findings, child.unread(at+"/"+positions[i], d)...)
	}
	return findings
}

// anyNode reports whether an element, or one below it, has a property.
func (n *node) anyNode(property func(*node) bool) bool {
	return property(n) || slices.ContainsFunc(n.children, func(child *node) bool { return child.anyNode(property) })
}

// isRead reports whether the invoice has the text of an element, or an attribute.
func (n *node) isRead() bool {
	return n.read || slices.ContainsFunc(n.attrs, func(a attr) bool { return a.read })
}

func (n *node) hasText() bool { return len(n.children) == 0 && strings.TrimSpace(n.text) != "" }

// technical are attributes that say how a value is written.
var technical = map[string]bool{"format": true, "currencyID": true, "languageID": true, "listAgencyID": true, "schemeAgencyID": true, "schemaLocation": true}

// shortened returns the beginning of a value.
func shortened(text string) string {
	const most = 80
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// arrangeUBL puts the elements of UBL in order.
func (n *node) arrangeUBL() {
	if order := ublOrder()[n.local()]; order != nil {
		slices.SortStableFunc(n.children, func(a, b *node) int { return slices.Index(order, a.local()) - slices.Index(order, b.local()) })
	}
	for _, child := range n.children {
		child.arrangeUBL()
	}
}

// ublOrder is the order of elements in UBL, by the name of their parent. Each has the elements that invoices use.
var ublOrder = sync.OnceValue(func() map[string][]string {
	orders := map[string][]string{}
	for line := range strings.Lines(ublTable) {
		words := strings.Fields(line)
		for parent := range strings.SplitSeq(words[0], "|") {
			orders[parent] = words[1:]
		}
	}
	return orders
})

//go:embed ubl.txt
var ublTable string
