package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/service/operation"
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

// TestPipelinesIsHidden: help lists one of two commands for the same operation.
func TestPipelinesIsHidden(t *testing.T) {
	if r := runRows(t, operation.Rows, "", "--help"); strings.Contains(r.out, "pipelines") || !strings.Contains(r.out, "  pipeline ") {
		t.Errorf("the help is\n%s", r.out)
	}
}

// TestPipelineReadsFiles: a source of a step is a path after @.
func TestPipelineReadsFiles(t *testing.T) {
	dir := t.TempDir()
	paths := map[string]string{"letter.pdf": "not a PDF", "flow.json": ""}
	flow := func(source string) string {
		return `{"steps":[{"id":"a","op":"pdf.merge","input":{"files":[{"file":"` + source + `"},{"file":"eA=="}]}},{"id":"b","op":"pdf.stamp","input":{"step":"a","text":"PAID"}}]}`
	}
	paths["flow.json"] = flow("@" + filepath.Join(dir, "letter.pdf"))
	paths["gone.json"] = flow("@" + filepath.Join(dir, "gone.pdf"))
	for name, text := range paths {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := openDoors(t)
	run := func(file string) ran {
		return runRows(t, operation.Rows, "", "pipeline", "run", filepath.Join(dir, file), "-o", filepath.Join(dir, "out.pdf"), "--max-charge", "0.0009", "--api-url", s.URL, "--api-key", s.Secret)
	}
	if r := run("flow.json"); !strings.Contains(r.err, "This call costs $0.001, but") {
		t.Errorf("got exit code %d and %q, want the price", r.code, r.err)
	}
	if r := run("gone.json"); r.code != 2 || !strings.Contains(r.err, "step 1: open ") {
		t.Errorf("got exit code %d and %q, want that the file of step 1 is missing", r.code, r.err)
	}
}

// TestPipelineOutputIsOfTheLastStep checks the name of the output against the operation that makes the result.
func TestPipelineOutputIsOfTheLastStep(t *testing.T) {
	s := openDoors(t)
	const create, raster = `{"id":"a","op":"pdf.create","input":{"html":"x"}}`, `{"id":"b","op":"pdf.raster","input":{"step":"a"}}`
	for _, c := range []struct{ args, output, says string }{
		{`pipelines create --json {"steps":[` + create + `,` + raster + `]}`, "out.pdf", "relaypdf pdf raster makes .png"},
		{`pipelines create --json {"steps":[` + create + `,` + raster + `]}`, "out.jpg", "This call costs"},
		{`pipelines create --json {"output":"a","steps":[` + create + `]}`, "out.png", "relaypdf pdf create makes .pdf"},
		{`pipelines create --json {"output":["a","b"],"steps":[` + create + `,` + raster + `]}`, "out.pdf", "relaypdf zip create makes .zip"},
		{`pipelines create --json {"output":["a","b"],"steps":[` + create + `,` + raster + `]}`, "out.zip", "This call costs"},
		{`pdf create --json {"html":"x"} --then {"op":"pdf.raster","input":{}}`, "out.pdf", "relaypdf pdf raster makes .png"},
		{`pdf create --json {"html":"x"} --then {"op":"pdf.raster","input":{}}`, "out.png", "This call costs"},
	} {
		args := append(strings.Fields(c.args), "-o", filepath.Join(t.TempDir(), c.output), "--max-charge", "0.0001", "--api-url", s.URL, "--api-key", s.Secret)
		if r := runRows(t, operation.Rows, "", args...); !strings.Contains(r.err, c.says) {
			t.Errorf("%s -o %s: got exit code %d and %q, want %q", c.args, c.output, r.code, r.err, c.says)
		}
	}
}
