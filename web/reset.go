package web

import (
	"errors"
	"net/http"
	"time"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
	"github.com/relaypdf/relaypdf/web/mail"
)

// The limits of requests for links: per address, and per user.
const (
	resetsPerAddress = 10
	resetsPerPerson  = 3
	resetsWindow     = time.Hour
)

func (w *Web) showResetRequest(v *pageRequest) error {
	m := views.ResetRequest{Form: views.Form{Values: map[string]string{"email": v.value("email")}}, Mail: w.mail != nil}
	return v.show(http.StatusOK, views.ResetRequestPage(v.page("Reset your password", ""), m))
}

// requestReset sends a link that sets a new password. The response is the same for unknown addresses, and takes the
// same time.
func (w *Web) requestReset(v *pageRequest) error {
	email := v.value("email")
	m := views.ResetRequest{
		Form: views.Form{Values: map[string]string{"email": email}, Errors: map[string]string{}},
		Mail: w.mail != nil,
	}

	if _, err := store.MailAddress(email); err != nil {
		m.Errors["email"] = "Enter an email address, such as maya@example.com."
		return v.show(http.StatusUnprocessableEntity, views.ResetRequestPage(v.page("Reset your password", ""), m))
	}

	person, err := w.store.UserByEmail(v.ctx(), email)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}

	counter := "reset:person:" + store.NormalAddress(email)
	if device := w.knownDevice(v, person.ID); device != "" {
		counter = "reset:device:" + device
	} else if _, ok := w.allow(v.ctx(), "reset:address:"+middleware.ClientIP(v.ctx()), resetsPerAddress, resetsWindow); !ok {
		return errTooMany
	}

	m.Sent = true
	// Beyond the limit no email is sent; earlier links still work.
	if _, ok := w.allow(v.ctx(), counter, resetsPerPerson, resetsWindow); ok {
		if err := w.sendReset(v, email); err != nil {
			return err
		}
	}

	title := "Check your email"
	if !m.Mail {
		title = "Reset your password"
	}
	return v.show(http.StatusOK, views.ResetRequestPage(v.page(title, ""), m))
}

// sendReset emails a link. For an unknown address it takes the same time.
func (w *Web) sendReset(v *pageRequest, email string) error {
	if w.mail == nil {
		return nil
	}

	expiresAt := w.now().Add(resetLife)
	err := w.store.RequestReset(v.ctx(), email, expiresAt, func(to, secret string) ([]store.QueuedEmail, error) {
		return mail.SealAll(w.mail, []string{to}, mail.Message{
			Subject: "Set a new password",
			Lines: []string{
				"Someone requested a new password for your account from IP address " + middleware.ClientIP(v.ctx()) +
					" on " + w.now().UTC().Format("January 2, 2006, 15:04 UTC") + ". The link works once, for 1 hour.",
				"If it was not you, ignore this email. Your password has not changed.",
			},
			Link: mail.Link{Text: "Set new password", URL: w.cfg.BaseURL + "/password/new?token=" + secret},
		})
	})

	if err == nil {
		w.mail.Wake()
	}
	return err
}

func (w *Web) newPasswordModel(v *pageRequest, token store.Token) (views.NewPassword, error) {
	person, err := w.store.User(v.ctx(), token.PersonID)
	return views.NewPassword{
		Form: views.Form{Errors: map[string]string{}}, Title: "Set a new password",
		Email: person.Email, Action: "/password/new?token=" + v.value("token"),
	}, err
}

func (w *Web) showNewPassword(v *pageRequest) error {
	token, err := w.store.Token(v.ctx(), store.TokenReset, v.value("token"))
	if err != nil {
		return err
	}
	m, err := w.newPasswordModel(v, token)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, views.NewPasswordPage(v.page(m.Title, ""), m))
}

// setNewPassword sets the password from the link of an email. The link verifies the email address as well. A second
// factor is required all the same.
func (w *Web) setNewPassword(v *pageRequest) error {
	token, err := w.store.Token(v.ctx(), store.TokenReset, v.value("token"))
	if err != nil {
		return err
	}
	m, err := w.newPasswordModel(v, token)
	if err != nil {
		return err
	}

	password := v.r.FormValue("password")
	if wrong := checkPassword(password); wrong != "" {
		m.Errors["password"] = wrong
		return v.show(http.StatusUnprocessableEntity, views.NewPasswordPage(v.page(m.Title, ""), m))
	}

	if token, err = w.store.UseToken(v.ctx(), store.TokenReset, v.value("token")); err != nil {
		return err
	}
	hash := hashPassword(password)
	err = w.store.ClaimUser(v.ctx(), token.PersonID, store.NewUser{Password: hash})
	if errors.Is(err, store.ErrExists) { // The address was verified before.
		err = w.changeCredentials(
			v, token.PersonID, store.CredentialChange{Password: &hash}, false, passwordSubject, passwordLine,
		)
	}
	if err != nil {
		return err
	}
	return w.enterByLink(v, token.PersonID)
}

// Texts of the email about a new password.
const (
	passwordSubject = "Your password was changed"
	passwordLine    = "The password of your account was changed."
)

// showLink and useLink log in with a link that the command line printed.
func (w *Web) showLink(v *pageRequest) error {
	if _, err := w.store.Token(v.ctx(), store.TokenSignIn, v.value("token")); err != nil {
		return err
	}

	m := views.Confirm{
		Title:  "Log in",
		Text:   "This link works once.",
		Action: "/login/link?token=" + v.value("token"),
		Button: "Log in",
	}
	return v.show(http.StatusOK, views.ConfirmPage(v.page(m.Title, ""), m))
}

func (w *Web) useLink(v *pageRequest) error {
	token, err := w.store.UseToken(v.ctx(), store.TokenSignIn, v.value("token"))
	if err != nil {
		return err
	}
	return w.enterByLink(v, token.PersonID)
}

// enterByLink logs in a user who has proved that the address is theirs.
func (w *Web) enterByLink(v *pageRequest, personID string) error {
	if w.scs.GetString(v.ctx(), joinedKey) != personID {
		// Someone else may have signed up with the address and set a password.
		err := w.store.ClaimUser(v.ctx(), personID, store.NewUser{})
		if err != nil && !errors.Is(err, store.ErrExists) {
			return err
		}
	}

	person, err := w.welcome(v.ctx(), personID)
	if err != nil {
		return err
	}
	return w.proveFactor(v, person, "/dashboard", false)
}
