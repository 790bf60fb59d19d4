package cli

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// TestAccountCommands reads the account, its spending, its jobs and its files.
func TestAccountCommands(t *testing.T) {
	b := newBench(t, nil)
	t.Chdir(t.TempDir())
	upload := decodeJSON[client.Upload](t, b.run("", "files", "upload", sharedtest.WriteFile(t, "a.txt", "content"), "--json").out)
	for range 3 {
		if r := b.run("x", "doc", "print", "-", "--response", "async", "-q"); r.code != 0 {
			t.Fatalf("got %+v", r)
		}
	}
	all := decodeJSON[client.JobList](t, b.run("", "jobs", "list", "--json").out).Jobs
	if len(all) != 3 || all[0].Operation != "doc.print" || all[0].Status != client.JobProcessing {
		t.Errorf("got %+v, want three jobs", all)
	}
	if two := decodeJSON[client.JobList](t, b.run("", "jobs", "list", "-n", "2", "--json").out).Jobs; len(two) != 2 || two[0].ID != all[0].ID {
		t.Errorf("got %+v, want the newest two", two)
	}
	if r := b.run("", "jobs", "list"); strings.Count(r.out, "\n") != 4 || !strings.Contains(r.out, all[2].ID+"  doc.print  processing") {
		t.Errorf("got %+v, want a table of three", r)
	}
	if files := decodeJSON[client.FileList](t, b.run("", "files", "list", "--json").out).Files; len(files) != 1 || files[0].ID != upload.ID {
		t.Errorf("got %+v, want the upload", files)
	}
	if r := b.run("", "files", "list"); !strings.Contains(r.out, upload.ID+"  upload  a.txt  7 B") {
		t.Errorf("got %+v, want a table with the upload", r)
	}
	result := decodeJSON[client.FileURL](t, b.run("x", "doc", "print", "-", "--response", "url", "--json-output").out)
	got := decodeJSON[download](t, b.run("", "files", "get", result.ID, "--json").out)
	if content, err := os.ReadFile("printed.pdf"); err != nil || string(content) != "%PDF-x" || got != (download{result.ID, "printed.pdf", "printed.pdf", 6}) {
		t.Errorf("got %+v with %q and %v", got, content, err)
	}
	if r := b.run("", "files", "get", result.ID, "-o", "printed.pdf"); r.code != exitUsage || !strings.Contains(r.err, "exists already") {
		t.Errorf("over a file: got %+v", r)
	}
	if r := b.run("", "files", "get", result.ID, "-o", "-"); r != (ran{0, "%PDF-x", ""}) {
		t.Errorf("to standard output: got %+v", r)
	}
	if r := b.run("", "files", "get", "file_none"); r.code != exitNotFound {
		t.Errorf("no file: got %+v", r)
	}
	usage := decodeJSON[client.Usage](t, b.run("", "usage", "--from", "2026-03-09", "--json").out)
	if usage.TotalMicrodollars != 2000 || usage.HeldMicrodollars != 6000 || usage.To.Sub(usage.From) < 23*time.Hour {
		t.Errorf("got %+v, want one call, and three held", usage)
	}
	if r := b.run("", "usage"); !strings.Contains(r.out, "doc.print  1      $0.002") || !strings.Contains(r.out, "balance $4.992, and $0.006 held") {
		t.Errorf("got %+v, want a table", r)
	}
	if r := b.run("", "usage", "--days"); !strings.Contains(r.out, "\ntotal       1      $0.002") {
		t.Errorf("got %+v, want a table by day", r)
	}
	if account := decodeJSON[client.AccountSnapshot](t, b.run("", "account", "--json").out); account.Wallet.BalanceMillicents != 4_992 || account.Plan != "free" {
		t.Errorf("got %+v", account)
	}
	if r := b.run("", "account"); !strings.Contains(r.out, "free  free         $4.992   off") {
		t.Errorf("got %+v, want a table", r)
	}
	if r := runRows(t, b.rows, "", "prices", "--api-url", b.URL); r.code != 0 || !strings.Contains(r.out, "doc print   $0.002  Answer with the input") {
		t.Errorf("without a key: got %+v, want the prices", r)
	}
	if list := decodeJSON[client.PriceList](t, b.run("", "prices", "--json").out); len(list.Prices) != len(b.rows) {
		t.Errorf("got %+v, want a price for each operation", list)
	}
	for want, args := range map[string][]string{
		"--limit: 0 is not a number above 0": {"jobs", "list", "-n", "0"}, "--from: \"soon\" is not a time": {"usage", "--from", "soon"}, "--to: ": {"usage", "--to", "-3h"},
	} {
		if r := b.run("", args...); r.code != exitUsage || !strings.Contains(r.err, want) {
			t.Errorf("%q: got %+v, want %q", args, r, want)
		}
	}
	if r := b.run("", "files", "delete", upload.ID, "--json"); r.out != `{"deleted":["`+upload.ID+`"]}`+"\n" {
		t.Errorf("delete: got %+v", r)
	}
}

// TestParseMoment reads times as users write them.
func TestParseMoment(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"7d": now.AddDate(0, 0, -7), "12h": now.Add(-12 * time.Hour), "2026-11-01": time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), "": {},
		"2026-11-01T10:00:00+01:00": time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC),
	} {
		if got, err := parseMoment(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: got %v and %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"soon", "d", "-1d", "2026-13-01"} {
		if got, err := parseMoment(text, now); err == nil {
			t.Errorf("%q: got %v, want a refusal", text, got)
		}
	}
}
