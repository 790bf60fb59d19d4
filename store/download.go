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
	// downloadsEvery is the interval at which the downloads of this process are written.
	downloadsEvery = time.Second
	// downloadsBatch bounds how many files one statement counts.
	downloadsBatch = 500
	// downloadsMost limits the files whose downloads are counted in memory while the database does not respond.
	// Downloads of other files are not counted then.
	downloadsMost = 100_000
	// downloadsLast bounds the last writing, when the store is closed.
	downloadsLast = 5 * time.Second
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

// recordDownloads writes the downloads that were counted, until ctx ends and once
// more then.
func (s *Store) recordDownloads(ctx context.Context) {
	failed := false
	for last := false; !last; {
		pause(ctx, downloadsEvery)
		last = ctx.Err() != nil
		err := s.writeDownloads(context.WithoutCancel(ctx), last)
		if err != nil && !failed { // it is logged once, and tried again
			s.log.LogAttrs(ctx, slog.LevelWarn, "count downloads failed", slog.Any("error", err))
		}
		failed = err != nil
	}
}

// writeDownloads writes all counts. Counts that fail are written again later.
func (s *Store) writeDownloads(ctx context.Context, last bool) error {
	if last {
		bounded, cancel := context.WithTimeout(ctx, downloadsLast)
		defer cancel()
		ctx = bounded
	}
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
