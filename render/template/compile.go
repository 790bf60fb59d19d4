package template

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/dop251/goja"
)

// compiler is a realm in which templates are parsed and compiled, and never run.
// It serves one call.
type compiler struct {
	realm
	hb                 goja.Value
	parseJS, compileJS goja.Callable
	programs           *programs
}

func newCompiler() (*compiler, error) {
	p, err := loadPrograms()
	if err != nil {
		return nil, err
	}

	c := &compiler{realm: realm{vm: goja.New()}, programs: p}
	c.vm.SetFieldNameMapper(goja.UncapFieldNameMapper())
	if c.hb, err = handlebars(c.vm, p.compiler); err != nil {
		return nil, err
	}

	setUp, err := function(c.vm, p.compile)
	if err != nil {
		return nil, err
	}
	v, err := setUp(goja.Undefined(), c.hb, c.vm.ToValue(c.tokens))
	if err != nil {
		return nil, err
	}

	object := v.ToObject(c.vm)
	if c.parseJS, err = callable(object.Get("parse")); err != nil {
		return nil, err
	}
	c.compileJS, err = callable(object.Get("compile"))
	return c, err
}

// tokens is the lexer, as the parser is given it.
func (c *compiler) tokens(call goja.FunctionCall) goja.Value {
	all := tokenize(call.Argument(0).String())
	if len(all) > maxTokens {
		c.stop(&LimitError{Message: fmt.Sprintf("The template must have at most %d parts.", maxTokens)})
	}
	if nesting(all) > maxNesting {
		c.stop(&LimitError{Message: fmt.Sprintf("The template is nested too deeply: at most %d levels.", maxNesting)})
	}

	kinds := make([]any, len(all))
	texts := make([]any, len(all))
	places := make([]any, 0, 4*len(all))
	for i, t := range all {
		kinds[i] = c.vm.ToValue(t.kind)
		texts[i] = goja.StringFromUTF16(t.text)
		for _, place := range []int{t.line, t.column, t.lastLine, t.lastStop} {
			places = append(places, c.vm.ToValue(place))
		}
	}

	return c.vm.NewArray(c.vm.NewArray(kinds...), c.vm.NewArray(texts...), c.vm.NewArray(places...))
}

// maxNesting is the maximum nesting depth of blocks and parentheses.
const maxNesting = 200

// nesting returns how deep blocks and parentheses are nested.
func nesting(tokens []token) int {
	depth, deepest := 0, 0
	for _, t := range tokens {
		switch t.kind {
		case tokenOpenSexpr, tokenOpenBlock, tokenOpenPartialBlock:
			depth++
		case tokenCloseSexpr, tokenOpenEndBlock:
			depth = max(0, depth-1)
		}
		deepest = max(deepest, depth)
	}
	return deepest
}

// parse returns the tree of a source, or the fault that keeps it from having one.
func (c *compiler) parse(source string) (goja.Value, *syntaxFault, error) {
	v, err := c.try(func() (goja.Value, error) { return c.parseJS(goja.Undefined(), c.vm.ToValue(source)) })
	if err != nil {
		return nil, nil, err
	}
	return c.outcome(v, "tree")
}

// compile returns the JavaScript of a tree.
func (c *compiler) compile(tree goja.Value, strict bool) (string, *syntaxFault, error) {
	v, err := c.try(func() (goja.Value, error) {
		return c.compileJS(goja.Undefined(), tree, c.vm.ToValue(strict))
	})
	if err != nil {
		return "", nil, err
	}

	code, fault, err := c.outcome(v, "code")
	if fault != nil || err != nil {
		return "", fault, err
	}
	return code.String(), nil, nil
}

func (c *compiler) outcome(v goja.Value, field string) (goja.Value, *syntaxFault, error) {
	object := v.ToObject(c.vm)
	if fault := object.Get("fault"); !missing(fault) {
		found := &syntaxFault{}
		return nil, found, c.vm.ExportTo(fault, found)
	}
	return object.Get(field), nil, nil
}

// syntaxFault is the error of a source by the parser or the compiler.
type syntaxFault struct {
	Message      string
	Line, Column int // as Handlebars counts: lines from 1, columns from 0
	Got, Text    string
	Expected     []string
	Syntax       bool
}

// compileSource turns a source into a program that any realm can run.
func compileSource(ctx context.Context, source, partial string, strict bool) (*goja.Program, error) {
	c, err := newCompiler()
	if err != nil {
		return nil, err
	}

	defer c.guard(ctx, maxCompile, "Compiling the template")()
	code, err := c.code(source, partial, strict)
	if err != nil {
		return nil, err
	}

	program, err := goja.Compile("template", placesOnce(code), false)
	if err != nil {
		return nil, fmt.Errorf("compile what Handlebars made: %w", err)
	}
	return program, nil
}

// place is the position of a helper's call, as Handlebars writes it into the options. In a text of the template its
// quotes would be escaped.
var place = regexp.MustCompile(`"loc":\{"start":\{"line":\d+,"column":\d+\},"end":\{"line":\d+,"column":\d+\}\}`)

// placesOnce has a program make the places and the empty hashes that it gives to
// helpers once, not four objects for each call.
func placesOnce(code string) string {
	var places []string
	code = place.ReplaceAllStringFunc(code, func(found string) string {
		places = append(places, strings.TrimPrefix(found, `"loc":`))
		return fmt.Sprintf(`"loc":places[%d]`, len(places)-1)
	})
	code = strings.ReplaceAll(code, `"hash":{}`, `"hash":none`)
	return "((places,none)=>(" + code + "))([" + strings.Join(places, ",") + "],{})"
}

// code compiles a source, and returns all its errors if that fails.
func (c *compiler) code(source, partial string, strict bool) (string, error) {
	tree, fault, err := c.parse(source)
	if err != nil {
		return "", err
	}

	if fault != nil {
		faults, err := c.syntax(source, partial)
		if err == nil && len(faults) == 0 {
			faults = []Fault{fault.fault(partial)}
		}
		if err != nil {
			return "", err
		}
		return "", &Error{Faults: faults}
	}

	if strict {
		if faults, err := c.unknownHelpers(tree, partial); err != nil || len(faults) > 0 {
			return "", errors.Join(err, faultsError(faults))
		}
	}

	code, fault, err := c.compile(tree, strict)
	if err != nil {
		return "", err
	}
	if fault != nil {
		return "", &Error{Faults: []Fault{fault.fault(partial)}}
	}
	return code, nil
}

func faultsError(faults []Fault) error {
	if len(faults) == 0 {
		return nil
	}
	return &Error{Faults: faults}
}
