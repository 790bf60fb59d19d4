package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/store/credit"
)

// States of AccountSearch.
const (
	AccountActive    = "active"
	AccountSuspended = "suspended"
)

// AccountSearch selects accounts. An empty field means any.
type AccountSearch struct {
	List

	// Text is an account's id, a part of its address or name, the id of one of
	// its keys, or how one of its keys' secrets begins.
	Text  string
	State string // AccountActive or AccountSuspended
}

// SearchAccounts searches the accounts.
func (s *Store) SearchAccounts(ctx context.Context, f AccountSearch) (Page[Account], error) {
	text := strings.ToLower(strings.TrimSpace(f.Text))
	if !storable(text) {
		return Page[Account]{}, nil
	}

	page, err := readPage[Account, accountRow](ctx, s, "acc", f.List, func(q *bun.SelectQuery) {
		switch f.State {
		case AccountActive:
			q.Where("NOT suspended")
		case AccountSuspended:
			q.Where("suspended")
		}

		if text == "" {
			return
		}
		q.Where(`(id = ?0 OR email LIKE ?1 ESCAPE '\' OR LOWER(name) LIKE ?1 ESCAPE '\'
			OR id IN (SELECT account_id FROM keys WHERE id = ?0 OR prefix = ?2))`,
			text, containing(text), keyPrefix(f.Text))
	})
	return page, wrapped("search accounts", err)
}

// keyPrefix returns the part of a key's secret that is stored in plain text. It has upper-case characters.
func keyPrefix(text string) string {
	text = strings.TrimSpace(text)
	if len(text) < shownChars {
		return text
	}
	return text[:shownChars]
}

// SpentByAccount returns the totals of the settled calls of accounts from the UTC day of since on, by account.
func (s *Store) SpentByAccount(
	ctx context.Context, accountIDs []string, since time.Time,
) (map[string]credit.Amount, error) {
	spent := map[string]credit.Amount{}
	if len(accountIDs) == 0 {
		return spent, nil
	}

	var rows []struct {
		AccountID string
		Amount    credit.Amount
	}

	err := s.inReport(ctx, func(ctx context.Context, tx txn) error {
		return tx.NewSelect().TableExpr("usage_days").ColumnExpr("account_id, CAST(SUM(amount) AS BIGINT) AS amount").
			Where("account_id IN (?) AND day >= ?", bun.List(accountIDs), dayOf(since)).Group("account_id").
			Scan(ctx, &rows)
	})

	for _, row := range rows {
		spent[row.AccountID] = row.Amount
	}

	return spent, wrapped("read what accounts spent", err)
}

// DeliveryByID returns the delivery with the id, whosever it is, or ErrNotFound.
func (s *Store) DeliveryByID(ctx context.Context, id string) (Delivery, error) {
	var row deliveryRow
	if !storable(id) {
		return Delivery{}, fmt.Errorf("read delivery: %w", ErrNotFound)
	}
	err := notFound(s.read.NewSelect().Model(&row).Where("id = ?", id).Scan(ctx))
	return row.delivery(), wrapped("read delivery", err)
}

// RunningCalls returns the calls and jobs that have not ended, of all accounts, the
// oldest first, at most limit.
func (s *Store) RunningCalls(ctx context.Context, limit int) ([]Call, error) {
	var rows []callRow
	err := s.inReport(ctx, func(ctx context.Context, tx txn) error {
		return tx.NewSelect().Model(&rows).Where("status = 'running'").Order("id").Limit(int64(limit)).Scan(ctx)
	})
	return converted(rows, (*callRow).call), wrapped("read running calls", err)
}

// Backlog is the unfinished work.
type Backlog struct {
	Queued, Running int64 // jobs
	Letters         int64 // that are not sent yet
	Processes       int64 // that live
}

// Backlog counts the waiting work.
func (s *Store) Backlog(ctx context.Context) (Backlog, error) {
	var b Backlog
	err := s.inReport(ctx, func(ctx context.Context, tx txn) error {
		return tx.NewRaw(`SELECT (SELECT COUNT(*) FROM jobs WHERE state = 'queued'),
			(SELECT COUNT(*) FROM jobs WHERE state = 'running'),
		(SELECT COUNT(*) FROM letters), (SELECT COUNT(*) FROM leases WHERE expires_at > ?)`, toMicros(s.now())).
			Scan(ctx, &b.Queued, &b.Running, &b.Letters, &b.Processes)
	})
	return b, wrapped("count what waits", err)
}

// RegionCalls are the numbers of calls that began in a region, by status.
type RegionCalls struct {
	Region                string
	Done, Failed, Running int64
}

// CallsByRegion counts the calls that began from since on by the region in their id,
// sorted by its name.
func (s *Store) CallsByRegion(ctx context.Context, since time.Time) ([]RegionCalls, error) {
	var list []RegionCalls
	err := s.inReport(ctx, func(ctx context.Context, tx txn) error {
		return tx.NewSelect().TableExpr("calls").
			ColumnExpr("SUBSTR(id, ?, ?) AS region", len("call_")+timeChars+1, regionChars).
			ColumnExpr("SUM(CASE status WHEN 'done' THEN 1 ELSE 0 END) AS done").
			ColumnExpr("SUM(CASE WHEN status = 'failed' AND error_code <> ? THEN 1 ELSE 0 END) AS failed",
				codeCanceled).
			ColumnExpr("SUM(CASE status WHEN 'running' THEN 1 ELSE 0 END) AS running").
			Where("id >= ?", "call_"+idTime(since)).GroupExpr("1").OrderExpr("1").Scan(ctx, &list)
	})
	return list, wrapped("count calls by region", err)
}
