package web_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
	"github.com/relaypdf/relaypdf/web"
)

// TestPlaygroundRunsOfClientsThatLeave: a browser that closes the connection of a run, as "Cancel run" does, cancels the
// call of the member or of the key. It is not charged and counts as no failure.
func TestPlaygroundRunsOfClientsThatLeave(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		clock := storetest.NewClock(time.Now().UTC().Truncate(time.Second))
		s := db.Open(t, clock)
		begun := make(chan struct{}, 1)
		var services *service.Services
		h := newHouse(t, s, clock, func(c *web.Config) {
			lease, err := s.Acquire(t.Context(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = lease.Close() })
			services = newServices(t, service.Config{
				Lease: lease.ID(), Store: s, Box: c.Box, BaseURL: c.BaseURL, Region: "test", Logger: c.Logger, Now: clock.Now,
				Operations: []schema.Definition[*operation.Deps]{apitest.Echo(func(ctx context.Context, _ *apitest.EchoInput) error {
					begun <- struct{}{}
					<-ctx.Done()
					return ctx.Err()
				})},
			})
			api := newAPI(services)
			c.Services, c.Host = services, &host{API: api, describe: api.Description}
		})
		v := h.join(t, "maya@example.com")
		before := h.mayas(t)
		key, _, err := h.CreateKey(t.Context(), store.NewKey{AccountID: before.ID, Name: "production"})
		if err != nil {
			t.Fatal(err)
		}

		for _, form := range []url.Values{{"text": {"slow"}}, {"text": {"slow"}, "key": {key.ID}}} {
			ctx, leave := context.WithCancel(t.Context())
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+"/dashboard/playground/test_echo/run", strings.NewReader(form.Encode()))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = v.header.Clone()
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			left := make(chan int, 1)
			go func() {
				response, err := v.client.Do(r)
				if err != nil {
					left <- 0
					return
				}
				_ = response.Body.Close()
				left <- response.StatusCode
			}()
			select {
			case <-begun:
			case status := <-left:
				t.Fatalf("the run of %v has ended with status %d", form, status)
			}
			leave()
			<-left
		}
		ended, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		services.Calls.Wait(ended)

		page, err := h.Calls(t.Context(), store.CallFilter{AccountID: before.ID})
		if err != nil || len(page.Items) != 2 {
			t.Fatalf("the calls are %+v, %v", page.Items, err)
		}
		for _, call := range page.Items {
			if call.Status != store.CallFailed || call.Failure.Code != string(wire.Canceled) || call.Charge != 0 {
				t.Errorf("the call is %+v", call)
			}
		}
		after := h.mayas(t)
		if after.Balance != before.Balance || after.Held != 0 {
			t.Errorf("the balance is %v with %v held, want %v", after.Balance, after.Held, before.Balance)
		}
		if activity, err := h.Activity(t.Context(), before.ID, clock.Now(), clock.Now()); err != nil || activity.Failed != 0 {
			t.Errorf("%d failed calls: %v", activity.Failed, err)
		}
		_, days, err := h.UsageBy(t.Context(), store.UsageFilter{AccountID: before.ID, From: clock.Now(), To: clock.Now(), Group: store.ByOperation})
		if err != nil {
			t.Fatal(err)
		}
		for _, day := range days {
			if day.Failures != 0 {
				t.Errorf("%d failures in the usage", day.Failures)
			}
		}
	})
}
