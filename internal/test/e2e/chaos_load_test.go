package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// chaosServer is a server process that is killed and started again.
type chaosServer struct {
	program string // the test binary that acts as the server
	env     []string

	mu      sync.Mutex
	process *exec.Cmd
	up      bool
	url     string // empty while it is down, and for a process without an API
	gone    chan struct{}
	kills   atomic.Int32
	freezes atomic.Int32
	// skewed means that it may be started with a wrong clock, and cut that its
	// database's connections break, so that a start may fail.
	skewed, cut bool
	heard       func(line []byte) // called with every logged line; nil means none

	logMu sync.Mutex
	log   []string // the last lines
}

// loggedLines is the number of lines that are kept of a server's log. The stacks of all goroutines fit.
const loggedLines = 4000

func (s *chaosServer) keepLine(line string) {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	s.log = append(s.log[max(0, len(s.log)-loggedLines):], line)
}

// dump ends the server with the stacks of its goroutines, and returns the end of its log.
func (s *chaosServer) dump() string {
	s.end(syscall.SIGQUIT)
	return s.logged(loggedLines)
}

// logged returns the last n lines of the log.
func (s *chaosServer) logged(n int) string {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	return strings.Join(s.log[max(0, len(s.log)-n):], "\n")
}

// chaosClocks lists the offsets of wrong clocks.
var chaosClocks = []string{"11m", "24h", "-1h"}

// start starts the process and waits until it serves.
func (s *chaosServer) start(more ...string) error {
	process := exec.Command(s.program, "serve")
	process.Env = slices.Concat(s.env, more)
	// Its own group: a Ctrl-C at the terminal is for the test.
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	logs, err := process.StderrPipe()
	if err != nil {
		return err
	}
	if err := process.Start(); err != nil {
		return err
	}
	ready, gone := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(gone)
		for lines := bufio.NewScanner(logs); lines.Scan(); {
			var line struct{ Msg, Address string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "ready" {
				ready <- line.Address
			}
			s.keepLine(lines.Text())
			if s.heard != nil {
				s.heard(lines.Bytes())
			}
		}
		_ = process.Wait()
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process, s.gone = process, gone
	select {
	case s.url = <-ready:
		s.up = true
		return nil
	case <-gone:
		return fmt.Errorf("the server did not start: %s", s.logged(10))
	case <-time.After(crashPatience):
		return fmt.Errorf("the server did not start within %v", crashPatience)
	}
}

func (s *chaosServer) address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// pid is the number of the process that was started last.
func (s *chaosServer) pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.Process.Pid
}

// end sends a signal and waits for the process.
func (s *chaosServer) end(how syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.up {
		return
	}
	s.up, s.url = false, ""
	_ = s.process.Process.Signal(how)
	<-s.gone
}

// killAgain kills the server and starts it again until ctx ends, and freezes it
// every third time instead; it leaves it running.
func (s *chaosServer) killAgain(ctx context.Context, t *testing.T, random *rand.Rand) {
	t.Helper()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(200+random.IntN(1800)) * time.Millisecond):
		}
		if n%3 == 1 {
			s.freeze(longFreeze(*chaosTime, random))
			continue
		}
		s.end(syscall.SIGKILL)
		s.kills.Add(1)
		var more []string
		if s.skewed && random.IntN(2) == 0 {
			more = []string{wrongClock + "=" + chaosClocks[random.IntN(len(chaosClocks))]}
		}
		if err := s.startAnyhow(more...); err != nil {
			t.Error(err)
			return
		}
	}
}

// startAnyhow starts the server, again where its connections to the database may
// have been cut meanwhile.
func (s *chaosServer) startAnyhow(more ...string) (err error) {
	for range 10 {
		if err = s.start(more...); err == nil || !s.cut {
			return err
		}
	}
	return err
}

// longFreeze returns the duration of a freeze in a run: at least 5 s, because shorter ones reach no deadline, and
// at most 60 s. Runs of a few seconds have shorter freezes.
func longFreeze(run time.Duration, random *rand.Rand) time.Duration {
	if run < longRun {
		return time.Duration(100+random.IntN(1900)) * time.Millisecond
	}
	minimum, maximum := 5*time.Second, min(run/12, time.Minute)
	return minimum + rand.N(max(maximum-minimum, 1))
}

// longRun is the least run with freezes of 5 s and more.
const longRun = time.Minute

// freeze stops the server for a time, as a machine does that is suspended.
func (s *chaosServer) freeze(span time.Duration) {
	s.mu.Lock()
	process := s.process.Process // only who freezes it ends it
	s.mu.Unlock()
	if process.Signal(syscall.SIGSTOP) != nil {
		return // It has ended by itself.
	}
	<-time.After(span)
	_ = process.Signal(syscall.SIGCONT)
	s.freezes.Add(1)
}

// attack sends hostile documents, one after the other. Their results do not matter; their costs, and the calls of all
// others, are checked.
func (c *chaosClient) attack(ctx context.Context) {
	attacks := sharedtest.Attacks()
	for ctx.Err() == nil {
		body := map[string]any{
			"html": attacks[c.random.IntN(len(attacks))].HTML, "response": "binary", "options": map[string]any{"timeout": 2000},
		}
		answer, err := c.send(ctx, "/v1/pdf", "", body)
		if err != nil {
			continue
		}
		c.attacks.Add(1)
		switch answer.status {
		case http.StatusOK:
			c.customer.told(c.t, "", answer)
		case http.StatusBadRequest:
			c.t.Errorf("a hostile document was refused: %s", answer.body)
		}
	}
}

// chaosClient sends requests of all kinds, one at a time.
type chaosClient struct {
	*chaos
	customer *chaosCustomer
	random   *rand.Rand
	n        int
	// door is the URL of a region's proxy, used instead of the servers themselves; counted is passed on with its
	// responses.
	door    string
	region  int
	counted bool
}

// chaosHTTP does not reuse connections, because most servers are killed soon. Its timeout is long: a disk that is
// still writing the files of a build stalls every commit.
var chaosHTTP = &http.Client{Timeout: chaosCalm, Transport: &http.Transport{DisableKeepAlives: true}}

// chaosAnswer is the part of any answer that the client looks at.
type chaosAnswer struct {
	status int
	id     string
	secret string
	by     string // who answered, behind a proxy
	body   []byte
}

func (c *chaosClient) run(ctx context.Context) {
	for ; ctx.Err() == nil; c.n++ {
		body := map[string]any{"type": "qr", "text": fmt.Sprintf("%s %d", c.customer.account.ID, c.random.Uint64())}
		path := "/v1/barcodes"
		// Conversions are rare: each takes a process of LibreOffice, whose starts would be most of the load.
		switch c.random.IntN(48) {
		case 0, 1, 2, 3, 4, 5:
			path, body = "/v1/pdf", map[string]any{"html": fmt.Sprintf("<p>%d</p>", c.random.Uint64())}
		case 6:
			path, body = "/v1/convert", map[string]any{"file": fmt.Appendf(nil, "a,b\n%d,2\n", c.random.Uint64()), "filename": "a.csv", "to": "pdf"}
		}
		body["response"] = []string{"binary", "url", "async", "async"}[c.random.IntN(4)]
		if c.random.IntN(3) == 0 {
			body["callbackUrl"] = c.receiver.server.URL + "/callback"
		}
		key := ""
		if c.random.IntN(2) == 0 {
			key = fmt.Sprintf("chaos-%d", c.random.Uint64())
		}
		c.call(ctx, path, key, body)
		if c.door != "" { // Its limits refuse most of the faster calls.
			<-time.After(time.Duration(c.random.IntN(300)) * time.Millisecond)
		}
	}
}

// call sends a request, with a key until it gets a response, and remembers the response.
func (c *chaosClient) call(ctx context.Context, path, key string, body map[string]any) {
	for repeat := 0; ctx.Err() == nil; {
		answer, err := c.send(ctx, path, key, body)
		switch {
		case err != nil || answer.status >= 500 || answer.status == http.StatusTooManyRequests:
			if key == "" {
				return
			}
			pause := 50 * time.Millisecond
			if c.door != "" { // Its servers would do little but refuse.
				pause = 300 * time.Millisecond
			}
			<-time.After(pause)
			continue
		case answer.status != http.StatusOK && answer.status != http.StatusAccepted:
			c.t.Errorf("%s %v: status %d: %s", path, body, answer.status, answer.body)
			return
		}
		c.customer.told(c.t, key, answer)
		// Some answers are asked for once more.
		if repeat++; key == "" || repeat == 2 || c.random.IntN(4) != 0 {
			return
		}
	}
}

// It records a response. Two responses to one key must name one result.
func (u *chaosCustomer) told(t *testing.T, key string, answer chaosAnswer) {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	if answer.status == http.StatusAccepted {
		u.jobs[answer.id] = true
	} else {
		u.results[answer.id] = true
	}
	if key == "" {
		return
	}
	if before := u.byKey[key]; before != "" && before != answer.id {
		// A job that failed has freed its key.
		t.Logf("key %s: results %s and %s", key, before, answer.id)
	}
	u.byKey[key] = answer.id
}

// post sends one request.
func (c *chaos) post(ctx context.Context, url, key string, customer *chaosCustomer, body any) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return paidPost{url: url, secret: customer.key, idempotencyKey: key}.send(ctx, chaosHTTP, bytes.NewReader(text))
}

// send sends one request to a server that runs, if the one it picks does.
func (c *chaosClient) send(ctx context.Context, path, key string, body any) (chaosAnswer, error) {
	url := c.door
	if url == "" {
		url = c.servers[c.random.IntN(len(c.servers))].address()
	}
	if url == "" {
		<-time.After(20 * time.Millisecond)
		return chaosAnswer{}, fmt.Errorf("the server is down")
	}
	asked := time.Now()
	answer, err := c.ask(ctx, url+path, key, body)
	if c.clientHook != nil && ctx.Err() == nil {
		paid := answer.status == http.StatusOK && path == "/v1/barcodes"
		told := fleetAnswer{asked, time.Now(), answer.status, answer.by, c.region, c.counted, paid}
		if err != nil {
			told.status = 0
		}
		c.clientHook(told)
	}
	return answer, err
}

// ask sends one request and reads the response.
func (c *chaosClient) ask(ctx context.Context, url, key string, body any) (chaosAnswer, error) {
	response, err := c.post(ctx, url, key, c.customer, body)
	if err != nil {
		return chaosAnswer{}, err
	}
	return readChaos(response)
}

func readChaos(response *http.Response) (chaosAnswer, error) {
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	upstream := strings.Split(response.Header.Get("X-Upstream"), ", ")
	answer := chaosAnswer{status: response.StatusCode, id: response.Header.Get("x-service-id"), by: upstream[len(upstream)-1], body: body}
	var made struct{ Secret string }
	if strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") && json.Unmarshal(body, &made) == nil {
		answer.secret = made.Secret
	}
	return answer, err
}

// chaosEndpoints are the kinds of endpoints; a receiver behaves according to its path.
var chaosEndpoints = []string{"ok", "flaky", "stall", "redirect", "gone"}

// registerEndpoints gives every account an endpoint of each kind.
func (c *chaos) registerEndpoints() {
	c.t.Helper()
	for _, customer := range c.customers {
		for _, kind := range chaosEndpoints {
			var err error
			for range 5 {
				if customer.endpoint[kind], err = c.register(customer, kind); err == nil {
					break
				}
			}
			if err != nil {
				c.t.Fatal(err)
			}
		}
	}
}

// register gives an account an endpoint, and returns its secret.
func (c *chaos) register(customer *chaosCustomer, kind string) (secret string, err error) {
	body := map[string]any{"url": c.receiver.server.URL + "/" + kind}
	response, err := c.post(c.t.Context(), c.servers[0].address()+"/v1/webhooks", "", customer, body)
	if err != nil {
		return "", err
	}
	answer, err := readChaos(response)
	if err == nil && (answer.status != http.StatusCreated || answer.secret == "") {
		err = fmt.Errorf("register an endpoint: %d %s", answer.status, answer.body)
	}
	return answer.secret, err
}
