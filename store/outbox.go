package store

import (
	"context"
)

// NewDeliveries tells, after the commit, that a transaction of this process has
// written deliveries that are due. What was written before the channel is read
// is told once. Those of other processes are found by looking.
func (s *Store) NewDeliveries() <-chan struct{} { return s.due }

type outboxKey struct{}

// announcing watches whether a transaction writes deliveries; committed is to
// be told of its end, and makes it known.
func (s *Store) announcing(fn transaction) (watched transaction, committed func(error)) {
	wrote := false
	watched = func(ctx context.Context, tx txn) error {
		wrote = false // The transaction may have been run before, in vain.
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
