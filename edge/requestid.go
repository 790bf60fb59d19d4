package edge

import (
	"context"
	"net/http"
	"regexp"

	"relaypdf/api/wire"
	"relaypdf/store"
)

var acceptableID = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

type requestIDKey struct{}

// RequestID returns the id of the request that ctx belongs to.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// Identify gives every request an id, the client's own if it is harmless.
func Identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(wire.RequestIDHeader)
		if !acceptableID.MatchString(id) {
			id = store.NewID("req")
		}
		w.Header().Set(wire.RequestIDHeader, id)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id)))
	})
}
