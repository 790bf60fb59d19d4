package store

import (
	"context"
	"time"

	"github.com/relaypdf/relaypdf/store/credit"
)

// Usage is the sum of an account's settled calls in a span of UTC days. A call counts on the day of its hold, as it
// does for the day's limit.
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
const usageUpsert = `INSERT INTO usage_days AS u (account_id, day, operation, key_id, calls, amount)
	VALUES ($1, $2, $3, $4, 1, $5)
	ON CONFLICT (account_id, day, operation, key_id) DO UPDATE SET calls = u.calls + 1,
	amount = u.amount + EXCLUDED.amount`

// countUsage adds a settled call to the sums of its day. The calls of an account
// wait for each other from here to the commit, as they do for its wallet.
func (s *Store) countUsage(ctx context.Context, tx txn, c *callRow) error {
	key := ""
	if c.KeyID != nil {
		key = *c.KeyID
	}
	_, err := s.exec(ctx, tx, usageUpsert, c.AccountID, c.Day, c.Operation, key, int64(c.Charge))
	return err
}

// usageSums are the sums that usage is grouped from.
type usageSums struct {
	Operation string
	Day       int64
	KeyID     string
	Count     int64
	Total     credit.Amount
}

// Usage sums up the account's settled calls from the UTC day of from until the
// end of the UTC day of to.
func (s *Store) Usage(ctx context.Context, accountID string, from, to time.Time) (Usage, error) {
	u := usageOf(from, to)
	err := s.inReport(ctx, func(ctx context.Context, tx txn) error {
		_, err := u.read(ctx, tx, accountID, "operation")
		return err
	})
	return u, wrapped("read usage", err)
}

// usageOf returns the empty usage from the UTC day of from until the end of the UTC day of to.
func usageOf(from, to time.Time) Usage {
	return Usage{From: dayStart(dayOf(from)), To: dayStart(dayOf(to) + 1)}
}

// read reads the sums of days and of groups, which begin with the operation. It returns the groups.
func (u *Usage) read(ctx context.Context, tx txn, accountID, groups string) ([]usageSums, error) {
	sums := func(group string) (rows []usageSums, err error) {
		err = tx.NewSelect().TableExpr("usage_days").ColumnExpr(group).
			ColumnExpr("CAST(SUM(calls) AS BIGINT) AS count").ColumnExpr("CAST(SUM(amount) AS BIGINT) AS total").
			Where("account_id = ? AND day BETWEEN ? AND ?", accountID, dayOf(u.From), dayOf(u.To)-1).
			GroupExpr(group).OrderExpr(group).Scan(ctx, &rows)
		return rows, err
	}

	found, err := sums(groups)
	if err != nil {
		return nil, err
	}

	for _, o := range found {
		if n := len(u.Operations); n == 0 || u.Operations[n-1].Operation != o.Operation {
			u.Operations = append(u.Operations, OperationUsage{Operation: o.Operation})
		}
		last := &u.Operations[len(u.Operations)-1]
		last.Count += o.Count
		last.Total += o.Total
	}

	days, err := sums("day")
	for _, d := range days {
		u.Days = append(u.Days, DayUsage{Day: dayStart(d.Day), Count: d.Count, Total: d.Total})
		u.Count += d.Count
		u.Total += d.Total
	}
	return found, err
}
