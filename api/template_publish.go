package api

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"relaypdf/api/apierror"
	"relaypdf/api/call"
	"relaypdf/api/schema"
	"relaypdf/api/wire"
	"relaypdf/render/template"
	"relaypdf/store"
)

// templatePublication asks for the draft to be published.
type templatePublication struct {
	templateRef

	Comment string `json:"comment,omitempty" jsonschema:"maxLength=1000" jsonschema_description:"What has changed."`
}

// Validate checks what the schema cannot state.
func (in *templatePublication) Validate() error {
	var faults schema.Faults
	checkTexts(&faults, map[string]*string{"comment": &in.Comment})
	return orNil(faults)
}

// publishTries is how often a draft is looked at again that has changed while it
// was validated.
const publishTries = 5

// publish makes the draft the next version, with the partials that it uses as they
// are now. A template that cannot be filled is refused.
func (a *API) publish(ctx context.Context, caller call.Caller, in templatePublication) (templateRecord, error) {
	expected, err := in.revision()
	if err != nil {
		return templateRecord{}, err
	}
	for range publishTries {
		found, err := a.store.Template(ctx, caller.Account.ID, in.ID)
		switch {
		case err != nil:
			return templateRecord{}, err
		case expected != 0 && found.Revision != expected:
			return templateRecord{}, store.ErrChanged
		case !found.HasDraft:
			return templateRecord{}, store.ErrNoDraft
		}
		partials, err := a.usedPartials(ctx, caller, found.Content.HTML)
		if err != nil {
			return templateRecord{}, err
		}
		published, err := a.store.PublishTemplate(ctx, caller.Account.ID, found.ID, found.Revision, in.Comment, partials)
		if err == nil || !errors.Is(err, store.ErrChanged) || expected != 0 {
			return showTemplate(published, err)
		}
	}
	return templateRecord{}, store.ErrChanged
}

// usedPartials validates a source, and returns the partials that it names.
func (a *API) usedPartials(ctx context.Context, caller call.Caller, html string) (map[string]string, error) {
	all, err := a.partialsOf(ctx, caller)
	if err != nil {
		return nil, err
	}
	report, err := a.report(ctx, caller, template.Call{Template: template.Template{HTML: html, Partials: all}})
	if err != nil {
		return nil, err
	}
	if len(report.Faults) > 0 {
		return nil, &template.Error{Faults: report.Faults}
	}
	if report.Dynamic {
		return all, nil
	}
	used := map[string]string{}
	for _, name := range report.Partials {
		used[name] = all[name]
	}
	return used, nil
}

func (a *API) partialsOf(ctx context.Context, caller call.Caller) (map[string]string, error) {
	list, err := a.store.Partials(ctx, caller.Account.ID)
	all := make(map[string]string, len(list))
	for _, p := range list {
		all[p.Name] = p.HTML
	}
	return all, err
}

// withoutRenderer is when a client should come back that met a process without a
// renderer, in seconds: the next may have one.
const withoutRenderer = 5

func (a *API) report(ctx context.Context, caller call.Caller, source template.Call) (template.Report, error) {
	if a.render == nil {
		return template.Report{}, &apierror.Error{Code: apierror.ConvertUnavailable, RetryAfter: withoutRenderer, Message: "This process makes no documents, and so cannot look into templates; try again shortly."}
	}
	renderer := a.render.For(caller.Account.ID)
	if caller.Kind == call.ByPerson { // The editor asks at each pause in typing.
		renderer, _ = a.render.Background(caller.Account.ID)
	}
	return renderer.ValidateTemplate(ctx, source)
}

// templateCheck asks what is wrong with a template.
type templateCheck struct {
	HTML       string        `json:"html" jsonschema:"required,maxLength=10485760" jsonschema_description:"Source, at most 10 MiB."`
	SampleData schema.Object `json:"sampleData,omitzero" jsonschema_description:"Data whose missing paths are told, at most 5 MiB."`
	Engine     string        `json:"engine,omitempty" jsonschema:"enum=handlebars,default=handlebars" jsonschema_description:"Language of the template."`
	Strict     bool          `json:"strict,omitempty" jsonschema:"default=false" jsonschema_description:"Whether a missing path makes the template invalid."`
}

func (a *API) validate(ctx context.Context, caller call.Caller, in templateCheck) (wire.TemplateValidation, error) {
	partials, err := a.partialsOf(ctx, caller)
	if err != nil {
		return wire.TemplateValidation{}, err
	}
	report, err := a.report(ctx, caller, template.Call{Template: template.Template{HTML: in.HTML, Partials: partials}, Data: in.SampleData.RawMessage})
	if err != nil {
		return wire.TemplateValidation{}, err
	}
	answer := wire.TemplateValidation{
		Valid: len(report.Faults) == 0 && (!in.Strict || len(report.Missing) == 0), Errors: []wire.TemplateFault{},
		Variables: report.Variables, Missing: report.Missing,
	}
	for _, f := range report.Faults {
		answer.Errors = append(answer.Errors, wire.TemplateFault{Message: f.Message, Line: orNull(f.Line), Column: orNull(f.Column), Partial: f.Partial})
	}
	return answer, nil
}

// partialRef names a partial.
type partialRef struct {
	Name string `json:"name" in:"path" jsonschema:"required,maxLength=64" jsonschema_description:"Name of the partial: letters, digits, hyphens and underscores."`
}

// newPartial makes or replaces a partial.
type newPartial struct {
	partialRef

	HTML string `json:"html" jsonschema:"required,maxLength=5242880" jsonschema_description:"Source, with Handlebars. All partials of an account have 5 MiB together."`
}

var partialName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$`)

// Validate checks what the schema cannot state.
func (in *newPartial) Validate() error {
	var faults schema.Faults
	if !partialName.MatchString(in.Name) {
		faults.Add("name", "must be at most 64 letters, digits, hyphens and underscores, and not begin with a hyphen; got %.70q", in.Name)
	}
	if strings.Contains(in.HTML, "\x00") {
		faults.Add("html", "must not contain the character NUL")
	}
	return orNil(faults)
}

func showPartial(p store.Partial, err error) (wire.Partial, error) {
	return wire.Partial{Name: p.Name, HTML: p.HTML, UpdatedAt: p.UpdatedAt.Truncate(time.Millisecond)}, err
}

func (a *API) partials(ctx context.Context, caller call.Caller, _ nothing) (wire.PartialList, error) {
	list, err := a.store.Partials(ctx, caller.Account.ID)
	answer := wire.PartialList{Partials: make([]wire.Partial, len(list))}
	for i, p := range list {
		answer.Partials[i], _ = showPartial(p, nil)
	}
	return answer, err
}

func (a *API) partial(ctx context.Context, caller call.Caller, in partialRef) (wire.Partial, error) {
	return showPartial(a.store.Partial(ctx, caller.Account.ID, in.Name))
}

// putPartial refuses what cannot be parsed, and partials that show one another
// without end. One that is not there yet may be named.
func (a *API) putPartial(ctx context.Context, caller call.Caller, in newPartial) (wire.Partial, error) {
	all, err := a.partialsOf(ctx, caller)
	if err != nil {
		return wire.Partial{}, err
	}
	all[in.Name] = in.HTML
	report, err := a.report(ctx, caller, template.Call{Template: template.Template{HTML: "{{> " + in.Name + "}}", Partials: all}})
	if err != nil {
		return wire.Partial{}, err
	}
	e := &apierror.Error{Code: apierror.InvalidRequest}
	for _, f := range report.Faults {
		if f.Absent || f.Partial != in.Name && f.Ring == "" {
			continue
		}
		e.Details = append(e.Details, apierror.Detail{Field: "html", Message: f.String()})
	}
	if len(e.Details) > 0 {
		e.Message = fmt.Sprintf("The partial cannot be used: %s.", e.Details[0].Message)
		return wire.Partial{}, e
	}
	return showPartial(a.store.PutPartial(ctx, caller.Account.ID, in.Name, in.HTML))
}

func (a *API) removePartial(ctx context.Context, caller call.Caller, in partialRef) (wire.Acknowledged, error) {
	return wire.Acknowledged{OK: true}, a.store.DeletePartial(ctx, caller.Account.ID, in.Name)
}
