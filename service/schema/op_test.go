package schema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
)

type sampleOptions struct {
	Scale  float64           `json:"scale,omitempty" jsonschema:"minimum=0.1,maximum=2" jsonschema_description:"Zoom."`
	Wait   string            `json:"wait,omitempty" jsonschema:"enum=load,enum=idle" jsonschema_description:"When."`
	Margin map[string]string `json:"margin,omitempty" jsonschema_description:"Margins."`
	Width  length            `json:"width,omitempty" jsonschema_description:"Width."`
}

type length struct{ Text string }

func (length) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "number"}, {Type: "string"}}, Description: "A length."}
}

func (l *length) SetJSON(v any) error {
	l.Text = fmt.Sprint(v)
	return nil
}

type samplePart struct {
	Page int `json:"page" jsonschema:"required,minimum=1" jsonschema_description:"Page."`
}

type sampleInput struct {
	Common

	HTML    *string        `json:"html,omitempty" jsonschema_description:"Source."`
	URL     *string        `json:"url,omitempty" jsonschema_description:"Source."`
	Data    map[string]any `json:"data,omitempty" jsonschema_description:"Data."`
	Parts   []samplePart   `json:"parts,omitempty" jsonschema:"maxItems=2" jsonschema_description:"Parts."`
	Options *sampleOptions `json:"options,omitempty" jsonschema_description:"Options."`
}

func (in *sampleInput) Validate() error {
	if in.HTML != nil && in.URL != nil {
		return FieldErrors{{Field: "url", Message: "cannot be combined with html"}}
	}
	if in.HTML != nil && len(*in.HTML) > 1000 {
		return &SizeError{Field: "html", Limit: 1000}
	}
	return nil
}

var got sampleInput

func sampleSpec() TypedDefinition[struct{}, sampleInput] {
	html := "<p>Hello</p>"
	return TypedDefinition[struct{}, sampleInput]{
		Info:    Info{Name: "sample.create", Summary: "Make a sample", Price: 5, Produces: []string{"text/plain"}},
		Example: sampleInput{HTML: &html},
		Run: func(_ context.Context, _ struct{}, in *sampleInput) (Result, error) {
			got = *in
			return Result{}, nil
		},
	}
}

func sampleOperation(t *testing.T) *Operation[struct{}] {
	t.Helper()
	table, err := NewTable([]Definition[struct{}]{sampleSpec()})
	if err != nil {
		t.Fatal(err)
	}
	return table.Lookup("sample.create")
}

func TestBindListsEveryFault(t *testing.T) {
	operation := sampleOperation(t)
	for body, want := range map[string][]string{
		`{"options":{"scale":9}}`:                      {"options.scale must be between 0.1 and 2; got 9"},
		`{"options":{"wait":"soon"}}`:                  {`options.wait must be one of load, idle; got "soon"`},
		`{"options":{"scale":9,"wait":"x"},"html":4}`:  {"html must be a string; got 4", "options.scale must be between 0.1 and 2; got 9", `options.wait must be one of load, idle; got "x"`},
		`{"optoins":{}}`:                               {"optoins is not a known field; did you mean options?"},
		`{"scale":1}`:                                  {"scale is not a known field; did you mean options.scale?"},
		`{"options":{"scael":1}}`:                      {"options.scael is not a known field; did you mean options.scale?"},
		`{"yyyyyy":1,"zzzzzz":1}`:                      {"yyyyyy is not a known field. Allowed fields: html, url, data, parts, options, filename, response, expiresIn, maxDownloads, callbackUrl, deliverTo, store, then", "zzzzzz is not a known field"},
		`{"name":"x"}`:                                 {"name is not a known field; did you mean filename?"},
		`{"zzzzzz":1}`:                                 {"zzzzzz is not a known field. Allowed fields: html, url, data, parts, options, filename, response, expiresIn, maxDownloads, callbackUrl, deliverTo, store, then"},
		`{"parts":[{"page":0},{}]}`:                    {"parts[0].page must be at least 1; got 0", "parts[1].page is required"},
		`{"parts":[{"page":1.5}]}`:                     {"parts[0].page must be a whole number, at least 1; got 1.5"},
		`{"parts":[null]}`:                             {"parts[0] must be an object with page; got null"},
		`{"parts":[{"page":1},{"page":1},{"page":1}]}`: {"parts must be an array of at most 2 items; got an array of 3 items"},
		`{"options":{"width":true}}`:                   {"options.width must be a number, or a string; got true"},
		`{"options":{"margin":{"top":3}}}`:             {"options.margin.top must be a string; got 3"},
		`{"html":"a","url":"b"}`:                       {"url cannot be combined with html"},
		`{"html":"a","url":7}`:                         {"url must be a string; got 7"},
		`{"response":"stream"}`:                        {`response must be one of binary, url, async; got "stream"`},
		`[1]`:                                          {" must be an object; got an array of 1 item"},
		`"x"`:                                          {` must be an object; got "x"`},
		`{"html":"a","html":"b"}`:                      {"html is given more than once"},
		`{"options":{"scale":1,"scale":2}}`:            {"options.scale is given more than once"},
		`{} {}`:                                        {" must be exactly one JSON object; remove the text after it"},
		`{"html":"` + "\xff" + `"}`:                    {"html is not valid JSON in UTF-8 (at byte 9)"},
		"{\n  \"html\": \"a\nb\"}":                     {`html has a line break in a string (at line 2, column 13); write it as \n`},
		"{\n\n \"html\": x}":                           {"html is not valid JSON in UTF-8 (at line 3, column 10)"},
		`{"html":"\ud800"}`:                            {"html is not valid JSON in UTF-8 (at byte 9)"},
		`{"html":`:                                     {" is incomplete: the JSON is cut off"},
		``:                                             {" is incomplete: the JSON is cut off"},
		`{"data":{"n":1e999}}`:                         {"data.n must be a number within the range of a 64-bit float"},
		`{"data":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`: {" is nested too deeply: at most 64 levels"},
	} {
		_, err := operation.Bind(t.Context(), strings.NewReader(body), Files{})
		var faults FieldErrors
		if !errors.As(err, &faults) {
			t.Errorf("%s: error %v, want faults", body, err)
			continue
		}
		var texts []string
		for _, fault := range faults {
			texts = append(texts, fault.Field+" "+fault.Message)
		}
		if !reflect.DeepEqual(texts, want) {
			t.Errorf("%s:\n got %q\nwant %q", body, texts, want)
		}
	}
}

func TestBindAcceptsRequestsOfClients(t *testing.T) {
	operation := sampleOperation(t)
	for _, body := range []string{
		`{"html":"a"}`, `{"html":"a","url":null,"options":null,"unknown":null}`, `{"html":"a","options":[]}`, `[]`,
		`{"html":"a","options":{"margin":[],"scale":null}}`, `{"html":"a","data":[]}`, `{"parts":[{"page":1.0}]}`,
		`{"data":{"n":12345678901234567890}}`, ` {"html":"\ud83d\ude00"} `,
	} {
		if _, err := operation.Bind(t.Context(), strings.NewReader(body), Files{}); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestBindFillsTheInput(t *testing.T) {
	call, err := sampleOperation(t).Bind(t.Context(), strings.NewReader(
		`{"filename":"a.txt","response":"url","html":"x","data":{"a":null,"b":[1,2.5]},"parts":[{"page":2}],
		  "options":{"scale":1.5,"margin":{"top":"1cm","left":null},"width":12}}`), Files{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call.Run(t.Context(), struct{}{}); err != nil {
		t.Fatal(err)
	}
	html := "x"
	want := sampleInput{
		Common: Common{Filename: "a.txt", Response: URL}, HTML: &html,
		Data:  map[string]any{"a": nil, "b": []any{int64(1), json.Number("2.5")}},
		Parts: []samplePart{{Page: 2}},
		Options: &sampleOptions{
			Scale: 1.5, Margin: map[string]string{"top": "1cm"}, Width: length{"12"},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDigestComparesMeaning(t *testing.T) {
	operation := sampleOperation(t)
	digest := func(body string) string {
		call, err := operation.Bind(t.Context(), strings.NewReader(body), Files{})
		if err != nil {
			t.Fatal(err)
		}
		sum, err := call.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return string(sum)
	}
	first := digest(`{"html":"a","options":{"scale":1}}`)
	if second := digest(` { "options" : {"scale":1,"wait":null}, "url":null, "html":"\u0061" } `); second != first {
		t.Error("the same request, spelled another way, has another digest")
	}
	if other := digest(`{"html":"a","options":{"scale":2}}`); other == first {
		t.Error("another request has the same digest")
	}
}

func TestBindReportsAFieldOverItsSize(t *testing.T) {
	_, err := sampleOperation(t).Bind(t.Context(), strings.NewReader(`{"html":"`+strings.Repeat("x", 1001)+`"}`), Files{})
	var size *SizeError
	if !errors.As(err, &size) || size.Field != "html" {
		t.Errorf("got %v, want a SizeError on html", err)
	}
}

func TestNamesDerive(t *testing.T) {
	for name, want := range map[string][2]string{
		"pdf.create":      {"/v1/pdf", "pdf_create"},
		"pdf.merge":       {"/v1/pdf/merge", "pdf_merge"},
		"pdf.form.fill":   {"/v1/pdf/form/fill", "pdf_form_fill"},
		"pdf.from-images": {"/v1/pdf/from-images", "pdf_from_images"},
	} {
		info := Info{Name: name}
		if info.Path() != want[0] || info.Tool() != want[1] {
			t.Errorf("%s: %s %s, want %v", name, info.Path(), info.Tool(), want)
		}
	}
}

func TestTableRefusesBadRows(t *testing.T) {
	for want, change := range map[string]func(*TypedDefinition[struct{}, sampleInput]){
		"is free":                func(s *TypedDefinition[struct{}, sampleInput]) { s.Info.Price = 0 },
		"not words":              func(s *TypedDefinition[struct{}, sampleInput]) { s.Info.Name = "Sample" },
		"lacks a summary":        func(s *TypedDefinition[struct{}, sampleInput]) { s.Info.Summary = "" },
		"its example is invalid": func(s *TypedDefinition[struct{}, sampleInput]) { s.Example.URL = s.Example.HTML },
	} {
		spec := sampleSpec()
		change(&spec)
		if _, err := NewTable([]Definition[struct{}]{spec}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	if _, err := NewTable([]Definition[struct{}]{sampleSpec(), sampleSpec()}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("two rows of one name: %v", err)
	}
	type bare struct {
		Common
		Field string `json:"field,omitempty"`
	}
	undescribed := TypedDefinition[struct{}, bare]{
		Info: sampleSpec().Info, Run: func(context.Context, struct{}, *bare) (Result, error) { return Result{}, nil },
	}
	if _, err := NewTable([]Definition[struct{}]{undescribed}); err == nil || !strings.Contains(err.Error(), "field field has no description") {
		t.Errorf("a field without a description: %v", err)
	}
}

func FuzzBind(f *testing.F) {
	operation, err := sampleSpec().compile(nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{`{"html":"a"}`, `{"options":{"scale":9}}`, `[]`, `{"a":{"b":[[{}]]}}`, `{"parts":[{"page":1e400}]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		_, err := operation.Bind(t.Context(), strings.NewReader(body), Files{})
		var faults FieldErrors
		var size *SizeError
		if err != nil && !errors.As(err, &faults) && !errors.As(err, &size) {
			t.Errorf("%q: %v is neither faults nor a size", body, err)
		}
		if err != nil && len(faults) == 0 && size == nil {
			t.Errorf("%q: empty faults", body)
		}
	})
}

// change is a member whose null clears a value.
type change struct {
	said  bool
	value any
}

func (change) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "integer"}, {Type: "null"}}, Description: "A number, or null for none."}
}

func (c *change) SetJSON(v any) error {
	*c = change{true, v}
	return nil
}

type patch struct {
	Limit change  `json:"limit,omitzero" jsonschema_description:"Limit."`
	Name  *string `json:"name,omitempty" jsonschema_description:"Name."`
}

// TestPatchDistinguishesNullFromAbsent holds it for shapes and for the bodies of routes.
func TestPatchDistinguishesNullFromAbsent(t *testing.T) {
	shape, err := NewShape[patch]()
	if err != nil {
		t.Fatal(err)
	}
	request, err := NewRequest[patch]()
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]change{
		`{}`: {}, `{"name":null}`: {}, `{"limit":null}`: {said: true}, `{"limit":7}`: {true, int64(7)}, `{"limit":0,"name":null}`: {true, int64(0)},
	} {
		shaped, err := shape.Bind(t.Context(), strings.NewReader(body))
		if err != nil || shaped.Limit != want || shaped.Name != nil {
			t.Errorf("%s is bound as %+v (%v), want the limit %+v and no name", body, shaped, err, want)
		}
		asked, err := request.Bind(t.Context(), nil, strings.NewReader(body))
		if err != nil || asked.Limit != want || asked.Name != nil {
			t.Errorf("the route's %s is bound as %+v (%v), want the limit %+v and no name", body, asked, err, want)
		}
	}
}

// TestUncheckedKeywords checks that a type does not compile if its schema has a keyword that no input is checked for.
func TestUncheckedKeywords(t *testing.T) {
	t.Parallel()
	type unique struct {
		Names []string `json:"names" jsonschema:"uniqueItems=true"`
	}
	type inner struct {
		Step float64 `json:"step" jsonschema:"multipleOf=2"`
	}
	type nested struct {
		List []inner `json:"list"`
	}
	type extension struct {
		Name string `json:"name" jsonschema_extras:"x-other=true"`
	}
	for keyword, compile := range map[string]func() error{
		"uniqueItems": func() error { _, err := NewShape[unique](); return err },
		"multipleOf":  func() error { _, err := NewShape[nested](); return err },
		"x-other":     func() error { _, err := NewShape[extension](); return err },
	} {
		if err := compile(); err == nil || !strings.Contains(err.Error(), "the keyword "+keyword+" is not") {
			t.Errorf("%s: %v", keyword, err)
		}
	}
}
