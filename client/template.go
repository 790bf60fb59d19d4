package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/relaypdf/relaypdf/api/wire"
)

type (
	// Template is a template of the account, with its draft if it has one.
	Template = wire.Template
	// TemplateList is a page of templates.
	TemplateList = wire.TemplateList
	// Partial is a piece of source that templates may name.
	Partial = wire.Partial
)

// TemplateState is a template as it was read or left.
type TemplateState struct {
	Template

	// ETag names this state, for a change that is to be refused once there is another.
	ETag string
}

// TemplateChange holds the fields of a new template, or the fields to change. Empty fields are left out.
type TemplateChange struct {
	Name       string          `json:"name,omitempty"`
	Slug       string          `json:"slug,omitempty"`
	HTML       string          `json:"html,omitempty"`
	SampleData json.RawMessage `json:"sampleData,omitempty"`
	Options    json.RawMessage `json:"options,omitempty"`
}

// Templates are the account's, and the partials that they share.
type Templates struct{ client *Client }

// Templates returns the account's templates.
func (c *Client) Templates() Templates { return Templates{c} }

// List lists the templates, without their source.
func (t Templates) List(ctx context.Context, page Page) (TemplateList, error) {
	return get[TemplateList](ctx, t.client, "/v1/templates?"+page.query())
}

// Get returns a template by its id or slug.
func (t Templates) Get(ctx context.Context, id string) (TemplateState, error) {
	return t.state(ctx, message{method: http.MethodGet, path: templatePath(id)})
}

// Create makes a template.
func (t Templates) Create(ctx context.Context, n TemplateChange) (TemplateState, error) {
	return t.change(ctx, http.MethodPost, "/v1/templates", "", n)
}

// Update changes a template's draft. With an ETag, it is refused with PreconditionFailed if the template has
// changed since then.
func (t Templates) Update(ctx context.Context, id, etag string, change TemplateChange) (TemplateState, error) {
	return t.change(ctx, http.MethodPatch, templatePath(id), etag, change)
}

// Publish makes the draft the next version. An ETag has the same effect as in Update.
func (t Templates) Publish(ctx context.Context, id, etag, comment string) (TemplateState, error) {
	return t.change(ctx, http.MethodPost, templatePath(id)+"/publish", etag, map[string]string{"comment": comment})
}

// Partials lists the partials.
func (t Templates) Partials(ctx context.Context) ([]Partial, error) {
	list, err := get[wire.PartialList](ctx, t.client, "/v1/templates/partials")
	return list.Partials, err
}

// PutPartial makes or replaces a partial.
func (t Templates) PutPartial(ctx context.Context, name, html string) (Partial, error) {
	body, err := inputJSON(map[string]string{"html": html})
	if err != nil {
		return Partial{}, err
	}
	return ask[Partial](ctx, t.client,
		jsonRequest(http.MethodPut, "/v1/templates/partials/"+url.PathEscape(name), body))
}

func templatePath(id string) string { return "/v1/templates/" + url.PathEscape(id) }

func (t Templates) change(ctx context.Context, method, path, etag string, change any) (TemplateState, error) {
	body, err := inputJSON(change)
	if err != nil {
		return TemplateState{}, err
	}
	request := jsonRequest(method, path, body)
	if etag != "" {
		request.header = http.Header{"If-Match": {etag}}
	}
	return t.state(ctx, request)
}

// state sends a request whose answer is a template.
func (t Templates) state(ctx context.Context, request message) (state TemplateState, err error) {
	response, err := t.client.send(ctx, request)
	if err != nil {
		return state, err
	}
	state.ETag = response.Header.Get("ETag")
	return state, readAnswer(response, &state.Template)
}
