package cli

import (
	"context"
	"database/sql"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/egress"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// diagnosis is the output of `doctor --json`.
type diagnosis struct {
	OK       bool
	Findings []finding
}

func (d diagnosis) of(check string) finding {
	for _, f := range d.Findings {
		if f.Check == check {
			return f
		}
	}
	return finding{}
}

// TestDoctorFindsAHealthyMachine needs everything that `make setup` installs.
func TestDoctorFindsAHealthyMachine(t *testing.T) {
	if testing.Short() {
		t.Skip("starts all engines")
	}
	_, data := dataDir(t)
	r := relaypdf(t, "doctor", "--json", data)
	d := decodeJSON[diagnosis](t, r.out)
	if r.code != 0 || !d.OK {
		t.Fatalf("got %+v", r)
	}
	for _, check := range []string{"settings", "user", "data folder", "disk", "database", "ledger", "retention", "files", "chromium", "sandbox", "fonts", "ocr", "webp", "mupdf", "pdfa", "extra CA", "pages", "render", "templates", "office", "wkhtmltopdf", "engines"} {
		// Warnings depend on the machine: how much is free, how the clock is set.
		if f := d.of(check); f.Verdict != good && (f.Verdict != warn || f.Remedy == "") {
			t.Errorf("%s: got %+v, want ok", check, f)
		}
	}
}

// TestDoctorSuggestsFixes breaks one thing at a time.
func TestDoctorSuggestsFixes(t *testing.T) {
	dir, data := dataDir(t)
	tampered, tamperedFlag := dataDir(t)
	db, err := sql.Open("sqlite", filepath.Join(tampered, "relaypdf.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE accounts SET balance = balance + 1"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	pages := t.TempDir()
	if err := os.WriteFile(filepath.Join(pages, "terms.md"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, check, want string
		args              []string
	}{
		{"settings", "settings", "RELAYPDF_BILLING", []string{data, "--billing", "perhaps"}},
		{"no browser", "chromium", "/nowhere/chromium", []string{data, "--chromium", "/nowhere/chromium"}},
		{"empty page", "pages", "terms.md: is empty", []string{data, "--pages", pages, "--chromium", "/nowhere"}},
		{"no folder of pages", "settings", "RELAYPDF_PAGES", []string{data, "--pages", "/nowhere/pages"}},
		{"books", "ledger", "its wallet entries sum to", []string{tamperedFlag, "--chromium", "/nowhere"}},
		{"database", "database", "open the SQLite database", []string{data, "--database-url", "sqlite://" + dir, "--chromium", "/nowhere"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := relaypdf(t, append([]string{"doctor", "--json"}, tt.args...)...)
			d := decodeJSON[diagnosis](t, r.out)
			f := d.of(tt.check)
			if r.code != 1 || d.OK || f.Verdict != fail || !strings.Contains(f.Message, tt.want) || f.Remedy == "" {
				t.Errorf("got exit code %d and %+v, want a failure with %q and a remedy", r.code, f, tt.want)
			}
			want := finding{"render", warn, "skipped, because the check chromium failed", "fix chromium, then run relaypdf doctor again"}
			if f := d.of("render"); tt.check != "settings" && f != want {
				t.Errorf("got %+v, want %+v: without a browser it would only wait", f, want)
			}
		})
	}
}

// TestDoctorAnnouncesOldMonths: months that the retention is about to remove are listed, as
// a warning where they are several or something keeps them.
func TestDoctorAnnouncesOldMonths(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	db := storetest.BarePostgres(t)
	if _, err := db.OpenAs(t, store.Config{Now: clock.Now}).CreateAccount(t.Context(), "ada@example.com", credit.Dollar); err != nil {
		t.Fatal(err)
	}
	clock.Advance(75 * 24 * time.Hour) // 3 February
	for _, tt := range []struct {
		months  int
		close   bool
		verdict verdict
		message string
	}{
		{0, false, good, "calls, deliveries and events of all months stay"},
		{3, false, good, "months retained before this one: 3; older months stored: 0"},
		{2, false, warn, "months retained before this one: 2; older months stored: 1; 2026-11 is retained because its books are not closed"},
		{2, true, good, "months retained before this one: 2; older months stored: 1; 2026-11 is removed in 7 days"},
		{1, true, warn, "months retained before this one: 1; older months stored: 2; 2026-11 is removed in 7 days; 2026-12 is removed in 7 days"},
	} {
		s := db.OpenAs(t, store.Config{Now: clock.Now, RetentionMonths: tt.months})
		if tt.close {
			if err := s.CloseMonths(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		f := checkRetention(t.Context(), s)
		if f.Verdict != tt.verdict || f.Message != tt.message || (f.Remedy == "") != (tt.verdict == good) {
			t.Errorf("%d months: got %+v, want %s: %s", tt.months, f, tt.verdict, tt.message)
		}
	}
}

// TestDoctorMakesNothing looks at a machine on which the service never ran.
func TestDoctorMakesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts all engines")
	}
	dir := filepath.Join(t.TempDir(), "absent")
	r := relaypdf(t, "doctor", "--data-dir", dir)
	if r.code != 0 || !isAbsent(dir) {
		t.Errorf("got %+v, want a healthy machine and no data folder", r)
	}
	if !strings.Contains(r.out, "ok    render       one page, ") {
		t.Errorf("got %q, want a line for the rendered page", r.out)
	}
}

// TestDoctorActsAsTheOwner examines, as root, the machine of a service that runs as the user nobody.
func TestDoctorActsAsTheOwner(t *testing.T) {
	dir := sharedtest.ForeignFolder(t)
	if r := runProgram(t, nil, "accounts", "create", "ada@example.com", "--data-dir", dir); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	r := runProgram(t, nil, "doctor", "--json", "--data-dir", dir)
	d := decodeJSON[diagnosis](t, r.out)
	if r.code != 0 || d.of("user").Message != "acting as user nobody" || d.of("render").Verdict != good {
		t.Errorf("got %+v, want a page rendered as nobody", r)
	}
	checkOwner(t, dir)
}

// inwardNames leads every name to one address.
type inwardNames string

func (n inwardNames) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr(string(n))}, nil
}

func TestDoctorKnowsTheOwnAddress(t *testing.T) {
	for _, tt := range []struct {
		name, baseURL, leadsTo, header string
		verdict                        verdict
		says                           string
	}{
		{name: "not public", baseURL: "http://localhost:8787", leadsTo: "9.9.9.9", verdict: good, says: "not public"},
		{name: "of an interface", baseURL: "https://docs.example", leadsTo: "8.8.4.4", verdict: good, says: "cannot reach docs.example"},
		{name: "private", baseURL: "https://docs.example", leadsTo: "10.0.0.9", verdict: good, says: "cannot reach docs.example"},
		{name: "behind NAT", baseURL: "https://docs.example", leadsTo: "9.9.9.9", verdict: warn, says: "docs.example leads to 9.9.9.9"},
		{name: "behind a proxy", baseURL: "https://docs.example", leadsTo: "9.9.9.9", header: "Fly-Client-IP", verdict: good, says: "the proxy at 9.9.9.9"},
	} {
		config := app.Config{BaseURL: tt.baseURL, TrustedIPHeader: tt.header}
		interfaces := func() ([]net.Addr, error) {
			return []net.Addr{&net.IPNet{IP: net.IPv4(8, 8, 4, 4), Mask: net.CIDRMask(24, 32)}}, nil
		}
		found := ownAddress(t.Context(), config, egress.Config{Resolver: inwardNames(tt.leadsTo), Interfaces: interfaces})
		if len(found) != 1 || found[0].Verdict != tt.verdict || !strings.Contains(found[0].Message, tt.says) {
			t.Errorf("%s: got %+v, want %s and %q", tt.name, found, tt.verdict, tt.says)
		}
	}
}
