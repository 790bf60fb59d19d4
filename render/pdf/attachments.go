package pdf

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Attachments is the result of AttachmentsJob.
type Attachments struct {
	Attachments []Attachment `json:"attachments" jsonschema:"required" jsonschema_description:"Attached files, by name."`
}

// Attachment is a file inside of a document.
type Attachment struct {
	Name        string     `json:"name" jsonschema:"required" jsonschema_description:"Internal name of the file in the PDF. Send it in names. Usually equal to filename."`
	Filename    string     `json:"filename" jsonschema:"required" jsonschema_description:"Name of the file."`
	Description string     `json:"description" jsonschema:"required" jsonschema_description:"Description in the PDF; empty if there is none."`
	ContentType string     `json:"contentType" jsonschema:"required" jsonschema_description:"Declared content type; empty if there is none."`
	SizeBytes   *int64     `json:"sizeBytes" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"Declared size in bytes; null if there is none."`
	CreatedAt   *time.Time `json:"createdAt" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Creation time of the file; null if unknown."`
	ModifiedAt  *time.Time `json:"modifiedAt" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Time of the file's last change; null if unknown."`
	Page        *int       `json:"page" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"Page of the comment that holds the file; null if the file belongs to the whole document."`

	content string // the reference of its stream
}

// NamedAttachments are the arguments of jobs on some of a document's attachments. No names mean all attachments.
type NamedAttachments struct {
	job.Input
	Names []string
}

// AttachArgs are the arguments of AttachJob.
type AttachArgs struct {
	job.Input
	Files []NewAttachment
}

// NewAttachment is a file to attach. File is its name in the job's folder. An attachment with the same Filename is
// replaced.
type NewAttachment struct {
	File, Filename, ContentType, Description string
}

// maxAttachments is the maximum number of attachments that one job extracts from a document.
const maxAttachments = 500

// AttachmentsJob lists the files in a PDF.
var AttachmentsJob = job.Define("pdf.attachments", engine.ReadTime, listAttachments)

// listAttachments lists the attachments of a document.
func listAttachments(ctx context.Context, w *engine.Work, args job.Input) (Attachments, error) {
	doc, s, err := job.OpenStructure(ctx, w, args)
	if err != nil {
		return Attachments{}, err
	}
	list, err := attachmentsOf(ctx, doc, s)
	return Attachments{list}, err
}

// attachmentsOf are the files of a document, by their names, and after them those that are
// pinned on its pages. One that is both is the document's.
func attachmentsOf(ctx context.Context, d *job.Document, s *job.Structure) ([]Attachment, error) {
	list, err := readAttachments(ctx, d)
	if err != nil {
		return nil, err
	}
	list = append(list, pageAttachments(s, list)...)
	for i := range list {
		if size, ok := s.Target(s.Entry(s.Dict(list[i].content)["/Params"])["/Size"]).(float64); ok && size >= 0 {
			list[i].SizeBytes = new(int64(size))
		}
	}
	return list, nil
}

// readAttachments returns the attachments of the document's name tree, by name.
func readAttachments(ctx context.Context, d *job.Document) ([]Attachment, error) {
	out, err := d.Ask(ctx, job.QPDFJob{
		"inputFile": d.Name, "password": d.Password, "json": "2", "jsonKey": []string{"attachments"},
	})
	if err != nil {
		return nil, err
	}

	var output struct {
		Attachments map[string]struct {
			Description string
			Name        string `json:"preferredname"`
			Content     string `json:"preferredcontents"`
			Streams     map[string]struct {
				Type     string     `json:"mimetype"`
				Created  attachTime `json:"creationdate"`
				Modified attachTime `json:"modificationdate"`
			}
		}
	}
	if err := json.Unmarshal(out, &output); err != nil {
		return nil, d.Fail(job.Damaged, fmt.Errorf("attachments: %w", err))
	}

	list := []Attachment{}
	for _, name := range slices.Sorted(maps.Keys(output.Attachments)) {
		a := output.Attachments[name]
		attachment := Attachment{
			Name: name, Filename: a.Name, Description: a.Description, content: pdffile.Reference(a.Content),
		}

		for _, key := range []string{"/F", "/UF"} { // the latter is preferred
			if s, ok := a.Streams[key]; ok {
				attachment.ContentType = s.Type
				attachment.CreatedAt = s.Created.at
				attachment.ModifiedAt = s.Modified.at
			}
		}

		list = append(list, attachment)
	}

	return list, nil
}

// attachTime is a time as qpdf writes it, or none.
type attachTime struct{ at *time.Time }

// UnmarshalJSON treats an invalid time as absent: documents may contain any string.
func (t *attachTime) UnmarshalJSON(text []byte) error {
	var at time.Time
	if json.Unmarshal(text, &at) == nil && !at.IsZero() {
		t.at = &at
	}
	return nil
}

// findAttachments returns the attachments with the given names, each once, or all. A name without an attachment is an
// error.
func findAttachments(ctx context.Context, d *job.Document, s *job.Structure, names []string) ([]Attachment, error) {
	all, err := attachmentsOf(ctx, d, s)
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, &job.Error{Kind: job.NoMatch, Text: "has no attachments"}
	case len(names) == 0:
		return all, nil
	}

	byName := map[string]Attachment{}
	for _, a := range all {
		byName[a.Name] = a
	}

	var found []Attachment
	seen := map[string]bool{}
	for _, name := range names {
		a, ok := byName[name]
		if !ok {
			return nil, &job.Error{Kind: job.NotAttached, Text: fmt.Sprintf(
				"has %.100q, which is not attached. Attachments: %s",
				name, job.ShortList(slices.Sorted(maps.Keys(byName))),
			)}
		}

		if !seen[name] {
			seen[name] = true
			found = append(found, a)
		}
	}

	return found, nil
}

// DetachJob extracts files from a PDF: the outputs are their contents, and the result is their file names.
var DetachJob = job.Define("pdf.attachments.extract", engine.ChangeTime, detach)

// detach extracts attachments. The outputs are their contents, the result is their file names.
func detach(ctx context.Context, w *engine.Work, args NamedAttachments) ([]string, error) {
	doc, s, err := job.OpenStructure(ctx, w, args.Input)
	if err != nil {
		return nil, err
	}

	found, err := findAttachments(ctx, doc, s, args.Names)
	if err != nil {
		return nil, err
	}
	if len(found) > maxAttachments {
		return nil, &job.Error{
			Kind: job.NotAttached,
			Text: fmt.Sprintf("must select at most %d of the %d attachments", maxAttachments, len(found)),
		}
	}

	var names []string
	total := 0
	for i, a := range found {
		options := job.QPDFJob{"inputFile": doc.Name, "password": doc.Password, "showAttachment": a.Name}
		if a.Page != nil {
			options = job.QPDFJob{
				"inputFile": doc.Name, "password": doc.Password,
				"showObject":         strings.ReplaceAll(strings.TrimSuffix(a.content, " R"), " ", ","),
				"filteredStreamData": "",
			}
		}

		content, err := job.QPDF(ctx, w, options)
		if err != nil {
			return nil, doc.Damaged(err)
		}
		if total += len(content); total > job.MaxBytes {
			return nil, engine.ErrOutputTooLarge
		}

		name := "attachment" + strconv.Itoa(i)
		if err := os.WriteFile(w.Path(name), content, 0o600); err != nil {
			return nil, fmt.Errorf("attachment: %w", err)
		}
		w.Output(name)
		names = append(names, a.Filename)
	}

	return names, nil
}

// AttachJob adds files to a PDF. An existing file with the same name is replaced.
var AttachJob = job.DefineFile("pdf.attachments.add", engine.ChangeTime, attach)

// attach adds files to a document.
func attach(ctx context.Context, w *engine.Work, args AttachArgs) error {
	doc, err := job.OpenOne(ctx, w, args.Input)
	if err != nil {
		return err
	}

	if err := job.CheckPages(doc.Pages); err != nil {
		return err
	}

	var files []map[string]string
	for _, file := range args.Files {
		added := map[string]string{"file": file.File, "key": file.Filename, "filename": file.Filename, "replace": ""}
		if file.ContentType != "" {
			added["mimetype"] = file.ContentType
		}
		if file.Description != "" {
			added["description"] = file.Description
		}
		files = append(files, added)
	}

	return doc.Write(ctx, job.QPDFJob{"addAttachment": files})
}

// RemoveAttachmentsJob removes files from a PDF.
var RemoveAttachmentsJob = job.DefineFile("pdf.attachments.remove", engine.ChangeTime, removeAttachments)

// removeAttachments permanently removes files from a document, and the comments that pin them on pages.
func removeAttachments(ctx context.Context, w *engine.Work, args NamedAttachments) error {
	doc, s, err := job.OpenStructure(ctx, w, args.Input)
	if err != nil {
		return err
	}
	if err := job.CheckPages(doc.Pages); err != nil {
		return err
	}

	found, err := findAttachments(ctx, doc, s, args.Names)
	if err != nil {
		return err
	}

	options := job.QPDFJob{}
	var names []string
	contents := map[string]bool{}
	for _, a := range found {
		contents[a.content] = true
		if a.Page == nil {
			names = append(names, a.Name)
		}
	}
	if len(names) > 0 {
		options["removeAttachment"] = names
	}

	if err := doc.Change(removeFileAnnotations(s, contents)); err != nil {
		return err
	}
	return doc.Write(ctx, options)
}
