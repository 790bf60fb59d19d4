package schema

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// signInput is the input of an operation that signs.
type signInput struct {
	Common

	FileID *string `json:"fileId,omitempty" jsonschema_description:"ID of a file."`
	Name   string  `json:"name" jsonschema:"required" jsonschema_description:"Name."`
}

// TestSignIsTheLastStep: options.sign is a step after those of then, and its errors have its path.
func TestSignIsTheLastStep(t *testing.T) {
	t.Parallel()
	source := "file_1"
	row := func(name string, signs bool, input signInput) Definition[struct{}] {
		return TypedDefinition[struct{}, signInput]{
			Info:    Info{Name: name, Summary: "Change a PDF", Price: 5, Produces: []string{mediaPDF}, Signs: signs},
			Example: input, Run: func(context.Context, struct{}, *signInput) (Result, error) { return Result{}, nil },
		}
	}
	table, err := NewTable([]Definition[struct{}]{row("pdf.turn", false, signInput{FileID: &source, Name: "a"}), row(signOperation, true, signInput{FileID: &source, Name: "a"})})
	if err != nil {
		t.Fatal(err)
	}
	turn := `{"op":"pdf.turn","input":{"name":"b"}}`
	for _, test := range []struct{ operation, body, field string }{
		{"pdf.turn", `{"fileId":"a","name":"a","then":[` + turn + `],"options":{"sign":{"name":"c"}}}`, ""},
		{"pdf.turn", `{"fileId":"a","name":"a","options":{"sign":{"nme":"c"}}}`, "options.sign.nme"},
		{"pdf.turn", `{"fileId":"a","name":"a","options":{"sign":{"name":"c","options":{"sign":{}}}}}`, "options.sign.options"},
		{"pdf.turn", `{"fileId":"a","name":"a","then":[{"op":"pdf.turn","input":{"name":"b","options":{"sign":{"name":"c"}}}}]}`, "then[0].input.options.sign"},
		{"pdf.turn", `{"fileId":"a","name":"a","then":[` + strings.Repeat(turn+",", maxThen-1) + turn + `],"options":{"sign":{"name":"c"}}}`, "options.sign"},
		{"pdf.turn", `{"fileId":"a","name":"a","then":[{"op":"pdf.sign","input":{"name":"b"}},` + turn + `]}`, "then[1].op"},
		{signOperation, `{"fileId":"a","name":"a","options":{"sign":{"name":"c"}}}`, "options"},
	} {
		call, err := table.Lookup(test.operation).Bind(t.Context(), strings.NewReader(test.body), Files{})
		var faults FieldErrors
		switch {
		case test.field == "" && err != nil:
			t.Errorf("%s: %v", test.body, err)
		case test.field != "" && (!errors.As(err, &faults) || faults[len(faults)-1].Field != test.field):
			t.Errorf("%s: got %v, want an error at %s", test.body, err, test.field)
		case test.field == "":
			if last := call.Steps[len(call.Steps)-1]; len(call.Steps) != 2 || last.Operation.Name != signOperation || last.Place != signPlace {
				t.Errorf("%s: the steps are %+v", test.body, call.Steps)
			}
			_ = call.Close()
		}
	}
}
