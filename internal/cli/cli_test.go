package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/cli/operator"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// ran is the result of a command line.
type ran struct {
	code     int
	out, err string
}

// relaypdf runs a command line of the product in this process.
func relaypdf(t testing.TB, args ...string) ran {
	t.Helper()
	return runRows(t, operation.Rows, "", args...)
}

// runRows runs a command line of a program that is a client for the rows.
func runRows(t testing.TB, rows []schema.Definition[*operation.Deps], stdin string, args ...string) ran {
	t.Helper()
	root, err := newProgram(rows).root()
	if err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	root.SetArgs(args)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&errOut)
	code := execute(t.Context(), root)
	return ran{code, out.String(), errOut.String()}
}

// mustRun runs a command line that has to succeed and returns what it printed.
func mustRun(t testing.TB, args ...string) string {
	t.Helper()
	r := relaypdf(t, args...)
	if r.code != 0 {
		t.Fatalf("relaypdf %q: exit code %d: %s", args, r.code, r.err)
	}
	return r.out
}

func decodeJSON[T any](t testing.TB, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}

// dataDir returns the flag of a data folder with one account, ada@example.com.
func dataDir(t testing.TB) (dir, flag string) {
	t.Helper()
	dir = t.TempDir()
	flag = "--data-dir=" + dir
	mustRun(t, "accounts", "create", "ada@example.com", flag)
	return dir, flag
}

func openData(t testing.TB, dir string) *store.Store {
	t.Helper()
	return storetest.DB{URL: "sqlite://" + dir + "/relaypdf.db", DataDir: dir}.Open(t, nil)
}

func TestAccounts(t *testing.T) {
	dir := t.TempDir()
	data := "--data-dir=" + dir
	created := relaypdf(t, "accounts", "create", "Ada@example.com", data, "--trial", "1.50")
	if ok, _ := regexp.MatchString(`^acc_[a-z0-9]+\n$`, created.out); created.code != 0 || !ok {
		t.Fatalf("got %+v, want only the id on standard output", created)
	}
	if got, want := mustRun(t, "accounts", "credit", "ada@example.com", "2.25", data), "$3.75\n"; got != want {
		t.Errorf("credit: got %q, want %q", got, want)
	}
	if got, want := mustRun(t, "accounts", "credit", "ada@example.com", "--kind", "adjustment", data, "--", "-0.75"), "$3.00\n"; got != want {
		t.Errorf("debit: got %q, want %q", got, want)
	}
	if got, want := mustRun(t, "accounts", "credit", "ada@example.com", "0.75", "--kind", "adjustment", data), "$3.75\n"; got != want {
		t.Errorf("credit: got %q, want %q", got, want)
	}
	mustRun(t, "accounts", "suspend", "ADA@EXAMPLE.COM", "--reason", "unpaid", data)
	list := decodeJSON[struct{ Accounts []operator.AccountLine }](t, mustRun(t, "accounts", "list", "--json", data))
	if len(list.Accounts) != 1 {
		t.Fatalf("got %+v, want one account", list)
	}
	got := list.Accounts[0]
	want := operator.AccountLine{
		ID: strings.TrimSpace(created.out), Email: "ada@example.com", Plan: store.PlanPaid, BalanceMicrodollars: 3_750_000,
		Suspended: true, SuspendReason: "unpaid", CreatedAt: got.CreatedAt,
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if text := mustRun(t, "accounts", "list", data); !strings.Contains(text, "suspended (unpaid)") || !strings.Contains(text, "$3.75") {
		t.Errorf("got table %q, want the status and the balance", text)
	}
	mustRun(t, "accounts", "resume", "ada@example.com", data)
	if text := mustRun(t, "accounts", "list", data); strings.Contains(text, "suspended") {
		t.Errorf("got table %q, want an active account", text)
	}
	report, err := openData(t, dir).CheckLedger(t.Context())
	if err != nil || !report.OK() || report.Wallets != 3_750_000 {
		t.Errorf("got ledger %+v and %v, want a sound one with 3750000 in wallets", report, err)
	}
}

func TestKeysCreatePrintsOnlyTheKey(t *testing.T) {
	dir, data := dataDir(t)
	for _, tt := range []struct {
		args   []string
		prefix string
	}{
		{nil, "pdf_live_"},
		{[]string{"--test"}, "pdf_test_"},
	} {
		r := relaypdf(t, append([]string{"keys", "create", "--account", "ada@example.com", data}, tt.args...)...)
		if ok, _ := regexp.MatchString("^"+tt.prefix+"[0-9A-Za-z]{40}\n$", r.out); r.code != 0 || !ok {
			t.Errorf("%v: got %+v, want exactly one line with a key", tt.args, r)
		}
		if strings.Contains(r.err, strings.TrimSpace(r.out)) {
			t.Errorf("%v: the key is on standard error too: %s", tt.args, r.err)
		}
		if _, account, err := openData(t, dir).KeyBySecret(t.Context(), strings.TrimSpace(r.out)); err != nil || account.Email != "ada@example.com" {
			t.Errorf("%v: got account %q and %v, want the key to work", tt.args, account.Email, err)
		}
	}
}

func TestKeys(t *testing.T) {
	_, data := dataDir(t)
	mustRun(t, "keys", "create", "--account", "ada@example.com", "--name", "ci", "--expires", "2099-01-31",
		"--spend-limit", "0.5", "--operations", "pdf.create,images.create", data)
	list := func() operator.KeyLine {
		t.Helper()
		keys := decodeJSON[struct{ Keys []operator.KeyLine }](t, mustRun(t, "keys", "list", "--account", "ada@example.com", "--json", data)).Keys
		if len(keys) != 1 {
			t.Fatalf("got %+v, want one key", keys)
		}
		return keys[0]
	}
	key := list()
	if key.Name != "ci" || key.Status != "active" || key.SpendLimitMicrodollars == nil || *key.SpendLimitMicrodollars != credit.Dollar/2 ||
		!slices.Equal(key.Operations, []string{"pdf.create", "images.create"}) ||
		key.ExpiresAt == nil || !key.ExpiresAt.Equal(time.Date(2099, 1, 31, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("got %+v, want what the flags said", key)
	}
	if text := mustRun(t, "keys", "list", "--account", "ada@example.com", data); !strings.Contains(text, "2099-01-31") || !strings.Contains(text, key.Prefix) {
		t.Errorf("got table %q, want the expiry and the prefix", text)
	}
	mustRun(t, "keys", "revoke", "--account", "ada@example.com", key.ID, data)
	if got := list().Status; got != "revoked" {
		t.Errorf("got status %q, want revoked", got)
	}
}

// TestMistakes checks exit code and message of operators' mistakes.
func TestMistakes(t *testing.T) {
	_, data := dataDir(t)
	absent := filepath.Join(t.TempDir(), "absent")
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"accounts", "create", "ada@example.com", data}, 2, "ada@example.com has an account already"},
		{[]string{"accounts", "create", "ada", data}, 2, `"ada" is not an email address`},
		{[]string{"accounts", "create", data}, 2, "accepts 1 arg(s), received 0; usage: relaypdf accounts create EMAIL [flags]"},
		{[]string{"accounts", "credit", "bob@example.com", "1", data}, 2, "no account has the email address bob@example.com"},
		{[]string{"accounts", "credit", "ada@example.com", "-1", data}, 2, "Write -- before an amount below zero"},
		{[]string{"accounts", "credit", "ada@example.com", data, "--", "-1"}, 2, `"-1" is below 0; only --kind adjustment accepts that`},
		{[]string{"accounts", "credit", "ada@example.com", "--kind", "adjustment", data, "--", "-0"}, 2, `"-0" is not an amount`},
		{[]string{"accounts", "credit", "ada@example.com", "0", data}, 2, `"0" is not an amount in dollars above 0`},
		{[]string{"accounts", "lst", data}, 2, "did you mean list?"},
		{[]string{"pdf", "info", "file_01"}, 2, `the file "file_01" does not exist; name one that the service keeps by --file-id`},
		{[]string{"accounts", "list", "--data-dir", absent}, 2, "no database at " + absent},
		{[]string{"accounts", "list", "--data-dir", "/proc/nowhere"}, 2, "no database at"},
		{[]string{"accounts", "create", "a@b.c", "--data-dir", "/proc/nowhere"}, 1, "/proc/nowhere"},
		{[]string{"accounts", "list", "--blobs", "s3://x", data}, 2, "RELAYPDF_BLOBS"},
		{[]string{"keys", "create", data}, 2, "--account is missing"},
		{[]string{"keys", "create", "--account", "bob@example.com", data}, 2, "no account has the email address"},
		{[]string{"keys", "create", "--account", "ada@example.com", "--operations", "pdf.crate", data}, 2, `"pdf.crate" is not an operation; the operations are pdf.create, `},
		{[]string{"keys", "create", "--account", "ada@example.com", "--spend-limit", "much", data}, 2, "--spend-limit"},
		{[]string{"keys", "create", "--account", "ada@example.com", "--expires", "1h ago", data}, 2, "--expires"},
		{[]string{"keys", "revoke", "--account", "ada@example.com", "key_x", data}, 2, "has no key with the id key_x"},
		{[]string{"keys", "list", data}, 2, "--account is missing"},
		{[]string{"nonsense"}, 2, `unknown command "nonsense"`},
		{[]string{"routes", "--nonsense"}, 2, "unknown flag: --nonsense; see relaypdf routes --help"},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			got := relaypdf(t, tt.args...)
			if got.code != tt.code || !strings.Contains(got.err, tt.want) {
				t.Errorf("got exit code %d and %q, want %d and %q", got.code, got.err, tt.code, tt.want)
			}
			if got.out != "" {
				t.Errorf("got %q on standard output, want nothing", got.out)
			}
		})
	}
	if !console.IsAbsent(absent) {
		t.Errorf("%s was made by a command that only reads", absent)
	}
}

// TestAdministrationDuringARunningServer changes accounts and keys while
// another process, as a server would, holds the database open and writes.
// TestLoginLinkHasTheURLOfTheServer: without a setting, a link is to the server that started last on the data.
func TestLoginLinkHasTheURLOfTheServer(t *testing.T) {
	dir, data := dataDir(t)
	link := func(args ...string) ran {
		t.Helper()
		r := relaypdf(t, append([]string{"people", "link", "ada@example.com", data}, args...)...)
		if r.code != 0 {
			t.Fatalf("got %+v", r)
		}
		return r
	}

	if r := link(); !strings.HasPrefix(r.out, "http://localhost:8787/login/link?token=") || !strings.Contains(r.err, "No server has started") {
		t.Errorf("without a server: got %+v", r)
	}

	s := openData(t, dir)
	for _, url := range []string{"http://localhost:8811", "https://pdf.example.com"} {
		if err := s.SetBaseURL(t.Context(), url); err != nil {
			t.Fatal(err)
		}
		if r := link(); !strings.HasPrefix(r.out, url+"/login/link?token=") || r.err != "" {
			t.Errorf("of the server at %s: got %+v", url, r)
		}
	}
	if r := link("--base-url", "https://other.example.com"); !strings.HasPrefix(r.out, "https://other.example.com/login/link") {
		t.Errorf("with a setting: got %+v", r)
	}
}

func TestAdministrationDuringARunningServer(t *testing.T) {
	dir, data := dataDir(t)
	s := openData(t, dir)
	ada, err := s.AccountByEmail(t.Context(), "ada@example.com")
	if err != nil {
		t.Fatal(err)
	}
	busy, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			select {
			case <-busy:
				stopped <- nil
				return
			case <-time.After(time.Millisecond): // SQLite's lock is not fair
				err = s.Credit(t.Context(), ada.ID, credit.Cent, store.NewID("busy"))
			}
		}
		stopped <- err
	}()
	for range 3 {
		r := runProgram(t, nil, "keys", "create", "--account", "ada@example.com", data)
		if r.code != 0 {
			t.Errorf("got %+v, want a key", r)
		} else if _, _, err := s.KeyBySecret(t.Context(), strings.TrimSpace(r.out)); err != nil {
			t.Errorf("the running server does not know the new key: %v", err)
		}
	}
	close(busy)
	if err := <-stopped; err != nil {
		t.Errorf("the running server was disturbed: %v", err)
	}
}

func TestBackupAndRestore(t *testing.T) {
	dir, data := dataDir(t)
	folder := filepath.Join(dir, "blobs")
	blobs, err := blob.NewDisk(folder)
	if err != nil {
		t.Fatal(err)
	}
	addFile(t, openData(t, dir), blobs, "kept")
	archive := filepath.Join(t.TempDir(), "relaypdf.tgz")
	mustRun(t, "backup", archive, data)
	if again := relaypdf(t, "backup", archive, data); again.code != 2 || !strings.Contains(again.err, "exists already") {
		t.Errorf("got %+v, want a refusal to overwrite", again)
	}
	if info, err := os.Stat(archive); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v and %v, want an archive that only its owner reads", info, err)
	}

	for _, tt := range []struct{ from, stdin string }{{archive, ""}, {"-", mustRun(t, "backup", "-", data)}} {
		restored := filepath.Join(t.TempDir(), "new")
		r := runRows(t, operation.Rows, tt.stdin, "restore", tt.from, "--data-dir", restored)
		if r.code != 0 {
			t.Fatalf("restore %s: %+v", tt.from, r)
		}
		if got := mustRun(t, "accounts", "list", "--data-dir", restored); !strings.Contains(got, "ada@example.com") {
			t.Errorf("got %q, want the account", got)
		}
		// The folder where a server with these settings looks for it.
		found, err := blob.NewDisk(filepath.Join(restored, "blobs"))
		if err != nil {
			t.Fatal(err)
		}
		r1, _, err := found.Open(t.Context(), "kept")
		if err != nil {
			t.Fatalf("the stored file was not restored: %v", err)
		}
		if err := r1.Close(); err != nil {
			t.Error(err)
		}
		if again := relaypdf(t, "restore", archive, "--data-dir", restored); again.code != 2 || !strings.Contains(again.err, "empty") {
			t.Errorf("got %+v, want a refusal of a folder in use", again)
		}
	}
}

// addFile gives a finished call of the only account a file with this blob.
func addFile(t testing.TB, s *store.Store, blobs blob.Store, key string) {
	t.Helper()
	ctx := t.Context()
	ada, err := s.AccountByEmail(ctx, "ada@example.com")
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := s.CreateKey(ctx, store.NewKey{AccountID: ada.ID})
	if err != nil {
		t.Fatal(err)
	}
	size, err := blobs.Put(ctx, key, strings.NewReader("content"))
	if err != nil {
		t.Fatal(err)
	}
	lease, err := s.Acquire(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lease.Close() })
	now := time.Now()
	result := store.NewID("file")
	call := store.NewCall{
		ID: store.CallID(result), ResultID: result, AccountID: ada.ID, KeyID: made.ID,
		Operation: "pdf.create", Mode: schema.URL, Quote: 2000, Lease: lease.ID(),
	}
	file := store.File{
		ID: call.ResultID, AccountID: ada.ID, CallID: call.ID, Filename: "a.pdf", ContentType: "application/pdf",
		Size: size, BlobKey: key, CreatedAt: now, ExpiresAt: now.Add(time.Hour),
	}
	if err := errors.Join(s.Begin(ctx, call), s.Settle(ctx, store.Settlement{CallID: call.ID, Charge: 2000, File: &file}), lease.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestBrokenArchives(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"restore", "-"}, "not a usable backup"},
		{[]string{"restore", filepath.Join(dir, "nowhere.tgz")}, "no such file"},
		{[]string{"restore", "-", "--database-url", "postgres://u:p@h/d"}, "pg_restore"},
		{[]string{"restore", "-", "--database-url", "sqlite:///elsewhere/x.db"}, "RELAYPDF_DATABASE_URL is elsewhere"},
	} {
		r := runRows(t, operation.Rows, "no archive", append(tt.args, "--data-dir", dir)...)
		if r.code != 2 || !strings.Contains(r.err, tt.want) {
			t.Errorf("%q: got %+v, want exit code 2 and %q", tt.args, r, tt.want)
		}
	}
	// A backup that fails leaves no file.
	archive := filepath.Join(t.TempDir(), "x.tgz")
	if r := relaypdf(t, "backup", archive, "--data-dir", filepath.Join(dir, "absent")); r.code != 2 || !console.IsAbsent(archive) {
		t.Errorf("got %+v, want a failure without an archive", r)
	}
}

func TestRoutes(t *testing.T) {
	out := mustRun(t, "routes")
	routes, err := api.Routes()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Count(out, "\n"), len(routes)+1; got != want {
		t.Errorf("got %d lines, want %d:\n%s", got, want, out)
	}
	for _, want := range []string{`(?m)^POST +/v1/pdf +key +Create a PDF`, `(?m)^GET +/health +public `} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no line matches %s:\n%s", want, out)
		}
	}
}

// TestEveryCodeHasAnExitCode keeps the table of exit codes complete.
func TestEveryCodeHasAnExitCode(t *testing.T) {
	for _, code := range wire.Codes() {
		classes := 0
		for _, class := range exitClasses {
			if slices.Contains(class.codes, code) {
				classes++
			}
		}
		if classes != 1 {
			t.Errorf("%s stands in %d classes of exit codes, want 1", code, classes)
		}
	}
	for n, class := range exitClasses {
		if slices.ContainsFunc(exitClasses[n+1:], func(other exitClass) bool { return other.code == class.code }) {
			t.Errorf("exit code %d stands for two classes", class.code)
		}
	}
}

// TestExitCodesStandInTheGuide holds the guide's table to the codes.
func TestExitCodesStandInTheGuide(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "guides", "command-line.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range exitClasses {
		name, meaning, named := strings.Cut(class.meaning, ": ")
		if !named || class.code == exitFailed {
			name, meaning = "", strings.TrimPrefix(class.meaning, "failed: ")
		}
		row := strings.Join(strings.Fields(fmt.Sprintf("| %d | %s | %s |", class.code, name, meaning)), " ")
		if !strings.Contains(string(guide), "\n"+row+"\n") {
			t.Errorf("the guide lacks the row %s", row)
		}
	}
	if rows := regexp.MustCompile(`(?m)^\| \d+ \|`).FindAll(guide, -1); len(rows) != len(exitClasses) {
		t.Errorf("the guide has %d rows for %d exit codes", len(rows), len(exitClasses))
	}
}

// TestGoldenCommands holds every command and flag: the diff is the review of a
// change to the command line.
func TestGoldenCommands(t *testing.T) {
	root, err := newProgram(operation.Rows).root()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	listCommands(&text, root)
	apitest.Golden(t, "commands.golden", text.Bytes())
}

func listCommands(w *bytes.Buffer, cmd *cobra.Command) {
	if cmd.Runnable() && !cmd.Hidden {
		w.WriteString(cmd.UseLine() + "\n")
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			name := "--" + f.Name
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + ", " + name
			}
			w.WriteString("  " + name + " " + f.Value.Type() + "\n")
		})
	}
	for _, sub := range cmd.Commands() {
		listCommands(w, sub)
	}
}
