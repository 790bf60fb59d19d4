package api

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"relaypdf/api/apierror"
	"relaypdf/api/call"
	"relaypdf/api/operation"
	"relaypdf/api/schema"
	"relaypdf/render"
	"relaypdf/store"
)

const (
	// PreviewPath is where a person's door takes the input of templates.preview, and
	// answers with images of its pages. The query says how large: scale, and pages;
	// with places it asks where elements lie instead.
	PreviewPath = "/v1/templates/pages"
	// FilledPath is where it answers to that with the HTML, without what may ask
	// others for something.
	FilledPath = "/v1/templates/filled"
	// LookPath is where it shows what a stored result looks like.
	LookPath = "/v1/files/{id}/look"
)

// The routes that people have beside the operations: those of templates, and
// uploads.
const (
	templatesPattern = "/v1/templates"
	uploadPattern    = "/v1/files"
)

// ForPerson serves the operations, the routes of templates and uploads to a member
// of an account, without a key: whoever calls it has found out who asks and what
// their role allows, and counts what they do. Operations are paid by the account,
// and limited, as ever.
func (a *API) ForPerson(account store.Account) http.Handler {
	caller := call.Caller{Account: account, Kind: call.ByPerson}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if account.Suspended && r.Method != http.MethodGet {
			a.Fail(w, r, &apierror.Error{Code: apierror.AccountSuspended})
			return
		}
		// The request comes from within another router's.
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
		case strings.HasPrefix(route.pattern, templatesPattern), route.pattern == uploadPattern && route.method == http.MethodPost:
			r.Method(route.method, route.pattern, a.serve(route.handle))
		}
	}
	r.Method(http.MethodPost, PreviewPath, a.serve(a.showPreview))
	r.Method(http.MethodGet, LookPath, a.serve(a.showLook))
	r.Method(http.MethodPost, FilledPath, a.serve(a.showFilled))
	r.NotFound(a.serveNotFound(apierror.NotFound))
	r.MethodNotAllowed(a.serveNotFound(apierror.MethodNotAllowed))
	return r
}

// known is the caller whom another door has found.
func known(r *http.Request) (call.Caller, error) { return callerFrom(r.Context()), nil }

// showPreview answers with images of a template's pages.
func (a *API) showPreview(w http.ResponseWriter, r *http.Request) error {
	input, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxTemplateBody))
	if err != nil {
		return &apierror.Error{Code: apierror.InvalidRequest, Message: "The template did not arrive whole, or is too large.", Cause: err}
	}
	request := call.PreviewRequest{Caller: callerFrom(r.Context()), Input: input, Scale: 1}
	query := r.URL.Query()
	if query.Has("places") {
		request.View = operation.Placed
	}
	if text := query.Get("scale"); text != "" {
		if request.Scale, err = strconv.ParseFloat(text, 64); err != nil {
			return schema.Faults{{Field: "scale", Message: "must be a number up to 2"}}
		}
	}
	if text := query.Get("pages"); text != "" {
		if request.Pages, err = strconv.Atoi(text); err != nil {
			return schema.Faults{{Field: "pages", Message: "must be a number of pages"}}
		}
	}
	made, err := a.Calls.Preview(r.Context(), request)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, made)
}

// showLook answers with what a result of the account looks like.
func (a *API) showLook(w http.ResponseWriter, r *http.Request) error {
	look, err := a.Calls.Look(r.Context(), callerFrom(r.Context()).Account, chi.URLParam(r, "id"))
	if err != nil {
		return facts{pattern: LookPath}.absent(err)
	}
	return writeJSON(w, http.StatusOK, look)
}

// showFilled answers with the HTML of a template, for a frame that may do nothing.
func (a *API) showFilled(w http.ResponseWriter, r *http.Request) error {
	input, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxTemplateBody))
	if err != nil {
		return &apierror.Error{Code: apierror.InvalidRequest, Message: "The template did not arrive whole, or is too large.", Cause: err}
	}
	made, err := a.Calls.Preview(r.Context(), call.PreviewRequest{Caller: callerFrom(r.Context()), Input: input, View: operation.Filled})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, err = io.WriteString(w, render.Still(made.HTML))
	return err
}
