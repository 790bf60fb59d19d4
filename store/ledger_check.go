package store

import (
	"context"
	"fmt"

	"github.com/relaypdf/relaypdf/store/credit"
)

// maxProblems bounds the problems of one kind that a LedgerReport lists.
const maxProblems = 20

// LedgerReport is the result of CheckLedger.
type LedgerReport struct {
	Postings int64
	Sum      credit.Amount // of all entries; zero
	Wallets  credit.Amount // spendable by customers
	Held     credit.Amount // held for running calls
	Owed     credit.Amount // owed by customers
	Revenue  credit.Amount // earned
	// Problems are contradictions in the ledger, as sentences. A correct store has none at any moment.
	Problems []string
	// OrphanedHolds are the IDs of running calls whose lease is gone. Reap releases them.
	OrphanedHolds []string
}

// OK reports whether the ledger is consistent and no hold is orphaned.
func (r LedgerReport) OK() bool { return len(r.Problems) == 0 && len(r.OrphanedHolds) == 0 }

// ledgerCheck finds contradictions: the query returns a subject, the actual value, and the expected value.
type ledgerCheck struct {
	problem string // formats the subject, got and want
	query   string
}

func (c ledgerCheck) run(ctx context.Context, tx txn, args ...any) (problems []string, err error) {
	var found []struct {
		Subject   string
		Got, Want int64
	}
	if err := tx.NewRaw(fmt.Sprintf("%s LIMIT %d", c.query, maxProblems), args...).Scan(ctx, &found); err != nil {
		return nil, err
	}

	for _, f := range found {
		problems = append(problems, fmt.Sprintf(c.problem, f.Subject, f.Got, f.Want))
	}
	return problems, nil
}

// Arguments of the queries: ?0 the last closed month, ?1 and ?2 the first ids of
// postings and of calls since, ?3 the first day since.

// ledgerSums are the balances of every account in every book: its last closing and the postings since.
var ledgerSums = `WITH closed AS (
		SELECT c.* FROM closings AS c
		JOIN (SELECT account_id, MAX(month) AS month FROM closings WHERE month <= ?0 GROUP BY account_id) AS last
			ON last.account_id = c.account_id AND last.month = c.month
	), since AS (
		SELECT account_id, COUNT(*) AS entries, ` + sumBooks + ` FROM journal WHERE id >= ?1 GROUP BY account_id
	), sums AS (
		SELECT a.id, a.balance, a.held AS holds, a.owed,
			COALESCE(closed.entries, 0) + COALESCE(since.entries, 0) AS entries,
			` + eachBook("CAST(COALESCE(closed.%[1]s, 0) + COALESCE(since.%[1]s, 0) AS BIGINT) AS %[1]s") + `
		FROM accounts AS a LEFT JOIN closed ON closed.account_id = a.id LEFT JOIN since ON since.account_id = a.id
	)`

var ledgerChecks = []ledgerCheck{
	{"the balance of account %s is %d, its wallet entries sum to %d", ledgerSums + `
		SELECT id AS subject, balance AS got, wallet AS want FROM sums WHERE balance <> wallet OR balance < 0`},
	{"account %s has %d held, its held entries sum to %d", ledgerSums + `
		SELECT id AS subject, holds AS got, held AS want FROM sums WHERE holds <> held OR holds < 0`},
	{"account %s owes %d, its debt entries sum to %d", ledgerSums + `
		SELECT id AS subject, owed AS got, -debt AS want FROM sums WHERE owed <> -debt OR owed < 0`},
	{"account %s has %d in its closings and postings, of %d books", ledgerSums + `
		SELECT id AS subject, ` + sumOfBooks + ` AS got, 7 AS want FROM sums WHERE ` + sumOfBooks + ` <> 0`},
	{"call %s has %d in its held entries, want %d", `
		SELECT c.id AS subject, CAST(COALESCE(SUM(j.held), 0) AS BIGINT) AS got,
			CASE WHEN c.status = 'running' AND NOT c.metered THEN c.quote - c.charge ELSE 0 END AS want
		FROM calls AS c LEFT JOIN journal AS j ON j.cause = c.id AND j.id >= ?1
		WHERE c.id >= ?2
		GROUP BY c.id, c.status, c.metered, c.quote, c.charge
		HAVING COALESCE(SUM(j.held), 0) <> CASE WHEN c.status = 'running' AND NOT c.metered
			THEN c.quote - c.charge ELSE 0 END`},
	{"call %s earned %d, want %d", `
		SELECT c.id AS subject, CAST(COALESCE(SUM(j.revenue), 0) AS BIGINT) AS got,
			CASE WHEN NOT c.metered THEN c.charge ELSE 0 END AS want
		FROM calls AS c LEFT JOIN journal AS j ON j.cause = c.id AND j.id >= ?1
		WHERE c.id >= ?2
		GROUP BY c.id, c.status, c.metered, c.charge
		HAVING COALESCE(SUM(j.revenue), 0) <> CASE WHEN NOT c.metered THEN c.charge ELSE 0 END`},
	{"call %s was ended %d times, want %d", `
		SELECT cause AS subject, COUNT(*) AS got, 1 AS want FROM journal
		WHERE id >= ?1 AND cause <> '' AND kind <> 'hold' AND reason <> 'chunk' GROUP BY cause HAVING COUNT(*) > 1`},
	{"key %s counts %d as spent, its calls sum to %d", `
		SELECT k.id AS subject, k.spent AS got,
			CAST(COALESCE(used.amount, 0) + COALESCE(running.quote, 0) AS BIGINT) AS want
		FROM keys AS k
		LEFT JOIN (SELECT key_id, SUM(amount) AS amount FROM usage_days GROUP BY key_id) AS used ON used.key_id = k.id
		LEFT JOIN (SELECT key_id, SUM(quote) AS quote FROM calls WHERE status = 'running'
			GROUP BY key_id) AS running ON running.key_id = k.id
		WHERE k.spent <> COALESCE(used.amount, 0) + COALESCE(running.quote, 0)`},
	{"account %s counts %d as spent on its last day, its calls sum to %d", `
		SELECT a.id AS subject, a.day_spent AS got,
			CAST(COALESCE(used.amount, 0) + COALESCE(running.quote, 0) AS BIGINT) AS want
		FROM accounts AS a
		LEFT JOIN (SELECT account_id, day, SUM(amount) AS amount FROM usage_days GROUP BY account_id, day) AS used
			ON used.account_id = a.id AND used.day = a.day
		LEFT JOIN (SELECT account_id, day, SUM(quote) AS quote FROM calls WHERE status = 'running'
			GROUP BY account_id, day) AS running
			ON running.account_id = a.id AND running.day = a.day
		WHERE a.day_spent <> COALESCE(used.amount, 0) + COALESCE(running.quote, 0)`},
	{"account %s used %d since the last closing, its calls sum to %d", `
		SELECT u.account_id AS subject, u.amount AS got, CAST(COALESCE(c.charge, 0) AS BIGINT) AS want
		FROM (SELECT account_id, CAST(SUM(amount) AS BIGINT) AS amount, SUM(calls) AS calls FROM usage_days
			WHERE day > ?3 GROUP BY account_id) AS u
		LEFT JOIN (SELECT account_id, SUM(charge) AS charge, COUNT(*) AS calls FROM calls
			WHERE id >= ?2 AND day > ?3 AND status = 'done' GROUP BY account_id) AS c ON c.account_id = u.account_id
		WHERE u.amount <> COALESCE(c.charge, 0) OR u.calls <> COALESCE(c.calls, 0)`},
	{"failed call %s has a charge of %d, want %d", `
		SELECT id AS subject, charge AS got, 0 AS want FROM calls
		WHERE id >= ?2 AND status = 'failed' AND charge <> 0`},
	{"running bulk job %s has charged %d, its call %d", `
		SELECT b.call_id AS subject, b.charged AS got, c.charge AS want
		FROM bulks AS b JOIN calls AS c ON c.id = b.call_id
		WHERE b.charged <> c.charge AND c.status = 'running'`},
	{"idempotency key of call %s is done (%d), its call is not (%d)", `
		SELECT i.call_id AS subject, 1 AS got, 0 AS want
		FROM idempotency AS i LEFT JOIN calls AS c ON c.id = i.call_id
		WHERE i.state <> COALESCE(c.status, '')`},
}

// sumOfBooks is the sum of the books of an account.
const sumOfBooks = "(promotion + payment + adjustment + held + revenue + debt + wallet)"

// CheckLedger verifies the ledger in one snapshot of the database: balances, holds and debts are the sums of their
// entries, charges were earned, and usage and the counters of the limits agree with the calls. It reads the entries
// since the last closed month, and the closings of that month; CheckMonth checks the closed ones.
func (s *Store) CheckLedger(ctx context.Context) (LedgerReport, error) {
	var r LedgerReport
	err := s.inSnapshot(ctx, func(ctx context.Context, tx txn) error {
		closed, err := lastClosed(ctx, tx, monthOf(s.now()))
		if err != nil {
			return err
		}

		since := closed + 1
		args := []any{int64(closed), since.firstID("jrn"), since.firstID("call"), dayOf(since.start())}
		if err := r.total(ctx, tx, args); err != nil {
			return err
		}

		for _, check := range ledgerChecks {
			problems, err := check.run(ctx, tx, args...)
			if err != nil {
				return err
			}
			r.Problems = append(r.Problems, problems...)
		}

		orphaned, args := holder{Kind: holderDeadProcess}.condition(toMicros(s.now()))
		return tx.NewSelect().Model((*callRow)(nil)).Column("id").Where("status = ?", CallRunning).
			Where("("+orphaned+`) OR c.mode = ? AND NOT EXISTS (SELECT 1 FROM jobs
				WHERE jobs.call_id = c.id AND jobs.state <> ?)`,
				append(args, Async, jobEnded)...).Order("id").Scan(ctx, &r.OrphanedHolds)
	})
	return r, wrapped("check ledger", err)
}

// total fills in the sums.
func (r *LedgerReport) total(ctx context.Context, tx txn, args []any) error {
	err := tx.NewRaw(ledgerSums+` SELECT CAST(COALESCE(SUM(entries), 0) AS BIGINT),
		CAST(COALESCE(SUM(`+sumOfBooks+`), 0) AS BIGINT), CAST(COALESCE(SUM(wallet), 0) AS BIGINT),
		CAST(COALESCE(SUM(held), 0) AS BIGINT), CAST(COALESCE(-SUM(debt), 0) AS BIGINT),
		CAST(COALESCE(SUM(revenue), 0) AS BIGINT) FROM sums`, args...).
		Scan(ctx, &r.Postings, &r.Sum, &r.Wallets, &r.Held, &r.Owed, &r.Revenue)
	if err == nil && r.Sum != 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("the whole ledger sums to %d, want 0", r.Sum))
	}
	return err
}
