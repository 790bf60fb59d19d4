package store_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

func TestUsageAtDayBorders(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		today := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
		tomorrow := today.AddDate(0, 0, 1)
		spend := func(operation string, settled bool) {
			t.Helper()
			c := f.newCall(5000)
			c.Operation = operation
			f.begin(t, c)
			if !settled {
				f.release(t, c.ID)
				return
			}
			f.settle(t, c.ID, 1000)
		}
		spend("pdf.create", true)
		spend("pdf.create", false)
		f.clock.Advance(12*time.Hour - time.Microsecond)
		spend("images.create", true)
		f.begin(t, f.newCall(77)) // running calls are not usage
		f.clock.Advance(time.Microsecond)
		spend("pdf.create", true)

		for _, test := range []struct {
			name     string
			from, to time.Time
			want     store.Usage
		}{
			{"both days", noon, tomorrow.Add(time.Hour), store.Usage{
				From: today, To: today.AddDate(0, 0, 2), Count: 3, Total: 3000,
				Operations: []store.OperationUsage{{Operation: "images.create", Count: 1, Total: 1000}, {Operation: "pdf.create", Count: 2, Total: 2000}},
				Days:       []store.DayUsage{{Day: today, Count: 2, Total: 2000}, {Day: tomorrow, Count: 1, Total: 1000}},
			}},
			{"first day to its last microsecond", today, tomorrow.Add(-time.Microsecond), store.Usage{
				From: today, To: tomorrow, Count: 2, Total: 2000,
				Operations: []store.OperationUsage{{Operation: "images.create", Count: 1, Total: 1000}, {Operation: "pdf.create", Count: 1, Total: 1000}},
				Days:       []store.DayUsage{{Day: today, Count: 2, Total: 2000}},
			}},
			{"a day in another zone", tomorrow.In(time.FixedZone("west", -8*3600)), tomorrow, store.Usage{
				From: tomorrow, To: tomorrow.AddDate(0, 0, 1), Count: 1, Total: 1000,
				Operations: []store.OperationUsage{{Operation: "pdf.create", Count: 1, Total: 1000}},
				Days:       []store.DayUsage{{Day: tomorrow, Count: 1, Total: 1000}},
			}},
			{"before", today.AddDate(0, 0, -2), today.Add(-time.Microsecond), store.Usage{From: today.AddDate(0, 0, -2), To: today}},
		} {
			got, err := f.Usage(t.Context(), f.acc.ID, test.from, test.to)
			if len(got.Operations) == 0 {
				got.Operations = nil
			}
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("%s: got %+v, %v\nwant %+v", test.name, got, err, test.want)
			}
		}
		other := f.newAccount(t, "bob@example.com", 0)
		if got, err := f.Usage(t.Context(), other.ID, today, tomorrow); err != nil || got.Count != 0 || got.Total != 0 {
			t.Errorf("another account's usage: got %+v, %v", got, err)
		}
	})
}
