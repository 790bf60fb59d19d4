package render

import (
	"context"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/spool"
)

// NUpCell returns the size of the area for each page on a sheet, in points. width and height are the size of the
// sheet in portrait.
func NUpCell(perSheet int, width, height float64, landscape bool) (cellWidth, cellHeight float64) {
	return pdf.NUpCell(perSheet, width, height, landscape)
}

// NUp puts several pages of a PDF on each sheet. Empty pages mean all.
func (a *Account) NUp(ctx context.Context, file PDFFile, pages string, how pdf.NUpArgs) (_ *spool.File, changes []string, err error) {
	files, input := file.input()
	how.Selection = pdf.Selection{Input: input, Pages: pages}
	return a.runChanging(ctx, engine.Job{Name: pdf.NUpJob, Args: how, Files: files})
}

// Booklet arranges the pages of a PDF on sheets that are folded into a booklet.
func (a *Account) Booklet(ctx context.Context, file PDFFile, how pdf.BookletArgs) (_ *spool.File, changes []string, err error) {
	files, input := file.input()
	how.Input = input
	return a.runChanging(ctx, engine.Job{Name: pdf.BookletJob, Args: how, Files: files})
}
