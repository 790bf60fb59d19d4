// Package web serves the pages: public ones, the dashboard of logged-in users, and the operator's. A page's handler
// reads the store, or makes a call like any other API, and fills a model of package views.
package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/alexedwards/scs/v2"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service"
	"github.com/relaypdf/relaypdf/service/delivery"
	"github.com/relaypdf/relaypdf/service/oauth"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/ratelimit"
	"github.com/relaypdf/relaypdf/service/templates"
	"github.com/relaypdf/relaypdf/static"
	"github.com/relaypdf/relaypdf/static/gallery"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/seal"
	"github.com/relaypdf/relaypdf/views"
	"github.com/relaypdf/relaypdf/web/docs"
	"github.com/relaypdf/relaypdf/web/mail"
)

// Config holds the dependencies and settings of the pages.
type Config struct {
	// Services are those of the process.
	*service.Services

	// Host is the process that serves the pages.
	Host Host
	// Mail sends emails; nil is a service that sends none.
	Mail Mailer
	// Version is shown at the foot of every page.
	Version string
	// SignUp defines who may create an account.
	SignUp string
	// Trial is the initial credit of an account, once its owner's address is verified.
	Trial credit.Amount
	// Payments receives payments; nil means a service on which only the operator credits accounts.
	Payments Payments
	// Identities identifies users; nil is a service with passwords only.
	Identities Identities
	// TokenIssuer is the external issuer whose tokens the agent endpoint accepts besides its own; empty means none.
	TokenIssuer string
	// MaxBody is the maximum size of one request of the playground, in bytes.
	MaxBody int64
	// CustomPages are the operator's terms, privacy policy and contact page, as far as there are some.
	CustomPages []docs.CustomPage
	// Settings are those of this process, with secrets masked.
	Settings []views.Setting
	// Hooks are of tests.
	Hooks Hooks
}

// Hooks let tests watch and steer the pages. The zero value does nothing.
type Hooks struct {
	// Calls replaces the calls of the services.
	Calls Calls
	// Wait replaces the wait before an attempt to log in is answered, which ends early with the context.
	Wait func(ctx context.Context, delay time.Duration) error
	// MaxForms limits the bytes of forms in memory at once, FormWait is how long a form waits for its part of them; 0
	// means 96 MiB and 10 s.
	MaxForms int64
	FormWait time.Duration
}

// Values of Config.SignUp.
const (
	SignUpOpen   = "open"   // anyone
	SignUpInvite = "invite" // who was invited to an account
	SignUpClosed = "closed" // no one: the operator creates accounts
)

// SignUps lists the values of Config.SignUp.
func SignUps() []string { return []string{SignUpOpen, SignUpInvite, SignUpClosed} }

// Host is the process that serves the pages: its API, its renderer and its state.
type Host interface {
	// MemberHandler executes the API requests of an account's member, as with a key, or with the given key of the account.
	MemberHandler(account store.Account, key *store.Key) http.Handler
	// Description returns the OpenAPI document, in JSON. It is called when a page first needs it.
	Description() ([]byte, error)
	// Paths are the addresses of the API, which a visitor may have meant.
	Paths() []string
	// Render renders for visitors. Its errors are ErrBusy, *DocumentError, those of the context, and internal errors.
	Draw(ctx context.Context, sheet RenderRequest) (RenderedSheet, error)
	// Ready returns the status of the service.
	Ready(ctx context.Context) views.ServiceStatus
	// Engines returns the state of the render engines, Counters the counts of responses of this process.
	Engines() views.Engines
	Counters() []views.Counter
}

// Calls are the calls of all accounts: *call.Runner.
type Calls interface {
	// Input returns the stored input of a call as JSON, or store.ErrNotFound. It reads from the given store.
	Input(ctx context.Context, from *store.Store, accountID, callID string) ([]byte, error)
	// Repeat repeats a call from its stored input, and returns the ID of the new call.
	Repeat(ctx context.Context, account store.Account, callID, requestID string) (id string, err error)
	// AddProgress adds the progress of a bulk job to the status of a call. It reads from the given store.
	AddProgress(ctx context.Context, from *store.Store, of store.Call, status *wire.JobStatus) error
	// Cancel cancels a job.
	Cancel(ctx context.Context, job store.Call) error
	// Thumbnail returns page 1 of an account's result as a PNG, or why there is none.
	Thumbnail(ctx context.Context, account store.Account, resultID string) (png []byte, why string)
}

// Payments receives payments on pages of its provider.
type Payments interface {
	// Live reports whether real money moves.
	Live() bool
	// TopUp returns the address of a page on which to pay.
	TopUp(ctx context.Context, account store.Account, amount credit.Amount) (address string, err error)
	// Portal returns the address of a page with cards and receipts.
	Portal(ctx context.Context, account store.Account) (address string, err error)
	// RefreshCard learns which card was chosen there.
	RefreshCard(ctx context.Context, account store.Account) error
}

// Mailer sends emails in the background.
type Mailer interface {
	// Enqueue queues an email; it is sent even if the process ends.
	Enqueue(ctx context.Context, letter mail.Message) error
	// Seal converts an email to a row of the store, for a transaction that writes more than emails. Wake signals that
	// it has been committed.
	Seal(letter mail.Message) (store.QueuedEmail, error)
	Wake()
}

// Web serves the pages. Its methods are safe for concurrent use.
type Web struct {
	store            *store.Store
	box              *seal.Box
	calls            Calls
	mail             Mailer
	webhookEndpoints delivery.Endpoints
	templates        *templates.Service
	limiter          ratelimit.Limiter
	waiting          waitingRoom
	wait             func(context.Context, time.Duration) error // before an attempt to log in is answered
	previewPages     storedPages
	forms            *formBudget
	assets           *static.Files
	gallery          *gallery.Gallery
	publicImages     *publicImageCache
	previews         *previewCache
	listed           func() []publicPage // the public pages except those of the operations, listed once
	operations       func() []publicPage // those of the operations, listed once
	offered          []*apiOperation     // the operations of this process, in the order of the price list
	optionFields     []views.OptionField // of the editor
	oauth            *oauth.Server
	docs             *docs.Book
	scs              *scs.SessionManager
	cfg              Config
	log              *slog.Logger
	now              func() time.Time
	secure           bool     // the base URL is https
	paths            []string // that a visitor may have meant
	started          time.Time
}

// New returns the pages. The error is static.ErrMissing in a program that was
// built without its assets.
func New(cfg Config) (*Web, error) {
	assets, err := static.Open()
	if err != nil {
		return nil, err
	}

	if cfg.Services == nil || cfg.Host == nil {
		return nil, errors.New("the pages need services and a host")
	}

	hooks := cfg.Hooks.withDefaults(cfg.Services)
	stored := cfg.Store.ForPages()
	w := &Web{
		gallery: cfg.Gallery, publicImages: newPublicImageCache(), previews: newPreviewCache(), templates: cfg.Templates,
		store: stored, box: cfg.Box, mail: cfg.Mail, limiter: cfg.Limiter, waiting: newWaitingRoom(),
		calls: hooks.Calls, wait: hooks.Wait,
		forms: newFormBudget(hooks.MaxForms, hooks.FormWait), assets: assets, cfg: cfg, log: cfg.Logger, now: cfg.Now,
		secure: strings.HasPrefix(cfg.BaseURL, "https:"), started: cfg.Now(),
		paths: cfg.Host.Paths(), optionFields: editorFields(cfg.Table),
	}

	for _, o := range cfg.Table.All() {
		if !o.Off {
			w.offered = append(w.offered, o)
		}
	}

	w.webhookEndpoints = delivery.Endpoints{
		Store: stored, Box: cfg.Box, Check: operation.EndpointCheck(cfg.Connections.CheckURL),
	}
	w.oauth = newAuthServer(w)
	w.scs = newSessions(stored, w.secure)
	w.scs.ErrorFunc = w.sessionFailed
	if w.docs, err = docs.New(cfg.BaseURL, cfg.Host.Description); err != nil {
		return nil, err
	}

	w.listed = sync.OnceValue(w.list)
	w.operations = sync.OnceValue(w.listOperations)
	return w, nil
}

// withDefaults replaces what is not set.
func (h Hooks) withDefaults(services *service.Services) Hooks {
	if h.Calls == nil {
		h.Calls = services.Calls
	}
	if h.Wait == nil {
		h.Wait = wait
	}
	if h.MaxForms == 0 {
		h.MaxForms = defaultForms
	}
	if h.FormWait == 0 {
		h.FormWait = formWait
	}
	return h
}

// allow counts an attempt under key, with at most maximum in a window, and reports whether it is allowed; if not, how
// long to wait. If the limiter fails, the attempt is refused.
func (w *Web) allow(ctx context.Context, key string, maximum int, window time.Duration) (wait time.Duration, ok bool) {
	verdict, err := w.limiter.Take(ctx, "web:"+key, ratelimit.Window{Name: "attempts", Limit: maximum, Length: window})
	if err != nil {
		w.log.LogAttrs(ctx, slog.LevelError, "count attempts failed", slog.Any("error", err))
		return time.Minute, false
	}
	return verdict.RetryAfter, verdict.Allowed
}
