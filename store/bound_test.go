package store_test

import (
	"errors"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"relaypdf/store"
	"relaypdf/store/storetest"
)

// regions are two regions with files of their own and one database: that of the
// fixture, which is "loc", and "iad".
type regions struct {
	*fixture
	far *store.Store
	log storetest.Log // of the fixture's region
}

func newRegions(t *testing.T) *regions {
	t.Helper()
	db := storetest.Postgres(t)
	r := &regions{}
	r.fixture = newFixtureAs(t, db, store.Config{OwnFiles: true, Logger: slog.New(slog.NewTextHandler(&r.log, nil))})
	r.far = storetest.DB{URL: db.URL, DataDir: t.TempDir()}.OpenAs(t, store.Config{OwnFiles: true, Region: "iad", Now: r.clock.Now})
	return r
}

// short returns a job whose input is in the database.
func (r *regions) short(t testing.TB, pins ...string) store.NewCall {
	t.Helper()
	c := r.newJob(t, pins...)
	c.Job.InputKey, c.Job.Input = "", []byte("input")
	return c
}

// take claims a job for a region, and returns its call's id; empty where none is left.
func (r *regions) take(t testing.TB, s *store.Store) string {
	t.Helper()
	job, err := s.ClaimJob(t.Context(), r.lease)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	return job.Call.ID
}

// TestJobsRunWhereTheirFilesAre: of two regions with files of their own each claims
// the jobs whose files or inputs it keeps, and either the others, through ends of
// processes and releases of before.
func TestJobsRunWhereTheirFilesAre(t *testing.T) {
	t.Parallel()
	r := newRegions(t)
	upload := r.upload(t, "content")
	reads := r.begin(t, r.short(t, upload)).ID
	long := r.begin(t, r.newJob(t)).ID
	promised := r.short(t, upload) // A promised price has a way of its own to the database.
	quote, err := r.NewQuote(t.Context(), r.acc.ID, []byte("hash"), 100)
	if err != nil {
		t.Fatal(err)
	}
	promised.QuoteID = quote.ID
	r.begin(t, promised)
	free := r.begin(t, r.short(t)).ID
	checkTurns(t, r.Store)
	if backlog, err := r.Installation().Backlog(t.Context()); err != nil || backlog.Queued != 4 {
		t.Errorf("%d jobs wait, %v; want 4", backlog.Queued, err)
	}
	if got := []string{r.take(t, r.far), r.take(t, r.far)}; got[0] != free || got[1] != "" {
		t.Errorf("the other region claimed %v, want %s alone, which needs no file", got, free)
	}
	job, err := r.ClaimJob(t.Context(), r.lease)
	if err != nil || job.Call.ID != reads {
		t.Fatalf("claimed %s, %v; want %s", job.Call.ID, err, reads)
	}
	checkTurns(t, r.Store)
	if err := r.ReturnJob(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	// As a process of the release before puts the job of a dead one back.
	if _, err := r.DB().ExecContext(t.Context(), "UPDATE jobs SET state = 'queued', lease = '' WHERE call_id = ?", r.take(t, r.Store)); err != nil {
		t.Fatal(err)
	}
	checkTurns(t, r.Store)
	if id := r.take(t, r.far); id != "" {
		t.Errorf("the other region claimed %s, whose files it has not", id)
	}
	taken := map[string]bool{}
	for id := r.take(t, r.Store); id != ""; id = r.take(t, r.Store) {
		taken[id] = true
	}
	if want := map[string]bool{reads: true, long: true, promised.ID: true}; !maps.Equal(taken, want) {
		t.Errorf("the region claimed %v, want %v", taken, want)
	}
	for _, id := range []string{reads, long, promised.ID, free} {
		r.release(t, id)
	}
	checkTurns(t, r.Store)
	r.sound(t)
}

// TestScatteredFilesAreRefused: a job whose files no region has together is not begun.
func TestScatteredFilesAreRefused(t *testing.T) {
	t.Parallel()
	r := newRegions(t)
	here := r.upload(t, "here")
	there := r.newUpload(t, "there")
	if err := r.far.AddUpload(t.Context(), there); err != nil {
		t.Fatal(err)
	}
	both := map[string]string{here: "loc", there.ID: "iad"}
	for what, q := range map[string]struct {
		job  store.NewCall
		want map[string]string
	}{
		"files of two regions":               {r.short(t, here, there.ID), both},
		"a long input here and a file there": {r.newJob(t, there.ID), map[string]string{there.ID: "iad"}},
	} {
		var apart *store.ScatteredError
		if err := r.Begin(t.Context(), q.job); !errors.As(err, &apart) || !maps.Equal(apart.Regions, q.want) {
			t.Errorf("%s: %v, want a *ScatteredError of %v", what, err, q.want)
		}
	}
	r.wallet(t, trial, 0, 0)
	r.begin(t, r.short(t, there.ID)) // which the other region runs
	if id := r.take(t, r.far); id == "" {
		t.Error("the region of the file does not claim the job")
	} else {
		r.release(t, id)
	}
	r.sound(t)
}

// TestBoundJobsAreFairAndCheap: accounts take turns in both lanes, and a claim looks at
// indexes, whatever waits for another region.
func TestBoundJobsAreFairAndCheap(t *testing.T) {
	t.Parallel()
	r := newRegions(t)
	const waiting = 2000
	for _, query := range []string{
		"INSERT INTO jobs (call_id, account_id, state, region, created_at) SELECT 'call_' || n, 'acc_' || n % 100, 'ended', 'sin', n FROM generate_series(1, ?) AS n",
		"UPDATE jobs SET state = 'queued' WHERE region = 'sin' AND ? > 0",
	} {
		if _, err := r.DB().ExecContext(t.Context(), query, waiting); err != nil {
			t.Fatal(err)
		}
	}
	checkTurns(t, r.Store)
	other := r.newAccount(t, "bob@example.com", trial)
	var heavy []string
	for range 3 {
		heavy = append(heavy, r.begin(t, r.newJob(t)).ID)
	}
	late := r.short(t)
	late.AccountID, late.KeyID = other.ID, ""
	r.begin(t, late)
	if got, want := []string{r.take(t, r.Store), r.take(t, r.Store)}, heavy[0]+" "+late.ID; strings.Join(got, " ") != want && got[0]+got[1] != late.ID+heavy[0] {
		t.Errorf("claimed %v, want one of each account: %s", got, want)
	}
	if plan := explain(t, r.Store, "SELECT account_id FROM bound_turns WHERE region = 'sin' AND queued > 0 ORDER BY running, began_at, account_id LIMIT 1"); !sorted(plan) {
		t.Errorf("turns are not read in the order of an index:\n%s", plan)
	}
	if plan := explain(t, r.Store, "SELECT seq FROM jobs WHERE state = 'bound' AND region = 'sin' AND account_id = 'acc_1' ORDER BY seq LIMIT 1"); !sorted(plan) {
		t.Errorf("an account's jobs are not read in the order of an index:\n%s", plan)
	}
	for _, id := range append(heavy, late.ID) {
		r.release(t, id)
	}
}

// TestRegionWithoutWorkersIsTold: jobs that wait for a region are in the age of the
// oldest, and in the log when they have waited for long.
func TestRegionWithoutWorkersIsTold(t *testing.T) {
	t.Parallel()
	r := newRegions(t)
	call := r.begin(t, r.newJob(t))
	tell := func() {
		t.Helper()
		for _, task := range r.Upkeep() {
			if strings.HasPrefix(task.Name, "look for bound jobs") {
				if err := task.Do(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if tell(); r.log.String() != "" {
		t.Errorf("at once it is told that %s", r.log.String())
	}
	r.clock.Advance(7 * time.Minute)
	if tell(); !strings.Contains(r.log.String(), `"jobs wait for a region that alone can run them: has it a worker?" region=loc oldest=7m0s`) {
		t.Errorf("after seven minutes it is told that %q", r.log.String())
	}
	if lag, err := r.Lag(t.Context()); err != nil || lag.OldestJob != 7*time.Minute {
		t.Errorf("the oldest job has waited for %v, %v; want 7 minutes", lag.OldestJob, err)
	}
	r.release(t, call.ID)
}

// TestRegionsDeleteTheirOwnFiles: a file that has expired is deleted, with its bytes,
// by the region that keeps them, and not forgotten by another.
func TestRegionsDeleteTheirOwnFiles(t *testing.T) {
	t.Parallel()
	r := newRegions(t)
	deleted, expired := r.upload(t, "deleted"), r.upload(t, "expired")
	if err := r.far.DeleteFile(t.Context(), r.acc.ID, deleted); err != nil {
		t.Fatal(err)
	}
	if _, err := r.AccountFile(t.Context(), r.acc.ID, deleted); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a file that was deleted in the other region: %v", err)
	}
	r.clock.Advance(25 * time.Hour)
	if keys, err := r.far.DeleteExpiredFiles(t.Context(), 10); err != nil || len(keys) != 0 {
		t.Errorf("the other region deleted %v, %v", keys, err)
	}
	if keys, err := r.DeleteExpiredFiles(t.Context(), 10); err != nil || len(keys) != 2 {
		t.Errorf("its region deleted %v, %v; want the bytes of %s and %s", keys, err, deleted, expired)
	}
	if left := r.left(t); !strings.HasPrefix(left, "files 0, ") || !strings.HasSuffix(left, " blobs 0") {
		t.Errorf("there are left %s", left)
	}
}
