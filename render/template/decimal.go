package template

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"
	"github.com/dop251/goja"
)

// exact is the arithmetic of templates: decimal, so that 0.1 and 0.2 are 0.3, with halves rounded away from zero as
// on invoices.
var exact = apd.Context{
	Precision: 60, MaxExponent: 2000, MinExponent: -2000, Rounding: apd.RoundHalfUp,
	Traps: apd.SystemOverflow | apd.SystemUnderflow | apd.Overflow |
		apd.DivisionByZero | apd.DivisionUndefined | apd.DivisionImpossible | apd.InvalidOperation,
}

// maxDigits is the maximum number of digits of a fraction.
const maxDigits = 30

var numericText = regexp.MustCompile(`^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?$`)

// notNumber means that a value is not a number. Its text continues the helper's name.
type notNumber struct{ value string }

func (e notNumber) Error() string { return e.value + " is not a number" }

// decimal reads a value of the data: a number, or a string that is one. A missing value
// counts as 0.
func decimal(v goja.Value) (*apd.Decimal, error) {
	if missing(v) {
		return apd.New(0, 0), nil
	}

	switch n := v.Export().(type) {
	case numeral:
		return parseDecimal(string(n))
	case int64:
		return apd.New(n, 0), nil
	case float64:
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return nil, notNumber{strconv.FormatFloat(n, 'g', -1, 64)}
		}
		// The shortest text of this number is the text that was written.
		return parseDecimal(strconv.FormatFloat(n, 'g', -1, 64))
	case string:
		if s := strings.TrimSpace(n); numericText.MatchString(s) && len(s) <= 100 {
			return parseDecimal(s)
		}
	}
	return nil, notNumber{describe(v)}
}

func parseDecimal(s string) (*apd.Decimal, error) {
	d, _, err := exact.NewFromString(s)
	if err != nil {
		return nil, notNumber{strconv.Quote(s)}
	}
	return d, nil
}

func missing(v goja.Value) bool {
	return v == nil || goja.IsUndefined(v) || goja.IsNull(v) || v.StrictEquals(emptyText)
}

var emptyText = goja.New().ToValue("")

// describe shows a value in a fault, shortened.
func describe(v goja.Value) string {
	switch n := v.Export().(type) {
	case string:
		if len(n) > 40 {
			return strconv.Quote(strings.ToValidUTF8(n[:40], "")) + "…"
		}
		return strconv.Quote(n)
	case bool, int64, float64:
		return v.String()
	case numeral:
		return fmt.Sprintf("%.40s", string(n))
	case nil:
		return "nothing"
	case []any:
		return "a list"
	default:
		return "an object"
	}
}

// number gives a result back to the template, with all its digits unless it was rounded.
func number(vm *goja.Runtime, d *apd.Decimal, rounded bool) goja.Value {
	text := plain(d)
	f, same := printed(text)
	if same {
		return vm.ToValue(f)
	}

	if f, err := strconv.ParseFloat(text, 64); rounded && err == nil {
		return vm.ToValue(f)
	}
	return vm.ToValue(numeral(text))
}

// plain writes a decimal without an exponent and without trailing zeros.
func plain(d *apd.Decimal) string {
	text := d.Text('f')
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" {
		return "0"
	}
	return text
}

// roundTo rounds to digits after the point, halves away from zero.
func roundTo(d *apd.Decimal, digits int) (*apd.Decimal, error) {
	rounded := new(apd.Decimal)
	_, err := exact.Quantize(rounded, d, -int32(min(max(digits, 0), maxDigits)))
	return rounded, err
}

var errOperands = errors.New("needs numbers")

// arithmetic counts. Results that do not come out even are rounded.
func arithmetic(vm *goja.Runtime, name string, values []goja.Value) (goja.Value, error) {
	if name == "min" || name == "max" || name == "avg" {
		values = slices.DeleteFunc(slices.Clone(values), missing)
	}

	operands := make([]*apd.Decimal, 0, len(values))
	for _, v := range values {
		d, err := decimal(v)
		if err != nil {
			return nil, err
		}
		operands = append(operands, d)
	}

	if len(operands) == 0 {
		switch name {
		case "sum", "add":
			return vm.ToValue(0), nil
		case "avg", "min", "max":
			return goja.Undefined(), nil
		}
		return nil, errOperands
	}

	if name == "round" {
		return round(vm, operands)
	}
	result, rounded, err := fold(name, operands)
	if err != nil {
		return nil, err
	}

	if name == "min" || name == "max" {
		// The number has the digits that it was written with.
		chosen := values[slices.IndexFunc(operands, func(d *apd.Decimal) bool { return d.Cmp(result) == 0 })]
		if _, ok := isNumeral(chosen); ok {
			return chosen, nil
		}
	}
	return number(vm, result, rounded), nil
}

func round(vm *goja.Runtime, operands []*apd.Decimal) (goja.Value, error) {
	digits := int64(0)
	if len(operands) > 1 {
		n, err := operands[1].Int64()
		if err != nil || n < 0 || n > maxDigits {
			return nil, fmt.Errorf("digits must be a whole number from 0 to %d; got %s", maxDigits, plain(operands[1]))
		}
		digits = n
	}

	d, err := roundTo(operands[0], int(digits))
	if err != nil {
		return nil, errors.New("the number has too many digits")
	}
	return number(vm, d, false), nil
}

// fold applies an operation from left to right.
func fold(name string, operands []*apd.Decimal) (result *apd.Decimal, rounded bool, err error) {
	result = new(apd.Decimal).Set(operands[0])
	if (name == "divide" || name == "mod") && len(operands) != 2 {
		return nil, false, errors.New("needs two numbers")
	}

	for _, d := range operands[1:] {
		var condition apd.Condition
		switch name {
		case "add", "sum", "avg":
			condition, err = exact.Add(result, result, d)
		case "subtract":
			condition, err = exact.Sub(result, result, d)
		case "multiply":
			condition, err = exact.Mul(result, result, d)
		case "divide", "mod":
			if d.IsZero() {
				return nil, false, errors.New("division by zero")
			}
			if name == "divide" {
				condition, err = exact.Quo(result, result, d)
			} else {
				condition, err = exact.Rem(result, result, d)
			}
		case "min":
			if d.Cmp(result) < 0 {
				result.Set(d)
			}
		case "max":
			if d.Cmp(result) > 0 {
				result.Set(d)
			}
		}

		if err != nil {
			return nil, false, errors.New("the numbers have too many digits")
		}
		rounded = rounded || condition.Inexact()
	}

	if name == "avg" {
		condition, err := exact.Quo(result, result, apd.New(int64(len(operands)), 0))
		return result, rounded || condition.Inexact(), err
	}
	return result, rounded, nil
}

// compare orders two values: -1, 0 or 1, and 2 if they have no order. Numbers and numeric texts are compared by
// value.
func compare(a, b goja.Value) int {
	if missing(a) || missing(b) {
		return 2
	}

	x, errX := decimal(a)
	y, errY := decimal(b)
	if errX == nil && errY == nil {
		return x.Cmp(y)
	}

	s, okS := a.Export().(string)
	t, okT := b.Export().(string)
	if okS && okT {
		return strings.Compare(s, t)
	}
	return 2
}

// equal is the equality of eq: JavaScript's equality without conversion, except that a number equals its text.
func equal(a, b goja.Value) bool {
	if a.StrictEquals(b) {
		return true
	}
	if missing(a) || missing(b) {
		return (goja.IsUndefined(a) || goja.IsNull(a)) && (goja.IsUndefined(b) || goja.IsNull(b))
	}
	_, textA := a.Export().(string)
	_, textB := b.Export().(string)
	return (!textA || !textB) && compare(a, b) == 0
}

// order is the order of sortBy, which any two values have: numbers by value
// before texts.
func order(a, b goja.Value) int {
	if c := compare(a, b); c != 2 {
		return c
	}

	_, errA := decimal(a)
	_, errB := decimal(b)
	if errA == nil != (errB == nil) {
		if errA == nil {
			return -1
		}
		return 1
	}
	return strings.Compare(a.String(), b.String())
}
