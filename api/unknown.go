package api

import (
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
)

// isService reports whether a path belongs to the API, which speaks JSON, and not to a page.
func isService(path string) bool {
	return middleware.Versioned(path) || path == "/openapi.json" || path == "/health" ||
		strings.HasPrefix(path, "/health/") || strings.HasPrefix(path, "/mcp/")
}

// Serves reports whether the API responds to a path: one under a JSON prefix, whether it exists or not, or one of its
// routes.
func (a *API) Serves(path string) bool {
	return isService(path) || a.handler.Match(chi.NewRouteContext(), http.MethodGet, path)
}

// Paths returns the paths of the API, without those that contain an ID.
func (a *API) Paths() []string { return slices.Clone(a.paths) }

// serveNotFound responds to a path or a method without a route: in JSON under the API's paths, otherwise with a
// page.
func (a *API) serveNotFound(code wire.Code) http.HandlerFunc {
	refuse := a.serve(a.unknown(code))

	return func(w http.ResponseWriter, r *http.Request) {
		if code == wire.MethodNotAllowed {
			w.Header().Set("Allow", middleware.Allowed(a.handler, r.URL.Path))
		}
		if isService(r.URL.Path) {
			refuse(w, r)
			return
		}
		a.missingPage(w, r, code)
	}
}

// unknown responds to paths and methods of the API without a route. A POST under /v1 without a valid key only gets
// the error that it needs one.
func (a *API) unknown(code wire.Code) func(http.ResponseWriter, *http.Request) error {
	refuse := func(_ http.ResponseWriter, r *http.Request) error {
		return &wire.Error{Code: code, Message: a.unknownText(code, r.Method, shortPath(r.URL.Path))}
	}

	withKey := a.requireAuth(a.rateLimit(refuse))
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.Method == http.MethodPost && middleware.Versioned(r.URL.Path) {
			return withKey(w, r)
		}
		return refuse(w, r)
	}
}

// unknownText names the path that was probably meant, or the methods that a path accepts.
func (a *API) unknownText(code wire.Code, method, path string) string {
	if code == wire.MethodNotAllowed {
		return method + " is not allowed on " + path + ". Allowed: " + middleware.Allowed(a.handler, path) + "."
	}
	text := "No endpoint at " + path + ". "
	if near := middleware.Nearest(path, a.paths); near != "" {
		return text + "Did you mean " + near + "?"
	}
	return text + "GET /openapi.json lists all endpoints."
}

// shortPath bounds a path in a message.
func shortPath(path string) string {
	const maxLength = 100
	if runes := []rune(path); len(runes) > maxLength {
		return string(runes[:maxLength]) + "…"
	}
	return path
}

// missing is the page for unknown paths, in a process without its own pages.
var missing = template.Must(template.New("missing").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.Status}} {{.Text}}</title>
<h1>{{.Text}}</h1>
<p>{{with .Allow}}Allowed methods: {{.}}.{{else}}No page at this URL.{{with .Near}} Did you mean <a href="{{.}}">{{.}}</a>?{{end}}{{end}}</p>
<p>The API is described at <a href="/openapi.json">/openapi.json</a>.</p>
</html>
`))

// missingPage answers a browser.
func (a *API) missingPage(w http.ResponseWriter, r *http.Request, code wire.Code) {
	h := w.Header()
	status := (&wire.Error{Code: code}).Status()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'")
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}

	// An error means that the client has gone.
	_ = missing.Execute(w, map[string]any{
		"Status": status, "Text": http.StatusText(status), "Near": middleware.Nearest(r.URL.Path, a.paths),
		"Allow": h.Get("Allow"),
	})
}
