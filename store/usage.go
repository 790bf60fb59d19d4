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

// usageUpsert counts a settled call. $1 account, $2 day, $3 operation, $4 key, $5
// charge.
const usageUpsert = `INSERT INTO usage_days AS u (account_id, day, operation, key_id, calls, amount) VALUES ($1, $2, $3, $4, 1, $5)
	ON CONFLICT (account_id, day, operation, key_id) DO UPDATE SET calls = u.calls + 1, amount = u.amount + EXCLUDED.amount`

// countUsage adds a settled call to the sums of its day. The calls of an account
// wait for each other from here to the commit, as they do for its wallet.
func (s LedgerStore) countUsage(ctx context.Context, tx bun.Tx, c *callRow, charge credit.Amount) error {
	key := ""
	if c.KeyID != nil {
		key = *c.KeyID
	}
	_, err := s.exec(ctx, tx, usageUpsert, c.AccountID, c.Day, c.Operation, key, int64(charge))
	return err
}

// usageSums are what usage is grouped from.
type usageSums struct {
	Operation string
	Day       int64
	Count     int64
	Total     credit.Amount
}

// Usage sums up the account's settled calls from the UTC day of from until the
// end of the UTC day of to.
func (s LedgerStore) Usage(ctx context.Context, accountID string, from, to time.Time) (Usage, error) {
	first, last := dayOf(from), dayOf(to)
	u := Usage{From: dayStart(first), To: dayStart(last + 1)}
	err := s.inReport(ctx, func(ctx context.Context, tx bun.Tx) error {
		sums := func(group string) (rows []usageSums, err error) {
			err = tx.NewSelect().TableExpr("usage_days").ColumnExpr(group).
				ColumnExpr("CAST(SUM(calls) AS BIGINT) AS count").ColumnExpr("CAST(SUM(amount) AS BIGINT) AS total").
				Where("account_id = ? AND day BETWEEN ? AND ?", accountID, first, last).
				GroupExpr(group).OrderExpr(group).Scan(ctx, &rows)
			return rows, err
		}
		operations, err := sums("operation")
		if err != nil {
			return err
		}
		for _, o := range operations {
			u.Operations = append(u.Operations, OperationUsage{Operation: o.Operation, Count: o.Count, Total: o.Total})
		}
		days, err := sums("day")
		for _, d := range days {
			u.Days = append(u.Days, DayUsage{Day: dayStart(d.Day), Count: d.Count, Total: d.Total})
			u.Count += d.Count
			u.Total += d.Total
		}
		return err
	})
	if err != nil {
		return Usage{}, fmt.Errorf("read usage: %w", err)
	}
	return u, nil
}
