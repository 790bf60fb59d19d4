package einvoice

import (
	"reflect"
	"strconv"
	"strings"
)

// Severity is the weight of a finding.
type Severity string

// An invoice with an error is invalid. A warning is a recommendation that the invoice does not follow.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Finding is a broken rule.
type Finding struct {
	// Rule is the ID of the rule, such as BR-CO-10, or Structure.
	Rule     string
	Severity Severity
	Message  string
	// JSONPath is the place in the JSON of Invoice, such as lines[2].taxRate. XMLPath is an XPath in the document.
	// Either can be empty.
	JSONPath, XMLPath string
	// Expected and Actual are values, where the rule computes one.
	Expected, Actual string
	// Unread means that the finding is about a part of the XML that Invoice does not have.
	Unread bool

	// at is the element of a finding about the structure, and missing the name of an element that is not below it.
	at      *node
	missing string
}

// indexed is the place of an item of a list.
func indexed(list string, index int) string { return list + "[" + strconv.Itoa(index) + "]" }

// xmlPath returns the XPath of a place in the JSON. A place that the syntax does not have has that of its parent.
func (d dialect) xmlPath(jsonPath string) string {
	at := d.rootPath()
	t := reflect.TypeFor[Invoice]()

	for part := range strings.SplitSeq(jsonPath, ".") {
		name, index, isItem := strings.Cut(strings.TrimSuffix(part, "]"), "[")
		b := d.field(t, name)
		if b == nil || len(b.paths) == 0 {
			return at
		}

		at += b.paths[0].String()
		if number, err := strconv.Atoi(index); isItem && err == nil {
			at += "[" + strconv.Itoa(number+1) + "]"
		}
		if b.kind == leaf {
			return at
		}
		t = t.Field(b.index).Type.Elem()
	}
	return at
}

// rootPath is the XPath of the root. Those of UBL have their namespace by default.
func (d dialect) rootPath() string {
	if d == crossIndustry {
		return "/" + rootNames[d]
	}
	_, name, _ := strings.Cut(rootNames[d], ":")
	return "/" + name
}

func (d dialect) field(t reflect.Type, json string) *binding {
	fields := d.bindings(t)
	for i := range fields {
		if fields[i].json == json {
			return &fields[i]
		}
	}
	return nil
}

// String writes a path as XPath.
func (p path) String() string {
	var out strings.Builder
	for _, s := range p {
		out.WriteByte('/')
		if s.attribute {
			out.WriteByte('@')
		}
		out.WriteString(s.name)

		for _, c := range s.conditions {
			at := strings.TrimPrefix(c.path.String(), "/")
			switch {
			case c.kind == unequal && c.otherwise == "":
				out.WriteString("[not(" + at + "='" + c.value + "')]")
			case c.kind == unequal:
				out.WriteString("[" + at + "!='" + c.value + "']")
			case c.kind == equal && c.value[0] != '$':
				out.WriteString("[" + at + "='" + c.value + "']")
			}
		}
	}

	return out.String()
}
