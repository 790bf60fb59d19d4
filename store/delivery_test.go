package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// claim takes on everything that is due and has room, from one process.
func (f *fixture) claim(t testing.TB, s *store.Store) []store.DueDelivery {
	t.Helper()
	var all []store.DueDelivery
	for {
		due, err := s.ClaimDeliveries(t.Context(), 100)
		if err != nil {
			t.Error(err)
		}
		if len(due) == 0 {
			return all
		}
		all = append(all, due...)
	}
}

// claimOne takes on the only attempt that is due.
func (f *fixture) claimOne(t testing.TB) store.DueDelivery {
	t.Helper()
	due := f.claim(t, f.Store)
	if len(due) != 1 {
		t.Fatalf("%d deliveries are due, want 1: %+v", len(due), due)
	}
	return due[0]
}

func (f *fixture) finish(t testing.TB, d store.DueDelivery, a store.Attempt) store.Delivery {
	t.Helper()
	got, err := f.FinishAttempt(t.Context(), d, a)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// callback ends a call of the account that has a callback to the host.
func (f *fixture) callback(t testing.TB, host string) {
	t.Helper()
	c := f.newCall(1)
	c.CallbackURL = "https://" + host + "/callback"
	f.begin(t, c)
	err := f.Release(t.Context(), c.ID, store.Failure{Code: "x"}, &store.Outbox{Data: map[string]string{"id": c.ResultID}})
	if err != nil {
		t.Fatal(err)
	}
}

var failed = store.Attempt{StatusCode: 500, Error: "The endpoint returned status 500.", Response: []byte("oh no")}

// TestAttemptSchedule: eight attempts at their times, and not before.
func TestAttemptSchedule(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		w := f.newWebhook(t, f.acc.ID)
		first := f.testEvent(t, w.ID)
		waits := []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour}
		for n, wait := range waits {
			due := f.claimOne(t)
			if due.ID != first.ID || due.EventID != first.EventID || due.Attempts != n || due.Webhook.ID != w.ID || due.URL != w.URL {
				t.Fatalf("attempt %d is %+v", n+1, due)
			}
			got := f.finish(t, due, failed)
			if got.Status != store.DeliveryPending || got.Attempts != n+1 || got.NextAttemptAt == nil || got.LastStatusCode != 500 ||
				got.LastError != failed.Error || string(got.LastResponse) != "oh no" {
				t.Fatalf("after attempt %d the delivery is %+v", n+1, got)
			}
			pause := got.NextAttemptAt.Sub(f.clock.Now())
			if low, high := wait*9/10, wait*11/10; pause < low || pause > high {
				t.Errorf("attempt %d follows after %v, want %v to %v", n+2, pause, low, high)
			}
			f.clock.Advance(pause - time.Microsecond)
			if early := f.claim(t, f.Store); len(early) != 0 {
				t.Fatalf("attempt %d was made too early", n+2)
			}
			f.clock.Advance(time.Microsecond)
		}
		got := f.finish(t, f.claimOne(t), failed)
		if got.Status != store.DeliveryFailed || got.Attempts != store.MaxAttempts || got.NextAttemptAt != nil || got.DeliveredAt != nil {
			t.Errorf("after the last attempt the delivery is %+v", got)
		}
		f.clock.Advance(100 * time.Hour)
		if more := f.claim(t, f.Store); len(more) != 0 {
			t.Errorf("a failed delivery is attempted again: %+v", more)
		}
		if w := f.webhook(t, w.ID); !w.Enabled || w.FailingSince == nil || !w.FailingSince.Equal(noon) {
			t.Errorf("the endpoint is %+v, want it enabled and failing since %v", w, noon)
		}
	})
}

// TestAttemptsAreSpread: deliveries that failed together are not retried together.
func TestAttemptsAreSpread(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		times := map[time.Time]bool{}
		for range 20 {
			f.testEvent(t, f.newWebhook(t, f.acc.ID).ID)
		}
		for _, due := range f.claim(t, f.Store) {
			times[*f.finish(t, due, failed).NextAttemptAt] = true
		}
		if len(times) < 10 {
			t.Errorf("the next attempts of 20 deliveries are at %d times", len(times))
		}
	})
}

func TestRetryAfter(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		w := f.newWebhook(t, f.acc.ID)
		f.testEvent(t, w.ID)
		for asked, want := range map[time.Duration]time.Duration{time.Hour: time.Hour, 48 * time.Hour: 24 * time.Hour} {
			later := failed
			later.RetryAfter = asked
			got := f.finish(t, f.claimOne(t), later)
			if pause := got.NextAttemptAt.Sub(f.clock.Now()); pause != want {
				t.Errorf("with a Retry-After of %v the next attempt follows after %v, want %v", asked, pause, want)
			}
			f.clock.Advance(want)
		}
	})
}

func TestDelivered(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		w := f.newWebhook(t, f.acc.ID)
		f.testEvent(t, w.ID)
		f.finish(t, f.claimOne(t), failed)
		f.clock.Advance(time.Minute)
		took := 1500 * time.Millisecond
		due := f.claimOne(t)
		if list, err := f.Deliveries(t.Context(), store.DeliveryFilter{AccountID: f.acc.ID, List: store.List{Limit: 100}}); err != nil || len(list.Items) != 1 || list.Items[0].NextAttemptAt != nil {
			t.Errorf("during an attempt the deliveries are %+v, %v", list, err)
		}
		f.finish(t, due, store.Attempt{Delivered: true, StatusCode: 204, Duration: &took, Response: []byte(strings.Repeat("x", 2000))})
		got, err := f.Delivery(t.Context(), f.acc.ID, due.ID)
		if err != nil || got.Status != store.DeliveryDelivered || got.Attempts != 2 || got.LastStatusCode != 204 || got.LastError != "" ||
			len(got.LastResponse) != 1024 || got.LastDuration == nil || *got.LastDuration != took || got.NextAttemptAt != nil ||
			got.DeliveredAt == nil || !got.DeliveredAt.Equal(noon.Add(time.Minute)) {
			t.Errorf("the delivery is %+v, %v", got, err)
		}
		if w := f.webhook(t, w.ID); w.FailingSince != nil {
			t.Errorf("after a success the endpoint is failing since %v", w.FailingSince)
		}
	})
}

// TestAttemptsPerReceiver: two processes that claim at once have two attempts
// under way to an endpoint, and as many to a host of an account's callbacks;
// when one has ended there is room for another.
func TestAttemptsPerReceiver(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		f := newFixture(t, db)
		second := db.Open(t, f.clock)
		w := f.newWebhook(t, f.acc.ID)
		for range 6 {
			f.testEvent(t, w.ID)
			f.callback(t, "busy.example.com")
		}
		f.callback(t, "other.example.com")
		var mu sync.Mutex
		taken := map[string][]store.DueDelivery{}
		var wg sync.WaitGroup
		for n := range 8 {
			wg.Go(func() {
				due := f.claim(t, []*store.Store{f.Store, second}[n%2])
				mu.Lock()
				defer mu.Unlock()
				for _, d := range due {
					taken[d.URL] = append(taken[d.URL], d)
				}
			})
		}
		wg.Wait()
		for url, want := range map[string]int{w.URL: 2, "https://busy.example.com/callback": 2, "https://other.example.com/callback": 1} {
			if got := len(taken[url]); got != want {
				t.Errorf("%d attempts are under way to %s, want %d", got, url, want)
			}
		}
		f.finish(t, taken[w.URL][0], store.Attempt{Delivered: true})
		if next := f.claimOne(t); next.URL != w.URL {
			t.Errorf("the room was given to %s", next.URL)
		}
	})
}

// TestRoomIsSeenByOne: processes that have different deliveries of one receiver
// in mind do not both take its last room.
func TestRoomIsSeenByOne(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		f := newFixture(t, db)
		second := db.Open(t, f.clock)
		w := f.newWebhook(t, f.acc.ID)
		for range 5 {
			var wg sync.WaitGroup
			taken := make(chan store.DueDelivery, 10)
			for n := range cap(taken) {
				f.testEvent(t, w.ID)
				wg.Go(func() {
					due, err := []*store.Store{f.Store, second}[n%2].ClaimDeliveries(t.Context(), 1)
					if err != nil {
						t.Error(err)
					}
					for _, d := range due {
						taken <- d
					}
				})
			}
			wg.Wait()
			close(taken)
			if got := len(taken); got != 2 {
				t.Errorf("%d attempts are under way, want 2", got)
			}
			for d := range taken {
				f.finish(t, d, store.Attempt{Delivered: true})
			}
		}
	})
}

// TestStallingReceiversDelayNobody: however many receivers stall, and however
// much waits for them, the next one's turn comes at once.
func TestStallingReceiversDelayNobody(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for range store.MaxWebhooks - 1 {
			w := f.newWebhook(t, f.acc.ID)
			for range 4 {
				f.testEvent(t, w.ID)
			}
		}
		if got, want := len(f.claim(t, f.Store)), 2*(store.MaxWebhooks-1); got != want {
			t.Fatalf("%d attempts are under way, want %d", got, want)
		}
		w := f.newWebhook(t, f.acc.ID)
		f.testEvent(t, w.ID)
		if got := f.claimOne(t); got.EndpointID != w.ID {
			t.Errorf("the turn is that of %s", got.EndpointID)
		}
	})
}

// TestAttemptsPerAccount: an account with callbacks to any number of hosts does
// not take all the room, and the account with less under way comes first.
func TestAttemptsPerAccount(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for n := range 100 {
			f.callback(t, fmt.Sprintf("host-%d.example.com", n))
		}
		for range 4 {
			due, err := f.ClaimDeliveries(t.Context(), 10)
			if err != nil || len(due) != 10 {
				t.Fatalf("claimed %d, %v", len(due), err)
			}
		}
		other := f.newAccount(t, "grace@example.com", trial)
		w := f.newWebhook(t, other.ID)
		if _, err := f.TestWebhook(t.Context(), other.ID, w.ID, nil); err != nil {
			t.Fatal(err)
		}
		due, err := f.ClaimDeliveries(t.Context(), 1)
		if err != nil || len(due) != 1 || due[0].AccountID != other.ID {
			t.Errorf("claimed %+v, %v, want the other account's", due, err)
		}
		if got := len(f.claim(t, f.Store)); got != 40 {
			t.Errorf("with 40 attempts under way, %d more were begun, want 40", got)
		}
	})
}

// TestLostAttempt: an attempt whose process died is repeated, and later reports of that process do not count.
func TestLostAttempt(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		w := f.newWebhook(t, f.acc.ID)
		f.testEvent(t, w.ID)
		lost := f.claimOne(t)
		f.clock.Advance(store.AttemptLease - time.Microsecond)
		if early := f.claim(t, f.Store); len(early) != 0 {
			t.Fatal("an attempt that is under way is made again")
		}
		f.clock.Advance(time.Microsecond)
		again := f.claimOne(t)
		if again.EventID != lost.EventID || again.Attempts != 1 || again.LastError == "" {
			t.Errorf("the attempt after a lost one is %+v", again)
		}
		if _, err := f.FinishAttempt(t.Context(), lost, failed); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a lost attempt was recorded: %v", err)
		}
		if w := f.webhook(t, w.ID); w.FailingSince != nil {
			t.Error("a lost attempt counts as a failure of the endpoint")
		}
		if err := f.ReturnAttempt(t.Context(), lost); err != nil {
			t.Fatal(err)
		}
		if due := f.claim(t, f.Store); len(due) != 0 {
			t.Error("a lost attempt was given back")
		}
		if err := f.ReturnAttempt(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		if due := f.claimOne(t); due.Attempts != 1 {
			t.Errorf("an attempt that was given back counts: %+v", due)
		}
	})
}

// TestGone: a 410 disables the endpoint and cancels pending deliveries; enabling it again allows new events.
func TestGone(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		w := f.newWebhook(t, f.acc.ID)
		f.testEvent(t, w.ID)
		due := f.claimOne(t)
		waiting := f.testEvent(t, w.ID)
		got := f.finish(t, due, store.Attempt{Gone: true, StatusCode: 410, Error: "The endpoint returned status 410."})
		if got.Status != store.DeliveryFailed || got.Attempts != 1 {
			t.Errorf("the delivery is %+v", got)
		}
		if d, err := f.Delivery(t.Context(), f.acc.ID, waiting.ID); err != nil || d.Status != store.DeliveryFailed || !strings.Contains(d.LastError, "disabled") {
			t.Errorf("what was pending is %+v, %v", d, err)
		}
		if got := f.webhook(t, w.ID); got.Enabled || !strings.Contains(got.DisabledReason, "410") {
			t.Errorf("the endpoint is %+v", got)
		}
		if err := f.AlertEmptyWallet(t.Context(), f.acc.ID, 1); err != nil {
			t.Fatal(err)
		}
		if due := f.claim(t, f.Store); len(due) != 0 {
			t.Errorf("a disabled endpoint is sent %+v", due)
		}
		on := true
		if got, err := f.UpdateWebhook(t.Context(), f.acc.ID, w.ID, store.WebhookChange{Enabled: &on}); err != nil || got.DisabledReason != "" || got.FailingSince != nil {
			t.Errorf("the enabled endpoint is %+v, %v", got, err)
		}
		f.testEvent(t, w.ID)
		f.claimOne(t)
	})
}

// TestGoneCallback: 410 ends the delivery, without an endpoint to disable.
func TestGoneCallback(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.callback(t, "gone.example.com")
		due := f.claimOne(t)
		if due.Webhook != nil || due.EndpointID != "" || due.EventType != store.EventCallback {
			t.Errorf("the attempt is %+v", due)
		}
		if got := f.finish(t, due, store.Attempt{Gone: true, StatusCode: 410}); got.Status != store.DeliveryFailed {
			t.Errorf("the delivery is %+v", got)
		}
	})
}

// TestFiveDaysOfFailures disable an endpoint; one success in between begins the
// count again.
func TestFiveDaysOfFailures(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		w := f.newWebhook(t, f.acc.ID)
		fail := func() store.Delivery {
			f.testEvent(t, w.ID)
			last := failed
			last.Gone = false
			due := f.claim(t, f.Store)
			return f.finish(t, due[len(due)-1], last)
		}
		fail()
		f.clock.Advance(5*24*time.Hour - time.Second)
		fail()
		if !f.webhook(t, w.ID).Enabled {
			t.Fatal("the endpoint is disabled before five days are over")
		}
		f.clock.Advance(time.Second)
		fail()
		if !f.webhook(t, w.ID).Enabled {
			t.Fatal("the endpoint is disabled by two days of failures with five between them")
		}
		f.clock.Advance(store.AttemptLease)
		due := f.claim(t, f.Store)
		f.finish(t, due[0], store.Attempt{Delivered: true, StatusCode: 200})
		f.clock.Advance(time.Hour)
		fail()
		f.clock.Advance(2 * 24 * time.Hour)
		fail()
		f.clock.Advance(3*24*time.Hour - time.Second)
		fail()
		if !f.webhook(t, w.ID).Enabled {
			t.Fatal("the endpoint is disabled although it took something within five days")
		}
		f.clock.Advance(time.Second)
		got := fail()
		if w := f.webhook(t, w.ID); w.Enabled || !strings.Contains(w.DisabledReason, "five days") {
			t.Errorf("after five days of failures the endpoint is %+v", w)
		}
		if d, err := f.Delivery(t.Context(), f.acc.ID, got.ID); err != nil || d.Status != store.DeliveryFailed {
			t.Errorf("its delivery is %+v, %v", d, err)
		}
		if n := f.count(t, "deliveries WHERE status = 'pending'"); n != 0 {
			t.Errorf("%d deliveries are still pending", n)
		}
	})
}

// TestDeletionCancels pending deliveries, including the running attempt.
func TestDeletionCancels(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		w, other := f.newWebhook(t, f.acc.ID), f.newWebhook(t, f.acc.ID)
		f.testEvent(t, w.ID)
		due := f.claimOne(t)
		waiting := f.testEvent(t, w.ID)
		f.testEvent(t, other.ID)
		if err := f.DeleteWebhook(t.Context(), f.acc.ID, w.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := f.FinishAttempt(t.Context(), due, failed); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the attempt of a canceled delivery was recorded: %v", err)
		}
		for _, id := range []string{due.ID, waiting.ID} {
			d, err := f.Delivery(t.Context(), f.acc.ID, id)
			if err != nil || d.Status != store.DeliveryFailed || !strings.Contains(d.LastError, "deleted") || d.NextAttemptAt != nil {
				t.Errorf("the delivery is %+v, %v", d, err)
			}
			if _, err := f.ReplayDelivery(t.Context(), f.acc.ID, id); !errors.Is(err, store.ErrWebhookOff) {
				t.Errorf("the replay of a deleted endpoint's delivery: %v, want ErrWebhookOff", err)
			}
		}
		if next := f.claimOne(t); next.EndpointID != other.ID {
			t.Errorf("the next attempt is %+v", next)
		}
	})
}

// TestLateEventIsCanceled: an event that was being written while its endpoint
// was disabled is not sent, and does not stay pending.
func TestLateEventIsCanceled(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		w := f.newWebhook(t, f.acc.ID)
		d := f.testEvent(t, w.ID)
		if _, err := f.DB().NewRaw("UPDATE webhooks SET enabled = FALSE").Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		if due := f.claim(t, f.Store); len(due) != 0 {
			t.Errorf("a disabled endpoint is sent %+v", due)
		}
		if got, err := f.Delivery(t.Context(), f.acc.ID, d.ID); err != nil || got.Status != store.DeliveryFailed {
			t.Errorf("the delivery is %+v, %v", got, err)
		}
	})
}

// TestDeliveriesFollowTheirEndpoint to its new address.
func TestDeliveriesFollowTheirEndpoint(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		w := f.newWebhook(t, f.acc.ID)
		d := f.testEvent(t, w.ID)
		url := "https://moved.example.com/"
		if _, err := f.UpdateWebhook(t.Context(), f.acc.ID, w.ID, store.WebhookChange{URL: &url}); err != nil {
			t.Fatal(err)
		}
		if due := f.claimOne(t); due.URL != url {
			t.Errorf("it is sent to %s, want %s", due.URL, url)
		}
		if got, err := f.Delivery(t.Context(), f.acc.ID, d.ID); err != nil || got.URL != url {
			t.Errorf("the delivery is %+v, %v", got, err)
		}
	})
}

// TestRetry makes the next attempt of a delivery early: it counts, and the one after it follows by the schedule.
func TestRetry(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		w := f.newWebhook(t, f.acc.ID)
		d := f.testEvent(t, w.ID)
		for range 3 {
			f.finish(t, f.claimOne(t), failed)
			f.clock.Advance(6 * time.Minute)
		}
		if due, err := f.ClaimDeliveries(t.Context(), 10); err != nil || len(due) != 0 {
			t.Fatalf("half an hour is not over: %+v, %v", due, err)
		}
		other := f.newAccount(t, "eve@example.com", trial)
		if err := f.RetryDelivery(t.Context(), other.ID, d.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("another account's retry: got %v, want ErrNotFound", err)
		}
		retry := func() {
			t.Helper()
			if err := f.RetryDelivery(t.Context(), f.acc.ID, d.ID); err != nil {
				t.Fatal(err)
			}
		}
		retry()
		under := f.claimOne(t)
		retry() // while the attempt is under way
		if due, err := f.ClaimDeliveries(t.Context(), 10); err != nil || len(due) != 0 {
			t.Errorf("a running attempt is made twice: %+v, %v", due, err)
		}
		got := f.finish(t, under, failed)
		if pause := got.NextAttemptAt.Sub(f.clock.Now()); got.Attempts != 4 || pause < 108*time.Minute || pause > 132*time.Minute {
			t.Errorf("after %d attempts the next follows after %v, want 4 and 2 h", got.Attempts, pause)
		}
		retry()
		f.finish(t, f.claimOne(t), store.Attempt{Delivered: true, StatusCode: 200})
		retry()
		if due, err := f.ClaimDeliveries(t.Context(), 10); err != nil || len(due) != 0 {
			t.Errorf("a delivered event is sent again: %+v, %v", due, err)
		}
	})
}

// TestReplay: only permanently failed deliveries are sent again, as the same event and with all attempts.
func TestReplay(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		w := f.newWebhook(t, f.acc.ID)
		d := f.testEvent(t, w.ID)
		refused := func(want error) {
			t.Helper()
			if _, err := f.ReplayDelivery(t.Context(), f.acc.ID, d.ID); !errors.Is(err, want) {
				t.Errorf("the replay: got %v, want %v", err, want)
			}
		}
		refused(store.ErrNotFailed)
		for range store.MaxAttempts {
			f.finish(t, f.claimOne(t), failed)
			f.clock.Advance(12 * time.Hour)
		}
		other := f.newAccount(t, "eve@example.com", trial)
		for _, id := range []string{d.ID, "dlv_unknown", "dlv_\x00"} {
			if _, err := f.ReplayDelivery(t.Context(), other.ID, id); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("another account's replay of %q: got %v, want ErrNotFound", id, err)
			}
		}
		off, on := false, true
		f.changeWebhook(t, w.ID, store.WebhookChange{Enabled: &off})
		refused(store.ErrWebhookOff)
		f.changeWebhook(t, w.ID, store.WebhookChange{Enabled: &on})
		got, err := f.ReplayDelivery(t.Context(), f.acc.ID, d.ID)
		if err != nil || got.Status != store.DeliveryPending || got.Attempts != 0 || got.EventID != d.EventID || !got.NextAttemptAt.Equal(f.clock.Now()) {
			t.Fatalf("the replayed delivery is %+v, %v", got, err)
		}
		refused(store.ErrNotFailed)
		due := f.claimOne(t)
		if due.ID != d.ID || due.EventID != d.EventID {
			t.Errorf("the replay is %+v", due)
		}
		f.finish(t, due, store.Attempt{Delivered: true})
		refused(store.ErrNotFailed)
		f.callback(t, "example.com")
		callback := f.claimOne(t)
		f.finish(t, callback, store.Attempt{Gone: true})
		if _, err := f.ReplayDelivery(t.Context(), f.acc.ID, callback.ID); !errors.Is(err, store.ErrCallback) {
			t.Errorf("the replay of a callback: got %v, want ErrCallback", err)
		}
	})
}

// TestAttemptsAreStored: every attempt of a delivery is stored with its response and time, including lost ones and
// those before a replay, until the delivery is deleted.
func TestAttemptsAreStored(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		w := f.newWebhook(t, f.acc.ID)
		d := f.testEvent(t, w.ID)
		took := 30 * time.Millisecond
		var want []string
		attempt := func(a store.Attempt) {
			t.Helper()
			d = f.finish(t, f.claimOne(t), a)
			want = append(want, fmt.Sprintf("%v %d %s %s %v", f.clock.Now().UTC(), a.StatusCode, a.Error, a.Response, a.Duration != nil))
			if !d.LastAttemptAt.Equal(f.clock.Now()) {
				t.Errorf("the last attempt was at %v, want %v", d.LastAttemptAt, f.clock.Now())
			}
			f.clock.Advance(12 * time.Hour)
		}
		sent := store.AttemptHeaders{Request: "Webhook-Signature: v1,x\n", Response: "Server: old\n"}
		attempt(store.Attempt{StatusCode: 503, Error: "the answer was 503", Response: []byte("down"), Duration: &took, Headers: sent})
		attempt(store.Attempt{Error: "no answer within 10 s"})
		f.claimOne(t) // Its process dies.
		want = append(want, fmt.Sprintf("%v 0 The server stopped during the attempt; whether the event arrived is not known.  false", f.clock.Now().UTC()))
		f.clock.Advance(store.AttemptLease)
		for n := 3; n < store.MaxAttempts; n++ {
			attempt(store.Attempt{StatusCode: 500 + n, Duration: &took})
		}
		if d.Status != store.DeliveryFailed {
			t.Fatalf("the delivery is %+v, want it failed", d)
		}
		if _, err := f.ReplayDelivery(t.Context(), f.acc.ID, d.ID); err != nil {
			t.Fatal(err)
		}
		attempt(store.Attempt{Delivered: true, StatusCode: 200, Response: []byte("ok"), Duration: &took})
		past, err := f.EarlierAttempts(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		last := store.PastAttempt{At: *d.LastAttemptAt, StatusCode: d.LastStatusCode, Error: d.LastError, Response: d.LastResponse, Duration: d.LastDuration}
		var got []string
		for _, a := range slices.Backward(append([]store.PastAttempt{last}, past...)) {
			got = append(got, fmt.Sprintf("%v %d %s %s %v", a.At.UTC(), a.StatusCode, a.Error, a.Response, a.Duration != nil))
		}
		if !slices.Equal(got, want) {
			t.Errorf("attempts:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if headers, err := f.AttemptHeaders(t.Context(), d); err != nil || len(headers) != 1 || headers[past[len(past)-1].At] != sent {
			t.Errorf("the headers of the first attempt: got %+v, %v", headers, err)
		}
		f.clock.Advance(store.JobRetention + 24*time.Hour)
		if err := f.DeleteExpired(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		if past, err := f.EarlierAttempts(t.Context(), d); err != nil || len(past) != 0 {
			t.Errorf("%d attempts of a delivery that is gone are left, %v", len(past), err)
		}
		if headers, err := f.AttemptHeaders(t.Context(), d); err != nil || len(headers) != 0 {
			t.Errorf("the headers of %d attempts of a delivery that is gone are left, %v", len(headers), err)
		}
	})
}

func (f *fixture) changeWebhook(t testing.TB, id string, change store.WebhookChange) {
	t.Helper()
	if _, err := f.UpdateWebhook(t.Context(), f.acc.ID, id, change); err != nil {
		t.Fatal(err)
	}
}

// TestLatestDeliveries: a hundred, the newest first, and only the account's own.
func TestLatestDeliveries(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		w := f.newWebhook(t, f.acc.ID)
		var last store.Delivery
		for range 102 {
			last = f.testEvent(t, w.ID)
			f.clock.Advance(time.Millisecond)
		}
		list, err := f.Deliveries(t.Context(), store.DeliveryFilter{AccountID: f.acc.ID, List: store.List{Limit: 100}})
		if err != nil || len(list.Items) != 100 || list.Items[0].ID != last.ID || list.Items[0].EventType != store.EventTest || !list.Items[99].CreatedAt.Equal(noon.Add(2*time.Millisecond)) {
			t.Errorf("got %d deliveries from %+v, %v", len(list.Items), list.Items[0], err)
		}
		other := f.newAccount(t, "eve@example.com", trial)
		if list, err := f.Deliveries(t.Context(), store.DeliveryFilter{AccountID: other.ID}); err != nil || len(list.Items) != 0 {
			t.Errorf("another account sees %+v, %v", list, err)
		}
		if _, err := f.Delivery(t.Context(), other.ID, last.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("another account reads a delivery: %v", err)
		}
	})
}
