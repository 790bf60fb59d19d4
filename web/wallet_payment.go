package web

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/views"
)

const (
	receiptsPath = walletPath + "/receipts"
	// shownPayments is the number of payments on the wallet's page.
	shownPayments = 5
	// topUpsAnHour bounds the pages that an account may begin.
	topUpsAnHour = 30
	minTopUp     = 5 * credit.Dollar
	maxTopUp     = 1000 * credit.Dollar
)

// fillPayments adds the payments to the wallet's page.
func (w *Web) fillPayments(v *pageRequest, m *views.Wallet, forms walletForms) error {
	page, err := w.store.Payments(v.ctx(), store.PaymentFilter{
		AccountID:              v.account.ID,
		ExcludeUnpaidCheckouts: true,
		List:                   store.List{Limit: shownPayments},
	})
	if err != nil {
		return err
	}

	m.Payments = paymentLines(page.Items)
	m.MorePayments = page.Next != ""
	if w.cfg.Payments == nil {
		return nil
	}

	m.TopUp = &views.TopUp{
		Form:     views.Form{Values: map[string]string{"amount": "20"}},
		Provider: "Stripe",
		Test:     !w.cfg.Payments.Live(),
	}
	price := w.cfg.Prices["pdf.create"]
	for _, dollars := range []int{5, 20, 50} {
		choice := views.TopUpChoice{Dollars: dollars}
		if price > 0 {
			choice.Note = views.Plural(int64(credit.Amount(dollars)*credit.Dollar/price), "PDF", "PDFs")
		}
		m.TopUp.Choices = append(m.TopUp.Choices, choice)
	}

	if forms.topUp != nil {
		m.TopUp.Form = *forms.topUp
	}
	if !v.may(billingRole) {
		return nil
	}
	return w.fillReload(v, m, forms.reload)
}

func (w *Web) fillReload(v *pageRequest, m *views.Wallet, form *views.Form) error {
	stored, err := w.store.AutoReload(v.ctx(), v.account.ID)
	if errors.Is(err, store.ErrNotFound) {
		stored = store.AutoReload{
			Threshold: 5 * credit.Dollar,
			Amount:    20 * credit.Dollar,
			Monthly:   store.DefaultMonthlyReload,
		}
		err = nil
	}
	if err != nil {
		return err
	}

	buyer, err := w.store.Customer(v.ctx(), v.account.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}

	m.Reload = &views.Reload{
		Card: buyer.Card, On: stored.On, Month: stored.Taken,
		Form: views.Form{Values: map[string]string{
			"threshold": plainDollars(stored.Threshold),
			"reload":    plainDollars(stored.Amount),
			"cap":       plainDollars(stored.Monthly),
		}},
	}
	if !stored.On && stored.OffReason != "" {
		m.Reload.Why = "Auto-reload is off. " + stored.OffReason
	}
	if form != nil {
		m.Reload.Form = *form
		m.Reload.On = form.Checked("on")
	}
	return nil
}

func plainDollars(amount credit.Amount) string { return strings.TrimPrefix(amount.String(), "$") }

// paymentLines shows payments.
func paymentLines(list []store.Payment) []views.PaymentLine {
	lines := make([]views.PaymentLine, len(list))
	for i, p := range list {
		line := views.PaymentLine{
			What: "Top-up", Card: p.Card, At: p.CreatedAt, Amount: p.Amount,
			Back: p.Refunded + p.Disputed, Receipt: providerURL(p.ReceiptURL), Reason: p.Reason,
			State: views.Status{Is: views.StateRun, Word: "Processing"},
		}
		if p.Kind == store.PaymentAutoReload {
			line.What = "Auto-reload"
		}

		switch p.State {
		case store.PaymentPaid:
			line.State = paidState(p)
		case store.PaymentFailed:
			line.State = views.Status{Is: views.StateBad, Word: "Failed"}
		case store.PaymentExpired:
			line.State = views.Status{Is: views.StateOff, Word: "Not paid"}
		case store.PaymentAction:
			// The page's banner has the reason.
			line.State = views.Status{Is: views.StateWarn, Word: "Confirmation required"}
			line.Action = providerURL(p.ActionURL)
			line.Reason = ""
		}

		lines[i] = line
	}
	return lines
}

func paidState(p store.Payment) views.Status {
	switch {
	case p.Disputed > 0:
		return views.Status{Is: views.StateBad, Word: "Disputed"}
	case p.Refunded >= p.Amount:
		return views.Status{Is: views.StateOff, Word: "Refunded"}
	case p.Refunded > 0:
		return views.Status{Is: views.StateOK, Word: "Partly refunded"}
	}
	return views.Status{Is: views.StateOK, Word: "Paid"}
}

// providerURL keeps addresses that are not of the web out of the pages.
func providerURL(address string) string {
	if strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://") {
		return address
	}
	return ""
}

// paymentBanner shows the payment that the user has come back from, or one that waits for its owner.
func (w *Web) paymentBanner(v *pageRequest) (*views.Banner, error) {
	if id := v.value("payment"); id != "" {
		p, err := w.store.Payment(v.ctx(), id)
		if errors.Is(err, store.ErrNotFound) || err == nil && p.AccountID != v.account.ID {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}

		// The payment may have arrived after the visitor's account was read.
		account, err := w.store.Account(v.ctx(), p.AccountID)
		v.account = &account
		return returnBanner(p), err
	}

	if !v.may(billingRole) || w.cfg.Payments == nil {
		return nil, nil
	}
	page, err := w.store.Payments(v.ctx(), store.PaymentFilter{
		AccountID:              v.account.ID,
		ExcludeUnpaidCheckouts: true,
		List:                   store.List{Limit: 1},
	})
	if err != nil || len(page.Items) == 0 || page.Items[0].State != store.PaymentAction {
		return nil, err
	}

	p := page.Items[0]
	return &views.Banner{
		Is: views.StateWarn, Bold: "Confirm the payment of " + p.Amount.String() + ".", Text: p.Reason,
		Link: views.Link{URL: providerURL(p.ActionURL), Text: "Confirm"},
	}, nil
}

func returnBanner(p store.Payment) *views.Banner {
	switch p.State {
	case store.PaymentPaid:
		return &views.Banner{
			Is:   views.StateOK,
			Bold: "Payment received.",
			Text: p.Amount.String() + " was added to the wallet.",
		}
	case store.PaymentOpen:
		return &views.Banner{
			Is: views.StateRun, Bold: "Waiting for Stripe.",
			Text: "Card payments take a few seconds, other payments up to a few days.",
			Link: views.Link{URL: walletPath + "?payment=" + p.ID, Text: "Reload"}, Refresh: true,
		}
	}

	return &views.Banner{
		Is:   views.StateWarn,
		Bold: "Payment not completed.",
		Text: cmp.Or(p.Reason, "The payment page was closed or expired."),
	}
}

// topUp sends the visitor to the provider's page.
func (w *Web) topUp(v *pageRequest) error {
	if w.cfg.Payments == nil {
		return errNotFound
	}

	form := views.Form{
		Values: map[string]string{"amount": v.value("amount"), "other": v.value("other")},
		Errors: map[string]string{},
	}
	text := form.Values["amount"]
	if text == "other" {
		text = form.Values["other"]
	}

	amount, wrong := dollars(text)
	switch {
	case wrong != "":
		form.Errors["other"] = wrong
	case amount == nil || *amount < minTopUp || *amount > maxTopUp:
		form.Errors["other"] = "Amount must be between $5 and $1,000."
	case *amount%(credit.Dollar/100) != 0:
		form.Errors["other"] = "Amount must be in whole cents, such as 7.50."
	}

	if form.Failed() {
		if !isChoice(form.Values["amount"]) {
			form.Values["other"] = text
			form.Values["amount"] = "other"
		}
		return w.walletPage(v, http.StatusUnprocessableEntity, walletForms{topUp: &form})
	}
	if _, ok := w.allow(v.ctx(), "topup:"+v.account.ID, topUpsAnHour, time.Hour); !ok {
		return errTooMany
	}

	address, err := w.cfg.Payments.TopUp(v.ctx(), *v.account, *amount)
	if err != nil {
		w.log.ErrorContext(v.ctx(), "top-up failed", "account", v.account.ID, "error", err)
		form.Errors[""] = "Stripe is unavailable. Nothing was charged. Try again in a minute."
		return w.walletPage(v, http.StatusBadGateway, walletForms{topUp: &form})
	}

	if err := v.record("payment.begun", amount.String(), ""); err != nil {
		return err
	}
	return v.leave(address)
}

// isChoice reports whether an amount is one of those that the form offers.
func isChoice(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && (n == 5 || n == 20 || n == 50)
}

// leave sends the visitor to a page of the provider's.
func (v *pageRequest) leave(address string) error {
	http.Redirect(v.w, v.r, address, http.StatusSeeOther)
	return nil
}

func (w *Web) openPortal(v *pageRequest) error {
	if w.cfg.Payments == nil {
		return errNotFound
	}
	address, err := w.cfg.Payments.Portal(v.ctx(), *v.account)
	if err != nil {
		w.log.ErrorContext(v.ctx(), "portal failed", "account", v.account.ID, "error", err)
		return v.redirectWith(walletPath, "Stripe is unavailable. Try again in a minute.")
	}
	return v.leave(address)
}

// leavePortal handles the return from the provider's page, on which another card may have been chosen.
func (w *Web) leavePortal(v *pageRequest) error {
	if w.cfg.Payments == nil {
		return errNotFound
	}
	if err := w.cfg.Payments.RefreshCard(v.ctx(), *v.account); err != nil {
		w.log.ErrorContext(v.ctx(), "card not read", "account", v.account.ID, "error", err)
		v.flash("Stripe is unavailable. If you changed the card, open Change card again later to update it here.")
	}
	return v.redirect(walletPath)
}

func (w *Web) saveReload(v *pageRequest) error {
	if w.cfg.Payments == nil {
		return errNotFound
	}

	form := views.Form{
		Values: map[string]string{
			"on": v.value("on"), "threshold": v.value("threshold"), "reload": v.value("reload"), "cap": v.value("cap"),
		},
		Errors: map[string]string{},
	}
	settings := store.AutoReload{On: form.Checked("on")}
	amounts := map[string]*credit.Amount{
		"threshold": &settings.Threshold, "reload": &settings.Amount, "cap": &settings.Monthly,
	}
	for name, into := range amounts {
		amount, wrong := dollars(form.Values[name])
		switch {
		case wrong != "":
			form.Errors[name] = wrong
		case amount == nil:
			form.Errors[name] = "Amount is required."
		default:
			*into = *amount
		}
	}

	if !form.Failed() {
		switch {
		case settings.Threshold <= 0:
			form.Errors["threshold"] = "Amount must be greater than $0."
		case settings.Amount < max(settings.Threshold, minTopUp) || settings.Amount > maxTopUp:
			form.Errors["reload"] = "Amount must be between " +
				views.Dollars(max(settings.Threshold, minTopUp)) + " and $1,000."
		case settings.Amount%(credit.Dollar/100) != 0:
			form.Errors["reload"] = "Amount must be in whole cents, such as 7.50."
		case settings.Monthly < settings.Amount:
			form.Errors["cap"] = "Monthly maximum must be at least the amount of one reload."
		default:
			if err := store.CheckAutoReload(settings); err != nil {
				form.Errors[""] = "These amounts are not a valid combination."
			}
		}
	}

	if form.Failed() {
		return w.walletPage(v, http.StatusUnprocessableEntity, walletForms{reload: &form})
	}
	if err := w.store.SetAutoReload(v.ctx(), v.account.ID, settings); err != nil {
		return err
	}

	action := "auto_reload.off"
	note := ""
	if settings.On {
		action = "auto_reload.on"
		note = plainDollars(settings.Amount) + " below " +
			plainDollars(settings.Threshold) + ", max " + plainDollars(settings.Monthly) + " per month"
	}
	if err := v.record(action, "", note); err != nil {
		return err
	}
	return v.redirectWith(walletPath, "Auto-reload saved.")
}

func (w *Web) showReceipts(v *pageRequest) error {
	page, err := w.store.Payments(v.ctx(), store.PaymentFilter{
		AccountID:              v.account.ID,
		ExcludeUnpaidCheckouts: true,
		List:                   store.List{Cursor: v.value("cursor")},
	})
	if err != nil {
		return err
	}

	m := views.Receipts{List: paymentLines(page.Items), Portal: w.cfg.Payments != nil}
	m.Pager = pager(v, receiptsPath, page.Next, views.Plural(len(m.List), "payment", "payments"))
	return v.show(http.StatusOK, views.ReceiptsPage(v.page("Receipts", walletPath), m))
}
