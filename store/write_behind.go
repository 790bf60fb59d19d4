package store

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/relaypdf/relaypdf/internal/guard"
)

const (
	// writeBehindInterval is the interval at which this process writes what nobody waits for.
	writeBehindInterval = time.Second
	// writeBehindTimeout bounds the last writing, when the store is closed.
	writeBehindTimeout = 5 * time.Second
	// tallyBatch bounds the sums that one statement writes.
	tallyBatch = 500
	// maxTally bounds the sums in memory while the database does not respond. Others are not counted then.
	maxTally = 100_000
)

// writeBehind calls write every second until ctx ends, and once more then. A failure is logged once.
func (s *Store) writeBehind(ctx context.Context, write func(context.Context) error) {
	failed := false
	for last := false; !last; {
		guard.Pause(ctx, writeBehindInterval)

		writing := context.WithoutCancel(ctx)
		cancel := func() {}
		if last = ctx.Err() != nil; last {
			writing, cancel = context.WithTimeout(writing, writeBehindTimeout)
		}

		err := write(writing)
		cancel()
		if err != nil && !failed {
			s.log.LogAttrs(ctx, slog.LevelWarn, "write behind failed", slog.Any("error", err))
		}
		failed = err != nil
	}
}

// tally sums up by key what has happened, until it is written.
type tally[Key comparable, Sum interface{ Plus(other Sum) Sum }] struct {
	mu   sync.Mutex
	sums map[Key]Sum
}

func (t *tally[Key, Sum]) add(of Key, n Sum) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sums == nil {
		t.sums = map[Key]Sum{}
	}
	if sum, known := t.sums[of]; known || len(t.sums) < maxTally {
		t.sums[of] = sum.Plus(n)
	}
}

// take returns some of the sums, which are the caller's to write from now on.
func (t *tally[Key, Sum]) take() map[Key]Sum {
	t.mu.Lock()
	defer t.mu.Unlock()

	batch := make(map[Key]Sum, min(tallyBatch, len(t.sums)))
	for of, sum := range t.sums {
		if len(batch) == tallyBatch {
			break
		}
		batch[of] = sum
		delete(t.sums, of)
	}
	return batch
}

// write saves all sums. Those that fail are saved again later.
func (t *tally[Key, Sum]) write(ctx context.Context, save func(context.Context, map[Key]Sum) error) error {
	for {
		sums := t.take()
		if len(sums) == 0 {
			return nil
		}
		if err := save(ctx, sums); err != nil {
			for of, sum := range sums {
				t.add(of, sum)
			}
			return err
		}
	}
}
