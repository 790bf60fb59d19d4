package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/internal/test/fakestripe"
	"github.com/relaypdf/relaypdf/static"
	"github.com/relaypdf/relaypdf/web/payments"
)

// Settings of the stand-in for Stripe on a developer's server.
const (
	FakeStripePages  = "/test-payments"
	FakeStripeKey    = "sk_test_" + "development"
	FakeStripeSecret = "whsec_" + "development"
)

// stripeHandlers are our handlers for requests of Stripe and its stand-in.
type stripeHandlers struct{ webhook, pages http.Handler }

// openPayments prepares payments, if the settings have a key of Stripe. A developer's server has a stand-in
// otherwise.
func (a *App) openPayments(ctx context.Context) (found stripeHandlers, err error) {
	config := payments.Config{
		Store: a.Store, SecretKey: a.Config.StripeSecretKey,
		WebhookSecret: a.Config.StripeWebhookSecret, APIURL: a.Config.StripeAPIURL,
		BaseURL: a.Config.BaseURL, Logger: a.log, Now: a.Store.Now,
	}
	if a.emails != nil {
		config.Mail = a.emails
	}

	if config.SecretKey == "" {
		if !a.Config.Dev || !middleware.IsLoopback(a.Config.BaseURL) || config.APIURL != "" || !a.has(RoleWeb) {
			return found, nil
		}
		config.SecretKey = FakeStripeKey
		config.WebhookSecret = FakeStripeSecret
		if found.pages, config.APIURL, err = a.startFakeStripe(ctx); err != nil {
			return found, fmt.Errorf("stand in for Stripe: %w", err)
		}
	}

	a.payments, err = payments.New(config)
	if err != nil {
		return found, fmt.Errorf("RELAYPDF_STRIPE_SECRET_KEY: %w", err)
	}
	found.webhook = a.payments
	return found, nil
}

// startFakeStripe serves the stand-in for Stripe on this machine, and returns its pages and its URL.
func (a *App) startFakeStripe(ctx context.Context) (pages http.Handler, address string, err error) {
	assets, err := static.Open()
	if err != nil {
		return nil, "", err
	}

	fake := fakestripe.New(fakestripe.Config{
		SecretKey: FakeStripeKey, WebhookSecret: FakeStripeSecret, WebhookURL: a.URL + payments.WebhookPath,
		PageURL: a.Config.BaseURL + FakeStripePages, StyleURL: assets.URL("app.css"),
	})

	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}

	a.stripe = &http.Server{Handler: fake.API(), ReadHeaderTimeout: readHeaderTimeout}
	go func() { _ = a.stripe.Serve(listener) }() // Close ends it.
	a.StripeURL = "http://" + listener.Addr().String()
	return fake.Pages(FakeStripePages), a.StripeURL, nil
}

// before puts the paths of Stripe in front of the pages, or in front of the handler of a process without pages.
func (o stripeHandlers) before(pages, otherwise http.Handler) http.Handler {
	if o.webhook == nil {
		return pages
	}
	if pages == nil {
		pages = otherwise
	}

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == payments.WebhookPath:
			o.webhook.ServeHTTP(w, r)
		case o.pages != nil && strings.HasPrefix(r.URL.Path, FakeStripePages+"/"):
			o.pages.ServeHTTP(w, r)
		default:
			pages.ServeHTTP(w, r)
		}
	})
}
