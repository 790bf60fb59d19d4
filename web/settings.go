package web

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
	"github.com/relaypdf/relaypdf/web/mail"
)

// auditShown is the number of entries of the audit log on the page.
const auditShown = 20

// The pages of the settings, to which their forms lead back.
const (
	settingsPath = views.SettingsPath
	securityPath = views.SecurityPath
	membersPath  = views.MembersPath
	appsPath     = views.AppsPath
	dataPath     = views.DataPath
	auditPath    = views.AuditPath
)

// settingsPages are the pages of the settings, and their forms.
func (w *Web) settingsPages() []pageRoute {
	return []pageRoute{
		{"GET", settingsPath, signedIn, w.showProfile},
		{"POST", settingsPath + "/profile", signedIn, w.saveProfile},
		{"GET", securityPath, signedIn, w.showSecurity},
		{"POST", settingsPath + "/password", signedIn, w.savePassword},
		{"POST", settingsPath + "/sessions/{id}/end", signedIn, w.endSession},
		{"POST", settingsPath + "/sessions/end", signedIn, w.endSessions},
		{"GET", membersPath, signedIn, w.showMembers},
		{"POST", settingsPath + "/invites", ownerRole, w.inviteMember},
		{"POST", settingsPath + "/invites/{id}/cancel", ownerRole, w.cancelInvite},
		{"POST", membersPath + "/{id}/role", ownerRole, w.changeRole},
		{"POST", membersPath + "/{id}/remove", ownerRole, w.removeMember},
		{"GET", dataPath, signedIn, w.showData},
		{"POST", settingsPath + "/kept", developerRole, w.saveStoredInputs},
		{"GET", settingsPath + "/export", ownerRole, w.exportAccount},
		{"POST", settingsPath + "/delete", ownerRole, w.endAccount},
		{"POST", settingsPath + "/delete/undo", ownerRole, w.cancelDeletion},
		{"GET", auditPath, signedIn, w.showAuditLog},
		{"GET", settingsPath + "/audit.csv", signedIn, w.exportAudit},
	}
}

// emptyForm returns a form with values and without errors.
func emptyForm(values map[string]string) views.Form {
	return views.Form{Values: values, Errors: map[string]string{}}
}

// statusOf is the status of a page with a form.
func statusOf(form views.Form) int {
	if form.Failed() {
		return http.StatusUnprocessableEntity
	}
	return http.StatusOK
}

func (w *Web) showProfile(v *pageRequest) error {
	return w.profilePage(v, emptyForm(
		map[string]string{"account": v.account.Name, "name": v.person.Name, "email": v.person.Email},
	))
}

func (w *Web) profilePage(v *pageRequest, form views.Form) error {
	hint := "You confirm a change with your password and a link that is sent to the new address."
	if w.mail == nil {
		hint = "This server sends no email, so this address cannot be changed."
	}
	return v.show(statusOf(form), views.ProfilePage(v.page("Settings", settingsPath), form, hint))
}

func (w *Web) showSecurity(v *pageRequest) error { return w.securityPage(v, emptyForm(nil)) }

// securityPage shows how the user logs in, with the form that changes the password.
func (w *Web) securityPage(v *pageRequest, password views.Form) error {
	m := views.Security{
		Password: password, Factor: views.SecondFactorState{On: len(v.person.Factor) > 0},
		Proof: w.proofOf(v), Provider: w.cfg.provider(), Linked: v.person.Identity != "",
	}
	if v.person.Password != "" {
		m.Changed = v.person.PasswordSetAt
	}

	var err error
	if m.Factor.Recovery, err = w.store.RecoveryCodes(v.ctx(), v.person.ID); err != nil {
		return err
	}
	if m.Sessions, err = w.sessionLines(v); err != nil {
		return err
	}
	return v.show(statusOf(password), views.SecurityPage(v.page("Security", settingsPath), m))
}

func (w *Web) showMembers(v *pageRequest) error {
	return w.membersPage(v, emptyForm(map[string]string{"role": store.RoleDeveloper}))
}

// membersPage shows the members and invitations of the account, with the form that invites one.
func (w *Web) membersPage(v *pageRequest, invite views.Form) error {
	m := views.Members{Invite: invite, Mails: w.mail != nil, InviteLink: takeOnce[views.InviteLink](v)}
	for _, role := range store.Roles() {
		m.Roles = append(m.Roles, views.Choice{Value: role, Text: role})
	}

	members, err := w.store.AccountMembers(v.ctx(), v.account.ID)
	if err != nil {
		return err
	}
	for _, member := range members {
		m.List = append(m.List, views.Member{
			ID: member.Person.ID, Name: member.Person.Name, Email: member.Person.Email,
			Role: member.Role, Joined: member.JoinedAt, Self: member.Person.ID == v.person.ID,
		})
	}

	invites, err := w.store.Invites(v.ctx(), v.account.ID)
	if err != nil {
		return err
	}
	for _, invite := range invites {
		m.Invites = append(m.Invites, views.Invite{
			ID:      invite.ID,
			Email:   invite.Email,
			Role:    invite.Role,
			Expires: invite.ExpiresAt,
		})
	}

	return v.show(statusOf(invite), views.MembersPage(v.page("Members", settingsPath), m))
}

func (w *Web) showData(v *pageRequest) error { return w.dataPage(v, emptyForm(nil)) }

// dataPage shows what is stored about the account, with the form that deletes it.
func (w *Web) dataPage(v *pageRequest, closing views.Form) error {
	m := views.Data{KeepInput: v.account.KeepInputs, Close: closing, ClosesAt: v.account.ClosesAt}
	return v.show(statusOf(closing), views.DataPage(v.page("Data", settingsPath), m))
}

func (w *Web) showAuditLog(v *pageRequest) error {
	entries, err := w.store.AuditEntries(v.ctx(), v.account.ID, "", auditShown)
	if err != nil {
		return err
	}
	var lines []views.AuditLine
	for _, e := range entries {
		lines = append(lines, auditLine(forMembers(e)))
	}
	return v.show(http.StatusOK, views.AuditPage(v.page("Audit log", settingsPath), lines))
}

func (w *Web) sessionLines(v *pageRequest) ([]views.Session, error) {
	list, err := w.store.Sessions(v.ctx(), v.person.ID)

	here := storedToken(w.scs.Token(v.ctx()))
	var lines []views.Session

	for _, s := range list {
		lines = append(lines, views.Session{
			ID:     s.ID,
			Device: s.Device,
			Place:  s.Address,
			Here:   s.Token == here,
			Since:  s.CreatedAt,
			Seen:   s.SeenAt,
		})
	}
	return lines, err
}

// auditWords describe the actions.
var auditWords = map[string]string{
	"session.begun":       "Logged in",
	"session.ended":       "Logged out",
	"person.email":        "Email changed to",
	"person.password":     "Password changed",
	"person.undone":       "Credential change undone for",
	"person.name":         "Profile changed",
	"account.name":        "Account renamed to",
	"device.approved":     "Command line authorized:",
	"grant.made":          "App connected:",
	"grant.allowed":       "App authorized:",
	"grant.denied":        "App denied:",
	"grant.limited":       "App limit changed:",
	"grant.revoked":       "App revoked:",
	"device.denied":       "Command line denied:",
	"factor.set":          "Two-factor authentication set up",
	"factor.off":          "Two-factor authentication disabled",
	"key.made":            "Key created:",
	"key.rolled":          "Key rotated:",
	"key.revoked":         "Key revoked:",
	"member.invited":      "Invitation created for",
	"member.joined":       "Member joined:",
	"member.role":         "Role changed:",
	"member.removed":      "Member removed:",
	"invite.cancelled":    "Invitation cancelled:",
	"limits.changed":      "Limits changed",
	"alerts.changed":      "Alerts changed",
	"account.suspended":   "Account suspended",
	"account.resumed":     "Account resumed",
	"webhook.made":        "Endpoint added:",
	"webhook.changed":     "Endpoint changed:",
	"webhook.paused":      "Endpoint paused:",
	"webhook.resumed":     "Endpoint resumed:",
	"webhook.rolled":      "Secret rotated:",
	"webhook.activated":   "New secret activated:",
	"webhook.deleted":     "Endpoint deleted:",
	"connection.made":     "Connection added:",
	"connection.changed":  "Connection changed:",
	"connection.tested":   "Connection tested:",
	"connection.deleted":  "Connection deleted:",
	"signing.made":        "Signing identity added:",
	"signing.deleted":     "Signing identity deleted:",
	"delivery.replayed":   "Delivery replayed:",
	"delivery.tried":      "Delivery attempted:",
	"link.made":           "Login link created for",
	"account.exported":    "Account exported",
	"account.ending":      "Account deletion scheduled",
	"account.kept":        "Account deletion cancelled",
	"inputs.kept":         "Storing of inputs enabled",
	"inputs.not_kept":     "Storing of inputs disabled",
	"identity.linked":     "Login linked with",
	"identity.unlinked":   "Login unlinked from",
	"template.shared":     "Editor link created for",
	"template.changed":    "Template changed:",
	"template.published":  "Template published:",
	"template.approved":   "Template pages approved:",
	"template.made":       "Template created:",
	"template.duplicated": "Template copied:",
	"template.described":  "Template generated:",
	"template.discarded":  "Draft discarded:",
	"template.restored":   "Version restored:",
	"template.deleted":    "Template deleted:",
	"template.undeleted":  "Template restored:",
	"partial.made":        "Partial created:",
	"partial.changed":     "Partial changed:",
	"partial.deleted":     "Partial deleted:",
	"account.credited":    "Credited",
	"account.debited":     "Debited",
	"operator.named":      "Operator added:",
	"operator.ended":      "Operator removed:",
	"person.removed":      "User removed:",
}

// forMembers removes the operator, the IP address and the reason from an audit entry, which an account's members do
// not see.
func forMembers(e store.AuditEntry) store.AuditEntry {
	if e.Operator {
		e.Who = "the operator"
		e.Note = ""
		e.Address = ""
	}
	return e
}

func auditLine(e store.AuditEntry) views.AuditLine {
	words, known := auditWords[e.Action]
	if !known {
		words = e.Action
	}

	state := views.StateOK
	if strings.HasSuffix(e.Action, "revoked") || strings.HasSuffix(e.Action, "removed") ||
		strings.HasSuffix(e.Action, "suspended") || strings.HasSuffix(e.Action, "off") {
		state = views.StateWarn
	}

	if strings.HasSuffix(words, ":") || strings.HasSuffix(words, " to") || strings.HasSuffix(words, " for") ||
		strings.HasSuffix(words, " with") || strings.HasSuffix(words, " from") ||
		words == "Credited" || words == "Debited" {
		words += " " + e.Object
	}

	return views.AuditLine{What: words, Who: e.Who, Note: e.Note, Is: state, At: e.At}
}

// sureEmail asks for the password before a change of the email.
var sureEmail = views.Sure{
	Title: "Change your email?", Text: "The change takes effect when you open the link sent to the new email.",
	Action: settingsPath + "/profile", Button: "Change email", Back: settingsPath, Crumb: "Email",
}

func (w *Web) saveProfile(v *pageRequest) error {
	email, err := store.MailAddress(v.value("email"))
	if err != nil {
		form := emptyForm(
			map[string]string{"account": v.value("account"), "name": v.value("name"), "email": v.value("email")},
		)
		form.Errors["email"] = "Email must be an email address such as maya@example.com."
		return w.profilePage(v, form)
	}

	if email != v.person.Email {
		wrong, ok, err := w.prove(v, "password")
		if err != nil {
			return err
		}
		if !ok {
			return w.showProofPage(v, sureEmail, wrong)
		}
	}

	if name := v.value("name"); name != v.person.Name {
		if err := w.store.SetUserName(v.ctx(), v.person.ID, name); err != nil {
			return err
		}
	}
	if name := v.value("account"); v.may(developerRole) && v.r.Form.Has("account") && name != v.account.Name {
		err := errors.Join(w.store.SetAccountName(v.ctx(), v.account.ID, name), v.record("account.name", name, ""))
		if err != nil {
			return err
		}
	}

	v.flash("Profile saved.")
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
		v.flash("Email not changed: this server sends no email, so the new address cannot be confirmed.")
		return nil
	}

	secret, err := w.store.NewToken(v.ctx(), store.Token{
		Purpose:   store.TokenEmail,
		PersonID:  v.person.ID,
		Data:      email,
		ExpiresAt: w.now().Add(verifyLife),
	})
	if err != nil {
		return err
	}

	v.flash("Profile saved. The new email takes effect when you open the link sent to it.")
	return errors.Join(
		w.sendEmail(v.ctx(), mail.Message{
			To:      email,
			Subject: "Confirm your new email",
			Lines: []string{
				"Open the link to log in with this email from now on. If you did not request this, ignore this email.",
			},
			Link: mail.Link{Text: "Confirm email", URL: w.cfg.BaseURL + "/verify?token=" + secret},
		}),
		w.sendEmail(v.ctx(), mail.Message{
			To:      v.person.Email,
			Subject: "Email change requested",
			Lines: []string{
				"A change of the email of your account to " + email +
					" was requested. It takes effect when the link sent there is opened.",
				"If it was not you, change your password now.",
			},
		}),
	)
}

func (w *Web) saveStoredInputs(v *pageRequest) error {
	keep := v.value("inputs") != ""
	if err := w.store.SetKeepInputs(v.ctx(), v.account.ID, keep); err != nil {
		return err
	}

	action := "inputs.kept"
	notice := "Setting saved. Inputs of calls are now stored for 7 days."
	if !keep {
		action = "inputs.not_kept"
		notice = "Setting saved. Stored inputs were deleted; inputs of calls are no longer stored."
	}

	if err := v.record(action, "", ""); err != nil {
		return err
	}
	return v.redirectWith(dataPath, notice)
}

func (w *Web) savePassword(v *pageRequest) error {
	wrong := func(field, text string) error {
		return w.securityPage(v, views.Form{Errors: map[string]string{field: text}})
	}

	text, ok, err := w.prove(v, "current")
	switch {
	case err != nil:
		return err
	case !ok && w.proofOf(v) == views.ProofElsewhere:
		return w.showConfirm(v)
	case !ok:
		return wrong("current", cmp.Or(text, "Current password is required."))
	}

	password := v.r.FormValue("password")
	if text := checkPassword(password); text != "" {
		return wrong("password", text)
	}
	hash := hashPassword(password)
	change := store.CredentialChange{Password: &hash}
	if err := w.changeCredentials(v, v.person.ID, change, true, passwordSubject, passwordLine); err != nil {
		return err
	}

	v.flash("Password changed. All other sessions were ended.")
	if err := v.record("person.password", v.person.Email, ""); err != nil {
		return err
	}
	return v.redirect(securityPath)
}

func (w *Web) endSession(v *pageRequest) error {
	if err := w.store.EndSession(v.ctx(), v.person.ID, chi.URLParam(v.r, "id")); err != nil {
		return err
	}
	return v.redirectWith(securityPath, "Session ended.")
}

func (w *Web) endSessions(v *pageRequest) error {
	if err := w.endOthers(v.ctx(), v.person.ID); err != nil {
		return err
	}
	return v.redirectWith(securityPath, "All other sessions ended.")
}

func (w *Web) inviteMember(v *pageRequest) error {
	wrong := func(text string) error {
		return w.membersPage(v, views.Form{
			Values: map[string]string{"email": v.value("email"), "role": v.value("role")},
			Errors: map[string]string{"email": text},
		})
	}

	email, err := store.MailAddress(v.value("email"))
	if err != nil {
		return wrong("Email must be an email address such as maya@example.com.")
	}

	members, err := w.store.AccountMembers(v.ctx(), v.account.ID)
	if err != nil {
		return err
	}
	for _, member := range members {
		if member.Person.Email == email {
			return wrong("This user is already a member.")
		}
	}

	if _, ok := w.allow(v.ctx(), "invite:account:"+v.account.ID, 50, 24*time.Hour); !ok {
		return errTooMany
	}
	secret, err := w.store.NewInvite(v.ctx(), store.Invite{
		AccountID: v.account.ID,
		Email:     email,
		Role:      v.value("role"),
		InviterID: v.person.ID,
		ExpiresAt: w.now().Add(inviteLife),
	})
	if err != nil {
		return err
	}

	address := w.cfg.BaseURL + "/invite/" + secret
	err = errors.Join(v.record("member.invited", email, v.value("role")), w.sendEmail(v.ctx(), mail.Message{
		To: email, Subject: v.person.Email + " invited you to " + v.account.Name,
		Lines: []string{
			v.person.Email + " invited you to the account " +
				v.account.Name + " on relaypdf. The link is valid once, for 7 days.",
			"If you do not know the sender, ignore this email.",
		},
		Link: mail.Link{Text: "Join " + v.account.Name, URL: address},
	}))
	if err != nil {
		return err
	}

	if w.mail == nil {
		return v.redirectOnce(membersPath, views.InviteLink{Email: email, URL: address})
	}
	return v.redirectWith(membersPath, "Invitation sent to "+email+".")
}

func (w *Web) cancelInvite(v *pageRequest) error {
	if err := w.store.CancelInvite(v.ctx(), v.account.ID, chi.URLParam(v.r, "id")); err != nil {
		return err
	}
	if err := v.record("invite.cancelled", chi.URLParam(v.r, "id"), ""); err != nil {
		return err
	}
	return v.redirectWith(membersPath, "Invitation cancelled.")
}

// memberOf returns the member that an address names.
func (w *Web) memberOf(v *pageRequest) (store.Membership, error) {
	members, err := w.store.AccountMembers(v.ctx(), v.account.ID)
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

	if !slices.Contains(store.Roles(), v.value("role")) {
		return errForm
	}

	err = w.store.SetMemberRole(v.ctx(), v.account.ID, member.Person.ID, v.value("role"))
	if err == nil {
		err = v.record("member.role", member.Person.Email, member.Role+" to "+v.value("role"))
	}

	return w.memberChanged(
		v, err, "Role of "+member.Person.Email+" changed to "+v.value("role")+". The member must log in again.",
	)
}

func (w *Web) removeMember(v *pageRequest) error {
	member, err := w.memberOf(v)
	if err != nil {
		return err
	}
	err = w.store.RemoveMember(v.ctx(), v.account.ID, member.Person.ID)
	if err == nil {
		err = v.record("member.removed", member.Person.Email, "")
	}
	return w.memberChanged(v, err, member.Person.Email+" removed from the account.")
}

func (w *Web) memberChanged(v *pageRequest, err error, done string) error {
	if errors.Is(err, store.ErrLastOwner) {
		err = nil
		done = "Not changed: an account must have at least one owner."
	}
	if err != nil {
		return err
	}
	return v.redirectWith(membersPath, done)
}

func (w *Web) exportAudit(v *pageRequest) error {
	columns := []string{"at", "who", "action", "object", "note", "address"}
	return v.sendTable("audit.csv", columns, exported(w.auditPages(v), func(e store.AuditEntry) []string {
		return []string{e.At.UTC().Format(time.RFC3339), e.Who, e.Action, e.Object, e.Note, e.Address}
	}))
}
