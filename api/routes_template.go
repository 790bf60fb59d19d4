package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"relaypdf/api/apierror"
	"relaypdf/api/call"
	"relaypdf/api/schema"
	"relaypdf/api/wire"
	"relaypdf/store"
)

// maxTemplateBody bounds a request that holds a template with its sample data, of
// which every letter may be escaped.
const maxTemplateBody = 80 << 20

// templateRecord is a template whose revision is its ETag.
type templateRecord struct {
	wire.Template

	revision int64
}

func (t templateRecord) head(h http.Header) int {
	if t.revision > 0 {
		h.Set("ETag", `"`+strconv.FormatInt(t.revision, 10)+`"`)
	}
	return 0
}

func showTemplate(t store.Template, err error) (templateRecord, error) {
	if err != nil {
		return templateRecord{}, err
	}
	shown := listTemplate(t)
	shown.HTML = &t.Content.HTML
	return templateRecord{shown, t.Revision}, nil
}

func listTemplate(t store.Template) wire.Template {
	shown := wire.Template{
		ID: t.ID, Slug: t.Slug, Name: t.Name, Description: t.Description, Category: t.Category, Engine: "handlebars",
		SampleData: t.Content.SampleData, Options: t.Content.Options, State: "draft", HasDraft: t.HasDraft, PublishedVersion: orNull(t.PublishedVersion),
		CreatedAt: t.CreatedAt.Truncate(time.Millisecond), UpdatedAt: t.UpdatedAt.Truncate(time.Millisecond), PublishedAt: shownTime(t.PublishedAt),
	}
	if t.PublishedVersion > 0 {
		shown.State = "published"
	}
	return shown
}

// templateQuery asks for a part of the list.
type templateQuery struct {
	Limit    int    `json:"limit,omitempty" in:"query" jsonschema:"minimum=1,maximum=100,default=100" jsonschema_description:"How many templates a page has at most."`
	Cursor   string `json:"cursor,omitempty" in:"query" jsonschema:"maxLength=100" jsonschema_description:"nextCursor of the page before."`
	Search   string `json:"search,omitempty" in:"query" jsonschema:"maxLength=200" jsonschema_description:"Words of the name, the slug or the description."`
	Category string `json:"category,omitempty" in:"query" jsonschema:"maxLength=100" jsonschema_description:"Category."`
	State    string `json:"state,omitempty" in:"query" jsonschema:"enum=draft,enum=published" jsonschema_description:"draft for templates that were never published, published for the others."`
}

func (a *API) listTemplates(ctx context.Context, caller call.Caller, in templateQuery) (wire.TemplateList, error) {
	if in.Limit == 0 {
		in.Limit = store.MaxList
	}
	page, err := a.store.Templates(ctx, store.TemplateFilter{
		List: store.List{Limit: in.Limit, Cursor: in.Cursor}, AccountID: caller.Account.ID, Search: in.Search, Category: in.Category, State: in.State,
	})
	answer := wire.TemplateList{Templates: make([]wire.Template, len(page.Items)), NextCursor: orNull(page.Next)}
	for i, item := range page.Items {
		answer.Templates[i] = listTemplate(item)
	}
	return answer, err
}

func (a *API) getTemplate(ctx context.Context, caller call.Caller, in byID) (templateRecord, error) {
	return showTemplate(a.store.Template(ctx, caller.Account.ID, in.ID))
}

func (a *API) createTemplate(ctx context.Context, caller call.Caller, in newTemplate) (templateRecord, error) {
	n := store.NewTemplate{
		AccountID: caller.Account.ID, Slug: in.Slug, Name: in.Name, Description: in.Description, Category: in.Category,
		Content: store.TemplateContent{SampleData: in.SampleData.RawMessage, Options: in.Options.RawMessage},
	}
	if in.HTML != nil {
		n.Content.HTML = *in.HTML
	}
	if in.FromGallery != "" {
		if err := a.startFrom(in.FromGallery, in, &n); err != nil {
			return templateRecord{}, err
		}
	}
	if n.Slug == "" {
		n.Slug, n.FreeSlug = slugOf(n.Name), true
	}
	if err := a.checkOptions(ctx, n.Content.Options); err != nil {
		return templateRecord{}, err
	}
	made, err := a.store.CreateTemplate(ctx, n)
	return showTemplate(made, slugTaken(err, in.Slug))
}

// startFrom fills what a request leaves open from a layout of the gallery.
func (a *API) startFrom(id string, in newTemplate, n *store.NewTemplate) error {
	layout, ok := a.gallery.Get(id)
	if !ok {
		return schema.Faults{{Field: "fromGallery", Message: "is not the id of a layout; see GET /v1/templates/gallery"}}
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
		n.Slug, n.FreeSlug = layout.ID, true // The request on the layout's page names it.
	}
	if n.Description == "" {
		n.Description = layout.Description
	}
	if n.Category == "" {
		n.Category = layout.Category
	}
	return nil
}

func (a *API) updateTemplate(ctx context.Context, caller call.Caller, in templatePatch) (templateRecord, error) {
	expected, err := revisionOf(in.IfMatch)
	if err != nil {
		return templateRecord{}, err
	}
	if err := a.checkOptions(ctx, in.Options.RawMessage); err != nil {
		return templateRecord{}, err
	}
	change := store.TemplateChange{
		Slug: in.Slug, Name: in.Name, Description: in.Description.text(), Category: in.Category.text(), HTML: in.HTML,
		SampleData: in.SampleData.RawMessage, Options: in.Options.RawMessage,
	}
	slug := ""
	if in.Slug != nil {
		slug = *in.Slug
	}
	changed, err := a.store.UpdateTemplate(ctx, caller.Account.ID, in.ID, expected, change)
	return showTemplate(changed, slugTaken(err, slug))
}

// slugTaken tells that another template has the slug.
func slugTaken(err error, slug string) error {
	if errors.Is(err, store.ErrExists) {
		return schema.Faults{{Field: "slug", Message: "is taken by another template of the account: " + slug}}
	}
	return err
}

func (a *API) deleteTemplate(ctx context.Context, caller call.Caller, in byID) (wire.Acknowledged, error) {
	return wire.Acknowledged{OK: true}, a.store.DeleteTemplate(ctx, caller.Account.ID, in.ID)
}

func (a *API) discard(ctx context.Context, caller call.Caller, in templateRef) (templateRecord, error) {
	expected, err := in.revision()
	if err != nil {
		return templateRecord{}, err
	}
	return showTemplate(a.store.DiscardTemplate(ctx, caller.Account.ID, in.ID, expected))
}

func (a *API) restore(ctx context.Context, caller call.Caller, in templateRestore) (templateRecord, error) {
	expected, err := in.revision()
	if err != nil {
		return templateRecord{}, err
	}
	return showTemplate(a.store.RestoreTemplate(ctx, caller.Account.ID, in.ID, expected, in.Version))
}

func (a *API) duplicate(ctx context.Context, caller call.Caller, in templateCopy) (templateRecord, error) {
	found, err := a.store.Template(ctx, caller.Account.ID, in.ID)
	if err != nil {
		return templateRecord{}, err
	}
	n := store.NewTemplate{
		AccountID: caller.Account.ID, Slug: in.Slug, Name: in.Name, Description: found.Description, Category: found.Category, Content: found.Content,
	}
	if n.Name == "" {
		n.Name = strings.ToValidUTF8(found.Name[:min(len(found.Name), maxName-len(" (copy)"))], "") + " (copy)"
	}
	if n.Slug == "" {
		n.Slug, n.FreeSlug = found.Slug[:min(len(found.Slug), maxSlug-len("-copy"))]+"-copy", true
	}
	made, err := a.store.CreateTemplate(ctx, n)
	return showTemplate(made, slugTaken(err, in.Slug))
}

func (a *API) versions(ctx context.Context, caller call.Caller, in byID) (wire.TemplateVersionList, error) {
	list, err := a.store.TemplateVersions(ctx, caller.Account.ID, in.ID)
	answer := wire.TemplateVersionList{Versions: make([]wire.TemplateVersion, len(list))}
	for i, v := range list {
		answer.Versions[i] = showVersion(v)
	}
	return answer, err
}

func showVersion(v store.TemplateVersion) wire.TemplateVersion {
	return wire.TemplateVersion{Version: v.Version, Comment: v.Comment, PublishedAt: v.PublishedAt.Truncate(time.Millisecond)}
}

func (a *API) getTemplateVersion(ctx context.Context, caller call.Caller, in templateVersionRef) (wire.TemplateVersionContent, error) {
	_, v, err := a.store.TemplateVersion(ctx, caller.Account.ID, in.ID, in.Version)
	return wire.TemplateVersionContent{
		TemplateVersion: showVersion(v), HTML: v.Content.HTML, SampleData: v.Content.SampleData, Options: v.Content.Options, Partials: v.Partials,
	}, err
}

// templateRoutes are those of templates, the first of the paths that begin alike before
// the others.
func (a *API) templateRoutes() []route {
	codes := []apierror.Code{apierror.InvalidRequest, apierror.ProcessingFailed, apierror.ConvertUnavailable}
	return []route{
		plain(a, facts{method: "GET", pattern: "/v1/templates", access: withKey, verb: "list", summary: "List the templates"}, worded(a.listTemplates)),
		plain(a, facts{method: "POST", pattern: "/v1/templates", access: withFullKey, summary: "Make a template", example: `{"name":"Letter","html":"<p>{{name}}</p>","sampleData":{"name":"Ada"}}`, status: http.StatusCreated, body: maxTemplateBody}, worded(a.createTemplate)),
		plain(a, facts{method: "POST", pattern: "/v1/templates/validate", access: withKey, summary: "Say what is wrong with a template, and what it uses", example: `{"html":"<p>{{name}}</p>","sampleData":{"name":"Ada"}}`, body: maxTemplateBody, codes: codes}, a.validate),
		plain(a, facts{method: "GET", pattern: "/v1/templates/partials", access: withKey, verb: "list", summary: "List the partials"}, a.partials),
		plain(a, facts{method: "GET", pattern: "/v1/templates/partials/{name}", access: withKey, summary: "Show a partial"}, a.partial),
		plain(a, facts{method: "PUT", pattern: "/v1/templates/partials/{name}", access: withFullKey, summary: "Make or replace a partial", example: `{"html":"<b>Foot</b>"}`, body: maxTemplateBody, codes: codes}, worded(a.putPartial)),
		plain(a, facts{method: "DELETE", pattern: "/v1/templates/partials/{name}", access: withFullKey, summary: "Delete a partial"}, a.removePartial),
		plain(a, facts{method: "GET", pattern: "/v1/templates/{id}", access: withKey, summary: "Show a template", headers: []string{"ETag"}}, a.getTemplate),
		plain(a, facts{method: "PATCH", pattern: "/v1/templates/{id}", access: withFullKey, summary: "Change a template's draft", example: `{"html":"<p>Dear {{name}}</p>"}`, body: maxTemplateBody, headers: []string{"ETag"}, codes: []apierror.Code{apierror.PreconditionFailed}}, worded(a.updateTemplate)),
		plain(a, facts{method: "DELETE", pattern: "/v1/templates/{id}", access: withFullKey, summary: "Delete a template"}, a.deleteTemplate),
		plain(a, facts{method: "POST", pattern: "/v1/templates/{id}/publish", access: withFullKey, summary: "Publish the draft as the next version", example: `{"comment":"first"}`, headers: []string{"ETag"}, codes: append(codes, apierror.PreconditionFailed)}, worded(a.publish)),
		plain(a, facts{method: "POST", pattern: "/v1/templates/{id}/discard", access: withFullKey, summary: "Drop the draft", headers: []string{"ETag"}, codes: []apierror.Code{apierror.InvalidRequest, apierror.PreconditionFailed}}, worded(a.discard)),
		plain(a, facts{method: "POST", pattern: "/v1/templates/{id}/duplicate", access: withFullKey, summary: "Make a copy of a template", example: `{"name":"Another"}`, status: http.StatusCreated}, worded(a.duplicate)),
		plain(a, facts{method: "POST", pattern: "/v1/templates/{id}/restore", access: withFullKey, summary: "Copy a version into the draft", example: `{"version":1}`, headers: []string{"ETag"}, codes: []apierror.Code{apierror.PreconditionFailed}}, worded(a.restore)),
		plain(a, facts{method: "POST", pattern: "/v1/templates/{id}/sessions", verb: "create", access: withFullKey, summary: "Make a link to the editor of a template, for a frame of another site", example: `{"capabilities":["edit","preview"],"origin":"https://app.example.com"}`, status: http.StatusCreated}, a.createSession),
		plain(a, facts{method: "GET", pattern: "/v1/templates/{id}/versions", access: withKey, verb: "list", summary: "List the published versions"}, a.versions),
		plain(a, facts{method: "GET", pattern: "/v1/templates/{id}/versions/{version}", access: withKey, summary: "Show a published version"}, a.getTemplateVersion),
	}
}

// worded words what the store refuses.
func worded[In, Out any](run func(context.Context, call.Caller, In) (Out, error)) func(context.Context, call.Caller, In) (Out, error) {
	return func(ctx context.Context, caller call.Caller, in In) (Out, error) {
		out, err := run(ctx, caller, in)
		return out, templateFailure(err)
	}
}
