package operation

import (
	"testing"

	"relaypdf/api/apierror"
	"relaypdf/render"
)

// TestNothingToDoIsNotRepeated: clients repeat a 502, and the same file would fail again.
func TestNothingToDoIsNotRepeated(t *testing.T) {
	for _, test := range []struct {
		cause render.PDFError
		want  apierror.Code
	}{
		{render.PDFError{Kind: render.PDFNothing, Text: "has text on all of these pages already"}, apierror.InvalidRequest},
		{render.PDFError{Kind: render.PDFRemains, Text: "cannot be redacted"}, apierror.ProcessingFailed},
		{render.PDFError{Kind: render.PDFUnsound, Text: "would become a damaged PDF"}, apierror.ProcessingFailed},
	} {
		got := Failure(&documentError{field: "file", cause: &test.cause})
		if got == nil || got.Code != test.want || len(got.Details) != 1 || got.Details[0].Field != "file" {
			t.Errorf("%s: %+v, want %s", test.cause.Kind, got, test.want)
		}
	}
}
