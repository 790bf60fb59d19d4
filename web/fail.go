package web

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"relaypdf/api/middleware"
	"relaypdf/store"
	"relaypdf/views"
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

// troubles map each error to the text for the visitor.
var troubles = []struct {
	err    error
	status int
	title  string
	text   string
}{
	{errNotFound, http.StatusNotFound, "No page at this address", "The link may have lost a few characters on the way."},
	{errRemoved, http.StatusNotFound, "Not stored any more", ""}, // Its text has the months.
	{store.ErrNotFound, http.StatusNotFound, "Not there any more", "What this page was about does not exist, or belongs to another account."},
	{store.ErrBadList, http.StatusNotFound, "Not there any more", "The list has no such page. Open it from its beginning."},
	{errMethod, http.StatusMethodNotAllowed, "Nothing takes that form", "The page that sent it may be an old one. Load it again."},
	{errForbidden, http.StatusForbidden, "Your role does not allow this", "Ask an owner of the account, who can change your role under Settings."},
	{errNoAccount, http.StatusForbidden, "You are in no account", "You were removed from it, or have not joined one yet. Ask an owner for an invitation."},
	{errForm, http.StatusBadRequest, "The form could not be read", "It was cut off on its way, or is too large. Send it again."},
	{errCrossOrigin, http.StatusForbidden, "Sent by another site", "This form came from a page that is not ours, so nothing was done."},
	{errIdentity, http.StatusForbidden, "Nobody was logged in", "The answer of the other service could not be used: it may have refused, or it took longer than 10 minutes. Begin again."},
	{errNoProvider, http.StatusBadGateway, "The other service does not answer", "Try again in a minute, or log in with your password."},
	{errLinkOver, http.StatusGone, "This editor has closed", "It is open for a limited time. Reload the page around it to open a new one."},
	{errLinkSuspended, http.StatusForbidden, "This editor is closed for now", "The account that it belongs to is suspended."},
	{errLinkDenies, http.StatusForbidden, "The link does not allow this", "Whoever made the link to this editor chose what it is for."},
	{errUnframed, http.StatusForbidden, "This editor opens inside of another page", "The link is for a frame of the site that it was made for. Go there."},
	{errOtherPerson, http.StatusForbidden, "This link belongs to another member", "Log out, log in as the member who asked for the new address, then open the link again."},
	{errFormsBusy, http.StatusServiceUnavailable, "Too many large forms at once", "The server reads other forms just now, and has not read this one. Send it again in 10 seconds."},
	{errTooMany, http.StatusTooManyRequests, "Too many attempts", "Wait a few minutes, then try again."},
	{store.ErrUsed, http.StatusGone, "This link does not work any more", "Links work once and for a short time. Ask for a new one."},
}

// fail responds with an error page. Errors not in troubles are logged and not shown.
func (w *Web) fail(v *pageRequest, err error) {
	if v.ctx().Err() != nil {
		middleware.Left(v.w)
		return
	}
	t := views.Trouble{
		Status: http.StatusInternalServerError, Title: "Something failed on our side",
		Text: "It is in the log under the id below. Try again; quote the id if it persists.",
	}
	if errors.Is(err, errFormsBusy) {
		v.w.Header().Set("Retry-After", "10")
	}
	known := false
	for _, trouble := range troubles {
		if errors.Is(err, trouble.err) {
			t.Status, t.Title, t.Text, known = trouble.status, trouble.title, trouble.text, true
			break
		}
	}
	if !known {
		w.log.LogAttrs(v.ctx(), slog.LevelError, "page failed", slog.String("requestId", w.cfg.RequestID(v.ctx())), slog.Any("error", err))
	}
	if errors.Is(err, errRemoved) {
		t.Text = "Calls are " + w.removed() + ". What they cost stays in the wallet’s ledger."
	}
	if errors.Is(err, errNotFound) {
		t.Near.URL = middleware.Nearest(v.r.URL.Path, w.paths)
		t.Near.Text = t.Near.URL
	}
	t.Actions = []views.Link{{URL: "/login", Text: "Log in"}, {URL: "/", Text: "Home"}}
	switch {
	case v.need == linked:
		t.Actions = nil // the frame of another site shows no login button
	case errors.Is(err, store.ErrUsed) && strings.HasPrefix(v.r.URL.Path, "/password/"):
		t.Actions = []views.Link{{URL: "/password/reset", Text: "Send a new link"}, {URL: "/", Text: "Home"}}
	case v.person != nil:
		t.Actions = []views.Link{{URL: "/dashboard", Text: "Overview"}, {URL: "/dashboard/documents", Text: "Documents"}}
	}
	p := v.page(t.Title, "")
	if err := v.show(t.Status, views.TroublePage(p, t)); err != nil {
		w.log.LogAttrs(v.ctx(), slog.LevelInfo, "page not delivered", slog.Any("error", err))
	}
}
