package operation

import (
	"cmp"
	"context"
	"regexp"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/service/schema"
)

// attachmentsInput is the input of pdf.attachments.
type attachmentsInput struct {
	schema.Common
	Described
	PDFSource

	Action string           `json:"action,omitempty" jsonschema:"enum=list,enum=extract,enum=add,enum=remove,default=list" jsonschema_description:"Action. list: describe the attached files as JSON. extract: return them as a ZIP archive. add: attach files. remove: remove files."`
	Names  []attachmentName `json:"names,omitempty" jsonschema:"minItems=1,maxItems=100" jsonschema_description:"Names of the attachments to extract (default: all) or to remove, as list returns them."`
	Files  []AttachedFile   `json:"files,omitempty" jsonschema:"minItems=1,maxItems=30" jsonschema_description:"Files to add, 1 to 30 of them, with the PDF at most 200 MiB together. A file replaces an attachment of the same name."`
}

// attachmentName is the name of a file in a PDF.
type attachmentName string

// maxAttachmentName is more than a name needs, in characters.
const maxAttachmentName = 1000

// JSONSchema bounds a name.
func (attachmentName) JSONSchema() *jsonschema.Schema {
	minimum := uint64(1)
	maximum := uint64(maxAttachmentName)
	return &jsonschema.Schema{Type: "string", MinLength: &minimum, MaxLength: &maximum}
}

// names returns the names in the renderer's type.
func (in *attachmentsInput) names() []string {
	var names []string
	for _, name := range in.Names {
		names = append(names, string(name))
	}
	return names
}

// AttachedFile is a file to put into a PDF.
type AttachedFile struct {
	FileSource

	Filename    string `json:"filename" jsonschema:"required,minLength=1,maxLength=255" jsonschema_description:"Name of the attachment, without folders."`
	ContentType string `json:"contentType,omitempty" jsonschema:"maxLength=100" jsonschema_description:"Declared content type, such as text/xml."`
	Description string `json:"description,omitempty" jsonschema:"maxLength=500" jsonschema_description:"Description that PDF readers display."`
}

// Actions on attachments.
const (
	listAttachments    = "list"
	extractAttachments = "extract"
	addAttachments     = "add"
	removeAttachments  = "remove"
)

var contentTypePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9.+-]*/[a-z0-9][a-z0-9.+-]*$`)

// Validate checks the rules that the schema cannot express.
func (in *attachmentsInput) Validate() error {
	var faults schema.FieldErrors
	in.validate(&faults)
	action := cmp.Or(in.Action, listAttachments)

	if names := len(in.Names) > 0; names && action != extractAttachments && action != removeAttachments {
		faults.Add("names", "requires action extract or remove; got %s", action)
	} else if !names && action == removeAttachments {
		faults.Add("names", "is required for action remove")
	}

	if files := len(in.Files) > 0; files && action != addAttachments {
		faults.Add("files", "requires action add; got %s", action)
	} else if !files && action == addAttachments {
		faults.Add("files", "is required for action add")
	}

	if in.Metadata != (Metadata{}) && action != addAttachments && action != removeAttachments {
		faults.Add("metadata", "requires action add or remove; got %s", action)
	}

	names := map[string]bool{}
	for i := range in.Files {
		in.Files[i].validate(&faults, fileAt(i), names)
	}

	return failures(faults)
}

func (f *AttachedFile) validate(faults *schema.FieldErrors, at string, names map[string]bool) {
	f.check(faults, at)
	switch {
	case strings.ContainsFunc(f.Filename, func(r rune) bool { return r < ' ' || r == '/' || r == '\\' }):
		faults.Add(at+"filename", "must be a file name without folders or control characters")
	case names[f.Filename]:
		faults.Add(at+"filename", "is already used: each attachment needs a unique name")
	}
	names[f.Filename] = true
	if f.ContentType != "" && !contentTypePattern.MatchString(f.ContentType) {
		faults.Add(at+"contentType", "must be a lower-case media type without parameters, such as text/xml")
	}
}

func runAttachments(ctx context.Context, deps *Deps, in *attachmentsInput) (schema.Result, error) {
	if in.Action == addAttachments {
		return addFiles(ctx, deps, in)
	}

	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		switch in.Action {
		case extractAttachments:
			archive, err := deps.Render.ExtractAttachments(ctx, file, in.names())
			if err != nil {
				return schema.Result{}, err
			}
			return zipResult("attachments", archive), nil
		case removeAttachments:
			args := pdf.NamedAttachments{Input: file.Input(), Names: in.names()}
			return pdfResult("document")(render.RunFile(ctx, deps.Render, pdf.RemoveAttachmentsJob, args, file.File()))
		}

		list, err := render.RunValue(ctx, deps.Render, pdf.AttachmentsJob, file.Input(), file.File())
		return schema.Result{Stem: "attachments", JSON: list}, err
	})
}

// addFiles adds files to the PDF, which is fetched at the same time.
func addFiles(ctx context.Context, deps *Deps, in *attachmentsInput) (schema.Result, error) {
	sources := append(
		[]stagedFile{{&in.FileSource, ""}},
		placeFiles(len(in.Files), func(i int) *FileSource { return &in.Files[i].FileSource })...)
	return withFiles(ctx, deps, sources, func(ctx context.Context, files []openFile) (schema.Result, error) {
		var added []render.NewAttachment
		for i, f := range in.Files {
			if err := deps.markStep(ctx, f.FileID, &files[i+1].Body); err != nil {
				return schema.Result{}, err
			}
			added = append(
				added,
				render.NewAttachment{
					Filename:    f.Filename,
					ContentType: f.ContentType,
					Description: f.Description,
					Content:     files[i+1],
				},
			)
		}
		return pdfResult("document")(
			deps.Render.AddAttachments(ctx, render.PDFFile{Content: files[0], Password: in.Password}, added),
		)
	})
}
