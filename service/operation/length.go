package operation

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/service/schema"
)

// pixelsPerInch is CSS's fixed ratio: a px is a 96th of an inch wherever paper
// is concerned.
const pixelsPerInch = 96

// Length is a distance on paper: a number of CSS pixels, the same as a bare
// numeric string, or a string with a unit ("8.5in", "2cm", "10mm", "12pt",
// "96px"). Its zero value means that none was given.
type Length struct{ raw any }

// JSONSchema returns the schema of a Length: a number or a string.
func (Length) JSONSchema() *jsonschema.Schema {
	long := uint64(maxLengthText)
	text := schema.SetPattern(&jsonschema.Schema{Type: "string", MaxLength: &long}, lengthSyntax)
	return schema.Named("Length", &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "number"}, text}})
}

// SetJSON stores the value unchanged; inches reports whether it is a length.
func (l *Length) SetJSON(v any) error {
	l.raw = v
	return nil
}

// MarshalJSON writes the original value.
func (l Length) MarshalJSON() ([]byte, error) { return json.Marshal(l.raw) }

// IsZero reports whether the length is unset.
func (l Length) IsZero() bool { return l.raw == nil }

// maxLengthText is more than any length needs, in characters.
const maxLengthText = 64

// lengthSyntax is the pattern of a length as text.
var lengthSyntax = `^\s*([+-]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9}))\s*(` +
	schema.AnyCase([]string{"px", "in", "cm", "mm", "pt"}) + `)?\s*$`

var lengthPattern = regexp.MustCompile(lengthSyntax)

var unitsPerInch = map[string]float64{"": pixelsPerInch, "px": pixelsPerInch, "in": 1, "cm": 2.54, "mm": 25.4, "pt": 72}

var errLength = errors.New(
	"must be a number of CSS pixels, or a number with the unit px, in, cm, mm or pt, such as 2.5cm",
)

// inches returns the length in inches, 0 where none was given.
func (l Length) inches() (float64, error) {
	switch v := l.raw.(type) {
	case nil:
		return 0, nil
	case int64:
		return float64(v) / pixelsPerInch, nil
	case float64:
		return v / pixelsPerInch, nil
	case string:
		part := lengthPattern.FindStringSubmatch(strings.ToLower(strings.TrimSpace(v)))
		if part == nil {
			return 0, fmt.Errorf("%w; got %.40q", errLength, v)
		}
		n, err := strconv.ParseFloat(part[1], 64)
		return n / unitsPerInch[part[2]], err
	}
	return 0, errLength
}

// check adds a validation error unless the length is absent or between low and high inches. It returns the length
// in inches, or otherwise if it is absent or wrong, so that rules about several lengths do not repeat the errors of
// one.
func (l Length) check(faults *schema.FieldErrors, field string, within bounds, otherwise float64) float64 {
	if l.IsZero() {
		return otherwise
	}

	n, err := l.inches()
	switch {
	case err != nil:
		faults.Add(field, "%s", err)
	case n < within.low || n > within.high:
		faults.Add(field, "must be between %s and %s; got %s", l.text(within.low), l.text(within.high), l.text(n))
	default:
		return n
	}
	return otherwise
}

// bounds are the minimum and the maximum length of a field, in inches.
type bounds struct{ low, high float64 }

// text formats a length in the unit that the client gave, with at most three decimals; absurd values in powers of
// ten.
func (l Length) text(n float64) string {
	const readable = 1_000_000
	unit := "px"
	if text, ok := l.raw.(string); ok {
		if part := lengthPattern.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text))); len(part) > 2 &&
			part[2] != "" {
			unit = part[2]
		}
	}

	n *= unitsPerInch[unit]
	if math.Abs(n) > readable {
		return strconv.FormatFloat(n, 'g', 4, 64) + unit
	}

	decimals := strings.TrimRight(strconv.FormatFloat(n, 'f', 3, 64), "0")
	return strings.TrimSuffix(decimals, ".") + unit
}
