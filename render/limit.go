package render

import (
	"time"

	"relaypdf/render/office"
	"relaypdf/render/pdf"
)

// How long work on files may take, by its kind and from when its turn comes: a
// few times what the largest sound files need. What takes longer is hostile, or
// better split.
const (
	// ReadTime is for what describes a file: its information, its form's fields.
	ReadTime = 10 * time.Second
	// TextTime is for reading the text of a file.
	TextTime = 20 * time.Second
	// ChangeTime is for what rearranges a file or adds to it: pages, bookmarks,
	// passwords, stamps, filled forms.
	ChangeTime = 30 * time.Second
	// MakeTime is for what draws, compresses, joins or converts.
	MakeTime = time.Minute
	// OCRTime is for reading scans: fifty pages take some seconds each, two at a time.
	OCRTime = 4 * time.Minute
)

// timeLimit returns how long an engine's job may take.
func timeLimit(job string) time.Duration {
	switch job {
	case pdf.InfoJob, pdf.FormFieldsJob, pdf.AttachmentsJob, pdf.ArchivedJob, office.ResolutionJob, office.ReferencesJob:
		return ReadTime
	case pdf.TextJob:
		return TextTime
	case pdf.ExtractJob, pdf.DeletePagesJob, pdf.RotateJob, pdf.ProtectJob, pdf.UnlockJob, pdf.BookmarksJob, pdf.StampJob, pdf.FormFillJob, pdf.SetInfoJob,
		pdf.CropJob, pdf.ResizeJob, pdf.RepairJob, pdf.DetachJob, pdf.AttachJob, pdf.RemoveAttachmentsJob:
		return ChangeTime
	}
	if job == pdf.OCRJob || job == pdf.MarkdownJob {
		return OCRTime
	}
	return MakeTime
}
