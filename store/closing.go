package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// The books are closed month by month: the closing stores each account's balance in every book. A balance is then the
// last closing plus the postings since, without a scan of the whole history.

const (
	// closingDelay is the time after the end of a month at which it is closed: longer than any transaction and any
	// clock error.
	closingDelay = time.Hour
	// closingBatch bounds the accounts that one transaction closes.
	closingBatch = 200
)

// lastClosed returns the last closed month that is not after the given one; 0
// when none is.
func lastClosed(ctx context.Context, db bun.IDB, upTo month) (month, error) {
	var last int64
	err := db.NewRaw("SELECT COALESCE(MAX(month), 0) FROM closed_months WHERE month <= ?", int64(upTo)).Scan(ctx, &last)
	return month(last), err
}

// CloseMonths closes the months that have ended. Any number of processes may do
// so at once, and one that dies is made good by the next.
func (s *Store) CloseMonths(ctx context.Context) error {
	due := monthOf(s.now().Add(-closingDelay)) - 1
	last, err := lastClosed(ctx, s.write, due)
	if err == nil && last == 0 {
		last, err = s.beforeFirst(ctx, due)
	}
	for m := last + 1; err == nil && m <= due; m++ {
		err = s.closeMonth(ctx, m)
	}
	return wrapped("close months", err)
}

// beforeFirst returns the month before the first one with a posting, or the
// given one when there is none up to it.
func (s *Store) beforeFirst(ctx context.Context, none month) (month, error) {
	var first int64
	err := s.write.NewRaw("SELECT COALESCE(MIN(created_at), -1) FROM accounts").Scan(ctx, &first)
	if err != nil || first < 0 {
		return none, err
	}
	return min(none, monthOf(fromMicros(first))-1), nil
}

// sumBooks are the sums of the books, each under its own name.
var sumBooks = eachBook("CAST(SUM(%[1]s) AS BIGINT) AS %[1]s")

// eachBook repeats a text for each book, with its name for %[1]s.
func eachBook(format string) string {
	names := strings.Split(bookNames, ", ")
	for i, name := range names {
		names[i] = fmt.Sprintf(format, name)
	}
	return strings.Join(names, ", ")
}

// closeAccounts adds the totals of a month's postings to the closing before it. ?0 month, ?1 and ?2 bounds of the
// postings' IDs, ?3 accounts.
var closeAccounts = `INSERT INTO closings (account_id, month, entries, ` + bookNames + `)
	SELECT j.account_id, ?0, j.entries + COALESCE(p.entries, 0), ` + eachBook("j.%[1]s + COALESCE(p.%[1]s, 0)") + `
	FROM (SELECT account_id, COUNT(*) AS entries, ` + sumBooks + ` FROM journal
		WHERE account_id IN (?3) AND id >= ?1 AND id < ?2 GROUP BY account_id) AS j
	LEFT JOIN closings AS p ON p.account_id = j.account_id
		AND p.month = (SELECT MAX(month) FROM closings WHERE closings.account_id = j.account_id AND closings.month < ?0)
	WHERE TRUE
	ON CONFLICT (account_id, month) DO NOTHING`

func (s *Store) closeMonth(ctx context.Context, m month) error {
	for after := ""; ; {
		var ids []string
		err := s.read.NewRaw("SELECT id FROM accounts WHERE id > ? ORDER BY id LIMIT ?", after, closingBatch).
			Scan(ctx, &ids)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			break
		}

		err = s.inTx(ctx, func(ctx context.Context, tx txn) error {
			_, err := tx.NewRaw(closeAccounts, int64(m), m.firstID("jrn"), (m + 1).firstID("jrn"), bun.List(ids)).
				Exec(ctx)
			return err
		})
		if err != nil {
			return err
		}

		after = ids[len(ids)-1]
	}

	return s.inTx(ctx, func(ctx context.Context, tx txn) error {
		_, err := tx.NewRaw("INSERT INTO closed_months (month, closed_at) VALUES (?, ?) ON CONFLICT (month) DO NOTHING",
			int64(m), toMicros(s.now())).Exec(ctx)
		return err
	})
}

// monthCheck finds accounts whose closing of a month is not the closing before
// it with the month's postings. ?0 month, ?1 and ?2 bounds of the postings' ids.
var monthCheck = `WITH moved AS (
		SELECT account_id, COUNT(*) AS entries, ` + sumBooks + `
		FROM journal WHERE id >= ?1 AND id < ?2 GROUP BY account_id
	), closed AS (
		SELECT c.account_id, c.entries - COALESCE(p.entries, 0) AS entries,
			` + eachBook("c.%[1]s - COALESCE(p.%[1]s, 0) AS %[1]s") + `
		FROM closings AS c LEFT JOIN closings AS p ON p.account_id = c.account_id
			AND p.month = (SELECT MAX(month) FROM closings
				WHERE closings.account_id = c.account_id AND closings.month < ?0)
		WHERE c.month = ?0
	), compared AS (
		SELECT account_id, entries, ` + bookNames + `, 1 AS posted FROM moved
		UNION ALL SELECT account_id, entries, ` + bookNames + `, 0 AS posted FROM closed
	)
	SELECT account_id AS subject, CAST(SUM(posted * entries) AS BIGINT) AS got,
	CAST(SUM((1 - posted) * entries) AS BIGINT) AS want
	FROM compared GROUP BY account_id
	HAVING SUM((2 * posted - 1) * entries) <> 0
	OR ` + strings.ReplaceAll(eachBook("SUM((2 * posted - 1) * %[1]s) <> 0"), ", ", " OR ")

// CheckMonth compares the postings of the closed month that contains the time with its closings, and returns
// contradictions as sentences, which reveal changes of history. It returns nothing for a month that is not closed.
func (s *Store) CheckMonth(ctx context.Context, at time.Time) (problems []string, err error) {
	m := monthOf(at)
	err = s.inSnapshot(ctx, func(ctx context.Context, tx txn) error {
		last, err := lastClosed(ctx, tx, m)
		if err != nil || last != m {
			return err
		}

		text := "the postings of account %s in " + m.String() + " (%d) are not those of its closing (%d)"
		problems, err = ledgerCheck{problem: text, query: monthCheck}.run(ctx, tx, int64(m), m.firstID("jrn"),
			(m + 1).firstID("jrn"))
		return err
	})
	return problems, wrapped("check month", err)
}
