package templates

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

const (
	maxName = 200
	maxSlug = 64
)

// Query asks for a part of the list.
type Query struct {
	Limit    int    `json:"limit,omitempty" in:"query" jsonschema:"minimum=1,maximum=100,default=100" jsonschema_description:"Maximum number of templates per page."`
	Cursor   string `json:"cursor,omitempty" in:"query" jsonschema:"maxLength=100" jsonschema_description:"nextCursor of the previous page."`
	Search   string `json:"search,omitempty" in:"query" jsonschema:"maxLength=200" jsonschema_description:"Words in the name, the slug or the description."`
	Category string `json:"category,omitempty" in:"query" jsonschema:"maxLength=100" jsonschema_description:"Category."`
	State    string `json:"state,omitempty" in:"query" jsonschema:"enum=draft,enum=published" jsonschema_description:"Filter by state. draft: never published. published: published at least once."`
}

// Ref names a template, by its ID or its slug.
type Ref struct {
	ID string `json:"id" in:"path" jsonschema:"required" jsonschema_description:"Id."`
}

// Text is a text that null clears.
type Text struct{ value *string }

// JSONSchema returns the schema: a string or null.
func (Text) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		OneOf: []*jsonschema.Schema{{Type: "string", MaxLength: new(uint64(1000))}, {Type: "null"}},
	}
}

// SetJSON accepts null as an empty text.
func (t *Text) SetJSON(v any) error {
	text, _ := v.(string)
	t.value = &text
	return nil
}

// readOnly holds fields of a record that a client may send back, and that are ignored.
type readOnly struct {
	State            any `json:"state,omitempty" jsonschema_description:"Ignored."`
	HasDraft         any `json:"hasDraft,omitempty" jsonschema_description:"Ignored."`
	PublishedVersion any `json:"publishedVersion,omitempty" jsonschema_description:"Ignored."`
	CreatedAt        any `json:"createdAt,omitempty" jsonschema_description:"Ignored."`
	UpdatedAt        any `json:"updatedAt,omitempty" jsonschema_description:"Ignored."`
	PublishedAt      any `json:"publishedAt,omitempty" jsonschema_description:"Ignored."`
}

// CreateInput asks for a template.
type CreateInput struct {
	Name        string        `json:"name,omitempty" jsonschema:"maxLength=200" jsonschema_description:"Name of the template. Required without fromGallery."`
	HTML        *string       `json:"html,omitempty" jsonschema:"maxLength=10485760" jsonschema_description:"HTML source with Handlebars, at most 10 MiB. Required without fromGallery."`
	Slug        string        `json:"slug,omitempty" jsonschema:"maxLength=64" jsonschema_description:"Name for URLs: lower-case letters, digits and hyphens. Default: derived from the name."`
	Description string        `json:"description,omitempty" jsonschema:"maxLength=1000" jsonschema_description:"Purpose of the template."`
	Category    string        `json:"category,omitempty" jsonschema:"maxLength=100" jsonschema_description:"Category."`
	SampleData  schema.Object `json:"sampleData,omitzero" jsonschema_description:"Sample data for previews, at most 5 MiB."`
	Options     schema.Object `json:"options,omitzero" jsonschema_description:"Default options of POST /v1/pdf for documents of this template. Options in the request override them."`
	Engine      string        `json:"engine,omitempty" jsonschema:"enum=handlebars,default=handlebars" jsonschema_description:"Template language."`
	FromGallery string        `json:"fromGallery,omitempty" jsonschema:"maxLength=100" jsonschema_description:"ID of a gallery layout, which provides every field that the request does not set."`
}

// Validate checks the rules that the schema cannot express.
func (in *CreateInput) Validate() error {
	var faults schema.FieldErrors

	if in.FromGallery == "" {
		if strings.TrimSpace(in.Name) == "" {
			faults.Add("name", "is required")
		}
		if in.HTML == nil {
			faults.Add("html", "is required")
		}
	}

	checkSlug(&faults, in.Slug, in.Slug != "")
	checkTexts(&faults, map[string]*string{
		"name": &in.Name, "html": in.HTML, "description": &in.Description, "category": &in.Category,
	})
	checkData(&faults, "sampleData", in.SampleData)
	return faults.OrNil()
}

// checkTexts refuses texts that PostgreSQL cannot store, and an empty source.
func checkTexts(faults *schema.FieldErrors, texts map[string]*string) {
	for name, text := range texts {
		if text == nil {
			continue
		}
		if strings.Contains(*text, "\x00") {
			faults.Add(name, "must not contain the character NUL")
		}
		if name == "html" && *text == "" {
			faults.Add(name, "must not be empty")
		}
	}
}

func checkData(faults *schema.FieldErrors, name string, data schema.Object) {
	if bytes.Contains(data.RawMessage, []byte(`\u0000`)) {
		faults.Add(name, "must not contain the character NUL")
	}
}

var slugPattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// reservedSlugs are words of the API's own paths.
var reservedSlugs = []string{"gallery", "generate", "validate", "preview", "partials"}

func checkSlug(faults *schema.FieldErrors, slug string, given bool) {
	switch {
	case !given:
	case !slugPattern.MatchString(slug):
		faults.Add("slug", "must be lower-case letters and digits with single hyphens between them; got %.40q", slug)
	case slices.Contains(reservedSlugs, slug):
		faults.Add("slug", "is reserved. Reserved slugs: %s", strings.Join(reservedSlugs, ", "))
	case uuid.Validate(slug) == nil:
		faults.Add("slug", "must not be a UUID, because template IDs are UUIDs")
	}
}

var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

// slugOf makes a slug of a name.
func slugOf(name string) string {
	slug := strings.Trim(notSlug.ReplaceAllString(strings.ToLower(name), "-"), "-")
	slug = strings.Trim(slug[:min(len(slug), maxSlug-8)], "-")

	if slug == "" {
		return "template"
	}
	if slices.Contains(reservedSlugs, slug) || uuid.Validate(slug) == nil {
		return "template-" + slug[:min(len(slug), maxSlug-20)]
	}
	return slug
}

// State names a template, and the state of it that the caller has seen.
type State struct {
	Ref

	IfMatch string `json:"If-Match,omitempty" in:"header" jsonschema:"maxLength=100" jsonschema_description:"ETag of the template as you read it. If the template has changed since, the request fails with 412."`
}

// revisionOf is the revision that the caller has seen; 0 is any.
func revisionOf(ifMatch string) (int64, error) {
	if ifMatch == "" || ifMatch == "*" {
		return 0, nil
	}

	tag := strings.TrimPrefix(strings.TrimSpace(ifMatch), "W/")
	revision, err := strconv.ParseInt(strings.Trim(tag, `"`), 10, 64)
	if err != nil || revision < 1 {
		// A tag that no state of a template has.
		return 0, &wire.Error{Code: wire.PreconditionFailed, Cause: store.ErrChanged}
	}
	return revision, nil
}

// UpdateInput changes a template. Absent members stay unchanged.
type UpdateInput struct {
	schema.Patch
	readOnly

	ID      string `json:"id" in:"path" body:"ignored" jsonschema:"required" jsonschema_description:"Id."`
	IfMatch string `json:"If-Match,omitempty" in:"header" jsonschema:"maxLength=100" jsonschema_description:"ETag of the template as you read it. If the template has changed since, the request fails with 412."`

	Name        *string       `json:"name,omitempty" jsonschema:"minLength=1,maxLength=200" jsonschema_description:"Name of the template."`
	HTML        *string       `json:"html,omitempty" jsonschema:"maxLength=10485760" jsonschema_description:"HTML source, at most 10 MiB."`
	Slug        *string       `json:"slug,omitempty" jsonschema:"maxLength=64" jsonschema_description:"Name for URLs."`
	Description Text          `json:"description,omitzero" jsonschema_description:"Purpose of the template; null to clear it."`
	Category    Text          `json:"category,omitzero" jsonschema_description:"Category; null to clear it."`
	SampleData  schema.Object `json:"sampleData,omitzero" jsonschema_description:"Sample data for previews, at most 5 MiB."`
	Options     schema.Object `json:"options,omitzero" jsonschema_description:"Default options of documents of the template."`
	Engine      string        `json:"engine,omitempty" jsonschema:"enum=handlebars" jsonschema_description:"Template language."`
}

// Validate checks the rules that the schema cannot express.
func (in *UpdateInput) Validate() error {
	var faults schema.FieldErrors

	if in.Slug != nil {
		checkSlug(&faults, *in.Slug, true)
	}

	checkTexts(&faults, map[string]*string{
		"name": in.Name, "html": in.HTML, "description": in.Description.value, "category": in.Category.value,
	})
	checkData(&faults, "sampleData", in.SampleData)
	return faults.OrNil()
}

// PublishInput asks for the draft to be published.
type PublishInput struct {
	State

	Comment string `json:"comment,omitempty" jsonschema:"maxLength=1000" jsonschema_description:"Comment on the changes."`
}

// Validate checks the rules that the schema cannot express.
func (in *PublishInput) Validate() error {
	var faults schema.FieldErrors
	checkTexts(&faults, map[string]*string{"comment": &in.Comment})
	return faults.OrNil()
}

// Source is the input of a template's validation.
type Source struct {
	HTML       string        `json:"html" jsonschema:"required,maxLength=10485760" jsonschema_description:"HTML source, at most 10 MiB."`
	SampleData schema.Object `json:"sampleData,omitzero" jsonschema_description:"Data to check for missing paths, at most 5 MiB."`
	Engine     string        `json:"engine,omitempty" jsonschema:"enum=handlebars,default=handlebars" jsonschema_description:"Template language."`
	Strict     bool          `json:"strict,omitempty" jsonschema:"default=false" jsonschema_description:"If true, a missing path makes the template invalid."`
}

// RestoreInput asks for a version to become the draft.
type RestoreInput struct {
	State

	Version int `json:"version" jsonschema:"required,minimum=1,maximum=1000000" jsonschema_description:"Version to copy into the draft."`
}

// DuplicateInput asks for a copy of a template.
type DuplicateInput struct {
	Ref

	Name string `json:"name,omitempty" jsonschema:"maxLength=200" jsonschema_description:"Name of the copy."`
	Slug string `json:"slug,omitempty" jsonschema:"maxLength=64" jsonschema_description:"Slug of the copy."`
}

// Validate checks the rules that the schema cannot express.
func (in *DuplicateInput) Validate() error {
	var faults schema.FieldErrors
	checkSlug(&faults, in.Slug, in.Slug != "")
	checkTexts(&faults, map[string]*string{"name": &in.Name})
	return faults.OrNil()
}

// VersionRef names a version of a template.
type VersionRef struct {
	Ref

	Version int `json:"version" in:"path" jsonschema:"required,minimum=1,maximum=1000000" jsonschema_description:"Number of the version."`
}

// checkOptions validates a template's options like those of POST /v1/pdf.
func (s *Service) checkOptions(ctx context.Context, options json.RawMessage) error {
	if len(options) == 0 {
		return nil
	}

	body, err := json.Marshal(map[string]any{"html": "x", "options": options})
	if err != nil {
		return err
	}

	row := s.Table.Lookup("pdf.create")
	if row == nil {
		return nil // a table for tests
	}
	bound, err := row.Bind(ctx, bytes.NewReader(body), schema.Files{})
	if err != nil {
		return err
	}
	return bound.Close()
}
