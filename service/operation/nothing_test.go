package operation

import (
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render/pdf"
)

// TestNothingToDoIsNotRepeated: clients repeat a 502, and the same file would fail again.
func TestNothingToDoIsNotRepeated(t *testing.T) {
	for _, test := range []struct {
		cause pdf.Error
		want  wire.Code
	}{
		{pdf.Error{Kind: pdf.NoMatch, Text: "already has text on all of these pages"}, wire.InvalidRequest},
		{pdf.Error{Kind: pdf.RedactionIncomplete, Text: "cannot be redacted"}, wire.ProcessingFailed},
		{pdf.Error{Kind: pdf.BrokenStructure, Text: "produces a damaged PDF"}, wire.ProcessingFailed},
	} {
		got := Failure(&documentError{field: "file", cause: &test.cause})
		if got == nil || got.Code != test.want || len(got.Details) != 1 || got.Details[0].Field != "file" {
			t.Errorf("%s: %+v, want %s", test.cause.Kind, got, test.want)
		}
	}
}
