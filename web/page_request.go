package web

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/service/editorlink"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
)

// maxForm is the maximum size of a form in bytes. maxVisitorForm is the maximum that is read of visitors who are not
// logged in.
const (
	maxForm        = 1 << 20
	maxVisitorForm = 64 << 10
)

// maxDraft limits the form of a template with its data, in bytes: some characters are encoded as three or six.
const maxDraft = 40 << 20

// maxPartial is the maximum size of a partial in a form, in which three bytes may encode one.
const maxPartial = 3*store.MaxPartialBytes + maxForm

// largeForms are the forms that may send more.
var largeForms = map[string]int64{
	signingPath:                          maxKeyForm,
	"/dashboard/templates/import":        maxZip + maxForm,
	"/dashboard/templates/{id}":          maxDraft,
	"/dashboard/templates/{id}/draft":    maxDraft,
	"/dashboard/templates/{id}/check":    maxDraft,
	"/dashboard/templates/{id}/pages":    maxDraft,
	"/dashboard/templates/{id}/filled":   maxDraft,
	"/dashboard/templates/{id}/compare":  maxDraft,
	"/dashboard/templates/{id}/describe": maxDraft,
	embedPath + "/draft":                 maxDraft,
	embedPath + "/check":                 maxDraft,
	embedPath + "/pages":                 maxDraft,
	embedPath + "/filled":                maxDraft,
	embedPath + "/compare":               maxDraft,
	partialsPath:                         maxPartial,
	partialsPath + "/{name}":             maxPartial,
}

// maxFormBytes returns the maximum size of a form, in bytes, and how much of it is in memory. Forms of the playground with
// files may be as large as a request of the API: their files are streamed.
func maxFormBytes(cfg Config, pattern string, files bool) (length, inMemory int64) {
	length = max(maxForm, largeForms[pattern])
	if !strings.HasPrefix(pattern, playgroundPath+"/") {
		return length, length
	}
	if files {
		return cfg.MaxBody, maxTyped
	}
	return maxTyped, maxTyped
}

// pageRequest is one request for a page: its user, its account, and its response.
type pageRequest struct {
	web    *Web
	w      http.ResponseWriter
	r      *http.Request
	person *store.User // nil if not logged in
	member *store.Membership
	// account is the member's, or that of a link to the editor; nil without a login, or if the user is a member of
	// none.
	account *store.Account
	// public is a page that is the same for all users: it is compressed after it is complete.
	public bool
	// need is the page's. embedded has the permissions of a link to the editor; nil if no link was opened.
	need     access
	embedded *editorlink.Session
}

func (v *pageRequest) ctx() context.Context { return v.r.Context() }

// value returns a field of a form or of the URL, without the space around it.
func (v *pageRequest) value(name string) string { return strings.TrimSpace(v.r.FormValue(name)) }

// may reports whether the visitor has the role that a page requires.
func (v *pageRequest) may(n access) bool {
	role := ""
	if v.member != nil {
		role = v.member.Role
	}

	switch n {
	case noLogin, sameForAll:
		return true
	case editorLink:
		return v.embedded != nil
	case signedIn:
		return role != ""
	case developerRole:
		return role == store.RoleOwner || role == store.RoleDeveloper
	case billingRole:
		return role == store.RoleOwner || role == store.RoleBilling
	case ownerRole:
		return role == store.RoleOwner
	case operatorOnly:
		return v.person != nil && v.person.Operator
	}

	return false
}

// maxFailed is the maximum count of failed deliveries in failedSpan that the side bar shows.
const (
	maxFailed  = 99
	failedSpan = 24 * time.Hour
)

// failed returns the number of failed deliveries for the side bar. If counting fails, the page is shown without it.
func (v *pageRequest) failed() int {
	n, err := v.web.store.FailedDeliveries(v.ctx(), v.account.ID, v.web.now().Add(-failedSpan), maxFailed)
	if err != nil && v.ctx().Err() == nil {
		v.web.log.LogAttrs(v.ctx(), slog.LevelError, "failed deliveries not counted", slog.Any("error", err))
	}
	return n
}

// pageRoute returns the data that the page needs in addition to its model.
func (v *pageRequest) page(title, open string) views.Page {
	p := views.Page{
		Title: title, Open: open, Nonce: nonceOf(v.ctx()),
		RequestID: middleware.RequestID(v.ctx()), Version: v.web.cfg.Version,
		Now: v.web.now().UTC(), Asset: v.web.assets.URL, Notice: v.takeNotice(),
	}

	if v.person != nil {
		p.Person = &views.Person{
			Name: v.person.Name, Email: v.person.Email, Operator: v.person.Operator,
			Manages: v.may(developerRole), Pays: v.may(billingRole), Owns: v.may(ownerRole),
		}
	}

	if v.member != nil {
		if at := v.account.ClosesAt; at != nil {
			p.Banner = &views.Banner{
				Is:   views.StateBad,
				Bold: v.member.AccountName + " will be deleted on " + at.UTC().Format("January 2, 2006") + ".",
				Text: "An owner can cancel the deletion until then.",
				Link: views.Link{URL: dataPath + "#close", Text: "Settings"},
			}
		}

		p.Person.Account = v.member.AccountName
		p.Person.Role = v.member.Role
		p.Person.Balance = v.account.Balance
		p.Person.FailedDeliveries = v.failed()
	}
	return p
}

// maxNoise limits the random padding that hides the length of a compressed page.
const maxNoise = 200

// show responds with a page.
func (v *pageRequest) show(status int, component templ.Component) error {
	h := v.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")

	if v.public {
		v.w.WriteHeader(status)
		return component.Render(v.ctx(), v.w)
	}

	var page bytes.Buffer
	if err := component.Render(v.ctx(), &page); err != nil {
		return err
	}

	h.Add("Vary", "Accept-Encoding")
	noise := strings.Repeat(" ", rand.IntN(maxNoise))
	return sendZipped(v.w, v.r, status, page.Bytes(), noise)
}

// redirect redirects the visitor to one of our pages after a form.
func (v *pageRequest) redirect(path string) error {
	http.Redirect(v.w, v.r, ownPath(path), http.StatusSeeOther)
	return nil
}

// redirectWith redirects the visitor as redirect does, to a page that shows the sentence.
func (v *pageRequest) redirectWith(path, sentence string) error {
	v.flash(sentence)
	return v.redirect(path)
}

// flash stores a sentence for the next page.
func (v *pageRequest) flash(sentence string) { v.web.scs.Put(v.ctx(), noticeKey, sentence) }

func (v *pageRequest) takeNotice() string {
	if v.need == editorLink || !v.web.scs.Exists(v.ctx(), noticeKey) {
		return ""
	}
	return v.web.scs.PopString(v.ctx(), noticeKey)
}

// record writes the visitor's action into the audit log of the account.
func (v *pageRequest) record(action, object, note string) error {
	return v.web.store.AddAuditEntry(v.ctx(), v.author().Entry(action, object, note))
}

// author is the visitor in the audit log.
func (v *pageRequest) author() store.Author {
	by := store.Author{Address: middleware.ClientIP(v.ctx())}
	if v.person != nil {
		by.PersonID = v.person.ID
		by.Who = v.person.Email
	}

	if v.embedded != nil {
		by.Who = "editor link"
	}
	if v.account != nil {
		by.AccountID = v.account.ID
	}
	return by
}

// actorOf names who is counted: a user, or a link to the editor.
func actorOf(v *pageRequest) string {
	if v.embedded != nil {
		return v.embedded.ID
	}
	return v.person.ID
}

// ownPath returns the given path if it is on our site, or the path of the dashboard.
func ownPath(next string) string {
	address, err := url.Parse(next)
	if err != nil || address.Host != "" || address.Scheme != "" || address.User != nil ||
		!strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/dashboard"
	}
	return next
}

// serve makes a handler of a page: it identifies the user, checks the permissions, and responds to errors.
func (w *Web) serve(p pageRoute) http.Handler {
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		v := &pageRequest{web: w, w: rw, r: r, need: p.need}
		w.answer(v, p)
	})
	if p.need == editorLink {
		return handler // It has no session of a user, and leaves none.
	}
	return w.scs.LoadAndSave(handler)
}

// answer answers a visit, also where its page panics before it has begun to.
func (w *Web) answer(v *pageRequest, p pageRoute) {
	middleware.Recover(func(rw http.ResponseWriter, r *http.Request, err error) {
		if middleware.ResponseRecordOf(rw).Status != 0 {
			panic(err) // The edge ends the connection: the visitor sees that it is not whole.
		}
		w.fail(v, err)
	})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if err := w.admit(v, p); err != nil {
			w.fail(v, err)
		}
	})).ServeHTTP(v.w, v.r)
}

func (w *Web) admit(v *pageRequest, p pageRoute) error {
	identify := w.identify
	if p.need == editorLink {
		identify = w.identifyEmbed
	}

	if err := identify(v); err != nil {
		return err
	}
	if p.need != editorLink {
		w.hint(v)
	}

	if v.r.Method == http.MethodPost {
		leave, err := w.receive(v, p)
		if err != nil {
			return err
		}
		defer leave()
	}

	switch {
	case v.may(p.need):
		if v.person != nil && v.r.Method == http.MethodPost && w.scs.Exists(v.ctx(), savedFormKey) {
			w.scs.Remove(v.ctx(), savedFormKey) // It is sent now, or was left.
		}
		return p.handle(v)
	case v.person == nil:
		return v.askToSignIn()
	case v.member == nil && p.need != operatorOnly && v.person.VerifiedAt == nil:
		return w.showUnconfirmed(v, http.StatusForbidden, v.person.Email)
	case v.member == nil && p.need != operatorOnly:
		return errNoAccount
	}
	return errForbidden
}

// receive reads the form of a visitor who may send it. For others, it reads only as much as may be resumed after
// the login.
func (w *Web) receive(v *pageRequest, p pageRoute) (leave func(), err error) {
	length := int64(maxVisitorForm)
	inMemory := int64(maxVisitorForm)
	known := v.person != nil || v.embedded != nil
	parts := strings.HasPrefix(v.r.Header.Get("Content-Type"), "multipart/")
	read := v.r.ParseForm

	if known && v.may(p.need) {
		length, inMemory = maxFormBytes(w.cfg, p.pattern, parts)
		if parts && !strings.HasPrefix(p.pattern, playgroundPath+"/") { // which streams the files
			read = func() error { return v.r.ParseMultipartForm(length) }
		}
	}

	if sent := v.r.ContentLength; sent >= 0 {
		inMemory = min(inMemory, sent)
	}
	leave = func() {}
	if inMemory > maxVisitorForm {
		if leave, err = w.forms.enter(v.ctx(), actorOf(v), inMemory); err != nil {
			return nil, err
		}
	}

	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, length)
	err = read()
	if err != nil && v.may(p.need) {
		leave()
		return nil, errForm
	}

	// A form that cannot be read from an unauthorised visitor is not resumed either.
	return leave, nil
}

// askToSignIn sends a visitor to the login and back: to the requested page, or to their form.
func (v *pageRequest) askToSignIn() error {
	if v.r.Header.Get("Sec-Fetch-Dest") == "iframe" {
		return nothing(v.w) // The page around it asks.
	}

	next := v.r.URL.RequestURI()
	if v.r.Method == http.MethodPost {
		kept, err := v.saveForm()
		if err != nil {
			return err
		}
		next = v.cameFrom()
		if kept {
			next = resumePath
		}
	}

	return v.redirect("/login?next=" + url.QueryEscape(next))
}

// identify finds the user and the account of the session.
func (w *Web) identify(v *pageRequest) error {
	id := w.scs.GetString(v.ctx(), personKey)
	if id == "" {
		return nil
	}

	person, err := w.store.User(v.ctx(), id)
	if errors.Is(err, store.ErrNotFound) {
		return w.scs.Destroy(v.ctx())
	}
	if err != nil {
		return err
	}

	v.person = &person
	return w.identifyMember(v)
}

// identifyMember finds the account that the user of a visit acts for: the one they chose, or the first.
func (w *Web) identifyMember(v *pageRequest) error {
	memberships, err := w.store.Memberships(v.ctx(), v.person.ID)
	if err != nil || len(memberships) == 0 {
		return err
	}

	chosen := w.scs.GetString(v.ctx(), accountKey)
	at := max(0, slices.IndexFunc(memberships, func(m store.Membership) bool { return m.AccountID == chosen }))
	v.member = &memberships[at]

	account, err := w.store.Account(v.ctx(), v.member.AccountID)
	v.account = &account
	return err
}
