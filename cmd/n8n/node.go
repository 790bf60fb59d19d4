package main

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// omitted are the tags whose routes have no use in a workflow.
var omitted = []string{"service", "mcp"}

// result are the fields of an operation that every operation has, about its result.
var result = []string{"filename", "expiresIn", "maxDownloads", "callbackUrl", "deliverTo", "store", "then"}

// node is the description of the n8n node: its parameters in the order of its form, and its routes.
type node struct {
	document *document

	resources  []object
	operations []object
	parameters []shared
	routes     object
}

// shared is a parameter with the operations that have it.
type shared struct {
	parameter  object
	sources    []any // the sources with which it is shown, or nil
	operations []any
}

func newNode(d *document) *node { return &node{document: d} }

// addOperations adds all routes, by tag.
func (n *node) addOperations() error {
	for _, tag := range n.document.Tags {
		routes := n.document.routes(tag.Name)
		if slices.Contains(omitted, tag.Name) || len(routes) == 0 {
			continue
		}

		var options []any
		for _, r := range routes {
			option, err := n.addRoute(tag.Name, r)
			if err != nil {
				return fmt.Errorf("%s: %w", r.OperationID, err)
			}
			options = append(options, option)
		}

		sortByName(options)
		first, _ := options[0].(object)
		preferred := first.get("value")
		for _, r := range routes {
			if r.OperationID == tag.Name+"_create" {
				preferred = r.OperationID
			}
		}
		n.resources = append(n.resources, object{{"name", title(singular(tag.Name))}, {"value", tag.Name}})
		n.operations = append(n.operations, object{
			{"displayName", "Operation"}, {"name", "operation"}, {"type", "options"}, {"noDataExpression", true},
			{"displayOptions", object{{"show", object{{"resource", []any{tag.Name}}}}}},
			{"options", options}, {"default", preferred},
		})
	}
	return nil
}

// call is what the node has to know of a route to call it.
type call struct {
	sources  []any // fields of which it sends one
	required []any
	query    []any
	json     []any // fields whose values are JSON
	loose    []any // fields whose values are JSON if they look like it
	headers  object
	upload   bool
}

// addRoute adds the parameters of a route, and returns its entry of the list of operations.
func (n *node) addRoute(tag string, r route) (object, error) {
	var c call
	var path []any
	additional := collection{}

	for _, p := range n.document.parameters(r) {
		switch {
		case p.In == "path":
			path = append(path, p.Name)
			n.show(r, nil, n.required(p.Name, p.Description, p.Schema, &c))
		case p.In == "query":
			c.query = append(c.query, p.Name)
			additional.add(n.field(p.Name, p.Name, p.Description, p.Schema, &c))
		case p.Name == "X-Service-Max-Charge-Microdollars":
			c.headers = append(c.headers, pair{"maxChargeMicrodollars", p.Name})
		}
	}

	content := r.RequestBody.Content
	if body, ok := content["application/json"]; ok {
		n.addBody(r, n.document.resolve(body.Schema), &c, additional)
	} else if _, ok := content["application/octet-stream"]; ok {
		c.upload = true
		n.show(r, nil, inputField())
	} else if len(content) > 0 {
		return nil, fmt.Errorf("a body is neither JSON nor a file: %v", slices.Sorted(maps.Keys(content)))
	}

	if len(additional) > 0 {
		n.show(r, nil, additional.parameter("Additional Fields", "additionalFields"))
	}
	if n.document.returnsFile(r) {
		n.show(r, nil, object{
			{"displayName", "Put Output File in Field"}, {"name", "outputField"}, {"type", "string"}, {"default", "data"}, {"required", true},
			{"hint", "The name of the output binary field to put the file in"},
		})
	}

	n.routes = append(n.routes, pair{r.OperationID, c.object(r, path)})
	name := title(strings.TrimPrefix(strings.TrimPrefix(r.OperationID, strings.ReplaceAll(tag, "-", "_")), "_"))
	return object{
		{"name", name}, {"value", r.OperationID}, {"action", action(r.Summary)}, {"description", describe(r.Summary, "")},
	}, nil
}

// addBody adds the parameters of a JSON body: its source, its required fields, and collections of the others.
func (n *node) addBody(r route, body schema, c *call, additional collection) {
	sources := body.sources()
	if sources != nil {
		n.addSources(r, body, sources, c)
	}
	for _, name := range body.Required {
		if !slices.Contains(sources, name) {
			c.required = append(c.required, name)
			n.show(r, nil, n.required(name, body.Properties[name].Description, body.Properties[name], c))
		}
	}

	about := collection{}
	for _, name := range slices.Sorted(maps.Keys(body.Properties)) {
		field := body.Properties[name]
		shape := n.document.resolve(field)
		switch {
		case slices.Contains(sources, name), slices.Contains(body.Required, name), strings.HasPrefix(field.Description, "Ignored"):
		case name == "response":
			n.show(r, nil, responseParameter(shape))
		case name == "options" && len(shape.Properties) > 0:
			n.addOptions(r, shape, c)
		case slices.Contains(result, name):
			about.add(n.field(name, name, field.Description, field, c))
		case shape.Type == "object" && slices.Contains(sources, shape.Requires):
			c.required = append(c.required, name)
			n.show(r, []any{shape.Requires}, n.required(name, field.Description, field, c))
		default:
			additional.add(n.field(name, name, field.Description, field, c))
		}
	}

	if c.headers != nil {
		about.add(object{
			{"displayName", "Max Charge (Microdollars)"}, {"name", "maxChargeMicrodollars"}, {"type", "number"}, {"default", 0},
			{"description", "Maximum price of this call. A call that costs more fails before it starts. 1 USD is 1,000,000 microdollars."},
		})
	}
	if len(about) > 0 {
		n.show(r, nil, about.parameter("Result Options", "resultOptions"))
	}
}

// addSources adds the choice of the source, and a parameter for each source. A file is the item's binary data.
func (n *node) addSources(r route, body schema, sources []string, c *call) {
	binary := slices.Contains(sources, "file")
	var options []any
	for _, name := range sources {
		c.sources = append(c.sources, name)
		label := title(name)
		if name == "file" {
			label = "Binary File"
		}
		options = append(options, object{{"name", label}, {"value", name}})
	}
	sortByName(options)

	preferred := sources[0]
	if binary && !slices.Contains(sources, "html") {
		preferred = "file"
	}
	n.show(r, nil, object{
		{"displayName", "Source"}, {"name", "source"}, {"type", "options"}, {"options", options}, {"default", preferred},
		{"description", "What to make the result of"},
	})

	for _, name := range sources {
		shown := inputField()
		if name != "file" {
			shown = n.required(name, body.Properties[name].Description, body.Properties[name], c)
		}
		n.show(r, []any{name}, shown)
	}
}

// addOptions adds the members of the field options as a collection of their own.
func (n *node) addOptions(r route, options schema, c *call) {
	list := collection{}
	for name, field := range options.Properties {
		list.add(n.field(name, "options."+name, field.Description, field, c))
	}
	n.show(r, nil, list.parameter("Options", "options"))
}

// show adds a parameter to the form of an operation, with a source if the parameter is of one. Operations share
// parameters that are equal.
func (n *node) show(r route, sources []any, parameter object) {
	for i, known := range n.parameters {
		if reflect.DeepEqual(known.parameter, parameter) && reflect.DeepEqual(known.sources, sources) {
			n.parameters[i].operations = append(n.parameters[i].operations, r.OperationID)
			return
		}
	}
	n.parameters = append(n.parameters, shared{parameter, sources, []any{r.OperationID}})
}

// position is the place of a parameter in the form.
func (s shared) position() int {
	switch s.parameter.get("name") {
	case "source":
		return 0
	case "response":
		return 3
	case "outputField":
		return 4
	case "options":
		return 5
	case "additionalFields":
		return 6
	case "resultOptions":
		return 7
	}
	if s.sources != nil {
		return 1
	}
	return 2
}

// properties returns all parameters of the node.
func (n *node) properties() []any {
	resources := make([]any, len(n.resources))
	for i, r := range n.resources {
		resources[i] = r
	}
	sortByName(resources)
	list := []any{object{
		{"displayName", "Resource"}, {"name", "resource"}, {"type", "options"}, {"noDataExpression", true}, {"options", resources}, {"default", "pdf"},
	}}
	for _, o := range n.operations {
		list = append(list, o)
	}

	ordered := slices.Clone(n.parameters)
	slices.SortStableFunc(ordered, func(a, b shared) int { return cmp.Compare(a.position(), b.position()) })
	for _, s := range ordered {
		show := object{{"operation", s.operations}}
		if s.sources != nil {
			show = append(show, pair{"source", s.sources})
		}
		list = append(list, append(slices.Clone(s.parameter), pair{"displayOptions", object{{"show", show}}}))
	}
	return list
}

func sortByName(options []any) {
	slices.SortFunc(options, func(a, b any) int {
		first, _ := a.(object)
		second, _ := b.(object)
		return strings.Compare(strings.ToLower(text(first.get("name"))), strings.ToLower(text(second.get("name"))))
	})
}
