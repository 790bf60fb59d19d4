package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/oauth"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/ratelimit"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/seal"
	"github.com/relaypdf/relaypdf/views"
	"github.com/relaypdf/relaypdf/web"
	"github.com/relaypdf/relaypdf/web/docs"
	"github.com/relaypdf/relaypdf/web/identity"
	"github.com/relaypdf/relaypdf/web/mail"
)

// openPost prepares the sending of emails, if a server is set.
func (a *App) openPost(box *seal.Box) (err error) {
	if a.Config.SMTPURL == "" {
		return nil
	}
	a.post, err = mail.New(mail.Config{Store: a.Store, Box: box, Server: a.Config.SMTPURL, From: a.Config.MailFrom, Logger: a.log})
	if err != nil {
		return fmt.Errorf("RELAYPDF_SMTP_URL and RELAYPDF_MAIL_FROM: %w", err)
	}
	return nil
}

// again repeats a call for a member of its account. It returns refusals in the words of the API.
func (a *App) again(ctx context.Context, account store.Account, callID, requestID string) (id, refused string, err error) {
	id, err = a.API.Calls.Again(ctx, account, callID, requestID)
	if err == nil || errors.Is(err, store.ErrNotFound) {
		return id, "", err
	}
	failure := call.Fault(err)
	if failure.Code == wire.InternalError {
		return "", "", err
	}
	return "", failure.Error(), nil
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
		Issuer: a.Config.OIDCIssuer, ClientID: a.Config.OIDCClientID, ClientSecret: a.Config.OIDCClientSecret, RedirectURL: a.Config.BaseURL + web.OIDCPath, Roots: roots,
	}), nil
}

// enableExternalIssuer makes the agent endpoint accept the tokens of an external issuer, if one is set. It sends no request
// yet.
func (a *App) enableExternalIssuer(to *api.Config) error {
	if a.Config.MCPIssuer == "" {
		return nil
	}
	roots, err := render.LoadRoots(a.Config.ExtraCA)
	if err != nil {
		return err
	}
	to.Issuer = oauth.NewIssuer(oauth.IssuerConfig{Issuer: a.Config.MCPIssuer, Audience: a.Config.MCPAudience, Roots: roots})
	if a.post != nil {
		to.TellGrant = web.TellGrants(a.post, a.Config.BaseURL)
	}
	return nil
}

// openPages prepares the pages, if the process has their role.
func (a *App) openPages(box *seal.Box, limiter ratelimit.Limiter) (http.Handler, error) {
	if !a.has(RoleWeb) {
		return nil, nil
	}
	table, err := schema.NewTable(operation.Rows)
	if err != nil {
		return nil, err
	}
	table.Without(a.Config.without())
	prices, err := operation.Prices(table, a.Config.Prices)
	if err != nil {
		return nil, err
	}
	if limiter == nil {
		limiter = ratelimit.NewMemory(nil)
	}
	config := web.Config{
		Store: a.Store, Box: box, Limiter: limiter, BaseURL: a.Config.BaseURL, Version: Version, SignUp: a.Config.SignUp, Trial: a.Config.Trial,
		Prices: prices, Dev: a.Config.Dev, Logger: a.log,
		ClientIP:  func(r *http.Request) string { return middleware.ClientIP(r.Context()) },
		RequestID: middleware.RequestID, CheckURL: a.render.CheckURL, Paths: a.API.Paths(), Region: a.Config.Region,
		Settings: a.settings(), Counters: a.counters,
	}
	config.Input = func(ctx context.Context, accountID, callID string) ([]byte, error) {
		return a.API.Calls.Input(ctx, accountID, callID)
	}
	config.Thumbnail = func(ctx context.Context, account store.Account, resultID string) []byte {
		image, _ := a.API.Calls.Thumbnail(ctx, account, resultID)
		return image
	}
	config.Again, config.Interface, config.Templates, config.Connections, config.Signing = a.again, a.API.ForPerson, a.API.Templates, a.API.Connections, a.API.Signing
	config.Progress, config.Cancel = a.API.Calls.AddProgress, a.API.Calls.Cancel
	config.MaxBody, config.MaxFile = a.Config.MaxBody, a.Config.MaxFile
	started := time.Now()
	config.Engines = func() views.Engines { return a.engines(started) }
	config.Helpers, config.Model = render.TemplateHelpers(), a.Config.AI.Provider != ""
	if options, ok := table.Lookup("templates.preview").Schema.Properties.Get("options"); ok {
		config.OptionFields = optionFields(options, "")
	}
	for _, row := range table.All() {
		config.Operations = append(config.Operations, row.Name)
		if !row.Off {
			reads := !slices.ContainsFunc(row.Produces, func(kind string) bool { return kind != "application/json" })
			config.Described = append(config.Described, web.Operation{Name: row.Name, Summary: row.Summary, Note: row.PriceNote, Varies: row.Varies, Reads: reads, Job: row.Bulk})
		}
	}
	config.Outward = a.render.Webhooks()
	config.Draw, config.Ready = a.draw, (&statusCache{ask: a.ready, now: time.Now}).read
	config.OpenAPI = func() ([]byte, error) { return api.Description(a.API) }
	if a.post != nil {
		config.Mail = a.post
	}
	if a.money != nil {
		config.Payments, config.TestPayments = a.money, !a.money.Live()
	}
	if config.Identities, err = a.identities(); err != nil {
		return nil, err
	}
	config.IdentityName, config.TokenIssuer = a.Config.OIDCName, a.Config.MCPIssuer
	if config.CustomPages, err = docs.CustomPages(a.Config.Pages); err != nil {
		return nil, fmt.Errorf("RELAYPDF_PAGES: %w", err)
	}
	pages, err := web.New(config)
	if err != nil {
		return nil, errors.Join(errors.New("the pages cannot be served"), err)
	}
	return pages.Handler(), nil
}

// optionFields returns the options of documents that have their own field in the editor: options with one value,
// and the members of objects.
func optionFields(schema *jsonschema.Schema, prefix string) []views.OptionField {
	var fields []views.OptionField
	for pair := schema.Properties.Oldest(); pair != nil; pair = pair.Next() {
		name, option := prefix+pair.Key, pair.Value
		f := views.OptionField{Name: name, Type: "text", Hint: option.Description}
		if option.Default != nil {
			f.Default = fmt.Sprint(option.Default)
		}
		switch {
		case option.Properties != nil && option.Properties.Len() > 0:
			fields = append(fields, optionFields(option, name+".")...)
			continue
		case option.Type == "array" || option.Type == "object" || strings.HasSuffix(name, "Template"):
			continue // they are written as JSON, or have a pane of their own
		case option.Type == "boolean":
			f.Type = "check"
		case len(option.Enum) > 0:
			f.Type = "select"
			for _, choice := range option.Enum {
				f.Choices = append(f.Choices, fmt.Sprint(choice))
			}
		case option.Type == "number" || option.Type == "integer":
			f.Type = "number"
		case len(option.OneOf) > 0 || option.Type == "":
			f.Type = "length" // a number, or a text with a unit
		}
		fields = append(fields, f)
	}
	return fields
}
