package api_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestNotReadyWithAWrongClock: a load balancer sends no requests to a machine whose clock is wrong; requests that
// arrive anyway run by the database's time.
func TestNotReadyWithAWrongClock(t *testing.T) {
	t.Parallel()
	for off, want := range map[time.Duration]int{0: http.StatusOK, 24 * time.Hour: http.StatusServiceUnavailable, -time.Hour: http.StatusServiceUnavailable} {
		db := storetest.Postgres(t)
		machine := func() time.Time { return time.Now().Add(off) }
		log := &storetest.Log{}
		s := apitest.New(t, apitest.Options{DB: &db, Change: func(cfg *apitest.Settings) {
			cfg.Store, cfg.Now = db.OpenAs(t, store.Config{Machine: machine, Logger: slog.New(slog.NewJSONHandler(log, nil))}), nil
		}})
		ask := apitest.Request{Method: "GET", Path: "/health/ready"}
		got := s.Send(t, ask)
		for deadline := time.Now().Add(5 * time.Minute); got.Status != want && time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
			got = s.Send(t, ask) // It gives a check three seconds, which a busy machine may take for itself.
		}
		if wrong := strings.Contains(got.Body, `"clock":"failed"`); got.Status != want || wrong != (want != http.StatusOK) {
			t.Errorf("%v off: got %d %s, want %d", off, got.Status, got.Body, want)
		}
		for deadline := time.Now().Add(5 * time.Minute); want != http.StatusOK && !strings.Contains(log.String(), "this process is not ready: it takes on no jobs and deliveries, and neither reaps nor expires anything"); <-time.After(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%v off: the log does not say so: %s", off, log.String())
			}
		}
	}
}
