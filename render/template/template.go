// Package template fills templates with data: it runs Handlebars.js with goja in the engine processes, with helpers
// for documents.
//
// Templates are untrusted. Handlebars' compiler turns a template into JavaScript in a realm that is created for it
// and dropped; the result is cached, as it has no state. It runs in realms that accounts never share, and that
// retain nothing of a finished document.
package template

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// The limits of one render.
const (
	maxSource = 10 << 20 // of a template, and of all its partials together, in bytes
	maxData   = 5 << 20  // of the data as JSON, in bytes
	maxOutput = 10 << 20 // of the document, in bytes
	// maxTime is the time limit of a render, without its compilation.
	maxTime = 2 * time.Second
	// maxCompile is the time limit of the compilation of a template and its partials.
	maxCompile = 10 * time.Second
	// maxDepth is the maximum nesting depth of partials.
	maxDepth = 100
	// maxItems is the maximum number of items of range and times.
	maxItems = 10_000
	// maxCalls is the maximum depth of JavaScript calls.
	maxCalls = 2000
	// maxHeap is the maximum memory of a process while it renders, in bytes.
	maxHeap = 640 << 20
	// maxFaults is the maximum number of faults that are reported at once.
	maxFaults = 100
	// maxMissing is the maximum number of missing paths that are reported at once.
	maxMissing = 500
)

// Template is a source to fill, with the partials that it may name.
type Template struct {
	HTML     string            `json:"html"`
	Partials map[string]string `json:"partials,omitempty"`
}

// Call is one render. Its zero values are the defaults.
type Call struct {
	Template

	// Data is a JSON object; empty means {}.
	Data json.RawMessage `json:"data,omitempty"`
	// Strict makes every path that the data is missing a fault.
	Strict bool `json:"strict,omitempty"`
	// Locale is a BCP 47 tag, Zone a name of the IANA's.
	Locale string `json:"locale,omitempty"`
	Zone   string `json:"zone,omitempty"`
}

// Fault is one error that the author of a template can fix.
type Fault struct {
	Message string `json:"message"`
	// Line and Column are counted from 1; 0 is unknown. Columns are UTF-16 units.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Partial is the name of the partial that holds the fault; empty is the
	// template itself.
	Partial string `json:"partial,omitempty"`
	// Absent marks a partial that there is not, Ring the names of partials that
	// show one another without end.
	Absent bool   `json:"absent,omitempty"`
	Ring   string `json:"ring,omitempty"`
}

// Where returns the position of the fault.
func (f Fault) Where() string {
	var at []string
	if f.Partial != "" {
		at = append(at, fmt.Sprintf("partial %q", f.Partial))
	}
	if f.Line > 0 {
		at = append(at, fmt.Sprintf("line %d, column %d", f.Line, f.Column))
	}
	return strings.Join(at, ", ")
}

func (f Fault) String() string {
	if at := f.Where(); at != "" {
		return at + ": " + f.Message
	}
	return f.Message
}

// Error lists the faults of a template.
type Error struct{ Faults []Fault }

func (e *Error) Error() string {
	text := e.Faults[0].String()
	if more := len(e.Faults) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// Missing is a path that is missing in the data, with the place in the template that uses it.
type Missing struct {
	Path string `json:"path"` // such as items[2].name
	Fault
}

// MissingError lists the paths that strict found missing.
type MissingError struct{ Paths []Missing }

func (e *MissingError) Error() string {
	names := make([]string, 0, len(e.Paths))
	for _, path := range e.Paths {
		names = append(names, path.Path)
	}
	return "the data is missing " + strings.Join(names, ", ")
}

// LimitError names the limit that a render reached.
type LimitError struct{ Message string }

func (e *LimitError) Error() string { return e.Message }
