package store

import (
	"context"
	"slices"
	"time"

	"github.com/relaypdf/relaypdf/store/credit"
)

// Activity is the activity of an account in a span of time.
type Activity struct {
	Usage

	Failed     int64            // calls that failed, without those that were cancelled
	FailedDays map[int64]int64  // the same by UTC day, as days since 1970
	P95        time.Duration    // of the latest calls, at most latencySample
	Median     time.Duration    // of the same
	Keys       map[string]Spent // by key, of the span
}

// Spent is the number of calls with a key, and their cost.
type Spent struct {
	Calls  int64
	Amount credit.Amount
}

// latencySample is the number of latest calls that latencies are computed from.
const latencySample = 500

// Activity sums up the account's calls from the UTC day of from until the end of
// the UTC day of to.
func (s *Store) Activity(ctx context.Context, accountID string, from, to time.Time) (Activity, error) {
	a := Activity{Usage: usageOf(from, to), FailedDays: map[int64]int64{}, Keys: map[string]Spent{}}
	err := s.inReport(ctx, func(ctx context.Context, tx txn) error {
		sums, err := a.read(ctx, tx, accountID, "operation, key_id")
		if err != nil {
			return err
		}
		for _, k := range sums {
			spent := a.Keys[k.KeyID]
			a.Keys[k.KeyID] = Spent{spent.Calls + k.Count, spent.Amount + k.Total}
		}

		var failed []struct{ Day, Count int64 }
		err = tx.NewSelect().TableExpr("calls").ColumnExpr("day, COUNT(*) AS count").
			Where("account_id = ? AND status = 'failed' AND id >= ? AND error_code <> ?",
				accountID, "call_"+idTime(a.From), codeCanceled).
			Where("day BETWEEN ? AND ?", dayOf(from), dayOf(to)).Group("day").Scan(ctx, &failed)
		if err != nil {
			return err
		}

		for _, f := range failed {
			a.FailedDays[f.Day] = f.Count
			a.Failed += f.Count
		}

		return a.readLatency(ctx, tx, accountID)
	})

	return a, wrapped("read activity", err)
}

func (a *Activity) readLatency(ctx context.Context, tx txn, accountID string) error {
	var micros []int64
	err := tx.NewSelect().TableExpr("calls").Column("duration").Where("account_id = ? AND status = 'done'", accountID).
		OrderExpr("id DESC").Limit(latencySample).Scan(ctx, &micros)
	if err != nil || len(micros) == 0 {
		return err
	}

	slices.Sort(micros)
	at := func(share float64) time.Duration {
		return time.Duration(micros[int(share*float64(len(micros)-1))]) * time.Microsecond
	}

	a.P95 = at(.95)
	a.Median = at(.5)
	return nil
}
