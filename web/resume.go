package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/views"
)

// A form submitted after its session has ended is stored, sealed, in the new session. The user who logs in there
// sees it again, and may send it.
const (
	resumePath       = "/dashboard/resume"
	savedFormKey     = "kept"
	savedFormPurpose = "kept form"
	// savedFormLife bounds for how long, maxKept how many bytes, keptPerAddress how
	// many in triesWindow.
	savedFormLife        = time.Hour
	maxSavedForm         = 64 << 10
	savedFormsPerAddress = 20
)

// savedForm is a form as it was sent.
type savedForm struct {
	Action string     `json:"action"`
	From   string     `json:"from"` // the page with the form
	Values url.Values `json:"values"`
	At     time.Time  `json:"at"`
}

// secretFields are fields that no session stores: without them their forms cannot be sent again.
var secretFields = []string{"password", "current", "code", "s3.secretAccessKey", "sftp.password", "sftp.privateKey"}

// cameFrom returns our page that a form was on.
func (v *pageRequest) cameFrom() string {
	from, err := url.Parse(v.r.Referer())
	if err != nil || !strings.HasPrefix(v.r.Referer(), v.web.cfg.BaseURL+"/") {
		return "/dashboard"
	}
	return ownPath(from.RequestURI())
}

// saveForm keeps a form for after the login, and reports whether it did.
func (v *pageRequest) saveForm() (bool, error) {
	w := v.web
	size := 0
	for name, values := range v.r.Form {
		for _, value := range values {
			size += len(name) + len(value)
		}
		if slices.Contains(secretFields, name) {
			return false, nil
		}
	}

	if size == 0 || size > maxSavedForm {
		return false, nil
	}
	if _, ok := w.allow(v.ctx(), "kept:address:"+middleware.ClientIP(v.ctx()), savedFormsPerAddress, triesWindow); !ok {
		return false, nil
	}

	form := savedForm{Action: v.r.URL.Path, From: v.cameFrom(), Values: v.r.Form, At: w.now()}
	if err := v.putSealed(savedFormKey, savedFormPurpose, form); err != nil {
		return false, err
	}
	v.flash("Your session has ended. Log in to send the form that you filled in.")
	return true, nil
}

// takeSavedForm returns the form that waits in the session, if there is one.
func (w *Web) takeSavedForm(v *pageRequest) (form savedForm, ok bool) {
	return form, v.openSealed(savedFormKey, savedFormPurpose, &form) && w.now().Sub(form.At) <= savedFormLife
}

// fieldWords are the labels of fields that differ from their names.
var fieldWords = map[string]string{
	"url":        "URL",
	"events":     "Event",
	"job":        "Per call",
	"day":        "Per day",
	"cap":        "Monthly maximum",
	"reload":     "Add",
	"threshold":  "Balance below",
	"expires":    "Expires",
	"limit":      "Spending limit",
	"operations": "Operation",
	"account":    "Account name",
	"q":          "Text",
}

func fieldWord(name string) string {
	if word := fieldWords[name]; word != "" || name == "" {
		return word
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// showSavedForm shows the form that was sent when the session had ended.
func (w *Web) showSavedForm(v *pageRequest) error {
	if v.person == nil {
		return v.askToSignIn()
	}

	form, ok := w.takeSavedForm(v)
	if !ok {
		w.scs.Remove(v.ctx(), savedFormKey)
		return v.redirect("/dashboard")
	}

	m := views.Kept{Action: form.Action, From: form.From}
	for name, values := range form.Values {
		for _, value := range values {
			m.Fields = append(m.Fields, views.KeptField{Name: name, Word: fieldWord(name), Value: value})
		}
	}

	slices.SortStableFunc(m.Fields, func(a, b views.KeptField) int { return strings.Compare(a.Word, b.Word) })
	return v.show(http.StatusOK, views.KeptPage(v.page("Continue where you left off", ""), m))
}
