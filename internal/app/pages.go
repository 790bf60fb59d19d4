package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/internal/version"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/service/oauth"
	"github.com/relaypdf/relaypdf/store/seal"
	"github.com/relaypdf/relaypdf/views"
	"github.com/relaypdf/relaypdf/web"
	"github.com/relaypdf/relaypdf/web/docs"
	"github.com/relaypdf/relaypdf/web/identity"
	"github.com/relaypdf/relaypdf/web/mail"
)

// openEmails prepares the sending of emails, if a server is set.
func (a *App) openEmails(box *seal.Box) (err error) {
	if a.Config.SMTPURL == "" {
		return nil
	}

	a.emails, err = mail.New(mail.Config{
		Store:  a.Store,
		Box:    box,
		Server: a.Config.SMTPURL,
		From:   a.Config.MailFrom,
		Logger: a.log,
	})
	if err != nil {
		return fmt.Errorf("RELAYPDF_SMTP_URL and RELAYPDF_MAIL_FROM: %w", err)
	}
	return nil
}

// identities returns the identity provider; nil if none is set. It sends no request yet.
func (a *App) identities() (web.Identities, error) {
	if a.Config.OIDCIssuer == "" {
		return nil, nil
	}
	roots, err := render.LoadRoots(a.Config.ExtraCA)
	if err != nil {
		return nil, err
	}

	return identity.New(identity.Config{
		Name: a.Config.OIDCName, Issuer: a.Config.OIDCIssuer, ClientID: a.Config.OIDCClientID,
		ClientSecret: a.Config.OIDCClientSecret, RedirectURL: a.Config.BaseURL + web.OIDCPath, Roots: roots,
	}), nil
}

// agentOptions returns the external issuer whose tokens the agent endpoint accepts, if one is set. It sends no request
// yet.
func (a *App) agentOptions() (options api.AgentOptions, err error) {
	if a.Config.MCPIssuer == "" {
		return options, nil
	}
	roots, err := render.LoadRoots(a.Config.ExtraCA)
	if err != nil {
		return options, err
	}

	options.Issuer = oauth.NewIssuer(oauth.IssuerConfig{
		Issuer:   a.Config.MCPIssuer,
		Audience: a.Config.MCPAudience,
		Roots:    roots,
	})

	if a.emails != nil {
		options.TellGrant = web.GrantEmails(a.emails, a.Config.BaseURL)
	}
	return options, nil
}

// host is the process as its pages see it.
type host struct {
	*api.API

	app     *App
	status  *statusCache
	started time.Time
}

func (h *host) Draw(ctx context.Context, sheet web.RenderRequest) (web.RenderedSheet, error) {
	return h.app.draw(ctx, sheet)
}

func (h *host) Ready(ctx context.Context) views.ServiceStatus { return h.status.read(ctx) }

func (h *host) Engines() views.Engines { return h.app.engines(h.started) }

func (h *host) Counters() []views.Counter { return h.app.counters() }

// openPages returns the pages, or nil if the process does not have their role.
func (a *App) openPages() (http.Handler, error) {
	if !a.has(RoleWeb) {
		return nil, nil
	}

	config := web.Config{
		Services: a.Services,
		Host: &host{
			API:     a.API,
			app:     a,
			status:  &statusCache{ask: a.measureStatus, now: time.Now},
			started: time.Now(),
		},
		Version: version.Version, SignUp: a.Config.SignUp, Trial: a.Config.Trial, MaxBody: a.Config.MaxBody,
		TokenIssuer: a.Config.MCPIssuer, Settings: a.settings(),
	}

	if a.emails != nil {
		config.Mail = a.emails
	}
	if a.payments != nil {
		config.Payments = a.payments
	}

	var err error
	if config.Identities, err = a.identities(); err != nil {
		return nil, err
	}
	if config.CustomPages, err = docs.CustomPages(a.Config.Pages); err != nil {
		return nil, fmt.Errorf("RELAYPDF_PAGES: %w", err)
	}

	pages, err := web.New(config)
	if err != nil {
		return nil, errors.Join(errors.New("the pages cannot be served"), err)
	}
	return pages.Handler(), nil
}
