package template

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/relaypdf/relaypdf/render/barcode"
	"github.com/relaypdf/relaypdf/render/markup"
)

// images holds the uploaded files that a template shows, as data URIs.
type images map[string]string

// renders is one render under way, in a realm that no other account uses.
type renders struct {
	realm
	// fill is the realm's function (program's value, data, names of partials, strict) → document. empty
	// is the function that drops the state of the latest document.
	fill, empty goja.Callable
	native      map[string]nativeHelper
	numerals    map[string]goja.Value // of the document, by their texts
	count       int                   // of documents

	ctx     context.Context
	call    *Call
	account string
	cache   *cache
	format  formatter
	images  images
	wanted  []string // images that are not there
	missing []Missing
	seen    map[Missing]bool
}

// newRenders makes a realm that is ready to render, which takes as long as a small
// document does.
func newRenders(native map[string]nativeHelper) (*renders, error) {
	p, err := loadPrograms()
	if err != nil {
		return nil, err
	}

	r := &renders{
		realm:    realm{vm: goja.New()},
		native:   native,
		seen:     map[Missing]bool{},
		numerals: map[string]goja.Value{},
	}
	hb, err := handlebars(r.vm, p.runtime)
	if err != nil {
		return nil, err
	}

	setUp, err := function(r.vm, p.render)
	if err != nil {
		return nil, err
	}

	limits := r.vm.NewObject()
	err = errors.Join(limits.Set("items", maxItems), limits.Set("depth", maxDepth), limits.Set("text", 2*maxOutput))
	if err != nil {
		return nil, err
	}
	v, err := setUp(goja.Undefined(), hb, r.host(), limits)
	if err != nil {
		return nil, err
	}

	object := v.ToObject(r.vm)
	if r.fill, err = callable(object.Get("fill")); err != nil {
		return nil, err
	}
	r.empty, err = callable(object.Get("empty"))
	return r, err
}

// forget drops the state of a document.
func (r *renders) forget() {
	if _, err := r.empty(goja.Undefined()); err != nil {
		panic(err) // it assigns, and nothing else
	}
	r.ctx = nil
	r.call = nil
	r.images = nil
	r.wanted = nil
	r.missing = nil
	r.cause = nil
	clear(r.seen)
	clear(r.numerals)
}

// render fills a template. If it shows images that were not given, it returns their names instead of the document.
func (c *cache) render(
	ctx context.Context, account string, call *Call, given images,
) (html string, wanted []string, err error) {
	if err := call.check(); err != nil {
		return "", nil, err
	}

	r, err := c.realms.take(account)
	if err != nil {
		return "", nil, err
	}
	defer c.realms.makeNext()

	r.ctx = ctx
	r.call = call
	r.account = account
	r.cache = c
	r.images = given
	if r.format, err = newFormatter(call.Locale, call.Zone); err != nil {
		return "", nil, err
	}

	main, err := r.program(call.HTML, "")
	if err != nil {
		return "", nil, err
	}
	html, err = r.run(main)
	switch {
	case err != nil:
		return "", nil, r.locate(err)
	case len(r.missing) > 0:
		return "", nil, &MissingError{Paths: r.missing}
	case len(r.wanted) > 0:
		return "", r.wanted, nil
	case len(html) > maxOutput:
		return "", nil, &LimitError{
			Message: fmt.Sprintf("The filled template must be at most %d bytes. Send less data.", maxOutput),
		}
	}

	c.realms.keep(r)
	return markup.WithContents(html), nil, nil
}

// check holds a call to the limits of its parts.
func (c *Call) check() error {
	size := len(c.HTML)
	for _, partial := range c.Partials {
		size += len(partial)
	}

	switch {
	case size > maxSource:
		return &LimitError{
			Message: fmt.Sprintf("The template and its partials must be at most %d bytes in total.", maxSource),
		}
	case len(c.Data) > maxData:
		return &LimitError{Message: fmt.Sprintf("templateData must be at most %d bytes.", maxData)}
	}
	return nil
}

// program returns a source's program, from the cache if it is there.
func (r *renders) program(source, partial string) (*goja.Program, error) {
	key := digestOf(r.account, source, r.call.Strict)
	if found := r.cache.get(key); found != nil {
		return found, nil
	}

	program, err := compileSource(r.ctx, source, partial, r.call.Strict)
	if err != nil {
		return nil, err
	}
	r.cache.put(key, len(source), program)
	return program, nil
}

// run fills the template.
func (r *renders) run(main *goja.Program) (string, error) {
	data, err := r.data(string(r.call.Data))
	if err != nil {
		return "", err
	}

	var partials []any
	for _, name := range slices.Sorted(maps.Keys(r.call.Partials)) {
		partials = append(partials, name)
	}

	defer r.guard(r.ctx, maxTime, "Rendering the template")()
	out, err := r.try(func() (goja.Value, error) {
		spec, err := r.vm.RunProgram(main)
		if err != nil {
			return nil, err
		}
		return r.fill(goja.Undefined(), spec, data, r.vm.NewArray(partials...), r.vm.ToValue(r.call.Strict))
	})
	if err != nil {
		return "", thrown(err)
	}
	return out.String(), nil
}

// host returns the functions that the realm may call. They are functions of values, without side effects.
func (r *renders) host() *goja.Object {
	h := r.vm.NewObject()
	set := func(name string, value any) {
		if err := h.Set(name, value); err != nil {
			panic(err) // the object is new and plain
		}
	}

	set("partial", r.partial)
	set("fail", r.fail)
	set("limit", func(call goja.FunctionCall) goja.Value {
		r.stop(&LimitError{Message: call.Argument(0).String()})
		return nil
	})
	set("unknown", func(call goja.FunctionCall) goja.Value {
		return r.vm.ToValue(unknownHelper(call.Argument(0).String()))
	})
	set("missing", r.lacks)
	set("helper", r.helper)
	set("reader", r.reader)
	set("escaper", r.escaper)
	set("format", r.formatted)
	set("arithmetic", r.arithmetic)
	set("compare", func(call goja.FunctionCall) goja.Value {
		return r.vm.ToValue(compare(call.Argument(0), call.Argument(1)))
	})
	set("equal", func(call goja.FunctionCall) goja.Value {
		return r.vm.ToValue(equal(call.Argument(0), call.Argument(1)))
	})
	set("order", func(call goja.FunctionCall) goja.Value {
		return r.vm.ToValue(order(call.Argument(0), call.Argument(1)))
	})
	set("contents", func(call goja.FunctionCall) goja.Value {
		return r.vm.ToValue(markup.ContentsMark(int(call.Argument(0).ToInteger())))
	})
	set("markdown", r.markdown)
	set("barcode", r.barcode)
	set("image", r.image)
	set("numeral", func(call goja.FunctionCall) goja.Value { return r.numeral(call.Argument(0).String()) })
	set("mark", rand.Text())

	return h
}

// partial gives the compiled form of a partial.
func (r *renders) partial(call goja.FunctionCall) goja.Value {
	name := call.Argument(0).String()
	program, err := r.program(r.call.Partials[name], name)
	if err != nil {
		r.stop(err)
	}

	spec, err := r.vm.RunProgram(program)
	if err != nil {
		r.stop(err)
	}
	return spec
}

// fail ends the render with a fault: (message, partial, line, column).
func (r *renders) fail(call goja.FunctionCall) goja.Value {
	fault := Fault{Message: call.Argument(0).String(), Partial: call.Argument(1).String()}
	if line := int(call.Argument(2).ToInteger()); line > 0 {
		fault.Line = line
		fault.Column = int(call.Argument(3).ToInteger()) + 1
	}
	r.stop(&Error{Faults: []Fault{fault}})
	return nil
}

// lacks notes a missing path: (path, context's path, partial, line, column, end
// line, end column).
func (r *renders) lacks(call goja.FunctionCall) goja.Value {
	number := func(i int) int { return int(call.Argument(i).ToInteger()) }
	found := Missing{Path: call.Argument(0).String()}
	found.Partial = call.Argument(2).String()
	found.Line = number(3)
	found.Column = number(4) + 1

	if found.Path == "" {
		source := r.call.HTML
		if found.Partial != "" {
			source = r.call.Partials[found.Partial]
		}
		found.Path = excerpt(source, number(3), number(4), number(5), number(6))
		if base := call.Argument(1).String(); base != "" && plainPath(found.Path) {
			found.Path = base + "." + found.Path
		}
	}

	found.Path = strings.TrimPrefix(found.Path, "@root.")
	found.Message = fmt.Sprintf("the data has no %s", found.Path)
	if !r.seen[found] && len(r.missing) < maxMissing {
		r.seen[found] = true
		r.missing = append(r.missing, found)
	}
	return goja.Undefined()
}

// plainPath reports whether a path of the source begins at the context.
func plainPath(path string) bool {
	return !strings.HasPrefix(path, "@") && !strings.HasPrefix(path, ".") && !strings.HasPrefix(path, "this")
}

// complain calls the function with which a helper reports a fault at its place.
func (r *renders) complain(with goja.Value, err error) {
	report, ok := goja.AssertFunction(with)
	if !ok {
		r.stop(err)
	}
	if _, thrown := report(goja.Undefined(), r.vm.ToValue(err.Error())); thrown != nil {
		panic(thrown)
	}
}

// elements returns the elements of a JavaScript array.
func (r *renders) elements(v goja.Value) []goja.Value {
	object, ok := v.(*goja.Object)
	if !ok {
		return nil
	}

	n := int(object.Get("length").ToInteger())
	values := make([]goja.Value, 0, min(n, 1<<16))
	for i := range n {
		values = append(values, object.Get(strconv.Itoa(i)))
	}
	return values
}

// fields returns the own fields of an object.
func (r *renders) fields(v goja.Value) map[string]goja.Value {
	object, ok := v.(*goja.Object)
	if !ok {
		return nil
	}

	values := map[string]goja.Value{}
	for _, key := range object.Keys() {
		values[key] = object.Get(key)
	}
	return values
}

// formatted is (name, arguments, hash, fault).
func (r *renders) formatted(call goja.FunctionCall) goja.Value {
	text, err := r.format.format(call.Argument(0).String(), r.elements(call.Argument(1)), r.fields(call.Argument(2)))
	if err != nil {
		r.complain(call.Argument(3), err)
	}
	return r.vm.ToValue(text)
}

// arithmetic is (name, arguments, fault).
func (r *renders) arithmetic(call goja.FunctionCall) goja.Value {
	v, err := arithmetic(r.vm, call.Argument(0).String(), r.elements(call.Argument(1)))
	if err != nil {
		r.complain(call.Argument(2), err)
	}
	return v
}

func (r *renders) markdown(call goja.FunctionCall) goja.Value {
	html, err := markup.MarkdownFragment([]byte(call.Argument(0).String()))
	if err != nil {
		r.stop(err)
	}
	return r.vm.ToValue(string(html))
}

// barcode is (type, text, hash, fault).
func (r *renders) barcode(call goja.FunctionCall) goja.Value {
	hash := r.fields(call.Argument(2))
	request := barcode.Request{
		Type:   barcode.Type(call.Argument(0).String()),
		Text:   call.Argument(1).String(),
		Format: barcode.SVG,
		Scale:  3,
	}

	if scale := hash["scale"]; !missing(scale) {
		request.Scale = int(scale.ToInteger())
	}
	if text := hash["includetext"]; !missing(text) {
		request.IncludeText = text.ToBoolean()
	}

	svg, err := barcode.Make(request)
	var content *barcode.ContentError
	switch {
	case errors.As(err, &content):
		err = errors.New("the text " + content.Message)
	case errors.Is(err, barcode.ErrType):
		err = fmt.Errorf("type must be one of qr, code128, code39, ean13, upca, pdf417, datamatrix; got %.20q",
			request.Type)
	case errors.Is(err, barcode.ErrScale):
		err = fmt.Errorf("scale must be from %d to %d; got %d", barcode.MinScale, barcode.MaxScale, request.Scale)
	}

	if err != nil {
		r.complain(call.Argument(3), err)
	}
	return r.vm.ToValue(strings.TrimSpace(string(svg)))
}

// image gives an upload's data URI, or notes that it is wanted.
func (r *renders) image(call goja.FunctionCall) goja.Value {
	id := call.Argument(0).String()
	uri, ok := r.images[id]
	if !ok && !slices.Contains(r.wanted, id) {
		if len(r.wanted) == maxImages {
			r.stop(&LimitError{Message: fmt.Sprintf("The template must use at most %d images.", maxImages)})
		}
		r.wanted = append(r.wanted, id)
	}
	return r.vm.ToValue(uri)
}

// maxImages is the maximum number of uploads that one document shows.
const maxImages = 100

// locate gives a place to a fault of a partial's name, which Handlebars throws
// without one.
func (r *renders) locate(err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Faults[0].Line > 0 {
		return err
	}

	name, ok := strings.CutPrefix(e.Faults[0].Message, "The partial ")
	if !ok {
		return err
	}
	name, _, _ = strings.Cut(name, " could not be found")

	c, failed := newCompiler()
	if failed != nil {
		return err
	}
	defer c.guard(r.ctx, maxCompile, "Looking for the partial")()

	for partial, source := range r.sources() {
		tree, fault, failed := c.parse(source)
		if failed != nil || fault != nil {
			continue
		}

		uses, failed := c.analyse(tree, nil)
		if failed != nil {
			continue
		}
		for _, use := range uses.Partials {
			if use.Name == name {
				e.Faults[0] = Fault{
					Message: unknownPartial(name, slices.Sorted(maps.Keys(r.call.Partials))),
					Line:    use.Line,
					Column:  use.Column + 1,
					Partial: partial,
				}
				return e
			}
		}
	}
	return err
}

// sources iterates over the template and its partials.
func (r *renders) sources() func(yield func(partial, source string) bool) {
	return func(yield func(partial, source string) bool) {
		if !yield("", r.call.HTML) {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(r.call.Partials)) {
			if !yield(name, r.call.Partials[name]) {
				return
			}
		}
	}
}
