package schema

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
)

// formInput has fields of all kinds.
type formInput struct {
	Common

	HTML           *string           `json:"html,omitempty" jsonschema:"maxLength=10485760" jsonschema_description:"Text."`
	File           File              `json:"file,omitzero" jsonschema_description:"File."`
	SourceFilename string            `json:"sourceFilename,omitempty" jsonschema_description:"Name of the file."`
	Image          *formSource       `json:"image,omitempty" jsonschema_description:"Image."`
	Files          []formSource      `json:"files,omitempty" jsonschema:"maxItems=3" jsonschema_description:"Files."`
	Pages          formPages         `json:"pages,omitzero" jsonschema_description:"Pages."`
	Languages      []string          `json:"languages,omitempty" jsonschema_description:"Languages."`
	Headers        map[string]string `json:"headers,omitempty" jsonschema_description:"Headers."`
	Data           map[string]any    `json:"data,omitempty" jsonschema_description:"Data."`
	Options        formOptions       `json:"options,omitzero" jsonschema_description:"Options."`
}

type formSource struct {
	File     File   `json:"file,omitzero" jsonschema_description:"File."`
	Password string `json:"password,omitempty" jsonschema_description:"Password."`
	Filename string `json:"filename,omitempty" jsonschema_description:"Name."`
}

type formOptions struct {
	Format    string  `json:"format,omitempty" jsonschema_description:"Format."`
	Landscape bool    `json:"landscape,omitempty" jsonschema_description:"Landscape."`
	Scale     float64 `json:"scale,omitempty" jsonschema:"minimum=0.1,maximum=2" jsonschema_description:"Scale."`
	Margin    struct {
		Top formPages `json:"top,omitzero" jsonschema_description:"Top."`
	} `json:"margin,omitzero" jsonschema_description:"Margin."`
}

// formPages is a string or an array of numbers.
type formPages struct{ v any }

func (formPages) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, {Type: "array", Items: &jsonschema.Schema{Type: "integer"}}}}
}

func (p *formPages) SetJSON(v any) error { p.v = v; return nil }

func formOperation(t *testing.T) *Operation[struct{}] {
	t.Helper()
	table, err := NewTable([]Definition[struct{}]{TypedDefinition[struct{}, formInput]{
		Info: Info{Name: "form.read", Summary: "Read a form", Price: 1, Produces: []string{"text/plain"}},
		Run:  func(context.Context, struct{}, *formInput) (Result, error) { return Result{}, nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	return table.Lookup("form.read")
}

// field is a part: a text, or a file where it has a file's name.
type field struct{ name, file, content string }

func formBody(t *testing.T, fields ...field) (body, boundary string) {
	t.Helper()
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for _, f := range fields {
		header := `form-data; name="` + f.name + `"`
		if f.file != "" {
			header += `; filename="` + f.file + `"`
		}
		part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {header}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(part, f.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String(), w.Boundary()
}

// A form is the input that its JSON is, however it is spelled.
func TestFormIsItsJSON(t *testing.T) {
	operation := formOperation(t)
	for _, tt := range []struct {
		fields []field
		json   string
	}{
		{nil, `{}`},
		{[]field{{"html", "", "<p>\"1\"\n"}, {"options.format", "", "A4"}, {"options.landscape", "", "true"}, {"options.scale", "", "0.5"}, {"options.margin.top", "", "10"}},
			`{"html":"<p>\"1\"\n","options":{"format":"A4","landscape":true,"scale":0.5,"margin":{"top":"10"}}}`},
		{[]field{{"html", "page.html", "<p>from a file"}}, `{"html":"<p>from a file"}`},
		{[]field{{"html", "", "17"}}, `{"html":"17"}`},
		{[]field{{"options", "", ` {"format":"A4"} `}, {"data", "", `{"n":[1,{"a":null}]}`}}, `{"options":{"format":"A4"},"data":{"n":[1,{"a":null}]}}`},
		{[]field{{"data.customer.name", "", "Zoë"}, {"headers.X-A", "", "1"}}, `{"data":{"customer":{"name":"Zoë"}},"headers":{"X-A":"1"}}`},
		{[]field{{"languages", "", "eng"}, {"languages", "", "deu"}}, `{"languages":["eng","deu"]}`},
		{[]field{{"languages[0]", "", "eng"}, {"languages[]", "", "deu"}}, `{"languages":["eng","deu"]}`},
		{[]field{{"languages", "", `["eng","deu"]`}}, `{"languages":["eng","deu"]}`},
		{[]field{{"pages", "", "1-3"}}, `{"pages":"1-3"}`},
		{[]field{{"pages", "", "[3,1]"}}, `{"pages":[3,1]}`},
		{[]field{{"file", "letters/may.docx", "content"}}, `{"file":"Y29udGVudA==","sourceFilename":"may.docx"}`},
		{[]field{{"file", "may.docx", "content"}, {"filename", "", "x"}}, `{"file":"Y29udGVudA==","sourceFilename":"may.docx","filename":"x"}`},
		{[]field{{"file", "", "Y29udGVudA=="}}, `{"file":"Y29udGVudA=="}`},
		{[]field{{"image", "a.png", "content"}}, `{"image":{"file":"Y29udGVudA==","filename":"a.png"}}`},
		{[]field{{"files", "a.pdf", "content"}, {"html", "", "between"}, {"files", "css/b.pdf", "more"}, {"files[1].password", "", "p"}},
			`{"html":"between","files":[{"file":"Y29udGVudA==","filename":"a.pdf"},{"file":"bW9yZQ==","filename":"css/b.pdf","password":"p"}]}`},
		{[]field{{"files[0].file", "a.pdf", "content"}, {"files[0].filename", "", "c.pdf"}}, `{"files":[{"file":"Y29udGVudA==","filename":"c.pdf"}]}`},
	} {
		body, boundary := formBody(t, tt.fields...)
		form, err := operation.BindForm(t.Context(), strings.NewReader(body), boundary, Files{})
		if err != nil {
			t.Errorf("%v: %v", tt.fields, err)
			continue
		}
		plain, err := operation.Bind(t.Context(), strings.NewReader(tt.json), Files{})
		if err != nil {
			t.Fatalf("%s: %v", tt.json, err)
		}
		var got, want bytes.Buffer
		if err := errors.Join(form.WriteInput(&got), plain.WriteInput(&want), form.Close(), plain.Close()); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("%v is\n%s, want\n%s", tt.fields, got.String(), want.String())
		}
	}
}

func TestFormFaults(t *testing.T) {
	operation := formOperation(t)
	many := slices.Repeat([]field{{"languages", "", "eng"}}, maxFormParts+1)
	for _, tt := range []struct {
		fields []field
		want   string
	}{
		{[]field{{"options.scale", "", "9"}, {"options.landscape", "", "maybe"}}, `options.landscape must be true or false; got "maybe"|options.scale must be between 0.1 and 2; got 9`},
		{[]field{{"optoins.scale", "", "9"}}, `optoins is not a known field; did you mean options?`},
		{[]field{{"unknown", "a.txt", "9"}}, `unknown is not a known field`},
		{[]field{{"html", "", "\xff"}}, `html is not valid JSON in UTF-8 (at byte 9)`},
		{[]field{{"html", "", "a"}, {"html", "", "b"}}, `html is given more than once`},
		{[]field{{"options", "", `{`}}, `options must be an object`},
		{[]field{{"files[2].password", "", "a"}}, `files[2].password has a gap before this index`},
		{[]field{{"a..b", "", "a"}}, `a..b is not a valid field name`},
		{[]field{{"file", "", "not base64!"}}, `file must be`},
		{many, "must have at most 2000 form parts"},
	} {
		body, boundary := formBody(t, tt.fields...)
		_, err := operation.BindForm(t.Context(), strings.NewReader(body), boundary, Files{})
		var faults FieldErrors
		if !errors.As(err, &faults) {
			t.Errorf("%.100v: %v, want faults", tt.fields, err)
			continue
		}
		var said []string
		for _, fault := range faults {
			said = append(said, strings.TrimSpace(fault.Field+" "+fault.Message))
		}
		if got := strings.Join(said, "|"); !strings.Contains(got, tt.want) {
			t.Errorf("%.100v: %s, want %s", tt.fields, got, tt.want)
		}
	}
	body, boundary := formBody(t, field{"html", "", "whole"})
	for _, cut := range []int{0, 10, len(body) / 2, len(body) - 6} {
		var faults FieldErrors
		if _, err := operation.BindForm(t.Context(), strings.NewReader(body[:cut]), boundary, Files{}); !errors.As(err, &faults) {
			t.Errorf("cut after %d bytes: %v, want a fault", cut, err)
		}
	}
}

// The limits of a form are those of JSON, and its files are freed.
func TestFormLimits(t *testing.T) {
	operation := formOperation(t)
	sinks := &countedSinks{}
	files := Files{Open: sinks.open, Limit: 10}
	for name, fields := range map[string][]field{
		"file":         {{"file", "a", strings.Repeat("x", 11)}},
		"image.file":   {{"image", "a", strings.Repeat("x", 11)}},
		"files[].file": {{"files", "a", "short"}, {"files", "a", strings.Repeat("x", 11)}},
	} {
		body, boundary := formBody(t, fields...)
		_, err := operation.BindForm(t.Context(), strings.NewReader(body), boundary, files)
		var size *SizeError
		if !errors.As(err, &size) || size.Field != name || size.Limit != 10 {
			t.Errorf("%s: %v, want a size error", name, err)
		}
	}
	body, boundary := formBody(t, field{"file", "a", strings.Repeat("x", 10)})
	call, err := operation.BindForm(t.Context(), strings.NewReader(body), boundary, files)
	if err != nil {
		t.Fatal(err)
	}
	if err := call.Close(); err != nil {
		t.Fatal(err)
	}
	if sinks.opened == 0 || sinks.opened != sinks.closed {
		t.Errorf("%d files were opened, %d closed", sinks.opened, sinks.closed)
	}
	gone := errors.New("connection lost")
	body, boundary = formBody(t, field{"file", "a", "12345"})
	_, err = operation.BindForm(t.Context(), io.MultiReader(strings.NewReader(body[:len(body)-30]), &brokenReader{gone}), boundary, files)
	if !errors.Is(err, gone) {
		t.Errorf("a body that breaks off: %v, want %v", err, gone)
	}
}

type countedSinks struct{ opened, closed int }

func (c *countedSinks) open() Sink { c.opened++; return &countedSink{of: c} }

type countedSink struct {
	memory
	of *countedSinks
}

func (s *countedSink) Close() error { s.of.closed++; return nil }

type brokenReader struct{ err error }

func (b *brokenReader) Read([]byte) (int, error) { return 0, b.err }
