package api

import (
	"net/http"

	"github.com/relaypdf/relaypdf/api/wire"
)

// maxTemplateBody limits a request that holds a template with its sample data, in which every character may be
// escaped.
const maxTemplateBody = 80 << 20

// templateRoutes returns the routes of templates. Of paths with the same prefix, the more specific ones come first.
func (a *API) templateRoutes() []route {
	s := a.Templates
	codes := []wire.Code{wire.InvalidRequest, wire.ProcessingFailed, wire.ConvertUnavailable}
	return []route{
		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/templates", access: withKey, verb: "list", summary: "List templates",
			about: "Lists templates without html, newest first. For html, use GET /v1/templates/{id}.",
		}, s.List),
		jsonRoute(a, routeSpec{
			method: "POST", pattern: "/v1/templates", access: withFullKey, summary: "Create a template",
			about:   "Stores a draft, from html or from a gallery layout. POST /v1/pdf accepts the template after POST /v1/templates/{id}/publish.",
			example: `{"name":"Letter","html":"<p>{{name}}</p>","sampleData":{"name":"Ada"}}`,
			status:  http.StatusCreated, body: maxTemplateBody,
		}, s.Create),
		jsonRoute(a, routeSpec{
			method: "POST", pattern: "/v1/templates/validate", access: withKey, summary: "Validate a template",
			about: "Reports errors with line and column, the data paths used, and those that sampleData lacks. " +
				"Stores nothing. To see pages, use POST /v1/templates/preview.",
			example: `{"html":"<p>{{name}}</p>","sampleData":{"name":"Ada"}}`, body: maxTemplateBody, codes: codes,
		}, s.Validate),

		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/templates/partials", access: withKey, verb: "list",
			summary: "List partials", about: "Lists the partials of the account by name.",
		}, s.Partials),
		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/templates/partials/{name}", access: withKey, summary: "Get a partial",
			about: "Returns the HTML source of a partial.",
		}, s.Partial),
		jsonRoute(a, routeSpec{
			method: "PUT", pattern: "/v1/templates/partials/{name}", access: withFullKey,
			summary: "Create or replace a partial",
			about:   "Drafts use the new source at once. Published versions keep the partials of their publication.",
			example: `{"html":"<b>Foot</b>"}`, body: maxTemplateBody, codes: codes,
		}, s.PutPartial),
		jsonRoute(a, routeSpec{
			method: "DELETE", pattern: "/v1/templates/partials/{name}", access: withFullKey,
			summary: "Delete a partial", about: "Published versions keep their copy.",
		}, s.DeletePartial),

		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/templates/{id}", access: withKey, summary: "Get a template",
			about: "Returns the draft, or without a draft the published version. The ETag is for If-Match in " +
				"changes. For an older version, use GET /v1/templates/{id}/versions/{version}.",
			headers: []string{"ETag"},
		}, s.Get),
		jsonRoute(a, routeSpec{
			method: "PATCH", pattern: "/v1/templates/{id}", access: withFullKey,
			summary: "Update the draft of a template",
			about:   "Changes the fields that are sent. Documents use the change after POST /v1/templates/{id}/publish.",
			example: `{"html":"<p>Dear {{name}}</p>"}`, body: maxTemplateBody, headers: []string{"ETag"},
			codes: []wire.Code{wire.PreconditionFailed},
		}, s.Update),
		jsonRoute(a, routeSpec{
			method: "DELETE", pattern: "/v1/templates/{id}", access: withFullKey, summary: "Delete a template",
			about: "Deletes the template with all its versions, for good. Finished documents stay.",
		}, s.Delete),

		jsonRoute(a, routeSpec{
			method: "POST", pattern: "/v1/templates/{id}/publish", access: withFullKey, summary: "Publish the draft",
			about:   "Validates the draft and stores it, with its partials, as the next version. POST /v1/pdf uses it from then on.",
			example: `{"comment":"first"}`, headers: []string{"ETag"}, codes: append(codes, wire.PreconditionFailed),
		}, s.Publish),
		jsonRoute(a, routeSpec{
			method: "POST", pattern: "/v1/templates/{id}/discard", access: withFullKey, summary: "Discard the draft",
			about:   "Returns to the published version. A template that was never published cannot be discarded: delete it.",
			headers: []string{"ETag"}, codes: []wire.Code{wire.InvalidRequest, wire.PreconditionFailed},
		}, s.Discard),
		jsonRoute(a, routeSpec{
			method: "POST", pattern: "/v1/templates/{id}/duplicate", access: withFullKey,
			summary: "Duplicate a template", about: "Creates a template with the same draft and no versions.",
			example: `{"name":"Another"}`, status: http.StatusCreated,
		}, s.Duplicate),
		jsonRoute(a, routeSpec{
			method: "POST", pattern: "/v1/templates/{id}/restore", access: withFullKey,
			summary: "Restore a version as the draft",
			about:   "Copies a published version over the draft. Publish the draft to use it in documents.",
			example: `{"version":1}`, headers: []string{"ETag"}, codes: []wire.Code{wire.PreconditionFailed},
		}, s.Restore),

		jsonRoute(a, routeSpec{
			method: "POST", pattern: "/v1/templates/{id}/sessions", verb: "create", access: withFullKey,
			summary: "Create an editor link",
			about:   "Returns a URL for an iframe of your site, with which your users edit this template without an account.",
			example: `{"capabilities":["edit","preview"],"origin":"https://app.example.com"}`,
			status:  http.StatusCreated,
		}, a.createSession),
		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/templates/{id}/versions", access: withKey, verb: "list",
			summary: "List published versions", about: "Lists versions without html, newest first.",
		}, s.Versions),
		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/templates/{id}/versions/{version}", access: withKey,
			summary: "Get a published version",
			about:   "Returns the html, options, sample data and partials of a version. To edit it, use POST /v1/templates/{id}/restore.",
		}, s.Version),
	}
}
