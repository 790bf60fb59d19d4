package e2e

import (
	"context"
	"database/sql"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// freezeTime is the duration for which the process of TestFrozenProcessHoldsUpNoOtherAccount is frozen. Most calls of
// others take less than freezeP95 meanwhile, or on a busy machine less than freezeFactor times what they took before.
const (
	freezeTime   = time.Minute
	freezeP95    = 2 * time.Second
	freezeFactor = 5
)

// TestFrozenProcessHoldsUpNoOtherAccount freezes one of two processes for a minute while an account makes calls
// that succeed and calls that fail at both: calls of another account to the healthy process stay quick, and the
// ledger is consistent afterwards.
func TestFrozenProcessHoldsUpNoOtherAccount(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	c := newCrashBench(t, storetest.Postgres(t))
	other, err := c.store.CreateAccount(t.Context(), "other@example.com", 5*credit.Dollar)
	if err != nil {
		t.Fatal(err)
	}
	_, secret, err := c.store.CreateKey(t.Context(), store.NewKey{AccountID: other.ID, Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	frozen, healthy := c.start("none"), c.start("none")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var load sync.WaitGroup
	var done atomic.Int64
	for n, at := range []*crashServer{frozen, healthy, frozen, healthy, frozen, healthy} {
		body := `{"type":"qr","text":"a"}`
		if n < 4 {
			body = `{"type":"ean13","text":"not a number"}` // fails after its hold
		}
		load.Go(func() {
			for ctx.Err() == nil {
				barcode(ctx, at, c.secret, body)
				done.Add(1)
			}
		})
	}
	for deadline := time.Now().Add(crashPatience); done.Load() < 100; <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the load has made %d calls", done.Load())
		}
	}

	made, failures := 0, 0
	// p95 makes calls of the other account for a while, and returns what most of them take.
	p95 := func(while time.Duration) time.Duration {
		var took []time.Duration
		for begin := time.Now(); time.Since(begin) < while; <-time.After(50 * time.Millisecond) {
			sent := time.Now()
			if status := barcode(t.Context(), healthy, secret, `{"type":"qr","text":"b"}`); status != http.StatusOK {
				failures++
				t.Errorf("another account's call: status %d after %v", status, time.Since(sent))
			}
			took = append(took, time.Since(sent))
		}
		made += len(took)
		slices.Sort(took)
		return took[len(took)*95/100]
	}
	before := p95(freezeTime / 4)
	if err := frozen.process.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	meanwhile := p95(freezeTime)
	frozen.wake()
	stop()
	load.Wait()

	if limit := max(freezeP95, freezeFactor*before); meanwhile > limit || failures > 0 {
		t.Errorf("p95 of another account's calls is %v, after %v before; %d of %d failed; want at most %v and none", meanwhile, before, failures, made, limit)
	}
	frozen.end(syscall.SIGTERM)
	healthy.end(syscall.SIGTERM)
	c.start("none").end(syscall.SIGTERM) // A starting process releases the holds of earlier ones.
	for _, account := range []store.Account{c.account, other} {
		if a, err := c.store.Account(t.Context(), account.ID); err != nil || a.Held != 0 {
			t.Errorf("%v of %s is held, %v", a.Held, a.Email, err)
		}
	}
	var charged int
	db, err := sql.Open("pgx", c.database.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.QueryRowContext(t.Context(), "SELECT count(*) FROM calls WHERE account_id = $1 AND status = 'done'", other.ID).Scan(&charged)
	if err != nil || charged != made-failures {
		t.Errorf("%d calls of the other account were charged, %v; %d were answered", charged, err, made-failures)
	}
	if report, err := c.store.CheckLedger(t.Context()); err != nil || !report.OK() {
		t.Errorf("ledger %+v, %v", report, err)
	}
}

// barcode makes a call, and returns its status; 0 if there was none.
func barcode(ctx context.Context, at *crashServer, secret, body string) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, at.url+"/v1/barcodes", strings.NewReader(body))
	if err != nil {
		return 0
	}
	request.Header.Set("Authorization", "Bearer "+secret)
	request.Header.Set("Content-Type", "application/json")
	response, err := new(http.Client).Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}
