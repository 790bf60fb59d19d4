package store_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// eachCounted is each, with the settings of another handle of the same database.
func eachCounted(t *testing.T, test func(t *testing.T, f *fixture, db store.Config)) {
	t.Helper()
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		f := newFixture(t, db)
		test(t, f, store.Config{URL: db.URL, DataDir: db.DataDir})
		f.sound(t)
	})
}

// alerts records the alerts of a fixture.
type alerts struct {
	*fixture
	told []store.AlertEvent // that emails were written of
	all  []store.AlertEvent
}

// sends checks which alerts are sent now, each once and to the owners.
func (a *alerts) sends(t *testing.T, when string, want ...store.AlertEvent) {
	t.Helper()
	a.told = nil
	sent, err := a.CheckAlerts(t.Context(), func(news store.AlertEvent, to []string) ([]store.QueuedEmail, error) {
		if !reflect.DeepEqual(to, []string{"olga@example.com"}) {
			t.Errorf("%s: the alert goes to %v", when, to)
		}
		a.told = append(a.told, news)
		return []store.QueuedEmail{{ID: store.NewID("let"), Sealed: []byte("sealed")}}, nil
	})
	if err != nil || sent != len(want) || !reflect.DeepEqual(a.told, want) {
		t.Errorf("%s: got %d alerts, %+v, %v; want %+v", when, sent, a.told, err, want)
	}
	a.all = append(a.all, want...)
	if again, err := a.CheckAlerts(t.Context(), nil); again != 0 || err != nil {
		t.Errorf("%s: %d alerts are sent again, %v", when, again, err)
	}
}

func (a *alerts) spend(t *testing.T, amount credit.Amount) {
	t.Helper()
	c := a.newCall(amount)
	a.begin(t, c)
	a.settle(t, c.ID, amount)
}

func (a *alerts) topUp(t *testing.T, amount credit.Amount) {
	t.Helper()
	_, err := a.Post(t.Context(), store.NewPosting{AccountID: a.acc.ID, Kind: store.KindGrant, Amount: amount, Reference: store.NewID("ref"), Reason: "test"})
	if err != nil {
		t.Fatal(err)
	}
}

func (a *alerts) set(t *testing.T, thresholds map[string]int64) {
	t.Helper()
	if err := a.SetAlerts(t.Context(), a.acc.ID, thresholds); err != nil {
		t.Fatal(err)
	}
	if got, err := a.Alerts(t.Context(), a.acc.ID); err != nil || !reflect.DeepEqual(got, thresholds) {
		t.Errorf("the alerts are %v, %v; want %v", got, err, thresholds)
	}
}

// TestAlertsAreSentOnce: each alert is sent when its value passes the threshold, and again only after the value was
// within it or, for a day's values, on another day.
func TestAlertsAreSentOnce(t *testing.T) {
	eachCounted(t, func(t *testing.T, f *fixture, db store.Config) {
		a := &alerts{fixture: f}
		f.member(t, "olga@example.com", store.RoleOwner)
		f.member(t, "bill@example.com", store.RoleBilling)
		f.listen(t)
		limit := credit.Amount(10_000)
		if err := f.SetLimits(t.Context(), store.Author{AccountID: f.acc.ID}, store.Limits{MaxDay: &limit}); err != nil {
			t.Fatal(err)
		}
		a.sends(t, "without alerts")
		low := int64(trial - 5000)
		thresholds := map[string]int64{store.AlertDayLimit: 80, store.AlertLowBalance: low, store.AlertFailureRate: 50}
		a.set(t, thresholds)
		a.sends(t, "at first")
		a.spend(t, 5000)
		a.sends(t, "at the balance and half of the day's limit")
		a.spend(t, 3000)
		a.sends(t, "beyond both", store.AlertEvent{Kind: store.AlertDayLimit, Value: 80, Threshold: 80}, store.AlertEvent{Kind: store.AlertLowBalance, Value: int64(trial - 8000), Threshold: low})
		a.set(t, thresholds)
		a.sends(t, "saved again")
		f.clock.Advance(10 * time.Minute)
		a.topUp(t, 4000)
		a.sends(t, "topped up")
		a.spend(t, 2000)
		a.sends(t, "low again within the hour")
		f.clock.Advance(time.Hour)
		a.sends(t, "an hour later", store.AlertEvent{Kind: store.AlertLowBalance, Value: int64(trial - 6000), Threshold: low})
		f.clock.Advance(24 * time.Hour)
		a.spend(t, 9000)
		a.sends(t, "on the next day", store.AlertEvent{Kind: store.AlertDayLimit, Value: 90, Threshold: 80})

		fail := make([]store.EndedCall, store.MinAlertCalls-2)
		for i := range fail {
			fail[i] = store.EndedCall{Operation: "pdf.create", KeyID: f.key.ID, Failed: true}
		}
		f.countUsage(t, db, fail...)
		a.sends(t, "with too few calls")
		f.countUsage(t, db, fail[0])
		a.sends(t, "with many failed calls", store.AlertEvent{Kind: store.AlertFailureRate, Value: 95, Threshold: 50})
		f.clock.Advance(24 * time.Hour)
		a.sends(t, "on a day without calls")

		a.set(t, map[string]int64{store.AlertLowBalance: low - 1})
		a.sends(t, "with another threshold", store.AlertEvent{Kind: store.AlertLowBalance, Value: int64(trial - 15_000), Threshold: low - 1})
		a.set(t, map[string]int64{})
		a.spend(t, 9000)
		a.sends(t, "without alerts again")

		var rows []struct {
			Type string
			Body []byte
		}
		if err := f.DB().NewRaw("SELECT type, body FROM events ORDER BY created_at, id").Scan(t.Context(), &rows); err != nil {
			t.Fatal(err)
		}
		if len(rows) != len(a.all) {
			t.Fatalf("there are %d events, want %d", len(rows), len(a.all))
		}
		published := map[store.AlertEvent]int{}
		for _, row := range rows {
			var event struct{ Data store.AlertEvent }
			if err := json.Unmarshal(row.Body, &event); err != nil || row.Type != store.EventAccountAlert {
				t.Errorf("an event is %s %s, %v", row.Type, row.Body, err)
			}
			published[event.Data]++
		}
		for _, news := range a.all {
			if published[news]--; published[news] < 0 {
				t.Errorf("no event of %+v", news)
			}
		}
		if letters, err := f.ClaimEmails(t.Context(), 100); err != nil || len(letters) != len(a.all) {
			t.Errorf("%d emails wait, %v; want %d", len(letters), err, len(a.all))
		}
	})
}
