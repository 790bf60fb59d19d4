package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/store/credit"
)

// Bounds of the request log of an account: the age and the number of its requests, and the bytes of an error body.
const (
	RequestRetention = 7 * 24 * time.Hour
	MaxRequests      = 10_000
	MaxErrorBody     = 4 << 10
)

const (
	// requestsBatch is the number of requests that one statement writes.
	requestsBatch = 500
	// requestsMemory bounds the requests that wait to be written, in bytes. Later ones are not logged.
	requestsMemory = 8 << 20
	// requestsShare is the number of requests of one account that are logged between two writings, so that a flood
	// of refused ones costs no more than others.
	requestsShare = 200
	// trimEvery is the number of requests after which a process deletes those of an account above MaxRequests.
	trimEvery = 500
	// trimAccounts bounds the accounts whose requests are counted for that.
	trimAccounts = 10_000
)

// Request is one request of an account to the API, as its log shows it.
type Request struct {
	ID        string // of the log entry: several requests may have one RequestID, which their clients choose
	AccountID string
	KeyID     string // the key or the grant
	CallID    string // of the call that it made; empty if it made none
	RequestID string
	Method    string
	Path      string // without the query
	Status    int    // 499 if the client left before the response
	Code      string // of the error; empty for a success
	Message   string // of the error
	Body      string // of the error, at most MaxErrorBody
	Price     credit.Amount
	Duration  time.Duration
	At        time.Time // its begin
}

type requestRow struct {
	bun.BaseModel `bun:"table:requests,alias:r"`

	ID        string `bun:",pk"`
	AccountID string
	KeyID     string
	CallID    string
	RequestID string
	Method    string
	Path      string
	Status    int
	Code      string
	Message   string
	Body      string
	Price     credit.Amount
	Duration  int64 // microseconds
	CreatedAt int64
}

func (r *requestRow) key() string { return r.ID }

func (r *requestRow) item(time.Time) Request {
	return Request{
		ID:        r.ID,
		AccountID: r.AccountID,
		KeyID:     r.KeyID,
		CallID:    r.CallID,
		RequestID: r.RequestID,
		Method:    r.Method,
		Path:      r.Path,
		Status:    r.Status,
		Code:      r.Code,
		Message:   r.Message,
		Body:      r.Body,
		Price:     r.Price,
		Duration:  time.Duration(r.Duration) * time.Microsecond,
		At:        fromMicros(r.CreatedAt),
	}
}

// rowOf returns the row of a request. Without a time, the request ends now.
func (s *Store) rowOf(r Request) requestRow {
	if r.At.IsZero() {
		r.At = s.now().Add(-r.Duration)
	}

	return requestRow{
		ID:        newID("log", s.region, r.At),
		AccountID: r.AccountID,
		KeyID:     r.KeyID,
		CallID:    r.CallID,
		RequestID: clean(r.RequestID, 64),
		Method:    clean(r.Method, 16),
		Path:      clean(r.Path, 1000),
		Status:    r.Status,
		Code:      clean(r.Code, 64),
		Message:   clean(r.Message, 1000),
		Body:      clean(r.Body, MaxErrorBody),
		Price:     r.Price,
		Duration:  r.Duration.Microseconds(),
		CreatedAt: toMicros(r.At),
	}
}

// size is about how many bytes of memory a row takes.
func (r *requestRow) size() int { return 512 + len(r.Path) + len(r.Message) + len(r.Body) }

// requestLog holds requests until they are written.
type requestLog struct {
	mu      sync.Mutex
	rows    []requestRow
	size    int            // of rows, in bytes
	share   map[string]int // requests by account since the last writing
	written map[string]int // requests by account since it was trimmed
	dropped atomic.Int64
}

func (l *requestLog) add(row requestRow) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.size+row.size() > requestsMemory || l.share[row.AccountID] >= requestsShare {
		l.dropped.Add(1)
		return
	}

	if l.share == nil {
		l.share = map[string]int{}
	}
	l.share[row.AccountID]++
	l.push(row)
}

// push adds rows. The caller has the lock.
func (l *requestLog) push(rows ...requestRow) {
	l.rows = append(l.rows, rows...)
	for i := range rows {
		l.size += rows[i].size()
	}
}

// take returns the oldest rows, which are the caller's to write from now on.
func (l *requestLog) take(limit int) []requestRow {
	l.mu.Lock()
	defer l.mu.Unlock()

	taken := l.rows[:min(limit, len(l.rows))]
	l.rows = l.rows[len(taken):]
	if len(l.rows) == 0 {
		l.rows = nil
	}

	for i := range taken {
		l.size -= taken[i].size()
	}
	l.share = nil
	return taken
}

// restore takes rows back that could not be written.
func (l *requestLog) restore(rows []requestRow) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.push(rows...)
}

// due returns the accounts that have to be trimmed, now that the rows are written.
func (l *requestLog) due(rows []requestRow) (accounts []string) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.written == nil || len(l.written) > trimAccounts {
		l.written = map[string]int{}
	}

	for i := range rows {
		id := rows[i].AccountID
		if l.written[id]++; l.written[id] == trimEvery {
			accounts = append(accounts, id)
			delete(l.written, id)
		}
	}
	return accounts
}

// LogRequest adds a request to the log of its account without waiting. Requests are written together, within a second
// or when the store is closed. Requests that find no room are dropped, and those of the last second are lost with a
// killed process.
func (s *Store) LogRequest(r Request) { s.requests.add(s.rowOf(r)) }

// DroppedRequests returns how many requests this process could not log.
func (s *Store) DroppedRequests() int64 { return s.requests.dropped.Load() }

// writeRequests writes the requests that wait. Those that fail are written again later.
func (s *Store) writeRequests(ctx context.Context) error {
	for {
		rows := s.requests.take(requestsBatch)
		if len(rows) == 0 {
			return nil
		}
		if err := s.addRequests(ctx, rows); err != nil {
			s.requests.restore(rows)
			return err
		}
	}
}

// AddRequests writes requests to the logs of their accounts.
func (s *Store) AddRequests(ctx context.Context, requests []Request) error {
	rows := make([]requestRow, len(requests))
	for i, r := range requests {
		rows[i] = s.rowOf(r)
	}
	return s.addRequests(ctx, rows)
}

func (s *Store) addRequests(ctx context.Context, rows []requestRow) error {
	ctx = context.WithValue(ctx, deferSync{}, true)
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		_, err := tx.NewInsert().Model(&rows).On("CONFLICT (id) DO NOTHING").Exec(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("log requests: %w", err)
	}

	for _, account := range s.requests.due(rows) {
		// These are twice as many as are written until the next time.
		if _, err := s.deleteRowsBy(ctx, excessRequests, account, 2*trimEvery, MaxRequests); err != nil {
			return fmt.Errorf("trim the request log: %w", err)
		}
	}

	return nil
}

const (
	// excessRequests deletes at most ?1 of the requests of the account ?0 that are older than its latest ?2.
	excessRequests = `DELETE FROM requests WHERE id IN (SELECT id FROM requests WHERE account_id = ?0
		ORDER BY id DESC LIMIT ?1 OFFSET ?2)`
	// oldRequests deletes at most ?1 requests before the ID ?0.
	oldRequests = `DELETE FROM requests WHERE id IN (SELECT id FROM requests WHERE id < ?0 LIMIT ?1)`
)

// deleteOldRequests deletes requests that are older than RequestRetention.
func (s *Store) deleteOldRequests(ctx context.Context, limit int) (int, error) {
	return s.deleteRowsBy(ctx, oldRequests, "log_"+idTime(s.now().Add(-RequestRetention)), limit)
}

// requestOutcomes are the conditions of the values of RequestFilter.Outcome. A tool of an agent fails with the status
// 200 and a code. The status 499 is that of a client that left.
var requestOutcomes = map[string]string{
	"succeeded": "status < 400 AND code = ''",
	"failed":    "(status >= 400 OR code <> '') AND status <> 499 AND code <> 'canceled'",
	"canceled":  "(status = 499 OR code = 'canceled')",
	"4xx":       "status BETWEEN 400 AND 498",
	"5xx":       "status >= 500",
}

// RequestFilter selects requests. An empty field means any.
type RequestFilter struct {
	List

	AccountID string // needed
	Outcome   string // "succeeded", "failed", "canceled", "4xx" or "5xx"
	Code      string
	KeyID     string
	Method    string
	// Text is the ID of a request, a call or a job, or a part of a path or of a result's name.
	Text string
}

// Requests lists the logged requests of an account. It reads at most the account's log, which is bounded.
func (s *Store) Requests(ctx context.Context, f RequestFilter) (Page[Request], error) {
	if oldest := s.now().Add(-RequestRetention); f.After.Before(oldest) {
		f.After = oldest
	}

	page, err := readPage[Request, requestRow](ctx, s, "log", f.List, func(q *bun.SelectQuery) {
		q.Where("account_id = ?", f.AccountID)
		equal(q, "code", f.Code)
		equal(q, "key_id", f.KeyID)
		equal(q, "method", f.Method)

		if condition, ok := requestOutcomes[f.Outcome]; ok {
			q.Where(condition)
		}
		if text := clean(f.Text, maxSearch); text != "" {
			q.Where("(request_id = ?3 OR call_id IN (?3, ?4) OR LOWER(path) LIKE ?0 ESCAPE '\\' OR call_id IN ("+
				callsByName+"))",
				containing(text), f.AccountID, toMicros(s.now()), text, CallID(text))
		}
	})
	return page, wrapped("list requests", err)
}

// Request returns a logged request of the account, or ErrNotFound.
func (s *Store) Request(ctx context.Context, accountID, id string) (Request, error) {
	row := requestRow{}
	if !IsID("log", id) {
		return Request{}, wrapped("read request", ErrNotFound)
	}
	err := s.read.NewSelect().Model(&row).Where("id = ? AND account_id = ?", id, accountID).Scan(ctx)
	if err != nil {
		return Request{}, wrapped("read request", notFound(err))
	}
	return row.item(s.now()), nil
}

// callsByName selects the calls of the account ?1 whose stored results' names, or whose titles among the latest
// 5,000, are like ?0: a search costs the same for every account. ?2 is now.
const callsByName = `SELECT call_id FROM files
	WHERE account_id = ?1 AND call_id IS NOT NULL AND deleted_at IS NULL AND expires_at > ?2
	AND LOWER(filename) LIKE ?0 ESCAPE '\'
	UNION SELECT call_id FROM (SELECT call_id, title FROM titles WHERE account_id = ?1
	ORDER BY call_id DESC LIMIT 5000) AS latest
	WHERE LOWER(title) LIKE ?0 ESCAPE '\'`
