package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/views"
)

const (
	// adminRows is the number of calls, postings and entries of the audit log on the page of one account.
	adminRows = 10
	// debit is the kind of a posting with which an operator debits a wallet.
	debit = "debit"
)

// moneyKinds are the kinds of postings that an operator may choose.
var moneyKinds = []views.Choice{
	{Value: store.KindPayment, Text: "Payment received"}, {Value: store.KindGrant, Text: "Credit: gift"},
	{Value: store.KindPromotion, Text: "Credit: promotion"},
	{Value: store.KindAdjustment, Text: "Credit: correction"}, {Value: debit, Text: "Debit: correction"},
}

// accountNamed returns the account that an address names.
func (w *Web) accountNamed(v *pageRequest) (store.Account, error) {
	return w.store.Account(v.ctx(), chi.URLParam(v.r, "id"))
}

func (w *Web) showAccount(v *pageRequest) error { return w.accountPage(v, nil) }

// accountPage shows an account, after change has filled in the submitted values and their errors.
func (w *Web) accountPage(v *pageRequest, change func(*views.AdminAccount)) error {
	account, err := w.accountNamed(v)
	if err != nil {
		return err
	}

	m := views.AdminAccount{
		ID: account.ID, Name: account.Name, Email: account.Email,
		Plan: account.Plan, Region: account.Region, Reason: account.SuspendReason,
		Suspended: account.Suspended, State: accountState(account), Balance: account.Balance,
		Held: account.Held, Owed: account.Owed, Joined: account.CreatedAt,
		Suspend: views.Form{Errors: map[string]string{}}, Kinds: moneyKinds,
		// A form that is sent twice posts once.
		Money: views.Form{Values: map[string]string{"reference": w.store.NewID("ref")}, Errors: map[string]string{}},
	}

	spent, err := w.store.SpentByAccount(v.ctx(), []string{account.ID}, w.now().AddDate(0, 0, -29))
	if err != nil {
		return err
	}
	m.Spent = spent[account.ID]
	if err := errors.Join(w.fillKeys(v, &m), w.fillMembers(v, &m), w.fillMoves(v, &m)); err != nil {
		return err
	}

	status := http.StatusOK
	if change != nil {
		status = http.StatusUnprocessableEntity
		change(&m)
	}
	return v.show(status, views.AdminAccountPage(v.adminPage(m.Name), m))
}

func (w *Web) fillKeys(v *pageRequest, m *views.AdminAccount) error {
	list, err := w.store.Keys(v.ctx(), m.ID)
	for _, k := range slices.Backward(list) {
		m.Keys = append(m.Keys, w.keyLine(k, store.Spent{}))
	}
	return err
}

func (w *Web) fillMembers(v *pageRequest, m *views.AdminAccount) error {
	members, err := w.store.AccountMembers(v.ctx(), m.ID)
	for _, member := range members {
		m.Members = append(m.Members, views.Member{Email: member.Person.Email, Role: member.Role})
	}
	return err
}

// fillMoves fills in the account's latest events.
func (w *Web) fillMoves(v *pageRequest, m *views.AdminAccount) error {
	calls, err := w.store.Calls(v.ctx(), store.CallFilter{AccountID: m.ID, List: store.List{Limit: adminRows}})
	if err != nil {
		return err
	}
	for _, call := range calls.Items {
		m.Calls = append(m.Calls, documentOf(call, nil))
	}

	postings, err := w.store.Postings(v.ctx(), store.PostingFilter{
		AccountID:    m.ID,
		WithoutCalls: true,
		List:         store.List{Limit: adminRows},
	})
	if err != nil {
		return err
	}
	for _, p := range postings.Items {
		line := views.LedgerLine{What: postingWords[p.Kind], Note: p.Reason, At: p.CreatedAt, Amount: p.Wallet - p.Owed}
		if strings.EqualFold(line.What, line.Note) {
			line.Note = ""
		}
		m.Ledger = append(m.Ledger, line)
	}

	entries, err := w.store.AuditEntries(v.ctx(), m.ID, "", adminRows)
	for _, e := range entries {
		m.Audit = append(m.Audit, auditLine(e))
	}
	return err
}

// recordFor writes an operator's action on an account into the audit log.
func (w *Web) recordFor(v *pageRequest, account store.Account, action, object, note string) error {
	return w.store.AddAuditEntry(v.ctx(), store.AuditEntry{
		AccountID: account.ID, PersonID: v.person.ID, Who: v.person.Email, Action: action, Object: object, Note: note,
		Address: middleware.ClientIP(v.ctx()), Operator: true,
	})
}

func (w *Web) backToAccount(v *pageRequest, account store.Account, sentence string) error {
	return v.redirectWith(adminPath+"/accounts/"+url.PathEscape(account.ID), sentence)
}

// setSuspended suspends an account, or lifts that; either needs a reason.
func (w *Web) setSuspended(suspend bool) func(*pageRequest) error {
	return func(v *pageRequest) error {
		account, err := w.accountNamed(v)
		if err != nil {
			return err
		}

		reason := v.value("reason")
		if reason == "" {
			return w.accountPage(v, func(m *views.AdminAccount) {
				m.Suspend.Errors["reason"] = "Reason is required. It is stored in the audit log."
			})
		}

		action := "account.suspended"
		notice := "Account " + account.Name + " suspended. Its API keys are rejected and its files are hidden."
		change := func() error { return w.store.Suspend(v.ctx(), account.ID, reason) }
		if !suspend {
			action = "account.resumed"
			notice = "Account " + account.Name + " reactivated."
			change = func() error { return w.store.Resume(v.ctx(), account.ID) }
		}

		if err := change(); err != nil {
			return err
		}
		if err := w.recordFor(v, account, action, account.Email, reason); err != nil {
			return err
		}
		return w.backToAccount(v, account, notice)
	}
}

// postMoney credits or debits an account.
func (w *Web) postMoney(v *pageRequest) error {
	account, err := w.accountNamed(v)
	if err != nil {
		return err
	}

	p := store.NewPosting{
		AccountID: account.ID,
		Kind:      v.value("kind"),
		Reference: v.value("reference"),
		Reason:    v.value("reason"),
	}
	amount, wrong := w.moneyForm(v)
	if len(wrong) > 0 {
		return w.accountPage(v, func(m *views.AdminAccount) {
			m.Money = views.Form{Errors: wrong, Values: map[string]string{}}
			for _, name := range []string{"kind", "amount", "reason", "reference"} {
				m.Money.Values[name] = v.value(name)
			}
		})
	}

	action := "account.credited"
	notice := "credited to "
	p.Amount = amount
	if p.Kind == debit {
		p.Kind = store.KindAdjustment
		p.Amount = -amount
		action = "account.debited"
		notice = "debited from "
	}

	posted, err := w.store.Post(v.ctx(), p)
	switch {
	case errors.Is(err, store.ErrExists), err == nil && !posted:
		return w.backToAccount(v, account, "Nothing was posted: this form was already sent.")
	case errors.Is(err, credit.ErrOverflow):
		return w.backToAccount(v, account, "Nothing was posted: the balance would be too large.")
	case err != nil:
		return err
	}

	sum := views.Dollars(amount)
	if err := w.recordFor(v, account, action, sum, p.Reason); err != nil {
		return err
	}
	return w.backToAccount(v, account, sum+" "+notice+account.Name+".")
}

// moneyForm reads the amount, and returns the errors of the form by field.
func (w *Web) moneyForm(v *pageRequest) (credit.Amount, map[string]string) {
	wrong := map[string]string{}
	amount, text := dollars(v.value("amount"))
	switch {
	case text != "":
		wrong["amount"] = text
	case amount == nil || *amount == 0 || *amount > maxPosting:
		wrong["amount"] = "Amount must be more than $0 and at most " + views.Dollars(maxPosting) + "."
	}

	if !slices.ContainsFunc(moneyKinds, func(c views.Choice) bool { return c.Value == v.value("kind") }) {
		wrong["kind"] = "Choose a type."
	}
	if v.value("reason") == "" {
		wrong["reason"] = "Reason is required. It is shown in the ledger."
	}
	if v.value("reference") == "" {
		wrong[""] = "The form is incomplete. Reload the page and try again."
	}

	if len(wrong) > 0 {
		return 0, wrong
	}
	return *amount, nil
}

// maxPosting is the maximum amount that an operator posts in one form, against typing errors; the command line has
// no such limit.
const maxPosting = 100_000 * credit.Dollar
