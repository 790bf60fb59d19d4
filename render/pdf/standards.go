package pdf

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/pdftag"
)

// StandardsArgs are the arguments of a StandardsJob, whose input is a tagged PDF as Chromium prints it. The output is
// the PDF, and the result is a Standards.
type StandardsArgs struct {
	job.Input

	Options pdftag.Options
	Texts   string // the name of an input, the JSON of Options.Texts; empty is none
}

// Standards is what a document claims, and what prevents it from claiming the others.
type Standards struct {
	Claimed []pdffile.Standard
	Faults  []pdftag.Violation
}

// StandardsJob makes a tagged PDF of Chromium conform to standards.
var StandardsJob = job.Define("pdf.standards", engine.MakeTime, conform)

// conform makes a tagged document conform to standards.
func conform(_ context.Context, w *engine.Work, args StandardsArgs) (Standards, error) {
	content, err := os.ReadFile(w.Path(args.Name))
	if err != nil {
		return Standards{}, fmt.Errorf("input: %w", err)
	}
	if args.Texts != "" {
		texts, err := os.ReadFile(w.Path(args.Texts))
		if err != nil {
			return Standards{}, fmt.Errorf("texts: %w", err)
		}
		if err := json.Unmarshal(texts, &args.Options.Texts); err != nil {
			return Standards{}, fmt.Errorf("texts: %w", err)
		}
	}

	made, err := pdftag.Conform(content, args.Options)
	if err != nil {
		return Standards{}, &job.Error{Kind: job.Damaged, Cause: err}
	}
	if err := os.WriteFile(w.Path(job.Output), made.PDF, 0o600); err != nil {
		return Standards{}, fmt.Errorf("result: %w", err)
	}
	w.Output(job.Output)
	return Standards{Claimed: made.Claimed, Faults: made.Faults}, nil
}
