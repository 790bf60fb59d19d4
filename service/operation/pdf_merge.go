package operation

import (
	"cmp"
	"context"
	"net/url"
	"path"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/service/schema"
)

// mergeInput is the input of pdf.merge.
type mergeInput struct {
	schema.Common
	Described

	Files []MergeFile `json:"files" jsonschema:"required,minItems=2,maxItems=20" jsonschema_description:"PDFs in order, 2 to 20 of them, at most 200 MiB together."`

	TableOfContents bool `json:"tableOfContents,omitempty" jsonschema:"default=false" jsonschema_extras:"x-common=true" jsonschema_description:"If true, begin with a table of contents: the titles of the files with page numbers and links, and bookmarks for all of them."`
	PageNumbers     bool `json:"pageNumbers,omitempty" jsonschema:"default=false" jsonschema_extras:"x-common=true" jsonschema_description:"If true, print the page number on each page, counted from 1, contents included."`

	PageNumberPosition string `json:"pageNumberPosition,omitempty" jsonschema:"enum=auto,enum=bottom,enum=bottom-left,enum=bottom-right,enum=top,enum=top-left,enum=top-right,default=auto" jsonschema_extras:"x-requires=pageNumbers" jsonschema_description:"Place of the page numbers, 20 points from the edge. auto: bottom, or on pages with text there the next free corner or edge."`
}

// MergeFile is one PDF of a merge.
type MergeFile struct {
	FileItem

	Title    string `json:"title,omitempty" jsonschema:"maxLength=500" jsonschema_description:"Title in the table of contents and the bookmarks. Default with tableOfContents: the title in the metadata of the PDF. Otherwise, or without that, the file name without its extension."`
	Password string `json:"password,omitempty" jsonschema:"maxLength=127" jsonschema_description:"Password that opens this PDF, if it is encrypted. The result is not encrypted."`
}

// JSONSchemaExtend adds rules of several members to the schema.
func (f MergeFile) JSONSchemaExtend(doc *jsonschema.Schema) {
	f.FileSource.JSONSchemaExtend(doc)
	schema.SetPatterns(doc, map[string]string{"title": filledText})
}

// Validate checks the rules that the schema cannot express.
func (in *mergeInput) Validate() error {
	var faults schema.FieldErrors
	for i := range in.Files {
		at := fileAt(i)
		in.Files[i].check(&faults, at)
		checkPassword(&faults, at+"password", in.Files[i].Password)
		if in.Files[i].Title != "" && strings.TrimSpace(in.Files[i].Title) == "" {
			faults.Add(at+"title", "must not be blank")
		}
	}

	if in.PageNumberPosition != "" && !in.PageNumbers {
		faults.Add("pageNumberPosition", "requires pageNumbers")
	}
	return failures(faults)
}

// numberPlaces are the places of page numbers, by preference.
var numberPlaces = []pdf.Position{pdf.Bottom, pdf.BottomRight, pdf.BottomLeft, pdf.Top, pdf.TopRight, pdf.TopLeft}

// additions returns what the result has more than the files.
func (in *mergeInput) additions() render.MergeAdditions {
	add := render.MergeAdditions{Contents: in.TableOfContents}
	if in.PageNumbers {
		add.PageNumbers = numberPlaces
		if place := in.PageNumberPosition; place != "" && place != "auto" {
			add.PageNumbers = []pdf.Position{pdf.Position(place)}
		}
	}
	return add
}

// title returns the title of the file that its name has: without the extension.
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
func runMerge(ctx context.Context, deps *Deps, in *mergeInput) (schema.Result, error) {
	sources := placeFiles(len(in.Files), func(i int) *FileSource { return &in.Files[i].FileSource })
	return withFiles(ctx, deps, sources, func(ctx context.Context, files []openFile) (schema.Result, error) {
		var inputs []render.MergeInput
		for i, file := range files {
			inputs = append(inputs, render.MergeInput{
				PDFFile: render.PDFFile{Content: file, Password: in.Files[i].Password},
				Title:   cmp.Or(in.Files[i].Title, in.Files[i].title()), Weak: in.Files[i].Title == "",
			})
		}
		return changedResult("merged")(deps.Render.MergePDFsWith(ctx, inputs, in.additions()))
	})
}
