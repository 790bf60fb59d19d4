package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"relaypdf/store/credit"
)

// LedgerLine is one entry in an account's books.
type LedgerLine struct {
	At        time.Time
	Kind      string // trial, credit, hold, settle or release
	Book      string // wallet, held, revenue, promotion or payment
	Amount    credit.Amount
	CallID    string // empty where no call is the cause
	Operation string // of the call
	Reason    string
	Balance   credit.Amount // of the wallet, after the entry
}

// LedgerQuery says which entries are meant. A zero time is no bound.
type LedgerQuery struct {
	AccountID string
	From, To  time.Time // the first instant, and the one after the last
}

// args are the parameters of the queries below. $1 account, $2 from, $3 to.
func (q LedgerQuery) args() []any {
	from, to := int64(0), int64(maxInstant)
	if !q.From.IsZero() {
		from = toMicros(q.From)
	}
	if !q.To.IsZero() {
		to = toMicros(q.To)
	}
	return []any{q.AccountID, from, to}
}

// maxInstant is later than any time in the database.
const maxInstant = 1<<63 - 1

// The entries of a query, and what the wallet held before them.
const (
	ledgerLines = `SELECT l.created_at, l.kind, l.book, l.amount, COALESCE(l.call_id, ''), COALESCE(c.operation, ''), l.reason
		FROM ledger AS l LEFT JOIN calls AS c ON c.id = l.call_id
		WHERE l.account_id = $1 AND l.created_at >= $2 AND l.created_at < $3 ORDER BY l.id`
	ledgerBefore = `SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM ledger
		WHERE account_id = $1 AND book = 'wallet' AND created_at < $2`
)

// Ledger calls yield for each entry of an account's books, the oldest first, in
// one snapshot of the database, until yield returns an error. Nothing but the
// entry at hand is in memory.
func (s *Store) Ledger(ctx context.Context, q LedgerQuery, yield func(LedgerLine) error) error {
	err := s.inSnapshot(ctx, func(ctx context.Context, tx bun.Tx) error { return readLedger(ctx, tx, q, yield) })
	if err != nil {
		return fmt.Errorf("read ledger: %w", err)
	}
	return nil
}

func readLedger(ctx context.Context, tx bun.Tx, q LedgerQuery, yield func(LedgerLine) error) (err error) {
	var balance credit.Amount
	if err := tx.Tx.QueryRowContext(ctx, ledgerBefore, q.args()[:2]...).Scan(&balance); err != nil {
		return err
	}
	rows, err := tx.Tx.QueryContext(ctx, ledgerLines, q.args()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var line LedgerLine
		var at int64
		if err := rows.Scan(&at, &line.Kind, &line.Book, &line.Amount, &line.CallID, &line.Operation, &line.Reason); err != nil {
			return err
		}
		if line.Book == bookWallet {
			balance += line.Amount
		}
		line.At, line.Balance = fromMicros(at), balance
		if err := yield(line); err != nil {
			return err
		}
	}
	return rows.Err()
}
