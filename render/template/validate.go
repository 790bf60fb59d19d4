package template

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja"
)

// Report is the result of analysing a template without rendering it.
type Report struct {
	Faults []Fault `json:"faults"`
	// Variables are the paths of the data that the template and its partials use, in the order of their first use;
	// [] means each item of a list.
	Variables []string `json:"variables"`
	// Missing lists the paths that the sample data lacks.
	Missing []string `json:"missing"`
	// Partials are the names of the partials that are used, directly or not.
	Partials []string `json:"partials"`
	// Dynamic means that a partial's name is an expression, so that any may be
	// used.
	Dynamic bool `json:"dynamic,omitempty"`
}

// uses is the result of the analysis.
type uses struct {
	Helpers []struct {
		Name         string
		Bare         bool
		Line, Column int
	}
	Partials []struct {
		Name           string
		Dynamic, Block bool
		Line, Column   int
	}
	Variables []string
}

// analyse returns the values and partials that a tree uses. trees returns the partials' trees, and may be nil.
func (c *compiler) analyse(tree goja.Value, trees func(name string) goja.Value) (uses, error) {
	var found uses
	setUp, err := function(c.vm, c.programs.analyse)
	if err != nil {
		return found, err
	}

	if trees == nil {
		trees = func(string) goja.Value { return goja.Undefined() }
	}
	partial := func(call goja.FunctionCall) goja.Value { return trees(call.Argument(0).String()) }
	helper := func(call goja.FunctionCall) goja.Value { return c.vm.ToValue(isHelper(call.Argument(0).String())) }

	v, err := c.try(func() (goja.Value, error) {
		f, err := setUp(goja.Undefined(), c.vm.ToValue(partial), c.vm.ToValue(helper))
		if err != nil {
			return nil, err
		}
		analyser, err := callable(f)
		if err != nil {
			return nil, err
		}
		return analyser(goja.Undefined(), tree)
	})
	if err != nil {
		return found, err
	}
	err = c.vm.ExportTo(v, &found)
	return found, err
}

// unknownHelpers finds calls of helpers that there are not.
func (c *compiler) unknownHelpers(tree goja.Value, partial string) ([]Fault, error) {
	found, err := c.analyse(tree, nil)
	if err != nil {
		return nil, err
	}
	return found.unknown(partial), nil
}

func (u uses) unknown(partial string) []Fault {
	var faults []Fault
	for _, helper := range u.Helpers {
		if name, decorator := strings.CutPrefix(helper.Name, "*"); decorator {
			faults = append(faults, Fault{Message: fmt.Sprintf("unknown decorator %q; only inline is supported", name),
				Line: helper.Line, Column: helper.Column + 1, Partial: partial})
			continue
		}
		if !helper.Bare && !isHelper(helper.Name) && len(faults) < maxFaults {
			faults = append(faults, Fault{
				Message: unknownHelper(helper.Name), Line: helper.Line, Column: helper.Column + 1, Partial: partial,
			})
		}
	}
	return faults
}

// validator looks at a template and at the partials that it names.
type validator struct {
	*compiler

	call   *Call
	trees  map[string]goja.Value
	path   []string // the partials that lead to the one that is looked at
	report Report
}

// validate reports all errors of a template and the values that it uses.
func validate(ctx context.Context, call *Call) (Report, error) {
	if err := call.check(); err != nil {
		return Report{}, err
	}

	c, err := newCompiler()
	if err != nil {
		return Report{}, err
	}
	defer c.guard(ctx, maxCompile, "Validating the template")()

	v := &validator{compiler: c, call: call, trees: map[string]goja.Value{}}
	v.report = Report{Faults: []Fault{}, Variables: []string{}, Missing: []string{}, Partials: []string{}}
	tree, err := v.validateSource(call.HTML, "")
	if err != nil {
		return Report{}, err
	}

	if tree != nil {
		if err := v.variables(tree); err != nil {
			return Report{}, err
		}
	}

	v.report.Faults = v.report.Faults[:min(len(v.report.Faults), maxFaults)]
	return v.report, nil
}

// validateSource parses one source, notes its faults, and continues with the partials that it names.
// It returns nil if the source cannot be parsed.
func (v *validator) validateSource(source, partial string) (goja.Value, error) {
	tree, fault, err := v.parse(source)
	if err != nil {
		return nil, err
	}

	if fault != nil {
		faults, err := v.syntax(source, partial)
		if err == nil && len(faults) == 0 {
			faults = []Fault{fault.fault(partial)}
		}
		v.report.Faults = append(v.report.Faults, faults...)
		return nil, err
	}

	found, err := v.analyse(tree, nil)
	if err != nil {
		return nil, err
	}
	v.report.Faults = append(v.report.Faults, found.unknown(partial)...)
	for _, use := range found.Partials {
		at := Fault{Line: use.Line, Column: use.Column + 1, Partial: partial}
		if err := v.follow(use.Name, use.Dynamic, use.Block, at); err != nil {
			return nil, err
		}
	}

	if _, fault, err := v.compile(tree, false); err != nil || fault != nil {
		if fault != nil {
			v.report.Faults = append(v.report.Faults, fault.fault(partial))
		}
		return tree, err
	}
	return tree, nil
}

func (v *validator) follow(name string, dynamic, block bool, at Fault) error {
	if dynamic {
		v.report.Dynamic = true
		return nil
	}

	source, ok := v.call.Partials[name]
	if !ok {
		if !block { // a block is the fallback of a missing partial
			at.Absent = true
			at.Message = unknownPartial(name, slices.Sorted(maps.Keys(v.call.Partials)))
			v.report.Faults = append(v.report.Faults, at)
		}
		return nil
	}

	if i := slices.Index(v.path, name); i >= 0 {
		at.Ring = strings.Join(append(slices.Clone(v.path[i:]), name), " → ")
		at.Message = fmt.Sprintf("the partials %s include one another endlessly", at.Ring)
		v.report.Faults = append(v.report.Faults, at)
		return nil
	}
	if slices.Contains(v.report.Partials, name) {
		return nil
	}

	v.report.Partials = append(v.report.Partials, name)
	v.path = append(v.path, name)
	tree, err := v.validateSource(source, name)
	v.path = v.path[:len(v.path)-1]
	v.trees[name] = tree
	return err
}

// variables notes the paths that are used, and those that the sample data lacks.
func (v *validator) variables(tree goja.Value) error {
	found, err := v.analyse(tree, func(name string) goja.Value {
		if tree := v.trees[name]; tree != nil {
			return tree
		}
		return goja.Undefined()
	})
	if err != nil {
		return err
	}

	v.report.Variables = append(v.report.Variables, found.Variables...)
	if len(v.call.Data) == 0 {
		return nil
	}

	var data any
	if err := json.Unmarshal(v.call.Data, &data); err != nil {
		return &Error{Faults: []Fault{{Message: "the sample data must be a JSON object"}}}
	}
	for _, path := range v.report.Variables {
		if lacks(data, strings.Split(strings.ReplaceAll(path, "[]", ".[]"), ".")) {
			v.report.Missing = append(v.report.Missing, path)
		}
	}
	return nil
}

// lacks reports whether a path is missing from data, in any item of its lists.
func lacks(data any, path []string) bool {
	if len(path) == 0 {
		return false
	}

	switch value := data.(type) {
	case map[string]any:
		if path[0] == "[]" { // each iterates over the values of an object as well
			for _, item := range value {
				if lacks(item, path[1:]) {
					return true
				}
			}
			return false
		}
		next, ok := value[path[0]]
		return !ok || lacks(next, path[1:])
	case []any:
		if path[0] == "length" {
			return false
		}
		if at, err := strconv.ParseUint(path[0], 10, 32); err == nil {
			return at >= uint64(len(value)) || lacks(value[at], path[1:])
		}
		if path[0] == "[]" {
			path = path[1:]
		}

		// A section iterates over a list as well.
		for _, item := range value {
			if lacks(item, path) {
				return true
			}
		}
		return false
	case nil:
		return path[0] != "[]"
	case string:
		return path[0] != "length" && path[0] != "[]"
	}
	return path[0] != "[]"
}
