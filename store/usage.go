package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"relaypdf/store/credit"
)

// Usage is what an account's settled calls came to in a span of UTC days. A
// call counts on the day of its hold, as it does for the day's limit.
type Usage struct {
	From, To   time.Time // first day, and the day after the last one
	Count      int64
	Total      credit.Amount
	Operations []OperationUsage // by name
	Days       []DayUsage       // by day; days without a call are left out
}

// OperationUsage is the part of one operation in a Usage.
type OperationUsage struct {
	Operation string
	Count     int64
	Total     credit.Amount
}

// DayUsage is the part of one UTC day in a Usage.
type DayUsage struct {
	Day   time.Time // its first instant
	Count int64
	Total credit.Amount
}

// Usage sums up the account's settled calls from the UTC day of from until the
// end of the UTC day of to.
func (s *Store) Usage(ctx context.Context, accountID string, from, to time.Time) (Usage, error) {
	first, last := dayOf(from), dayOf(to)
	u := Usage{From: dayStart(first), To: dayStart(last + 1)}
	err := s.inSnapshot(ctx, func(ctx context.Context, tx bun.Tx) error {
		settled := func(group string) *bun.SelectQuery {
			return tx.NewSelect().Model((*callRow)(nil)).ColumnExpr(group).
				ColumnExpr("COUNT(*) AS count").ColumnExpr("CAST(SUM(charge) AS BIGINT) AS total").
				Where("account_id = ? AND status = ? AND day BETWEEN ? AND ?", accountID, CallDone, first, last).
				GroupExpr(group).OrderExpr(group)
		}
		if err := settled("operation").Scan(ctx, &u.Operations); err != nil {
			return err
		}
		var days []struct {
			Day   int64
			Count int64
			Total credit.Amount
		}
		if err := settled("day").Scan(ctx, &days); err != nil {
			return err
		}
		for _, d := range days {
			u.Days = append(u.Days, DayUsage{Day: dayStart(d.Day), Count: d.Count, Total: d.Total})
			u.Count += d.Count
			u.Total += d.Total
		}
		return nil
	})
	if err != nil {
		return Usage{}, fmt.Errorf("read usage: %w", err)
	}
	return u, nil
}
