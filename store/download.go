package store

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	// downloadsBatch bounds how many files one statement counts.
	downloadsBatch = 500
	// downloadsMost limits the files whose downloads are counted in memory while the database does not respond.
	// Downloads of other files are not counted then.
	downloadsMost = 100_000
)

const (
	// behindEvery is the interval at which this process writes what nobody waits for.
	behindEvery = time.Second
	// behindLast bounds the last writing, when the store is closed.
	behindLast = 5 * time.Second
)

// tally counts downloads by file until they are written.
type tally struct {
	mu     sync.Mutex
	counts map[string]int64
}

func (t *tally) add(id string, n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]int64{}
	}
	if _, known := t.counts[id]; known || len(t.counts) < downloadsMost {
		t.counts[id] += n
	}
}

// take returns some of the counts, which are the caller's to write from now on.
func (t *tally) take(most int) map[string]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := make(map[string]int64, min(most, len(t.counts)))
	for id, n := range t.counts {
		if len(taken) == most {
			break
		}
		taken[id] = n
		delete(t.counts, id)
	}
	return taken
}

// CountDownload adds one to the file's downloads without waiting. The counts are written together, within a second
// or when the store is closed. They affect neither money nor limits, so a killed process may lose the counts of its
// last second.
func (s *Store) CountDownload(id string) { s.downloads.add(id, 1) }

// writeBehind calls write every second until ctx ends, and once more then. A failure is logged once.
func (s *Store) writeBehind(ctx context.Context, write func(context.Context) error) {
	failed := false
	for last := false; !last; {
		pause(ctx, behindEvery)
		writing, cancel := context.WithoutCancel(ctx), func() {}
		if last = ctx.Err() != nil; last {
			writing, cancel = context.WithTimeout(writing, behindLast)
		}
		err := write(writing)
		cancel()
		if err != nil && !failed {
			s.log.LogAttrs(ctx, slog.LevelWarn, "write behind failed", slog.Any("error", err))
		}
		failed = err != nil
	}
}

// writeDownloads writes all counts. Counts that fail are written again later.
func (s *Store) writeDownloads(ctx context.Context) error {
	for {
		counts := s.downloads.take(downloadsBatch)
		if len(counts) == 0 {
			return nil
		}
		if err := s.addDownloads(ctx, counts); err != nil {
			for id, n := range counts {
				s.downloads.add(id, n)
			}
			return fmt.Errorf("count downloads: %w", err)
		}
	}
}

func (s *Store) addDownloads(ctx context.Context, counts map[string]int64) error {
	rows := make([]string, 0, len(counts))
	args := make([]any, 0, 2*len(counts))
	for id, n := range counts {
		rows, args = append(rows, "(?, ?)"), append(args, id, n)
	}
	query := "WITH counted(id, n) AS (VALUES " + strings.Join(rows, ", ") +
		") UPDATE files SET downloads = downloads + counted.n FROM counted WHERE files.id = counted.id"
	return s.inTx(ctx, func(ctx context.Context, tx txn) error {
		_, err := tx.NewRaw(query, args...).Exec(ctx)
		return err
	})
}
