package store_test

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// behindLink returns a database at the end of a link that can be cut and stalled.
func behindLink(t *testing.T) (storetest.DB, *storetest.Far) {
	t.Helper()
	db := storetest.Postgres(t)
	far, err := storetest.NewFar(context.WithoutCancel(t.Context()), db.URL, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = far.Close() })
	db.URL = far.URL
	return db, far
}

// until waits for a condition that background work makes true.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// TestReadsOutliveTheirConnections: PostgreSQL ends every session, as a restart, a failover or an operator does. Reads
// of each pool are repeated on a new connection.
func TestReadsOutliveTheirConnections(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(testing.TB) storetest.DB{"directly": storetest.Postgres, "through pgbouncer": storetest.Bounced} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := database(t)
			f := newFixture(t, db)
			_, secret, err := f.CreateKey(t.Context(), store.NewKey{AccountID: f.acc.ID, Name: "second"})
			if err != nil {
				t.Fatal(err)
			}
			c := f.begin(t, f.newCall(100))

			reads := map[string]func(context.Context) error{
				"key":         func(ctx context.Context) error { _, _, err := f.KeyBySecret(ctx, secret); return err },
				"account":     func(ctx context.Context) error { _, err := f.Account(ctx, f.acc.ID); return err },
				"call":        func(ctx context.Context) error { _, err := f.Call(ctx, c.ID); return err },
				"keys":        func(ctx context.Context) error { _, err := f.Keys(ctx, f.acc.ID); return err },
				"page":        func(ctx context.Context) error { _, err := f.ForPages().Account(ctx, f.acc.ID); return err },
				"page's keys": func(ctx context.Context) error { _, err := f.ForPages().Keys(ctx, f.acc.ID); return err },
				"report":      func(ctx context.Context) error { _, err := f.Backlog(ctx); return err },
				"lag":         func(ctx context.Context) error { _, err := f.Lag(ctx); return err },
				"clock":       f.CheckClock,
				"ping":        f.Ping,
			}
			// A session that pgbouncer is still opening has no query yet, and is left alone: pgbouncer would take its server
			// for down.
			const endAll = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'idle' AND query <> ''`
			kill := operator(t, storetest.DB{URL: cmp.Or(db.SessionURL, db.URL)})
			for what, read := range reads {
				warm(t, f.Pools())
				execute(t, kill, endAll)
				if err := read(t.Context()); err != nil {
					t.Errorf("read of %s after its connections were ended: %v", what, err)
				}
			}
		})
	}
}

// endedSessions is a pooler that hands out so many sessions that the server has ended.
type endedSessions struct {
	driver.Connector

	left int
}

func (p *endedSessions) Connect(context.Context) (driver.Conn, error) {
	if p.left--; p.left >= 0 {
		return nil, fmt.Errorf("validate the connection: %w", &pgconn.PgError{Code: "57P01"})
	}
	return &stdlib.Conn{}, nil
}

// TestConnectionsOutliveEndedSessions: a pooler that does not know yet which of its sessions have ended hands them out.
func TestConnectionsOutliveEndedSessions(t *testing.T) {
	for _, n := range []int{0, 1, 5} {
		if err := store.Connect(t.Context(), &endedSessions{left: n}); err != nil {
			t.Errorf("%d sessions had ended: %v", n, err)
		}
	}

	if err := store.Connect(t.Context(), &endedSessions{left: 100}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("all sessions had ended: %v", err)
	}
}

// open returns a connection of a pool that responds. The pool may still have some that were ended.
func open(t *testing.T, pool *sql.DB) *sql.Conn {
	t.Helper()
	for {
		conn, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		err = conn.PingContext(t.Context())
		if err == nil {
			return conn
		}
		if !errors.Is(err, driver.ErrBadConn) {
			t.Fatal(err)
		}
		_ = conn.Close() // The pool does not keep it.
	}
}

// warm opens all connections of the pools, and leaves them idle.
func warm(t *testing.T, pools map[string]*sql.DB) {
	t.Helper()
	for _, pool := range pools {
		var conns []*sql.Conn
		for range pool.Stats().MaxOpenConnections {
			conns = append(conns, open(t, pool))
		}
		for _, conn := range conns {
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestWritesAreNotRepeated: the function that begins a call is a SELECT, and is no read: when its response is lost, the
// call exists once.
func TestWritesAreNotRepeated(t *testing.T) {
	t.Parallel()
	db, cut := storetest.BehindCutter(t, storetest.Postgres(t))
	f := newFixture(t, db)
	warm(t, f.Pools())
	for _, answer := range []bool{false, true} {
		c := f.newCall(100)
		cut.At(1, answer)
		if err := f.Begin(t.Context(), c); err != nil {
			t.Errorf("begin, response lost: %v: %v", answer, err)
		}
	}
	account, err := f.Account(t.Context(), f.acc.ID)
	if err != nil || account.Held != 200 {
		t.Errorf("held: %v, %v; want that of two calls", account.Held, err)
	}
}

// TestKnownOutage: once PostgreSQL is known to be away, whether it hangs or refuses connections, calls and reads are
// refused without waiting, and work again when it responds.
func TestKnownOutage(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*storetest.Far, bool){
		"hangs":   func(l *storetest.Far, on bool) { l.Stall(on) },
		"refuses": func(l *storetest.Far, on bool) { l.Cut(on) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, link := behindLink(t)
			f := newFixture(t, db)

			fault(link, true)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if _, err := f.Account(ctx, f.acc.ID); !store.Unavailable(err) {
				t.Errorf("the first read of the outage: %v", err)
			}
			until(t, "the outage is known", f.Unreachable)

			if _, err := f.Account(t.Context(), f.acc.ID); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("a read: %v", err)
			}
			if err := f.Begin(t.Context(), f.newCall(100)); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("a call: %v", err)
			}

			fault(link, false)
			until(t, "the outage ends", func() bool { return !f.Unreachable() })
			f.begin(t, f.newCall(100))
		})
	}
}

// TestFullServerIsNoOutage: a server that accepts no further connection serves those that it has.
func TestFullServerIsNoOutage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storetest.Postgres(t))
	f.ProbeOnce(func() error { return &pgconn.PgError{Code: "53300"} })
	if f.Unreachable() {
		t.Error("a full server counts as an outage")
	}
	f.begin(t, f.newCall(100))
}

// TestUnavailable: errors of a database that cannot work now, and those that are none.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		"53300": true, "53100": true, "53200": true, "57P01": false, "57P03": false, "58030": true, "55P03": true, "57014": true,
		"23505": false, "42601": false, "40001": false,
	} {
		if got := store.Unavailable(&pgconn.PgError{Code: code}); got != want {
			t.Errorf("code %s: %v, want %v", code, got, want)
		}
	}
	if store.Unavailable(&store.UnknownError{Cause: store.ErrUnavailable}) {
		t.Error("a commit that may have happened counts as nothing done")
	}
	if store.Unavailable(nil) || store.Unavailable(store.ErrNotFound) || store.Unavailable(errors.New("EOF")) {
		t.Error("errors that are none of the database's availability")
	}
}
