package api

import (
	"context"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/store"
)

// lookPath is the path that shows the preview of a stored result to a member of the account.
const lookPath = wire.FilePattern + "/look"

// MemberHandler serves the operations, uploads and downloads to a member of an account, who needs no key, or uses one of
// the account's: the caller has authenticated the member, checks the member's role and the state of the key, and counts
// the requests. Operations are charged to the account, and limited, as ever.
func (a *API) MemberHandler(account store.Account, key *store.Key) http.Handler {
	caller := call.Caller{Account: account, Kind: call.ByPerson}
	if key != nil {
		caller = call.OfKey(account, *key)
	}

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if account.Suspended && r.Method != http.MethodGet {
			a.Fail(w, r, &wire.Error{Code: wire.AccountSuspended})
			return
		}
		// The request comes from within another router.
		ctx := context.WithValue(r.Context(), chi.RouteCtxKey, chi.NewRouteContext())
		a.person.ServeHTTP(w, r.WithContext(context.WithValue(ctx, callerKey{}, caller)))
	})
}

// sessionRouter makes the handler behind ForPerson.
func (a *API) sessionRouter() http.Handler {
	r := chi.NewRouter()

	for _, route := range a.routes() {
		switch {
		case route.operation != nil:
			r.Method(route.method, route.pattern, a.serve(runOperation(a, route.operation, known)))
		case route.upload != nil && route.access == withKey,
			route.pattern == wire.FilePattern && route.method == http.MethodGet:
			r.Method(route.method, route.pattern, a.serve(route.handle))
		}
	}

	r.Method(http.MethodGet, lookPath, a.serve(a.getPreview))
	r.NotFound(a.serveNotFound(wire.NotFound))
	r.MethodNotAllowed(a.serveNotFound(wire.MethodNotAllowed))
	return r
}

// known returns the caller that the website has authenticated.
func known(r *http.Request) (call.Caller, error) { return callerFrom(r.Context()), nil }

// getPreview responds with a preview of a result of the account.
func (a *API) getPreview(w http.ResponseWriter, r *http.Request) error {
	look, err := a.Calls.FilePreview(r.Context(), callerFrom(r.Context()).Account, chi.URLParam(r, "id"))
	if err != nil {
		return routeSpec{pattern: lookPath}.wrapNotFound(err)
	}
	return writeJSON(w, http.StatusOK, look)
}
