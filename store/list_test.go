package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

// pages reads a list to its end, three rows at a time, and returns its ids.
func pages[Item any](t testing.TB, list store.List, read func(store.List) (store.Page[Item], error), id func(Item) string) []string {
	t.Helper()
	ids := []string{}
	for list.Limit = 3; ; {
		page, err := read(list)
		if err != nil || len(page.Items) > 3 {
			t.Fatalf("got %d rows, %v", len(page.Items), err)
		}
		for _, item := range page.Items {
			ids = append(ids, id(item))
		}
		if list.Cursor = page.Next; list.Cursor == "" {
			return ids
		}
	}
}

// TestListsOfCalls makes a call every second, of two accounts and several kinds.
func TestListsOfCalls(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		second, _, err := f.CreateKey(t.Context(), store.NewKey{AccountID: f.acc.ID})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for i := range 12 {
			f.clock.Advance(time.Second)
			c := f.newCall(10)
			c.ResultID = f.NewID("file")
			c.ID = store.CallID(c.ResultID)
			c.Operation = []string{"pdf.create", "pdf.merge"}[i%2]
			if i%3 == 0 {
				c.KeyID = second.ID
			}
			f.begin(t, c)
			if i < 8 {
				f.settle(t, c.ID, 10)
			} else if i < 10 {
				f.release(t, c.ID)
			}
			ids = append(ids, c.ID)
		}
		slices.Reverse(ids)
		pick := func(numbers ...int) []string {
			want := []string{}
			for _, n := range numbers {
				want = append(want, ids[11-n])
			}
			return want
		}
		calls := func(filter store.CallFilter) []string {
			t.Helper()
			filter.AccountID = f.acc.ID
			return pages(t, filter.List, func(l store.List) (store.Page[store.Call], error) {
				filter.List = l
				return f.Calls(t.Context(), filter)
			}, func(c store.Call) string { return c.ID })
		}
		for name, test := range map[string]struct {
			filter store.CallFilter
			want   []string
		}{
			"all":       {store.CallFilter{}, ids},
			"operation": {store.CallFilter{Operation: "pdf.merge"}, pick(11, 9, 7, 5, 3, 1)},
			"key":       {store.CallFilter{KeyID: second.ID}, pick(9, 6, 3, 0)},
			"done":      {store.CallFilter{Status: store.CallDone}, ids[4:]},
			"failed":    {store.CallFilter{Status: store.CallFailed}, pick(9, 8)},
			"running":   {store.CallFilter{Status: store.CallRunning}, pick(11, 10)},
			"both":      {store.CallFilter{Status: store.CallDone, Operation: "pdf.create", KeyID: second.ID}, pick(6, 0)},
			"jobs":      {store.CallFilter{Mode: store.Async}, pick()},
			"time":      {store.CallFilter{List: store.List{After: noon.Add(3 * time.Second), Before: noon.Add(6 * time.Second)}}, pick(4, 3, 2)},
		} {
			if got := calls(test.filter); !slices.Equal(got, test.want) {
				t.Errorf("%s: got %q, want %q", name, got, test.want)
			}
		}
		postings := pages(t, store.List{}, func(l store.List) (store.Page[store.JournalEntry], error) {
			return f.Postings(t.Context(), store.PostingFilter{List: l, AccountID: f.acc.ID})
		}, func(p store.JournalEntry) string { return p.ID })
		if len(postings) != 1+12+10 || !slices.IsSortedFunc(postings, func(a, b string) int { return strings.Compare(b, a) }) {
			t.Errorf("the journal lists %d postings, want 23, the newest first", len(postings))
		}
		outside, err := f.Postings(t.Context(), store.PostingFilter{AccountID: f.acc.ID, WithoutCalls: true})
		if err != nil || len(outside.Items) != 1 || outside.Items[0].Kind != store.KindTrial || outside.Items[0].Wallet != trial {
			t.Errorf("postings without calls: got %+v, %v", outside, err)
		}
		for want, kinds := range map[int][]string{12 + 10: store.CallKinds, 0: store.PaymentKinds, 1: {store.KindTrial}} {
			page, err := f.Postings(t.Context(), store.PostingFilter{AccountID: f.acc.ID, Kinds: kinds, List: store.List{Limit: 100}})
			if err != nil || len(page.Items) != want {
				t.Errorf("postings of %q: got %d, want %d, %v", kinds, len(page.Items), want, err)
			}
		}
		f.acc = f.newAccount(t, "eve@example.com", 0)
		if got := calls(store.CallFilter{}); len(got) != 0 {
			t.Errorf("another account sees %q", got)
		}
	})
}

// TestListsOverMonths reads lists whose rows are in the partitions of several months, the
// newest of them of this month or of long ago.
func TestListsOverMonths(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		var ids []string
		list := func(limit int) ([]string, string) {
			t.Helper()
			page, err := f.Calls(t.Context(), store.CallFilter{List: store.List{Limit: limit}, AccountID: f.acc.ID})
			if err != nil {
				t.Fatal(err)
			}
			got := []string{}
			for _, c := range page.Items {
				got = append(got, c.ID)
			}
			return got, page.Next
		}
		for made := range 8 {
			for limit := 1; limit <= made+1; limit++ {
				want, next := ids[:min(limit, made)], ""
				if limit < made {
					next = ids[limit-1]
				}
				if got, more := list(limit); !slices.Equal(got, want) || more != next {
					t.Errorf("%d of %d calls: got %q and %q, want %q and %q", limit, made, got, more, want, next)
				}
			}
			c := f.newCall(10)
			c.ResultID = f.NewID("file")
			c.ID = store.CallID(c.ResultID)
			f.begin(t, c)
			ids = slices.Insert(ids, 0, c.ID)
			f.clock.Advance(20 * 24 * time.Hour)
		}
		f.clock.Advance(90 * 24 * time.Hour)
		if got, next := list(5); !slices.Equal(got, ids[:5]) || next != ids[4] {
			t.Errorf("calls of long ago: got %q and %q, want %q", got, next, ids[:5])
		}
	})
}

func TestListsOfAccountsAndDeliveries(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for i := range 5 {
			f.clock.Advance(time.Second)
			f.newAccount(t, fmt.Sprintf("bob%d@example.com", i), 0)
		}
		accounts := func(email string) []string {
			t.Helper()
			return pages(t, store.List{}, func(l store.List) (store.Page[store.Account], error) {
				return f.Accounts(t.Context(), store.AccountFilter{List: l, Email: email})
			}, func(a store.Account) string { return strings.TrimSuffix(a.Email, "@example.com") })
		}
		for email, want := range map[string][]string{
			"": {"bob4", "bob3", "bob2", "bob1", "bob0", "ada"}, "bob": {"bob4", "bob3", "bob2", "bob1", "bob0"}, "bob3@": {"bob3"}, "b%": {}, "zoe": {},
		} {
			if got := accounts(email); !slices.Equal(got, want) {
				t.Errorf("accounts of %q: got %q, want %q", email, got, want)
			}
		}
		one, two := f.newWebhook(t, f.acc.ID), f.newWebhook(t, f.acc.ID)
		for i := range 6 {
			f.clock.Advance(time.Second)
			f.testEvent(t, []store.Webhook{one, two}[i%2].ID)
		}
		for name, test := range map[string]struct {
			filter store.DeliveryFilter
			want   int
		}{
			"all":      {store.DeliveryFilter{}, 6},
			"endpoint": {store.DeliveryFilter{EndpointID: one.ID}, 3},
			"status":   {store.DeliveryFilter{Status: store.DeliveryPending}, 6},
			"none":     {store.DeliveryFilter{Status: store.DeliveryFailed}, 0},
			"event":    {store.DeliveryFilter{EventType: store.EventTest, EndpointID: two.ID}, 3},
			"other":    {store.DeliveryFilter{EventType: store.EventJobFailed}, 0},
			"before":   {store.DeliveryFilter{List: store.List{Before: f.clock.Now().Add(-time.Second)}}, 4},
			"after":    {store.DeliveryFilter{List: store.List{After: f.clock.Now()}}, 1},
		} {
			filter := test.filter
			filter.AccountID = f.acc.ID
			got := pages(t, filter.List, func(l store.List) (store.Page[store.Delivery], error) {
				filter.List = l
				return f.Deliveries(t.Context(), filter)
			}, func(d store.Delivery) string { return d.ID })
			if len(got) != test.want {
				t.Errorf("%s: got %d deliveries, want %d", name, len(got), test.want)
			}
		}
		for _, l := range []store.List{{Limit: -1}, {Limit: 101}, {Cursor: "a\x00"}, {Cursor: "x"}, {Cursor: "call_x"}, {Cursor: store.NewID("file")}} {
			if _, err := f.Calls(t.Context(), store.CallFilter{AccountID: f.acc.ID, List: l}); !errors.Is(err, store.ErrBadList) {
				t.Errorf("%+v: got %v, want ErrBadList", l, err)
			}
		}
	})
}
