package operation

import (
	"context"
	"encoding/json"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/service/schema"
)

// bookmarksInput is the input of pdf.bookmarks.
type bookmarksInput struct {
	schema.Common
	Described
	PDFSource

	Bookmarks Bookmarks `json:"bookmarks" jsonschema:"required" jsonschema_description:"Bookmarks in order, at most 2000 per array. They follow the PDF's existing bookmarks."`
}

// Bookmarks are entries of an outline.
type Bookmarks []Bookmark

// Bookmark is one entry of an outline.
type Bookmark struct {
	Title    string    `json:"title"`
	Page     int       `json:"page"`
	Children Bookmarks `json:"children,omitempty"`
}

// maxBookmarkDepth is the maximum nesting depth of bookmarks. Their schema is as deep, because schemas have no
// references.
const maxBookmarkDepth = 6

// JSONSchema describes bookmarks and the ones below them.
func (Bookmarks) JSONSchema() *jsonschema.Schema {
	schema := bookmarksSchema(maxBookmarkDepth)
	minimum := uint64(1)
	schema.MinItems = &minimum
	return schema
}

func bookmarksSchema(depth int) *jsonschema.Schema {
	short := uint64(1)
	long := uint64(1000)
	many := uint64(2000)

	members := jsonschema.NewProperties()
	members.Set("title", &jsonschema.Schema{
		Type: "string", MinLength: &short, MaxLength: &long, Description: "Text of the bookmark.",
	})
	members.Set("page", &jsonschema.Schema{
		Type: "integer", Minimum: json.Number("1"), Maximum: json.Number("999999"), Description: "Number of the target page, from 1.",
	})

	if depth > 1 {
		below := bookmarksSchema(depth - 1)
		below.Description = "Bookmarks below this one."
		members.Set("children", below)
	}

	return &jsonschema.Schema{Type: "array", MaxItems: &many, Items: &jsonschema.Schema{
		Type: "object", Properties: members, Required: []string{"title", "page"}, AdditionalProperties: jsonschema.FalseSchema,
	}}
}

// SetJSON stores valid bookmarks. Others have their validation error already.
func (b *Bookmarks) SetJSON(v any) error {
	items, _ := v.([]any)
	for _, item := range items {
		members, _ := item.(map[string]any)
		bookmark := Bookmark{}
		bookmark.Title, _ = members["title"].(string)
		bookmark.Page = int(pageNumber(members["page"]))
		if err := bookmark.Children.SetJSON(members["children"]); err != nil {
			return err
		}
		*b = append(*b, bookmark)
	}
	return nil
}

// render returns the bookmarks in the renderer's type.
func (b Bookmarks) render() (bookmarks []pdf.Bookmark) {
	for _, bookmark := range b {
		bookmarks = append(
			bookmarks,
			pdf.Bookmark{Title: bookmark.Title, Page: bookmark.Page, Children: bookmark.Children.render()},
		)
	}
	return bookmarks
}

// Validate checks the rules that the schema cannot express.
func (in *bookmarksInput) Validate() error {
	var faults schema.FieldErrors
	in.validate(&faults)
	return failures(faults)
}

func runBookmarks(ctx context.Context, deps *Deps, in *bookmarksInput) (schema.Result, error) {
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		outline := pdf.Outline{Input: file.Input(), Bookmarks: in.Bookmarks.render()}
		return pdfResult("document")(render.RunFile(ctx, deps.Render, pdf.BookmarksJob, outline, file.File()))
	})
}
