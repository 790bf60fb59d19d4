package store

import (
	"context"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"relaypdf/store/credit"
)

// Books of the ledger. Wallet and held belong to the customer, revenue is what
// was earned, and promotion and payment are where credit came from. The entries
// of one event carry the customer's account in every book and sum to zero.
const (
	bookWallet    = "wallet"
	bookHeld      = "held"
	bookRevenue   = "revenue"
	bookPromotion = "promotion"
	bookPayment   = "payment"
)

// Kinds of events in the ledger.
const (
	kindTrial   = "trial"
	kindCredit  = "credit"
	kindHold    = "hold"
	kindSettle  = "settle"
	kindRelease = "release"
)

// journal is the event to which entries belong.
type journal struct {
	accountID string
	callID    string // empty for trial and credit
	kind      string
	reason    string
	at        time.Time
}

// entry is what an event changes in one book.
type entry struct {
	book   string
	amount credit.Amount
}

type ledgerRow struct {
	bun.BaseModel `bun:"table:ledger,alias:l"`

	ID        int64 `bun:",pk,autoincrement"`
	AccountID string
	CallID    *string
	Kind      string
	Book      string
	Amount    credit.Amount
	Reason    string
	CreatedAt int64
}

// post writes the entries of one event, which must sum to zero; entries of
// nothing are left out. A second posting of the same kind for a call breaks the
// table's unique constraint, and the transaction with it.
func post(ctx context.Context, tx bun.Tx, j journal, entries ...entry) error {
	var sum credit.Amount
	rows := make([]ledgerRow, 0, len(entries))
	for _, e := range entries {
		var err error
		if sum, err = sum.Add(e.amount); err != nil {
			return err
		}
		if e.amount == 0 {
			continue
		}
		row := ledgerRow{
			AccountID: j.accountID, Kind: j.kind, Book: e.book, Amount: e.amount, Reason: j.reason, CreatedAt: toMicros(j.at),
		}
		if j.callID != "" {
			row.CallID = &j.callID
		}
		rows = append(rows, row)
	}
	if sum != 0 {
		return errors.New("ledger entries do not sum to zero: " + sum.String())
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := tx.NewInsert().Model(&rows).ExcludeColumn("id").Returning("NULL").Exec(ctx)
	return err
}
