package templates

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
)

// Method is a method of Service.
type Method[In, Out any] func(context.Context, call.Caller, In) (Out, error)

// Check validates an input that a page has built, by the same rules as a request of the API.
func Check[In any](ctx context.Context, in In) (In, error) {
	shape, err := schema.NewShape[In]()
	if err != nil {
		return in, err
	}

	text, err := Encode(in)
	if err != nil {
		return in, err
	}
	bound, err := shape.Bind(ctx, bytes.NewReader(text))
	if err != nil {
		return in, apiError(err)
	}
	return *bound, nil
}

// Submit calls a method for a member of the account, with an input that a page has built. It refuses a suspended
// account, and inputs that Check refuses.
func Submit[In, Out any](ctx context.Context, caller call.Caller, in In, method Method[In, Out]) (out Out, err error) {
	if err := active(caller); err != nil {
		return out, err
	}
	if in, err = Check(ctx, in); err != nil {
		return out, err
	}
	return method(ctx, caller, in)
}

// Receive calls a method as Submit does, with the JSON that the script of a page has sent and
// with parameters that are not in the JSON.
func Receive[In, Out any](
	ctx context.Context, caller call.Caller, params []schema.Value, body io.Reader, method Method[In, Out],
) (out Out, err error) {
	if err := active(caller); err != nil {
		return out, err
	}

	request, err := schema.NewRequest[In]()
	if err != nil {
		return out, err
	}
	in, err := request.Bind(ctx, params, body)
	if err != nil {
		return out, apiError(err)
	}
	return method(ctx, caller, *in)
}

// active refuses an account that may only read.
func active(caller call.Caller) error {
	if caller.Account.Suspended {
		return &wire.Error{Code: wire.AccountSuspended}
	}
	return nil
}

// Encode writes JSON without changing its texts, because stored texts are shown again.
func Encode(in any) ([]byte, error) {
	var body bytes.Buffer
	writer := json.NewEncoder(&body)
	writer.SetEscapeHTML(false)
	err := writer.Encode(in)
	return body.Bytes(), err
}

// Preview renders a template that is being written, at no charge. The account has a number of
// previews in a day.
func (s *Service) Preview(ctx context.Context, request call.PreviewRequest) (call.Preview, error) {
	if err := active(request.Caller); err != nil {
		return call.Preview{}, err
	}
	made, err := s.Calls.Preview(ctx, request)
	return made, apiError(err)
}

// Approve records that a user has approved the pages of a draft. Errors are as those of Publish.
func (s *Service) Approve(ctx context.Context, caller call.Caller, in State, by string) error {
	if err := active(caller); err != nil {
		return err
	}
	expected, err := revisionOf(in.IfMatch)
	if err != nil {
		return err
	}

	found, err := s.Store.Template(ctx, caller.Account.ID, in.ID)
	if err == nil {
		err = s.Store.ApproveTemplate(ctx, caller.Account.ID, in.ID, expected, by)
	}
	_, err = s.changed(ctx, caller, "template.approved", found, err)
	return err
}

// Approval is the state of a template in which a user has approved its pages.
type Approval struct {
	wire.Template

	Partials map[string]string
	By       string
	At       time.Time
}

// Approved returns the approval of a draft, or store.ErrNotFound.
func (s *Service) Approved(ctx context.Context, caller call.Caller, in Ref) (Approval, error) {
	found, err := s.Store.TemplateApproval(ctx, caller.Account.ID, in.ID)
	if err != nil {
		return Approval{}, err
	}

	return Approval{
		Template: wire.Template{
			HTML: &found.Content.HTML, SampleData: found.Content.SampleData, Options: found.Content.Options,
		},
		Partials: found.Partials, By: found.By, At: found.At,
	}, nil
}

// ComparePreviews renders two states of a template and compares their pages, at no charge.
func (s *Service) ComparePreviews(
	ctx context.Context, old, latest call.PreviewRequest,
) (call.PreviewComparison, error) {
	if err := active(old.Caller); err != nil {
		return call.PreviewComparison{}, err
	}
	made, err := s.Calls.ComparePreviews(ctx, old, latest)
	return made, apiError(err)
}

// Fill returns the HTML of a template that is being written, without anything that may send requests to other
// servers. Input is that of templates.preview, as JSON.
func (s *Service) Fill(ctx context.Context, caller call.Caller, input []byte) (string, error) {
	made, err := s.Preview(ctx, call.PreviewRequest{Caller: caller, Input: input, View: operation.Filled})
	return render.Still(made.HTML), err
}

// Run makes a paid call of an operation on templates: templates.generate or templates.preview. It
// hands the outcome to use, and frees it. An outcome that use fails with is stored for a day.
func (s *Service) Run(ctx context.Context, name string, request call.Request, use func(*call.Outcome) error) error {
	if err := active(request.Caller); err != nil {
		return err
	}

	request.Operation = s.Table.Lookup(name)
	outcome, _, err := s.Calls.Do(ctx, request)
	if err != nil {
		return apiError(err)
	}
	return s.Calls.Deliver(ctx, outcome, use)
}
