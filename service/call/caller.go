package call

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/ratelimit"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// Kind is the kind of a caller.
type Kind string

const (
	// ByKey is a client with an API key.
	ByKey Kind = "key"
	// ByGrant is an agent that a user has authorized.
	ByGrant Kind = "grant"
	// ByPerson is the account's owner, logged in.
	ByPerson Kind = "account"
)

// Caller is the authenticated caller of a request. It carries no secret.
type Caller struct {
	Account store.Account
	Kind    Kind
	// ID is the key's or the grant's; a user's is empty.
	ID string
	// Author is the caller in the audit log.
	Author store.Author
	// Scopes are the scopes of the grant, and Grant describes its cap. Keys and users have neither.
	Scopes []string
	Grant  *store.Key
	// Operations are the operations that the caller may use. Empty means all operations and everything else that
	// the account may do.
	Operations []string
	// Test marks a test key.
	Test bool
	// Cap is the maximum price of one call; nil leaves that to the limits of
	// the key and of the account, which are checked when the price is held.
	Cap *credit.Amount
}

// OfKey is the caller that has shown a key.
func OfKey(account store.Account, key store.Key) Caller {
	return Caller{
		Account: account, Kind: ByKey, ID: key.ID, Author: authorOf(account, key), Operations: key.Operations,
		Test: key.Test,
	}
}

// OfGrant is the agent that has shown a token of a grant.
func OfGrant(a store.GrantAccess) Caller {
	return Caller{
		Account: a.Account, Kind: ByGrant, ID: a.Grant.ID, Author: authorOf(a.Account, a.Grant), Scopes: a.Scopes,
		Grant: &a.Grant,
	}
}

func authorOf(account store.Account, key store.Key) store.Author {
	return store.Author{AccountID: account.ID, Who: "key " + key.ID}
}

// Has reports whether the caller has a scope. Keys and users have every scope.
func (c Caller) Has(scope string) bool {
	return c.Kind != ByGrant || slices.Contains(c.Scopes, scope)
}

// Full reports whether the caller may use everything that the account may use.
func (c Caller) Full() bool { return len(c.Operations) == 0 }

// Reads is the id of the key or grant whose calls, jobs, uploads and results alone the
// caller may read and delete, empty where these are all of the account's.
func (c Caller) Reads() string {
	if c.Full() {
		return ""
	}
	return c.keyID()
}

// May reports whether the caller may use an operation.
func (c Caller) May(operation string) bool {
	scope := wire.ScopeDocuments
	if strings.HasPrefix(operation, "templates.") {
		scope = wire.ScopeTemplates
	}
	return c.Has(scope) && (c.Full() || slices.Contains(c.Operations, operation))
}

// Bucket returns the name under which the caller's requests are counted: its key, its grant, or, for a user, the
// account.
func (c Caller) Bucket() string {
	if c.ID == "" {
		return string(ByPerson) + ":" + c.Account.ID
	}
	return string(c.Kind) + ":" + c.ID
}

// keyID is the key that the call is written down with, or empty. A grant has a row
// among the keys, by which its calls are held to its cap.
func (c Caller) keyID() string {
	if c.Kind == ByPerson {
		return ""
	}
	return c.ID
}

// The rate limits of the API.
var (
	burstWindow = ratelimit.Window{Name: "burst", Limit: 5, Length: 10 * time.Second}
	trialWindow = ratelimit.Window{Name: "minute", Limit: 20, Length: time.Minute}
	paidWindow  = ratelimit.Window{Name: "minute", Limit: 60, Length: time.Minute}
)

// Limit counts a POST in its caller's windows.
func (r *Runner) Limit(ctx context.Context, caller Caller) (ratelimit.Verdict, error) {
	if !r.rateLimits {
		return ratelimit.Verdict{Allowed: true}, nil
	}
	minute := trialWindow
	if caller.Account.RateTier() == "paid" {
		minute = paidWindow
	}

	verdict, err := r.limiter.Take(ctx, r.LimitKey(caller.Bucket()), burstWindow, minute)
	if err != nil || !verdict.Allowed {
		return verdict, OverRate(verdict, err)
	}
	return verdict, nil
}

// LimitKey returns the name of a counter; counters are separate per region.
func (r *Runner) LimitKey(scope ...string) string {
	return "rl:" + r.region + ":" + strings.Join(scope, ":")
}

// RateError is the cause of a refusal by a window.
type RateError struct{ Verdict ratelimit.Verdict }

func (e *RateError) Error() string { return "the window " + e.Verdict.Refused + " is full" }

// OverRate returns the error of a rate-limit decision that refuses, or the error of the limiter.
func OverRate(verdict ratelimit.Verdict, err error) error {
	if err != nil {
		return err
	}

	refusal := &wire.Error{
		Code: wire.RateLimited, RetryAfter: wire.Seconds(verdict.RetryAfter), Cause: &RateError{verdict},
	}
	if allowed := allowance(verdict, "requests"); allowed != "" {
		refusal.Message = exceeded(fmt.Sprintf("Rate limit %q exceeded", verdict.Refused), verdict, "requests")
		refusal.Details = []wire.Detail{{Field: verdict.Refused, Message: "allows " + allowed}}
	}

	return refusal
}

// exceeded returns the message of a refusal, such as "Rate limit "burst" exceeded: 5 requests per
// 10 seconds. Retry in 7 seconds."
func exceeded(limit string, verdict ratelimit.Verdict, what string) string {
	return fmt.Sprintf("%s: %s. Retry in %s.", limit, allowance(verdict, what), span(verdict.RetryAfter))
}

// allowance returns the limit of the window that refused, such as "5 requests per 10 seconds", or an empty text if
// no window refused.
func allowance(verdict ratelimit.Verdict, what string) string {
	for _, w := range verdict.States {
		if w.Name == verdict.Refused {
			return fmt.Sprintf("%d %s per %s", w.Limit, what, span(w.Length))
		}
	}
	return ""
}

// span returns a length of time in hours, minutes or seconds, rounded up.
func span(d time.Duration) string {
	n := wire.Seconds(d)
	unit := "second"
	switch {
	case n > 2*60*60:
		n = (n + 3599) / 3600
		unit = "hour"
	case n > 2*60:
		n = (n + 59) / 60
		unit = "minute"
	}

	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", n, unit)
}
