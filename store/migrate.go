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

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/migrate"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// columnTypes is the data of the migration templates: the spellings in which
// the two databases differ.
type columnTypes struct {
	Int, Bytes, Bool, Serial, Strict string
}

func columnTypesFor(dialect string) columnTypes {
	if dialect == Postgres {
		return columnTypes{
			Int: "BIGINT", Bytes: "BYTEA", Bool: "BOOLEAN",
			Serial: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
		}
	}
	return columnTypes{
		Int: "INTEGER", Bytes: "BLOB", Bool: "INTEGER",
		Serial: "INTEGER PRIMARY KEY AUTOINCREMENT", Strict: " STRICT",
	}
}

// migrateSchema brings the schema up to date. The caller holds the lock that
// keeps other processes out.
func migrateSchema(ctx context.Context, db *bun.DB, dialect string) error {
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
	return migrateQueue(ctx, db, dialect)
}

// migrationLock is the PostgreSQL advisory lock under which the schema is
// changed ("relaypdf" in ASCII).
const migrationLock = 0x72656c6179706466

// withAdvisoryLock runs fn while this process alone holds the migration lock of
// the PostgreSQL database. The lock goes with its connection, so that a process
// that dies in between blocks nobody.
func withAdvisoryLock(ctx context.Context, db *bun.DB, fn func() error) error {
	conn, err := db.DB.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("SELECT pg_advisory_lock(%d)", int64(migrationLock))); err != nil {
		return err
	}
	err = fn()
	// Without the unlock the pooled connection would keep the lock.
	_, unlockErr := conn.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf("SELECT pg_advisory_unlock(%d)", int64(migrationLock)))
	if err != nil {
		return err
	}
	return unlockErr
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
