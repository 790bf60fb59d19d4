package wire

import (
	"encoding/json"
	"time"
)

// Template is a template as its account sees it: with its draft if it has one, or else its published version.
type Template struct {
	ID          string `json:"id" jsonschema:"required" jsonschema_description:"ID of the template, a UUID."`
	Slug        string `json:"slug" jsonschema:"required" jsonschema_description:"Name for URLs. Requests accept it instead of the ID."`
	Name        string `json:"name" jsonschema:"required" jsonschema_description:"Name of the template."`
	Description string `json:"description" jsonschema:"required" jsonschema_description:"Purpose of the template."`
	Category    string `json:"category" jsonschema:"required" jsonschema_description:"Category."`
	Engine      string `json:"engine" jsonschema:"required" jsonschema_description:"Template language: handlebars."`
	// HTML is left out of lists.
	HTML             *string         `json:"html,omitempty" jsonschema_description:"HTML source. Absent in lists."`
	SampleData       json.RawMessage `json:"sampleData" jsonschema:"required,type=object" jsonschema_description:"Sample data for previews."`
	Options          json.RawMessage `json:"options" jsonschema:"required,type=object" jsonschema_description:"Default options of POST /v1/pdf for documents of this template. Options in the request override them."`
	State            string          `json:"state" jsonschema:"required,enum=draft,enum=published" jsonschema_description:"State. draft: never published. published: published at least once."`
	HasDraft         bool            `json:"hasDraft" jsonschema:"required" jsonschema_description:"If true, there are unpublished changes."`
	PublishedVersion *int            `json:"publishedVersion" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"Latest published version."`
	CreatedAt        time.Time       `json:"createdAt" jsonschema:"required" jsonschema_description:"Creation time."`
	UpdatedAt        time.Time       `json:"updatedAt" jsonschema:"required" jsonschema_description:"Time of the last change."`
	PublishedAt      *time.Time      `json:"publishedAt" jsonschema:"required,oneof_type=string;null,format=date-time" jsonschema_description:"Time of the last publication."`
}

// TemplateList is the response of GET /v1/templates.
type TemplateList struct {
	Templates  []Template `json:"templates" jsonschema:"required" jsonschema_description:"Templates without html, newest first."`
	NextCursor *string    `json:"nextCursor" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Cursor of the next page; null on the last page."`
}

// TemplateVersion is a published version in a list.
type TemplateVersion struct {
	Version     int       `json:"version" jsonschema:"required" jsonschema_description:"Number of the version, from 1."`
	Comment     string    `json:"comment" jsonschema:"required" jsonschema_description:"Comment on the version."`
	PublishedAt time.Time `json:"publishedAt" jsonschema:"required" jsonschema_description:"Publication time."`
}

// TemplateVersionContent is a published version with its content.
type TemplateVersionContent struct {
	TemplateVersion

	HTML       string            `json:"html" jsonschema:"required" jsonschema_description:"HTML source."`
	SampleData json.RawMessage   `json:"sampleData" jsonschema:"required,type=object" jsonschema_description:"Sample data for previews."`
	Options    json.RawMessage   `json:"options" jsonschema:"required,type=object" jsonschema_description:"Default options of documents of this version."`
	Partials   map[string]string `json:"partials" jsonschema:"required" jsonschema_description:"Partials of the version, by name."`
}

// TemplateVersionList is the response of GET /v1/templates/{id}/versions.
type TemplateVersionList struct {
	Versions []TemplateVersion `json:"versions" jsonschema:"required" jsonschema_description:"All published versions, newest first."`
}

// TemplateFault is one thing that is wrong with a template.
type TemplateFault struct {
	Message string `json:"message" jsonschema:"required" jsonschema_description:"The error and its fix."`
	Line    *int   `json:"line" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"Line number, from 1."`
	Column  *int   `json:"column" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"Column number, from 1."`
	Partial string `json:"partial,omitempty" jsonschema_description:"Name of the partial with the error; absent for the template itself."`
}

// TemplateValidation is the response of POST /v1/templates/validate.
type TemplateValidation struct {
	Valid     bool            `json:"valid" jsonschema:"required" jsonschema_description:"If true, the template can be filled. With strict, the sample data must also be complete."`
	Errors    []TemplateFault `json:"errors" jsonschema:"required" jsonschema_description:"All errors of the template."`
	Variables []string        `json:"variables" jsonschema:"required" jsonschema_description:"Data paths that the template uses; [] means each item of a list."`
	Missing   []string        `json:"missing" jsonschema:"required" jsonschema_description:"Data paths that the sample data lacks."`
}

// Partial is a piece of source that templates of the account may name.
type Partial struct {
	Name      string    `json:"name" jsonschema:"required" jsonschema_description:"Name of the partial, as in {{> name}}."`
	HTML      string    `json:"html" jsonschema:"required" jsonschema_description:"HTML source."`
	UpdatedAt time.Time `json:"updatedAt" jsonschema:"required" jsonschema_description:"Time of the last change."`
}

// PartialList is the response of GET /v1/templates/partials.
type PartialList struct {
	Partials []Partial `json:"partials" jsonschema:"required" jsonschema_description:"Partials of the account, by name."`
}
