package operation

import (
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render/pdf/job"
)

// TestNothingToDoIsNotRepeated: clients repeat a 502, and the same file would fail again.
func TestNothingToDoIsNotRepeated(t *testing.T) {
	for _, test := range []struct {
		cause job.Error
		want  wire.Code
	}{
		{job.Error{Kind: job.NoMatch, Text: "already has text on all of these pages"}, wire.InvalidRequest},
		{job.Error{Kind: job.RedactionIncomplete, Text: "cannot be redacted"}, wire.ProcessingFailed},
		{job.Error{Kind: job.BrokenStructure, Text: "produces a damaged PDF"}, wire.ProcessingFailed},
	} {
		got := Failure(&documentError{field: "file", cause: &test.cause})
		if got == nil || got.Code != test.want || len(got.Details) != 1 || got.Details[0].Field != "file" {
			t.Errorf("%s: %+v, want %s", test.cause.Kind, got, test.want)
		}
	}
}
