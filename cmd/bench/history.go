package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"relaypdf/store"
	"relaypdf/store/blob"
)

const (
	// historyMonths is how long ago the first calls of a history were made,
	// historyAccounts how many others made them.
	historyMonths   = 12
	historyAccounts = 10_000
	// historyBatch is how many calls are written at once.
	historyBatch = 200_000
	historyGoal  = 1.2 // times what it takes without a history
)

// history measures the hot path and the pages of an account on PostgreSQL, without and
// with very many calls of others in the months before, in turn.
func (l databases) history(ctx context.Context, r *report) error {
	calls := choose(l.lab, l.rows, 5000)
	return l.onDatabase(ctx, store.Postgres, func(_ string, b *bare, db *sql.DB) error {
		without, err := l.hotPaths(ctx, b, db)
		if err != nil {
			return err
		}
		return l.onDatabase(ctx, store.Postgres, func(_ string, b *bare, db *sql.DB) error {
			l.say("hot paths and pages beside %d calls", calls)
			if err := l.fillHistory(ctx, b, db, calls); err != nil {
				return err
			}
			with, err := l.hotPaths(ctx, b, db)
			if err != nil {
				return err
			}
			return l.compareHistories(ctx, r, calls, without, with)
		})
	})
}

// hotPath is something that is done on a database.
type hotPath struct {
	name string
	page bool
	do   work
}

// compareHistories measures everything on both databases, one after the other each time.
func (l databases) compareHistories(ctx context.Context, r *report, calls int, without, with []hotPath) error {
	add := func(name string, before, after float64) {
		r.reach(goalFigures{
			Name: fmt.Sprintf("%s beside %d calls", name, calls), Got: after / before, Goal: historyGoal, Unit: "x",
			Beside: fmt.Sprintf("PostgreSQL, calls of %d months; p50 %.2f ms, %.2f ms without them", historyMonths, after, before),
		})
	}
	var allBefore, allAfter, worstBefore, worstAfter float64
	worst := ""
	for i, path := range without {
		n := choose(l.lab, 1000, 5)
		if path.page {
			n = choose(l.lab, 50, 3)
		}
		before, after, err := inPairs(ctx, n, path.do, with[i].do)
		if err != nil {
			return fmt.Errorf("%s: %w", path.name, err)
		}
		if !path.page {
			add(path.name, before, after)
			continue
		}
		allBefore, allAfter = allBefore+before, allAfter+after
		if worst == "" || after/before > worstAfter/worstBefore {
			worst, worstBefore, worstAfter = path.name, before, after
		}
	}
	add("all pages, one after the other,", allBefore, allAfter)
	add("the page that grows most, "+worst+",", worstBefore, worstAfter)
	return nil
}

// inPairs does one thing and then another, n times after a few that do not count, and
// returns the p50 of each in milliseconds.
func inPairs(ctx context.Context, n int, one, other work) (float64, float64, error) {
	var took [2][]time.Duration
	for i := range n + max(1, n/10) {
		for side, do := range []work{one, other} {
			begin := time.Now()
			if err := do(ctx, 0); err != nil {
				return 0, 0, err
			}
			if i >= max(1, n/10) {
				took[side] = append(took[side], time.Since(begin))
			}
		}
	}
	return ms(percentile(took[0], 50)), ms(percentile(took[1], 50)), nil
}

// hotPaths are what every call does, and the pages of an account with a year of calls
// of its own.
func (l databases) hotPaths(ctx context.Context, b *bare, db *sql.DB) ([]hotPath, error) {
	if err := fillJobs(ctx, db, store.Postgres, 100, 10); err != nil {
		return nil, err
	}
	a := &large{db: db, blob: bytesOf(store.Postgres), part: 100}
	if err := a.fill(ctx, b); err != nil {
		return nil, err
	}
	pages, err := b.pages()
	if err != nil {
		return nil, err
	}
	cookie, err := b.signIn(ctx, pages.Handler(), a.account)
	if err != nil {
		return nil, err
	}
	list := []hotPath{
		{"a paid call", false, b.make(pdfRequest(invoice()))},
		{"a key's account", false, func(ctx context.Context, _ int) error {
			_, _, err := b.store.KeyBySecret(ctx, b.keys[0])
			return err
		}},
		{"a job that is claimed, and waits again,", false, func(ctx context.Context, _ int) error {
			job, err := b.store.ClaimJob(ctx, b.lease)
			if err == nil {
				_, err = db.ExecContext(ctx, `UPDATE jobs SET state = 'queued', lease = '' WHERE call_id = $1`, job.Call.ID)
			}
			return err
		}},
	}
	for _, path := range a.paths(pages) {
		list = append(list, hotPath{a.shown(path), true, func(ctx context.Context, _ int) error {
			return visit(ctx, pages.Handler(), cookie, path)
		}})
	}
	return list, nil
}

// fillHistory writes calls of others, as many in each month before this one, with ids
// that are shorter than real ones. Their partitions are made as the service makes them,
// when each month began.
func (l databases) fillHistory(ctx context.Context, b *bare, db *sql.DB, calls int) (err error) {
	blobs, err := blob.NewDisk(filepath.Join(b.dir, "history"))
	if err != nil {
		return err
	}
	at := time.Now().AddDate(0, -historyMonths, 0)
	then, err := store.Open(ctx, store.Config{URL: b.database, DataDir: b.dir, Blobs: blobs, Now: func() time.Time { return at }})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, then.Close()) }()
	for month := range historyMonths {
		first := time.Now().UTC().AddDate(0, month-historyMonths, 0)
		at = first
		if err := then.MakePartitions(ctx); err != nil {
			return err
		}
		for made := 0; made < calls/historyMonths; made += historyBatch {
			when := first.Add(time.Duration(made) * time.Millisecond)
			_, err := db.ExecContext(ctx, `INSERT INTO calls (id, result_id, account_id, key_id, operation, mode, request_id, lease, metered, quote, charge, status, day, created_at, ended_at, duration)
				SELECT 'call_' || $1::text || lpad(n::text, 9, '0'), 'file_' || $1::text || lpad(n::text, 9, '0'), 'acc_' || n % $2, 'key_' || n % $2, 'pdf.create', 'binary', 'req', '', TRUE, 2000, 2000, 'done', $3, $4, $4, 400
				FROM generate_series($5::bigint, $6) AS n`, idAt(when), historyAccounts, when.Unix()/(24*60*60), when.UnixMicro(), made+1, min(made+historyBatch, calls/historyMonths))
			if err != nil {
				return err
			}
		}
		l.say("%d of %d months are written", month+1, historyMonths)
	}
	var size int64
	if err := db.QueryRowContext(ctx, "SELECT pg_database_size(current_database())").Scan(&size); err != nil {
		return err
	}
	l.say("%d calls take %.1f GB", calls, float64(size)/1e9)
	return analyze(ctx, db)
}
