package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"relaypdf/api/wire"
)

type (
	// Template is a template of the account, with its draft where it has one.
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

// TemplateChange is what a new template has, or what changes. What is empty is left out.
type TemplateChange struct {
	Name       string          `json:"name,omitempty"`
	Slug       string          `json:"slug,omitempty"`
	HTML       string          `json:"html,omitempty"`
	SampleData json.RawMessage `json:"sampleData,omitempty"`
	Options    json.RawMessage `json:"options,omitempty"`
}

// Templates lists the account's templates, without their source.
func (c *Client) Templates(ctx context.Context, page Page) (TemplateList, error) {
	return get[TemplateList](ctx, c, "/v1/templates?"+page.query())
}

// Template returns a template by its id or slug.
func (c *Client) Template(ctx context.Context, id string) (TemplateState, error) {
	return c.template(ctx, message{method: http.MethodGet, path: templatePath(id)})
}

// CreateTemplate makes a template.
func (c *Client) CreateTemplate(ctx context.Context, n TemplateChange) (TemplateState, error) {
	return c.changeTemplate(ctx, http.MethodPost, "/v1/templates", "", n)
}

// UpdateTemplate changes a template's draft. With an ETag it is refused with
// PreconditionFailed where the template has changed since it had that.
func (c *Client) UpdateTemplate(ctx context.Context, id, etag string, change TemplateChange) (TemplateState, error) {
	return c.changeTemplate(ctx, http.MethodPatch, templatePath(id), etag, change)
}

// PublishTemplate makes the draft the next version. An ETag does what it does in
// UpdateTemplate.
func (c *Client) PublishTemplate(ctx context.Context, id, etag, comment string) (TemplateState, error) {
	return c.changeTemplate(ctx, http.MethodPost, templatePath(id)+"/publish", etag, map[string]string{"comment": comment})
}

// Partials lists the account's partials.
func (c *Client) Partials(ctx context.Context) ([]Partial, error) {
	list, err := get[wire.PartialList](ctx, c, "/v1/templates/partials")
	return list.Partials, err
}

// PutPartial makes or replaces a partial.
func (c *Client) PutPartial(ctx context.Context, name, html string) (Partial, error) {
	body, err := inputJSON(map[string]string{"html": html})
	if err != nil {
		return Partial{}, err
	}
	return ask[Partial](ctx, c, jsonRequest(http.MethodPut, "/v1/templates/partials/"+url.PathEscape(name), body))
}

func templatePath(id string) string { return "/v1/templates/" + url.PathEscape(id) }

func (c *Client) changeTemplate(ctx context.Context, method, path, etag string, change any) (TemplateState, error) {
	body, err := inputJSON(change)
	if err != nil {
		return TemplateState{}, err
	}
	request := jsonRequest(method, path, body)
	if etag != "" {
		request.header = http.Header{"If-Match": {etag}}
	}
	return c.template(ctx, request)
}

// template sends a request whose answer is a template.
func (c *Client) template(ctx context.Context, request message) (state TemplateState, err error) {
	response, err := c.send(ctx, request)
	if err != nil {
		return state, err
	}
	state.ETag = response.Header.Get("ETag")
	return state, readAnswer(response, &state.Template)
}
