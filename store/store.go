// Package store stores accounts, keys, calls, money, results and leases in SQLite or PostgreSQL, and the bytes of
// results in blobs.
//
// A public method is one transaction; with SQLite, concurrent ones share a commit. Money moves only in the
// transaction of its cause, in integer microdollars, by UPDATEs with their own condition. It is recorded twice: in
// the journal, whose rows sum to zero over the books, and in the account's row, which the hot path reads.
// CheckLedger compares the two.
//
// All times are UTC with microsecond precision.
package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/store/durable"
)

// Names of the databases, as Dialect returns them.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

const (
	// openTimeout limits connecting; migrations have no limit, including those of another process.
	openTimeout = 60 * time.Second
	// writeTimeout bounds a writing transaction, the wait for the writer included.
	writeTimeout = 15 * time.Second
	// writeAttempts bounds how often PostgreSQL may ask for a transaction again.
	writeAttempts = 4
	// lostPause is the minimum and maxLostPause the maximum time between two
	// attempts of a transaction whose connection was lost.
	lostPause    = 10 * time.Millisecond
	maxLostPause = time.Second
)

// Config configures the store. The zero value of every field but DataDir has a meaning.
type Config struct {
	// URL is "sqlite:///abs/path.db", "sqlite:name.db" (a relative path is
	// taken from DataDir) or "postgres://…"; empty is DataDir/relaypdf.db.
	URL string
	// SessionURL is a URL of the same PostgreSQL database without a pooler that assigns a connection for one
	// transaction only; empty means URL. Listening and migrations use it. If it is set, no statement is prepared on
	// URL.
	SessionURL string
	// Conns bounds the connections to PostgreSQL; 0 is DefaultConns.
	Conns int
	// DataDir holds the SQLite database and the blobs. It is created with
	// mode 0700.
	DataDir string
	// RetentionMonths is the number of whole months of calls, deliveries and events before this one that are
	// retained; older ones are removed (Upkeep). 0 means all.
	RetentionMonths int
	// Blobs keeps the bytes of files; nil keeps them in DataDir/blobs.
	Blobs blob.Store
	// Region is the region of this process; empty means DefaultRegion. It is part of the IDs that the process
	// creates.
	Region string
	// Machine is the clock of this machine; nil is time.Now. On PostgreSQL it is
	// compared with the database's, whose time counts.
	Machine func() time.Time
	// Now replaces the machine's and the database's clock, if set.
	Now func() time.Time
	// Logger hears about background work that failed; nil is silence.
	Logger *slog.Logger
	// Watch sees every statement except those of the paid path; nil means none. Tests count statements with it.
	Watch bun.QueryHook
}

// Store is a handle of the database and its blobs. It is safe for concurrent use.
// Handles of the same database differ in the connections they read with.
type Store struct {
	*base
	read    *bun.DB  // SQLite: a pool of readers; PostgreSQL: the same pool as write
	reports *bun.DB  // a small pool for large reads
	reading compiled // on read; nil if nothing is prepared
	// readTimeout limits the reads of reports, including the wait for a connection.
	readTimeout time.Duration
}

// base is shared by all handles: the connections, the clock and the blobs.
type base struct {
	dialect      string
	path         string // of the SQLite database; empty with PostgreSQL
	dataDir      string
	region       string
	write        *bun.DB         // SQLite: the writer's connection, and one for concurrent reads
	pages        *bun.DB         // a small pool for the reads of pages (ForPages)
	writer       *groupCommitter // SQLite only
	writing      compiled
	postings     postingIDs
	accountSlots *accountSlots   // PostgreSQL only
	session      *pgx.ConnConfig // PostgreSQL only: how a connection for a session is made
	outage       *outage         // PostgreSQL only
	blobs        blob.Store
	now          func() time.Time
	clock        *clock // PostgreSQL only, unless Now is set
	log          *slog.Logger

	keyUses   chan string
	downloads tally[string, count] // not written yet
	requests  requestLog
	titles    titleLog
	usage     tally[usageCount, usageSum]
	// renewEvery is the interval at which a lease is renewed.
	renewEvery time.Duration
	retention  int           // months that stay; 0 is all
	due        chan struct{} // signals that a transaction has written deliveries
	// committed is the function that ListenJobs calls after a transaction that queues a job.
	committed atomic.Pointer[func() bool]
	// unnotified has an entry while other processes have to be notified of jobs.
	unnotified chan struct{}
	drift      atomic.Int64 // contradictions that the last check of a month found
	// paymentErrors counts those that this process has recorded.
	paymentErrors atomic.Int64
	// failedDeletions counts blobs that could not be deleted; dropFailed is when the last
	// of them was a dead process's result, by this machine's clock.
	failedDeletions, dropFailed atomic.Int64
	stop                        context.CancelFunc
	workers                     sync.WaitGroup
}

// Open connects to the database, creates or migrates its schema and prepares
// the blobs. Any number of processes may open the same database at once.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	s := &Store{readTimeout: reportTimeout, base: &base{
		dataDir:    cfg.DataDir,
		retention:  cfg.RetentionMonths,
		region:     cmp.Or(cfg.Region, DefaultRegion),
		blobs:      cfg.Blobs,
		now:        cfg.Now,
		log:        cfg.Logger,
		keyUses:    make(chan string, keyUseQueue),
		due:        make(chan struct{}, 1),
		unnotified: make(chan struct{}, 1),
	}}
	s.renewEvery = leaseEvery
	chooseClock(s, cfg)

	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := CheckRegion(s.region); err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}

	if err := s.prepareFolders(); err != nil {
		return nil, err
	}
	if err := s.connect(ctx, cfg); err != nil {
		return nil, err
	}
	watch(s, cfg.Watch)

	// The store's work ends with Close, not with the context it was opened in.
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.work(work, "key uses", s.recordKeyUses)
	s.work(work, "downloads", func(ctx context.Context) { s.writeBehind(ctx, s.writeDownloads) })
	s.work(work, "requests", func(ctx context.Context) { s.writeBehind(ctx, s.writeRequests) })
	s.work(work, "titles", func(ctx context.Context) { s.writeBehind(ctx, s.writeTitles) })
	s.work(work, "usage", func(ctx context.Context) { s.writeBehind(ctx, s.writeUsage) })

	if s.writer != nil {
		s.work(work, "checkpoints", func(ctx context.Context) {
			s.writer.checkpoints(ctx, func(err error) { s.log.Warn("checkpoint failed", "error", err) })
		})
	}

	if s.dialect == Postgres {
		s.work(work, "notifications of jobs", s.notifyJobs)
		s.work(work, "outages", func(ctx context.Context) { s.outage.watch(ctx, s.log) })
	}
	if s.clock != nil {
		s.work(work, "clock", s.watchClock)
	}

	return s, nil
}

// ForPages returns a handle of the store for pages: it reads with its own connections, each statement within
// pageTimeout, so that neither pages nor paid calls wait for each other. It writes as s does, and ends with s.
func (s *Store) ForPages() *Store {
	return &Store{base: s.base, read: s.pages, reports: s.pages, readTimeout: pageTimeout}
}

// work runs background work of the store until ctx ends.
func (s *Store) work(ctx context.Context, name string, run func(context.Context)) {
	s.workers.Go(func() { guard.Loop(ctx, s.log, name, run) })
}

// chooseClock chooses the source of the time.
func chooseClock(s *Store, cfg Config) {
	if s.now != nil {
		return
	}

	s.now = cfg.Machine
	if s.now == nil {
		s.now = time.Now
	}

	if isPostgres(cfg.URL) {
		s.clock = &clock{machine: s.now}
		s.now = s.clock.now
	}
}

func (s *Store) prepareFolders() error {
	if s.dataDir == "" {
		return errors.New("open the store: no data folder is set; name one that this user may write to")
	}

	dir, err := filepath.Abs(s.dataDir)
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	s.dataDir = dir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("open the store: create the data folder: %w; choose a folder that this user may write to",
			err)
	}

	if s.blobs == nil {
		if s.blobs, err = blob.NewDisk(filepath.Join(dir, "blobs")); err != nil {
			return fmt.Errorf("open the store: %w", err)
		}
	}

	return nil
}

// Close ends background work and closes the connections.
func (s *Store) Close() error {
	s.stop()
	s.workers.Wait()
	return s.closeConnections()
}

func (s *Store) closeConnections() error {
	if s.writer != nil {
		s.writer.close()
	}
	err := errors.Join(s.write.Close(), s.reports.Close(), s.pages.Close())
	if s.read != s.write {
		err = errors.Join(err, s.read.Close())
	}
	return err
}

// Ping reports whether the database answers, can be read and accepts writes, and
// whether SQLite's disk has room for them.
func (s *Store) Ping(ctx context.Context) error {
	if s.dialect == Postgres {
		return s.checkPostgres(ctx)
	}

	if err := durable.CheckFreeSpace(filepath.Dir(s.path)); err != nil {
		return err
	}

	var one int
	if err := s.read.NewRaw("SELECT 1 FROM accounts UNION ALL SELECT 1 LIMIT 1").Scan(ctx, &one); err != nil {
		return err
	}

	// It writes a page, and need not bring it to the disk.
	err := s.inTx(context.WithValue(ctx, deferSync{}, true), func(ctx context.Context, tx txn) error {
		return execTx(ctx, tx, "PRAGMA user_version = 0")
	})
	if err != nil {
		return fmt.Errorf("the database %s accepts no writes: %w", s.path, err)
	}

	return nil
}

// CheckDisks returns an error if the disk of the data folder or of temporary files is full or gone.
func (s *Store) CheckDisks() error { return durable.CheckFreeSpace(s.dataDir, os.TempDir()) }

// NoRoom reports whether an error means that a disk of this machine is full or gone.
func NoRoom(err error) bool { return errors.Is(err, durable.ErrFull) }

// Dialect returns SQLite or Postgres.
func (s *Store) Dialect() string { return s.dialect }

// Blobs returns the storage of files' bytes.
func (s *Store) Blobs() blob.Store { return s.blobs }

// reportTimeout limits a report that a client waits for, including the wait for a connection.
const reportTimeout = 20 * time.Second

// inReport is inSnapshot within the time that the handle gives reads.
func (s *Store) inReport(ctx context.Context, fn func(context.Context, txn) error) error {
	ctx, cancel := withDeadline(ctx, s.readTimeout)
	defer cancel()
	return s.inSnapshot(ctx, fn)
}

// inSnapshot runs fn in one reading transaction that sees a single state. It has its own connections, so large reads
// block no one else.
func (s *Store) inSnapshot(ctx context.Context, fn func(context.Context, txn) error) error {
	opts := &sql.TxOptions{ReadOnly: true}
	if s.dialect == Postgres {
		opts.Isolation = sql.LevelRepeatableRead
	}
	return s.reports.RunInTx(ctx, opts, func(ctx context.Context, tx bun.Tx) error { return fn(ctx, onPool(tx)) })
}

// notFound turns the absence of a row into ErrNotFound.
func notFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

// changed reports whether a statement changed a row.
func changed(res sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n > 0, err
}
