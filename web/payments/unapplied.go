package payments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/stripe/stripe-go/v76"

	"github.com/relaypdf/relaypdf/store"
)

// isPermanent reports whether an error is one payment's own and stays: no other attempt
// ends otherwise, until an operator has done something.
func isPermanent(err error) bool {
	return errors.Is(err, errForeign) || errors.Is(err, store.ErrOtherPayment) || errors.Is(err, store.ErrNoOrigin)
}

// report records a lasting error where operators see it: in the log, on their pages
// and in the metric.
func (p *Payments) report(ctx context.Context, e store.PaymentError, cause error) error {
	e.Text = cause.Error()
	_, err := p.store.RecordPaymentError(ctx, e)
	p.log.LogAttrs(
		ctx, slog.LevelError, "payment at Stripe cannot be applied",
		slog.String("subject", e.Subject), slog.String("payment", e.PaymentID),
		slog.String("account", e.AccountID), slog.Any("error", cause),
	)
	return err
}

// reportIntent is report for a PaymentIntent, unless all of its money went back: then
// nothing is left to do.
func (p *Payments) reportIntent(ctx context.Context, i *stripe.PaymentIntent, cause error) (resolved bool, err error) {
	if i.LatestCharge != nil && i.LatestCharge.Refunded {
		return true, p.store.ResolvePaymentError(ctx, i.ID)
	}

	if i.AmountReceived > 0 {
		cause = fmt.Errorf(
			"%d.%02d %s were paid: %w", i.AmountReceived/100,
			i.AmountReceived%100, strings.ToUpper(string(i.Currency)), cause,
		)
	}

	return false, p.report(
		ctx,
		store.PaymentError{Subject: i.ID, PaymentID: paymentOf(i.Metadata), AccountID: i.Metadata[metadataAccount]},
		cause,
	)
}

// refuse decides on an event that cannot be applied. It returns errIgnored for an event that moves none of our money,
// and a badEvent otherwise, so Stripe shows it.
func (p *Payments) refuse(ctx context.Context, n store.PaymentReport, cause error) error {
	if n.State != store.PaymentPaid {
		ours, err := p.reportMove(ctx, n, cause)
		if err == nil && !ours {
			return errIgnored
		}
		return errors.Join(&badEvent{cause}, err)
	}

	asking, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	i, err := p.intent(asking, n.Intent)
	if n.Intent == "" || err != nil { // only the event itself is known
		i = &stripe.PaymentIntent{
			ID:       cmp.Or(n.Intent, n.PaymentID),
			Metadata: map[string]string{metadataPayment: n.PaymentID, metadataAccount: n.Origin.AccountID},
		}
	}

	resolved, err := p.reportIntent(ctx, i, cause)
	if resolved && err == nil {
		return errIgnored
	}
	return errors.Join(&badEvent{cause}, err)
}

// reportMove is report for a refund or a dispute, and returns whether it is ours: if its payment was never credited
// there is nothing to take.
func (p *Payments) reportMove(ctx context.Context, n store.PaymentReport, cause error) (ours bool, err error) {
	payment, err := p.store.PaymentByIntent(ctx, n.Intent)
	if errors.Is(err, store.ErrNotFound) || err == nil && payment.State != store.PaymentPaid {
		return false, nil
	}
	if err != nil {
		return false, err
	}

	subject := n.Intent
	switch {
	case n.Dispute != nil:
		subject = n.Dispute.ID
	case len(n.Refunds) == 1:
		subject = n.Refunds[0].ID
	}

	return true, p.report(
		ctx, store.PaymentError{Subject: subject, PaymentID: payment.ID, AccountID: payment.AccountID}, cause,
	)
}
