package web_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/web"
)

// TestVisitorsWhoLeave: a visitor who left gets no response, and nothing is logged as an error: neither before the
// session was read, nor while the page was made.
func TestVisitorsWhoLeave(t *testing.T) {
	leave := func() {}
	h := sqliteHouse(t, func(c *web.Config) {
		now := c.Now
		c.Now = func() time.Time { leave(); return now() }
	})
	v := h.join(t, "maya@example.com")
	base, err := url.Parse(h.url)
	if err != nil {
		t.Fatal(err)
	}
	status := func(left bool) int {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if left {
			cancel()
		} else {
			leave = cancel // pages contain the time
		}
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/dashboard/settings", nil)
		for _, cookie := range v.client.Jar.Cookies(base) {
			r.AddCookie(cookie)
		}
		w := httptest.NewRecorder()
		h.handler.ServeHTTP(w, r)
		return w.Code
	}
	for _, left := range []bool{true, false} {
		if got := status(left); got != middleware.StatusClientClosed {
			t.Errorf("left before the session was read: %v; got status %d", left, got)
		}
	}
}
