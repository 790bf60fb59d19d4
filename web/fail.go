package web

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
)

// Error pages.
var (
	errNotFound    = errors.New("no such page")
	errRemoved     = errors.New("removed by the retention")
	errMethod      = errors.New("no such form")
	errForbidden   = errors.New("the role does not allow it")
	errNoAccount   = errors.New("a member of no account")
	errForm        = errors.New("the form cannot be read")
	errCrossOrigin = errors.New("sent by another site's page")
	errTooMany     = errors.New("too many attempts")
)

// errorPages map each error to the text for the visitor.
var errorPages = []struct {
	err    error
	status int
	title  string
	text   string
}{
	{errNotFound, http.StatusNotFound, "Page not found", "No page exists at this URL. Check it for missing characters."},
	{errRemoved, http.StatusNotFound, "No longer stored", ""}, // Its text has the months.
	{store.ErrNotFound, http.StatusNotFound, "Not found", "It was deleted, or belongs to another account."},
	{store.ErrBadList, http.StatusNotFound, "List page not found", "Open the list from its first page."},
	{store.ErrNotFailed, http.StatusConflict, "Delivery not replayed", "Only failed deliveries can be replayed. This one is pending or delivered."},
	{store.ErrWebhookOff, http.StatusConflict, "Delivery not replayed", "The endpoint is disabled or deleted. Enable it first."},
	{store.ErrCallback, http.StatusConflict, "Delivery not replayed", "Callback deliveries cannot be replayed."},
	{errMethod, http.StatusMethodNotAllowed, "This page is out of date", "Reload it and try again."},
	{errForbidden, http.StatusForbidden, "Your role does not allow this", "An owner of the account can change your role under Settings."},
	{errNoAccount, http.StatusForbidden, "You are not in an account", "You were removed, or have not joined an account yet. Ask an account owner for an invitation."},
	{errForm, http.StatusBadRequest, "The form could not be read", "It is incomplete or too large. Go back and send it again."},
	{errCrossOrigin, http.StatusForbidden, "Form sent from another site", "Nothing was changed. Use the form on this site."},
	{errIdentity, http.StatusForbidden, "Login failed", "Your identity provider declined, or took longer than 10 minutes. Try again."},
	{errNoProvider, http.StatusBadGateway, "Identity provider unavailable", "Try again in 1 minute, or log in with your password."},
	{errLinkOver, http.StatusGone, "This editor session has ended", "Reload the page that contains the editor to open a new session."},
	{errLinkSuspended, http.StatusForbidden, "This editor is unavailable", "The account that owns the template is suspended."},
	{errLinkDenies, http.StatusForbidden, "The link does not allow this", "The site that created this editor link did not grant this permission."},
	{errUnframed, http.StatusForbidden, "This editor opens inside another page", "Open it on the site that the link was created for."},
	{errOtherPerson, http.StatusForbidden, "This link belongs to another member", "Log out, log in as the member who requested the new email address, then open the link again."},
	{errFormsBusy, http.StatusServiceUnavailable, "Too many large forms at once", "The server is busy with other large forms and did not read this one. Send it again in 10 seconds."},
	{errTooMany, http.StatusTooManyRequests, "Too many attempts", "Wait a few minutes, then try again."},
	{store.ErrUsed, http.StatusGone, "This link no longer works", "Links work once and for a limited time. Request a new one."},
}

// fail responds with an error page. Errors not in troubles are logged and not shown.
func (w *Web) fail(v *pageRequest, err error) {
	if v.ctx().Err() != nil {
		middleware.ClientClosed(v.w)
		return
	}

	t := views.Trouble{
		Status: http.StatusInternalServerError, Title: "Server error",
		Text: "The error was logged under the request ID below. Try again, and quote the ID if the error persists.",
	}
	if errors.Is(err, errFormsBusy) {
		v.w.Header().Set("Retry-After", "10")
	}

	known := false
	for _, entry := range errorPages {
		if errors.Is(err, entry.err) {
			t.Status = entry.status
			t.Title = entry.title
			t.Text = entry.text
			known = true
			break
		}
	}
	if !known {
		w.log.LogAttrs(
			v.ctx(), slog.LevelError, "page failed",
			slog.String("requestId", middleware.RequestID(v.ctx())), slog.Any("error", err),
		)
	}

	if errors.Is(err, errRemoved) {
		t.Text = "Calls are " + w.removed() + ". Their cost stays in the wallet’s ledger."
	}
	if errors.Is(err, errNotFound) {
		t.Near.URL = middleware.Nearest(v.r.URL.Path, w.paths)
		t.Near.Text = t.Near.URL
	}

	t.Actions = []views.Link{{URL: "/login", Text: "Log in"}, {URL: "/", Text: "Home"}}
	switch {
	case v.need == editorLink:
		t.Actions = nil // the frame of another site shows no login button
	case errors.Is(err, store.ErrUsed) && strings.HasPrefix(v.r.URL.Path, "/password/"):
		t.Actions = []views.Link{{URL: "/password/reset", Text: "Send a new link"}, {URL: "/", Text: "Home"}}
	case v.person != nil:
		t.Actions = []views.Link{
			{URL: "/dashboard", Text: "Overview"}, {URL: "/dashboard/documents", Text: "Documents"},
		}
	}

	p := v.page(t.Title, "")
	if err := v.show(t.Status, views.TroublePage(p, t)); err != nil {
		w.log.LogAttrs(v.ctx(), slog.LevelInfo, "page not delivered", slog.Any("error", err))
	}
}
