package operation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/template"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

// Templates gives access to the templates of the paying account. Methods return store.ErrNotFound for an unknown
// template or version.
type Templates interface {
	// Find returns a published version by the id or the slug of its template; 0 is
	// the last one.
	Find(ctx context.Context, ref string, version int) (TemplateVersion, error)
	// Pinned returns a version that was found before, although its template may have
	// been deleted since.
	Pinned(ctx context.Context, id string, version int) (TemplateVersion, error)
	// Draft returns a template's draft, or its latest version if it has none.
	Draft(ctx context.Context, ref string) (TemplateVersion, error)
	// Partials returns the current partials of the account.
	Partials(ctx context.Context) (map[string]string, error)
}

// TemplateVersion is the version to fill.
type TemplateVersion struct {
	ID       string
	Version  int
	HTML     string
	Sample   json.RawMessage
	Options  json.RawMessage
	Partials map[string]string
}

// TemplateInput holds the template fields of an operation.
type TemplateInput struct {
	TemplateID      *string       `json:"templateId,omitempty" jsonschema:"minLength=1,maxLength=100" jsonschema_description:"Source: ID or slug of a published template of the account. Its own options are the defaults of options."`
	TemplateVersion int           `json:"templateVersion,omitempty" jsonschema:"minimum=0,maximum=1000000,default=0" jsonschema_extras:"x-requires=templateId,x-common=true" jsonschema_description:"Version of the template; 0 for the latest."`
	TemplateData    schema.Object `json:"templateData,omitzero" jsonschema_extras:"x-requires=templateId,x-common=true" jsonschema_description:"Data that fills the template, at most 5 MiB."`
	Strict          bool          `json:"strict,omitempty" jsonschema:"default=false" jsonschema_extras:"x-requires=templateId,x-common=true" jsonschema_description:"If true, refuse data that lacks a path of the template, and list all missing paths. If false, missing values stay empty."`
}

// validate adds errors for fields that need a template.
func (t *TemplateInput) validate(faults *schema.FieldErrors) {
	if t.TemplateID != nil {
		return
	}
	for _, field := range []struct {
		name  string
		there bool
	}{{"templateVersion", t.TemplateVersion != 0}, {"templateData", !t.TemplateData.IsZero()}, {"strict", t.Strict}} {
		if field.there {
			faults.Add(field.name, "requires templateId")
		}
	}
}

// TemplateOptions are the options that only a template has.
type TemplateOptions struct {
	Locale   string `json:"locale,omitempty" jsonschema:"maxLength=35,default=en-US" jsonschema_description:"Locale of a template's helpers, such as de or pt-BR."`
	TimeZone string `json:"timeZone,omitempty" jsonschema:"maxLength=64,default=UTC" jsonschema_description:"Time zone of dates in a template's helpers, such as Europe/Berlin."`
}

func (o *TemplateOptions) validate(faults *schema.FieldErrors) {
	if o.Locale != "" {
		if err := render.CheckLocale(o.Locale); err != nil {
			faults.Add("options.locale", "%s", err)
		}
	}
	if o.TimeZone != "" {
		if err := render.CheckTimeZone(o.TimeZone); err != nil {
			faults.Add("options.timeZone", "%s", err)
		}
	}
}

// pin fixes the version of a template in an input, together with the template's own options. takes reports which of
// them the operation accepts.
func (t *TemplateInput) pin(
	ctx context.Context, deps *Deps, input map[string]any, takes func(name string) bool,
) (changed bool, err error) {
	if t.TemplateID == nil {
		return false, nil
	}
	found, err := deps.Templates.Find(ctx, *t.TemplateID, t.TemplateVersion)
	if err != nil {
		return false, templateNotFound(err, *t.TemplateID, t.TemplateVersion)
	}
	input["templateId"], input["templateVersion"] = found.ID, int64(found.Version)
	return true, defaultOptions(input, found.Options, takes)
}

// defaultOptions adds a template's options to an input that has none of its own.
func defaultOptions(input map[string]any, options json.RawMessage, takes func(name string) bool) error {
	own, err := schema.Tree(options)
	if err != nil {
		return fmt.Errorf("options of a template: %w", err)
	}
	maps.DeleteFunc(own, func(name string, _ any) bool { return !takes(name) })
	given, _ := input["options"].(map[string]any)
	input["options"] = under(own, given)
	return nil
}

// under returns the members of own, overridden by those of given, objects member by member.
func under(own, given map[string]any) map[string]any {
	merged := maps.Clone(own)
	if merged == nil {
		merged = map[string]any{}
	}

	for name, value := range given {
		below, isObject := merged[name].(map[string]any)
		above, alsoObject := value.(map[string]any)
		if isObject && alsoObject {
			value = under(below, above)
		}
		merged[name] = value
	}

	// A format replaces a size, and so does a format of the template.
	_, width := given["width"]
	_, height := given["height"]
	if _, format := given["format"]; (width || height) && !format {
		delete(merged, "format")
	}
	return merged
}

// anyOption accepts all of a template's options.
func anyOption(string) bool { return true }

// pageOptions lists the options of a template that an image accepts too.
var pageOptions = []string{
	"waitUntil",
	"waitForSelector",
	"waitForFunction",
	"waitForTimeout",
	"timeout",
	"extraHTTPHeaders",
	"cookies",
	"animations",
	"failOnHTTPStatus",
	"failOnResourceError",
	"failOnConsoleError",
	"locale",
	"timeZone",
}

func pageOption(name string) bool { return slices.Contains(pageOptions, name) }

// templateNotFound returns the error for a template that cannot be filled.
func templateNotFound(err error, ref string, version int) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	text := fmt.Sprintf("No published template with ID %.100q.", ref)
	if version != 0 {
		text = fmt.Sprintf("No published template with ID %.100q and version %d.", ref, version)
	}
	return &wire.Error{
		Code:    wire.NotFound,
		Message: text,
		Details: []wire.Detail{{Field: "templateId", Message: "is not the ID or slug of a published template"}},
	}
}

// fill makes HTML of the template, and subtracts the time from the page's.
func (t *TemplateInput) fill(
	ctx context.Context, deps *Deps, o TemplateOptions, page *render.PageSettings,
) (string, error) {
	found, err := deps.Templates.Pinned(ctx, *t.TemplateID, t.TemplateVersion)
	if err != nil {
		return "", templateNotFound(err, *t.TemplateID, t.TemplateVersion)
	}
	return deps.fill(ctx, template.Call{
		Template: template.Template{HTML: found.HTML, Partials: found.Partials},
		Data:     t.TemplateData.RawMessage,
		Strict:   t.Strict,
		Locale:   o.Locale,
		Zone:     o.TimeZone,
	}, page)
}

func (e *Deps) fill(ctx context.Context, call template.Call, page *render.PageSettings) (string, error) {
	began := time.Now()
	var open []schema.Body
	defer func() {
		for _, file := range open {
			_ = file.Close() // it was only read
		}
	}()

	html, err := e.Render.FillTemplate(ctx, call, func(ctx context.Context, id string) (engine.Content, error) {
		file, err := e.Stored(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			return nil, template.ErrNoImage
		}
		if err != nil {
			return nil, err
		}
		open = append(open, file)
		return file, nil
	})

	if page.Timeout > 0 {
		page.Timeout = max(page.Timeout-time.Since(began), time.Millisecond)
	}
	return html, err
}

// templateError words the failures of templates for the customer.
func templateError(err error) *wire.Error {
	var faults *template.Error
	var missing *template.MissingError
	var limit *template.LimitError

	switch {
	case errors.As(err, &faults):
		e := &wire.Error{
			Code:    wire.InvalidRequest,
			Message: "The template could not be filled: " + faults.Error() + ".",
		}
		for _, found := range faults.Faults {
			e.Details = append(e.Details, wire.Detail{Field: "template", Message: found.String()})
		}
		return e
	case errors.As(err, &missing):
		e := &wire.Error{
			Code:    wire.InvalidRequest,
			Message: "templateData is missing values that the template uses: " + missingText(missing) + ".",
		}
		for _, path := range missing.Paths {
			e.Details = append(
				e.Details,
				wire.Detail{Field: "templateData." + path.Path, Message: "is missing (" + path.Where() + ")"},
			)
		}
		return e
	case errors.As(err, &limit):
		return &wire.Error{Code: wire.ProcessingFailed, Message: limit.Message}
	}

	return nil
}

// missingText names the first of the missing paths.
func missingText(missing *template.MissingError) string {
	const shown = 5
	text := ""
	seen := map[string]bool{}

	for _, path := range missing.Paths {
		if seen[path.Path] {
			continue
		}
		if seen[path.Path] = true; len(seen) > shown {
			return text + fmt.Sprintf(" and more (%d places)", len(missing.Paths))
		}
		if text != "" {
			text += ", "
		}
		text += path.Path
	}

	return text
}
