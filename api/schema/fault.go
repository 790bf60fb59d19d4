package schema

import (
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
	// Message continues the field's name: "must be between 0.1 and 2; got 9".
	Message string `json:"message"`

	// more counts the faults that are not listed, in the one behind the last that is.
	more int
}

// Faults is the error of an invalid input: its validation errors, up to 100. One more has the number of the others.
type Faults []Fault

const (
	// maxFaults bounds the list, and so the work and the response that an input can cause by being wrong.
	maxFaults = 100
	// maxField and maxMessage limit a validation error in bytes: names come from the input.
	maxField, maxMessage = 200, 2000
)

// Add appends a validation error, or only counts it if the list is full.
func (f *Faults) Add(field, format string, args ...any) {
	if !f.full() {
		*f = append(*f, Fault{Field: shorten(field, maxField), Message: shorten(fmt.Sprintf(format, args...), maxMessage)})
		return
	}
	if len(*f) == maxFaults {
		*f = append(*f, Fault{})
	}
	rest := &(*f)[len(*f)-1]
	rest.more++
	rest.Message = "has " + strconv.Itoa(rest.more) + " more validation errors than these " + strconv.Itoa(maxFaults)
}

// atLeast notes that the reading ended before all faults were counted.
func (f *Faults) atLeast() {
	last := &(*f)[len(*f)-1]
	last.Message = strings.Replace(last.Message, "has ", "has at least ", min(last.more, 1))
}

// full reports whether further faults are counted only.
func (f *Faults) full() bool { return len(*f) >= maxFaults }

// OrNil returns the faults as an error, which is nil if there are none.
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

// has reports whether the field, a part of it or the field around it already has an error.
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

// shown is the maximum number of validation errors in the text of Error. The list itself has them all.
const shown = 3

// rest counts the faults that Error does not spell out.
func (f Faults) rest() int {
	rest := len(f) - shown
	if last := f[len(f)-1]; last.more > 0 {
		rest += last.more - 1
	}
	return rest
}

// Error joins the first faults into sentences.
func (f Faults) Error() string {
	var b strings.Builder
	for i, fault := range f {
		if i == shown {
			fmt.Fprintf(&b, " (and %d more)", f.rest())
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
