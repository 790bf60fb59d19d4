package render

import (
	"context"

	"relaypdf/render/engine"
	"relaypdf/render/pdf"
	"relaypdf/render/spool"
)

// NUpCell is the room of each page on a sheet that is so large in portrait, in points.
func NUpCell(perSheet int, width, height float64, landscape bool) (cellWidth, cellHeight float64) {
	return pdf.NUpCell(perSheet, width, height, landscape)
}

// NUp puts several pages of a PDF on each sheet. Empty pages are all.
func (a *Account) NUp(ctx context.Context, file PDFFile, pages string, how pdf.NUpArgs) (*spool.File, error) {
	files, input := file.input()
	how.Selection = pdf.Selection{Input: input, Pages: pages}
	return a.runPDF(ctx, engine.Job{Name: pdf.NUpJob, Args: how, Files: files})
}

// Booklet puts the pages of a PDF on sheets that make a booklet when they are folded.
func (a *Account) Booklet(ctx context.Context, file PDFFile, how pdf.BookletArgs) (*spool.File, error) {
	files, input := file.input()
	how.Input = input
	return a.runPDF(ctx, engine.Job{Name: pdf.BookletJob, Args: how, Files: files})
}
