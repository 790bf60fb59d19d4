package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// moneyTables are the tables that a call's begin, settlement or release writes, each
// with the columns that name its rows where these have no random ID.
var moneyTables = map[string]string{
	"accounts": "id, balance, held, day, day_spent, owed", "keys": "id, spent", "quotes": "id, call_id, amount",
	"calls":       "*",
	"journal":     "account_id, kind, cause, reason, held, wallet, revenue, balance, created_at",
	"idempotency": "*",
	"files":       "id, account_id, call_id, filename, content_type, size, blob_key, created_at, expires_at, warnings",
	"jobs":        "call_id, account_id, state, lease, tries, input_key, kind, trace, created_at",
	"bulks":       "*", "bulk_chunks": "*",
	"job_inputs": "*", "pins": "*", "usage_days": "*", "callbacks": "call_id, url, receiver, trace, created_at",
	"events": "account_id, type, call_id, body, created_at",
	"deliveries": "account_id, endpoint_id, (SELECT COALESCE(e.call_id, '') FROM events AS e WHERE e.id = event_id) AS cause, " +
		"event_type, receiver, url, status, next_attempt_at, created_at",
}

// ledgerSide is one database with its IDs of the tested objects.
type ledgerSide struct {
	*fixture
	names    *strings.Replacer // of random IDs, which differ between the databases
	accounts []store.Account
	keys     []store.Key
	quotes   []store.Quote // promised prices, in the order of their promise
	jobs     map[string]store.Job
}

// Leases of the processes that the rules are tried on: one lives while the clock does not
// pass its end, the other is gone.
const (
	leaseAlive = "lease_alive"
	leaseGone  = "lease_gone"
)

// renew makes the living process's lease last from now on.
func (s *ledgerSide) renew(t *testing.T) error {
	t.Helper()
	now := s.clock.Now()
	_, err := s.DB().NewRaw("INSERT INTO leases (id, created_at, expires_at) VALUES (?0, ?1, ?2) ON CONFLICT (id) DO UPDATE SET expires_at = EXCLUDED.expires_at",
		leaseAlive, now.UnixMicro(), now.Add(store.LeaseTerm).UnixMicro()).Exec(t.Context())
	return err
}

func newLedgerSide(t *testing.T, db storetest.DB) *ledgerSide {
	t.Helper()
	s := &ledgerSide{fixture: newFixture(t, db), jobs: map[string]store.Job{}}
	if err := s.renew(t); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	limit, maximum := credit.Amount(9000), credit.Amount(60_000)
	pairs := []string{s.acc.ID, "account", s.key.ID, "key"}
	for i := range 3 {
		acc := s.newAccount(t, fmt.Sprintf("rules%d@example.com", i), credit.Amount(80_000*(i+1)))
		s.accounts = append(s.accounts, acc)
		pairs = append(pairs, acc.ID, fmt.Sprintf("account-%d", i))
		for j, spend := range []*credit.Amount{nil, &maximum} {
			key, _, err := s.CreateKey(ctx, store.NewKey{AccountID: acc.ID, Name: "k", SpendLimit: spend})
			if err != nil {
				t.Fatal(err)
			}
			s.keys = append(s.keys, key)
			pairs = append(pairs, key.ID, fmt.Sprintf("key-%d-%d", i, j))
		}
		id := fmt.Sprintf("we_rules%d", i)
		if _, err := s.CreateWebhook(ctx, store.NewWebhook{ID: id, AccountID: acc.ID, URL: "https://example.com/" + id, Secret: []byte("sealed")}); err != nil {
			t.Fatal(err)
		}
		upload := store.File{ID: fmt.Sprintf("file_rules%d", i), AccountID: acc.ID, Filename: "a.pdf", Size: 1, BlobKey: fmt.Sprintf("file_rules%d", i), ExpiresAt: noon.Add(30 * time.Hour)}
		if err := s.AddUpload(ctx, upload); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SetLimits(ctx, store.Author{AccountID: s.accounts[1].ID}, store.Limits{MaxJob: &limit, MaxDay: &maximum}); err != nil {
		t.Fatal(err)
	}
	s.names = strings.NewReplacer(pairs...)
	return s
}

var randomIDs = regexp.MustCompile(`\b(evt|dlv|quote)_[A-Za-z0-9_-]+`)

// named is a text with the same names on both databases.
func (s *ledgerSide) named(text string) string {
	return randomIDs.ReplaceAllString(s.names.Replace(text), "$1")
}

// outcome returns the result of a method, as far as both databases must agree.
func (s *ledgerSide) outcome(err error) string {
	var claimed *store.ClaimedError
	if errors.As(err, &claimed) {
		return "claimed by " + claimed.Claim.CallID + " " + claimed.Claim.State
	}
	return s.named(fmt.Sprint(err))
}

// rows is the content of all tables, in an order that both databases have.
func (s *ledgerSide) rows(t *testing.T) []string {
	t.Helper()
	var all []string
	for table, columns := range moneyTables {
		var found []map[string]any
		if err := s.DB().NewRaw("SELECT "+columns+" FROM "+table).Scan(t.Context(), &found); err != nil {
			t.Fatalf("%s: %v", table, err)
		}
		for _, row := range found {
			var cells []string
			for name, value := range row {
				cells = append(cells, name+"="+cell(value))
			}
			slices.Sort(cells)
			all = append(all, s.named(table+": "+strings.Join(cells, " ")))
		}
	}
	slices.Sort(all)
	return all
}

// cell spells a value as both databases' drivers mean it.
func cell(value any) string {
	switch v := value.(type) {
	case nil:
		return "NULL"
	case bool:
		if v {
			return "1"
		}
		return "0"
	case []byte:
		return string(v)
	}
	return fmt.Sprint(value)
}

// TestMoneyRulesAgree sends random calls through SQLite's statements and PostgreSQL's
// functions: calls begin, with promised prices too, settle and fail, expire with their
// process, their worker or their time in the queue. Bulk jobs settle chunks, and are cancelled. Each step must end alike on both,
// and all rows must be equal at the end.
func TestMoneyRulesAgree(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			sides := []*ledgerSide{newLedgerSide(t, storetest.SQLite(t)), newLedgerSide(t, storetest.Postgres(t))}
			random := rand.New(rand.NewPCG(seed, seed))
			var calls []store.NewCall // with indexes in place of IDs that differ
			for step := range 400 {
				call, do := randomStep(t, random, &calls)
				var got [2]string
				for i, side := range sides {
					got[i] = side.outcome(do(side))
				}
				if got[0] != got[1] {
					t.Fatalf("step %d, %s:\nSQLite:     %s\nPostgreSQL: %s", step, call, got[0], got[1])
				}
			}
			lite, pg := sides[0].rows(t), sides[1].rows(t)
			for _, row := range lite {
				if !slices.Contains(pg, row) {
					t.Errorf("only SQLite has     %q", row)
				}
			}
			for _, row := range pg {
				if !slices.Contains(lite, row) {
					t.Errorf("only PostgreSQL has %q", row)
				}
			}
			if len(lite) < 300 {
				t.Errorf("%d rows: the calls did not get far", len(lite))
			}
			for _, side := range sides {
				side.sound(t)
			}
		})
	}
}

// randomStep chooses the next step, for both databases to carry out.
func randomStep(t *testing.T, random *rand.Rand, calls *[]store.NewCall) (text string, do func(*ledgerSide) error) {
	t.Helper()
	ctx := t.Context()
	n := random.IntN(100)
	if n < 45 || len(*calls) == 0 {
		return randomBegin(t, random, calls)
	}
	if n < 66 {
		return randomUpkeep(t, random, n)
	}
	call := (*calls)[random.IntN(len(*calls))]
	var outbox *store.Outbox
	if random.IntN(2) == 0 {
		outbox = &store.Outbox{Data: map[string]any{"id": call.ResultID, "umlaut": "ä"}}
		if call.Job != nil {
			outbox.Event = store.EventJobCompleted
		}
	}
	if call.Job != nil && call.Job.Records > 0 && random.IntN(4) > 0 {
		return randomChunk(t, random, call)
	}
	asWorker := random.IntN(2) == 0
	if random.IntN(3) == 0 {
		failure := store.Failure{Code: "render_failed", Message: "the page\x00 did not load"}
		return "release " + call.ID, func(s *ledgerSide) error {
			if job, ok := s.jobs[call.ID]; ok && asWorker {
				return s.ReleaseJob(ctx, job, failure, outbox)
			}
			return s.Release(ctx, call.ID, failure, outbox)
		}
	}
	end := store.Settlement{
		CallID: call.ID, Charge: max(0, call.Quote-credit.Amount(random.IntN(600))+100), Outbox: outbox,
		Duration: time.Duration(random.IntN(1e6)) * time.Microsecond, Steps: store.Steps(`{"run":1}`),
	}
	withFile := random.IntN(3) == 0
	return "settle " + call.ID, func(s *ledgerSide) error {
		mine := end
		if withFile {
			mine.File = &store.File{Filename: "Größe\x00.pdf", ContentType: "application/pdf", Size: 7, BlobKey: call.ResultID, ExpiresAt: s.clock.Now().Add(24 * time.Hour), Warnings: `[{"code":"font_missing"}]`}
		}
		if job, ok := s.jobs[call.ID]; ok && asWorker {
			mine.Job = &job
		}
		return s.Settle(ctx, mine)
	}
}

// randomChunk chooses a chunk of a bulk job, which may be one too many or not the next one, or cancels the job.
func randomChunk(t *testing.T, random *rand.Rand, call store.NewCall) (text string, do func(*ledgerSide) error) {
	t.Helper()
	ctx := t.Context()
	if random.IntN(12) == 0 {
		return "cancel " + call.ID, func(s *ledgerSide) error {
			running, err := s.Call(ctx, call.ID)
			if err != nil {
				return err
			}
			return s.CancelJob(ctx, running, store.Failure{Code: "canceled"}, nil)
		}
	}
	chunk := store.Chunk{Records: 1 + random.IntN(5), Charge: credit.Amount(random.IntN(int(call.Quote)/3 + 1)), Results: fmt.Sprint(random.IntN(100))}
	chunk.Failed = random.IntN(chunk.Records + 1)
	skew := max(0, random.IntN(8)-6)
	twice := random.IntN(5) == 0
	return fmt.Sprintf("chunk of %s: %+v", call.ID, chunk), func(s *ledgerSide) error {
		job, ok := s.jobs[call.ID]
		if !ok {
			return nil
		}
		about, err := s.Bulk(ctx, call.ID)
		if err != nil {
			return err
		}
		mine := chunk
		mine.First = about.Processed + skew
		canceled, err := s.SettleChunk(ctx, job, mine)
		if twice && err == nil {
			canceled, err = s.SettleChunk(ctx, job, mine)
		}
		return fmt.Errorf("canceled %t: %w", canceled, err)
	}
}

// randomBegin chooses a call that begins.
func randomBegin(t *testing.T, random *rand.Rand, calls *[]store.NewCall) (text string, do func(*ledgerSide) error) {
	t.Helper()
	ctx := t.Context()
	call, account, key := randomCall(random, *calls)
	*calls = append(*calls, call)
	promised, earlier := random.IntN(8) == 0, random.IntN(30) == 0
	pick, lease := random.IntN(1000), []string{leaseAlive, leaseAlive, leaseGone}[random.IntN(3)]
	return fmt.Sprintf("begin %+v", call), func(s *ledgerSide) error {
		mine := call
		mine.AccountID, mine.Lease = s.accounts[account].ID, lease
		if mine.Job != nil {
			mine.Lease = ""
		}
		if key >= 0 {
			mine.KeyID = s.keys[key].ID
		}
		if promised {
			quote, err := s.NewQuote(ctx, mine.AccountID, []byte("digest"), mine.Quote)
			if err != nil {
				return err
			}
			s.quotes = append(s.quotes, quote)
			mine.QuoteID = quote.ID
		}
		if earlier && len(s.quotes) > 0 { // perhaps used, expired, of another amount, or another account's
			quote := s.quotes[pick%len(s.quotes)]
			mine.QuoteID = quote.ID
			if pick%3 > 0 {
				mine.Quote = quote.Amount
			}
		}
		return s.Begin(ctx, mine)
	}
}

// randomUpkeep chooses a step that happens to calls without their caller; n is from 45 to 65.
func randomUpkeep(t *testing.T, random *rand.Rand, n int) (text string, do func(*ledgerSide) error) {
	t.Helper()
	ctx := t.Context()
	gone := random.IntN(3) == 0
	by := time.Duration(random.IntN(20)) * time.Minute
	if random.IntN(4) == 0 {
		by = time.Duration(random.IntN(480)) * time.Minute
	}
	failure := store.Failure{Code: "internal_error", Message: "The server stopped."}
	// abandoned does the reaper's work on orphaned calls.
	abandoned := func(s *ledgerSide, list []store.Orphan, err error) error {
		for _, orphan := range list {
			requeued := false
			if err == nil && orphan.Tries > 0 {
				requeued, err = s.RequeueOrphan(ctx, orphan)
			}
			if err == nil && !requeued {
				err = s.ReleaseOrphan(ctx, orphan, failure, &store.Outbox{Event: store.EventJobFailed, Data: orphan.Call.ResultID})
			}
		}
		return fmt.Errorf("%d orphans: %w", len(list), err)
	}
	switch {
	case n < 50:
		return "later", func(s *ledgerSide) error { s.clock.Advance(by); return nil }
	case n < 56:
		return "claim", func(s *ledgerSide) error {
			lease := leaseAlive
			if gone {
				lease = leaseGone
			}
			job, err := s.ClaimJob(ctx, lease)
			if errors.Is(err, store.ErrNotFound) {
				return nil
			}
			s.jobs[job.Call.ID] = job
			return fmt.Errorf("job %s: %w", job.Call.ID, err)
		}
	case n < 59:
		return "renew", func(s *ledgerSide) error { return s.renew(t) }
	case n < 60:
		return "reap", func(s *ledgerSide) error {
			released, err := s.Reap(ctx)
			return fmt.Errorf("%d released: %w", released, err)
		}
	case n < 61:
		return "end process", func(s *ledgerSide) error { return s.EndLease(ctx, leaseAlive) }
	case n < 62:
		return "orphaned calls", func(s *ledgerSide) error {
			list, err := s.OrphanedCalls(ctx, 100)
			return abandoned(s, list, err)
		}
	case n < 64:
		return "orphaned jobs", func(s *ledgerSide) error {
			list, err := s.OrphanedJobs(ctx, 3)
			return abandoned(s, list, err)
		}
	case n < 65:
		return "overdue jobs", func(s *ledgerSide) error {
			list, err := s.OverdueJobs(ctx, 100)
			for _, job := range list {
				err = errors.Join(err, s.ReleaseOrphan(ctx, job, failure, nil))
			}
			return fmt.Errorf("%d overdue: %w", len(list), err)
		}
	}
	return "lost calls", func(s *ledgerSide) error {
		list, err := s.LeasedCalls(ctx, leaseAlive, s.clock.Now().Add(-5*time.Minute), 100)
		return abandoned(s, list, err)
	}
}

// randomCall is a call whose account and key are the indexes, or no key where it is
// negative.
func randomCall(random *rand.Rand, before []store.NewCall) (call store.NewCall, account, key int) {
	if len(before) > 0 && random.IntN(20) == 0 { // the same call once more
		call = before[random.IntN(len(before))]
		return call, random.IntN(3), -1
	}
	account, key = random.IntN(3), -1
	if random.IntN(4) > 0 {
		key = account*2 + random.IntN(2)
	}
	if random.IntN(30) == 0 {
		key = random.IntN(6) // perhaps another account's
	}
	result := store.NewID("file")
	call = store.NewCall{
		ID: store.CallID(result), ResultID: result, Operation: []string{"pdf.create", "zip.create"}[random.IntN(2)], Mode: "binary", RequestID: "req",
		Quote: credit.Amount(random.IntN(10_000)), Metered: random.IntN(6) == 0,
	}
	if random.IntN(3) == 0 {
		call.IdempotencyKey, call.BodyHash = fmt.Sprintf("key %d", random.IntN(12)), []byte{0, 0xff, byte(random.IntN(3))}
	}
	if random.IntN(4) == 0 {
		call.CallbackURL = "https://example.com/hook"
		call.Trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	}
	if random.IntN(3) == 0 {
		call.Mode, call.Job = store.Async, &store.NewJob{Input: []byte{0, 1, 0xfe, byte(random.IntN(256))}, Kind: "pdf"}
		if random.IntN(2) == 0 {
			call.Job.Records = 1 + random.IntN(20)
		}
		if random.IntN(3) == 0 {
			call.Job.Input, call.Job.InputKey = nil, result
		}
		if random.IntN(3) == 0 {
			call.Job.Pins = []string{fmt.Sprintf("file_rules%d", account)}
		}
		if random.IntN(15) == 0 {
			call.Job.Pins = append(call.Job.Pins, "file_unknown", "file_rules0")
		}
	}
	return call, account, key
}
