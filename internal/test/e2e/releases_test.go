package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

const (
	// previousRelease is the commit whose binary has to run alongside this one, on the schema of this one: the oldest
	// that machines may still run during an upgrade. It moves forward with a release.
	previousRelease = "ff28f54aedef06ba45c0279f42aea4d2b11406d1"
	// previousVariable names an executable of that release, for checkouts without its history.
	previousVariable = "RELAYPDF_TEST_PREVIOUS"
)

// previousProgram builds the binary of the previous release from the history. The bundled npm packages are those of
// this release.
func previousProgram(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds another release")
	}
	if given := os.Getenv(previousVariable); given != "" {
		return given
	}
	root, dir := filepath.Join("..", "..", ".."), chaosFolder(t)
	run := func(command *exec.Cmd) error {
		out, err := command.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%v: %w\n%s", command.Args, err, out)
		}
		return nil
	}
	git := func(args ...string) error {
		return run(exec.Command("git", append([]string{"-c", "safe.directory=*", "-C", root}, args...)...))
	}
	if err := git("cat-file", "-e", previousRelease+"^{tree}"); err != nil {
		t.Fatalf("the previous release, %s, is not in this clone's history: run `git fetch --unshallow`, or set %s to a program of that release\n%v", previousRelease, previousVariable, err)
	}
	archive, source := filepath.Join(dir, "source.tar"), filepath.Join(dir, "source")
	if err := git("archive", "-o", archive, previousRelease); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(source, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := run(exec.Command("tar", "-x", "-f", archive, "-C", source)); err != nil {
		t.Fatal(err)
	}
	for _, bundled := range []string{"static/dist", "render/template/assets", "render/markup/assets"} {
		if _, err := os.Stat(filepath.Join(source, bundled)); err != nil {
			continue // It came later.
		}
		if err := run(exec.Command("cp", "-r", filepath.Join(root, bundled)+"/.", filepath.Join(source, bundled))); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "relaypdf")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "./cmd/relaypdf")
	build.Dir, build.Env = source, append(os.Environ(), "CGO_ENABLED=0")
	if err := run(build); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(source); err != nil {
		t.Fatal(err)
	}
	return program
}

// TestReleasesSideBySide upgrades machines from the previous release to this one: the schema grows under a process of
// the previous release; then either release runs jobs that the other one completes, knows the other's keys,
// idempotency keys and files, and can be restarted. Each call is charged once.
func TestReleasesSideBySide(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	previous, current := previousProgram(t), plainProgram(t)
	storetest.EachBareDB(t, func(t *testing.T, db storetest.DB) {
		c := &crashBench{t: t, database: db, env: []string{
			actAsProgram + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + db.DataDir, "RELAYPDF_LISTEN=127.0.0.1:0", "RELAYPDF_METRICS_LISTEN=",
			"RELAYPDF_BASE_URL=http://localhost:8787", "RELAYPDF_DATA_DIR=" + db.DataDir, "RELAYPDF_DATABASE_URL=" + db.URL,
			"RELAYPDF_RATE_LIMITS=off", "RELAYPDF_RENDER_SLOTS=1",
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 3*crashPatience)
		defer cancel()
		start := func(program, role string) *chaosServer {
			t.Helper()
			s := &chaosServer{program: program, env: append([]string{"RELAYPDF_ROLES=" + role, withoutOffice}, c.env...)}
			if err := s.start(); err != nil {
				t.Fatalf("%s, role %s: %v", program, role, err)
			}
			t.Cleanup(func() { s.end(syscall.SIGKILL) })
			return s
		}
		command := func(args ...string) string {
			t.Helper()
			cmd := exec.CommandContext(ctx, previous, args...)
			cmd.Env = c.env
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %v", args, err)
			}
			return strings.TrimSpace(string(out))
		}
		calls := 0
		// post makes a call, or asks for one again, and returns the id of its result.
		post := func(at *chaosServer, key, mode string, again bool) string {
			t.Helper()
			body := fmt.Sprintf(`{"type":"qr","text":%q,"response":%q}`, key, mode)
			response, err := c.send(ctx, at.address()+"/v1/barcodes", key, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusAccepted {
				t.Fatalf("%s: status %d: %s", key, response.StatusCode, text)
			}
			if !again {
				calls++
			}
			return response.Header.Get("x-service-id")
		}
		job := func(at *chaosServer, key string) string { t.Helper(); return post(at, key, "async", false) }
		await := func(ids ...string) {
			t.Helper()
			for _, id := range ids {
				c.awaitJob(ctx, id, id)
			}
		}

		account := command("accounts", "create", "both@example.com")
		c.secret = command("keys", "create", "--account", "both@example.com")
		oldAPI := start(previous, "api")
		before := job(oldAPI, "before")
		newAPI := start(current, "api") // which makes the schema grow
		c.store = db.Open(t, nil)
		begin, err := c.store.Account(ctx, account)
		if err != nil {
			t.Fatal(err)
		}
		c.account = begin
		ofOld, ofNew := job(oldAPI, "old"), job(newAPI, "new")

		worker := start(current, "worker")
		await(before, ofOld, ofNew)
		worker.end(syscall.SIGTERM)
		fromNew, fromOld := job(newAPI, "from new"), job(oldAPI, "from old")
		worker = start(previous, "worker")
		await(fromNew, fromOld)
		// Both work at the same time.
		start(current, "worker")
		var ids []string
		for i := range 12 {
			ids = append(ids, job([]*chaosServer{oldAPI, newAPI}[i%2], fmt.Sprintf("both %d", i)))
		}
		await(ids...)

		for key, id := range map[string]string{"before": before, "old": ofOld, "new": ofNew} {
			for _, at := range []*chaosServer{oldAPI, newAPI} {
				if got := post(at, key, "async", true); got != id {
					t.Errorf("asked again for %q: got the job %s, want %s", key, got, id)
				}
			}
		}
		kept := []string{post(oldAPI, "kept by old", "url", false), post(newAPI, "kept by new", "url", false), before, fromNew}
		for _, at := range []*chaosServer{oldAPI, newAPI} {
			for _, id := range kept {
				response, err := chaosHTTP.Get(at.address() + "/v1/files/" + id)
				if err != nil {
					t.Fatal(err)
				}
				content, err := io.ReadAll(response.Body)
				_ = response.Body.Close()
				if err != nil || response.StatusCode != http.StatusOK || len(content) < 100 {
					t.Errorf("file %s: status %d, %d bytes, %v", id, response.StatusCode, len(content), err)
				}
			}
		}

		after, err := c.store.Account(ctx, account)
		if err != nil || after.Held != 0 {
			t.Errorf("%v is held, %v", after.Held, err)
		}
		spent := begin.Balance + begin.Held - after.Balance
		price := spent / credit.Amount(calls)
		if price <= 0 || price*credit.Amount(calls) != spent {
			t.Errorf("%d calls cost %v, want each the same", calls, spent)
		}
		page, err := c.store.Calls(ctx, store.CallFilter{AccountID: account, List: store.List{Limit: store.MaxList}})
		if err != nil || len(page.Items) != calls {
			t.Errorf("there are %d calls, %v; want %d", len(page.Items), err, calls)
		}
		for _, call := range page.Items {
			if call.Status != store.CallDone || call.Charge != price {
				t.Errorf("call %s is %s and cost %v, want it done for %v", call.ID, call.Status, call.Charge, price)
			}
		}
		if report, err := c.store.CheckLedger(ctx); err != nil || !report.OK() {
			t.Errorf("ledger %+v, %v", report, err)
		}
		worker.end(syscall.SIGTERM)
		if state := worker.process.ProcessState; !state.Success() {
			t.Errorf("the previous release's worker left with %v", state)
		}
	})
}
