// Package templates creates, changes, publishes and previews the templates and partials of accounts. The API and
// the pages both call its Service:
//
//	made, err := service.Create(ctx, caller, templates.CreateInput{Name: "Letter", HTML: &html})
//
// The API binds the inputs of its requests. Pages pass theirs with Submit and Receive, which apply the same rules.
// Errors are store.ErrNotFound, an *wire.Error for a refusal, or internal errors.
package templates

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/template"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/static/gallery"
	"github.com/relaypdf/relaypdf/store"
)

// Service works on the templates of the account that calls. Its methods are safe for concurrent use.
type Service struct {
	Store *store.Store
	// Gallery has the layouts that templates may start from.
	Gallery *gallery.Gallery
	// Table has the operations whose options and inputs templates have.
	Table *schema.Table[*operation.Deps]
	// Calls makes previews and paid calls.
	Calls *call.Runner
	// Render looks into templates. It is nil in a process that makes no documents.
	Render *render.Renderer
}

// Record is a template with the revision that its ETag names.
type Record struct {
	wire.Template

	revision int64
}

// ETag names the state of the template.
func (r Record) ETag() string { return `"` + strconv.FormatInt(r.revision, 10) + `"` }

func recordOf(t store.Template, err error) (Record, error) {
	if err != nil {
		return Record{}, apiError(err)
	}
	shown := summaryOf(t)
	shown.HTML = &t.Content.HTML
	return Record{shown, t.Revision}, nil
}

// summaryOf is a template as lists show it.
func summaryOf(t store.Template) wire.Template {
	shown := wire.Template{
		ID: t.ID, Slug: t.Slug, Name: t.Name, Description: t.Description, Category: t.Category, Engine: "handlebars",
		SampleData: t.Content.SampleData, Options: t.Content.Options, State: "draft", HasDraft: t.HasDraft,
		PublishedVersion: wire.OrNull(t.PublishedVersion),
		CreatedAt:        t.CreatedAt.Truncate(time.Millisecond), UpdatedAt: t.UpdatedAt.Truncate(time.Millisecond),
	}

	if t.PublishedAt != nil {
		shown.PublishedAt = new(t.PublishedAt.UTC().Truncate(time.Millisecond))
	}
	if t.PublishedVersion > 0 {
		shown.State = "published"
	}
	return shown
}

// List returns a part of the account's templates, the newest first.
func (s *Service) List(ctx context.Context, caller call.Caller, in Query) (wire.TemplateList, error) {
	if in.Limit == 0 {
		in.Limit = store.MaxList
	}

	page, err := s.Store.Templates(ctx, store.TemplateFilter{
		List: store.List{Limit: in.Limit, Cursor: in.Cursor}, AccountID: caller.Account.ID, Search: in.Search,
		Category: in.Category, State: in.State,
	})

	list := wire.TemplateList{Templates: make([]wire.Template, len(page.Items)), NextCursor: wire.OrNull(page.Next)}
	for i, item := range page.Items {
		list.Templates[i] = summaryOf(item)
	}
	return list, apiError(err)
}

// Get returns a template.
func (s *Service) Get(ctx context.Context, caller call.Caller, in Ref) (Record, error) {
	return recordOf(s.Store.Template(ctx, caller.Account.ID, in.ID))
}

// Create creates a template, from a layout of the gallery if one is named.
func (s *Service) Create(ctx context.Context, caller call.Caller, in CreateInput) (Record, error) {
	n := store.NewTemplate{
		AccountID: caller.Account.ID, Slug: in.Slug, Name: in.Name, Description: in.Description, Category: in.Category,
		Content: store.TemplateContent{SampleData: in.SampleData.RawMessage, Options: in.Options.RawMessage},
	}

	if in.HTML != nil {
		n.Content.HTML = *in.HTML
	}
	if in.FromGallery != "" {
		if err := s.startFrom(in.FromGallery, in, &n); err != nil {
			return Record{}, apiError(err)
		}
	}

	if n.Slug == "" {
		n.Slug = slugOf(n.Name)
		n.FreeSlug = true
	}

	if err := s.checkOptions(ctx, n.Content.Options); err != nil {
		return Record{}, apiError(err)
	}
	made, err := s.Store.CreateTemplate(ctx, n)
	return s.changed(ctx, caller, "template.made", made, slugTaken(err, in.Slug))
}

// changed returns a template after a change, which it records in the audit log.
func (s *Service) changed(
	ctx context.Context, caller call.Caller, action string, t store.Template, err error,
) (Record, error) {
	if err == nil {
		err = s.Store.AddAuditEntry(ctx, caller.Author.Entry(action, t.Name, t.Slug))
	}
	return recordOf(t, err)
}

// startFrom fills the fields that a request leaves empty from a layout of the gallery.
func (s *Service) startFrom(id string, in CreateInput, n *store.NewTemplate) error {
	layout, ok := s.Gallery.Get(id)
	if !ok {
		return schema.FieldErrors{
			{Field: "fromGallery", Message: "is not the ID of a layout. List the layouts with GET /v1/templates/gallery"},
		}
	}

	if in.HTML == nil {
		n.Content.HTML = layout.HTML
	}
	if in.SampleData.IsZero() {
		n.Content.SampleData = layout.Sample
	}
	if in.Options.IsZero() {
		n.Content.Options = layout.Options
	}
	if n.Name == "" {
		n.Name = layout.Name
	}
	if n.Slug == "" && n.Name == layout.Name {
		n.Slug = layout.ID
		n.FreeSlug = true // The request on the layout's page names it.
	}
	if n.Description == "" {
		n.Description = layout.Description
	}
	if n.Category == "" {
		n.Category = layout.Category
	}
	return nil
}

// Update changes the draft of a template.
func (s *Service) Update(ctx context.Context, caller call.Caller, in UpdateInput) (Record, error) {
	expected, err := revisionOf(in.IfMatch)
	if err != nil {
		return Record{}, err
	}
	if err := s.checkOptions(ctx, in.Options.RawMessage); err != nil {
		return Record{}, apiError(err)
	}

	change := store.TemplateChange{
		Slug: in.Slug, Name: in.Name, Description: in.Description.value, Category: in.Category.value, HTML: in.HTML,
		SampleData: in.SampleData.RawMessage, Options: in.Options.RawMessage,
	}
	slug := ""
	if in.Slug != nil {
		slug = *in.Slug
	}

	changed, err := s.Store.UpdateTemplate(ctx, caller.Account.ID, in.ID, expected, change)
	if err == nil {
		// The editor saves at each pause in typing.
		err = s.Store.AddAuditEntryOnce(ctx, caller.Author.Entry("template.changed", changed.Name, changed.Slug))
	}
	return recordOf(changed, slugTaken(err, slug))
}

// slugTaken returns the error for a slug that another template has.
func slugTaken(err error, slug string) error {
	if errors.Is(err, store.ErrExists) {
		return schema.FieldErrors{{Field: "slug", Message: "is already used by another template; got " + slug}}
	}
	return err
}

// Delete deletes a template.
func (s *Service) Delete(ctx context.Context, caller call.Caller, in Ref) (wire.Acknowledged, error) {
	found, err := s.Store.Template(ctx, caller.Account.ID, in.ID)
	if err == nil {
		err = s.Store.DeleteTemplate(ctx, caller.Account.ID, found.ID)
	}
	_, err = s.changed(ctx, caller, "template.deleted", found, err)
	return wire.Acknowledged{OK: true}, err
}

// Discard drops the draft of a template that was published.
func (s *Service) Discard(ctx context.Context, caller call.Caller, in State) (Record, error) {
	expected, err := revisionOf(in.IfMatch)
	if err != nil {
		return Record{}, err
	}
	discarded, err := s.Store.DiscardTemplate(ctx, caller.Account.ID, in.ID, expected)
	return s.changed(ctx, caller, "template.discarded", discarded, err)
}

// Restore copies a version of a template into its draft.
func (s *Service) Restore(ctx context.Context, caller call.Caller, in RestoreInput) (Record, error) {
	expected, err := revisionOf(in.IfMatch)
	if err != nil {
		return Record{}, err
	}
	restored, err := s.Store.RestoreTemplate(ctx, caller.Account.ID, in.ID, expected, in.Version)
	return s.changed(ctx, caller, "template.restored", restored, err)
}

// Duplicate makes a copy of a template.
func (s *Service) Duplicate(ctx context.Context, caller call.Caller, in DuplicateInput) (Record, error) {
	found, err := s.Store.Template(ctx, caller.Account.ID, in.ID)
	if err != nil {
		return Record{}, apiError(err)
	}

	n := store.NewTemplate{
		AccountID: caller.Account.ID, Slug: in.Slug, Name: in.Name, Description: found.Description,
		Category: found.Category, Content: found.Content,
	}

	if n.Name == "" {
		n.Name = strings.ToValidUTF8(found.Name[:min(len(found.Name), maxName-len(" (copy)"))], "") + " (copy)"
	}
	if n.Slug == "" {
		n.Slug = found.Slug[:min(len(found.Slug), maxSlug-len("-copy"))] + "-copy"
		n.FreeSlug = true
	}

	made, err := s.Store.CreateTemplate(ctx, n)
	return s.changed(ctx, caller, "template.duplicated", made, slugTaken(err, in.Slug))
}

// Versions lists the published versions of a template, the newest first.
func (s *Service) Versions(ctx context.Context, caller call.Caller, in Ref) (wire.TemplateVersionList, error) {
	list, err := s.Store.TemplateVersions(ctx, caller.Account.ID, in.ID)
	shown := wire.TemplateVersionList{Versions: make([]wire.TemplateVersion, len(list))}
	for i, v := range list {
		shown.Versions[i] = versionOf(v)
	}
	return shown, apiError(err)
}

func versionOf(v store.TemplateVersion) wire.TemplateVersion {
	return wire.TemplateVersion{
		Version: v.Version, Comment: v.Comment, PublishedAt: v.PublishedAt.Truncate(time.Millisecond),
	}
}

// Version returns a published version of a template.
func (s *Service) Version(ctx context.Context, caller call.Caller, in VersionRef) (wire.TemplateVersionContent, error) {
	_, v, err := s.Store.TemplateVersion(ctx, caller.Account.ID, in.ID, in.Version)
	return wire.TemplateVersionContent{
		TemplateVersion: versionOf(v), HTML: v.Content.HTML, SampleData: v.Content.SampleData,
		Options: v.Content.Options, Partials: v.Partials,
	}, apiError(err)
}

// publishTries is the maximum number of attempts to publish a draft that changes during its validation.
const publishTries = 5

// Publish makes the draft the next version, with the current state of the partials that it uses. A template that
// cannot be filled is refused.
func (s *Service) Publish(ctx context.Context, caller call.Caller, in PublishInput) (Record, error) {
	expected, err := revisionOf(in.IfMatch)
	if err != nil {
		return Record{}, err
	}

	for range publishTries {
		published, err := s.publish(ctx, caller, in, expected)
		if expected != 0 || !errors.Is(err, store.ErrChanged) {
			if err == nil {
				version := fmt.Sprintf("v%d", published.PublishedVersion)
				err = s.Store.AddAuditEntry(ctx, caller.Author.Entry("template.published", published.Name, version))
			}
			return recordOf(published, err)
		}
	}
	return Record{}, apiError(store.ErrChanged)
}

func (s *Service) publish(
	ctx context.Context, caller call.Caller, in PublishInput, expected int64,
) (store.Template, error) {
	found, err := s.Store.Template(ctx, caller.Account.ID, in.ID)
	switch {
	case err != nil:
		return found, err
	case expected != 0 && found.Revision != expected:
		return found, store.ErrChanged
	case !found.HasDraft:
		return found, store.ErrNoDraft
	}

	partials, err := s.usedPartials(ctx, caller, found.Content.HTML)
	if err != nil {
		return found, err
	}
	return s.Store.PublishTemplate(ctx, caller.Account.ID, found.ID, found.Revision, in.Comment, partials)
}

// usedPartials validates a source, and returns the partials that it names.
func (s *Service) usedPartials(ctx context.Context, caller call.Caller, html string) (map[string]string, error) {
	all, err := s.partials(ctx, caller)
	if err != nil {
		return nil, err
	}

	report, err := s.report(ctx, caller, template.Call{Template: template.Template{HTML: html, Partials: all}})
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

func (s *Service) report(ctx context.Context, caller call.Caller, source template.Call) (template.Report, error) {
	if s.Render == nil {
		return template.Report{}, &wire.Error{
			Code: wire.ConvertUnavailable, RetryAfter: call.WithoutRenderer,
			Message: "Template validation is unavailable on this server. Retry in 5 seconds.",
		}
	}

	renderer := s.Render.For(caller.Account.ID)
	if caller.Kind == call.ByPerson { // The editor asks at each pause in typing.
		renderer, _ = s.Render.Background(caller.Account.ID)
	}
	return renderer.ValidateTemplate(ctx, source)
}

// Validate returns the errors of a template and the values that it uses.
func (s *Service) Validate(ctx context.Context, caller call.Caller, in Source) (wire.TemplateValidation, error) {
	partials, err := s.partials(ctx, caller)
	if err != nil {
		return wire.TemplateValidation{}, apiError(err)
	}

	report, err := s.report(ctx, caller, template.Call{
		Template: template.Template{HTML: in.HTML, Partials: partials}, Data: in.SampleData.RawMessage,
	})
	if err != nil {
		return wire.TemplateValidation{}, apiError(err)
	}

	found := wire.TemplateValidation{
		Valid: len(report.Faults) == 0 && (!in.Strict || len(report.Missing) == 0), Errors: []wire.TemplateFault{},
		Variables: report.Variables, Missing: report.Missing,
	}
	for _, f := range report.Faults {
		found.Errors = append(found.Errors, wire.TemplateFault{
			Message: f.Message, Line: wire.OrNull(f.Line), Column: wire.OrNull(f.Column), Partial: f.Partial,
		})
	}
	return found, nil
}

// apiError returns the API error for an error of the store or the schema. Other errors stay as they are.
func apiError(err error) error {
	invalid := func(format string, args ...any) error {
		return &wire.Error{Code: wire.InvalidRequest, Message: fmt.Sprintf(format, args...), Cause: err}
	}

	switch {
	case err == nil, errors.Is(err, store.ErrNotFound):
		return err
	case errors.Is(err, store.ErrChanged):
		return &wire.Error{
			Code:    wire.PreconditionFailed,
			Message: "The template has changed since you read it. Read it again and send the new ETag.", Cause: err,
		}
	case errors.Is(err, store.ErrNoDraft):
		return invalid("The template has no draft: it has not changed since it was published.")
	case errors.Is(err, store.ErrNeverPublished):
		return invalid("The draft cannot be discarded: the template was never published. Delete the template instead.")
	case errors.Is(err, store.ErrTooMany):
		return invalid("Template limit reached: at most %d templates with %d versions each, and %d partials with %d MiB in total. Delete some first.",
			store.MaxTemplates, store.MaxVersions, store.MaxPartials, store.MaxPartialBytes>>20)
	case errors.Is(err, store.ErrBadList):
		err = schema.FieldErrors{{Field: "cursor", Message: "must be the nextCursor of an earlier page"}}
	}

	if known := call.APIError(err); known.Code != wire.InternalError {
		return known
	}
	return err
}

// Helpers returns the names of all helpers that a template can call.
func Helpers() []string { return template.Helpers() }
