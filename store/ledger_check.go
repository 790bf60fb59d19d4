package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"relaypdf/store/credit"
)

// maxProblems bounds the problems of one kind that a LedgerReport lists.
const maxProblems = 20

// LedgerReport is what CheckLedger found.
type LedgerReport struct {
	Entries int64
	Sum     credit.Amount // of all entries; zero
	Wallets credit.Amount // what customers can spend
	Held    credit.Amount // what is set aside for running calls
	Revenue credit.Amount // what was earned
	// Problems are contradictions in the books, as sentences. There are none
	// in a sound store, at any moment.
	Problems []string
	// StrayHolds are the ids of running calls whose lease is gone. Reap
	// releases them.
	StrayHolds []string
}

// OK reports whether the books are sound and no hold is astray.
func (r LedgerReport) OK() bool { return len(r.Problems) == 0 && len(r.StrayHolds) == 0 }

// ledgerChecks find contradictions: each query returns a subject, what is
// there, and what should be.
var ledgerChecks = []struct {
	problem string // takes the subject, got and want
	query   string
}{
	{"the entries of call %s sum to %d, want %d", `
		SELECT call_id AS subject, CAST(SUM(amount) AS BIGINT) AS got, 0 AS want
		FROM ledger WHERE call_id IS NOT NULL GROUP BY call_id HAVING SUM(amount) <> 0`},
	{"the entries without a call of account %s sum to %d, want %d", `
		SELECT account_id AS subject, CAST(SUM(amount) AS BIGINT) AS got, 0 AS want
		FROM ledger WHERE call_id IS NULL GROUP BY account_id HAVING SUM(amount) <> 0`},
	{"the balance of account %s is %d, its wallet entries sum to %d", `
		SELECT a.id AS subject, a.balance AS got, CAST(COALESCE(SUM(l.amount), 0) AS BIGINT) AS want
		FROM accounts AS a LEFT JOIN ledger AS l ON l.account_id = a.id AND l.book = 'wallet'
		GROUP BY a.id, a.balance HAVING a.balance <> COALESCE(SUM(l.amount), 0) OR a.balance < 0`},
	{"account %s has %d held, its held entries sum to %d", `
		SELECT a.id AS subject, a.held AS got, CAST(COALESCE(SUM(l.amount), 0) AS BIGINT) AS want
		FROM accounts AS a LEFT JOIN ledger AS l ON l.account_id = a.id AND l.book = 'held'
		GROUP BY a.id, a.held HAVING a.held <> COALESCE(SUM(l.amount), 0) OR a.held < 0`},
	{"call %s has %d in its held entries, want %d", `
		SELECT c.id AS subject, CAST(COALESCE(SUM(l.amount), 0) AS BIGINT) AS got,
			CASE WHEN c.status = 'running' AND NOT c.metered THEN c.quote ELSE 0 END AS want
		FROM calls AS c LEFT JOIN ledger AS l ON l.call_id = c.id AND l.book = 'held'
		GROUP BY c.id, c.status, c.metered, c.quote
		HAVING COALESCE(SUM(l.amount), 0) <> CASE WHEN c.status = 'running' AND NOT c.metered THEN c.quote ELSE 0 END`},
	{"call %s earned %d, want %d", `
		SELECT c.id AS subject, CAST(COALESCE(SUM(l.amount), 0) AS BIGINT) AS got,
			CASE WHEN c.status = 'done' AND NOT c.metered THEN c.charge ELSE 0 END AS want
		FROM calls AS c LEFT JOIN ledger AS l ON l.call_id = c.id AND l.book = 'revenue'
		GROUP BY c.id, c.status, c.metered, c.charge
		HAVING COALESCE(SUM(l.amount), 0) <> CASE WHEN c.status = 'done' AND NOT c.metered THEN c.charge ELSE 0 END`},
	{"key %s counts %d as spent, its calls sum to %d", `
		SELECT k.id AS subject, k.spent AS got,
			CAST(COALESCE(SUM(CASE c.status WHEN 'running' THEN c.quote ELSE c.charge END), 0) AS BIGINT) AS want
		FROM keys AS k LEFT JOIN calls AS c ON c.key_id = k.id
		GROUP BY k.id, k.spent
		HAVING k.spent <> COALESCE(SUM(CASE c.status WHEN 'running' THEN c.quote ELSE c.charge END), 0)`},
	{"account %s counts %d as spent on its last day, its calls sum to %d", `
		SELECT a.id AS subject, a.day_spent AS got,
			CAST(COALESCE(SUM(CASE c.status WHEN 'running' THEN c.quote ELSE c.charge END), 0) AS BIGINT) AS want
		FROM accounts AS a LEFT JOIN calls AS c ON c.account_id = a.id AND c.day = a.day
		GROUP BY a.id, a.day_spent
		HAVING a.day_spent <> COALESCE(SUM(CASE c.status WHEN 'running' THEN c.quote ELSE c.charge END), 0)`},
	{"idempotency key of call %s is done (%d), its call is not (%d)", `
		SELECT i.call_id AS subject, 1 AS got, 0 AS want
		FROM idempotency AS i LEFT JOIN calls AS c ON c.id = i.call_id
		WHERE i.state <> COALESCE(c.status, '')`},
}

// CheckLedger verifies the books against each other, in one snapshot of the
// database: entries sum to zero per call and as a whole, balances and holds are
// the sums of their entries, charges were earned, and the counters of the
// limits agree with the calls. It reads everything and is not meant for the
// path of a request.
func (s *Store) CheckLedger(ctx context.Context) (LedgerReport, error) {
	var r LedgerReport
	err := s.inSnapshot(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := r.total(ctx, tx); err != nil {
			return err
		}
		for _, check := range ledgerChecks {
			var found []struct {
				Subject   string
				Got, Want int64
			}
			if err := tx.NewRaw(check.query+" LIMIT ?", maxProblems).Scan(ctx, &found); err != nil {
				return err
			}
			for _, f := range found {
				r.Problems = append(r.Problems, fmt.Sprintf(check.problem, f.Subject, f.Got, f.Want))
			}
		}
		return tx.NewSelect().Model((*callRow)(nil)).Column("id").Where("status = ?", CallRunning).
			Where("("+stray+") OR c.mode = ? AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.call_id = c.id AND jobs.state <> ?)",
				toMicros(s.now()), Async, jobEnded).Order("id").Scan(ctx, &r.StrayHolds)
	})
	if err != nil {
		return LedgerReport{}, fmt.Errorf("check ledger: %w", err)
	}
	return r, nil
}

// total fills in the sums.
func (r *LedgerReport) total(ctx context.Context, tx bun.Tx) error {
	var books []struct {
		Book    string
		Entries int64
		Total   credit.Amount
	}
	err := tx.NewRaw("SELECT book, COUNT(*) AS entries, CAST(SUM(amount) AS BIGINT) AS total FROM ledger GROUP BY book").Scan(ctx, &books)
	if err != nil {
		return err
	}
	for _, b := range books {
		r.Entries += b.Entries
		r.Sum += b.Total
		switch b.Book {
		case bookWallet:
			r.Wallets = b.Total
		case bookHeld:
			r.Held = b.Total
		case bookRevenue:
			r.Revenue = b.Total
		}
	}
	if r.Sum != 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("the whole ledger sums to %d, want 0", r.Sum))
	}
	return nil
}
