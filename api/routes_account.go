package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
)

type callerKey struct{}

// requireAuth lets only requests with a valid key through to a handler.
func (a *API) requireAuth(
	handle func(http.ResponseWriter, *http.Request) error,
) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		caller, err := a.authenticate(r.Context(), bearer(r.Header), middleware.ClientIP(r.Context()), a.callerOf)
		if err != nil {
			return err
		}
		return handle(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
	}
}

// requireFullKey refuses keys that may not use all operations.
func requireFullKey(
	handle func(http.ResponseWriter, *http.Request) error,
) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if caller := callerFrom(r.Context()); !caller.Full() {
			return &wire.Error{
				Code: wire.Unauthorized,
				Message: "This key cannot change the account. It is limited to " +
					strings.Join(caller.Operations, ", ") + ".",
			}
		}
		return handle(w, r)
	}
}

// rateLimit counts requests in the windows of the caller's key, as operations do
// themselves.
func (a *API) rateLimit(
	handle func(http.ResponseWriter, *http.Request) error,
) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		verdict, err := a.Calls.Limit(r.Context(), callerFrom(r.Context()))
		setRateHeaders(w.Header(), verdict)
		if err != nil {
			return err
		}
		return handle(w, r)
	}
}

// rateLimitReads counts requests other than POST separately from POST requests, and limits how many of one caller run
// at once.
func (a *API) rateLimitReads(
	handle func(http.ResponseWriter, *http.Request) error,
) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if a.NoRateLimits {
			return handle(w, r)
		}

		bucket := callerFrom(r.Context()).Bucket()
		leave, ok := a.reads.Enter(bucket)
		if !ok {
			return &wire.Error{
				Code: wire.RateLimited, RetryAfter: 1,
				Message: fmt.Sprintf("Concurrent read limit reached: %[1]d of %[1]d. Retry in 1 second.", maxReads),
			}
		}
		defer leave()

		verdict, err := a.Limiter.Take(r.Context(), a.Calls.LimitKey("read", bucket), readWindow)
		setRateHeaders(w.Header(), verdict)
		if err != nil || !verdict.Allowed {
			return call.OverRate(verdict, err)
		}
		return handle(w, r)
	}
}

// callerFrom returns the caller that authenticated found.
func callerFrom(ctx context.Context) call.Caller {
	caller, _ := ctx.Value(callerKey{}).(call.Caller)
	return caller
}

func (*API) getAccount(_ context.Context, caller call.Caller, _ noInput) (wire.AccountSnapshot, error) {
	account := caller.Account
	told := wire.AccountSnapshot{
		Plan: account.Plan, RateTier: account.RateTier(),
		Wallet: wire.Wallet{BalanceMillicents: account.Balance.Millicents(), AutoReloadEnabled: account.AutoReload},
	}

	if g := caller.Grant; g != nil && g.SpendLimit != nil && g.ExpiresAt != nil {
		told.Grant = &wire.Grant{
			Scopes: caller.Scopes, Limit: int64(*g.SpendLimit), Spent: int64(g.Spent), ExpiresAt: *g.ExpiresAt,
		}
	}
	return told, nil
}
