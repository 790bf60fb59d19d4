package store_test

import (
	"context"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"relaypdf/internal/slow"
	"relaypdf/store"
	"relaypdf/store/credit"
	"relaypdf/store/storetest"
)

// TestReplica reads lists from a PostgreSQL that follows another one, 80 ms
// nearer. Where it is late, dead, frozen or no replica, they come from the primary,
// which is said once; what may not be late always does.
func TestReplica(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	db, replica := storetest.Replicated(t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	far, err := storetest.NewFar(ctx, db.URL, 80*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := far.Close(); err != nil {
			t.Error(err)
		}
	})
	near := db.ReadURL
	db.ReadURL = ""
	primary := db.Open(t, nil) // makes the tables
	db.URL, db.ReadURL = far.URL, near
	said := new(storetest.Log)
	s := db.OpenAs(t, store.Config{Logger: slog.New(slog.NewTextHandler(said, nil))})

	state := func() store.ReplicaState {
		got, ok := s.Replica()
		if !ok {
			t.Fatal("there is no replica")
		}
		return got
	}
	await := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Minute); !done(); <-time.After(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("still not: %s; the replica: %+v\n%s", what, state(), said)
			}
		}
	}
	read := func() bool { return state().Trouble == nil }
	unread := func() bool { return !read() }

	account, err := primary.CreateAccount(t.Context(), "far@example.com", credit.Dollar)
	if err != nil {
		t.Fatal(err)
	}
	upload := func() {
		t.Helper()
		file := store.File{ID: store.NewID("file"), AccountID: account.ID, BlobKey: store.NewID("blob"), Size: 1, ExpiresAt: time.Now().Add(time.Hour)}
		if err := primary.AddUpload(t.Context(), file); err != nil {
			t.Fatal(err)
		}
	}
	list := func(late bool) (n int, took time.Duration) {
		t.Helper()
		begin := time.Now()
		page, err := s.Files(t.Context(), store.FileFilter{AccountID: account.ID, List: store.List{Late: late}})
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Items), time.Since(begin)
	}
	quickest := func(late bool) time.Duration {
		best := time.Hour
		for range 20 {
			_, took := list(late)
			best = min(best, took)
		}
		return best
	}

	await("the replica is read", read)
	upload()
	await("it has followed", func() bool { n, _ := list(true); return n == 1 })
	before := state().Reads
	await("it is nearer than the primary", func() bool {
		late, now := quickest(true), quickest(false)
		t.Logf("a list takes %v from the replica, and %v from the primary, 80 ms away", late, now)
		return late < 80*time.Millisecond && now >= 80*time.Millisecond
	})
	if state().Reads == before {
		t.Error("nothing was read from the replica")
	}

	// It is late: first it may be read, then not. All else is of now.
	if err := replica.Follow(false); err != nil {
		t.Fatal(err)
	}
	upload()
	if err := primary.Credit(t.Context(), account.ID, credit.Dollar, "more"); err != nil {
		t.Fatal(err)
	}
	if n, _ := list(false); n != 2 {
		t.Errorf("a list that may not be late has %d files, want 2", n)
	}
	if got, err := s.Account(t.Context(), account.ID); err != nil || got.Balance != 2*credit.Dollar {
		t.Errorf("the balance is %v, %v; want that of now", got.Balance, err)
	}
	await("it is late", func() bool { return unread() && said.Count("the replica is not read") > 0 })
	for range 20 {
		if n, _ := list(true); n != 2 {
			t.Errorf("beside a late replica a list has %d files, want 2", n)
		}
	}
	if err := replica.Follow(true); err != nil {
		t.Fatal(err)
	}
	await("it has caught up", read)

	// It freezes, dies, and comes back: a list is never refused.
	for _, fault := range []struct{ begin, end func() error }{
		{func() error { return replica.Signal(syscall.SIGSTOP) }, func() error { return replica.Signal(syscall.SIGCONT) }},
		{func() error { return replica.Order("stop") }, func() error { return replica.Order("start") }},
	} {
		if err := fault.begin(); err != nil {
			t.Fatal(err)
		}
		await("it is not read any more", func() bool {
			if n, _ := list(true); n != 2 {
				t.Errorf("a list has %d files, want 2", n)
			}
			return !read()
		})
		if err := fault.end(); err != nil {
			t.Fatal(err)
		}
		await("it is read again", read)
	}
	gone, back := said.Count("the replica is not read"), said.Count("lists are read from the replica")
	if gone < 3 || back != gone+1 {
		t.Errorf("said %d times that the replica is not read and %d times that it is, want one for each change", gone, back)
	}
}

// TestReplicaThatIsNone: an address that leads to the primary, or nowhere, costs
// nothing but a line in the log.
func TestReplicaThatIsNone(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]func(storetest.DB) string{
		"takes writes": func(db storetest.DB) string { return db.URL },
		"failed":       func(storetest.DB) string { return "postgres://postgres@/none?host=/nowhere" },
	} {
		db := storetest.Postgres(t)
		db.ReadURL = address(db)
		said := new(storetest.Log)
		s := db.OpenAs(t, store.Config{Logger: slog.New(slog.NewTextHandler(said, nil))})
		for deadline := time.Now().Add(5 * time.Minute); said.Count("the replica is not read") == 0; <-time.After(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: nothing is said", name)
			}
		}
		if err := s.CheckReplica(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want one that says %q", err, name)
		}
		if _, err := s.Files(t.Context(), store.FileFilter{AccountID: "acc_none", List: store.List{Late: true}}); err != nil {
			t.Errorf("%s: a list: %v", name, err)
		}
		if state, _ := s.Replica(); state.Reads != 0 || state.Trouble == nil {
			t.Errorf("%s: got %+v", name, state)
		}
	}
}
