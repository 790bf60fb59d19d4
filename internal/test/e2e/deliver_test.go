package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/client/webhook"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestKilledServerLosesNoEvent kills a real server while it sends an event; the
// next one sends it again, as the same event.
func TestKilledServerLosesNoEvent(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		c := newCrashBench(t, db)
		c.async = true
		type delivery struct {
			header http.Header
			body   []byte
		}
		received, release := make(chan delivery, 10), make(chan struct{})
		receiver := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Errorf("read the event: %v", err)
			}
			received <- delivery{r.Header, body}
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}))
		defer receiver.Close()
		c.env = append(c.env, "RELAYPDF_EXTRA_CA="+authorityOf(t, receiver), "RELAYPDF_ALLOW_HOSTS=127.0.0.1")
		ctx, cancel := context.WithTimeout(t.Context(), 2*crashPatience)
		defer cancel()
		next := func() delivery {
			t.Helper()
			select {
			case got := <-received:
				return got
			case <-ctx.Done():
				t.Fatal("no event arrived")
				return delivery{}
			}
		}

		server := c.start("none")
		secret := c.newWebhook(ctx, server.url, receiver.URL)
		response, err := c.post(ctx, server.url, "sending")
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		first := next()
		server.end(syscall.SIGKILL)
		close(release)
		server = c.start("none")
		defer server.end(syscall.SIGTERM)
		// To a clock that is ahead, the attempt of the dead process is lost.
		ahead := db.Open(t, storetest.NewClock(time.Now().Add(2*store.AttemptLease)))
		if _, err := ahead.ClaimDeliveries(ctx, 0); err != nil {
			t.Fatal(err)
		}
		again := next()
		for _, got := range []delivery{first, again} {
			if err := webhook.Verify(secret, got.header, got.body, webhook.Options{}); err != nil {
				t.Error(err)
			}
		}
		if id := first.header.Get(webhook.IDHeader); id == "" || again.header.Get(webhook.IDHeader) != id || !bytes.Equal(first.body, again.body) {
			t.Errorf("first came %s as %s, then %s as %s", first.body, id, again.body, again.header.Get(webhook.IDHeader))
		}
	})
}

// newWebhook makes an endpoint and returns its secret.
func (c *crashBench) newWebhook(ctx context.Context, url, target string) string {
	c.t.Helper()
	response, err := c.send(ctx, url+"/v1/webhooks", "", strings.NewReader(`{"url":"`+target+`"}`))
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	var endpoint wire.WebhookSecret
	if err := json.NewDecoder(response.Body).Decode(&endpoint); err != nil || response.StatusCode != http.StatusCreated {
		c.t.Fatalf("make an endpoint: status %d, %v", response.StatusCode, err)
	}
	return endpoint.Secret
}
