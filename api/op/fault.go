package op

import (
	"fmt"
	"strings"
)

// Fault is one thing wrong with one field of an input.
type Fault struct {
	// Field is the path from the input's root: "options.scale",
	// "files[2].url"; empty for the input as a whole.
	Field string `json:"field"`
	// Message goes on from the field's name: "must be between 0.1 and 2; got 9".
	Message string `json:"message"`
}

// Faults is the error of an invalid input: all that is wrong with it.
type Faults []Fault

// Add appends a fault.
func (f *Faults) Add(field, format string, args ...any) {
	*f = append(*f, Fault{Field: field, Message: fmt.Sprintf(format, args...)})
}

// has tells whether the field, something in it or the field around it is faulted already.
func (f Faults) has(field string) bool {
	for _, fault := range f {
		if fault.Field == field || within(fault.Field, field) || within(field, fault.Field) {
			return true
		}
	}
	return false
}

func within(inner, outer string) bool {
	rest, ok := strings.CutPrefix(inner, outer)
	return ok && outer != "" && rest != "" && (rest[0] == '.' || rest[0] == '[')
}

// shown is how many faults Error spells out; the list itself has them all.
const shown = 3

// Error joins the first faults into sentences.
func (f Faults) Error() string {
	var b strings.Builder
	for i, fault := range f {
		if i == shown {
			fmt.Fprintf(&b, " (and %d more)", len(f)-shown)
			break
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		field := fault.Field
		if field == "" {
			field = "The request body"
		}
		b.WriteString(field + " " + fault.Message)
		if !strings.HasSuffix(fault.Message, "?") {
			b.WriteByte('.')
		}
	}
	return b.String()
}
