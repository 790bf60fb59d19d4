package operation

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/service/schema"
)

// metadataInput is the input of pdf.metadata.
type metadataInput struct {
	schema.Common
	PDFSource

	Metadata DocumentMetadata `json:"metadata,omitzero" jsonschema_extras:"x-common=true" jsonschema_description:"Values to write. The response is the PDF."`
	Remove   []metadataName   `json:"remove,omitempty" jsonschema:"minItems=1,maxItems=100" jsonschema_extras:"x-common=true" jsonschema_description:"Names of values to remove: fields of metadata, such as author, or custom entries. * removes all values that metadata does not set. The response is the PDF."`
}

// DocumentMetadata are the values of a document's information.
type DocumentMetadata struct {
	Metadata

	Creator    string         `json:"creator,omitempty" jsonschema:"maxLength=1000" jsonschema_description:"Application that wrote the source document."`
	Producer   string         `json:"producer,omitempty" jsonschema:"maxLength=1000" jsonschema_description:"Application that created the PDF."`
	CreatedAt  string         `json:"createdAt,omitempty" jsonschema:"maxLength=40" jsonschema_description:"Creation time in RFC 3339, such as 2026-11-27T09:30:00Z."`
	ModifiedAt string         `json:"modifiedAt,omitempty" jsonschema:"maxLength=40" jsonschema_description:"Time of the last change, in the same form."`
	Custom     customMetadata `json:"custom,omitempty" jsonschema_description:"Entries with other names, as strings. They are written only to the document information, not to XMP."`
}

// JSONSchemaExtend adds rules of several members to the schema.
func (DocumentMetadata) JSONSchemaExtend(doc *jsonschema.Schema) {
	schema.SetPatterns(doc, map[string]string{"createdAt": timePattern, "modifiedAt": timePattern})
}

// timePattern is the pattern of a time in RFC 3339. It accepts 29 February of every year.
const timePattern = `^(000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d{3})-` +
	`((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|[12]\d))` +
	`T([01]\d|2[0-3]):[0-5]\d:[0-5]\d([.,]\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`

// customMetadata are values by names of the user's own.
type customMetadata map[string]string

// maxCustom is the maximum number of custom entries of one request.
const maxCustom = 100

// JSONSchema bounds the entries.
func (customMetadata) JSONSchema() *jsonschema.Schema {
	maximum := uint64(maxCustom)
	longest := uint64(1000)
	return &jsonschema.Schema{
		Type:                 "object",
		MaxProperties:        &maximum,
		AdditionalProperties: &jsonschema.Schema{Type: "string", MaxLength: &longest},
	}
}

// metadataName is the name of a value.
type metadataName string

// JSONSchema bounds a name.
func (metadataName) JSONSchema() *jsonschema.Schema { return shortText(maxTerm) }

// metadataKeys are the keys of the document information, by the names of their fields.
var metadataKeys = map[string]string{
	"title": "/Title", "author": "/Author", "subject": "/Subject", "keywords": "/Keywords", "creator": "/Creator", "producer": "/Producer",
	"createdAt": "/CreationDate", "modifiedAt": "/ModDate",
}

var customName = regexp.MustCompile(`^[\p{L}\p{N}_][\p{L}\p{N}_.: -]{0,99}$`)

// values returns the values to write, by the keys of the document information.
func (m *DocumentMetadata) values() map[string]string {
	set := map[string]string{
		"/Title": m.Title, "/Author": m.Author, "/Subject": m.Subject, "/Keywords": m.Keywords.text,
		"/Creator": m.Creator, "/Producer": m.Producer, "/CreationDate": m.CreatedAt, "/ModDate": m.ModifiedAt,
	}
	for name, value := range m.Custom {
		set["/"+name] = value
	}
	maps.DeleteFunc(set, func(_, value string) bool { return value == "" })
	return set
}

// writes reports whether the input changes the document.
func (in *metadataInput) writes() bool { return len(in.Metadata.values())+len(in.Remove) > 0 }

// Produces returns the content type of the result.
func (in *metadataInput) Produces() string {
	if in.writes() {
		return "application/pdf"
	}
	return "application/json"
}

// Validate checks the rules that the schema cannot express.
func (in *metadataInput) Validate() error {
	var faults schema.FieldErrors
	in.validate(&faults)
	for _, field := range []struct{ name, value string }{{"createdAt", in.Metadata.CreatedAt}, {"modifiedAt", in.Metadata.ModifiedAt}} {
		if at, err := time.Parse(time.RFC3339, field.value); field.value != "" && (err != nil || at.Year() < 1) {
			faults.Add(
				"metadata."+field.name, "must be a time in RFC 3339, such as 2026-11-27T09:30:00Z; got %.40q",
				field.value,
			)
		}
	}

	reserved := append(slices.Collect(maps.Values(metadataKeys)), "/Trapped")
	for _, name := range slices.Sorted(maps.Keys(in.Metadata.Custom)) {
		switch {
		case !customName.MatchString(name):
			faults.Add(
				"metadata.custom", "must have names of 1 to 100 letters, digits, spaces and _.:-; got %.40q",
				name,
			)
		case slices.Contains(reserved, "/"+name):
			faults.Add("metadata.custom", "must not have the reserved name %s", name)
		}
	}

	set := in.Metadata.values()
	for i, name := range in.Remove {
		if key := metadataKey(string(name)); set[key] != "" {
			faults.Add(fmt.Sprintf("remove[%d]", i), "must not be a value that metadata sets; got %s", name)
		}
	}

	return failures(faults)
}

// metadataKey returns the key of a value in the document information.
func metadataKey(name string) string {
	if key := metadataKeys[name]; key != "" {
		return key
	}
	return "/" + strings.TrimPrefix(name, "/")
}

func runMetadata(ctx context.Context, deps *Deps, in *metadataInput) (schema.Result, error) {
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		if !in.writes() {
			metadata, err := render.RunValue(ctx, deps.Render, pdf.MetadataJob, file.Input(), file.File())
			return schema.Result{Stem: "metadata", JSON: metadata}, err
		}

		args := pdf.MetadataArgs{Input: file.Input(), Set: in.Metadata.values()}
		for _, name := range in.Remove {
			if name == "*" {
				args.RemoveAll = true
			}
			args.Remove = append(args.Remove, metadataKey(string(name)))
		}

		return changedResult("described")(render.RunBoth(ctx, deps.Render, pdf.SetMetadataJob, args, file.File()))
	})
}
