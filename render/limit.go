package render

import (
	"time"

	"github.com/relaypdf/relaypdf/render/office"
	"github.com/relaypdf/relaypdf/render/pdf"
)

// Time limits of work on files, by kind and from the moment a job gets a slot. Each is a few times what the largest
// valid files need. Jobs that take longer are hostile or should be split.
const (
	// ReadTime is for jobs that describe a file, such as its information or its form fields.
	ReadTime = 10 * time.Second
	// TextTime is for reading the text of a file.
	TextTime = 20 * time.Second
	// ChangeTime is for jobs that rearrange a file or add to it: pages, bookmarks, passwords, stamps, filled forms.
	ChangeTime = 30 * time.Second
	// MakeTime is for jobs that render, compress, join or convert.
	MakeTime = time.Minute
	// OCRTime is for OCR of scans. Fifty pages take a few seconds each, two at a time.
	OCRTime = 4 * time.Minute
	// CompareTime is for rendering all pages of two files, and again those that differ.
	CompareTime = 4 * time.Minute
)

// timeLimit returns the time limit of an engine's job.
func timeLimit(job string) time.Duration {
	switch job {
	case pdf.InfoJob, pdf.MeasureJob, pdf.MetadataJob, pdf.FormFieldsJob, pdf.AttachmentsJob, pdf.SignKeyJob, pdf.SignDigestJob, pdf.ArchivedJob, pdf.InvoiceReadJob, office.ResolutionJob, office.ReferencesJob:
		return ReadTime
	case pdf.TextJob:
		return TextTime
	case pdf.ExtractJob, pdf.DeletePagesJob, pdf.RotateJob, pdf.ProtectJob, pdf.UnlockJob, pdf.BookmarksJob, pdf.StampJob, pdf.FormFillJob, pdf.SetInfoJob, pdf.SetMetadataJob,
		pdf.CropJob, pdf.ResizeJob, pdf.RepairJob, pdf.OverlayJob, pdf.SignJob, pdf.SealJob, pdf.DetachJob, pdf.AttachJob, pdf.RemoveAttachmentsJob, pdf.TestMarkJob:
		return ChangeTime
	}
	switch job {
	case pdf.OCRJob, pdf.MarkdownJob:
		return OCRTime
	case pdf.CompareJob:
		return CompareTime
	}
	return MakeTime
}
