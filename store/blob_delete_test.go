package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// stuckBlobs is a place whose deletions fail for one key, or hang for all.
type stuckBlobs struct {
	blob.Store

	refused string
	hangs   atomic.Bool
}

func (b *stuckBlobs) Delete(ctx context.Context, key string) error {
	if b.hangs.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	if key == b.refused {
		return errors.New("AccessDenied: object is under legal hold")
	}
	return b.Store.Delete(ctx, key)
}

// eachStuck runs the test with files in such a place, on either database.
func eachStuck(t *testing.T, test func(t *testing.T, f *fixture, place *stuckBlobs)) {
	t.Helper()
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		disk, err := blob.NewDisk(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		place := &stuckBlobs{Store: disk}
		test(t, newFixtureAs(t, db, store.Config{Blobs: place}), place)
	})
}

func (f *fixture) blobCount(t testing.TB) (n int) {
	t.Helper()
	if err := f.Blobs().List(t.Context(), "", func(blob.Entry) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// runDue runs the upkeep whose names have the prefix.
func (f *fixture) runDue(ctx context.Context, t testing.TB, prefix string) error {
	t.Helper()
	var faults []error
	for _, task := range f.MaintenanceTasks() {
		if strings.HasPrefix(task.Name, prefix) {
			_, err := f.RunTask(ctx, task)
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// TestABlobThatCannotBeDeletedStopsNoOther: the bytes of all other files that have
// expired go at once. The one that stays is not served, is counted, and is deleted
// when that is possible.
func TestABlobThatCannotBeDeletedStopsNoOther(t *testing.T) {
	eachStuck(t, func(t *testing.T, f *fixture, place *stuckBlobs) {
		first := f.keep(t, "first")
		place.refused = first
		for n := range 20 {
			f.clock.Advance(time.Second)
			f.keep(t, fmt.Sprint(n))
		}
		f.clock.Advance(48 * time.Hour)
		if err := f.DeleteExpired(t.Context(), 5); err != nil {
			t.Errorf("DeleteExpired: %v", err)
		}
		if n := f.blobCount(t); n != 1 {
			t.Errorf("%d blobs are left, want the one that cannot be deleted", n)
		}
		f.gone(t, first)
		if n := f.FailedDeletions(); n != 1 {
			t.Errorf("%d deletions failed, want 1", n)
		}
		// It is tried again after a minute, and no sooner.
		for _, step := range []struct {
			wait time.Duration
			want int64
		}{{0, 1}, {time.Minute, 2}, {time.Minute, 2}, {time.Minute, 3}} {
			f.clock.Advance(step.wait)
			_, _ = f.DeleteExpiredFiles(t.Context(), 5)
			if n := f.FailedDeletions(); n != step.want {
				t.Errorf("%d deletions failed, want %d", n, step.want)
			}
		}
		place.refused = ""
		f.clock.Advance(time.Hour)
		if err := f.DeleteExpired(t.Context(), 5); err != nil {
			t.Error(err)
		}
		if left := f.left(t); !strings.HasPrefix(left, "files 0,") || f.blobCount(t) != 0 {
			t.Errorf("when it can be deleted there are left %s", left)
		}
		var noted int
		if err := f.DB().NewRaw("SELECT COUNT(*) FROM undeleted_blobs").Scan(t.Context(), &noted); err != nil || noted != 0 {
			t.Errorf("%d blobs are noted as not deleted, %v", noted, err)
		}
	})
}

// TestABlobThatCannotBeDeletedStopsNoSweep is the same for blobs that no row refers to.
func TestABlobThatCannotBeDeletedStopsNoSweep(t *testing.T) {
	eachStuck(t, func(t *testing.T, f *fixture, place *stuckBlobs) {
		for n := range 5 {
			key := store.LeasedKey("lease_gone")
			if n == 2 {
				place.refused = key
			}
			if _, err := f.Blobs().Put(t.Context(), key, strings.NewReader("x")); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := f.DeleteOrphanBlobs(t.Context(), 10); err != nil || n != 4 || f.blobCount(t) != 1 {
			t.Errorf("%d orphans were deleted, %v, and %d are left; want 4 and 1", n, err, f.blobCount(t))
		}
	})
}

// TestStorageThatHangsStopsNoOtherTask: accounts are deleted, old rows go, and the
// money of dead processes is given back, while nothing can be deleted in the storage.
// When it is back, the files go.
func TestStorageThatHangsStopsNoOtherTask(t *testing.T) {
	eachStuck(t, func(t *testing.T, f *fixture, place *stuckBlobs) {
		f.keep(t, "a")
		other := f.newAccount(t, "bob@example.com", trial)
		if _, err := f.ScheduleDeletion(t.Context(), other.ID); err != nil {
			t.Fatal(err)
		}
		orphan := f.newCall(2000)
		orphan.Lease = "lease_gone"
		f.begin(t, orphan)
		f.clock.Advance(60 * 24 * time.Hour)
		place.hangs.Store(true)
		if err := f.runDue(t.Context(), t, "expire"); err != nil {
			t.Errorf("expire: %v", err)
		}
		if a, err := f.Account(t.Context(), other.ID); err != nil || !a.Suspended {
			t.Errorf("the account that ended 46 days ago: %+v, %v; want it deleted", a, err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := f.runDue(short, t, "delete expired files"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("delete expired files: got %v, want that its time is over", err)
		}
		// It cannot delete the files that the call may have written, and takes all the time that it has.
		var held credit.Amount
		for _, limit := range []time.Duration{time.Second, 5 * time.Second, 25 * time.Second} {
			brief, cancel := context.WithTimeout(t.Context(), limit)
			_, _ = f.Reap(brief)
			cancel()

			a, err := f.Account(t.Context(), f.acc.ID)
			if err != nil {
				t.Fatal(err)
			}
			if held = a.Held; held == 0 {
				break
			}
		}
		if held != 0 {
			t.Errorf("%v is held for a dead process", held)
		}
		place.hangs.Store(false)
		f.clock.Advance(time.Hour)
		if err := f.runDue(t.Context(), t, "delete expired files"); err != nil {
			t.Errorf("delete expired files: %v", err)
		}
		if n := f.blobCount(t); n != 0 {
			t.Errorf("%d blobs are left", n)
		}
	})
}
