package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// partitions lists the partitions of a table that hold rows.
func (f *fixture) partitions(t testing.TB, table string) []string {
	t.Helper()
	var names []string
	err := f.DB().NewRaw("SELECT DISTINCT tableoid::regclass::text FROM "+table+" ORDER BY 1").Scan(t.Context(), &names)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestPartitions simulates a year without new partitions, so rows are in the default one, and then makes the
// partitions.
func TestPartitions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storetest.BarePostgres(t))
	call := func() {
		t.Helper()
		c := f.newCall(100)
		c.ResultID = f.NewID("file")
		c.ID = store.CallID(c.ResultID)
		c.IdempotencyKey, c.BodyHash = c.ID, []byte("body")
		f.begin(t, c)
		err := f.Settle(t.Context(), store.Settlement{CallID: c.ID, Charge: 100, File: &store.File{
			Filename: "a.pdf", ContentType: "application/pdf", BlobKey: "result-" + c.ID + "-0", ExpiresAt: f.clock.Now().Add(time.Hour),
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.CallByResult(t.Context(), c.ResultID); err != nil || got.ID != c.ID {
			t.Errorf("the call of a result: got %s, %v; want %s", got.ID, err, c.ID)
		}
		if file, err := f.PublicFile(t.Context(), c.ResultID); err != nil || file.CallID != c.ID {
			t.Errorf("the file: got %+v, %v", file, err)
		}
	}
	call()
	f.clock.Advance(365 * 24 * time.Hour)
	call()
	for _, table := range []string{"calls", "journal", "files"} {
		if got, want := f.partitions(t, table), []string{table + "_2026_11", table + "_default"}; !slices.Equal(got, want) {
			t.Errorf("%s: rows are in %q, want %q", table, got, want)
		}
	}
	for range 2 {
		if err := f.MakePartitions(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	call()
	for _, table := range []string{"calls", "journal", "files"} {
		if got, want := f.partitions(t, table), []string{table + "_2026_11", table + "_2027_11"}; !slices.Equal(got, want) {
			t.Errorf("%s: rows are in %q, want %q", table, got, want)
		}
	}
	// Another year without, and then one month more: what waits gets its own, too.
	f.clock.Advance(366 * 24 * time.Hour)
	call()
	f.clock.Advance(31 * 24 * time.Hour)
	if err := f.MakePartitions(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"calls", "journal", "files"} {
		if got, want := f.partitions(t, table), []string{table + "_2026_11", table + "_2027_11", table + "_2028_11"}; !slices.Equal(got, want) {
			t.Errorf("%s: rows are in %q, want %q", table, got, want)
		}
	}
	f.sound(t)
	var plan []string
	if err := f.DB().NewRaw("EXPLAIN SELECT * FROM calls WHERE id = ?", f.NewID("call")).Scan(t.Context(), &plan); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(plan, "\n"); !strings.Contains(text, "calls_2028_12") || strings.Contains(text, "calls_2026_11") || strings.Contains(text, "calls_default") {
		t.Errorf("a look-up by id does not keep to its month:\n%s", text)
	}
	var refers []string
	err := f.DB().NewRaw(`SELECT DISTINCT conrelid::regclass::text FROM pg_constraint WHERE contype = 'f' ORDER BY 1`).Scan(t.Context(), &refers)
	if err != nil || !slices.Contains(refers, "keys") {
		t.Fatalf("tables with foreign keys: got %q, %v; want keys among them", refers, err)
	}
	// A key to an account locks the account's row: nothing that every call writes may have one.
	for _, table := range []string{"calls", "journal", "files", "jobs", "job_inputs", "events", "deliveries", "usage_days", "callbacks", "idempotency_keys"} {
		if slices.Contains(refers, table) {
			t.Errorf("table %s has a foreign key", table)
		}
	}
}
