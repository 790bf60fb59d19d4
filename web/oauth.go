package web

import (
	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/service/oauth"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
	"github.com/relaypdf/relaypdf/web/mail"
)

// newAuthServer returns the authorization server, which asks users on pages of w.
func newAuthServer(w *Web) *oauth.Server {
	cfg := oauth.ServerConfig{
		Store: w.store, Limiter: w.limiter, BaseURL: w.cfg.BaseURL,
		DocsURL: w.cfg.BaseURL + docsPath + "/agents", DeviceURL: w.cfg.BaseURL + devicePath,
		OutsideIssuer: w.cfg.TokenIssuer, Documents: w.cfg.Outbound.Webhooks(),
		ClientIP: middleware.ClientIP, RequestID: middleware.RequestID, Logger: w.log, Now: w.now,
	}

	if w.mail != nil {
		cfg.GrantEmails = GrantEmails(w.mail, w.cfg.BaseURL)
		cfg.KeyEmails = w.deviceKeyEmails
		cfg.SendEmails = w.mail.Wake
	}
	return oauth.NewServer(cfg)
}

// GrantEmails returns a function that builds the emails about an authorized app.
func GrantEmails(mailer Mailer, base string) store.GrantMailBuilder {
	return func(grant store.Grant, to []string) ([]store.QueuedEmail, error) {
		return mail.SealAll(mailer, to, mail.Message{
			Subject: grant.Name + " can now use relaypdf",
			Lines: []string{
				grant.Email + " authorized “" + grant.Name + "” to use the account on " +
					grant.CreatedAt.UTC().Format("January 2, 2006, 15:04 UTC") +
					". It can spend up to " + views.Dollars(grant.Limit) +
					" until " + grant.ExpiresAt.UTC().Format("January 2, 2006") + ".",
				"If you do not recognize this app, revoke its access.",
			},
			Link: mail.Link{Text: "View connected apps", URL: base + appsPath},
		})
	}
}
