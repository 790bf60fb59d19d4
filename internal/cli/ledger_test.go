package cli

import (
	"encoding/csv"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestAccountsLedger(t *testing.T) {
	_, data := dataDir(t)
	reasons := []string{
		"invoice 7", `=HYPERLINK("http://evil","x")`, "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", `a,"b"` + "\nc", "a=1",
	}
	for _, reason := range reasons {
		mustRun(t, "accounts", "credit", "ada@example.com", "1", "--reason", reason, data)
	}
	rows, err := csv.NewReader(strings.NewReader(mustRun(t, "accounts", "ledger", "ada@example.com", data))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	header := []string{"time", "kind", "book", "amountMicrodollars", "callId", "operation", "reason", "walletBalanceMicrodollars", "postingId", "reference"}
	if len(rows) != 1+2+2*len(reasons) || !reflect.DeepEqual(rows[0], header) {
		t.Fatalf("got %d rows with the header %q, want %q and two for each payment", len(rows), rows[0], header)
	}
	shown := []string{"invoice 7", `'=HYPERLINK("http://evil","x")`, "'+1", "'-1", "'@SUM(A1)", "'\t=1", "'\r=1", "'\n=1", "'＝1", `a,"b"` + "\nc", "a=1"}
	for i, want := range shown {
		payment, wallet := rows[3+2*i], rows[4+2*i]
		if at, err := time.Parse(time.RFC3339Nano, wallet[0]); err != nil || time.Since(at) > time.Hour {
			t.Errorf("row %d: the time is %q: %v", i, wallet[0], err)
		}
		if got := payment[1:7]; !reflect.DeepEqual(got, []string{"payment", "payment", "-1000000", "", "", want}) {
			t.Errorf("row %d: got %q, want the reason %q", i, got, want)
		}
		if got, want := wallet[7], []string{"6000000", "7000000", "8000000"}; i < 3 && got != want[i] {
			t.Errorf("row %d: the balance is %s, want %s", i, got, want[i])
		}
	}
	if got := mustRun(t, "accounts", "ledger", "ada@example.com", "--to", "2026-01-01", data); got != strings.Join(header, ",")+"\n" {
		t.Errorf("before everything: got %q, want the header alone", got)
	}
	for _, args := range [][]string{{"eve@example.com"}, {"ada@example.com", "--from", "yesterday"}, {}} {
		if r := relaypdf(t, append([]string{"accounts", "ledger", data}, args...)...); r.code != exitUsage || r.out != "" {
			t.Errorf("%q: got %+v, want exit code 2", args, r)
		}
	}
}
