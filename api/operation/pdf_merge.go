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

	TableOfContents bool `json:"tableOfContents,omitempty" jsonschema:"default=false" jsonschema_extras:"x-common=true" jsonschema_description:"If true, begin with a table of contents: the titles of the files with page numbers and links, and bookmarks for all of them."`
	PageNumbers     bool `json:"pageNumbers,omitempty" jsonschema:"default=false" jsonschema_extras:"x-common=true" jsonschema_description:"If true, print the page number at the bottom of each page, counted from 1, contents included."`
}

// MergeFile is one PDF of a merge.
type MergeFile struct {
	FileItem

	Title    string `json:"title,omitempty" jsonschema:"maxLength=500" jsonschema_description:"Title in the table of contents and the bookmarks. Default: the file name without its extension."`
	Password string `json:"password,omitempty" jsonschema:"maxLength=127" jsonschema_description:"Password that opens this PDF, if it is encrypted. The result is not encrypted."`
}

// Validate checks the rules that the schema cannot express.
func (in *MergeInput) Validate() error {
	var faults schema.Faults
	for i := range in.Files {
		at := fileAt(i)
		in.Files[i].check(&faults, at)
		checkPassword(&faults, at+"password", in.Files[i].Password)
		if in.Files[i].Title != "" && strings.TrimSpace(in.Files[i].Title) == "" {
			faults.Add(at+"title", "must not be blank")
		}
	}
	return failures(faults)
}

// title returns the title of the file in the result: by default, its name without the extension.
func (f *MergeFile) title() string {
	if f.Title != "" {
		return f.Title
	}
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
		if add := (render.MergeAdditions{Contents: in.TableOfContents, PageNumbers: in.PageNumbers}); add != (render.MergeAdditions{}) {
			return pdfResult("merged")(deps.Render.MergePDFsWith(ctx, inputs, add))
		}
		return pdfResult("merged")(deps.Render.MergePDFs(ctx, inputs))
	})
}
