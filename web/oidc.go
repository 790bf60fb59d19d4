package web

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
	"github.com/relaypdf/relaypdf/web/identity"
)

// Identities is a provider that identifies users.
type Identities interface {
	// Name returns the name of the provider, which users are shown.
	Name() string
	Begin(ctx context.Context, again bool) (identity.Flow, string, error)
	Finish(ctx context.Context, flow identity.Flow, state, code string) (identity.Claims, error)
}

const (
	// OIDCPath is the path to which the provider redirects.
	OIDCPath         = "/login/oidc/callback"
	identityPath     = "/dashboard/settings/identity"
	oidcCookie       = "relaypdf_oidc"
	secureOIDCCookie = "__Host-" + oidcCookie
	oidcPurpose      = "identity flow"
	// oidcLife is the time limit for a login at the provider.
	oidcLife = 10 * time.Minute
	// oidcPerAddress bounds how often an address may be sent to the provider.
	oidcPerAddress = 60
)

// errIdentity means that the provider's response is unusable.
var errIdentity = errors.New("the provider did not say who it is")

// errNoProvider means that the provider cannot be reached.
var errNoProvider = errors.New("the provider of identities does not answer")

// loginState is the state in the sealed cookie of a user who logs in at the provider.
type loginState struct {
	identity.Flow

	Next   string    `json:"next"`
	Person string    `json:"person"` // the user to link the identity with; empty logs in
	Sure   bool      `json:"sure"`   // true if the login only confirms the user's identity and links nothing
	At     time.Time `json:"at"`
}

func (w *Web) cookieName() string {
	if w.secure {
		return secureOIDCCookie
	}
	return oidcCookie
}

// setCookie stores text until the user comes back; empty deletes it.
func (w *Web) setCookie(v *pageRequest, text string) {
	age := int(oidcLife.Seconds())
	if text == "" {
		age = -1
	}
	http.SetCookie(v.w, &http.Cookie{
		Name: w.cookieName(), Value: text, Path: "/", MaxAge: age, Secure: w.secure, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, // The way back begins on the provider's page.
	})
}

// leaveForProvider sends the user to the provider. It is a page with a link that opens by itself: browsers apply the
// form-action policy to the redirects of a form, and the provider may redirect to unknown hosts.
func (w *Web) leaveForProvider(v *pageRequest, out loginState) error {
	if w.cfg.Identities == nil {
		return errNotFound
	}
	if _, ok := w.allow(v.ctx(), "oidc:address:"+middleware.ClientIP(v.ctx()), oidcPerAddress, triesWindow); !ok {
		return errTooMany
	}

	flow, address, err := w.cfg.Identities.Begin(v.ctx(), out.Sure)
	if err != nil {
		w.log.LogAttrs(v.ctx(), slog.LevelError, "provider of identities", slog.Any("error", err))
		return errNoProvider
	}

	out.Flow = flow
	out.At = w.now()
	plain, err := json.Marshal(out)
	if err != nil {
		return err
	}
	sealed, err := w.box.Seal(oidcPurpose, plain)
	if err != nil {
		return err
	}

	w.setCookie(v, base64.RawURLEncoding.EncodeToString(sealed))
	v.w.Header().Set("Refresh", "0; url="+address)
	return v.show(http.StatusOK, views.LeavePage(v.page("Continue to "+w.cfg.provider(), ""), views.Leave{
		Provider: w.cfg.provider(),
		URL:      address,
	}))
}

func (w *Web) signInWithProvider(v *pageRequest) error {
	return w.leaveForProvider(v, loginState{Next: ownPath(v.value("next"))})
}

// link begins to link an identity, once the member has shown that it is them.
func (w *Web) link(v *pageRequest) error {
	if w.cfg.Identities == nil {
		return errNotFound
	}

	name := w.cfg.Identities.Name()
	return w.requireProof(views.Sure{
		Title:  "Link " + name + "?",
		Text:   "You can then log in here with your " + name + " account.",
		Action: identityPath, Button: "Link " + name, Back: securityPath,
		Crumb: "Log in with " + name,
	}, func(v *pageRequest) error {
		return w.leaveForProvider(v, loginState{Next: securityPath, Person: v.person.ID})
	})(v)
}

// confirmWithProvider sends a member to the provider to confirm that it is them.
func (w *Web) confirmWithProvider(v *pageRequest) error {
	return w.leaveForProvider(v, loginState{Next: securityPath, Person: v.person.ID, Sure: true})
}

// providerCallback continues after the provider.
func (w *Web) providerCallback(v *pageRequest) error {
	if w.cfg.Identities == nil {
		return errNotFound
	}
	out, ok := w.takeLoginState(v)
	if !ok {
		return errIdentity
	}

	claims, err := w.cfg.Identities.Finish(v.ctx(), out.Flow, v.value("state"), v.value("code"))
	if err != nil {
		w.log.LogAttrs(
			v.ctx(), slog.LevelWarn, "provider of identities",
			slog.String("said", v.value("error")), slog.Any("error", err),
		)
		return errIdentity
	}

	if out.Sure {
		if v.person == nil || v.person.ID != out.Person || v.person.Identity != claims.Identity {
			return errIdentity
		}
		return w.confirmed(v)
	}
	if out.Person != "" {
		return w.linkTo(v, out, claims)
	}

	person, err := w.store.UserByIdentity(v.ctx(), claims.Identity)
	if errors.Is(err, store.ErrNotFound) {
		return w.createUser(v, out, claims)
	}
	if err != nil {
		return err
	}

	return w.proveFactor(v, person, out.Next, false)
}

// takeLoginState returns the state in the visitor's cookie, and deletes it: it works once.
func (w *Web) takeLoginState(v *pageRequest) (out loginState, ok bool) {
	cookie, err := v.r.Cookie(w.cookieName())
	if err != nil {
		return out, false
	}
	w.setCookie(v, "")

	sealed, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return out, false
	}
	plain, err := w.box.Open(oidcPurpose, sealed)
	if err == nil {
		err = json.Unmarshal(plain, &out)
	}

	return out, err == nil && w.now().Sub(out.At) <= oidcLife
}

// linkTo links an identity with the user who has asked for it, and who must still be logged in.
func (w *Web) linkTo(v *pageRequest, out loginState, claims identity.Claims) error {
	if v.person == nil || v.person.ID != out.Person {
		return errIdentity
	}

	change := store.CredentialChange{Identity: &claims.Identity}
	err := w.changeCredentials(
		v, v.person.ID, change, true, "Login with "+w.cfg.provider()+" was turned on",
		"You can now log in with "+w.cfg.provider()+".",
	)
	if errors.Is(err, store.ErrExists) {
		return v.redirectWith(securityPath, "Nothing was changed: that identity belongs to another user.")
	}
	if err == nil {
		err = v.record("identity.linked", w.cfg.provider(), claims.Email)
	}
	if err != nil {
		return err
	}

	return v.redirectWith(securityPath, w.cfg.provider()+" linked. You can now log in with it.")
}

// createUser makes an account for a user whose identity is not linked, if sign-up is open and the email address is new.
// A known address stays with its user, who logs in as before and links the identity then. A known but unverified
// address becomes the new user's.
func (w *Web) createUser(v *pageRequest, out loginState, claims identity.Claims) error {
	m := views.Stranger{Provider: w.cfg.provider(), Email: claims.Email}
	email, err := store.MailAddress(claims.Email)
	if err != nil || !claims.Verified {
		m.Why = views.StrangerUnverified
		return v.show(http.StatusForbidden, views.StrangerPage(v.page("Account not linked", ""), m))
	}

	m.Email = email
	refuse := func(status int, why views.StrangerReason) error {
		m.Why = why
		return v.show(status, views.StrangerPage(v.page("Account not linked", ""), m))
	}

	known, err := w.store.UserByEmail(v.ctx(), email)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	claimable := false
	if err == nil {
		if claimable, err = w.claimable(v.ctx(), known); err != nil {
			return err
		}
	}

	switch {
	case known.ID != "" && !claimable:
		return refuse(http.StatusForbidden, views.StrangerKnown)
	case !w.signUpOpen():
		return refuse(http.StatusForbidden, views.StrangerClosed)
	}
	if _, ok := w.allow(v.ctx(), "signup:address:"+middleware.ClientIP(v.ctx()), signUpsPerAddress, signUpsWindow); !ok {
		return errTooMany
	}

	person, err := w.join(v.ctx(), known, store.NewUser{
		Email:    email,
		Name:     claims.Name,
		Verified: true,
		Identity: claims.Identity,
	})
	if errors.Is(err, store.ErrExists) {
		return refuse(http.StatusForbidden, views.StrangerKnown)
	}
	if err != nil {
		return err
	}
	if person, err = w.welcome(v.ctx(), person.ID); err != nil {
		return err
	}

	v.person = &person
	if err := w.identifyMember(v); err != nil {
		return err
	}
	if err := v.record("identity.linked", w.cfg.provider(), claims.Email); err != nil {
		return err
	}
	return w.proveFactor(v, person, out.Next, false)
}

// unlink ends the link with an identity, unless it is the only way in.
func (w *Web) unlink(v *pageRequest) error {
	if v.person.Password == "" {
		return v.redirectWith(securityPath, "Set a password first. Without one you could no longer log in.")
	}
	name := cmp.Or(w.cfg.provider(), "another service")
	return w.requireProof(views.Sure{
		Title: "Unlink " + name + "?", Text: "You then log in with your password only.", Action: identityPath + "/end",
		Button: "Unlink " + name, Back: securityPath, Crumb: "Log in with " + name, Danger: true,
	}, func(v *pageRequest) error { return w.unlinkNow(v, name) })(v)
}

func (w *Web) unlinkNow(v *pageRequest, name string) error {
	none := ""
	err := w.changeCredentials(
		v, v.person.ID, store.CredentialChange{Identity: &none}, true,
		"Login with "+name+" was turned off", "You can no longer log in with "+name+".",
	)

	if err == nil {
		err = v.record("identity.unlinked", name, "")
	}
	if err != nil {
		return err
	}

	return v.redirectWith(securityPath, name+" unlinked. You now log in with your password only.")
}
