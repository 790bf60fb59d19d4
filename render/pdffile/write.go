package pdffile

import (
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// appendValue writes a value in PDF syntax.
func appendValue(out []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(out, v)
	case int:
		return strconv.AppendInt(out, int64(v), 10)
	case float64:
		return strconv.AppendFloat(out, v, 'f', -1, 64)
	case string:
		return appendText(out, v)
	case []any:
		out = append(out, '[')
		for _, item := range v {
			out = append(appendValue(out, item), ' ')
		}
		return append(out, ']')
	case Dict:
		out = append(out, "<<"...)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(appendName(out, key), ' ')
			out = append(appendValue(out, v[key]), ' ')
		}
		return append(out, ">>"...)
	case Stream:
		entries := maps.Clone(v.Entries)
		entries["/Length"] = len(v.Content)
		out = append(appendValue(out, entries), "\nstream\n"...)
		return append(append(out, v.Content...), "\nendstream"...)
	}

	return append(out, "null"...)
}

// appendText writes a name, a reference or a string.
func appendText(out []byte, text string) []byte {
	unicode, isText := strings.CutPrefix(text, "u:")
	digits, isBytes := strings.CutPrefix(text, "b:")

	switch {
	case strings.HasPrefix(text, "/"):
		return appendName(out, text)
	case isText:
		out = append(out, "<feff"...)
		for _, unit := range utf16.Encode([]rune(unicode)) {
			out = hex.AppendEncode(out, []byte{byte(unit >> 8), byte(unit)})
		}
		return append(out, '>')
	case isBytes:
		return append(append(append(out, '<'), digits...), '>')
	}

	return append(out, text...)
}

func appendName(out []byte, name string) []byte {
	out = append(out, '/')
	for _, c := range []byte(name[1:]) {
		if c < '!' || c > '~' || c == '#' || !isRegular(c) {
			out = hex.AppendEncode(append(out, '#'), []byte{c})
			continue
		}
		out = append(out, c)
	}
	return out
}
