package wire

import (
	"encoding/json"
	"time"
)

// Template is a template as its account sees it: with its draft where it has one,
// or else its published version.
type Template struct {
	ID          string `json:"id" jsonschema:"required" jsonschema_description:"Id of the template, a UUID."`
	Slug        string `json:"slug" jsonschema:"required" jsonschema_description:"The template's name in addresses, which takes the place of its id anywhere."`
	Name        string `json:"name" jsonschema:"required" jsonschema_description:"Name."`
	Description string `json:"description" jsonschema:"required" jsonschema_description:"What it is for."`
	Category    string `json:"category" jsonschema:"required" jsonschema_description:"Category."`
	Engine      string `json:"engine" jsonschema:"required" jsonschema_description:"Language of the template: handlebars."`
	// HTML is left out of lists.
	HTML             *string         `json:"html,omitempty" jsonschema_description:"Source. Lists leave it out."`
	SampleData       json.RawMessage `json:"sampleData" jsonschema:"required,type=object" jsonschema_description:"Data to show the template with."`
	Options          json.RawMessage `json:"options" jsonschema:"required,type=object" jsonschema_description:"Options of POST /v1/pdf that documents of this template have unless the request says otherwise."`
	State            string          `json:"state" jsonschema:"required,enum=draft,enum=published" jsonschema_description:"draft until it is published for the first time."`
	HasDraft         bool            `json:"hasDraft" jsonschema:"required" jsonschema_description:"Whether there are changes that are not published."`
	PublishedVersion *int            `json:"publishedVersion" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"The latest published version."`
	CreatedAt        time.Time       `json:"createdAt" jsonschema:"required" jsonschema_description:"When it was made."`
	UpdatedAt        time.Time       `json:"updatedAt" jsonschema:"required" jsonschema_description:"When it was last changed."`
	PublishedAt      *time.Time      `json:"publishedAt" jsonschema:"required,oneof_type=string;null,format=date-time" jsonschema_description:"When it was last published."`
}

// TemplateList is the answer of GET /v1/templates.
type TemplateList struct {
	Templates  []Template `json:"templates" jsonschema:"required" jsonschema_description:"Templates, the newest first, without html."`
	NextCursor *string    `json:"nextCursor" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Cursor of the next page; null at the end."`
}

// TemplateVersion is a published version in a list.
type TemplateVersion struct {
	Version     int       `json:"version" jsonschema:"required" jsonschema_description:"Number of the version, from 1."`
	Comment     string    `json:"comment" jsonschema:"required" jsonschema_description:"What was said of it when it was published."`
	PublishedAt time.Time `json:"publishedAt" jsonschema:"required" jsonschema_description:"When it was published."`
}

// TemplateVersionContent is a published version with what it holds.
type TemplateVersionContent struct {
	TemplateVersion

	HTML       string            `json:"html" jsonschema:"required" jsonschema_description:"Source."`
	SampleData json.RawMessage   `json:"sampleData" jsonschema:"required,type=object" jsonschema_description:"Data to show the template with."`
	Options    json.RawMessage   `json:"options" jsonschema:"required,type=object" jsonschema_description:"Options of its documents."`
	Partials   map[string]string `json:"partials" jsonschema:"required" jsonschema_description:"The partials that it was published with, by name."`
}

// TemplateVersionList is the answer of GET /v1/templates/{id}/versions.
type TemplateVersionList struct {
	Versions []TemplateVersion `json:"versions" jsonschema:"required" jsonschema_description:"All published versions, the newest first."`
}

// TemplateFault is one thing that is wrong with a template.
type TemplateFault struct {
	Message string `json:"message" jsonschema:"required" jsonschema_description:"What is wrong."`
	Line    *int   `json:"line" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"Line, from 1."`
	Column  *int   `json:"column" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"Column, from 1."`
	Partial string `json:"partial,omitempty" jsonschema_description:"Name of the partial that the fault is in; absent for the template itself."`
}

// TemplateValidation is the answer of POST /v1/templates/validate.
type TemplateValidation struct {
	Valid     bool            `json:"valid" jsonschema:"required" jsonschema_description:"Whether the template can be filled; with strict also whether the sample data lacks nothing."`
	Errors    []TemplateFault `json:"errors" jsonschema:"required" jsonschema_description:"All that is wrong."`
	Variables []string        `json:"variables" jsonschema:"required" jsonschema_description:"Paths of the data that are used; [] stands for each item of a list."`
	Missing   []string        `json:"missing" jsonschema:"required" jsonschema_description:"Those of them that the sample data lacks."`
}

// Partial is a piece of source that templates of the account may name.
type Partial struct {
	Name      string    `json:"name" jsonschema:"required" jsonschema_description:"Name, as in {{> name}}."`
	HTML      string    `json:"html" jsonschema:"required" jsonschema_description:"Source."`
	UpdatedAt time.Time `json:"updatedAt" jsonschema:"required" jsonschema_description:"When it was last changed."`
}

// PartialList is the answer of GET /v1/templates/partials.
type PartialList struct {
	Partials []Partial `json:"partials" jsonschema:"required" jsonschema_description:"The account's partials, by name."`
}
