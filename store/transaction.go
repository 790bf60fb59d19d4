package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/relaypdf/relaypdf/internal/guard"
)

// UnknownError means that the response to a commit is lost: the transaction has happened, or it has not.
type UnknownError struct{ Cause error }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("the answer to the commit was lost, and it is not known whether it happened: %v", e.Cause)
}

func (e *UnknownError) Unwrap() error { return e.Cause }

// inTx runs fn in one writing transaction, within writeTimeout. If nothing can have happened, fn runs again:
// PostgreSQL breaks a deadlock by refusing a transaction, SQLite gives up a batch, or the connection is lost before
// the commit. fn must have no effect outside of the transaction. The error is an *UnknownError if the commit's
// response is lost.
func (s *Store) inTx(ctx context.Context, fn transaction) error {
	return s.transact(ctx, fn, func(err error) bool {
		var unknown *UnknownError
		return !errors.As(err, &unknown)
	})
}

// update is inTx with the failed action in the error.
func (s *Store) update(ctx context.Context, doing string, fn transaction) error {
	return wrapped(doing, s.inTx(ctx, fn))
}

// inCertainTx is inTx on SQLite for a transaction that itself finds out whether it has happened before: it runs again
// even when the response to its commit is lost. SQLite is in this process, so a commit that keeps failing has a
// cause.
func (s *Store) inCertainTx(ctx context.Context, fn transaction) error {
	attempts := 0
	return s.transact(ctx, fn, func(error) bool {
		attempts++
		return attempts < writeAttempts
	})
}

// deferSync is the key of a context whose transactions SQLite need not bring to the
// disk by themselves: after a loss of power they may not have happened, though none
// that came later has either. A process that dies loses nothing.
type deferSync struct{}

// transact runs a transaction, again after an error that may is true of.
func (s *Store) transact(ctx context.Context, fn transaction, mayRetry func(error) bool) (err error) {
	ctx, cancel := withDeadline(ctx, writeTimeout)
	defer cancel()
	fn, committed := s.announcing(fn)
	defer func() { committed(err) }()

	return untilKnown(ctx, func() error {
		if s.writer != nil {
			return s.writer.run(ctx, fn)
		}
		return transactOnce(ctx, poolTx(s.write), fn)
	}, mayRetry)
}

// untilKnown calls do until it succeeds or fails permanently: again at once if PostgreSQL asks for it or a lock was
// not free in time, and after a pause if the connection is lost.
func untilKnown(ctx context.Context, do func() error, mayRetry func(error) bool) (err error) {
	pause := lostPause
	var unknown *UnknownError

	for attempts := 1; ; {
		if err = do(); err == nil || !mayRetry(err) {
			return err
		}

		repeatable := retryable(err)
		switch {
		case repeatable && attempts < writeAttempts:
			attempts++
		case locked(err) && ctx.Err() == nil: // It has waited already.
		case !repeatable && (lost(err) || errors.As(err, &unknown)) && ctx.Err() == nil:
			if guard.Pause(ctx, pause); ctx.Err() != nil {
				return err
			}
			pause = min(2*pause, maxLostPause)
		default:
			return err
		}
	}
}

// txn is a running transaction: bun writes through IDB, and direct runs texts unchanged.
type txn struct {
	bun.IDB

	direct bun.IConn
	ready  compiled // prepared on the transaction's own connection
	end    interface {
		Commit() error
		Rollback() error
	}
}

// onPool is a transaction as database/sql begins it.
func onPool(tx bun.Tx) txn { return txn{IDB: tx, direct: tx.Tx, end: tx} }

// poolTx begins transactions on any connection of a pool.
func poolTx(db *bun.DB) func(context.Context) (txn, error) {
	return func(ctx context.Context) (txn, error) {
		tx, err := db.BeginTx(ctx, nil)
		return onPool(tx), err
	}
}

// transactOnce runs fn in one transaction.
func transactOnce(ctx context.Context, begin func(context.Context) (txn, error), fn transaction) error {
	tx, err := begin(ctx)
	if err != nil {
		return err
	}

	ended := false
	defer func() {
		if !ended {
			_ = tx.end.Rollback() // It fails if the database was first.
		}
	}()

	if err := fn(ctx, tx); err != nil {
		return err
	}

	ended = true
	return committed(tx.end.Commit())
}

// DiskFull reports whether the database failed because its disk is full. The transaction has not happened.
func DiskFull(err error) bool {
	var lite *sqlite.Error
	var pg *pgconn.PgError
	return errors.As(err, &lite) && lite.Code() == sqliteFull || errors.As(err, &pg) && pg.Code == "53100"
}

// sqliteFull is SQLITE_FULL: a write found no room.
const sqliteFull = 13

// committed returns the meaning of a commit error. The transaction has certainly not happened if PostgreSQL reports
// so, if SQLite reports a full disk, or if a broken pipe kept the COMMIT, which is one write, from being sent. Any
// other error leaves it open.
func committed(err error) error {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &pg) && (!lost(err) || pg.Code == codeIdle),
		errors.Is(err, sql.ErrTxDone), errors.Is(err, syscall.EPIPE), DiskFull(err):
		return err
	}
	return &UnknownError{Cause: err}
}

// Codes of PostgreSQL for errors that a new connection or another attempt fixes.
const (
	// codeReadOnly is read_only_sql_transaction: the server is not the primary any more, or is configured to accept no
	// writes.
	codeReadOnly = "25006"
	// codeIdle is idle_in_transaction_session_timeout: the server has ended the
	// transaction, as this process did nothing in it for too long.
	codeIdle = "25P03"
	// codeLocked is lock_not_available: lock_timeout has passed.
	codeLocked = "55P03"
)

// locked reports whether a transaction was rolled back because it waited too long for a lock.
func locked(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == codeLocked
}

// sqliteBusy reports whether another process kept the write lock of a SQLite database for longer than busy_timeout.
func sqliteBusy(err error) bool {
	var lite *sqlite.Error
	return errors.As(err, &lite) && lite.Code()&0xff == sqlite3.SQLITE_BUSY
}

// retryable reports whether PostgreSQL rolled a transaction back for a reason that a retry fixes: serialization
// failure, deadlock, or a call begun by an attempt whose connection was lost while it was under way.
func retryable(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	return pg.Code == "40001" || pg.Code == "40P01" || pg.Code == "23505" && strings.HasPrefix(pg.TableName, "calls")
}

// lost reports whether the connection to the database is gone, and with it every
// transaction that was not committed.
func lost(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code {
		case "57P01", "57P02", "57P03": // The server shuts down, has crashed, or does not take connections yet.
			return true
		case codeReadOnly, codeIdle:
			return true
		}
		return strings.HasPrefix(pg.Code, "08")
	}

	var network net.Error
	var connecting *pgconn.ConnectError
	return errors.Is(err, errUnreachable) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, sql.ErrConnDone) || errors.Is(err, net.ErrClosed) || errors.As(err, &connecting) ||
		errors.As(err, &network) && !errors.Is(err, context.DeadlineExceeded) ||
		pgconn.SafeToRetry(err) || strings.Contains(err.Error(), "conn closed")
}
