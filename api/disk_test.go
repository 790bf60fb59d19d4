package api_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/blob"

	"github.com/relaypdf/relaypdf/store/storetest"
)

// smallDisk mounts a disk of a size such as 4m, and returns its folder.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("relaypdf", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a small disk can be mounted by root only: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill fills a disk, and returns the function that frees it again.
func fill(dir string) (makeRoom func() error, err error) {
	filler, err := os.Create(filepath.Join(dir, ".filler"))
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(filler, rand.Reader); !errors.Is(err, unix.ENOSPC) {
		return nil, fmt.Errorf("fill the disk: %w", errors.Join(err, filler.Close()))
	}
	return func() error { return os.Remove(filler.Name()) }, filler.Close()
}

// emptyLog brings all of a SQLite database's log into the database, so that its next
// commit needs room on the disk.
func emptyLog(ctx context.Context, path string) (err error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		if _, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			return err
		}
		if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
			return err
		}
	}
	return errors.New("the log is never empty")
}

// becomes waits until a process reports the expected words: it gives each check a few seconds, which a busy machine
// may need.
func becomes(t *testing.T, ready func() string, words string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; <-time.After(10 * time.Millisecond) {
		got := ready()
		if strings.Contains(got, words) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("ready: %s, want %s", got, words)
		}
	}
}

// TestFullDisk: if a disk has no space for files, calls that need files are refused and not charged, nothing is
// left of them, and they work again when there is space.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "4m")
	disk, err := blob.NewDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := apitest.New(t, apitest.Options{Blobs: disk, Change: quiet})
	ready := func() string {
		return s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/health/ready", Header: without()}).Body
	}
	id := stored(t, s, `{"text":"a","response":"url"}`)
	becomes(t, ready, `"files":"ok"`)
	makeRoom, err := fill(dir)
	if err != nil {
		t.Fatal(err)
	}
	s.Send(t, apitest.Request{Path: echo, Body: `{"text":"b","response":"url"}`}).Refused(t, wire.StorageUnavailable)
	s.Send(t, apitest.Request{Path: "/v1/files", Body: "x"}).Refused(t, wire.StorageUnavailable)
	if got := s.Send(t, apitest.Request{Path: echo, Body: `{"text":"c"}`}).OK(t); got.Body != "c" {
		t.Errorf("a call that needs no file: got %q", got.Body)
	}
	if got := s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/v1/files/" + id}).OK(t); got.Body != "a" {
		t.Errorf("a file of before: got %q", got.Body)
	}
	// Another machine may have room: this one asks for no further work, as with a database on a full disk.
	becomes(t, ready, `{"ok":false,"checks":{"database":"ok","disk":"ok","files":"unavailable"}`)
	if err := makeRoom(); err != nil {
		t.Fatal(err)
	}
	stored(t, s, `{"text":"d","response":"url"}`)
	becomes(t, ready, `"files":"ok"`)
	parts, err := filepath.Glob(dir + "/*/.part-*")
	if blobs := storetest.List(t, disk); err != nil || len(parts) > 0 || len(blobs) != 2 {
		t.Errorf("got blobs %v and parts %q, %v; want the two files", blobs, parts, err)
	}
	account, err := s.Store.Account(t.Context(), s.Account.ID)
	if err != nil {
		t.Fatal(err)
	}
	if spent := s.Account.Balance - account.Balance; spent != 3*2000 {
		t.Errorf("spent %d, want the price of the three calls that went well", spent)
	}
	for _, words := range []string{unix.ENOSPC.Error(), "files cannot be reached"} {
		if !strings.Contains(s.Log.String(), words) {
			t.Errorf("the log does not say %q", words)
		}
	}
}

// TestFullDiskBelowSQLite: if the database cannot commit because its disk is full, calls are refused with this
// message, before their work and after it. Jobs wait, nothing is charged for undelivered results, and work resumes by
// itself when there is space.
func TestFullDiskBelowSQLite(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "32m")
	path := filepath.Join(dir, "relaypdf.db")
	blobs, err := blob.NewDisk(t.TempDir()) // which has room
	if err != nil {
		t.Fatal(err)
	}
	filled := make(chan func() error, 1)
	s := apitest.New(t, apitest.Options{
		DB: &storetest.DB{URL: "sqlite://" + path, DataDir: dir}, Blobs: blobs, Change: quiet,
		// The disk is full when the document "late" is made.
		Operations: []schema.Definition[*operation.Deps]{apitest.Echo(func(ctx context.Context, in *apitest.EchoInput) error {
			if in.Text != "late" {
				return nil
			}
			if err := emptyLog(ctx, path); err != nil {
				return err
			}
			makeRoom, err := fill(dir)
			filled <- makeRoom
			return err
		})},
	})
	ready := func() apitest.Response {
		return s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/health/ready", Header: without()})
	}
	makeRoom := func() {
		t.Helper()
		if err := (<-filled)(); err != nil {
			t.Fatal(err)
		}
	}
	said := func(words string) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Minute); !strings.Contains(s.Log.String(), words); <-time.After(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the log never says %q", words)
			}
		}
	}
	refused := func(text, more string) {
		t.Helper()
		answer := s.Send(t, apitest.Request{Path: echo, Body: `{"text":"` + text + `"` + more + `}`})
		if got := answer.Refused(t, wire.StorageUnavailable); !strings.Contains(got.Message, "disk") || !strings.Contains(got.Message, "not charged") {
			t.Errorf("%s: the message is %q", text, got.Message)
		}
	}
	paid := func(text string) {
		t.Helper()
		if got := s.Send(t, apitest.Request{Path: echo, Body: `{"text":"` + text + `"}`}).OK(t); got.Body != text {
			t.Errorf("got %q, want %q", got.Body, text)
		}
	}
	paid("a")
	job := s.Enqueue(t, apitest.Request{Path: echo, Body: async})
	if got := ready().OK(t); !strings.Contains(got.Body, `"database":"ok"`) {
		t.Errorf("ready: %s", got.Body)
	}

	refused("late", "")
	refused("b", "")
	refused("b", `,"response":"url"`)
	refused("b", `,"response":"async"`)
	s.Work(t)
	said("claim job failed")
	if got := s.Job(t, job.ID); got.Status != "processing" {
		t.Errorf("the job that waits: %+v", got)
	}
	if got := ready(); got.Status != http.StatusServiceUnavailable || !strings.Contains(got.Body, `"database":"failed"`) {
		t.Errorf("ready: %d %s", got.Status, got.Body)
	}

	makeRoom()
	if got := s.Await(t, job.ID); got.Status != "completed" {
		t.Errorf("the job that has waited: %+v", got)
	}
	paid("c")
	if got := ready().OK(t); !strings.Contains(got.Body, `"database":"ok"`) {
		t.Errorf("ready: %s", got.Body)
	}

	late := s.Enqueue(t, apitest.Request{Path: echo, Body: `{"text":"late","response":"async"}`})
	said("job waits for the storage")
	makeRoom()
	if got := s.Await(t, late.ID); got.Status != "completed" {
		t.Errorf("the job whose end was to be written: %+v", got)
	}

	s.Clock.Advance(2 * time.Minute) // after which a call without a worker counts as lost
	s.API.Calls.Reaper().Once(t.Context())
	if balance, holds := s.Balance(t); balance != int64(apitest.Trial-4*apitest.EchoPrice) || holds != 0 {
		t.Errorf("%d can be spent and %d is held, want the price of four calls spent and nothing held", balance, holds)
	}
	for _, words := range []string{"disk is full", "not ready", "bytes left: make room"} {
		said(words)
	}
}
