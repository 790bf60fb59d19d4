package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// hostileTexts are values of parameters that clients send by mistake, or on purpose.
var hostileTexts = []string{
	"", "\x00", "a\x00b", "\xff", "a\xc3", "\ufffe", "\u202e", "%00", "%", "'", `"`, `\`, "..", "/", " ", "\n", strings.Repeat("a", 5000), strings.Repeat("é", 255),
	"-1", "0", "00", "+1", "1e3", "1e400", "0x10", "2147483648", "9223372036854775807", "9223372036854775808", "99999999999999999999", "-9223372036854775809", "NaN", "null", "true", "[]", "{}",
	"0000-01-01", "0001-01-01", "1969-12-31", "9999-12-31", "10000-01-01", "-0001-01-01", "2026-02-30", "2016-12-31T23:59:60Z", "9999-12-31T23:59:59-14:00", "0000-01-01T00:00:00+14:00",
	"2026-01-01T00:00:00+23:59", "2026-01-01T00:00:00.999999999999Z", "2026-01-01T24:00:00Z", "step:a", "file_", "pdf.creat", "eyJhIjoxfQ",
}

// hostileValues are values of fields in JSON.
var hostileValues = []string{
	`null`, `""`, `"\u0000"`, `"a\u0000b"`, `"\ufffe"`, `" "`, `"\n"`, `"../a"`, `"step:a"`, `"` + strings.Repeat("a", 5000) + `"`, `"9999-12-31"`, `"https://example.com/\u0000"`, `"%00"`,
	`0`, `-1`, `1`, `0.5`, `-0.0`, `1e-320`, `1e308`, `-1e308`, `2147483648`, `9223372036854775807`, `-9223372036854775808`, `9223372036854775808`, `123456789012345678901234567890`,
	`true`, `false`, `[]`, `[null]`, `[[]]`, `[""]`, `["\u0000"]`, `[0]`, `[{}]`, `{}`, `{"\u0000":1}`, `{"a":"\u0000"}`, `{"a":null}`, `{"":""}`,
}

// hostile sends requests that must not fail on the side of the server.
type hostile struct {
	*apitest.Server

	t   *testing.T
	ids map[string]string // of resources, by the first part of their path after /v1/
}

// send sends a request, and reports a response that blames the server.
func (h *hostile) send(method, path, body, what string) {
	h.t.Helper()
	got := h.Send(h.t, apitest.Request{Method: method, Path: path, Body: body})
	var answer struct{ Error apitest.Failure }
	failed := got.Status >= http.StatusBadRequest && json.Unmarshal([]byte(got.Body), &answer) != nil
	if failed || got.Status == http.StatusInternalServerError || answer.Error.Code == wire.InternalError {
		h.t.Errorf("%s %.200s %.200s: status %d: %.300s", method, path, what, got.Status, got.Body)
	}
}

// create makes a resource.
func (h *hostile) create(path, body string) {
	h.t.Helper()
	got := h.Send(h.t, apitest.Request{Path: path, Body: body})
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(got.Body), &made); err != nil || made.ID == "" {
		h.t.Fatalf("%s: status %d: %s", path, got.Status, got.Body)
	}
	h.ids[strings.Split(path, "/")[2]] = made.ID
}

// resources makes one of each resource, as requests to the routes of a missing one end early.
func (h *hostile) resources() {
	h.t.Helper()
	h.create("/v1/templates", `{"name":"a","html":"<p>{{a}}</p>","sampleData":{"a":1}}`)
	h.create("/v1/webhooks", `{"url":"https://example.com/in"}`)
	h.create("/v1/connections", `{"name":"archive","s3":{"region":"eu-central-1","bucket":"invoices","accessKeyId":"a","secretAccessKey":"b"}}`)
	h.create("/v1/barcodes", `{"type":"qr","text":"a","response":"async"}`)
	h.ids["jobs"] = h.ids["barcodes"]
	h.create("/v1/barcodes", `{"type":"qr","text":"a","response":"url"}`)
	h.ids["files"] = h.ids["barcodes"]
}

// target fills in the path parameters of a route.
func (h *hostile) target(path string) string {
	for strings.Contains(path, "{") {
		start, end := strings.IndexByte(path, '{'), strings.IndexByte(path, '}')
		value := "1"
		if path[start:end+1] == "{id}" {
			value = h.ids[strings.Split(path, "/")[2]]
		}
		path = path[:start] + value + path[end+1:]
	}
	return path
}

// TestNoValueIsAServerError sends such values in every parameter and field of the routes that are not operations. Whatever
// the databases cannot store is refused before it reaches them.
func TestNoValueIsAServerError(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	_, doc := productDocument(t)
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		t.Helper()
		h := &hostile{Server: toolServerOn(t, &db), t: t, ids: map[string]string{}}
		h.resources()
		for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
			for method, operation := range doc.Paths.Value(path).Operations() {
				for _, p := range slices.Concat(doc.Paths.Value(path).Parameters, operation.Parameters) {
					h.param(method, path, p.Value)
				}
				if operation.Extensions["x-relaypdf-price-microdollars"] == nil && path != "/mcp" {
					h.fields(method, h.target(path), operation, hostileValues)
				}
			}
		}
	})
}

// param sends the values of a parameter. A deleted resource is of no use to others, so IDs are deleted only with them.
func (h *hostile) param(method, path string, p *openapi3.Parameter) {
	h.t.Helper()
	for _, text := range hostileTexts {
		switch p.In {
		case "path":
			if text != "" && text != ".." && text != "/" {
				h.send(method, h.target(strings.Replace(path, "{"+p.Name+"}", url.PathEscape(text), 1)), "", "")
			}
		case "query":
			if method != http.MethodDelete {
				h.send(method, h.target(path)+"?"+url.Values{p.Name: {text}}.Encode(), "", "")
			}
		}
	}
}

// fields sends the values of the fields of a body.
func (h *hostile) fields(method, target string, operation *openapi3.Operation, values []string) {
	h.t.Helper()
	if operation.RequestBody == nil || operation.RequestBody.Value.Content["application/json"] == nil {
		return
	}
	content := operation.RequestBody.Value.Content["application/json"]
	base, err := json.Marshal(content.Example)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, path := range bodyPaths(content.Schema, nil, map[*openapi3.Schema]bool{}) {
		for _, value := range values {
			h.send(method, target, withValue(h.t, base, path, value), strings.Join(path, ".")+" = "+value)
		}
	}
	for _, value := range values {
		h.send(method, target, value, value)
	}
}

// bodyPaths lists the paths of the fields of a schema, through its objects, arrays and alternatives.
func bodyPaths(ref *openapi3.SchemaRef, at []string, open map[*openapi3.Schema]bool) (paths [][]string) {
	if ref == nil || ref.Value == nil || open[ref.Value] {
		return nil
	}
	doc := ref.Value
	open[doc] = true
	defer delete(open, doc)
	for _, part := range slices.Concat(doc.OneOf, doc.AnyOf, doc.AllOf) {
		paths = append(paths, bodyPaths(part, at, open)...)
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Properties)) {
		field := append(slices.Clone(at), name)
		paths = append(append(paths, field), bodyPaths(doc.Properties[name], field, open)...)
	}
	if doc.Items != nil {
		item := append(slices.Clone(at), "0")
		paths = append(append(paths, item), bodyPaths(doc.Items, item, open)...)
	}
	return paths
}

// withValue returns a body with a value at a path, whose parents it makes.
func withValue(t *testing.T, base []byte, path []string, value string) string {
	t.Helper()
	var set func(old any, path []string) any
	set = func(old any, path []string) any {
		if len(path) == 0 {
			return json.RawMessage(value)
		}
		if i, err := strconv.Atoi(path[0]); err == nil {
			list, _ := old.([]any)
			list = slices.Clone(list)
			if len(list) == i {
				list = append(list, nil)
			}
			list[i] = set(list[i], path[1:])
			return list
		}
		object, _ := old.(map[string]any)
		if object = maps.Clone(object); object == nil {
			object = map[string]any{}
		}
		object[path[0]] = set(object[path[0]], path[1:])
		return object
	}
	var body any
	if err := json.Unmarshal(base, &body); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(set(body, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// operationValues are the values of fields that are sent to each operation. They run, so they are fewer.
var operationValues = []string{
	`null`, `""`, `"\u0000"`, `"a\u0000b"`, `"step:a"`, `0`, `-1`, `0.5`, `1e308`, `9223372036854775807`, `[]`, `["\u0000"]`, `[null]`, `{}`, `{"\u0000":"\u0000"}`, `true`,
}

// TestNoValueFailsAnOperation sends such values in every field of every operation.
func TestNoValueFailsAnOperation(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	db := storetest.Postgres(t) // It refuses more than SQLite.
	s := toolServerOn(t, &db)
	h := &hostile{Server: s, t: t}
	bodies := examples(t, s)
	delete(bodies, "/v1/pdf/facturx") // Its rules are those of render/einvoice.
	_, doc := productDocument(t)
	paths := make(chan string)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for path := range paths {
				operation := *doc.Paths.Value(path).Post
				var example any
				if err := json.Unmarshal(bodies[path], &example); err != nil {
					t.Error(err)
					continue
				}
				content := *operation.RequestBody.Value.Content["application/json"]
				content.Example = example
				operation.RequestBody = &openapi3.RequestBodyRef{Value: openapi3.NewRequestBody().WithContent(openapi3.Content{"application/json": &content})}
				h.fields(http.MethodPost, path, &operation, operationValues)
			}
		})
	}
	for _, path := range slices.Sorted(maps.Keys(bodies)) {
		paths <- path
	}
	close(paths)
	workers.Wait()
}
