package render

import (
	"context"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/spool"
)

// PDFComparison holds the settings of a comparison.
type PDFComparison struct {
	// Ignore lists the parts of pages that are not compared.
	Ignore []pdf.IgnoredArea
	// Threshold is the colour difference from 0 to 1 above which a pixel is changed, MaxRatio the share of changed
	// pixels up to which pages are equal.
	Threshold, MaxRatio float64
	Output              pdf.ComparedAs
	// TestMark draws the test mark on images.
	TestMark bool
	// MaxViews is the maximum number of pages in a result that shows the pages that differ; 0 means all.
	MaxViews int
}

// ComparePDFs compares two PDFs page by page. The result is the JSON of a pdf.Comparison, or has the pages that differ
// side by side.
func (t *Tools) ComparePDFs(ctx context.Context, old, latest PDFFile, how PDFComparison) (*spool.File, error) {
	args := pdf.CompareArgs{
		Old: pdf.Input{Name: "old.pdf", Password: old.Password}, New: pdf.Input{Name: "new.pdf", Password: latest.Password},
		Ignore: how.Ignore, Threshold: how.Threshold, MaxRatio: how.MaxRatio, Output: how.Output, TestMark: how.TestMark, MaxViews: how.MaxViews,
	}
	files := []engine.File{{Name: args.Old.Name, Content: old.Content}, {Name: args.New.Name, Content: latest.Content}}
	return t.runPDF(ctx, engine.Job{Name: pdf.CompareJob, Args: args, Files: files})
}
