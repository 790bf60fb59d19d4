package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"relaypdf/store"
	"relaypdf/store/storetest"
)

const (
	waitingAccounts  = 10_000
	waitingReceivers = 100_000
	jobClaimGoal     = 2.0  // milliseconds
	deliveryGoal     = 20.0 // milliseconds
	// deliveryBatch is how many attempts a process takes on at once.
	deliveryBatch = 32

	usageCalls = 500_000
	usageGoal  = 20.0 // milliseconds
)

// numbers is a table of the numbers from 1 to $1, which both databases make.
const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1) `

// claims measures how long it takes to find out whose turn it is while very many
// wait, on either database.
func (l databases) claims(ctx context.Context, r *report) error {
	return l.eachDatabase(ctx, func(database string, b *bare, db *sql.DB) error {
		l.say("claims on %s: %d accounts with a job, %d receivers", database, waitingAccounts, waitingReceivers)
		if err := fillClaims(ctx, db, database, choose(l.lab, 1, 100)); err != nil {
			return err
		}
		n := choose(l.lab, 200, 20)
		for _, claim := range []struct {
			name string
			goal float64
			do   work
		}{
			{"claim of a job while accounts wait", jobClaimGoal, func(ctx context.Context, _ int) error {
				_, err := b.store.ClaimJob(ctx, b.lease)
				return err
			}},
			{"claim of deliveries while receivers wait", deliveryGoal, func(ctx context.Context, _ int) error {
				due, err := b.store.ClaimDeliveries(ctx, deliveryBatch)
				if err == nil && len(due) != deliveryBatch {
					err = fmt.Errorf("%d deliveries were claimed, want %d", len(due), deliveryBatch)
				}
				return err
			}},
		} {
			took, err := each(ctx, n, claim.do)
			if err != nil {
				return err
			}
			r.reach(goalFigures{
				Name: claim.name + ", " + database, Got: ms(percentile(took, 50)), Goal: claim.goal, Unit: "ms",
				Beside: fmt.Sprintf("p50 of %d, p95 %.1f ms", n, ms(percentile(took, 95))),
			})
		}
		return nil
	})
}

// queues measures the claim of a job by how many wait, and of how many accounts. A
// job that was claimed waits again before the next claim.
func (l databases) queues(ctx context.Context, r *report) error {
	for _, accounts := range []int{1, waitingAccounts} {
		for _, queued := range choose(l.lab, []int{10, 1000, 100_000}, []int{10, 2000}) {
			err := l.eachDatabase(ctx, func(database string, b *bare, db *sql.DB) error {
				l.say("claims on %s: %d jobs of %d accounts", database, queued, accounts)
				if err := fillJobs(ctx, db, database, queued, accounts); err != nil {
					return err
				}
				n := choose(l.lab, 200, 10)
				var took []time.Duration
				for i := range n + n/10 {
					begin := time.Now()
					job, err := b.store.ClaimJob(ctx, b.lease)
					if i >= n/10 {
						took = append(took, time.Since(begin))
					}
					if err == nil {
						_, err = db.ExecContext(ctx, `UPDATE jobs SET state = 'queued', lease = '' WHERE call_id = $1`, job.Call.ID)
					}
					if err != nil {
						return err
					}
				}
				r.reach(goalFigures{
					Name: fmt.Sprintf("claim of one of %d jobs of %d accounts, %s", queued, min(queued, accounts), database), Got: ms(percentile(took, 50)), Goal: jobClaimGoal, Unit: "ms",
					Beside: fmt.Sprintf("p50 of %d, p95 %.1f ms", n, ms(percentile(took, 95))),
				})
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// each times work that is done n times, after a few that do not count.
func each(ctx context.Context, n int, do work) (took []time.Duration, err error) {
	if err := repeat(ctx, 1, max(1, n/10), do); err != nil {
		return nil, err
	}
	for range n {
		start := time.Now()
		if err := do(ctx, 0); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
	}
	return took, nil
}

// usage measures what an account with half a million calls waits for its sums.
func (l databases) usage(ctx context.Context, r *report) error {
	return l.eachDatabase(ctx, func(database string, b *bare, db *sql.DB) error {
		l.say("usage on %s: %d calls", database, usageCalls)
		account, err := b.account(ctx)
		if err != nil {
			return err
		}
		if err := fillUsage(ctx, db, account, usageCalls/choose(l.lab, 1, 100)); err != nil {
			return err
		}
		from := time.Now().AddDate(0, 0, -364).Format(time.DateOnly)
		took, err := each(ctx, choose(l.lab, 50, 5), func(ctx context.Context, _ int) error { return b.get(ctx, "/v1/billing/usage?from="+from) })
		if err != nil {
			return err
		}
		r.reach(goalFigures{
			Name: "usage of an account with 500,000 calls, " + database, Got: ms(percentile(took, 50)), Goal: usageGoal, Unit: "ms",
			Beside: fmt.Sprintf("GET of a year, p95 %.1f ms", ms(percentile(took, 95))),
		})
		return nil
	})
}

// eachDatabase runs a measurement on a database of either kind, filled by hand.
func (l databases) eachDatabase(ctx context.Context, do func(database string, b *bare, db *sql.DB) error) error {
	for _, database := range []string{store.SQLite, store.Postgres} {
		if err := l.onDatabase(ctx, database, do); err != nil {
			return fmt.Errorf("%s: %w", database, err)
		}
	}
	return nil
}

func (l databases) onDatabase(ctx context.Context, database string, do func(string, *bare, *sql.DB) error) (err error) {
	cfg := bareConfig{outbound: noWayOut{}}
	if database == store.Postgres {
		var drop func() error
		if cfg.database, drop, err = storetest.NewDatabase(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, drop()) }()
	}
	b, err := startBare(ctx, l.lab, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	driver, address := "pgx", cfg.database
	if database == store.SQLite {
		driver, address = "sqlite", "file:"+filepath.Join(b.dir, "relaypdf.db")+"?_pragma=busy_timeout(60000)"
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(database, b, db)
}

// fillClaims makes accounts wait with a job each, and one account with a callback
// to each of very many receivers; part makes less of both.
func fillClaims(ctx context.Context, db *sql.DB, database string, part int) error {
	if err := fillJobs(ctx, db, database, waitingAccounts/part, waitingAccounts/part); err != nil {
		return err
	}
	bytes := bytesOf(database)
	for _, fill := range []struct {
		query string
		n     int
	}{
		{`INSERT INTO events (id, account_id, type, body, created_at) SELECT 'evt_' || n, 'acc_1', 'callback', CAST('{}' AS ` + bytes + `), n FROM numbers`, 1},
		{`INSERT INTO deliveries (id, account_id, event_id, event_type, receiver, url, status, next_attempt_at, created_at)
			SELECT 'dlv_' || n, 'acc_' || (n % 1000), 'evt_1', 'callback', 'to_' || n, 'https://example.com', 'pending', n, n FROM numbers`, waitingReceivers / part},
	} {
		if _, err := db.ExecContext(ctx, numbers+fill.query, fill.n); err != nil {
			return fmt.Errorf("%s: %w", fill.query, err)
		}
	}
	return analyze(ctx, db)
}

// bytesOf is the type of bytes.
func bytesOf(database string) string {
	if database == store.Postgres {
		return "BYTEA"
	}
	return "BLOB"
}

// fillJobs makes jobs of so many accounts wait. A transaction that counts one account's
// jobs passes all of its own versions of that count each time, so that it makes few.
func fillJobs(ctx context.Context, db *sql.DB, database string, jobs, accounts int) error {
	const few = 1000
	for _, query := range []string{
		fmt.Sprintf(`INSERT INTO calls (id, result_id, account_id, operation, mode, request_id, lease, metered, quote, status, day, created_at)
			SELECT 'call_' || n, 'file_' || n, 'acc_' || (n %% %d), 'pdf.create', 'async', '', '', TRUE, 0, 'running', 0, n FROM numbers`, accounts),
		fmt.Sprintf(`INSERT INTO jobs (call_id, account_id, state, created_at) SELECT 'call_' || n, 'acc_' || (n %% %d), 'queued', n FROM numbers`, accounts),
		`INSERT INTO job_inputs (call_id, sealed) SELECT 'call_' || n, CAST('x' AS ` + bytesOf(database) + `) FROM numbers`,
	} {
		for made := 0; made < jobs; made += few {
			part := strings.Replace(query, "FROM numbers", fmt.Sprintf("FROM (SELECT n + %d AS n FROM numbers) AS more", made), 1)
			if _, err := db.ExecContext(ctx, numbers+part, min(few, jobs-made)); err != nil {
				return fmt.Errorf("%s: %w", query, err)
			}
		}
	}
	return analyze(ctx, db)
}

// fillUsage gives an account calls over a year, and the sums of their days, as
// settling them would have.
func fillUsage(ctx context.Context, db *sql.DB, account string, calls int) error {
	first := time.Now().Unix()/(24*60*60) - 364
	_, err := db.ExecContext(ctx, numbers+`INSERT INTO calls (id, result_id, account_id, operation, mode, request_id, lease, metered, quote, charge, status, day, created_at)
		SELECT 'call_' || n, 'file_' || n, CAST($2 AS TEXT), CASE n % 3 WHEN 0 THEN 'pdf.create' WHEN 1 THEN 'pdf.merge' ELSE 'images.create' END,
		'binary', '', '', FALSE, 2000, 2000, 'done', $3 + n % 365, n FROM numbers`, calls, account, first)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `INSERT INTO usage_days (account_id, day, operation, key_id, calls, amount)
		SELECT account_id, day, operation, 'key_1', COUNT(*), SUM(charge) FROM calls WHERE account_id = $1 GROUP BY account_id, day, operation`, account)
	if err != nil {
		return err
	}
	return analyze(ctx, db)
}

// analyze has the database look at what it holds, as it does by itself in time.
func analyze(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, "ANALYZE")
	return err
}

// account returns the id of the first account.
func (b *bare) account(ctx context.Context) (string, error) {
	_, account, err := b.store.KeyBySecret(ctx, b.keys[0])
	return account.ID, err
}

// get reads an address of the interface.
func (b *bare) get(ctx context.Context, path string) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, b.client.url+path, http.NoBody)
	if err != nil {
		return err
	}
	q.Header.Set("Authorization", "Bearer "+b.keys[0])
	answer, err := b.client.http.Do(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: status %d", path, answer.StatusCode)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}
