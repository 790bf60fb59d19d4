package main

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"

	"relaypdf/api"
	"relaypdf/render"
	"relaypdf/store"
	"relaypdf/store/storetest"
)

// riverIdlers are the workers of River alone for jobs that do nothing: enough
// that a look for jobs brings many, so that it is River's own rate, and not that
// of its looks.
const riverIdlers = 100

// printArgs are the arguments of River's jobs.
type printArgs struct {
	HTML string `json:"html"`
}

// Kind names them.
func (printArgs) Kind() string { return "print" }

type printWorker struct {
	river.WorkerDefaults[printArgs]

	q      queueUnderTest
	render *render.Renderer // nil does nothing
	blobs  store.Blobs
}

// Work prints a document and stores it, as the service does it.
func (w *printWorker) Work(ctx context.Context, job *river.Job[printArgs]) error {
	w.q.begun <- time.Now()
	if w.render == nil {
		return nil
	}
	document, err := w.render.PDF(ctx, "bench", render.Source{HTML: job.Args.HTML}, render.Page{}, render.PDF{})
	if err != nil {
		return err
	}
	_, err = w.blobs.Put(ctx, "job"+strconv.FormatInt(job.ID, 10), document.Body.Open())
	return errors.Join(err, document.Body.Close())
}

// riverAlone measures n jobs of River on a database of its own, as durable as
// ours. Without a renderer they do nothing.
func (l *lab) riverAlone(ctx context.Context, database string, renderer *render.Renderer, n int) (speed queueSpeed, err error) {
	dir, err := os.MkdirTemp(l.dir, "river-")
	if err != nil {
		return speed, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w := &printWorker{q: newQueueUnderTest(), render: renderer}
	if w.blobs, err = store.NewDiskBlobs(filepath.Join(dir, "blobs")); err != nil {
		return speed, err
	}
	if database == store.Postgres {
		return l.riverOnPostgres(ctx, w, n)
	}
	return l.riverOnSQLite(ctx, w, filepath.Join(dir, "river.db"), n)
}

func (l *lab) riverOnPostgres(ctx context.Context, w *printWorker, n int) (speed queueSpeed, err error) {
	address, drop, err := storetest.NewDatabase()
	if err != nil {
		return speed, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	pool, err := pgxpool.New(ctx, address)
	if err != nil {
		return speed, err
	}
	defer pool.Close()
	return riverWith(ctx, l, riverUnderTest[pgx.Tx]{
		worker: w, driver: riverpgxv5.New(pool), jobs: n,
		inTx: func(ctx context.Context, insert func(pgx.Tx) error) error { return pgx.BeginFunc(ctx, pool, insert) },
	})
}

func (l *lab) riverOnSQLite(ctx context.Context, w *printWorker, path string, n int) (speed queueSpeed, err error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return speed, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	return riverWith(ctx, l, riverUnderTest[*sql.Tx]{
		worker: w, driver: riversqlite.New(db), jobs: n,
		inTx: func(ctx context.Context, insert func(*sql.Tx) error) error {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			if err := insert(tx); err != nil {
				return errors.Join(err, tx.Rollback())
			}
			return tx.Commit()
		},
	})
}

// riverUnderTest is River with one driver, and the number of jobs to measure.
type riverUnderTest[Tx any] struct {
	worker *printWorker
	driver riverdriver.Driver[Tx]
	inTx   func(context.Context, func(Tx) error) error
	jobs   int
}

// riverWith measures River. A job is done when River has recorded that.
func riverWith[Tx any](ctx context.Context, l *lab, u riverUnderTest[Tx]) (speed queueSpeed, err error) {
	migrator, err := rivermigrate.New(u.driver, nil)
	if err != nil {
		return speed, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return speed, err
	}
	workers, q := river.NewWorkers(), u.worker.q
	river.AddWorker(workers, u.worker)
	atOnce, html := riverIdlers, ""
	if u.worker.render != nil {
		atOnce, html = api.DefaultWorkers(), invoice()
	}
	client, err := river.NewClient(u.driver, &river.Config{
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: atOnce}},
		Workers: workers, FetchCooldown: 10 * time.Millisecond, FetchPollInterval: 50 * time.Millisecond,
	})
	if err != nil {
		return speed, err
	}
	completed, unsubscribe := client.SubscribeConfig(&river.SubscribeConfig{
		Kinds: []river.EventKind{river.EventKindJobCompleted}, ChanSize: cap(q.done),
	})
	defer unsubscribe()
	go func() {
		for range completed {
			q.done <- time.Now()
		}
	}()
	if err := client.Start(ctx); err != nil {
		return speed, err
	}
	defer func() { err = errors.Join(err, client.Stop(context.WithoutCancel(ctx))) }()
	q.insert = func(ctx context.Context, _ int) error {
		return u.inTx(ctx, func(tx Tx) error {
			_, err := client.InsertTx(ctx, tx, printArgs{HTML: html}, nil)
			return err
		})
	}
	return l.measure(ctx, q, u.jobs)
}
