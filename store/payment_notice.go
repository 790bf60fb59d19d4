package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/relaypdf/relaypdf/store/credit"
)

// PaymentDeclined is, in a notice, that a card was refused: it ends a payment
// that was taken without its owner, who may otherwise try another card.
const PaymentDeclined = "declined"

// PaymentReport is a report of the provider about a payment, in an event or in response to a query. Notices may come
// twice, late, and in any order.
type PaymentReport struct {
	// Event and EventType are the ID and the type of an event; it is carried out once.
	Event, EventType string
	// IDs of the payment, our own and the provider's, as far as the notice has them.
	PaymentID, Session, Intent string
	// State is the status of the payment: one of a Payment's, or PaymentDeclined; empty means no change.
	State     string
	Amount    credit.Amount // the paid amount, with PaymentPaid
	Refunded  credit.Amount // all that was given back so far, as far as none of it has failed
	Refunds   []Refund      // all of the intent's, if the notice has any
	Dispute   *Dispute
	Reason    string
	ActionURL string
	Details   PaymentDetails
	// Origin comes from the provider's metadata of the payment, with PaymentPaid: a payment whose row is missing is
	// rebuilt from it.
	Origin Origin
	// BuildMail emails the changes to the users who pay; nil sends nothing.
	BuildMail MailBuilder
}

// Refund is a refunded part of a payment. A refund that fails at the bank, even days after it was reported, has moved
// nothing.
type Refund struct {
	ID     string
	Amount credit.Amount
	Failed bool
}

// PaymentChange is the change made by a notice.
type PaymentChange struct {
	Known     bool // the payment is one of our own
	Rebuilt   bool // its row was missing, and was made of the notice
	Payment   Payment
	Credited  bool          // by this notice
	Taken     credit.Amount // from the wallet; below zero is given back
	Failed    bool          // an auto-reload
	Action    bool          // an auto-reload needs its owner
	Disputed  bool          // by a dispute that is new
	OffReason string        // why the account's auto-reload was switched off
	Capped    bool          // auto-reload has reached its monthly cap
}

// notifiable reports whether users may want an email about a change.
func (c *PaymentChange) notifiable() bool {
	return c.Credited || c.Failed || c.Action || c.Disputed || c.OffReason != ""
}

// ErrOtherPayment means that a notice contradicts the recorded payment.
var ErrOtherPayment = errors.New("the notice contradicts the payment")

// ApplyPayment applies a notice once: it credits paid amounts, takes back refunded or disputed ones, and ends failed
// payments. A notice for an unknown payment is stored until the payment is known; a paid payment without a row is
// rebuilt from its Origin. It returns ErrOtherPayment if the amount is not the payment's, and ErrNoOrigin for a paid
// payment that cannot be rebuilt.
func (s *Store) ApplyPayment(ctx context.Context, n PaymentReport) (change PaymentChange, err error) {
	for _, name := range []string{n.Event, n.PaymentID, n.Session, n.Intent} {
		if len(name) > 255 || !storable(name) {
			return PaymentChange{}, errors.New("apply payment: a name has more than 255 bytes, or no text")
		}
	}

	err = s.inTx(ctx, func(ctx context.Context, tx txn) error {
		change = PaymentChange{}

		if n.Event != "" {
			fresh, err := changed(tx.NewRaw(`INSERT INTO stripe_events (id, type, created_at) VALUES (?, ?, ?)
				ON CONFLICT (id) DO NOTHING`,
				n.Event, clean(n.EventType, 100), toMicros(s.now())).Exec(ctx))
			if err != nil || !fresh {
				return err
			}
		}

		a := paymentUpdate{Store: s, tx: tx, report: n, change: &change, now: s.now()}
		return a.do(ctx)
	})
	return change, wrapped("apply payment", err)
}

// paymentUpdate is a notice on its way, within a transaction. It locks the intent,
// then the payment, then the account.
type paymentUpdate struct {
	*Store
	tx     txn
	report PaymentReport
	row    paymentRow
	change *PaymentChange
	now    time.Time
}

func (a *paymentUpdate) do(ctx context.Context) error {
	refunded, err := a.lockIntent(ctx)
	if err != nil {
		return err
	}

	if err := a.writeRefunds(ctx); err != nil {
		return err
	}
	if err := a.writeDispute(ctx); err != nil {
		return err
	}

	err = a.findPayment(ctx)
	if errors.Is(err, ErrNotFound) && a.report.State == PaymentPaid && a.report.PaymentID != "" {
		if err = a.rebuild(ctx); err == nil {
			err = a.findPayment(ctx)
		}
	}
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}

	a.change.Known = true
	if err := a.move(ctx); err != nil {
		return err
	}
	if a.row.State == PaymentPaid {
		if err := a.takeRefund(ctx, refunded); err != nil {
			return err
		}
		if err := a.takeDisputes(ctx); err != nil {
			return err
		}
	}

	d := a.report.Details
	a.row.Card = cmp.Or(clean(d.Card, 100), a.row.Card)
	a.row.ReceiptURL = cmp.Or(clean(d.ReceiptURL, 2000), a.row.ReceiptURL)
	_, err = a.tx.NewUpdate().Model(&a.row).WherePK().Exec(ctx)
	if err != nil {
		return err
	}

	a.change.Payment = a.row.payment()
	if a.change.Credited {
		if err := resolvePaymentError(ctx, a.tx, a.row.Intent); err != nil {
			return err
		}
	}

	if !a.change.notifiable() {
		return nil
	}
	return notifyPayers(ctx, a.tx, a.now, a.row.AccountID, *a.change, a.report.BuildMail)
}

// lockIntent locks the record of the intent, adds the notice to it, and returns the amount refunded so far.
func (a *paymentUpdate) lockIntent(ctx context.Context) (refunded credit.Amount, err error) {
	if a.report.Intent == "" {
		return 0, nil
	}

	err = a.tx.NewRaw(`INSERT INTO stripe_intents AS i (id, payment_id, refunded, created_at) VALUES (?0, ?1, ?2, ?3)
		ON CONFLICT (id) DO UPDATE SET payment_id = CASE WHEN i.payment_id = ''
			THEN EXCLUDED.payment_id ELSE i.payment_id END,
			refunded = CASE WHEN EXCLUDED.refunded > i.refunded THEN EXCLUDED.refunded ELSE i.refunded END
		RETURNING payment_id, refunded`,
		a.report.Intent, a.report.PaymentID, int64(a.report.Refunded), toMicros(a.now)).
		Scan(ctx, &a.report.PaymentID, &refunded)
	return refunded, err
}

// writeRefunds notes refunds. One that has failed stays so.
func (a *paymentUpdate) writeRefunds(ctx context.Context) error {
	for _, r := range a.report.Refunds {
		if a.report.Intent == "" || r.ID == "" || len(r.ID) > 255 || !storable(r.ID) || r.Amount < 0 ||
			r.Amount > maxAmount {
			return errors.New("a refund needs an id, a payment and an amount")
		}

		_, err := a.tx.NewRaw(`INSERT INTO stripe_refunds AS r (id, intent, amount, failed, created_at)
			VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET failed = EXCLUDED.failed WHERE NOT r.failed AND EXCLUDED.failed`,
			r.ID, a.report.Intent, int64(r.Amount), r.Failed, toMicros(a.now)).Exec(ctx)
		if err != nil {
			return err
		}
	}
	return nil
}

// findPayment locks the payment of the notice, and adds its IDs.
func (a *paymentUpdate) findPayment(ctx context.Context) error {
	where := "id = ?"
	name := a.report.PaymentID
	if name == "" {
		where = "session = ?"
		name = a.report.Session
	}
	if name == "" {
		return ErrNotFound
	}

	err := notFound(a.tx.NewRaw("UPDATE payments SET checked_at = checked_at WHERE "+where+" RETURNING *", name).
		Scan(ctx, &a.row))
	if err != nil {
		return err
	}

	n := a.report
	if n.Intent != "" && a.row.Intent != "" && a.row.Intent != n.Intent ||
		n.Session != "" && a.row.Session != "" && a.row.Session != n.Session {
		return fmt.Errorf("payment %s is %s %s, not %s %s: %w",
			a.row.ID, a.row.Session, a.row.Intent, n.Session, n.Intent, ErrOtherPayment)
	}

	a.row.Intent = cmp.Or(a.row.Intent, n.Intent)
	a.row.Session = cmp.Or(a.row.Session, n.Session)
	if n.Intent == "" || n.PaymentID != "" {
		return nil
	}
	_, err = a.tx.NewRaw("UPDATE stripe_intents SET payment_id = ? WHERE id = ?", a.row.ID, n.Intent).Exec(ctx)
	return err
}

// move changes the payment to its next state.
func (a *paymentUpdate) move(ctx context.Context) error {
	waits := a.row.State == PaymentOpen || a.row.State == PaymentAction

	switch state := a.report.State; {
	case state == PaymentPaid && a.row.State != PaymentPaid:
		return a.pay(ctx)
	case !waits || state == "" || state == PaymentOpen || state == PaymentPaid:
		return nil
	case state == PaymentDeclined && a.row.Kind == PaymentTopUp:
		a.row.Reason = clean(a.report.Reason, 500)
		return nil
	case state == PaymentAction && (a.row.State == PaymentAction || a.row.Kind == PaymentTopUp):
		return nil // the payer of a top-up is on the provider's page
	case state == PaymentAction:
		a.row.State = PaymentAction
		a.row.ActionURL = clean(a.report.ActionURL, 2000)
		a.row.Reason = clean(a.report.Reason, 500)
		a.change.Action = true
		return a.await(ctx, a.tx, &a.row, a.now)
	case state == PaymentDeclined:
		state = PaymentFailed
		fallthrough
	default:
		a.row.State = state
		a.row.Reason = clean(a.report.Reason, 500)
		a.row.ActionURL = ""
		a.row.EndedAt = toMicrosPtr(&a.now)
		if a.row.Kind == PaymentTopUp {
			return nil
		}

		a.change.Failed = true
		var err error
		a.change.OffReason, err = a.recordFailure(ctx, a.tx, &a.row, a.now)
		return err
	}
}

// pay credits the payment.
func (a *paymentUpdate) pay(ctx context.Context) error {
	if a.report.Amount != a.row.Amount {
		return fmt.Errorf("payment %s is of %s, and %s came: %w",
			a.row.ID, a.row.Amount, a.report.Amount, ErrOtherPayment)
	}

	event := EventWalletTopUp
	reason := "Top-up"
	if a.row.Kind == PaymentAutoReload {
		event = EventAutoReload
		reason = "Auto-reload"
	}

	p := NewPosting{
		AccountID: a.row.AccountID,
		Kind:      KindPayment,
		Amount:    a.row.Amount,
		Reference: a.name(),
		Reason:    reason,
	}
	if err := a.credit(ctx, a.tx, p, event); err != nil {
		return err
	}

	a.row.State = PaymentPaid
	a.row.Reason = ""
	a.row.ActionURL = ""
	a.row.EndedAt = toMicrosPtr(&a.now)
	a.change.Credited = true

	if a.row.Kind == PaymentTopUp {
		return nil
	}
	return a.succeed(ctx, a.tx, &a.row)
}

// name returns the reference of the payment's postings.
func (a *paymentUpdate) name() string { return "stripe " + cmp.Or(a.row.Intent, a.row.ID) }

// takeRefund debits the wallet with refunded amounts that are not debited yet, and credits them again if the bank
// did not accept the refund. The provider's sum applies while no refund has failed; it may or may not include
// failed ones.
func (a *paymentUpdate) takeRefund(ctx context.Context, refunded credit.Amount) error {
	if a.row.Intent == "" {
		return nil
	}

	var known struct {
		Good   credit.Amount
		Failed int
	}
	err := a.tx.NewRaw(`SELECT CAST(COALESCE(SUM(CASE WHEN failed THEN 0 ELSE amount END), 0) AS BIGINT) AS good,
		COALESCE(SUM(CASE WHEN failed THEN 1 ELSE 0 END), 0) AS failed FROM stripe_refunds WHERE intent = ?`,
		a.row.Intent).Scan(ctx, &known)
	if err != nil {
		return err
	}

	due := max(refunded, known.Good)
	reference := ""
	reason := "Refund to the card"
	if known.Failed > 0 {
		// Until another one fails, the due amount only grows: no reference repeats.
		due = known.Good
		reference = fmt.Sprintf(", %d failed", known.Failed)
	}

	more := due - a.row.Refunded
	if more == 0 {
		return nil
	}
	if more < 0 {
		reason = "Refund that the bank did not take"
	}

	a.row.Refunded = due
	a.change.Taken += more
	return a.credit(ctx, a.tx, NewPosting{
		AccountID: a.row.AccountID,
		Kind:      KindRefund,
		Amount:    more,
		Reference: fmt.Sprintf("%s to %d%s", a.name(), due, reference),
		Reason:    reason,
	}, "")
}

// DeletePaymentEvents deletes records of events and errors from before a time, which will not come again, and of
// intents that belong to no account.
func (s *Store) DeletePaymentEvents(ctx context.Context, before time.Time) error {
	return s.update(ctx, "forget events", func(ctx context.Context, tx txn) error {
		for _, statement := range []string{
			"DELETE FROM stripe_events WHERE created_at < ?",
			"DELETE FROM payment_errors WHERE last_at < ?",
			`DELETE FROM stripe_disputes WHERE created_at < ? AND taken = 0
				AND intent IN (SELECT id FROM stripe_intents WHERE payment_id = '')`,
			`DELETE FROM stripe_refunds WHERE created_at < ?
				AND intent IN (SELECT id FROM stripe_intents WHERE payment_id = '')`,
			"DELETE FROM stripe_intents WHERE created_at < ? AND payment_id = ''",
		} {
			if _, err := tx.NewRaw(statement, toMicros(before)).Exec(ctx); err != nil {
				return err
			}
		}

		return nil
	})
}
