package template

import (
	"github.com/dop251/goja"
)

// Helpers that a document calls once for each of its values are Go functions for the common
// case. All other cases, and all errors, fall back to the JavaScript helper of the same
// name, which also reports the error and its place.

// nativeHelper is a helper in Go: (arguments, at least one, and hash) → value.
type nativeHelper func(r *renders, args []goja.Value, hash map[string]goja.Value) (goja.Value, error)

// nativeHelpers are helpers by their names.
var nativeHelpers = makeNativeHelpers()

func makeNativeHelpers() map[string]nativeHelper {
	helpers := map[string]nativeHelper{
		"eq": func(r *renders, args []goja.Value, _ map[string]goja.Value) (goja.Value, error) {
			return r.vm.ToValue(equal(args[0], second(args))), nil
		},
		"ne": func(r *renders, args []goja.Value, _ map[string]goja.Value) (goja.Value, error) {
			return r.vm.ToValue(!equal(args[0], second(args))), nil
		},
	}

	for _, name := range []string{"formatDate", "formatNumber", "formatCurrency", "ordinal", "plural"} {
		helpers[name] = func(r *renders, args []goja.Value, hash map[string]goja.Value) (goja.Value, error) {
			text, err := r.format.format(name, args, hash)
			return r.vm.ToValue(text), err
		}
	}
	for _, name := range []string{"add", "subtract", "multiply", "divide", "mod", "round"} {
		helpers[name] = func(r *renders, args []goja.Value, _ map[string]goja.Value) (goja.Value, error) {
			return arithmetic(r.vm, name, args)
		}
	}
	return helpers
}

func second(args []goja.Value) goja.Value {
	if len(args) < 2 {
		return goja.Undefined()
	}
	return args[1]
}

// helper is (name, the helper in JavaScript) → the helper that a template calls.
func (r *renders) helper(call goja.FunctionCall) goja.Value {
	native := r.native[call.Argument(0).String()]
	slow, ok := goja.AssertFunction(call.Argument(1))
	if native == nil || !ok {
		return call.Argument(1)
	}

	return r.vm.ToValue(func(call goja.FunctionCall) goja.Value {
		if last := len(call.Arguments) - 1; last > 0 {
			if options, ok := call.Arguments[last].(*goja.Object); ok && missing(options.Get("fn")) {
				if v, err := native(r, call.Arguments[:last], r.fields(options.Get("hash"))); err == nil {
					return v
				}
			}
		}
		return r.callJS(slow, call)
	})
}

// reader is (Handlebars' lookupProperty) → the function that reads fields. An own field of plain data may always
// be read. Fields from the prototype, and names that the prototype also has, are judged by Handlebars.
func (r *renders) reader(call goja.FunctionCall) goja.Value {
	slow, ok := goja.AssertFunction(call.Argument(0))
	if !ok {
		return call.Argument(0)
	}

	prototype := func(of string) *goja.Object {
		return r.vm.GlobalObject().Get(of).ToObject(r.vm).Get("prototype").ToObject(r.vm)
	}
	objects := prototype("Object")
	arrays := prototype("Array")

	return r.vm.ToValue(func(call goja.FunctionCall) goja.Value {
		parent, isObject := call.Argument(0).(*goja.Object)
		key, isText := call.Argument(1).(goja.String)
		if !isObject || !isText {
			return r.callJS(slow, call)
		}

		name := key.String()
		switch above := parent.Prototype(); {
		case above == nil && name != "constructor",
			above == objects && objects.Get(name) == nil,
			above == arrays && arrays.Get(name) == nil:
			if v := parent.Get(name); v != nil {
				return v
			}
			return goja.Undefined()
		}
		return r.callJS(slow, call)
	})
}

// escaper is (Handlebars' escapeExpression) → the function that escapes output.
func (r *renders) escaper(call goja.FunctionCall) goja.Value {
	slow, ok := goja.AssertFunction(call.Argument(0))
	if !ok {
		return call.Argument(0)
	}

	return r.vm.ToValue(func(call goja.FunctionCall) goja.Value {
		if _, ok := call.Argument(0).(goja.String); ok {
			return r.escape(call)
		}
		if text, ok := isNumeral(call.Argument(0)); ok {
			return r.vm.ToValue(text)
		}
		return r.callJS(slow, call)
	})
}

// callJS calls a function of JavaScript as it would have been called.
func (r *renders) callJS(slow goja.Callable, call goja.FunctionCall) goja.Value {
	v, err := slow(call.This, call.Arguments...)
	if err != nil {
		panic(err)
	}
	return v
}
