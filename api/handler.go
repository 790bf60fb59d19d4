package api

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"relaypdf/api/op"
)

// access says who may call a route.
type access string

const (
	public  access = "public"
	withKey access = "key"
	// withFullKey is for what concerns the whole account: a key that may not use
	// all operations may not do that either.
	withFullKey access = "full key"
)

// route is one line of the interface.
type route struct {
	method, pattern string
	access          access
	summary         string
	handle          func(http.ResponseWriter, *http.Request) error
	// answer is an example of the JSON answer's type, nil where it is not JSON.
	answer any
	// operation is set on the routes that the table of operations gives.
	operation *op.Operation[*Env]
}

// routes is the whole interface, on one screen.
func (a *API) routes() []route {
	routes := []route{
		{"GET", "/health", public, "Tell that the process runs", a.getHealth, Health{}, nil},
		{"GET", "/health/ready", public, "Tell whether work is accepted", a.getReady, Readiness{}, nil},
		{"GET", "/openapi.json", public, "Describe this interface", a.getOpenAPI, nil, nil},
		{"GET", "/v1/account", withKey, "Show the account and its wallet", a.getAccount, AccountSnapshot{}, nil},
		{"GET", "/v1/billing/prices", public, "List the prices", a.getPrices, PriceList{}, nil},
		{"GET", "/v1/billing/usage", withKey, "Sum up calls and spending", a.getUsage, Usage{}, nil},
		{"GET", "/v1/billing/limits", withKey, "Show the spending limits", a.getLimits, Limits{}, nil},
		{"PATCH", "/v1/billing/limits", withFullKey, "Change the spending limits", a.patchLimits, Limits{}, nil},
		{"GET", "/v1/jobs/{id}", withKey, "Show what has become of a job", a.getJob, JobStatus{}, nil},
		{"POST", "/v1/files", withKey, "Upload a file", a.postFile, Upload{}, nil},
		{"GET", "/v1/files/{id}", public, "Download a result", a.getFile, nil, nil},
		{"DELETE", "/v1/files/{id}", withKey, "Delete an upload or a result", a.deleteFile, Acknowledged{}, nil},
		{"GET", "/v1/webhooks", withKey, "List the webhook endpoints", a.getWebhooks, WebhookList{}, nil},
		{"POST", "/v1/webhooks", withFullKey, "Make a webhook endpoint", a.postWebhook, WebhookSecret{}, nil},
		{"GET", "/v1/webhooks/deliveries", withKey, "List the latest deliveries", a.getDeliveries, DeliveryList{}, nil},
		{"POST", "/v1/webhooks/deliveries/{id}/replay", withFullKey, "Send a failed delivery again", a.replayDelivery, Delivery{}, nil},
		{"PATCH", "/v1/webhooks/{id}", withFullKey, "Change a webhook endpoint", a.patchWebhook, WebhookEndpoint{}, nil},
		{"DELETE", "/v1/webhooks/{id}", withFullKey, "Delete a webhook endpoint", a.deleteWebhook, Acknowledged{}, nil},
		{"POST", "/v1/webhooks/{id}/test", withFullKey, "Send a test event to an endpoint", a.testWebhook, Delivery{}, nil},
		{"POST", "/v1/webhooks/{id}/roll", withFullKey, "Give an endpoint a new secret", a.rollWebhook, WebhookSecret{}, nil},
		{"POST", "/v1/webhooks/{id}/activate", withFullKey, "Put an endpoint's new secret into use", a.activateWebhook, WebhookEndpoint{}, nil},
	}
	for _, operation := range a.table.All() {
		routes = append(routes, route{
			"POST", operation.Path(), withKey, operation.Summary, a.postOperation(operation), FileURL{}, operation,
		})
	}
	return routes
}

// Handler returns the router of the interface.
func (a *API) Handler() http.Handler {
	r := chi.NewRouter()
	r.Use(identify, func(next http.Handler) http.Handler { return a.record(routePattern, next) }, a.guard)
	for _, route := range a.routes() {
		handle := route.handle
		if route.access == withFullKey {
			handle = unrestricted(handle)
		}
		if route.access != public && route.operation == nil {
			if route.method == http.MethodPost {
				handle = a.limited(handle)
			}
			handle = a.authenticated(handle)
		}
		if route.access == public {
			handle = crossOrigin(handle)
		}
		r.Method(route.method, route.pattern, a.serve(handle))
		if route.method == http.MethodGet && route.access == public {
			r.Method(http.MethodHead, route.pattern, a.serve(handle))
			r.Method(http.MethodOptions, route.pattern, http.HandlerFunc(preflight))
		}
	}
	r.NotFound(a.serve(a.unknown(NotFound)))
	refuse := a.serve(a.unknown(MethodNotAllowed))
	r.MethodNotAllowed(func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Allow", strings.Join(allowedMethods(r, request.URL.Path), ", "))
		refuse(w, request)
	})
	return r
}

// Routes lists the interface as text: method, path, access, summary.
func (a *API) Routes() []RouteLine {
	var lines []RouteLine
	for _, route := range a.routes() {
		lines = append(lines, RouteLine{route.method, route.pattern, string(route.access), route.summary})
	}
	return lines
}

// Routes lists the interface of the product's table as text, without a store
// or a browser behind it. The error is one of the table's.
func Routes() ([]RouteLine, error) {
	table, err := op.NewTable(Operations)
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
		if err := handle(w, r); err != nil {
			a.fail(answerOf(w), r, err)
		}
	}
}

// answerOf returns the watched answer that record put around w.
func answerOf(w http.ResponseWriter) *answer {
	if seen, ok := w.(*answer); ok {
		return seen
	}
	return &answer{ResponseWriter: w}
}

// guard refuses keys in the address and sets the headers of every answer:
// nothing may be cached or read across origins unless a route says so.
func (a *API) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if isAPI(r.URL.Path) && keyInQuery(r.URL.RawQuery) {
			a.fail(answerOf(w), r, &Error{Code: Unauthorized, Message: "A key was given in the address; put the key in the Authorization header, and replace this key: addresses are stored in logs."})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// crossOrigin lets pages of any origin read the answers of a public route.
func crossOrigin(handle func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Expose-Headers", "*")
		return handle(w, r)
	}
}

// allowedMethods lists the methods that a path takes.
func allowedMethods(routes chi.Routes, path string) []string {
	var methods []string
	for _, method := range knownMethods {
		if routes.Match(chi.NewRouteContext(), method, path) {
			methods = append(methods, method)
		}
	}
	return methods
}

// preflight answers a browser that asks before a cross-origin request.
func preflight(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "GET, HEAD")
	h.Set("Access-Control-Allow-Headers", "Content-Type, Range")
	h.Set("Access-Control-Max-Age", "86400")
	w.WriteHeader(http.StatusNoContent)
}

// unknown answers for paths and methods that no route has. A POST under /v1
// without a valid key learns nothing but that it needs one.
func (a *API) unknown(code Code) func(http.ResponseWriter, *http.Request) error {
	refuse := func(http.ResponseWriter, *http.Request) error { return &Error{Code: code} }
	withKey := a.authenticated(a.limited(refuse))
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.Method == http.MethodPost && isAPI(r.URL.Path) {
			return withKey(w, r)
		}
		return refuse(w, r)
	}
}

// routePattern returns the matched route for logs and metrics.
func routePattern(r *http.Request) string {
	if route := chi.RouteContext(r.Context()); route != nil && route.RoutePattern() != "" {
		return route.RoutePattern()
	}
	return "unmatched"
}
