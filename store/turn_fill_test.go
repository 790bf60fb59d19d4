package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/store"
)

// numbers is a table of the numbers from 1 to ?0, which both databases make.
const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?0) `

// fillTurns makes as many accounts wait with a job, and with a delivery to a
// receiver of its own, but for one account with as many receivers.
func fillTurns(ctx context.Context, s *store.Store, waiting int) error {
	bytes := "BLOB"
	if s.Dialect() == store.Postgres {
		bytes = "BYTEA"
	}
	for _, query := range []string{
		numbers + `INSERT INTO jobs (call_id, account_id, state, created_at) SELECT 'call_' || n, 'acc_' || n, 'queued', n FROM numbers`,
		numbers + `INSERT INTO events (id, account_id, type, body, created_at) SELECT 'evt_' || n, 'acc_' || n, 'callback', CAST('{}' AS ` + bytes + `), n FROM numbers`,
		numbers + `INSERT INTO deliveries (id, account_id, event_id, event_type, receiver, url, status, next_attempt_at, created_at)
			SELECT 'dlv_' || n, 'acc_' || n, 'evt_' || n, 'callback', 'to_' || n, 'https://example.com', 'pending', n, n FROM numbers`,
		numbers + `INSERT INTO deliveries (id, account_id, event_id, event_type, receiver, url, status, next_attempt_at, created_at)
			SELECT 'dlv_1_' || n, 'acc_1', 'evt_1', 'callback', 'to_1_' || n, 'https://example.com', 'pending', n, n FROM numbers`,
	} {
		err := s.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
			_, err := tx.NewRaw(query, waiting).Exec(ctx)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// explain returns the plan of a query.
func explain(t testing.TB, s *store.Store, query string) string {
	t.Helper()
	if s.Dialect() == store.SQLite {
		var steps []struct {
			ID, Parent, Notused int
			Detail              string
		}
		if err := s.DB().NewRaw("EXPLAIN QUERY PLAN "+query).Scan(t.Context(), &steps); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, step := range steps {
			b.WriteString(step.Detail + "\n")
		}
		return b.String()
	}
	if _, err := s.DB().NewRaw("ANALYZE").Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	var lines []string
	if err := s.DB().NewRaw("EXPLAIN "+query).Scan(t.Context(), &lines); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// sorted reports whether a plan takes rows in the order of an index.
func sorted(plan string) bool {
	return strings.Contains(strings.ToUpper(plan), "INDEX") && !strings.Contains(plan, "Sort") && !strings.Contains(plan, "TEMP B-TREE")
}
