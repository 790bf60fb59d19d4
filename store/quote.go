package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/store/credit"
)

const (
	// QuoteLifetime is the validity of a quoted price.
	QuoteLifetime = 15 * time.Minute
	// MaxGenerationFailures is the maximum number of failed generations of templates per account and UTC day.
	MaxGenerationFailures = 20
)

// Errors of quotes. Compare with errors.Is.
var (
	// ErrQuoteExpired means that the price does not hold any more.
	ErrQuoteExpired = errors.New("quote has expired")
	// ErrQuoteUsed means that another call has the price.
	ErrQuoteUsed = errors.New("quote was used")
	// ErrQuoteOther means that the price was promised for something else.
	ErrQuoteOther = errors.New("quote is for another request")
	// ErrTooManyFailures means that the account has MaxGenerationFailures today.
	ErrTooManyFailures = errors.New("too many generations have failed today")
)

// Quote is a price that was promised to an account, for one call.
type Quote struct {
	ID        string
	Amount    credit.Amount
	ExpiresAt time.Time
}

type quoteRow struct {
	bun.BaseModel `bun:"table:quotes,alias:q"`

	ID        string `bun:",pk"`
	AccountID string
	Digest    []byte
	Amount    credit.Amount
	CallID    *string
	CreatedAt int64
	ExpiresAt int64
}

func (r *quoteRow) quote() Quote {
	return Quote{ID: r.ID, Amount: r.Amount, ExpiresAt: fromMicros(r.ExpiresAt)}
}

// NewQuote quotes a price for the request with a digest.
func (s *Store) NewQuote(ctx context.Context, accountID string, digest []byte, amount credit.Amount) (Quote, error) {
	now := s.now()
	row := quoteRow{
		ID: s.NewID("quote"), AccountID: accountID, Digest: digest, Amount: amount,
		CreatedAt: toMicros(now), ExpiresAt: toMicros(now.Add(QuoteLifetime)),
	}

	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		_, err := tx.NewInsert().Model(&row).Exec(ctx)
		return err
	})
	if err != nil {
		return Quote{}, fmt.Errorf("make quote: %w", err)
	}

	return row.quote(), nil
}

// Quote returns a quoted price of an account for the request with a digest. The errors are ErrNotFound, also for
// another account's quote, ErrQuoteExpired, ErrQuoteUsed and ErrQuoteOther.
func (s *Store) Quote(ctx context.Context, accountID, id string, digest []byte) (Quote, error) {
	var row quoteRow
	err := ErrNotFound
	if storable(id) {
		err = notFound(s.read.NewSelect().Model(&row).Where("id = ? AND account_id = ?", id, accountID).Scan(ctx))
	}

	switch {
	case err != nil:
	case !bytes.Equal(row.Digest, digest):
		err = ErrQuoteOther
	case row.CallID != nil:
		err = ErrQuoteUsed
	case row.ExpiresAt <= toMicros(s.now()):
		err = ErrQuoteExpired
	}
	if err != nil {
		return Quote{}, fmt.Errorf("read quote: %w", err)
	}
	return row.quote(), nil
}

// useQuote uses up the quote for a starting call, whose price it is.
func useQuote(ctx context.Context, tx txn, c NewCall, now time.Time) error {
	if c.QuoteID == "" {
		return nil
	}

	took, err := changed(tx.NewRaw(`UPDATE quotes SET call_id = ?0
		WHERE id = ?1 AND account_id = ?2 AND call_id IS NULL AND expires_at > ?3 AND amount = ?4`,
		c.ID, c.QuoteID, c.AccountID, toMicros(now), c.Quote).Exec(ctx))
	if err == nil && !took {
		err = ErrQuoteUsed
	}
	return err
}

// freeQuote gives the quote of a failed call back.
func freeQuote(ctx context.Context, tx txn, c *callRow) error {
	_, err := tx.NewRaw("UPDATE quotes SET call_id = NULL WHERE call_id = ?", c.ID).Exec(ctx)
	return err
}

// BeginGeneration counts a generation as failed until EndGeneration reports its success, so concurrent generations
// cannot fail more often than allowed. It returns the day on which it counts, or ErrTooManyFailures.
func (s *Store) BeginGeneration(ctx context.Context, accountID string) (day int64, err error) {
	day = dayOf(s.now())
	err = s.inTx(ctx, func(ctx context.Context, tx txn) error {
		ok, err := changed(tx.NewRaw(`INSERT INTO generation_days AS g (account_id, day, failures) VALUES (?0, ?1, 1)
			ON CONFLICT (account_id, day) DO UPDATE SET failures = g.failures + 1 WHERE g.failures < ?2`,
			accountID, day, MaxGenerationFailures).Exec(ctx))
		if err == nil && !ok {
			err = ErrTooManyFailures
		}
		return err
	})
	return day, wrapped("begin generation", err)
}

// EndGeneration undoes the count of BeginGeneration on a day.
func (s *Store) EndGeneration(ctx context.Context, accountID string, day int64) error {
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		_, err := tx.NewRaw(`UPDATE generation_days SET failures = failures - 1
			WHERE account_id = ? AND day = ? AND failures > 0`,
			accountID, day).Exec(ctx)
		return err
	})
	return wrapped("end generation", err)
}
