package ratelimit

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// server is a Redis of the test, on a socket of its own.
type server struct {
	socket string
	cmd    *exec.Cmd
}

func startRedis(t *testing.T, socket string, settings ...string) *server {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), "redis-server", append([]string{
		"--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", filepath.Dir(socket),
	}, settings...)...)
	// It ends with the test process, however that ends.
	if err := storetest.Start(cmd); err != nil {
		t.Fatalf("%v: run `make setup`", err)
	}
	s := &server{socket: socket, cmd: cmd}
	t.Cleanup(s.stop)
	for deadline := time.Now().Add(patience); ; <-time.After(5 * time.Millisecond) {
		if _, err := askRedis(t, socket, "PING"); err == nil {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatal("Redis does not answer")
		}
	}
}

// askRedis sends a command on a connection of its own.
func askRedis(t *testing.T, socket, command string, arguments ...any) (any, error) {
	t.Helper()
	conn, err := redis.DialContext(t.Context(), "unix", socket, redis.DialReadTimeout(patience))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.Do(command, arguments...)
}

// timeLeft returns when the key expires.
func timeLeft(t *testing.T, socket, key string) time.Duration {
	t.Helper()
	left, err := redis.Int64(askRedis(t, socket, "PTTL", key))
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(left) * time.Millisecond
}

func (s *server) stop() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "relaypdf-redis-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

// patience limits short waits, on busy machines as well.
const patience = 2 * time.Minute

// newRedis returns a Limiter that waits for Redis however busy the machine is.
func newRedis(t *testing.T, socket string, to *storetest.Log) *Redis {
	t.Helper()
	r := newHasty(t, socket, to)
	r.timeout = patience
	return r
}

// newHasty returns a Limiter that gives Redis as long as in production.
func newHasty(t *testing.T, socket string, to *storetest.Log) *Redis {
	t.Helper()
	r, err := NewRedis("unix://"+socket, slog.New(slog.NewTextHandler(to, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// TestProcessesShareLimits lets two processes of a region count as fast as they
// can. Together they never let more through than one would, nor less.
func TestProcessesShareLimits(t *testing.T) {
	socket := socketPath(t)
	startRedis(t, socket)
	windows := []Window{{"burst", 7, 60 * time.Millisecond}, {"minute", 15, 200 * time.Millisecond}}
	type event struct {
		at      int64
		allowed bool
	}
	var mu sync.Mutex
	var events []event
	end, last := time.Now().Add(1500*time.Millisecond), time.Now().Add(patience)
	enough := func() bool {
		mu.Lock()
		defer mu.Unlock()
		now, yes := time.Now(), 0
		for _, e := range events {
			if e.allowed {
				yes++
			}
		}
		return now.After(end) && min(yes, len(events)-yes) >= 30 || now.After(last)
	}
	var wait sync.WaitGroup
	for range 2 {
		process := newRedis(t, socket, new(storetest.Log))
		for range 3 {
			wait.Go(func() {
				for !enough() {
					verdict, at, err := process.ask(t.Context(), "rl:fra:key", windows, count, process.names.Add(1))
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					events = append(events, event{at, verdict.Allowed})
					mu.Unlock()
					<-time.After(time.Duration(rand.IntN(4)) * time.Millisecond)
				}
			})
		}
	}
	wait.Wait()
	slices.SortStableFunc(events, func(a, b event) int { return int(a.at - b.at) })
	var allowed []int64
	refused := 0
	for _, e := range events {
		full := false
		for _, w := range windows {
			inside := 0
			for _, at := range allowed {
				if at > e.at-w.Length.Microseconds() {
					inside++
				}
			}
			if e.allowed && inside >= w.Limit {
				t.Fatalf("one more is allowed beside %d within %v, want %d at most", inside, w.Length, w.Limit)
			}
			full = full || inside >= w.Limit
		}
		switch {
		case e.allowed:
			allowed = append(allowed, e.at)
		case !full:
			t.Error("refused, although both windows had room")
		default:
			refused++
		}
	}
	if len(allowed) < 30 || refused < 30 {
		t.Errorf("%d allowed, %d refused: too few to tell", len(allowed), refused)
	}
}

// TestClocksOfProcessesDoNotCount lets two processes of a region, whose clocks are
// apart by 5 seconds, count as fast as they can. Whatever the order, no span of a
// window has more events than it allows.
func TestClocksOfProcessesDoNotCount(t *testing.T) {
	socket := socketPath(t)
	startRedis(t, socket)
	windows := []Window{{"burst", 7, 60 * time.Millisecond}, {"minute", 15, 200 * time.Millisecond}}
	// An event is between the two times.
	type event struct{ asked, answered time.Time }
	var mu sync.Mutex
	var events []event
	var wait sync.WaitGroup
	processes := []*Redis{}
	end, last := time.Now().Add(1500*time.Millisecond), time.Now().Add(patience)
	enough := func() bool {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		return now.After(end) && len(events) >= 30 || now.After(last)
	}
	for _, off := range []time.Duration{-2500 * time.Millisecond, 2500 * time.Millisecond} {
		process := newRedis(t, socket, new(storetest.Log))
		process.memory.now = func() time.Time { return time.Now().Add(off) }
		processes = append(processes, process)
		for range 3 {
			wait.Go(func() {
				for !enough() {
					asked := time.Now()
					verdict, err := process.Take(t.Context(), "rl:fra:key", windows...)
					if err != nil {
						t.Error(err)
					}
					if verdict.Allowed {
						mu.Lock()
						events = append(events, event{asked, time.Now()})
						mu.Unlock()
					}
					<-time.After(time.Duration(rand.IntN(4)) * time.Millisecond)
				}
			})
		}
	}
	wait.Wait()
	for _, process := range processes {
		if process.Alone() != 0 {
			// It has windows of its own then.
			t.Fatalf("a process counted %d times for itself", process.Alone())
		}
	}
	for _, w := range windows {
		for _, first := range events {
			inside := 0
			for _, e := range events {
				if !e.asked.Before(first.asked) && e.answered.Before(first.asked.Add(w.Length)) {
					inside++
				}
			}
			if inside > w.Limit {
				t.Fatalf("%d events within %v, want %d at most", inside, w.Length, w.Limit)
			}
		}
	}
	if len(events) < 30 {
		t.Errorf("%d events are allowed: too few to tell", len(events))
	}
}

// TestRedisAnswersLikeMemory compares the decisions of both limiters.
func TestRedisAnswersLikeMemory(t *testing.T) {
	socket := socketPath(t)
	startRedis(t, socket)
	shared := newRedis(t, socket, new(storetest.Log))
	start := time.Now()
	var clock time.Time
	own := newMemory(func() time.Time { return clock }, maxKeys)
	windows := []Window{{"burst", 3, time.Hour}, {"minute", 5, 2 * time.Hour}}
	for i, w := range [][]Window{windows, windows[:1], windows[1:], windows, windows, windows[1:], windows[1:], windows} {
		do := []int{count, look}[i/4%2]
		if i > 5 {
			do = count
		}
		got, at, err := shared.ask(t.Context(), "rl:fra:a", w, do, uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		clock = time.UnixMicro(at)
		want := own.evaluate("rl:fra:a", w, do, 0)
		if got.Allowed != want.Allowed || got.Refused != want.Refused || got.RetryAfter != want.RetryAfter || !slices.Equal(got.States, want.States) {
			t.Errorf("step %d: Redis answers %+v, memory %+v", i, got, want)
		}
	}
	if clock.Before(start.Add(-time.Second)) {
		t.Errorf("Redis's time is %v", clock)
	}
	if left := timeLeft(t, socket, "rl:fra:a"); left <= 0 || left > 2*time.Hour+2*time.Second {
		t.Errorf("the key expires after %v, want with its longest window", left)
	}
	if n, err := redis.Int(askRedis(t, socket, "DBSIZE")); err != nil || n != 1 {
		t.Errorf("Redis has %d keys (%v), want 1", n, err)
	}
}

// TestRedisGone takes Redis away and gives it back: no check fails, the process's counts stay, and each change is
// logged once.
func TestRedisGone(t *testing.T) {
	socket := socketPath(t)
	window := Window{"hour", 6, time.Hour}
	lines := new(storetest.Log)
	r := newRedis(t, socket, lines)
	take := func() bool {
		t.Helper()
		verdict, err := r.Take(t.Context(), "rl:fra:key", window)
		if err != nil {
			t.Fatal(err)
		}
		return verdict.Allowed
	}
	redisServer := startRedis(t, socket)
	for range 3 {
		if !take() {
			t.Fatal("refused with room left")
		}
	}
	if !r.Shared() {
		t.Error("not shared while Redis answers")
	}
	redisServer.stop()
	_ = os.Remove(socket)
	for i := range 3 {
		if !take() {
			t.Fatalf("event %d is refused without Redis, with room left", i+4)
		}
	}
	if take() {
		t.Error("a seventh is allowed: what was counted in Redis is forgotten without it")
	}
	if r.Shared() || r.Alone() < 4 {
		t.Errorf("shared %v, %d checks alone; want false and 4", r.Shared(), r.Alone())
	}
	startRedis(t, socket) // with nothing in it
	for deadline := time.Now().Add(patience); !r.Shared() && time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		if _, err := r.Take(t.Context(), "rl:fra:other", Window{"minute", 1 << 20, time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	if !r.Shared() {
		t.Fatal("Redis answers, and is not used")
	}
	if take() {
		t.Error("allowed after Redis came back: what was counted without it is forgotten")
	}
	if gone, back := lines.Count("count rate limits in Redis failed"), lines.Count("answers again"); gone != 1 || back != 1 {
		t.Errorf("said %d times that Redis is gone and %d times that it is back, want once each", gone, back)
	}
}

// TestRedisComesBack lets two processes count while Redis is frozen, killed, or restarted empty between two checks,
// and is available again later. No check fails. When Redis is back, it holds all events that the two have allowed,
// each once, and nothing else, and applies them.
func TestRedisComesBack(t *testing.T) {
	sharedtest.Slow(t)
	socket := socketPath(t)
	current := startRedis(t, socket)
	lines := new(storetest.Log)
	processes := []*Redis{newHasty(t, socket, lines), newHasty(t, socket, lines)}
	shared := func() bool { return processes[0].Shared() && processes[1].Shared() }
	await := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(patience); !done(); <-time.After(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("still not: %s", what)
			}
		}
	}
	restart := func() {
		current.stop()
		_ = os.Remove(socket)
		current = startRedis(t, socket)
	}
	wantGone := 0
	for round, fault := range []string{"freeze", "kill", "restart", "freeze", "kill", "restart", "none"} {
		key := "rl:fra:" + strconv.Itoa(round)
		window := Window{"hour", 20 + rand.IntN(60), time.Hour}
		var allowed [2]atomic.Int64
		take := func(i int) bool {
			verdict, err := processes[i].Take(t.Context(), key, window)
			if err != nil {
				t.Error(err)
			}
			if verdict.Allowed {
				allowed[i].Add(1)
			}
			return verdict.Allowed
		}
		known := rand.IntN(window.Limit)
		for range known {
			take(rand.IntN(2))
		}
		stop := make(chan struct{})
		var wait sync.WaitGroup
		for n := range 6 {
			pace := time.Duration(rand.IntN(40)) * time.Millisecond
			wait.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(pace):
						take(n % 2)
					}
				}
			})
		}
		before := [2]int64{processes[0].Alone(), processes[1].Alone()}
		bothAlone := func() bool { return processes[0].Alone() > before[0] && processes[1].Alone() > before[1] }
		switch fault {
		case "freeze":
			_ = current.cmd.Process.Signal(syscall.SIGSTOP)
			await("both count for themselves", bothAlone)
			_ = current.cmd.Process.Signal(syscall.SIGCONT)
		case "kill":
			current.stop()
			await("both count for themselves", bothAlone)
			restart()
		case "restart":
			close(stop)
			wait.Wait()
			restart() // no requests meanwhile
			take(0)
			take(1)
			await("both have noticed", bothAlone)
		}
		await("Redis is used again", shared)
		if fault != "restart" {
			close(stop)
			wait.Wait()
		}
		await("Redis is used again after all", shared)
		if fault != "none" {
			wantGone++
		}

		names := map[string]bool{}
		for _, process := range processes {
			logs, _, _ := process.memory.after(0)
			for _, log := range logs {
				for _, e := range log.events {
					if log.key == key {
						names[process.nameOf(e.name)] = true
					}
				}
			}
		}
		members, err := redis.Strings(askRedis(t, socket, "ZRANGE", key, 0, -1))
		if err != nil {
			t.Fatal(err)
		}
		total := int(allowed[0].Load() + allowed[1].Load())
		if len(members) != total || len(names) != total {
			t.Errorf("%s: Redis has %d events and the processes remember %d, want the %d that were allowed", fault, len(members), len(names), total)
		}
		for _, member := range members {
			if !names[member] {
				t.Errorf("%s: Redis has an event that nobody allowed", fault)
			}
		}
		for i := range allowed {
			if n := int(allowed[i].Load()); n > window.Limit {
				t.Errorf("%s: process %d let %d through, want %d at most", fault, i, n, window.Limit)
			}
			room := int(allowed[0].Load()+allowed[1].Load()) < window.Limit
			alone := processes[i].Alone()
			if got := take(i); got != room && processes[i].Alone() == alone {
				t.Errorf("%s: allowed %v after the return, want %v", fault, got, room)
			}
		}
		if left := timeLeft(t, socket, key); left < 59*time.Minute {
			t.Errorf("%s: the key expires after %v, want with its window", fault, left)
		}
	}
	await("Redis is used again at last", shared)
	if gone, back := lines.Count("count rate limits in Redis failed"), lines.Count("answers again"); gone != back || gone < 2*wantGone {
		t.Errorf("said %d times that Redis is gone and %d times that it is back, want one for each, and %d at least", gone, back, 2*wantGone)
	}
}

// TestRestartWithIdleConnections restarts Redis while a process has idle connections to it. The first check fails over
// to memory, and the first attempt to return succeeds: it does not try the dead connections one after the other.
func TestRestartWithIdleConnections(t *testing.T) {
	socket := socketPath(t)
	server := startRedis(t, socket)
	r := newRedis(t, socket, new(storetest.Log))
	r.pause = time.Hour // It returns when the test tells it.
	const conns = 8
	open := make([]redis.Conn, conns)
	for i := range open {
		var err error
		if open[i], err = r.pool.GetContext(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range open {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if idle := r.pool.IdleCount(); idle != conns {
		t.Fatalf("%d connections are idle, want %d", idle, conns)
	}
	server.stop()
	_ = os.Remove(socket)
	startRedis(t, socket)
	if _, err := r.Take(t.Context(), "rl:fra:key", Window{"hour", 6, time.Hour}); err != nil || r.Shared() {
		t.Fatalf("%v, shared %v; want a check that notices the restart", err, r.Shared())
	}
	r.stop() // the goroutine that would return later
	r.returning.Wait()
	r.work = t.Context()
	if added, err := r.resync(); err != nil || added != 1 || !r.Shared() {
		t.Errorf("added %d, %v, shared %v; want the one event in Redis", added, err, r.Shared())
	}
}

// TestRedisCountsNothingLate: a command that Redis runs after its sender has given up counts nothing, and a changed
// clock of Redis is detected.
func TestRedisCountsNothingLate(t *testing.T) {
	socket := socketPath(t)
	startRedis(t, socket)
	r := newRedis(t, socket, new(storetest.Log))
	window := Window{"hour", 5, time.Hour}
	for i, ahead := range []time.Duration{-time.Hour, time.Hour, 0} {
		r.ahead.Add(ahead.Microseconds())
		if verdict, err := r.Take(t.Context(), "rl:fra:key", window); err != nil || verdict.States[0].Remaining != 4-i {
			t.Errorf("got %+v, %v; want %d left", verdict, err, 4-i)
		}
	}
	late := time.Now().Add(-time.Second).UnixMicro()
	answer, err := redis.Int64s(askRedis(t, socket, "EVAL", script, 1, "rl:fra:key", count, late, "late", 5, time.Hour.Microseconds()))
	if err != nil || len(answer) != 2 || answer[1] != -1 {
		t.Errorf("got %v, %v; want a refusal", answer, err)
	}
	if n, err := redis.Int(askRedis(t, socket, "ZCARD", "rl:fra:key")); err != nil || n != 3 || r.Alone() != 0 {
		t.Errorf("%d events are counted (%v), %d checks made alone; want 3 and none", n, err, r.Alone())
	}
}

// TestRedisThatHangs uses a server that accepts connections and never responds.
func TestRedisThatHangs(t *testing.T) {
	socket := socketPath(t)
	redisServer := startRedis(t, socket)
	r := newHasty(t, socket, new(storetest.Log))
	window := Window{"hour", 1, time.Hour}
	if err := redisServer.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, false} {
		begin := time.Now()
		verdict, err := r.Take(t.Context(), "rl:fra:key", window)
		if err != nil || verdict.Allowed != want {
			t.Errorf("check %d: allowed %v, %v; want %v", i, verdict.Allowed, err, want)
		}
		if took := time.Since(begin); took > patience/4 {
			t.Errorf("check %d took %v", i, took)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newRedis(t, socket, new(storetest.Log)).Take(ctx, "rl:fra:key", window); err == nil {
		t.Error("a client that has gone gets a verdict")
	}
}

func TestRedisAddressIsNotRepeated(t *testing.T) {
	for _, address := range []string{"http://user:secret@host", "redis://:secret@host/cache", "redis://:secret%@host", "redis://:secret@host/0?db=3", "redis:user:secret@host"} {
		if _, err := NewRedis(address, nil); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("error %v, want one without the address", err)
		}
	}
}

// TestRedisURL counts as a user with a password in a database other than the first, with and without TLS.
func TestRedisURL(t *testing.T) {
	socket := socketPath(t)
	web := httptest.NewTLSServer(nil) // for its certificate of 127.0.0.1
	web.Close()
	secret, err := x509.MarshalPKCS8PrivateKey(web.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	pair := filepath.Join(filepath.Dir(socket), "pair.pem")
	content := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...)
	if err := os.WriteFile(pair, content, 0o600); err != nil {
		t.Fatal(err)
	}
	plain, encrypted := storetest.FreePort(t), storetest.FreePort(t)
	startRedis(t, socket, "--bind", "127.0.0.1", "--port", plain, "--tls-port", encrypted,
		"--tls-cert-file", pair, "--tls-key-file", pair, "--tls-ca-cert-file", pair, "--tls-auth-clients", "no", "--user", "ada", "on", ">p@ss", "~*", "+@all")
	window := Window{"hour", 3, time.Hour}
	take := func(address string) (verdict Verdict, shared bool) {
		t.Helper()
		r, err := NewRedis(address, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		r.timeout = patience
		if verdict, err = r.Take(t.Context(), "rl:fra:key", window); err != nil {
			t.Fatal(err)
		}
		return verdict, r.Shared()
	}
	t.Setenv("SSL_CERT_FILE", pair)
	for i, address := range []string{"redis://ada:p%40ss@127.0.0.1:" + plain + "/3", "rediss://ada:p%40ss@127.0.0.1:" + encrypted + "/3"} {
		if verdict, shared := take(address); !shared || verdict.States[0].Remaining != 2-i {
			t.Errorf("%s: got %+v, shared %v; want %d left in Redis", address, verdict, shared, 2-i)
		}
	}
	for _, address := range []string{
		"redis://ada:wrong@127.0.0.1:" + plain, "redis://127.0.0.1:" + encrypted,
		"rediss://ada:p%40ss@localhost:" + encrypted, // not in the certificate
	} {
		if verdict, shared := take(address); shared || !verdict.Allowed {
			t.Errorf("%s: got %+v, shared %v; want a count of its own", address, verdict, shared)
		}
	}
	for address, want := range map[string]string{
		"redis://[::1]": "redis://[::1]:6379", "rediss://:p@h/2": "redis://:p@h:6379/2", "unix:///run/redis.sock": "redis://localhost:6379",
	} {
		if _, server, err := parseAddress(address); err != nil || server != want {
			t.Errorf("%s: got %s, %v; want %s", address, server, err, want)
		}
	}
	if n, err := redis.Int(askRedis(t, socket, "DBSIZE")); err != nil || n != 0 {
		t.Errorf("the first database has %d keys (%v), want none", n, err)
	}
}
