package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/store/credit"
)

// Kinds of a Payment.
const (
	PaymentTopUp      = "topup"
	PaymentAutoReload = "auto_reload"
)

// States of a Payment. PaymentPaid is for ever; the others may still become
// that, since only the provider knows when money has come.
const (
	PaymentOpen    = "open"    // asked for
	PaymentAction  = "action"  // waits for the card's owner to confirm it
	PaymentPaid    = "paid"    // credited to the wallet
	PaymentFailed  = "failed"  // refused
	PaymentExpired = "expired" // not paid in time
)

// Payment is money that an account was asked for, or that was taken as its
// owner has agreed to.
type Payment struct {
	ID        string // ours; for the provider, which charges once for each
	AccountID string
	Kind      string // PaymentTopUp or PaymentAutoReload
	State     string
	Amount    credit.Amount
	Refunded  credit.Amount // given back so far
	Disputed  credit.Amount // taken by disputes
	// IDs of the provider for the customer, the saved method, the payment page and the payment; empty if there is
	// none, or none yet.
	Customer, Method, Session, Intent string
	Card                              string // as users know it: "Visa ending 4242"
	ReceiptURL                        string
	ActionURL                         string // page on which the owner confirms it
	Reason                            string // why it failed, for the owner
	CreatedAt                         time.Time
	EndedAt                           *time.Time
}

type paymentRow struct {
	bun.BaseModel `bun:"table:payments,alias:pay"`

	ID         string `bun:",pk"`
	AccountID  string
	Kind       string
	State      string
	Amount     credit.Amount
	Refunded   credit.Amount
	Disputed   credit.Amount
	Customer   string
	Method     string
	Session    string
	Intent     string
	Card       string
	ReceiptURL string
	ActionURL  string
	Reason     string
	CreatedAt  int64
	EndedAt    *int64
	CheckedAt  int64
}

func (r *paymentRow) key() string            { return r.ID }
func (r *paymentRow) item(time.Time) Payment { return r.payment() }

func (r *paymentRow) payment() Payment {
	return Payment{
		ID:         r.ID,
		AccountID:  r.AccountID,
		Kind:       r.Kind,
		State:      r.State,
		Amount:     r.Amount,
		Refunded:   r.Refunded,
		Disputed:   r.Disputed,
		Customer:   r.Customer,
		Method:     r.Method,
		Session:    r.Session,
		Intent:     r.Intent,
		Card:       r.Card,
		ReceiptURL: r.ReceiptURL,
		ActionURL:  r.ActionURL,
		Reason:     r.Reason,
		CreatedAt:  fromMicros(r.CreatedAt),
		EndedAt:    fromMicrosPtr(r.EndedAt),
	}
}

// OpenTopUp records that an account's owner wants to pay, before the provider is asked. The amount must be in whole
// cents.
func (s *Store) OpenTopUp(ctx context.Context, accountID, customer string, amount credit.Amount) (Payment, error) {
	if err := checkPayment(amount); err != nil {
		return Payment{}, fmt.Errorf("open payment: %w", err)
	}

	row := paymentRow{
		ID:        s.NewID("pay"),
		AccountID: accountID,
		Kind:      PaymentTopUp,
		State:     PaymentOpen,
		Amount:    amount,
		Customer:  customer,
		CreatedAt: toMicros(s.now()),
	}

	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		_, err := tx.NewInsert().Model(&row).Exec(ctx)
		return err
	})
	return row.payment(), wrapped("open payment", err)
}

// cent is the smallest amount that payment providers know.
const cent = credit.Dollar / 100

func checkPayment(amount credit.Amount) error {
	if amount <= 0 || amount > maxAmount || amount%cent != 0 {
		return fmt.Errorf("the amount must be whole cents, above 0 and at most %s; got %s", maxAmount, amount)
	}
	return nil
}

// SetPaymentSession notes the page on which a payment is made. It returns
// ErrNotFound for an unknown payment.
func (s *Store) SetPaymentSession(ctx context.Context, id, session string) error {
	return s.changePayment(ctx, "note payment session", id, "session = ?", session)
}

// PaymentDetails are the details of a completed payment that users see. Empty fields change nothing.
type PaymentDetails struct{ Card, ReceiptURL string }

// DescribePayment notes the card and the receipt of a payment. It returns
// ErrNotFound for an unknown payment.
func (s *Store) DescribePayment(ctx context.Context, id string, d PaymentDetails) error {
	return s.changePayment(ctx, "describe payment", id,
		"card = CASE WHEN ?0 = '' THEN card ELSE ?0 END, receipt_url = CASE WHEN ?1 = '' THEN receipt_url ELSE ?1 END",
		clean(d.Card, 100), clean(d.ReceiptURL, 2000))
}

func (s *Store) changePayment(ctx context.Context, doing, id, set string, args ...any) error {
	return s.update(ctx, doing, func(ctx context.Context, tx txn) error {
		known, err := changed(tx.NewUpdate().Model((*paymentRow)(nil)).Set(set, args...).Where("id = ?", id).Exec(ctx))
		if err == nil && !known {
			err = ErrNotFound
		}
		return err
	})
}

// Payment returns a payment, or ErrNotFound.
func (s *Store) Payment(ctx context.Context, id string) (Payment, error) {
	var row paymentRow
	if !storable(id) {
		return Payment{}, fmt.Errorf("read payment: %w", ErrNotFound)
	}
	if err := s.read.NewSelect().Model(&row).Where("id = ?", id).Scan(ctx); err != nil {
		return Payment{}, fmt.Errorf("read payment: %w", notFound(err))
	}
	return row.payment(), nil
}

// PaymentFilter selects payments.
type PaymentFilter struct {
	List

	AccountID string // needed
	// ExcludeUnpaidCheckouts excludes expired checkouts, and open ones that auto-reload did not start.
	ExcludeUnpaidCheckouts bool
}

// Payments lists the payments of an account.
func (s *Store) Payments(ctx context.Context, f PaymentFilter) (Page[Payment], error) {
	page, err := readPage[Payment, paymentRow](ctx, s, "pay", f.List, func(q *bun.SelectQuery) {
		q.Where("account_id = ?", f.AccountID)
		if f.ExcludeUnpaidCheckouts {
			q.Where("state <> ? AND (state <> ? OR kind = ?)", PaymentExpired, PaymentOpen, PaymentAutoReload)
		}
	})
	if err != nil {
		return page, fmt.Errorf("list payments: %w", err)
	}

	return page, nil
}

// WaitingPayments returns payments whose end is unknown, and that were not checked since the time before: those
// checked the longest ago first, at most limit. They count as checked now.
func (s *Store) WaitingPayments(ctx context.Context, before time.Time, limit int) ([]Payment, error) {
	var rows []paymentRow
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		rows = nil
		which := tx.NewSelect().Model((*paymentRow)(nil)).Column("id").
			Where("state IN (?, ?)", PaymentOpen, PaymentAction).
			Where("checked_at <= ?0 AND created_at <= ?0", toMicros(before)).Order("checked_at", "id").
			Limit(int64(limit))

		return tx.NewRaw("UPDATE payments SET checked_at = ? WHERE id IN (?) RETURNING *", toMicros(s.now()), which).
			Scan(ctx, &rows)
	})
	return converted(rows, (*paymentRow).payment), wrapped("read waiting payments", err)
}

// Customer is an account as the provider of payments knows it.
type Customer struct {
	AccountID string
	ID        string // the provider's
	Method    string // of its saved methods the one to charge; empty is none
	Card      string // that method, as users know it
}

type customerRow struct {
	bun.BaseModel `bun:"table:stripe_customers,alias:cus"`

	AccountID string `bun:",pk"`
	Customer  string
	Method    string
	Card      string
	CreatedAt int64
}

// Customer returns who an account is at the provider, or ErrNotFound.
func (s *Store) Customer(ctx context.Context, accountID string) (Customer, error) {
	var row customerRow
	if err := s.read.NewSelect().Model(&row).Where("account_id = ?", accountID).Scan(ctx); err != nil {
		return Customer{}, fmt.Errorf("read customer: %w", notFound(err))
	}
	return Customer{row.AccountID, row.Customer, row.Method, row.Card}, nil
}

// AddCustomer records the provider's customer of an account, unless one is known, and returns the known one.
func (s *Store) AddCustomer(ctx context.Context, accountID, customer string) (Customer, error) {
	var row customerRow
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		row = customerRow{}
		return tx.NewRaw(`INSERT INTO stripe_customers AS c (account_id, customer, created_at) VALUES (?, ?, ?)
			ON CONFLICT (account_id) DO UPDATE SET customer = c.customer RETURNING *`,
			accountID, customer, toMicros(s.now())).Scan(ctx, &row)
	})
	return Customer{row.AccountID, row.Customer, row.Method, row.Card}, wrapped("add customer", err)
}

// SetCard notes which saved method is charged from now on; an empty one is none.
func (s *Store) SetCard(ctx context.Context, accountID, method, card string) error {
	return s.update(ctx, "set card", func(ctx context.Context, tx txn) error {
		known, err := changed(tx.NewRaw("UPDATE stripe_customers SET method = ?, card = ? WHERE account_id = ?",
			method, clean(card, 100), accountID).Exec(ctx))
		if err == nil && !known {
			err = ErrNotFound
		}
		return err
	})
}

// Mark returns until when something was done, or the zero time.
func (s *Store) Mark(ctx context.Context, name string) (time.Time, error) {
	var at int64
	err := notFound(s.read.NewRaw("SELECT at FROM stripe_marks WHERE name = ?", name).Scan(ctx, &at))
	if errors.Is(err, ErrNotFound) {
		return time.Time{}, nil
	}
	return fromMicros(at), wrapped("read mark", err)
}

// SetMark notes until when something was done.
func (s *Store) SetMark(ctx context.Context, name string, at time.Time) error {
	return s.update(ctx, "set mark", func(ctx context.Context, tx txn) error {
		_, err := tx.NewRaw(`INSERT INTO stripe_marks (name, at) VALUES (?, ?)
			ON CONFLICT (name) DO UPDATE SET at = EXCLUDED.at`,
			name, toMicros(at)).Exec(ctx)
		return err
	})
}
