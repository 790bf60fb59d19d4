package apitest

import (
	"context"
	"strings"

	"github.com/relaypdf/relaypdf/render/spool"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/credit"
)

// Prices of the operations that exist for tests.
const (
	EchoPrice = 2_000 * credit.Microdollar
	JSONPrice = 500 * credit.Microdollar
)

// EchoInput is the input of test.echo.
type EchoInput struct {
	schema.Common
	Text  string `json:"text" jsonschema:"required,maxLength=100" jsonschema_description:"What to answer with."`
	Count int    `json:"count,omitempty" jsonschema:"minimum=1,maximum=10000000,default=1" jsonschema_description:"How many times."`
	Label string `json:"label,omitempty" jsonschema:"enum=a,enum=b" jsonschema_description:"A choice, for tests of faults."`
	// File makes the input long.
	File schema.File `json:"file,omitzero" jsonschema_description:"A file that nothing is done with."`
}

// JSONInput is the input of test.json.
type JSONInput struct {
	schema.Common
}

// Echo returns the operation test.echo, which responds with its text, or with whatever run does with it where run
// is not nil.
func Echo(run func(ctx context.Context, in *EchoInput) error) schema.Definition[*operation.Deps] {
	return schema.TypedDefinition[*operation.Deps, EchoInput]{
		Info: schema.Info{
			Name: "test.echo", Default: true, Summary: "Answer with a text", Price: EchoPrice, Produces: []string{"text/plain"},
		},
		Example: EchoInput{Text: "hello"},
		Run: func(ctx context.Context, _ *operation.Deps, in *EchoInput) (schema.Result, error) {
			if run != nil {
				if err := run(ctx, in); err != nil {
					return schema.Result{}, err
				}
			}
			text := strings.Repeat(in.Text, max(1, in.Count))
			return schema.Result{
				Stem: "echo", Extension: ".txt", ContentType: "text/plain", Body: spool.FromBytes([]byte(text)),
			}, nil
		},
	}
}

// JSON returns the operation test.json, whose result is a JSON object.
func JSON() schema.Definition[*operation.Deps] {
	return schema.TypedDefinition[*operation.Deps, JSONInput]{
		Info: schema.Info{
			Name: "test.json", Summary: "Answer with an object", Price: JSONPrice, Produces: []string{"application/json"},
		},
		Run: func(context.Context, *operation.Deps, *JSONInput) (schema.Result, error) {
			return schema.Result{Stem: "object", JSON: map[string]any{"pageCount": 3}}, nil
		},
	}
}
