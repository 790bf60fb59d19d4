package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

var countInSideBar = regexp.MustCompile(`<span class="count">\s*(\d+)\s*<span class="vh">\s*failed`)

// failedInSideBar returns the count in the side bar; 0 if there is none.
func failedInSideBar(t *testing.T, page answer) int {
	t.Helper()
	found := countInSideBar.FindStringSubmatch(page.body)
	if found == nil {
		return 0
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// send makes deliveries to an endpoint, and ends them with the attempt.
func (h *house) send(t *testing.T, accountID, endpointID string, n int, a *store.Attempt) {
	t.Helper()
	for range n {
		if _, err := h.TestWebhook(t.Context(), accountID, endpointID, nil); err != nil {
			t.Fatal(err)
		}
	}
	for left := n; a != nil && left > 0; {
		due, err := h.ClaimDeliveries(t.Context(), n)
		if err != nil || len(due) == 0 {
			t.Fatalf("%d deliveries are left, and none is due: %v", left, err)
		}
		for _, d := range due {
			d.Attempts = store.MaxAttempts - 1 // the last one: seven have failed
			if _, err := h.FinishAttempt(t.Context(), d, *a); err != nil {
				t.Fatal(err)
			}
			left--
		}
	}
}

// TestFailedDeliveriesAreCounted: in the side bar those of a day, up to 99; on
// the overview those of its span that were delivered, of those that have ended.
func TestFailedDeliveriesAreCounted(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.join(t, "maya@example.com")
		account := h.mayas(t)
		lease, result := acquire(t, h), h.NewID("file")
		if err := h.Begin(t.Context(), store.NewCall{ID: store.CallID(result), ResultID: result, AccountID: account.ID, Operation: "pdf.create", Mode: "binary", RequestID: "r", Quote: 2000, Lease: lease}); err != nil {
			t.Fatal(err)
		}
		hook, err := h.CreateWebhook(t.Context(), store.NewWebhook{ID: h.NewID("wh"), AccountID: account.ID, URL: "https://hooks.example/in", Secret: []byte("sealed"), SecretPrefix: "whsec_x"})
		if err != nil {
			t.Fatal(err)
		}
		mallory := h.join(t, "mallory@example.com")
		if n := failedInSideBar(t, v.sees("/dashboard")); n != 0 {
			t.Errorf("the side bar counts %d before anything was sent", n)
		}
		failure := &store.Attempt{StatusCode: http.StatusServiceUnavailable, Error: "503"}
		h.send(t, account.ID, hook.ID, 1, failure)
		h.clock.Advance(25 * time.Hour)
		if n := failedInSideBar(t, v.sees("/dashboard/keys")); n != 0 {
			t.Errorf("the side bar counts %d that failed yesterday", n)
		}
		h.send(t, account.ID, hook.ID, 2, failure)
		h.send(t, account.ID, hook.ID, 9, &store.Attempt{Delivered: true, StatusCode: http.StatusOK})
		h.send(t, account.ID, hook.ID, 1, nil) // waits
		for _, path := range []string{"/dashboard", "/dashboard/keys", "/dashboard/deliveries", "/dashboard/wallet"} {
			if n := failedInSideBar(t, v.sees(path)); n != 2 {
				t.Errorf("%s counts %d failed deliveries, want 2", path, n)
			}
		}
		if page := textOf(v.sees("/dashboard?days=30").body); !strings.Contains(page, "Webhooks delivered 75%") {
			t.Errorf("9 of 12 were delivered in 30 days: %s", page)
		}
		if page := textOf(v.sees("/dashboard?days=1").body); !strings.Contains(page, "Webhooks delivered 81.82%") {
			t.Errorf("9 of 11 were delivered today: %s", page)
		}
		if n := failedInSideBar(t, mallory.sees("/dashboard/keys")); n != 0 {
			t.Errorf("another account's side bar counts %d", n)
		}
	})
}

// TestDeliveriesAreShownTriedAndReplayed reads a delivery that waits, makes its next attempt, and replays failed ones
// after a confirmation.
func TestDeliveriesAreShownTriedAndReplayed(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.join(t, "maya@example.com")
		account := h.mayas(t)
		hook, err := h.CreateWebhook(t.Context(), store.NewWebhook{ID: h.NewID("wh"), AccountID: account.ID, URL: "https://hooks.example/in", Secret: []byte("sealed"), SecretPrefix: "whsec_x"})
		if err != nil {
			t.Fatal(err)
		}
		failure := store.Attempt{
			StatusCode: http.StatusServiceUnavailable, Error: "503", Response: []byte("out <b>for</b> lunch"),
			Headers: store.AttemptHeaders{Request: "Webhook-Signature: v1,abc=\n", Response: "Retry-After: 7\n"},
		}
		h.send(t, account.ID, hook.ID, 1, nil)
		attempt := func() store.Delivery {
			t.Helper()
			due, err := h.ClaimDeliveries(t.Context(), 1)
			if err != nil || len(due) != 1 {
				t.Fatalf("got %+v, %v", due, err)
			}
			d, err := h.FinishAttempt(t.Context(), due[0], failure)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		d := attempt()
		open := "/dashboard/deliveries?delivery=" + d.ID
		v.sees(open, "First: 503", "Second attempt", "Try now", "Webhook-Signature: v1,abc=", "Retry-After: 7 out &lt;b&gt;for&lt;/b&gt; lunch", "&#34;type&#34; : &#34;webhook.test&#34;")
		if a := h.join(t, "mallory@example.com").do(http.MethodPost, "/dashboard/deliveries/"+d.ID+"/try", url.Values{}); a.status != http.StatusNotFound {
			t.Errorf("another account's attempt: got status %d", a.status)
		}
		v.post("/dashboard/deliveries/"+d.ID+"/try", http.StatusSeeOther, url.Values{})
		h.clock.Advance(time.Millisecond)
		attempt()
		v.sees(open, "Second: 503", "Third attempt")

		if a := v.get("/dashboard/deliveries/replay"); a.header.Get("Location") != "/dashboard/deliveries" {
			t.Errorf("nothing to replay: got status %d, %q", a.status, a.header.Get("Location"))
		}
		h.send(t, account.ID, hook.ID, 2, &failure)
		v.sees("/dashboard/deliveries", "Replay failed")
		v.sees("/dashboard/deliveries/replay", "Replay 2 failed deliveries?", "Replay 2 deliveries")
		v.post("/dashboard/deliveries/replay", http.StatusSeeOther, url.Values{})
		v.sees("/dashboard/deliveries", "2 deliveries queued for replay.")
	})
}

// TestSideBarCountsNoFurther than it has room for numbers.
func TestSideBarCountsNoFurther(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.join(t, "maya@example.com")
		account := h.mayas(t)
		hook, err := h.CreateWebhook(t.Context(), store.NewWebhook{ID: h.NewID("wh"), AccountID: account.ID, URL: "https://hooks.example/in", Secret: []byte("sealed"), SecretPrefix: "whsec_x"})
		if err != nil {
			t.Fatal(err)
		}
		h.send(t, account.ID, hook.ID, 104, &store.Attempt{StatusCode: http.StatusServiceUnavailable, Error: "503"})
		if n := failedInSideBar(t, v.sees("/dashboard/keys")); n != 99 {
			t.Errorf("the side bar counts %d of 104", n)
		}
	})
}

// TestFormsAboutPastStatesNameTheReason: a form of a page whose delivery or member has changed meanwhile names the reason.
func TestFormsAboutPastStatesNameTheReason(t *testing.T) {
	h := sqliteHouse(t, nil)
	v := h.join(t, "maya@example.com")
	account := h.mayas(t)
	hook, err := h.CreateWebhook(t.Context(), store.NewWebhook{ID: h.NewID("we"), AccountID: account.ID, URL: "https://hooks.example/in", Secret: []byte("sealed"), SecretPrefix: "whsec_x"})
	if err != nil {
		t.Fatal(err)
	}
	h.send(t, account.ID, hook.ID, 1, &store.Attempt{StatusCode: http.StatusServiceUnavailable, Error: "503"})
	page, err := h.Deliveries(t.Context(), store.DeliveryFilter{AccountID: account.ID, EndpointID: hook.ID})
	if err != nil {
		t.Fatal(err)
	}
	path := "/dashboard/deliveries/" + page.Items[0].ID + "/replay"

	v.post("/dashboard/webhooks/"+hook.ID+"/pause", http.StatusSeeOther, url.Values{})
	if a := v.post(path, http.StatusConflict, url.Values{}); !strings.Contains(textOf(a.body), "The endpoint is disabled or deleted.") {
		t.Errorf("to a paused endpoint: %s", textOf(a.body))
	}
	v.post("/dashboard/webhooks/"+hook.ID+"/resume", http.StatusSeeOther, url.Values{})
	v.post(path, http.StatusSeeOther, url.Values{})
	if a := v.post(path, http.StatusConflict, url.Values{}); !strings.Contains(textOf(a.body), "Only failed deliveries can be replayed.") {
		t.Errorf("for the second time: %s", textOf(a.body))
	}

	person, err := h.UserByEmail(t.Context(), "maya@example.com")
	if err != nil {
		t.Fatal(err)
	}
	v.post("/dashboard/settings/members/"+person.ID+"/role", http.StatusBadRequest, url.Values{"role": {"king"}})
}
