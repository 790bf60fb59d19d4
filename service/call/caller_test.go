package call_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/render/spool"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// row returns an operation whose result asks for a charge.
func row(name string, price credit.Amount, unbilled bool, charge *credit.Amount) schema.Definition[*operation.Deps] {
	return schema.TypedDefinition[*operation.Deps, apitest.JSONInput]{
		Info: schema.Info{Name: name, Summary: "Ask for a charge", Price: price, Unbilled: unbilled, Produces: []string{"text/plain"}},
		Run: func(context.Context, *operation.Deps, *apitest.JSONInput) (schema.Result, error) {
			return schema.Result{Stem: "a", Extension: ".txt", ContentType: "text/plain", Body: spool.FromBytes([]byte("a")), Charge: charge}, nil
		},
	}
}

// do runs test.charge or another operation without HTTP.
func do(t *testing.T, s *apitest.Server, caller call.Caller, name, body string) (*call.Outcome, error) {
	t.Helper()
	table, err := schema.NewTable(s.Operations)
	if err != nil {
		t.Fatal(err)
	}
	outcome, _, err := s.API.Calls.Do(t.Context(), call.Request{
		Operation: table.Lookup(name), Caller: caller, Body: strings.NewReader(body), RequestID: "req_1",
	})
	if err == nil && outcome.Body != nil {
		if _, err := io.Copy(io.Discard, outcome.Body.Open()); err != nil {
			t.Fatal(err)
		}
		s.API.Calls.Free(t.Context(), outcome.Body)
	}
	return outcome, err
}

// TestResultHasItsPrice: the run's own charge applies, up to the quote, and nothing of the quote stays held.
func TestResultHasItsPrice(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		cases := []struct {
			name     string
			price    credit.Amount
			unbilled bool
			charge   *credit.Amount
			want     credit.Amount
			refused  bool
		}{
			{"test.silent", 2000, false, nil, 2000, false},
			{"test.less", 2000, false, new(credit.Amount(500)), 500, false},
			{"test.nothing", 2000, false, new(credit.Amount(0)), 0, false},
			{"test.unbilled", 0, true, nil, 0, false},
			{"test.above", 2000, false, new(credit.Amount(2001)), 0, true},
			{"test.below", 2000, false, new(credit.Amount(-1)), 0, true},
		}
		var rows []schema.Definition[*operation.Deps]
		for _, q := range cases {
			rows = append(rows, row(q.name, q.price, q.unbilled, q.charge))
		}
		s := apitest.New(t, apitest.Options{DB: &db, Operations: rows, Change: func(cfg *apitest.Settings) { cfg.NoRateLimits = true }})
		left := apitest.Trial
		for _, q := range cases {
			outcome, err := do(t, s, call.OfKey(s.Account, s.Key), q.name, "{}")
			if q.refused != (err != nil) || err == nil && outcome.Charged != q.want {
				t.Errorf("%s: got %+v, %v; want a charge of %d", q.name, outcome, err, q.want)
			}
			left -= q.want
			if balance, held := s.Balance(t); balance != int64(left) || held != 0 {
				t.Errorf("%s: the wallet has %d and %d held, want %d and 0", q.name, balance, held, left)
			}
		}
	})
}

// TestCallersAreCountedByKind: a key, a grant and a user of one account have windows of their own, and two
// accounts' owners never share one.
func TestCallersAreCountedByKind(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	other, _, _ := s.NewAccount(t, "other@example.com")
	callers := []call.Caller{
		call.OfKey(s.Account, s.Key), {Account: s.Account, Kind: call.ByGrant, ID: s.Key.ID, Scopes: []string{wire.ScopeDocuments}},
		{Account: s.Account, Kind: call.ByPerson}, {Account: other, Kind: call.ByPerson}, {Account: other},
	}
	for _, caller := range callers[:4] {
		for n := range 6 {
			_, err := do(t, s, caller, "test.echo", `{"text":"a"}`)
			var refused *wire.Error
			if limited := errors.As(err, &refused) && refused.Code == wire.RateLimited; limited != (n == 5) || err != nil && !limited {
				t.Errorf("call %d of %s: %v", n, caller.Bucket(), err)
			}
		}
	}
	if a, b := callers[3].Bucket(), callers[4].Bucket(); a != b || a != "account:"+other.ID {
		t.Errorf("a caller without a key is counted by %q and %q, want its account", a, b)
	}
}

// TestCallersAreHeldToTheirScope: to the operations they may use, and to a cap.
func TestCallersAreHeldToTheirScope(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	for name, q := range map[string]struct {
		change func(*call.Caller)
		want   wire.Code
	}{
		"another scope only":     {func(c *call.Caller) { c.Scopes = []string{wire.ScopeTemplates} }, wire.Unauthorized},
		"another operation only": {func(c *call.Caller) { c.Operations = []string{"test.json"} }, wire.Unauthorized},
		"a cap below the price":  {func(c *call.Caller) { c.Cap = new(apitest.EchoPrice - 1) }, wire.PaymentRequired},
		"this operation, capped": {func(c *call.Caller) { c.Operations, c.Cap = []string{"test.echo"}, new(apitest.EchoPrice) }, ""},
	} {
		caller := call.Caller{Account: s.Account, Kind: call.ByGrant, ID: s.Key.ID, Scopes: []string{wire.ScopeDocuments}}
		q.change(&caller)
		_, err := do(t, s, caller, "test.echo", `{"text":"a"}`)
		var refused *wire.Error
		if q.want == "" != (err == nil) || err != nil && (!errors.As(err, &refused) || refused.Code != q.want) {
			t.Errorf("%s: got %v, want %q", name, err, q.want)
		}
	}
	if balance, _ := s.Balance(t); balance != int64(apitest.Trial-apitest.EchoPrice) {
		t.Errorf("the wallet has %d after one call that was allowed", balance)
	}
}
