// Package pdf works on existing PDFs. Its handlers run in the children of render/engine, where they parse users'
// files: with qpdf for the structure of a document, with poppler and MuPDF for the content of its pages, and with
// pdfcpu to put pages on sheets.
//
// Passwords are passed to the programs in files of the job's own folder, never on a command line, which every
// process of the machine may read.
package pdf

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/relaypdf/relaypdf/render/engine"
)

// The limits of a result. A document above them could hardly be opened by its
// reader.
const (
	MaxBytes = 200 << 20
	MaxPages = 2000
)

// The names of the jobs, for engine.Job.
const (
	MergeJob       = "pdf.merge"
	ExtractJob     = "pdf.extract"
	ProtectJob     = "pdf.protect"
	UnlockJob      = "pdf.unlock"
	BookmarksJob   = "pdf.bookmarks"
	RotateJob      = "pdf.rotate"
	DeletePagesJob = "pdf.delete-pages"
	CompressJob    = "pdf.compress"
	InfoJob        = "pdf.info"
	SetInfoJob     = "pdf.set-info"
	RepairJob      = "pdf.repair"
	CropJob        = "pdf.crop"
	ResizeJob      = "pdf.resize"
	OptimizeJob    = "pdf.optimize"
	NUpJob         = "pdf.nup"
	BookletJob     = "pdf.booklet"
	SplitJob       = "pdf.split"
	MetadataJob    = "pdf.metadata"
	SetMetadataJob = "pdf.metadata.set"
	OverlayJob     = "pdf.overlay"
	MeasureJob     = "pdf.merge.measure"
	VerifyJob      = "pdf.verify"

	// The first two have the key, and read no document. The others read a document without the key.
	SignKeyJob    = "pdf.sign.key"
	SignDigestJob = "pdf.sign.digest"
	SignJob       = "pdf.sign"
	SealJob       = "pdf.seal"

	// TestMarkJob has an Input as its argument.
	TestMarkJob = "pdf.test-mark"

	ConvertImageJob      = "images.convert"
	ExtractImagesJob     = "pdf.extract-images"
	AttachmentsJob       = "pdf.attachments"
	DetachJob            = "pdf.attachments.extract"
	AttachJob            = "pdf.attachments.add"
	RemoveAttachmentsJob = "pdf.attachments.remove"
)

// Handlers are the jobs of this package that a child of render/engine can do.
func Handlers() engine.Handlers {
	handlers := engine.Handlers{
		MergeJob:       handleJSON(merge),
		ExtractJob:     handle(extract),
		ProtectJob:     handle(protect),
		UnlockJob:      handle(unlock),
		BookmarksJob:   handle(addBookmarks),
		RotateJob:      handle(rotate),
		DeletePagesJob: handle(deletePages),
		CompressJob:    handle(compress),
		InfoJob:        handleJSON(info),
		SetInfoJob:     handle(setInfo),
		RepairJob:      handle(repair),
		CropJob:        handle(crop),
		ResizeJob:      handle(resize),
		OptimizeJob:    handle(optimize),
		NUpJob:         handleJSON(nUp),
		BookletJob:     handleJSON(booklet),
		SplitJob:       handle(split),
		MetadataJob:    handleJSON(metadata),
		SetMetadataJob: handleJSON(setMetadata),
		OverlayJob:     handleJSON(overlay),
		MeasureJob:     handleJSON(measureParts),
		VerifyJob:      handleJSON(verify),

		SignKeyJob:    handleJSON(readKey),
		SignDigestJob: handleJSON(signDigest),
		SignJob:       handleJSON(sign),
		SealJob:       handleJSON(seal),
		TestMarkJob:   handle(testMark),

		ConvertImageJob:      handleJSON(convertImage),
		ExtractImagesJob:     handle(extractImages),
		AttachmentsJob:       handleJSON(listAttachments),
		DetachJob:            handleJSON(detach),
		AttachJob:            handle(attach),
		RemoveAttachmentsJob: handle(removeAttachments),
	}
	maps.Copy(handlers, PageHandlers())
	return handlers
}

// Input is one file of a job and the password that opens it; empty is none.
type Input struct {
	Name     string
	Password string
}

// handle makes a handler whose errors of this package reach the other side,
// where FromJob reads them.
func handle[Args any](f func(ctx context.Context, w *engine.Work, args Args) ([]byte, error)) engine.Handler {
	return engine.Handle(func(ctx context.Context, w *engine.Work, args Args, _ []byte) ([]byte, error) {
		result, err := f(ctx, w, args)
		return result, toJob(err)
	})
}

// Changed describes, in sentences, the changes in a result in addition to the requested
// ones.
type Changed struct {
	Changes []string
}

// handleJSON is handle for a job whose result is a value.
func handleJSON[Args, Result any](f func(ctx context.Context, w *engine.Work, args Args) (Result, error)) engine.Handler {
	return handle(func(ctx context.Context, w *engine.Work, args Args) ([]byte, error) {
		result, err := f(ctx, w, args)
		if err != nil {
			return nil, err
		}
		return json.Marshal(result)
	})
}
