package api

import (
	"context"
	"net/http"
	"strings"
)

type callerKey struct{}

// authenticated lets only requests with a valid key through to a handler.
func (a *API) authenticated(handle func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		caller, err := a.authenticate(r.Context(), bearer(r.Header), clientIP(r, a.ipHeader))
		if err != nil {
			return err
		}
		return handle(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
	}
}

// unrestricted refuses keys that may not use all operations.
func unrestricted(handle func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if allowed := callerFrom(r.Context()).Key.Operations; len(allowed) > 0 {
			return &Error{Code: Unauthorized, Message: "This key may only use " + strings.Join(allowed, ", ") + ", and not change the account."}
		}
		return handle(w, r)
	}
}

// limited counts requests in the windows of the caller's key, as operations do
// themselves.
func (a *API) limited(handle func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		verdict, err := a.limitCaller(r.Context(), callerFrom(r.Context()))
		setRateHeaders(w.Header(), verdict)
		if err != nil {
			return err
		}
		return handle(w, r)
	}
}

// callerFrom returns the caller that authenticated found.
func callerFrom(ctx context.Context) Caller {
	caller, _ := ctx.Value(callerKey{}).(Caller)
	return caller
}

// isAPI tells whether a path belongs to the versioned interface.
func isAPI(path string) bool {
	return path == "/v1" || strings.HasPrefix(path, "/v1/") || path == "/mcp"
}

// AccountSnapshot is the answer of GET /v1/account.
type AccountSnapshot struct {
	Plan     string `json:"plan" jsonschema:"required,enum=free,enum=paid" jsonschema_description:"The account's plan."`
	RateTier string `json:"rateTier" jsonschema:"required,enum=free,enum=paid" jsonschema_description:"Which rate limits apply: free is 20 requests a minute, paid is 60."`
	Wallet   Wallet `json:"wallet" jsonschema:"required" jsonschema_description:"The prepaid wallet."`
}

// Wallet is the part of the snapshot that concerns money.
type Wallet struct {
	BalanceMillicents int64 `json:"balanceMillicents" jsonschema:"required" jsonschema_description:"Balance in millicents (0.001 USD), rounded down, without what running calls hold."`
	AutoReloadEnabled bool  `json:"autoReloadEnabled" jsonschema:"required" jsonschema_description:"Whether the wallet refills itself."`
}

func (a *API) getAccount(w http.ResponseWriter, r *http.Request) error {
	account := callerFrom(r.Context()).Account
	return writeJSON(w, http.StatusOK, AccountSnapshot{
		Plan: account.Plan, RateTier: account.RateTier(),
		Wallet: Wallet{BalanceMillicents: account.Balance.Millicents(), AutoReloadEnabled: account.AutoReload},
	})
}
