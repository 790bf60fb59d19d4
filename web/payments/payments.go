// Package payments takes money through Stripe: top-ups on Stripe's own page, charges of a saved card when a wallet is
// low, and Stripe's events about both. The store's row of a payment exists before any request to Stripe, and only
// reports of Stripe move money.
package payments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v76"
	portal "github.com/stripe/stripe-go/v76/billingportal/session"
	checkout "github.com/stripe/stripe-go/v76/checkout/session"
	"github.com/stripe/stripe-go/v76/customer"
	"github.com/stripe/stripe-go/v76/dispute"
	"github.com/stripe/stripe-go/v76/paymentintent"
	"github.com/stripe/stripe-go/v76/refund"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/web/mail"
)

// Bounds of a top-up.
const (
	minTopUp = 5 * credit.Dollar
	maxTopUp = 1000 * credit.Dollar
)

const (
	cent = credit.Dollar / 100
	// requestTimeout bounds one request to Stripe, a repetition included.
	requestTimeout = 25 * time.Second
	walletPath     = "/dashboard/wallet"
	// metadataPayment and metadataAccount are the names of our IDs in Stripe's objects.
	metadataPayment = "relaypdf_payment"
	metadataAccount = "relaypdf_account"
	metadataKind    = "relaypdf_kind"
)

// Config configures the connection to Stripe.
type Config struct {
	Store *store.Store
	// SecretKey is the account's at Stripe, sk_live_… or sk_test_….
	SecretKey string
	// WebhookSecret signs Stripe's events: whsec_….
	WebhookSecret string
	// APIURL replaces Stripe's URL; empty means Stripe.
	APIURL string
	// BaseURL is the public address of the service, without a final slash.
	BaseURL string
	// Mail sends emails; nil sends none.
	Mail   Mailer
	Logger *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Mailer sends emails in the background.
type Mailer interface {
	// Seal converts an email to a row of the store.
	Seal(letter mail.Message) (store.QueuedEmail, error)
	// Wake triggers the sending of new emails.
	Wake()
}

// Payments receives payments. Its methods are safe for concurrent use.
type Payments struct {
	store    *store.Store
	cfg      Config
	live     bool // real money moves
	log      *slog.Logger
	now      func() time.Time
	sessions checkout.Client
	portals  portal.Client
	intents  paymentintent.Client
	buyers   customer.Client
	disputes dispute.Client
	refunds  refund.Client
}

// New returns payments through Stripe. It asks Stripe for nothing yet.
func New(cfg Config) (*Payments, error) {
	_, rest, ok := strings.Cut(cfg.SecretKey, "k_") // sk_, and rk_ of restricted keys
	live := strings.HasPrefix(rest, "live_")
	if !ok || !live && !strings.HasPrefix(rest, "test_") {
		return nil, errors.New("the secret key of Stripe must begin with sk_live_ or sk_test_")
	}
	if cfg.WebhookSecret == "" {
		//nolint:staticcheck // a name begins it
		return nil, errors.New("Stripe's webhook secret is missing. Payments cannot be recorded without it")
	}

	if cfg.Now == nil {
		cfg.Now = time.Now
	}

	url := cmp.Or(cfg.APIURL, stripe.APIURL)
	backend := stripe.GetBackendWithConfig(stripe.APIBackend, &stripe.BackendConfig{
		URL: &url, HTTPClient: &http.Client{Timeout: requestTimeout},
		MaxNetworkRetries: stripe.Int64(0), EnableTelemetry: stripe.Bool(false),
		LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull},
	})

	return &Payments{
		store: cfg.Store, cfg: cfg, live: live, log: cfg.Logger, now: cfg.Now,
		sessions: checkout.Client{B: backend, Key: cfg.SecretKey},
		portals:  portal.Client{B: backend, Key: cfg.SecretKey},
		intents:  paymentintent.Client{B: backend, Key: cfg.SecretKey},
		buyers:   customer.Client{B: backend, Key: cfg.SecretKey},
		disputes: dispute.Client{B: backend, Key: cfg.SecretKey},
		refunds:  refund.Client{B: backend, Key: cfg.SecretKey},
	}, nil
}

// Live reports whether real money moves.
func (p *Payments) Live() bool { return p.live }

// cents returns an amount as Stripe counts it.
func cents(amount credit.Amount) *int64 { return stripe.Int64(int64(amount / cent)) }

func fromCents(n int64) credit.Amount { return credit.Amount(n) * cent }

// TopUp returns the address of Stripe's page on which an account's owner pays.
// The payment's row is there first, and names it at Stripe.
func (p *Payments) TopUp(ctx context.Context, account store.Account, amount credit.Amount) (address string, err error) {
	if amount < minTopUp || amount > maxTopUp {
		return "", fmt.Errorf("a top-up is of %s to %s; got %s", minTopUp, maxTopUp, amount)
	}

	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	buyer, err := p.customer(ctx, account)
	if err != nil {
		return "", err
	}
	payment, err := p.store.OpenTopUp(ctx, account.ID, buyer.ID, amount)
	if err != nil {
		return "", err
	}

	metadata := metadataOf(payment)
	params := &stripe.CheckoutSessionParams{
		Mode:     stripe.String(string(stripe.CheckoutSessionModePayment)),
		Customer: &buyer.ID, ClientReferenceID: &payment.ID, Metadata: metadata,
		LineItems: []*stripe.CheckoutSessionLineItemParams{{
			Quantity: stripe.Int64(1),
			PriceData: &stripe.CheckoutSessionLineItemPriceDataParams{
				Currency: stripe.String("usd"), UnitAmount: cents(amount),
				ProductData: &stripe.CheckoutSessionLineItemPriceDataProductDataParams{
					Name: stripe.String("Credit for " + account.Name),
				},
			},
		}},
		PaymentIntentData: &stripe.CheckoutSessionPaymentIntentDataParams{
			Metadata: metadata, Description: stripe.String("Top-up of " + account.Name),
			SetupFutureUsage: stripe.String("off_session"),
		},
		SuccessURL: stripe.String(p.cfg.BaseURL + walletPath + "?payment=" + payment.ID),
		CancelURL:  stripe.String(p.cfg.BaseURL + walletPath),
	}

	params.Context = ctx
	// Stripe would offer the page in the buyer's currency, and the wallet is in dollars.
	params.AddExtra("adaptive_pricing[enabled]", "false")
	params.SetIdempotencyKey(payment.ID)

	session, err := withRetries(ctx, func() (*stripe.CheckoutSession, error) { return p.sessions.New(params) })
	if err != nil {
		return "", fmt.Errorf("make a page of Stripe's: %w", err)
	}
	if err := p.store.SetPaymentSession(ctx, payment.ID, session.ID); err != nil {
		return "", err
	}
	return session.URL, nil
}

// metadataOf returns the metadata of our payment for Stripe's objects.
func metadataOf(p store.Payment) map[string]string {
	return map[string]string{metadataPayment: p.ID, metadataAccount: p.AccountID, metadataKind: p.Kind}
}

// withRetries retries once if the response was lost or Stripe failed. Each request carries a key, so Stripe executes it
// once.
func withRetries[T any](ctx context.Context, ask func() (*T, error)) (*T, error) {
	answer, err := ask()
	if err != nil && uncertain(err) && ctx.Err() == nil {
		answer, err = ask()
	}
	return answer, err
}

// uncertain reports whether an error leaves the outcome at Stripe open.
func uncertain(err error) bool {
	var told *stripe.Error
	if !errors.As(err, &told) {
		return true
	}
	switch told.HTTPStatusCode {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusPaymentRequired:
		return told.Type == stripe.ErrorTypeIdempotency
	}
	return true
}

// customer returns the account's customer at Stripe, and creates it the first time.
func (p *Payments) customer(ctx context.Context, account store.Account) (store.Customer, error) {
	known, err := p.store.Customer(ctx, account.ID)
	if !errors.Is(err, store.ErrNotFound) {
		return known, err
	}

	params := &stripe.CustomerParams{
		Email:    &account.Email,
		Name:     &account.Name,
		Metadata: map[string]string{metadataAccount: account.ID},
	}
	params.Context = ctx
	params.SetIdempotencyKey("customer " + account.ID)

	made, err := withRetries(ctx, func() (*stripe.Customer, error) { return p.buyers.New(params) })
	if err != nil {
		return store.Customer{}, fmt.Errorf("make a customer of Stripe's: %w", err)
	}
	return p.store.AddCustomer(ctx, account.ID, made.ID)
}

// Portal returns the address of Stripe's page on which an account's owner
// changes the card and finds receipts.
func (p *Payments) Portal(ctx context.Context, account store.Account) (address string, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	buyer, err := p.customer(ctx, account)
	if err != nil {
		return "", err
	}

	params := &stripe.BillingPortalSessionParams{
		Customer:  &buyer.ID,
		ReturnURL: stripe.String(p.cfg.BaseURL + walletPath + "/card"),
	}
	params.Context = ctx
	session, err := p.portals.New(params)
	if err != nil {
		return "", fmt.Errorf("make a page of Stripe's: %w", err)
	}

	return session.URL, nil
}

// RefreshCard asks Stripe which card the account's owner has chosen there.
func (p *Payments) RefreshCard(ctx context.Context, account store.Account) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()

	known, err := p.store.Customer(ctx, account.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}

	params := &stripe.CustomerParams{}
	params.Context = ctx
	params.AddExpand("invoice_settings.default_payment_method")
	buyer, err := p.buyers.Get(known.ID, params)
	if err != nil {
		return fmt.Errorf("read a customer of Stripe's: %w", err)
	}
	if buyer.InvoiceSettings != nil && buyer.InvoiceSettings.DefaultPaymentMethod != nil {
		method := buyer.InvoiceSettings.DefaultPaymentMethod
		return p.store.SetCard(ctx, account.ID, method.ID, methodText(method))
	}

	// None was chosen. The one of before may have been removed.
	list := &stripe.CustomerListPaymentMethodsParams{Customer: &known.ID}
	list.Context = ctx
	var latest *stripe.PaymentMethod
	for methods := p.buyers.ListPaymentMethods(list); methods.Next(); {
		method := methods.PaymentMethod()
		if method.ID == known.Method {
			return p.store.SetCard(ctx, account.ID, method.ID, methodText(method))
		}
		if latest == nil {
			latest = method
		}
	}

	if latest == nil {
		return p.store.SetCard(ctx, account.ID, "", "")
	}
	return p.store.SetCard(ctx, account.ID, latest.ID, methodText(latest))
}

// brands are the names of cards as users write them.
var brands = map[string]string{
	"visa": "Visa", "mastercard": "Mastercard", "amex": "American Express",
	"discover": "Discover", "diners": "Diners Club", "jcb": "JCB", "unionpay": "UnionPay",
}

func cardText(brand, last4 string, year int64, month int64) string {
	text := cmp.Or(brands[brand], "Card") + " ending " + last4
	if year > 0 && month >= 1 && month <= 12 {
		text += ", until " + time.Month(month).String()[:3] + fmt.Sprintf(" %d", year)
	}
	return text
}

// methodText is a saved method as users know it.
func methodText(m *stripe.PaymentMethod) string {
	if m.Card != nil {
		return cardText(string(m.Card.Brand), m.Card.Last4, m.Card.ExpYear, m.Card.ExpMonth)
	}
	return methodName(string(m.Type))
}

// methodName makes a text of the name of a kind of method: "us_bank_account".
func methodName(kind string) string {
	if kind == "" {
		return ""
	}
	text := strings.ReplaceAll(kind, "_", " ")
	return strings.ToUpper(text[:1]) + text[1:]
}
