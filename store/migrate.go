package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/migrate"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// columnTypes is the data of the migration templates: the spellings in which
// the two databases differ.
type columnTypes struct {
	Postgres                     bool
	ID, Int, Bytes, Bool, Serial string
	// What stands behind a table: Hot ones have rows that are changed all the
	// time, Monthly ones are partitioned.
	Strict, Hot, Monthly string
}

func columnTypesFor(dialect string) columnTypes {
	if dialect == Postgres {
		return columnTypes{
			Postgres: true, ID: `TEXT COLLATE "C"`, Int: "BIGINT", Bytes: "BYTEA", Bool: "BOOLEAN",
			Serial: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
			// Room beside a row lets its new version stay on the page, out of the indexes.
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
func migrateSchema(ctx context.Context, db *bun.DB, dialect string, now time.Time) error {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return err
	}
	set := migrate.NewMigrations()
	if err := set.Discover(files); err != nil {
		return err
	}
	m := migrate.NewMigrator(db, set,
		migrate.WithTemplateData(columnTypesFor(dialect)),
		migrate.WithMarkAppliedOnSuccess(true))
	if err := m.Init(ctx); err != nil {
		return err
	}
	if _, err = m.Migrate(ctx); err != nil {
		return err
	}
	if err := makePartitions(ctx, db, dialect, now); err != nil {
		return err
	}
	return nil
}

// migrationLock is the PostgreSQL advisory lock under which the schema is
// changed ("relaypdf" in ASCII).
const migrationLock = 0x72656c6179706466

// withAdvisoryLock runs fn while this process alone holds the migration lock of
// the PostgreSQL database. The lock is a transaction's: it goes with it, however
// that ends, and a pooler of connections leaves it where it was taken.
func withAdvisoryLock(ctx context.Context, db *bun.DB, fn func() error) error {
	return transactOnce(ctx, db, func(ctx context.Context, tx bun.Tx) error {
		for _, statement := range []string{
			// The server may end transactions that wait for as long as a migration takes.
			"SET LOCAL idle_in_transaction_session_timeout = 0",
			"SET LOCAL statement_timeout = 0",
			"SET LOCAL lock_timeout = 0",
			fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", int64(migrationLock)),
		} {
			if _, err := tx.Tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return fn()
	})
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
