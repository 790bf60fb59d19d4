package api

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"relaypdf/api/apierror"
	"relaypdf/api/middleware"
	"relaypdf/api/operation"
	"relaypdf/api/schema"
	"relaypdf/api/wire"
)

// routes lists all routes of the API, on one screen.
func (a *API) routes() []route {
	account, money, work, stored := a, a, a, a
	hooks, sent, state := a, a, a
	layouts := a
	invalid := []apierror.Code{apierror.InvalidRequest}
	routes := []route{
		jsonRoute(a, routeSpec{method: "GET", pattern: "/health", access: public, summary: "Tell that the process runs"}, state.getHealth),
		jsonRoute(a, routeSpec{method: "GET", pattern: "/health/ready", access: public, summary: "Tell whether work is accepted", refused: http.StatusServiceUnavailable}, state.ready),
		jsonRoute(a, routeSpec{method: "GET", pattern: "/openapi.json", access: public, summary: "Describe this interface", content: "application/json"}, a.openAPI),
		jsonRoute(a, routeSpec{method: "GET", pattern: "/v1/templates/gallery", access: public, summary: "List the layouts that templates may start from", codes: invalid}, layouts.listGallery),
		jsonRoute(a, routeSpec{method: "GET", pattern: "/gallery/{name}", access: public, summary: "Show a layout of the gallery", content: "image/webp"}, layouts.thumbnail),
		jsonRoute(a, routeSpec{method: "GET", pattern: "/v1/account", access: withKey, summary: "Show the account and its wallet"}, account.getAccount),
		jsonRoute(a, routeSpec{method: "GET", pattern: "/v1/billing/prices", access: public, summary: "List the prices"}, money.pricesOf),
		jsonRoute(a, routeSpec{method: "GET", pattern: "/v1/billing/usage", access: withFullKey, summary: "Sum up calls and spending"}, money.usage),
		jsonRoute(a, routeSpec{method: "GET", pattern: "/v1/billing/limits", access: withKey, summary: "Show the spending limits"}, money.limits),
		jsonRoute(a, routeSpec{method: "PATCH", pattern: "/v1/billing/limits", access: withFullKey, summary: "Change the spending limits", example: `{"maxDayMicrodollars":4000000}`}, money.setLimits),
		jsonRoute(a, routeSpec{method: "GET", pattern: "/v1/jobs", access: withKey, summary: "List the jobs", verb: "list"}, work.listJobs),
		jsonRoute(a, routeSpec{method: "GET", pattern: "/v1/jobs/{id}", access: withKey, summary: "Show what has become of a job"}, work.getJob),
		jsonRoute(a, routeSpec{method: "GET", pattern: "/v1/files", access: withKey, summary: "List uploads and results", verb: "list"}, stored.listFiles),
		jsonRoute(a, routeSpec{
			method: "POST", pattern: "/v1/files", access: withKey, summary: "Upload a file", verb: "upload", status: http.StatusCreated, upload: uploadBodies(),
			codes: []apierror.Code{apierror.InvalidRequest, apierror.PayloadTooLarge, apierror.StorageUnavailable},
		}, stored.createFile),
		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/files/{id}", access: public, takesKey: true, summary: "Download a result, or with a key an upload of its account", content: "application/octet-stream",
			headers: []string{wire.ResultIDHeader, wire.SizeHeader, "Content-Disposition", "ETag"},
			others: map[int]string{
				http.StatusPartialContent:               "The part of the file that the Range header names.",
				http.StatusTemporaryRedirect:            "The file is at the URL in Location, which works for 1 minute.",
				http.StatusNotModified:                  "The content has not changed since the ETag in If-None-Match.",
				http.StatusRequestedRangeNotSatisfiable: "The file has no bytes in the range that the Range header names.",
			},
			codes: []apierror.Code{apierror.RateLimited, apierror.StorageUnavailable},
		}, stored.getFile),
		jsonRoute(a, routeSpec{method: "DELETE", pattern: "/v1/files/{id}", access: withKey, summary: "Delete an upload or a result"}, stored.deleteFile),
		jsonRoute(a, routeSpec{method: "GET", pattern: "/v1/fonts", access: withKey, summary: "List the typefaces that documents find", verb: "list", codes: []apierror.Code{apierror.ConvertUnavailable}}, a.listFonts),
		jsonRoute(a, routeSpec{method: "GET", pattern: "/v1/webhooks", access: withKey, summary: "List the webhook endpoints", verb: "list"}, hooks.listWebhooks),
		jsonRoute(a, routeSpec{
			method: "POST", pattern: "/v1/webhooks", access: withFullKey, summary: "Make a webhook endpoint", status: http.StatusCreated,
			example: `{"url":"https://example.com/in","events":["job.failed"]}`, codes: []apierror.Code{apierror.URLNotAllowed},
		}, hooks.createWebhook),
		jsonRoute(a, routeSpec{method: "GET", pattern: "/v1/webhooks/deliveries", access: withFullKey, summary: "List the latest deliveries", verb: "list"}, sent.listDeliveries),
		jsonRoute(a, routeSpec{method: "GET", pattern: "/v1/webhooks/deliveries/{id}", access: withFullKey, summary: "Show a delivery with what is sent"}, sent.getDelivery),
		jsonRoute(a, routeSpec{method: "POST", pattern: "/v1/webhooks/deliveries/{id}/replay", access: withFullKey, summary: "Send a failed delivery again", codes: invalid}, sent.replay),
		jsonRoute(a, routeSpec{method: "PATCH", pattern: "/v1/webhooks/{id}", access: withFullKey, summary: "Change a webhook endpoint", example: `{"enabled":true}`, codes: []apierror.Code{apierror.URLNotAllowed}}, hooks.updateWebhook),
		jsonRoute(a, routeSpec{method: "DELETE", pattern: "/v1/webhooks/{id}", access: withFullKey, summary: "Delete a webhook endpoint"}, hooks.deleteWebhook),
		jsonRoute(a, routeSpec{method: "POST", pattern: "/v1/webhooks/{id}/test", access: withFullKey, summary: "Send a test event to an endpoint", codes: invalid}, hooks.test),
		jsonRoute(a, routeSpec{method: "POST", pattern: "/v1/webhooks/{id}/roll", access: withFullKey, summary: "Give an endpoint a new secret"}, hooks.roll),
		jsonRoute(a, routeSpec{method: "POST", pattern: "/v1/webhooks/{id}/activate", access: withFullKey, summary: "Put an endpoint's new secret into use"}, hooks.activate),
	}
	routes = append(routes, agentRoute(a))
	routes = append(routes, a.templateRoutes()...)
	for _, operation := range a.table.All() {
		routes = append(routes, route{
			routeSpec: routeSpec{method: "POST", pattern: operation.Path(), access: withKey, summary: operation.Summary},
			handle:    a.postOperation(operation), operation: operation,
		})
	}
	return routes
}

// Handler serves the API. It must be wrapped by the middleware that sets the IDs and addresses of requests.
func (a *API) Handler() http.Handler { return a.handler }

// router creates the handler of the API.
func (a *API) router() *chi.Mux {
	r := chi.NewRouter()
	for _, route := range a.routes() {
		if route.access == withToken {
			continue // see below
		}
		if !strings.Contains(route.pattern, "{") {
			a.paths = append(a.paths, route.pattern)
		}
		handle := route.handle
		if route.access == withFullKey {
			handle = unrestricted(handle)
		}
		if route.access != public && route.operation == nil {
			if route.method == http.MethodPost {
				handle = a.limited(handle)
			} else {
				handle = a.limitedReads(handle)
			}
			handle = a.authenticated(handle)
		}
		if route.pattern == "/v1/files/{id}" && route.access == public {
			handle = a.limitDownloads(handle)
		}
		if route.access == public {
			handle = crossOrigin(handle)
		}
		r.Method(route.method, route.pattern, a.serve(handle))
		if route.method == http.MethodGet {
			r.Method(http.MethodHead, route.pattern, a.serve(handle))
		}
		if route.method == http.MethodGet && route.access == public {
			r.Method(http.MethodOptions, route.pattern, preflight("GET, HEAD", "Content-Type, Range"))
		}
	}
	if a.agents != nil {
		r.Method(http.MethodPost, AgentPath, a.serve(agentRoute(a).handle))
		r.Method(http.MethodOptions, AgentPath, preflight("POST", agentHeaders))
	}
	r.NotFound(a.serveNotFound(apierror.NotFound))
	r.MethodNotAllowed(a.serveNotFound(apierror.MethodNotAllowed))
	return r
}

// Routes lists the API as text: method, path, access, summary.
func (a *API) Routes() []RouteLine {
	var lines []RouteLine
	for _, route := range a.routes() {
		lines = append(lines, RouteLine{route.method, route.pattern, string(route.access), route.summary})
	}
	return lines
}

// Routes lists the API of the operation table as text, without a store or a browser. The error is one of the
// table's.
func Routes() ([]RouteLine, error) {
	table, err := schema.NewTable(operation.Rows)
	if err != nil {
		return nil, err
	}
	return (&API{table: table}).Routes(), nil
}

// RouteLine is one route as `relaypdf routes` prints it.
type RouteLine struct{ Method, Path, Access, Summary string }

// serve makes a handler of a function that returns its error.
func (a *API) serve(handle func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if route := chi.RouteContext(r.Context()); route != nil && route.RoutePattern() != "" {
			middleware.SetRoute(w, route.RoutePattern())
		}
		if err := handle(w, r); err != nil {
			a.Fail(w, r, err)
		}
	}
}

// crossOrigin lets pages of any origin read the responses of a public route.
func crossOrigin(handle func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Expose-Headers", "*")
		return handle(w, r)
	}
}

// preflight answers a browser that asks before a cross-origin request.
func preflight(methods, headers string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Allow-Methods", methods)
		h.Set("Access-Control-Allow-Headers", headers)
		h.Set("Access-Control-Max-Age", "86400")
		w.WriteHeader(http.StatusNoContent)
	}
}
