package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// requests returns the request IDs of a filtered list, read page by page.
func (f *fixture) requests(t testing.TB, filter store.RequestFilter) []string {
	t.Helper()
	filter.AccountID = f.acc.ID
	return pages(t, filter.List, func(l store.List) (store.Page[store.Request], error) {
		filter.List = l
		return f.Requests(t.Context(), filter)
	}, func(r store.Request) string { return r.RequestID })
}

func TestRequestsAreListedAndFound(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		call := f.begin(t, f.newCall(2000))
		file := f.blob(t, store.ResultKey(call.ID, 1), "result")
		file.Filename = "Invoice_7%.pdf"
		if err := f.Settle(t.Context(), store.Settlement{CallID: call.ID, Charge: 2000, File: &file}); err != nil {
			t.Fatal(err)
		}
		all := []store.Request{
			{RequestID: "paid", Method: "POST", Path: "/v1/pdf", Status: 200, CallID: call.ID, KeyID: f.key.ID, Price: 2000},
			{RequestID: "read", Method: "GET", Path: "/v1/jobs/" + call.ResultID, Status: 200, KeyID: f.key.ID},
			{RequestID: "wrong", Method: "POST", Path: "/v1/pdf/merge", Status: 400, Code: "invalid_request", Message: "files is required.", Body: `{"error":{}}`},
			{RequestID: "tool", Method: "POST", Path: "/mcp", Status: 200, Code: "payment_required"},
			{RequestID: "down", Method: "POST", Path: "/v1/convert\xff\x00", Status: 503, Code: "convert_unavailable"},
		}
		other := f.newAccount(t, "other@example.com", 0)
		for i := range all {
			f.clock.Advance(time.Minute)
			all[i].AccountID, all[i].Duration = f.acc.ID, 1500*time.Microsecond
			if err := f.AddRequests(t.Context(), []store.Request{all[i], {AccountID: other.ID, RequestID: "foreign"}}); err != nil {
				t.Fatal(err)
			}
		}
		for name, c := range map[string]struct {
			filter store.RequestFilter
			want   string
		}{
			"all":          {store.RequestFilter{}, "down tool wrong read paid"},
			"succeeded":    {store.RequestFilter{Outcome: "succeeded"}, "read paid"},
			"failed":       {store.RequestFilter{Outcome: "failed"}, "down tool wrong"},
			"4xx":          {store.RequestFilter{Outcome: "4xx"}, "wrong"},
			"5xx":          {store.RequestFilter{Outcome: "5xx"}, "down"},
			"code":         {store.RequestFilter{Code: "payment_required"}, "tool"},
			"key":          {store.RequestFilter{KeyID: f.key.ID}, "read paid"},
			"method":       {store.RequestFilter{Method: "GET"}, "read"},
			"path":         {store.RequestFilter{Text: "/V1/pdf"}, "wrong paid"},
			"request ID":   {store.RequestFilter{Text: "wrong"}, "wrong"},
			"call ID":      {store.RequestFilter{Text: call.ID}, "paid"},
			"job ID":       {store.RequestFilter{Text: call.ResultID}, "read paid"},
			"file name":    {store.RequestFilter{Text: "invoice_7%"}, "paid"},
			"no wildcards": {store.RequestFilter{Text: "_"}, "paid read"},
			"text and key": {store.RequestFilter{Text: "wrong", KeyID: f.key.ID}, ""},
			"since":        {store.RequestFilter{List: store.List{After: f.clock.Now().Add(-time.Minute - time.Second)}}, "down tool"},
			"until":        {store.RequestFilter{List: store.List{Before: f.clock.Now().Add(-3 * time.Minute)}}, "read paid"},
			"unstorable":   {store.RequestFilter{Text: "convert\xff\x00"}, "down"},
		} {
			got, want := f.requests(t, c.filter), strings.Fields(c.want)
			if name == "no wildcards" {
				slices.Sort(got)
				slices.Sort(want)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", name, got, want)
			}
		}
		page, err := f.Requests(t.Context(), store.RequestFilter{AccountID: f.acc.ID, Text: "wrong"})
		if err != nil || len(page.Items) != 1 {
			t.Fatalf("got %+v, %v", page, err)
		}
		want := all[2]
		want.ID, want.At = page.Items[0].ID, page.Items[0].At
		if got, err := f.Request(t.Context(), f.acc.ID, want.ID); err != nil || got != want || !want.At.Equal(f.clock.Now().Add(-2*time.Minute-1500*time.Microsecond)) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		for _, id := range []string{"", "log_x", "\x00", want.ID[:len(want.ID)-1] + "!"} {
			if _, err := f.Request(t.Context(), f.acc.ID, id); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("request %q: %v, want ErrNotFound", id, err)
			}
		}
		if _, err := f.Request(t.Context(), other.ID, want.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("another account reads the request: %v", err)
		}
	})
}

// TestCallsAreFoundByText: a search keeps the other filters.
func TestCallsAreFoundByText(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		first, second := f.newCall(10), f.newCall(10)
		first.RequestID, second.RequestID, second.Operation = "mine-1", f.NewID("req"), "pdf.merge"
		for _, c := range []store.NewCall{first, second} {
			f.begin(t, c)
			file := f.blob(t, store.ResultKey(c.ID, 1), "result")
			file.Filename = c.Operation + "_Report.pdf"
			if err := f.Settle(t.Context(), store.Settlement{CallID: c.ID, Charge: 10, File: &file}); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.AddRequests(t.Context(), []store.Request{{AccountID: f.acc.ID, RequestID: first.RequestID, CallID: first.ID}}); err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string][]string{
			first.ID: {first.ID}, second.ResultID: {second.ID}, "mine-1": {first.ID}, second.RequestID: {second.ID}, "merge_report": {second.ID},
			"mergexreport": nil, first.ID + "x": nil, f.NewID("call"): nil, f.NewID("req"): nil, "pdf.": {second.ID, first.ID},
		} {
			for operation, only := range map[string]string{"": "", "pdf.merge": second.ID} {
				page, err := f.Calls(t.Context(), store.CallFilter{AccountID: f.acc.ID, Text: text, Operation: operation})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, c := range page.Items {
					got = append(got, c.ID)
				}
				expected := slices.DeleteFunc(slices.Clone(want), func(id string) bool { return only != "" && id != only })
				slices.Sort(got)
				slices.Sort(expected)
				if !slices.Equal(got, expected) {
					t.Errorf("%q of %q: got %v, want %v", text, operation, got, expected)
				}
			}
		}
	})
}

// TestRequestLogIsBounded writes more requests than an account may have, and waits until they are old.
func TestRequestLogIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("fills a database")
	}
	each(t, func(t *testing.T, f *fixture) {
		const batch = 500
		rows := make([]store.Request, batch)
		write := func(account string, batches int) {
			t.Helper()
			for n := range batches {
				for i := range rows {
					rows[i] = store.Request{AccountID: account, RequestID: fmt.Sprint(n*batch + i), Method: "GET", Path: "/v1/account", Status: 200}
				}
				f.clock.Advance(time.Second)
				if err := f.AddRequests(t.Context(), rows); err != nil {
					t.Fatal(err)
				}
			}
		}
		count := func(account string) (n int) {
			t.Helper()
			if err := f.DB().NewRaw("SELECT COUNT(*) FROM requests WHERE account_id = ?", account).Scan(t.Context(), &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		other := f.newAccount(t, "other@example.com", 0)
		write(other.ID, 1)
		for n := range 20 {
			write(fmt.Sprint("acc_", n), 1)
		}
		write(f.acc.ID, store.MaxRequests/batch+3)
		if n := count(f.acc.ID); n != store.MaxRequests {
			t.Errorf("the account has %d requests, want %d", n, store.MaxRequests)
		}
		if n := count(other.ID); n != batch {
			t.Errorf("the other account has %d requests, want %d", n, batch)
		}
		values := strings.NewReplacer("?0", "'"+other.ID+"'", "?1", "10", "?2", "10000")
		for query, index := range map[string]string{
			"SELECT * FROM requests WHERE account_id = ?0 ORDER BY id DESC LIMIT ?1": "requests_account", store.ExcessRequests: "requests_account", store.OldRequests: "requests_",
		} {
			if plan := explain(t, f.Store, values.Replace(query)); !strings.Contains(plan, index) || strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "SCAN requests") {
				t.Errorf("%s has the plan\n%s", query, plan)
			}
		}
		f.clock.Advance(store.RequestRetention - time.Minute)
		write(other.ID, 1)
		f.clock.Advance(2 * time.Minute)
		if got := f.requests(t, store.RequestFilter{}); len(got) != 0 {
			t.Errorf("%d old requests are listed", len(got))
		}
		if err := f.DeleteExpired(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		if n, others := count(f.acc.ID), count(other.ID); n != 0 || others != batch {
			t.Errorf("%d old requests are left and %d of the other account, want 0 and %d", n, others, batch)
		}
	})
}

// TestRequestsAreLoggedBehind: requests are written within seconds and when the store is closed. A flood of one account
// leaves room for others.
func TestRequestsAreLoggedBehind(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		f := newFixture(t, db)
		f.LogRequest(store.Request{AccountID: f.acc.ID, RequestID: "first"})
		for end := time.Now().Add(time.Minute); len(f.requests(t, store.RequestFilter{})) == 0; <-time.After(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the request was not written")
			}
		}
		s, err := store.Open(t.Context(), store.Config{URL: db.URL, DataDir: db.DataDir, Now: f.clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		const flood = 5000
		for range flood {
			s.LogRequest(store.Request{AccountID: "acc_other", RequestID: "flood"})
		}
		s.LogRequest(store.Request{AccountID: f.acc.ID, RequestID: "last"})
		dropped := s.DroppedRequests()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if got := f.requests(t, store.RequestFilter{}); !slices.Contains(got, "last") || dropped == 0 {
			t.Errorf("after the end the requests are %v, and %d were dropped", got, dropped)
		}
		var n int64
		if err := f.DB().NewRaw("SELECT COUNT(*) FROM requests WHERE request_id = 'flood'").Scan(t.Context(), &n); err != nil || n != flood-dropped {
			t.Errorf("%d of %d requests were written, %v; %d were dropped", n, flood, err, dropped)
		}
	})
}

// TestRequestsWaitForTheDatabase: requests wait in bounded memory, and no one waits for them, while nothing can be
// written.
func TestRequestsWaitForTheDatabase(t *testing.T) {
	t.Parallel()
	s := storetest.SQLite(t).Open(t, nil)
	release := make(chan struct{})
	held := make(chan struct{})
	var once bool
	ended := make(chan error, 1)
	go func() {
		ended <- s.InTx(t.Context(), func(_ context.Context, _ store.Tx) error {
			if !once {
				once = true
				close(held)
			}
			<-release
			return nil
		})
	}()
	<-held
	body, begin := strings.Repeat("x", store.MaxErrorBody), time.Now()
	for i := range 20_000 {
		s.LogRequest(store.Request{AccountID: fmt.Sprint("acc_", i%500), RequestID: fmt.Sprint(i), Body: body})
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("logging took %v", took)
	}
	if s.DroppedRequests() == 0 {
		t.Error("nothing was dropped of 80 MB")
	}
	close(release)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; <-time.After(50 * time.Millisecond) {
		var n int64
		if err := s.DB().NewRaw("SELECT COUNT(*) FROM requests").Scan(t.Context(), &n); err != nil {
			t.Fatal(err)
		}
		if n == 20_000-s.DroppedRequests() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d requests were written, %d dropped", n, s.DroppedRequests())
		}
	}
}
