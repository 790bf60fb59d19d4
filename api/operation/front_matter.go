package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"sync"

	"relaypdf/api/op"
	"relaypdf/render"
)

// optionsRequest holds options in front matter to what those of a request are.
var optionsRequest = sync.OnceValues(op.NewRequest[PDFOptions])

// takeFrontMatter takes the options of the page, which Markdown may have in its
// front matter, where the request has none of its own. Faults are in the field
// markdown.
func (o *PDFOptions) takeFrontMatter(faults *op.Faults, markdown string) error {
	about, err := render.ReadFrontMatter(markdown)
	var unread *render.OptionsError
	if errors.As(err, &unread) {
		faults.Add("markdown", "has options in its front matter, of which %s", unread)
		return nil
	}
	if err != nil || about.Options == nil {
		return err
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
	var wrong op.Faults
	if errors.As(err, &wrong) {
		for _, fault := range wrong {
			faults.Add("markdown", "has options in its front matter, of which %s %s", fault.Field, fault.Message)
		}
		return nil
	}
	if err != nil {
		return err
	}
	// What loads the page is the caller's to say: the text may be another's.
	if !reflect.ValueOf(own.LoadOptions).IsZero() || !reflect.ValueOf(own.TemplateOptions).IsZero() {
		faults.Add("markdown", "has options in its front matter that only a request may have: give there those of the paper and the print, such as format, margin and footerTemplate")
		return nil
	}
	to, from := reflect.ValueOf(o).Elem(), reflect.ValueOf(own).Elem()
	for i := range to.NumField() {
		if to.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return nil
}
