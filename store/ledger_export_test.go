package store_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// export lists the entries of a query, as text.
func (f *fixture) export(t testing.TB, q store.LedgerQuery) []string {
	t.Helper()
	q.AccountID = f.acc.ID
	var lines []string
	err := f.Ledger(t.Context(), q, func(l store.LedgerEntry) error {
		lines = append(lines, fmt.Sprintf("%s %s %s %d %s %q = %d", l.At.Sub(noon), l.Kind, l.Book, l.Amount, l.Operation, l.Reason, l.Balance))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestLedgerExport(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.begin(t, f.newCall(1)) // Another account's entries are not in it.
		f.acc = f.newAccount(t, "eve@example.com", credit.Dollar)
		key, _, err := f.CreateKey(t.Context(), store.NewKey{AccountID: f.acc.ID})
		if err != nil {
			t.Fatal(err)
		}
		f.key = key
		f.clock.Advance(time.Hour)
		f.settle(t, f.begin(t, f.newCall(3000)).ID, 2000)
		f.clock.Advance(time.Hour)
		f.release(t, f.begin(t, f.newCall(500)).ID)
		if err := f.Credit(t.Context(), f.acc.ID, 7, "=cmd"); err != nil {
			t.Fatal(err)
		}
		all := []string{
			`0s trial promotion -1000000  "trial credit" = 0`,
			`0s trial wallet 1000000  "trial credit" = 1000000`,
			`1h0m0s hold held 3000 pdf.create "" = 1000000`,
			`1h0m0s hold wallet -3000 pdf.create "" = 997000`,
			`1h0m0s settle held -3000 pdf.create "" = 997000`,
			`1h0m0s settle revenue 2000 pdf.create "" = 997000`,
			`1h0m0s settle wallet 1000 pdf.create "" = 998000`,
			`2h0m0s hold held 500 pdf.create "" = 998000`,
			`2h0m0s hold wallet -500 pdf.create "" = 997500`,
			`2h0m0s release held -500 pdf.create "render_failed" = 997500`,
			`2h0m0s release wallet 500 pdf.create "render_failed" = 998000`,
			`2h0m0s payment payment -7  "=cmd" = 998000`,
			`2h0m0s payment wallet 7  "=cmd" = 998007`,
		}
		for name, q := range map[string]struct {
			query    store.LedgerQuery
			from, to int
		}{
			"all":        {store.LedgerQuery{}, 0, 13},
			"from":       {store.LedgerQuery{From: noon.Add(time.Hour)}, 2, 13},
			"to":         {store.LedgerQuery{To: noon.Add(time.Hour)}, 0, 2},
			"in between": {store.LedgerQuery{From: noon.Add(time.Microsecond), To: noon.Add(2 * time.Hour)}, 2, 7},
			"nothing":    {store.LedgerQuery{From: noon.Add(3 * time.Hour)}, 0, 0},
		} {
			if got, want := f.export(t, q.query), all[q.from:q.to]; !slices.Equal(got, want) {
				t.Errorf("%s: got\n%q\nwant\n%q", name, got, want)
			}
		}
		f.wallet(t, 998007, 0, 2000)
		full := errors.New("disk full")
		count := 0
		err = f.Ledger(t.Context(), store.LedgerQuery{AccountID: f.acc.ID}, func(store.LedgerEntry) error {
			count++
			return full
		})
		if !errors.Is(err, full) || count != 1 {
			t.Errorf("after a failure: got %v and %d lines, want it at once", err, count)
		}
	})
}
