package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/relaypdf/relaypdf/store/credit"
)

// A bulk job makes a document of each of its records, and is settled by chunks of them (ADR 46).

// Bulk is how far a bulk job has come.
type Bulk struct {
	Total     int // records
	Processed int
	Failed    int // of those
	Tries     int // of the job, when its last chunk was made
	// Charged is the sum of the charges of the chunks.
	Charged   credit.Amount
	Canceled  bool
	StartedAt *time.Time // when it was first taken on, known after its first chunk
}

// Chunk is a part of a bulk job that has been processed.
type Chunk struct {
	First   int // number of its first record, from 0
	Records int
	Failed  int // of those
	// Charge is what its documents cost.
	Charge credit.Amount
	// Results describes what became of each record, for the code that runs the job.
	Results string
	Tries   int // of the job, when the chunk was made; filled in
}

// ChunkKey is the key of the blob that holds documents of a bulk job, from a record on. The sweep of orphans treats
// it as the result of the call.
func ChunkKey(callID string, try, record int) string {
	return fmt.Sprintf("%s-%d", ResultKey(callID, try), record)
}

// bulkInsert makes a bulk job of a call. $1 call, $2 account, $3 records, $4 now.
const bulkInsert = `INSERT INTO bulks (call_id, account_id, total, created_at) VALUES ($1, $2, $3, $4)`

// Statements of a chunk on SQLite, which are those of settle_chunk on PostgreSQL.
const (
	// $1 call, $2 first, $3 tries.
	chunkExists = `SELECT EXISTS (SELECT 1 FROM bulk_chunks WHERE call_id = $1 AND first = $2 AND tries = $3)`
	// $1 charge, $2 call, $3 lease, $4 tries, $5 first, $6 records.
	chunkCharge = `UPDATE calls SET charge = charge + $1 WHERE id = $2 AND status = 'running' AND quote >= charge + $1
		AND EXISTS (SELECT 1 FROM jobs WHERE call_id = $2 AND state = 'running' AND lease = $3 AND tries = $4)
		AND EXISTS (SELECT 1 FROM bulks WHERE call_id = $2 AND processed = $5 AND total >= $5 + $6)
		RETURNING account_id, metered`
	// $1 records, $2 failed, $3 charge, $4 call.
	chunkCursor = `UPDATE bulks SET processed = processed + $1, failed = failed + $2, charged = charged + $3,
		started_at = COALESCE(started_at, (SELECT started_at FROM jobs WHERE call_id = $4)) WHERE call_id = $4`
	// $1 call, $2 first, $3 records, $4 tries, $5 results.
	chunkInsert = `INSERT INTO bulk_chunks (call_id, first, records, tries, results) VALUES ($1, $2, $3, $4, $5)`
	// $1 charge, $2 account.
	chunkFunds = `UPDATE accounts SET held = held - $1 WHERE id = $2 RETURNING balance`
	// $1 call.
	canceledSelect = `SELECT canceled_at IS NOT NULL FROM bulks WHERE call_id = $1`
	chargedSelect  = `SELECT charged FROM bulks WHERE call_id = $1`
)

// chunkReason is the reason of a posting for a chunk, which ends no call.
const chunkReason = "chunk"

// chunkFunction settles a chunk on PostgreSQL (the initial migration).
const chunkFunction = `SELECT settle_chunk($1::jsonb)`

// chunkParams is the object that settle_chunk accepts.
type chunkParams struct {
	ID        string        `json:"id"`
	Lease     string        `json:"lease"`
	Tries     int           `json:"tries"`
	First     int           `json:"first"`
	Records   int           `json:"records"`
	Failed    int           `json:"failed"`
	Charge    credit.Amount `json:"charge"`
	Results   string        `json:"results"`
	PostingID string        `json:"posting_id"`
	Now       int64         `json:"now"`
}

// SettleChunk records the next chunk of a bulk job: in one transaction its charge leaves the hold and is earned, and
// the job's cursor moves. Settling the same chunk again is harmless. It reports whether the job was cancelled. It
// returns ErrCallEnded, and changes nothing, if the worker does not have the job any more, or the chunk does not begin
// where the last one ended.
func (s *Store) SettleChunk(ctx context.Context, job Job, c Chunk) (canceled bool, err error) {
	if c.Charge < 0 || c.Records <= 0 || c.Failed < 0 || c.Failed > c.Records {
		return false, fmt.Errorf("settle chunk: %d records, %d failed, charge %s", c.Records, c.Failed, c.Charge)
	}

	if s.dialect == Postgres {
		now := s.now()
		outcome, err := s.callFunction(ctx, job.Call.AccountID, chunkFunction, chunkParams{
			ID:        job.Call.ID,
			Lease:     job.lease,
			Tries:     job.Tries,
			First:     c.First,
			Records:   c.Records,
			Failed:    c.Failed,
			Charge:    c.Charge,
			Results:   c.Results,
			PostingID: s.postings.next(s.region, now),
			Now:       toMicros(now),
		})
		if err == nil && outcome == "refused" {
			err = ErrCallEnded
		}
		return outcome == "canceled", wrapped("settle chunk", err)
	}

	err = s.inCertainTx(ctx, func(ctx context.Context, tx txn) (err error) {
		canceled, err = s.settleChunk(ctx, tx, job, c)
		return err
	})

	return canceled, wrapped("settle chunk", err)
}

// settleChunk is SettleChunk in one transaction of SQLite.
func (s *Store) settleChunk(ctx context.Context, tx txn, job Job, c Chunk) (canceled bool, err error) {
	var settled bool
	if err := s.queryRow(ctx, tx, chunkExists, job.Call.ID, c.First, job.Tries).Scan(&settled); err != nil {
		return false, err
	}

	if !settled {
		if err := s.chargeChunk(ctx, tx, job, c); err != nil {
			return false, err
		}
	}

	err = s.queryRow(ctx, tx, canceledSelect, job.Call.ID).Scan(&canceled)
	return canceled, err
}

func (s *Store) chargeChunk(ctx context.Context, tx txn, job Job, c Chunk) error {
	part := journalPosting{kind: KindSettle, cause: job.Call.ID, reason: chunkReason, at: s.now()}
	var metered bool
	err := s.queryRow(ctx, tx, chunkCharge, int64(c.Charge), job.Call.ID, job.lease, job.Tries, c.First, c.Records).
		Scan(&part.accountID, &metered)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrCallEnded
	}
	if err != nil {
		return err
	}

	if _, err := s.exec(ctx, tx, chunkCursor, c.Records, c.Failed, int64(c.Charge), job.Call.ID); err != nil {
		return err
	}
	if _, err := s.exec(ctx, tx, chunkInsert, job.Call.ID, c.First, c.Records, job.Tries, c.Results); err != nil {
		return err
	}
	if metered || c.Charge == 0 {
		return nil
	}

	if err := s.queryRow(ctx, tx, chunkFunds, int64(c.Charge), part.accountID).Scan(&part.balance); err != nil {
		return err
	}

	part.books = books{held: -c.Charge, revenue: c.Charge}
	return s.post(ctx, tx, &part)
}

// chargedBefore returns what the chunks of a job have earned.
func (s *Store) chargedBefore(ctx context.Context, tx txn, call *callRow) (charged credit.Amount, err error) {
	if call.Mode != Async {
		return 0, nil
	}
	err = s.queryRow(ctx, tx, chargedSelect, call.ID).Scan(&charged)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return charged, err
}

// Bulk returns how far a bulk job has come. It returns ErrNotFound for any other call.
func (s *Store) Bulk(ctx context.Context, callID string) (b Bulk, err error) {
	var started *int64
	err = notFound(s.read.NewRaw("SELECT total, processed, failed, charged, canceled_at IS NOT NULL, started_at, "+
		lastChunk+" FROM bulks AS j WHERE call_id = ?", callID).
		Scan(ctx, &b.Total, &b.Processed, &b.Failed, &b.Charged, &b.Canceled, &started, &b.Tries))
	b.StartedAt = fromMicrosPtr(started)
	return b, wrapped("read bulk job", err)
}

// FreeDocuments returns the number of documents that failed bulk jobs of an account have made since then. Such jobs are
// free. Jobs that failed for a reason of the server do not count.
func (s *Store) FreeDocuments(ctx context.Context, accountID string, since time.Time) (count int, err error) {
	err = s.read.NewRaw(`SELECT COALESCE(SUM(b.processed - b.failed), 0) FROM bulks AS b
		JOIN calls AS c ON c.id = b.call_id
		WHERE b.account_id = ? AND b.created_at >= ? AND b.processed > b.failed AND c.id >= ? AND c.status = 'failed'
		AND c.error_code NOT IN ('internal_error', 'storage_unavailable')`,
		accountID, toMicros(since), "call_"+idTime(since)).Scan(ctx, &count)
	return count, wrapped("count free documents", err)
}

// Chunks returns the chunks of a bulk job in order.
func (s *Store) Chunks(ctx context.Context, callID string) (list []Chunk, err error) {
	err = s.read.NewRaw("SELECT first, records, tries, results FROM bulk_chunks WHERE call_id = ? ORDER BY first",
		callID).Scan(ctx, &list)
	return list, wrapped("read chunks", err)
}

// CancelJob cancels a running job. A bulk job that has made documents ends after the chunk under way, and is charged
// for them; any other job fails at once and is free, with the failure and its notifications. A job that has ended is
// left alone.
func (s *Store) CancelJob(ctx context.Context, call Call, f Failure, n *Outbox) error {
	marked := false
	err := s.inTx(ctx, func(ctx context.Context, tx txn) (err error) {
		marked, err = changed(tx.NewRaw(`UPDATE bulks SET canceled_at = COALESCE(canceled_at, ?)
			WHERE call_id = ? AND processed > failed
			AND EXISTS (SELECT 1 FROM calls WHERE calls.id = bulks.call_id AND status = 'running')`,
			toMicros(s.now()), call.ID).Exec(ctx))
		return err
	})
	if err == nil && !marked {
		_, err = s.releaseCall(ctx, ending{callID: call.ID, accountID: call.AccountID, failure: f, outbox: n})
	}

	return wrapped("cancel job", err)
}
