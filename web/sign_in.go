package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
	"github.com/relaypdf/relaypdf/web/mail"
)

// wrongPassword is the message for a wrong password and for an unknown address alike.
const wrongPassword = "Email and password do not match."

func (w *Web) signInModel(v *pageRequest) views.SignIn {
	return views.SignIn{
		Form: views.Form{
			Values: map[string]string{"email": v.value("email"), "remember": v.value("remember")},
			Errors: map[string]string{},
		},
		Next: ownPath(v.value("next")), SignUp: w.signUpOpen(), Provider: w.cfg.provider(),
	}
}

// provider returns the name of the identity provider; empty means none.
func (c *Config) provider() string {
	if c.Identities == nil {
		return ""
	}
	return c.Identities.Name()
}

func (w *Web) showSignIn(v *pageRequest) error {
	if v.person != nil {
		return v.redirect(v.value("next"))
	}
	return v.show(http.StatusOK, views.SignInPage(v.page("Log in", ""), w.signInModel(v)))
}

// signIn checks email and password. It answers the same, in the same time, for
// a wrong password and an unknown address.
func (w *Web) signIn(v *pageRequest) error {
	m := w.signInModel(v)
	refuse := func(status int, text string) error {
		m.Errors["password"] = text
		return v.show(status, views.SignInPage(v.page("Log in", ""), m))
	}

	email := v.value("email")
	person, err := w.store.UserByEmail(v.ctx(), email)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}

	ok, err := w.slowDown(v, email, person.ID)
	if err != nil {
		return err
	}
	if !ok {
		v.w.Header().Set("Retry-After", strconv.Itoa(int(maxDelay.Seconds())))
		return refuse(
			http.StatusTooManyRequests,
			"Too many login attempts for this account. Try again in 10 seconds, use a browser that you have logged in with before, or reset the password.",
		)
	}

	ok, err = matchPassword(person.Password, v.r.FormValue("password"))
	if err != nil {
		return err
	}
	if !ok {
		return refuse(http.StatusUnprocessableEntity, wrongPassword)
	}
	return w.proveFactor(v, person, m.Next, m.Checked("remember"))
}

// proveFactor continues after the password: with the second factor, if there is one.
func (w *Web) proveFactor(v *pageRequest, person store.User, next string, remember bool) error {
	if len(person.Factor) == 0 {
		return w.enter(v, person, next, remember)
	}

	if err := w.scs.RenewToken(v.ctx()); err != nil {
		return err
	}

	w.scs.Put(v.ctx(), pendingKey, person.ID)
	w.scs.Put(v.ctx(), pendingAtKey, w.now().UTC().Format(time.RFC3339))
	w.scs.Put(v.ctx(), rememberKey, remember)
	return v.redirect("/login/code?next=" + url.QueryEscape(next))
}

// enter signs a user in under a new token, so a session that someone else started does not become the user's.
func (w *Web) enter(v *pageRequest, person store.User, next string, remember bool) error {
	if err := w.scs.RenewToken(v.ctx()); err != nil {
		return err
	}

	for _, key := range []string{pendingKey, pendingAtKey, rememberKey} {
		w.scs.Remove(v.ctx(), key)
	}
	w.scs.Put(v.ctx(), personKey, person.ID)
	w.setProven(v)
	if err := w.rememberDevice(v, person.ID); err != nil {
		return err
	}

	w.scs.Put(v.ctx(), deviceKey, device(v.r.UserAgent()))
	w.scs.Put(v.ctx(), addressKey, middleware.ClientIP(v.ctx()))
	w.scs.RememberMe(v.ctx(), remember)
	v.person = &person
	w.hint(v)

	if err := w.identifyMember(v); err != nil {
		return err
	}
	if err := w.alert(v, person); err != nil {
		return err
	}
	if err := v.record(store.SignedIn, person.Email, device(v.r.UserAgent())); err != nil {
		return err
	}
	return v.redirect(next)
}

// alertSpan is the period for which a device is known after a login.
const alertSpan = 90 * 24 * time.Hour

// alert emails a user about a login with a kind of device that the user has not used lately. The first login of
// all causes no email.
func (w *Web) alert(v *pageRequest, person store.User) error {
	if v.account == nil {
		return nil
	}

	here := device(v.r.UserAgent())
	before, err := w.store.SignInDevices(v.ctx(), v.account.ID, person.ID, w.now().Add(-alertSpan))
	if err != nil || len(before) == 0 || slices.Contains(before, here) {
		return err
	}

	return w.sendEmail(v.ctx(), mail.Message{
		To: person.Email, Subject: "New login with " + here,
		Lines: []string{
			person.Email + " logged in with " + here + " from IP address " +
				middleware.ClientIP(v.ctx()) + " on " + w.now().UTC().Format("January 2, 2006, 15:04 UTC") + ".",
			"If it was not you, end that session and change your password.",
		},
		Link: mail.Link{Text: "View sessions", URL: w.cfg.BaseURL + securityPath + "#sessions"},
	})
}

// endOthers ends every other session of a user.
func (w *Web) endOthers(ctx context.Context, personID string) error {
	return w.store.EndOtherSessions(ctx, personID, storedToken(w.scs.Token(ctx)))
}

func (w *Web) signOut(v *pageRequest) error {
	if v.person != nil {
		if err := v.record("session.ended", v.person.Email, ""); err != nil {
			return err
		}
	}

	if err := w.scs.Destroy(v.ctx()); err != nil {
		return err
	}

	v.person = nil
	w.hint(v)
	v.w.Header().Set("Clear-Site-Data", `"cache", "storage"`)
	return v.redirect("/login")
}
