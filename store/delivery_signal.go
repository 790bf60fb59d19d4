package store

import (
	"context"
)

// NewDeliveries signals, after the commit, that a transaction of this process has written due deliveries. Several
// writes before the channel is read give one signal. Deliveries of other processes are found by polling.
func (s *Store) NewDeliveries() <-chan struct{} { return s.due }

type outboxKey struct{}

// announcing watches whether a transaction writes deliveries; the caller passes the result of the commit to
// committed, which sends the signal.
func (s *Store) announcing(fn transaction) (watched transaction, committed func(error)) {
	wrote := false
	watched = func(ctx context.Context, tx txn) error {
		wrote = false // The transaction may have run before without success.
		return fn(context.WithValue(ctx, outboxKey{}, &wrote), tx)
	}

	return watched, func(err error) {
		if err != nil || !wrote {
			return
		}
		s.dueNow()
	}
}

// dueNow makes it known that deliveries were written.
func (s *Store) dueNow() {
	select {
	case s.due <- struct{}{}:
	default: // It is known already, and was not looked after yet.
	}
}

// announce notes that the transaction of ctx has written deliveries.
func announce(ctx context.Context) {
	if wrote, ok := ctx.Value(outboxKey{}).(*bool); ok {
		*wrote = true
	}
}
