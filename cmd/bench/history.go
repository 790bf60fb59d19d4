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
// with very many calls of others in the months before.
func (l databases) history(ctx context.Context, r *report) error {
	calls := choose(l.lab, l.rows, 5000)
	var without, with []timed
	for _, run := range []struct {
		calls int
		to    *[]timed
	}{{0, &without}, {calls, &with}} {
		err := l.onDatabase(ctx, store.Postgres, func(_ string, b *bare, db *sql.DB) (err error) {
			l.say("hot paths and pages beside %d calls", run.calls)
			if err := l.fillHistory(ctx, b, db, run.calls); err != nil {
				return err
			}
			*run.to, err = l.hotPaths(ctx, b, db)
			return err
		})
		if err != nil {
			return err
		}
	}
	pages := [2]float64{}
	add := func(name string, without, with float64) {
		r.reach(goalFigures{
			Name: fmt.Sprintf("%s beside %d calls", name, calls), Got: with / without, Goal: historyGoal, Unit: "x",
			Beside: fmt.Sprintf("PostgreSQL, calls of %d months; p50 %.2f ms, %.2f ms without them", historyMonths, with, without),
		})
	}
	worst := 0
	for i, t := range without {
		if !t.page {
			add(t.name, t.p50, with[i].p50)
			continue
		}
		pages[0], pages[1] = pages[0]+t.p50, pages[1]+with[i].p50
		if !without[worst].page || with[i].p50/t.p50 > with[worst].p50/without[worst].p50 {
			worst = i
		}
	}
	add("all pages, one after the other,", pages[0], pages[1])
	add("the page that grows most, "+without[worst].name+",", without[worst].p50, with[worst].p50)
	return nil
}

// timed is what something took in half of the cases, in milliseconds.
type timed struct {
	name string
	page bool
	p50  float64
}

// hotPaths measures what every call does, and the pages of an account with a year of
// calls of its own.
func (l databases) hotPaths(ctx context.Context, b *bare, db *sql.DB) ([]timed, error) {
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
	var list []timed
	measure := func(name string, page bool, n int, do work) error {
		took, err := each(ctx, n, do)
		if err == nil {
			list = append(list, timed{name, page, ms(percentile(took, 50))})
		}
		return err
	}
	err = errors.Join(
		measure("a paid call", false, choose(l.lab, 1000, 20), b.make(pdfRequest(invoice()))),
		measure("a key's account", false, choose(l.lab, 1000, 20), func(ctx context.Context, _ int) error {
			_, _, err := b.store.KeyBySecret(ctx, b.keys[0])
			return err
		}),
		measure("a job that is claimed, and waits again,", false, choose(l.lab, 300, 10), func(ctx context.Context, _ int) error {
			job, err := b.store.ClaimJob(ctx, b.lease)
			if err == nil {
				_, err = db.ExecContext(ctx, `UPDATE jobs SET state = 'queued', lease = '' WHERE call_id = $1`, job.Call.ID)
			}
			return err
		}),
	)
	for _, path := range a.paths(pages) {
		err = errors.Join(err, measure(a.shown(path), true, choose(l.lab, 50, 3), func(ctx context.Context, _ int) error {
			return visit(ctx, pages.Handler(), cookie, path)
		}))
	}
	return list, err
}

// fillHistory writes calls of others, as many in each month before this one, with ids
// that are shorter than real ones. Their partitions are made as the service makes them,
// when each month began.
func (l databases) fillHistory(ctx context.Context, b *bare, db *sql.DB, calls int) (err error) {
	if calls == 0 {
		return nil
	}
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
