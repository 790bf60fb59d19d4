package api

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
)

// healthRoutes lists the routes of the server's state.
func (a *API) healthRoutes() []route {
	return []route{
		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/health", access: public, summary: "Check that the server runs",
			about: "Liveness: checks no dependencies, and keeps succeeding if they fail. For readiness, use GET /health/ready.",
		}, a.getHealth),
		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/health/ready", access: public, summary: "Check that the server accepts work",
			about: "Readiness: checks the database, the browser, the queues, the engines and file storage. " +
				"Returns 503 with the same body while the server accepts no work.",
			refused: http.StatusServiceUnavailable,
		}, a.ready),
	}
}

// routes lists all routes of the API, on one screen.
func (a *API) routes() []route {
	invalid := []wire.Code{wire.InvalidRequest}
	routes := append(a.healthRoutes(), []route{
		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/openapi.json", access: public, summary: "Get this OpenAPI document",
			about:   "Describes every endpoint of this server, with its prices. The response has an ETag.",
			content: "application/json",
		}, a.openAPI),

		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/templates/gallery", access: public, summary: "List the gallery layouts",
			about: "Lists ready-made layouts. POST /v1/templates starts a template from one with fromGallery.",
			codes: invalid,
		}, a.listGallery),

		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/gallery/{name}", access: public, summary: "Get the image of a gallery layout",
			about:   "Returns a WebP image. GET /v1/templates/gallery lists the names; caches can store the image forever.",
			content: "image/webp",
		}, a.thumbnail),

		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/account", access: withKey, summary: "Get the account and its wallet",
			about: "Returns the plan, the rate limit tier and the balance. For spending by operation and day, use GET /v1/billing/usage.",
		}, a.getAccount),

		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/billing/prices", access: public, summary: "List the prices",
			about: "Lists the price of one successful call of each operation on this server.",
		}, a.pricesOf),
		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/billing/usage", access: withFullKey, summary: "Get usage and spending",
			about: "Sums up successful calls by operation and by day, for at most 366 days. For the balance alone, use GET /v1/account.",
		}, a.usage),
		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/billing/limits", access: withKey, summary: "Get the spending limits",
			about: "Returns the maximum cost of one call and of one UTC day.",
		}, a.limits),
		jsonRoute(a, routeSpec{
			method: "PATCH", pattern: "/v1/billing/limits", access: withFullKey,
			summary: "Update the spending limits",
			about:   "Changes the fields that are sent; null removes a limit. A call above a limit fails with payment_required before it starts.",
			example: `{"maxDayMicrodollars":4000000}`,
		}, a.setLimits),

		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/jobs", access: withKey, summary: "List jobs",
			about: "Lists calls with response async, newest first. For one job, use GET /v1/jobs/{id}.",
			verb:  "list",
		}, a.listJobs),
		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/jobs/{id}", access: withKey, summary: "Get a job",
			about: "Returns the status of the job, and its result or its error. Poll at the interval in " +
				"Retry-After, or use callbackUrl or a webhook endpoint instead.",
		}, a.getJob),
		jsonRoute(a, routeSpec{
			method: "DELETE", pattern: "/v1/jobs/{id}", access: withKey, summary: "Cancel a job",
			about: "Cancels a job that has not ended. The result of a cancelled bulk job has the documents made so " +
				"far, and they are charged. Any other job fails with canceled and costs nothing.",
		}, a.cancelJob),

		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/files", access: withKey, summary: "List uploads and results",
			about: "Lists the files of the account that have not expired, newest first.", verb: "list",
		}, a.listFiles),
		jsonRoute(a, routeSpec{
			method: "POST", pattern: "/v1/files", access: withKey, summary: "Upload a file",
			about: "Stores one file for 24 hours. Operations accept its ID as fileId, so several calls can use one " +
				"upload. For a single call, send the file in that call.", verb: "upload", status: http.StatusCreated,
			upload: uploadBodies(),
			codes:  []wire.Code{wire.InvalidRequest, wire.PayloadTooLarge, wire.StorageUnavailable},
		}, a.createFile),
		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/files/{id}", access: public, perAddress: true, takesKey: true,
			summary: "Download a file",
			about: "Returns a result to anyone with its ID, and an upload only with a key of its account. " +
				"Supports Range and If-None-Match. For results with maxDownloads, each GET without a key of the " +
				"account sends the whole file and counts as a download. After the last download, the response is 404.",
			content: "application/octet-stream",
			headers: []string{wire.ResultIDHeader, wire.SizeHeader, "Content-Disposition", "ETag"},
			others: map[int]string{
				http.StatusPartialContent:               "The part of the file that the Range header names.",
				http.StatusTemporaryRedirect:            "The file is at the URL in Location, which works for 1 minute.",
				http.StatusNotModified:                  "The content has not changed since the ETag in If-None-Match.",
				http.StatusRequestedRangeNotSatisfiable: "The file has no bytes in the range that the Range header names.",
			},
			codes: []wire.Code{wire.RateLimited, wire.StorageUnavailable},
		}, a.getFile),
		jsonRoute(a, routeSpec{
			method: "DELETE", pattern: "/v1/files/{id}", access: withKey, summary: "Delete an upload or a result",
			about: "Deletes the file at once, before it expires.",
		}, a.deleteFile),

		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/fonts", access: withKey, summary: "List the available fonts",
			about: "Lists the font families installed on this server. Documents can also load web fonts.",
			verb:  "list", codes: []wire.Code{wire.ConvertUnavailable},
		}, a.listFonts),

		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/webhooks", access: withKey, summary: "List webhook endpoints",
			about: "Lists the endpoints of the account, without their secrets.", verb: "list",
		}, a.listWebhooks),
		jsonRoute(a, routeSpec{
			method: "POST", pattern: "/v1/webhooks", access: withFullKey, summary: "Create a webhook endpoint",
			about: "Returns the signing secret once. An account has at most 25 endpoints. For the end of one call, " +
				"use callbackUrl instead.", status: http.StatusCreated,
			example: `{"url":"https://example.com/in","events":["job.failed"]}`, codes: []wire.Code{wire.URLNotAllowed},
		}, a.createWebhook),
		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/webhooks/deliveries", access: withFullKey,
			summary: "List webhook deliveries",
			about:   "Lists deliveries, newest first, with their attempts. For the content of one delivery, use GET /v1/webhooks/deliveries/{id}.",
			verb:    "list",
		}, a.listDeliveries),
		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/webhooks/deliveries/{id}", access: withFullKey,
			summary: "Get a webhook delivery",
			about:   "Returns the delivery, its attempts and the content of the event.",
		}, a.getDelivery),
		jsonRoute(a, routeSpec{
			method: "POST", pattern: "/v1/webhooks/deliveries/{id}/replay", access: withFullKey,
			summary: "Send a failed delivery again",
			about:   "Queues the event with its ID unchanged. Only failed deliveries can be sent again.",
			codes:   invalid,
		}, a.replay),
		jsonRoute(a, routeSpec{
			method: "PATCH", pattern: "/v1/webhooks/{id}", access: withFullKey, summary: "Update a webhook endpoint",
			about:   "Changes the fields that are sent. Disabling an endpoint cancels its pending deliveries.",
			example: `{"enabled":true}`, codes: []wire.Code{wire.URLNotAllowed},
		}, a.updateWebhook),
		jsonRoute(a, routeSpec{
			method: "DELETE", pattern: "/v1/webhooks/{id}", access: withFullKey,
			summary: "Delete a webhook endpoint",
			about:   "Stops all deliveries to the endpoint. To pause them, send enabled: false to PATCH /v1/webhooks/{id}.",
		}, a.deleteWebhook),
		jsonRoute(a, routeSpec{
			method: "POST", pattern: "/v1/webhooks/{id}/test", access: withFullKey,
			summary: "Send a test event to an endpoint",
			about:   "Queues a signed test event. GET /v1/webhooks/deliveries shows the outcome.", codes: invalid,
		}, a.test),
		jsonRoute(a, routeSpec{
			method: "POST", pattern: "/v1/webhooks/{id}/roll", access: withFullKey,
			summary: "Rotate the signing secret",
			about:   "Returns a new secret once. relaypdf also signs with the previous secret for 24 hours, or until POST /v1/webhooks/{id}/activate.",
		}, a.roll),
		jsonRoute(a, routeSpec{
			method: "POST", pattern: "/v1/webhooks/{id}/activate", access: withFullKey,
			summary: "Activate the new signing secret",
			about:   "Ends the use of the previous secret. Call it when your receiver verifies with the new one.",
		}, a.activate),

		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/connections", access: withKey, summary: "List connections",
			about: "Lists the connections of the account, without their secrets.", verb: "list",
		}, a.listConnections),
		jsonRoute(a, routeSpec{
			method: "POST", pattern: "/v1/connections", access: withFullKey, summary: "Create a connection",
			about: "Stores a bucket or an SFTP server for deliverTo. Nothing is sent to it: POST " +
				"/v1/connections/{id}/test checks it. An account has at most 20 connections.",
			status:  http.StatusCreated,
			example: `{"name":"archive","s3":{"region":"eu-central-1","bucket":"invoices","accessKeyId":"AKIA…","secretAccessKey":"…"}}`,
			codes:   []wire.Code{wire.URLNotAllowed},
		}, a.createConnection),
		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/connections/{id}", access: withKey, summary: "Get a connection",
			about: "Returns the connection without its secret.",
		}, a.getConnection),
		jsonRoute(a, routeSpec{
			method: "PATCH", pattern: "/v1/connections/{id}", access: withFullKey, summary: "Update a connection",
			about: "Changes the members that are sent; s3 or sftp replaces all settings. An absent secret stays " +
				"unchanged unless the endpoint, host, port or host key changes.",
			example: `{"name":"archive 2"}`, codes: []wire.Code{wire.URLNotAllowed},
		}, a.updateConnection),
		jsonRoute(a, routeSpec{
			method: "DELETE", pattern: "/v1/connections/{id}", access: withFullKey, summary: "Delete a connection",
			about: "Deletes the connection and its secret. Waiting jobs that deliver to it fail and are not charged.",
		}, a.deleteConnection),
		jsonRoute(a, routeSpec{
			method: "POST", pattern: "/v1/connections/{id}/test", access: withFullKey, summary: "Test a connection",
			about: "Writes a small file and deletes it. The result names the step that failed. The first " +
				"successful test stores the host key of an SFTP server.",
		}, a.testConnection),

		jsonRoute(a, routeSpec{
			method: "GET", pattern: "/v1/signing-identities", access: withKey, summary: "List signing identities",
			about: "Lists the stored keys of the account with their certificates. Requires a key with the scope sign.",
			verb:  "list",
		}, a.listSigningIdentities),
		jsonRoute(a, routeSpec{
			method: "POST", pattern: "/v1/signing-identities", access: withFullKey,
			summary: "Create a signing identity",
			about: "Stores a private key with its certificate for pdf.sign. Requires a key with the scope sign. " +
				"An account has at most 20 signing identities.", status: http.StatusCreated,
			example: operation.ExampleIdentity("contracts"), codes: invalid,
		}, a.createSigningIdentity),
		jsonRoute(a, routeSpec{
			method: "DELETE", pattern: "/v1/signing-identities/{id}", access: withFullKey,
			summary: "Delete a signing identity",
			about: "Deletes the key. Waiting jobs that sign with it fail and are not charged. Signatures made " +
				"with it stay valid. Requires a key with the scope sign.",
		}, a.deleteSigningIdentity),
	}...)
	routes = append(routes, agentRoute())
	routes = append(routes, a.templateRoutes()...)
	for _, operation := range a.Table.All() {
		routes = append(routes, route{
			routeSpec: routeSpec{
				method: "POST", pattern: operation.Path(), access: withKey, summary: operation.Summary,
			},
			handle: a.postOperation(operation), operation: operation,
		})
	}
	return routes
}

// Handler serves the API. It must be wrapped by the middleware that sets the IDs and addresses of requests.
func (a *API) Handler() http.Handler { return a.handler }

// router creates the handler of the API.
func (a *API) router(routes []route) *chi.Mux {
	r := chi.NewRouter()
	for _, route := range routes {
		if route.access == withToken {
			continue // see MountAgents
		}
		if !strings.Contains(route.pattern, "{") {
			a.paths = append(a.paths, route.pattern)
		}

		handle := route.handle
		if route.access == withFullKey {
			handle = requireFullKey(handle)
		}

		if route.access != public && route.operation == nil {
			if route.method == http.MethodPost {
				handle = a.rateLimit(handle)
			} else {
				handle = a.rateLimitReads(handle)
			}
			handle = a.requireAuth(handle)
		}

		if route.perAddress {
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

	r.NotFound(a.serveNotFound(wire.NotFound))
	r.MethodNotAllowed(a.serveNotFound(wire.MethodNotAllowed))
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
	return (&API{Services: &service.Services{Table: table}}).Routes(), nil
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
