package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/store/credit"
)

// Statuses of a Call.
const (
	CallRunning = "running"
	CallDone    = "done"
	CallFailed  = "failed"
)

// codeCanceled is the code of the failure of a call that its caller ended, which does not count as a failure.
const codeCanceled = "canceled"

// Canceled reports whether the caller of a call ended it.
func (c Call) Canceled() bool { return c.Status == CallFailed && c.Failure.Code == codeCanceled }

// Call is one paid request, from its hold to its end.
type Call struct {
	ID             string
	ResultID       string // ID of the result's file, if it is stored
	AccountID      string
	KeyID          string // empty when no key was used
	Operation      string
	Mode           string
	RequestID      string
	IdempotencyKey string
	Lease          string // of the process that runs it
	Metered        bool   // priced and recorded, but not paid from the wallet
	Quote          credit.Amount
	Charge         credit.Amount // at most the quote; zero until the call is done, except for the chunks of a bulk job
	Status         string        // CallRunning, CallDone or CallFailed
	Failure        Failure       // of a failed call
	CreatedAt      time.Time
	EndedAt        *time.Time
	Duration       time.Duration // of the run, to the microsecond
	Steps          Steps         // where its time went
}

// Failure is the reason why a call failed, as its caller saw it.
type Failure struct {
	Code, Message string
	// Steps holds the durations of the steps until then. It is read as Call.Steps.
	Steps Steps
}

// NewCall describes a call to be begun.
type NewCall struct {
	ID, ResultID     string // the result's is made by NewID, and CallID makes the call's of it
	AccountID, KeyID string // KeyID may be empty
	Operation, Mode  string
	RequestID        string
	Quote            credit.Amount
	Lease            string // of this process; the call is released when it is gone
	Metered          bool   // hold nothing, and do not ask for a balance
	IdempotencyKey   string // may be empty
	BodyHash         []byte // of the request, stored with the idempotency key
	CallbackURL      string // where its end is reported; may be empty
	QuoteID          string // of the promised price, which is Quote; may be empty
	// Trace is the traceparent header for the worker or the callback that continues the trace. Empty without tracing.
	Trace string
	// Job makes the call a job, to be run by any process. Its Mode is Async, and it has no Lease until a worker
	// claims it.
	Job *NewJob
}

// Settlement is the successful end of a call.
type Settlement struct {
	CallID   string
	Charge   credit.Amount // at most the quote
	File     *File         // the result to keep, or nil; its account and call are filled in
	Files    []File        // the documents of a bulk job that are kept with the File
	Duration time.Duration // of the run
	Steps    Steps         // durations of the steps
	Outbox   *Outbox       // notifications of the end, or nil
	// Job is the try of a job that has ended, as it was taken on. Where another
	// worker has taken it on since, nothing is settled.
	Job *Job
}

type callRow struct {
	bun.BaseModel `bun:"table:calls,alias:c"`

	ID             string `bun:",pk"`
	ResultID       string
	AccountID      string
	KeyID          *string
	Operation      string
	Mode           string
	RequestID      string
	IdempotencyKey string
	Lease          string
	Metered        bool
	Quote          credit.Amount
	Charge         credit.Amount
	Status         string
	ErrorCode      string
	ErrorMessage   string
	Day            int64 // the UTC day on which it counts, that of its hold
	CreatedAt      int64
	EndedAt        *int64
	Duration       int64 // microseconds
	Steps          Steps
}

func (r *callRow) call() Call {
	c := Call{
		ID:             r.ID,
		ResultID:       r.ResultID,
		AccountID:      r.AccountID,
		Operation:      r.Operation,
		Mode:           r.Mode,
		RequestID:      r.RequestID,
		IdempotencyKey: r.IdempotencyKey,
		Lease:          r.Lease,
		Metered:        r.Metered,
		Quote:          r.Quote,
		Charge:         r.Charge,
		Status:         r.Status,
		Failure:        Failure{Code: r.ErrorCode, Message: r.ErrorMessage},
		CreatedAt:      fromMicros(r.CreatedAt),
		EndedAt:        fromMicrosPtr(r.EndedAt),
		Duration:       time.Duration(r.Duration) * time.Microsecond,
		Steps:          r.Steps,
	}

	if r.KeyID != nil {
		c.KeyID = *r.KeyID
	}
	return c
}

// held returns the amount that the call took from the wallet.
func (r *callRow) held() credit.Amount {
	if r.Metered {
		return 0
	}
	return r.Quote
}

// Call returns the call with the id, or ErrNotFound.
func (s *Store) Call(ctx context.Context, id string) (Call, error) {
	return s.readCall(ctx, id, "")
}

// CallByResult returns the call whose result has the id, or ErrNotFound.
func (s *Store) CallByResult(ctx context.Context, resultID string) (Call, error) {
	return s.readCall(ctx, CallID(resultID), resultID)
}

// readCall reads a call whose result has the id, if that is not empty.
func (s *Store) readCall(ctx context.Context, id, resultID string) (Call, error) {
	var row callRow
	if !storable(id) {
		return Call{}, fmt.Errorf("read call: %w", ErrNotFound)
	}

	err := notFound(s.read.NewSelect().Model(&row).Where("id = ?", id).Scan(ctx))
	if err == nil && resultID != "" && row.ResultID != resultID {
		err = ErrNotFound
	}
	if err != nil {
		return Call{}, fmt.Errorf("read call: %w", err)
	}

	return row.call(), nil
}

// Begin starts a call: in one transaction it claims the idempotency key, checks
// the limits of account and key with all holds counted, moves the quote from
// the wallet to the holds, and records the call. Nothing has changed when it
// returns an error:
//
//   - *ClaimedError: another call holds the idempotency key;
//   - ErrSuspended, *LimitError, *FundsError: the account or its owner refuses;
//   - ErrNotFound: no such account, or the key is unknown, expired or revoked;
//   - *PinError: a job's file cannot be read by its account;
//   - ErrQuoteUsed: another call has the promised price, or it has just expired.
func (s *Store) Begin(ctx context.Context, c NewCall) error {
	if err := c.check(); err != nil {
		return fmt.Errorf("begin call: %w", err)
	}

	begin := s.beginSQLite
	if s.dialect == Postgres {
		begin = s.beginPostgres
	}
	if err := begin(ctx, c); err != nil {
		return fmt.Errorf("begin call: %w", err)
	}

	if c.Job != nil {
		s.jobCommitted()
	}
	return nil
}

func (c NewCall) check() error {
	switch {
	case c.ID == "" || c.ID != CallID(c.ResultID) || c.AccountID == "" || c.Operation == "":
		return errors.New("an id that follows from its result's, an account and an operation are needed")
	case (c.Job != nil) != (c.Mode == Async):
		return errors.New("a job has the mode " + Async + ", and no other call has")
	case (c.Lease == "") != (c.Job != nil):
		return errors.New("a lease is needed, else nobody would release the hold of a dead process; a job has none")
	case c.Quote < 0 || c.Quote > maxAmount:
		return fmt.Errorf("the quote must be between 0 and %s; got %s", maxAmount, c.Quote)
	case !storable(c.IdempotencyKey) || len(c.IdempotencyKey) > 255:
		return errors.New("an idempotency key has at most 255 printable characters")
	case c.IdempotencyKey != "" && len(c.BodyHash) == 0:
		return errors.New("an idempotency key needs the hash of the body")
	case c.Job != nil && ((c.Job.Input == nil) != blob.ValidKey(c.Job.InputKey) || len(c.Job.Input) > MaxJobInput):
		return errors.New("a job needs its input, or the key of it where it is long")
	}

	return nil
}

// row is the call as it begins.
func (c NewCall) row(now time.Time) callRow {
	row := callRow{
		ID: c.ID, ResultID: c.ResultID, AccountID: c.AccountID, Operation: c.Operation, Mode: c.Mode,
		RequestID: clean(c.RequestID, 200), IdempotencyKey: c.IdempotencyKey, Lease: c.Lease, Metered: c.Metered,
		Quote: c.Quote, Status: CallRunning, CreatedAt: toMicros(now),
	}
	if c.KeyID != "" {
		row.KeyID = &c.KeyID
	}
	return row
}

// Settle ends a running call with success: in one transaction it turns the
// charge into revenue, returns the rest of the hold, keeps the file and marks
// the idempotency key as done. Settling again with the same charge is harmless
// and changes nothing. It returns ErrCallEnded, and changes nothing, when the
// call was released meanwhile or settled otherwise; ErrNotFound for an unknown
// call.
func (s *Store) Settle(ctx context.Context, end Settlement) error {
	if end.Charge < 0 {
		return fmt.Errorf("settle call: the charge must not be negative; got %s", end.Charge)
	}
	settle := s.settleSQLite
	if s.dialect == Postgres {
		settle = s.settlePostgres
	}
	return wrapped("settle call", settle(ctx, end))
}

// files are the files to keep.
func (end Settlement) files() []File {
	if end.File == nil {
		return nil
	}
	return append([]File{*end.File}, end.Files...)
}

// by returns the lease and the try of the job whose end it is; nothing for
// another call.
func (end Settlement) by() (lease string, try int) {
	if end.Job == nil {
		return "", 0
	}
	return end.Job.lease, end.Job.Tries
}

// settleRefusal returns the reason why no running call took the settlement; nil if the same settlement happened
// before.
func settleRefusal(ctx context.Context, tx bun.IDB, end Settlement) error {
	var row callRow
	if err := tx.NewSelect().Model(&row).Where("id = ?", end.CallID).Scan(ctx); err != nil {
		return notFound(err)
	}

	switch {
	case end.Charge > row.Quote:
		return fmt.Errorf("the charge of %s is above the quote of %s", end.Charge, row.Quote)
	case row.Status == CallDone && row.Charge == end.Charge:
		return nil
	}

	return ErrCallEnded
}

// Release ends a running call with failure. In one transaction it returns the hold, takes it out of the limits'
// counters, frees the idempotency key and, unless n is nil, writes the notifications. It has no effect on a call that
// has ended. It returns ErrNotFound for an unknown call.
func (s *Store) Release(ctx context.Context, callID string, f Failure, n *Outbox) error {
	_, err := s.releaseCall(ctx, ending{callID: callID, failure: f, outbox: n})
	return wrapped("release call", err)
}

// ReleaseJob is Release for the worker that has the job. It has no effect on a
// job that is not this worker's any more, because its lease ended and another
// has taken it on.
func (s *Store) ReleaseJob(ctx context.Context, job Job, f Failure, n *Outbox) error {
	_, err := s.releaseCall(ctx, ending{
		callID:    job.Call.ID,
		accountID: job.Call.AccountID,
		failure:   f,
		outbox:    n,
		holder:    holder{Kind: holderWorker, Lease: job.lease, Tries: job.Tries},
	})
	return wrapped("release call", err)
}

// ending is the failure of a call.
type ending struct {
	callID    string
	accountID string // empty if it is not known
	failure   Failure
	outbox    *Outbox
	holder    holder // who must still have the call
}

// releaseCall releases a call that is running, if its holder still has it, and reports
// whether it did. It returns ErrNotFound for an unknown call.
func (s *Store) releaseCall(ctx context.Context, end ending) (released bool, err error) {
	if s.dialect == Postgres {
		return s.releasePostgres(ctx, end)
	}
	return s.releaseSQLite(ctx, end)
}
