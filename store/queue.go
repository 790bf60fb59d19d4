package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/uptrace/bun"
)

// The queue wakes workers; the table of jobs says what to do. A wake-up is a
// River job, inserted in the transaction that makes a job wait, and carried to
// a process that works: by NOTIFY on PostgreSQL, by polling on SQLite. Whoever
// gets it takes on the job of the account whose turn it is, which need not be
// the one that was inserted, and goes on until none waits: River knows no
// fairness between accounts, and its rescue of a dead process's job takes an
// hour where the lease takes none. One wake-up that nobody has taken yet is
// therefore enough: it stands for all jobs that wait, and each worker that finds
// one wakes the next of its process. Workers of the same process hear of a job
// without River, as soon as its transaction is committed. What a wake-up misses,
// because it was taken just before the commit, or because its process has no
// room for all, is found by looking.

// wakeArgs are the arguments of a wake-up: nothing of the job but the call's id.
type wakeArgs struct {
	CallID string `json:"call"`
}

// Kind names wake-ups in River's table.
func (wakeArgs) Kind() string { return "job" }

const (
	// sqlitePoll is how often a process looks for other processes' wake-ups in
	// SQLite.
	sqlitePoll = 250 * time.Millisecond
	// postgresPoll is for wake-ups whose notification was lost.
	postgresPoll = time.Second
	// fetchPause is the least time between two looks.
	fetchPause = 10 * time.Millisecond
	// wakeRetention is how long River keeps wake-ups that are done.
	wakeRetention = time.Minute
	// lookEvery is how often a process looks for jobs itself.
	lookEvery = time.Second
	// workerConns is for River's own statements, besides the store's pool.
	workerConns = 4
)

func queueDriver(db *bun.DB, dialect string) riverdriver.Driver[*sql.Tx] {
	if dialect == Postgres {
		return riverdatabasesql.New(db.DB)
	}
	return riversqlite.New(db.DB)
}

// newQueue returns a client that inserts wake-ups.
func newQueue(db *bun.DB, dialect string, log *slog.Logger) (*river.Client[*sql.Tx], error) {
	// River notifies of one insertion in this time, and is silent about the others.
	return river.NewClient(queueDriver(db, dialect), &river.Config{Logger: quiet(log), FetchCooldown: river.FetchCooldownMin})
}

// quiet drops River's remarks about itself; its errors stay.
func quiet(log *slog.Logger) *slog.Logger {
	return slog.New(errorsOnly{log.Handler()})
}

// errorsOnly is a handler that takes errors only.
type errorsOnly struct{ slog.Handler }

// Enabled tells whether the level is that of an error.
func (h errorsOnly) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError && h.Handler.Enabled(ctx, level)
}

// migrateQueue brings River's own tables up to date.
func migrateQueue(ctx context.Context, db *bun.DB, dialect string) error {
	m, err := rivermigrate.New(queueDriver(db, dialect), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

// wakesWaiting finds a wake-up that nobody has taken yet.
const wakesWaiting = `SELECT EXISTS (SELECT 1 FROM river_job WHERE state = 'available' AND queue = 'default' AND kind = 'job')`

// wake inserts a wake-up within a transaction, unless one waits already.
func (s *Store) wake(ctx context.Context, tx bun.Tx, callID string) error {
	var waiting bool
	if err := s.queryRow(ctx, tx, wakesWaiting).Scan(&waiting); err != nil || waiting {
		return err
	}
	_, err := s.queue.InsertTx(ctx, tx.Tx, wakeArgs{CallID: callID}, nil)
	return err
}

// wakeHere wakes a worker of this process, if it works. It is called when the
// transaction that made a job wait is committed.
func (s *Store) wakeHere() {
	if wake := s.local.Load(); wake != nil {
		(*wake)()
	}
}

// QueueConfig says how a process works.
type QueueConfig struct {
	// Workers is how many jobs run at once.
	Workers int
	// Work takes on jobs until none waits, or until stopping is done; then it
	// finishes the one it has. Its context ends when that takes too long.
	Work func(ctx context.Context, stopping <-chan struct{})
	// Grace is how long jobs may still run when the queue is stopped.
	Grace time.Duration
}

// wakeWorker carries out River's wake-ups.
type wakeWorker struct {
	river.WorkerDefaults[wakeArgs]

	work func(context.Context)
}

// Work carries out one wake-up.
func (w *wakeWorker) Work(ctx context.Context, _ *river.Job[wakeArgs]) error {
	w.work(ctx)
	return nil
}

// RunQueue works on jobs until ctx ends; then it lets those under way finish
// within the grace, and cuts off the rest. A store runs one queue at a time.
func (s *Store) RunQueue(ctx context.Context, cfg QueueConfig) error {
	g := &gate{limit: cfg.Workers}
	work := func(life context.Context) {
		g.run(func() { cfg.Work(life, ctx.Done()) })
	}
	var here sync.WaitGroup
	life, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	wake := func() { here.Go(func() { work(life) }) }
	s.local.Store(&wake)
	looking, stopLooking := context.WithCancel(ctx)
	here.Go(func() { s.lookForJobs(looking, wake) })
	err := s.runRiver(ctx, cfg, &wakeWorker{work: work})
	stopLooking()
	s.local.Store(nil)
	// River has waited for its own workers; these began at about the same time.
	overdue := time.AfterFunc(cfg.Grace, cut)
	defer overdue.Stop()
	here.Wait()
	return err
}

// lookForJobs wakes a worker whenever jobs wait, until ctx ends.
func (s *Store) lookForJobs(ctx context.Context, wake func()) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		// A database that does not answer is told of by whoever takes a job on.
		if waiting, err := s.jobsWait(ctx); waiting || err != nil {
			wake()
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// jobsWait reports whether jobs wait for a worker.
func (s *Store) jobsWait(ctx context.Context) (bool, error) {
	return s.read.NewSelect().Model((*jobRow)(nil)).Where("state = ?", jobQueued).Exists(ctx)
}

// runRiver takes River's wake-ups until ctx ends.
func (s *Store) runRiver(ctx context.Context, cfg QueueConfig, worker *wakeWorker) error {
	workers := river.NewWorkers()
	river.AddWorker(workers, worker)
	config := &river.Config{
		Queues:                      map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: cfg.Workers}},
		Workers:                     workers,
		FetchCooldown:               fetchPause,
		JobTimeout:                  -1,
		CompletedJobRetentionPeriod: wakeRetention,
		Logger:                      quiet(s.log),
	}
	if s.dialect == Postgres {
		return s.runQueuePostgres(ctx, cfg, config)
	}
	config.FetchPollInterval = sqlitePoll
	client, err := river.NewClient(queueDriver(s.write, s.dialect), config)
	if err != nil {
		return fmt.Errorf("run the queue: %w", err)
	}
	return runClient(ctx, client, cfg.Grace)
}

// runQueuePostgres works on a pool of its own, which can listen.
func (s *Store) runQueuePostgres(ctx context.Context, cfg QueueConfig, config *river.Config) error {
	pool, err := pgxpool.NewWithConfig(ctx, s.listenPool())
	if err != nil {
		return fmt.Errorf("run the queue: %w", err)
	}
	defer pool.Close()
	config.FetchPollInterval = postgresPoll
	client, err := river.NewClient[pgx.Tx](riverpgxv5.New(pool), config)
	if err != nil {
		return fmt.Errorf("run the queue: %w", err)
	}
	return runClient(ctx, client, cfg.Grace)
}

// listenPool is the configuration of River's pool, on the store's database.
func (s *Store) listenPool() *pgxpool.Config {
	cfg := s.pool.Copy()
	cfg.MaxConns = workerConns
	return cfg
}

// runClient runs a client until ctx ends, and stops it.
func runClient[Tx any](ctx context.Context, client *river.Client[Tx], grace time.Duration) error {
	life := context.WithoutCancel(ctx)
	if err := client.Start(life); err != nil {
		return fmt.Errorf("run the queue: %w", err)
	}
	<-ctx.Done()
	soft, cancel := context.WithTimeout(life, grace)
	defer cancel()
	err := client.Stop(soft)
	if errors.Is(err, context.DeadlineExceeded) {
		hard, cancel := context.WithTimeout(life, writeTimeout)
		defer cancel()
		err = client.StopAndCancel(hard)
	}
	if err != nil {
		return fmt.Errorf("stop the queue: %w", err)
	}
	return nil
}
