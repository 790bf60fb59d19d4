package pdf

import (
	"context"
	"maps"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// SetInfoArgs is the arguments of SetInfoJob: the metadata for a document. Empty fields
// leave the document's own as they are.
type SetInfoArgs struct {
	job.Input
	pdffile.Info
}

// SetInfoJob sets the fields of the document information that are not empty, and leaves the others as they are.
var SetInfoJob = job.DefineFile("pdf.set-info", engine.ChangeTime, setInfo)

// setInfo gives a document its information. The XMP metadata is removed, because readers prefer it, and it would
// contradict the new values.
func setInfo(ctx context.Context, w *engine.Work, args SetInfoArgs) error {
	linear, _, err := linearized(w.Path(args.Name))
	if err != nil {
		return err
	}
	doc, s, err := job.OpenStructure(ctx, w, args.Input)
	if err != nil {
		return err
	}

	entries := information(s.File)
	texts := map[string]string{
		"/Title": args.Title, "/Author": args.Author, "/Subject": args.Subject, "/Keywords": args.Keywords,
	}
	for key, text := range texts {
		if text != "" {
			entries[key] = "u:" + text
		}
	}

	changes := s.NewUpdate()
	changes.SetInfo(entries)
	if catalog := s.Catalog(); catalog["/Metadata"] != nil {
		changes.Set(s.Root(), pdffile.Without(catalog, "/Metadata"))
	}
	if err := doc.Change(changes); err != nil {
		return err
	}

	options := job.QPDFJob{}
	if linear {
		options["linearize"] = ""
	}
	return doc.Write(ctx, options)
}

// information returns a copy of the document's information that is stored only in its information dictionary.
func information(f *pdffile.File) pdffile.Dict {
	entries := pdffile.Dict{}
	maps.Copy(entries, f.Entry(f.Trailer("/Info")))
	maps.DeleteFunc(entries, func(_ string, v any) bool { return pdffile.Reference(v) != "" })
	return entries
}
