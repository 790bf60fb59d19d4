package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestKilledServerLosesNoMoney kills a real server with SIGKILL after each
// step of a paid call, restarts it and repeats the calls with their keys.
func TestKilledServerLosesNoMoney(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		c := newCrashBench(t, db)
		c.killAfterEach(c.repeat, "authenticate limit decode authorize quote admit hold", "run stored settle answered")
	})
}

// TestKilledWorkerLosesNoJob does the same to jobs: whatever step their process
// dies at, they are completed once, and charged once.
func TestKilledWorkerLosesNoJob(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		c := newCrashBench(t, db)
		c.async = true
		c.killAfterEach(c.repeatJob, "admit hold", "claimed load run stored settle")
	})
}

// TestKilledPipelineIsRunOnce kills the worker of jobs with two steps, between the steps, too.
func TestKilledPipelineIsRunOnce(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		c := newCrashBench(t, db)
		c.async, c.path, c.price = true, "/v1/pipelines", 600
		c.body = `{"response":"async","steps":[{"id":"code","op":"barcodes.create","input":{"type":"qr","text":%q}},{"id":"page","op":"pdf.from-images","input":{"files":[{"step":"code"}]}}]}`
		c.killAfterEach(c.repeatJob, "hold", "load worked run settle")
		calls, err := c.store.Calls(t.Context(), store.CallFilter{AccountID: c.account.ID})
		if err != nil || len(calls.Items) != 5 {
			t.Errorf("there are %d calls, %v; want 5", len(calls.Items), err)
		}
		for _, call := range calls.Items {
			if call.Status != store.CallDone || call.Charge != c.price || call.Operation != "pipelines.create" {
				t.Errorf("a call is %+v", call)
			}
		}
	})
}

// crashBench is one database and data folder that servers are killed over.
type crashBench struct {
	t        *testing.T
	database storetest.DB
	env      []string
	store    *store.Store
	account  store.Account
	secret   string
	spent    credit.Amount
	async    bool // the calls are jobs
	// path and body are of another call than that of a PDF, and price is what it costs. The body has a place for a text.
	path, body string
	price      credit.Amount
	series     string // distinguishes the keys of calls that are killed at the same step
	// program is the test binary that acts as the server, and log receives what it logs.
	program string
	log     io.Writer
}

func newCrashBench(t *testing.T, db storetest.DB) *crashBench {
	t.Helper()
	s := db.Open(t, nil)
	account, err := s.CreateAccount(t.Context(), "crash@example.com", 5*credit.Dollar)
	if err != nil {
		t.Fatal(err)
	}
	_, secret, err := s.CreateKey(t.Context(), store.NewKey{AccountID: account.ID, Name: "crash"})
	if err != nil {
		t.Fatal(err)
	}
	return &crashBench{
		t: t, database: db, store: s, account: account, secret: secret, program: plainProgram(t), log: io.Discard, price: 2000,
		env: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + db.DataDir, "RELAYPDF_LISTEN=127.0.0.1:0", "RELAYPDF_METRICS_LISTEN=",
			"RELAYPDF_DATA_DIR=" + db.DataDir, "RELAYPDF_DATABASE_URL=" + db.URL, "RELAYPDF_RATE_LIMITS=off", "RELAYPDF_RENDER_SLOTS=1",
			"RELAYPDF_WORKERS=8", oneBrowser, // A worker for each job that hangs.
		},
	}
}

// oneBrowser leaves a server too little memory for a second browser, which one account
// does not need.
const oneBrowser = "RELAYPDF_MEMORY=1GiB"

// withoutOffice leaves LibreOffice out, whose start costs as much as that of all else, from servers that convert nothing.
const withoutOffice = "RELAYPDF_ENGINES=ocr,ghostscript"

// crashServer is a running server process and the lines it prints.
type crashServer struct {
	process *exec.Cmd
	orders  io.Writer // see arm
	lines   chan string
	url     string
}

// crashPatience bounds every wait of these tests.
const crashPatience = 4 * time.Minute

func (c *crashBench) start(step string) *crashServer {
	c.t.Helper()
	server := &crashServer{process: exec.Command(c.program), lines: make(chan string, 16)}
	server.process.Env = append([]string{stopAfter + "=" + step}, c.env...)
	server.process.Stderr = c.log
	out, err := server.process.StdoutPipe()
	if err == nil {
		server.orders, err = server.process.StdinPipe()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	if err := server.process.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { server.end(syscall.SIGKILL) })
	go func() {
		defer close(server.lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			server.lines <- scanner.Text()
		}
	}()
	server.url = strings.TrimPrefix(server.await(c.t, "listening "), "listening ")
	return server
}

// await returns the next line that starts with prefix.
func (s *crashServer) await(t *testing.T, prefix string) string {
	t.Helper()
	deadline := time.After(crashPatience)
	for {
		select {
		case line, ok := <-s.lines:
			if !ok {
				t.Fatalf("the server ended before %q", prefix)
			}
			if strings.HasPrefix(line, prefix) {
				return line
			}
		case <-deadline:
			t.Fatalf("no %q within %v", prefix, crashPatience)
		}
	}
}

func (s *crashServer) end(how syscall.Signal) {
	if s.process.ProcessState == nil {
		_ = s.process.Process.Signal(how)
		_ = s.process.Wait()
	}
}

func (c *crashBench) post(ctx context.Context, url, step string) (*http.Response, error) {
	if c.path != "" {
		return c.send(ctx, url+c.path, "crash-"+c.series+step, strings.NewReader(fmt.Sprintf(c.body, step)))
	}
	mode := "binary"
	if c.async {
		mode = "async"
	}
	body := strings.NewReader(fmt.Sprintf(`{"html":"<p>killed after %s</p>","response":%q}`, step, mode))
	return c.send(ctx, url+"/v1/pdf", "crash-"+step, body)
}

// send POSTs JSON with the account's key.
func (c *crashBench) send(ctx context.Context, address, idempotencyKey string, body io.Reader) (*http.Response, error) {
	post := paidPost{url: address, secret: c.secret, idempotencyKey: idempotencyKey}
	return post.send(ctx, &http.Client{Timeout: crashPatience}, body)
}

// paidPost is a POST of JSON with an API key; an empty idempotency key is not
// sent.
type paidPost struct{ url, secret, idempotencyKey string }

func (p paidPost) send(ctx context.Context, client *http.Client, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+p.secret)
	r.Header.Set("Content-Type", "application/json")
	if p.idempotencyKey != "" {
		r.Header.Set("Idempotency-Key", p.idempotencyKey)
	}
	return client.Do(r)
}

// killAfterEach kills a server for each group of steps, when a call of its own hangs after each of them, and has the
// calls repeated to the next server, which is killed for the group that follows. A worker would go on with a job that
// hangs after its hold, so this step is the last of its group.
func (c *crashBench) killAfterEach(repeat func(s *crashServer, step string), groups ...string) {
	c.t.Helper()
	server, made := c.start("none"), 0
	for _, group := range groups {
		steps := strings.Fields(group)
		made += len(steps)
		c.kill(server, steps...)
		server = c.start("none")
		for _, step := range steps {
			repeat(server, step)
		}
		c.expectCharge(steps...)
		c.expectPaidCalls(made)
	}
	server.end(syscall.SIGTERM)
}

// expectPaidCalls checks that so many calls were carried out at their price, and that no other has a charge: what one
// pays too much does not make up for another.
func (c *crashBench) expectPaidCalls(want int) {
	c.t.Helper()
	calls, err := c.store.Calls(c.t.Context(), store.CallFilter{AccountID: c.account.ID, List: store.List{Limit: store.MaxList}})
	if err != nil {
		c.t.Fatal(err)
	}
	paid := 0
	for _, call := range calls.Items {
		switch {
		case call.Status == store.CallDone && call.Charge == c.price:
			paid++
		case call.Charge != 0:
			c.t.Errorf("call %s is %s and cost %v, want %v for one that is done", call.ID, call.Status, call.Charge, c.price)
		}
	}
	if paid != want {
		c.t.Errorf("%d calls were paid, want %d", paid, want)
	}
}

// arm has the next call to a running server hang after the step.
func (s *crashServer) arm(t *testing.T, step string) {
	t.Helper()
	if _, err := fmt.Fprintln(s.orders, step); err != nil {
		t.Fatal(err)
	}
	s.await(t, "armed "+step)
}

// kill kills the server when calls to it hang, one after each of the steps.
func (c *crashBench) kill(server *crashServer, steps ...string) {
	c.t.Helper()
	var calls sync.WaitGroup
	for _, step := range steps {
		c.hang(server, step, &calls)
	}
	server.end(syscall.SIGKILL)
	calls.Wait()
}

// hang makes a call that hangs after the step. Calls waits for its end.
func (c *crashBench) hang(server *crashServer, step string, calls *sync.WaitGroup) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), crashPatience)
	server.arm(c.t, step)
	call := *c // The next call changes it.
	calls.Go(func() {
		defer cancel()
		if response, err := call.post(ctx, server.url, step); err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
	})
	server.await(c.t, "reached "+step)
}

// repeat repeats the call twice to a server that was started after the kill, and checks
// that it was carried out and charged once in all.
func (c *crashBench) repeat(server *crashServer, step string) {
	c.t.Helper()
	if report, err := c.store.CheckLedger(c.t.Context()); err != nil || !report.OK() {
		c.t.Errorf("after %s and a restart: ledger %+v, %v", step, report, err)
	}
	account, err := c.store.Account(c.t.Context(), c.account.ID)
	if err != nil || account.Held != 0 {
		c.t.Errorf("after %s and a restart: %v is held, %v", step, account.Held, err)
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), crashPatience)
	defer cancel()
	for range 2 {
		response, err := c.post(ctx, server.url, step)
		if err != nil {
			c.t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || !strings.HasPrefix(string(body), "%PDF-") {
			c.t.Fatalf("after %s: repeated call: status %d, %d bytes, %v", step, response.StatusCode, len(body), err)
		}
	}
}

// expectCharge checks that the wallet paid for one more call for each of the steps.
func (c *crashBench) expectCharge(steps ...string) {
	c.t.Helper()
	c.spent += c.price * credit.Amount(len(steps))
	step := strings.Join(steps, ", ")
	account, err := c.store.Account(c.t.Context(), c.account.ID)
	if err != nil || account.Balance != 5*credit.Dollar-c.spent || account.Held != 0 {
		c.t.Errorf("after %s: balance %v, held %v, %v; want %v and nothing held", step, account.Balance, account.Held, err, 5*credit.Dollar-c.spent)
	}
	if report, err := c.store.CheckLedger(c.t.Context()); err != nil || !report.OK() {
		c.t.Errorf("after %s and a repeat: ledger %+v, %v", step, report, err)
	}
}

// repeatJob asks a server that was started after the kill for the same job twice, and
// waits for it.
func (c *crashBench) repeatJob(server *crashServer, step string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), crashPatience)
	defer cancel()
	var ids [2]string
	for i := range ids {
		response, err := c.post(ctx, server.url, step)
		if err != nil {
			c.t.Fatal(err)
		}
		_ = response.Body.Close()
		if ids[i] = response.Header.Get("x-service-id"); response.StatusCode != http.StatusAccepted {
			c.t.Fatalf("after %s: repeated call: status %d, want 202", step, response.StatusCode)
		}
	}
	if ids[0] != ids[1] {
		c.t.Errorf("after %s: one key made the jobs %v", step, ids)
	}
	c.awaitJob(ctx, ids[0], step)
}

// awaitJob waits until the job is completed and its file can be had.
func (c *crashBench) awaitJob(ctx context.Context, id, step string) {
	c.t.Helper()
	for {
		call, err := c.store.Job(ctx, c.account.ID, id)
		if err != nil {
			c.t.Fatalf("after %s: %v", step, err)
		}
		switch call.Status {
		case store.CallDone:
			if _, err := c.store.PublicFile(ctx, id); err != nil {
				c.t.Errorf("after %s: the job's file: %v", step, err)
			}
			return
		case store.CallFailed:
			c.t.Fatalf("after %s: the job failed: %+v", step, call.Failure)
		}
		<-time.After(20 * time.Millisecond)
	}
}
