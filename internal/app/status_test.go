package app

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
)

// TestStatusIsAskedOnceForAll has visitors who come at once, go before the answer, and
// come later.
func TestStatusIsAskedOnceForAll(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 5, 0, 0, 0, time.UTC)
	asked := int64(0)
	b := statusCache{now: func() time.Time { return now }}
	b.ask = func(ctx context.Context) views.ServiceStatus {
		if ctx.Err() != nil {
			t.Error("the visitor's going broke it off")
		}
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("it may take for ever")
		}
		asked++
		return views.ServiceStatus{Processes: asked}
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	var visitors sync.WaitGroup
	for range 20 {
		visitors.Go(func() {
			if got := b.read(gone); got.Processes != 1 {
				t.Errorf("one was told of answer %d", got.Processes)
			}
		})
	}
	visitors.Wait()
	for _, step := range []struct {
		after time.Duration
		want  int64
	}{{statusTTL - 1, 1}, {1, 2}, {0, 2}, {-time.Hour, 3}} { // The last is a clock that was set back.
		now = now.Add(step.after)
		if got := b.read(t.Context()); got.Processes != step.want {
			t.Errorf("%s later answer %d is told, want %d", step.after, got.Processes, step.want)
		}
	}
}

// TestUptimeOfComponents: a component without a check, and one that is switched off, is not measured.
func TestUptimeOfComponents(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		ok     bool
		checks map[string]string
		want   map[string]bool
	}{
		{true, map[string]string{"database": "ok", "browser": "ok", "limits": "alone", "office": "off"}, map[string]bool{"api": true, "database": true, "browser": true}},
		{true, map[string]string{"database": "ok", "files": "unavailable"}, map[string]bool{"api": true, "database": true, "files": false}},
		{false, map[string]string{"database": "failed", "queue": "full"}, map[string]bool{"api": false, "database": false}},
		{false, map[string]string{"database": "ok", "process": "stopping"}, map[string]bool{}},
	} {
		if got := components(wire.Readiness{OK: test.ok, Checks: test.checks}); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v: got %v, want %v", test.checks, got, test.want)
		}
	}
}

// TestHistoryHasAllDays: days and components without a measurement are there, without data.
func TestHistoryHasAllDays(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 5, 0, 0, 0, time.UTC)
	today := now.Truncate(24 * time.Hour)
	got := history([]store.Uptime{{Component: "database", Day: today.AddDate(0, 0, -1), Minutes: 1440, Up: 1430}, {Component: "api", Day: today, Minutes: 300, Up: 300}}, map[string]bool{"files": true}, now)
	if len(got) != 3 || got[0].Name != "API" || got[1].Name != "Database" || got[2].Name != "Files" {
		t.Fatalf("got %+v", got)
	}
	for _, u := range got {
		if len(u.Days) != store.UptimeDays || !u.Days[store.UptimeDays-1].At.Equal(today) || !u.Days[0].At.Equal(today.AddDate(0, 0, -89)) {
			t.Errorf("%s has the days %v", u.Name, u.Days)
		}
	}
	if d := got[0].Days[89]; d.Minutes != 300 || got[1].Days[88].Up != 1430 || got[1].Days[89].Minutes != 0 || got[2].Days[89].Minutes != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestUptimeIsRecordedEachMinute: a component that works again within the minute was up. Minutes that the database does
// not accept are recorded when it does.
func TestUptimeIsRecordedEachMinute(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 23, 5, 0, 20, 0, time.UTC)
	now := begin
	var measures []map[string]bool // to come
	var recorded []store.MeasuredMinute
	away := errors.New("away")
	ctx, stop := context.WithCancel(t.Context())
	r := uptimeRecorder{now: func() time.Time { return now }, wait: func(_ context.Context, d time.Duration) { now = now.Add(d) }}
	r.measure = func(context.Context) map[string]bool {
		next := measures[0]
		if measures = measures[1:]; len(measures) == 0 {
			stop()
		}
		return next
	}
	var fails []bool
	r.failed = func(err error) { fails = append(fails, errors.Is(err, away)) }
	r.record = func(_ context.Context, minutes ...store.MeasuredMinute) error {
		if minutes[len(minutes)-1].Up["down"] {
			return away
		}
		recorded = append(recorded, minutes...)
		return nil
	}
	down, up := func() map[string]bool { return map[string]bool{"api": false} }, func() map[string]bool { return map[string]bool{"api": true} }
	lost := func() map[string]bool { return map[string]bool{"down": true} }
	measures = []map[string]bool{up(), down(), up(), down(), down(), down(), {}, lost(), lost(), up(), up()}
	r.run(ctx)
	want := []struct {
		minute int
		up     map[string]bool
	}{{0, up()}, {1, up()}, {2, down()}, {4, lost()}, {5, lost()}, {6, up()}}
	if len(recorded) != len(want) || len(fails) != 2 || !fails[0] {
		t.Fatalf("got %v, %v", recorded, fails)
	}
	for i, w := range want {
		got := recorded[i]
		if minute := int(got.At.Truncate(time.Minute).Sub(begin.Truncate(time.Minute)) / time.Minute); minute != w.minute || !reflect.DeepEqual(got.Up, w.up) {
			t.Errorf("recorded %v in minute %d, want %v in %d", got.Up, minute, w.up, w.minute)
		}
	}
	if len(r.unwritten) != 0 {
		t.Errorf("%v are still to be written", r.unwritten)
	}
}
