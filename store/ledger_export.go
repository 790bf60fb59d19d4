package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/store/credit"
)

// LedgerEntry is one entry of an account's ledger.
type LedgerEntry struct {
	JournalID string // of the posting, whose entries sum to zero
	At        time.Time
	Kind      string // one of the Kind constants
	Book      string // promotion, payment, adjustment, held, revenue, debt or wallet
	Amount    credit.Amount
	CallID    string // empty if the cause is not a call
	Operation string // of the call; empty if the retention has removed it
	Reference string // external reference
	Reason    string
	Balance   credit.Amount // of the wallet, after the entry
}

// LedgerQuery selects ledger entries. A zero time means no bound.
type LedgerQuery struct {
	AccountID string
	From, To  time.Time // the first instant, and the one after the last
}

// ids returns the bounds of the postings' ids. They are to the millisecond, so
// that only the postings' own times are exact.
func (q LedgerQuery) ids() (from, to string) {
	from = "jrn_"
	to = "jrn`" // '`' follows '_'
	if !q.From.IsZero() {
		from += idTime(q.From)
	}
	if !q.To.IsZero() {
		to = "jrn_" + idTime(q.To.Add(time.Millisecond))
	}
	return from, to
}

// times returns the bounds of the postings' times.
func (q LedgerQuery) times() (from, to int64) {
	to = maxInstant
	if !q.From.IsZero() {
		from = toMicros(q.From)
	}
	if !q.To.IsZero() {
		to = toMicros(q.To)
	}
	return from, to
}

// maxInstant is later than any time in the database.
const maxInstant = 1<<63 - 1

// ledgerRows are the postings of a query. $1 account, $2 and $3 bounds of their
// ids, $4 and $5 of their times.
const ledgerRows = `SELECT j.id, j.created_at, j.kind, j.cause, COALESCE(c.operation, ''), j.reference, j.reason,
	` + bookNames + `
	FROM journal AS j LEFT JOIN calls AS c ON c.id = j.cause
	WHERE j.account_id = $1 AND j.id >= $2 AND j.id < $3 AND j.created_at >= $4 AND j.created_at < $5 ORDER BY j.id`

// ledgerBefore is the wallet before a posting. $1 account, $2 the last month that was closed before, $3 and $4 the
// range of IDs since, $5 the time.
const ledgerBefore = `SELECT CAST(
	COALESCE((SELECT wallet FROM closings WHERE account_id = $1 AND month <= $2 ORDER BY month DESC LIMIT 1), 0) +
	COALESCE((SELECT SUM(wallet) FROM journal
	WHERE account_id = $1 AND id >= $3 AND id < $4 AND created_at < $5), 0) AS BIGINT)`

// Ledger calls yield for each entry of an account's ledger, the oldest first, in one snapshot of the database,
// until yield returns an error. Only the current posting is in memory.
func (s *Store) Ledger(ctx context.Context, q LedgerQuery, yield func(LedgerEntry) error) error {
	err := s.inSnapshot(ctx, func(ctx context.Context, tx txn) error { return readLedger(ctx, tx, q, yield) })
	return wrapped("read ledger", err)
}

func readLedger(ctx context.Context, tx txn, q LedgerQuery, yield func(LedgerEntry) error) (err error) {
	first, last := q.ids()
	from, to := q.times()
	balance, err := walletBefore(ctx, tx, q)
	if err != nil {
		return err
	}

	rows, err := tx.direct.QueryContext(ctx, ledgerRows, q.AccountID, first, last, from, to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()

	names := strings.Split(bookNames, ", ")
	for rows.Next() {
		var line LedgerEntry
		var moved books
		var at int64

		into := []any{&line.JournalID, &at, &line.Kind, &line.CallID, &line.Operation, &line.Reference, &line.Reason}
		for _, amount := range moved.list() {
			into = append(into, amount)
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}

		line.At = fromMicros(at)
		for i, amount := range moved.list() {
			if *amount == 0 {
				continue
			}
			if amount == &moved.wallet {
				balance += *amount
			}

			line.Book = names[i]
			line.Amount = *amount
			line.Balance = balance
			if err := yield(line); err != nil {
				return err
			}
		}
	}

	return rows.Err()
}

// walletBefore returns the balance of the wallet before the first posting of a query.
func walletBefore(ctx context.Context, tx txn, q LedgerQuery) (balance credit.Amount, err error) {
	if q.From.IsZero() {
		return 0, nil
	}

	closed, err := lastClosed(ctx, tx, monthOf(q.From)-1)
	if err != nil {
		return 0, err
	}

	err = tx.direct.QueryRowContext(ctx, ledgerBefore, q.AccountID, int64(closed), (closed + 1).firstID("jrn"),
		"jrn_"+idTime(q.From.Add(time.Millisecond)), toMicros(q.From)).Scan(&balance)
	return balance, err
}
