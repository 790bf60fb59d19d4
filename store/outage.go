package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/relaypdf/relaypdf/internal/guard"
)

// ErrUnavailable means that the database did not respond in time, or is known not to respond.
var ErrUnavailable = errors.New("the database does not respond")

// errUnreachable is ErrUnavailable for a statement that was not sent, because an outage is known.
var errUnreachable = fmt.Errorf("%w: it is probed until it does", ErrUnavailable)

// Unavailable reports whether an error means that the database cannot work now, and that nothing has happened: it is
// away, overloaded, out of disk space or read-only. The same request may succeed later.
func Unavailable(err error) bool {
	var unknown *UnknownError
	if err == nil || errors.As(err, &unknown) {
		return false
	}

	var lite *sqlite.Error
	if errors.As(err, &lite) {
		switch lite.Code() & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY,
			sqlite3.SQLITE_CANTOPEN:
			return true
		}
		return false
	}

	// Classes 53 (insufficient resources) and 58 (system error); 57014 is the end of statement_timeout.
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (locked(err) || strings.HasPrefix(pg.Code, "53") || strings.HasPrefix(pg.Code, "58") ||
		pg.Code == "57014") {
		return true
	}

	return errors.Is(err, ErrUnavailable) || errors.Is(err, driver.ErrBadConn)
}

const (
	// outageProbe is the interval at which a database that is away is asked again.
	outageProbe = 500 * time.Millisecond
	// outageProbeTimeout limits a probe: a new connection and one round trip.
	outageProbeTimeout = 3 * time.Second
)

// outage is the knowledge of a process that PostgreSQL is away. Without it, each call would wait for the deadline of
// its first statement. It is safe for concurrent use.
type outage struct {
	known atomic.Bool
	doubt chan struct{} // signals that a statement has failed for a reason that may be an outage
	probe func(context.Context) error
}

func newOutage(probe func(context.Context) error) *outage {
	return &outage{doubt: make(chan struct{}, 1), probe: probe}
}

// suspect has the database probed.
func (o *outage) suspect() {
	select {
	case o.doubt <- struct{}{}:
	default: // A probe is due already.
	}
}

// watch probes the database after each doubt, until it responds. A failed probe is an outage.
func (o *outage) watch(ctx context.Context, log *slog.Logger) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-o.doubt:
		}

		for ctx.Err() == nil {
			err := o.check(ctx)
			if err == nil || overloaded(err) {
				if o.known.Swap(false) {
					log.LogAttrs(ctx, slog.LevelInfo, "the database responds again")
				}
				break
			}
			if !o.known.Swap(true) && ctx.Err() == nil {
				log.LogAttrs(ctx, slog.LevelError, "the database does not respond; calls are refused until it does",
					slog.Any("error", err))
			}

			guard.Pause(ctx, outageProbe)
		}
	}
}

// check probes the database. A probe that loses its connection is repeated once: that one connection was lost says
// nothing of others.
func (o *outage) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, outageProbeTimeout)
	defer cancel()

	err := o.probe(ctx)
	if err != nil && !overloaded(err) && ctx.Err() == nil {
		err = o.probe(ctx)
	}
	return err
}

// overloaded reports whether PostgreSQL refused a connection for want of resources: those that exist go on.
func overloaded(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && strings.HasPrefix(pg.Code, "53")
}

// probe makes a connection of its own, so that a busy pool is no outage.
func (r route) probe(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, r.config(workBounds))
	if err != nil {
		return err
	}
	return errors.Join(conn.Ping(ctx), conn.Close(ctx))
}

// Unreachable reports whether the database is known not to respond, so that a call can be refused before it waits.
func (s *Store) Unreachable() bool { return s.outage != nil && s.outage.known.Load() }

// connector opens the connections of a pool. While an outage is known, it and its connections refuse at once.
type connector struct {
	driver.Connector

	outage *outage
	renew  func() // has the pool replace its connections
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.outage.known.Load() {
		return nil, errUnreachable
	}

	conn, err := c.Connector.Connect(ctx)
	for n := 0; n < endedSessions && sessionEnded(err); n++ {
		conn, err = c.Connector.Connect(ctx)
	}
	if err != nil {
		return nil, c.failure(ctx, err)
	}

	return &session{pgxConn: conn.(*stdlib.Conn), pool: c}, nil //nolint:errcheck // pgx has no other
}

// endedSessions is the maximum number of ended sessions that a pooler may hand out before a connection fails.
const endedSessions = 5

// sessionEnded reports whether the server ended the session of a new connection: a pooler hands out sessions that it
// does not know to be ended yet, and drops each with this error.
func sessionEnded(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "57P01"
}

// failure marks an error that may be an outage, and has the database probed: the connection was lost, or the deadline
// has passed.
func (c connector) failure(ctx context.Context, err error) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) && (ctx.Err() != nil || !lost(err)) {
		return err
	}
	c.outage.suspect()
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// repeatable is failure for a statement that changes nothing. If the connection was lost, database/sql repeats such
// a statement on another one.
func (c connector) repeatable(ctx context.Context, err error) error {
	if ctx.Err() != nil || !lost(err) {
		return c.failure(ctx, err)
	}

	// The other connections of the pool were probably lost with this one.
	c.renew()
	c.outage.suspect()
	return driver.ErrBadConn
}

// reads reports whether a statement outside of a transaction changes nothing.
func reads(query string) bool {
	return strings.HasPrefix(strings.TrimSpace(query), "SELECT") && !slices.Contains(postgresTexts, query)
}

// pgxConn is pgx's connection, whose method Conn a field of that name would hide.
type pgxConn = stdlib.Conn

// session is one connection of a pool.
type session struct {
	*pgxConn

	pool connector
	// inTx means that a transaction is open, whose statements cannot be repeated alone.
	inTx bool
}

// check refuses a statement while an outage is known. An open transaction may still end.
func (s *session) check() error {
	if s.pool.outage.known.Load() && !s.inTx {
		return errUnreachable
	}
	return nil
}

// failure returns the error of a statement as database/sql is to see it.
func (s *session) failure(ctx context.Context, query string, err error) error {
	if s.inTx || !reads(query) {
		return s.pool.failure(ctx, err)
	}
	return s.pool.repeatable(ctx, err)
}

// BeginTx implements driver.ConnBeginTx.
func (s *session) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := s.check(); err != nil {
		return nil, err
	}

	tx, err := s.pgxConn.BeginTx(ctx, opts)
	if err != nil {
		return nil, s.pool.repeatable(ctx, err)
	}
	s.inTx = true
	return sessionTx{tx, s}, nil
}

// ExecContext implements driver.ExecerContext.
func (s *session) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := s.check(); err != nil {
		return nil, err
	}

	result, err := s.pgxConn.ExecContext(ctx, query, args)
	if err != nil {
		return nil, s.failure(ctx, query, err)
	}
	return result, nil
}

// QueryContext implements driver.QueryerContext.
func (s *session) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.check(); err != nil {
		return nil, err
	}

	rows, err := s.pgxConn.QueryContext(ctx, query, args)
	if err != nil {
		return nil, s.failure(ctx, query, err)
	}
	return rows, nil
}

// PrepareContext implements driver.ConnPrepareContext.
func (s *session) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	stmt, err := s.pgxConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, s.pool.repeatable(ctx, err)
	}
	return &prepared{stmt.(*stdlib.Stmt), s, query}, nil //nolint:errcheck // pgx has no other
}

// sessionTx is the open transaction of a session.
type sessionTx struct {
	driver.Tx

	session *session
}

// Commit implements driver.Tx.
func (t sessionTx) Commit() error {
	t.session.inTx = false
	return t.Tx.Commit()
}

// Rollback implements driver.Tx.
func (t sessionTx) Rollback() error {
	t.session.inTx = false
	return t.Tx.Rollback()
}

// prepared is a prepared statement of a session.
type prepared struct {
	*stdlib.Stmt

	session *session
	query   string
}

// ExecContext implements driver.StmtExecContext.
func (p *prepared) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := p.session.check(); err != nil {
		return nil, err
	}

	result, err := p.Stmt.ExecContext(ctx, args)
	if err != nil {
		return nil, p.session.failure(ctx, p.query, err)
	}
	return result, nil
}

// QueryContext implements driver.StmtQueryContext.
func (p *prepared) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := p.session.check(); err != nil {
		return nil, err
	}

	rows, err := p.Stmt.QueryContext(ctx, args)
	if err != nil {
		return nil, p.session.failure(ctx, p.query, err)
	}
	return rows, nil
}
