package e2e

import (
	"context"
	"encoding/pem"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// chaosTime is the duration for which each part of TestChaos kills servers. `make chaos` sets it, and runs all
// parts at once.
var chaosTime = flag.Duration("chaos", 3*time.Second, "how long each part of TestChaos kills servers")

// chaosSeed repeats the choices of an earlier run; the interleaving is the
// machine's.
var chaosSeed = flag.Uint64("chaos-seed", 0, "seed of TestChaos; 0 picks one")

const (
	chaosAccounts = 3
	chaosClients  = 3 // for each account
	// chaosCuts is the average number of exchanges with PostgreSQL before one is cut.
	chaosCuts = 150
	// chaosLonger is the additional time for TestChaos if nothing was killed yet, no job accepted, nothing paid or no
	// attack answered: on a machine that stalls, or starts servers more slowly than they are killed, seconds are not
	// enough.
	chaosLonger = 4 * time.Minute
	// chaosCalm bounds the wait for everything accepted to come to its end.
	chaosCalm = 5 * time.Minute
)

// TestChaos puts real servers under mixed load, with hostile documents and payments. It kills them with SIGKILL again
// and again, freezes them, gives them wrong clocks and cuts their connections to PostgreSQL during exchanges. Then it
// compares the responses of clients, the events of a webhook receiver, and the payments at Stripe with the database.
func TestChaos(t *testing.T) { //nolint:tparallel // it adopts the orphans of the whole process
	if *chaosSeed == 0 {
		*chaosSeed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", *chaosSeed)
	adoptOrphans(t)
	// A remaining process of a killed server has become a child of this one.
	t.Cleanup(func() { awaitNoChildren(t) })
	for _, processes := range []int{1, 2} {
		t.Run(fmt.Sprintf("processes=%d", processes), func(t *testing.T) {
			t.Parallel()
			t.Run("sqlite", func(t *testing.T) {
				t.Parallel()
				newChaos(t, storetest.SQLite(t), processes).run(*chaosTime)
			})
			t.Run("postgres", func(t *testing.T) {
				t.Parallel()
				db, cluster := storetest.OwnPostgres(t) // It is frozen, which may hurt no other test.
				c := newChaos(t, db, processes)
				c.cluster = cluster
				c.run(*chaosTime)
			})
		})
	}
}

// chaos is one database, the servers on it, and all that was seen from outside.
type chaos struct {
	t         *testing.T
	db        storetest.DB
	store     *store.Store
	dir       string
	program   string // of the servers that are killed
	env       []string
	receiver  *chaosReceiver
	customers []*chaosCustomer
	attacker  *chaosCustomer // one of the customers
	till      *chaosTill     // whose payers are customers too
	servers   []*chaosServer
	cutter    *storetest.Cutter  // between servers and PostgreSQL
	cluster   *storetest.Cluster // PostgreSQL itself; nil on SQLite
	frozen    atomic.Int32       // parts besides servers that were frozen
	attacks   atomic.Int32       // hostile documents that were answered
	blobs     string             // folder in which the files are
	// clientHook is called with every response; nil means none.
	clientHook func(fleetAnswer)
}

// chaosCustomer is an account and its responses.
type chaosCustomer struct {
	account store.Account
	key     string

	mu       sync.Mutex
	jobs     map[string]bool   // ids of the jobs that were accepted
	results  map[string]bool   // ids of results that arrived
	byKey    map[string]string // id of the result by idempotency key
	endpoint map[string]string // secret by kind of endpoint
	pays     bool              // it has no money but what it pays
}

func newChaos(t *testing.T, db storetest.DB, processes int) *chaos {
	t.Helper()
	c := &chaos{t: t, db: db, store: db.Open(t, nil), dir: chaosFolder(t), program: plainProgram(t), receiver: newChaosReceiver(t), till: newChaosTill(t), blobs: filepath.Join(db.DataDir, "blobs")}
	ca := filepath.Join(c.dir, "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.receiver.server.Certificate().Raw})
	if err := os.WriteFile(ca, certificate, 0o644); err != nil {
		t.Fatal(err)
	}
	temp := filepath.Join(c.dir, "temp")
	if err := os.Mkdir(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	through := db
	if !strings.HasPrefix(db.URL, "sqlite:") {
		through, c.cutter = storetest.BehindCutter(t, db)
	}
	c.env = []string{
		actAsProgram + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + db.DataDir, "TMPDIR=" + temp,
		"RELAYPDF_LISTEN=127.0.0.1:0", "RELAYPDF_METRICS_LISTEN=", "RELAYPDF_BASE_URL=http://localhost:8787",
		"RELAYPDF_DATA_DIR=" + db.DataDir, "RELAYPDF_DATABASE_URL=" + through.URL, "RELAYPDF_RATE_LIMITS=off", "RELAYPDF_MEMORY=2GiB",
		"RELAYPDF_ALLOW_HOSTS=127.0.0.1", "RELAYPDF_EXTRA_CA=" + ca, "RELAYPDF_RENDER_SLOTS=1", "RELAYPDF_WORKERS=2",
	}
	c.env = append(c.env, c.till.env()...)
	for i := range chaosAccounts {
		c.customers = append(c.customers, c.newCustomer(fmt.Sprintf("chaos%d@example.com", i)))
	}
	c.attacker = c.newCustomer("attacker@example.com")
	c.customers = append(c.customers, c.attacker)
	for i := range chaosPayers {
		payer := c.newPayer(fmt.Sprintf("payer%d@example.com", i))
		c.till.payers = append(c.till.payers, payer)
		c.customers = append(c.customers, payer.chaosCustomer)
	}
	for i := range processes {
		// The clock of SQLite's machine is the only one. The first process has the
		// right one, and does the periodic work.
		c.servers = append(c.servers, &chaosServer{program: c.program, env: c.env, skewed: c.cutter != nil && i > 0, cut: c.cutter != nil})
	}
	return c
}

// chaosFolder is a folder that the engines' user may pass through.
func chaosFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "chaos-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (c *chaos) newCustomer(email string) *chaosCustomer {
	c.t.Helper()
	account, err := c.store.CreateAccount(c.t.Context(), email, 0)
	if err == nil {
		err = c.store.Credit(c.t.Context(), account.ID, 1000*credit.Dollar, "chaos")
	}
	if err != nil {
		c.t.Fatal(err)
	}
	_, secret, err := c.store.CreateKey(c.t.Context(), store.NewKey{AccountID: account.ID, Name: "chaos"})
	if err != nil {
		c.t.Fatal(err)
	}
	return &chaosCustomer{
		account: account, key: secret, jobs: map[string]bool{}, results: map[string]bool{},
		byKey: map[string]string{}, endpoint: map[string]string{},
	}
}

// run kills servers for the given time, lets everything come to its end, and
// checks it.
func (c *chaos) run(kill time.Duration) {
	t := c.t
	for _, server := range c.servers {
		if err := server.start(); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		for _, server := range c.servers {
			server.end(syscall.SIGKILL)
		}
	}()
	c.registerEndpoints()
	for _, payer := range c.till.payers {
		c.logIn(t.Context(), payer)
	}
	if c.cutter != nil {
		c.cutter.Often(chaosCuts)
	}

	ctx, cancel := context.WithTimeout(t.Context(), kill+chaosLonger)
	defer cancel()
	end := time.AfterFunc(kill, func() {
		for !c.shows() && ctx.Err() == nil {
			<-time.After(100 * time.Millisecond)
		}
		cancel()
	})
	defer end.Stop()
	var load, killers sync.WaitGroup
	load.Go(func() {
		(&chaosClient{chaos: c, customer: c.attacker, random: rand.New(rand.NewPCG(*chaosSeed, 2000))}).attack(ctx)
	})
	for i, customer := range c.customers[:chaosAccounts] {
		for n := range chaosClients {
			random := rand.New(rand.NewPCG(*chaosSeed, uint64(i*100+n)))
			load.Go(func() { (&chaosClient{chaos: c, customer: customer, random: random}).run(ctx) })
		}
	}
	for i, payer := range c.till.payers {
		random := rand.New(rand.NewPCG(*chaosSeed, uint64(3000+i)))
		load.Go(func() { c.pay(ctx, payer, random) })
	}
	load.Go(func() { c.tellAgain(ctx) })
	for i, server := range c.servers {
		random := rand.New(rand.NewPCG(*chaosSeed, uint64(1000+i)))
		killers.Go(func() { server.killAgain(ctx, t, random) })
	}
	load.Go(func() { c.freezeParts(ctx, rand.New(rand.NewPCG(*chaosSeed, 4000))) })
	killers.Wait()
	load.Wait()
	cuts := 0
	if c.cutter != nil {
		cuts = c.cutter.Cuts()
		c.cutter.Disarm()
	}
	// Calls whose end could not be written are given back at once by a new start,
	// with a right clock, instead of in a minute.
	for _, server := range c.servers {
		server.end(syscall.SIGKILL)
		if err := server.start(); err != nil {
			t.Fatal(err)
		}
	}

	killed := time.Now()
	c.receiver.calmDown()
	c.settleUp()
	c.awaitCalm()
	calm := time.Since(killed).Round(time.Second)
	c.check()
	c.stopAll()
	c.checkNothingLeft()
	seen := c.counts()
	t.Logf("%+v told by %d events, %d cuts, %d requests to the receiver, calm after %v", seen, c.till.sent.Load(), cuts, c.receiver.count(), calm)
	if !c.shows() || c.cutter != nil && cuts == 0 {
		t.Error("nothing was killed, frozen, attacked, cut or paid, or no job was accepted: the test shows nothing")
	}
}

// chaosCounts counts the kills and freezes of servers and other parts, the accepted jobs, the hostile documents
// with a response, and the payments.
type chaosCounts struct{ kills, freezes, parts, jobs, attacks, payments int }

func (c *chaos) counts() (n chaosCounts) {
	n.attacks, n.payments, n.parts = int(c.attacks.Load()), c.till.paid(), int(c.frozen.Load())
	for _, server := range c.servers {
		n.kills += int(server.kills.Load())
		n.freezes += int(server.freezes.Load())
	}
	for _, customer := range c.customers {
		customer.mu.Lock()
		n.jobs += len(customer.jobs)
		customer.mu.Unlock()
	}
	return n
}

// shows reports whether enough has happened for a meaningful result.
func (c *chaos) shows() bool {
	n := c.counts()
	return n.kills > 0 && n.freezes > 0 && n.parts > 0 && n.jobs > 0 && n.attacks > 0 && n.payments > 0
}

// stopAll ends the servers as an operator does. One more start and stop lets them clean up after those that were
// killed; its exit code reports whether the race detector, if it is on, has found anything.
func (c *chaos) stopAll() {
	c.t.Helper()
	for _, server := range c.servers {
		server.end(syscall.SIGTERM)
	}
	last := &chaosServer{program: os.Args[0], env: c.env}
	if err := last.start(); err != nil {
		c.t.Error(err)
		return
	}
	last.end(syscall.SIGTERM)
	if state := last.process.ProcessState; !state.Success() {
		c.t.Errorf("the last server left with %v", state)
	}
}

// adoptOrphans makes this process the parent of every process whose own parent dies, so that all of them are found.
func adoptOrphans(t *testing.T) {
	t.Helper()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
}

// awaitNoChildren fails the test when processes of killed servers live on.
func awaitNoChildren(t *testing.T) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(crashPatience); time.Now().Before(deadline); <-time.After(100 * time.Millisecond) {
		if left = orphans(); len(left) == 0 {
			return
		}
	}
	t.Errorf("processes of killed servers live on: %q", left)
}

// orphans reaps the dead among this process's children and lists the living
// ones, but for the PostgreSQL of the tests.
func orphans() (alive []string) {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for field := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				continue
			}
			command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if strings.Contains(string(command), "postgres") || strings.Contains(string(command), "initdb") {
				continue
			}
			var status syscall.WaitStatus
			if ended, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil); err == nil && ended == 0 {
				alive = append(alive, fmt.Sprintf("%d %s", pid, command))
			}
		}
	}
	return alive
}
