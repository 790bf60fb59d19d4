package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/store/credit"
)

// JournalEntry is a row of the journal, as its account sees it.
type JournalEntry struct {
	ID        string
	AccountID string
	Kind      string // one of the Kind constants
	CallID    string // empty if the cause is not a call
	Reference string
	Reason    string
	Currency  string
	// Changes of the wallet, of the holds and of the debt.
	Wallet, Held, Owed credit.Amount
	Balance            credit.Amount // of the wallet afterwards
	// The operation and the key of the call, and whether it failed; set only by Statement, unless the retention has
	// removed the call.
	Operation, KeyID string
	Failed           bool
	CreatedAt        time.Time
}

// PostingFilter selects postings. An empty field means any.
type PostingFilter struct {
	List

	AccountID string // needed
	Kinds     []string
	// WithoutCalls selects those whose cause is not a call.
	WithoutCalls bool
}

// Kinds of postings that lists show together.
var (
	CallKinds    = []string{KindHold, KindSettle, KindRelease}
	PaymentKinds = []string{KindPayment, KindRefund, KindChargeback}
)

type journalRow struct {
	bun.BaseModel `bun:"table:journal,alias:j"`

	ID        string `bun:",pk"`
	AccountID string
	Kind      string
	Cause     string
	Reference string
	Reason    string
	Currency  string
	Held      credit.Amount
	Debt      credit.Amount
	Wallet    credit.Amount
	CreatedAt int64
	Balance   credit.Amount
}

func (r *journalRow) key() string { return r.ID }

func (r *journalRow) item(time.Time) JournalEntry {
	return JournalEntry{
		ID:        r.ID,
		AccountID: r.AccountID,
		Kind:      r.Kind,
		CallID:    r.Cause,
		Reference: r.Reference,
		Reason:    r.Reason,
		Currency:  r.Currency,
		Wallet:    r.Wallet,
		Held:      r.Held,
		Owed:      -r.Debt,
		Balance:   r.Balance,
		CreatedAt: fromMicros(r.CreatedAt),
	}
}

// outsideCalls is the condition of an index.
const outsideCalls = "kind NOT IN ('hold', 'settle', 'release')"

// Postings lists the journal of an account.
func (s *Store) Postings(ctx context.Context, f PostingFilter) (Page[JournalEntry], error) {
	page, err := readPage[JournalEntry, journalRow](ctx, s, "jrn", f.List, func(q *bun.SelectQuery) {
		q.Where("account_id = ?", f.AccountID)
		if len(f.Kinds) > 0 {
			q.Where("kind IN (?)", bun.List(f.Kinds))
		}

		ofCall := func(kind string) bool { return slices.Contains(CallKinds, kind) }
		if f.WithoutCalls || len(f.Kinds) > 0 && !slices.ContainsFunc(f.Kinds, ofCall) {
			q.Where(outsideCalls)
		}
	})
	if err != nil {
		return page, fmt.Errorf("list postings: %w", err)
	}

	return page, nil
}
