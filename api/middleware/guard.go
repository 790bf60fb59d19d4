package middleware

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/store"
)

// guard refuses keys in URLs of the API and sets the security headers of every response.
func guard(fail func(http.ResponseWriter, *http.Request, error)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Content-Type-Options", "nosniff")
			if Versioned(r.URL.Path) && keyInQuery(r.URL.RawQuery) {
				fail(w, r, &wire.Error{
					Code:    wire.Unauthorized,
					Message: "API keys are not accepted in the URL. Send the key in the Authorization header and revoke this one: URLs end up in logs.",
				})
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// Versioned reports whether a path belongs to the versioned API, most of which needs a key.
func Versioned(path string) bool {
	return path == "/v1" || strings.HasPrefix(path, "/v1/") || path == "/mcp"
}

// keyInQuery reports whether a query string contains a text that looks like a key. Such requests are refused even
// with a valid header, because URLs end up in logs.
func keyInQuery(raw string) bool {
	// Parsers disagree about ";" and about the rest of a query with a mistake in it. Everything that one of them
	// could read as a key counts as a key.
	query, _ := url.ParseQuery(strings.ReplaceAll(raw, ";", "&"))
	for name, values := range query {
		switch strings.ToLower(name) {
		case "api_key", "key", "access_token", "token":
			return true
		}
		for _, value := range values {
			if strings.HasPrefix(value, store.LivePrefix) || strings.HasPrefix(value, store.TestPrefix) {
				return true
			}
		}
	}

	return strings.Contains(raw, store.LivePrefix) || strings.Contains(raw, store.TestPrefix)
}
