package web

import (
	"errors"
	"net/http"
	"time"

	"relaypdf/mail"
	"relaypdf/store"
	"relaypdf/views"
)

// How often links may be asked for: by one address, and for one person.
const (
	resetsPerAddress = 10
	resetsPerPerson  = 3
	resetsWindow     = time.Hour
)

func (w entrance) showResetRequest(v *visit) error {
	m := views.ResetRequest{Form: views.Form{Values: map[string]string{"email": v.value("email")}}, Mail: w.mail != nil}
	return v.show(http.StatusOK, views.ResetRequestPage(v.page("Reset the password", ""), m))
}

// requestReset sends a link that sets a new password. The answer is the same
// for unknown addresses.
func (w entrance) requestReset(v *visit) error {
	email := v.value("email")
	m := views.ResetRequest{Form: views.Form{Values: map[string]string{"email": email}, Errors: map[string]string{}}, Mail: w.mail != nil}
	if _, err := store.MailAddress(email); err != nil {
		m.Errors["email"] = "This must be an email address such as maya@example.com."
		return v.show(http.StatusUnprocessableEntity, views.ResetRequestPage(v.page("Reset the password", ""), m))
	}
	if _, ok := w.allow(v.ctx(), "reset:address:"+w.cfg.ClientIP(v.r), resetsPerAddress, resetsWindow); !ok {
		return errTooMany
	}
	m.Sent = true
	if _, ok := w.allow(v.ctx(), "reset:person:"+email, resetsPerPerson, resetsWindow); ok {
		if err := w.sendReset(v, email); err != nil {
			return err
		}
	}
	return v.show(http.StatusOK, views.ResetRequestPage(v.page("Look into your mail", ""), m))
}

func (w entrance) sendReset(v *visit, email string) error {
	person, err := w.people.ByEmail(v.ctx(), email)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	secret, err := w.people.NewToken(v.ctx(), store.Token{Purpose: store.TokenReset, PersonID: person.ID, ExpiresAt: w.now().Add(resetLife)})
	if err != nil {
		return err
	}
	return w.send(v.ctx(), mail.Letter{
		To: person.Email, Subject: "Set a new password",
		Lines: []string{"Somebody, probably you, asked for a new password. The link works once, for an hour.", "If it was not you, there is nothing to do: nothing has changed."},
		Link:  mail.Link{Text: "Set a new password", URL: w.cfg.BaseURL + "/password/new?token=" + secret},
	})
}

func (w entrance) newPasswordModel(v *visit, token store.Token) (views.NewPassword, error) {
	person, err := w.people.ByID(v.ctx(), token.PersonID)
	return views.NewPassword{
		Form: views.Form{Errors: map[string]string{}}, Title: "Set a new password", Email: person.Email, Action: "/password/new?token=" + v.value("token"),
	}, err
}

func (w entrance) showNewPassword(v *visit) error {
	token, err := w.people.Token(v.ctx(), store.TokenReset, v.value("token"))
	if err != nil {
		return err
	}
	m, err := w.newPasswordModel(v, token)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, views.NewPasswordPage(v.page(m.Title, ""), m))
}

// setNewPassword sets the password that the link of a letter is for. The link
// shows the address to be the person's as well. A second factor is asked for
// all the same.
func (w entrance) setNewPassword(v *visit) error {
	token, err := w.people.Token(v.ctx(), store.TokenReset, v.value("token"))
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
	if token, err = w.people.UseToken(v.ctx(), store.TokenReset, v.value("token")); err != nil {
		return err
	}
	if err := w.people.SetPassword(v.ctx(), token.PersonID, hashPassword(password), ""); err != nil {
		return err
	}
	person, err := w.welcome(v.ctx(), token.PersonID)
	if err != nil {
		return err
	}
	if err := w.send(v.ctx(), passwordChanged(person)); err != nil {
		return err
	}
	return w.passed(v, person, "/dashboard", false)
}

func passwordChanged(person store.Person) mail.Letter {
	return mail.Letter{
		To: person.Email, Subject: "Your password was changed",
		Lines: []string{"The password of your account was changed, and all other sessions ended.", "If it was not you, set a new one at once and look through your keys."},
	}
}

// showLink and useLink sign in with a link that the command line printed.
func (w entrance) showLink(v *visit) error {
	if _, err := w.people.Token(v.ctx(), store.TokenSignIn, v.value("token")); err != nil {
		return err
	}
	m := views.Confirm{Title: "Log in", Text: "This link works once.", Action: "/login/link?token=" + v.value("token"), Button: "Log in"}
	return v.show(http.StatusOK, views.ConfirmPage(v.page(m.Title, ""), m))
}

func (w entrance) useLink(v *visit) error {
	token, err := w.people.UseToken(v.ctx(), store.TokenSignIn, v.value("token"))
	if err != nil {
		return err
	}
	person, err := w.welcome(v.ctx(), token.PersonID)
	if err != nil {
		return err
	}
	return w.passed(v, person, "/dashboard", false)
}
