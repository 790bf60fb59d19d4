package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/sys/unix"
)

const (
	// DefaultConns bounds the connections of a process to PostgreSQL.
	DefaultConns = 16
	// reportConns is the maximum number of additional connections for reports.
	reportConns = 4
	// pageConns is the maximum number of additional connections for pages.
	pageConns = 4
	// minConns are needed: one holds the lock while another migrates.
	minConns         = 2
	postgresIdleTime = 5 * time.Minute
	// postgresLifetime bounds how long a connection stays on a server that is not
	// the one that the URL leads to any more.
	postgresLifetime = 10 * time.Minute
	// connectTimeout bounds one attempt to connect to one host, so that a host that
	// is gone leaves writeTimeout for the next. The URL's connect_timeout wins.
	connectTimeout = 5 * time.Second
)

// Both ends of a TCP connection notice within deadAfter that the other is gone,
// whether data is under way (TCP_USER_TIMEOUT) or not (keepalive).
const (
	aliveIdle     = 10 * time.Second
	aliveInterval = 3 * time.Second
	aliveCount    = 3
	deadAfter     = 20 * time.Second
)

// bounds are the timeouts that the server enforces. The process's own deadlines are shorter, but a process that is
// frozen, or whose machine is gone, has none.
type bounds struct {
	// statement limits the time of a statement; 0 means no limit.
	statement time.Duration
	// lock bounds the wait for one lock. It is well below writeTimeout, so that the
	// transaction is tried again, and its locks are free meanwhile.
	lock time.Duration
	// idle bounds the time between two statements of a transaction: its locks are
	// free then. Ours are milliseconds apart.
	idle time.Duration
}

const lockTimeout = 2 * time.Second

var (
	// workBounds are the limits of calls, pages and periodic work, whose transactions end within writeTimeout.
	workBounds = bounds{statement: 2 * writeTimeout, lock: lockTimeout, idle: 5 * time.Second}
	// reportBounds leave closing and exporting a month their time. A report holds
	// no row, but its snapshot delays vacuuming; its reader may be a slow client.
	reportBounds = bounds{statement: 30 * time.Minute, lock: lockTimeout, idle: 2 * time.Minute}
	// migrationBounds have no limit for the duration of an index build.
	migrationBounds = bounds{lock: lockTimeout, idle: time.Minute}
)

// params are the bounds as parameters of a session. Compiling a statement takes longer than any of ours that a page
// or a call waits for: with many months of partitions, PostgreSQL would compile queries that read a few rows.
func (b bounds) params() map[string]string {
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

	return map[string]string{
		"statement_timeout":                   ms(b.statement),
		"lock_timeout":                        ms(b.lock),
		"idle_in_transaction_session_timeout": ms(b.idle),
		"tcp_keepalives_idle":                 seconds(aliveIdle),
		"tcp_keepalives_interval":             seconds(aliveInterval),
		"tcp_keepalives_count":                strconv.Itoa(aliveCount),
		"tcp_user_timeout":                    ms(deadAfter),
		"jit":                                 "off",
	}
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

// withBounds returns the configuration with the limits. Limits in the URL take precedence.
func withBounds(cfg *pgx.ConnConfig, b bounds) *pgx.ConnConfig {
	cfg = cfg.Copy()
	for name, value := range b.params() {
		if _, given := cfg.RuntimeParams[name]; !given {
			cfg.RuntimeParams[name] = value
		}
	}
	return cfg
}

// route is a way to the server: directly, or by way of a pooler of connections.
type route struct {
	*pgx.ConnConfig

	// pooled means that the way refuses the parameters of a session: a pooler hands
	// a connection from one session to the next. It sets the bounds itself
	// (docs/operations/runbook.md).
	pooled bool
}

// parseRoute reads a URL. Its errors leave the password out.
func parseRoute(rawURL string) (route, error) {
	cfg, err := pgx.ParseConfig(rawURL)
	if err != nil {
		return route{}, err
	}

	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
	}
	cfg.DialFunc = (&net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: aliveIdle, Interval: aliveInterval, Count: aliveCount},
		Control:         setUserTimeout,
	}).DialContext

	return route{ConnConfig: cfg}, nil
}

// setUserTimeout has the kernel break a TCP connection on which data is not
// acknowledged for deadAfter.
func setUserTimeout(network, _ string, conn syscall.RawConn) (err error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	controlErr := conn.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadAfter.Milliseconds()))
	})
	return errors.Join(controlErr, err)
}

// writable makes connections only to a server that accepts writes, as
// target_session_attrs=read-write does. Another value in the URL wins.
func (r route) writable() route {
	if r.ValidateConnect == nil {
		cfg := r.Copy()
		cfg.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
		r.ConnConfig = cfg
	}
	return r
}

// open returns a pool with a maximum number of connections.
func (r route) open(b bounds, conns int, away *outage) *sql.DB {
	cfg := r.config(b)
	// bun writes the arguments into the statement, so that no two texts are
	// equal and a cache of prepared statements would only fill up.
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	cfg.StatementCacheCapacity = 0
	cfg.DescriptionCacheCapacity = 0

	renewals := discardDemoted(cfg)
	current := func(conn *pgx.Conn) bool { return conn.PgConn().CustomData()[renewalsSeen] == renewals.Load() }

	ping := func(ctx context.Context, p stdlib.ShouldPingParams) bool {
		if p.IdleDuration > probeIdle && current(p.Conn) && probe(ctx, p.Conn) != nil && ctx.Err() == nil {
			renewals.Add(1)
		}
		return false
	}
	reset := func(_ context.Context, conn *pgx.Conn) error {
		if !current(conn) {
			return driver.ErrBadConn
		}
		return nil
	}

	pool := stdlib.GetConnector(*cfg, stdlib.OptionShouldPing(ping), stdlib.OptionResetSession(reset))

	db := sql.OpenDB(connector{Connector: pool, outage: away, renew: func() { renewals.Add(1) }})
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	db.SetConnMaxIdleTime(postgresIdleTime)
	db.SetConnMaxLifetime(postgresLifetime)

	return db
}

// config returns the configuration of a connection.
func (r route) config(b bounds) *pgx.ConnConfig {
	if r.pooled {
		return r.Copy()
	}
	return withBounds(r.ConnConfig, b)
}

// renewalsSeen is the key under which a connection notes the number of renewals before it.
const renewalsSeen = "relaypdf renewals"

// discardDemoted closes a connection whose server refuses a write, as one does that is not the primary any more. It
// counts them as renewals of the pool: connections that were made before the last one are not used again. A failed
// probe also renews the pool: the others were mostly lost with that connection.
func discardDemoted(cfg *pgx.ConnConfig) *atomic.Int64 {
	renewals := new(atomic.Int64)
	onError := cfg.OnPgError
	afterConnect := cfg.AfterConnect

	cfg.OnPgError = func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		if err.Code == codeReadOnly {
			renewals.Add(1)
			return false
		}
		return onError == nil || onError(conn, err)
	}

	cfg.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		conn.CustomData()[renewalsSeen] = renewals.Load()
		if afterConnect != nil {
			return afterConnect(ctx, conn)
		}
		return nil
	}

	return renewals
}

// reach waits for the first connection, and finds out whether the way passes the
// parameters of a session on.
func (r route) reach(ctx context.Context, log *slog.Logger) (route, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()

	conn, err := pgx.ConnectConfig(ctx, r.config(workBounds))
	if refusesParameters(err) {
		r.pooled = true
		conn, err = pgx.ConnectConfig(ctx, r.config(workBounds))
	}
	if err != nil {
		return r, err
	}

	var timeout string
	err = conn.QueryRow(ctx, "SHOW lock_timeout", pgx.QueryExecModeSimpleProtocol).Scan(&timeout)
	if err == nil && timeout == "0" {
		log.LogAttrs(ctx, slog.LevelWarn,
			"the way to PostgreSQL sets no lock_timeout: one forgotten transaction may hold up others; "+
				"set it in the pooler (docs/operations/runbook.md)",
			slog.String("host", r.Host))
	}

	return r, errors.Join(err, conn.Close(ctx))
}

// refusesParameters reports whether a pooler refused a connection because of the
// parameters of its session.
func refusesParameters(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && strings.Contains(pg.Message, "startup parameter")
}

// poolSize removes the pool options from the URL's, which the server does not know, and returns the maximum number
// of connections among them, or size.
func poolSize(cfg *pgx.ConnConfig, size int) int {
	for name, text := range cfg.RuntimeParams {
		if !strings.HasPrefix(name, "pool_") {
			continue
		}
		delete(cfg.RuntimeParams, name)

		if n, err := strconv.Atoi(text); name == "pool_max_conns" && err == nil && n > 0 {
			size = n
		}
	}

	return max(size, minConns)
}

// writablePostgres fails on a connection that cannot write.
const writablePostgres = `SELECT 1 WHERE EXISTS (SELECT 1 FROM accounts)
	OR NOT EXISTS (SELECT 1 FROM accounts WHERE FALSE FOR UPDATE)`

// checkPostgres reports whether PostgreSQL can be read and accepts writes. A
// connection to a server that has become read-only is replaced first.
func (s *Store) checkPostgres(ctx context.Context) (err error) {
	for range 2 {
		var one int
		if err = s.write.DB.QueryRowContext(ctx, writablePostgres).Scan(&one); err == nil || !lost(err) {
			break
		}
	}
	return wrapped("PostgreSQL accepts no writes", err)
}
