package middleware

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
)

// Recover responds with an error for a handler that panicked, as fail does. It belongs right inside Log.
func Recover(fail func(http.ResponseWriter, *http.Request, error)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() {
				p := recover()
				if p == nil {
					return
				}
				if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
					panic(p)
				}
				fail(w, r, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
			}()
			next.ServeHTTP(w, r)
		})
	}
}
