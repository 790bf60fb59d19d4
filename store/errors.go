package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/relaypdf/relaypdf/store/credit"
)

// Sentinels of this package. Compare with errors.Is.
var (
	// ErrNotFound means that the record does not exist, or no longer for this
	// caller: expired, revoked, deleted, or of a suspended account.
	ErrNotFound = errors.New("not found")
	// ErrExists means that a record with the same unique name is there already.
	ErrExists = errors.New("already exists")
	// ErrSuspended means that the account may not make calls.
	ErrSuspended = errors.New("account is suspended")
	// ErrCallEnded means that the call is not running any more, so that the
	// change asked for did not happen.
	ErrCallEnded = errors.New("call has ended")
	// ErrTooManyWebhooks means that the account has MaxWebhooks endpoints.
	ErrTooManyWebhooks = errors.New("too many webhook endpoints")
	// ErrTooManyConnections means that the account has MaxConnections connections.
	ErrTooManyConnections = errors.New("too many connections")
	// ErrTooManyIdentities means that the account has MaxSigningIdentities signing identities.
	ErrTooManyIdentities = errors.New("too many signing identities")
	// ErrWebhookOff means that the endpoint is disabled or deleted.
	ErrWebhookOff = errors.New("webhook endpoint is disabled or deleted")
	// ErrNotFailed means that the delivery has not failed permanently.
	ErrNotFailed = errors.New("delivery has not failed for good")
	// ErrCallback means that the delivery is a callback's, which is sent once.
	ErrCallback = errors.New("delivery is a callback")
	// ErrUseDump means that the database is PostgreSQL, which has its own tools.
	ErrUseDump = errors.New("this database is PostgreSQL: back it up with pg_dump and restore it with " +
		"pg_restore, and copy the blobs folder with it")
)

// Names of the limits in a LimitError, as the API spells them.
const (
	LimitMaxJob   = "maxJobMicrodollars"
	LimitMaxDay   = "maxDayMicrodollars"
	LimitKeySpend = "keySpendLimit" // of a key, or of a grant
)

// ClaimedError means that another call holds the idempotency key.
type ClaimedError struct {
	Claim Claim
}

func (e *ClaimedError) Error() string {
	return fmt.Sprintf("idempotency key is taken by call %s (%s)", e.Claim.CallID, e.Claim.State)
}

// FundsError means that the balance does not cover the quote.
type FundsError struct {
	Quote, Balance credit.Amount
}

func (e *FundsError) Error() string {
	return fmt.Sprintf("balance of %s does not cover %s", e.Balance, e.Quote)
}

// LimitError means that a limit set by the account's owner refuses the call.
type LimitError struct {
	Limit        string        // one of the Limit constants
	Microdollars credit.Amount // the limit
	Spent        credit.Amount // counts towards it already, holds included; 0 for the limit of one call
	Quote        credit.Amount
	Renews       time.Time // when nothing of it is spent any more; zero: never
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s is %s, of which %s is spent or held; the call needs %s",
		e.Limit, e.Microdollars, e.Spent, e.Quote)
}
