package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/oauth"
	"github.com/relaypdf/relaypdf/service/ratelimit"
	"github.com/relaypdf/relaypdf/store"
)

var (
	downloadWindow = ratelimit.Window{Name: "minute", Limit: 60, Length: time.Minute}
	// failureWindow bounds the guessing of keys from one address.
	failureWindow = ratelimit.Window{Name: "minute", Limit: 60, Length: time.Minute}
	// readWindow is for methods other than POST; at most maxReads of these requests may run at once.
	readWindow = ratelimit.Window{Name: "minute", Limit: 120, Length: time.Minute}
)

// maxReads is the maximum number of concurrent reads of one caller in this process.
const maxReads = 8

// authenticate finds the caller that a secret belongs to by find, such as callerOf.
// Secrets that are wrong count in the window of the client's address. When it is
// full, wrong ones are refused as too many, and right ones of the same address go on.
func (a *API) authenticate(
	ctx context.Context, secret, ip string, find func(context.Context, string) (call.Caller, error),
) (call.Caller, error) {
	caller, err := find(ctx, secret)
	caller.Author.Address = ip
	if err == nil || a.NoRateLimits || call.APIError(err).Code != wire.Unauthorized {
		return caller, err
	}

	verdict, limitErr := a.Limiter.Take(ctx, a.Calls.LimitKey("auth", ip), failureWindow)
	if limitErr != nil || !verdict.Allowed {
		return call.Caller{}, call.OverRate(verdict, limitErr)
	}
	return call.Caller{}, err
}

// callerOf finds the caller that a key belongs to.
func (a *API) callerOf(ctx context.Context, secret string) (call.Caller, error) {
	switch {
	case secret == withoutBearer:
		return call.Caller{}, &wire.Error{
			Code:    wire.Unauthorized,
			Message: `The Authorization header has no Bearer prefix. Send "Authorization: Bearer pdf_live_…".`,
		}
	case !strings.HasPrefix(secret, store.LivePrefix) && !strings.HasPrefix(secret, store.TestPrefix):
		return call.Caller{}, &wire.Error{Code: wire.Unauthorized}
	}

	key, account, err := a.Store.KeyBySecret(ctx, secret)
	describeCaller(ctx, account, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return call.Caller{}, &wire.Error{
			Code:    wire.Unauthorized,
			Message: "The API key is unknown or revoked. Check the key, or create one in the dashboard.",
		}
	case err != nil:
		return call.Caller{}, err
	case key.ExpiresAt != nil && !key.ExpiresAt.After(a.Now()):
		return call.Caller{}, &wire.Error{
			Code: wire.Unauthorized, Message: "The API key has expired. Create a new key in the dashboard.",
		}
	case account.Suspended:
		return call.Caller{}, &wire.Error{Code: wire.AccountSuspended}
	}

	return call.OfKey(account, key), nil
}

// agentOf finds the caller that a key or a token belongs to.
func (d *MCPBackend) agentOf(ctx context.Context, secret string) (call.Caller, error) {
	var access store.GrantAccess
	var err error
	switch {
	case strings.HasPrefix(secret, store.AccessPrefix):
		access, err = d.Store.GrantAccess(ctx, secret, d.BaseURL+AgentPath)
	case d.options.Issuer != nil && oauth.LooksLikeJWT(secret):
		access, err = d.externalAccess(ctx, secret)
	default:
		return d.callerOf(ctx, secret)
	}

	describeCaller(ctx, access.Account, access.Grant)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return call.Caller{}, &wire.Error{
			Code:    wire.Unauthorized,
			Message: "The access token is unknown, expired or revoked. Refresh it, or authorize again.",
		}
	case err != nil:
		return call.Caller{}, err
	case access.Account.Suspended:
		return call.Caller{}, &wire.Error{Code: wire.AccountSuspended}
	}

	return call.OfGrant(access), nil
}

// describeCaller adds an account and its key or grant to the log of its requests. A deleted account, whose keys are
// revoked, has no log.
func describeCaller(ctx context.Context, account store.Account, key store.Key) {
	if key.RevokedAt != nil && account.Suspended {
		return
	}

	middleware.Describe(ctx, func(logged *store.Request) {
		logged.AccountID = account.ID
		logged.KeyID = key.ID
	})
}

// externalAccess returns the access that a token of the external issuer grants.
func (d *MCPBackend) externalAccess(ctx context.Context, token string) (store.GrantAccess, error) {
	holder, err := d.options.Issuer.Holder(ctx, token)
	refuse := func(text string) (store.GrantAccess, error) {
		return store.GrantAccess{}, &wire.Error{Code: wire.Unauthorized, Message: text, Cause: err}
	}

	switch {
	case errors.Is(err, oauth.ErrUnavailable):
		d.Logger.LogAttrs(ctx, slog.LevelWarn, "the token issuer does not answer", slog.Any("error", err))
		return store.GrantAccess{}, &wire.Error{
			Code: wire.RateLimited, RetryAfter: 10,
			Message: "The token issuer is unreachable, so the token cannot be verified. Retry in 10 seconds.",
			Cause:   err,
		}
	case errors.Is(err, oauth.ErrMail):
		return refuse("The token has no verified email address. It must contain email and email_verified: true.")
	case err != nil:
		return refuse("The token was not issued by " + d.options.Issuer.Name() + " for this service, or it has expired. Request a new token.")
	}

	var scopes []string
	for _, scope := range wire.Scopes() {
		if slices.Contains(holder.Scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	name := holder.Client
	if name == "" {
		name = "Unnamed app"
	}

	access, err := d.Store.ExternalGrantAccess(ctx, store.ExternalClient{
		Email: holder.Email, ClientID: d.options.Issuer.Name() + " " + holder.Client, Name: name,
		Home: d.options.Issuer.Name(), Resource: d.BaseURL + AgentPath, Scopes: scopes,
	}, d.options.TellGrant)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return refuse("No member of this server who can authorize apps has the token's email address. Check the address, or ask an account owner.")
	case errors.Is(err, store.ErrDenied):
		return refuse("This app was revoked in the dashboard. Ask the user to allow it there again.")
	}

	return access, err
}

// withoutBearer is the placeholder for a key that was sent without its scheme. No secret looks like it.
const withoutBearer = "Bearer?"

// bearer returns the token of an Authorization header, or "".
func bearer(h http.Header) string {
	scheme, token, ok := strings.Cut(h.Get("Authorization"), " ")
	if strings.HasPrefix(scheme, store.LivePrefix) || strings.HasPrefix(scheme, store.TestPrefix) {
		return withoutBearer
	}
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
