package ratelimit

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/relaypdf/relaypdf/internal/guard"
)

//go:embed redis.lua
var script string

const (
	// redisTimeout bounds one check. A request does not wait longer for its limits.
	redisTimeout = 250 * time.Millisecond
	// redisReturn is the timeout of each request of a process that reconnects to Redis. No client waits for these
	// requests, and a busy machine needs that long.
	redisReturn = 2 * time.Second
	// redisPause is the pause after Redis did not respond: longer than Redis may take to execute earlier requests.
	redisPause = time.Second
	// redisIdle is the age from which an unused connection is tested before it is used again: servers and load
	// balancers close idle connections.
	redisIdle = 30 * time.Second
	// addKeys is the batch size in which keys are added to Redis when it is available again.
	addKeys = 256
)

// Redis counts the events of all processes that share a Redis server, by the server's clock. While the server does
// not respond, each process counts for itself. When it responds again, each process adds its own events under their
// original names, so that no event is counted twice, even if Redis has not lost them.
type Redis struct {
	// pool is replaced when Redis fails: its idle connections may be dead, and would fail one after the other.
	pool   *redis.Pool
	dial   dialFunc
	server string // URL
	script *redis.Script
	memory *memory
	log    *slog.Logger
	// process and names make the name of an event.
	process string
	names   atomic.Uint64
	// start and patience are when counting began, and how long a check may take. pause comes before each
	// attempt to return.
	start   time.Time
	timeout time.Duration
	pause   time.Duration
	// ahead is the offset of Redis's clock at the start, in microseconds, by the last of its responses; zero if there
	// was none.
	ahead atomic.Int64
	// run identifies the start of Redis that holds the counts. A restart may have lost them.
	run atomic.Value

	// mu is held for reading while an event is counted, and for writing while that
	// changes where events are counted: down is in memory.
	mu   sync.RWMutex
	down bool
	// unconfirmed are events that Redis was asked to count and did not answer, and that
	// were refused then.
	unconfirmed []unconfirmed

	localEvents atomic.Int64
	work        context.Context // of work without a request
	stop        context.CancelFunc
	returning   sync.WaitGroup
}

type unconfirmed struct {
	key  string
	name uint64
}

// NewRedis returns a Limiter on the Redis at address: redis://, rediss:// or
// unix://. It need not be there yet.
func NewRedis(address string, log *slog.Logger) (*Redis, error) {
	dial, server, err := parseAddress(address)
	if err != nil {
		return nil, err
	}

	r := &Redis{
		dial: dial, server: server, script: redis.NewScript(1, script), memory: newMemory(nil, maxKeys), log: log,
		process: rand.Text(), start: time.Now(), timeout: redisTimeout, pause: redisPause,
	}
	r.run.Store("")
	r.pool = r.newPool()
	r.work, r.stop = context.WithCancel(context.Background())
	return r, nil
}

// newPool returns a pool without connections.
func (r *Redis) newPool() *redis.Pool {
	conns := 10 * runtime.GOMAXPROCS(0)

	return &redis.Pool{
		MaxActive: conns, MaxIdle: conns, Wait: true,
		DialContext: func(ctx context.Context) (redis.Conn, error) {
			c, err := redis.DialURLContext(ctx, r.server, redis.DialContextFunc(r.dial),
				redis.DialWriteTimeout(r.timeout))
			if err != nil {
				return nil, err
			}
			if err := r.connected(ctx, c); err != nil {
				_ = c.Close() // It fails if the connection is broken.
				return nil, err
			}
			return c, nil
		},
		TestOnBorrowContext: func(ctx context.Context, c redis.Conn, used time.Time) error {
			if time.Since(used) < redisIdle {
				return nil
			}
			_, err := redis.DoContext(c, ctx, "PING")
			return err
		},
	}
}

// ErrAddress is the error of an address that is not one of a Redis.
var ErrAddress = errors.New("is not a Redis address; write it like redis://host:6379/0")

// CheckAddress returns the error of NewRedis for the address.
func CheckAddress(address string) error {
	_, _, err := parseAddress(address)
	return err
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// parseAddress returns a dial function and the URL for redigo. With that function the context also limits the TLS
// handshake.
func parseAddress(address string) (dial dialFunc, server string, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" || u.RawQuery != "" {
		return nil, "", ErrAddress
	}

	switch u.Scheme {
	case "redis":
		dial = new(net.Dialer).DialContext
	case "rediss":
		dial = new(tls.Dialer).DialContext
	case "unix":
		path := u.Path
		dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
		u.Path = ""
	default:
		return nil, "", ErrAddress
	}

	if _, err := strconv.ParseUint(cmp.Or(strings.TrimPrefix(u.Path, "/"), "0"), 10, 16); err != nil {
		return nil, "", ErrAddress
	}
	u.Scheme = "redis"
	u.Host = net.JoinHostPort(cmp.Or(u.Hostname(), "localhost"), cmp.Or(u.Port(), "6379"))
	return dial, u.String(), nil
}

// Close ends the connections.
func (r *Redis) Close() error {
	r.stop()
	r.returning.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = true // Checks that come later count in memory.
	return r.pool.Close()
}

// Shared reports whether Redis answered last, so limits hold for all processes.
func (r *Redis) Shared() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return !r.down
}

// Alone returns how many checks were made without Redis.
func (r *Redis) Alone() int64 { return r.localEvents.Load() }

// Take counts one event for key, or refuses it.
func (r *Redis) Take(ctx context.Context, key string, windows ...Window) (Verdict, error) {
	return r.evaluate(ctx, key, windows, count)
}

// Peek returns what Take would return, without counting.
func (r *Redis) Peek(ctx context.Context, key string, windows ...Window) (Verdict, error) {
	return r.evaluate(ctx, key, windows, look)
}

func (r *Redis) evaluate(ctx context.Context, key string, windows []Window, do int) (Verdict, error) {
	name := r.names.Add(1)
	verdict, err := r.takeShared(ctx, key, windows, do, name)
	switch {
	case err == nil:
		return verdict, nil
	case ctx.Err() != nil:
		return Verdict{}, ctx.Err()
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed(ctx, err)
	r.localEvents.Add(1)
	verdict = r.memory.evaluate(key, windows, do, name)
	if do == count && !verdict.Allowed {
		r.unconfirmed = append(r.unconfirmed, unconfirmed{key, name})
	}
	return verdict, nil
}

// takeShared counts in Redis, or in memory while Redis is not to be asked.
func (r *Redis) takeShared(ctx context.Context, key string, windows []Window, do int, name uint64) (Verdict, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.down {
		r.localEvents.Add(1)
		return r.memory.evaluate(key, windows, do, name), nil
	}

	verdict, _, err := r.ask(ctx, key, windows, do, name)
	if err == nil && do == count && verdict.Allowed {
		r.memory.evaluate(key, windows, record, name)
	}
	return verdict, err
}

// failed stops requests to Redis until it is back, and logs that. The caller holds mu.
func (r *Redis) failed(ctx context.Context, err error) {
	if r.down || r.work.Err() != nil {
		return
	}

	r.down = true
	_ = r.pool.Close() // It fails if the connections are broken.
	r.pool = r.newPool()
	r.log.LogAttrs(ctx, slog.LevelError, "count rate limits in Redis failed; each process counts for itself",
		slog.Any("error", err))
	r.returning.Go(func() { guard.Loop(r.work, r.log, "return of Redis", func(context.Context) { r.awaitReturn() }) })
}

// connected fails if Redis was restarted since this process counted there: Redis may be empty and must get the
// remembered events first. A Redis that does not report its start counts as unchanged.
func (r *Redis) connected(ctx context.Context, c redis.Conn) error {
	run := runOf(redis.DoContext(c, ctx, "INFO", "server"))
	if run != "" && !r.run.CompareAndSwap("", run) && r.run.Load() != run {
		return errors.New("Redis was started anew")
	}

	if err := ctx.Err(); err != nil {
		return err
	}
	return c.Err()
}

// runOf reads the identifier of Redis's start in its answer to INFO; empty if it did not report that, which users may
// lack the permission for.
func runOf(answer any, err error) string {
	info, _ := redis.String(answer, err)
	_, run, _ := strings.Cut(info, "run_id:")
	run, _, _ = strings.Cut(run, "\r\n")
	return run
}

// awaitReturn tries to add the counted events to Redis until that succeeds.
func (r *Redis) awaitReturn() {
	for {
		select {
		case <-r.work.Done():
			return
		case <-time.After(r.pause):
		}

		if added, err := r.resync(); err == nil {
			r.log.LogAttrs(r.work, slog.LevelInfo, "Redis answers again: rate limits are shared",
				slog.Int("added", added))
			return
		}
	}
}

// resync adds the events that this process remembers to Redis, and then counts there. Events counted in the
// meantime follow at the end, under the lock.
func (r *Redis) resync() (added int, err error) {
	timeout := max(redisReturn, r.timeout)
	if err := r.sync(timeout); err != nil {
		return 0, err
	}

	var last uint64
	for range 2 {
		n, newest, err := r.add(last, nil, timeout)
		if err != nil {
			return added, err
		}
		added += n
		last = newest
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	n, _, err := r.add(last, r.unconfirmed, r.timeout)
	if err != nil {
		return added, err
	}

	r.down = false
	r.unconfirmed = nil
	return added + n, nil
}

// add adds to Redis the events after the given order, removes the refused ones, and returns the order of the last.
func (r *Redis) add(order uint64, refused []unconfirmed, timeout time.Duration) (added int, last uint64, err error) {
	logs, last, now := r.memory.after(order)

	type addition struct {
		key       string
		arguments []any
	}
	var additions []addition
	for _, log := range logs {
		arguments := []any{log.kept.Microseconds()}
		for _, e := range log.events {
			arguments = append(arguments, r.nameOf(e.name), now.Sub(e.at).Microseconds())
		}
		added += len(log.events)
		additions = append(additions, addition{log.key, arguments})
	}
	for _, u := range refused {
		additions = append(additions, addition{u.key, []any{0, r.nameOf(u.name), "-"}})
	}

	for chunk := range slices.Chunk(additions, addKeys) {
		answers, err := r.pipe(timeout, len(chunk), func(c redis.Conn, i int) error {
			return r.script.SendHash(c, append([]any{chunk[i].key, 2, r.deadline(timeout)}, chunk[i].arguments...)...)
		})
		if err != nil {
			return added, last, err
		}
		for _, answer := range answers {
			if numbers, err := redis.Int64s(answer, nil); err != nil || len(numbers) != 2 || numbers[1] != 1 {
				return added, last, errors.Join(errLate, err)
			}
		}
	}
	return added, last, nil
}

// pipe sends n commands at once, and returns their answers.
func (r *Redis) pipe(timeout time.Duration, n int, send func(c redis.Conn, i int) error) ([]any, error) {
	ctx, cancel := context.WithTimeout(r.work, timeout)
	defer cancel()
	c, err := r.pool.GetContext(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()

	for i := range n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := send(c, i); err != nil {
			return nil, err
		}
	}
	return redis.Values(redis.DoContext(c, ctx, ""))
}

// sync loads the script into Redis, and asks for the time and for the start of Redis.
func (r *Redis) sync(timeout time.Duration) error {
	r.run.Store("") // Nothing is counted there before all is added.
	asked := time.Since(r.start)
	commands := [][]any{{"SCRIPT", "LOAD", script}, {"TIME"}, {"INFO", "server"}}
	answers, err := r.pipe(timeout, len(commands), func(c redis.Conn, i int) error {
		name, _ := commands[i][0].(string)
		return c.Send(name, commands[i][1:]...)
	})
	if err != nil {
		return err
	}
	if refused, ok := answers[0].(redis.Error); ok {
		return refused
	}

	at, err := redis.Int64s(answers[1], nil)
	if err == nil && len(at) == 2 {
		r.ahead.Store(at[0]*1e6 + at[1] - asked.Microseconds())
	}
	r.run.Store(runOf(answers[2], nil))
	return err
}

// deadline returns the time, by Redis's clock, until which Redis may execute a request that is sent now.
func (r *Redis) deadline(timeout time.Duration) int64 {
	ahead := r.ahead.Load()
	if ahead == 0 {
		return 0
	}
	return ahead + (time.Since(r.start) + timeout).Microseconds()
}

func (r *Redis) nameOf(event uint64) string { return r.process + strconv.FormatUint(event, 36) }

// errLate is Redis's response to a request that arrived too late by its estimated clock.
var errLate = errors.New("Redis was asked too late")

// ask makes one check, and returns Redis's time of it in microseconds.
func (r *Redis) ask(
	ctx context.Context, key string, windows []Window, do int, name uint64,
) (verdict Verdict, at int64, err error) {
	if err := ctx.Err(); err != nil {
		return verdict, 0, err
	}

	// A client that leaves costs no connection.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	c, err := r.pool.GetContext(ctx)
	if err != nil {
		return verdict, 0, err
	}
	defer c.Close()

	arguments := []any{key, do, nil, r.nameOf(name)}
	for _, w := range windows {
		arguments = append(arguments, w.Limit, w.Length.Microseconds())
	}

	var answer []int64
	// Redis's clock may be unknown, or have been set: its answer shows it.
	for range 2 {
		asked := time.Since(r.start)
		arguments[2] = r.deadline(r.timeout)
		answer, err = redis.Int64s(r.script.DoContext(ctx, c, arguments...))
		if err != nil {
			return verdict, 0, err
		}
		if len(answer) < 2 {
			return verdict, 0, fmt.Errorf("Redis answered with %d numbers", len(answer))
		}
		r.ahead.Store(answer[0] - asked.Microseconds())
		if answer[1] >= 0 {
			break
		}
	}

	if answer[1] < 0 {
		return verdict, 0, errLate
	}
	if len(answer) != 2+3*len(windows) {
		return verdict, 0, fmt.Errorf("Redis answered with %d numbers, want %d", len(answer), 2+3*len(windows))
	}

	at = answer[0]
	verdict.Allowed = answer[1] == 1
	for i, w := range windows {
		state := answer[2+3*i:]
		if state[0] > 0 {
			verdict.refuse(w, time.Duration(state[0])*time.Microsecond)
		}
		verdict.States = append(verdict.States, WindowState{
			Window: w, Remaining: max(0, w.Limit-int(state[1])), Reset: time.Duration(state[2]) * time.Microsecond,
		})
	}
	return verdict, at, nil
}
