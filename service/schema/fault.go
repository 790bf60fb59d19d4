package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/relaypdf/relaypdf/api/wire"
)

// FieldError is one validation error of one field of an input.
type FieldError struct {
	// Field is the path from the input's root: "options.scale",
	// "files[2].url"; empty for the input as a whole.
	Field string `json:"field"`
	// Message continues the field's name: "must be between 0.1 and 2; got 9".
	Message string `json:"message"`

	// sentence stands for field and message in the text of the error, without its full stop. Empty: field and message.
	sentence string
	// more counts the faults that are not listed, in the one behind the last that is.
	more int
}

// Inside returns the error of a field that is a part of another one. The path of that one ends with a point.
func (f FieldError) Inside(path string) FieldError {
	f.Field = strings.TrimSuffix(path+f.Field, ".")
	f.Message = strings.Replace(f.Message, suggestion, suggestion+path, 1)
	return f
}

// FieldErrors is the error of an invalid input: its validation errors, up to 100. One more has the number of the others.
type FieldErrors []FieldError

const (
	// maxFaults bounds the list, and so the work and the response that an input can cause by being wrong.
	maxFaults = 100
	// maxField and maxMessage limit a validation error in bytes: names come from the input.
	maxField, maxMessage = 200, 2000
)

// Add appends a validation error, or only counts it if the list is full.
func (f *FieldErrors) Add(field, format string, args ...any) {
	f.add(FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
}

// AddSentence is Add for an error about more than one field. The text of the error has the sentence, which has no full
// stop, instead of the field and the message.
func (f *FieldErrors) AddSentence(sentence, field, message string) {
	f.add(FieldError{Field: field, Message: message, sentence: sentence})
}

// AddAll appends validation errors.
func (f *FieldErrors) AddAll(more ...FieldError) {
	for _, fault := range more {
		f.add(fault)
	}
}

func (f *FieldErrors) add(fault FieldError) {
	if !f.full() {
		fault.Field = shorten(fault.Field, maxField)
		fault.Message = shorten(fault.Message, maxMessage)
		fault.sentence = shorten(fault.sentence, maxMessage)
		*f = append(*f, fault)
		return
	}

	if len(*f) == maxFaults {
		*f = append(*f, FieldError{})
	}
	rest := &(*f)[len(*f)-1]
	rest.more++
	rest.Message = "has " + strconv.Itoa(rest.more) + " more validation errors after the first " +
		strconv.Itoa(maxFaults)
}

// markIncomplete notes that the reading ended before all faults were counted.
func (f *FieldErrors) markIncomplete() {
	last := &(*f)[len(*f)-1]
	last.Message = strings.Replace(last.Message, "has ", "has at least ", min(last.more, 1))
}

// full reports whether further faults are counted only.
func (f *FieldErrors) full() bool { return len(*f) >= maxFaults }

// OrNil returns the validation errors as an error, or nil if there are none.
func (f FieldErrors) OrNil() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// shorten cuts a text that is too long, at a whole character.
func shorten(text string, maximum int) string {
	if len(text) <= maximum {
		return text
	}
	for maximum > 0 && !utf8.RuneStart(text[maximum]) {
		maximum--
	}
	return text[:maximum] + "…"
}

// sort orders the faults by their fields.
func (f FieldErrors) sort() {
	slices.SortStableFunc(f[:min(len(f), maxFaults)], func(a, b FieldError) int { return strings.Compare(a.Field, b.Field) })
}

// has reports whether the field, a part of it or the field around it already has an error.
func (f FieldErrors) has(field string) bool {
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
func (f FieldErrors) rest() int {
	rest := len(f) - shown
	if last := f[len(f)-1]; last.more > 0 {
		rest += last.more - 1
	}
	return rest
}

// Error joins the first faults into sentences.
func (f FieldErrors) Error() string {
	var b strings.Builder
	for i, fault := range f {
		if i == shown {
			fmt.Fprintf(&b, " (and %d more)", f.rest())
			break
		}

		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(cmp.Or(fault.sentence, cmp.Or(fault.Field, "The request body")+" "+fault.Message))
		if !strings.HasSuffix(fault.Message, "?") {
			b.WriteByte('.')
		}
	}
	return b.String()
}

// APIError returns the errors as the API reports them.
func (f FieldErrors) APIError() *wire.Error {
	e := &wire.Error{Code: wire.InvalidRequest, Message: f.Error()}
	for _, found := range f {
		e.Details = append(e.Details, wire.Detail{Field: found.Field, Message: found.Message})
	}
	return e
}
