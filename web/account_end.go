package web

import (
	"errors"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
	"github.com/relaypdf/relaypdf/web/mail"
)

// endAccount schedules the deletion of the account after a grace period and notifies all its owners.
func (w *Web) endAccount(v *pageRequest) error {
	if v.value("confirm") != v.account.Name {
		return w.dataPage(v, views.Form{
			Errors: map[string]string{"confirm": "Enter the name of the account: " + v.account.Name + "."},
		})
	}

	at, err := w.store.ScheduleDeletion(v.ctx(), v.account.ID)
	if err != nil {
		return err
	}

	day := at.UTC().Format("January 2, 2006")
	deletion := "All data except the ledger and call records is deleted on " + day + "."
	err = errors.Join(
		v.record("account.ending", v.account.Name, "on "+day),
		w.notifyOwners(v, "Your account will be deleted", []string{
			v.person.Email + " requested the deletion of " + v.account.Name + ". Its API keys are revoked. " + deletion,
			"Until then, an owner can cancel the deletion under Settings.",
		}),
	)
	if err != nil {
		return err
	}

	return v.redirectWith(dataPath, "API keys revoked. "+deletion)
}

// cancelDeletion undoes the deletion.
func (w *Web) cancelDeletion(v *pageRequest) error {
	if err := w.store.CancelDeletion(v.ctx(), v.account.ID); err != nil {
		return err
	}

	err := errors.Join(
		v.record("account.kept", v.account.Name, ""),
		w.notifyOwners(v, "Account deletion was cancelled", []string{
			v.person.Email + " cancelled the deletion of " + v.account.Name +
				". Its API keys stay revoked. Create new ones.",
		}),
	)
	if err != nil {
		return err
	}

	return v.redirectWith(dataPath, "Deletion cancelled. The API keys stay revoked. Create new ones.")
}

func (w *Web) notifyOwners(v *pageRequest, subject string, lines []string) error {
	members, err := w.store.AccountMembers(v.ctx(), v.account.ID)

	for _, m := range members {
		if m.Role == store.RoleOwner {
			err = errors.Join(err, w.sendEmail(v.ctx(), mail.Message{
				To: m.Person.Email, Subject: subject, Lines: lines,
				Link: mail.Link{Text: "Open settings", URL: w.cfg.BaseURL + dataPath},
			}))
		}
	}

	return err
}
