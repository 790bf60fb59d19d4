package store

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/relaypdf/relaypdf/store/credit"
)

// On PostgreSQL a call is begun, settled and released by one function each, which
// accepts a JSON object (the initial migration): the distance to the database counts
// once, and the account's row is locked only until the commit.
const (
	beginFunction   = `SELECT begin_call($1::jsonb)`
	settleFunction  = `SELECT settle_call($1::jsonb)`
	releaseFunction = `SELECT release_call($1::jsonb)`
)

// Codes of the errors with which begin_call rolls back.
const (
	codeAccountRefuses = "RP001"
	codeKeyRefuses     = "RP002"
	codeFilesMissing   = "RP003"
	codeQuoteUsed      = "RP004"
)

// bytea is spelled in JSON as PostgreSQL reads bytes.
type bytea []byte

// MarshalText implements encoding.TextMarshaler.
func (b bytea) MarshalText() ([]byte, error) {
	return hex.AppendEncode([]byte(`\x`), b), nil
}

// beginParams is the object that begin_call accepts.
type beginParams struct {
	ID             string        `json:"id"`
	ResultID       string        `json:"result_id"`
	AccountID      string        `json:"account_id"`
	KeyID          *string       `json:"key_id"`
	Operation      string        `json:"operation"`
	Mode           string        `json:"mode"`
	RequestID      string        `json:"request_id"`
	Lease          string        `json:"lease"`
	Metered        bool          `json:"metered"`
	Quote          credit.Amount `json:"quote"`
	QuoteID        string        `json:"quote_id"`
	IdempotencyKey string        `json:"idempotency_key"`
	BodyHash       bytea         `json:"body_hash"`
	ClaimedUntil   int64         `json:"claimed_until"`
	CallbackURL    string        `json:"callback_url"`
	Receiver       string        `json:"receiver"`
	Trace          string        `json:"trace"`
	Job            *jobParams    `json:"job"`
	PostingID      string        `json:"posting_id"`
	Now            int64         `json:"now"`
	Today          int64         `json:"today"`
}

type jobParams struct {
	Records  int      `json:"records,omitempty"`
	Kind     string   `json:"kind"`
	Input    bytea    `json:"input,omitzero"`
	InputKey string   `json:"input_key"`
	Pins     []string `json:"pins"`
}

// beginPostgres is Begin in one statement.
func (s *Store) beginPostgres(ctx context.Context, c NewCall) error {
	pins, err := s.pins(ctx, c)
	if err != nil {
		return err
	}

	for range holdAttempts {
		now := s.now()
		row := c.row(now)
		params := beginParams{
			ID:             c.ID,
			ResultID:       c.ResultID,
			AccountID:      c.AccountID,
			KeyID:          row.KeyID,
			Operation:      c.Operation,
			Mode:           c.Mode,
			RequestID:      row.RequestID,
			Lease:          c.Lease,
			Metered:        c.Metered,
			Quote:          c.Quote,
			QuoteID:        c.QuoteID,
			IdempotencyKey: c.IdempotencyKey,
			BodyHash:       c.BodyHash,
			ClaimedUntil:   toMicros(now.Add(idempotencyWindow)),
			CallbackURL:    c.CallbackURL,
			Receiver:       callbackReceiver(c.AccountID, c.CallbackURL),
			Trace:          c.Trace,
			PostingID:      s.postings.next(s.region, now),
			Now:            toMicros(now),
			Today:          dayOf(now),
		}
		if c.Job != nil {
			params.Job = &jobParams{
				Kind:     c.Job.Kind,
				Input:    c.Job.Input,
				InputKey: c.Job.InputKey,
				Pins:     pins,
				Records:  c.Job.Records,
			}
		}

		outcome, err := s.callFunction(ctx, c.AccountID, beginFunction, params)
		switch {
		case err != nil:
			err = s.beginRefusal(ctx, &row, now, err)
		case outcome == "claimed":
			err = s.claimedBy(ctx, s.write, c)
		case c.Job == nil:
			s.accountSlots.trackCall(c.ID, c.AccountID)
		}

		if !errors.Is(err, errUnsteady) {
			return err
		}
	}

	return errUnsteady
}

// pins returns the IDs of the files that a job pins, or a *PinError if one of them is not a valid ID.
func (s *Store) pins(ctx context.Context, c NewCall) ([]string, error) {
	if c.Job == nil {
		return nil, nil
	}

	pins := slices.Compact(slices.Sorted(slices.Values(c.Job.Pins)))
	if !slices.ContainsFunc(pins, func(id string) bool { return !storable(id) }) {
		return append([]string{}, pins...), nil // not nil, which would be NULL
	}

	var missing PinError
	for _, id := range pins {
		if _, err := s.AccountFile(ctx, c.AccountID, id); errors.Is(err, ErrNotFound) {
			missing.FileIDs = append(missing.FileIDs, id)
		} else if err != nil {
			return nil, err
		}
	}

	return nil, &missing
}

// beginRefusal returns why a call was not begun; errUnsteady when it is to be tried
// again, because the account has changed meanwhile.
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
	case codeQuoteUsed:
		return ErrQuoteUsed
	case codeFilesMissing:
		var missing PinError
		if jsonErr := json.Unmarshal([]byte(pg.Detail), &missing.FileIDs); jsonErr != nil {
			return err
		}
		return &missing
	}

	return err
}

// settleParams is the object that settle_call accepts.
type settleParams struct {
	ID        string        `json:"id"`
	Charge    credit.Amount `json:"charge"`
	Duration  int64         `json:"duration"`
	Steps     Steps         `json:"steps"`
	Lease     string        `json:"lease"`
	Tries     int           `json:"tries"`
	Files     []fileParams  `json:"files"`
	Outbox    *outboxParams `json:"outbox"`
	PostingID string        `json:"posting_id"`
	Now       int64         `json:"now"`
}

type fileParams struct {
	ID          string `json:"id"`
	Filename    string `json:"filename"`
	ContentType string `json:"content_type"`
	Size        int64  `json:"size"`
	BlobKey     string `json:"blob_key"`
	Warnings    string `json:"warnings"`
	ExpiresAt   int64  `json:"expires_at"`
}

// settlePostgres is Settle in one statement.
func (s *Store) settlePostgres(ctx context.Context, end Settlement) error {
	now := s.now()
	outbox, err := s.outboxParams(end.Outbox, now)
	if err != nil {
		return err
	}

	lease, tries := end.by()
	params := settleParams{
		ID:        end.CallID,
		Charge:    end.Charge,
		Duration:  end.Duration.Microseconds(),
		Steps:     end.Steps,
		Lease:     lease,
		Tries:     tries,
		Outbox:    outbox,
		PostingID: s.postings.next(s.region, now),
		Now:       toMicros(now),
	}

	for _, f := range end.files() {
		if err := f.check(now); err != nil {
			return err
		}
		params.Files = append(params.Files, fileParams{
			ID:          f.ID,
			Filename:    clean(f.Filename, 1000),
			ContentType: clean(f.ContentType, 200),
			Size:        f.Size,
			BlobKey:     f.BlobKey,
			Warnings:    clean(f.Warnings, maxWarnings),
			ExpiresAt:   toMicros(f.ExpiresAt),
		})
	}

	account := ""
	if end.Job != nil {
		account = end.Job.Call.AccountID
	}

	outcome, err := s.endFunction(ctx, end.CallID, account, settleFunction, params)
	if err == nil && outcome == "refused" {
		return settleRefusal(ctx, s.write, end)
	}
	return err
}

// releaseParams is the object that release_call accepts.
type releaseParams struct {
	ID      string        `json:"id"`
	Code    string        `json:"code"`
	Message string        `json:"message"`
	Steps   Steps         `json:"steps"`
	Outbox  *outboxParams `json:"outbox"`
	holder
	PostingID string `json:"posting_id"`
	Now       int64  `json:"now"`
}

// releasePostgres is releaseCall in one statement.
func (s *Store) releasePostgres(ctx context.Context, end ending) (released bool, err error) {
	now := s.now()
	outbox, err := s.outboxParams(end.outbox, now)
	if err != nil {
		return false, err
	}

	outcome, err := s.endFunction(ctx, end.callID, end.accountID, releaseFunction, releaseParams{
		ID:        end.callID,
		Code:      clean(end.failure.Code, 100),
		Message:   clean(end.failure.Message, 2000),
		Steps:     end.failure.Steps,
		Outbox:    outbox,
		holder:    end.holder,
		PostingID: s.postings.next(s.region, now),
		Now:       toMicros(now),
	})
	if err == nil && outcome == "unknown" {
		err = ErrNotFound
	}

	return outcome == "released" || outcome == "notified", err
}

// outboxParams holds the possible recipients of a call's end, with the IDs of their deliveries. The database knows
// whether there is any recipient.
type outboxParams struct {
	EventType    string   `json:"event_type"`
	EventID      string   `json:"event_id"`
	EventBody    bytea    `json:"event_body"`
	CallbackID   string   `json:"callback_id"`
	CallbackBody bytea    `json:"callback_body"`
	DeliveryIDs  []string `json:"delivery_ids"`
}

func (s *Store) outboxParams(outbox *Outbox, now time.Time) (*outboxParams, error) {
	if outbox == nil {
		return nil, nil
	}

	var p outboxParams
	if outbox.Event != "" {
		event, err := s.event(newEvent{kind: outbox.Event, data: outbox.Data, at: now})
		if err != nil {
			return nil, err
		}
		p.EventType = event.Type
		p.EventID = event.ID
		p.EventBody = event.Body
	}

	body, err := json.Marshal(outbox.Data)
	p.CallbackID = s.NewID("evt")
	p.CallbackBody = body

	for range MaxWebhooks + 1 {
		p.DeliveryIDs = append(p.DeliveryIDs, s.NewID("dlv"))
	}
	return &p, err
}

// endFunction runs a function that ends a call. The account is empty if it is not known whose the call is.
func (s *Store) endFunction(ctx context.Context, call, account, text string, params any) (outcome string, err error) {
	if mine := s.accountSlots.untrackCall(call); mine != "" {
		account = mine
	}
	outcome, err = s.callFunction(ctx, account, text, params)
	if outcome == "notified" {
		s.dueNow()
	}
	return outcome, err
}

// callFunction runs a function that is its own transaction and detects whether it has run before: it runs again if
// PostgreSQL asks for it, and if the response is lost. It waits for the account's other calls before it takes a
// connection.
func (s *Store) callFunction(ctx context.Context, account, text string, params any) (outcome string, err error) {
	object, err := json.Marshal(params)
	if err != nil {
		return "", fmt.Errorf("encode call: %w", err)
	}

	ctx, cancel := withDeadline(ctx, writeTimeout)
	defer cancel()

	release, err := s.accountSlots.take(ctx, account)
	if err != nil {
		return "", err
	}
	defer release()

	sent := false // an attempt whose response is lost
	call := func() error {
		err := s.queryAlone(ctx, text, string(object)).Scan(&outcome)
		if err == nil || !lost(err) && ctx.Err() == nil {
			return err
		}
		if errors.Is(err, errUnreachable) && !sent {
			return err
		}
		sent = true
		return &UnknownError{Cause: err}
	}

	// A call that ends has to wait for the database. One that has not begun is refused at once.
	waits := func(err error) bool { return text != beginFunction || sent || !errors.Is(err, errUnreachable) }
	err = untilKnown(ctx, call, waits)
	return outcome, err
}
