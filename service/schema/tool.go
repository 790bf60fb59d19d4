package schema

import (
	"slices"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/store/credit"
)

// Tool is a route as agents see it.
type Tool struct {
	Name, Title, Use string
	// Method and Pattern are the route's.
	Method, Pattern string
	// Params are the parameters outside the body. Body is nil if the route accepts no JSON.
	Params []Param
	Body   *jsonschema.Schema
	// Hidden are the members of the response that no model may see.
	Hidden []string
	// Reads marks tools that change nothing, Upload marks tools that accept a file as the body.
	Reads, Upload bool
	// Full marks tools that need a key that may use all operations.
	Full bool
	// Toolset is the group that the tool is listed with. Default tools are also listed in the default toolset, and
	// Always tools in every one.
	Toolset         string
	Default, Always bool
	// Scope is the scope that a grant needs; empty means none.
	Scope string
	// Operation is set on paid tools. Price is their price.
	Operation *Spec
	Price     credit.Amount
}

// drawable are the content types of files that thumbnails are made of.
var drawable = []string{"application/pdf", "image/png", "image/jpeg", "image/webp", "image/tiff", "image/gif"}

// HasThumbnail reports whether files of a content type have thumbnails.
func HasThumbnail(contentType string) bool { return slices.Contains(drawable, contentType) }
