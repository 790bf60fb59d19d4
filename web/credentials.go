package web

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
	"github.com/relaypdf/relaypdf/web/mail"
)

// Changes of credentials. A session alone is not enough: the member enters the password. Without a password the
// member enters a code of the second factor. Without either the member confirms with the identity provider, with an
// emailed code or by a new login.

const (
	// confirmPath is the page on which members without password and second factor
	// confirm that it is them, undoPath the one of links that undo a change.
	confirmPath = "/dashboard/settings/confirm"
	undoPath    = "/undo"
	// provenLife is the period for which a new login or a confirmation counts, for members who have neither
	// password nor second factor.
	provenLife = 10 * time.Minute
	provenKey  = "proven"
	// emailedKey holds the hash of an emailed code and its time, emailedLife is how long
	// the code works.
	emailedKey  = "emailed"
	emailedLife = 10 * time.Minute
	// joinedKey is the user who has signed up in this browser.
	joinedKey = "joined"
)

// errOtherPerson means that a link belongs to another member than the one logged in.
var errOtherPerson = errors.New("the link is another member's")

// changeCredentials changes how a user logs in. The email about it goes to the previous address, with a link that
// undoes the change. Of the user's sessions only the visitor's own continues, under a new token, and only if stays
// is true.
func (w *Web) changeCredentials(
	v *pageRequest, id string, c store.CredentialChange, stays bool, subject, line string,
) error {
	if stays {
		if err := w.scs.RenewToken(v.ctx()); err != nil {
			return err
		}
		c.KeepSession = storedToken(w.scs.Token(v.ctx()))
	}

	if w.mail == nil {
		return w.store.ChangeCredentials(v.ctx(), id, c)
	}

	c.BuildMail = func(before store.User, undo string) ([]store.QueuedEmail, error) {
		return mail.SealAll(w.mail, []string{before.Email}, mail.Message{
			Subject: subject,
			Lines: []string{
				line + " All other sessions were ended.",
				fmt.Sprintf(
					"If it was not you, undo the change within %d days. Undoing restores %s and its two-factor "+
						"authentication, sets a new password and ends all sessions. Then check your API keys.",
					store.UndoLife/(24*time.Hour), before.Email,
				),
			},
			Link: mail.Link{Text: "Undo this change", URL: w.cfg.BaseURL + undoPath + "?token=" + undo},
		})
	}

	err := w.store.ChangeCredentials(v.ctx(), id, c)
	if err == nil {
		w.mail.Wake()
	}
	return err
}

// setProven records that the member of a session has shown just now that it is them.
func (w *Web) setProven(v *pageRequest) {
	w.scs.Put(v.ctx(), provenKey, w.now().UTC().Format(time.RFC3339))
}

func (w *Web) proven(v *pageRequest) bool {
	at, err := time.Parse(time.RFC3339, w.scs.GetString(v.ctx(), provenKey))
	return err == nil && w.now().Sub(at) <= provenLife
}

// proofOf returns the credential that a change of credentials asks for.
func (w *Web) proofOf(v *pageRequest) views.Proof {
	switch {
	case v.person.Password != "":
		return views.ProofPassword
	case len(v.person.Factor) > 0:
		return views.ProofCode
	case w.proven(v):
		return views.ProofGiven
	}
	return views.ProofElsewhere
}

// prove checks the credential in a field of a form, and reports whether it is the member's; if not, it returns the
// error text. A code is used up whatever the result of the rest of the form.
func (w *Web) prove(v *pageRequest, field string) (wrong string, ok bool, err error) {
	given := v.r.FormValue(field)
	proof := w.proofOf(v)
	switch {
	case proof == views.ProofGiven:
		return "", true, nil
	case proof == views.ProofElsewhere || given == "":
		return "", false, nil
	}

	_, allowed := w.allow(v.ctx(), "proof:"+storedToken(w.scs.Token(v.ctx())), triesPerPerson, triesWindow)
	if proof == views.ProofCode {
		err := w.useCode(v, *v.person, given)
		switch {
		case !allowed:
			return "", false, errTooMany
		case errors.Is(err, store.ErrUsed):
			return wrongCode, false, nil
		}
		return "", err == nil, err
	}

	if !allowed {
		return "", false, errTooMany
	}
	ok, err = matchPassword(v.person.Password, given)
	if err == nil && !ok {
		wrong = "Incorrect password."
	}
	return wrong, ok, err
}

// askFactor shows the page that asks for a credential before a change.
func (w *Web) askFactor(m views.Sure) func(*pageRequest) error {
	return func(v *pageRequest) error { return w.showProofPage(v, m, "") }
}

// requireProof makes a change once the visitor has shown that it is them. The form that the
// visitor sent is sent again with the proof.
func (w *Web) requireProof(m views.Sure, do func(*pageRequest) error) func(*pageRequest) error {
	return func(v *pageRequest) error {
		wrong, ok, err := w.prove(v, "password")
		switch {
		case err != nil:
			return err
		case !ok:
			return w.showProofPage(v, m, wrong)
		}

		return do(v)
	}
}

func (w *Web) showProofPage(v *pageRequest, m views.Sure, wrong string) error {
	m.Proof = w.proofOf(v)
	if m.Proof == views.ProofElsewhere {
		return w.confirmPage(v, http.StatusOK, views.Confirmation{Form: views.Form{Errors: map[string]string{}}})
	}

	m.Form = views.Form{Errors: map[string]string{}}
	for name, values := range v.r.Form {
		if name != "password" && v.r.Method == http.MethodPost {
			m.Fields = append(m.Fields, views.KeptField{Name: name, Value: values[0]})
		}
	}
	slices.SortFunc(m.Fields, func(a, b views.KeptField) int { return strings.Compare(a.Name, b.Name) })

	status := http.StatusOK
	if wrong != "" {
		status = http.StatusUnprocessableEntity
		m.Errors["password"] = wrong
	}
	return v.show(status, views.SurePage(v.page(m.Title, settingsPath), m))
}

// showConfirm asks a member without password and second factor to confirm that it is
// them.
func (w *Web) showConfirm(v *pageRequest) error {
	if w.proofOf(v) != views.ProofElsewhere {
		return v.redirect(securityPath)
	}
	return w.confirmPage(v, http.StatusOK, views.Confirmation{Form: views.Form{Errors: map[string]string{}}})
}

func (w *Web) confirmPage(v *pageRequest, status int, m views.Confirmation) error {
	m.Email = v.person.Email
	m.Mail = w.mail != nil
	if v.person.Identity != "" {
		m.Provider = w.cfg.provider()
	}
	return v.show(status, views.ConfirmationPage(v.page("Confirm your identity", settingsPath), m))
}

// emailCode sends a code to the member's address. It works in this session, once.
func (w *Web) emailCode(v *pageRequest) error {
	if w.mail == nil {
		return errNotFound
	}
	if _, ok := w.allow(v.ctx(), "confirm:person:"+v.person.ID, resetsPerPerson, resetsWindow); !ok {
		return errTooMany
	}

	code := rand.Text()[:8]
	w.scs.Put(v.ctx(), emailedKey, codeHash(v.person.ID, code)+" "+w.now().UTC().Format(time.RFC3339))
	err := w.sendEmail(v.ctx(), mail.Message{
		To: v.person.Email, Subject: "Your code is " + code[:4] + "-" + code[4:],
		Lines: []string{
			"Enter this code on the page that requested it: " +
				code[:4] + "-" + code[4:] + ". It is valid once, for 10 minutes.",
			"If you did not request it, end your sessions in the settings.",
		},
	})
	if err != nil {
		return err
	}

	return w.confirmPage(v, http.StatusOK, views.Confirmation{
		Form: views.Form{Errors: map[string]string{}},
		Sent: true,
	})
}

func codeHash(personID, code string) string {
	sum := sha256.Sum256([]byte(personID + " " + code))
	return hex.EncodeToString(sum[:])
}

// confirmFactor checks an emailed code. Five wrong ones end it.
func (w *Web) confirmFactor(v *pageRequest) error {
	hash, at, _ := strings.Cut(w.scs.GetString(v.ctx(), emailedKey), " ")
	sent, err := time.Parse(time.RFC3339, at)
	if err != nil || w.now().Sub(sent) > emailedLife {
		return v.redirect(confirmPath)
	}

	_, allowed := w.allow(v.ctx(), "confirm:code:"+hash, 5, emailedLife)
	right := subtle.ConstantTimeCompare([]byte(hash), []byte(codeHash(v.person.ID, plainCode(v.value("code"))))) == 1
	if right || !allowed {
		w.scs.Remove(v.ctx(), emailedKey)
	}

	switch {
	case !allowed:
		return errTooMany
	case !right:
		return w.confirmPage(v, http.StatusUnprocessableEntity, views.Confirmation{
			Form: views.Form{Errors: map[string]string{"code": wrongCode}},
			Sent: true,
		})
	}
	return w.confirmed(v)
}

func (w *Web) confirmed(v *pageRequest) error {
	w.setProven(v)
	return v.redirectWith(
		securityPath, "Identity confirmed. You can change your password, email and login methods for 10 minutes.",
	)
}

// showUndo and undo take the link of an email about a change of credentials.
func (w *Web) showUndo(v *pageRequest) error {
	m, err := w.undoModel(v)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, views.NewPasswordPage(v.page(m.Title, ""), m))
}

func (w *Web) undoModel(v *pageRequest) (views.NewPassword, error) {
	email, err := w.store.UndoEmail(v.ctx(), v.value("token"))
	return views.NewPassword{
		Form: views.Form{Errors: map[string]string{}}, Title: "Undo the change",
		Email: email, Action: undoPath + "?token=" + v.value("token"),
		Note: "This restores " + email +
			" and the two-factor authentication you had before. All sessions end, and later changes are undone too.",
	}, err
}

func (w *Web) undo(v *pageRequest) error {
	m, err := w.undoModel(v)
	if err != nil {
		return err
	}

	password := v.r.FormValue("password")
	if wrong := checkPassword(password); wrong != "" {
		m.Errors["password"] = wrong
		return v.show(http.StatusUnprocessableEntity, views.NewPasswordPage(v.page(m.Title, ""), m))
	}

	id, err := w.store.UndoCredentials(v.ctx(), v.value("token"), hashPassword(password))
	if errors.Is(err, store.ErrExists) {
		m.Errors[""] = m.Email + " now belongs to another user. Contact the operator of this service."
		return v.show(http.StatusConflict, views.NewPasswordPage(v.page(m.Title, ""), m))
	}
	if err != nil {
		return err
	}

	person, err := w.store.User(v.ctx(), id)
	if err != nil {
		return err
	}

	v.person = &person
	if err := w.identifyMember(v); err != nil {
		return err
	}
	if err := v.record("person.undone", person.Email, ""); err != nil {
		return err
	}
	return w.proveFactor(v, person, securityPath, false)
}
