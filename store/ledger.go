package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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

// ledgerInsert2 and ledgerInsert3 write two and three entries of one event.
// $1 account, $2 call, $3 kind, $4 reason, $5 now, then book and amount of each.
const (
	ledgerInsert2 = `INSERT INTO ledger (account_id, call_id, kind, reason, created_at, book, amount)
		VALUES ($1, $2, $3, $4, $5, $6, $7), ($1, $2, $3, $4, $5, $8, $9)`
	ledgerInsert3 = ledgerInsert2 + `, ($1, $2, $3, $4, $5, $10, $11)`
)

// post writes the entries of one event, which must sum to zero; entries of
// nothing are left out. A second posting of the same kind for a call breaks the
// table's unique constraint, and the transaction with it.
func (s *Store) post(ctx context.Context, tx bun.Tx, j journal, entries ...entry) error {
	var sum credit.Amount
	args := make([]any, 0, 5+2*len(entries))
	args = append(args, j.accountID, sql.NullString{String: j.callID, Valid: j.callID != ""}, j.kind, j.reason, toMicros(j.at))
	for _, e := range entries {
		var err error
		if sum, err = sum.Add(e.amount); err != nil {
			return err
		}
		if e.amount == 0 {
			continue
		}
		args = append(args, e.book, int64(e.amount))
	}
	if sum != 0 {
		return errors.New("ledger entries do not sum to zero: " + sum.String())
	}
	var err error
	switch (len(args) - 5) / 2 { // the entries that are not of nothing
	case 0:
	case 2:
		_, err = s.exec(ctx, tx, ledgerInsert2, args...)
	case 3:
		_, err = s.exec(ctx, tx, ledgerInsert3, args...)
	default:
		err = fmt.Errorf("an event has two or three ledger entries; got %d", len(entries))
	}
	return err
}
