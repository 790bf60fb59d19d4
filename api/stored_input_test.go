package api_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestStoredInputsCanBeRunAgain: an account that stores its inputs can view them and repeat a call, which is held,
// limited and charged like any other.
func TestStoredInputsCanBeRunAgain(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db})
		send := func(body string) store.Call {
			t.Helper()
			s.Clock.Advance(time.Second) // The latest is the one with the latest time.
			s.Send(t, apitest.Request{Path: echo, Body: body}).OK(t)
			latest, err := s.Store.Calls(t.Context(), store.CallFilter{AccountID: s.Account.ID, List: store.List{Limit: 1}})
			if err != nil || len(latest.Items) != 1 {
				t.Fatalf("got %+v, %v", latest, err)
			}
			return latest.Items[0]
		}
		before := send(`{"text":"not kept"}`)
		if _, err := s.API.Calls.Input(t.Context(), s.Store, s.Account.ID, before.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an input was kept that nobody asked for: %v", err)
		}
		if err := s.Store.SetKeepInputs(t.Context(), s.Account.ID, true); err != nil {
			t.Fatal(err)
		}
		first := send(`{"text":"again, please"}`)
		text, err := s.API.Calls.Input(t.Context(), s.Store, s.Account.ID, first.ID)
		if err != nil || !strings.Contains(string(text), "again, please") {
			t.Fatalf("kept is %q, %v", text, err)
		}
		if _, err := s.API.Calls.Input(t.Context(), s.Store, "acc_other", first.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("another account reads it: %v", err)
		}
		account, err := s.Store.Account(t.Context(), s.Account.ID)
		if err != nil {
			t.Fatal(err)
		}
		stop := s.Work(t)
		id, err := s.API.Calls.Repeat(t.Context(), account, first.ID, "req_again")
		if err != nil {
			t.Fatal(err)
		}
		second, err := s.Store.Call(t.Context(), id)
		if err != nil || second.KeyID != "" || second.Mode != store.Async || second.Operation != first.Operation || second.RequestID != "req_again" {
			t.Fatalf("the new call is %+v, %v", second, err)
		}
		if job := s.Await(t, second.ResultID); job.Status != "completed" {
			t.Fatalf("the new call is %+v", job)
		}
		if got := s.Content(t, second.ResultID); got != "again, please" {
			t.Errorf("the new call made %q", got)
		}
		stop()
		expectBalance(t, s, apitest.Trial-3*2000)
		expectRefusals(t, s, account, first.ID)
	})
}

// expectRefusals: running again is refused as a call would be.
func expectRefusals(t *testing.T, s *apitest.Server, account store.Account, id string) {
	t.Helper()
	if _, err := s.API.Calls.Repeat(t.Context(), account, "call_unknown", "r"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown call: %v", err)
	}
	none := credit.Amount(0)
	if err := s.Store.SetLimits(t.Context(), store.Author{AccountID: account.ID}, store.Limits{MaxJob: &none}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.API.Calls.Repeat(t.Context(), account, id, "r"); err == nil || call.APIError(err).Code != wire.PaymentRequired {
		t.Errorf("above the limit of one call: %v", err)
	}
}
