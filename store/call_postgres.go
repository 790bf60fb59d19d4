package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"
)

// On PostgreSQL a call is begun, settled and released by one statement each, a function in
// the database (migrations/0002_functions, 0075_regions, 0082_release): the distance to the database counts
// once, and the account's row is locked only until the commit.

const (
	beginFunction = `SELECT begin_call($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)`
	// jobFunction is beginFunction for a job, with its kind.
	jobFunction = `SELECT begin_job($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)`
	// tracedFunction is jobFunction for any call with a trace that is kept.
	tracedFunction = `SELECT begin_traced($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)`
	settleFunction = `SELECT settle_kept($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)`
	// releaseFunction releases a call (migrations/0082_release).
	releaseFunction = `SELECT release_call($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`
)

// Codes of the errors with which begin_call undoes what it has done.
const (
	codeAccountRefuses = "RP001"
	codeKeyRefuses     = "RP002"
	codeFilesMissing   = "RP003"
)

// beginPostgres is begin in one statement.
func (s *Store) beginPostgres(ctx context.Context, c NewCall) error {
	for range holdAttempts {
		now := s.now()
		row := c.row(now)
		job := c.Job
		if job == nil {
			job = &NewJob{}
		}
		pins := slices.AppendSeq([]string{}, slices.Values(job.Pins)) // not nil, which would be NULL
		slices.Sort(pins)
		pins = slices.Compact(pins)
		missing := slices.DeleteFunc(slices.Clone(pins), storable)
		if len(missing) > 0 {
			return s.missingPins(ctx, c, pins)
		}
		args := []any{
			c.ID, c.ResultID, c.AccountID, row.KeyID, c.Operation, c.Mode, row.RequestID,
			c.IdempotencyKey, c.BodyHash, toMicros(now.Add(IdempotencyWindow)), c.Lease, c.Metered, int64(c.Quote),
			toMicros(now), dayOf(now), s.postings.next(s.region, now), c.CallbackURL, callbackReceiver(c.AccountID, c.CallbackURL),
			c.Job != nil, job.Input, job.InputKey, pins,
		}
		function := beginFunction
		switch {
		case c.Trace != "" && (c.Job != nil || c.CallbackURL != ""):
			function, args = tracedFunction, append(args, job.Kind, c.Trace)
		case c.Job != nil:
			function, args = jobFunction, append(args, job.Kind)
		}
		verdict, err := s.callFunction(ctx, c.AccountID, function, args...)
		if err == nil && verdict == "begun" {
			if c.Job == nil {
				s.accountSlots.begun(c.ID, c.AccountID)
			}
			return nil
		}
		if err == nil {
			if err = s.claimedBy(ctx, s.write, c); errors.Is(err, errUnsteady) {
				continue // Its call has failed meanwhile, and the key is free.
			}
			return err
		}
		if err := s.beginRefusal(ctx, &row, now, err); err != nil {
			return err
		}
	}
	return errUnsteady
}

// missingPins returns the pins that cannot be kept, where the text of one of them
// cannot even be asked for.
func (s *Store) missingPins(ctx context.Context, c NewCall, pins []string) error {
	var missing PinError
	for _, id := range pins {
		if _, err := s.AccountFile(ctx, c.AccountID, id); errors.Is(err, ErrNotFound) {
			missing.FileIDs = append(missing.FileIDs, id)
		} else if err != nil {
			return err
		}
	}
	return &missing
}

// beginRefusal says why a call was not begun; nil when it is to be tried again.
func (s *Store) beginRefusal(ctx context.Context, row *callRow, now time.Time, err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err
	}
	switch pg.Code {
	case codeAccountRefuses:
		return holdRefusal(ctx, s.write, row, dayOf(now))
	case codeKeyRefuses:
		return spendRefusal(ctx, s.write, row, now)
	case codeFilesMissing:
		var missing PinError
		if jsonErr := json.Unmarshal([]byte(pg.Detail), &missing.FileIDs); jsonErr != nil {
			return err
		}
		return &missing
	}
	return err
}

// settlePostgres is settle in one statement.
func (s *Store) settlePostgres(ctx context.Context, end Settlement) error {
	now := s.now()
	file, err := end.keeps(now)
	if err != nil {
		return err
	}
	told, err := s.tells(end.Outbox, now)
	if err != nil {
		return err
	}
	lease, try := end.by()
	args := []any{
		end.CallID, int64(end.Charge), toMicros(now), end.Duration.Microseconds(), string(end.Steps),
		s.postings.next(s.region, now), lease, try,
		file.ID, clean(file.Filename, 1000), clean(file.ContentType, 200), file.Size, file.BlobKey, toMicros(file.ExpiresAt),
		told.kind, told.event, told.body, told.callback, told.data, told.deliveries,
		clean(file.Warnings, maxWarnings), s.region,
	}
	verdict, err := s.callFunction(ctx, s.accountOf(end.CallID, end.Job), settleFunction, args...)
	switch {
	case err != nil:
		return err
	case verdict == "refused":
		return settleRefusal(ctx, s.write, end)
	case verdict == "told":
		s.dueNow()
	}
	return nil
}

// accountOf returns whose a call is that ends, where this process knows.
func (s *Store) accountOf(call string, job *Job) string {
	if job != nil {
		return job.Call.AccountID
	}
	return s.accountSlots.ends(call)
}

// releasePostgres is releaseIf in one statement, for the worker that has the job
// where it is one.
func (s *Store) releasePostgres(ctx context.Context, end ending, job *Job) error {
	now := s.now()
	told, err := s.tells(end.outbox, now)
	if err != nil {
		return err
	}
	lease, try := Settlement{Job: job}.by()
	verdict, err := s.callFunction(ctx, s.accountOf(end.callID, job), releaseFunction,
		end.callID, clean(end.failure.Code, 100), clean(end.failure.Message, 2000), toMicros(now), string(end.failure.Steps),
		s.postings.next(s.region, now), lease, try, told.kind, told.event, told.body, told.callback, told.data, told.deliveries)
	switch {
	case err != nil:
		return err
	case verdict == "unknown":
		return ErrNotFound
	case verdict == "told":
		s.dueNow()
	}
	return nil
}

// keeps returns the file of a settlement, or none.
func (end Settlement) keeps(now time.Time) (File, error) {
	if end.File == nil {
		return File{}, nil
	}
	return *end.File, end.File.check(now)
}

// telling is what may be told of a call's end, with the ids it would have.
type telling struct {
	kind, event string
	body        []byte
	callback    string
	data        []byte
	deliveries  []string
}

// tells prepares what is told of a call's end, if anything: whom, the database knows.
func (s *Store) tells(outbox *Outbox, now time.Time) (t telling, err error) {
	if outbox == nil {
		return t, nil
	}
	if outbox.Event != "" {
		event, err := s.event(newEvent{kind: outbox.Event, data: outbox.Data, at: now})
		if err != nil {
			return t, err
		}
		t.kind, t.event, t.body = event.Type, event.ID, event.Body
	}
	if t.data, err = json.Marshal(outbox.Data); err != nil {
		return t, err
	}
	t.callback = s.NewID("evt")
	for range MaxWebhooks + 1 {
		t.deliveries = append(t.deliveries, s.NewID("dlv"))
	}
	return t, nil
}

// callFunction runs a function that is a transaction by itself, and finds out
// itself whether it has happened before: again where PostgreSQL asks for it, and
// where the answer is lost. It waits for the account's other calls before it takes a
// connection.
func (s *Store) callFunction(ctx context.Context, account, text string, args ...any) (verdict string, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	giveBack, err := s.accountSlots.take(ctx, account)
	if err != nil {
		return "", err
	}
	defer giveBack()
	err = untilKnown(ctx, func() error {
		err := s.queryAlone(ctx, text, args...).Scan(&verdict)
		if err != nil && (lost(err) || ctx.Err() != nil) {
			return &UnknownError{Cause: err}
		}
		return err
	}, func(error) bool { return true })
	return verdict, err
}

// claimedBy returns whose the idempotency key is; nil where it is the call itself.
func (s *Store) claimedBy(ctx context.Context, db bun.IDB, c NewCall) error {
	var other claimRow
	err := db.NewSelect().Model(&other).Where("account_id = ? AND idem_key = ?", c.AccountID, c.IdempotencyKey).Scan(ctx)
	if errors.Is(notFound(err), ErrNotFound) {
		return fmt.Errorf("the idempotency key was freed meanwhile: %w", errUnsteady)
	}
	if err != nil {
		return err
	}
	if other.CallID == c.ID {
		return nil // An attempt whose answer was lost has begun the call.
	}
	return &ClaimedError{Claim: other.claim()}
}
