package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"relaypdf/api/operation"
)

// TestPipelineRun runs the pipeline in a file. The server has no engines, and refuses it by its cap.
func TestPipelineRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flow.json")
	body := `{"steps":[{"id":"a","op":"pdf.create","input":{"html":"x"}},{"id":"b","op":"pdf.stamp","input":{"step":"a","text":"PAID"}}]}`
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	s := openDoors(t)
	r := runRows(t, operation.Rows, "", "pipeline", "run", path, "-o", filepath.Join(t.TempDir(), "out.pdf"), "--max-charge", "0.0024", "--api-url", s.URL, "--api-key", s.Secret)
	if !strings.Contains(r.err, "This call costs $0.0025, but") {
		t.Errorf("got exit code %d and %q, want the price of the steps", r.code, r.err)
	}
	if r = runRows(t, operation.Rows, "", "pipeline", "run"); r.code != 2 {
		t.Errorf("without a file the exit code is %d: %s", r.code, r.err)
	}
}
