package api

import (
	"html/template"
	"net/http"
	"strings"

	"github.com/agnivade/levenshtein"

	"relaypdf/api/fault"
	"relaypdf/edge"
)

// isService tells whether a path is the interface's, which speaks JSON, and not
// that of a page.
func isService(path string) bool {
	return isAPI(path) || path == "/openapi.json" || path == "/health" || strings.HasPrefix(path, "/health/") || strings.HasPrefix(path, "/mcp/")
}

// nowhere answers where no route does.
type nowhere struct{ *API }

// notFound answers for paths that no route has: the pages' where there are any.
func (a nowhere) notFound() http.HandlerFunc {
	refuse := a.serve(a.unknown(fault.NotFound))
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case isService(r.URL.Path):
			refuse(w, r)
		case a.pages != nil:
			a.pages.ServeHTTP(w, r)
		default:
			a.missingPage(w, r, http.StatusNotFound)
		}
	}
}

// unknown answers for paths and methods of the interface that no route has. A
// POST under /v1 without a valid key learns nothing but that it needs one.
func (a nowhere) unknown(code fault.Code) func(http.ResponseWriter, *http.Request) error {
	refuse := func(_ http.ResponseWriter, r *http.Request) error {
		return &fault.Error{Code: code, Message: a.unknownText(code, r.URL.Path)}
	}
	withKey := a.authenticated(a.limited(refuse))
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.Method == http.MethodPost && isAPI(r.URL.Path) {
			return withKey(w, r)
		}
		return refuse(w, r)
	}
}

// unknownText names the path that was probably meant.
func (a nowhere) unknownText(code fault.Code, path string) string {
	near := a.nearest(path)
	if code != fault.NotFound || near == "" {
		return ""
	}
	return code.Text() + " Did you mean " + near + "?"
}

// maxSuggested bounds in bytes a path that is compared with those of routes.
const maxSuggested = 100

// nearest returns the path of a route that is close to the one given, or "".
func (a nowhere) nearest(path string) string {
	if len(path) > maxSuggested {
		return ""
	}
	path = strings.ToLower(strings.TrimRight(path, "/"))
	best, distance := "", max(2, len(path)/4)+1
	for _, pattern := range a.paths {
		if d := levenshtein.ComputeDistance(path, pattern); d < distance {
			best, distance = pattern, d
		}
	}
	return best
}

// missing is the page that stands for one that there is none of.
var missing = template.Must(template.New("missing").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.Status}} {{.Text}}</title>
<h1>{{.Text}}</h1>
<p>There is no page at this address.{{with .Near}} Did you mean <a href="{{.}}">{{.}}</a>?{{end}}</p>
<p>The interface is described at <a href="/openapi.json">/openapi.json</a>.</p>
</html>
`))

// missingPage answers a browser.
func (a nowhere) missingPage(w http.ResponseWriter, r *http.Request, status int) {
	edge.SetRoute(w, "unmatched")
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'")
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	// A client that has gone is nothing to tell anybody.
	_ = missing.Execute(w, map[string]any{"Status": status, "Text": http.StatusText(status), "Near": a.nearest(r.URL.Path)})
}
