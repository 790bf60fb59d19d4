package templates

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render/template"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

// PartialRef names a partial.
type PartialRef struct {
	Name string `json:"name" in:"path" jsonschema:"required,maxLength=64" jsonschema_description:"Name of the partial: letters, digits, hyphens and underscores."`
}

// NewPartial makes or replaces a partial.
type NewPartial struct {
	PartialRef

	HTML string `json:"html" jsonschema:"required,maxLength=5242880" jsonschema_description:"HTML source with Handlebars. All partials of an account together: at most 5 MiB."`
}

var partialName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$`)

// Validate checks the rules that the schema cannot express.
func (in *NewPartial) Validate() error {
	var faults schema.FieldErrors
	if !partialName.MatchString(in.Name) {
		faults.Add("name",
			"must be at most 64 letters, digits, hyphens and underscores, and not begin with a hyphen; got %.70q",
			in.Name)
	}
	if strings.Contains(in.HTML, "\x00") {
		faults.Add("html", "must not contain the character NUL")
	}
	return faults.OrNil()
}

func partialOf(p store.Partial, err error) (wire.Partial, error) {
	return wire.Partial{Name: p.Name, HTML: p.HTML, UpdatedAt: p.UpdatedAt.Truncate(time.Millisecond)}, apiError(err)
}

// partials returns the account's partials by name.
func (s *Service) partials(ctx context.Context, caller call.Caller) (map[string]string, error) {
	list, err := s.Store.Partials(ctx, caller.Account.ID)
	all := make(map[string]string, len(list))
	for _, p := range list {
		all[p.Name] = p.HTML
	}
	return all, err
}

// Partials lists the account's partials by name.
func (s *Service) Partials(ctx context.Context, caller call.Caller, _ struct{}) (wire.PartialList, error) {
	list, err := s.Store.Partials(ctx, caller.Account.ID)
	shown := wire.PartialList{Partials: make([]wire.Partial, len(list))}
	for i, p := range list {
		shown.Partials[i], _ = partialOf(p, nil)
	}
	return shown, apiError(err)
}

// Partial returns a partial.
func (s *Service) Partial(ctx context.Context, caller call.Caller, in PartialRef) (wire.Partial, error) {
	return partialOf(s.Store.Partial(ctx, caller.Account.ID, in.Name))
}

// PutPartial makes or replaces a partial. It refuses a source that cannot be parsed, and partials
// that show one another without end. A partial that is not there yet may be named.
func (s *Service) PutPartial(ctx context.Context, caller call.Caller, in NewPartial) (wire.Partial, error) {
	all, err := s.partials(ctx, caller)
	if err != nil {
		return wire.Partial{}, apiError(err)
	}

	action := "partial.made"
	if _, known := all[in.Name]; known {
		action = "partial.changed"
	}
	all[in.Name] = in.HTML

	report, err := s.report(ctx, caller, template.Call{
		Template: template.Template{HTML: "{{> " + in.Name + "}}", Partials: all},
	})
	if err != nil {
		return wire.Partial{}, apiError(err)
	}

	e := &wire.Error{Code: wire.InvalidRequest}
	for _, f := range report.Faults {
		if f.Absent || f.Partial != in.Name && f.Ring == "" {
			continue
		}
		e.Details = append(e.Details, wire.Detail{Field: "html", Message: f.String()})
	}
	if len(e.Details) > 0 {
		e.Message = fmt.Sprintf("The partial is invalid: %s.", e.Details[0].Message)
		return wire.Partial{}, e
	}

	put, err := s.Store.PutPartial(ctx, caller.Account.ID, in.Name, in.HTML)
	if err == nil {
		err = s.Store.AddAuditEntryOnce(ctx, caller.Author.Entry(action, in.Name, ""))
	}
	return partialOf(put, err)
}

// DeletePartial deletes a partial.
func (s *Service) DeletePartial(ctx context.Context, caller call.Caller, in PartialRef) (wire.Acknowledged, error) {
	err := s.Store.DeletePartial(ctx, caller.Account.ID, in.Name)
	if err == nil {
		err = s.Store.AddAuditEntry(ctx, caller.Author.Entry("partial.deleted", in.Name, ""))
	}
	return wire.Acknowledged{OK: true}, apiError(err)
}
