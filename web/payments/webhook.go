package payments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/webhook"

	"github.com/relaypdf/relaypdf/store"
)

// WebhookPath is the path to which Stripe sends its events.
const WebhookPath = "/stripe/webhook"

const (
	// tolerance is the maximum age of a signature.
	tolerance = 300 * time.Second
	// maxEvent bounds an event's body.
	maxEvent = 1 << 20
	// describeTimeout bounds asking for a receipt while Stripe waits.
	describeTimeout = 8 * time.Second
)

// errIgnored means that an event is not about relaypdf: it is accepted without effect.
var errIgnored = errors.New("the event concerns no payment of ours")

// badEvent is an event that is refused: Stripe tries again and shows it.
type badEvent struct{ cause error }

func (e *badEvent) Error() string { return e.cause.Error() }
func (e *badEvent) Unwrap() error { return e.cause }

// ServeHTTP handles an event of Stripe. The response is 200 once it is carried out, 400 if it never will be, and
// 500 if Stripe should try again.
func (p *Payments) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "POST an event here.", http.StatusMethodNotAllowed)
		return
	}

	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
	if err != nil {
		http.Error(w, "The event is too large or incomplete.", http.StatusBadRequest)
		return
	}

	event, err := webhook.ConstructEventWithOptions(body, r.Header.Get("Stripe-Signature"), p.cfg.WebhookSecret,
		webhook.ConstructEventOptions{Tolerance: tolerance, IgnoreAPIVersionMismatch: true})
	if err != nil {
		p.log.LogAttrs(r.Context(), slog.LevelWarn, "event of Stripe's refused", slog.Any("error", err))
		http.Error(
			w, "The signature does not match the body and the endpoint's secret, or is older than 300 seconds.",
			http.StatusBadRequest,
		)
		return
	}

	var bad *badEvent
	switch err := p.handle(r.Context(), event); {
	case err == nil, errors.Is(err, errIgnored):
		w.WriteHeader(http.StatusOK)
	case errors.As(err, &bad):
		p.log.LogAttrs(
			r.Context(), slog.LevelError, "event of Stripe's refused", slog.String("event", event.ID),
			slog.String("type", string(event.Type)), slog.Any("error", err),
		)
		http.Error(
			w, "The event contradicts the payment or the settings. See the server log for details.",
			http.StatusBadRequest,
		)
	default:
		p.log.LogAttrs(
			r.Context(), slog.LevelError, "event of Stripe's failed", slog.String("event", event.ID),
			slog.String("type", string(event.Type)), slog.Any("error", err),
		)
		http.Error(w, "The event could not be processed. Send it again.", http.StatusInternalServerError)
	}
}

func (p *Payments) handle(ctx context.Context, event stripe.Event) error {
	if event.Data == nil || event.ID == "" {
		return &badEvent{errors.New("the event has no id or no data")}
	}
	if err := p.foreign(event.Livemode, ""); err != nil {
		return &badEvent{err}
	}

	// Stripe may hang up; the money has come all the same.
	ctx = context.WithoutCancel(ctx)
	n, err := p.read(event)
	if err == nil {
		n.Event = event.ID
		n.EventType = string(event.Type)
		err = p.applyReport(ctx, n)
	}

	if event.Type == "charge.refunded" && event.Data.Object["refunded"] == true {
		// Nothing is left of a payment that could not be applied.
		err = errors.Join(err, p.store.ResolvePaymentError(ctx, n.Intent))
	}

	if isPermanent(err) {
		return p.refuse(ctx, n, err)
	}
	return err
}

// applyReport applies an event.
func (p *Payments) applyReport(ctx context.Context, n store.PaymentReport) error {
	if n.Refunded > 0 || len(n.Refunds) > 0 {
		asking, cancel := context.WithTimeout(ctx, describeTimeout)
		all, err := p.refundsOf(asking, n.Intent)
		cancel()
		if err != nil {
			return err
		}
		// The list may be a moment older than the event.
		n.Refunds = append(all, n.Refunds...)
	}

	change, err := p.apply(ctx, n)
	if err != nil || !change.Credited {
		return err
	}

	bounded, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	if err := p.describe(bounded, change.Payment); err != nil {
		// Reconciliation asks again.
		p.log.LogAttrs(
			ctx, slog.LevelWarn, "read receipt failed",
			slog.String("payment", change.Payment.ID), slog.Any("error", err),
		)
	}
	return nil
}

// ref is a reference to an object: its id, or where Stripe has put it in whole,
// the object.
type ref string

// UnmarshalJSON reads either form.
func (r *ref) UnmarshalJSON(data []byte) error {
	var object struct{ ID string }
	if json.Unmarshal(data, (*string)(r)) == nil {
		return nil
	}
	err := json.Unmarshal(data, &object)
	*r = ref(object.ID)
	return err
}

// object contains the fields that are read of an event's object. These fields are the same in every version of
// Stripe's API.
type object struct {
	ID                string            `json:"id"`
	Metadata          map[string]string `json:"metadata"`
	Livemode          *bool             `json:"livemode"`
	Currency          string            `json:"currency"`
	Mode              string            `json:"mode"`
	ClientReferenceID string            `json:"client_reference_id"`
	PaymentIntent     ref               `json:"payment_intent"`
	PaymentStatus     string            `json:"payment_status"`
	AmountTotal       int64             `json:"amount_total"`
	AmountReceived    int64             `json:"amount_received"`
	Amount            int64             `json:"amount"`
	AmountRefunded    int64             `json:"amount_refunded"`
	Customer          ref               `json:"customer"`
	Created           int64             `json:"created"`
	ReceiptURL        string            `json:"receipt_url"`
	Status            string            `json:"status"`
	LastPaymentError  *stripe.Error     `json:"last_payment_error"`
}

// read makes a notice of an event. The error is errIgnored for an event that does not concern any of our payments.
func (p *Payments) read(event stripe.Event) (store.PaymentReport, error) {
	var o object
	if err := json.Unmarshal(event.Data.Raw, &o); err != nil {
		return store.PaymentReport{}, &badEvent{fmt.Errorf("read the event: %w", err)}
	}

	live := event.Livemode
	if o.Livemode != nil {
		live = *o.Livemode
	}
	n := store.PaymentReport{PaymentID: paymentOf(o.Metadata), Intent: string(o.PaymentIntent)}
	if err := p.foreign(live, ""); err != nil {
		return n, &badEvent{err}
	}

	n, err := readObject(event, o, n)
	movesMoney := n.State == store.PaymentPaid || n.Refunded > 0 || len(n.Refunds) > 0 || n.Dispute != nil
	if err == nil && movesMoney {
		err = p.foreign(live, o.Currency)
	}
	return n, err
}

// readObject makes a notice of the object that an event is about, begun with n.
func readObject(event stripe.Event, o object, n store.PaymentReport) (store.PaymentReport, error) {
	switch event.Type {
	case "checkout.session.completed", "checkout.session.async_payment_succeeded",
		"checkout.session.async_payment_failed", "checkout.session.expired":
		return readSession(string(event.Type), o, n)
	case "payment_intent.succeeded":
		n.Intent = o.ID
		n.State = store.PaymentPaid
		n.Amount = fromCents(o.AmountReceived)
		n.Origin = originOf(o.Metadata, string(o.Customer), o.Created)
	case "payment_intent.payment_failed":
		n.Intent = o.ID
		n.State = store.PaymentDeclined
		n.Reason = "The card was declined."
		if o.LastPaymentError != nil {
			n.Reason = refusal(o.LastPaymentError)
		}
	case "charge.refunded":
		n.Refunded = fromCents(o.AmountRefunded)
		n.Details.ReceiptURL = o.ReceiptURL
	case "charge.refund.updated", "refund.created", "refund.updated", "refund.failed":
		n.Refunds = []store.Refund{refundOf(o.ID, o.Status, o.Amount)}
	case "charge.dispute.created", "charge.dispute.closed", "charge.dispute.updated",
		"charge.dispute.funds_withdrawn", "charge.dispute.funds_reinstated":
		n.Dispute = disputeOf(o.ID, o.Status, o.Amount, time.Unix(event.Created, 0))
		if n.Dispute == nil {
			return n, errIgnored
		}
	default:
		return n, errIgnored
	}

	if n.Intent == "" || n.PaymentID == "" && (n.State != "") {
		return n, errIgnored
	}
	return n, nil
}

// refundOf returns a refund as Stripe reports it.
func refundOf(id, status string, amount int64) store.Refund {
	failed := status == string(stripe.RefundStatusFailed) || status == string(stripe.RefundStatusCanceled)
	return store.Refund{ID: id, Amount: fromCents(amount), Failed: failed}
}

// readSession makes a notice of the status of a checkout page of Stripe.
func readSession(kind string, o object, n store.PaymentReport) (store.PaymentReport, error) {
	if n.PaymentID == "" {
		n.PaymentID = o.ClientReferenceID
	}
	if o.Mode != string(stripe.CheckoutSessionModePayment) || n.PaymentID == "" {
		return n, errIgnored
	}

	n.Session = o.ID
	switch kind {
	case "checkout.session.expired":
		n.State = store.PaymentExpired
	case "checkout.session.async_payment_failed":
		n.State = store.PaymentFailed
		n.Reason = "The bank did not execute the payment."
	default:
		// A page may be completed before a slow payment is made.
		if o.PaymentStatus == string(stripe.CheckoutSessionPaymentStatusPaid) ||
			kind == "checkout.session.async_payment_succeeded" {
			n.State = store.PaymentPaid
			n.Amount = fromCents(o.AmountTotal)
			n.Origin = originOf(o.Metadata, string(o.Customer), o.Created)
		}
	}

	return n, nil
}

// disputeOf returns the effect of a dispute's status on the money at a time of Stripe's; nil means none, such as a
// bank's inquiry before a dispute. The money of a dispute that ended by a refund is the refund's.
func disputeOf(id, status string, amount int64, at time.Time) *store.Dispute {
	d := &store.Dispute{ID: id, Amount: fromCents(amount), At: at}
	switch stripe.DisputeStatus(status) {
	case stripe.DisputeStatusNeedsResponse, stripe.DisputeStatusUnderReview:
		d.State = store.DisputeOpen
	case stripe.DisputeStatusWon, "charge_refunded":
		d.State = store.DisputeWon
	case stripe.DisputeStatusLost:
		d.State = store.DisputeLost
	default:
		return nil
	}
	return d
}
