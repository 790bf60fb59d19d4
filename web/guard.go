package web

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
)

type nonceKey struct{}

// nonceOf returns the nonce that the page's own scripts carry.
func nonceOf(ctx context.Context) string {
	nonce, _ := ctx.Value(nonceKey{}).(string)
	return nonce
}

// headers sets the headers of every page: it loads from this origin only, runs only scripts that it names, cannot be
// framed, and is not cached.
func (w *Web) headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		nonce := rand.Text()
		h := rw.Header()

		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'nonce-"+nonce+"' 'strict-dynamic'; "+
			"style-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'; "+
			"form-action 'self' https://checkout.stripe.com https://billing.stripe.com; "+
			"frame-src 'self'; frame-ancestors 'none'; base-uri 'none'")

		h.Set("X-Frame-Options", "DENY")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
		h.Set("Cache-Control", "no-store")
		if w.secure {
			h.Set("Strict-Transport-Security", "max-age=63072000; includeSubDomains")
		}

		next.ServeHTTP(rw, r.WithContext(context.WithValue(r.Context(), nonceKey{}, nonce)))
	})
}

// sameOrigin refuses requests of another site's page. The service's own pages under another scheme are another site:
// attackers on the network can write unencrypted ones.
func (w *Web) sameOrigin(next http.Handler) http.Handler {
	deny := w.serve(pageRoute{need: noLogin, handle: func(*pageRequest) error { return errCrossOrigin }})
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(deny)
	protected := protection.Handler(next)
	scheme, _, _ := strings.Cut(w.cfg.BaseURL, ":")

	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		// Sec-Fetch-Site, if a browser sends it, is about the scheme as well.
		if origin != "" && r.Header.Get("Sec-Fetch-Site") == "" && !strings.HasPrefix(origin, scheme+"://") &&
			!slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, r.Method) {
			deny.ServeHTTP(rw, r)
			return
		}
		protected.ServeHTTP(rw, r)
	})
}
