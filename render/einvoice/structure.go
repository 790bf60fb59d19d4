package einvoice

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Structure is the rule of findings that no business rule has: an element that the profile does not know, or that is
// in the wrong place, too often there, or missing.
const Structure = "XSD"

//go:embed schema.txt
var schemaTable string

// schemaType is a type of an XML schema: its elements in order, or the form of its text.
type schemaType struct {
	elements []element
	// needsOne means that at least one of the elements is there.
	needsOne   bool
	form       string
	attributes map[string]schemaAttribute
}

// schemaAttribute is an attribute of a type. A fixed one has that value only.
type schemaAttribute struct {
	required bool
	fixed    string
}

// element is a child of a type.
type element struct {
	name, kind           string
	minOccurs, maxOccurs int
}

const unbounded = 1 << 30

// schema is the structure of a syntax or a profile: its types by name, and the types of its roots.
type schema struct {
	types map[string]*schemaType
	roots map[string]string
}

// documentSchemas are those of schema.txt.
var documentSchemas = sync.OnceValue(func() map[string]*schema {
	all := map[string]*schema{}
	var current *schema
	for line := range strings.Lines(schemaTable) {
		words := strings.Fields(line)
		switch words[0] {
		case "#":
		case "schema":
			current = &schema{types: map[string]*schemaType{}, roots: map[string]string{}}
			all[words[1]] = current
		case "root":
			current.roots[words[1]] = words[2]
		default:
			current.types[words[0]] = newSchemaType(words[1:])
		}
	}
	return all
})

func newSchemaType(words []string) *schemaType {
	t := &schemaType{attributes: map[string]schemaAttribute{}}
	for _, word := range words {
		switch word[0] {
		case '!':
			t.needsOne = true
		case '=':
			t.form = word[1:]
		case '@':
			name, fixed, _ := strings.Cut(word[1:], "=")
			t.attributes[strings.TrimSuffix(name, "!")] = schemaAttribute{
				strings.HasSuffix(name, "!"), strings.ReplaceAll(fixed, "_", " "),
			}
		default:
			parts := strings.Split(word, ":")
			t.elements = append(t.elements,
				element{parts[0], parts[1], occurrence(parts[2][0]), occurrence(parts[2][1])})
		}
	}

	return t
}

func occurrence(c byte) int {
	if c == 'n' {
		return unbounded
	}
	return int(c - '0')
}

// schemaFor is the schema that a document must follow.
func schemaFor(syntax Syntax, profile Profile) *schema {
	switch {
	case syntax == UBL:
		return documentSchemas()["ubl"]
	case profile == EN16931 || profile == XRechnung:
		return documentSchemas()["cii"]
	}
	return documentSchemas()[string(profile)]
}

// schemaOf is the schema whose elements a written document has.
func schemaOf(syntax Syntax, profile Profile) *schema {
	if syntax == CII && (profile == EN16931 || profile == XRechnung) {
		return documentSchemas()[string(EN16931)]
	}
	return schemaFor(syntax, profile)
}

// arrange puts the elements of a type in order, and removes those that the schema does not have.
func (s *schema) arrange(n *node, kind string) {
	t := s.types[kind]
	if t == nil || t.form != "" && t.form != "-" {
		return
	}
	place := func(child *node) int {
		return slices.IndexFunc(t.elements, func(e element) bool { return e.name == child.local() })
	}
	n.children = slices.DeleteFunc(n.children, func(child *node) bool { return place(child) < 0 })
	slices.SortStableFunc(n.children, func(a, b *node) int { return place(a) - place(b) })
	for _, child := range n.children {
		s.arrange(child, t.elements[place(child)].kind)
	}
}

// structure checks an element and all below it by the schema.
func (s *schema) structure(n *node, kind, at string) (findings []Finding) { //nolint:gocyclo // one rule of a schema after the other
	about := n
	report := func(path, message, expected string) {
		findings = append(findings,
			Finding{Rule: Structure, Severity: Error, Message: message, XMLPath: path, Expected: expected, at: about})
	}
	t := s.types[kind]
	if t == nil { // a type that is not looked into
		return nil
	}

	for _, a := range n.attrs {
		switch known, ok := t.attributes[a.name]; {
		case !ok:
			report(at+"/@"+a.name, "The element "+n.name+" does not have the attribute "+a.name+".", "")
		case known.fixed != "" && a.value != known.fixed:
			report(at+"/@"+a.name, "The attribute "+a.name+" has the wrong value.", known.fixed)
		}
	}
	for name, attribute := range t.attributes {
		if _, has := n.attr(name); attribute.required && !has {
			report(at, "The element "+n.name+" must have the attribute "+name+".", "")
		}
	}
	if t.form != "" {
		if message := wrongForm(t.form, n); message != "" {
			report(at, message, "")
			findings[len(findings)-1].Actual = shortened(n.text)
		}
		return findings
	}

	counts := map[string]int{}
	reached := 0
	positions := n.positions()
	if len(n.children) == 0 && t.needsOne {
		report(at, "The element "+n.name+" is empty.", "")
	}
	if strings.TrimSpace(n.text) != "" {
		report(at, "The element "+n.name+" must have elements instead of text.", "")
	}

	for i, child := range n.children {
		about = child
		path := at + "/" + positions[i]
		place := slices.IndexFunc(t.elements, func(e element) bool { return e.name == child.local() })
		if place < 0 || !strings.Contains(child.name, ":") {
			report(path, "The element "+n.name+" does not have the element "+child.name+" here.", "")
			child.markRead()
			continue
		}

		e := t.elements[place]
		if place < reached {
			report(path, "The element "+child.name+" is in the wrong place.", "before "+t.elements[reached].name)
		}
		reached = max(reached, place)

		if counts[e.name]++; counts[e.name] == e.maxOccurs+1 {
			report(path, "The element "+child.name+" occurs too often.", "at most "+strconv.Itoa(e.maxOccurs))
		}
		findings = append(findings, s.structure(child, e.kind, path)...)
	}

	about = n
	for _, e := range t.elements {
		if e.minOccurs > counts[e.name] {
			report(at, "The element "+e.name+" is missing.", "")
			findings[len(findings)-1].missing = e.name
		}
	}
	return findings
}

var (
	decimalForm = regexp.MustCompile(`^[+-]?(\d+(\.\d*)?|\.\d+)$`)
	dateForm    = regexp.MustCompile(`^\d{4,}-\d{2}-\d{2}(Z|[+-]\d{2}:\d{2})?$`)
	timeForm    = regexp.MustCompile(`^\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})?$`)
)

// wrongForm returns a message if the text of an element does not have the form of its type.
func wrongForm(form string, n *node) string {
	if len(n.children) > 0 {
		return "The element " + n.name + " must have text instead of elements."
	}

	text := strings.TrimSpace(n.text)
	form, values, enumerated := strings.Cut(form, "|")
	day, rest, _ := strings.Cut(text, "T")
	holds := true
	what := ""

	switch form {
	case "-":
		holds = text == ""
		what = "empty"
	case "d":
		holds = decimalForm.MatchString(text)
		what = "a decimal number"
	case "b":
		holds = slices.Contains([]string{"true", "false", "1", "0"}, text)
		what = "true or false"
	case "D":
		holds = dateForm.MatchString(text) && (text[4] != '-' || Date(text[:len(time.DateOnly)]).valid())
		what = "a date, YYYY-MM-DD"
	case "T":
		holds = timeForm.MatchString(text)
		what = "a time"
	case "DT":
		holds = dateForm.MatchString(day) && timeForm.MatchString(rest)
		what = "a date and time"
	case "64":
		_, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
		holds = err == nil
		what = "Base64"
	}

	if holds && enumerated {
		holds = slices.Contains(strings.Split(values, "|"), text)
		what = "one of " + strings.ReplaceAll(values, "|", ", ")
	}
	if holds {
		return ""
	}
	return "The element " + n.name + " must be " + what + "."
}

// positions are the names of the children, with their number where several have the name.
func (n *node) positions() []string {
	counts := map[string]int{}
	numbers := map[string]int{}
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
		findings = append(findings, Finding{
			Rule: Structure, Severity: Warning, XMLPath: path, Actual: shortened(actual), Unread: true,
			Message: fmt.Sprintf("EN 16931 has no business term for this part of the %s, so it is not read.",
				strings.ToUpper(string(d.syntax()))),
		})
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
var technical = map[string]bool{
	"format": true, "currencyID": true, "languageID": true, "listAgencyID": true, "schemeAgencyID": true,
	"schemaLocation": true,
}

// shortened returns the beginning of a value.
func shortened(text string) string {
	const maxOccurs = 80
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxOccurs {
		return string(runes[:maxOccurs]) + "…"
	}
	return text
}
