package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/uptrace/bun"
)

// Async is the Mode of a call that is a job.
const Async = "async"

// MaxTries is the maximum number of starts of a job, and for a bulk job of starts without a chunk. A process that dies
// uses up one try, so a job that kills three processes is not started a fourth time.
const MaxTries = 3

// JobRetention is the period in which a job can be queried.
const JobRetention = 30 * 24 * time.Hour

// States of a job in the queue.
const (
	jobQueued  = "queued"
	jobRunning = "running"
	jobEnded   = "ended"
)

// NewJob makes a call a job: it is run later, by whichever process has time.
type NewJob struct {
	Input    []byte   // its input, encrypted, if it is short
	InputKey string   // else the key of the blob that holds it
	Pins     []string // ids of files that must stay until it has ended
	// Records is the number of records of a bulk job; 0 for any other job.
	Records int
	// Kind is the capability that a worker needs to run it. Any worker can run a job without one.
	Kind string
}

// MaxJobWait is the maximum time that a job waits for a worker. Without it, a job of a kind that no worker knows
// would hold its money for ever.
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

	// ChunkTries are the tries at the last chunk of a bulk job.
	ChunkTries int `bun:",scanonly"`
}

// lastChunk selects the tries at the last chunk of a job.
const lastChunk = `COALESCE((SELECT MAX(tries) FROM bulk_chunks WHERE bulk_chunks.call_id = j.call_id), 0)`

// Statements that make a job.
const (
	jobInsert = `INSERT INTO jobs (call_id, account_id, state, kind, input_key, trace, created_at)
		VALUES ($1, $2, 'queued', $3, $4, $5, $6)`
	inputInsert = `INSERT INTO job_inputs (call_id, sealed) VALUES ($1, $2)`
)

// enqueue makes a job of the call, within the transaction of its hold.
func (s *Store) enqueue(ctx context.Context, tx txn, call *callRow, c NewCall) error {
	_, err := s.exec(ctx, tx, jobInsert, call.ID, call.AccountID, c.Job.Kind, c.Job.InputKey, c.Trace, call.CreatedAt)
	if err != nil {
		return err
	}

	if c.Job.Input != nil {
		if _, err := s.exec(ctx, tx, inputInsert, call.ID, c.Job.Input); err != nil {
			return err
		}
	}
	if c.Job.Records > 0 {
		if _, err := s.exec(ctx, tx, bulkInsert, call.ID, call.AccountID, c.Job.Records, call.CreatedAt); err != nil {
			return err
		}
	}

	return s.pin(ctx, tx, call, c.Job.Pins)
}

// ReturnJob puts a job back that its worker could not finish because it has to
// stop. The try does not count. A job that is not this worker's any more is
// left alone.
func (s *Store) ReturnJob(ctx context.Context, job Job) error {
	return s.requeueJob(ctx, job, job.Tries-1, false)
}

// PostponeJob puts a job back behind all others of its account that wait. The try does not count.
func (s *Store) PostponeJob(ctx context.Context, job Job) error {
	return s.requeueJob(ctx, job, job.Tries-1, true)
}

// RetryJob puts a job back that failed for a reason of the service's own. The try counts:
// see MaxTries. A job that is not this worker's any more is left alone.
func (s *Store) RetryJob(ctx context.Context, job Job) error {
	return s.requeueJob(ctx, job, job.Tries, false)
}

func (s *Store) requeueJob(ctx context.Context, job Job, tries int, last bool) error {
	place := ""
	switch {
	case last && s.dialect == Postgres:
		place = ", seq = DEFAULT"
	case last:
		place = ", seq = (SELECT MAX(seq) + 1 FROM jobs)"
	}

	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		_, err := tx.NewRaw(`UPDATE jobs SET state = ?, lease = '', tries = ?`+place+`
			WHERE call_id = ? AND state = ? AND lease = ? AND tries = ?`,
			jobQueued, tries, job.Call.ID, jobRunning, job.lease, job.Tries).Exec(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("return job: %w", err)
	}

	s.jobCommitted()
	return nil
}

// Orphan is a running call that has lost its process, or a job that no worker has taken
// on for too long.
type Orphan struct {
	Call   Call
	Tries  int    // of a job; 0 of any other call
	Last   bool   // whether a job has no tries left
	holder holder // who is not expected to end it
}

// OrphanedCalls returns running calls with a callback whose process is gone, at most limit. Calls without a callback
// are released by Reap.
func (s *Store) OrphanedCalls(ctx context.Context, limit int) ([]Orphan, error) {
	list, err := s.orphanedCalls(ctx, holder{Kind: holderDeadProcess}, anyTime, limit)
	return list, wrapped("read orphaned calls", err)
}

// anyTime is later than the start of any call, also of one that began before the clock was set back.
const anyTime = math.MaxInt64

// orphanedCalls returns the running calls of a holder that began no later than begun, in microseconds.
func (s *Store) orphanedCalls(ctx context.Context, h holder, startedBefore int64, limit int) ([]Orphan, error) {
	var rows []callRow
	condition, args := h.condition(toMicros(s.now()))
	err := s.write.NewSelect().Model(&rows).Where("status = ? AND created_at <= ?", CallRunning, startedBefore).
		Where(condition, args...).
		Order("id").Limit(int64(limit)).Scan(ctx)
	return converted(rows, func(r *callRow) Orphan { return Orphan{Call: r.call(), holder: h} }), err
}

// OrphanedJobs returns running jobs whose process is gone, at most limit.
func (s *Store) OrphanedJobs(ctx context.Context, limit int) ([]Orphan, error) {
	list, err := s.orphanedJobs(ctx, holder{Kind: holderDeadWorker}, anyTime, limit)
	return list, wrapped("read orphaned jobs", err)
}

// OverdueJobs returns jobs that have waited for a worker for longer than MaxJobWait, at
// most limit.
func (s *Store) OverdueJobs(ctx context.Context, limit int) ([]Orphan, error) {
	queue := holder{Kind: holderQueue, QueuedUntil: toMicros(s.now().Add(-MaxJobWait))}
	list, err := s.orphanedJobs(ctx, queue, anyTime, limit)
	return list, wrapped("read overdue jobs", err)
}

// orphanedJobs returns the jobs of a holder that have not begun or began no later than begun, in microseconds.
func (s *Store) orphanedJobs(ctx context.Context, h holder, startedBefore int64, limit int) ([]Orphan, error) {
	var rows []jobRow
	condition, args := h.jobCondition(toMicros(s.now()))
	err := s.write.NewSelect().Model(&rows).ColumnExpr("?TableColumns").ColumnExpr(lastChunk+" AS chunk_tries").
		Where(condition, args...).Where("COALESCE(started_at, 0) <= ?", startedBefore).
		Order("created_at", "seq").Limit(int64(limit)).Scan(ctx)
	if err != nil {
		return nil, err
	}

	list := make([]Orphan, len(rows))
	for i, row := range rows {
		call, err := s.Call(ctx, row.CallID)
		if err != nil {
			return nil, err
		}
		h.Tries = row.Tries
		list[i] = Orphan{Call: call, Tries: row.Tries, Last: row.Tries-row.ChunkTries >= MaxTries, holder: h}
	}

	return list, nil
}

// LeasedCalls returns the running calls and jobs with a living process's lease that began no later than begun, at
// most limit of either. If the process does not run them, they are orphaned: the database failed when they were
// started or when their end was to be written.
func (s *Store) LeasedCalls(ctx context.Context, lease string, startedBefore time.Time, limit int) ([]Orphan, error) {
	calls, err := s.orphanedCalls(ctx, holder{Kind: holderProcess, Lease: lease}, toMicros(startedBefore), limit)
	jobs, jobsErr := s.orphanedJobs(ctx, holder{Kind: holderWorker, Lease: lease}, toMicros(startedBefore), limit)
	return append(jobs, calls...), wrapped("read leased calls", errors.Join(err, jobsErr))
}

// ReleaseOrphan ends an orphaned call as failed and writes its notifications. It has no effect if the call has ended
// or was started again.
func (s *Store) ReleaseOrphan(ctx context.Context, stale Orphan, f Failure, n *Outbox) error {
	_, err := s.releaseCall(ctx, ending{
		callID:    stale.Call.ID,
		accountID: stale.Call.AccountID,
		failure:   f,
		outbox:    n,
		holder:    stale.holder,
	})
	if err != nil {
		return fmt.Errorf("release orphaned call: %w", err)
	}

	s.dropResult(ctx, stale.Call.ID, stale.Tries)
	return nil
}

// RequeueOrphan lets a job whose process has died wait for another, and reports whether it did: not if another process
// was first, or it was the job's last try.
func (s *Store) RequeueOrphan(ctx context.Context, job Orphan) (bool, error) {
	requeued := false
	if job.Last {
		return false, nil
	}

	condition, args := job.holder.jobCondition(toMicros(s.now()))
	args = append([]any{jobQueued, job.Call.ID, job.Tries}, args...)

	err := s.inTx(ctx, func(ctx context.Context, tx txn) (err error) {
		requeued, err = changed(tx.NewRaw(`UPDATE jobs AS j SET state = ?, lease = ''
			WHERE call_id = ? AND tries = ? AND `+condition, args...).Exec(ctx))
		return err
	})
	if err != nil {
		return false, fmt.Errorf("requeue job: %w", err)
	}

	if requeued {
		s.jobCommitted()
		s.dropResult(ctx, job.Call.ID, job.Tries)
	}

	return requeued, nil
}

// jobEnd are the statements that take an ended call out of the queue and release its files. DeleteExpired deletes
// files that can no longer be opened. $1 call.
var jobEnd = []string{
	`UPDATE jobs SET state = 'ended', lease = '' WHERE call_id = $1`,
	`DELETE FROM job_inputs WHERE call_id = $1`,
	`DELETE FROM pins WHERE call_id = $1`,
}

// Job returns the account's job with the ID, which is the ID of its result. It returns ErrNotFound for an unknown
// ID, another account's, a call without a job, and a job that is older than JobRetention.
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
	query := s.read.NewSelect().Model(&rows).Where("state = ? AND input_key <> ''", jobEnded).
		Where(notPostponed("j.input_key"), toMicros(s.now()))
	err := query.Limit(int64(limit)).Scan(ctx)
	return converted(rows, func(r *jobRow) string { return r.InputKey }), wrapped("read spent inputs", err)
}

// DropInput deletes the blob of an ended job's input.
func (s *Store) DropInput(ctx context.Context, key string) error {
	return s.dropInputs(ctx, []string{key})
}

// dropInputs deletes the blobs of ended jobs' inputs: first the bytes, then the keys,
// so that a crash in between is made good by the next call.
func (s *Store) dropInputs(ctx context.Context, keys []string) error {
	_, err := s.deleteBlobs(ctx, keys, func(ctx context.Context, tx txn, gone []string) error {
		_, err := tx.NewRaw("UPDATE jobs SET input_key = '' WHERE input_key IN (?) AND input_key <> '' AND state = ?",
			bun.List(gone), jobEnded).Exec(ctx)
		return err
	})
	return wrapped("drop inputs", err)
}
