package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

const trial = 5 * credit.Dollar

// noon is the start of the tests' clocks.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// fixture is a store with one account, one key and a live lease.
type fixture struct {
	*store.Store
	clock *storetest.Clock
	acc   store.Account
	key   store.Key
	lease string
}

// each runs the test with a fixture on either database.
func each(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		f := newFixture(t, db)
		test(t, f)
		f.sound(t)
	})
}

func newFixture(t testing.TB, db storetest.DB) *fixture {
	t.Helper()
	return newFixtureAs(t, db, store.Config{})
}

// newFixtureAs is newFixture with settings, but for the clock.
func newFixtureAs(t testing.TB, db storetest.DB, cfg store.Config) *fixture {
	t.Helper()
	clock := storetest.NewClock(noon)
	cfg.Now = clock.Now
	f := &fixture{Store: db.OpenAs(t, cfg), clock: clock}
	lease, err := f.Acquire(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lease.Close() })
	f.lease = lease.ID()
	f.acc = f.newAccount(t, "ada@example.com", trial)
	f.key, _, err = f.CreateKey(t.Context(), store.NewKey{AccountID: f.acc.ID, Name: "first"})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) newAccount(t testing.TB, email string, balance credit.Amount) store.Account {
	t.Helper()
	acc, err := f.CreateAccount(t.Context(), email, balance)
	if err != nil {
		t.Fatal(err)
	}
	return acc
}

// newCall returns a call of the fixture's account that quotes the amount.
func (f *fixture) newCall(quote credit.Amount) store.NewCall {
	result := f.NewID("file")
	return store.NewCall{
		ID: store.CallID(result), ResultID: result, AccountID: f.acc.ID, KeyID: f.key.ID,
		Operation: "pdf.create", Mode: "binary", RequestID: "req-1", Quote: quote, Lease: f.lease,
	}
}

// begin begins a call that must be accepted.
func (f *fixture) begin(t testing.TB, c store.NewCall) store.NewCall {
	t.Helper()
	if err := f.Begin(t.Context(), c); err != nil {
		t.Fatalf("Begin: %v", err)
	}
	return c
}

func (f *fixture) settle(t testing.TB, callID string, charge credit.Amount) {
	t.Helper()
	if err := f.Settle(t.Context(), store.Settlement{CallID: callID, Charge: charge}); err != nil {
		t.Fatalf("Settle: %v", err)
	}
}

func (f *fixture) release(t testing.TB, callID string) {
	t.Helper()
	if err := f.Release(t.Context(), callID, store.Failure{Code: "render_failed", Message: "the page did not load"}, nil); err != nil {
		t.Fatalf("Release: %v", err)
	}
}

// wallet checks the fixture account's balance, holds and spending of the day.
func (f *fixture) wallet(t testing.TB, balance, held, today credit.Amount) {
	t.Helper()
	acc, err := f.Account(context.WithoutCancel(t.Context()), f.acc.ID)
	if err != nil {
		t.Fatal(err)
	}
	if acc.Balance != balance || acc.Held != held || acc.SpentToday != today {
		t.Errorf("wallet: got balance %d, held %d, today %d; want %d, %d, %d",
			acc.Balance, acc.Held, acc.SpentToday, balance, held, today)
	}
}

// spent checks the amount that counts towards the spending limit of the fixture's key.
func (f *fixture) spent(t testing.TB, want credit.Amount) {
	t.Helper()
	keys, err := f.Keys(t.Context(), f.acc.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if k.ID == f.key.ID && k.Spent != want {
			t.Errorf("key spent: got %d, want %d", k.Spent, want)
		}
	}
}

// sound checks that the ledger is consistent.
func (f *fixture) sound(t testing.TB) {
	t.Helper()
	report, err := f.CheckLedger(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Problems {
		t.Errorf("ledger: %s", p)
	}
}

func TestCallIsHeldThenSettled(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.wallet(t, trial, 0, 0)
		c := f.begin(t, f.newCall(2000))
		f.wallet(t, trial-2000, 2000, 2000)
		f.spent(t, 2000)
		got, err := f.Call(t.Context(), c.ID)
		if err != nil || got.Status != store.CallRunning || got.Quote != 2000 || got.Charge != 0 || !got.CreatedAt.Equal(noon) || got.EndedAt != nil {
			t.Errorf("running call: got %+v, %v", got, err)
		}

		f.clock.Advance(time.Second)
		end := store.Settlement{CallID: c.ID, Charge: 1500, Duration: 1234567 * time.Microsecond, Steps: "load 700,print 534"}
		if err := f.Settle(t.Context(), end); err != nil {
			t.Fatal(err)
		}
		f.wallet(t, trial-1500, 0, 1500)
		f.spent(t, 1500)
		got, err = f.CallByResult(t.Context(), c.ResultID)
		if err != nil || got.ID != c.ID || got.Status != store.CallDone || got.Charge != 1500 ||
			got.Duration != end.Duration || got.Steps != end.Steps || got.EndedAt == nil || !got.EndedAt.Equal(noon.Add(time.Second)) {
			t.Errorf("settled call: got %+v, %v", got, err)
		}
		if got.AccountID != f.acc.ID || got.KeyID != f.key.ID || got.Operation != "pdf.create" || got.Mode != "binary" || got.RequestID != "req-1" || got.Lease != f.lease {
			t.Errorf("settled call: got %+v", got)
		}
	})
}

func TestReleaseReturnsEverything(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		c := f.begin(t, f.newCall(2000))
		f.release(t, c.ID)
		f.wallet(t, trial, 0, 0)
		f.spent(t, 0)
		got, err := f.Call(t.Context(), c.ID)
		want := store.Failure{Code: "render_failed", Message: "the page did not load"}
		if err != nil || got.Status != store.CallFailed || got.Failure != want || got.EndedAt == nil {
			t.Errorf("released call: got %+v, %v", got, err)
		}
	})
}

func TestEndsRepeatedAndCrossed(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		settled := f.begin(t, f.newCall(2000))
		f.settle(t, settled.ID, 1500)
		f.settle(t, settled.ID, 1500)
		f.release(t, settled.ID)
		f.wallet(t, trial-1500, 0, 1500)
		if err := f.Settle(t.Context(), store.Settlement{CallID: settled.ID, Charge: 1}); !errors.Is(err, store.ErrCallEnded) {
			t.Errorf("settle with another charge: got %v, want ErrCallEnded", err)
		}

		released := f.begin(t, f.newCall(700))
		f.release(t, released.ID)
		f.release(t, released.ID)
		if err := f.Settle(t.Context(), store.Settlement{CallID: released.ID, Charge: 700}); !errors.Is(err, store.ErrCallEnded) {
			t.Errorf("settle after release: got %v, want ErrCallEnded", err)
		}
		f.wallet(t, trial-1500, 0, 1500)
		f.spent(t, 1500)

		running := f.begin(t, f.newCall(100))
		if err := f.Settle(t.Context(), store.Settlement{CallID: running.ID, Charge: 101}); err == nil {
			t.Error("a charge above the quote was settled")
		}
		if err := f.Settle(t.Context(), store.Settlement{CallID: running.ID, Charge: -1}); err == nil {
			t.Error("a negative charge was settled")
		}
		f.wallet(t, trial-1600, 100, 1600)
		for what, err := range map[string]error{
			"Settle":  f.Settle(t.Context(), store.Settlement{CallID: "call_none"}),
			"Release": f.Release(t.Context(), "call_none", store.Failure{}, nil),
			"Call":    second(f.Call(t.Context(), "call_none")),
		} {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s of an unknown call: got %v, want ErrNotFound", what, err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

// TestSettleAndReleaseRace ends each call twice at once: exactly one end wins.
func TestSettleAndReleaseRace(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		var settled credit.Amount
		for range 10 {
			c := f.begin(t, f.newCall(1000))
			var wg sync.WaitGroup
			var settleErr error
			wg.Go(func() { settleErr = f.Settle(t.Context(), store.Settlement{CallID: c.ID, Charge: 1000}) })
			wg.Go(func() { _ = f.Release(t.Context(), c.ID, store.Failure{Code: "timeout"}, nil) })
			wg.Wait()
			if settleErr == nil {
				settled += 1000
			} else if !errors.Is(settleErr, store.ErrCallEnded) {
				t.Errorf("Settle: got %v, want nil or ErrCallEnded", settleErr)
			}
		}
		f.wallet(t, trial-settled, 0, settled)
	})
}

func TestMeteredCallsHoldNothing(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		c := f.newCall(trial + 1)
		c.Metered = true
		f.begin(t, c)
		f.wallet(t, trial, 0, trial+1)
		f.settle(t, c.ID, trial)
		f.wallet(t, trial, 0, trial)
		usage, err := f.Usage(t.Context(), f.acc.ID, noon, noon)
		if err != nil || usage.Total != trial {
			t.Errorf("usage: got %+v, %v; want %d", usage, err, trial)
		}
		limit := credit.Amount(10)
		if err := f.SetLimits(t.Context(), store.Author{AccountID: f.acc.ID}, store.Limits{MaxJob: &limit}); err != nil {
			t.Fatal(err)
		}
		var refused *store.LimitError
		c = f.newCall(11)
		c.Metered = true
		if err := f.Begin(t.Context(), c); !errors.As(err, &refused) {
			t.Errorf("a metered call above the owner's limit: got %v, want a LimitError", err)
		}
		free := f.newCall(0)
		f.begin(t, free)
		f.settle(t, free.ID, 0)
	})
}

func TestBeginRefusesIncompleteCalls(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for name, spoil := range map[string]func(*store.NewCall){
			"no id":                     func(c *store.NewCall) { c.ID = "" },
			"no result id":              func(c *store.NewCall) { c.ResultID = "" },
			"no account":                func(c *store.NewCall) { c.AccountID = "" },
			"no operation":              func(c *store.NewCall) { c.Operation = "" },
			"no lease":                  func(c *store.NewCall) { c.Lease = "" },
			"negative quote":            func(c *store.NewCall) { c.Quote = -1 },
			"absurd quote":              func(c *store.NewCall) { c.Quote = 1 << 60 },
			"key without hash of body":  func(c *store.NewCall) { c.IdempotencyKey = "k" },
			"account unknown":           func(c *store.NewCall) { c.AccountID = "acc_none" },
			"key unknown":               func(c *store.NewCall) { c.KeyID = "key_none" },
			"metered and beyond limits": func(c *store.NewCall) { c.Quote, c.Metered = 1<<60, true },
		} {
			c := f.newCall(10)
			spoil(&c)
			if err := f.Begin(t.Context(), c); err == nil {
				t.Errorf("%s: Begin accepted %+v", name, c)
			}
		}
		f.wallet(t, trial, 0, 0)
	})
}

// TestManyCallsOnOneWallet lets 32 goroutines spend a wallet that covers only
// some of their calls.
func TestManyCallsOnOneWallet(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		const workers, rounds, price = 32, 12, 1000
		poor := f.newAccount(t, "poor@example.com", 150*price)
		var mu sync.Mutex
		var charged credit.Amount
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for n := range rounds {
					c := f.newCall(price)
					c.AccountID, c.KeyID = poor.ID, ""
					var broke *store.FundsError
					err := f.Begin(t.Context(), c)
					if errors.As(err, &broke) {
						continue
					}
					if err == nil && (w+n)%4 == 0 {
						err = f.Release(t.Context(), c.ID, store.Failure{Code: "render_failed"}, nil)
					} else if err == nil {
						err = f.Settle(t.Context(), store.Settlement{CallID: c.ID, Charge: price / 2})
						mu.Lock()
						charged += price / 2
						mu.Unlock()
					}
					if err != nil {
						t.Errorf("worker %d: %v", w, err)
					}
				}
			})
		}
		wg.Wait()
		acc, err := f.Account(t.Context(), poor.ID)
		if err != nil || acc.Held != 0 || acc.Balance < 0 || acc.Balance != 150*price-charged || charged == 0 {
			t.Errorf("got %+v, %v; want a balance of %d and nothing held", acc, err, 150*price-charged)
		}
	})
}

// BenchmarkBeginSettle measures all writes of a paid call: hold, idempotency key, limits and settlement, two
// durable commits with SQLite. The throw-away PostgreSQL of the tests does not sync.
func BenchmarkBeginSettle(b *testing.B) {
	for name, db := range map[string]func(testing.TB) storetest.DB{store.SQLite: storetest.SQLite, store.Postgres: storetest.Postgres} {
		b.Run(name, func(b *testing.B) {
			f := newFixture(b, db(b))
			if err := f.Credit(b.Context(), f.acc.ID, 1_000_000*credit.Dollar, "bench"); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			var took []time.Duration
			for n := 0; b.Loop(); n++ {
				c := f.newCall(2000)
				c.IdempotencyKey, c.BodyHash = fmt.Sprint(n), []byte{1}
				start := time.Now()
				f.begin(b, c)
				f.settle(b, c.ID, 2000)
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-p50")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "µs-p95")
		})
	}
}
