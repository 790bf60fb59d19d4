package form

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxValue is the maximum size of a value in bytes.
const maxValue = 64 << 10

// match converts a value to the field's type, or returns the reason why this is impossible.
func (f *Field) match(value any) (entry, string) {
	switch f.Type {
	case textField:
		return f.matchText(value)
	case checkboxField:
		return f.matchCheckbox(value)
	case radioField:
		return f.matchOption(value, "Off")
	case choiceField:
		return f.matchOption(value, "")
	case listField:
		return f.matchList(value)
	case signatureField:
		return entry{}, "is a signature, which cannot be filled"
	}
	return entry{}, "is a button, which has no value"
}

// plainText returns the text of a scalar.
func plainText(value any) (text string, ok bool) {
	switch v := value.(type) {
	case nil:
		return "", true
	case string:
		return strings.ReplaceAll(strings.ReplaceAll(v, "\r\n", "\n"), "\r", "\n"), true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

func (f *Field) matchText(value any) (entry, string) {
	text, ok := plainText(value)
	switch {
	case !ok:
		return entry{}, "must be text"
	case len(text) > maxValue:
		return entry{}, fmt.Sprintf("must be at most %d bytes", maxValue)
	case f.MaxLength != nil && utf8.RuneCountInString(text) > *f.MaxLength:
		return entry{}, fmt.Sprintf("must be at most %d characters; got %d", *f.MaxLength, utf8.RuneCountInString(text))
	case !f.Multiline && strings.Contains(text, "\n"):
		return entry{}, "must be a single line"
	case strings.ContainsFunc(text, isControl):
		return entry{}, "must not contain control characters"
	}

	return entry{name: f.Name, values: []string{text}, appearanceText: text}, ""
}

// isControl reports whether XML cannot contain a character.
func isControl(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r == 0xfffe || r == 0xffff
}

func (f *Field) matchCheckbox(value any) (entry, string) {
	text, _ := plainText(value)
	on := ""
	if len(f.Options) > 0 {
		on = f.Options[0]
	}

	e := entry{name: f.Name}
	switch {
	case value == true || text == "true" || (text != "" && text == on):
		if on == "" {
			return entry{}, "has no checked state"
		}
		e.values = []string{on}
	case value == nil || value == false || text == "false" || text == "Off":
		e.values = []string{"Off"}
	default:
		return entry{}, fmt.Sprintf("must be true, false or %s; got %s", list(f.Options), got(value))
	}

	return e, ""
}

// matchOption matches one of the options. none is the value that clears.
func (f *Field) matchOption(value any, none string) (entry, string) {
	text, ok := plainText(value)
	if value == nil || (ok && text == none) {
		return entry{name: f.Name, values: []string{none}}, ""
	}

	option, label, known := f.option(text)
	switch {
	case ok && known && f.Type == radioField:
		return entry{name: f.Name, values: []string{option}}, ""
	case ok && known:
		return entry{name: f.Name, values: []string{option}, appearanceText: label}, ""
	case ok && f.Editable && !strings.ContainsFunc(text, isControl) && !strings.Contains(text, "\n") &&
		len(text) <= maxValue:
		return entry{name: f.Name, values: []string{text}, appearanceText: text}, ""
	}

	return entry{}, fmt.Sprintf("must be one of %s; got %s", list(f.Options), got(value))
}

// option finds an option by its value or else its label.
func (f *Field) option(text string) (value, label string, known bool) {
	i := slices.Index(f.Options, text)
	if i < 0 {
		i = slices.Index(f.Labels, text)
	}
	if i < 0 {
		return "", "", false
	}

	value = f.Options[i]
	label = f.Options[i]
	if i < len(f.Labels) {
		label = f.Labels[i]
	}

	return value, label, true
}

func (f *Field) matchList(value any) (entry, string) {
	chosen := []any{value}
	if several, ok := value.([]any); ok {
		chosen = several
	} else if several, ok := value.([]string); ok {
		chosen = chosen[:0]
		for _, v := range several {
			chosen = append(chosen, v)
		}
	} else if value == nil || value == "" {
		chosen = nil
	}

	if len(chosen) > 1 && !f.Multiple {
		return entry{}, "must be exactly one of its options"
	}

	// All options are shown, whichever are chosen.
	e := entry{name: f.Name, appearanceText: strings.Join(append(slices.Clone(f.Options), f.Labels...), " ")}
	for _, v := range chosen {
		text, ok := plainText(v)
		option, _, known := f.option(text)
		if !ok || v == nil || !known {
			return entry{}, fmt.Sprintf("must be one or more of %s; got %s", list(f.Options), got(v))
		}
		e.values = append(e.values, option)
	}

	if len(e.values) == 0 {
		e.values = []string{""}
	}
	return e, ""
}

// got writes a value for a message.
func got(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "something else"
	}
	const longest = 100
	if len(text) > longest {
		return strings.ToValidUTF8(string(text[:longest]), "") + "…"
	}
	return string(text)
}

// xfdf writes values in the format that pdftk reads.
func xfdf(entries []entry) []byte {
	var b bytes.Buffer
	b.WriteString(xml.Header + `<xfdf xmlns="http://ns.adobe.com/xfdf/" xml:space="preserve"><fields>`)
	for _, e := range entries {
		b.WriteString(`<field name="` + escape(e.name) + `">`)
		for _, value := range e.values {
			b.WriteString("<value>" + escape(value) + "</value>")
		}
		b.WriteString("</field>\n")
	}
	b.WriteString("</fields></xfdf>\n")
	return b.Bytes()
}

// escape writes text as XML. A buffer takes whatever is written to it.
func escape(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text))
	return b.String()
}
