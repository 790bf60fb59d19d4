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

// StandardsResult is what a document claims, and what prevents it from claiming the others.
type StandardsResult struct {
	Claimed []pdffile.Standard
	Faults  []pdftag.Violation
}

// StandardsJob makes a tagged PDF of Chromium conform to standards.
var StandardsJob = job.Define("pdf.standards", engine.MakeTime, applyStandards)

// applyStandards makes a tagged document conform to standards.
func applyStandards(_ context.Context, w *engine.Work, args StandardsArgs) (StandardsResult, error) {
	content, err := os.ReadFile(w.Path(args.Name))
	if err != nil {
		return StandardsResult{}, fmt.Errorf("input: %w", err)
	}
	if args.Texts != "" {
		texts, err := os.ReadFile(w.Path(args.Texts))
		if err != nil {
			return StandardsResult{}, fmt.Errorf("texts: %w", err)
		}
		if err := json.Unmarshal(texts, &args.Options.Texts); err != nil {
			return StandardsResult{}, fmt.Errorf("texts: %w", err)
		}
	}

	made, err := pdftag.Conform(content, args.Options)
	if err != nil {
		return StandardsResult{}, &job.Error{Kind: job.Damaged, Cause: err}
	}
	if err := os.WriteFile(w.Path(job.Output), made.PDF, 0o600); err != nil {
		return StandardsResult{}, fmt.Errorf("result: %w", err)
	}
	w.Output(job.Output)
	return StandardsResult{Claimed: made.Claimed, Faults: made.Faults}, nil
}
