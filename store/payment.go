package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"relaypdf/store/credit"
)

// Kinds of a Payment.
const (
	PaymentTopUp      = "topup"
	PaymentAutoReload = "auto_reload"
)

// Payment is money that a provider has received for an account.
type Payment struct {
	AccountID string
	// Provider and Reference, the provider's own name of the payment, identify
	// it: nothing is credited twice.
	Provider, Reference string
	Kind                string // PaymentTopUp or PaymentAutoReload
	Amount              credit.Amount
}

type paymentRow struct {
	bun.BaseModel `bun:"table:payments,alias:pay"`

	Provider  string `bun:",pk"`
	Reference string `bun:",pk"`
	AccountID string
	Kind      string
	Amount    credit.Amount
	CreatedAt int64
}

// TopUp credits a payment to its account's wallet, marks the account as funded
// and paying, and tells its endpoints. It reports whether it did: a payment
// that was credited before changes nothing. It returns ErrNotFound for an
// unknown account, and ErrExists when the provider's reference belongs to
// another payment.
func (s PaymentStore) TopUp(ctx context.Context, p Payment) (credited bool, err error) {
	if err := p.check(); err != nil {
		return false, fmt.Errorf("top up: %w", err)
	}
	err = s.inTx(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		credited, err = s.topUp(ctx, tx, p)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("top up: %w", err)
	}
	return credited, nil
}

func (p Payment) check() error {
	switch {
	case p.Provider == "" || p.Reference == "" || !storable(p.Provider) || !storable(p.Reference) || len(p.Provider)+len(p.Reference) > 400:
		return errors.New("a payment needs the names of its provider and of itself")
	case p.Kind != PaymentTopUp && p.Kind != PaymentAutoReload:
		return fmt.Errorf("no kind of payment is called %q", p.Kind)
	}
	if p.Amount <= 0 || p.Amount > maxAmount {
		return fmt.Errorf("the amount must be above 0 and at most %s; got %s", maxAmount, p.Amount)
	}
	return nil
}

// topUp is TopUp within a transaction. The insert is the decision: of two
// notifications at once, the second waits for the first one's transaction and
// then meets its row.
func (s PaymentStore) topUp(ctx context.Context, tx bun.Tx, p Payment) (bool, error) {
	known, err := tx.NewSelect().Model((*accountRow)(nil)).Where("id = ?", p.AccountID).Exists(ctx)
	if err != nil {
		return false, err
	}
	if !known {
		return false, ErrNotFound
	}
	row := paymentRow{
		Provider: p.Provider, Reference: p.Reference, AccountID: p.AccountID, Kind: p.Kind, Amount: p.Amount, CreatedAt: toMicros(s.now()),
	}
	added, err := changed(tx.NewInsert().Model(&row).On("CONFLICT DO NOTHING").Exec(ctx))
	if err != nil {
		return false, err
	}
	if !added {
		return false, samePayment(ctx, tx, row)
	}
	event := EventWalletTopUp
	if p.Kind == PaymentAutoReload {
		event = EventAutoReload
	}
	name := p.Provider + " " + p.Reference
	return true, s.ledger.credit(ctx, tx, Posting{AccountID: p.AccountID, Kind: KindPayment, Amount: p.Amount, Reference: name, Reason: name}, event)
}

// samePayment returns nil when the payment of that name is the given one.
func samePayment(ctx context.Context, tx bun.Tx, want paymentRow) error {
	var got paymentRow
	err := tx.NewSelect().Model(&got).Where("provider = ? AND reference = ?", want.Provider, want.Reference).Scan(ctx)
	if err == nil && (got.AccountID != want.AccountID || got.Amount != want.Amount) {
		err = ErrExists
	}
	return err
}
