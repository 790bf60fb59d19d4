package middleware

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/relaypdf/relaypdf/internal/telemetry"
	"github.com/relaypdf/relaypdf/store"
)

// Config holds the handlers behind the edge, and its dependencies.
type Config struct {
	// API serves JSON. Pages serves the website; nil means a process without pages, where the API responds to unknown
	// paths.
	API, Pages http.Handler
	// Serves reports whether the API serves a path.
	Serves func(path string) bool
	// Fail sends an error response in the API's form.
	Fail func(http.ResponseWriter, *http.Request, error)
	// TrustedIPHeader names the one header that carries the client's address, as ParseAddressHeader reads it; empty
	// means the socket's address.
	TrustedIPHeader string
	// MaxDiscard is the maximum number of bytes that are read of a request after its response.
	MaxDiscard int64
	Logger     *slog.Logger
	Registry   prometheus.Registerer
	// Tracer starts the traces of requests or continues those of their clients.
	Tracer *telemetry.Tracer
	// LogRequest receives each request of an account when it has ended, and must not wait; nil means none.
	LogRequest func(store.Request)
}

// New returns the handler that every request passes before the API or the pages.
func New(c Config) http.Handler {
	sides := c.API
	if c.Pages != nil {
		sides = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if c.Serves(r.URL.Path) {
				c.API.ServeHTTP(w, r)
				return
			}
			c.Pages.ServeHTTP(w, r)
		})
	}

	trusted, _ := ParseAddressHeader(c.TrustedIPHeader)
	return chi.Chain(nextHead, discardRest(c.MaxDiscard, discardTime), Identify(trusted),
		noticeProxies(trusted, c.Logger), Log(c.Logger, c.Registry, c.Tracer, c.LogRequest), CacheControl, Recover(c.Fail),
		refuseTwoLengths(c.Fail), guard(c.Fail)).Handler(sides)
}

// Methods returns the methods that a route may accept.
func Methods() []string {
	return []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions,
	}
}

// Allowed lists the methods of a path, for the header Allow.
func Allowed(routes chi.Routes, path string) string {
	return strings.Join(slices.DeleteFunc(Methods(), func(method string) bool {
		return !routes.Match(chi.NewRouteContext(), method, path)
	}), ", ")
}

// maxSuggested is the maximum length of a path that is compared with the routes' paths.
const maxSuggested = 100

// Nearest returns the one of the paths that was probably meant, or "".
func Nearest(path string, paths []string) string {
	if len(path) > maxSuggested {
		return ""
	}

	path = strings.ToLower(strings.TrimRight(path, "/"))
	best := ""
	distance := max(2, len(path)/4) + 1
	for _, one := range paths {
		if d := levenshtein.ComputeDistance(path, one); d < distance {
			best = one
			distance = d
		}
	}
	return best
}
