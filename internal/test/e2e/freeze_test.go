package e2e

import (
	"context"
	"database/sql"
	"syscall"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestFrozenWorkerHurtsNoOtherJob freezes a worker with SIGSTOP beyond its lease. Another takes its job on, and is
// frozen too; the first wakes, and can neither fail the job nor charge it. The second completes it, and it is charged
// once.
//
// It needs PostgreSQL: a process that is frozen while it writes to SQLite holds the file's lock, and no other process
// can start a job.
func TestFrozenWorkerHurtsNoOtherJob(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	c := newCrashBench(t, storetest.Postgres(t))
	c.async = true
	for _, step := range []string{"claimed", "run", "stored"} {
		c.freezeAfter(step)
	}
}

// freeze makes a server of the tests stop itself, instead of hanging.
const freeze = "!"

func (c *crashBench) freezeAfter(step string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*crashPatience)
	defer cancel()
	first := c.start(step + freeze)
	response, err := c.post(ctx, first.url, step)
	if err != nil {
		c.t.Fatal(err)
	}
	_ = response.Body.Close()
	id := response.Header.Get("x-service-id")
	first.await(c.t, "reached "+step)
	c.exec("UPDATE leases SET expires_at = 1")

	second := c.start("run" + freeze)
	second.await(c.t, "reached run")
	first.wake()
	first.end(syscall.SIGTERM) // which lets it finish its work
	call, err := c.store.Job(ctx, c.account.ID, id)
	if err != nil || call.Status != store.CallRunning {
		c.t.Errorf("after %s: the worker that woke made of another's job: %+v, %v; want it running", step, call, err)
	}
	second.wake()
	c.awaitJob(ctx, id, step)
	file, err := c.store.PublicFile(ctx, id)
	if err != nil {
		c.t.Fatal(err)
	}
	content, _, err := c.store.Blobs().Open(ctx, file.BlobKey)
	if err != nil {
		c.t.Fatalf("after %s: the document that was paid for: %v", step, err)
	}
	_ = content.Close()
	second.end(syscall.SIGTERM)
	c.expectCharge(step)
}

func (s *crashServer) wake() { _ = s.process.Process.Signal(syscall.SIGCONT) }

// exec changes PostgreSQL behind the store's back.
func (c *crashBench) exec(statement string) {
	c.t.Helper()
	db, err := sql.Open("pgx", c.database.URL)
	if err != nil {
		c.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(c.t.Context(), statement); err != nil {
		c.t.Fatal(err)
	}
}
