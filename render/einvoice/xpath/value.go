package xpath

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// maxNumber is the maximum length of a number.
const maxNumber = 100

func boolean(b bool) []Item { return []Item{b} }

// truth is the effective boolean value of a sequence.
func truth(items []Item) bool {
	if len(items) == 0 {
		return false
	}

	switch v := items[0].(type) {
	case *Node, Attribute:
		return true
	case bool:
		one(items)
		return v
	case string:
		one(items)
		return v != ""
	case Untyped:
		// The text of an element is a node of its own in XPath.
		return true
	case *big.Rat:
		one(items)
		return v.Sign() != 0
	case float64:
		one(items)
		return v != 0 && !math.IsNaN(v)
	}
	fail("%T has no boolean value", items[0])
	return false
}

// one returns the item of a sequence of one.
func one(items []Item) Item {
	if len(items) != 1 {
		fail("there are %d values instead of one", len(items))
	}
	return items[0]
}

// atom returns the value of an item.
func atom(item Item) Item {
	switch v := item.(type) {
	case *Node:
		return Untyped(v.value())
	case Attribute:
		return Untyped(v.Of.Attrs[v.Index].Value)
	}
	return item
}

// text1 makes an untyped value a text, as single comparisons do.
func text1(item Item) Item {
	if u, ok := item.(Untyped); ok {
		return string(u)
	}
	return item
}

// textOf returns the text of an optional single item.
func textOf(items []Item) string {
	if len(items) == 0 {
		return ""
	}

	switch v := atom(one(items)).(type) {
	case Untyped:
		return string(v)
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case *big.Rat:
		return FormatDecimal(v)
	case float64:
		return formatDouble(v)
	case Date:
		return string(v)
	}
	return ""
}

// stringArg is textOf for an argument that must be a text.
func stringArg(items []Item) string {
	if len(items) > 0 {
		switch atom(one(items)).(type) {
		case Untyped, string:
		default:
			fail("a text is needed")
		}
	}
	return textOf(items)
}

// FormatDecimal writes a decimal without an exponent and without zeros at its end.
func FormatDecimal(v *big.Rat) string {
	if v.IsInt() {
		return v.Num().String()
	}
	digits, exact := v.FloatPrec()
	if !exact {
		digits = 18
	}
	return strings.TrimRight(v.FloatString(digits), "0")
}

func formatDouble(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e6 || math.Abs(v) >= 1e-6 && math.Abs(v) < 1e6 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'E', -1, 64)
}

func space(text string) string { return strings.Trim(text, " \t\r\n") }

// decimalOf reads a decimal: digits with an optional sign and point.
func decimalOf(text string) (*big.Rat, bool) {
	text = space(text)
	digits := strings.TrimLeft(text, "+-")
	if len(text)-len(digits) > 1 || len(text) > maxNumber || strings.Trim(digits, "0123456789.") != "" ||
		strings.Count(digits, ".") > 1 || strings.Trim(digits, ".") == "" {
		return nil, false
	}
	return new(big.Rat).SetString(strings.TrimPrefix(text, "+"))
}

// doubleOf reads a double.
func doubleOf(text string) (float64, bool) {
	text = space(text)
	switch text {
	case "INF":
		return math.Inf(1), true
	case "-INF":
		return math.Inf(-1), true
	case "NaN":
		return math.NaN(), true
	}

	if len(text) > maxNumber || text == "" || strings.Trim(text, "0123456789.+-eE") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(v, 0) {
		return 0, false
	}
	return v, true
}

func double(item Item) float64 {
	switch v := item.(type) {
	case float64:
		return v
	case *big.Rat:
		f, _ := v.Float64()
		return f
	case Untyped:
		f, ok := doubleOf(string(v))
		if !ok {
			fail("%.40q is not a number", string(v))
		}
		return f
	}

	fail("%T is not a number", item)
	return 0
}

// number returns an optional number: *big.Rat or float64.
func number(items []Item) (Item, bool) {
	if len(items) == 0 {
		return nil, false
	}
	switch v := atom(one(items)).(type) {
	case *big.Rat, float64:
		return v, true
	case Untyped:
		return double(v), true
	default:
		fail("%T is not a number", v)
		return nil, false
	}
}

func calculate(operator string, a, b Item) Item {
	x, exact := a.(*big.Rat)
	y, both := b.(*big.Rat)
	if exact && both {
		return calculateDecimals(operator, x, y)
	}

	l := double(a)
	r := double(b)
	switch operator {
	case "+":
		return l + r
	case "-":
		return l - r
	case "*":
		return l * r
	case "div":
		return l / r
	case "mod":
		return math.Mod(l, r)
	}
	return math.Trunc(l / r)
}

func calculateDecimals(operator string, x, y *big.Rat) Item {
	out := new(big.Rat)
	switch operator {
	case "+":
		return out.Add(x, y)
	case "-":
		return out.Sub(x, y)
	case "*":
		return out.Mul(x, y)
	}

	if y.Sign() == 0 {
		fail("a division by 0")
	}
	out.Quo(x, y)
	if operator == "div" {
		return out
	}

	whole := new(big.Rat).SetInt(new(big.Int).Quo(out.Num(), out.Denom()))
	if operator == "idiv" {
		return whole
	}
	return new(big.Rat).Sub(x, whole.Mul(whole, y))
}

// compare compares two atomic values.
func compare(operator string, a, b Item) bool {
	switch {
	case isNumber(a) || isNumber(b):
		return compareNumbers(operator, a, b)
	case isBool(a) || isBool(b):
		l := boolOf(a)
		r := boolOf(b)
		order := 0
		if l != r {
			order = 1
			if !l {
				order = -1
			}
		}
		return decide(operator, order)
	case isDate(a) || isDate(b):
		return decide(operator, strings.Compare(string(dateOf(a)), string(dateOf(b))))
	}

	return decide(operator, strings.Compare(plain(a), plain(b)))
}

func plain(item Item) string {
	switch v := item.(type) {
	case Untyped:
		return string(v)
	case string:
		return v
	}
	fail("%T is not a text", item)
	return ""
}

func isNumber(item Item) bool {
	switch item.(type) {
	case *big.Rat, float64:
		return true
	}
	return false
}

func isBool(item Item) bool { _, ok := item.(bool); return ok }
func isDate(item Item) bool { _, ok := item.(Date); return ok }

func compareNumbers(operator string, a, b Item) bool {
	x, exact := a.(*big.Rat)
	y, both := b.(*big.Rat)
	if exact && both {
		return decide(operator, x.Cmp(y))
	}

	l := double(a)
	r := double(b)
	switch {
	case math.IsNaN(l) || math.IsNaN(r):
		return operator == "!="
	case l < r:
		return decide(operator, -1)
	case l > r:
		return decide(operator, 1)
	}
	return decide(operator, 0)
}

func boolOf(item Item) bool {
	switch v := item.(type) {
	case bool:
		return v
	case Untyped:
		return boolText(string(v))
	}
	fail("%T is not a boolean", item)
	return false
}

func boolText(text string) bool {
	switch space(text) {
	case "true", "1":
		return true
	case "false", "0":
		return false
	}
	fail("%.40q is not a boolean", text)
	return false
}

func dateOf(item Item) Date {
	switch v := item.(type) {
	case Date:
		return v
	case Untyped:
		return dateText(string(v))
	}
	fail("%T is not a date", item)
	return ""
}

// dateText reads a day. A time zone is left out, as the days of invoices have none.
func dateText(text string) Date {
	text = space(text)
	if len(text) >= len(time.DateOnly) {
		if _, err := time.Parse(time.DateOnly, text[:len(time.DateOnly)]); err == nil {
			return Date(text[:len(time.DateOnly)])
		}
	}
	fail("%.40q is not a date", text)
	return ""
}

func decide(operator string, order int) bool {
	switch operator {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// cast converts an optional single value to a type.
func cast(kind string, items []Item) []Item {
	if len(items) == 0 {
		return nil
	}

	value := atom(one(items))
	text := textOf([]Item{value})
	switch kind {
	case "xs:string":
		return []Item{text}
	case "xs:boolean":
		switch v := value.(type) {
		case *big.Rat:
			return boolean(v.Sign() != 0)
		case float64:
			return boolean(v != 0)
		case bool:
			return boolean(v)
		}
		return boolean(boolText(text))
	case "xs:decimal", "xs:integer":
		return []Item{castDecimal(kind, value, text)}
	case "xs:double", "xs:float":
		if isNumber(value) {
			return []Item{double(value)}
		}
		v, ok := doubleOf(text)
		if !ok {
			fail("%.40q is not a number", text)
		}
		return []Item{v}
	case "xs:date":
		return []Item{dateText(text)}
	}

	fail("there is no type %s", kind)
	return nil
}

func castDecimal(kind string, value Item, text string) *big.Rat {
	var v *big.Rat
	switch t := value.(type) {
	case *big.Rat:
		v = t
	case float64:
		if math.IsNaN(t) || math.IsInf(t, 0) {
			fail("%v is not a decimal", t)
		}
		// The shortest text of the number, as Java's BigDecimal.valueOf does it.
		v, _ = new(big.Rat).SetString(strconv.FormatFloat(t, 'f', -1, 64))
	case bool:
		v = new(big.Rat)
		if t {
			v.SetInt64(1)
		}
	default:
		var ok bool
		if v, ok = decimalOf(text); !ok || kind == "xs:integer" && strings.Contains(text, ".") {
			fail("%.40q is not a number", text)
		}
	}

	if kind == "xs:integer" && !v.IsInt() {
		v = new(big.Rat).SetInt(new(big.Int).Quo(v.Num(), v.Denom()))
	}
	return v
}
