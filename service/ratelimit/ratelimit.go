// Package ratelimit counts requests in sliding windows: in this process's memory,
// or in Redis for all processes of a region together.
package ratelimit

import (
	"context"
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
	// Peek returns what Take would return, without counting.
	Peek(ctx context.Context, key string, windows ...Window) (Verdict, error)
}

// Verdict is the decision of a limiter about an event.
type Verdict struct {
	Allowed bool
	// Refused names the window that stays full the longest, if one is full.
	Refused string
	// RetryAfter is the time until the event would be allowed, if nothing else is counted meanwhile.
	RetryAfter time.Duration
	// States holds the state of each window, in the order given.
	States []WindowState
}

// WindowState is the state of a window after the decision.
type WindowState struct {
	Window
	Remaining int
	// Reset is the time until the next event leaves the window; zero if there are none.
	Reset time.Duration
}

// refuse notes that a window is full for some time yet.
func (v *Verdict) refuse(w Window, wait time.Duration) {
	v.Allowed = false
	if v.Refused == "" || wait > v.RetryAfter {
		v.Refused = w.Name
		v.RetryAfter = wait
	}
}

func longest(windows []Window) time.Duration {
	var length time.Duration
	for _, w := range windows {
		length = max(length, w.Length)
	}
	return length
}
