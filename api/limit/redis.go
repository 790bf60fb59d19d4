package limit

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed redis.lua
var script string

const (
	// redisTimeout bounds one check. A request does not wait longer for its limits.
	redisTimeout = 250 * time.Millisecond
	// redisPause is how long Redis is left alone after it did not answer.
	redisPause = time.Second
	// overlap is how long after its return the process's own counts hold too:
	// what was counted in its absence is not in Redis.
	overlap = time.Minute
)

// Redis counts the events of all processes that share a Redis. Its clock is the
// one that counts. While it does not answer, each process counts for itself.
type Redis struct {
	client *redis.Client
	script *redis.Script
	memory *memory
	log    *slog.Logger
	// start and patience are when counting began, and how long a check may take.
	start    time.Time
	patience time.Duration
	// until is when Redis may be asked again after it failed, and back when it
	// answered again, both in nanoseconds since the start, by a clock that nobody can
	// set; zero when it never failed.
	until, back atomic.Int64
	down        atomic.Bool
	alone       atomic.Int64
}

// NewRedis returns a Limiter on the Redis at address: redis://, rediss:// or
// unix://. It need not be there yet.
func NewRedis(address string, log *slog.Logger) (*Redis, error) {
	options, err := redis.ParseURL(address)
	if err != nil {
		return nil, errors.New("is not a Redis address; write it like redis://host:6379/0")
	}
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = redisTimeout, redisTimeout, redisTimeout
	options.PoolTimeout, options.ContextTimeoutEnabled = redisTimeout, true
	options.MaxRetries = -1 // an event that was counted twice would be one too many
	options.DialerRetries = 1
	redis.SetLogger(silent{}) // what fails is logged here, once
	return &Redis{
		client: redis.NewClient(options), script: redis.NewScript(script), memory: newMemory(nil, maxKeys), log: log,
		start: time.Now(), patience: redisTimeout,
	}, nil
}

// silent is a logger of go-redis that says nothing.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// Close ends the connections.
func (r *Redis) Close() error { return r.client.Close() }

// Shared tells whether Redis answered last, so that limits hold for all processes.
func (r *Redis) Shared() bool { return !r.down.Load() }

// Alone returns how many checks were made without Redis.
func (r *Redis) Alone() int64 { return r.alone.Load() }

// Take counts one event for key, or refuses it.
func (r *Redis) Take(ctx context.Context, key string, windows ...Window) (Verdict, error) {
	return r.judge(ctx, key, windows, count)
}

// Peek tells what Take would answer, and counts nothing.
func (r *Redis) Peek(ctx context.Context, key string, windows ...Window) (Verdict, error) {
	return r.judge(ctx, key, windows, look)
}

func (r *Redis) judge(ctx context.Context, key string, windows []Window, do int) (Verdict, error) {
	now := int64(time.Since(r.start))
	if now < r.until.Load() {
		r.alone.Add(1)
		return r.memory.judge(key, windows, do), nil
	}
	if back := r.back.Load(); back != 0 && now-back < int64(overlap) {
		if own := r.memory.judge(key, windows, look); !own.Allowed {
			return own, nil
		}
	}
	verdict, _, err := r.ask(ctx, key, windows, do)
	switch {
	case err == nil:
		r.returned()
		if do == count && verdict.Allowed {
			r.memory.judge(key, windows, record)
		}
		return verdict, nil
	case ctx.Err() != nil:
		return Verdict{}, ctx.Err()
	}
	r.failed(ctx, err)
	r.alone.Add(1)
	return r.memory.judge(key, windows, do), nil
}

// failed leaves Redis alone for a while, and says so the first time.
func (r *Redis) failed(ctx context.Context, err error) {
	r.until.Store(int64(time.Since(r.start) + redisPause))
	if !r.down.Swap(true) {
		r.log.LogAttrs(ctx, slog.LevelError, "count rate limits in Redis failed; each process counts for itself", slog.Any("error", err))
	}
}

func (r *Redis) returned() {
	if r.down.Load() && r.down.Swap(false) {
		r.back.Store(int64(time.Since(r.start)))
		r.log.LogAttrs(context.Background(), slog.LevelInfo, "Redis answers again: rate limits are shared")
	}
}

// ask makes one check, and returns Redis's time of it in microseconds.
func (r *Redis) ask(ctx context.Context, key string, windows []Window, do int) (verdict Verdict, at int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	arguments := []any{do, rand.Text()}
	for _, w := range windows {
		arguments = append(arguments, w.Limit, w.Length.Microseconds())
	}
	answer, err := r.script.Run(ctx, r.client, []string{key}, arguments...).Int64Slice()
	if err != nil {
		return verdict, 0, err
	}
	if len(answer) != 2+3*len(windows) {
		return verdict, 0, fmt.Errorf("Redis answered with %d numbers, want %d", len(answer), 2+3*len(windows))
	}
	at, verdict.Allowed = answer[0], answer[1] == 1
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
