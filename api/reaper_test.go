package api_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"relaypdf/api"
	"relaypdf/api/apitest"
	"relaypdf/store"
	"relaypdf/store/blob"
	"relaypdf/store/storetest"
)

// slowBlobs takes for ever to list what it holds.
type slowBlobs struct {
	blob.Store
	asked chan struct{}
}

func (b slowBlobs) List(ctx context.Context, _ func(blob.Entry) error) error {
	select {
	case b.asked <- struct{}{}:
	default: // It is known already.
	}
	<-ctx.Done()
	return ctx.Err()
}

// TestSweepingKeepsNobodyWaiting: while blobs are looked at, the other periodic
// work is done.
func TestSweepingKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	disk, err := blob.NewDisk(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	blobs := slowBlobs{disk, make(chan struct{}, 1)}
	s := apitest.New(t, apitest.Options{DB: &db, Change: func(cfg *api.Config) {
		cfg.Store, cfg.Now = db.OpenAs(t, store.Config{Blobs: blobs}), nil
	}})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.API.Calls.Reaper().Run(ctx)
	}()
	defer func() { stop(); <-ended }()
	select {
	case <-blobs.asked:
	case <-time.After(5 * time.Minute):
		t.Fatal("no blobs were looked at")
	}
	look, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(db.URL, "sqlite://")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer look.Close()
	for deadline, done := time.Now().Add(5*time.Minute), 0; done < 2; <-time.After(20 * time.Millisecond) {
		err := look.QueryRowContext(t.Context(), "SELECT count(*) FROM tasks WHERE ended_at > 0 AND name IN ('reap', 'expire')").Scan(&done)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%d of 2 tasks were done, %v", done, err)
		}
	}
}
