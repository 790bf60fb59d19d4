package render

import (
	"context"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/spool"
)

// MarkPDF draws the test mark on each page of a PDF.
func (a *Account) MarkPDF(ctx context.Context, file PDFFile) (*spool.File, error) {
	return RunFile(ctx, a, pdf.TestMarkJob, file.Input(), file.File())
}

// markQuality is the quality of JPEGs and WebPs that are written again with the test mark.
const markQuality = 90

// MarkImage draws the test mark on an image of a format, such as png. Place is images.MarkOver or images.MarkBelow.
func (a *Account) MarkImage(ctx context.Context, file engine.Content, format, place string) (*spool.File, error) {
	marked, _, err := a.ConvertImage(ctx, file, images.ConvertArgs{To: format, Quality: markQuality, TestMark: place})
	return marked, err
}
