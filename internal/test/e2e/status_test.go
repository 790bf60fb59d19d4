package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
)

// TestStatusHistory shows days with and without downtime, and days that were not measured.
func TestStatusHistory(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPages(t), openBrowser(t)
	visitor := openScreen(t, browser, app)
	// The server measures by itself.
	visitor.finds("/status", "100% uptime")
	visitor.sees("No data")

	today := app.Store.Now().UTC().Truncate(24 * time.Hour)
	for ago := 1; ago < 60; ago++ {
		var minutes []store.MeasuredMinute
		for i := range 100 {
			minutes = append(minutes, store.MeasuredMinute{At: today.AddDate(0, 0, -ago).Add(time.Duration(i) * time.Minute), Up: map[string]bool{
				"api": ago != 12 || i > 30, "browser": (ago != 12 || i > 30) && (ago != 40 || i > 2), "database": true,
			}})
		}
		if err := app.Store.RecordUptime(context.WithoutCancel(t.Context()), minutes...); err != nil {
			t.Fatal(err)
		}
	}
	visitor.finds("/status", "31 min")
	for _, words := range []string{"Last 90 days", "Days with downtime", "% uptime", "97%", "69%", "89 days ago"} {
		visitor.sees(words)
	}
	visitor.lookAt("status")
	visitor.width(390)
	visitor.picture("status-390")
	visitor.calm("status")
}
