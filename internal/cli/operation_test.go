package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/invopop/jsonschema"
	"golang.org/x/sys/unix"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/spool"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/credit"
)

// The rows below have every kind of field and source that a schema can
// describe. doc.create, doc.read and doc.merge answer with their input, as the
// service understood it.

type docInput struct {
	schema.Common
	HTML     *string    `json:"html,omitempty" jsonschema_description:"Source."`
	URL      *string    `json:"url,omitempty" jsonschema_description:"Source."`
	Markdown *string    `json:"markdown,omitempty" jsonschema_description:"Source."`
	Title    string     `json:"title,omitempty" jsonschema_description:"Outer title."`
	Options  docOptions `json:"options,omitzero" jsonschema_description:"Options."`
}

type docOptions struct {
	Scale            float64           `json:"scale,omitempty" jsonschema:"minimum=0.1,maximum=2,default=1" jsonschema_description:"Zoom."`
	Copies           int               `json:"copies,omitempty" jsonschema_description:"Copies."`
	Landscape        bool              `json:"landscape,omitempty" jsonschema_description:"Turned."`
	PrintBackground  *bool             `json:"printBackground,omitempty" jsonschema:"default=true" jsonschema_description:"Colours."`
	Media            string            `json:"media,omitempty" jsonschema:"enum=print,enum=screen,default=print" jsonschema_description:"Medium."`
	Width            docLength         `json:"width,omitzero" jsonschema_description:"Width."`
	Title            string            `json:"title,omitempty" jsonschema_description:"Inner title."`
	Margin           docMargin         `json:"margin,omitzero" jsonschema_description:"Margins."`
	ExtraHTTPHeaders map[string]string `json:"extraHTTPHeaders,omitempty" jsonschema_description:"Headers."`
	Cookies          []docCookie       `json:"cookies,omitempty" jsonschema_description:"Cookies."`
	Languages        []string          `json:"languages,omitempty" jsonschema_description:"Languages."`
	Data             map[string]any    `json:"data,omitempty" jsonschema_description:"Data."`
}

type docMargin struct {
	Top string `json:"top,omitempty" jsonschema_description:"Top."`
}

type docCookie struct {
	Name  string `json:"name" jsonschema:"required" jsonschema_description:"Name."`
	Value string `json:"value" jsonschema:"required" jsonschema_description:"Value."`
}

// docLength is a number or a string.
type docLength struct{ v any }

func (docLength) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}}}
}

func (l *docLength) SetJSON(v any) error {
	if _, ok := v.(bool); ok {
		return errors.New("the schema let a boolean pass")
	}
	l.v = v
	return nil
}

func (l docLength) IsZero() bool { return l.v == nil }

// MarshalJSON shows the type that the service decoded, too.
func (l docLength) MarshalJSON() ([]byte, error) { return json.Marshal(fmt.Sprintf("%T %v", l.v, l.v)) }

type docFile struct {
	URL      string `json:"url,omitempty" jsonschema_description:"Address."`
	File     string `json:"file,omitempty" jsonschema_description:"Base64."`
	Filename string `json:"filename,omitempty" jsonschema_description:"Name."`
}

type readInput struct {
	schema.Common
	URL            *string  `json:"url,omitempty" jsonschema_description:"Source."`
	HTML           *string  `json:"html,omitempty" jsonschema_description:"Source."`
	File           *string  `json:"file,omitempty" jsonschema_description:"Source."`
	SourceFilename string   `json:"sourceFilename,omitempty" jsonschema_description:"Name."`
	Image          *docFile `json:"image,omitempty" jsonschema_description:"Stamp."`
}

type mergeInput struct {
	schema.Common
	Files []docFile `json:"files" jsonschema:"required" jsonschema_description:"Files."`
}

type printInput struct {
	schema.Common
	HTML string `json:"html" jsonschema:"required" jsonschema_description:"Source; an error's code makes it fail so."`
}

type drawInput struct {
	schema.Common
	HTML string `json:"html" jsonschema:"required" jsonschema_description:"Source; many makes an archive."`
	Type string `json:"type,omitempty" jsonschema:"enum=png,enum=jpeg,default=png" jsonschema_description:"Format."`
}

// reflectInput answers a call with its input.
func reflectInput[In any](_ context.Context, _ *operation.Deps, in *In) (schema.Result, error) {
	return schema.Result{Stem: "input", JSON: in}, nil
}

func docInfo(name string, produces ...string) schema.Info {
	return schema.Info{Name: name, Summary: "Answer with the input", Price: 2000, Produces: produces}
}

// docRows returns the rows; wait, if not nil, is called by each doc.print.
func docRows(wait func()) []schema.Definition[*operation.Deps] {
	text := "x"
	return []schema.Definition[*operation.Deps]{
		schema.TypedDefinition[*operation.Deps, docInput]{Info: docInfo("doc.create", "application/json"), Example: docInput{HTML: &text}, Run: reflectInput[docInput]},
		schema.TypedDefinition[*operation.Deps, readInput]{Info: docInfo("doc.read", "application/json"), Example: readInput{File: &text}, Run: reflectInput[readInput]},
		schema.TypedDefinition[*operation.Deps, mergeInput]{Info: docInfo("doc.merge", "application/json"), Example: mergeInput{Files: []docFile{{File: "eA=="}}}, Run: reflectInput[mergeInput]},
		schema.TypedDefinition[*operation.Deps, printInput]{
			Info: docInfo("doc.print", "application/pdf"), Example: printInput{HTML: "x"},
			Run: func(_ context.Context, _ *operation.Deps, in *printInput) (schema.Result, error) {
				if wait != nil {
					wait()
				}
				for _, code := range wire.Codes() {
					if in.HTML == string(code) {
						return schema.Result{}, &wire.Error{Code: code}
					}
				}
				return schema.Result{
					Stem: "printed", Extension: ".pdf", ContentType: "application/pdf", Body: spool.FromBytes([]byte("%PDF-" + in.HTML)),
				}, nil
			},
		},
		schema.TypedDefinition[*operation.Deps, drawInput]{
			Info: docInfo("doc.draw", "image/png", "image/jpeg", "application/zip"), Example: drawInput{HTML: "x"},
			Run: func(_ context.Context, _ *operation.Deps, in *drawInput) (schema.Result, error) {
				if in.HTML == "many" {
					return schema.Result{Stem: "drawn", Extension: ".zip", ContentType: "application/zip", Body: spool.FromBytes([]byte("PK"))}, nil
				}
				kind := cmp.Or(in.Type, "png")
				return schema.Result{Stem: "drawn", Extension: "." + kind, ContentType: "image/" + kind, Body: spool.FromBytes([]byte(kind))}, nil
			},
		},
	}
}

// bench is a running service with the rows, and a client for it.
type bench struct {
	*apitest.Server
	t    testing.TB
	rows []schema.Definition[*operation.Deps]
}

func newBench(t testing.TB, wait func()) *bench {
	t.Helper()
	rows := docRows(wait)
	server := apitest.New(t, apitest.Options{Operations: rows, Change: func(c *apitest.Settings) { c.NoRateLimits = true }})
	return &bench{server, t, rows}
}

// run runs a command line as a client with the service's key.
func (b *bench) run(stdin string, args ...string) ran {
	b.t.Helper()
	return runRows(b.t, b.rows, stdin, append(args, "--api-url", b.URL, "--api-key", b.Secret)...)
}

// spent returns the account's total charges so far.
func (b *bench) spent() credit.Amount {
	b.t.Helper()
	account, err := b.Store.Account(b.t.Context(), b.Account.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	return apitest.Trial - account.Balance
}

type object = map[string]any

// TestInputs compares the input sent to the service with the command line.
func TestInputs(t *testing.T) {
	b := newBench(t, nil)
	html, data := sharedtest.WriteFile(t, "page.html", "\uFEFF<p>hi"), sharedtest.WriteFile(t, "data.json", `{"n":[1,null]}`)
	docx := sharedtest.WriteFile(t, "report.docx", "PK\x03\x04\xff")
	inBase64 := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for _, tt := range []struct {
		name  string
		stdin string
		args  []string
		want  object
	}{
		{"html file", "", []string{"doc", "create", html}, object{"html": "<p>hi"}},
		{"short form", "", []string{"doc", html}, object{"html": "<p>hi"}},
		{"short form with a flag before", "", []string{"doc", "--scale", "1.5", html}, object{"html": "<p>hi", "options": object{"scale": 1.5}}},
		{"markdown file", "", []string{"doc", sharedtest.WriteFile(t, "a.MD", "# hi")}, object{"markdown": "# hi"}},
		{"text is markdown", "", []string{"doc", sharedtest.WriteFile(t, "a.txt", "hi")}, object{"markdown": "hi"}},
		{"markup without a name for it", "", []string{"doc", sharedtest.WriteFile(t, "a.txt", " <!DOCTYPE html>")}, object{"html": " <!DOCTYPE html>"}},
		{"markdown by flag", "", []string{"doc", "--markdown", html}, object{"markdown": "<p>hi"}},
		{"stdin", "<b>", []string{"doc", "-"}, object{"html": "<b>"}},
		{"stdin is html", "plain", []string{"doc", "-"}, object{"html": "plain"}},
		{"markdown from stdin", "plain", []string{"doc", "-", "--markdown"}, object{"markdown": "plain"}},
		{"address", "", []string{"doc", "HTTPS://example.com/a?b=c"}, object{"url": "HTTPS://example.com/a?b=c"}},
		{"shortcut", "", []string{"doc", sharedtest.WriteFile(t, "a.url", "[InternetShortcut]\r\nURL=https://example.com/\r\n")}, object{"url": "https://example.com/"}},
		{"bare shortcut", "", []string{"doc", sharedtest.WriteFile(t, "a.url", "https://example.com/")}, object{"url": "https://example.com/"}},
		{"flags", "", []string{
			"doc", html, "--scale=0.5", "--copies", "3", "--landscape", "--print-background=false", "--media", "screen", "--width", "96",
			"--margin-top", "2cm", "--title", "outer", "--options-title", "inner", "--filename", "x",
			"--extra-http-headers", "X-A=1=2", "--extra-http-headers", "X-B=", "--languages", "eng", "--languages", "a,b",
			"--cookies", `{"name":"a","value":"b"}`, "--cookies", `{"name":"c","value":"d"}`, "--data", "@" + data,
		}, object{
			"html": "<p>hi", "title": "outer", "filename": "x", "options": object{
				"scale": 0.5, "copies": 3.0, "landscape": true, "printBackground": false, "media": "screen", "width": "int64 96",
				"margin": object{"top": "2cm"}, "title": "inner", "extraHTTPHeaders": object{"X-A": "1=2", "X-B": ""},
				"languages": []any{"eng", "a,b"}, "data": object{"n": []any{1.0, nil}},
				"cookies": []any{object{"name": "a", "value": "b"}, object{"name": "c", "value": "d"}},
			},
		}},
		{"one of two types", "", []string{"doc", html, "--width", "5cm"}, object{"html": "<p>hi", "options": object{"width": "string 5cm"}}},
		{"text from a file", "", []string{"doc", html, "--title", "@" + sharedtest.WriteFile(t, "t", "from file")}, object{"html": "<p>hi", "title": "from file"}},
		{"plain at", "", []string{"doc", html, "--title", "@@home"}, object{"html": "<p>hi", "title": "@home"}},
		{"json", "", []string{"doc", "--json", `{"html":"j","options":{"copies":2}}`}, object{"html": "j", "options": object{"copies": 2.0}}},
		{"json from a file", "", []string{"doc", "--json", sharedtest.WriteFile(t, "r.json", `{"html":"j"}`)}, object{"html": "j"}},
		{"json from stdin", `{"html":"j"}`, []string{"doc", "--json", "-"}, object{"html": "j"}},
		{"flags override json", "", []string{"doc", "--json", `{"html":"j","title":"a","options":{"copies":2,"scale":1}}`, "--title", "b", "--copies", "4"},
			object{"html": "j", "title": "b", "options": object{"copies": 4.0, "scale": 1.0}}},
		{"a source overrides json", "", []string{"doc", "--json", `{"url":"https://a","title":"a"}`, html}, object{"html": "<p>hi", "title": "a"}},
		{"any file", "", []string{"doc", "read", docx}, object{"file": inBase64("PK\x03\x04\xff"), "sourceFilename": "report.docx"}},
		{"html beside file", "", []string{"doc", "read", html}, object{"html": "<p>hi"}},
		{"file within", "", []string{"doc", "read", docx, "--image", html},
			object{"file": inBase64("PK\x03\x04\xff"), "sourceFilename": "report.docx", "image": object{"file": inBase64("\uFEFF<p>hi"), "filename": "page.html"}}},
		{"files", "", []string{"doc", "merge", docx, "https://example.com/x.pdf"},
			object{"files": []any{object{"file": inBase64("PK\x03\x04\xff"), "filename": "report.docx"}, object{"url": "https://example.com/x.pdf"}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := b.run(tt.stdin, tt.args...)
			if r.code != 0 {
				t.Fatalf("got %+v", r)
			}
			if got := decodeJSON[object](t, r.out); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestFlagsOfSeveralTypes reads values whose text is also that of another type.
func TestFlagsOfSeveralTypes(t *testing.T) {
	bookmark := func(title string) any { return object{"title": title, "page": int64(1)} }
	for _, tt := range []struct {
		schema *jsonschema.Schema
		texts  []string
		want   any
	}{
		{operation.Pages{}.JSONSchema(), []string{"1"}, "1"},
		{operation.Pages{}.JSONSchema(), []string{"2-3,1"}, "2-3,1"},
		{operation.Pages{}.JSONSchema(), []string{"[3,1]"}, []any{int64(3), int64(1)}},
		{operation.Position{}.JSONSchema(), []string{"top"}, "top"},
		{operation.Position{}.JSONSchema(), []string{`{"x":1}`}, object{"x": int64(1)}},
		{operation.Bookmarks{}.JSONSchema(), []string{`{"title":"a","page":1}`, `{"title":"b","page":1}`}, []any{bookmark("a"), bookmark("b")}},
		{operation.Bookmarks{}.JSONSchema(), []string{`[{"title":"a","page":1},{"title":"b","page":1}]`}, []any{bookmark("a"), bookmark("b")}},
	} {
		f := &field{schema: tt.schema}
		for _, text := range tt.texts {
			if err := f.Set(text); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
		if !reflect.DeepEqual(f.value, tt.want) {
			t.Errorf("%q: got %#v, want %#v", tt.texts, f.value, tt.want)
		}
	}
}

// TestOperationMistakes are refused before anything is paid.
func TestOperationMistakes(t *testing.T) {
	b := newBench(t, nil)
	html, there := sharedtest.WriteFile(t, "page.html", "<p>"), sharedtest.WriteFile(t, "there.pdf", "kept")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"doc", "print", html, "-o", there}, "exists already; overwrite it with --force, or name another file with --output"},
		{[]string{"doc", "print", html, "-o", "y.jpg"}, "--output y.jpg: relaypdf doc print makes .pdf; name the file y.pdf"},
		{[]string{"doc", "draw", html, "-o", "y.pdf"}, "makes .png, .jpg, .jpeg or .zip; name the file y.png"},
		{[]string{"doc", "draw", html, "-o", "y.png", "--type", "jpeg"}, "the request asks for .jpg; name the file y.jpg, or leave --type out"},
		{[]string{"doc", "create", html, "-o", "y.txt"}, "makes .json; name the file y.json"},
		{[]string{"doc", "print", html, "-o", filepath.Join(filepath.Dir(there), "none", "y.pdf")}, "the folder " + filepath.Join(filepath.Dir(there), "none") + " does not exist"},
		{[]string{"doc", "print", sharedtest.WriteFile(t, "a.pdf", "%PDF-1.7\n")}, "is a PDF already. What takes one: relaypdf"},
		{[]string{"doc", "print", sharedtest.WriteFile(t, "a.html", "%PDF-1.7\n")}, "is a PDF already"},
		{[]string{"doc", "print", sharedtest.WriteFile(t, "a.png", "\x89PNG\r\n\x1a\n")}, "is an image. relaypdf pdf from-images makes a PDF of it"},
		{[]string{"doc", "print", sharedtest.WriteFile(t, "a.docx", "PK\x03\x04")}, "relaypdf convert makes a PDF of office documents"},
		{[]string{"doc", "print", html, "-o", filepath.Join(there, "x")}, "not a directory"},
		{[]string{"doc", "print", html, "-o", "-", "--json-output"}, "both want standard output"},
		{[]string{"doc", "print", html, "-o", "x", "--response", "url"}, "leave --output out"},
		{[]string{"doc", "print", html, html}, "accepts one source; got 2"},
		{[]string{"doc", "print", "https://example.com"}, "this operation accepts html"},
		{[]string{"doc", "print", sharedtest.WriteFile(t, "a.html", "\xff\xfe")}, "not text in UTF-8"},
		{[]string{"doc", "print", sharedtest.WriteFile(t, "a.url", "nothing")}, "contains no URL"},
		{[]string{"doc", "print"}, "there is nothing to work on; see relaypdf doc print --help"},
		{[]string{"doc", "print", "--json", "{"}, "--json: The request body is incomplete: the JSON is cut off"},
		{[]string{"doc", "print", "--json", `{"html":"a","html":"b"}`}, "html is given more than once"},
		{[]string{"doc", "print", "--json", "nowhere.json"}, "no such file"},
		{[]string{"doc", "print", "-", "--json", "-"}, "cannot be both"},
		{[]string{"doc", "print", html, "--max-charge", "cheap"}, "--max-charge"},
		{[]string{"doc", "prnt", html}, "did you mean relaypdf doc print?"},
		{[]string{"doc", "nowhere.html"}, `the file "nowhere.html" does not exist`},
		{[]string{"doc", html, "--copies", "many"}, "write a whole number"},
		{[]string{"doc", html, "--scale", "big"}, "write a number"},
		{[]string{"doc", html, "--landscape=perhaps"}, "write true or false"},
		{[]string{"doc", html, "--extra-http-headers", "X-A"}, "write it like name=value"},
		{[]string{"doc", html, "--cookies", "a=b"}, "write valid JSON"},
		{[]string{"doc", html, "--title", "@nowhere"}, "no such file"},
		{[]string{"doc", html, "--options.scale", "1"}, "unknown flag"},
		{[]string{"doc", "--json", `{"options":[1]}`, "--scale", "1"}, "--scale: options in --json is not an object"},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			if r := b.run("<p>", tt.args...); r.code != 2 || !strings.Contains(r.err, tt.want) || r.out != "" {
				t.Errorf("got %+v, want exit code 2 and %q", r, tt.want)
			}
		})
	}
	if r := b.run("", "doc", html, "--scale", "9"); r.code != exitInput || !strings.Contains(r.err, "options.scale must be between 0.1 and 2") {
		t.Errorf("refused by the service: got %+v", r)
	}
	if got := b.spent(); got != 0 {
		t.Errorf("got %v spent, want nothing", got)
	}
	if kept, err := os.ReadFile(there); err != nil || string(kept) != "kept" {
		t.Errorf("got %q and %v, want the file untouched", kept, err)
	}
}

// TestExitCodes lets the service fail with every code it has.
func TestExitCodes(t *testing.T) {
	b := newBench(t, nil)
	for _, class := range exitClasses {
		for _, code := range class.codes {
			r := b.run(string(code), "doc", "print", "-", "-o", "-")
			if r.code != class.code || r.out != "" || !strings.Contains(r.err, "request ID: req_") {
				t.Errorf("%s: got %+v, want exit code %d and the request id", code, r, class.code)
			}
		}
	}
	if r := runRows(t, b.rows, "x", "doc", "print", "-", "--api-url", b.URL, "--api-key", "pdf_live_x"); r.code != 3 {
		t.Errorf("unknown key: got %+v, want exit code 3", r)
	}
	if r := b.run("x", "doc", "print", "-", "--max-charge", "0.0019"); r.code != 4 || !strings.Contains(r.err, "$0.002") {
		t.Errorf("cap: got %+v, want exit code 4 and the price", r)
	}
	if r := runRows(t, b.rows, "x", "doc", "print", "-", "--api-url", "http://127.0.0.1:1", "--api-key", "k"); r.code != exitNetwork ||
		!strings.Contains(r.err, "no response from http://127.0.0.1:1") {
		t.Errorf("no service: got %+v, want exit code 9 and the address", r)
	}
	if got := b.spent(); got != 0 {
		t.Errorf("got %v spent, want nothing", got)
	}
}

func TestKeyIsNeeded(t *testing.T) {
	atHome(t)
	if r := runRows(t, docRows(nil), "x", "doc", "print", "-"); r.code != 3 || !strings.Contains(r.err, "or set RELAYPDF_API_KEY") {
		t.Errorf("got %+v, want exit code 3 and what to set", r)
	}
}

// TestEveryFaultIsShown lists more faults than the message spells out.
func TestEveryFaultIsShown(t *testing.T) {
	b := newBench(t, nil)
	r := b.run("", "doc", "--json", `{"html":1,"title":2,"filename":3,"options":{"scale":4}}`)
	for _, field := range []string{"html ", "title ", "filename ", "options.scale "} {
		if strings.Count(r.err, "\n  "+field) != 1 {
			t.Errorf("got %q, want one line for %s", r.err, field)
		}
	}
}

func TestOutputFiles(t *testing.T) {
	b := newBench(t, nil)
	t.Chdir(t.TempDir())
	read := func(path string) string {
		t.Helper()
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	for _, tt := range []struct {
		args []string
		path string
	}{
		{nil, "printed.pdf"},
		{nil, "printed-1.pdf"}, // a paid result is never lost because its name exists
		{[]string{"--filename", "my report"}, "my report.pdf"},
		{[]string{"-o", "out.PDF"}, "out.PDF"},
		{[]string{"-o", "out.PDF", "--force"}, "out.PDF"},
		{[]string{"-o", "out"}, "out"},
		{[]string{"-f"}, "printed.pdf"},
		{[]string{"-o", t.TempDir()}, ""},
	} {
		content := "content of " + strings.Join(tt.args, " ")
		r := b.run(content, append([]string{"doc", "print", "-", "--json-output"}, tt.args...)...)
		got := decodeJSON[callOutput](t, r.out)
		if tt.path == "" {
			tt.path = filepath.Join(tt.args[1], "printed.pdf")
		}
		want := callOutput{
			ID: got.ID, Filename: got.Filename, Path: tt.path, ContentType: "application/pdf", SizeBytes: int64(len(content)) + 5,
			ChargedMicrodollars: 2000, RequestID: got.RequestID,
		}
		if r.code != 0 || !reflect.DeepEqual(got, want) || got.ID == "" || got.RequestID == "" {
			t.Errorf("%v: got %+v, want %+v", tt.args, got, want)
		}
		if read(tt.path) != "%PDF-"+content {
			t.Errorf("%v: got %q", tt.args, read(tt.path))
		}
		if r.err != "" {
			t.Errorf("%v: got %q on a pipe, want nothing", tt.args, r.err)
		}
	}
	if left, err := filepath.Glob(".relaypdf-*"); err != nil || len(left) > 0 {
		t.Errorf("unfinished files were left: %v, %v", left, err)
	}
	if r := b.run("internal_error", "doc", "print", "-", "-o", "failed.pdf"); r.code != 1 || !console.IsAbsent("failed.pdf") {
		t.Errorf("got %+v, want no file of a failed call", r)
	}
}

func TestOutputElsewhere(t *testing.T) {
	b := newBench(t, nil)
	t.Chdir(t.TempDir())
	if r := b.run("a", "doc", "print", "-", "-o", "-", "-q"); r != (ran{0, "%PDF-a", ""}) {
		t.Errorf("-o -: got %+v", r)
	}
	if r := b.run("a", "doc", "print", "-", "-o", os.DevNull, "-q"); r != (ran{0, "", ""}) {
		t.Errorf("a device: got %+v", r)
	}
	url := b.run("a", "doc", "print", "-", "--response", "url", "-q")
	if want := b.URL + "/v1/files/file_"; url.code != 0 || !strings.HasPrefix(url.out, want) || strings.Count(url.out, "\n") != 1 {
		t.Errorf("--response url: got %+v, want one line with an address", url)
	}
	whole := decodeJSON[wire.FileURL](t, b.run("a", "doc", "print", "--json", `{"html":"a","response":"url"}`, "--json-output").out)
	if whole.Status != "completed" || whole.SizeBytes != 6 || whole.Filename != "printed.pdf" {
		t.Errorf("--json-output: got %+v, want the whole answer", whole)
	}
	key := []string{"doc", "print", "-", "-o", "-", "--idempotency-key", "once"}
	before := b.spent()
	first, second := b.run("a", key...), b.run("a", key...)
	if second.out != first.out || b.spent()-before != 2000 {
		t.Errorf("idempotency key: got %+v and %+v for %v, want one charge", first, second, b.spent()-before)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("got files %v and %v, want none", left, err)
	}
}

// TestOutputIsNamedAfterTheInput: the output has the source's name with the result's extension, and never
// overwrites a file.
func TestOutputIsNamedAfterTheInput(t *testing.T) {
	b := newBench(t, nil)
	source := sharedtest.WriteFile(t, "page.html", "<p>")
	other := sharedtest.WriteFile(t, "a.PNG", "<p>")
	t.Chdir(t.TempDir())
	if err := os.Mkdir("out", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		path string // empty: refused
	}{
		{[]string{"print", source}, "page.pdf"},
		{[]string{"print", source}, ""},
		{[]string{"print", source, "-f"}, "page.pdf"},
		{[]string{"print", source, "-o", "out"}, "out/page.pdf"},
		{[]string{"print", source, "--filename", "mine"}, "mine.pdf"},
		{[]string{"draw", source}, "page.png"},
		{[]string{"draw", source, "--type", "jpeg"}, "page.jpg"},
		{[]string{"draw", other, "--type", "png"}, "a-draw.png"},
		{[]string{"draw", source, "-o", "b.JPG"}, "b.JPG"},
		{[]string{"draw", source, "-o", "c.jpeg", "--type", "jpeg"}, "c.jpeg"},
		{[]string{"draw", sharedtest.WriteFile(t, "many.html", "many")}, "many.zip"},
		{[]string{"draw", sharedtest.WriteFile(t, "many.html", "many"), "-o", "d.png"}, "d.zip"},
		{[]string{"draw", sharedtest.WriteFile(t, "many.html", "many"), "-o", "e.zip"}, "e.zip"},
		{[]string{"draw", source, "-o", "f.zip"}, "f.png"},
	} {
		before := b.spent()
		r := b.run("", append([]string{"doc", "--json-output"}, tt.args...)...)
		if tt.path == "" {
			if r.code != exitUsage || !strings.Contains(r.err, "page.pdf exists already") || b.spent() != before {
				t.Errorf("%v: got %+v, want a refusal before anything is paid", tt.args, r)
			}
			continue
		}
		if r.code != 0 {
			t.Errorf("%v: got %+v", tt.args, r)
			continue
		}
		got := decodeJSON[callOutput](t, r.out)
		content, err := os.ReadFile(tt.path)
		if got.Path != tt.path || err != nil {
			t.Errorf("%v: got %q and %v, want %s", tt.args, got.Path, err, tt.path)
		}
		if format, ok := formatNamed(tt.path); !ok || format.media != got.ContentType || int64(len(content)) != got.SizeBytes {
			t.Errorf("%v: %s holds %d bytes of %s", tt.args, tt.path, len(content), got.ContentType)
		}
	}
}

// TestEveryFormatHasAnExtension keeps the table of formats complete.
func TestEveryFormatHasAnExtension(t *testing.T) {
	for _, row := range operation.Rows {
		table, err := schema.NewTable([]schema.Definition[*operation.Deps]{row})
		if err != nil {
			t.Fatal(err)
		}
		for _, made := range table.All() {
			for _, media := range made.Produces {
				if _, ok := formatOf(media); !ok {
					t.Errorf("%s makes %s, which no extension stands for", made.Name, media)
				}
			}
		}
	}
}

// openTerminal returns the two ends of a new terminal.
func openTerminal(t testing.TB) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	return screen, terminal
}

// TestTerminal checks the terminal output: progress while the call runs, its removal, a summary; and no binary
// bytes.
func TestTerminal(t *testing.T) {
	release := make(chan struct{})
	b := newBench(t, func() {
		select {
		case <-release:
		case <-time.After(testTimeout):
		}
	})
	screen, terminal := openTerminal(t)
	run := func(args ...string) int {
		root, err := newProgram(b.rows).root()
		if err != nil {
			t.Fatal(err)
		}
		root.SetArgs(append(args, "--api-url", b.URL, "--api-key", b.Secret))
		root.SetIn(strings.NewReader("x"))
		root.SetOut(terminal)
		root.SetErr(terminal)
		return execute(t.Context(), root)
	}
	if code := run("doc", "print", "-", "-o", "-"); code != 2 || b.spent() != 0 {
		t.Errorf("binary on a terminal: got exit code %d and %v spent, want 2 and nothing", code, b.spent())
	}
	ended := make(chan int, 1)
	go func() { ended <- run("doc", "print", "-", "-o", filepath.Join(t.TempDir(), "a.pdf")) }()
	var seen bytes.Buffer
	readUntil(t, screen, &seen, "doc.print  ")
	close(release)
	readUntil(t, screen, &seen, "$0.002")
	if code := <-ended; code != 0 {
		t.Errorf("got exit code %d", code)
	}
	if !strings.Contains(seen.String(), "\r\x1b[K") {
		t.Errorf("the sign of life was not removed: %q", seen.String())
	}
	if strings.Contains(seen.String(), "%PDF") {
		t.Errorf("got %q, want no document on the terminal", seen.String())
	}
}

// readUntil reads from a screen until it shows the text.
func readUntil(t testing.TB, screen io.Reader, seen *bytes.Buffer, text string) {
	t.Helper()
	buf := make([]byte, 4096)
	for !strings.Contains(seen.String(), text) {
		n, err := screen.Read(buf)
		if err != nil {
			t.Fatalf("%v after %q", err, seen.String())
		}
		seen.Write(buf[:n])
	}
}

func TestHelpComesFromTheOperationTable(t *testing.T) {
	r := runRows(t, docRows(nil), "", "doc", "create", "--help")
	for args, wants := range map[string][]string{
		"doc --help":            {"Short form of relaypdf doc create.", "relaypdf doc FILE|URL|- [flags]", "See relaypdf doc create --help."},
		"help doc create --all": {"Zoom. (default 1)", "Write a JSON object of name, value", "--api-url"},
		"doc create --help":     {"--scale number", "Zoom (default 1)", "Colours (default true)", "print|screen", "--options-title", "$0.002", `--json '{"html":"x"`},
	} {
		r := runRows(t, docRows(nil), "", strings.Fields(args)...)
		for _, want := range wants {
			if !strings.Contains(r.out, want) {
				t.Errorf("%s lacks %q:\n%s", args, want, r.out)
			}
		}
	}
	for _, source := range sourceNames {
		if source != "markdown" && strings.Contains(r.out, "--"+source+" ") {
			t.Errorf("help has the source %s as a flag", source)
		}
	}
}

// TestExamplesOfTheTable shows commands that work unchanged: with all required flags besides the source.
func TestExamplesOfTheTable(t *testing.T) {
	for want, args := range map[string][]string{
		"pdf protect document.pdf --user-password 'correct horse' --permissions-copy=false -o result.pdf":     {"pdf", "protect"},
		"pdf rotate document.pdf --degrees 90 --pages even -o result.pdf":                                     {"pdf", "rotate"},
		`pdf form fill document.pdf --fields '{"country":"Japan","name":"Zoë"}' --flatten=true -o result.pdf`: {"pdf", "form", "fill"},
		"convert create page.html --to xlsx -o result.xlsx":                                                   {"convert"},
	} {
		if r := runRows(t, operation.Rows, "", append(args, "--help")...); !strings.Contains(r.out, "  relaypdf "+want+"\n") {
			t.Errorf("help lacks %q:\n%s", want, r.out)
		}
	}
}

func TestKebab(t *testing.T) {
	got := map[string]string{}
	want := map[string]string{
		"scale": "scale", "extraHTTPHeaders": "extra-http-headers", "preferCSSPageSize": "prefer-css-page-size",
		"waitForTimeout": "wait-for-timeout", "templateId": "template-id", "margin-top": "margin-top",
	}
	for name := range want {
		got[name] = kebab(name)
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestLocalName(t *testing.T) {
	for name, want := range map[string]string{
		"a.pdf": "a.pdf", "/etc/passwd": "passwd", "../../a": "a", "..": "result", "": "result", ".bashrc": "bashrc", "/": "result",
	} {
		if got := localName(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// TestInterrupted ends the program while the service works on its call.
func TestInterrupted(t *testing.T) {
	working, release := make(chan struct{}), make(chan struct{})
	b := newBench(t, func() {
		close(working)
		select {
		case <-release:
		case <-time.After(testTimeout):
		}
	})
	defer close(release)
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	root, err := newProgram(b.rows).root()
	if err != nil {
		t.Fatal(err)
	}
	root.SetArgs([]string{"doc", "print", "-", "--api-url", b.URL, "--api-key", b.Secret})
	root.SetIn(strings.NewReader("x"))
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	ended := make(chan int, 1)
	go func() { ended <- execute(ctx, root) }()
	<-working
	cancel()
	if code := <-ended; code != exitInterrupted {
		t.Errorf("got exit code %d, want %d", code, exitInterrupted)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("got files %v and %v, want none", left, err)
	}
}

// TestSourcesOfRealOperations: if a file argument is a site, the errors for other files name the right command, or
// the files are text.
func TestSourcesOfRealOperations(t *testing.T) {
	table, err := schema.NewTable(operation.Rows)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ operation, name, content, field, refusal string }{
		{"pdf.create", "a.pdf", "%PDF-1.7\n", "", "is a PDF already. What takes one: relaypdf pdf merge"},
		{"images.create", "a.pdf", "%PDF-1.7\n", "", "is a PDF already. What takes one: relaypdf pdf merge"},
		{"pdf.create", "a.png", "\x89PNG\r\n\x1a\n", "", "is an image. relaypdf pdf from-images makes a PDF of it"},
		{"pdf.create", "a.docx", "PK\x03\x04", "", "relaypdf convert makes a PDF of office documents"},
		{"pdf.create", "site.zip", "PK\x03\x04", "file", ""},
		{"images.create", "site", "PK\x03\x04", "file", ""},
		{"pdf.create", "notes.txt", "Notes", "markdown", ""},
		{"images.create", "notes.txt", "Notes", "html", ""},
		{"convert.create", "a.docx", "PK\x03\x04", "file", ""},
		{"convert.create", "a.pdf", "%PDF-1.7\n", "file", ""},
		{"convert.create", "notes.txt", "Notes", "file", ""},
		{"pdf.info", "a.pdf", "%PDF-1.7\n", "file", ""},
	} {
		takes, input := sourcesOf(table.Lookup(tt.operation).Schema), map[string]any{}
		takes.otherwise, takes.local = otherCommands(table.Specs()), &localFiles{}
		err := takes.put(input, nil, []string{sharedtest.WriteFile(t, tt.name, tt.content)}, false)
		switch _, set := input[tt.field]; {
		case tt.refusal == "" && (err != nil || !set):
			t.Errorf("%s of %s: got %v, %v, want %s", tt.operation, tt.name, input, err, tt.field)
		case tt.refusal != "" && (err == nil || !strings.Contains(err.Error(), tt.refusal) || len(input) > 0):
			t.Errorf("%s of %s: got %v, %v, want %q", tt.operation, tt.name, input, err, tt.refusal)
		}
	}
}
