package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// beginBulk begins a bulk job of records at 1,000 microdollars each.
func (f *fixture) beginBulk(t *testing.T, records int) store.Call {
	t.Helper()
	result := f.NewID("file")
	c := store.NewCall{
		ID: store.CallID(result), ResultID: result, AccountID: f.acc.ID, KeyID: f.key.ID, Operation: "pdf.bulk", Mode: store.Async, RequestID: "req",
		Quote: credit.Amount(1000 * records), Job: &store.NewJob{Kind: "pdf.bulk/1", Input: []byte("input"), Records: records},
	}
	if err := f.Begin(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	call, err := f.Call(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	return call
}

func (f *fixture) claimBulk(t *testing.T, lease string) store.Job {
	t.Helper()
	job, err := f.ClaimJob(t.Context(), lease, "pdf.bulk/1")
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// books returns the account's balance and holds, and what its key has spent, and checks the ledger.
func (f *fixture) books(t *testing.T) string {
	t.Helper()
	f.sound(t)
	account, err := f.Account(t.Context(), f.acc.ID)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := f.Keys(t.Context(), f.acc.ID)
	if err != nil {
		t.Fatal(err)
	}
	var spent credit.Amount
	for _, key := range keys {
		spent += key.Spent
	}
	return fmt.Sprintf("balance %d held %d spent %d", account.Balance-f.acc.Balance, account.Held, spent)
}

func TestBulkSettlesChunks(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		f := newFixture(t, db)
		ctx := t.Context()
		lease, err := f.Acquire(ctx, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = lease.Close() })
		call := f.beginBulk(t, 10)
		first := f.claimBulk(t, lease.ID())
		expect := func(want string) {
			t.Helper()
			if got := f.books(t); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		expect("balance -10000 held 10000 spent 10000")
		settle := func(job store.Job, chunk store.Chunk, want error) {
			t.Helper()
			if _, err := f.SettleChunk(ctx, job, chunk); !errors.Is(err, want) {
				t.Errorf("chunk at %d: got %v, want %v", chunk.First, err, want)
			}
		}
		settle(first, store.Chunk{First: 0, Records: 4, Failed: 1, Charge: 3000, Results: "a"}, nil)
		settle(first, store.Chunk{First: 0, Records: 4, Failed: 1, Charge: 3000, Results: "a"}, nil) // again, as after a lost response
		settle(first, store.Chunk{First: 5, Records: 1, Charge: 1000}, store.ErrCallEnded)           // leaves a gap
		settle(first, store.Chunk{First: 4, Records: 7, Charge: 7000}, store.ErrCallEnded)           // more than there are
		settle(first, store.Chunk{First: 4, Records: 1, Charge: 7001}, store.ErrCallEnded)           // above the quote
		expect("balance -10000 held 7000 spent 10000")

		if err := f.ReturnJob(ctx, first); err != nil {
			t.Fatal(err)
		}
		settle(first, store.Chunk{First: 4, Records: 1, Charge: 1000}, store.ErrCallEnded) // is another worker's now
		second := f.claimBulk(t, lease.ID())
		settle(second, store.Chunk{First: 4, Records: 6, Charge: 6000, Results: "b"}, nil)
		about, err := f.Bulk(ctx, call.ID)
		if err != nil || about.Total != 10 || about.Processed != 10 || about.Failed != 1 || about.Charged != 9000 || about.Canceled || about.StartedAt == nil {
			t.Errorf("got %+v, %v", about, err)
		}
		chunks, err := f.Chunks(ctx, call.ID)
		if err != nil || len(chunks) != 2 || chunks[0].Results != "a" || chunks[1] != (store.Chunk{First: 4, Records: 6, Results: "b", Tries: second.Tries}) {
			t.Errorf("got %+v, %v", chunks, err)
		}
		if err := f.Settle(ctx, store.Settlement{CallID: call.ID, Charge: 8999, Job: &second}); !errors.Is(err, store.ErrCallEnded) {
			t.Errorf("a charge below that of the chunks: %v", err)
		}
		document := func(id string) store.File {
			return store.File{ID: id, Filename: id + ".pdf", ContentType: "application/pdf", Size: 1, BlobKey: "blob-" + id, ExpiresAt: f.clock.Now().Add(time.Hour)}
		}
		result, one, two := document(call.ResultID), document("file_one"), document("file_two")
		end := store.Settlement{CallID: call.ID, Charge: 9000, Job: &second, File: &result, Files: []store.File{one, two}}
		for range 2 {
			if err := f.Settle(ctx, end); err != nil {
				t.Fatal(err)
			}
		}
		expect("balance -9000 held 0 spent 9000")
		for _, id := range []string{call.ResultID, "file_one", "file_two"} {
			if _, err := f.PublicFile(ctx, id); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
	})
}

// TestBulkTriesAgainAfterEachChunk: a bulk job may lose more workers than any other job, if each has made a chunk.
func TestBulkTriesAgainAfterEachChunk(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		f := newFixture(t, db)
		ctx := t.Context()
		f.beginBulk(t, 10)
		const chunks = store.MaxTries + 1
		for try := range chunks + store.MaxTries {
			job := f.claimBulk(t, "lease_dead")
			if try < chunks {
				if _, err := f.SettleChunk(ctx, job, store.Chunk{First: try, Records: 1, Charge: 1000}); err != nil {
					t.Fatal(err)
				}
			}
			orphans, err := f.OrphanedJobs(ctx, 10)
			if err != nil || len(orphans) != 1 {
				t.Fatalf("try %d: got %+v, %v", try, orphans, err)
			}
			last := try == chunks+store.MaxTries-1
			if queued, err := f.RequeueOrphan(ctx, orphans[0]); queued == last || err != nil || orphans[0].Last != last {
				t.Errorf("try %d: queued %t, last %t, %v", try, queued, orphans[0].Last, err)
			}
		}
	})
}

// TestFailedBulkIsFree: the chunks of a job that fails are returned.
func TestFailedBulkIsFree(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		f := newFixture(t, db)
		ctx := t.Context()
		call := f.beginBulk(t, 2)
		job := f.claimBulk(t, "lease")
		if _, err := f.SettleChunk(ctx, job, store.Chunk{Records: 2, Charge: 2000}); err != nil { // all of the hold
			t.Fatal(err)
		}
		if err := f.ReleaseJob(ctx, job, store.Failure{Code: "processing_failed"}, nil); err != nil {
			t.Fatal(err)
		}
		if got, want := f.books(t), "balance 0 held 0 spent 0"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		ended, err := f.Call(ctx, call.ID)
		if err != nil || ended.Status != store.CallFailed || ended.Charge != 0 {
			t.Errorf("got %+v, %v", ended, err)
		}
	})
}

func TestCancelJob(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		f := newFixture(t, db)
		ctx := t.Context()
		why := store.Failure{Code: "canceled", Message: "The job was canceled."}
		waiting := f.beginBulk(t, 3)
		if err := f.CancelJob(ctx, waiting, why, nil); err != nil {
			t.Fatal(err)
		}
		if ended, err := f.Call(ctx, waiting.ID); err != nil || ended.Status != store.CallFailed || ended.Failure.Code != "canceled" {
			t.Errorf("a job that waits: %+v, %v", ended, err)
		}
		call := f.beginBulk(t, 3)
		job := f.claimBulk(t, "lease")
		if canceled, err := f.SettleChunk(ctx, job, store.Chunk{Records: 1, Charge: 1000}); canceled || err != nil {
			t.Fatal(canceled, err)
		}
		if err := f.CancelJob(ctx, call, why, nil); err != nil {
			t.Fatal(err)
		}
		if canceled, err := f.SettleChunk(ctx, job, store.Chunk{First: 1, Records: 1, Charge: 1000}); !canceled || err != nil {
			t.Errorf("the next chunk: %t, %v", canceled, err)
		}
		if err := f.Settle(ctx, store.Settlement{CallID: call.ID, Charge: 2000, Job: &job}); err != nil {
			t.Fatal(err)
		}
		if err := f.CancelJob(ctx, call, why, nil); err != nil { // has ended
			t.Error(err)
		}
		if got, want := f.books(t), "balance -2000 held 0 spent 2000"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
