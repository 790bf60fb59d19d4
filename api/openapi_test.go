package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
)

// product starts a server with the real table of operations, as the public
// documents show it.
func product(t *testing.T) *apitest.Server {
	t.Helper()
	return apitest.New(t, apitest.Options{Operations: operation.Rows, Change: func(cfg *apitest.Settings) {
		cfg.BaseURL = "https://pdf.example.net"
	}})
}

func openAPI(t *testing.T, s *apitest.Server) []byte {
	t.Helper()
	got := s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/openapi.json"})
	if got.Status != http.StatusOK {
		t.Fatalf("GET /openapi.json: status %d: %s", got.Status, got.Body)
	}
	return []byte(got.Body)
}

// productDoc is the document of the product, which several tests read. Describing the API and loading the document
// take seconds with the race detector.
var productDoc struct {
	once sync.Once
	text []byte
	doc  *openapi3.T
}

// productDocument returns the document of the product, as text and loaded. It must not be changed.
func productDocument(t *testing.T) ([]byte, *openapi3.T) {
	t.Helper()
	productDoc.once.Do(func() {
		s := product(t)
		productDoc.text, productDoc.doc = openAPI(t, s), loadOpenAPI(t, s)
	})
	if productDoc.doc == nil {
		t.Fatal("another test could not load the document")
	}
	return productDoc.text, productDoc.doc
}

func TestOpenAPIGolden(t *testing.T) {
	t.Parallel()
	document, _ := productDocument(t)
	var text bytes.Buffer
	if err := json.Indent(&text, document, "", "  "); err != nil {
		t.Fatal(err)
	}
	apitest.Golden(t, "openapi.golden.json", text.Bytes())
}

// TestOpenAPIIsSmall checks that agents and generators read less than 450 KB, without compression.
func TestOpenAPIIsSmall(t *testing.T) {
	t.Parallel()
	const maxBytes = 450_000
	document, _ := productDocument(t)
	if len(document) >= maxBytes {
		t.Errorf("the document has %d bytes, want less than %d: share what repeats as components", len(document), maxBytes)
	}
}

// TestOpenAPIFormsHaveFiles checks that forms have files where the JSON has sources, in shared members too.
func TestOpenAPIFormsHaveFiles(t *testing.T) {
	t.Parallel()
	_, doc := productDocument(t)
	form := func(path string) openapi3.Schemas {
		return doc.Paths.Value(path).Post.RequestBody.Value.Content["multipart/form-data"].Schema.Value.Properties
	}
	for name, field := range map[string]*openapi3.SchemaRef{
		"FileForm.file":       doc.Components.Schemas["FileForm"].Value.Properties["file"],
		"/v1/pdf assets":      form("/v1/pdf")["assets"].Value.Items,
		"/v1/pdf/stamp image": form("/v1/pdf/stamp")["image"],
		"/v1/pdf/merge files": form("/v1/pdf/merge")["files"].Value.Items,
	} {
		if field == nil || field.Value.Format != "binary" {
			t.Errorf("%s is not a file: %+v", name, field)
		}
	}
}

func TestOpenAPIIsValid(t *testing.T) {
	t.Parallel()
	for name, operations := range map[string][]schema.Definition[*operation.Deps]{
		"product": operation.Rows, "test": {apitest.Echo(nil), apitest.JSON()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{Operations: operations})
			doc := loadOpenAPI(t, s)
			if err := doc.Validate(t.Context()); err != nil {
				t.Errorf("validate: %v", err)
			}
			if got, want := doc.Info.Version, "1.0.0"; got != want {
				t.Errorf("info.version is %q, want %q", got, want)
			}
			if got, want := doc.Servers[0].URL, s.URL; got != want {
				t.Errorf("the server is %q, want %q", got, want)
			}
		})
	}
}

// TestOpenAPIDescribesEveryRoute compares the document with the router.
func TestOpenAPIDescribesEveryRoute(t *testing.T) {
	t.Parallel()
	s := product(t)
	_, doc := productDocument(t)
	seen := map[string]string{}
	for _, route := range s.API.Routes() {
		operation := doc.Paths.Value(route.Path).GetOperation(route.Method)
		if operation == nil {
			t.Errorf("%s %s is not described", route.Method, route.Path)
			continue
		}
		if other, taken := seen[operation.OperationID]; taken {
			t.Errorf("%s and %s share the operation id %s", other, route.Path, operation.OperationID)
		}
		seen[operation.OperationID] = route.Path
		security := doc.Security
		if operation.Security != nil {
			security = *operation.Security
		}
		// An empty requirement is met without a key.
		if got, want := len(security) > 0 && !slices.ContainsFunc(security, func(r openapi3.SecurityRequirement) bool { return len(r) == 0 }), route.Access != "public"; got != want {
			t.Errorf("%s %s: asks for a key is %v, want %v", route.Method, route.Path, got, want)
		}
		if route.Access != "public" && operation.Responses.Value("401") == nil {
			t.Errorf("%s %s: no answer 401", route.Method, route.Path)
		}
		if limited := operation.Responses.Value("429"); limited != nil && limited.Value.Headers["Retry-After"] == nil {
			t.Errorf("%s %s: its answer 429 has no Retry-After", route.Method, route.Path)
		}
	}
	if got, want := len(seen), len(s.API.Routes()); got != want {
		t.Errorf("%d operations described, want %d", got, want)
	}
}

func TestOpenAPIIsCachedAtTheEdge(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	for _, path := range []string{"/openapi.json", "/v1/billing/prices"} {
		got := s.Send(t, apitest.Request{Method: http.MethodGet, Path: path})
		if want := "public, max-age=0, s-maxage=300, stale-while-revalidate=60, stale-if-error=86400"; got.Header.Get("Cache-Control") != want {
			t.Errorf("%s: Cache-Control is %q, want %q", path, got.Header.Get("Cache-Control"), want)
		}
		tag := got.Header.Get("ETag")
		again := s.Send(t, apitest.Request{Method: http.MethodGet, Path: path, Header: http.Header{"If-None-Match": {tag}}})
		if tag == "" || again.Status != http.StatusNotModified || again.Body != "" || again.Header.Get("ETag") != tag {
			t.Errorf("%s: the tag is %q, and whoever has it gets status %d, %q", path, tag, again.Status, again.Header.Get("ETag"))
		}
		if got := got.Header.Get("Content-Type"); got != "application/json" {
			t.Errorf("%s: Content-Type is %q, want application/json", path, got)
		}
	}
}

func TestRoutesGolden(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, route := range product(t).API.Routes() {
		fmt.Fprintf(&text, "%-6s %-40s %-8s %s\n", route.Method, route.Path, route.Access, route.Summary)
	}
	apitest.Golden(t, "routes.golden", []byte(text.String()))
}

func TestPricesGolden(t *testing.T) {
	t.Parallel()
	list, err := product(t).Client().Billing().PricesGet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, price := range list.Prices {
		line := fmt.Sprintf("%-16s %8d %s  %s  %s", price.Operation, price.Microdollars, list.Currency, price.Summary, price.Note)
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	apitest.Golden(t, "prices.golden", []byte(text.String()))
}

func TestErrorsGolden(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, code := range wire.Codes() {
		e := &wire.Error{Code: code}
		fmt.Fprintf(&text, "%-20s %d %s\n", code, e.Status(), e.Error())
	}
	apitest.Golden(t, "errors.golden", []byte(text.String()))
}

// TestAnswersMatchTheDocument holds real answers, errors included, against
// their schemas.
func TestAnswersMatchTheDocument(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	doc := loadOpenAPI(t, s)
	s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a"}`}).OK(t)
	capped := http.Header{"X-Service-Max-Charge-Microdollars": {"1"}}
	for _, q := range []struct {
		request apitest.Request
		pattern string
	}{
		{apitest.Request{Method: "GET", Path: "/health"}, ""},
		{apitest.Request{Method: "GET", Path: "/health/ready"}, ""},
		{apitest.Request{Method: "GET", Path: "/v1/account"}, ""},
		{apitest.Request{Method: "GET", Path: "/v1/account", Header: without()}, ""},
		{apitest.Request{Method: "GET", Path: "/v1/billing/prices"}, ""},
		{apitest.Request{Method: "GET", Path: "/v1/billing/usage"}, ""},
		{apitest.Request{Method: "GET", Path: "/v1/billing/limits"}, ""},
		{apitest.Request{Method: "PATCH", Path: "/v1/billing/limits", Body: `{"maxJobMicrodollars":5000}`}, ""},
		{apitest.Request{Method: "PATCH", Path: "/v1/billing/limits", Body: `{"maxJobMicrodollars":-1}`}, ""},
		{apitest.Request{Method: "GET", Path: "/v1/files/x"}, "/v1/files/{id}"},
		{apitest.Request{Method: "POST", Path: echo, Body: `{"text":"a","response":"url"}`}, ""},
		{apitest.Request{Method: "POST", Path: echo, Body: `{}`}, ""},
		{apitest.Request{Method: "POST", Path: echo, Body: `{"text":"a"}`, Header: capped}, ""},
		{apitest.Request{Method: "POST", Path: "/v1/test/json", Body: `{}`}, ""},
	} {
		got := s.Send(t, q.request)
		if q.pattern == "" {
			q.pattern = q.request.Path
		}
		name := fmt.Sprintf("%s %s: %d", q.request.Method, q.pattern, got.Status)
		answer := doc.Paths.Value(q.pattern).GetOperation(q.request.Method).Responses.Status(got.Status)
		if answer == nil || answer.Value.Content["application/json"] == nil {
			t.Errorf("%s is not described", name)
			continue
		}
		var body any
		if err := json.Unmarshal([]byte(got.Body), &body); err != nil {
			t.Fatal(err)
		}
		if err := fits(answer.Value.Content["application/json"].Schema, body); err != nil {
			t.Errorf("%s: %s does not match its schema: %v", name, got.Body, err)
		}
		for header, described := range answer.Value.Headers {
			if described.Value.Required && got.Header.Get(header) == "" {
				t.Errorf("%s: the header %s is missing", name, header)
			}
		}
	}
}

// fits holds a decoded value against a schema.
func fits(schema *openapi3.SchemaRef, value any) error {
	return schema.Value.VisitJSON(value, openapi3.EnableFormatValidation(), openapi3.MultiErrors(), openapi3.EnableJSONSchema2020())
}

// TestOpenAPIIsMadeForGenerators checks that client generators make good types of the document: objects have names,
// and nothing has a default, because some generators treat a member with one as always present.
func TestOpenAPIIsMadeForGenerators(t *testing.T) {
	t.Parallel()
	var doc struct {
		Paths      map[string]map[string]struct{ OperationID string }
		Components struct{ Schemas map[string]any }
	}
	text, _ := productDocument(t)
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	var look func(path string, v any)
	look = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if _, object := v["properties"].(map[string]any); object && strings.Contains(path, "/") {
				t.Errorf("%s is an object without a name", path)
			}
			if _, schema := v["type"]; schema && v["default"] != nil {
				t.Errorf("%s has a default", path)
			}
			for name, member := range v {
				look(path+"/"+name, member)
			}
		case []any:
			for _, item := range v {
				look(path, item)
			}
		}
	}
	for name, schema := range doc.Components.Schemas {
		look(name, schema)
	}
	for _, name := range []string{
		"PdfOptions", "ImageOptions", "Margin", "Cookie", "FileSource", "NamedFileSource", "Viewport", "Metadata", "StampMark", "Point", "Bookmark",
		"JobStatusResponse", "FileUrlResponse", "JobCompletedEvent", "WalletTopupEvent", "PdfInfoResult", "PdfFormFieldsResult", "ErrorDetail",
	} {
		if doc.Components.Schemas[name] == nil {
			t.Errorf("there is no component %s", name)
		}
	}
	ids := map[string]bool{}
	for _, methods := range doc.Paths {
		for _, operation := range methods {
			ids[operation.OperationID] = true
		}
	}
	for _, id := range []string{
		"pdf_create", "pdf_merge", "images_create", "barcodes_create", "zip_create", "convert_create", "templates_list", "templates_publish",
		"jobs_get", "jobs_list", "files_upload", "files_list", "account_get", "webhooks_list", "webhooks_create", "webhooks_delete", "webhooks_deliveries_list",
	} {
		if !ids[id] {
			t.Errorf("there is no operation %s", id)
		}
	}
}
