package api_test

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// slowBlobs never finishes its List.
type slowBlobs struct {
	blob.Store
	asked chan struct{}
}

func (b slowBlobs) List(ctx context.Context, _ string, _ func(blob.Entry) error) error {
	select {
	case b.asked <- struct{}{}:
	default: // It is known already.
	}
	<-ctx.Done()
	return ctx.Err()
}

// listedBlobs counts how often all of them are listed.
type listedBlobs struct {
	blob.Store
	times atomic.Int64
}

func (b *listedBlobs) List(ctx context.Context, after string, yield func(blob.Entry) error) error {
	b.times.Add(1)
	return b.Store.List(ctx, after, yield)
}

// heard signals the end of statements that contain a text.
type heard map[string]chan struct{}

func (heard) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (h heard) AfterQuery(_ context.Context, event *bun.QueryEvent) {
	for text, at := range h {
		if strings.Contains(event.Query, text) {
			select {
			case at <- struct{}{}:
			default: // It is known already.
			}
		}
	}
}

// TestOneProcessListsTheFiles: of processes that start one after another, the first lists
// all files there are, and none of the others does before it is due again.
func TestOneProcessListsTheFiles(t *testing.T) {
	t.Parallel()
	const looked, did = "name = 'sweep orphaned blobs' AND (due_at >", "name = 'sweep orphaned blobs' AND lease ="
	db := storetest.SQLite(t)
	disk, err := blob.NewDisk(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	blobs, said := &listedBlobs{Store: disk}, heard{looked: make(chan struct{}, 1), did: make(chan struct{}, 1)}
	s := apitest.New(t, apitest.Options{DB: &db, Change: func(cfg *apitest.Settings) {
		cfg.Store, cfg.Now = db.OpenAs(t, store.Config{Blobs: blobs, Watch: said}), nil
	}})
	for n, end := range []string{did, looked, looked} {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.API.Calls.Reaper().Run(ctx)
		}()
		select {
		case <-said[end]:
		case <-time.After(5 * time.Minute):
			t.Errorf("process %d never said %s", n+1, end)
		}
		stop()
		<-ended
		for len(said[looked]) > 0 {
			<-said[looked]
		}
	}
	if n := blobs.times.Load(); n != 1 {
		t.Errorf("the files were listed %d times, want 1", n)
	}
}

// TestFailedReapIsRepeated: a process starts while another keeps the write lock of SQLite, and so cannot queue the job
// of a dead process. It does so when the lock is free, although the dead process also had the periodic task.
func TestFailedReapIsRepeated(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	db := storetest.SQLite(t)
	s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
	s.Enqueue(t, apitest.Request{Path: echo, Body: async})
	if _, err := s.Store.ClaimJob(t.Context(), "lease_dead", s.Kinds()...); err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("sqlite", strings.TrimPrefix(db.URL, "sqlite://"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	conn, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"INSERT INTO tasks (name, due_at, lease, leased_until) VALUES ('reap', 0, 'dead', 9000000000000000)", "BEGIN IMMEDIATE",
	} {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	// Each of the two writes of a round waits for 10 s.
	time.AfterFunc(22*time.Second, func() { _, _ = conn.ExecContext(context.WithoutCancel(t.Context()), "ROLLBACK") })
	var reaper sync.WaitGroup
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	reaper.Go(func() { s.API.Calls.Reaper().Run(ctx) })
	for waits := false; !waits && ctx.Err() == nil; <-time.After(50 * time.Millisecond) {
		if waits, err = s.Store.JobsWait(ctx, s.Kinds()...); err != nil {
			t.Error(err)
		}
	}
	if ctx.Err() != nil {
		t.Error("the job of the dead process does not wait for another")
	}
	stop()
	reaper.Wait()
}

// TestSweepingDoesNotDelayCalls: while blobs are looked at, the other periodic
// work is done.
func TestSweepingDoesNotDelayCalls(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	disk, err := blob.NewDisk(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	blobs := slowBlobs{disk, make(chan struct{}, 1)}
	s := apitest.New(t, apitest.Options{DB: &db, Change: func(cfg *apitest.Settings) {
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
