package store

import (
	"context"
	"fmt"
)

// Workers and deliveries continue the trace of a call. The parent span is stored with the call's job and its
// callback, for as long as these.

// Trace returns the parent of the trace of a call, as set in NewCall; empty if there is none.
func (s *Store) Trace(ctx context.Context, callID string) (string, error) {
	return s.readTrace(ctx, "?0", callID)
}

// EventTrace is Trace of the call that an event is about, if any.
func (s *Store) EventTrace(ctx context.Context, eventID string) (string, error) {
	return s.readTrace(ctx, "(SELECT call_id FROM events WHERE id = ?0)", eventID)
}

// readTrace reads the stored trace of the call that an expression selects by the ID.
func (s *Store) readTrace(ctx context.Context, call, id string) (trace string, err error) {
	query := "SELECT COALESCE(MAX(trace), '') FROM (SELECT trace FROM jobs WHERE call_id = " + call +
		" UNION ALL SELECT trace FROM callbacks WHERE call_id = " + call + ") AS kept"
	if err := s.read.NewRaw(query, id).Scan(ctx, &trace); err != nil {
		return "", fmt.Errorf("read trace: %w", err)
	}
	return trace, nil
}
