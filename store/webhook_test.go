package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// newWebhook adds an endpoint of the account, at an address of its own.
func (f *fixture) newWebhook(t testing.TB, accountID string, events ...string) store.Webhook {
	t.Helper()
	id := store.NewID("we")
	w, err := f.CreateWebhook(t.Context(), store.NewWebhook{
		ID: id, AccountID: accountID, URL: "https://example.com/" + id, Events: events, Secret: []byte("sealed"), SecretPrefix: "whsec_abcd",
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (f *fixture) webhook(t testing.TB, id string) store.Webhook {
	t.Helper()
	w, err := f.Webhook(t.Context(), f.acc.ID, id)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWebhookIsChanged(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		first := f.newWebhook(t, f.acc.ID)
		f.clock.Advance(time.Second)
		second := f.newWebhook(t, f.acc.ID, store.EventJobFailed, store.EventWalletTopUp)
		list, err := f.Webhooks(t.Context(), f.acc.ID)
		if err != nil || len(list) != 2 || list[0].ID != first.ID || list[1].ID != second.ID {
			t.Fatalf("the endpoints are %+v, %v", list, err)
		}
		got := list[1]
		if !got.Enabled || got.URL != second.URL || !slices.Equal(got.Events, []string{store.EventJobFailed, store.EventWalletTopUp}) ||
			!bytes.Equal(got.Secret, []byte("sealed")) || got.SecretPrefix != "whsec_abcd" || !got.CreatedAt.Equal(noon.Add(time.Second)) {
			t.Errorf("the endpoint is %+v", got)
		}
		url, all, off := "https://example.org/", []string{}, false
		got, err = f.UpdateWebhook(t.Context(), f.acc.ID, second.ID, store.WebhookChange{URL: &url, Events: &all, Enabled: &off})
		if err != nil || got.URL != url || got.Events != nil || got.Enabled || got.DisabledReason != "" {
			t.Errorf("the changed endpoint is %+v, %v", got, err)
		}
		if same, err := f.UpdateWebhook(t.Context(), f.acc.ID, second.ID, store.WebhookChange{}); err != nil || same.URL != url || same.Enabled {
			t.Errorf("a change of nothing gave %+v, %v", same, err)
		}
		if err := f.DeleteWebhook(t.Context(), f.acc.ID, second.ID); err != nil {
			t.Fatal(err)
		}
		if list, err = f.Webhooks(t.Context(), f.acc.ID); err != nil || len(list) != 1 {
			t.Errorf("after the deletion the endpoints are %+v, %v", list, err)
		}
		var secret []byte
		if err := f.DB().NewRaw("SELECT secret FROM webhooks WHERE id = ?", second.ID).Scan(t.Context(), &secret); err != nil || len(secret) != 0 {
			t.Errorf("a deleted endpoint keeps its secret: %q, %v", secret, err)
		}
	})
}

// TestWebhookIsNotForOthers: another account's endpoint, a deleted and an
// unknown one are all the same.
func TestWebhookIsNotForOthers(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		other := f.newAccount(t, "eve@example.com", trial)
		mine, gone := f.newWebhook(t, f.acc.ID), f.newWebhook(t, other.ID)
		if err := f.DeleteWebhook(t.Context(), other.ID, gone.ID); err != nil {
			t.Fatal(err)
		}
		off := false
		for _, id := range []string{mine.ID, gone.ID, "we_unknown", "we_\x00", "we_\xff"} {
			for name, try := range map[string]func() error{
				"read": func() error { _, err := f.Webhook(t.Context(), other.ID, id); return err },
				"update": func() error {
					_, err := f.UpdateWebhook(t.Context(), other.ID, id, store.WebhookChange{Enabled: &off})
					return err
				},
				"roll":     func() error { _, err := f.RollWebhook(t.Context(), other.ID, id, []byte("theirs"), "x"); return err },
				"activate": func() error { _, err := f.ActivateWebhook(t.Context(), other.ID, id); return err },
				"test":     func() error { _, err := f.TestWebhook(t.Context(), other.ID, id, nil); return err },
				"delete":   func() error { return f.DeleteWebhook(t.Context(), other.ID, id) },
			} {
				if err := try(); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("%s of %q: got %v, want ErrNotFound", name, id, err)
				}
			}
		}
		if got := f.webhook(t, mine.ID); !got.Enabled || !bytes.Equal(got.Secret, []byte("sealed")) {
			t.Errorf("another account has changed the endpoint: %+v", got)
		}
	})
}

// TestWebhooksAreCounted: requests at once do not get past the limit, and a
// deleted endpoint makes room.
func TestWebhooksAreCounted(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		var wg sync.WaitGroup
		errs := make(chan error, 2*store.MaxWebhooks)
		for range cap(errs) {
			wg.Go(func() {
				_, err := f.CreateWebhook(t.Context(), store.NewWebhook{
					ID: store.NewID("we"), AccountID: f.acc.ID, URL: "https://example.com/", Secret: []byte("s"), SecretPrefix: "whsec_",
				})
				errs <- err
			})
		}
		wg.Wait()
		close(errs)
		refused := 0
		for err := range errs {
			if errors.Is(err, store.ErrTooManyWebhooks) {
				refused++
			} else if err != nil {
				t.Error(err)
			}
		}
		list, err := f.Webhooks(t.Context(), f.acc.ID)
		if err != nil || len(list) != store.MaxWebhooks || refused != store.MaxWebhooks {
			t.Fatalf("there are %d endpoints and %d refusals, %v; want %d of each", len(list), refused, err, store.MaxWebhooks)
		}
		if err := f.DeleteWebhook(t.Context(), f.acc.ID, list[0].ID); err != nil {
			t.Fatal(err)
		}
		f.newWebhook(t, f.acc.ID)
		if _, err := f.CreateWebhook(t.Context(), store.NewWebhook{ID: "we_x", AccountID: "acc_unknown", Secret: []byte("s")}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an unknown account: got %v, want ErrNotFound", err)
		}
	})
}

func TestWebhookSecretIsRolled(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		w := f.newWebhook(t, f.acc.ID)
		roll := func(secret string) {
			t.Helper()
			if _, err := f.RollWebhook(t.Context(), f.acc.ID, w.ID, []byte(secret), secret); err != nil {
				t.Fatal(err)
			}
		}
		expect := func(secret, previous string) {
			t.Helper()
			got := f.webhook(t, w.ID)
			if string(got.Secret) != secret || string(got.PreviousSecret) != previous || (previous == "") != (got.PreviousUntil == nil) {
				t.Errorf("the secrets are %q and %q until %v, want %q and %q", got.Secret, got.PreviousSecret, got.PreviousUntil, secret, previous)
			}
		}
		roll("second")
		expect("second", "sealed")
		f.clock.Advance(store.RollPeriod - time.Second)
		expect("second", "sealed")
		// The second was never in use; the first still is.
		roll("third")
		expect("third", "sealed")
		f.clock.Advance(store.RollPeriod)
		expect("third", "")
		roll("fourth")
		expect("fourth", "third")
		if got, err := f.ActivateWebhook(t.Context(), f.acc.ID, w.ID); err != nil || got.PreviousSecret != nil || got.SecretPrefix != "fourth" {
			t.Errorf("the activated endpoint is %+v, %v", got, err)
		}
		expect("fourth", "")
	})
}

// TestDeletedWebhooksAreForgotten: their rows stay as long as deliveries to them
// can be looked back on.
func TestDeletedWebhooksAreForgotten(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		w := f.newWebhook(t, f.acc.ID)
		f.testEvent(t, w.ID)
		if err := f.DeleteWebhook(t.Context(), f.acc.ID, w.ID); err != nil {
			t.Fatal(err)
		}
		f.clock.Advance(store.JobRetention)
		for round, want := range []int{1, 0, 0} {
			if err := f.DeleteExpired(t.Context(), 100); err != nil {
				t.Fatal(err)
			}
			if got := f.count(t, "webhooks"); got != want {
				t.Errorf("round %d: there are %d rows of endpoints, want %d", round, got, want)
			}
			f.clock.Advance(time.Second)
		}
	})
}

func (f *fixture) count(t testing.TB, table string) int {
	t.Helper()
	var n int
	if err := f.DB().NewRaw("SELECT COUNT(*) FROM "+table).Scan(t.Context(), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// testEvent sends a test event to an endpoint.
func (f *fixture) testEvent(t testing.TB, id string) store.Delivery {
	t.Helper()
	d, err := f.TestWebhook(t.Context(), f.acc.ID, id, map[string]string{"endpointId": id})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDeliveriesAreAnnounced after the commit, and only then.
func TestDeliveriesAreAnnounced(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		silent := func(when string) {
			t.Helper()
			select {
			case <-f.NewDeliveries():
				t.Errorf("%s: deliveries are announced", when)
			default:
			}
		}
		w := f.newWebhook(t, f.acc.ID, store.EventWalletTopUp)
		silent("an endpoint was made")
		if err := f.AlertEmptyWallet(t.Context(), f.acc.ID, 1); err != nil {
			t.Fatal(err)
		}
		silent("nobody wants the event")
		if _, err := f.TestWebhook(t.Context(), f.acc.ID, w.ID, make(chan int)); err == nil {
			t.Error("an event that is no JSON was written")
		}
		silent("the transaction failed")
		f.testEvent(t, w.ID)
		f.testEvent(t, w.ID)
		<-f.NewDeliveries()
		silent("it was announced before")
	})
}

// TestWebhookLockOrder changes and judges one endpoint concurrently: neither waits for the other for ever, and the
// result is consistent.
func TestWebhookLockOrder(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		f := newFixture(t, db)
		w := f.newWebhook(t, f.acc.ID)
		for range 20 {
			f.testEvent(t, w.ID)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			for range 20 {
				for _, d := range f.claim(t, f.Store) {
					if _, err := f.FinishAttempt(t.Context(), d, store.Attempt{Error: "x"}); err != nil && !errors.Is(err, store.ErrNotFound) {
						t.Error(err)
					}
				}
			}
		})
		wg.Go(func() {
			for n := range 20 {
				on := n%2 == 1
				if _, err := f.UpdateWebhook(context.WithoutCancel(t.Context()), f.acc.ID, w.ID, store.WebhookChange{Enabled: &on}); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Wait()
		if got := f.count(t, fmt.Sprintf("deliveries WHERE status = '%s'", store.DeliveryPending)); got != 0 {
			t.Errorf("%d deliveries are pending although the endpoint was disabled after all of them were written", got)
		}
	})
}
