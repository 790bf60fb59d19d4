package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// turnsDiffer finds rows of the tables of turns that do not match the jobs and deliveries.
var turnsDiffer = map[string]string{
	"job_turns": `SELECT COUNT(*) FROM job_turns AS t WHERE
		queued <> (SELECT COUNT(*) FROM jobs AS j WHERE j.account_id = t.account_id AND j.state = 'queued') OR
		running <> (SELECT COUNT(*) FROM jobs AS j WHERE j.account_id = t.account_id AND j.state = 'running')`,
	"receivers": `SELECT COUNT(*) FROM receivers AS r WHERE
		ready <> (SELECT COUNT(*) FROM deliveries AS d WHERE d.receiver = r.receiver AND d.status = 'pending' AND d.ready) OR
		under_way <> (SELECT COUNT(*) FROM deliveries AS d WHERE d.receiver = r.receiver AND d.status = 'pending' AND d.leased_until IS NOT NULL)`,
	"missing receivers": `SELECT COUNT(*) FROM deliveries AS d WHERE status = 'pending' AND (ready OR leased_until IS NOT NULL)
		AND NOT EXISTS (SELECT 1 FROM receivers AS r WHERE r.receiver = d.receiver)`,
	"senders": `SELECT COUNT(*) FROM senders AS s WHERE
		open <> (SELECT COUNT(*) FROM receivers AS r WHERE r.account_id = s.account_id AND ready > 0 AND under_way < 2) OR
		under_way <> (SELECT COALESCE(SUM(under_way), 0) FROM receivers AS r WHERE r.account_id = s.account_id)`,
}

// checkTurns fails the test when the tables of turns are not true.
func checkTurns(t testing.TB, s *store.Store) {
	t.Helper()
	for what, query := range turnsDiffer {
		var wrong int
		if err := s.DB().NewRaw(query).Scan(t.Context(), &wrong); err != nil || wrong != 0 {
			t.Errorf("%s: %d rows are wrong, %v", what, wrong, err)
		}
	}
}

// TestTurnsAreTrue: whatever happens to jobs and deliveries, the tables that claims read match them.
func TestTurnsAreTrue(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		w := f.newWebhook(t, f.acc.ID)
		for i := range 5 {
			f.callback(t, fmt.Sprintf("host-%d.example.com", i%3))
			f.testEvent(t, w.ID)
		}
		checkTurns(t, f.Store)
		due := f.claim(t, f.Store)
		if len(due) < 4 {
			t.Fatalf("%d attempts are due, want one or two of each receiver", len(due))
		}
		checkTurns(t, f.Store)
		if err := f.ReturnAttempt(t.Context(), due[0]); err != nil {
			t.Fatal(err)
		}
		f.finish(t, due[1], failed)
		f.finish(t, due[2], store.Attempt{Delivered: true, StatusCode: 200})
		checkTurns(t, f.Store)
		f.clock.Advance(time.Minute) // The other leases are over, and the failed one's wait.
		f.claim(t, f.Store)
		checkTurns(t, f.Store)
		if err := f.DeleteWebhook(t.Context(), f.acc.ID, w.ID); err != nil {
			t.Fatal(err)
		}
		checkTurns(t, f.Store)
	})
}

// TestClaimsWithMuchWaiting: a claim looks at those whose turn it is, not at all
// who wait.
func TestClaimsWithMuchWaiting(t *testing.T) {
	if testing.Short() {
		t.Skip("fills a database")
	}
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := db.Open(t, nil)
		const waiting = 1000
		if err := fillTurns(t.Context(), s, waiting); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			what, query string
		}{
			{"jobs", "SELECT account_id FROM job_turns WHERE queued > 0 ORDER BY running, began_at, account_id LIMIT 1"},
			{"senders", "SELECT account_id FROM senders WHERE open > 0 AND under_way < 80 ORDER BY under_way, began, account_id LIMIT 10"},
			{"receivers", "SELECT receiver FROM receivers WHERE account_id = 'acc_1' AND ready > 0 AND under_way < 2 ORDER BY began, receiver LIMIT 10"},
		} {
			if plan := explain(t, s, c.query); !sorted(plan) {
				t.Errorf("%s are not read in the order of an index:\n%s", c.what, plan)
			}
		}
		checkTurns(t, s)
		due, err := s.ClaimDeliveries(t.Context(), 50)
		if err != nil || len(due) != 50 {
			t.Errorf("%d deliveries were claimed, %v; want 50", len(due), err)
		}
		accounts := map[string]bool{}
		for _, d := range due {
			accounts[d.AccountID] = true
		}
		if len(accounts) != 50 {
			t.Errorf("50 attempts are of %d accounts, want one each", len(accounts))
		}
		checkTurns(t, s)
	})
}
