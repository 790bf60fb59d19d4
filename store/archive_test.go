package store_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"relaypdf/store"
	"relaypdf/store/blob"
	"relaypdf/store/credit"
	"relaypdf/store/storetest"
)

// watched is a place of files that says before what is done with it.
type watched struct {
	blob.Store

	dir string
	mu  sync.Mutex
	// before may refuse what is about to be done, or have it done with other bytes.
	before func(what, key string, r io.Reader) (io.Reader, error)
}

func newWatched(t testing.TB, dir string) *watched {
	t.Helper()
	dir = filepath.Join(dir, "blobs")
	disk, err := blob.NewDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &watched{Store: disk, dir: dir}
}

func (w *watched) on(before func(what, key string, r io.Reader) (io.Reader, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before = before
}

func (w *watched) ask(what, key string, r io.Reader) (io.Reader, error) {
	w.mu.Lock()
	before := w.before
	w.mu.Unlock()
	if before == nil {
		return r, nil
	}
	return before(what, key, r)
}

func (w *watched) Put(ctx context.Context, key string, r io.Reader) (int64, error) {
	r, err := w.ask("put", key, r)
	if err != nil {
		return 0, err
	}
	return w.Store.Put(ctx, key, r)
}

func (w *watched) Open(ctx context.Context, key string) (blob.Content, int64, error) {
	if _, err := w.ask("open", key, nil); err != nil {
		return nil, 0, err
	}
	return w.Store.Open(ctx, key)
}

// history is a fixture with four months behind it, from November to February, in
// each of which calls were made, delivered and paid for. It is March.
type history struct {
	*fixture
	files  *watched
	before store.LedgerReport
	rows   map[string][]string // of November and December, by table, as JSON
}

// archivedTables are the tables of which there are files.
var archivedTables = []string{"calls", "journal", "deliveries", "delivery_attempts", "events"}

func newHistory(t testing.TB, db storetest.DB) *history {
	t.Helper()
	files := newWatched(t, db.DataDir)
	h := &history{fixture: newFixtureAs(t, db, store.Config{Blobs: files}), files: files, rows: map[string][]string{}}
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
	for _, table := range archivedTables {
		if h.rows[table] = h.asJSON(t, table); len(h.rows[table]) == 0 {
			t.Fatalf("%s has no rows of November and December", table)
		}
	}
	var err error
	if h.before, err = h.CheckLedger(t.Context()); err != nil || !h.before.OK() {
		t.Fatalf("before: %+v, %v", h.before, err)
	}
	return h
}

// aMonth makes calls of this month: two that succeed, one of which is delivered at
// the second attempt, and one that fails; and a payment.
func (h *history) aMonth(t testing.TB) {
	t.Helper()
	for _, reason := range []string{"\"quoted\", and\r\na second line", ""} {
		c := h.monthCall(1000)
		c.RequestID = reason
		h.begin(t, c)
		err := h.Settle(t.Context(), store.Settlement{CallID: c.ID, Charge: 900, Outbox: &store.Outbox{
			Event: store.EventJobCompleted, Data: map[string]string{"text": reason},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	first := true
	for h.count(t, "deliveries WHERE status = 'pending'") > 0 {
		for _, due := range h.claim(t, h.Store) {
			outcome := store.Attempt{Delivered: true, StatusCode: 204}
			if first {
				outcome, first = failed, false
			}
			h.finish(t, due, outcome)
		}
		h.clock.Advance(time.Minute)
	}
	c := h.begin(t, h.monthCall(1000))
	h.release(t, c.ID)
	h.post(t, store.KindPayment, credit.Dollar, "pay_"+c.ID)
}

// monthCall is newCall with ids of the clock's month.
func (h *history) monthCall(quote credit.Amount) store.NewCall {
	c := h.newCall(quote)
	c.ResultID = h.NewID("file")
	c.ID = store.CallID(c.ResultID)
	return c
}

// monthIDs bounds the ids of November and December, for any kind.
const monthIDs = "substr(%[1]s, strpos(%[1]s, '_') + 1) < '%[2]s'"

// asJSON returns the rows of a table that are of November and December.
func (h *history) asJSON(t testing.TB, table string) (rows []string) {
	t.Helper()
	id := "id"
	if strings.HasSuffix(table, "delivery_attempts") {
		id = "delivery_id"
	}
	january := store.IDTime(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
	err := h.DB().NewRaw("SELECT to_json(r)::text FROM "+table+" AS r WHERE "+fmt.Sprintf(monthIDs, id, january)+" ORDER BY 1").Scan(t.Context(), &rows)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// archive archives what is before January.
func archive(ctx context.Context, s *store.Store) (all []store.Archived, err error) {
	err = s.Archive(ctx, store.ArchiveOrder{Keep: 2}, func(a store.Archived) { all = append(all, a) })
	return all, err
}

// restored reads the files back into the tables of another database, as
// PostgreSQL does, and compares them with what was there.
func (h *history) restored(t testing.TB) {
	t.Helper()
	var months []struct {
		Name, BlobKey, SHA256 string
		RowCount              int64
	}
	err := h.DB().NewRaw("SELECT name, blob_key, sha256 AS sha256, row_count FROM archives ORDER BY name, month").Scan(t.Context(), &months)
	if err != nil {
		t.Fatal(err)
	}
	text := map[string][]byte{}
	seen := map[string]bool{}
	for _, m := range months {
		if (m.BlobKey == "") != (m.RowCount == 0) || seen[m.BlobKey] && m.BlobKey != "" {
			t.Errorf("%+v has rows without a file, or a file of another", m)
		}
		if seen[m.BlobKey] = true; m.BlobKey == "" {
			continue
		}
		var manifest struct {
			Format                    int
			Month, Table, SHA256, Key string
			Rows                      int64
		}
		if err := json.Unmarshal(h.read(t, strings.TrimSuffix(m.BlobKey, ".csv.gz")+".json"), &manifest); err != nil {
			t.Error(err)
		}
		if manifest.Format != 1 || manifest.Table != m.Name || manifest.SHA256 != m.SHA256 || manifest.Key != m.BlobKey || manifest.Rows != m.RowCount {
			t.Errorf("the manifest of %s is %+v, want %+v", m.BlobKey, manifest, m)
		}
		zip, err := gzip.NewReader(bytes.NewReader(h.read(t, m.BlobKey)))
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(zip)
		if err != nil {
			t.Fatal(err)
		}
		if text[m.Name] != nil {
			_, content, _ = bytes.Cut(content, []byte("\n"))
		}
		text[m.Name] = append(text[m.Name], content...)
	}
	for _, table := range archivedTables {
		if left := h.asJSON(t, table); len(left) != 0 {
			t.Errorf("%s still has %q", table, left)
		}
		copied := "restored_" + table
		h.copyIn(t, table, copied, text[table])
		if got := h.asJSON(t, copied); !slices.Equal(got, h.rows[table]) {
			t.Errorf("%s was restored as\n%q, want\n%q", table, got, h.rows[table])
		}
	}
}

func (h *history) read(t testing.TB, key string) []byte {
	t.Helper()
	content, _, err := h.files.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	text, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// copyIn makes a table as another one is, and fills it.
func (h *history) copyIn(t testing.TB, like, table string, text []byte) {
	t.Helper()
	if _, err := h.DB().Exec("CREATE TABLE " + table + " (LIKE " + like + ")"); err != nil {
		t.Fatal(err)
	}
	conn, err := h.DB().DB.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	err = conn.Raw(func(driver any) error {
		_, err := driver.(*stdlib.Conn).Conn().PgConn().CopyFrom(t.Context(), bytes.NewReader(text), "COPY "+table+" FROM STDIN (FORMAT csv, HEADER)")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// stands checks that nothing has gone: everything is in its table, and the books
// are what they were.
func (h *history) stands(t testing.TB) {
	t.Helper()
	for _, table := range archivedTables {
		if got := h.asJSON(t, table); !slices.Equal(got, h.rows[table]) {
			t.Errorf("%s has %d rows of November and December, want %d as before", table, len(got), len(h.rows[table]))
		}
	}
	h.books(t)
}

// books checks that the books are what they were, and whole.
func (h *history) books(t testing.TB) {
	t.Helper()
	after, err := h.CheckLedger(t.Context())
	if err != nil || !after.OK() || after.Postings != h.before.Postings || after.Wallets != h.before.Wallets || after.Revenue != h.before.Revenue {
		t.Errorf("the books are %+v, %v; want %+v", after, err, h.before)
	}
	for m := range 4 {
		if problems, err := h.CheckMonth(t.Context(), noon.AddDate(0, m, 0)); err != nil || len(problems) > 0 {
			t.Errorf("month %d: %q, %v", m, problems, err)
		}
	}
}

// TestArchive: old months become files that PostgreSQL reads again, and are gone;
// lists, exports, balances and the checks of the books know nothing of it.
func TestArchive(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(testing.TB) storetest.DB{"directly": storetest.BarePostgres, "through pgbouncer": storetest.Bounced} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHistory(t, database(t))
			statement := h.export(t, store.LedgerQuery{})
			old := h.monthOf(t, "calls", noon)

			var dry []store.Archived
			err := h.Archive(t.Context(), store.ArchiveOrder{Keep: 2, DryRun: true}, func(a store.Archived) { dry = append(dry, a) })
			if err != nil || len(dry) != 10 || slices.ContainsFunc(dry, func(a store.Archived) bool { return a.Kept != "" || a.Key != "" }) {
				t.Errorf("a dry run: got %+v, %v; want five tables of two months, all of which would go", dry, err)
			}
			h.stands(t)

			done, err := archive(t.Context(), h.Store)
			if err != nil || len(done) != 12 || slices.ContainsFunc(done, func(a store.Archived) bool { return a.Kept != "" || a.Key == "" && a.Rows > 0 }) {
				t.Fatalf("got %+v, %v; want five tables of two months, and attempts", done, err)
			}
			h.restored(t)
			h.books(t)
			h.withoutTheOld(t, old, statement)

			// Files of months stay for ever, and the next round finds nothing to do.
			h.age(t)
			if n, err := h.DeleteOrphanBlobs(t.Context(), 100); err != nil || n != 0 {
				t.Errorf("%d orphans were swept, %v; want none", n, err)
			}
			if again, err := archive(t.Context(), h.Store); err != nil || len(again) != 0 {
				t.Errorf("again: got %+v, %v; want nothing left to do", again, err)
			}
			h.aMonth(t)
			h.sound(t)
		})
	}
}

// monthOf returns the id of a row of the month.
func (h *history) monthOf(t testing.TB, table string, at time.Time) (id string) {
	t.Helper()
	if err := h.DB().NewRaw("SELECT MIN(id) FROM "+table+"_"+at.Format("2006_01")).Scan(t.Context(), &id); err != nil {
		t.Fatal(err)
	}
	return id
}

// withoutTheOld reads what there was of an old month, and all that goes across it.
func (h *history) withoutTheOld(t testing.TB, old string, statement []string) {
	t.Helper()
	january := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := h.Call(t.Context(), old); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an old call: got %v, want %v", err, store.ErrNotFound)
	}
	for what, list := range map[string]func(store.List) (int, error){
		"calls": func(l store.List) (int, error) {
			page, err := h.Calls(t.Context(), store.CallFilter{AccountID: h.acc.ID, List: l})
			return len(page.Items), err
		},
		"postings": func(l store.List) (int, error) {
			page, err := h.Statement(t.Context(), store.PostingFilter{AccountID: h.acc.ID, List: l})
			return len(page.Items), err
		},
		"deliveries": func(l store.List) (int, error) {
			page, err := h.Deliveries(t.Context(), store.DeliveryFilter{AccountID: h.acc.ID, List: l})
			return len(page.Items), err
		},
	} {
		if n, err := list(store.List{Before: january}); err != nil || n != 0 {
			t.Errorf("old %s: got %d, %v; want none", what, n, err)
		}
		if n, err := list(store.List{After: january, Limit: 100}); err != nil || n == 0 {
			t.Errorf("newer %s: got %d, %v; want some", what, n, err)
		}
	}
	// What is left of the export is its end, with the same balances.
	got := h.export(t, store.LedgerQuery{})
	if n := len(statement) - len(got); n <= 0 || len(got) == 0 || !slices.Equal(got, statement[n:]) {
		t.Errorf("the export is %q, want the end of %q", got, statement)
	}
	if got := h.export(t, store.LedgerQuery{To: january}); len(got) != 0 {
		t.Errorf("the export of the old months: got %q, want nothing", got)
	}
	page, err := h.Statement(t.Context(), store.PostingFilter{AccountID: h.acc.ID, List: store.List{Limit: 100}})
	acc, accErr := h.Account(t.Context(), h.acc.ID)
	if err := errors.Join(err, accErr); err != nil || len(page.Items) == 0 || page.Items[0].Balance != acc.Balance {
		t.Errorf("the statement: got %+v, %v; want it to end with %s", page.Items, err, acc.Balance)
	}
}

// age makes all files a month old.
func (h *history) age(t testing.TB) {
	t.Helper()
	old := time.Now().Add(-30 * 24 * time.Hour)
	files := 0
	err := filepath.WalkDir(h.files.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		return os.Chtimes(path, old, old)
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files, %v", files, err)
	}
}

// TestArchiveKeepsWhatIsOpen: a month stays with all of its tables while something
// of it is not over, or not closed.
func TestArchiveKeepsWhatIsOpen(t *testing.T) {
	t.Parallel()
	h := newHistory(t, storetest.BarePostgres(t))
	november, december := h.monthOf(t, "calls", noon), h.monthOf(t, "calls", noon.AddDate(0, 1, 0))
	event, delivery := h.monthOf(t, "events", noon), h.monthOf(t, "deliveries", noon)
	later := h.monthOf(t, "deliveries", noon.AddDate(0, 2, 0))
	file := strings.Replace(november, "call_", "file_", 1)
	for name, test := range map[string]struct{ spoil, mend, kept string }{
		"call":        {"UPDATE calls SET status = 'running' WHERE id = '" + november + "'", "UPDATE calls SET status = 'done' WHERE id = '" + november + "'", "1 calls are running"},
		"job":         {"INSERT INTO jobs (call_id, account_id, state, created_at) VALUES ('" + november + "', 'a', 'queued', 0)", "DELETE FROM jobs", "1 jobs have not ended"},
		"idempotency": {"INSERT INTO idempotency VALUES ('a', 'k', '" + november + "', '', 'done', 0, 0)", "DELETE FROM idempotency", "1 idempotency keys are kept"},
		"input":       {"INSERT INTO kept_inputs VALUES ('" + november + "', (SELECT MIN(id) FROM accounts), '', 0)", "DELETE FROM kept_inputs", "1 inputs of calls are kept"},
		"file":        {"INSERT INTO files (id, account_id, filename, content_type, size, blob_key, created_at, expires_at) VALUES ('" + file + "', 'a', '', '', 0, 'x', 0, 0)", "DELETE FROM files", "1 files are kept"},
		"delivery":    {"UPDATE deliveries SET status = 'pending' WHERE id = '" + delivery + "'", "UPDATE deliveries SET status = 'delivered' WHERE id = '" + delivery + "'", "1 deliveries are pending"},
		"event":       {"UPDATE deliveries SET event_id = '" + event + "' WHERE id = '" + later + "'", "UPDATE deliveries SET event_id = 'evt_x' WHERE id = '" + later + "'", "1 later deliveries tell of its events"},
		"closing":     {"DELETE FROM closed_months WHERE month = 24322", "INSERT INTO closed_months VALUES (24322, 0)", "its books are not closed"},
	} {
		do := func(statement string) {
			t.Helper()
			if _, err := h.DB().Exec(statement); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		do(test.spoil)
		var kept []string
		err := h.Archive(t.Context(), store.ArchiveOrder{Keep: 3}, func(a store.Archived) { kept = append(kept, a.Month+" "+a.Table+": "+a.Kept) })
		want := "2026-11 deliveries: " + test.kept
		if err != nil || len(kept) != 5 || !slices.Contains(kept, want) {
			t.Errorf("%s: got %q, %v; want five tables to stay, such as %q", name, kept, err, want)
		}
		do(test.mend)
	}
	// A journal that is not what its closing says stays by itself, and those after it.
	if _, err := h.DB().Exec("UPDATE journal SET revenue = revenue - 1, wallet = wallet + 1 WHERE cause = '" + november + "' AND kind <> 'hold'"); err != nil {
		t.Fatal(err)
	}
	done, err := archive(t.Context(), h.Store)
	kept := map[string]string{}
	for _, a := range done {
		if a.Kept != "" {
			kept[a.Month+" "+a.Table] = a.Kept
		}
	}
	if err != nil || len(done) != 12 || len(kept) != 2 || !strings.Contains(kept["2026-11 journal"], "are not those of its closing") ||
		kept["2026-12 journal"] != "the journal of an earlier month stays" {
		t.Errorf("got %+v, %v; want the journals of both months to stay", done, err)
	}
	if _, err := h.Call(t.Context(), december); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a call of December: got %v, want it gone", err)
	}
}

// TestArchiveIsCutShort ends the work at each thing that it does with the files, in
// turn, as if its process were killed: the next one goes on, and nothing is lost.
func TestArchiveIsCutShort(t *testing.T) {
	t.Parallel()
	h := newHistory(t, storetest.BarePostgres(t))
	cut := 0
	for n := 1; ; n++ {
		ctx, kill := context.WithCancel(t.Context())
		left := n
		h.files.on(func(_, _ string, r io.Reader) (io.Reader, error) {
			if left--; left == 0 {
				kill()
			}
			return r, ctx.Err()
		})
		_, err := archive(ctx, h.Store)
		kill()
		if err == nil {
			break
		}
		cut++
		h.files.on(nil)
		h.books(t)
	}
	if cut < 10 {
		t.Errorf("it was cut short %d times, want at many places", cut)
	}
	h.files.on(nil)
	h.restored(t)
	h.books(t)
}

// TestArchiveWithoutFiles: where the files cannot be written, or come back otherwise,
// everything stays where it is.
func TestArchiveWithoutFiles(t *testing.T) {
	t.Parallel()
	h := newHistory(t, storetest.BarePostgres(t))
	gone := errors.New("the bucket is gone")
	for name, fault := range map[string]func(what, key string, r io.Reader) (io.Reader, error){
		"nothing is written": func(what, _ string, r io.Reader) (io.Reader, error) {
			if what == "put" {
				_, _ = io.CopyN(io.Discard, r, 10)
				return nil, gone
			}
			return r, nil
		},
		"nothing is read": func(what, _ string, r io.Reader) (io.Reader, error) {
			if what == "open" {
				return nil, gone
			}
			return r, nil
		},
		"half is written": func(_, _ string, r io.Reader) (io.Reader, error) { return io.LimitReader(r, 60), nil },
		"another is written": func(what, _ string, r io.Reader) (io.Reader, error) {
			if what != "put" {
				return r, nil
			}
			if _, err := io.Copy(io.Discard, r); err != nil {
				return nil, err
			}
			var other bytes.Buffer
			zip := gzip.NewWriter(&other)
			_, err := zip.Write([]byte("id\nx\n"))
			return &other, errors.Join(err, zip.Close())
		},
		"no manifest is written": func(what, key string, r io.Reader) (io.Reader, error) {
			if what == "put" && strings.HasSuffix(key, ".json") {
				return nil, gone
			}
			return r, nil
		},
	} {
		h.files.on(fault)
		if done, err := archive(t.Context(), h.Store); err == nil {
			t.Errorf("%s: got %+v, want an error", name, done)
		}
		h.stands(t)
	}
	h.files.on(nil)
	if _, err := archive(t.Context(), h.Store); err != nil {
		t.Fatal(err)
	}
	h.restored(t)
}

// TestArchiveTogether: of processes that archive at once, one does.
func TestArchiveTogether(t *testing.T) {
	t.Parallel()
	db := storetest.BarePostgres(t)
	h := newHistory(t, db)
	other := db.OpenAs(t, store.Config{Now: h.clock.Now, Blobs: h.files})
	var all sync.WaitGroup
	for n := range 6 {
		all.Go(func() {
			_, err := archive(t.Context(), []*store.Store{h.Store, other}[n%2])
			if err != nil && !errors.Is(err, store.ErrArchiving) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	h.restored(t)
	h.books(t)
}

// TestArchiveOfTwo: a process that lost its lock, with its connection, while it was
// writing a file goes on when another one has archived everything. It does no harm.
func TestArchiveOfTwo(t *testing.T) {
	t.Parallel()
	db := storetest.BarePostgres(t)
	h := newHistory(t, db)
	other := db.OpenAs(t, store.Config{Now: h.clock.Now, Blobs: newWatched(t, db.DataDir)})
	var once sync.Once
	h.files.on(func(what, _ string, r io.Reader) (io.Reader, error) {
		if what == "put" {
			once.Do(func() {
				var ended []bool
				err := other.DB().NewRaw("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())").Scan(t.Context(), &ended)
				if err != nil || len(ended) != 1 {
					t.Errorf("%d connections had the lock, %v; want one", len(ended), err)
				}
				for err = store.ErrArchiving; errors.Is(err, store.ErrArchiving); {
					_, err = archive(t.Context(), other)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		return r, nil
	})
	if done, err := archive(t.Context(), h.Store); err == nil || len(done) != 0 {
		t.Errorf("the one that lost its lock: got %+v, %v; want an error", done, err)
	}
	h.files.on(nil)
	h.restored(t)
	h.books(t)
}

// TestArchiveOfWhatChanges: what is changed before its file is written, and while it
// is, is in the file that stays, which is the only one.
func TestArchiveOfWhatChanges(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"open", "put"} { // It is looked for, by what is in it, before it is written.
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			h := newHistory(t, storetest.BarePostgres(t))
			var once sync.Once
			h.files.on(func(what, key string, r io.Reader) (io.Reader, error) {
				if what == when && strings.HasPrefix(key, "archive-2026-11-calls") {
					once.Do(func() {
						if _, err := h.DB().Exec("UPDATE calls SET steps = 'changed' WHERE id = '" + h.monthOf(t, "calls", noon) + "'"); err != nil {
							t.Error(err)
						}
						h.rows["calls"] = h.asJSON(t, "calls")
					})
				}
				return r, nil
			})
			if _, err := archive(t.Context(), h.Store); err != nil {
				t.Fatal(err)
			}
			h.restored(t)
			calls := 0
			if err := h.files.List(t.Context(), "", func(b blob.Entry) error {
				if strings.HasPrefix(b.Key, "archive-2026-11-calls") {
					calls++
				}
				return nil
			}); err != nil || calls != 2 {
				t.Errorf("there are %d files of November's calls, %v; want one and its manifest", calls, err)
			}
		})
	}
}

// TestArchiveWaitsItsTurn: while somebody reads a table, months of it cannot be
// taken out; others pass meanwhile, and then it is done.
func TestArchiveWaitsItsTurn(t *testing.T) {
	t.Parallel()
	h := newHistory(t, storetest.BarePostgres(t))
	reading, err := h.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reading.Exec("SELECT 1 FROM calls LIMIT 1"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := archive(t.Context(), h.Store)
		ended <- err
	}()
	waits := func() (waits bool) {
		err := h.DB().NewRaw("SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'calls'::regclass AND "+here+")").Scan(t.Context(), &waits)
		if err != nil {
			t.Fatal(err)
		}
		return waits
	}
	for deadline := time.Now().Add(2 * time.Minute); !waits(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nobody waits for the table")
		}
	}
	h.settle(t, h.begin(t, h.monthCall(10)).ID, 10)
	if err := reading.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	h.restored(t)
}

// TestArchiveByItself: where a retention is set, one process at a time archives.
func TestArchiveByItself(t *testing.T) {
	t.Parallel()
	db := storetest.BarePostgres(t)
	h := newHistory(t, db)
	s := db.OpenAs(t, store.Config{Now: h.clock.Now, Blobs: h.files, Retention: 2})
	tasks := s.Upkeep()
	last := tasks[len(tasks)-1]
	if last.Name != "archive" || len(tasks) != len(h.Upkeep())+1 {
		t.Fatalf("the tasks are %+v, want one more than without a retention", tasks)
	}
	if done, err := s.RunTask(t.Context(), last); !done || err != nil {
		t.Fatalf("got %v, %v", done, err)
	}
	h.restored(t)
	h.books(t)
}

// TestArchiveOfMonthsWithoutPartitions: a month that never got its own partition is
// archived like the others, and nothing of it is left.
func TestArchiveOfMonthsWithoutPartitions(t *testing.T) {
	t.Parallel()
	h := newHistory(t, storetest.BarePostgres(t))
	h.clock.Advance(240 * 24 * time.Hour)
	late := h.clock.Now().Format("2006-01")
	h.aMonth(t)
	for _, table := range []string{"calls", "journal", "deliveries", "events"} {
		if in := h.partitions(t, table); !slices.Contains(in, table+"_default") {
			t.Fatalf("%s: rows are in %q, want some in the default partition", table, in)
		}
	}
	h.clock.Advance(124 * 24 * time.Hour)
	if err := errors.Join(h.MakePartitions(t.Context()), h.CloseMonths(t.Context())); err != nil {
		t.Fatal(err)
	}
	done, err := archive(t.Context(), h.Store)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int64{}
	for _, a := range done {
		if a.Kept != "" {
			t.Errorf("%s of %s stays: %s", a.Table, a.Month, a.Kept)
		}
		if a.Month == late {
			rows[a.Table] = a.Rows
		}
	}
	if rows["calls"] != 3 || rows["events"] != 2 || rows["deliveries"] != 2 || rows["journal"] == 0 {
		t.Errorf("of %s: %v; want three calls, and two events with their deliveries", late, rows)
	}
	for _, table := range []string{"calls", "journal", "deliveries", "events"} {
		if in := h.partitions(t, table); len(in) != 0 {
			t.Errorf("%s: rows are left in %q", table, in)
		}
	}
	h.restored(t)
	h.sound(t)
}

func TestArchiveNeedsPostgres(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storetest.SQLite(t))
	if _, err := archive(t.Context(), f.Store); !errors.Is(err, store.ErrOnlyPostgres) {
		t.Errorf("got %v, want %v", err, store.ErrOnlyPostgres)
	}
}
