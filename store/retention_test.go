package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// history is a fixture with four months behind it, from November to February, in each of
// which calls were made, delivered and paid for. It is March, and two months are to stay.
type history struct {
	*fixture
	log    *storetest.Log
	ledger store.LedgerReport
	rows   map[string]int // of every table, before a month is removed
}

func newHistory(t testing.TB, db storetest.DB) *history {
	t.Helper()
	h := &history{log: &storetest.Log{}}
	h.fixture = newFixtureAs(t, db, store.Config{RetentionMonths: 2, Logger: slog.New(slog.NewJSONHandler(h.log, nil))})
	h.newWebhook(t, h.acc.ID, store.EventJobCompleted)
	for range 4 {
		if err := h.MakePartitions(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.aMonth(t)
		h.clock.Advance(28 * 24 * time.Hour)
	}
	h.clock.Advance(5 * 24 * time.Hour)
	if err := h.CloseMonths(t.Context()); err != nil {
		t.Fatal(err)
	}
	var err error
	if h.ledger, err = h.CheckLedger(t.Context()); err != nil || !h.ledger.OK() {
		t.Fatalf("before: %+v, %v", h.ledger, err)
	}
	h.rows = h.countAll(t)
	return h
}

// aMonth makes calls of this month: two that succeed and are delivered, and one that
// fails; and a payment.
func (h *history) aMonth(t testing.TB) {
	t.Helper()
	for range 2 {
		c := h.begin(t, h.monthCall(1000))
		if err := h.Settle(t.Context(), store.Settlement{CallID: c.ID, Charge: 900, Outbox: &store.Outbox{Event: store.EventJobCompleted, Data: "x"}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, due := range h.claim(t, h.Store) {
		h.finish(t, due, store.Attempt{Delivered: true, StatusCode: 204})
	}
	c := h.begin(t, h.monthCall(1000))
	h.release(t, c.ID)
	h.post(t, store.KindPayment, credit.Dollar, "pay_"+c.ID)
}

// monthCall is newCall with IDs of the clock's month.
func (h *history) monthCall(quote credit.Amount) store.NewCall {
	c := h.newCall(quote)
	c.ResultID = h.NewID("file")
	c.ID = store.CallID(c.ResultID)
	return c
}

// countAll counts the rows of every table.
func (h *history) countAll(t testing.TB) map[string]int {
	t.Helper()
	list := "SELECT name FROM sqlite_master WHERE type = 'table'"
	if h.Dialect() == store.Postgres { // without partitions
		list = "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = current_schema()::regnamespace"
	}
	var tables []string
	if err := h.DB().NewRaw(list).Scan(t.Context(), &tables); err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{}
	for _, table := range tables {
		rows[table] = h.count(t, table)
	}
	return rows
}

// retentionTask is the task that removes old months.
func retentionTask(t testing.TB, s *store.Store) store.Task {
	t.Helper()
	tasks := s.MaintenanceTasks()
	i := slices.IndexFunc(tasks, func(task store.Task) bool { return task.Name == "remove old months" })
	if i < 0 {
		t.Fatal("no task removes old months")
	}
	return tasks[i]
}

// rounds has the task run on so many days in turn.
func (h *history) rounds(t testing.TB, days int) {
	t.Helper()
	for range days {
		if err := retentionTask(t, h.Store).Do(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.clock.Advance(24 * time.Hour)
	}
}

// old lists the months that are about to be removed.
func (h *history) old(t testing.TB) []store.OldMonth {
	t.Helper()
	months, err := h.OldMonths(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return months
}

// intact checks that nothing has been removed.
func (h *history) intact(t testing.TB) {
	t.Helper()
	for _, table := range []string{"calls", "events", "deliveries", "journal"} {
		if got := h.count(t, table); got != h.rows[table] {
			t.Errorf("%s has %d rows, want %d as before", table, got, h.rows[table])
		}
	}
}

// removed checks that the calls, deliveries and events of November and December are gone,
// and nothing else.
func (h *history) removed(t testing.TB) {
	t.Helper()
	want := maps.Clone(h.rows)
	want["calls"], want["events"], want["deliveries"] = want["calls"]-6, want["events"]-4, want["deliveries"]-4
	for _, kept := range []string{"old_months", "tasks"} {
		delete(want, kept)
	}
	got := h.countAll(t)
	for table, n := range want {
		if got[table] != n {
			t.Errorf("%s has %d rows, want %d", table, got[table], n)
		}
	}
	h.books(t)
}

// books checks that the ledger is unchanged and consistent.
func (h *history) books(t testing.TB) {
	t.Helper()
	after, err := h.CheckLedger(t.Context())
	if err != nil || !after.OK() || after.Postings != h.ledger.Postings || after.Wallets != h.ledger.Wallets || after.Revenue != h.ledger.Revenue {
		t.Errorf("the books are %+v, %v; want %+v", after, err, h.ledger)
	}
	for m := range 4 {
		if problems, err := h.CheckMonth(t.Context(), noon.AddDate(0, m, 0)); err != nil || len(problems) > 0 {
			t.Errorf("month %d: %q, %v", m, problems, err)
		}
	}
}

// monthOf returns the ID of a row of the month.
func (h *history) monthOf(t testing.TB, table, kind string, at time.Time) (id string) {
	t.Helper()
	first := time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
	err := h.DB().NewRaw("SELECT MIN(id) FROM "+table+" WHERE id >= ?", kind+"_"+store.IDTime(first)).Scan(t.Context(), &id)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// eachHistory runs a test on a history in each database.
func eachHistory(t *testing.T, test func(*testing.T, *history)) {
	t.Helper()
	for name, open := range map[string]func(testing.TB) storetest.DB{"sqlite": storetest.SQLite, "postgres": storetest.BarePostgres, "pgbouncer": storetest.Bounced} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newHistory(t, open(t)))
		})
	}
}

// TestRetention: months older than the retention go after a notice of a week. The ledger,
// balances, usage, and what is newer stay as they were.
func TestRetention(t *testing.T) {
	t.Parallel()
	eachHistory(t, func(t *testing.T, h *history) {
		call, statement := h.monthOf(t, "calls", "call", noon), h.export(t, store.LedgerQuery{})
		usage, err := h.Usage(t.Context(), h.acc.ID, noon, h.clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		h.rounds(t, store.RetentionNotice)
		h.intact(t)
		if got, want := fmt.Sprint(h.old(t)), "[{2026-11 0 } {2026-12 0 }]"; got != want {
			t.Errorf("after a week: got %s, want %s", got, want)
		}
		if n := strings.Count(h.log.String(), "month will be removed"); n != 2*store.RetentionNotice {
			t.Errorf("the log has announced it %d times, want each month once a day:\n%s", n, h.log)
		}
		h.rounds(t, 1)
		h.removed(t)
		if got := h.old(t); len(got) != 0 || h.count(t, "old_months") > 2 {
			t.Errorf("afterwards: got %v, want no old month", got)
		}
		h.rounds(t, 1)
		if n := h.count(t, "old_months"); n != 0 {
			t.Errorf("%d notices are left, want none", n)
		}

		if _, err := h.Call(t.Context(), call); !errors.Is(err, store.ErrNotFound) || !h.Removed(call) {
			t.Errorf("an old call: got %v, removed %v; want it removed", err, h.Removed(call))
		}
		newer := h.monthOf(t, "calls", "call", noon.AddDate(0, 2, 0))
		if _, err := h.Call(t.Context(), newer); err != nil || h.Removed(newer) {
			t.Errorf("a call of January: got %v, removed %v; want it there", err, h.Removed(newer))
		}
		after, err := h.Usage(t.Context(), h.acc.ID, noon, h.clock.Now())
		if err != nil || after.Total != usage.Total || after.Count != usage.Count {
			t.Errorf("usage: got %+v, %v; want %+v", after, err, usage)
		}
		h.statements(t, statement)
		h.aMonth(t)
		h.sound(t)
	})
}

// statements compares exports and statements with what they were: the operations of calls
// that were removed are missing, the money is the same.
func (h *history) statements(t testing.TB, before []string) {
	t.Helper()
	got := h.export(t, store.LedgerQuery{})
	money := func(lines []string) []string {
		bare := make([]string, len(lines))
		for i, line := range lines {
			bare[i] = strings.Join(strings.Fields(strings.ReplaceAll(line, "pdf.create", "")), " ")
		}
		return bare
	}
	if !slices.Equal(money(got), money(before)) {
		t.Errorf("the export is\n%q, want\n%q", got, before)
	}
	page, err := h.Statement(t.Context(), store.PostingFilter{AccountID: h.acc.ID, List: store.List{Limit: 100}})
	if err != nil {
		t.Fatal(err)
	}
	january := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, p := range page.Items {
		if named := p.Operation != ""; p.CallID != "" && named != !p.CreatedAt.Before(january) {
			t.Errorf("the posting of %s has the operation %q", p.CreatedAt, p.Operation)
		}
	}
	acc, err := h.Account(t.Context(), h.acc.ID)
	if err != nil || page.Items[0].Balance != acc.Balance {
		t.Errorf("the statement ends with %s, %v; want %s", page.Items[0].Balance, err, acc.Balance)
	}
	again, err := h.Post(t.Context(), store.NewPosting{AccountID: h.acc.ID, Kind: store.KindPayment, Amount: credit.Dollar, Reference: "pay_" + h.failedCall(t)})
	if err != nil || again {
		t.Errorf("a payment of November was posted again: %v, %v", again, err)
	}
}

// failedCall returns the call of November that failed.
func (h *history) failedCall(t testing.TB) (id string) {
	t.Helper()
	if err := h.DB().NewRaw("SELECT cause FROM journal WHERE kind = 'release' ORDER BY id LIMIT 1").Scan(t.Context(), &id); err != nil {
		t.Fatal(err)
	}
	return id
}

// TestNoRetentionRemovesNothing: everything stays where no retention is set.
func TestNoRetentionRemovesNothing(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		f := newFixture(t, db)
		f.clock.Advance(10 * 365 * 24 * time.Hour)
		if slices.ContainsFunc(f.MaintenanceTasks(), func(task store.Task) bool { return task.Name == "remove old months" }) {
			t.Error("a task removes old months")
		}
		if old, err := f.OldMonths(t.Context()); err != nil || len(old) != 0 || f.Removed(f.key.ID) {
			t.Errorf("got %v, %v; want no old month", old, err)
		}
	})
}

// TestThisAndThePreviousMonthStay: the least retention leaves two months, and jobs can be
// read for thirty days.
func TestThisAndThePreviousMonthStay(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		f := newFixtureAs(t, db, store.Config{RetentionMonths: 1})
		january := "call_" + store.IDTime(time.Date(2027, 1, 31, 23, 0, 0, 0, time.UTC))
		february := "call_" + store.IDTime(time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC))
		f.clock.Advance(time.Date(2027, 3, 2, 23, 0, 0, 0, time.UTC).Sub(noon))
		if f.Removed(january) || f.Removed(february) {
			t.Error("on 2 March a call of January or February is removed, want neither")
		}
		f.clock.Advance(time.Hour)
		if !f.Removed(january) || f.Removed(february) {
			t.Error("on 3 March: want calls of January removed, and those of February there")
		}
	})
}

// TestClockAheadRemovesNothing: a clock that jumps a year ahead for six days, and is put
// right, has removed nothing; the notice begins again when the months are old indeed.
func TestClockAheadRemovesNothing(t *testing.T) {
	t.Parallel()
	eachHistory(t, func(t *testing.T, h *history) {
		h.clock.Advance(365 * 24 * time.Hour)
		if err := h.CloseMonths(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.rounds(t, store.RetentionNotice-1)
		if got := h.old(t); len(got) < 4 || got[3].Month != "2027-02" || got[3].Notice != 1 {
			t.Errorf("a year ahead: got %v, want February to have a day left", got)
		}
		h.clock.Advance(-(365 + store.RetentionNotice) * 24 * time.Hour)
		h.rounds(t, store.RetentionNotice)
		h.intact(t)
		for _, m := range h.old(t) {
			if m.Month > "2026-12" || m.Notice != 0 {
				t.Errorf("put right: got %+v, want a new notice for November and December alone", m)
			}
		}
		// A notice of long ago begins again.
		h.clock.Advance(8 * 24 * time.Hour)
		h.rounds(t, store.RetentionNotice)
		h.intact(t)
		h.rounds(t, 1)
		if got := h.count(t, "calls"); got != h.rows["calls"]-6 {
			t.Errorf("%d calls are left, want %d", got, h.rows["calls"]-6)
		}
	})
}

// TestRetentionKeepsUnfinishedRows: a month stays with all of its tables while something of
// it is not over, or not closed.
func TestRetentionKeepsUnfinishedRows(t *testing.T) {
	t.Parallel()
	eachHistory(t, func(t *testing.T, h *history) {
		h.rounds(t, store.RetentionNotice)
		november := h.monthOf(t, "calls", "call", noon)
		event, delivery := h.monthOf(t, "events", "evt", noon), h.monthOf(t, "deliveries", "dlv", noon)
		later := h.monthOf(t, "deliveries", "dlv", noon.AddDate(0, 2, 0))
		file := strings.Replace(november, "call_", "file_", 1)
		for _, test := range []struct{ spoil, mend, open string }{
			{"UPDATE calls SET status = 'running' WHERE id = '" + november + "'", "UPDATE calls SET status = 'done' WHERE id = '" + november + "'", "1 calls are running"},
			{"INSERT INTO jobs (call_id, account_id, state, created_at) VALUES ('" + november + "', 'a', 'queued', 0)", "DELETE FROM jobs", "1 jobs have not ended"},
			{"INSERT INTO idempotency VALUES ('a', 'k', '" + november + "', '', 'done', 0, 0)", "DELETE FROM idempotency", "1 idempotency keys are in use"},
			{"INSERT INTO files (id, account_id, call_id, filename, content_type, size, blob_key, created_at, expires_at) VALUES ('" + file + "', 'a', 'c', '', '', 0, 'x', 0, 4000000000000000)", "DELETE FROM files", "1 results can be downloaded"},
			{"UPDATE deliveries SET status = 'pending' WHERE id = '" + delivery + "'", "UPDATE deliveries SET status = 'delivered' WHERE id = '" + delivery + "'", "1 deliveries are pending"},
			{"UPDATE deliveries SET event_id = '" + event + "' WHERE id = '" + later + "'", "UPDATE deliveries SET event_id = 'evt_x' WHERE id = '" + later + "'", "1 later deliveries have its events"},
			{"DELETE FROM closed_months WHERE month = 24322", "INSERT INTO closed_months VALUES (24322, 0)", "its books are not closed"},
		} {
			if h.Dialect() != store.Postgres {
				test.spoil = strings.Replace(test.spoil, "'', 'done', 0, 0)", "x'', 'done', 0, 0)", 1)
			}
			do := func(statement string) {
				t.Helper()
				if _, err := h.DB().Exec(statement); err != nil {
					t.Fatalf("%s: %v", test.open, err)
				}
			}
			do(test.spoil)
			if got := h.old(t); got[0].Month != "2026-11" || got[0].Open != test.open {
				t.Errorf("got %+v, want November to stay: %s", got[0], test.open)
			}
			h.rounds(t, 1)
			if _, err := h.Call(t.Context(), november); err != nil {
				t.Errorf("%s: November's call: %v", test.open, err)
			}
			if want := `"month is not removed","month":"2026-11","open":"` + test.open; !strings.Contains(h.log.String(), want) {
				t.Errorf("the log lacks %s:\n%s", want, h.log)
			}
			do(test.mend)
		}
		h.rounds(t, 1)
		if _, err := h.Call(t.Context(), november); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("with nothing open: got %v, want it removed", err)
		}
	})
}

// TestRetentionTogether: processes that remove months at once do so once, and without
// errors.
func TestRetentionTogether(t *testing.T) {
	t.Parallel()
	eachHistory(t, func(t *testing.T, h *history) {
		h.rounds(t, store.RetentionNotice)
		var all sync.WaitGroup
		for range 6 {
			task := retentionTask(t, h.Store)
			all.Go(func() {
				if err := task.Do(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		h.removed(t)
	})
}

// TestRetentionIsCutShort: a process that dies between two months, tables or batches
// leaves the rest to the next.
func TestRetentionIsCutShort(t *testing.T) {
	t.Parallel()
	eachHistory(t, func(t *testing.T, h *history) {
		h.rounds(t, store.RetentionNotice)
		cut := 0
		for wait := time.Microsecond; ; wait *= 2 {
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			err := retentionTask(t, h.Store).Do(ctx)
			cancel()
			h.books(t)
			if err == nil {
				break
			}
			cut++
		}
		if cut == 0 {
			t.Error("it was never cut short")
		}
		h.removed(t)
	})
}

// TestRetentionDoesNotWait: while a transaction reads calls, its months stay; others
// read meanwhile, and wait no longer than the bound. The next round removes them.
func TestRetentionDoesNotWait(t *testing.T) {
	t.Parallel()
	h := newHistory(t, storetest.BarePostgres(t))
	h.rounds(t, store.RetentionNotice)
	reading, err := h.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	// PostgreSQL must not end it where the machine is slow.
	for _, statement := range []string{"SET LOCAL idle_in_transaction_session_timeout = 0", "SELECT 1 FROM calls LIMIT 1"} {
		if _, err := reading.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- retentionTask(t, h.Store).Do(t.Context()) }()
	var slowest time.Duration
	for open := true; open; {
		begun := time.Now()
		if _, err := h.Calls(t.Context(), store.CallFilter{AccountID: h.acc.ID}); err != nil {
			t.Fatal(err)
		}
		slowest = max(slowest, time.Since(begun))
		select {
		case err := <-ended:
			open = false
			if err != nil {
				t.Errorf("the round ended with %v, want it to pass", err)
			}
		default:
		}
	}
	// The bound is half a second, and a reader who waits 2 s for a lock has failed above; the rest is a busy machine.
	if slowest > 20*time.Second {
		t.Errorf("a reader waited %s", slowest)
	}
	if got := h.count(t, "calls"); got != h.rows["calls"] || !strings.Contains(h.log.String(), "month is in use") {
		t.Errorf("%d calls are left, want all %d; the log:\n%s", got, h.rows["calls"], h.log)
	}
	if err := reading.Rollback(); err != nil {
		t.Fatal(err)
	}
	h.rounds(t, 1)
	h.removed(t)
}

// TestRetentionOfMonthsWithoutPartitions: a month that never got its own partition is
// removed as the others are.
func TestRetentionOfMonthsWithoutPartitions(t *testing.T) {
	t.Parallel()
	h := newHistory(t, storetest.BarePostgres(t))
	h.clock.Advance(240 * 24 * time.Hour)
	h.aMonth(t)
	if in := h.partitions(t, "calls"); !slices.Contains(in, "calls_default") {
		t.Fatalf("rows are in %q, want some in the default partition", in)
	}
	h.clock.Advance(124 * 24 * time.Hour)
	if err := errors.Join(h.MakePartitions(t.Context()), h.CloseMonths(t.Context())); err != nil {
		t.Fatal(err)
	}
	h.rounds(t, store.RetentionNotice+1)
	for _, table := range []string{"calls", "deliveries", "events"} {
		if in := h.partitions(t, table); len(in) != 0 {
			t.Errorf("%s: rows are left in %q", table, in)
		}
	}
	h.sound(t)
}
