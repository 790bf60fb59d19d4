package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"relaypdf/api/call"
	"relaypdf/api/fault"
	"relaypdf/api/limit"
	"relaypdf/store"
)

var (
	downloadWindow = limit.Window{Name: "minute", Limit: 60, Length: time.Minute}
	// failureWindow bounds the guessing of keys from one address.
	failureWindow = limit.Window{Name: "minute", Limit: 60, Length: time.Minute}
	// readWindow is for what is no POST, of which maxReads may run at once.
	readWindow = limit.Window{Name: "minute", Limit: 120, Length: time.Minute}
)

// maxReads is how many reads of one caller run at once in this process.
const maxReads = 8

// authenticate finds the caller that a secret belongs to by find, such as callerOf.
// Secrets that are wrong count in the window of the client's address. When it is
// full, wrong ones are refused as too many, and right ones of the same address go on.
func (a *API) authenticate(ctx context.Context, secret, ip string, find func(context.Context, string) (call.Caller, error)) (call.Caller, error) {
	caller, err := find(ctx, secret)
	if err == nil || !a.rateLimits || call.Fault(err).Code != fault.Unauthorized {
		return caller, err
	}
	verdict, limitErr := a.limiter.Take(ctx, a.Calls.LimitKey("auth", ip), failureWindow)
	if limitErr != nil || !verdict.Allowed {
		return call.Caller{}, call.OverRate(verdict, limitErr)
	}
	return call.Caller{}, err
}

// callerOf finds the caller that a key belongs to.
func (a *API) callerOf(ctx context.Context, secret string) (call.Caller, error) {
	known := strings.HasPrefix(secret, store.LivePrefix) || (a.local && strings.HasPrefix(secret, store.TestPrefix))
	switch {
	case secret == withoutBearer:
		return call.Caller{}, &fault.Error{Code: fault.Unauthorized, Message: `The word Bearer is missing: send the key as "Authorization: Bearer pdf_live_…".`}
	case !known && strings.HasPrefix(secret, store.TestPrefix):
		return call.Caller{}, &fault.Error{Code: fault.Unauthorized, Message: "This is a test key, which only a service on its owner's own machine takes: use one that begins with " + store.LivePrefix + "."}
	case !known:
		return call.Caller{}, &fault.Error{Code: fault.Unauthorized}
	}
	key, account, err := a.store.KeyBySecret(ctx, secret)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return call.Caller{}, &fault.Error{Code: fault.Unauthorized, Message: "This API key is unknown or was revoked."}
	case err != nil:
		return call.Caller{}, err
	case key.ExpiresAt != nil && !key.ExpiresAt.After(a.now()):
		return call.Caller{}, &fault.Error{Code: fault.Unauthorized, Message: "This API key has expired."}
	case account.Suspended:
		return call.Caller{}, &fault.Error{Code: fault.AccountSuspended}
	}
	return call.OfKey(account, key), nil
}

// agentOf finds the caller that a key or a token belongs to.
func (d *AgentDoor) agentOf(ctx context.Context, secret string) (call.Caller, error) {
	if !strings.HasPrefix(secret, store.AccessPrefix) {
		return d.callerOf(ctx, secret)
	}
	access, err := d.store.Grants().Access(ctx, secret, d.baseURL+AgentPath)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return call.Caller{}, &fault.Error{Code: fault.Unauthorized, Message: "This token is unknown, has expired or was revoked."}
	case err != nil:
		return call.Caller{}, err
	case access.Account.Suspended:
		return call.Caller{}, &fault.Error{Code: fault.AccountSuspended}
	}
	return call.OfGrant(access), nil
}

// withoutBearer stands for a key that was sent without its scheme. No secret is
// like it.
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
