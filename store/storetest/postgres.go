package storetest

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"

	"github.com/relaypdf/relaypdf/store"
)

// serverVariable names a PostgreSQL server to use instead of our own cluster.
const serverVariable = "RELAYPDF_TEST_POSTGRES_URL"

const (
	startTimeout = 6 * time.Minute
	adminTimeout = 5 * time.Minute
)

// server is a PostgreSQL server for tests.
type server struct {
	admin string // URL of its maintenance database
	// alive is the end of a pipe that our cluster watches. This reference keeps the garbage collector from closing
	// the pipe.
	alive io.Closer
}

// theServer returns the server of this process. The first test that needs it starts the cluster, which takes
// seconds, and all tests share it. It ends with the process.
var theServer = sync.OnceValues(func() (server, error) {
	if given := os.Getenv(serverVariable); given != "" {
		return server{admin: given}, nil
	}
	return startCluster(fleeting)
})

// durableServer is a cluster with production settings. It ends with the process.
var durableServer = sync.OnceValues(func() (server, error) { return startCluster("") })

// createDatabase returns the URL of a new database on a server that is dropped when
// the test has ended. It is a copy of the one that template returns.
func createDatabase(t testing.TB, on func() (server, error), template func() (string, error)) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts PostgreSQL")
	}

	name, err := template()
	if err != nil {
		t.Fatal(err)
	}

	address, drop, err := newDatabase(on, name)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := drop(); err != nil {
			t.Errorf("drop the test database: %v", err)
		}
	})
	return address
}

// NewDatabase creates an empty PostgreSQL database for a measuring program, and returns its URL and the function
// that drops it. Its commits are as durable as PostgreSQL's own settings make them.
func NewDatabase() (address string, drop func() error, err error) {
	return newDatabase(durableServer, nothing)
}

// nothing is the name of the template that has no tables.
const nothing = "template1"

func empty() (string, error) { return nothing, nil }

// migrated returns the name of a database with our tables, which tests copy: migrating takes longer. It is empty
// for an external server, where a template would remain.
var migrated = sync.OnceValues(func() (string, error) {
	srv, err := theServer()
	if err != nil {
		return "", fmt.Errorf("PostgreSQL for the tests: %w", err)
	}
	if srv.alive == nil {
		return nothing, nil
	}
	address, _, err := newDatabase(theServer, nothing) // It is removed with the cluster.
	if err != nil {
		return "", err
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "relaypdf-template-")
	if err != nil {
		return "", err
	}
	// A template must have no connections.
	return strings.TrimPrefix(u.Path, "/"), errors.Join(migrate(DB{URL: address, DataDir: dir}), os.RemoveAll(dir))
})

// newDatabase makes a copy of a database.
func newDatabase(on func() (server, error), template string) (address string, drop func() error, err error) {
	srv, err := on()
	if err != nil {
		return "", nil, fmt.Errorf("PostgreSQL for the tests: %w", err)
	}

	name := store.NewID("relaypdf_test")
	if err := execAdmin(srv.admin, "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		return "", nil, fmt.Errorf("create a test database: %w", err)
	}

	u, err := url.Parse(srv.admin)
	if err != nil {
		return "", nil, fmt.Errorf("%s is not a URL: %w", serverVariable, err)
	}

	u.Path = "/" + name
	return u.String(), func() error { return execAdmin(srv.admin, "DROP DATABASE "+name+" WITH (FORCE)") }, nil
}

func execAdmin(admin, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	db, err := sql.Open("pgx", admin)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement)
	return errors.Join(err, db.Close())
}

// fleeting are the settings of a cluster that writes little, as nothing in it is
// to last: every test's database is a copy of the template, and the log of it
// would fill a gigabyte.
const fleeting = "-c fsync=off -c full_page_writes=off -c synchronous_commit=off -c autovacuum=off " +
	"-c wal_level=minimal -c max_wal_senders=0 -c min_wal_size=32MB -c max_wal_size=64MB -c max_connections=300"

// clusterScript makes a cluster in $1 with the programs in $2, starts it with the settings in $3 and prints "ready".
// It restarts the cluster on request. When its standard input ends, which happens at the end of the test process in
// any case, it stops the cluster and removes the folder.
const clusterScript = `
cd "$1" || exit 1
trap 'rm -rf "$1"' EXIT
start() {
	"$2/pg_ctl" -D "$1/data" -w -t 300 -l "$1/log" -o "-c listen_addresses='' -c unix_socket_directories='$1' $3" start >>"$1/log" 2>&1
}
"$2/initdb" -D "$1/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >"$1/log" 2>&1 && start "$@" && echo ready || { tail -n 20 "$1/log"; exit 1; }
while read -r order; do
	case $order in
	stop) "$2/pg_ctl" -D "$1/data" -w -m immediate stop >/dev/null 2>&1 ;;
	start) start "$@" ;;
	esac
done
"$2/pg_ctl" -D "$1/data" -m immediate stop >/dev/null 2>&1
`

// startCluster starts a new cluster with the settings.
func startCluster(settings string) (server, error) {
	c, err := newCluster(settings)
	if err != nil {
		return server{}, err
	}
	return server{admin: c.admin, alive: c.alive}, nil
}

// newCluster starts a cluster on a Unix socket in a temporary folder.
func newCluster(settings string) (*Cluster, error) {
	programs, err := findPrograms()
	if err != nil {
		return nil, err
	}
	dir, alive, err := startScript("postgres", clusterScript, programs, settings)
	if err != nil {
		return nil, err
	}
	return &Cluster{admin: "postgres://postgres@/postgres?host=" + url.QueryEscape(dir), dir: dir, alive: alive}, nil
}

// startScript starts a script in a new folder, its first argument, and waits until it reports that it is ready. The
// script runs until alive is closed.
func startScript(name, script string, arguments ...string) (dir string, alive io.WriteCloser, err error) {
	dir, err = os.MkdirTemp("", "relaypdf-"+name+"-")
	if err != nil {
		return "", nil, err
	}

	cmd := exec.CommandContext(context.Background(), "/bin/sh",
		append([]string{"-c", script, "sh", dir}, arguments...)...)
	// Its own process group keeps Ctrl-C from ending the script before it cleans up.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}

	if err = runAsPostgres(cmd, dir); err == nil {
		alive, err = startAndWait(cmd)
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("start %s: %w", name, err), os.RemoveAll(dir))
	}

	return dir, alive, nil
}

// theBouncer is a pgbouncer in transaction mode before the server of this
// process. It ends with it.
var theBouncer = sync.OnceValues(func() (server, error) {
	srv, err := theServer()
	if err != nil {
		return server{}, err
	}
	return startBouncer(srv)
})

// bouncerConns is the number of connections of the pooler to a database: fewer than the processes of some tests.
const bouncerConns = 5

// bouncerQuery is the query that, according to docs/operations/runbook.md, the pooler runs on each of its connections.
const bouncerQuery = "SET lock_timeout = 2000; SET idle_in_transaction_session_timeout = 5000; SET statement_timeout = 30000; SET jit = off"

// bouncerScript starts the pooler $2 with the settings in $3, prints "ready" when it listens in $1, and ends it as
// clusterScript does.
const bouncerScript = `
cd "$1" || exit 1
trap 'rm -rf "$1"' EXIT
printf '%s\nunix_socket_dir = %s\n' "$3" "$1" >"$1/settings"
"$2" -q "$1/settings" >"$1/log" 2>&1 &
pid=$!
n=0
until [ -S "$1/.s.PGSQL.6432" ]; do
	n=$((n + 1))
	kill -0 $pid 2>/dev/null && [ $n -lt 600 ] || { tail -n 20 "$1/log"; exit 1; }
	sleep 0.1
done
echo ready
cat >/dev/null
kill $pid
wait $pid
`

func startBouncer(srv server) (server, error) {
	program, err := exec.LookPath("/usr/sbin/pgbouncer")
	if err != nil {
		return server{}, fmt.Errorf("%w: run `make setup`", err)
	}

	behind, err := pgx.ParseConfig(srv.admin)
	if err != nil {
		return server{}, fmt.Errorf("%s is not a URL: %w", serverVariable, err)
	}

	password := ""
	if behind.Password != "" {
		password = " password='" + behind.Password + "'"
	}

	settings := fmt.Sprintf("[databases]\n* = host=%s port=%d user=%s%s connect_query='"+bouncerQuery+
		"'\n[pgbouncer]\nlisten_port = 6432\nauth_type = any\n"+
		"pool_mode = transaction\ndefault_pool_size = %d\nmax_client_conn = 1000", behind.Host, behind.Port,
		behind.User, password, bouncerConns)

	dir, alive, err := startScript("pgbouncer", bouncerScript, program, settings)
	if err != nil {
		return server{}, err
	}
	return server{admin: "postgres://postgres@/postgres?port=6432&host=" + url.QueryEscape(dir), alive: alive}, nil
}

// bounced is the database's URL by way of the pooler.
func bounced(address string) (string, error) {
	srv, err := theBouncer()
	if err != nil {
		return "", err
	}

	database, err := url.Parse(address)
	if err != nil {
		return "", err
	}

	u, err := url.Parse(srv.admin)
	if err != nil {
		return "", err
	}

	u.Path = database.Path
	return u.String(), nil
}

// findPrograms returns the newest folder of PostgreSQL's server programs.
func findPrograms() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", fmt.Errorf("no PostgreSQL server is installed: run `make setup`, or set %s to a server's URL",
			serverVariable)
	}
	return filepath.Dir(found[len(found)-1]), nil
}

// runAsPostgres makes the command run as the user postgres where we are root,
// as which PostgreSQL refuses to run.
func runAsPostgres(cmd *exec.Cmd, dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}

	u, err := user.Lookup("postgres")
	if err != nil {
		return fmt.Errorf("%w: run `make setup`, or set %s to a server's URL", err, serverVariable)
	}

	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return err
	}

	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(dir, int(uid), int(gid))
}

// startAndWait starts the script, waits until it reports that it is ready and returns its standard input, at whose
// end it stops.
func startAndWait(cmd *exec.Cmd) (io.WriteCloser, error) {
	alive, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}

	out, outWriter, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()

	cmd.Stdout = outWriter
	cmd.Stderr = outWriter
	err = errors.Join(cmd.Start(), outWriter.Close(), out.SetReadDeadline(time.Now().Add(startTimeout)))
	if err != nil {
		return nil, err
	}

	var output []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "ready" {
			return alive, nil
		}
		output = append(output, lines.Text())
	}

	return nil, errors.New(strings.Join(output, "\n"))
}
