package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
)

// A call that others go on with, workers and deliveries, keeps what its trace goes
// on from with its job and its callback, and as long as these.

// keepTrace does so, within the transaction of the call's hold.
func keepTrace(ctx context.Context, tx bun.Tx, c NewCall) error {
	if c.Trace == "" {
		return nil
	}
	for _, table := range []string{"jobs", "callbacks"} {
		if _, err := tx.NewRaw("UPDATE ? SET trace = ? WHERE call_id = ?", bun.Ident(table), c.Trace, c.ID).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

const traceSelect = `SELECT COALESCE(MAX(trace), '') FROM (SELECT trace FROM jobs WHERE call_id = ?0
	UNION ALL SELECT trace FROM callbacks WHERE call_id = ?0) AS kept`

// Trace returns what the trace of a call goes on from, as NewCall had it; empty
// where it has none.
func (s JobStore) Trace(ctx context.Context, callID string) (trace string, err error) {
	if err := s.read.NewRaw(traceSelect, callID).Scan(ctx, &trace); err != nil {
		return "", fmt.Errorf("read trace: %w", err)
	}
	return trace, nil
}

// EventTrace is Trace of the call that an event tells of.
func (s JobStore) EventTrace(ctx context.Context, eventID string) (string, error) {
	var callID string
	if err := s.read.NewRaw("SELECT COALESCE(call_id, '') FROM events WHERE id = ?", eventID).Scan(ctx, &callID); err != nil {
		return "", fmt.Errorf("read trace: %w", notFound(err))
	}
	return s.Trace(ctx, callID)
}
