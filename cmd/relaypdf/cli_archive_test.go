package main

import (
	"strings"
	"testing"
	"time"

	"relaypdf/internal/slow"
	"relaypdf/store"
	"relaypdf/store/credit"
	"relaypdf/store/storetest"
)

// TestArchiveCommand shows what would go, lets it go, and finds nothing left.
func TestArchiveCommand(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	db := storetest.BarePostgres(t)
	// A process that ran half a year ago.
	then := time.Now().AddDate(0, -6, 0)
	before := db.OpenAs(t, store.Config{Now: func() time.Time { return then }})
	if _, err := before.CreateAccount(t.Context(), "ada@example.com", credit.Dollar); err != nil {
		t.Fatal(err)
	}
	if err := db.OpenAs(t, store.Config{}).CloseMonths(t.Context()); err != nil {
		t.Fatal(err)
	}
	at := []string{"--database-url", db.URL, "--data-dir", db.DataDir}
	run := func(args ...string) ran {
		return relaypdf(t, append(append([]string{"archive"}, args...), at...)...)
	}
	type report struct {
		DryRun bool
		Months []store.Archived
	}
	journal := func(r report) (months []store.Archived) {
		for _, a := range r.Months {
			if a.Table == "journal" && a.Rows > 0 {
				months = append(months, a)
			}
		}
		return months
	}

	if r := run(); r.code != exitUsage || !strings.Contains(r.err, "--retention") {
		t.Errorf("without a retention: got %+v, want exit code 2", r)
	}
	dry := decodeJSON[report](t, mustRun(t, append([]string{"archive", "--retention=1", "--dry-run", "--json"}, at...)...))
	if got := journal(dry); !dry.DryRun || len(got) != 1 || got[0].Rows != 1 || got[0].Key != "" || got[0].Kept != "" {
		t.Errorf("a dry run: got %+v, want one posting that would go", dry)
	}
	done := run("--retention=1")
	file := "archive-" + then.UTC().Format("2006-01") + "-journal-"
	if done.code != 0 || !strings.HasPrefix(done.out, "MONTH") || !strings.Contains(done.out, file) {
		t.Errorf("got %+v, want a table with %s", done, file)
	}
	again := decodeJSON[report](t, mustRun(t, append([]string{"archive", "--retention=1", "--json"}, at...)...))
	if len(again.Months) != 0 || again.DryRun {
		t.Errorf("again: got %+v, want nothing", again)
	}
	if got := mustRun(t, append([]string{"accounts", "ledger", "ada@example.com"}, at...)...); strings.Count(got, "\n") != 1 {
		t.Errorf("the account's ledger: got %q, want the names of its columns", got)
	}
	if report, err := before.CheckLedger(t.Context()); err != nil || !report.OK() || report.Wallets != credit.Dollar {
		t.Errorf("the books: got %+v, %v; want them sound, with a dollar in the wallet", report, err)
	}
}

// TestArchiveNeedsPostgres: SQLite is refused, and says why.
func TestArchiveNeedsPostgres(t *testing.T) {
	_, data := dataDir(t)
	r := relaypdf(t, "archive", data)
	if r.code == 0 || !strings.Contains(r.err, "only PostgreSQL keeps its history by month") {
		t.Errorf("got %+v, want that only PostgreSQL can", r)
	}
	r = relaypdf(t, "archive", data, "--retention=3")
	if r.code != exitUsage || !strings.Contains(r.err, "RELAYPDF_RETENTION: only PostgreSQL keeps its history by month") {
		t.Errorf("with a retention: got %+v, want that it needs PostgreSQL", r)
	}
}
