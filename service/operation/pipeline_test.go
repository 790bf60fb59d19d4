package operation_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render/spool"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
)

// closing is a result that counts how often it is closed.
type closing struct {
	schema.Body
	count *int
}

func (c closing) Close() error {
	*c.count++
	return c.Body.Close()
}

// TestStepsShareTheirTime has the third step wait for longer than all steps may take. The results before it are closed.
func TestStepsShareTheirTime(t *testing.T) {
	t.Parallel()
	table, err := schema.NewTable(operation.Rows)
	if err != nil {
		t.Fatal(err)
	}
	call, err := table.Lookup("pipelines.create").Bind(t.Context(), strings.NewReader(`{"steps":[
		{"id":"a","op":"barcodes.create","input":{"type":"qr","text":"x"}},{"id":"b","op":"images.convert","input":{"step":"a","to":"jpeg"}},
		{"id":"c","op":"pdf.from-images","input":{"files":[{"step":"a"},{"step":"b"}]}}]}`), schema.Files{})
	if err != nil {
		t.Fatal(err)
	}
	defer call.Close()
	synctest.Test(t, func(t *testing.T) {
		runs, closed := 0, 0
		patiently := func(ctx context.Context, _ func() (schema.Result, error)) (schema.Result, error) {
			if runs++; runs == 3 {
				<-ctx.Done()
				return schema.Result{}, ctx.Err()
			}
			return schema.Result{Stem: "code", Extension: ".png", ContentType: "image/png", Body: closing{spool.FromBytes(nil), &closed}}, nil
		}
		_, err := operation.Run(t.Context(), &operation.Deps{}, call, patiently)
		var failed *wire.Error
		if !errors.As(err, &failed) || failed.Code != wire.ProcessingFailed || !strings.HasPrefix(failed.Message, "Step c (steps[2], pdf.from-images): the steps did not finish within 5 minutes") {
			t.Errorf("got %v", err)
		}
		if runs != 3 || closed != 2 {
			t.Errorf("%d steps began and %d results were closed, want 3 and 2", runs, closed)
		}
	})
}
