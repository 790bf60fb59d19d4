package web

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
)

// invitation returns the invitation of a link, the user with its email address, if any, and the content of its page.
func (w *Web) invitation(v *pageRequest) (store.Invite, store.User, views.Invitation, error) {
	secret := chi.URLParam(v.r, "token")
	invite, err := w.store.Invite(v.ctx(), secret)
	if err != nil {
		return invite, store.User{}, views.Invitation{}, err
	}

	inviter, err := w.store.User(v.ctx(), invite.InviterID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return invite, store.User{}, views.Invitation{}, err
	}

	person, err := w.store.UserByEmail(v.ctx(), invite.Email)
	known := err == nil
	if known && w.mail != nil { // Without email the inviter has the link, which shows nothing of the address.
		claimable, err := w.claimable(v.ctx(), person)
		if err != nil {
			return invite, person, views.Invitation{}, err
		}
		known = !claimable
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return invite, store.User{}, views.Invitation{}, err
	}

	path := "/invite/" + url.PathEscape(secret)
	return invite, person, views.Invitation{
		Form:    views.Form{Values: map[string]string{"name": v.value("name")}, Errors: map[string]string{}},
		Account: invite.AccountName, Inviter: inviter.Email, Role: invite.Role, Email: invite.Email,
		Action: path, Known: known, Here: known && v.person != nil && v.person.Email == invite.Email,
		Next: url.QueryEscape(path),
	}, nil
}

func (w *Web) showInvite(v *pageRequest) error {
	_, _, m, err := w.invitation(v)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, views.InvitationPage(v.page("Join "+m.Account, ""), m))
}

// acceptInvite makes the invited person a member: the one who is logged in with
// the invited address, or a new one. The link came to that address, which is
// therefore theirs.
func (w *Web) acceptInvite(v *pageRequest) error {
	invite, known, m, err := w.invitation(v)
	if err != nil {
		return err
	}

	if !m.Here && m.Known {
		return v.redirect("/login?next=" + m.Next)
	}
	if !m.Here && known.ID == "" && w.cfg.SignUp == SignUpClosed {
		return v.show(http.StatusForbidden, views.SignUpClosedPage(v.page("Sign-up is closed", "")))
	}

	if !m.Here {
		password := v.r.FormValue("password")
		if wrong := checkPassword(password); wrong != "" {
			m.Errors["password"] = wrong
			return v.show(http.StatusUnprocessableEntity, views.InvitationPage(v.page("Join "+m.Account, ""), m))
		}

		person, err := w.join(v.ctx(), known, store.NewUser{
			Email:    invite.Email,
			Name:     v.value("name"),
			Password: hashPassword(password),
			Verified: true,
		})
		if err != nil {
			return err
		}
		v.person = &person
	}

	if _, err := w.store.AcceptInvite(v.ctx(), chi.URLParam(v.r, "token"), v.person.ID); err != nil {
		return err
	}
	w.scs.Put(v.ctx(), accountKey, invite.AccountID)
	if err := w.identifyMember(v); err != nil {
		return err
	}
	if err := v.record("member.joined", v.person.Email, invite.Role); err != nil {
		return err
	}

	if m.Here {
		return v.redirect("/dashboard")
	}
	return w.enter(v, *v.person, "/dashboard", false)
}
