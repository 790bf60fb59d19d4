package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// document is the part of an OpenAPI document that the node is made of.
type document struct {
	Tags  []struct{ Name string }
	Paths map[string]map[string]route

	Components struct {
		Schemas    map[string]schema
		Parameters map[string]parameter
		Responses  map[string]response
	}
}

type route struct {
	OperationID string
	Summary     string
	Tags        []string
	Parameters  []parameter
	RequestBody struct {
		Content map[string]struct{ Schema schema }
	}
	Responses map[string]response

	method, path string
}

type parameter struct {
	Ref         string `json:"$ref"`
	Name        string
	In          string
	Description string
	Schema      schema
}

type response struct {
	Ref     string `json:"$ref"`
	Content map[string]any
}

type schema struct {
	Ref         string `json:"$ref"`
	Type        string
	Description string
	Enum        []any
	OneOf       []schema
	Properties  map[string]schema
	Items       *schema
	Required    []string

	Default  any    `json:"x-default"`
	Requires string `json:"x-requires"`
}

// routes returns the operations of a tag, by their names.
func (d *document) routes(tag string) []route {
	var list []route
	for path, methods := range d.Paths {
		for method, r := range methods {
			if slices.Contains(r.Tags, tag) {
				r.method, r.path = strings.ToUpper(method), path
				list = append(list, r)
			}
		}
	}
	slices.SortFunc(list, func(a, b route) int { return strings.Compare(a.OperationID, b.OperationID) })
	return list
}

// resolve follows references. A description next to a reference replaces that of its target.
func (d *document) resolve(s schema) schema {
	for s.Ref != "" {
		target := d.Components.Schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
		if s.Description != "" {
			target.Description = s.Description
		}
		if s.Default != nil {
			target.Default = s.Default
		}
		s = target
	}
	return s
}

func (d *document) parameters(r route) []parameter {
	list := slices.Clone(r.Parameters)
	for i, p := range list {
		if p.Ref != "" {
			list[i] = d.Components.Parameters[p.Ref[strings.LastIndex(p.Ref, "/")+1:]]
		}
	}
	return list
}

// returnsFile reports whether a response of the route can be other than JSON.
func (d *document) returnsFile(r route) bool {
	for status, answer := range r.Responses {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		if answer.Ref != "" {
			answer = d.Components.Responses[answer.Ref[strings.LastIndex(answer.Ref, "/")+1:]]
		}
		for kind := range maps.Keys(answer.Content) {
			if kind != "application/json" {
				return true
			}
		}
	}
	return false
}

// sources returns the fields of which exactly one must be sent, or nil.
func (s schema) sources() []string {
	var names []string
	for _, alternative := range s.OneOf {
		if len(alternative.Required) != 1 {
			return nil
		}
		names = append(names, alternative.Required[0])
	}
	return names
}

// isFile reports whether a schema is an object that names a file: by url, file or fileId.
func (d *document) isFile(s schema) bool {
	_, ok := d.resolve(s).Properties["fileId"]
	return ok
}

// nullable returns the other schema of `oneOf: [X, null]`, or the schema itself.
func (d *document) nullable(s schema) schema {
	if len(s.OneOf) != 2 || s.OneOf[1].Type != "null" {
		return s
	}
	inner := d.resolve(s.OneOf[0])
	inner.Description = s.Description
	return inner
}

// text returns a schema's constant as the text that the node shows.
func text(value any) string {
	if number, ok := value.(float64); ok {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}
