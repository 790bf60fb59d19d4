package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"relaypdf/store/blob"
	"relaypdf/store/credit"
)

// Statuses of a Call.
const (
	CallRunning = "running"
	CallDone    = "done"
	CallFailed  = "failed"
)

// Call is one paid request, from its hold to its end.
type Call struct {
	ID             string
	ResultID       string // id of the file that holds the result, if it is kept
	AccountID      string
	KeyID          string // empty when no key was used
	Operation      string
	Mode           string
	RequestID      string
	IdempotencyKey string
	Lease          string // of the process that runs it
	Metered        bool   // priced and recorded, but not paid from the wallet
	Quote          credit.Amount
	Charge         credit.Amount // at most the quote; zero until the call is done
	Status         string        // CallRunning, CallDone or CallFailed
	Failure        Failure       // of a failed call
	CreatedAt      time.Time
	EndedAt        *time.Time
	Duration       time.Duration // of the run, to the microsecond
	Steps          Steps         // where its time went
}

// Failure says why a call failed, in the words its caller was told.
type Failure struct {
	Code, Message string
	// Steps is where the time went until then. It is read as Call.Steps.
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
	BodyHash         []byte // of the request, kept with the idempotency key
	CallbackURL      string // where its end is reported; may be empty
	QuoteID          string // of the promised price, which is Quote; may be empty
	// Trace is what its trace goes on from, as in the header traceparent, for who
	// goes on with the job or calls back. Empty where nobody traces.
	Trace string
	// Job makes the call a job, to be run by any process. Its Mode is Async,
	// and it has no Lease until a worker takes it on.
	Job *NewJob
}

// Settlement is the successful end of a call.
type Settlement struct {
	CallID   string
	Charge   credit.Amount // at most the quote
	File     *File         // the result to keep, or nil; its account and call are filled in
	Duration time.Duration // of the run
	Steps    Steps         // where the time went
	Outbox   *Outbox       // what is told of the end, or nil
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
		ID: r.ID, ResultID: r.ResultID, AccountID: r.AccountID, Operation: r.Operation, Mode: r.Mode,
		RequestID: r.RequestID, IdempotencyKey: r.IdempotencyKey, Lease: r.Lease, Metered: r.Metered,
		Quote: r.Quote, Charge: r.Charge, Status: r.Status, Failure: Failure{Code: r.ErrorCode, Message: r.ErrorMessage},
		CreatedAt: fromMicros(r.CreatedAt), EndedAt: fromMicrosPtr(r.EndedAt), Duration: time.Duration(r.Duration) * time.Microsecond,
		Steps: r.Steps,
	}
	if r.KeyID != nil {
		c.KeyID = *r.KeyID
	}
	return c
}

// held returns what the call took from the wallet.
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

// readCall reads a call whose result has the id, where that is not empty.
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
	begin := s.beginPostgres
	// A promised price is rare, and worth a second way to the database.
	if s.dialect == SQLite || c.QuoteID != "" {
		begin = func(ctx context.Context, c NewCall) error {
			if c.Job == nil && c.QuoteID == "" {
				// Nobody has heard of the call before it ends: power that is lost takes both.
				ctx = context.WithValue(ctx, unsynced{}, true)
			}
			return s.inCertainTx(ctx, func(ctx context.Context, tx txn) error {
				// The response to an earlier attempt may have been lost.
				begun, err := tx.NewSelect().Model((*callRow)(nil)).Where("id = ?", c.ID).Exists(ctx)
				if err != nil || begun {
					return err
				}
				return s.beginCall(ctx, tx, c)
			})
		}
	}
	if err := begin(ctx, c); err != nil {
		return fmt.Errorf("begin call: %w", err)
	}
	if c.Job != nil {
		s.wake()
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

// beginCall is Begin within a transaction. All transactions lock in this order:
// call, idempotency key, quote, account, API key.
func (s *Store) beginCall(ctx context.Context, tx txn, c NewCall) error {
	now := s.now()
	if err := s.claimKey(ctx, tx, c, now); err != nil {
		return err
	}
	if err := s.useQuote(ctx, tx, c, now); err != nil {
		return err
	}
	row := c.row(now)
	day, balance, err := s.holdFunds(ctx, tx, &row, dayOf(now))
	if err != nil {
		return err
	}
	row.Day = day
	if err := s.spendKey(ctx, tx, &row, now); err != nil {
		return err
	}
	if err := s.insertCall(ctx, tx, &row); err != nil {
		return err
	}
	held := row.held()
	hold := posting{accountID: c.AccountID, kind: KindHold, cause: c.ID, at: now, books: books{wallet: -held, held: held}, balance: balance}
	if err := s.post(ctx, tx, &hold); err != nil {
		return err
	}
	return s.beginMore(ctx, tx, &row, c)
}

// beginMore records what only some calls have: a callback, and a place in the
// queue.
func (s *Store) beginMore(ctx context.Context, tx txn, row *callRow, c NewCall) error {
	if c.CallbackURL != "" {
		callback := callbackRow{CallID: c.ID, URL: c.CallbackURL, Receiver: callbackReceiver(c.AccountID, c.CallbackURL), CreatedAt: row.CreatedAt}
		if _, err := tx.NewInsert().Model(&callback).Exec(ctx); err != nil {
			return err
		}
	}
	if c.Job != nil {
		if err := s.enqueue(ctx, tx, row, c.Job); err != nil {
			return err
		}
	}
	return keepTrace(ctx, tx, c)
}

// callInsert records a call that begins.
var callInsert = callsTable.insert()

func (s *Store) insertCall(ctx context.Context, tx txn, r *callRow) error {
	_, err := s.exec(ctx, tx, callInsert, callsTable.values(r)...)
	return err
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
	settle := s.settlePostgres
	if s.dialect == SQLite {
		settle = func(ctx context.Context, end Settlement) error {
			return s.inCertainTx(ctx, func(ctx context.Context, tx txn) error { return s.settle(ctx, tx, end) })
		}
	}
	if err := settle(ctx, end); err != nil {
		return fmt.Errorf("settle call: %w", err)
	}
	return nil
}

// by returns the lease and the try of the job whose end it is; nothing for
// another call.
func (end Settlement) by() (lease string, try int) {
	if end.Job == nil {
		return "", 0
	}
	return end.Job.lease, end.Job.Tries
}

// endUpdate ends a running call with success, and returns it. $1 status, $2
// charge, $3 now, $4 duration, $5 call, $6 the status before, $7 and $8 lease and
// try of a job, $9 steps.
var endUpdate = `UPDATE calls SET status = $1, charge = $2, ended_at = $3, duration = $4, steps = $9
	WHERE id = $5 AND status = $6 AND quote >= $2
	AND ($7 = '' OR EXISTS (SELECT 1 FROM jobs WHERE call_id = $5 AND state = 'running' AND lease = $7 AND tries = $8))
	RETURNING ` + callsTable.columns("calls")

func (s *Store) settle(ctx context.Context, tx txn, end Settlement) error {
	now := s.now()
	var row callRow
	lease, try := end.by()
	err := notFound(s.queryRow(ctx, tx, endUpdate, CallDone, int64(end.Charge), toMicros(now), end.Duration.Microseconds(),
		end.CallID, CallRunning, lease, try, string(end.Steps)).Scan(callsTable.places(&row)...))
	if errors.Is(err, ErrNotFound) {
		return settleRefusal(ctx, tx, end)
	}
	if err != nil {
		return err
	}
	if err := s.finishClaim(ctx, tx, &row); err != nil {
		return err
	}
	held, paid := row.held(), end.Charge
	if row.Metered {
		paid = 0
	}
	earned := posting{
		accountID: row.AccountID, kind: KindSettle, cause: row.ID, at: now, books: books{held: -held, revenue: paid, wallet: held - paid},
	}
	if end.File != nil {
		if err := s.addFile(ctx, tx, &row, *end.File, now); err != nil {
			return err
		}
	}
	if err := s.finish(ctx, tx, &row, end.Outbox, now); err != nil {
		return err
	}
	if err := s.returnFunds(ctx, tx, &row, &earned, row.Quote-end.Charge); err != nil {
		return err
	}
	return s.countUsage(ctx, tx, &row, end.Charge)
}

// finish does what follows from the end of a call, whatever the end was.
func (s *Store) finish(ctx context.Context, tx txn, row *callRow, n *Outbox, now time.Time) error {
	if err := s.endJob(ctx, tx, row); err != nil {
		return err
	}
	return s.writeOutbox(ctx, tx, row, n, now)
}

// settleRefusal says why no running call took the settlement; nil when the same
// settlement has been carried out before.
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

// Release ends a running call with failure: in one transaction it returns the
// hold, takes it out of the limits' counters, frees the idempotency key and
// writes what is told of it, where n is not nil. It has no effect on a call
// that has ended. It returns ErrNotFound for an unknown call.
func (s *Store) Release(ctx context.Context, callID string, f Failure, n *Outbox) error {
	return s.releaseFor(ctx, ending{callID, f, n}, nil)
}

// ReleaseJob is Release for the worker that has the job. It has no effect on a
// job that is not this worker's any more, because its lease ended and another
// has taken it on.
func (s *Store) ReleaseJob(ctx context.Context, job Job, f Failure, n *Outbox) error {
	return s.releaseFor(ctx, ending{job.Call.ID, f, n}, &job)
}

// releaseFor releases a call that is running, and the job's, where there is one.
func (s *Store) releaseFor(ctx context.Context, end ending, job *Job) error {
	var err error
	switch {
	case s.dialect == Postgres:
		err = s.releasePostgres(ctx, end, job)
	case job != nil:
		err = s.releaseIf(ctx, end, `EXISTS (SELECT 1 FROM jobs AS j
			WHERE j.call_id = c.id AND j.state = 'running' AND j.lease = ? AND j.tries = ?)`, job.lease, job.Tries)
	default:
		err = s.releaseIf(ctx, end, "TRUE")
	}
	return wrapped("release call", err)
}

// releaseIf releases a call if it is running and meets the condition.
func (s *Store) releaseIf(ctx context.Context, end ending, condition string, args ...any) error {
	return s.inCertainTx(ctx, func(ctx context.Context, tx txn) error {
		released, err := s.release(ctx, tx, end, condition, args...)
		if err != nil || released {
			return err
		}
		known, err := tx.NewSelect().Model((*callRow)(nil)).Where("id = ?", end.callID).Exists(ctx)
		if err == nil && !known {
			err = ErrNotFound
		}
		return err
	})
}

// ending is the failure of a call.
type ending struct {
	callID  string
	failure Failure
	outbox  *Outbox
}

// release is Release within a transaction, for a running call that also meets
// the condition. It reports whether there was one.
func (s *Store) release(ctx context.Context, tx txn, end ending, condition string, args ...any) (bool, error) {
	now := s.now()
	var row callRow
	err := tx.NewUpdate().Model(&row).
		Set("status = ?, error_code = ?, error_message = ?", CallFailed, clean(end.failure.Code, 100), clean(end.failure.Message, 2000)).
		Set("ended_at = ?, steps = ?", toMicros(now), end.failure.Steps).
		Where("id = ? AND status = ?", end.callID, CallRunning).Where(condition, args...).
		Returning("*").Scan(ctx)
	if err = notFound(err); errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := freeClaim(ctx, tx, &row); err != nil {
		return false, err
	}
	if err := freeQuote(ctx, tx, &row); err != nil {
		return false, err
	}
	held := row.held()
	returned := posting{
		accountID: row.AccountID, kind: KindRelease, cause: row.ID, reason: row.ErrorCode, at: now, books: books{held: -held, wallet: held},
	}
	if err := s.finish(ctx, tx, &row, end.outbox, now); err != nil {
		return false, err
	}
	return true, s.returnFunds(ctx, tx, &row, &returned, row.Quote)
}
