package api_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

const async = `{"text":"a","response":"async"}`

func TestJobCompletes(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		answer := s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a","response":"async","filename":"x"}`})
		if answer.Status != http.StatusAccepted {
			t.Fatalf("got status %d: %s, want 202", answer.Status, answer.Body)
		}
		id := answer.Header.Get("x-service-id")
		poll := s.URL + "/v1/jobs/" + id
		if want := `{"id":"` + id + `","status":"processing","pollUrl":"` + poll + `"}`; strings.TrimSpace(answer.Body) != want {
			t.Errorf("the answer is %s, want %s", answer.Body, want)
		}
		for name, want := range map[string]string{"Location": poll, "Retry-After": "1", "x-service-charged-microdollars": ""} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if got := s.Job(t, id); got.Status != "processing" || got.ID != id || got.PollURL != poll {
			t.Errorf("while it waits the job is %+v", got)
		}
		if balance, holds := s.Balance(t); balance != int64(apitest.Trial-2000) || holds != 2000 {
			t.Errorf("while it waits %d can be spent and %d is held", balance, holds)
		}
		s.Clock.Advance(1500 * time.Microsecond)
		s.Work(t)
		job := s.Await(t, id)
		expires := apitest.Start().Add(24*time.Hour + time.Millisecond) // shown in whole milliseconds
		if job.Status != "completed" || job.URL != s.URL+"/v1/files/"+id || job.Filename != "x.txt" || job.SizeBytes != 1 ||
			job.ExpiresAt == nil || !job.ExpiresAt.Equal(expires) || job.Error != nil {
			t.Errorf("the job is %+v", job)
		}
		file := s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/v1/files/" + id, Header: http.Header{"Authorization": nil}}).OK(t)
		if file.Body != "a" {
			t.Errorf("the result is %q, want a", file.Body)
		}
		want := append([]string{"call test.echo done charged 2000"}, settled...)
		expectEffects(t, s, append(want, "job ended tries 1", "file x.txt 1", "blob 1")...)
		expectBalance(t, s, apitest.Trial-2000)

		s.Clock.Advance(24*time.Hour + time.Second)
		if got := s.Job(t, id); got.Status != "completed" || got.URL != "" || got.ExpiresAt == nil || !got.ExpiresAt.Equal(expires) {
			t.Errorf("a day later the job is %+v, want it completed at no address", got)
		}
		s.Clock.Advance(30 * 24 * time.Hour)
		s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/v1/jobs/" + id}).Refused(t, wire.NotFound)
	})
}

func TestJobFails(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s, fail := failing(t, db)
		var reason error = &wire.Error{Code: wire.ProcessingFailed, Message: "The file is damaged."}
		fail.Store(&reason)
		job := s.Enqueue(t, apitest.Request{Path: echo, Body: async})
		s.Work(t)
		job = s.Await(t, job.ID)
		if job.Status != "failed" || job.URL != "" || job.Error == nil || *job.Error != (wire.JobError{Code: "processing_failed", Message: "The file is damaged."}) {
			t.Errorf("the job is %+v, its error %+v", job, job.Error)
		}
		s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/v1/files/" + job.ID}).Refused(t, wire.NotFound)
		want := append([]string{"call test.echo failed charged 0 processing_failed"}, released...)
		expectEffects(t, s, append(want, "job ended tries 1")...)
		expectBalance(t, s, apitest.Trial)
	})
}

// TestJobWaitsForTheStorage: a job whose result cannot be stored continues when the storage is back.
func TestJobWaitsForTheStorage(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
	job := s.Enqueue(t, apitest.Request{Path: echo, Body: async})
	blobs := db.DataDir + "/blobs"
	if err := os.Rename(blobs, blobs+".away"); err != nil {
		t.Fatal(err)
	}
	s.Work(t)
	for deadline := time.Now().Add(5 * time.Minute); !strings.Contains(s.Log.String(), "job waits for the storage"); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) || s.Job(t, job.ID).Status != "processing" {
			t.Fatalf("the job does not wait: %s", s.Log.String())
		}
	}
	if err := os.Rename(blobs+".away", blobs); err != nil {
		t.Fatal(err)
	}
	if job = s.Await(t, job.ID); job.Status != "completed" {
		t.Errorf("the job is %+v, its error %+v", job, job.Error)
	}
	want := append([]string{"call test.echo done charged 2000"}, settled...)
	expectEffects(t, s, append(want, "job ended tries 1", "file echo.txt 1", "blob 1")...)
}

// TestJobIsNotForOthers: another account, and the ID of a call that is not a job, get 404.
func TestJobIsNotForOthers(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	job := s.Enqueue(t, apitest.Request{Path: echo, Body: async})
	_, _, other := s.NewAccount(t, "other@example.com")
	sync := s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a","response":"url"}`}).OK(t).Header.Get("x-service-id")
	for _, q := range []apitest.Request{
		{Path: "/v1/jobs/" + job.ID, Header: http.Header{"Authorization": {"Bearer " + other}}},
		{Path: "/v1/jobs/" + sync},
		{Path: "/v1/jobs/file_unknown"},
		{Path: "/v1/jobs/%00"},
	} {
		q.Method = http.MethodGet
		s.Send(t, q).Refused(t, wire.NotFound)
	}
}

// TestJobIsReplayed: the same key gives the same job, before and after its end,
// for one charge; a failed one frees the key.
func TestJobIsReplayed(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		first := withKey(t, s, "k", echo, async)
		again := withKey(t, s, "k", echo, async)
		s.Work(t)
		s.Await(t, first.Header.Get("x-service-id"))
		later := withKey(t, s, "k", echo, async)
		for _, got := range []apitest.Response{again, later} {
			if got.Status != http.StatusAccepted || got.Body != first.Body || got.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("the replay is %d %s (%q), want 202 %s", got.Status, got.Body, got.Header.Get("Idempotent-Replayed"), first.Body)
			}
		}
		want := append([]string{"call test.echo done charged 2000"}, settled...)
		expectEffects(t, s, append(want, "claim k done", "job ended tries 1", "file echo.txt 1", "blob 1")...)
	})
}

// TestJobOutlivesItsWorkers: a job whose process dies is run again, and given
// up after the third time.
func TestJobOutlivesItsWorkers(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		job := s.Enqueue(t, apitest.Request{Path: echo, Body: async})
		for try := 1; try <= store.MaxTries; try++ {
			claimed, err := s.Store.ClaimJob(t.Context(), "lease_dead", s.Kinds()...)
			if err != nil || claimed.Tries != try {
				t.Fatalf("try %d: claimed %+v, %v", try, claimed, err)
			}
			s.API.Calls.Reaper().Once(t.Context())
		}
		if _, err := s.Store.ClaimJob(t.Context(), "lease_dead", s.Kinds()...); err == nil {
			t.Error("the job was begun a fourth time")
		}
		got := s.Job(t, job.ID)
		if got.Status != "failed" || got.Error == nil || got.Error.Code != "internal_error" {
			t.Errorf("the job is %+v, want it failed", got)
		}
		s.API.Calls.Reaper().Once(t.Context())
		want := append([]string{"call test.echo failed charged 0 internal_error"}, released...)
		expectEffects(t, s, append(want, "job ended tries 3")...)
		expectBalance(t, s, apitest.Trial)
	})
}

// TestUnstartedJobIsTriedAgain: a job that got no page in time, as browsers hang, is tried
// again, and fails when that is so the third time.
func TestUnstartedJobIsTriedAgain(t *testing.T) {
	t.Parallel()
	for late := 1; late <= store.MaxTries; late++ {
		begun := atomic.Int64{}
		hang := func(context.Context, *apitest.EchoInput) error {
			if begun.Add(1) <= int64(late) {
				return &chrome.TimeoutError{Step: chrome.StepPage, After: time.Second, Unstarted: true}
			}
			return nil
		}
		s := apitest.New(t, apitest.Options{Operations: []schema.Definition[*operation.Deps]{apitest.Echo(hang)}, Change: quiet})
		job := s.Enqueue(t, apitest.Request{Path: echo, Body: async})
		s.Work(t)
		got := s.Await(t, job.ID)
		if late < store.MaxTries {
			if got.Status != "completed" {
				t.Errorf("after %d the job is %+v, want it completed", late, got)
			}
			want := append([]string{"call test.echo done charged 2000"}, settled...)
			expectEffects(t, s, append(want, fmt.Sprintf("job ended tries %d", late+1), "file echo.txt 1", "blob 1")...)
			continue
		}
		if got.Status != "failed" || got.Error == nil || !strings.Contains(got.Error.Message, "Rendering did not start") {
			t.Errorf("after %d the job is %+v, %+v, want it failed", late, got, got.Error)
		}
		expectBalance(t, s, apitest.Trial)
	}
}

// TestJobOfAnUnknownKindFailsAfterADay: a job that no worker can run does not hold its money for ever. Its owner
// gets the reason, and its endpoint is notified once.
func TestJobOfAnUnknownKindFailsAfterADay(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		receiver := apitest.NewReceiver(t, nil)
		endpoint := s.NewWebhook(t, `{"url":"`+receiver.URL+`"}`)
		result := s.Store.NewID("file")
		err := s.Store.Begin(t.Context(), store.NewCall{
			ID: store.CallID(result), ResultID: result, AccountID: s.Account.ID, KeyID: s.Key.ID,
			Operation: "test.gone", Mode: schema.Async, Quote: 2000, Job: &store.NewJob{Input: []byte("x"), Kind: "test.gone/1"},
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Work(t)
		s.Deliver(t)
		s.Clock.Advance(store.MaxJobWait - time.Second)
		s.API.Calls.Reaper().Once(t.Context())
		if job := s.Job(t, result); job.Status != "processing" {
			t.Errorf("before the day is over the job is %+v, want it processing", job)
		}
		s.Clock.Advance(time.Second)
		for range 2 {
			s.API.Calls.Reaper().Once(t.Context())
		}
		job := s.Job(t, result)
		if job.Status != "failed" || job.Error == nil || !strings.Contains(job.Error.Message, "within 24 hours and was not charged.") {
			t.Errorf("the job is %+v, want it failed with the reason", job)
		}
		if event := verify(t, s, endpoint.Secret, receiver.Next(t)); event.Type != store.EventJobFailed {
			t.Errorf("got event %s, want %s", event.Type, store.EventJobFailed)
		}
		s.AwaitRecorded(t)
		if n := receiver.Count(); n != 0 {
			t.Errorf("%d more events came", n)
		}
		expectBalance(t, s, apitest.Trial)
	})
}

// TestLostCalls: a call with the lease of a living process that no worker runs, because the database failed at the
// wrong moment, ends anyway.
func TestLostCalls(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		lease := ""
		s := apitest.New(t, apitest.Options{DB: &db, Change: func(cfg *apitest.Settings) { quiet(cfg); lease = cfg.Lease }})
		job := s.Enqueue(t, apitest.Request{Path: echo, Body: async})
		if _, err := s.Store.ClaimJob(t.Context(), lease, s.Kinds()...); err != nil {
			t.Fatal(err)
		}
		result := s.Store.NewID("file")
		lost := store.NewCall{
			ID: store.CallID(result), ResultID: result, AccountID: s.Account.ID, KeyID: s.Key.ID,
			Operation: "test.echo", Mode: schema.Binary, Quote: 2000, Lease: lease,
		}
		if err := s.Store.Begin(t.Context(), lost); err != nil {
			t.Fatal(err)
		}
		s.API.Calls.Reaper().Once(t.Context())
		if balance, holds := s.Balance(t); balance != int64(apitest.Trial-4000) || holds != 4000 {
			t.Errorf("before they count as lost %d can be spent and %d is held", balance, holds)
		}
		s.Clock.Advance(2 * time.Minute)
		s.API.Calls.Reaper().Once(t.Context())
		s.Work(t)
		if got := s.Await(t, job.ID); got.Status != "completed" {
			t.Errorf("the job is %+v, want it completed", got)
		}
		call, err := s.Store.Call(t.Context(), lost.ID)
		if err != nil || call.Status != store.CallFailed || call.Failure != store.Abandoned {
			t.Errorf("the call is %+v (%v), want it failed", call, err)
		}
		expectBalance(t, s, apitest.Trial-2000)
	})
}

// TestLongCallsAreNotLost: a process keeps the calls that it works on, however long they take.
func TestLongCallsAreNotLost(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		var s *apitest.Server
		long := func(ctx context.Context, _ *apitest.EchoInput) error {
			s.Clock.Advance(2 * time.Minute)
			s.API.Calls.Reaper().Once(ctx)
			return nil
		}
		s = apitest.New(t, apitest.Options{DB: &db, Operations: []schema.Definition[*operation.Deps]{apitest.Echo(long)}, Change: quiet})
		s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a"}`}).OK(t)
		job := s.Enqueue(t, apitest.Request{Path: echo, Body: async})
		s.Work(t)
		if got := s.Await(t, job.ID); got.Status != "completed" {
			t.Errorf("the job is %+v, want it completed", got)
		}
		ended := append([]string{"call test.echo done charged 2000", "call test.echo done charged 2000"}, settled...)
		expectEffects(t, s, append(append(ended, settled...), "job ended tries 1", "file echo.txt 1", "blob 1")...)
	})
}

// TestJobsThatBeginBeforeTheirResponseAreNotLost: a worker takes a job on before the request that created it has ended.
// The end of the request does not make it a job that nothing works on.
func TestJobsThatBeginBeforeTheirResponseAreNotLost(t *testing.T) {
	t.Parallel()
	begun, responded := make(chan struct{}, 1), make(chan struct{})
	var s *apitest.Server
	long := func(ctx context.Context, _ *apitest.EchoInput) error {
		begun <- struct{}{}
		<-responded
		s.Clock.Advance(2 * time.Minute)
		s.API.Calls.Reaper().Once(ctx)
		return nil
	}
	s = apitest.New(t, apitest.Options{Operations: []schema.Definition[*operation.Deps]{apitest.Echo(long)}, Change: func(cfg *apitest.Settings) {
		quiet(cfg)
		cfg.AfterStep = func(step string) {
			if step == "hold" {
				<-begun
			}
		}
	}})
	s.Work(t)
	job := s.Enqueue(t, apitest.Request{Path: echo, Body: async})
	close(responded)
	if got := s.Await(t, job.ID); got.Status != "completed" {
		t.Errorf("the job is %+v, want it completed", got)
	}
	expectEffects(t, s, append([]string{"call test.echo done charged 2000"}, append(settled, "job ended tries 1", "file echo.txt 1", "blob 1")...)...)
}

// TestStoppedJobIsReturned: a worker that has to stop puts its job back, and
// the try does not count.
func TestStoppedJobIsReturned(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{}, 8)
	var once sync.Once
	block := func(ctx context.Context, _ *apitest.EchoInput) error {
		cut := false
		once.Do(func() { cut = true })
		begun <- struct{}{}
		if !cut {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
	s := apitest.New(t, apitest.Options{Operations: []schema.Definition[*operation.Deps]{apitest.Echo(block)}, Change: quiet})
	job := s.Enqueue(t, apitest.Request{Path: echo, Body: async})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.API.Calls.Work(ctx, 1, time.Millisecond) }()
	<-begun
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := s.Job(t, job.ID); got.Status != "processing" {
		t.Errorf("after its worker stopped the job is %+v", got)
	}
	if log := s.Log.String(); strings.Contains(log, `"level":"ERROR"`) || !strings.Contains(log, `"outcome":"returned"`) {
		t.Errorf("the log tells of a returned job: %s", log)
	}
	s.Work(t)
	if got := s.Await(t, job.ID); got.Status != "completed" {
		t.Errorf("the job is %+v, want it completed", got)
	}
	want := append([]string{"call test.echo done charged 2000"}, settled...)
	expectEffects(t, s, append(want, "job ended tries 1", "file echo.txt 1", "blob 1")...)
}

// TestJobsAreFair: an account with many jobs does not keep another waiting.
func TestJobsAreFair(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		light, _, secret := s.NewAccount(t, "light@example.com")
		for range 4 {
			s.Enqueue(t, apitest.Request{Path: echo, Body: async})
		}
		for range 2 {
			s.Enqueue(t, apitest.Request{Path: echo, Body: async, Header: http.Header{"Authorization": {"Bearer " + secret}}})
		}
		var order []string
		for {
			job, err := s.Store.ClaimJob(t.Context(), "lease_dead", s.Kinds()...)
			if err != nil {
				break
			}
			name := "heavy"
			if job.Call.AccountID == light.ID {
				name = "light"
			}
			order = append(order, name)
			s.Clock.Advance(time.Second)
			if err := s.Store.Release(t.Context(), job.Call.ID, store.Failure{Code: "x"}, nil); err != nil {
				t.Fatal(err)
			}
		}
		first := order[:min(4, len(order))]
		slices.Sort(first[:2])
		slices.Sort(first[2:])
		if want := []string{"heavy", "light", "heavy", "light", "heavy", "heavy"}; !slices.Equal(order, want) {
			t.Errorf("the order of accounts is %v, want turns: %v", order, want)
		}
	})
}

// TestJobInputIsEncrypted: the stored input of a waiting job is unreadable, is decrypted when the job runs, and is
// deleted when it has ended.
func TestJobInputIsEncrypted(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
	const secret = "a very secret text"
	long := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte(secret), 10_000))
	var ids []string
	for _, body := range []string{
		`{"text":"` + secret + `","response":"async"}`,
		`{"text":"` + secret + `","response":"async","file":"` + long + `"}`,
	} {
		ids = append(ids, s.Enqueue(t, apitest.Request{Path: echo, Body: body}).ID)
	}
	if found := filesWith(t, db.DataDir, secret); len(found) > 0 {
		t.Errorf("the input of a waiting job can be read in %v", found)
	}
	s.Work(t)
	for _, id := range ids {
		s.Await(t, id)
		file := s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/v1/files/" + id}).OK(t)
		if file.Body != secret {
			t.Errorf("the result is %q, want %q", file.Body, secret)
		}
	}
	want := slices.Concat([]string{"call test.echo done charged 2000", "call test.echo done charged 2000"}, settled, settled,
		[]string{"job ended tries 1", "job ended tries 1", "file echo.txt 18", "file echo.txt 18", "blob 18", "blob 18"})
	slices.Sort(want)
	// An input is deleted when its job has ended, which those who poll see before.
	var got []string
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		if got = slices.Sorted(slices.Values(s.Effects(t))); slices.Equal(got, want) {
			return
		}
	}
	t.Errorf("effects are %v, want %v", got, want)
}

// filesWith returns the files below dir that hold a text, as it is or as Base64.
func filesWith(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) || bytes.Contains(content, []byte(base64.StdEncoding.EncodeToString([]byte(text)))) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestKeysReadTheirOwnResults: a key that may not use all operations reads its own jobs and
// results, and no other's.
func TestKeysReadTheirOwnResults(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		narrow := func() http.Header {
			_, secret := s.NewKey(t, store.NewKey{AccountID: s.Account.ID, Operations: []string{"test.echo"}})
			return bearerOf(secret)
		}
		own, other := narrow(), narrow()
		theirs := s.Enqueue(t, apitest.Request{Path: echo, Body: async}).ID
		mine := s.Enqueue(t, apitest.Request{Path: echo, Body: async, Header: own}).ID
		s.Work(t)
		s.Await(t, mine)
		s.Await(t, theirs)
		get := func(path string, header http.Header) apitest.Response {
			return s.Send(t, apitest.Request{Method: http.MethodGet, Path: path, Header: header})
		}
		if got := get("/v1/jobs/"+mine, own).OK(t); !strings.Contains(got.Body, `"completed"`) {
			t.Errorf("the key's own job is %s", got.Body)
		}
		get("/v1/jobs/"+theirs, own).Refused(t, wire.NotFound)
		get("/v1/jobs/"+mine, other).Refused(t, wire.NotFound)
		get("/v1/jobs/"+mine, nil).OK(t)
		for path, member := range map[string]string{"/v1/jobs": `"pollUrl"`, "/v1/files": `"contentType"`} {
			for name, q := range map[string]struct {
				header http.Header
				want   int
			}{"own": {own, 1}, "other": {other, 0}, "full": {nil, 2}} {
				got := get(path, q.header).OK(t)
				if n := strings.Count(got.Body, member); n != q.want || q.want == 1 && !strings.Contains(got.Body, mine) {
					t.Errorf("%s by the %s key lists %d, want %d: %s", path, name, n, q.want, got.Body)
				}
			}
		}
		remove := func(id string, header http.Header) apitest.Response {
			return s.Send(t, apitest.Request{Method: http.MethodDelete, Path: "/v1/files/" + id, Header: header})
		}
		remove(theirs, own).Refused(t, wire.NotFound)
		remove(mine, other).Refused(t, wire.NotFound)
		remove(mine, own).OK(t)
		get("/v1/files/"+mine, nil).Refused(t, wire.NotFound)
	})
}
