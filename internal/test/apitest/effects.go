package apitest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/store/blob"
)

// effectQueries list, as text, the effects of calls: each kind of row that a request could have written.
var effectQueries = [...]string{
	`SELECT 'call ' || operation || ' ' || status || ' charged ' || charge || ' ' || error_code FROM calls ORDER BY 1`,
	`SELECT 'ledger ' || kind || ' ' || book || ' ' || amount FROM (
		SELECT id, cause, kind, 'wallet' AS book, wallet AS amount, CASE kind WHEN 'hold' THEN 0 ELSE 3 END AS turn FROM journal
		UNION ALL SELECT id, cause, kind, 'held', held, 1 FROM journal
		UNION ALL SELECT id, cause, kind, 'revenue', revenue, 2 FROM journal
	) AS entries WHERE cause <> '' AND amount <> 0 ORDER BY id, turn`,
	`SELECT 'claim ' || idem_key || ' ' || state FROM idempotency ORDER BY idem_key`,
	`SELECT 'job ' || state || ' tries ' || tries FROM jobs ORDER BY seq`,
	`SELECT 'event ' || type FROM events ORDER BY created_at, type`,
	`SELECT 'delivery ' || status || ' attempts ' || attempts FROM deliveries ORDER BY created_at, id`,
	`SELECT 'pin ' || file_id FROM pins ORDER BY 1`,
	`SELECT 'file ' || filename || ' ' || size FROM files ORDER BY filename, id`,
}

// Effects returns the effects of the calls so far in the database and in the blobs, one line each: calls, ledger
// entries, idempotency keys, files, blobs. A test compares all of them, and so detects any other effect.
func (s *Server) Effects(t testing.TB) []string {
	t.Helper()
	driver := "pgx"
	source := s.db.URL
	if path, ok := strings.CutPrefix(s.db.URL, "sqlite://"); ok {
		driver = "sqlite"
		source = "file:" + path
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{}
	for _, query := range effectQueries {
		var more []string
		if more, err = texts(t.Context(), db, query); err != nil {
			break
		}
		lines = append(lines, more...)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatalf("read the effects: %v", err)
	}
	var blobs []string
	err = s.Store.Blobs().List(t.Context(), "", func(b blob.Entry) error {
		blobs = append(blobs, fmt.Sprintf("blob %d", b.Size))
		return nil
	})
	if err != nil {
		t.Fatalf("list the blobs: %v", err)
	}
	slices.Sort(blobs)
	return append(lines, blobs...)
}

// texts returns the one text column of a query.
func texts(ctx context.Context, db *sql.DB, query string) (lines []string, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return nil, err
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines, rows.Err()
}

// Balance returns the balance and the held amount of the server's account.
func (s *Server) Balance(t testing.TB) (balance, held int64) {
	t.Helper()
	account, err := s.Store.Account(t.Context(), s.Account.ID)
	if err != nil {
		t.Fatal(err)
	}
	return int64(account.Balance), int64(account.Held)
}
