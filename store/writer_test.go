package store_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// queued starts the transactions while another one is being written, so that
// they wait, lets that one end when all of them wait and then has been called,
// and returns their errors.
func queued(t *testing.T, s *store.Store, then func(), transactions ...func(context.Context, store.Tx) error) []error {
	t.Helper()
	begun, end := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := s.InTx(t.Context(), func(context.Context, store.Tx) error {
			close(begun)
			<-end
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-begun
	errs := make([]error, len(transactions))
	for i, do := range transactions {
		wg.Go(func() { errs[i] = s.InTx(t.Context(), do) })
	}
	for s.Waiting() < len(transactions) && t.Context().Err() == nil {
		runtime.Gosched()
	}
	then()
	close(end)
	wg.Wait()
	return errs
}

// note writes a row as a mark of a transaction.
func note(ctx context.Context, tx store.Tx, name string) error {
	_, err := tx.NewRaw("INSERT INTO leases (id, created_at, expires_at) VALUES (?, 0, 0)", name).Exec(ctx)
	return err
}

// noted returns the names of the transactions that took place.
func noted(t *testing.T, s *store.Store) []string {
	t.Helper()
	var names []string
	if err := s.DB().NewRaw("SELECT id FROM leases ORDER BY id").Scan(t.Context(), &names); err != nil {
		t.Fatal(err)
	}
	return names
}

func TestTransactionsShareACommit(t *testing.T) {
	t.Parallel()
	s := storetest.SQLite(t).Open(t, nil)
	var commits atomic.Int64
	s.SpoilCommits(func(err error) error {
		commits.Add(1)
		return err
	})
	refused := errors.New("refused")
	var all []func(context.Context, store.Tx) error
	var want []string
	for i := range 20 {
		name := fmt.Sprintf("%02d", i)
		if i%5 != 3 && i != 7 {
			want = append(want, name)
		}
		all = append(all, func(ctx context.Context, tx store.Tx) error {
			if err := note(ctx, tx, name); err != nil {
				return err
			}
			switch {
			case i%5 == 3:
				return refused
			case i == 7:
				panic("a mistake")
			}
			return nil
		})
	}
	errs := queued(t, s, func() {}, all...)
	for i, err := range errs {
		switch {
		case i == 7:
			if err == nil || !strings.Contains(err.Error(), "a mistake") {
				t.Errorf("transaction 7 panicked: got %v, want an error that says so", err)
			}
		case i%5 == 3 && !errors.Is(err, refused), i%5 != 3 && err != nil:
			t.Errorf("transaction %d: got %v", i, err)
		}
	}
	if got := noted(t, s); !slices.Equal(got, want) {
		t.Errorf("written is %q, want %q", got, want)
	}
	// The one that held the others up, and theirs.
	if got := commits.Load(); got != 2 {
		t.Errorf("%d commits, want 2", got)
	}
}

// TestHoldsAreNotSynced checks how SQLite syncs each step of a call to disk: its hold with its end, and promises to
// clients at once.
func TestHoldsAreNotSynced(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storetest.SQLite(t))
	const normal, full = 1, 2
	synced := func(step string, want int) {
		t.Helper()
		got, err := f.Synchronous(t.Context())
		if err != nil || got != want {
			t.Errorf("%s was written with synchronous=%d, %v; want %d", step, got, err, want)
		}
	}
	c := f.begin(t, f.newCall(2000))
	synced("a hold", normal)
	f.settle(t, c.ID, 2000)
	synced("the end of a call", full)
	f.begin(t, f.newCall(2000))
	job := f.newCall(2000)
	job.Mode, job.Lease, job.Job = store.Async, "", &store.NewJob{Input: []byte("{}")}
	f.begin(t, job)
	synced("a job that was accepted", full)

	// A durable transaction makes those that wait with it durable too.
	held := make(chan error, 1)
	errs := queued(t, f.Store, func() {
		go func() { held <- f.Begin(t.Context(), f.newCall(2000)) }()
		for f.Waiting() < 2 && t.Context().Err() == nil {
			runtime.Gosched()
		}
	}, func(ctx context.Context, tx store.Tx) error { return note(ctx, tx, "a") })
	if err := errors.Join(append(errs, <-held)...); err != nil {
		t.Fatal(err)
	}
	synced("a hold beside a transaction of another kind", full)
}

// TestBatchFallsBack rolls the batch's transaction back from inside, as SQLite does by itself when the disk is full:
// the other transactions still run, once.
func TestBatchFallsBack(t *testing.T) {
	t.Parallel()
	s := storetest.SQLite(t).Open(t, nil)
	write := func(name string) func(context.Context, store.Tx) error {
		return func(ctx context.Context, tx store.Tx) error { return note(ctx, tx, name) }
	}
	spoil := func(ctx context.Context, tx store.Tx) error {
		_, err := tx.ExecContext(ctx, "ROLLBACK")
		return errors.Join(err, errors.New("disk full"))
	}
	errs := queued(t, s, func() {}, write("a"), write("b"), spoil, write("c"))
	for i, err := range errs {
		if failed := err != nil; failed != (i == 2) {
			t.Errorf("transaction %d: got %v", i, err)
		}
	}
	if got, want := noted(t, s), []string{"a", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("written is %q, want %q", got, want)
	}
}

// TestWriterTakesAnotherConnection leaves the writer's connection within an unfinished transaction: it is discarded
// with its writes, and others write.
func TestWriterTakesAnotherConnection(t *testing.T) {
	t.Parallel()
	s := storetest.SQLite(t).Open(t, nil)
	write := func(name string) error {
		return s.InTx(t.Context(), func(ctx context.Context, tx store.Tx) error { return note(ctx, tx, name) })
	}
	if err := write("a"); err != nil {
		t.Fatal(err)
	}
	if err := s.OnLine(t.Context(), "BEGIN IMMEDIATE", "INSERT INTO leases (id, created_at, expires_at) VALUES ('lost', 0, 0)"); err != nil {
		t.Fatal(err)
	}
	if err := write("refused"); err == nil {
		t.Error("a transaction was begun within another")
	}
	if err := write("b"); err != nil {
		t.Errorf("on another connection: %v", err)
	}
	if got, want := noted(t, s), []string{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("written is %q, want %q", got, want)
	}
	if mode, err := s.Synchronous(t.Context()); err != nil || mode != 2 {
		t.Errorf("the other connection has synchronous=%d, %v; want 2", mode, err)
	}
}

// TestWaitingTransactionIsWithdrawn cancels a waiting transaction: it does not run, and the others do.
func TestWaitingTransactionIsWithdrawn(t *testing.T) {
	t.Parallel()
	s := storetest.SQLite(t).Open(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	withdraw := func() {
		wg.Go(func() {
			err := s.InTx(ctx, func(ctx context.Context, tx store.Tx) error { return note(ctx, tx, "b") })
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want %v", err, context.Canceled)
			}
		})
		for s.Waiting() < 2 && t.Context().Err() == nil {
			runtime.Gosched()
		}
		cancel()
		wg.Wait()
	}
	errs := queued(t, s, withdraw, func(ctx context.Context, tx store.Tx) error { return note(ctx, tx, "a") })
	if errs[0] != nil {
		t.Error(errs[0])
	}
	if got, want := noted(t, s), []string{"a"}; !slices.Equal(got, want) {
		t.Errorf("written is %q, want %q", got, want)
	}
}
