package payments

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/stripe/stripe-go/v76"

	"github.com/relaypdf/relaypdf/store"
)

const (
	// clockSkew is the maximum difference between Stripe's clock and ours, and the part of its lists that is read
	// twice.
	clockSkew = time.Hour
	// firstSpan is the period for which the lists are read the first time.
	firstSpan = 30 * 24 * time.Hour
	// sessionTerm is the age at which a checkout page of Stripe has certainly expired.
	sessionTerm = 25 * time.Hour
	// disputeTerm is the period for which disputes are read, including decided ones.
	disputeTerm = 120 * 24 * time.Hour
	// eventTerm is the period for which events are remembered: longer than Stripe sends them.
	eventTerm = 60 * 24 * time.Hour
	// batchSize is the maximum number of objects that one round requests by name.
	batchSize = 100
	markName  = "reconciled"
)

// Tasks are the tasks that one process at a time does for all.
func (p *Payments) Tasks() []store.Task {
	return []store.Task{
		{Name: "refill wallets", Every: time.Minute, Do: p.reloadDue},
		{Name: "reconcile with Stripe", Every: time.Hour, Do: p.Reconcile},
	}
}

// Reconcile compares Stripe's lists with ours, and applies changes that no event has reported: payments, refunds,
// disputes, and unpaid pages.
func (p *Payments) Reconcile(ctx context.Context) error { return p.reconcileAll(ctx) }

func (p *Payments) reconcileAll(ctx context.Context) error {
	began := p.now()
	mark, err := p.store.Mark(ctx, markName)
	if err != nil {
		return err
	}

	// A restored backup has an old mark: newer entries are read again.
	since := mark.Add(-clockSkew)
	if mark.IsZero() {
		since = began.Add(-firstSpan)
	}

	err = errors.Join(p.reconcileIntents(ctx, since), p.reconcileRefunds(ctx, since), p.reconcileDisputes(ctx, since))
	if err == nil {
		err = p.store.SetMark(ctx, markName, began)
	}
	return errors.Join(err, p.reconcileWaiting(ctx), p.store.DeletePaymentEvents(ctx, began.Add(-eventTerm)))
}

func from(since time.Time) *stripe.RangeQueryParams {
	return &stripe.RangeQueryParams{GreaterThanOrEqual: since.Unix()}
}

// list returns the parameters to read a list to its end, in large pages.
func list(ctx context.Context) stripe.ListParams {
	return stripe.ListParams{Context: ctx, Limit: stripe.Int64(100)}
}

func (p *Payments) reconcileIntents(ctx context.Context, since time.Time) error {
	params := &stripe.PaymentIntentListParams{ListParams: list(ctx), CreatedRange: from(since)}
	params.AddExpand("data.latest_charge")

	var failures []error
	intents := p.intents.List(params)
	for intents.Next() {
		if i := intents.PaymentIntent(); paymentOf(i.Metadata) != "" {
			failures = append(failures, p.reconcileIntent(ctx, i))
		}
	}

	return errors.Join(append(failures, intents.Err())...)
}

// reconcileIntent applies the notice of a PaymentIntent. A PaymentIntent that cannot be applied is reported, and does
// not stop the others.
func (p *Payments) reconcileIntent(ctx context.Context, i *stripe.PaymentIntent) error {
	change, err := p.applyIntent(ctx, i)
	if isPermanent(err) {
		_, err = p.reportIntent(ctx, i, err)
		return err
	}

	if err != nil || !change.Known || change.Payment.State != store.PaymentPaid {
		return err
	}
	if change.Credited {
		p.log.LogAttrs(
			ctx, slog.LevelWarn, "credited a payment of which no event came",
			slog.String("payment", change.Payment.ID),
		)
		return p.describePaid(ctx, change.Payment)
	}

	// The card of the first payment may not have been read when it came.
	buyer, err := p.store.Customer(ctx, change.Payment.AccountID)
	if err != nil || buyer.Method != "" {
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		return err
	}
	return p.describePaid(ctx, change.Payment)
}

// describePaid is describe for a received payment: details that Stripe will never have, such as a deleted card, are
// left out.
func (p *Payments) describePaid(ctx context.Context, payment store.Payment) error {
	err := p.describe(ctx, payment)
	if err != nil && (!uncertain(err) || errors.Is(err, store.ErrNotFound)) {
		p.log.LogAttrs(
			ctx, slog.LevelWarn, "read receipt failed", slog.String("payment", payment.ID), slog.Any("error", err),
		)
		return nil
	}
	return err
}

// reconcileRefunds checks new refunds, and those that have failed: the bank may take weeks to report that.
func (p *Payments) reconcileRefunds(ctx context.Context, since time.Time) error {
	params := &stripe.RefundListParams{ListParams: list(ctx), CreatedRange: from(p.now().Add(-firstSpan))}
	var failures []error
	seen := map[string]bool{}
	refunds := p.refunds.List(params)
	for refunds.Next() {
		r := refunds.Refund()
		told := refundOf(r.ID, string(r.Status), r.Amount)
		if r.PaymentIntent == nil || seen[r.PaymentIntent.ID] || r.Created < since.Unix() && !told.Failed {
			continue
		}

		seen[r.PaymentIntent.ID] = true
		i, err := p.intent(ctx, r.PaymentIntent.ID)
		if err == nil && paymentOf(i.Metadata) != "" {
			err = errors.Join(p.reconcileIntent(ctx, i), p.reconcileRefund(ctx, i))
		}
		failures = append(failures, err)
	}

	return errors.Join(append(failures, refunds.Err())...)
}

func (p *Payments) reconcileRefund(ctx context.Context, i *stripe.PaymentIntent) error {
	if ours := p.foreign(i.Livemode, string(i.Currency)) == nil; !ours {
		return nil
	}

	reconcileAll, err := p.refundsOf(ctx, i.ID)
	if err == nil {
		_, err = p.apply(ctx, store.PaymentReport{Intent: i.ID, Refunds: reconcileAll})
	}
	if isPermanent(err) {
		_, err = p.reportMove(ctx, store.PaymentReport{Intent: i.ID}, err)
	}
	return err
}

func (p *Payments) reconcileDisputes(ctx context.Context, since time.Time) error {
	// A decision may change without an event, months later.
	if recent := p.now().Add(-disputeTerm); recent.Before(since) {
		since = recent
	}

	params := &stripe.DisputeListParams{ListParams: list(ctx), CreatedRange: from(since)}
	var failures []error
	disputes := p.disputes.List(params)
	for disputes.Next() {
		failures = append(failures, p.reconcileDispute(ctx, disputes.Dispute()))
	}
	failures = append(failures, disputes.Err())

	// Older disputes may have been decided since.
	open, err := p.store.OpenDisputes(ctx, batchSize)
	failures = append(failures, err)
	one := &stripe.DisputeParams{Params: stripe.Params{Context: ctx}}
	for _, id := range open {
		d, err := p.disputes.Get(id, one)
		if err == nil {
			err = p.reconcileDispute(ctx, d)
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

func (p *Payments) reconcileDispute(ctx context.Context, d *stripe.Dispute) error {
	told := disputeOf(d.ID, string(d.Status), d.Amount, p.now())
	if told == nil || d.PaymentIntent == nil || d.Livemode != p.live {
		return nil // It is not about money that came to us.
	}

	n := store.PaymentReport{Intent: d.PaymentIntent.ID, Dispute: told}
	err := p.foreign(d.Livemode, string(d.Currency))
	if err == nil {
		_, err = p.apply(ctx, n)
	}
	if isPermanent(err) {
		_, err = p.reportMove(ctx, n, err)
	}
	return err
}

// reconcileWaiting checks Stripe's payment pages that may have been paid long after they were made.
func (p *Payments) reconcileWaiting(ctx context.Context) error {
	waiting, err := p.store.WaitingPayments(ctx, p.now().Add(-clockSkew/2), batchSize)
	failures := []error{err}
	for _, payment := range waiting {
		if payment.Kind == store.PaymentTopUp {
			failures = append(failures, p.reconcilePage(ctx, payment))
		}
	}
	return errors.Join(failures...)
}

// gone reports whether Stripe does not know the object.
func gone(err error) bool {
	var told *stripe.Error
	return errors.As(err, &told) && told.HTTPStatusCode == http.StatusNotFound
}

func (p *Payments) reconcilePage(ctx context.Context, payment store.Payment) error {
	expired := store.PaymentReport{PaymentID: payment.ID, State: store.PaymentExpired}
	if payment.Session == "" {
		// No one has seen the page, if there was one.
		if p.now().Sub(payment.CreatedAt) < sessionTerm {
			return nil
		}
		_, err := p.apply(ctx, expired)
		return err
	}

	params := &stripe.CheckoutSessionParams{}
	params.Context = ctx
	params.AddExpand("payment_intent.latest_charge")
	session, err := p.sessions.Get(payment.Session, params)
	switch {
	case gone(err) && p.now().Sub(payment.CreatedAt) >= sessionTerm:
		_, err = p.apply(ctx, expired)
	case err != nil:
		return fmt.Errorf("read the page of payment %s: %w", payment.ID, err)
	case session.PaymentIntent != nil:
		return p.reconcileIntent(ctx, session.PaymentIntent)
	case session.Status == stripe.CheckoutSessionStatusExpired:
		_, err = p.apply(ctx, expired)
	}

	return err
}
