package call

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// storedQuotes are the promised prices of one account.
type storedQuotes struct {
	store   *store.Store
	account string
	now     func() time.Time
}

func (q storedQuotes) Promise(ctx context.Context, digest []byte, amount credit.Amount) (operation.Quote, error) {
	made, err := q.store.NewQuote(ctx, q.account, digest, amount)
	return operation.Quote{ID: made.ID, Amount: made.Amount, ExpiresAt: made.ExpiresAt}, err
}

func (q storedQuotes) Find(ctx context.Context, id string, digest []byte) (credit.Amount, error) {
	found, err := q.store.Quote(ctx, q.account, id, digest)
	return found.Amount, err
}

func (q storedQuotes) Begin(ctx context.Context) (spared func(context.Context) error, err error) {
	day, err := q.store.BeginGeneration(ctx, q.account)
	if errors.Is(err, store.ErrTooManyFailures) {
		return nil, &wire.Error{
			Code: wire.RateLimited, RetryAfter: wire.Seconds(untilTomorrow(q.now())), Cause: err,
			Message: fmt.Sprintf("Failed AI request limit reached: %[1]d of %[1]d per day. It resets at midnight UTC, in %[2]s.",
				store.MaxGenerationFailures, span(untilTomorrow(q.now()))),
		}
	}

	return func(ctx context.Context) error { return q.store.EndGeneration(ctx, q.account, day) }, err
}

// untilTomorrow returns the rest of a UTC day.
func untilTomorrow(now time.Time) time.Duration {
	const day = 24 * time.Hour
	return now.UTC().Truncate(day).Add(day).Sub(now)
}
