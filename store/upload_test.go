package store_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/blob"
)

// upload adds an upload of the fixture's account, and returns its id.
func (f *fixture) upload(t testing.TB, content string) string {
	t.Helper()
	file := f.newUpload(t, content)
	if err := f.AddUpload(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	return file.ID
}

func (f *fixture) newUpload(t testing.TB, content string) store.File {
	t.Helper()
	file := f.blob(t, store.LeasedKey(f.lease), content)
	file.ID, file.AccountID = f.NewID("file"), f.acc.ID
	return file
}

// newJob returns a call of the fixture's account that is a job.
func (f *fixture) newJob(t testing.TB, pins ...string) store.NewCall {
	t.Helper()
	c := f.newCall(100)
	input := f.blob(t, store.LeasedKey(f.lease), "input")
	c.Mode, c.Lease, c.Job = store.Async, "", &store.NewJob{InputKey: input.BlobKey, Pins: pins}
	return c
}

// fillQuota adds rows of uploads without bytes.
func (f *fixture) fillQuota(t testing.TB, files int, size int64) {
	t.Helper()
	_, err := f.DB().NewRaw(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?0)
		INSERT INTO files (id, account_id, filename, content_type, size, blob_key, created_at, expires_at)
		SELECT 'file_fill' || i, ?1, 'f', 'x', ?2, 'fill' || i, ?3, ?4 FROM n`,
		files, f.acc.ID, size, noon.UnixMicro(), noon.Add(24*time.Hour).UnixMicro()).Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
}

func TestUploadIsPrivate(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		id := f.upload(t, "content")
		f.gone(t, id)
		got, err := f.AccountFile(t.Context(), f.acc.ID, id)
		if err != nil || got.ID != id || got.CallID != "" || got.Size != 7 || !got.ExpiresAt.Equal(noon.Add(24*time.Hour)) {
			t.Errorf("AccountFile: got %+v, %v", got, err)
		}
		eve := f.newAccount(t, "eve@example.com", 0)
		for account, id := range map[string]string{eve.ID: id, f.acc.ID: "file_none", "": id} {
			if _, err := f.AccountFile(t.Context(), account, id); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("AccountFile(%q, %q): got %v, want ErrNotFound", account, id, err)
			}
		}
		f.clock.Advance(24 * time.Hour)
		if _, err := f.AccountFile(t.Context(), f.acc.ID, id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("AccountFile a day later: got %v, want ErrNotFound", err)
		}
	})
}

func TestUploadRefusals(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for name, spoil := range map[string]func(*store.File){
			"empty":   func(file *store.File) { file.Size = 0 },
			"no id":   func(file *store.File) { file.ID = "" },
			"escape":  func(file *store.File) { file.BlobKey = "../x" },
			"expired": func(file *store.File) { file.ExpiresAt = noon },
		} {
			file := f.newUpload(t, "x")
			spoil(&file)
			if err := f.AddUpload(t.Context(), file); err == nil {
				t.Errorf("%s: added", name)
			}
		}
		stranger := f.newUpload(t, "x")
		stranger.AccountID = "acc_none"
		if err := f.AddUpload(t.Context(), stranger); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("of no account: got %v, want ErrNotFound", err)
		}
		if err := f.Suspend(t.Context(), f.acc.ID, ""); err != nil {
			t.Fatal(err)
		}
		if err := f.AddUpload(t.Context(), f.newUpload(t, "x")); !errors.Is(err, store.ErrSuspended) {
			t.Errorf("of a suspended account: got %v, want ErrSuspended", err)
		}
	})
}

// TestUploadQuota fills the quota, and frees it by deletion and by expiry.
// Results and other accounts' files do not count.
func TestUploadQuota(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.keep(t, "a result")
		f.fillQuota(t, store.MaxUploads-1, 1)
		last := f.upload(t, "x")
		full := func(want store.QuotaError) {
			t.Helper()
			want.Ends = f.clock.Now().Add(24 * time.Hour)
			var got *store.QuotaError
			if err := f.AddUpload(t.Context(), f.newUpload(t, "xy")); !errors.As(err, &got) || *got != want {
				t.Errorf("AddUpload: got %+v (%v), want %+v", got, err, want)
			}
		}
		full(store.QuotaError{Files: store.MaxUploads, Bytes: store.MaxUploads, Size: 2})
		job := f.begin(t, f.newJob(t, last))
		if err := f.DeleteFile(t.Context(), f.acc.ID, last); err != nil {
			t.Fatal(err)
		}
		// A job still needs it, so its bytes are there.
		full(store.QuotaError{Files: store.MaxUploads, Bytes: store.MaxUploads, Size: 2})
		f.release(t, job.ID)
		f.upload(t, "x")
		full(store.QuotaError{Files: store.MaxUploads, Bytes: store.MaxUploads, Size: 2})
		f.clock.Advance(24 * time.Hour)
		f.upload(t, "x")
		large := f.newUpload(t, "x")
		large.Size = store.MaxUploadBytes - 2
		if err := f.AddUpload(t.Context(), large); err != nil {
			t.Fatal(err)
		}
		full(store.QuotaError{Files: 2, Bytes: store.MaxUploadBytes - 1, Size: 2})
	})
}

// TestUploadQuotaHoldsUnderConcurrency sends more at once than there is room for.
func TestUploadQuotaHoldsUnderConcurrency(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		const room, senders = 5, 24
		f.fillQuota(t, store.MaxUploads-room, 1)
		var added atomic.Int64
		var wg sync.WaitGroup
		for range senders {
			file := f.newUpload(t, "x")
			wg.Go(func() {
				var quota *store.QuotaError
				switch err := f.AddUpload(t.Context(), file); {
				case err == nil:
					added.Add(1)
				case !errors.As(err, &quota):
					t.Errorf("AddUpload: got %v, want a QuotaError", err)
				}
			})
		}
		wg.Wait()
		if got := added.Load(); got != room {
			t.Errorf("%d uploads were added where there was room for %d", got, room)
		}
	})
}

// TestPinsKeepFiles: the files of a job stay for the job only.
func TestPinsKeepFiles(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		deleted, expired, result := f.upload(t, "deleted"), f.upload(t, "expired"), f.keep(t, "result")
		first := f.begin(t, f.newJob(t, deleted, expired, result, deleted))
		second := f.begin(t, f.newJob(t, deleted))
		if err := f.DeleteFile(t.Context(), f.acc.ID, deleted); err != nil {
			t.Fatal(err)
		}
		f.clock.Advance(25 * time.Hour)
		f.expired(t, 0)
		for _, id := range []string{deleted, expired, result} {
			file, err := f.PinnedFile(t.Context(), first.ID, id)
			if err != nil {
				t.Errorf("PinnedFile: %v", err)
				continue
			}
			f.readable(t, file.BlobKey)
			if _, err := f.AccountFile(t.Context(), f.acc.ID, id); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("AccountFile of what only a job needs: got %v, want ErrNotFound", err)
			}
		}
		if _, err := f.PinnedFile(t.Context(), second.ID, expired); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("PinnedFile of another job: got %v, want ErrNotFound", err)
		}
		f.settle(t, first.ID, 100)
		f.expired(t, 2)
		f.release(t, second.ID)
		f.expired(t, 1)
		if _, err := f.PinnedFile(t.Context(), second.ID, deleted); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("PinnedFile of an ended job: got %v, want ErrNotFound", err)
		}
	})
}

// expired deletes expired files, and checks their number.
func (f *fixture) expired(t testing.TB, want int) {
	t.Helper()
	if keys, err := f.DeleteExpiredFiles(t.Context(), 100); err != nil || len(keys) != want {
		t.Errorf("DeleteExpiredFiles: got %v, %v; want %d", keys, err, want)
	}
}

func (f *fixture) readable(t testing.TB, key string) {
	t.Helper()
	r, _, err := f.Blobs().Open(t.Context(), key)
	if err != nil {
		t.Errorf("blob %s: %v", key, err)
		return
	}
	_ = r.Close()
}

// TestPinRefusals: a job that asks for a file which its account cannot read is
// not begun, and nothing is left of it.
func TestPinRefusals(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		expired, deleted := f.upload(t, "x"), f.upload(t, "x")
		if err := f.DeleteFile(t.Context(), f.acc.ID, deleted); err != nil {
			t.Fatal(err)
		}
		owner := f.acc
		f.acc = f.newAccount(t, "eve@example.com", 0)
		foreign := f.upload(t, "x")
		f.acc = owner
		f.clock.Advance(24 * time.Hour)
		mine := f.upload(t, "x")
		for name, id := range map[string]string{
			"missing": "file_none", "foreign": foreign, "expired": expired, "deleted": deleted, "not a text": "\xff",
		} {
			job := f.newJob(t, mine, id)
			job.IdempotencyKey, job.BodyHash = "k", []byte("hash")
			var got *store.PinError
			if err := f.Begin(t.Context(), job); !errors.As(err, &got) || len(got.FileIDs) != 1 || got.FileIDs[0] != id {
				t.Errorf("%s: got %+v (%v), want a PinError for it alone", name, got, err)
			}
			if _, err := f.Call(t.Context(), job.ID); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: the refused job was recorded: %v", name, err)
			}
			if _, err := f.Claim(t.Context(), f.acc.ID, "k"); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: the refused job kept its idempotency key: %v", name, err)
			}
		}
		f.wallet(t, trial, 0, 0)
	})
}

// TestPinAgainstDeletion begins jobs and deletes their file at the same moment:
// either the job is refused, or it can read the file.
func TestPinAgainstDeletion(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.WithoutCancel(t.Context())
		for range 30 {
			id := f.upload(t, "content")
			job := f.newJob(t, id)
			var wg sync.WaitGroup
			var began error
			wg.Go(func() { began = f.Begin(ctx, job) })
			wg.Go(func() {
				if err := f.DeleteFile(ctx, f.acc.ID, id); err != nil {
					t.Errorf("DeleteFile: %v", err)
				}
			})
			wg.Go(func() {
				if _, err := f.DeleteExpiredFiles(ctx, 10); err != nil {
					t.Errorf("DeleteExpiredFiles: %v", err)
				}
			})
			wg.Wait()
			var refused *store.PinError
			switch {
			case errors.As(began, &refused):
				continue
			case began != nil:
				t.Fatal(began)
			}
			file, err := f.PinnedFile(ctx, job.ID, id)
			if err != nil {
				t.Fatalf("a job began without its file: %v", err)
			}
			f.readable(t, file.BlobKey)
			f.release(t, job.ID)
		}
	})
}

// TestExpiryWaitsForAPin: a job pins a file at the last moment, and the reaper,
// to whom it has expired, waits for the job's transaction. The bytes must stay.
func TestExpiryWaitsForAPin(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		id := f.upload(t, "content")
		job := f.begin(t, f.newJob(t))
		pinned, commit := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			err := f.InTx(t.Context(), func(ctx context.Context, tx store.Tx) error {
				for _, statement := range []string{
					"UPDATE files SET deleted_at = NULL WHERE id = ?0", "INSERT INTO pins (file_id, call_id) VALUES (?0, ?1)",
				} {
					if _, err := tx.NewRaw(statement, id, job.ID).Exec(ctx); err != nil {
						return err
					}
				}
				close(pinned)
				<-commit
				return nil
			})
			if err != nil {
				t.Errorf("pin: %v", err)
			}
		})
		<-pinned
		f.clock.Advance(24 * time.Hour)
		wg.Go(func() { f.expired(t, 0) })
		f.awaitBlocked(t)
		close(commit)
		wg.Wait()
		file, err := f.PinnedFile(t.Context(), job.ID, id)
		if err != nil {
			t.Fatal(err)
		}
		f.readable(t, file.BlobKey)
		f.release(t, job.ID)
		f.expired(t, 1)
	})
}

// awaitBlocked returns when a transaction waits for another one.
func (f *fixture) awaitBlocked(t testing.TB) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); <-time.After(time.Millisecond) {
		waiting := 0
		if f.Dialect() == store.SQLite {
			waiting = f.Waiting()
		} else if err := f.DB().NewRaw("SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").
			Scan(t.Context(), &waiting); err != nil {
			t.Fatal(err)
		}
		if waiting > 0 {
			return
		}
	}
	t.Fatal("nothing waits")
}

func TestTakeDown(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		result, upload := f.keep(t, "result"), f.upload(t, "upload")
		job := f.begin(t, f.newJob(t, result, upload))
		for _, id := range []string{result, upload} {
			got, err := f.TakeDownFile(t.Context(), id)
			if err != nil || got.ID != id || got.AccountID != f.acc.ID {
				t.Errorf("TakeDownFile: got %+v, %v", got, err)
			}
			if _, _, err := f.Blobs().Open(t.Context(), got.BlobKey); !errors.Is(err, blob.ErrMissing) {
				t.Errorf("the bytes of a file that was taken down: got %v, want ErrMissing", err)
			}
			if _, err := f.PinnedFile(t.Context(), job.ID, id); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("PinnedFile of a file that was taken down: got %v, want ErrNotFound", err)
			}
			f.gone(t, id)
			if _, err := f.TakeDownFile(t.Context(), id); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("TakeDownFile again: got %v, want ErrNotFound", err)
			}
		}
		f.release(t, job.ID)
	})
}
