package operation

import (
	"context"
	"net/url"
	"path"
	"strings"

	"relaypdf/api/schema"
	"relaypdf/render"
)

// MergeInput is the input of pdf.merge.
type MergeInput struct {
	schema.Common
	Described

	Files []MergeFile `json:"files" jsonschema:"required,minItems=2,maxItems=20" jsonschema_description:"PDFs in order, 2 to 20 of them, at most 200 MiB together."`
}

// MergeFile is one PDF of a merge.
type MergeFile struct {
	FileItem

	Password string `json:"password,omitempty" jsonschema:"maxLength=127" jsonschema_description:"Password that opens this PDF, if it is encrypted. The result is not encrypted."`
}

// Validate checks the rules that the schema cannot express.
func (in *MergeInput) Validate() error {
	var faults schema.Faults
	for i := range in.Files {
		at := fileAt(i)
		in.Files[i].check(&faults, at)
		checkPassword(&faults, at+"password", in.Files[i].Password)
	}
	return failures(faults)
}

// title returns the title of the file in the result's outline: its name without the extension.
func (f *MergeFile) title() string {
	name := f.Filename
	if address, err := url.Parse(text(f.URL)); name == "" && err == nil {
		name = path.Base(address.Path)
	}
	name = strings.TrimSuffix(path.Base(strings.ReplaceAll(name, `\`, "/")), path.Ext(name))
	if name == "." || name == "/" {
		return ""
	}
	return name
}

// runMerge joins the files.
func runMerge(ctx context.Context, deps *Deps, in *MergeInput) (schema.Result, error) {
	sources := placeFiles(len(in.Files), func(i int) *FileSource { return &in.Files[i].FileSource })
	return withFiles(ctx, deps, sources, func(ctx context.Context, files []openFile) (schema.Result, error) {
		var inputs []render.MergeInput
		for i, file := range files {
			inputs = append(inputs, render.MergeInput{
				PDFFile: render.PDFFile{Content: file, Password: in.Files[i].Password}, Title: in.Files[i].title(),
			})
		}
		return pdfResult("merged")(deps.Render.MergePDFs(ctx, inputs))
	})
}
