package render

import (
	"context"
	"errors"
	"fmt"
	"time"

	"relaypdf/render/engine"
	"relaypdf/render/markup"
	"relaypdf/render/template"
)

// CheckTemplates returns an error that says what to do where this program was
// built without Handlebars.js.
func CheckTemplates() error {
	if err := template.Check(); err != nil {
		return err
	}
	return markup.Check()
}

// TemplateHelpers returns the names of all that a template may call.
func TemplateHelpers() []string { return template.Helpers() }

// Inspect reads an HTML document once, and says what it may do.
func Inspect(html string) markup.Traits { return markup.Inspect(html) }

// CheckLocale says what is wrong with the tag of a locale, such as de-AT.
func CheckLocale(tag string) error { return template.CheckLocale(tag) }

// CheckTimeZone says what is wrong with the name of a time zone.
func CheckTimeZone(name string) error { return template.CheckZone(name) }

// templateTime bounds all that is done for one template, where the limits of
// JavaScript do not reach.
const templateTime = 30 * time.Second

// FillTemplate makes HTML of a template and its data, in an engine's process. The
// errors are a *template.Error, *template.MissingError or *template.LimitError, what
// images returned, a *chrome.BusyError, or that of ctx.
func (t *Tools) FillTemplate(ctx context.Context, call template.Call, images template.Images) (string, error) {
	defer func(start time.Time) { t.render.seen(ctx, "template", time.Since(start)) }(time.Now())
	html, err := template.Render(ctx, t.runTemplate, t.id, call, images)
	return html, templateFailure(ctx, err)
}

// ValidateTemplate says what is wrong with a template, and what it uses. The
// errors are a *template.LimitError, a *chrome.BusyError, or that of ctx.
func (t *Tools) ValidateTemplate(ctx context.Context, call template.Call) (template.Report, error) {
	report, err := template.Validate(ctx, t.runTemplate, call)
	return report, templateFailure(ctx, err)
}

func (t *Tools) runTemplate(ctx context.Context, job engine.Job) (engine.Result, error) {
	job.Account, job.Time, job.Retry = t.id, templateTime, true
	return t.render.markup.Run(ctx, job)
}

// templateFailure turns the end of an engine's process into the limit that ended
// it.
func templateFailure(ctx context.Context, err error) error {
	var late *engine.TimeoutError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &late):
		return &template.LimitError{Message: fmt.Sprintf("The template takes more than %s.", templateTime)}
	case errors.Is(err, engine.ErrOutOfMemory):
		return &template.LimitError{Message: "The template takes too much memory."}
	case errors.Is(err, engine.ErrTooLarge):
		return &template.LimitError{Message: "The template and its data are too large."}
	}
	return err
}
