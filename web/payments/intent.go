package payments

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v76"

	"github.com/relaypdf/relaypdf/store"
)

// intent asks for a PaymentIntent with its charge and its method.
func (p *Payments) intent(ctx context.Context, id string) (*stripe.PaymentIntent, error) {
	params := &stripe.PaymentIntentParams{}
	params.Context = ctx
	params.AddExpand("latest_charge")
	params.AddExpand("payment_method")
	return p.intents.Get(id, params)
}

// refundsOf requests all refunds of a PaymentIntent. Events contain one refund, or a sum, and neither shows failed
// refunds. The error is an errForeign for a refund in another currency, whose amount would be read as dollars.
func (p *Payments) refundsOf(ctx context.Context, intent string) (all []store.Refund, err error) {
	params := &stripe.RefundListParams{ListParams: list(ctx), PaymentIntent: &intent}
	refunds := p.refunds.List(params)
	for refunds.Next() {
		r := refunds.Refund()
		if err := p.foreign(p.live, string(r.Currency)); err != nil {
			return nil, fmt.Errorf("refund %s of %s: %w", r.ID, intent, err)
		}
		all = append(all, refundOf(r.ID, string(r.Status), r.Amount))
	}
	if err := refunds.Err(); err != nil {
		return nil, fmt.Errorf("list the refunds of %s: %w", intent, err)
	}

	return all, nil
}

// paymentOf returns the ID of our payment in the metadata of a Stripe object.
func paymentOf(metadata map[string]string) string { return metadata[metadataPayment] }

// originOf returns the origin of our payment in the metadata of a Stripe object.
func originOf(metadata map[string]string, customer string, created int64) store.Origin {
	o := store.Origin{AccountID: metadata[metadataAccount], Kind: metadata[metadataKind], Customer: customer}
	if created > 0 {
		o.At = time.Unix(created, 0)
	}
	return o
}

// noticeOf returns the notice of a PaymentIntent about a payment.
func noticeOf(i *stripe.PaymentIntent) store.PaymentReport {
	n := store.PaymentReport{PaymentID: paymentOf(i.Metadata), Intent: i.ID}
	switch i.Status {
	case stripe.PaymentIntentStatusSucceeded:
		n.State = store.PaymentPaid
		n.Amount = fromCents(i.AmountReceived)
		customer := ""
		if i.Customer != nil {
			customer = i.Customer.ID
		}
		n.Origin = originOf(i.Metadata, customer, i.Created)
	case stripe.PaymentIntentStatusCanceled:
		n.State = store.PaymentFailed
		n.Reason = "The payment was cancelled."
	case stripe.PaymentIntentStatusRequiresPaymentMethod:
		if i.LastPaymentError != nil {
			n.State = store.PaymentDeclined
			n.Reason = refusal(i.LastPaymentError)
		}
	case stripe.PaymentIntentStatusRequiresAction:
		n.State = store.PaymentAction
		n.Reason = "The bank requires the cardholder to confirm the payment."
		if i.NextAction != nil && i.NextAction.RedirectToURL != nil {
			n.ActionURL = i.NextAction.RedirectToURL.URL
		}
	}

	if charge := i.LatestCharge; charge != nil {
		n.Refunded = fromCents(charge.AmountRefunded)
		n.Details = store.PaymentDetails{Card: chargeText(charge), ReceiptURL: charge.ReceiptURL}
	}

	return n
}

// refusal returns the reason why a card was declined, in a sentence for its owner.
func refusal(err *stripe.Error) string {
	if err.Code == stripe.ErrorCodeAuthenticationRequired {
		return "The bank requires the cardholder to confirm the payment. Make one top-up on the wallet page."
	}

	text := strings.TrimSpace(err.Msg)
	if text == "" {
		return "The card was declined."
	}
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// chargeText describes the charged card in familiar terms.
func chargeText(c *stripe.Charge) string {
	details := c.PaymentMethodDetails
	switch {
	case details == nil:
		return ""
	case details.Card != nil:
		return cardText(string(details.Card.Brand), details.Card.Last4, 0, 0)
	}
	return methodName(string(details.Type))
}

// errForeign means that a thing of Stripe's is in another currency than dollars.
var errForeign = errors.New("this service accepts usd only")

// foreign returns the reason why an object of Stripe cannot be a payment of this service.
func (p *Payments) foreign(live bool, currency string) error {
	switch {
	case live != p.live:
		return fmt.Errorf("it is of Stripe's %s mode, and the secret key of the other", mode(live))
	case currency != "" && !strings.EqualFold(currency, "usd"):
		return fmt.Errorf("its currency is %s; %w", strings.ToLower(currency), errForeign)
	}
	return nil
}

func mode(live bool) string {
	if live {
		return "live"
	}
	return "test"
}

// applyIntent applies the notice of a PaymentIntent.
func (p *Payments) applyIntent(ctx context.Context, i *stripe.PaymentIntent) (store.PaymentChange, error) {
	if err := p.foreign(i.Livemode, string(i.Currency)); err != nil {
		return store.PaymentChange{}, fmt.Errorf("payment %s: %w", i.ID, err)
	}
	return p.apply(ctx, noticeOf(i))
}

// apply applies a notice, and writes emails to the users concerned in the same transaction.
func (p *Payments) apply(ctx context.Context, n store.PaymentReport) (store.PaymentChange, error) {
	n.BuildMail = p.buildEmails()
	change, err := p.store.ApplyPayment(ctx, n)
	if err != nil {
		return change, err
	}

	if change.Rebuilt {
		p.log.LogAttrs(
			ctx, slog.LevelWarn, "rebuilt a payment without a row from Stripe's metadata",
			slog.String("payment", change.Payment.ID), slog.String("account", change.Payment.AccountID),
			slog.String("intent", change.Payment.Intent),
		)
	}
	if change.Credited || change.Taken != 0 || change.Failed || change.Action {
		p.log.LogAttrs(
			ctx, slog.LevelInfo, "payment",
			slog.String("payment", change.Payment.ID), slog.String("account", change.Payment.AccountID),
			slog.String("state", change.Payment.State), slog.Bool("credited", change.Credited),
			slog.Int64("takenMicrodollars", int64(change.Taken)),
		)
	}

	p.wake()
	return change, nil
}

// describe asks Stripe for the displayed details of a payment: its receipt, and the card, which is charged from now
// on. The payment does not depend on it.
func (p *Payments) describe(ctx context.Context, payment store.Payment) error {
	if payment.Intent == "" {
		return nil
	}

	i, err := p.intent(ctx, payment.Intent)
	if err != nil {
		return err
	}
	if err := p.store.DescribePayment(ctx, payment.ID, noticeOf(i).Details); err != nil {
		return err
	}

	if payment.Kind != store.PaymentTopUp || i.PaymentMethod == nil ||
		i.SetupFutureUsage != stripe.PaymentIntentSetupFutureUsageOffSession {
		return nil
	}
	return p.store.SetCard(ctx, payment.AccountID, i.PaymentMethod.ID, methodText(i.PaymentMethod))
}
