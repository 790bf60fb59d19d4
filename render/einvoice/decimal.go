package einvoice

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/cockroachdb/apd/v3"
	"github.com/invopop/jsonschema"
)

// Decimal is an exact decimal number. It remembers its digits: 1.50 stays 1.50. In JSON it is a number, or a string
// that is one.
type Decimal struct{ value apd.Decimal }

// errDecimal means that a text is not a decimal number without exponent and with at most 18 digits on each side of
// the point.
var errDecimal = errors.New("not a decimal number")

// maxDecimal is the maximum length of a number: its digits, sign and point.
const maxDecimal = 38

const decimalSyntax = `^[+-]?(\d{1,18}(\.\d{0,18})?|\.\d{1,18})$`

var decimalPattern = regexp.MustCompile(decimalSyntax)

// parseDecimal reads a number such as -12.50. It returns errDecimal for anything else.
func parseDecimal(text string) (Decimal, error) {
	var d Decimal
	if !decimalPattern.MatchString(text) {
		return d, fmt.Errorf("%w: %.40q", errDecimal, text)
	}
	if _, _, err := d.value.SetString(text); err != nil {
		return d, fmt.Errorf("%w: %.40q", errDecimal, text)
	}
	return d, nil
}

// JSONSchema describes the JSON of a number.
func (Decimal) JSONSchema() *jsonschema.Schema {
	longest := uint64(maxDecimal)
	text := &jsonschema.Schema{Type: "string", MaxLength: &longest, Pattern: `^[+-]?[0-9.]+$`}
	// The API publishes these extensions as a pattern and as the name of the type.
	text.Extras = map[string]any{"x-pattern": decimalSyntax}
	return &jsonschema.Schema{
		OneOf: []*jsonschema.Schema{{Type: "number"}, text}, Extras: map[string]any{"x-type": "InvoiceDecimal"},
	}
}

// String writes the number without exponent.
func (d Decimal) String() string { return d.value.Text('f') }

// MarshalJSON writes the number with its digits.
func (d Decimal) MarshalJSON() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalJSON reads a number or a string that is one.
func (d *Decimal) UnmarshalJSON(text []byte) error {
	parsed, err := parseDecimal(strings.Trim(string(text), `"`))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// arithmetic holds sums and products of numbers that parseDecimal accepts without loss. Halves are rounded up in
// size, as on invoices.
var arithmetic = apd.Context{Precision: 100, MaxExponent: 1000, MinExponent: -1000, Rounding: apd.RoundHalfUp}

var (
	zero    = Decimal{}
	percent = Decimal{value: *apd.New(1, -2)}
)

// The arithmetic cannot fail: 100 digits hold each sum of a document's lines and each product of two numbers.

func (d Decimal) plus(other Decimal) (sum Decimal) {
	_, _ = arithmetic.Add(&sum.value, &d.value, &other.value)
	return sum
}

func (d Decimal) minus(other Decimal) (difference Decimal) {
	_, _ = arithmetic.Sub(&difference.value, &d.value, &other.value)
	return difference
}

func (d Decimal) times(other Decimal) (product Decimal) {
	_, _ = arithmetic.Mul(&product.value, &d.value, &other.value)
	return product
}

// cents rounds to two decimals.
func (d Decimal) cents() (rounded Decimal) {
	_, _ = arithmetic.Quantize(&rounded.value, &d.value, -2)
	return rounded
}

func (d Decimal) abs() (size Decimal) {
	size.value.Abs(&d.value)
	return size
}

func (d Decimal) cmp(other Decimal) int     { return d.value.Cmp(&other.value) }
func (d Decimal) equals(other Decimal) bool { return d.cmp(other) == 0 }
func (d Decimal) sign() int                 { return d.value.Sign() }

// plain writes the number without zeros at its end: numbers of the same value have the same text.
func (d Decimal) plain() string {
	reduced := new(apd.Decimal)
	reduced.Reduce(&d.value)
	return reduced.Text('f')
}

// or returns an optional number, or 0 where there is none.
func or0(d *Decimal) Decimal {
	if d == nil {
		return zero
	}
	return *d
}
