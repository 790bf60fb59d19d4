package template

import (
	"encoding/json"
	"testing"
)

func fill(t testing.TB, call Call) (string, error) {
	t.Helper()
	html, _, err := newCache().render(t.Context(), "a", &call, nil)
	return html, err
}

// mustFill fills a template that has no faults.
func mustFill(t testing.TB, source, data string) string {
	t.Helper()
	html, err := fill(t, Call{Template: Template{HTML: source}, Data: json.RawMessage(data)})
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	return html
}
