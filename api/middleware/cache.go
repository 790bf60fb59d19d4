package middleware

import (
	"net/http"
	"strings"
)

// Cache-Control values of responses. Browsers revalidate pages on each visit and usually get 304. A cache in front of
// the service responds by itself for the shared time, and for a day while the service does not respond.
const (
	// forever is for URLs that contain the hash of their content.
	forever = "public, max-age=31536000, immutable"
	// release is for content that changes only with a release or with the settings.
	release = "public, max-age=0, s-maxage=300, stale-while-revalidate=3600, stale-if-error=86400"
	// listing is the same for API clients, which see new prices sooner.
	listing = "public, max-age=0, s-maxage=300, stale-while-revalidate=60, stale-if-error=86400"
	// moment is for pages that many users watch during an event.
	moment = "public, max-age=0, s-maxage=5, stale-while-revalidate=5"
	// nobody is for all other responses, documents above all.
	nobody = "no-store"
)

// CacheRule is one rule for caches.
type CacheRule struct {
	// Pattern is a path, or with "/*" at its end all paths below it.
	Pattern string
	// Control is the header Cache-Control.
	Control string
	// Keys are the names that purge it from a cache.
	Keys string
	// bare means that caches store only the response without a query: other queries contain text that one visitor has
	// typed.
	bare bool
}

// public is everything that caches may store: responses to GET and HEAD that are the same for all users, and set no
// cookie. All else is no-store.
var public = []CacheRule{
	{Pattern: "/static/*", Control: forever, Keys: "assets"},
	{Pattern: "/gallery/*", Control: forever, Keys: "assets"},
	{Pattern: "/drawn/*", Control: forever, Keys: "assets"},
	{Pattern: "/", Control: release, Keys: "pages prices gallery"},
	{Pattern: "/pdf-templates", Control: release, Keys: "pages gallery", bare: true},
	{Pattern: "/pdf-templates/*", Control: release, Keys: "pages prices gallery", bare: true},
	{Pattern: "/pricing", Control: release, Keys: "pages prices", bare: true},
	{Pattern: "/docs", Control: release, Keys: "pages docs"},
	{Pattern: "/docs/*", Control: release, Keys: "pages prices docs"},
	{Pattern: "/changelog", Control: release, Keys: "pages docs"},
	{Pattern: "/changelog.atom", Control: release, Keys: "pages docs"},
	{Pattern: "/llms.txt", Control: release, Keys: "pages prices docs"},
	{Pattern: "/llms-full.txt", Control: release, Keys: "pages prices docs"},
	{Pattern: "/robots.txt", Control: release, Keys: "pages"},
	{Pattern: "/sitemap.xml", Control: release, Keys: "pages docs gallery"},
	{Pattern: "/status", Control: moment, Keys: "status"},
	{Pattern: "/openapi.json", Control: listing, Keys: "pages prices docs"},
	{Pattern: "/v1/templates/gallery", Control: listing, Keys: "pages gallery"},
	{Pattern: "/v1/billing/prices", Control: listing, Keys: "pages prices"},
}

// Keepable returns the rule of Public for a request.
func Keepable(r *http.Request) (CacheRule, bool) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return CacheRule{}, false
	}

	for _, k := range public {
		folder, below := strings.CutSuffix(k.Pattern, "*")
		if k.Pattern == r.URL.Path || below && len(r.URL.Path) > len(folder) && strings.HasPrefix(r.URL.Path, folder) {
			return k, !k.bare || r.URL.RawQuery == "" && !r.URL.ForceQuery
		}
	}
	return CacheRule{}, false
}

// CacheControl sets Cache-Control on each response. A handler cannot allow more than Public does; a response that the handler
// marks private stays private.
func CacheControl(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", nobody)
		next.ServeHTTP(&cacheControlWriter{ResponseWriter: w, r: r}, r)
	})
}

// cacheControlWriter sets the headers for caches when the status is known. Responses sent without it are no-store.
type cacheControlWriter struct {
	http.ResponseWriter
	r    *http.Request
	done bool
}

// Unwrap gives http.ResponseController and the log access to the wrapped writer.
func (k *cacheControlWriter) Unwrap() http.ResponseWriter { return k.ResponseWriter }

func (k *cacheControlWriter) Write(p []byte) (int, error) {
	k.decide(http.StatusOK)
	return k.ResponseWriter.Write(p)
}

// WriteHeader sends the status.
func (k *cacheControlWriter) WriteHeader(status int) {
	if status >= http.StatusOK {
		k.decide(status)
	}
	k.ResponseWriter.WriteHeader(status)
}

func (k *cacheControlWriter) decide(status int) {
	if k.done {
		return
	}
	k.done = true

	h := k.Header()
	kept, ok := Keepable(k.r)
	whole := status == http.StatusOK || status == http.StatusPartialContent || status == http.StatusNotModified
	switch {
	case ok && whole && len(h.Values("Set-Cookie")) == 0 && !strings.HasPrefix(h.Get("Cache-Control"), "private"):
		h.Set("Cache-Control", kept.Control)
		h.Set("Surrogate-Key", kept.Keys)
		h.Set("Cache-Tag", strings.ReplaceAll(kept.Keys, " ", ","))
	case !strings.HasPrefix(h.Get("Cache-Control"), "private"):
		h.Set("Cache-Control", nobody)
	}
}
