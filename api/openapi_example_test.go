package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/relaypdf/relaypdf/internal/test/apitest"
)

// TestEveryJSONResponseHasAnExample checks that each successful JSON response with a schema of its own has an example of
// each form, and that the example is valid and shows no member that the schema lacks.
func TestEveryJSONResponseHasAnExample(t *testing.T) {
	t.Parallel()
	_, doc := productDocument(t)
	examples := 0
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			for status, response := range operation.Responses.Map() {
				content := response.Value.Content["application/json"]
				if content == nil {
					continue
				}
				forms := content.Schema.Value.AnyOf
				if content.Schema.Ref != "" {
					forms = openapi3.SchemaRefs{content.Schema}
				}
				for _, form := range forms {
					name := form.Ref[strings.LastIndexByte(form.Ref, '/')+1:]
					example := content.Examples[name]
					if example == nil {
						if status < "400" {
							t.Errorf("%s %s: the response %s has no example of %s", method, path, status, name)
						}
						continue
					}
					examples++
					checkExample(t, method+" "+path+" "+status, form, example.Value.Value)
				}
			}
		}
	}
	if examples < 100 {
		t.Errorf("%d examples, want more", examples)
	}
}

func checkExample(t *testing.T, where string, form *openapi3.SchemaRef, value any) {
	t.Helper()
	if err := fits(form, value); err != nil {
		t.Errorf("%s: the example does not match its schema: %v", where, err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		t.Errorf("%s: the example is not an object: %v", where, value)
	}
	for name := range object {
		if form.Value.Properties[name] == nil {
			t.Errorf("%s: the member %s of the example is not described", where, name)
		}
	}
}

// TestExamplesAreLikeRealResponses compares examples with responses of the server: the same members, and for errors the
// same content.
func TestExamplesAreLikeRealResponses(t *testing.T) {
	t.Parallel()
	s := product(t)
	_, doc := productDocument(t)
	post := doc.Paths.Value("/v1/barcodes").Post
	for _, q := range []struct {
		status         int
		example, input string
		noKey          bool
	}{
		{http.StatusOK, "FileUrlResponse", `{"type":"qr","text":"a","response":"url"}`, false},
		{http.StatusAccepted, "JobStatusResponse", `{"type":"qr","text":"a","response":"async"}`, false},
		{http.StatusBadRequest, "Error", `{"type":"qr","text":"a","response":"file"}`, false},
		{http.StatusUnauthorized, "Error", `{"type":"qr","text":"a"}`, true},
	} {
		request := apitest.Request{Path: "/v1/barcodes", Body: q.input}
		if q.noKey {
			request.Header = http.Header{"Authorization": {}}
		}
		got := s.Send(t, request)
		if got.Status != q.status {
			t.Fatalf("%s: status %d, want %d: %s", q.input, got.Status, q.status, got.Body)
		}
		want, ok := post.Responses.Status(q.status).Value.Content["application/json"].Examples[q.example].Value.Value.(map[string]any)
		var sent map[string]any
		if err := json.Unmarshal([]byte(got.Body), &sent); err != nil || !ok {
			t.Fatal(got.Body, err)
		}
		if q.example == "Error" {
			want, sent = inner(want), inner(sent)
			for _, name := range []string{"code", "message", "docs"} {
				if want[name] != sent[name] {
					t.Errorf("%d: the %s is %v, the example has %v", q.status, name, sent[name], want[name])
				}
			}
		}
		if got, want := slices.Sorted(maps.Keys(sent)), slices.Sorted(maps.Keys(want)); !slices.Equal(got, want) {
			t.Errorf("%d: the response has %v, the example %v", q.status, got, want)
		}
	}
	got := s.Send(t, apitest.Request{Path: "/v1/barcodes", Body: `{"type":"qr","text":"a"}`}).OK(t)
	for name, header := range post.Responses.Status(http.StatusOK).Value.Headers {
		if header.Value.Example != nil && got.Header.Get(name) == "" {
			t.Errorf("a result has no header %s, which has an example", name)
		}
	}
}

// inner returns the error of an error's body.
func inner(body map[string]any) map[string]any {
	found, _ := body["error"].(map[string]any)
	return found
}
