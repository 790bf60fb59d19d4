package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestQuotes: a price is valid for its account, its request, one call and a limited time; a failed call makes it
// valid again, and it is deleted in the end.
func TestQuotes(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		ctx, clock := t.Context(), storetest.NewClock(time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC))
		s := db.Open(t, clock)
		lease, err := s.Acquire(ctx, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer lease.Close()
		account, err := s.CreateAccount(ctx, "a@example.com", credit.Dollar)
		if err != nil {
			t.Fatal(err)
		}
		other, err := s.CreateAccount(ctx, "b@example.com", credit.Dollar)
		if err != nil {
			t.Fatal(err)
		}
		quote, err := s.NewQuote(ctx, account.ID, []byte("this"), 700)
		if err != nil || quote.Amount != 700 || !quote.ExpiresAt.Equal(clock.Now().Add(store.QuoteLifetime)) {
			t.Fatalf("promised %+v, %v", quote, err)
		}
		find := func(account, digest string, want error) {
			t.Helper()
			if _, err := s.Quote(ctx, account, quote.ID, []byte(digest)); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		find(account.ID, "this", nil)
		find(account.ID, "that", store.ErrQuoteOther)
		find(other.ID, "this", store.ErrNotFound)
		begin := func(accountID string, amount credit.Amount) (string, error) {
			result := s.NewID("file")
			id := store.CallID(result)
			return id, s.Begin(ctx, store.NewCall{
				ID: id, ResultID: result, AccountID: accountID, Operation: "templates.generate", Mode: "binary", Quote: amount, Lease: lease.ID(), QuoteID: quote.ID,
			})
		}
		for _, wrong := range []struct {
			account string
			amount  credit.Amount
		}{{account.ID, 699}, {other.ID, 700}} {
			if _, err := begin(wrong.account, wrong.amount); !errors.Is(err, store.ErrQuoteUsed) {
				t.Errorf("%+v: began with %v", wrong, err)
			}
		}
		id, err := begin(account.ID, 700)
		if err != nil {
			t.Fatal(err)
		}
		find(account.ID, "this", store.ErrQuoteUsed)
		if _, err := begin(account.ID, 700); !errors.Is(err, store.ErrQuoteUsed) {
			t.Errorf("a second call began with %v", err)
		}
		if err := s.Release(ctx, id, store.Failure{Code: "x"}, nil); err != nil {
			t.Fatal(err)
		}
		find(account.ID, "this", nil)
		if id, err = begin(account.ID, 700); err != nil {
			t.Fatal(err)
		}
		if err := s.Settle(ctx, store.Settlement{CallID: id, Charge: 700}); err != nil {
			t.Fatal(err)
		}
		find(account.ID, "this", store.ErrQuoteUsed)
		if quote, err = s.NewQuote(ctx, account.ID, []byte("this"), 700); err != nil {
			t.Fatal(err)
		}
		clock.Advance(store.QuoteLifetime)
		find(account.ID, "this", store.ErrQuoteExpired)
		if _, err := begin(account.ID, 700); !errors.Is(err, store.ErrQuoteUsed) {
			t.Errorf("an expired one began with %v", err)
		}
		clock.Advance(store.JobRetention)
		if err := s.DeleteExpired(ctx, 1); err != nil {
			t.Fatal(err)
		}
		find(account.ID, "this", store.ErrNotFound)
		report, err := s.CheckLedger(ctx)
		if err != nil || !report.OK() {
			t.Errorf("the books: %+v, %v", report, err)
		}
	})
}

// TestGenerationFailures counts those that run among the failures of the day.
func TestGenerationFailures(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		ctx, clock := t.Context(), storetest.NewClock(time.Date(2026, 5, 4, 23, 0, 0, 0, time.UTC))
		s := db.Open(t, clock)
		account, err := s.CreateAccount(ctx, "a@example.com", 0)
		if err != nil {
			t.Fatal(err)
		}
		var day int64
		for range store.MaxGenerationFailures {
			if day, err = s.BeginGeneration(ctx, account.ID); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.BeginGeneration(ctx, account.ID); !errors.Is(err, store.ErrTooManyFailures) {
			t.Errorf("one more began with %v", err)
		}
		if err := s.EndGeneration(ctx, account.ID, day); err != nil {
			t.Fatal(err)
		}
		if _, err := s.BeginGeneration(ctx, account.ID); err != nil {
			t.Errorf("after one that was well: %v", err)
		}
		clock.Advance(time.Hour)
		if _, err := s.BeginGeneration(ctx, account.ID); err != nil {
			t.Errorf("on the next day: %v", err)
		}
		clock.Advance(2 * store.JobRetention)
		if err := s.DeleteExpired(ctx, 1); err != nil {
			t.Fatal(err)
		}
		var left int
		if err := s.DB().NewRaw("SELECT count(*) FROM generation_days").Scan(ctx, &left); err != nil || left != 0 {
			t.Errorf("%d days are left, %v", left, err)
		}
	})
}
