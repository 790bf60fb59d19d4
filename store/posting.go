package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/relaypdf/relaypdf/store/credit"
)

// NewPosting is money that enters a wallet or leaves it for a reason other than a call.
type NewPosting struct {
	AccountID string
	// Kind determines the direction of the money: a payment, trial, grant or promotion adds to the wallet; a refund,
	// chargeback or ai takes from it; an adjustment adds, or takes if its amount is below zero.
	Kind   string
	Amount credit.Amount
	// Reference is the cause's ID at its source. An account has no two postings of a kind with the same one.
	Reference string
	Reason    string // for users
}

// adds and takes are the kinds of credits and debits, with the book on the other side.
var (
	adds = map[string]func(*books) *credit.Amount{
		KindPayment:    (*books).paid,
		KindTrial:      (*books).promoted,
		KindGrant:      (*books).promoted,
		KindPromotion:  (*books).promoted,
		KindAdjustment: (*books).adjusted,
	}
	takes = map[string]func(*books) *credit.Amount{
		KindRefund:     (*books).paid,
		KindChargeback: (*books).paid,
		KindAI:         (*books).earned,
		KindAdjustment: (*books).adjusted,
	}
)

func (b *books) paid() *credit.Amount     { return &b.payment }
func (b *books) promoted() *credit.Amount { return &b.promotion }
func (b *books) adjusted() *credit.Amount { return &b.adjustment }
func (b *books) earned() *credit.Amount   { return &b.revenue }

// PostingKinds lists the kinds that Post accepts.
func PostingKinds() []string {
	return []string{
		KindPayment, KindTrial, KindGrant, KindPromotion,
		KindRefund, KindChargeback, KindAdjustment, KindAI,
	}
}

func (p NewPosting) check() error {
	amount := p.Amount
	if p.Kind == KindAdjustment {
		amount = max(amount, -amount)
	}

	switch {
	case adds[p.Kind] == nil && takes[p.Kind] == nil:
		return fmt.Errorf("no kind of posting is called %q", p.Kind)
	case p.Reference == "" || len(p.Reference) > 500 || !storable(p.Reference):
		return errors.New("a posting needs a reference of 1 to 500 characters")
	case amount <= 0 || amount > maxAmount:
		return fmt.Errorf("the amount must be above 0 and at most %s; got %s", maxAmount, p.Amount)
	}

	return nil
}

// Post adds money to a wallet or takes it out. A missing amount becomes debt: it blocks spending, and the next
// incoming money repays it first. A payment marks the account as funded and paying, and notifies its endpoints. Post
// reports whether it did anything: not for a reference that was posted before. It returns ErrNotFound for an unknown
// account, and ErrExists if the reference was posted with another amount.
func (s *Store) Post(ctx context.Context, p NewPosting) (posted bool, err error) {
	if err := p.check(); err != nil {
		return false, fmt.Errorf("post: %w", err)
	}

	err = s.inTx(ctx, func(ctx context.Context, tx txn) error {
		return s.credit(ctx, tx, p, EventWalletTopUp)
	})
	if errors.Is(err, errPosted) {
		// Nothing of the transaction is left, so the earlier one can be read.
		return false, s.samePosting(ctx, p)
	}
	if err != nil {
		return false, fmt.Errorf("post: %w", err)
	}

	return true, nil
}

// Credit posts a payment.
func (s *Store) Credit(ctx context.Context, accountID string, amount credit.Amount, reference string) error {
	_, err := s.Post(ctx, NewPosting{
		AccountID: accountID,
		Kind:      KindPayment,
		Amount:    amount,
		Reference: reference,
		Reason:    reference,
	})
	return err
}

// samePosting returns nil when the posting of that reference is the given one.
func (s *Store) samePosting(ctx context.Context, p NewPosting) error {
	var worth credit.Amount
	err := s.write.NewRaw("SELECT amount FROM journal_references WHERE account_id = ? AND kind = ? AND reference = ?",
		p.AccountID, p.Kind, p.Reference).Scan(ctx, &worth)
	if err == nil && worth != p.worth() {
		err = fmt.Errorf("the reference %q was posted with another amount: %w", p.Reference, ErrExists)
	}
	return wrapped("post", err)
}

// worth returns the customer's gain.
func (p NewPosting) worth() credit.Amount {
	if adds[p.Kind] == nil {
		return -p.Amount
	}
	return p.Amount
}

// fundsLock reads an account's funds, and locks them.
const fundsLock = `UPDATE accounts SET balance = balance WHERE id = ? RETURNING balance, held, owed`

// credit is Post within a transaction. event is the event for the endpoints about a payment.
func (s *Store) credit(ctx context.Context, tx txn, p NewPosting, event string) error {
	var a accountRow
	if err := tx.NewRaw(fundsLock, p.AccountID).Scan(ctx, &a); err != nil {
		return notFound(err)
	}

	now := s.now()
	worth := p.worth()
	wallet, debt := a.moved(worth)
	if a.Balance+wallet+a.Held > maxAmount || a.Owed-debt > maxAmount {
		return fmt.Errorf("the balance would exceed %s: %w", maxAmount, credit.ErrOverflow)
	}

	entry := journalPosting{
		accountID: p.AccountID,
		kind:      p.Kind,
		reference: p.Reference,
		reason:    p.Reason,
		at:        now,
		books:     books{wallet: wallet, debt: debt},
		balance:   a.Balance + wallet,
	}
	other := adds[p.Kind]
	if worth < 0 || other == nil { // a chargeback is returned to the book it came from
		other = takes[p.Kind]
	}
	*other(&entry.books) = -worth

	if err := s.post(ctx, tx, &entry); err != nil {
		return err
	}

	update := tx.NewUpdate().Model((*accountRow)(nil)).Set("balance = balance + ?, owed = owed - ?", wallet, debt).
		Where("id = ?", p.AccountID)
	if p.Kind == KindPayment {
		update.Set("funded = TRUE, plan = ?", PlanPaid)
	}
	if _, err := update.Exec(ctx); err != nil || p.Kind != KindPayment {
		return err
	}

	return s.writeEvent(ctx, tx, newEvent{
		accountID: p.AccountID, kind: event, at: now,
		data: WalletEvent{AmountMicrodollars: p.Amount, BalanceMicrodollars: a.Balance + wallet},
	})
}

// moved returns the changes of the wallet and of the debt for an amount; a negative amount is a debit, and a
// negative debt is owed. The wallet pays before a debt arises, and a debt is repaid before the wallet is credited.
func (r *accountRow) moved(amount credit.Amount) (wallet, debt credit.Amount) {
	have := r.Balance - r.Owed + amount
	return max(have, 0) - r.Balance, min(have, 0) + r.Owed
}
