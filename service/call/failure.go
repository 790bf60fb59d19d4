package call

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/store/credit"
)

// APIError gives any error its code. This is the only place that does, so the
// packages below speak of causes and never of codes.
func APIError(err error) *wire.Error {
	var known *wire.Error
	if errors.As(err, &known) {
		return known
	}

	for _, classify := range []func(error) *wire.Error{operation.Failure, moneyError, quotaError, webhookError} {
		if e := classify(err); e != nil {
			e.Cause = err
			return e
		}
	}

	if errors.Is(err, store.ErrBadList) {
		e := wire.Invalid("cursor", "must be the nextCursor of an earlier page, or omitted")
		e.Cause = err
		return e
	}

	if store.DiskFull(err) {
		return &wire.Error{Code: wire.StorageUnavailable, Message: diskFull, Cause: err}
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &wire.Error{Code: wire.StorageUnavailable, Message: diskFull, Cause: err}
	}
	if errors.Is(err, store.ErrNotFound) {
		return &wire.Error{Code: wire.NotFound, Cause: err}
	}
	if errors.Is(err, blob.ErrDamaged) {
		return &wire.Error{Code: wire.StorageUnavailable, Cause: err}
	}
	if store.Unavailable(err) {
		return databaseAway(err)
	}

	return &wire.Error{Code: wire.InternalError, Cause: err}
}

// databaseAway returns the error of a call that the database could not serve. Nothing was charged.
func databaseAway(cause error) *wire.Error {
	return &wire.Error{
		Code: wire.StorageUnavailable, RetryAfter: databaseRetryAfter, Cause: cause,
		Message: fmt.Sprintf("The database is unavailable, and nothing was charged. Retry in %d seconds.",
			databaseRetryAfter),
	}
}

// databaseRetryAfter is the Retry-After, in seconds, while the database is away. A restart takes about as long.
const databaseRetryAfter = 5

// diskFull is the message when the database cannot store a call.
const diskFull = "The server is out of disk space; the call was not charged. Contact the operator, then retry."

// UploadField is the name of an upload's file in errors.
const UploadField = "file"

// quotaError returns the error of an upload that exceeds the quota of the account.
func quotaError(err error) *wire.Error {
	var e *store.QuotaError
	if !errors.As(err, &e) {
		return nil
	}

	used := fmt.Sprintf("%d of %d files, %d bytes of %d GiB", e.Files, store.MaxUploads, e.Bytes,
		store.MaxUploadBytes>>30)
	more := "Wait for the jobs that use these files to end"
	if !e.Ends.IsZero() {
		more = "Delete some, or wait: the first expires at " + e.Ends.Format(time.RFC3339)
	}

	return &wire.Error{
		Code: wire.InvalidRequest, Message: "Storage quota exceeded: " + used + ". " + more + ".",
		Details: []wire.Detail{{Field: UploadField, Message: "exceeds the storage quota: " + used}},
	}
}

func moneyError(err error) *wire.Error {
	var funds *store.FundsError
	var limit *store.LimitError
	switch {
	case errors.As(err, &funds):
		text := fmt.Sprintf("Insufficient balance: this call costs %[2]v and the wallet has %[1]v. Add funds and retry.", funds.Balance, funds.Quote)
		return &wire.Error{Code: wire.PaymentRequired, Message: text, Details: []wire.Detail{{
			Field: "wallet", Message: "is too low for this call", QuotedMicrodollars: (*int64)(&funds.Quote),
			LimitMicrodollars: (*int64)(&funds.Balance),
		}}}
	case errors.As(err, &limit):
		return overLimit(limit, limit.Limit, "key")
	case errors.Is(err, store.ErrSuspended):
		return &wire.Error{Code: wire.AccountSuspended}
	}

	return nil
}

// overLimit refuses a call that exceeds a spending limit. of is the owner of a limit that never renews.
func overLimit(e *store.LimitError, name, of string) *wire.Error {
	if e.Limit == store.LimitMaxJob {
		return overCap(name, e.Quote, e.Microdollars)
	}

	text := fmt.Sprintf("allows %v, of which %v is spent or held; it ", e.Microdollars, e.Spent)
	if e.Renews.IsZero() {
		text += "holds for the lifetime of the " + of
	} else {
		text += "renews at " + e.Renews.Format(time.RFC3339)
	}

	return overBudget(name, text, e.Quote, e.Microdollars)
}

// overCap refuses a call that costs more than one call may.
func overCap(name string, quote, limit credit.Amount) *wire.Error {
	return overBudget(name, fmt.Sprintf("allows %v for one call", limit), quote, limit)
}

func overBudget(name, text string, quote, limit credit.Amount) *wire.Error {
	return &wire.Error{
		Code: wire.PaymentRequired, Message: fmt.Sprintf("This call costs %v, but %s %s.", quote, name, text),
		Details: []wire.Detail{
			{Field: name, Message: text, QuotedMicrodollars: (*int64)(&quote), LimitMicrodollars: (*int64)(&limit)},
		},
	}
}

// webhookError returns the API error for an error of the store about endpoints, deliveries, connections and signing
// identities.
func webhookError(err error) *wire.Error {
	switch {
	case errors.Is(err, store.ErrTooManyWebhooks):
		return invalidText(fmt.Sprintf("Webhook endpoint limit reached: %d of %[1]d. Delete an unused endpoint first.",
			store.MaxWebhooks))
	case errors.Is(err, store.ErrTooManyConnections):
		return invalidText(fmt.Sprintf("Connection limit reached: %d of %[1]d. Delete an unused connection first.",
			store.MaxConnections))
	case errors.Is(err, store.ErrTooManyIdentities):
		return invalidText(fmt.Sprintf("Signing identity limit reached: %d of %[1]d. Delete an unused identity first.",
			store.MaxSigningIdentities))
	case errors.Is(err, store.ErrWebhookOff):
		return invalidText("The endpoint is disabled or deleted. Enable it first.")
	case errors.Is(err, store.ErrNotFailed):
		return invalidText("Only failed deliveries can be replayed. This one is pending or delivered.")
	case errors.Is(err, store.ErrCallback):
		return invalidText("Callback deliveries cannot be replayed. Poll the job at its pollUrl.")
	}

	return nil
}

func invalidText(text string) *wire.Error {
	return &wire.Error{Code: wire.InvalidRequest, Message: text}
}
