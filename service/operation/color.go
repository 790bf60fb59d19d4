package operation

import (
	"encoding/hex"
	"image/color"
	"maps"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	"golang.org/x/image/colornames"

	"github.com/relaypdf/relaypdf/service/schema"
)

// Color is a CSS colour, in hexadecimal or by name. The empty one is absent.
type Color string

// maxColor is more than any colour needs, in characters.
const maxColor = 30

// JSONSchema returns the schema of a Color.
func (Color) JSONSchema() *jsonschema.Schema {
	names := append(slices.Sorted(maps.Keys(colornames.Map)), "rebeccapurple", "transparent")
	hexadecimal := `#([0-9A-Fa-f]{3,4}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})`
	doc := &jsonschema.Schema{Type: "string", MaxLength: new(uint64(maxColor))}
	return schema.Named("Color", schema.SetPattern(doc, "^("+hexadecimal+"|"+schema.AnyCase(names)+")$"))
}

// checkColor adds an error for a text that is given and is not a CSS colour, in hexadecimal or by name.
func checkColor(faults *schema.FieldErrors, field string, text Color) {
	if text != "" && parseColor(text) == nil {
		faults.Add(field, "must be a CSS colour such as #c00, #cc0000 or crimson; got %.30q", text)
	}
}

// parseColor reads a CSS colour; nil means that it is invalid.
func parseColor(text Color) *color.NRGBA {
	switch name := strings.ToLower(string(text)); name {
	case "transparent":
		return &color.NRGBA{}
	case "rebeccapurple":
		return &color.NRGBA{R: 0x66, G: 0x33, B: 0x99, A: 255}
	default:
		if named, ok := colornames.Map[name]; ok {
			return &color.NRGBA{R: named.R, G: named.G, B: named.B, A: named.A}
		}
	}

	digits, ok := strings.CutPrefix(string(text), "#")
	if len(digits) == 3 || len(digits) == 4 {
		var long strings.Builder
		for _, digit := range digits {
			long.WriteString(strings.Repeat(string(digit), 2))
		}
		digits = long.String()
	}

	v, err := hex.DecodeString(digits)
	switch {
	case !ok || err != nil:
		return nil
	case len(v) == 3:
		return &color.NRGBA{R: v[0], G: v[1], B: v[2], A: 255}
	case len(v) == 4:
		return &color.NRGBA{R: v[0], G: v[1], B: v[2], A: v[3]}
	}
	return nil
}
