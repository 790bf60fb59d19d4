package render

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/markup"
	"github.com/relaypdf/relaypdf/render/template"
)

// CheckTemplates returns an error with the remedy if this executable was built without Handlebars.js.
func CheckTemplates() error {
	if err := template.Check(); err != nil {
		return err
	}
	return markup.Check()
}

// TemplateHelpers returns the names of all helpers that a template can call.
func TemplateHelpers() []string { return template.Helpers() }

// Inspect reads an HTML document once, and returns which features it uses.
func Inspect(html string) markup.Traits { return markup.Inspect(html) }

// CheckLocale returns an error if the tag of a locale, such as de-AT, is invalid.
func CheckLocale(tag string) error { return template.CheckLocale(tag) }

// CheckTimeZone returns an error if the name of a time zone is invalid.
func CheckTimeZone(name string) error { return template.CheckZone(name) }

// templateTime limits all work on one template, as a backstop for the limits of JavaScript.
const templateTime = 30 * time.Second

// FillTemplate makes HTML of a template and its data in an engine process. The errors are a *template.Error,
// *template.MissingError or *template.LimitError, the error of images, a *chrome.BusyError, or the error of ctx.
func (e *Engines) FillTemplate(ctx context.Context, call template.Call, images template.Images) (string, error) {
	defer func(start time.Time) { e.render.seen(ctx, "template", time.Since(start)) }(time.Now())
	html, err := template.Render(ctx, e.runTemplate, e.id, call, images)
	return html, templateFailure(ctx, err)
}

// ValidateTemplate reports the errors of a template and the values that it uses. The errors are a
// *template.LimitError, a *chrome.BusyError, or the error of ctx.
func (e *Engines) ValidateTemplate(ctx context.Context, call template.Call) (template.Report, error) {
	report, err := template.Validate(ctx, e.runTemplate, call)
	return report, templateFailure(ctx, err)
}

func (e *Engines) runTemplate(ctx context.Context, job engine.Job) (engine.Result, error) {
	job.Account = e.id
	job.Time = templateTime
	job.Retry = true
	return e.render.markup.Run(ctx, job)
}

// templateFailure turns the end of an engine process into the error of the limit that ended it.
func templateFailure(ctx context.Context, err error) error {
	var late *engine.TimeoutError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &late):
		return &template.LimitError{
			Message: fmt.Sprintf(
				"The template exceeded its time limit of %s. Simplify it, or send less data.",
				templateTime,
			),
		}
	case errors.Is(err, engine.ErrOutOfMemory):
		return fmt.Errorf(
			"%w: %w",
			&template.LimitError{Message: "The template exceeded its memory limit. Simplify it, or send less data."},
			err,
		)
	case errors.Is(err, engine.ErrTooLarge):
		return &template.LimitError{Message: "The template and its data are too large. Send less data."}
	}
	return err
}
