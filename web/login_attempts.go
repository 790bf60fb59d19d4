package web

import (
	"context"
	"log/slog"
	"time"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/service/ratelimit"
	"github.com/relaypdf/relaypdf/store"
)

// Attempts to log in are slowed down and not refused, because wrong attempts from elsewhere would otherwise lock
// the owner out. A browser in which the user has logged in before has its own counter.

const (
	triesWindow = 15 * time.Minute
	// triesPerAddress bounds the codes of command lines that are typed from one address.
	triesPerAddress = 30
	// triesPerPerson is the maximum number of attempts of a known device, and of attempts with codes and proofs.
	triesPerPerson = 10
	// freeTries and freeTriesPerAddress are the number of attempts in triesWindow without a delay: for one user,
	// and from one IP address. Each further one takes twice as long as the one before, up to maxDelay.
	freeTries           = 5
	freeTriesPerAddress = 20
	maxDelay            = 10 * time.Second
	// The maximum number of attempts that wait at once, so that waiting costs the server little.
	maxWaiting           = 64
	maxWaitingPerPerson  = 4
	maxWaitingPerAddress = 2
)

// waitingRoom bounds the attempts that wait.
type waitingRoom struct{ all, person, address *ratelimit.Gate }

func newWaitingRoom() waitingRoom {
	return waitingRoom{
		all:     ratelimit.NewGate(maxWaiting),
		person:  ratelimit.NewGate(maxWaitingPerPerson),
		address: ratelimit.NewGate(maxWaitingPerAddress),
	}
}

func (r waitingRoom) enter(person, address string) (leave func(), ok bool) {
	var leaves []func()
	leave = func() {
		for _, l := range leaves {
			l()
		}
	}

	for _, seat := range []struct {
		gate *ratelimit.Gate
		key  string
	}{{r.all, ""}, {r.person, person}, {r.address, address}} {
		left, ok := seat.gate.Enter(seat.key)
		if !ok {
			leave()
			return nil, false
		}
		leaves = append(leaves, left)
	}

	return leave, true
}

// delayOf returns the delay of an attempt by the number of attempts beyond the free ones.
func delayOf(beyond int) time.Duration {
	if beyond <= 0 {
		return 0
	}
	return min(time.Second<<min(beyond-1, 10), maxDelay)
}

// slowDown counts an attempt to log in to an address, and waits before it may be made.
// It reports false where too many attempts wait already.
func (w *Web) slowDown(v *pageRequest, email, personID string) (bool, error) {
	if device := w.knownDevice(v, personID); device != "" {
		if _, ok := w.allow(v.ctx(), "login:device:"+device, triesPerPerson, triesWindow); ok {
			return true, nil
		}
	}

	address := middleware.ClientIP(v.ctx())
	person := store.NormalAddress(email)
	delay := max(
		delayOf(w.count(v.ctx(), "login:person:"+person)-freeTries),
		delayOf(w.count(v.ctx(), "login:address:"+address)-freeTriesPerAddress),
	)
	if delay == 0 {
		return true, nil
	}

	leave, ok := w.waiting.enter(person, address)
	if !ok {
		return false, nil
	}
	defer leave()
	return true, w.wait(v.ctx(), delay)
}

// maxCounted is the count at which the delay stops growing.
const maxCounted = freeTriesPerAddress + 10

// count counts an attempt, and returns how many there were in triesWindow. A limiter
// that fails counts as many as possible.
func (w *Web) count(ctx context.Context, key string) int {
	verdict, err := w.limiter.Take(ctx, "web:"+key, ratelimit.Window{
		Name:   "attempts",
		Limit:  maxCounted,
		Length: triesWindow,
	})
	if err != nil {
		w.log.LogAttrs(ctx, slog.LevelError, "count attempts failed", slog.Any("error", err))
		return maxCounted
	}

	if !verdict.Allowed || len(verdict.States) == 0 {
		return maxCounted
	}
	return maxCounted - verdict.States[0].Remaining
}

// wait waits for a delay, or until the visitor has left.
func wait(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
