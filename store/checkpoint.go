package store

import (
	"context"
	"fmt"
)

const (
	// checkpointEvery is after how many commits SQLite's log is copied into the
	// database: some 10 MB of log.
	checkpointEvery = 256
	// maxLog is how many pages of log SQLite lets come together before a commit
	// copies them itself, as where copying beside the writers does not keep up.
	maxLog = 16384
)

// grown has the log copied when that is due. It is for whoever has the turn.
func (w *writer) grown() {
	if w.commits++; w.commits < checkpointEvery {
		return
	}
	w.commits = 0
	select {
	case w.due <- struct{}{}:
	default: // It was told before, and has not begun.
	}
}

// checkpoints copies what SQLite's log has into the database whenever that is due,
// until ctx ends, and tells failed of what went wrong. SQLite itself would do so at
// the end of a commit, for some ten milliseconds in which all who write wait.
func (w *writer) checkpoints(ctx context.Context, failed func(error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.due:
		}
		if err := w.checkpoint(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
	}
}

// checkpoint copies the log while others write, and then, while none does, what they
// wrote meanwhile: the log begins anew only when all of it has been copied.
func (w *writer) checkpoint(ctx context.Context) error {
	if err := w.copyLog(ctx); err != nil {
		return err
	}
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-w.turn }()
	return w.copyLog(ctx)
}

// copyLog copies all of the log that nobody reads an older state beside.
func (w *writer) copyLog(ctx context.Context) error {
	if _, err := w.beside.DB.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)"); err != nil {
		return fmt.Errorf("copy the log into the database: %w", err)
	}
	return nil
}
