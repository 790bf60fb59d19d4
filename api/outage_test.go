package api_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestDatabaseIsAway: while PostgreSQL refuses connections or hangs, every kind of request gets 503 with Retry-After,
// and nothing is charged. Afterwards everything works again.
func TestDatabaseIsAway(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*storetest.Far, bool){
		"refuses": func(l *storetest.Far, on bool) { l.Cut(on) },
		"hangs":   func(l *storetest.Far, on bool) { l.Stall(on) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := storetest.Postgres(t)
			link, err := storetest.NewFar(context.WithoutCancel(t.Context()), db.URL, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = link.Close() })
			db.URL = link.URL
			s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
			id := stored(t, s, `{"text":"a","response":"url"}`)

			fault(link, true)
			doubt, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, _ = s.Store.Account(doubt, s.Account.ID)
			eventually(t, "the outage is known", s.Store.Unreachable)
			for _, request := range []apitest.Request{
				{Path: echo, Body: `{"text":"b"}`},
				{Path: echo, Body: `{"text":"b","response":"url"}`},
				{Path: echo, Body: async},
				{Path: "/v1/files", Body: "x"},
				{Path: "/v1/webhooks", Body: `{"url":"https://example.com"}`},
				{Method: http.MethodGet, Path: "/v1/account"},
				{Method: http.MethodGet, Path: "/v1/jobs/" + id},
				{Method: http.MethodGet, Path: "/v1/files/" + id, Header: without()},
				{Method: http.MethodGet, Path: "/v1/billing/usage"},
			} {
				answer := s.Send(t, request)
				answer.Refused(t, wire.StorageUnavailable)
				if answer.Header.Get("Retry-After") != "5" {
					t.Errorf("%s %s: Retry-After is %q", request.Method, request.Path, answer.Header.Get("Retry-After"))
				}
			}

			fault(link, false)
			eventually(t, "the outage ends", func() bool { return !s.Store.Unreachable() })
			s.Send(t, apitest.Request{Path: echo, Body: `{"text":"c"}`}).OK(t)
			if balance, held := s.Balance(t); balance != int64(apitest.Trial-2*apitest.EchoPrice) || held != 0 {
				t.Errorf("balance %d, held %d; want the price of two calls spent", balance, held)
			}
		})
	}
}

// eventually waits for a condition that background work makes true.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !condition(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// TestJobsOutliveTheDatabase: at each step of a job, the database is away for a moment: its sessions end, a response is
// lost, or it refuses connections. The job completes once, and is charged once.
func TestJobsOutliveTheDatabase(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"claimed", "standing", "load", "worked", "run", "stored"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			db := storetest.Postgres(t)
			link, err := storetest.NewFar(context.WithoutCancel(t.Context()), db.URL, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = link.Close() })
			db.URL = link.URL
			var outages atomic.Int64
			s := apitest.New(t, apitest.Options{DB: &db, Change: func(c *apitest.Settings) {
				quiet(c)
				c.AfterStep = func(passed string) {
					if passed != step || outages.Add(1) > 1 {
						return
					}
					link.Cut(true)
					time.AfterFunc(300*time.Millisecond, func() { link.Cut(false) })
				}
			}})

			job := s.Enqueue(t, apitest.Request{Path: echo, Body: async})
			s.Work(t)
			completed := func() bool {
				answer := s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/v1/jobs/" + job.ID})
				if strings.Contains(answer.Body, `"failed"`) {
					t.Fatalf("the job is %s", answer.Body)
				}
				return answer.Status == http.StatusOK && strings.Contains(answer.Body, `"completed"`)
			}
			eventually(t, "the job completes", completed)
			if outages.Load() == 0 {
				t.Fatal("the step was never reached")
			}
			if balance, held := s.Balance(t); balance != int64(apitest.Trial-apitest.EchoPrice) || held != 0 {
				t.Errorf("balance %d, held %d; want one price spent", balance, held)
			}
		})
	}
}

// TestJobIsTriedThreeTimes: a job that meets a failing store at every try is put back twice, and then fails with the
// cause.
func TestJobIsTriedThreeTimes(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		var tries atomic.Int64
		away := &wire.Error{Code: wire.StorageUnavailable}
		s := apitest.New(t, apitest.Options{DB: &db, Operations: []schema.Definition[*operation.Deps]{apitest.Echo(func(context.Context, *apitest.EchoInput) error {
			tries.Add(1)
			return away
		})}, Change: func(c *apitest.Settings) {
			quiet(c)
			c.StorageTime = time.Millisecond
		}})
		job := s.Enqueue(t, apitest.Request{Path: echo, Body: async})
		s.Work(t)
		if got := s.Await(t, job.ID); got.Error == nil || got.Error.Code != string(wire.StorageUnavailable) {
			t.Errorf("the job is %+v", got)
		}
		if balance, held := s.Balance(t); balance != int64(apitest.Trial) || held != 0 {
			t.Errorf("balance %d, held %d; want nothing spent", balance, held)
		}
		if got := tries.Load(); got < store.MaxTries {
			t.Errorf("the job was begun %d times", got)
		}
	})
}

// TestFullTemporaryFolder: bodies and results that do not fit into memory need the temporary folder. If it is full, they
// are refused with this cause, and small calls work.
func TestFullTemporaryFolder(t *testing.T) { // sets the environment
	s := apitest.New(t, apitest.Options{Operations: append(slices.Clone(operation.Rows), apitest.Echo(nil)), Change: func(c *apitest.Settings) {
		quiet(c)
		c.MaxBody, c.MaxFile = 64<<20, 64<<20
	}})
	dir := smallDisk(t, "2m")
	t.Setenv("TMPDIR", dir)
	large := strings.Repeat("AAAA", 4<<20)
	for path, body := range map[string]string{
		"/v1/zip":        `{"files":[{"filename":"a","file":"` + large + `"}]}`,
		"/v1/pdf/rotate": `{"degrees":90,"file":"` + large + `"}`,
		"/v1/convert":    `{"sourceFilename":"a.txt","file":"` + large + `"}`,
	} {
		got := s.Send(t, apitest.Request{Path: path, Body: body}).Refused(t, wire.StorageUnavailable)
		if !strings.Contains(got.Message, "disk space") {
			t.Errorf("%s: the message is %q", path, got.Message)
		}
	}
	s.Send(t, apitest.Request{Path: echo, Body: `{"text":"small"}`}).OK(t)

	if got := s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/health/ready", Header: without()}); !strings.Contains(got.Body, `"disk":"ok"`) {
		t.Errorf("ready with room: %s", got.Body)
	}
	makeRoom, err := fill(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/health/ready", Header: without()}); got.Status != http.StatusServiceUnavailable || !strings.Contains(got.Body, `"disk":"failed"`) {
		t.Errorf("ready without room: %d %s", got.Status, got.Body)
	}
	if err := makeRoom(); err != nil {
		t.Error(err)
	}
}

// TestDamagedResult: a stored result that is shorter than it was, or empty, is refused instead of sent.
func TestDamagedResult(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
	for _, size := range []int64{0, 3, 5} {
		id := stored(t, s, `{"text":"four","response":"url"}`)
		file, err := s.Store.AccountFile(t.Context(), s.Account.ID, id)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(blobPath(t, db.DataDir, file.BlobKey), size); err != nil {
			t.Fatal(err)
		}
		s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/v1/files/" + id, Header: without()}).Refused(t, wire.StorageUnavailable)
	}
}

// blobPath is the file of a blob in a data folder.
func blobPath(t *testing.T, dir, key string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "blobs", "*", key))
	if err != nil || len(found) != 1 {
		t.Fatalf("the files of blob %s are %q, %v", key, found, err)
	}
	return found[0]
}

// TestDamagedObject: a small result whose object in a bucket was changed is refused before the first byte.
func TestDamagedObject(t *testing.T) {
	t.Parallel()
	s, server, _ := newBucket(t, nil)
	id := stored(t, s, `{"text":"four","response":"url"}`)
	file, err := s.Store.AccountFile(t.Context(), s.Account.ID, id)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(server.File(server.Config().Prefix+file.BlobKey), []byte("5our"), 0o600); err != nil {
		t.Fatal(err)
	}
	answer := s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/v1/files/" + id, Header: without()})
	answer.Refused(t, wire.StorageUnavailable)
}
