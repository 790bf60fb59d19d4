package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/blob"
)

// left lists the numbers of rows and blobs that can expire.
func (f *fixture) left(t testing.TB) string {
	t.Helper()
	text := ""
	for _, table := range []string{"files", "jobs", "pins", "events", "deliveries", "callbacks"} {
		var n int
		if err := f.DB().NewRaw("SELECT COUNT(*) FROM "+table).Scan(t.Context(), &n); err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("%s %d, ", table, n)
	}
	blobs := 0
	err := f.Blobs().List(t.Context(), "", func(blob.Entry) error {
		blobs++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%sblobs %d", text, blobs)
}

// sweep deletes expired data, two of a kind at once, and compares the rest.
func (f *fixture) sweep(t testing.TB, want string) {
	t.Helper()
	if err := f.DeleteExpired(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if got := f.left(t); got != want {
		t.Errorf("at %s:\n got %s\nwant %s", f.clock.Now().Sub(noon), got, want)
	}
}

// finished adds a job that has ended with a result, with notifications for an endpoint and a callback.
func (f *fixture) finished(t testing.TB) store.NewCall {
	t.Helper()
	job := f.newJob(t)
	job.CallbackURL = "https://callback.example/"
	f.begin(t, job)
	file := f.blob(t, store.ResultKey(job.ID, 1), "result")
	err := f.Settle(t.Context(), store.Settlement{
		CallID: job.ID, Charge: 100, File: &file, Outbox: &store.Outbox{Event: store.EventJobCompleted, Data: "done"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// delivered ends all deliveries but one.
func (f *fixture) delivered(t testing.TB) {
	t.Helper()
	_, err := f.DB().NewRaw("UPDATE deliveries SET status = 'delivered' WHERE id <> (SELECT MIN(id) FROM deliveries)").Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
}

// TestExpiry moves the clock past the end of everything: inputs when their job has ended, files after one day, jobs
// and events after 30. Live or undelivered data stays, however old it is.
func TestExpiry(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.listen(t)
		for range 5 {
			f.finished(t)
		}
		f.delivered(t)
		upload := f.upload(t, "upload")
		waiting := f.begin(t, f.newJob(t, upload))
		running := f.begin(t, f.newJob(t))
		for range 2 { // The one whose turn it is, and then the other.
			if _, err := f.ClaimJob(t.Context(), f.lease); err != nil {
				t.Fatal(err)
			}
		}
		f.sweep(t, "files 6, jobs 7, pins 1, events 10, deliveries 10, callbacks 5, blobs 8")
		f.clock.Advance(24*time.Hour - time.Microsecond)
		f.sweep(t, "files 6, jobs 7, pins 1, events 10, deliveries 10, callbacks 5, blobs 8")
		f.clock.Advance(time.Microsecond)
		f.sweep(t, "files 1, jobs 7, pins 1, events 10, deliveries 10, callbacks 5, blobs 3")
		f.clock.Advance(29 * 24 * time.Hour)
		f.sweep(t, "files 1, jobs 7, pins 1, events 10, deliveries 10, callbacks 5, blobs 3")
		f.clock.Advance(time.Microsecond)
		f.sweep(t, "files 1, jobs 2, pins 1, events 1, deliveries 1, callbacks 0, blobs 3")
		f.clock.Advance(365 * 24 * time.Hour)
		f.sweep(t, "files 1, jobs 2, pins 1, events 1, deliveries 1, callbacks 0, blobs 3")
		if _, err := f.PinnedFile(t.Context(), waiting.ID, upload); err != nil {
			t.Errorf("the file of a live job is gone: %v", err)
		}
		f.release(t, waiting.ID)
		f.release(t, running.ID)
		f.sweep(t, "files 0, jobs 0, pins 0, events 1, deliveries 1, callbacks 0, blobs 0")
	})
}

// TestJobsAreStoredThirtyDays: a job is available for that long, even without a sweep.
func TestJobsAreStoredThirtyDays(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		job := f.finished(t)
		for _, step := range []struct {
			wait  time.Duration
			found bool
		}{{0, true}, {store.JobRetention, true}, {time.Microsecond, false}} {
			f.clock.Advance(step.wait)
			_, err := f.Job(t.Context(), f.acc.ID, job.ResultID)
			if found := err == nil; found != step.found || !found && !errors.Is(err, store.ErrNotFound) {
				t.Errorf("after %s: got %v, want it found: %v", f.clock.Now().Sub(noon), err, step.found)
			}
		}
	})
}

// TestExpiryStopsWithItsContext: the next run continues.
func TestExpiryStopsWithItsContext(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.listen(t)
		for range 3 {
			f.finished(t)
		}
		f.delivered(t)
		f.clock.Advance(31 * 24 * time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := f.DeleteExpired(ctx, 2); err == nil {
			t.Error("an ended context was ignored")
		}
		before := f.left(t)
		if want := "files 3, jobs 3, pins 0, events 6, deliveries 6, callbacks 3, blobs 6"; before != want {
			t.Errorf("got %s, want %s", before, want)
		}
		f.sweep(t, "files 0, jobs 0, pins 0, events 1, deliveries 1, callbacks 0, blobs 0")
	})
}
