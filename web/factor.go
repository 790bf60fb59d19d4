package web

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"github.com/relaypdf/relaypdf/render/barcode"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
)

const (
	// factorPeriod is the validity of an authenticator's code, in seconds; the code before and the code after are
	// accepted as well.
	factorPeriod = 30
	// codeLife is the time limit between the password and the code.
	codeLife      = 10 * time.Minute
	recoveryCodes = 10
	factorPurpose = "second factor "
)

// pending returns the user who has given the password and owes the code.
func (w *Web) pending(v *pageRequest) (store.User, error) {
	at, err := time.Parse(time.RFC3339, w.scs.GetString(v.ctx(), pendingAtKey))
	if err != nil || w.now().Sub(at) > codeLife {
		return store.User{}, store.ErrNotFound
	}
	return w.store.User(v.ctx(), w.scs.GetString(v.ctx(), pendingKey))
}

func (w *Web) showFactorCode(v *pageRequest) error {
	if _, err := w.pending(v); err != nil {
		return v.redirect("/login")
	}
	m := views.SecondFactor{Form: views.Form{}, Next: ownPath(v.value("next"))}
	return v.show(http.StatusOK, views.SecondFactorPage(v.page("Enter your code", ""), m))
}

func (w *Web) checkCode(v *pageRequest) error {
	person, err := w.pending(v)
	if errors.Is(err, store.ErrNotFound) {
		return v.redirect("/login")
	}
	if err != nil {
		return err
	}

	counter := "code:person:" + person.ID
	if device := w.knownDevice(v, person.ID); device != "" {
		counter = "code:device:" + device
	}

	_, allowed := w.allow(v.ctx(), counter, triesPerPerson, triesWindow)
	err = w.useCode(v, person, v.value("code")) // A code that is refused is spent, too.
	if !allowed {
		return errTooMany
	}
	if errors.Is(err, store.ErrUsed) {
		m := views.SecondFactor{
			Form: views.Form{Errors: map[string]string{"code": wrongCode}},
			Next: ownPath(v.value("next")),
		}
		return v.show(http.StatusUnprocessableEntity, views.SecondFactorPage(v.page("Enter your code", ""), m))
	}
	if err != nil {
		return err
	}

	return w.enter(v, person, v.value("next"), w.scs.GetBool(v.ctx(), rememberKey))
}

// useCode uses up a code of a user's authenticator, or one of their recovery codes, or returns store.ErrUsed.
// Either works once.
func (w *Web) useCode(v *pageRequest, person store.User, code string) error {
	code = plainCode(code)
	secret, err := w.box.Open(factorPurpose+person.ID, person.Factor)
	if err != nil {
		return err
	}
	if step, ok := matchStep(string(secret), code, w.now()); ok {
		return w.store.UseFactorStep(v.ctx(), person.ID, step)
	}
	return w.store.UseRecoveryCode(v.ctx(), person.ID, code)
}

// wrongCode is the message for a wrong code, and for a used one.
const wrongCode = "Incorrect code. Enter the current code."

// plainCode returns a code in the form for comparison.
func plainCode(typed string) string {
	return strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(typed))
}

// matchStep returns the time step of a code, which may be the current one, or the one before or after it.
func matchStep(secret, code string, now time.Time) (step int64, ok bool) {
	for _, offset := range []int64{0, -1, 1} {
		step = now.Unix()/factorPeriod + offset
		want, err := totp.GenerateCode(secret, time.Unix(step*factorPeriod, 0))
		if err == nil && want == code {
			return step, true
		}
	}
	return 0, false
}

const setupKey = "factor" // the secret that is being set up, in the session

func (w *Web) showFactorSetup(v *pageRequest) error {
	if w.proofOf(v) == views.ProofElsewhere {
		return w.showConfirm(v)
	}
	key, err := totp.Generate(totp.GenerateOpts{Issuer: "relaypdf", AccountName: v.person.Email})
	if err != nil {
		return err
	}
	w.scs.Put(v.ctx(), setupKey, key.URL())
	return w.factorSetup(v, http.StatusOK, key.URL(), views.Form{})
}

func (w *Web) factorSetup(v *pageRequest, status int, address string, form views.Form) error {
	key, err := otp.NewKeyFromURL(address)
	if err != nil {
		return err
	}

	code, err := barcode.Make(barcode.Request{
		Type:   barcode.QR,
		Text:   address,
		Format: barcode.PNG,
		Scale:  4,
		Level:  "M",
	})
	if err != nil {
		return err
	}

	m := views.FactorSetup{
		Form:   form,
		Proof:  w.proofOf(v),
		Secret: key.Secret(),
		QR:     "data:image/png;base64," + base64.StdEncoding.EncodeToString(code),
	}
	return v.show(status, views.FactorSetupPage(v.page("Set up two-factor authentication", settingsPath), m))
}

// startFactor turns the second factor on, once its first code was given.
func (w *Web) startFactor(v *pageRequest) error {
	address := w.scs.GetString(v.ctx(), setupKey)
	key, err := otp.NewKeyFromURL(address)
	if err != nil || address == "" {
		return v.redirect("/dashboard/settings/factor")
	}

	refuse := func(field, wrong string) error {
		return w.factorSetup(v, http.StatusUnprocessableEntity, address, views.Form{
			Errors: map[string]string{field: wrong},
		})
	}

	wrong, ok, err := w.prove(v, "password")
	switch {
	case err != nil:
		return err
	case !ok && w.proofOf(v) == views.ProofElsewhere:
		return w.showConfirm(v)
	case !ok:
		return refuse("password", cmp.Or(wrong, "Password is required."))
	}

	if _, ok := w.allow(v.ctx(), "code:person:"+v.person.ID, triesPerPerson, triesWindow); !ok {
		return errTooMany
	}
	step, ok := matchStep(key.Secret(), v.value("code"), w.now())
	if !ok {
		return refuse("code", wrongCode)
	}

	sealed, err := w.box.Seal(factorPurpose+v.person.ID, []byte(key.Secret()))
	if err != nil {
		return err
	}
	codes, err := w.newCodes(v, sealed)
	if err != nil {
		return err
	}

	if err := w.store.UseFactorStep(v.ctx(), v.person.ID, step); err != nil {
		return err
	}
	return v.redirectOnce(codesPath, codes)
}

// codesPath is the page that shows new recovery codes once.
const codesPath = "/dashboard/settings/factor/codes"

func (w *Web) showCodes(v *pageRequest) error {
	codes := takeOnce[[]string](v)
	if codes == nil {
		return v.redirect(securityPath)
	}
	return v.show(http.StatusOK, views.RecoveryPage(v.page("Recovery codes", settingsPath), *codes))
}

// newCodes stores a second factor with new recovery codes, and returns those.
func (w *Web) newCodes(v *pageRequest, sealed []byte) ([]string, error) {
	shown, plain := newRecoveryCodes()
	change := store.CredentialChange{Factor: &store.Factor{Sealed: sealed, Codes: plain}}
	err := w.changeCredentials(
		v, v.person.ID, change, true, "Your two-factor authentication was changed",
		"The authenticator app or the recovery codes of your account were changed.",
	)
	if err != nil {
		return nil, err
	}

	w.scs.Remove(v.ctx(), setupKey)
	return shown, v.record("factor.set", v.person.Email, "")
}

// The changes of a second factor that require the password.
var (
	sureOff = views.Sure{
		Title: "Disable two-factor authentication?", Text: "Logging in will then require only the password.",
		Action: "/dashboard/settings/factor/off", Button: "Disable two-factor",
		Back: securityPath, Crumb: "Two-factor authentication", Danger: true,
	}
	sureCodes = views.Sure{
		Title: "Generate new recovery codes?", Text: "The current codes will stop working.",
		Action: "/dashboard/settings/factor/recovery", Button: "Generate codes",
		Back: securityPath, Crumb: "Two-factor authentication",
	}
)

func (w *Web) stopFactor(v *pageRequest) error {
	change := store.CredentialChange{Factor: &store.Factor{}}
	err := w.changeCredentials(
		v, v.person.ID, change, true, "Your two-factor authentication was disabled",
		"Your account no longer has two-factor authentication.",
	)
	if err != nil {
		return err
	}

	if err := v.record("factor.off", v.person.Email, ""); err != nil {
		return err
	}
	return v.redirectWith(securityPath, "Two-factor authentication disabled.")
}

func (w *Web) renewCodes(v *pageRequest) error {
	codes, err := w.newCodes(v, v.person.Factor)
	if err != nil {
		return err
	}
	return v.redirectOnce(codesPath, codes)
}

// newRecoveryCodes returns codes that each work once instead of a code of the second factor, in the form that is
// shown and in the form that is compared.
func newRecoveryCodes() (shown, plain []string) {
	for range recoveryCodes {
		text := rand.Text()[:16]
		plain = append(plain, text)
		shown = append(shown, text[:4]+"-"+text[4:8]+"-"+text[8:12]+"-"+text[12:])
	}
	return shown, plain
}
