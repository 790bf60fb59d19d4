package store_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

// countUsage adds ended calls to the counts of usage, and waits until they are written.
func (f *fixture) countUsage(t *testing.T, db store.Config, calls ...store.EndedCall) {
	t.Helper()
	db.Now = f.clock.Now
	s, err := store.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		if c.AccountID == "" {
			c.AccountID = f.acc.ID
		}
		s.CountUsage(c)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestUsageByGroup sums up calls by operation, key and template, failed ones included.
func TestUsageByGroup(t *testing.T) {
	eachCounted(t, func(t *testing.T, f *fixture, db store.Config) {
		yesterday, today := noon.AddDate(0, 0, -1).Truncate(24*time.Hour), noon.Truncate(24*time.Hour)
		key := f.key.ID
		settle := func(operation, keyID string) {
			t.Helper()
			c := f.newCall(5000)
			c.Operation, c.KeyID = operation, keyID
			f.begin(t, c)
			f.settle(t, c.ID, 1000)
		}
		settle("pdf.create", key)
		settle("pdf.create", key)
		settle("pdf.merge", "")
		f.countUsage(t, db,
			store.EndedCall{Operation: "pdf.create", KeyID: key, TemplateID: "t1", Charge: 1000},
			store.EndedCall{Operation: "pdf.create", KeyID: key, TemplateID: "t1", Charge: 1000},
			store.EndedCall{Operation: "pdf.create", KeyID: key, TemplateID: "t2", Failed: true},
			store.EndedCall{Operation: "pdf.merge", Failed: true, At: yesterday.Add(time.Hour)},
			store.EndedCall{Operation: "pdf.create", KeyID: key, Failed: true, At: yesterday.AddDate(0, 0, -7)},
			store.EndedCall{AccountID: "acc_other", Operation: "pdf.create", TemplateID: "t1", Failed: true},
		)
		f.countUsage(t, db, store.EndedCall{Operation: "pdf.create", KeyID: key, TemplateID: "t1", Failed: true})
		for _, test := range []struct {
			name          string
			f             store.UsageFilter
			members, days []store.UsageSum
		}{
			{
				"by operation", store.UsageFilter{Group: store.ByOperation},
				[]store.UsageSum{{Name: "pdf.create", Calls: 2, Failures: 2, Amount: 2000}, {Name: "pdf.merge", Calls: 1, Failures: 1, Amount: 1000}},
				[]store.UsageSum{{Day: yesterday, Failures: 1}, {Day: today, Calls: 3, Failures: 2, Amount: 3000}},
			},
			{
				"by key, of one", store.UsageFilter{Group: store.ByKey, Named: true},
				[]store.UsageSum{{Name: key, Calls: 2, Failures: 2, Amount: 2000}, {Calls: 1, Failures: 1, Amount: 1000}},
				[]store.UsageSum{{Day: yesterday, Failures: 1}, {Day: today, Calls: 1, Amount: 1000}},
			},
			{
				"by template", store.UsageFilter{Group: store.ByTemplate},
				[]store.UsageSum{{Name: "t1", Calls: 2, Failures: 1, Amount: 2000}, {Name: "t2", Failures: 1}},
				[]store.UsageSum{{Day: today, Calls: 2, Failures: 2, Amount: 2000}},
			},
			{
				"by template, of one", store.UsageFilter{Group: store.ByTemplate, Named: true, Name: "t2"},
				[]store.UsageSum{{Name: "t1", Calls: 2, Failures: 1, Amount: 2000}, {Name: "t2", Failures: 1}},
				[]store.UsageSum{{Day: today, Failures: 1}},
			},
		} {
			test.f.AccountID, test.f.From, test.f.To = f.acc.ID, yesterday.Add(23*time.Hour), noon
			members, days, err := f.UsageBy(t.Context(), test.f)
			if err != nil || !reflect.DeepEqual(members, test.members) || !reflect.DeepEqual(days, test.days) {
				t.Errorf("%s: got %+v and %+v, %v\nwant %+v and %+v", test.name, members, days, err, test.members, test.days)
			}
		}
		got, err := f.UsageByDay(t.Context(), store.UsageFilter{AccountID: f.acc.ID, From: yesterday, To: noon, Group: store.ByOperation})
		want := []store.UsageSum{
			{Day: yesterday, Name: "pdf.merge", Failures: 1},
			{Day: today, Name: "pdf.create", Calls: 2, Failures: 2, Amount: 2000}, {Day: today, Name: "pdf.merge", Calls: 1, Amount: 1000},
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("by day: got %+v, %v\nwant %+v", got, err, want)
		}
	})
}

// TestUsageIsCountedBehind: counts are written within seconds.
func TestUsageIsCountedBehind(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.CountUsage(store.EndedCall{AccountID: f.acc.ID, Operation: "pdf.create", TemplateID: "t1", Charge: 1000})
		for end := time.Now().Add(time.Minute); ; <-time.After(10 * time.Millisecond) {
			members, _, err := f.UsageBy(t.Context(), store.UsageFilter{AccountID: f.acc.ID, From: noon, To: noon, Group: store.ByTemplate})
			if err != nil {
				t.Fatal(err)
			}
			if len(members) == 1 && members[0].Calls == 1 {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("the count was not written: %+v", members)
			}
		}
	})
}
