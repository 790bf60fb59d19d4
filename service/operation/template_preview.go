package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/pdffile"

	"github.com/relaypdf/relaypdf/render/template"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

// previewInput is the input of templates.preview.
type previewInput struct {
	schema.Common

	TemplateID   *string       `json:"templateId,omitempty" jsonschema:"minLength=1,maxLength=100" jsonschema_description:"Source: ID or slug of a template of the account. The draft is rendered, or without a draft the published version. Send exactly one of html and templateId."`
	HTML         *string       `json:"html,omitempty" jsonschema:"maxLength=10485760" jsonschema_extras:"x-filled=true" jsonschema_description:"Source: HTML with Handlebars, at most 10 MiB."`
	SampleData   schema.Object `json:"sampleData,omitzero" jsonschema_description:"Data that fills the template, at most 5 MiB. Default: the template's own sample data."`
	TemplateData schema.Object `json:"templateData,omitzero" jsonschema_description:"Alias of sampleData."`
	Strict       bool          `json:"strict,omitempty" jsonschema:"default=false" jsonschema_description:"If true, refuse data that lacks a path of the template, and list all missing paths."`
	Engine       string        `json:"engine,omitempty" jsonschema:"enum=handlebars,default=handlebars" jsonschema_description:"Template language."`
	AssetInput
	Options PDFOptions `json:"options,omitzero" jsonschema_description:"Loading and print options. The template's own options are the defaults."`
}

// JSONSchemaExtend adds rules of several members to the schema.
func (previewInput) JSONSchemaExtend(doc *jsonschema.Schema) {
	schema.AddRules(doc, schema.ExactlyOne("html", "templateId"), schema.Exclusive("sampleData", "templateData"))
}

// Validate checks the rules that the schema cannot express.
func (in *previewInput) Validate() error {
	var faults schema.FieldErrors
	if err := checkSources(&faults, source{"html", in.HTML}, source{"templateId", in.TemplateID}); err != nil {
		return err
	}
	if !in.SampleData.IsZero() && !in.TemplateData.IsZero() {
		faults.Add("templateData", "is mutually exclusive with sampleData, which is the same field")
	}
	in.Options.check(&faults, false)
	in.validate(&faults, "")
	return failures(faults)
}

// Pin replaces the name of the draft with its current content.
func (in *previewInput) Pin(ctx context.Context, deps *Deps, input map[string]any) (changed bool, err error) {
	if in.TemplateID == nil {
		return false, nil
	}

	found, err := deps.Templates.Draft(ctx, *in.TemplateID)
	if errors.Is(err, store.ErrNotFound) {
		return false, &wire.Error{
			Code: wire.NotFound, Message: fmt.Sprintf("No template with ID %.100q.", *in.TemplateID),
			Details: []wire.Detail{{Field: "templateId", Message: "is not the ID or slug of a template"}},
		}
	}
	if err != nil {
		return false, err
	}

	delete(input, "templateId")
	input["html"] = found.HTML
	if in.SampleData.IsZero() && in.TemplateData.IsZero() {
		input["sampleData"] = found.Sample
	}
	return true, defaultOptions(input, found.Options, anyOption)
}

// Admit asks the browser's queue.
func (in *previewInput) Admit(deps *Deps) error { return deps.admit() }

// runPreview fills and prints the template.
func runPreview(ctx context.Context, deps *Deps, in *previewInput) (schema.Result, error) {
	page := in.Options.page(false)
	page.Media = in.Options.MediaType

	partials, err := deps.Templates.Partials(ctx)
	if err != nil {
		return schema.Result{}, err
	}

	data := in.SampleData
	if data.IsZero() {
		data = in.TemplateData
	}

	source := text(in.HTML)
	settings := in.Options.settings()
	switch deps.View {
	case Accessible:
		if settings.StandardsStrict = false; !slices.Contains(settings.Standards, pdffile.UA1) {
			settings.Standards = append(settings.Standards, pdffile.UA1)
		}
	case Placed:
		source = render.LineTemplate(source)
		settings.Metadata = pdffile.Info{} // which is written after the browser's own metadata
	}

	html, err := deps.fill(ctx, template.Call{
		Template: template.Template{HTML: source, Partials: partials}, Data: data.RawMessage, Strict: in.Strict,
		Locale: in.Options.Locale, Zone: in.Options.TimeZone,
	}, &page)
	if err != nil {
		return schema.Result{}, err
	}

	switch deps.View {
	case Filled:
		return schema.Result{Stem: "preview", JSON: html}, nil
	case Placed:
		html = render.NameLines(html)
	}

	src := render.Source{HTML: html}
	doc, err := withAssets(ctx, deps, &in.AssetInput, &src, func() (chrome.PrintedPDF, error) {
		return deps.Render.PDF(ctx, src, page, settings)
	})
	if err != nil {
		return schema.Result{}, fieldError(err)
	}
	return schema.Result{
		Stem:        "preview",
		Extension:   ".pdf",
		ContentType: "application/pdf",
		Body:        doc.Body,
		Pages:       doc.Pages,
		Warnings:    warnings(doc.Warnings),
	}, nil
}
