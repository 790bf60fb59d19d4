package store_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// link settles a new call whose result has a link, and returns the result's ID.
func (f *fixture) link(t testing.TB, downloads int64, life time.Duration) string {
	t.Helper()
	c := f.begin(t, f.newCall(100))
	file := f.blob(t, c.ResultID, "content")
	file.ExpiresAt = f.clock.Now().Add(life)
	err := f.AddLink(t.Context(), store.Link{
		FileID: c.ResultID, AccountID: f.acc.ID, MaxDownloads: downloads, CreatedAt: f.clock.Now(), ExpiresAt: file.ExpiresAt,
	})
	if err == nil {
		err = f.Settle(t.Context(), store.Settlement{CallID: c.ID, Charge: 100, File: &file})
	}
	if err != nil {
		t.Fatal(err)
	}
	return c.ResultID
}

// TestDownloadsAreExact takes downloads of one result in two processes at once.
func TestDownloadsAreExact(t *testing.T) {
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		f := newFixture(t, db)
		other := db.OpenAs(t, store.Config{Now: f.clock.Now})
		id := f.link(t, 7, time.Hour)
		var taken atomic.Int64
		var group sync.WaitGroup
		for i := range 30 {
			group.Go(func() {
				s := f.Store
				if i%2 == 1 {
					s = other
				}
				switch err := s.TakeDownload(t.Context(), id); {
				case err == nil:
					taken.Add(1)
				case !errors.Is(err, store.ErrNotFound):
					t.Error(err)
				}
			})
		}
		group.Wait()
		if taken.Load() != 7 {
			t.Errorf("%d downloads were taken, want 7", taken.Load())
		}
		f.gone(t, id)
		file, err := f.AccountFile(t.Context(), f.acc.ID, id)
		if err != nil || file.MaxDownloads != 7 || file.LinkDownloads != 7 {
			t.Errorf("the account has %+v, %v", file, err)
		}
		for _, without := range []string{f.keep(t, "content"), "file_none"} {
			if err := f.TakeDownload(t.Context(), without); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("a file without a maximum: %v", err)
			}
		}
	})
}

// TestLinksExpire: a result is stored as long as its link, and the link's row for a while after that.
func TestLinksExpire(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		short, long := f.link(t, 0, time.Minute), f.link(t, 3, 30*24*time.Hour)
		if got, err := f.PublicFile(t.Context(), short); err != nil || got.MaxDownloads != 0 {
			t.Errorf("a link without a maximum: %+v, %v", got, err)
		}
		f.clock.Advance(time.Minute)
		f.gone(t, short)
		f.clock.Advance(29 * 24 * time.Hour)
		deleted, err := f.DeleteExpiredFiles(t.Context(), 10)
		if err != nil || len(deleted) != 1 {
			t.Errorf("deleted %v, %v", deleted, err)
		}
		if got, err := f.PublicFile(t.Context(), long); err != nil || got.MaxDownloads != 3 || got.LinkDownloads != 0 {
			t.Errorf("after 29 days: %+v, %v", got, err)
		}
		f.clock.Advance(24 * time.Hour)
		f.gone(t, long)
		want := f.clock.Now().Add(-time.Minute)
		if got, err := f.LinkExpiry(t.Context(), long); err != nil || !got.Equal(want) {
			t.Errorf("the link ended %v, %v, want %v", got, err, want)
		}
		f.clock.Advance(store.JobRetention + time.Minute)
		if err := f.DeleteExpired(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{short, long} {
			if _, err := f.LinkExpiry(t.Context(), id); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("the row of a link stays: %v", err)
			}
		}
	})
}

// TestLongLinksCountTowardsTheQuota: results that are stored longer than others do, until they are deleted.
func TestLongLinksCountTowardsTheQuota(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.fillQuota(t, store.MaxUploads-1, 1)
		f.link(t, 5, store.ResultLife)
		if err := f.CheckQuota(t.Context(), f.acc.ID); err != nil {
			t.Errorf("a result of the usual time counts: %v", err)
		}
		long := f.link(t, 0, store.ResultLife+time.Second)
		var full *store.QuotaError
		if err := f.CheckQuota(t.Context(), f.acc.ID); !errors.As(err, &full) || full.Files != store.MaxUploads {
			t.Errorf("got %v, want a QuotaError", err)
		}
		if err := f.AddUpload(t.Context(), f.newUpload(t, "x")); !errors.As(err, &full) {
			t.Errorf("an upload: got %v, want a QuotaError", err)
		}
		if err := f.DeleteFile(t.Context(), f.acc.ID, long); err != nil {
			t.Fatal(err)
		}
		if err := f.AddUpload(t.Context(), f.newUpload(t, "x")); err != nil {
			t.Errorf("after a deletion: %v", err)
		}
	})
}
