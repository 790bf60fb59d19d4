package payments

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/stripe/stripe-go/v76"

	"github.com/relaypdf/relaypdf/store"
)

const (
	// reloadRound bounds the wallets that one round refills.
	reloadRound = 50
	// unknownPause is the pause before an attempt with an unknown end is checked again.
	unknownPause = 5 * time.Minute
	// keyTerm is the period for which Stripe certainly remembers our idempotency keys.
	keyTerm = 20 * time.Hour
	// reloadText is the description of an attempt at Stripe.
	reloadText = "Auto-reload"
	// recordTimeout limits the write of a result after the request that caused it has ended.
	recordTimeout = 15 * time.Second
)

// Reload refills a wallet if its owner wants that, it is low, and no other process does it.
func (p *Payments) Reload(ctx context.Context, accountID string) error {
	if due, err := p.store.ReloadDue(ctx, accountID); err != nil || !due {
		return err
	}
	_, err := p.reload(ctx, accountID)
	return err
}

// reloadDue refills low wallets, until Stripe fails to respond: then the others would wait without success.
func (p *Payments) reloadDue(ctx context.Context) error {
	ids, err := p.store.DueReloads(ctx, reloadRound)
	if err != nil {
		return err
	}

	var failures []error
	for _, id := range ids {
		answered, err := p.reload(ctx, id)
		failures = append(failures, err)
		if !answered {
			break
		}
	}
	return errors.Join(failures...)
}

// reload makes one attempt, or finds the result of one, and reports whether Stripe responded.
func (p *Payments) reload(ctx context.Context, accountID string) (answered bool, err error) {
	attempt, err := p.store.ClaimReload(ctx, accountID, p.buildEmails())
	switch {
	case errors.Is(err, store.ErrNotFound):
		return true, nil
	case errors.Is(err, store.ErrMonthlyCap):
		p.wake()
		return true, nil
	case err != nil:
		return false, err
	}

	asking, cancel := context.WithTimeout(ctx, requestTimeout)
	notice, err := p.attempt(asking, attempt)
	cancel()
	if err != nil && ctx.Err() != nil {
		return false, nil // this process stops; another continues when the lease has ended
	}

	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err != nil {
		return false, errors.Join(err, p.store.PutOffReload(ctx, attempt, unknownPause))
	}
	if _, err := p.apply(ctx, notice); err != nil {
		return true, errors.Join(err, p.store.PutOffReload(ctx, attempt, unknownPause))
	}

	if notice.State == "" {
		return true, p.store.PutOffReload(ctx, attempt, unknownPause) // It is still on its way.
	}
	return true, nil
}

// attempt requests the money of an attempt from Stripe and returns the outcome; an error leaves that open. It looks
// up an earlier request first.
func (p *Payments) attempt(ctx context.Context, r store.Reload) (store.PaymentReport, error) {
	if !r.Repeated {
		return p.charge(ctx, r)
	}

	i, err := p.findIntent(ctx, r.Payment)
	switch {
	case err != nil:
		return store.PaymentReport{}, err
	case i == nil && p.now().Sub(r.CreatedAt) < keyTerm:
		return p.charge(ctx, r)
	case i == nil:
		return store.PaymentReport{
			PaymentID: r.ID,
			State:     store.PaymentFailed,
			Reason:    "Stripe was unreachable for 24 hours.",
		}, nil
	}

	if err := p.foreign(i.Livemode, string(i.Currency)); err != nil {
		return store.PaymentReport{}, err
	}
	if i.Status == stripe.PaymentIntentStatusRequiresAction && p.now().Sub(r.CreatedAt) >= store.ReloadActionTime {
		return p.cancel(ctx, i)
	}
	return noticeOf(i), nil
}

// cancel ends a payment that its owner has not confirmed in time.
func (p *Payments) cancel(ctx context.Context, i *stripe.PaymentIntent) (store.PaymentReport, error) {
	params := &stripe.PaymentIntentCancelParams{CancellationReason: stripe.String("abandoned")}
	params.Context = ctx
	i, err := p.intents.Cancel(i.ID, params)
	if err != nil {
		return store.PaymentReport{}, err
	}

	n := noticeOf(i)
	if n.State == store.PaymentFailed {
		n.Reason = "The payment was not confirmed within 24 hours."
	}
	return n, nil
}

// charge charges the saved card for an attempt. Stripe does it once for the attempt's ID.
func (p *Payments) charge(ctx context.Context, r store.Reload) (store.PaymentReport, error) {
	params := &stripe.PaymentIntentParams{
		Amount: cents(r.Amount), Currency: stripe.String("usd"), Customer: &r.Customer, PaymentMethod: &r.Method,
		Confirm: stripe.Bool(true), OffSession: stripe.Bool(true), ReturnURL: stripe.String(p.cfg.BaseURL + walletPath),
		AutomaticPaymentMethods: &stripe.PaymentIntentAutomaticPaymentMethodsParams{Enabled: stripe.Bool(true)},
		Description:             stripe.String(reloadText), Metadata: metadataOf(r.Payment),
	}
	params.Context = ctx
	params.SetIdempotencyKey(r.ID)
	params.AddExpand("latest_charge")

	i, err := p.intents.New(params)
	if err == nil {
		if err := p.foreign(i.Livemode, string(i.Currency)); err != nil {
			return store.PaymentReport{}, err
		}
		n := noticeOf(i)
		n.PaymentID = r.ID
		return n, nil
	}

	if uncertain(err) {
		return store.PaymentReport{}, err
	}
	var stripeErr *stripe.Error
	if !errors.As(err, &stripeErr) {
		return store.PaymentReport{}, err
	}

	n := store.PaymentReport{PaymentID: r.ID, State: store.PaymentDeclined, Reason: refusal(stripeErr)}
	if stripeErr.PaymentIntent != nil {
		n.Intent = stripeErr.PaymentIntent.ID
		if stripeErr.PaymentIntent.Status == stripe.PaymentIntentStatusRequiresAction {
			waits := noticeOf(stripeErr.PaymentIntent)
			waits.PaymentID = r.ID
			return waits, nil
		}
	}

	if stripeErr.HTTPStatusCode != http.StatusPaymentRequired {
		p.log.LogAttrs(ctx, slog.LevelError, "charge card failed", slog.String("payment", r.ID), slog.Any("error", err))
		n.Reason = "Stripe no longer accepts the saved card."
	}
	return n, nil
}

// findIntent finds Stripe's intent for a payment; nil means none.
func (p *Payments) findIntent(ctx context.Context, payment store.Payment) (*stripe.PaymentIntent, error) {
	if payment.Intent != "" {
		return p.intent(ctx, payment.Intent)
	}

	params := &stripe.PaymentIntentListParams{
		Customer:     &payment.Customer,
		CreatedRange: &stripe.RangeQueryParams{GreaterThanOrEqual: payment.CreatedAt.Add(-clockSkew).Unix()},
	}
	params.Context = ctx
	params.Limit = stripe.Int64(100)
	params.AddExpand("data.latest_charge")

	list := p.intents.List(params)
	for list.Next() {
		if paymentOf(list.PaymentIntent().Metadata) == payment.ID {
			return list.PaymentIntent(), nil
		}
	}
	return nil, list.Err()
}
