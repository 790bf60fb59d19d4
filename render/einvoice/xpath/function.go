package xpath

import (
	"math"
	"math/big"
	"regexp"
	"strings"
	"sync"
)

func (e *callExpr) eval(c *context) []Item {
	switch e.name {
	case "position":
		return []Item{new(big.Rat).SetInt64(int64(c.position))}
	case "last":
		return []Item{new(big.Rat).SetInt64(int64(c.size))}
	case "not":
		return boolean(!truth(e.args[0].eval(c)))
	}

	args := make([][]Item, len(e.args))
	for i, arg := range e.args {
		args[i] = arg.eval(c)
	}

	if f := functions[e.name]; f.call != nil {
		if len(args) == 0 && f.context {
			args = [][]Item{{c.item}}
		}
		if len(args) < f.minArgs {
			fail("%s needs %d arguments", e.name, f.minArgs)
		}
		return f.call(args)
	}

	if f := c.document.library.Functions[e.name]; f != nil {
		value, err := f(args)
		if err != nil {
			panic(evaluationError{err})
		}
		return value
	}

	if strings.HasPrefix(e.name, "xs:") && len(args) == 1 {
		return cast(e.name, args[0])
	}
	fail("there is no function %s", e.name)
	return nil
}

// function is a standard function. Context means that it takes the item of the context without arguments.
type function struct {
	minArgs int
	context bool
	call    func(args [][]Item) []Item
}

func ofText(f func(texts ...string) Item) func(args [][]Item) []Item {
	return func(args [][]Item) []Item {
		texts := make([]string, len(args))
		for i, arg := range args {
			texts[i] = stringArg(arg)
		}
		return []Item{f(texts...)}
	}
}

var functions = map[string]function{
	"true":    {call: func([][]Item) []Item { return boolean(true) }},
	"false":   {call: func([][]Item) []Item { return boolean(false) }},
	"boolean": {minArgs: 1, call: func(a [][]Item) []Item { return boolean(truth(a[0])) }},
	"exists":  {minArgs: 1, call: func(a [][]Item) []Item { return boolean(len(a[0]) > 0) }},
	"empty":   {minArgs: 1, call: func(a [][]Item) []Item { return boolean(len(a[0]) == 0) }},
	"count":   {minArgs: 1, call: func(a [][]Item) []Item { return []Item{new(big.Rat).SetInt64(int64(len(a[0])))} }},
	"sum":     {minArgs: 1, call: func(a [][]Item) []Item { return []Item{sum(a[0])} }},
	"abs":     {minArgs: 1, call: onNumber(func(v *big.Rat) *big.Rat { return new(big.Rat).Abs(v) }, math.Abs)},
	"round": {minArgs: 1, call: onNumber(
		func(v *big.Rat) *big.Rat { return floor(new(big.Rat).Add(v, half)) },
		func(v float64) float64 { return math.Floor(v + 0.5) })},
	"floor": {minArgs: 1, call: onNumber(floor, math.Floor)},
	"ceiling": {minArgs: 1, call: onNumber(func(v *big.Rat) *big.Rat {
		return new(big.Rat).Neg(floor(new(big.Rat).Neg(v)))
	}, math.Ceil)},
	"number": {minArgs: 1, context: true, call: func(a [][]Item) []Item {
		if v, ok := doubleOf(textOf(a[0])); ok {
			return []Item{v}
		}
		return []Item{math.NaN()}
	}},
	"string": {minArgs: 1, context: true, call: func(a [][]Item) []Item { return []Item{textOf(a[0])} }},
	"string-length": {minArgs: 1, context: true, call: ofText(func(t ...string) Item {
		return new(big.Rat).SetInt64(int64(len([]rune(t[0]))))
	})},
	"normalize-space": {minArgs: 1, context: true, call: ofText(func(t ...string) Item { return normalized(t[0]) })},
	"upper-case":      {minArgs: 1, call: ofText(func(t ...string) Item { return strings.ToUpper(t[0]) })},
	"lower-case":      {minArgs: 1, call: ofText(func(t ...string) Item { return strings.ToLower(t[0]) })},
	"concat": {minArgs: 2, call: func(a [][]Item) []Item {
		out := ""
		for _, part := range a {
			out += textOf(part)
		}
		return []Item{out}
	}},
	"contains":    {minArgs: 2, call: ofText(func(t ...string) Item { return strings.Contains(t[0], t[1]) })},
	"starts-with": {minArgs: 2, call: ofText(func(t ...string) Item { return strings.HasPrefix(t[0], t[1]) })},
	"ends-with":   {minArgs: 2, call: ofText(func(t ...string) Item { return strings.HasSuffix(t[0], t[1]) })},
	"substring-after": {minArgs: 2, call: ofText(func(t ...string) Item {
		_, after, _ := strings.Cut(t[0], t[1])
		return after
	})},
	"substring-before": {minArgs: 2, call: ofText(func(t ...string) Item {
		before, _, found := strings.Cut(t[0], t[1])
		if !found {
			return ""
		}
		return before
	})},
	"substring": {minArgs: 2, call: substring},
	"matches":   {minArgs: 2, call: ofText(func(t ...string) Item { return pattern(t[1]).MatchString(t[0]) })},
	"replace":   {minArgs: 3, call: ofText(func(t ...string) Item { return pattern(t[1]).ReplaceAllString(t[0], t[2]) })},
	"tokenize":  {minArgs: 2, call: tokenize},
	"string-join": {minArgs: 2, call: func(a [][]Item) []Item {
		parts := make([]string, len(a[0]))
		for i, item := range a[0] {
			parts[i] = textOf([]Item{item})
		}
		return []Item{strings.Join(parts, stringArg(a[1]))}
	}},
	"distinct-values": {minArgs: 1, call: distinct},
	"name":            {minArgs: 1, context: true, call: nameOf},
	"local-name":      {minArgs: 1, context: true, call: nameOf},
}

// normalized returns a text with one space for each run of white space, and none at the ends.
func normalized(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' || r == '\n' })
	return strings.Join(words, " ")
}

func onNumber(decimal func(*big.Rat) *big.Rat, double func(float64) float64) func(args [][]Item) []Item {
	return func(args [][]Item) []Item {
		v, ok := number(args[0])
		if !ok {
			return nil
		}
		if d, exact := v.(*big.Rat); exact {
			return []Item{decimal(d)}
		}
		return []Item{double(v.(float64))} //nolint:errcheck // number returns one of the two
	}
}

func floor(v *big.Rat) *big.Rat {
	q, r := new(big.Int).QuoRem(v.Num(), v.Denom(), new(big.Int))
	if r.Sign() < 0 {
		q.Sub(q, big.NewInt(1))
	}
	return new(big.Rat).SetInt(q)
}

// sum adds numbers; values without a type are doubles.
func sum(items []Item) Item {
	total := Item(rat0)
	for _, item := range items {
		v, _ := number([]Item{item})
		total = calculate("+", total, v)
	}
	return total
}

func substring(a [][]Item) []Item {
	runes := []rune(stringArg(a[0]))
	from, _ := number(a[1])
	start := int(double(from)) - 1
	end := len(runes)
	if len(a) > 2 {
		length, _ := number(a[2])
		end = min(end, start+int(double(length)))
	}

	start = max(0, start)
	if start >= end {
		return []Item{""}
	}
	return []Item{string(runes[start:end])}
}

func tokenize(a [][]Item) (parts []Item) {
	text := stringArg(a[0])
	if text == "" {
		return nil
	}
	for _, part := range pattern(stringArg(a[1])).Split(text, -1) {
		parts = append(parts, part)
	}
	return parts
}

func distinct(a [][]Item) (values []Item) {
	seen := map[string]bool{}
	for _, item := range a[0] {
		text := textOf([]Item{item})
		if !seen[text] {
			seen[text] = true
			values = append(values, atom(item))
		}
	}
	return values
}

func nameOf(a [][]Item) []Item {
	if len(a[0]) == 0 {
		return []Item{""}
	}
	switch v := one(a[0]).(type) {
	case *Node:
		return []Item{v.Name}
	case Attribute:
		return []Item{v.Of.Attrs[v.Index].Name}
	}
	return []Item{""}
}

var patterns sync.Map

// pattern returns a compiled regular expression. Expressions are part of the rules, not of documents.
func pattern(text string) *regexp.Regexp {
	if compiled, ok := patterns.Load(text); ok {
		return compiled.(*regexp.Regexp) //nolint:errcheck // only expressions are stored
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		fail("the pattern %q: %s", text, err)
	}
	patterns.Store(text, compiled)
	return compiled
}
