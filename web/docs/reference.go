package docs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/views"
)

// openAPI is the part of an OpenAPI document that the reference shows.
type openAPI struct {
	Security   []map[string][]string          `json:"security"`
	Paths      map[string]map[string]endpoint `json:"paths"`
	Components struct {
		Schemas    map[string]schema    `json:"schemas"`
		Parameters map[string]parameter `json:"parameters"`
		Headers    map[string]struct {
			Example any `json:"example"`
		} `json:"headers"`
		Responses map[string]response `json:"responses"`
		Examples  map[string]struct {
			Value json.RawMessage `json:"value"`
		} `json:"examples"`
	} `json:"components"`
}

type reference struct {
	Ref string `json:"$ref"`
}

// response is a response of an endpoint, or a reference to one.
type response struct {
	Ref         string               `json:"$ref"`
	Description string               `json:"description"`
	Headers     map[string]reference `json:"headers"`
	Content     map[string]struct {
		Schema   schema               `json:"schema"`
		Examples map[string]reference `json:"examples"` // by the names of their schemas
	} `json:"content"`
}

type endpoint struct {
	ID          string                `json:"operationId"`
	Summary     string                `json:"summary"`
	Description string                `json:"description"`
	Tags        []string              `json:"tags"`
	Security    []map[string][]string `json:"security"` // by default that of the document
	Parameters  []parameter           `json:"parameters"`
	Body        *struct {
		Content map[string]struct {
			Schema   schema               `json:"schema"`
			Example  json.RawMessage      `json:"example"`
			Examples map[string]reference `json:"examples"` // one, if other operations have it too
		} `json:"content"`
	} `json:"requestBody"`
	Responses map[string]response `json:"responses"`
	Price     *int64              `json:"x-relaypdf-price-microdollars"`
	// of the example, if that is not the price
	Charge      *int64 `json:"x-relaypdf-example-charge-microdollars"`
	Unavailable string `json:"x-relaypdf-unavailable"`
}

type parameter struct {
	Ref         string `json:"$ref"`
	Name        string `json:"name"`
	In          string `json:"in"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
	Schema      schema `json:"schema"`
}

type schema struct {
	Ref             string          `json:"$ref"`
	Type            json.RawMessage `json:"type"`
	Format          string          `json:"format"`
	ContentEncoding string          `json:"contentEncoding"`
	Description     string          `json:"description"`
	Properties      members         `json:"properties"`
	Required        []string        `json:"required"`
	Items           *schema         `json:"items"`
	OneOf           []schema        `json:"oneOf"`
	AnyOf           []schema        `json:"anyOf"`
	Enum            []any           `json:"enum"`
	Default         any             `json:"x-default"`
	Common          bool            `json:"x-common"`   // most calls set it
	Requires        string          `json:"x-requires"` // the source without which the field is refused
	Minimum         json.Number     `json:"minimum"`
	Maximum         json.Number     `json:"maximum"`
	MinLength       json.Number     `json:"minLength"`
	MaxLength       json.Number     `json:"maxLength"`
	MinItems        json.Number     `json:"minItems"`
	MaxItems        json.Number     `json:"maxItems"`
}

// member is a field of an object, members all of them in the document's order.
type member struct {
	name   string
	schema schema
}

type members []member

// UnmarshalJSON keeps the order of an object's members.
func (m *members) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return err
	}

	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}

		one := member{name: fmt.Sprint(name)}
		if err := dec.Decode(&one.schema); err != nil {
			return err
		}
		*m = append(*m, one)
	}
	return nil
}

// operations reads the reference from the document that openAPIText returns.
func operations(address string, openAPIText func() ([]byte, error)) ([]views.Operation, error) {
	text, err := openAPIText()
	if err != nil {
		return nil, err
	}

	var doc openAPI
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("docs: the OpenAPI document: %w", err)
	}

	var list []views.Operation
	for path, methods := range doc.Paths {
		for method, e := range methods {
			if e.Security == nil {
				e.Security = doc.Security
			}
			o, err := doc.operation(address, strings.ToUpper(method), path, e)
			if err != nil {
				return nil, fmt.Errorf("docs: %s %s: %w", method, path, err)
			}
			list = append(list, o)
		}
	}

	slices.SortFunc(list, func(a, b views.Operation) int {
		return cmp.Or(
			cmp.Compare(tagPlace(a.Tag), tagPlace(b.Tag)), cmp.Compare(a.Path, b.Path),
			cmp.Compare(methodPlace(a.Method), methodPlace(b.Method)),
		)
	})
	return list, nil
}

// tags are the groups of the reference in order.
var tags = []string{
	"pdf", "images", "convert", "email", "barcodes", "zip", "pipelines", "templates", "files", "fonts",
	"jobs", "webhooks", "connections", "signing-identities", "mcp", "billing", "account", "service",
}

func tagPlace(tag string) int { return slices.Index(tags, tag) }

func methodPlace(method string) int {
	return slices.Index(
		[]string{http.MethodPost, http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodDelete}, method,
	)
}

var parameterOfPath = regexp.MustCompile(`\{\w+\}`)

var errorLine = regexp.MustCompile("`([a-z_]+)`: (.*)")

// needsKey reports whether the endpoint requires a key: every request meets an empty requirement.
func (e endpoint) needsKey() bool {
	return len(e.Security) > 0 &&
		!slices.ContainsFunc(e.Security, func(r map[string][]string) bool { return len(r) == 0 })
}

// placed writes the parameters of a path in capitals, where readers put values of
// their own: /v1/files/ID.
func placed(path string) string {
	return strings.NewReplacer("{", "", "}", "").Replace(parameterOfPath.ReplaceAllStringFunc(path, strings.ToUpper))
}

func (d *openAPI) operation(address, method, path string, e endpoint) (views.Operation, error) {
	o := views.Operation{
		ID:          e.ID,
		Method:      method,
		Path:        path,
		Summary:     e.Summary,
		Description: e.Description,
		NeedsKey:    e.needsKey(),
		Off:         e.Unavailable != "",
	}

	if len(e.Tags) > 0 {
		o.Tag = e.Tags[0]
	}
	if e.Price != nil {
		price := credit.Amount(*e.Price)
		o.Price = &price
		// Pages write amounts in one way.
		o.Description = strings.Replace(o.Description, price.String(), views.Dollars(price), 1)
	}

	id := anchor(path)
	for _, p := range e.Parameters {
		if name, ok := strings.CutPrefix(p.Ref, "#/components/parameters/"); ok {
			p = d.Components.Parameters[name]
		}
		field := d.field(p.Name, p.Schema, p.Required)
		field.Description = cmp.Or(p.Description, field.Description)
		field.In = p.In
		field.ID = id + "-" + p.In + "-" + p.Name
		o.Params = append(o.Params, field)
	}

	r := Request{Method: method, URL: address + placed(path), NoKey: !o.NeedsKey}
	if e.Body != nil {
		for media, content := range e.Body.Content {
			if media != "application/json" {
				r.Upload = true
				continue
			}

			for _, shared := range content.Examples {
				content.Example = d.Components.Examples[schemaName(shared.Ref)].Value
			}
			o.Fields = d.fields("", id, content.Schema)
			if o.Price != nil {
				o.Inputs = d.inputs(content.Schema)
				o.Example = content.Example
			}
			if len(content.Example) > 0 {
				r.Body = string(content.Example)
			}
		}
		r.Upload = r.Upload && r.Body == ""
	}

	for status, response := range e.Responses {
		response = d.response(response)
		if status >= "400" {
			for _, found := range errorLine.FindAllStringSubmatch(response.Description, -1) {
				o.Errors = append(o.Errors, views.ErrorDoc{Status: status, Code: found[1], Text: found[2]})
			}
			continue
		}

		answer := views.AnswerDoc{Status: status, Description: response.Description}
		for media, content := range response.Content {
			if media == anyMedia {
				continue // The description has it.
			}
			answer.Types = append(answer.Types, media)
			if media == "application/json" {
				answer.Forms = d.forms(id+"-"+status, content.Schema)
			}
		}
		slices.Sort(answer.Types)
		o.Answers = append(o.Answers, answer)
	}

	slices.SortFunc(o.Errors, func(a, b views.ErrorDoc) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Code, b.Code))
	})
	slices.SortFunc(o.Answers, func(a, b views.AnswerDoc) int { return cmp.Compare(a.Status, b.Status) })

	r.File = resultFile(o)
	o.ResultFile = r.File
	if r.Body != "" {
		body, err := layOut(r.Body)
		if err != nil {
			return o, err
		}
		r.Body = body
	}

	o.Samples = unmarked(r)
	o.Responses = d.responses(o, e)
	return o, nil
}

// anyMedia is the content type of results of steps after a call.
const anyMedia = "*/*"

// anchor returns the beginning of the anchors of an endpoint: that of /v1/pdf/form/fill is pdf-form-fill.
func anchor(path string) string {
	return strings.NewReplacer("/", "-", "{", "", "}", "").Replace(strings.Trim(strings.TrimPrefix(path, "/v1"), "/"))
}

// maxLine is the length up to which a JSON body is one line of a sample.
const maxLine = 60

// layOut writes JSON in one line if it is short, or else indented.
func layOut(text string) (string, error) {
	var body bytes.Buffer
	if err := json.Compact(&body, []byte(text)); err != nil || body.Len() <= maxLine {
		return body.String(), err
	}
	body.Reset()
	err := json.Indent(&body, []byte(text), "", "  ")
	return body.String(), err
}

// endings maps operations to the extensions of their files.
var endings = map[string]string{
	"application/pdf": ".pdf", "image/png": ".png", "application/zip": ".zip", "image/webp": ".webp",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
	"application/octet-stream": "", // of any kind
}

// resultFile names the file of an operation's first response, if it is one.
func resultFile(o views.Operation) string {
	if len(o.Answers) == 0 {
		return ""
	}

	stem := o.ID[strings.LastIndexByte(o.ID, '_')+1:]
	if stem == "create" || stem == "get" {
		stem = "result"
	}
	if o.ID == "convert_create" {
		return stem + ".xlsx"
	}

	for _, media := range []string{
		"application/pdf", "image/png", "application/zip", "image/webp", "application/octet-stream",
	} {
		if slices.Contains(o.Answers[0].Types, media) {
			return stem + endings[media]
		}
	}
	return ""
}

// resolve follows the references of a schema.
func (d *openAPI) resolve(s schema) schema {
	name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/")
	if !ok {
		return s
	}

	meant := d.resolve(d.Components.Schemas[name])
	if s.Description != "" { // What is at its use is more specific.
		meant.Description = s.Description
		meant.Default = s.Default
		meant.Common = s.Common
		meant.Requires = s.Requires
	}
	return meant
}

// response follows a reference to a response.
func (d *openAPI) response(r response) response {
	if r.Ref == "" {
		return r
	}
	return d.Components.Responses[schemaName(r.Ref)]
}

// fields lists the members of an object, with their members. An anchor begins with that of the object.
func (d *openAPI) fields(prefix, id string, s schema) []views.FieldDoc {
	s = d.resolve(s)
	var list []views.FieldDoc
	for _, alternative := range slices.Concat(s.AnyOf, s.OneOf) {
		list = append(list, d.fields(prefix, id, alternative)...)
	}

	for _, m := range s.Properties {
		inner := d.resolve(m.schema)
		name := prefix + m.name
		f := d.field(name, inner, slices.Contains(s.Required, m.name))
		f.ID = id + "-" + m.name
		switch {
		case inner.Format != "" && prefix != "": // an e-invoice, whose members pdf.facturx lists
		case len(inner.Properties) > 0:
			f.Fields = d.fields(name+".", f.ID, inner)
		case inner.Items != nil && strings.Count(name, "[]") < 2:
			f.Fields = d.fields(name+"[].", f.ID, *inner.Items)
		}
		list = append(list, f)
	}

	return list
}

// forms lists the objects of which a JSON response is one.
func (d *openAPI) forms(id string, s schema) []views.AnswerForm {
	if len(s.AnyOf) == 0 {
		if fields := d.fields("", id, s); len(fields) > 0 {
			return []views.AnswerForm{{Name: schemaName(s.Ref), Fields: fields}}
		}
	}

	var list []views.AnswerForm
	for _, alternative := range s.AnyOf {
		name := schemaName(alternative.Ref)
		list = append(list, views.AnswerForm{Name: name, Fields: d.fields("", id+"-"+name, alternative)})
	}
	return list
}

// schemaName returns the name of the component that a reference points to.
func schemaName(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

func (d *openAPI) field(name string, s schema, required bool) views.FieldDoc {
	s = d.resolve(s)
	f := views.FieldDoc{Name: name, Type: d.typeOf(s), Required: required, Description: s.Description}

	var limits []string
	choice := "one of "
	enum := s.Enum
	if s.Items != nil {
		choice = "each one of "
		enum = d.resolve(*s.Items).Enum
	}

	if len(enum) > 0 {
		var values []string
		for _, v := range enum {
			values = append(values, fmt.Sprint(v))
		}
		limits = append(limits, choice+strings.Join(values, ", "))
	}

	for _, bound := range []string{
		bound(s.Description, s.Minimum, s.Maximum, ""),
		bound(s.Description, s.MinLength, s.MaxLength, " characters"),
		bound(s.Description, s.MinItems, s.MaxItems, " items"),
	} {
		if bound != "" {
			limits = append(limits, bound)
		}
	}

	if s.Default != nil {
		limits = append(limits, fmt.Sprintf("default %v", s.Default))
		f.Description = strings.TrimSpace(strings.TrimSuffix(f.Description, fmt.Sprintf("Default: %v.", s.Default)))
	}
	f.Limits = strings.Join(limits, "; ")
	return f
}

// bound returns the range of a number or of a count. It is empty if the description contains the range.
func bound(description string, low, high json.Number, of string) string {
	little := low == "" || low == "0" || low == "1"
	switch {
	case low == "" && high == "",
		high != "" && little && named(description, high),
		named(description, low) && (high == "" || named(description, high)):
		return ""
	case high == "" && low == "1" && of != "":
		return "not empty"
	case high == "":
		return "at least " + grouped(low) + of
	case low == "", low == "0" && of != "":
		return "at most " + grouped(high) + of
	}
	return "from " + grouped(low) + " to " + grouped(high) + of
}

// grouped writes a whole number as pages do, with its thousands apart.
func grouped(n json.Number) string {
	if count, err := n.Int64(); err == nil {
		return views.Digits(count)
	}
	return n.String()
}

// named reports whether a text contains a number as a limit, or a number of bytes in MiB.
func named(text string, n json.Number) bool {
	text = strings.ReplaceAll(text, ",", "")
	if n == "" || !strings.Contains(text, n.String()) && !strings.Contains(text, "MiB") {
		return false // without a regular expression of its own, which takes long for every field
	}

	one := regexp.QuoteMeta(n.String())
	if count, err := n.Int64(); err == nil && count > 0 && count%(1<<20) == 0 {
		one += fmt.Sprintf("|%d MiB", count>>20)
	}
	end := regexp.MustCompile(`(?i)\b(from|least|most|to) (` + one + `)\b|\b(` + one + `)\w* (to|at most|at least)\b`)
	return end.MatchString(text)
}

// listed returns the name of a list's item type: objects, numbers or strings.
func listed(kind string) string {
	if kind == "any" {
		return "anything"
	}
	return strings.ReplaceAll(kind, " or ", "s or ") + "s"
}

// typeOf writes the type of a value: string, number or string, list of objects.
func (d *openAPI) typeOf(s schema) string {
	s = d.resolve(s)
	var one string
	var several []string
	switch {
	case json.Unmarshal(s.Type, &one) == nil && one == "array" && s.Items != nil:
		return "list of " + listed(d.typeOf(*s.Items))
	case one != "":
		return one
	case json.Unmarshal(s.Type, &several) == nil && len(several) > 0:
		return strings.Join(several, " or ")
	}

	for _, alternative := range slices.Concat(s.OneOf, s.AnyOf) {
		several = append(several, d.typeOf(alternative))
	}
	slices.Sort(several)
	return cmp.Or(strings.Join(slices.Compact(several), " or "), "any")
}
