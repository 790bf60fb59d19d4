package operation

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/template"
	"github.com/relaypdf/relaypdf/service/llm"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/credit"
)

// generateInput is the input of templates.generate.
type generateInput struct {
	schema.Common

	Prompt     string        `json:"prompt" jsonschema:"required,minLength=1,maxLength=20000" jsonschema_description:"Description of the document in words."`
	SampleData schema.Object `json:"sampleData,omitzero" jsonschema_description:"Data that the template must fit, at most 64 KiB. Default: the model invents sample data."`
	Options    PDFOptions    `json:"options,omitzero" jsonschema_description:"Fixed options of POST /v1/pdf. The model chooses the others."`
	QuoteFields
}

const (
	// maxSample is the maximum size of the sample data for a model, in bytes.
	maxSample = 64 << 10
	// expectedAnswer is the size of the response that a quote assumes, in bytes: the size of the longest layout of
	// the gallery.
	expectedAnswer = 12 << 10
)

// Validate checks the rules that the schema cannot express.
func (in *generateInput) Validate() error {
	var faults schema.FieldErrors
	if strings.TrimSpace(in.Prompt) == "" {
		faults.Add("prompt", "must describe the document to create a template for")
	}
	if len(in.SampleData.RawMessage) > maxSample {
		faults.Add(
			"sampleData", "must be at most %d bytes for generation; got %d. Send an excerpt",
			maxSample, len(in.SampleData.RawMessage),
		)
	}
	in.check(&faults)
	in.Options.check(&faults, false)
	return failures(faults)
}

// GeneratedTemplate is the result of templates.generate: a template, or a quote.
type GeneratedTemplate struct {
	HTML       string          `json:"html,omitempty" jsonschema_description:"HTML source of the template."`
	SampleData json.RawMessage `json:"sampleData,omitempty" jsonschema:"type=object" jsonschema_description:"Sample data of the request, or of the model."`
	Options    json.RawMessage `json:"options,omitempty" jsonschema:"type=object" jsonschema_description:"Options of POST /v1/pdf: those of the request, completed by the model."`
	Promised
}

// modelOptions are the options that a model may choose: options of the page, and none with external access.
var modelOptions = []string{
	"format", "width", "height", "landscape", "margin", "scale", "printBackground", "preferCSSPageSize", "headerTemplate", "footerTemplate", "locale", "timeZone",
}

func modelOption(name string) bool { return slices.Contains(modelOptions, name) }

// sample is the data of the request; nothing is none.
func (in *generateInput) sample() (json.RawMessage, error) {
	if in.SampleData.IsZero() {
		return nil, nil
	}
	var text bytes.Buffer
	if err := json.Compact(&text, in.SampleData.RawMessage); err != nil {
		return nil, err
	}
	if text.String() == "{}" || text.String() == "[]" {
		return nil, nil
	}
	return text.Bytes(), nil
}

// conversation returns the first request to the model.
func (in *generateInput) conversation(a *AI) (llm.Conversation, error) {
	sample, err := in.sample()
	if err != nil {
		return llm.Conversation{}, err
	}
	settled, err := json.Marshal(in.Options)
	c := llm.Begin(llm.TemplateRequest{
		Prompt: in.Prompt, Sample: sample, Options: settled, Helpers: render.TemplateHelpers(), OptionNames: modelOptions,
	})
	c.MaxTokens = a.MaxTokens
	return c, err
}

// digest returns the digest of the fields that a quote is bound to.
func (in *generateInput) digest() ([]byte, error) {
	sample, err := in.sample()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal([]any{in.Prompt, string(sample), in.Options})
	sum := sha256.Sum256(text)
	return sum[:], err
}

// Price returns the amount of the hold: the quote's amount, or else the price of the longest responses.
func (in *generateInput) Price(ctx context.Context, deps *Deps) (schema.Price, error) {
	if deps.AI == nil {
		return schema.Price{}, errNoAI
	}
	if in.Quote {
		return schema.Price{}, nil
	}

	if in.QuoteID != "" {
		digest, err := in.digest()
		if err != nil {
			return schema.Price{}, err
		}
		return deps.promised(ctx, in.QuoteID, digest)
	}

	c, err := in.conversation(deps.AI)
	return schema.Price{Amount: deps.generation(c.MaxUsage())}, err
}

// generation returns the price of a generated template: its own, the price of the tokens, and the price of the PDF
// that proves that it works.
func (e *Deps) generation(used llm.Usage) credit.Amount {
	return e.Prices["templates.generate"] + e.AI.charge(used) + e.Prices["pdf.create"]
}

// runGenerate promises a price, or has the model write a template.
func runGenerate(ctx context.Context, deps *Deps, in *generateInput) (schema.Result, error) {
	if deps.AI == nil {
		return schema.Result{}, errNoAI
	}

	conversation, err := in.conversation(deps.AI)
	if err != nil {
		return schema.Result{}, err
	}

	if in.Quote {
		digest, err := in.digest()
		if err != nil {
			return schema.Result{}, err
		}
		promised, err := deps.promise(ctx, digest, deps.generation(conversation.ExpectedUsage(expectedAnswer)))
		return schema.Result{
			Stem:   "quote",
			JSON:   GeneratedTemplate{Promised: promised},
			Charge: new(credit.Amount(0)),
		}, err
	}

	g := &generator{deps: deps, in: in}
	used, err := deps.ask(ctx, conversation, g.judge)
	if err != nil {
		return schema.Result{}, err
	}

	result := schema.Result{Stem: "template", JSON: g.made}
	if in.QuoteID == "" {
		// A provider that counts more than it was asked for is not the customer's matter.
		charge := min(deps.generation(used), deps.Held)
		result.Charge = &charge
	}

	return result, nil
}

// generator is one generation of a template.
type generator struct {
	deps *Deps
	in   *generateInput
	made GeneratedTemplate
}

// judge tries a model's template, and returns its errors. The template runs only in the sandbox of customers'
// templates.
func (g *generator) judge(ctx context.Context, answer llm.Response) (faults []string, err error) {
	draft, fault := answer.Read()
	if fault != "" {
		return []string{fault}, nil
	}

	g.made = GeneratedTemplate{HTML: draft.HTML, SampleData: draft.SampleData}
	if own, err := g.in.sample(); err != nil {
		return nil, err
	} else if own != nil {
		g.made.SampleData = own
	}

	options, err := g.options(ctx, draft, &g.made)
	if err == nil {
		err = WhenFree(ctx, func() error { return g.try(ctx, g.made, options) })
	}

	if faults = draftFaults(err); len(faults) > 0 {
		return faults, nil
	}
	return nil, err
}

// draftOptions are a model's options, overridden by those of the request.
type draftOptions struct {
	Options PDFOptions `json:"options"`
}

// Validate checks the rules that the schema cannot express.
func (o *draftOptions) Validate() error {
	var faults schema.FieldErrors
	o.Options.check(&faults, false)
	return failures(faults)
}

// options puts the request's options over the model's.
func (g *generator) options(ctx context.Context, draft llm.Draft, made *GeneratedTemplate) (PDFOptions, error) {
	settled, err := json.Marshal(g.in.Options)
	if err != nil {
		return PDFOptions{}, err
	}

	given, err := schema.Tree(settled)
	if err != nil {
		return PDFOptions{}, err
	}

	input := map[string]any{"options": given}
	if err := defaultOptions(input, draft.Options, modelOption); err != nil {
		return PDFOptions{}, schema.FieldErrors{{Field: "options", Message: "must be a plain JSON object"}}
	}

	text, err := json.Marshal(input)
	if err != nil {
		return PDFOptions{}, err
	}

	shape, err := schema.NewShape[draftOptions]()
	if err != nil {
		return PDFOptions{}, err
	}

	bound, err := shape.Bind(ctx, bytes.NewReader(text))
	if err != nil {
		return PDFOptions{}, err
	}

	made.Options, err = json.Marshal(input["options"])
	return bound.Options, err
}

// errNotAlone refuses a model's template that makes requests: an author of instructions hidden in the data must not
// learn the content of later documents.
var errNotAlone = schema.FieldErrors{{
	Field:   "html",
	Message: "must be self-contained: no scripts, event handlers, frames, forms or resources loaded from a URL",
}}

func alone(texts ...string) error {
	for _, text := range texts {
		if traits := render.Inspect(text); traits.Script || traits.Network {
			return errNotAlone
		}
	}
	return nil
}

// try validates a template, fills it and prints it.
func (g *generator) try(ctx context.Context, made GeneratedTemplate, options PDFOptions) error {
	call := template.Call{
		Template: template.Template{HTML: made.HTML}, Data: made.SampleData,
		Locale: options.Locale, Zone: options.TimeZone,
	}

	report, err := g.deps.Render.ValidateTemplate(ctx, call)
	if err == nil && len(report.Faults) > 0 {
		err = &template.Error{Faults: report.Faults}
	}
	if err == nil {
		err = alone(made.HTML, options.HeaderTemplate, options.FooterTemplate)
	}
	if err != nil {
		return err
	}

	page := options.page(false)
	html, err := g.deps.fill(ctx, call, &page)
	if err == nil {
		err = alone(html)
	}
	if err != nil {
		return err
	}

	doc, err := g.deps.Render.PDF(ctx, render.Source{HTML: html}, page, options.settings())
	if err != nil {
		return fieldError(err)
	}
	return doc.Body.Close()
}

// draftFaults lists the errors of a model's template, for the model. It is empty if the template did not cause the
// error.
func draftFaults(err error) []string {
	if err == nil {
		return nil
	}

	e := Failure(err)
	var busy *chrome.BusyError
	if e == nil || errors.As(err, &busy) {
		return nil
	}

	switch e.Code {
	case wire.InvalidRequest, wire.RenderFailed, wire.ProcessingFailed, wire.PayloadTooLarge:
	default:
		return nil
	}

	if len(e.Details) == 0 {
		return []string{e.Error()}
	}

	var lines []string
	for _, detail := range e.Details {
		lines = append(lines, strings.TrimSuffix(detail.Field+" "+detail.Message, ".")+".")
	}
	return lines
}
