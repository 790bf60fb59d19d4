package api

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Window allows Limit events in any span of Length.
type Window struct {
	Name   string
	Limit  int
	Length time.Duration
}

// Limiter counts events in exact sliding windows. An event is counted in all
// of the windows or, when one of them is full, in none.
type Limiter interface {
	// Take counts one event for key, or refuses it.
	Take(ctx context.Context, key string, windows ...Window) (Verdict, error)
	// Peek tells what Take would answer, and counts nothing.
	Peek(ctx context.Context, key string, windows ...Window) (Verdict, error)
}

// Verdict is a limiter's answer.
type Verdict struct {
	Allowed bool
	// RetryAfter is how long until the event would be allowed, if nothing else is counted meanwhile.
	RetryAfter time.Duration
	// States tells of each window, in the order given.
	States []WindowState
}

// WindowState is what a window holds after the verdict.
type WindowState struct {
	Window
	Remaining int
	// Reset is when the next place becomes free; zero when none is taken.
	Reset time.Duration
}

// memoryLimiter keeps the time of every counted event of this process.
type memoryLimiter struct {
	now    func() time.Time
	mu     sync.Mutex
	events map[string][]time.Time
	swept  time.Time
}

// sweepEvery is how often keys without recent events are forgotten.
const sweepEvery = time.Minute

// NewMemoryLimiter returns a Limiter for one process. now may be nil.
func NewMemoryLimiter(now func() time.Time) Limiter {
	if now == nil {
		now = time.Now
	}
	return &memoryLimiter{now: now, events: map[string][]time.Time{}, swept: now()}
}

func (l *memoryLimiter) Take(_ context.Context, key string, windows ...Window) (Verdict, error) {
	return l.judge(key, windows, true), nil
}

func (l *memoryLimiter) Peek(_ context.Context, key string, windows ...Window) (Verdict, error) {
	return l.judge(key, windows, false), nil
}

func (l *memoryLimiter) judge(key string, windows []Window, count bool) Verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.sweep(now)
	log := since(l.events[key], now.Add(-longest(windows)))
	verdict := Verdict{Allowed: true}
	for _, w := range windows {
		// The event that must leave the window before another may enter.
		inside := since(log, now.Add(-w.Length))
		if len(inside) >= w.Limit {
			verdict.Allowed = false
			verdict.RetryAfter = max(verdict.RetryAfter, inside[len(inside)-w.Limit].Add(w.Length).Sub(now))
		}
	}
	if verdict.Allowed && count {
		log = append(log, now)
	}
	if len(log) == 0 {
		delete(l.events, key)
	} else {
		l.events[key] = log
	}
	for _, w := range windows {
		inside := since(log, now.Add(-w.Length))
		state := WindowState{Window: w, Remaining: max(0, w.Limit-len(inside))}
		if len(inside) > 0 {
			state.Reset = inside[0].Add(w.Length).Sub(now)
		}
		verdict.States = append(verdict.States, state)
	}
	return verdict
}

// since returns the events after start. An event exactly a window's length old
// is out of it, so that waiting RetryAfter out succeeds.
func since(events []time.Time, start time.Time) []time.Time {
	for i, at := range events {
		if at.After(start) {
			return events[i:]
		}
	}
	return nil
}

func longest(windows []Window) time.Duration {
	var length time.Duration
	for _, w := range windows {
		length = max(length, w.Length)
	}
	return length
}

// sweep forgets keys whose last event is older than any window in use.
func (l *memoryLimiter) sweep(now time.Time) {
	if now.Sub(l.swept) < sweepEvery {
		return
	}
	l.swept = now
	for key, log := range l.events {
		if now.Sub(log[len(log)-1]) > sweepEvery {
			delete(l.events, key)
		}
	}
}

// The limits of the interface, section 8.
var (
	burstWindow    = Window{"burst", 5, 10 * time.Second}
	trialWindow    = Window{"minute", 20, time.Minute}
	paidWindow     = Window{"minute", 60, time.Minute}
	downloadWindow = Window{"minute", 60, time.Minute}
	// failureWindow bounds the guessing of keys from one address.
	failureWindow = Window{"minute", 60, time.Minute}
)

// seconds rounds a wait up to whole seconds, one at least.
func seconds(d time.Duration) int {
	return max(1, int((d+time.Second-1)/time.Second))
}

// setRateHeaders tells the client where it stands, in the IETF's fields.
func setRateHeaders(h http.Header, verdict Verdict) {
	for _, s := range verdict.States {
		h.Add("RateLimit-Policy", fmt.Sprintf("%q;q=%d;w=%d", s.Name, s.Limit, int(s.Length.Seconds())))
		h.Add("RateLimit", fmt.Sprintf("%q;r=%d;t=%d", s.Name, s.Remaining, int((s.Reset+time.Second-1)/time.Second)))
	}
}
