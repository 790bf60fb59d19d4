package template

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// special are the characters that Handlebars escapes.
const special = "&<>\"'`="

var entities = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;", "`", "&#x60;", "=", "&#x3D;")

// escape is Handlebars.escapeExpression of a string.
func (r *renders) escape(call goja.FunctionCall) goja.Value {
	v := call.Argument(0)
	text := v.String()
	if !strings.ContainsAny(text, special) {
		return v
	}

	s, ok := v.(goja.String)
	if !ok || !strings.ContainsRune(text, utf8.RuneError) {
		return r.vm.ToValue(entities.Replace(text))
	}

	// A lone surrogate, which UTF-8 cannot encode, passes unchanged.
	units := make([]uint16, 0, s.Length()+len(special))
	for i := range s.Length() {
		if unit := s.CharAt(i); unit < utf8.RuneSelf {
			units = append(units, utf16.Encode([]rune(entities.Replace(string(rune(unit)))))...)
		} else {
			units = append(units, unit)
		}
	}
	return goja.StringFromUTF16(units)
}
