package bench

import (
	"context"
	"database/sql"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// database is a database of either kind with accounts, and a connection of our own.
type database struct {
	*sql.DB

	kind, url, dir string
	store          *store.Store
	keys           []string // of each account
}

// onDatabases measures on SQLite and on PostgreSQL.
func (l *lab) onDatabases(ctx context.Context, measure func(database) ([]Row, error)) (rows []Row, err error) {
	for _, kind := range []string{store.SQLite, store.Postgres} {
		measured, err := l.onDatabase(ctx, kind, measure)
		rows = append(rows, measured...)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", kind, err)
		}
	}
	return rows, nil
}

func (l *lab) onDatabase(ctx context.Context, kind string, measure func(database) ([]Row, error)) (_ []Row, err error) {
	d := database{kind: kind}
	var opened closers
	defer func() { err = errors.Join(err, opened.close()) }()
	driver := "pgx"
	if d.dir, err = os.MkdirTemp(l.dir, "database-"); err != nil {
		return nil, err
	}
	address := "file:" + filepath.Join(d.dir, "relaypdf.db") + "?_pragma=busy_timeout(60000)&_pragma=synchronous(full)"
	if kind == store.SQLite {
		driver = "sqlite"
	} else {
		var drop func() error
		if d.url, drop, err = storetest.NewDatabase(); err != nil {
			return nil, err
		}
		opened.opened(drop)
		address = d.url
	}
	if d.store, err = openStore(ctx, d.url, d.dir); err != nil {
		return nil, err
	}
	opened.opened(d.store.Close)
	if d.keys, err = fund(ctx, d.store, inTurn); err != nil {
		return nil, err
	}
	if d.DB, err = sql.Open(driver, address); err != nil {
		return nil, err
	}
	opened.opened(d.Close)
	if kind == store.SQLite {
		d.SetMaxOpenConns(1) // It has one writer; others would wait in steps of milliseconds.
	}
	if _, err := d.ExecContext(ctx, "CREATE TABLE bench AS SELECT 0 AS n"); err != nil {
		return nil, err
	}
	return measure(d)
}

// serve starts the program on the database.
func (d database) serve(ctx context.Context, l *lab, settings ...string) (*server, error) {
	return startServer(ctx, l.Options, d.dir, append(settings, "RELAYPDF_DATABASE_URL="+d.url)...)
}

// commit is a transaction that is written to the disk.
func (d database) commit(ctx context.Context, _ int) error {
	_, err := d.ExecContext(ctx, "UPDATE bench SET n = n + 1")
	return err
}

// jobs measures jobs, webhooks and one hot account by barcodes, whose run is next to nothing.
func (l *lab) jobs(ctx context.Context) ([]Row, error) {
	var got atomic.Int64
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body) // A sender that breaks off sends again.
		got.Add(1)
	}))
	defer receiver.Close()
	ca := filepath.Join(l.dir, "receiver.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: receiver.Certificate().Raw}), 0o644); err != nil { //nolint:gosec // It is public.
		return nil, err
	}
	return l.onDatabases(ctx, func(d database) (rows []Row, err error) {
		s, err := d.serve(ctx, l, "RELAYPDF_ALLOW_HOSTS=127.0.0.1", "RELAYPDF_EXTRA_CA="+ca)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, s.stop()) }()
		c := newClient(s.url)
		n := choose(l, 300, 10)
		hot := &side{do: c.call(d.keys[0], codeRequest())}
		commits := &side{do: d.commit}
		if err := l.compare(ctx, 8, commits, hot); err != nil {
			return nil, err
		}
		rows = append(rows, rateRow("calls of one account, 8 at once, "+d.kind, "bare commits to one record of the same database", Goal{Plus: 350}, commits, hot))

		direct := d.batch(c, 1, n, codeRequest(), func() bool { return true })
		queued := newRequest("/v1/barcodes", map[string]string{"type": "qr", "text": codeText, "response": "async"}, nil)
		jobs := d.batch(c, 1, n, queued, func() bool { return d.idle(ctx) })
		if err := interleave(ctx, choose(l, 5, 1), 1, choose(l, 1, 0), time.Nanosecond, direct, jobs); err != nil {
			return rows, err
		}
		rows = append(rows, rateRow("jobs of 7 accounts, "+d.kind, "the same calls answered at once", Goal{}, direct, jobs))

		if _, err := c.do(ctx, d.keys[0], newRequest("/v1/webhooks", map[string]string{"url": receiver.URL}, nil)); err != nil {
			return rows, err
		}
		expected := int64(0)
		bare := &side{size: n, do: func(ctx context.Context, _ int) error {
			expected += int64(n)
			return repeat(ctx, 2, n, func(ctx context.Context, w int) error { // The concurrency of one endpoint.
				q, err := http.NewRequestWithContext(ctx, http.MethodPost, receiver.URL, http.NoBody)
				if err != nil {
					return err
				}
				res, err := receiver.Client().Do(q)
				if err != nil {
					return err
				}
				return errors.Join(res.Body.Close(), d.commit(ctx, w))
			})
		}}
		delivered := d.batch(c, 0, n, queued, func() bool { return got.Load() >= expected })
		run := delivered.do
		delivered.do = func(ctx context.Context, w int) error {
			expected += int64(n)
			return run(ctx, w)
		}
		err = interleave(ctx, choose(l, 5, 1), 1, choose(l, 1, 0), time.Nanosecond, bare, delivered)
		return append(rows, rateRow("jobs of one account to their webhooks, "+d.kind, "bare POSTs and commits, 2 at once", Goal{}, bare, delivered)), err
	})
}

// batch makes n calls, eight at once, and waits until done: for the accounts after the
// first in turn, or for the first.
func (d database) batch(c *client, first, n int, r request, done func() bool) *side {
	var next atomic.Int64
	return &side{size: n, do: func(ctx context.Context, _ int) error {
		err := repeat(ctx, 8, n, func(ctx context.Context, _ int) error {
			_, err := c.do(ctx, d.keys[int(next.Add(1))%(inTurn-1)*first+first], r)
			return err
		})
		for err == nil && !done() {
			<-time.After(time.Millisecond)
			err = ctx.Err()
		}
		return err
	}}
}

// idle reports whether all jobs have ended.
func (d database) idle(ctx context.Context) (idle bool) {
	err := d.QueryRowContext(ctx, "SELECT COUNT(*) = 0 FROM jobs WHERE state <> 'ended'").Scan(&idle)
	return err == nil && idle
}

const (
	waitingAccounts  = 10_000
	waitingReceivers = 100_000
	deliveryBatch    = 32 // attempts that a process takes on at once
)

// claims measures the time to find whose turn it is while very many wait.
func (l *lab) claims(ctx context.Context) ([]Row, error) {
	return l.onDatabases(ctx, func(d database) (rows []Row, err error) {
		lease, err := d.store.Acquire(ctx, filepath.Join(d.dir, "leases"))
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, lease.Close()) }()
		if err := d.fillClaims(ctx, choose(l, 1, 100)); err != nil {
			return nil, err
		}
		for _, claim := range []struct {
			name string
			goal float64
			do   work
		}{
			{fmt.Sprintf("claim of a job while %d accounts wait", waitingAccounts), 2, func(ctx context.Context, _ int) error {
				_, err := d.store.ClaimJob(ctx, lease.ID())
				return err
			}},
			{fmt.Sprintf("claim of %d deliveries while %d receivers wait", deliveryBatch, waitingReceivers), 20, func(ctx context.Context, _ int) error {
				due, err := d.store.ClaimDeliveries(ctx, deliveryBatch)
				if err == nil && len(due) != deliveryBatch {
					err = fmt.Errorf("%d deliveries were claimed, want %d", len(due), deliveryBatch)
				}
				return err
			}},
		} {
			floor := &side{do: d.commit}
			ours := &side{do: claim.do}
			if err := interleave(ctx, choose(l, 200, 5), 1, choose(l, 20, 1), time.Nanosecond, floor, ours); err != nil {
				return rows, err
			}
			rows = append(rows, timeRow(claim.name+", "+d.kind, "a bare commit in the same database", Goal{Plus: claim.goal}, floor, ours))
		}
		return rows, nil
	})
}

// numbers is a table of the numbers from 1 to $1, which both databases make.
const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1) `

// fillClaims makes accounts wait with a job each, and one account with a callback to
// each of very many receivers; part makes less of both.
func (d database) fillClaims(ctx context.Context, part int) error {
	bytes := "BLOB"
	if d.kind == store.Postgres {
		bytes = "BYTEA"
	}
	for _, fill := range []struct {
		n     int
		query string
	}{
		{waitingAccounts, `INSERT INTO calls (id, result_id, account_id, operation, mode, request_id, lease, metered, quote, status, day, created_at)
			SELECT 'call_' || n, 'file_' || n, 'acc_' || n, 'pdf.create', 'async', '', '', TRUE, 0, 'running', 0, n FROM numbers`},
		{waitingAccounts, `INSERT INTO jobs (call_id, account_id, state, created_at) SELECT 'call_' || n, 'acc_' || n, 'queued', n FROM numbers`},
		{waitingAccounts, `INSERT INTO job_inputs (call_id, sealed) SELECT 'call_' || n, CAST('x' AS ` + bytes + `) FROM numbers`},
		{part, `INSERT INTO events (id, account_id, type, body, created_at) SELECT 'evt_' || n, 'acc_1', 'callback', CAST('{}' AS ` + bytes + `), n FROM numbers`},
		{waitingReceivers, `INSERT INTO deliveries (id, account_id, event_id, event_type, receiver, url, status, next_attempt_at, created_at)
			SELECT 'dlv_' || n, 'acc_' || (n % 1000), 'evt_1', 'callback', 'to_' || n, 'https://example.com', 'pending', n, n FROM numbers`},
	} {
		if _, err := d.ExecContext(ctx, numbers+fill.query, fill.n/part); err != nil {
			return fmt.Errorf("%s: %w", fill.query, err)
		}
	}
	_, err := d.ExecContext(ctx, "ANALYZE") // as the database does by itself in time
	return err
}
