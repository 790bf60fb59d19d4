package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/store/credit"
)

// UsageGroup is a group that usage is summed up by.
type UsageGroup string

// The groups.
const (
	ByOperation UsageGroup = "operation"
	ByKey       UsageGroup = "key" // its ID; empty for calls of the dashboard
	ByTemplate  UsageGroup = "template"
)

// EndedCall is a call that has ended, for the counts of usage.
type EndedCall struct {
	AccountID, Operation, KeyID string
	TemplateID                  string // empty without a template
	Failed                      bool
	Charge                      credit.Amount
	At                          time.Time // its begin; zero means now
}

// usageCount names a sum of counts, and usageSum is it.
type (
	usageCount struct {
		account string
		group   UsageGroup
		day     int64
		name    string
	}
	usageSum struct {
		calls, failures int64
		amount          credit.Amount
	}
)

// Plus returns the sum.
func (s usageSum) Plus(other usageSum) usageSum {
	return usageSum{s.calls + other.calls, s.failures + other.failures, s.amount + other.amount}
}

// CountUsage adds an ended call to the counts of usage without waiting. The counts are written together, within a
// second or when the store is closed. They affect neither money nor limits, so a killed process may lose the counts of
// its last second. Successful calls by operation and key are counted exactly, by Settle.
func (s *Store) CountUsage(c EndedCall) {
	if c.At.IsZero() {
		c.At = s.now()
	}

	add := func(group UsageGroup, name string, n usageSum) {
		s.usage.add(usageCount{c.AccountID, group, dayOf(c.At), clean(name, 200)}, n)
	}

	n := usageSum{calls: 1, amount: c.Charge}
	if c.Failed {
		n = usageSum{failures: 1}
		add(ByOperation, c.Operation, n)
		add(ByKey, c.KeyID, n)
	}

	if c.TemplateID != "" {
		add(ByTemplate, c.TemplateID, n)
	}
}

// writeUsage writes all counts. Counts that fail are written again later.
func (s *Store) writeUsage(ctx context.Context) error {
	return wrapped("count usage", s.usage.write(ctx, s.addUsage))
}

func (s *Store) addUsage(ctx context.Context, sums map[usageCount]usageSum) error {
	names := make([]usageCount, 0, len(sums))
	for of := range sums {
		names = append(names, of)
	}

	// In one order, so that two processes never wait for each other.
	slices.SortFunc(names, func(a, b usageCount) int {
		return cmp.Or(cmp.Compare(a.account, b.account), cmp.Compare(a.group, b.group), cmp.Compare(a.day, b.day),
			cmp.Compare(a.name, b.name))
	})

	args := make([]any, 0, 7*len(names))
	for _, of := range names {
		sum := sums[of]
		args = append(args, of.account, string(of.group), of.day, of.name, sum.calls, sum.failures, int64(sum.amount))
	}

	query := "INSERT INTO usage_counts AS u (account_id, kind, day, name, calls, failures, amount) VALUES " +
		strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?, ?, ?, ?), ", len(names)), ", ") +
		` ON CONFLICT (account_id, kind, day, name) DO UPDATE SET calls = u.calls + EXCLUDED.calls,
			failures = u.failures + EXCLUDED.failures, amount = u.amount + EXCLUDED.amount`

	ctx = context.WithValue(ctx, deferSync{}, true)
	return s.inTx(ctx, func(ctx context.Context, tx txn) error {
		_, err := tx.NewRaw(query, args...).Exec(ctx)
		return err
	})
}

// UsageFilter selects the usage of an account in a span of UTC days.
type UsageFilter struct {
	AccountID string
	From, To  time.Time // in the first and in the last day
	Group     UsageGroup
	// Name limits sums of days to one member of the group, if Named is true.
	Name  string
	Named bool
}

// UsageSum is the sum of a member of a group, or of a day.
type UsageSum struct {
	Name     string    // of the member
	Day      time.Time // the first instant of the day
	Calls    int64     // successful calls
	Failures int64     // calls that failed, which are not charged
	Amount   credit.Amount
}

// UsageBy sums up the calls of an account by the members of a group, the most expensive first, and by day. Days without
// a call are left out.
func (s *Store) UsageBy(ctx context.Context, f UsageFilter) (members, days []UsageSum, err error) {
	err = s.inReport(ctx, func(ctx context.Context, tx txn) error {
		if members, err = f.read(ctx, tx, usageColumns{member: true}); err != nil {
			return err
		}
		days, err = f.read(ctx, tx, usageColumns{day: true})
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read usage: %w", err)
	}

	slices.SortFunc(members, func(a, b UsageSum) int {
		return cmp.Or(cmp.Compare(b.Amount, a.Amount), cmp.Compare(b.Calls, a.Calls),
			cmp.Compare(b.Failures, a.Failures), cmp.Compare(a.Name, b.Name))
	})
	return members, days, nil
}

// UsageByDay sums up the calls of an account by day and by the members of a group.
func (s *Store) UsageByDay(ctx context.Context, f UsageFilter) (sums []UsageSum, err error) {
	err = s.inReport(ctx, func(ctx context.Context, tx txn) error {
		sums, err = f.read(ctx, tx, usageColumns{member: true, day: true})
		return err
	})
	return sums, wrapped("read usage", err)
}

// usageColumns are the columns that sums are grouped by.
type usageColumns struct{ member, day bool }

// read reads sums by day and name. Successful calls by operation and key are in another table than the failed ones.
func (f UsageFilter) read(ctx context.Context, tx txn, by usageColumns) ([]UsageSum, error) {
	sums := map[UsageSum]usageSum{}
	read := func(table, name, columns, condition string, args ...any) error {
		query := tx.NewSelect().TableExpr(table).ColumnExpr(columns).
			Where("account_id = ? AND day BETWEEN ? AND ?", f.AccountID, dayOf(f.From), dayOf(f.To)).
			Where(condition, args...)

		if by.member {
			query.ColumnExpr("? AS name", bun.Ident(name)).GroupExpr("?", bun.Ident(name))
		}
		if by.day {
			query.Column("day").Group("day")
		}
		if by.day && f.Named {
			query.Where("? = ?", bun.Ident(name), f.Name)
		}

		var rows []struct {
			Name                         string
			Day, Calls, Failures, Amount int64
		}
		if err := query.Scan(ctx, &rows); err != nil {
			return err
		}

		for _, r := range rows {
			of := UsageSum{Name: r.Name}
			if by.day {
				of.Day = dayStart(r.Day)
			}
			sums[of] = sums[of].Plus(usageSum{r.Calls, r.Failures, credit.Amount(r.Amount)})
		}
		return nil
	}

	settled := map[UsageGroup]string{ByOperation: "operation", ByKey: "key_id"}[f.Group]
	if settled != "" {
		err := read("usage_days", settled,
			"CAST(SUM(calls) AS BIGINT) AS calls, 0 AS failures, CAST(SUM(amount) AS BIGINT) AS amount", "TRUE")
		if err != nil {
			return nil, err
		}
	}

	err := read("usage_counts", "name",
		`CAST(SUM(calls) AS BIGINT) AS calls, CAST(SUM(failures) AS BIGINT) AS failures,
			CAST(SUM(amount) AS BIGINT) AS amount`,
		"kind = ?", string(f.Group))

	list := make([]UsageSum, 0, len(sums))
	for of, sum := range sums {
		of.Calls = sum.calls
		of.Failures = sum.failures
		of.Amount = sum.amount
		list = append(list, of)
	}

	slices.SortFunc(list, func(a, b UsageSum) int { return cmp.Or(a.Day.Compare(b.Day), cmp.Compare(a.Name, b.Name)) })
	return list, err
}

// TemplateNames returns the names of an account's templates by their IDs, deleted ones included.
func (s *Store) TemplateNames(ctx context.Context, accountID string, ids []string) (map[string]string, error) {
	names := map[string]string{}
	if len(ids) == 0 {
		return names, nil
	}

	var rows []struct{ ID, Name string }
	err := s.read.NewSelect().TableExpr("templates").Column("id", "name").
		Where("account_id = ? AND id IN (?)", accountID, bun.List(ids)).Scan(ctx, &rows)

	for _, r := range rows {
		names[r.ID] = r.Name
	}
	return names, wrapped("read names of templates", err)
}
