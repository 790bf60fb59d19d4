package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/invopop/jsonschema"

	"relaypdf/api/apierror"
	"relaypdf/api/schema"
	"relaypdf/store"
)

const (
	maxName = 200
	maxSlug = 64
)

// cleared is a text that null takes away.
type cleared struct{ value *string }

// JSONSchema says that it is a string or null.
func (cleared) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string", MaxLength: new(uint64(1000))}, {Type: "null"}}}
}

// SetJSON takes null for an empty text.
func (c *cleared) SetJSON(v any) error {
	text, _ := v.(string)
	c.value = &text
	return nil
}

func (c cleared) text() *string { return c.value }

// readOnly are fields of a record that a client may send back, and that nothing
// comes of.
type readOnly struct {
	State            any `json:"state,omitempty" jsonschema_description:"Is ignored."`
	HasDraft         any `json:"hasDraft,omitempty" jsonschema_description:"Is ignored."`
	PublishedVersion any `json:"publishedVersion,omitempty" jsonschema_description:"Is ignored."`
	CreatedAt        any `json:"createdAt,omitempty" jsonschema_description:"Is ignored."`
	UpdatedAt        any `json:"updatedAt,omitempty" jsonschema_description:"Is ignored."`
	PublishedAt      any `json:"publishedAt,omitempty" jsonschema_description:"Is ignored."`
}

// newTemplate asks for a template.
type newTemplate struct {
	Name        string        `json:"name,omitempty" jsonschema:"maxLength=200" jsonschema_description:"Name. Required without fromGallery."`
	HTML        *string       `json:"html,omitempty" jsonschema:"maxLength=10485760" jsonschema_description:"Source: HTML with Handlebars, at most 10 MiB. Required without fromGallery."`
	Slug        string        `json:"slug,omitempty" jsonschema:"maxLength=64" jsonschema_description:"Name in addresses: lower-case letters, digits and hyphens. Default: made of the name."`
	Description string        `json:"description,omitempty" jsonschema:"maxLength=1000" jsonschema_description:"What it is for."`
	Category    string        `json:"category,omitempty" jsonschema:"maxLength=100" jsonschema_description:"Category."`
	SampleData  schema.Object `json:"sampleData,omitzero" jsonschema_description:"Data to show the template with, at most 5 MiB."`
	Options     schema.Object `json:"options,omitzero" jsonschema_description:"Options of POST /v1/pdf that its documents have unless the request says otherwise."`
	Engine      string        `json:"engine,omitempty" jsonschema:"enum=handlebars,default=handlebars" jsonschema_description:"Language of the template."`
	FromGallery string        `json:"fromGallery,omitempty" jsonschema:"maxLength=100" jsonschema_description:"Id of a layout of the gallery that gives what is not given here."`
}

// Validate checks what the schema cannot state.
func (in *newTemplate) Validate() error {
	var faults schema.Faults
	if in.FromGallery == "" {
		if strings.TrimSpace(in.Name) == "" {
			faults.Add("name", "is required")
		}
		if in.HTML == nil {
			faults.Add("html", "is required")
		}
	}
	checkSlug(&faults, in.Slug, in.Slug != "")
	checkTexts(&faults, map[string]*string{"name": &in.Name, "html": in.HTML, "description": &in.Description, "category": &in.Category})
	checkData(&faults, "sampleData", in.SampleData)
	return orNil(faults)
}

// orNil is the faults as an error, nil where there are none.
func orNil(faults schema.Faults) error {
	if len(faults) == 0 {
		return nil
	}
	return faults
}

// checkTexts refuses what PostgreSQL cannot store, and an empty source.
func checkTexts(faults *schema.Faults, texts map[string]*string) {
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

func checkData(faults *schema.Faults, name string, data schema.Object) {
	if bytes.Contains(data.RawMessage, []byte(`\u0000`)) {
		faults.Add(name, "must not contain the character NUL")
	}
}

var slugPattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// reservedSlugs are words of the interface's own paths.
var reservedSlugs = []string{"gallery", "generate", "validate", "preview", "partials"}

func checkSlug(faults *schema.Faults, slug string, given bool) {
	switch {
	case !given:
	case !slugPattern.MatchString(slug):
		faults.Add("slug", "must be lower-case letters and digits, with single hyphens between them; got %.40q", slug)
	case slices.Contains(reservedSlugs, slug):
		faults.Add("slug", "is reserved; take another than %s", strings.Join(reservedSlugs, ", "))
	case uuid.Validate(slug) == nil:
		faults.Add("slug", "must not be a UUID, which could be another template's id")
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

// templateRef names a template, and the revision of it that the caller has seen.
type templateRef struct {
	byID

	IfMatch string `json:"If-Match,omitempty" in:"header" jsonschema:"maxLength=100" jsonschema_description:"ETag of the template as it was read. Another state is refused with 412."`
}

// revision is the one that the caller has seen; 0 is any.
func (r templateRef) revision() (int64, error) { return revisionOf(r.IfMatch) }

func revisionOf(ifMatch string) (int64, error) {
	if ifMatch == "" || ifMatch == "*" {
		return 0, nil
	}
	tag := strings.TrimPrefix(strings.TrimSpace(ifMatch), "W/")
	revision, err := strconv.ParseInt(strings.Trim(tag, `"`), 10, 64)
	if err != nil || revision < 1 {
		// A tag that no state of a template has.
		return 0, &apierror.Error{Code: apierror.PreconditionFailed}
	}
	return revision, nil
}

// templatePatch changes a template. What is absent stays as it is.
type templatePatch struct {
	readOnly

	ID      string `json:"id" in:"path" body:"ignored" jsonschema:"required" jsonschema_description:"Id."`
	IfMatch string `json:"If-Match,omitempty" in:"header" jsonschema:"maxLength=100" jsonschema_description:"ETag of the template as it was read. Another state is refused with 412."`

	Name        *string       `json:"name,omitempty" jsonschema:"minLength=1,maxLength=200" jsonschema_description:"Name."`
	HTML        *string       `json:"html,omitempty" jsonschema:"maxLength=10485760" jsonschema_description:"Source, at most 10 MiB."`
	Slug        *string       `json:"slug,omitempty" jsonschema:"maxLength=64" jsonschema_description:"Name in addresses."`
	Description cleared       `json:"description,omitzero" jsonschema_description:"What it is for; null for nothing."`
	Category    cleared       `json:"category,omitzero" jsonschema_description:"Category; null for none."`
	SampleData  schema.Object `json:"sampleData,omitzero" jsonschema_description:"Data to show the template with, at most 5 MiB."`
	Options     schema.Object `json:"options,omitzero" jsonschema_description:"Options of its documents."`
	Engine      string        `json:"engine,omitempty" jsonschema:"enum=handlebars" jsonschema_description:"Language of the template."`
}

// Validate checks what the schema cannot state.
func (in *templatePatch) Validate() error {
	var faults schema.Faults
	if in.Slug != nil {
		checkSlug(&faults, *in.Slug, true)
	}
	checkTexts(&faults, map[string]*string{"name": in.Name, "html": in.HTML, "description": in.Description.value, "category": in.Category.value})
	checkData(&faults, "sampleData", in.SampleData)
	return orNil(faults)
}

// templateRestore asks for a version to become the draft.
type templateRestore struct {
	templateRef

	Version int `json:"version" jsonschema:"required,minimum=1,maximum=1000000" jsonschema_description:"Version to copy into the draft."`
}

// templateCopy asks for a copy of a template.
type templateCopy struct {
	byID

	Name string `json:"name,omitempty" jsonschema:"maxLength=200" jsonschema_description:"Name of the copy."`
	Slug string `json:"slug,omitempty" jsonschema:"maxLength=64" jsonschema_description:"Slug of the copy."`
}

// Validate checks what the schema cannot state.
func (in *templateCopy) Validate() error {
	var faults schema.Faults
	checkSlug(&faults, in.Slug, in.Slug != "")
	checkTexts(&faults, map[string]*string{"name": &in.Name})
	return orNil(faults)
}

// templateVersionRef names a version of a template.
type templateVersionRef struct {
	byID

	Version int `json:"version" in:"path" jsonschema:"required,minimum=1" jsonschema_description:"Number of the version."`
}

// checkOptions holds a template's options to those of POST /v1/pdf.
func (a *API) checkOptions(ctx context.Context, options json.RawMessage) error {
	if len(options) == 0 {
		return nil
	}
	body, err := json.Marshal(map[string]any{"html": "x", "options": options})
	if err != nil {
		return err
	}
	row := a.table.Lookup("pdf.create")
	if row == nil {
		return nil // a table for tests
	}
	bound, err := row.Bind(ctx, bytes.NewReader(body), schema.Files{})
	if err != nil {
		return err
	}
	return bound.Close()
}

// templateFailure words what the store refuses of templates.
func templateFailure(err error) error {
	invalid := func(format string, args ...any) error {
		return &apierror.Error{Code: apierror.InvalidRequest, Message: fmt.Sprintf(format, args...), Cause: err}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrChanged):
		return &apierror.Error{Code: apierror.PreconditionFailed, Message: "The template has changed since it was read. Read it again, and take its new ETag.", Cause: err}
	case errors.Is(err, store.ErrNoDraft):
		return invalid("The template has no draft: nothing was changed since it was published.")
	case errors.Is(err, store.ErrNeverPublished):
		return invalid("The template was never published, so that its draft is all there is. Delete the template instead.")
	case errors.Is(err, store.ErrTooMany):
		return invalid("An account has at most %d templates of %d versions each, and %d partials of %d MiB together.",
			store.MaxTemplates, store.MaxVersions, store.MaxPartials, store.MaxPartialBytes>>20)
	case errors.Is(err, store.ErrBadList):
		return schema.Faults{{Field: "cursor", Message: "is not the nextCursor of a page"}}
	}
	return err
}
