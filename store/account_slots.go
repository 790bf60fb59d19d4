package store

import (
	"context"
	"fmt"
	"sync"
)

// accountSlots limits the number of connections of this process that the calls of one account use at once. These
// calls run one after another anyway, because of the lock of the account's row: if it is locked, they would wait
// for it on every available connection.
type accountSlots struct {
	maxPerAccount int

	mu    sync.Mutex
	slots map[string]*slots // of the accounts that have a call at the database
	// running holds the account of each call that this process has begun and not ended.
	running sync.Map
}

type slots struct {
	free  chan struct{} // one token for each that is taken
	users int           // that have one or wait for one
}

func newAccountSlots(conns int) *accountSlots {
	return &accountSlots{maxPerAccount: max(1, conns/4), slots: map[string]*slots{}}
}

// take waits for one of the account's slots, and returns the function that releases it. An unknown account has no
// limit.
func (a *accountSlots) take(ctx context.Context, account string) (release func(), err error) {
	if account == "" {
		return func() {}, nil
	}

	a.mu.Lock()
	own := a.slots[account]
	if own == nil {
		own = &slots{free: make(chan struct{}, a.maxPerAccount)}
		a.slots[account] = own
	}
	own.users++
	a.mu.Unlock()

	leave := func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(a.slots, account)
		}
	}

	select {
	case own.free <- struct{}{}:
		return func() { <-own.free; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, fmt.Errorf("%w: waited for other calls of the account: %w", ErrUnavailable, ctx.Err())
	}
}

// trackCall records the account of a call that this process runs.
func (a *accountSlots) trackCall(call, account string) { a.running.Store(call, account) }

// untrackCall returns the account of a call that ends here, and forgets it; "" if this process has not begun it.
func (a *accountSlots) untrackCall(call string) string {
	account, _ := a.running.LoadAndDelete(call)
	id, _ := account.(string)
	return id
}
