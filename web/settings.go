package web

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"relaypdf/store"
	"relaypdf/views"
	"relaypdf/web/mail"
)

// auditShown is the number of entries of the audit log on the page.
const auditShown = 20

func (w *Web) settingsModel(v *pageRequest) (views.Settings, error) {
	m := views.Settings{
		Profile:  views.Form{Values: map[string]string{"account": v.account.Name, "name": v.person.Name, "email": v.person.Email}, Errors: map[string]string{}},
		Password: views.Form{Errors: map[string]string{}}, Invite: views.Form{Values: map[string]string{"role": store.RoleDeveloper}, Errors: map[string]string{}},
		Close: views.Form{Errors: map[string]string{}}, ClosesAt: v.account.ClosesAt, Factor: views.SecondFactorState{On: len(v.person.Factor) > 0},
		Proof: w.proofOf(v), KeepInput: v.account.KeepInputs, Provider: w.cfg.provider(), Linked: v.person.Identity != "",
	}
	if v.person.Password != "" {
		m.Changed = v.person.PasswordSetAt
	}
	for _, role := range store.Roles() {
		m.Roles = append(m.Roles, views.Choice{Value: role, Text: role})
	}
	var err error
	if m.Factor.Recovery, err = w.people.RecoveryCodes(v.ctx(), v.person.ID); err != nil {
		return m, err
	}
	if m.Sessions, err = w.sessionLines(v); err != nil {
		return m, err
	}
	members, err := w.members.AccountMembers(v.ctx(), v.account.ID)
	if err != nil {
		return m, err
	}
	for _, member := range members {
		m.Members = append(m.Members, views.Member{
			ID: member.Person.ID, Name: member.Person.Name, Email: member.Person.Email, Role: member.Role, Joined: member.JoinedAt, Self: member.Person.ID == v.person.ID,
		})
	}
	invites, err := w.members.Invites(v.ctx(), v.account.ID)
	if err != nil {
		return m, err
	}
	for _, invite := range invites {
		m.Invites = append(m.Invites, views.Invite{ID: invite.ID, Email: invite.Email, Role: invite.Role, Expires: invite.ExpiresAt})
	}
	entries, err := w.audit.Of(v.ctx(), v.account.ID, "", auditShown)
	for _, e := range entries {
		m.Audit = append(m.Audit, auditLine(forMembers(e)))
	}
	return m, err
}

func (w *Web) sessionLines(v *pageRequest) ([]views.Session, error) {
	list, err := w.sessions.Of(v.ctx(), v.person.ID)
	here := storedToken(w.scs.Token(v.ctx()))
	var lines []views.Session
	for _, s := range list {
		lines = append(lines, views.Session{ID: s.ID, Device: s.Device, Place: s.Address, Here: s.Token == here, Since: s.CreatedAt, Seen: s.SeenAt})
	}
	return lines, err
}

// auditWords describe the actions.
var auditWords = map[string]string{
	"session.begun": "Logged in", "session.ended": "Logged out", "person.email": "Email changed to", "person.password": "Password changed", "person.undone": "Change of credentials undone for", "person.name": "Profile changed",
	"account.name": "Account named", "device.approved": "Command line approved:", "grant.made": "App connected:", "grant.allowed": "App allowed:", "grant.denied": "App denied:", "grant.limited": "App limited:", "grant.revoked": "App revoked:", "device.denied": "Command line denied:", "factor.set": "Second factor set", "factor.off": "Second factor turned off", "key.made": "Key made:", "key.rolled": "Key rolled:",
	"key.revoked": "Key revoked:", "member.invited": "Invited", "member.joined": "Joined:", "member.role": "Role changed:", "member.removed": "Member removed:",
	"invite.cancelled": "Invitation cancelled:", "limits.changed": "Limits changed", "account.suspended": "Suspended", "account.resumed": "Suspension lifted",
	"webhook.made": "Endpoint added:", "webhook.changed": "Endpoint changed:", "webhook.paused": "Endpoint paused:", "webhook.resumed": "Endpoint resumed:", "webhook.rolled": "Secret rolled:",
	"webhook.activated": "New secret in use:", "webhook.deleted": "Endpoint deleted:", "delivery.replayed": "Replayed:", "link.made": "Sign-in link made for", "account.exported": "Account exported", "account.ending": "Account to be deleted", "account.kept": "Account kept", "inputs.kept": "Inputs of calls are kept", "inputs.not_kept": "Inputs of calls are not kept", "identity.linked": "Log-in linked with", "identity.unlinked": "Log-in no more linked with", "template.shared": "Editor links made for", "template.changed": "Template changed:", "template.published": "Template published:",
	"template.made": "Template made:", "template.duplicated": "Template copied:", "template.described": "Template described:", "template.discarded": "Draft dropped:", "template.restored": "Version restored:",
	"template.deleted": "Template deleted:", "template.undeleted": "Template restored:", "partial.made": "Partial made:", "partial.changed": "Partial changed:", "partial.deleted": "Partial deleted:",
	"account.credited": "Credited", "account.debited": "Debited", "operator.named": "Operator named:", "operator.ended": "No operator any more:", "person.removed": "Person removed:",
}

// forMembers removes the operator, the IP address and the reason from an audit entry, which an account's members do
// not see.
func forMembers(e store.AuditEntry) store.AuditEntry {
	if e.Operator {
		e.Who, e.Note, e.Address = "the operator", "", ""
	}
	return e
}

func auditLine(e store.AuditEntry) views.AuditLine {
	words, known := auditWords[e.Action]
	if !known {
		words = e.Action
	}
	state := views.StateOK
	if strings.HasSuffix(e.Action, "revoked") || strings.HasSuffix(e.Action, "removed") || strings.HasSuffix(e.Action, "suspended") || strings.HasSuffix(e.Action, "off") {
		state = views.StateWarn
	}
	if strings.HasSuffix(words, ":") || strings.HasSuffix(words, " to") || strings.HasSuffix(words, " for") || strings.HasSuffix(words, " with") || words == "Invited" || strings.HasSuffix(words, " made for") || words == "Account named" || words == "Credited" || words == "Debited" {
		words += " " + e.Object
	}
	return views.AuditLine{What: words, Who: e.Who, Note: e.Note, Is: state, At: e.At}
}

func (w *Web) showSettings(v *pageRequest) error { return w.settingsPage(v, nil) }

// settingsPage shows the settings, after change has filled in the submitted values and their errors.
func (w *Web) settingsPage(v *pageRequest, change func(*views.Settings)) error {
	m, err := w.settingsModel(v)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if change != nil {
		status = http.StatusUnprocessableEntity
		change(&m)
	}
	return v.show(status, views.SettingsPage(v.page("Settings", settingsPath), m))
}

// sureEmail asks for the password before a change of the email.
var sureEmail = views.Sure{
	Title: "Change your email?", Text: "It is changed once the link that goes to the new address is opened.",
	Action: settingsPath + "/profile", Button: "Change email", Back: settingsPath, Crumb: "Email",
}

func (w *Web) saveProfile(v *pageRequest) error {
	email, err := store.MailAddress(v.value("email"))
	if err != nil {
		return w.settingsPage(v, func(m *views.Settings) {
			m.Profile.Values = map[string]string{"account": v.value("account"), "name": v.value("name"), "email": v.value("email")}
			m.Profile.Errors["email"] = "This must be an email address such as maya@example.com."
		})
	}
	if email != v.person.Email {
		wrong, ok, err := w.prove(v, "password")
		if err != nil {
			return err
		}
		if !ok {
			return w.askSure(v, sureEmail, wrong)
		}
	}
	if name := v.value("name"); name != v.person.Name {
		if err := w.people.SetPersonName(v.ctx(), v.person.ID, name); err != nil {
			return err
		}
	}
	if name := v.value("account"); v.may(manages) && v.r.Form.Has("account") && name != v.account.Name {
		if err := errors.Join(w.store.SetAccountName(v.ctx(), v.account.ID, name), v.record("account.name", name, "")); err != nil {
			return err
		}
	}
	v.flash("Saved.")
	if email != v.person.Email {
		if err := w.askNewAddress(v, email); err != nil {
			return err
		}
	}
	return v.redirect(settingsPath)
}

// askNewAddress sends a link to a new address, and a warning to the old one.
func (w *Web) askNewAddress(v *pageRequest, email string) error {
	if _, ok := w.allow(v.ctx(), "email:person:"+v.person.ID, resetsPerPerson, resetsWindow); !ok {
		return errTooMany
	}
	if w.mail == nil {
		v.flash("This service sends no mail, so the new address cannot be confirmed. Its operator can change it.")
		return nil
	}
	secret, err := w.people.NewToken(v.ctx(), store.Token{Purpose: store.TokenEmail, PersonID: v.person.ID, Data: email, ExpiresAt: w.now().Add(verifyLife)})
	if err != nil {
		return err
	}
	v.flash("Saved. The new address is used once its link is opened.")
	return errors.Join(
		w.sendEmail(v.ctx(), mail.Message{To: email, Subject: "Confirm your new address", Lines: []string{"One click, and you log in with this address from then on."}, Link: mail.Link{Text: "Use this address", URL: w.cfg.BaseURL + "/verify?token=" + secret}}),
		w.sendEmail(v.ctx(), mail.Message{To: v.person.Email, Subject: "A new address was asked for", Lines: []string{"Somebody, probably you, wants to log in with " + email + " in the place of this address.", "If it was not you, change your password now."}}),
	)
}

func (w *Web) saveKept(v *pageRequest) error {
	keep := v.value("inputs") != ""
	if err := w.store.StoredInputs().Want(v.ctx(), v.account.ID, keep); err != nil {
		return err
	}
	action, told := "inputs.kept", "Inputs of calls are kept for 7 days from now on."
	if !keep {
		action, told = "inputs.not_kept", "Inputs of calls are not kept any more, and those that were are deleted."
	}
	if err := v.record(action, "", ""); err != nil {
		return err
	}
	v.flash(told)
	return v.redirect(settingsPath)
}

func (w *Web) savePassword(v *pageRequest) error {
	wrong := func(field, text string) error {
		return w.settingsPage(v, func(m *views.Settings) { m.Password.Errors[field] = text })
	}
	text, ok, err := w.prove(v, "current")
	switch {
	case err != nil:
		return err
	case !ok && w.proofOf(v) == views.ProofElsewhere:
		return w.showConfirm(v)
	case !ok:
		return wrong("current", cmp.Or(text, "This is required to change the password."))
	}
	password := v.r.FormValue("password")
	if text := checkPassword(password); text != "" {
		return wrong("password", text)
	}
	hash := hashPassword(password)
	if err := w.changeCredentials(v, v.person.ID, store.CredentialChange{Password: &hash}, true, passwordSubject, passwordLine); err != nil {
		return err
	}
	v.flash("Your password is changed, and every other session has ended.")
	if err := v.record("person.password", v.person.Email, ""); err != nil {
		return err
	}
	return v.redirect(settingsPath)
}

func (w *Web) endSession(v *pageRequest) error {
	if err := w.sessions.End(v.ctx(), v.person.ID, chi.URLParam(v.r, "id")); err != nil {
		return err
	}
	v.flash("That session has ended.")
	return v.redirect(settingsPath)
}

func (w *Web) endSessions(v *pageRequest) error {
	if err := w.endOthers(v.ctx(), v.person.ID); err != nil {
		return err
	}
	v.flash("All other sessions have ended.")
	return v.redirect(settingsPath)
}

func (w *Web) inviteMember(v *pageRequest) error {
	wrong := func(text string) error {
		return w.settingsPage(v, func(m *views.Settings) {
			m.Invite.Values["email"], m.Invite.Values["role"], m.Invite.Errors["email"] = v.value("email"), v.value("role"), text
		})
	}
	email, err := store.MailAddress(v.value("email"))
	if err != nil {
		return wrong("This must be an email address such as maya@example.com.")
	}
	members, err := w.members.AccountMembers(v.ctx(), v.account.ID)
	if err != nil {
		return err
	}
	for _, member := range members {
		if member.Person.Email == email {
			return wrong("This person is a member already.")
		}
	}
	if _, ok := w.allow(v.ctx(), "invite:account:"+v.account.ID, 50, 24*time.Hour); !ok {
		return errTooMany
	}
	secret, err := w.members.NewInvite(v.ctx(), store.Invite{AccountID: v.account.ID, Email: email, Role: v.value("role"), InviterID: v.person.ID, ExpiresAt: w.now().Add(inviteLife)})
	if err != nil {
		return err
	}
	address := w.cfg.BaseURL + "/invite/" + secret
	err = errors.Join(v.record("member.invited", email, v.value("role")), w.sendEmail(v.ctx(), mail.Message{
		To: email, Subject: "Join " + v.account.Name, Lines: []string{v.person.Email + " invites you to " + v.account.Name + ". The link works once, for seven days."}, Link: mail.Link{Text: "Join " + v.account.Name, URL: address},
	}))
	if err != nil {
		return err
	}
	v.flash("Invited " + email + ".")
	if w.mail == nil {
		v.flash("This service sends no mail. Give " + email + " this link: " + address)
	}
	return v.redirect(settingsPath)
}

func (w *Web) cancelInvite(v *pageRequest) error {
	if err := w.members.CancelInvite(v.ctx(), v.account.ID, chi.URLParam(v.r, "id")); err != nil {
		return err
	}
	if err := v.record("invite.cancelled", chi.URLParam(v.r, "id"), ""); err != nil {
		return err
	}
	v.flash("The invitation is cancelled.")
	return v.redirect(settingsPath)
}

// memberOf returns the member that an address names.
func (w *Web) memberOf(v *pageRequest) (store.Membership, error) {
	members, err := w.members.AccountMembers(v.ctx(), v.account.ID)
	if err != nil {
		return store.Membership{}, err
	}
	for _, member := range members {
		if member.Person.ID == chi.URLParam(v.r, "id") {
			return member, nil
		}
	}
	return store.Membership{}, store.ErrNotFound
}

func (w *Web) changeRole(v *pageRequest) error {
	member, err := w.memberOf(v)
	if err != nil {
		return err
	}
	err = w.members.SetMemberRole(v.ctx(), v.account.ID, member.Person.ID, v.value("role"))
	if err == nil {
		err = v.record("member.role", member.Person.Email, member.Role+" to "+v.value("role"))
	}
	return w.memberChanged(v, err, member.Person.Email+" is "+v.value("role")+" from now on, and logs in again.")
}

func (w *Web) removeMember(v *pageRequest) error {
	member, err := w.memberOf(v)
	if err != nil {
		return err
	}
	err = w.members.RemoveMember(v.ctx(), v.account.ID, member.Person.ID)
	if err == nil {
		err = v.record("member.removed", member.Person.Email, "")
	}
	return w.memberChanged(v, err, member.Person.Email+" is not a member any more.")
}

func (w *Web) memberChanged(v *pageRequest, err error, done string) error {
	if errors.Is(err, store.ErrLastOwner) {
		err, done = nil, "An account needs at least one owner, so nothing was changed."
	}
	if err != nil {
		return err
	}
	v.flash(done)
	return v.redirect(settingsPath)
}

func (w *Web) exportAudit(v *pageRequest) error {
	out := v.table("audit.csv")
	if err := out.Write([]string{"at", "who", "action", "object", "note", "address"}); err != nil {
		return err
	}
	before := ""
	for range maxExport / store.MaxList {
		entries, err := w.audit.Of(v.ctx(), v.account.ID, before, store.MaxList)
		if err != nil {
			return err
		}
		for _, e := range entries {
			e = forMembers(e)
			if err := out.Write(plainCells([]string{e.At.UTC().Format(time.RFC3339), e.Who, e.Action, e.Object, e.Note, e.Address})); err != nil {
				return err
			}
			before = e.ID
		}
		if len(entries) < store.MaxList {
			break
		}
	}
	out.Flush()
	return out.Error()
}
