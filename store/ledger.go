package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/relaypdf/relaypdf/store/credit"
)

// Kinds of postings in the journal.
const (
	KindPayment    = "payment"    // money that was received
	KindTrial      = "trial"      // initial credit of a new account
	KindGrant      = "grant"      // given to one account
	KindPromotion  = "promotion"  // given to many
	KindHold       = "hold"       // set aside for a call
	KindSettle     = "settle"     // earned by a call
	KindRelease    = "release"    // returned from a call that failed
	KindRefund     = "refund"     // a payment given back
	KindChargeback = "chargeback" // a payment taken back by the bank
	KindAdjustment = "adjustment" // a correction, either way
	KindAI         = "ai"         // charge of a model provider
)

// books are the amounts that one posting moves, by book; they sum to zero. Wallet, held and debt are the customer's
// (debt is below zero while there is a debt), revenue is the earned money, and promotion, payment and adjustment are
// the sources and targets of money.
type books struct {
	promotion, payment, adjustment, held, revenue, debt, wallet credit.Amount
}

// bookNames are the columns of the journal that hold amounts, in the order of
// books.list.
const bookNames = "promotion, payment, adjustment, held, revenue, debt, wallet"

func (b *books) list() []*credit.Amount {
	return []*credit.Amount{&b.promotion, &b.payment, &b.adjustment, &b.held, &b.revenue, &b.debt, &b.wallet}
}

// journalPosting is one row of the journal.
type journalPosting struct {
	accountID string
	kind      string
	cause     string // id of the call; empty if there is none
	reference string // external reference
	reason    string
	at        time.Time
	books     books
	// balance is the wallet after the posting. It is read while the account's row is locked, so it is correct
	// whatever other calls do.
	balance credit.Amount
}

// journalInsert posts. $1 id, $2 account, $3 kind, $4 cause, $5 reference, $6
// reason, $7 now, $8 balance, then the books.
const journalInsert = `INSERT INTO journal (id, account_id, kind, cause, reference, reason, created_at, balance,
	` + bookNames + `)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`

// referenceInsert claims a reference. $1 account, $2 kind, $3 reference, $4
// amount, $5 posting.
const referenceInsert = `INSERT INTO journal_references (account_id, kind, reference, amount, journal_id)
	VALUES ($1, $2, $3, $4, $5) ON CONFLICT (account_id, kind, reference) DO NOTHING`

// errPosted means that the reference of a posting was posted before.
var errPosted = fmt.Errorf("the reference was posted before: %w", ErrExists)

// post writes one row of the journal, unless it moves nothing. It returns errPosted if the reference was posted before.
func (s *Store) post(ctx context.Context, tx txn, p *journalPosting) error {
	if p.books == (books{}) {
		return nil
	}

	id := s.postings.next(s.region, p.at)
	if p.reference != "" {
		fresh, err := changed(s.exec(ctx, tx, referenceInsert, p.accountID, p.kind, p.reference, int64(p.worth()), id))
		if err == nil && !fresh {
			err = errPosted
		}
		if err != nil {
			return err
		}
	}

	args := []any{id, p.accountID, p.kind, p.cause, p.reference, clean(p.reason, 500), toMicros(p.at), int64(p.balance)}
	var sum credit.Amount
	for _, amount := range p.books.list() {
		var err error
		if sum, err = sum.Add(*amount); err != nil {
			return err
		}
		args = append(args, int64(*amount))
	}

	if sum != 0 {
		return errors.New("the entries of a posting do not sum to zero: " + sum.String())
	}

	_, err := s.exec(ctx, tx, journalInsert, args...)
	return err
}

// worth returns the change of the customer's total.
func (p *journalPosting) worth() credit.Amount { return p.books.wallet + p.books.held + p.books.debt }
