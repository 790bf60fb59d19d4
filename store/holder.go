package store

// holder names the process that must still have a running call for it to be released; the zero value means any. The
// conditions are those of release_call on PostgreSQL (the initial migration).
type holder struct {
	Kind  string `json:"holder"`
	Lease string `json:"lease"` // of the process or the worker
	Tries int    `json:"tries"` // of a job
	// QueuedUntil is the latest start of a queued job.
	QueuedUntil int64 `json:"queued_until"`
	// Silent leaves calls with a callback alone, whose end is to be reported.
	Silent bool `json:"silent"`
}

// Kinds of holders.
const (
	holderProcess     = "process"      // the process with the lease, of a call that is not a job
	holderDeadProcess = "dead process" // a process whose lease has ended, of a call that is not a job
	holderWorker      = "worker"       // the worker with the lease, of this try of a job
	holderDeadWorker  = "dead worker"  // a worker whose lease has ended, of this try of a job
	holderQueue       = "queue"        // none yet: a job that has waited for too long
)

// condition is the holder's condition on calls AS c.
func (h holder) condition(now int64) (condition string, args []any) {
	switch h.Kind {
	case "":
		condition = "TRUE"
	case holderProcess:
		condition = "c.mode <> 'async' AND c.lease = ?"
		args = []any{h.Lease}
	case holderDeadProcess:
		condition = `c.mode <> 'async' AND NOT EXISTS (SELECT 1 FROM leases AS l
			WHERE l.id = c.lease AND l.expires_at > ?)`
		args = []any{now}
	default:
		ofJob, jobArgs := h.jobCondition(now)
		condition = "EXISTS (SELECT 1 FROM jobs AS j WHERE j.call_id = c.id AND j.tries = ? AND " + ofJob + ")"
		args = append([]any{h.Tries}, jobArgs...)
	}

	if h.Silent {
		condition += " AND NOT EXISTS (SELECT 1 FROM callbacks AS cb WHERE cb.call_id = c.id)"
	}
	return condition, args
}

// jobCondition is the condition on jobs AS j of a holder that has jobs.
func (h holder) jobCondition(now int64) (condition string, args []any) {
	switch h.Kind {
	case holderWorker:
		return "j.state = 'running' AND j.lease = ?", []any{h.Lease}
	case holderDeadWorker:
		return `j.state = 'running' AND NOT EXISTS (SELECT 1 FROM leases AS l
			WHERE l.id = j.lease AND l.expires_at > ?)`, []any{now}
	}
	return "j.state = 'queued' AND j.created_at <= ?", []any{h.QueuedUntil}
}
