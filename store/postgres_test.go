package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// operator returns its own connection to the database, as psql has one.
func operator(t *testing.T, db storetest.DB) *sql.DB {
	t.Helper()
	raw, err := sql.Open("pgx", db.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	return raw
}

func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// hold opens a transaction, as someone does who forgets to end it, and returns its end.
func hold(t *testing.T, db *sql.DB, statement string, args ...any) (end func()) {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() { _ = tx.Rollback() })
	t.Cleanup(end)
	return end
}

// awaitLocked waits until so many sessions of the database wait for a lock.
func awaitLocked(t *testing.T, db *sql.DB, sessions int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; <-time.After(10 * time.Millisecond) {
		var n int
		err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		if n >= sessions {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d sessions wait for a lock, want %d", n, sessions)
		}
	}
}

// TestReadOnlyDatabase: while the database accepts no writes, the store is not ready
// and connects to nothing; afterwards it works without a restart.
func TestReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	f, raw := newFixture(t, db), operator(t, db)
	var name string
	if err := raw.QueryRowContext(t.Context(), "SELECT current_database()").Scan(&name); err != nil {
		t.Fatal(err)
	}
	execute(t, raw, "ALTER DATABASE "+name+" SET default_transaction_read_only = on",
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	if err := f.Ping(t.Context()); err == nil {
		t.Error("Ping: no error while the database is read-only")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := f.Begin(ctx, f.newCall(100)); err == nil {
		t.Error("Begin: no error while the database is read-only")
	}
	execute(t, raw, "SET default_transaction_read_only = off", "ALTER DATABASE "+name+" RESET default_transaction_read_only")
	until(t, "the outage ends", func() bool { return !f.Unreachable() })
	if err := f.Ping(t.Context()); err != nil {
		t.Errorf("Ping, writes being accepted again: %v", err)
	}
	for range 2 * store.DefaultConns {
		f.begin(t, f.newCall(1))
	}
}

// TestDemotedConnections: connections whose server has become read-only are replaced,
// all of them by the first that notices.
func TestDemotedConnections(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storetest.Postgres(t))
	for _, test := range []struct {
		name string
		do   func() error
	}{
		{"Begin", func() error { return f.Begin(t.Context(), f.newCall(100)) }},
		{"InTx", func() error {
			return f.InTx(t.Context(), func(ctx context.Context, tx store.Tx) error {
				_, err := tx.NewRaw("UPDATE accounts SET max_job = NULL").Exec(ctx)
				return err
			})
		}},
		{"Ping", func() error { return f.Ping(t.Context()) }},
	} {
		conns := make([]*sql.Conn, store.DefaultConns)
		for i := range conns {
			conn, err := f.DB().DB.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.ExecContext(t.Context(), "SET default_transaction_read_only = on"); err != nil {
				t.Fatal(err)
			}
			conns[i] = conn
		}
		for _, conn := range conns {
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := test.do(); err != nil {
			t.Errorf("%s on a demoted connection: %v", test.name, err)
		}
		for range conns {
			var readOnly string
			if err := f.DB().NewRaw("SHOW transaction_read_only").Scan(t.Context(), &readOnly); err != nil || readOnly != "off" {
				t.Fatalf("%s: the pool has a read-only connection: %q, %v", test.name, readOnly, err)
			}
		}
	}
}

// TestPingWritesToSQLite: a disk that takes no writes is noticed.
func TestPingWritesToSQLite(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storetest.SQLite(t))
	if err := f.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A file that is read-only for the connection, and later a disk that fails.
	if err := f.OnLine(t.Context(), "PRAGMA query_only = 1"); err != nil {
		t.Fatal(err)
	}
	if err := f.Ping(t.Context()); err == nil {
		t.Error("Ping: no error on a read-only file")
	}
	f.SpoilCommits(func(error) error { return errors.New("read-only file system") })
	if err := f.Ping(t.Context()); err == nil {
		t.Error("Ping: no error on a read-only disk")
	}
	f.SpoilCommits(nil)
	if err := f.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestBoundsOfConnections: every pool has the server end what lasts too long, through
// a pooler as well.
func TestBoundsOfConnections(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(testing.TB) storetest.DB{"directly": storetest.Postgres, "through pgbouncer": storetest.Bounced} {
		s := database(t).Open(t, nil)
		for pool, db := range s.Pools() {
			for _, setting := range []string{"lock_timeout", "idle_in_transaction_session_timeout", "statement_timeout"} {
				var value string
				if err := db.QueryRowContext(t.Context(), "SHOW "+setting).Scan(&value); err != nil || value == "0" {
					t.Errorf("%s, pool %s: %s is %s, %v", name, pool, setting, value, err)
				}
			}
			var jit string
			if err := db.QueryRowContext(t.Context(), "SHOW jit").Scan(&jit); err != nil || jit != "off" {
				t.Errorf("%s, pool %s: jit is %s, %v", name, pool, jit, err)
			}
		}
	}
	db := storetest.Postgres(t)
	db.URL += "&lock_timeout=0&statement_timeout=77s"
	var logged bytes.Buffer
	s := db.OpenAs(t, store.Config{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	var value string
	if err := s.DB().NewRaw("SHOW statement_timeout").Scan(t.Context(), &value); err != nil || value != "77s" {
		t.Errorf("the URL's statement_timeout: got %s, %v", value, err)
	}
	if !strings.Contains(logged.String(), "lock_timeout") {
		t.Errorf("nobody is warned of locks without a bound: %q", logged.String())
	}
}

// TestDeadPeersAreNoticed: the kernel breaks a connection on which nothing is
// acknowledged.
func TestDeadPeersAreNoticed(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	cfg, err := pgx.ParseConfig(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	link, err := storetest.NewLink(t.Context(), "unix", filepath.Join(cfg.Host, ".s.PGSQL."+strconv.Itoa(int(cfg.Port))), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = link.Close() })
	db.URL = "postgres://postgres@" + link.Address + "/" + cfg.Database
	s := db.Open(t, nil)
	conn, err := s.DB().DB.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	err = conn.Raw(func(driver any) error {
		tcp := driver.(interface{ Conn() *pgx.Conn }).Conn().PgConn().Conn().(*net.TCPConn)
		socket, err := tcp.SyscallConn()
		if err != nil {
			return err
		}
		return socket.Control(func(fd uintptr) {
			for name, option := range map[string][2]int{
				"TCP_USER_TIMEOUT": {unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT}, "SO_KEEPALIVE": {unix.SOL_SOCKET, unix.SO_KEEPALIVE},
			} {
				if value, err := unix.GetsockoptInt(int(fd), option[0], option[1]); err != nil || value == 0 {
					t.Errorf("%s: %d, %v", name, value, err)
				}
			}
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// TestLocksAreWaitedForAgain: a lock that is not free in time costs another attempt,
// not the transaction.
func TestLocksAreWaitedForAgain(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	raw := operator(t, db)
	db.URL += "&lock_timeout=50"
	f := newFixture(t, db)
	release := hold(t, raw, "UPDATE accounts SET balance = balance")
	attempts := 0
	err := f.InTx(t.Context(), func(ctx context.Context, tx store.Tx) error {
		if attempts++; attempts == 6 {
			release()
		}
		_, err := tx.NewRaw("UPDATE accounts SET max_job = NULL").Exec(ctx)
		return err
	})
	if err != nil || attempts != 6 {
		t.Errorf("got %v after %d attempts, want success after 6", err, attempts)
	}
	f.begin(t, f.newCall(100))
}

// TestEndedWhileIdle: a transaction that the server has ended because its process did
// nothing for too long, as one that was frozen, runs again.
func TestEndedWhileIdle(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	f, raw := newFixture(t, db), operator(t, db)
	for _, inLastStep := range []bool{false, true} {
		attempts := 0
		err := f.InTx(t.Context(), func(ctx context.Context, tx store.Tx) error {
			if attempts++; attempts > 1 {
				return nil
			}
			var pid int
			if err := tx.NewRaw("SELECT pg_backend_pid() FROM accounts FOR UPDATE").Scan(ctx, &pid); err != nil {
				return err
			}
			if _, err := tx.NewRaw("SET LOCAL idle_in_transaction_session_timeout = 1").Exec(ctx); err != nil {
				return err
			}
			for alive := true; alive; <-time.After(time.Millisecond) {
				if err := raw.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid = $1)", pid).Scan(&alive); err != nil {
					return err
				}
			}
			if inLastStep {
				return nil
			}
			return tx.NewRaw("SELECT 1").Scan(ctx, &pid)
		})
		if err != nil || attempts != 2 {
			t.Errorf("ended before the commit: %v: got %v after %d attempts, want success after 2", inLastStep, err, attempts)
		}
	}
}
