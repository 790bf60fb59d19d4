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
func (s *Store) TopUp(ctx context.Context, p Payment) (credited bool, err error) {
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
	return checkCredit(p.Amount)
}

// topUp is TopUp within a transaction. The insert is the decision: of two
// notifications at once, the second waits for the first one's transaction and
// then meets its row.
func (s *Store) topUp(ctx context.Context, tx bun.Tx, p Payment) (bool, error) {
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
	return true, s.credit(ctx, tx, addition{accountID: p.AccountID, amount: p.Amount, reason: p.Provider + " " + p.Reference, event: event})
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

// addition is money that comes into a wallet.
type addition struct {
	accountID string
	amount    credit.Amount
	reason    string
	event     string // its type
}

func checkCredit(amount credit.Amount) error {
	if amount <= 0 || amount > maxAmount {
		return fmt.Errorf("the amount must be above 0 and at most %s; got %s", maxAmount, amount)
	}
	return nil
}

// credit adds money to a wallet, and tells the account's endpoints.
func (s *Store) credit(ctx context.Context, tx bun.Tx, add addition) error {
	var balance credit.Amount
	now := s.now()
	err := notFound(tx.NewRaw(`UPDATE accounts SET balance = balance + ?0, funded = TRUE, plan = ?1
		WHERE id = ?2 AND balance + held <= ?3 - ?0 RETURNING balance`, add.amount, PlanPaid, add.accountID, maxAmount).Scan(ctx, &balance))
	if errors.Is(err, ErrNotFound) {
		return creditRefusal(ctx, tx, add.accountID)
	}
	if err != nil {
		return err
	}
	j := journal{accountID: add.accountID, kind: kindCredit, reason: clean(add.reason, 500), at: now}
	if err := s.post(ctx, tx, j, entry{bookPayment, -add.amount}, entry{bookWallet, add.amount}); err != nil {
		return err
	}
	return s.publish(ctx, tx, news{
		accountID: add.accountID, kind: add.event, at: now,
		data: WalletNews{AmountMicrodollars: add.amount, BalanceMicrodollars: balance},
	})
}

// creditRefusal says why no row took a credit.
func creditRefusal(ctx context.Context, tx bun.Tx, accountID string) error {
	var row accountRow
	if err := tx.NewSelect().Model(&row).Where("id = ?", accountID).Scan(ctx); err != nil {
		return notFound(err)
	}
	return fmt.Errorf("the balance would exceed %s: %w", maxAmount, credit.ErrOverflow)
}
