package store

import (
	"context"
	"fmt"
)

const (
	// checkpointEvery is after how many commits SQLite's log is copied into the
	// database: some 10 MB of log.
	checkpointEvery = 256
	// maxLog is the number of log pages after which SQLite copies them itself in a commit, if concurrent copying does
	// not keep up.
	maxLog = 16384
)

// maybeCheckpoint triggers the copying of the log if it is due. The caller has the turn.
func (w *groupCommitter) maybeCheckpoint() {
	if w.commits++; w.commits < checkpointEvery {
		return
	}
	w.commits = 0
	select {
	case w.due <- struct{}{}:
	default: // a checkpoint is already due
	}
}

// checkpoints copies the content of SQLite's log into the database whenever that is due, until ctx ends, and passes
// errors to failed. SQLite itself would copy at the end of a commit, and block all writers for about 10 ms.
func (w *groupCommitter) checkpoints(ctx context.Context, failed func(error)) {
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

// checkpoint copies the log while others write, and then, with writers blocked, the rest: the log is reset only after
// all of it has been copied.
func (w *groupCommitter) checkpoint(ctx context.Context) error {
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

// copyLog copies the log up to the oldest state that a reader still uses.
func (w *groupCommitter) copyLog(ctx context.Context) error {
	if _, err := w.checkpointDB.DB.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)"); err != nil {
		return fmt.Errorf("copy the log into the database: %w", err)
	}
	return nil
}
