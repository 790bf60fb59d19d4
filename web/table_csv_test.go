package web_test

import (
	"bytes"
	"context"
	"database/sql"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// manyRows fills the tables behind the CSV files. ?0 is the account, ?1 the first characters of IDs and ?2 the number of
// rows.
var manyRows = map[string]string{
	"/dashboard/documents.csv": `INSERT INTO calls (id, result_id, account_id, operation, mode, request_id, lease, metered, quote, status, day, created_at)
		SELECT 'call_' || rest, 'file_' || rest, '?0', 'pdf.create', 'binary', rest, 'l', FALSE, 0, 'done', 1, 1 FROM made`,
	"/dashboard/wallet.csv": `INSERT INTO journal (id, account_id, kind, reference, balance, created_at)
		SELECT 'jrn_' || rest, '?0', 'grant', rest, 0, 1 FROM made`,
	"/dashboard/settings/audit.csv": `INSERT INTO audit (id, account_id, who, action, object, created_at)
		SELECT 'aud_' || rest, '?0', 'maya@example.com', 'key.made', rest, 1 FROM made`,
}

// fillTable adds rows to the table behind a CSV file, which are numbered from 100,000,001 on.
func fillTable(t *testing.T, db storetest.DB, h *house, path string, count string) {
	t.Helper()
	driver, source := "pgx", db.URL
	if file, ok := strings.CutPrefix(db.URL, "sqlite://"); ok {
		driver, source = "sqlite", "file:"+file+"?_pragma=busy_timeout(10000)"
	}
	raw, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()

	id := strings.TrimPrefix(h.NewID("x"), "x_")
	begin := id[:len(id)-len("100000000")]
	statement := "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < ?2), made AS (SELECT '?1' || CAST(100000000 + i AS TEXT) AS rest FROM n) SELECT"
	into, from, _ := strings.Cut(manyRows[path], "SELECT")
	text := into + statement + from
	if _, err := raw.ExecContext(t.Context(), strings.NewReplacer("?0", h.mayas(t).ID, "?1", begin, "?2", count).Replace(text)); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// TestCSVFilesHaveAllRows: no number of rows ends a file early, on either database.
func TestCSVFilesHaveAllRows(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		clock := storetest.NewClock(time.Now().UTC().Truncate(time.Second))
		h := newHouse(t, db.Open(t, clock), clock, nil)
		v := h.join(t, "maya@example.com")
		for path := range manyRows {
			fillTable(t, db, h, path, "50250")

			got := v.get(path)
			seen := strings.Count(got.body, "10005025") // the last ten
			if lines := strings.Count(got.body, "\n"); got.status != http.StatusOK || lines < 50_251 || !strings.Contains(got.body, "100000001") || seen == 0 {
				t.Errorf("%s: status %d, %d lines, first row %t, last row %t", path, got.status, lines, strings.Contains(got.body, "100000001"), seen > 0)
			}
		}
	})
}

// outage is a database that fails after some reads of a table.
type outage struct {
	table string
	reads atomic.Int64 // that still succeed; below 0 all do
}

func (o *outage) BeforeQuery(ctx context.Context, e *bun.QueryEvent) context.Context {
	if strings.Contains(e.Query, `FROM "`+o.table+`"`) && o.reads.Load() >= 0 && o.reads.Add(-1) < 0 {
		o.reads.Store(0)
		ended, cancel := context.WithCancel(ctx)
		cancel()
		return ended
	}
	return ctx
}

func (*outage) AfterQuery(context.Context, *bun.QueryEvent) {}

// TestCSVFilesAreNotCut: a file that cannot be completed is an error page if nothing was sent yet, and a connection that
// breaks otherwise.
func TestCSVFilesAreNotCut(t *testing.T) {
	t.Parallel()
	for path, table := range map[string]string{"/dashboard/documents.csv": "calls", "/dashboard/wallet.csv": "journal", "/dashboard/settings/audit.csv": "audit"} {
		db := storetest.SQLite(t)
		clock := storetest.NewClock(time.Now().UTC().Truncate(time.Second))
		out := &outage{table: table}
		out.reads.Store(-1)
		s, err := store.Open(t.Context(), store.Config{URL: db.URL, DataDir: db.DataDir, Now: clock.Now, Watch: out})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		h := newHouse(t, s, clock, nil)
		v := h.join(t, "maya@example.com")
		fillTable(t, db, h, path, "1000")

		out.reads.Store(0)
		if got := v.get(path); got.status < http.StatusInternalServerError || got.header.Get("Content-Disposition") != "" {
			t.Errorf("%s, first read fails: status %d, %v", path, got.status, got.header)
		}

		out.reads.Store(5)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = v.header.Clone()
		response, err := v.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err == nil {
			t.Errorf("%s, sixth read fails: status %d and %d lines, and no error", path, response.StatusCode, bytes.Count(text, []byte("\n")))
		}
	}
}
