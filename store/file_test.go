package store_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// keep settles a new call with a file that lives for a day, and returns its id.
func (f *fixture) keep(t testing.TB, content string) string {
	t.Helper()
	c := f.begin(t, f.newCall(100))
	file := f.blob(t, c.ResultID, content)
	if err := f.Settle(t.Context(), store.Settlement{CallID: c.ID, Charge: 100, File: &file}); err != nil {
		t.Fatal(err)
	}
	return c.ResultID
}

// blob stores the content and returns the file that would hold it.
func (f *fixture) blob(t testing.TB, key, content string) store.File {
	t.Helper()
	size, err := f.Blobs().Put(t.Context(), key, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return store.File{Filename: "a.pdf", ContentType: "application/pdf", Size: size, BlobKey: key, ExpiresAt: f.clock.Now().Add(24 * time.Hour)}
}

// gone checks that the file cannot be opened.
func (f *fixture) gone(t testing.TB, id string) {
	t.Helper()
	if got, err := f.PublicFile(t.Context(), id); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("PublicFile(%q): got %+v, %v; want ErrNotFound", id, got, err)
	}
}

func TestFileOfASettledCall(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		id := f.keep(t, "content")
		got, err := f.PublicFile(t.Context(), id)
		if err != nil || got.ID != id || got.AccountID != f.acc.ID || got.CallID == "" || got.Filename != "a.pdf" ||
			got.ContentType != "application/pdf" || got.Size != 7 || got.BlobKey != id ||
			!got.CreatedAt.Equal(noon) || !got.ExpiresAt.Equal(noon.Add(24*time.Hour)) {
			t.Errorf("PublicFile: got %+v, %v", got, err)
		}
		for range 3 {
			f.CountDownload(id)
		}
		f.awaitDownloads(t, id, 3)
		list, err := f.Files(t.Context(), store.FileFilter{AccountID: f.acc.ID})
		if err != nil || len(list.Items) != 1 || list.Items[0].ID != id || list.Items[0].Downloads != 3 {
			t.Errorf("Files: got %+v, %v", list, err)
		}
		for want, ids := range [][]string{{"file_none"}, {"file_none", id}} {
			list, err := f.Files(t.Context(), store.FileFilter{AccountID: f.acc.ID, IDs: ids})
			if err != nil || len(list.Items) != want {
				t.Errorf("Files %v: got %+v, %v; want %d", ids, list, err, want)
			}
		}
		for _, unknown := range []string{"", "file_none", "a\x00b", "\xff", "' OR '1'='1"} {
			f.gone(t, unknown)
		}
	})
}

// awaitDownloads waits until so many downloads of a file have been written.
func (f *fixture) awaitDownloads(t testing.TB, id string, want int64) {
	t.Helper()
	var got int64
	for range 3000 {
		file, err := f.PublicFile(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if got = file.Downloads; got == want {
			return
		}
		<-time.After(100 * time.Millisecond)
	}
	t.Fatalf("%d downloads are written, want %d", got, want)
}

// TestDownloadsAreWrittenAtTheEnd closes the store right after downloads of more
// files than one statement takes.
func TestDownloadsAreWrittenAtTheEnd(t *testing.T) {
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		f := newFixture(t, db)
		id := f.keep(t, "content")
		closing := db.OpenAs(t, store.Config{Now: f.clock.Now})
		for i := range 1200 {
			closing.CountDownload(id)
			closing.CountDownload(fmt.Sprintf("file_gone%d", i))
		}
		if err := closing.Close(); err != nil {
			t.Fatal(err)
		}
		f.awaitDownloads(t, id, 1200)
	})
}

func TestSettleWithABadFileChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		c := f.begin(t, f.newCall(100))
		for name, spoil := range map[string]func(*store.File){
			"expired": func(file *store.File) { file.ExpiresAt = noon },
			"no blob": func(file *store.File) { file.BlobKey = "" },
			"escape":  func(file *store.File) { file.BlobKey = "../x" },
			"size":    func(file *store.File) { file.Size = -1 },
		} {
			file := f.blob(t, c.ResultID, "x")
			spoil(&file)
			if err := f.Settle(t.Context(), store.Settlement{CallID: c.ID, Charge: 100, File: &file}); err == nil {
				t.Errorf("%s: settled", name)
			}
		}
		f.status(t, c.ID, store.CallRunning)
		f.wallet(t, trial-100, 100, 100)
	})
}

func TestAddFile(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		c := f.begin(t, f.newCall(100))
		file := f.blob(t, c.ResultID, "late")
		if err := f.AddFile(t.Context(), c.ID, file); !errors.Is(err, store.ErrCallEnded) {
			t.Errorf("AddFile to a running call: got %v, want ErrCallEnded", err)
		}
		if err := f.AddFile(t.Context(), "call_none", file); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("AddFile to no call: got %v, want ErrNotFound", err)
		}
		f.settle(t, c.ID, 100)
		for range 2 {
			if err := f.AddFile(t.Context(), c.ID, file); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := f.PublicFile(t.Context(), c.ResultID); err != nil || got.CallID != c.ID {
			t.Errorf("PublicFile: got %+v, %v", got, err)
		}
		other := f.begin(t, f.newCall(100))
		f.settle(t, other.ID, 100)
		file.ID = c.ResultID
		if err := f.AddFile(t.Context(), other.ID, file); !errors.Is(err, store.ErrExists) {
			t.Errorf("AddFile under another call's id: got %v, want ErrExists", err)
		}
	})
}

func TestFilesOfSuspendedAccountsAreHidden(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		id := f.keep(t, "x")
		if err := f.Suspend(t.Context(), f.acc.ID, "abuse"); err != nil {
			t.Fatal(err)
		}
		f.gone(t, id)
		if err := f.Resume(t.Context(), f.acc.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := f.PublicFile(t.Context(), id); err != nil {
			t.Errorf("PublicFile after Resume: %v", err)
		}
	})
}

func TestDeleteFile(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		id := f.keep(t, "x")
		other := f.newAccount(t, "eve@example.com", 0)
		for _, owner := range []string{other.ID, "acc_none"} {
			if err := f.DeleteFile(t.Context(), owner, id); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("DeleteFile by %s: got %v, want ErrNotFound", owner, err)
			}
		}
		if err := f.DeleteFile(t.Context(), f.acc.ID, id); err != nil {
			t.Fatal(err)
		}
		f.gone(t, id)
		if _, _, err := f.Blobs().Open(t.Context(), id); !errors.Is(err, blob.ErrMissing) {
			t.Errorf("the deleted file's blob: got %v, want ErrMissing", err)
		}
		if err := f.DeleteFile(t.Context(), f.acc.ID, id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("DeleteFile again: got %v, want ErrNotFound", err)
		}
	})
}

func TestExpiredFiles(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		old := []string{f.keep(t, "1"), f.keep(t, "2"), f.keep(t, "3")}
		f.clock.Advance(time.Hour)
		young := f.keep(t, "4")
		f.clock.Advance(23*time.Hour - time.Microsecond)
		if keys, err := f.DeleteExpiredFiles(t.Context(), 10); err != nil || len(keys) != 0 {
			t.Errorf("before the expiry: got %v, %v; want nothing deleted", keys, err)
		}
		f.clock.Advance(time.Microsecond)
		for _, id := range old {
			f.gone(t, id)
		}
		// A blob that is gone already, as after a crash, does not get in the way.
		if err := f.Blobs().Delete(t.Context(), old[0]); err != nil {
			t.Fatal(err)
		}
		var deleted []string
		for _, want := range []int{2, 1, 0} {
			keys, err := f.DeleteExpiredFiles(t.Context(), 2)
			if err != nil || len(keys) != want {
				t.Errorf("DeleteExpiredFiles: got %v, %v; want %d", keys, err, want)
			}
			deleted = append(deleted, keys...)
		}
		slices.Sort(deleted)
		slices.Sort(old)
		if !slices.Equal(deleted, old) {
			t.Errorf("deleted: got %v, want %v", deleted, old)
		}
		for _, key := range old {
			if _, _, err := f.Blobs().Open(t.Context(), key); !errors.Is(err, blob.ErrMissing) {
				t.Errorf("blob %s: got %v, want ErrMissing", key, err)
			}
		}
		if _, err := f.PublicFile(t.Context(), young); err != nil {
			t.Errorf("the young file: %v", err)
		}
	})
}

// TestOrphansOfDeadProcesses: files of a process are removed as soon as the process is gone, unless a row refers to
// them.
func TestOrphansOfDeadProcesses(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		alive := f.acquire(t, t.TempDir())
		running, ended := f.leased(t, alive.ID()), f.leased(t, "lease_dead")
		if err := f.Release(t.Context(), ended.ID, store.Failure{Code: "x"}, nil); err != nil {
			t.Fatal(err)
		}
		kept := f.keep(t, "x")
		keys := map[string]bool{ // whether it stays
			kept:                               true,
			store.LeasedKey(alive.ID()):        true,
			store.LeasedKey("lease_dead"):      false,
			store.ResultKey(running.ID, 0):     true,
			store.ResultKey(ended.ID, 0):       false,
			store.ResultKey("call_unknown", 0): false,
		}
		for key := range keys {
			if key != kept {
				f.blob(t, key, "x")
			}
		}
		if n, err := f.DeleteOrphanBlobs(t.Context(), 100); err != nil || n != 3 {
			t.Errorf("DeleteOrphanBlobs: got %d, %v; want 3", n, err)
		}
		for key, want := range keys {
			r, _, err := f.Blobs().Open(t.Context(), key)
			if got := err == nil; got != want {
				t.Errorf("blob %s: there %t, want %t", key, got, want)
			}
			if err == nil {
				_ = r.Close()
			}
		}
	})
}

// TestInUse queries several blobs at once: deleted, expired and unknown ones are not in use.
func TestInUse(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		expired := f.keep(t, "x")
		f.clock.Advance(24 * time.Hour)
		kept, deleted := f.keep(t, "x"), f.keep(t, "x")
		if err := f.DeleteFile(t.Context(), f.acc.ID, deleted); err != nil {
			t.Fatal(err)
		}
		got, err := f.InUse(t.Context(), []string{"unknown", expired, deleted, kept})
		if err != nil || !maps.Equal(got, map[string]bool{kept: true}) {
			t.Errorf("got %v, %v; want %s alone", got, err, kept)
		}
	})
}

// manyBlobs lists its blobs again and again, as a place does that has very many.
type manyBlobs struct {
	blob.Store

	times int
}

func (m manyBlobs) List(ctx context.Context, after string, yield func(blob.Entry) error) error {
	for range m.times {
		if err := m.Store.List(ctx, after, yield); err != nil {
			return err
		}
	}
	return nil
}

// statementCount counts statements.
type statementCount struct{ atomic.Int64 }

func (c *statementCount) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context {
	c.Add(1)
	return ctx
}

func (c *statementCount) AfterQuery(context.Context, *bun.QueryEvent) {}

// TestSweepAsksForManyBlobsAtOnce: looking at all blobs may not cost the others the
// database.
func TestSweepAsksForManyBlobsAtOnce(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		const kept, times = 4, 300
		disk, err := blob.NewDisk(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		var count statementCount
		f := newFixtureAs(t, db, store.Config{Blobs: manyBlobs{disk, times}, Watch: &count})
		for range kept {
			f.keep(t, "x")
		}
		f.begin(t, f.newJob(t)) // whose input is a blob
		f.blob(t, store.ResultKey("call_unknown", 0), "x")
		before := count.Load()
		if n, err := f.DeleteOrphanBlobs(t.Context(), 1); err != nil || n != 1 {
			t.Fatalf("DeleteOrphanBlobs: got %d, %v; want the only orphan", n, err)
		}
		first := count.Load() - before
		if n, err := f.DeleteOrphanBlobs(t.Context(), 1); err != nil || n != 0 {
			t.Fatalf("DeleteOrphanBlobs: got %d, %v; want 0", n, err)
		}
		all := count.Load() - before - first
		if all == 0 || all > (kept+1)*times/100 {
			t.Errorf("looking at %d blobs that rows refer to took %d statements, want one for hundreds", (kept+1)*times, all)
		}
	})
}

// TestSweepContinues: a sweep over many blobs reads a few at a time, continues where the previous one ended, in another
// process, and reaches each in its turn, new and old.
func TestSweepContinues(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		disk, err := blob.NewDisk(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		f := newFixtureAs(t, db, store.Config{Blobs: disk})
		kept := map[string]bool{}
		for range 30 {
			kept[f.keep(t, "x")] = true
		}
		const orphans = 12
		for i := range orphans {
			f.blob(t, store.ResultKey(fmt.Sprintf("call_unknown%d", i), 0), "x")
		}
		removed, looks := 0, 0
		sweep := func(s *store.Store) int {
			t.Helper()
			n, err := s.SweepBlobs(t.Context(), 10)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		for ; removed < orphans && looks < 6; looks++ {
			next := db.OpenAs(t, store.Config{Blobs: disk, Now: f.clock.Now})
			removed += sweep(next)
		}
		if removed != orphans || looks < 2 {
			t.Errorf("%d looks at ten of 42 blobs found %d of %d orphans", looks, removed, orphans)
		}
		// One that comes where the look has been is found when it comes round again.
		f.blob(t, store.ResultKey("call_unknown", 0), "x")
		again := 0
		for range 5 {
			again += sweep(f.Store)
		}
		if again != 1 {
			t.Errorf("a new orphan: %d were found in five looks, want it", again)
		}
		left := 0
		err = disk.List(t.Context(), "", func(e blob.Entry) error {
			if left++; !kept[e.Key] {
				t.Errorf("%s is left", e.Key)
			}
			return nil
		})
		if err != nil || left != len(kept) {
			t.Errorf("%d blobs are left, %v; want the %d that rows refer to", left, err, len(kept))
		}
	})
}

func TestOrphanBlobs(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		kept := f.keep(t, "x")
		f.blob(t, "young", "x")
		f.blob(t, "orphan1", "x")
		f.blob(t, "orphan2", "x")
		long := time.Now().Add(-25 * time.Hour)
		for _, key := range []string{kept, "orphan1", "orphan2"} {
			r, _, err := f.Blobs().Open(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(r.(*os.File).Name(), long, long); err != nil {
				t.Fatal(err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []int{1, 1, 0} {
			if n, err := f.DeleteOrphanBlobs(t.Context(), 1); err != nil || n != want {
				t.Errorf("DeleteOrphanBlobs: got %d, %v; want %d", n, err, want)
			}
		}
		for _, key := range []string{kept, "young"} {
			r, _, err := f.Blobs().Open(t.Context(), key)
			if err != nil {
				t.Errorf("blob %s: %v", key, err)
				continue
			}
			_ = r.Close()
		}
	})
}
