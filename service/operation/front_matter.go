package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/markup"
	"github.com/relaypdf/relaypdf/service/schema"
)

// optionsRequest validates options in front matter like those of a request.
var optionsRequest = sync.OnceValues(schema.NewRequest[PDFOptions])

// takeFrontMatter applies the page options in the front matter of Markdown, unless the request has its own. about
// and unread are the result of reading the front matter. Errors name the field of the Markdown.
func (o *PDFOptions) takeFrontMatter(
	faults *schema.FieldErrors, field string, about markup.FrontMatter, unread error,
) error {
	if invalidFrontMatter(faults, field, unread) {
		return nil
	}

	if unread != nil || about.Options == nil {
		return unread
	}

	text, err := json.Marshal(about.Options)
	if err != nil {
		return err
	}

	request, err := optionsRequest()
	if err != nil {
		return err
	}

	own, err := request.Bind(context.Background(), nil, bytes.NewReader(text))
	var wrong schema.FieldErrors
	if errors.As(err, &wrong) {
		for _, fault := range wrong {
			faults.Add(field, "has invalid front matter options: %s %s", fault.Field, fault.Message)
		}
		return nil
	}
	if err != nil {
		return err
	}

	// Only the caller sets how the page loads and runs: the text may come from another author.
	if own.HTML != "" || !reflect.ValueOf(own.LoadOptions).IsZero() || !reflect.ValueOf(own.TemplateOptions).IsZero() {
		faults.Add(
			field,
			"has front matter options that must be sent in the request. Front matter accepts layout options only, such as format, margin and footerTemplate",
		)
		return nil
	}

	to := reflect.ValueOf(o).Elem()
	from := reflect.ValueOf(own).Elem()
	for i := range to.NumField() {
		if to.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}

	return nil
}

// invalidFrontMatter adds the error of front matter that is not valid, and reports whether it is one.
func invalidFrontMatter(faults *schema.FieldErrors, field string, unread error) bool {
	var line *markup.FrontMatterError
	if !errors.As(unread, &line) {
		return false
	}
	faults.Add(field, "has invalid front matter: %s", line)
	return true
}

// markdownPrint returns the print settings of Markdown with that front matter, or nil if it has no options. Errors
// name the field of the Markdown.
func markdownPrint(field string, about markup.FrontMatter, unread error) (*render.MarkdownPrint, error) {
	var o PDFOptions
	var faults, wrong schema.FieldErrors
	if err := o.takeFrontMatter(&faults, field, about, unread); err != nil {
		return nil, err
	}

	o.check(&wrong, false)
	for _, fault := range wrong {
		faults.Add(
			field, "has invalid front matter options: %s %s", strings.TrimPrefix(fault.Field, "options."),
			fault.Message,
		)
	}

	if about.Options == nil || len(faults) > 0 {
		return nil, failures(faults)
	}

	// As for HTML, the document's own paper size applies if no other is requested.
	o.PreferCSSPageSize = o.PreferCSSPageSize || o.Format == "" && o.Width.IsZero() && o.Height.IsZero()
	return &render.MarkdownPrint{PDF: o.settings(), Media: o.MediaType}, nil
}
