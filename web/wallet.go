package web

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/views"
)

const walletPath = "/dashboard/wallet"

func (w *Web) showWallet(v *pageRequest) error { return w.walletPage(v, http.StatusOK, walletForms{}) }

// walletForms are forms with errors; nil ones show the stored values.
type walletForms struct{ limits, topUp, reload *views.Form }

func (w *Web) walletPage(v *pageRequest, status int, forms walletForms) error {
	banner, err := w.paymentBanner(v)
	if err != nil {
		return err
	}

	now := w.now().UTC()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	activity, err := w.store.Activity(v.ctx(), v.account.ID, month, now)
	if err != nil {
		return err
	}

	m := views.Wallet{
		Balance: v.account.Balance, Held: v.account.Held, Owed: v.account.Owed,
		SpentToday: v.account.SpentToday, Kind: v.value("kind"),
		Pace:       pace(v.account.Balance, activity.Total, now.Day(), "at "+now.Month().String()+"’s pace"),
		UsageTitle: "Usage, " + now.Month().String(), Export: walletPath + ".csv",
		Group: cmp.Or(v.value("by"), "operation"),
		Limits: views.Form{
			Values: map[string]string{"job": limitText(v.account.MaxJob), "day": limitText(v.account.MaxDay)},
		},
	}
	if forms.limits != nil {
		m.Limits = *forms.limits
	}

	if err := w.fillPayments(v, &m, forms); err != nil {
		return err
	}
	if m.Usage, err = w.usageBars(v, activity, m.Group); err != nil {
		return err
	}
	if err := w.ledgerLines(v, &m); err != nil {
		return err
	}

	p := v.page("Wallet", walletPath)
	p.Banner = banner
	return v.show(status, views.WalletPage(p, m))
}

func limitText(limit *credit.Amount) string {
	if limit == nil {
		return ""
	}
	return strings.TrimPrefix(limit.String(), "$")
}

func (w *Web) usageBars(v *pageRequest, a store.Activity, group string) ([]views.UsageBar, error) {
	var bars []views.UsageBar
	switch group {
	case "day":
		for _, d := range a.Days {
			bars = append(bars, views.UsageBar{Name: d.Day.Format("Jan 2"), Count: d.Count, Amount: d.Total})
		}
		return bars, nil

	case "key":
		keys, err := w.keysOf(v.ctx(), v.account.ID)
		if err != nil {
			return nil, err
		}
		for id, spent := range a.Keys {
			bars = append(bars, views.UsageBar{
				Name:   cmp.Or(keys.name(id), "dashboard"),
				Count:  spent.Calls,
				Amount: spent.Amount,
			})
		}

	default:
		for _, o := range a.Operations {
			bars = append(bars, views.UsageBar{Name: o.Operation, Count: o.Count, Amount: o.Total})
		}
	}

	slices.SortFunc(bars, func(a, b views.UsageBar) int {
		return cmp.Or(cmp.Compare(b.Amount, a.Amount), cmp.Compare(a.Name, b.Name))
	})
	return bars[:min(len(bars), 12)], nil
}

// postingWords describe the kinds of postings.
var postingWords = map[string]string{
	store.KindPayment:    "Payment",
	store.KindTrial:      "Trial credit",
	store.KindGrant:      "Operator credit",
	store.KindPromotion:  "Promotion",
	store.KindHold:       "Call",
	store.KindSettle:     "Unused hold released",
	store.KindRelease:    "Failed call released",
	store.KindRefund:     "Refund",
	store.KindChargeback: "Dispute",
	store.KindAdjustment: "Adjustment",
	store.KindAI:         "AI template",
}

// callNotes describe the postings of a call.
var callNotes = map[string]string{
	store.KindHold: "call", store.KindSettle: "unused hold released", store.KindRelease: "failed, hold released",
}

// ledgerLines fills in a page of the ledger with the balance after each line.
func (w *Web) ledgerLines(v *pageRequest, m *views.Wallet) error {
	f := store.PostingFilter{AccountID: v.account.ID, List: store.List{Cursor: v.value("cursor")}}
	switch m.Kind {
	case "payments":
		f.Kinds = store.PaymentKinds
	case "calls":
		f.Kinds = store.CallKinds
	case "credits":
		f.WithoutCalls = true
	}

	page, err := w.store.Statement(v.ctx(), f)
	if err != nil {
		return err
	}
	keys, err := w.keysOf(v.ctx(), v.account.ID)
	if err != nil {
		return err
	}

	for _, p := range page.Items {
		if p.Wallet == 0 || p.Failed && p.Kind == store.KindHold {
			continue // the end of a call that was charged whole, or the hold of one that failed: one line is enough
		}

		line := views.LedgerLine{
			What:    postingWords[p.Kind],
			Note:    p.Reason,
			At:      p.CreatedAt,
			Amount:  p.Wallet,
			Balance: p.Balance,
		}
		if p.CallID != "" {
			if p.Operation == "" { // The call has been removed.
				line.Note = callNotes[p.Kind] + " · " + w.removed()
			} else {
				line.URL = documentsPath + "/" + p.CallID
				line.Note = callNotes[p.Kind] + " · " + cmp.Or(keys.name(p.KeyID), "dashboard")
				line.What = p.Operation
			}
		}

		if p.Failed {
			line.Amount = 0
			line.Note = "failed · " + cmp.Or(keys.name(p.KeyID), "dashboard")
		}
		if p.Kind == store.KindPayment && strings.HasPrefix(p.Reference, "stripe ") {
			line.What = p.Reason
			line.Note = "payment"
		}
		if strings.EqualFold(line.What, line.Note) {
			line.Note = ""
		}
		m.Ledger = append(m.Ledger, line)
	}

	m.Pager = pager(v, walletPath, page.Next, views.Plural(len(m.Ledger), "entry", "entries"))
	return nil
}

// removed is the note on a call that the retention has removed.
func (w *Web) removed() string {
	if months := w.store.RetentionMonths(); months > 0 {
		return "removed after " + views.Plural(months, "month", "months")
	}
	return "removed"
}

func (w *Web) saveLimits(v *pageRequest) error {
	form := views.Form{
		Values: map[string]string{"job": v.value("job"), "day": v.value("day")},
		Errors: map[string]string{},
	}
	var limits store.Limits
	var wrong string

	if limits.MaxJob, wrong = dollars(form.Values["job"]); wrong != "" {
		form.Errors["job"] = wrong
	}
	if limits.MaxDay, wrong = dollars(form.Values["day"]); wrong != "" {
		form.Errors["day"] = wrong
	}

	if form.Failed() {
		return w.walletPage(v, http.StatusUnprocessableEntity, walletForms{limits: &form})
	}
	if err := w.store.SetLimits(v.ctx(), v.author(), limits); err != nil {
		return err
	}
	return v.redirectWith(walletPath, "Spending limits saved.")
}

func (w *Web) exportLedger(v *pageRequest) error {
	read := func(l store.List) (store.Page[store.JournalEntry], error) {
		return w.store.Postings(v.ctx(), store.PostingFilter{AccountID: v.account.ID, List: l})
	}

	columns := []string{"id", "at", "kind", "amount_usd", "held_usd", "reference", "reason", "call"}

	return v.sendTable("ledger.csv", columns, exported(read, func(p store.JournalEntry) []string {
		return []string{
			p.ID, p.CreatedAt.UTC().Format(time.RFC3339), p.Kind,
			decimal(p.Wallet), decimal(p.Held), p.Reference, p.Reason, p.CallID,
		}
	}))
}
