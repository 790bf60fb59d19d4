package web_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"

	_ "github.com/jackc/pgx/v5/stdlib"
)

// history fills an account with calls of 60 days, their postings and deliveries, one
// call in 100 failed, and a payment each day. ?0 account, ?1 endpoint, ?2 calls, ?3
// now in milliseconds, ?4 key.
var history = []string{
	`CREATE OR REPLACE FUNCTION id_time(ms bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
		SELECT string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', (((ms >> (5*(9-i))) & 31)+1)::int, 1), '' ORDER BY i) FROM generate_series(0,9) AS i $$`,
	`CREATE TABLE IF NOT EXISTS made AS SELECT 0::bigint AS i, 0::bigint AS ms, '' AS rest WHERE FALSE`,
	`TRUNCATE made`,
	`INSERT INTO made SELECT i, ?3 - (i * 60 * 86400000::bigint) / ?2, id_time(?3 - (i * 60 * 86400000::bigint) / ?2) || 'loc' || lpad(?2::text || i::text, 15, '0') FROM generate_series(1, ?2) AS i`,
	`INSERT INTO calls (id, result_id, account_id, key_id, operation, mode, request_id, lease, metered, quote, charge, status, day, created_at, ended_at, duration)
		SELECT 'call_' || rest, 'file_' || rest, ?0, ?4, 'pdf.create', CASE WHEN i % 10 = 0 THEN 'async' ELSE 'binary' END, 'r', 'l', FALSE, 2000, 2000,
			CASE WHEN i % 100 = 0 THEN 'failed' ELSE 'done' END, ms / 86400000, ms * 1000, ms * 1000, 1000 FROM made`,
	`INSERT INTO titles (call_id, account_id, title, created_at) SELECT 'call_' || rest, ?0, 'a.pdf', ms * 1000 FROM made WHERE ms > ?3 - 30 * 86400000::bigint`,
	`INSERT INTO journal (id, account_id, kind, cause, held, wallet, created_at, balance) SELECT 'jrn_' || rest, ?0, 'hold', 'call_' || rest, 2000, -2000, ms * 1000, 7 FROM made`,
	`INSERT INTO journal (id, account_id, kind, cause, held, revenue, created_at, balance) SELECT 'jrn_' || rest || 'z', ?0, 'settle', 'call_' || rest, -2000, 2000, ms * 1000, 7 FROM made`,
	`INSERT INTO journal (id, account_id, kind, reference, payment, wallet, created_at, balance) SELECT 'jrn_' || rest || 'zz', ?0, 'payment', rest, -2000, 2000, ms * 1000, 7 FROM made WHERE i % (?2 / 60) = 0`,
	`INSERT INTO payments (id, account_id, kind, state, amount, created_at) SELECT 'pay_' || rest, ?0, 'topup', 'paid', 2000, ms * 1000 FROM made WHERE i % (?2 / 60) = 0`,
	`INSERT INTO events (id, account_id, type, body, created_at) SELECT 'evt_' || rest, ?0, 'job.completed', '{}', ms * 1000 FROM made`,
	`INSERT INTO deliveries (id, account_id, endpoint_id, event_id, event_type, receiver, url, status, ready, created_at)
		SELECT 'dlv_' || rest, ?0, ?1, 'evt_' || rest, 'job.completed', ?1, 'https://h.example/', CASE WHEN i % 100 = 0 THEN 'failed' ELSE 'delivered' END, FALSE, ms * 1000 FROM made`,
	`INSERT INTO usage_days AS u (account_id, day, operation, key_id, calls, amount) SELECT ?0, ms / 86400000, 'pdf.create', ?4, COUNT(*), 2000 * COUNT(*) FROM made GROUP BY 2
		ON CONFLICT (account_id, day, operation, key_id) DO UPDATE SET calls = u.calls + EXCLUDED.calls`,
	`INSERT INTO usage_counts AS u (account_id, kind, day, name, calls, failures, amount)
		SELECT ?0, g.kind, ms / 86400000, g.name, COUNT(*), COUNT(*) / 100, 2000 * COUNT(*) FROM made, (VALUES ('operation', 'pdf.create'), ('key', ?4), ('template', 't1')) AS g (kind, name) GROUP BY 2, 3, 4
		ON CONFLICT (account_id, kind, day, name) DO UPDATE SET calls = u.calls + EXCLUDED.calls`,
	`INSERT INTO jobs (call_id, account_id, state, created_at) SELECT 'call_' || rest, ?0, 'ended', ms * 1000 FROM made WHERE i % 10 = 0`,
	`INSERT INTO files (id, account_id, call_id, filename, content_type, size, blob_key, created_at, expires_at)
		SELECT 'file_' || rest, ?0, 'call_' || rest, 'a.pdf', 'application/pdf', 1, rest, ms * 1000, ?3 * 1000 FROM made WHERE ms > ?3 - 86400000`,
}

// plan is a part of the output of EXPLAIN.
type plan struct {
	NodeType  string  `json:"Node Type"`
	Relation  string  `json:"Relation Name"`
	Rows      float64 `json:"Actual Rows"`
	Loops     float64 `json:"Actual Loops"`
	Filtered  float64 `json:"Rows Removed by Filter"`
	Rechecked float64 `json:"Rows Removed by Index Recheck"`
	Plans     []plan
}

// read returns the number of rows that were read from tables and indexes.
func (p plan) read() (rows float64) {
	for _, inner := range p.Plans {
		rows += inner.read()
	}
	if strings.Contains(p.NodeType, "Scan") && p.NodeType != "CTE Scan" && p.NodeType != "Subquery Scan" {
		rows += (p.Rows + p.Filtered + p.Rechecked) * p.Loops
	}
	return rows
}

// TestPagesReadFewRows: no page reads more of the database because its account has
// more calls, nor because others have.
func TestPagesReadFewRows(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	db := storetest.Postgres(t)
	// In the first days of a month its partitions are so small that PostgreSQL reads them whole.
	now := time.Now().UTC()
	clock := storetest.NewClock(time.Date(now.Year(), now.Month()-1, 20, 12, 0, 0, 0, time.UTC))
	s, err := store.Open(t.Context(), store.Config{URL: db.URL, DataDir: db.DataDir, Now: clock.Now, Watch: watcher{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	h := newHouse(t, s, clock, nil)
	v, op := h.join(t, "maya@example.com"), h.operator(t)
	raw, err := sql.Open("pgx", db.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	account := h.mayas(t)
	key, _, err := h.CreateKey(t.Context(), store.NewKey{AccountID: account.ID, Name: "production"})
	if err != nil {
		t.Fatal(err)
	}
	hook, err := h.CreateWebhook(t.Context(), store.NewWebhook{ID: h.NewID("we"), AccountID: account.ID, URL: "https://hooks.example/in", Secret: []byte("sealed"), SecretPrefix: "whsec_x"})
	if err != nil {
		t.Fatal(err)
	}
	grow := func(calls int) {
		t.Helper()
		for _, statement := range history {
			text := strings.NewReplacer("?0", "'"+account.ID+"'", "?1", "'"+hook.ID+"'", "?2", fmt.Sprint(calls), "?3", fmt.Sprint(clock.Now().UnixMilli()), "?4", "'"+key.ID+"'").Replace(statement)
			if _, err := raw.ExecContext(t.Context(), text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		if err := s.MakePartitions(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := raw.ExecContext(t.Context(), "VACUUM ANALYZE"); err != nil {
			t.Fatal(err)
		}
	}
	base, err := url.Parse(h.url)
	if err != nil {
		t.Fatal(err)
	}
	handler := h.handler
	// rows sums up the rows that the statements of a page read, and names the worst of them.
	rows := func(path string) (sum float64, worst string) {
		t.Helper()
		noted, who := &statements{}, v
		if strings.HasPrefix(path, "/admin") {
			who = op
		}
		r := httptest.NewRequestWithContext(context.WithValue(t.Context(), statementsKey{}, noted), http.MethodGet, path, nil)
		for _, cookie := range who.client.Jar.Cookies(base) {
			r.AddCookie(cookie)
		}
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatalf("%s: got status %d", path, w.Code)
		}
		maximum := -1.0
		for _, statement := range noted.list {
			if word, _, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(statement)), " "); word != "SELECT" && word != "WITH" {
				continue
			}
			var text []byte
			if err := raw.QueryRowContext(t.Context(), "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) "+statement).Scan(&text); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
			var explained []struct{ Plan plan }
			if err := json.Unmarshal(text, &explained); err != nil {
				t.Fatal(err)
			}
			read := explained[0].Plan.read()
			if sum += read; read > maximum {
				maximum, worst = read, statement
			}
		}
		return sum, worst
	}
	pages := []string{
		"/dashboard/wallet?kind=credits", "/dashboard/wallet?kind=payments", "/dashboard/wallet?kind=calls", "/dashboard/wallet?by=key", "/dashboard/wallet?by=day", "/dashboard/usage?days=90", "/dashboard/usage?days=90&by=key&of=" + key.ID, "/dashboard/usage?days=90&by=template&of=t1", "/dashboard/usage.csv?days=90",
		"/dashboard/documents?mode=async", "/dashboard/documents?q=my-own", "/dashboard/requests?q=my-own",
		"/dashboard/webhooks/" + hook.ID, "/dashboard/deliveries?status=failed", "/admin", "/admin/accounts/" + account.ID, "/admin/engine", "/admin/jobs", "/admin/deliveries", "/admin/audit",
	}
	for path := range maxStatements {
		pages = append(pages, path)
	}
	grow(20_000)
	first := map[string]float64{}
	for _, path := range pages {
		first[path], _ = rows(path)
	}
	grow(80_000)
	for _, path := range pages {
		sum, worst := rows(path)
		t.Logf("%-45s reads %6.0f rows, then %6.0f", path, first[path], sum)
		// Failed calls are counted one by one, in an index.
		if failed := 800.0; sum > first[path]+failed+200 || sum > 8000 {
			t.Errorf("%s reads %.0f rows, after %.0f with a fifth of the calls, most of them for\n%s", path, sum, first[path], worst)
		}
	}
}
