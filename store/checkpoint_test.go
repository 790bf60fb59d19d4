package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestLogIsReset has writers that never pause: SQLite's log is copied while they write, and is reset all the same.
func TestLogIsReset(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	db := storetest.SQLite(t)
	s := db.Open(t, nil)
	text := strings.Repeat("x", 20_000) // some five pages
	const writers, each = 4, 800
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				err := s.InTx(t.Context(), func(ctx context.Context, tx store.Tx) error {
					return note(ctx, tx, fmt.Sprint(w, text, i))
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if got := len(noted(t, s)); got != writers*each {
		t.Errorf("%d rows, want %d", got, writers*each)
	}
	log, err := os.Stat(filepath.Join(db.DataDir, "relaypdf.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	// All of it would be some 180 MB.
	if log.Size() > 100<<20 {
		t.Errorf("the log has %d MB", log.Size()>>20)
	}
}
