package api_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
)

// TestPatchOfNull: in a PATCH, null clears a field or is refused. It is never the same as an absent field, as the change
// would get lost.
func TestPatchOfNull(t *testing.T) {
	t.Parallel()
	_, doc := productDocument(t)
	h := &hostile{Server: product(t), t: t, ids: map[string]string{}}
	h.create("/v1/templates", `{"name":"a","html":"<p>{{a}}</p>","sampleData":{"a":1}}`)
	h.create("/v1/webhooks", `{"url":"https://example.com/in"}`)
	h.create("/v1/connections", `{"name":"archive","s3":{"region":"eu-central-1","bucket":"invoices","accessKeyId":"a","secretAccessKey":"b"}}`)
	cleared := map[string][]string{
		"/v1/billing/limits": {"maxDayMicrodollars", "maxJobMicrodollars"},
		"/v1/templates/{id}": {"category", "description"},
		"/v1/webhooks/{id}":  {"events"},
	}
	// A template may be sent as it was read, with fields that cannot be changed.
	ignored := []string{"createdAt", "hasDraft", "id", "publishedAt", "publishedVersion", "state", "updatedAt"}
	refused := 0
	for path, item := range doc.Paths.Map() {
		if item.Patch == nil {
			continue
		}
		body := item.Patch.RequestBody.Value.Content["application/json"].Schema.Value
		for _, field := range slices.Sorted(maps.Keys(body.Properties)) {
			got := h.Send(t, apitest.Request{Method: http.MethodPatch, Path: h.target(path), Body: `{"` + field + `":null}`})
			if slices.Contains(cleared[path], field) || slices.Contains(ignored, field) {
				got.OK(t)
				continue
			}
			refused++
			if failure := got.Refused(t, wire.InvalidRequest); len(failure.Details) != 1 || failure.Details[0].Field != field {
				t.Errorf("PATCH %s with %s null: %+v", path, field, failure)
			}
		}
	}
	if refused < 10 {
		t.Errorf("only %d fields were refused", refused)
	}
}
