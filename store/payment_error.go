package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// PaymentError is money at the provider that the service can neither credit nor
// take. An operator settles it there.
type PaymentError struct {
	// Subject is the provider's ID of the object: an intent, a refund, a dispute.
	Subject string
	// PaymentID and AccountID are our IDs, as far as they are known.
	PaymentID, AccountID string
	Text                 string // why
	FirstAt, LastAt      time.Time
}

// RecordPaymentError records an error for operators, once for each subject, and
// reports whether it is new. The metric counts the new ones.
func (s *Store) RecordPaymentError(ctx context.Context, e PaymentError) (fresh bool, err error) {
	now := toMicros(s.now())
	err = s.inTx(ctx, func(ctx context.Context, tx txn) error {
		known, err := tx.NewSelect().TableExpr("payment_errors").Where("subject = ?", clean(e.Subject, 255)).Exists(ctx)
		if err != nil {
			return err
		}

		fresh = !known
		_, err = tx.NewRaw(`INSERT INTO payment_errors (subject, payment_id, account_id, error, first_at, last_at)
			VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (subject) DO UPDATE SET error = EXCLUDED.error, last_at = EXCLUDED.last_at`,
			clean(e.Subject, 255), clean(e.PaymentID, 255), clean(e.AccountID, 255), clean(e.Text, 500), now, now).
			Exec(ctx)
		return err
	})
	if err == nil && fresh {
		s.paymentErrors.Add(1)
	}

	return fresh, wrapped("note payment error", err)
}

// PaymentErrors returns the latest errors, at most limit.
func (s *Store) PaymentErrors(ctx context.Context, limit int) ([]PaymentError, error) {
	var rows []struct {
		Subject, PaymentID, AccountID, Error string
		FirstAt, LastAt                      int64
	}
	err := s.read.NewRaw("SELECT * FROM payment_errors ORDER BY last_at DESC, subject LIMIT ?", limit).Scan(ctx, &rows)

	list := make([]PaymentError, len(rows))
	for i, r := range rows {
		list[i] = PaymentError{r.Subject, r.PaymentID, r.AccountID, r.Error, fromMicros(r.FirstAt), fromMicros(r.LastAt)}
	}
	return list, wrapped("read payment errors", err)
}

// ResolvePaymentError removes the recorded error of a subject.
func (s *Store) ResolvePaymentError(ctx context.Context, subject string) error {
	return s.update(ctx, "resolve payment error", func(ctx context.Context, tx txn) error {
		return resolvePaymentError(ctx, tx, subject)
	})
}

func resolvePaymentError(ctx context.Context, tx txn, subject string) error {
	_, err := tx.NewRaw("DELETE FROM payment_errors WHERE subject = ?", subject).Exec(ctx)
	return err
}

// CountPaymentErrors returns how many errors this process has recorded.
func (s *Store) CountPaymentErrors() int64 { return s.paymentErrors.Load() }

// PaymentByIntent returns the payment that an intent pays, or ErrNotFound.
func (s *Store) PaymentByIntent(ctx context.Context, intent string) (Payment, error) {
	var id string
	if intent == "" || !storable(intent) {
		return Payment{}, fmt.Errorf("read payment: %w", ErrNotFound)
	}
	if err := s.read.NewRaw("SELECT payment_id FROM stripe_intents WHERE id = ?", intent).Scan(ctx, &id); err != nil {
		return Payment{}, fmt.Errorf("read payment: %w", notFound(err))
	}
	return s.Payment(ctx, id)
}

// Origin identifies the account of a payment, from the provider's metadata.
type Origin struct {
	AccountID, Kind, Customer string
	At                        time.Time
}

// ErrNoOrigin means that a payment was made, has no row, and that its account is
// unknown.
var ErrNoOrigin = errors.New("the payment has no row, and its account is unknown")

// rebuild makes the row of a payment that was paid and is missing, as after a backup
// was restored. The payment's own name keeps it from being made twice.
func (a *paymentUpdate) rebuild(ctx context.Context) error {
	o := a.report.Origin
	known, err := a.tx.NewSelect().Model((*accountRow)(nil)).Where("id = ?", o.AccountID).Exists(ctx)
	if err == nil && !known {
		err = fmt.Errorf("payment %s of account %q: %w", a.report.PaymentID, o.AccountID, ErrNoOrigin)
	}
	if err != nil {
		return err
	}

	if err := checkPayment(a.report.Amount); err != nil {
		return fmt.Errorf("payment %s: %w: %w", a.report.PaymentID, err, ErrOtherPayment)
	}

	row := paymentRow{
		ID:        a.report.PaymentID,
		AccountID: o.AccountID,
		Kind:      PaymentTopUp,
		State:     PaymentOpen,
		Amount:    a.report.Amount,
		Customer:  clean(o.Customer, 255),
		CreatedAt: toMicros(a.now),
	}
	if o.Kind == PaymentAutoReload {
		row.Kind = o.Kind
	}
	if !o.At.IsZero() {
		row.CreatedAt = toMicros(o.At)
	}

	a.change.Rebuilt, err = changed(a.tx.NewInsert().Model(&row).On("CONFLICT (id) DO NOTHING").Exec(ctx))
	if err != nil || row.Customer == "" {
		return err
	}

	_, err = a.tx.NewRaw(`INSERT INTO stripe_customers (account_id, customer, created_at) VALUES (?, ?, ?)
		ON CONFLICT (account_id) DO NOTHING`,
		row.AccountID, row.Customer, toMicros(a.now)).Exec(ctx)
	return err
}
