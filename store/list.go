package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// List selects a part of a list. Lists are sorted by time, the newest first, which is the order of IDs.
type List struct {
	Limit  int    // 1 to MaxList; 0 is DefaultList
	Cursor string // Page.Next of the page before; empty is the first page
	// After and Before limit the times when the rows were made, to the millisecond: from After on, and before Before.
	// A zero time means no bound.
	After, Before time.Time
}

// Bounds of List.Limit.
const (
	DefaultList = 20
	MaxList     = 100
)

// ErrBadList means that no list has such a limit or cursor.
var ErrBadList = errors.New("no such part of a list")

// Page is a part of a list.
type Page[Item any] struct {
	Items []Item
	Next  string // Cursor of the next page; empty at the end
}

// listed is a row that lists show.
type listed[Item any] interface {
	key() string
	item(now time.Time) Item
}

// readPage reads the rows that match the filter. Kind is the kind of their IDs, empty for UUIDs.
func readPage[Item any, Row any, PtrRow interface {
	*Row
	listed[Item]
}](ctx context.Context, s *Store, kind string, l List, filter func(*bun.SelectQuery)) (Page[Item], error) {
	if l.Limit == 0 {
		l.Limit = DefaultList
	}
	if l.Limit < 1 || l.Limit > MaxList || l.Cursor != "" && !IsID(kind, l.Cursor) {
		return Page[Item]{}, fmt.Errorf("%w: a list has a limit of 1 to %d and a cursor of its own",
			ErrBadList, MaxList)
	}

	var rows []Row
	// Lists have the connections of reports, so that they take none of the paid path's.
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()

	query := s.reports.NewSelect().Model(&rows).OrderExpr("id DESC").Limit(int64(l.Limit + 1))
	if l.Cursor != "" {
		query.Where("id < ?", l.Cursor)
	}
	if !l.After.IsZero() {
		query.Where("id >= ?", kind+"_"+idTime(l.After))
	}
	if !l.Before.IsZero() {
		query.Where("id < ?", kind+"_"+idTime(l.Before))
	}

	filter(query)
	if err := query.Scan(ctx); err != nil {
		return Page[Item]{}, err
	}

	page := Page[Item]{Items: make([]Item, 0, min(len(rows), l.Limit))}
	now := s.now()
	for i := range rows[:min(len(rows), l.Limit)] {
		page.Items = append(page.Items, PtrRow(&rows[i]).item(now))
	}
	if len(rows) > l.Limit {
		page.Next = PtrRow(&rows[l.Limit-1]).key()
	}

	return page, nil
}

// equal narrows a query to the rows whose column has the value, if there is one.
func equal(query *bun.SelectQuery, column, value string) {
	if value != "" {
		query.Where("? = ?", bun.Ident(column), value)
	}
}

// CallFilter selects calls. An empty field means any.
type CallFilter struct {
	List

	AccountID string // needed
	Operation string
	KeyID     string
	Status    string // CallRunning, CallDone or CallFailed
	Mode      string // Async are the jobs
	// Canceled limits failed calls to those that their callers ended, or to all others.
	Canceled *bool
	// Text is the ID of a call, a job or a request, or a part of a stored result's name.
	Text string
}

func (r *callRow) key() string         { return r.ID }
func (r *callRow) item(time.Time) Call { return r.call() }

// Calls lists the calls of an account.
func (s *Store) Calls(ctx context.Context, f CallFilter) (Page[Call], error) {
	page, err := readPage[Call, callRow](ctx, s, "call", f.List, func(q *bun.SelectQuery) {
		q.Where("account_id = ?", f.AccountID)
		equal(q, "operation", f.Operation)
		equal(q, "key_id", f.KeyID)
		equal(q, "mode", f.Mode)
		equal(q, "status", f.Status)

		if f.Status == CallRunning || f.Status == CallFailed {
			q.Where("status <> 'done'") // SQLite looks for the words of its index.
		}
		if f.Canceled != nil {
			q.Where("(error_code = ?) = ?", codeCanceled, *f.Canceled)
		}
		if text := clean(f.Text, maxSearch); text != "" {
			s.searchCalls(q, f.AccountID, text)
		}
	})
	if err != nil {
		return page, fmt.Errorf("list calls: %w", err)
	}

	return page, nil
}

// maxSearch bounds the text of a search, in bytes.
const maxSearch = 200

// likeSpecial are the characters that mean something in a pattern, with their escapes.
var likeSpecial = strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`)

// containing returns the pattern of LIKE, with the escape \, for lower-case texts that contain a text.
func containing(text string) string { return "%" + likeSpecial.Replace(strings.ToLower(text)) + "%" }

// requestSpan is the longest time from a request's ID to the ID of its call.
const requestSpan = time.Hour

// searchCalls narrows a query to the calls that match a text. It compares the text with no call: an ID of a request
// that its client chose is found in the request log, and a name among the stored results.
func (s *Store) searchCalls(q *bun.SelectQuery, accountID, text string) {
	switch at, _ := timeOf(text); {
	case IsID("call", text):
		q.Where("id = ?", text)
	case IsID("file", text):
		q.Where("id = ? AND result_id = ?", CallID(text), text)
	case IsID("req", text):
		q.Where("request_id = ? AND id >= ? AND id < ?",
			text, "call_"+idTime(at.Add(-requestSpan)), "call_"+idTime(at.Add(requestSpan)))
	default:
		q.Where("id IN (SELECT call_id FROM requests WHERE account_id = ?1 AND request_id = ?3 UNION "+callsByName+")",
			containing(text), accountID, toMicros(s.now()), text)
	}
}

// Jobs lists the jobs of an account that can still be asked for.
func (s *Store) Jobs(ctx context.Context, f CallFilter) (Page[Call], error) {
	f.Mode = Async
	if oldest := s.now().Add(-JobRetention); f.After.Before(oldest) {
		f.After = oldest
	}
	return s.Calls(ctx, f)
}

// FileFilter selects files.
type FileFilter struct {
	List

	AccountID string   // needed
	Uploads   bool     // no results
	IDs       []string // these only; nil means any
	KeyID     string   // made by this key only; empty means any
}

func (r *fileRow) key() string         { return r.ID }
func (r *fileRow) item(time.Time) File { return r.file() }

// Files lists the account's files that have neither expired nor been deleted.
func (s *Store) Files(ctx context.Context, f FileFilter) (Page[File], error) {
	page, err := readPage[File, fileRow](ctx, s, "file", f.List, func(q *bun.SelectQuery) {
		q.Where("account_id = ? AND deleted_at IS NULL AND expires_at > ?", f.AccountID, toMicros(s.now()))

		if f.Uploads {
			q.Where("call_id IS NULL")
		}
		if f.KeyID != "" {
			q.Where(madeBy, f.KeyID, f.KeyID)
		}
		if f.IDs != nil {
			q.Where("id IN (?)", bun.List(f.IDs))
		}
	})
	if err != nil {
		return page, fmt.Errorf("list files: %w", err)
	}

	return page, nil
}

// DeliveryFilter selects deliveries. An empty field means any.
type DeliveryFilter struct {
	List

	AccountID  string // needed
	EndpointID string
	Status     string // DeliveryPending, DeliveryDelivered or DeliveryFailed
	EventType  string
}

func (r *deliveryRow) key() string             { return r.ID }
func (r *deliveryRow) item(time.Time) Delivery { return r.delivery() }

// Deliveries lists the deliveries of an account.
func (s *Store) Deliveries(ctx context.Context, f DeliveryFilter) (Page[Delivery], error) {
	page, err := readPage[Delivery, deliveryRow](ctx, s, "dlv", f.List, func(q *bun.SelectQuery) {
		q.Where("account_id = ?", f.AccountID)
		equal(q, "endpoint_id", f.EndpointID)
		equal(q, "status", f.Status)
		equal(q, "event_type", f.EventType)
	})
	if err != nil {
		return page, fmt.Errorf("list deliveries: %w", err)
	}

	return page, nil
}

// AccountFilter selects accounts.
type AccountFilter struct {
	List

	Email string // how the address begins; empty means any
}

func (r *accountRow) key() string                { return r.ID }
func (r *accountRow) item(now time.Time) Account { return r.account(now) }

// Accounts lists accounts.
func (s *Store) Accounts(ctx context.Context, f AccountFilter) (Page[Account], error) {
	page, err := readPage[Account, accountRow](ctx, s, "acc", f.List, func(q *bun.SelectQuery) {
		if f.Email != "" && storable(f.Email) {
			q.Where("email >= ?0 AND email < ?0 || ?1", f.Email, "\U0010FFFF")
		}
	})
	if err != nil {
		return page, fmt.Errorf("list accounts: %w", err)
	}
	return page, nil
}
