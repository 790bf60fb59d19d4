package op

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Fault is one thing wrong with one field of an input.
type Fault struct {
	// Field is the path from the input's root: "options.scale",
	// "files[2].url"; empty for the input as a whole.
	Field string `json:"field"`
	// Message goes on from the field's name: "must be between 0.1 and 2; got 9".
	Message string `json:"message"`
}

// Faults is the error of an invalid input: what is wrong with it, up to a
// hundred faults. One more says that there are others.
type Faults []Fault

const (
	// maxFaults bounds the list, and so the work and the answer that an input
	// can cause by being wrong.
	maxFaults = 100
	// maxField and maxMessage bound a fault in bytes: names come from the input.
	maxField, maxMessage = 200, 2000
)

// errEnough ends the reading of an input with more faults than are listed.
var errEnough = errors.New("more faults than are listed")

// Add appends a fault, and reports whether another one is of use.
func (f *Faults) Add(field, format string, args ...any) bool {
	switch {
	case len(*f) > maxFaults:
		return false
	case len(*f) == maxFaults:
		*f = append(*f, Fault{Message: fmt.Sprintf("has more faults than these %d", maxFaults)})
		return false
	}
	*f = append(*f, Fault{Field: shorten(field, maxField), Message: shorten(fmt.Sprintf(format, args...), maxMessage)})
	return true
}

// OrNil returns the faults as an error, which is nil where there are none.
func (f Faults) OrNil() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// shorten cuts a text that is too long, at a whole character.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// sort orders the faults by their fields.
func (f Faults) sort() {
	slices.SortStableFunc(f[:min(len(f), maxFaults)], func(a, b Fault) int { return strings.Compare(a.Field, b.Field) })
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

// rest counts the faults that Error does not spell out.
func (f Faults) rest() string {
	if len(f) > maxFaults {
		return fmt.Sprintf("more than %d", maxFaults-shown)
	}
	return strconv.Itoa(len(f) - shown)
}

// Error joins the first faults into sentences.
func (f Faults) Error() string {
	var b strings.Builder
	for i, fault := range f {
		if i == shown {
			fmt.Fprintf(&b, " (and %s more)", f.rest())
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
