package store_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestMonthsAreClosed checks the ledger over three months, one of them without a posting, and finds changes in a
// closed one.
func TestMonthsAreClosed(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.settle(t, f.begin(t, f.newCall(3000)).ID, 2000)
		november := f.clock.Now()
		spanning := f.begin(t, f.newCall(500))
		f.clock.Advance(12 * 24 * time.Hour) // 2 December
		if err := f.CloseMonths(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.settle(t, spanning.ID, 400)
		f.clock.Advance(60 * 24 * time.Hour) // 31 January
		f.post(t, store.KindPayment, credit.Dollar, "pay_1")
		before, err := f.CheckLedger(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := f.CloseMonths(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		after, err := f.CheckLedger(t.Context())
		if err != nil || after.Wallets != before.Wallets || after.Revenue != 2400 || after.Postings != before.Postings || len(after.Problems) > 0 {
			t.Errorf("after closing: got %+v, %v; want %+v", after, err, before)
		}
		var closed []string
		if err := f.DB().NewRaw("SELECT month || ' ' || wallet || ' ' || held FROM closings ORDER BY month").Scan(t.Context(), &closed); err != nil {
			t.Fatal(err)
		}
		if want := []string{"24322 4997500 500", "24323 4997600 0"}; !slices.Equal(closed, want) {
			t.Errorf("closings: got %q, want %q", closed, want)
		}
		january := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
		if got := f.export(t, store.LedgerQuery{From: january}); len(got) != 2 || !strings.HasSuffix(got[1], "payment wallet 1000000  \"\" = 5997600") {
			t.Errorf("January's export: got %q", got)
		}
		for _, month := range []time.Time{november, november.AddDate(0, 1, 0)} {
			if problems, err := f.CheckMonth(t.Context(), month); err != nil || len(problems) > 0 {
				t.Errorf("%v: got %q, %v", month, problems, err)
			}
		}
		if _, err := f.DB().NewRaw("UPDATE journal SET revenue = revenue - 1, wallet = wallet + 1 WHERE cause = ? AND kind = 'settle'", spanning.ID).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.sound(t) // It does not read history.
		if problems, err := f.CheckMonth(t.Context(), november.AddDate(0, 1, 0)); err != nil || len(problems) != 1 || !strings.Contains(problems[0], f.acc.ID) {
			t.Errorf("changed history: got %q, %v; want a problem with %s", problems, err, f.acc.ID)
		}
	})
}

// TestChangedHistoryIsToldInTheLog: the periodic check of closed months finds and logs a change in one of them.
func TestChangedHistoryIsToldInTheLog(t *testing.T) {
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		log := &storetest.Log{}
		f := newFixtureAs(t, db, store.Config{Logger: slog.New(slog.NewJSONHandler(log, nil))})
		id := f.begin(t, f.newCall(3000)).ID
		f.settle(t, id, 2000)
		f.clock.Advance(40 * 24 * time.Hour)
		if err := f.CloseMonths(t.Context()); err != nil {
			t.Fatal(err)
		}
		check := func() {
			t.Helper()
			at := slices.IndexFunc(f.MaintenanceTasks(), func(task store.Task) bool { return task.Name == "check a closed month" })
			if err := f.MaintenanceTasks()[at].Do(t.Context()); err != nil {
				t.Error(err)
			}
		}
		const words = "the ledger contradicts itself"
		if check(); strings.Contains(log.String(), words) {
			t.Errorf("before anything was changed: %s", log.String())
		}
		if _, err := f.DB().NewRaw("UPDATE journal SET revenue = revenue - 1, wallet = wallet + 1 WHERE cause = ? AND kind = 'settle'", id).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		if check(); !strings.Contains(log.String(), words) {
			t.Errorf("the log does not say %q: %s", words, log.String())
		}
	})
}
