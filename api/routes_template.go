package api

import (
	"net/http"

	"relaypdf/api/apierror"
)

// maxTemplateBody limits a request that holds a template with its sample data, in which every character may be
// escaped.
const maxTemplateBody = 80 << 20

// templateRoutes returns the routes of templates. Of paths with the same prefix, the more specific ones come first.
func (a *API) templateRoutes() []route {
	s := a.Templates
	codes := []apierror.Code{apierror.InvalidRequest, apierror.ProcessingFailed, apierror.ConvertUnavailable}
	return []route{
		jsonRoute(a, routeSpec{method: "GET", pattern: "/v1/templates", access: withKey, verb: "list", summary: "List the templates"}, s.List),
		jsonRoute(a, routeSpec{method: "POST", pattern: "/v1/templates", access: withFullKey, summary: "Make a template", example: `{"name":"Letter","html":"<p>{{name}}</p>","sampleData":{"name":"Ada"}}`, status: http.StatusCreated, body: maxTemplateBody}, s.Create),
		jsonRoute(a, routeSpec{method: "POST", pattern: "/v1/templates/validate", access: withKey, summary: "Say what is wrong with a template, and what it uses", example: `{"html":"<p>{{name}}</p>","sampleData":{"name":"Ada"}}`, body: maxTemplateBody, codes: codes}, s.Validate),
		jsonRoute(a, routeSpec{method: "GET", pattern: "/v1/templates/partials", access: withKey, verb: "list", summary: "List the partials"}, s.Partials),
		jsonRoute(a, routeSpec{method: "GET", pattern: "/v1/templates/partials/{name}", access: withKey, summary: "Show a partial"}, s.Partial),
		jsonRoute(a, routeSpec{method: "PUT", pattern: "/v1/templates/partials/{name}", access: withFullKey, summary: "Make or replace a partial", example: `{"html":"<b>Foot</b>"}`, body: maxTemplateBody, codes: codes}, s.PutPartial),
		jsonRoute(a, routeSpec{method: "DELETE", pattern: "/v1/templates/partials/{name}", access: withFullKey, summary: "Delete a partial"}, s.DeletePartial),
		jsonRoute(a, routeSpec{method: "GET", pattern: "/v1/templates/{id}", access: withKey, summary: "Show a template", headers: []string{"ETag"}}, s.Get),
		jsonRoute(a, routeSpec{method: "PATCH", pattern: "/v1/templates/{id}", access: withFullKey, summary: "Change a template's draft", example: `{"html":"<p>Dear {{name}}</p>"}`, body: maxTemplateBody, headers: []string{"ETag"}, codes: []apierror.Code{apierror.PreconditionFailed}}, s.Update),
		jsonRoute(a, routeSpec{method: "DELETE", pattern: "/v1/templates/{id}", access: withFullKey, summary: "Delete a template"}, s.Delete),
		jsonRoute(a, routeSpec{method: "POST", pattern: "/v1/templates/{id}/publish", access: withFullKey, summary: "Publish the draft as the next version", example: `{"comment":"first"}`, headers: []string{"ETag"}, codes: append(codes, apierror.PreconditionFailed)}, s.Publish),
		jsonRoute(a, routeSpec{method: "POST", pattern: "/v1/templates/{id}/discard", access: withFullKey, summary: "Drop the draft", headers: []string{"ETag"}, codes: []apierror.Code{apierror.InvalidRequest, apierror.PreconditionFailed}}, s.Discard),
		jsonRoute(a, routeSpec{method: "POST", pattern: "/v1/templates/{id}/duplicate", access: withFullKey, summary: "Make a copy of a template", example: `{"name":"Another"}`, status: http.StatusCreated}, s.Duplicate),
		jsonRoute(a, routeSpec{method: "POST", pattern: "/v1/templates/{id}/restore", access: withFullKey, summary: "Copy a version into the draft", example: `{"version":1}`, headers: []string{"ETag"}, codes: []apierror.Code{apierror.PreconditionFailed}}, s.Restore),
		jsonRoute(a, routeSpec{method: "POST", pattern: "/v1/templates/{id}/sessions", verb: "create", access: withFullKey, summary: "Make a link to the editor of a template, for a frame of another site", example: `{"capabilities":["edit","preview"],"origin":"https://app.example.com"}`, status: http.StatusCreated}, a.createSession),
		jsonRoute(a, routeSpec{method: "GET", pattern: "/v1/templates/{id}/versions", access: withKey, verb: "list", summary: "List the published versions"}, s.Versions),
		jsonRoute(a, routeSpec{method: "GET", pattern: "/v1/templates/{id}/versions/{version}", access: withKey, summary: "Show a published version"}, s.Version),
	}
}
