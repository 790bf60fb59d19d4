package api_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

func loadOpenAPI(t *testing.T, s *apitest.Server) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(openAPI(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// operations are the rows of the product.
func operations(t *testing.T) []*schema.Operation[*operation.Deps] {
	t.Helper()
	table, err := schema.NewTable(operation.Rows)
	if err != nil {
		t.Fatal(err)
	}
	return table.All()
}

// TestEveryJSONResultIsDescribed checks that the table names the type of every JSON result.
func TestEveryJSONResultIsDescribed(t *testing.T) {
	t.Parallel()
	_, doc := productDocument(t)
	for _, row := range operations(t) {
		schema := doc.Paths.Value(row.Path()).Post.Responses.Status(200).Value.Content["application/json"].Schema
		if got, want := len(schema.Value.AnyOf) > 1, slices.Contains(row.Produces, "application/json") && !row.Bulk; got != want { // A bulk call is a job, or returns a quote.
			t.Errorf("%s: its JSON is a FileURL or another is %v, want %v", row.Name, got, want)
			continue
		}
		kinds := schema.Value.AnyOf
		if len(kinds) == 0 {
			kinds = openapi3.SchemaRefs{schema}
		}
		for _, one := range kinds {
			if len(one.Value.Properties) == 0 {
				t.Errorf("%s: a kind of its JSON has no members", row.Name)
			}
		}
	}
}

// TestResultsMatchTheDocument validates real JSON results against their schemas, and shows that the schemas refuse
// other JSON.
func TestResultsMatchTheDocument(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	doc := loadOpenAPI(t, s)
	form, err := os.ReadFile("../render/pdf/testdata/form.pdf")
	if err != nil {
		t.Fatal(err)
	}
	plain := `{"file":` + inline(letters("alpha", "beta"))
	for _, q := range []struct{ path, schema, body string }{
		{"/v1/pdf/info", "PdfInfoResult", plain + `}`},
		{"/v1/pdf/check", "PdfCheckResult", plain + `,"standards":["ua-1"]}`},
		{"/v1/pdf/compare", "PdfCompareResult", `{"files":[{"file":` + inline(letters("alpha", "beta")) + `},{"file":` + inline(letters("alpha", "gamma", "delta")) + `}]}`},
		{"/v1/pdf/verify", "PdfVerifyResult", plain + `}`},
		{"/v1/pdf/text", "PdfTextResult", plain + `}`},
		{"/v1/pdf/text", "PdfTextResult", plain + `,"mergePages":true}`},
		{"/v1/pdf/form/fields", "PdfFormFieldsResult", plain + `}`},
		{"/v1/pdf/form/fields", "PdfFormFieldsResult", `{"file":` + inline(form) + `}`},
	} {
		schema := doc.Components.Schemas[q.schema]
		if schema == nil {
			t.Fatalf("%s is not described", q.schema)
		}
		answer := s.Send(t, apitest.Request{Path: q.path, Body: q.body}).OK(t)
		var value map[string]any
		if err := json.Unmarshal([]byte(answer.Body), &value); err != nil {
			t.Fatal(err)
		}
		if err := fits(schema, value); err != nil {
			t.Errorf("%s: %s does not match its schema: %v", q.path, answer.Body, err)
		}
		for name := range value {
			if schema.Value.Properties[name] == nil {
				t.Errorf("%s: the member %s is not described", q.path, name)
			}
		}
		for _, name := range schema.Value.Required {
			short := maps.Clone(value)
			delete(short, name)
			if fits(schema, short) == nil {
				t.Errorf("%s: an answer without %s matches its schema", q.path, name)
			}
		}
	}
}

// TestEventsAreDescribed holds events as they are written against the schemas
// of their types.
func TestEventsAreDescribed(t *testing.T) {
	t.Parallel()
	_, doc := productDocument(t)
	job := map[string]any{"id": "file_1", "status": "completed", "url": "https://pdf.example.net/f/1"}
	wallet := map[string]any{"amountMicrodollars": 2000.0, "balanceMicrodollars": 0.0, "reason": "the wallet does not cover a call"}
	data := map[string]map[string]any{
		store.EventJobCompleted: job, store.EventJobFailed: job, store.EventWalletTopUp: wallet,
		store.EventAutoReload: wallet, store.EventAutoReloadFailed: wallet, store.EventPaymentRequired: wallet,
		store.EventAccountAlert: {"kind": store.AlertDayLimit, "value": 83.0, "threshold": 80.0},
	}
	if got, want := slices.Sorted(maps.Keys(doc.Webhooks)), slices.Sorted(slices.Values(store.EventTypes())); !slices.Equal(got, want) {
		t.Fatalf("the events %v are described, want %v", got, want)
	}
	for kind, item := range doc.Webhooks {
		schema := item.Post.RequestBody.Value.Content["application/json"].Schema
		event := map[string]any{"id": "evt_1", "type": kind, "createdAt": "2026-11-20T12:00:00Z", "data": data[kind]}
		if err := fits(schema, event); err != nil {
			t.Errorf("%s does not match its schema: %v", kind, err)
		}
		for name, wrong := range map[string]any{"type": "other", "data": map[string]any{}, "createdAt": nil} {
			other := maps.Clone(event)
			other[name] = wrong
			if fits(schema, other) == nil {
				t.Errorf("%s: an event with %s %v matches the schema", kind, name, wrong)
			}
		}
	}
}

// TestCallbacksAreDescribed checks that every operation describes the requests to its callbackUrl.
func TestCallbacksAreDescribed(t *testing.T) {
	t.Parallel()
	_, doc := productDocument(t)
	for _, row := range operations(t) {
		ended := doc.Paths.Value(row.Path()).Post.Callbacks["ended"]
		if ended == nil || ended.Value.Value("{$request.body#/callbackUrl}") == nil {
			t.Errorf("%s has no callback", row.Name)
			continue
		}
		body := ended.Value.Value("{$request.body#/callbackUrl}").Post.RequestBody.Value.Content["application/json"].Schema
		if want := "#/components/schemas/JobStatusResponse"; body.Ref != want {
			t.Errorf("the callback of %s gets %q, want %q", row.Name, body.Ref, want)
		}
	}
}

// TestNoObjectHasTwoComponents checks that client generators make one type of each object: equal objects are one
// component. Inputs and results of operations have a name each, and members that many inputs have are components of
// their own, which are no objects.
func TestNoObjectHasTwoComponents(t *testing.T) {
	t.Parallel()
	names := map[string]string{"Template": "TemplateRecord"} // of version 1.0.0
	_, doc := productDocument(t)
	for name, component := range doc.Components.Schemas {
		isObject := component.Ref == "" && component.Value.Type.Is("object")
		if !isObject || strings.HasSuffix(name, "Input") || strings.HasSuffix(name, "Result") || names[name] != "" {
			continue
		}
		schema := *component.Value
		schema.Description = ""
		text, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		if other := names[string(text)]; other != "" {
			t.Errorf("%s and %s are equal", name, other)
		}
		names[string(text)] = name
	}
}
