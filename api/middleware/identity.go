package middleware

import (
	"context"
	"net/http"
	"regexp"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/store"
)

var acceptableID = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// identity is the identity of a request. entry is set if the request may be logged for its account.
type identity struct {
	request, client string
	entry           *entry
}

type identityKey struct{}

func identityOf(ctx context.Context) identity {
	known, _ := ctx.Value(identityKey{}).(identity)
	return known
}

// RequestID returns the ID of the request of ctx.
func RequestID(ctx context.Context) string { return identityOf(ctx).request }

// ClientIP returns the address by which limits count the request of ctx.
func ClientIP(ctx context.Context) string { return identityOf(ctx).client }

// Identify gives every request an ID, the client's own if it is harmless, and finds the client's IP address.
func Identify(trusted AddressHeader) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id := r.Header.Get(wire.RequestIDHeader)
			if !acceptableID.MatchString(id) {
				id = store.NewID("req")
			}
			w.Header().Set(wire.RequestIDHeader, id)

			known := identity{request: id, client: clientIP(r, trusted)}
			if Versioned(r.URL.Path) {
				known.entry = &entry{}
			}
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), identityKey{}, known)))
		})
	}
}
