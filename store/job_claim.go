package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Claims take the oldest job of the account whose turn it is: of the accounts with the fewest running jobs, the one
// whose latest job began the longest ago. The first row of an index finds it (the initial migration), so a claim
// costs the same however many jobs wait. Jobs of an unknown kind, which a newer release has queued, are skipped. $1
// lease, $2 now, $3 the known kinds.
var (
	// claimPostgres passes over a job that another worker is about to take. It
	// is a transaction by itself.
	claimPostgres = `
WITH turn (account_id) AS (` + turnAmong(queuedPostgres) + `), taken AS (` + takeJobs + ` AND seq = (` +
		firstJob(queuedPostgres) + ` FOR UPDATE SKIP LOCKED)
RETURNING call_id, tries, input_key)
SELECT tries, input_key, sealed, ` + callsTable.columns("calls") + `
FROM taken JOIN calls ON calls.id = taken.call_id LEFT JOIN job_inputs ON job_inputs.call_id = taken.call_id`
	// claimSQLite and claimedSelect are one transaction. $1 of the latter is the call.
	claimSQLite = `
WITH turn (account_id) AS (` + turnAmong(queuedSQLite) + `)` +
		takeJobs + ` AND seq = (` + firstJob(queuedSQLite) + `) RETURNING tries, input_key, call_id`
	claimedSelect = `SELECT (SELECT sealed FROM job_inputs WHERE job_inputs.call_id = calls.id), ` +
		callsTable.columns("calls") + ` FROM calls WHERE id = $1`
)

// Conditions of jobs that wait and that the worker knows how to run.
const (
	queuedSQLite   = `jobs.state = 'queued' AND jobs.kind IN (SELECT value FROM json_each($3))`
	queuedPostgres = `jobs.state = 'queued' AND jobs.kind = ANY($3)`
)

// takeJobs begins the statement that claims a job.
const takeJobs = `
UPDATE jobs SET state = 'running', tries = tries + 1, lease = $1, started_at = $2
WHERE state = 'queued'`

// turnAmong selects the account whose turn it is, of those that have a job waiting.
func turnAmong(waiting string) string {
	return `SELECT account_id FROM job_turns AS turns WHERE queued > 0
	AND EXISTS (SELECT 1 FROM jobs WHERE jobs.account_id = turns.account_id AND ` + waiting + `)
	ORDER BY running, began_at, account_id LIMIT 1`
}

// firstJob selects the oldest job that waits of the account whose turn it is.
func firstJob(waiting string) string {
	return `SELECT jobs.seq FROM jobs WHERE jobs.account_id = (SELECT account_id FROM turn) AND ` + waiting +
		` ORDER BY jobs.seq LIMIT 1`
}

// claimable returns the kinds of jobs that a worker may claim which knows some: these,
// and jobs without a kind.
func claimable(known []string) []string { return append([]string{""}, known...) }

// kinds returns the kinds of a claim as its statement accepts them.
func (s *Store) kinds(known []string) (any, error) {
	if s.dialect == Postgres {
		return claimable(known), nil
	}
	text, err := json.Marshal(claimable(known))
	return string(text), err
}

// claimAttempts bounds how often a claim is tried again, after claimPause,
// because another worker is taking the only job that was found.
const (
	claimAttempts = 20
	claimPause    = 2 * time.Millisecond
)

// ClaimJob claims the next job, which then carries the lease. It returns ErrNotFound if no job of a known kind
// waits, and while the clock of this machine is wrong.
func (s *Store) ClaimJob(ctx context.Context, lease string, known ...string) (Job, error) {
	if s.clockIsWrong() {
		return Job{}, fmt.Errorf("claim job: %w", ErrNotFound)
	}

	for range claimAttempts {
		job, err := s.claimJob(ctx, lease, known)
		if err == nil {
			return job, nil
		}
		if !errors.Is(err, ErrNotFound) {
			return Job{}, fmt.Errorf("claim job: %w", err)
		}

		waiting, err := s.JobsWait(ctx, known...)
		if err != nil {
			return Job{}, fmt.Errorf("claim job: %w", err)
		}
		if !waiting {
			break
		}

		select {
		case <-time.After(claimPause):
		case <-ctx.Done():
			return Job{}, fmt.Errorf("claim job: %w", ctx.Err())
		}
	}

	return Job{}, fmt.Errorf("claim job: %w", ErrNotFound)
}

// claimJob claims a job, or returns ErrNotFound if it found none or another worker was first.
func (s *Store) claimJob(ctx context.Context, lease string, known []string) (Job, error) {
	kinds, err := s.kinds(known)
	if err != nil {
		return Job{}, err
	}

	job := Job{lease: lease}
	var call callRow
	found := append([]any{&job.Tries, &job.InputKey, &job.Input}, callsTable.pointers(&call)...)

	if s.dialect == Postgres {
		ctx, cancel := withDeadline(ctx, writeTimeout)
		defer cancel()
		err = s.queryAlone(ctx, claimPostgres, lease, toMicros(s.now()), kinds).Scan(found...)
	} else {
		err = s.inTx(ctx, func(ctx context.Context, tx txn) error {
			var callID string
			err := s.queryRow(ctx, tx, claimSQLite, lease, toMicros(s.now()), kinds).
				Scan(&job.Tries, &job.InputKey, &callID)
			if err != nil {
				return err
			}
			return s.queryRow(ctx, tx, claimedSelect, callID).Scan(found[2:]...)
		})
	}

	job.Call = call.call()
	return job, notFound(err)
}
