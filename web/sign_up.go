package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
	"github.com/relaypdf/relaypdf/web/mail"
)

// The maximum number of accounts per address, and the maximum number per hour that begin with money.
const (
	signUpsPerAddress = 5
	signUpsWindow     = 24 * time.Hour
)

// The lifetimes of the links in emails.
const (
	verifyLife = 3 * 24 * time.Hour
	resetLife  = time.Hour
	inviteLife = 7 * 24 * time.Hour
)

func (w *Web) showSignUp(v *pageRequest) error {
	if v.person != nil {
		return v.redirect("/dashboard")
	}
	if !w.signUpOpen() {
		return v.show(http.StatusForbidden, views.SignUpClosedPage(v.page("Sign-up is closed", "")))
	}
	return v.show(http.StatusOK, views.SignUpPage(v.page("Create an account", ""), w.signUpModel(v)))
}

func (w *Web) signUpOpen() bool { return w.cfg.SignUp == SignUpOpen }

func (w *Web) signUpModel(v *pageRequest) views.SignUp {
	m := views.SignUp{
		Form: views.Form{
			Values: map[string]string{"name": v.value("name"), "email": v.value("email")},
			Errors: map[string]string{},
		},
		Provider: w.cfg.provider(),
		Accepts:  w.customLinks(),
		Mail:     w.mail != nil,
	}

	if w.cfg.Trial > 0 {
		m.Trial = views.Dollars(w.cfg.Trial)
	}
	return m
}

// signUp makes a user and an account, and emails a link that verifies the address. Only the email reveals whether the
// address was known already.
func (w *Web) signUp(v *pageRequest) error {
	if !w.signUpOpen() {
		return v.show(http.StatusForbidden, views.SignUpClosedPage(v.page("Sign-up is closed", "")))
	}

	m := w.signUpModel(v)
	email, err := store.MailAddress(v.value("email"))
	if err != nil {
		m.Errors["email"] = "Enter an email address, such as maya@example.com."
	}
	password := v.r.FormValue("password")
	if wrong := checkPassword(password); wrong != "" {
		m.Errors["password"] = wrong
	}
	if m.Failed() {
		return v.show(http.StatusUnprocessableEntity, views.SignUpPage(v.page("Create an account", ""), m))
	}

	if _, ok := w.allow(v.ctx(), "signup:address:"+middleware.ClientIP(v.ctx()), signUpsPerAddress, signUpsWindow); !ok {
		m.Errors[""] = "Too many accounts were created from this IP address in 24 hours. Try again tomorrow."
		return v.show(http.StatusTooManyRequests, views.SignUpPage(v.page("Create an account", ""), m))
	}

	hash := hashPassword(password)
	person, err := w.store.CreateUser(v.ctx(), store.NewUser{Email: email, Name: v.value("name"), Password: hash})
	switch {
	case errors.Is(err, store.ErrExists):
		err = w.remindOfAccount(v.ctx(), email)
	case err == nil:
		w.scs.Put(v.ctx(), joinedKey, person.ID)
		err = w.sendVerification(v.ctx(), person)
	}
	if err != nil {
		return err
	}
	return w.showUnconfirmed(v, http.StatusOK, email)
}

// showUnconfirmed reports how the user of an address that is not verified yet opens the account.
func (w *Web) showUnconfirmed(v *pageRequest, status int, email string) error {
	title := "Check your email"
	if w.mail == nil {
		title = "Ask the operator for a link"
	}
	return v.show(status, views.ConfirmSentPage(v.page(title, ""), views.ConfirmSent{
		Email: email,
		Mail:  w.mail != nil,
	}))
}

// remindOfAccount emails the owner of an address about a sign-up attempt with it; the response does not reveal that
// the address is known. An unverified address gets a link that verifies it.
func (w *Web) remindOfAccount(ctx context.Context, email string) error {
	person, err := w.store.UserByEmail(ctx, email)
	if err != nil {
		return err
	}

	if person.VerifiedAt == nil {
		return w.sendVerification(ctx, person)
	}

	return w.sendEmail(ctx, mail.Message{
		To: email, Subject: "You already have an account",
		Lines: []string{
			"Someone tried to sign up with this email address, which already has an account.",
			"If you forgot your password, reset it. If it was not you, no action is needed.",
		},
		Link: mail.Link{Text: "Reset password", URL: w.cfg.BaseURL + "/password/reset"},
	})
}

func (w *Web) sendVerification(ctx context.Context, person store.User) error {
	secret, err := w.store.NewToken(ctx, store.Token{
		Purpose:   store.TokenVerify,
		PersonID:  person.ID,
		ExpiresAt: w.now().Add(verifyLife),
	})
	if err != nil {
		return err
	}

	return w.sendEmail(ctx, mail.Message{
		To: person.Email, Subject: "Confirm your email address",
		Lines: []string{
			"To open your relaypdf account, confirm that this email address is yours.",
			"The link works once, for 3 days. If you did not sign up, ignore this email.",
		},
		Link: mail.Link{Text: "Confirm email address", URL: w.cfg.BaseURL + "/verify?token=" + secret},
	})
}

// sendEmail queues an email; a service without email sends none.
func (w *Web) sendEmail(ctx context.Context, letter mail.Message) error {
	if w.mail == nil {
		return nil
	}
	return w.mail.Enqueue(ctx, letter)
}

func (w *Web) showVerify(v *pageRequest) error {
	token, purpose, err := w.verifyToken(v)
	if err != nil {
		return err
	}

	switch own := w.scs.GetString(v.ctx(), joinedKey) == token.PersonID; {
	case purpose == store.TokenEmail && v.person == nil:
		return v.askToSignIn()
	case purpose == store.TokenEmail && v.person.ID != token.PersonID:
		return errOtherPerson
	case purpose == store.TokenVerify && !own:
		m, err := w.claimModel(v, token)
		if err != nil {
			return err
		}
		return v.show(http.StatusOK, views.NewPasswordPage(v.page(m.Title, ""), m))
	}

	m := views.Confirm{
		Title:  "Confirm your email address",
		Text:   "This opens your account.",
		Action: "/verify?token=" + v.value("token"),
		Button: "Confirm email address",
	}
	if purpose == store.TokenEmail {
		m.Text = "You will log in with " + token.Data + "."
		m.Button = "Use this email address"
	}
	return v.show(http.StatusOK, views.ConfirmPage(v.page(m.Title, ""), m))
}

// claimModel asks for a password if the link of a sign-up is opened in another browser: someone else may have signed
// up with the address.
func (w *Web) claimModel(v *pageRequest, token store.Token) (views.NewPassword, error) {
	person, err := w.store.User(v.ctx(), token.PersonID)
	return views.NewPassword{
		Form: views.Form{Errors: map[string]string{}}, Title: "Confirm your email address",
		Email: person.Email, Action: "/verify?token=" + v.value("token"),
		Note: person.Email +
			" signed up in another browser, so choose a password here. It replaces the one chosen at sign-up.",
	}, err
}

// claimAddress verifies an address in another browser than the one of its sign-up.
func (w *Web) claimAddress(v *pageRequest, token store.Token) error {
	m, err := w.claimModel(v, token)
	if err != nil {
		return err
	}

	password := v.r.FormValue("password")
	if wrong := checkPassword(password); wrong != "" {
		m.Errors["password"] = wrong
		return v.show(http.StatusUnprocessableEntity, views.NewPasswordPage(v.page(m.Title, ""), m))
	}

	if _, err := w.store.UseToken(v.ctx(), store.TokenVerify, v.value("token")); err != nil {
		return err
	}
	err = w.store.ClaimUser(v.ctx(), token.PersonID, store.NewUser{Password: hashPassword(password)})
	if errors.Is(err, store.ErrExists) {
		return store.ErrUsed
	}
	if err != nil {
		return err
	}
	return w.openSignUp(v, token.PersonID)
}

// openSignUp signs a user in whose address was verified just now.
func (w *Web) openSignUp(v *pageRequest, personID string) error {
	person, err := w.welcome(v.ctx(), personID)
	if err != nil {
		return err
	}
	w.scs.Remove(v.ctx(), joinedKey)
	return w.proveFactor(v, person, "/dashboard", false)
}

// claimable reports whether the verified owner of an address may take over the user created with it: the address was
// not verified before, and there is nothing to take over.
func (w *Web) claimable(ctx context.Context, person store.User) (bool, error) {
	if person.VerifiedAt != nil || person.Operator {
		return false, nil
	}
	memberships, err := w.store.Memberships(ctx, person.ID)
	return err == nil && len(memberships) == 0, err
}

// join makes a user with a verified address. If known is not empty, the new user replaces it: someone else may have
// signed up with the address.
func (w *Web) join(ctx context.Context, known store.User, n store.NewUser) (store.User, error) {
	if known.ID == "" {
		return w.store.CreateUser(ctx, n)
	}
	if err := w.store.ClaimUser(ctx, known.ID, n); err != nil {
		return store.User{}, err
	}
	return w.store.User(ctx, known.ID)
}

// verifyToken finds the link of an email that verifies its address.
func (w *Web) verifyToken(v *pageRequest) (store.Token, string, error) {
	for _, purpose := range []string{store.TokenVerify, store.TokenEmail} {
		token, err := w.store.Token(v.ctx(), purpose, v.value("token"))
		if !errors.Is(err, store.ErrUsed) {
			return token, purpose, err
		}
	}
	return store.Token{}, "", store.ErrUsed
}

func (w *Web) verify(v *pageRequest) error {
	token, purpose, err := w.verifyToken(v)
	switch {
	case err != nil:
		return err
	case purpose == store.TokenEmail && v.person == nil:
		return v.askToSignIn()
	case purpose == store.TokenEmail && v.person.ID != token.PersonID:
		return errOtherPerson
	case purpose == store.TokenVerify && w.scs.GetString(v.ctx(), joinedKey) != token.PersonID:
		return w.claimAddress(v, token)
	}

	if token, err = w.store.UseToken(v.ctx(), purpose, v.value("token")); err != nil {
		return err
	}

	if purpose == store.TokenEmail {
		return w.changeEmail(v, token)
	}
	return w.openSignUp(v, token.PersonID)
}

// changeEmail puts an address into use that was shown to be the user's.
func (w *Web) changeEmail(v *pageRequest, token store.Token) error {
	change := store.CredentialChange{Email: &token.Data}
	err := w.changeCredentials(
		v, token.PersonID, change, true, "Your email address was changed",
		"You now log in with "+token.Data+" instead of this address.",
	)

	if errors.Is(err, store.ErrExists) {
		return v.redirectWith(
			"/dashboard/settings", "Email address not changed: another user already has "+token.Data+".",
		)
	}
	if err != nil {
		return err
	}

	if err := v.record("person.email", token.Data, ""); err != nil {
		return err
	}
	return v.redirectWith("/dashboard/settings", "Email address changed to "+token.Data+".")
}

// welcome records that a user's address is verified. A user without an account then gets one, with the trial credit.
func (w *Web) welcome(ctx context.Context, personID string) (store.User, error) {
	if _, err := w.store.VerifyUser(ctx, personID, ""); err != nil {
		return store.User{}, err
	}
	person, err := w.store.User(ctx, personID)
	if err != nil {
		return store.User{}, err
	}

	memberships, err := w.store.Memberships(ctx, personID)
	if err != nil || len(memberships) > 0 {
		return person, err
	}

	account, err := w.store.CreateAccount(ctx, person.Email, w.cfg.Trial)
	if errors.Is(err, store.ErrExists) {
		// The link was used twice at once, or the operator has made it meanwhile.
		account, err = w.store.AccountByEmail(ctx, person.Email)
	}
	if err != nil {
		return person, err
	}

	err = w.store.AddMember(ctx, account.ID, personID, store.RoleOwner)
	if err != nil && !errors.Is(err, store.ErrExists) {
		return person, err
	}
	return person, nil
}
