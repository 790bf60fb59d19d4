package store_test

import (
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestUptimeCountsEachMinuteOnce: several processes record the same minutes, late and at once. A minute counts once,
// and as up if one of them found the component working.
func TestUptimeCountsEachMinuteOnce(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		f := newFixture(t, db)
		other := db.Open(t, f.clock)
		today := noon.Truncate(24 * time.Hour)
		record := func(s *store.Store, minute int, up map[string]bool) {
			t.Helper()
			if err := s.RecordUptime(t.Context(), store.MeasuredMinute{At: noon.Add(time.Duration(minute)*time.Minute + 7*time.Second), Up: up}); err != nil {
				t.Fatal(err)
			}
		}
		want := func(want ...store.Uptime) {
			t.Helper()
			for _, s := range []*store.Store{f.Store, other} {
				if got, err := s.Uptime(t.Context()); err != nil || len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
					t.Errorf("got %v, %v, want %v", got, err, want)
				}
			}
		}
		want()
		record(f.Store, 0, map[string]bool{"api": true, "browser": true})
		record(other, 0, map[string]bool{"api": true, "browser": false})
		record(f.Store, 1, map[string]bool{"api": false, "browser": false})
		record(other, 1, map[string]bool{"api": true, "browser": false})
		record(f.Store, 1, map[string]bool{"api": false, "browser": false})
		record(other, 0, map[string]bool{"api": true, "browser": true}) // late
		want(store.Uptime{"api", today, 2, 2}, store.Uptime{"browser", today, 2, 1})
		record(f.Store, 5, nil) // measured nothing
		record(f.Store, 5, map[string]bool{"api": true})
		want(store.Uptime{"api", today, 3, 3}, store.Uptime{"browser", today, 2, 1})
		// Processes that were without a database record what they measured meanwhile, at once.
		var writers sync.WaitGroup
		for _, s := range []*store.Store{f.Store, other} {
			writers.Go(func() {
				var missed []store.MeasuredMinute
				for minute := 6; minute < 16; minute++ {
					missed = append(missed, store.MeasuredMinute{At: noon.Add(time.Duration(minute) * time.Minute), Up: map[string]bool{"browser": minute > 8, "api": minute > 8}})
				}
				if err := s.RecordUptime(t.Context(), missed...); err != nil {
					t.Error(err)
				}
			})
		}
		writers.Wait()
		want(store.Uptime{"api", today, 13, 10}, store.Uptime{"browser", today, 12, 8})
	})
}

// TestUptimeIsStoredForItsDays: days begin at midnight UTC, and are deleted when they are old.
func TestUptimeIsStoredForItsDays(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		f := newFixture(t, db)
		today := noon.Truncate(24 * time.Hour)
		midnight := today.AddDate(0, 0, 1)
		record := func(at time.Time) {
			t.Helper()
			if err := f.RecordUptime(t.Context(), store.MeasuredMinute{At: at, Up: map[string]bool{"api": true}}); err != nil {
				t.Fatal(err)
			}
		}
		record(midnight.Add(-time.Second))
		record(midnight)
		for days, want := range map[int]int{1: 2, store.UptimeDays - 1: 2, store.UptimeDays: 1, store.UptimeDays + 1: 0} {
			clock := storetest.NewClock(today.AddDate(0, 0, days).Add(time.Hour))
			if got, err := db.Open(t, clock).Uptime(t.Context()); err != nil || len(got) != want {
				t.Errorf("%d days later: %v, %v, want %d", days, got, err, want)
			}
		}
		f.clock.Advance(today.AddDate(0, 0, store.UptimeDays).Sub(noon))
		record(f.clock.Now())
		var n int
		if err := f.DB().NewRaw("SELECT COUNT(*) FROM uptime_days").Scan(t.Context(), &n); err != nil || n != 2 {
			t.Errorf("%d days are stored, %v", n, err)
		}
	})
}
