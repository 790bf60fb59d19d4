package cli

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/cli/operator"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// diagnosis is the output of `doctor --json`.
type diagnosis struct {
	OK       bool
	Findings []operator.Finding
}

func (d diagnosis) of(check string) operator.Finding {
	for _, f := range d.Findings {
		if f.Check == check {
			return f
		}
	}
	return operator.Finding{}
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
		if f := d.of(check); f.Verdict != "ok" && (f.Verdict != "warn" || f.Remedy == "") {
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
			if r.code != 1 || d.OK || f.Verdict != "fail" || !strings.Contains(f.Message, tt.want) || f.Remedy == "" {
				t.Errorf("got exit code %d and %+v, want a failure with %q and a remedy", r.code, f, tt.want)
			}
			want := operator.Finding{Check: "render", Verdict: "warn", Message: "skipped, because the check chromium failed", Remedy: "fix chromium, then run relaypdf doctor again"}
			if f := d.of("render"); tt.check != "settings" && f != want {
				t.Errorf("got %+v, want %+v: without a browser it would only wait", f, want)
			}
		})
	}
}

// TestDoctorMakesNothing looks at a machine on which the service never ran.
func TestDoctorMakesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts all engines")
	}
	dir := filepath.Join(t.TempDir(), "absent")
	r := relaypdf(t, "doctor", "--data-dir", dir)
	if r.code != 0 || !console.IsAbsent(dir) {
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
	if r.code != 0 || d.of("user").Message != "acting as user nobody" || d.of("render").Verdict != "ok" {
		t.Errorf("got %+v, want a page rendered as nobody", r)
	}
	checkOwner(t, dir)
}
