package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/migrate"

	"github.com/relaypdf/relaypdf/internal/guard"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// columnTypes is the data of the migration templates: the spellings in which
// the two databases differ.
type columnTypes struct {
	Postgres                     bool
	ID, Int, Bytes, Bool, Serial string
	// Clauses after a table definition: rows of Hot tables change all the time, Monthly tables are partitioned.
	Strict, Hot, Monthly string

	hasColumn func(table, column string) (bool, error)
}

// Lacks reports whether a column is missing when its migration begins. ADD COLUMN asks it, because every statement can
// be repeated, and SQLite has no ADD COLUMN IF NOT EXISTS.
func (c columnTypes) Lacks(table, column string) (bool, error) {
	has, err := c.hasColumn(table, column)
	return !has, err
}

func columnTypesFor(dialect string) columnTypes {
	if dialect == Postgres {
		return columnTypes{
			Postgres: true, ID: `TEXT COLLATE "C"`, Int: "BIGINT", Bytes: "BYTEA", Bool: "BOOLEAN",
			Serial: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
			// Free space on the page lets an updated row stay there, without new index entries.
			Hot: " WITH (fillfactor = 50)", Monthly: " PARTITION BY RANGE (id)",
		}
	}

	return columnTypes{
		ID: "TEXT", Int: "INTEGER", Bytes: "BLOB", Bool: "INTEGER",
		Serial: "INTEGER PRIMARY KEY AUTOINCREMENT", Strict: " STRICT", Hot: " STRICT", Monthly: " STRICT",
	}
}

// migrateSchema brings the schema up to date. The caller holds the lock that
// keeps other processes out.
func migrateSchema(ctx context.Context, log *slog.Logger, db *bun.DB, dialect string, now time.Time) error {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return err
	}

	m, err := newMigrator(ctx, db, dialect, files)
	if err != nil {
		return err
	}

	for _, step := range []func() error{
		func() error { _, err := m.Migrate(ctx); return err },
		func() error { return makePartitions(ctx, db, dialect, now) },
	} {
		if err := untilUnlocked(ctx, log, step); err != nil {
			return err
		}
	}

	return nil
}

// columnQueries report whether a table has a column.
var columnQueries = map[string]string{
	SQLite: "SELECT count(*) > 0 FROM pragma_table_info(?) WHERE name = ?",
	Postgres: "SELECT count(*) > 0 FROM information_schema.columns " +
		"WHERE table_schema = current_schema() AND table_name = ? AND column_name = ?",
}

// newMigrator returns the migrator of the files for a database that can be brought up to date.
func newMigrator(ctx context.Context, db *bun.DB, dialect string, files fs.FS) (*migrate.Migrator, error) {
	set := migrate.NewMigrations()
	if err := set.Discover(files); err != nil {
		return nil, err
	}

	types := columnTypesFor(dialect)
	types.hasColumn = func(table, column string) (has bool, err error) {
		err = db.NewRaw(columnQueries[dialect], table, column).Scan(ctx, &has)
		return has, err
	}

	options := []migrate.MigratorOption{
		migrate.WithTemplateData(types),
		migrate.WithMarkAppliedOnSuccess(true),
	}
	if dialect == Postgres {
		options = append(options, migrate.BeforeMigration(boundMigration), migrate.AfterMigration(unboundMigration))
	}

	m := migrate.NewMigrator(db, set, options...)
	if err := m.Init(ctx); err != nil {
		return nil, err
	}
	return m, checkRelease(ctx, m)
}

// firstMigration is the name of the oldest whose databases the initial migration completes (ADR 41).
const firstMigration = "0100"

// ErrBeforeRelease means that the schema of a database was made before the first release.
var ErrBeforeRelease = errors.New("the database has the schema of a version before 1.0, which cannot be brought up " +
	"to date; use an empty database")

// checkRelease returns ErrBeforeRelease for a database that has migrations from before
// the first release.
func checkRelease(ctx context.Context, m *migrate.Migrator) error {
	applied, err := m.AppliedMigrations(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(applied, func(done migrate.Migration) bool { return done.Name < firstMigration }) {
		return ErrBeforeRelease
	}
	return nil
}

// A migration that waits for the lock of a table keeps everyone waiting who comes
// after it, readers included. It therefore waits for lockTimeout only, lets the others
// pass, and is tried again.
const (
	// migrationTimeout bounds the attempts of a migration, and of a start.
	migrationTimeout = 10 * time.Minute
	// unlockPause is the pause in which others can take the lock between two attempts.
	unlockPause = time.Second
)

// boundLocks bounds the wait for a lock in the transaction under way.
var boundLocks = fmt.Sprintf("SET LOCAL lock_timeout = %d", lockTimeout.Milliseconds())

// boundMigration limits the locks of a migration that is a transaction. Other migrations build indexes concurrently:
// they wait for old transactions, and block no one.
func boundMigration(ctx context.Context, db bun.IConn, _ *migrate.Migration) error {
	bound := "SET lock_timeout = 0"
	if _, isTx := db.(bun.Tx); isTx {
		bound = boundLocks
	}
	_, err := db.ExecContext(ctx, bound)
	return err
}

// unboundMigration undoes boundMigration, as the connection stays.
func unboundMigration(ctx context.Context, db bun.IConn, _ *migrate.Migration) error {
	if _, isTx := db.(bun.Tx); isTx {
		return nil
	}
	_, err := db.ExecContext(ctx, "RESET lock_timeout")
	return err
}

// untilUnlocked runs a step of a migration or of a start, and repeats it while another process holds the lock it needs:
// a transaction that was forgotten or whose process is stopped. On SQLite that is the one lock of all writers.
func untilUnlocked(ctx context.Context, log *slog.Logger, step func() error) error {
	for begin := time.Now(); ; {
		err := step()
		if !locked(err) && !sqliteBusy(err) || time.Since(begin) > migrationTimeout {
			return err
		}
		log.LogAttrs(ctx, slog.LevelWarn,
			"waiting for a lock of the database; find long transactions in pg_stat_activity, "+
				"or the process that has the SQLite file open",
			slog.Float64("waitedSeconds", time.Since(begin).Round(time.Second).Seconds()), slog.Any("error", err))
		if guard.Pause(ctx, unlockPause); ctx.Err() != nil {
			return err
		}
	}
}

// migrationLock is the PostgreSQL advisory lock under which the schema is
// changed ("relaypdf" in ASCII).
const migrationLock = 0x72656c6179706466

// lockPause is the minimum and maxLockPause the maximum time between two attempts
// to get the migration lock.
const (
	lockPause    = 20 * time.Millisecond
	maxLockPause = time.Second
)

// withAdvisoryLock runs fn while this process alone holds the migration lock of the PostgreSQL database. The lock
// belongs to a transaction and ends with it, so it also works behind a connection pooler. A process without the lock
// polls, for as long as it takes: a waiting transaction would occupy a pooled connection, and a concurrent index
// build would wait for the transaction.
func withAdvisoryLock(ctx context.Context, db *bun.DB, fn func() error) error {
	for pause := lockPause; ; pause = min(2*pause, maxLockPause) {
		mine, err := tryAdvisoryLock(ctx, db, migrationLock, fn)
		if err != nil || mine {
			return err
		}
		if guard.Pause(ctx, pause); ctx.Err() != nil {
			return fmt.Errorf("wait for another process that is opening the same database: %w", ctx.Err())
		}
	}
}

// tryAdvisoryLock runs fn while this process alone holds a lock of the PostgreSQL
// database, or reports that it is another's.
func tryAdvisoryLock(ctx context.Context, db *bun.DB, lock int64, fn func() error) (mine bool, err error) {
	err = transactOnce(ctx, poolTx(db), func(ctx context.Context, tx txn) error {
		err := tx.direct.QueryRowContext(ctx, fmt.Sprintf("SELECT pg_try_advisory_xact_lock(%d)", lock)).Scan(&mine)
		if err != nil || !mine {
			return err
		}

		// The server may end idle transactions while fn runs. This comes last: a query keeps its snapshot until the
		// next statement, and a concurrent index build would wait for it.
		if _, err := tx.direct.ExecContext(ctx, "SET LOCAL idle_in_transaction_session_timeout = 0"); err != nil {
			return err
		}

		return fn()
	})
	return mine, err
}

// withFileLock runs fn while this process alone holds the lock file at path.
// The kernel frees the lock when its holder dies.
func withFileLock(ctx context.Context, path string, fn func() error) error {
	f, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}

	locked := make(chan error, 1)
	go func() { locked <- syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }()

	select {
	case err = <-locked:
		defer f.Close()
	case <-ctx.Done():
		// The flock cannot be interrupted; its file is closed when it returns.
		go func() { _ = errors.Join(<-locked, f.Close()) }()
		return fmt.Errorf("wait for another process that is opening the same database (lock %s): %w", path, ctx.Err())
	}
	if err != nil {
		return err
	}

	return fn()
}
