package main

import (
	"regexp"
	"slices"
	"strings"
)

// collection is a list of optional parameters, of which users add those that they need.
type collection map[string]object

func (c collection) add(parameter object) { c[text(parameter.get("name"))] = parameter }

func (c collection) parameter(label, name string) object {
	var options []any
	for _, parameter := range c {
		options = append(options, parameter)
	}
	slices.SortFunc(options, func(a, b any) int {
		first, _ := a.(object)
		second, _ := b.(object)
		return strings.Compare(strings.ToLower(text(first.get("displayName"))), strings.ToLower(text(second.get("displayName"))))
	})

	placeholder := "Add Field"
	if strings.HasSuffix(label, "Options") {
		placeholder = "Add option"
	}
	return object{{"displayName", label}, {"name", name}, {"type", "collection"}, {"placeholder", placeholder}, {"default", object{}}, {"options", options}}
}

// inputField is the parameter that names the item's binary data.
func inputField() object {
	return object{
		{"displayName", "Input Binary Field"}, {"name", "inputField"}, {"type", "string"}, {"default", "data"}, {"required", true},
		{"hint", "The name of the input binary field containing the file"},
	}
}

// responseParameter is the choice of the form of the result.
func responseParameter(s schema) object {
	labels := map[string]string{"binary": "File or JSON", "url": "URL of the File", "async": "Job"}
	var options []any
	for _, value := range s.Enum {
		options = append(options, object{{"name", labels[text(value)]}, {"value", value}})
	}
	sortByName(options)
	return object{
		{"displayName", "Response"}, {"name", "response"}, {"type", "options"}, {"options", options}, {"default", s.Default},
		{"description", "Form of the result. A job is returned before its result exists: get it by the resource Job."},
	}
}

// required returns the parameter of a field that must be sent.
func (n *node) required(name, description string, s schema, c *call) object {
	parameter := n.field(name, name, description, s, c)
	return slices.Insert(parameter, 4, pair{"required", true})
}

// secret matches the names whose values n8n hides.
var secret = regexp.MustCompile(`(?i)(password|secret|token|apikey)`)

// field returns the parameter of a field. path is the field's place in the body.
func (n *node) field(name, path, description string, s schema, c *call) object {
	s = n.document.nullable(n.document.resolve(s))
	if description == "" {
		description = s.Description
	}
	kind, fallback := n.kind(s)
	if kind == "string" && strings.HasSuffix(strings.ToLower(name), "color") {
		kind = "color"
	}
	parameter := object{{"displayName", title(name)}, {"name", name}, {"type", kind}, {"default", fallback}}

	switch kind {
	case "json":
		c.json = append(c.json, path)
		if n.hasFiles(s) {
			description = strings.TrimSuffix(description, ".") + `. {"binary": "data"} is the file of the binary field data.`
		}
	case "string":
		if s.Type != "string" {
			c.loose = append(c.loose, path)
		}
		if secret.MatchString(name) {
			parameter = append(parameter, pair{"typeOptions", object{{"password", true}}})
		}
	case "options":
		parameter = append(parameter, pair{"options", choices(s)})
	}

	if name == "limit" {
		parameter.set("default", 50)
		parameter = append(parameter, pair{"typeOptions", object{{"minValue", 1}}})
		description = "Max number of results to return"
	}
	if said := describe(description, kind); said != "" && said != title(name) {
		parameter = append(parameter, pair{"description", said})
	}
	return parameter
}

// kind returns n8n's type of a schema, and the default of its parameter.
func (n *node) kind(s schema) (kind string, fallback any) {
	switch {
	case len(s.Enum) > 0 && len(s.Enum) < 100:
		fallback = s.Enum[0]
		if s.Default != nil {
			fallback = s.Default
		}
		return "options", fallback
	case s.Type == "boolean":
		on, _ := s.Default.(bool)
		return "boolean", on
	case s.Type == "integer", s.Type == "number":
		number, _ := s.Default.(float64)
		return "number", number
	case s.Type == "array":
		if n.hasFiles(s) {
			return "json", `[{"binary": "data"}]`
		}
		return "json", "[]"
	case s.Type == "object" && n.document.isFile(s):
		return "json", `{"binary": "data"}`
	case s.Type == "object":
		return "json", "{}"
	}
	fallback = ""
	if value, ok := s.Default.(string); ok {
		fallback = value
	}
	return "string", fallback
}

// hasFiles reports whether a value of the schema is a file or a list of files.
func (n *node) hasFiles(s schema) bool {
	return n.document.isFile(s) || s.Items != nil && n.document.isFile(*s.Items)
}

func choices(s schema) []any {
	var options []any
	for _, value := range s.Enum {
		name, ok := value.(string)
		switch {
		case !ok:
			name = text(value)
		case strings.ToLower(name) == name:
			name = title(name)
		}
		options = append(options, object{{"name", name}, {"value", value}})
	}
	sortByName(options)
	return options
}
