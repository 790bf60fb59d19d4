package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"
)

// databaseName is the SQLite file in the data folder when no URL is set.
const databaseName = "relaypdf.db"

func (s *Store) connect(ctx context.Context, cfg Config) error {
	err := s.connectAny(ctx, cfg)
	if errors.Is(err, ErrBeforeRelease) {
		return fmt.Errorf("open the store: %w", ErrBeforeRelease)
	}
	return err
}

// connectAny opens the database that the URL names.
func (s *Store) connectAny(ctx context.Context, cfg Config) error {
	rawURL := cfg.URL
	switch {
	case rawURL == "" || strings.HasPrefix(rawURL, "sqlite:"):
		path, err := sqlitePath(rawURL, s.dataDir)
		if err != nil {
			return err
		}
		if err := s.connectSQLite(ctx, path); err != nil {
			return fmt.Errorf("open the SQLite database %s: %w; check that this user can write to the file and "+
				"its folder, and that the disk has free space", path, err)
		}
		return nil

	case isPostgres(rawURL):
		if err := s.connectPostgres(ctx, cfg); err != nil {
			return fmt.Errorf("open the PostgreSQL database: %w; check that PostgreSQL runs, and that host, name, "+
				"user and password in the database URL are correct", err)
		}
		return nil
	}

	// The URL may hold a password, so that the message leaves it out.
	return errors.New("open the store: the database URL must start with sqlite: or postgres://")
}

// watch adds a hook that sees every statement from now on.
func watch(s *Store, hook bun.QueryHook) {
	if hook == nil {
		return
	}

	s.write = s.write.WithQueryHook(hook)
	s.read = s.read.WithQueryHook(hook)
	s.reports = s.reports.WithQueryHook(hook)
	s.pages = s.pages.WithQueryHook(hook)

	if s.dialect == Postgres {
		s.read = s.write
	}
	if s.writer != nil {
		s.writer.close()
		s.writer.db = s.write
	}
}

func isPostgres(rawURL string) bool {
	return strings.HasPrefix(rawURL, "postgres://") || strings.HasPrefix(rawURL, "postgresql://")
}

// sqlitePath returns the absolute path that a "sqlite:" URL names.
func sqlitePath(rawURL, dataDir string) (string, error) {
	path := strings.TrimPrefix(strings.TrimPrefix(rawURL, "sqlite:"), "//")
	if rawURL == "" {
		path = databaseName
	}

	if path == "" || strings.ContainsAny(path, "?#\x00") {
		return "", errors.New(
			"open the store: a SQLite URL is sqlite:///absolute/path.db or sqlite:name.db, without parameters")
	}

	if !filepath.IsAbs(path) {
		path = filepath.Join(dataDir, path)
	}
	return filepath.Clean(path), nil
}

// connectSQLite opens the writing connection and a pool of reading ones. All
// writers of the process queue in Go for the one connection instead of meeting
// SQLITE_BUSY; other processes are waited for by busy_timeout.
func (s *Store) connectSQLite(ctx context.Context, path string) error {
	s.dialect = SQLite
	s.path = path

	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}

	// SQLite gives its -wal and -shm files the mode of the database.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}

	s.write, err = openSQLite(path, "_txlock=immediate", fmt.Sprintf("_pragma=wal_autocheckpoint(%d)", maxLog))
	if err != nil {
		return err
	}
	s.write.SetMaxOpenConns(2) // One is permanently the writer's.

	// Switching to WAL needs the file for itself, so it happens under the lock too.
	err = withFileLock(ctx, path+".lock", func() error { return migrateSchema(ctx, s.log, s.write, SQLite, s.now()) })
	if err != nil {
		return errors.Join(err, s.write.Close())
	}

	if s.read, err = openSQLite(path, "_pragma=query_only(1)"); err != nil {
		return errors.Join(err, s.write.Close())
	}
	if s.reports, err = openSQLite(path, "_pragma=query_only(1)"); err != nil {
		return errors.Join(err, s.write.Close(), s.read.Close())
	}
	if s.pages, err = openSQLite(path, "_pragma=query_only(1)"); err != nil {
		return errors.Join(err, s.write.Close(), s.read.Close(), s.reports.Close())
	}

	s.pages = s.pages.WithQueryHook(deadlines{pageTimeout})
	s.reports.SetMaxOpenConns(reportConns)
	s.pages.SetMaxOpenConns(pageConns)
	s.pages.SetMaxIdleConns(pageConns)

	s.writer = newGroupCommitter(s.write, s.read)
	readers := max(4, runtime.GOMAXPROCS(0))
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)

	if err := s.compilePaidPath(ctx); err != nil {
		return errors.Join(err, s.closeConnections())
	}
	return nil
}

// openSQLite returns a pool on the file with our pragmas and the given ones.
// synchronous=FULL makes a commit durable against power loss.
func openSQLite(path string, params ...string) (*bun.DB, error) {
	file := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	dsn := file.String() + "?" + strings.Join(append([]string{
		"_pragma=busy_timeout(10000)",
		"_pragma=journal_mode(WAL)",
		"_pragma=synchronous(FULL)",
		"_pragma=foreign_keys(1)",
		// A process that is killed leaves no temporary files of SQLite's.
		"_pragma=temp_store(MEMORY)",
	}, params...), "&")

	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	return newDB(db, sqlitedialect.New()), nil
}

// newDB ignores columns that this release does not know: the next one may have added them (ADR 41).
func newDB(db *sql.DB, dialect schema.Dialect) *bun.DB {
	return bun.NewDB(db, dialect, bun.WithDiscardUnknownColumns())
}

func (s *Store) connectPostgres(ctx context.Context, c Config) error {
	s.dialect = Postgres
	primary, err := parseRoute(c.URL)
	if err != nil {
		return err
	}

	conns := poolSize(primary.ConnConfig, cmp.Or(c.Conns, DefaultConns))
	s.accountSlots = newAccountSlots(conns)

	// A connection pooler may not know prepared statements: there is a second URL then, or the URL has
	// default_query_exec_mode=exec.
	prepare := primary.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement && c.SessionURL == ""

	session := primary
	if c.SessionURL != "" {
		if session, err = parseRoute(c.SessionURL); err != nil {
			return fmt.Errorf("the session URL: %w", err)
		}
		poolSize(session.ConnConfig, 0)
	}

	primary = primary.writable()
	session = session.writable()
	if primary, err = primary.reach(ctx, s.log); err != nil {
		return err
	}
	if c.SessionURL == "" {
		session = primary
	} else if session, err = session.reach(ctx, s.log); err != nil {
		return fmt.Errorf("the session URL: %w", err)
	}

	s.session = session.config(migrationBounds)
	s.outage = newOutage(primary.probe)

	s.write = newDB(primary.open(workBounds, conns, s.outage), pgdialect.New()).WithQueryHook(deadlines{queryTimeout})
	s.read = s.write
	s.reports = newDB(primary.open(reportBounds, reportConns, s.outage), pgdialect.New())
	s.pages = newDB(primary.open(workBounds, pageConns, s.outage), pgdialect.New()).
		WithQueryHook(deadlines{pageTimeout})

	if s.clock != nil {
		_, err = s.clock.compare(ctx, s.write.DB)
	}
	if err == nil {
		err = s.migratePostgres(ctx, session)
	}
	if err == nil && prepare {
		err = s.compilePaidPath(ctx)
	}
	if err != nil {
		return errors.Join(err, s.closeConnections())
	}
	return nil
}

// migratePostgres migrates the schema to the current version, on its own connections.
func (s *Store) migratePostgres(ctx context.Context, session route) error {
	db := newDB(session.open(migrationBounds, minConns, s.outage), pgdialect.New())
	err := withAdvisoryLock(ctx, db, func() error { return migrateSchema(ctx, s.log, db, Postgres, s.now()) })
	return errors.Join(err, db.Close())
}
