package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// Async is the Mode of a call that is a job.
const Async = "async"

// MaxTries is how often a job is begun: a process that dies takes one try with
// it, and the job that kills three processes is not begun a fourth time.
const MaxTries = 3

// JobRetention is how long a job can be asked for.
const JobRetention = 30 * 24 * time.Hour

// States of a job in the queue.
const (
	jobQueued  = "queued"
	jobRunning = "running"
	jobEnded   = "ended"
)

// NewJob makes a call a job: it is run later, by whichever process has time.
type NewJob struct {
	Input    []byte   // its input, encrypted, where it is short
	InputKey string   // else the key of the blob that holds it
	Pins     []string // ids of files that must stay until it has ended
	// Kind says what a worker must know to run it; see QueueConfig.Kinds.
	Kind string
}

// MaxJobWait is how long a job waits for a worker. One of a kind that no worker knows
// would hold its money for good.
const MaxJobWait = 24 * time.Hour

// MaxJobInput is the longest Input of a NewJob, in bytes.
const MaxJobInput = 64 << 10

// Job is a call that a worker has taken on.
type Job struct {
	Call     Call
	Tries    int    // this one included
	Input    []byte // as in NewJob
	InputKey string
	lease    string
}

type jobRow struct {
	bun.BaseModel `bun:"table:jobs,alias:j"`

	Seq       int64 `bun:",pk,autoincrement"`
	CallID    string
	AccountID string
	State     string
	Tries     int
	Lease     string
	InputKey  string
	Kind      string
	StartedAt *int64
	CreatedAt int64
}

// Statements that make a job.
const (
	jobInsert   = `INSERT INTO jobs (call_id, account_id, state, input_key, created_at, kind) VALUES ($1, $2, $3, $4, $5, $6)`
	inputInsert = `INSERT INTO job_inputs (call_id, sealed) VALUES ($1, $2)`
)

// enqueue makes a job of the call, within the transaction of its hold.
func (s *Store) enqueue(ctx context.Context, tx txn, call *callRow, job *NewJob) error {
	if _, err := s.exec(ctx, tx, jobInsert, call.ID, call.AccountID, jobQueued, job.InputKey, call.CreatedAt, job.Kind); err != nil {
		return err
	}
	if job.Input != nil {
		if _, err := s.exec(ctx, tx, inputInsert, call.ID, job.Input); err != nil {
			return err
		}
	}
	return s.pin(ctx, tx, call, job.Pins)
}

// ReturnJob puts a job back that its worker could not finish because it has to
// stop. The try does not count. A job that is not this worker's any more is
// left alone.
func (s *Store) ReturnJob(ctx context.Context, job Job) error {
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		_, err := tx.NewRaw(`UPDATE jobs SET state = ?, lease = '', tries = tries - 1
			WHERE call_id = ? AND state = ? AND lease = ? AND tries = ?`,
			jobQueued, job.Call.ID, jobRunning, job.lease, job.Tries).Exec(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("return job: %w", err)
	}
	s.wake()
	return nil
}

// orphanedJobs is the condition of running jobs whose process is gone; its
// argument is now.
const orphanedJobs = `j.state = 'running' AND NOT EXISTS (SELECT 1 FROM leases WHERE leases.id = j.lease AND leases.expires_at > ?)`

// Orphan is a call whose process has died, or has lost it.
type Orphan struct {
	Call  Call
	Tries int    // of a job; 0 of any other call
	lease string // of the process that lives and has lost it
	waits bool   // a job that no process has taken on
}

// OrphanedCalls returns running calls with a callback whose process is gone, at
// most limit. Those without one are released by Reap.
func (s *Store) OrphanedCalls(ctx context.Context, limit int) ([]Orphan, error) {
	var rows []callRow
	err := s.write.NewSelect().Model(&rows).Where("status = ?", CallRunning).Where(orphaned, toMicros(s.now())).
		Order("id").Limit(int64(limit)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read orphaned calls: %w", err)
	}
	list := make([]Orphan, len(rows))
	for i := range rows {
		list[i].Call = rows[i].call()
	}
	return list, nil
}

// ReleaseOrphan ends a call whose process is gone as failed and writes what is
// told of it. It has no effect if the call has ended or was taken on again.
func (s *Store) ReleaseOrphan(ctx context.Context, stale Orphan, f Failure, n *Outbox) error {
	var gone string
	var args []any
	switch {
	case stale.Call.Mode == Async:
		gone, args = s.orphanedJob(stale)
		gone, args = "EXISTS (SELECT 1 FROM jobs AS j WHERE j.call_id = c.id AND j.tries = ? AND "+gone+")", append([]any{stale.Tries}, args...)
	case stale.lease != "":
		gone, args = "c.lease = ?", []any{stale.lease}
	default:
		gone, args = orphaned, []any{toMicros(s.now())}
	}
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		_, err := s.release(ctx, tx, ending{stale.Call.ID, f, n}, gone, args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("release orphaned call: %w", err)
	}
	s.dropResult(ctx, stale.Call.ID, stale.Tries)
	return nil
}

// OrphanedJobs returns running jobs whose process is gone, at most limit.
func (s *Store) OrphanedJobs(ctx context.Context, limit int) ([]Orphan, error) {
	var rows []jobRow
	err := s.write.NewSelect().Model(&rows).Where(orphanedJobs, toMicros(s.now())).Order("seq").Limit(int64(limit)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read orphaned jobs: %w", err)
	}
	return s.orphans(ctx, rows, "")
}

// OverdueJobs returns jobs that have waited for a worker for longer than MaxJobWait, at
// most limit.
func (s *Store) OverdueJobs(ctx context.Context, limit int) ([]Orphan, error) {
	var rows []jobRow
	err := s.write.NewSelect().Model(&rows).Where("state = ?", jobQueued).Where("created_at <= ?", s.waitOver()).
		Order("created_at").Limit(int64(limit)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read overdue jobs: %w", err)
	}
	list, err := s.orphans(ctx, rows, "")
	if err != nil {
		return nil, fmt.Errorf("read overdue jobs: %w", err)
	}
	for i := range list {
		list[i].waits = true
	}
	return list, nil
}

// waitOver is when jobs were queued whose wait is over now.
func (s *Store) waitOver() int64 { return toMicros(s.now().Add(-MaxJobWait)) }

func (s *Store) orphans(ctx context.Context, rows []jobRow, lease string) ([]Orphan, error) {
	list := make([]Orphan, 0, len(rows))
	for _, row := range rows {
		call, err := s.Call(ctx, row.CallID)
		if err != nil {
			return nil, err
		}
		list = append(list, Orphan{Call: call, Tries: row.Tries, lease: lease})
	}
	return list, nil
}

// orphanedJob is the condition under which a job still is the orphaned one.
func (s *Store) orphanedJob(job Orphan) (condition string, args []any) {
	switch {
	case job.waits:
		return "j.state = 'queued' AND j.created_at <= ?", []any{s.waitOver()}
	case job.lease != "":
		return "j.state = 'running' AND j.lease = ?", []any{job.lease}
	}
	return orphanedJobs, []any{toMicros(s.now())}
}

// LeasedCalls returns the running calls and jobs that carry a living process's
// lease and were begun before the time, at most limit of either. Those that the
// process does not work on are orphaned: the database failed when they were taken
// on, or when their end was to be written.
func (s *Store) LeasedCalls(ctx context.Context, lease string, before time.Time, limit int) ([]Orphan, error) {
	var calls []callRow
	var jobs []jobRow
	err := s.write.NewSelect().Model(&calls).Where("status = ? AND lease = ? AND created_at < ?", CallRunning, lease, toMicros(before)).
		Order("id").Limit(int64(limit)).Scan(ctx)
	if err == nil {
		err = s.write.NewSelect().Model(&jobs).Where("state = ? AND lease = ? AND started_at < ?", jobRunning, lease, toMicros(before)).
			Order("seq").Limit(int64(limit)).Scan(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("read leased calls: %w", err)
	}
	list, err := s.orphans(ctx, jobs, lease)
	for i := range calls {
		list = append(list, Orphan{Call: calls[i].call(), lease: lease})
	}
	return list, err
}

// RequeueOrphan lets a job whose process has died wait for another, and reports
// whether it did: not if another process was first, or its tries are used up.
func (s *Store) RequeueOrphan(ctx context.Context, job Orphan) (bool, error) {
	requeued := false
	gone, args := s.orphanedJob(job)
	args = append([]any{jobQueued, job.Call.ID, job.Tries, MaxTries}, args...)
	err := s.inTx(ctx, func(ctx context.Context, tx txn) (err error) {
		requeued, err = changed(tx.NewRaw(`UPDATE jobs AS j SET state = ?, lease = ''
			WHERE call_id = ? AND tries = ? AND tries < ? AND `+gone, args...).Exec(ctx))
		return err
	})
	if err != nil {
		return false, fmt.Errorf("requeue job: %w", err)
	}
	if requeued {
		s.wake()
		s.dropResult(ctx, job.Call.ID, job.Tries)
	}
	return requeued, nil
}

// Statements that end a job.
const (
	jobEnd      = `UPDATE jobs SET state = $1, lease = '' WHERE call_id = $2`
	inputDelete = `DELETE FROM job_inputs WHERE call_id = $1`
)

// endJob takes an ended call out of the queue and lets go of its files.
func (s *Store) endJob(ctx context.Context, tx txn, call *callRow) error {
	if call.Mode != Async {
		return nil
	}
	if _, err := s.exec(ctx, tx, jobEnd, jobEnded, call.ID); err != nil {
		return err
	}
	if _, err := s.exec(ctx, tx, inputDelete, call.ID); err != nil {
		return err
	}
	return s.unpin(ctx, tx, call.ID)
}

// Job returns the account's job with the id, which is that of its result. It
// returns ErrNotFound for an unknown id, another account's, a call that is no
// job, and a job that is older than JobRetention.
func (s *Store) Job(ctx context.Context, accountID, resultID string) (Call, error) {
	call, err := s.CallByResult(ctx, resultID)
	if err != nil {
		return Call{}, err
	}
	if call.AccountID != accountID || call.Mode != Async || s.now().Sub(call.CreatedAt) > JobRetention {
		return Call{}, fmt.Errorf("read job: %w", ErrNotFound)
	}
	return call, nil
}

// spentInputs returns the keys of inputs that no job needs any more and whose deletion is
// not postponed, at most limit.
func (s *Store) spentInputs(ctx context.Context, limit int) ([]string, error) {
	var rows []jobRow
	query := s.read.NewSelect().Model(&rows).Where("state = ? AND input_key <> ''", jobEnded).Where(notPostponed("j.input_key"), toMicros(s.now()))
	if err := query.Limit(int64(limit)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read spent inputs: %w", err)
	}
	keys := make([]string, len(rows))
	for i := range rows {
		keys[i] = rows[i].InputKey
	}
	return keys, nil
}

// DropInput deletes the blob of an ended job's input.
func (s *Store) DropInput(ctx context.Context, key string) error {
	return s.dropInputs(ctx, []string{key})
}

// dropInputs deletes the blobs of ended jobs' inputs: first the bytes, then the keys,
// so that a crash in between is made good by the next call.
func (s *Store) dropInputs(ctx context.Context, keys []string) error {
	_, err := s.discard(ctx, keys, func(ctx context.Context, tx txn, gone []string) error {
		_, err := tx.NewRaw("UPDATE jobs SET input_key = '' WHERE input_key IN (?) AND input_key <> '' AND state = ?", bun.List(gone), jobEnded).Exec(ctx)
		return err
	})
	return wrapped("drop inputs", err)
}
