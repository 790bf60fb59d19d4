package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"relaypdf/store"
)

// Caller is who sent a request: a key and the account it belongs to.
type Caller struct {
	Key     store.Key
	Account store.Account
}

// testPrefix marks keys for local development. They are accepted only while
// the service's own address is loopback.
const (
	livePrefix = "pdf_live_"
	testPrefix = "pdf_test_"
)

// authenticate finds the caller that a key belongs to. Only failures count in
// the window of the client's address, so a busy customer is never locked out.
func (a *API) authenticate(ctx context.Context, secret, ip string) (Caller, error) {
	scope := a.limitKey("auth", ip)
	if verdict, err := a.limiter.Peek(ctx, scope, failureWindow); err != nil || !verdict.Allowed {
		return Caller{}, overRate(verdict, err)
	}
	caller, err := a.callerOf(ctx, secret)
	if e := asErrorOrNil(err); e != nil && e.Code == Unauthorized && a.rateLimits {
		if _, err := a.limiter.Take(ctx, scope, failureWindow); err != nil {
			return Caller{}, err
		}
	}
	return caller, err
}

func asErrorOrNil(err error) *Error {
	if err == nil {
		return nil
	}
	return asError(err)
}

func (a *API) callerOf(ctx context.Context, secret string) (Caller, error) {
	known := strings.HasPrefix(secret, livePrefix) || (a.local && strings.HasPrefix(secret, testPrefix))
	if !known {
		return Caller{}, &Error{Code: Unauthorized}
	}
	key, account, err := a.store.KeyBySecret(ctx, secret)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Caller{}, &Error{Code: Unauthorized, Message: "This API key is unknown or was revoked."}
	case err != nil:
		return Caller{}, err
	case key.ExpiresAt != nil && !key.ExpiresAt.After(a.now()):
		return Caller{}, &Error{Code: Unauthorized, Message: "This API key has expired."}
	case account.Suspended:
		return Caller{}, &Error{Code: AccountSuspended}
	}
	return Caller{Key: key, Account: account}, nil
}

// limitCaller counts a POST in its key's windows.
func (a *API) limitCaller(ctx context.Context, caller Caller) (Verdict, error) {
	if !a.rateLimits {
		return Verdict{Allowed: true}, nil
	}
	minute := trialWindow
	if caller.Account.RateTier() == "paid" {
		minute = paidWindow
	}
	verdict, err := a.limiter.Take(ctx, a.limitKey(caller.Key.ID), burstWindow, minute)
	if err != nil || !verdict.Allowed {
		return verdict, overRate(verdict, err)
	}
	return verdict, nil
}

// limitKey names a counter; counters are kept per region.
func (a *API) limitKey(scope ...string) string {
	return "rl:" + a.region + ":" + strings.Join(scope, ":")
}

func overRate(verdict Verdict, err error) error {
	if err != nil {
		return err
	}
	return &Error{Code: RateLimited, RetryAfter: seconds(verdict.RetryAfter)}
}

// bearer returns the token of an Authorization header, or "".
func bearer(h http.Header) string {
	scheme, token, ok := strings.Cut(h.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// keyInQuery tells whether a query string carries what looks like a key. Such
// requests are refused even beside a valid header: addresses end up in logs.
func keyInQuery(raw string) bool {
	// Readers disagree about ";", and about what is left of a query with a
	// mistake in it: what could be a key to one of them is one.
	query, _ := url.ParseQuery(strings.ReplaceAll(raw, ";", "&"))
	for name, values := range query {
		switch strings.ToLower(name) {
		case "api_key", "key", "access_token", "token":
			return true
		}
		for _, value := range values {
			if strings.HasPrefix(value, livePrefix) || strings.HasPrefix(value, testPrefix) {
				return true
			}
		}
	}
	return strings.Contains(raw, livePrefix) || strings.Contains(raw, testPrefix)
}
