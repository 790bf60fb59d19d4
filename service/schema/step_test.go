package schema

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
)

// turnInput is the input of an operation on a file.
type turnInput struct {
	Common

	File   File    `json:"file,omitzero" jsonschema_description:"File."`
	FileID *string `json:"fileId,omitempty" jsonschema_description:"ID of a file."`
	Tags   []int   `json:"tags,omitempty" jsonschema_description:"Numbers."`
}

func turnOperation(t *testing.T) *Operation[struct{}] {
	t.Helper()
	table, err := NewTable([]Definition[struct{}]{TypedDefinition[struct{}, turnInput]{
		Info:    Info{Name: "file.turn", Summary: "Turn a file", Price: 5, Produces: []string{"text/plain"}},
		Example: turnInput{File: NewFile([]byte("x"))},
		Run:     func(context.Context, struct{}, *turnInput) (Result, error) { return Result{}, nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	return table.Lookup("file.turn")
}

// TestStepsAreBound reads the input of a call with steps, and what it wrote, and compares the two.
func TestStepsAreBound(t *testing.T) {
	t.Parallel()
	operation := turnOperation(t)
	content := strings.Repeat("QUJD", maxStructure/2) // a file that is longer than the structure may be
	call, err := operation.Bind(t.Context(), strings.NewReader(
		`{"file":"QUJD","then":[{"input":{"tags":[1]},"op":"file.turn"},{"op":"file.turn","input":{"file":"`+content+`","tags":[2]}},{"op":"file.turn","input":[]}]}`), Files{})
	var faults FieldErrors
	if !errors.As(err, &faults) || len(faults) != 1 || faults[0].Field != "then[1].input" {
		t.Fatalf("got %v, %v, want an error at then[1].input, which does not use the result before it", call, err)
	}
	call, err = operation.Bind(t.Context(), strings.NewReader(`{"file":"`+content+`","then":[{"input":{"tags":[1]},"op":"file.turn"},{"op":"file.turn","input":[]}]}`), Files{})
	if err != nil {
		t.Fatal(err)
	}
	defer call.Close()
	if len(call.Steps) != 2 || len(call.Calls()) != 3 || call.Steps[1].Uses()[0] != Previous || len(call.StoredFiles()) != 0 {
		t.Errorf("the steps are %+v", call.Steps)
	}
	var text strings.Builder
	if err := call.WriteInput(&text); err != nil {
		t.Fatal(err)
	}
	again, err := operation.Bind(t.Context(), strings.NewReader(text.String()), Files{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	first, _ := call.Digest()
	second, _ := again.Digest()
	if !bytes.Equal(first, second) {
		t.Error("a call that was written and read again is another one")
	}
}

// TestStepsAreBounded: the structure of all steps together has the limit of a request.
func TestStepsAreBounded(t *testing.T) {
	t.Parallel()
	step := `{"op":"file.turn","input":{"tags":[` + strings.Repeat("1,", maxStructure/4) + `1]}}`
	_, err := turnOperation(t).Bind(t.Context(), strings.NewReader(`{"file":"QUJD","then":[`+step+`,`+step+`]}`), Files{})
	var size *SizeError
	if !errors.As(err, &size) || !size.ExcludesFiles {
		t.Errorf("got %v, want a SizeError", err)
	}
}
