package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
)

// A connection can die silently: a proxy or a firewall that has forgotten it drops its packets, and nothing closes
// it. Only a deadline finds that out. All deadlines of PostgreSQL that are not set by callers are here.
const (
	// queryTimeout limits each statement that is not part of a report, including the wait for a connection. It has
	// the value of a writing transaction: these statements find their rows by an index within milliseconds.
	queryTimeout = writeTimeout
	// pageTimeout bounds each statement of a page, the wait for a connection included:
	// those take milliseconds, however much an account has.
	pageTimeout = 5 * time.Second
	// probeTimeout limits the probe of a connection. It is longer than any healthy round trip, and far shorter than
	// queryTimeout.
	probeTimeout = 3 * time.Second
	// probeIdle is the idle time after which a connection of a pool is probed.
	probeIdle = time.Second
	// listenQuiet is the time without a message after which a listening connection is probed. Until then, jobs of
	// other processes are found by polling.
	listenQuiet = 10 * time.Second
)

// bounded returns ctx with the deadline of a statement.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return withDeadline(ctx, queryTimeout)
}

// withDeadline is context.WithTimeout for statements. The error of a deadline that has passed, also while the statement
// waited for a connection, matches ErrUnavailable.
func withDeadline(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	return statementContext{ctx}, cancel
}

// statementContext is a context whose deadline is the database's.
type statementContext struct{ context.Context }

// errLate is the error of a statementContext whose deadline has passed.
var errLate = fmt.Errorf("%w: %w", ErrUnavailable, context.DeadlineExceeded)

// Err implements context.Context.
func (c statementContext) Err() error {
	err := c.Context.Err()
	if errors.Is(err, context.DeadlineExceeded) {
		return errLate
	}
	return err
}

// deadlines is a hook that bounds every statement on a pool whose context has no
// earlier deadline.
type deadlines struct{ limit time.Duration }

// BeforeQuery implements bun.QueryHook.
func (d deadlines) BeforeQuery(ctx context.Context, event *bun.QueryEvent) context.Context {
	// A transaction would end with the context in which it began. inTx bounds it.
	if at, ok := ctx.Deadline(); ok && time.Until(at) <= d.limit || event.Query == "BEGIN" {
		return ctx
	}
	ctx, cancel := withDeadline(ctx, d.limit)
	event.Stash = map[any]any{d: cancel}
	return ctx
}

// AfterQuery implements bun.QueryHook.
func (d deadlines) AfterQuery(_ context.Context, event *bun.QueryEvent) {
	if cancel, ok := event.Stash[d].(context.CancelFunc); ok {
		cancel()
	}
}

// probe pings a pooled connection within probeTimeout, and closes one that does not answer.
func probe(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return conn.Ping(ctx)
}
